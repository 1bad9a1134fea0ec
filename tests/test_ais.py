"""algorithms/ais.py: exact identities of the weights, its transitions, ladders and estimates."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

from algorithms import ais as annealed
from algorithms import hmc, paquet_rmhmc, paquet_rmhmc_fast
from algorithms.ais import HMC, RMHMC, RMHMCMirror, ais, ais_run, combine, geometric_ladder
from algorithms.ep_fast import ep
from departing import departs
from models.covariance import squared_exponential
from models.gp_classification import GPClassification, draw_q, temper
from models.interface import U
from reproduce.paquet.digits import digits_3v5
from reproduce.paquet.problem import problem

X = np.random.default_rng(0).standard_normal((3, 2))
K = squared_exponential(X, X, 0.3, 1.0)
Y = np.array([1.0, 1.0, -1.0])
Q = SimpleNamespace(tau=np.array([0.4, 0.2, 0.5]), nu=0.4 * Y, converged=True)
PRIOR, FROM_Q = GPClassification.from_prior(K, Y), GPClassification.from_ep(K, Y, Q)
both_models = pytest.mark.parametrize("model", [PRIOR, FROM_Q], ids=["prior", "q"])


@departs(ais_run, {"L5": """
    if k < B:
        x, accepted[k - 1], energy_error[k - 1] = transition(x, temper(model, betas[k]), kernel,
                                                             rng)"""})
def test_weights_are_the_telescoping_sum_of_L(ais_run):
    betas, states = geometric_ladder(5, 0.1), []

    def spy(x, annealed, kernel, rng):
        states.append((x, annealed.beta))
        return x + 0.1 * len(states), True, 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ais_run.__globals__, "transition", spy)
        for model in (PRIOR, FROM_Q):
            states.clear()
            log_w, x, *_ = ais_run(model, betas, HMC(0.1, 1), np.random.default_rng(0))
            assert [beta for _, beta in states] == betas[1:].tolist()
            expected = sum(U(x, temper(model, b0)) - U(x, temper(model, b1))
                           for (x, b1), b0 in zip(states, betas[:-1], strict=True))
            assert log_w == pytest.approx(expected, rel=1e-11)  # rounding: differences of some 100
            np.testing.assert_array_equal(x, states[-1][0] + 0.1 * len(states))


@pytest.mark.parametrize("kernel, run", [
    (HMC(0.9, 3), lambda x, model, rng: hmc.hmc(x, model, 0.9, 3, 1, rng)),
    (RMHMC(0.9, 3, 2), lambda x, model, rng: paquet_rmhmc_fast.rmhmc(x, model, 3, 0.9, 1, rng, 2)),
    (RMHMCMirror(0.9, 3, 2), lambda x, model, rng: paquet_rmhmc.rmhmc(x, model, 3, 0.9, 1, rng, 2)),
], ids=["HMC", "RMHMC", "RMHMCMirror"])
def test_a_run_makes_one_transition_of_its_sampler_at_each_rung_in_order(kernel, run):
    betas = geometric_ladder(6, 0.05)
    result = ais(FROM_Q, betas, kernel, 10, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    for r in range(10):
        x = draw_q(FROM_Q, rng)
        for k, beta in enumerate(betas[1:]):
            chain = run(x, temper(FROM_Q, beta), rng)
            x = chain.samples[0]
            assert (result.accepted[r, k], result.energy_error[r, k]) == (
                chain.accepted[0], chain.energy_error[0])
        np.testing.assert_array_equal(result.samples[r], x)
    assert 0 < result.accepted.sum() < result.accepted.size


@pytest.mark.parametrize("kernel", [HMC(1e200, 5), RMHMC(1e200, 4, 5), RMHMCMirror(1e200, 4, 5)])
def test_divergences_are_counted_and_the_run_goes_on(kernel):
    result = ais(PRIOR, geometric_ladder(4, 0.1), kernel, 3, np.random.default_rng(6))
    np.testing.assert_array_equal(result.divergences, 4)
    assert np.isfinite(result.log_weights).all() and not result.accepted.any()


@pytest.mark.parametrize("B, beta_min", [(1, 1.0), (2, 0.3), (12, 1e-3), (2000, 1e-7)])
def test_geometric_ladder(B, beta_min):
    betas = geometric_ladder(B, beta_min)
    assert betas.shape == (B + 1,) and betas[0] == 0.0 and betas[-1] == 1.0
    assert betas[1] == pytest.approx(beta_min, rel=1e-12)
    ratio = beta_min ** (-1 / max(B - 1, 1))
    np.testing.assert_allclose(betas[2:] / betas[1:-1], ratio, rtol=1e-10)


def test_combine_is_the_log_of_the_mean_weight():
    log_w = np.random.default_rng(7).standard_normal(50) - 2000.0  # exp underflows
    estimate = combine(log_w)
    assert estimate.log_Z == pytest.approx(logsumexp(log_w) - np.log(50), rel=1e-14)
    w = np.exp(log_w + 2000)
    assert estimate.standard_error == pytest.approx(w.std(ddof=1) / w.mean() / 50**0.5)
    assert estimate.effective_runs == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert combine([3.0, 3.0, 3.0, 3.0]) == pytest.approx((3.0, 0.0, 4.0))
    assert combine([1.0, -np.inf]) == pytest.approx((1 - np.log(2), 1.0, 1.0))
    assert combine([-np.inf, -np.inf]) == pytest.approx((-np.inf, np.nan, 0.0), nan_ok=True)
    assert combine([-2.0]) == pytest.approx((-2.0, np.nan, 1.0), nan_ok=True)


@pytest.mark.parametrize("name, kernel", [
    ("eps", HMC(0.0, 3)), ("l_max", HMC(0.1, 0)), ("f_max", RMHMC(0.1, 3, 0)),
    ("l_max", RMHMC(0.1, 2.5, 5)), ("eps", RMHMCMirror(-0.1, 3, 5))])
def test_bad_kernels_are_named(name, kernel):
    with pytest.raises(ValueError, match=f"^{name} must"):
        ais(PRIOR, geometric_ladder(3, 0.1), kernel, 2, np.random.default_rng(0))


def test_one_case_has_the_last_step_of_a_half_normal():
    K, y, q = problem(digits_3v5().name, 1)
    # the posterior is nearly half a normal: variance K (1 - 2 / pi), so that tau K = 2 / (pi - 2)
    assert annealed.last_step(y, q) == pytest.approx((math.pi - 2) / 2, abs=2e-3)  # K is 27000
    assert annealed.last_step(y, q) == pytest.approx(1 / (K[0, 0] * q.tau[0]), rel=1e-6)
    assert ep(K, y).log_Z == pytest.approx(math.log(0.5), abs=1e-12)


def test_a_case_on_the_wrong_side_shortens_the_last_step():
    K = np.full((3, 3), 0.9) + 0.1 * np.eye(3)  # all cases are much alike, and one label is another
    q = ep(K, Y)
    assert (Y * q.mu > 0).tolist() == [True, True, False]
    D, prior = annealed.last_step(Y, q), q.mu @ np.linalg.solve(K, q.mu)
    # where the exponent along the mean is 0
    assert D * q.tau @ q.mu**2 - (1 + D) * q.mu[2] ** 2 == pytest.approx(prior, rel=1e-9)
