"""algorithms/ess.py: definitions, identities, arviz-stats."""

import math
from fractions import Fraction
from itertools import product
from statistics import variance

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.signal import lfilter

from algorithms import ess
from algorithms.ess import batch_means_tau, combined_tau, initial_sequence, significant_tau
from departing import departs

AR1 = [0.95, 0.8, 0.5, 0.0, -0.3, -0.6]


def autoregression(rho, shape, rng):
    """Draw stationary chains x_t = rho x_{t-1} + sqrt(1 - rho^2) z_t along the last axis."""
    z = rng.standard_normal(shape)
    z[..., 1:] *= math.sqrt(1 - rho**2)
    return lfilter([1], [1, -rho], z)


@pytest.mark.parametrize("n", [1, 2, 5, 64, 97])
def test_autocovariance_is_the_sum_that_defines_it(n):
    x = 3 + np.random.default_rng(n).standard_normal((n, 2)).cumsum(axis=0)
    y = x - x.mean(axis=0)
    defined = [(y[: n - t] * y[t:]).sum(axis=0) / n for t in range(n)]
    # rounding of the FFT: eps log2(n) of the largest entry, which is of order n
    np.testing.assert_allclose(ess.autocovariance(x), defined, rtol=0, atol=1e-15 * 10 * n)
    np.testing.assert_array_equal(ess.autocovariance(x[:, 1]), ess.autocovariance(x[:, 1:])[:, 0])


def test_initial_sequence_stops_at_a_pair_that_is_zero_and_at_the_last_whole_pair():
    assert ess.initial_sequence_tau(np.array([1.0, 0.5, 0.25, -0.25, 9.0, 9.0]), True) == (2.0, 1)
    assert ess.initial_sequence_tau(np.array([1.0, 0.5, 0.5]), True) == (2.0, 1)


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("rho", AR1)
def test_initial_sequence_is_its_definition_on_the_direct_autocovariances(rho, monotone):
    n = 301
    x = autoregression(rho, n, np.random.default_rng(1))
    y = x - x.mean()
    gamma = np.array([y[: n - t] @ y[t:] / n for t in range(n - 1)])
    Gamma = gamma[0::2] + gamma[1::2]
    Gamma = Gamma[: np.argmax(Gamma <= 0)]
    if monotone:
        Gamma = np.minimum.accumulate(Gamma)
    tau, lags = max(-1 + 2 * Gamma.sum() / y.var(), 1 / np.log10(n)), 2 * Gamma.size
    # rounding: some 100 terms of relative error 1e-15
    assert initial_sequence(x, monotone) == pytest.approx(
        (tau, n / tau, tau * math.sqrt(2 * (2 * lags - 1) / n), lags), rel=1e-12)


@departs(batch_means_tau, {"L1": "B = x.size ** (2 / 3)", "L2": """
    k = cube_root(x.size)
    batches = x[: int(B) * k].reshape(k, int(B))"""})
def test_batch_means_by_hand(batch_means_tau):
    x = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]  # floor(10^(1/3)) = 2 batches of floor(10^(2/3)) = 4
    tau = 4 * variance([Fraction(9, 4), Fraction(22, 4)]) / variance(map(Fraction, x))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ess, "batch_means_tau", batch_means_tau)
        assert ess.batch_means(x) == pytest.approx(
            (float(tau), 10 / float(tau), float(tau) * math.sqrt(2 / (2 - 1))), rel=1e-14)


def test_batches_are_counted_in_whole_numbers():
    for n in range(1, 2000):
        for power in (n, n**2):
            assert ess.cube_root(power) ** 3 <= power < (ess.cube_root(power) + 1) ** 3
    assert (ess.cube_root(50_000), ess.cube_root(50_000**2)) == (36, 1357)  # Shahbaba et al.


@pytest.mark.parametrize("estimate", [initial_sequence, ess.batch_means, ess.combined_chains,
                                      ess.significant_lags, ess.lineage_ess])
