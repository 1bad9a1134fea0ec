"""sampling/check.py: right models agree, and a wrong function is named, with where and how much."""

import itertools
import re
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.errors import NumbaError
from scipy.special import gammaln

from algorithms.generalised_leapfrog import rmhmc
from algorithms.hmc import hmc
from algorithms.zhang_sshmc import warn_of_slopes
from coupled import Coupled, coupled
from models import interface, validate
from models.fields import Array
from models.funnel import Funnel
from models.gaussian import Gaussian
from sampling.check import check_definite, check_model, compare
from test_models import ALL
from test_validate import forgetful_U, own


@pytest.mark.parametrize("name", [
    "mixture of 2", "prior, 0.3, 1.0", "logistic of 2", "multinomial of 2", "GP of 7, 3, ard",
    "funnel", "groups, bound", "GP classification of 9", "volatility of 5, paper", "Cox of 2, unit",
    "non-centred funnel"])
def test_models_of_the_project_agree(name):
    model, q = ALL[name]
    found = check_model(model, 0.3 * np.random.default_rng(4).standard_normal(q.size))
    assert found.agrees and len(found.rows) >= 2, f"\n{found}"


def bowl_grad_U(q, model):
    g = model.slope * model.a * q
    g[-1] *= model.sign
    if model.writes:
        q[0] = 0.0
    return g


# half the square of a q; its gradient is `slope` times the right one, the last entry also `sign`
Bowl = own("Bowl", lambda q, model: (model.a * q) @ q / 2, bowl_grad_U, a=Array("d"), slope=float,
           sign=float, writes=bool)
RIGHT = Bowl(np.array([1.0, 2.0, 3.0]), 1.0, 1.0, False)


def off(model, q):
    return [row for row in check_model(model, q).rows if not row.agrees]


@pytest.mark.parametrize("q", [np.zeros(3), np.array([1.0, -2.0, 0.5]), np.full(3, 1e12)])
@pytest.mark.parametrize("wrong, error, where", [
    (dict(sign=-1.0), 2.0, "[2]"), (dict(slope=1.1), 0.1 / 1.1, None),
    (dict(slope=1.0001), 1e-4, None)])
def test_a_wrong_gradient_is_named_with_its_entry_and_its_size(q, wrong, error, where):
    assert not off(RIGHT, q)
    (row,) = off(model := RIGHT._replace(**wrong), q)
    assert (row.function, row.compared_with) == ("grad_U", "differences of U")
    assert where in (row.where, None)
    assert abs(row.found - row.expected) > 0.9 * error * abs(row.found) > 0
    assert 0 < row.error <= 1.01 * error
    (line,) = [line for line in str(check_model(model, q)).splitlines() if "OFF" in line]
    assert line.startswith("grad_U") and f"{row.found:.6g}" in line and f"{row.error:.1e}" in line


def test_a_point_near_q_may_be_where_the_density_raises():
    def energy(q, model):
        if abs(q[0]) >= 1.0:
            raise ValueError("a correlation of 1 and more")
        return np.log(1 - q[0]**2)

    pair = own("Pair", energy, lambda q, model: -2 * q / (1 - q**2))
    assert off(pair(), np.array([0.5])) == [] == off(pair(), np.array([0.92]))
    with pytest.raises(ValueError, match="a correlation of 1 and more"):
        check_model(pair(), np.array([1.5]))


def test_each_entry_of_a_gradient_counts_whatever_the_others():
    (row,) = off(RIGHT._replace(a=np.array([1e6, 2.0, 3.0]), sign=-1.0), np.ones(3))
    assert row.where == "[2]" and row.error == pytest.approx(2.0, rel=1e-6)


Peak = own("Peak", lambda q, model: 300 + np.log1p(((q - model.at) / model.scale)**2).sum(),
           lambda q, model: model.slope * 2 * (q - model.at) / (model.scale**2 + (q - model.at)**2),
           at=float, scale=float, slope=float)


@pytest.mark.parametrize(("at", "scale"), [(0.0, 1.0), (2e3, 0.1), (1e6, 1.0), (0.0, 1e-6)])
def test_a_gradient_is_right_on_any_scale_and_at_a_mode(at, scale):
    for q in (at, at + 0.3 * scale):
        assert off(Peak(at, scale, 1.0), np.full(2, q)) == []
    for slope in (0.0, 1.001):
        assert off(Peak(at, scale, slope), np.full(2, q))


