"""algorithms/generalised_leapfrog.py: the integrator exactly, then the sampler in distribution."""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import pytest

import algorithms.generalised_leapfrog as module
from algorithms.generalised_leapfrog import generalised_leapfrog, rmhmc, rmhmc_step
from algorithms.hmc import hmc
from conftest import counted, one
from departing import departs
from models.interface import U, grad_U, metric, metric_gradient
from models.mixture import gaussian_mixture

MEANS = np.array([[0.0, 0.0], [1.6, 1.2], [-1.0, 1.5]])
COVARIANCES = np.array([[[1.0, 0.7], [0.7, 1.0]], [[0.6, -0.3], [-0.3, 0.5]],
                        [[1.0, 0.0], [0.0, 0.4]]])
MODEL = gaussian_mixture([0.5, 0.3, 0.2], MEANS, COVARIANCES)  # its metric varies everywhere
NORMAL = gaussian_mixture([1.0], MEANS[:1], COVARIANCES[:1])  # its metric is constant
X, P = np.array([0.4, 0.9]), np.array([1.1, -0.7])


def H(x, p):
    """Equation (11) without its constant, in NumPy."""
    G = metric(x, MODEL)
    return U(x, MODEL) + np.linalg.slogdet(G)[1] / 2 + p @ np.linalg.solve(G, p) / 2


def minus_dp_dt(x, p):
    """Minus the right side of (12), in NumPy."""
    inverse, w = np.linalg.inv(metric(x, MODEL)), np.linalg.solve(metric(x, MODEL), p)
    return grad_U(x, MODEL) + np.array([np.trace(inverse @ D) / 2 - w @ D @ w / 2
                                        for D in metric_gradient(x, MODEL)])


def test_fixed_count_is_the_loops_of_algorithm_1():
    x, p, eps, f_max = X, P, 0.3, 5
    for _ in range(4):  # lines 13 to 27
        slope = minus_dp_dt(x, p)
        for _ in range(f_max):
            p_new = p - eps / 2 * slope
            slope = minus_dp_dt(x, p_new)
        p = p_new
        velocity = velocity_new = np.linalg.solve(metric(x, MODEL), p)
        for _ in range(f_max):
            x_new = x + eps / 2 * (velocity + velocity_new)
            velocity_new = np.linalg.solve(metric(x_new, MODEL), p)
        x = x_new
        p = p - eps / 2 * minus_dp_dt(x, p)
    end = generalised_leapfrog(X, P, MODEL, 4, eps, f_max, 0)
    np.testing.assert_allclose([end.x, end.p], [x, p], rtol=0, atol=1e-13)  # to rounding
    assert end.converged and end[4:] == (4, 4 * f_max, 4 * f_max)


@departs((200, 1e-15), (5, 0.0))
def test_trajectories_lead_back(f_max_and_tol):
    end = generalised_leapfrog(X, P, MODEL, 10, 0.2, *f_max_and_tol)
    back = generalised_leapfrog(end.x, -end.p, MODEL, 10, 0.2, *f_max_and_tol)
    assert end.converged and back.converged
    assert max(np.abs(back.x - X).max(), np.abs(back.p + P).max()) < 1e-12


def test_tolerance_is_relative_to_the_scale_of_the_model():
    # the same mixture in other units takes the same iterations; powers of two: the same bits too
    unit = 2.0**-40
    small = gaussian_mixture(MODEL.weights, unit * MEANS, unit**2 * COVARIANCES)
    a = generalised_leapfrog(X, P, MODEL, 5, 0.2)
    b = generalised_leapfrog(unit * X, P / unit, small, 5, 0.2)
    assert a[4:] == b[4:]
    np.testing.assert_allclose([b.x / unit, b.p * unit], [a.x, a.p], rtol=1e-12)


def test_equations_13_and_14_are_solved_to_the_scale_of_their_starts(monkeypatch):
    # p' is 0 and then 1e-13, the same to 1e-12 of p = 1; of p' it is not; so with x' and x = 1
    one, gradients = np.ones(1), iter([np.ones(1), np.array([1.0 - 1e-13]), np.ones(1)])
    velocities = iter([np.full(1, -0.5), np.full(1, -0.5 + 1e-13), np.full(1, -0.5), np.zeros(1)])
    monkeypatch.setattr(module, "dH_dx", lambda here, p: next(gradients))
    monkeypatch.setattr(module, "dH_dp", lambda L, p: next(velocities))
    monkeypatch.setattr(module, "metric_factor", lambda x, model: None)
    assert module.solve_13.py_func(None, one, 2.0, 3, 1e-12)[1:] == (True, 2)
    assert module.solve_14.py_func(one, None, None, None, 2.0, 3, 1e-12)[2:] == (True, 2)


