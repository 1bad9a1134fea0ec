"""Elliptical slice sampling, in the coordinates of the prior or of any other Gaussian.

In words    It draws a second point from the Gaussian prior, and looks on the ellipse through both
            for a point whose likelihood is above a random level, on an arc that shrinks until it
            finds one.  It is valid because moves along the ellipse leave the Gaussian invariant,
            and the choice of a point above the level is that of slice sampling.  Use it for a
            Gaussian prior, of a process for example, times a likelihood that is not very
            informative; it has nothing to tune and needs no gradient.
Paper       I. Murray, R. P. Adams and D. J. C. MacKay (2010), "Elliptical slice sampling",
            Proceedings of the 13th International Conference on Artificial Intelligence and
            Statistics, 541-548.
Mirror      elliptical_update, line by line.

What is sampled is a Gaussian N(m, S) times a factor L.  In the paper they are the prior and the
likelihood.  But any density pi is N(m, S) times L = pi / N(m, S); the nearer N(m, S) is to pi, the
flatter is L, and the longer is a step.  A Gaussian of lighter tails than pi,
for which L is not bounded, leaves a chain stuck for long where L is large.

The type of `model` decides what N(m, S) and L are: centre(model), normal_draw(model, rng) and
log_L(x, model).  There are two types here:

GPClassification   N(m, S) is its q, the prior or EP's Gaussian; log L is beta times log_ratio.
                   O(N) for an evaluation, and O(N^2) for the draw of an ellipse
Relative           any model that implements U, with pi = exp(-U), and a mean and a Cholesky factor
                   of one's own.  O(d^2) for an evaluation, and one of U

A sampler that has the draw and the likelihood in another form (blocks, a covariance that changes
from step to step) makes a NamedTuple of them, registers these three, and calls elliptical_update.

Notation
--------
paper           here             shape    meaning
f, f'           x, x_new         (d,)     state before and after; x = m + f
                m                (d,)     mean of the Gaussian
Sigma           S                (d, d)   its covariance; factor is its lower Cholesky factor
nu              nu               (d,)     draw from N(0, S), which fixes the ellipse
log L           log_L            ()       of pi / N(m, S), up to a constant; the
                                          likelihood's in the paper
log y           log_y            ()       height of the slice
theta           theta            ()       angle; 0 is the start
theta_min, _max low, high        ()       bracket
                tally            (2,)     what is counted: EVALUATIONS, NOT_FINITE
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.fields import Array, Factor
from models.gp_classification import GPClassification, log_ratio
from models.interface import U, dispatch
from models.jit import check_interrupt, njit, public
from models.linalg import solve_lower

EVALUATIONS, NOT_FINITE = range(2)


@njit
def elliptical_update(x, log_L_x, model, tally, rng):
    """Update the state, which leaves N(m, S) L invariant, is reversible and never rejects.

    Mirror of Murray, Adams and MacKay 2010, Figure 2.

    In the paper lines 4 to 8 are 4 to 10, of which the last goes to the first.

    Parameters
    ----------
    x       : (d,) float64    where the chain is; not modified
    log_L_x : float           log L there, finite
    model   : NamedTuple      any type for which centre, normal_draw and log_L are registered
    tally   : (2,) int        is added to
    rng     : Generator       advanced by normal_draw, a uniform, and one uniform a point

    Returns (x_new, log_L_new): the next state, a new array unless it is x itself, and log L there.
    """
    # 1   choose the ellipse: nu ~ N(0, Sigma)
    nu, m = normal_draw(model, rng), centre(model)
    # 2   the threshold: u ~ Uniform(0, 1);  log y <- log L(f) + log u
    log_y = log_L_x + np.log(rng.random())
    # 3   theta ~ Uniform(0, 2 pi);  [theta_min, theta_max] <- [theta - 2 pi, theta]
    theta = 2.0 * np.pi * rng.random()
    low, high = theta - 2.0 * np.pi, theta
    # 4   repeat
    while True:
        # 5   f' <- f cos theta + nu sin theta
        #     theirs  f' <- f cos theta + nu sin theta: the mean is 0
        #     ours    x' <- x cos theta + m (1 - cos theta) + nu sin theta
        #     why     the mean of EP's Gaussian is not 0; with the paper's line N(m, S) would not be
        #             invariant
        #     test    test_the_ellipse_is_about_the_mean
        x_new = x * np.cos(theta) + m * (1.0 - np.cos(theta)) + nu * np.sin(theta)
        # 6   if log L(f') > log y then accept: return f'
        #     theirs  silent about an L that is infinite or not a number
        #     ours    such a point is outside of the slice, and counted in `counts.not_finite`
        #     why     a state of log L = inf would be taken, and never left again
        #     test    test_a_point_of_an_L_that_is_not_finite_is_outside
        #     theirs  the bracket shrinks until log L(f') > log y, which is so at the start
        #     ours    a point that is the start, to the last bit, is taken whatever L says there
        #     why     with log u below the rounding of log L it is not above log y, and there is no
        #             end
        #     test    test_shrinkage_to_the_start_ends
        if (x_new == x).all():
            return x, log_L_x
        log_L_new = evaluate(x_new, model, tally)
        if is_inside(log_L_new, log_y):
            return x_new, log_L_new
        # 7   if theta < 0 then theta_min <- theta else theta_max <- theta
        if theta < 0.0:
            low = theta
        else:
            high = theta
        # 8   theta ~ Uniform(theta_min, theta_max)
        theta = low + (high - low) * rng.random()


class Counts(NamedTuple):
    """What was done over a whole run."""

    likelihood: int  # evaluations of log L, that of the start included
    draws: int  # of an ellipse: products of a factor and a vector
    not_finite: int  # evaluations of log L that were infinite or nan


class Chain(NamedTuple):
    """The record of n thin iterations, of which every thin-th is kept."""

    samples: np.ndarray  # (n, d)
    log_likelihood: np.ndarray  # (n,) log L of the samples
    evaluations: np.ndarray  # (n,) int: of log L since the sample before; counts has the total
    counts: Counts


class Relative(NamedTuple):
    """The density exp(-U) of a model, relative to the Gaussian N(mean, factor factor')."""

    model: tuple  # any that implements U
    mean: Array("d")
    factor: Factor("d", "d")


@validate.check_values.register
def check_values(given: Relative, name):
    """The model has as many variables as the Gaussian."""
    validate.fits(f"{name}.model", given.model, given.mean)


@dispatch(arg=0)
def centre(model):
    """Return m, (d,), the mean of the Gaussian."""


@dispatch(arg=0)
def normal_draw(model, rng):
    """Return a draw from N(0, S), (d,)."""


@dispatch(arg=1)
def log_L(x, model):
    """Log of pi / N(m, S) at x, (d,), up to a constant -> float."""


@centre.register(GPClassification)
def gp_classification_centre(model):
    """The mean of q."""
    return model.mu


@normal_draw.register(GPClassification)
def gp_classification_normal_draw(model, rng):
    """L_Sigma z with N normals z; O(N^2)."""
    return model.L_Sigma @ rng.standard_normal(model.y.size)


@log_L.register(GPClassification)
def gp_classification_log_L(x, model):
    """beta (L_1 - L_0), as L_beta is linear in beta; O(N)."""
    return model.beta * log_ratio(x, model)


@centre.register(Relative)
def relative_centre(model):
    """The mean that was given."""
    return model.mean


@normal_draw.register(Relative)
def relative_normal_draw(model, rng):
    """Factor z with d normals z."""
    return model.factor @ rng.standard_normal(model.mean.size)


@log_L.register(Relative)
def relative_log_L(x, model):
    """-U(x) + (x - m)' S^-1 (x - m) / 2."""
    z = solve_lower(model.factor, x - model.mean)
    return 0.5 * (z @ z) - U(x, model.model)


@njit
def is_inside(value, log_y):
    """Tell whether a point of this log L is in the slice."""
    return np.isfinite(value) and value > log_y


@njit
def evaluate(x, model, tally):
    """Log L at x, counted."""
    value = log_L(x, model)
    tally[EVALUATIONS] += 1
    if not np.isfinite(value):
        tally[NOT_FINITE] += 1
    return value


def check_elliptical_slice(x0, model, n, rng, mean=None, factor=None, thin=1):
    """Check the arguments of elliptical_slice; put a Gaussian of one's own into the model."""
    model = validate.model("model", model)
    x0 = validate.array("x0", x0, (validate.dimension(model),)).copy()
    if factor is not None:
        model = validate.model("model", model, U)
        validate.state("x0", x0, model)
        mean = np.zeros(x0.size) if mean is None else validate.array("mean", mean, (x0.size,))
        factor = validate.array("factor", factor, (x0.size, x0.size))
        if np.triu(factor, 1).any() or not (np.diag(factor) > 0.0).all():
            raise ValueError("factor must be a lower Cholesky factor: 0 above the diagonal, and"
                             " positive on it")
        model = Relative(model, mean, factor)
    elif mean is not None:
        raise ValueError("mean must come with a factor, the Cholesky factor of its covariance")
    elif type(model) not in log_L.implementations:
        raise ValueError(f"factor must be given for a model of type {type(model).__name__}, which"
                         " has no Gaussian of its own")
    elif centre(model).shape != x0.shape:
        raise ValueError(f"x0 must have shape {centre(model).shape}, not {x0.shape}")
    else:
        validate.state("x0", x0, model, energy=log_L)
    start = log_L(x0, model)
    if not np.isfinite(start):
        raise ValueError(f"x0 must be where log L is finite, but it is {start} there")
    return (x0, model, validate.count("n", n), validate.generator("rng", rng),
            validate.count("thin", thin))


@public(check_elliptical_slice)
@njit
def elliptical_slice(x0, model, n, rng, thin):
    """Run n * thin updates from x0 and keep every thin-th state; return a Chain.

    Called as elliptical_slice(x0, model, n, rng, mean=None, factor=None, thin=1); from compiled
    code as elliptical_slice(x0, model, n, rng, thin), with Relative(model, mean, factor) for model.

    Parameters
    ----------
    x0     : (d,) float64            where the chain starts; not modified
    model  : NamedTuple              the density exp(-U): any model that implements U, if `factor`
                                     is given; else one with a Gaussian of its own, such as a
                                     GPClassification, whose q that is (from_prior, from_ep)
    n      : int >= 1                states kept
    rng    : Generator               advanced, per update, as by elliptical_update
    mean   : (d,) float64 or None    mean m of the Gaussian; None: 0, or the model's own
    factor : (d, d) float64 or None  lower Cholesky factor of its covariance S; None: the model's
    thin   : int >= 1                updates per state kept; default 1

    Raises ValueError, naming the argument, for anything else.
    Source: Murray, Adams and MacKay (2010), Figure 2.
    """
    samples, log_likelihood = np.empty((n, x0.size)), np.empty(n)
    evaluations, tally = np.empty(n, np.int64), np.zeros(2, np.int64)
    x, log_L_x = x0, log_L(x0, model)
    for t in range(n):
        before = tally[EVALUATIONS]
        for _ in range(thin):
            check_interrupt()
            x, log_L_x = elliptical_update(x, log_L_x, model, tally, rng)
        samples[t], log_likelihood[t] = x, log_L_x
        evaluations[t] = tally[EVALUATIONS] - before
    counts = Counts(1 + tally[EVALUATIONS], n * thin, tally[NOT_FINITE])
    return Chain(samples, log_likelihood, evaluations, counts)
