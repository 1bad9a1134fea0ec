r"""The same chain as algorithms/paquet_rmhmc.py, faster.  Read that file first.

Same arguments, same draws, same Chain but for its counts: tests/test_twins.py compares the two
transition by transition.  Per leapfrog step, with f_max = 5, the mirror does 35 N^3 / 3 operations
(70 where q is EP's Gaussian); this file does 3 N^3 / 3 (6 with fewer than DIRECT cases).  What
differs:

1. One factorisation for both branches.  With w = beta lambda + (1 - beta) tau, G = K^-1 + diag(w)
   in either case; s = sqrt(w), B = I + K o (s s') = L L' and Woodbury's identity give
       G^-1 p   = K (p - s o B^-1 (s o K p))          O(N^2) once L is there
       log|G|   = -log|K| + 2 sum_n log L_nn
2. The inverse G^-1 is never formed.  The fixed point in x needs only G^-1 p, and dL_beta/dx and dg
   are evaluated at its last iterate only.
3. Two factorisations for all iterations of that fixed point, at the first and at the last one.  In
   those between G u = p is solved by conjugate gradients, preconditioned by the G_0 of the first,
   whose factor is there (Golub and Van Loan 2013, Section 11.5).  G = G_0 + diag(w - w_0), and the
   two diagonals are close: five to ten iterations, of 6 N^2 operations each, leave an error below
   that of the rounding which a solution by factors has too.  They are not counted above.  Where N
   is below DIRECT, or MOST iterations do not suffice, G is factorised.
4. The trace term needs diag(G^-1), once per leapfrog step.  From S G^-1 S = I - B^-1, with S =
   diag(s), it is (1 - diag(B^-1)) / w, and diag(B^-1) holds the squared column norms of L^-1, one
   triangular inverse.  The quotient dg / w is taken in closed form: dg = beta y lambda slope, so
   it is y slope beta lambda / w, finite where lambda and w underflow.
5. The momentum without a factor of G^-1, and the mirror's to the last draw.  G^-1 = L_K M^-1 L_K',
   M = I + L_K' diag(w) L_K = R'R with R lower triangular, so the lower factor of G^-1 is L_K R^-1
   and (L^Ginv)' \ p = L_K' \ (R' p).  Two thirds of N^3, once per transition.  (L_K^-T z1 + s o z2
   with 2 N normals also is N(0, G), for free, but it would be another chain.)

What the loops leave
--------------------
Let A = d2H / dx dp.  The loops of lines 13 to 16 and 20 to 24 have the Jacobians -(eps/2) A and
(eps/2) A', and start at a distance of (eps/2) dH/dx and eps dH/dp from their solutions.  So f
iterations leave errors of (-1)^f (eps/2)^(f+1) A^f dH/dx in p and -2 (eps/2)^(f+1) A'^f dH/dp in x,
to leading order.  On the way back eps is in effect -eps, and the same errors come with the factor
(-1)^(f+1): for odd f they add, for even f they cancel.  The error of the return is of order
eps^(f+1) for odd f and eps^(f+2) for even f: 5 is of the order of 4.

For this model A = -diag(w o dg) G^-1 with w = G^-1 p.  Its eigenvalues are those of
-C' diag(w o dg) C with G^-1 = C C', so every further iteration multiplies the error by at most
c = (eps/2) max |eigenvalue|, asymptotically; for c > 1 the loops need not converge at all.
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import warn_if_none_accepted
from algorithms.paquet_rmhmc import Chain, Counts, check_rmhmc
from models.gp_classification import LOG_2_PI
from models.jit import check_interrupt, njit, public
from models.linalg import (
    factorise,
    invert_lower,
    log_det,
    posterior_factor,
    scale_and_add_identity,
    solve_lower,
    solve_lower_transposed,
    symmetric_times,
    triangular_solve,
    whitened_factor,
)
from models.special import curvature, log_Phi

DIRECT = 400  # cases; with fewer, conjugate gradients gain a tenth at most, on a Xeon
MOST = 40  # iterations of conjugate gradients
SQUARED_ERROR = 1e-30  # r'G_0^-1 r at their end, relative to u'G u of the solution


class Geometry(NamedTuple):
    """What riemann_metric returns in the mirror, without G^-1, at one x."""

    x: np.ndarray  # (N,)
    L_beta: float
    dL_dx: np.ndarray  # (N,)
    log_det_G: float
    dg: np.ndarray  # (N,)
    trace: np.ndarray  # (N,) 1/2 dg o diag(G^-1)
    s: np.ndarray  # (N,) square roots of w
    L: np.ndarray  # (N, N) lower factor of I + K o (s s'); above its diagonal, anything


@njit
def root_of_diagonal(x, model):
    """Return s, the square root of the diagonal that G adds to K^-1 at x."""
    s = np.empty(x.size)
    for n in range(x.size):
        _, lam, _ = curvature(model.y[n] * x[n])
        s[n] = np.sqrt(model.beta * lam + (1.0 - model.beta) * model.tau[n])
    return s


@njit
def metric_factor(x, model, L):
    """Write the lower factor of B = I + K o (s s') at x into L; return (s, ok)."""
    s = root_of_diagonal(x, model)
    scale_and_add_identity(model.K, s, L)
    return s, factorise(L)


@njit
def G_inv_times(Kp, p, s, L, model):
    """G^-1 p, given Kp = K p."""
    c = s * Kp
    triangular_solve(L, c, False)
    triangular_solve(L, c, True)
    return symmetric_times(model.K, p - s * c)


@njit
def moved_solution(u, p, before, after, s_0, L_0, model):
    """Return (v, ok): G v = p where G has the diagonal term `after`, given that of u, `before`.

    As (G_0 + diag(after - s_0^2)) v = p, preconditioned by G_0, whose factor is L_0.  The residual
    of u is (before - after) o u, and G_0 times a direction follows from what the preconditioner
    solved.
    """
    shift = after - s_0**2
    v, r = u, (before - after) * u
    z = G_inv_times(symmetric_times(model.K, r), r, s_0, L_0, model)
    G_0_d, d, size, enough = r, z, r @ z, SQUARED_ERROR * (p @ u)
    for _ in range(MOST):
        if not size > enough:  # or nan: the factorisation at the last iterate fails then
            return v, True
        G_d = G_0_d + shift * d
        step = size / (d @ G_d)
        v, r = v + step * d, r - step * G_d
        z = G_inv_times(symmetric_times(model.K, r), r, s_0, L_0, model)
        size, last = r @ z, size
        G_0_d, d = r + size / last * G_0_d, z + size / last * d
    return v, False


@njit
def geometry(x, s, L, ok, model, work):
    """Everything else at x, given s and the factor L from metric_factor; `work` is (N, N)."""
    y, beta, tau, N = model.y, model.beta, model.tau, x.size
    f = solve_lower(model.L_K, x)
    g = solve_lower_transposed(model.L_K, f)
    work[:] = L
    invert_lower(work)
    diag_B_inv = np.zeros(N)
    for i in range(N):
        for j in range(i + 1):
            diag_B_inv[j] += work[i, j] ** 2
    log_likelihood = 0.0
    site = 0.5 * (model.mu @ model.nu + model.log_det_Sigma - model.log_det_K)
    dL_dx, dg, trace = np.empty(N), np.empty(N), np.empty(N)
    for n in range(N):
        z = y[n] * x[n]
        h, lam, slope = curvature(z)
        log_likelihood += log_Phi(z)
        site += (0.5 * tau[n] * x[n] - model.nu[n]) * x[n]
        dL_dx[n] = beta * y[n] * h - g[n] - (1.0 - beta) * (tau[n] * x[n] - model.nu[n])
        dg[n] = beta * y[n] * lam * slope
        w = beta * lam + (1.0 - beta) * tau[n]
        share = beta * lam / w if w > 0.0 else 0.0
        trace[n] = 0.5 * y[n] * slope * share * (1.0 - diag_B_inv[n])
    log_prior = -0.5 * (N * LOG_2_PI + model.log_det_K + f @ f)
    L_beta = beta * log_likelihood + log_prior - (1.0 - beta) * site
    log_det_G = log_det(L) - model.log_det_K if ok else np.nan
    return Geometry(x, L_beta, dL_dx, log_det_G, dg, trace, s, L)


@njit
def hamiltonian_and_gradient(at, p, w):
    """H and dH/dx, given w = G^-1 p."""
    return p @ w / 2 + at.log_det_G / 2 - at.L_beta, at.trace - w * w * at.dg / 2 - at.dL_dx


@njit
def trajectory(at, p, model, l_max, eps, f_max, L, work, path):
    """Algorithm 1, lines 8 and 11 to 29, from at.x and p.

    Returns (at, p, H at the start, H, how often G was factorised).

    L, work : (N, N)          overwritten; L becomes the factor of the Geometry that is returned,
                              and may be that of the one given, which is then lost
    path    : (l_max, 2, N)   overwritten by the x after each step, and the p between its halves
    """
    w = G_inv_times(symmetric_times(model.K, p), p, at.s, at.L, model)
    H, dH_dx = hamiltonian_and_gradient(at, p, w)
    H_old, factorisations = H, 0
    for step in range(l_max):
        check_interrupt()
        p_, Kp = p, p
        for _f in range(f_max):
            p_ = p - eps / 2 * dH_dx
            Kp = symmetric_times(model.K, p_)
            w = G_inv_times(Kp, p_, at.s, at.L, model)
            H, dH_dx = hamiltonian_and_gradient(at, p_, w)
        p = p_
        dH_dp, dH_dp_ = w, w
        x, s, s_0, ok = at.x, at.s, at.s, True
        for f in range(f_max):
            x = at.x + eps / 2 * (dH_dp + dH_dp_)
            near, s, solved = s, root_of_diagonal(x, model), False
            if 0 < f < f_max - 1 and x.size >= DIRECT:
                dH_dp_, solved = moved_solution(dH_dp_, p, near**2, s**2, s_0, work, model)
            if not solved:  # the last factor is that of the next Geometry; before, L may be at.L
                factor = L if f == f_max - 1 else work
                scale_and_add_identity(model.K, s, factor)
                ok, factorisations = factorise(factor), factorisations + 1
                dH_dp_, s_0 = G_inv_times(Kp, p, s, factor, model), s
        at = geometry(x, s, L, ok, model, work)
        H, dH_dx = hamiltonian_and_gradient(at, p, dH_dp_)
        path[step, 0], path[step, 1] = x, p
        p = p - eps / 2 * dH_dx
        w = G_inv_times(symmetric_times(model.K, p), p, s, L, model)
        H, dH_dx = hamiltonian_and_gradient(at, p, w)
    return at, p, H_old, H, factorisations


@warn_if_none_accepted
@public(check_rmhmc)
@njit
def rmhmc(x0, model, l_max, eps, t_max, rng, f_max=5):
    """Run t_max transitions of RMHMC; arguments and result as algorithms.paquet_rmhmc.rmhmc."""
    N = x0.size
    samples, energies = np.empty((t_max, N)), np.empty(t_max)
    accepted, energy_error = np.zeros(t_max, np.bool_), np.empty(t_max)
    path = np.empty((l_max, 2, N))
    L, spare, work = np.empty((N, N)), np.empty((N, N)), np.empty((N, N))
    s, ok = metric_factor(x0, model, L)
    at, factorisations = geometry(x0, s, L, ok, model, work), 1
    for t in range(t_max):
        R, _ = whitened_factor(model.L_K, at.s**2)
        p = solve_lower_transposed(model.L_K, R.T @ rng.standard_normal(N))
        end, _, H_old, H, more = trajectory(at, p, model, l_max, eps, f_max, spare, work, path)
        factorisations += more
        energy_error[t] = H - H_old
        if rng.random() < np.exp(H_old - H) and np.isfinite(H):
            accepted[t] = True
            at, spare = end, at.L  # the next trajectory overwrites a factor that is not needed
        samples[t] = at.x
        energies[t] = -at.L_beta
    geometries = 1 + l_max * t_max
    counts = Counts(1 + f_max * l_max * t_max, geometries, factorisations + t_max,
                    factorisations + geometries + 2 * t_max)
    return Chain(samples, energies, accepted, energy_error, counts)


# One trajectory, and how fast its loops converge


def draw_momentum(x, model, rng):
    """Draw p ~ N(0, G(x)), as L_K^-T z1 + s o z2 of 2 N normals."""
    s, _ = metric_factor(x, model, np.empty_like(model.K))
    return (solve_lower_transposed(model.L_K, rng.standard_normal(x.size))
            + s * rng.standard_normal(x.size))


def travel(x, p, model, l_max, eps, f_max):
    """A trajectory: x after each step, p between its halves, both (l_max, N); the last p; two H."""
    N = x.size
    L, work, path = np.empty((N, N)), np.empty((N, N)), np.empty((l_max, 2, N))
    s, ok = metric_factor(x, model, L)
    at = geometry(x, s, L, ok, model, work)
    _, p, *energies, _ = trajectory(at, p, model, l_max, eps, f_max, L, work, path)
    return path[:, 0], path[:, 1], p, energies


def contraction(x, p, model, eps):
    """The factor c by which a fixed-point iteration at (x, p) multiplies a small error, at most."""
    if not (np.isfinite(x).all() and np.isfinite(p).all()):
        return np.nan
    factor = np.empty_like(model.K)
    s, ok = metric_factor(x, model, factor)
    at = geometry(x, s, factor, ok, model, np.empty_like(factor))
    w = G_inv_times(symmetric_times(model.K, p), p, s, factor, model)
    L, _ = posterior_factor(model.L_K, s**2)
    return eps / 2 * np.abs(np.linalg.eigvalsh(L.T @ ((w * at.dg)[:, None] * L))).max()
