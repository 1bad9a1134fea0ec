"""Auxiliary mixture sampling of stochastic volatility, interwoven, and exact by a Metropolis test.

In words    It replaces the noise of the log of squared returns by a mixture of ten normals, given
            whose components the whole path of log volatilities is normal and is drawn at once.  It
            is valid because each draw is accepted or rejected by a Metropolis test, with the ratio
            of the exact density to that of the mixture.  Use it for stochastic volatility and other
            models that are linear and normal but for a noise of known shape.
Paper       S. Kim, N. Shephard and S. Chib (1998), "Stochastic volatility", Review of Economic
            Studies 65, 361-393; the table of Y. Omori, S. Chib, N. Shephard and J. Nakajima (2007),
            Journal of Econometrics 140, 425-449, with ten components instead of seven; G. Kastner
            and S. Fruehwirth-Schnatter (2014), Computational Statistics and Data Analysis 76,
            408-423: the interweaving, their Algorithm 1 with the centred moves first.
Mirror      auxiliary_mixture_step, line by line.

log y_t^2 = h_t + xi_t, where h = mu + x, mu = 2 log beta, and xi_t is the log of a chi^2 variable
of one degree of freedom.  A mixture of ten normals for its density makes x normal given which
component s_t each xi_t is of, with the tridiagonal precision Q / sigma^2 + diag(1 / v^2), so that
all of x is drawn at once in O(T).

With w the product of the ratios of the chi^2's density to the mixture's, the posterior is what the
mixture makes of it times w(h), which does not depend on s.  A draw that leaves the mixture's
posterior invariant, and is reversible, is therefore accepted with probability min(1, w(h*) / w(h)).
A first run on T = 2000 accepted 94 of 100 draws.  The ratio grows without bound where xi_t falls
below -20, which one observation in some 28000 does: the chain may wait at such an x.

Departures
----------
Kim, Shephard and Chib (1998), Section 3.1
    theirs  log(y_t^2 + c), with a small c
    ours    log y_t^2, and a series without zeros
    why     c would be a bias, however small, that no test of w takes away
    test    a label

Notation
--------
paper        here               shape    meaning
h_t          mu + x_t           (T,)     log variance of y_t
mu           2 phi[0]           ()       phi is (log beta, log sigma, atanh phi)
y*_t         log_squares + level  (T,)   log y_t^2
xi_t         xi                 ()       y*_t - h_t
s_t          s                  (T,)     component
p, m, v^2    P, M, V2           (10,)    of the mixture
w            log_w              ()       its log: of the exact density over the mixture's
h~_t         z                  (T,)     x_t / sigma
             S                           sums of squares of x
             tally              (4,)     of slice updates: see slice_sampling.py
"""

from typing import NamedTuple

import numpy as np

from algorithms.slice_sampling import EVALUATIONS, NOT_FINITE, slice_update
from algorithms.zhang_sshmc import check_blocks
from models import validate
from models.interface import U, U_prior, U_theta, precompute_phi, prepare
from models.jit import check_interrupt, njit, public
from models.stochastic_volatility import (
    Squares,
    StochasticVolatility,
    coefficients,
    log_of_one_plus_tanh,
    quadratic,
    squares,
    sum_of_exponentials,
)

P = np.array([0.00609, 0.04775, 0.13057, 0.20674, 0.22715,
              0.18842, 0.12047, 0.05591, 0.01575, 0.00115])
M = np.array([1.92677, 1.34744, 0.73504, 0.02266, -0.85173,
              -1.97278, -3.46788, -5.55246, -8.68384, -14.65])
V2 = np.array([0.11265, 0.17788, 0.26768, 0.40611, 0.62699,
               0.98583, 1.57469, 2.54498, 4.16591, 7.33342])
LOG_P = np.log(P) - 0.5 * np.log(2.0 * np.pi * V2)
WIDTHS = (0.1, 0.1, 0.3)  # of the slices of log beta, log sigma, atanh phi


