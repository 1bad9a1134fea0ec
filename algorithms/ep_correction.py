"""The second-order correction of EP's log evidence.

In words    EP's approximation is the first term of a series, and this is the next one: it measures
            by how much the true factors differ from their Gaussians in third and fourth cumulants.
            It is a deterministic formula in what EP ends with, derived below, not a bound and not
            an estimate with a standard error. Use it after EP, for N^2 operations: its size says
            how far EP may be off.
Paper       M. Opper, U. Paquet and O. Winther (2013), Perturbative corrections for approximate
            inference in Gaussian latent variable models, JMLR 14, 2857-2898; used by Paquet and
            Fraccaro (2016), Section 5, as "a second-order corrected estimate".
Mirror      none: a formula, not an algorithm.  It is derived here again.
Departures  none.

Derivation
----------
EP replaces each likelihood by a site.  Cavity times site is Phi(a_n) q_n, with q_n = N(mu_n,
Sigma_nn) the marginal of q, and cavity times likelihood is Phi(a_n) p_n, with p_n the tilted
density; so

    Z = Z_EP R,    R = E_q[prod_n p_n(f_n) / q_n(f_n)].

p_n and q_n agree in mean and variance: the characteristic function of p_n is that of q_n times
exp r_n(k), r_n(k) = sum_{l >= 3} i^l c_ln k^l / l!, where c_ln is the l-th cumulant of p_n.  In the
inverse Fourier integral for p_n / q_n, the Gaussian part is a density over k with the (complex)
mean -i (f_n - mu_n) / Sigma_nn and variance 1 / Sigma_nn.  Thus R = E[exp sum_n r_n(k_n)], and when
f_n too is averaged over q, the k_n are jointly Gaussian with mean zero and

    E[k_n^2] = 0,    E[k_m k_n] = -Sigma_mn / (Sigma_mm Sigma_nn)  for m != n.

log R is the sum of the cumulants of sum_n r_n.  The first is zero, since E[k_n^l] = 0.  In the
second, E[k_m^l k_n^l'] = l! E[k_m k_n]^l if l = l' and 0 if not, and i^2l (-1)^l = 1:

    log R ~= 1/2 sum_{m != n} sum_{l >= 3} c_lm c_ln / l! (Sigma_mn / (Sigma_mm Sigma_nn))^l.

The sum over l is cut at `order`; the third and higher cumulants of sum_n r_n are left out.  For the
probit, log of the integral of N(f; m, s2) Phi(y f) exp(k f) is m k + s2 k^2 / 2 + log Phi(y (m + s2
k) / sqrt(1 + s2)), whose l-th derivative at k = 0 is

    c_ln = (y_n s2 / sqrt(1 + s2))^l psi_l(a_n),    psi_l = d^l log Phi / da^l.

Notation
--------
paper               here              shape             meaning
mu, Sigma           ep.mu, ep.Sigma   (N,), (N, N)      q = N(mu, Sigma), where EP ends
m, s2               m, s2             (N,)              means and variances of the cavities
a_n                 b * m[n]          ()                y_n m / sqrt(1 + s2)
psi_l(a_n)          psi[ell]          (order + 1,)      l-th derivative of log Phi
c_ln / Sigma_nn^l   ratio[ell, n]     (order + 1, N)    scaled cumulants of the tilted densities
"""

import numpy as np

from algorithms.ep import EP, cavity
from models import validate
from models.jit import check_interrupt, njit, public
from models.special import inverse_mills

MAX_ORDER = 8  # the integers in COEFFICIENTS grow like l!, and with them the loss of digits
BEHIND = -1.0  # below it the polynomials in a and h cancel, and cumulants do not
TERMS = 700  # of the continued fraction: at a = BEHIND its remainder is below 1e-16


def polynomials(highest):
    """Return the integers C with psi_l(a) = sum_ij C[l, i, j] a^i h^j, l <= highest, h = psi_1(a).

    psi_{l+1} = d psi_l / da - h (a + h) d psi_l / dh, because h' = -h (a + h).
    """
    C = np.zeros((highest + 1, highest + 1, highest + 1))
    C[1, 0, 1] = 1.0
    for lower in range(1, highest):
        for i in range(highest):
            for j in range(highest):
                if i > 0:
                    C[lower + 1, i - 1, j] += i * C[lower, i, j]
                C[lower + 1, i + 1, j] -= j * C[lower, i, j]
                C[lower + 1, i, j + 1] -= j * C[lower, i, j]
    return C


