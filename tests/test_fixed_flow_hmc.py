"""The authors' variant of Algorithm 1 of Split HMC."""

import numpy as np
import pytest

from algorithms.fixed_flow_hmc import fixed_flow_hmc, fixed_flow_step
from algorithms.shahbaba_split_hmc import exact_flow, follow
from algorithms.shahbaba_split_hmc_fast import normal_state
from models.interface import U
from reproduce.shahbaba import chains


@pytest.fixture(scope="module")
def stage():
    return chains.problem("illustrative data of slope 5, seed 1", 0.4)


def test_a_chain_has_one_flow_and_a_step_drawn_for_each_transition(stage):
    model, fit, _ = stage
    q, ours, theirs = fit.q_hat + 0.1, np.random.default_rng(1), np.random.default_rng(1)
    chain = fixed_flow_hmc(q, model, fit, 0.3, 4, 6, ours, 0.2, 0.9)
    state = normal_state(q, model, fit)
    for t in range(6):
        state, accepted, error = fixed_flow_step(
            state, model, fit, exact_flow(fit, 0.27), 0.3 - 0.06 * theirs.random(), 4, theirs)
        np.testing.assert_array_equal(chain.samples[t], state.q)
        assert (chain.accepted[t], chain.energy_error[t]) == (accepted, error)
        assert chain.energies[t] == state.U
    assert chain.counts == (25, 25.0, 4.0)  # the start, and four gradients a transition


def trajectory(x, stage, eps, L, time):
    """Follow the variant's trajectory from x = (q, p) by its definition: L whole steps."""
    (model, fit, _), q, p = stage, x[:3], x[3:]
    for _ in range(L):
        p = p - eps / 2 * normal_state(q, model, fit).g_1
        q, p = follow(exact_flow(fit, time), q - fit.q_hat, p)
        q = q + fit.q_hat
        p = p - eps / 2 * normal_state(q, model, fit).g_1
    return np.concatenate([q, p])


def test_the_variant_makes_l_steps_and_its_error_is_that_of_the_last(stage):
    model, fit, _ = stage
    for L in (1, 2, 5):
        start = normal_state(fit.q_hat + 0.2, model, fit)
        state, accepted, error = fixed_flow_step(
            start, model, fit, exact_flow(fit, 0.27), 0.25, L, np.random.default_rng(3))
        p = np.random.default_rng(3).standard_normal(3)
        end = trajectory(np.concatenate([start.q, p]), stage, 0.25, L, 0.27)
        assert accepted and error == pytest.approx(  # to rounding of energies of order 50
            U(end[:3], model) + end[3:] @ end[3:] / 2 - start.U - p @ p / 2, abs=1e-12)
        np.testing.assert_allclose(state.q, end[:3], rtol=0, atol=1e-13)  # the same, reordered


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_both_ends_of_the_range_of_steps_are_taken(stage, jitter):
    model, fit, _ = stage
    assert fixed_flow_hmc(fit.q_hat, model, fit, 0.3, 2, 3, np.random.default_rng(1), jitter,
                          0.9).samples.shape == (3, 3)


@pytest.mark.parametrize(("change", "said"), [
    (dict(eps=0.0), "^eps and share must"), (dict(eps=np.inf), "^eps and share must"),
    (dict(share=np.nan), "^eps and share must"), (dict(share=-0.9), "^eps and share must"),
    (dict(jitter=1.1), "^jitter must"), (dict(jitter=-0.1), "^jitter must"),
    (dict(L=0), "^L and n must"), (dict(n=0), "^L and n must"),
    (dict(q0=np.zeros(4)), "^q0 must have"), (dict(q0=np.array([0, np.nan, 0])), "^q0 must be")])
def test_what_makes_no_chain_is_refused(stage, change, said):
    model, fit, _ = stage
    given = dict(q0=fit.q_hat, eps=0.3, L=2, n=3, jitter=0.2, share=0.9) | change
    with pytest.raises(ValueError, match=said):
        fixed_flow_hmc(model=model, fit=fit, rng=np.random.default_rng(1), **given)