def test_a_fixed_point_that_is_not_found_is_flagged():
    assert generalised_leapfrog(X, P, MODEL, 3, 0.3).converged
    for x, model, *how in ((X, MODEL, 0.3, 2), (X, MODEL, 30.0), (X, MODEL, 1e200, 100, 0.0),
                           # at the mode p is finite; the next x is so far that U and G are nan
                           (np.zeros(2), NORMAL, 1e200, 1, 0.0)):
        end = generalised_leapfrog(x, P, model, 3, *how)
        assert not end.converged and np.isnan(end.H) and end.steps < 3


def test_a_fixed_count_needs_a_metric_at_the_last_position(monkeypatch):
    one, velocities = np.ones(1), iter([np.ones(1), np.full(1, np.nan)])
    monkeypatch.setattr(module, "dH_dp", lambda L, p: next(velocities))
    monkeypatch.setattr(module, "metric_factor", lambda x, model: None)
    assert not module.solve_14.py_func(one, None, None, None, 2.0, 1, 0.0)[2]


def test_a_step_in_which_an_iteration_fails_is_not_counted():
    # from the mode of a normal p stands still at once, and then x moves
    for start, position_iterations in ((X, 0), (np.zeros(2), 1)):
        end = generalised_leapfrog(start, P, NORMAL, 3, 0.3, f_max=1)
        assert not end.converged and end[4:] == (0, 1, position_iterations)


def test_operation_counts(monkeypatch):
    calls = counted(monkeypatch, module, ["solve_13", "solve_14"],
                    dict.fromkeys(["geometry", "metric_factor", "dH_dx"], one))
    end = generalised_leapfrog.py_func(X, P, MODEL, 4, 0.2, 100, 1e-12)
    assert end.steps == 4 and calls["geometry"] == 1 + end.steps
    assert calls["metric_factor"] == 1 + end.position_iterations
    assert calls["dH_dx"] == end.momentum_iterations + end.steps
    assert 2 * 4 < end.position_iterations < 20 * 4


def test_counts_and_energies_of_a_chain():
    rng, again = np.random.default_rng(6), np.random.default_rng(6)
    chain = rmhmc(X, MODEL, 4, 0.6, 200, rng)
    np.testing.assert_allclose(chain.energies, [U(x, MODEL) for x in chain.samples], rtol=1e-14)
    x, steps, iterations, starts = X, 0, 0, 0
    for t in range(200):  # the same chain by hand, in which every trajectory is integrated anew
        p = module.metric_factor(x, MODEL) @ again.standard_normal(2)
        runs = [end := generalised_leapfrog(x, p, MODEL, 4, 0.6)]
        if end.converged:
            runs.append(generalised_leapfrog(end.x, -end.p, MODEL, 4, 0.6))
        steps += sum(run.steps for run in runs)
        iterations += sum(run.position_iterations for run in runs)
        starts += 1 + len(runs)
        assert chain.not_converged[t] == (not end.converged)
        assert chain.accepted[t] == (again.random() < np.exp(H(x, p) - end.H)
                                     and not chain.not_reversible[t])
        error = np.inf if end.converged else np.nan
        if end.converged and runs[1].converged:
            error = sum(np.abs(a - b).max() / max(np.abs(b).max(), np.abs(c).max())
                        for a, b, c in ((runs[1].x, x, end.x), (runs[1].p, -p, end.p)))
        assert chain.return_error[t] == pytest.approx(error, rel=1e-9, nan_ok=True)
        assert chain.not_reversible[t] == (error > 1e-8)
        assert np.isfinite(chain.energy_error[t]) == end.converged
        x = end.x if chain.accepted[t] else x
        np.testing.assert_array_equal(chain.samples[t], x)
    assert 0 < chain.divergences == chain.not_converged.sum()
    assert chain.counts.gradient == chain.counts.metric_gradient == steps + starts
    assert chain.counts.metric == chain.counts.cholesky == iterations + starts
    assert chain.counts.density == steps + starts + 1 + chain.accepted.sum()


def test_counts_of_a_chain_that_is_not_run_back():
    chain = rmhmc(X, NORMAL, 4, 0.3, 10, np.random.default_rng(6), 3, 0.0, 0.0)
    steps, starts = 10 * 4, 10 * 2  # each trajectory's start, and once more for the momentum
    assert chain.counts == (steps + starts + 1 + chain.accepted.sum(), steps + starts,
                            3 * steps + starts, steps + starts, 3 * steps + starts)


def test_trajectories_that_do_not_lead_back_are_rejected_and_counted():
    # one iteration is not reversible by 1e-3 or more: nothing passes 1e-8, most passes 1e3
    def run(*tol_back):
        return rmhmc(X, MODEL, 4, 0.3, 100, np.random.default_rng(8), 1, 0, *tol_back)

    with pytest.warns(RuntimeWarning, match="none of 100 proposals was accepted: take a smaller"):
        strict = run()
    assert strict.not_reversible.all() and not strict.accepted.any()
    loose, unchecked = run(1e3), run(0)
    assert np.median(strict.return_error) > 1e-3 and loose.accepted.mean() > 0.5
    np.testing.assert_array_equal(unchecked.samples, loose.samples)
    assert np.isnan(unchecked.return_error).all()


