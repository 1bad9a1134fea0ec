"""What an algorithm may ask of a model or of a setting: generic functions, chosen by type.

A model is a NamedTuple of arrays, of float64 or int64, scalars and other models.  U and grad_U are
generic: the type of `model` decides which code runs, in the interpreter and in compiled code alike.
Unlike a function argument or a closure, this leaves a cache of machine code usable, for models that
can be imported: what is compiled for one that a script or a notebook defines itself is compiled in
each process.

A hierarchical model is sampled in two blocks, q = (theta, phi): the parameters theta (n,) and the
hyperparameters phi (h,), each with a Gaussian momentum whose covariance, the mass M_theta(phi) or
M_phi(theta), depends on the other block only (Zhang and Sutton 2014, Section 4.1, which calls that
semi-separable).  What an algorithm needs of one block while the other one moves, the factor of the
mass above all, is computed once: Phi = precompute_phi(phi, model) and Theta =
precompute_theta(theta, model).

Where one variable changes at a time (slice sampling), what the others need not compute again is
kept in a cache, a value like any other: prepare(q, model), trial(cache, k, value, model) and
commit(cache, k, value, energy, model).  No model has a hidden state.
"""

from typing import NamedTuple

import numpy as np

from models.fields import Array
from models.jit import Generic, njit
from models.linalg import log_det, solve_lower, solve_lower_transposed

STEP = 6e-6  # of differences: the cube root of the rounding of a number


def dispatch(arg, default=None):
    """Make of an empty function one whose code depends on the class of its argument `arg`."""
    return lambda stub: Generic(stub, arg, default)


@dispatch(arg=1)
def U(q, model):
    """Potential energy: minus the log density at q, up to a constant.  q: (d,) -> float."""


@dispatch(arg=1)
def grad_U(q, model):
    """Gradient of U at q.  q: (d,) -> (d,).  A model that has none gets central differences."""


@njit
def central_differences(q, model):
    """Gradient of U by 2 d evaluations of it, with errors of about 1e-11 (1 + U)."""
    g, x = np.empty(q.size), q.copy()
    for i in range(q.size):
        h = STEP * max(1.0, abs(q[i]))
        x[i] = q[i] + h
        up = U(x, model)
        x[i] = q[i] - h
        g[i] = (up - U(x, model)) / (2.0 * h)
        x[i] = q[i]
    return g


grad_U.default = central_differences  # a sampler warns of what it costs: models/validate.py


@njit
def U_then_grad_U(q, model):
    """Return U and grad U at q, each by itself."""
    return U(q, model), grad_U(q, model)


@dispatch(arg=1, default=U_then_grad_U)
def U_and_grad_U(q, model):
    """U and its gradient at q, for models that have both in less time than one after the other."""


@dispatch(arg=1)
def metric(q, model):
    """Metric tensor G at q: the covariance of RMHMC's momentum.  q: (d,) -> (d, d), symmetric."""


@dispatch(arg=1)
def metric_gradient(q, model):
    """Derivatives of the metric at q.  q: (d,) -> (d, d, d), [i] is dG / dq_i."""


@dispatch(arg=1)
def hessian(q, model):
    """Matrix of second derivatives of U at q.  q: (d,) -> (d, d), symmetric."""


@dispatch(arg=1)
def hessian_gradient(q, model):
    """Third derivatives of U at q.  q: (d,) -> (d, d, d), [i] is d hessian / dq_i."""


@dispatch(arg=1)
def log_likelihood(q, model):
    """Log probability of all the data given q.  q: (d,) -> float."""


@dispatch(arg=1)
def case_entropy(q, model):
    """Entropy in nats of each case's class probabilities given q.  q: (d,) -> (n,), >= 0."""


@njit
def negate(energy, q, model):
    """-U, for a model whose U has no prior in it."""
    return -energy


@dispatch(arg=2, default=negate)
def log_likelihood_of(energy, q, model):
    """Log probability of the data given q, from U(q) = energy: the prior taken off, no more work.

    The default, -energy, has the prior in it, if there is one; the regressions by Gaussian
    processes take it off.
    """


@dispatch(arg=0)
def select_cases(model, cases, prior):
    """Return the model of some cases only, their rows copied next to each other in memory.

    cases: (m,) of int, m >= 0.  prior: float, the prior's share of U: 1 keeps it, 0 leaves it out.
    """


# One variable at a time


