"""Every mirror and twin does the same with NUMBA_DISABLE_JIT=1, with rejections between."""

import pickle
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from algorithms import hmc
from algorithms import shahbaba_split_hmc as split_hmc
from algorithms.ais import RMHMC, RMHMCMirror
from algorithms.slice_sampling import Slice
from algorithms.wang_discretizing_chain import whole_chain_step
from algorithms.wang_tempered_transitions import tempered_transitions_step
from algorithms.zhang_sshmc import sshmc_step
from conftest import python
from coupled import coupled
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.logistic_regression import LogisticRegression
from normal import FAR, INSTEAD, MODEL, NEAR
from test_bad_input import CALLS, FIT, FUNNEL, LOGISTIC, PARTS, call, flat, numbers, rng
from test_mirror import MIRRORS

# more cases than a block of models/linalg.py has rows
X = np.random.default_rng(1).standard_normal((66, 3))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
K = squared_exponential(X, X, 0.0, 0.0) + 0.3 * np.eye(66)
PRIOR, MANY = GPClassification.from_prior(K, Y), LogisticRegression.from_data(X, Y > 0)
COUPLED = dict(theta0=np.array([0.4, -0.3, 0.8]), phi0=np.array([0.2, -0.1]),
               model=coupled([0.4, -1.0, 2.0]), n=8, eps_theta=0.6, eps_phi=0.9, L=3)
SWEEP = Slice(np.ones(2), 5, np.arange(2), False)

BOLD = {  # what is changed of calls, so that transitions are accepted and rejected
    "hmc": dict(eps=1.3, n=12),
    "nuts": dict(n=4, warm_up=20),
    "nuts_dual_averaging": dict(n=4),
    "random_walk": dict(scale=0.6, n=20),
    "fitted_walk": dict(n=12),
    "map_estimate": dict(model=MANY, q0=None),
    "normal_split_hmc": dict(eps=1.5, n=12),
    "data_split_hmc": dict(eps=3.0, n=12),
    "generalised_leapfrog": dict(eps=1.2, t_max=12, f_max=50),
    "soft_abs": dict(eps=0.5, t_max=6, f_max=50),
    "paquet_rmhmc": dict(x0=np.zeros(66), model=PRIOR, eps=0.9, t_max=6),
    "paquet_rmhmc_fast": dict(x0=np.zeros(66), model=PRIOR, eps=0.9, t_max=6),
    "delayed_acceptance": dict(n=12),
    "dragging": dict(factor=2 * np.eye(1), n=12),
    "discretizing_chain": dict(w=2.0, n=6),
    "tempered_transitions": dict(w=2.0, n=6),
    "sshmc": COUPLED,
    "sshmc_fast": COUPLED,
    "rmhmc_within_gibbs": dict(eps_theta=1.2, eps_phi=1.8, L_theta=2, L_phi=2, n=8),
    "ep": dict(K=K, y=Y),
    "ep_fast": dict(K=K, y=Y),
}
RUNS = {name: lambda name=name: call(name, **INSTEAD.get(name, {}) | BOLD.get(name, {}))
        for name in CALLS if " of " not in name} | {
    "sshmc of a funnel": lambda: call("sshmc", eps_theta=1.0, eps_phi=1.5, n=8),
    "sshmc_fast of a funnel": lambda: call("sshmc_fast", eps_theta=1.0, eps_phi=1.5, n=8),
    "SSHMC, Algorithm 1": lambda: sshmc_step(
        np.array([0.4, -0.3, 0.8]), np.array([0.2]), FUNNEL, 0.6, 3, rng()),
    "surrogate transition": lambda: call("delayed_acceptance", **INSTEAD["delayed_acceptance"],
                                         n=12, inner=3),
    "paquet_rmhmc of q": lambda: call("paquet_rmhmc", eps=0.9, t_max=6),
    "paquet_rmhmc_fast of q": lambda: call("paquet_rmhmc_fast", eps=0.9, t_max=6),
    "ais by RMHMC": lambda: call("ais", kernel=RMHMC(0.3, 2, 5)),
    "ais by its mirror": lambda: call("ais", kernel=RMHMCMirror(0.3, 2, 5)),
    "hmc of many": lambda: hmc.hmc(np.zeros(4), MANY, 0.5, 4, 12, rng(), jitter=0.2),
    "Split HMC, Algorithm 1": lambda: split_hmc.normal_split_step(
        numbers(3), LOGISTIC, split_hmc.normal_approximation(FIT), 0.9, 3, rng()),
    "Split HMC, Algorithm 2": lambda: split_hmc.data_split_step(
        numbers(3), LOGISTIC, PARTS, 0.7, 3, 2, rng()),
    "whole chain": lambda: whole_chain_step(
        np.zeros(2), MODEL, NEAR, SWEEP, 2, 1, 5, rng()),
    "up and down": lambda: tempered_transitions_step(
        np.zeros(2), (MODEL, NEAR, FAR), SWEEP, rng()),
}


def numbers_of(result):
    return np.concatenate([np.ravel(np.asarray(each, float)) for each in flat(result)
                           if each is not None])


def again(path):
    assert numba.config.DISABLE_JIT
    called = set()
    sys.setprofile(lambda frame, event, _: event == "call" and called.add(
        f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"))
    found = {name: numbers_of(run()) for name, run in RUNS.items()}
    sys.setprofile(None)
    Path(path).write_bytes(pickle.dumps((found, called)))


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    """Return what is found without a compiler, and which functions were called."""
    path = tmp_path_factory.mktemp("interpreted") / "found"
    python("-c", f"import test_interpreted as t\nt.again({str(path)!r})", NUMBA_DISABLE_JIT="1")
    return pickle.loads(path.read_bytes())


@pytest.mark.parametrize("name", RUNS)
def test_interpreted_and_compiled_code_do_the_same(interpreted, name):
    compiled = RUNS[name]()
    # sums may run in another order: some 1e-16 of energies of 1e2, which transitions amplify
    np.testing.assert_allclose(interpreted[0][name], numbers_of(compiled), rtol=1e-9, atol=1e-9)
    if hasattr(compiled, "accepted") and name in BOLD:  # or much would not be compared
        assert set(np.ravel(compiled.accepted).tolist()) == {False, True}


def test_every_mirror_was_run(interpreted):
    assert interpreted[1] >= MIRRORS
