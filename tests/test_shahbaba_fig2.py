"""Figure 2 of Split HMC: the illustrative data."""

from types import SimpleNamespace

import numpy as np
import pytest

from judging import check_moves, put
from reproduce import shahbaba_fig2 as fig2
from reproduce import shahbaba_fig3, shahbaba_fig4
from reproduce.harness.files import Data
from reproduce.harness.run import Settings


def made_up():
    return fig2.Result(fig2.cases(Settings(seed=1)), np.array([0.5, 1.0, -2.0]), 10, 40)


def test_what_is_another_changes_its_claim():
    check_moves(fig2, made_up(), {
        f"{key} {value}": (put(key, value), ["cases on the wrong side of the line / cases of the"
                                             " smaller class"] * differs)
        for key, value, differs in (("smaller", 40, False), ("smaller", 9, True),
                                    ("wrong", 41, True), ("wrong", 40, False))})


def test_wrong_sides_and_the_smaller_class_are_counted():
    # two clouds, with two ones among the 30 zeros and a zero among the 20 ones
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 2)) + np.where(np.arange(50) < 30, -6.0, 6.0)[:, None]
    y = (np.arange(50) >= 30).astype(float)
    y[[0, 1, 40]] = 1, 1, 0
    cases = Data("two clouds", X, y)
    result = fig2.run(None, cases)
    assert (result.smaller, result.wrong) == (21, 3)
    assert result.cases is cases
    flipped = fig2.run(None, Data("the same", X, 1 - y))
    assert (flipped.smaller, flipped.wrong) == (21, 3)
    np.testing.assert_allclose(flipped.theta, -result.theta, rtol=1e-6)  # Newton, to 1e-10


def test_the_line_is_that_of_even_odds(monkeypatch):
    # eta = 0.3, -0.3, 0.1, -0.1 by theta = (0, 1, 0)
    X = np.array([[0.3, 5.0], [-0.3, 5.0], [0.1, -5.0], [-0.1, -5.0]])
    monkeypatch.setattr(fig2, "fit_cases", lambda _: (None, SimpleNamespace(
        q=np.array([0.0, 1.0, 0.0]))))
    for y, wrong in (([1, 0, 1, 0], 0), ([0, 0, 1, 0], 1), ([0, 1, 0, 0], 3)):
        assert fig2.run(None, Data("four", X, np.array(y, float))).wrong == wrong


@pytest.mark.parametrize("script", [fig2, shahbaba_fig3, shahbaba_fig4])
def test_the_data_are_100_cases_of_2_covariates_and_follow_the_seed(script):
    first, other = (script.cases(Settings(seed=seed)) for seed in (1, 2))
    assert first.X.shape == other.X.shape == (100, 2)  # the caption of Figure 2
    assert not np.array_equal(first.X, other.X)


def test_the_table_and_the_figure():
    assert fig2.table(made_up()) == "MAP estimate: alpha = 0.5, beta_1 = 1, beta_2 = -2"
    (ax,) = fig2.figure(made_up()).axes
    cases = made_up().cases
    # "white circles and black squares"
    for line, label, marker, colour in zip(ax.lines, (0, 1), "os", ("white", "black"), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), cases.X[cases.y == label])
        assert (line.get_marker(), line.get_mfc()) == (marker, colour)
        assert line.get_label() == f"$y$ = {label}"
