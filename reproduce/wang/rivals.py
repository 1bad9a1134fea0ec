"""Chains of rivals on Wang and Neal's data sets, what they ask for, and what that costs.

All start from the truth, as the paper's do.  Densities are those of wang/long_chains.py: what is
compared is counted, not timed.  HMC and NUTS ask for gradients, and have the regression.

Costs are numbers of evaluations, each weighted by its time over that of the posterior after a
change of one variable, which is the unit of the other scripts; a setting is chosen by operations,
which no clock sways.  A gradient brings the density with it, from the same factor.  A pilot that
fits a covariance, and the warm-up of NUTS, are set-up costs and stand apart.  A draw is an
effective one of the worst quantity: of all hyperparameters and the log likelihood, means and
variances.
"""

import time
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.hoffman_nuts_fast import nuts
from algorithms.rivals.delayed_acceptance import delayed_acceptance
from algorithms.rivals.dragging import dragging
from algorithms.rivals.fitted_walk import fitted_walk, pilot
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_spectral import GPSpectral
from models.gp_subset import GPSubset
from models.gp_variational import GPVariational
from models.interface import grad_U, log_likelihood_of, prepare
from models.jit import njit
from reproduce.beyond.rivals import moments as together
from reproduce.beyond.rivals.moments import moments, pool, reliability, shorten, worst
from reproduce.wang.chains import samples, scratches, trials
from reproduce.wang.datasets import order, posterior, scale_m
from reproduce.wang.long_chains import settings_of, target
from reproduce.wang.printed import ISOTROPIC, METHODS, NYSTROM, ROWS, SOD, STANDARD, TEMPERED
from sampling.summary import LEAST_ESS, e_bfmi

WALK, DELAYED, HMC, NUTS, DRAGGING = (
    "random walk", "delayed acceptance", "HMC", "NUTS", "eigenvalues, dragging")
SURROGATE = {"surrogate": SOD, "surrogate, Nystrom": NYSTROM, "surrogate, FITC": "FITC",
             "surrogate, variational": "variational"}  # and which pi*, all of them at SOD's m
RIVALS = (WALK, DELAYED, *SURROGATE, HMC, NUTS, DRAGGING)
LOW_RANK = [method for method in SURROGATE if SURROGATE[method] != SOD]
# the scan: settings of each method.  Widths of slices; factors of 2.38 / sqrt d; steps on
# pi* for one of pi; (step size, steps) in units of the pilot's covariance; rates of acceptance
SCANNED = ({method: (0.5, 1.0, 2.0) for method in METHODS}
           | {WALK: (0.7, 1.0, 1.4), DELAYED: (0.7, 1.0, 1.4), DRAGGING: (1.0, 1.5, 2.5)}
           | {method: (3, 8, 20) for method in SURROGATE}
           | {HMC: ((0.9, 2), (0.6, 4), (0.8, 6)), NUTS: (0.8,)})  # which tunes itself
LIMIT = 10  # widths of a slice
PILOT = (4, 250)  # rounds and transitions of each: a thousand evaluations of pi
N_STEPS = 40  # of a dragging step
WARM_UP = 500  # transitions of NUTS before those that are kept
ASKS_GRADIENTS = (HMC, NUTS)
NEAR = 1.05  # R-hat of chains that need to be longer, and no more
BURN_IN = 0.1  # of a chain, which starts at the truth


def methods(number):
    """Return the paper's methods of which it shows results, and the rivals that a row can have."""
    return (*ROWS[number].methods, *(name for name in RIVALS if name != DRAGGING
                                     or ROWS[number].kind == ISOTROPIC))


def is_fast(number, method):
    """Tell whether all that a method asks for is had from eigenvalues (wang/long_chains.py)."""
    return ROWS[number].kind == ISOTROPIC and method not in (*ASKS_GRADIENTS, *LOW_RANK, NYSTROM)


def guess(number, method, setting):
    """Return about how many evaluations of the posterior an iteration takes."""
    row = ROWS[number]
    part = row.m[SOD] / row.n
    return {STANDARD: 5.5 * row.d, SOD: row.d * (1 + 5 * part**2), NYSTROM: 2 * row.d,
            TEMPERED: 2 * row.d, WALK: 1, DELAYED: 0.5, NUTS: 20, DRAGGING: 12,
            HMC: 3 * setting[1] if method == HMC else 0}.get(
        method, 1 + (part**2 if method not in LOW_RANK else 2 * part) * np.max(setting))


def approximation(number, index, which, n=None):
    """Return a pi* of as many cases or columns as the paper's subset has."""
    m = scale_m(ROWS[number].m[SOD], number, n)
    if which == SOD:
        return settings_of(number, index, which, m, n)
    kind = {NYSTROM: GPNystrom, "FITC": GPFITC, "variational": GPVariational}[which]
    return kind.from_model(posterior(number, index, n)[0], order(number, index, n)[:m])


class Run(NamedTuple):
    """A chain, and how often it asked for what; the same of its set-up."""

    samples: np.ndarray  # (iterations, d)
    log_likelihood: np.ndarray  # (iterations,)
    counts: dict  # {what: how often}; the keys are those of `seconds_of`
    setup: dict
    accepted: float  # rate
    energies: np.ndarray  # (iterations,) potential energies, of HMC and NUTS
    divergences: int


