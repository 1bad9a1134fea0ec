"""Figure 2 of Zhang and Sutton: each claim on results whose truth is known."""

import numpy as np
import pytest

from judging import check_labels, check_moves, known, put, replaced
from reproduce import zhang_fig2 as fig2
from reproduce.harness.claims import Measured
from reproduce.harness.replicates import Experiment
from reproduce.harness.run import Settings
from reproduce.zhang.datasets import Cases
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC
from reproduce.zhang.volatility import EDGES, NAMES, TRUTH, WEIGHTS, Runs

SPEEDS = {HMC: (5.0, -1.0), GIBBS: (4.0, -1.5), SSHMC: (2.0, -2.0)}  # logs: arrival, distance
SPREAD = dict(zip(NAMES, (0.09, 0.1, 0.15), strict=True))


def made_up():
    def speed(method):
        return fig2.Speed(*(Measured(value, 0.01) for value in SPEEDS[method]))

    rows = {method: fig2.Posterior(
        {name: Measured(t + 0.5 * SPREAD[name], 1e-4)
         for name, t in zip(NAMES, TRUTH, strict=True)},
        {name: known(s) for name, s in SPREAD.items()}, speed(method), [], [0, 1, 2])
        for method in METHODS}
    return fig2.Figure2(20_000, 10, rows, SPREAD, {
        method: dict.fromkeys(("L = 1", "L = 2"), speed(method)) for method in METHODS})


def mean_of(method, name, by):
    return lambda result: replaced(result, ["rows", method, "mean", name],
                                   result.rows[method].mean[name] + by * SPREAD[name])


def slower(method, key, by):
    return lambda result: replaced(result, ["scan", method], {
        steps: found._replace(**{key: getattr(found, key) + by})
        for steps, found in result.scan[method].items()})


