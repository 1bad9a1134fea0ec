"""Hamiltonian Monte Carlo with the leapfrog integrator and a constant mass matrix.

In words    The variable gets a random velocity and glides over the landscape of minus the log
            density for a number of small steps; where it ends is the proposal.  It is valid because
            the steps can be run backwards and preserve volume, so that a Metropolis test with the
            change of the total energy is all that is needed to make up for the error of finite
            steps.  Use it for smooth densities of many continuous variables whose gradient can be
            computed, with a mass matrix if their scales differ.
Paper       R. M. Neal (2011), "MCMC using Hamiltonian dynamics", Handbook of MCMC, chapter 5;
            Paquet and Fraccaro (2016), Section 2, equations (6) to (9); the baseline of Shahbaba
            et al. (2014), Section 3.3.  Lines 4 to 8 are the leapfrog, equation (3) of Shahbaba et
            al. and (9) of Paquet and Fraccaro, with the half steps between two steps joined.
Mirror      hmc_step is Neal's Figure 2 with the mass matrix M of Paquet and Fraccaro, Section 2;
            the numbers of the lines are ours.

A transition takes L gradients, and U once, with the last of them: U and its gradient at current_q,
in lines 4 and 10, are those that the transition before has left.

Notation
--------
paper             here            shape    meaning
q (x), p          q, p            (d,)     position (the variable sampled) and momentum
epsilon           eps             ()       leapfrog step size
L (l_max)         L               ()       leapfrog steps in a trajectory
M                 L_M             (d, d)   mass matrix, M = L_M L_M'; None for unit masses
U(q) (-L(x))      state.U         ()       potential energy, minus the log density up to a constant
grad U(q)         state.g         (d,)     its gradient; with U(q) known from the last transition
K(p)              kinetic(p)      ()       kinetic energy, p' M^-1 p / 2
"""

import warnings
from functools import wraps
from typing import NamedTuple

import numpy as np

from models import validate
from models.interface import U, U_and_grad_U, grad_U
from models.jit import check_interrupt, njit, public
from models.linalg import cholesky, solve_lower, solve_lower_transposed


@njit
def hmc_step(current, model, eps, L, L_M, rng):
    """One transition of HMC, which leaves the density exp(-U) invariant.

    Mirror of Neal 2011, Figure 2.

    Parameters
    ----------
    current   : State           where the chain is, at current_q; not modified
    model     : NamedTuple      any model in models/ that implements U and grad_U
    eps, L    : float, int      step size > 0, number of steps >= 1
    L_M       : (d, d) or None  lower Cholesky factor of the mass matrix; None for unit masses
    rng       : Generator       advanced by d normals, then one uniform

    Returns
    -------
    state     : State           where the chain is next
    accepted  : bool            False too when the proposal's energy is infinite or nan
    error     : float           H at the end of the trajectory minus H at its start

    L gradients: the one at the start is part of `current`, that at the end of `state`.
    """
    # 1   q <- current_q
    q = current.q
    # 2   draw p ~ N(0, M)
    p = momentum(rng.standard_normal(q.size), L_M)
    # 3   current_p <- p
    current_p = p
    # 4   p <- p - eps grad U(q) / 2
    p = p - eps * current.g / 2
    # 5   for i = 1, ..., L
    for i in range(1, L + 1):
        check_interrupt()
        # 6   q <- q + eps M^-1 p
        q = q + eps * velocity(p, L_M)
        # 7   if i != L:  p <- p - eps grad U(q)
        if i != L:
            p = p - eps * grad_U(q, model)
    # ours
    proposal = state_at(q, model)
    # 8   p <- p - eps grad U(q) / 2
    p = p - eps * proposal.g / 2
    # 9   p <- -p
    p = -p
    # 10  current_U <- U(current_q)
    current_U = current.U
    # 11  current_K <- current_p' M^-1 current_p / 2
    current_K = kinetic(current_p, L_M)
    # 12  proposed_U <- U(q)
    proposed_U = proposal.U
    # 13  proposed_K <- p' M^-1 p / 2
    proposed_K = kinetic(p, L_M)
    # ours: min(1, exp(-error)) is the probability of acceptance, Paquet and Fraccaro's (8)
    error = proposed_U - current_U + proposed_K - current_K
    # 14  draw u ~ Uniform(0, 1);  if u < exp(current_U - proposed_U + current_K - proposed_K)
    #     theirs  silent about an energy that is infinite or not a number
    #     ours    such a proposal is rejected, and counted in `divergences`
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_an_error_that_is_not_finite_is_rejected_whatever_its_sign
    if rng.random() < np.exp(-error) and np.isfinite(error):
        # 15  return q
        return proposal, True, error
    # 16  else return current_q
    return current, False, error


@njit
def momentum(z, L_M):
    """L_M z, which is N(0, M) if z is N(0, I)."""
    return z if L_M is None else L_M @ z


@njit
def velocity(p, L_M):
    """M^-1 p, the gradient of the kinetic energy."""
    if L_M is None:
        return p
    return solve_lower_transposed(L_M, solve_lower(L_M, p))


@njit
def kinetic(p, L_M):
    """p' M^-1 p / 2."""
    return p @ velocity(p, L_M) / 2


class State(NamedTuple):
    """A state of the chain, and what is known of it; made by state_at."""

    q: np.ndarray  # (d,)
    U: float
    g: np.ndarray  # (d,) grad U(q)


