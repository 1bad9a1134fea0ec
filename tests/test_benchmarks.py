"""Ours, the limit measured in the same run, and the ratio.  Printed, not asserted.

Run alone on the machine, on one BLAS thread:  python -m pytest -m benchmark -s
The limit of dense work is the time of its LAPACK and BLAS calls alone, as SciPy ships them.
"""

import time

import numpy as np
import pytest
from scipy.linalg import blas, lapack

from algorithms import ep, ep_fast, paquet_rmhmc, paquet_rmhmc_fast
from algorithms import zhang_sshmc as sshmc
from algorithms import zhang_sshmc_fast as sshmc_fast
from algorithms.hmc import hmc
from models.covariance import squared_exponential
from models.funnel import Funnel
from models.gp_classification import GPClassification
from models.interface import precompute_phi
from models.jit import njit
from models.linalg import identity_plus_scaled
from reproduce import data

pytestmark = pytest.mark.benchmark
L_MAX, EPS = 10, 0.1


@pytest.fixture(scope="module")
def problem():
    """K and y of the paper's problem, N = 767 (or the embedded digits, N = 365)."""
    cases = data.usps_3v5()
    return squared_exponential(cases.X, cases.X, 4.85, 5.1), cases.y


@pytest.fixture(scope="module")
def start(problem):
    """A state of the posterior, and the model there."""
    K, y = problem
    model = GPClassification.from_prior(K, y)
    chain = paquet_rmhmc_fast.rmhmc(np.zeros(y.size), model, L_MAX, EPS, 5,
                                    np.random.default_rng(1))
    return chain.samples[-1], model


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


def test_rmhmc_fast_against_its_lapack_calls(problem, start):
    x, model = start
    rng = np.random.default_rng(2)
    B = np.asfortranarray(identity_plus_scaled(model.K, np.full(x.size, 0.3)))
    n = 4  # transitions of one call, so that the metric of the first point is shared

    def ours():
        return paquet_rmhmc_fast.rmhmc(x, model, L_MAX, EPS, n, rng)

    limit = seconds(lambda: lapack_calls(B, 5 * L_MAX, L_MAX))
    show(f"RMHMC transition, fast twin, N = {x.size}", seconds(ours) / n, limit,
         "50 dpotrf + 10 dtrtri")


def test_rmhmc_mirror_against_its_lapack_calls(problem, start):
    x, model = start
    rng = np.random.default_rng(2)
    B = np.asfortranarray(identity_plus_scaled(model.K, np.full(x.size, 0.3)))
    K = np.asfortranarray(model.K)

    def limit():
        for _ in range(5 * L_MAX):
            L = lapack.dpotrf(B, lower=1)[0]
            V = blas.dtrsm(1.0, L, K, lower=1)
            blas.dsyrk(1.0, V, trans=1)

    def ours():
        return paquet_rmhmc.rmhmc(x, model, L_MAX, EPS, 1, rng)

    show(f"RMHMC transition, mirror, N = {x.size}", seconds(ours, 3), seconds(limit, 3),
         "50 x (dpotrf + dtrsm + dsyrk)")


def test_ep(problem):
    K, y = problem
    result = ep_fast.ep(K, y)
    V = np.asfortranarray(K)

    def limit():  # N^3 operations per sweep in rank-48 updates
        C = K.copy(order="F")
        for _ in range(result.sweeps):
            for first in range(0, y.size, 48):
                C = blas.dsyrk(1.0, V[:, first : first + 48], 1.0, C, overwrite_c=1)

    ours = seconds(lambda: ep_fast.ep(K, y), 5)
    show(f"EP to 1e-8, fast twin, N = {y.size}, {result.sweeps} sweeps", ours, seconds(limit, 5),
         "its dsyrk calls")
    show("EP to 1e-8, mirror", seconds(lambda: ep.ep(K, y), 1), ours, "the fast twin")


@njit
def fused_loops(x, r, kick, drift, n):
    """The arithmetic of n leapfrogs whose half kicks are joined, and nothing else."""
    for _ in range(n):
        for i in range(x.size):
            r[i] -= kick * x[i]
            x[i] += drift * r[i]


@njit
def flows(x, r, Phi, r_phi, eps, n, model, times):
    """Flows of n leapfrogs, called from compiled code as the twin calls them."""
    for _ in range(times):
        x, r, _ = sshmc_fast.flow_theta(x, r, None, Phi, r_phi, eps, n, model)


def test_leapfrogs_of_the_funnel():
    n, model, rng = 100, Funnel.from_size(100), np.random.default_rng(1)
    x, r = rng.standard_normal((2, n))
    Phi, steps = precompute_phi(np.zeros(1),
                                model), 8  # of one flow, 4 of either ABLA step beside it
    limit = seconds(lambda: fused_loops(x, r, 0.05, 0.05, 80_000), 15) / 80_000 / n
    ours = seconds(lambda: flows(x, r, Phi, np.zeros(1), 0.05, steps, model, 10_000), 15
                   ) / 80_000 / n
    show(f"a leapfrog of the funnel, per coordinate, n = {n}", ours, limit, "one fused loop")
    settings = (np.zeros(n), np.zeros(1), model, 0.05, 0.2, 200)
    whole = [seconds(lambda twin=twin, k=k: twin.sshmc(*settings, k, rng, 4, 1), 3) * 6000 / k
             for twin, k in ((sshmc_fast, 6000), (sshmc, 100))]
    show("6000 transitions of 200 ABLA steps, 4 and 1 leapfrogs, fast twin", whole[0],
         limit * n * 6000 * 1600, "1600 fused loops each")
    show("the same, mirror", whole[1], whole[0], "the fast twin")


def timed(K, y):
    """Median seconds of an RMHMC transition, of EP to 1e-8, and of an HMC transition."""
    model, rng = GPClassification.from_prior(K, y), np.random.default_rng(1)
    x = ep_fast.ep(K, y).mu
    return [seconds(lambda: paquet_rmhmc_fast.rmhmc(x, model, L_MAX, EPS, 2, rng), 3) / 2,
            seconds(lambda: ep_fast.ep(K, y), 3),
            seconds(lambda: hmc(x, model, 0.02, 200, 1, rng), 3)]


def test_growth():
    cases = data.usps_3v5()
    X, y = cases.X, cases.y
    if not cases.note:
        test = data.usps_3v5_test()
        X, y = np.vstack([X, test.X]), np.concatenate([y, test.y])
    sizes = [N for N in (100, 200, 400, 767, 1500) if N <= y.size]
    times = []
    for N in sizes:
        keep = np.linspace(0, y.size - 1, N).astype(int)
        times.append(timed(squared_exponential(X[keep], X[keep], 4.85, 5.1), y[keep]))
    print(f"\n{cases.name} and test, seconds")
    works = ("RMHMC transition, l_max = 10", "EP to 1e-8", "HMC transition, l_max = 200")
    for name, t in zip(works, np.transpose(times), strict=True):
        exponent = np.polyfit(np.log(sizes), np.log(t), 1)[0]
        print(f"| {name} |", " | ".join(map(str, sizes)), "| exponent |")
        print("| |", " | ".join(f"{seconds:.2g}" for seconds in t), f"| {exponent:.2f} |")