@pytest.mark.parametrize("wrong", [dict(sign=-1.0), dict(slope=1.1), dict(slope=0.0)])
@pytest.mark.parametrize("q", [np.zeros(3), np.array([1.0, -2.0, 0.5])])
def test_a_sampler_warns_of_a_wrong_gradient(q, wrong):
    with pytest.warns(RuntimeWarning, match="U and grad_U of Bowl disagree: .*check_model") as said:
        hmc(q, RIGHT._replace(**wrong), eps=0.1, L=1, n=1, rng=np.random.default_rng(1))
    assert len(said) == 1 and said[0].filename == __file__
    hmc(q, RIGHT, eps=0.1, L=1, n=1, rng=np.random.default_rng(1))  # and not of a right one


@pytest.mark.parametrize("block", ["theta", "phi"])
def test_sshmc_warns_of_a_wrong_gradient_of_either_block(block, monkeypatch):
    function = interface.grad_U_theta if block == "theta" else interface.grad_U2
    right = function.implementations[Funnel]
    arguments = np.ones(3), np.zeros(1), Funnel.from_size(3)
    warn_of_slopes(*arguments)
    monkeypatch.setitem(function.implementations, Funnel, lambda *given: 1.1 * right(*given))
    with pytest.warns(RuntimeWarning, match=function.__name__):
        warn_of_slopes(*arguments)


def test_rounding_alone_makes_no_warning():
    # an energy of 1e15 changes by rounding only, and its gradient cannot be told
    validate.warn_of_slope("it", lambda x: 1e15 + x @ x / 2, lambda x: 3 * x, np.ones(2))
    validate.warn_of_slope("it", lambda x: np.inf, lambda x: x, np.ones(2))


Returns = own("Returns", lambda q, model: model.what, compiled=False, what=object)


@pytest.mark.parametrize("what, compared_with, note, said", [
    (np.ones(2), "a number", "returns ndarray, not a float", "return a number, not array"),
    ((1.0, 2.0), "a number", "returns tuple, not a float", "return a number, not (1.0, 2.0)"),
    (None, "a number", "returns NoneType, not a float", "return a number, not None"),
    (np.inf, "a finite number", "", "is finite"), (np.nan, "a finite number", "", "is finite")])
def test_an_energy_that_is_no_finite_number_is_named(what, compared_with, note, said):
    (row,) = off(Returns(what), np.ones(2))
    assert (row.function, row.compared_with, row.note) == ("U", compared_with, note)
    with pytest.raises(ValueError, match=r"\bU (of Returns must )?" + re.escape(said)):
        validate.state("q0", np.ones(2), Returns(what))


@pytest.mark.parametrize("U, note", [
    (lambda q, model: 1j * q[0], "returns complex, not a float"),
    (lambda q, model: np.float32(q[0]), "must return a float64, not a float32"),
    (forgetful_U, "must return a number in every case")])
def test_an_energy_that_samplers_refuse_is_named(U, note):
    row = off(own("Refused", U)(), np.ones(2))[0]
    assert row.function == "U" and note in row.note


def test_a_function_that_writes_into_q_is_refused_by_name():
    (row,) = off(RIGHT._replace(writes=True), np.ones(3))
    assert (row.function, row.note) == ("grad_U", "writes into q")
    for q0 in (np.ones(3), np.zeros(3)):  # a 0 that is written over a 0 is not seen
        with pytest.raises(ValueError, match="grad_U of Bowl must leave its argument as it is"):
            hmc(q0, RIGHT._replace(writes=True), 0.1, 1, 1, np.random.default_rng(1))


def kept_grad_U(q, model):
    model.memory[:] = q
    return model.memory


def test_a_gradient_that_is_written_into_the_last_one_is_refused():
    Kept = own("Kept", lambda q, model: q @ q / 2, kept_grad_U, memory=Array("d"))
    (row,) = off(Kept(np.zeros(2)), np.ones(2))
    assert row.function == "grad_U" and "writes into what it returned before" in row.note
    with pytest.raises(ValueError, match="grad_U of Kept must return a new array at each call"):
        hmc(np.ones(2), Kept(np.zeros(2)), 0.1, 1, 1, np.random.default_rng(1))


