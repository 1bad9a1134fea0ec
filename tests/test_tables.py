"""What Tables 1 and 2 of Split HMC share: estimates by hand, and each claim with its quantity."""

import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from judging import replaced
from reproduce import shahbaba_table1, shahbaba_table2
from reproduce.harness.claims import Measured, judge
from reproduce.harness.style import plt
from reproduce.shahbaba import tables
from reproduce.shahbaba.chains import ALL, AUTHORS
from reproduce.shahbaba.printed import (
    METHODS,
    PROBLEMS,
    SE_LOG_TAU,
    SENTENCES,
    gradients,
    number,
    sentence,
)
from reproduce.shahbaba.tables import ESTIMATORS, ROWS, column

CLAIMS = shahbaba_table1.CLAIMS + shahbaba_table2.CLAIMS
CASES = [(name, method) for name in PROBLEMS for method in ALL]
# with its own g, 9, the normal approximation beats data splitting on Chess
KNOWN = {sentence("Chess", "data", "normal", ("tau_beta x g",))}
# the one sentence that rests on two printed tau_beta, whose ratio has an error of 34 %
UNTOLD = {sentence("Simulated", "data", "normal", ("tau_beta x g", "tau_beta x s"))}


def as_printed(name, method):
    """Return what estimates() would if everything were as printed, but for the g of Chess."""
    there = column(method)
    s, taus = number(name, "s", there), {row: number(name, row, there) for row in ROWS}
    return tables.Estimates(
        2, 36, [0.999 * s, 1.001 * s], Measured(gradients(name, there)), Measured(s, 0.001 * s),
        Measured(number(name, "AP", there), 0.001),
        {(row, estimator): Measured(tau, 0.002 * tau) for row, tau in taus.items()
         for estimator in ESTIMATORS}, dict.fromkeys(ROWS, Measured(-100.0, 0.1)))


def made_up():
    return {name: {method: as_printed(name, method) for method in ALL} for name in PROBLEMS}


def verdicts(problems):
    return {f.claim.what: f.verdict for f in judge(
        CLAIMS, shahbaba_table2.Table2(problems, None), "paper")}


BEFORE = verdicts(made_up())


def changed(name, method, place, change):
    """Return the claims whose verdict is another when one estimate is."""
    result = made_up()
    found = getattr(result[name][method], place[0])
    for key in place[1:]:
        found = found[key]
    after = verdicts(replaced(result, [name, method, *place], change(found)))
    assert after.keys() == BEFORE.keys()
    return {what for what in after if after[what] != BEFORE[what]} - UNTOLD


def at_once(name, method):
    return f"{name}, {method}: AP, tau and tau_beta at once, batch means"


def orders(name, better=(), worse=(), measure=""):
    """Name the sentences in which a method is better, or worse, by a measure such as 'tau x'."""
    found = set()
    for about, a, b, measures, _ in SENTENCES:
        if about == name and any(measure in m for m in measures):
            if a in better or b in worse:
                found.add(sentence(name, a, b, measures))
    return found


def test_what_is_as_printed_agrees_but_for_what_cannot():
    assert {what for what, verdict in BEFORE.items() if verdict != "agrees"} == KNOWN | UNTOLD
    assert {BEFORE[what] for what in KNOWN} == {"known difference"}
    assert {BEFORE[what] for what in UNTOLD} == {"inconclusive"}


def test_a_sentence_that_rests_on_two_printed_tau_needs_twice_their_error():
    for factor, wanted in ((0.9, "inconclusive"), (0.3, "agrees"), (20.0, "differs")):
        result = made_up()  # 13.5 x 10 over 7.3 x 12.6 is 1.47, of a log with the error 0.34
        tau = result["Simulated"]["data"].tau
        tau["tau_beta", "initial sequence"] *= factor
        assert {verdicts(result)[what] for what in UNTOLD} == {wanted}


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_rate_that_is_another_changes_its_claim(name, method):
    # rounding to 0.01; 50000 acceptances of variance 1/4 and tau 2, and ours
    error = np.hypot((0.25 * 2 / 50_000) ** 0.5, 0.001)
    for sign in (-1, 1):
        for errors, wanted in ((1.9, set()), (4.1, {f"{name}, {method}: AP",
                                                    at_once(name, method)})):
            assert changed(name, method, ["AP"], lambda m, s=sign, k=errors: (
                m + s * (0.005 + k * error))) == wanted


