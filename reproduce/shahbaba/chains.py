"""The Markov chains behind Tables 1 and 2 of Shahbaba, Lan, Johnson and Neal (2014).

A replicate of either table is one chain of one method on one data set; the tables' scripts run it.
"""

import time
from functools import cache

import numpy as np

from algorithms.ess import batch_means, cube_root, initial_sequence
from algorithms.fixed_flow_hmc import fixed_flow_hmc
from algorithms.hmc import hmc
from algorithms.map_estimate import map_estimate
from algorithms.shahbaba_split_hmc import normal_approximation, split_data
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc
from models.logistic_regression import LogisticRegression, chain_log_likelihood
from reproduce.shahbaba.datasets import load

# Settings of all experiments (Section 3.3)
SIGMA = 5.0  # prior deviation of the intercept too, as in the authors' program
JITTER = 0.2  # the step is drawn from Uniform(0.8 eps, eps)
AUTHORS = "normal, 0.9 eps"  # the variant in the authors' program
SHARE = 0.9  # of eps: the time for which it follows the flow of U_0
ALL = ("HMC", "normal", AUTHORS, "data")


@cache
def problem(data_name, fraction):
    """Return the model, the normal approximation and the split of a data set."""
    cases = load(data_name)
    model = LogisticRegression.from_data(cases.X, cases.y, SIGMA, SIGMA)
    fit = map_estimate(model)
    return model, normal_approximation(fit), split_data(model, fit.q, fraction)


def transitions(method, q, stage, eps, L, M, n, rng, jitter=JITTER):
    """Run n transitions of a method from q on a problem(); return a Chain."""
    model, fit, split = stage
    if method == "HMC":
        return hmc(q, model, eps, L, n, rng, jitter=jitter)
    if method == "data":
        return data_split_hmc(q, model, split, eps, L, M, n, rng, jitter)
    if method == AUTHORS:
        return fixed_flow_hmc(q, model, fit, eps, L, n, rng, jitter, SHARE)
    return normal_split_hmc(q, model, fit, eps, L, n, rng, jitter)


def summarise(chain, model, split, method, L, M):
    """Return what the tables need of a chain of a method.

    AP is that of all transitions; tau and tau_beta are of the log likelihood and of sum_j beta_j^2,
    by the paper's batch means and by Geyer's initial monotone sequence, each with a standard error.
    """
    n, accepted = chain.accepted.size, chain.accepted.astype(float)
    again = initial_sequence(accepted).tau if 0 < accepted.mean() < 1 else 1.0
    f = split.fraction
    result = {"AP": accepted.mean(), "AP_se": (accepted.var() * again / n) ** 0.5,
              "batches": cube_root(n),
              "g": (f * M + 1 - f) * L if method == "data" else float(L)}
    for name, x in (("tau", chain_log_likelihood(chain.samples, chain.energies, model)),
                    ("tau_beta", (chain.samples[:, 1:] ** 2).sum(1))):
        geyer = initial_sequence(x)
        result[name] = {"batch": batch_means(x).tau, "initial": geyer.tau, "se": geyer.se,
                        "mean": x.mean(), "mean_se": (x.var() * geyer.tau / n) ** 0.5}
    return result


def clock(data_name, fraction, settings, rounds, n):
    """CPU seconds of a transition of each method, in turn: rounds of n transitions of each.

    settings : {method: [eps, L, M]}.  Each chain goes on where its last round ended.
    """
    stage = problem(data_name, fraction)
    q, rng = dict.fromkeys(settings, stage[1].q_hat), np.random.default_rng(0)
    seconds = {method: [] for method in settings}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for method, (eps, L, M) in settings.items():
            start = time.thread_time()
            q[method] = transitions(method, q[method], stage, eps, L, M, n, rng).samples[-1]
            seconds[method].append((time.thread_time() - start) / n)
    return {"seconds": {method: each[1:] for method, each in seconds.items()}}


def warm():
    """Compile everything in this process, before others start."""
    one = dict(data_name="illustrative data of slope 5, seed 1", fraction=0.5)
    clock(**one, settings={method: (0.1, 2, 2) for method in ALL}, rounds=1, n=8)
    model, fit, split = stage = problem(**one)
    chain = transitions("HMC", fit.q_hat, stage, 0.1, 2, 2, 8, np.random.default_rng(0))
    summarise(chain, model, split, "HMC", 2, 2)
