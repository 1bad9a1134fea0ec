"""models/log_gaussian_cox.py against dense matrices."""

import numpy as np
import pytest
from scipy.stats import gamma, multivariate_normal, poisson

from algorithms.zhang_sshmc import H2
from departing import departs
from models import interface, log_gaussian_cox, validate
from models.interface import U, U_prior, U_theta, metric_phi, precompute_phi, precompute_theta
from models.log_gaussian_cox import LogGaussianCox

SIZES = [1, 2, 3, 4, 5, 8]
PHI = np.array([0.3, -1.2])
DENSE = 1e-10  # condition numbers up to 1e4 here, times rounding
MU = 1.3


def problem(d, distance="unit"):
    rng = np.random.default_rng(d)
    model = LogGaussianCox.from_counts(rng.poisson(3.0, (d, d)), MU, distance)
    return model, MU + rng.standard_normal(d * d), rng.standard_normal(d * d)


def dense(d, phi, distance="unit"):
    """Return Sigma and its first and second derivatives along log beta, from the formula."""
    place = np.linspace(0, 1, d) if distance == "unit" else np.arange(d)
    row, column = (each.ravel() for each in np.meshgrid(place, place, indexing="ij"))
    t = np.hypot(row[:, None] - row, column[:, None] - column) / (np.exp(phi[1]) * d)
    S = np.exp(phi[0] - t)
    return S, S * t, S * t * (t - 1)


@pytest.mark.parametrize("distance", ["unit", "pixel"])
@pytest.mark.parametrize("d", SIZES)
def test_the_energy_is_minus_the_log_density(d, distance):
    model, x, _ = problem(d, distance)
    expected = -(poisson.logpmf(model.counts, np.exp(x) / d**2).sum()
                 + multivariate_normal.logpdf(x, np.full(d * d, MU), dense(d, PHI, distance)[0]))
    constant = (np.sum(-model.counts * np.log(1 / d**2)) + d * d * np.log(2 * np.pi) / 2
                - poisson.logpmf(model.counts, 1.0).sum() - d * d)
    assert U_theta(x, precompute_phi(PHI, model), model) + constant == pytest.approx(expected,
                                                                                     abs=DENSE)


def test_the_prior_is_gamma_of_shape_2_and_scale_one_half_with_its_jacobian():
    gaps = [U_prior(phi, problem(1)[0]) + np.sum(gamma.logpdf(np.exp(phi), 2, scale=0.5) + phi)
            for phi in (PHI, np.array([-2.0, 0.4]))]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-12)


def test_a_copy_of_other_distances_does_not_remember_those_of_the_first():
    (model, x, _), others = problem(3), problem(3, "pixel")[0]
    copy, q = model._replace(distance=others.distance), np.append(x, PHI)
    for at, inside in ((q, lambda each: each), (PHI, lambda each: interface.GivenTheta(each, x))):
        interface.grad_U(at, inside(model))
        np.testing.assert_array_equal(interface.grad_U(at, inside(copy)),
                                      interface.grad_U(at, inside(others)))
    interface.grad_U(q, model)
    validate.model("model", copy)
    assert np.isnan(copy.memory.known).all()


@pytest.mark.parametrize("d", SIZES)
def test_the_metric_of_x_adds_the_lineages_information(d):
    model = problem(d)[0]
    M = np.linalg.inv(dense(d, PHI)[0]) + np.eye(d * d) * np.exp(MU + np.exp(PHI[0])) / d**2
    F = interface.fisher_theta(precompute_phi(PHI, model), model)
    root = np.array([interface.fisher_momentum(e, F, model) for e in np.eye(d * d)])
    np.testing.assert_allclose(root.T @ root, M, rtol=0, atol=DENSE)