def run(number, index, method, setting, iterations, seed, n=None):
    """Run a method from the truth; return a Run.  setting: one of SCANNED[method]."""
    fast, model, truth = target(number, index, n)
    rng = np.random.default_rng(seed)
    if method in METHODS:
        chain = samples(truth, fast, settings_of(number, index, method, None, n), method,
                        iterations, rng, "variable", setting, LIMIT)
        counts = {"trial": int(chain.counts.density)}
        for name, times in zip(layers(number, method, n), chain.counts.approximations, strict=True):
            # two layers of few cases may have the same size
            counts[f"trial {name}"] = counts.get(f"trial {name}", 0) + int(times)
        return Run(chain.samples, chain.log_likelihood, counts, {}, float(chain.accepted.mean()),
                   np.zeros(0), 0)
    if method == NUTS:
        chain = nuts(truth, model, iterations, rng, min(WARM_UP, iterations), target=setting)
        steps = int(chain.gradients.sum())
        return Run(chain.samples, likelihoods(chain.samples, chain.energies, model),
                   {"gradient": steps}, {"gradient": int(chain.counts.gradient) - steps},
                   float(chain.rates.mean()), chain.energies, chain.divergences)
    rounds, each = PILOT
    first = pilot(truth, fast, min(each, 5 * iterations), rng, rounds)
    setup = {"scratch": first.density}
    if method == HMC:
        eps, L = setting
        chain = hmc(truth, model, eps, L, iterations, rng, np.linalg.inv(first.covariance), 0.2)
        counts = {"gradient": chain.counts.gradient}
    elif method == WALK:
        chain = fitted_walk(truth, fast, setting * first.factor, iterations, rng)
        counts = {"scratch": chain.counts.density}
    elif method == DRAGGING:
        step = setting * 2.38 * np.sqrt(first.covariance[2:, 2:])
        chain = dragging(truth, fast, [2], step, iterations, rng, N_STEPS,
                         w=np.sqrt(np.diag(first.covariance)))
        counts = {"decomposition": chain.counts.prepared, "fast": chain.counts.trials}
    else:
        which, inner = SURROGATE.get(method, SOD), setting if method in SURROGATE else 1
        factor = first.factor if method in SURROGATE else setting * first.factor
        chain = delayed_acceptance(truth, fast, approximation(number, index, which, n), factor,
                                   iterations, rng, inner)
        counts = {"scratch": chain.counts.density,
                  f"scratch {which}": int(chain.counts.approximations[0])}
    return Run(chain.samples, likelihoods(chain.samples, chain.energies, model), {
        key: int(value) for key, value in counts.items()}, setup, float(chain.accepted.mean()),
        *((chain.energies, chain.divergences) if method == HMC else (np.zeros(0), 0)))


def likelihoods(x, energies, model):
    """Return the log likelihood of states, from their energies."""
    return np.array([log_likelihood_of(U, q, model) for U, q in zip(energies, x, strict=True)])


def layers(number, method, n=None):
    """Return the names of a paper's method's approximations, as `seconds_of` has them."""
    if method == STANDARD:
        return []
    if method == TEMPERED:
        return [f"{SOD} {m}" for m in scale_m(ROWS[number].m[method], number, n)]
    return [f"{method} {scale_m(ROWS[number].m[method], number, n)}"]


# Replicates, and what is kept of them


def draws(number, index, method, setting, iterations, seed, n=None):
    """Run a chain and drop its BURN_IN; return its draws and what is known of it.

    The draws are those of the hyperparameters, then of the log likelihood: (iterations, d + 1).
    "counts" are of the rest, "set_up" of what was before; see rivals/moments.py for the others.
    """
    found = run(number, index, method, tuple(setting) if isinstance(setting, list) else setting,
                iterations, seed, n)
    first = round(BURN_IN * iterations)
    kept, energies = 1 - first / iterations, found.energies[first:]
    return np.column_stack([found.samples, found.log_likelihood])[first:], {
        "counts": {what: kept * times for what, times in found.counts.items()},
        "set_up": found.setup, "rate": found.accepted, "divergences": found.divergences,
        "e_bfmi": e_bfmi(energies, found.samples.shape[1]) if energies.size else float("nan")}


def pilot_chain(number, method, setting, iterations, seed, n=None):
    """Run a chain on the first data set of a kind: the worst ESS, and that per operation.

    "per iteration" is that ESS, from which the length of a row's chains follows.
    """
    x, found = draws(number, 0, method, setting, iterations, seed, n)
    work = price(found["counts"], operations(number, found["counts"].keys(), n))
    with np.errstate(all="ignore"):  # of a quantity that never moved
        ess = worst(pool([moments(x) | found | {"gradients": work}]))
    return {"ess": ess, "efficiency": ess / work, "per iteration": ess / len(x),
            "counts": found["counts"], "set_up": found["set_up"]}


