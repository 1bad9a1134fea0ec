"""The same two algorithms as algorithms/shahbaba_split_hmc.py, without a gradient twice.  Read that
first.

A half step that begins a step has the gradient of the one that ended the last, and those at the
start are known from the transition that led there, so a state carries them.  A transition takes L
gradients of U_1, in Algorithm 2 also L M of U_0, where the mirrors take twice as many; and U once,
where they take it twice (in Algorithm 1 it comes with each gradient).  Draws and rounding are the
same.  Nearly all the time of both algorithms is that of these gradients, and of a gradient that of
reading the data (README, Speed).

Notation as there; g is the paper's count of gradients per transition, in those of all the data.
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import Chain, draw_step, warn_if_none_accepted
from algorithms.shahbaba_split_hmc import check_data, check_normal, exact_flow, follow
from models.interface import U, U_and_grad_U, grad_U
from models.jit import check_interrupt, njit, public


class Counts(NamedTuple):
    """Evaluations over a whole run."""

    density: int  # of U; Algorithm 1 has it with every gradient, for nothing
    gradient: float  # of grad U, in gradients of all the data
    g: float  # the paper's count per transition: L, or (f M + 1 - f) L


class NormalState(NamedTuple):
    """A state of the chain of Algorithm 1, and what is known of it."""

    q: np.ndarray
    U: float
    g_1: np.ndarray


class DataState(NamedTuple):
    """A state of the chain of Algorithm 2, and what is known of it."""

    q: np.ndarray
    U: float
    g_0: np.ndarray
    g_1: np.ndarray


@njit
def normal_state(q, model, fit):
    """Return the NormalState at q: U(q), and the gradient of U_1 = U - U_0."""
    energy, g = U_and_grad_U(q, model)
    return NormalState(q, energy, g - grad_U(q, fit))


@njit
def metropolis(current, current_p, proposal, p, rng):
    """The Metropolis test of both algorithms: accept the end of a trajectory, or stay.

    Parameters
    ----------
    current, proposal : NormalState or DataState   q and q*, with U there
    current_p, p      : (d,) float64               momenta at the start of the trajectory, the end
    rng               : Generator                  advanced by one uniform

    Returns (state, accepted, error): the next state, whether it is the proposal (never one of
    infinite or nan energy), and H at the end of the trajectory minus H at its start.
    """
    error = proposal.U - current.U + p @ p / 2 - current_p @ current_p / 2
    if rng.random() < np.exp(-error) and np.isfinite(error):
        return proposal, True, error
    return current, False, error


@njit
def normal_split_step(current, model, fit, eps, L, rng):
    """One transition of split HMC with a normal approximation.

    Parameters
    ----------
    current : NormalState            where the chain is; not modified
    model   : NamedTuple             any model that implements U and grad_U
    fit     : NormalApproximation    U_0
    eps, L  : float, int             step size > 0, number of steps >= 1
    rng     : Generator              advanced by d normals, then one uniform

    Returns (state, accepted, error): the next NormalState, whether it is the proposal (never one of
    infinite or nan energy), and H at the end of the trajectory minus H at its start.
    """
    state = current
    R = exact_flow(fit, eps)
    p = rng.standard_normal(state.q.size)
    current_p = p
    for _l in range(L):
        check_interrupt()
        p = p - eps / 2 * state.g_1
        q_star = state.q - fit.q_hat
        X_0 = (q_star, p)
        q_star, p = follow(R, *X_0)
        q = q_star + fit.q_hat
        state = normal_state(q, model, fit)
        p = p - eps / 2 * state.g_1
    return metropolis(current, current_p, state, p, rng)


@njit
def data_split_step(current, model, split, eps, L, M, rng):
    """One transition of split HMC with splitting of data.

    Parameters
    ----------
    current   : DataState           where the chain is; not modified
    model     : NamedTuple          the model of all the cases
    split     : DataSplit           its cases in two parts
    eps, L, M : float, int, int     step size > 0, steps >= 1, inner steps >= 1 in each
    rng       : Generator           advanced by d normals, then one uniform

    Returns (state, accepted, error): the next DataState, whether it is the proposal (never one of
    infinite or nan energy), and H at the end of the trajectory minus H at its start.
    """
    q, g_0, g_1 = current.q, current.g_0, current.g_1
    p = rng.standard_normal(q.size)
    current_p = p
    for _l in range(L):
        check_interrupt()
        p = p - eps / 2 * g_1
        for _m in range(M):
            check_interrupt()
            p = p - eps / (2 * M) * g_0
            q = q + eps / M * p
            g_0 = grad_U(q, split.R_0)
            p = p - eps / (2 * M) * g_0
        g_1 = grad_U(q, split.R_1)
        p = p - eps / 2 * g_1
    proposal = DataState(q, U(q, model), g_0, g_1)
    return metropolis(current, current_p, proposal, p, rng)


@njit
def empty_chain(n, d, counts):
    """Return a Chain of n states to be filled in."""
    return Chain(np.empty((n, d)), np.empty(n), np.empty(n, np.bool_), np.empty(n), counts)


@warn_if_none_accepted
@public(check_normal)
@njit
def normal_split_hmc(q0, model, fit, eps, L, n, rng, jitter=0.2):
    """Run n transitions of split HMC with a normal approximation from q0; return a Chain.

    Parameters
    ----------
    q0     : (d,) float64                where the chain starts; not modified
    model  : NamedTuple                  any model that implements U and grad_U
    fit    : MAP or NormalApproximation  the posterior mode and Hessian: U_0
    eps, L : float > 0, int >= 1         step size and steps per transition
    n      : int >= 1                    transitions
    rng    : Generator                   advanced, per transition, by one uniform if jitter > 0,
                                         then by d normals and one uniform
    jitter : float in [0, 1]             the step of a transition, and of its flow, is drawn from
                                         Uniform((1 - jitter) eps, eps); default 0.2 (hmc: 0)

    Raises ValueError, naming the argument, for anything else.
    """
    chain = empty_chain(n, q0.size, Counts(L * n + 1, 1.0 + L * n, 1.0 * L))
    state = normal_state(q0, model, fit)
    for t in range(n):
        check_interrupt()
        step = draw_step(eps, jitter, rng)
        state, chain.accepted[t], chain.energy_error[t] = normal_split_step(
            state, model, fit, step, L, rng)
        chain.samples[t], chain.energies[t] = state.q, state.U
    return chain


@warn_if_none_accepted
@public(check_data)
@njit
def data_split_hmc(q0, model, split, eps, L, M, n, rng, jitter=0.2):
    """Run n transitions of split HMC with splitting of data from q0; return a Chain.

    Parameters
    ----------
    q0     : (d,) float64                where the chain starts; not modified
    model  : NamedTuple                  the model of all the cases, which implements U and grad_U
    split  : DataSplit                   made of it by split_data
    eps, L : float > 0, int >= 1         step size and steps per transition
    M      : int >= 1                    inner steps of size eps / M in each step
    n      : int >= 1                    transitions
    rng    : Generator                   advanced, per transition, by one uniform if jitter > 0,
                                         then by d normals and one uniform
    jitter : float in [0, 1]             the step of a transition is drawn from
                                         Uniform((1 - jitter) eps, eps); default 0.2 (hmc: 0)

    Raises ValueError, naming the argument, for anything else.
    """
    f = split.fraction
    g = (f * M + 1 - f) * L
    chain = empty_chain(n, q0.size, Counts(n + 1, 1.0 + g * n, g))
    state = DataState(q0, U(q0, model), grad_U(q0, split.R_0), grad_U(q0, split.R_1))
    for t in range(n):
        check_interrupt()
        step = draw_step(eps, jitter, rng)
        state, chain.accepted[t], chain.energy_error[t] = data_split_step(
            state, model, split, step, L, M, rng)
        chain.samples[t], chain.energies[t] = state.q, state.U
    return chain
