r"""Normal orthant probabilities P(u > 0): exact by quadrature for small n, by simulation for large.

In words    The evidence of a Gaussian-process classifier is the probability that a Gaussian vector
            has no negative coordinate. For a few cases quadrature has it exactly; for many,
            coordinates are drawn one after the other, with importance weights that make the
            estimate unbiased. Use it as a reference that shares no code with EP, annealing or
            bridge sampling.
Papers      R. L. Plackett (1954), A reduction formula for normal multivariate integrals,
            Biometrika 41, 351-360.
            G. J. Gibson, C. A. Glasbey and D. A. Elston (1994), Monte Carlo evaluation of
            multivariate normal integrals and sensitivity to variate ordering, Advances in
            Numerical Methods and Applications, 120-126.
            Z. I. Botev (2017), The normal law under linear restrictions: simulation and estimation
            via minimax tilting, JRSS B 79, 125-148.
Mirror      none: formulas, derived below.
Departures  none.

The evidence of Gaussian-process classification with a probit likelihood is such a probability:
p(y) = P(u > 0) for u ~ N(0, I + diag(y) K diag(y)).

Plackett's identity
-------------------
Let R(s) be the correlations of I + s K, 0 <= s <= 1.  The derivative of P with respect to R_ij is
the density of (u_i, u_j) at 0, (1 - R_ij^2)^(-1/2) / (2 pi), times the orthant probability of the
others given u_i = u_j = 0.  Their covariance is I plus a positive matrix again, so that

    P_n = 2^-n + sum_(i<j) int_0^1 P_(n-2)(s; i, j) / (2 pi) d arcsin R_ij(s).

P_0 and P_1 are constants, hence the closed forms of n = 2 and 3.  For n > 3 the integral over s is
taken by Gauss and Legendre's rule in log(1 + s trace(K)): the singularities, at s = -1 / eigenvalue
of K, are then no nearer than pi to the path, whatever K.

Minimax tilting
---------------
With L the Cholesky factor of C, u = L z and A = L / diag(L) - I (by rows), u > 0 is z_k > l_k(z) =
-(A z)_k for all k: a limit for each z_k, given those before it.  Draw them in turn, z_k ~ N(mu_k,
1) on z_k > l_k(z); then exp(log w) is an unbiased estimate of P, for any tilt mu, where

    log w = psi(z, mu) = sum_k mu_k^2 / 2 - mu_k z_k + log Phi(mu_k - l_k(z)).

psi is concave in z and convex in mu.  At its saddle point the maximum over z, which no log weight
exceeds, is as low as any mu can make it.  There mu_n = 0, for no limit depends on z_n.  How low the
bound is depends on the order of the variables: see ordered_factor.

Notation
--------
papers       here      shape      meaning
n, d         n         ()         number of variables
Sigma        C         (n, n)     covariance of u; for Plackett's identity it is I + K
L            A         (n, n)     Cholesky factor with its rows over their diagonals, minus I
x, mu        x, mu     (n,)       where psi is evaluated; the tilt
l~ - mu      t         (n,)       limits of z_k - mu_k, from below; those from above are infinite
psi(x*, mu*) bound     ()         no log weight is larger
"""

from typing import NamedTuple

import numpy as np
import scipy  # which loads its parts when they are used: scipy.stats takes a second
from scipy.special import log_ndtr, ndtri_exp

from models import validate
from models.linalg import cholesky

SMALLEST = 1e-15  # what a uniform number keeps from 0 and 1, whose normal quantiles are infinite


class Tilting(NamedTuple):
    """What tilted_run needs, and the bound on its log weights."""

    A: np.ndarray  # (n, n) strictly lower triangular
    mu: np.ndarray  # (n,) the tilt
    bound: float  # no log weight is larger, but for rounding


# Exactly


