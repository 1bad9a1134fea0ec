"""Trajectories on the funnel by three Hamiltonians, from one start and one draw of the momentum.

A path is a dict of arrays with a number for each recorded point:
time   simulated, step size times steps        v, x    hyperparameter, and the first entry of x
U      potential energy (4)                    K       kinetic energy (5), its log determinant in it
log    half the log determinant of M_theta, n v / 2, which cancels a term of U; SSHMC's alone
"""

import numpy as np

from algorithms.generalised_leapfrog import (
    generalised_leapfrog,
    geometry,
    hamiltonian,
    metric_factor,
)
from algorithms.zhang_sshmc import abla_path
from models.interface import U, grad_U
from models.jit import njit
from models.soft_abs import SoftAbs


@njit
def leapfrogs(q, p, model, eps, n):
    """Take n leapfrog steps with unit mass, equations (2a) to (2c)."""
    p = p - eps / 2 * grad_U(q, model)
    for step in range(n):
        q = q + eps * p
        p = p - (eps if step < n - 1 else eps / 2) * grad_U(q, model)
    return q, p


def hmc_path(q, z, model, eps, L, every):
    """Take L leapfrogs of standard HMC from q with the momentum z, and record one of `every`."""
    points = [(q, z)]
    for _ in range(L // every):
        points.append(leapfrogs(*points[-1], model, eps, every))
    q, p = (np.array(each) for each in zip(*points, strict=True))
    return recorded(q, eps * every, np.array([U(each, model) for each in q]),
                    np.sum(p * p, axis=1) / 2)


def sshmc_path(q, z, model, eps_theta, eps_phi, L, n_theta, n_phi):
    """Take L ABLA steps from q = (x, v) with a momentum made of the normals z, and record each."""
    n, v = q.size - 1, q[-1]
    r_phi = model.L_phi @ z[n:]
    path = abla_path(q[:n], q[n:], np.exp(v / 2) * z[:n], r_phi, model, eps_theta, eps_phi, L,
                     n_theta, n_phi)
    found = recorded(np.hstack([path.theta, path.phi]), n_phi * eps_phi, path.energy.U,
                     path.energy.H - path.energy.U)
    return found | {"log": path.energy.log_det_theta}


def soft_abs_path(q, z, model, alpha, eps, L, every):
    """Take L generalised leapfrogs with the SoftAbs metric, and record one of `every`.

    It ends early where the implicit equations have no solution that is found.
    """
    curved = SoftAbs.from_model(model, alpha)
    factor = metric_factor(q, curved)
    p = factor @ z
    points, H = [q], [hamiltonian(geometry(q, factor, curved), p)]
    for _ in range(L // every):
        end = generalised_leapfrog(points[-1], p, curved, every, eps)
        if not end.converged:
            break
        points.append(end.x)
        p = end.p
        H.append(end.H)
    potential = np.array([U(each, model) for each in points])
    return recorded(np.array(points), eps * every, potential, np.array(H) - potential)


def recorded(q, step, potential, kinetic):
    """Put a path together."""
    return {"time": step * np.arange(len(q)), "v": q[:, -1], "x": q[:, 0], "U": potential,
            "K": kinetic, "log": np.zeros(len(q))}