class Known(NamedTuple):
    """The cache of a model that gains nothing where one variable changes alone."""

    q: np.ndarray  # (d,)
    U: float  # at q


@njit
def replace_variable(q, k, value):
    """Return a copy of q with q_k = value."""
    q = q.copy()
    q[k] = value
    return q


@njit
def prepare_anew(q, model):
    """Evaluate U at q."""
    return Known(q.copy(), U(q, model))


@njit
def trial_anew(cache, k, value, model):
    """Evaluate U at the changed q."""
    return U(replace_variable(cache.q, k, value), model)


@njit
def commit_anew(cache, k, value, energy, model):
    """Evaluate nothing."""
    return Known(replace_variable(cache.q, k, value), energy)


@dispatch(arg=1, default=prepare_anew)
def prepare(q, model):
    """Return the cache of a state: a NamedTuple with q (d,), a copy, U at q, and what else helps.

    One evaluation of U, from scratch.
    """


@dispatch(arg=3, default=trial_anew)
def trial(cache, k, value, model):
    """U where q_k alone is another than in the cache -> float; not finite where it breaks down.

    One evaluation of U.  The cache stays what it is, but for scratch memory of its own: an older
    cache, or another one that was committed from it, is as good afterwards as it was before.
    """


@dispatch(arg=4, default=commit_anew)
def commit(cache, k, value, energy, model):
    """Return the cache of the state with q_k = value, at which U is `energy`; evaluate nothing.

    `energy` is what trial returned for that value, or what is known of it otherwise; it is only
    put into the new cache.  It is nan on the way through a state where U is not wanted.  The older
    cache stays as it is: its owner may go back to it and go on from there.
    """


# Hierarchical models


@dispatch(arg=0)
def sizes(model):
    """Return (n, h): how many parameters theta and hyperparameters phi the model has."""


@dispatch(arg=1)
def precompute_phi(phi, model):
    """Compute once what depends on phi alone: a NamedTuple with phi and the factor of M_theta.

    Where M_theta(phi) cannot be factorised, what follows from Phi is nan.
    """


@dispatch(arg=1)
def precompute_theta(theta, model):
    """Compute once what depends on theta alone: a NamedTuple with theta."""


@dispatch(arg=2)
def U_theta(theta, Phi, model):
    """-log p(y, theta | phi), every term that depends on phi included -> float."""


@dispatch(arg=2)
def grad_U_theta(theta, Phi, model):
    """Gradient of U_theta with respect to theta.  (n,)."""


@dispatch(arg=1)
def U_prior(phi, model):
    """-log p(phi), in the coordinates that phi has: Jacobians included -> float."""


@dispatch(arg=2)
def U_phi(Phi, Theta, model):
    """-log p(y, theta, phi), up to terms without phi -> float."""


@dispatch(arg=2)
def grad_U_phi(Phi, Theta, model):
    """Gradient of U_phi with respect to phi.  (h,)."""


@dispatch(arg=2)
def momentum_theta(z, Phi, model):
    """A square root of M_theta times z, which is N(0, M_theta) if z is N(0, I).  (n,) -> (n,)."""


@dispatch(arg=2)
def velocity_theta(r_theta, Phi, model):
    """M_theta^-1 r_theta.  (n,)."""


@dispatch(arg=1)
def log_det_theta(Phi, model):
    """log |M_theta(phi)| -> float."""


@njit
def constant_momentum(z, Theta, model):
    """L_phi z, if M_phi = L_phi L_phi' is constant: the field L_phi of the model."""
    return model.L_phi @ z


@njit
def constant_velocity(r_phi, Theta, model):
    """M_phi^-1 r_phi, if M_phi = L_phi L_phi' is constant."""
    return solve_lower_transposed(model.L_phi, solve_lower(model.L_phi, r_phi))


@njit
def constant_log_det(Theta, model):
    """log |M_phi|, if M_phi = L_phi L_phi' is constant."""
    return log_det(model.L_phi)


@dispatch(arg=2, default=constant_momentum)
def momentum_phi(z, Theta, model):
    """A square root of M_phi times z, which is N(0, M_phi) if z is N(0, I).  (h,) -> (h,)."""


@dispatch(arg=2, default=constant_velocity)
def velocity_phi(r_phi, Theta, model):
    """M_phi^-1 r_phi.  (h,)."""


@dispatch(arg=1, default=constant_log_det)
def log_det_phi(Theta, model):
    """log |M_phi(theta)| -> float."""


