"""What several chains together say, and which of them may be compared."""

import numpy as np
import pytest
from scipy.stats import norm

from algorithms.ess import initial_sequence
from made_up_chains import five, off, one
from reproduce.beyond.rivals import moments as rule
from sampling.summary import ess_bulk, ess_tail, rhat
from test_ess import autoregression


def test_moments_have_the_errors_of_their_own_sequences():
    rng = np.random.default_rng(3)
    x = 5.0 + 2.0 * autoregression(0.8, (3, 500), rng).T
    found, squares = rule.moments(x[:, :1], x[:, 1:]), (x - x.mean(axis=0)) ** 2
    for name, values in (("mean", x), ("variance", squares)):
        ess = initial_sequence(values).ess
        np.testing.assert_allclose(found[name], values.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found[f"{name} se"], values.std(axis=0) / ess**0.5, rtol=1e-12)
    np.testing.assert_allclose(found["spread"], (squares**2).mean(axis=0) - found["variance"] * (
        np.array(found["variance"])), rtol=1e-9)


def test_imprecision_is_in_standard_deviations():
    found = five()._replace(sd=np.full(4, 4.0), mean_se=np.zeros(4), sd_se=np.zeros(4))
    for field in ("mean_se", "sd_se"):
        assert rule.imprecision(found._replace(**{field: [0.01, 0.4, 0.01, 0.01]})) == 0.1


def test_errors_of_pooled_chains_are_not_enlarged_by_their_scatter():
    chains = [one(100.0, 50.0, 10.0) | {"mean": [m] * 3} for m in (-1.0, 1.0)]
    found = rule.pool(chains)
    # errors of 1/10 within each; the variance about the common mean is 1 + 1
    np.testing.assert_allclose(found.mean_se, 0.1 / 2**0.5)
    np.testing.assert_allclose(found.sd, 2**0.5)
    np.testing.assert_allclose(found.sd_se, (2 / 50) ** 0.5 / 2**0.5 / (2 * 2**0.5))
    np.testing.assert_allclose(found.ess, 2 / 0.005)
    np.testing.assert_allclose(found.ess_squares, 2 / (2 / 50 / 2))
    assert (found.n, found.chains, found.gradients, found.rate) == (2000, 2, 20.0, 0.8)


def test_chains_are_believed_by_the_worst_of_their_quantities():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4, 500, 3))
    found = rule.reliability(x)
    assert found == {key: worst(of(x[:, :, j]) for j in range(3)) for key, worst, of in (
        ("rhat", max, rhat), ("bulk", min, ess_bulk), ("tail", min, ess_tail))}
    for good in ({}, {"rhat": 1.01, "bulk": 400.0, "tail": 400.0}):
        found |= {"chains": [None] * 4} | good
        assert rule.is_believed(found)
    for key, bad in (("rhat", 1.0101), ("bulk", 399.0), ("tail", 399.0)):
        for value in (bad, np.nan):
            assert not rule.is_believed(found | {key: value})
    x[2, :, 1] += 1  # one chain that is elsewhere in one quantity
    assert rule.reliability(x)["rhat"] > 1.05


def test_a_row_has_the_errors_of_its_chains_and_of_its_times():
    chains = [one(200.0, squares, 400.0, e_bfmi=1.0 - shift) | {"mean": [shift] * 3}
              for squares, shift in ((50.0, 0.0), (60.0, 0.0), (70.0, 0.1), (100.0, 0.1))]
    together = {"rhat": 1.0, "bulk": 500.0, "tail": 499.0, "chains": chains}
    found = rule.row_of(together, [0.01, 0.03])
    value, se = rule.log_efficiency(chains)
    assert se > 0 and found["per gradient"] == (value, se) and found["believed"]
    # 0.02 +- 0.01 seconds a gradient
    assert found["per second"] == pytest.approx((value - np.log(0.02), np.hypot(se, 0.5)))
    # the means of two chains and of the other two, of 400 effective draws each
    assert found["halves"] == pytest.approx(0.1 / (2 / 400) ** 0.5, rel=1e-9)
    assert (found["rhat"], found["bulk"], found["tail"], found["e_bfmi"]) == (1.0, 500, 499, 0.9)
    found = rule.row_of(together | {"rhat": 1.02}, [0.01, 0.03])
    assert not found["believed"] and np.isnan([found["per gradient"].se, found["per second"].se]
                                              ).all()
    assert found["per gradient"].value == value


def test_rows_are_compared_as_one_number_if_both_are_believed():
    def row(believed, shift, halves=1.0):
        return {"together": five()._replace(mean=np.array([shift, 0, 0, 0])),
                "believed": believed, "halves": halves}

    a, b, unsure = row(True, 0.0), row(True, 0.1, 3.0), row(False, 0.1, 9.0)
    z = 0.1 / (2**0.5 * 0.02)
    assert rule.distance_of_rows(a, b) == (pytest.approx(rule.as_one(z, 8)), 0.0)
    for pair in ((a, unsure), (unsure, a)):
        assert np.isnan(rule.distance_of_rows(*pair).se)
    assert rule.distance(off(five(), "sd", 3.0), five()) == pytest.approx(3.0, rel=1e-12)
    assert np.isnan(rule.distance(five()._replace(mean_se=np.full(4, np.nan)), five()))
    # a number, of which no claim is made
    assert not np.isnan(rule.distance_of_rows(a, row(False, np.nan)).value)
    assert rule.halves_apart([a, b, unsure]) == (pytest.approx(rule.as_one(3.0, 16)), 0.0)
    assert np.isnan(rule.halves_apart([unsure]).se)


def test_moments_are_kept_to_eight_digits():
    assert rule.shorten({"mean": [1 / 3, -2e10 / 3], "n": 7, "rate": 1 / 3}) == {
        "mean": [0.33333333, -6666666700.0], "n": 7, "rate": 1 / 3}


@pytest.mark.parametrize(("ess", "squares", "least"), [(200.0, 50.0, 100), (30.0, 50.0, 60)])
def test_efficiency_is_the_worst_ess_per_gradient_of_values_and_squares(ess, squares, least):
    found = rule.log_efficiency([one(ess, squares, 400.0)] * 2)
    assert found == pytest.approx((np.log(least / 800), 0), rel=1e-12, abs=1e-12)


def test_the_error_of_an_efficiency_is_that_of_the_chains():
    # four chains, of which the squared errors of the mean are 1/10, 1/20, 1/30 and 1/40
    ess = np.array([10.0, 20, 30, 40])
    value, se = rule.log_efficiency([one(e, 1e9, 100.0) for e in ess])
    assert value == pytest.approx(np.log(16 / (1 / ess).sum() / 400), rel=1e-12)
    left = [np.log(9 / (1 / np.delete(ess, j)).sum() / 300) for j in range(4)]
    assert se == pytest.approx(np.sqrt(3 * np.var(left)), rel=1e-12)


def test_the_largest_of_many_is_as_one():
    assert rule.as_one(2.5, 1) == rule.as_one(-2.5, 1) == pytest.approx(2.5, rel=1e-12)
    of_all = 1 - (1 - 2 * norm.sf(4.3)) ** 200
    assert 2 * norm.sf(rule.as_one(4.3, 200)) == pytest.approx(of_all, rel=1e-9)
    assert rule.as_one(45.0, 10) > 8  # no overflow where the probability is 0
    assert rule.as_one(0.0, 5) == pytest.approx(0, abs=1e-12)
