"""Figure 3 of Split HMC: U and its normal approximation."""

import numpy as np
import pytest

from judging import check_moves, read_table, replaced
from models.interface import U, grad_U
from reproduce import shahbaba_fig3 as fig3
from reproduce.harness.run import Settings
from reproduce.shahbaba.datasets import illustrative
from reproduce.shahbaba.illustration import SLOPES, fit_cases


def made_up():
    """Return a result of which every claim is true: 400 data sets of each slope."""
    one = fig3.Approximation(gradient=1e-9, second=1e-7, off=0.9, rest=0.24, curvature=0.9)
    return fig3.Result(illustrative(1, 5.0), {slope: fig3.Approximation(
        *(np.full(400, value) for value in one)) for slope in SLOPES})


def moved(slope, many, **values):
    """Make a function that gives the first so many data sets of a slope other values."""
    return lambda result: replaced(result, ["slopes", slope], result.slopes[slope]._replace(**{
        key: np.append(np.full(many, value), getattr(result.slopes[slope], key)[many:])
        for key, value in values.items()}))


def test_what_is_another_in_one_slope_changes_its_claim():
    check_moves(fig3, made_up(), {
        f"{key}, slope {slope}": (moved(slope, many, **{key: value}), [what])
        for slope in SLOPES for key, value, many, what in (
            ("gradient", 2e-8, 1, "largest |dU/dtheta_j| at the mode, in standard deviations"),
            ("second", 2e-6, 1, "largest |U'' / J_jj - 1| at the mode"),
            ("off", 1.1, 250, "share of data sets with |U - U_0| < 1 within 2 s.d."),
            ("rest", 0.26, 250, "share of data sets where dU_0 explains 3/4 of dU within 2 s.d."),
            ("curvature", 1.1, 250, "share of data sets where U_1 is less curved than U"))
    } | {"230 of 400, 3 errors above half": (
        moved(2.0, 170, off=5.0, rest=5.0, curvature=5.0), [])})


def test_the_quantities_of_a_data_set_by_another_route():
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
        assert {ax.get_title() for ax in row} == {f"along ${symbol}$ ({whose})"}
        J = fit.hessian[j, j]
        for ax, curve, quadratic in (
                (row[0], lambda q: U(q, model) - U(fit.q, model), lambda d, J=J: J * d**2 / 2),
                (row[1], lambda q, j=j: grad_U(q, model)[j], lambda d, J=J: J * d)):
            whole, normal, mode = ax.lines
            assert (whole.get_linestyle(), normal.get_linestyle()) == ("-", "--")
            assert set(mode.get_xdata()) == {fit.q[j]}
            for end in (0, -1):  # three conditional deviations either side
                shift = (-3, 3)[end] / J**0.5
                x, y = (float(each[end]) for each in whole.get_data())
                q = fit.q.copy()
                q[j] += shift
                assert (x, y) == pytest.approx((q[j], curve(q)), rel=1e-9)
                assert normal.get_ydata()[end] == pytest.approx(quadratic(shift), rel=1e-9)
                assert normal.get_xdata()[end] == x