@njit
def auxiliary_mixture_step(x, phi, model, w, max_widths, tally, rng):
    """One sweep, which leaves the posterior of x and the hyperparameters invariant.

    Mirror of Kim, Shephard and Chib 1998; Kastner and Fruehwirth-Schnatter 2014, Section 2.4.

    The numbers are ours.

    Parameters
    ----------
    x          : (T,) float64    where the chain is; not modified
    phi        : (3,) float64    log beta, log sigma, atanh phi; not modified
    model      : StochasticVolatility  of a series without zeros
    w          : (3,) float64 > 0      widths of the slices of phi
    max_widths : int >= 1        a slice's interval has at most so many widths
    tally      : (4,) int        of the slices of line 8, is added to
    rng        : Generator       advanced by T uniforms, T normals, a uniform, a slice update, a
                                 gamma variable, a normal, a uniform, and two slice updates

    Returns (x, phi, accepted, energies of line 4, how many of them or of line 3 are not finite).
    """
    # 1   draw each s_t from p(s_t = j | y*_t, h_t) ~ p_j N(y*_t - h_t | m_j, v_j^2)
    s, log_w = indicators(x, phi[0], model, rng)
    # 2   draw h* from its normal distribution given s and all else
    proposal = draw_x(s, phi, model, rng)
    # 3   draw u ~ Uniform(0, 1);  if u < w(h*) / w(h) then h <- h*
    #     theirs  every draw of h is taken; draws are reweighted by w at the end
    #     ours    a draw is taken with probability min(1, w(h*) / w(h))
    #     why     every draw then has the same weight, and none has to be kept
    #     test    test_a_draw_is_taken_by_the_ratio_of_the_exact_density_to_the_mixture
    error = log_w - log_weight(proposal, phi[0], model)
    accepted = rng.random() < np.exp(-error) and np.isfinite(error)
    if accepted:
        x = proposal
    # ours
    counted = np.zeros(4, np.int64)
    counted[NOT_FINITE] = not np.isfinite(error)
    # 4   centred: draw phi given h
    S = squares(x)
    here = prepare(phi[2:], GivenX(S, model))
    here = slice_update(here, 0, GivenX(S, model), w[2], max_widths, counted, rng)
    # 5   draw sigma^2 given h and phi
    #     lines   4 and 5
    #     theirs  phi by a Metropolis test, given sigma
    #     ours    phi by a slice update with sigma integrated out, then sigma^2 from its inverse
    #             gamma
    #     why     the model's priors allow it: given sums of squares an energy is some ten
    #             operations
    #     test    a label
    C = coefficients(np.array([0.0, 0.0, here.q[0]]))
    rate = (model.nu * model.tau2 + quadratic(S, C)[0]) / 2.0
    sigma = np.sqrt(rate / rng.standard_gamma((x.size + model.nu) / 2.0))
    # 6   draw mu given h, phi and sigma
    mu = 2.0 * phi[0]
    ones, weighted = sums_by_Q(x + mu, C)
    mu_ = weighted / ones + sigma / np.sqrt(ones) * rng.standard_normal()
    prior = model.beta_shape * (mu_ - mu) / 2.0
    prior -= model.beta_rate * (np.exp(mu_ / 2.0) - np.exp(mu / 2.0))
    if rng.random() < np.exp(prior):
        x, mu = x + mu - mu_, mu_
    # 7   non-centred: h~ <- (h - mu) / sigma
    z = x / sigma
    # 8   draw mu and sigma given h~ and y
    #     theirs  mu and sigma from a normal regression, given s
    #     ours    a slice update of each, with the density of y itself
    #     why     sigma^2 has an inverse chi^2 prior, not a gamma; and no s, so no error to test
    #             away
    #     test    a label
    given = GivenZ(z, z.sum(), model)
    there = prepare(np.array([mu / 2.0, np.log(sigma)]), given)
    tally[EVALUATIONS] += 1
    there = slice_update(there, 0, given, w[0], max_widths, tally, rng)
    there = slice_update(there, 1, given, w[1], max_widths, tally, rng)
    # 9   h <- mu + sigma h~
    phi = np.array([there.q[0], there.q[1], here.q[0]])
    return np.exp(phi[1]) * z, phi, accepted, 1 + counted[EVALUATIONS], counted[NOT_FINITE]


