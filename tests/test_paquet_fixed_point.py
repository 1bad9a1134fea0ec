"""reproduce/paquet_fixed_point.py: its trajectories are those of Algorithm 1, and what it measures
has the values that can be had in another way."""

import numpy as np
import pytest

import data
import paquet_fixed_point as script
from algorithms.paquet_rmhmc import riemann_metric
from algorithms.paquet_rmhmc_fast import metric_factor, rmhmc
from harness import Settings
from models.linalg import solve_lower_transposed, whitened_factor

DIGITS = data.digits_3v5().name
PROBLEMS = [("N = 1", None), ("N = 2", None), (DIGITS, 40)]
each_problem = pytest.mark.parametrize("name, cases", PROBLEMS)


class Given:
    """In place of a generator: gives the normals that are wanted, and accepts."""

    def __init__(self, z):
        self.z = z

    def standard_normal(self, n):
        return self.z

    def random(self):
        return 0.0


@each_problem
@pytest.mark.parametrize("f_max", [1, 5])
def test_trajectory_is_that_of_rmhmc_bit_for_bit(name, cases, f_max):
    at, rng = script.problem(name, cases), np.random.default_rng(1)
    model = at.model
    for _ in range(5):
        x, z = script.draw(at, rng), rng.standard_normal(at.sd.size)
        s, _ = metric_factor(x, model, np.empty_like(model.K))
        R, _ = whitened_factor(model.L_K, s**2)
        p = solve_lower_transposed(model.L_K, R.T @ z)  # as in rmhmc
        xs, _, energies, halves = script.travel(x, p, model, 4, 0.1, f_max)
        chain = rmhmc.py_func(x, model, 4, 0.1, 1, Given(z), f_max)
        np.testing.assert_array_equal(xs[0], x)
        np.testing.assert_array_equal(xs[-1], chain.samples[0])
        assert energies[1] - energies[0] == chain.energy_error[0]
        assert xs.shape == (5, x.size) and halves.shape == (4, x.size)


@each_problem
def test_momentum_has_the_metric_as_its_covariance(name, cases):
    at, rng, n = script.problem(name, cases), np.random.default_rng(2), 5000
    x = script.draw(at, rng)
    G = np.linalg.inv(riemann_metric(x, at.model)[2])
    L = np.linalg.cholesky(np.linalg.inv(G))
    z = np.array([L.T @ script.draw_momentum(x, at.model, rng) for _ in range(n)])  # ~ N(0, I)
    deviation = np.sqrt((1 + np.eye(x.size)) / n)
    assert (np.abs(z.T @ z / n - np.eye(x.size)) < 4.9 * deviation).all()  # of 820 at most
    assert (np.abs(z.mean(0)) < 4.5 / n**0.5).all()


@pytest.mark.parametrize("name", script.SMALL)
def test_exact_moments_are_those_of_the_closed_form(name):
    # E[x] = K c, c_m = y_m N(0; 0, 1 + K_mm) P(the other label | x_m's) / Z: by parts under N(0, K)
    at = script.problem(name)
    K, y = at.model.K, at.model.y
    V = 1 + np.diag(K)
    if y.size == 1:
        Z, others = 0.5, 1.0
    else:
        r = y[0] * y[1] * K[0, 1] / np.sqrt(V[0] * V[1])
        Z, others = 0.25 + np.arcsin(r) / (2 * np.pi), 0.5
    mean = K @ (y / np.sqrt(2 * np.pi * V) * others / Z)
    assert at.mean == pytest.approx(at.weights @ mean, rel=1e-12)
    if y.size == 1:  # E[x^2] = K: by symmetry the label does not change it
        assert at.deviation == pytest.approx(at.weights[0] * np.sqrt(K[0, 0] - mean[0] ** 2),
                                             rel=1e-12)


@pytest.mark.parametrize("name", script.SMALL)
def test_draws_for_the_small_problems_are_from_the_posterior(name):
    at, rng, n = script.problem(name), np.random.default_rng(3), 20_000
    z = np.array([at.weights @ script.draw(at, rng) for _ in range(n)])
    z = (z - at.mean) / at.deviation
    assert abs(z.mean()) < 4 / n**0.5
    assert abs((z**2).mean() - 1) < 4 * (z**2).std() / n**0.5


