"""The log-Gaussian Cox process on a square grid: counts in d x d cells, and a Gaussian field.

    y_i ~ Poisson(m exp(x_i)),   m = 1 / d^2,   x ~ N(mu 1, Sigma(sigma^2, beta))
    sigma^2, beta ~ Gamma(shape 2, scale 1/2) each

Source      Zhang and Sutton (2014), Section 5.4, who follow M. Girolami and B. Calderhead (2011),
            J. R. Statist. Soc. B 73, 123-214, Section 9 and Appendix B (the priors).

theta is x, the cells row by row, and phi = (log sigma^2, log beta).  M_x(phi) = Sigma^-1: its log
determinant cancels that of the density in U_2, so that H_2 needs no trace.  M_phi is constant, by
default I.  With a = Sigma^-1 (x - mu) and dS = dSigma / d log beta,

    dU_2 / d log sigma^2 = r'Sigma r / 2 - a'Sigma a / 2 - 2 + 2 sigma^2
    dU_2 / d log beta    = r'dS r / 2 - a'dS a / 2 - 2 + 2 beta

and r'dS r - a'dS a = (r - a)'dS (r + a) is one product.  Sigma is never formed: its blocks in
coordinates made by the symmetries of the square (models/square_grid.py) are, and their factors L.
What is named u or w is in those coordinates.

Departures
----------
Zhang and Sutton (2014), Section 5.4
    theirs  G_x = Sigma^-1, and G is the precision of the momentum (Section 3)
    ours    Sigma^-1 is its covariance, the mass
    why     Sections 4.4 and 5.3 have G, the precision, as the inverse of a Hessian of -log p
    test    test_section_5_4_the_mass_of_x_is_the_inverse_covariance
Zhang and Sutton (2014), Section 5.4
    theirs  log p(y, x | mu, sigma, beta) without - log |Sigma| / 2
    ours    with it
    why     it depends on sigma and beta, which are sampled
    test    test_section_5_4_the_log_determinant_belongs_to_the_density
Zhang and Sutton (2014), Section 5.4
    theirs  covariance sigma^2 exp(-delta / (beta d)), delta the distance of (i, j) and (i', j')
    ours    delta is between points of linspace(0, 1, d); distance="pixel" is as printed
    why     so do Girolami and Calderhead's program and data (64 x 64), in which neighbours
            correlate by .99; printed, they would by .60
    test    test_section_5_4_as_printed_neighbours_differ_too_much
Zhang and Sutton (2014), Section 5.4
    theirs  the hyperparameter is sigma, with true value 1.9
    ours    it is sigma^2, with true value 1.91
    why     Girolami and Calderhead's value; their coordinate is log sigma^2
    test    a label
"""

from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.fields import Array, Factor
from models.jit import njit
from models.linalg import whitened_factor
from models.square_grid import (
    blocks_times,
    cube_blocks,
    empty_blocks,
    factor_solve,
    factor_times,
    factorise_blocks,
    fill_blocks,
    from_blocks,
    log_det_blocks,
    product_blocks,
    to_blocks,
    trace_blocks,
    whiten_blocks,
)

SHAPE, RATE = 2.0, 2.0  # of the gamma priors
REMEMBERED = 8  # values of phi: a transition of RMHMC ends within so many of its start


class Memory(NamedTuple):
    """Traces at the last few phi, most of which RMHMC asks for three times; see traces."""

    known: np.ndarray  # (REMEMBERED, 7) phi, tr B, tr B^2, tr C, tr B C, tr B^3; nan if unknown
    place: np.ndarray  # (1,) int64, the row that is overwritten next
    phi: np.ndarray  # (2,) that of B
    B: tuple  # blocks of L^-1 dS L^-T
    C: tuple  # of the same with the second derivative