def test_affine_invariance(estimate):
    x = autoregression(0.7, (4, 500), np.random.default_rng(3))
    x = x if estimate is ess.combined_chains else x[0]
    expected = estimate(x)
    for scale in (-1, 2.0**20, 2.0**-990, 2.0**1020):  # exact, squares under- and overflow
        assert estimate(scale * x) == expected
    # the shift leaves x rounded to 1e-16 * 1e4 of its deviation, and its squares likewise
    np.testing.assert_allclose(estimate(7 * x - 1e4), expected, rtol=1e-10)


def test_coordinates_are_taken_one_by_one():
    rng = np.random.default_rng(5)
    x = np.stack([autoregression(rho, (3, 300), rng) for rho in AR1], axis=2)
    for estimate, chains in ((ess.combined_chains, x), (initial_sequence, x[0]),
                             (ess.batch_means, x[0])):
        together = estimate(chains)
        assert together.tau.shape == together.ess.shape == (len(AR1),)
        for d in range(len(AR1)):
            alone = estimate(chains[..., d])
            assert tuple(alone) == tuple(field[d] for field in together) and np.ndim(alone.tau) == 0


def test_ess_is_the_short_form():
    x = np.moveaxis(autoregression(0.5, (3, 40, 300), np.random.default_rng(6)), 1, 2)
    assert (initial_sequence(x[0], False).ess < initial_sequence(x[0]).ess).any()
    for chains, exact in ((list(x[0, :, 0]), initial_sequence(x[0, :, 0])),
                          (x[0], initial_sequence(x[0])), (x, ess.combined_chains(x))):
        np.testing.assert_array_equal(ess.ess(chains), exact.ess)


def test_lineage_ess_by_hand():
    # about their mean of 3 the sums of products are 18 and 4, -8 and -9: one pair
    assert ess.lineage_ess([1.0, 2.0, 5.0, 5.0, 4.0, 1.0]) == pytest.approx(
        6 / (-1 + 2 * 22 / 18), rel=1e-14)
    # 18 and 2, 3 and -2, -2 and 4, -2 and -4: the third pair, 2, counts for no more than the second
    x = 5 + np.array([-2.0, 0, -2, 1, 0, -1, 0, 0, 2, 2])
    assert ess.lineage_ess(x) == pytest.approx(10 / (-1 + 2 * (20 + 1 + 1) / 18), rel=1e-14)
    # 14 and -10, 7 and -6, 2 and 0, 0 and 0: tau would be -1 + 2 (4 + 1 + 1) / 14 < 0
    assert ess.lineage_ess([0.0, 0, 0, 0, -1, 2, -1, 2, -2]) == 9


def equals_arviz(combined_tau, method="identity"):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ess, "combined_tau", combined_tau)
        for rho, m, n in product([*AR1, -0.95], (1, 2, 4), (25, 100, 999)):
            x = autoregression(rho, (m, n), np.random.default_rng([7, m, n]))
            # mixed; with means apart; not symmetric
            for chains in (x, x + np.arange(m)[:, None], x**2):
                assert ess.combined_chains(chains).ess == pytest.approx(  # to rounding
                    float(array_stats.ess(chains, method=method)), rel=1e-11)


@departs(combined_tau, {"L6": "return tau + rho[2 * k]"})
def test_combined_chains_equal_arviz_in_the_lag_at_which_the_sum_stops(combined_tau):
    equals_arviz(combined_tau)


@departs(combined_tau, {"L4": """
    rho = 1 - (W - n / (n - 1) * gamma) / var_plus
    rho[0] = 1.0"""})
def test_combined_chains_equal_arviz_in_the_autocovariance(combined_tau):
    equals_arviz(combined_tau)


@departs("identity", "bulk")
def test_combined_chains_neither_split_chains_nor_rank_draws(method):
    equals_arviz(combined_tau, method)


