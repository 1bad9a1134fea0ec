"""rivals/fitted_walk.py and random_walk.py: each transition exactly, and the pilot by hand."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.random_walk import random_walk, random_walk_step
from algorithms.rivals import fitted_walk as module
from algorithms.rivals.fitted_walk import fitted_walk, fitted_walk_step, pilot, walk_factor
from departing import departs
from models.gaussian import Gaussian
from models.interface import U

MODEL = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
Q = np.array([0.3, -1.1])
L = np.array([[0.9, 0.0], [-0.4, 1.3]])
WALKS = {"random": (random_walk, random_walk_step, 1.2),
         "fitted": (fitted_walk, fitted_walk_step, L)}
each_walk = pytest.mark.parametrize(("walk", "step", "scale"), WALKS.values(), ids=WALKS)


@each_walk
def test_compiled_transitions_are_the_mirrors_bit_for_bit(walk, step, scale):
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    chain = walk(Q, MODEL, scale, 60, ours, thin=3)  # of which every third is kept
    q, current_U = Q, U(Q, MODEL)
    for t in range(180):
        q, current_U, accepted, error = step.py_func(q, current_U, MODEL, scale, theirs)
        assert (chain.accepted[t], chain.energy_error[t]) == (accepted, error)
        assert current_U == U(q, MODEL)
        if t % 3 == 2:
            np.testing.assert_array_equal(chain.samples[t // 3], q)
            assert chain.energies[t // 3] == current_U
    assert 0 < chain.accepted.sum() < 180 and chain.divergences == 0 and chain.counts == (181, 0)
    assert ours.bit_generator.state == theirs.bit_generator.state


@each_walk
def test_the_proposals_have_the_covariance_of_the_factor(walk, step, scale):
    flat = Gaussian(np.zeros(2), 1e-300 * np.eye(2))  # every proposal is accepted
    chain = walk(Q, flat, scale, 50, np.random.default_rng(2))
    z, factor = np.random.default_rng(2), L if walk is fitted_walk else scale * np.eye(2)
    for before, after in zip([Q, *chain.samples], chain.samples, strict=False):
        np.testing.assert_allclose(after - before, factor @ z.standard_normal(2),
                                   rtol=0, atol=1e-13)
        z.random()


@departs(fitted_walk_step, {"L3": "if rng.random() < np.exp(-error):"})
def test_an_error_that_is_not_finite_is_rejected_whatever_its_sign(fitted_walk_step):
    rejects_what_is_not_finite(fitted_walk_step, L)


def rejects_what_is_not_finite(step, scale):
    """Assert it of a step of either walk, which takes a proposal of a finite energy."""
    one = SimpleNamespace(standard_normal=np.ones, random=lambda: 0.0)
    assert step(Q, U(Q, MODEL), MODEL, scale, one)[2]
    for energy in (np.inf, -np.inf, np.nan):
        q, current_U, accepted, error = step(Q, energy, MODEL, scale, one)
        assert not accepted and not np.isfinite(error) and q is Q and current_U is energy


def test_the_pilot_by_hand():
    rng = np.random.default_rng(4)
    found = pilot(Q, MODEL, 30, np.random.default_rng(4), rounds=3, scale=0.7)
    factor, q = 0.7 * np.eye(2), Q
    for k in range(3):
        chain = fitted_walk(q, MODEL, factor, 30, rng)
        q = chain.samples[-1]
        covariance = np.cov(chain.samples.T) + 1e-6 * np.eye(2)
        factor = np.linalg.cholesky(2.38**2 / 2 * covariance)
        assert found.accepted[k] == chain.accepted.mean()
    np.testing.assert_array_equal(found.q, q)
    np.testing.assert_allclose(found.covariance, covariance, rtol=0, atol=1e-14)  # sums of 30
    np.testing.assert_allclose(found.factor, factor, rtol=0, atol=1e-13)
    assert found.density == 3 * 31


@pytest.mark.parametrize(("accepted", "rounds", "said"), [
    (9, 2, "accepted 0.90%: take more rounds"), (10, 2, ""), (900, 2, ""), (901, 1, ""),
    (901, 2, "accepted 90.10%: it does not know yet how wide the density is"),
    (9, 1, "accepted 0.90%: take more rounds")])
def test_a_pilot_whose_last_round_accepts_too_few_or_too_many_is_warned_of(
        accepted, rounds, said, monkeypatch):
    # the steps of the first round may well be small
    shares = iter([500] * (rounds - 1) + [accepted])
    monkeypatch.setattr(module, "fitted_walk", lambda q, model, factor, n, rng: SimpleNamespace(
        samples=rng.standard_normal((n, 2)), accepted=np.arange(1000) < next(shares),
        counts=SimpleNamespace(density=n + 1)))
    with warnings.catch_warnings(record=True, action="always") as heard:
        pilot(Q, MODEL, 40, np.random.default_rng(0), rounds)
    assert [said in str(each.message) for each in heard] == [True] * bool(said)


@pytest.mark.parametrize("covariance, message", [
    (np.ones((2, 3)), "square"), ([[1.0, 0.5], [0.2, 1.0]], "symmetric"),
    (-np.eye(2), "positive definite")])
def test_a_covariance_that_is_none_is_named(covariance, message):
    with pytest.raises(ValueError, match=f"^covariance must be {message}"):
        walk_factor(covariance)