class Counts(NamedTuple):
    """What was done over a whole run."""

    mixture: int  # passes over the series, each of ten exponentials an observation
    draws: int  # of x, by a tridiagonal factor
    likelihood: int  # passes over the series, each of one exponential an observation
    conditional: int  # energies of atanh phi given x, which need no pass
    not_finite: int  # energies that were infinite or nan, and draws of such a ratio


class Chain(NamedTuple):
    """The record of n transitions."""

    theta: np.ndarray  # (n, kept)
    phi: np.ndarray  # (n, 3)
    energies: np.ndarray  # (n,) potential energies of the states
    accepted: np.ndarray  # (n,) bool, of the draw of x
    counts: Counts

    @property
    def divergences(self):
        """How many draws and energies were not finite."""
        return self.counts.not_finite


class GivenX(NamedTuple):
    """The density of atanh phi given x, sigma integrated out."""

    squares: Squares  # of x
    model: StochasticVolatility


class GivenZ(NamedTuple):
    """The density of (log beta, log sigma) given x / sigma and y."""

    z: np.ndarray  # (T,)
    total: float  # sum of z
    model: StochasticVolatility


@U.register(GivenX)
def U_given_x(q, given):
    """-log(1 - phi^2) / 2 + (T + nu) / 2 log(nu tau2 + x'Qx), and the prior."""
    C, model = coefficients(np.array([0.0, 0.0, q[0]])), given.model
    n = model.log_squares.size
    return (-C.log_product / 2.0
            + (n + model.nu) / 2.0 * np.log(model.nu * model.tau2 + quadratic(given.squares, C)[0])
            - model.ar_a * log_of_one_plus_tanh(q[0]) - model.ar_b * log_of_one_plus_tanh(-q[0]))


@U.register(GivenZ)
def U_given_z(q, given):
    """sum_t [y_t^2 exp(-sigma z_t) / beta^2 + sigma z_t] / 2 + T log beta, and both priors."""
    b, sigma, model = q[0], np.exp(q[1]), given.model
    total = sum_of_exponentials(sigma * given.z, 2.0 * b - model.level, model)
    return (total / 2.0 + sigma * given.total / 2.0 + given.z.size * b
            + U_prior(np.array([b, q[1], 0.0]), model))


# The mixture


@njit
def components(xi, share):
    """Write each component's density at xi into share, (10,), but for a factor; return its log."""
    top = -np.inf
    for j in range(P.size):
        share[j] = LOG_P[j] - (xi - M[j]) * (xi - M[j]) / (2.0 * V2[j])
        top = max(top, share[j])
    for j in range(P.size):
        share[j] = np.exp(share[j] - top)
    return top


@njit
def log_ratio(xi, log_mixture):
    """Log of the density of log chi^2_1 at xi over the mixture's."""
    return xi / 2.0 - np.exp(xi) / 2.0 - np.log(2.0 * np.pi) / 2.0 - log_mixture


@njit
def log_weight(x, b, model):
    """Return log w, the sum of the log ratios of all observations."""
    share, log_w = np.empty(P.size), 0.0
    for t in range(x.size):
        xi = model.log_squares[t] - (2.0 * b - model.level) - x[t]
        top = components(xi, share)
        log_w += log_ratio(xi, top + np.log(share.sum()))
    return log_w


@njit
def indicators(x, b, model, rng):
    """Draw s, (T,) int, with a uniform each; return it and log w, which takes no more."""
    s, share, log_w = np.empty(x.size, np.int64), np.empty(P.size), 0.0
    for t in range(x.size):
        xi = model.log_squares[t] - (2.0 * b - model.level) - x[t]
        top = components(xi, share)
        total = share.sum()
        log_w += log_ratio(xi, top + np.log(total))
        left, j = rng.random() * total - share[0], 0
        while left >= 0.0 and j < P.size - 1:
            j += 1
            left -= share[j]
        s[t] = j
    return s, log_w


