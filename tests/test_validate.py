"""models/validate.py and fields.py: what passes comes back clean, what does not is named."""

import inspect
import math
import re
import warnings
from decimal import Decimal
from fractions import Fraction
from timeit import repeat
from typing import NamedTuple

import numpy as np
import pytest

from algorithms.hmc import hmc
from algorithms.map_estimate import MAP
from models import fields, interface, validate
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.non_centred import theta_of

GAUSSIAN = Gaussian(np.zeros(2), np.eye(2))


def test_good_values_come_back_clean():
    assert validate.real("a", np.float32(0.5), 0, 1) == validate.real("a", Fraction(1, 2)) == 0.5
    assert isinstance(validate.real("a", 1), float)
    assert validate.count("n", np.int64(3)) == validate.count("n", np.uint8(3)) == 3
    assert validate.count("n", 2**31 - 1) == 2**31 - 1
    value = validate.array("x", np.asfortranarray(np.arange(6).reshape(2, 3)), (-1, 3))
    assert value.dtype == np.float64 and value.flags.c_contiguous
    for given in ([1, -1, 1], [True, False, True], np.array([True, False, True])):
        np.testing.assert_array_equal(validate.labels("y", given, 3), [1.0, -1.0, 1.0])
    np.testing.assert_array_equal(validate.logarithms("v", [0, -np.inf]), [0.0, -np.inf])
    assert validate.instance("m", 1, int, "") == 1


def test_arrays_that_may_be_indices_are_told_apart_by_their_entries():
    for kind in (bool, np.int64, np.uint8):
        one, other = np.array([1, 0], kind), np.array([1, 1], kind)
        assert validate.outline(one) != validate.outline(other) == validate.outline(other.copy())
    assert validate.outline(np.zeros(2)) == validate.outline(np.ones(2))  # of floats the shape


def test_help_says_what_fields_hold():
    shown = str(inspect.signature(Gaussian)).replace("typing.", "")  # as Python 3.13 has it
    assert "mean: Annotated[numpy.ndarray, (d,) float64]" in shown
    assert "precision: Annotated[numpy.ndarray, (d, d) float64, must be symmetric" in shown


def test_indices_are_all_or_those_given():
    for given, taken in ((None, [0, 1, 2]), ([2, 0], [2, 0]), (1, [1]), ([], [])):
        assert validate.indices("keep", given, 3).tolist() == taken


def test_a_covariance_becomes_symmetric_to_the_last_bit_and_only_rounding_is_forgiven():
    good, bad = (np.array([[2.0, 1.0], [1.0 + gap, 2.0]]) for gap in (1e-13, 1e-9))
    for scale in (1e-12, 1e12):
        ours = validate.covariance("K", scale * good)
        np.testing.assert_array_equal(ours, ours.T)
        np.testing.assert_allclose(ours, scale * good, rtol=1e-12)
        with pytest.raises(ValueError, match="K must be symmetric"):
            validate.covariance("K", scale * bad)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: validate.real("v", np.inf, high=1e100), r"a finite .* \(-inf, 1e\+100\], not inf$"),
    (lambda: validate.real("v", np.float64(2.0), high=1.0), "not 2.0$"),
    (lambda: validate.count("v", 10**5000), "type int with thousands of digits$"),
    (lambda: validate.labels("v", [0, 1, 2], 3), r"hold only -1 and \+1, but holds \[0.0, 2.0\]$"),
    (lambda: validate.array("v", [Decimal(1)], (-1,)), r"of object: give np.asarray\(v, float"),
    (lambda: validate.array("v", np.array([1], "m8[D]"), (-1,)), "unit, v / np.timedelta64.1, 'D'"),
    (lambda: validate.array("v", np.zeros(2), (-1, -1)), r"have shape \(n, m\), not \(2,\)$"),
    (lambda: validate.array("v", np.zeros((2, 0)), (-1, -1)), r"not be empty, .* shape \(2, 0\)$"),
    (lambda: validate.regular("v", GAUSSIAN), "not a Gaussian: are two arguments swapped"),
    (lambda: validate.regular("v", MAP(np.ones(1), np.eye(1), 1, True, 0.0)), "MAP: give its .q$"),
    (lambda: validate.regular("v", (np.zeros(3), np.zeros(1))), "join them by np.concatenate$"),
    (lambda: validate.logarithms("v", [-np.inf, np.inf, 0.0, np.nan]), "finite or -inf, but 2 of"),
    (lambda: validate.fits("v", interface.GivenTheta(Funnel.from_size(3), np.zeros(3)), np.ones(2)),
     "be of 2 variables, as x0 is, but its U takes 1"),
    (lambda: validate.models("v", [GAUSSIAN, 3]), "be a model, a NamedTuple such .*, not int$"),
    (lambda: validate.number("v", 1.5, int), "be an int, not 1.5"),
    (lambda: validate.number("v", 10**400, float), "be a float, not 1000"),
    (lambda: validate.number("v", np.timedelta64(1, "s"), float), "be a float, not np.timedelta"),
    (lambda: validate.instance("v", 1, str, "so"), r"be of type str \(so\), not int$")])
