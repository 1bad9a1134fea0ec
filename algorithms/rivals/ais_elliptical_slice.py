"""Annealed importance sampling whose transitions are elliptical slice sampling.

In words    Annealed importance sampling whose transitions are elliptical slice updates. Each update
            leaves the annealed density invariant, which is all that the weights need to be
            unbiased. Use it where the prior is Gaussian: it has no step size to choose.
Papers      R. M. Neal (2001), "Annealed importance sampling", Statistics and Computing 11;
            I. Murray, R. P. Adams and D. J. C. MacKay (2010), "Elliptical slice sampling",
            Proceedings of the 13th International Conference on Artificial Intelligence and
            Statistics, 541-548.
Mirror      none: algorithms/ais.py has the runs, elliptical_slice.py the transition.
Departures  none.

p_beta is q times exp(beta (L_1 - L_0)), with logs L (models/gp_classification.py), so that q is the
Gaussian whose ellipses serve at every temperature: the nearer beta is to 0, the more often the
first point is taken.  A transition has no step size, takes O(N^2) once and O(N) for each point, and
no gradient.
"""

from typing import NamedTuple

import numpy as np

from algorithms.ais import HMC, ais_run, check_ais, transition
from algorithms.rivals.elliptical_slice import Counts, elliptical_update, evaluate
from models import validate
from models.jit import check_interrupt, njit, public


class EllipticalSlice(NamedTuple):
    """Transition kernel: updates of algorithms.rivals.elliptical_slice, in the coordinates of q."""

    repeats: int  # updates in a transition
    tally: np.ndarray  # (2,) int, is added to: see elliptical_slice


class EllipticalAIS(NamedTuple):
    """The record of some runs over a ladder of B steps; no transition is ever rejected."""

    log_weights: np.ndarray  # (runs,): see algorithms.ais.combine
    samples: np.ndarray  # (runs, N) last states: with the weights, draws from the posterior
    counts: Counts  # of all runs; likelihood are evaluations of log_ratio by the transitions


@transition.register(EllipticalSlice)
def elliptical_slice_transition(x, model, kernel, rng):
    """Elliptical slice sampling; every transition counts as accepted, its energy error as 0."""
    value = evaluate(x, model, kernel.tally)  # anew: beta has changed since the last transition
    for _ in range(kernel.repeats):
        check_interrupt()
        x, value = elliptical_update(x, value, model, kernel.tally, rng)
    return x, True, 0.0


def check_ais_elliptical_slice(model, betas, runs, rng, repeats=1):
    """Check the arguments of ais_elliptical_slice."""
    model, betas, _, runs, rng = check_ais(model, betas, HMC(1.0, 1), runs, rng)
    return model, betas, runs, rng, validate.count("repeats", repeats)


@public(check_ais_elliptical_slice)
@njit
def ais_elliptical_slice(model, betas, runs, rng, repeats):
    """Run annealed importance sampling `runs` times, from q at beta = 0 to the posterior.

    The mean of exp(log_weights) estimates p(y) without bias: see algorithms.ais.combine.

    Parameters
    ----------
    model   : GPClassification     from_prior: q is the prior; from_ep: EP's Gaussian.  Its own beta
                                   is not used
    betas   : (B + 1,) float64     strictly increasing from 0 to 1: see ais.geometric_ladder
    runs    : int >= 1             independent runs
    rng     : Generator            advanced, per run, by N normals, then by B transitions
    repeats : int >= 1             updates at every temperature; default 1

    Returns an EllipticalAIS.  Raises ValueError, naming the argument, for anything else.
    """
    log_weights, samples = np.empty(runs), np.empty((runs, model.y.size))
    tally = np.zeros(2, np.int64)
    for r in range(runs):
        log_weights[r], samples[r], _, _ = ais_run(model, betas, EllipticalSlice(repeats, tally),
                                                   rng)
    draws = runs * (betas.size - 1) * repeats
    return EllipticalAIS(log_weights, samples, Counts(tally[0], draws, tally[1]))
