"""Delayed acceptance, surrogate transitions: Metropolis steps that ask an approximation first.

In words    A proposal is tested first with a cheap approximation of the density, and only if that
            accepts it with the density itself.  It is valid because the second test is for the
            ratio of both densities, which takes back whatever the first got wrong.  Use it where
            the density is expensive and an approximation of it is good and cheap: most proposals
            that would be rejected then cost little.
Paper       J. A. Christen and C. Fox (2005), "Markov chain Monte Carlo using an approximation",
            Journal of Computational and Graphical Statistics 14, 795-810.
            J. S. Liu (2001), Monte Carlo Strategies in Scientific Computing, Section 9.4.3: several
            steps on the approximation before the model is asked.
Mirror      delayed_acceptance_step and surrogate_transition_step, line by line; the numbers of the
            lines are ours.

pi and pi* are as in algorithms/wang_discretizing_chain.py, whose mapping with r = 1 is a surrogate
transition with another proposal, R or R~.  The proposals are those of a random walk with a fixed
covariance (algorithms/rivals/fitted_walk.py), so that S is reversible with respect to pi*, and so
are k steps of it.  With k = 1 both are the same transition.  A proposal that pi* does not promote
leaves the chain where it is, and pi is not asked.

Notation
--------
paper      here                  shape    meaning
pi, pi*    model, approximation           exp(-U) of each
x          here.q                (d,)     state
y          y                     (d,)     proposal
q(x, .)    factor                (d, d)   N(x, factor factor')
S          fitted_walk_step               a Metropolis step that leaves pi* invariant
k          inner                 ()       steps on pi* for each evaluation of pi
g, rho     exp(-error)           ()       probabilities to promote and to accept
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import warn_if_none_accepted
from algorithms.rivals.fitted_walk import fitted_walk_step, lower_factor
from algorithms.slice_sampling import start
from algorithms.wang_discretizing_chain import check_layer
from models import validate
from models.interface import U, log_likelihood_of
from models.jit import check_interrupt, njit, public

DENSITY, APPROXIMATION, NOT_FINITE = range(3)


@njit
def delayed_acceptance_step(here, model, approximation, factor, tally, rng):
    """One transition by delayed acceptance, which leaves pi invariant and is reversible.

    Mirror of Christen and Fox 2005, Section 2.

    Parameters
    ----------
    here          : State            where the chain is; not modified
    model         : NamedTuple       pi: any model that implements U
    approximation : NamedTuple       pi*: another one, of the same variables
    factor        : (d, d) float64   lower, of the covariance of y - x
    tally         : (3,) int         is added to: evaluations of pi and of pi*, not finite
    rng           : Generator        advanced by d normals, a uniform, and a uniform if promoted

    Returns (state, promoted, accepted).
    """
    # 1   y ~ q(x, .)
    y = here.q + factor @ rng.standard_normal(here.q.size)
    # 2   promote y with probability g(x, y) = min(1, pi*(y) q(y, x) / [pi*(x) q(x, y)])
    U_star = evaluate(y, approximation, APPROXIMATION, tally)
    error = U_star - here.U_star
    promoted = rng.random() < np.exp(-error) and np.isfinite(error)
    # 3   if it is not promoted:  return x
    if not promoted:
        return here, False, False
    # 4   compute pi(y)
    U_y = evaluate(y, model, DENSITY, tally)
    # 5   rho(x, y) = min(1, pi(y) q*(y, x) / [pi(x) q*(x, y)]),  q*(x, y) = g(x, y) q(x, y)
    #     lines   2 and 5
    #     theirs  any q; pi*_x may be another approximation at every state x
    #     ours    q is symmetric, and cancels in line 2; there is one approximation, pi*
    #     why     the proposal is a random walk, and a subset of the data is one approximation; then
    #             the ratio of line 5 is that of pi / pi*
    #     test    a label
    error = U_y - U_star - (here.U - here.U_star)
    # 6   return y with probability rho(x, y), else x
    #     lines   2 and 6
    #     theirs  silent about a density that is infinite or not a number
    #     ours    such a proposal is rejected by either test, and counted in `counts.not_finite`
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_a_proposal_of_an_energy_that_is_not_finite_is_rejected
    if rng.random() < np.exp(-error) and np.isfinite(error):
        return State(y, U_y, U_star), True, True
    return here, True, False


@njit
def surrogate_transition_step(here, model, approximation, factor, inner, tally, rng):
    """One surrogate transition: several steps on pi*, then one test that asks pi.

    Mirror of Liu 2001, Section 9.4.3.

    inner : int >= 1     k
    rng   : Generator    advanced by d normals and a uniform per step, and a uniform if y_k is not x

    The other parameters and the result are those of delayed_acceptance_step.
    """
    # 1   y_0 <- x
    y, U_star = here.q, here.U_star
    # 2   for i = 1, ..., k:  y_i ~ S(y_(i-1), .), reversible with respect to pi*
    for _ in range(inner):
        check_interrupt()
        y, U_star, _, error = fitted_walk_step(y, U_star, approximation, factor, rng)
        tally[APPROXIMATION] += 1
        tally[NOT_FINITE] += not np.isfinite(error)
    # 3   if y_k = x:  return x
    if (y == here.q).all():
        return here, False, False
    # 4   compute pi(y_k)
    #     lines   3 and 4
    #     theirs  the ratio is computed also where y_k = x
    #     ours    x is returned, counted as not accepted, and pi is not asked
    #     why     the ratio is 1
    #     test    a label
    U_y = evaluate(y, model, DENSITY, tally)
    # 5   return y_k with probability min(1, [pi(y_k) / pi*(y_k)] / [pi(x) / pi*(x)]), else x
    error = U_y - U_star - (here.U - here.U_star)
    if rng.random() < np.exp(-error) and np.isfinite(error):
        return State(y, U_y, U_star), True, True
    return here, True, False


class Counts(NamedTuple):
    """What was done over a whole run."""

    density: int  # evaluations of U of the model
    approximations: np.ndarray  # (1,) evaluations of U of the approximation
    not_finite: int  # of these, infinite or nan


class DelayedChain(NamedTuple):
    """The record of n transitions."""

    samples: np.ndarray  # (n, d)
    energies: np.ndarray  # (n,) U of the samples
    log_likelihood: np.ndarray  # (n,) -U of the samples; of a GP regression log p(y | q)
    promoted: np.ndarray  # (n,) bool: pi was asked
    accepted: np.ndarray  # (n,) bool: and the proposal accepted
    counts: Counts


class State(NamedTuple):
    """Where the chain is, and both energies there."""

    q: np.ndarray  # (d,)
    U: float  # of the model
    U_star: float  # of the approximation


@njit
def evaluate(q, model, which, tally):
    """U at q, counted as `which`."""
    energy = U(q, model)
    tally[which] += 1
    if not np.isfinite(energy):
        tally[NOT_FINITE] += 1
    return energy


def check_delayed(q0, model, approximation, factor, n, rng, inner=1):
    """Check the arguments of delayed_acceptance."""
    model = validate.model("model", model, U)
    approximation = validate.model("approximation", approximation, U)
    q0 = start("q0", q0, model)
    check_layer("approximation", approximation, q0)
    return (q0, model, approximation, lower_factor("factor", factor, q0.size),
            validate.count("n", n), validate.generator("rng", rng), validate.count("inner", inner))


@warn_if_none_accepted
@public(check_delayed)
@njit
def delayed_acceptance(q0, model, approximation, factor, n, rng, inner):
    """Run n transitions from q0; return a DelayedChain.

    Parameters
    ----------
    q0            : (d,) float64     where the chain starts; not modified
    model         : NamedTuple       pi: any model that implements U
    approximation : NamedTuple       pi*: another one, of the same variables
    factor        : (d, d) float64   lower triangular with a positive diagonal: of the covariance of
                                     a proposal's distance (fitted_walk.pilot fits one)
    n             : int >= 1         transitions
    rng           : Generator        advanced as by the steps
    inner         : int >= 1         steps on pi* in a transition; 1, the default, is delayed
                                     acceptance, more the surrogate transition

    Raises ValueError, naming the argument, for anything else.
    """
    samples, energies, log_likelihood = np.empty((n, q0.size)), np.empty(n), np.empty(n)
    promoted, accepted = np.empty(n, np.bool_), np.empty(n, np.bool_)
    tally = np.zeros(3, np.int64)
    here = State(q0, U(q0, model), U(q0, approximation))
    for t in range(n):
        check_interrupt()
        if inner == 1:
            here, promoted[t], accepted[t] = delayed_acceptance_step(
                here, model, approximation, factor, tally, rng)
        else:
            here, promoted[t], accepted[t] = surrogate_transition_step(
                here, model, approximation, factor, inner, tally, rng)
        samples[t], energies[t] = here.q, here.U
        log_likelihood[t] = log_likelihood_of(here.U, here.q, model)
    counts = Counts(1 + tally[DENSITY], np.array([1 + tally[APPROXIMATION]]), tally[NOT_FINITE])
    return DelayedChain(samples, energies, log_likelihood, promoted, accepted, counts)
