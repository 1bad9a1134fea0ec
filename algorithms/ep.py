"""Expectation propagation (EP) for Gaussian process classification with the probit likelihood.

In words    Expectation propagation replaces each factor of the likelihood by a Gaussian, which it
            chooses so that mean and variance are right when the true factor takes that Gaussian's
            place. The result is no sample but an approximation, q(f) and log Z, whose error is
            usually small for the probit likelihood and is not known from EP itself. Use it for the
            evidence and the marginals of a Gaussian-process classifier, and as the start of a
            sampler that is exact.
Paper       C. E. Rasmussen and C. K. I. Williams (2006), Gaussian Processes for Machine Learning,
            Section 3.6 and Algorithm 3.5; the q(x) and the log evidence of Paquet and Fraccaro
            (2016), Section 5.
Mirror      ep is Algorithm 3.5 with the book's numbers of the lines.  The book was not at hand: its
            line 14 may have L'.  Here L is lower, B = L L', and line 14 has L.
            "Until convergence" is here a change of log Z by less than tol, so log Z, line 17, is
            evaluated in every sweep.

Notation
--------
book             here         shape    meaning
y_i              y            (N,)     labels, -1 or +1
K                K            (N, N)   prior covariance of f
tilde tau_i      tau          (N,)     site precisions, >= 0
tilde nu_i       nu           (N,)     site precision times site mean
Sigma, mu        Sigma, mu    both     q = N(mu, Sigma), Sigma = (K^-1 + diag tau)^-1, mu = Sigma nu
mu_-i, s2_-i     m, s2        ()       cavity: q's marginal without site i
n                N            ()       cases
z_i              a            ()       y_i m / sqrt(1 + s2)
B                L L'         (N, N)   I + S^1/2 K S^1/2, S = diag tau
Z^_i             Phi(a)       ()       normaliser of the tilted density N(f; m, s2) Phi(y_i f)
mu^_i, s2^_i     mean, v      ()       its mean and variance
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.fields import Array
from models.jit import check_interrupt, njit, public
from models.linalg import cholesky, log_det, solve_lower_matrix
from models.special import curvature, log_Phi


@njit
def ep(K, y, tol, max_sweeps, damping):
    r"""Approximate the posterior and the evidence of p(y, f) = N(f; 0, K) prod_n Phi(y_n f_n).

    Mirror of Rasmussen & Williams 2006, Algorithm 3.5.

    Parameters
    ----------
    K          : (N, N) float64   symmetric positive definite
    y          : (N,) float64     labels, -1 or +1
    tol        : float > 0        EP stops when a sweep changes log Z by less; default 1e-8.  The
                                  sites then have errors of about sqrt(tol), since log Z is
                                  stationary in them.  Rounding changes log Z too, by some 1e-9 on
                                  the paper's problem: with far larger K take a larger tol
    max_sweeps : int >= 1         default 100
    damping    : float in (0, 1]  a site's new parameters are damping times those that match the
                                  moments plus (1 - damping) times the old; default 1.  Below 1,
                                  sweeps change less: multiply tol by damping as well

    Returns
    -------
    ep         : EP               as it is after the last sweep.  If `converged` is False, raise
                                  max_sweeps, lower damping, or, with a large K, raise tol.  log_Z
                                  is nan if L does not exist or a logarithm is not defined

    Raises ValueError, naming the argument, if one is not as above.
    """
    sweeps, log_Z, converged = 0, np.inf, False
    # 1   input: K (covariance matrix), y (labels, -1 or +1)
    # 2   nu := 0, tau := 0, Sigma := K, mu := 0
    N = y.size
    nu, tau, Sigma, mu = np.zeros(N), np.zeros(N), K.copy(), np.zeros(N)
    # 3   repeat
    while sweeps < max_sweeps and not converged:
        # ours
        sweeps, every_site = sweeps + 1, True
        # 4   for i := 1 to n do
        for i in range(N):
            check_interrupt()
            # 5   tau_-i := 1 / s2_i - tau_i,  which is 1 / s2_-i of the cavity
            # 6   nu_-i := mu_i / s2_i - nu_i,  which is mu_-i / s2_-i
            #     lines   5 and 6
            #     theirs  silent about a cavity whose variance is not positive or is infinite
            #     ours    the site keeps its parameters in that sweep, which does not count as
            #             converged
            #     why     in exact arithmetic it is positive; in floating point 1 - tau_i Sigma_ii
            #             may round to 0
            #     test    test_an_infinite_cavity_is_passed_by
            m, s2 = cavity(mu[i], Sigma[i, i], tau[i], nu[i])
            if not 0.0 < s2 < np.inf:
                every_site = False
                continue
            # 7   compute the marginal moments mu^_i and s2^_i of N(f; m, s2) Phi(y_i f)
            # 8   dtau := 1 / s2^_i - tau_-i - tau_i;  tau_i := tau_i + dtau
            # 9   nu_i := mu^_i / s2^_i - nu_-i
            #     lines   5 to 9
            #     theirs  the differences 1 / s2_i - tau_i and 1 / s2^_i - tau_-i
            #     ours    the same numbers without these differences: see cavity and matching_site
            #     why     for a site of little weight tau_i is rounding, and may be negative; ours
            #             never is
            #     test    test_weak_sites_keep_their_digits
            #     lines   8 and 9
            #     theirs  a site gets its new parameters
            #     ours    it is moved by a share `damping` of the way; 1, the default, is as printed
            #     why     EP need not converge, and then often does with smaller steps
            #     test    test_damping_scales_the_first_step
            new_tau, new_nu = matching_site(y[i], m, s2)
            dtau = damping * (new_tau - tau[i])
            tau[i] = damping * new_tau + (1.0 - damping) * tau[i]
            nu[i] = damping * new_nu + (1.0 - damping) * nu[i]
            # 10  Sigma := Sigma - (1 / dtau + Sigma_ii)^-1 s_i s_i',  s_i is column i of Sigma
            add_outer(Sigma, -dtau / (1.0 + dtau * Sigma[i, i]), Sigma[i].copy())
            # 11  mu := Sigma nu
            mu = Sigma @ nu
        # 12  end for
        # 13  L := cholesky(I + S^1/2 K S^1/2)
        root = np.sqrt(tau)
        L, ok = cholesky(np.eye(N) + np.outer(root, root) * K)
        # ours
        if not ok:
            return EP(np.nan, mu, Sigma, tau, nu, sweeps, False)
        # 14  V := L \ S^1/2 K
        V = solve_lower_matrix(L, root.reshape(N, 1) * K)
        # 15  Sigma := K - V'V and mu := Sigma nu
        Sigma = K - V.T @ V
        mu = Sigma @ nu
        # 16  until convergence
        previous, log_Z = log_Z, log_evidence(y, mu, np.diag(Sigma), tau, nu, log_det(L))
        converged = every_site and abs(log_Z - previous) < tol
    # 17  compute log Z using (3.65), (3.73) and (3.74) and the existing L
    # 18  return: nu, tau, log Z
    return EP(log_Z, mu, Sigma, tau, nu, sweeps, converged)


class EP(NamedTuple):
    """The Gaussian q = N(mu, Sigma) that EP ends with, and its log evidence."""

    log_Z: float  # EP's approximation of log p(y)
    mu: Array("N")
    Sigma: Array("N", "N")  # (K^-1 + diag tau)^-1
    tau: Array("N")  # site precisions, >= 0
    nu: Array("N")  # site precisions times site means; mu = Sigma nu
    sweeps: int  # sweeps over all sites that were made
    converged: bool  # did the last one change log_Z by less than tol, with every site updated?


def check_ep(K, y, tol=1e-8, max_sweeps=100, damping=1.0):
    """Check the arguments of ep."""
    K = validate.covariance("K", K)
    y = validate.labels("y", y, K.shape[0])
    tol = validate.real("tol", tol, 0.0, open_low=True)
    max_sweeps = validate.count("max_sweeps", max_sweeps)
    damping = validate.real("damping", damping, 0.0, 1.0, open_low=True)
    if not cholesky(K)[1]:
        raise ValueError(validate.why_no_factor("K", K))
    return K, y, tol, max_sweeps, damping


ep = public(check_ep)(ep)


@njit
def cavity(mu, variance, tau, nu):
    """Return (m, s2): the mean and variance of N(mu, variance) divided by exp(nu f - tau f^2 / 2).

    The arguments are floats, or arrays of one shape.  s2 < 0 or inf where there is no such density.
    """
    ratio = 1.0 / (1.0 - tau * variance)
    return ratio * (mu - variance * nu), ratio * variance


@njit
def matching_site(y, m, s2):
    """Return (tau, nu): the site that gives the marginal the tilted density's mean and variance.

    With b = y / sqrt(1 + s2) and log Phi' = h, log Phi'' = -lambda at a = b m, the tilted density
    has mean = m + s2 b h and v = s2 - s2^2 lambda / (1 + s2), and hence

        tau = 1/v - 1/s2    = lambda / (1 + s2 (1 - lambda))
        nu  = mean/v - m/s2 = tau mean + (mean - m) / s2 = tau mean + b h.

    y : -1.0 or 1.0      m, s2 : floats, s2 > 0      returns floats, tau >= 0
    """
    b = y / np.sqrt(1.0 + s2)
    h, lam, _ = curvature(b * m)
    tau = lam / (1.0 + s2 * (1.0 - lam))
    return tau, tau * (m + s2 * b * h) + b * h


@njit
def add_outer(A, c, s):
    """Add c s s' to the (N, N) matrix A."""
    for i in range(s.size):
        for j in range(s.size):
            A[i, j] += c * s[i] * s[j]


