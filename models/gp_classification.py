"""Gaussian-process classification with a probit likelihood, annealed between q and the posterior.

Paper       Paquet and Fraccaro (2016), Sections 1.1 and 4, with the constants of Algorithm 4.

    L_beta(x) = beta [sum log Phi(y_n x_n) + log N(x; 0, K)] + (1 - beta) log N(x; mu, Sigma)

beta = 1 is the posterior, unnormalised; beta = 0 is q = N(mu, Sigma): the prior, or EP's Gaussian,
whose precision is Sigma^-1 = K^-1 + diag(tau) and whose mean has Sigma^-1 mu = nu.

Notation
--------
paper          here           shape    meaning
y              y              (N,)     labels, -1 or +1
K, L^K         K, L_K         (N, N)   prior covariance and its lower Cholesky factor
Sigma~^-1      tau            (N,)     diagonal; EP's site precisions, >= 0
Sigma^-1 mu    nu             (N,)     EP's site means times their precisions
L^Sigma        L_Sigma        (N, N)   lower, Sigma = L_Sigma L_Sigma'
beta           beta           ()       inverse temperature in [0, 1]
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.fields import Array, Factor, Signs, Symmetric
from models.interface import U, grad_U
from models.jit import njit
from models.linalg import (
    cholesky,
    log_det,
    posterior_factor,
    solve_lower,
    solve_lower_transposed,
)
from models.special import inverse_mills, log_Phi

LOG_2_PI = np.log(2.0 * np.pi)


class GPClassification(NamedTuple):
    """L_beta and what is computed once for it; made by from_prior or from_ep."""

    y: Signs("d")  # d is the paper's N
    K: Symmetric("d", "d")
    L_K: Factor("d", "d")
    log_det_K: float
    mu: Array("d")  # 0 for the prior
    tau: Array("d")  # 0 for the prior
    nu: Array("d")  # 0 for the prior
    L_Sigma: Factor("d", "d")  # L_K for the prior
    log_det_Sigma: float
    beta: float
    q_is_prior: bool

    @classmethod
    def from_prior(cls, K, y, beta=1.0):
        """Anneal from the prior, q = N(0, K).

        K : (N, N) symmetric positive definite    y : (N,) of -1 and +1    beta : float in [0, 1]
        Raises ValueError, naming the argument, for anything else.
        """
        K, y, beta, L_K = check_prior(K, y, beta)
        zero = np.zeros(y.size)
        log_det_K = log_det(L_K)
        return cls(y, K, L_K, log_det_K, zero, zero, zero, L_K, log_det_K, beta, True)

    @classmethod
    def from_ep(cls, K, y, ep, beta=1.0):
        """Anneal from the Gaussian q that expectation propagation found (algorithms.ep.ep).

        K, y, beta : as for from_prior
        ep         : EP, of which the site parameters tau, nu, (N,), and the flag `converged` are
                     used.  Raises ValueError also if EP did not converge.
        """
        K, y, beta, L_K = check_prior(K, y, beta)
        if not all(hasattr(ep, field) for field in ("converged", "tau", "nu")):
            raise ValueError("ep must be what algorithms.ep.ep returns, with converged, tau and nu,"
                             f" not {type(ep).__name__}")
        if not ep.converged:
            raise ValueError("ep has not converged, so its q is no fixed point: run it with more"
                             " max_sweeps, or with damping")
        tau = validate.array("ep.tau", ep.tau, (y.size,))
        nu = validate.array("ep.nu", ep.nu, (y.size,))
        validate.real("ep.nu's largest size", np.abs(nu).max(), 0.0, 1e100)  # mu'nu is a number
        if tau.min() < -1e-8:
            raise ValueError(f"ep.tau must be >= 0, but its smallest element is {tau.min():.3g}")
        tau = np.maximum(tau, 0.0)  # a site of no weight may end a rounding error below 0
        L_Sigma, ok = posterior_factor(L_K, tau)
        if not ok:
            raise ValueError("K^-1 + diag(ep.tau) has no Cholesky factor: ep.tau, up to"
                             f" {tau.max():.3g}, times K, up to {K.max():.3g}, overflows")
        mu = L_Sigma @ (L_Sigma.T @ nu)
        return cls(y, K, L_K, log_det(L_K), mu, tau, nu, L_Sigma, log_det(L_Sigma), beta, False)


@validate.check_values.register
def check_values(model: GPClassification, name):
    """What is computed once belongs to K, tau and nu, by products with one vector: O(N^2)."""
    validate.real(f"{name}.beta", model.beta, 0.0, 1.0)
    if (model.tau < 0.0).any():
        raise ValueError(f"{name}.tau must be >= 0, but the smallest is {model.tau.min():.3g}")
    if model.q_is_prior and (model.tau.any() or model.nu.any()):
        raise ValueError(f"{name}.q_is_prior must be False where tau and nu are not 0")
    v = 1.0 + np.cos(np.arange(model.y.size) ** 2)
    K, size, L = model.K, np.abs(model.K), model.L_Sigma
    s = L @ (L.T @ v)  # Sigma v, and (I + K diag(tau)) Sigma = K
    sizes = np.abs(L) @ (np.abs(L).T @ np.stack([v, np.abs(model.nu)], axis=1))
    for field, found, wanted, scale in (
            ("L_K", model.L_K @ (model.L_K.T @ v), K @ v, size @ v),
            ("L_Sigma", s + K @ (model.tau * s), K @ v, size @ (v + model.tau * sizes[:, 0])),
            ("mu", model.mu, L @ (L.T @ model.nu), sizes[:, 1]),
            ("log_det_K", model.log_det_K, log_det(model.L_K), 1.0 + abs(model.log_det_K)),
            ("log_det_Sigma", model.log_det_Sigma, log_det(L), 1.0 + abs(model.log_det_Sigma))):
        # an infinite difference is within no tolerance
        if not (np.abs(found - wanted) <= np.minimum(1e-6 * scale, 1e300)).all():
            raise ValueError(f"{name}.{field} must belong to the K, tau and nu that stand beside"
                             " it, but they have changed: make the model by from_prior or from_ep")


def check_prior(K, y, beta):
    """Return K, y, beta and K's Cholesky factor, or raise ValueError."""
    K = validate.covariance("K", K)
    y = validate.labels("y", y, K.shape[0])
    beta = validate.real("beta", beta, 0.0, 1.0)
    L_K, ok = cholesky(K)
    if not ok:
        raise ValueError(validate.why_no_factor("K", K))
    return K, y, beta, L_K


