"""Mapping with tempered transitions: exact sampling guided by several approximations.

Paper       C. Wang and R. M. Neal (2013), "MCMC Methods for Gaussian Process Models Using Fast
            Approximations for the Likelihood", arXiv 1305.2235, Section 4.
Mirror      tempered_transitions_step, and excursion, which is what it does above one layer: T^_i,
            the excursion above layer i, and T~_i.  The numbers of the sentences are ours.

pi_1 is the approximation that is nearest to pi; the others follow as they become cheaper.  They may
be of different types: compiled code sees them as Layers(pi_1, Layers(pi_2, ... NoLayer())), whose
type says how many there are, so that a function calls itself with one layer less.  Layers whose
data are not nested in each other are as exact.

Departures
----------
Section 4, line 4
    theirs  silent about a density that is infinite, zero or not a number
    ours    the flip is rejected, and counted in `counts.not_finite`
    why     a state of energy -inf would be accepted, and never left again
    test    test_a_flip_to_an_energy_that_is_not_finite_is_rejected
Section 4
    theirs  generates xbar_n and T^_n, T~_n with no more of them where an update is in sequence
    ours    T~_i updates the variables in the opposite sequence of T^_i
    why     (14) asks for it
    test    test_proofs.py::test_the_naive_reverse_is_biased
Section 4, "The two methods are equivalent"
    theirs  with n = 1 and s = 2k
    ours    so it is; with r = s = 1, which the paper uses, tempered transitions make two steps for
            one of the discretizing chain
    why     T^_1 and T~_1 are k updates each
    test    test_proofs.py::test_one_layer_is_a_discretizing_chain_of_twice_the_steps

Notation
--------
paper            here            shape        meaning
pi_0, pi_i       model, layers                exp(-U) of each
n                                             number of layers
x, x*            here.q, x_star  (d,)         state and proposal
T^_i             forward         R, a step that leaves pi_i invariant
T~_i             backward        its reverse, equation (14)
x^_i, x~_i       up.q, down.q    (d,)         states on the way up and down; xbar_n is the top
(15)             exp(-error)     ()           ratio of acceptance
"""

from typing import NamedTuple

import numpy as np

from algorithms.discretizing_chain import check_layer, plan
from algorithms.slice_sampling import (
    EVALUATIONS,
    NOT_FINITE,
    SHRINKAGES,
    WIDTHS,
    Chain,
    Counts,
    Slice,
    backward,
    differing,
    energy_at,
    followed,
    forward,
    reached,
    start,
    widths,
)
from models import validate
from models.interface import commit, generic, log_likelihood_of, prepare
from models.jit import entry, njit


class NoLayer(NamedTuple):
    """What is above the last layer."""

    nothing: float


class Layers(NamedTuple):
    """A layer, and those above it."""

    model: NamedTuple  # pi_i
    above: NamedTuple  # Layers or NoLayer


class Near(NamedTuple):
    """The cache of a state of each layer, near where the chain is."""

    cache: NamedTuple
    above: NamedTuple  # Near or NoLayer


class Trip(NamedTuple):
    """The caches of each layer where an excursion left it, and where it came back."""

    left: NamedTuple  # at x^_(i-1)
    back: NamedTuple  # at x~_(i-1)
    above: NamedTuple  # Trip or NoLayer


class State(NamedTuple):
    """Where the chain is, and what is known of it."""

    q: np.ndarray  # (d,)
    U: float  # of the model
    near: NamedTuple  # the model's cache of a state near q, or of q
    layers: NamedTuple  # Near


@generic(on=1)
def near_all(q, layers):
    """Return a Near for all layers at q: one evaluation of each, from scratch."""


@near_all.of(NoLayer)
def near_none(q, layers):
    """Return nothing."""
    return NoLayer(0.0)


@near_all.of(Layers)
def near_layers(q, layers):
    """Return the caches of this layer and of those above."""
    return Near(prepare(q, layers.model), near_all(q, layers.above))


@generic(on=1)
def near_after(q, trip, layers):
    """Return a Near for all layers, as near to q as they were brought; evaluate nothing."""


@near_after.of(NoLayer)
def near_after_nothing(q, trip, layers):
    """Return nothing."""
    return NoLayer(0.0)


@near_after.of(Trip)
def near_after_trip(q, trip, layers):
    """Take the cache that is at q; else change what differs by one variable, of unknown energy."""
    cache = trip.back
    if differing(q, trip.back.q)[0] > 0:
        cache = trip.left
        number, k = differing(q, cache.q)
        if number == 1:
            cache = commit(cache, k, q[k], np.nan, layers.model)
    return Near(cache, near_after(q, trip.above, layers.above))


@generic(on=1)
def excursion(q, layers, near, move, i, tally, rng):
    """Go up from x^_(i-1) = q by T^_i, T^_(i+1), ... and down again by ..., T~_(i+1), T~_i.

    Parameters
    ----------
    q      : (d,) float64        x^_(i-1); not modified
    layers : Layers or NoLayer   pi_i, pi_(i+1), ..., pi_n
    near   : Near or NoLayer     their caches
    move   : NamedTuple          what T^ and T~ are: Slice, for instance
    i      : int                 1 is pi_1
    tally  : (1 + n, 4) int      row i is added to
    rng    : Generator           advanced by what the steps take, in their order

    Returns
    -------
    x      : (d,)                x~_(i-1)
    rise   : float               U_i(x~_(i-1)) - U_i(x^_(i-1)); 0 for NoLayer
    error  : float               minus the log of those factors of (15) in which pi_(i+1) or a layer
                                 above it stands, and of 1 / pi_i; not finite as soon as one is
    trip   : Trip or NoLayer     the caches
    """


@excursion.of(NoLayer)
def no_excursion(q, layers, near, move, i, tally, rng):
    """Stay: xbar_n is the end of the way up and the start of the way down."""
    return q, 0.0, 0.0, NoLayer(0.0)


@excursion.of(Layers)
def excursion_above(q, layers, near, move, i, tally, rng):
    """Make the excursion from a layer that there is.

    Pseudocode (Wang and Neal 2013, Section 4, for one i)
     1  generate x^_i from x^_(i-1), using T^_i
     2  // layers i + 1 to n:  x~_i from x^_i, or x~_n = x^_n = xbar_n
     3  generate x~_(i-1) from x~_i, using T~_i
     4  factors of (15):  pi_i(x^_(i-1)) / pi_i(x^_i) and pi_i(x~_i) / pi_i(x~_(i-1))

    In (15) a layer stands with four states: it is where it is left and where it is reached, on the
    way up and down; the product over i is that of (15), in another order.
    """
    left = reached(q, near.cache, layers.model, tally[i])                                   # L1
    up = forward(left, layers.model, move, tally[i], rng)                                   # L1
    top, rise, error, trip = excursion(                                                     # L2
        up.q, layers.above, near.above, move, i + 1, tally, rng)                            # L2
    start = reached(top, up, layers.model, tally[i])                                        # L3
    down = backward(start, layers.model, move, tally[i], rng)                               # L3
    error += start.U - up.U - rise                                                          # L4
    return down.q, down.U - left.U, error, Trip(left, down, trip)                           # L4
