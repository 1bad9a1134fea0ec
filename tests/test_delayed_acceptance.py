"""rivals/delayed_acceptance.py: transitions exactly, and what is asked."""

import numpy as np
import pytest

from algorithms.rivals import delayed_acceptance as delayed
from conftest import Given
from departing import departs
from enumeration import ROUNDING, proofs
from models.interface import U
from normal import MODEL, Q, normal, subset
from normal import NEAR as STAR

L = np.array([[0.5, 0.0], [-0.2, 0.4]])


@pytest.mark.parametrize("name", ["line", "square"])
def test_it_is_the_matrix_of_the_definition(name):
    P, _ = proofs()["walks"]
    for which, k in (("delayed", 1), (1, 1), (2, 2)):
        np.testing.assert_allclose(P[f"{which}, {name}"], P[f"formula {k}, {name}"],
                                   rtol=0, atol=ROUNDING)
    assert np.abs(P[f"1, {name}"] - P[f"2, {name}"]).max() > 0.01


def test_one_inner_step_is_delayed_acceptance_bit_for_bit():
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    here = other = delayed.State(Q, U(Q, MODEL), U(Q, STAR))
    tallies, seen = np.zeros((2, 3), int), set()
    for _ in range(100):
        here, *did = delayed.delayed_acceptance_step(here, MODEL, STAR, L, tallies[0], ours)
        other, *they = delayed.surrogate_transition_step(other, MODEL, STAR, L, 1, tallies[1],
                                                         theirs)
        np.testing.assert_array_equal(here.q, other.q)
        assert here[1:] == other[1:] == (U(here.q, MODEL), U(here.q, STAR)) and did == they
        seen.add(tuple(did))
    assert seen == {(False, False), (True, False), (True, True)}
    np.testing.assert_array_equal(*tallies)
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("inner", [1, 4])
def test_the_record_and_its_counts_are_true(inner):
    model, star = normal(MODEL.y), subset(MODEL, 3)
    chain = delayed.delayed_acceptance(Q, model, star, L, 100, np.random.default_rng(3), inner)
    assert chain.counts.density == model.calls[0] - 1 == 1 + chain.promoted.sum()
    assert chain.counts.approximations.tolist() == [star.calls[0] - 1] == [1 + 100 * inner]
    assert chain.counts.not_finite == 0
    assert 0 < chain.accepted.sum() < chain.promoted.sum() < 100
    assert not (chain.accepted & ~chain.promoted).any()
    moved = (np.diff([Q, *chain.samples], axis=0) != 0).any(axis=1)
    np.testing.assert_array_equal(moved, chain.accepted)


@departs(delayed.delayed_acceptance_step, {"L2": """
    U_star = evaluate(y, approximation, APPROXIMATION, tally)
    error = U_star - here.U_star
    promoted = rng.random() < np.exp(-error)""", "L6": """
    if rng.random() < np.exp(-error):
        return State(y, U_y, U_star), True, True
    return here, True, False"""})
def test_a_proposal_of_an_energy_that_is_not_finite_is_rejected(step):
    here = delayed.State(Q, U(Q, MODEL), U(Q, STAR))
    assert step(here, MODEL, STAR, L, np.zeros(3, int), Given(np.ones(Q.size)))[2]
    for beyond in (-np.inf, np.inf, np.nan):
        edge = normal(MODEL.y, 0.3, beyond)
        for model, star, promoted in ((edge, STAR, True), (MODEL, edge, False)):
            tally = np.zeros(3, int)
            found = step(here, model, star, L, tally, Given(np.ones(Q.size)))
            assert found[0] is here and found[1:] == (promoted, False) and tally[2] == 1


def test_steps_that_are_too_large_are_warned_of():
    with pytest.warns(RuntimeWarning, match="none of 10 proposals was accepted: take a smaller"):
        delayed.delayed_acceptance(Q, MODEL, STAR, 1e6 * L, 10, np.random.default_rng(1))
