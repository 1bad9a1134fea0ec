"""The plane of r and s: estimates, claims, and what is run."""

from functools import cache
from itertools import count, product
from types import SimpleNamespace

import numpy as np
import pytest

from judging import check_labels, check_moves, put
from reproduce.beyond import wang_r_s as plane
from reproduce.harness.claims import Measured
from reproduce.wang.chains import NARROW, SLICES, WIDE


def made_up():
    """Return a result in which r = s = 1 is the best by a factor of two."""
    return {"rows": {number: {unit: {name: {
        pair: {"tau": Measured(5.0, 0.1), "cost": 1.0 if pair == (1, 1) else 2.0,
               "accepted": Measured(0.5 if pair[1] == 1 else 0.3, 0.01),
               "hits": Measured(0.0 if pair[0] == 1 else 0.8, 0.01 * (pair[0] > 1))}
        for pair in product(*plane.PLANE["paper"])} for name in SLICES} for unit in plane.UNITS}
        for number in plane.SAMPLED["paper"]}}


BEST = "rows 1, 2, 4: least log(cost of a draw, other r and s / r = s = 1)"


def everywhere(number, pair, **values):
    """Make a function that puts values of a pair into all units and slices of a row."""
    return lambda r: any(each[pair].update(values) for names in r["rows"][number].values()
                         for each in names.values())


MOVED = {
    "r = 4, s = 2 is better": (everywhere(2, (4, 2), cost=0.5), [BEST]),
    "r = 2 is better once": (put("rows", 1, "random", NARROW, (2, 1), "cost", 0.2), [BEST]),
    **{f"nothing is kept, {number}, {unit}": (
        put("rows", number, unit, WIDE, (8, 1), "hits", Measured(0.49, 0.01)),
        [f"row {number}, {unit}, {WIDE}: share of known energies, r = 8, s = 1"])
       for number in (1, 2, 4) for unit in plane.UNITS},
    "large steps are accepted as often": (
        everywhere(1, (1, 4), accepted=Measured(0.7, 0.01)),
        ["rows 1, 2, 4: least rate of acceptance, s = 1 less s = 4"]),
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(plane, made_up(), MOVED)


def test_a_scan_of_slices_has_the_least_cost_of_three_rows():
    result = made_up()
    for number, gain in ((1, 0.3), (2, 0.1), (4, 0.2)):  # of another pair in each row
        result["rows"][number]["sweep"][NARROW][number, 2]["tau"] = Measured(5 * gain, 0.1 * gain)
    found = dict(zip(*plane.scan(result, plane.least_log_cost_ratio), strict=True))
    assert [found[f"{unit}, {NARROW}"].value for unit in ("sweep", "random")] == pytest.approx(
        np.log([0.2, 2.0]), rel=1e-12)
    each = {(1, 1): {"tau": Measured(4.0, 0.4), "cost": 3.0},
            (1, 2): {"tau": Measured(6.0, 0.06), "cost": 3.0},
            (2, 1): {"tau": Measured(4.0, 4.0), "cost": 2.0}}
    assert plane.log_cost_per_draw(each, (1, 1)) == pytest.approx((np.log(12), 0.1), rel=1e-12)
    # (2, 1) is lower, by 0.4 standard errors of its own
    assert plane.least_log_cost_ratio(each).value == pytest.approx(np.log(2 / 3), rel=1e-12)


def test_an_evaluation_is_priced_by_how_many_variables_have_changed(monkeypatch):
    for name, stands_for in (
            ("replicates_by_key", lambda experiment, function, tasks, *_, **__: tasks),
            ("combine", lambda chains: {}), ("share_of_hits", lambda chain: 0.5),
            ("clocks", lambda experiment, rows, *_: dict.fromkeys(rows)),
            ("cost", lambda chains, method, priced, *_: priced)):
        monkeypatch.setattr(plane, name, stands_for)
    rows = plane.run(SimpleNamespace(budget="paper", seed=1), None)["rows"]
    assert {(unit, *pair) for units in rows.values() for unit, names in units.items()
            for pairs in names.values() for pair, each in pairs.items()
            if each["cost"] == "variable"} == {("random", 1, 1)}


def test_what_a_mark_knows_by_enumeration():
    # of two moves the second goes back half of the time; of three: 8 walks, new steps 3 for two
    # of them, 2 for four, 1 for two
    assert plane.known_part(1) == 0.0 and plane.known_part(2) == 0.25
    assert plane.known_part(3) == pytest.approx(1 - 2 / 3, rel=1e-12)
    known = plane.MOST * plane.known_part(plane.MOST)
    assert known_at(1.0, plane.MOST) == pytest.approx(known, rel=1e-12)
    for rate in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        assert known_at(rate, plane.MOST) > known


@cache
def known_at(rate, r, at=0, low=0, high=0):
    """Return how many of r moves, each accepted at that rate, go where it was, low to high."""
    return sum(share / 2 * ((low <= there <= high)
                            + known_at(rate, r - 1, place, min(low, there), max(high, there)))
               for there in (at - 1, at + 1)
               for place, share in ((there, rate), (at, 1 - rate))) if r else 0


def test_a_line_of_the_figure_is_of_its_row_unit_s_and_slice():
    result, number_of = made_up(), count(1.0)
    for number, unit, name in product((1, 2, 4), plane.UNITS, SLICES):
        for found in result["rows"][number][unit][name].values():
            found["cost"] = next(number_of)
    axes = plane.figure(result).axes
    check_labels(axes, *[("r", "evaluations"), ("r", ""), ("r", "")] * 2)
    places = [(number, unit) for unit in plane.UNITS for number in result["rows"]]
    for ax, (number, unit) in zip(axes, places, strict=True):
        assert ax.get_title() == f"row {number}, {unit}"
        drawn = {line.get_label(): line.get_xydata() for line in ax.lines}
        moves, steps = plane.PLANE["paper"]
        assert set(drawn) == {f"s = {s}, {name}" for s in steps for name in SLICES}
        for s, (name, each) in product(steps, result["rows"][number][unit].items()):
            np.testing.assert_allclose(drawn[f"s = {s}, {name}"], [
                (r, 5 * each[r, s]["cost"]) for r in moves], rtol=1e-12)
