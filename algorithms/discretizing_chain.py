"""Mapping to a discretizing chain: exact sampling that mostly asks a fast approximation.

Paper       C. Wang and R. M. Neal (2013), "MCMC Methods for Gaussian Process Models Using Fast
            Approximations for the Likelihood", arXiv 1305.2235, Section 3.
Mirror      discretizing_chain_step, Section 3 as it is implemented: a step of the chain is
            simulated when it is needed, and K is infinite.  whole_chain_step, Section 3 as it is
            defined: all K steps are simulated first.  The numbers of the sentences are ours.

R leaves pi* invariant, the density of the approximation; a `move` says what R and its reverse R~
are (algorithms/slice_sampling.py).  With r = s = 1 a mapping is a Metropolis step whose proposal is
R or R~ with equal probabilities, and whose ratio is that of pi / pi*.

Departures
----------
Equation (11)
    theirs  R(x_{k'+1} | x')
    ours    R(x_{k'+1} | x_k')
    why     x' is x_k'
    test    a label
Section 6.2
    theirs  R updates the parameters in sequence; which steps make an iteration is not said
    ours    `unit` says it: one mapping for each variable, or one with a sweep for R and, as its
            reverse R~ of Section 3, the sweep in the opposite sequence
    why     a sweep is not its own reverse: with the same sequence pi would not be left invariant
    test    test_proofs.py::test_the_naive_reverse_is_biased

Notation
--------
paper        here                  shape        meaning
pi, pi*      model, approximation               exp(-U) of each
x            here.q                (d,)         state
R, R~        forward, backward                  a step and its reverse, of pi*
y            Realization                        a chain, of which one step is marked
k, k'        k, k_                 ()           the marked step, and where the mark may move
x_k          q[k]                  (d,)         state at step k; k < 0 is before the start
r            r                     ()           moves of the mark in one mapping
s            s                     ()           steps by which the mark moves
K            K                     ()           length of the chain
"""

from typing import NamedTuple

import numpy as np

from algorithms.slice_sampling import (
    EVALUATIONS,
    NOT_FINITE,
    SHRINKAGES,
    WIDTHS,
    Counts,
    Slice,
    backward,
    committed,
    energy_at,
    followed,
    forward,
    start,
    widths,
)
from models import validate
from models.interface import U, log_likelihood_of, prepare
from models.jit import check_interrupt, entry, njit

MOST_STEPS = 10**6  # r times s: what a mapping has room for


class Marks(NamedTuple):
    """All marked states of all mappings: valid draws; n = 0 where they were not wanted."""

    samples: np.ndarray  # (n, mappings, r, d)
    energies: np.ndarray  # (n, mappings, r) U of the model
    steps: np.ndarray  # (n, mappings, r) int: which step of the chain; the start is step 0


class MarkedChain(NamedTuple):
    """The record of n iterations."""

    samples: np.ndarray  # (n, d)
    energies: np.ndarray  # (n,) U of the samples
    log_likelihood: np.ndarray  # (n,) of the samples: -U without the prior
    accepted: np.ndarray  # (n, mappings, r) bool: moves of the mark
    counts: Counts
    marks: Marks


class State(NamedTuple):
    """Where the chain is, and what is known of it."""

    q: np.ndarray  # (d,)
    U: float  # of the model
    near: NamedTuple  # the model's cache of a state near q, or of q
    star: NamedTuple  # the approximation's cache of q


class Realization(NamedTuple):
    """The discretizing chain, as far as it was simulated; step k is in row k modulo 2 r s + 1."""

    q: np.ndarray  # (2 r s + 1, d)
    U: np.ndarray  # (2 r s + 1,) of the model, where it was evaluated
    U_star: np.ndarray  # (2 r s + 1,) of the approximation
    known: np.ndarray  # (2 r s + 1,) bool: the model's U was evaluated
    ends: np.ndarray  # (2,) int: the first step simulated, <= 0, and the last, >= 0
    steps: np.ndarray  # (r,) int: the marked step after each move of the mark
    proposed: np.ndarray  # (r,) int: where it might have moved
    accepted: np.ndarray  # (r,) bool
    cached: np.ndarray  # (r,) bool: pi was known there


@njit
def realization(here, r, s):
    """Return the Realization with step 0 alone, and room for r moves of s steps."""
    rows = 2 * r * s + 1
    chain = Realization(
        np.empty((rows, here.q.size)), np.empty(rows), np.empty(rows), np.zeros(rows, np.bool_),
        np.zeros(2, np.int64), np.zeros(r, np.int64), np.zeros(r, np.int64),
        np.zeros(r, np.bool_), np.zeros(r, np.bool_))
    chain.q[0], chain.U[0], chain.U_star[0], chain.known[0] = here.q, here.U, here.star.U, True
    return chain


@njit
def at_step(k, chain, here, front, back, model, approximation):
    """Return the State of step k; front and back are the approximation's caches at the ends."""
    if k == 0:
        return here
    if k == chain.ends[1]:
        star = front
    elif k == chain.ends[0]:
        star = back
    else:
        star = committed(chain.q[k], chain.U_star[k], here.star, approximation)
    return State(star.q, chain.U[k], followed(star.q, chain.U[k], here.near, model), star)


