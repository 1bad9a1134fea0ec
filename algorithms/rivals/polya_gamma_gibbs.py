"""Polya-Gamma Gibbs sampling of hierarchical logistic regression, interwoven.

In words    It gives each case of a logistic regression an auxiliary variable, given which the
            weights are normal, and draws the two in turn.  It is valid because the auxiliary
            variables, averaged over, leave the logistic likelihood exactly as it is, and every draw
            is from a full conditional density, or is a slice update of one.  Use it for logistic
            regression with normal priors, with groups or without, if nothing is to be tuned; for
            many weights the factorisations dominate.
Paper       N. G. Polson, J. G. Scott and J. Windle (2013), "Bayesian inference for logistic models
            using Polya-Gamma latent variables", Journal of the American Statistical Association
            108, 1339-1349; Y. Yu and X.-L. Meng (2011), Journal of Computational and Graphical
            Statistics 20, 531-570: interweaving.
Mirror      polya_gamma_step, line by line.

A logistic factor is a mixture of normal ones: with omega ~ PG(1, 0),

    1 / (1 + e^-m) = e^(m/2) E[exp(-omega m^2 / 2)] / 2,      omega given m is PG(1, m)

so that the weights are normal given omega, and omega is independent, case by case, given the
weights.  The log variance gamma = log v of the weights is moved twice: given the weights, where the
likelihood is silent (centred), and given the weights divided by their standard deviation and omega,
where it speaks (non-centred).  Both conditionals are a few numbers, whatever the size of the data.

PG(1, m) itself is drawn by a function that the caller gives, such as that of a library.

Departures
----------
Polson, Scott and Windle (2013), Section 3.1
    theirs  a normal prior with given mean and covariance
    ours    N(0, v I) for each group, v ~ Exp(lam), and gamma = log v by slice updates
    why     the model's; v given the weights is a generalised inverse Gaussian variable
    test    a label

Notation
--------
paper        here            shape        meaning
beta         theta, w        (n,)         weights, group after group
omega        omega           (N,)         Polya-Gamma variables, one a case
psi          margin          (N,)         y w'x: the sign of a case's class is in its covariates
kappa        1/2             ()           y - 1/2 of a case; the same for all, with that sign
z            z               (n,)         e^(-gamma/2) w
gamma        phi[0]          ()           log v
             tally           (4,)         of slice updates: see slice_sampling.py
"""

from typing import NamedTuple

import numpy as np

from algorithms.slice_sampling import EVALUATIONS, NOT_FINITE, slice_update
from algorithms.zhang_sshmc import check_blocks
from models import validate
from models.hierarchical_logistic import HierarchicalLogistic, margins, weighted_gram
from models.interface import U, U_prior, U_theta, precompute_phi, prepare
from models.jit import njit
from models.linalg import cholesky, solve_lower, solve_lower_transposed

WIDTH = 0.3  # of the slices of gamma


def polya_gamma_step(theta, phi, model, draw, w, max_widths, tally, rng):
    """One sweep, which leaves the posterior of the weights and of gamma invariant.

    Mirror of Polson, Scott and Windle 2013, Section 3.1; Yu and Meng 2011, Section 2.3.

    The numbers are ours.

    Parameters
    ----------
    theta      : (n,) float64    where the chain is; not modified
    phi        : (1,) float64    gamma; not modified
    model      : HierarchicalLogistic
    draw       : callable        draw(margin, rng) returns PG(1, margin), (N,)
    w          : float > 0       width of a slice of gamma
    max_widths : int >= 1        a slice's interval has at most so many widths
    tally      : (4,) int        is added to
    rng        : Generator       advanced by draw, n normals and two slice updates

    Returns (theta, phi): where the chain is next.
    """
    # 1   omega_c | beta ~ PG(1, x_c'beta), for each case c
    omega = draw(margins(theta, model, 0, model.starts.size - 1)[: model.X.shape[1]], rng)
    # ours: compiled code would read beyond the end of fewer
    omega = validate.array("what draw returns", omega, (model.X.shape[1],))
    # 2   beta | y, omega ~ N(m, V),  V = (X' Omega X + B^-1)^-1,  m = V (X' kappa + B^-1 b)
    theta = draw_weights(omega, phi[0], model, rng)
    # 3   draw gamma given beta
    given = GivenW(theta @ theta, theta.size, model.lam)
    here = slice_update(prepare(phi, given), 0, given, w, max_widths, tally, rng)
    # 4   z <- e^(-gamma/2) beta
    z = np.exp(-here.q[0] / 2.0) * theta
    # 5   draw gamma given z, omega and y
    given = GivenZ(*sums_over_cases(z, omega, model), model.lam)
    here = slice_update(prepare(here.q, given), 0, given, w, max_widths, tally, rng)
    # ours
    tally[EVALUATIONS] += 2
    # 6   beta <- e^(gamma/2) z
    return np.exp(here.q[0] / 2.0) * z, here.q


class Counts(NamedTuple):
    """What was done over a whole run."""

    polya_gamma: int  # variables drawn
    factors: int  # of a group's precision, p^3 / 3 operations, after its sum over the cases
    conditional: int  # energies of gamma, some ten operations each
    not_finite: int  # of those that were infinite or nan


