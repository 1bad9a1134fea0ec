"""exp(-sum_k (x_k - z_k)^2 / rho_k^2) between cases, and what makes a change of one length cheap.

Source      Wang and Neal (2013), (23) and (24), without their constants c and eta.

All lengths are given as logs.  `group` says which length belongs to which covariate: with all of
them 0 there is one (isotropic), with 0, 1, 2, ... each covariate has its own (ARD).

Along one length rho_g the exponent of a pair of cases is rest + own / rho_g^2, where

    own  = sum over the covariates of g of (x_k - z_k)^2
    rest = sum over the other covariates of (x_k - z_k)^2 / rho_k^2

do not change.  So the new matrix has the entries exp(-(rest + own / rho_g^2)).  One exponential of
a sum takes less time than the Hadamard product exp(-rest) o exp(-own / rho_g^2), and rounds less.
Per pair of cases that is one product, one sum and one exponential; from scratch it is 4 p
operations and one exponential.  rest is summed anew whenever another length changes, so that no
rounding errors add up.
"""

from typing import NamedTuple

import numpy as np

from models.jit import njit
from models.logistic_regression import LOG_2, PER_LOG_2, TAYLOR, WHOLE

# Beyond this exponent 0 is written: exp(-138) = 1e-60, and products of a few such numbers would be
# subnormal, which make LAPACK ten to a hundred times slower
FAR = 138.0
LANES = 16  # as many numbers as the compiler takes at once
HUGE = 1e300  # the largest 1 / rho^2: times a distance of 0 it is still 0


class Kernel(NamedTuple):
    """The matrix, its lengths, and memory for a change of one length."""

    E: np.ndarray  # (n, m)
    lengths: np.ndarray  # (h,) log lengths that E is for; nan if none
    rest: np.ndarray  # (n, m)
    own: np.ndarray  # (n, m)
    others: np.ndarray  # (h,) log lengths that rest is for, but for the one that is left out
    left_out: np.ndarray  # (1,) int64, which that is; -1 if rest is not computed


@njit
def empty_kernel(n, m, h):
    """Return memory for the kernel of n and m cases and h lengths; nothing is known."""
    return Kernel(np.empty((n, m)), np.full(h, np.nan), np.empty((n, m)), np.empty((n, m)),
                  np.full(h, np.nan), np.full(1, -1))


@njit
def inverse_squares(lengths, group):
    """Return 1 / rho^2 for each covariate, (p,)."""
    w = np.empty(group.size)
    for k in range(group.size):
        square = np.exp(-2.0 * lengths[group[k]])
        w[k] = HUGE if square > HUGE else square
    return w


@njit
def columns(i, m, lower):
    """Return how many columns of row i count."""
    return i + 1 if lower else m


@njit
def add_squares(x, w, ZT, size, t):
    """Add sum_k w_k (x_k - z_k)^2 to t_j, for the first `size` cases z; skip what has w_k = 0."""
    for k in range(x.size):
        if w[k] != 0.0:
            weight, place, row = w[k], x[k], ZT[k]
            for j in range(size):
                difference = row[j] - place  # not |x|^2 - 2 x'z + |z|^2, which would cancel
                t[j] += weight * difference * difference


class Row(NamedTuple):
    """Memory for a row of exponents, in whole LANES, of which only the first ones count."""

    t: np.ndarray  # the exponents, >= 0
    e: np.ndarray  # scratch
    power: np.ndarray  # scratch
    bits: np.ndarray  # power.view(np.int64)


@njit
def empty_row(m):
    """Return memory for a row of m exponents, all 0."""
    size = (m + LANES - 1) // LANES * LANES
    power = np.empty(size)
    return Row(np.zeros(size), np.empty(size), power, power.view(np.int64))