@pytest.mark.parametrize("both", [
    lambda q, model: q, lambda q, model: [q @ q / 2, q], lambda q, model: (q @ q / 2, q, 0.0),
    lambda q, model: (q @ q / 2 + 1e-3, q), lambda q, model: (q @ q / 2, -q),
    lambda q, model: (q @ q / 2, q[:1]), lambda q, model: (q @ q / 2, q.astype(np.float32))])
def test_u_and_grad_u_of_another_form_or_value_are_refused(both, monkeypatch):
    implementations = interface.U_and_grad_U.implementations
    monkeypatch.setitem(implementations, Bowl, lambda q, model: (model.a * q @ q / 2, model.a * q))
    validate.state("q0", np.ones(3), RIGHT, gradient=True)
    monkeypatch.setitem(implementations, Bowl, both)
    with pytest.raises(ValueError, match=r"U_and_grad_U of Bowl must return what U and grad_U ret"):
        validate.state("q0", np.ones(3), RIGHT._replace(a=np.ones(3)), gradient=True)
    assert {row.function for row in off(RIGHT, np.ones(3))} == {"U_and_grad_U"}


WithScipy = own("WithScipy", lambda q, model: gammaln(model.degrees) + q @ q,
                lambda q, model: 2 * q, degrees=float)


@pytest.mark.parametrize("call", [
    lambda model: check_model(model, np.ones(2)),
    lambda model: hmc(np.ones(2), model, 0.1, 1, 1, np.random.default_rng(1))])
def test_what_numba_cannot_compile_comes_with_what_it_can(call):
    with pytest.raises(NumbaError, match="gammaln") as caught:
        call(WithScipy(3.0))
    (note,) = caught.value.__notes__  # one, though Numba raises the same error again
    assert "nothing of SciPy" in note


NoGradient = own("NoGradient", lambda q, model: (4 * q[0] ** 2 + 2 * q[0] * q[1] + q[1] ** 2) / 8)
PRECISION = np.array([[1.0, 0.25], [0.25, 0.25]])


def test_a_gradient_that_is_left_out_is_had_by_differences_and_said_once():
    q = np.array([0.3, -5.0])
    for x in (q, 1e10 * q):  # whatever the size of its entries
        np.testing.assert_allclose(interface.grad_U(x, NoGradient()), PRECISION @ x, rtol=1e-9)
    with pytest.warns(RuntimeWarning, match="NoGradient has no grad_U: each .* 2 d") as said:
        chain = hmc(q, NoGradient(), 0.5, 3, 50, np.random.default_rng(1))
        hmc(q, NoGradient(), 0.5, 3, 1, np.random.default_rng(1))
    assert len(said) == 1 and said[0].filename == __file__
    exact = hmc(q, Gaussian(np.zeros(2), PRECISION), 0.5, 3, 50, np.random.default_rng(1))
    np.testing.assert_allclose(chain.samples, exact.samples, atol=1e-5)


CALLS = itertools.count()
# gradients that samplers refuse: (what becomes of the right one, what is said of it)
REFUSED = {"list": (list, "returns list of float64"), "tuple": (tuple, "returns tuple of float64"),
           "narrow": (np.float32, "returns ndarray of float32"),
           "number": (lambda q: q[0], "has shape (), not (2,)"),
           "column": (lambda q: q[:, None], "has shape (2, 1), not (2,)"),
           "unsteady": (lambda q: q + next(CALLS), "is not the same twice"), "list that was q": (
               lambda q: [q.fill(1.0)] and list(q), "returns list of float64, and writes into q")}


# a standard normal of which one function is wrong, by its name
Wrong = own("Wrong", lambda q, model: float(q @ q / 2),
            lambda q, model: REFUSED.get(model.which, (np.copy,))[0](q), compiled=False, which=str)
interface.hessian.implementations[Wrong] = lambda q, model: (
    np.eye(q.size) * (1 + (model.which == "hessian")))
interface.metric.implementations[Wrong] = lambda q, model: np.ones((2, 3)) if (
    model.which == "oblong") else (
    np.diag(np.exp(q)) + (model.which == "symmetry") * np.eye(q.size, k=1)
    - 99 * np.eye(q.size) * (model.which == "definite" or (
        model.which == "definite at q" and q[0] > 0.31))
    - (model.which == "singular") * np.diag(np.exp(q) * (np.arange(q.size) == 0)))
