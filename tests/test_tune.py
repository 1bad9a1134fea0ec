"""sampling/tune.py: the steps are those whose acceptance rate is the target, whatever the first."""

import warnings
from itertools import cycle
from types import SimpleNamespace as Drawn  # what a made-up sampler returns

import numpy as np
import pytest

from algorithms.hmc import hmc
from algorithms.hoffman_nuts_fast import nuts
from algorithms.rivals.fitted_walk import fitted_walk
from algorithms.zhang_sshmc_fast import sshmc
from models.gaussian import Gaussian
from sampling.problems import volatility
from sampling.tune import acceptance, tune

NORMAL = Gaussian(np.zeros(10), np.eye(10))


def exact(q0, eps, n, rng):
    """Accept with probability exp(-eps), and move by 1 each time."""
    return Drawn(samples=q0 + np.arange(1.0, n + 1)[:, None], energy_error=np.full(n, eps))


def exact_blocks(theta0, phi0, eps_theta, eps_phi, n, rng):
    """Accept with probability exp(-eps_theta - (10 eps_phi)^2)."""
    way = np.arange(1.0, n + 1)[:, None]
    return Drawn(theta=theta0 + way, phi=phi0 - way,
                 energy_error=np.full(n, eps_theta + 100 * eps_phi**2))


def one_by_one(theta0, phi0, eps_theta, eps_phi, n, rng):
    """Accept one block with probability exp(-eps_theta), the other with exp(-10 eps_phi)."""
    return Drawn(theta=np.tile(theta0, (n, 1)), phi=np.tile(phi0, (n, 1)),
                 energy_error=np.tile([eps_theta, 10 * eps_phi], (n, 1)))


@pytest.mark.parametrize("target", [0.3, 0.8])
@pytest.mark.parametrize("first", [1e-3, 0.2, 50.0])
def test_a_step_with_a_known_rate_is_found(first, target):
    tuned = tune(exact, np.zeros(1), first, target=target, rng=None)
    np.testing.assert_allclose(np.exp(-tuned.steps["eps"]), target, atol=0.02)
    assert tuned.start == (300.0,)
    assert abs(tuned.rate - target) < 0.06


def test_the_logs_of_the_steps_of_the_last_half_are_averaged():
    errors = cycle([0.0, np.inf])  # all is accepted, then nothing: a crossing in every round
    tuned = tune(lambda q0, eps, n, rng: exact(q0, next(errors), n, rng), np.zeros(1), 0.2,
                 target=0.5, rng=None)
    moves = [np.log(4.0), *((-1) ** k * 1.5 / (1 + k / 2) for k in range(1, 15))]
    assert tuned.steps["eps"] == pytest.approx(0.2 * np.exp(np.cumsum(moves)[7:].mean()))


def test_a_pilot_goes_on_from_its_last_state_where_the_start_is_x0():
    tuned = tune(lambda x0, eps, n, rng: exact(x0, eps, n, rng), np.zeros(1), 0.2, rng=None)
    assert tuned.start == (300.0,)


def test_each_block_has_the_same_share_of_the_error():
    tuned = tune(exact_blocks, np.zeros(1), np.zeros(1), eps_theta=3.0, eps_phi=1e-3, rng=None)
    share = -np.log(0.8) / 2
    np.testing.assert_allclose(list(tuned.steps.values()), [share, np.sqrt(share) / 10], rtol=0.18)
    assert list(tuned.steps) == ["eps_theta", "eps_phi"]
    assert tuned.start == (1200.0, -1200.0)


def test_of_blocks_that_are_accepted_one_by_one_the_worse_has_the_target():
    tuned = tune(one_by_one, np.zeros(1), np.zeros(1), eps_theta=3.0, eps_phi=1e-3, rng=None)
    errors = tuned.steps["eps_theta"], 10 * tuned.steps["eps_phi"]
    assert max(errors) == pytest.approx(-np.log(0.8), rel=0.05)
    np.testing.assert_allclose(*errors, rtol=0.3)


def test_acceptance_is_the_mean_probability_and_nothing_where_the_error_is_not_finite():
    errors = np.array([np.nan, np.inf, -np.inf, -1.0, np.log(2.0)])
    assert acceptance(errors) == pytest.approx(1.5 / 5)
    assert acceptance(np.column_stack([errors, np.zeros(5)])) == pytest.approx(1.5 / 5)


