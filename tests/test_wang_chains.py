"""Chains of Wang and Neal's methods: what is kept of them, and what an iteration costs."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter

from algorithms.ess import initial_sequence, significant_lags
from algorithms.slice_sampling import Counts
from models.gp_regression import GPRegression
from models.interface import U, prepare
from reproduce import wang_fig2, wang_table2, wang_table3
from reproduce.harness.fingerprint import fingerprint
from reproduce.wang import chains
from reproduce.wang.chains import clock, costs, evaluations, summary, window
from reproduce.wang.datasets import problem
from reproduce.wang.printed import SOD, STANDARD, TEMPERED


def test_a_summary_of_the_last_two_thirds_by_hand():
    assert window(np.arange(2000)).tolist() == list(range(667, 2000))  # 1333 of 2000
    assert window(np.arange(9)).tolist() == [3, 4, 5, 6, 7, 8]
    # autocorrelations are summed up to the first one that is not significant
    x = lfilter([1.0], [1.0, -0.8], np.random.default_rng(1).standard_normal(3000))
    found, last = summary(x), x[1000:]
    centred = last - last.mean()
    rho = np.array([centred[: 2000 - k] @ centred[k:] for k in range(51)]) / (centred @ centred)
    k = np.flatnonzero(np.abs(rho) < 1.96 / 2000**0.5)[0]
    # sums of the same numbers in another order, by Fourier transforms
    assert found["rho"] == pytest.approx(rho, rel=0, abs=1e-12)
    tau = 1 + 2 * rho[1:k].sum()
    assert found["tau"]["first"] == pytest.approx(
        [tau, tau * (2 * (2 * k - 1) / 2000) ** 0.5], rel=1e-10)
    assert (found["mean"], found["sd"]) == pytest.approx((last.mean(), last.std()), rel=1e-12)
    for name, each in (("literal", significant_lags(last, literal=True)),
                       ("geyer", initial_sequence(last))):
        assert found["tau"][name] == [each.tau, each.se]
    assert len({tau for tau, _ in found["tau"].values()}) == len(found["tau"]) == 3
    # a chain that never moves is one draw
    found = summary(np.full(30, -3.0))
    assert found["tau"]["first"] == found["tau"]["geyer"] == [20.0, 20.0]
    assert np.isnan(found["rho"]).all() and found["sd"] == 0
    moved = np.zeros((12, 2, 3), bool)  # iterations, mappings, moves of the mark
    moved[:6, 0], moved[3, 1, 2] = True, True
    assert chains.record(SimpleNamespace(
        accepted=moved, log_likelihood=np.arange(12.0), samples=np.zeros((12, 3)),
        counts=Counts(*range(6))))["accepted"] == pytest.approx([1 / 2, 1 / 36], rel=1e-14)


def test_tables_2_and_3_and_figure_2_have_the_same_chains():
    # each script shows its calls, and finds what another has stored
    assert len({fingerprint(each.chain) for each in (wang_table2, wang_table3, wang_fig2)}) == 1


def test_costs_and_evaluations_by_hand():
    cost = costs({"seconds": {  # the mean of 1, 3 and 5 is the unit; medians over rounds
        "trial": {"pi": [[1.0, 1.0, 9.0], [3.0, 3.0, 3.0], [5.0, 5.0, 5.0]],
                  "SOD 40": [[0.3] * 3, [0.3] * 3, [0.9] * 3], "SOD 20": [[0.15] * 3] * 3},
        "scratch": {"pi": [6.0, 6.0, 60.0], "SOD 40": [1.0] * 3, "SOD 20": [1.0] * 3}}})
    # rounding of a quotient, and below of sums
    assert cost["trial"] == pytest.approx({"pi": 1, "SOD 40": 1 / 6, "SOD 20": 0.05}, rel=1e-14)
    assert cost["scratch"]["pi"] == pytest.approx(2, rel=1e-14)
    found = {"counts": {"density": 60, "approximations": [120, 200]}, "iterations": 10}
    for unit, density in (("variable", 60), ("sweep", 120)):
        assert evaluations(found, TEMPERED, unit, cost, ["SOD 40", "SOD 20"]) == pytest.approx(
            (density + 20 + 10) / 10, rel=1e-14)
    alone = {"counts": {"density": 60, "approximations": []}, "iterations": 10}
    for unit in ("variable", "sweep"):  # a slice changes one variable, whatever a mapping does
        assert evaluations(alone, STANDARD, unit, cost) == 6


def test_the_clock_divides_by_what_it_timed_and_drops_the_first_round(monkeypatch):
    now, at, asked = [0.0], [], []
    _, truth, _ = problem(1, 0, STANDARD, n=30)

    def passes(seconds):
        now[0] += seconds * (1 if len(at) > 1 else 7)  # the first round compiles

    def samples(x0, model, star, method, iterations, *rest):
        at.append(x0)
        passes(3.0 * iterations)
        return SimpleNamespace(samples=x0 + np.arange(1.0, iterations + 1)[:, None])

    def trials(cache, k, values, model):
        asked.append(k)
        assert np.all(np.abs(values - truth[k]) < 0.5)  # five standard deviations
        passes((2.0 + k) * len(values))

    monkeypatch.setattr(chains.time, "thread_time", lambda: now[0])
    monkeypatch.setattr(chains, "samples", samples)
    monkeypatch.setattr(chains, "trials", trials)
    monkeypatch.setattr(chains, "scratches", lambda q, times, model: passes(
        times * (5.0 if isinstance(model, GPRegression) else 9.0)))
    found = clock(1, 0, {"a": [SOD, "variable", 1.0, 10, None]}, rounds=2, iterations=4, n=30)
    assert found["seconds"] == {
        "iteration": {"a": [3.0] * 2}, "scratch": {"pi": [5.0] * 2, "SOD 4": [9.0] * 2},
        "trial": {name: [[2.0] * 2, [3.0] * 2, [4.0] * 2] for name in ("pi", "SOD 4")}}
    # each variable twice, one time to change it; a chain goes on from its last state
    assert asked == [k for k in (0, 1, 2) for _ in range(2)] * 6
    np.testing.assert_array_equal(at, at[0] + 4.0 * np.arange(3)[:, None])


def test_as_many_evaluations_are_timed_as_are_asked_for():
    model, truth, _ = problem(1, 0, STANDARD, n=20)
    values = np.array([0.1, 0.5, -0.3])
    # rounding of sums
    assert chains.trials(prepare(truth, model), 1, values, model) == pytest.approx(
        sum(U(np.array([truth[0], value, truth[2]]), model) for value in values), rel=1e-12)
    assert chains.scratches(truth, 3, model) == pytest.approx(3 * U(truth, model), rel=1e-12)
