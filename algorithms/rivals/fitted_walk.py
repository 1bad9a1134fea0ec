"""Random-walk Metropolis whose proposals have a covariance that a pilot run has fitted.

In words    It is random-walk Metropolis whose noise has the shape of the density: a pilot run,
            thrown away afterwards, estimates the covariance.  It is valid as any random walk is,
            since the covariance stands still while the chain that is kept is run.  Use it where no
            gradient is to be had and the variables are correlated or of different scales, up to
            some tens of them.
Paper       G. O. Roberts, A. Gelman and W. R. Gilks (1997), "Weak convergence and optimal scaling
            of random walk Metropolis algorithms", Annals of Applied Probability 7, 110-120: how
            large.
            H. Haario, E. Saksman and J. Tamminen (2001), "An adaptive Metropolis algorithm",
            Bernoulli 7, 223-242: the covariance of the states so far, here of a pilot's.
Mirror      fitted_walk_step, line by line, as Metropolis et al. (1953), and pilot, whose numbers of
            the lines are ours.
Own lines   fitted_walk_step: U(q*) and the error have names of their own, since the chain keeps the
            one, so as not to compute it twice, and records the other.
            pilot: the arguments are checked, and what a round accepts and costs is recorded.

The covariance is fitted by `pilot` or by the Hessian at a mode, and then fixed: the chain is that
of a Metropolis algorithm, whose states do not change the covariance.  If the density is normal and
the covariance is 2.38^2 / d times its own, 44 % of the proposals are accepted for d = 1, and 23 %
for d -> infinity; for a density of several modes it can be far less.

Notation
--------
paper      here         shape    meaning
q          q            (d,)     state
q*         proposal     (d,)     proposed state
L          factor       (d, d)   L L' is the covariance of a proposal's distance
C, eps     S, FLOOR     (d, d)   covariance of the states, and what is added to its diagonal
s_d        2.38^2 / d   ()       what the covariance is multiplied by
U          U(q, model)  ()       potential energy, minus the log density up to a constant
"""

import warnings
from typing import NamedTuple

import numpy as np

from algorithms.hmc import Chain, Counts, warn_if_none_accepted
from models import validate
from models.interface import U
from models.jit import check_interrupt, njit, public
from models.linalg import cholesky

FLOOR = 1e-6  # a variance; eps of Haario et al., for a pilot in which nothing moves
OPTIMAL = 2.38**2
LEAST, MOST = 0.01, 0.9  # acceptance rate of a pilot's last round: outside there is a warning


@njit
def fitted_walk_step(q, current_U, model, factor, rng):
    """One transition of random-walk Metropolis, which leaves the density exp(-U) invariant.

    Mirror of Metropolis et al. 1953, with a covariance.

    Parameters
    ----------
    q         : (d,) float64     where the chain is; not modified
    current_U : float            its potential energy
    model     : NamedTuple       any model that implements U
    factor    : (d, d) float64   L
    rng       : Generator        advanced by d normals, then one uniform

    Returns (q, U, accepted, error): where the chain is next, its energy, whether that is the
    proposal (never one of infinite or nan energy), and U(q*) - U(q).
    """
    # 1   draw z ~ N(0, I)
    z = rng.standard_normal(q.size)
    # 2   q* <- q + L z
    proposal = q + factor @ z
    # ours
    proposed_U = U(proposal, model)
    error = proposed_U - current_U
    # 3   draw u ~ Uniform(0, 1);  if u < exp(U(q) - U(q*))
    #     theirs  silent about an energy that is infinite or not a number
    #     ours    such a proposal is rejected, and counted in `divergences`
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_an_error_that_is_not_finite_is_rejected_whatever_its_sign
    if rng.random() < np.exp(-error) and np.isfinite(error):
        # 4   return q*
        return proposal, proposed_U, True, error
    # 5   else return q
    return q, current_U, False, error


class Pilot(NamedTuple):
    """What a pilot run has found."""

    q: np.ndarray  # (d,) its last state
    covariance: np.ndarray  # (d, d) of the states of the last round
    factor: np.ndarray  # (d, d) lower, of 2.38^2 / d times that
    accepted: np.ndarray  # (rounds,) rate of acceptance
    density: int  # evaluations of U


def lower_factor(name, value, d):
    """Return `value` as a (d, d) lower triangular matrix with a positive diagonal."""
    value = validate.array(name, value, (d, d))
    if np.triu(value, 1).any() or not (np.diag(value) > 0).all():
        raise ValueError(f"{name} must be lower triangular with a positive diagonal, as a Cholesky"
                         " factor is")
    return value


def check_fitted_walk(q0, model, factor, n, rng, thin=1):
    """Check the arguments of fitted_walk."""
    model = validate.model("model", model, U)
    q0 = validate.state("q0", q0, model)
    return (q0, model, lower_factor("factor", factor, q0.size), validate.count("n", n),
            validate.generator("rng", rng), validate.count("thin", thin))


