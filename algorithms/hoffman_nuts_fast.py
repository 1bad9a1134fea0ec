"""NUTS as it is used today, without anything to set.  Read algorithms/hoffman_nuts.py first.

    chain = nuts(q0, model, n, rng)

It leaves the same density invariant as its mirror, by other transitions; they are those of Stan, as
M. Betancourt (2017), "A Conceptual Introduction to Hamiltonian Monte Carlo", arXiv 1701.02434,
Appendix A, describes them, and the reference manual of Stan.  Neither was at hand: all is restated
from what it does.  What differs from the mirror:

1. There is no slice.  A point of the trajectory is drawn with probability proportional to
   exp(-H) (multinomial), which uses every point.  Between the trajectory and what a doubling adds
   to it, the draw is biased to what is new: it is taken with probability min(1, w' / w), where
   w' is the sum of exp(-H) over what is new, and w over what there was.  This is reversible too,
   and moves further.
2. A trajectory turns where the velocity at one of its ends has no positive product with rho, the
   sum of its momenta.  For a mass of 1 rho is about (theta+ - theta-) / eps; unlike this, it is
   right for every mass.  That is asked of each two halves that are joined, and of each half with
   the nearest point of the other one: a trajectory that comes back in the middle is found too.
3. The recursion is a loop: of 2^j points, counted from 0, point k closes as many subtrees as k has
   trailing ones in binary.  They wait on a stack of at most j trees.
4. A gradient is evaluated once, with its U, and carried: a point takes one.
5. There is a mass.  It is adapted in windows while the chain warms up (window_ends).  Its inverse
   is that of Stan, the variance of the draws of a window, pulled a bit towards 1e-3 I; or that of
   nutpie: the ratio of the standard deviations of draws and of gradients, which for independent
   normal variables has no error at all (learn).  After each window the step is sought and averaged
   anew; its target is 0.8.
6. Stan leaves 50 transitions after the last window to the step; here it has 150.  With only 50
   the step varies from run to run, and a step that is a little smaller may double a trajectory.
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import Counts, State, state_at, warn_if_none_accepted
from algorithms.hoffman_nuts import LARGEST, SMALLEST, average, dual_averaging
from models import validate
from models.interface import U, U_and_grad_U, dispatch, grad_U
from models.jit import check_interrupt, njit, public
from models.linalg import cholesky, solve_lower_transposed

FIRST, WINDOW, LAST = 75, 25, 150  # transitions before the first window, in it, after the last one
TARGET = 0.8  # acceptance rate
DIVERGENT = 1000.0  # error of H from which on a trajectory is given up
DEEPEST = 10  # doublings: up to 1023 gradients a transition


# The mass


class Diagonal(NamedTuple):
    """The inverse of a diagonal mass."""

    variances: np.ndarray  # (d,)
    fisher: bool  # whether it is learned from gradients too


class Dense(NamedTuple):
    """The inverse of a mass."""

    covariance: np.ndarray  # (d, d)
    factor: np.ndarray  # (d, d) its lower Cholesky factor


@dispatch(arg=1)
def momentum(z, mass):
    """Make of z ~ N(0, I) a momentum of covariance M.  z: (d,) -> (d,)."""


@dispatch(arg=1)
def velocity(p, mass):
    """M^-1 p.  p: (d,) -> (d,)."""


@dispatch(arg=2)
def learn(draws, gradients, mass):
    """Return the inverse mass, of the class of `mass`, that a window suggests.

    draws, gradients : (k, d)   its states, and the gradients of U there

    The variance S of draws is noisy; we take k / (k + 5) S + 5 / (k + 5) 1e-3 I.  The ratio of
    nutpie ("fisher") is taken as it is.
    """


@momentum.register(Diagonal)
def diagonal_momentum(z, mass):
    """Divide by the standard deviations."""
    return z / np.sqrt(mass.variances)


@velocity.register(Diagonal)
def diagonal_velocity(p, mass):
    """Multiply by the variances."""
    return mass.variances * p


@njit
def variance(x):
    """Return the variances of the columns of x."""
    r = x - x.sum(axis=0) / x.shape[0]
    return (r * r).sum(axis=0) / (x.shape[0] - 1)


@learn.register(Diagonal)
def diagonal_learn(draws, gradients, mass):
    """Take the variances of the draws, or the ratio of standard deviations of draws and gradients.

    The ratio of a variable that does not move is no number; that keeps its mass.
    """
    k, of_draws = draws.shape[0], variance(draws)
    if not mass.fisher:
        return Diagonal(k / (k + 5.0) * of_draws + 5e-3 / (k + 5.0), False)
    ratio = np.sqrt(of_draws / variance(gradients))
    return Diagonal(np.where((ratio > 0) & np.isfinite(ratio), ratio, mass.variances), True)


@momentum.register(Dense)
def dense_momentum(z, mass):
    """Solve L' p = z: then p has covariance (L L')^-1."""
    return solve_lower_transposed(mass.factor, z)


@velocity.register(Dense)
def dense_velocity(p, mass):
    """Multiply by the covariance."""
    return mass.covariance @ p


@learn.register(Dense)
def dense_learn(draws, gradients, mass):
    """Take the covariance; the mass stays what it is where that cannot be factorised."""
    k, d = draws.shape
    r = draws - draws.sum(axis=0) / k
    covariance = k / (k + 5.0) * (r.T @ r) / (k - 1) + 5e-3 / (k + 5.0) * np.eye(d)
    factor, ok = cholesky(covariance)
    return Dense(covariance, factor) if ok else mass


# Trajectories


class Point(NamedTuple):
    """A point of a trajectory."""

    state: State  # q, U and its gradient
    p: np.ndarray  # (d,) momentum
    v: np.ndarray  # (d,) velocity
    H: float  # energy, U + p'v / 2


class Tree(NamedTuple):
    """Points that follow each other."""

    first: Point
    last: Point
    rho: np.ndarray  # (d,) sum of their momenta
    log_weight: float  # of the sum of exp(H_0 - H)
    drawn: Point  # one of them


class Growth(NamedTuple):
    """What a doubling has added."""

    tree: Tree
    whole: bool  # neither turned nor diverged
    gradients: int
    rates: float  # sum of min(1, exp(H_0 - H)) over the points
    divergent: bool


@njit
def point_at(state, p, mass):
    """Return the Point of a state and a momentum."""
    v = velocity(p, mass)
    return Point(state, p, v, state.U + p @ v / 2)


@njit
def leapfrog(point, eps, model, mass):
    """Return the next Point; with eps < 0 the one before."""
    half = point.p - eps / 2 * point.state.g
    q = point.state.q + eps * velocity(half, mass)
    energy, g = U_and_grad_U(q, model)
    return point_at(State(q, energy, g), half - eps / 2 * g, mass)


@njit
def both_move_on(v, w, rho):
    """Tell whether two velocities are along rho."""
    return v @ rho > 0 and w @ rho > 0


@njit
def no_turn(a, b):
    """Tell whether a trajectory that consists of the trees a and then b goes on without a turn."""
    return (both_move_on(a.first.v, b.last.v, a.rho + b.rho)
            and both_move_on(a.first.v, b.first.v, a.rho + b.first.p)
            and both_move_on(a.last.v, b.last.v, a.last.p + b.rho))


@njit
def join(a, b, against, rng):
    """Return the tree of a and then b; its point is b's with probability w_b / exp(against)."""
    drawn = b.drawn if rng.random() < np.exp(b.log_weight - against) else a.drawn
    return Tree(a.first, b.last, a.rho + b.rho, np.logaddexp(a.log_weight, b.log_weight), drawn)