@njit
def log_evidence(y, mu, variance, tau, nu, log_det_B):
    """Return EP's log Z, Rasmussen and Williams (2006), (3.65), regrouped and derived again.

    A site is k_n exp(nu_n f - tau_n f^2 / 2), with k_n such that cavity times site has the
    normaliser Phi(a_n) of the tilted density.  The integral of the cavity times the exponential is

        (1 + tau s2)^-1/2 exp(g / 2),    g = (nu^2 + (m / s2) (2 nu - tau m)) / (tau + 1 / s2),

    hence log k_n = log Phi(a_n) + log(1 + tau s2) / 2 - g / 2.  The integral of the prior times all
    exponentials is |B|^-1/2 exp(nu' Sigma nu / 2), and Sigma nu = mu.

    y, mu, variance (the diagonal of Sigma), tau, nu : (N,)      log_det_B : log|B|, float
    """
    log_Z = 0.5 * (nu @ mu) - 0.5 * log_det_B
    for n in range(y.size):
        m, s2 = cavity(mu[n], variance[n], tau[n], nu[n])
        g = (nu[n] ** 2 + m / s2 * (2.0 * nu[n] - tau[n] * m)) / (tau[n] + 1.0 / s2)
        log_Z += log_Phi(y[n] * m / np.sqrt(1.0 + s2)) + 0.5 * np.log1p(tau[n] * s2) - 0.5 * g
    return log_Z
