"""Regression: growth of the time of an evaluation with the number of cases.

Printed, not asserted; run alone on the machine:

    python -m pytest tests/test_gp_benchmarks.py -m benchmark -s
"""

import numpy as np
import pytest

from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_subset import GPSubset
from models.interface import U, grad_U, prepare, trial
from test_benchmarks import seconds

pytestmark = pytest.mark.benchmark
SIZES = [100, 300, 900, 2000, 5000]
Q = np.log([0.5, 5.0, 0.4, 0.4, 0.4, 0.4, 0.4])


def regression(n):
    """Return an ARD posterior of n cases with five covariates."""
    rng = np.random.default_rng(1)
    return GPRegression.from_data(rng.random((n, 5)), 5 * rng.standard_normal(n), "ard")


def table(what, rows):
    """Print numbers for each size and the exponent that fits those from 900 cases on best."""
    large = [n >= 900 for n in SIZES] if SIZES[-1] > 900 else [True] * len(SIZES)
    print(f"\n| {what} |", " | ".join(f"n = {n}" for n in SIZES), "| exponent of all | of large |")
    for name, values in rows.items():
        logs = np.log(SIZES), np.log(values)
        exponents = np.polyfit(*logs, 1)[0], np.polyfit(*(each[large] for each in logs), 1)[0]
        print(f"| {name} |", " | ".join(f"{v:.3g}" for v in values),
              "|", " | ".join(f"{e:.2f}" for e in exponents), "|")


def works(n):
    """Return what is timed, each a function without arguments."""
    model, cases = regression(n), np.random.default_rng(2).permutation(n)
    cache, values = prepare(Q, model), iter(1e-3 * np.arange(1, 10**6))
    subset = GPSubset.from_model(model, cases[: n // 10])
    nystrom = GPNystrom.from_model(model, cases[: n // 10])
    columns = prepare(Q, nystrom)
    return {"posterior from scratch": lambda: U(Q, model),
            "after a change of rho_1": lambda: trial(cache, 2, Q[2] + next(values), model),
            "after a change of sigma": lambda: trial(cache, 0, Q[0] + next(values), model),
            "gradient": lambda: grad_U(Q, model),
            "subset of n / 10": lambda: U(Q, subset),
            "n / 10 columns": lambda: U(Q, nystrom),
            "n / 10 columns, after a change of sigma":
                lambda: trial(columns, 0, Q[0] + next(values), nystrom)}


def test_growth_of_time():
    found = {}
    for n in SIZES:
        for name, work in works(n).items():
            found.setdefault(name, []).append(seconds(work, 3 if n > 1000 else 11))
    table("seconds", found)
