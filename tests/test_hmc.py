"""algorithms/hmc.py: the trajectory by hand, the test of its end, and the record."""

import numpy as np
import pytest

from algorithms import hmc as module
from algorithms.hmc import hmc, hmc_step, state_at, trajectory
from conftest import Given, counted, one
from departing import departs
from models.gaussian import Gaussian
from models.interface import U, grad_U

MODEL = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
Q, KICK = np.array([0.3, -1.1]), np.array([0.7, -0.4])
MASS = np.array([[1.5, 0.4], [0.4, 0.8]])
masses = pytest.mark.parametrize("M", [None, MASS], ids=["unit masses", "mass matrix"])


def endpoint(q, p, eps, L, M, u=0.0):
    """Where a trajectory from (q, p) ends; a second one back gives the momentum."""
    L_M, z = (None, p) if M is None else (L_M := np.linalg.cholesky(M), np.linalg.solve(L_M, p))
    return hmc_step.py_func(state_at(q, MODEL), MODEL, eps, L, L_M, Given(z, uniforms=[u]))


def test_a_trajectory_ends_where_that_of_a_transition_does():
    for L in range(1, 5):
        path, energies = trajectory(Q, KICK, MODEL, 0.3, L)
        assert path.shape == (L + 1, 2) and np.array_equal(path[0], Q)
        assert energies[0] == U(Q, MODEL) + KICK @ KICK / 2
        for k in range(1, L + 1):
            end, _, error = endpoint(Q, KICK, 0.3, k, None)
            np.testing.assert_allclose(path[k], end.q, rtol=1e-13)  # half steps joined
            assert energies[k] - energies[0] == pytest.approx(error, abs=1e-13)


def test_a_momentum_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"^p must have shape \(2,\), as q has, not \(1,\)"):
        trajectory(Q, KICK[:1], MODEL, 0.3, 2)


@masses
def test_leapfrog_is_equation_9(M):
    M_inv, q, r = np.eye(2) if M is None else np.linalg.inv(M), Q, KICK
    for _ in range(4):
        r = r - 0.15 * grad_U(q, MODEL)
        q = q + 0.3 * M_inv @ r
        r = r - 0.15 * grad_U(q, MODEL)
    ours, _, error = endpoint(Q, KICK, 0.3, 4, M)
    np.testing.assert_allclose(ours.q, q, rtol=1e-13)
    assert ours.U == U(ours.q, MODEL)  # what is known of a state is carried to the next transition
    np.testing.assert_array_equal(ours.g, grad_U(ours.q, MODEL))
    assert error == pytest.approx(
        U(q, MODEL) + r @ M_inv @ r / 2 - U(Q, MODEL) - KICK @ M_inv @ KICK / 2, abs=1e-13)
    back, _, error_back = endpoint(q, -r, 0.3, 4, M)  # reversible
    np.testing.assert_allclose(back.q, Q, rtol=0, atol=1e-13)
    assert error_back == pytest.approx(-error, abs=1e-13)


@masses
def test_a_proposal_is_taken_with_probability_exp_of_minus_its_error(M):
    _, _, error = endpoint(Q, KICK, 1.2, 4, M)
    assert error > 0.05
    for u, taken in ((0.999 * np.exp(-error), True), (1.001 * np.exp(-error), False)):
        assert endpoint(Q, KICK, 1.2, 4, M, u)[1] == taken


@pytest.mark.parametrize("jitter", [0.0, 0.2, 1.0])
def test_one_uniform_before_the_normals_draws_the_step_size(jitter):
    ours, theirs, state = np.random.default_rng(7), np.random.default_rng(7), state_at(Q, MODEL)
    for q in hmc(Q, MODEL, 0.3, 5, 100, ours, jitter=jitter).samples:
        step = 0.3 * (1 - jitter * theirs.random()) if jitter else 0.3
        state = hmc_step(state, MODEL, step, 5, None, theirs)[0]
        # eps - jitter eps u and eps (1 - jitter u) round differently, and L steps pass it on
        np.testing.assert_allclose(q, state.q, rtol=0, atol=1e-12 if jitter else 0)
    assert ours.bit_generator.state == theirs.bit_generator.state


@departs(hmc_step, {"L14": "if rng.random() < np.exp(-error):"})
def test_an_error_that_is_not_finite_is_rejected_whatever_its_sign(hmc_step):
    for energy in (np.inf, -np.inf, np.nan):
        here = state_at(Q, MODEL)._replace(U=energy)
        state, accepted, error = hmc_step(here, MODEL, 0.1, 2, None, Given(np.ones(2)))
        assert not accepted and not np.isfinite(error) and state is here


def test_counts_are_what_was_done(monkeypatch):
    done = counted(monkeypatch, module, ["hmc_step", "state_at"],
                   {"U_and_grad_U": one, "grad_U": one})
    counts = hmc.py_func(Q, MODEL, 0.1, 7, 5, np.random.default_rng(0)).counts
    assert counts.density == done["U_and_grad_U"] == 5 + 1
    assert counts.gradient == sum(done.values()) == 5 * 7 + 1


def test_a_chain_that_accepts_nothing_warns_and_a_short_one_does_not():
    with pytest.warns(RuntimeWarning, match="none of 10 proposals was accepted; 10 of them"
                                            " diverged: take a smaller step"):
        chain = hmc(Q, MODEL, 1e200, 1, 10, np.random.default_rng(1))
    assert chain.divergences == 10 and not chain.accepted.any()
    np.testing.assert_array_equal(chain.samples, np.tile(Q, (10, 1)))
    assert hmc(Q, MODEL, 1e200, 1, 9, np.random.default_rng(1)).divergences == 9
    assert hmc(Q, MODEL, 0.2, 5, 10, np.random.default_rng(1)).accepted.any()
