"""algorithms/random_walk.py: a departure; test_fitted_walk.py, test_samplers.py have the rest."""

from types import SimpleNamespace

import numpy as np

from algorithms.random_walk import random_walk_step
from departing import departs
from models.gaussian import Gaussian
from models.interface import U

MODEL = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
Q = np.array([0.3, -1.1])


@departs(random_walk_step, {"L3": "if rng.random() < np.exp(-error):"})
def test_an_error_that_is_not_finite_is_rejected_whatever_its_sign(random_walk_step):
    one = SimpleNamespace(standard_normal=np.ones, random=lambda: 0.0)
    assert random_walk_step(Q, U(Q, MODEL), MODEL, 0.1, one)[2]
    for energy in (np.inf, -np.inf, np.nan):
        q, current_U, accepted, error = random_walk_step(Q, energy, MODEL, 0.1, one)
        assert not accepted and not np.isfinite(error)
        assert q is Q and current_U is energy
