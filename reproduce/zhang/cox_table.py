"""What Table 4 of Zhang and Sutton (2014) is compared by: measures of a result, and claims on them.

A result has {row: estimates} in "rows" and {setting: estimates} in "scan", estimates those of
zhang/cox.py with "n", "setting" and "seconds" of a transition, and the pilots in "tried".
"""

import math

import numpy as np

from models.interface import precompute_phi, velocity_theta
from reproduce.harness.claims import Claim, Measured, Scan, log, mean
from reproduce.zhang.cox import OWN, problem
from reproduce.zhang.judged import ess_claim as printed_ess
from reproduce.zhang.judged import log_error
from reproduce.zhang.printed import GIBBS, HMC, SSHMC, number, said

TABLE = "Table 4"
COLUMNS = ("min", "med", "max", "sigma", "beta")


def worst(found):
    """Return the log of the least ESS of all parameters, as print has "min ESS/h"."""
    return min((found["ess"][name] for name in ("min", "sigma", "beta")), key=lambda m: m.value)


def per_second(found, name=None):
    """Return the log of the worst ESS per second, or of one of COLUMNS."""
    ess = worst(found) if name is None else found["ess"][name]
    return ess - math.log(found["n"]) - log(mean(found["seconds"]))


def advantage(r, better, worse, name=None):
    """Return log(ESS per second of a row / that of another), of the worst or of a column."""
    a, b = r["rows"][better], r["rows"][worse]
    ratio = mean(np.divide(a["seconds"], b["seconds"]))  # of the same rounds
    ess = [(worst(x) if name is None else x["ess"][name]) - math.log(x["n"]) for x in (a, b)]
    return ess[0] - ess[1] - log(ratio)


def judged(found, truth, k):
    """Return the log of how many draws the runs' means are worth, k = 0 for sigma^2, 1 for beta.

    As many independent draws have means that scatter as much around the truth, which is another's
    mean.  Of a mean of n squares of normals the log has an error of (2 / n)^1/2.
    """
    errors = np.array(found["means"])[:, k] - truth["mean"][k].value
    return Measured(float(np.log(truth["sd"][k].value ** 2 / np.mean(errors**2))),
                    (2 / len(errors)) ** 0.5)


def slowness(r, k):
    """Return log(ESS per second, SSHMC / HMC) of sigma^2 or beta, HMC's as `judged` by SSHMC."""
    ours, hmc = r["rows"][f"{SSHMC}, unit"], r["rows"][HMC]
    return (per_second(ours, ("sigma", "beta")[k]) - judged(hmc, ours, k)
            + math.log(hmc["n"]) + log(mean(hmc["seconds"])))


def credulity(r, k):
    """Return the mean squared error of HMC's means in units of what its runs report, logged."""
    errors = np.array(r["rows"][HMC]["means"]) - [m.value for m in r["rows"][f"{SSHMC}, unit"][
        "mean"]]
    squares = (errors / np.array(r["rows"][HMC]["means_se"]))[:, k] ** 2
    return Measured(float(np.log(squares.mean())), (2 / squares.size) ** 0.5)


def of_method(r, method):
    """Return all rows of a method, and its settings of the scan, by what comes after its name."""
    return {name.removeprefix(f"{method}, "): found
            for name, found in [*r["rows"].items(), *r["scan"].items()]
            if name.startswith(f"{method}, ")}


def scanned(r, method, measure):
    """Scan a measure over the readings of print, and what it does not state."""
    found = of_method(r, method)
    return Scan(tuple(found), tuple(map(measure, found.values())))


def pairs(r):
    """Scan log(worst ESS per second, SSHMC / its rival) over the rival's settings.

    SSHMC has the same distances and data, and the step sizes of its row where the rival's differ.
    """
    ours, theirs = of_method(r, SSHMC), of_method(r, GIBBS)
    return Scan(tuple(theirs), tuple(
        per_second(ours.get(name, ours[name.split(",")[0]])) - per_second(found)
        for name, found in theirs.items()))


def ess_claim(method, column, known=None):
    """Make the claim about a printed ESS of the table."""
    of = f"x, {column}" if column in ("min", "med", "max") else column
    return printed_ess(TABLE, method, column, lambda r: scanned(
        r, method, lambda found: found["ess"][column]), of, known)


def times_claims():
    """Make the claims about "six times", and about who is ahead."""
    open_ = "distances, data and the rival's step sizes are not stated"
    return [
        Claim("log(worst ESS per second, SSHMC / RMHMC(Gibbs)) - log 6", said("six times"),
              lambda r: less_six(pairs(r)), np.log(5.5 / 6), np.log(6.5 / 6), "about six, to a"
              f" whole number; theirs is of two runs with an ESS of 270 and 46; {open_}",
              "printed sentence", budgets=("paper",), theirs=log_error(
                  number(TABLE, SSHMC, "beta"), number(TABLE, GIBBS, "beta"))),
        Claim("log(worst ESS per second, SSHMC / RMHMC(Gibbs))", said("outperforms"), pairs, 0.0,
              np.inf, f"order; {open_}", "order", budgets=("paper",))]


def less_six(scan):
    """Return a scan of logs less log 6."""
    return Scan(scan.settings, tuple(m - math.log(6) for m in scan.found))


def time_claim():
    """Make the claim about the printed times."""
    theirs = number(TABLE, GIBBS, "time") / number(TABLE, SSHMC, "time")
    return Claim(f"time of a transition, {GIBBS} / {SSHMC}", f"{theirs:.3g}", lambda r: mean(
        np.divide(r["rows"][f"{GIBBS}, unit"]["seconds"], r["rows"][f"{SSHMC}, unit"]["seconds"])),
        theirs / 3, theirs * 3, "machine (ratios only): ten factorisations against a few larger"
        " operations of the same order, which blocks do not speed up alike; within a factor of 3",
        "printed number", budgets=("paper",), printed=theirs)


def squares(found):
    """Return the least ESS of squared deviations, of phi and x, as a Measured."""
    value = min(found["squares"].values(), key=lambda m: m.value)
    return Measured(math.exp(value.value), math.exp(value.value) * value.se)


def largest_stable(found, distance, above=0.0):
    """Return the step size for x at which leapfrogs for H_1 begin to diverge, on our data.

    It is 2 over the root of the largest eigenvalue of I + Sigma diag(m e^x), with x the mean field
    and log sigma^2 so many standard deviations `above` its mean.
    """
    model = problem(OWN, distance)[0]
    phi = np.array([m.value for m in found["mean"]])
    phi[0] += above * found["sd"][0].value
    Phi, weight = precompute_phi(phi, model), model.area * np.exp(np.mean(found["field"], axis=0))
    v = weight / np.linalg.norm(weight)
    for _ in range(200):  # the first eigenvalue, of a smooth function, is far from the second
        w = v + velocity_theta(weight * v, Phi, model)
        size = np.linalg.norm(w)
        v = w / size
    return 2 / size**0.5
