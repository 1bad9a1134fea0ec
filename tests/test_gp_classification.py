"""models/gp_classification.py: L_beta with its constants, and what its constructors refuse."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from models.covariance import squared_exponential
from models.gp_classification import GPClassification, draw_q
from models.interface import U

N = 6
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 2))
K = squared_exponential(X, X, 0.3, 1.0)
Y = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
EP = SimpleNamespace(tau=RNG.random(N), nu=RNG.standard_normal(N), converged=True)


def models(beta):
    return GPClassification.from_prior(K, Y, beta), GPClassification.from_ep(K, Y, EP, beta)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("which", [0, 1])
def test_U_is_minus_L_beta_with_every_constant(beta, which):
    model, x = models(beta)[which], 2 * RNG.standard_normal(N)
    Sigma = K if which == 0 else np.linalg.inv(np.linalg.inv(K) + np.diag(EP.tau))
    mu = np.zeros(N) if which == 0 else Sigma @ EP.nu
    joint = norm.logcdf(Y * x).sum() + multivariate_normal.logpdf(x, np.zeros(N), K)
    q = multivariate_normal.logpdf(x, mu, Sigma)
    assert U(x, model) == pytest.approx(-beta * joint - (1 - beta) * q, rel=1e-11)


def test_a_draw_from_q_is_its_mean_and_its_factor_times_normals():
    for model in models(1.0):
        z = np.random.default_rng(4).standard_normal(N)
        np.testing.assert_allclose(draw_q(model, np.random.default_rng(4)),
                                   model.mu + model.L_Sigma @ z, rtol=0, atol=1e-14)  # rounding


def test_a_precision_that_rounding_left_below_zero_is_taken_as_zero():
    tau = np.where(np.arange(N) == 2, 0.0, EP.tau)
    ours = GPClassification.from_ep(K, Y, replaced(tau=tau - 0.5e-8 * (tau == 0)))
    zero = GPClassification.from_ep(K, Y, replaced(tau=tau))
    np.testing.assert_array_equal(ours.tau, tau)
    np.testing.assert_array_equal(ours.L_Sigma, zero.L_Sigma)


def replaced(**fields):
    return SimpleNamespace(**(vars(EP) | fields))


def test_a_precision_without_a_factor_is_refused():
    with pytest.raises(ValueError, match="has no Cholesky factor"):
        GPClassification.from_ep(K, Y, replaced(tau=np.full(N, 1e308)))  # times K it overflows
