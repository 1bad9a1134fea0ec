"""The cost of a draw against m: estimates, claims, and what is run."""

import numpy as np
import pytest

from judging import differing, verdicts
from reproduce.beyond import wang_m as script
from reproduce.harness.claims import BUDGETS, Measured, judge
from reproduce.harness.style import plt
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
            "accepted": (rate := 0.6 if columns == PIVOTED else 0.4 + m / 1e5),
            "rate": Measured(rate, 0.01)}
    return {"n": {number: row.n for number, row in ROWS.items()}, "curves": curves,
            "eigen": {number: {"all": Measured(9.0, 0.1), "first m": Measured(4.0, 0.1)}
                      for number in script.EIGEN},
            "slow": {number: Measured(2.0, 0.1) for number in script.REFUSED[:3]},
            "refused": {number: {part: Measured(0.1 if part < 0.95 else 0.9, 0.01)
                                 for part in script.MANY} for number in script.REFUSED}}


def test_every_claim_agrees_where_it_is_true():
    assert set(verdicts(script, made_up()).values()) == {"agrees"}


def cheap_outside(r):
    for methods in r["curves"].values():
        if SOD in methods:
            methods[SOD][RANDOM][max(methods[SOD][RANDOM])]["draw"] = Measured(0.93, 0.01)


def small_m_of_the_paper(r):
    for number, methods in r["curves"].items():
        if NYSTROM in methods:
            script.cost_at_paper_m(r, number, NYSTROM)["draw"] = Measured(3.0, 0.02)


