"""The same EP as algorithms/ep.py, with matrix products for its rank-one updates.  Read that first.

Same sequence of sites, same fixed point, same record; what differs, with operations per sweep:

  1. Blocks.  The update of site n needs Sigma_nn and mu_n only.  While the b sites J of a block are
     visited, the updates are made to the b x b block Sigma_JJ and to mu_J alone.  With c = dtau /
     (1 + dtau Sigma_nn), site k subtracts c_k s_k s_k', and s_k is column k less what the earlier
     sites took from it: s_k = Sigma_:J m_k, where row k of the triangular matrix M is

         m_k = e_k - sum_{j<k} c_j (s_j)_k m_j.

     So the block subtracts V' diag(c) V, V = M Sigma_J:, in one product: the same operations
     as b updates with vectors, but at the speed of arithmetic, not of memory.
  2. Triangles.  Only the lower triangle of Sigma is kept (dsyrk), and the rows of V are sorted by
     the sign of c.                                                      2 N^3  ->  N^3 + 2 b N^2
  3. Sigma is not rebuilt from the Cholesky factor after every sweep, but once, when the carried
     log Z has settled.  If the rebuilt log Z has not, the sweeps go on from the rebuilt Sigma: what
     is returned meets the mirror's test.               10 N^3 / 3  ->  0, and 7 N^3 / 3 at the end
  4. log|B| is carried along: by the determinant lemma each update multiplies |I + K diag(tau)| by
     1 + dtau Sigma_nn.
  5. Outside the block, mu gets the sum of its b changes at once: Sigma_:J M' g, with g_k = (dnu -
     dtau mu_n) / (1 + dtau Sigma_nn).  It is mu = Sigma nu, without a product for each site.

In all 22 N^3 / 3 operations per sweep become N^3.  The two results differ by rounding, which both
have: Sigma is K less something nearly as large, so its error is about 5e-15 max|K| in either.  On
the paper's problem (N = 767, max|K| = 2.7e4) they differ by 5e-10 in Sigma and mu and by 1e-9 in
log Z at most, after any sweep.  So where a sweep happens to change log Z by tol to within that, the
two may stop a sweep apart.
"""

import numpy as np

from algorithms.ep import EP, cavity, check_ep, log_evidence, matching_site
from models.jit import check_interrupt, njit, public
from models.linalg import (
    PLAIN,
    UPPER,
    dgemm,
    dsyrk,
    factorise,
    log_det,
    symmetric_times,
    triangular_solve_matrix,
)

BLOCK = 48  # 32 to 64 take the same time


@public(check_ep)
@njit
def ep(K, y, tol, max_sweeps, damping):
    """Approximate the posterior and the evidence; arguments and result as algorithms.ep.ep."""
    return ep_in_blocks(K, y, tol, max_sweeps, damping, BLOCK)


@njit
def ep_in_blocks(K, y, tol, max_sweeps, damping, block):
    """Run ep with blocks of `block` >= 1 sites."""
    N = y.size
    nu, tau, Sigma, mu = np.zeros(N), np.zeros(N), K.copy(), np.zeros(N)
    previous, log_Z, log_det_B, converged = np.inf, np.nan, 0.0, False
    for sweep in range(1, max_sweeps + 1):
        gained, every_site = sweep_in_blocks(Sigma, mu, tau, nu, y, damping, block)
        log_det_B += gained
        log_Z = log_evidence(y, mu, np.diag(Sigma), tau, nu, log_det_B)
        if sweep == max_sweeps or not abs(log_Z - previous) >= tol:  # nan too is rebuilt
            log_det_B, ok = rebuild(Sigma, K, tau)
            if not ok:
                log_Z = np.nan
                break
            mu = symmetric_times(Sigma, nu)
            log_Z = log_evidence(y, mu, np.diag(Sigma), tau, nu, log_det_B)
            converged = every_site and abs(log_Z - previous) < tol
            if converged:
                break
        previous = log_Z
    for i in range(N):
        for j in range(i):
            Sigma[j, i] = Sigma[i, j]
    return EP(log_Z, mu, Sigma, tau, nu, sweep, converged)


