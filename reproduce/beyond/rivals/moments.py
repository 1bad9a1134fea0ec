"""Means and standard deviations by several chains together: what samplers must agree on.

The rule of Vehtari et al. (2021) says which chains may be compared: see reliability, is_believed.
Standard errors are those of effective sample sizes within chains (pool), however these scatter.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from algorithms.ess import initial_sequence
from reproduce.harness.claims import Measured
from reproduce.harness.claims import mean as mean_of
from sampling.summary import LEAST_ESS, MOST_RHAT, ess_bulk, ess_tail, rhat


def moments(*blocks):
    """Return what is kept of a chain, lists with a number a quantity.

    blocks : (n, k) float64 each   draws; the hyperparameters come first, if there are any
    mean, variance; "mean se", "variance se": their standard errors, by the effective sample sizes;
    "spread": the variance of (x - mean)^2
    """
    x = np.concatenate(blocks, axis=1)
    squares = (x - x.mean(axis=0)) ** 2
    ess, ess_squares = initial_sequence(x).ess, initial_sequence(squares).ess
    return {"n": len(x), "mean": x.mean(axis=0).tolist(), "variance": x.var(axis=0).tolist(),
            "mean se": (x.std(axis=0) / np.sqrt(ess)).tolist(),
            "variance se": (squares.std(axis=0) / np.sqrt(ess_squares)).tolist(),
            "spread": squares.var(axis=0).tolist()}


class Together(NamedTuple):
    """Several chains together: arrays with a number a quantity."""

    mean: np.ndarray
    mean_se: np.ndarray
    sd: np.ndarray
    sd_se: np.ndarray
    ess: np.ndarray  # effective sample size of all draws, for the mean
    ess_squares: np.ndarray  # for the variance
    n: int  # draws
    chains: int
    gradients: float
    divergences: int
    deepest: float  # NUTS: the share of trajectories that were cut
    rate: float  # acceptance rate


def reliability(x):
    """Return the worst R-hat and the least effective sample sizes of draws (chains, n, d)."""
    columns = np.moveaxis(x, 2, 0)
    return {"rhat": float(np.max([rhat(each) for each in columns])),
            "bulk": float(np.min([ess_bulk(each) for each in columns])),
            "tail": float(np.min([ess_tail(each) for each in columns]))}


def is_believed(found):
    """Tell whether chains may be compared, by their "chains" and reliability: the rule of 2021."""
    least = LEAST_ESS * len(found["chains"])  # nan, of what never moved, is neither more nor less
    return found["rhat"] <= MOST_RHAT and found["bulk"] >= least and found["tail"] >= least


def pool(chains):
    """Put chains together; their errors are those within chains, however the chains scatter."""
    def of(name):
        return np.array([chain[name] for chain in chains])

    mean = of("mean").mean(axis=0)
    variance = (of("variance") + (of("mean") - mean) ** 2).mean(axis=0)
    mean_se, variance_se = (np.sqrt((of(name) ** 2).sum(axis=0)) / len(chains)
                            for name in ("mean se", "variance se"))
    return Together(mean, mean_se, np.sqrt(variance), variance_se / (2 * np.sqrt(variance)),
                    variance / mean_se**2, of("spread").mean(axis=0) / variance_se**2,
                    int(of("n").sum()), len(chains), float(of("gradients").sum()),
                    int(of("divergences").sum()), float("nan"), float(of("rate").mean()))


def shorten(found, digits=8):
    """Round lists of numbers; a moment's standard error is in its second or third digit."""
    return {key: [float(f"{x:.{digits}g}") for x in value] if isinstance(value, list) else value
            for key, value in found.items()}


def row_of(found, seconds=(1.0, 1.0)):
    """Put together what is known of a row: its chains, whether they are believed, and their costs.

    found   : dict              of a replicate: "chains", and their reliability
    seconds : (rounds,) float   CPU seconds of what the chains count as "gradients", if timed
    Efficiencies are logs; those of a row that is not believed have an error of nan.
    """
    chains, per = found["chains"], mean_of(seconds)
    efficiency = log_efficiency(chains)
    if not is_believed(found):
        efficiency = Measured(efficiency.value, np.nan)
    half = len(chains) // 2
    return {"together": pool(chains), "believed": is_believed(found),
            **{key: found[key] for key in ("rhat", "bulk", "tail")},
            "halves": distance(pool(chains[:half]), pool(chains[half:])),
            "e_bfmi": min(each["e_bfmi"] for each in chains), "per gradient": efficiency,
            "per second": efficiency - Measured(np.log(per.value), per.se / per.value)}


def distance_of_rows(a, b):
    """Return how far two rows are apart, as one |z|; nothing is known if one is not believed."""
    if not (a["believed"] and b["believed"]):
        return Measured(np.inf, np.nan)
    return Measured(as_one(distance(a["together"], b["together"]),
                           2 * a["together"].mean.size), 0.0)


def halves_apart(rows):
    """Return how far two chains of a row are from the other two, for all rows as one |z|."""
    found = [row for row in rows if row["believed"]]
    if not found:
        return Measured(np.inf, np.nan)
    numbers = sum(2 * row["together"].mean.size for row in found)
    return Measured(as_one(max(row["halves"] for row in found), numbers), 0.0)


def worst(found):
    """Return the least effective sample size, over means and variances of all quantities."""
    least = np.minimum(found.ess, found.ess_squares)
    return 0.0 if np.isnan(least).any() else float(least.min())


def imprecision(found):
    """Return the largest standard error of a mean or a deviation, in standard deviations."""
    return float(np.max([found.mean_se / found.sd, found.sd_se / found.sd]))


def distance(a, b):
    """Return the largest |z| of the differences of means and of standard deviations.

    It is nan where a quantity of one never moved.
    """
    return float(np.max([np.abs(a.mean - b.mean) / np.hypot(a.mean_se, b.mean_se),
                         np.abs(a.sd - b.sd) / np.hypot(a.sd_se, b.sd_se)]))


def log_efficiency(chains):
    """Return log(the worst ESS per gradient) of several chains, a Measured.

    Its standard error is that of the jackknife over chains, whose worst quantity may change.
    """
    def of(which):
        found = pool(which)
        return np.log(max(worst(found), np.finfo(float).tiny) / found.gradients)

    k = len(chains)
    left_out = np.array([of(chains[:j] + chains[j + 1:]) for j in range(k)])
    return Measured(float(of(chains)), float(np.sqrt((k - 1) * left_out.var())))


def scale_log(m, scale):
    """Return `scale` times a number whose log is m, a Measured."""
    value = float(scale * np.exp(m.value))
    return Measured(value, value * m.se)


def as_one(z, k):
    """Return the |z| of one normal that is as improbable as that the largest of k is z or more."""
    p = 2 * ndtr(-abs(z))
    # 1 - (1 - p)^k, without cancellation however small p is
    tail = -np.expm1(k * np.log1p(-p)) if p < 1 else 1.0
    return float(-ndtri(tail / 2)) if tail > 0 else np.inf
