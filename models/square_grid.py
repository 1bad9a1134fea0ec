"""Covariances on a square grid, cut into blocks by the eight symmetries of the square.

A covariance c(|i - k|, |j - l|) between the points (i, j) and (k, l) of a d x d grid, with c(p, q)
= c(q, p), does not change when the square is reflected or its axes are swapped.  In coordinates
that are even or odd under both reflections, and symmetric or antisymmetric under the swap where
that leaves them of one kind, it is therefore block diagonal.  With h = ceil(d / 2) even and
f = floor(d / 2) odd functions along an axis (Serre 1977, Linear Representations of Finite Groups,
Section 2.6, for the group of the square):

    coordinates                         block     its size         d = 32
    even x even, symmetric              0         h (h + 1) / 2    136
    even x even, antisymmetric          1         h (h - 1) / 2    120
    odd x odd, symmetric                2         f (f + 1) / 2    136
    odd x odd, antisymmetric            3         f (f - 1) / 2    120
    even x odd                          4         h f              256
    odd x even, swapped                 4 again   h f              256

The last two carry the same block, which is made and factorised once.  Of n = d^2 points the blocks
have n / 8, n / 8, n / 8, n / 8 and n / 4, so that a factorisation takes n^3 (4 / 8^3 + 1 / 4^3) / 3
operations, a 43rd of n^3 / 3.

The change of coordinates u = to_blocks(x) is orthogonal: u'u = x'x.  "Blocks" are a tuple of five
C-ordered matrices of which only the lower triangle counts, unless they are called complete; a block
may be of size 0.
"""

import numpy as np

from models.jit import njit
from models.linalg import (
    factorise,
    gram,
    log_det,
    symmetric_times,
    triangular_solve,
    triangular_times,
    whiten,
)

PLACES = (0, 1, 2, 3, 4, 4)  # the block of each stretch of coordinates
BLOCKS = 5


