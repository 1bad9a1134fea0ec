"""The formulas of Zhang and Sutton (2014) as printed, to be run beside ours by zhang_errata.py.

The funnel with the signs and powers of its masses left open: M_x = e^(k v) I, with +- n k v / 2 for
half its log determinant, and momenta from N(0, e^(d v) I) and N(0, M_v^s).  Ours is k = d = s = 1
and +.  H_1 and H_2 are those of algorithms/zhang_sshmc.py in any case.
"""

from typing import NamedTuple

import numpy as np

from algorithms.zhang_sshmc import abla_step, sshmc
from models import interface
from models.funnel import Funnel
from reproduce.harness.mirrors import variant


class FunnelAsPrinted(NamedTuple):
    """The funnel with another mass of x, another sign, or other momenta."""

    inner: NamedTuple  # the Funnel, whose density it has
    sign: float  # +1 or -1, of the log determinant in (5) and (10)
    power: float  # k
    drawn: float  # d
    drawn_phi: float  # s
    L_phi: np.ndarray  # (1, 1) root of the mass of v


def as_printed(n, sign=1.0, power=1.0, drawn=1.0, drawn_phi=1.0, mass_phi=None):
    """Make the funnel of n variables; the defaults are ours, and the printed mass of v."""
    inner = Funnel.from_size(n, mass_phi)
    return FunnelAsPrinted(inner, sign, power, drawn, drawn_phi, inner.L_phi)


PRINTED = {  # each erratum's own settings
    "ours": {},
    "Z1": {"sign": -1.0},  # + log |G| / 2, where G = M^-1
    "Z2": {"drawn": -1.0, "drawn_phi": -1.0},  # r ~ N(0, G), with r'G r / 2
    "Z4": {"power": -1.0, "drawn": -1.0},  # G_x = e^v I, with r'G r / 2 and r ~ N(0, G^-1)
}


class FunnelAsPrintedPhi(NamedTuple):
    """What is to be known of v."""

    phi: np.ndarray  # (1,)
    inner: NamedTuple  # of the Funnel
    mass: float  # e^(k v)


@interface.grad_U.register(FunnelAsPrinted)
def grad_U(q, model):
    """The funnel's."""
    return interface.grad_U(q, model.inner)


@interface.sizes.register(FunnelAsPrinted)
def sizes(model):
    """n, and 1."""
    return interface.sizes(model.inner)


@interface.precompute_phi.register(FunnelAsPrinted)
def precompute_phi(phi, model):
    """e^v and e^(k v)."""
    return FunnelAsPrintedPhi(phi, interface.precompute_phi(phi, model.inner),
                              np.exp(model.power * phi[0]))


@interface.precompute_theta.register(FunnelAsPrinted)
def precompute_theta(theta, model):
    """x'x."""
    return interface.precompute_theta(theta, model.inner)


@interface.U_theta.register(FunnelAsPrinted)
def U_theta(theta, Phi, model):
    """The funnel's."""
    return interface.U_theta(theta, Phi.inner, model.inner)


@interface.grad_U_theta.register(FunnelAsPrinted)
def grad_U_theta(theta, Phi, model):
    """The funnel's."""
    return interface.grad_U_theta(theta, Phi.inner, model.inner)


@interface.U_prior.register(FunnelAsPrinted)
def U_prior(phi, model):
    """The funnel's."""
    return interface.U_prior(phi, model.inner)


@interface.grad_U2.register(FunnelAsPrinted)
def grad_U2(Phi, Theta, r_theta, model):
    """The gradient of U_phi, and k (+- n - e^(-k v) r'r) / 2."""
    n, k = model.inner.n, model.power
    return (interface.grad_U_phi(Phi.inner, Theta, model.inner)
            + k * (model.sign * n - (r_theta @ r_theta) / Phi.mass) / 2)


@interface.momentum_theta.register(FunnelAsPrinted)
def momentum_theta(z, Phi, model):
    """e^(d v / 2) z."""
    return np.exp(model.drawn * Phi.phi[0] / 2) * z


@interface.velocity_theta.register(FunnelAsPrinted)
def velocity_theta(r_theta, Phi, model):
    """e^(-k v) r_x."""
    return r_theta / Phi.mass


@interface.log_det_theta.register(FunnelAsPrinted)
def log_det_theta(Phi, model):
    """+- n k v."""
    return model.sign * model.inner.n * model.power * Phi.phi[0]


@interface.momentum_phi.register(FunnelAsPrinted)
def momentum_phi(z, Theta, model):
    """M_v^(s / 2) z."""
    return model.L_phi[0, 0] ** model.drawn_phi * z


def third_from_the_start(within):
    """Return abla_step or sshmc with Algorithm 1's third leapfrog as printed: from theta^(l)."""
    mirrors = {"abla_step": abla_step, "sshmc": sshmc}
    return variant(abla_step, {
        "theta, r_theta = leapfrog(theta_, r_theta_, H_1, eps_theta, n_theta)":
            "theta, r_theta = leapfrog(theta, r_theta, H_1, eps_theta, n_theta)"},
        mirrors[within])