@njit
def reverse(tree):
    """Return a tree in the other order."""
    return Tree(tree.last, tree.first, tree.rho, tree.log_weight, tree.drawn)


@njit
def grow(point, depth, eps, model, mass, H_0, rng):
    """Build the tree of the 2^depth points after `point`, as far as it does not turn or diverge."""
    waiting, rates = [Tree(point, point, point.p, 0.0, point)], 0.0  # that one never leaves
    for k in range(1 << depth):
        check_interrupt()
        point = leapfrog(point, eps, model, mass)
        error, closes = point.H - H_0, k
        if not (np.isfinite(error) and error <= DIVERGENT):
            return Growth(waiting[0], False, k + 1, rates, True)
        rates += min(1.0, np.exp(-error))
        tree = Tree(point, point, point.p, -error, point)
        while closes & 1:
            before = waiting.pop()
            if not no_turn(before, tree):
                return Growth(tree, False, k + 1, rates, False)
            tree = join(before, tree, np.logaddexp(before.log_weight, tree.log_weight), rng)
            closes >>= 1
        waiting.append(tree)
    return Growth(waiting[1], True, 1 << depth, rates, False)


class Transition(NamedTuple):
    """A transition of NUTS."""

    state: State  # where the chain is next
    H: float  # energy there
    rate: float  # mean of min(1, exp(H_0 - H)) over all points but the start
    depth: int  # doublings that were made and taken in
    gradients: int
    divergent: bool


