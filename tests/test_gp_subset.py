"""A subset of the data: the regression on those cases, and what is printed."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from departing import departs
from models.gp_regression import GPRegression
from models.gp_subset import GPSubset
from models.interface import U, grad_U, log_likelihood, prepare
from one_variable import caches_agree, likelihood_is_energy_without_prior
from test_benchmarks import seconds, show
from test_gp_regression import DENSE, data, dense_C, problem, state

INDEX = [11, 3, 0, 17, 8]


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
def test_it_is_the_regression_on_those_cases(kind):
    whole, q = problem(20, kind)
    model, (X, y) = GPSubset.from_model(whole, INDEX), data(20)
    expected = GPRegression.from_data(X[INDEX], y[INDEX], kind)
    assert U(q, model) == U(q, expected) == prepare(q, model).U
    np.testing.assert_array_equal(grad_U(q, model), grad_U(q, expected))
    assert log_likelihood(q, model) == log_likelihood(q, expected)
    likelihood_is_energy_without_prior(model, q, log_likelihood(q, expected), 1e-12)


def test_the_prior_is_that_of_the_whole():
    model = GPRegression.from_data(*data(20), "ard", prior_mean=1.5, prior_sd=0.3)
    q = state(model)
    X, y = data(20)
    part = GPRegression.from_data(X[INDEX], y[INDEX], "ard", prior_mean=1.5, prior_sd=0.3)
    assert U(q, GPSubset.from_model(model, INDEX)) == U(q, part)


def test_with_all_cases_it_is_the_posterior():
    whole, q = problem(70, "ard")
    model = GPSubset.from_model(whole, np.random.default_rng(1).permutation(70))
    assert U(q, model) == pytest.approx(U(q, whole), rel=DENSE)  # sums in another order


def test_caches_agree_with_evaluation_from_scratch():
    whole, q = problem(60, "ard")
    model = GPSubset.from_model(whole, np.arange(0, 60, 3))
    caches_agree(model, q, 60, np.random.default_rng(4), 1e-12)  # as for the whole


def of_the_subset(model):
    return model.part.y


def of_all(model):
    return data(20)[1]


@departs(of_the_subset, of_all)
def test_equation_31_takes_the_responses_of_the_subset(responses):
    whole, q = problem(20, "ard")
    model = GPSubset.from_model(whole, INDEX)
    C, y = dense_C(data(20)[0][INDEX], q), responses(model)
    assert y.shape == C.shape[:1]
    expected = multivariate_normal.logpdf(y, np.zeros(5), C)
    assert log_likelihood(q, model) == pytest.approx(expected, rel=DENSE)


@pytest.mark.parametrize("index, message", [
    ([], "index is empty: at least one case is needed"),
    ([0, 20], "index must hold indices from 0 to 19, not [0, 20]"),
    ([-1, 3], "index must hold indices from 0 to 19, not [-1, 3]"),
    ([4, 3, 4, 3, 3], "index must hold each case at most once, but repeats [3, 4]"),
    ([*range(20), 0], "index must hold each case at most once, but repeats [0]"),
    ([1.0, 2.0], "index must be a list of whole numbers or None"),
    ([[1, 2]], "index must be a list of whole numbers or None"),
    (None, "index must be a list of whole numbers, not None"),
])
def test_bad_indices_are_named(index, message):
    with pytest.raises(ValueError) as error:
        GPSubset.from_model(problem(20, "ard")[0], index)
    assert message in str(error.value)


def test_a_model_of_another_type_is_named():
    whole, _ = problem(20, "ard")
    with pytest.raises(ValueError, match="model must be of type GPRegression"):
        GPSubset.from_model(GPSubset.from_model(whole, INDEX), [0])


@pytest.mark.benchmark
@pytest.mark.parametrize("n, m, p, kind", [(300, 40, 1, "isotropic"), (900, 300, 5, "ard")])
def test_an_evaluation_against_that_of_the_posterior(n, m, p, kind, benchmark):
    rng = np.random.default_rng(1)
    whole = GPRegression.from_data(rng.random((n, p)), 5 * rng.standard_normal(n), kind)
    model = GPSubset.from_model(whole, rng.permutation(n)[:m])
    q = np.log(np.r_[0.5, 5.0, np.full(whole.precision.size - 2, 0.4)])
    show(f"subset of {m} of {n}, p = {p}", seconds(lambda: U(q, model), 101),
         seconds(lambda: U(q, whole), 21), "the posterior")
    benchmark.pedantic(lambda: U(q, model), rounds=3)
