"""The chains behind Tables 1 and 2 of Split HMC."""

import numpy as np
import pytest

from algorithms.ess import batch_means, initial_sequence
from algorithms.fixed_flow_hmc import fixed_flow_hmc
from models.interface import U
from reproduce import shahbaba_table1 as table1
from reproduce.shahbaba import chains

DATA = "illustrative data of slope 5, seed 1"


@pytest.fixture(scope="module")
def stage():
    return chains.problem(DATA, 0.4)


def test_the_step_is_drawn_from_0_8_eps_to_eps(stage):
    # one step so short that it is always taken, and q moves by eps p: the step can be read off
    for seed in range(20):
        ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        chain = chains.transitions("HMC", stage[1].q_hat, stage, 1e-4, 1, 1, 1, ours)
        fraction = 1 - 0.2 * theirs.random()  # of eps, if the step is drawn first
        # the gradient, 1e-8 at the mode, and curvature, of order 10, change p by 1e-3 of itself
        np.testing.assert_allclose(chain.samples[0] - stage[1].q_hat,
                                   1e-4 * fraction * theirs.standard_normal(3), rtol=0, atol=1e-6)


def test_the_variants_flow_lasts_0_9_eps_whatever_the_step(stage):
    model, fit, _ = stage
    ours = chains.transitions(chains.AUTHORS, fit.q_hat, stage, 0.3, 5, 1, 50,
                              np.random.default_rng(1))
    theirs = fixed_flow_hmc(fit.q_hat, model, fit, 0.3, 5, 50, np.random.default_rng(1), 0.2, 0.9)
    np.testing.assert_array_equal(ours.energy_error, theirs.energy_error)
    np.testing.assert_array_equal(ours.samples, theirs.samples)


@pytest.mark.parametrize("method", chains.ALL)
def test_a_replicate_says_of_its_chain_what_the_tables_need(stage, method):
    model = stage[0]
    result = table1.one_chain(DATA, method, 0.3, 3, 2, 0.4, 200, [3, 4])
    chain = chains.transitions(method, stage[1].q_hat, stage, 0.3, 3, 2, 200,
                               np.random.default_rng([3, 4]))
    again, p = initial_sequence(chain.accepted.astype(float)).tau, chain.accepted.mean()
    assert result["AP"] == p
    assert result["AP_se"] == pytest.approx((p * (1 - p) * again / 200) ** 0.5, rel=1e-12)
    assert result["g"] == (3 * (0.4 * 2 + 0.6) if method == "data" else 3)
    assert result["batches"] == 5  # 5^3 < 200 < 6^3
    log_lik = [q @ q / (2 * 5.0**2) - U(q, model) for q in chain.samples]
    for row, x in (("tau", np.array(log_lik)), ("tau_beta", chain.samples[:, 1:] ** 2 @ [1, 1])):
        geyer = initial_sequence(x)
        assert result[row] == pytest.approx({  # rounding in x, of 1e-14, and in sums
            "batch": batch_means(x).tau, "initial": geyer.tau, "se": geyer.se,
            "mean": x.mean(), "mean_se": x.std() * (geyer.tau / 200) ** 0.5}, rel=1e-9)


def test_methods_are_told_apart(stage):
    errors = {method: abs(chains.transitions(method, stage[1].q_hat, stage, 0.3, 3, 2, 1,
                                             np.random.default_rng(1)).energy_error[0])
              for method in chains.ALL}
    # at the mode the exact flow has the smallest error, leapfrog steps of 0.3 the largest
    assert errors["normal"] < errors["data"] < errors["HMC"] and len(set(errors.values())) == 4


def test_a_chain_that_accepts_all_has_a_rate_without_error():
    result = table1.one_chain(DATA, "HMC", 1e-9, 1, 1, 0.4, 10, 1)  # stays at the mode
    assert (result["AP"], result["AP_se"]) == (1.0, 0.0)


def test_the_clock_times_each_method_in_turn(monkeypatch):
    order, now = [], [0.0]

    def transitions(method, q, stage, eps, L, M, n, rng):
        order.append((method, float(q[0])))
        now[0] += {"HMC": 8.0, "data": 4.0}[method] * n
        return type("Chain", (), {"samples": np.full((n, 3), q[0] + 1)})

    monkeypatch.setattr(chains, "transitions", transitions)
    monkeypatch.setattr(chains.time, "thread_time", lambda: now[0])
    monkeypatch.setattr(chains, "problem", lambda *_: (
        None, type("Fit", (), {"q_hat": np.zeros(3)}), None))
    found = chains.clock(DATA, 0.4, {"HMC": (0.1, 2, 1), "data": (0.2, 1, 2)}, rounds=3, n=5)
    assert found == {"seconds": {"HMC": [8.0] * 3, "data": [4.0] * 3}}
    # in turn, one round more than is shown, and each from where its own chain has got to
    assert order == [(m, k) for k in range(4) for m in ("HMC", "data")]