@njit
def nuts_step(current, model, eps, mass, rng, deepest=DEEPEST):
    """One transition of NUTS, which leaves the density exp(-U) invariant.

    Parameters
    ----------
    current : State               where the chain is; not modified
    model   : NamedTuple          any model that implements U and grad_U
    eps     : float > 0           step size
    mass    : Diagonal or Dense   inverse of the mass
    rng     : Generator           advanced by d normals and by uniforms
    deepest : int >= 0            doublings at most

    Returns a Transition.
    """
    start = point_at(current, momentum(rng.standard_normal(current.q.size), mass), mass)
    tree = Tree(start, start, start.p, 0.0, start)  # the whole trajectory
    depth, gradients, rates, whole, divergent = 0, 0, 0.0, True, False
    while whole and depth < deepest:
        forwards = rng.random() < 0.5
        if not forwards:
            tree = reverse(tree)
        new = grow(tree.last, depth, eps if forwards else -eps, model, mass, start.H, rng)
        gradients, rates = gradients + new.gradients, rates + new.rates
        whole, divergent = new.whole, new.divergent
        if whole:
            depth += 1
            whole = no_turn(tree, new.tree)
            tree = join(tree, new.tree, tree.log_weight, rng)
            if not forwards:
                tree = reverse(tree)
    rate = rates / max(gradients, 1)
    return Transition(tree.drawn.state, tree.drawn.H, rate, depth, gradients, divergent)


# Adaptation


@njit
def find_step(current, model, eps, mass, rng):
    """Double or halve a step until the acceptance probability of one leapfrog crosses TARGET.

    Returns (eps, how many leapfrogs that took); each has a momentum of its own.
    """
    direction, count = 0.0, 0
    while SMALLEST < eps < LARGEST:
        check_interrupt()
        start = point_at(current, momentum(rng.standard_normal(current.q.size), mass), mass)
        error = leapfrog(start, eps, model, mass).H - start.H
        count += 1
        accepts = np.isfinite(error) and -error > np.log(TARGET)
        if direction == 0.0:
            direction = 1.0 if accepts else -1.0
        if accepts != (direction > 0.0):
            break
        eps *= 2.0**direction
    return eps, count


def window_ends(warm_up):
    """List after how many transitions of the warm-up the mass is learned anew.

    The windows follow the first 75 transitions, have 25, 50, 100, ... each, and end 150 before the
    warm-up does; the last one is stretched where the next would not fit.  The first number that
    is returned is where they begin.  A warm-up of less than 250 is divided as 15, 70 and 15 %,
    with one window; one of less than 20 has none.
    """
    first, size, last = FIRST, WINDOW, LAST
    if warm_up < 20:
        return np.array([warm_up])
    if warm_up < first + size + last:
        first, last = int(0.15 * warm_up), int(0.15 * warm_up)
        size = warm_up - first - last
    found = [first]
    while found[-1] < warm_up - last:
        end = found[-1] + size
        size *= 2
        found.append(end if end + size <= warm_up - last else warm_up - last)
    return np.array(found)


