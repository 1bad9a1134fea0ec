"""algorithms/ep_correction.py: derivatives, the formula, exact orthant probabilities."""

import math

import mpmath
import numpy as np
import pytest

from algorithms.ep import cavity, ep
from algorithms.ep_correction import BEHIND, MAX_ORDER, log_Phi_derivatives, second_order
from models.special import probit
from test_orthant import log_probability


def two_factors(N, amplitude, seed):
    """A random problem, K = V V' + diag(d) with V (N, 2); returns K, y and the exact log evidence.

    Given the two factors z ~ N(0, I) the labels are independent, so that the orthant probability is
    E_z prod_n Phi(y_n v_n'z / sqrt(1 + d_n)).
    """
    rng = np.random.default_rng(seed)
    V, d = amplitude * rng.standard_normal((N, 2)), amplitude**2 * rng.uniform(0.1, 0.5, N)
    y = rng.choice([-1.0, 1.0], N)
    return V @ V.T + np.diag(d), y, log_probability((y / np.sqrt(1 + d))[:, None] * V)


@pytest.mark.parametrize("a", [-300, -40, -6, -2.2, BEHIND - 1e-9, BEHIND, -0.4, 0.7, 2, 9])
def test_derivatives_of_log_Phi(a):
    psi = log_Phi_derivatives(float(a), MAX_ORDER)
    with mpmath.workdps(60):  # numerical differentiation, but with 60 digits
        exact = [float(mpmath.diff(lambda t: mpmath.log(mpmath.erfc(-t / mpmath.sqrt(2))), a, ell))
                 for ell in range(MAX_ORDER + 1)]
    np.testing.assert_allclose(psi[3:5], exact[3:5], rtol=1e-12)
    np.testing.assert_allclose(psi[5:], exact[5:], rtol=1e-9)
    assert (psi[:3] == 0).all()


def test_sum_is_the_printed_formula():
    K, y, _ = two_factors(12, 2.0, 0)
    q = ep(K, y, 1e-300, 100)._replace(converged=True)  # to the last bits of log Z
    variance = np.diag(q.Sigma)
    m, s2 = cavity(q.mu, variance, q.tau, q.nu)
    a = y * m / np.sqrt(1 + s2)
    h, expected = probit(a).h, 0.0
    for ell, psi in (
            (3, h * (a**2 - 1 + 3 * a * h + 2 * h**2)),
            (4, -h * (a**3 - 3 * a + 7 * a**2 * h - 4 * h + 12 * a * h**2 + 6 * h**3))):
        c = (y * s2 / np.sqrt(1 + s2)) ** ell * psi
        terms = np.outer(c, c) * (q.Sigma / np.outer(variance, variance)) ** ell
        np.fill_diagonal(terms, 0.0)
        expected += 0.5 * terms.sum() / math.factorial(ell)
        assert second_order(q, y, ell) == pytest.approx(expected, rel=1e-10)  # digits of psi


@pytest.mark.parametrize("amplitude", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("N", [3, 5, 8])
def test_error_against_exact_orthant_probabilities(N, amplitude):
    errors = []
    for seed in range(20):
        K, y, exact = two_factors(N, amplitude, seed)
        q = ep(K, y, 1e-12, 500)
        third, fourth, sixth = (second_order(q, y, order) for order in (3, 4, 6))
        errors.append(q.log_Z - exact + np.array([0.0, third, fourth, sixth, -fourth]))
        assert second_order(q, y) == fourth  # the default is order 4
    plain, third, fourth, sixth, flipped = np.abs(errors).T
    # measured: at least ten times smaller on average, and each order helps
    assert third.mean() < plain.mean() / 5 and fourth.mean() < third.mean()
    assert sixth.mean() < fourth.mean() and fourth.max() < plain.max() / 5
    assert flipped.mean() > 1.5 * plain.mean()


def test_labels_of_no_weight_and_of_great_surprise_give_finite_numbers():
    # cavities far on either side of zero: lambda underflows, or a << 0
    K = np.array([[9e4, 8.9e4, 0.0], [8.9e4, 9e4, 0.0], [0.0, 0.0, 1e-8]])
    for y in ([1, 1, 1], [1, -1, -1]):
        q = ep(K, y, 1e-8, 1000)
        assert q.converged
        for order in range(3, MAX_ORDER + 1):
            assert math.isfinite(second_order(q, y, order))
