r"""The No-U-Turn Sampler as it was published: slices, a recursion, and dual averaging of the step.

In words    HMC needs a number of steps; NUTS finds it.  It follows a trajectory forwards and
            backwards in time, twice as far with each doubling, until the two ends begin to come
            closer again, and draws the next state among those points of it that lie in a slice
            below the density.  It is valid because every one of these points would have led to the
            same trajectory with the same probability.  The step size is found while the chain warms
            up, by an average that drives the acceptance rate to what is wanted.  Use the twin,
            algorithms/hoffman_nuts_fast.py, which is NUTS as it is today.
Paper       M. D. Hoffman and A. Gelman (2014), "The No-U-Turn Sampler: Adaptively Setting Path
            Lengths in Hamiltonian Monte Carlo", Journal of Machine Learning Research 15, 1593-1623.
            Here it is a rival of what Zhang and Sutton propose.
Mirror      leapfrog (Algorithm 1), nuts_step (3), find_reasonable_epsilon (4), average (5, 6),
            hmc_dual_averaging (5), build_tree and nuts_dual_averaging (6).
Own lines   find_reasonable_epsilon: the ratio has a name, since it must be 0 and not nan
            where an energy is not finite.
            nuts_dual_averaging: the arrays of the Chain are the record of the transitions.

The paper was not at hand.  Its algorithms are restated from what they do; the numbers and the
wording of the lines are ours, and nothing here speaks of the paper's figures.  "Theirs silent"
says what our restated line leaves open; the paper's text may say it elsewhere.

BuildTree of Algorithm 6 is that of Algorithm 3 with two more results, alpha and n_alpha; here it
serves both.  In Algorithm 6 the tree of a transition is that of Algorithm 3, and a line says so.
In Algorithms 5 and 6 the averaged step stands in an `else`; ours begins one transition earlier.

A leapfrog evaluates two gradients, and each new point evaluates U, as the lines say.  Machine code
of a recursion cannot be kept (models/cache.py): each process compiles it anew.

Notation
--------
paper              here              shape    meaning
theta, r           theta, r          (d,)     position and momentum; the mass is 1
L(theta)           -U(theta, model)  ()       log density up to a constant
u                  log_u             ()       slice: points whose joint density is above it
epsilon            eps               ()       step size
v, j               v, j              ()       direction of time, -1 or 1; depth of a tree
theta-, theta+     minus, plus       (d,)     positions of the first and the last point in time
n, s               n, s              ()       points in the slice; 1 as long as the tree may grow
Delta_max          DELTA_MAX         ()       how far below the slice a point ends the tree
alpha, n_alpha     alpha, n_alpha    ()       sum of acceptance probabilities, and of how many
delta, lambda      target, length    ()       wanted acceptance rate; HMC's trajectory length
mu, gamma          averages.mu, GAMMA         of dual averaging: what log eps is drawn to, and how
                                              strongly
t_0, kappa         T_0, KAPPA                 how much the first errors are damped, and how fast
                                              eps-bar forgets the first steps
H-bar, eps-bar     gap, log_mean     ()       average of delta - alpha / n_alpha, of log eps
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.interface import U, grad_U
from models.jit import check_interrupt, njit, public

DELTA_MAX = 1000.0
DEEPEST = 10  # doublings
GAMMA, T_0, KAPPA = 0.05, 10.0, 0.75
SMALLEST, LARGEST = 1e-150, 1e150  # steps that the search may reach


@njit
def leapfrog(theta, r, eps, model):
    """One step, forwards in time or, with eps < 0, backwards.

    Mirror of Hoffman and Gelman 2014, Algorithm 1.
    """
    # 1   r' <- r + (eps / 2) grad L(theta)
    r_ = r - eps / 2 * grad_U(theta, model)
    # 2   theta' <- theta + eps r'
    theta_ = theta + eps * r_
    # 3   r' <- r' + (eps / 2) grad L(theta')
    r_ = r_ - eps / 2 * grad_U(theta_, model)
    # 4   return theta', r'
    return theta_, r_


@njit
def log_joint(theta, r, model):
    """L(theta) - r'r / 2, minus the total energy; -inf where that is not finite."""
    found = -U(theta, model) - r @ r / 2
    return found if np.isfinite(found) else -np.inf


