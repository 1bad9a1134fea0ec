"""rivals/dragging.py: transitions exactly, and what is counted."""

import numpy as np
import pytest

from algorithms.rivals.dragging import dragging, dragging_step
from conftest import Given
from departing import departs
from enumeration import ROUNDING, proofs
from models.gaussian import Gaussian
from models.interface import prepare
from normal import MODEL, Q, normal

ONE = np.array([[0.8]])
THREE, NORMAL = np.array([0.1, 0.2, 0.3]), Gaussian(np.zeros(3), np.eye(3))


def test_one_step_is_a_metropolis_step_of_the_slow_variable():
    P, _ = proofs()["walks"]
    np.testing.assert_allclose(P["drag 1"], P["formula of drag 1"], rtol=0, atol=ROUNDING)
    # with more steps the fast variable moves along
    assert P["drag 2"][0, 4] > 0.001 and P["drag 1"][0, 4] == 0


def one(step, model, n_steps=2):
    tally = np.zeros(4, int)
    return *step(prepare(Q, model), model, np.array([0]), ONE, np.array([1]), np.ones(2), n_steps,
                 tally, Given(np.ones(1))), tally


@departs(dragging_step, {"L5": """
    if rng.random() < np.exp(-total / n_steps):
        return high, True
    return cache, False""", "L4": """
        k = fast[int(fast.size * rng.random())]
        value = low.q[k] + w[k] * rng.standard_normal(1)[0]
        E_low = evaluate(low, k, value, model, tally)
        E_high = evaluate(high, k, value, model, tally)
        share = i / n_steps
        error = (1 - share) * (E_low - low.U) + share * (E_high - high.U)
        if rng.random() < np.exp(-error):
            low = commit(low, k, value, E_low, model)
            high = commit(high, k, value, E_high, model)"""})
def test_an_energy_that_is_not_finite_is_rejected(step):
    cache, accepted, tally = one(step, MODEL)
    assert accepted and tally[0] == 2 and (cache.q == Q + np.array([0.8, 1.0])).all()
    for beyond in (-np.inf, np.inf, np.nan):
        cache, accepted, tally = one(step, normal(MODEL.y, 0.3, beyond))
        assert not accepted and tally[3] == 1  # at y* it is never finite
        np.testing.assert_array_equal(cache.q, Q)


@pytest.mark.parametrize("sweeps", [0, 2])
def test_counts_are_true_and_without_sweeps_nothing_moves_but_by_accepted_steps(sweeps):
    model = normal(MODEL.y)
    chain = dragging(Q, model, [0], ONE, 60, np.random.default_rng(1), n_steps=5, sweeps=sweeps)
    assert chain.counts.prepared + chain.counts.trials == model.calls[0] - 1
    assert chain.counts.prepared == 61 and 0 < chain.accepted.sum() < 60
    assert (chain.counts.trials == 60 * 8) == (sweeps == 0) and chain.counts.not_finite == 0
    moved = (np.diff([Q, *chain.samples], axis=0) != 0).any(axis=1)
    assert (moved == chain.accepted).all() == (sweeps == 0)


def test_the_rows_of_the_factor_are_in_the_order_of_the_slow_variables():
    for still, moving in ((0, 2), (2, 0)):
        moved = np.ptp(dragging(THREE, NORMAL, [still, moving], np.diag([1e-6, 0.5]), 50,
                                np.random.default_rng(1)).samples, axis=0)
        assert moved[still] < 1e-4 < 0.1 < moved[moving]


@pytest.mark.parametrize("n_steps, sweeps", [(10, 0), (1, 3)])
def test_each_fast_variable_has_a_width_of_its_own(n_steps, sweeps):
    # one width is the most that an interval of one has; 50 iterations take few of them
    moved = np.ptp(dragging(THREE, NORMAL, [0], ONE, 50, np.random.default_rng(1), n_steps, sweeps,
                            np.array([9.0, 1e-6, 0.5]), 1).samples, axis=0)
    assert 0 < moved[1] < 1e-3 < 0.1 < moved[2]
