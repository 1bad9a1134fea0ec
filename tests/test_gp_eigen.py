"""The largest eigenvalues of the kernel: against the dense formula, and what is printed."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from departing import departs
from models.gp_eigen import GPEigen
from models.gp_regression import GPRegression
from models.interface import U, U_prior, prepare, trial
from one_variable import caches_agree, likelihood_is_energy_without_prior
from test_benchmarks import seconds, show
from test_gp_regression import DENSE, data, dense, problem


def decomposed(q, n):
    """Return the eigenvalues of K, ascending, and its eigenvectors."""
    X = data(n)[0]
    return np.linalg.eigh(dense(X, X, q))


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
@pytest.mark.parametrize("m", [1, 7, 29])
def test_it_is_the_dense_formula(m, kind):
    whole, q = problem(30, kind)
    model, (s, Q) = GPEigen.from_model(whole, m), decomposed(q, 30)
    C = (Q[:, -m:] * s[-m:]) @ Q[:, -m:].T + 0.25 * np.eye(30)
    expected = multivariate_normal.logpdf(whole.y, np.zeros(30), C)
    assert U_prior(q, model) - U(q, model) == pytest.approx(expected, rel=DENSE)
    likelihood_is_energy_without_prior(model, q, expected, DENSE)


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
def test_with_all_eigenvectors_it_is_the_posterior(kind):
    whole, q = problem(70, kind)
    assert U(q, GPEigen.from_model(whole, 70)) == pytest.approx(U(q, whole), rel=DENSE)


def test_eigenvalues_of_rounding_below_zero_do_no_harm():
    # 40 smooth functions at sigma = 1e-7, whose square is 1e-16 of the largest eigenvalue
    X = np.linspace(0, 1, 40)[:, None]
    whole = GPRegression.from_data(X, np.sin(X[:, 0]), "isotropic", 1.0)
    q = np.array([np.log(1e-7), 0.0, 1.0])
    assert np.isfinite(U(q, GPEigen.from_model(whole, 40)))


def test_caches_agree_with_evaluation_from_scratch():
    whole, q = problem(25, "ard")
    # eigenvalues are exact to 1e-16 of the largest, 2900, against sigma^2
    caches_agree(GPEigen.from_model(whole, 9), q, 60, np.random.default_rng(5), 1e-11)


def test_a_new_sigma_needs_no_decomposition():
    whole, q = problem(12, "ard")
    model = GPEigen.from_model(whole, 12)
    cache = prepare(q, model)
    cache.memory.s[:], cache.memory.u[:] = 3.0, 2.0
    q[0] = 0.7
    d = 3.0 + np.exp(1.4)
    expected = 6 * (np.log(2 * np.pi * d) + 4 / d) + U_prior(q, model)
    assert trial(cache, 0, 0.7, model) == pytest.approx(expected, rel=1e-13)  # sums of 12


def test_where_there_are_no_eigenvalues_the_energy_is_not_finite():
    model = GPEigen.from_model(problem(12, "isotropic")[0], 4)
    cache = prepare(np.zeros(3), model)
    for k, value in ((0, np.nan), (1, 400.0), (1, np.nan), (2, np.nan), (0, np.inf)):
        assert not np.isfinite(trial(cache, k, value, model))
        assert trial(cache, 0, 0.0, model) == pytest.approx(cache.U, rel=1e-12)


@departs(np.transpose, lambda B: B)
def test_equation_36_lacks_a_transpose(second):
    # with m = n, where both have a product at all
    _, q = problem(8, "ard")
    (s, B), d = decomposed(q, 8), 0.25
    inverse = np.eye(8) / d - B @ np.diag(s / (s + d)) @ second(B) / d
    C = (B * s) @ B.T + d * np.eye(8)
    np.testing.assert_allclose(inverse @ C, np.eye(8), rtol=0, atol=1e-9)  # 1e-16 of 1e3 / d^2


@pytest.mark.parametrize("m, message", [
    (0, "m must be a whole number of at least 1, not 0"),
    (13, "m must be at most 12, the number of cases, not 13"),
    (2.0, "m must be a whole number of at least 1, not the float 2.0"),
    (True, "m must be a whole number of at least 1, not True"),
    (None, "m must be a whole number of at least 1, not None"),
])
def test_bad_numbers_of_eigenvectors_are_named(m, message):
    with pytest.raises(ValueError) as error:
        GPEigen.from_model(problem(12, "ard")[0], m)
    assert str(error.value) == message


@pytest.mark.benchmark
@pytest.mark.parametrize("n", [300, 900])
def test_an_evaluation_against_that_of_the_posterior(n, benchmark):
    rng = np.random.default_rng(1)
    whole = GPRegression.from_data(rng.random((n, 5)), 5 * rng.standard_normal(n), "ard")
    q, model = np.log([0.5, 5.0, 0.4, 0.4, 0.4, 0.4, 0.4]), GPEigen.from_model(whole, n // 10)
    show(f"{n // 10} eigenvectors of {n}", seconds(lambda: U(q, model), 3),
         seconds(lambda: U(q, whole), 7), "the posterior")
    benchmark.pedantic(lambda: U(q, model), rounds=1)
