"""LAPACK and BLAS for compiled code: Cholesky factors and what is done with them.

All matrices are C-ordered float64.  Fortran reads a C-ordered matrix as its transpose, so a lower
factor L is Fortran's upper factor L', and nothing is copied or transposed.  The routines are
SciPy's own, found by address and called by name, which keeps Numba's cache usable.

Failure is a value: for a matrix that is not positive definite or not finite, a factorisation
returns ok = False.  cholesky's factor is then full of nan, which no later result survives; that of
the others is meaningless.
"""

import numpy as np
from numba import types

from models.jit import check_interrupt, external, njit


def routine(module, name, arguments):
    """Return the Fortran routine `name`, which takes that many pointers."""
    signature = types.void(*[types.voidptr] * arguments)
    return external(f"scipy.linalg.cython_{module}", name, signature)


dpotrf = routine("lapack", "dpotrf", 5)
dtrtri = routine("lapack", "dtrtri", 6)
dlauum = routine("lapack", "dlauum", 5)
dsygst = routine("lapack", "dsygst", 8)
dsyevd = routine("lapack", "dsyevd", 11)
dtrsv = routine("blas", "dtrsv", 8)
dtrmv = routine("blas", "dtrmv", 8)
dtrmm = routine("blas", "dtrmm", 11)
dtrsm = routine("blas", "dtrsm", 11)
dsyrk = routine("blas", "dsyrk", 10)
dsymv = routine("blas", "dsymv", 10)
dgemm = routine("blas", "dgemm", 13)

BLOCK = 64  # rows; 32 to 96 are equally fast
LEFT, RIGHT, UPPER, LOWER, PLAIN, TRANSPOSED, NON_UNIT = (ord(c) for c in "LRULNTN")
VECTORS = ord("V")


@njit
def factorise(A):
    """Overwrite the lower triangle of the symmetric (n, n) A by its Cholesky factor; return ok.

    What stands above the diagonal is neither read nor written.  n^3 / 3 operations, right-looking
    in blocks (Golub and Van Loan 2013, Section 4.2.9).  The panel below a diagonal block is
    multiplied by the block's inverse rather than solved for: multiplication by a triangle runs
    about twice as fast as substitution.  At n = 767 the whole takes 0.6 times as long as dpotrf on
    a processor with AVX-512, and as long on one without.
    """
    n = A.shape[0]
    flags = np.array([LEFT, UPPER, TRANSPOSED, NON_UNIT], np.uint8)
    left, upper, transposed, non_unit = flags[:1], flags[1:], flags[2:], flags[3:]
    size = np.array([n, BLOCK, 0, 0, 0], np.int32)
    stride, block, width, below, info = size[:1], size[1:], size[2:], size[3:], size[4:]
    one, minus_one = np.ones(1), -np.ones(1)
    inverse = np.empty((BLOCK, BLOCK))
    for j in range(0, n, BLOCK):
        check_interrupt()
        e = min(j + BLOCK, n)
        width[0], below[0] = e - j, n - e
        diagonal, panel, rest = A[j:, j:], A[e:, j:], A[e:, e:]
        dpotrf(upper.ctypes, width.ctypes, diagonal.ctypes, stride.ctypes, info.ctypes)
        for i in range(j, e):
            if not np.isfinite(A[i, i]):  # LAPACK lets nan pass
                return False
        if info[0] != 0:
            return False
        if e < n:
            for r in range(e - j):
                for c in range(r + 1):
                    inverse[r, c] = diagonal[r, c]
            dtrtri(upper.ctypes, non_unit.ctypes, width.ctypes, inverse.ctypes, block.ctypes,
                   info.ctypes)
            dtrmm(left.ctypes, upper.ctypes, transposed.ctypes, non_unit.ctypes, width.ctypes,
                  below.ctypes, one.ctypes, inverse.ctypes, block.ctypes, panel.ctypes,
                  stride.ctypes)
            dsyrk(upper.ctypes, transposed.ctypes, below.ctypes, width.ctypes, minus_one.ctypes,
                  panel.ctypes, stride.ctypes, one.ctypes, rest.ctypes, stride.ctypes)
    return True


