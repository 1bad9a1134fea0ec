"""models/fields.py: what each annotation promises, and that models/validate.py holds them to it."""

from typing import NamedTuple

import numpy as np
import pytest

from models import fields, validate


class Two(NamedTuple):
    """Arrays whose lengths depend on each other."""

    X: fields.Array("n", "k")
    starts: fields.Counts("n + 1")
    pair: fields.Positive(2)


X = np.arange(6.0).reshape(3, 2)
GOOD = Two(X, np.array([0, 1, 2, 3]), np.ones(2))


def test_what_is_as_annotated_comes_back_itself():
    assert validate.model("model", GOOD) is GOOD


def test_what_can_be_converted_is():
    found = validate.model("model", Two(X.T.tolist(), [0, 1.0, 2], np.ones(2, np.float32)))
    assert [each.dtype for each in found] == [np.float64, np.int64, np.float64]
    np.testing.assert_array_equal(found.X, X.T)
    np.testing.assert_array_equal(found.starts, [0, 1, 2])


@pytest.mark.parametrize(("change", "message"), [
    ({"starts": np.arange(3)}, r"starts must have shape \(n \+ 1,\) with n = 3, not \(3,\)"),
    ({"X": X[0]}, r"X must have shape \(n, k\) with n = 2, not \(2,\)"),
    ({"pair": np.ones(3)}, r"pair must have shape \(2,\), not \(3,\)"),
    ({"pair": np.array([1.0, 0.0])}, "pair must be > 0"),
    ({"pair": np.array([1.0, np.inf])}, "pair must be finite, but 1 of its 2 entries are not"),
    ({"starts": np.array([0, 1, 2, -3])}, "starts must be >= 0"),
    ({"starts": np.array([0.0, 1.0, 2.0, 3.5])}, "starts must hold whole numbers"),
    ({"starts": np.array([0.0, 1.0, 2.0, 1e30])}, "starts must hold whole numbers below"),
    ({"starts": np.array([0, 1, 2, 2**63 + 1], np.uint64)}, "starts must hold whole numbers"),
    ({"X": None}, "X must be an array of real numbers, not NoneType")])
def test_what_is_not_is_named(change, message):
    with pytest.raises(ValueError, match=rf"^model\.{message}"):
        validate.model("model", GOOD._replace(**change))


ROOT = np.array([[1.0, 0.0], [0.5, 2.0]])


@pytest.mark.parametrize(("annotation", "good", "bad", "must"), [
    (fields.Array("n"), [[0.0], [-1e300, 1e300], []], [[np.nan], [np.inf]], "be finite"),
    (fields.Array("n", finite=False), [[np.nan, -np.inf]], [], ""),
    (fields.Counts("n"), [[0, 5], []], [[-1]], "be >= 0"),
    (fields.Positive("n"), [[5e-324]], [[0.0], [-1.0], [1.0, -0.0]], "be > 0"),
    (fields.Bits("n"), [[0.0, 1.0], []], [[-1.0], [0.5], [2.0]], "hold only 0 and 1"),
    (fields.Signs("n"), [[-1.0, 1.0]], [[0.0], [0.5], [1.0, 2.0]], r"hold only -1 and \+1"),
    (fields.Symmetric("n", "n"), [ROOT @ ROOT.T, 1e-200 * ROOT @ ROOT.T, np.zeros((2, 2))],
     [ROOT, 1e-200 * ROOT, [[1.0, 1e-8], [0.0, 1.0]]], "be symmetric"),
    (fields.Symmetric("k", "n", "n"), [[ROOT @ ROOT.T, np.eye(2)]], [[np.eye(2), ROOT]],
     "be symmetric"),
    (fields.Factor("n", "n"), [ROOT], [ROOT.T, -ROOT, np.zeros((2, 2)),
     [[1.0, 1e-8], [0.0, 1.0]]], "be lower triangular")])
def test_an_annotation_takes_what_it_says_and_nothing_else(annotation, good, bad, must):
    class One(NamedTuple):
        a: annotation

    for a in good:
        np.testing.assert_array_equal(validate.model("m", One(np.array(a))).a, a)
    for a in bad:
        with pytest.raises(ValueError, match=rf"^m\.a must {must}"):
            validate.model("m", One(np.array(a)))
