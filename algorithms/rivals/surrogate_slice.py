"""Slice sampling of covariance hyperparameters given surrogate data, for the Cox process.

In words    It moves the hyperparameters of a Gaussian process and its latent values together: noisy
            copies of the latent values are held still, and the latent values follow the
            hyperparameters given these copies.  It is valid because the copies are drawn as
            auxiliary variables from their own distribution, and slice sampling given them leaves
            the joint density invariant.  Use it where hyperparameters creep, because latent values
            that stand still leave them hardly any room.
Paper       I. Murray and R. P. Adams (2010), "Slice sampling covariance hyperparameters of latent
            Gaussian models", Advances in Neural Information Processing Systems 23, 1732-1740.
Mirror      surrogate_update, line by line.

Given surrogate data g, the latent values with normal noise added, x is normal; in coordinates eta
that are N(0, I) given g the hyperparameters move freely, and x moves with them as the data let it.
Without noise x would stand still; with infinite noise it would move as without data.
The noise of a count is the inverse of its information on x, 1 / (m e^x).

The moves of x itself are those of elliptical slice sampling, algorithms/rivals/elliptical_slice.py.

Departures
----------
Murray and Adams (2010), Section 3.1
    theirs  S_theta is diagonal, of each datum's own noise
    ours    S = s I, the same for all cells and whatever the hyperparameters are
    why     Sigma + S then keeps the blocks of models/square_grid.py: a 43rd of the operations
    test    a label

Notation
--------
paper            here            shape    meaning
theta            phi             (2,)     hyperparameters, one of which moves: log sigma^2, log beta
f                u               (n,)     x - mu in the coordinates of the blocks, which are
                                          orthonormal
g                g               (n,)     surrogate data, in the same coordinates
S_theta          noise           ()       their variance s, or S = s I
R_theta          At.L, At.R               (Sigma^-1 + S^-1)^-1 = L R^-1 (L R^-1)', Sigma = L L' and
                                          R'R = I + L'L / s
m_theta,g        m               (n,)     R_theta S^-1 g, mean of f given g
eta              eta             (n,)     R L^-1 (f - m)
sigma            w               ()       width of the bracket
log y            level           ()       height of the slice
                 tally           (2,)     what is counted: EVALUATIONS, NOT_FINITE
"""

from typing import NamedTuple

import numpy as np

from algorithms.rivals.elliptical_slice import (
    EVALUATIONS,
    NOT_FINITE,
    centre,
    elliptical_update,
    log_L,
    normal_draw,
)
from algorithms.zhang_sshmc import check_blocks
from models import validate
from models.interface import U_prior, U_theta, precompute_phi
from models.jit import check_interrupt, njit, public
from models.log_gaussian_cox import LogGaussianCox, covariance, fisher_factor
from models.square_grid import (
    empty_blocks,
    factor_solve,
    factor_times,
    factorise_blocks,
    from_blocks,
    log_det_blocks,
    to_blocks,
)


