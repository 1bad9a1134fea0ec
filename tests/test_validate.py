"""models/validate.py: what passes comes back clean, what does not is named."""

from fractions import Fraction
from timeit import repeat
from typing import NamedTuple

import numpy as np
import pytest

from models import interface, validate
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.logistic_regression import LogisticRegression
from models.mixture import gaussian_mixture


def test_good_values_come_back_clean():
    assert validate.real("a", np.float32(0.5), 0, 1) == validate.real("a", Fraction(1, 2)) == 0.5
    assert isinstance(validate.real("a", 1), float)
    assert validate.count("n", np.int64(3)) == validate.count("n", np.uint8(3)) == 3
    assert validate.count("n", 2**31 - 1) == 2**31 - 1
    value = validate.array("x", np.asfortranarray(np.arange(6).reshape(2, 3)), (-1, 3))
    assert value.dtype == np.float64
    assert value.flags.c_contiguous
    np.testing.assert_array_equal(validate.labels("y", [1, -1], 2), [1.0, -1.0])
    rng = np.random.default_rng(1)
    assert validate.generator("rng", rng) is rng
    assert validate.instance("m", 1, int, "") == 1


def test_a_mass_becomes_its_cholesky_factor():
    np.testing.assert_array_equal(validate.mass("M", 4, 2), 2 * np.eye(2))
    L = validate.mass("M", [[4.0, 2.0], [2.0, 5.0]], 2)
    np.testing.assert_array_equal(L, [[2.0, 0.0], [1.0, 2.0]])


@pytest.mark.parametrize("given", [[True, False, True], np.array([True, False, True])])
def test_true_and_false_are_labels(given):
    np.testing.assert_array_equal(validate.labels("y", given, 3), [1.0, -1.0, 1.0])


def test_indices_are_all_or_those_given():
    np.testing.assert_array_equal(validate.indices("keep", None, 3), [0, 1, 2])
    np.testing.assert_array_equal(validate.indices("keep", [2, 0], 3), [2, 0])
    np.testing.assert_array_equal(validate.indices("keep", 1, 3), [1])
    assert validate.indices("keep", [], 3).shape == (0,)


def test_covariance_is_symmetric_to_the_last_bit():
    K = np.array([[2.0, 1.0], [1.0 + 1e-13, 2.0]])
    ours = validate.covariance("K", K)
    np.testing.assert_array_equal(ours, ours.T)
    np.testing.assert_allclose(ours, K, rtol=1e-12)


