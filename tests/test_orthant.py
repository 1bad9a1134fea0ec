"""algorithms/orthant.py: closed forms, Gaussian factors, and tilting."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import norm, qmc

from algorithms.ais import combine
from algorithms.orthant import hazard, ordered_factor, orthant, tilted_run, tilting


def two_factors(n, amplitude, seed):
    """V V', V (n, 2), and log P(u > 0) for u ~ N(0, I + V V')."""
    V = amplitude * np.random.default_rng(seed).standard_normal((n, 2))
    return V @ V.T, log_probability(V)


def log_probability(V):
    """log E_z prod_n Phi(v_n'z), z ~ N(0, I), of V (n, 2).

    The trapezoidal rule is exact to rounding for a smooth integrand that ends at nine deviations.
    """
    z = np.linspace(-9, 9, 721)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    log_p = sum(log_ndtr(v[0] * z[:, None] + v[1] * z) for v in V)
    return math.log(weight @ np.exp(log_p) @ weight)


def correlations(C):
    return C / np.sqrt(np.outer(np.diag(C), np.diag(C)))


def test_one_two_and_three_variables_have_closed_forms():
    assert orthant(np.array([[27_000.0]]), 1) == 0.5
    K = np.array([[3.0, 1.5, -0.7], [1.5, 2.0, 0.4], [-0.7, 0.4, 1.0]])
    R = correlations(np.eye(3) + K)
    arcs = [math.asin(R[i, j]) / (2 * math.pi) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert (orthant(K[:2, :2], 1), orthant(K, 1)) == pytest.approx(
        (1 / 4 + arcs[0], 1 / 8 + sum(arcs) / 2), abs=1e-15)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("amplitude", [0.3, 1.0, 4.0])
def test_orthant_against_two_factors(n, amplitude):
    K, exact = two_factors(n, amplitude, n)
    # the closed forms' rounding; 16 nodes err by 1e-12 at most here (12: by 1e-8)
    assert math.log(orthant(K, 16)) == pytest.approx(exact, abs=1e-14 if n < 4 else 1e-11)


def test_a_matrix_of_which_rounding_makes_nan_is_refused():
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"^K must not make I .* singu"):
        orthant(np.full((4, 4), 1e50), 5)


def test_a_singular_matrix_is_positive_semi_definite():
    assert orthant(np.zeros((4, 4)), 2) == 2**-4
    V = np.random.default_rng(2).standard_normal((4, 1)) * 1e3  # eigenvalues of -1e-10 by rounding
    assert np.linalg.eigvalsh(V @ V.T)[0] < 0 and 0 < orthant(V @ V.T, 8) < 1


@pytest.mark.parametrize("n", [1, 3, 5, 30])
def test_ordered_factor_describes_the_same_orthant_in_another_order(n):
    C = np.eye(n) + two_factors(n, 2.0, n)[0]
    A = ordered_factor(C)
    assert (np.triu(A) == 0).all()
    R, given = correlations((A + np.eye(n)) @ (A + np.eye(n)).T), correlations(C)
    # find each row among those of C by its sorted elements, which the order does not change
    order = np.abs(np.sort(R)[:, None] - np.sort(given)[None]).max(axis=-1).argmin(axis=1)
    assert sorted(order) == list(range(n))
    np.testing.assert_allclose(R, given[order][:, order], rtol=0, atol=1e-12)  # rounding, n terms


def test_order_goes_by_the_expected_values_of_those_before():
    # u_1 = z_1 has mean sqrt(2 / pi) = .8 above 0.  Given that, u_2 has mean -.64 and deviation .6,
    # u_3 mean -.72 and deviation 2: u_2 is the less probable, though its mean is the higher
    r, s, c = -0.8, -0.9, 2.0
    C = np.array([[1.0, r, s], [r, 1.0, r * s], [s, r * s, s**2 + c**2]])
    assert ordered_factor(C)[1:, 0] == pytest.approx([r / 0.6, s / c], rel=1e-14, abs=0)
    # z_2 has mean 1.5 above 1.2 sqrt(2 / pi), and so u_3 = z_3 - z_2 the mean -1.5: it is less
    # probable than u_4 = z_4 - z_1, of mean -.8
    L = np.array([[1.0, 0, 0, 0], [-1.2, 1, 0, 0], [0, -1, 1, 0], [-1, 0, 0, 1]])
    given = (L @ L.T)[np.ix_([0, 1, 3, 2], [0, 1, 3, 2])]
    np.testing.assert_allclose(ordered_factor(given), L - np.eye(4), rtol=0, atol=1e-14)


def test_hazard_is_the_mean_beyond_a_limit():
    assert hazard(0.0) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-15, abs=0)
    # 1 / (t - h) is Laplace's continued fraction: t + 1/t - 2/t^3 + ..., next 10/t^5
    assert hazard(50.0) == pytest.approx(50 + 1 / 50 - 2 / 50**3, rel=0, abs=1e-7)
    assert hazard(-40.0) == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize(("n", "amplitude"), [(1, 1.0), (2, 1.0), (8, 3.0), (60, 1.0)])
def test_tilting_is_unbiased_and_bounded(n, amplitude):
    K, exact = two_factors(n, amplitude, 7)
    A, mu, bound = tilting(np.eye(n) + K)
    rng = np.random.default_rng(3)
    tilted, plain = (np.array([tilted_run(A, tilt, 512, rng) for _ in range(40)])
                     for tilt in (mu, 0 * mu))
    assert tilted.max() <= bound + 1e-9  # the gradient at which Newton stops
    assert bound >= exact - 1e-12 and tilted.shape == (40, 512)
    estimates = [combine([combine(run).log_Z for run in points]) for points in (tilted, plain)]
    for estimate in estimates:  # any tilt is unbiased
        assert abs(estimate.log_Z - exact) < 4 * estimate.standard_error + 1e-12  # n = 1: no error
    assert estimates[0].standard_error < 0.02  # the test would see an error of 8 %


def test_points_are_kept_from_the_ends_by_1e_15(monkeypatch):
    # z, N(2, 1) above 0, is at the quantiles u from above of what is there
    ends = np.array([[0.0], [1e-12], [0.5], [1.0]])
    monkeypatch.setattr(qmc, "Sobol", lambda n, seed: SimpleNamespace(random=lambda points: ends))
    found = tilted_run(np.zeros((1, 1)), np.array([2.0]), 4, np.random.default_rng(0))
    z = 2.0 + norm.isf(np.array([1e-15, 1e-12, 0.5, 1.0 - 1e-15]) * norm.sf(-2.0))
    np.testing.assert_allclose(found, 2.0 - 2.0 * z + norm.logsf(-2.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_gradient_vanishes_at_the_saddle_point(n):
    A, mu, bound = tilting(np.eye(n) + two_factors(n, 2.0, 5)[0])
    assert mu[-1] == 0

    def psi(x, mu):  # the log weight at x
        return np.sum(mu**2 / 2 - x * mu + log_ndtr(A @ x + mu))

    x = np.zeros(n)
    for k in range(n):  # the gradient in mu vanishes where x is the mean of the draws, in turn
        limit = -(A[k] @ x) - mu[k]
        x[k] = mu[k] + norm.pdf(limit) / norm.sf(limit)
    step = 1e-5  # truncation step^2 / 6, rounding 1e-14 / step
    for h in step * np.eye(n):
        assert psi(x + h, mu) == pytest.approx(psi(x - h, mu), rel=0, abs=2 * step * 1e-8)
        assert psi(x, mu + h) == pytest.approx(psi(x, mu - h), rel=0, abs=2 * step * 1e-8)
    assert psi(x, mu) == pytest.approx(bound, rel=0, abs=1e-12)  # rounding


def test_where_newton_fails_the_bound_is_infinite_and_the_weights_are_right():
    V = 1e4 * np.random.default_rng(1).standard_normal((10, 2))  # correlations within 1e-8 of 1
    A, mu, bound = tilting(np.eye(10) + V @ V.T)
    assert bound == np.inf and np.isfinite(tilted_run(A, mu, 16, np.random.default_rng(0))).all()
