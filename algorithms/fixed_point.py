"""The fixed-point loops of RMHMC for Gaussian processes: how fast they converge, what they leave.

Paper       U. Paquet and M. Fraccaro (2016), "An Efficient Implementation of Riemannian Manifold
            Hamiltonian Monte Carlo for Gaussian Process Models": Algorithm 1, lines 13 to 24.
Mirror      none: formulas, derived below; the trajectories are those of paquet_rmhmc_fast.py.
Departures  none.

Derivation
----------
Let A = d2H / dx dp.  The loops of lines 13 to 16 and 20 to 24 have the Jacobians -(eps/2) A and
(eps/2) A', and start at a distance of (eps/2) dH/dx and eps dH/dp from their solutions.  So f
iterations leave errors of (-1)^f (eps/2)^(f+1) A^f dH/dx in p and -2 (eps/2)^(f+1) A'^f dH/dp in x,
to leading order.  On the way back eps is in effect -eps, and the same errors come with the factor
(-1)^(f+1): for odd f they add, for even f they cancel.  The error of the return is of order
eps^(f+1) for odd f and eps^(f+2) for even f: 5 is of the order of 4.

For this model A = -diag(w o dg) G^-1 with w = G^-1 p.  Its eigenvalues are those of the symmetric
L' diag(w o dg) L with G^-1 = L L', so every further iteration multiplies the error by at most
c = (eps/2) max |eigenvalue|, asymptotically; for c > 1 the loops need not converge at all.

Notation as in algorithms/paquet_rmhmc.py.
"""

import numpy as np

from algorithms.paquet_rmhmc_fast import G_inv_times, geometry, metric_factor, trajectory
from models.linalg import posterior_factor, solve_lower_transposed, symmetric_times


def draw_momentum(x, model, rng):
    """Draw p ~ N(0, G(x)), as L_K^-T z1 + s o z2 of 2 N normals."""
    s, _ = metric_factor(x, model, np.empty_like(model.K))
    return (solve_lower_transposed(model.L_K, rng.standard_normal(x.size))
            + s * rng.standard_normal(x.size))


def travel(x, p, model, l_max, eps, f_max):
    """A trajectory: x after each step, p between its halves, both (l_max, N); the last p; two H."""
    N = x.size
    L, work, path = np.empty((N, N)), np.empty((N, N)), np.empty((l_max, 2, N))
    s, ok = metric_factor(x, model, L)
    at = geometry(x, s, L, ok, model, work)
    _, p, *energies = trajectory(at, p, model, l_max, eps, f_max, L, work, path)
    return path[:, 0], path[:, 1], p, energies


def contraction(x, p, model, eps):
    """The factor c by which a fixed-point iteration at (x, p) multiplies a small error, at most."""
    if not (np.isfinite(x).all() and np.isfinite(p).all()):
        return np.nan
    factor = np.empty_like(model.K)
    s, ok = metric_factor(x, model, factor)
    at = geometry(x, s, factor, ok, model, np.empty_like(factor))
    w = G_inv_times(symmetric_times(model.K, p), p, s, factor, model)
    L, _ = posterior_factor(model.L_K, s**2)
    return eps / 2 * np.abs(np.linalg.eigvalsh(L.T @ ((w * at.dg)[:, None] * L))).max()
