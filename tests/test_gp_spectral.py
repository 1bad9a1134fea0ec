"""Regression by the eigenvalues of its kernel: against the dense formula."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from models.gp_regression import GPRegression
from models.gp_spectral import GPSpectral
from models.interface import U, U_prior, prepare
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


def test_an_eigenvalue_that_rounding_makes_negative_counts_as_0():
    whole = GPRegression.from_data(np.zeros((30, 2)), np.ones(30), "isotropic")  # E of rank 1
    model = GPSpectral.from_model(whole)
    q = np.log([1e-9, 3.0, 1.0])
    cache = prepare(q, model)
    assert cache.memory.s.min() == 0.0
    assert cache.memory.s[-1] == pytest.approx(30, rel=1e-12) and np.isfinite(cache.U)
