"""Gaussian-process regression: the posterior of the noise, the amplitude and the length scales.

Paper       Wang and Neal (2013), Section 5.1, equations (21) to (30).

    y ~ N(0, C),    C_ij = c^2 + eta^2 exp(-sum_k (x_ik - x_jk)^2 / rho_k^2) + delta_ij sigma^2
    q = (log sigma, log eta, log rho_1, ...),    q_k ~ N(mean_k, sd_k^2), independent

c is known.  There is one length rho (isotropic) or one for each covariate (ARD).  U has all its
constants: U_prior - U is the log likelihood.  It takes 2 p n^2 operations and n^2 / 2 exponentials
for C, and n^3 / 3 operations for the factor.  From the factor y'C^-1 y and log|C| follow by (29)
and (30) in n^2 more.  C has no factor where it is not positive definite in floating point; U is inf
there.

What a change of one variable need not compute again, in units of the above: of sigma or eta the
kernel (n^2 / 2 products and sums make C of it), of one rho the sum over the other covariates
(models/gp_kernel.py).  The factor is always computed.  All caches that come from one `prepare`
share one memory for this, and the memory records the parameters that it is for.  Going back to an
older cache therefore costs one evaluation of the kernel at most.

Departures  none.  (30) is right as it stands, and tested.

Notation
--------
paper          here           shape    meaning
x, y           XT, y          (p, n), (n,)   covariates, a case a column; responses
sigma, eta     exp q_0, q_1   ()       standard deviations: noise, and f without its constant
rho_k          exp q_{2+g}    ()       length; g = group[k] is 0 for all k, or k
c^2            c2             ()       variance of the constant
R              L              (n, n)   L = R' is the lower factor, C = L L'
u              u              (n,)     L^-1 y
k              K              (n, m)   covariances of new cases with the data
"""

from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.fields import Array, Counts, Positive
from models.gp_kernel import Kernel, empty_kernel, fill, follow_change, set_lengths
from models.interface import replace_variable
from models.jit import njit, public
from models.linalg import (
    factorise,
    inverse_of_product,
    log_det,
    solve_lower_transposed,
    triangular_solve,
    triangular_solve_matrix,
)

LOG_2_PI = np.log(2.0 * np.pi)
LARGEST = 1e150  # of c: its square is a number
KINDS = ("isotropic", "ard")


class GPRegression(NamedTuple):
    """The posterior of (log sigma, log eta, log rho_1, ...); made by from_data."""

    XT: Array("p", "n")  # covariates
    y: Array("n")  # responses
    group: Counts("p")  # the number of each covariate's length
    c2: float
    mean: Array("d")  # of the prior
    precision: Positive("d")  # 1 / sd^2 of the prior

    @classmethod
    def from_data(cls, X, y, kind, c=10.0, prior_mean=0.0, prior_sd=2.0):
        """Make the model of n cases with p covariates; d is 3 or 2 + p.

        Parameters
        ----------
        X          : (n, p)               covariates, finite; n, p >= 1
        y          : (n,)                 responses, finite
        kind       : "isotropic" or "ard" one length for all covariates, or one for each
        c          : float >= 0           standard deviation of the constant; default 10
        prior_mean : float or (d,)        of the logs of sigma, eta, rho_1, ...; default 0
        prior_sd   : float or (d,) in (1e-150, 1e150)   standard deviations of the same logs;
                                          default 2

        Cases may be repeated and covariates constant: the noise keeps C positive definite, and the
        length of a constant covariate has its prior.  Raises ValueError, naming the argument, for
        anything else.
        """
        X = validate.array("X", X, (-1, -1))
        y = validate.array("y", y, (X.shape[0],))
        if not (isinstance(kind, str) and kind in KINDS):
            raise ValueError(f"kind must be 'isotropic' or 'ard', not {validate.shown(kind)}")
        p = X.shape[1]
        group = np.arange(p) if kind == "ard" else np.zeros(p, np.int64)
        d = 3 + int(group[-1])
        c = validate.real("c", c, 0.0, LARGEST)
        sd = as_vector("prior_sd", prior_sd, d)
        if not (1 / LARGEST < sd).all() or not (sd < LARGEST).all():
            raise ValueError(f"prior_sd must be > 0 throughout, above {1 / LARGEST:g} and below"
                             f" {LARGEST:g}, but lies in [{sd.min():g}, {sd.max():g}]")
        return cls(np.ascontiguousarray(X.T), y, group, c * c,
                   as_vector("prior_mean", prior_mean, d),
                   sd**-2.0)


