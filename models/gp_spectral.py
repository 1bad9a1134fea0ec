"""Gaussian-process regression with one length, by the eigenvalues of its kernel: exact.

Source      as Wang and Neal (2013), (33) to (38), but of the kernel without its constant, so that
            neither sigma nor eta changes the vectors.

With E = V diag(s) V' the kernel of one length rho, a = V'y and b = V'1,

    C = V diag(lambda) V' + c^2 1 1',    lambda = eta^2 s + sigma^2
    y'C^-1 y = sum a^2 / lambda - c^2 (sum a b / lambda)^2 / (1 + c^2 sum b^2 / lambda)
    log |C|  = sum log lambda + log(1 + c^2 sum b^2 / lambda)

by the formulas of Sherman and Morrison and of the determinant.  A new rho takes a decomposition,
about 9 n^3 operations by LAPACK's dsyevd where the regression takes n^3 / 3; every sigma and eta
after that n operations and n logarithms.  It pays where these two change ten to forty times for
each rho: algorithms/rivals/dragging.py.  An eigenvalue that rounding makes negative counts as 0.

Departures  none.

Notation
--------
above      here         shape    meaning
s, a, b    s, a, b      (n,)     eigenvalues of E, ascending; V'y and V'1
rho        exp q_2      ()       the length, of which they are
"""

from typing import NamedTuple

import numpy as np

from models import gp_regression, interface, validate
from models.gp_kernel import fill
from models.gp_regression import LOG_2_PI, GPCache, GPRegression
from models.interface import replace_variable
from models.jit import njit
from models.linalg import eigh


class GPSpectral(NamedTuple):
    """The posterior of (log sigma, log eta, log rho); made by from_model."""

    whole: GPRegression

    @property
    def precision(self):
        """(3,) prior precisions."""
        return self.whole.precision

    @classmethod
    def from_model(cls, model):
        """Return the model for `model`, a GPRegression with one length; ValueError for others."""
        model = validate.instance("model", model, GPRegression, "from GPRegression.from_data")
        model = validate.model("model", model)
        if model.precision.size != 3:
            raise ValueError("model must have one length, but has"
                             f" {model.precision.size - 2}")
        return cls(model)


@validate.check_values.register
def check_values(model: GPSpectral, name):
    """There is one length."""
    if model.whole.mean.size != 3:
        raise ValueError(f"{name}.whole must have one length, as an isotropic model has, not"
                         f" {model.whole.mean.size - 2}")


class Memory(NamedTuple):
    """What the caches of one line share; overwritten, and no result depends on it."""

    known: np.ndarray  # (1,) log rho that the others are for; nan if none
    s: np.ndarray  # (n,) eigenvalues, ascending, at least 0; nan where there are none
    a: np.ndarray  # (n,) the eigenvectors' products with y
    b: np.ndarray  # (n,) the same with 1


U_prior = interface.U_prior.register(GPSpectral)(gp_regression.U_prior_of_whole.py_func)
log_likelihood_of = interface.log_likelihood_of.register(GPSpectral)(
    gp_regression.log_likelihood_of_whole.py_func)
U = interface.U.register(GPSpectral)(gp_regression.U_of_cache.py_func)
commit = interface.commit.register(GPSpectral)(gp_regression.commit.py_func)


@interface.prepare.register(GPSpectral)
def prepare(q, model):
    """Compute the kernel, its eigenvalues and U."""
    n = model.whole.y.size
    memory = Memory(np.full(1, np.nan), np.empty(n), np.empty(n), np.empty(n))
    return GPCache(q.copy(), energy_from(memory, q, model), memory)


@interface.trial.register(GPSpectral)
def trial(cache, k, value, model):
    """U with q_k = value; sigma and eta need no decomposition."""
    return energy_from(cache.memory, replace_variable(cache.q, k, value), model)


@njit
def energy_from(memory, q, model):
    """Return U at q; nan where there are no eigenvalues."""
    if memory.known[0] != q[2]:
        E = np.zeros((model.whole.y.size, model.whole.y.size))
        decompose(q[2:], model.whole, E, memory.s, memory.a, memory.b)
        memory.known[0] = q[2]
    s, c2 = memory.s, model.whole.c2
    aa, ab, bb, logs = sum_spectrum(q, s, memory.a, memory.b)
    constant = 1.0 + c2 * bb
    quadratic = aa - c2 * ab * ab / constant
    return (0.5 * (s.size * LOG_2_PI + logs + np.log(constant) + quadratic)
            + U_prior(q, model))


@njit
def sum_spectrum(q, s, a, b):
    """Return the sums of a^2 / lambda, a b / lambda, b^2 / lambda and log lambda."""
    noise, amplitude = np.exp(2.0 * q[0]), np.exp(2.0 * q[1])
    aa, ab, bb, logs = 0.0, 0.0, 0.0, 0.0
    for i in range(s.size):
        variance = amplitude * s[i] + noise
        aa += a[i] * a[i] / variance
        ab += a[i] * b[i] / variance
        bb += b[i] * b[i] / variance
        logs += np.log(variance)
    return aa, ab, bb, logs


@njit
def decompose(length, whole, E, s, a, b):
    """Overwrite s, a and b by those of log rho = length, (1,), and E; nan where there are none."""
    fill(length, whole.group, whole.XT, whole.XT, True, E)
    values, vectors, _ = eigh(E)
    for i in range(s.size):
        s[i] = 0.0 if values[i] < 0.0 else values[i]
    a[:] = vectors.T @ whole.y
    b[:] = vectors.T @ np.ones(s.size)
