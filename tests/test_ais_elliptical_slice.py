"""rivals/ais_elliptical_slice.py: the transition, and counts."""

import numpy as np
import pytest

from algorithms.ais import ais_run, geometric_ladder, transition
from algorithms.rivals.ais_elliptical_slice import EllipticalSlice, ais_elliptical_slice
from algorithms.rivals.elliptical_slice import elliptical_update
from models.gp_classification import log_ratio, temper
from test_ais import Y, both_models


@pytest.mark.parametrize("repeats", [1, 3])
@both_models
def test_a_transition_is_so_many_updates_at_its_temperature(model, repeats):
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    tally, used = np.zeros(2, np.int64), EllipticalSlice(repeats, np.zeros(2, np.int64))
    for beta in (0.1, 0.6, 1.0):
        x, annealed = 0.7 * Y, temper(model, beta)
        found, accepted, error = transition(x, annealed, used, ours)
        value = beta * log_ratio(x, model)
        for _ in range(repeats):
            x, value = elliptical_update(x, value, annealed, tally, theirs)
        np.testing.assert_array_equal(found, x)
        assert (accepted, error) == (True, 0.0)
    assert used.tally[0] == tally[0] + 3  # that of each start
    assert ours.bit_generator.state == theirs.bit_generator.state


@both_models
def test_runs_are_those_of_ais_with_this_kernel(model):
    betas, rng = geometric_ladder(5, 0.05), np.random.default_rng(2)
    used = EllipticalSlice(2, np.zeros(2, np.int64))
    found = ais_elliptical_slice(model, betas, 3, np.random.default_rng(2), repeats=2)
    for r in range(3):
        log_w, x, *_ = ais_run(model, betas, used, rng)
        assert found.log_weights[r] == log_w
        np.testing.assert_array_equal(found.samples[r], x)
    assert found.counts == (used.tally[0], 3 * 5 * 2, 0)