MOVED = {
    **{f"mean of {name}, {method}, {by}": (mean_of(method, name, by), [
        f"{method} - {SSHMC}: mean of {name} / posterior sd"])
       for method in (HMC, GIBBS) for name in NAMES for by in (-0.25, 0.25)},
    **{f"sd of {name}, {method}, {by}": (
        put("rows", method, "sd", name, known(by * SPREAD[name])),
        [f"log(sd of {name}, {method} / {SSHMC})"])
       for method in (HMC, GIBBS) for name in NAMES for by in (0.77, 1.3)},
    **{f"far from the truth, {method}": (mean_of(method, "sigma", 2.7), [
        f"{method}: |mean - truth| / posterior sd, the largest",
        f"{method} - {SSHMC}: mean of sigma / posterior sd"]) for method in (HMC, GIBBS)},
    "far from the truth, SSHMC": (mean_of(SSHMC, "phi", 2.7), [
        f"{SSHMC}: |mean - truth| / posterior sd, the largest",
        *(f"{m} - {SSHMC}: mean of phi / posterior sd" for m in (HMC, GIBBS))]),
    **{f"{key}, {method}": (slower(method, key, 9.0), [f"log({what}, {HMC} / {method})"])
       for method in (GIBBS, SSHMC) for key, what in (
           ("arrival", "transitions to arrive"), ("early", "distance of early histograms"))},
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(fig2, made_up(), MOVED)


def test_arrival_is_the_first_time_that_all_three_are_near():
    far, near = [9.0, 0.0, 0.0], [0.9, -0.9, 0.9]
    for states, wanted in (([far, near, far, near, near], 2), ([far, far, far, near, far], 8),
                           ([near] * 5, 1), ([far] * 5, 16)):
        burn_in = {"times": [1, 2, 4, 8, 16], "phi": states}
        assert fig2.arrival(burn_in, [0.0] * 3, [0.31] * 3) == wanted
    assert fig2.arrival(burn_in, [9.0, 0.0, 0.0], [0.31] * 3) == 1


def test_distance_is_the_total_variation():
    whole = np.array([[2, 2], [1, 3], [4, 0]])
    assert fig2.distance(7 * whole, whole) == 0
    # half the sum of absolute differences: 1/2, 1/4 and 1
    assert fig2.distance([[4, 0], [2, 2], [0, 4]], whole) == pytest.approx(1.75 / 3, rel=1e-15)
    assert fig2.distance([[0, 0], [1, 3], [4, 0]], whole) == pytest.approx(0.5 / 3, rel=1e-15)


def runs(method, mean, start):
    """Two runs with a mean, which arrive after 4 transitions."""
    values = {name: [50.0] * 3 for name in ("lineage", "ours", "squares")}
    histogram = np.zeros((3, 30), int)
    histogram[:, start] = 40
    one = {"n": 50, "AP": 0.8, "divergences": 0, "worst": 50.0, "theta": values, "early": histogram,
           "counts": dict.fromkeys(WEIGHTS[method], 1.0),
           "phi": values | {"mean": [mean] * 3, "sd": [0.5] * 3, "histogram": histogram,
                            "outside": [1, 2, 3]},
           "burn_in": {"times": [1, 4, 9], "phi": [[50.0] * 3, [mean] * 3, [mean] * 3]}}
    return Runs(method, {"L": 1}, [one, one])


def test_the_runs_are_those_of_table_3(monkeypatch, tmp_path):
    def all_runs(experiment, data, pilots, one_chain):
        assert (experiment.name, experiment.budget, experiment.seed) == ("zhang_table3", "smoke", 3)
        assert (data, pilots, one_chain) == ("the series", fig2.pilots, fig2.one_chain)
        own = {m: runs(m, 1.0 + k, k) for k, m in enumerate(METHODS)}
        return None, own, {m: {"L = 1": own[m]} for m in METHODS}

    monkeypatch.setattr(fig2.volatility, "all_runs", all_runs)
    settings = Settings("smoke", 1, seed=3, recall=True)
    result = fig2.run(Experiment(fig2.NAME, settings), Cases("the series", None))
    assert (result.n, result.runs) == (50, 2)
    assert result.sd == dict.fromkeys(NAMES, 0.5)
    for k, method in enumerate(METHODS):
        row = result.rows[method]
        assert row.mean["phi"].value == 1.0 + k
        # the first after 4 transitions; 1, 2 and 3 are within 3 * 0.5 of 2
        assert row.speed == result.scan[method]["L = 1"]
        assert row.speed.arrival.value == pytest.approx(np.log(4), rel=1e-12)
        # a third of all draws is where its own are
        assert row.speed.early.value == pytest.approx(np.log(2 / 3), rel=1e-12)
        assert row.histogram[0][k] == 40 and row.outside == [2, 4, 6]


def test_the_figure_is_in_the_papers_order_and_of_each_method():
    result = made_up()
    for k, method in enumerate(METHODS):
        result = replaced(result, ["rows", method, "histogram"],
                          [[100 * k + j] * 30 for j in range(3)])
    fig = fig2.figure(result)
    check_labels(fig.axes, (r"$\phi$", "density"), (r"$\sigma$", ""), (r"$\beta$", ""))
    for ax, name in zip(fig.axes, fig2.ORDER, strict=True):
        j = NAMES.index(name)
        drawn = {patch.get_label(): patch.get_data() for patch in ax.patches}
        assert {method: data.values[0] for method, data in drawn.items()} == pytest.approx({
            method: (100 * k + j) / (EDGES[j][1] - EDGES[j][0]) / 20_000
            for k, method in enumerate(result.rows)})
        for data in drawn.values():
            np.testing.assert_array_equal(data.edges, EDGES[j])
        (true,) = [line for line in ax.get_lines() if line.get_label() == "true value"]
        assert true.get_xdata()[0] == {"phi": 0.98, "sigma": 0.15, "beta": 0.65}[name]
    assert {t.get_text() for t in fig.legends[0].get_texts()} == {*METHODS, "true value"}