@njit
def state_at(q, model):
    """Return the State at q."""
    energy, g = U_and_grad_U(q, model)
    return State(q, energy, g)


class Counts(NamedTuple):
    """Evaluations over a whole run."""

    density: int  # of U; in HMC each comes together with a gradient
    gradient: int  # of grad U


class Chain(NamedTuple):
    """The record of n transitions."""

    samples: np.ndarray  # (n, d) positions
    energies: np.ndarray  # (n,) their potential energies
    accepted: np.ndarray  # (n,) bool
    energy_error: np.ndarray  # (n,) H at the end of the trajectory minus H at its start
    counts: Counts

    @property
    def divergences(self):
        """How many proposals had an H that was not finite; sampling/run.py adds rises over 1000."""
        return int(np.sum(~np.isfinite(self.energy_error)))


@njit
def draw_step(eps, jitter, rng):
    """Return a draw from Uniform((1 - jitter) eps, eps); without jitter eps itself, and no draw.

    One draw has to serve a whole trajectory: only then does a trajectory of the same steps lead
    back.  Shahbaba et al. (2014), Section 3.3, with jitter = 0.2.
    """
    return eps - jitter * eps * rng.random() if jitter > 0.0 else eps


def warn_if_none_accepted(sampler):
    """Make an entry point warn if all of ten proposals or more failed, or NUTS diverges often."""

    @wraps(sampler)
    def function(*arguments, **named):
        chain = sampler(*arguments, **named)
        if hasattr(chain, "accepted"):
            n, moved, remedy = chain.accepted.size, chain.accepted.any(), "a smaller step"
        else:  # NUTS, which has no step and nearly always moves
            n, moved = len(chain.samples), np.ptp(chain.samples, axis=0).any()
            remedy = "a larger target, such as 0.95, and a warm_up of 250 or more"
        diverged = getattr(chain, "divergences", 0)
        if n >= 10 and not moved:
            warnings.warn(f"none of {n} proposals was accepted"
                          + f"; {diverged} of them diverged" * (diverged > 0)
                          + f": take {remedy}, or begin elsewhere", RuntimeWarning, stacklevel=2)
        elif n >= 10 and diverged > 0.01 * n and not hasattr(chain, "accepted"):
            warnings.warn(f"{diverged} of {n} trajectories diverged: take {remedy}, or other"
                          " coordinates", RuntimeWarning, stacklevel=2)
        return chain

    return function


def check_hmc(q0, model, eps, L, n, rng, M=None, jitter=0.0):
    """Check the arguments of hmc; return them with the Cholesky factor in place of M."""
    model = validate.model("model", model, U, grad_U)
    q0 = validate.state("q0", q0, model, gradient=True)
    if M is not None:
        M = validate.covariance("M", validate.array("M", M, (q0.size, q0.size)))
        M, ok = cholesky(M)
        if not ok:
            raise ValueError("M must be positive definite, but its Cholesky factorisation failed")
    return (q0, model, validate.real("eps", eps, 0.0, open_low=True), validate.count("L", L),
            validate.count("n", n), validate.generator("rng", rng), M,
            validate.real("jitter", jitter, 0.0, 1.0))


@warn_if_none_accepted
@public(check_hmc)
@njit
def hmc(q0, model, eps, L, n, rng, M=None, jitter=0.0):
    """Run n transitions of HMC from q0; return a Chain.

    Parameters
    ----------
    q0     : (d,) float64               where the chain starts; not modified
    model  : NamedTuple                 any model that implements U and grad_U
    eps, L : float > 0, int >= 1        step size and leapfrog steps per transition
    n      : int >= 1                   transitions
    rng    : Generator                  advanced, per transition, by one uniform if jitter > 0,
                                        then by d normals and one uniform
    M      : (d, d) float64 or None     mass matrix, symmetric positive definite; None is I
    jitter : float in [0, 1]            the step of a transition is drawn from
                                        Uniform((1 - jitter) eps, eps); default 0

    Chain: samples (n, d), energies U and accepted (n,), energy_error (n,), counts, divergences.

    Raises ValueError, naming the argument, for anything else.  RuntimeWarning if n is at least ten
    and nothing is accepted: the chain stands where it started.
    """
    chain = Chain(np.empty((n, q0.size)), np.empty(n), np.empty(n, np.bool_), np.empty(n),
                  Counts(n + 1, L * n + 1))
    state = state_at(q0, model)
    for t in range(n):
        check_interrupt()
        step = draw_step(eps, jitter, rng)
        state, chain.accepted[t], chain.energy_error[t] = hmc_step(state, model, step, L, M, rng)
        chain.samples[t], chain.energies[t] = state.q, state.U
    return chain


def trajectory(q, p, model, eps, L):
    """Follow the leapfrog steps of a trajectory with unit masses, Paquet and Fraccaro's (9).

    Returns the positions, (L + 1, d), and the energies H, (L + 1,), from the start on.
    """
    if np.shape(p) != np.shape(q):  # which NumPy may take for one number for all
        raise ValueError(f"p must have shape {np.shape(q)}, as q has, not {np.shape(p)}")
    path, energies = [q], [U(q, model) + p @ p / 2]
    for _ in range(L):
        p = p - eps / 2 * grad_U(q, model)
        q = q + eps * p
        p = p - eps / 2 * grad_U(q, model)
        path.append(q)
        energies.append(U(q, model) + p @ p / 2)
    return np.array(path), np.array(energies)
