"""The claims that the tables of Zhang and Sutton (2014) have in common: printed ESS, times, rates.

A printed ESS is the estimate of one run.  The paper's estimator ends its sum at a window of about
six autocorrelation times, so that the log of an ESS has a standard error of (12 / ESS)^1/2.
"""

import numpy as np

from reproduce.harness.claims import Claim, joint
from reproduce.zhang.printed import ACCEPTANCE, half_unit, number, said

ROUNDING = ("rounding; a row of the table has one setting, and the paper does not state it: its"
            " columns are judged together.  The log of an ESS, whose window is six autocorrelation"
            " times, has a standard error of (12 / ESS)^1/2")


def log_error(*ess):
    """Return the standard error of a sum or difference of the logs of printed ESS."""
    return sum(12 / each for each in ess) ** 0.5


def ess_claim(table, row, column, scan, of, known=None):
    """Make the claim that a printed ESS is what the paper's estimator says of our runs.

    scan : of the script's result, the logs of our ESS by setting, a Scan
    """
    printed, half = number(table, row, column), half_unit(table, row, column)

    def relative(result):
        found = scan(result)
        return found._replace(found=tuple(m - np.log(printed) for m in found.found))

    return Claim(f"{row}: log(ESS of {of} / {printed:g})", f"{printed:g}", relative,
                 np.log1p(-half / printed), np.log1p(half / printed), ROUNDING, "printed number",
                 known, ("paper",), log_error(printed), f"{table}, {row}",
                 f"{table}, {row}, {column}")


def row_test(row, claims):
    """Make the joint test of the printed ESS of a row."""
    return joint(f"{row}: its printed ESS together", [
        claim for claim in claims if claim.what.startswith(f"{row}: log(ESS of ")])


def acceptance_claim(row, block, measure, margin=0.0):
    """Make the check that a setting of ours has the paper's acceptance rate in long runs."""
    return Claim(f"{row}: acceptance rate{f' of {block}' if block else ''}", said("acceptance"),
                 measure, ACCEPTANCE[0] - margin, ACCEPTANCE[1] + margin, "the range of the"
                 " sentence" + ", around which is 0.02 either way" * bool(margin) + ": ours, the"
                 " rule takes a setting that was inside it in pilot chains", "ours",
                 budgets=("paper",))