def orthant(K, nodes):
    """Return P(u > 0) for u ~ N(0, I + K), by Plackett's identity.

    K     : (n, n)     symmetric positive semi-definite; any covariance C that is positive definite
                       is I + K after a division by its smallest eigenvalue, which changes no sign
    nodes : int from 1 to 100   of each of the n // 2 - 1 nested quadratures: 16 give P to 2e-9 at
                       n = 8 and elements of K up to 3e4.  n <= 3 needs none

    Returns a float.  n! / 2^(n/2) nodes^(n/2 - 1) evaluations of an arcsin, for even n: 10^7 for
    n = 8, 10^10 for n = 10.  Raises ValueError, naming the argument, for anything else.
    """
    K, nodes = validate.covariance("K", K), validate.count("nodes", nodes)
    if nodes > 100:
        raise ValueError(f"nodes must be at most 100, not {nodes}")
    validate.real("K's largest size", np.abs(K).max(), 0.0, 1e100)
    least = np.linalg.eigvalsh(K)[0]
    if least < -1e-10 * np.abs(K).max():  # rounding of whatever computed it
        raise ValueError("K must be positive semi-definite, but its smallest eigenvalue is"
                         f" {least:.3g}")
    P = float(plackett(K, nodes))
    if not np.isfinite(P):
        raise ValueError("K must not make I + K singular by rounding, as elements of"
                         f" {np.abs(K).max():.3g} do: no P was found")
    return P


def plackett(K, nodes):
    """Return orthant's P for each of the matrices K, (..., n, n), as an array (...)."""
    n = K.shape[-1]
    total = np.full(K.shape[:-2], 0.5**n)
    if n < 2:
        return total
    if n > 3:
        w, weight = np.polynomial.legendre.leggauss(nodes)
        a = np.maximum(np.trace(K, axis1=-2, axis2=-1), 1e-300)[..., None]
        s = np.expm1((w + 1) / 2 * np.log1p(a)) / a
        ds = weight / 2 * np.log1p(a) * (1 + s * a) / a
        sK = s[..., None, None] * K[..., None, :, :]  # (..., nodes, n, n)
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        if n <= 3:
            R = K[..., i, j] / np.sqrt((1 + K[..., i, i]) * (1 + K[..., j, j]))
            total += np.arcsin(R) / (2 * np.pi) * 0.5 ** (n - 2)
            continue
        p, q, r = 1 + sK[..., i, i], 1 + sK[..., j, j], sK[..., i, j]
        determinant = p * q - r**2
        slope = r / s * (1 / p + 1 / q) / 2 / np.sqrt(determinant)  # of arcsin R_ij
        rest = [k for k in range(n) if k not in (i, j)]
        u, v = sK[..., i, :][..., rest], sK[..., j, :][..., rest]
        p, q, r, determinant = (x[..., None] for x in (p, q, r, determinant))
        x, y = (q * u - r * v) / determinant, (p * v - r * u) / determinant
        others = (sK[..., rest, :][..., rest] - u[..., :, None] * x[..., None, :]
                  - v[..., :, None] * y[..., None, :])
        total += (ds * slope * plackett(others, nodes)).sum(-1) / (2 * np.pi)
    return total


# By simulation


def tilting(C):
    """Return the Tilting of u > 0 for u ~ N(0, C): ordered_factor, then saddle_point.

    C : (n, n) symmetric positive definite

    Raises ValueError, naming the argument, for anything else.
    """
    A = ordered_factor(C)
    return Tilting(A, *saddle_point(A))


def ordered_factor(C):
    """Return A, (n, n) strictly lower, such that u > 0 is z_k > -(A z)_k for all k, z ~ N(0, I).

    Next comes the variable that is least probable to be positive given the expected values of
    those before it (Gibson, Glasbey and Elston 1994); the first stays first, as all are 1/2 there.

    C : (n, n) covariance of u, symmetric positive definite; O(n^3)

    Raises ValueError, naming the argument, for anything else.
    """
    C = validate.covariance("C", C)
    if not cholesky(C)[1]:
        raise ValueError("C must be positive definite, but its Cholesky factorisation fails; its"
                         f" smallest eigenvalue is {np.linalg.eigvalsh(C)[0]:.3g}")
    n = len(C)
    order, L, mean, variance = np.arange(n), np.zeros((n, n)), np.zeros(n), np.diag(C)
    for k in range(n):
        t = -mean[order[k:]] / np.sqrt(variance[order[k:]])
        pick = k + np.argmin(log_ndtr(-t))
        z = hazard(t[pick - k])  # the expected value of z_k
        order[[k, pick]] = order[[pick, k]]
        i = order[k]
        column = C[:, i] - L[:, :k] @ L[i, :k]
        L[order[k:], k] = (column / np.sqrt(column[i]))[order[k:]]
        mean, variance = mean + L[:, k] * z, np.maximum(variance - L[:, k] ** 2, 1e-300)
    L = L[order]
    return L / np.diag(L)[:, None] - np.eye(n)


