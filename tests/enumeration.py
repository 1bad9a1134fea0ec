"""A generator that enumerates: the exact transition matrix of a sampler, from its own code.

`outcomes(run)` calls run(rng) for every possible sequence of random events and yields its results
with their probabilities.  The code draws as ever: what it gets in place of numbers are values that
know which numbers they may still be, and that decide when they are compared, multiplied or made
whole.  Compiled code takes no such values: with NUMBA_DISABLE_JIT=1 only.
"""

import math
import pickle
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from algorithms.slice_sampling import backward, forward
from conftest import python
from models.interface import Known, U

ROUNDING = 1e-13  # some thousand products of probabilities, of 1e-16 each


@cache
def proofs():
    """Return what proofs.py writes in a process that compiles nothing."""
    with TemporaryDirectory() as folder:
        script, file = Path(__file__).with_name("proofs.py"), Path(folder, "proofs")
        python(script, file, NUMBA_DISABLE_JIT="1")
        return pickle.loads(file.read_bytes())


class Enumerator:
    """In place of a Generator: follows a list of decisions, and the first one beyond its end."""

    def __init__(self, path):
        self.path, self.at, self.probability = path, 0, 1.0

    def decide(self, probabilities):
        """Return which of several events happens; those of probability 0 never do."""
        possible = [i for i, p in enumerate(probabilities) if p > 0]
        if len(possible) == 1:
            return possible[0]
        if self.at == len(self.path):
            self.path.append([0, len(possible)])
        event = possible[self.path[self.at][0]]
        self.at += 1
        self.probability *= probabilities[event]
        return event

    def random(self):
        return Uniform(self)

    def standard_exponential(self):
        return Exponential(Uniform(self))

    def standard_normal(self, size):
        """Return numbers of -1, 0 and 1: symmetric as normals are, and whole."""
        return np.array([(-1.0, 0.0, 1.0)[self.decide([0.3, 0.4, 0.3])] for _ in range(size)])


def outcomes(run):
    """Yield (result, probability) of run(rng) for every sequence of events."""
    path = []
    while True:
        rng = Enumerator(path)
        yield run(rng), rng.probability
        while path and path[-1][0] == path[-1][1] - 1:
            path.pop()
        if not path:
            return
        path[-1][0] += 1


class Uniform:
    """A number between 0 and 1 that is settled as far as comparisons ask for it."""

    __array_ufunc__ = None

    def __init__(self, rng):
        self.rng, self.low, self.high = rng, 0.0, 1.0

    def __lt__(self, threshold):
        threshold = float(threshold)
        if not threshold > self.low:  # nan too
            return False
        if threshold >= self.high:
            return True
        below = (threshold - self.low) / (self.high - self.low)
        if self.rng.decide([below, 1 - below]) == 0:
            self.high = threshold
            return True
        self.low = threshold
        return False

    def __ge__(self, threshold):
        return not self < threshold

    def __mul__(self, length):
        return Part(self.rng, length)

    __rmul__ = __mul__


class Part:
    """A part of a length: on a line of whole numbers the states, of halves the ends of intervals.

    A length less one of its parts, x - part, is the end of an interval around the state x; a point
    of the interval from `left` on, left + part, is a state inside it; int(part) is a whole number.
    All of these have equal probabilities.
    """

    __array_ufunc__ = None

    def __init__(self, rng, length):
        self.rng, self.length = rng, length

    def among(self, number):
        return self.rng.decide([1 / number] * number)

    def __rsub__(self, x):
        return x - 0.5 - self.among(round(self.length))

    def __radd__(self, left):
        first, last = math.floor(left) + 1, math.ceil(left + self.length) - 1
        return float(first + self.among(last - first + 1))

    def __int__(self):
        return self.among(round(self.length))


class Exponential:
    """A standard exponential e; energy + e is above other where exp(-e) < exp(energy - other)."""

    __array_ufunc__ = None

    def __init__(self, uniform, energy=0.0):
        self.uniform, self.energy = uniform, energy

    def __radd__(self, energy):
        return Exponential(self.uniform, energy)

    def __gt__(self, other):
        return self.uniform < math.exp(min(self.energy - other, 700.0))


class Lattice(NamedTuple):
    """A density on whole numbers, or pairs of them; zero elsewhere."""

    energies: np.ndarray  # (m,) or (m, m), all finite
    layer: int  # which of the matrices of a Table are its own


@U.register(Lattice)
def lattice_U(q, model):
    inside = all(0 <= x < size for x, size in zip(q, model.energies.shape, strict=True))
    return float(model.energies[tuple(int(x) for x in q)]) if inside else math.inf


class Table(NamedTuple):
    """A step as transition probabilities P[i, x, x'] on each layer i, and its reverse."""

    P: np.ndarray  # (layers, m, m)
    reverse: np.ndarray  # (layers, m, m)


@forward.register(Table)
def table_forward(cache, model, move, tally, rng):
    row, u = move.P[model.layer, int(cache.q[0])], rng.random()
    total, last = np.cumsum(row), np.flatnonzero(row)[-1]
    q = np.array([float(next((i for i in range(last) if u < total[i]), last))])
    return Known(q, U(q, model))


@backward.register(Table)
def table_backward(cache, model, move, tally, rng):
    return table_forward(cache, model, Table(move.reverse, move.P), tally, rng)


def matrix(run, shape):
    """Return the transition matrix of run(q, rng) -> q on the states of a Lattice."""
    P = np.zeros((*shape, *shape))
    for here in np.ndindex(*shape):
        for there, probability in outcomes(lambda rng, q=here: run(np.array(q, float), rng)):
            P[(*here, *there.astype(int))] += probability
    return P.reshape(math.prod(shape), -1)


def density(energies):
    p = np.exp(-np.ravel(energies))
    return p / p.sum()


def tested(P, weights):
    """Return the matrix of proposals P that are taken with probability min(1, ratio of weights)."""
    P = P * np.minimum(1, weights[None] / weights[:, None])
    return P + np.diag(1 - P.sum(axis=1))


def updates(energies):
    """Return two updates that exchange neighbours, each reversible for exp(-energies)."""
    near, i = np.zeros((2, energies.size, energies.size)), np.arange(energies.size - 1)
    near[i % 2, i, i + 1] = near[i % 2, i + 1, i] = 0.9
    return [tested(P, np.exp(-energies)) for P in near]


def sweeps(layers):
    """Return the Table whose step is, on each layer, one update after the other."""
    both = [updates(layer.energies) for layer in layers]
    return Table(np.array([a @ b for a, b in both]), np.array([b @ a for a, b in both]))
