"""Table 3 of Wang and Neal: each claim on results whose truth is known."""

import numpy as np
import pytest

from judging import check_labels, read_tables, verdicts
from reproduce import wang_table3 as table3
from reproduce.harness.claims import Measured
from reproduce.wang.printed import NYSTROM, ROWS, SOD, STANDARD, TEMPERED
from reproduce.wang.tables import CELLS, GAINS, MAIN, SETTINGS
from test_wang_table2 import check, layers, made_up, more, shown


def times(number, methods, what, factor):
    """Make a function that multiplies something of a row, in all settings."""
    def change(result):
        for cells in result[number].values():
            for method in methods:
                old = getattr(cells[method], what)
                cells[method] = cells[method]._replace(**{what: (
                    old + Measured(np.log(factor)) if what == "tau" else
                    [factor * x for x in old] if what == "ratio" else factor * old)})
    return change


def row(number):
    """Return how the claims of a row of the table begin."""
    return {f"{number}, {method}: log({each}" for method in ROWS[number].methods
            for each in ("tau", "time") if (method, each) != (STANDARD, "time")}


NYSTROM_GAINS = {"log(gain of Nystrom), mean", "log(gain of Nystrom), largest"}
# what is moved, and the claims that must differ
MOVED = {
    **{f"tau of {number}, {method}": (times(number, [method], "tau", 20.0), {
        *row(number), f"{method}: the autocorrelation times"}) for number, method in CELLS},
    **{f"time of {number}, {method}, {factor}": (
        times(number, [method], "seconds", factor), row(number))
       for number, method in GAINS for factor in (0.42, 2.4)},
    "pi is evaluated twice": (times(4, [SOD], "pi", 2.0), {"largest |evaluations of pi"}),
    "pi is not evaluated": (times(4, [TEMPERED], "pi", 0.5), {"largest |evaluations of pi"}),
    **{f"Nystrom on {number}": (times(number, [NYSTROM], "accepted", 0.8), {
        f"{number}: acceptance"}) for number in table3.LARGE},
    # only another printed time can do that: 1 / e grows as t* falls, to CPU / CPU_STD
    "a subset costs nothing": (times(4, [SOD], "ratio", 0.05), {
        "least evaluations in an update", "least log(t* / t"}),
    "a subset is dear on 10": (times(10, [SOD], "ratio", 4.3), {"most evaluations in an"}),
    "'sweep' is possible on some": (
        lambda r: any(times(n, [SOD], "ratio", f)(r) for n, f in ((4, 1.2), (9, 3.0))),
        {"data sets with less than one"}),
    **{f"layers cost nothing on {number}": (times(number, [TEMPERED], "ratio", 0.01), {
        f"{number}: 1 / e by tempered"}) for number in table3.INSTEAD},
    "'sweep' is nearer to the paper": (lambda r: more(-0.25, methods=[NYSTROM], cost="evaluations")(
        {n: {s: cells for s, cells in row.items() if s.startswith("variable")}
         for n, row in r.items()}), {"sum of z^2 of the gains"}),
    "Nystrom loses with one setting": (lambda r: more(-9, methods=[NYSTROM], cost="seconds")(
        {n: {MAIN: row[MAIN]} for n, row in r.items()}), NYSTROM_GAINS),
    "Nystrom gains nothing": (more(-1.2, methods=[NYSTROM], cost="seconds"), NYSTROM_GAINS),
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check(table3, MOVED)


def test_what_is_claimed_at_the_shorter_budgets():
    result = {number: row for number, row in made_up().items() if number < 6}
    for budget in ("smoke", "short"):  # seconds of a few iterations say nothing
        (what,) = verdicts(table3, result, budget)
        assert what.startswith("largest |evaluations of pi")


def test_the_figure_has_autocorrelation_times_and_not_their_logs():
    fig = table3.figure(made_up())
    check_labels(fig.axes, ("", "autocorrelation"), ("", ""), ("data set", "autocorrelation"),
                 ("data set", ""))
    # a sweep of the standard sampler is the same; the legend has what it lacks
    assert [len(ax.containers) for ax in fig.axes] == [2, 4, 4, 4]
    assert {text.get_text() for text in fig.legends[0].get_texts()} == {*SETTINGS, "paper"}
    for ax in fig.axes:
        (stars,) = [line for line in ax.get_lines() if line.get_label() == "paper"]
        others = [line for line in ax.get_lines() if line is not stars]
        assert others
        for line in others:  # as made up: what the paper has, to a twentieth
            np.testing.assert_allclose(line.get_ydata(), stars.get_ydata(), rtol=0.1)
    of_sod = table3.figure(shown()).axes[1].containers  # of data set 1 the setting's place
    assert [bars.lines[0].get_ydata()[0] for bars in of_sod] == pytest.approx([1, 2, 3, 4])


def test_the_tables_by_hand():
    (_, taus, *_), (_, times, *_), (updates, *_) = read_tables(table3.table(shown()))
    places = {str(k): str(k) for k in range(1, 5)}
    assert taus == {"tau": "1 SOD", "paper": "4.32", "1 (s.e., with sets)": "1.00 (0.10)",
                    "1 first": "2", "1 literal": "3", "1 Geyer": "4",
                    "acceptance": "0.10 0.20 0.30 0.40"} | places
    assert times == {"iteration": "1 SOD", "paper, s": "0.078", "e": "4.5", "t* / t": "0.024", **{
        f"{k}, ms": str(20 * k) for k in range(1, 5)}, **{
        f"{k}, pi": str(30 + k) for k in range(1, 5)}}
    e = 1 / (0.078 / 0.26 - layers(1, SOD)[0])  # and of three variables
    assert [float(updates[unit]) for unit in ("variable", "sweep")] == pytest.approx(
        [e, e / 3], rel=1e-3)


def test_both_sums_of_squares_have_the_errors_of_sweeps(monkeypatch):
    asked = []
    monkeypatch.setattr(table3.tables, "z_gain", lambda r, *which: asked.append(
        [setting.split(",")[0] for setting in which]) or np.ones(2))
    (claim,) = [each for each in table3.CLAIMS if each.what.startswith("sum of z^2")]
    assert len(claim.ours(made_up())[0]) == 2
    assert asked == [["sweep", "sweep"], ["variable", "sweep"]] * 2


def test_the_claim_about_few_columns_names_the_rows_that_have_few():
    few = [n for n, row in ROWS.items() if row.m.get(NYSTROM, row.n) < 0.15 * row.n]
    (claim,) = [each for each in table3.CLAIMS if "m below .15 n" in each.what]
    assert claim.why.endswith("rows {}, {}, {} and {}".format(*few))
