"""The four models in coordinates z that are N(0, I) before there are data: "non-centred".

theta = T(z, phi), so that q = (z, phi) has the energy

    U(z, phi) = -log p(y | T(z, phi)) + z'z / 2 + U_prior(phi)

and with g the gradient of -log p(y | theta) its gradient is T_z'g + z and T_phi'g + grad U_prior.
What SSHMC does with a mass that follows phi, these do with coordinates that follow it; the data
then decide which is better (O. Papaspiliopoulos, G. O. Roberts and M. Skold 2007, Statistical
Science 22, 59-73).

model                   theta
funnel                  e^(-v/2) z
hierarchical logistic   e^(gamma/2) z
stochastic volatility   x_1 = sigma z_1 / sqrt(1 - phi^2), x_{t+1} = phi x_t + sigma z_{t+1}
Cox process             mu + L z, Sigma = L L' in the coordinates of models/square_grid.py
"""

from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.funnel import VARIANCE, Funnel
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import (
    HierarchicalLogistic,
    add_likelihood_gradient,
    minus_log_likelihood,
)
from models.interface import U_prior, dispatch, precompute_phi
from models.jit import njit
from models.log_gaussian_cox import LogGaussianCox, grad_U_prior
from models.square_grid import PLACES, factor_times, from_blocks, to_blocks, whiten_blocks
from models.stochastic_volatility import (
    StochasticVolatility,
    coefficients,
    gradient_of_hyperparameters,
)


class NonCentred(NamedTuple):
    """A hierarchical model in coordinates (z, phi)."""

    model: NamedTuple


@validate.dimension.register
def dimension(given: NonCentred):
    """As many as the model has."""
    return sum(interface.sizes(given.model))


@validate.check_values.register
def check_values(given: NonCentred, name):
    """The model is one of the four, or another for which these functions are registered."""
    if isinstance(given.model, HierarchicalGPClassification):
        raise ValueError(f"{name}.model must not be a HierarchicalGPClassification: write"
                         " NonCentredGP (models/non_centred_gp.py) in the place of NonCentred")
    validate.implements(f"{name}.model", given.model, interface.sizes, U_prior, theta_of,
                        energy_of_data)


@dispatch(arg=2)
def theta_of(z, phi, model):
    """Return T(z, phi), (n,)."""


@dispatch(arg=2)
def energy_of_data(theta, phi, model):
    """Return -log p(y | theta, phi) up to a constant."""


@dispatch(arg=2)
def pulled_back(z, phi, model):
    """Return T_z'g and T_phi'g + grad U_prior, (n,) and (h,)."""


@interface.U.register(NonCentred)
def U(q, non_centred):
    """Energy of the data, z'z / 2 and the prior's."""
    model = non_centred.model
    n = interface.sizes(model)[0]
    z, phi = q[:n], q[n:]
    return (energy_of_data(theta_of(z, phi, model), phi, model) + z @ z / 2
            + U_prior(phi, model))


@interface.grad_U.register(NonCentred)
def grad_U(q, non_centred):
    """Gradient of U."""
    n = interface.sizes(non_centred.model)[0]
    g_z, g_phi = pulled_back(q[:n], q[n:], non_centred.model)
    return np.concatenate((g_z + q[:n], g_phi))


@theta_of.register(Funnel)
def funnel_theta(z, phi, model):
    """e^(-v/2) z."""
    return np.exp(-phi[0] / 2) * z


@energy_of_data.register(Funnel)
def funnel_data(theta, phi, model):
    """There are none."""
    return 0.0


@pulled_back.register(Funnel)
def funnel_pulled_back(z, phi, model):
    """Only the prior's, v / 9."""
    return np.zeros(z.size), phi / VARIANCE


@theta_of.register(HierarchicalLogistic)
def logistic_theta(z, phi, model):
    """e^(gamma/2) z."""
    return np.exp(phi[0] / 2) * z