def hazard(t):
    """Return phi(t) / Phi(-t), the mean of N(0, 1) above t."""
    return np.exp(-(t**2 + np.log(2 * np.pi)) / 2 - log_ndtr(-t))


def saddle_point(A):
    """Return the tilt mu, (n,), and the bound on the log weights of tilted_run (Botev 2017).

    Newton's method for the gradient of psi, with step halving, up to 50 steps.  The bound is inf
    if that is not enough, as with correlations within 1e-8 of 1; any tilt is unbiased.

    A : (n, n) strictly lower triangular, from ordered_factor; O(n^3) for each step

    Raises ValueError, naming the argument, for anything else.
    """
    A = strictly_lower(A)
    n = len(A)
    x, mu, free = np.zeros(n), np.zeros(n), slice(0, n - 1)  # the last x and mu stay 0

    def gradient(x, mu):
        t = -(A @ x) - mu
        h = hazard(t)
        return np.concatenate([(A.T @ h - mu)[free], (mu - x + h)[free]]), t, h

    g, t, h = gradient(x, mu)
    for _ in range(50):
        if np.abs(g).max(initial=0) < 1e-9:
            break
        dh = h * (h - t)  # of h with respect to t
        cross = (-np.eye(n) - A.T * dh)[free, free]
        H = np.block([[-((A.T * dh) @ A)[free, free], cross],
                      [cross.T, np.diag(1 - dh)[free, free]]])
        step = np.append(np.linalg.solve(H, -g), 0.0)
        size = 1.0
        for _ in range(30):
            new = x + size * np.append(step[: n - 1], 0), mu + size * np.append(step[n - 1 : -1], 0)
            trial = gradient(*new)
            if np.linalg.norm(trial[0]) < np.linalg.norm(g):
                break
            size /= 2
        (x, mu), (g, t, h) = new, trial
    if not np.abs(g).max(initial=0) < 1e-6:  # the bound's error is of the order of its square
        return mu, np.inf
    return mu, float(np.sum(log_ndtr(-t) + mu**2 / 2 - x * mu))


def tilted_run(A, mu, points, rng):
    """Return log weights, (points,), whose exponentials have the mean P(u > 0) (Botev 2017).

    The points are Sobol's, scrambled: those of one run depend on each other, so that the standard
    error is to be taken from the averages of several runs.

    A      : (n, n)       strictly lower triangular, from ordered_factor
    mu     : (n,)         any tilt; that of saddle_point bounds the weights
    points : 2^m          of which each takes O(n^2)
    rng    : Generator    draws the scrambling

    Raises ValueError, naming the argument, for anything else.
    """
    A = strictly_lower(A)
    mu, points = validate.array("mu", mu, (len(A),)), validate.count("points", points)
    validate.real("mu's largest size", np.abs(mu).max(), 0.0, 1e100)  # its square is a number
    if points & (points - 1):
        raise ValueError(f"points must be a power of 2, for Sobol's balance, not {points}")
    n = len(A)
    u = np.clip(scipy.stats.qmc.Sobol(n, seed=validate.generator("rng", rng)).random(points),
                SMALLEST, 1 - SMALLEST)
    z, log_w = np.zeros((n, points)), np.zeros(points)
    for k in range(n):
        log_tail = log_ndtr(A[k, :k] @ z[:k] + mu[k])
        z[k] = mu[k] - ndtri_exp(np.log(u[:, k]) + log_tail)
        log_w += log_tail + mu[k] ** 2 / 2 - mu[k] * z[k]
    return log_w


def strictly_lower(A):
    """Return A as an (n, n) float64 array, checked to be strictly lower triangular."""
    A = validate.array("A", A, (-1, -1))
    if A.shape[0] != A.shape[1] or np.triu(A).any():
        raise ValueError("A must be square and strictly lower triangular, as ordered_factor makes"
                         f" it, not {A.shape} with {np.count_nonzero(np.triu(A))} other elements")
    return A
