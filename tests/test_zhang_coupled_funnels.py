"""Two funnels crossed: the density, its blocks, and what the auxiliary potential of phi does."""

import numpy as np
import pytest
from scipy.stats import norm

from algorithms.zhang_sshmc import H1, H2
from differences import differences
from models.interface import (
    U,
    U_phi,
    U_prior,
    U_theta,
    grad_U,
    grad_U2,
    grad_U_phi,
    grad_U_theta,
    log_det_phi,
    log_det_theta,
    momentum_phi,
    momentum_theta,
    precompute_phi,
    precompute_theta,
    velocity_phi,
    velocity_theta,
)
from reproduce.zhang.coupled_funnels import Crossed, exact_draw

N = 3
RNG = np.random.default_rng(1)
THETA, PHI, R_THETA, R_PHI = RNG.normal(size=(4, N + 1))


def masses(model):
    """Return both mass matrices, written down from the docstring."""
    a, b = PHI[-1], THETA[-1]
    m = N / 2 + 1 / 9
    return (np.diag(np.append(np.full(N, np.exp(a)), m)),
            np.diag(np.append(np.full(N, np.exp(model.share * b)), m)))


@pytest.fixture(params=[1.0, 0.0, 0.6], ids=["with", "without", "some"])
def model(request):
    return Crossed.from_size(N, request.param)


def test_the_density_is_that_of_two_funnels(model):
    def log_density(theta, phi):
        (x, b), (y, a) = (theta[:-1], theta[-1]), (phi[:-1], phi[-1])
        return (norm.logpdf([a, b], 0, 3).sum() + norm.logpdf(x, 0, np.exp(-a / 2)).sum()
                + norm.logpdf(y, 0, np.exp(-b / 2)).sum())

    places = RNG.normal(size=(5, 2, N + 1))
    gaps = [U(np.concatenate(place), model) + log_density(*place) for place in places]
    np.testing.assert_allclose(gaps, gaps[0], rtol=0, atol=1e-12)  # rounding of terms of 10


def test_gradients_against_differences(model):
    Phi, Theta = precompute_phi(PHI, model), precompute_theta(THETA, model)
    for gradient, f, z in (
            (grad_U_theta(THETA, Phi, model), lambda t: U_theta(t, Phi, model), THETA),
            (grad_U_phi(Phi, Theta, model), lambda p: U_phi(precompute_phi(p, model), Theta, model),
             PHI),
            (grad_U(THETA, H1(model, Phi, R_PHI)), lambda t: U(t, H1(model, Phi, R_PHI)), THETA),
            (grad_U2(Phi, Theta, R_THETA, model),
             lambda p: U(p, H2(model, Theta, R_THETA)), PHI),
            (grad_U(np.append(THETA, PHI), model), lambda q: U(q, model), np.append(THETA, PHI))):
        # of order 4 with h = 1e-3: rounding / h, times terms of ten
        np.testing.assert_allclose(gradient, differences(f, z), rtol=0, atol=1e-8)


def test_the_parts_of_U_belong_together(model):
    Phi, Theta = precompute_phi(PHI, model), precompute_theta(THETA, model)
    q = np.append(THETA, PHI)
    assert U(q, model) == pytest.approx(  # rounding
        U_theta(THETA, Phi, model) + U_prior(PHI, model), rel=1e-14)
    # what does not depend on phi is not in U_phi: -n b / 2 + b^2 / 18
    b = THETA[-1]
    assert U(q, model) - U_phi(Phi, Theta, model) == pytest.approx(
        -N * b / 2 + b * b / 18, rel=1e-12)


def test_masses(model):
    Phi, Theta = precompute_phi(PHI, model), precompute_theta(THETA, model)
    for M, r, momentum, velocity, log_det in (
            (masses(model)[0], R_THETA, momentum_theta(np.ones(N + 1), Phi, model),
             velocity_theta(R_THETA, Phi, model), log_det_theta(Phi, model)),
            (masses(model)[1], R_PHI, momentum_phi(np.ones(N + 1), Theta, model),
             velocity_phi(R_PHI, Theta, model), log_det_phi(Theta, model))):
        np.testing.assert_allclose(velocity, np.linalg.solve(M, r), rtol=1e-14, atol=0)
        np.testing.assert_allclose(momentum, np.sqrt(np.diag(M)), rtol=1e-14, atol=0)
        assert log_det == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-14)


def test_exact_draws_have_the_density():
    theta, phi = exact_draw(N, np.random.default_rng(2))
    z = np.random.default_rng(2).standard_normal(2 + 2 * N)
    a, b = 3 * z[:2]  # of variance 9; x has the variance e^-a, and y has e^-b
    np.testing.assert_allclose(theta, [*np.exp(-a / 2) * z[2 : 2 + N], b], rtol=1e-14)
    np.testing.assert_allclose(phi, [*np.exp(-b / 2) * z[2 + N :], a], rtol=1e-14)


@pytest.mark.parametrize(("arguments", "words"), [
    ((0,), "n must be a whole number of at least 1"), ((2, 1.5), "share must be"),
    ((2, None), "share must be a real number")])
def test_bad_sizes_and_shares_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Crossed.from_size(*arguments)