@warn_if_none_accepted
@public(check_fitted_walk)
@njit
def fitted_walk(q0, model, factor, n, rng, thin=1):
    """Run n * thin transitions from q0 and keep every thin-th state; return a Chain.

    Its samples and energies are of the n states kept, (n, d) and (n,); accepted and energy_error
    are of all transitions, (n thin,).

    Parameters
    ----------
    q0     : (d,) float64     where the chain starts; not modified
    model  : NamedTuple       any model that implements U
    factor : (d, d) float64   lower triangular with a positive diagonal: of the covariance of a
                              proposal's distance, as `pilot` returns it
    n      : int >= 1         states kept
    rng    : Generator        advanced, per transition, by d normals, then one uniform
    thin   : int >= 1         transitions per state kept; default 1

    Raises ValueError, naming the argument, for anything else.
    Warns if it accepts none of ten proposals or more.
    """
    chain = Chain(np.empty((n, q0.size)), np.empty(n), np.empty(n * thin, np.bool_),
                  np.empty(n * thin), Counts(n * thin + 1, 0))
    q, current_U = q0, U(q0, model)
    for t in range(n * thin):
        check_interrupt()
        q, current_U, chain.accepted[t], chain.energy_error[t] = fitted_walk_step(
            q, current_U, model, factor, rng)
        chain.samples[t // thin], chain.energies[t // thin] = q, current_U
    return chain


def check_pilot(q0, model, n, rng, rounds, scale):
    """Check the arguments of pilot; return all but the model."""
    model = validate.model("model", model, U)
    return (validate.state("q0", q0, model), validate.count("n", n, 2),
            validate.generator("rng", rng), validate.count("rounds", rounds),
            validate.real("scale", scale, 1e-100, 1e100))


def pilot(q0, model, n, rng, rounds=4, scale=0.1):
    """Fit the covariance of the proposals in a few rounds; return a Pilot.

    Mirror of Haario et al. 2001, equation (1), in rounds.

    Parameters
    ----------
    q0     : (d,) float64   where it starts; not modified
    model  : NamedTuple     any model that implements U
    n      : int >= 2       transitions in a round
    rng    : Generator      advanced as by rounds of fitted_walk
    rounds : int >= 1       how often the covariance is fitted; default 4
    scale  : float in [1e-100, 1e100]   standard deviation of the first round's proposals, in each
                            variable's units; default 0.1

    The density's standard deviations should be well above 1e-3, the root of eps in the covariance.

    Raises ValueError, naming the argument, for anything else, and warns if the last round accepts
    less than a hundredth of its proposals or, of several rounds, more than nine tenths.
    """
    q, n, rng, rounds, scale = check_pilot(q0, model, n, rng, rounds, scale)
    accepted, density = np.empty(rounds), 0
    # 1   C <- scale^2 d / 2.38^2 I
    S = scale**2 * q.size / OPTIMAL * np.eye(q.size)
    # 2   repeat `rounds` times
    for k in range(rounds):
        # 3   s_d <- 2.38^2 / d;  L L' <- s_d C
        factor = walk_factor(S)
        # 4   x_1, ..., x_n <- the states of a random walk from the last state, by L
        chain = fitted_walk(q, model, factor, n, rng)
        q = chain.samples[-1].copy()
        # 5   mean <- their mean
        mean = chain.samples.mean(axis=0)
        # 6   C <- 1 / (n - 1) sum_i (x_i - mean)(x_i - mean)' + eps I
        #     theirs  the covariance of all states so far goes on changing
        #     ours    it is that of the last of a few rounds, and the chain after them does not
        #             change it
        #     why     a chain that changes it is no Markov chain; what a pilot costs is counted
        #             apart
        #     test    a label
        x = chain.samples - mean
        S = x.T @ x / (n - 1) + FLOOR * np.eye(q.size)
        # ours
        accepted[k], density = chain.accepted.mean(), density + chain.counts.density
    if accepted[-1] < LEAST:
        warnings.warn(f"the last round of the pilot accepted {accepted[-1]:.2%}: take more rounds,"
                      " or units in which standard deviations are about 1; one far below"
                      f" {FLOOR**0.5:g} cannot be fitted", RuntimeWarning, stacklevel=2)
    if accepted[-1] > MOST and rounds > 1:
        warnings.warn(f"the last round of the pilot accepted {accepted[-1]:.2%}: it does not know"
                      " yet how wide the density is; take more rounds, a larger scale, or units in"
                      " which standard deviations are about 1", RuntimeWarning, stacklevel=2)
    return Pilot(q, S, walk_factor(S), accepted, density)


def walk_factor(covariance):
    """Return the lower factor of 2.38^2 / d times a covariance of the density, (d, d).

    Raises ValueError if `covariance` is not symmetric and positive definite.
    """
    covariance = validate.covariance("covariance", covariance)
    L, ok = cholesky(OPTIMAL / len(covariance) * covariance)
    if not ok:
        raise ValueError("covariance must be positive definite, but its Cholesky factorisation"
                         " failed")
    return L
