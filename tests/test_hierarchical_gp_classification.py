"""Gaussian-process classification as a hierarchical model: densities, gradients, posteriors."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from algorithms.ess import initial_sequence
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc import H1, H2, sshmc
from differences import differences
from models import interface
from models.covariance import squared_exponential
from models.hierarchical_gp_classification import (
    HierarchicalGPClassification,
    kernel,
    whiten_matrix,
)

NUGGET = 0.01


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(1)
    Z, y = rng.standard_normal((9, 3)), np.where(rng.random(9) < 0.5, -1.0, 1.0)
    return HierarchicalGPClassification.from_data(Z, y, (0.3, -0.2), (1.5, 0.7), NUGGET, 2.5), Z


PHI = np.array([0.4, 0.7])
X = np.random.default_rng(2).standard_normal(9)
R = np.random.default_rng(3).standard_normal(9)


def K_of(Z, phi):
    return squared_exponential(Z, Z, *phi) + NUGGET * np.exp(2 * phi[1]) * np.eye(len(Z))


def test_the_density_is_that_of_its_parts(model):
    model, Z = model
    q = np.concatenate([X, PHI])
    dense = -(norm.logcdf(model.y * X).sum()
              + multivariate_normal(cov=K_of(Z, PHI)).logpdf(X)
              + norm.logpdf(PHI, [0.3, -0.2], [1.5, 0.7]).sum())
    # without the constants of the normal densities
    constants = 9 * np.log(2 * np.pi) / 2 + np.log(2 * np.pi) + np.log(1.5 * 0.7)
    assert interface.U(q, model) == pytest.approx(dense - constants, rel=1e-12)


def test_gradients_are_those_of_the_energies(model):
    model, _ = model
    q = np.concatenate([X, PHI])
    Phi, Theta = interface.precompute_phi(PHI, model), interface.precompute_theta(X, model)
    H_1, H_2 = H1(model, Phi, np.ones(2)), H2(model, Theta, R)
    U_2 = differences(lambda phi: interface.U(phi, H_2), PHI)
    U_1 = differences(lambda x: interface.U(x, H_1), X)
    for ours, wanted in ((interface.grad_U(q, model),
                          differences(lambda q: interface.U(q, model), q)),
                         (interface.grad_U2(Phi, Theta, R, model), U_2),
                         (interface.grad_U(X, H_1), U_1)):
        np.testing.assert_allclose(ours, wanted, rtol=1e-7, atol=1e-7)


def test_U2_needs_no_determinant(model):
    model, Z = model
    K, Theta = K_of(Z, PHI), interface.precompute_theta(X, model)
    wanted = (X @ np.linalg.solve(K, X) + R @ K @ R) / 2 + interface.U_prior(PHI, model)
    assert interface.U(PHI, H2(model, Theta, R)) == pytest.approx(wanted, rel=1e-12)


def test_the_mass_is_the_inverse_covariance(model):
    model, Z = model
    Phi, K = interface.precompute_phi(PHI, model), K_of(Z, PHI)
    root = np.array([interface.momentum_theta(e, Phi, model) for e in np.eye(9)]).T
    # K's condition is below 1e4
    np.testing.assert_allclose(root @ root.T @ K, np.eye(9), rtol=0, atol=1e-11)
    np.testing.assert_allclose(interface.velocity_theta(R, Phi, model), K @ R, rtol=1e-12)
    assert interface.log_det_theta(Phi, model) == pytest.approx(-np.linalg.slogdet(K)[1], rel=1e-12)
    np.testing.assert_array_equal(model.L_phi, np.sqrt(2.5) * np.eye(2))
    assert interface.sizes(model) == (9, 2)


def test_derivatives_of_the_kernel(model):
    model, Z = model
    for derivative in (1, 2):
        ours = kernel(PHI, model, derivative)
        wanted = differences(lambda phi, d=derivative: kernel(phi, model, d - 1), PHI)[0]
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(ours, np.tril(ours))
    np.testing.assert_allclose(kernel(PHI, model, 0), np.tril(K_of(Z, PHI)), rtol=1e-13)


def test_the_metric_is_the_fisher_information_and_the_prior(model):
    model, Z = model
    dK = differences(lambda phi: K_of(Z, phi), PHI)
    A = [np.linalg.solve(K_of(Z, PHI), each) for each in dK]
    wanted = np.array([[np.trace(a @ b) / 2 for a in A] for b in A]) + np.diag([1.5**-2, 0.7**-2])
    Phi, Theta = interface.precompute_phi(PHI, model), interface.precompute_theta(X, model)
    np.testing.assert_allclose(interface.metric_phi(Phi, Theta, model), wanted, rtol=1e-7)
    ours = interface.metric_gradient_phi(Phi, Theta, model)
    np.testing.assert_allclose(ours, differences(lambda phi: interface.metric_phi(
        interface.precompute_phi(phi, model), Theta, model), PHI), rtol=0, atol=1e-6)


def test_whitened_is_symmetric(model):
    model, Z = model
    Phi = interface.precompute_phi(PHI, model)
    inverse = np.linalg.inv(np.linalg.cholesky(K_of(Z, PHI)))
    D = Phi.D + np.tril(Phi.D, -1).T
    np.testing.assert_allclose(whiten_matrix(Phi.D, Phi), inverse @ D @ inverse.T, rtol=0,
                               atol=1e-10)


# The posterior of two cases, exactly: P(y | phi) is the probability of an orthant

PAIR = HierarchicalGPClassification.from_data([[0.0], [1.0]], [1.0, -1.0], (0.0, 0.5), (0.8, 0.6),
                                              NUGGET)


def exact_moments():
    """Return the means and deviations of (log l, log sigma) by quadrature."""
    a, b = (m + s * np.linspace(-7, 7, 401) for m, s in zip((0.0, 0.5), (0.8, 0.6), strict=True))
    variance = np.exp(2 * b)[None, :]
    correlation = (variance * np.exp(-np.exp(-2 * a) / 2)[:, None]
                   / (1 + variance * (1 + NUGGET)))
    weight = (0.25 - np.arcsin(correlation) / (2 * np.pi)) * np.exp(
        -((a[:, None] / 0.8) ** 2 + ((b[None, :] - 0.5) / 0.6) ** 2) / 2)
    weight /= weight.sum()
    found = []
    for x, w in ((a, weight.sum(axis=1)), (b, weight.sum(axis=0))):
        found.append((x @ w, np.sqrt((x - x @ w) ** 2 @ w)))
    return np.array(found).T


@pytest.mark.parametrize("sampler", ["SSHMC", "RMHMC within Gibbs"])
def test_chains_find_the_exact_posterior(sampler):
    rng, x0, phi0 = np.random.default_rng(4), np.array([0.5, -0.5]), np.array([0.1, 0.4])
    if sampler == "SSHMC":
        chain = sshmc(x0, phi0, PAIR, 0.25, 0.25, 6, 8000, rng, jitter=0.3)
    else:
        chain = rmhmc_within_gibbs(x0, phi0, PAIR, 0.6, 0.6, 3, 3, 3000, rng, jitter=0.3)
    assert chain.accepted.mean() > 0.6
    phi = chain.phi[200:]
    for x, wanted in ((phi, exact_moments()[0]),
                      ((phi - exact_moments()[0]) ** 2, exact_moments()[1] ** 2)):
        z = (x.mean(axis=0) - wanted) / (x.std(axis=0) / np.sqrt(initial_sequence(x).ess))
        assert (np.abs(z) < 4).all()


# Trouble


def test_no_factor_is_no_energy():
    twice = HierarchicalGPClassification.from_data([[1.0], [1.0]], [1.0, -1.0], nugget=0.0)
    Phi = interface.precompute_phi(np.zeros(2), twice)  # K is all ones, exactly
    assert np.isnan(interface.U_theta(np.ones(2), Phi, twice))
    Theta = interface.precompute_theta(np.ones(2), twice)
    assert np.isnan(interface.U(np.zeros(2), H2(twice, Theta, np.ones(2))))


@pytest.mark.parametrize(("name", "change"), [
    ("Z", {"Z": [[np.nan], [1.0]]}), ("Z", {"Z": [1.0, 2.0]}), ("Z", {"Z": [[1e200], [-1e200]]}),
    ("y", {"y": [1.0, 0.0]}), ("y", {"y": [1.0]}), ("prior_mean", {"prior_mean": [1.0]}),
    ("prior_sd", {"prior_sd": [1.0, 0.0]}), ("nugget", {"nugget": -1e-9}),
    ("mass_phi", {"mass_phi": -1.0}), ("mass_phi", {"mass_phi": np.eye(3)})])
def test_bad_arguments_are_named(name, change):
    with pytest.raises(ValueError, match=name):
        HierarchicalGPClassification.from_data(**{"Z": [[0.0], [1.0]], "y": [1.0, -1.0]} | change)


def test_one_case_is_a_model():
    one = HierarchicalGPClassification.from_data([[2.0]], [1.0])
    q = np.array([0.3, 0.1, 0.2])
    np.testing.assert_allclose(interface.grad_U(q, one), differences(
        lambda q: interface.U(q, one), q), rtol=0, atol=1e-8)