@njit
def auxiliary_phi(r_phi, Theta, model):
    """A(r_phi | theta) + log |M_phi(theta)| / 2."""
    return r_phi @ velocity_phi(r_phi, Theta, model) / 2 + log_det_phi(Theta, model) / 2


@njit
def auxiliary_theta(r_theta, Phi, model):
    """A(r_theta | phi) + log |M_theta(phi)| / 2."""
    return r_theta @ velocity_theta(r_theta, Phi, model) / 2 + log_det_theta(Phi, model) / 2


@njit
def add_nothing(g, theta, r_phi, model):
    """Leave g as it is: where M_phi is constant, auxiliary_phi does not depend on theta."""


@dispatch(arg=3, default=add_nothing)
def add_grad_auxiliary_phi(g, theta, r_phi, model):
    """Add to g (n,), in place, the gradient of auxiliary_phi with respect to theta.

    With that of U_theta it is the gradient of Zhang and Sutton's (7), U_1.
    """


@dispatch(arg=3)
def grad_U2(Phi, Theta, r_theta, model):
    """Gradient of Zhang and Sutton's (10), U_2, with respect to phi.  (h,).

    U_2 is U_phi plus auxiliary_theta, A(r_theta | phi) + log |M_theta| / 2.  The sign of the last
    is not the printed one: see algorithms/zhang_sshmc.py.
    """


# Of a hierarchical model, for RMHMC within Gibbs (algorithms/rmhmc_within_gibbs.py) alone


@njit
def identity(Phi, model):
    """Phi itself: the metric is M_theta."""
    return Phi


@dispatch(arg=1, default=identity)
def fisher_theta(Phi, model):
    """Return the factor of a metric for theta that does not depend on theta: F, a NamedTuple.

    It is the Fisher information given phi, in expectation over theta too where it depends on it, or
    an approximation of that.
    The default is M_theta, factored in Phi.
    """


@dispatch(arg=2, default=momentum_theta)
def fisher_momentum(z, F, model):
    """A square root of that metric times z.  (n,) -> (n,).  Default: momentum_theta."""


@dispatch(arg=2, default=velocity_theta)
def fisher_velocity(r_theta, F, model):
    """The inverse of that metric times r_theta.  (n,).  Default: velocity_theta."""


@dispatch(arg=2)
def metric_phi(Phi, Theta, model):
    """Metric of phi given theta, a function of phi: Fisher information and prior.  (h, h)."""


@dispatch(arg=2)
def metric_gradient_phi(Phi, Theta, model):
    """Derivatives of metric_phi with respect to phi.  (h, h, h), [i] is dG / dphi_i."""


class GivenPhi(NamedTuple):
    """The conditional density of theta: a model for any sampler."""

    model: NamedTuple  # a hierarchical one
    phi: Array("h")


class GivenTheta(NamedTuple):
    """The conditional density of phi: a model for any sampler."""

    model: NamedTuple  # a hierarchical one
    theta: Array("n")


@U.register(GivenPhi)
def given_phi_U(theta, given):
    """U_theta, whatever the momentum of phi."""
    return U_theta(theta, precompute_phi(given.phi, given.model), given.model)


@grad_U.register(GivenPhi)
def given_phi_grad_U(theta, given):
    """Gradient of U_theta."""
    return grad_U_theta(theta, precompute_phi(given.phi, given.model), given.model)


@U.register(GivenTheta)
def given_theta_U(phi, given):
    """U_phi, whatever the momentum of theta."""
    return U_phi(
        precompute_phi(phi, given.model), precompute_theta(given.theta, given.model), given.model
    )


@grad_U.register(GivenTheta)
def given_theta_grad_U(phi, given):
    """Gradient of U_phi."""
    return grad_U_phi(
        precompute_phi(phi, given.model), precompute_theta(given.theta, given.model), given.model
    )


@metric.register(GivenTheta)
def given_theta_metric(phi, given):
    """metric_phi."""
    return metric_phi(
        precompute_phi(phi, given.model), precompute_theta(given.theta, given.model), given.model
    )


@metric_gradient.register(GivenTheta)
def given_theta_metric_gradient(phi, given):
    """metric_gradient_phi."""
    Phi, Theta = precompute_phi(phi, given.model), precompute_theta(given.theta, given.model)
    return metric_gradient_phi(Phi, Theta, given.model)