class LogGaussianCox(NamedTuple):
    """The process and the counts; made by from_counts."""

    counts: Array("n")  # n = d^2
    mu: float  # mean of the field
    area: float  # m
    distance: Array("d", "d")  # at lags: Sigma is sigma^2 exp(-distance / beta)
    L_phi: Factor(2, 2)  # root of the mass of phi
    memory: Memory  # overwritten; what is computed does not depend on it

    @staticmethod
    def from_counts(counts, mu, distance="unit", mass_phi=None):
        """Make the model of the counts in the cells of a square grid.

        counts   : (d, d)             whole numbers >= 0
        mu       : float              mean of the field x, known
        distance : "unit" or "pixel"  delta is the distance of points of linspace(0, 1, d), or the
                                      number of cells; Sigma is sigma^2 exp(-delta / (beta d))
        mass_phi : float > 0, (2, 2) or None   mass of (log sigma^2, log beta); None: 1

        Raises ValueError for anything else.
        """
        counts = validate.array("counts", counts, (-1, -1))
        d = counts.shape[0]
        if counts.shape != (d, d):
            raise ValueError(f"counts must be square, not of shape {counts.shape}: take a square"
                             " part of the grid, or cells of another size")
        bad = counts[(counts < 0) | (counts != np.floor(counts))]
        if bad.size:
            raise ValueError(f"counts must be whole numbers >= 0, but hold {bad[:5].tolist()}")
        if not (isinstance(distance, str) and distance in ("unit", "pixel")):
            raise ValueError(f"distance must be 'unit' or 'pixel', not {validate.shown(distance)}")
        cell = 1.0 if distance == "pixel" else 1.0 / max(d - 1, 1)
        lags = np.arange(d)
        return LogGaussianCox(counts.ravel(), validate.real("mu", mu), 1.0 / d**2,
                              np.hypot.outer(lags, lags) * cell / d,
                              validate.mass("mass_phi", 1.0 if mass_phi is None else mass_phi, 2),
                              Memory(np.full((REMEMBERED, 7), np.nan), np.zeros(1, np.int64),
                                     np.full(2, np.nan), empty_blocks(d), empty_blocks(d)))


@validate.check_values.register
def check_values(model: LogGaussianCox, name):
    """The counts are those of the cells of the grid, which have an area."""
    validate.real(f"{name}.area", model.area, 0.0, open_low=True)
    d = model.distance.shape[0]
    if model.counts.size != d * d:
        raise ValueError(f"{name}.counts must have shape ({d * d},), as the grid of {name}.distance"
                         f" has {d} x {d} cells, not {model.counts.shape}")
    if ((model.counts < 0) | (model.counts != np.floor(model.counts))).any():
        raise ValueError(f"{name}.counts must be whole numbers >= 0")
    wanted = [block.shape for block in empty_blocks(d)]  # compiled code writes into them
    if any([block.shape for block in part] != wanted for part in (model.memory.B, model.memory.C)):
        raise ValueError(f"{name}.memory must be that of a {d} x {d} grid: make the model of"
                         " another grid by LogGaussianCox.from_counts")
    forget(model)


@validate.forget.register
def forget(model: LogGaussianCox):
    """A copy of another `distance`, by _replace, has the memory of the first one."""
    for known in (model.memory.known, model.memory.phi):
        known[:] = np.nan


class CoxPhi(NamedTuple):
    """What depends on sigma^2 and beta alone, computed once."""

    phi: np.ndarray  # (2,)
    L: tuple  # factors of the blocks of Sigma; nan where there are none
    dS: tuple  # blocks of dSigma / d log beta


class CoxTheta(NamedTuple):
    """What depends on the field alone, computed once."""

    theta: np.ndarray  # (n,)
    u: np.ndarray  # (n,) x - mu


class CoxFisher(NamedTuple):
    """Sigma^-1 + c I = L'^-1 (R'R) L^-1: a metric for x that does not depend on x."""

    L: tuple  # of CoxPhi
    R: tuple  # lower triangular blocks with R'R = I + c L'L


@njit
def covariance(phi, model, derivative, A):
    """Overwrite A by the blocks of Sigma, or of its first or second derivative along log beta.

    With t = distance / beta they are sigma^2 e^-t times 1, t and t (t - 1).
    """
    d = model.distance.shape[0]
    c, variance, beta = np.empty((d, d)), np.exp(phi[0]), np.exp(phi[1])
    for p in range(d):
        for q in range(p + 1):
            t = model.distance[p, q] / beta
            factor = 1.0 if derivative == 0 else t if derivative == 1 else t * (t - 1.0)
            c[p, q] = c[q, p] = variance * np.exp(-t) * factor
    fill_blocks(c, A)


@interface.U.register(LogGaussianCox)
def U(q, model):
    """U_theta + U_prior."""
    Phi = precompute_phi(q[-2:], model)
    return U_theta(q[:-2], Phi, model) + U_prior(Phi.phi, model)


@interface.grad_U.register(LogGaussianCox)
def grad_U(q, model):
    """m e^x - y + a, and then the gradient with respect to phi; a trace, and so n^3."""
    Phi, Theta = precompute_phi(q[-2:], model), precompute_theta(q[:-2], model)
    return np.concatenate((grad_U_theta(Theta.theta, Phi, model), grad_U_phi(Phi, Theta, model)))


