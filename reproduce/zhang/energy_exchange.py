"""Where the energy goes on a trajectory of SSHMC on the funnel of Zhang and Sutton (2014).

In an ABLA step H_2 moves v while x and r_x stand still.  What -log p(v | x) changes by then is paid
by the kinetic energy of v, by the auxiliary potential with its log determinant, and by the error of
the leapfrog.
"""

import numpy as np

from algorithms.zhang_sshmc import H1, leapfrog
from models.funnel import VARIANCE
from models.interface import (
    U_phi,
    auxiliary_theta,
    grad_U_phi,
    precompute_phi,
    precompute_theta,
    velocity_phi,
)


def block_energies(path, model, eps_theta, n_theta):
    """Return the totals of a trajectory, and what a figure shows of it.

    path : Path   of algorithms.zhang_sshmc.abla_path, its steps taken with eps_theta and n_theta

    "totals"  {"U", "K": ranges of the potential and the kinetic energy, (4) and (5)
              "U without", "K without": the same without -n v / 2 and + n v / 2
              "lent": range of the energy of the block of v, v^2 / 18 + K(r_v), which is what the
              blocks have lent each other
              "reach": range of -log p(v | x), by its changes while H_2 moves v, summed
              "paid": the same of the auxiliary potential, with its log determinant
              "own": range of the kinetic energy of v
              "v": range of v}
    "path"    {"U", "K", "v", "lent": at the end of each step; and "U without", "K without"}
    """
    v, e = path.phi[:, 0], path.energy
    changes = np.array([step_changes(*point, model, eps_theta, n_theta) for point in zip(
        path.theta[:-1], path.phi[:-1], path.r_theta[:-1], path.r_phi[:-1], path.phi[1:],
        strict=True)])
    K = e.K_theta + e.K_phi + e.log_det_theta + e.log_det_phi
    shown = {"U": e.U, "K": K, "U without": e.U + e.log_det_theta, "K without": K - e.log_det_theta,
             "lent": v * v / (2 * VARIANCE) + e.K_phi, "v": v}
    reach, paid = np.vstack([np.zeros(2), np.cumsum(changes, axis=0)]).T
    ranges = shown | {"reach": reach, "paid": paid, "own": e.K_phi}
    return {"totals": {name: float(np.ptp(each)) for name, each in ranges.items()}, "path": shown}


def step_changes(theta, phi, r_theta, r_phi, phi_next, model, eps_theta, n_theta):
    """Return the changes of -log p(v | x) and of the auxiliary potential while H_2 moves v."""
    Phi, Phi_next = precompute_phi(phi, model), precompute_phi(phi_next, model)
    theta, r_theta = leapfrog(theta, r_theta, H1(model, Phi, r_phi), eps_theta, n_theta)
    Theta = precompute_theta(theta, model)
    before, after = (np.array([U_phi(here, Theta, model), auxiliary_theta(r_theta, here, model)])
                     for here in (Phi, Phi_next))
    return after - before


def within_gibbs(theta, phi, r_phi, model, eps, L):
    """Return the ranges of v and of -log p(v | x) in one trajectory of HMC within Gibbs.

    It takes L leapfrogs of `eps` on the conditional density of v, without auxiliary potential.
    """
    Theta = precompute_theta(theta, model)
    points = [(phi, r_phi)]
    for _ in range(L):
        phi, r_phi = points[-1]
        r_phi = r_phi - eps / 2 * grad_U_phi(precompute_phi(phi, model), Theta, model)
        phi = phi + eps * velocity_phi(r_phi, Theta, model)
        r_phi = r_phi - eps / 2 * grad_U_phi(precompute_phi(phi, model), Theta, model)
        points.append((phi, r_phi))
    potential = [U_phi(precompute_phi(phi, model), Theta, model) for phi, _ in points]
    return {"v": float(np.ptp([phi[0] for phi, _ in points])), "U": float(np.ptp(potential))}