class Chain(NamedTuple):
    """The record of n transitions."""

    theta: np.ndarray  # (n, kept)
    phi: np.ndarray  # (n, 1)
    energies: np.ndarray  # (n,) potential energies of the states
    accepted: np.ndarray  # (n,) bool, all True: nothing is ever rejected
    counts: Counts

    @property
    def divergences(self):
        """How many energies were not finite."""
        return self.counts.not_finite


class GivenW(NamedTuple):
    """The density of gamma given the weights."""

    squares: float  # w'w
    n: int
    lam: float


class GivenZ(NamedTuple):
    """The density of gamma given z = e^(-gamma/2) w, and omega."""

    linear: float  # sum of half of all margins of z
    bend: float  # sum of omega times their squares
    lam: float


@U.register(GivenW)
def U_given_w(q, given):
    """e^-gamma w'w / 2 + n gamma / 2 + lam e^gamma - gamma."""
    return (np.exp(-q[0]) * given.squares / 2.0 + given.n * q[0] / 2.0
            + given.lam * np.exp(q[0]) - q[0])


@U.register(GivenZ)
def U_given_z(q, given):
    """-e^(gamma/2) sum m / 2 + e^gamma sum omega m^2 / 2 + lam e^gamma - gamma."""
    return (-np.exp(q[0] / 2.0) * given.linear + np.exp(q[0]) * given.bend / 2.0
            + given.lam * np.exp(q[0]) - q[0])


@njit
def draw_weights(omega, gamma, model, rng):
    """Draw w given omega and gamma, group after group, with n normals.

    N(P^-1 k, P^-1) with P = sum_c omega_c x_c x_c' + e^-gamma I and k = sum_c y_c x_c / 2.
    """
    groups, p = model.b.shape
    w = np.empty(groups * p)
    for i in range(groups):
        start, end = model.starts[i], model.starts[i + 1]
        A = weighted_gram(model, i, omega[start:end])
        for k in range(p):
            A[k, k] += np.exp(-gamma)
        L, _ = cholesky(A)
        half = np.empty(p)
        for k in range(p):
            half[k] = model.X[k, start:end].sum() / 2.0
        w[i * p : (i + 1) * p] = solve_lower_transposed(
            L, solve_lower(L, half) + rng.standard_normal(p))
    return w


@njit
def sums_over_cases(theta, omega, model):
    """Return the sum of half of all margins, and that of omega times their squares."""
    margin = margins(theta, model, 0, model.starts.size - 1)[: omega.size]
    return margin.sum() / 2.0, (omega * margin * margin).sum()


def polya_gamma_gibbs(theta0, phi0, model, draw, n, rng, w=WIDTH, max_widths=10, keep=None):
    """Run n transitions from (theta0, phi0); return a Chain.

    Parameters
    ----------
    theta0, phi0 : (d,), (1,) float64     where the weights and phi start; not modified
    model        : HierarchicalLogistic
    draw         : callable               draw(m, rng) returns positive numbers, draws of PG(1, m_c)
                                          for each of the N entries of m
    n            : int >= 1               transitions
    rng          : Generator              advanced, per transition, as by polya_gamma_step
    w            : float > 0              width of a slice of gamma; default 0.3
    max_widths   : int >= 1               a slice's interval has at most so many; default 10
    keep         : (kept,) int or None    which entries of theta are recorded; default all

    Raises ValueError, naming the argument, for anything else.
    """
    model = validate.instance("model", model, HierarchicalLogistic, "by from_data")
    model = validate.model("model", model)
    theta, phi = check_blocks(theta0, phi0, model)
    n, rng = validate.count("n", n), validate.generator("rng", rng)
    w, max_widths = (validate.real("w", w, 0.0, open_low=True),
                     validate.count("max_widths", max_widths))
    keep = validate.indices("keep", keep, theta.size)
    if callable(draw) and not validate.takes(draw, "m", "rng"):
        raise ValueError(f"draw must be a function of (m, rng), not {draw!r:.80}: write lambda m,"
                         " rng: ... around it")
    found = draw(np.array([0.0, 3.0]), np.random.default_rng(0)) if callable(draw) else None
    if not (isinstance(found, np.ndarray) and found.shape == (2,) and (found > 0.0).all()
            and np.isfinite(found).all()):
        raise ValueError("draw must be a function of (m, rng) that returns as many positive, finite"
                         f" numbers as m has, not {draw!r}")
    chain = Chain(np.empty((n, keep.size)), np.empty((n, 1)), np.empty(n), np.ones(n, np.bool_), ())
    tally = np.zeros(4, np.int64)
    for t in range(n):
        theta, phi = polya_gamma_step(theta, phi, model, draw, w, max_widths, tally, rng)
        if not np.isfinite(theta).all():
            raise ValueError("draw must return positive, finite numbers, but in transition"
                             f" {t + 1} theta became {theta[~np.isfinite(theta)][0]} by them")
        chain.theta[t], chain.phi[t] = theta[keep], phi
        chain.energies[t] = U_theta(theta, precompute_phi(phi, model), model) + U_prior(phi, model)
    return chain._replace(counts=Counts(
        n * model.X.shape[1], n * (model.starts.size - 1), int(tally[EVALUATIONS]),
        int(tally[NOT_FINITE])))