def test_a_way_back_that_is_not_found_is_a_rejection(monkeypatch):
    ends = []

    def one_way(*arguments):
        ends.append(generalised_leapfrog.compiled(*arguments))
        return ends[-1]._replace(converged=len(ends) == 1)

    monkeypatch.setattr(module, "generalised_leapfrog", one_way)
    monkeypatch.setattr(module, "way_back", module.way_back.py_func)
    step = rmhmc_step.py_func(X, NORMAL, 3, 0.1, np.random.default_rng(0), 100, 1e-12, 1e-8)
    assert (step.accepted, step.converged, step.reversible) == (False, True, False)
    assert step.return_error == np.inf
    assert abs(step.energy_error) < 1e-2  # nothing else would have rejected it


@departs(rmhmc_step, {
    "L4": """
        if rng.random() < alpha:
            return Transition(end.x, True, energy_error, end.converged, return_error, reversible,
                              steps, iterations)"""})
def test_a_proposal_of_energy_minus_infinity_is_rejected(rmhmc_step):
    for energy in (np.inf, -np.inf, np.nan):
        def trap(*arguments, energy=energy):
            return generalised_leapfrog.compiled(*arguments)._replace(H=energy)

        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(rmhmc_step.__globals__, "generalised_leapfrog", trap)
            # it cannot be compiled while the trap is there
            patch.setitem(rmhmc_step.__globals__, "way_back", module.way_back.py_func)
            step = rmhmc_step(X, NORMAL, 3, 0.1, np.random.default_rng(0), 100, 1e-12, 0.0)
        assert step.converged and step.reversible and not np.isfinite(step.energy_error)
        assert not step.accepted
        np.testing.assert_array_equal(step.x, X)


class Bent(NamedTuple):
    """A model of two variables that does not say so; two of its derivatives may be wrong."""

    scale: float = 1.0
    slope: float = 1.0  # 1 is right
    factor: float = 1.0


U.register(Bent)(lambda q, model: model.scale * ((q - np.array([1.0, 2.0])) ** 2).sum())
grad_U.register(Bent)(lambda q, model: 2 * model.scale * model.slope * (q - np.array([1.0, 2.0])))
metric.register(Bent)(lambda q, model: model.scale * np.diag(1 + q * q))
metric_gradient.register(Bent)(lambda q, model: 2 * model.factor * model.scale * np.array(
    [[[q[0], 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, q[1]]]]))


def test_a_start_without_a_positive_definite_metric_is_refused():
    with pytest.raises(ValueError, match=r"^x0 must be where .* the metric positive definite"):
        rmhmc(X, Bent(-1.0), 3, 0.1, 2, np.random.default_rng(0))


@pytest.mark.parametrize(("slope", "factor", "said"), [
    (1.0, 0.0, "metric and metric_gradient of Bent"), (1.0, 1.1, "metric and"),
    (1.1, 1.0, "U and grad_U of Bent"), (1.0, 1.0, None)])
def test_derivatives_that_are_wrong_are_warned_of(slope, factor, said):
    # with a wrong derivative of the metric the chain accepts, and samples another density
    with pytest.warns(RuntimeWarning, match=f"{said}.* disagree") if said else nullcontext():
        rmhmc(np.full(2, 0.5), Bent(1.0, slope, factor), 3, 0.1, 2, np.random.default_rng(1))


class Even(NamedTuple):
    """A constant gradient, which is a field."""

    rate: np.ndarray
    inner: tuple = ()


@pytest.mark.parametrize(("gradient", "place"), [
    (lambda q, model: model.rate, r"model\.rate"), (lambda q, model: q, "q"),
    (lambda q, model: model.inner[0].rate[::-1], r"model\.inner\[0\]\.rate")])
def test_a_gradient_that_is_memory_of_the_model_is_not_written_into(gradient, place, monkeypatch):
    for function, made in ((U, lambda q, model: q @ gradient(q, model)), (grad_U, gradient),
                           (metric, lambda q, model: np.eye(2)),
                           (metric_gradient, lambda q, model: np.zeros((2, 2, 2)))):
        monkeypatch.setitem(function.implementations, Even, made)
    if place == "q":
        monkeypatch.setitem(U.implementations, Even, lambda q, model: q @ q / 2)
    rate = np.array([0.5, 0.25])
    model = Even(rate, (Even(rate.copy()),))
    with pytest.raises(ValueError, match=f"^grad_U of Even must return an array of its own, .*"
                                         rf" not memory of {place}: return {place}\.copy\(\)$"):
        rmhmc.check(X, model, 3, 0.1, 2, np.random.default_rng(0))
    hmc.check(X, model, 0.1, 3, 2, np.random.default_rng(0))  # which writes into none
    np.testing.assert_array_equal(model.rate, [0.5, 0.25])
