"""What Table 1 of Zhang and Sutton (2014) is compared by: measures of a result, and claims on them.

A result has {row: estimates} in "rows", {method: {steps: estimates}} in "scan", {row: pilots} in
"tried"; estimates are those of zhang/funnel.py with "setting" and "seconds" of a transition.
"""

import numpy as np
from scipy.stats import chi2, norm

from reproduce.harness.claims import Claim, Measured, Noted, Scan, brief, log, mean
from reproduce.zhang import judged
from reproduce.zhang.funnel import LONG
from reproduce.zhang.funnel_settings import reading
from reproduce.zhang.printed import HMC, METHODS, SSHMC, number
from reproduce.zhang.tuning import efficiency

TABLE = "Table 1"
# what a column of the table is of ours; the second MSE is of E[v^2] by its head, of the variance by
# the text
ESS = {"min": "x", "v": "v"}
COLUMNS = {"mse_1": "mean", "mse_2": "square"}
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


def ess_claim(row, column, known=None):
    """Make the claim about a printed ESS of the table."""
    return judged.ess_claim(TABLE, row, column, scanned(row, lambda found: log(
        found["apparent"][ESS[column]])), column, known)


def mse_deviate(printed, variances):
    """Return the normal deviate of printed squared errors, given our mean squared errors.

    printed, variances : floats, Measured     of E[v] or E[v^2], a run each: the truth is known

    The error of a run's mean is a normal number of mean 0, whose variance V is the mean squared
    error of such runs.  So the squared error over V is chi-squared with one degree of freedom, and
    the sum over k independent ones with k.  (Errors of E[v] and of E[v^2] of one run are
    uncorrelated, because v is symmetric.)  The deviate is positive where the paper's are larger.
    """
    ratios = [float(theirs) / ours for theirs, ours in zip(printed, variances, strict=True)]
    total, k = sum(ratios, Measured(0.0)), len(ratios)
    deviate = float(norm.isf(chi2.sf(total.value, k)) if total.value > k else  # may be infinite
                    norm.ppf(chi2.cdf(total.value, k)))
    slope = chi2.pdf(total.value, k) / norm.pdf(deviate) if np.isfinite(deviate) else 0.0
    return Measured(deviate, float(slope * total.se)), total


def mse_test():
    """Make the joint test of the six printed MSE."""
    def ours(result):
        cells = [(number(TABLE, row, column), result["rows"][row]["mse"][name])
                 for row in METHODS for column, name in COLUMNS.items()]
        deviate, total = mse_deviate(*zip(*cells, strict=True))
        shares = ", ".join(f"{chi2.sf(theirs / v.value, 1):.2g}" for theirs, v in cells)
        return Noted(deviate, f"chi-squared {brief(total)} of {len(cells)}; the six are exceeded"
                     f" with probabilities of {shares}")

    return Claim("the six printed MSE together", "0.6, 0.18; 1.58, 0.72; 0.04, 0.03", ours, 0.0,
                 0.0, "the normal deviate, of 1 standard error, of a chi-squared sum: a printed MSE"
                 " is the squared error of one run, ours the mean of many at the settings that the"
                 " rule takes; the second column is E[v^2] by its head.  Runs that hardly mix have"
                 " heavier tails than normal ones", "joint test", budgets=("paper",), theirs=1.0)


def times_claim(row, other, times, known=None):
    """Make the claim that the printed times of two rows are in our proportion."""
    theirs = sorted(t / number(TABLE, other, "time") for t in times)
    return Claim(f"time of {row} / {other}", " or ".join(f"{t:.2f}" for t in theirs),
                 lambda r: time_ratio(r, row, other), theirs[0] * 0.5, theirs[-1] * 2,
                 "machine (ratios only): their overhead of a step is not ours, within a factor of"
                 " two; SSHMC's time is 22.12 s as printed, or 37.36 s by its ESS/s; numbers of"
                 " steps are not stated", "printed number", known, ("paper",), printed=theirs[0])


def leapfrog_ratio(r):
    """Return the log of the time of a leapfrog of HMC over that of one in an ABLA step."""
    hmc, ours = (r["rows"][row] for row in (HMC, SSHMC))
    steps = ours["setting"]
    each = steps["L"] * (2 * steps["n_theta"] + steps["n_phi"])
    return log(mean(np.divide(hmc["seconds"], ours["seconds"]))) - np.log(
        hmc["setting"]["L"] / each)
