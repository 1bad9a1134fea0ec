"""Fetch the data sets, and check that each is what it should be.

Run     python reproduce/data.py [--data DIR]
        seconds, more where a file has to be downloaded; the exit status is 2 if one is missing

A file is looked for in --data DIR, in $PAPERS_DATA, in the user's cache, and at its public site,
from which it goes into the cache.  The scripts find them in the same way: nobody has to run this.
"""

from reproduce.harness.start import exit_status, parse

import inspect
import sys

from reproduce.harness.claims import text_table
from reproduce.harness.files import DataError, refuse_damaged
from reproduce.harness.papers import PAPERS
from reproduce.paquet.digits import digits_3v5, usps_3v5, usps_3v5_test
from reproduce.shahbaba.datasets import chess, ctg, simulated_logistic, statlog
from reproduce.zhang.datasets import cox_64, german_credit, simulated_cox, volatility

SETS = {
    "paquet": [usps_3v5, usps_3v5_test, digits_3v5],
    "shahbaba": [simulated_logistic, statlog, ctg, chess],
    "zhang": [german_credit, volatility, simulated_cox, cox_64],
}


def main(settings):
    """Print a row per data set; return the exit status."""
    rows, missing = [], 0
    options = {"folder": settings.data, "fallback": False}  # nothing in a missing one's place
    for paper, functions in SETS.items():
        for function in functions:
            try:
                with refuse_damaged():
                    cases = function(**{name: options[name] for name in options.keys()
                                        & inspect.signature(function).parameters.keys()})
                size = " x ".join(map(str, getattr(cases, "X", cases.y).shape))
                rows.append([PAPERS[paper].authors, cases.name, size, "as it should be"])
            except DataError as error:
                missing += 1
                print(f"{function.__name__}: {error}", file=sys.stderr)
                rows.append([PAPERS[paper].authors, function.__name__, "", "missing"])
    print(text_table(rows, ["paper", "data set", "size", ""]))
    return 2 if missing else 0


if __name__ == "__main__":
    raise SystemExit(exit_status(main, parse(__doc__)))
