"""Widths and limits of the slice: estimates, claims, and what is run."""

import numpy as np
import pytest

import studies
from judging import check_labels, check_moves, multiplied, put
from reproduce.beyond import wang_steps as steps
from reproduce.harness.claims import Measured, log
from reproduce.wang.chains import NARROW, WIDE
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
            cost = 9.0 if short or always else 3.0 * ROWS[number].tau[STANDARD]
            rows.setdefault(number, {})[steps.name_of(w, limit)] = {
                STANDARD: one(tau, cost, 3.0 if short else 5.0), SOD: one(1.5 * tau, 0.4 * cost)}
    return {"rows": rows}


def cases(long):
    """Return moves of the claims about a row of long lengths, and about its updates."""
    row = f"row {long}"
    for share in (0.62, 1.6):
        yield f"{row} takes {share} of the time with short steps", (lambda r, share=share: any(
            names[STANDARD].update(windows=[share * ROWS[long].tau[STANDARD]] * 20)
            for name, names in r["rows"][long].items() if name in (NARROW, "w = 0.05, limit 3")), [
                f"{row}: log(time / Table 3), standard"])
    yield f"{row} is dear with one slice", (multiplied(2.5, "rows", long, WIDE, STANDARD, "cost"), [
        f"{row}: log(evaluations for a draw / the least)"])
    yield f"the subset of {row} does not gain", (lambda r: any(
        names[SOD].update(cost=0.83 * names[STANDARD]["cost"])
        for names in r["rows"][long].values()), [
            f"{row}: log(evaluations for a draw, standard / SOD)"])
    for short in (steps.PAIRS[long],) if long in steps.PAIRS else ():
        for updates in (3.5, 6.8):
            yield f"{row} takes {updates} evaluations with one slice", (put(
                "rows", long, WIDE, STANDARD, "updates", updates), [
                    f"rows {long} and {short}, both"])
        yield f"short steps take as many on {row}", (
            put("rows", long, NARROW, STANDARD, "updates", 4.0), [f"rows {long}, {NARROW}, and"])


MOVED = dict(case for long in steps.LONG_ROWS for case in cases(long)) | {
    "any slice has the paper's time": (lambda r: made_up(always=True), [
        f"row {long}, {WIDE}: log(Table 3 / time), standard" for long in steps.LONG_ROWS])}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(steps, made_up(), MOVED)


def test_costs_gains_and_times_by_hand():
    result = {"rows": {4: {"a": {STANDARD: one(10.0, 6.0), SOD: one(20.0, 1.0)},
                           "b": {STANDARD: one(5.0, 8.0), SOD: one(5.0, 1.0)}}}}
    assert steps.gain(result, 4, "a").value == pytest.approx(np.log(3), rel=1e-12)
    assert steps.log_cost_over_least(result, 4, "a") == pytest.approx(
        (np.log(60 / 40), 0.03 * 2**0.5), rel=1e-12)
    result = made_up()
    for name, tau in (("w = 0.05, limit 3", 6.0), (NARROW, 20.0)):
        result["rows"][4][name][STANDARD] = one(tau, 9.0)
    assert steps.nearest_log(result, 4).value == pytest.approx(np.log(20 / 15.62), rel=1e-9)
    assert steps.nearest_log(result, 10).value == pytest.approx(0.0, abs=1e-12)  # has w = 0.1 alone
    assert [steps.printed_time_ratio(number) for number in (4, 5)] == pytest.approx(
        [0.13 / 0.28, 0.49 / 0.56], rel=1e-12)
    for long, short in steps.PAIRS.items():  # an evaluation costs as much
        assert ROWS[long][2:5] == ROWS[short][2:5]
    result = made_up()
    assert steps.log_evaluation_ratio(result, 4, NARROW) == pytest.approx(np.log(0.6), rel=1e-12)


def test_no_chain_is_run_twice(monkeypatch):
    monkeypatch.setattr(steps, "clocks", lambda *_: None)
    experiment = studies.Recorder("paper", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # nothing is computed
        steps.run(experiment, None)
    ((_, tasks),) = experiment.calls
    assert len(set(map(repr, tasks))) == len(tasks) > 0


def test_the_legends_lines_are_those_of_the_limits():
    result, tau = made_up(), ROWS[2].tau[STANDARD]
    result["rows"][2][NARROW][STANDARD]["tau"] = Measured(tau, 0.6 * tau)
    fig = steps.figure(result)
    named = {mark.get_label(): mark for mark in fig.legends[0].legend_handles}
    assert [named[name].get_linestyle() for name in (
        "limit 3", "limit 10", "the paper, by data set")] == ["--", "-", ":"]
    left = fig.axes[0]
    check_labels(fig.axes, ("w", "autocorrelation time"), ("w", "gain"))
    bars = [bar.lines for bar in left.containers if bar.get_label() == "data set 2"]
    short, _, (ends,) = next(lines for lines in bars if lines[0].get_linestyle() == "--")  # limit 3
    assert short.get_ydata()[:2] == pytest.approx([tau] * 2)
    assert short.get_marker() == named["limit 3"].get_marker() != named["limit 10"].get_marker()
    # bars are 2 standard errors; on a logarithmic scale they never reach 0
    reach = sorted(tuple(segment[:, 1] / tau) for segment in ends.get_segments()[:2])
    assert reach == [pytest.approx((0.1, 2.2)), pytest.approx((0.94, 1.06))]