class Tree(NamedTuple):
    """What BuildTree returns: the ends of a tree and what is known of its points."""

    minus: np.ndarray  # (d,) theta-
    r_minus: np.ndarray
    plus: np.ndarray  # (d,) theta+
    r_plus: np.ndarray
    theta: np.ndarray  # (d,) a point of the slice, if there is one
    n: int  # points in the slice
    s: int  # 1 if no part of the tree turns, and no point is far below the slice
    alpha: float  # sum of the acceptance probabilities of its points
    n_alpha: int  # points
    far: int  # points that are far below the slice


@njit
def build_tree(theta, r, log_u, v, j, eps, joint_0, model, rng):
    """Build the tree of 2^j points that follow (theta, r) in the direction v, as far as s = 1.

    Mirror of Hoffman and Gelman 2014, Algorithm 6.

    Parameters
    ----------
    theta, r : (d,) float64   the point before the first one of the tree
    log_u    : float          log of the slice variable
    v, j     : int            -1 or 1; depth
    eps      : float > 0      step size
    joint_0  : float          L(theta_0) - r_0.r_0 / 2 at the start of the transition
    model    : NamedTuple     any model that implements U and grad_U
    rng      : Generator      advanced by one uniform for each pair of trees

    Returns a Tree.
    """
    check_interrupt()
    # 1   if j = 0 then
    if j == 0:
        # 2   theta', r' <- Leapfrog(theta, r, v eps)
        theta_, r_ = leapfrog(theta, r, v * eps, model)
        # 3   n' <- [u <= exp(L(theta') - r'.r' / 2)]
        #     theirs  silent about an energy that is infinite or not a number
        #     ours    such a point is in no slice, and ends the tree
        #     why     a state of energy -inf would be drawn, and never left again
        #     test    test_a_point_whose_energy_is_minus_infinity_is_never_drawn
        joint = log_joint(theta_, r_, model)
        n_ = int(log_u <= joint)
        # 4   s' <- [u < exp(Delta_max + L(theta') - r'.r' / 2)]
        s_ = int(log_u < DELTA_MAX + joint)
        # 5   return theta', r', theta', r', theta', n', s',
        #         min(1, exp(L(theta') - r'.r' / 2 - L(theta_0) + r_0.r_0 / 2)), 1
        return Tree(theta_, r_, theta_, r_, theta_, n_, s_, min(1.0, np.exp(joint - joint_0)), 1,
                    1 - s_)
    # 6   theta-, r-, theta+, r+, theta', n', s', alpha', n_alpha' <-
    #         BuildTree(theta, r, u, v, j - 1, eps, theta_0, r_0)
    tree = build_tree(theta, r, log_u, v, j - 1, eps, joint_0, model, rng)
    # 7   if s' = 1 then
    if tree.s == 1:
        # 8   if v = -1 then
        if v == -1:
            # 9   theta-, r-, -, -, theta'', n'', s'', alpha'', n_alpha'' <-
            #         BuildTree(theta-, r-, u, v, j - 1, eps, theta_0, r_0)
            new = build_tree(tree.minus, tree.r_minus, log_u, v, j - 1, eps, joint_0, model, rng)
            minus, r_minus, plus, r_plus = new.minus, new.r_minus, tree.plus, tree.r_plus
        # 10  else
        else:
            # 11  -, -, theta+, r+, theta'', n'', s'', alpha'', n_alpha'' <-
            #         BuildTree(theta+, r+, u, v, j - 1, eps, theta_0, r_0)
            new = build_tree(tree.plus, tree.r_plus, log_u, v, j - 1, eps, joint_0, model, rng)
            minus, r_minus, plus, r_plus = tree.minus, tree.r_minus, new.plus, new.r_plus
        # 12  with probability n'' / (n' + n''):  theta' <- theta''
        #     theirs  silent about 0 / 0, where no point is in the slice
        #     ours    theta' stays
        #     why     a probability has to be a number; the transition moves to no such tree
        #     test    a label
        chosen = rng.random() < new.n / max(tree.n + new.n, 1)
        theta_ = new.theta if chosen else tree.theta
        # 13  alpha' <- alpha' + alpha'', n_alpha' <- n_alpha' + n_alpha''
        alpha, n_alpha = tree.alpha + new.alpha, tree.n_alpha + new.n_alpha
        # 14  s' <- s'' [(theta+ - theta-)' r- >= 0] [(theta+ - theta-)' r+ >= 0]
        s_ = new.s * no_turn(minus, r_minus, plus, r_plus)
        # 15  n' <- n' + n''
        n_ = tree.n + new.n
        # ours
        tree = Tree(minus, r_minus, plus, r_plus, theta_, n_, s_, alpha, n_alpha, new.far)
    # 16  return theta-, r-, theta+, r+, theta', n', s', alpha', n_alpha'
    return tree


