"""The cost of a draw against m: estimates, claims, and what is run."""

import numpy as np
import pytest

import studies
from judging import check_labels, check_moves, put
from reproduce.beyond import wang_m as script
from reproduce.harness.claims import Measured
from reproduce.wang import eigen_exact
from reproduce.wang.long_chains import PIVOTED, RANDOM
from reproduce.wang.printed import NYSTROM, ROWS, SOD


def made_up():
    """Return a result: the best m is a quarter of n, and costs grow by the square of its log."""
    curves = {}
    for number, method, columns, m, _ in script.plan("paper"):
        part = np.log(m / ROWS[number].n / 0.25)
        curves.setdefault(number, {}).setdefault(method, {}).setdefault(columns, {})[m] = {
            "draw": Measured(1.0 + 0.6 * part**2, 0.02), "luck": 0.1,
            "accepted": Measured(0.9 if columns == PIVOTED else 0.8 + m / 1e5, 0.01)}
    return {"n": {number: row.n for number, row in ROWS.items()}, "curves": curves,
            "eigen": {number: {"all": Measured(9.0, 0.1), "first m": Measured(4.0, 0.1)}
                      for number in script.EIGEN},
            "slow": {number: Measured(2.0, 0.1) for number in script.REFUSED[:3]},
            "refused": {number: {part: Measured(0.1 if part < 0.95 else 0.9, 0.01)
                                 for part in script.MANY} for number in script.REFUSED}}


def at_least_m(r, number, method):
    curve = r["curves"][number][method][RANDOM]
    return curve[min(curve)]


def priced(method, where, log_cost):
    """Make a function that gives draws another cost at some m of each row of a method."""
    def change(r):
        for number in script.CURVES[method]:
            where(r, number, method)["draw"] = Measured(log_cost, 0.01)
    return change