COST = "log(cost of a draw at the paper's m / the least)"
MOVED = {
    "large subsets are better": (cheap_outside, [
        "SOD: log(cost of a draw, m outside / in 10 to 50 % of n), mean over rows"]),
    "the paper's m of Nystrom is bad": (small_m_of_the_paper, [
        f"Nystrom: {COST}, mean over rows"]),
    "half of the columns do for row 7": (
        lambda r: r["refused"][7].update({0.5: Measured(0.8, 0.01)}),
        ["row 7, Nystrom: least m / n that works"]),
    "Nystrom is fast": (lambda r: r["slow"].update({3: Measured(0.5, 0.01)}), [
        "row 3, Nystrom of 95 %: time of an evaluation / the posterior's"]),
    "the first eigenvectors are fast": (
        lambda r: r["eigen"][9].update({"first m": Measured(0.5, 0.01)}),
        ["row 9, Eigen-exact: log(least time of an evaluation / the posterior's)"]),
    "a tenth does not do for row 9": (
        lambda r: r["curves"][9][NYSTROM][RANDOM][90].update(accepted=0.1),
        ["row 9, Nystrom of 10 %: acceptance rate"]),
    "pivots are no better": (
        lambda r: [each.update(rate=Measured(0.3, 0.01))
                   for each in r["curves"][4][NYSTROM][PIVOTED].values()],
        ["row 4, Nystrom: acceptance, pivoted columns less random ones"]),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    change, wanted = MOVED[name]
    assert differing(script, made_up(), change) == set(wanted)


def test_the_best_inside_and_outside_of_the_papers_range():
    draws = {29: 1.0, 30: 3.0, 60: 2.0, 150: 4.0, 151: 1.5}
    result = {"n": {4: 300}, "curves": {4: {SOD: {RANDOM: {
        m: {"draw": Measured(value, 0.1)} for m, value in draws.items()}}}}}
    assert script.least_log_cost(result, 4, SOD).value == 1.0
    assert script.least_log_cost(result, 4, SOD, True).value == 2.0
    assert script.least_log_cost(result, 4, SOD, False).value == 1.0
    assert script.excess(result, 4, SOD).value == 3.0  # the paper has 150
    assert script.excess(result, 4, SOD).se == 0.1


def test_subsets_of_one_size():
    lucks = [{"draw": Measured(value, 0.3), "accepted": rate}
             for value, rate in ((1.0, 0.2), (2.0, 0.3), (3.0, 0.7))]
    found = script.combine_subsets(lucks)
    assert found["draw"] == (2.0, pytest.approx(3**-0.5)) and found["luck"] == 1.0
    assert found["accepted"] == pytest.approx(0.4)
    # deviations of -.2, -.1 and .3: .14 / 2 / 3
    assert found["rate"] == pytest.approx((0.4, (0.14 / 6) ** 0.5))
    one = script.combine_subsets(lucks[:1])
    assert one["draw"] == (1.0, 0.3) and np.isnan(one["luck"])


def test_what_pivots_gain_has_the_errors_of_the_chains_and_not_the_scatter_over_m():
    kinds = {PIVOTED: {9: {"rate": Measured(0.9, 0.03)}, 30: {"rate": Measured(1.0, 0.04)}},
             RANDOM: {9: {"rate": Measured(0.1, 0.04)}, 30: {"rate": Measured(0.9, 0.03)},
                      40: {"rate": Measured(0.95, 0.01)}}}  # the paper's m has random ones alone
    found = script.pivoting_gain({"curves": {4: {NYSTROM: kinds}}}, 4)
    assert found == pytest.approx((0.45, 0.05 / 2**0.5))


def test_both_kinds_of_columns_have_as_many_chains():
    plan = script.plan("paper")
    for number in script.BOTH_COLUMNS:
        for columns in (RANDOM, PIVOTED):
            mine = [(m, luck) for each, method, kind, m, luck in plan
                    if (each, method, kind) == (number, NYSTROM, columns)]
            assert len(mine) == 3 * len({m for m, _ in mine}) == len(set(mine))


def test_how_many_columns_are_enough_depends_on_what_works():
    result = {"refused": {2: {0.5: Measured(0.3), 0.8: Measured(0.6), 1.0: Measured(0.7)}}}
    found = script.smallest_working_part(result, 2)
    assert found.settings == script.WORKS
    assert [each.value for each in found.found] == [0.5, 0.8, 2.0]  # none, at last


class Recorder:
    """Makes up chains, times and rates, and keeps what was asked for."""

    def __init__(self, budget):
        self.budget, self.seed, self.calls = budget, 4, {}

    def replicates(self, function, tasks, unit, warm):
        self.calls.setdefault(function.__name__, []).append(tasks)
        if function.__name__ == "acceptance":
            return [{"accepted": [task["m"] / 900] * 10} for task in tasks]
        if function.__name__ == "eigen_clock":
            return [{"seconds": {"pi": [1.0, 2.0], "all": [9.0, 18.0], "first m": [
                float(task["m"])] * 2}} for task in tasks]
        if function.__name__ == "clock":  # an evaluation with m cases costs m / 1000
            sizes = [{name: each[-1] for name, each in task["rows"].items()} for task in tasks]
            return [{"layers": {name: [f"{name.split()[0]} {m}"] for name, m in each.items()},
                     "seconds": {"scratch": {"pi": [1.0]}, "trial": {"pi": [[1.0]]} | {
                         f"{name.split()[0]} {m}": [[m / 1000]] for name, m in each.items()}}}
                    for each in sizes]
        return [{"tau": [1.0 + task["luck"], 0.1], "windows": [2.0], "accepted": [0.5],
                 "noise": 0.1, "iterations": 10, "counts": {
                     "density": 30, "cache_hits": 0, "approximations": [1000]}} for task in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = script.run(experiment, None)
    tasks = experiment.calls["long_chain"][0]
    assert [(t["number"], t["method"], t["columns"], t["m"], t["luck"]) for t in tasks] == (
        script.plan(budget))
    assert {t["n"] for t in tasks} == {script.SMALL if budget == "smoke" else None}
    for number, methods in result["curves"].items():
        n = script.cases_of(number, budget)
        for method, kinds in methods.items():
            assert script.cost_at_paper_m(result, number, method) in kinds[RANDOM].values()
            if budget != "smoke":
                assert ROWS[number].m[method] in kinds[RANDOM]
            for columns, curve in kinds.items():
                lucks = sum(t["columns"] == columns and (t["number"], t["method"]) == (
                    number, method) for t in tasks) // len(curve)
                for m, each in curve.items():
                    # 3 evaluations of pi and 100 of the approximation
                    cost = np.mean(np.log(1.0 + np.arange(lucks))) + np.log(3 + 0.1 * m)
                    assert each["draw"].value == pytest.approx(cost, rel=1e-12) and m <= n
    for number, parts in result["refused"].items():
        for part, rate in parts.items():
            wanted = round(part * script.cases_of(number, budget))
            assert rate.value == pytest.approx(wanted / 900, rel=1e-12)
        m = round(0.95 * script.cases_of(number, budget))
        if number in result["slow"]:
            assert result["slow"][number].value == pytest.approx(m / 1000, rel=1e-12)
    for number, found in result["eigen"].items():
        m = round(script.EIGEN[number] * script.cases_of(number, budget))
        assert found == {"all": (9.0, 0.0), "first m": (0.75 * m, pytest.approx(0.25 * m))}
    if budget == "paper":
        judge(script.CLAIMS, result, budget)


def test_what_is_timed_of_eigenvectors_is_the_approximation(monkeypatch):
    asked = {}
    monkeypatch.setattr(eigen_exact, "scratches", lambda q, times, model: asked.update(
        {type(model).__name__: (times, getattr(model, "m", None))}))
    monkeypatch.setattr(eigen_exact, "eigh", lambda K, subset_by_index: asked.update(
        K=K, ends=subset_by_index))
    found = eigen_exact.eigen_clock(4, 3, 2, 12)["seconds"]
    assert {name: len(each) for name, each in found.items()} == {
        "pi": 2, "all": 2, "first m": 2}
    assert (asked["GPRegression"], asked["GPEigen"], asked["ends"]) == ((5, None), (1, 3), [9, 11])
    # the kernel without its noise: 10^2 + 5^2 on the diagonal
    np.testing.assert_allclose(np.diag(asked["K"]), 125, rtol=1e-12)
    np.testing.assert_array_equal(asked["K"], asked["K"].T)


def test_what_is_drawn_is_what_the_legend_says():
    result = made_up()
    fig = script.figure(result)
    (legend,) = fig.legends
    colours = {text.get_text(): line.get_color() for text, line in zip(
        legend.get_texts(), legend.get_lines(), strict=True)}
    for ax, method in zip(fig.axes, script.CURVES, strict=False):
        lines = [line for line in ax.get_lines() if line.get_markersize() != 9]
        diamonds = [line for line in ax.get_lines() if line.get_markersize() == 9]
        numbers = [k for k in result["curves"] if k in script.CURVES[method]]
        assert [each.get_markeredgecolor() for each in diamonds] == [
            colours[f"row {k}"] for k in numbers]
        assert [line.get_color() for line in lines] == [
            colours[f"row {k}"] for k in numbers for _ in result["curves"][k][method]]
        (grey,) = (patch for patch in ax.patches)  # the paper's range, 10 to 50 %
        assert (grey.get_x(), grey.get_x() + grey.get_width()) == pytest.approx((0.1, 0.5))
    for bar, number in zip(fig.axes[2].containers, script.REFUSED, strict=True):
        assert bar.lines[0].get_color() == colours[f"row {number}"]
    plt.close(fig)


def test_the_table_and_the_figure():
    result = made_up()
    text = script.table(result)
    assert "40*" in text and "pivoted Cholesky" in text
    fig = script.figure(result)
    labels = [each.get_text() for each in fig.legends[0].get_texts()]
    assert labels[:10] == [f"row {number}" for number in ROWS]
    curves = [line for line in fig.axes[1].lines if line.get_marker() not in "xD"]
    assert len(curves) == len(script.CURVES[NYSTROM])
    for ax, method in zip(fig.axes, script.CURVES, strict=False):
        lines = iter(ax.get_lines())
        for number in result["curves"]:
            for columns, curve in result["curves"][number].get(method, {}).items():
                line = next(lines)
                n = ROWS[number].n
                np.testing.assert_allclose(line.get_xydata(), [
                    (m / n, np.exp(each["draw"].value)) for m, each in curve.items()], rtol=1e-12)
                assert (line.get_marker() == "x") == (columns == PIVOTED)
            if method in result["curves"][number]:
                diamond, m = next(lines), ROWS[number].m[method]
                draw = result["curves"][number][method][RANDOM][m]["draw"].value
                assert diamond.get_marker() == "D"
                np.testing.assert_allclose(diamond.get_xydata(), [(m / n, np.exp(draw))])
    for bar, parts in zip(fig.axes[2].containers, result["refused"].values(), strict=True):
        assert bar.lines[0].get_xydata().tolist() == [[x, rate.value] for x, rate in parts.items()]
        np.testing.assert_allclose([each[:, 1] for each in bar.lines[2][0].get_segments()], [
            [rate.value - 0.02, rate.value + 0.02] for rate in parts.values()])  # 2 s.e. of .01
    plt.close(fig)
