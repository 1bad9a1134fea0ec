"""Shahbaba, Lan, Johnson and Neal (2014), Figure 2: the illustrative data.

The paper does not say how its 100 cases were made (shahbaba/illustration.py); --seed draws others.

Run     python reproduce/shahbaba_fig2.py [--seed S]
Writes  figures/shahbaba_fig2.png, .txt (the claims), .json; smoke and short in their folders
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from reproduce.harness.claims import Claim
from reproduce.harness.files import Data
from reproduce.harness.style import legend_below, panels
from reproduce.shahbaba import illustration
from reproduce.shahbaba.illustration import fit_cases

NAME, WHAT = "shahbaba_fig2", "a classification problem"
MINUTES = dict.fromkeys(("paper", "short", "smoke"), 0.05)

# The paper's settings (caption of Figure 2): n = 100 cases, p = 2 covariates
# Our settings are those of all figures of these data, in shahbaba/illustration.py


class Result(NamedTuple):
    """The cases, and the line between the classes."""

    cases: Data
    theta: np.ndarray  # the MAP estimate
    wrong: int  # cases on the wrong side
    smaller: int  # cases of the smaller class


def run(experiment, cases):
    """Return the Result."""
    _, fit = fit_cases(cases)
    wrong = (fit.q[0] + cases.X @ fit.q[1:] > 0) != (cases.y == 1)
    return Result(cases, fit.q, np.count_nonzero(wrong),
                  min(np.count_nonzero(cases.y == k) for k in (0, 1)))


CLAIMS = [
    Claim("cases on the wrong side of the line / cases of the smaller class", "ours",
          lambda r: r.wrong / r.smaller, 0.0, 1.0,
          "a classification problem: the line p = 1/2 of the MAP estimate, which Figure 4 draws,"
          " does better than to call every case by the larger class", "ours"),
]


def table(r):
    """Say what the MAP estimate is."""
    return "MAP estimate: " + ", ".join(
        f"{name} = {value:.4g}" for name, value in zip(("alpha", "beta_1", "beta_2"), r.theta,
                                                       strict=True))


def figure(r):
    """Draw the cases as the paper does; which class has its white circles it does not say."""
    fig, ax = panels(1, 1, 5.2)
    for label, marker, face in ((0, "o", "white"), (1, "s", "black")):
        ax.plot(*r.cases.X[r.cases.y == label].T, marker, mfc=face, mec="black", ms=6,
                label=f"$y$ = {label}")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal",
           title=f"$n$ = {len(r.cases.y)}, $p$ = {r.cases.X.shape[1]}")
    legend_below(fig, ax)
    return fig


cases = illustration.cases
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
