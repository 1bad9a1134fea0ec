"""What an evaluation takes by exact eigenvectors, the approximation of Section 5.2.3.

Wang and Neal (2013) set it aside because it "could even be slower" than the posterior itself.
"""

import time

import numpy as np
from scipy.linalg import eigh

from models.gp_eigen import GPEigen
from models.gp_regression import covariance
from reproduce.harness.claims import mean
from reproduce.harness.replicates import one_by_one
from reproduce.wang.chains import scratches
from reproduce.wang.datasets import posterior


def eigen_clock(number, m, rounds, n=None):
    """CPU seconds of an evaluation of the posterior and of Eigen-exact, {"seconds": {what: [...]}}.

    "pi"       the posterior, from scratch
    "all"      Eigen-exact by all eigenvalues and eigenvectors, as models/gp_eigen.py has it
    "first m"  LAPACK's search for the m largest alone, without the rest of an evaluation
    """
    model, truth = posterior(number, 0, n)
    K = covariance(truth, model)
    K = np.tril(K) + np.tril(K, -1).T - np.exp(2 * truth[0]) * np.eye(len(K))
    whole = GPEigen.from_model(model, m)
    work = {"pi": lambda: scratches(truth, 5, model), "all": lambda: scratches(truth, 1, whole),
            "first m": lambda: eigh(K, subset_by_index=[len(K) - m, len(K) - 1])}
    found = {name: [] for name in work}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for name, do in work.items():
            start = time.thread_time()
            do()
            found[name].append((time.thread_time() - start) / (5 if name == "pi" else 1))
    return {"seconds": {name: each[1:] for name, each in found.items()}}


def eigen_times(experiment, wanted, rounds, n=None):
    """Return {row: {"all", "first m": time over that of the posterior}} of `wanted`, {row: m}."""
    done = one_by_one(experiment, eigen_clock, [
        dict(number=number, m=m, rounds=rounds, n=n) for number, m in wanted.items()],
        "timings of eigenvectors", lambda: eigen_clock(4, 2, 1, 10))
    return {number: {name: mean(np.divide(timed["seconds"][name], timed["seconds"]["pi"]))
                     for name in ("all", "first m")}
            for number, timed in zip(wanted, done, strict=True)}
