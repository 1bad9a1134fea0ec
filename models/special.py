"""The probit log likelihood log Phi(z) and its derivatives, accurate for every z.

With N and Phi the standard normal's density and distribution function,

    h(z)      = N / Phi = d log Phi / dz             the inverse of Mills' ratio
    lambda(z) = h d = -d^2 log Phi / dz^2            with d = z + h; lies in (0, 1)
    kappa(z)  = d lambda / dz = lambda slope         slope = (1 - lambda - d^2) / d

These forms cancel for z << 0: at z = -400 kappa would keep no digit.  There, with t = -z, Laplace's
continued fraction for Mills' ratio (Abramowitz and Stegun 1964, 26.2.14) has positive terms only:

    h = t + d,   d = 1 / (t + 2 e),   e = 1 / (t + 3 f),   f = 1 / (t + 4 / (t + 5 / (t + ...)))

and from these equations, exactly, slope = 2 d e (2 e - 3 f).

For z >> 0 lambda underflows; it is set to 0 below TINY, because a matrix that holds subnormal
numbers makes LAPACK ten to a hundred times slower.  slope stays finite, about -z, to z = 1e154.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from models.jit import external, njit

scipy_erfcx = external(  # scipy.special.erfcx for double precision
    "scipy.special.cython_special", "__pyx_fuse_1erfcx", types.double(types.double, types.intc))

ROOT_2 = math.sqrt(2.0)
ROOT_2_OVER_PI = math.sqrt(2.0 / math.pi)
TINY = 1e-60
FAR = -6.0  # below it the continued fraction takes over
TERMS = 40  # of the continued fraction: at z = FAR its remainder is below 1e-16


class Probit(NamedTuple):
    """log Phi and its derivatives at each element of z; all arrays have z's shape, (n,)."""

    log_Phi: np.ndarray
    h: np.ndarray  # first derivative, >= 0
    lam: np.ndarray  # minus the second derivative, in [0, 1]
    kappa: np.ndarray  # minus the third derivative, <= 0
    slope: np.ndarray  # kappa / lam, finite even where lam is 0


@njit
def erfcx(x):
    """exp(x^2) erfc(x) for a float x, without overflow or underflow for x > 0."""
    return scipy_erfcx(x, 0)


@njit
def log_Phi(z):
    """log Phi(z) for a float z; relative error about 1e-15, and z^2 times 1e-16 for z >> 0."""
    if z < 0.0:
        return math.log(0.5 * erfcx(-z / ROOT_2)) - 0.5 * z * z
    return math.log1p(-0.5 * math.erfc(z / ROOT_2))


@njit
def inverse_mills(z):
    """h(z) = N(z) / Phi(z) for a float z; 0 where it underflows."""
    return ROOT_2_OVER_PI / erfcx(-z / ROOT_2)


@njit
def curvature(z):
    """Return (h, lambda, slope) for a float z."""
    if z < FAR:
        t = -z
        tail = t
        for k in range(TERMS, 3, -1):
            tail = t + k / tail
        f = 1.0 / tail
        e = 1.0 / (t + 3.0 * f)
        d = 1.0 / (t + 2.0 * e)
        h = t + d
        return h, h * d, 2.0 * d * e * (2.0 * e - 3.0 * f)
    h = inverse_mills(z)
    d = z + h
    lam = h * d
    if lam < TINY:
        lam = 0.0
    return h, lam, (1.0 - lam - d * d) / d


@njit
def probit(z):
    """Return log Phi and its derivatives at z, (n,), as a Probit."""
    n = z.size
    out = Probit(np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    for i in range(n):
        out.log_Phi[i] = log_Phi(z[i])
        out.h[i], out.lam[i], out.slope[i] = curvature(z[i])
        out.kappa[i] = out.lam[i] * out.slope[i]
    return out
