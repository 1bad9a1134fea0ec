"""Shahbaba, Lan, Johnson and Neal (2014), Figure 4: splitting the data.

The cases near the line where the classes are equally probable make up U_0 of Algorithm 2, the
others U_1; and the derivatives of U and U_0 along beta_1.

Run     python reproduce/shahbaba_fig4.py [--budget smoke|short|paper]
        The budgets differ in the number of data sets on which the claims are tested.
Writes  figures/shahbaba_fig4.png, .txt (table and claims), .json; smoke and short in their folders
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.shahbaba_split_hmc import split_data
from models.interface import hessian
from reproduce.harness.claims import Claim, Scan, mean, text_table
from reproduce.harness.files import Data
from reproduce.harness.style import legend_below, panels
from reproduce.shahbaba import illustration
from reproduce.shahbaba.datasets import simulated_logistic
from reproduce.shahbaba.illustration import POINTS, REACH, WITHIN, fit_cases, gradients, share

NAME, WHAT = "shahbaba_fig4", "splitting the data"
MINUTES = {"paper": 0.25, "short": 0.1, "smoke": 0.05}

# The paper's settings (Section 3.2; of the simulated data, Section 3.3.1)
FRACTION = 0.3
FRACTION_SIMULATED = 0.4

# Our settings are those of all figures of these data, in shahbaba/illustration.py


class Measures(NamedTuple):
    """What a split does: numbers of a data set, or an array of each for many."""

    distance: float  # to the line, nearest of R_1 less farthest of R_0
    off: float  # |p - 1/2|, the same
    weight: float  # p (1 - p), least of R_0 less largest of R_1
    sum: float  # largest |dU - dU_0 - dU_1| / |dU_0|
    prior: float  # largest prior precision in U_1
    share: float  # of R_0 in the information
    curvature: float  # of U_1 / of U
    along: float  # variation of dU_1 / of dU, along beta
    across: float  # the same, across it
    left: float  # share of the mean square of dU/dbeta_1 that dU_0/dbeta_1 leaves


class Result(NamedTuple):
    """What is drawn, and what the claims are on."""

    cases: Data
    slopes: dict  # {slope: Measures of many data sets}
    simulated: tuple  # of the simulated data: share of R_0 in the information, curvature


def run(experiment, cases):
    """Return the Result."""
    return Result(cases, illustration.by_slope(lambda cases, _: one_data_set(cases), experiment),
                  information(*split(simulated_logistic(), FRACTION_SIMULATED)[1:]))


def split(cases, fraction):
    """Return the model of the cases, the MAP estimate, and the DataSplit."""
    model, fit = fit_cases(cases)
    return model, fit, split_data(model, fit.q, fraction)


def one_data_set(cases):
    """Return the Measures of one data set."""
    model, fit, parts = split(cases, FRACTION)
    inside = np.isin(np.arange(cases.y.size), parts.cases)
    eta = model.X @ fit.q
    p = 1 / (1 + np.exp(-eta))
    distance, off, weight = np.abs(eta) / np.hypot(*fit.q[1:]), np.abs(p - 0.5), p * (1 - p)
    along = np.array([0.0, *fit.q[1:]]) / np.hypot(*fit.q[1:])  # steeper, or less
    across = np.array([0.0, -along[2], along[1]])  # turns the line
    t, off_sum, slow = np.linspace(-WITHIN, WITHIN, POINTS), [], []
    for direction in (along, across):
        dU, dU_0, dU_1 = derivatives(model, fit, parts, direction, t)
        off_sum.append(np.max(np.abs(dU - dU_0 - dU_1)) / np.max(np.abs(dU_0)))
        slow.append(np.ptp(dU_1) / np.ptp(dU))
    captured, curvature = information(fit, parts)
    dU, _, dU_1 = derivatives(model, fit, parts, np.array([0.0, 1.0, 0.0]), t)
    return Measures(distance[~inside].min() - distance[inside].max(),
                    off[~inside].min() - off[inside].max(),
                    weight[inside].min() - weight[~inside].max(), max(off_sum),
                    parts.R_1.precision.max(), captured, curvature, *slow,
                    np.mean(dU_1**2) / np.mean(dU**2))


def derivatives(model, fit, parts, direction, t):
    """Return the derivatives of U, U_0 and U_1 along a unit vector, t s.d. from the mode."""
    points = fit.q + (t / (direction @ fit.hessian @ direction) ** 0.5)[:, None] * direction
    return [gradients(points, m) @ direction for m in (model, parts.R_0, parts.R_1)]


def information(fit, parts):
    """Return R_0's share in the information, and the curvature of U_1 in units of that of U."""
    H_0, H_1 = hessian(fit.q, parts.R_0), hessian(fit.q, parts.R_1)
    largest = [np.linalg.eigvalsh(H)[-1] for H in (H_1, fit.hessian)]
    return np.trace(np.linalg.solve(fit.hessian, H_0)) / fit.q.size, largest[0] / largest[1]


def extreme(of, r, name):
    """Return the extreme value, `of` min or max, over all data sets."""
    return of(of(getattr(sets, name)) for sets in r.slopes.values())