@njit
def discretizing_chain_step(here, model, approximation, move, r, s, tally, star_tally, rng):
    """Map to a discretizing chain, move the mark r times, and map back.

    Mirror of Wang and Neal 2013, Section 3, as implemented.

    Parameters
    ----------
    here              : State        where the chain is; not modified
    model             : NamedTuple   pi: any model that implements U
    approximation     : NamedTuple   pi*: another one, of the same variables
    move              : NamedTuple   what R and R~ are: Slice, for instance
    r, s              : int >= 1     moves of the mark, and how far it moves
    tally, star_tally : (4,) int     are added to: evaluations of pi and of pi*, and what R counts
    rng               : Generator    advanced, per move of the mark, by a uniform, what new steps
                                     take, and a uniform

    Returns (state, chain): the next State, and the Realization.
    """
    # 1   x_0 <- x;  the marked step is k <- 0
    chain = realization(here, r, s)
    k, first, last, back, front = 0, 0, 0, here.star, here.star
    # 2   repeat r times
    for i in range(r):
        # 3   k' <- k + s or k - s, with equal probabilities
        k_ = k + s if rng.random() < 0.5 else k - s
        # 4   while the chain ends before step k':  simulate its next step, using R
        while last < k_:
            check_interrupt()
            front, last = forward(front, approximation, move, star_tally, rng), last + 1
            chain.q[last], chain.U_star[last] = front.q, front.U
        # 5   while it starts after step k':  simulate the step before, using R~
        while first > k_:
            check_interrupt()
            back, first = backward(back, approximation, move, star_tally, rng), first - 1
            chain.q[first], chain.U_star[first] = back.q, back.U
        # 6   compute pi(x_k'), if it has not been computed before
        chain.cached[i] = chain.known[k_]
        if not chain.known[k_]:
            chain.U[k_] = energy_at(chain.q[k_], here.near, model, tally)
            chain.known[k_] = True
        # 7   k <- k' with probability min(1, [pi(x_k') / pi*(x_k')] / [pi(x_k) / pi*(x_k)])
        #     theirs  silent about a pi that is infinite or not a number
        #     ours    such a move of the mark is rejected, and counted in `counts.not_finite`
        #     why     a state of energy -inf would be accepted, and never left again
        #     test    test_a_mark_does_not_move_to_an_energy_that_is_not_finite
        error = chain.U[k_] - chain.U_star[k_] - (chain.U[k] - chain.U_star[k])
        chain.accepted[i] = rng.random() < np.exp(-error) and np.isfinite(error)
        k = k_ if chain.accepted[i] else k
        # ours
        chain.proposed[i], chain.steps[i] = k_, k
    chain.ends[:] = first, last
    # 8   x' <- x_k
    return at_step(k, chain, here, front, back, model, approximation), chain


@njit
def whole_chain_step(q, model, approximation, move, r, s, K, rng):
    """Do the same with a chain of K steps, simulated as a whole before the mark moves.

    Mirror of Wang and Neal 2013, Section 3.

    It is the definition, for a proof: nothing is cached or counted.

    q   : (d,) float64   where the chain is; not modified
    K   : int >= 1       length of the chain; a mark does not move out of it
    rng : Generator      advanced by a uniform, what K - 1 steps take, and two uniforms a move

    The other parameters are those of discretizing_chain_step.  Returns x', (d,).
    """
    # 1   choose k uniformly from 0, ..., K - 1
    first = int(K * rng.random())
    # ours
    tally, x = np.zeros(4, np.int64), np.empty((K, q.size))
    # 2   for j = k + 1, ..., K - 1:  simulate x_j from x_(j-1), using R;  x_k = x
    x[first], cache = q, prepare(q, approximation)
    for j in range(first + 1, K):
        check_interrupt()
        cache = forward(cache, approximation, move, tally, rng)
        x[j] = cache.q
    # 3   for j = k - 1, ..., 0:  simulate x_j from x_(j+1), using R~
    cache = prepare(q, approximation)
    for j in range(first - 1, -1, -1):
        check_interrupt()
        cache = backward(cache, approximation, move, tally, rng)
        x[j] = cache.q
    # 4   the marked step is k
    k = first
    # 5   repeat r times
    for _ in range(r):
        # 6   k' <- k + s or k - s, with equal probabilities
        k_ = k + s if rng.random() < 0.5 else k - s
        # 7   k <- k' with probability min(1, [pi(x_k') / pi*(x_k')] / [pi(x_k) / pi*(x_k)])
        if 0 <= k_ < K:
            error = (U(x[k_], model) - U(x[k_], approximation)
                     - (U(x[k], model) - U(x[k], approximation)))
            if rng.random() < np.exp(-error) and np.isfinite(error):
                k = k_
    # 8   x' <- x_k
    #     lines   5 to 8,
    #     theirs  k' = k + s or k - s may be no step of the chain
    #     ours    such a move is rejected
    #     why     with an infinite K there is none; with a finite one the proposal stays symmetric
    #     test    a label
    return x[k]


