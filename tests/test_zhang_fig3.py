"""Figure 3 of Zhang and Sutton: each claim on results whose truth is known, and what is run."""

import math

import numpy as np
import pytest

import studies
from judging import replaced, verdicts
from reproduce import zhang_fig3 as fig3
from reproduce.harness.claims import BUDGETS, Measured
from reproduce.harness.style import plt
from reproduce.zhang.cox import EDGES, Estimates
from reproduce.zhang.printed import GIBBS, SSHMC


def estimates(seed, d=8, chains=10):
    """Return estimates of posteriors that all methods share; fields are of variance 1."""
    rng = np.random.default_rng(seed)
    truth = np.resize([1.0, -1.0], d * d)
    ess = {"sigma": Measured(math.log(2000), 0.01), "beta": Measured(math.log(90), 0.01)}
    return Estimates(
        [Measured(0.8, 0.01)], 0, ess, {}, [Measured(0.5, 0.01), Measured(-1.0, 0.02)],
        [Measured(0.5, 0.01), Measured(1.0, 0.02)],
        [np.arange(edges.size - 1).tolist() for edges in EDGES.values()],
        (truth + 0.02 * rng.standard_normal((chains, d * d))).tolist(), [], [], 600, {"L": 20},
        [0.6, 0.601])


def made_up():
    """Return a result with which every claim agrees."""
    return fig3.Figure3({GIBBS: estimates(1), SSHMC: estimates(2)}, estimates(3, 4, 2),
                        np.zeros((8, 8)), np.ones((4, 4)))


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    assert set(verdicts(fig3, made_up()).values()) == {"agrees"}


def put(*place):
    """Make a function that puts the last of these at the place that the others are."""
    return lambda result: replaced(result, place[:-1], place[-1])


def entry(method, key, k, value):
    return put("rows", method, key, k, value)


def field(method, shift):
    return lambda result: replaced(result, ["rows", method, "field"], (
        np.array(result.rows[method].field) + np.resize([shift, shift, 0, 0], 64)).tolist())


MEAN, SD = ("mean of log {}, RMHMC(Gibbs) - SSHMC, in standard deviations",
            "log(standard deviation of log {}, RMHMC(Gibbs) / SSHMC)")