@each_problem
def test_contraction_is_the_spectral_radius_of_both_loops(name, cases):
    at, rng, eps, step = script.problem(name, cases), np.random.default_rng(4), 0.1, 1e-5
    x = np.zeros(at.sd.size)  # where every case has a say
    p = script.draw_momentum(x, at.model, rng)

    def in_p(p):  # lines 14 and 15
        _, dL_dx, G_inv, _, dg = riemann_metric(x, at.model)
        w = G_inv @ p
        return -eps / 2 * (dg * np.diag(G_inv) / 2 - w * w * dg / 2 - dL_dx)

    def in_x(x):  # lines 21 to 23
        return eps / 2 * riemann_metric(x, at.model)[2] @ p

    c = script.contraction(x, p, at.model, eps)
    for loop, here in ((in_p, p), (in_x, x)):
        J = np.array([(loop(here + h) - loop(here - h)) / (2 * step)
                      for h in step * np.eye(x.size)])
        # the mirror's G^-1 = K - V'V errs by 1e-16 |K| = 3e-12, the differences by that / step
        assert np.abs(np.linalg.eigvals(J)).max() == pytest.approx(c, rel=1e-3, abs=0)


def test_contraction_of_a_trajectory_that_left_the_finite_numbers_is_nan():
    at = script.problem("N = 2")
    assert np.isnan(script.contraction(np.array([np.nan, 0]), np.ones(2), at.model, 0.1))


def test_a_converged_trajectory_returns_and_keeps_volume_and_one_of_five_iterations_does_not():
    found = script.reversals("N = 2", None, 0.1, (5, 40), 20, 5)
    error = np.array(found["x"])
    moved = np.array(found["moved"])
    assert (moved > 1e-3).all() and np.median(moved) > 0.3
    assert (error[:, 1] < 1e-10).all()
    assert np.median(error[:, 0]) > 1e-9
    assert np.shape(found["contraction"]) == (20,)
    log_det = np.abs(script.volumes("N = 2", 0.1, (1, 5, 40), 10, 5)["log_det"])
    assert (log_det[:, 2] < 1e-8).all()  # of the differences
    assert np.median(log_det[:, 0]) > 1e-2 > np.median(log_det[:, 1]) > 1e-8


def test_chains_share_their_random_numbers():
    found = script.chains("N = 1", None, 0.05, (20, 5, 20), 200, 6)
    mean = found["mean"]
    assert mean[0] == mean[2] != mean[1]
    assert abs(mean[1] - mean[0]) < 1e-3  # the mean itself has an s.e. of 0.2
    assert found["square"][0] == found["square"][2]


def test_chains_measure_in_posterior_deviations():
    found = [script.chains("N = 2", None, 0.2, (12,), 600, [7, k]) for k in range(16)]
    for column, exact in (("mean", 0.0), ("square", 1.0)):
        values = np.array([run[column][0] for run in found])
        # eps = 0.2 rejects trajectories that do not converge, 1 of 100: a bias of about that size
        assert abs(values.mean() - exact) < 4 * values.std(ddof=1) / 16**0.5 + 0.02


def test_lost_trajectories_count_as_one_deviation():
    errors = np.array([np.nan, np.inf, 1e30, 1.0, 1e-3, 0.0])
    np.testing.assert_allclose(script.log_error(errors), [0, 0, 0, 0, -3, -17])


def test_every_claim_is_measured_and_the_figure_is_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr("harness.FIGURES", tmp_path)
    tiny = script.SIZES["smoke"]._replace(cases=20, starts=2, small_starts=4, volumes=2, chains=2,
                                          small_chains=2, transitions=10, small_transitions=20)
    monkeypatch.setitem(script.SIZES, "smoke", tiny)
    settings = Settings(budget="smoke")
    result = script.run(settings, DIGITS)
    measured, numbers, text = script.table(result, settings, DIGITS)
    assert {claim.what for claim in script.CLAIMS} == set(measured)
    assert "digits" in text
    assert len(script.figure(numbers).axes) == 4
    script.plt.close("all")
