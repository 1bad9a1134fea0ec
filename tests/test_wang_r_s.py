"""The plane of r and s: estimates, claims, and what is run."""

from itertools import product

import numpy as np
import pytest

from judging import differing, read_table, verdicts
from reproduce.beyond import wang_r_s as plane
from reproduce.harness.claims import BUDGETS, Measured, judge
from reproduce.harness.style import plt
from reproduce.wang.chains import NARROW, SLICES, WIDE
from reproduce.wang.printed import SOD


def made_up():
    """Return a result in which r = s = 1 is the best by a factor of two."""
    return {"rows": {number: {unit: {name: {
        pair: {"tau": Measured(5.0, 0.1), "cost": 1.0 if pair == (1, 1) else 2.0, "accepted": 0.5,
               "rate": Measured(0.5 if pair[1] == 1 else 0.3, 0.01),
               "hits": Measured(0.0 if pair[0] == 1 else 0.8, 0.01 * (pair[0] > 1))}
        for pair in product(*plane.PLANE["paper"])} for name in SLICES} for unit in plane.UNITS}
        for number in plane.SAMPLED["paper"]}}


def test_every_claim_agrees_where_it_is_true():
    assert set(verdicts(plane, made_up()).values()) == {"agrees"}


BEST = "rows 1, 2, 4: least log(cost of a draw, other r and s / r = s = 1)"


def cheap(r):
    for names in r["rows"][2].values():
        for each in names.values():
            each[4, 2]["cost"] = 0.5