@njit
def no_turn(minus, r_minus, plus, r_plus):
    """1 if neither end of a trajectory is coming closer to the other one, else 0."""
    way = plus - minus
    return int(way @ r_minus >= 0) * int(way @ r_plus >= 0)


class Transition(NamedTuple):
    """A transition of NUTS."""

    theta: np.ndarray  # (d,) where the chain is next
    alpha: float  # of the last tree that was built
    n_alpha: int
    depth: int  # doublings, the last one included
    leapfrogs: int
    divergent: bool  # whether a point was far below the slice


@njit
def nuts_step(theta_0, model, eps, deepest, rng):
    """One transition of NUTS, which leaves the density exp(-U) invariant.

    Mirror of Hoffman and Gelman 2014, Algorithm 3.

    Parameters
    ----------
    theta_0 : (d,) float64   where the chain is; not modified
    model   : NamedTuple     any model that implements U and grad_U
    eps     : float > 0      step size
    deepest : int >= 1       doublings at most
    rng     : Generator      advanced by d normals, one exponential, and uniforms: two for each
                             doubling that succeeds, one for others, and those of BuildTree

    Returns a Transition.
    """
    # 1   draw r_0 ~ N(0, I)
    r_0 = rng.standard_normal(theta_0.size)
    # 2   draw u ~ Uniform(0, exp(L(theta_0) - r_0.r_0 / 2))
    #     theirs  u
    #     ours    log u: a uniform is exp of minus a standard exponential
    #     why     u is 0 where L(theta_0) < -745, and then every point is in the slice
    #     test    test_the_slice_is_right_where_the_density_underflows
    joint_0 = log_joint(theta_0, r_0, model)
    log_u = joint_0 - rng.standard_exponential()
    # 3   theta-, theta+ <- theta_0;  r-, r+ <- r_0
    minus, r_minus, plus, r_plus = theta_0, r_0, theta_0, r_0
    # 4   j <- 0, theta <- theta_0, n <- 1, s <- 1
    j, theta, n, s = 0, theta_0, 1, 1
    # ours
    alpha, n_alpha, leapfrogs, divergent = 0.0, 1, 0, False
    # 5   while s = 1 do
    #     theirs  until the tree turns
    #     ours    or until it has 2^deepest points
    #     why     a step that is much too small would take a trajectory of any length
    #     test    test_a_tree_is_no_deeper_than_it_may_be
    while s == 1 and j < deepest:
        # 6   draw v ~ Uniform({-1, 1})
        v = -1 if rng.random() < 0.5 else 1
        # 7   if v = -1 then
        if v == -1:
            # 8   theta-, r-, -, -, theta', n', s' <- BuildTree(theta-, r-, u, v, j, eps)
            tree = build_tree(minus, r_minus, log_u, v, j, eps, joint_0, model, rng)
            minus, r_minus = tree.minus, tree.r_minus
        # 9   else
        else:
            # 10  -, -, theta+, r+, theta', n', s' <- BuildTree(theta+, r+, u, v, j, eps)
            tree = build_tree(plus, r_plus, log_u, v, j, eps, joint_0, model, rng)
            plus, r_plus = tree.plus, tree.r_plus
        # 11  if s' = 1 then
        if tree.s == 1:
            # 12  with probability min(1, n' / n):  theta <- theta'
            theta = tree.theta if rng.random() < tree.n / n else theta
        # 13  n <- n + n'
        n = n + tree.n
        # 14  s <- s' [(theta+ - theta-)' r- >= 0] [(theta+ - theta-)' r+ >= 0]
        s = tree.s * no_turn(minus, r_minus, plus, r_plus)
        # 15  j <- j + 1
        j = j + 1
        # ours
        alpha, n_alpha, leapfrogs = tree.alpha, tree.n_alpha, leapfrogs + tree.n_alpha
        divergent = divergent or tree.far > 0
    # 16  return theta
    return Transition(theta, alpha, n_alpha, j, leapfrogs, divergent)


