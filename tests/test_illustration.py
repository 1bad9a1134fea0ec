"""Figures 2 and 3 of Split HMC, the illustrative data and U, and what they share with Figure 4."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from judging import check_labels, check_moves, put, read_table
from models.interface import U, grad_U
from reproduce import shahbaba_fig2 as fig2
from reproduce import shahbaba_fig3 as fig3
from reproduce import shahbaba_fig4 as fig4
from reproduce.harness.files import Data
from reproduce.harness.run import Settings
from reproduce.shahbaba import illustration
from reproduce.shahbaba.datasets import illustrative
from reproduce.shahbaba.illustration import SLOPES, fit_cases
from test_shahbaba_fig4 import check_classes, measured


def test_a_share_has_an_error_also_at_0_and_1():
    assert illustration.share(np.array([True, False, False, False])) == pytest.approx(
        (0.25, (2 / 6 * 4 / 6 / 4) ** 0.5))
    value, se = illustration.share(np.full(98, True))
    assert value == 1.0 and se == pytest.approx((0.99 * 0.01 / 98) ** 0.5)
    assert illustration.share(np.full(98, False)) == pytest.approx((0.0, se))


def test_the_fit_is_the_mode_with_priors_of_standard_deviation_5():
    cases = illustrative(3, 5.0)
    model, fit = illustration.fit_cases(cases)
    X = np.c_[np.ones(100), cases.X]
    gradient = fit.q / 25 - X.T @ (cases.y - 1 / (1 + np.exp(-X @ fit.q)))
    assert np.abs(gradient).max() < 1e-8  # Newton's method stops at 1e-10
    assert np.allclose(gradient, grad_U(fit.q, model), rtol=0, atol=1e-12)  # rounding


def test_every_slope_has_its_data_sets_and_a_generator():
    Drawn = namedtuple("Drawn", "x y draw")

    found = illustration.by_slope(
        lambda cases, rng: Drawn(cases.X[0, 0], cases.y.sum(), rng.random()),
        SimpleNamespace(budget="smoke", seed=7))
    assert list(found) == [2.0, 5.0, 10.0]
    for index, (slope, values) in enumerate(found.items()):
        for k in range(10):
            cases = illustrative(7 + k, slope)
            assert (values.x[k], values.y[k]) == (cases.X[0, 0], cases.y.sum())
        np.testing.assert_array_equal(values.draw, np.random.default_rng([7, index]).random(10))


LINE = fig2.Result(illustrative(1, 5.0), np.array([0.5, 1.0, -2.0]), 10, 40)


def test_more_cases_on_the_wrong_side_than_in_the_smaller_class_differ():
    check_moves(fig2, LINE, {f"{key} {value}": (put(key, value), [
        "cases on the wrong side of the line / cases of the smaller class"] * differs)
        for key, value, differs in (("smaller", 40, False), ("smaller", 9, True),
                                    ("wrong", 41, True), ("wrong", 40, False))})


def test_wrong_sides_and_the_smaller_class_are_counted():
    # two clouds, with two ones among the 30 zeros and a zero among the 20 ones
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 2)) + np.where(np.arange(50) < 30, -6.0, 6.0)[:, None]
    y = (np.arange(50) >= 30).astype(float)
    y[[0, 1, 40]] = 1, 1, 0
    result, flipped = (fig2.run(None, Data("two clouds", X, labels)) for labels in (y, 1 - y))
    for found in (result, flipped):
        assert (found.smaller, found.wrong, found.cases.name) == (21, 3, "two clouds")
    np.testing.assert_allclose(flipped.theta, -result.theta, rtol=1e-6)  # Newton, to 1e-10


def test_the_line_is_that_of_even_odds(monkeypatch):
    # eta = 0.3, -0.3, 0.1, -0.1 by theta = (0.2, 1, 0)
    X = np.array([[0.1, 5.0], [-0.5, 5.0], [-0.1, -5.0], [-0.3, -5.0]])
    monkeypatch.setattr(fig2, "fit_cases", lambda _: (None, SimpleNamespace(
        q=np.array([0.2, 1.0, 0.0]))))
    for y, wrong in (([1, 0, 1, 0], 0), ([0, 0, 1, 0], 1), ([0, 1, 0, 0], 3)):
        assert fig2.run(None, Data("four", X, np.array(y, float))).wrong == wrong


@pytest.mark.parametrize("script", [fig2, fig3, fig4])
def test_the_data_are_100_cases_of_2_covariates_and_follow_the_seed(script):
    first, other = (script.cases(Settings(seed=seed)) for seed in (1, 2))
    assert first.X.shape == other.X.shape == (100, 2)  # the caption of Figure 2
    assert not np.array_equal(first.X, other.X)


def test_the_table_and_the_figure_of_the_data():
    assert fig2.table(LINE) == "MAP estimate: alpha = 0.5, beta_1 = 1, beta_2 = -2"
    (ax,) = fig2.figure(LINE).axes
    check_labels([ax], ("$x_1$", "$x_2$"))
    check_classes(ax.lines, LINE.cases)


def made_up():
    """Return a result of which every claim is true: 400 data sets of each slope."""
    one = fig3.Approximation(gradient=1e-9, second=1e-7, off=0.9, rest=0.24, curvature=0.9)
    return fig3.Result(illustrative(1, 5.0), {slope: fig3.Approximation(
        *(np.full(400, value) for value in one)) for slope in SLOPES})


def test_what_is_another_in_one_slope_changes_its_claim():
    check_moves(fig3, made_up(), {
        f"{key}, slope {slope}": (measured(slope, **{key: [value] * many}), [what])
        for slope in SLOPES for key, value, many, what in (
            ("gradient", 2e-8, 1, "largest |dU/dtheta_j| at the mode, in standard deviations"),
            ("second", 2e-6, 1, "largest |U'' / J_jj - 1| at the mode"),
            ("off", 1.1, 250, "share of data sets with |U - U_0| < 1 within 2 s.d."),
            ("rest", 0.26, 250, "share of data sets where dU_0 explains 3/4 of dU within 2 s.d."),
            ("curvature", 1.1, 250, "share of data sets where U_1 is less curved than U"))
    } | {"230 of 400, 3 errors above half": (
        measured(2.0, off=[5.0] * 170, rest=[5.0] * 170, curvature=[5.0] * 170), [])})


def test_the_approximation_of_a_data_set_by_another_route():
    cases = illustrative(2, 5.0)
    found = fig3.one_data_set(cases, np.random.default_rng(4))
    model, fit = fit_cases(cases)
    off, rest = [], []
    for j in (1, 2):  # alpha is none of the paper's
        t = np.linspace(-2, 2, 2001)
        energy, energy_0, slope, slope_0 = fig3.profile(model, fit, j, t)
        off.append(np.abs(energy - energy_0).max())
        rest.append(np.trapezoid((slope - slope_0) ** 2, t) / np.trapezoid(slope**2, t))
    assert found.off == pytest.approx(max(off), rel=1e-12)  # at an end of the range
    # 41 points and the trapezoidal rule's ends: some per cent
    assert found.rest == pytest.approx(max(rest), rel=0.15)
    assert found.gradient < 1e-8 and found.second < 1e-6
    # the curvature of U - U_0 at draws from N(q-hat, J^-1), J = L L', by differences of gradients
    shifts = np.linalg.solve(np.linalg.cholesky(fit.hessian).T,
                             np.random.default_rng(4).standard_normal((fig3.DRAWS, 3)).T)
    norms = []
    for q in fit.q + shifts.T:
        H = np.column_stack([(grad_U(q + 1e-5 * e, model) - grad_U(q - 1e-5 * e, model)) / 2e-5
                             for e in np.eye(3)])
        norms.append([np.linalg.norm(H - fit.hessian, 2), np.linalg.norm(H, 2)])
    assert found.curvature == pytest.approx(np.divide(*np.mean(norms, axis=0)), rel=1e-6)


def test_the_table_has_medians_and_nine_tenths():
    result = made_up()
    result.slopes[5] = result.slopes[5]._replace(off=np.arange(101.0))
    (row,) = [row for row in read_table(fig3.table(result), "slope") if row["slope"] == "5"]
    assert row == {"slope": "5", "data sets": "101", "max |U - U_0|": "50.000 (90.000)",
                   "dU left": "0.240 (0.240)", "|U_1''| / |U''|": "0.900 (0.900)"}
    assert fig3.cases(Settings(seed=1)).name == made_up().cases.name


def test_every_panel_has_u_and_its_approximation_along_its_own_coordinate():
    cases = made_up().cases
    model, fit = fit_cases(cases)
    axes = np.reshape(fig3.figure(fig3.Result(cases, {})).axes, (3, 2))
    for row, j in zip(axes, (1, 2, 0), strict=True):
        symbol = {1: r"\beta_1", 2: r"\beta_2", 0: r"\alpha"}[j]
        whose = "the paper's panel" if j == 1 else "ours"
        check_labels(row, (f"${symbol}$", "$U - U"), (
            f"${symbol}$", rf"$\partial U/\partial {symbol}"))
        assert {ax.get_title() for ax in row} == {f"along ${symbol}$ ({whose})"}
        J = fit.hessian[j, j]
        for ax, curve, quadratic in (
                (row[0], lambda q: U(q, model) - U(fit.q, model), lambda d, J=J: J * d**2 / 2),
                (row[1], lambda q, j=j: grad_U(q, model)[j], lambda d, J=J: J * d)):
            whole, normal, mode = ax.lines
            assert (whole.get_linestyle(), normal.get_linestyle()) == ("-", "--")
            assert [line.get_label()[:4] for line in ax.lines] == ["$U$", "$U_0", "the "]
            assert set(mode.get_xdata()) == {fit.q[j]}
            for end in (0, -1):  # three conditional deviations either side
                shift = (-3, 3)[end] / J**0.5
                x, y = (float(each[end]) for each in whole.get_data())
                q = fit.q.copy()
                q[j] += shift
                assert (x, y) == pytest.approx((q[j], curve(q)), rel=1e-9)
                assert normal.get_ydata()[end] == pytest.approx(quadratic(shift), rel=1e-9)
                assert normal.get_xdata()[end] == x
