"""Gaussian-process classification, of a fixed kernel and as a hierarchical model."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from algorithms.zhang_sshmc import H2
from differences import differences
from models import interface
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.interface import U

N = 6
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 2))
K = squared_exponential(X, X, 0.3, 1.0)
Y = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
EP = SimpleNamespace(tau=RNG.random(N), nu=RNG.standard_normal(N), converged=True)


def replaced(**fields):
    return SimpleNamespace(**(vars(EP) | fields))


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


def test_a_precision_that_rounding_left_below_zero_is_taken_as_zero():
    tau = np.where(np.arange(N) == 2, 0.0, EP.tau)
    ours = GPClassification.from_ep(K, Y, replaced(tau=tau - 0.5e-8 * (tau == 0)))
    zero = GPClassification.from_ep(K, Y, replaced(tau=tau))
    np.testing.assert_array_equal(ours.tau, tau)
    np.testing.assert_array_equal(ours.L_Sigma, zero.L_Sigma)


def test_a_precision_without_a_factor_is_refused():
    with pytest.raises(ValueError, match="has no Cholesky factor"):
        GPClassification.from_ep(K, Y, replaced(tau=np.full(N, 1e308)))  # times K it overflows


# With the kernel's parameters

NUGGET = 0.01
MODEL = HierarchicalGPClassification.from_data(X, Y, (0.3, -0.2), (1.5, 0.7), NUGGET)
PHI, FIELD = np.array([0.4, 0.7]), np.random.default_rng(2).standard_normal(N)


def K_of(phi):
    return squared_exponential(X, X, *phi) + NUGGET * np.exp(2 * phi[1]) * np.eye(N)


def test_the_density_is_that_of_its_parts():
    dense = -(norm.logcdf(MODEL.y * FIELD).sum() + multivariate_normal(cov=K_of(PHI)).logpdf(FIELD)
              + norm.logpdf(PHI, [0.3, -0.2], [1.5, 0.7]).sum())
    # without the constants of the normal densities
    constants = N * np.log(2 * np.pi) / 2 + np.log(2 * np.pi) + np.log(1.5 * 0.7)
    assert interface.U(np.append(FIELD, PHI), MODEL) == pytest.approx(dense - constants, rel=1e-12)


def test_the_mass_is_the_inverse_covariance():
    Phi, K = interface.precompute_phi(PHI, MODEL), K_of(PHI)
    root = np.array([interface.momentum_theta(e, Phi, MODEL) for e in np.eye(N)]).T
    # K's condition is below 1e4
    np.testing.assert_allclose(root @ root.T @ K, np.eye(N), rtol=0, atol=1e-11)


def test_the_metric_is_the_fisher_information_and_the_prior():
    A = [np.linalg.solve(K_of(PHI), each) for each in differences(K_of, PHI)]
    wanted = np.array([[np.trace(a @ b) / 2 for a in A] for b in A]) + np.diag([1.5**-2, 0.7**-2])
    given = interface.GivenTheta(MODEL, FIELD)
    np.testing.assert_allclose(interface.metric(PHI, given), wanted, rtol=1e-7)


def test_no_factor_is_no_energy():
    twice = HierarchicalGPClassification.from_data([[1.0], [1.0]], [1.0, -1.0], nugget=0.0)
    Phi = interface.precompute_phi(np.zeros(2), twice)  # K is all ones, exactly
    assert np.isnan(interface.U_theta(np.ones(2), Phi, twice))
    Theta = interface.precompute_theta(np.ones(2), twice)
    assert np.isnan(interface.U(np.zeros(2), H2(twice, Theta, np.ones(2))))
