"""Regression by the eigenvalues of its kernel: against the regression, and the dense formula."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from models import gp_spectral
from models.gp_regression import GPRegression
from models.gp_spectral import GPSpectral
from models.interface import U, U_prior, commit, prepare, trial
from test_gp_regression import DENSE, data, dense_C, problem


@pytest.mark.parametrize("n, c", [(1, 10.0), (2, 0.0), (25, 10.0), (25, 0.0), (25, 1e3)])
def test_it_is_the_dense_formula(n, c):
    whole, q = problem(n, "isotropic", c=c)
    model, (X, y) = GPSpectral.from_model(whole), data(n)
    C = dense_C(X, q) - 100 + c**2
    expected = multivariate_normal.logpdf(y, np.zeros(n), C)
    # the dense one loses the digits of c^2 over sigma^2: 1e6 n / .25 times 1e-16
    rel = DENSE if c < 100 else 1e-7
    assert U_prior(q, model) - U(q, model) == pytest.approx(expected, rel=rel)


def test_it_is_the_regression_wherever_a_chain_may_go():
    rng = np.random.default_rng(2)
    whole, q = problem(40, "isotropic", prior_mean=0.3, prior_sd=1.5)
    model = GPSpectral.from_model(whole)
    for _ in range(20):
        there = q + rng.standard_normal(3)
        there[0] = max(there[0], -1.5)
        assert U(there, model) == pytest.approx(U(there, whole), rel=1e-9)  # as above, n = 40


def test_sigma_and_eta_need_no_decomposition():
    whole, q = problem(20, "isotropic")
    model = GPSpectral.from_model(whole)
    cache = prepare(q, model)
    cache.memory.s[:], cache.memory.a[:], cache.memory.b[:] = 1.0, whole.y, 1.0  # E = I
    for k in (0, 1):
        there = q.copy()
        there[k] += 0.4
        C = 100 + (np.exp(2 * there[0]) + np.exp(2 * there[1])) * np.eye(20)
        expected = U_prior(there, model) - multivariate_normal.logpdf(whole.y, np.zeros(20), C)
        energy = trial(cache, k, there[k], model)
        assert energy == pytest.approx(expected, rel=DENSE)
        after = commit(cache, k, there[k], energy, model)
        assert np.shares_memory(after.memory.s, cache.memory.s) and after.U == energy


def test_an_eigenvalue_that_rounding_makes_negative_counts_as_0():
    whole = GPRegression.from_data(np.zeros((30, 2)), np.ones(30), "isotropic")  # E of rank 1
    model = GPSpectral.from_model(whole)
    q = np.log([1e-9, 3.0, 1.0])
    cache = prepare(q, model)
    assert cache.memory.s.min() == 0.0
    assert cache.memory.s[-1] == pytest.approx(30, rel=1e-12) and np.isfinite(cache.U)


def test_the_decomposition_of_no_number_is_none():
    whole, _ = problem(5, "isotropic")
    memory = gp_spectral.Memory(np.zeros(1), np.zeros(5), np.zeros(5), np.zeros(5))
    gp_spectral.decompose(np.array([np.nan]), whole, np.zeros((5, 5)), *memory[1:])
    assert np.isnan(memory.a).all()
