"""Figure 2 of Wang and Neal: each claim on results whose truth is known."""

import copy

import numpy as np
import pytest

from judging import verdicts
from reproduce import wang_fig2 as fig2
from reproduce import wang_table2
from reproduce.harness import replicates
from reproduce.harness.claims import judge
from reproduce.harness.run import Settings
from reproduce.harness.style import plt
from reproduce.wang.printed import SOD, TEMPERED
from reproduce.wang.tables import MAIN, SETTINGS
from reproduce.wang_fig2 import Sampled


def made_up():
    """Return a result with which every claim agrees: the paper's times, known to a hundredth."""
    return {setting: {method: Sampled(
        tau=[tau, 1.02 * tau],
        rho=[[decay ** (lag + shift) for lag in range(51)] for shift in (0, 0.01)])
        for method, tau, decay in ((SOD, 9.32, 0.8), (TEMPERED, 1.67, 0.3))}
        for setting in SETTINGS}


(NUMBER,) = (claim.what for claim in fig2.CLAIMS)


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    assert set(verdicts(fig2, made_up()).values()) == {"agrees"}
    assert judge(fig2.CLAIMS, made_up(), "short") == []


def put(method, what, value):
    def change(result):
        for found in result.values():
            found[method] = found[method]._replace(**{what: value})
    return change


@pytest.mark.parametrize("change, wanted", [
    (put(TEMPERED, "tau", [15.0, 15.1]), {NUMBER}),
    (put(TEMPERED, "tau", [0.5, 0.51]), {NUMBER}),
    (put(SOD, "tau", [1.0, 1.01]), {NUMBER}),
], ids=["tempered slow", "tempered faster", "mapping fast"])
def test_one_quantity_moved_and_no_other_claim_differs(change, wanted):
    result = copy.deepcopy(made_up())
    change(result)
    found = verdicts(fig2, result)
    assert {what for what, v in found.items() if v != "agrees"} == wanted
    assert {found[what] for what in wanted} <= {"differs", "every setting differs"}


def test_the_first_lags_by_hand():
    found = fig2.level(made_up(), MAIN)
    geometric = [np.mean([decay ** (lag + shift) for lag in range(1, 11) for shift in (0, 0.01)])
                 for decay in (0.8, 0.3)]
    assert found.value == pytest.approx(geometric[0] - geometric[1], rel=1e-12)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(replicates, "FIGURES", tmp_path / "figures")


def test_the_chains_are_those_of_table_2(folder, monkeypatch):
    """After table 2 nothing is left to be computed for the figure."""
    experiment = replicates.Experiment(wang_table2.NAME, Settings("smoke"))
    asked = []

    def replicates_(self, function, tasks, unit, note=None, warm=None):
        asked.append([{k: v for k, v in task.items() if k != "cost"} for task in tasks])
        if function.__name__ == "clock":
            raise InterruptedError
        return [None] * len(tasks)

    monkeypatch.setattr(replicates.Experiment, "replicates", replicates_)
    with pytest.raises(InterruptedError):
        wang_table2.run(experiment, None)
    own = [task for each in asked[:-1] for task in each]
    with pytest.raises(TypeError):  # the replicates are not real
        fig2.run(replicates.Experiment(fig2.NAME, Settings("smoke")), None)
    mine = asked[-1]
    assert len(mine) == 2 * len(SETTINGS) and all(task in own for task in mine)
    assert {(task["number"], task["index"]) for task in mine} == {(2, 0)}


def test_the_table_shows_both():
    result = made_up()
    text = fig2.table(result)
    for words in ("9.32", "1.67", f"{MAIN}: {TEMPERED}"):
        assert words in text
    for method, tau, lags in ((SOD, "9.32", "0.80 0.64 0.51"),
                              (TEMPERED, "1.67", "0.30 0.09 0.03")):
        row = next(line for line in text.splitlines() if line.startswith(f"{MAIN}: {method}"))
        # the mean of both chains, the paper's, and lags 1, 2 and 3
        assert row.split()[-4:] == [tau, *lags.split()]
    # what no claim is about: log(9.413 / 1.687), two chains 2 % apart; and the early lags
    ahead = next(line for line in text.splitlines() if line.startswith(f"{MAIN}  "))
    assert ahead.split()[-4:-2] == ["1.719", "(0.014)"]
    assert ahead.split()[-2] == f"{fig2.level(result, MAIN).value:.5f}"
    fig = fig2.figure(result)
    assert [ax.get_title() for ax in fig.axes] == [
        "mapping to a discretizing chain", "tempered transitions"]
    plt.close(fig)


def test_each_run_is_of_its_own_method_and_setting(monkeypatch):
    class Store:
        budget, seed = "smoke", 5

        def __init__(self, *_):
            pass

        def replicates(self, function, tasks, *_):
            return [{"rho": [task["seed"][2:5]], "tau": {
                "first": [task["seed"], -1.0], "literal": None, "geyer": None}} for task in tasks]

    monkeypatch.setattr(fig2, "Experiment", Store)
    found = fig2.run(None, None)
    for place, setting in enumerate(SETTINGS):
        for method, j in ((SOD, 1), (TEMPERED, 3)):
            assert found[setting][method] == Sampled(rho=[[[j, place, 0]]],
                                                     tau=[[5, 2, j, place, 0, 0]])


def test_the_interval_by_hand_and_each_number_of_its_own_setting():
    width, claim = 0.005 / 9.32 + 0.005 / 1.67, fig2.CLAIMS[0]
    assert (claim.low, claim.high) == pytest.approx((-width, width), rel=1e-12)
    assert claim.theirs == pytest.approx(((6 * (9.32 + 1.67) + 4) / 1333) ** 0.5, rel=1e-12)
    for place, setting in enumerate(SETTINGS):
        result = made_up()
        result[setting][SOD] = Sampled(
            tau=[5.0, 6.0], rho=[[1.0] + [0.1] * 50, [1.0] + [0.2] * 50])
        for claim in fig2.CLAIMS:
            before, after = claim.ours(made_up()), claim.ours(result)
            assert [a != b for a, b in zip(after.found, before.found, strict=True)] == [
                k == place for k in range(len(SETTINGS))]


def test_each_panel_shows_the_chains_of_its_method():
    result = made_up()
    for setting, found in result.items():
        if setting != MAIN:
            for method, each in found.items():
                found[method] = each._replace(rho=[[9.0] * 51] * 2)
    fig = fig2.figure(result)
    for ax, method in zip(fig.axes, (SOD, TEMPERED), strict=True):
        assert ax.get_title() == fig2.TITLES[method]
        first, other = result[MAIN][method].rho
        assert list(ax.containers[0].markerline.get_ydata()) == first
        assert list(ax.containers[0].markerline.get_xdata()) == list(range(51))  # from lag 0
        (line,) = [each for each in ax.get_lines() if each.get_label() == "other chains"]
        assert list(line.get_ydata()) == other
        assert list(line.get_xdata()) == list(range(51))
    plt.close(fig)