def test_messages_say_what_was_wanted_and_what_was_found(call, said):
    with pytest.raises(ValueError, match=rf"^v(\[1\])? must .*{said}"):
        call()


class Own(NamedTuple):
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
    {"blocks": (np.ma.ones(2),)}, {"inner": Own("x")}, {"label": {}}, {"label": len},
    {"label": 10**30}, {"blocks": (range(2),)}])
def test_what_compiled_code_cannot_take_is_named(change):
    (name,) = change
    with pytest.raises(ValueError, match=rf"^m\.{name}\b"):
        validate.model("m", Own(np.ones(2))._replace(**change))


def test_what_lacks_a_function_is_named():
    with pytest.raises(ValueError, match=r"^m must have U .* but Own has none: .*@U.register\(Own"):
        validate.model("m", Own(np.ones(2)), interface.prepare, interface.U)  # one has a default
    with pytest.raises(ValueError, match=r"m must have theta_of \(models/non_centred\.py\), but"):
        validate.model("m", Own(np.ones(2)), theta_of)
    validate.model("m", GAUSSIAN, interface.U)


def test_a_class_is_called_as_it_was_written_whatever_number_it_got():
    for _ in range(2):  # as a cell of a notebook that is run again
        class Cell(NamedTuple):
            scale: float

        interface.U.register(Cell)(lambda q, model: q @ q)
    assert Cell.__name__ == "Cell_2"
    with pytest.raises(ValueError, match=r"^m must have hessian .* Cell has none: .*\(Cell\)$"):
        validate.model("m", Cell(1.0), interface.hessian)
    with pytest.raises(ValueError, match=r"^m must be a model, .* not the class Cell itself$"):
        validate.model("m", Cell)


def own(name, U, grad_U=None, compiled=True, **annotations):
    """Make a class of models of one's own, of these fields and functions."""
    kind = NamedTuple(name, annotations.items())
    kind.__module__ = U.__module__
    for function, made in ((interface.U, U), (interface.grad_U, grad_U)):
        if made and compiled:
            function.register(kind)(made)
        elif made:
            function.implementations[kind] = made
    return kind


Sloped = own("Sloped", lambda q, model: 0.0, lambda q, model: model.gradient, compiled=False,
             gradient=object)
# of data of which nothing is checked
Measured = own("Measured", lambda q, model: float(((model.y - q) ** 2).sum()), compiled=False,
               y=np.ndarray)
# which ask for so many variables
Loops = own("Loops", lambda q, model: q[model.of_U - 1],
            lambda q, model: np.ones(q.size) * q[model.of_gradient - 1], of_U=int, of_gradient=int)
# a standard normal with a logarithm that is -inf, and for Python an error
Cautious = own("Cautious", lambda q, model: q @ q / 2 + 1.0 / math.log(q[0] - q[0]),
               lambda q, model: 1.0 * q)


def test_a_start_of_another_length_than_the_gradient_or_where_that_is_not_finite_is_refused():
    np.testing.assert_array_equal(validate.state("v", [1, 2], Sloped(np.zeros(2))), [1.0, 2.0])
    for gradient, found in ((np.zeros(3), r"float64 of shape \(3,\)"), ([0.0, 0.0], "a list")):
        with pytest.raises(ValueError, match=f"grad_U of Sloped must be an array .* not {found}$"):
            validate.state("v", [1, 2], Sloped(gradient))
    with pytest.raises(ValueError, match="q0 must be where grad_U of Sloped is finite, but 2 of"):
        hmc(np.ones(2), Sloped(np.array([np.nan, np.inf])), 0.1, 3, 5, np.random.default_rng(1))


