"""algorithms/random_walk.py: each transition as written, then the distribution."""

from types import SimpleNamespace

import numpy as np

from algorithms.random_walk import random_walk, random_walk_step
from departing import departs
from models.gaussian import Gaussian
from models.interface import U

MODEL = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
Q = np.array([0.3, -1.1])


def test_compiled_transitions_are_the_mirrors_bit_for_bit():
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    chain = random_walk(Q, MODEL, 1.2, 200, ours)
    q, current_U = Q, U(Q, MODEL)
    for t in range(200):
        q, current_U, accepted, error = random_walk_step.py_func(q, current_U, MODEL, 1.2, theirs)
        np.testing.assert_array_equal(chain.samples[t], q)
        assert (chain.energies[t], chain.accepted[t], chain.energy_error[t]) == (
            current_U, accepted, error)
        assert current_U == U(q, MODEL)
    assert 0 < chain.accepted.sum() < 200
    assert chain.divergences == 0
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_the_proposal_has_standard_deviation_scale():
    # a flat density: every proposal is accepted
    flat = Gaussian(np.zeros(2), np.zeros((2, 2)))
    n = 40_000
    chain = random_walk(Q, flat, 0.7, n, np.random.default_rng(2))
    assert chain.accepted.all()
    steps = np.diff(chain.samples, axis=0) / 0.7
    assert (np.abs(steps.mean(0)) < 4 / n**0.5).all()
    assert (np.abs((steps**2).mean(0) - 1) < 4 * (2 / n) ** 0.5).all()


def test_thinning_keeps_every_thin_th_state():
    whole = random_walk(Q, MODEL, 1.0, 60, np.random.default_rng(3))
    thinned = random_walk(Q, MODEL, 1.0, 20, np.random.default_rng(3), thin=3)
    np.testing.assert_array_equal(thinned.samples, whole.samples[2::3])
    np.testing.assert_array_equal(thinned.energies, whole.energies[2::3])
    np.testing.assert_array_equal(thinned.accepted, whole.accepted)
    np.testing.assert_array_equal(thinned.energy_error, whole.energy_error)
    assert thinned.counts == whole.counts == (61, 0)


def test_moments_of_a_gaussian():
    n = 40_000
    chain = random_walk(Q, MODEL, 1.5, n, np.random.default_rng(4), thin=5)
    assert 0.3 < chain.accepted.mean() < 0.7
    S = np.linalg.inv(MODEL.precision)
    x = chain.samples - MODEL.mean
    for values, exact in ((x[:, 0], 0), (x[:, 1], 0), (x[:, 0] ** 2, S[0, 0]),
                          (x[:, 1] ** 2, S[1, 1]), (x[:, 0] * x[:, 1], S[0, 1])):
        batches = values.reshape(200, -1).mean(1)
        assert abs(batches.mean() - exact) < 4 * batches.std(ddof=1) / 200**0.5


@departs(random_walk_step, {"L3": "if rng.random() < np.exp(-error):"})
def test_an_error_that_is_not_finite_is_rejected_whatever_its_sign(random_walk_step):
    one = SimpleNamespace(standard_normal=np.ones, random=lambda: 0.0)
    assert random_walk_step(Q, U(Q, MODEL), MODEL, 0.1, one)[2]
    for energy in (np.inf, -np.inf, np.nan):
        q, current_U, accepted, error = random_walk_step(Q, energy, MODEL, 0.1, one)
        assert not accepted and not np.isfinite(error)
        assert q is Q and current_U is energy
