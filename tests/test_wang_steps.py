"""Widths and limits of the slice: estimates, claims, and what is run."""

import numpy as np
import pytest

from judging import differing, verdicts
from reproduce import wang_table3 as table3
from reproduce.beyond import wang_steps as steps
from reproduce.harness.claims import BUDGETS, Measured, judge, log
from reproduce.harness.style import plt
from reproduce.wang.chains import NARROW, SLICES, WIDE
from reproduce.wang.printed import ROWS, SOD, STANDARD


def one(tau, cost, updates=5.0):
    """Return what is found of a method, with 20 windows of tau, 15 % around."""
    tau = Measured(tau, 0.03 * tau)
    return {"tau": tau, "log tau": log(tau), "cost": cost, "updates": updates,
            "windows": list(tau.value * np.exp(0.15 * np.tile([-1.0, 1.0], 10)))}


def made_up(always=False):
    """Return a result: the paper's time with short steps, 3 otherwise; or the paper's with any."""
    rows = {}
    for number, slices in steps.ROOM["paper"].items():
        for w, limit in slices:
            short = w <= 0.1 and limit == 3
            tau = ROWS[number].tau[STANDARD] if short or always else 3.0
            cost = 9.0 if short or always else 45.0 * tau / ROWS[number].tau[STANDARD]
            rows.setdefault(number, {})[steps.name_of(w, limit)] = {
                STANDARD: one(tau, cost, 3.0 if short else 5.0), SOD: one(1.5 * tau, 0.4 * cost)}
    return {"rows": rows}


TUNED = [f"row {number}: log(evaluations for a draw / the least), standard"
         for number in steps.LONG_ROWS]


def test_short_steps_explain_the_paper():
    found = verdicts(steps, made_up())
    assert {what for what, v in found.items() if v == "not specified"} <= set(TUNED)
    assert {v for what, v in found.items() if what not in TUNED} == {"agrees"}


def test_where_any_slice_has_the_papers_time_it_is_no_question_of_steps():
    found = verdicts(steps, made_up(always=True))
    assert {what for what, v in found.items() if v == "differs"} == {
        f"row {number}, {WIDE}: log(Table 3 / time), standard" for number in steps.LONG_ROWS}


def test_a_printed_time_is_a_claim_of_table_3_alone():
    assert {c.kind for c in steps.CLAIMS} == {"ours", "order", "printed sentence"}
    assert not any(c.cell for c in steps.CLAIMS)
    printed = {c.cell for c in table3.CLAIMS}
    assert {f"Table 3, {number}, {STANDARD}" for number in steps.LONG_ROWS} <= printed


def slow_subset(r):
    for names in r["rows"][9].values():
        names[SOD]["cost"] *= 10