@pytest.mark.parametrize(("name", "method"), CASES)
@pytest.mark.parametrize("row", ROWS)
def test_a_tau_that_is_another_changes_its_claims_and_the_orders(name, method, row):
    printed = number(name, row, column(method))
    own = {f"{name}, {method}: log({row} / {printed:g}), initial sequence"}
    table = PROBLEMS[name].table
    if method != "normal":
        own.add(f"{table}: all {row}, the flow of the authors' program, initial sequence")
    for factor in (0.2, 5.0):  # theirs is within a factor of 2.65, 4 standard errors
        def change(m, factor=factor):
            return m * factor

        assert changed(name, method, ["tau", (row, "batch means")], change) == {
            at_once(name, method)}
        lost = orders(name, worse=[method], measure=f"{row} x") if factor < 1 else orders(
            name, better=[method], measure=f"{row} x")
        gained = KNOWN & (orders(name, worse=[method]) if factor > 1 else
                          orders(name, better=[method])) if row == "tau_beta" else set()
        found = changed(name, method, ["tau", (row, "initial sequence")], change)
        assert found == own | (lost - KNOWN - UNTOLD) | gained


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_time_that_is_another_changes_the_ratios_and_the_orders(name, method):
    factor = 0.2 if method == "HMC" else 5.0  # methods differ by less than 4, in print and in g
    found = changed(name, method, ["seconds"], lambda s: [factor * x for x in s])
    others = METHODS[1:] if method == "HMC" else [method] if method in METHODS else []
    wanted = {f"{name}, {m}: (s / g) / (s / g of HMC)" for m in others}
    wanted |= {f"{name}: s, HMC / {m}" for m in others}
    wanted |= orders(name, worse=["HMC"], measure="x s") if method == "HMC" else orders(
        name, better=[method], measure="x s")
    assert found == wanted - UNTOLD


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_mean_that_is_another_changes_its_claim(name, method):
    for row, what in (("tau", "log likelihood"), ("tau_beta", "sum of beta^2")):
        for shift, wanted in ((0.5, set()), (-0.6, {  # 0.57 is 4 standard errors
                f"{name}: mean {what} of two methods, largest difference / s.e."})):
            assert changed(name, method, ["mean", row], lambda m, s=shift: m + s) == wanted


def test_the_error_of_a_printed_tau_is_that_of_36_batches():
    claims = {c.what: c for c in CLAIMS if "initial sequence" in c.what and c.cell}
    rng = np.random.default_rng(4)
    theirs = np.log(rng.standard_normal((20_000, 36)).var(axis=1, ddof=1))  # tau is 1
    cells = {}
    for name, method in CASES:
        for row in ROWS:
            printed = float(PROBLEMS[name].rows[row][column(method)])
            claim = claims.pop(f"{name}, {method}: log({row} / {printed:g}), initial sequence")
            # 4 standard errors of a standard deviation of 20000
            assert claim.theirs == pytest.approx(theirs.std(), rel=4 / 40_000**0.5)
            # all taus are printed to one decimal
            assert [claim.low, claim.high] == pytest.approx(
                np.log([1 - 0.05 / printed, 1 + 0.05 / printed]), rel=1e-12)
            cells.setdefault(claim.cell, []).append(method)
    assert not claims
    # a printed number has one cell, whichever flow it is compared with
    assert len(cells) == 24 and sorted(cells.values()) == sorted(
        [["HMC"], ["normal", AUTHORS], ["data"]] * 8)


def chain(tau, batches=37, rate=0.7):
    row = {"batch": tau, "initial": tau + 1, "se": 0.1 * tau, "mean": 10 * tau, "mean_se": 0.1}
    return {"g": 20.0, "AP": rate, "AP_se": 0.01, "batches": batches, "tau": row,
            "tau_beta": {key: 2 * value for key, value in row.items()}}


