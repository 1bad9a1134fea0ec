"""Figure 3 of Zhang and Sutton: each claim on results whose truth is known, and what is run."""

import math

import numpy as np
import pytest

import studies
from judging import check_moves, put, read_table, replaced
from reproduce import zhang_fig3 as fig3
from reproduce.harness.claims import BUDGETS, Measured
from reproduce.harness.style import plt
from reproduce.zhang import cox
from reproduce.zhang.cox import EDGES, Estimates, Posterior
from reproduce.zhang.datasets import load
from reproduce.zhang.printed import GIBBS, SSHMC


def fields(seed, chains, d):
    """Return mean fields of variance 1/4 that all methods share, with noise."""
    truth = np.resize([0.5, -0.5], d * d)
    noise = np.random.default_rng(seed).standard_normal((chains, d * d))
    return (truth + 0.01 * noise).tolist()


HISTOGRAM = [np.arange(edges.size - 1).tolist() for edges in EDGES.values()]
MOMENTS = ([Measured(0.5, 0.01), Measured(-1.0, 0.02)], [Measured(0.5, 0.01), Measured(1.0, 0.02)])
LARGE = Estimates(
    [Measured(0.8, 0.01)], 0, {"sigma": Measured(math.log(2000), 0.01),
                               "beta": Measured(math.log(90), 0.01)}, {}, *MOMENTS, HISTOGRAM,
    fields(4, 2, 4), [], [], 600, {"L": 20}, [0.6, 0.601])


def made_up():
    rows = {method: Posterior(5000, *MOMENTS, [900.0, 900.0], 500.0, 600.0, 1.005, HISTOGRAM,
                              fields(k, 4, 8)) for k, method in enumerate(fig3.ROWS)}
    return fig3.Figure3(rows, LARGE, np.ones((4, 4)))


def field(method, shift):
    return lambda result: replaced(result, ["rows", method, "field"], (
        np.array(result.rows[method].field) + np.resize([shift, shift, 0, 0], 64)).tolist())


MEAN, SD = ("difference of the means of log {}, in standard deviations",
            "log(ratio of the standard deviations of log {})")
FIELD = "mean squared difference of the mean fields / their variance"
TIME = "64 x 64: ESS of log beta in 30 minutes on one core"


def pairs_of(method, what):
    return [f"{a}, {b}: {what}" for a, b in fig3.PAIRS if method in (a, b)]


