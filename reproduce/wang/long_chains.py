"""Long chains on the data sets of Wang and Neal (2013), for the scripts that are ours.

Where there is one length, the posterior and subsets of the data are those of wang/spectra.py, 25
to 150 times as fast and within 1e-4; Nystrom's approximation stays what it is, and with ARD
everything does.  A run is 667 iterations and any number of the paper's windows of 1333, so that
what a window says of the autocorrelation time stands beside what all of them together do.
"""

from functools import cache

import numpy as np
from scipy.linalg.lapack import dpstrf

from algorithms.ess import initial_sequence, significant_lags
from models.gp_nystrom import GPNystrom
from models.gp_regression import covariance
from models.gp_subset import GPSubset
from reproduce.harness.claims import Measured, average, log, mean
from reproduce.harness.replicates import one_by_one
from reproduce.wang.chains import clock, costs, evaluations, samples
from reproduce.wang.datasets import SEED, order, posterior, scale_m
from reproduce.wang.printed import (
    ISOTROPIC,
    ITERATIONS,
    KEPT,
    NYSTROM,
    ROWS,
    STANDARD,
    TEMPERED,
    R,
    S,
)
from reproduce.wang.spectra import HIGH, LOW, GPSpectra

WINDOW = int(KEPT * ITERATIONS)  # 1333
BURN_IN = ITERATIONS - WINDOW
WANDERING = (2, 7)  # rows in which rho may go anywhere; in the others it stays near the truth
NEAR = 1.5  # of log rho: how near
RANDOM, PIVOTED = COLUMNS = ("random", "pivoted Cholesky")  # which cases an approximation has


@cache
def target(number, index, n=None):
    """Return the density that is sampled, the regression it stands for, and the truth."""
    model, truth = posterior(number, index, n)
    if ROWS[number].kind != ISOTROPIC:
        return model, model, truth
    return spectra(number, truth, model), model, truth


def spectra(number, truth, model):
    """Return a regression with one length by its eigenvalues, where its chain goes."""
    low, high = (LOW, HIGH) if number in WANDERING else (truth[2] - NEAR, truth[2] + NEAR)
    return GPSpectra.from_model(model, low, high)


def pivots(model, truth):
    """Return the order in which a pivoted Cholesky factor of the covariance takes the cases."""
    K = covariance(truth, model)
    K[np.diag_indices(len(K))] -= np.exp(2 * truth[0])  # without the noise
    return dpstrf(K, lower=1)[1] - 1


def cases(number, index, n=None, columns=RANDOM, luck=0):
    """Return an order of the cases, of which an approximation has the first m.

    columns : one of COLUMNS      luck : 0 is the order of the tables, 1, 2, ... are others
    """
    if columns == PIVOTED:
        _, model, truth = target(number, index, n)
        return pivots(model, truth)
    if luck == 0:
        return order(number, index, n)
    return np.random.default_rng([SEED, number, index, 1, luck]).permutation(n or ROWS[number].n)


def settings_of(number, index, method, m=None, n=None, columns=RANDOM, luck=0):
    """Return what a method takes beside the target; m None: the paper's, in proportion to n."""
    if method == STANDARD:
        return None
    m = scale_m(ROWS[number].m[method], number, n) if m is None else m
    _, model, truth = target(number, index, n)
    chosen = cases(number, index, n, columns, luck)
    if method == NYSTROM:
        return GPNystrom.from_model(model, chosen[:m])
    layers = [GPSubset.from_model(model, chosen[:each]) for each in (m if np.ndim(m) else [m])]
    if ROWS[number].kind == ISOTROPIC:
        layers = [spectra(number, truth, layer.part) for layer in layers]
    return tuple(layers) if method == TEMPERED else layers[0]


