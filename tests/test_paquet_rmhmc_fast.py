"""RMHMC's trajectories, and their fixed-point loops; test_twins.py has its chains."""


import numpy as np
import pytest

from algorithms.paquet_rmhmc import riemann_metric
from algorithms.paquet_rmhmc import rmhmc as mirror
from algorithms.paquet_rmhmc_fast import (
    contraction,
    draw_momentum,
    metric_factor,
    rmhmc,
    travel,
)
from conftest import Given
from differences import differences
from models.linalg import solve_lower_transposed, whitened_factor
from reproduce.paquet.digits import digits_3v5
from reproduce.paquet.trajectories import draw, posterior

each_problem = pytest.mark.parametrize(
    "name, cases", [("N = 1", None), ("N = 2", None), (digits_3v5().name, 40)])


@each_problem
def test_momentum_has_the_metric_as_its_covariance(name, cases):
    at = posterior(name, cases)
    x = draw(at, np.random.default_rng(2))
    # it is linear in 2 N normals
    A = np.array([draw_momentum(x, at.model, Given(*z))
                  for z in np.eye(2 * x.size).reshape(-1, 2, x.size)])
    G_inv = riemann_metric(x, at.model)[2]  # rounding: 1e-16 |K|, times |G|
    np.testing.assert_allclose(A.T @ A @ G_inv, np.eye(x.size), rtol=0, atol=1e-8)


@each_problem
@pytest.mark.parametrize("f_max", [1, 5])
def test_trajectory_is_that_of_rmhmc_bit_for_bit(name, cases, f_max):
    at, rng = posterior(name, cases), np.random.default_rng(1)
    for _ in range(5):
        x, z = draw(at, rng), rng.standard_normal(at.sd.size)
        s, _ = metric_factor(x, at.model, np.empty_like(at.model.K))
        R, _ = whitened_factor(at.model.L_K, s**2)
        p = solve_lower_transposed(at.model.L_K, R.T @ z)  # as in rmhmc
        xs, halves, _, (before, after) = travel(x, p, at.model, 4, 0.1, f_max)
        chain = rmhmc.py_func(x, at.model, 4, 0.1, 1, Given(z), f_max)
        np.testing.assert_array_equal(xs[-1], chain.samples[0])
        assert after - before == chain.energy_error[0] and xs.shape == halves.shape == (4, x.size)


@each_problem
def test_contraction_is_the_spectral_radius_of_both_loops(name, cases):
    at, eps = posterior(name, cases), 0.1
    x = np.zeros(at.sd.size)  # where every case has a say
    p = draw_momentum(x, at.model, np.random.default_rng(4))

    def in_p(p):  # lines 14 and 15
        _, dL_dx, G_inv, _, dg = riemann_metric(x, at.model)
        w = G_inv @ p
        return -eps / 2 * (dg * np.diag(G_inv) / 2 - w * w * dg / 2 - dL_dx)

    def in_x(x):  # lines 21 to 23
        return eps / 2 * riemann_metric(x, at.model)[2] @ p

    c = contraction(x, p, at.model, eps)
    for loop, here in ((in_p, p), (in_x, x)):
        # the mirror's G^-1 = K - V'V errs by 1e-16 |K| = 3e-12, the differences by that / 1e-5
        assert np.abs(np.linalg.eigvals(differences(loop, here, 1e-5))).max() == pytest.approx(
            c, rel=1e-3, abs=0)


def test_contraction_of_a_trajectory_that_left_the_finite_numbers_is_nan():
    at = posterior("N = 2")
    assert np.isnan(contraction(np.array([np.nan, 0]), np.ones(2), at.model, 0.1))
    assert np.isnan(contraction(np.ones(2), np.array([0, np.inf]), at.model, 0.1))


@pytest.mark.parametrize("sampler", [rmhmc, mirror])
def test_steps_that_are_too_large_are_warned_of(sampler):
    at = posterior("N = 2")
    with pytest.warns(RuntimeWarning, match="none of 10 proposals was accepted.*: take a smaller"):
        sampler(draw(at, np.random.default_rng(2)), at.model, 5, 1e6, 10, np.random.default_rng(1))
