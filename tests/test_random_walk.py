"""algorithms/random_walk.py: a departure; test_fitted_walk.py, test_samplers.py have the rest."""

from algorithms.random_walk import random_walk_step
from departing import departs
from test_fitted_walk import rejects_what_is_not_finite


@departs(random_walk_step, {"L3": "if rng.random() < np.exp(-error):"})
def test_an_error_that_is_not_finite_is_rejected_whatever_its_sign(random_walk_step):
    rejects_what_is_not_finite(random_walk_step, 0.1)