@departs(ess.limit, lambda tau, draws: np.float64(tau))
def test_antithetic_chains_stop_at_the_limit(limited):
    n = 1000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ess, "limit", limited)
        for x in (np.tile([1.0, -1.0], n // 2),
                  autoregression(-0.99, n, np.random.default_rng(13))):
            for found in (initial_sequence(x), ess.batch_means(x), ess.combined_chains(x[None]),
                          ess.significant_lags(x)):
                assert found.tau == 1 / np.log10(n) and found.ess == n / found.tau


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300])
def test_a_chain_that_never_moves_has_no_autocorrelation_time(value):
    x = np.moveaxis(autoregression(0.5, (2, 3, 100), np.random.default_rng(15)), 1, 2)
    x[:, :, 1] = value
    estimates = ((initial_sequence, x[0]), (ess.batch_means, x[0]), (ess.combined_chains, x))
    for estimate, chains in estimates:
        for field in estimate(chains)[:3]:  # of initial_sequence the fourth counts lags
            np.testing.assert_array_equal(np.isnan(field), [False, True, False])
    assert initial_sequence(x[0]).lags[1] == 0
    # one draw that differs is enough
    x[:, 7, 1] = value + 1 if value > -1 else value / 2
    for estimate, chains in estimates:
        assert np.isfinite(estimate(chains).tau).all()


@pytest.mark.parametrize(("function", "least"), [
    (initial_sequence, 5), (ess.batch_means, 8), (ess.lineage_ess, 5), (ess.significant_lags, 5)])
def test_too_few_draws(function, least):
    x = np.arange(least) ** 2.0
    for y in (x[1:], np.stack([x[1:]] * 20, axis=1)):
        with pytest.raises(ValueError, match=f"x must hold at least {least} draws, not"):
            function(y)
    assert np.isfinite(function(x)).all()


def test_significant_lags_by_hand():
    # 1.96 / sqrt(16) = .49
    rho = np.zeros(16)
    rho[:6] = 1, 0.7, -0.5, 0.48, 0.6, -0.2
    assert significant_tau(rho, False) == (pytest.approx(1 + 2 * (0.7 - 0.5), rel=1e-14), 2)
    assert significant_tau(rho, True) == (
        pytest.approx(1 + 2 * (0.7 - 0.5 + 0.48 + 0.6), rel=1e-14), 4)
    assert significant_tau(np.ones(16), False) == (31, 15)  # no lag is insignificant


@departs(significant_tau, {"L1": "k = np.flatnonzero(abs(rho) >= 1.96 / np.sqrt(rho.size))[-1]"})
def test_the_literal_cut_off_sums_noise(significant_tau):
    # the sum of all autocorrelations of a series is -1/2 exactly, so that tau tends to nothing
    rng = np.random.default_rng(8)
    found = [significant_tau(gamma / gamma[0], False)[0] for gamma in (
        ess.autocovariance(autoregression(0.8, 1333, rng)) for _ in range(50))]
    # tau = 9; one of them scatters by 9 sqrt(2 (2 k + 1) / n), k about 14: 1.9; sums stop early,
    # by what is left beyond a lag of autocorrelation .054: 2 * .054 / (1 - .8) = .5
    assert abs(np.mean(found) - 9) < 0.6 + 4 * 1.9 / math.sqrt(50)


def test_significant_lags_in_its_record():
    x = autoregression(0.5, (2, 400), np.random.default_rng(9)).T
    x[:, 1] = 2.0
    found, gamma = np.array(ess.significant_lags(x)), ess.autocovariance(x[:, 0])
    tau, k = significant_tau(gamma / gamma[0], False)
    np.testing.assert_allclose(found, [  # but for the rounding of a scale
        [tau, np.nan], [400 / tau, np.nan],
        [tau * math.sqrt(2 * (2 * k + 1) / 400), np.nan], [k + 1, 0]], rtol=1e-12)
    assert ess.significant_lags(x[:, 0], literal=True).lags > k + 1
    with pytest.raises(ValueError, match=r"^literal must be True or False"):
        ess.significant_lags(x, literal=1)