def as_vector(name, value, d):
    """Return a number or an array as a (d,) array, or raise ValueError."""
    validate.regular(name, value)
    if np.ndim(value) == 0:
        return np.full(d, validate.real(name, value))
    return validate.array(name, value, (d,))


@validate.check_values.register
def check_values(model: GPRegression, name):
    """Every covariate has its length among the parameters; the constant's variance is >= 0."""
    d = model.mean.size
    if d < 3 or (model.group >= d - 2).any():
        raise ValueError(f"{name}.group must hold numbers of the {d - 2} lengths, from 0, but holds"
                         f" {model.group.max(initial=-1)}")
    validate.real(f"{name}.c2", model.c2, 0.0)


class Memory(NamedTuple):
    """What the caches of one line share; overwritten, and no result depends on it."""

    kernel: Kernel
    C: np.ndarray  # (n, n)


class GPCache(NamedTuple):
    """A state, U there, and memory for states that differ from it in one variable."""

    q: np.ndarray  # (d,)
    U: float
    memory: Memory


class Prediction(NamedTuple):
    """Means and variances at m new cases, (m,) each: (25) and (26), or (27) and (28)."""

    mean: np.ndarray
    latent: np.ndarray  # variance of f
    noisy: np.ndarray  # variance of y = f + noise


@interface.U_prior.register(GPRegression)
def U_prior(q, model):
    """sum_k (q_k - mean_k)^2 / (2 sd_k^2) + log sd_k + log(2 pi) / 2."""
    total = 0.5 * q.size * LOG_2_PI
    for k in range(q.size):
        gap = q[k] - model.mean[k]
        total += 0.5 * (model.precision[k] * gap * gap - np.log(model.precision[k]))
    return total


@interface.log_likelihood_of.register(GPRegression)
def log_likelihood_of(energy, q, model):
    """log N(y | 0, C)."""
    return U_prior(q, model) - energy


@njit
def scale(E, q, c2, C):
    """Write the lower triangle of c^2 + eta^2 E + sigma^2 I to C, which may be E."""
    noise, amplitude = np.exp(2.0 * q[0]), np.exp(2.0 * q[1])
    for i in range(E.shape[0]):
        source, row = E[i], C[i]
        for j in range(i + 1):
            row[j] = c2 + amplitude * source[j]
        row[i] += noise


@njit
def minus_log_normal(C, y):
    """Return -log N(y | 0, C), by (29) and (30); inf if C has no factor.  C becomes its factor."""
    if not factorise(C):
        return np.inf
    u = y.copy()
    triangular_solve(C, u, False)
    return 0.5 * (y.size * LOG_2_PI + log_det(C) + u @ u)


@interface.U.register(GPRegression)
def U(q, model):
    """-log N(y | 0, C) - log p(q)."""
    C = covariance(q, model)
    return minus_log_normal(C, model.y) + U_prior(q, model)


@interface.log_likelihood.register(GPRegression)
def log_likelihood(q, model):
    """log N(y | 0, C)."""
    return -minus_log_normal(covariance(q, model), model.y)


@njit
def covariance(q, model):
    """Return C, (n, n), its lower triangle only."""
    n = model.y.size
    C = np.empty((n, n))
    fill(q[2:], model.group, model.XT, model.XT, True, C)
    scale(C, q, model.c2, C)
    return C


# One variable at a time


@interface.prepare.register(GPRegression)
def prepare(q, model):
    """Compute the kernel and U."""
    n = model.y.size
    memory = Memory(empty_kernel(n, n, q.size - 2), np.empty((n, n)))
    set_lengths(memory.kernel, q[2:], model.group, model.XT, model.XT, True)
    return GPCache(q.copy(), energy_from(memory, q, model), memory)


@interface.trial.register(GPRegression)
def trial(cache, k, value, model):
    """U with q_k = value: the kernel is there or, for a length, follows from what is there."""
    q = replace_variable(cache.q, k, value)
    follow_change(cache.memory.kernel, k, q, model.group, model.XT, model.XT, True)
    return energy_from(cache.memory, q, model)


@interface.commit.register(GPRegression)
def commit(cache, k, value, energy, model):
    """The same memory, which knows what it is for."""
    return GPCache(replace_variable(cache.q, k, value), energy, cache.memory)


@njit
def energy_from(memory, q, model):
    """Return U at q, for whose lengths the kernel is."""
    scale(memory.kernel.E, q, model.c2, memory.C)
    return minus_log_normal(memory.C, model.y) + U_prior(q, model)


# Of an approximation of the regression, its field `whole`


@njit
def U_prior_of_whole(q, model):
    """That of the whole."""
    return U_prior(q, model.whole)


