"""Covariance functions of Gaussian processes."""

import numpy as np

from models import validate
from models.jit import check_interrupt, njit, public

FAR = 300.0  # a log beyond which squares overflow


def check_squared_exponential(X, Z, log_length, log_amplitude):
    """Check the arguments of squared_exponential."""
    X = validate.array("X", X, (-1, -1))
    Z = validate.array("Z", Z, (-1, X.shape[1]))
    log_length = validate.real("log_length", log_length, -FAR, FAR)
    return X, Z, log_length, validate.real("log_amplitude", log_amplitude, -FAR, FAR)


@public(check_squared_exponential)
@njit
def squared_exponential(X, Z, log_length, log_amplitude):
    """Return the matrix of sigma^2 exp(-|x - z|^2 / (2 l^2)) over the rows x of X and z of Z.

    Paquet and Fraccaro (2016), Section 5: l = exp(log_length), sigma = exp(log_amplitude).

    X : (n, p) float64    Z : (m, p) float64    returns (n, m) float64, symmetric where Z is X
    log_length, log_amplitude : float in [-300, 300]
    Raises ValueError, naming the argument, for anything else.
    """
    scale = -0.5 * np.exp(-2.0 * log_length)
    variance = np.exp(2.0 * log_amplitude)
    K = np.empty((X.shape[0], Z.shape[0]))
    for i in range(X.shape[0]):
        check_interrupt()
        for j in range(Z.shape[0]):
            squared_distance = 0.0  # summed directly: |x|^2 - 2 x'z + |z|^2 would cancel
            for k in range(X.shape[1]):
                squared_distance += (X[i, k] - Z[j, k]) ** 2
            K[i, j] = variance * np.exp(scale * squared_distance)
    return K