MOVED = {
    "r = 4, s = 2 is better": (
        cheap, BEST),
    "nothing is kept": (
        lambda r: r["rows"][4]["sweep"][WIDE][8, 1].update(hits=Measured(0.1, 0.01)),
        f"row 4, sweep, {WIDE}: share of known energies, r = 8, s = 1"),
    "large steps are accepted as often": (
        lambda r: [each[1, 4].update(rate=Measured(0.7, 0.01)) for names in r["rows"][1].values()
                   for each in names.values()],
        "rows 1, 2, 4: least rate of acceptance, s = 1 less s = 4"),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    change, wanted = MOVED[name]
    assert differing(plane, made_up(), change) == {wanted}


def test_it_depends_on_the_slice():
    result = made_up()
    result["rows"][1]["random"][NARROW][2, 1]["cost"] = 0.2
    assert verdicts(plane, result)[BEST] == "not specified"


def test_of_three_rows_the_least_counts_in_each_setting():
    result = made_up()
    for number, gain in ((1, 0.3), (2, 0.1), (4, 0.2)):  # of another pair in each row
        result["rows"][number]["sweep"][NARROW][number, 2]["tau"] = Measured(5 * gain, 0.1 * gain)
    (claim,) = [c for c in plane.CLAIMS if c.what == BEST]
    found = dict(zip(*claim.ours(result), strict=True))
    assert found[f"sweep, {NARROW}"].value == pytest.approx(np.log(0.2), rel=1e-12)
    assert found[f"random, {NARROW}"].value == pytest.approx(np.log(2.0), rel=1e-12)


def test_the_cost_of_a_draw_and_the_best_of_the_others():
    each = {(1, 1): {"tau": Measured(4.0, 0.4), "cost": 3.0},
            (1, 2): {"tau": Measured(6.0, 0.06), "cost": 3.0},
            (2, 1): {"tau": Measured(4.0, 4.0), "cost": 2.0}}
    assert plane.log_cost_per_draw(each, (1, 1)).value == pytest.approx(np.log(12), rel=1e-12)
    assert plane.log_cost_per_draw(each, (1, 1)).se == pytest.approx(0.1, rel=1e-12)
    # (2, 1) is lower, by 0.4 standard errors of its own
    assert plane.least_log_cost_ratio(each).value == pytest.approx(np.log(2 / 3), rel=1e-12)


def test_what_a_mark_that_always_moves_knows():
    # of two moves the second goes back half of the time; of three: 8 walks, new steps 3 for two
    # of them, 2 for four, 1 for two
    assert plane.known_part(1) == 0.0 and plane.known_part(2) == 0.25
    assert plane.known_part(3) == pytest.approx(1 - 2 / 3, rel=1e-12)


def known_at(rate, r):
    """Return the same for a mark each of whose moves is accepted at that rate."""
    walks = {(0, 0, 0, 0): 1.0}  # where it is, the ends of what is known, how many were new
    for _ in range(r):
        after = {}
        for (at, low, high, new), p in walks.items():
            for there in (at - 1, at + 1):
                rest = (min(low, there), max(high, there), new + (there < low or there > high))
                for place, share in ((there, rate), (at, 1 - rate)):
                    after[place, *rest] = after.get((place, *rest), 0.0) + p * share / 2
        walks = after
    return 1 - sum(p * new for (*_, new), p in walks.items()) / r


def test_a_mark_that_stays_knows_more():
    assert known_at(1.0, plane.MOST) == pytest.approx(plane.known_part(plane.MOST), rel=1e-12)
    for rate in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        assert known_at(rate, plane.MOST) > plane.known_part(plane.MOST)


class Recorder:
    """Makes up chains and times, and keeps what was asked for."""

    def __init__(self, budget):
        self.budget, self.seed, self.calls = budget, 4, {}

    def replicates(self, function, tasks, unit, warm):
        self.calls[function.__name__] = tasks
        if function.__name__ == "clock":
            # a trial of the subset is worth a tenth of one of pi, which from scratch is worth two
            return [{"layers": {SOD: ["SOD 40"]}, "seconds": {
                "trial": {"pi": [[1.0]], "SOD 40": [[0.1]]},
                "scratch": {"pi": [2.0], "SOD 40": [0.2]}}} for _ in tasks]
        return [{"tau": [task["r"] + task["seed"][2] * 0.1, 0.1], "windows": [2.0], "noise": 0.1,
                 "accepted": [0.5 + 0.01 * task["seed"][2]], "iterations": 10, "counts": {
                     "density": 30, "cache_hits": 30 * (task["r"] > 1),
                     "approximations": [100 * task["s"]]}} for task in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = plane.run(experiment, None)["rows"]
    chains, n = plane.CHAINS[budget], plane.SMALL if budget == "smoke" else None
    for number, unit, name in product(plane.SAMPLED[budget], plane.UNITS, plane.SLICED[budget]):
        for r, s in product(*plane.PLANE[budget]):
            mine = [t for t in experiment.calls["long_chain"] if (
                t["number"], t["unit"], t["w"], t["max_widths"], t["r"], t["s"]) == (
                number, unit, *SLICES[name], r, s)]
            assert [t["seed"] for t in mine] == [[4, number, k] for k in range(chains)]
            assert {t["n"] for t in mine} == {n} and {t["method"] for t in mine} == {SOD}
            each = result[number][unit][name][r, s]
            # from scratch but for one update of one variable
            pi = 3.0 if (unit, r, s) == ("random", 1, 1) else 6.0
            assert each["cost"] == pytest.approx(pi + s, rel=1e-12)
            assert each["tau"].value == pytest.approx(r + 0.05 * (chains - 1), rel=1e-12)
            assert each["hits"].value == (0.5 if r > 1 else 0.0)
    if budget == "paper":
        judge(plane.CLAIMS, {"rows": result}, budget)


def test_the_table_and_the_figure():
    result = made_up()
    row = read_table(plane.table(result), "row")[1]  # the pairs are (1, 1), (1, 2), ...
    assert (row["row"], row["unit"], row["r"], row["s"]) == ("1", "random", "1", "2")
    assert (row["accepted"], row["time"], row["evaluations"]) == ("0.500", "5.00 (0.10)", "2")
    assert "0.693" in plane.table(result) and "0.800 (0.010)" in plane.table(result)
    fig = plane.figure(result)
    assert [ax.get_title() for ax in fig.axes][:2] == ["row 1, random", "row 2, random"]
    assert len(fig.axes[0].lines) == 6
    plt.close(fig)
    for number, units in result["rows"].items():
        for unit, names in units.items():
            for k, plane_ in enumerate(names.values()):
                for (r, s), each in plane_.items():
                    each["tau"] = Measured(number + 10.0 * r + 100 * s)
                    each["cost"] = 1.0 + k + 3 * (unit == "sweep")
    fig = plane.figure(result)
    for ax in fig.axes:
        number, unit = ax.get_title().removeprefix("row ").split(", ")
        assert len(ax.get_lines()) == 6
        for line in ax.get_lines():
            s, name = line.get_label().removeprefix("s = ").split(", ", 1)
            cost = 1 + list(SLICES).index(name) + 3 * (unit == "sweep")
            np.testing.assert_allclose(line.get_xydata(), [
                (r, cost * (int(number) + 10 * r + 100 * int(s))) for r in (1, 2, 4, 8)])
    plt.close(fig)