@njit
def log_likelihood_of_whole(energy, q, model):
    """log N(y | 0, C^): the prior taken off."""
    return U_prior(q, model.whole) - energy


@njit
def U_of_cache(q, model):
    """-log N(y | 0, C^) - log p(q), as `prepare` computes it."""
    return interface.prepare(q, model).U


# Gradient


@interface.grad_U.register(GPRegression)
def grad_U(q, model):
    """tr(A dC_k) / 2 with A = C^-1 - a a', a = C^-1 y, and the prior's; nan where U is inf.

    For sigma dC is 2 sigma^2 I, for eta it is 2 eta^2 E, and for rho_g it is eta^2 E o 2 D /
    rho_g^2, D the squared distances in the covariates of rho_g.  These are d traces of C^-1 with a
    full matrix, so its inverse is made once, in n^3 operations with the factor; there is no solve
    that would serve all of them.
    """
    n, noise, amplitude = model.y.size, np.exp(2.0 * q[0]), np.exp(2.0 * q[1])
    E = np.empty((n, n))
    fill(q[2:], model.group, model.XT, model.XT, True, E)
    C = np.empty((n, n))
    scale(E, q, model.c2, C)
    if not factorise(C):
        return np.full(q.size, np.nan)
    a = model.y.copy()
    triangular_solve(C, a, False)
    triangular_solve(C, a, True)
    inverse_of_product(C)
    g = model.precision * (q - model.mean)
    w = np.exp(-2.0 * q[2:])
    for i in range(n):
        for j in range(i + 1):
            A = C[i, j] - a[i] * a[j]
            if j == i:
                g[0] += noise * A
                g[1] += amplitude * A
            else:
                weight = 2.0 * A * amplitude * E[i, j]
                g[1] += weight
                for k in range(model.group.size):
                    difference = model.XT[k, i] - model.XT[k, j]
                    length = model.group[k]
                    g[2 + length] += weight * w[length] * difference * difference
    return g


# Prediction


def check_predict(Z, q, model):
    """Check the arguments of predict."""
    model = validate.instance("model", model, GPRegression, "from GPRegression.from_data")
    model = validate.model("model", model)
    Z = validate.array("Z", Z, (-1, model.XT.shape[0]))
    return np.ascontiguousarray(Z.T), validate.array("q", q, model.precision.shape), model


@public(check_predict)
@njit
def predict(Z, q, model):
    """Return the predictive distribution at new cases given the hyperparameters, (25) and (26).

    The variance of y is v - |L^-1 k|^2 with the paper's v = c^2 + eta^2 + sigma^2; that of f has
    sigma^2 less.  n^3 / 3 operations for the factor and n^2 for each new case.

    Z : (m, p) covariates    q : (d,) log sigma, log eta, log rho_1, ...    -> Prediction
    model : GPRegression     from from_data, with the cases that have been seen
    All is nan where C has no factor.  Raises ValueError, naming the argument, for anything else.
    """
    n, m, c2, amplitude = model.y.size, Z.shape[1], model.c2, np.exp(2.0 * q[1])
    C = covariance(q, model)
    out = Prediction(np.full(m, np.nan), np.full(m, np.nan), np.full(m, np.nan))
    if not factorise(C):
        return out
    K = np.empty((n, m))
    fill(q[2:], model.group, model.XT, Z, False, K)
    for i in range(n):
        for j in range(m):
            K[i, j] = c2 + amplitude * K[i, j]
    u = model.y.copy()
    triangular_solve(C, u, False)
    out.mean[:] = K.T @ solve_lower_transposed(C, u)  # (25)
    triangular_solve_matrix(C, K, True)
    for j in range(m):
        explained = 0.0
        for i in range(n):
            explained += K[i, j] * K[i, j]
        out.latent[j] = max(c2 + amplitude - explained, 0.0)
        out.noisy[j] = out.latent[j] + np.exp(2.0 * q[0])  # (26)
    return out


def predict_over(Z, samples, model):
    """Return the predictive distribution over draws of the hyperparameters, (27) and (28).

    The mean of the means; the mean of the variances plus the variance of the means.  Arguments as
    for predict, but samples: (draws, d).  -> Prediction
    """
    validate.instance("model", model, GPRegression, "from GPRegression.from_data")
    model = validate.model("model", model)
    samples = validate.array("samples", samples, (-1, model.precision.size))
    found = [predict(Z, q, model) for q in samples]
    mean, latent, noisy = (np.array(each) for each in zip(*found, strict=True))
    between = mean.var(axis=0)
    return Prediction(mean.mean(axis=0), latent.mean(axis=0) + between,
                      noisy.mean(axis=0) + between)
