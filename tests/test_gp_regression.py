"""Gaussian-process regression against SciPy, differences, and itself from scratch."""

import numpy as np
import pytest
from scipy.linalg import lapack
from scipy.stats import multivariate_normal, norm

from differences import differences
from models import gp_regression, validate
from models.gp_kernel import fill
from models.gp_regression import GPRegression, predict, predict_over
from models.interface import (
    U,
    U_and_grad_U,
    U_prior,
    commit,
    grad_U,
    log_likelihood,
    log_likelihood_of,
    prepare,
    trial,
)
from one_variable import caches_agree
from test_benchmarks import seconds, show

P = 3
# C has a condition number of 1e5 at most here (100 n against sigma^2 > .04), of which y'C^-1 y
# can lose as many digits; the two ways of computing it lose different ones
DENSE = 1e-10
KINDS = ["isotropic", "ard"]


def data(n, p=P, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    return X, 3 * np.sin(4 * X[:, 0]) + 8 + 0.4 * rng.standard_normal(n)


def problem(n, kind, p=P, c=10.0, **prior):
    """Return a model and a state."""
    model = GPRegression.from_data(*data(n, p), kind, c, **prior)
    return model, state(model)


def state(model):
    return np.log(np.array([0.5, 4.0, 0.6, 0.9, 1.4])[: model.precision.size])


def dense(X, Z, q, c=10.0):
    """Return the covariance of f at X and Z, by (24); (23) is the case of one length."""
    rho = np.broadcast_to(np.exp(q[2:]), X.shape[1:])
    squares = (((X[:, None, :] - Z[None, :, :]) / rho) ** 2).sum(-1)
    return c**2 + np.exp(2 * q[1]) * np.exp(-squares)


def dense_C(X, q, c=10.0):
    return dense(X, X, q, c) + np.exp(2 * q[0]) * np.eye(len(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 130])  # blocks of 64 in the factorisation
def test_the_likelihood_is_that_of_scipy(n, kind):
    model, q = problem(n, kind)
    X, y = data(n)
    expected = multivariate_normal.logpdf(y, np.zeros(n), dense_C(X, q))
    assert log_likelihood(q, model) == pytest.approx(expected, rel=DENSE)
    assert log_likelihood_of(U(q, model), q, model) == pytest.approx(expected, rel=DENSE)


@pytest.mark.parametrize("c", [0.0, 2.0])
def test_the_constant_is_squared(c):
    model, q = problem(20, "ard", c=c)
    X, y = data(20)
    expected = multivariate_normal.logpdf(y, np.zeros(20), dense_C(X, q, c))
    assert log_likelihood(q, model) == pytest.approx(expected, rel=DENSE)


def test_the_prior_is_normal_on_the_logs():
    mean, sd = np.array([0.1, 1.0, -1.0, 2.0, 0.0]), np.array([1.0, 0.5, 2.0, 3.0, 4.0])
    model, q = problem(4, "ard", prior_mean=mean, prior_sd=sd)
    expected = -norm.logpdf(q, mean, sd).sum()
    assert U_prior(q, model) == pytest.approx(expected, rel=1e-14)  # a few sums
    assert U(q, model) + log_likelihood(q, model) == pytest.approx(expected, abs=1e-12)


def test_the_default_prior_has_a_standard_deviation_of_2():
    model, q = problem(4, "isotropic")
    assert U_prior(q, model) == pytest.approx(-norm.logpdf(q, 0, 2).sum(), rel=1e-14)


@pytest.mark.parametrize("n, kind, p", [(1, "isotropic", 1), (7, "ard", 3), (70, "isotropic", 3),
                                        (70, "ard", 3)])
def test_the_gradient_is_that_of_differences(n, kind, p):
    model, q = problem(n, kind, p)
    # of order 4: the fifth derivative times 1e-12 / 30, and rounding of U over 1e-3
    expected = differences(lambda q: U(q, model), q)
    np.testing.assert_allclose(grad_U(q, model), expected, rtol=1e-7, atol=1e-7)
    energy, gradient = U_and_grad_U(q, model)
    assert energy == U(q, model)
    np.testing.assert_array_equal(gradient, grad_U(q, model))


def test_equation_30_the_determinant_is_the_product_of_the_squared_diagonal():
    X, _ = data(9)
    q = np.log([0.5, 4.0, 0.6])
    R = np.linalg.cholesky(dense_C(X, q)).T
    # C as such: the product of 9 factors
    assert np.prod(np.diag(R) ** 2) == pytest.approx(np.linalg.det(dense_C(X, q)), rel=1e-11)


# Prediction


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 70])
def test_predictions_are_the_conditional_normal_distribution(n, kind):
    model, q = problem(n, kind)
    (X, y), Z = data(n), np.random.default_rng(5).random((4, P)) * 1.5
    k, C = dense(X, Z, q), dense_C(X, q)
    expected = k.T @ np.linalg.solve(C, y)
    variance = np.diag(dense(Z, Z, q) - k.T @ np.linalg.solve(C, k))
    found = predict(Z, q, model)
    np.testing.assert_allclose(found.mean, expected, rtol=DENSE)
    # a difference of numbers of 116
    np.testing.assert_allclose(found.latent, variance, rtol=0, atol=116 * DENSE)
    np.testing.assert_allclose(found.noisy, variance + 0.25, rtol=0, atol=116 * DENSE)


