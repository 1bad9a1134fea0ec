"""Bits on other processors: what CONTRIBUTING.md says is the same on all, and what to rounding.

Two processes compute the same with OpenBLAS's kernels for Haswell (2013: products and sums in one
rounding) and for Sandybridge (2011: two roundings, and sums in another order).
"""

import json
import platform

import numpy as np
import pytest

from conftest import python

KERNELS = ("Haswell", "Sandybridge")
# rounding is 10^-16, a condition number CONDITION makes 10^-12 of it, a hundred steps 10^-10, and
# there are constants; after a decision that fell another way numbers are off by 10^-2 and more
CONDITION, ROUNDING = 1e4, 1e-8
RUNS = """
import json
import numpy as np
from threadpoolctl import threadpool_info

from algorithms.ep_fast import ep
from algorithms.ess import initial_sequence
from algorithms.hmc import hmc
from algorithms.paquet_rmhmc_fast import rmhmc
from algorithms.random_walk import random_walk
from models.covariance import squared_exponential
from models.funnel import Funnel
from models.gp_classification import GPClassification
from models.stochastic_volatility import StochasticVolatility

draw = np.random.default_rng
X, noise = draw(1).uniform(0, 2, (60, 2)), draw(2).standard_normal(60)
y = np.where(np.sin(2 * X[:, 0]) + noise > 0, 1.0, -1.0)
K = squared_exponential(X, X, -2.0, 0.0)
q = ep(K, y)
volatility = StochasticVolatility.from_data(0.5 * draw(3).standard_normal(30))
x = np.concatenate([np.zeros(30), [-1.0, -2.0, 2.0]])
walk = random_walk(x, volatility, 0.02, 400, draw(4))
found = {
    "condition": np.linalg.cond(K),
    "the same bits": {
        "random walk, volatility": walk.samples,
        "energies of it": walk.energies,
        "ESS of it": initial_sequence(walk.samples[:, :3])},
    "to rounding": {
        "EP": [q.log_Z, *q.mu],
        "HMC, funnel": hmc(np.full(61, 0.1), Funnel.from_size(60), 0.05, 10, 20, draw(7)).energies,
        "RMHMC": rmhmc(q.mu, GPClassification.from_ep(K, y, q), 3, 0.1, 3, draw(8)).samples}}
kernels = {pool["architecture"] for pool in threadpool_info() if pool["user_api"] == "blas"}
print(json.dumps([sorted(kernels), found], default=lambda a: np.asarray(a).tolist()))
"""


@pytest.fixture(scope="module")
def both():
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("needs a processor of x86-64, for the kernels of Haswell and Sandybridge")
    found = []
    for kernels in KERNELS:
        names, results = json.loads(python("-c", RUNS, OPENBLAS_CORETYPE=kernels).splitlines()[-1])
        if names != [kernels]:
            pytest.skip(f"needs an OpenBLAS with the kernels of {kernels}, not {names}: pip install"
                        " numpy")
        found.append(results)
    return found


def test_what_asks_blas_for_no_sum_has_the_same_bits(both):
    one, other = (found["the same bits"] for found in both)
    assert one == other
    assert np.ptp(one["random walk, volatility"], axis=0).min() > 0  # it did move


def test_what_asks_it_for_sums_is_the_same_to_rounding_and_no_more(both):
    one, other = (found["to rounding"] for found in both)
    for name in one:
        a, b = np.array(one[name]), np.array(other[name])
        # of the largest of its kind: what is near 0 may differ in all its digits
        assert np.abs(a - b).max() <= ROUNDING * np.abs(a).max(), name
    # or the kernels were the same, and nothing is shown
    assert {name for name in one if one[name] != other[name]} >= {"EP", "RMHMC"}
    assert both[0]["condition"] < CONDITION