@interface.sizes.register(LogGaussianCox)
def sizes(model):
    """d^2, and 2."""
    return model.counts.size, 2


@interface.precompute_phi.register(LogGaussianCox)
def precompute_phi(phi, model):
    """Factorise the blocks of Sigma."""
    return overwrite_phi(empty_phi(model), phi, model)


@njit
def empty_phi(model):
    """Return memory for a CoxPhi."""
    d = model.distance.shape[0]
    return CoxPhi(np.empty(2), empty_blocks(d), empty_blocks(d))


@njit
def overwrite_phi(Phi, phi, model):
    """Return Phi, overwritten by what depends on phi."""
    Phi.phi[:] = phi
    covariance(phi, model, 0, Phi.L)
    factorise_blocks(Phi.L)
    covariance(phi, model, 1, Phi.dS)
    return Phi


@interface.precompute_theta.register(LogGaussianCox)
def precompute_theta(theta, model):
    """x - mu, in coordinates."""
    return CoxTheta(theta, to_blocks(theta - model.mu, model.distance.shape[0]))


@njit
def solve(u, Phi):
    """Return Sigma^-1 u in coordinates."""
    a = u.copy()
    factor_solve(Phi.L, a, False)
    factor_solve(Phi.L, a, True)
    return a


@njit
def log_normal(u, Phi):
    """Return (x - mu)'Sigma^-1 (x - mu) / 2 + log |Sigma| / 2."""
    w = u.copy()
    factor_solve(Phi.L, w, False)
    return w @ w / 2 + log_det_blocks(Phi.L) / 2


@interface.U_theta.register(LogGaussianCox)
def U_theta(theta, Phi, model):
    """sum_i (m e^x_i - y_i x_i), and the field's."""
    return (model.area * np.exp(theta).sum() - model.counts @ theta
            + log_normal(precompute_theta(theta, model).u, Phi))


@interface.grad_U_theta.register(LogGaussianCox)
def grad_U_theta(theta, Phi, model):
    """m e^x - y + a."""
    a = from_blocks(solve(precompute_theta(theta, model).u, Phi), model.distance.shape[0])
    return model.area * np.exp(theta) - model.counts + a


@interface.U_prior.register(LogGaussianCox)
def U_prior(phi, model):
    """Minus the log of the gamma densities and of the Jacobian e^phi."""
    return RATE * np.exp(phi).sum() - SHAPE * phi.sum()


@njit
def grad_U_prior(phi):
    """2 e^phi - 2."""
    return RATE * np.exp(phi) - SHAPE


@interface.U_phi.register(LogGaussianCox)
def U_phi(Phi, Theta, model):
    """The field's, and the prior's."""
    return log_normal(Theta.u, Phi) + U_prior(Phi.phi, model)


@njit
def traces(Phi, model, second):
    """Return phi, tr B, tr B^2, tr C, tr B C and tr B^3; the last three if asked for.  (7,).

    B = L^-1 dS L^-T and C, the same of the second derivative along log beta, have the traces of
    Sigma^-1 dS and so on.  Where they are known they are looked up: each takes n^3 / 43.
    """
    memory, phi, row = model.memory, Phi.phi, -1
    for k in range(REMEMBERED):
        if memory.known[k, 0] == phi[0] and memory.known[k, 1] == phi[1]:
            row = k
    if row >= 0 and not (second and np.isnan(memory.known[row, 6])):
        return memory.known[row]
    if row < 0:
        row = memory.place[0]
        memory.place[0] = (row + 1) % REMEMBERED
    found = memory.known[row]
    if not (memory.phi[0] == phi[0] and memory.phi[1] == phi[1]):
        covariance(phi, model, 1, memory.B)
        whiten_blocks(Phi.L, memory.B)
        memory.phi[:] = phi
    found[:2], found[2], found[3] = phi, trace_blocks(memory.B), product_blocks(memory.B, memory.B)
    found[4:] = np.nan
    if second:
        covariance(phi, model, 2, memory.C)
        whiten_blocks(Phi.L, memory.C)
        found[4], found[5] = trace_blocks(memory.C), product_blocks(memory.B, memory.C)
        found[6] = cube_blocks(memory.B)
    return found


@interface.grad_U_phi.register(LogGaussianCox)
def grad_U_phi(Phi, Theta, model):
    """tr(Sigma^-1 dS) / 2 - a'dS a / 2, and the prior's."""
    a = solve(Theta.u, Phi)
    g = grad_U_prior(Phi.phi)
    g[0] += Theta.u.size / 2 - a @ Theta.u / 2
    g[1] += traces(Phi, model, False)[2] / 2 - a @ blocks_times(Phi.dS, a) / 2
    return g