@pytest.mark.parametrize("distance", ["unit", "pixel"])
@pytest.mark.parametrize("d", SIZES)
def test_the_metric_of_phi_is_the_fisher_information_and_the_priors_curvature(d, distance):
    model, x, _ = problem(d, distance)
    S, dS, _ = dense(d, PHI, distance)
    A = [np.linalg.solve(S, each) for each in (S, dS)]
    expected = np.array([[np.trace(a @ b) / 2 for b in A] for a in A]) + np.diag(2 * np.exp(PHI))
    np.testing.assert_allclose(interface.metric(PHI, interface.GivenTheta(model, x)), expected,
                               rtol=1e-10, atol=DENSE)


def test_what_is_remembered_is_what_is_computed_anew():
    # the same bits: of 20 values of phi, more than are remembered, asked for in any order; some
    # have the same variance, some the same length.  A call of a generic function would forget all
    rng = np.random.default_rng(2)
    (model, x, _), other = problem(3), problem(3)[0]
    phis = PHI + 0.7 * np.indices((5, 4)).reshape(2, -1).T
    functions = [each.implementations[LogGaussianCox] for each in (
        metric_phi, interface.metric_gradient_phi, interface.grad_U_phi)]
    for k in rng.integers(0, 20, 400) // rng.integers(1, 20, 400):
        Phi, Theta = precompute_phi(phis[k], other), precompute_theta(x, other)
        for f in rng.permutation(functions)[:2]:
            np.testing.assert_array_equal(f(Phi, Theta, model), f(Phi, Theta, problem(3)[0]))
    assert np.isfinite(model.memory.known[:, :4]).all()


@departs(interface.velocity_theta, lambda r, Phi, model: log_gaussian_cox.from_blocks(
    log_gaussian_cox.solve(log_gaussian_cox.to_blocks(r, 3), Phi), 3))
def test_section_5_4_the_mass_of_x_is_the_inverse_covariance(velocity):
    # the mass is to be the Hessian of -log p(x | phi): then x'' = -M^-1 Sigma^-1 (x - mu) has one
    # frequency, and each point the same time scale
    model, x, _ = problem(3)
    a = np.linalg.solve(dense(3, PHI)[0], x - MU)
    np.testing.assert_allclose(velocity(a, precompute_phi(PHI, model), model), x - MU, rtol=0,
                               atol=DENSE)


@departs(0.5, 0.0)  # of log |Sigma|
def test_section_5_4_the_log_determinant_belongs_to_the_density(share):
    # of one cell: the integral of exp(-U_theta) over x without the likelihood must not depend on
    # phi; the sum over 10^4 points of a normal density to 9 deviations is exact to rounding
    model, x = LogGaussianCox.from_counts([[0]], 0.0), np.linspace(-9, 9, 10_001)
    integrals = []
    for phi in (PHI, np.array([-1.0, 0.5])):
        Phi = precompute_phi(phi, model)
        # U_theta has m e^x of the likelihood, and half the log determinant
        u = [U_theta(np.array([z]), Phi, model) - np.exp(z) for z in np.exp(phi[0] / 2) * x]
        integrals.append(np.sum(np.exp((1 - share) * phi[0] - u)))
    assert integrals[0] == pytest.approx(integrals[1], rel=1e-10)


@departs("unit", "pixel")
def test_section_5_4_as_printed_neighbours_differ_too_much(distance):
    # half the mean squared difference of neighbours, at the true values; that of the lineage's
    # own field (TestData64.mat), which has a variance of .54, is .0161
    model = LogGaussianCox.from_counts(np.zeros((64, 64)), 0.0, distance)
    semivariance = 1.91 * (1 - np.exp(-33 * model.distance[0, 1]))
    assert semivariance == pytest.approx(0.0161, abs=0.001)  # 8000 differences: 1.6 % or more


@pytest.mark.parametrize("phi", [[800.0, 0.0], [-800.0, 0.0], [0.0, 800.0], [0.0, -800.0],
                                 [0.0, 40.0]])
def test_where_there_is_no_factor_the_energy_is_not_finite(phi):
    model, x, r = problem(3)
    assert not np.isfinite(U(np.append(x, phi), model))
    assert not np.isfinite(U(np.array(phi), H2(model, precompute_theta(x, model), r)))
