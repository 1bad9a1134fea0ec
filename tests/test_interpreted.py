"""NUMBA_DISABLE_JIT=1: every mirror and twin makes the transitions that it makes compiled.

Compiled, each algorithm makes a few transitions.  A fresh process in which nothing is compiled
makes each again, from the same state with the same generator, so that rounding cannot add up.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from algorithms import (
    ais,
    ep,
    ep_correction,
    ep_fast,
    ess,
    generalised_leapfrog,
    hmc,
    hoffman_nuts,
    hoffman_nuts_fast,
    map_estimate,
    paquet_rmhmc,
    paquet_rmhmc_fast,
    random_walk,
    rmhmc_within_gibbs,
    slice_sampling,
)
from algorithms import shahbaba_split_hmc as split_hmc
from algorithms import shahbaba_split_hmc_fast as split_hmc_fast
from algorithms import wang_discretizing_chain as discretizing_chain
from algorithms import wang_discretizing_chain_fast as discretizing_chain_fast
from algorithms import wang_tempered_transitions as tempered_transitions
from algorithms import wang_tempered_transitions_fast as tempered_transitions_fast
from algorithms import zhang_sshmc as sshmc
from algorithms import zhang_sshmc_fast as sshmc_fast
from algorithms.rivals import (
    ais_elliptical_slice,
    auxiliary_mixture,
    bridge_sampling,
    delayed_acceptance,
    dragging,
    elliptical_slice,
    fitted_walk,
    polya_gamma_gibbs,
    surrogate_slice,
)
from coupled import coupled
from models.covariance import squared_exponential
from models.funnel import Funnel
from models.gp_classification import GPClassification
from models.hierarchical_logistic import HierarchicalLogistic
from models.jit import ROOT
from models.log_gaussian_cox import LogGaussianCox
from models.logistic_regression import LogisticRegression
from models.mixture import gaussian_mixture
from models.stochastic_volatility import StochasticVolatility
from normal import normal, subset
from test_mirror import MIRRORS
from test_polya_gamma_gibbs import sum_of_gammas

MADE = 4  # transitions


def problems():
    """Return what the algorithms work on."""
    rng, p = np.random.default_rng(1), SimpleNamespace()
    X = rng.standard_normal((66, 3))  # more cases than a block of models/linalg.py has rows
    p.y = np.where(X[:, 0] + 0.5 * rng.standard_normal(66) > 0, 1.0, -1.0)
    p.K = squared_exponential(X, X, 0.0, 0.0) + 0.3 * np.eye(66)
    p.sites = ep.ep(p.K, p.y)
    p.prior = GPClassification.from_prior(p.K, p.y)
    p.gp = GPClassification.from_ep(p.K, p.y, p.sites)
    p.logistic = LogisticRegression.from_data(X, p.y > 0)
    p.fit = map_estimate.map_estimate(p.logistic)
    p.split = split_hmc.split_data(p.logistic, p.fit.q, 0.4)
    p.mixture = gaussian_mixture([0.6, 0.4], [[0.0, 0.0], [1.6, 1.2]],
                                 [[[1.0, 0.7], [0.7, 1.0]], [[0.6, -0.3], [-0.3, 0.5]]])
    p.normal = normal([0.3, 1.2, -0.4, 0.9])
    p.near, p.far = subset(p.normal, 1), gaussian_mixture([1.0], [[0.0, 0.3]], [np.eye(2)])
    p.funnel, p.coupled = Funnel.from_size(3), coupled([0.4, -1.0, 2.0])
    p.grouped = HierarchicalLogistic.from_data(X[:, :2], p.y, np.arange(66) % 2)
    p.volatility = StochasticVolatility.from_data([0.3, -1.2, 0.7, 2.0])
    p.cox = LogGaussianCox.from_counts([[2, 0], [1, 3]], 2.0)
    p.mass = np.diag([9.0, 7.0, 8.0, 6.0])
    p.shape = np.linalg.cholesky(np.linalg.inv(p.fit.hessian)) * 0.7
    p.series = np.cumsum(rng.standard_normal((4, 60, 2)), axis=1)
    p.ladder = ais.geometric_ladder(3, 1e-2)
    return p


CHAINS = {  # one transition from x
    "HMC": lambda p, x, rng: hmc.hmc(x, p.logistic, 0.5, 4, 1, rng, jitter=0.2),
    "HMC, M": lambda p, x, rng: hmc.hmc(x, p.logistic, 1.2, 4, 1, rng, M=p.mass),
    "random walk": lambda p, x, rng: random_walk.random_walk(x, p.logistic, 0.4, 1, rng),
    "normal split": lambda p, x, rng: split_hmc_fast.normal_split_hmc(
        x, p.logistic, p.fit, 0.9, 3, 1, rng),
    "data split": lambda p, x, rng: split_hmc_fast.data_split_hmc(
        x, p.logistic, p.split, 0.7, 3, 2, 1, rng),
    "RMHMC": lambda p, x, rng: paquet_rmhmc.rmhmc(x, p.prior, 2, 0.5, 1, rng),
    "RMHMC, q": lambda p, x, rng: paquet_rmhmc.rmhmc(x, p.gp, 2, 0.5, 1, rng),
    "fast RMHMC": lambda p, x, rng: paquet_rmhmc_fast.rmhmc(x, p.prior, 2, 0.5, 1, rng),
    "fast RMHMC, q": lambda p, x, rng: paquet_rmhmc_fast.rmhmc(x, p.gp, 2, 0.5, 1, rng),
    "general RMHMC": lambda p, x, rng: generalised_leapfrog.rmhmc(x, p.mixture, 3, 0.9, 1, rng),
    "SSHMC": lambda p, x, rng: sshmc.sshmc(x[:3], x[3:], p.coupled, 0.6, 0.9, 3, 1, rng, 1, 2),
    "SSHMC, v": lambda p, x, rng: sshmc.sshmc(x[:3], x[3:4], p.funnel, 1.0, 1.5, 3, 1, rng, 1, 2),
    "fast SSHMC": lambda p, x, rng: sshmc_fast.sshmc(x[:3], x[3:], p.coupled, 0.6, 0.9, 3, 1, rng,
                                                     2, 1, 0.1),
    "fast SSHMC, v": lambda p, x, rng: sshmc_fast.sshmc(x[:3], x[3:4], p.funnel, 1.0, 1.5, 3, 1,
                                                        rng, 1, 2),
    "within Gibbs": lambda p, x, rng: rmhmc_within_gibbs.rmhmc_within_gibbs(
        x[:3], x[3:4], p.funnel, 1.2, 1.8, 2, 2, 1, rng, 0.1),
    "within Gibbs, groups": lambda p, x, rng: rmhmc_within_gibbs.rmhmc_within_gibbs(
        x[:4], x[4:], p.grouped, 1.2, 1.5, 2, 2, 1, rng),
    "fitted walk": lambda p, x, rng: fitted_walk.fitted_walk(x, p.logistic, p.shape, 1, rng),
    "delayed acceptance": lambda p, x, rng: delayed_acceptance.delayed_acceptance(
        x, p.normal, p.near, 0.7 * np.eye(2), 1, rng),
    "surrogate transition": lambda p, x, rng: delayed_acceptance.delayed_acceptance(
        x, p.normal, p.far, 0.7 * np.eye(2), 1, rng, 3),
    "dragging": lambda p, x, rng: dragging.dragging(x, p.normal, [0], np.eye(1), 1, rng, 4),
    "discretizing chain": lambda p, x, rng: discretizing_chain_fast.discretizing_chain(
        x, p.normal, p.far, 1.0, 1, rng, 3, 2),
    "tempered transitions": lambda p, x, rng: tempered_transitions_fast.tempered_transitions(
        x, p.normal, (p.near, p.far), 1.0, 1, rng),
}
STARTS = dict.fromkeys(CHAINS, lambda p: p.fit.q) | dict.fromkeys(
    [name for name in CHAINS if "RMHMC" in name], lambda p: p.sites.mu) | {
    name: lambda p: np.zeros(2)
    for name in ("general RMHMC", "discretizing chain", "tempered transitions", "dragging",
                 "delayed acceptance", "surrogate transition")} | dict.fromkeys(
    [name for name in CHAINS if "SSHMC" in name or "Gibbs" in name],
    lambda p: np.array([0.4, -0.3, 0.8, 0.2, -0.1])) | {
    "ellipses": lambda p: p.sites.mu,
    "slices": lambda p: np.zeros(2),
    "auxiliary mixture": lambda p: np.array([0.0, 0.0, 0.0, 0.0, 0.1, -0.5, 0.8]),
    "Polya-Gamma": lambda p: np.zeros(5),
    "surrogate slices": lambda p: np.array([2.0, 2.0, 2.0, 2.0, 0.1, -0.4])}
OTHERS = {  # whole algorithms; few of them have a start x
    "leapfrog": lambda p, x, rng: generalised_leapfrog.generalised_leapfrog(
        np.zeros(2), np.ones(2), p.mixture, 5, 0.2),
    "AIS, HMC": lambda p, x, rng: ais.ais(p.gp, p.ladder, ais.HMC(0.1, 3), 1, rng),
    "AIS, RMHMC": lambda p, x, rng: ais.ais(p.gp, p.ladder, ais.RMHMC(0.3, 2, 5), 1, rng),
    "AIS, mirror": lambda p, x, rng: ais.ais(p.gp, p.ladder, ais.RMHMCMirror(0.3, 2, 5), 1, rng),
    "AIS, ellipses": lambda p, x, rng: ais_elliptical_slice.ais_elliptical_slice(
        p.gp, p.ladder, 1, rng),
    "EP": lambda p, x, rng: ep.ep(p.K, p.y),
    "fast EP": lambda p, x, rng: ep_fast.ep(p.K, p.y),
    "bridge": lambda p, x, rng: bridge_sampling.bridge_sampling(
        rng.standard_normal(50) + 1.0, rng.standard_normal(50)),
    "correction": lambda p, x, rng: ep_correction.second_order(p.sites, p.y, 4),
    "pilot": lambda p, x, rng: fitted_walk.pilot(np.zeros(2), p.normal, 5, rng, 2, 0.7),
    "mode": lambda p, x, rng: map_estimate.map_estimate(p.logistic),
    "ESS": lambda p, x, rng: (ess.ess(p.series), ess.initial_sequence(p.series[0]),
                              ess.batch_means(p.series[0]), ess.significant_lags(p.series[0])),
    "NUTS": lambda p, x, rng: hoffman_nuts.nuts_dual_averaging(p.fit.q, p.logistic, 4, rng, 2),
    "HMC, adaptive": lambda p, x, rng: hoffman_nuts.hmc_dual_averaging(
        p.fit.q, p.logistic, 0.9, 4, rng, 2),
    "fast NUTS": lambda p, x, rng: hoffman_nuts_fast.nuts(p.fit.q, p.logistic, 3, rng, 20),
    "fast NUTS, dense": lambda p, x, rng: hoffman_nuts_fast.nuts(
        p.fit.q, p.logistic, 3, rng, 20, "dense"),
    "ellipses": lambda p, x, rng: elliptical_slice.elliptical_slice(x, p.gp, 2, rng),
    "slices": lambda p, x, rng: slice_sampling.slice_sampling(x, p.normal, 1.0, 4, rng),
    "auxiliary mixture": lambda p, x, rng: auxiliary_mixture.auxiliary_mixture(
        x[:4], x[4:], p.volatility, 2, rng),
    "Polya-Gamma": lambda p, x, rng: polya_gamma_gibbs.polya_gamma_gibbs(
        x[:4], x[4:], p.grouped, sum_of_gammas, 2, rng),
    "surrogate slices": lambda p, x, rng: surrogate_slice.surrogate_slice(
        x[:4], x[4:], p.cox, 0.5, np.ones(2), 2, rng, 2),
    "Split HMC, Algorithm 1": lambda p, x, rng: split_hmc.normal_split_step(
        p.fit.q, p.logistic, split_hmc.normal_approximation(p.fit), 0.9, 3, rng),
    "Split HMC, Algorithm 2": lambda p, x, rng: split_hmc.data_split_step(
        p.fit.q, p.logistic, p.split, 0.7, 3, 2, rng),
    "SSHMC, Algorithm 1": lambda p, x, rng: sshmc.sshmc_step(
        np.array([0.4, -0.3, 0.8]), np.array([0.2]), p.funnel, 0.6, 3, rng),
    "whole chain": lambda p, x, rng: discretizing_chain.whole_chain_step(
        np.zeros(2), p.normal, p.near,
        slice_sampling.Slice(np.ones(2), 5, np.arange(2), False), 2, 1, 5, rng),
    "up and down": lambda p, x, rng: tempered_transitions.tempered_transitions_step(
        np.zeros(2), (p.normal, p.near, p.near),
        slice_sampling.Slice(np.ones(2), 5, np.arange(2), False), rng),
}


def last(record):
    """Return where a chain of one transition ends."""
    return (record.samples[0] if "samples" in record._fields
            else np.concatenate([record.theta[0], record.phi[0]]))


def flat(record):
    """Return all numbers of a record, fields of fields included."""
    if isinstance(record, tuple):
        return np.concatenate([flat(value) for value in record])
    return np.asarray(record, float).ravel()


def again(path):
    """Make every transition again, and write its record and the functions that were called."""
    assert numba.config.DISABLE_JIT
    p, before = pickle.loads(path.read_bytes())
    found, called = {}, set()
    sys.setprofile(lambda frame, event, _: event == "call" and called.add(
        f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"))
    for (name, k), x in before.items():
        found[name, k] = flat((CHAINS | OTHERS)[name](p, x, np.random.default_rng(k)))
    sys.setprofile(None)
    path.write_bytes(pickle.dumps((found, called)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the records of all transitions, compiled and interpreted, and what was called."""
    p, before, compiled, accepted = problems(), {}, {}, {name: [] for name in CHAINS}
    for name, run in (CHAINS | OTHERS).items():
        x = STARTS[name](p) if name in STARTS else np.zeros(0)
        for k in range(MADE if name in CHAINS else 1):
            start = x.copy()
            record = run(p, x, np.random.default_rng(k))
            np.testing.assert_array_equal(x, start, err_msg=f"{name} has changed its start")
            before[name, k], compiled[name, k] = x, flat(record)
            if name in CHAINS:
                x = last(record)
                accepted[name] += record.accepted.ravel().tolist()
    path = tmp_path_factory.mktemp("interpreted") / "transitions"
    path.write_bytes(pickle.dumps((p, before)))
    folders = map(str, (ROOT, ROOT / "tests"))
    subprocess.run(
        [sys.executable, "-c", f"import pathlib, test_interpreted as t\nt.again(pathlib.{path!r})"],
        check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1",
                         "PYTHONPATH": os.pathsep.join(folders)})
    return compiled, accepted, *pickle.loads(path.read_bytes())


@pytest.mark.parametrize("name", CHAINS | OTHERS)
def test_interpreted_and_compiled_code_make_the_same_transitions(runs, name):
    compiled, _, interpreted, _ = runs
    for k in range(MADE if name in CHAINS else 1):
        # sums may run in another order: some 1e-16 of energies of 1e2, a hundred times over
        np.testing.assert_allclose(interpreted[name, k], compiled[name, k], rtol=0, atol=1e-12)


def test_every_chain_accepts_and_rejects(runs):
    assert all(set(accepted) == {False, True} for accepted in runs[1].values())


def test_every_mirror_was_run(runs):
    assert runs[3] >= MIRRORS
