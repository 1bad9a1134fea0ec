r"""Bayesian logistic regression with independent normal priors.

Paper       Shahbaba, Lan, Johnson and Neal (2014), Sections 2.2 and 3, equations (7) and (8).

    U(theta) = sum_j theta_j^2 / (2 sigma_j^2) + sum_i log(1 + exp(-s_i eta_i)),  s_i = 2 y_i - 1

is the paper's U: y eta - log(1 + e^eta) is -log(1 + e^(-s eta)) for both values of y, and this form
neither overflows nor cancels, however large eta.  The split energies of Algorithm 2 are the same U
of some of the cases, with or without the prior: see `select_cases`.

The likelihood and its gradient read the design matrix once for both, in blocks of rows that stay
in the processor's cache between the two products X theta and X' r.

Notation
--------
paper                here          shape    meaning
x_i with a 1 first   X[i]          (d,)     covariates of case i; d = p + 1
y_i                  y             (n,)     class, 0 or 1
theta                theta, q      (d,)     (alpha, beta): intercept, then coefficients
1 / sigma^2          precision     (d,)     prior precisions; 0 in R_1 of Algorithm 2
alpha + x_i' beta    eta           (n,)     linear predictor
"""

import math
from typing import NamedTuple

import numpy as np

from models import validate
from models.fields import Array, Bits, NotNegative
from models.interface import (
    U,
    U_and_grad_U,
    case_entropy,
    dispatch,
    grad_U,
    hessian,
    log_likelihood,
    select_cases,
)
from models.jit import njit
from models.linalg import PLAIN, TRANSPOSED, gram, routine

dgemv = routine("blas", "dgemv", 11)

RANGE = (1e-150, 1e150)  # of a standard deviation whose square is a number
BLOCK = 32  # rows: 26 kB for 100 covariates, which stay in the first-level cache

# for the exponential
LARGEST = 708.0  # of |x|: beyond it exp(-|x|) leaves the normal numbers
LOG_2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # head of 32 bits, and the rest
PER_LOG_2 = 1.0 / math.log(2.0)
WHOLE = 1.5 * 2.0**52  # doubles of this size are whole numbers
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))


class LogisticRegression(NamedTuple):
    """The posterior of (alpha, beta); made by from_data."""

    X: Array("n", "d")  # its first column ones
    y: Bits("n")
    precision: NotNegative("d")

    @classmethod
    def from_data(cls, X, y, sigma_alpha=5.0, sigma_beta=5.0):
        """Make the model of n cases with p covariates.

        Parameters
        ----------
        X           : (n, p)    covariates, finite, none constant; the column of ones is added here
        y           : (n,)      classes, 0 or 1
        sigma_alpha : float in [1e-150, 1e150]   prior standard deviation of the intercept,
        sigma_beta  : float in [1e-150, 1e150]   and of each coefficient; default 5 for both

        Raises ValueError, naming the argument, for anything else.
        """
        X = design("X", X)
        y = validate.array("y", y, (X.shape[0],))
        bad = np.unique(y[(y != 0.0) & (y != 1.0)])
        if bad.size:
            raise ValueError(f"y must hold only 0 and 1, but holds {bad[:5].tolist()}")
        return cls(X, y, prior_precision(X.shape[1], sigma_alpha, sigma_beta))


def design(name, X):
    """Return (n, p) covariates with a column of ones before them, or raise ValueError."""
    X = validate.array(name, X, (-1, -1))
    constant = np.flatnonzero((X == X[0]).all(0))
    if constant.size:
        raise ValueError(f"{name} must have no constant column, but column {constant[0]} is"
                         f" {X[0, constant[0]]:g} throughout (the intercept is added here)")
    return np.ascontiguousarray(np.column_stack([np.ones(X.shape[0]), X]))


def prior_precision(d, sigma_alpha, sigma_beta):
    """Return the (d,) prior precisions of (alpha, beta), or raise ValueError."""
    precision = np.full(d, validate.real("sigma_beta", sigma_beta, *RANGE) ** -2.0)
    precision[0] = validate.real("sigma_alpha", sigma_alpha, *RANGE) ** -2.0
    return precision


@njit
def exp_of_minus_abs(x, e, power, bits):
    """Overwrite e by exp(-|x|), all (BLOCK,); power is scratch, and bits power.view(np.int64).

    Loops of known length and without calls are compiled for four or eight numbers at once, which
    takes a third of the time of as many calls of math.exp.  With m whole and |r| <= log(2) / 2 it
    is 2^m exp(r); Taylor's polynomial of degree 13 leaves 4e-18, and the relative error is that of
    rounding, 2.3e-16.  Beyond LARGEST it is exp(-LARGEST), 3e-308; that of nan is nan.
    """
    c = TAYLOR
    for i in range(BLOCK):
        size = abs(x[i])
        size = LARGEST if size > LARGEST else size
        whole = WHOLE - size * PER_LOG_2  # rounded, with m in its last bits
        power[i] = whole
        m = whole - WHOLE
        r = (-size - m * LOG_2[0]) - m * LOG_2[1]
        r2 = r * r
        r4 = r2 * r2
        low = (c[2] + r * c[3]) + r2 * (c[4] + r * c[5])
        middle = (c[6] + r * c[7]) + r2 * (c[8] + r * c[9])
        high = (c[10] + r * c[11]) + r2 * (c[12] + r * c[13])
        e[i] = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))
    for i in range(BLOCK):
        bits[i] = (bits[i] + 1023) << 52  # the exponent of a double: power is 2^m
    for i in range(BLOCK):
        e[i] *= power[i]


