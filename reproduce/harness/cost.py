"""What a replicate costs: operations of its leading term, against the seconds that it took.

A model is a function of a task, {function: operations of its arguments}.  One rate, in operations
a second, is fitted to what is stored of each function and method: products of matrices, passes over
data and loops over numbers have rates of their own.  What the model then foretells of a replicate
is off by as much as the leading term leaves out.
"""

from typing import NamedTuple

import numpy as np

from harness.replicates import TIMES, to_json

MIDDLE = (10, 90)  # percentiles between which most of the ratios are


class Fit(NamedTuple):
    """The replicates of one script, and what its model says of them."""

    replicates: int  # clocks apart
    seconds: float  # of all of them
    longest: float  # seconds
    bytes: float  # of a replicate: its file
    modelled: float  # the share of the seconds of which there is a model
    rates: dict  # (function, method) -> operations a second
    ratios: np.ndarray  # predicted / measured seconds, of what is modelled


def fitted(model, records):
    """Fit the rates of a script's model, {function: operations}, to its stored records."""
    records = [r for r in records if not TIMES & r["result"].keys()]
    seconds = np.array([r["seconds"] for r in records])
    rates, ratios, modelled = {}, [], 0.0
    for kind in sorted({kind_of(r) for r in records if r["function"] in model}):
        mine = [r for r in records if kind_of(r) == kind]
        took = np.array([r["seconds"] for r in mine])
        each = np.array([model[kind[0]](**r["task"]) for r in mine], float)
        # the mean of logs: a replicate that is off by a factor counts the same if it is short
        rates[kind] = float(np.exp(np.mean(np.log(each / took))))
        ratios.append(each / rates[kind] / took)
        modelled += took.sum()
    return Fit(len(records), float(seconds.sum()), float(seconds.max()),
               float(np.mean([len(to_json(r)) for r in records])), modelled / seconds.sum(), rates,
               np.concatenate(ratios) if ratios else np.empty(0))


def kind_of(record):
    """Return the function and the method of a record."""
    return record["function"], record["task"].get("method", "")


def exponent(sizes, seconds):
    """Return b of seconds = a size^b, by least squares in logs."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def reached(sizes, seconds, N):
    """Return the seconds at size N: a power law between two sizes, and N^3 beyond the largest.

    sizes : ascending; N must not be below them, or a ValueError is raised.
    """
    if N < sizes[0]:
        raise ValueError(f"N must be at least the least size, {sizes[0]}, but is {N}")
    if N > sizes[-1]:
        return seconds[-1] * (N / sizes[-1]) ** 3
    return float(np.exp(np.interp(np.log(N), np.log(sizes), np.log(seconds))))


def predicted(model, fit, record):
    """Return the seconds that a model, with its Fit, foretells of a record."""
    return float(model[record["function"]](**record["task"]) / fit.rates[kind_of(record)])


def longest_first(replicates, seconds, longest, cores):
    """Return by when so many replicates are done, at most, and `longest` if each has its own core.

    seconds : their mean.  Whoever is last began when all others were busy (Graham 1969).
    """
    if replicates <= cores:
        return longest
    return replicates * seconds / cores + longest * (1 - 1 / cores)


def spoken(seconds):
    """Say how long so many seconds are, to two digits."""
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{rounded(seconds / size)} {unit}"
    return f"{rounded(seconds)} s"


def amount(size):
    """Say how much so many bytes are, to two digits."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{rounded(size)} {unit}"
        size /= 1000
    return f"{rounded(size)} TB"


def rounded(x):
    """Format a positive number to two digits."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.2g}"
