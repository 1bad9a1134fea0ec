"""A posterior in coordinates in which its Hessian at the mode is the identity.

q = q_hat + C z with C = Z diag(1 / w), J = Z diag(w^2) Z' the Hessian of U at the mode q_hat.  HMC
with unit masses in z is HMC with the mass M = J in q, and split HMC in z is split HMC whose
momentum has the covariance J.
"""

from typing import NamedTuple

import numpy as np

from algorithms.shahbaba_split_hmc import NormalApproximation, split_data
from models.interface import U, U_and_grad_U, case_entropy, grad_U, select_cases


class Whitened(NamedTuple):
    """A model of z; made by whitened()."""

    model: NamedTuple  # of q
    q_hat: np.ndarray  # (d,)
    C: np.ndarray  # (d, d): C' J C = I


def whiten(model, fit):
    """Return the model in these coordinates; fit is its NormalApproximation."""
    return Whitened(model, fit.q_hat, np.ascontiguousarray(fit.Z / fit.w))


def whitened_problem(model, fit, fraction):
    """Return the model, the normal approximation and the split of the data, all in z."""
    d = fit.w.size
    new = whiten(model, fit)
    return (new, NormalApproximation(np.zeros(d), np.eye(d), np.ones(d)),
            split_data(new, np.zeros(d), fraction))


def original(z, model):
    """Return draws (n, d) of z in the coordinates of q."""
    return model.q_hat + z @ model.C.T


@U.register(Whitened)
def whitened_U(z, model):
    """U of the model at q."""
    return U(model.q_hat + model.C @ z, model.model)


@U_and_grad_U.register(Whitened)
def whitened_U_and_grad_U(z, model):
    """U at q, and C' grad U."""
    energy, g = U_and_grad_U(model.q_hat + model.C @ z, model.model)
    return energy, model.C.T @ g


@grad_U.register(Whitened)
def whitened_grad_U(z, model):
    """C' grad U at q."""
    return model.C.T @ grad_U(model.q_hat + model.C @ z, model.model)


@case_entropy.register(Whitened)
def whitened_entropy(z, model):
    """The entropy of each case's class, at q."""
    return case_entropy(model.q_hat + model.C @ z, model.model)


@select_cases.register(Whitened)
def whitened_part(model, cases, prior):
    """Return the model of these cases, in the same coordinates."""
    return Whitened(select_cases(model.model, cases, prior), model.q_hat, model.C)
