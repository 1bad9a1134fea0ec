"""A mixture of Gaussians in d dimensions, with a metric for Riemannian HMC.

Paper       U. Paquet and M. Fraccaro (2016), Figure 1.  The paper gives neither its mixture nor
            its metric; minus the Hessian of the log density is indefinite between the components,
            so it cannot have been that.  Ours is the mean of the components' precisions, weighted
            by their responsibilities for q: positive definite and smooth everywhere, and the
            precision itself where one component alone matters.

Notation
--------
mathematics      here                 shape       meaning
w_k              weights              (k,)        probabilities of the components
m_k              means                (k, d)      their means
P_k = S_k^-1     precisions           (k, d, d)   their inverse covariances
log|2 pi S_k|/2  log_normalisers      (k,)        minus their log densities at their means
r_k(q)           responsibilities     (k,)        w_k N(q; m_k, S_k) / sum_j w_j N(q; m_j, S_j)
g_k(q)           g                    (k, d)      P_k (q - m_k), so that grad U = sum_k r_k g_k
G(q)             metric               (d, d)      sum_k r_k P_k
"""

import math
from typing import NamedTuple

import numpy as np

from models import validate
from models.fields import Array, Positive, Symmetric
from models.interface import U, grad_U, metric, metric_gradient
from models.jit import njit
from models.linalg import cholesky, invert_lower, log_det


class GaussianMixture(NamedTuple):
    """A mixture of k normal distributions in d dimensions; make one with gaussian_mixture."""

    weights: Positive("k")  # sum to one
    means: Array("k", "d")
    precisions: Symmetric("k", "d", "d")  # the inverse covariances
    log_normalisers: Array("k")  # log|2 pi S| / 2 of each component


def gaussian_mixture(weights, means, covariances):
    """Make the model of density sum_k w_k N(q; m_k, S_k).

    Parameters
    ----------
    weights     : (k,)        positive, summing to one
    means       : (k, d)      finite
    covariances : (k, d, d)   each symmetric positive definite

    Returns
    -------
    model       : GaussianMixture

    Raises
    ------
    ValueError  naming the argument, if a shape, a weight or a covariance is not as above
    """
    means = validate.array("means", means, (-1, -1))
    k, d = means.shape
    weights = validate.array("weights", weights, (k,))
    if not (weights > 0).all():
        raise ValueError(f"weights must be positive, but the smallest is {weights.min():g}")
    if abs(weights.sum() - 1) > 1e-12:  # rounding of a sum, no more
        raise ValueError(f"weights must sum to one, not to {weights.sum():.15g}")
    covariances = validate.array("covariances", covariances, (k, d, d))
    precisions, log_normalisers = np.empty((k, d, d)), np.empty(k)
    for j in range(k):
        L, ok = cholesky(validate.covariance(f"covariances[{j}]", covariances[j]))
        if not ok:
            raise ValueError(f"covariances[{j}] must be positive definite, but its Cholesky"
                             " factorisation breaks down")
        log_normalisers[j] = (d * math.log(2 * math.pi) + log_det(L)) / 2
        invert_lower(L)
        precisions[j] = L.T @ L
    return GaussianMixture(weights, means, precisions, log_normalisers)


@validate.check_values.register
def check_values(model: GaussianMixture, name):
    """The weights sum to one, and the normalisers are those of the precisions."""
    if abs(model.weights.sum() - 1) > 1e-12:  # rounding of a sum, no more
        raise ValueError(f"{name}.weights must sum to one, not to {model.weights.sum():.15g}")
    d = model.means.shape[1]
    if not (np.linalg.eigvalsh(model.precisions) > 0).all():
        raise ValueError(f"{name}.precisions must be positive definite")
    wanted = (d * math.log(2 * math.pi) - np.linalg.slogdet(model.precisions)[1]) / 2
    if not np.allclose(model.log_normalisers, wanted, 1e-6, 1e-6):
        raise ValueError(f"{name}.log_normalisers must be log|2 pi S| / 2 of the precisions S^-1,"
                         f" {wanted[:3].tolist()}, not {model.log_normalisers[:3].tolist()}")


def mixture_draw(model, n, rng):
    """Draw n independent points from the mixture.

    Parameters
    ----------
    model : GaussianMixture
    n     : int >= 0
    rng   : Generator         advanced by n uniforms (the components), then n d normals

    Returns
    -------
    q     : (n, d) float64

    Raises ValueError, naming the argument, for anything else.
    """
    model = validate.model("model", model)
    validate.instance("model", model, GaussianMixture, "made by gaussian_mixture")
    n = validate.count("n", n, 0)
    rng = validate.generator("rng", rng)
    d = model.means.shape[1]
    edges = np.cumsum(model.weights)[:-1]
    component = np.searchsorted(edges, rng.random(n), side="right")
    z = rng.standard_normal((n, d))
    # with P = L L', the covariance of L'^-1 z is P^-1
    roots = np.linalg.inv(np.linalg.cholesky(model.precisions)).swapaxes(1, 2)
    return model.means[component] + np.einsum("nij,nj->ni", roots[component], z)


@njit
def mixture_terms(q, model):
    """Evaluate what the functions below share.

    Parameters
    ----------
    q     : (d,) float64
    model : GaussianMixture

    Returns
    -------
    log_density      : float         log sum_k w_k N(q; m_k, S_k); nan if q is so far that all are 0
    responsibilities : (k,) float64  r_k(q)
    g                : (k, d)        P_k (q - m_k)
    """
    k, d = model.means.shape
    a, g = np.empty(k), np.empty((k, d))
    for j in range(k):
        offset = q - model.means[j]
        g[j] = model.precisions[j] @ offset
        a[j] = math.log(model.weights[j]) - model.log_normalisers[j] - 0.5 * (offset @ g[j])
    highest = a.max()
    total = 0.0
    for j in range(k):
        a[j] = math.exp(a[j] - highest)
        total += a[j]
    return highest + math.log(total), a / total, g


@U.register(GaussianMixture)
def mixture_U(q, model):
    """Minus the log density, normalised.  q: (d,) -> float."""
    return -mixture_terms(q, model)[0]


@grad_U.register(GaussianMixture)
def mixture_grad_U(q, model):
    """sum_k r_k g_k.  q: (d,) -> (d,)."""
    _, responsibilities, g = mixture_terms(q, model)
    return responsibilities @ g


@metric.register(GaussianMixture)
def mixture_metric(q, model):
    """sum_k r_k P_k.  q: (d,) -> (d, d)."""
    _, responsibilities, _ = mixture_terms(q, model)
    G = np.zeros(model.precisions.shape[1:])
    for j in range(responsibilities.size):
        G += responsibilities[j] * model.precisions[j]
    return G


@metric_gradient.register(GaussianMixture)
def mixture_metric_gradient(q, model):
    """dG/dq_i = sum_k r_k (g_i - g_ki) P_k, g = sum_k r_k g_k.  q: (d,) -> (d, d, d), [i] first.

    It follows from d log r_k / dq = -g_k + sum_j r_j g_j.
    """
    _, responsibilities, g = mixture_terms(q, model)
    mean_g = responsibilities @ g
    k, d = g.shape
    dG = np.zeros((d, d, d))
    for i in range(d):
        for j in range(k):
            dG[i] += responsibilities[j] * (mean_g[i] - g[j, i]) * model.precisions[j]
    return dG