def test_chains_are_put_together():
    found = tables.estimates([chain(2.0), chain(4.0, rate=0.9)], [1.0, 3.0])
    assert found.chains == 2 and found.batches == 37
    assert found.g == (20.0, 0.0)
    assert found.s == (2.0, 1.0)  # a standard deviation of sqrt 2, over the root of 2
    assert found.AP == pytest.approx((0.8, 0.01 / 2**0.5))
    assert found.tau["tau", "initial sequence"] == pytest.approx((4.0, np.hypot(0.2, 0.4) / 2))
    assert found.tau["tau_beta", "initial sequence"] == pytest.approx((8.0, np.hypot(0.4, 0.8) / 2))
    assert found.mean["tau"] == pytest.approx((30.0, 0.1 / 2**0.5))
    assert found.mean["tau_beta"] == pytest.approx((60.0, 0.2 / 2**0.5))
    value, se = found.tau["tau", "batch means"]
    assert value == 3.0
    # of the log of a chi-squared number of 72 degrees of freedom: about sqrt(2 / 72), a little more
    assert 0 < se / 3.0 - (2 / 72) ** 0.5 < 0.003
    assert found.tau["tau_beta", "batch means"].value == 6.0


def two_methods():
    return {"HMC": tables.estimates([chain(4.0)], [2.0, 4.0]),
            "normal": tables.estimates([chain(1.0) | {"g": 10.0}], [1.0, 1.0])}


def test_times_are_compared_round_by_round():
    found = two_methods()
    assert tables.ratio(found, "s", "HMC", "normal") == pytest.approx((3.0, 1.0))
    # 1/2 and 1/4: a deviation of 1/4 / sqrt 2, over the root of 2
    assert tables.ratio(found, "s", "normal", "HMC") == pytest.approx((0.375, 0.125))
    assert tables.ratio(found, "g", "normal", "HMC") == (0.5, 0.0)


def test_products_and_advantages():
    found = two_methods()  # tau by initial sequences: 5.0 (0.4) and 2.0 (0.1)
    assert tables.product(found, "tau x g", "HMC") == pytest.approx((100, 8))
    assert tables.product(found, "tau_beta x g", "normal", "batch means") == (
        pytest.approx((20, 10 * found["normal"].tau["tau_beta", "batch means"].se)))
    # relative to the time of HMC: 2 x 0.375
    assert tables.product(found, "tau x s", "normal") == pytest.approx(
        (0.75, 0.75 * np.hypot(0.05, 1 / 3)))
    value, se = tables.advantage(found, "normal", "HMC", "tau x g")
    assert value == pytest.approx(np.log(5.0 * 20 / (2.0 * 10)))
    assert se == pytest.approx(np.hypot(0.08, 0.05))
    value, se = tables.advantage(found, "normal", "HMC", "tau x s")
    assert value == pytest.approx(np.log(5.0 / 2.0 * 3.0))
    assert se == pytest.approx((0.08**2 + 0.05**2 + (1 / 3) ** 2) ** 0.5)


def test_means_are_compared_in_standard_errors():
    p, q = (SimpleNamespace(mean={"tau": mean}, tau={("tau", "initial sequence"): tau})
            for mean, tau in ((Measured(3.0, 0.3), Measured(2.0, 0.2)),
                              (Measured(1.0, 0.4), Measured(5.0, 1.0))))
    # 2 / 0.5, known to half the larger relative error of tau, 20 %
    assert tables.distance(p, q, "tau") == pytest.approx((4.0, 0.4))
    assert tables.distance(q, p, "tau") == tables.distance(p, q, "tau")