@njit
def draw_x(s, phi, model, rng):
    """Draw x given s and phi, with T normals: N(A^-1 c, A^-1), A tridiagonal; elimination of A.

    A = Q / sigma^2 + diag(1 / v^2) = L L', and x = L'^-1 (L^-1 c + z).
    """
    C, n = coefficients(phi), s.size
    beside, x, root = -C.precision * C.ar, np.empty(n), np.empty(n)
    z = rng.standard_normal(n)
    before = 0.0
    for t in range(n):
        here = C.precision * (C.product if n == 1 else 1.0 if t in (0, n - 1) else 1.0 + C.ar**2)
        residual = model.log_squares[t] - (2.0 * phi[0] - model.level) - M[s[t]]
        low = beside / root[t - 1] if t > 0 else 0.0
        root[t] = np.sqrt(here + 1.0 / V2[s[t]] - low * low)
        before = x[t] = (residual / V2[s[t]] - low * before) / root[t]
    after = 0.0
    for t in range(n - 1, -1, -1):
        after = x[t] = (x[t] + z[t] - (beside / root[t] * after if t < n - 1 else 0.0)) / root[t]
    return x


@njit
def sums_by_Q(h, C):
    """Return 1'Q1 and 1'Qh: rows of Q add up to (1 - phi)^2, the first and last to 1 - phi."""
    n, less = h.size, C.gap if C.side > 0.0 else 1.0 + C.size
    if n == 1:
        return C.product, C.product * h[0]
    return (2.0 * less + (n - 2) * less * less,
            less * (h[0] + h[-1]) + less * less * h[1:-1].sum())


def check_auxiliary_mixture(theta0, phi0, model, n, rng, w=WIDTHS, max_widths=10, keep=None):
    """Check the arguments of auxiliary_mixture; `keep` becomes an array of indices."""
    model = validate.instance("model", model, StochasticVolatility, "by from_data")
    model = validate.model("model", model)
    if not np.isfinite(model.log_squares).all():
        raise ValueError("model must be of a series without zeros, whose logarithms are finite")
    theta0, phi0 = check_blocks(theta0, phi0, model)
    w = validate.array("w", list(w) if isinstance(w, tuple) else w, (3,))
    if not (w > 0.0).all():
        raise ValueError(f"w must be positive, but the smallest is {w.min():g}")
    return (theta0, phi0, model, validate.count("n", n), validate.generator("rng", rng), w,
            validate.count("max_widths", max_widths),
            validate.indices("keep", keep, theta0.size))


@public(check_auxiliary_mixture)
@njit
def auxiliary_mixture(theta0, phi0, model, n, rng, w, max_widths, keep):
    """Run n transitions from (theta0, phi0); return a Chain.

    Parameters
    ----------
    theta0, phi0 : (T,), (3,) float64     where the chain starts; not modified
    model        : StochasticVolatility   of a series without zeros
    n            : int >= 1               transitions
    rng          : Generator              advanced, per transition, as by auxiliary_mixture_step
    w            : (3,) float64 > 0       widths of the slices of log beta, log sigma and atanh phi;
                                          default (0.1, 0.1, 0.3)
    max_widths   : int >= 1               a slice's interval has at most so many; default 10
    keep         : (kept,) int or None    which entries of theta are recorded; default all

    Raises ValueError, naming the argument, for anything else.
    """
    theta, phi = np.empty((n, keep.size)), np.empty((n, 3))
    energies, accepted = np.empty(n), np.empty(n, np.bool_)
    tally, x, here, conditional, not_finite = np.zeros(4, np.int64), theta0, phi0, 0, 0
    for t in range(n):
        check_interrupt()
        x, here, accepted[t], evaluations, bad = auxiliary_mixture_step(
            x, here, model, w, max_widths, tally, rng)
        conditional, not_finite = conditional + evaluations, not_finite + bad
        theta[t], phi[t] = x[keep], here
        energies[t] = U_theta(x, precompute_phi(here, model), model) + U_prior(here, model)
    counts = Counts(2 * n, n, tally[EVALUATIONS], conditional, not_finite + tally[NOT_FINITE])
    return Chain(theta, phi, energies, accepted, counts)
