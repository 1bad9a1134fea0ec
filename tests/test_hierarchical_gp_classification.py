"""Gaussian-process classification as a hierarchical model: density, mass and metric."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from algorithms.zhang_sshmc import H2
from differences import differences
from models import interface
from models.covariance import squared_exponential
from models.hierarchical_gp_classification import HierarchicalGPClassification

NUGGET = 0.01
RNG = np.random.default_rng(1)
Z, Y = RNG.standard_normal((9, 3)), np.where(RNG.random(9) < 0.5, -1.0, 1.0)
MODEL = HierarchicalGPClassification.from_data(Z, Y, (0.3, -0.2), (1.5, 0.7), NUGGET)
PHI = np.array([0.4, 0.7])
X = np.random.default_rng(2).standard_normal(9)


def K_of(phi):
    return squared_exponential(Z, Z, *phi) + NUGGET * np.exp(2 * phi[1]) * np.eye(9)


def test_the_density_is_that_of_its_parts():
    dense = -(norm.logcdf(MODEL.y * X).sum() + multivariate_normal(cov=K_of(PHI)).logpdf(X)
              + norm.logpdf(PHI, [0.3, -0.2], [1.5, 0.7]).sum())
    # without the constants of the normal densities
    constants = 9 * np.log(2 * np.pi) / 2 + np.log(2 * np.pi) + np.log(1.5 * 0.7)
    assert interface.U(np.append(X, PHI), MODEL) == pytest.approx(dense - constants, rel=1e-12)


def test_the_default_prior_is_of_two_around_nought():
    model, phi = HierarchicalGPClassification.from_data(Z, Y), np.array([2.0, 0.0])
    for each in (phi, phi[::-1].copy()):  # one standard deviation away
        assert interface.U_prior(each, model) - interface.U_prior(0 * phi, model) == 0.5


def test_the_mass_is_the_inverse_covariance():
    Phi, K = interface.precompute_phi(PHI, MODEL), K_of(PHI)
    root = np.array([interface.momentum_theta(e, Phi, MODEL) for e in np.eye(9)]).T
    # K's condition is below 1e4
    np.testing.assert_allclose(root @ root.T @ K, np.eye(9), rtol=0, atol=1e-11)


def test_the_metric_is_the_fisher_information_and_the_prior():
    dK = differences(K_of, PHI)
    A = [np.linalg.solve(K_of(PHI), each) for each in dK]
    wanted = np.array([[np.trace(a @ b) / 2 for a in A] for b in A]) + np.diag([1.5**-2, 0.7**-2])
    Phi, Theta = interface.precompute_phi(PHI, MODEL), interface.precompute_theta(X, MODEL)
    np.testing.assert_allclose(interface.metric_phi(Phi, Theta, MODEL), wanted, rtol=1e-7)


def test_no_factor_is_no_energy():
    twice = HierarchicalGPClassification.from_data([[1.0], [1.0]], [1.0, -1.0], nugget=0.0)
    Phi = interface.precompute_phi(np.zeros(2), twice)  # K is all ones, exactly
    assert np.isnan(interface.U_theta(np.ones(2), Phi, twice))
    Theta = interface.precompute_theta(np.ones(2), twice)
    assert np.isnan(interface.U(np.zeros(2), H2(twice, Theta, np.ones(2))))
