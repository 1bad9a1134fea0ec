"""Mapping to a discretizing chain: exact sampling that mostly asks a fast approximation.

In words    From the state x a Markov chain for a cheap approximation pi* is simulated forward and
            backward, a mark on x moves along it by Metropolis steps, and the marked state is the
            next one.  It is valid because a chain with one of its states marked is as probable as
            the same chain with another one marked, but for the ratio of pi / pi* at the two states,
            and that is what the Metropolis test asks for: pi stays invariant whatever pi* is.  Use
            it where pi is expensive and pi* is both cheap and close to it, since pi is evaluated
            only where the mark is to move to, and not at every step of the chain.
Paper       C. Wang and R. M. Neal (2013), "MCMC Methods for Gaussian Process Models Using Fast
            Approximations for the Likelihood", arXiv 1305.2235, Section 3.
Mirror      whole_chain_step, Section 3 as it is defined: all K steps are simulated before the mark
            moves.  The numbers and the wording are ours.  "The actual implementation", with K
            infinite and steps that are simulated when they are needed, is
            algorithms/wang_discretizing_chain_fast.py: another transition, which the mirror has for
            its limit as K grows (tests/test_proofs.py).

R leaves pi* invariant, the density of the approximation; a `move` says what R and its reverse R~
are (algorithms/slice_sampling.py).  With r = s = 1 and K infinite a mapping is a Metropolis step
whose proposal is R or R~ with equal probabilities, and whose ratio is that of pi / pi*.  The
densities (10) and (11) and the identity (12) prove the method; the ratio (13) alone is computed.

Departures
----------
Equation (11)
    theirs  R(x_{k'+1} | x')
    ours    R(x_{k'+1} | x_k')
    why     x' is x_k'
    test    a label
Section 6.2
    theirs  R updates the parameters in sequence; which steps make an iteration is not said
    ours    `unit` says it: one mapping for each variable; or one with a sweep for R and, as its
            reverse R~ of Section 3, the sweep in the opposite sequence; or as many mappings as
            there are variables, each of which updates a variable at random
    why     a sweep is not its own reverse: with the same sequence pi would not be left invariant
    test    test_proofs.py::test_the_naive_reverse_is_biased

Notation
--------
paper        here                         shape    meaning
pi, pi*      pi, pi_star                           exp(-U) of each: models
x, x'        x, states[k]                 (d,)     state, and the next one
R, R~        step_forward, step_backward           a step and its reverse, of pi*
x_k          states[k]                    (d,)     state at step k of the chain
k, k'        k, k_                        ()       the marked step, and where the mark may move; k
                                                   is `first` in lines 1 to 3
r            r                            ()       moves of the mark in one mapping
s            s                            ()       steps by which the mark moves
K            K                            ()       length of the chain
"""

import numpy as np

from algorithms.slice_sampling import step_backward, step_forward
from models import validate
from models.interface import U
from models.jit import check_interrupt, njit


@njit
def whole_chain_step(x, pi, pi_star, move, r, s, K, rng):
    """Map to a discretizing chain of K steps, move the mark r times, and map back.

    Mirror of Wang and Neal 2013, Section 3.

    Parameters
    ----------
    x       : (d,) float64   where the chain is; not modified
    pi      : NamedTuple     any model that implements U
    pi_star : NamedTuple     another one, of the same variables
    move    : NamedTuple     what R and R~ are: Slice, for instance
    r, s    : int >= 1       moves of the mark, and how far it moves
    K       : int >= 1       length of the chain; the mark does not leave it
    rng     : Generator      advanced by a uniform, what K - 1 steps take, and, per move of the
                             mark, a uniform and, unless it would leave the chain, another one

    Returns x', (d,).
    """
    # 1   choose k uniformly from 0, ..., K - 1
    first = int(K * rng.random())
    # ours
    states = np.empty((K, x.size))
    # 2   for j = k + 1, ..., K - 1:  simulate x_j from x_(j-1), using R, starting at x_k = x
    states[first] = x
    for j in range(first + 1, K):
        check_interrupt()
        states[j] = step_forward(states[j - 1], pi_star, move, rng)
    # 3   for j = k - 1, ..., 0:  simulate x_j from x_(j+1), using R~
    for j in range(first - 1, -1, -1):
        check_interrupt()
        states[j] = step_backward(states[j + 1], pi_star, move, rng)
    # 4   set the marked time step to k
    k = first
    # 5   repeat r times
    for _ in range(r):
        # 6   propose to move the mark from k to k' = k + s or k - s, with equal probabilities
        #     lines   6 and 7
        #     theirs  k' in {0, ..., K - 1}; silent about what is done where k + s or k - s is not
        #     ours    such a move is rejected
        #     why     the proposal stays symmetric; if K is infinite no move leads outside
        #     test    a label
        k_ = k + s if rng.random() < 0.5 else k - s
        # 7   k <- k' with probability min(1, [pi(x_k') / pi*(x_k')] / [pi(x_k) / pi*(x_k)]);
        #         the ratio is (13)
        #     theirs  silent about a pi that is infinite or not a number
        #     ours    such a move of the mark is rejected
        #     why     a state of energy -inf would be accepted, and never left again
        #     test    test_a_mark_does_not_move_to_an_energy_that_is_not_finite
        if 0 <= k_ < K:
            log_ratio = (U(states[k_], pi_star) - U(states[k_], pi)
                         - (U(states[k], pi_star) - U(states[k], pi)))
            if rng.random() < np.exp(log_ratio) and np.isfinite(log_ratio):
                k = k_
    # 8   x' <- x_k, the state that is marked now
    return states[k]


# What samplers with an approximation check


def plan(unit, d):
    """Return the variables of each mapping of an iteration, (mappings, of each), and at_random.

    unit : "variable", a mapping for each of the d variables; "sweep", one for all of them in turn;
           "random", d mappings, each step of which updates one of all, drawn at random
    """
    validate.instance("unit", unit, str, "'variable', 'sweep' or 'random'")
    everything = np.arange(d)
    if unit == "variable":
        return everything.reshape(d, 1), False
    if unit == "sweep":
        return everything.reshape(1, d), False
    if unit == "random":
        return np.tile(everything, (d, 1)), True
    raise ValueError(f"unit must be 'variable', 'sweep' or 'random', not {validate.shown(unit)}")


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