def test_predictions_over_draws_are_those_of_the_mixture():
    # by (27) and (28): mean and variance of a mixture of normals, from its second moment
    model, q = problem(20, "ard")
    Z = np.random.default_rng(5).random((4, P))
    draws = q + 0.3 * np.random.default_rng(6).standard_normal((7, q.size))
    single = [predict(Z, each, model) for each in draws]
    mean = np.mean([each.mean for each in single], axis=0)
    found = predict_over(Z, draws, model)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13)
    for field in ("latent", "noisy"):
        second = np.mean([getattr(each, field) + each.mean**2 for each in single], axis=0)
        np.testing.assert_allclose(getattr(found, field), second - mean**2, rtol=0, atol=1e-11)


def test_variances_that_rounding_makes_negative_count_as_0():
    # far from each other and without noise: k'C^-1 k is eta^2 but for its rounding
    X = 1e3 * np.arange(3.0)[:, None]
    model = GPRegression.from_data(X, np.ones(3), "isotropic", 0.0)
    for log_eta in np.linspace(-1.0, 1.0, 30):
        assert (predict(X, np.array([-50.0, log_eta, 0.0]), model).latent >= 0.0).all()


def test_a_prediction_at_a_case_without_noise_is_the_case():
    model, q = problem(5, "ard")
    X, y = data(5)
    q[0] = np.log(1e-4)  # variances of 1e-8 of 116, and the errors of those
    found = predict(X, q, model)
    np.testing.assert_allclose(found.mean, y, rtol=0, atol=1e-5)
    assert (found.latent < 2e-8).all() and (found.latent >= 0).all()


# One variable at a time


@pytest.mark.parametrize("kind", KINDS)
def test_caches_agree_with_evaluation_from_scratch(kind):
    model, q = problem(40, kind)
    # C has a condition of 4e5 at sigma = .1; its last digits change U by 1e-14
    caches_agree(model, q, 150, np.random.default_rng(2), 1e-12)


@pytest.mark.parametrize("k", [0, 1])
def test_a_new_sigma_or_eta_touches_no_kernel(k):
    # what the memory says is the kernel is taken for it: here the identity
    model, q = problem(12, "ard")
    cache = prepare(q, model)
    cache.memory.kernel.E[:] = np.eye(12)
    q[k] += 0.3
    C = 100 + (np.exp(2 * q[0]) + np.exp(2 * q[1])) * np.eye(12)
    expected = U_prior(q, model) - multivariate_normal.logpdf(model.y, np.zeros(12), C)
    assert trial(cache, k, q[k], model) == pytest.approx(expected, rel=DENSE)