@njit
def grad_U2_of(Phi, u, a, w):
    """Gradient of U_2 where a = Sigma^-1 u and the momentum w are known, all in coordinates."""
    g = grad_U_prior(Phi.phi)
    v = w.copy()
    factor_times(Phi.L, v, True)
    g[0] += v @ v / 2 - a @ u / 2
    g[1] += (w - a) @ blocks_times(Phi.dS, w + a) / 2
    return g


@interface.grad_U2.register(LogGaussianCox)
def grad_U2(Phi, Theta, r_theta, model):
    """r'dS r / 2 - a'dS a / 2, and the prior's: the trace and the log determinant's cancel."""
    return grad_U2_of(Phi, Theta.u, solve(Theta.u, Phi),
                      to_blocks(r_theta, model.distance.shape[0]))


@interface.momentum_theta.register(LogGaussianCox)
def momentum_theta(z, Phi, model):
    """L'^-1 z; z is in coordinates."""
    w = z.copy()
    factor_solve(Phi.L, w, True)
    return from_blocks(w, model.distance.shape[0])


@interface.velocity_theta.register(LogGaussianCox)
def velocity_theta(r_theta, Phi, model):
    """Sigma r."""
    w = to_blocks(r_theta, model.distance.shape[0])
    factor_times(Phi.L, w, True)
    factor_times(Phi.L, w, False)
    return from_blocks(w, model.distance.shape[0])


@interface.log_det_theta.register(LogGaussianCox)
def log_det_theta(Phi, model):
    """- log |Sigma|."""
    return -log_det_blocks(Phi.L)


# For RMHMC within Gibbs


@interface.fisher_theta.register(LogGaussianCox)
def fisher_theta(Phi, model):
    """Sigma^-1 + m exp(mu + sigma^2) I, as in Girolami and Calderhead's program.

    The expectation of e^x_i is exp(mu + sigma^2 / 2).
    """
    c = model.area * np.exp(model.mu + np.exp(Phi.phi[0]))
    L = Phi.L
    R = (fisher_factor(L[0], c), fisher_factor(L[1], c), fisher_factor(L[2], c),
         fisher_factor(L[3], c), fisher_factor(L[4], c))
    return CoxFisher(L, R)


@njit
def fisher_factor(L, c):
    """Return R, lower triangular with R'R = I + c L'L; nan where there is none."""
    if L.shape[0] == 0:
        return L
    R, ok = whitened_factor(L, np.full(L.shape[0], c))
    if not ok:
        R[:] = np.nan
    return R


@interface.fisher_momentum.register(LogGaussianCox)
def fisher_momentum(z, F, model):
    """L'^-1 R'z; z is in coordinates."""
    w = z.copy()
    factor_times(F.R, w, True)
    factor_solve(F.L, w, True)
    return from_blocks(w, model.distance.shape[0])


@interface.fisher_velocity.register(LogGaussianCox)
def fisher_velocity(r_theta, F, model):
    """L R^-1 R'^-1 L'r."""
    w = to_blocks(r_theta, model.distance.shape[0])
    factor_times(F.L, w, True)
    factor_solve(F.R, w, True)
    factor_solve(F.R, w, False)
    factor_times(F.L, w, False)
    return from_blocks(w, model.distance.shape[0])


@interface.metric_phi.register(LogGaussianCox)
def metric_phi(Phi, Theta, model):
    """tr(Sigma^-1 dS_i Sigma^-1 dS_j) / 2 - d^2 log p(phi) / dphi_i dphi_j."""
    found, G = traces(Phi, model, False), np.empty((2, 2))
    G[0, 0] = model.counts.size / 2 + RATE * np.exp(Phi.phi[0])
    G[0, 1] = G[1, 0] = found[2] / 2
    G[1, 1] = found[3] / 2 + RATE * np.exp(Phi.phi[1])
    return G


@interface.metric_gradient_phi.register(LogGaussianCox)
def metric_gradient_phi(Phi, Theta, model):
    """(tr C - tr B^2) / 2 and tr(B C) - tr B^3, and the prior's."""
    found, dG = traces(Phi, model, True), np.zeros((2, 2, 2))
    dG[0, 0, 0] = RATE * np.exp(Phi.phi[0])
    dG[1, 0, 1] = dG[1, 1, 0] = (found[4] - found[3]) / 2
    dG[1, 1, 1] = found[5] - found[6] + RATE * np.exp(Phi.phi[1])
    return dG
