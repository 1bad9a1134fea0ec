"""reproduce/paquet_logz.py: orthant probabilities, exact and by tilting, and the tails of q."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr

from algorithms.ais import combine
from algorithms.ep import ep
from paquet_logz import last_step, ordered_factor, orthant, problem, saddle_point, tilted_run

DIGITS = "optical digits 3 vs 5"


def two_factors(N, amplitude, seed):
    """V V', V (N, 2), and log P(u > 0) for u ~ N(0, I + V V').

    Given the two factors the u are independent; the trapezoidal rule is exact to rounding.
    """
    V = amplitude * np.random.default_rng(seed).standard_normal((N, 2))
    z = np.linspace(-9, 9, 721)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    log_p = sum(log_ndtr(v[0] * z[:, None] + v[1] * z) for v in V)
    return V @ V.T, math.log(weight @ np.exp(log_p) @ weight)


# the exact values


def test_one_case_is_a_half_and_no_case_is_certain():
    assert orthant(np.array([[27_000.0]]), 4) == 0.5
    assert orthant(np.zeros((0, 0)), 4) == 1.0


@pytest.mark.parametrize("N", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("amplitude", [0.3, 1.0, 4.0])
def test_orthant_against_two_factors(N, amplitude):
    K, exact = two_factors(N, amplitude, N)
    # 16 nodes: at N = 8 and the paper's amplitude, 164, log Z has an error of 1e-6
    assert math.log(orthant(K, 16)) == pytest.approx(exact, abs=1e-8 if N < 4 else 3e-6)


@pytest.mark.parametrize("N", [4, 5, 6])
def test_independent_and_equal_cases_have_closed_forms(N):
    assert orthant(np.diag(np.arange(N) + 0.5), 8) == pytest.approx(0.5**N, rel=1e-14)
    # all correlations 1/2: the first of N + 1 exchangeable variables is the least
    assert orthant(np.ones((N, N)), 20) == pytest.approx(1 / (N + 1), rel=1e-8)


def test_orthants_of_all_signs_make_one():
    K = two_factors(5, 2.0, 1)[0]
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T
    p = orthant(signs[:, :, None] * K * signs[:, None, :], 16)
    assert p.shape == (32,)
    assert p.sum() == pytest.approx(1, abs=1e-6)  # of the quadrature
    assert p.min() > 0


# tilting


@pytest.mark.parametrize("N", [2, 5, 30])
def test_ordered_factor_describes_the_same_orthant(N):
    C = np.eye(N) + two_factors(N, 2.0, N)[0]
    A = ordered_factor(C)
    assert (np.triu(A) == 0).all()
    # rows over their lengths are those of C's correlations, in some order
    L = A + np.eye(N)
    R = L @ L.T / np.outer(*[np.linalg.norm(L, axis=1)] * 2)
    given = C / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    np.testing.assert_allclose(np.sort(R.ravel()), np.sort(given.ravel()), rtol=0, atol=1e-12)


def test_order_takes_the_least_probable_next():
    v = np.array([1.0, 1.0, 1.0, -1.0, 1.0])  # the fourth disagrees with the others
    A = ordered_factor(np.eye(5) + 9 * np.outer(v, v))
    assert A[1, 0] < 0
    assert A[2, 0] > 0


@pytest.mark.parametrize(("N", "amplitude"), [(2, 1.0), (8, 3.0), (60, 1.0)])
def test_tilting_is_unbiased_and_bounded(N, amplitude):
    K, exact = two_factors(N, amplitude, 7)
    A = ordered_factor(np.eye(N) + K)
    mu, psi = saddle_point(A)
    rng = np.random.default_rng(3)
    points = np.array([tilted_run(A, mu, 512, rng) for _ in range(40)])
    estimate = combine([combine(run).log_Z for run in points])
    assert points.max() <= psi + 1e-9
    assert psi >= exact
    assert abs(estimate.log_Z - exact) < 4 * estimate.standard_error
    assert estimate.standard_error < 0.02  # the test would see an error of 8 %
    plain = combine([combine(tilted_run(A, 0 * mu, 512, rng)).log_Z for _ in range(40)])
    assert abs(plain.log_Z - exact) < 4 * plain.standard_error  # any tilt is unbiased


def test_saddle_point_is_one():
    A = ordered_factor(np.eye(12) + two_factors(12, 2.0, 5)[0])
    mu, psi = saddle_point(A)

    def highest(mu):  # the maximum over x of the log weight
        def minus(x):
            x = np.append(x, 0)
            return np.sum(x * mu - mu**2 / 2 - log_ndtr(A @ x + mu))

        return -minimize(minus, np.zeros(11), tol=1e-10).fun

    assert highest(mu) == pytest.approx(psi, abs=1e-6)  # numerical gradients
    rng = np.random.default_rng(0)
    for _ in range(10):
        assert highest(mu + 0.1 * np.append(rng.standard_normal(11), 0)) > psi + 1e-4


# the tails of importance sampling from q


def test_one_case_has_the_last_step_of_a_half_normal():
    # the posterior is nearly half a normal: variance K (1 - 2 / pi), so that tau K = 2 / (pi - 2)
    assert last_step(DIGITS, 1) == pytest.approx((math.pi - 2) / 2, abs=2e-3)  # K = 27000, not inf
    K, y, q = problem(DIGITS, 1)
    assert last_step(DIGITS, 1) == pytest.approx(1 / (K[0, 0] * q.tau[0]), rel=1e-6)
    assert ep(K, y).log_Z == pytest.approx(math.log(0.5), abs=1e-12)


@pytest.mark.parametrize("N", [2, 3, 8, 40])
def test_second_moment_of_the_weights_grows_along_the_ray(N):
    K, y, q = problem(DIGITS, N)
    assert (y * q.mu > 0).all()
    length = last_step(DIGITS, N)
    assert 0 < length < 1
    inverse = np.linalg.inv(K)
    for step, sign in ((0.9 * length, 1), (1.1 * length, -1)):
        assert sign * (q.mu @ inverse @ q.mu - step * q.mu @ (q.tau * q.mu)) > 0
