"""models/interface.py: the type of an argument decides, in the interpreter and compiled."""

import pickle
from typing import NamedTuple

import numba
import numpy as np
import pytest

from models.gaussian import Gaussian
from models.interface import U, U_and_grad_U, grad_U
from models.jit import njit


class Slope(NamedTuple):
    b: np.ndarray


U.register(Slope)(lambda q, model: q @ model.b)
grad_U.register(Slope)(lambda q, model: model.b)


@njit
def twice(q, model):
    return 2 * U(q, model)


@njit
def both(q, model):
    return U_and_grad_U(q, model)


Q = np.array([1.0, 2.0])


def test_the_type_of_the_model_decides():
    slope, gaussian = Slope(np.array([3.0, 4.0])), Gaussian(np.zeros(2), np.eye(2))
    assert U(Q, slope) == 11.0 and U(Q, gaussian) == 2.5
    assert twice(Q, slope) == twice.py_func(Q, slope) == 22.0
    assert twice(Q, gaussian) == twice.py_func(Q, gaussian) == 5.0
    np.testing.assert_array_equal(grad_U(Q, slope), slope.b)


def test_what_a_model_does_not_have_together_comes_one_after_the_other():
    for model in (Slope(np.array([3.0, 4.0])), Gaussian(np.ones(2), np.eye(2))):
        for function in (U_and_grad_U, both, both.py_func):
            energy, g = function(Q, model)
            assert energy == U(Q, model)
            np.testing.assert_array_equal(g, grad_U(Q, model))


def test_a_type_without_implementation_is_a_clear_error_compiled_or_not():
    class Other(NamedTuple):
        b: np.ndarray

    for function in (U, twice):
        with pytest.raises(TypeError,
                           match=r"U has no implementation for Other \(there are: .*Slope"):
            function(Q, Other(Q))

    with pytest.raises(ValueError, match=r"^U.register must be given the class .* not Other\("):
        U.register(Other(2))

    U.register(Other)(lambda q, model: 4.0)
    assert U(Q, Other(Q)) == 4.0 and twice(Q, Other(Q)) == 8.0


def test_another_implementation_takes_effect_at_the_next_call():
    class Again(NamedTuple):
        b: np.ndarray

    for value in (1.0, 5.0, 1.0):

        @U.register(Again)
        def again_U(q, model, value=value):
            return value

        assert U(Q, Again(Q)) == value and twice(Q, Again(Q)) == 2 * value
        assert twice(Q, Slope(Q)) == 10.0
    # in the place of the default too
    grad_U.register(Again)(lambda q, model: q)
    np.testing.assert_array_equal(both(Q, Again(Q))[1], Q)
    U_and_grad_U.register(Again)(lambda q, model: (3.0, -q))
    for function in (U_and_grad_U, both):
        energy, g = function(Q, Again(Q))
        assert energy == 3.0
        np.testing.assert_array_equal(g, -Q)


def test_an_implementation_that_does_not_compile_can_be_mended():
    class Mended(NamedTuple):
        b: np.ndarray

    U.register(Mended)(lambda q, model: model.c)
    for _ in range(2):  # Numba remembers it
        with pytest.raises(numba.TypingError, match="Unknown attribute 'c'"):
            twice(Q, Mended(Q))

    U.register(Mended)(lambda q, model: model.b[0])
    assert twice(Q, Mended(Q)) == 2.0


def same_name(value):
    class Model(NamedTuple):
        b: np.ndarray

    U.register(Model)(lambda q, model: value + model.b[0])
    return Model


def test_two_classes_of_one_name_and_fields_are_two_in_any_order():
    # as when a notebook's cell with a class and its U is run again
    first, second = same_name(10.0), same_name(20.0)
    for order in ((first, second), (second, first)):
        for kind in order:
            expected = 11.0 if kind is first else 21.0
            assert U(Q, kind(Q)) == expected and twice(Q, kind(Q)) == 2 * expected


def test_a_generic_function_is_sent_to_other_processes_as_a_name():
    assert pickle.loads(pickle.dumps(U)) is U
