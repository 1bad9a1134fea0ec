"""The data of Figures 2 to 4 of Shahbaba, Lan, Johnson and Neal (2014), or others like them.

datasets.illustrative says how they are made; what the figures show is measured on many data sets,
of three slopes.
"""

import numpy as np

from algorithms.map_estimate import map_estimate
from models.interface import grad_U
from models.jit import njit
from models.logistic_regression import LogisticRegression
from reproduce.harness.claims import Measured
from reproduce.shahbaba.datasets import illustrative

# The paper's settings (Section 3.3)
SIGMA = 5.0  # prior standard deviations

# Our settings
SLOPE = 5.0  # of the data set in the figures
SLOPES = (2.0, 5.0, 10.0)  # of the data sets for the claims
SETS = {"paper": 1000, "short": 200, "smoke": 10}  # of each slope
REACH = 3.0  # conditional standard deviations either side of the mode, in the figures
WITHIN = 2.0  # the same, for the claims: about 95 % of the probability
POINTS = 41


def cases(settings):
    """Return the illustrative data of the figures."""
    return illustrative(settings.seed, SLOPE)


def fit_cases(cases):
    """Return the model of the cases and its MAP estimate."""
    model = LogisticRegression.from_data(cases.X, cases.y, SIGMA, SIGMA)
    return model, map_estimate(model)


@njit
def gradients(points, model):
    """Return grad_U at each of the points, (n, p)."""
    found = np.empty_like(points)
    for k in range(len(points)):
        found[k] = grad_U(points[k], model)
    return found


def by_slope(measure, experiment):
    """Return {slope: the tuples measure(cases, rng) of the data sets as one, of arrays}."""
    slopes = {}
    for index, slope in enumerate(SLOPES):
        rng = np.random.default_rng([experiment.seed, index])
        sets = [measure(illustrative(experiment.seed + k, slope), rng)
                for k in range(SETS[experiment.budget])]
        slopes[slope] = type(sets[0])(*map(np.array, zip(*sets, strict=True)))
    return slopes


def share(holds):
    """Return how often something holds, with a standard error that is not 0 at 0 and at 1."""
    n = len(holds)
    p = (np.sum(holds) + 1) / (n + 2)
    return Measured(np.mean(holds), (p * (1 - p) / n) ** 0.5)