MOVED = {
    # 0.17 and 0.34 are more than a fifth of standard deviations of 0.5 and 1, by enough errors
    **{f"{key} of {name}, {method}": (put("rows", method, key, k, Measured(*value)),
                                      pairs_of(method, what.format(name)))
       for method in fig3.ROWS for what, key, k, name, *value in (
           (MEAN, "mean", 0, "sigma^2", 0.33, 0.01), (MEAN, "mean", 1, "beta", -0.66, 0.02),
           (SD, "sd", 0, "sigma^2", 0.7, 0.01), (SD, "sd", 1, "beta", 0.7, 0.01))},
    **{f"field, {method}": (field(method, 0.082), pairs_of(method, FIELD)) for method in fig3.ROWS},
    "slow": (put("large", "seconds", [6.0, 6.001]), [TIME]),
    "bad": (put("large", "ess", "beta", Measured(math.log(5.0), 0.01)), [TIME]),
    "short": (put("large", "n", 100_000), [TIME]),
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(fig3, made_up(), MOVED)


class Recorder(studies.Recorder):
    """Makes up pilots of which the last is the best, and chains."""

    def made(self, function, tasks):
        if function.__name__ == "pilots":
            return [{"pilots": [{"setting": task["settings"][0], "AP": [0.8], "cost": 1.0,
                                 "ess": {"phi": 1.0 + k}}]} for k, task in enumerate(tasks)]
        if function.__name__ == "clock":
            return [{"seconds": {SSHMC: [1.0, 2.0]}}]
        return [{"AP": 0.8, "divergences": 0, "field": [0.0, 1.0],
                 "theta": {key: [1.0, 2.0, 3.0] for key in ("lineage", "ours", "squares")},
                 "phi": {key: [1.0, 2.0] for key in ("lineage", "ours", "squares", "mean", "sd",
                                                     "mean_se")} | {"histogram": [[1], [2]]}}
                for _ in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_picked_setting_is_run_on_64_by_64(budget):
    experiment = Recorder(budget)
    found = fig3.on_64(experiment, "data")
    (_, tried), (_, chains), (_, (timed,)) = experiment.calls
    assert found.setting == tried[-1]["settings"][0]
    assert {task["data"] for task in [*tried, *chains]} == {"data"}
    assert all(task["setting"] == found.setting for task in chains)
    # a seed with zeros at its end is the same without them
    streams = [str(task["seed"]).strip("[], 0") for task in chains]
    assert len({*streams, str(tried[0]["seed"]).strip("[], 0")}) == len(chains) + 1
    assert timed["rows"] == {SSHMC: [SSHMC, "data", "unit", found.setting]}
    assert (found.n, found.seconds) == (fig3.LENGTH[budget][0], [1.0, 2.0])
    # Section 5.4: 2 leapfrogs and 1
    assert all(task["settings"][0] | {"n_theta": 2, "n_phi": 1} == task["settings"][0]
               for task in tried)


@pytest.mark.parametrize("budget", BUDGETS)
def test_all_methods_run_on_the_first_data_set_with_the_settings_of_table_4(budget, monkeypatch):
    class Methods(studies.Recorder):
        def made(self, function, tasks):
            values = [7, *([[*pair] for pair in pairs] for pairs in MOMENTS)]
            return [{"posterior": [*values, *made_up().rows[GIBBS][3:]]} for _ in tasks]

        def of(self, name):
            return name

    monkeypatch.setattr(cox, "run_scan", lambda runs, *_: {
        (method, distance): f"{runs}'s {method}, {distance}" for method, distance in cox.GRIDS})
    monkeypatch.setattr(cox, "taken", lambda tried, method: f"{method} of {tried}")
    monkeypatch.setattr(fig3, "on_64", lambda experiment, name: (experiment, name))
    experiment = Methods(budget)
    found = fig3.run(experiment, type("Cases", (), {"name": "data", "x": "truth"}))
    ((_, tasks),) = experiment.calls
    assert [task["method"] for task in tasks] == list(found.rows) == [GIBBS, SSHMC, "NUTS"]
    for task in tasks:
        method, nuts = task["method"], task["method"] == "NUTS"
        assert task["data"] == cox.DATA["unit"][0]
        assert task["setting"] == ({} if nuts else f"{method} of zhang_table4's {method}, unit")
        assert (task["n"], task["burn_in"]) == (fig3.WARM_UP if nuts else cox.LENGTH)[budget]
        assert len({str(seed) for seed in task["seeds"]}) == cox.CHAINS[budget]
    assert found.rows[SSHMC] == made_up().rows[GIBBS]._replace(n=7)
    assert (found.large, found.truth_64) == ((experiment, "data"), "truth")


def test_the_panels_stand_as_in_the_paper():
    result = made_up()
    fig = fig3.figure(result)
    fig.canvas.draw()  # lays it out
    panels = {ax.get_title(): ax for ax in fig.axes if ax.get_title()}
    upper = sorted((ax.get_position().x0, title) for title, ax in panels.items()
                   if title.startswith("("))
    assert [title[:3] for _, title in upper] == ["(a)", "(b)", "(c)", "(d)"]
    for title, method in (("(a) RMHMC", GIBBS), ("(b) SSHMC", SSHMC), ("NUTS (ours)", fig3.NUTS)):
        np.testing.assert_allclose(panels[title].images[0].get_array().ravel(),
                                   np.mean(result.rows[method].field, axis=0))
    lower = [ax for ax in fig.axes if ax.get_title() in (SSHMC, "true field")]
    for ax, shown in zip(lower, (np.mean(result.large.field, axis=0), np.ones(16)), strict=True):
        np.testing.assert_allclose(ax.images[0].get_array().ravel(), shown)
    for one, other in (("(a) RMHMC", "(b) SSHMC"), (SSHMC, "true field")):  # one scale for both
        assert panels[one].images[0].get_clim() == panels[other].images[0].get_clim()
    for place in (["large"], ["rows", GIBBS]):
        result = replaced(result, [*place, "sd", 0], Measured(0.4, 0.01))
    shown = fig3.table(result._replace(large=result.large._replace(seconds=[0.012, 0.014])))
    assert shown.endswith("; 13 ms a transition\n64 x 64, settings: L = 20")
    assert {"method": GIBBS, "draws": "5000", "chains": "4", "mean log sigma^2": "0.500 (0.010)",
            "sd": "0.400 (0.010)", "mean log beta": "-1.000 (0.020)", "sd sd": "1.000 (0.020)",
            "bulk ESS": "600", "tail ESS": "500", "R-hat": "1.005", "believed": "yes"
            } in read_table(shown)
    assert (": 2 chains of 600: log sigma^2 0.500 (0.010), sd 0.400 (0.010); log beta -1.000"
            " (0.020), sd 1.000 (0.020), ESS of a chain 90.00 (0.90); acceptance rate 0.80"
            ) in shown
    # Gamma(2, rate 2): 1 - (1 + 2 b) exp(-2 b) at b = 1 / 33
    below = 1 - (1 + 2 / 33) * math.exp(-2 / 33)
    assert f"only {below:.4f} is below the true value" in shown


def test_the_data_sets_are_shown_with_their_points():
    _, lines = plt.subplots(2, 5)
    cox.draw_data(lines)
    for line, names in zip(lines, cox.DATA.values(), strict=True):
        for ax, name in zip(line, names, strict=True):
            data = load(name)
            assert ax.get_title() == f"{data.y.sum():.0f} points"
            points = ax.collections[0]
            for (column, row), size in zip(points.get_offsets(), points.get_sizes(), strict=True):
                assert size == 2 * data.y[int(row), int(column)] > 0
            assert len(points.get_offsets()) == np.count_nonzero(data.y)
            np.testing.assert_array_equal(ax.images[0].get_array(), data.x)


def test_the_histograms_are_of_their_method_and_parameter():
    result = made_up()
    for k, place in enumerate((["rows", GIBBS], ["rows", SSHMC], ["large"], ["rows", "NUTS"])):
        # all of the draws in one bin, another one in each
        result = replaced(result, [*place, "histogram"], [
            [5.0 * (b == 10 * k + j) for b in range(edges.size - 1)]
            for j, edges in enumerate(EDGES.values())])
    fig = fig3.figure(result)
    for ax in (ax for ax in fig.axes if ax.patches):
        j = int("beta" in ax.get_title())
        assert ("sigma" in ax.get_title()) != j
        edges = [*EDGES.values()][j]
        upper = ax.get_title().startswith("(")
        wanted = {GIBBS: j, SSHMC: 10 + j, "NUTS": 30 + j} if upper else {SSHMC: 20 + j}
        assert {patch.get_label(): int(patch.get_data().values.argmax())
                for patch in ax.patches} == wanted
        for patch in ax.patches:
            values, ends, _ = patch.get_data()
            assert values.max() * (edges[1] - edges[0]) == pytest.approx(1.0)  # per log
            np.testing.assert_allclose(ends, np.exp(edges), rtol=1e-12)
        (true,) = [line for line in ax.get_lines() if line.get_label() == "true value"]
        assert true.get_xdata()[0] == [*fig3.TRUTH.values()][j]
    colours = {(patch.get_label(), patch.get_edgecolor()) for ax in fig.axes
               for patch in ax.patches}
    assert len(colours) == len({name for name, _ in colours}) == len(dict(colours)) == 3
    assert len({colour for _, colour in colours}) == 3