def row_of_chains(number, index, method, setting, iterations, chains, seed, n=None):
    """Run several chains: moments of each (rivals/moments.py), and whether to believe them."""
    every = [draws(number, index, method, setting, iterations, [*seed, k], n)
             for k in range(chains)]
    with np.errstate(all="ignore"):  # of a quantity that never moved
        return reliability(np.array([x for x, _ in every])) | {
            "chains": [shorten(moments(x)) | found for x, found in every]}


@njit
def gradients(q, times, model):
    """Evaluate the gradient of U, as often."""
    total = 0.0
    for _ in range(times):
        total += grad_U(q, model)[0]
    return total


def seconds_of(number, index, rounds, times, n=None):
    """CPU seconds of single evaluations on a data set, {"seconds": {what: a number a round}}.

    "trial", "scratch", "gradient"   of the posterior: after a change of one variable, on average
                                     over the variables, from scratch, and of its gradient
    "trial SOD 40", ...              of an approximation of the paper's methods
    "scratch SOD", ...               of each pi* of delayed acceptance and surrogate transitions
    "decomposition", "fast"          of the posterior by eigenvalues, if there is one length
    """
    model, truth = posterior(number, index, n)
    chosen = order(number, index, n)
    work = {"trial": (trial_seconds, model), "scratch": (clock_of(scratches), model),
            "gradient": (clock_of(gradients), model)}
    for method in ROWS[number].methods[1:]:
        for name in layers(number, method, n):
            kind, m = name.split()
            layer = (GPNystrom if kind == NYSTROM else GPSubset).from_model(model, chosen[: int(m)])
            work[f"trial {name}"] = trial_seconds, layer
    for which in SURROGATE.values():
        one = (GPSubset.from_model(model, chosen[: scale_m(ROWS[number].m[SOD], number, n)])
               if which == SOD else approximation(number, index, which, n))
        work[f"scratch {which}"] = clock_of(scratches), one
    if ROWS[number].kind == ISOTROPIC:
        spectral = GPSpectral.from_model(model)
        work |= {"decomposition": (clock_of(scratches), spectral), "fast": (fast_seconds, spectral)}
    found = {name: [] for name in work}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for name, (clock, one) in work.items():
            found[name].append(clock(truth, times, one))
    return {"seconds": {name: each[1:] for name, each in found.items()}}


def clock_of(function):
    """Return a clock of function(q, times, model)."""
    def clock(q, times, model):
        start = time.thread_time()
        function(q, times, model)
        return (time.thread_time() - start) / times

    return clock


def trial_seconds(q, times, model, variables=None):
    """Return the mean time of an evaluation after a change of each of some variables."""
    cache, found = prepare(q, model), []
    for k in range(q.size) if variables is None else variables:
        values = q[k] + 0.01 * np.arange(1.0, times + 1)
        trials(cache, k, values[:1] + 1, model)  # what a change of the variable brings
        start = time.thread_time()
        trials(cache, k, values, model)
        found.append((time.thread_time() - start) / times)
    return float(np.mean(found))


def fast_seconds(q, times, model):
    """Return the mean time of an evaluation after a change of sigma or eta."""
    return trial_seconds(q, 20 * times, model, (0, 1))


# What chains say together


def prices(timed):
    """Return {what: cost in units of the posterior after a change of one variable}, medians."""
    unit = np.median(timed["seconds"]["trial"])
    return {name: float(np.median(each) / unit) for name, each in timed["seconds"].items()}


def operations(number, names, n=None):
    """Return {what: operations in units of n^3 / 3, a factorisation}, by the leading terms alone.

    Of m cases or columns: m^3 / 3, or two products of m^2 n.  Eigenvalues with vectors take 9 n^3.
    """
    n = n or ROWS[number].n
    found = {"trial": 1.0, "scratch": 1.0, "gradient": 3.0, "decomposition": 27.0, "fast": 3 / n**2}
    for what in names - found.keys():
        _, kind, *m = what.split()
        part = (int(m[0]) if m else scale_m(ROWS[number].m[SOD], number, n)) / n
        found[what] = part**3 if kind == SOD else 6 * part**2
    return found


def price(counts, costs):
    """Return the cost of what was counted."""
    return float(sum(costs[what] * number for what, number in counts.items()))


def longer(found):
    """Return how many times as long chains must be to be believed; 1 if they are, or are too far.

    This rule was added after the first of these rows had been seen, in which many had just less
    than the effective draws that it takes: chains that are near each other are run anew.  At first
    it was for the methods that run on all data sets; now it is for all, so that none is believed
    because it alone ran longer.
    """
    if together.is_believed(found) or not found["rhat"] < NEAR:
        return 1.0
    return max(2.0, 1.6 * LEAST_ESS * len(found["chains"]) / min(found["bulk"], found["tail"]))


def row_at_prices(found, pilots, setting, costs, unit):
    """Return the row of what four chains and their pilots gave, at these prices."""
    chains = [each | {"gradients": price(each["counts"], costs)} for each in found["chains"]]
    return together.row_of(found | {"chains": chains}, unit) | {
        "setting": setting,
        "before": sum(price(each["set_up"], costs) for each in (*chains, *pilots))
        + sum(price(each["counts"], costs) for each in pilots)}