# The sampler


class Chain(NamedTuple):
    """The record of the n transitions after the warm-up."""

    samples: np.ndarray  # (n, d) positions
    energies: np.ndarray  # (n,) their potential energies
    total_energies: np.ndarray  # (n,) H where each trajectory was left
    rates: np.ndarray  # (n,) acceptance statistic
    depths: np.ndarray  # (n,) int, doublings
    gradients: np.ndarray  # (n,) int
    divergent: np.ndarray  # (n,) bool
    step: float
    mass: tuple  # Diagonal or Dense, the inverse mass
    counts: Counts  # of the warm-up and the n transitions

    @property
    def divergences(self):
        """How many trajectories ended where H was not finite, or had risen by more than 1000."""
        return int(self.divergent.sum())

    @property
    def e_bfmi(self):
        """Share of the energy's variance that a new momentum renews; below 0.3 it is too little."""
        return float(np.mean(np.diff(self.total_energies)**2) / np.var(self.total_energies))


def check_nuts(q0, model, n, rng, warm_up=1000, mass="diagonal", target=TARGET, deepest=DEEPEST):
    """Check the arguments of nuts; return them with a mass and the windows of the warm-up."""
    model = validate.model("model", model, U, grad_U)
    q0 = validate.state("q0", q0, model, gradient=True)
    if any(each.layout != "C" for each in validate.list_returned(
            grad_U.implementations.get(type(model)))):
        raise ValueError(f"grad_U of {validate.class_name(type(model))} must return an array in C"
                         " order, not a column or a reversed one: return np.ascontiguousarray of"
                         " it")
    n, rng = validate.count("n", n), validate.generator("rng", rng)
    warm_up = validate.count("warm_up", warm_up, 0)
    if not (isinstance(mass, str) and mass in ("diagonal", "fisher", "dense")):
        raise ValueError("mass must be 'diagonal', 'fisher' or 'dense', not"
                         f" {validate.shown(mass)}")
    d = q0.size
    mass = Dense(np.eye(d), np.eye(d)) if mass == "dense" else Diagonal(np.ones(d),
                                                                        mass == "fisher")
    target = validate.real("target", target, 0.0, 1.0, open_low=True)
    deepest = validate.count("deepest", deepest)
    return q0, model, n, rng, warm_up, mass, target, deepest, window_ends(warm_up)


@warn_if_none_accepted
@public(check_nuts)
@njit
def nuts(q0, model, n, rng, warm_up, mass, target, deepest, ends):
    """Run NUTS from q0: a warm-up that adapts step and mass, and n transitions; return a Chain.

    Parameters
    ----------
    q0      : (d,) float64              where the chain starts; not modified
    model   : NamedTuple                any model that implements U and grad_U
    n       : int >= 1                  transitions that are recorded
    rng     : Generator                 advanced
    warm_up : int >= 0                  transitions before them, not recorded; default 1000
    mass    : str                       how the inverse mass is learned.  "diagonal" (the default):
                                        variances of the draws.  "fisher": ratios of the deviations
                                        of draws and gradients, which are learned sooner but may
                                        suit correlated variables less (reproduce/beyond/nuts.py).
                                        "dense": the covariance of the draws, for correlated
                                        variables if a product with a (d, d) matrix costs no more
                                        than a gradient
    target  : float in (0, 1]           acceptance rate of the warm-up; default 0.8; more, such as
                                        0.95, where trajectories diverge
    deepest : int >= 1                  doublings at most; default 10

    Raises ValueError, naming the argument, for anything else.  RuntimeWarning if n is at least ten
    and the chain stands where the warm-up left it, or if more than one trajectory in a hundred
    diverged.
    """
    begin = ends[0]
    draws, slopes = np.empty((warm_up, q0.size)), np.empty((warm_up, q0.size))
    state = state_at(q0, model)
    eps, total = find_step(state, model, 1.0, mass, rng)
    averages = dual_averaging(eps)
    for t in range(warm_up):
        check_interrupt()
        found = nuts_step(state, model, eps, mass, rng, deepest)
        state = found.state
        total += found.gradients
        draws[t], slopes[t] = state.q, state.g
        eps, averages = average(averages, found.rate, target)
        if t + 1 in ends[1:]:
            mass = learn(draws[begin : t + 1], slopes[begin : t + 1], mass)
            begin = t + 1
            eps, count = find_step(state, model, eps, mass, rng)
            total += count
            averages = dual_averaging(eps)
        if t + 1 == warm_up:
            eps = np.exp(averages.log_mean)
    return transitions(state, model, n, rng, eps, mass, deepest, total + 1)