@njit
def sweep_in_blocks(Sigma, mu, tau, nu, y, damping, block):
    """Update every site once, in place; return the gain of log|B| and whether none was skipped.

    Of Sigma, (N, N), only the lower triangle is read and written; what stands above is undefined.
    """
    N = y.size
    gained, every_site = 0.0, True
    columns, V = np.empty((block, N)), np.empty((block, N))  # in rows
    for first in range(0, N, block):
        check_interrupt()
        b = min(block, N - first)
        for k in range(b):
            columns[k, : first + k + 1] = Sigma[first + k, : first + k + 1]
        for i in range(first + 1, N):
            for k in range(min(b, i - first)):
                columns[k, i] = Sigma[i, first + k]
        S, mu_J = columns[:b, first : first + b].copy(), mu[first : first + b].copy()
        M, c, g = np.eye(b), np.zeros(b), np.zeros(b)
        for k in range(b):
            n = first + k
            m, s2 = cavity(mu_J[k], S[k, k], tau[n], nu[n])
            if not 0.0 < s2 < np.inf:
                every_site = False
                continue
            new_tau, new_nu = matching_site(y[n], m, s2)
            dtau, dnu = damping * (new_tau - tau[n]), damping * (new_nu - nu[n])
            tau[n] = damping * new_tau + (1.0 - damping) * tau[n]
            nu[n] += dnu
            scale = 1.0 + dtau * S[k, k]
            gained += np.log(scale)
            c[k], g[k] = dtau / scale, (dnu - dtau * mu_J[k]) / scale
            for i in range(k + 1, b):  # the sites before k are not visited again
                mu_J[i] += g[k] * S[k, i]
                for j in range(k + 1, b):
                    S[i, j] -= c[k] * S[k, i] * S[k, j]
                for j in range(k + 1):
                    M[i, j] -= c[k] * S[k, i] * M[k, j]
        weight = g @ M
        for k in range(b):
            for i in range(N):
                mu[i] += weight[k] * columns[k, i]
        order = np.argsort(-c)  # positive, then zero, then negative
        product(np.sqrt(np.abs(c[order])).reshape(b, 1) * M[order], columns[:b], V[:b])
        positive, negative = np.sum(c > 0.0), np.sum(c < 0.0)
        add_products(Sigma, -1.0, V[:positive])
        add_products(Sigma, 1.0, V[b - negative : b])
    return gained, every_site


@njit
def rebuild(Sigma, K, tau):
    """Set the lower triangle of Sigma from K and tau alone; return (log|B|, ok)."""
    N = tau.size
    root = np.sqrt(tau)
    V = root.reshape(N, 1) * K
    B = np.empty((N, N))
    for i in range(N):
        for j in range(i + 1):
            B[i, j] = V[i, j] * root[j]
            Sigma[i, j] = K[i, j]
        B[i, i] += 1.0
    ok = factorise(B)
    if ok:
        triangular_solve_matrix(B, V, True)
        add_products(Sigma, -1.0, V)
    return log_det(B), ok


@njit
def product(A, B, out):
    """Set `out`, (m, n), to A B, for (m, k) A and (k, n) B."""
    flags = np.array([PLAIN], np.uint8)
    size = np.array([B.shape[1], A.shape[0], A.shape[1]], np.int32)
    scalars = np.array([1.0, 0.0])
    dgemm(flags.ctypes, flags.ctypes, size[:1].ctypes, size[1:].ctypes, size[2:].ctypes,
          scalars[:1].ctypes, B.ctypes, size[:1].ctypes, A.ctypes, size[2:].ctypes,
          scalars[1:].ctypes, out.ctypes, size[:1].ctypes)


@njit
def add_products(A, c, V):
    """Add c V'V to the lower triangle of the (n, n) matrix A, for a (k, n) V, k >= 0."""
    if V.shape[0] == 0:
        return
    flags = np.array([UPPER, PLAIN], np.uint8)
    size = np.array([V.shape[1], V.shape[0]], np.int32)
    scalars = np.array([c, 1.0])
    dsyrk(flags[:1].ctypes, flags[1:].ctypes, size[:1].ctypes, size[1:].ctypes,
          scalars[:1].ctypes, V.ctypes, size[:1].ctypes, scalars[1:].ctypes, A.ctypes,
          size[:1].ctypes)
