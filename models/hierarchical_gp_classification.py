"""Gaussian-process classification with a probit likelihood, the kernel's parameters unknown too.

    P(y_n | x_n) = Phi(y_n x_n),   x ~ N(0, K),   log l, log sigma ~ normal
    K = sigma^2 (exp(-|z - z'|^2 / (2 l^2)) + nugget I)

Source      Paquet and Fraccaro (2016), Sections 1.1 and 5, who fix log l = 4.85 and log
            sigma = 5.1; as two blocks, Zhang and Sutton (2014), Sections 4 and 5.4.

theta is x and phi = (log l, log sigma).  M_x(phi) = K^-1: its log determinant cancels that of the
density in U_2, so that H_2 needs no trace.  M_phi is constant, by default I.  With a = K^-1 x and
D = dK / d log l,

    dU_2 / d log l     = r'D r / 2 - a'D a / 2 = (r - a)'D (r + a) / 2
    dU_2 / d log sigma = r'K r - a'K a

and the prior's.  The nugget keeps K positive definite where lengths are long.
"""

from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.fields import Array, Factor, Positive, Signs, Symmetric
from models.jit import njit
from models.linalg import (
    cholesky,
    log_det,
    solve_lower,
    solve_lower_transposed,
    symmetric_times,
    triangular_times,
    whiten,
)
from models.special import inverse_mills, log_Phi


class HierarchicalGPClassification(NamedTuple):
    """The cases and the priors; made by from_data."""

    distance: Symmetric("n", "n")  # |z - z'|^2
    y: Signs("n")
    nugget: float
    prior_mean: Array(2)  # of (log l, log sigma)
    prior_sd: Positive(2)
    L_phi: Factor(2, 2)  # root of the mass of phi

    @staticmethod
    def from_data(Z, y, prior_mean=(0.0, 0.0), prior_sd=(2.0, 2.0), nugget=1e-6, mass_phi=None):
        """Make the model of n cases with p inputs each.

        Z                    : (n, p)          inputs, finite
        y                    : (n,)            labels, -1 or +1
        prior_mean           : (2,)            of (log l, log sigma); default (0, 0)
        prior_sd             : (2,)            their deviations, > 0; default (2, 2)
        nugget : float >= 0   is added to the correlation of a case with itself; default 1e-6
        mass_phi : float > 0, (2, 2) or None   mass of (log l, log sigma); None: 1

        Raises ValueError, naming the argument, for anything else.
        """
        Z = validate.array("Z", Z, (-1, -1))
        y = validate.labels("y", y, Z.shape[0])
        prior_mean = validate.array("prior_mean", prior_mean, (2,))
        prior_sd = validate.array("prior_sd", prior_sd, (2,))
        if not (prior_sd > 0).all():
            raise ValueError(f"prior_sd must be > 0, but is {prior_sd.tolist()}")
        distance = squared_distances(Z)
        if not np.isfinite(distance).all():
            raise ValueError("Z must have squares that can be added up, but they overflow")
        return HierarchicalGPClassification(
            distance, y, validate.real("nugget", nugget, 0.0), prior_mean, prior_sd,
            validate.mass("mass_phi", 1.0 if mass_phi is None else mass_phi, 2))


class KernelPhi(NamedTuple):
    """What depends on l and sigma alone, computed once."""

    phi: np.ndarray  # (2,)
    L: np.ndarray  # (n, n), K = L L'; nan where there is no factor
    D: np.ndarray  # (n, n) dK / d log l, its lower triangle


class Latent(NamedTuple):
    """What depends on x alone, computed once."""

    theta: np.ndarray  # (n,)


@njit
def squared_distances(Z):
    """Return |z - z'|^2 over the rows of Z, (n, n), summed directly: nothing cancels."""
    n, p = Z.shape
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(p):
                total += (Z[i, k] - Z[j, k]) ** 2
            found[i, j] = found[j, i] = total
    return found


@njit
def kernel(phi, model, derivative):
    """Return the lower triangle of K, or of its first or second derivative along log l, (n, n).

    With t = |z - z'|^2 / l^2 they are sigma^2 exp(-t / 2) times 1, t and t (t - 2).
    """
    n = model.y.size
    K = np.zeros((n, n))
    per_square, variance = np.exp(-2.0 * phi[0]), np.exp(2.0 * phi[1])
    for i in range(n):
        for j in range(i):
            t = model.distance[i, j] * per_square
            factor = 1.0 if derivative == 0 else t if derivative == 1 else t * (t - 2.0)
            K[i, j] = variance * np.exp(-t / 2.0) * factor
        K[i, i] = variance * (1.0 + model.nugget) if derivative == 0 else 0.0
    return K


@interface.U.register(HierarchicalGPClassification)
def U(q, model):
    """U_theta + U_prior."""
    Phi = precompute_phi(q[-2:], model)
    return U_theta(q[:-2], Phi, model) + U_prior(Phi.phi, model)


@interface.grad_U.register(HierarchicalGPClassification)
def grad_U(q, model):
    """K^-1 x - y h(y x), and then the gradient with respect to phi; a trace, and so n^3."""
    Phi, Theta = precompute_phi(q[-2:], model), precompute_theta(q[:-2], model)
    return np.concatenate((grad_U_theta(Theta.theta, Phi, model), grad_U_phi(Phi, Theta, model)))


