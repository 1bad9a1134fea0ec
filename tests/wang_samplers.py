"""Chains of a few transitions by the samplers of Wang's scripts, for test_wang_samplers.py."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.rivals.delayed_acceptance import delayed_acceptance
from algorithms.rivals.fitted_walk import pilot
from models.interface import U_prior, log_likelihood
from reproduce import wang_fig1 as fig1
from reproduce.harness.claims import failures, judge
from reproduce.harness.replicates import Experiment, to_json
from reproduce.harness.run import Settings
from reproduce.wang import chains, prediction
from reproduce.wang import rivals as room
from reproduce.wang.chains import clock, samples
from reproduce.wang.datasets import posterior, problem
from reproduce.wang.long_chains import settings_of, target
from reproduce.wang.printed import METHODS, NYSTROM, SOD, STANDARD, TEMPERED
from reproduce.wang.rivals import DELAYED, DRAGGING, HMC, NUTS, SCANNED, WALK
from reproduce.wang_table2 import chain

N = 14  # cases


@pytest.mark.filterwarnings("ignore:none of 12 proposals")  # so few transitions
@pytest.mark.parametrize("method", (*METHODS, *room.RIVALS))
def test_a_chain_of_each_method_and_what_it_asks_for(method):
    found = room.run(1, 0, method, SCANNED[method][0], 12, [3], N)
    model, truth = target(1, 0, N)[1:]
    assert found.samples.shape == (12, 3)
    # two columns approximate nothing
    assert (found.samples != truth).any() or method in room.LOW_RANK
    for q, value in zip(found.samples, found.log_likelihood, strict=True):
        # by eigenvalues along a grid, within 1e-4 (wang/spectra.py)
        assert value == pytest.approx(log_likelihood(q, model), abs=1e-4)
    counts, setup = found.counts, found.setup
    if method == NUTS:
        assert set(counts) == set(setup) == {"gradient"} and counts["gradient"] >= 12
        assert found.energies.shape == (12,)
        return
    assert setup == ({} if method in METHODS else {"scratch": room.PILOT[0] * 61})
    if method == STANDARD:
        assert set(counts) == {"trial"} and counts["trial"] > 12 * 3 * 2
    elif method in METHODS:
        assert counts["trial"] == 1 + 12 * 3
        assert set(counts) == {"trial", *(f"trial {name}" for name in room.layers(1, method, N))}
        if method == TEMPERED:  # both layers have two cases here, and are counted together
            assert room.layers(1, method, N) == ["SOD 2"] * 2
            chain = samples(truth, target(1, 0, N)[0], settings_of(1, 0, method, None, N), method,
                            12, np.random.default_rng([3]), "variable", SCANNED[method][0],
                            room.LIMIT)
            assert counts["trial SOD 2"] == chain.counts.approximations.sum()
    elif method == WALK:
        assert counts == {"scratch": 13}
    elif method == HMC:
        assert counts == {"gradient": 12 * SCANNED[HMC][0][1] + 1}
    elif method == DRAGGING:
        assert counts["decomposition"] == 13
        assert counts["fast"] > 12 * 2 * (room.N_STEPS - 1)
    else:
        inner = 1 if method == DELAYED else SCANNED[method][0]
        assert counts[f"scratch {room.SURROGATE.get(method, SOD)}"] == 1 + 12 * inner
        assert counts["scratch"] <= 13


def test_methods_have_the_scanned_width_factor_and_steps(monkeypatch):
    (fast, _, truth), star = target(1, 0, N), room.approximation(1, 0, SOD, N)
    for method, setting, scale, inner in ((DELAYED, 0.7, 0.7, 1), ("surrogate", 8, 1.0, 8)):
        rng = np.random.default_rng([3])
        factor = scale * pilot(truth, fast, 60, rng, room.PILOT[0]).factor
        np.testing.assert_array_equal(
            room.run(1, 0, method, setting, 12, [3], N).samples,
            delayed_acceptance(truth, fast, star, factor, 12, rng, inner).samples)
    asked = []
    monkeypatch.setattr(room, "samples", lambda *given: asked.append(given))
    for method in (STANDARD, TEMPERED):
        with pytest.raises(AttributeError):  # of no chain
            room.run(1, 0, method, 0.5, 12, [3], N)
        # iterations; a mapping of one variable with this width, stepped out to ten at most
        given = asked.pop()
        assert (given[3:5], given[6:]) == ((method, 12), ("variable", 0.5, 10))


@pytest.mark.parametrize("number", [1, 3])
def test_everything_that_is_counted_has_a_price(number):
    timed = room.seconds_of(number, 0, 1, 1, N)
    assert all(len(each) == 1 and each[0] > 0 for each in timed["seconds"].values())
    for method in room.methods(number):
        found = room.run(number, 0, method, SCANNED[method][0], 3, [3], N)
        assert {*found.counts, *found.setup} <= timed["seconds"].keys()


def test_the_clocks_divide_by_what_they_did(monkeypatch):
    ticks = iter(np.arange(100.0) * 6)
    monkeypatch.setattr(room.time, "thread_time", lambda: next(ticks))
    assert room.clock_of(lambda *given: None)(None, 3, None) == 2.0
    fast, _, truth = target(1, 0, N)
    assert room.trial_seconds(truth, 3, fast) == room.trial_seconds(truth, 3, fast, (0,)) == 2.0
    # of each variable that is asked for, at values near its own; their mean
    seen, took = [], [0]

    def trials(cache, k, values, model):
        seen.append((k, values[0]))
        took[0] += 3 * (1 + k) ** 2 * (len(values) == 3)

    monkeypatch.setattr(room.time, "thread_time", lambda: took[0])
    monkeypatch.setattr(room, "trials", trials)
    assert room.trial_seconds(truth, 3, fast) == pytest.approx(14 / 3, rel=1e-12)
    assert room.trial_seconds(truth, 3, fast, (0, 1)) == pytest.approx(5 / 2, rel=1e-12)
    assert [k for k, _ in seen] == [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]
    assert [value - truth[k] for k, value in seen[1::2]] == pytest.approx([0.01] * 5, rel=1e-9)
    monkeypatch.setattr(room, "trial_seconds", lambda *given: given)
    assert room.fast_seconds("q", 5, "model") == ("q", 100, "model", (0, 1))  # sigma and eta


def test_what_is_kept_of_mappings(monkeypatch):
    """Two made-up mappings: the first one has too few hits to be drawn, the second is telling."""
    model, q = posterior(fig1.ROW, 0, 10)

    def mapping(proposed, steps, hits):
        first, end = min(0, *proposed), max(0, *proposed) + 1
        places = range(first, end + 1)
        return SimpleNamespace(
            proposed=np.array(proposed), steps=np.array(steps), cached=np.arange(8) < hits,
            accepted=np.array(steps) == proposed, ends=np.array([first, end]),
            known={k: k != 1 for k in places}, q={k: q + k for k in places},
            U={k: 10.0 + k for k in places}, U_star={k: 12.0 + 3 * k for k in places})

    chains = [mapping([2, 4, 2, 4, 6, 4, 6, 4], [2, 2, 2, 4, 4, 4, 6, 4], 1),
              mapping([-2, 2, 4, 6, -2, 2, 4, 2], [-2, -2, 4, 4, 4, 2, 2, 2], 3)]
    rest = iter(chains)

    def step(here, model, star, move, r, s, tally, star_tally, rng):
        assert (r, s, move.w.tolist(), move.max_widths) == (8, 2, [1.0] * 3, 10)
        tally[fig1.EVALUATIONS] += 5
        star_tally[fig1.EVALUATIONS] += 70
        chain = next(rest)
        return fig1.State(chain.q[end := chain.steps[-1]], chain.U[end], None, None), chain

    monkeypatch.setattr(fig1, "discretizing_chain_step", step)
    found = fig1.one_chain(SOD, 10, 2, 1)
    assert {key: found[key] for key in ("accepted", "cached", "density", "star", "telling")} == {
        "accepted": sum(c.accepted.sum() for c in chains), "cached": 4, "density": 10, "star": 140,
        "telling": True}
    # from the least proposal, or the start, to the greatest; one more was simulated in each
    assert (found["needed"], found["simulated"]) == (6 + 8, 7 + 9)
    of_marks = np.array([[U_prior(q + k, model) - (10.0 + k) for k in c.steps] for c in chains])
    assert (found["marked"], found["last"]) == pytest.approx(
        (of_marks.mean(), of_marks[:, -1].mean()), rel=1e-12)
    drawn = found["drawn"]
    assert drawn["proposed"].tolist() == chains[1].proposed.tolist() and drawn["first"] == -2
    # log pi / pi*, of which U and U* are minus the logs
    assert drawn["gap"] == [2.0 + 2 * k if k != 1 else None for k in range(-2, 8)]
    np.testing.assert_array_equal(drawn["q"], [q + k for k in range(-2, 8)])
    np.testing.assert_array_equal(drawn["x"], chains[0].q[4])  # where the first one ended
    np.testing.assert_array_equal(drawn["x_"], chains[1].q[2])


def test_a_run_of_seconds_counts_and_draws(monkeypatch, tmp_path):
    monkeypatch.setattr("reproduce.harness.replicates.figures", lambda budget: tmp_path)
    result = fig1.run(Experiment(fig1.NAME, Settings("smoke")), None)
    assert failures(judge(fig1.CLAIMS, result, "smoke")) == []
    drawn = result.drawn
    # what is drawn is a mapping: x' is where its mark ends, and known is what was proposed
    np.testing.assert_array_equal(drawn.q[drawn.steps[-1] - drawn.first], drawn.x_)
    np.testing.assert_array_equal(drawn.q[-drawn.first], drawn.x)
    known = {k for k, gap in enumerate(drawn.gap, drawn.first) if gap is not None}
    assert known == {0, *drawn.proposed}
    assert len(fig1.figure(result).axes) == 2


@pytest.mark.parametrize("method", METHODS)
def test_a_chain_of_the_tables_is_that_of_the_other_scripts(method):
    model, truth, star = problem(1, 0, method, n=20)
    run = chains.samples(truth, model, star, method, 9, np.random.default_rng(7), "sweep", 0.1, 3)
    ours = chain(1, 0, method, 7, 9, "sweep", 0.1, 3, n=20)
    assert to_json(ours) == to_json(chains.record(run))
    np.testing.assert_array_equal([ours["first"], ours["last"]], run.samples[[0, -1]])
    assert ours["mean"] == run.log_likelihood[3:].mean() and ours["iterations"] == 9
    assert ours["counts"]["density"] == run.counts.density


def test_the_clock_times_every_row_and_every_model():
    rows = {method: [method, "variable", 1.0, 10, None] for method in METHODS}
    rows["other"] = [SOD, "sweep", 0.1, 3, 9]
    found = clock(1, 0, rows, rounds=2, iterations=2, n=30)
    assert found["layers"] == {STANDARD: [], SOD: ["SOD 4"], NYSTROM: ["Nystrom 3"],
                               TEMPERED: ["SOD 4", "SOD 2"], "other": ["SOD 9"]}
    seconds, models = found["seconds"], {"pi", "SOD 4", "SOD 2", "SOD 9", "Nystrom 3"}
    assert set(seconds["iteration"]) == set(rows)
    assert set(seconds["trial"]) == set(seconds["scratch"]) == models


@pytest.mark.parametrize("number", [1, 0])
def test_a_comparison_of_predictions_is_made_of_a_real_chain(monkeypatch, number):
    monkeypatch.setattr(prediction, "maximum_likelihood",
                        lambda model, rng: np.zeros(model.precision.size))
    found = prediction.compared(number, 0, [1, 2], 20, 5, 12)
    assert (prediction.TRUTH in found) == (number == 1) and found["draws"] >= 1