@njit
def cholesky(A):
    """Return (L, ok): A = L L' with L lower triangular, (n, n); every element is nan unless ok."""
    L = A.copy()
    ok = factorise(L)
    for i in range(L.shape[0]):
        L[i, i + 1 :] = 0.0
    if not ok:
        L[:] = np.nan
    return L, ok


@njit
def invert_lower(L):
    """Overwrite the lower triangle of L, (n, n), by that of its inverse; n^3 / 3 operations.

    [A 0; C D]^-1 = [A^-1 0; -D^-1 C A^-1 D^-1]: the diagonal is cut into leaves of at most BLOCK
    rows, and inverted neighbours are joined in pairs until one is left.  The multiplications by
    triangles make it take 0.4 times as long as dtrtri at n = 767, or 0.7 without AVX-512.
    """
    n = L.shape[0]
    flags = np.array([LEFT, RIGHT, UPPER, PLAIN, NON_UNIT], np.uint8)
    left, right, upper, plain, non_unit = flags[:1], flags[1:], flags[2:], flags[3:], flags[4:]
    size = np.array([n, 0, 0, 0], np.int32)
    stride, first, second, info = size[:1], size[1:], size[2:], size[3:]
    one, minus_one = np.ones(1), -np.ones(1)
    leaves = 1
    while leaves * BLOCK < n:
        leaves *= 2
    edge = [k * n // leaves for k in range(leaves + 1)]
    for k in range(leaves):
        first[0] = edge[k + 1] - edge[k]
        dtrtri(upper.ctypes, non_unit.ctypes, first.ctypes, L[edge[k] :, edge[k] :].ctypes,
               stride.ctypes, info.ctypes)
    span = 1
    while span < leaves:
        for k in range(0, leaves, 2 * span):
            a, d, end = edge[k], edge[k + span], edge[k + 2 * span]
            first[0], second[0] = d - a, end - d
            dtrmm(right.ctypes, upper.ctypes, plain.ctypes, non_unit.ctypes, first.ctypes,
                  second.ctypes, minus_one.ctypes, L[d:, d:].ctypes, stride.ctypes,
                  L[d:, a:].ctypes, stride.ctypes)
            dtrmm(left.ctypes, upper.ctypes, plain.ctypes, non_unit.ctypes, first.ctypes,
                  second.ctypes, one.ctypes, L[a:, a:].ctypes, stride.ctypes,
                  L[d:, a:].ctypes, stride.ctypes)
        span *= 2


@njit
def inverse_of_product(L):
    """Overwrite the lower triangle of L, (n, n), by that of (L L')^-1; 2 n^3 / 3 operations."""
    invert_lower(L)
    n = np.array([L.shape[0], 0], np.int32)
    dlauum(np.array([UPPER], np.uint8).ctypes, n[:1].ctypes, L.ctypes, n[:1].ctypes, n[1:].ctypes)


@njit
def triangular_solve(L, b, transpose):
    """Overwrite the vector b by the solution x of L x = b, or of L' x = b if `transpose`."""
    flags = np.array([UPPER, PLAIN if transpose else TRANSPOSED, NON_UNIT], np.uint8)
    n = np.array([L.shape[0], 1], np.int32)
    dtrsv(flags[:1].ctypes, flags[1:].ctypes, flags[2:].ctypes, n[:1].ctypes, L.ctypes,
          n[:1].ctypes, b.ctypes, n[1:].ctypes)


@njit
def triangular_times(L, b, transpose):
    """Overwrite the vector b by L b, or by L' b if `transpose`; n^2 operations."""
    flags = np.array([UPPER, PLAIN if transpose else TRANSPOSED, NON_UNIT], np.uint8)
    n = np.array([L.shape[0], 1], np.int32)
    dtrmv(flags[:1].ctypes, flags[1:].ctypes, flags[2:].ctypes, n[:1].ctypes, L.ctypes,
          n[:1].ctypes, b.ctypes, n[1:].ctypes)


@njit
def times_lower_transposed(B, L):
    """Overwrite the matrix B, (n, m), by B L' with L: (m, m) lower triangular; n m^2 operations."""
    flags = np.array([LEFT, UPPER, TRANSPOSED, NON_UNIT], np.uint8)
    size = np.array([B.shape[1], B.shape[0]], np.int32)  # Fortran sees L B'
    one = np.ones(1)
    dtrmm(flags[:1].ctypes, flags[1:].ctypes, flags[2:].ctypes, flags[3:].ctypes, size[:1].ctypes,
          size[1:].ctypes, one.ctypes, L.ctypes, size[:1].ctypes, B.ctypes, size[:1].ctypes)


@njit
def whiten(L, A):
    """Overwrite the symmetric A by L^-1 A L^-T; n^3 operations.

    L : (n, n) lower triangular      A : (n, n), of which only the lower triangle is read
    """
    n = np.array([L.shape[0], 1, 0], np.int32)
    dsygst(n[1:].ctypes, np.array([UPPER], np.uint8).ctypes, n[:1].ctypes, A.ctypes, n[:1].ctypes,
           L.ctypes, n[:1].ctypes, n[2:].ctypes)
    for i in range(A.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]


@njit
def solve_lower(L, b):
    r"""Return x with L x = b, the paper's L \ b.  L: (n, n) lower triangular, b: (n,)."""
    x = b.copy()
    triangular_solve(L, x, False)
    return x


@njit
def solve_lower_transposed(L, b):
    r"""Return x with L' x = b, the paper's L' \ b.  L: (n, n) lower triangular, b: (n,)."""
    x = b.copy()
    triangular_solve(L, x, True)
    return x


@njit
def triangular_solve_matrix(L, B, left):
    """Overwrite the matrix B by the solution X of L X = B (left) or of X L = B (not left)."""
    flags = np.array([RIGHT if left else LEFT, UPPER, PLAIN, NON_UNIT], np.uint8)
    size = np.array([B.shape[1], B.shape[0], L.shape[0]], np.int32)  # Fortran sees X' L' = B'
    one = np.ones(1)
    dtrsm(flags[:1].ctypes, flags[1:].ctypes, flags[2:].ctypes, flags[3:].ctypes, size[:1].ctypes,
          size[1:].ctypes, one.ctypes, L.ctypes, size[2:].ctypes, B.ctypes, size[:1].ctypes)


@njit
def solve_lower_matrix(L, B):
    r"""Return X with L X = B, the paper's L \ B.  L: (n, n) lower triangular, B: (n, m)."""
    X = B.copy()
    triangular_solve_matrix(L, X, True)
    return X


@njit
def gram(V):
    """Return V'V, (m, m) and symmetric, of V: (n, m); n m^2 operations."""
    A = np.empty((V.shape[1], V.shape[1]))
    flags = np.array([UPPER, PLAIN], np.uint8)
    size = np.array([V.shape[1], V.shape[0]], np.int32)
    scalars = np.array([1.0, 0.0])
    dsyrk(flags[:1].ctypes, flags[1:].ctypes, size[:1].ctypes, size[1:].ctypes,
          scalars[:1].ctypes, V.ctypes, size[:1].ctypes, scalars[1:].ctypes, A.ctypes,
          size[:1].ctypes)
    for i in range(A.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]
    return A


@njit
def symmetric_times(A, x):
    """Return A x for a symmetric (n, n) A, of which only the lower triangle is read."""
    flags = np.array([UPPER], np.uint8)
    n = np.array([A.shape[0], 1], np.int32)
    scalars = np.array([1.0, 0.0])
    b = np.empty(x.size)
    dsymv(flags.ctypes, n[:1].ctypes, scalars[:1].ctypes, A.ctypes, n[:1].ctypes, x.ctypes,
          n[1:].ctypes, scalars[1:].ctypes, b.ctypes, n[1:].ctypes)
    return b


@njit
def identity_plus_scaled(A, s):
    """Return I + A o (s s'), the paper's cheap form of I + diag(s) A diag(s)."""
    B = np.empty_like(A)
    scale_and_add_identity(A, s, B)
    for i in range(s.size):
        for j in range(i):
            B[j, i] = B[i, j]
    return B


@njit
def scale_and_add_identity(A, s, B):
    """Write I + A o (s s') into the lower triangle of B, reading only that of A."""
    for i in range(s.size):
        for j in range(i + 1):
            B[i, j] = A[i, j] * (s[i] * s[j])
        B[i, i] += 1.0


@njit
def rows_times(A, s):
    """Return diag(s) A, the paper's A * s: row n of A times s_n."""
    return A * s.reshape(-1, 1)


@njit
def log_det(L):
    """Return log|A| of A = L L' (or L' L), twice the sum of the logs of L's diagonal."""
    total = 0.0
    for i in range(L.shape[0]):
        total += np.log(L[i, i])
    return 2.0 * total


@njit
def whitened_factor(L_K, w):
    """Return (R, ok): R lower triangular with R' R = I + L_K' diag(w) L_K; 2 n^3 / 3 operations.

    The precision K^-1 + diag(w) is then (R L_K^-1)' (R L_K^-1).  No difference of large matrices
    is formed, unlike in K - V'V.  R is meaningless unless ok.

    L_K : (n, n) Cholesky factor of K      w : (n,) >= 0
    """
    n = L_K.shape[0]
    A = np.empty((n, n))  # the transpose of diag(w)^1/2 L_K: lower triangular for Fortran
    for i in range(n):
        root = np.sqrt(w[i])
        for j in range(i + 1):
            A[j, i] = root * L_K[i, j]
    size = np.array([n, 0], np.int32)
    dlauum(np.array([LOWER], np.uint8).ctypes, size[:1].ctypes, A.ctypes, size[:1].ctypes,
           size[1:].ctypes)
    M = np.empty((n, n))  # with rows and columns in reversed order, an ordinary factor will do
    for i in range(n):
        for j in range(i + 1):
            M[i, j] = A[n - 1 - i, n - 1 - j]
        M[i, i] += 1.0
    ok = factorise(M)
    R = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            R[i, j] = M[n - 1 - j, n - 1 - i]
    return R, ok


@njit
def posterior_factor(L_K, w):
    """Return (L, ok): L lower triangular with L L' = (K^-1 + diag(w))^-1, namely L_K R^-1.

    L_K : (n, n) Cholesky factor of K      w : (n,) >= 0
    """
    R, ok = whitened_factor(L_K, w)
    L = L_K.copy()
    triangular_solve_matrix(R, L, False)
    return L, ok


@njit
def eigh(A):
    """Return (values, Q, ok): A = Q diag(values) Q', ascending; all nan unless ok.

    A : (n, n) symmetric, finite throughout; LAPACK takes its lower triangle
    Q : (n, n), C-ordered
    """
    n = A.shape[0]
    values, vectors = np.full(n, np.nan), A.copy()
    ok = np.isfinite(A).all()
    if ok:
        flags = np.array([VECTORS, UPPER], np.uint8)
        size = np.array([n, 1 + 6 * n + 2 * n * n, 3 + 5 * n, 0], np.int32)
        work, whole = np.empty(size[1]), np.empty(size[2], np.int32)
        dsyevd(flags[:1].ctypes, flags[1:].ctypes, size[:1].ctypes, vectors.ctypes,
               size[:1].ctypes, values.ctypes, work.ctypes, size[1:].ctypes, whole.ctypes,
               size[2:].ctypes, size[3:].ctypes)
        ok = size[3] == 0
    if not ok:
        values[:] = np.nan
        vectors[:] = np.nan
    return values, vectors.T.copy(), ok