def test_a_new_length_reads_two_numbers_a_pair():
    model, q = problem(12, "ard")
    cache = prepare(q, model)
    trial(cache, 3, 0.2, model)
    cache.memory.kernel.rest[:] = np.inf  # nothing is near anything
    cache.memory.kernel.own[np.diag_indices(12)] = 0.0
    cache.memory.kernel.rest[np.diag_indices(12)] = 0.0
    q[3] = 0.4
    C = 100 + (np.exp(2 * q[0]) + np.exp(2 * q[1])) * np.eye(12)
    expected = U_prior(q, model) - multivariate_normal.logpdf(model.y, np.zeros(12), C)
    assert trial(cache, 3, 0.4, model) == pytest.approx(expected, rel=DENSE)


def test_a_commit_evaluates_nothing():
    model, q = problem(12, "ard")
    cache = prepare(q, model)
    cache.memory.C[:] = np.nan
    new = commit(cache, 1, 0.7, np.nan, model)
    assert np.isnan(new.U) and np.isnan(cache.memory.C).all()
    assert new.q[1] == 0.7 and cache.q[1] == q[1] and cache.U == U(q, model)


def test_a_cache_has_its_own_copy_of_the_state():
    model, q = problem(12, "ard")
    cache = prepare(q, model)
    kept = q.copy()
    q[:] = 9.0
    np.testing.assert_array_equal(cache.q, kept)


# Bad input and trouble


@pytest.mark.parametrize("name, value, message", [
    ("prior_sd", [[1.0, 2.0], [3.0]], "prior_sd must be an array of numbers, not lists of unequal"),
    ("X", np.zeros((3, 0)), "X must not be empty, but has shape (3, 0)"),
    ("X", np.zeros((0, 2)), "X must not be empty, but has shape (0, 2)"),
    ("X", np.zeros(3), "X must have shape (n, m), not (3,)"),
    ("X", [[np.nan, 1]] * 3, "X must be finite, but 3 of its 6 entries are not"),
    ("X", [["a", "b"]] * 3, "X must be an array of real numbers, not list of <U1"),
    ("y", np.zeros(2), "y must have shape (3,), not (2,)"),
    ("y", [1, np.inf, 2], "y must be finite, but 1 of its 3 entries are not"),
    ("kind", "iso", "kind must be 'isotropic' or 'ard', not 'iso'"),
    ("kind", None, "kind must be 'isotropic' or 'ard', not None"),
    ("kind", ["ard"], "kind must be 'isotropic' or 'ard', not ['ard']"),
    ("c", -1, "c must be a finite number in [0, 1e+150], not -1"),
    ("c", None, "c must be a real number, not None"),
    ("prior_mean", np.nan, "prior_mean must be a finite number in (-inf, inf), not nan"),
    ("prior_mean", [0, 0], "prior_mean must have shape (4,), not (2,)"),
    ("prior_sd", 0, "prior_sd must be > 0 throughout, but lies in [0, 0]"),
    ("prior_sd", [1, 1, -2, 1], "prior_sd must be > 0 throughout, but lies in [-2, 1]"),
    ("prior_sd", "2", "prior_sd must be a real number, not '2'"),
])
def test_bad_arguments_are_named(name, value, message):
    arguments = {"X": np.ones((3, 2)), "y": np.zeros(3), "kind": "ard", name: value}
    with pytest.raises(ValueError) as error:
        GPRegression.from_data(**arguments)
    assert message in str(error.value)


@pytest.mark.parametrize("name, value, message", [
    ("Z", np.zeros((2, 4)), "Z must have shape (n, 3), not (2, 4)"),
    ("Z", np.zeros((0, 3)), "Z must not be empty"),
    ("q", np.zeros(4), "q must have shape (5,), not (4,)"),
    ("q", np.full(5, np.nan), "q must be finite"),
    ("model", None, "model must be of type GPRegression (from GPRegression.from_data)"),
])
def test_bad_arguments_of_a_prediction_are_named(name, value, message):
    model, q = problem(6, "ard")
    arguments = {"Z": np.zeros((2, 3)), "q": q, "model": model, name: value}
    with pytest.raises(ValueError) as error:
        predict(**arguments)
    assert message in str(error.value)


def test_repeated_cases_have_a_likelihood():
    X, y = data(6)
    X, y = np.vstack([X, X, X[:1]]), np.concatenate([y, y + 0.5, y[:1]])
    model = GPRegression.from_data(X, y, "ard")
    q = state(model)
    expected = multivariate_normal.logpdf(y, np.zeros(13), dense_C(X, q))
    assert log_likelihood(q, model) == pytest.approx(expected, rel=DENSE)