MOVED = {
    "the subset of row 9 does not gain": (
        slow_subset, "row 9: log(evaluations for a draw, standard / SOD)"),
    "row 4 takes fewer evaluations with one slice": (
        lambda r: r["rows"][4][WIDE][STANDARD].update(updates=3.0),
        f"rows 4 and 2, both {WIDE}: log(evaluations an update, ratio)"),
    "short steps take as many": (
        lambda r: r["rows"][5][NARROW][STANDARD].update(updates=5.0),
        f"rows 5, {NARROW}, and 3, {WIDE}: log(evaluations an update, ratio)"),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    change, wanted = MOVED[name]
    assert differing(steps, made_up(), change) == {wanted}


def test_the_nearest_of_short_steps_counts():
    result = made_up()
    for name, tau in (("w = 0.05, limit 3", 40.0), (NARROW, 10.0)):
        result["rows"][4][name][STANDARD] = one(tau, 9.0)
    assert steps.nearest_log(result, 4).value == pytest.approx(np.log(10 / 15.62), rel=1e-9)
    assert steps.nearest_log(result, 10).value == pytest.approx(0.0, abs=1e-12)  # has w = 0.1 alone


def test_the_cost_of_a_draw_the_gain_and_the_best():
    result = {"rows": {4: {"a": {STANDARD: one(10.0, 6.0), SOD: one(20.0, 1.0)},
                           "b": {STANDARD: one(5.0, 8.0), SOD: one(5.0, 1.0)}}}}
    assert steps.log_cost_per_draw(result, 4, "a", STANDARD).value == pytest.approx(np.log(60),
                                                                                    rel=1e-12)
    assert steps.gain(result, 4, "a").value == pytest.approx(np.log(3), rel=1e-12)
    assert steps.log_cost_over_least(result, 4, "a").value == pytest.approx(np.log(1.5), rel=1e-12)
    assert steps.log_cost_over_least(result, 4, "a").se == pytest.approx(0.03 * 2**0.5, rel=1e-12)


def test_what_the_printed_times_imply():
    assert steps.printed_time_ratio(4) == pytest.approx(0.13 / 0.28, rel=1e-12)
    assert steps.printed_time_ratio(5) == pytest.approx(0.49 / 0.56, rel=1e-12)
    for long, short in steps.PAIRS.items():  # an evaluation costs as much
        assert (ROWS[long].n, ROWS[long].p, ROWS[long].kind) == (
            ROWS[short].n, ROWS[short].p, ROWS[short].kind)
    result = made_up()
    assert steps.log_evaluation_ratio(result, 4, NARROW) == pytest.approx(np.log(0.6), rel=1e-12)


class Recorder:
    """Makes up chains and times, and keeps what was asked for."""

    def __init__(self, budget):
        self.budget, self.seed, self.calls = budget, 4, {}

    def replicates(self, function, tasks, unit, warm):
        self.calls[function.__name__] = tasks
        if function.__name__ == "clock":  # the subset's evaluation costs a tenth, and more by row
            return [{"layers": {SOD: ["SOD 1"]}, "seconds": {
                "trial": {"pi": [[1.0]], "SOD 1": [[0.1 * task["number"]]]},
                "scratch": {"pi": [1.0], "SOD 1": [0.1]}}} for task in tasks]
        return [{"tau": [task["number"] * task["w"] * task["max_widths"], 0.1], "noise": 0.1,
                 "windows": [2.0, 2.5] * task["windows"], "accepted": [1.0], "iterations": 10,
                 "counts": {"density": 150 if task["method"] == STANDARD else 30, "cache_hits": 0,
                            "approximations": [] if task["method"] == STANDARD else [100]}}
                for task in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = steps.run(experiment, None)["rows"]
    assert list(result) == list(steps.ROOM[budget])
    for number, slices in steps.ROOM[budget].items():
        windows, chains = steps.length(number, budget)
        assert list(result[number]) == [steps.name_of(w, limit) for w, limit in slices]
        for w, limit in slices:
            each = result[number][steps.name_of(w, limit)]
            for method in (STANDARD, SOD):
                mine = [t for t in experiment.calls["long_chain"] if (
                    t["number"], t["method"], t["w"], t["max_widths"]) == (
                    number, method, w, limit)]
                assert [t["seed"] for t in mine] == [[4, number, k] for k in range(chains)]
                assert {t["windows"] for t in mine} == {windows}
                assert each[method]["tau"].value == pytest.approx(number * w * limit, rel=1e-12)
            assert each[STANDARD]["cost"] == 15.0 and each[STANDARD]["updates"] == 15.0
            assert each[SOD]["cost"] == pytest.approx(3 + number, rel=1e-12)
    if budget != "smoke":
        judge(steps.CLAIMS, {"rows": result}, budget)


def test_slices_are_named_as_those_of_the_tables():
    assert [steps.name_of(*each) for each in SLICES.values()] == list(SLICES)
    assert all(set(SLICES.values()) <= set(each) for each in steps.ROOM["paper"].values())


def test_the_table_and_the_figure():
    result = made_up()
    text = steps.table(result)
    assert "0.46 for row 4 over 2" in text and "15.62" in text
    fig = steps.figure(result)
    labels = [label.get_text() for label in fig.legends[0].get_texts()]
    assert [x for x in labels if x.startswith("row")] == [f"row {k}" for k in result["rows"]]
    left, right = fig.axes
    bars, gains = iter(left.containers), iter(right.get_lines())
    for each in result["rows"].values():
        for limit, style in zip(steps.LIMITS, ("--", "-"), strict=True):
            found = {w: each[steps.name_of(w, limit)] for w in steps.W
                     if steps.name_of(w, limit) in each}
            point, _, (ends,) = next(bars).lines
            assert point.get_linestyle() == style
            tau = np.array([one[STANDARD]["tau"].value for one in found.values()])
            np.testing.assert_allclose(point.get_xydata(), np.transpose([list(found), tau]))
            np.testing.assert_allclose([bar[:, 1] for bar in ends.get_segments()],
                                       np.outer(tau, [0.94, 1.06]))
            # 1.5 times as many iterations for 0.4 of the cost
            np.testing.assert_allclose(next(gains).get_xydata(), [(w, 1 / 0.6) for w in found])
    printed = [line.get_ydata()[0] for line in left.get_lines() if line.get_linestyle() == ":"]
    assert printed == [ROWS[number].tau[STANDARD] for number in result["rows"]]
    # the legend says which limit a line is of, and the paper's are dotted; no gain is a gain of 1
    limits = {int(text.get_text().split()[-1]): (line.get_linestyle(), line.get_marker())
              for text, line in zip(fig.legends[0].get_texts(), fig.legends[0].legend_handles,
                                    strict=True) if text.get_text().startswith("limit")}
    shown = [(bar.lines[0].get_linestyle(), bar.lines[0].get_marker()) for bar in left.containers]
    assert shown == [limits[limit] for _ in result["rows"] for limit in (3, 10)]
    assert list(right.get_lines()[-1].get_ydata()) == [1.0, 1.0]
    plt.close(fig)
