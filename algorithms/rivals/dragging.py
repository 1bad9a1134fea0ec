"""Dragging fast variables: a Metropolis step of the slow ones that takes the fast ones along.

In words    It proposes a new value for variables that are slow to change, and on the way there
            moves the fast variables by many cheap steps, from where they fit the old value to where
            they fit the new one.  It is valid because the same way may be gone back, and a
            Metropolis test with the change of energy averaged along it puts right how much less or
            more likely that is.  Use it where some variables are expensive to change, because of a
            factorisation for example, others cheap, and the two depend on each other.
Paper       R. M. Neal (2005), "Taking bigger Metropolis steps by dragging fast variables",
            Technical Report 0502, University of Toronto, arXiv math/0502099.
            R. M. Neal (2003), "Slice sampling", for the updates between (slice_sampling.py).
Mirror      dragging_step, line by line; the numbers of the lines are ours.

A variable is fast if U is cheap where it changes alone: of a cache (models/interface.py) it needs
`trial`, a new value of a slow one `prepare`.  Regression with one length is such a model
(models/gp_spectral.py): a length costs an eigendecomposition, sigma and eta only n operations.  An
iteration is one dragging step, and some sweeps of slice sampling over the fast variables.

With one step there is no dragging: it is a Metropolis step of the slow variables.  With many the
acceptance rate comes near to that of a walk on the slow variables' marginal density.

Notation
--------
paper      here              shape    meaning
x, y       cache.q[fast], cache.q[slow]  (f,), (h,)   fast and slow variables
E(x, y)    cache.U, low.U    ()       energy; at y* it is high.U
n          n_steps           ()       differences of energies that are averaged: n - 1 fast steps
pi_i       low, high         ()       exp(-(1 - i/n) E(x, y) - (i/n) E(x, y*))
"""

from typing import NamedTuple

import numpy as np

from algorithms.rivals.fitted_walk import lower_factor
from algorithms.slice_sampling import (
    EVALUATIONS,
    NOT_FINITE,
    evaluate,
    slice_update,
    start,
    widths,
)
from models import validate
from models.interface import U, commit, log_likelihood_of, prepare
from models.jit import check_interrupt, njit, public


@njit
def dragging_step(cache, model, slow, factor, fast, w, n_steps, tally, rng):
    """One transition of all variables, which leaves exp(-U) invariant and is reversible.

    Mirror of Neal 2005, Section 3.

    Parameters
    ----------
    cache      : NamedTuple        where the chain is: prepare(q, model).  Its q and U are not
                                   modified; its scratch memory is overwritten
    model      : NamedTuple        any model that implements U
    slow, fast : (any,) int        variables; none is in both
    factor     : (h, h) float64    of the covariance of the slow variables' proposal
    w          : (d,) float64      standard deviation of a fast variable's proposal
    n_steps    : int >= 1          n
    tally      : (4,) int          is added to; see slice_sampling.Counts
    rng        : Generator         advanced by h normals; n - 1 times by a uniform, a normal and a
                                   uniform; a uniform

    Returns (cache, accepted).  One evaluation from scratch, and 2 (n - 1) by trial.
    """
    # 1   y* ~ S(y, .), symmetric
    step = factor @ rng.standard_normal(slow.size)
    high = prepare(shift(cache.q, slow, step), model)
    # 2   x_0 <- x
    low = cache
    # ours
    total = high.U - low.U
    # 3   for i = 1, ..., n - 1
    for i in range(1, n_steps):
        check_interrupt()
        # 4   x_i ~ T_i(x_(i-1), .), reversible with respect to
        #         pi_i(x) = exp(-(1 - i/n) E(x, y) - (i/n) E(x, y*))
        #     theirs  T_i is any transition that is reversible with respect to pi_i
        #     ours    a Metropolis step of one fast variable, drawn with equal probabilities
        #     why     one variable at a time is what a cache makes cheap; drawn, because a sequence
        #             of reversible steps is not reversible
        #     test    a label
        k = fast[int(fast.size * rng.random())]
        value = low.q[k] + w[k] * rng.standard_normal(1)[0]
        E_low = evaluate(low, k, value, model, tally)
        E_high = evaluate(high, k, value, model, tally)
        share = i / n_steps
        error = (1 - share) * (E_low - low.U) + share * (E_high - high.U)
        if rng.random() < np.exp(-error) and np.isfinite(error):
            low = commit(low, k, value, E_low, model)
            high = commit(high, k, value, E_high, model)
        # ours
        total += high.U - low.U
    # 5   return (x_(n-1), y*) with probability
    #         min(1, exp((1/n) sum_(i=0)^(n-1) [E(x_i, y) - E(x_i, y*)])), else (x, y)
    #     lines   4 and 5
    #     theirs  silent about an energy that is infinite or not a number
    #     ours    such a step is rejected, and counted in `counts.not_finite`
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_an_energy_that_is_not_finite_is_rejected
    if rng.random() < np.exp(-total / n_steps) and np.isfinite(total):
        return high, True
    return cache, False


