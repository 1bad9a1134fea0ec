r"""Bayesian multinomial logistic regression with independent normal priors.

Paper       Shahbaba, Lan, Johnson and Neal (2014), Section 4: one vector of p + 1 coefficients for
            each of K classes.  The likelihood fixes them up to a vector common to all classes; the
            prior fixes that too, so the posterior is proper and its mode unique.

    P(y_i = k) = exp(eta_ik) / sum_l exp(eta_il),  eta_ik = alpha_k + x_i' beta_k
    U(theta) = sum_jk theta_jk^2 / (2 sigma_j^2) + sum_i [log sum_l exp(eta_il) - eta_(i, y_i)]

The likelihood and its gradient read the design matrix once for both, in blocks of rows that stay
in the processor's cache between the two products X Theta and X' R.

Notation
--------
paper                here            shape     meaning
x_i with a 1 first   X[i]            (p + 1,)  covariates of case i
y_i                  y               (n,)      class, 0 to K - 1
J                    K               ()        classes
theta                theta, q        (d,)      d = (p + 1) K: Theta row by row
                     Theta           (p+1, K)  row j: the coefficients of covariate j in all classes
1 / sigma^2          precision       (d,)      prior precisions; 0 in R_1 of Algorithm 2
eta, then P(y = k)   eta             (n, K)    linear predictors, then class probabilities
"""

import math
from typing import NamedTuple

import numpy as np

from models import validate
from models.fields import Array, Counts, NotNegative
from models.interface import (
    U,
    U_and_grad_U,
    case_entropy,
    grad_U,
    hessian,
    log_likelihood,
    select_cases,
)
from models.jit import njit
from models.logistic_regression import (
    design,
    likelihood_pass,
    logistic_grad_U,
    logistic_log_likelihood,
    logistic_U,
    logistic_U_and_grad_U,
    prior_precision,
)

BLOCK = 32  # rows


class MultinomialLogistic(NamedTuple):
    """The posterior of the coefficients of all classes; made by from_data."""

    X: Array("n", "p + 1")  # its first column ones
    y: Counts("n")  # 0 to K - 1
    K: int
    precision: NotNegative("d")

    @classmethod
    def from_data(cls, X, y, K, sigma_alpha=5.0, sigma_beta=5.0):
        """Make the model of n cases with p covariates and K classes.

        Parameters
        ----------
        X           : (n, p)    covariates, finite, none constant; the column of ones is added here
        y           : (n,)      classes, whole numbers from 0 to K - 1
        K           : int from 2 to 1000000   classes
        sigma_alpha : float in [1e-150, 1e150]   prior deviation of each intercept; default 5
        sigma_beta  : float in [1e-150, 1e150]   prior deviation of each coefficient; default 5

        Raises ValueError, naming the argument, for anything else.
        """
        X = design("X", X)
        y = validate.array("y", y, (X.shape[0],))
        K = validate.count("K", K, 2)
        if K > 10**6:
            raise ValueError(f"K must be at most 1000000, not {K}")
        bad = np.unique(y[(y < 0) | (y >= K) | (y != np.floor(y))])
        if bad.size:
            raise ValueError(f"y must hold only whole numbers from 0 to {K - 1}, but holds"
                             f" {bad[:5].tolist()}")
        precision = prior_precision(X.shape[1], sigma_alpha, sigma_beta)
        return cls(X, y.astype(np.int64), K, np.repeat(precision, K))


@validate.check_values.register
def check_values(model: MultinomialLogistic, name):
    """The classes are below K, and theta has coefficients of all of them."""
    validate.count(f"{name}.K", model.K, 2)
    if (model.y >= model.K).any():
        raise ValueError(f"{name}.y must hold only whole numbers from 0 to {model.K - 1}, but holds"
                         f" {model.y.max()}")
    if model.precision.size != model.X.shape[1] * model.K:
        raise ValueError(f"{name}.precision must have shape ({model.X.shape[1] * model.K},), that"
                         f" of {model.X.shape[1]} coefficients of {model.K} classes, not"
                         f" {model.precision.shape}")


@njit
def softmax(eta):
    """Overwrite the vector eta by exp(eta) / sum(exp(eta)); return log sum(exp(eta))."""
    top = eta[0]
    for k in range(1, eta.size):
        top = max(top, eta[k])
    total = 0.0
    for k in range(eta.size):
        eta[k] = math.exp(eta[k] - top)
        total += eta[k]
    for k in range(eta.size):
        eta[k] /= total
    return top + math.log(total)


@likelihood_pass.register(MultinomialLogistic)
def multinomial_pass(theta, model, g, with_gradient):
    """Add X'(P - Y) to g, where row i of Y is 1 at y_i, all in blocks of rows."""
    n, width = model.X.shape
    Theta = np.ascontiguousarray(theta).reshape(width, model.K)
    G = np.ascontiguousarray(g).reshape(width, model.K)
    block, share = np.empty((BLOCK, model.K)), np.empty((width, model.K))
    total = 0.0
    for start in range(0, n, BLOCK):
        rows, y = model.X[start : start + BLOCK], model.y[start : start + BLOCK]
        eta = block[: y.size]
        np.dot(rows, Theta, eta)
        for i in range(y.size):
            own = eta[i, y[i]]
            total += softmax(eta[i]) - own
            eta[i, y[i]] -= 1.0
        if with_gradient:
            np.dot(rows.T, eta, share)
            for j in range(width):
                for k in range(model.K):
                    G[j, k] += share[j, k]
    return total


# What the prior and the pass make, as for two classes, compiled for this model
multinomial_log_likelihood = log_likelihood.register(MultinomialLogistic)(
    logistic_log_likelihood.py_func)
multinomial_U = U.register(MultinomialLogistic)(logistic_U.py_func)
multinomial_U_and_grad_U = U_and_grad_U.register(MultinomialLogistic)(logistic_U_and_grad_U.py_func)
multinomial_grad_U = grad_U.register(MultinomialLogistic)(logistic_grad_U.py_func)


@hessian.register(MultinomialLogistic)
def multinomial_hessian(theta, model):
    """Blocks X' diag(P_k (1{k = l} - P_l)) X, and the prior's diagonal; 2 n d^2 operations."""
    width, K = model.X.shape[1], model.K
    P = model.X @ theta.reshape(width, K)
    for i in range(P.shape[0]):
        softmax(P[i])
    J = np.zeros((width * K, width * K))
    for k in range(K):
        for m in range(K):
            weight = P[:, k] * ((1.0 if k == m else 0.0) - P[:, m])
            J[k::K, m::K] = model.X.T @ (model.X * weight.reshape(-1, 1))
    for j in range(theta.size):
        J[j, j] += model.precision[j]
    return 0.5 * (J + J.T)  # the two orders of a block's sum may round differently


@case_entropy.register(MultinomialLogistic)
def multinomial_entropy(theta, model):
    """-sum_k P(y_i = k) log P(y_i = k) of each case."""
    eta = model.X @ theta.reshape(model.X.shape[1], model.K)
    entropy = np.empty(eta.shape[0])
    for i in range(entropy.size):
        own = eta[i].copy()
        entropy[i] = softmax(eta[i]) - eta[i] @ own
    return entropy


@select_cases.register(MultinomialLogistic)
def multinomial_part(model, cases, prior):
    """Return the model of these cases, with the prior's energy times `prior`."""
    return MultinomialLogistic(model.X[cases], model.y[cases], model.K, prior * model.precision)
