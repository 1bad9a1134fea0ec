"""Gaussian-process regression by the largest m eigenvalues of the kernel (Eigen-exact).

Paper       Wang and Neal (2013), Section 5.2.2, equations (32) to (39), and Section 5.2.3.

    C^ = B diag(s) B' + d I,    d = sigma^2,    s the m largest eigenvalues of K = C - sigma^2 I

and B their eigenvectors.  With e_1, ..., e_n all eigenvectors and u_i = e_i'y, (37) and (38) are

    y'C^^-1 y = sum_{i <= m} u_i^2 / (s_i + d) + sum_{i > m} u_i^2 / d
    log |C^|  = sum_{i <= m} log(s_i + d) + (n - m) log d

which are sums of positive terms, while in (37) 1 / d and s / (d (s + d)) cancel.  An eigenvalue
that rounding makes negative counts as 0.

Operations: p n^2 and n^2 / 2 exponentials for K, and about 9 n^3 for LAPACK's dsyevd, where the
posterior itself takes n^3 / 3.  Measured, it takes 11, 19 and 40 times as long as the posterior for
n = 100, 300 and 900.  A new sigma takes n operations; eta changes K by more than a factor, because
of c, and so takes a decomposition, as a length does.  It is a reference point, as in the paper.
With m = n it is the posterior.

Departures
----------
Wang and Neal (2013), (36)
    theirs  d^-1 I - d^-1 B (...)^-1 B
    ours    d^-1 I - d^-1 B (...)^-1 B'
    why     (35) before it and (37) after it have B'; there is also a bracket too many
    test    test_equation_36_lacks_a_transpose
"""

from typing import NamedTuple

import numpy as np

from models import gp_regression, interface, validate
from models.gp_kernel import Kernel, empty_kernel, follow_change, set_lengths
from models.gp_regression import LOG_2_PI, GPCache, GPRegression
from models.interface import replace_variable
from models.jit import njit
from models.linalg import eigh


class GPEigen(NamedTuple):
    """The approximation; made by from_model."""

    whole: GPRegression
    m: int

    @property
    def precision(self):
        """(d,) prior precisions."""
        return self.whole.precision

    @classmethod
    def from_model(cls, model, m):
        """Make the approximation of `model` by m eigenvectors.

        model : GPRegression    m : int from 1 to n

        Raises ValueError, naming the argument, for anything else.
        """
        model = validate.instance("model", model, GPRegression, "from GPRegression.from_data")
        model = validate.model("model", model)
        n = model.y.size
        if validate.count("m", m) > n:
            raise ValueError(f"m must be at most {n}, the number of cases, not {m!r}")
        return cls(model, int(m))


@validate.check_values.register
def check_values(model: GPEigen, name):
    """There are as many eigenvalues."""
    validate.count(f"{name}.m", model.m)
    if model.m > model.whole.y.size:
        raise ValueError(f"{name}.m must be at most the number of cases, {model.whole.y.size}, not"
                         f" {model.m}")


class Memory(NamedTuple):
    """What the caches of one line share; overwritten, and no result depends on it."""

    kernel: Kernel
    K: np.ndarray  # (n, n)
    known: np.ndarray  # (d - 1,) log eta and log lengths that s and u are for; nan if none
    s: np.ndarray  # (n,) eigenvalues, ascending, at least 0; nan where there are none
    u: np.ndarray  # (n,) the eigenvectors' products with y


U_prior = interface.U_prior.register(GPEigen)(gp_regression.U_prior_of_whole.py_func)
log_likelihood_of = interface.log_likelihood_of.register(GPEigen)(
    gp_regression.log_likelihood_of_whole.py_func)
U = interface.U.register(GPEigen)(gp_regression.U_of_cache.py_func)
commit = interface.commit.register(GPEigen)(gp_regression.commit.py_func)


@njit
def empty_memory(n, d):
    """Return memory in which nothing is known."""
    return Memory(empty_kernel(n, n, d - 2), np.empty((n, n)), np.full(d - 1, np.nan), np.empty(n),
                  np.empty(n))


@interface.prepare.register(GPEigen)
def prepare(q, model):
    """Compute the kernel, its eigenvalues and U."""
    whole = model.whole
    memory = empty_memory(whole.y.size, q.size)
    set_lengths(memory.kernel, q[2:], whole.group, whole.XT, whole.XT, True)
    return GPCache(q.copy(), energy_from(memory, q, model), memory)


@interface.trial.register(GPEigen)
def trial(cache, k, value, model):
    """U with q_k = value; a new sigma needs no decomposition."""
    q, memory, whole = replace_variable(cache.q, k, value), cache.memory, model.whole
    follow_change(memory.kernel, k, q, whole.group, whole.XT, whole.XT, True)
    return energy_from(memory, q, model)


@njit
def energy_from(memory, q, model):
    """Return U at q, for whose lengths the kernel is."""
    if not (memory.known == q[1:]).all():
        decompose(memory, q, model.whole)
    n, d, total = memory.s.size, np.exp(2.0 * q[0]), model.whole.y.size * LOG_2_PI
    # y'C^^-1 y by (37) and log|C^| by (38), regrouped as in the header
    for i in range(n):
        variance = memory.s[i] + d if i >= n - model.m else d
        total += memory.u[i] * memory.u[i] / variance + np.log(variance)
    return 0.5 * total + U_prior(q, model)


@njit
def decompose(memory, q, whole):
    """Overwrite s and u by those at q; nan where there are none."""
    E, amplitude = memory.kernel.E, np.exp(2.0 * q[1])
    for i in range(E.shape[0]):
        for j in range(i + 1):
            memory.K[i, j] = memory.K[j, i] = whole.c2 + amplitude * E[i, j]
    values, vectors, _ = eigh(memory.K)
    for i in range(values.size):
        memory.s[i] = 0.0 if values[i] < 0.0 else values[i]
    memory.u[:] = vectors.T @ whole.y
    memory.known[:] = q[1:]