def test_proportional_is_what_two_rounded_times_can_be(monkeypatch):
    seconds = {"HMC": 5.0, "normal": 2.0, "data": 3.0}
    monkeypatch.setattr(tables, "PROBLEMS", ["one"])
    monkeypatch.setattr(tables, "number", lambda name, row, method: seconds[method])
    monkeypatch.setattr(tables, "half_unit", lambda name, row, method: 0.5)
    monkeypatch.setattr(tables, "gradients", lambda name, method: {"HMC": 20.0}.get(method, 10.0))
    # g is half that of HMC: s may be 1.5 / 5.5 of its s, up to 3.5 / 4.5
    assert tables.proportional() == pytest.approx((2 * 1.5 / 5.5, 2 * 3.5 / 4.5))


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "Chess"])  # its own g is 9
def test_ours_stand_beside_the_papers_in_its_units(name):
    found = {method: made_up()[name][method] for method in METHODS}
    for method, row in product(METHODS, ROWS):  # so that one sees which estimator stands where
        found[method].tau[row, "initial sequence"] *= 3.0
    heads, _, *lines = tables.laid_out(name, found).splitlines()
    assert re.split(r"\s{2,}", heads.strip()) == [
        name, *(head for method in METHODS for head in ("paper", f"{method}: ours"))]
    for line in lines:
        label, *cells = re.split(r"\s{2,}", line.strip())
        row, _, later = label.partition(", initial")
        printed = PROBLEMS[name].rows.get(row.partition(", batch")[0].removesuffix(", s"))
        for method, theirs, ours in zip(METHODS, cells[::2], cells[1::2], strict=True):
            assert theirs == printed[method] if printed and not later else "(" not in theirs
            wanted = printed[method] if theirs == "-" else theirs
            assert float(ours.split()[0]) == pytest.approx(
                float(wanted) * (3 if later else 1), rel=0.15)


def test_the_circles_are_what_other_data_sets_give():
    found = made_up()["Chess"]
    others = {method: made_up()["Chess"][method] for method in METHODS}
    for method, row in product(METHODS, ROWS):
        others[method].tau[row, "initial sequence"] *= 1.1
    fig = tables.dot_plot({"Chess": found}, [others])
    for ax, measure in zip(np.reshape(fig.axes, (2, 2)).T.flat, tables.MEASURES, strict=True):
        circles = [line.get_xydata()[0] for line in ax.lines
                   if line.get_markerfacecolor() == "none"]
        np.testing.assert_allclose(circles, [
            (tables.product(others, measure, method).value, y - 0.25)
            for y, method in enumerate(ALL) if method in METHODS], rtol=1e-12)
        # of HMC: two estimators, and print with the error of its batch means
        named = {mark.get_label().split(", ")[-1]: (mark.get_marker(), mark.get_color())
                 for mark in fig.legends[0].legend_handles}
        points = [bar.lines[0] for bar in ax.containers[:3]]
        for point, name in zip(points, ("batch means", "initial sequence"), strict=False):
            assert named[name] == (point.get_marker(), point.get_color())
            assert point.get_xdata()[0] == pytest.approx(
                tables.product(found, measure, "HMC", name).value, rel=1e-12)
        x, ends = points[2].get_xdata()[0], ax.containers[2].lines[2][0].get_segments()[0][:, 0]
        assert np.log(ends / x) == pytest.approx([-2 * SE_LOG_TAU, 2 * SE_LOG_TAU], rel=1e-9)


def test_the_papers_point_has_the_gradients_that_its_section_counts():
    # for Chess the normal split is printed with g = 13, and by Section 3.3 it has 9
    axes = tables.dot_plot({"Chess": made_up()["Chess"]}).axes
    panels = dict(zip(tables.MEASURES, np.reshape(axes, (2, 2)).T.flat, strict=True))
    for measure in (each for each in panels if each.endswith(" x g")):
        points = [bar.lines[0].get_xdata()[0] for bar in panels[measure].containers
                  if bar.lines[0].get_color() == "k"]
        assert points == pytest.approx([
            number("Chess", measure.removesuffix(" x g"), method) * gradients("Chess", method)
            for method in METHODS], rel=1e-12)


def test_a_circle_beyond_the_axis_is_a_number_at_its_edge():
    _, ax = plt.subplots()
    ax.set_xlim(1, 10)
    tables.open_circles(ax, [(14.0, 2), (20.0, 5)])  # there is room for half as much again
    inside, beyond = ax.lines
    assert inside.get_xydata().tolist() == [[14, 2]] and beyond.get_xydata().tolist() == [[15, 5]]
    assert [text.get_text() for text in ax.texts] == ["20"] and ax.get_xlim() == (1, 15)
