"""What Figures 2 to 4 of Split HMC share."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from models.interface import grad_U
from reproduce.shahbaba import illustration
from reproduce.shahbaba.datasets import illustrative


def test_a_share_has_an_error_also_at_0_and_1():
    assert illustration.share(np.array([True, False, False, False])) == pytest.approx(
        (0.25, (2 / 6 * 4 / 6 / 4) ** 0.5))
    value, se = illustration.share(np.full(98, True))
    assert value == 1.0 and se == pytest.approx((0.99 * 0.01 / 98) ** 0.5)
    assert illustration.share(np.full(98, False)) == pytest.approx((0.0, se))


def test_the_fit_is_the_mode_with_priors_of_standard_deviation_5():
    cases = illustrative(3, 5.0)
    model, fit = illustration.fit_cases(cases)
    X = np.c_[np.ones(100), cases.X]
    gradient = fit.q / 25 - X.T @ (cases.y - 1 / (1 + np.exp(-X @ fit.q)))
    assert np.abs(gradient).max() < 1e-8  # Newton's method stops at 1e-10
    assert np.allclose(gradient, grad_U(fit.q, model), rtol=0, atol=1e-12)  # rounding


def test_every_slope_has_its_data_sets_and_a_generator():
    Drawn = namedtuple("Drawn", "x y draw")

    def measure(cases, rng):
        return Drawn(cases.X[0, 0], cases.y.sum(), rng.random())

    found = illustration.by_slope(measure, SimpleNamespace(budget="smoke", seed=7))
    assert list(found) == [2.0, 5.0, 10.0]
    for index, (slope, values) in enumerate(found.items()):
        for k in range(10):
            cases = illustrative(7 + k, slope)
            assert (values.x[k], values.y[k]) == (cases.X[0, 0], cases.y.sum())
        np.testing.assert_array_equal(values.draw, np.random.default_rng([7, index]).random(10))
