"""Chains of all methods of Wang and Neal (2013) on their data sets, and what an iteration costs.

A chain starts from the truth.  The autocorrelation time is that of the log likelihood in the last
two thirds.  The paper states neither the width of a slice nor its limit, nor what an iteration of a
mapping is; SLICES and UNITS are what we compare.

Costs have two measures.  Seconds are those of whole iterations, of all methods in turn in one
process.  Evaluations are counted, and weighted by the ratio of the times of single ones: of the
posterior after a change of one variable, which is the unit, of it from scratch, which a sweep needs
once, and of each approximation.
"""

import time
from statistics import median

import numpy as np

from algorithms.ess import autocovariance, initial_sequence, significant_lags
from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from models.interface import U, prepare, trial
from models.jit import njit
from reproduce.wang.datasets import problem
from reproduce.wang.printed import KEPT, MAPPING, NYSTROM, SOD, STANDARD, TEMPERED

SLICES = {"w = 1, limit 10": (1.0, 10), "w = 0.1, limit 3": (0.1, 3)}  # the paper has neither
WIDE, NARROW = SLICES
UNITS = ("variable", "sweep")  # what an iteration of a mapping is
LAGS = 50  # Figure 2


def samples(x0, model, approximate, method, iterations, rng, unit, w, max_widths, r=1, s=1):
    """Run a method from x0; return its record.  approximate: as datasets.approximation has it."""
    if method == STANDARD:
        return slice_sampling(x0, model, w, iterations, rng, max_widths)
    if method == TEMPERED:
        return tempered_transitions(x0, model, approximate, w, iterations, rng, unit, max_widths)
    return discretizing_chain(x0, model, approximate, w, iterations, rng, r, s, unit, max_widths)


def record(run):
    """Return what is stored of a run of a sampler.

    tau             of the log likelihood in the window, the last two thirds: {"first", "literal",
                    "geyer": [tau, s.e.]}, both readings of the paper's cut-off and Geyer's; a chain
                    that never moves there is one draw: twice the length of the window
    mean, sd        of the log likelihood in the window
    rho             its autocorrelations from lag 0 to LAGS; nan if it never moves
    accepted        rates of acceptance of each mapping of an iteration; of a slice update 1
    counts          {"density", "approximations": [...], "cache_hits", "widths", "shrinkages",
                    "not_finite"}
    iterations, first, last   the first state after the truth, and the last one
    """
    counts = {key: np.asarray(value).tolist() for key, value in run.counts._asdict().items()}
    return summary(run.log_likelihood) | {
        "accepted": run.accepted.mean(axis=(0, 2)), "counts": counts,
        "iterations": len(run.samples), "first": run.samples[0], "last": run.samples[-1]}


def summary(log_likelihood):
    """Return what is stored of the log likelihood of a run: see `record`."""
    x = window(log_likelihood)
    found = {"first": significant_lags(x), "literal": significant_lags(x, literal=True),
             "geyer": initial_sequence(x)}
    gamma = autocovariance(x)[: LAGS + 1]
    moved = gamma[0] > 0 and np.isfinite(found["first"].tau)
    return {"tau": {name: [float(each.tau), float(each.se)] if moved else [float(x.size)] * 2
                    for name, each in found.items()},
            "mean": float(x.mean()), "sd": float(x.std()),
            "rho": gamma / gamma[0] if moved else np.full(gamma.size, np.nan)}


def window(x):
    """Return the last two thirds: of 2000 iterations the last 1333."""
    return x[len(x) - int(KEPT * len(x)) :]


# Costs


@njit
def trials(cache, k, values, model):
    """Evaluate U at each of `values` of variable k; return their sum."""
    total = 0.0
    for value in values:
        total += trial(cache, k, value, model)
    return total


@njit
def scratches(q, times, model):
    """Evaluate U from scratch, as often."""
    total = 0.0
    for _ in range(times):
        total += U(q, model)
    return total


