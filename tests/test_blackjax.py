"""The times of RMHMC and HMC beside those of blackjax: ours, theirs and the ratio.

The benchmarks alone:  python -m pytest tests/test_blackjax.py -m benchmark -s

RMHMC has the same metric, step size and number of steps in both.  blackjax integrates by the
implicit midpoint rule, with the gradient of its Hamiltonian by automatic differentiation.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

from algorithms.hmc import hmc
from algorithms.map_estimate import map_estimate
from algorithms.paquet_rmhmc_fast import rmhmc
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.logistic_regression import LogisticRegression
from reproduce import data
from test_benchmarks import seconds, show

needs = "needs the extra `compare`: pip install -e '.[compare]'"
blackjax = pytest.importorskip("blackjax", reason=needs)
jax = pytest.importorskip("jax", reason=needs)


@pytest.fixture(scope="module", autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def one_core():
    """Keep all threads of this process, XLA's included, on one core."""
    threads = Path("/proc/self/task")
    if not threads.exists():
        pytest.skip("needs Linux, whose /proc keeps threads on one core")
    before = os.sched_getaffinity(0)
    for thread in threads.iterdir():
        os.sched_setaffinity(int(thread.name), {min(before)})
    yield
    for thread in threads.iterdir():
        os.sched_setaffinity(int(thread.name), before)


def their_rmhmc(model, eps, l_max):
    y, K_inv = jax.numpy.asarray(model.y), jax.numpy.linalg.inv(model.K)
    norm = jax.scipy.stats.norm

    def log_density(x):
        return jax.numpy.sum(norm.logcdf(y * x)) - x @ K_inv @ x / 2

    def metric(x):
        z = y * x
        h = jax.numpy.exp(norm.logpdf(z) - norm.logcdf(z))
        return K_inv + jax.numpy.diag(h * (z + h))

    return blackjax.rmhmc(log_density, eps, metric, l_max)


def their_hmc(model, eps, L):
    X, y, precision = (jax.numpy.asarray(a) for a in (model.X, model.y, model.precision))

    def log_density(q):
        z = X @ q
        return y @ z - jax.numpy.sum(jax.numpy.logaddexp(0.0, z)) - precision @ q**2 / 2

    return blackjax.hmc(log_density, eps, jax.numpy.ones(X.shape[1]), L)


def their_chain(sampler, n):
    """Return a compiled function (start, seed) -> states (n, d)."""

    def transition(state, key):
        state, _ = sampler.step(key, state)
        return state, state.position

    run = jax.jit(lambda start, keys: jax.lax.scan(transition, sampler.init(start), keys)[1])
    return lambda start, seed: np.asarray(run(start, jax.random.split(jax.random.key(seed), n)))


@pytest.mark.benchmark
def test_rmhmc_against_blackjax(one_core):
    cases = data.usps_3v5()
    K = squared_exponential(cases.X, cases.X, 4.85, 5.1)  # Paquet and Fraccaro, Section 5
    model, eps, l_max, rng = GPClassification.from_prior(K, cases.y), 0.1, 10, default_rng(1)
    x = rmhmc(np.zeros(cases.y.size), model, l_max, eps, 5, rng).samples[-1]
    theirs = their_chain(their_rmhmc(model, eps, l_max), 1)
    show(f"RMHMC transition, fast twin, N = {x.size}", seconds(
        lambda: rmhmc(x, model, l_max, eps, 1, rng)), seconds(lambda: theirs(x, 1), 3),
        "blackjax.rmhmc")


@pytest.mark.benchmark
def test_hmc_against_blackjax(one_core):
    cases = data.simulated_logistic()  # Split HMC, Section 3.3.1: n = 10000, p = 100
    model, eps, L, n = LogisticRegression.from_data(cases.X, cases.y), 0.015, 20, 20
    q, rng = map_estimate(model).q, default_rng(1)
    theirs = their_chain(their_hmc(model, eps, L), n)
    show(f"HMC transition, logistic regression, n = {cases.y.size}", seconds(
        lambda: hmc(q, model, eps, L, n, rng)) / n, seconds(lambda: theirs(q, 1), 3) / n,
        "blackjax.hmc")
