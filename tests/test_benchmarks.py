"""Ours, the limit measured in the same run, and the ratio.  Printed, not asserted.

Run alone on the machine, on one BLAS thread:  python -m pytest -m benchmark -s
The limit of dense work is the time of its LAPACK and BLAS calls alone, as SciPy ships them.
"""

import time

import numpy as np
import pytest
from scipy.linalg import lapack

from algorithms.paquet_rmhmc_fast import rmhmc
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.linalg import identity_plus_scaled
from reproduce import data

pytestmark = pytest.mark.benchmark
L_MAX, EPS = 10, 0.1


def seconds(function, rounds=7):
    """Median time of a call, the first one not counted."""
    function()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def show(what, ours, limit, of):
    print(f"\n{what}: {ours:.4g} s; {of}: {limit:.4g} s; ratio {ours / limit:.2f}")


def lapack_calls(B, factorisations, inverses):
    """50 dpotrf and 10 dtrtri, say, and nothing else."""
    for _ in range(factorisations):
        L = lapack.dpotrf(B, lower=0, clean=0)[0]
    for _ in range(inverses):
        lapack.dtrtri(L, lower=0)


def test_rmhmc_fast_against_its_lapack_calls():
    cases = data.usps_3v5()  # of the paper's problem, N = 767 (or the embedded digits, N = 365)
    model = GPClassification.from_prior(squared_exponential(cases.X, cases.X, 4.85, 5.1), cases.y)
    rng = np.random.default_rng(1)
    x = rmhmc(np.zeros(cases.y.size), model, L_MAX, EPS, 5, rng).samples[-1]
    B = np.asfortranarray(identity_plus_scaled(model.K, np.full(x.size, 0.3)))
    n = 4  # transitions of one call, so that the metric of the first point is shared
    show(f"RMHMC transition, fast twin, N = {x.size}",
         seconds(lambda: rmhmc(x, model, L_MAX, EPS, n, rng)) / n,
         seconds(lambda: lapack_calls(B, 5 * L_MAX, L_MAX)), "50 dpotrf + 10 dtrtri")
