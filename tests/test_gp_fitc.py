"""FITC: against the dense formula, its diagonal, and with all cases."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from models.gp_fitc import GPFITC
from models.gp_regression import GPRegression
from models.interface import U, U_prior, prepare, trial
from test_gp_nystrom import INDEX, JITTER, parts
from test_gp_regression import data, dense_C, problem


def dense_fitc(q, index, n=30):
    """Return C^ by its definition: Q, but with the diagonal of C."""
    K, small = parts(q, index, n)
    Q = K @ np.linalg.solve(small, K.T)
    C = dense_C(data(n)[0], q)
    return (Q + Q.T) / 2 + np.diag(np.diag(C) - np.diag(Q)), C


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_it_is_the_dense_formula(m, kind):
    whole, q = problem(30, kind)
    model = GPFITC.from_model(whole, INDEX[:m], JITTER)
    approximate, C = dense_fitc(q, INDEX[:m])
    np.testing.assert_allclose(np.diag(approximate), np.diag(C), rtol=1e-12)
    assert np.abs(approximate - C).max() > 0.01
    expected = multivariate_normal.logpdf(whole.y, np.zeros(30), approximate)
    # small has a condition of 1e6 at most, and C one of 1e4
    assert U_prior(q, model) - U(q, model) == pytest.approx(expected, rel=1e-9)
    assert (model.precision == whole.precision).all()


def test_with_one_case_it_is_exact_whatever_the_columns():
    whole, q = problem(1, "ard")
    assert U(q, GPFITC.from_model(whole, [0])) == pytest.approx(U(q, whole), rel=1e-8)  # jitter


@pytest.mark.parametrize("jitter", [1e-8, 1e-10])
def test_with_all_columns_it_is_the_posterior(jitter):
    # Q = K - j I + j^2 (K + j I)^-1, and the diagonal gives j back: the error is of second order
    rng = np.random.default_rng(1)
    whole = GPRegression.from_data(rng.random((40, 5)), 5 * rng.standard_normal(40), "isotropic")
    q = np.log([0.5, 5.0, 0.1])  # K has no eigenvalue below 20
    error = U(q, GPFITC.from_model(whole, np.arange(40), jitter)) - U(q, whole)
    # (125 jitter)^2 / 20, over an eigenvalue of 20; and rounding of U, 1e-13 of 1e2
    assert abs(error) < 1e-9


def test_what_rounding_makes_negative_of_the_diagonal_counts_as_0():
    # of rank 1: one column leaves nothing, to 1e-15 of 1 to 1e3, at a noise of 1e-20
    model = GPFITC.from_model(GPRegression.from_data(np.zeros((5, 2)), np.ones(5), "ard", 0.7),
                              [0], 0.0)
    for log_eta in np.linspace(-1.0, 3.0, 30):
        assert np.isfinite(U(np.array([np.log(1e-10), log_eta, 0.0, 0.0]), model))


def test_a_new_sigma_needs_no_new_B():
    whole, q = problem(30, "ard")
    model = GPFITC.from_model(whole, INDEX)
    cache = prepare(q, model)
    cache.memory.B[:], cache.memory.left[:] = 0.0, 3.0
    expected = U_prior(q + np.eye(5)[0], model) - multivariate_normal.logpdf(
        whole.y, np.zeros(30), (3 + np.exp(2 * (q[0] + 1))) * np.eye(30))
    assert trial(cache, 0, q[0] + 1, model) == pytest.approx(expected, rel=1e-12)  # sums of 30
