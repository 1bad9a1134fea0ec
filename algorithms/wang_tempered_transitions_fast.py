"""The same chain as algorithms/wang_tempered_transitions.py, faster.  Read that file first.

Same draws, same states: tests/test_twins.py compares the two transition by transition.  What
differs:

1. An excursion calls itself with one layer less, on the way up; what it needs on the way down is
   then in its own variables.  Layers may be of different types: compiled code sees them as
   Layers(pi_1, Layers(pi_2, ... NoLayer())), whose type says how many there are.
2. The energies of (15) are those that the steps have evaluated.  At x-hat_(i-1) and x-check_(i-1)
   the mirror evaluates pi_(i-1) and pi_i, besides what T-hat_i and T-check_i evaluate; here pi_i is
   evaluated where its steps begin, at x-hat_(i-1) and x-check_i, and pi once, at x*:
       evaluations besides the trials of the steps   at most 2 n - 1       the mirror 6 n
3. From transition to transition each layer carries what is known of a state near the chain where
   one variable changes alone (prepare, trial and commit of models/interface.py).
4. What is evaluated is counted, by layer.
"""

from typing import NamedTuple

import numpy as np

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
    follow,
    forward,
    start,
    visit,
    widths,
)
from algorithms.wang_discretizing_chain import check_layer, plan
from models import validate
from models.interface import U, commit, dispatch, log_likelihood_of, prepare
from models.jit import check_interrupt, njit, public


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

    left: NamedTuple  # at x-hat_(i-1)
    back: NamedTuple  # at x-check_(i-1)
    above: NamedTuple  # Trip or NoLayer


class State(NamedTuple):
    """Where the chain is, and what is known of it."""

    q: np.ndarray  # (d,)
    U: float  # of the model
    near: NamedTuple  # the model's cache of a state near q, or of q
    layers: NamedTuple  # Near


@dispatch(arg=1)
def near_all(q, layers):
    """Return a Near for all layers at q: one evaluation of each, from scratch."""


@near_all.register(NoLayer)
def near_none(q, layers):
    """Return nothing."""
    return NoLayer(0.0)


@near_all.register(Layers)
def near_layers(q, layers):
    """Return the caches of this layer and of those above."""
    return Near(prepare(q, layers.model), near_all(q, layers.above))


@dispatch(arg=1)
def near_after(q, trip, layers):
    """Return a Near for all layers, as near to q as they were brought; evaluate nothing."""


@near_after.register(NoLayer)
def near_after_nothing(q, trip, layers):
    """Return nothing."""
    return NoLayer(0.0)


@near_after.register(Trip)
def near_after_trip(q, trip, layers):
    """Take the cache that is at q; else change what differs by one variable, of unknown energy."""
    cache = trip.back
    if differing(q, trip.back.q)[0] > 0:
        cache = trip.left
        number, k = differing(q, cache.q)
        if number == 1:
            cache = commit(cache, k, q[k], np.nan, layers.model)
    return Near(cache, near_after(q, trip.above, layers.above))


@dispatch(arg=1)
def make_excursion(q, layers, near, move, i, tally, rng):
    """Go up from x-hat_(i-1) = q by T-hat_i, ..., T-hat_n and down by T-check_n, ..., T-check_i.

    Parameters
    ----------
    q      : (d,) float64        x-hat_(i-1); not modified
    layers : Layers or NoLayer   pi_i, pi_(i+1), ..., pi_n
    near   : Near or NoLayer     their caches
    move   : NamedTuple          what T-hat and T-check are: Slice, for instance
    i      : int                 1 is pi_1
    tally  : (1 + n, 4) int      row i is added to
    rng    : Generator           advanced by what the steps take, in their order

    Returns
    -------
    x      : (d,)                x-check_(i-1)
    rise   : float               U_i(x-check_(i-1)) - U_i(x-hat_(i-1)); 0 for NoLayer
    error  : float               minus the log of the factors of (15) at x-hat_i, x-check_i and the
                                 states above; not finite as soon as one of them is not
    trip   : Trip or NoLayer     the caches
    """


@make_excursion.register(NoLayer)
def no_excursion(q, layers, near, move, i, tally, rng):
    """Stay: x-bar_n is the end of the way up and the start of the way down."""
    return q, 0.0, 0.0, NoLayer(0.0)


@make_excursion.register(Layers)
def excursion_above(q, layers, near, move, i, tally, rng):
    """Make the excursion from a layer that there is."""
    left = visit(q, near.cache, layers.model, tally[i])
    up = forward(left, layers.model, move, tally[i], rng)
    top, rise, error, trip = make_excursion(
        up.q, layers.above, near.above, move, i + 1, tally, rng)
    turn = visit(top, up, layers.model, tally[i])
    down = backward(turn, layers.model, move, tally[i], rng)
    # the factors of (15) at x-hat_i and x-check_i that layer i has a part in
    error += turn.U - up.U - rise
    return down.q, down.U - left.U, error, Trip(left, down, trip)


