"""rivals/elliptical_slice.py: the update by hand, and the record; test_samplers.py has more."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from algorithms.rivals import elliptical_slice as ellipses
from algorithms.rivals.elliptical_slice import Relative, centre, elliptical_update, is_inside, log_L
from conftest import Given
from departing import departs
from models.interface import U
from normal import MODEL as DATA
from normal import Q, normal
from test_ais import both_models

MEAN, FACTOR = np.array([0.4, -1.0]), np.array([[1.5, 0.0], [-0.6, 0.7]])


class Slope(NamedTuple):
    """L = exp(slope x_0) under N(m, I)."""

    slope: float
    m: np.ndarray


centre.register(Slope)(lambda model: model.m)
log_L.register(Slope)(lambda x, model: model.slope * x[0])


# for the interpreter only: compiled code takes no generator such as the one below
ellipses.normal_draw.implementations[Slope] = lambda model, rng: rng.standard_normal(model.m.size)


@departs(is_inside, lambda value, log_y: value > log_y)
def test_a_point_of_an_L_that_is_not_finite_is_outside(is_inside):
    assert is_inside(3.0, 2.9) and not is_inside(3.0, 3.0) and is_inside(3.0, -np.inf)
    for value in (np.inf, np.nan, -np.inf):
        assert not is_inside(value, -3.0)


@departs(elliptical_update, {"L5": "x_new = x * np.cos(theta) + nu * np.sin(theta)"})
def test_the_ellipse_is_about_the_mean(elliptical_update):
    # half of the way round from x is 2 m - x, and a quarter m + nu; all is in the slice of a flat L
    x = np.array([1.0, 2.0])
    for turn, there in ((0.5, 2 * MEAN - x), (0.25, [1.1, -0.7])):
        rng = Given(np.array([0.7, 0.3]), uniforms=[turn])
        found, _ = elliptical_update(x, 0.0, Slope(0.0, MEAN), np.zeros(2, int), rng)
        np.testing.assert_allclose(found, there, rtol=0, atol=1e-14)  # rounding


@departs(elliptical_update, {"L6": """
    log_L_new = evaluate(x_new, model, tally)
    if is_inside(log_L_new, log_y):
        return x_new, log_L_new"""})
def test_shrinkage_to_the_start_ends(elliptical_update):
    # the height is above log L everywhere, as it is where log u is lost in the rounding of log L
    x, rng = np.array([1.0, 2.0]), Given(np.array([0.7, 0.3]), uniforms=[0.9, 0.3, 0.6])
    found = elliptical_update(x, 5.0, Slope(0.0, MEAN), np.zeros(2, int), rng)
    assert found[0] is x and found[1] == 5.0


def test_an_update_by_hand():
    # log y = 2 * 1 - log 2.  Turns of theta = 2 pi (.5, -.25, .0625): x_0 is -1, -.9 and 1.268
    tally, x, nu = np.zeros(2, int), np.array([1.0, 2.0]), np.array([0.9, 0.3])
    rng, angle = Given(nu, uniforms=[0.5, 0.5, 0.25, 5 / 12]), 2 * np.pi * 0.0625
    found, log_L_found = elliptical_update.py_func(x, 2.0, Slope(2.0, np.zeros(2)), tally, rng)
    # brackets of turns: (-.5, .5), of which 1/4 is -.25; (-.25, .5), of which 5/12 is .0625
    np.testing.assert_allclose(found, x * np.cos(angle) + nu * np.sin(angle), rtol=0, atol=1e-14)
    assert log_L_found == 2.0 * found[0] > 2.0 - np.log(2)
    np.testing.assert_array_equal(tally, [3, 0])
    assert rng.drawn == 4
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_one_variable_that_is_where_it_was_does_not_end_an_update():
    # of no variance: it is 0 on the whole ellipse, on which a quarter turn makes the other 0.9
    x, rng = np.array([1.0, 0.0]), Given(np.array([0.9, 0.0]), uniforms=[0.5, 0.25])
    found, _ = elliptical_update.py_func(x, 0.0, Slope(0.1, np.zeros(2)), np.zeros(2, int), rng)
    np.testing.assert_allclose(found, [0.9, 0.0], rtol=0, atol=1e-14)


def test_the_height_is_below_L_of_the_start():
    # of log y = log .5 and a slope of 1 about 0, the turn of 30 degrees backwards is just inside
    # at -.5, and 60 degrees, at -.87, is outside
    for turn, inside in ((-30 / 360, True), (-60 / 360, False)):
        tally, rng = np.zeros(2, int), Given(np.ones(1), uniforms=[0.5, 1 + turn, 0.5])
        elliptical_update.py_func(np.zeros(1), 0.0, Slope(1.0, np.zeros(1)), tally, rng)
        assert (tally[0] == 1) == inside


@pytest.mark.parametrize("beta", [1.0, 0.3])
@both_models
def test_the_posterior_is_the_Gaussian_times_L(model, beta):
    model = model._replace(beta=beta)
    S = model.L_Sigma @ model.L_Sigma.T
    np.testing.assert_allclose(
        ellipses.normal_draw(model, np.random.default_rng(1)),
        np.linalg.cholesky(S) @ np.random.default_rng(1).standard_normal(3), rtol=0, atol=1e-12)
    gaussian = multivariate_normal(centre(model), S)
    relative = Relative(model, centre(model), model.L_Sigma)
    for x in np.random.default_rng(0).standard_normal((5, 3)):
        assert gaussian.logpdf(x) + log_L(x, model) == pytest.approx(-U(x, model), abs=1e-11)
        # the same L by way of U, but for the constant of the Gaussian
        assert log_L(x, relative) == pytest.approx(
            log_L(x, model) + gaussian.logpdf(gaussian.mean), abs=1e-11)


def test_a_Gaussian_of_ones_own_is_taken_off_and_drawn_from():
    model, relative = Relative(DATA, MEAN, FACTOR), multivariate_normal(MEAN, FACTOR @ FACTOR.T)
    assert log_L(Q, model) == pytest.approx(  # to rounding
        -U(Q, DATA) - relative.logpdf(Q) + relative.logpdf(MEAN), abs=1e-12)
    np.testing.assert_array_equal(
        ellipses.normal_draw(model, np.random.default_rng(1)),
        FACTOR @ np.random.default_rng(1).standard_normal(2))


def test_the_record_is_that_of_its_updates():
    model, ours, theirs = normal(DATA.y), np.random.default_rng(1), np.random.default_rng(1)
    chain = ellipses.elliptical_slice(Q, model, 20, ours, MEAN, FACTOR, thin=3)
    assert chain.counts.likelihood == model.calls[0] - 2  # two for the check of x0
    relative, tally, x = Relative(DATA, MEAN, FACTOR), np.zeros(2, int), Q
    value = log_L(x, relative)
    for t in range(20):
        before = tally[0]
        for _ in range(3):
            x, value = elliptical_update.py_func(x, value, relative, tally, theirs)
        np.testing.assert_allclose(chain.samples[t], x, rtol=0, atol=1e-12)
        assert chain.log_likelihood[t] == pytest.approx(log_L(x, relative), abs=1e-12)
        assert chain.evaluations[t] == tally[0] - before
    assert chain.counts == (1 + tally[0], 60, 0) and tally[0] > 60
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_without_a_mean_it_is_zero():
    np.testing.assert_array_equal(*(
        ellipses.elliptical_slice(Q, DATA, 5, np.random.default_rng(2), mean, FACTOR).samples
        for mean in (None, np.zeros(2))))