def test_symmetry_is_relative_to_the_largest_entry():
    good, bad = (np.array([[2.0, 1.0], [1.0 + gap, 2.0]]) for gap in (1e-13, 1e-9))
    for scale in (1e-12, 1e12):
        validate.covariance("K", scale * good)
        with pytest.raises(ValueError, match="K must be symmetric"):
            validate.covariance("K", scale * bad)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: validate.real("v", 2, 0, 1), "v must be a finite number in [0, 1], not 2"),
    (lambda: validate.real("v", 0.0, 0.0, open_low=True),
     "v must be a finite number in (0, inf), not 0.0"),
    (lambda: validate.real("v", np.nan), "v must be a finite number in (-inf, inf), not nan"),
    (lambda: validate.real("v", np.inf, high=1e100),
     "v must be a finite number in (-inf, 1e+100], not inf"),
    (lambda: validate.count("v", 2.0, 3), "v must be a whole number of at least 3, not the float"
                                          " 2.0"),
    (lambda: validate.count("v", 2**31), "v must be a whole number of at most 2147483647, not"
                                         " 2147483648"),
    (lambda: validate.entries("v", [1.0, 2.5], np.int64),
     "v must hold whole numbers below 2^63"),
    (lambda: validate.array("v", np.zeros((2, 3)), (-1, 2)),
     "v must have shape (n, 2), not (2, 3)"),
    (lambda: validate.array("v", np.zeros(2), (-1, -1)), "v must have shape (n, m), not (2,)"),
    (lambda: validate.array("v", np.zeros((2, 2)), (3,)), "v must have shape (3,), not (2, 2)"),
    (lambda: validate.array("v", np.zeros((2, 0)), (-1, -1)),
     "v must not be empty, but has shape (2, 0)"),
    (lambda: validate.array("v", [1.0, np.nan, np.inf], (-1,)),
     "v must be finite, but 2 of its 3 entries are not"),
    (lambda: validate.logarithms("v", [-np.inf, np.inf, 0.0, np.nan]),
     "v must be finite, but 2 of its 4 entries are not"),
    (lambda: validate.labels("v", [0, 1, 3, -1, 3], 5),
     "v must hold only -1 and +1, but holds [0.0, 3.0]"),
    (lambda: validate.covariance("v", [[1.0, 0.5], [0.25, 1.0]]),
     "v must be symmetric, but differs from its transpose by 0.25"),
    (lambda: validate.square("v", np.zeros((2, 3))), "v must be square, not of shape (2, 3)"),
    (lambda: validate.indices("v", [0, 3], 3), "v must hold indices from 0 to 2, not [0, 3]"),
    (lambda: validate.cases("v", np.array([4, 1]), 4), "v must hold numbers from 0 to 3, but holds"
                                                       " 4"),
    (lambda: validate.fits("v", Gaussian(np.zeros(2), np.eye(2)), np.zeros(3)),
     "v must be of 3 variables, as x0 is, but its U takes 2"),
    (lambda: validate.instance("v", 1, str, "as they are"),
     "v must be of type str (as they are), not int"),
    (lambda: validate.models("v", [Gaussian(np.zeros(2), np.eye(2)), 3]),
     "v[1] must be a model, a NamedTuple such as those of models/ are, not int"),
    (lambda: validate.model("v", Gaussian(np.zeros(2), np.eye(3))),
     "v.precision must have shape (d, d) with d = 2, not (3, 3)"),
    (lambda: validate.model("v", LogisticRegression(np.ones((3, 2)), np.array([0.0, 1.0]),
                                                    np.ones(2))),
     "v.y must have shape (n,) with n = 3, not (2,)")])