@energy_of_data.register(HierarchicalLogistic)
def logistic_data(theta, phi, model):
    """Minus the log likelihood."""
    return minus_log_likelihood(theta, model, 0, model.starts.size - 1)


@pulled_back.register(HierarchicalLogistic)
def logistic_pulled_back(z, phi, model):
    """T_phi is w / 2."""
    w, g = logistic_theta(z, phi, model), np.zeros(z.size)
    add_likelihood_gradient(w, model, 0, model.starts.size - 1, g)
    return np.exp(phi[0] / 2) * g, np.array([w @ g / 2 + model.lam * np.exp(phi[0]) - 1.0])


@theta_of.register(StochasticVolatility)
def volatility_theta(z, phi, model):
    """The autoregression that z drives."""
    C, sigma, x = coefficients(phi), np.exp(phi[1]), np.empty(z.size)
    x[0] = sigma / np.sqrt(C.product) * z[0]
    for t in range(1, z.size):
        x[t] = C.ar * x[t - 1] + sigma * z[t]
    return x


@njit
def shares(x, phi, model):
    """y_t^2 exp(-x_t) / beta^2, (T,)."""
    return np.exp(model.log_squares - (2.0 * phi[0] - model.level) - x)


@energy_of_data.register(StochasticVolatility)
def volatility_data(theta, phi, model):
    """sum_t [y_t^2 exp(-x_t) / beta^2 + x_t] / 2 + T log beta."""
    return (shares(theta, phi, model) + theta).sum() / 2 + theta.size * phi[0]


@pulled_back.register(StochasticVolatility)
def volatility_pulled_back(z, phi, model):
    """The recursion backwards: l_T = g_T, l_t = g_t + phi l_{t+1}; T_z'g is l times deviations."""
    C, sigma, n = coefficients(phi), np.exp(phi[1]), z.size
    x = volatility_theta(z, phi, model)
    share = shares(x, phi, model)
    back = (1.0 - share) / 2
    scale = back @ x
    for t in range(n - 2, -1, -1):
        back[t] += C.ar * back[t + 1]
    slope = back[0] * x[0] * C.ar / C.product + back[1:] @ x[:-1]  # by phi
    g = gradient_of_hyperparameters(phi, share.sum(), 0.0, 0.0, C, model)
    g[1] += scale - n  # x is proportional to sigma; the density of z has no normaliser
    g[2] += C.product * slope - C.ar
    back *= sigma
    back[0] /= np.sqrt(C.product)
    return back, g


@theta_of.register(LogGaussianCox)
def cox_theta(z, phi, model):
    """mu + L z."""
    u = z.copy()
    factor_times(precompute_phi(phi, model).L, u, False)
    return model.mu + from_blocks(u, model.distance.shape[0])


@energy_of_data.register(LogGaussianCox)
def cox_data(theta, phi, model):
    """sum_i (m e^x_i - y_i x_i)."""
    return model.area * np.exp(theta).sum() - model.counts @ theta


@pulled_back.register(LogGaussianCox)
def cox_pulled_back(z, phi, model):
    """dL / d log sigma^2 = L / 2, and dL = L half(L^-1 dSigma L^-T) along log beta.

    half() takes the lower triangle, with half the diagonal (I. Murray 2016, arXiv 1602.07527).
    """
    Phi, d, u = precompute_phi(phi, model), model.distance.shape[0], z.copy()
    factor_times(Phi.L, u, False)
    g = to_blocks(model.area * np.exp(model.mu + from_blocks(u, d)) - model.counts, d)
    factor_times(Phi.L, g, True)
    whiten_blocks(Phi.L, Phi.dS)  # in place: no one else has this Phi
    g_phi = grad_U_prior(phi)
    g_phi[0] += g @ z / 2
    start = 0
    for k in PLACES:
        A = Phi.dS[k]
        for i in range(A.shape[0]):
            row = A[i, i] / 2 * z[start + i]
            for j in range(i):
                row += A[i, j] * z[start + j]
            g_phi[1] += g[start + i] * row
        start += A.shape[0]
    return g, g_phi