def test_the_length_of_a_constant_covariate_has_its_prior():
    X, y = data(12)
    X[:, 1] = 3.7
    model = GPRegression.from_data(X, y, "ard")
    q = state(model)
    moved = q.copy()
    moved[3] = -6.0
    assert log_likelihood(moved, model) == log_likelihood(q, model)
    assert grad_U(moved, model)[3] == pytest.approx(-6.0 / 4, rel=1e-14)


@pytest.mark.parametrize("q", [[-30.0, 2.0, 3.0], [-400.0, 2.0, 0.0], [400.0, 0.0, 0.0],
                               [0.0, 400.0, 0.0], [np.nan, 0.0, 0.0], [0.0, np.nan, 0.0],
                               [0.0, 0.0, np.nan], [np.inf, 0.0, 0.0], [0.0, 0.0, -np.inf]])
def test_where_there_is_no_factor_or_no_prior_the_energy_is_not_finite(q):
    model, q = problem(30, "isotropic", 1)[0], np.array(q)
    assert not np.isfinite(U(q, model))
    start = state(model)
    for k in np.flatnonzero(q != start):
        cache = prepare(start, model)
        known = cache.U
        one = start.copy()
        one[k] = q[k]
        expected, found = U(one, model), trial(cache, int(k), q[k], model)
        assert np.isfinite(found) == np.isfinite(expected)
        # and the cache goes on
        assert trial(cache, 0, start[0], model) == pytest.approx(known, rel=1e-12)


def test_no_chain_starts_where_there_is_no_density():
    model = problem(30, "isotropic", 1)[0]
    with pytest.raises(ValueError, match="x0 must be where U is finite, but U there is inf"):
        validate.state("x0", [-30.0, 2.0, 3.0], model)
    with pytest.raises(ValueError, match=r"x0 must have shape \(3,\), not \(4,\)"):
        validate.state("x0", np.zeros(4), model)


# Printed, not asserted


@pytest.mark.benchmark
@pytest.mark.parametrize("n, p, kind", [
    (300, 1, "isotropic"), (300, 5, "ard"), (900, 1, "isotropic"), (900, 5, "isotropic"),
    (900, 5, "ard")])
def test_an_evaluation_against_dpotrf(n, p, kind, benchmark):
    rng = np.random.default_rng(1)
    model = GPRegression.from_data(rng.random((n, p)), 5 * rng.standard_normal(n), kind)
    q = np.log(np.r_[0.5, 5.0, np.full(model.precision.size - 2, 0.4)])
    A = np.asfortranarray(dense_C(model.XT.T, q))
    limit = seconds(lambda: lapack.dpotrf(A, lower=0, clean=0), 21)
    what = f"n = {n}, p = {p}, {kind}"
    show(f"log posterior from scratch, {what}", seconds(lambda: U(q, model), 21), limit, "dpotrf")
    cache, E = prepare(q, model), np.zeros((n, n))
    for k, name in ((0, "sigma"), (1, "eta"), (2, "rho_1")):
        values = q[k] + 1e-3 * np.arange(1000)
        again = iter(values)
        show(f"after a change of {name}, {what}",
             seconds(lambda k=k, again=again: trial(cache, k, next(again), model), 21), limit,
             "dpotrf")
    show(f"the kernel alone, {what}",
         seconds(lambda: fill(q[2:], model.group, model.XT, model.XT, True, E), 21), limit,
         "dpotrf")
    show(f"the gradient, {what}", seconds(lambda: grad_U(q, model), 5), limit, "dpotrf")
    benchmark.pedantic(lambda: U(q, model), rounds=3)


def test_the_memory_of_a_cache_is_four_matrices():
    # at n = 5000, 0.8 GB
    model, q = problem(40, "ard")
    memory = prepare(q, model).memory
    assert sum(each.nbytes for each in (memory.C, *memory.kernel)) < 4.1 * 40 * 40 * 8
    assert isinstance(memory, gp_regression.Memory)
