r"""Bayesian logistic regression with independent normal priors.

Paper       Shahbaba, Lan, Johnson and Neal (2014), Section 3, equations (7) and (8).

    U(theta) = sum_j theta_j^2 / (2 sigma_j^2) + sum_i log(1 + exp(-s_i eta_i)),  s_i = 2 y_i - 1

is the paper's U: y eta - log(1 + e^eta) is -log(1 + e^(-s eta)) for both values of y, and this form
neither overflows nor cancels, however large eta.  The split energies of Algorithm 2 are the same U
of some of the cases, with or without the prior: see `part`.

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
from models.interface import (
    U,
    U_and_grad_U,
    case_entropy,
    grad_U,
    hessian,
    log_likelihood,
    part,
)
from models.jit import njit
from models.linalg import PLAIN, TRANSPOSED, gram, routine

dgemv = routine("blas", "dgemv", 11)

BLOCK = 32  # rows: 26 kB for 100 covariates, which stay in the first-level cache


class LogisticRegression(NamedTuple):
    """The posterior of (alpha, beta); made by from_data."""

    X: np.ndarray  # (n, d), its first column ones
    y: np.ndarray  # (n,) of 0.0 and 1.0
    precision: np.ndarray  # (d,)

    @classmethod
    def from_data(cls, X, y, sigma_alpha=5.0, sigma_beta=5.0):
        """Make the model of n cases with p covariates.

        Parameters
        ----------
        X           : (n, p)    covariates, finite, none constant; the column of ones is added here
        y           : (n,)      classes, 0 or 1
        sigma_alpha : float > 0 prior standard deviation of the intercept
        sigma_beta  : float > 0 prior standard deviation of each coefficient

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
    precision = np.full(d, validate.real("sigma_beta", sigma_beta, 0.0, open_low=True) ** -2.0)
    precision[0] = validate.real("sigma_alpha", sigma_alpha, 0.0, open_low=True) ** -2.0
    return precision


@njit
def likelihood_pass(theta, model, g, with_gradient):
    """Read X once; return minus the log likelihood and, if asked to, add its gradient to g, (d,).

    Both are made of e = exp(-|eta|), one exponential for each case:

        log(1 + exp(-s eta)) = max(-s eta, 0) + log(1 + e)
        1 / (1 + exp(s eta)) = (e if s eta > 0 else 1) / (1 + e)

    With m cases in a block, the log of the product of m factors 1 + e in (1, 2] stands for the sum
    of m logs: it cannot overflow, and its rounding is that of the sum.
    """
    n, d = model.X.shape
    theta, eta = np.ascontiguousarray(theta), np.empty(BLOCK)  # BLAS knows addresses only
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
        product = 1.0
        for i in range(y.size):
            s = 2.0 * y[i] - 1.0
            margin = s * eta[i]
            e = math.exp(-abs(margin))
            total += max(-margin, 0.0)
            product *= 1.0 + e
            eta[i] = -s * (e if margin > 0.0 else 1.0) / (1.0 + e)
        total += math.log(product)
        if with_gradient:
            dgemv(flags[1:].ctypes, width, height, one.ctypes, rows.ctypes, width, eta.ctypes,
                  one_by_one, one.ctypes, g.ctypes, one_by_one)  # g += rows' eta
    return total


@log_likelihood.of(LogisticRegression)
def logistic_log_likelihood(theta, model):
    """sum_i log P(y_i | x_i, theta), with one pass over X."""
    return -likelihood_pass(theta, model, theta, False)


@U.of(LogisticRegression)
def logistic_U(theta, model):
    """Minus the log posterior density, without the prior's constant; one pass over X."""
    return prior_U(theta, model) + likelihood_pass(theta, model, theta, False)


@U_and_grad_U.of(LogisticRegression)
def logistic_U_and_grad_U(theta, model):
    """U and theta_j / sigma_j^2 - sum_i x_ij s_i / (1 + exp(s_i eta_i)); one pass over X."""
    g = model.precision * theta
    return prior_U(theta, model) + likelihood_pass(theta, model, g, True), g


@grad_U.of(LogisticRegression)
def logistic_grad_U(theta, model):
    """The gradient alone, which takes no less time than both."""
    return logistic_U_and_grad_U(theta, model)[1]


@hessian.of(LogisticRegression)
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


@case_entropy.of(LogisticRegression)
def logistic_entropy(theta, model):
    """-p log p - (1 - p) log(1 - p) of each case: it falls with |eta|, from its maximum at 1/2."""
    eta = model.X @ theta
    for i in range(eta.size):
        a = abs(eta[i])
        e = math.exp(-a)
        eta[i] = math.log1p(e) + a * e / (1.0 + e)
    return eta


@part.of(LogisticRegression)
def logistic_part(model, cases, prior):
    """Return the model of these cases, with the prior's energy times `prior`."""
    return LogisticRegression(model.X[cases], model.y[cases], prior * model.precision)


@njit
def prior_U(theta, model):
    """sum_j theta_j^2 / (2 sigma_j^2)."""
    total = 0.0
    for j in range(theta.size):
        total += 0.5 * model.precision[j] * theta[j] * theta[j]
    return total


def chain_log_likelihood(samples, energies, model):
    """Return the log likelihood at each state of a chain from its energy U: O(d) each.

    samples : (m, d) float64    energies : (m,) their U, as in a Chain    -> (m,) float64
    """
    return 0.5 * samples**2 @ model.precision - energies