@njit
def weights(d):
    """Return what makes even functions normalised: 1, but 1 / sqrt 2 for the middle.  (h,)."""
    even = np.ones((d + 1) // 2)
    if d % 2 == 1:
        even[d // 2] = np.sqrt(0.5)
    return even


@njit
def stretches(u, d):
    """Return views of u: even x even, odd x odd (as vectors), even x odd, odd x even swapped."""
    h, f = (d + 1) // 2, d // 2
    a, b, c = h * h, h * h + f * f, h * h + f * f + h * f
    return u[:a], u[a:b], u[b:c].reshape(h, f), u[c:].reshape(h, f)


@njit
def swap(A, u):
    """Overwrite u by the symmetric, then the antisymmetric coordinates of the square matrix A."""
    n = A.shape[0]
    s, a = 0, n * (n + 1) // 2
    for i in range(n):
        for j in range(i):
            u[s], u[a] = (A[i, j] + A[j, i]) * np.sqrt(0.5), (A[i, j] - A[j, i]) * np.sqrt(0.5)
            s, a = s + 1, a + 1
        u[s], s = A[i, i], s + 1


@njit
def unswap(u, n):
    """Return the (n, n) matrix whose coordinates are u."""
    A = np.empty((n, n))
    s, a = 0, n * (n + 1) // 2
    for i in range(n):
        for j in range(i):
            A[i, j], A[j, i] = (u[s] + u[a]) * np.sqrt(0.5), (u[s] - u[a]) * np.sqrt(0.5)
            s, a = s + 1, a + 1
        A[i, i], s = u[s], s + 1
    return A


@njit
def to_blocks(x, d):
    """Return the coordinates, (d^2,), of a function on the grid, (d^2,) row by row."""
    X, even = x.reshape(d, d), weights(d)
    u, h, f = np.empty(d * d), (d + 1) // 2, d // 2
    ee, oo, EO, OE = stretches(u, d)
    EE, OO = np.empty((h, h)), np.empty((f, f))
    for i in range(h):
        for j in range(h):
            left, right = X[i, j] + X[d - 1 - i, j], X[i, d - 1 - j] + X[d - 1 - i, d - 1 - j]
            EE[i, j] = even[i] * even[j] / 2 * (left + right)
            if j < f:
                EO[i, j] = even[i] / 2 * (left - right)
            if i < f:
                left, right = X[i, j] - X[d - 1 - i, j], X[i, d - 1 - j] - X[d - 1 - i, d - 1 - j]
                OE[j, i] = even[j] / 2 * (left + right)
                if j < f:
                    OO[i, j] = (left - right) / 2
    swap(EE, ee)
    swap(OO, oo)
    return u


@njit
def from_blocks(u, d):
    """Return the function on the grid, (d^2,) row by row, whose coordinates are u, (d^2,)."""
    x, even, h, f = np.empty(d * d), weights(d), (d + 1) // 2, d // 2
    X = x.reshape(d, d)
    ee, oo, EO, OE = stretches(u, d)
    EE, OO = unswap(ee, h), unswap(oo, f)
    for i in range(h):
        for j in range(h):
            a = EE[i, j] / (even[i] * even[j])
            b = EO[i, j] / even[i] if j < f else 0.0
            c = OE[j, i] / even[j] if i < f else 0.0
            e = OO[i, j] if i < f and j < f else 0.0
            X[i, j] = (a + b + c + e) / 2
            X[d - 1 - i, j] = (a + b - c - e) / 2
            X[i, d - 1 - j] = (a - b + c - e) / 2
            X[d - 1 - i, d - 1 - j] = (a - b - c + e) / 2
    return x


@njit
def fold(c, n, sign):
    """Return the (n, n, d) covariances between the n even (sign 1) or odd (-1) functions of i.

    Not normalised: [i, k, q] is c(|i - k|, q) + sign c(|i - k'|, q), with k' the mirror image.
    """
    d = c.shape[0]
    F = np.empty((n, n, d))
    for i in range(n):
        for k in range(n):
            near, far, row = c[abs(i - k)], c[d - 1 - i - k], F[i, k]
            for q in range(d):
                row[q] = near[q] + sign * far[q]
    return F


@njit
def fill_swapped(F, sign, weight, A, B):
    """Write the symmetric and the antisymmetric block of one kind of functions along both axes.

    With G[i, j, k, l] the covariance of the functions (i, j) and (k, l), those are
    G[i, j, k, l] +- G[i, j, l, k], over sqrt 2 for each of i = j and k = l.

    F : (n, n, d) of fold      sign, weight : float, (n,) of these functions      A, B : overwritten
    """
    n, d = F.shape[0], F.shape[2]
    scale = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            scale[i, j] = weight[i] * weight[j] * (np.sqrt(0.5) if i == j else 1.0)
    for i in range(n):
        for j in range(i + 1):
            row, other = A[i * (i + 1) // 2 + j], i * (i - 1) // 2 + j
            for k in range(i + 1):
                here, s = F[i, k], scale[i, j]
                last = min(k, j) if k == i else k
                for m in range(last + 1):
                    straight = here[abs(j - m)] + sign * here[d - 1 - j - m]
                    swapped = F[i, m, abs(j - k)] + sign * F[i, m, d - 1 - j - k]
                    row[k * (k + 1) // 2 + m] = s * scale[k, m] * (straight + swapped)
                    if j < i and m < k:
                        B[other, k * (k - 1) // 2 + m] = s * scale[k, m] * (straight - swapped)


@njit
def fill_mixed(F, weight, A):
    """Write the block of functions that are even along one axis and odd along the other.

    F : (h, h, d) of fold with sign 1      weight : (h,)      A : (h f, h f), overwritten
    """
    h, d = F.shape[0], F.shape[2]
    f = d // 2
    near, far = np.empty(2 * f), np.empty(2 * f)
    for i in range(h):
        for k in range(i + 1):
            here, s = F[i, k], weight[i] * weight[k]
            for q in range(2 * f - 1):
                near[q], far[q] = s * here[abs(q - f + 1)], s * here[d - 1 - q]
            for j in range(f):
                row, a, b = A[i * f + j, k * f : (k + 1) * f], near[f - 1 - j :], far[j:]
                for m in range(f):
                    row[m] = a[m] - b[m]


@njit
def empty_blocks(d):
    """Return memory for the blocks of a d x d grid."""
    h, f = (d + 1) // 2, d // 2
    return (np.empty((h * (h + 1) // 2, h * (h + 1) // 2)),
            np.empty((h * (h - 1) // 2, h * (h - 1) // 2)),
            np.empty((f * (f + 1) // 2, f * (f + 1) // 2)),
            np.empty((f * (f - 1) // 2, f * (f - 1) // 2)), np.empty((h * f, h * f)))


@njit
def fill_blocks(c, A):
    """Overwrite the blocks A by those of the covariance c(p, q), (d, d) and symmetric, at lags.

    n^2 / 16 entries are made of the d^2 numbers of c, where the whole matrix has n^2.  Memory
    that is used again saves more than the arithmetic takes: new pages cost twice as much.
    """
    d = c.shape[0]
    h, f = (d + 1) // 2, d // 2
    even, odd = fold(c, h, 1.0), fold(c, f, -1.0)
    fill_swapped(even, 1.0, weights(d), A[0], A[1])
    fill_swapped(odd, -1.0, np.ones(f), A[2], A[3])
    fill_mixed(even, weights(d), A[4])


@njit
def factorise_blocks(A):
    """Overwrite the blocks by their Cholesky factors; return ok.  All are nan unless ok."""
    ok = True
    for k in range(BLOCKS):
        ok = ok and factorise(A[k])
    if not ok:
        for k in range(BLOCKS):
            A[k][:] = np.nan
    return ok


@njit
def log_det_blocks(L):
    """Return the log determinant of the matrix of which L are the factors, the last one twice."""
    total = log_det(L[BLOCKS - 1])
    for k in range(BLOCKS):
        total += log_det(L[k])
    return total


@njit
def trace_blocks(A):
    """Return the trace of the whole matrix."""
    total = np.trace(A[BLOCKS - 1])
    for k in range(BLOCKS):
        total += np.trace(A[k])
    return total


@njit
def product_blocks(A, B):
    """Return the trace of A B, both complete and symmetric."""
    total = np.sum(A[BLOCKS - 1] * B[BLOCKS - 1])
    for k in range(BLOCKS):
        total += np.sum(A[k] * B[k])
    return total


@njit
def cube_blocks(A):
    """Return the trace of A^3, A complete and symmetric."""
    total = 0.0
    for k in range(BLOCKS):
        if A[k].shape[0] > 0:
            total += (2.0 if k == BLOCKS - 1 else 1.0) * np.sum(A[k] * gram(A[k]))
    return total


@njit
def factor_times(L, u, transpose):
    """Overwrite the coordinates u by L u, or by L' u."""
    start = 0
    for k in PLACES:
        n = L[k].shape[0]
        if n > 0:
            triangular_times(L[k], u[start : start + n], transpose)
        start += n


@njit
def factor_solve(L, u, transpose):
    """Overwrite the coordinates u by L^-1 u, or by L'^-1 u."""
    start = 0
    for k in PLACES:
        n = L[k].shape[0]
        if n > 0:
            triangular_solve(L[k], u[start : start + n], transpose)
        start += n


@njit
def blocks_times(A, u):
    """Return A u in coordinates."""
    out, start = np.empty(u.size), 0
    for k in PLACES:
        n = A[k].shape[0]
        if n > 0:
            out[start : start + n] = symmetric_times(A[k], u[start : start + n])
        start += n
    return out


@njit
def whiten_blocks(L, A):
    """Overwrite the symmetric blocks A by L^-1 A L^-T, complete."""
    for k in range(BLOCKS):
        if L[k].shape[0] > 0:
            whiten(L[k], A[k])
