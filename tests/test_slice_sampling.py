"""algorithms/slice_sampling.py: lines, caches, the record; that it is exact: test_proofs.py."""

import numpy as np
import pytest

from algorithms import slice_sampling as slices
from algorithms.slice_sampling import Slice, energy_at, follow, is_inside, slice_update, visit
from conftest import Given
from departing import departs
from models import validate
from models.interface import U, prepare
from normal import MODEL, Q, normal


@departs(is_inside, lambda energy, level: energy < level)
def test_a_point_of_an_energy_that_is_not_finite_is_outside(is_inside):
    assert is_inside(2.9, 3.0) and not is_inside(3.0, 3.0)
    for energy in (np.inf, np.nan, -np.inf):
        assert not is_inside(energy, 3.0)


@departs(slice_update, {"L10": """
    energy = evaluate(cache, k, x_1, model, tally)
    if is_inside(energy, level):
        return commit(cache, k, x_1, energy, model)"""})
def test_shrinkage_to_the_start_ends(slice_update):
    # in place of an exponential that is lost in the rounding of U: no point is in the slice
    start, rng = prepare(Q, MODEL), Given(uniforms=[0.3, 0.9, 0.6, 0.2], exponential=-1.0)
    assert slice_update(start, 0, MODEL, 1.0, 1, np.zeros(4, int), rng) is start


def test_an_update_by_hand():
    # a level far above all: two steps out to the left as J = floor(.5 * 4) = 2, one to the right
    tally = np.zeros(4, int)
    there = slice_update.py_func(prepare(Q, MODEL), 0, MODEL, 2.0, 4, tally,
                                 Given(uniforms=[0.25, 0.5, 0.75], exponential=1e6))
    # of four widths, from there on; rounding
    assert there.q[0] == pytest.approx(Q[0] - 2.0 * 0.25 - 2 * 2.0 + 0.75 * (4 * 2.0), abs=1e-12)
    assert there.q[1] == Q[1] and there.U == U(there.q, MODEL)
    np.testing.assert_array_equal(tally, [4, 3, 0, 0])  # three ends, one point


def test_shrinkage_by_hand():
    # U = 2 (mu - .375)^2 + ..., so that the slice is from .275 to .475
    model, tally = normal([0.5, 0.5, 0.5]), np.zeros(4, int)
    rng = Given(uniforms=[0.5, 0.0, 0.1, 0.2, 0.5], exponential=2 * (0.1**2 - 0.025**2))
    there = slice_update.py_func(prepare(np.array([0.4, 0.0]), model), 0, model, 1.0, 1, tally, rng)
    # of (-.1, .9) come 0 and .18, which are outside and become L, .54, which becomes R, and .36
    assert there.q[0] == pytest.approx(0.36, abs=1e-12)  # rounding
    np.testing.assert_array_equal(tally, [4, 0, 3, 0])


def test_variables_are_updated_in_sequence_and_counts_are_true():
    model = normal([0.3, 1.2, -0.4, 0.9])
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    validate.state("x0", Q, model)  # which evaluates more than once the first time
    model.calls[0] = 0
    chain = slices.slice_sampling(Q, model, [0.5, 1.5], 20, ours, max_widths=3)
    assert chain.counts.density == model.calls[0] - 1  # one for the check of x0
    cache, tally = prepare(Q, MODEL), np.zeros(4, int)
    for t in range(20):
        for k in (0, 1):
            cache = slice_update.py_func(cache, k, MODEL, (0.5, 1.5)[k], 3, tally, theirs)
        np.testing.assert_allclose(chain.samples[t], cache.q, rtol=0, atol=1e-12)
    assert ours.bit_generator.state == theirs.bit_generator.state
    density, approximations, hits, *others = chain.counts
    assert [density - 1, *others] == tally.tolist() and approximations.size == hits == 0
    assert chain.accepted.shape == (20, 2, 1) and chain.accepted.all()


@pytest.mark.parametrize("other", [Q, [0.2, 0.4], [0.3, 0.4]])
def test_what_is_reached_from_near_is_what_is_there(other):
    other, here, tally = np.array(other), prepare(Q, MODEL), np.zeros(4, int)
    assert energy_at.py_func(other, here, MODEL, tally) == U(other, MODEL)
    there = visit.py_func(other, here, MODEL, tally)
    np.testing.assert_array_equal(there.q, other)
    assert there.U == U(other, MODEL) and tally[0] == 1 + (tuple(other) != tuple(Q))
    unknown = here._replace(U=np.nan)  # on the way: the energy is not known
    assert visit.py_func(other, unknown, MODEL, tally).U == U(other, MODEL)
    moved = follow.py_func(other, 7.0, here, MODEL)
    np.testing.assert_array_equal(moved.q, other)
    assert moved.U == (here.U if tuple(other) == tuple(Q) else 7.0)


@pytest.mark.parametrize("other", [[0.3, -0.1], [0.3, 0.4]])
def test_an_energy_that_is_not_finite_is_counted_however_it_was_reached(other):
    model, tally = normal(MODEL.y, 0.25), np.zeros(4, int)
    here = prepare(Q, model)
    energy_at.py_func(np.array(other), here, model, tally)
    visit.py_func(np.array(other), here, model, tally)
    np.testing.assert_array_equal(tally, [2, 0, 0, 2])


@pytest.mark.parametrize("at_random", [False, True])
@pytest.mark.parametrize("step", [slices.forward, slices.backward])
def test_each_variable_has_a_width_of_its_own(step, at_random):
    # an interval of one width: 60 steps go no further than 60 widths
    move = Slice(np.array([1e-6, 0.5]), 1, np.arange(2), at_random)
    cache, rng, states = prepare(Q, MODEL), np.random.default_rng(5), []
    for _ in range(60):
        cache = step(cache, MODEL, move, np.zeros(4, int), rng)
        states.append(cache.q)
    still, moving = np.ptp(states, axis=0)
    assert 0 < still < 1e-4 and moving > 0.1