@njit
def transitions(state, model, n, rng, eps, mass, deepest, total):
    """Run n transitions that adapt nothing, after `total` gradients; return a Chain."""
    chain = Chain(np.empty((n, state.q.size)), np.empty(n), np.empty(n), np.empty(n),
                  np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_), eps, mass,
                  Counts(0, 0))
    for t in range(n):
        check_interrupt()
        found = nuts_step(state, model, eps, mass, rng, deepest)
        state = found.state
        total += found.gradients
        chain.samples[t], chain.energies[t], chain.total_energies[t] = state.q, state.U, found.H
        chain.rates[t], chain.depths[t], chain.gradients[t] = (found.rate, found.depth,
                                                               found.gradients)
        chain.divergent[t] = found.divergent
    return Chain(chain.samples, chain.energies, chain.total_energies, chain.rates, chain.depths,
                 chain.gradients, chain.divergent, eps, mass, Counts(total, total))


def continue_chain(chain, model, n, rng, deepest=DEEPEST):
    """Return n more transitions of a Chain from its last state, with its step and its mass.

    Raises ValueError, naming the argument, for what nuts does not take or return.
    """
    return transitions(
        state_at(validate.state(
            "the last of chain.samples",
            validate.instance("chain", chain, Chain, "returned by nuts").samples[-1].copy(),
            validate.model("model", model, U, grad_U)), model),
        validate.model("model", model), validate.count("n", n), validate.generator("rng", rng),
        chain.step, chain.mass, validate.count("deepest", deepest), 1)


# The loop of nuts over its warm-up in pieces, with the same numbers: for who watches it


class WarmUp(NamedTuple):
    """Where a warm-up is."""

    state: State
    eps: float
    mass: tuple  # Diagonal or Dense
    averages: tuple
    draws: np.ndarray  # (warm_up, d), of which t are known
    slopes: np.ndarray  # (warm_up, d) gradients there
    begin: int  # of the window
    t: int  # transitions that were made
    total: int  # gradients


@njit
def begin_warm_up(q0, model, rng, warm_up, mass, ends):
    """Return the WarmUp before its first transition."""
    state = state_at(q0, model)
    eps, total = find_step(state, model, 1.0, mass, rng)
    return WarmUp(state, eps, mass, dual_averaging(eps), np.empty((warm_up, q0.size)),
                  np.empty((warm_up, q0.size)), ends[0], 0, total)


@njit
def continue_warm_up(now, model, n, rng, target, deepest, ends):
    """Return the WarmUp after n more transitions; its arrays are those of `now`."""
    state, eps, mass, averages, draws, slopes, begin, first, total = now
    for t in range(first, first + n):
        check_interrupt()
        found = nuts_step(state, model, eps, mass, rng, deepest)
        state = found.state
        total += found.gradients
        draws[t], slopes[t] = state.q, state.g
        eps, averages = average(averages, found.rate, target)
        if t + 1 in ends[1:]:
            mass = learn(draws[begin : t + 1], slopes[begin : t + 1], mass)
            begin = t + 1
            eps, count = find_step(state, model, eps, mass, rng)
            total += count
            averages = dual_averaging(eps)
        if t + 1 == draws.shape[0]:
            eps = np.exp(averages.log_mean)
    return WarmUp(state, eps, mass, averages, draws, slopes, begin, first + n, total)
