"""Split HMC (Shahbaba, Lan, Johnson and Neal 2014), Figure 2: the illustrative data.

Run     python reproduce/shahbaba_fig2.py [--budget smoke|short|paper]
        3 s at every budget, and about 20 s more the first time, to compile; --seed S draws others
Writes  shahbaba_fig2.png, .txt (the claims) and .json, into figures/ for the paper budget and
        figures/<budget>/ for the others; the exit status is 1 if a claim fails

Open question: the paper does not say how its 100 cases were made.  Ours have two standard normal
covariates and a logit of slope 5 across the boundary (data.illustrative).  What depends on the
slope is measured in shahbaba_fig3.py and shahbaba_fig4.py.
"""

import numpy as np

import data
from algorithms.map_estimate import map_estimate
from harness import Claim, announce, finish, parse, plt
from models.logistic_regression import LogisticRegression

NAME = "shahbaba_fig2"

# The paper's settings (caption of Figure 2; prior deviations as in Section 3.3)
N, P = 100, 2
SIGMA = 5.0

# Our settings
SLOPE = 5.0

CLAIMS = [
    Claim("cases", "100", N, N, "a count"),
    Claim("covariates", "2", P, P, "a count"),
    Claim("cases of the smaller class", "two classes", 1, N / 2, "both classes are drawn"),
    Claim("cases on the wrong side of the line / cases of the smaller class", "order", 0.0, 1.0,
          "a classification problem: the line p = 1/2 of the MAP estimate, which Figure 4 draws,"
          " does better than to call every case by the larger class"),
]


def run(cases):
    """Return the MAP estimate of (alpha, beta_1, beta_2)."""
    return map_estimate(LogisticRegression.from_data(cases.X, cases.y, SIGMA, SIGMA))


def table(cases, fit):
    """Measure what the claims are about."""
    smaller = min(cases.y.sum(), (1 - cases.y).sum())
    wrong = np.sum((fit.q[0] + cases.X @ fit.q[1:] > 0) != (cases.y == 1))
    return {"cases": cases.X.shape[0], "covariates": cases.X.shape[1],
            "cases of the smaller class": smaller,
            "cases on the wrong side of the line / cases of the smaller class": wrong / smaller,
            **{f"MAP estimate of {name}": value for name, value in
               zip(("alpha", "beta_1", "beta_2"), fit.q, strict=True)}}


def figure(cases):
    """Draw the cases as the paper does: white circles for one class, black squares for the other.

    Which is which the paper does not say; circles are class 0 here.
    """
    fig, ax = plt.subplots(figsize=(5, 4.8), layout="constrained")
    for label, marker, face in ((0, "o", "white"), (1, "s", "black")):
        ax.plot(*cases.X[cases.y == label].T, marker, mfc=face, mec="black", ms=6,
                label=f"y = {label}")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal",
           title=f"n = {len(cases.y)}, p = {cases.X.shape[1]}")
    ax.legend()
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    cases = data.illustrative(settings.seed, SLOPE)
    announce(NAME, settings, "a classification problem", cases, 0.05)
    fit = run(cases)
    failures = finish(NAME, settings, CLAIMS, table(cases, fit), figure(cases),
                      {"data": cases.name, "X": cases.X, "y": cases.y, "theta": fit.q})
    raise SystemExit(failures > 0)