@njit
def find_reasonable_epsilon(theta, model, rng):
    """Find a step whose acceptance probability is near 1/2, to a factor of 2.

    Mirror of Hoffman and Gelman 2014, Algorithm 4.

    rng is advanced by d normals.
    """
    # 1   eps <- 1, draw r ~ N(0, I)
    eps, r = 1.0, rng.standard_normal(theta.size)
    # 2   theta', r' <- Leapfrog(theta, r, eps)
    theta_, r_ = leapfrog(theta, r, eps, model)
    # ours: log_ratio is log p(theta', r') / p(theta, r), -inf where that is not finite
    log_ratio = log_joint(theta_, r_, model) - log_joint(theta, r, model)
    # 3   a <- 2 [p(theta', r') / p(theta, r) > 1/2] - 1
    a = 1.0 if log_ratio > np.log(0.5) else -1.0
    # 4   while (p(theta', r') / p(theta, r))^a > 2^-a do
    #     theirs  as long as that is so
    #     ours    and as long as eps is between 1e-150 and 1e150
    #     why     where the density is flat, every step is accepted, and the search has no end
    #     test    test_the_search_of_a_step_ends_on_a_flat_density
    while a * log_ratio > a * np.log(0.5) and SMALLEST < eps < LARGEST:
        # 5   eps <- 2^a eps
        eps = 2.0**a * eps
        # 6   theta', r' <- Leapfrog(theta, r, eps)
        theta_, r_ = leapfrog(theta, r, eps, model)
        # ours
        log_ratio = log_joint(theta_, r_, model) - log_joint(theta, r, model)
    # 7   return eps
    return eps


class Averages(NamedTuple):
    """The state of dual averaging."""

    mu: float
    gap: float  # H-bar
    log_mean: float  # log eps-bar
    m: int  # transitions so far


@njit
def dual_averaging(eps_0):
    """Return the Averages before the first transition, for a first step eps_0."""
    return Averages(np.log(10.0 * eps_0), 0.0, 0.0, 0)


@njit
def average(averages, rate, target):
    """Take in the acceptance rate of a transition; return (eps, Averages).

    Mirror of Hoffman and Gelman 2014, Algorithms 5 and 6.
    """
    # ours
    m = averages.m + 1
    # 1   H-bar_m <- (1 - 1 / (m + t_0)) H-bar_(m - 1) + (delta - alpha / n_alpha) / (m + t_0)
    gap = (1.0 - 1.0 / (m + T_0)) * averages.gap + (target - rate) / (m + T_0)
    # 2   log eps_m <- mu - sqrt(m) H-bar_m / gamma
    log_eps = averages.mu - np.sqrt(m) * gap / GAMMA
    # 3   log eps-bar_m <- m^-kappa log eps_m + (1 - m^-kappa) log eps-bar_(m - 1)
    log_mean = m**-KAPPA * log_eps + (1.0 - m**-KAPPA) * averages.log_mean
    # 4   return eps_m
    return np.exp(log_eps), Averages(averages.mu, gap, log_mean, m)


