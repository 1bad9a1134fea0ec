"""algorithms/map_estimate.py: the mode by another route, hard starts, and failure."""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from algorithms import map_estimate as module
from algorithms.map_estimate import MAP, advice, backtracking, map_estimate, newton
from departing import departs
from models import jit, validate
from models.interface import U, grad_U, hessian
from models.logistic_regression import LogisticRegression
from models.multinomial_logistic import MultinomialLogistic
from test_validate import own

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
BETA = np.array([1.0, -2.0, 0.5])
Y = (RNG.random(60) < expit(X @ BETA)).astype(float)
SEPARABLE = (X @ BETA > 0).astype(float)
MODELS = {"binary": LogisticRegression.from_data(X, Y),
          "separable": LogisticRegression.from_data(X, SEPARABLE),
          "one class only": LogisticRegression.from_data(X, np.ones(60)),
          "multinomial": MultinomialLogistic.from_data(X, RNG.integers(0, 4, 60), 4)}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def test_what_is_compiled_for_it_is_told(monkeypatch):
    heard = []
    monkeypatch.setattr(jit, "telling", lambda name: heard.append(name) or nullcontext())
    map_estimate(MODELS["binary"])
    assert heard == ["map_estimate"]


class Quadratic(NamedTuple):
    """(q - mean)' A (q - mean) / 2."""

    mean: np.ndarray
    A: np.ndarray


U.register(Quadratic)(lambda q, model: (q - model.mean) @ (model.A @ (q - model.mean)) / 2)
grad_U.register(Quadratic)(lambda q, model: model.A @ (q - model.mean))
hessian.register(Quadratic)(lambda q, model: model.A.copy())


@each_model
def test_it_finds_the_mode(model):
    found = map_estimate(model)
    g = grad_U(found.q, model)
    assert found.converged and found.gradient_norm == pytest.approx(np.linalg.norm(g), rel=1e-12)
    np.testing.assert_array_equal(found.hessian, hessian(found.q, model))
    assert np.sqrt(g @ np.linalg.solve(found.hessian, g)) <= 1e-10
    theirs = minimize(U, np.zeros(found.q.size), (model,), jac=grad_U, method="BFGS",
                      options={"gtol": 1e-7, "xrtol": 1e-14})
    assert U(found.q, model) <= theirs.fun + 1e-12
    np.testing.assert_allclose(found.q, theirs.x,
                               rtol=0, atol=1e-5)  # gtol over the least curvature, 0.04


@each_model
def test_from_far_away_the_line_search_is_needed(model):
    first = map_estimate(model)
    again = map_estimate(model, np.zeros(first.q.size))  # from the origin
    np.testing.assert_array_equal(first.q, again.q)
    far = 30 * np.random.default_rng(3).standard_normal(first.q.size)
    np.testing.assert_allclose(map_estimate(model, far).q, first.q, rtol=0, atol=1e-8)
    full = far - np.linalg.solve(hessian(far, model), grad_U(far, model))  # Newton's whole step
    assert U(full, model) > U(far, model)


class Line(NamedTuple):
    """U at 0, 1/4, 1/2, 3/4 and 1."""

    u: np.ndarray


U.register(Line)(lambda q, model: model.u[int(4 * q[0])])


@departs(backtracking, {
    "L2": "while not U(q + t * s, model) <= U(q, model) + DESCENT * t * slope:"})
def test_the_line_search_takes_the_first_step_with_enough_descent(backtracking):
    for g, u, t in (
            (-1.0, [0, 9, 9, 9, -1.1e-4], 1.0),  # c t g's is -1e-4 t
            (-1.0, [0, 9, -0.6e-4, 9, -0.9e-4], 0.5), (-1.0, [0, 9, -1, 9, np.nan], 0.5),
            (-1.0, [0, -1, 0, 9, np.inf], 0.25), (-1.0, [0, 9, 9, 9, 9], 2.0**-40),  # the shortest
            # U = +-1e6 is known to 1e-7, and less is to be gained
            (-1e-12, [1e6] * 4 + [1e6 + 5e-8], 1.0), (-1e-12, [-1e6] * 4 + [-1e6 + 5e-8], 1.0),
            (-1e-12, [1e6] * 4 + [1e6 + 2e-7], 0.5)):
        assert backtracking(np.zeros(1), np.ones(1), g, Line(np.array(u, float))) == t


@pytest.fixture
def interpreted(monkeypatch):
    """Run newton uncompiled: a type of this file has no business in the cache of algorithms/."""
    for name in ("newton", "backtracking"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)


