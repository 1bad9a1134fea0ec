"""Windows against long chains: estimates, claims, and what is run."""

import numpy as np
import pytest

from judging import differing, read_table, verdicts
from reproduce.beyond import wang_windows as windows
from reproduce.harness.claims import BUDGETS, Measured, Scan, judge, log
from reproduce.harness.style import plt
from reproduce.wang.chains import NARROW, SLICES, WIDE
from reproduce.wang.printed import ROWS, SOD, STANDARD

TRUE = {(7, STANDARD): 170.0, (9, SOD): 25.0}  # the rest: 5, as its windows say


def found(tau, usual=5.0):
    """Return 40 windows of 5, 15 % around, of a chain of time tau."""
    tau = Measured(tau, 0.05 * tau)
    return {"tau": tau, "log tau": log(tau), "noise": 0.3, "share": Measured(0.3, 0.02),
            "windows": list(usual * np.exp(0.15 * np.tile([-1.0, 1.0], 20)))}


def made_up():
    rows = {}
    for number, method, name, *_ in windows.plan("paper"):
        rows.setdefault(number, {}).setdefault(method, {})[name] = found(
            TRUE.get((number, method), 5.0))
    return {"rows": rows}


def test_every_claim_agrees_where_it_is_true():
    assert set(verdicts(windows, made_up()).values()) == {"agrees"}


def moved(number, method, name, value):
    def change(r):
        r["rows"][number][method][name] = value
    return change


MOVED = {
    "row 7 has one mode": (lambda r: r["rows"][7][STANDARD].update(
        {name: found(5.0) for name in SLICES}), "row 7, standard: log(time / a window's)"),
    "row 9's subset is good": (moved(9, SOD, WIDE, found(5.0)),
                               "row 9, SOD: log(time / a window's)"),
    "row 4 is hidden": (moved(4, STANDARD, NARROW, found(50.0)),
                        f"row 4, standard, {NARROW}: log(time / a window's)"),
    "row 3 is": (moved(3, STANDARD, WIDE, found(20.0)),
                 f"row 3, standard, {WIDE}: log(time / a window's)"),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    change, wanted = MOVED[name]
    assert differing(windows, made_up(), change) == {wanted}


def test_a_slice_that_hides_and_one_that_tells():
    result = made_up()
    result["rows"][7][STANDARD][NARROW] = found(5.0)
    assert verdicts(windows, result)["row 7, standard: log(time / a window's)"] == "not specified"
    assert isinstance(windows.scan(result, 7, STANDARD), Scan)


def test_what_windows_usually_say():
    rng = np.random.default_rng(1)
    logs = 1.2 + 0.3 * rng.standard_normal((2000, 31))
    ours = [windows.usual({"windows": np.exp(each)}) for each in logs]
    medians = [each.value for each in ours]
    # 2000 medians of 31: their mean within 4 of its s.e., 0.3 (pi / 62)^(1/2) / 2000^(1/2); the
    # asymptotic variance is 1 to 4 % too large for 31
    assert abs(np.mean(medians) - 1.2) < 4 * 0.0675 / 2000**0.5
    assert np.mean([each.se for each in ours]) == pytest.approx(np.std(medians), rel=0.1)
    result = {"rows": {1: {STANDARD: {WIDE: found(10.0)}}}}
    # the median of equal numbers of both is between them
    assert windows.log_time_over_window(result, 1, STANDARD, WIDE).value == pytest.approx(np.log(2),
                                                                                          rel=1e-12)


class Recorder:
    """Makes up chains, and keeps what was asked for."""

    def __init__(self, budget):
        self.budget, self.seed, self.tasks = budget, 4, None

    def replicates(self, function, tasks, unit, warm):
        assert function is windows.long_chain
        self.tasks = tasks
        return [{"tau": [task["number"] * task["w"] + task["seed"][2] * 0.01, 0.1],
                 "windows": [2.0] * task["windows"], "noise": 0.1, "accepted": [1.0],
                 "iterations": 10, "counts": {"density": 30, "cache_hits": 0}} for task in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = windows.run(experiment, None)["rows"]
    wanted = windows.plan(budget)
    assert len(experiment.tasks) == sum(chains for *_, chains, _ in wanted)
    for number, method, name, each, chains, n in wanted:
        w, limit = SLICES[name]
        mine = [t for t in experiment.tasks if (t["number"], t["method"], t["w"]) == (
            number, method, w)]
        assert [t["seed"] for t in mine] == [[4, number, k] for k in range(chains)]
        assert {(t["max_widths"], t["windows"], t["n"], t["index"]) for t in mine} == {
            (limit, each, n, 0)}
        assert result[number][method][name]["tau"].value == pytest.approx(
            number * w + 0.01 * (chains - 1) / 2, rel=1e-12)
    assert (n is None) == (budget != "smoke")
    if budget != "smoke":  # the claims that are made have what they need
        judge(windows.CLAIMS, {"rows": result}, budget)


def test_the_table_and_the_figure():
    result = made_up()
    lines = windows.table(result).splitlines()
    row = next(line for line in lines if line.startswith("7    standard"))
    # log(170 / 5) is that of 34, between two windows of 5 e^.15 and 5 e^-.15
    assert row.split()[7:10] == ["4.83", "170.0", "(8.5)"] and "34.00" in row
    one = result["rows"][7][STANDARD][NARROW] = found(170.0)
    one["windows"] = list(np.arange(1.0, 102.0))
    (row,) = [row for row in read_table(windows.table(result), "row") if [row[key] for key in (
        "row", "method", "slice")] == ["7", STANDARD, NARROW]]
    assert [row[key] for key in ("window", "nine in ten", "windows")] == ["51", "6 to 96", "101"]
    result = made_up()
    fig = windows.figure(result)
    labels = [[text.get_text() for text in ax.get_yticklabels()] for ax in fig.axes]
    assert "9 Nystrom" in labels[0] and "9 Nystrom" not in labels[1] and "9 SOD" in labels[1]
    (legend,) = fig.legends
    colours = {text.get_text().split(",")[0]: line.get_color() for text, line in zip(
        legend.get_texts(), legend.get_lines(), strict=True)}
    for ax, name, rows in zip(fig.axes, SLICES, labels, strict=True):
        assert ax.get_title() == name and len(ax.containers) == len(rows)
        diamonds = [line for line in ax.get_lines() if line.get_marker() == "D"]
        clouds = [line for line in ax.get_lines() if line.get_marker() == "."]
        for k, (label, bar, diamond, cloud) in enumerate(zip(
                rows, ax.containers, diamonds, clouds, strict=True)):
            number, method = label.split(" ", 1)
            tau = TRUE.get((int(number), method), 5.0)
            point, _, (ends,) = bar.lines
            assert cloud.get_color() == colours[method]
            assert point.get_xydata().tolist() == [[tau, k]]
            np.testing.assert_allclose(ends.get_segments()[0][:, 0], [0.9 * tau, 1.1 * tau])
            assert diamond.get_xydata().tolist() == [[ROWS[int(number)].tau[method], k]]
            np.testing.assert_allclose(cloud.get_xdata(), result["rows"][int(number)][method][
                name]["windows"])
    plt.close(fig)
