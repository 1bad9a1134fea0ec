"""Gaussian-process classification in the coordinates z of x = L(phi) z, z ~ N(0, I) a priori.

Given K = L L' and D = dK / d log l, x moves by L H z along log l, where H is the lower triangle of
L^-1 D L^-T with its diagonal halved.  Along log sigma x moves by itself.
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.hierarchical_gp_classification import (
    HierarchicalGPClassification,
    grad_U_prior,
    whiten_matrix,
)
from models.interface import U, U_prior, grad_U, precompute_phi, sizes
from models.jit import njit
from models.linalg import triangular_times
from models.special import inverse_mills, log_Phi


class NonCentredGP(NamedTuple):
    """A model of q = (z, log l, log sigma)."""

    model: HierarchicalGPClassification


@validate.dimension.register
def dimension(given: NonCentredGP):
    """As many as the model has."""
    return sum(sizes(given.model))


@njit
def latent(z, Phi):
    """Return x = L z."""
    x = z.copy()
    triangular_times(Phi.L, x, False)
    return x


@U.register(NonCentredGP)
def non_centred_U(q, given):
    """z'z / 2 - sum_n log Phi(y_n x_n), and the prior's."""
    model, z = given.model, q[:-2]
    x = latent(z, precompute_phi(q[-2:], model))
    total = z @ z / 2 + U_prior(q[-2:], model)
    for n in range(x.size):
        total -= log_Phi(model.y[n] * x[n])
    return total


@grad_U.register(NonCentredGP)
def non_centred_grad_U(q, given):
    """z + L'g, (L'g)'H z and g'x, g = -y h(y x), and the prior's; n^3, of the whitened D."""
    model, z = given.model, q[:-2]
    Phi = precompute_phi(q[-2:], model)
    x, n = latent(z, Phi), z.size
    g = np.empty(n)
    for i in range(n):
        g[i] = -model.y[i] * inverse_mills(model.y[i] * x[i])
    found = np.empty(n + 2)
    found[n:] = grad_U_prior(Phi.phi, model)
    found[n + 1] += g @ x
    triangular_times(Phi.L, g, True)
    H = whiten_matrix(Phi.D, Phi)
    for i in range(n):
        found[n] += g[i] * (H[i, :i] @ z[:i] + H[i, i] * z[i] / 2)
    found[:n] = z + g
    return found
