"""Regression and its samplers: growth with the number of cases, memory, overhead of an iteration.

Printed, not asserted; run alone on the machine:

    python -m pytest tests/test_gp_benchmarks.py -m benchmark -s

Single evaluations against LAPACK are timed in the file of each model.
"""

import subprocess
import sys

import numpy as np
import pytest

from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from models.gaussian import Gaussian
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_subset import GPSubset
from models.interface import U, grad_U, prepare, trial
from models.jit import ROOT
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
    return {"posterior from scratch": lambda: U(Q, model),
            "after a change of rho_1": lambda: trial(cache, 2, Q[2] + next(values), model),
            "after a change of sigma": lambda: trial(cache, 0, Q[0] + next(values), model),
            "gradient": lambda: grad_U(Q, model),
            "subset of n / 10": lambda: U(Q, subset),
            "n / 10 columns": lambda: U(Q, nystrom)}


def test_growth_of_time():
    found = {}
    for n in SIZES:
        for name, work in works(n).items():
            found.setdefault(name, []).append(seconds(work, 3 if n > 1000 else 11))
    table("seconds", found)


# an iteration of the discretizing chain, which holds the caches of pi and of a subset, and one
# change of each variable
PROCESS = """
import sys
sys.path[:0] = ["tests", "reproduce"]
import numpy as np
from test_gp_benchmarks import Q, regression
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from models.gp_subset import GPSubset
from models.interface import prepare, trial
n = int(sys.argv[1])
model = regression(n)
discretizing_chain(Q, model, GPSubset.from_model(model, np.arange(n // 10)), 1.0, 1,
                   np.random.default_rng(1))
cache = prepare(Q, model)
for k in range(Q.size):
    trial(cache, k, Q[k] + 0.1, model)
for line in open("/proc/self/status"):  # ru_maxrss would include the parent's, before exec
    if line.startswith("VmHWM"):
        print(int(line.split()[1]) / 1024)
"""


def peak(n):
    """Return the peak memory in MiB of a process that samples a regression of n cases."""
    run = subprocess.run([sys.executable, "-c", PROCESS, str(n)], cwd=ROOT, capture_output=True,
                         text=True, check=True)
    return float(run.stdout)


def test_growth_of_memory():
    peak(10)  # compiles
    before, found = peak(10), [peak(n) for n in SIZES]
    table("MiB, of a process", {"peak": found,
                                f"beyond the {before:.0f} of ten cases":
                                    [max(each - before, 1.0) for each in found]})
    print(f"one matrix of {SIZES[-1]} cases is {8 * SIZES[-1]**2 / 2**20:.0f} MiB; the limit at"
          " 5000 is 3072 MiB")


def chains(model, layers):
    """Return the samplers, as functions of the number of iterations."""
    rng = np.random.default_rng(3)
    return {"slice sampling": lambda n: slice_sampling(Q, model, 1.0, n, rng),
            "discretizing chain": lambda n: discretizing_chain(Q, model, layers[0], 1.0, n, rng),
            "tempered transitions": lambda n: tempered_transitions(Q, model, layers, 1.0, n, rng)}


def per_evaluation(run, n):
    """Return the seconds of a run by its number of evaluations, of all densities together."""
    counts = run(n).counts
    return seconds(lambda: run(n), 5) / (counts.density + counts.approximations.sum())


def test_overhead_of_an_iteration():
    # what the same sampler takes where an evaluation costs next to nothing
    bell = Gaussian(Q.copy(), np.eye(Q.size))
    idle = {name: per_evaluation(run, 2000) for name, run in chains(bell, (bell, bell)).items()}
    for n in [size for size in SIZES if size <= 900]:
        model = regression(n)
        layers = [GPSubset.from_model(model, np.arange(m)) for m in (n // 3, n // 6)]
        for name, run in chains(model, layers).items():
            whole = per_evaluation(run, 10 if n < 900 else 3)
            print(f"\n{name}, n = {n}: {whole:.3g} s an evaluation, of which overhead"
                  f" {idle[name]:.3g} s, {idle[name] / whole:.2%}")
