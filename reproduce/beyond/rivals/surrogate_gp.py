"""Surrogate-data slice sampling for Gaussian-process classification.

Murray and Adams (2010), Algorithm 4, as algorithms/rivals/surrogate_slice.py has it line by line
for another model.  Given surrogate data g = x + noise of variance s, the latent values are x = m +
L R^-1 eta, with K = L L', R'R = I + L'L / s, m the mean of x given g, and eta ~ N(0, I).  Given g
and eta, phi has the density

    p(phi) p(y | x) N(g; 0, K + s I)

of which each hyperparameter takes a slice update with a bracket that is not stepped out.  Then x
moves by elliptical slice sampling.
"""

from typing import NamedTuple

import numpy as np

from algorithms.rivals.elliptical_slice import EVALUATIONS as POINTS
from algorithms.rivals.elliptical_slice import centre, elliptical_update, log_L, normal_draw
from algorithms.slice_sampling import EVALUATIONS, slice_update
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.interface import U, U_prior, precompute_phi, prepare
from models.jit import njit
from models.linalg import (
    log_det,
    solve_lower,
    solve_lower_transposed,
    triangular_times,
    whitened_factor,
)
from models.special import log_Phi


class GivenSurrogate(NamedTuple):
    """The density of phi given surrogate data and the whitened latent values."""

    model: HierarchicalGPClassification
    g: np.ndarray  # (n,)
    eta: np.ndarray  # (n,)
    noise: float  # s


class GPField(NamedTuple):
    """The latent values given phi, for elliptical slice sampling."""

    y: np.ndarray  # (n,)
    L: np.ndarray  # (n, n)


class At(NamedTuple):
    """The normal distribution of x given g, at one phi."""

    L: np.ndarray  # (n, n)
    R: np.ndarray  # (n, n) lower; nan where there is none
    m: np.ndarray  # (n,)
    log_marginal: float  # of g, up to a constant


@njit
def log_likelihood(x, y):
    """sum_n log Phi(y_n x_n)."""
    total = 0.0
    for n in range(x.size):
        total += log_Phi(y[n] * x[n])
    return total


@centre.register(GPField)
def field_centre(field):
    """0."""
    return np.zeros(field.y.size)


@normal_draw.register(GPField)
def field_draw(field, rng):
    """L z, with n normals."""
    x = rng.standard_normal(field.y.size)
    triangular_times(field.L, x, False)
    return x


@log_L.register(GPField)
def field_log_L(x, field):
    """Log probability of the labels."""
    return log_likelihood(x, field.y)


@njit
def factorise_phi(phi, g, noise, model):
    """Return the At of phi; two factorisations and L'L."""
    L = precompute_phi(phi, model).L
    R, ok = whitened_factor(L, np.full(g.size, 1.0 / noise))
    if not ok:
        R[:] = np.nan
    m = g / noise
    triangular_times(L, m, True)
    m = solve_lower(R, solve_lower_transposed(R, m))
    triangular_times(L, m, False)
    return At(L, R, m, -(g @ (g - m) / noise + log_det(R)) / 2)


@njit
def whitened_latent(x, here):
    """Eta = R L^-1 (x - m)."""
    eta = solve_lower(here.L, x - here.m)
    triangular_times(here.R, eta, False)
    return eta


@njit
def latent(eta, here):
    """Return x = m + L R^-1 eta."""
    x = solve_lower(here.R, eta)
    triangular_times(here.L, x, False)
    return x + here.m


@U.register(GivenSurrogate)
def surrogate_U(phi, given):
    """Minus the log of the density above."""
    here = factorise_phi(phi, given.g, given.noise, given.model)
    return (U_prior(phi, given.model) - here.log_marginal
            - log_likelihood(latent(given.eta, here), given.model.y))


@njit
def surrogate_gp(x, phi, model, noise, w, n, rng, ellipses):
    """Run n transitions from x and phi, which are not modified.

    noise    : float > 0   variance of the surrogate data
    w        : float > 0   width of a bracket
    ellipses : int >= 1    updates of x alone in a transition

    Returns (x (n, cases), phi (n, 2), evaluations of densities given surrogate data, of the labels'
    probability alone).  rng is advanced, per transition, for each hyperparameter by a normal a case
    and as by slice_update, and then as by `ellipses` elliptical_update.
    """
    rows, columns = np.empty((n, x.size)), np.empty((n, 2))
    tally, points = np.zeros(4, np.int64), np.zeros(2, np.int64)
    for t in range(n):
        for k in range(2):
            g = x + np.sqrt(noise) * rng.standard_normal(x.size)
            eta = whitened_latent(x, factorise_phi(phi, g, noise, model))
            given = GivenSurrogate(model, g, eta, noise)
            phi = slice_update(prepare(phi, given), k, given, w, 1, tally, rng).q
            x = latent(eta, factorise_phi(phi, g, noise, model))
        field = GPField(model.y, precompute_phi(phi, model).L)
        value = field_log_L(x, field)
        for _ in range(ellipses):
            x, value = elliptical_update(x, value, field, points, rng)
        rows[t], columns[t] = x, phi
    return rows, columns, tally[EVALUATIONS] + 6 * n, points[POINTS] + n