class Counts(NamedTuple):
    """What was done over a whole run."""

    prepared: int  # evaluations of U from scratch: new values of the slow variables
    trials: int  # evaluations of U after a change of one fast variable
    not_finite: int  # of the trials, infinite or nan


class DraggedChain(NamedTuple):
    """The record of n iterations."""

    samples: np.ndarray  # (n, d)
    energies: np.ndarray  # (n,) U of the samples
    log_likelihood: np.ndarray  # (n,) -U of the samples; of a GP regression log p(y | q)
    accepted: np.ndarray  # (n,) bool: dragging steps
    counts: Counts


@njit
def shift(q, slow, step):
    """Return q with a step of the slow variables added."""
    q = q.copy()
    for h in range(slow.size):
        q[slow[h]] += step[h]
    return q


def check_dragging(q0, model, slow, factor, n, rng, n_steps=20, sweeps=1, w=0.5, max_widths=10):
    """Check the arguments of dragging; the fast variables are added to them."""
    model = validate.model("model", model, U)
    q0 = start("q0", q0, model)
    slow = validate.indices("slow", slow, q0.size)  # in the order of the rows of `factor`
    fast = np.setdiff1d(np.arange(q0.size), slow)
    if np.unique(slow).size < slow.size:
        raise ValueError(f"slow must be different variables, not {slow.tolist()}")
    if slow.size == 0 or fast.size == 0:
        raise ValueError("slow must be some of the variables, and not all, but there are"
                         f" {slow.size} of {q0.size}")
    w, max_widths = widths(w, max_widths, q0.size)
    return (q0, model, slow, fast, lower_factor("factor", factor, slow.size),
            validate.count("n", n), validate.generator("rng", rng),
            validate.count("n_steps", n_steps), validate.count("sweeps", sweeps, 0), w, max_widths)


@public(check_dragging)
@njit
def dragging(q0, model, slow, fast, factor, n, rng, n_steps, sweeps, w, max_widths):
    """Run n iterations from q0; return a DraggedChain.

    Parameters
    ----------
    q0         : (d,) float64           where the chain starts; not modified
    model      : NamedTuple             any model that implements U
    slow       : (h,) int               the slow variables, by number, all different; the others
                                        are fast
    factor     : (h, h) float64         lower triangular with a positive diagonal: of the covariance
                                        of their proposal, in the order of `slow`
    n          : int >= 1               iterations
    rng        : Generator              advanced, per iteration, as by dragging_step and by the
                                        slice updates
    n_steps    : int >= 1               energy differences that are averaged in a step; default 20
    sweeps     : int >= 0               sweeps of slice sampling over the fast variables after it;
                                        default 1
    w          : float > 0 or (d,)      of a fast variable: the standard deviation of its Metropolis
                                        proposals, and the width of its slice; default 0.5
    max_widths : int >= 1               a slice's interval has at most so many widths; default 10

    Raises ValueError, naming the argument, for anything else.
    """
    samples, energies, log_likelihood = np.empty((n, q0.size)), np.empty(n), np.empty(n)
    accepted, tally = np.empty(n, np.bool_), np.zeros(4, np.int64)
    cache = prepare(q0, model)
    for t in range(n):
        check_interrupt()
        cache, accepted[t] = dragging_step(cache, model, slow, factor, fast, w, n_steps, tally, rng)
        for _ in range(sweeps):
            for k in fast:
                cache = slice_update(cache, k, model, w[k], max_widths, tally, rng)
        samples[t], energies[t] = cache.q, cache.U
        log_likelihood[t] = log_likelihood_of(cache.U, cache.q, model)
    counts = Counts(n + 1, tally[EVALUATIONS], tally[NOT_FINITE])
    return DraggedChain(samples, energies, log_likelihood, accepted, counts)