def test_data_that_are_no_numbers_are_named_where_u_is_none():
    for value, said in ((np.nan, "nan: Measured.y holds nan"), (np.inf, "inf")):
        with pytest.raises(ValueError, match=f"^v must be where U .*, but U there is {said}$"):
            validate.state("v", np.zeros(1), Measured(np.array([1.0, value])))


def test_an_annotation_that_only_a_function_knows_is_none():
    class Local(NamedTuple):
        a: "Unknown"  # noqa: F821

    assert validate.model("m", Local([1.0])).a == [1.0]
    for mixed in ([1.0, 2], [np.zeros(2), np.arange(2)]):
        with pytest.raises(ValueError, match="a must be what compiled code takes"):
            validate.model("m", Local(mixed))
    mixed = [1.0, np.float64(2.0)]
    assert validate.model("m", Local(mixed)).a == mixed


def test_an_error_that_compiled_code_does_not_have_is_none():
    chain = hmc(np.ones(2), Cautious(), 0.1, 3, 9, np.random.default_rng(1))
    assert np.isfinite(chain.samples).all()


@pytest.mark.parametrize("model", [Loops(3, 0), Loops(0, 3)])
def test_compiled_code_is_not_run_where_it_would_leave_an_array(model):
    assert validate.state("v", np.ones(3), model).size == 3
    with pytest.raises(ValueError, match=r"^v has shape \(2,\), but there \w+ of Loops fails:"
                                         r" index 2 is out of bounds .* in line \d+ of .*test"):
        validate.state("v", np.ones(2), model)


def groups_U(q, model):
    total = q[model.inner[0]] ** 2
    for i in model.group:
        total += (q[i] - 1.0) ** 2
    return total


def test_whole_numbers_that_changed_are_looked_at_again():
    y = np.zeros(2)
    Groups = own("Groups", groups_U, group=np.ndarray, y=fields.Array("d"), inner=tuple)
    for group, inner in (([0, 1, 1], (0,)), ([1, 0, 1], (1,))):
        validate.state("v", y, Groups(np.array(group), y, inner))
    for group, inner in (([1, 2, 2], (0,)), ([0, 1, 10**9], (0,)), ([0, 1, 1], (2,))):
        with pytest.raises(ValueError, match=r"U of Groups fails: index .* is out of bounds"):
            validate.state("v", y, Groups(np.array(group), y, inner))


def forgetful_U(q, model):
    if q[0] < 1.5:
        return q @ q / 2


@pytest.mark.parametrize(("U", "said"), [
    (forgetful_U, "return a number in every case"),
    (lambda q, model: np.float32(q @ q / 2), "return a float64, not a float32"),
    (lambda q: q @ q, r"be a function of \(q, model\), but takes \(q\)$"),
    (lambda *given: 1.0, r"be a function of \(q, model\), but takes \(\*given\)$")])
def test_a_u_of_other_arguments_or_of_no_float64_in_every_case_is_refused_by_name(U, said):
    with pytest.raises(ValueError, match=f"^U of Wrong must {said}"):
        validate.state("v", np.ones(2), own("Wrong", U)())


def test_a_call_from_python_is_checked_and_takes_its_arguments_by_name():
    # compiled code would read beyond the end of the array
    funnel, U = Funnel.from_size(3), interface.U
    Phi = interface.precompute_phi(np.zeros(1), funnel)
    for call, said in (
            (lambda: U(np.zeros(3), funnel), r"^q of U must be .* \(4,\), not of shape \(3,\)$"),
            (lambda: interface.grad_U([0.0] * 4, funnel), r"^q of grad_U must .* \(4,\), not \[0"),
            (lambda: U(np.zeros((4, 1)), funnel), r"^q of U .* not of shape \(4, 1\)$"),
            (lambda: interface.U_theta(np.zeros(4), Phi, funnel), r"^theta of U_theta .* \(3,\)"),
            (lambda: interface.precompute_phi(np.zeros(3), funnel), r"^phi of .* \(1,\), not of"),
            (lambda: U(np.zeros(4)), r"^U must be called as U\(q, model\), not with 1 of them$")):
        with pytest.raises(ValueError, match=said):
            call()
    for call, said in (
            (lambda: U(np.zeros(4), 5), r"^U has no implementation for int"),
            (lambda: U(np.zeros(4), modle=funnel), r"^U\(\) got .* 'modle'; did .* 'model'\?$"),
            (lambda: U(model=funnel), r"^U\(\) missing .* 'q'; it takes \(q, model\)$")):
        with pytest.raises(TypeError, match=said):
            call()
    assert U(model=funnel, q=np.arange(4.0)) == U(np.arange(4.0), funnel)
    assert repr(U) == "U(q, model)"
    assert U(np.zeros(4), funnel) == U.choose(Funnel)(np.zeros(4), funnel)