CLAIMS = [
    *[Claim(what, "ours", lambda r, name=name: extreme(min, r, name), 0.0, np.inf,
            f"Section 3.2: {why}", "ours") for name, what, why in (
        ("distance", "distance to the line, nearest of R_1 - farthest of R_0",
         "R_0 holds the cases closest to the line; the smallest difference over all data sets"),
        ("off", "|p - 1/2|, nearest of R_1 - farthest of R_0",
         "equivalently, those whose probability of class 1 is closest to 1/2"),
        ("weight", "p (1 - p), least of R_0 - largest of R_1",
         "the weight of a case in the second derivatives is greatest where p = 1/2"))],
    Claim("largest |dU - dU_0 - dU_1| / |dU_0|", "theory: 0",
          lambda r: extreme(max, r, "sum"), 0.0, 1e-12,
          "equation (7): U = U_0 + U_1.  Rounding of sums of 100 terms", "ours"),
    Claim("largest prior precision in U_1", "theory: 0",
          lambda r: extreme(max, r, "prior"), 0.0, 0.0, "the prior is in U_0 only", "ours"),
    Claim("least mean share of R_0 in the information / 0.3", "order",
          lambda r: min(mean(sets.share) / FRACTION for sets in r.slopes.values()), 1.0, np.inf,
          "Section 3.2, its point: these cases matter more than as many others; the least"
          " favourable slope.  The share is tr(J^-1 J_0) / 3, J_0 the Hessian of U_0", "order"),
    Claim("share of data sets where dU_0 explains half of dU along beta_1, by slope", "order",
          lambda r: Scan(tuple(r.slopes), tuple(share(sets.left < 0.5)
                                                for sets in r.slopes.values())), 0.5, np.inf,
          "Section 3.2, the right plot, \"shows the approximation of\" dU/dbeta_1 by dU_0/dbeta_1."
          "  How good it is and how steep the logit, the paper does not say; half of the mean"
          " square within 2 standard deviations, in more than half of the sets, is ours", "ours"),
    Claim("share of R_0 in the information, simulated data", "most", lambda r: r.simulated[0],
          0.5, 1.0, "Section 2.2: a small subset that captures most of the information; on the"
          " data of Section 3.3.1, with 40% of the cases", "printed sentence"),
    Claim("curvature of U_1 / of U, simulated data", "order", lambda r: r.simulated[1], 0.0, 1.0,
          "Section 1: U_1 is the slowly varying part: the largest eigenvalues of the Hessians at"
          " the mode", "order"),
]


def table(r):
    """Lay out the medians by slope."""
    rows = [[f"{slope:g}", len(sets.share),
             *("{1:.2f} ({0:.2f} to {2:.2f})".format(*np.quantile(x, [0.1, 0.5, 0.9]))
               for x in sets[-5:])] for slope, sets in r.slopes.items()]
    return ("Over the data sets of 100 cases, the median (and the 0.1 and 0.9 quantiles) of: R_0's"
            " share in the\ninformation; the curvature of U_1 in units of that of U; the variation"
            " of dU_1 within 2 standard\ndeviations in units of that of dU, along beta and across"
            " it; and the share of the mean square of\ndU/dbeta_1 that dU_0/dbeta_1 leaves.  slope:"
            " the length of the true beta, which the paper does not give\n\n"
            + text_table(rows, ["slope", "data sets", "information in R_0", "curvature of U_1",
                                "dU_1 along", "dU_1 across", "dU/dbeta_1 left"]))


def figure(r):
    """Draw the paper's two panels, and below the derivatives along the other coordinates."""
    model, fit, parts = split(r.cases, FRACTION)
    fig, axes = panels(2, 2, 7.4, height_ratios=[1.5, 1])
    draw_split(axes[0, 0], r.cases, fit, parts)
    axes[0, 0].set_title("the cases (the paper's panel)")
    t = np.linspace(-REACH, REACH, 121)
    for ax, j, symbol, whose in ((axes[0, 1], 1, r"\beta_1", "the paper's panel, and $U_1$"),
                                 (axes[1, 0], 2, r"\beta_2", "ours"),
                                 (axes[1, 1], 0, r"\alpha", "ours")):
        theta_j = fit.q[j] + t / fit.hessian[j, j] ** 0.5
        curves = derivatives(model, fit, parts, np.eye(fit.q.size)[j], t)
        for curve, style, name in zip(curves, ("k-", "k--", "k:"), ("U", "U_0", "U_1"),
                                      strict=True):
            ax.plot(theta_j, curve, style, label=f"${name}$")
        ax.axvline(fit.q[j], color="0.75", lw=1, zorder=0, label="the mode")
        ax.set(xlabel=f"${symbol}$", title=f"along ${symbol}$ ({whose})",
               ylabel=rf"$\partial U / \partial {symbol}$ and its parts")
    fig.suptitle(f"a split of the data, {r.cases.name}")
    legend_below(fig, *axes.flat, ncols=4)
    return fig


def draw_split(ax, cases, fit, parts):
    """Draw the cases, the line between the classes, and the region of R_0."""
    alpha, beta = fit.q[0], fit.q[1:]
    inside = np.isin(np.arange(cases.y.size), parts.cases)
    eta = np.abs(alpha + cases.X @ beta)
    edge = (eta[inside].max() + eta[~inside].min()) / 2  # anywhere between the two
    low, high = cases.X.min(0) - 0.3, cases.X.max(0) + 0.3
    x, y = np.meshgrid(*(np.linspace(a, b, 400) for a, b in zip(low, high, strict=True)))
    field = alpha + beta[0] * x + beta[1] * y
    ax.contourf(x, y, field, [-edge, edge], colors=["0.85"])
    ax.contour(x, y, field, [0.0], colors="k", linewidths=2.5)
    for label, marker, face in ((0, "o", "white"), (1, "s", "black")):
        ax.plot(*cases.X[cases.y == label].T, marker, mfc=face, mec="black", ms=5, ls="",
                label=f"$y$ = {label}")
    ax.plot([], [], color="0.85", lw=8, solid_capstyle="butt", label=f"$R_0$, {inside.sum()} cases")
    ax.plot([], [], "k-", lw=2.5, label="$P(y = 1) = 1/2$")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", xlim=(low[0], high[0]),
           ylim=(low[1], high[1]))


cases = illustration.cases
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
