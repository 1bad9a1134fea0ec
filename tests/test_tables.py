"""What Tables 1 and 2 of Split HMC share: estimates by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from reproduce.harness.claims import Measured
from reproduce.harness.style import plt
from reproduce.shahbaba import tables
from reproduce.shahbaba.printed import SE_LOG_TAU


def test_the_error_of_a_printed_tau_is_that_of_36_batches():
    rng = np.random.default_rng(4)
    theirs = np.log(rng.standard_normal((20_000, 36)).var(axis=1, ddof=1))  # tau is 1
    # 4 standard errors of a standard deviation of 20000
    assert SE_LOG_TAU == pytest.approx(theirs.std(), rel=4 / 40_000**0.5)


# Estimates


def chain(tau, batches=37, rate=0.7):
    row = {"batch": tau, "initial": tau + 1, "se": 0.1 * tau, "mean": 10 * tau, "mean_se": 0.1}
    return {"g": 20.0, "AP": rate, "AP_se": 0.01, "batches": batches, "tau": row,
            "tau_beta": {key: 2 * value for key, value in row.items()}}


def test_chains_are_put_together():
    found = tables.estimates([chain(2.0), chain(4.0, rate=0.9)], [1.0, 3.0])
    assert found.chains == 2 and found.batches == 37
    assert found.g == (20.0, 0.0)
    assert found.s == (2.0, 1.0)  # a standard deviation of sqrt 2, over the root of 2
    assert found.AP == pytest.approx((0.8, 0.01 / 2**0.5))
    assert found.tau["tau", "initial sequence"] == pytest.approx((4.0, np.hypot(0.2, 0.4) / 2))
    assert found.tau["tau_beta", "initial sequence"] == pytest.approx((8.0, np.hypot(0.4, 0.8) / 2))
    assert found.mean["tau"] == pytest.approx((30.0, 0.1 / 2**0.5))
    assert found.mean["tau_beta"] == pytest.approx((60.0, 0.2 / 2**0.5))
    value, se = found.tau["tau", "batch means"]
    assert value == 3.0
    # of the log of a chi-squared number of 72 degrees of freedom: about sqrt(2 / 72), a little more
    assert 0 < se / 3.0 - (2 / 72) ** 0.5 < 0.003
    assert found.tau["tau_beta", "batch means"].value == 6.0


def two_methods():
    return {"HMC": tables.estimates([chain(4.0)], [2.0, 4.0]),
            "normal": tables.estimates([chain(1.0) | {"g": 10.0}], [1.0, 1.0])}


def test_times_are_compared_round_by_round():
    found = two_methods()
    assert tables.ratio(found, "s", "HMC", "normal") == pytest.approx((3.0, 1.0))
    # 1/2 and 1/4: a deviation of 1/4 / sqrt 2, over the root of 2
    assert tables.ratio(found, "s", "normal", "HMC") == pytest.approx((0.375, 0.125))
    assert tables.ratio(found, "g", "normal", "HMC") == (0.5, 0.0)


def test_products_and_advantages():
    found = two_methods()  # tau by initial sequences: 5.0 (0.4) and 2.0 (0.1)
    assert tables.product(found, "tau x g", "HMC") == pytest.approx((100, 8))
    assert tables.product(found, "tau_beta x g", "normal", "batch means") == (
        pytest.approx((20, 10 * found["normal"].tau["tau_beta", "batch means"].se)))
    # relative to the time of HMC: 2 x 0.375
    assert tables.product(found, "tau x s", "normal") == pytest.approx(
        (0.75, 0.75 * np.hypot(0.05, 1 / 3)))
    value, se = tables.advantage(found, "normal", "HMC", "tau x g")
    assert value == pytest.approx(np.log(5.0 * 20 / (2.0 * 10)))
    assert se == pytest.approx(np.hypot(0.08, 0.05))
    value, se = tables.advantage(found, "normal", "HMC", "tau x s")
    assert value == pytest.approx(np.log(5.0 / 2.0 * 3.0))
    assert se == pytest.approx((0.08**2 + 0.05**2 + (1 / 3) ** 2) ** 0.5)


def test_means_are_compared_in_standard_errors():
    p, q = (SimpleNamespace(mean={"tau": mean}, tau={("tau", "initial sequence"): tau})
            for mean, tau in ((Measured(3.0, 0.3), Measured(2.0, 0.2)),
                              (Measured(1.0, 0.4), Measured(5.0, 1.0))))
    # 2 / 0.5, known to half the larger relative error of tau, 20 %
    assert tables.distance(p, q, "tau") == pytest.approx((4.0, 0.4))
    assert tables.distance(q, p, "tau") == tables.distance(p, q, "tau")


# The layout


def test_a_circle_beyond_the_axis_is_a_number_at_its_edge():
    _, ax = plt.subplots()
    ax.set_xlim(1, 10)
    tables.open_circles(ax, [(14.0, 2), (20.0, 5)])  # there is room for half as much again
    inside, beyond = ax.lines
    assert inside.get_xydata().tolist() == [[14, 2]] and beyond.get_xydata().tolist() == [[15, 5]]
    assert [text.get_text() for text in ax.texts] == ["20"] and ax.get_xlim() == (1, 15)
    plt.close("all")