def clock(number, index, rows, rounds, iterations, n=None):
    """CPU seconds of an iteration of each row, in turn, and of single evaluations of U.

    rows : {name: [method, unit, w, max_widths, m]}; m None: the paper's

    seconds  {"iteration": {name: a number a round}, "trial": {model: of each variable, a number a
             round}, "scratch": {model: a number a round}}; a model is "pi", or a layer "SOD 40".
             Each chain goes on where its last round ended.
    layers   {name: the models of its layers, as named above}
    """
    rng = np.random.default_rng(0)
    built, layers, models = {}, {}, {}
    for name, (method, _, _, _, m) in rows.items():
        model, truth, approximate = built[name] = problem(
            number, index, method, m, n)
        mine = {} if method == STANDARD else {
            f"{method if method in MAPPING else SOD} {size(each)}": each for each in (
                approximate if method == TEMPERED else (approximate,))}
        layers[name], models = list(mine), {"pi": model} | models | mine
    at = {name: truth for name, (_, truth, _) in built.items()}
    d = truth.size
    seconds = {"iteration": {name: [] for name in rows}, "scratch": {name: [] for name in models},
               "trial": {name: [[] for _ in range(d)] for name in models}}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for name, (method, unit, w, max_widths, _) in rows.items():
            model, _, approximate = built[name]
            start = time.thread_time()
            run = samples(at[name], model, approximate, method, iterations, rng, unit, w,
                          max_widths)
            seconds["iteration"][name].append((time.thread_time() - start) / iterations)
            at[name] = run.samples[-1]
        for name, model in models.items():
            times = max(iterations, 5) if name == "pi" else 20
            cache = prepare(truth, model)
            for k in range(d):
                values = truth[k] + 0.1 * rng.standard_normal(times)
                trials(cache, k, values[:2], model)  # what a change of the variable brings
                start = time.thread_time()
                trials(cache, k, values, model)
                seconds["trial"][name][k].append((time.thread_time() - start) / times)
            start = time.thread_time()
            scratches(truth, times, model)
            seconds["scratch"][name].append((time.thread_time() - start) / times)
    return {"seconds": {
        "iteration": {name: each[1:] for name, each in seconds["iteration"].items()},
        "scratch": {name: each[1:] for name, each in seconds["scratch"].items()},
        "trial": {name: [v[1:] for v in each] for name, each in seconds["trial"].items()}},
        "layers": layers}


def size(model):
    """Return the cases or columns of an approximation."""
    return model.index.size


def costs(timed):
    """Return the cost of an evaluation of each model by what `clock` returned, medians of rounds.

    {"trial": {model: after a change of one variable, mean over the variables}, "scratch": {...}};
    the unit is the posterior after a change of one variable.
    """
    seconds = timed["seconds"]
    trial_ = {name: np.mean([median(rounds) for rounds in each])
              for name, each in seconds["trial"].items()}
    return {"trial": {name: each / trial_["pi"] for name, each in trial_.items()},
            "scratch": {name: median(each) / trial_["pi"]
                        for name, each in seconds["scratch"].items()}}


def evaluations(found, method, unit, cost, layers=()):
    """Return the cost of an iteration of a chain, in evaluations of the posterior.

    found  : what `record` returned     cost : what `costs` returned
    layers : the names of the models of the layers, as `clock` returns them for the row

    With "sweep" all variables change before the posterior is evaluated: from scratch.
    """
    counts = found["counts"]
    each = cost["scratch"]["pi"] if method != STANDARD and unit == "sweep" else 1.0
    total = each * counts["density"] + sum(
        cost["trial"][name] * number
        for name, number in zip(layers, counts["approximations"], strict=True))
    return total / found["iterations"]


def warm():
    """Compile everything in this process, before others start."""
    rng = np.random.default_rng(0)
    for method in (STANDARD, SOD, NYSTROM, TEMPERED):
        model, truth, approximate = problem(1, 0, method, n=20)
        record(samples(truth, model, approximate, method, 9, rng, "variable", 1.0, 10))
        clock(1, 0, {"": [method, "variable", 1.0, 10, None]}, 1, 2, n=20)