@njit
def surrogate_update(x, here, k, w, noise, model, tally, rng):
    """Update one hyperparameter and x, which leaves their posterior invariant.

    Mirror of Murray and Adams 2010, Algorithm 4.

    In the paper lines 6 to 11 are 6 to 14, of which the last goes back to line 6.

    Parameters
    ----------
    x     : (n,) float64     where the chain is; not modified
    here  : At               at its hyperparameters
    k     : int              which of these moves
    w     : float > 0        width of the bracket
    noise : float > 0        variance of the surrogate data about x
    model : LogGaussianCox
    tally : (2,) int         is added to
    rng   : Generator        advanced by n normals, two uniforms, and one uniform a proposal

    Returns (x, At): the next state, and what is to be known of its hyperparameters.
    """
    d = model.distance.shape[0]
    u = to_blocks(x - model.mu, d)
    # 1   draw surrogate data: g ~ N(f, S_theta)
    g = u + np.sqrt(noise) * rng.standard_normal(u.size)
    # 2   compute the implied latent variates: f = L_R_theta eta + m_theta,g
    m = mean_given(g, noise, here)
    eta = whiten(u, m, here)
    # 3   centre a bracket at random: v ~ Uniform(0, sigma);  theta_min <- theta - v;
    #         theta_max <- theta_min + sigma
    theta = here.phi[k]
    theta_min = theta - w * rng.random()
    theta_max = theta_min + w
    # 4   u ~ Uniform(0, 1)
    log_u = np.log(rng.random())
    # 5   the threshold: y <- u L(f) N(g; 0, Sigma_theta + S_theta) p(theta)
    level = log_u + log_product(x, g, m, noise, here, model, tally)
    # 6   repeat
    while True:
        # 7   draw a proposal: theta' ~ Uniform(theta_min, theta_max)
        #     theirs  the bracket shrinks until the product is above y, which is so at the start
        #     ours    a proposal that is the start, to the last bit, is taken whatever the product
        #             is there
        #     why     with u rounded to 1 it is not above y, and there is no end
        #     test    test_shrinkage_to_the_start_ends
        theta_ = theta_min + (theta_max - theta_min) * rng.random()
        if theta_ == theta:
            return x, here
        # 8   compute the function: f' <- L_R_theta' eta + m_theta',g
        phi = here.phi.copy()
        phi[k] = theta_
        there = factorise_at(phi, noise, model)
        m = mean_given(g, noise, there)
        x_ = model.mu + from_blocks(unwhiten(eta, m, there), d)
        # 9   if L(f') N(g; 0, Sigma_theta' + S_theta') p(theta') > y then return f', theta'
        #     lines   1, 2, 5, 8 and 9
        #     theirs  the mean of f is 0
        #     ours    it is mu: f and g are x - mu and its surrogate
        #     why     the model's
        #     test    a label
        #     theirs  silent about a product that is infinite or not a number
        #     ours    such a proposal is outside of the slice, and counted in `counts.not_finite`
        #     why     a covariance that cannot be factorised has no density; it would end, or be
        #             taken
        #     test    test_a_proposal_of_no_finite_density_is_outside
        value = log_product(x_, g, m, noise, there, model, tally)
        if np.isfinite(value) and value > level:
            return x_, there
        # 10  else if theta' < theta then shrink the bracket's minimum: theta_min <- theta'
        if theta_ < theta:
            theta_min = theta_
        # 11  else shrink its maximum: theta_max <- theta'
        else:
            theta_max = theta_


class Counts(NamedTuple):
    """What was done over a whole run."""

    factor: int  # of the blocks of Sigma and of R_theta, for one phi
    likelihood: int  # evaluations of all counts' probability, elliptical updates' included
    ellipses: int  # draws of an ellipse, a product by L
    not_finite: int  # of the evaluations, those that were infinite or nan


class Chain(NamedTuple):
    """The record of n transitions."""

    theta: np.ndarray  # (n, kept)
    phi: np.ndarray  # (n, 2)
    energies: np.ndarray  # (n,) potential energies of the states
    accepted: np.ndarray  # (n,) bool, all True: nothing is ever rejected
    counts: Counts

    @property
    def divergences(self):
        """How many evaluations were not finite."""
        return self.counts.not_finite


class At(NamedTuple):
    """The normal distribution of x given surrogate data, at one phi."""

    phi: np.ndarray  # (2,)
    L: tuple  # factors of the blocks of Sigma; nan where there are none
    R: tuple  # lower triangular blocks with R'R = I + L'L / s; nan where there are none


class Field(NamedTuple):
    """The field given the hyperparameters, for elliptical slice sampling."""

    model: LogGaussianCox
    L: tuple  # factors of the blocks of Sigma


@njit
def log_likelihood(x, model):
    """Log probability of the counts, up to a constant."""
    return model.counts @ x - model.area * np.exp(x).sum()


@centre.register(Field)
def field_centre(field):
    """Mu in all cells."""
    return np.full(field.model.counts.size, field.model.mu)


@normal_draw.register(Field)
def field_draw(field, rng):
    """L z, with n normals."""
    u = rng.standard_normal(field.model.counts.size)
    factor_times(field.L, u, False)
    return from_blocks(u, field.model.distance.shape[0])


@log_L.register(Field)
def field_log_L(x, field):
    """Log probability of the counts."""
    return log_likelihood(x, field.model)


@njit
def factorise_at(phi, noise, model):
    """Factorise the blocks of Sigma and of R_theta."""
    L = empty_blocks(model.distance.shape[0])
    covariance(phi, model, 0, L)
    factorise_blocks(L)
    c = 1.0 / noise
    return At(phi, L, (fisher_factor(L[0], c), fisher_factor(L[1], c), fisher_factor(L[2], c),
                       fisher_factor(L[3], c), fisher_factor(L[4], c)))


