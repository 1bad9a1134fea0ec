"""Each *_fast.py makes the same transitions as its mirror, from the same state and generator.

EP's twin is compared sweep by sweep in test_ep.py.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms import paquet_rmhmc, paquet_rmhmc_fast
from models import linalg
from models.covariance import squared_exponential
from models.gp_classification import GPClassification


def problem(N, amplitude, beta, from_q, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3))
    K = squared_exponential(X, X, 0.5, amplitude) + 1e-2 * np.eye(N)
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(N) > 0, 1.0, -1.0)
    if from_q:
        q = SimpleNamespace(tau=rng.random(N), nu=y * rng.random(N), converged=True)
        return GPClassification.from_ep(K, y, q, beta)
    return GPClassification.from_prior(K, y, beta)


@pytest.mark.parametrize("N", [1, 7, 70])
@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("from_q", [False, True])
def test_rmhmc_fast_makes_the_transitions_of_rmhmc(N, beta, from_q):
    model = problem(N, 1.0, beta, from_q)
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    x, accepted = np.zeros(N), 0
    for _ in range(40):  # one transition at a time, so that rounding cannot flip the rest
        slow = paquet_rmhmc.rmhmc(x, model, 5, 0.35, 1, ours)
        fast = paquet_rmhmc_fast.rmhmc(x, model, 5, 0.35, 1, theirs)
        # The mirror forms K - V'V: it loses |K| / |G^-1| of 1e-16, up to 1e-12 here, and five
        # leapfrog steps amplify that
        np.testing.assert_allclose(fast.samples, slow.samples, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fast.energies, slow.energies, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fast.energy_error, slow.energy_error, rtol=0, atol=1e-8)
        assert fast.accepted == slow.accepted
        assert ours.bit_generator.state == theirs.bit_generator.state
        x = slow.samples[0]
        accepted += slow.accepted[0]
    assert accepted > 20  # or most comparisons would be of a state with itself


@pytest.mark.parametrize("from_q", [False, True])
def test_a_whole_run_is_the_same_with_rejections_between(from_q):
    model = problem(12, 2.0, 0.8, from_q)  # accepts about 1 of 2, 5 of 6 with q
    chains = [twin.rmhmc(np.zeros(12), model, 4, 0.4, 60, np.random.default_rng(1))
              for twin in (paquet_rmhmc, paquet_rmhmc_fast)]
    slow, fast = chains
    assert 0 < slow.accepted.sum() < 60
    np.testing.assert_array_equal(fast.accepted, slow.accepted)
    np.testing.assert_allclose(fast.samples, slow.samples,
                               rtol=0, atol=1e-6)  # 60 transitions amplify
    assert fast.divergences == slow.divergences


@pytest.mark.parametrize("from_q", [False, True])
def test_where_lambda_underflows_they_agree(from_q):
    # samples from the paper's prior have |y x| up to 400: lambda is 0 on one side, 1 on the other
    model = problem(6, 5.1, 0.7, from_q)
    for seed in (3, 4, 5):
        x = model.L_K @ np.random.default_rng(seed).standard_normal(6)
        x *= 300 / np.abs(x).max()
        slow, fast = (twin.rmhmc(x, model, 3, 0.1, 1, np.random.default_rng(1))
                      for twin in (paquet_rmhmc, paquet_rmhmc_fast))
        assert slow.accepted[0] and fast.accepted[0]
        # K - V'V errs by 1e-16 |K| = 3e-12, and G^-1 p by that times momenta of some 100: by 3e-10
        # over a trajectory of length 0.3.  H changes by forces of up to 300 times as much
        np.testing.assert_allclose(fast.samples, slow.samples, rtol=0, atol=1e-9)
        np.testing.assert_allclose(fast.energy_error, slow.energy_error, rtol=0, atol=3e-7)


def test_divergences_are_the_same():
    model = problem(7, 1.0, 1.0, False)
    for twin in (paquet_rmhmc, paquet_rmhmc_fast):
        chain = twin.rmhmc(np.ones(7), model, 5, 1e200, 10, np.random.default_rng(1))
        assert chain.divergences == 10
        assert not chain.accepted.any()
        np.testing.assert_array_equal(chain.samples, 1.0)


def test_compiled_fast_twin_equals_interpreted_bit_for_bit():
    model = problem(7, 1.0, 0.4, True)
    runs = [rmhmc(np.ones(7), model, 4, 0.2, 8, np.random.default_rng(1))
            for rmhmc in (paquet_rmhmc_fast.rmhmc, paquet_rmhmc_fast.rmhmc.py_func)]
    np.testing.assert_array_equal(runs[0].samples, runs[1].samples)


def interpreted(monkeypatch, done):
    """Count the O(N^3) work that the twin does, below its own functions."""
    module = paquet_rmhmc_fast

    def counting(name, function):
        def counted(*arguments):
            done[name] = done.get(name, 0) + 1
            return function(*arguments)

        monkeypatch.setattr(module, name, counted)

    for name in ("factorise", "invert_lower", "whitened_factor"):
        counting(name, getattr(linalg, name))
    for name in ("metric_factor", "geometry"):
        counting(name, getattr(module, name).py_func)


@pytest.mark.parametrize("from_q", [False, True])
def test_fast_rmhmc_does_six_thirds_of_N_cubed_per_leapfrog_step(monkeypatch, from_q):
    model, done, l_max, t_max = problem(7, 1.0, 0.4, from_q), {}, 3, 2
    interpreted(monkeypatch, done)
    chain = paquet_rmhmc_fast.rmhmc.py_func(np.ones(7), model, l_max, 0.1, t_max,
                                            np.random.default_rng(0), 5)
    steps = l_max * t_max
    assert done["factorise"] == chain.counts.metric == 1 + 5 * steps
    assert done["invert_lower"] == chain.counts.gradient == 1 + steps
    assert done["whitened_factor"] == t_max
    thirds = done["factorise"] + done["invert_lower"] + 2 * done["whitened_factor"]
    assert chain.counts.thirds == thirds == 6 * steps + 2 + 2 * t_max
    assert chain.counts.cholesky == done["factorise"] + done["whitened_factor"]
    # the mirror: 7 per iteration, 14 with q
    mirror = paquet_rmhmc.rmhmc(np.ones(7), model, l_max, 0.1, t_max, np.random.default_rng(0))
    assert mirror.counts.thirds == (14 if from_q else 7) * (1 + 5 * steps) + t_max