@interface.sizes.register(HierarchicalGPClassification)
def sizes(model):
    """n, and 2."""
    return model.y.size, 2


@interface.precompute_phi.register(HierarchicalGPClassification)
def precompute_phi(phi, model):
    """Factorise K."""
    K = kernel(phi, model, 0)
    for i in range(K.shape[0]):
        for j in range(i):
            K[j, i] = K[i, j]
    L, _ = cholesky(K)
    return KernelPhi(phi, L, kernel(phi, model, 1))


@interface.precompute_theta.register(HierarchicalGPClassification)
def precompute_theta(theta, model):
    """x itself."""
    return Latent(theta)


@njit
def solve(x, Phi):
    """Return K^-1 x."""
    return solve_lower_transposed(Phi.L, solve_lower(Phi.L, x))


@njit
def log_normal(x, Phi):
    """Return x'K^-1 x / 2 + log |K| / 2."""
    w = solve_lower(Phi.L, x)
    return w @ w / 2 + log_det(Phi.L) / 2


@interface.U_theta.register(HierarchicalGPClassification)
def U_theta(theta, Phi, model):
    """- sum_n log Phi(y_n x_n), and the process's."""
    total = log_normal(theta, Phi)
    for n in range(theta.size):
        total -= log_Phi(model.y[n] * theta[n])
    return total


@interface.grad_U_theta.register(HierarchicalGPClassification)
def grad_U_theta(theta, Phi, model):
    """K^-1 x - y h(y x), h(t) = N(t) / Phi(t)."""
    g = solve(theta, Phi)
    for n in range(theta.size):
        g[n] -= model.y[n] * inverse_mills(model.y[n] * theta[n])
    return g


@interface.U_prior.register(HierarchicalGPClassification)
def U_prior(phi, model):
    """Return half the sum of the squares of phi, standardised by its prior."""
    z = (phi - model.prior_mean) / model.prior_sd
    return z @ z / 2


@njit
def grad_U_prior(phi, model):
    """Gradient of U_prior."""
    return (phi - model.prior_mean) / model.prior_sd**2


@interface.U_phi.register(HierarchicalGPClassification)
def U_phi(Phi, Theta, model):
    """The process's, and the prior's."""
    return log_normal(Theta.theta, Phi) + U_prior(Phi.phi, model)


@njit
def whiten_matrix(A, Phi):
    """Return L^-1 A L^-T, symmetric, of a lower triangle A; n^3 operations."""
    B = A.copy()
    whiten(Phi.L, B)
    return B


@interface.grad_U_phi.register(HierarchicalGPClassification)
def grad_U_phi(Phi, Theta, model):
    """tr(K^-1 D) / 2 - a'D a / 2 and n - a'x, and the prior's."""
    a = solve(Theta.theta, Phi)
    g = grad_U_prior(Phi.phi, model)
    g[0] += np.trace(whiten_matrix(Phi.D, Phi)) / 2 - a @ symmetric_times(Phi.D, a) / 2
    g[1] += a.size - a @ Theta.theta
    return g


@interface.grad_U2.register(HierarchicalGPClassification)
def grad_U2(Phi, Theta, r_theta, model):
    """(r - a)'D (r + a) / 2 and r'K r - a'K a, and the prior's."""
    a, v = solve(Theta.theta, Phi), r_theta.copy()
    triangular_times(Phi.L, v, True)
    g = grad_U_prior(Phi.phi, model)
    g[0] += (r_theta - a) @ symmetric_times(Phi.D, r_theta + a) / 2
    g[1] += v @ v - a @ Theta.theta
    return g


@interface.momentum_theta.register(HierarchicalGPClassification)
def momentum_theta(z, Phi, model):
    """L'^-1 z."""
    return solve_lower_transposed(Phi.L, z)


@interface.velocity_theta.register(HierarchicalGPClassification)
def velocity_theta(r_theta, Phi, model):
    """K r."""
    v = r_theta.copy()
    triangular_times(Phi.L, v, True)
    triangular_times(Phi.L, v, False)
    return v


@interface.log_det_theta.register(HierarchicalGPClassification)
def log_det_theta(Phi, model):
    """- log |K|."""
    return -log_det(Phi.L)


# For RMHMC within Gibbs, once the model has a block_phi.  By default it has none: phi then moves
# with the constant mass M_phi


@interface.metric_phi.register(HierarchicalGPClassification)
def metric_phi(Phi, Theta, model):
    """tr(K^-1 dK_i K^-1 dK_j) / 2, and the prior's precisions."""
    B, G = whiten_matrix(Phi.D, Phi), np.diag(1.0 / model.prior_sd**2)
    G[0, 0] += (B * B).sum() / 2
    G[0, 1] = G[1, 0] = np.trace(B)
    G[1, 1] += 2.0 * model.y.size
    return G


@interface.metric_gradient_phi.register(HierarchicalGPClassification)
def metric_gradient_phi(Phi, Theta, model):
    """tr(B C) - tr B^3 and tr C - tr B^2 along log l, C the whitened second derivative; else 0."""
    B, C = whiten_matrix(Phi.D, Phi), whiten_matrix(kernel(Phi.phi, model, 2), Phi)
    dG = np.zeros((2, 2, 2))
    dG[0, 0, 0] = (B * C).sum() - (B * (B @ B)).sum()
    dG[0, 0, 1] = dG[0, 1, 0] = np.trace(C) - (B * B).sum()
    return dG