class Chain(NamedTuple):
    """The record of n transitions of NUTS, or of HMC; depth and divergent are of NUTS."""

    samples: np.ndarray  # (n, d) positions
    rates: np.ndarray  # (n,) alpha / n_alpha
    steps: np.ndarray  # (n,) eps of each transition
    leapfrogs: np.ndarray  # (n,) int, each of two gradients
    depths: np.ndarray  # (n,) int
    divergent: np.ndarray  # (n,) bool


@njit
def empty_chain(n, d):
    """Return a Chain of n transitions to be written into."""
    return Chain(np.empty((n, d)), np.empty(n), np.empty(n), np.zeros(n, np.int64),
                 np.zeros(n, np.int64), np.zeros(n, np.bool_))


def check_common(q0, model, n, rng, warm_up, target):
    """Check the arguments that both samplers have."""
    model = validate.model("model", model, U, grad_U)
    q0 = validate.state("q0", q0, model, gradient=True)
    n, warm_up = validate.count("n", n), validate.count("warm_up", warm_up, 0)
    if warm_up > n:
        raise ValueError(f"warm_up must be at most n = {n}, not {warm_up}")
    return (q0, model, n, validate.generator("rng", rng), warm_up,
            validate.real("target", target, 0.0, 1.0, open_low=True))


def check_nuts(q0, model, n, rng, warm_up, target=0.65, eps=None, deepest=DEEPEST):
    """Check the arguments of nuts_dual_averaging; a step that is None becomes 0."""
    if eps is not None:
        eps = validate.real("eps", eps, 0.0, open_low=True)
    deepest = validate.count("deepest", deepest)
    return *check_common(q0, model, n, rng, warm_up, target), eps or 0.0, deepest


@public(check_nuts)
@njit
def nuts_dual_averaging(q0, model, n, rng, warm_up, target=0.65, eps=0.0, deepest=DEEPEST):
    """Run n transitions of NUTS from q0, adapting the step in the first ones; return a Chain.

    Mirror of Hoffman and Gelman 2014, Algorithm 6.

    Parameters
    ----------
    q0      : (d,) float64           where the chain starts; not modified
    model   : NamedTuple             any model that implements U and grad_U
    n       : int >= 1               transitions
    rng     : Generator              advanced by find_reasonable_epsilon, then, per transition, as
                                     by nuts_step
    warm_up : int from 0 to n        transitions that adapt the step
    target  : float in (0, 1]        wanted acceptance rate, delta; default 0.65
    eps     : float > 0 or None      the step at the start, which all transitions have if warm_up is
                                     0; None, the default: Algorithm 4 finds one
    deepest : int >= 1               doublings at most; default 10

    Raises ValueError, naming the argument, for anything else.
    """
    # ours
    chain, theta = empty_chain(n, q0.size), q0
    # 1   eps_0 <- FindReasonableEpsilon(theta_0)
    eps = eps if eps > 0.0 else find_reasonable_epsilon(theta, model, rng)
    # 2   mu <- log(10 eps_0), eps-bar_0 <- 1, H-bar_0 <- 0
    averages = dual_averaging(eps)
    # 3   for m = 1 to M do
    for m in range(1, n + 1):
        check_interrupt()
        # 4   theta_m, alpha, n_alpha <- lines 1 to 16 of Algorithm 3, with the step eps_(m - 1);
        #         alpha and n_alpha are those of its last tree
        found = nuts_step(theta, model, eps, deepest, rng)
        theta, rate = found.theta, found.alpha / found.n_alpha
        # ours
        chain.samples[m - 1], chain.rates[m - 1], chain.steps[m - 1] = theta, rate, eps
        chain.leapfrogs[m - 1], chain.depths[m - 1] = found.leapfrogs, found.depth
        chain.divergent[m - 1] = found.divergent
        # 5   if m <= M_adapt then
        if m <= warm_up:
            # 6   H-bar_m, eps_m and eps-bar_m from alpha / n_alpha
            eps, averages = average(averages, rate, target)
        # 7   else  eps_m <- eps-bar of M_adapt
        #     theirs  transition M_adapt + 1 still has the last step of the search; with M_adapt = 0
        #             the step is eps-bar_0 = 1 from the second transition on
        #     ours    transition M_adapt + 1 has the averaged step; with M_adapt = 0 eps_0 stays
        #     why     all transitions after the warm-up are to have one step
        #     test    test_adaptation_of_the_mirror_ends_with_the_warm_up
        if m == warm_up:
            eps = np.exp(averages.log_mean)
    # 8   return theta_1, ..., theta_M
    return chain