FIELD = "mean squared difference of the mean fields / their variance"
TIME = "64 x 64: ESS of log beta in 30 minutes on one core"
MOVED = {
    # 0.3 and 0.6 are more than a fifth of standard deviations of 0.5 and 1, by enough errors
    "mean of sigma^2": (entry(SSHMC, "mean", 0, Measured(0.2, 0.01)), MEAN.format("sigma^2")),
    "the rival's": (entry(GIBBS, "mean", 0, Measured(0.8, 0.01)), MEAN.format("sigma^2")),
    "mean of beta": (entry(SSHMC, "mean", 1, Measured(-0.4, 0.02)), MEAN.format("beta")),
    "sd of sigma^2": (entry(GIBBS, "sd", 0, Measured(0.7, 0.01)), SD.format("sigma^2")),
    "sd of beta": (entry(SSHMC, "sd", 1, Measured(0.7, 0.01)), SD.format("beta")),
    "field": (field(SSHMC, 0.3), FIELD), "the rival's field": (field(GIBBS, -0.3), FIELD),
    "slow": (put("large", "seconds", [6.0, 6.001]), TIME),
    "bad": (put("large", "ess", "beta", Measured(math.log(5.0), 0.01)), TIME),
    "short": (put("large", "n", 100_000), TIME),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_is_moved_changes_its_claim_and_no_other(name):
    change, wanted = MOVED[name]
    before, after = verdicts(fig3, made_up()), verdicts(fig3, change(made_up()))
    assert {what: after[what] for what in before if before[what] != after[what]} == {
        wanted: "differs"}


def test_the_ess_in_half_an_hour_by_hand():
    # 90 of 600 draws of .6 s: 0.25 a second, 450 in 1800 s
    found = estimates(1)._replace(seconds=[0.6, 0.6])
    assert fig3.cox.in_time(found, 30).value == pytest.approx(450)


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
    assert timed["rows"] == {SSHMC: [SSHMC, "data", "unit", found.setting]}
    assert (found.n, found.seconds) == (fig3.LENGTH[budget][0], [1.0, 2.0])
    # Section 5.4: 2 leapfrogs and 1
    assert all(task["settings"][0] | {"n_theta": 2, "n_phi": 1} == task["settings"][0]
               for task in tried)


def test_the_runs_are_those_of_table_4(monkeypatch):
    asked = []
    monkeypatch.setattr(fig3.cox, "keeper", lambda experiment: "the keeper")
    monkeypatch.setattr(fig3.cox, "run_pilots", lambda runs, *_: asked.append(runs) or "pilots")
    monkeypatch.setattr(fig3.cox, "rows_of", lambda tried, names: (tried, names))
    monkeypatch.setattr(fig3.cox, "run_rows", lambda runs, wanted, *_: asked.append(
        (runs, wanted)) or {name: name for name in wanted[1]})
    monkeypatch.setattr(fig3, "on_64", lambda experiment, name: (experiment, name))
    cases = type("Cases", (), {"name": "data", "x": "truth"})
    found = fig3.run("experiment", cases)
    names = [f"{GIBBS}, unit", f"{SSHMC}, unit"]
    assert asked == ["the keeper", ("the keeper", ("pilots", names))]
    assert found.rows == dict(zip((GIBBS, SSHMC), names, strict=True))
    assert found.large == ("experiment", "data") and found.truth_64 == "truth"


def test_the_panels_stand_as_in_the_paper():
    result = made_up()
    fig = fig3.figure(result)
    fig.canvas.draw()  # lays it out
    panels = {ax.get_title(): ax for ax in fig.axes if ax.get_title()}
    upper = sorted((ax.get_position().x0, title) for title, ax in panels.items()
                   if title.startswith("("))
    assert [title[:3] for _, title in upper] == ["(a)", "(b)", "(c)", "(d)"]
    for title, method in (("(a) RMHMC", GIBBS), ("(b) SSHMC", SSHMC)):
        np.testing.assert_allclose(panels[title].images[0].get_array().ravel(),
                                   np.mean(result.rows[method].field, axis=0))
    lower = [ax for ax in fig.axes if ax.get_title() in (SSHMC, "true field")]
    for ax, field in zip(lower, (np.mean(result.large.field, axis=0), np.ones(16)), strict=True):
        np.testing.assert_allclose(ax.images[0].get_array().ravel(), field)
    for one, other in (("(a) RMHMC", "(b) SSHMC"), (SSHMC, "true field")):  # one scale for both
        assert panels[one].images[0].get_clim() == panels[other].images[0].get_clim()
    plt.close(fig)
    assert len(fig3.table(result).splitlines()) == 8
    shown = fig3.table(result._replace(large=result.large._replace(seconds=[0.012, 0.014])))
    assert shown.endswith(" 13 ms a transition")


def test_the_histograms_are_of_their_method_and_parameter():
    result = made_up()
    for k, place in enumerate((["rows", GIBBS], ["rows", SSHMC], ["large"])):
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
        wanted = {GIBBS: j, SSHMC: 10 + j} if upper else {SSHMC: 20 + j}
        assert {patch.get_label(): int(patch.get_data().values.argmax())
                for patch in ax.patches} == wanted
        for patch in ax.patches:
            values, ends, _ = patch.get_data()
            assert values.max() * (edges[1] - edges[0]) == pytest.approx(1.0)  # per log
            np.testing.assert_allclose(ends, np.exp(edges), rtol=1e-12)
        (true,) = [line for line in ax.get_lines() if line.get_label() == "true value"]
        assert true.get_xdata()[0] == [*fig3.TRUTH.values()][j]
    assert len({patch.get_facecolor() for ax in fig.axes for patch in ax.patches
                if patch.get_label() == SSHMC}) == 1
    plt.close(fig)
