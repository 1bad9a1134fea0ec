"""Windows against long chains: estimates, claims, and what is run."""

import numpy as np
import pytest

from judging import check_labels, check_moves, put
from reproduce.beyond import wang_windows as windows
from reproduce.harness.claims import Measured, log
from reproduce.wang.chains import SLICES, WIDE
from reproduce.wang.printed import ROWS, SOD, STANDARD

TRUE = {(7, STANDARD): 170.0, (9, SOD): 25.0}  # the rest: 5, as its windows say


def found(tau, usual=5.0):
    """Return 40 windows of 5, 15 % around, of a chain of time tau."""
    tau = Measured(tau, 0.05 * tau)
    return {"tau": tau, "log tau": log(tau), "noise": 0.3,
            "windows": list(usual * np.exp(0.15 * np.tile([-1.0, 1.0], 20)))}


def made_up():
    rows = {}
    for number, method, name, *_ in windows.plan("paper"):
        rows.setdefault(number, {}).setdefault(method, {})[name] = found(
            TRUE.get((number, method), 5.0))
    return {"rows": rows}


MOVED = {k: (put("rows", *place), [f"{what}: log"]) for k, (what, *place) in enumerate([
    *(("row 7, standard", 7, STANDARD, name, found(5.0)) for name in SLICES),  # of one mode
    ("row 9, SOD", 9, SOD, WIDE, found(5.0)),
    *((f"row {number}, standard, {name}", number, STANDARD, name, found(tau))
      for tau in (1.9, 13.5) for number in windows.PAPER_ROWS if number not in (2, 7)
      for name in windows.settings(number, STANDARD))])}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(windows, made_up(), MOVED)


def test_what_windows_usually_say():
    rng = np.random.default_rng(1)
    logs = 1.2 + 0.3 * rng.standard_normal((2000, 31))
    medians, errors = np.transpose([windows.usual({"windows": np.exp(each)}) for each in logs])
    # 2000 medians of 31: their mean within 4 of its s.e., 0.3 (pi / 62)^(1/2) / 2000^(1/2); the
    # asymptotic variance is 1 to 4 % too large for 31
    assert abs(np.mean(medians) - 1.2) < 4 * 0.0675 / 2000**0.5
    assert np.mean(errors) == pytest.approx(np.std(medians), rel=0.1)
    assert np.mean(np.square(errors)) == pytest.approx(0.09 * np.pi / 62, rel=0.02)  # no bias
    result = {"rows": {1: {STANDARD: {WIDE: found(10.0)}}}}
    # the median of equal numbers of both is between them
    assert windows.log_time_over_window(result, 1, STANDARD, WIDE).value == pytest.approx(np.log(2))
    result["rows"][1][STANDARD][WIDE]["windows"] = list(np.arange(101.0) + 100)
    assert "  105 to 195  " in windows.table(result)  # nine in ten


def test_the_figure_has_the_chains_time_with_two_standard_errors_and_the_papers():
    result = made_up()
    result["rows"][9][SOD][WIDE] = found(25.0) | {"tau": Measured(25.0, 20.0)}
    fig = windows.figure(result)
    check_labels(fig.axes, *[("autocorrelation", "")] * 2)
    named = {mark.get_label().partition(",")[0]: mark for mark in fig.legends[0].legend_handles}
    assert (named["the paper"].get_marker(), named["all windows together"].get_marker()) == tuple(
        "D|")
    for ax, name in zip(fig.axes, SLICES, strict=True):
        keys = [(number, method) for number, methods in result["rows"].items()
                for method, names in methods.items() if name in names]
        papers = [line for line in ax.lines if line.get_marker() == "D"]
        assert [(label.get_text(), dots.get_color(), round(dots.get_ydata().mean()))
                for label, dots in zip(ax.get_yticklabels(), [
                    line for line in ax.lines if line.get_marker() == "."], strict=True)] == [
            (f"{number} {method}", named[method].get_color(), k)
            for k, (number, method) in enumerate(keys)]
        assert ax.get_title() == name and len(papers) == len(ax.containers) == len(keys) > 3
        for k, ((number, method), paper, bar) in enumerate(zip(
                keys, papers, ax.containers, strict=True)):
            assert paper.get_xydata().tolist() == [[ROWS[number].tau[method], k]]
            tau, wide = TRUE.get((number, method), 5.0), (number, method, name) == (9, SOD, WIDE)
            # 5 % a standard error, or so many that only a tenth is left on a logarithmic scale
            assert bar.lines[2][0].get_segments()[0][:, 0] == pytest.approx(
                [2.5, 65.0] if wide else [0.9 * tau, 1.1 * tau])