# Public


def plan(unit, d):
    """Return the variables of each mapping of an iteration, (mappings, any), and at_random."""
    validate.instance("unit", unit, str, "'variable', 'sweep' or 'random'")
    everything = np.arange(d)
    if unit == "variable":
        return everything.reshape(d, 1), False
    if unit == "sweep":
        return everything.reshape(1, d), False
    if unit == "random":
        return np.tile(everything, (d, 1)), True
    raise ValueError(f"unit must be 'variable', 'sweep' or 'random', not {unit!r}")


def check_layer(name, value, x0):
    """Check that an approximation has x0 among the states where its U is finite."""
    validate.fits(name, value, x0)
    try:
        energy = U(x0, value)
    except TypeError:
        raise ValueError(f"{name} must be a model that implements U, not"
                         f" {type(value).__name__}") from None
    if not np.isfinite(energy):
        raise ValueError(f"{name} must have a finite U at x0, but U there is {energy}")


def check_discretizing(x0, model, approximation, w, n, rng, r=1, s=1, unit="variable",
                       max_widths=10, marks=False):
    """Check the arguments of discretizing_chain; `unit` becomes a plan."""
    model = validate.model("model", model, U)
    approximation = validate.model("approximation", approximation, U)
    x0 = start("x0", x0, model)
    check_layer("approximation", approximation, x0)
    w, max_widths = widths(w, max_widths, x0.size)
    r, s = validate.count("r", r), validate.count("s", s)
    if r * s > MOST_STEPS:
        raise ValueError(f"r times s must be at most {MOST_STEPS}, not {r * s}")
    if not isinstance(marks, bool | np.bool_):
        raise ValueError(f"marks must be True or False, not {marks!r}")
    variables, at_random = plan(unit, x0.size)
    return (x0, model, approximation, w, validate.count("n", n), validate.generator("rng", rng), r,
            s, variables, at_random, max_widths, bool(marks))


@entry(check_discretizing)
@njit
def discretizing_chain(x0, model, approximation, w, n, rng, r, s, variables, at_random, max_widths,
                       marks):
    """Run n iterations of mapping to a discretizing chain from x0; return a MarkedChain.

    Parameters
    ----------
    x0            : (d,) float64       where the chain starts; not modified
    model         : NamedTuple         pi: any model that implements U
    approximation : NamedTuple         pi*: another one, of the same variables
    w             : float > 0 or (d,)  width of a step out of the slices, in the variables' units
    n             : int >= 1           iterations
    rng           : Generator          advanced, per mapping, as by discretizing_chain_step
    r, s          : int >= 1           moves of the mark in a mapping, steps in a move; default 1, 1
    unit          : str                what an iteration is.  "variable" (the default): a mapping
                                       for each variable in turn, R its slice update.  "sweep": one
                                       mapping, R the updates of all variables in sequence.
                                       "random": d mappings, R the update of one at random
    max_widths    : int >= 1           a slice's interval has at most so many widths; default 10
    marks         : bool               keep all marked states as well; default False

    Raises ValueError, naming the argument, for anything else.
    Source: Wang and Neal (2013), Section 3; the slices as Section 6.2.
    """
    d, mappings = x0.size, len(variables)
    samples, energies, log_likelihood = np.empty((n, d)), np.empty(n), np.empty(n)
    accepted = np.empty((n, mappings, r), np.bool_)
    kept = n if marks else 0
    record = Marks(np.empty((kept, mappings, r, d)), np.empty((kept, mappings, r)),
                   np.empty((kept, mappings, r), np.int64))
    tally, star_tally, hits = np.zeros(4, np.int64), np.zeros(4, np.int64), 0
    near = prepare(x0, model)
    here = State(x0, near.U, near, prepare(x0, approximation))
    for t in range(n):
        for j in range(mappings):
            check_interrupt()
            move = Slice(w, max_widths, variables[j], at_random)
            here, chain = discretizing_chain_step(here, model, approximation, move, r, s, tally,
                                                  star_tally, rng)
            accepted[t, j] = chain.accepted
            hits += np.sum(chain.cached)
            for i in range(r if marks else 0):
                record.samples[t, j, i] = chain.q[chain.steps[i]]
                record.energies[t, j, i] = chain.U[chain.steps[i]]
                record.steps[t, j, i] = chain.steps[i]
        samples[t], energies[t] = here.q, here.U
        log_likelihood[t] = log_likelihood_of(here.U, here.q, model)
    counts = Counts(1 + tally[EVALUATIONS], np.array([1 + star_tally[EVALUATIONS]]), hits,
                    star_tally[WIDTHS], star_tally[SHRINKAGES],
                    tally[NOT_FINITE] + star_tally[NOT_FINITE])
    return MarkedChain(samples, energies, log_likelihood, accepted, counts, record)
