"""Mapping to an infinite discretizing chain.  Read algorithms/wang_discretizing_chain.py first.

This is "the actual implementation" of its Section 3, and what the scripts run.  What differs:

1. A step of the chain is simulated when the mark is to move to it or beyond it, and not before.
   K is infinite: step 0 is the state x, steps before it are numbered -1, -2, ..., and no k' is out
   of the chain.  So it is not the mirror's transition draw by draw, but its limit: if P_K is the
   mirror's transition matrix, that of this file is K P_K - (K - 1) P_(K-1) for K > 2 r s.
   tests/test_proofs.py computes all three exactly, on small problems.
2. pi is evaluated once for each state that the mark was to move to: it may come back, and what is
   known is not asked again.  With r moves that is at most r evaluations; the mirror takes 2 r.
3. The ends of the chain, and the state of pi, carry what is known of them where one variable
   changes alone (prepare, trial and commit of models/interface.py), and what is evaluated is
   counted.
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
    commit_all,
    energy_at,
    follow,
    forward,
    start,
    widths,
)
from algorithms.wang_discretizing_chain import check_layer, plan
from models import validate
from models.interface import U, log_likelihood_of, prepare
from models.jit import check_interrupt, njit, public

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
    log_likelihood: np.ndarray  # (n,) -U of the samples; of a GP regression log p(y | q)
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
def state_of_step(k, chain, here, front, back, model, approximation):
    """Return the State of step k; front and back are the approximation's caches at the ends."""
    if k == 0:
        return here
    if k == chain.ends[1]:
        star = front
    elif k == chain.ends[0]:
        star = back
    else:
        star = commit_all(chain.q[k], chain.U_star[k], here.star, approximation)
    return State(star.q, chain.U[k], follow(star.q, chain.U[k], here.near, model), star)


@njit
def discretizing_chain_step(here, model, approximation, move, r, s, tally, star_tally, rng):
    """Map to an infinite discretizing chain, move the mark r times, and map back.

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
    chain = realization(here, r, s)
    k, first, last, back, front = 0, 0, 0, here.star, here.star
    for i in range(r):
        k_ = k + s if rng.random() < 0.5 else k - s
        # the chain, as far as it ends before step k', or starts after it
        while last < k_:
            check_interrupt()
            front, last = forward(front, approximation, move, star_tally, rng), last + 1
            chain.q[last], chain.U_star[last] = front.q, front.U
        while first > k_:
            check_interrupt()
            back, first = backward(back, approximation, move, star_tally, rng), first - 1
            chain.q[first], chain.U_star[first] = back.q, back.U
        # the energy there, unless the mark has been there before
        chain.cached[i] = chain.known[k_]
        if not chain.known[k_]:
            chain.U[k_] = energy_at(chain.q[k_], here.near, model, tally)
            chain.known[k_] = True
        # an energy that is not finite is rejected, and counted in `counts.not_finite`
        error = chain.U[k_] - chain.U_star[k_] - (chain.U[k] - chain.U_star[k])
        chain.accepted[i] = rng.random() < np.exp(-error) and np.isfinite(error)
        k = k_ if chain.accepted[i] else k
        chain.proposed[i], chain.steps[i] = k_, k
    chain.ends[:] = first, last
    return state_of_step(k, chain, here, front, back, model, approximation), chain


# Public


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
        raise ValueError(f"marks must be True or False, not {validate.shown(marks)}")
    variables, at_random = plan(unit, x0.size)
    return (x0, model, approximation, w, validate.count("n", n), validate.generator("rng", rng), r,
            s, variables, at_random, max_widths, bool(marks))


@public(check_discretizing)
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
    r, s          : int >= 1           in a mapping the marked state moves r times, each time by s
                                       steps of the chain R; default 1 and 1
    unit          : str                what an iteration is.  "variable" (the default): d mappings,
                                       R the slice update of one variable in each.  "sweep": one
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
