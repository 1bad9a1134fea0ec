"""The same chain as algorithms/zhang_sshmc.py, faster.  Read that file first.

Same arguments, same draws, same Chain but for its counts: tests/test_twins.py compares the two
transition by transition.  What differs, for every model:

1. Half kicks are joined.  The leapfrogs of one block are one flow, whose gradient at the end of a
   leapfrog serves the beginning of the next; and since phi and r_phi stand still from the last
   leapfrogs for H_1 of one ABLA step to the first ones of the next, those 2 n_theta are one flow:
       r - eps/2 g - eps/2 g = r - eps g
   Where phi and r_phi have moved, the gradient of U_1 is computed again, and that of U_2 where
   theta and r_theta have: no mass is taken to be constant.  A transition of L ABLA steps takes
       gradients of U_1        (2 n_theta + 1) L + 1        the mirror 4 n_theta L
       gradients of U_2        (n_phi + 1) L                           2 n_phi L
2. The factor of M_theta is computed once for each phi reached, and what is to be known of theta
   only where H_2 or the Metropolis test ask for it:
       precompute_phi                  n_phi L                      the mirror 2 (n_phi + 1) L + 4
       precompute_theta                L + 1                                   L + 3
   (and each once before the first transition).
3. U and both log determinants are carried from transition to transition, and the kinetic energies
   at the start are those of the normals drawn: r = A z with M = A A' has r' M^-1 r = z'z.

A model may have flows of its own (flow_theta, flow_phi, carry):

4. Funnel: H_1 is quadratic with matrices e^v I and e^-v I, so a kick and a drift are
       r_i <- r_i - eps e^v x_i,   x_i <- x_i + eps e^-v r_i
   one loop over the coordinates per leapfrog, in place, where the mirror makes nine arrays.  The
   gradient of U_2 needs only x'x and r_x'r_x, two sums per ABLA step, and is a number, as v and its
   momentum are.
5. StochasticVolatility: kicks and drifts are in place, and no gradient is kept: a drift solves
   M w = r in memory that is kept and adds w to x, and a kick adds the gradient to r while that is
   computed.
6. LogGaussianCox: a = Sigma^-1 (x - mu) is carried.  The mass is Sigma^-1, so a drift is
       x <- x + eps Sigma r,   a <- a + eps r
   and only a new phi takes a pair of triangular solves, by L and L', where the mirror takes one for
   each of its gradients:
       pairs of solves         n_phi L + 1                  the mirror (4 n_theta + 2 n_phi) L
   The factors of a trajectory overwrite each other: memory is fetched once for each trajectory.
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import draw_step, warn_if_none_accepted
from algorithms.zhang_sshmc import H1, Chain, Counts, check_sshmc
from models.funnel import VARIANCE, Funnel, FunnelPhi
from models.interface import (
    U_prior,
    U_theta,
    dispatch,
    grad_U,
    grad_U2,
    log_det_phi,
    log_det_theta,
    momentum_phi,
    momentum_theta,
    precompute_phi,
    precompute_theta,
    sizes,
    velocity_phi,
    velocity_theta,
)
from models.jit import check_interrupt, njit, public
from models.log_gaussian_cox import (
    LogGaussianCox,
    empty_phi,
    grad_U2_of,
    overwrite_phi,
    solve,
)
from models.square_grid import from_blocks, to_blocks
from models.stochastic_volatility import StochasticVolatility, drift, kick


@njit
def gradient_of_U1(theta, r_theta, Phi, r_phi, model):
    """Carry the gradient of U_1, (n,)."""
    return grad_U(theta, H1(model, Phi, r_phi))


@njit
def joined_theta(theta, r_theta, g, Phi, r_phi, eps, n, model):
    """Take n leapfrogs for H_1 with n gradients: `g` is that at the start, and at the end."""
    r_theta = r_theta - eps / 2 * g
    for k in range(n):
        theta = theta + eps * velocity_theta(r_theta, Phi, model)
        g = grad_U(theta, H1(model, Phi, r_phi))
        r_theta = r_theta - (eps if k < n - 1 else eps / 2) * g
    return theta, r_theta, g


@njit
def leapfrogs_phi(Phi, r_phi, Theta, r_theta, eps, n, model):
    """Take n leapfrogs for H_2 with n + 1 gradients; return Phi and r_phi."""
    r_phi = r_phi - eps / 2 * grad_U2(Phi, Theta, r_theta, model)
    for k in range(n):
        Phi = precompute_phi(Phi.phi + eps * velocity_phi(r_phi, Theta, model), model)
        r_phi = r_phi - ((eps if k < n - 1 else eps / 2)
                         * grad_U2(Phi, Theta, r_theta, model))
    return Phi, r_phi


@njit
def joined_phi(Phi, r_phi, g, Theta, r_theta, eps, n, model):
    """Take n leapfrogs for H_2; `g` is the gradient of U_1 that they end."""
    Phi, r_phi = leapfrogs_phi(Phi, r_phi, Theta, r_theta, eps, n, model)
    return Phi, r_phi, grad_U(Theta.theta, H1(model, Phi, r_phi))


@dispatch(arg=4, default=gradient_of_U1)
def carry(theta, r_theta, Phi, r_phi, model):
    """Compute what the flows hand on to each other, besides theta, phi and their momenta.

    It may depend on all of them and has one type, that in which the flows return it.  By default
    it is the gradient of U_1.
    """


@dispatch(arg=7, default=joined_theta)
def flow_theta(theta, r_theta, carried, Phi, r_phi, eps, n, model):
    """Take n >= 1 leapfrogs of eps for H_1; return (theta, r_theta, carried), all at the end.

    theta and r_theta may be overwritten; `carried` is what `carry` computes at the start.
    """


@dispatch(arg=7, default=joined_phi)
def flow_phi(Phi, r_phi, carried, Theta, r_theta, eps, n, model):
    """Take n >= 1 leapfrogs of eps for H_2; return (Phi, r_phi, carried), all at the end.

    r_phi may be overwritten, the arrays of Phi and Theta not; `carried` is as for flow_theta.
    """


@carry.register(Funnel)
def funnel_carry(theta, r_theta, Phi, r_phi, model):
    """Nothing: a product by e^v is the gradient."""
    return None


@flow_theta.register(Funnel)
def funnel_flow_theta(x, r_x, carried, Phi, r_phi, eps, n, model):
    """Take the leapfrogs for H_1 in place, a loop over the coordinates each."""
    drift, half = eps / Phi.precision, eps / 2 * Phi.precision
    kick = half
    for _ in range(n - 1):
        for i in range(x.size):
            r_x[i] -= kick * x[i]
            x[i] += drift * r_x[i]
        kick = 2 * half
    for i in range(x.size):
        r_x[i] -= kick * x[i]
        x[i] += drift * r_x[i]
        r_x[i] -= half * x[i]
    return x, r_x, None


@flow_phi.register(Funnel)
def funnel_flow_phi(Phi, r_phi, carried, Theta, r_x, eps, n, model):
    """Take the leapfrogs for H_2, in which only two numbers move."""
    precision, v, r_v = Phi.precision, Phi.phi[0], r_phi[0]
    squares_x, squares_r, mass = Theta.squares, r_x @ r_x, model.L_phi[0, 0]**2
    r_v -= eps / 2 * ((precision * squares_x - squares_r / precision) / 2 + v / VARIANCE)
    for k in range(n):
        v += eps * r_v / mass
        precision = np.exp(v)
        r_v -= ((eps if k < n - 1 else eps / 2)
                * ((precision * squares_x - squares_r / precision) / 2 + v / VARIANCE))
    r_phi[0] = r_v
    return FunnelPhi(np.full(1, v), precision), r_phi, None


@carry.register(StochasticVolatility)
def volatility_carry(theta, r_theta, Phi, r_phi, model):
    """Nothing: each kick computes its gradient."""
    return None


@flow_theta.register(StochasticVolatility)
def volatility_flow_theta(x, r_x, carried, Phi, r_phi, eps, n, model):
    """Take the leapfrogs for H_1 in place."""
    scratch = np.empty(x.size)
    kick(x, r_x, eps / 2, Phi.phi, Phi.C, model)
    for k in range(n):
        drift(x, r_x, eps, scratch, Phi)
        kick(x, r_x, eps if k < n - 1 else eps / 2, Phi.phi, Phi.C, model)
    return x, r_x, None


@flow_phi.register(StochasticVolatility)
def volatility_flow_phi(Phi, r_phi, carried, Theta, r_x, eps, n, model):
    """Take the leapfrogs for H_2, and no gradient of U_1 after them."""
    Phi, r_phi = leapfrogs_phi(Phi, r_phi, Theta, r_x, eps, n, model)
    return Phi, r_phi, None


@njit
def side(model):
    """Return d of a d x d grid."""
    return model.distance.shape[0]


@carry.register(LogGaussianCox)
def cox_carry(x, r_x, Phi, r_phi, model):
    """Carry Sigma^-1 (x - mu), (n,), and memory for the Phi of the trajectory."""
    a = from_blocks(solve(to_blocks(x - model.mu, side(model)), Phi), side(model))
    return a, empty_phi(model)


@njit
def cox_kick(x, r_x, a, eps, model):
    """Kick the momentum of x, in place: m e^x - y + a is the gradient of U_1."""
    for i in range(x.size):
        r_x[i] -= eps * (model.area * np.exp(x[i]) - model.counts[i] + a[i])


@flow_theta.register(LogGaussianCox)
def cox_flow_theta(x, r_x, carried, Phi, r_phi, eps, n, model):
    """Take the leapfrogs for H_1, with a product by Sigma each."""
    a, memory = carried
    cox_kick(x, r_x, a, eps / 2, model)
    for k in range(n):
        v = velocity_theta(r_x, Phi, model)
        for i in range(x.size):
            x[i] += eps * v[i]
            a[i] += eps * r_x[i]
        cox_kick(x, r_x, a, eps if k < n - 1 else eps / 2, model)
    return x, r_x, (a, memory)


@flow_phi.register(LogGaussianCox)
def cox_flow_phi(Phi, r_phi, carried, Theta, r_x, eps, n, model):
    """Take the leapfrogs for H_2, with a factorisation and a pair of solves each."""
    a, memory = carried
    w, b = to_blocks(r_x, side(model)), to_blocks(a, side(model))
    r_phi = r_phi - eps / 2 * grad_U2_of(Phi, Theta.u, b, w)
    for k in range(n):
        Phi = overwrite_phi(memory, Phi.phi + eps * velocity_phi(r_phi, Theta, model), model)
        b = solve(Theta.u, Phi)
        r_phi = r_phi - (eps if k < n - 1 else eps / 2) * grad_U2_of(Phi, Theta.u, b, w)
    return Phi, r_phi, (from_blocks(b, side(model)), memory)


class State(NamedTuple):
    """A state of the chain, and what is known of it; made by state_at."""

    Phi: NamedTuple  # precompute_phi
    Theta: NamedTuple  # precompute_theta
    U: float  # (4)
    log_dets: float  # log |M_theta(phi)| / 2 + log |M_phi(theta)| / 2


@njit
def state_at(Phi, Theta, model):
    """Return the State of what is known of phi and theta."""
    return State(Phi, Theta, U_theta(Theta.theta, Phi, model) + U_prior(Phi.phi, model),
                 (log_det_theta(Phi, model) + log_det_phi(Theta, model)) / 2)


@njit
def trajectory(state, r_theta, r_phi, model, eps_theta, eps_phi, L, n_theta, n_phi):
    """Take L ABLA steps, by 2 L + 1 flows; return the State, r_theta and r_phi at the end.

    r_theta and r_phi may be overwritten.
    """
    theta, Phi, Theta = state.Theta.theta.copy(), state.Phi, state.Theta
    theta, r_theta, carried = flow_theta(theta, r_theta, carry(theta, r_theta, Phi, r_phi, model),
                                         Phi, r_phi, eps_theta, n_theta, model)
    for step in range(1, L + 1):
        check_interrupt()
        Theta = precompute_theta(theta, model)
        Phi, r_phi, carried = flow_phi(Phi, r_phi, carried, Theta, r_theta, eps_phi, n_phi, model)
        theta, r_theta, carried = flow_theta(theta, r_theta, carried, Phi, r_phi, eps_theta,
                                             2 * n_theta if step < L else n_theta, model)
    return state_at(Phi, precompute_theta(theta, model), model), r_theta, r_phi


@njit
def sshmc_step(state, model, eps_theta, eps_phi, L, n_theta, n_phi, rng):
    """One transition from a State, with the draws of sshmc_general_step of the mirror.

    Returns (the next State, accepted, energy error).
    """
    n, h = sizes(model)
    z_theta, z_phi = rng.standard_normal(n), rng.standard_normal(h)
    K = (z_theta @ z_theta + z_phi @ z_phi) / 2
    end, r_theta, r_phi = trajectory(
        state, momentum_theta(z_theta, state.Phi, model), momentum_phi(z_phi, state.Theta, model),
        model, eps_theta, eps_phi, L, n_theta, n_phi)
    K_end = (r_theta @ velocity_theta(r_theta, end.Phi, model)
             + r_phi @ velocity_phi(r_phi, end.Theta, model)) / 2
    error = (end.U + K_end + end.log_dets) - (state.U + K + state.log_dets)
    if rng.random() < np.exp(-error) and np.isfinite(error):
        return end, True, error
    return state, False, error


@warn_if_none_accepted
@public(check_sshmc)
@njit
def sshmc(theta0, phi0, model, eps_theta, eps_phi, L, n, rng, n_theta, n_phi, jitter, keep):
    """Run n transitions of SSHMC; arguments and result as algorithms.zhang_sshmc.sshmc."""
    chain = Chain(np.empty((n, keep.size)), np.empty((n, phi0.size)), np.empty(n),
                  np.empty(n, np.bool_), np.empty(n),
                  Counts(((2 * n_theta + 1) * L + 1) * n, (n_phi + 1) * L * n,
                         n_phi * L * n + 1, (L + 1) * n + 1))
    state = state_at(precompute_phi(phi0, model), precompute_theta(theta0, model), model)
    for t in range(n):
        check_interrupt()
        factor = draw_step(1.0, jitter, rng)
        state, chain.accepted[t], chain.energy_error[t] = sshmc_step(
            state, model, factor * eps_theta, factor * eps_phi, L, n_theta, n_phi, rng)
        chain.theta[t], chain.phi[t] = state.Theta.theta[keep], state.Phi.phi
        chain.energies[t] = state.U
    return chain