@njit
def tempered_transitions_step(here, model, layers, move, tally, rng):
    """Go up through all layers and down again, and accept where that ends or stay.

    Parameters
    ----------
    here   : State          where the chain is; not modified
    model  : NamedTuple     pi: any model that implements U
    layers : Layers         pi_1, pi_2, ...
    move   : NamedTuple     what T-hat and T-check are: Slice, for instance
    tally  : (1 + n, 4) int is added to: row 0 for pi, row i for layer i
    rng    : Generator      advanced by what the steps take, in their order, then by a uniform

    Returns (state, accepted): the next State, and whether it is x*.
    """
    x_star, rise, error, trip = make_excursion(here.q, layers, here.layers, move, 1, tally, rng)
    energy = energy_at(x_star, here.near, model, tally[0])
    error += energy - here.U - rise
    # an energy that is not finite is rejected, and counted in `counts.not_finite`
    accepted = rng.random() < np.exp(-error) and np.isfinite(error)
    q, energy = (x_star, energy) if accepted else (here.q, here.U)
    return State(q, energy, follow(q, energy, here.near, model),
                 near_after(q, trip, layers)), accepted


# Public


def stack(layers):
    """Return a tuple of models as Layers."""
    found = NoLayer(0.0)
    for model in reversed(layers):
        found = Layers(model, found)
    return found


def check_tempered(x0, model, layers, w, n, rng, unit="variable", max_widths=10):
    """Check the arguments of tempered_transitions; `layers` become Layers, `unit` a plan."""
    model = validate.model("model", model, U)
    x0 = start("x0", x0, model)
    if not isinstance(layers, tuple | list) or hasattr(layers, "_fields") or not layers:
        raise ValueError("layers must be a tuple of one model or more, the one nearest to the"
                         f" density first, not {'an empty ' * (type(layers) in (tuple, list))}"
                         f"{type(layers).__name__}")
    layers = validate.models("layers", layers, U)
    for i, layer in enumerate(layers):
        check_layer(f"layers[{i}]", layer, x0)
    w, max_widths = widths(w, max_widths, x0.size)
    variables, at_random = plan(unit, x0.size)
    return (x0, model, stack(layers), w, validate.count("n", n), validate.generator("rng", rng),
            variables, at_random, max_widths, len(layers))


@public(check_tempered)
@njit
def tempered_transitions(x0, model, layers, w, n, rng, variables, at_random, max_widths, depth):
    """Run n iterations of mapping with tempered transitions from x0; return a Chain.

    Parameters
    ----------
    x0         : (d,) float64           where the chain starts; not modified
    model      : NamedTuple             pi: any model that implements U
    layers     : tuple of NamedTuple    pi_1, the nearest to pi, pi_2, ...: models of the same
                                        variables, of one type or of several
    w          : float > 0 or (d,)      width of a step out of the slices, in the variables' units
    n          : int >= 1               iterations
    rng        : Generator              advanced, per mapping, as by tempered_transitions_step
    unit       : str                    what an iteration is.  "variable" (the default): a mapping
                                        for each variable in turn, T-hat_i and T-check_i its slice
                                        update.  "sweep": one mapping, T-hat_i the updates of all
                                        variables in sequence, T-check_i in the opposite one.
                                        "random": d mappings, each step updates one at random
    max_widths : int >= 1               a slice's interval has at most so many widths; default 10

    `accepted` is (n, mappings, 1).  Raises ValueError, naming the argument, for anything else.
    Source: Wang and Neal (2013), Section 4; the slices as Section 6.2.
    """
    d, mappings = x0.size, len(variables)
    samples, energies, log_likelihood = np.empty((n, d)), np.empty(n), np.empty(n)
    accepted = np.empty((n, mappings, 1), np.bool_)
    tally = np.zeros((1 + depth, 4), np.int64)
    tally[:, EVALUATIONS] = 1
    near = prepare(x0, model)
    here = State(x0, near.U, near, near_all(x0, layers))
    for t in range(n):
        for j in range(mappings):
            check_interrupt()
            move = Slice(w, max_widths, variables[j], at_random)
            here, accepted[t, j, 0] = tempered_transitions_step(here, model, layers, move, tally,
                                                                rng)
        samples[t], energies[t] = here.q, here.U
        log_likelihood[t] = log_likelihood_of(here.U, here.q, model)
    counts = Counts(tally[0, EVALUATIONS], tally[1:, EVALUATIONS].copy(), 0,
                    np.sum(tally[:, WIDTHS]), np.sum(tally[:, SHRINKAGES]),
                    np.sum(tally[:, NOT_FINITE]))
    return Chain(samples, energies, log_likelihood, accepted, counts)