interface.metric_gradient.implementations[Wrong] = lambda q, model: np.array(
    [np.diag(np.exp(q) * e) for e in np.eye(q.size)]) * (1 + (model.which == "metric_gradient"))
interface.U_and_grad_U.implementations[Wrong] = lambda q, model: (
    q @ q / 2 + (model.which == "both U"), q + (model.which == "both grad"))
interface.log_likelihood.implementations[Wrong] = lambda q, model: -q @ q / 4
interface.log_likelihood_of.implementations[Wrong] = lambda energy, q, model: (
    q @ q / 4 - energy + (model.which == "log_likelihood_of"))
interface.prepare.implementations[Wrong] = lambda q, model: _Known(
    q.copy(), float(q @ q / 2) + (model.which == "prepare"))
interface.trial.implementations[Wrong] = lambda cache, k, value, model: (
    cache.U + (value**2 - cache.q[k] ** 2) / 2 + 0.5 * (model.which == "trial") * (k == 1))
interface.commit.implementations[Wrong] = lambda cache, k, value, energy, model: _Known(
    np.where((np.arange(cache.q.size) == k) & (model.which != "commit"), value, cache.q), energy)


class _Known(NamedTuple):
    q: np.ndarray
    U: float


@pytest.mark.parametrize("which", REFUSED)
def test_a_gradient_that_samplers_refuse_is_named(which):
    rows = off(Wrong(which), np.array([0.3, -0.4]))
    assert ("grad_U", REFUSED[which][1]) in {(row.function, row.note) for row in rows}


def test_a_gradient_that_is_no_number_where_u_is_one_is_named():
    Torn = own("Torn", lambda q, model: float(q @ q / 2) if q[0] < model.end else np.inf,
               lambda q, model: np.where(q > 0.31, np.nan, q), compiled=False, end=float)
    q = np.array([0.3, -0.4])
    assert {(row.function, row.where) for row in off(Torn(9.0), q)} == {("grad_U", "[0]")}
    assert {row.where for row in off(Torn(9.0), q + 0.1)} == {"[0]"}
    assert not off(Torn(0.31), q)  # points near q may be outside of where the density is


@pytest.mark.parametrize("which", [
    "hessian", "oblong", "symmetry", "definite", "definite at q", "singular", "metric_gradient",
    "both U", "both grad", "log_likelihood_of", "prepare", "trial", "commit"])
def test_each_wrong_function_is_named(which):
    of_metric = "oblong", "symmetry", "definite", "definite at q", "singular"
    function = "U_and_grad_U" if "both" in which else "metric" if which in of_metric else which
    assert not off(Wrong(""), np.array([0.3, -0.4]))
    assert function in {row.function for row in off(Wrong(which), np.array([0.3, -0.4]))}


@pytest.mark.parametrize(("which", "function", "more"), [
    ("prepare", "prepare", 1.0), ("trial", "trial", 0.5), ("both U", "U_and_grad_U", 1.0),
    ("log_likelihood_of", "log_likelihood_of", 1.0)])
def test_what_is_too_large_was_found_and_not_expected(which, function, more):
    rows = [row for row in off(Wrong(which), np.array([0.3, -0.4])) if row.function == function]
    assert [row.found - row.expected for row in rows] == pytest.approx([more] * len(rows))
    assert rows


@pytest.mark.parametrize("function", [
    "U_theta", "grad_U_theta", "grad_U_phi", "grad_U2", "add_grad_auxiliary_phi", "velocity_theta",
    "log_det_theta", "velocity_phi", "log_det_phi"])
def test_each_wrong_function_of_a_hierarchical_model_is_named(function, monkeypatch):
    model, q = coupled([0.4, -1.0, 2.0]), np.array([0.3, -0.4, 0.8, 0.5, -0.2])
    assert not off(model, q)
    implementations = getattr(interface, function).implementations
    right = implementations[Coupled]

    def wrong(first, *others):
        if function != "add_grad_auxiliary_phi":
            return 1.1 * right(first, *others)
        first += 0.1  # in place
        return right(first, *others)

    monkeypatch.setitem(implementations, Coupled, wrong)
    assert function in {row.function for row in off(model, q)}


@pytest.mark.parametrize("function", [
    "sizes", "U_phi", "grad_U_phi", "grad_U2", "momentum_phi"])