MOVED = {
    **{f"{method} is cheap outside": (priced(method, at_least_m, 0.85), [
        f"{method}: log(cost of a draw, m outside", f"{method}: log(cost of a draw at"])
       for method in script.CURVES},
    **{f"the paper's m of {method} is bad": (priced(method, script.cost_at_paper_m, 3.0), [
        f"{method}: log(cost of a draw at"]) for method in script.CURVES},
    **{f"four of five columns do for row {number}": (
        put("refused", number, 0.8, Measured(0.8, 0.01)),
        [f"row {number}, Nystrom: least m / n that works"]) for number in script.REFUSED},
    **{f"Nystrom is fast, {number}": (put("slow", number, Measured(0.9, 0.01)), [
        f"row {number}, Nystrom of 95 %"]) for number in script.REFUSED[:3]},
    **{f"the first eigenvectors are fast, {number}": (
        put("eigen", number, "first m", Measured(0.85, 0.01)), [f"row {number}, Eigen-exact"])
       for number in script.EIGEN},
    **{f"a tenth does not do for row {number}": (
        put("curves", number, NYSTROM, RANDOM, 90, "accepted", Measured(0.7, 0.01)),
        [f"row {number}, Nystrom of 10 %: acceptance rate"]) for number in (9, 10)},
    **{f"pivots are no better, {number}": (
        lambda r, number=number: any(each.update(accepted=Measured(0.7, 0.01))
                                     for each in r["curves"][number][NYSTROM][PIVOTED].values()),
        [f"row {number}, Nystrom: acceptance, pivoted"]) for number in script.BOTH_COLUMNS},
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(script, made_up(), MOVED)


def test_the_least_cost_pivots_and_columns_by_hand():
    draws = {29: 1.0, 30: 3.0, 60: 2.0, 150: 4.0, 151: 1.5}
    result = {"n": {4: 300}, "curves": {4: {SOD: {RANDOM: {
        m: {"draw": Measured(value, 0.1)} for m, value in draws.items()}}}}}
    assert [script.least_log_cost(result, 4, SOD, inside).value for inside in (
        None, True, False)] == [1.0, 2.0, 1.0]
    assert script.excess(result, 4, SOD) == (3.0, 0.1)  # the paper has 150
    lucks = [{"draw": Measured(value, 0.3), "accepted": rate}
             for value, rate in ((1.0, 0.2), (2.0, 0.3), (3.0, 0.7))]
    found = script.combine_subsets(lucks)
    assert found["draw"] == (2.0, pytest.approx(3**-0.5)) and found["luck"] == 1.0
    # deviations of -.2, -.1 and .3: .14 / 2 / 3
    assert found["accepted"] == pytest.approx((0.4, (0.14 / 6) ** 0.5))
    one = script.combine_subsets(lucks[:1])
    assert one["draw"] == (1.0, 0.3) and np.isnan(one["luck"])
    kinds = {columns: {m: {"accepted": Measured(*rate)} for m, rate in rates.items()}
             for columns, rates in ((PIVOTED, {9: (0.9, 0.03), 30: (1.0, 0.04)}), (RANDOM, {
                 9: (0.1, 0.04), 30: (0.9, 0.03), 40: (0.95, 0.01)}))}  # 40: random ones alone
    found = script.pivoting_gain({"curves": {4: {NYSTROM: kinds}}}, 4)
    assert found == pytest.approx((0.45, 0.05 / 2**0.5))
    result = {"refused": {2: {0.5: Measured(0.3), 0.8: Measured(0.5), 1.0: Measured(0.7)}}}
    # a half is as many; none, at last
    assert script.smallest_working_part(result, 2) == (script.WORKS, ((0.5, 0), (0.8, 0), (2.0, 0)))


def test_nystrom_of_nearly_all_columns_is_timed_against_the_posterior(monkeypatch):
    times = {"pi": [[2.0, 2.0], [4.0, 2.0]], "Nystrom 285": [[9.0, 4.0], [9.0, 4.0]],
             "Nystrom 855": [[6.0, 2.0], [6.0, 2.0]]}  # a column is a round: of (3, 2) for pi
    monkeypatch.setattr(script, "clocks", lambda experiment, rows, timed, n: {
        number: {"seconds": {"trial": {name: times[name] for name in ("pi", *(
            f"{method} {m}" for method, _, _, _, m in each.values()))}}}
        for number, each in rows.items()})
    # a move is accepted as often as there are columns, in thousandths
    refused, slow = script.nystrom_acceptance(studies.Recorder("paper", lambda function, tasks: [
        {"accepted": [task["m"] / 1000] * 2} for task in tasks]))
    assert slow == {2: (2.5, 0.5), 3: (2.5, 0.5), 7: (1.5, 0.5)}
    for number, rates in refused.items():
        assert {part: rate.value for part, rate in rates.items()} == {
            part: pytest.approx(part * ROWS[number].n / 1000) for part in script.MANY}


def test_eigenvectors_are_timed_against_the_posterior_in_each_round():
    timed = studies.Recorder("paper", lambda function, tasks: [
        {"seconds": {"pi": [2.0, 4.0], "all": [6.0, 4.0], "first m": [9.0, 10.0]}}])
    found = {"all": (2.0, 1.0), "first m": (3.5, 1.0)}
    assert eigen_exact.eigen_times(timed, {4: 30, 9: 60}, 2) == {4: found, 9: found}
    assert [[task["m"] for task in tasks] for _, tasks in timed.calls] == [[30], [60]]  # in turn


def test_times_are_of_one_evaluation_by_the_approximation(monkeypatch):
    asked, ticks = {}, iter(range(0, 600, 10))
    monkeypatch.setattr(eigen_exact.time, "thread_time", lambda: float(next(ticks)))
    monkeypatch.setattr(eigen_exact, "scratches", lambda q, times, model: asked.update(
        {type(model).__name__: (times, getattr(model, "m", None))}))
    monkeypatch.setattr(eigen_exact, "eigh", lambda K, subset_by_index: asked.update(
        K=K, ends=subset_by_index))
    assert eigen_exact.eigen_clock(4, 3, 2, 12)["seconds"] == {
        "pi": [2.0] * 2, "all": [10.0] * 2, "first m": [10.0] * 2}
    assert (asked["GPRegression"], asked["GPEigen"], asked["ends"]) == ((5, None), (1, 3), [9, 11])
    # the kernel without its noise: 10^2 + 5^2 on the diagonal
    np.testing.assert_allclose(np.diag(asked["K"]), 125, rtol=1e-12)
    np.testing.assert_array_equal(asked["K"], asked["K"].T)


def test_the_figure_marks_the_papers_m_and_pivoted_columns_and_has_two_standard_errors():
    r = made_up()
    axes = script.figure(r).axes
    check_labels(axes, *[("m / n", "evaluations")] * 2, ("m / n", "acceptance"))
    for ax, method in zip(axes, script.CURVES, strict=False):
        assert ax.get_title() == method
        marked = {marker: [line.get_xdata().tolist() for line in ax.lines
                           if line.get_marker() == marker and line.get_markersize() >= size]
                  for marker, size in (("D", 9), ("x", 0))}  # a smaller D is a row's own
        rows = sorted(number for number, methods in r["curves"].items() if method in methods)
        assert sorted(marked["D"]) == sorted(
            [ROWS[number].m[method] / ROWS[number].n] for number in rows)
        assert sorted(map(len, marked["x"])) == sorted(
            len(r["curves"][number][method][PIVOTED]) for number in script.BOTH_COLUMNS
            if method == NYSTROM)
    named = {mark.get_label(): mark.get_marker() for mark in axes[0].figure.legends[0].get_lines()}
    assert (named["the paper's m (grey: its range)"], named["pivoted columns"]) == ("D", "x")
    for bar, parts in zip(axes[2].containers, r["refused"].values(), strict=True):
        assert list(bar.lines[0].get_xdata()) == list(parts)
        ends = [tuple(segment[:, 1]) for segment in bar.lines[2][0].get_segments()]
        assert ends == [pytest.approx((y - 0.02, y + 0.02)) for y in bar.lines[0].get_ydata()]
