"""Regression and classification beside scikit-learn's: likelihood, gradient, predictions."""

import numpy as np
import pytest

from models.gp_regression import predict
from models.interface import grad_U, log_likelihood
from reproduce.paquet.digits import usps_3v5, usps_3v5_test
from sampling.problems import gp_classifier
from test_gp_regression import DENSE, data, problem

reason = "needs the extra `compare`: pip install -e '.[compare]'"
gaussian_process = pytest.importorskip("sklearn.gaussian_process", reason=reason)
kernels = pytest.importorskip("sklearn.gaussian_process.kernels", reason=reason)


def theirs(X, y, q, noise_of_a_case):
    """Fit their regressor with our parameters; the noise is part of a new case, or it is not.

    Their kernel has a half in its exponent.  Its theta is (log eta^2, log lengths, log sigma^2),
    without the last where it is no part of the kernel; c is fixed.
    """
    sigma2, eta2, lengths = np.exp(2 * q[0]), np.exp(2 * q[1]), np.exp(q[2:]) / np.sqrt(2)
    kernel = (kernels.ConstantKernel(100.0, "fixed") + kernels.ConstantKernel(eta2)
              * kernels.RBF(lengths if lengths.size > 1 else lengths[0]))
    if noise_of_a_case:
        kernel, sigma2 = kernel + kernels.WhiteKernel(sigma2), 0.0
    return gaussian_process.GaussianProcessRegressor(kernel, alpha=sigma2, optimizer=None).fit(X, y)


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
def test_likelihood_gradient_and_predictions_are_theirs(kind):
    (X, y), (model, q) = data(60), problem(60, kind)
    found = theirs(X, y, q, True)
    likelihood, gradient = found.log_marginal_likelihood(found.kernel_.theta, eval_gradient=True)
    assert log_likelihood(q, model) == pytest.approx(likelihood, rel=DENSE)
    # ours by log sigma, log eta and log rho, theirs by log eta^2, log lengths and log sigma^2
    expected = np.concatenate([[2 * gradient[-1], 2 * gradient[0]], gradient[1:-1]])
    # sums of 3600 products of numbers up to 1e3 / sigma^2
    np.testing.assert_allclose(model.precision * (q - model.mean) - grad_U(q, model), expected,
                               rtol=1e-8, atol=1e-8)
    Z = np.random.default_rng(2).random((5, 3)) * 1.2
    prediction = predict(Z, q, model)
    for part, noise_of_a_case in (("latent", False), ("noisy", True)):
        mean, sd = theirs(X, y, q, noise_of_a_case).predict(Z, return_std=True)
        np.testing.assert_allclose(prediction.mean, mean, rtol=DENSE)
        # a difference of numbers of 116
        np.testing.assert_allclose(getattr(prediction, part), sd**2, rtol=0, atol=116 * DENSE)


def test_classification_of_digits_has_a_smaller_log_loss_than_theirs(real):
    # theirs has Laplace's approximation and the logistic function, ours EP and the probit one
    train, test = real(usps_3v5, fallback=False), real(usps_3v5_test)
    some = np.arange(0, 767, 4)
    seen = np.ptp(train.X[some], axis=0) > 0
    ours = gp_classifier(train.X[some][:, seen], train.y[some])
    X = test.X[:, seen]
    kernel = kernels.ConstantKernel() * kernels.RBF(np.sqrt(seen.sum()), (1e-2, 1e3))
    other = gaussian_process.GaussianProcessClassifier(kernel).fit(ours.X, train.y[some])
    probability = other.predict_proba(ours.scale(X))[:, 1]
    losses = [-np.log(np.where(test.y > 0, p, 1 - p)).mean() for p in (
        ours.predict_by_ep(ours.fit(), X).probability, probability)]
    assert losses[0] < losses[1] - 0.05 and losses[0] < 0.15, losses