def test_a_function_that_a_hierarchical_model_lacks_is_named(function, monkeypatch):
    monkeypatch.delitem(getattr(interface, function).implementations, Coupled)
    with pytest.raises(ValueError, match=f"^model must have {function} .*Coupled has n"):
        check_model(coupled([0.4, -1.0]), np.ones(4))


@pytest.mark.parametrize("function", [
    "U", "U_theta", "U_prior", "U_phi", "grad_U_theta", "grad_U_phi", "grad_U2"])
def test_a_function_of_a_hierarchical_model_without_a_return_is_named(function, monkeypatch):
    implementations = getattr(interface, function).implementations
    monkeypatch.setitem(implementations, Coupled, lambda *given: None)
    if function.startswith("grad_"):
        assert function in {row.function for row in off(coupled([0.4, -1.0]), np.ones(4))}
        return
    with pytest.raises(ValueError, match=f"^{function} of Coupled must return a .*, not None"):
        check_model(coupled([0.4, -1.0]), np.ones(4))


@pytest.mark.parametrize("function", [
    "momentum_theta", "velocity_theta", "log_det_theta", "momentum_phi", "velocity_phi",
    "log_det_phi", "precompute_phi", "precompute_theta"])
def test_a_function_of_a_hierarchical_model_of_another_shape_is_named(function, monkeypatch):
    implementations = getattr(interface, function).implementations
    monkeypatch.setitem(implementations, Coupled, lambda *given: np.zeros(9))
    wanted = ("a number" if function.startswith("log_det") else "a NamedTuple with" if
              function.startswith("precompute") else r"an array of float64 .* not float64 of shape")
    with pytest.raises(ValueError, match=f"{function} of Coupled must (be|return) {wanted}"):
        check_model(coupled([0.4, -1.0]), np.ones(4))


@pytest.mark.parametrize("part", [slice(0, 5), slice(5, 8)])  # of theta, of phi
def test_a_joint_density_that_is_another_than_its_parts_is_named(part, monkeypatch):
    model, q = ALL["volatility of 5, paper"]
    U, grad_U = interface.U.implementations, interface.grad_U.implementations
    right, right_gradient = U[type(model)], grad_U[type(model)]
    monkeypatch.setitem(U, type(model), lambda q, m: right(q, m) + 0.01 * q[part].sum())
    monkeypatch.setitem(grad_U, type(model), lambda q, m: (
        right_gradient(q, m) + 0.01 * np.isin(np.arange(8), np.arange(8)[part])))
    assert [row.compared_with for row in off(model, q)] == [
        "U_theta + U_prior, but for a constant"]


@pytest.mark.parametrize(("wrong", "compared_with"), [
    (np.negative, "positive definite"), (np.triu, "its transpose")])
def test_a_metric_of_phi_that_is_none_is_named(wrong, compared_with, monkeypatch):
    model, q = ALL["volatility of 5, paper"]
    implementations = interface.metric_phi.implementations
    right = implementations[type(model)]
    monkeypatch.setitem(implementations, type(model), lambda *given: wrong(right(*given)))
    rows = off(model, q)
    assert ("metric_phi", compared_with) in {(row.function, row.compared_with) for row in rows}


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_a_metric_that_is_not_finite_is_off_and_no_error_of_its_eigenvalues(entry):
    row = check_definite("metric", np.full((2, 2), entry))
    assert not row.agrees and row.note == "has entries that are not finite"


@pytest.mark.parametrize("q, said", [(np.zeros(2), "have shape"), ([np.nan, 1, 0], "be finite")])
def test_what_is_no_point_is_refused(q, said):
    with pytest.raises(ValueError, match=f"q must {said}"):
        check_model(RIGHT, q)


def test_an_entry_that_is_no_number_is_the_worst():
    row = compare("grad_U", "U", [1.0, np.nan, 7.0], [1.0, 2.0, 3.0])
    assert row.where == "[1]" and np.isnan([row.found, row.error]).all()


def test_a_block_has_the_metric_that_the_whole_model_has():
    given = interface.GivenTheta(Funnel.from_size(3), np.ones(3))
    check = check_model(given, np.full(1, 0.5))
    assert check.agrees and "metric" not in str(check)
    with pytest.raises(ValueError, match=r"^model\.model must have metric_phi .* Funnel has none"):
        rmhmc(np.zeros(1), given, 2, 0.1, 2, np.random.default_rng(1))
