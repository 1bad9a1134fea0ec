"""Gaussian-process regression against SciPy; test_models.py has caches and derivatives."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from models.gp_regression import GPRegression, predict, predict_over
from models.interface import U, U_prior, log_likelihood, log_likelihood_of, prepare

P = 3
# C has a condition number of 1e5 at most here (100 n against sigma^2 > .04), of which y'C^-1 y
# can lose as many digits; the two ways of computing it lose different ones
DENSE = 1e-10
KINDS = ["isotropic", "ard"]


def data(n, p=P, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    return X, 3 * np.sin(4 * X[:, 0]) + 8 + 0.4 * rng.standard_normal(n)


def problem(n, kind, p=P, c=10.0, **prior):
    model = GPRegression.from_data(*data(n, p), kind, c, **prior)
    return model, np.log([0.5, 4.0, 0.6, 0.9, 1.4])[: model.precision.size]


def dense(X, Z, q, c=10.0):
    """Return the covariance of f at X and Z, by (24); (23) is the case of one length."""
    rho = np.broadcast_to(np.exp(q[2:]), X.shape[1:])
    return c**2 + np.exp(2 * q[1]) * np.exp(-(((X[:, None, :] - Z[None, :, :]) / rho) ** 2).sum(-1))


def dense_C(X, q, c=10.0):
    return dense(X, X, q, c) + np.exp(2 * q[0]) * np.eye(len(X))


def log_normal(y, C):
    return multivariate_normal.logpdf(y, np.zeros(y.size), (C + C.T) / 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 130])  # blocks of 64 in the factorisation
def test_the_likelihood_is_that_of_scipy(n, kind):
    model, q = problem(n, kind)
    expected = log_normal(model.y, dense_C(data(n)[0], q))
    assert log_likelihood(q, model) == pytest.approx(expected, rel=DENSE)
    assert log_likelihood_of(U(q, model), q, model) == pytest.approx(expected, rel=DENSE)


def test_the_prior_is_normal_on_the_logs():
    mean, sd = np.array([0.1, 1.0, -1.0, 2.0, 0.0]), np.array([1.0, 0.5, 2.0, 3.0, 4.0])
    model, q = problem(4, "ard", prior_mean=mean, prior_sd=sd)
    expected = -norm.logpdf(q, mean, sd).sum()
    assert U_prior(q, model) == pytest.approx(expected, rel=1e-14)  # a few sums
    assert U(q, model) + log_likelihood(q, model) == pytest.approx(expected, abs=1e-12)
    assert U_prior(q, problem(4, "ard")[0]) == pytest.approx(  # the default
        -norm.logpdf(q, 0, 2).sum(), rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 70])
def test_predictions_are_the_conditional_normal_distribution(n, kind):
    model, q = problem(n, kind)
    (X, y), Z = data(n), np.random.default_rng(5).random((4, P)) * 1.5
    k, C = dense(X, Z, q), dense_C(X, q)
    variance, found = np.diag(dense(Z, Z, q) - k.T @ np.linalg.solve(C, k)), predict(Z, q, model)
    np.testing.assert_allclose(found.mean, k.T @ np.linalg.solve(C, y), rtol=DENSE)
    # a difference of numbers of 116
    np.testing.assert_allclose(found.latent, variance, rtol=0, atol=116 * DENSE)
    np.testing.assert_allclose(found.noisy, variance + 0.25, rtol=0, atol=116 * DENSE)


def test_variances_that_rounding_makes_negative_count_as_0():
    # far from each other and without noise: k'C^-1 k is eta^2 but for its rounding
    X = 1e3 * np.arange(3.0)[:, None]
    model = GPRegression.from_data(X, np.ones(3), "isotropic", 0.0)
    for log_eta in np.linspace(-1.0, 1.0, 30):
        assert (predict(X, np.array([-50.0, log_eta, 0.0]), model).latent >= 0.0).all()


def test_predictions_over_draws_are_those_of_the_mixture():
    # by (27) and (28): mean and variance of a mixture of normals, from its second moment
    model, q = problem(20, "ard")
    Z = np.random.default_rng(5).random((4, P))
    draws = q + 0.3 * np.random.default_rng(6).standard_normal((7, q.size))
    single = [predict(Z, each, model) for each in draws]
    mean, found = np.mean([each.mean for each in single], axis=0), predict_over(Z, draws, model)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13)
    for field in ("latent", "noisy"):
        second = np.mean([getattr(each, field) + each.mean**2 for each in single], axis=0)
        np.testing.assert_allclose(getattr(found, field), second - mean**2, rtol=0, atol=1e-11)


def test_without_a_factor_U_is_infinite():
    # every case is there twice, and the noise is below the rounding of C
    model = GPRegression.from_data(np.arange(8.0).repeat(2)[:, None], np.ones(16), "isotropic", 1.0)
    for log_rho in np.linspace(-1.0, 1.0, 9):
        q = np.array([-20.0, 0.0, log_rho])
        assert U(q, model) == prepare(q, model).U == np.inf
