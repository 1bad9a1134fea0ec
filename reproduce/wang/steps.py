"""Runs of the mirrors of Wang and Neal (2013) on two variables, for their page."""

from functools import cache

import numpy as np

from algorithms.discretizing_chain import State, discretizing_chain_step
from algorithms.slice_sampling import Slice, slice_update
from harness.recording import Picture, Run, contours
from models.interface import U, prepare
from models.mixture import gaussian_mixture

START = np.array([0.4, -0.6])
MOVE = Slice(np.full(2, 1.5), 10, np.array([0, 1]), False)
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
    """Make one mapping; return the next state, where the mark was, and where pi was known."""
    near = prepare(START, model())
    here = State(START, near.U, near, prepare(START, approximation()))
    there, chain = mirror(here, model(), approximation(), MOVE, 5, 1, np.zeros(4, np.int64),
                          np.zeros(4, np.int64), np.random.default_rng(2))
    return there.q, there.U, chain.steps, chain.accepted, chain.cached


def one_update(mirror):
    """Update one variable."""
    there = mirror(prepare(START, approximation()), 0, approximation(), 0.8, 10,
                   np.zeros(4, np.int64), np.random.default_rng(3))
    return there.q, there.U


def point(name, here):
    """Return the mark, where it may move, and of each step k, its state, and U - U* if known."""
    chain = here["chain"]
    found = [here["k"], here.get("k_", here["k"])]
    for k in range(here["first"], here["last"] + 1):
        known = bool(chain.known[k])
        found += [k, *chain.q[k], chain.U[k] - chain.U_star[k] if known else "nan"]
    return found


RUNS = [
    Run("discretizing_chain.discretizing_chain_step", "One mapping with five moves of the mark"
        " (r = 5, s = 1); pi is a mixture of two normal distributions, pi* one of them, and R a"
        " sweep of slice updates.", discretizing_chain_step, (slice_update,), mapping,
        Picture("chain", tuple(("discretizing_chain_step", f"L{k}") for k in (1, 3, 4, 5, 6, 7)),
                point, ("x_1", "x_2", "U - U*, by step"),
                lambda: contours(lambda x: U(x, model()), BOX, LEVELS))),
    Run("slice_sampling.slice_update", "One update of the first of two variables.", slice_update,
        (), one_update),
]