def test_messages_say_what_was_wanted_and_what_was_found(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("precision", [np.inf, np.nan])
def test_a_start_of_no_finite_energy_is_refused(precision):
    model = Gaussian(np.zeros(1), np.array([[precision]]))  # which a sampler checks before
    with pytest.raises(ValueError, match=r"v must be where U is finite, but U there is (inf|nan)"):
        validate.state("v", [1.0], model)


class Own(NamedTuple):
    """A model of one's own: annotations that say less, or nothing."""

    a: np.ndarray
    scale: float = 1.0
    order: int = 2
    flag: bool = False
    blocks: tuple = ()
    inner: tuple = None
    label: str = "x"


def test_a_model_of_ones_own_is_made_ready_for_compiled_code():
    a = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    found = validate.model("m", Own(a, np.float32(0.5), np.int8(3), np.True_,
                                    (np.ones(4, np.float32)[::2],), Own(np.ones(1, ">f8"))))
    assert found.a.dtype == np.int64 and found.a.flags.c_contiguous
    np.testing.assert_array_equal(found.a, a)
    assert [type(each) for each in found[1:4]] == [float, int, bool]
    assert found[1:4] == (0.5, 3, True)
    assert found.blocks[0].dtype == np.float64 and found.blocks[0].flags.c_contiguous
    assert found.inner.a.dtype == np.float64 and found.inner.a.dtype.isnative
    assert validate.model("m", found) is found


@pytest.mark.parametrize("change", [
    {"a": None}, {"a": np.array(["x"])}, {"scale": "1"}, {"scale": True}, {"scale": np.ones(2)},
    {"order": 1.5}, {"order": 2**63}, {"order": -(2**63) - 1}, {"flag": 1},
    {"blocks": (np.ma.ones(2),)}, {"inner": Own("x")}])
def test_what_compiled_code_cannot_take_is_named(change):
    (name,) = change
    with pytest.raises(ValueError, match=rf"^m\.{name}\b"):
        validate.model("m", Own(np.ones(2))._replace(**change))


def test_what_is_no_model_or_lacks_a_function_is_named():
    with pytest.raises(ValueError, match=r"^m must be a model, a NamedTuple such as .* not None"):
        validate.model("m", None)
    with pytest.raises(ValueError,
                       match=r"^m must have U .* but Own has none: .*@U.register\(Own"):
        validate.model("m", Own(np.ones(2)), interface.prepare, interface.U)  # one has a default
    validate.model("m", Gaussian(np.zeros(1), np.eye(1)), interface.U)


def test_a_class_is_called_as_it_was_written_whatever_number_it_got():
    for _ in range(2):  # as a cell of a notebook that is run again
        class Again(NamedTuple):
            scale: float

        interface.U.register(Again)(lambda q, model: q @ q)
    assert Again.__name__ == "Again_2"
    with pytest.raises(ValueError, match=r"^m must have hessian .* Again has none: .*\(Again\)$"):
        validate.model("m", Again(1.0), interface.hessian)
    with pytest.raises(ValueError, match=r"^m must be a model, .* not the class Again itself$"):
        validate.model("m", Again)


class Flat(NamedTuple):
    """A model of one's own whose gradient is of `n` variables."""

    n: int


class Listed(NamedTuple):
    """A model of one's own whose gradient is a list."""

    n: int


def flat_U(q, model):
    """Zero everywhere."""
    return 0.0


for kind in (Flat, Listed):
    interface.U.register(kind)(flat_U)


interface.grad_U.register(Flat)(lambda q, model: np.zeros(model.n))
interface.grad_U.register(Listed)(lambda q, model: [0.0, 0.0])


def test_a_start_of_another_length_than_the_gradient_is_refused():
    np.testing.assert_array_equal(validate.state("v", [1, 2], Flat(2)), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^v has shape \(2,\), so grad_U of Flat must be an array"
                                         r" .* not float64 of shape \(3,\)$"):
        validate.state("v", [1, 2], Flat(3))
    with pytest.raises(ValueError, match=r"^v has shape .* grad_U of Listed .* not a list$"):
        validate.state("v", [1, 2], Listed(2))


def test_the_number_of_variables_is_what_a_model_says():
    funnel = Funnel.from_size(3)
    for model, d in ((Gaussian(np.zeros(2), np.eye(2)), 2), (funnel, 4), (Own(np.ones(2)), -1),
                     (interface.GivenPhi(funnel, np.zeros(1)), 3),
                     (interface.GivenTheta(funnel, np.zeros(3)), 1),
                     (gaussian_mixture([1.0], [[0.0, 1.0]], [np.eye(2)]), 2)):
        assert validate.dimension(model) == d
        if d > 0:
            validate.fits("v", model, np.zeros(d))
            with pytest.raises(ValueError, match=f"^v must be of {d + 1} variables, .* takes {d}$"):
                validate.fits("v", model, np.zeros(d + 1))


def test_logarithms_may_be_minus_infinite_and_no_more():
    np.testing.assert_array_equal(validate.logarithms("v", [0, -np.inf]), [0.0, -np.inf])
    for bad in ([np.inf], [np.nan], [], [[0.0]], ["a"], None, [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError, match=r"^v must"):
            validate.logarithms("v", bad)


def test_the_numbers_of_a_float_array_are_not_looked_at_one_by_one():
    # in Python that takes 20 to 30 times as long as a pass of NumPy; what there is to do, nothing
    x = np.ones(4_000_000)
    ours, one_pass = (min(repeat(call, number=1, repeat=5)) for call in (
        lambda: validate.entries("v", x), lambda: np.isfinite(x).all()))
    assert ours < 5 * one_pass