@njit
def temper(model, beta):
    """Return the same model at another inverse temperature; nothing is copied."""
    return GPClassification(model.y, model.K, model.L_K, model.log_det_K, model.mu, model.tau,
                            model.nu, model.L_Sigma, model.log_det_Sigma, beta, model.q_is_prior)


@njit
def draw_q(model, rng):
    """Return an exact draw from q, (N,): mu + L_Sigma z with N normals z."""
    return model.mu + model.L_Sigma @ rng.standard_normal(model.y.size)


@njit
def log_ratio(x, model):
    """L_1(x) - L_0(x), whatever the model's beta; O(N).

    K^-1 cancels: log p(y|x) - 1/2 x'K^-1 x + 1/2 (x - mu)'Sigma^-1 (x - mu) + constants is
    sum [log Phi(y_n x_n) + tau_n x_n^2 / 2 - nu_n x_n] + (mu'nu + log|Sigma| - log|K|) / 2.
    """
    total = 0.5 * (model.mu @ model.nu + model.log_det_Sigma - model.log_det_K)
    for n in range(x.size):
        total += log_Phi(model.y[n] * x[n]) + (0.5 * model.tau[n] * x[n] - model.nu[n]) * x[n]
    return total


@U.register(GPClassification)
def gp_classification_U(x, model):
    """-L_beta(x), with all constants; O(N^2)."""
    f = solve_lower(model.L_K, x)
    log_likelihood = 0.0
    site = 0.5 * (model.mu @ model.nu + model.log_det_Sigma - model.log_det_K)
    for n in range(x.size):
        log_likelihood += log_Phi(model.y[n] * x[n])
        site += (0.5 * model.tau[n] * x[n] - model.nu[n]) * x[n]
    log_prior = -0.5 * (x.size * LOG_2_PI + model.log_det_K + f @ f)  # log of (1)
    return -(model.beta * log_likelihood + log_prior - (1.0 - model.beta) * site)


@grad_U.register(GPClassification)
def gp_classification_grad_U(x, model):
    """K^-1 x - beta y h(y x) + (1 - beta) (tau x - nu); O(N^2)."""
    g = solve_lower_transposed(model.L_K, solve_lower(model.L_K, x))
    for n in range(x.size):
        g[n] -= model.beta * model.y[n] * inverse_mills(model.y[n] * x[n])
        g[n] += (1.0 - model.beta) * (model.tau[n] * x[n] - model.nu[n])
    return g
