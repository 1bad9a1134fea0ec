"""Figure 4 of Split HMC: splitting the data."""

import numpy as np
import pytest

from judging import check_labels, check_moves, put, replaced, verdicts
from models.interface import grad_U
from reproduce import shahbaba_fig4 as fig4
from reproduce.shahbaba.datasets import illustrative
from reproduce.shahbaba.illustration import SLOPES

DISTANCE = "distance to the line, nearest of R_1 - farthest of R_0"
OFF = "|p - 1/2|, nearest of R_1 - farthest of R_0"
WEIGHT = "p (1 - p), least of R_0 - largest of R_1"
SUM = "largest |dU - dU_0 - dU_1| / |dU_0|"
PRIOR = "largest prior precision in U_1"
SHARE = "least mean share of R_0 in the information / 0.3"
LEFT = "share of data sets where dU_0 explains half of dU along beta_1, by slope"
MOST = "share of R_0 in the information, simulated data"
SLOW = "curvature of U_1 / of U, simulated data"


SHARES = np.linspace(0.4, 0.6, 400)  # in R_0, of the information


def made_up():
    """Return a result of which every claim is true, whatever the slope: 400 data sets of each."""
    one = fig4.Measures(distance=0.1, off=0.1, weight=0.1, sum=1e-15, prior=0.0, share=0.5,
                        curvature=0.2, along=0.5, across=0.3, left=0.1)
    return fig4.Result(illustrative(1, 5.0), {slope: fig4.Measures(
        *(np.full(400, value) for value in one))._replace(share=SHARES.copy())
        for slope in SLOPES}, (0.9, 0.1))


def measured(slope, **starts):
    """Make a function that gives the first data sets of a slope these values."""
    return lambda result: replaced(result, ["slopes", slope], result.slopes[slope]._replace(**{
        key: np.append(start, getattr(result.slopes[slope], key)[len(start):])
        for key, start in starts.items()}))


def check_classes(lines, cases):
    """Assert that lines show the classes as Figure 2 does: "white circles and black squares"."""
    for line, label, marker, colour in zip(lines, (0, 1), "os", ("white", "black"), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), cases.X[cases.y == label])
        assert (line.get_label(), line.get_marker(), line.get_mfc()) == (
            f"$y$ = {label}", marker, colour)


