"""Gaussian-process regression by FITC: Nystrom's approximation with the right variances.

Source      E. Snelson and Z. Ghahramani (2006), "Sparse Gaussian processes using pseudo-inputs",
            NIPS 18, 1257-1264, equations (8) and (9); FITC is the name that J. Quinonero-Candela
            and C. E. Rasmussen (2005), JMLR 6, 1939-1959, give it.  Inducing points are cases.

    C^ = B B' + D,    B = K^(n,m) L^-T,    L L' = K^(m,m) + jitter (trace / m) I
    D_i = sigma^2 + K_ii - |B_i|^2

so that C^ has the diagonal of C.  With A = I + B'D^-1 B = M M' and a = A^-1 B'D^-1 y,

    y'C^^-1 y = sum_i (y - B a)_i^2 / D_i + |a|^2,    log |C^| = sum_i log D_i + log |A|

as in models/gp_nystrom.py, whose D is sigma^2 throughout.  Operations: as there, but for B'D^-1 B,
m^2 n, which a new sigma needs too.  K_ii - |B_i|^2 is never negative but by rounding, and counts as
0 then.  With all cases it is the posterior, up to the jitter.

Departures  none.  Snelson and Ghahramani move the inducing points; here they stay.

Notation
--------
paper      here         shape       meaning
Lambda     D            (n,)        what the columns do not explain of each variance, and sigma^2
K_NM       K^(n,m)      (n, m)      covariances with the inducing cases
M          m            ()          how many there are
"""

from typing import NamedTuple

import numpy as np

from models import gp_regression, interface, validate
from models.fields import Array, Counts
from models.gp_kernel import Kernel, empty_kernel, follow_change, set_lengths
from models.gp_nystrom import check_columns, check_covariates, solve_columns
from models.gp_regression import LOG_2_PI, GPCache, GPRegression
from models.interface import replace_variable
from models.jit import njit
from models.linalg import (
    factorise,
    gram,
    log_det,
    triangular_solve,
)


class GPFITC(NamedTuple):
    """The approximation; made by from_model."""

    whole: GPRegression
    index: Counts("m")
    ZT: Array("p", "m")  # covariates of these cases
    jitter: float

    @property
    def precision(self):
        """(d,) prior precisions."""
        return self.whole.precision

    @classmethod
    def from_model(cls, model, index, jitter=1e-10):
        """Make the approximation of `model` with inducing points at the cases `index`.

        model : GPRegression       index : (m,) whole numbers from 0 to n - 1, each at most once
        jitter : float in [0, 1]   added to K^(m,m)'s diagonal, relative to trace / m; default 1e-10

        Raises ValueError, naming the argument, for anything else.
        """
        return cls(*check_columns(model, index, jitter))


@validate.check_values.register
def check_values(model: GPFITC, name):
    """The covariates are those of the cases."""
    check_covariates(model, name)


class Memory(NamedTuple):
    """What the caches of one line share; overwritten, and no result depends on it."""

    kernel: Kernel  # of all cases, and of the inducing ones
    B: np.ndarray  # (n, m)
    left: np.ndarray  # (n,) K_ii - |B_i|^2
    known: np.ndarray  # (d - 1,) log eta and log lengths that B and left are for; nan if none


U_prior = interface.U_prior.register(GPFITC)(gp_regression.U_prior_of_whole.py_func)
log_likelihood_of = interface.log_likelihood_of.register(GPFITC)(
    gp_regression.log_likelihood_of_whole.py_func)
U = interface.U.register(GPFITC)(gp_regression.U_of_cache.py_func)
commit = interface.commit.register(GPFITC)(gp_regression.commit.py_func)


@interface.prepare.register(GPFITC)
def prepare(q, model):
    """Compute the kernel, B and U."""
    whole, n, m = model.whole, model.whole.y.size, model.index.size
    memory = Memory(empty_kernel(n, m, q.size - 2), np.empty((n, m)), np.empty(n),
                    np.full(q.size - 1, np.nan))
    set_lengths(memory.kernel, q[2:], whole.group, whole.XT, model.ZT, False)
    return GPCache(q.copy(), energy_from(memory, q, model), memory)


@interface.trial.register(GPFITC)
def trial(cache, k, value, model):
    """U with q_k = value; a new sigma needs no new B."""
    q, memory, whole = replace_variable(cache.q, k, value), cache.memory, model.whole
    follow_change(memory.kernel, k, q, whole.group, whole.XT, model.ZT, False)
    return energy_from(memory, q, model)


@njit
def energy_from(memory, q, model):
    """Return U at q, for whose lengths the kernel is."""
    if not (memory.known == q[1:]).all():
        if not make_B(memory, q, model):
            memory.known[:] = np.nan
            return np.inf
        memory.known[:] = q[1:]
    noise, y, B = np.exp(2.0 * q[0]), model.whole.y, memory.B
    n, m = B.shape
    scaled, D, r = np.empty((n, m)), np.empty(n), np.empty(n)
    for i in range(n):
        D[i] = noise + memory.left[i]
        root = np.sqrt(D[i])
        r[i] = y[i] / root
        for j in range(m):
            scaled[i, j] = B[i, j] / root
    M = gram(scaled)
    for j in range(m):
        M[j, j] += 1.0
    if not factorise(M):
        return np.inf
    a = scaled.T @ r
    triangular_solve(M, a, False)
    triangular_solve(M, a, True)
    gap = r - scaled @ a
    total = n * LOG_2_PI + log_det(M) + gap @ gap + a @ a
    for i in range(n):
        total += np.log(D[i])
    return 0.5 * total + U_prior(q, model)


@njit
def make_B(memory, q, model):
    """Overwrite B and what it leaves by those at q; return whether K^(m,m) has a factor."""
    B, m = memory.B, model.index.size
    if not solve_columns(memory.kernel.E, q, model, B, np.empty((m, m))):
        return False
    c2, amplitude = model.whole.c2, np.exp(2.0 * q[1])
    for i in range(B.shape[0]):
        left = c2 + amplitude - B[i] @ B[i]
        memory.left[i] = 0.0 if left < 0.0 else left
    return True