def test_a_wrong_gradient_is_blamed_and_not_the_start(interpreted):
    # of U, half of q @ A @ q, it is the gradient where A is symmetric
    wrong = Quadratic(np.zeros(2), np.array([[1.0, 3.0], [-3.0, 1.0]]))
    with pytest.warns(RuntimeWarning, match="U and grad_U of Quadratic disagree"), pytest.raises(
            RuntimeError, match="grad_U is not the gradient of U: print") as error:
        map_estimate(wrong, np.array([1.0, 2.0]))
    assert "another q0" not in str(error.value)
    found = newton(np.ones(4), MODELS["separable"], 1e-10, 2)
    assert "another q0" in advice(np.ones(4), MODELS["separable"], found)


def test_where_u_falls_for_ever_a_narrower_prior_is_advised():
    with pytest.raises(RuntimeError, match=r"as where a plane separates the labels .* narrower p"):
        map_estimate(LogisticRegression.from_data(X, SEPARABLE, 1e12, 1e12))


def test_no_convergence_is_an_error_with_the_norm_of_the_gradient():
    model, q0 = MODELS["separable"], np.zeros(4)
    found = newton(q0, model, 1e-10, 2)
    assert isinstance(found, MAP) and not found.converged and found.iterations == 2
    assert found.gradient_norm == pytest.approx(np.linalg.norm(grad_U(found.q, model)), rel=1e-12)
    with pytest.raises(RuntimeError, match=r"Newton steps: .* max_iterations or tol, or"):
        map_estimate(MODELS["binary"], tol=5e-324)
    with pytest.raises(RuntimeError, match=f"2 Newton.*gradient is {found.gradient_norm:.3g};"):
        map_estimate(model, q0, max_iterations=2)


@departs(newton, {"L2": """
    g, J = grad_U(q, model), hessian(q, model)
    E = max(0.0, 1e-3 - np.linalg.eigvalsh(J)[0]) * np.eye(q.size)
    L_J, ok = cholesky(J + E)"""})
def test_without_a_positive_definite_hessian_it_stops(newton):
    found = newton(np.zeros(2), Quadratic(np.ones(2), -np.eye(2)), 1e-10, 1)
    assert not found.converged and found.iterations == 0 and not found.q.any()


@pytest.mark.parametrize("A", [-np.eye(2), np.full((2, 2), np.nan)], ids=["concave", "nan"])
def test_a_model_without_a_positive_definite_hessian_is_an_error(interpreted, A):
    with pytest.raises(ValueError if np.isnan(A).any() else RuntimeError,
                       match=r"^(q0 must be where U is finite|no posterior mode after 0 Newton)"):
        map_estimate(Quadratic(np.ones(2), A), np.zeros(2))


def test_a_hessian_that_is_not_finite_is_named_in_the_advice(interpreted):
    found = MAP(np.zeros(2), np.diag([1.0, np.inf]), 1, False, 0.5)
    assert "the Hessian there is not finite" in advice(
        np.ones(2), Quadratic(np.ones(2), np.eye(2)), found)


class Reads(NamedTuple):
    """A standard normal whose Hessian is of another size, and has whatever entry it reads."""

    size: int
    entry: int


U.register(Reads)(lambda q, model: q @ q / 2)
grad_U.register(Reads)(lambda q, model: q.copy())
hessian.register(Reads)(lambda q, model: np.eye(model.size) + 0 * q[model.entry])


@pytest.mark.parametrize("model, said", [
    (Reads(3, 0), r"so hessian of Reads must be an array .* not float64 of shape \(3, 3\)"),
    (Reads(2, 9), r"but there hessian of Reads fails: index 9 is out of bounds")])
def test_a_hessian_that_leaves_an_array_is_refused(model, said):
    # compiled code would read what else is in memory
    with pytest.raises(ValueError, match=rf"^q0 has shape \(2,\), {said}"):
        map_estimate(model, np.ones(2))


def test_a_model_without_prior_precisions_needs_a_start():
    with pytest.raises(ValueError, match=r"^q0 must be given for a Quadratic"):
        map_estimate(Quadratic(np.ones(2), np.eye(2)))


def test_a_precision_of_ones_own_does_not_tell_how_many_parameters_there_are(monkeypatch):
    weighted = own("Weighted", lambda q, model: model.precision @ (q[0] - q[1] + model.precision),
                   compiled=False, precision=np.ndarray)
    monkeypatch.setitem(hessian.implementations, weighted, None)
    for model in (weighted(np.ones(30)), weighted(2.0)):
        assert validate.dimension(model) == -1
    np.testing.assert_array_equal(validate.state("q0", [1, 2], weighted(np.ones(30))), [1.0, 2.0])
    monkeypatch.setitem(grad_U.implementations, weighted, None)
    with pytest.raises(ValueError, match=r"^q0 must be given for a Weighted, .*np\.zeros\(d\)$"):
        map_estimate(weighted(np.ones(30)))
