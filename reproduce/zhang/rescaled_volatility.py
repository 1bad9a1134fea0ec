"""The stochastic volatility model in coordinates that the data scale too.

Source      T. S. Kleppe (2019), "Dynamically rescaled Hamiltonian Monte Carlo for Bayesian
            hierarchical models", Journal of Computational and Graphical Statistics 28, 493-507.

With M = L L' the precision of x given the hyperparameters phi and the Fisher information of the
data, Q / sigma^2 + I / 2 (models/stochastic_volatility.py), x = L^-T z, and q = (z, phi) has the
energy

    U(L^-T z, phi) + log|M| / 2

Given phi the entries of z are all of about unit scale, so that HMC with a constant mass will do.
Where `models/non_centred.py` takes the scale from the prior alone, this one adds what the data say;
SSHMC, with the same M for the mass of x, changes the kinetic energy instead of the coordinates.  Of
Kleppe's map we take the scale and not its shift, which changes no scale.

L has d_t on its diagonal and e_t = -phi / (sigma^2 d_t) below it.  With c, s and p_t as in the
header of the model d_t^2 = c + p_t, and at the end p_T, where s in the recursion of p is p_1.  The
gradient runs the substitution and the recursion backwards: `bar` before a name is the derivative of
U with respect to it.  T is at least 2.
"""

from typing import NamedTuple

import numpy as np

from models import interface
from models.jit import njit
from models.stochastic_volatility import StochasticVolatility, coefficients, pivots


class Rescaled(NamedTuple):
    """The model in coordinates (z, phi)."""

    model: StochasticVolatility


@njit
def factorise(n, P):
    """Return p_t and d_t, (n,) each."""
    p = np.empty(n)
    p[0] = P.first
    for t in range(1, n):
        p[t] = P.c / (P.c + p[t - 1]) * p[t - 1] + (P.s if t < n - 1 else P.first)
    d = np.sqrt(P.c + p)
    d[n - 1] = np.sqrt(p[n - 1])
    return p, d


@njit
def rescaled_x(z, phi):
    """Return x = L^-T z."""
    C = coefficients(phi)
    P = pivots(C)
    _, d = factorise(z.size, P)
    return substitute(z, C.side * P.c, d)


@njit
def rescaled_z(x, phi):
    """Return z = L'x."""
    C = coefficients(phi)
    P = pivots(C)
    _, d = factorise(x.size, P)
    z = d * x
    z[:-1] -= C.side * P.c / d[:-1] * x[1:]
    return z


@njit
def substitute(z, coupling, d):
    """Solve L'x = z from the end; -coupling / d_t is e_t."""
    x = z / d
    for t in range(z.size - 2, -1, -1):
        x[t] += coupling / (d[t] * d[t]) * x[t + 1]
    return x


@interface.U.register(Rescaled)
def U(q, rescaled):
    """U of x, and log|M| / 2."""
    z, phi = q[:-3], q[-3:]
    _, d = factorise(z.size, pivots(coefficients(phi)))
    return interface.U(np.concatenate((rescaled_x(z, phi), phi)), rescaled.model) + np.log(d).sum()


@interface.grad_U.register(Rescaled)
def grad_U(q, rescaled):
    """Gradient of U."""
    z, phi, n = q[:-3], q[-3:], q.size - 3
    C = coefficients(phi)
    P = pivots(C)
    c, coupling = P.c, C.side * P.c
    p, d = factorise(n, P)
    x = substitute(z, coupling, d)
    g = interface.grad_U(np.concatenate((x, phi)), rescaled.model)
    # the substitution backwards: a = L^-1 g is the gradient of z
    a, bar_pivot, bar_coupling = g[:n], np.empty(n), 0.0
    for t in range(n):
        square = d[t] * d[t]
        bar_pivot[t] = (1.0 - a[t] * x[t]) / (2.0 * square)
        a[t] /= d[t]
        if t < n - 1:
            e = -coupling / d[t]
            bar_e = -a[t] * x[t + 1]
            bar_pivot[t] -= bar_e * e / (2.0 * square)
            bar_coupling -= bar_e / d[t]
            a[t + 1] -= e * a[t]
    # the recursion backwards
    bar_c, bar_s, bar_first, bar_p = C.side * bar_coupling, 0.0, 0.0, 0.0
    for t in range(n - 1, -1, -1):
        bar_p += bar_pivot[t]
        if t < n - 1:
            bar_c += bar_pivot[t]
        if 0 < t < n - 1:
            bar_s += bar_p
        else:
            bar_first += bar_p
        if t > 0:
            share = p[t - 1] / (c + p[t - 1])
            bar_c += bar_p * share * share
            bar_p *= (1.0 - share) * (1.0 - share)
    # c, s - 1/2 and p_1 - 1/2 are f, (1 - f)^2 and 1 - f, times 1 / sigma^2; f = |tanh alpha|
    g[n + 1] -= 2.0 * (bar_c * c + bar_s * (P.s - 0.5) + bar_first * (P.first - 0.5))
    g[n + 2] += (C.side * C.product * C.precision * (bar_c - 2.0 * C.gap * bar_s - bar_first))
    return g
