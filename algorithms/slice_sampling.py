"""Univariate slice sampling with stepping out and shrinkage, and a step of it as a value.

In words    One variable is updated at a time: a level is drawn below the density at the state, an
            interval around the state is widened until the density at both ends is below that level,
            and points are drawn from it, each rejected one shortening it, until one has a density
            above the level.  It is valid because a state with its level is a point under the graph
            of the density, uniform there, and the interval is as probable from the new state as
            from the old one.  Use it where the density can be evaluated but has no gradient at
            hand, where there are few variables, and where the scale of each is known to an order of
            magnitude.
Paper       R. M. Neal (2003), "Slice sampling", Annals of Statistics 31, 705-767.
            C. Wang and R. M. Neal (2013), "MCMC Methods for Gaussian Process Models Using Fast
            Approximations for the Likelihood", arXiv 1305.2235: their standard sampler, and the
            transition R of mapping (Section 6.2); that T of tempered transitions is one too is our
            assumption.
Mirror      slice_update; the numbers of the lines are ours.  Neal's Accept(x_1), which is always
            true for an interval that was stepped out, is left out, with the copies of L and R.

A transition of a chain is described by a NamedTuple, the `move`, which is an argument of the
samplers.  forward(cache, model, move, tally, rng) makes a transition R that leaves exp(-U) of the
model invariant; backward makes one by its reverse R~,

    R~(x | x') = R(x' | x) pi(x) / pi(x').

The type of `move` decides which transition it is.  Slice stands for the slice updates of some
variables, in sequence in forward and in the opposite sequence in backward (Wang and Neal, after
(14)).  The order matters: each update is reversible, but a sequence of them is not.  For example,
two Gibbs updates of a pair with correlation .9 give E[x_1 x_2'] = .729 and E[x_2 x_1'] = .900.

Notation
--------
paper      here                  shape    meaning
x_0, x_1   cache.q[k], x_1       ()       the variable before and after
f          exp(-U)               ()       density, as a function of that variable
U, V       rng.random()          ()       (lines 2, 3 and 9) uniforms; U(x) is the energy
y          level = -log y        ()       height of the slice
w          w                     (d,)     width of a step out, in the units of the variable
m          max_widths            ()       an interval has at most so many widths
I = (L, R) L, R                  ()       interval
J, K       J, K                  ()       steps out that are left, to the left and to the right
R, R~      forward, backward              (Wang and Neal) a step and its reverse
           tally                 (4,)     what is counted of one density: see Counts
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.interface import U, commit, dispatch, log_likelihood_of, prepare, trial
from models.jit import check_interrupt, njit, public

EVALUATIONS, WIDTHS, SHRINKAGES, NOT_FINITE = range(4)
LONGEST = 1e300  # of an interval: the shrinkage of an infinite one would not end


@njit
def slice_update(cache, k, model, w, max_widths, tally, rng):
    """Update one variable, which leaves the density exp(-U) invariant and is reversible.

    Mirror of Neal 2003, Section 4, Figures 3 and 5.

    Parameters
    ----------
    cache      : NamedTuple   where the chain is: prepare(q, model); not modified
    k          : int          which variable
    model      : NamedTuple   any model that implements U
    w          : float > 0    width of a step out
    max_widths : int >= 1     the interval has at most so many widths
    tally      : (4,) int     is added to
    rng        : Generator    advanced by one exponential, two uniforms, and one uniform a point

    Returns the cache of the next state.
    """
    x_0 = cache.q[k]
    # 1   y ~ Uniform(0, f(x_0))
    #     theirs  y uniform below f(x_0), and y < f(x)
    #     ours    its energy -log y = U(x_0) + e with e standard exponential, and U(x) < -log y
    #     why     f over- and underflows; Section 4 of the paper recommends it
    #     test    a label
    level = cache.U + rng.standard_exponential()
    # 2   U ~ Uniform(0, 1);  L <- x_0 - w U;  R <- L + w
    L = x_0 - w * rng.random()
    R = L + w
    # 3   V ~ Uniform(0, 1);  J <- floor(m V);  K <- (m - 1) - J
    J = int(max_widths * rng.random())
    K = max_widths - 1 - J
    # 4   repeat while J > 0 and y < f(L)
    while J > 0 and is_inside(evaluate(cache, k, L, model, tally), level):
        # 5   L <- L - w;  J <- J - 1
        L, J = L - w, J - 1
        # ours
        tally[WIDTHS] += 1
    # 6   repeat while K > 0 and y < f(R)
    while K > 0 and is_inside(evaluate(cache, k, R, model, tally), level):
        # 7   R <- R + w;  K <- K - 1
        R, K = R + w, K - 1
        # ours
        tally[WIDTHS] += 1
    # 8   repeat
    while True:
        # 9   U ~ Uniform(0, 1);  x_1 <- L + U (R - L)
        x_1 = L + rng.random() * (R - L)
        # 10  if y < f(x_1) then return x_1
        #     lines   4, 6 and 10
        #     theirs  silent about an f that is infinite or not a number
        #     ours    such a point is outside of the slice, and counted in `counts.not_finite`
        #     why     a state of energy -inf would be taken, and never left again
        #     test    test_a_point_of_an_energy_that_is_not_finite_is_outside
        #     theirs  shrinking ends at the start at the latest, because y < f(x_0)
        #     ours    a point equal to x_0 is taken without asking U
        #     why     where e is lost in the rounding of U, U(x_0) < level is false, and the loop
        #             would never end
        #     test    test_shrinkage_to_the_start_ends
        if x_1 == x_0:
            return cache
        energy = evaluate(cache, k, x_1, model, tally)
        if is_inside(energy, level):
            return commit(cache, k, x_1, energy, model)
        # ours
        tally[SHRINKAGES] += 1
        # 11  if x_1 < x_0 then L <- x_1 else R <- x_1
        if x_1 < x_0:
            L = x_1
        else:
            R = x_1


class Counts(NamedTuple):
    """What was done over a whole run."""

    density: int  # evaluations of U of the model
    approximations: np.ndarray  # (layers,) evaluations of U of each approximation; (0,) for none
    cache_hits: int  # energies of the model that were needed again and not evaluated
    widths: int  # by which intervals were stepped out, over all densities
    shrinkages: int  # points outside of the slice, over all densities
    not_finite: int  # evaluations of U that were infinite or nan, over all densities


class Chain(NamedTuple):
    """The record of n iterations."""

    samples: np.ndarray  # (n, d)
    energies: np.ndarray  # (n,) U of the samples
    log_likelihood: np.ndarray  # (n,) -U of the samples; of a GP regression log p(y | q)
    accepted: np.ndarray  # (n, mappings, moves) bool; a slice update is never rejected
    counts: Counts


class Slice(NamedTuple):
    """One step: the slice updates of some variables."""

    w: np.ndarray  # (d,) > 0
    max_widths: int  # >= 1
    variables: np.ndarray  # (any,) int: which ones, in the order of R
    at_random: bool  # only one of them, drawn with equal probabilities


@dispatch(arg=2)
def forward(cache, model, move, tally, rng):
    """Take the step R: return the cache of the next state.  tally: (4,) int, is added to."""


@dispatch(arg=2)
def backward(cache, model, move, tally, rng):
    """Take the step R~, the reverse of R with respect to exp(-U).  As forward."""


@njit
def evaluate(cache, k, value, model, tally):
    """U where q_k is `value`, counted."""
    energy = trial(cache, k, value, model)
    tally[EVALUATIONS] += 1
    if not np.isfinite(energy):
        tally[NOT_FINITE] += 1
    return energy


@njit
def is_inside(energy, level):
    """Tell whether a point of this energy is in the slice: y < f, and f is a number."""
    return np.isfinite(energy) and energy < level


@njit
def chosen(move, rng):
    """Return the variables to be updated; one uniform if it is one at random, else none."""
    if move.at_random:
        k = int(move.variables.size * rng.random())
        return move.variables[k : k + 1]
    return move.variables


@forward.register(Slice)
def slice_forward(cache, model, move, tally, rng):
    """Update the variables in sequence."""
    for k in chosen(move, rng):
        cache = slice_update(cache, k, model, move.w[k], move.max_widths, tally, rng)
    return cache


@backward.register(Slice)
def slice_backward(cache, model, move, tally, rng):
    """Update them in the opposite sequence."""
    for k in chosen(move, rng)[::-1]:
        cache = slice_update(cache, k, model, move.w[k], move.max_widths, tally, rng)
    return cache


# A step from a state alone, for mirrors: nothing is kept and nothing is counted


@njit
def step_forward(x, model, move, rng):
    """Take the step R from x, (d,); return the next state, (d,)."""
    return forward(prepare(x, model), model, move, np.zeros(4, np.int64), rng).q


@njit
def step_backward(x, model, move, rng):
    """Take the step R~ from x, (d,); return the next state, (d,)."""
    return backward(prepare(x, model), model, move, np.zeros(4, np.int64), rng).q


# Caches of states that differ in more than one variable, for samplers that go on from here


@njit
def differing(q, other):
    """Return in how many variables two states differ, and the last of these (0 if none)."""
    number, last = 0, 0
    for k in range(q.size):
        if q[k] != other[k]:
            number, last = number + 1, k
    return number, last


@njit
def energy_at(q, cache, model, tally):
    """U at q, from the cache of a state near it if they differ in one variable at most."""
    number, k = differing(q, cache.q)
    if number <= 1:
        return evaluate(cache, k, q[k], model, tally)
    energy = U(q, model)
    tally[EVALUATIONS] += 1
    if not np.isfinite(energy):
        tally[NOT_FINITE] += 1
    return energy


@njit
def visit(q, cache, model, tally):
    """Return the cache of q with its energy, by one evaluation or none."""
    number, k = differing(q, cache.q)
    if number == 0 and not np.isnan(cache.U):
        return cache
    if number <= 1:
        return commit(cache, k, q[k], evaluate(cache, k, q[k], model, tally), model)
    cache = prepare(q, model)
    tally[EVALUATIONS] += 1
    if not np.isfinite(cache.U):
        tally[NOT_FINITE] += 1
    return cache


@njit
def commit_all(q, energy, cache, model):
    """Return the cache of q, where U is `energy`; nothing is evaluated."""
    for k in range(q.size):
        if q[k] != cache.q[k]:
            cache = commit(cache, k, q[k], energy, model)
    return cache


@njit
def follow(q, energy, cache, model):
    """Return the cache of q if at most two variables differ; else return `cache` unchanged.

    A cache makes the next energies cheap only where it differs from q in one variable at most.
    """
    return commit_all(q, energy, cache, model) if differing(q, cache.q)[0] <= 2 else cache


# Public


def widths(w, max_widths, d):
    """Check both; return w as a (d,) array, of its own, and max_widths."""
    if isinstance(w, list | tuple | np.ndarray) and np.ndim(validate.regular("w", w)):
        w = validate.array("w", w, (d,)).copy()
        if not (w > 0).all():
            raise ValueError(f"w must be positive, but the smallest is {w.min():g}")
    else:
        w = np.full(d, validate.real("w", w, 0.0, open_low=True))
    max_widths = validate.count("max_widths", max_widths)
    if w.max() > LONGEST / max_widths:
        raise ValueError(f"w times max_widths must be at most {LONGEST:g}, but is"
                         f" {w.max() / LONGEST * max_widths:g} times as long")
    return w, max_widths


def start(name, value, model):
    """Return `value` as an array of its own, (d,), at which U of the model is finite."""
    return validate.state(name, value, model).copy()


def check_slice(x0, model, w, n, rng, max_widths=10):
    """Check the arguments of slice_sampling."""
    model = validate.model("model", model, U)
    x0 = start("x0", x0, model)
    w, max_widths = widths(w, max_widths, x0.size)
    return (x0, model, w, validate.count("n", n), validate.generator("rng", rng), max_widths)


@public(check_slice)
@njit
def slice_sampling(x0, model, w, n, rng, max_widths):
    """Run n sweeps of univariate slice sampling from x0; return a Chain.

    Parameters
    ----------
    x0         : (d,) float64           where the chain starts; not modified
    model      : NamedTuple             any model that implements U
    w          : float > 0 or (d,)      width of a step out, in the units of each variable
    n          : int >= 1               sweeps, each of which updates every variable in sequence
    rng        : Generator              advanced, per variable, as by slice_update
    max_widths : int >= 1               an interval has at most so many widths; default 10

    `accepted` is (n, d, 1), all True.  Raises ValueError, naming the argument, for anything else.
    Source: Neal (2003), Section 4; in sequence as Wang and Neal (2013), Section 6.2.
    """
    d = x0.size
    samples, energies, log_likelihood = np.empty((n, d)), np.empty(n), np.empty(n)
    tally = np.zeros(4, np.int64)
    move = Slice(w, max_widths, np.arange(d), False)
    cache = prepare(x0, model)
    for t in range(n):
        check_interrupt()
        cache = forward(cache, model, move, tally, rng)
        samples[t], energies[t] = cache.q, cache.U
        log_likelihood[t] = log_likelihood_of(cache.U, cache.q, model)
    counts = Counts(1 + tally[EVALUATIONS], np.zeros(0, np.int64), 0, tally[WIDTHS],
                    tally[SHRINKAGES], tally[NOT_FINITE])
    return Chain(samples, energies, log_likelihood, np.ones((n, d, 1), np.bool_), counts)


@njit
def sweeps(cache, model, move, n, rng, evaluations):
    """Run n sweeps as slice_sampling does, from a cache; return (Chain, the cache they leave).

    evaluations : int   how many of U have been made before
    """
    d = cache.q.size
    samples, energies, log_likelihood = np.empty((n, d)), np.empty(n), np.empty(n)
    tally = np.zeros(4, np.int64)
    for t in range(n):
        check_interrupt()
        cache = forward(cache, model, move, tally, rng)
        samples[t], energies[t] = cache.q, cache.U
        log_likelihood[t] = log_likelihood_of(cache.U, cache.q, model)
    counts = Counts(evaluations + tally[EVALUATIONS], np.zeros(0, np.int64), 0, tally[WIDTHS],
                    tally[SHRINKAGES], tally[NOT_FINITE])
    return Chain(samples, energies, log_likelihood, np.ones((n, d, 1), np.bool_), counts), cache