@pytest.mark.parametrize(("eps", "target"), [(1e-3, 0.65), (40.0, 0.9)])
def test_hamiltonian_monte_carlo_accepts_as_often_as_it_was_to(eps, target):
    rng = np.random.default_rng(2)
    with warnings.catch_warnings(record=True) as said:  # of a round that accepts nothing
        tuned = tune(hmc, np.full(10, 5.0), NORMAL, L=3, eps=eps, target=target, rng=rng)
    assert not said
    chain = hmc(*tuned.start, NORMAL, **tuned.steps, L=3, n=4000, rng=rng)
    assert abs(chain.accepted.mean() - target) < 0.07
    assert np.abs(tuned.start[0]).max() < 4.5  # the pilot has left where it began


def test_both_steps_of_a_hierarchical_model_are_found():
    rng = np.random.default_rng(3)
    problem, fixed = volatility(rng.standard_normal(50)), {"L": 10, "jitter": 0.2, "rng": rng}
    tuned = tune(sshmc, *problem.start, problem.model, eps_theta=1e-3, eps_phi=5.0, **fixed)
    chain = sshmc(*tuned.start, problem.model, **tuned.steps, n=1000, **fixed)
    assert abs(acceptance(chain.energy_error) - 0.8) < 0.1
    assert min(np.ptp(chain.theta[:, 0]), np.ptp(chain.phi[:, 0])) > 0.1  # both blocks move


@pytest.mark.parametrize(("error", "rate"), [(np.inf, "0.00"), (0.0, "1.00")])
def test_a_target_that_no_step_has_is_warned_of(error, rate):
    def hopeless(q0, eps, n, rng):
        return Drawn(samples=np.tile(q0, (n, 1)), energy_error=np.full(n, error))

    for target in (0.8, 0.05):
        with pytest.warns(RuntimeWarning, match=f"the pilot accepts {rate}, not {target}"):
            tune(hopeless, np.zeros(1), 1.0, rng=None, target=target)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: tune(nuts, np.zeros(10), NORMAL, rng=None), "nuts and slices need no step"),
    (lambda: tune(fitted_walk, np.zeros(10), NORMAL, rng=None), "fitted_walk.pilot"),
    (lambda: tune(7), "sampler must have eps, or eps_theta and eps_phi.* not be 7"),
    (lambda: tune(int), "sampler must have eps, or eps_theta and eps_phi.* not be 'int'"),
    (lambda: tune(exact, np.zeros(1), 1.0, n=5, rng=None), "n must be left out"),
    (lambda: tune(sshmc, keep=[0]), "keep must be left out"),
    (lambda: tune(exact, np.zeros(1), 1.0, rng=None, target=1.0), r"target .* \(0, 1\), not 1.0"),
    (lambda: tune(hmc, np.zeros(10), NORMAL, 0.1, 2, 9, None), "n must be left out"),
    (lambda: tune(exact, np.zeros(1), 1.0, rng=None, target=0), "target must"),
    (lambda: tune(hmc, np.zeros(3), NORMAL, eps=0.1, L=2, rng=np.random.default_rng(1)), "q0 must"),
    (lambda: tune(hmc, np.zeros(10), NORMAL, L=2, rng=None), "required argument: 'eps'"),
    (lambda: tune(hmc, np.zeros(10), NORMAL, eps=0.1, L=2, rng=None, chains=4),
     r"tune\(\) got .* 'chains'; it takes target, and what"),
])
def test_a_wrong_argument_is_named(call, said):
    with pytest.raises((ValueError, TypeError), match=said):
        call()


def test_a_sampler_of_ones_own_is_tuned_or_refused_with_a_reason():
    def heated(q0, eps, n, rng, temp0=1.0):
        return Drawn(samples=np.tile(q0, (n, 1)), energy_error=np.full(n, eps * temp0))

    tuned = tune(heated, np.zeros(1), 1.0, rng=None, temp0=2.0)
    assert abs(np.exp(-2 * tuned.steps["eps"]) - 0.8) < 0.02 and len(tuned.start) == 1
    with pytest.raises(ValueError, match="sampler must return energy_error"):
        tune(lambda q0, eps, n, rng: (np.tile(q0, (n, 1)),), np.zeros(1), 1.0, rng=None)
