"""The variational bound on the log likelihood of Gaussian-process regression.

Source      M. K. Titsias (2009), "Variational learning of inducing variables in sparse Gaussian
            processes", AISTATS 12, 567-574, equation (9), with inducing points among the cases.

    log N(y | 0, Q + sigma^2 I) - trace(K - Q) / (2 sigma^2),    Q = K^(n,m) [K^(m,m)]^-1 K^(m,n)

It is Nystrom's approximation (models/gp_nystrom.py) less a term that is never negative, and with
it never above log N(y | 0, C): where the columns explain little of K, it makes the noise large
instead of the posterior wrong.  trace K = n (c^2 + eta^2) and trace Q = trace B'B, which Nystrom's
approximation has: m operations more than that.  With all cases it is the posterior, up to the
jitter, as that is.

Departures  none.  Titsias maximises the bound over inducing points and hyperparameters; here it is
a density of the hyperparameters, to be asked in place of the posterior.

Notation
--------
paper       here      shape    meaning
F_V         -(U - U_prior)  ()       the bound
K_nn, Q_nn  K, Q      (n, n)   covariance without noise, and what m columns explain of it
            gap       ()       trace(K - Q) / (2 sigma^2)
"""

from typing import NamedTuple

import numpy as np

from models import gp_nystrom, gp_regression, interface
from models.gp_nystrom import GPCache, GPNystrom
from models.jit import njit


class GPVariational(NamedTuple):
    """The bound; made by from_model."""

    nystrom: GPNystrom

    @property
    def precision(self):
        """(d,) prior precisions."""
        return self.nystrom.precision

    @property
    def index(self):
        """(m,) the inducing cases."""
        return self.nystrom.index

    @classmethod
    def from_model(cls, model, index, jitter=1e-10):
        """Make the bound for `model` with inducing points at the cases `index`.

        model : GPRegression       index : (m,) whole numbers from 0 to n - 1, each at most once
        jitter : float in [0, 1]   added to K^(m,m)'s diagonal, relative to trace / m; default 1e-10

        Raises ValueError, naming the argument, for anything else.
        """
        return cls(GPNystrom.from_model(model, index, jitter))


@interface.U_prior.register(GPVariational)
def U_prior(q, model):
    """That of the whole."""
    return gp_regression.U_prior(q, model.nystrom.whole)


@interface.log_likelihood_of.register(GPVariational)
def log_likelihood_of(energy, q, model):
    """The bound."""
    return U_prior(q, model) - energy


U = interface.U.register(GPVariational)(gp_regression.U_of_cache.py_func)


@njit
def add_gap(energy, memory, q, model):
    """Add trace(K - Q) / (2 sigma^2) to an energy, if it is finite: else B is of no state."""
    if not np.isfinite(energy):
        return energy
    whole = model.nystrom.whole
    variance = whole.c2 + np.exp(2.0 * q[1])
    return energy + (whole.y.size * variance - np.trace(memory.G)) / (2.0 * np.exp(2.0 * q[0]))


@interface.prepare.register(GPVariational)
def prepare(q, model):
    """Compute the kernel, B, B'B and U."""
    cache = gp_nystrom.prepare(q, model.nystrom)
    return GPCache(cache.q, add_gap(cache.U, cache.memory, q, model), cache.memory)


@interface.trial.register(GPVariational)
def trial(cache, k, value, model):
    """U with q_k = value; a new sigma needs the factor M only."""
    energy = gp_nystrom.trial(cache, k, value, model.nystrom)
    return add_gap(energy, cache.memory, interface.replace_variable(cache.q, k, value), model)


@interface.commit.register(GPVariational)
def commit(cache, k, value, energy, model):
    """The same memory, which knows what it is for."""
    return gp_nystrom.commit(cache, k, value, energy, model.nystrom)
