"""models/multinomial_logistic.py: against plain NumPy, and for two classes the binary model."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from models.interface import U, case_entropy, grad_U, hessian, log_likelihood
from models.logistic_regression import LogisticRegression
from models.multinomial_logistic import BLOCK, MultinomialLogistic

P, K = 2, 3
RNG = np.random.default_rng(0)
THETA = RNG.standard_normal((P + 1) * K)
sizes = pytest.mark.parametrize("n", [2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])


def problem(n, scale=1.0):
    rng = np.random.default_rng(n)
    X, y = scale * rng.standard_normal((n, P)), rng.integers(0, K, n)
    return X, y, MultinomialLogistic.from_data(X, y, K, 2.0, 0.7)


def predictors(X, theta):
    return np.column_stack([np.ones(len(X)), X]) @ theta.reshape(P + 1, K)


@sizes
def test_U_is_minus_the_log_density(n):
    X, y, model = problem(n)
    log_p = log_softmax(predictors(X, THETA), axis=1)[np.arange(n), y].sum()
    assert log_likelihood(THETA, model) == pytest.approx(log_p, rel=1e-13)
    Theta = THETA.reshape(P + 1, K)
    prior = (Theta[0] ** 2).sum() / (2 * 2.0**2) + (Theta[1:] ** 2).sum() / (2 * 0.7**2)
    assert U(THETA, model) == pytest.approx(prior - log_p, rel=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_two_classes_are_the_binary_model(scale):
    # only the difference of the two vectors of coefficients matters, of prior variance 2 sigma^2
    rng = np.random.default_rng(1)
    X, y = scale * rng.standard_normal((50, P)), rng.integers(0, 2, 50)
    binary = LogisticRegression.from_data(X, y, 3.0 * 2**0.5, 2**0.5)
    model = MultinomialLogistic.from_data(X, y, 2, 3.0, 1.0)
    delta = rng.standard_normal(P + 1)
    theta = np.column_stack([-delta / 2, delta / 2]).ravel()
    assert U(theta, model) == pytest.approx(U(delta, binary), rel=1e-13)
    assert log_likelihood(theta, model) == pytest.approx(log_likelihood(delta, binary), rel=1e-13)
    # dU/d delta = (dU/d theta_1 - dU/d theta_0) / 2; terms of up to 1e4
    g = grad_U(theta, model).reshape(P + 1, 2)
    np.testing.assert_allclose((g[:, 1] - g[:, 0]) / 2, grad_U(delta, binary),
                               rtol=0, atol=1e-11 * scale)
    if scale == 1.0:  # at 1e4 softmax keeps the absolute, not the relative error of 1 - P
        np.testing.assert_allclose(case_entropy(theta, model), case_entropy(delta, binary),
                                   rtol=1e-10)


def test_large_linear_predictors_do_not_overflow():
    X, y, model = problem(100, scale=1e4)
    assert np.abs(predictors(X, THETA)).max() > 1e4
    log_p = log_softmax(predictors(X, THETA), axis=1)[np.arange(100), y].sum()
    assert log_likelihood(THETA, model) == pytest.approx(log_p, rel=1e-13)
    assert np.isfinite(grad_U(THETA, model)).all() and np.isfinite(hessian(THETA, model)).all()


def test_entropy():
    X, _, model = problem(40)
    p = softmax(predictors(X, THETA), axis=1)
    np.testing.assert_allclose(case_entropy(THETA, model), -(p * np.log(p)).sum(1), rtol=1e-10)
    np.testing.assert_allclose(case_entropy(0 * THETA, model), np.log(K), rtol=1e-15)
