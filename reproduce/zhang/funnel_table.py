"""What Table 1 of Zhang and Sutton (2014) is compared by: measures of a result, and claims on them.

A result has {row: estimates} in "rows", {method: {steps: estimates}} in "scan", {row: pilots} in
"tried"; estimates are those of zhang/funnel.py with "setting" and "seconds" of a transition.
"""

import numpy as np
from scipy.stats import chi2

from harness.claims import Claim, Measured, Scan, log, mean
from zhang.funnel import LONG
from zhang.funnel_settings import reading
from zhang.printed import half_unit, number
from zhang.tuning import efficiency

TABLE = "Table 1"
# what a column of the table is of ours: printed names of what the MSE is of, and where we have it
ESS = {"min": "x", "v": "v"}
MSE = {"E[v]": ("mse_1", "mean"), "E[v^2]": ("mse_2", "square"), "Var(v)": ("mse_2", "variance")}


def advantage(r, better, worse, measure, per):
    """Return log(ESS per time of a row / that of another); `per` is "seconds" or "passes"."""
    a, b = r["rows"][better], r["rows"][worse]
    cost = log(a["passes"] / b["passes"]) if per == "passes" else log(
        mean(np.divide(a["seconds"], b["seconds"])))
    ess = [x["long"][LONG] if measure == "v, long" else x["apparent"][measure] for x in (a, b)]
    return log(ess[0]) - log(ess[1]) - cost


def multiple_steps(r):
    """Return log(ESS per gradient, any number of leapfrogs / one leapfrog of each), by pilots."""
    def best(kind):
        return max(map(efficiency, filter(kind, r["tried"]["steps"])))

    def single(found):
        return found["setting"]["n_theta"] == found["setting"]["n_phi"] == 1

    # the worst ESS of several thousand draws, of three quantities, has an error of about a tenth
    return Measured(np.log(best(lambda found: not single(found)) / best(single)), 0.1 * 2**0.5)


def rate(r, name):
    """Return the acceptance rate of a reading at the steps where all three are compared."""
    (found,) = [p for p in r["tried"]["readings"] if reading(p["setting"]) == name]
    return found["AP"][0]


def scanned(row, measure):
    """Make a function that takes a measure of a row from all settings of the scan."""
    return lambda r: Scan(*zip(*[(key, measure(found)) for key, found in r["scan"][row].items()],
                               strict=True))


def time_ratio(r, row, other):
    """Scan the time of a row over that of another, for all settings of both."""
    return Scan(*zip(*[(f"{a} / {b}", mean(np.divide(x["seconds"], y["seconds"])))
                       for a, x in ends(r["scan"][row]) for b, y in ends(r["scan"][other])],
                     strict=True))


def ends(found):
    """Return the fastest and the slowest of some settings: what is between follows."""
    order = sorted(found.items(), key=lambda item: np.mean(item[1]["seconds"]))
    return dict([order[0], order[-1]]).items()


def ess_claim(row, column):
    """Make the claim that a printed ESS is what the paper's estimator says of our runs."""
    printed, half = number(TABLE, row, column), half_unit(TABLE, row, column)
    error = (12 / printed) ** 0.5
    return Claim(f"{row}: log(ESS of {column} / {printed:g})", f"{printed:g}", scanned(
        row, lambda found: log(found["apparent"][ESS[column]] / printed)),
        np.log1p(-half / printed) - 3 * error, np.log1p(half / printed) + 3 * error,
        "3 standard errors of theirs, one run: the log of an ESS whose window is six"
        " autocorrelation times has one of (12 / ESS)^1/2; the settings are not stated",
        "printed number", budgets=("paper",))


def mse_claim(row, what):
    """Make the claim that a printed MSE is ours, if it is the squared error of one run."""
    column, name = MSE[what]
    printed, half = number(TABLE, row, column), half_unit(TABLE, row, column)
    low, high = chi2.ppf([0.00135, 0.99865], 1)
    return Claim(f"{row}: MSE of {what}", f"{printed:g}",
                 scanned(row, lambda found: found["mse"][name]),
                 (printed - half) / high, (printed + half) / low,
                 "the squared error of one run is a multiple of a chi-squared number of one degree:"
                 " its 0.00135 and 0.99865 points, and rounding; the second column is E[v^2] by its"
                 " head, the variance by the text; the settings are not stated",
                 "printed number", budgets=("paper",))


def times_claim(row, other, times, known=""):
    """Make the claim that the printed times of two rows are in our proportion."""
    theirs = sorted(t / number(TABLE, other, "time") for t in times)
    return Claim(f"time of {row} / {other}", " or ".join(f"{t:.2f}" for t in theirs),
                 lambda r: time_ratio(r, row, other), theirs[0] * 0.5, theirs[-1] * 2,
                 "machine (ratios only): their overhead of a step is not ours, within a factor of"
                 " two; SSHMC's time is 22.12 s as printed, or 37.36 s by its ESS/s", "printed"
                 " number", known, ("paper",))
