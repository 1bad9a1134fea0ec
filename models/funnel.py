"""Neal's funnel: n normal variables whose common precision is e^v, and v normal.

    p(x, v) = N(v | 0, 9) prod_i N(x_i | 0, e^-v)

Source      Zhang and Sutton (2014), Section 2; R. M. Neal (2003), "Slice sampling", Annals of
            Statistics 31, 705-767, Section 8, with n = 9 and v of the opposite sign.

theta is x and phi is (v,).  M_x(v) = e^v I is the Hessian of -log p(x | v); half its log
determinant, n v / 2, cancels that of the density in U_2.  M_v is constant: by default n + 1/9, as
printed in Section 5.1, where the definition printed beside it gives n / 2 + 1/9 (below).

Departures
----------
Zhang and Sutton (2014), Section 5.1
    theirs  the "mass matrix" G_x = -d^2/dv^2 log p(x, v)^-1 = e^v I; in Section 3 G, "called the
            mass matrix", is the precision of the momentum, in Algorithm 1 its covariance
    ours    e^v I is the covariance of the momentum of x
    why     -d^2/dx_i^2 log p(x, v) = e^v; with the precision e^v no proposal is accepted
    test    test_section_5_1_the_mass_of_x_is_its_hessian
Zhang and Sutton (2014), Section 5.1
    theirs  G_v = -E[d^2/dv^2 log p(x, v)]^-1 = (n + 1/9)^-1
    ours    that expectation is n / 2 + 1/9; n + 1/9 is the default, as a setting
    why     e^v x'x / 2 is its own second derivative, and has mean n / 2
    test    test_section_5_1_the_curvature_of_v
"""

from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.fields import Factor

VARIANCE = 9.0  # of v


class Funnel(NamedTuple):
    """The funnel; made by from_size."""

    n: int
    L_phi: Factor(1, 1)  # root of the mass of v

    @staticmethod
    def from_size(n, mass_phi=None):
        """Make the funnel of n variables x.

        n        : int >= 1
        mass_phi : float > 0, (1, 1) or None   mass of v; None: n + 1/9, as printed

        Raises ValueError for anything else.
        """
        n = validate.count("n", n)
        return Funnel(n, validate.mass("mass_phi", n + 1 / VARIANCE if mass_phi is None
                                       else mass_phi, 1))


@validate.check_values.register
def check_values(model: Funnel, name):
    """There is a variable x."""
    validate.count(f"{name}.n", model.n)


class FunnelPhi(NamedTuple):
    """What depends on v alone, computed once."""

    phi: np.ndarray  # (1,)
    precision: float  # e^v: the precision of x, and its mass


class FunnelTheta(NamedTuple):
    """What depends on x alone, computed once."""

    theta: np.ndarray  # (n,)
    squares: float  # x'x


@interface.U.register(Funnel)
def U(q, model):
    """e^v x'x / 2 - n v / 2 + v^2 / 18."""
    x, v = q[:-1], q[-1]
    return np.exp(v) * (x @ x) / 2 - model.n * v / 2 + v * v / (2 * VARIANCE)


@interface.grad_U.register(Funnel)
def grad_U(q, model):
    """e^v x, and then e^v x'x / 2 - n / 2 + v / 9."""
    x, v = q[:-1], q[-1]
    g = np.exp(v) * q
    g[-1] = np.exp(v) * (x @ x) / 2 - model.n / 2 + v / VARIANCE
    return g


@interface.hessian.register(Funnel)
def hessian(q, model):
    """e^v I, e^v x and e^v x'x / 2 + 1/9."""
    n, x, precision = model.n, q[:-1], np.exp(q[-1])
    A = np.zeros((n + 1, n + 1))
    for i in range(n):
        A[i, i] = precision
        A[i, n] = A[n, i] = precision * x[i]
    A[n, n] = precision * (x @ x) / 2 + 1 / VARIANCE
    return A


@interface.hessian_gradient.register(Funnel)
def hessian_gradient(q, model):
    """By x_i: e^v in (i, v) and e^v x_i in (v, v).  By v: the Hessian without its 1/9."""
    n, precision = model.n, np.exp(q[-1])
    dA = np.zeros((n + 1, n + 1, n + 1))
    for i in range(n):
        dA[i, i, n] = dA[i, n, i] = precision
        dA[i, n, n] = precision * q[i]
    dA[n] = hessian(q, model)
    dA[n, n, n] -= 1 / VARIANCE
    return dA


@interface.sizes.register(Funnel)
def sizes(model):
    """n, and 1."""
    return model.n, 1


@interface.precompute_phi.register(Funnel)
def precompute_phi(phi, model):
    """e^v."""
    return FunnelPhi(phi, np.exp(phi[0]))


@interface.precompute_theta.register(Funnel)
def precompute_theta(theta, model):
    """x'x."""
    return FunnelTheta(theta, theta @ theta)


@interface.U_theta.register(Funnel)
def U_theta(theta, Phi, model):
    """e^v x'x / 2 - n v / 2."""
    return Phi.precision * (theta @ theta) / 2 - model.n * Phi.phi[0] / 2


@interface.grad_U_theta.register(Funnel)
def grad_U_theta(theta, Phi, model):
    """e^v x."""
    return Phi.precision * theta


@interface.U_prior.register(Funnel)
def U_prior(phi, model):
    """v^2 / 18."""
    return phi[0] * phi[0] / (2 * VARIANCE)


@interface.U_phi.register(Funnel)
def U_phi(Phi, Theta, model):
    """e^v x'x / 2 - n v / 2 + v^2 / 18."""
    v = Phi.phi[0]
    return Phi.precision * Theta.squares / 2 - model.n * v / 2 + v * v / (2 * VARIANCE)


@interface.grad_U_phi.register(Funnel)
def grad_U_phi(Phi, Theta, model):
    """e^v x'x / 2 - n / 2 + v / 9."""
    v = Phi.phi[0]
    return np.array([Phi.precision * Theta.squares / 2 - model.n / 2 + v / VARIANCE])


@interface.grad_U2.register(Funnel)
def grad_U2(Phi, Theta, r_theta, model):
    """e^v x'x / 2 - e^-v r_x'r_x / 2 + v / 9: n / 2 and the log determinant's cancel."""
    return np.array([Phi.precision * Theta.squares / 2 - (r_theta @ r_theta) / Phi.precision / 2
                     + Phi.phi[0] / VARIANCE])


@interface.momentum_theta.register(Funnel)
def momentum_theta(z, Phi, model):
    """e^(v/2) z."""
    return np.sqrt(Phi.precision) * z


@interface.velocity_theta.register(Funnel)
def velocity_theta(r_theta, Phi, model):
    """e^-v r_x."""
    return r_theta / Phi.precision


@interface.log_det_theta.register(Funnel)
def log_det_theta(Phi, model):
    """n v."""
    return model.n * Phi.phi[0]
