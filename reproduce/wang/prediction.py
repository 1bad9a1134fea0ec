"""What hyperparameters are for: predictions over their posterior, and at their maximum likelihood.

Simulated data are as the ten data sets (wang/datasets.py), each with further cases to predict.  The
real ones are heights of ground about the Jacksboro fault in Tennessee, a tile of the United States'
National Elevation Dataset that Matplotlib ships and shows in its example of hill shading: cases are
points of its grid drawn at random, covariates the place, in units of the longer side, responses
heights in standard deviations from the mean.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

from algorithms.ess import initial_sequence
from algorithms.rivals.fitted_walk import fitted_walk, pilot
from models.gp_regression import GPRegression, predict
from models.interface import U, U_prior, grad_U
from reproduce.harness.files import DataError
from reproduce.wang.datasets import C, data
from reproduce.wang.printed import ARD, ROWS

TESTS = 200  # cases to predict
LEVELS = (0.5, 0.95)  # of intervals
POSTERIOR, LIKELIHOOD, TRUTH = "posterior", "maximum likelihood", "truth"
EDGE = 8.0  # of each log: the likelihood may rise without end, and four sd of the prior are far
STARTS = 5  # of the maximisation
FILE = "jacksboro_fault_dem.npz"
CHECKSUM = "0c7e9f894eb7c8d444ca4475e64249e060d96c90ab63fdf439a0381c590ed502"  # of the heights


class Heights(NamedTuple):
    """Points of the ground."""

    name: str
    X: np.ndarray  # (points, 2)
    y: np.ndarray  # (points,)


def heights(folder=None):
    """Return the real data; DataError, a sentence, if Matplotlib does not have them."""
    from matplotlib.cbook import get_sample_data

    try:
        elevation = np.ascontiguousarray(get_sample_data(FILE)["elevation"])
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"{FILE} is not among the sample data of this Matplotlib ({error}): install"
                        " one that has it, with pip") from None
    found = hashlib.sha256(elevation.tobytes()).hexdigest()
    if found != CHECKSUM:
        raise DataError(f"{FILE} of this Matplotlib is damaged or another file: the SHA-256 of its"
                        f" heights is {found}, expected {CHECKSUM}")
    rows, columns = np.indices(elevation.shape)
    X = np.column_stack([columns.ravel(), rows.ravel()]) / (max(elevation.shape) - 1)
    y = elevation.ravel().astype(float)
    return Heights("heights about the Jacksboro fault", X, (y - y.mean()) / y.std())


def simulate(number, index, n=None):
    """Return a model, covariates and responses to predict, and the truth."""
    n = n or ROWS[number].n
    X, y, truth = data(number, index, n + TESTS)
    return GPRegression.from_data(X[:n], y[:n], ROWS[number].kind, c=C), X[n:], y[n:], truth


def drawn(n, index):
    """Return the same of n points of the ground, drawn by a generator of that index; no truth."""
    ground = heights()
    chosen = np.random.default_rng([n, index]).choice(len(ground.y), n + TESTS, replace=False)
    X, y = ground.X[chosen], ground.y[chosen]
    return GPRegression.from_data(X[:n], y[:n], ARD, c=C), X[n:], y[n:]


def maximum_likelihood(model, rng):
    """Return the hyperparameters of the greatest likelihood, the best of STARTS searches, (d,).

    None is beyond EDGE.  The starts are drawn from standard normals, the first one is 0.
    """
    def minus(q):
        # where there is no factor, a wall
        energy = U(q, model)
        if not np.isfinite(energy):
            return 1e10, np.zeros(q.size)
        return energy - U_prior(q, model), grad_U(q, model) - model.precision * (q - model.mean)

    d = model.precision.size
    found = [minimize(minus, rng.standard_normal(d) if k else np.zeros(d), jac=True,
                      method="L-BFGS-B", bounds=[(-EDGE, EDGE)] * d) for k in range(STARTS)]
    return min(found, key=lambda each: each.fun).x


def score(Z, y, draws, model):
    """Return how well cases are predicted by the mixture over draws, (draws, d).

    density   mean log predictive density of a case      error   root of the mean squared error
    coverage  share of cases in the central interval of each of LEVELS
    """
    found = [predict(Z, q, model) for q in draws]
    mean_, noisy = (np.array([getattr(each, name) for each in found]) for name in ("mean", "noisy"))
    sd = np.sqrt(noisy)
    place = norm.cdf(y, mean_, sd).mean(axis=0)
    return {"density": float(np.mean(logsumexp(norm.logpdf(y, mean_, sd), axis=0)
                                     - np.log(len(found)))),
            "coverage": [float(np.mean(np.abs(place - 0.5) <= level / 2)) for level in LEVELS],
            "error": float(np.sqrt(np.mean((mean_.mean(axis=0) - y) ** 2)))}


def compared(number, index, seed, iterations, keep, n=None):
    """Predict by the posterior and at the maximum likelihood; by the truth too, where there is one.

    number     : int   row of the tables; 0 are the heights, of which n have to be given
    index      : int   which data set, or which draw of points
    iterations : int   of the chain, of which `keep` are taken, evenly spaced, to predict

    Returns {name: score}, with "draws", the effective ones of the worst hyperparameter in the
    chain, and "edge", whether the greatest likelihood is at an edge.
    """
    rng = np.random.default_rng(seed)
    model, Z, y, *truth = simulate(number, index, n) if number else drawn(n, index)
    best = maximum_likelihood(model, rng)
    first = pilot(np.clip(best, -3, 3), model, max(iterations // 20, 5), rng)
    chain = fitted_walk(first.q, model, first.factor, iterations, rng)
    kept = chain.samples[np.linspace(iterations // 10, iterations - 1, keep).astype(int)]
    draws = {POSTERIOR: kept, LIKELIHOOD: best[None]}
    if truth:
        draws[TRUTH] = np.array(truth)
    return {name: score(Z, y, each, model) for name, each in draws.items()} | {
        "draws": float(np.nan_to_num(initial_sequence(chain.samples).ess, nan=1.0).min()),
        "edge": bool((np.abs(best) > EDGE - 1e-6).any())}
