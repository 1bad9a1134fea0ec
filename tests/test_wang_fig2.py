"""Figure 2 of Wang and Neal: each claim on results whose truth is known."""

import numpy as np
import pytest

import studies
from judging import check_labels, check_moves, read_tables
from reproduce import wang_fig2 as fig2
from reproduce.harness.claims import judge
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


def taking(method, tau):
    """Make a function that gives a method another time in every setting."""
    return lambda r: {setting: found | {method: found[method]._replace(tau=[tau, 1.02 * tau])}
                      for setting, found in r.items()}


def test_a_time_that_is_moved_differs():
    check_moves(fig2, made_up(), {place: (taking(*place), ["log(tau"]) for place in (
        (TEMPERED, 15.0), (TEMPERED, 0.5), (SOD, 1.0))})
    assert judge(fig2.CLAIMS, made_up(), "short") == []


def test_the_first_lags_by_hand():
    found = fig2.level(made_up(), MAIN)
    geometric = [np.mean([decay ** (lag + shift) for lag in range(1, 11) for shift in (0, 0.01)])
                 for decay in (0.8, 0.3)]
    assert found.value == pytest.approx(geometric[0] - geometric[1], rel=1e-12)


def test_the_tables_by_hand():
    text = fig2.table(made_up())
    assert text.startswith("One realisation of data set 2,")
    (mapping, tempered, *_), (apart, *_) = read_tables(text)
    lags = {f"lag {k}": f"{(0.3**k + 0.3 ** (k + 0.01)) / 2:.2f}" for k in (1, 2, 3)}
    assert tempered == {"": f"{MAIN}: {TEMPERED}", "tau": "1.687 (0.017)", "paper": "1.67"} | lags
    assert (mapping["tau"], mapping["paper"]) == ("9.413 (0.093)", "9.32")
    assert apart[""] == MAIN and float(apart["log tau"].split()[0]) == pytest.approx(
        np.log(9.32 / 1.67), abs=1e-3)
    assert float(apart["early lags"].split()[0]) == pytest.approx(
        fig2.level(made_up(), MAIN).value, abs=1e-5)


def test_each_panel_has_the_chains_of_its_method():
    axes = fig2.figure(made_up()).axes
    check_labels(axes, ("lag", "sample autocorrelation"), ("lag", ""))
    for ax, method in zip(axes, (SOD, TEMPERED), strict=True):
        assert ax.get_title().startswith(fig2.TITLES[method])
        drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
        first, other = made_up()[MAIN][method].rho
        np.testing.assert_array_equal(drawn["other chains"], other)
        np.testing.assert_array_equal(ax.containers[0].markerline.get_ydata(), first)


def test_all_chains_are_of_one_data_set(monkeypatch):
    def chains(store, function, wanted, *_, **__):
        assert {task["index"] for each in wanted.values() for task in each} == {0}
        return {key: [{"rho": [1.0], "tau": {"first": [2.0]}}] for key in wanted}

    monkeypatch.setattr(fig2, "replicates_by_key", chains)
    found = fig2.run(studies.Recorder("paper", chains), None)
    assert found == {setting: {method: Sampled([[1.0]], [2.0]) for method in (SOD, TEMPERED)}
                     for setting in SETTINGS}
