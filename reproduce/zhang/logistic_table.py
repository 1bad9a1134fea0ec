"""What Table 2 of Zhang and Sutton (2014) is compared by: measures of a result, and claims on them.

A result has {row: estimates} in "rows", {method: {steps: estimates}} in "scan", {row: pilots} in
"tried"; estimates are those of zhang/logistic.py with "setting" and "seconds" of a transition.
"""

import numpy as np

from reproduce.harness.claims import Claim, Scan, log, mean
from reproduce.zhang import judged
from reproduce.zhang.printed import SSHMC, number

TABLE = "Table 2"
ESS = ("min", "med", "max", "v")
ANY = ", any rate"


def advantage(a, b, measure):
    """Return log(a / b) of a measure of two settings."""
    return log(a[measure]) - log(b[measure])


def per(a, b, measure, unit):
    """Return log(ESS per unit of a / that of b); `unit` is "seconds" or "cost"."""
    ratio = mean(np.divide(a["seconds"], b["seconds"])) if unit == "seconds" else (
        a["cost"] / b["cost"])
    return advantage(a, b, measure) - log(ratio)


def gain(r, row, other, measure, unit):
    """Return `per` of two rows."""
    return per(r["rows"][row], r["rows"][other], measure, unit)


def apart(rows, a, b, what):
    """Return the difference of a quantity of two rows."""
    return what(rows[a]) - what(rows[b])


def rates(found):
    """Return {steps: estimates} of the settings of a scan with the least and the most ESS/s."""
    order = sorted(found, key=lambda key: found[key]["least"].value / np.mean(
        found[key]["seconds"]))
    return {key: found[key] for key in dict.fromkeys((order[0], order[-1]))}


def ends(found):
    """Return {steps: estimates} of the fastest and the slowest settings of a scan."""
    order = sorted(found, key=lambda key: np.mean(found[key]["seconds"]))
    return {key: found[key] for key in dict.fromkeys((order[0], order[-1]))}


def pairs(r, row, other, chosen, compare):
    """Scan a comparison of two methods over their settings at both ends: the rest is between."""
    return Scan(*zip(*[(f"{a} / {b}", compare(x, y))
                       for a, x in chosen(r["scan"][row]).items()
                       for b, y in chosen(r["scan"][other]).items()], strict=True))


def scanned_gain(r, other):
    """Scan log(min ESS per second, SSHMC / another)."""
    return pairs(r, SSHMC, other, rates, lambda x, y: per(x, y, "least", "seconds"))


def ess_claim(row, column, known=None):
    """Make the claim about a printed ESS of the table."""
    of = "v" if column == "v" else f"w, {column}"
    return judged.ess_claim(TABLE, row, column, lambda r: Scan(*zip(*[
        (key, log(found[column])) for key, found in r["scan"][row].items()], strict=True)), of,
        known)


def times_claim(row, other, known=None):
    """Make the claim that the printed times of two rows are in our proportion."""
    theirs = number(TABLE, row, "time") / number(TABLE, other, "time")
    return Claim(f"time of {row} / {other}", f"{theirs:.2f}", lambda r: pairs(
        r, row, other, ends, lambda x, y: mean(np.divide(x["seconds"], y["seconds"]))),
        theirs * 0.5, theirs * 2, "machine (ratios only): their overhead of a step is not ours,"
        " within a factor of two; the settings are not stated", "printed number",
        known, ("paper",), printed=theirs)