def check_hmc(q0, model, length, n, rng, warm_up, target=0.65):
    """Check the arguments of hmc_dual_averaging."""
    q0, model, *others = check_common(q0, model, n, rng, warm_up, target)
    return q0, model, validate.real("length", length, 0.0, 1e9, open_low=True), *others


@public(check_hmc)
@njit
def hmc_dual_averaging(q0, model, length, n, rng, warm_up, target=0.65):
    """Run n transitions of HMC whose trajectories have one length; return a Chain.

    Mirror of Hoffman and Gelman 2014, Algorithm 5.

    Parameters
    ----------
    q0      : (d,) float64           where the chain starts; not modified
    model   : NamedTuple             any model that implements U and grad_U
    length  : float in (0, 1e9]      of a trajectory, lambda = eps L
    n       : int >= 1               transitions
    rng     : Generator              advanced by find_reasonable_epsilon, then, per transition, by d
                                     normals and one uniform
    warm_up : int from 0 to n        transitions that adapt the step
    target  : float in (0, 1]        wanted acceptance rate, delta; default 0.65

    Raises ValueError, naming the argument, for anything else.
    """
    # ours
    chain, theta = empty_chain(n, q0.size), q0
    # 1   eps_0 <- FindReasonableEpsilon(theta_0)
    eps = find_reasonable_epsilon(theta, model, rng)
    # 2   mu <- log(10 eps_0), eps-bar_0 <- 1, H-bar_0 <- 0
    averages = dual_averaging(eps)
    # 3   for m = 1 to M do
    for m in range(1, n + 1):
        # 4   draw r_0 ~ N(0, I)
        r_0 = rng.standard_normal(theta.size)
        # 5   theta' <- theta_(m - 1), r' <- r_0, L_m <- max(1, round(lambda / eps_(m - 1)))
        theta_, r_, L = theta, r_0, max(1, round(length / eps))
        # 6   for i = 1 to L_m do
        for _ in range(L):
            check_interrupt()
            # 7   theta', r' <- Leapfrog(theta', r', eps_(m - 1))
            theta_, r_ = leapfrog(theta_, r_, eps, model)
        # 8   alpha <- min(1, exp(L(theta') - r'.r' / 2 - L(theta_(m - 1)) + r_0.r_0 / 2)),
        #         with the departure of BuildTree, line 3: 0 if that energy is not finite
        error = log_joint(theta, r_0, model) - log_joint(theta_, r_, model)
        alpha = min(1.0, np.exp(-error))
        # 9   with probability alpha:  theta_m <- theta', otherwise theta_m <- theta_(m - 1)
        theta = theta_ if rng.random() < alpha else theta
        # ours
        chain.samples[m - 1], chain.rates[m - 1], chain.steps[m - 1] = theta, alpha, eps
        chain.leapfrogs[m - 1] = L
        # 10  if m <= M_adapt then
        if m <= warm_up:
            # 11  H-bar_m, eps_m and eps-bar_m from alpha
            eps, averages = average(averages, alpha, target)
        # 12  else  eps_m <- eps-bar of M_adapt,  with the departure of Algorithm 6, line 7
        if m == warm_up:
            eps = np.exp(averages.log_mean)
    # 13  return theta_1, ..., theta_M
    return chain
