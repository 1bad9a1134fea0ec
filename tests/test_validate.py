"""models/validate.py: what passes comes back clean, what does not is named."""

from fractions import Fraction

import numpy as np
import pytest

from models import validate
from models.gaussian import Gaussian


def test_good_values_come_back_clean():
    assert validate.real("a", np.float32(0.5), 0, 1) == validate.real("a", Fraction(1, 2)) == 0.5
    assert isinstance(validate.real("a", 1), float)
    assert validate.count("n", np.int64(3)) == validate.int64("n", np.uint8(3)) == 3
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


@pytest.mark.parametrize("call", [
    lambda: validate.real("v", "1"), lambda: validate.real("v", True),
    lambda: validate.real("v", np.nan), lambda: validate.real("v", np.inf),
    lambda: validate.real("v", 2, 0, 1), lambda: validate.real("v", -1, 0, 1),
    lambda: validate.real("v", 0.0, 0.0, open_low=True), lambda: validate.real("v", 1j),
    lambda: validate.count("v", 0), lambda: validate.count("v", 1.0),
    lambda: validate.count("v", True), lambda: validate.count("v", "3"),
    lambda: validate.int64("v", 2**63), lambda: validate.int64("v", 10**400),
    lambda: validate.int64("v", 0), lambda: validate.int64("v", 1.0),
    lambda: validate.array("v", [1, 2], (3,)), lambda: validate.array("v", [[1]], (-1,)),
    lambda: validate.real("v", 10**400), lambda: validate.real("v", np.longdouble("1e400")),
    lambda: validate.array("v", 1.0, (-1,)), lambda: validate.array("v", [1j], (-1,)),
    lambda: validate.array("v", ["1"], (-1,)), lambda: validate.array("v", [10**400], (-1,)),
    lambda: validate.array("v", np.array(["2020"], "M8[Y]"), (-1,)),
    lambda: validate.array("v", ["a"], (-1,)), lambda: validate.array("v", [], (-1,)),
    lambda: validate.array("v", [[], []], (-1, -1)),
    lambda: validate.array("v", [np.inf], (-1,)), lambda: validate.array("v", [[1], [1, 2]], (-1,)),
    lambda: validate.labels("v", [0, 1], 2), lambda: validate.labels("v", [1, -1], 3),
    lambda: validate.covariance("v", [[1.0, 2.0]]),
    lambda: validate.covariance("v", [[1.0, 0.5], [0.4, 1.0]]),
    lambda: validate.mass("v", 0.0, 2), lambda: validate.mass("v", -1, 2),
    lambda: validate.mass("v", None, 2), lambda: validate.mass("v", True, 2),
    lambda: validate.mass("v", "1", 2), lambda: validate.mass("v", [1.0, 2.0], 2),
    lambda: validate.mass("v", np.eye(3), 2), lambda: validate.mass("v", [[1], [2, 3]], 2),
    lambda: validate.mass("v", [[1.0, 2.0], [2.0, 1.0]], 2),
    lambda: validate.mass("v", [[1.0, 0.5], [0.4, 1.0]], 2),
    lambda: validate.indices("v", [0, 3], 3), lambda: validate.indices("v", [-1], 3),
    lambda: validate.indices("v", [True], 3), lambda: validate.indices("v", [0.0], 3),
    lambda: validate.indices("v", "0", 3), lambda: validate.indices("v", [[0, 1]], 3),
    lambda: validate.indices("v", [[0], [1, 2]], 3), lambda: validate.indices("v", [2**70], 3),
    lambda: validate.generator("v", np.random), lambda: validate.instance("v", 1, str, "")])
def test_bad_values_are_named(call):
    with pytest.raises(ValueError, match=r"^v\b"):
        call()


@pytest.mark.parametrize("precision", [np.inf, np.nan])
def test_a_start_of_no_finite_energy_is_refused(precision):
    model = Gaussian(np.zeros(1), np.array([[precision]]))
    with pytest.raises(ValueError, match=r"v must be where U is finite, but U there is (inf|nan)"):
        validate.state("v", [1.0], model)
