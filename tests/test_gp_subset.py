"""A subset of the data: the regression on those cases, and what is printed."""

import numpy as np
import pytest

from departing import departs
from models.gp_regression import GPRegression
from models.gp_subset import GPSubset
from models.interface import U, grad_U, log_likelihood, prepare
from test_gp_regression import DENSE, data, dense_C, log_normal, problem

INDEX = [11, 3, 0, 17, 8]


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
def test_it_is_the_regression_on_those_cases(kind):
    prior = {"prior_mean": 1.5, "prior_sd": 0.3}
    whole, q = problem(20, kind, **prior)
    model, (X, y) = GPSubset.from_model(whole, INDEX), data(20)
    expected = GPRegression.from_data(X[INDEX], y[INDEX], kind, **prior)
    assert U(q, model) == U(q, expected) == prepare(q, model).U
    np.testing.assert_array_equal(grad_U(q, model), grad_U(q, expected))
    assert log_likelihood(q, model) == log_likelihood(q, expected)


@departs(lambda model: model.part.y, lambda model: data(20)[1])
def test_equation_31_takes_the_responses_of_the_subset(responses):
    whole, q = problem(20, "ard")
    model = GPSubset.from_model(whole, INDEX)
    C, y = dense_C(data(20)[0][INDEX], q), responses(model)
    assert y.shape == C.shape[:1]
    assert log_likelihood(q, model) == pytest.approx(log_normal(y, C), rel=DENSE)
