"""What runs of a method amount to: error, whether they are to be trusted, what accuracy costs."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm, t

from algorithms.ais import combine
from reproduce.harness.claims import Measured, mean

TOLD = 0.1  # nats: costs are CPU seconds until log Z is known to that
K_MAX, SPREAD, OWN = 0.7, 1.0, 0.3  # beyond these no average is to be trusted: see `trusted`
SURE = 1e-3  # nats: importance sampling that says so has weights that are all but alike


class Row(NamedTuple):
    """The runs of a method of one size on one problem."""

    runs: int
    log_Z: Measured  # of all runs
    error: Measured  # root mean square of a run's
    spread: float  # standard deviation of a run's log Z
    own: Measured  # the mean of the standard errors that the runs say they have; nan if they do not
    k: float  # of importance sampling, mean over runs
    evaluations: float  # of log L, for each update of elliptical slice sampling
    seconds: Measured  # of a run, the set-up left out
    z: float  # log Z less the reference, as a normal deviate


def average(method, log_Z):
    """Return log Z of all runs: the log of their mean, or for the bridge the mean of their logs."""
    if method == "bridge":
        return mean(log_Z)
    return Measured(*combine(log_Z)[:2])


def put_together(method, found, truth, seconds):
    """Return the Row of some runs.

    method  : str        as in rivals.py
    found   : dict       of lists, (R,) each, R >= 2: "log_Z", "se", "k", "evaluations"
    truth   : Measured   the reference, of other runs
    seconds : Measured   of a run

    The mean square error of a run is its variance and the square of its bias, of which that part is
    taken off that the two errors of the difference explain.
    """
    values = np.array(found["log_Z"])
    R, log_Z, variance = values.size, average(method, values), values.var(ddof=1)
    noise = variance / R + truth.se**2
    error = np.sqrt(variance + max((values.mean() - truth.value) ** 2 - noise, 0.0))
    return Row(R, log_Z, Measured(error, error / np.sqrt(2 * (R - 1))), float(np.sqrt(variance)),
               mean(found["se"]), float(np.mean(found["k"])),
               float(np.mean(found["evaluations"])), seconds, deviate(log_Z - truth, R - 1))


def deviate(difference, freedom):
    """Return a difference over its error, of so many degrees of freedom, as a normal deviate."""
    tail = t.sf(abs(difference.value) / difference.se, freedom)
    return float(np.sign(difference.value) * norm.isf(tail))


def is_trusted(method, row):
    """Tell whether an average over runs of this kind is to be trusted, by what they show.

    A mean of weights of which the logs spread by more than 1 is that of a few; above k = .7 it
    does not get better with the number of draws, unless the weights are so alike that their tail,
    of which k is the shape whatever its share, does not matter; an error of .3 of a bridge is a
    poor one itself.
    """
    if method == "bridge":
        return row.own.value < OWN
    if method == "IS from q":
        return row.k < K_MAX or row.own.value < SURE
    return row.spread < SPREAD


def cost(row):
    """Return the CPU seconds of so many runs as know log Z to TOLD, the set-up left out."""
    mean_square = Measured(row.error.value**2, 2 * row.error.value * row.error.se)
    return row.seconds * mean_square / TOLD**2


def rows_of(rows, key, method):
    """Return {size: Row} of a method on a problem, of {(problem, method, size): Row}."""
    return {place[2]: row for place, row in rows.items() if place[:2] == (key, method)}


def best(rows, key, method):
    """Return the least cost over the sizes that are to be trusted and agree, None without any."""
    usable = [cost(row) for row in rows_of(rows, key, method).values()
              if is_trusted(method, row) and abs(row.z) < 4]
    return min(usable, key=lambda found: found.value, default=None)
