"""What is counted of the mirrors of Wang and Neal (2013)."""

from functools import cache, partial

import numpy as np

from algorithms.slice_sampling import Slice, slice_update
from algorithms.wang_discretizing_chain import whole_chain_step
from algorithms.wang_discretizing_chain_fast import State, discretizing_chain_step
from algorithms.wang_tempered_transitions import tempered_transitions_step
from algorithms.wang_tempered_transitions_fast import State as TemperedState
from algorithms.wang_tempered_transitions_fast import near_all, stack
from algorithms.wang_tempered_transitions_fast import tempered_transitions_step as fast_step
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_regression import U as regression_U
from models.gp_subset import GPSubset
from models.interface import U, prepare
from models.mixture import gaussian_mixture
from reproduce.harness.counting import Case, Count

UPDATES = 300  # of which the numbers of evaluations are means
START = np.array([0.4, -0.6])
MOVE = Slice(np.full(2, 1.0), 10, np.array([0]), False)  # R updates one variable


@cache
def densities():
    """Return pi, a mixture of two normal distributions, and two approximations of it."""
    pi = gaussian_mixture([0.6, 0.4], [[0.0, 0.0], [1.6, 1.2]],
                          [[[1.0, 0.7], [0.7, 1.0]], [[0.6, -0.3], [-0.3, 0.5]]])
    near = gaussian_mixture([1.0], [[0.6, 0.4]], [[[1.4, 0.6], [0.6, 1.2]]])
    far = gaussian_mixture([1.0], [[0.5, 0.5]], [[[2.0, 0.3], [0.3, 2.0]]])
    return pi, near, far


def asked_density(*names):
    """Tell which of the densities is asked; a cache of theirs has no other evaluations than U."""
    def kinds(name, of):
        where = [each for each, density in zip(names, densities(), strict=False) if density is of]
        return tuple(where) if name == "U" else ()

    return kinds


def slices():
    """Update one variable of pi, time after time."""
    def run():
        cache, tally, rng = prepare(START, densities()[0]), np.zeros(4, np.int64), generator()
        for _ in range(UPDATES):
            cache = slice_update(cache, 0, densities()[0], 1.0, 10, tally, rng)

    return run


def whole_mappings(r, s, K):
    """Make mappings to chains of K steps, each with r moves of the mark by s steps."""
    pi, star, _ = densities()

    def run():
        x, rng = START, generator()
        for _ in range(UPDATES):
            x = whole_chain_step(x, pi, star, MOVE, r, s, K, rng)

    return lambda: run


def mappings(r, s):
    """Make mappings to infinite chains, each with r moves of the mark by s steps."""
    pi, star, _ = densities()
    near = prepare(START, pi)
    first = State(START, near.U, near, prepare(START, star))

    def run():
        here, tally, star_tally, rng = first, np.zeros(4, int), np.zeros(4, int), generator()
        for _ in range(UPDATES):
            here, _ = discretizing_chain_step(here, pi, star, MOVE, r, s, tally, star_tally, rng)

    return lambda: run


def temper():
    """Make tempered transitions over two layers."""
    def run():
        x, rng = START, generator()
        for _ in range(UPDATES):
            x = tempered_transitions_step(x, densities(), MOVE, rng)

    return run


def tempered_with_caches():
    """Make them as the twin does."""
    pi, *layers = densities()
    near = prepare(START, pi)
    first = TemperedState(START, near.U, near, near_all(START, stack(layers)))

    def run():
        here, tally, rng = first, np.zeros((3, 4), int), generator()
        for _ in range(UPDATES):
            here, _ = fast_step(here, pi, stack(layers), MOVE, tally, rng)

    return run


def generator():
    """Return the generator with which all runs begin."""
    return np.random.default_rng(2)


@cache
def regression(n, p):
    """Return the posterior of n cases with p covariates, a length for each."""
    rng = np.random.default_rng(n)
    return GPRegression.from_data(rng.random((n, p)), rng.standard_normal(n), "ard")


def posterior_energy(n, p):
    """Evaluate pi."""
    return partial(regression_U, np.zeros(2 + p), regression(n, p))


def subset(m, p):
    """Evaluate pi* by the subset of data, m of 6 cases."""
    return partial(U, np.zeros(2 + p), GPSubset.from_model(regression(6, p), np.arange(m)))


def nystrom(m, n, p):
    """Evaluate pi* by Nystrom's approximation with m of n columns."""
    return partial(U, np.zeros(2 + p), GPNystrom.from_model(regression(n, p), np.arange(m)))


def many_updates(name, start, names, mirrors=()):
    """A Case of many updates."""
    return Case(name, start, {}, mirrors, asked_density(*names), times=UPDATES)


SIZES = (1, 2, 3, 4, 5)  # a count is of degree 3 in the number of cases
COVARIATES = (1, 2, 3)  # and linear in theirs
COUNTS = [
    Count(whole_chain_step, "mapping, R a slice update of one variable", (
        many_updates("mirror, r = s = 1, K = 3", whole_mappings(1, 1, 3), ("pi", "pi*"),
             (whole_chain_step,)),
        many_updates("twin, r = s = 1", mappings(1, 1), ("pi", "pi*")),
        many_updates("twin, r = 5, s = 1", mappings(5, 1), ("pi", "pi*"))),
        "for r = s = 1 pi needs to be evaluated once, as counted, and pi* several times (Section"
        " 6.2)."),
    Count(whole_chain_step, "evaluation, for Gaussian-process regression", (
        Case("pi", posterior_energy, {"n": SIZES, "p": COVARIATES}),
        Case("pi*, subset of data", subset, {"m": SIZES, "p": COVARIATES}),
        Case("pi*, Nystrom", nystrom, {"m": SIZES, "n": (5, 6, 7), "p": COVARIATES})),
        "time proportional to n^3; to p m^2 and m^3; and to p m n and m^3 (Section 5, tables). The"
        " last leaves out the 2 m^2 n of K^(n,m) R^-1 and B'B, the largest term once m > 2 p."),
    Count(tempered_transitions_step, "tempered transition over two layers", (
        many_updates("mirror", temper, ("pi", "pi_1", "pi_2"), (tempered_transitions_step,)),
        many_updates("twin", tempered_with_caches, ("pi", "pi_1", "pi_2"))),
        "gives none."),
    Count(slice_update, "update of one variable", (
        many_updates("mirror", slices, ("pi",), (slice_update,)),),
        "a single update will usually evaluate pi more than once (Section 6.2)."),
]