def test_the_numbers_of_a_float_array_are_not_looked_at_one_by_one():
    # in Python that takes 20 to 30 times as long as a pass of NumPy; what there is to do, nothing
    x = np.ones(4_000_000)
    ours, one_pass = (min(repeat(call, number=1, repeat=5)) for call in (
        lambda: validate.entries("v", x), lambda: np.isfinite(x).all()))
    assert ours < 5 * one_pass


class Two(NamedTuple):
    X: fields.Array("n", "k")
    starts: fields.Counts("n + 1")
    pair: fields.Positive(2)


X = np.arange(6.0).reshape(3, 2)
GOOD = Two(X, np.array([0, 1, 2, 3]), np.ones(2))


def test_what_is_as_annotated_comes_back_itself_and_what_can_be_converted_is():
    assert validate.model("model", GOOD) is GOOD
    found = validate.model("model", Two(X.T.tolist(), [0, 1.0, 2], np.ones(2, np.float32)))
    assert [each.dtype for each in found] == [np.float64, np.int64, np.float64]
    np.testing.assert_array_equal(found.X, X.T)
    np.testing.assert_array_equal(found.starts, [0, 1, 2])


@pytest.mark.parametrize(("change", "message"), [
    ({"starts": np.arange(3)}, r"starts must have shape \(n \+ 1,\) with n = 3, not \(3,\)"),
    ({"pair": np.ones(3)}, r"pair must have shape \(2,\), not \(3,\)"),
    ({"starts": np.array([0.0, 1.0, 2.0, 3.5])}, "starts must hold whole numbers"),
    ({"starts": np.array([0.0, 1.0, 2.0, 1e30])}, "starts must hold whole numbers below"),
    ({"starts": np.array([0, 1, 2, 2**63 + 1], np.uint64)}, "starts must hold whole numbers")])
def test_what_is_not_is_named(change, message):
    with pytest.raises(ValueError, match=rf"^model\.{message}"):
        validate.model("model", GOOD._replace(**change))


ROOT = np.array([[1.0, 0.0], [0.5, 2.0]])


