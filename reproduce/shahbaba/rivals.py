"""Chains of split HMC and of its rivals on the data of Shahbaba et al. (2014), Tables 1 and 2.

All start at a draw from the normal approximation of the posterior.  A setting is (eps, L): those of
the paper's methods are the paper's own times GRID; where the Hessian at the mode is the mass, all
frequencies are about 1, and they are those of WHITENED.  NUTS finds its own.
"""

import time
from functools import cache

import numpy as np

from algorithms.hmc import hmc
from algorithms.map_estimate import map_estimate
from reproduce.beyond.rivals.moments import combine, moments, worst
from reproduce.beyond.rivals.nuts import library, nuts
from reproduce.shahbaba.chains import JITTER, problem, transitions
from reproduce.shahbaba.datasets import SIMULATED
from reproduce.shahbaba.printed import METHODS, PROBLEMS, step
from reproduce.shahbaba.whitened import original, whitened_problem

SETS = {"Simulated": SIMULATED + "2011", "StatLog": "StatLog", "CTG": "CTG", "Chess": "Chess"}
MASS = "HMC, M = J"
SPLITS = ("normal, M = J", "data, M = J")
NUTS, LOW_RANK = "NUTS, diagonal", "NUTS, low rank"
OURS = (*METHODS, MASS, *SPLITS)  # with settings
ALL = (*OURS, NUTS, LOW_RANK)
DIGITS = 8  # of a stored moment; its standard error is in the second or third
GRID = [(a, b) for a in (0.5, 0.75, 1.0, 1.4) for b in (0.35, 0.7, 1.0, 2.0)]
WHITENED = [(eps, L) for eps in (0.4, 0.7, 1.0, 1.4) for L in (1, 2, 3, 5)]


def settings(name, method):
    """List the settings that a method is tried with, [eps, L], 16 but for those that are equal."""
    if method not in METHODS:
        return [list(each) for each in WHITENED]
    eps, L = step(name, method)
    return [[eps * a, m] for a in sorted({a for a, _ in GRID})
            for m in sorted({max(1, round(b * L)) for _, b in GRID})]


@cache
def whitened_stage(data_name, fraction):
    """Return the model, the normal approximation and the split in whitened coordinates."""
    model, fit, _ = problem(data_name, fraction)
    return whitened_problem(model, fit, fraction)


def start(name, rng):
    """Draw z ~ N(0, I); return it and q = q_hat + C z."""
    new = whitened_stage(SETS[name], PROBLEMS[name].f)[0]
    z = rng.standard_normal(new.q_hat.size)
    return z, original(z[None], new)[0]


def run(name, method, setting, q, n, rng):
    """Run n transitions from z and q, a pair; return the Chain, its draws those of q."""
    eps, L = setting
    of = PROBLEMS[name]
    stage = problem(SETS[name], of.f)
    if method in METHODS:
        return transitions(method, q[1], stage, eps, L, of.M, n, rng)
    if method == MASS:
        _, fit, _ = stage
        J = (fit.Z * fit.w**2) @ fit.Z.T
        return hmc(q[1], stage[0], eps, L, n, rng, (J + J.T) / 2, JITTER)
    new = whitened_stage(SETS[name], of.f)
    chain = transitions(method.split(",")[0], q[0], new, eps, L, of.M, n, rng)
    return chain._replace(samples=original(chain.samples, new[0]))


def chain(name, method, setting, n, burn_in, seed):
    """Run n transitions after burn_in: moments of q, gradients (of all the data), rate."""
    rng = np.random.default_rng(seed)
    found = run(name, method, setting, start(name, rng), burn_in + n, rng)
    return shorten(moments(found.samples[burn_in:])) | {
        "gradients": float(found.counts.gradient) * n / (burn_in + n), "deepest": float("nan"),
        "divergences": int(found.divergences), "rate": float(found.accepted[burn_in:].mean())}


def pilot(name, method, setting, n, seed):
    """Run a chain of n transitions: its rate, and the worst ESS per gradient."""
    found = chain(name, method, setting, n, 0, seed)
    return {"rate": found["rate"],
            "efficiency": worst(combine([found], len(found["mean"]))) / found["gradients"]}


def shorten(found):
    """Round lists of numbers to DIGITS digits."""
    return {key: [float(f"{x:.{DIGITS}g}") for x in value] if isinstance(value, list) else value
            for key, value in found.items()}


def nuts_chain(name, low_rank, draws, tune, seed):
    """Run NUTS: moments of q, its gradients, those of its adaptation."""
    rng = np.random.default_rng(seed)
    model, _, _ = problem(SETS[name], PROBLEMS[name].f)
    found = nuts(model, start(name, rng)[1], draws, tune, int(rng.integers(2**31)),
                 low_rank=low_rank)
    return shorten(moments(found["q"])) | {
        "gradients": found["steps"], "warm_up": found["warm_up"], "rate": float("nan"),
        "divergences": found["divergences"], "deepest": found["deepest"]}


def clock(name, rows, rounds, n):
    """CPU seconds of a gradient of each method in turn, and of the mode and its Hessian.

    rows : {method: [eps, L] or None}   None: NUTS, n transitions after 2 n
    """
    seconds = {row: [] for row in (*rows, "mode")}
    model, _, _ = problem(SETS[name], PROBLEMS[name].f)
    for k in range(rounds + 1):  # the first one loads what is compiled
        for method, setting in rows.items():
            rng = np.random.default_rng(k)
            q = start(name, rng)
            begin = time.process_time()  # NUTS runs in a thread of its own
            if setting is None:
                found = nuts(model, q[1], n, 2 * n, k + 1, maxdepth=6,
                             low_rank=method == LOW_RANK)
                done = found["steps"] + found["warm_up"]
            else:
                done = run(name, method, setting, q, n, rng).counts.gradient
            seconds[method].append((time.process_time() - begin) / done)
        begin = time.process_time()
        map_estimate(model)
        seconds["mode"].append(time.process_time() - begin)
    return {"seconds": {row: each[1:] for row, each in seconds.items()}}


def warm():
    """Compile everything in this process, before others start; NUTS must be there."""
    library()
    for method in OURS:  # the one data set that needs no file
        chain("Simulated", method, [0.01, 1], 6, 0, 0)
    nuts_chain("Simulated", False, 6, 6, 0)