def long_chain(number, index, method, seed, windows, unit="variable", w=1.0, max_widths=10, m=None,
               r=R, s=S, n=None, columns=RANDOM, luck=0):
    """Run a method from the truth for so many of the paper's windows; return what is kept.

    tau       of the log likelihood, of all windows together, by Geyer's sequence: [tau, s.e.];
              as chains.record has it where the chain never moves
    windows   by the paper's estimator, of each
    noise     share of the states with sigma > eta
    accepted  rate of each mapping of an iteration
    counts, iterations   of the run, as chains.record
    """
    model, _, truth = target(number, index, n)
    approximate = settings_of(number, index, method, m, n, columns, luck)
    iterations = BURN_IN + windows * WINDOW
    run = samples(truth, model, approximate, method, iterations, np.random.default_rng(seed), unit,
                  w, max_widths, r, s)
    x = run.log_likelihood[BURN_IN:]
    moved = x.min() < x.max()
    tau = initial_sequence(x)
    counts = {key: np.asarray(value).tolist() for key, value in run.counts._asdict().items()}
    return {"tau": [float(tau.tau), float(tau.se)] if moved else [float(x.size)] * 2,
            "windows": [in_window(each) for each in x.reshape(windows, WINDOW)],
            "noise": float(np.mean(run.samples[BURN_IN:, 0] > run.samples[BURN_IN:, 1])),
            "accepted": run.accepted.mean(axis=(0, 2)), "counts": counts,
            "iterations": iterations}


def acceptance(number, index, method, seed, iterations, m=None, n=None, stretches=10):
    """Run so many iterations from the truth; return the acceptance rate in each stretch of them."""
    model, _, truth = target(number, index, n)
    run = samples(truth, model, settings_of(number, index, method, m, n), method, iterations,
                  np.random.default_rng(seed), "variable", 1.0, 10)
    return {"accepted": [float(part.mean()) for part in np.array_split(run.accepted, stretches)]}


def in_window(x):
    """Return the autocorrelation time by the paper's estimator; one draw if nothing moves."""
    tau = significant_lags(x).tau
    return float(tau) if np.isfinite(tau) else float(x.size)


def combine(chains):
    """Put independent chains of one setting together: {"tau", "log tau", "windows", ...}."""
    tau = pool([Measured(*c["tau"]) for c in chains])
    return {"tau": tau, "log tau": log(tau),
            "windows": [each for c in chains for each in c["windows"]],
            "noise": float(np.mean([c["noise"] for c in chains])),
            "accepted": mean([np.mean(c["accepted"]) for c in chains]),
            "updates": sum(c["counts"]["density"] for c in chains)
            / sum(c["iterations"] for c in chains)}


def pool(estimates):
    """Return the mean of independent Measured: the s.e. is the larger of their own and of scatter.

    A few of them scatter little by luck; and their own errors leave out what none of them has seen.
    """
    own = average(estimates)
    apart = mean([each.value for each in estimates]).se
    return Measured(own.value, max(own.se, apart) if len(estimates) > 1 else own.se)


def usual(found):
    """Return the log of the median of the windows' times, of what `combine` returned, Measured."""
    logs = np.log(found["windows"])
    # of a median of normal numbers: sd (pi / 2n)^(1/2)
    se = logs.std(ddof=1) * np.sqrt(np.pi / (2 * logs.size)) if logs.size > 1 else np.nan
    return Measured(float(np.median(logs)), float(se))


def share_of_hits(chain):
    """Return which part of the energies of pi that were needed was there already."""
    hits, density = (chain["counts"][key] for key in ("cache_hits", "density"))
    return hits / (hits + density)


def cost(chains, method, unit, timed, name):
    """Return the cost of an iteration in evaluations of pi: the mean over chains.

    timed : what chains.clock returned      name : the row of it with the same approximation
    """
    layers, prices = timed["layers"][name] if method != STANDARD else (), costs(timed)
    return float(np.mean([evaluations(c, method, unit, prices, layers) for c in chains]))


def clocks(experiment, rows, timed, n):
    """Time single evaluations; return {number: what chains.clock says of it}.

    rows : {number: rows of chains.clock}      timed : rounds, iterations
    """
    rounds, iterations = timed
    return dict(zip(rows, one_by_one(experiment, clock, [dict(
        number=number, index=0, rows=each, rounds=rounds, iterations=iterations, n=n)
        for number, each in rows.items()], "timings", warm), strict=True))


def warm():
    """Compile everything in this process, before others start."""
    for method in (STANDARD, *ROWS[1].m):
        long_chain(1, 0, method, 0, 1, n=20)