@njit
def write_exp(row, size, out):
    """Write exp(-t_j) to out_j for the first `size` of row.t; 0 beyond FAR, and nan of nan.

    models/logistic_regression.py explains the steps.  Whole rows take 0.6 times as long as its
    blocks, and what is computed in vain up to whole LANES less than a loop over single numbers.
    """
    t, e, power, bits, c = row.t, row.e, row.power, row.bits, TAYLOR
    whole_lanes = (size + LANES - 1) // LANES * LANES
    for j in range(whole_lanes):
        x = FAR if t[j] > FAR else t[j]
        whole = WHOLE - x * PER_LOG_2
        power[j] = whole
        m = whole - WHOLE
        r = (-x - m * LOG_2[0]) - m * LOG_2[1]
        r2 = r * r
        r4 = r2 * r2
        low = (c[2] + r * c[3]) + r2 * (c[4] + r * c[5])
        middle = (c[6] + r * c[7]) + r2 * (c[8] + r * c[9])
        high = (c[10] + r * c[11]) + r2 * (c[12] + r * c[13])
        e[j] = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))
    for j in range(whole_lanes):
        bits[j] = (bits[j] + 1023) << 52
    for j in range(size):
        out[j] = 0.0 if t[j] > FAR else e[j] * power[j]


@njit
def fill(lengths, group, XT, ZT, lower, E):
    """Overwrite E by the matrix between the cases of XT, (p, n), and of ZT, (p, m).

    E : (n, m); `lower` writes the lower triangle only      lengths : (h,) log rho
    """
    w, m = inverse_squares(lengths, group), ZT.shape[1]
    row = empty_row(m)
    for i in range(XT.shape[1]):
        size = columns(i, m, lower)
        row.t[:size] = 0.0
        add_squares(XT[:, i], w, ZT, size, row.t)
        write_exp(row, size, E[i])


@njit
def set_lengths(kernel, lengths, group, XT, ZT, lower):
    """Bring kernel.E to these lengths; nothing is done if it is there."""
    if not (kernel.lengths == lengths).all():
        fill(lengths, group, XT, ZT, lower, kernel.E)
        kernel.lengths[:] = lengths


@njit
def set_one_length(kernel, g, lengths, group, XT, ZT, lower):
    """Bring kernel.E to these lengths, of which only number g keeps changing."""
    if (kernel.lengths == lengths).all():
        return
    if not rest_is_for(kernel, g, lengths):
        sum_rest(kernel, g, lengths, group, XT, ZT, lower)
    w, m = inverse_squares(lengths, group), ZT.shape[1]
    weight = w[0]
    for k in range(group.size):
        if group[k] == g:
            weight = w[k]
    row = empty_row(m)
    t = row.t
    for i in range(XT.shape[1]):
        size, rest, own = columns(i, m, lower), kernel.rest[i], kernel.own[i]
        for j in range(size):
            t[j] = rest[j] + weight * own[j]
        write_exp(row, size, kernel.E[i])
    kernel.lengths[:] = lengths


@njit
def follow_change(kernel, k, q, group, XT, ZT, lower):
    """Bring kernel.E to the lengths of q = (log sigma, log eta, log rho), of which q_k changed."""
    if k < 2:
        set_lengths(kernel, q[2:], group, XT, ZT, lower)
    else:
        set_one_length(kernel, k - 2, q[2:], group, XT, ZT, lower)


@njit
def rest_is_for(kernel, g, lengths):
    """Return whether rest is that of the lengths other than number g."""
    if kernel.left_out[0] != g:
        return False
    for h in range(lengths.size):
        if h != g and kernel.others[h] != lengths[h]:
            return False
    return True


@njit
def sum_rest(kernel, g, lengths, group, XT, ZT, lower):
    """Overwrite kernel.rest and kernel.own by those for length g."""
    w, m = inverse_squares(lengths, group), ZT.shape[1]
    chosen = np.zeros(group.size)
    for k in range(group.size):
        if group[k] == g:
            w[k], chosen[k] = 0.0, 1.0
    for i in range(XT.shape[1]):
        size = columns(i, m, lower)
        kernel.rest[i, :size] = 0.0
        kernel.own[i, :size] = 0.0
        add_squares(XT[:, i], w, ZT, size, kernel.rest[i])
        add_squares(XT[:, i], chosen, ZT, size, kernel.own[i])
    kernel.others[:] = lengths
    kernel.left_out[0] = g
