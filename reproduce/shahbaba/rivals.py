"""Chains of split HMC and of its rivals on the data of Shahbaba et al. (2014), Tables 1 and 2.

All start at a draw from the normal approximation of the posterior.  A setting is (eps, L): those of
the paper's methods are the paper's own times GRID; where the Hessian at the mode is the mass, all
frequencies are about 1, and they are those of WHITENED.  The data split has the paper's number of
inner steps, and with that mass also those of INNER: (eps, L, M).  NUTS finds its own.
"""

import math
import time
import warnings
from functools import cache

import numpy as np

from algorithms.ess import initial_sequence
from algorithms.hmc import hmc
from algorithms.hoffman_nuts_fast import nuts
from algorithms.map_estimate import map_estimate
from models.logistic_regression import chain_log_likelihood
from reproduce.beyond.rivals.moments import moments, pool, reliability, shorten, worst
from reproduce.shahbaba.chains import JITTER, problem, transitions
from reproduce.shahbaba.datasets import SIMULATED
from reproduce.shahbaba.printed import METHODS, PROBLEMS, gradients, step
from reproduce.shahbaba.whitened import original, whitened_problem
from sampling.summary import e_bfmi

SETS = {"Simulated": SIMULATED + "2011", "StatLog": "StatLog", "CTG": "CTG", "Chess": "Chess"}
MASS = "HMC, M = J"
SPLITS = ("normal, M = J", "data, M = J")
NUTS = {"NUTS, diagonal": "diagonal", "NUTS, dense": "dense"}  # what of the mass it learns
OURS = (*METHODS, MASS, *SPLITS)  # with settings
PRINTED = {method: f"{method}, as printed" for method in METHODS}
ROWS = (*METHODS, *PRINTED.values(), MASS, *SPLITS, *NUTS)
MEASURES = ("tau", "tau_beta")  # the paper's: of the log likelihood, of the sum of beta_j^2
GRID = [(a, b) for a in (0.5, 0.75, 1.0, 1.4) for b in (0.35, 0.7, 1.0, 2.0)]
WHITENED = [(eps, L) for eps in (0.4, 0.7, 1.0, 1.4) for L in (1, 2, 3, 5)]
INNER = (2, 4)  # added after a reader had found that two do better than the paper's 9 to 15
FIRST = 500  # transitions of a pilot, before anything is known of it
KEPT = 10_000  # draws of a chain at most, equally spaced: more say no more of its moments


def settings(name, method):
    """List the settings that a method is tried with, 16 but for those that are equal, or 48."""
    if method not in METHODS:
        inner = [[], *([M] for M in INNER)] if method == SPLITS[1] else [[]]
        return [[*each, *more] for more in inner for each in WHITENED]
    eps, L = step(name, method)
    return [[eps * a, m] for a in sorted({a for a, _ in GRID})
            for m in sorted({max(1, round(b * L)) for _, b in GRID})]


def is_printed(name, method, setting):
    """Tell whether a setting is that of the tables, which have none for M = J."""
    if method not in METHODS:
        return False
    eps, L = step(name, method)
    return setting[1] == L and math.isclose(setting[0], eps)


def method_of_row(row):
    """Return the method of a row."""
    return row.removesuffix(", as printed")


def per_transition(name, method, setting):
    """Return the gradients of a transition, of all the data."""
    if not method.startswith("data"):
        return setting[1]
    if len(setting) > 2:
        return setting[1] * (1 + PROBLEMS[name].f * (setting[2] - 1))
    return setting[1] * gradients(name, "data") / step(name, "data")[1]


@cache
def whitened_stage(data_name, fraction):
    """Return the model, the normal approximation and the split in whitened coordinates."""
    model, fit, _ = problem(data_name, fraction)
    return whitened_problem(model, fit, fraction)


def start(name, method, rng):
    """Draw from the normal approximation: z ~ N(0, I) for a split with M = J, else q_hat + C z."""
    new = whitened_stage(SETS[name], PROBLEMS[name].f)[0]
    z = rng.standard_normal(new.q_hat.size)
    return z if method in SPLITS else original(z[None], new)[0]


def run(name, method, setting, x, n, rng):
    """Run n transitions from x, which is z for a split with M = J, else q; return the Chain."""
    eps, L, *inner = setting
    of = PROBLEMS[name]
    stage = problem(SETS[name], of.f)
    if method in METHODS:
        return transitions(method, x, stage, eps, L, of.M, n, rng)
    if method == MASS:
        _, fit, _ = stage
        J = (fit.Z * fit.w**2) @ fit.Z.T
        return hmc(x, stage[0], eps, L, n, rng, (J + J.T) / 2, JITTER)
    new = whitened_stage(SETS[name], of.f)
    return transitions(method.split(",")[0], x, new, eps, L, *(inner or [of.M]), n, rng)


def positions(name, method, samples):
    """Return draws in the coordinates of q."""
    if method not in SPLITS:
        return samples
    return original(samples, whitened_stage(SETS[name], PROBLEMS[name].f)[0])


