"""A small hierarchical model both of whose masses vary, of which exact draws can be had.

    phi_1 ~ N(0, 1)    phi_2 ~ N(0, 1/4)    theta_i ~ N(phi_1, e^-phi_2)    y_i ~ N(theta_i, 1)

M_theta(phi) = (1 + e^phi_2) I + (1 + phi_1^2) b b' and M_phi(theta) = (1 + theta'theta) I + w w'
with w = (1, theta_1) are neither diagonal nor curvatures of anything: nothing cancels.
"""

from typing import NamedTuple

import numpy as np

from models import interface
from models.interface import grad_U_phi, log_det_phi, log_det_theta, momentum_phi, momentum_theta
from models.jit import njit

VARIANCES = np.array([1.0, 0.25])  # of phi


class Coupled(NamedTuple):
    """The model; `calls` counts those of precompute_phi and _theta, and of both gradients."""

    y: np.ndarray  # (n,)
    b: np.ndarray  # (n,)
    calls: np.ndarray  # (4,) int


def coupled(y):
    y = np.asarray(y, float)
    return Coupled(y, np.linspace(0.5, 1.0, y.size), np.zeros(4, int))


def exact_draw(n, rng):
    """Draw theta, phi and then y, for n variables theta."""
    phi = np.sqrt(VARIANCES) * rng.standard_normal(2)
    theta = phi[0] + np.exp(-phi[1] / 2) * rng.standard_normal(n)
    return theta, phi, theta + rng.standard_normal(n)


class CoupledPhi(NamedTuple):
    phi: np.ndarray  # (2,)
    precision: float  # e^phi_2
    a: float  # M_theta is a I + c b b'
    c: float


class CoupledTheta(NamedTuple):
    theta: np.ndarray  # (n,)
    a: float  # M_phi is a I + w w'
    w: np.ndarray  # (2,)


@njit
def solve(a, c, w, r):
    """(a I + c w w')^-1 r, by Sherman and Morrison."""
    return (r - c * (w @ r) / (a + c * (w @ w)) * w) / a


@njit
def trace_of_inverse(a, c, w):
    return (w.size - 1) / a + 1 / (a + c * (w @ w))


@njit
def log_det(a, c, w):
    return (w.size - 1) * np.log(a) + np.log(a + c * (w @ w))


@njit
def root_times(a, c, w, z):
    """The symmetric root of a I + c w w', which is sqrt(a) I + g w w', times z."""
    g = (np.sqrt(a + c * (w @ w)) - np.sqrt(a)) / (w @ w)
    return np.sqrt(a) * z + g * (w @ z) * w


@njit
def mass_of_phi(theta):
    return 1 + theta @ theta, np.array([1.0, theta[0]])


interface.sizes.register(Coupled)(lambda model: (model.y.size, 2))


@interface.precompute_phi.register(Coupled)
def precompute_phi(phi, model):
    model.calls[0] += 1
    return CoupledPhi(phi, np.exp(phi[1]), 1 + np.exp(phi[1]), 1 + phi[0]**2)


@interface.precompute_theta.register(Coupled)
def precompute_theta(theta, model):
    model.calls[1] += 1
    a, w = mass_of_phi(theta)
    return CoupledTheta(theta, a, w)


@interface.U_theta.register(Coupled)
def U_theta(theta, Phi, model):
    off, apart = theta - model.y, theta - Phi.phi[0]
    return off @ off / 2 + Phi.precision * (apart @ apart) / 2 - theta.size * Phi.phi[1] / 2


@interface.grad_U_theta.register(Coupled)
def gradient_theta(theta, Phi, model):
    return theta - model.y + Phi.precision * (theta - Phi.phi[0])


interface.U_prior.register(Coupled)(lambda phi, model: phi[0]**2 / 2 + 2 * phi[1]**2)


@interface.U_phi.register(Coupled)
def U_phi(Phi, Theta, model):
    apart = Theta.theta - Phi.phi[0]
    return (Phi.precision * (apart @ apart) / 2 - apart.size * Phi.phi[1] / 2
            + Phi.phi[0]**2 / 2 + 2 * Phi.phi[1]**2)


@interface.grad_U_phi.register(Coupled)
def gradient_phi(Phi, Theta, model):
    apart = Theta.theta - Phi.phi[0]
    return np.array([Phi.phi[0] - Phi.precision * np.sum(apart),
                     4 * Phi.phi[1] + Phi.precision * (apart @ apart) / 2 - apart.size / 2])


@interface.U.register(Coupled)
def U(q, model):
    off, apart = q[:-2] - model.y, q[:-2] - q[-2]
    return (off @ off / 2 + np.exp(q[-1]) * (apart @ apart) / 2 - apart.size * q[-1] / 2
            + q[-2]**2 / 2 + 2 * q[-1]**2)


@interface.add_grad_auxiliary_phi.register(Coupled)
def add_grad_auxiliary_phi(g, theta, r_phi, model):
    model.calls[2] += 1
    a, w = mass_of_phi(theta)
    u = solve(a, 1.0, w, r_phi)
    g += (trace_of_inverse(a, 1.0, w) - u @ u) * theta
    g[0] += solve(a, 1.0, w, w)[1] - u[1] * (u @ w)


@interface.grad_U2.register(Coupled)
def grad_U2(Phi, Theta, r_theta, model):
    model.calls[3] += 1
    b = model.b
    u = solve(Phi.a, Phi.c, b, r_theta)
    g = grad_U_phi(Phi, Theta, model)
    g[0] += Phi.phi[0] * (b @ solve(Phi.a, Phi.c, b, b) - (b @ u)**2)
    g[1] += Phi.precision * (trace_of_inverse(Phi.a, Phi.c, b) - u @ u) / 2
    return g


momentum_theta.register(Coupled)(lambda z, Phi, model: root_times(Phi.a, Phi.c, model.b, z))
interface.velocity_theta.register(Coupled)(lambda r, Phi, model: solve(Phi.a, Phi.c, model.b, r))
log_det_theta.register(Coupled)(lambda Phi, model: log_det(Phi.a, Phi.c, model.b))
momentum_phi.register(Coupled)(lambda z, Theta, model: root_times(Theta.a, 1.0, Theta.w, z))
interface.velocity_phi.register(Coupled)(lambda r, Theta, model: solve(Theta.a, 1.0, Theta.w, r))
log_det_phi.register(Coupled)(lambda Theta, model: log_det(Theta.a, 1.0, Theta.w))
