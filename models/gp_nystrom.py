"""Gaussian-process regression by Nystrom's approximation of the kernel, with Cholesky factors.

Paper       Wang and Neal (2013), Section 5.2.4, equation (42), with (32), (38) and (39).

    C^ = B B' + d I,    d = sigma^2,    B = K^(n,m) L^-T,    L L' = K^(m,m) + jitter (trace / m) I

(40) and (41), eigenvalues and vectors of which (42) is the product, are not computed here:
reproduce/wang/identities.py has them.  K is the covariance without noise, (m) are the cases
`index`, and L' is the paper's R.  With
A = I + B'B / d = M M' and a = A^-1 B'y / d, (32) and (38) are

    y'C^^-1 y = |y - B a|^2 / d + |a|^2,    log |C^| = n log d + log |A|

The first is a sum of positive terms, and an error of a enters by its square: a is where the sum is
smallest.  The difference in (32) loses |y|^2 / (d y'C^^-1 y), three digits and more.

Operations: p m n and m n exponentials for K^(n,m), of which K^(m,m) is part; m^3 / 3 for each of
L, L^-1 and M; m^2 n each for K^(n,m) L^-T and B'B.  The posterior takes n^3 / 3.  A new sigma needs
only M, and 2 m n operations; a new eta everything but the exponentials; a new length has its
exponent from two numbers a pair (models/gp_kernel.py).  Measured for 90 of 900 (p = 5, ARD), in
units of the posterior's time: .11 from scratch, .006, .08 and .10 after a change of sigma, of eta
and of a length.

Departures
----------
Wang and Neal (2013), Section 5.2.4
    theirs  C is "approximated in the same fashion as Eigen-exact", which inverts by (37)
    ours    by (32), which does not need B'B = I
    why     the vectors (41) are not orthonormal.  The paper goes on to the form B S B' that (32)
            inverts, so this is no error of its; whoever used (37) here would be off by more than
            the inverse's own size
    test    test_section_5_2_4_the_vectors_are_not_orthonormal
Wang and Neal (2013), Section 5.2.4, table of operations
    theirs  p m n for K^(n,m), and m^3 for chol(K^(m,m))
    ours    also m^2 n, twice: for K^(n,m) R^-1 and for B'B
    why     for p < m < n they are the most of it, and every change but that of sigma needs them
    test    test_section_5_2_4_the_table_of_operations_omits_most_of_them
Wang and Neal (2013), Section 5.2.4
    theirs  (42) with [K^(m,m)]^-1, and "a small jitter" without its size
    ours    [K^(m,m) + jitter (trace / m) I]^-1, jitter = 1e-10
    why     K^(m,m) has eigenvalues below its rounding, which is relative to eta^2 + c^2
    test    test_section_5_2_4_without_jitter_there_is_no_factor
"""

from typing import NamedTuple

import numpy as np

from models import gp_regression, interface, validate
from models.fields import Array, Counts
from models.gp_kernel import Kernel, empty_kernel, follow_change, set_lengths
from models.gp_regression import LOG_2_PI, GPCache, GPRegression
from models.gp_subset import distinct
from models.interface import replace_variable
from models.jit import njit
from models.linalg import (
    factorise,
    gram,
    invert_lower,
    log_det,
    times_lower_transposed,
    triangular_solve,
)


class GPNystrom(NamedTuple):
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
        """Make the approximation of `model` by the columns `index` of its kernel.

        model : GPRegression       index : (m,) whole numbers from 0 to n - 1, each at most once
        jitter : float in [0, 1]   added to K^(m,m)'s diagonal, relative to trace / m; default 1e-10

        With all cases it differs from the posterior by an error in proportion to the jitter.
        Raises ValueError, naming the argument, for anything else.
        """
        return cls(*check_columns(model, index, jitter))


def check_columns(model, index, jitter):
    """Check the arguments of from_model, and return the fields."""
    model = validate.instance("model", model, GPRegression, "from GPRegression.from_data")
    model = validate.model("model", model)
    index = distinct("index", index, model.y.size)
    return (model, index, np.ascontiguousarray(model.XT[:, index]),
            validate.real("jitter", jitter, 0.0, 1.0))