@pytest.mark.parametrize(("annotation", "good", "bad", "must"), [
    (fields.Array("n"), [[0.0], [-1e300, 1e300], []], [[np.nan], [np.inf]], "be finite"),
    (fields.Array("n", finite=False), [[np.nan, -np.inf]], [], ""),
    (fields.Counts("n"), [[0, 5], []], [[-1]], "be >= 0"),
    (fields.NotNegative("n"), [[0.0, 5e-324], []], [[-5e-324], [1.0, np.nan]], "be (>= 0|finite)"),
    (fields.Positive("n"), [[5e-324]], [[0.0], [-1.0], [1.0, -0.0]], "be > 0"),
    (fields.Bits("n"), [[0.0, 1.0], []], [[-1.0], [0.5], [2.0]], "hold only 0 and 1"),
    (fields.Signs("n"), [[-1.0, 1.0]], [[0.0], [0.5], [1.0, 2.0]], r"hold only -1 and \+1"),
    (fields.Symmetric("n", "n"), [ROOT @ ROOT.T, 1e-200 * ROOT @ ROOT.T, np.zeros((2, 2)),
                                  [[1.0, 1e-11], [0.0, 1.0]]],
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


@pytest.mark.parametrize("kind", [np.float32, np.int64, ">f8", complex, object])
def test_a_state_of_another_kind_is_refused_where_compiled_code_would_read_other_bytes(kind):
    model, q = GAUSSIAN, np.array([1.0, 2.0])
    assert interface.U(q, model) == 2.5 and interface.U(np.ones(4)[::2], model) == 1.0
    with pytest.raises(ValueError, match=r"q of (U|grad_U) must be an array of float64, not of"):
        interface.U(q.astype(kind), model)
    with pytest.raises(ValueError, match=r"give np.asarray\(q, float\)"):
        interface.grad_U(q.astype(kind), model)


@pytest.mark.parametrize(("change", "said"), [
    (np.asfortranarray, "not of float64 in another order: give np.ascontiguousarray"),
    (lambda a: np.repeat(a, 2, axis=1)[:, ::2], "not of float64 in another order"),
    (np.float32, r"not of float32: give np.ascontiguousarray\(model"),
    (lambda a: a.astype(">f8"), "not of >f8"), (np.ndarray.tolist, "not of list")])
def test_a_model_in_another_form_is_refused_by_name_when_called_directly(change, said):
    model = Gaussian(np.zeros(2), np.array([[2.0, 1.0], [0.5, 1.0]]))
    wrong = model._replace(precision=change(model.precision))
    for function in (interface.U, interface.grad_U):
        function(np.ones(2), model)
        with pytest.raises(ValueError, match=rf"^model\.precision of {function.__name__} must be an"
                                             f" array of float64 in C order, {said}"):
            function(np.ones(2), wrong)
    inside = interface.GivenPhi(Funnel.from_size(2), np.ones(2, np.float32)[:1])
    with pytest.raises(ValueError, match=r"^model\.phi of U must be an array of float64"):
        interface.U(np.ones(2), inside)
    with pytest.raises(ValueError, match=r"^model\.model\.L_phi of U must be an array of float64"):
        interface.U(np.ones(2), interface.GivenPhi(inside.model._replace(
            L_phi=np.eye(1, dtype=np.float32)), np.ones(1)))


def test_a_metric_whose_derivative_is_lost_in_rounding_is_not_warned_of():
    # far from 0 a logistic model with covariates of thousands is certain of every case
    x = np.random.default_rng(1).standard_normal((60, 9))
    X = np.column_stack([np.ones(60), 2000 + 10 * x])

    def p(q):
        return 1 / (1 + np.exp(-np.clip(X @ q, -700, 700)))

    validate.warn_of_metric("m", lambda q: (X.T * (p(q) * (1 - p(q)))) @ X + 0.04 * np.eye(10),
                            lambda q: np.einsum("ni,nj,nk,n->ijk", X, X, X,
                                                p(q) * (1 - p(q)) * (1 - 2 * p(q))), np.zeros(10))


def test_compiled_code_that_rounds_otherwise_than_its_source_is_no_other(monkeypatch):
    def compiled(q, model):
        return np.array([1e9, gap])  # of entries near 1e9 that cancel

    compiled.py_func = lambda q, model: np.array([1e9, 0.0])
    monkeypatch.setitem(interface.grad_U.implementations, Own, compiled)
    gap = 1e-4
    validate.check_source(np.ones(2), Own(None), interface.grad_U)
    gap = 1e4
    with pytest.raises(ValueError, match=r"grad_U of Own gives .* but .* by its source"):
        validate.check_source(np.ones(2), Own(None), interface.grad_U)


def test_a_source_that_gives_nan_in_one_entry_may_round_in_others(monkeypatch):
    def compiled(q, model):
        return np.array([np.nan, 1.0 + gap])

    compiled.py_func = lambda q, model: np.array([np.nan, 1.0])
    monkeypatch.setitem(interface.grad_U.implementations, Own, compiled)
    gap = 1e-15
    with warnings.catch_warnings(action="error"):
        validate.check_source(np.ones(2), Own(None), interface.grad_U)
    gap = 1e-3
    with pytest.raises(ValueError, match="by its source"):
        validate.check_source(np.ones(2), Own(None), interface.grad_U)


@pytest.mark.parametrize(("least", "said"), [
    (-5e-8, r"add 1e-06 to its diagonal, .*: K \+ 1e-06 \* np\.eye\(2\)$"),
    (-5e-7, "so it is no covariance, by more than rounding")])
def test_a_nugget_is_advised_where_it_is_ten_times_what_is_lacking(least, said):
    assert re.search(said, validate.why_no_factor("K", np.diag([1.0, least])))
