"""Table 2 of Wang and Neal: each claim on results whose truth is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from judging import check_labels, check_moves, read_table, verdicts
from reproduce import wang_table2 as table2
from reproduce.harness.claims import WEAK, Measured, judge, power
from reproduce.wang.printed import MAPPING, METHODS, NYSTROM, ROWS, SOD, STANDARD, TEMPERED
from reproduce.wang.tables import CELLS, COSTS, GAINS, SETTINGS, Cell

SURE = 0.01  # standard error of what is made up


def layers(number, method):
    """Return the costs of the layers, as a subset of m of n cases would have them."""
    m = np.atleast_1d(ROWS[number].m.get(method, ()))
    return [1.5 * (each / ROWS[number].n) ** 3 + 0.02 for each in m]


def made_up_gain(number, method, setting):
    """Return the paper's, with a subset four times at most, and less of Nystrom with "sweep"."""
    if method == STANDARD:
        return 0.0
    gain = -np.log(ROWS[number].ratio[method])
    if method == SOD:
        return min(gain, 1.37)
    return gain - 0.3 * (method == NYSTROM and setting.startswith("sweep"))


def made_up():
    """Return a result with which every claim of Tables 2 and 3 agrees."""
    result = {number: {setting: {} for setting in SETTINGS} for number in ROWS}
    for k, (number, method) in enumerate(CELLS):
        row = ROWS[number]
        for setting in SETTINGS:
            gain = made_up_gain(number, method, setting)
            result[number][setting][method] = Cell(
                logs={}, noise={}, sets={}, means={"first": 2.0, "literal": 3.0, "geyer": 4.0},
                # half of them a little above the paper's, half below
                tau=Measured(np.log(row.tau[method]) + 0.05 * (-1) ** k, SURE),
                gain={by: Measured(gain, SURE) for by in COSTS},
                apart={other: dict.fromkeys(COSTS, SURE) for other in row.methods},
                seconds=row.seconds[method] / 50, evaluations=20.0, updates=4.5,
                pi=5.0 if method == STANDARD else 1.0, accepted=0.9, ratio=layers(number, method))
    return result


def shown():
    """Return it with another number in each column of the tables, by the setting's place."""
    result = made_up()
    for place, cells in enumerate(result[1].values(), 1):
        for method, cell in cells.items():
            cells[method] = cell._replace(
                tau=Measured(np.log(place), 0.1), accepted=place / 10, seconds=place / 50,
                evaluations=30.0 + place, gain={by: Measured(-np.log(place * factor), SURE)
                                                for by, factor in zip(COSTS, (1, 10), strict=True)})
    return result


def check(script, moved, chosen=lambda claim: True):
    """Check moves of the chosen claims of a script; weak: their luck hides a factor of three."""
    claims = [claim for claim in script.CLAIMS if chosen(claim)]
    check_moves(SimpleNamespace(CLAIMS=claims), made_up(), moved, weak=[
        claim.what for claim in claims
        if claim.kind == "printed number" and power(claim, Measured(0.0, SURE)) > WEAK])


def more(by, numbers=tuple(ROWS), methods=(SOD,), cost=None):
    """Make a function that adds to the gains of some rows and methods, by one cost or by both."""
    def change(result):
        for cells in (cells for number in numbers for cells in result[number].values()):
            for method in cells.keys() & methods:
                for name in (cost,) if cost else COSTS:
                    cells[method].gain[name] += Measured(by)
    return change


RATIO = "log(mean gain of SOD over the ten rows / the paper's), seconds"
LARGEST = "largest log gain of SOD, seconds"
SAVINGS = "mean log gain of SOD, n = 900 / n = 300, seconds"
LESS = "mean log gain of the better mapping, the other six / 2 to 5, seconds"
LEAST = "least log(T, better mapping / tempered) of 2 to 5, seconds"
MOST = "largest log(T, better mapping / tempered) of 2 to 5, seconds"
ALWAYS = "rows of ten in which SOD gains, seconds"
RELIABLE = "rows in which SOD gains, less those in which Nystrom does, seconds"
TEN = "10: log(T, SOD / Nystrom), seconds"
JOINT = {method: f"{method}: the gains of Table 2 at once, seconds" for method in METHODS[1:]}


def beside(number, method, by):
    """Return the sentences in which a cell counts that gains far less or far more."""
    poor, only = number in range(2, 6), number in (7, 8)  # only: no other mapping is the better
    return {(SOD, -9): [RATIO] + [SAVINGS] * (number > 5) + [LESS] * only,
            (SOD, 9): [RATIO, LARGEST] + [SAVINGS] * (number < 6) + [LESS, LEAST] * poor
            + [TEN] * (number == 10),
            (NYSTROM, -9): [TEN] * (number == 10), (NYSTROM, 9): [LESS, LEAST] * poor,
            (TEMPERED, -9): [LEAST] * poor}.get((method, by), [])


