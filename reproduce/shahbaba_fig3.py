"""Shahbaba, Lan, Johnson and Neal (2014), Figure 3: U and its normal approximation.

Along one coordinate through the posterior mode of the illustrative data: the potential energy U
and the quadratic U_0 that Algorithm 1 follows exactly, and their derivatives.

Run     python reproduce/shahbaba_fig3.py [--budget smoke|short|paper]
        The budgets differ in the number of data sets on which the claims are tested.
Writes  figures/shahbaba_fig3.png, .txt (table and claims), .json; smoke and short in their folders
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from models.interface import U, grad_U, hessian
from reproduce.harness.claims import Claim, smallest, text_table
from reproduce.harness.files import Data
from reproduce.harness.style import legend_below, panels
from reproduce.shahbaba import illustration
from reproduce.shahbaba.illustration import POINTS, REACH, WITHIN, fit_cases, gradients

NAME, WHAT = "shahbaba_fig3", "U and its normal approximation"
MINUTES = {"paper": 0.25, "short": 0.1, "smoke": 0.05}

# The paper's settings (Section 3.1)
COORDINATES = {1: r"\beta_1", 2: r"\beta_2", 0: r"\alpha"}  # the paper's figure has the first

# Our settings; those of all figures of these data are in shahbaba/illustration.py
DRAWS = 20  # from the normal approximation, for the curvature of U_1


class Approximation(NamedTuple):
    """How close U_0 is to U: numbers of a data set, or an array of each for many."""

    gradient: float  # largest |dU/dtheta_j| at the mode, in standard deviations
    second: float  # largest |U'' / J_jj - 1| there
    off: float  # largest |U - U_0| along either coefficient
    rest: float  # share of the mean square of dU that dU_0 leaves, the larger of the two
    curvature: float  # of U_1 / of U


class Result(NamedTuple):
    """What is drawn, and what the claims are on."""

    cases: Data
    slopes: dict  # {slope: Approximation of many data sets}


def run(experiment, cases):
    """Return the Result."""
    return Result(cases, illustration.by_slope(one_data_set, experiment))


def one_data_set(cases, rng):
    """Return the Approximation of one data set."""
    model, fit = fit_cases(cases)
    sd = np.diag(fit.hessian) ** -0.5
    off, rest, second = [], [], []
    for j in range(fit.q.size):
        near = profile(model, fit, j, np.array([-1e-3, 1e-3]))[2]
        second.append(np.diff(near)[0] / (2e-3 * sd[j]) / fit.hessian[j, j])
        if j:
            energy, energy_0, derivative, derivative_0 = profile(
                model, fit, j, np.linspace(-WITHIN, WITHIN, POINTS))
            off.append(np.abs(energy - energy_0).max())
            rest.append(np.mean((derivative - derivative_0) ** 2) / np.mean(derivative**2))
    root = np.linalg.inv(np.linalg.cholesky(fit.hessian))  # root' root is the covariance
    draws = fit.q + rng.standard_normal((DRAWS, fit.q.size)) @ root
    curved = np.array([hessian(q, model) for q in draws])
    of_U, of_U_1 = (np.mean(np.linalg.norm(curved - part, 2, axis=(1, 2)))
                    for part in (0.0, fit.hessian))
    return Approximation(np.max(np.abs(grad_U(fit.q, model)) * sd),
                         np.max(np.abs(np.array(second) - 1)), max(off), max(rest), of_U_1 / of_U)


def profile(model, fit, j, t):
    """Return U - U(mode), U_0, dU/dtheta_j and dU_0/dtheta_j along coordinate j.

    t : (m,) in conditional standard deviations from the mode    -> four arrays of (m,)
    """
    J_jj = fit.hessian[j, j]
    steps = t / J_jj**0.5
    points = fit.q + steps[:, None] * np.eye(fit.q.size)[j]
    energy = np.array([U(q, model) for q in points]) - U(fit.q, model)
    return energy, t**2 / 2, gradients(points, model)[:, j], J_jj * steps


def largest(r, name):
    """Return the largest value over all data sets."""
    return max(getattr(sets, name).max() for sets in r.slopes.values())


def least_share(r, name, below):
    """Return in which share of the data sets something is below a bound, at the worst slope."""
    return smallest(illustration.share(getattr(sets, name) < below) for sets in r.slopes.values())


USUALLY = ("words only: in more than half of the data sets, for either coefficient, whatever the"
           " slope (the least favourable one counts)")
CLAIMS = [
    Claim("largest |dU/dtheta_j| at the mode, in standard deviations", "theory: 0",
          lambda r: largest(r, "gradient"), 0.0, 1e-8,
          "numerics: Newton's method stops at a decrement of 1e-10", "ours"),
    Claim("largest |U'' / J_jj - 1| at the mode", "theory: 0",
          lambda r: largest(r, "second"), 0.0, 1e-6,
          "numerics: a central difference of dU/dtheta_j over 1e-3 standard deviations; its error"
          " is about 1e-7 times the fourth derivative of U, in these units of order 1", "ours"),
    Claim("share of data sets with |U - U_0| < 1 within 2 s.d.", "usually",
          lambda r: least_share(r, "off", 1.0), 0.5, np.inf, "Section 3.1, a reasonable"
          f" approximation: less than a factor e in density; {USUALLY}", "printed sentence"),
    Claim("share of data sets where dU_0 explains 3/4 of dU within 2 s.d.", "order",
          lambda r: least_share(r, "rest", 0.25), 0.5, np.inf, "Section 3.1, a reasonable linear"
          f" approximation: of the mean square; {USUALLY}", "order"),
    Claim("share of data sets where U_1 is less curved than U", "order",
          lambda r: least_share(r, "curvature", 1.0), 0.5, np.inf,
          "Section 3.1, the limit of stability set by U_1 will tend to be larger: the spectral norm"
          " of the Hessian of U_1 = U - U_0, a mean over the normal approximation, is below that"
          " of U, so that a step of the kick alone may be longer.  (The limit of Algorithm 1 as a"
          " whole is another matter: see shahbaba_stability.py)", "order"),
]


def table(r):
    """Lay out the medians by slope."""
    rows = [[f"{slope:g}", len(sets.off), *(f"{np.median(x):.3f} ({np.quantile(x, 0.9):.3f})"
                                            for x in (sets.off, sets.rest, sets.curvature))]
            for slope, sets in r.slopes.items()]
    return ("Over the data sets, the median (and the 0.9 quantile); slope: the length of the true"
            " beta, which the paper does\nnot give; left: the share of the mean square of dU that"
            " dU_0 leaves\n\n" + text_table(
        rows, ["slope", "data sets", "max |U - U_0|", "dU left", "|U_1''| / |U''|"]))


def figure(r):
    """Draw the paper's two panels for beta_1, and below the same for the other coordinates."""
    model, fit = fit_cases(r.cases)
    fig, axes = panels(3, 2, 8.2, height_ratios=[1.4, 1, 1])
    t = np.linspace(-REACH, REACH, 121)
    for row, (j, symbol) in zip(axes, COORDINATES.items(), strict=True):
        x = fit.q[j] + t / fit.hessian[j, j] ** 0.5
        energy, energy_0, derivative, derivative_0 = profile(model, fit, j, t)
        for ax, curve, curve_0, label in (
                (row[0], energy, energy_0, r"$U - U(\hat q)$"),
                (row[1], derivative, derivative_0, rf"$\partial U/\partial {symbol}$")):
            ax.plot(x, curve, "k-", label="$U$")
            ax.plot(x, curve_0, "k--", label="$U_0$, its normal approximation at the mode")
            ax.axvline(fit.q[j], color="0.75", lw=1, zorder=0, label="the mode")
            whose = "the paper's panel" if j == 1 else "ours"
            ax.set(xlabel=f"${symbol}$", ylabel=label, title=f"along ${symbol}$ ({whose})")
    fig.suptitle(f"U and its normal approximation, {r.cases.name}")
    legend_below(fig, axes[0, 0])
    return fig


cases = illustration.cases
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