@njit
def mean_given(g, noise, At):
    """R_theta g / s."""
    m = g / noise
    factor_times(At.L, m, True)
    factor_solve(At.R, m, True)
    factor_solve(At.R, m, False)
    factor_times(At.L, m, False)
    return m


@njit
def log_marginal(g, m, noise, At):
    """Log density of g ~ N(0, Sigma + S), up to a constant.

    (Sigma + S)^-1 g = (g - m) / s, and |Sigma + S| = s^n |R'R|.
    """
    return -(g @ (g - m) / noise + log_det_blocks(At.R)) / 2.0


@njit
def whiten(u, m, At):
    """Eta = R L^-1 (u - m)."""
    eta = u - m
    factor_solve(At.L, eta, False)
    factor_times(At.R, eta, False)
    return eta


@njit
def unwhiten(eta, m, At):
    """L R^-1 eta + m."""
    u = eta.copy()
    factor_solve(At.R, u, False)
    factor_times(At.L, u, False)
    return u + m


@njit
def log_product(x, g, m, noise, At, model, tally):
    """Log of the product of line 5, with the prior of phi and without u; counted."""
    value = (log_likelihood(x, model) + log_marginal(g, m, noise, At)
             - U_prior(At.phi, model))
    tally[EVALUATIONS] += 1
    if not np.isfinite(value):
        tally[NOT_FINITE] += 1
    return value


def check_surrogate_slice(theta0, phi0, model, noise, w, n, rng, ellipses=5, keep=None):
    """Check the arguments of surrogate_slice; `keep` becomes an array of indices."""
    model = validate.instance("model", model, LogGaussianCox, "by from_counts")
    model = validate.model("model", model)
    theta0, phi0 = check_blocks(theta0, phi0, model)
    w = validate.array("w", w, (2,))
    if not (w > 0.0).all():
        raise ValueError(f"w must be positive, but the smallest is {w.min():g}")
    return (theta0, phi0, model, validate.real("noise", noise, 0.0, open_low=True), w,
            validate.count("n", n), validate.generator("rng", rng),
            validate.count("ellipses", ellipses), validate.indices("keep", keep, theta0.size))


@public(check_surrogate_slice)
@njit
def surrogate_slice(theta0, phi0, model, noise, w, n, rng, ellipses, keep):
    """Run n transitions from (theta0, phi0); return a Chain.

    A transition updates each hyperparameter in turn, with surrogate data of its own, and then x,
    `ellipses` times, by elliptical slice sampling.

    Parameters
    ----------
    theta0, phi0 : (N,), (2,) float64   where the field x and phi start; not modified
    model        : LogGaussianCox
    noise        : float > 0            variance of the surrogate data, such as the inverse of the
                                        mean of m e^x over the cells
    w            : (2,) float64 > 0     widths of the brackets of log sigma^2 and log beta
    n            : int >= 1             transitions
    rng          : Generator            advanced, per transition, as by two surrogate_update and
                                        `ellipses` elliptical_update
    ellipses     : int >= 1             updates of x alone in a transition; default 5
    keep         : (kept,) int or None  which entries of theta are recorded; default all

    Raises ValueError, naming the argument, for anything else.
    """
    theta, phi, energies = np.empty((n, keep.size)), np.empty((n, 2)), np.empty(n)
    surrogates, tally = np.zeros(2, np.int64), np.zeros(2, np.int64)
    x, here = theta0, factorise_at(phi0, noise, model)
    for t in range(n):
        check_interrupt()
        for k in range(2):
            x, here = surrogate_update(x, here, k, w[k], noise, model, surrogates, rng)
        field = Field(model, here.L)
        value = field_log_L(x, field)
        for _ in range(ellipses):
            check_interrupt()
            x, value = elliptical_update(x, value, field, tally, rng)
        theta[t], phi[t] = x[keep], here.phi
        energies[t] = U_theta(x, precompute_phi(here.phi, model), model) + U_prior(here.phi, model)
    evaluations = surrogates[EVALUATIONS] + tally[EVALUATIONS] + n
    counts = Counts(surrogates[EVALUATIONS] - 2 * n + 1, evaluations, n * ellipses,
                    surrogates[NOT_FINITE] + tally[NOT_FINITE])
    return Chain(theta, phi, energies, np.ones(n, np.bool_), counts)
