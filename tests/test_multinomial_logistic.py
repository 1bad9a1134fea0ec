"""models/multinomial_logistic.py: against plain NumPy, and for two classes the binary model."""

import numpy as np
import pytest
from scipy.special import log_softmax

from models.interface import U, case_entropy, grad_U, hessian, log_likelihood
from models.logistic_regression import LogisticRegression
from models.multinomial_logistic import BLOCK, MultinomialLogistic

P, K = 2, 3
RNG = np.random.default_rng(0)
THETA = RNG.standard_normal((P + 1) * K)


@pytest.mark.parametrize("n", [2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_U_is_minus_the_log_density(n):
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, P)), rng.integers(0, K, n)
    model, Theta = MultinomialLogistic.from_data(X, y, K, 2.0, 0.7), THETA.reshape(P + 1, K)
    log_p = log_softmax(Theta[0] + X @ Theta[1:], axis=1)[np.arange(n), y].sum()
    assert log_likelihood(THETA, model) == pytest.approx(log_p, rel=1e-13)
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
    assert np.isfinite(hessian(theta, model)).all()
    if scale == 1.0:  # at 1e4 softmax keeps the absolute, not the relative error of 1 - P
        np.testing.assert_allclose(case_entropy(theta, model), case_entropy(delta, binary),
                                   rtol=1e-10)
