"""Logistic models of two and of more classes: formulas, far tails, and the one as the other."""

import mpmath
import numpy as np
import pytest
from scipy.special import expit, log_softmax, xlogy

from models.interface import U, case_entropy, grad_U, hessian, log_likelihood, select_cases
from models.logistic_regression import BLOCK, LogisticRegression, exp_of_minus_abs
from models.multinomial_logistic import MultinomialLogistic

P, SIGMA_ALPHA, SIGMA_BETA = 3, 2.0, 0.7
RNG = np.random.default_rng(0)
THETA = RNG.standard_normal(P + 1)
sizes = pytest.mark.parametrize("n", [2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])


def problem(n, scale=1.0):
    rng = np.random.default_rng(n)
    X = scale * rng.standard_normal((n, P))
    y = (rng.random(n) < expit(THETA[0] + X @ THETA[1:])).astype(float)
    return X, y, LogisticRegression.from_data(X, y, SIGMA_ALPHA, SIGMA_BETA)


@sizes
def test_U_is_the_papers(n):
    X, y, model = problem(n)
    alpha, beta = THETA[0], THETA[1:]
    eta = alpha + X @ beta
    expected = (alpha**2 / (2 * SIGMA_ALPHA**2) + (beta**2).sum() / (2 * SIGMA_BETA**2)
                - (y * eta - np.log(1 + np.exp(eta))).sum())
    assert U(THETA, model) == pytest.approx(expected, rel=1e-13)
    assert log_likelihood(THETA, model) == pytest.approx(
        (xlogy(y, expit(eta)) + xlogy(1 - y, 1 - expit(eta))).sum(), rel=1e-12)


@pytest.mark.parametrize("run", [exp_of_minus_abs, exp_of_minus_abs.py_func])
def test_the_exponential_is_right_to_the_last_bit_but_one(run):
    special = np.array([0.0, -0.0, 1e-300, 708.0, -708.0, *np.arange(-13, 14) * np.log(2) / 2])
    far = np.repeat([709.0, -1e300, np.inf, np.nan], BLOCK // 4)
    e, power = np.full(BLOCK, np.nan), np.full(BLOCK, np.nan)
    for x in (special, *np.random.default_rng(0).uniform(-708, 708, (60, BLOCK))):
        run(x, e, power, power.view(np.int64))
        exact = np.array([float(mpmath.exp(-abs(mpmath.mpf(v)))) for v in x])
        np.testing.assert_allclose(e, exact, rtol=2.3e-16)  # one unit in the last place
    run(far, e, power, power.view(np.int64))
    assert (e[:-8] == e[0]).all() and 0 < e[0] < 4e-308 and np.isnan(e[-8:]).all()


def test_large_linear_predictors_neither_overflow_nor_lose_digits():
    # eta to 1e5; exp(eta) overflows beyond 709
    X, y, model = problem(200, scale=1e4)
    s = 2 * y - 1
    for theta in (THETA, THETA * [1, -1, -1, -1]):  # the second is wrong of most cases
        eta = theta[0] + X @ theta[1:]
        assert np.abs(eta).max() > 1e4
        prior = model.precision @ theta**2 / 2
        np.testing.assert_allclose(U(theta, model), prior + np.logaddexp(0, -s * eta).sum(),
                                   rtol=1e-13)
        expected = model.precision * theta - model.X.T @ (s * expit(-s * eta))
        # sums of 200 terms of up to 4e4
        np.testing.assert_allclose(grad_U(theta, model), expected, rtol=0, atol=1e-8)
        assert np.isfinite(hessian(theta, model)).all()
    assert (case_entropy(1e5 * THETA, model) >= 0).all()


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_the_gradient_keeps_its_digits_where_1_minus_p_is_tiny(label):
    # one case with eta = -+ 50 and a flat prior: a residual of e^-50, which p - y would lose
    model, sign = LogisticRegression(np.ones((1, 1)), np.array([label]), np.zeros(1)), 2 * label - 1
    assert grad_U(np.array([50.0 * sign]), model) == pytest.approx(-sign * np.exp(-50.0), rel=1e-14)


@pytest.mark.parametrize("classes", [2, 3])
def test_parts_add_up_and_each_has_its_share_of_the_prior(classes):
    X, _, model = problem(100)
    theta = THETA
    if classes == 3:
        theta = np.repeat(THETA, 3)
        model = MultinomialLogistic.from_data(X, np.arange(100) % 3, 3, SIGMA_ALPHA, SIGMA_BETA)
    cases = np.arange(0, 100, 3)
    others = np.setdiff1d(np.arange(100), cases)
    zero, one = select_cases(model, cases, 1.0), select_cases(model, others, 0.0)
    assert zero.X.flags.c_contiguous and not np.shares_memory(zero.X, model.X)
    assert U(theta, zero) + U(theta, one) == pytest.approx(U(theta, model), rel=1e-14)
    assert U(theta, one) == pytest.approx(-log_likelihood(theta, one), rel=1e-15)
    empty = select_cases(model, cases[:0], 0.0)
    assert U(theta, empty) == 0.0
    np.testing.assert_array_equal(grad_U(theta, empty), np.zeros(theta.size))
    np.testing.assert_array_equal(select_cases(model, cases, 0.5).precision, model.precision / 2)


@sizes
def test_U_of_classes_is_minus_the_log_density(n):
    rng = np.random.default_rng(n)
    X, y, Theta = rng.standard_normal((n, P)), rng.integers(0, 3, n), np.outer(THETA, [1, -2, 0.3])
    model, theta = MultinomialLogistic.from_data(X, y, 3, SIGMA_ALPHA, SIGMA_BETA), Theta.ravel()
    log_p = log_softmax(Theta[0] + X @ Theta[1:], axis=1)[np.arange(n), y].sum()
    assert log_likelihood(theta, model) == pytest.approx(log_p, rel=1e-13)
    prior = (Theta[0] ** 2).sum() / (2 * 2.0**2) + (Theta[1:] ** 2).sum() / (2 * 0.7**2)
    assert U(theta, model) == pytest.approx(prior - log_p, rel=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_two_classes_are_the_binary_model(scale):
    # only the difference of the two vectors of coefficients matters, of prior variance 2 sigma^2
    rng = np.random.default_rng(1)
    X, y = scale * rng.standard_normal((50, P)), rng.integers(0, 2, 50)
    binary = LogisticRegression.from_data(X, y, 3.0 * 2**0.5, 2**0.5)
    model, delta = MultinomialLogistic.from_data(X, y, 2, 3.0, 1.0), rng.standard_normal(P + 1)
    theta = np.column_stack([-delta / 2, delta / 2]).ravel()
    assert U(theta, model) == pytest.approx(U(delta, binary), rel=1e-13)
    assert log_likelihood(theta, model) == pytest.approx(log_likelihood(delta, binary), rel=1e-13)
    # dU/d delta = (dU/d theta_1 - dU/d theta_0) / 2; terms of up to 1e4
    g = grad_U(theta, model).reshape(P + 1, 2)
    np.testing.assert_allclose((g[:, 1] - g[:, 0]) / 2, grad_U(delta, binary),
                               rtol=0, atol=1e-11 * scale)
    assert np.isfinite(hessian(theta, model)).all()
    if scale == 1.0:  # at 1e4 softmax keeps the absolute, not the relative error of 1 - P
        np.testing.assert_allclose(case_entropy(theta, model), case_entropy(delta, binary),
                                   rtol=1e-10)