@dispatch(arg=1)
def likelihood_pass(theta, model, g, with_gradient):
    """Read X once; return minus the log likelihood; if asked to, add its gradient to g, (d,)."""


@likelihood_pass.register(LogisticRegression)
def logistic_pass(theta, model, g, with_gradient):
    """Take one exponential a case.

    The log likelihood and its gradient are made of e = exp(-|eta|), one exponential for each case:

        log(1 + exp(-s eta)) = max(-s eta, 0) + log(1 + e)
        1 / (1 + exp(s eta)) = (e if s eta > 0 else 1) / (1 + e)

    With m cases in a block, the log of the product of m factors 1 + e in (1, 2] stands for the sum
    of m logs: it cannot overflow, and its rounding is that of the sum.
    """
    n, d = model.X.shape
    theta, eta = np.ascontiguousarray(theta), np.zeros(BLOCK)  # BLAS knows addresses only
    e, power = np.empty(BLOCK), np.empty(BLOCK)
    bits = power.view(np.int64)
    flags = np.array([TRANSPOSED, PLAIN], np.uint8)
    size = np.array([d, 0, 1], np.int32)
    width, height, one_by_one = size[:1].ctypes, size[1:].ctypes, size[2:].ctypes
    one, zero = np.ones(1), np.zeros(1)
    total = 0.0
    for start in range(0, n, BLOCK):
        rows, y = model.X[start : start + BLOCK], model.y[start : start + BLOCK]
        size[1] = y.size
        dgemv(flags.ctypes, width, height, one.ctypes, rows.ctypes, width, theta.ctypes,
              one_by_one, zero.ctypes, eta.ctypes, one_by_one)  # eta = rows theta
        exp_of_minus_abs(eta, e, power, bits)
        product = 1.0
        for i in range(y.size):
            s = 2.0 * y[i] - 1.0
            margin = s * eta[i]
            total += max(-margin, 0.0)
            product *= 1.0 + e[i]
            # from here on eta is p - y, as in (8): the gradient of the case's energy in x_i'theta
            eta[i] = -s * (e[i] if margin > 0.0 else 1.0) / (1.0 + e[i])
        total += math.log(product)
        if with_gradient:
            dgemv(flags[1:].ctypes, width, height, one.ctypes, rows.ctypes, width, eta.ctypes,
                  one_by_one, one.ctypes, g.ctypes, one_by_one)  # g += rows' eta
    return total


@njit
def prior_U(theta, model):
    """sum_j theta_j^2 / (2 sigma_j^2)."""
    total = 0.0
    for j in range(theta.size):
        total += 0.5 * model.precision[j] * theta[j] * theta[j]
    return total


# Four functions that need the prior and the pass only, which the multinomial model also has


@log_likelihood.register(LogisticRegression)
def logistic_log_likelihood(theta, model):
    """sum_i log P(y_i | x_i, theta), with one pass over X."""
    return -likelihood_pass(theta, model, theta, False)


@U.register(LogisticRegression)
def logistic_U(theta, model):
    """Minus the log posterior density, without the prior's constant; one pass over X."""
    return prior_U(theta, model) + likelihood_pass(theta, model, theta, False)


@U_and_grad_U.register(LogisticRegression)
def logistic_U_and_grad_U(theta, model):
    """U and its gradient, of which theta_j / sigma_j^2 is the prior's; one pass over X."""
    g = model.precision * theta
    return prior_U(theta, model) + likelihood_pass(theta, model, g, True), g


@grad_U.register(LogisticRegression)
def logistic_grad_U(theta, model):
    """The gradient alone, which takes no less time than both."""
    return logistic_U_and_grad_U(theta, model)[1]


# What each model has for itself


@hessian.register(LogisticRegression)
def logistic_hessian(theta, model):
    """X' diag(w) X + diag(1 / sigma^2), w_i = p_i (1 - p_i); n d^2 operations."""
    eta = model.X @ theta
    V = np.empty_like(model.X)
    for i in range(eta.size):
        e = math.exp(-abs(eta[i]) / 2.0)
        V[i] = model.X[i] * (e / (1.0 + e * e))  # the root of p (1 - p)
    J = gram(V)
    for j in range(theta.size):
        J[j, j] += model.precision[j]
    return J


@case_entropy.register(LogisticRegression)
def logistic_entropy(theta, model):
    """-p log p - (1 - p) log(1 - p) of each case: it falls with |eta|, from its maximum at 1/2."""
    eta = model.X @ theta
    for i in range(eta.size):
        a = abs(eta[i])
        e = math.exp(-a)
        eta[i] = math.log1p(e) + a * e / (1.0 + e)
    return eta


@select_cases.register(LogisticRegression)
def logistic_part(model, cases, prior):
    """Return the model of these cases, with the prior's energy times `prior`."""
    return LogisticRegression(model.X[cases], model.y[cases], prior * model.precision)


def chain_log_likelihood(samples, energies, model):
    """Return the log likelihood at each state of a chain from its energy U: O(d) each.

    samples : (m, d) float64    energies : (m,) their U, as in a Chain    -> (m,) float64
    """
    return 0.5 * samples**2 @ model.precision - energies