MOVED = {
    # one data set of 400
    **{f"{key}, slope {slope}": (measured(slope, **{key: [value]}), [what])
       for slope in SLOPES for key, value, what in (
           ("distance", -0.01, DISTANCE), ("off", -0.01, OFF), ("weight", -0.01, WEIGHT),
           ("sum", 1.2e-12, SUM), ("prior", 1e-9, PRIOR))},
    # the least favourable slope counts; a mean of 0.27 is below 0.3 by 10 standard errors
    **{f"share of {0.5 - by}, slope {slope}": (measured(slope, share=SHARES - by),
                                               [SHARE] * (by > 0.2))
       for slope in SLOPES for by in (0.23, 0.17)},
    "half": (put("simulated", (0.45, 0.1)), [MOST]), "fast": (put("simulated", (0.9, 1.1)), [SLOW]),
    # 150 of 400 are left, 5 standard errors below half
    "left": (lambda result: result._replace(slopes={
        slope: found._replace(left=np.repeat([0.6, 0.1], [250, 150]))
        for slope, found in result.slopes.items()}), [LEFT]),
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(fig4, made_up(), MOVED)


@pytest.mark.parametrize("slope", SLOPES)
def test_what_depends_on_the_slope_is_not_specified(slope):
    found = verdicts(fig4, measured(slope, left=[0.6] * 250)(made_up()))
    assert found.pop(LEFT) == "not specified"
    assert set(found.values()) == {"agrees"}


def test_the_quantities_of_a_data_set_by_another_route():
    cases = illustrative(3, 5.0)
    found = fig4.one_data_set(cases)
    assert fig4.FRACTION == 0.3  # Section 3.2
    _, fit, parts = fig4.split(cases, 0.3)
    X, q = np.c_[np.ones(100), cases.X], fit.q
    eta = X @ q
    near = np.argsort(np.abs(eta))
    assert sorted(near[:30]) == parts.cases.tolist()  # those closest to the line
    norm = np.linalg.norm(q[1:])
    assert found.distance == pytest.approx(
        (abs(eta[near[30]]) - abs(eta[near[29]])) / norm, rel=1e-9)
    p = 1 / (1 + np.exp(-np.abs(eta)))
    assert found.off == pytest.approx(p[near[30]] - p[near[29]], rel=1e-9)
    w = p * (1 - p)
    assert found.weight == pytest.approx(w[near[29]] - w[near[30]], rel=1e-9)
    assert found.sum < 1e-12 and found.prior == 0.0

    def information(some):
        return (X[some].T * w[some]) @ X[some]

    J_0, J_1 = information(near[:30]) + np.eye(3) / 25, information(near[30:])
    J = J_0 + J_1
    assert found.share == pytest.approx(np.trace(np.linalg.inv(J) @ J_0) / 3, rel=1e-9)
    assert found.curvature == pytest.approx(np.linalg.norm(J_1, 2) / np.linalg.norm(J, 2), rel=1e-9)

    def dU(direction, some, prior):
        at = q + np.linspace(-2, 2, 41)[:, None] / np.sqrt(direction @ J @ direction) * direction
        pull = (1 / (1 + np.exp(-at @ X[some].T)) - cases.y[some]) @ X[some]
        return (pull + prior * at / 25) @ direction

    for key, direction, of in (("along", np.array([0, *q[1:]]) / norm, np.ptp),
                               ("across", np.array([0, -q[2], q[1]]) / norm, np.ptp),
                               ("left", np.array([0.0, 1.0, 0.0]), lambda d: np.sum(d**2))):
        slow, whole = dU(direction, near[30:], 0), dU(direction, near, 1)
        assert getattr(found, key) == pytest.approx(of(slow) / of(whole), rel=1e-9)


def test_the_simulated_data_have_a_share_of_cases_of_their_own(monkeypatch):
    for name, stands_for in (("simulated_logistic", lambda: "simulated"),
                             ("split", lambda *of: (None, *of)), ("information", lambda *of: of)):
        monkeypatch.setattr(fig4, name, stands_for)
    monkeypatch.setattr(fig4.illustration, "by_slope", lambda *_: {})
    assert fig4.run(None, None).simulated == ("simulated", 0.4)  # Section 3.3.1


def test_what_the_parts_leave_of_a_sum_is_relative_to_the_first(monkeypatch):
    known = iter([([2.0, 4.0], [1.0, -4.0], [0.5, 1.0]),  # 7 is left, of 4
                  ([1.0, 3.0], [0.0, 8.0], [0.0, 1.0]),  # 6 of 8
                  ([1.0, 3.0], [9.0, 9.0], [1.0, 1.0])])  # along beta_1: 2 of 10 in mean square
    monkeypatch.setattr(fig4, "derivatives", lambda *_: [*map(np.array, next(known))])
    found = fig4.one_data_set(illustrative(3, 5.0))
    assert (found.sum, found.left) == pytest.approx((1.75, 0.2), rel=1e-12)
    assert (found.along, found.across) == (0.25, 0.5)


def test_the_region_of_R_0_and_the_derivatives_are_in_their_places():
    cases = made_up().cases
    model, fit, parts = fig4.split(cases, 0.3)
    first, *others = fig4.figure(made_up()).axes
    check_labels([first], ("$x_1$", "$x_2$"))
    eta = np.abs(model.X @ fit.q)
    inside = np.isin(np.arange(100), parts.cases)
    found = [fit.q[0] + each.get_paths()[0].vertices @ fit.q[1:]
             for each in first.collections]  # the region and the line
    # the widest is between the last case of R_0 and the first that is not, but for rounding
    for end in (found[0].max(), -found[0].min()):
        assert eta[inside].max() < end < eta[~inside].min()
    assert np.abs(found[1]).max() < 1e-9  # P(y = 1) = 1/2
    check_classes(first.lines[:2], cases)
    assert [(line.get_label()[:3], line.get_color()) for line in first.lines[2:]] == [
        ("$R_", "0.85"), ("$P(", "k")]
    for ax, j in zip(others, (1, 2, 0), strict=True):
        symbol = (r"\alpha", r"\beta_1", r"\beta_2")[j]
        check_labels([ax], (f"${symbol}$", rf"$\partial U / \partial {symbol}$"))
        assert ax.get_title().startswith(f"along ${symbol}$ (")
        *curves, mode = ax.lines
        assert [(curve.get_label(), curve.get_linestyle()) for curve in curves] == [
            ("$U$", "-"), ("$U_0$", "--"), ("$U_1$", ":")]
        assert set(mode.get_xdata()) == {fit.q[j]}
        for end, t in ((0, -3), (-1, 3)):  # conditional deviations
            q = fit.q.copy()
            q[j] += t / fit.hessian[j, j] ** 0.5
            for curve, of in zip(curves, (model, parts.R_0, parts.R_1), strict=True):
                assert curve.get_xdata()[end] == pytest.approx(q[j], rel=1e-12)
                assert curve.get_ydata()[end] == pytest.approx(grad_U(q, of)[j], rel=1e-9)
