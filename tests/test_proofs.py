"""Transition matrices of walks, slices, discretizing chains and tempered transitions: exact."""

import numpy as np
import pytest

from departing import departs
from enumeration import ROUNDING, proofs

SEEN = 1e-4  # a bias that is none of rounding


def test_walks_leave_their_densities_as_they_are_and_are_reversible():
    _, errors = proofs()["walks"]
    assert len(errors) == 18 and {name for name in errors if not errors[name] < ROUNDING} == set()


def test_a_slice_update_is_reversible_whatever_its_widths_and_their_limit():
    found = proofs()["slices"]["slices"]
    for error, P in found.values():
        assert error < ROUNDING
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=0, atol=ROUNDING)
    # the limit binds: a state three away is not reached with one width of three, nor with two of
    # one, and with a width of one and no step out nothing moves
    np.testing.assert_allclose(found[1, 1][1], np.eye(9), rtol=0, atol=ROUNDING)
    assert found[3, 1][1][0, 3] == 0 < found[3, 1][1][0, 2]
    assert found[1, 4][1][0, 4] == 0 < found[2, 9][1][0, 4]


def test_a_sweep_and_its_reverse():
    slices = proofs()["slices"]
    assert slices["in sequence"]["reverse"] < ROUNDING
    for name in ("in sequence", "at random"):
        assert slices[name]["forward"] < ROUNDING and slices[name]["backward"] < ROUNDING
    # one at random is its own reverse
    assert slices["at random"]["naive"] < ROUNDING and slices["in sequence"]["naive"] > SEEN


@departs("reverse", "naive")
def test_the_naive_reverse_is_biased(which):
    assert max(proofs()["chains"][which].values()) < ROUNDING


def test_a_chain_of_any_length_simulated_as_a_whole_is_exact():
    assert len(proofs()["chains"]["whole"]) == 3 + 5 + 5
    # K W_K sums over the step k that is marked first; from K = 2 r s on, one more k is out of reach
    # of both ends, and adds the transition of an infinite chain
    for which in ("whole", "limit"):
        assert max(proofs()["chains"][which].values()) < ROUNDING


def test_one_move_of_one_step_is_a_metropolis_step():
    assert proofs()["chains"]["metropolis"] < ROUNDING


@departs("reverse", "naive")
def test_the_naive_reverse_of_tempered_transitions_is_biased(which):
    assert max(proofs()["layers"][which].values()) < ROUNDING


@pytest.mark.parametrize("of", ["chains", "layers"])
def test_the_naive_reverse_is_biased_for_every_r_s_and_number_of_layers(of):
    assert min(proofs()[of]["naive"].values()) > SEEN


@pytest.mark.parametrize("k", [1, 2])
def test_one_layer_is_a_discretizing_chain_of_two_steps_and_of_no_fewer(k):
    assert proofs()["layers"]["same"][k, 2 * k] < ROUNDING
    assert proofs()["layers"]["same"][k, 2 * k - 1] > SEEN
