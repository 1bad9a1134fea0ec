"""Two funnels crossed: a model in which the mass of either block depends on the other one.

    theta = (x, b), phi = (y, a):   a, b ~ N(0, 9)   x_i | a ~ N(0, e^-a)   y_i | b ~ N(0, e^-b)

"By the symmetry of theta and phi, the auxiliary potential will also accelerate the mixing" of theta
(Zhang and Sutton 2014, Section 4.3), but in all models of the paper M_phi is constant, so that
A(r_phi | theta) has no gradient.  Here b, a part of theta, is a hyperparameter of y, a part of phi:
    M_theta(phi) = diag(e^a I, m)    M_phi(theta) = diag(e^(s b) I, m)
with s = 1, or s = 0 to leave the auxiliary potential of phi without effect on theta.  The two
funnels are independent, so that what b gains can only come from there.
"""

from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.funnel import VARIANCE


class Crossed(NamedTuple):
    """The model; made by from_size."""

    n: int  # entries of x, and of y
    mass: float  # of a and of b
    share: float  # s

    @staticmethod
    def from_size(n, share=1.0):
        """Make the model of n >= 1 entries of x and of y, with masses n/2 + 1/9 of a and b."""
        n = validate.count("n", n)
        return Crossed(n, n / 2 + 1 / 9, validate.real("share", share, 0.0, 1.0))


class CrossedPhi(NamedTuple):
    """What is to be known of (y, a)."""

    phi: np.ndarray  # (n + 1,)
    precision: float  # e^a: of x, and its mass
    squares: float  # y'y


class CrossedTheta(NamedTuple):
    """What is to be known of (x, b)."""

    theta: np.ndarray  # (n + 1,)
    precision: float  # e^b: of y
    mass: float  # e^(s b): of y
    squares: float  # x'x


def exact_draw(n, rng):
    """Draw a, b and then x, y; return theta and phi."""
    a, b = VARIANCE**0.5 * rng.standard_normal(2)
    return (np.append(np.exp(-a / 2) * rng.standard_normal(n), b),
            np.append(np.exp(-b / 2) * rng.standard_normal(n), a))


@interface.sizes.register(Crossed)
def sizes(model):
    """n + 1 each."""
    return model.n + 1, model.n + 1


@interface.precompute_phi.register(Crossed)
def precompute_phi(phi, model):
    """e^a and y'y."""
    return CrossedPhi(phi, np.exp(phi[-1]), phi[:-1] @ phi[:-1])


@interface.precompute_theta.register(Crossed)
def precompute_theta(theta, model):
    """e^b, e^(s b) and x'x."""
    b = theta[-1]
    return CrossedTheta(theta, np.exp(b), np.exp(model.share * b), theta[:-1] @ theta[:-1])


@interface.U_theta.register(Crossed)
def U_theta(theta, Phi, model):
    """e^a x'x / 2 - n a / 2 + e^b y'y / 2 - n b / 2 + b^2 / 18."""
    a, b = Phi.phi[-1], theta[-1]
    return (Phi.precision * (theta[:-1] @ theta[:-1]) / 2 - model.n * (a + b) / 2
            + np.exp(b) * Phi.squares / 2 + b * b / (2 * VARIANCE))


@interface.grad_U_theta.register(Crossed)
def grad_U_theta(theta, Phi, model):
    """e^a x, and then e^b y'y / 2 - n / 2 + b / 9."""
    g = Phi.precision * theta
    g[-1] = np.exp(theta[-1]) * Phi.squares / 2 - model.n / 2 + theta[-1] / VARIANCE
    return g


@interface.U_prior.register(Crossed)
def U_prior(phi, model):
    """a^2 / 18."""
    return phi[-1] * phi[-1] / (2 * VARIANCE)


@interface.U_phi.register(Crossed)
def U_phi(Phi, Theta, model):
    """e^b y'y / 2 + e^a x'x / 2 - n a / 2 + a^2 / 18."""
    a = Phi.phi[-1]
    return (Theta.precision * Phi.squares / 2 + Phi.precision * Theta.squares / 2
            - model.n * a / 2 + a * a / (2 * VARIANCE))


@interface.grad_U_phi.register(Crossed)
def grad_U_phi(Phi, Theta, model):
    """e^b y, and then e^a x'x / 2 - n / 2 + a / 9."""
    g = Theta.precision * Phi.phi
    g[-1] = Phi.precision * Theta.squares / 2 - model.n / 2 + Phi.phi[-1] / VARIANCE
    return g


@interface.add_grad_auxiliary_phi.register(Crossed)
def add_grad_auxiliary_phi(g, theta, r_phi, model):
    """That of e^(-s b) r_y'r_y / 2 + s n b / 2."""
    s = model.share
    g[-1] += s * (model.n - np.exp(-s * theta[-1]) * (r_phi[:-1] @ r_phi[:-1])) / 2


@interface.grad_U2.register(Crossed)
def grad_U2(Phi, Theta, r_theta, model):
    """That of U_phi, and of e^-a r_x'r_x / 2 + n a / 2."""
    g = grad_U_phi(Phi, Theta, model)
    g[-1] += (model.n - (r_theta[:-1] @ r_theta[:-1]) / Phi.precision) / 2
    return g


@interface.momentum_theta.register(Crossed)
def momentum_theta(z, Phi, model):
    """e^(a/2) z, and m^(1/2) z of b."""
    r = np.sqrt(Phi.precision) * z
    r[-1] = np.sqrt(model.mass) * z[-1]
    return r


@interface.velocity_theta.register(Crossed)
def velocity_theta(r_theta, Phi, model):
    """e^-a r, and r / m of b."""
    u = r_theta / Phi.precision
    u[-1] = r_theta[-1] / model.mass
    return u


@interface.log_det_theta.register(Crossed)
def log_det_theta(Phi, model):
    """n a + log m."""
    return model.n * Phi.phi[-1] + np.log(model.mass)


@interface.momentum_phi.register(Crossed)
def momentum_phi(z, Theta, model):
    """e^(s b/2) z, and m^(1/2) z of a."""
    r = np.sqrt(Theta.mass) * z
    r[-1] = np.sqrt(model.mass) * z[-1]
    return r


@interface.velocity_phi.register(Crossed)
def velocity_phi(r_phi, Theta, model):
    """e^(-s b) r, and r / m of a."""
    u = r_phi / Theta.mass
    u[-1] = r_phi[-1] / model.mass
    return u


@interface.log_det_phi.register(Crossed)
def log_det_phi(Theta, model):
    """s n b + log m."""
    return model.share * model.n * Theta.theta[-1] + np.log(model.mass)


@interface.U.register(Crossed)
def U(q, model):
    """U_theta and U_prior, of q = (x, b, y, a)."""
    theta, phi = q[: model.n + 1], q[model.n + 1 :]
    return U_theta(theta, precompute_phi(phi, model), model) + U_prior(phi, model)


@interface.grad_U.register(Crossed)
def grad_U(q, model):
    """Gradients of U_theta and of U_phi."""
    theta, phi = q[: model.n + 1], q[model.n + 1 :]
    Phi, Theta = precompute_phi(phi, model), precompute_theta(theta, model)
    return np.concatenate((grad_U_theta(theta, Phi, model), grad_U_phi(Phi, Theta, model)))