def pilot(name, method, setting, enough, most, seed):
    """Run a chain until the worst quantity has enough effective draws, twice as long each time.

    enough : float   effective draws, of the values and of the squares of all coefficients
    most   : float   gradients after which it is given up
    """
    rng = np.random.default_rng(seed)
    x, n, parts, accepted, gradients, least = start(name, method, rng), FIRST, [], [], 0.0, 0.0
    while least < enough and gradients < most:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of chains that do not move: their pilot says so
            chain = run(name, method, setting, x, n, rng)
        parts.append(positions(name, method, chain.samples))
        accepted.append(chain.accepted)
        gradients += float(chain.counts.gradient)
        x, n = chain.samples[-1], sum(map(len, parts))
        least = worst_ess(np.concatenate(parts), gradients)
    return {"rate": float(np.concatenate(accepted).mean()), "ess": least, "n": n,
            "efficiency": least / gradients}


def worst_ess(q, gradients):
    """Return the least ESS of draws (n, d), of values and of squares; 0 for what stands still."""
    with np.errstate(all="ignore"):
        return worst(pool([moments(thin(q)) | {"gradients": gradients, "divergences": 0,
                                               "rate": 0.0}]))


def row_of_chains(name, method, setting, n, burn_in, chains, seed):
    """Run chains of n transitions after burn_in: moments of each, and whether to believe them."""
    found, draws = [], []
    for child in range(chains):
        rng = np.random.default_rng([*seed, child])
        chain = run(name, method, setting, start(name, method, rng), burn_in + n, rng)
        q = positions(name, method, chain.samples[burn_in:])
        draws.append(thin(q))
        found.append(summarise(name, draws[-1], thin(chain.energies[burn_in:])) | {
            "gradients": float(chain.counts.gradient) * n / (burn_in + n),
            "divergences": int(chain.divergences), "rate": float(chain.accepted[burn_in:].mean()),
            "e_bfmi": e_bfmi(chain.energies[burn_in:], q.shape[1])})
    return reliability(np.array(draws)) | {"chains": found}


def nuts_row(name, method, n, warm_up, chains, seed):
    """Run chains of NUTS: moments of each, and gradients of its n transitions and its warm-up."""
    model, _, _ = problem(SETS[name], PROBLEMS[name].f)
    found, draws = [], []
    for child in range(chains):
        rng = np.random.default_rng([*seed, child])
        chain = nuts(start(name, method, rng), model, n, rng, warm_up, NUTS[method])
        gradients = float(chain.gradients.sum())
        draws.append(thin(chain.samples))
        found.append(summarise(name, draws[-1], thin(chain.energies)) | {
            "gradients": gradients, "warm_up": float(chain.counts.gradient) - gradients,
            "divergences": chain.divergences, "rate": float(chain.rates.mean()),
            "e_bfmi": chain.e_bfmi})
    return reliability(np.array(draws)) | {"chains": found}


def thin(q):
    """Return KEPT equally spaced draws at most, the last one among them."""
    return q[::-1][::-(-len(q) // KEPT)][::-1]


def summarise(name, q, energies):
    """Return moments of a chain's draws, and the ESS of the paper's two quantities."""
    model, _, _ = problem(SETS[name], PROBLEMS[name].f)
    quantities = chain_log_likelihood(q, energies, model), (q[:, 1:] ** 2).sum(axis=1)
    return shorten(moments(q)) | {what: float(initial_sequence(x).ess)
                                  for what, x in zip(MEASURES, quantities, strict=True)}


def clock(name, rows, rounds, n):
    """CPU seconds of a gradient of each row in turn, and of the mode and its Hessian.

    rows : {row: [method, [eps, L]]}   or [method, None]: NUTS, n transitions after 2 n
    """
    seconds = {row: [] for row in (*rows, "mode")}
    model, _, _ = problem(SETS[name], PROBLEMS[name].f)
    for k in range(rounds + 1):  # the first one loads what is compiled
        for row, (method, setting) in rows.items():
            rng = np.random.default_rng(k)
            x = start(name, method, rng)
            begin = time.thread_time()
            chain = (nuts(x, model, n, rng, 2 * n, NUTS[method]) if setting is None
                     else run(name, method, setting, x, n, rng))
            seconds[row].append((time.thread_time() - begin) / chain.counts.gradient)
        begin = time.thread_time()
        map_estimate(model)
        seconds["mode"].append(time.thread_time() - begin)
    return {"seconds": {row: each[1:] for row, each in seconds.items()}}


def warm():
    """Compile everything in this process, before others start."""
    for method in OURS:  # the one data set that needs no file
        run("Simulated", method, [0.01, 1], start("Simulated", method, np.random.default_rng(0)),
            6, np.random.default_rng(0))
    for method in NUTS:
        nuts_row("Simulated", method, 12, 20, 1, [0])
