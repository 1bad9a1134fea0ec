"""What the generalised leapfrog needs of a Contracted SoftAbs metric (models/soft_abs.py).

The derivatives of the metric are never formed, only the two products with them that grad_x H has.
"""

from typing import NamedTuple

import numpy as np

from algorithms.generalised_leapfrog import dH_dp, dH_dx, geometry
from models.interface import U, grad_U, hessian_gradient
from models.linalg import log_det
from models.soft_abs import Contracted, contract, determinant_factor, spectrum, square_factor


def contract_soft_abs(model, alpha):
    """Give a model the SoftAbs metric of hardness alpha, in this form."""
    return Contracted.from_model(model, alpha)


class SpectralGeometry(NamedTuple):
    """The parts of H and of its gradient that depend on the position only."""

    U: float
    log_det_G: float
    L: np.ndarray  # (d, d) lower Cholesky factor of G
    drift: np.ndarray  # (d,) dU/dx_n + tr(G^-1 dG_n) / 2, the gradient at p = 0
    Q: np.ndarray  # (d, d) eigenvectors of the Hessian
    J: np.ndarray  # (d, d) divided differences
    third: np.ndarray  # (d, d, d) derivatives of the Hessian


@geometry.register(Contracted)
def spectral_geometry(x, L, model):
    """Evaluate the SpectralGeometry of x, given the factor L of G(x)."""
    values, Q, J = spectrum(x, model)
    third = hessian_gradient(x, model.model)
    drift = grad_U(x, model) + contract(third, determinant_factor(values, Q, J)) / 2
    return SpectralGeometry(U(x, model), log_det(L), L, drift, Q, J, third)


@dH_dx.register(SpectralGeometry)
def spectral_dH_dx(here, p):
    """Gradient of H with respect to x, in 6 d^3 operations."""
    return here.drift - contract(here.third, square_factor(here.Q, here.J, dH_dp(here.L, p))) / 2
