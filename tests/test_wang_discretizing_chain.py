"""The map, the mark and its caches, mirror and twin; that they are exact: test_proofs.py."""

from typing import NamedTuple

import numpy as np
import pytest

from algorithms import wang_discretizing_chain_fast as fast
from algorithms.slice_sampling import backward, forward, step_backward, step_forward
from algorithms.wang_discretizing_chain import plan, whole_chain_step
from conftest import Given
from departing import departs
from models.interface import Known, U, prepare
from normal import MODEL, Q, normal, subset
from normal import NEAR as STAR


class Stride(NamedTuple):
    """A step that adds something to a state forward, and something backward."""

    ahead: float | np.ndarray
    back: float | np.ndarray


def taken(q, model):
    return Known(q, U(q, model))


# for the interpreter only: compiled code takes no generator such as those below
forward.implementations[Stride] = lambda at, model, move, *_: taken(at.q + move.ahead, model)
backward.implementations[Stride] = lambda at, model, move, *_: taken(at.q + move.back, model)
LADDER = Stride(0.01, -0.01)


def interpreted(run, *arguments):
    """Run a mirror, or its lines of print, and the steps that it takes."""
    with pytest.MonkeyPatch.context() as patch:
        for each in (step_forward, step_backward):
            patch.setitem(run.__globals__, each.__name__, each.py_func)
        return run(*arguments)


def step(run, model, r, s, *uniforms):
    near = prepare(Q, model)
    here = fast.State(Q, near.U, near, prepare(Q, STAR))
    tallies = np.zeros(4, int), np.zeros(4, int)
    return *run(here, model, STAR, LADDER, r, s, *tallies, Given(uniforms=uniforms)), *tallies


@departs(whole_chain_step, {"L7": """
    if 0 <= k_ < K:
        log_ratio = (U(states[k_], pi_star) - U(states[k_], pi)
                     - (U(states[k], pi_star) - U(states[k], pi)))
        if rng.random() < np.exp(log_ratio):
            k = k_"""})
def test_a_mark_does_not_move_to_an_energy_that_is_not_finite(run):
    for beyond in (np.inf, np.nan, -np.inf):
        q = interpreted(run, Q, normal(MODEL.y, 0.205, beyond), STAR, LADDER, 1, 1, 3,
                        Given(uniforms=(0.4, 0.2, 0.5)))
        np.testing.assert_array_equal(q, Q)


def test_the_mark_goes_forward_and_back_and_pi_is_asked_once_a_step():
    # up, up, down, down, down: steps 2, 4, 2, 0, -2, all accepted
    here, chain, tally, _ = step(fast.discretizing_chain_step.py_func, MODEL, 5, 2,
                                 0.1, 0, 0.1, 0, 0.9, 0, 0.9, 0, 0.9, 0)
    np.testing.assert_array_equal(chain.steps, [2, 4, 2, 0, -2])
    np.testing.assert_array_equal(chain.steps, chain.proposed)
    np.testing.assert_array_equal(chain.cached, [False, False, True, True, False])
    np.testing.assert_array_equal(chain.ends, [-2, 4])
    assert tally[0] == 3 and chain.known.sum() == 4
    for k in range(-2, 5):
        np.testing.assert_allclose(chain.q[k], Q + 0.01 * k, rtol=0, atol=1e-15)  # rounding
        assert chain.U_star[k] == U(chain.q[k], STAR)
        assert not chain.known[k] or chain.U[k] == U(chain.q[k], MODEL)
    assert here.U == U(here.q, MODEL) and here.star.U == U(here.q, STAR)
    here, chain, *_ = step(fast.discretizing_chain_step.py_func, MODEL, 3, 1,
                           0.1, 0, 0.1, 0, 0.9, 0)
    assert chain.steps[-1] == 1 and chain.ends[1] == 2
    assert here.star.U == U(here.q, STAR) and here.near.U == here.U == U(here.q, MODEL)
    np.testing.assert_array_equal(here.star.q, here.q)
    np.testing.assert_array_equal(here.near.q, here.q)


@pytest.mark.parametrize("unit", ["variable", "sweep", "random"])
@pytest.mark.parametrize(("r", "s"), [(1, 1), (3, 2)])
def test_the_record_and_its_counts_are_true(unit, r, s):
    model, star = normal(MODEL.y), subset(MODEL, 3)
    chain = fast.discretizing_chain(Q, model, star, 1.0, 30, np.random.default_rng(1), r, s, unit,
                               marks=True)
    assert chain.counts.density == model.calls[0] - 1
    assert chain.counts.approximations.tolist() == [star.calls[0] - 1]
    mappings = 1 if unit == "sweep" else 2
    assert chain.accepted.shape == (30, mappings, r) == chain.marks.energies.shape
    assert 0 < chain.accepted.mean() < 1
    # every move of the mark asks for pi, or finds it
    assert chain.counts.density - 1 + chain.counts.cache_hits == 30 * mappings * r
    assert (chain.counts.cache_hits > 0) == (r > 1)
    np.testing.assert_array_equal(chain.marks.samples[:, -1, -1], chain.samples)
    np.testing.assert_array_equal(chain.marks.energies[:, -1, -1], chain.energies)
    # a move is by s steps, and one that is rejected by none
    moves = np.diff(chain.marks.steps, axis=2, prepend=0)
    np.testing.assert_array_equal(np.abs(moves), s * chain.accepted)
    energies = np.apply_along_axis(U, 3, chain.marks.samples, MODEL)
    np.testing.assert_allclose(chain.marks.energies, energies, rtol=0, atol=1e-12)
    bare = fast.discretizing_chain(Q, model, star, 1.0, 30, np.random.default_rng(1), r, s, unit)
    np.testing.assert_array_equal(bare.samples, chain.samples)
    assert bare.marks.samples.shape == (0, mappings, r, 2)


def test_counts_are_of_the_approximation_too_and_units_of_an_iteration():
    counts = fast.discretizing_chain(Q, MODEL, normal(MODEL.y[:3], 0.5), 1.0, 100,
                                np.random.default_rng(3), max_widths=1).counts
    assert counts.widths == 0 < counts.shrinkages  # an interval is one width, and no more
    assert counts.not_finite > 20  # of the approximation alone
    for unit, variables in (("variable", [[0], [1], [2]]), ("sweep", [[0, 1, 2]]),
                            ("random", [[0, 1, 2]] * 3)):
        found, at_random = plan(unit, 3)
        np.testing.assert_array_equal(found, variables)
        assert at_random == (unit == "random")


def test_there_is_room_for_a_million_steps():
    fast.check_discretizing(Q, MODEL, STAR, 1.0, 1, np.random.default_rng(1), 1000, 1000)
