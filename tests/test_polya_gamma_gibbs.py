"""algorithms/rivals/polya_gamma_gibbs.py: each conditional density, and their order."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.rivals import polya_gamma_gibbs as module
from algorithms.rivals.polya_gamma_gibbs import GivenW, GivenZ, polya_gamma_gibbs, polya_gamma_step
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import U, U_phi, precompute_phi, precompute_theta, prepare

TERMS = 60


def sum_of_gammas(m, rng):
    """Draw PG(1, m) as the first TERMS of its series and the mean of the others.

    PG(1, m) = sum_k e_k / ((k - 1/2)^2 + m^2 / 4 pi^2) / (2 pi^2), with exponential e_k (Polson,
    Scott and Windle 2013, equation 1); the variance that is left out is below 4e-9, of 1/24.
    """
    per = 1 / ((np.arange(TERMS) + 0.5)**2 + (np.asarray(m)[:, None] / (2 * np.pi))**2)
    m = np.abs(m) + 1e-9
    mean = np.tanh(m / 2) / (2 * m)
    return (per * (rng.standard_exponential(per.shape) - 1)).sum(axis=1) / (2 * np.pi**2) + mean


RNG = np.random.default_rng(1)
GROUP = np.repeat([0, 1, 2], [4, 1, 3])
X = np.column_stack([np.ones(8), RNG.standard_normal(8)])
Y = np.where(RNG.random(8) < 0.6, 1.0, -1.0)
MODEL = HierarchicalLogistic.from_data(X, Y, GROUP, lam=0.7)
THETA, PHI = RNG.standard_normal(6), np.array([0.4])
OMEGA = RNG.uniform(0.05, 0.4, 8)
MARGIN = Y * (X * THETA.reshape(3, 2)[GROUP]).sum(axis=1)


def test_the_weights_given_omega_are_normal():
    def drawn(z):
        left = list(z.reshape(3, 2))
        return module.draw_weights.py_func(OMEGA, PHI[0], MODEL,
                                           SimpleNamespace(standard_normal=lambda p: left.pop(0)))

    D = (np.eye(3)[GROUP][:, :, None] * X[:, None]).reshape(8, 6)
    A = D.T * OMEGA @ D + np.exp(-PHI[0]) * np.eye(6)
    mean = np.linalg.solve(A, D.T @ (Y / 2))
    root = np.array([drawn(e) - drawn(np.zeros(6)) for e in np.eye(6)])
    np.testing.assert_allclose(drawn(np.zeros(6)), mean, rtol=0, atol=1e-12)  # rounding
    np.testing.assert_allclose(root.T @ root, np.linalg.inv(A), rtol=0, atol=1e-12)


def test_gamma_given_the_weights_has_the_density_of_the_posterior():
    given, Theta = GivenW(THETA @ THETA, 6, MODEL.lam), precompute_theta(THETA, MODEL)
    for phi in np.array([[-2.0], [0.0], [1.3]]):
        assert U(phi, given) == pytest.approx(
            U_phi(precompute_phi(phi, MODEL), Theta, MODEL), abs=1e-12)  # rounding


def test_gamma_given_z_and_omega_has_the_density_of_the_posterior():
    given = GivenZ(*module.sums_over_cases(np.exp(-PHI[0] / 2) * THETA, OMEGA, MODEL), MODEL.lam)
    for gamma in (-2.0, 0.0, 1.3):
        m = np.exp((gamma - PHI[0]) / 2) * MARGIN
        # the prior of z has no gamma in it
        assert U(np.array([gamma]), given) == pytest.approx(
            np.sum(OMEGA * m * m / 2 - m / 2) + MODEL.lam * np.exp(gamma) - gamma, abs=1e-12)


def test_the_non_centred_half_leaves_where_the_centred_one_is_stuck():
    # given weights of 1e-6, gamma is -27 but for some tenths; given those over 1e-6 it is free
    gammas = [polya_gamma_step(1e-6 * THETA, np.array([-27.0]), MODEL, sum_of_gammas, 1.0, 100,
                               np.zeros(4, int), np.random.default_rng(seed))[1][0]
              for seed in range(40)]
    assert np.median(gammas) > -20.0


def test_each_draw_is_given_what_was_drawn_before(monkeypatch):
    asked, drawn = [], []

    def moved(cache, k, given, *others):
        asked.append((cache.q[0], given))
        return prepare(cache.q + 1.0, given)

    def weights(omega, gamma, *others):
        drawn.extend((omega, gamma))
        return 2.0 * THETA

    monkeypatch.setattr(module, "slice_update", moved)
    monkeypatch.setattr(module, "draw_weights", weights)
    theta, phi = polya_gamma_step(THETA, PHI, MODEL, lambda m, rng: np.exp(-m), 1.0, 5,
                                  np.zeros(4, int), np.random.default_rng(2))
    np.testing.assert_allclose(drawn[0], np.exp(-MARGIN), rtol=1e-13)  # rounding
    z = np.exp(-1.4 / 2) * 2.0 * THETA
    expected = [(0.4, GivenW(4 * THETA @ THETA, 6, 0.7)),
                (1.4, GivenZ(*module.sums_over_cases(z, drawn[0], MODEL), 0.7))]
    for (start, given), (wanted, density) in zip(asked, expected, strict=True):
        assert start == wanted and given == pytest.approx(density, rel=1e-13)
    assert drawn[1] == 0.4 and phi.tolist() == [2.4]
    np.testing.assert_allclose(theta, np.exp(0.5) * 2.0 * THETA, rtol=1e-13)


def test_the_record_is_true():
    ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
    chain = polya_gamma_gibbs(THETA, PHI, MODEL, sum_of_gammas, 12, ours, 0.8, 5, [1, 4])
    theta, phi, counted = THETA, PHI, np.zeros(4, int)
    for t in range(12):
        theta, phi = polya_gamma_step(theta, phi, MODEL, sum_of_gammas, 0.8, 5, counted, theirs)
        np.testing.assert_array_equal(chain.theta[t], theta[[1, 4]])
        np.testing.assert_array_equal(chain.phi[t], phi)
        assert chain.energies[t] == pytest.approx(U(np.append(theta, phi), MODEL), abs=1e-11)
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert chain.counts == (12 * 8, 12 * 3, counted[0], 0) and counted[0] >= 4 * 12
    assert chain.accepted.all() and chain.accepted.shape == (12,) and chain.divergences == 0
