"""Runs of the mirrors of Wang and Neal (2013) on two variables, for their page."""

from functools import cache

import numpy as np

from algorithms.slice_sampling import Slice, slice_update
from algorithms.wang_discretizing_chain import whole_chain_step
from models.interface import U, prepare
from models.mixture import gaussian_mixture
from reproduce.harness.recording import Picture, Run, contours

START = np.array([0.4, -0.6])
MOVE = Slice(np.full(2, 1.5), 10, np.array([0, 1]), False)
SEED = 19  # of a mapping with moves that are accepted and one that is rejected
BOX, LEVELS = (-2.5, 3.5, -3.0, 3.0), (0.5, 1.5, 3.0)


@cache
def model():
    """Return pi: two components."""
    return gaussian_mixture([0.6, 0.4], [[0.0, 0.0], [1.6, 1.2]],
                            [[[1.0, 0.7], [0.7, 1.0]], [[0.6, -0.3], [-0.3, 0.5]]])


@cache
def approximation():
    """Return pi*: one normal distribution."""
    return gaussian_mixture([1.0], [[0.6, 0.4]], [[[1.4, 0.6], [0.6, 1.2]]])


def mapping(mirror):
    """Make one mapping; return the next state."""
    return mirror(START, model(), approximation(), MOVE, 5, 1, 7, np.random.default_rng(SEED))


def one_update(mirror):
    """Update one variable."""
    there = mirror(prepare(START, approximation()), 0, approximation(), 0.8, 10,
                   np.zeros(4, np.int64), np.random.default_rng(3))
    return there.q, there.U


def point(name, here):
    """Return the mark, where it may move, and of each step k simulated, its state and U - U*."""
    k = here.get("k", here["first"])
    found = [k, here.get("k_", k)]
    for j, q in enumerate(here["states"]):
        if np.isfinite(q).all():
            found += [j, *q, U(q, model()) - U(q, approximation())]
    return found


RUNS = [
    Run("wang_discretizing_chain.whole_chain_step",
        "One mapping to a chain of seven steps with five"
        " moves of the mark (K = 7, r = 5, s = 1); pi is a mixture of two normal distributions, pi*"
        " a single one, and R a sweep of slice updates.", whole_chain_step, (), mapping,
        Picture("chain", tuple(("whole_chain_step", f"L{k}") for k in (2, 3, 4, 6, 7)),
                point, ("x_1", "x_2", "U - U*, by step"),
                lambda: contours(lambda x: U(x, model()), BOX, LEVELS))),
    Run("slice_sampling.slice_update", "One update of the first of two variables.", slice_update,
        (), one_update),
]