FAR = {f"{number}, {method}, {by}": (more(by, [number], [method]), number, method, by)
       for number, method in GAINS for by in (-9, 9)}
MOVED = {
    **{name: (change, [JOINT[method], *beside(number, method, by)])
       for name, (change, number, method, by) in FAR.items()},
    "SOD gains nothing": (more(-1), [RATIO, LARGEST, ALWAYS, RELIABLE, JOINT[SOD]]),
    "SOD gains five times on 6": (more(0.3, [6]), [LARGEST]),
    "a large n is of no use": (lambda r: [more(by, numbers)(r) for by, numbers in (
        (-1.7, [7]), (-0.5, [10]), (0.4, [1, 2, 3]))] and r, [SAVINGS, ALWAYS, JOINT[SOD]]),
    "Nystrom is worse on 10": (more(-0.6, [10], [NYSTROM]), [TEN]),
    "Nystrom is far worse on 10 with one setting": (lambda r: more(-9, [10], [NYSTROM])(
        {10: {name: r[10][name] for name in ["sweep, w = 1, limit 10"]}}), [TEN]),
    "mapping is good on 2 to 5": (more(2.0, range(2, 6), MAPPING), [
        LESS, LEAST, MOST, SAVINGS, RATIO, LARGEST, JOINT[SOD], JOINT[NYSTROM]]),
    "mapping is as good on 2 to 5": (more(2.1, [4, 5], [NYSTROM]), [LESS, LEAST, JOINT[NYSTROM]]),
    "tempered transitions are worse on 4": (more(-0.3, [4], [TEMPERED]), [LEAST]),
    "tempered transitions are not much better": (more(-1.4, [2, 3], [TEMPERED]), [
        MOST, LEAST, JOINT[TEMPERED]]),
    "in seconds all is worse": (more(-1, cost="seconds"), [
        RATIO, LARGEST, ALWAYS, RELIABLE, JOINT[SOD]]),
}


def test_what_is_moved_differs():
    check(table2, MOVED, lambda claim: not claim.cell)
    check(table2, {name: (change, [f"{number}, {each}: " for each in ROWS[number].methods[1:]])
                   for name, (change, number, *_) in FAR.items()}, lambda claim: claim.cell)


def test_one_experiment_is_one_claim_by_the_papers_cost():
    result = made_up()
    for by in (-9, 9):
        more(by, cost="evaluations")(result)
        assert verdicts(table2, result) == verdicts(table2, made_up())
    # what an evaluation of an approximation costs is timed, too
    assert judge(table2.CLAIMS, result, "smoke") == judge(table2.CLAIMS, result, "short") == []


def test_pairs_are_of_one_kind_with_300_and_with_900_cases():
    (small, large) = zip(*table2.PAIRS, strict=True)
    assert [*small, *large] == list(ROWS)
    for a, b in table2.PAIRS:
        assert [(ROWS[k].n, ROWS[k].size, ROWS[k].kind, ROWS[k].p) for k in (a, b)] == [
            (n, ROWS[a].size, ROWS[a].kind, ROWS[a].p) for n in (300, 900)]


def test_the_table_by_hand():
    standard, sod, *_ = read_table(table2.table(shown()))
    rates = {"acceptance": "0.10 0.20 0.30 0.40"}
    assert standard == {"T_STD, T / T_STD": "1 short isotropic", "paper": "0.76 s", **{
        f"evaluations {k}": str(k * (30 + k)) for k in range(1, 5)}, **{
        f"seconds {k}": f"{k * k / 50} s" for k in range(1, 5)}} | rates
    assert sod == {"T_STD, T / T_STD": "SOD 40", "paper": "0.45", **{
        f"evaluations {k}": f"{k}.000 (0.0{k}0)" for k in range(1, 5)}, **{
        f"seconds {k}": f"{k}0.00 (0.{k}0)" for k in range(1, 5)}} | rates


def test_the_figure_has_gains_in_cpu_time():
    result = shown()
    axes = table2.figure(result).axes
    check_labels(axes, ("data set", "times faster"), *[("data set", "")] * 2)
    for ax, method in zip(axes, (SOD, NYSTROM, TEMPERED), strict=True):
        assert ax.get_title() == method
        (stars,) = [line for line in ax.get_lines() if line.get_label() == "paper"]
        np.testing.assert_allclose(stars.get_ydata(), [
            1 / row.ratio[method] for row in ROWS.values() if method in row.methods])
        for bars, setting in zip(ax.containers, SETTINGS, strict=True):
            assert bars.lines[0].get_ydata()[0] == pytest.approx(
                np.exp(result[1][setting][method].gain["seconds"].value))