@validate.check_values.register
def check_values(model: GPNystrom, name):
    """The covariates are those of the cases."""
    check_covariates(model, name)


def check_covariates(model, name):
    """Raise ValueError if the covariates are not those of the cases."""
    validate.real(f"{name}.jitter", model.jitter, 0.0, 1.0)
    validate.cases(f"{name}.index", model.index, model.whole.y.size)
    if not np.array_equal(model.ZT, model.whole.XT[:, model.index]):
        raise ValueError(f"{name}.ZT must be {name}.whole.XT[:, {name}.index]")


class Memory(NamedTuple):
    """What the caches of one line share; overwritten, and no result depends on it."""

    kernel: Kernel  # of all cases, and of the subset's
    B: np.ndarray  # (n, m)
    G: np.ndarray  # (m, m) B'B
    v: np.ndarray  # (m,) B'y
    known: np.ndarray  # (d - 1,) log eta and log lengths that B, G and v are for; nan if none
    M: np.ndarray  # (m, m)


U_prior = interface.U_prior.register(GPNystrom)(gp_regression.U_prior_of_whole.py_func)
log_likelihood_of = interface.log_likelihood_of.register(GPNystrom)(
    gp_regression.log_likelihood_of_whole.py_func)
U = interface.U.register(GPNystrom)(gp_regression.U_of_cache.py_func)
commit = interface.commit.register(GPNystrom)(gp_regression.commit.py_func)


@njit
def empty_memory(n, m, d):
    """Return memory in which nothing is known."""
    return Memory(empty_kernel(n, m, d - 2), np.empty((n, m)), np.empty((m, m)), np.empty(m),
                  np.full(d - 1, np.nan), np.empty((m, m)))


@interface.prepare.register(GPNystrom)
def prepare(q, model):
    """Compute the kernel, B, B'B and U."""
    whole = model.whole
    memory = empty_memory(whole.y.size, model.index.size, q.size)
    set_lengths(memory.kernel, q[2:], whole.group, whole.XT, model.ZT, False)
    return GPCache(q.copy(), energy_from(memory, q, model), memory)


@interface.trial.register(GPNystrom)
def trial(cache, k, value, model):
    """U with q_k = value; a new sigma needs the factor M only."""
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
    d, y, B, M = np.exp(2.0 * q[0]), model.whole.y, memory.B, memory.M
    for i in range(M.shape[0]):
        for j in range(i + 1):
            M[i, j] = memory.G[i, j] / d
        M[i, i] += 1.0
    if not factorise(M):
        return np.inf
    a = memory.v / d
    triangular_solve(M, a, False)
    triangular_solve(M, a, True)
    # y'C^^-1 y by (32) and log|C^| by (38), regrouped as in the header
    gap = y - B @ a
    quadratic = gap @ gap / d + a @ a
    return (0.5 * (y.size * (LOG_2_PI + 2.0 * q[0]) + log_det(M) + quadratic)
            + U_prior(q, model))


@njit
def make_B(memory, q, model):
    """Overwrite B, B'B and B'y by those at q; return whether K^(m,m) has a factor."""
    # L borrows the memory of M
    if not solve_columns(memory.kernel.E, q, model, memory.B, memory.M):
        return False
    memory.G[:] = gram(memory.B)
    memory.v[:] = memory.B.T @ model.whole.y
    return True


@njit
def solve_columns(E, q, model, B, L):
    """Overwrite B by K^(n,m) L^-T and L by L^-1; return whether K^(m,m) has the factor L."""
    c2, amplitude = model.whole.c2, np.exp(2.0 * q[1])
    # K^(n,m)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = c2 + amplitude * E[i, j]
    # K^(m,m), whose rows are among those of K^(n,m), plus jitter: trace / m is c^2 + eta^2
    for i in range(L.shape[0]):
        L[i] = B[model.index[i]]
        L[i, i] += model.jitter * (c2 + amplitude)
    if not factorise(L):
        return False
    # B = K^(n,m) L^-T: B B' is K^ of (42)
    invert_lower(L)
    times_lower_transposed(B, L)
    return True
