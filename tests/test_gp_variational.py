"""The variational bound: against the dense formula, what it bounds, and with all cases."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_variational import GPVariational
from models.interface import U, U_prior, log_likelihood
from test_gp_nystrom import INDEX, JITTER, parts
from test_gp_regression import problem


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_it_is_the_dense_formula(m, kind):
    whole, q = problem(30, kind)
    model = GPVariational.from_model(whole, INDEX[:m], JITTER)
    K, small = parts(q, INDEX[:m])
    Q = K @ np.linalg.solve(small, K.T)
    expected = multivariate_normal.logpdf(whole.y, np.zeros(30), (Q + Q.T) / 2 + 0.25 * np.eye(30))
    expected -= (30 * (100 + np.exp(2 * q[1])) - np.trace(Q)) / (2 * 0.25)
    # small has a condition of 1e6 at most, and C one of 1e4
    assert U_prior(q, model) - U(q, model) == pytest.approx(expected, rel=1e-9)
    assert (model.index == INDEX[:m]).all() and (model.precision == whole.precision).all()


def test_it_is_a_bound_and_grows_with_the_columns():
    whole, q = problem(30, "ard")
    rng = np.random.default_rng(1)
    for _ in range(5):
        there, order = q + 0.5 * rng.standard_normal(q.size), rng.permutation(30)
        found = [-U(there, GPVariational.from_model(whole, order[:m])) for m in (1, 4, 9, 20, 30)]
        assert (np.diff(found) > -1e-7).all()  # the jitter of 1e-10 c^2, over sigma^2 > .01
        assert found[-1] < -U(there, whole) + 1e-7 and found[0] < found[-1] - 1
        assert -U(there, GPNystrom.from_model(whole, order[:4])) > found[1]


@pytest.mark.parametrize("jitter", [1e-7, 1e-8])
def test_with_all_columns_the_error_is_in_proportion_to_the_jitter(jitter):
    # Q = K - j I to first order, of both terms: a smaller sigma^2, and a gap of n j / (2 sigma^2)
    rng = np.random.default_rng(1)
    whole = GPRegression.from_data(rng.random((40, 5)), 5 * rng.standard_normal(40), "isotropic")
    q = np.log([0.5, 5.0, 0.1])  # K has no eigenvalue below 20
    less = q.copy()
    less[0] += 1e-5
    slope = (log_likelihood(less, whole) - log_likelihood(q, whole)) / (1e-5 * 2 * 0.25)
    error = U(q, GPVariational.from_model(whole, np.arange(40), jitter)) - U(q, whole)
    # the slope by sigma^2 is exact to 1e-5, and rounding of U 1e-13 of 1e2 over 1e-5
    assert error == pytest.approx((slope + 40 / 0.5) * 125 * jitter, rel=1e-3)