COEFFICIENTS = polynomials(MAX_ORDER)


def check_second_order(ep, y, order=4):
    """Check the arguments of second_order."""
    ep = validate.instance("ep", ep, EP, "what algorithms.ep.ep returns")
    ep = validate.model("ep", ep)
    if not (np.diag(ep.Sigma) > 0.0).all():
        raise ValueError("ep.Sigma must have a positive diagonal, of variances")
    if not (np.diag(ep.Sigma) * ep.tau < 1.0).all():  # else a cavity has no variance
        raise ValueError("ep.tau must be below 1 / np.diag(ep.Sigma), as ep returns them, but they"
                         " are of two results")
    y = validate.labels("y", y, ep.tau.size)
    order = validate.count("order", order, 3)
    if order > MAX_ORDER:
        raise ValueError(f"order must be at most {MAX_ORDER}, not {order}")
    if not ep.converged:
        raise ValueError(f"ep must have converged, but had not after {ep.sweeps} sweeps: the"
                         " formula holds at a fixed point of EP only; call ep with more max_sweeps"
                         " or with damping below 1")
    return ep, y, order


@public(check_second_order)
@njit
def second_order(ep, y, order):
    """Return log R, to add to EP's log Z; 5 (order - 2) N^2 / 2 operations.

    Opper, Paquet and Winther (2013); see the derivation above.

    ep    : EP             converged, from algorithms.ep.ep or algorithms.ep_fast.ep
    y     : (N,) float64   the labels it was given, -1 or +1
    order : int from 3 to 8   highest cumulant used; default 4

    Raises ValueError, naming the argument, if ep has not converged or one is not as above.
    """
    N = y.size
    variance = np.diag(ep.Sigma)
    m, s2 = cavity(ep.mu, variance, ep.tau, ep.nu)
    ratio = np.zeros((order + 1, N))
    for n in range(N):
        b = y[n] / np.sqrt(1.0 + s2[n])
        psi = log_Phi_derivatives(b * m[n], order)
        for ell in range(3, order + 1):
            ratio[ell, n] = psi[ell] * (s2[n] * b / variance[n]) ** ell
    log_R = 0.0
    for i in range(N):
        check_interrupt()
        for j in range(i):
            term = ep.Sigma[i, j] ** 2 / 2.0
            for ell in range(3, order + 1):
                term *= ep.Sigma[i, j] / ell
                log_R += ratio[ell, i] * ratio[ell, j] * term
    return log_R


@njit
def log_Phi_derivatives(a, order):
    """Return psi, (order + 1,): psi[l] = d^l log Phi / da^l at the float a, for 3 <= l <= order.

    Relative error below 1e-12 for l <= 4 and 1e-9 for l <= 8, but for the zeros that psi_l has.

    psi_l is a polynomial in a and h.  For a << 0 its terms are of size |a|^l and their sum of size
    |a|^-l: at a = -6 it keeps 9 digits for l = 4 and 2 for l = 8.  There psi_l is taken as the l-th
    cumulant of X ~ N(a, 1) conditioned on X > 0, which it is for l >= 3: the normaliser is Phi(a),
    and the exponential tilt by k shifts a to a + k.  The moments come from a continued fraction
    with positive terms, E[X^k] / E[X^(k-1)] = k / (-a + E[X^(k+1)] / E[X^k]).
    """
    psi = np.zeros(order + 1)
    if a < BEHIND:
        moment = np.ones(order + 1)
        ratio = -a
        for k in range(TERMS, 0, -1):
            ratio = k / (ratio - a)
            if k <= order:
                moment[k] = ratio
        for k in range(1, order + 1):
            moment[k] *= moment[k - 1]
        for ell in range(1, order + 1):
            psi[ell] = moment[ell]
            binomial = 1.0  # of ell - 1 over k - 1
            for k in range(1, ell):
                psi[ell] -= binomial * psi[k] * moment[ell - k]
                binomial *= (ell - k) / k
    else:
        h = inverse_mills(a)
        for ell in range(3, order + 1):
            for i in range(ell + 1):
                for j in range(ell + 1 - i):
                    psi[ell] += COEFFICIENTS[ell, i, j] * a**i * h**j
    psi[:3] = 0.0  # the first two cumulants are not derivatives of log Phi
    return psi
