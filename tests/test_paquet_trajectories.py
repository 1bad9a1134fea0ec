"""reproduce/paquet/trajectories.py: its trajectories are those of Algorithm 1, and what it measures
has the values that can be had in another way."""

import math

import numpy as np
import pytest

from algorithms.paquet_rmhmc import riemann_metric
from algorithms.paquet_rmhmc_fast import metric_factor, rmhmc
from harness.claims import Measured
from models.linalg import solve_lower_transposed, whitened_factor
from paquet import trajectories
from paquet.digits import digits_3v5
from paquet.trajectories import (
    SMALL,
    contraction,
    convergence,
    draw,
    draw_momentum,
    log_error,
    order,
    posterior,
    returns,
    reversals,
    summary,
    travel,
    volumes,
)

DIGITS = digits_3v5().name
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


# The posteriors


def test_the_small_problems_are_as_described():
    K, y = SMALL["N = 2"]
    assert y[0] == -y[1]  # different labels
    assert K[0, 1] / math.sqrt(K[0, 0] * K[1, 1]) == pytest.approx(0.9, rel=1e-15)  # rounding
    assert SMALL["N = 1"][0] == K[0, 0]


@pytest.mark.parametrize("name", SMALL)
def test_exact_moments_are_those_of_the_closed_form(name):
    # E[x] = K c, c_m = y_m N(0; 0, 1 + K_mm) P(the other label | x_m's) / Z: by parts under N(0, K)
    at = posterior(name)
    K, y = at.model.K, at.model.y
    V = 1 + np.diag(K)
    if y.size == 1:
        Z, others = 0.5, 1.0
    else:
        r = y[0] * y[1] * K[0, 1] / np.sqrt(V[0] * V[1])
        Z, others = 0.25 + np.arcsin(r) / (2 * np.pi), 0.5
    mean = K @ (y / np.sqrt(2 * np.pi * V) * others / Z)
    assert at.mean == pytest.approx(at.weights @ mean, rel=1e-12)  # the rule is exact to rounding
    if y.size == 1:  # E[x^2] = K: by symmetry the label does not change it
        assert at.deviation == pytest.approx(at.weights[0] * np.sqrt(K[0, 0] - mean[0] ** 2),
                                             rel=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_draws_for_the_small_problems_are_from_the_posterior(name):
    at, rng, n = posterior(name), np.random.default_rng(3), 20_000
    z = np.array([at.weights @ draw(at, rng) for _ in range(n)])
    z = (z - at.mean) / at.deviation
    assert abs(z.mean()) < 4 / n**0.5
    assert abs((z**2).mean() - 1) < 4 * (z**2).std() / n**0.5


def test_draws_on_the_digits_are_from_the_gaussian_of_ep():
    at, rng, n = posterior(DIGITS, 5), np.random.default_rng(4), 4000
    z = np.array([draw(at, rng) for _ in range(n)]) - at.q.mu
    scale = np.sqrt(np.outer(at.sd, at.sd) ** 2 + at.q.Sigma**2) / n**0.5  # of a covariance
    assert (np.abs(z.T @ z / n - at.q.Sigma) < 4.5 * scale).all()  # one of 15 in 10^4
    assert (np.abs(z.mean(0)) < 4.5 * at.sd / n**0.5).all()
    assert at.weights @ at.sd == pytest.approx(at.model.y.mean(), rel=1e-12)  # y_n x_n / sd_n / N
    assert at.mean == pytest.approx(at.weights @ at.q.mu, rel=1e-12)
    assert at.deviation**2 == pytest.approx(at.weights @ at.q.Sigma @ at.weights, rel=1e-12)


@each_problem
def test_momentum_has_the_metric_as_its_covariance(name, cases):
    at, rng, n = posterior(name, cases), np.random.default_rng(2), 5000
    x = draw(at, rng)
    G = np.linalg.inv(riemann_metric(x, at.model)[2])
    L = np.linalg.cholesky(np.linalg.inv(G))
    z = np.array([L.T @ draw_momentum(x, at.model, rng) for _ in range(n)])  # ~ N(0, I)
    deviation = np.sqrt((1 + np.eye(x.size)) / n)
    assert (np.abs(z.T @ z / n - np.eye(x.size)) < 4.9 * deviation).all()  # of 820 at most
    assert (np.abs(z.mean(0)) < 4.5 / n**0.5).all()


# Trajectories


@each_problem
@pytest.mark.parametrize("f_max", [1, 5])
def test_trajectory_is_that_of_rmhmc_bit_for_bit(name, cases, f_max):
    at, rng = posterior(name, cases), np.random.default_rng(1)
    model = at.model
    for _ in range(5):
        x, z = draw(at, rng), rng.standard_normal(at.sd.size)
        s, _ = metric_factor(x, model, np.empty_like(model.K))
        R, _ = whitened_factor(model.L_K, s**2)
        p = solve_lower_transposed(model.L_K, R.T @ z)  # as in rmhmc
        xs, halves, _, (before, after) = travel(x, p, model, 4, 0.1, f_max)
        chain = rmhmc.py_func(x, model, 4, 0.1, 1, Given(z), f_max)
        np.testing.assert_array_equal(xs[-1], chain.samples[0])
        assert after - before == chain.energy_error[0]
        assert xs.shape == halves.shape == (4, x.size)


@each_problem
def test_contraction_is_the_spectral_radius_of_both_loops(name, cases):
    at, rng, eps, step = posterior(name, cases), np.random.default_rng(4), 0.1, 1e-5
    x = np.zeros(at.sd.size)  # where every case has a say
    p = draw_momentum(x, at.model, rng)

    def in_p(p):  # lines 14 and 15
        _, dL_dx, G_inv, _, dg = riemann_metric(x, at.model)
        w = G_inv @ p
        return -eps / 2 * (dg * np.diag(G_inv) / 2 - w * w * dg / 2 - dL_dx)

    def in_x(x):  # lines 21 to 23
        return eps / 2 * riemann_metric(x, at.model)[2] @ p

    c = contraction(x, p, at.model, eps)
    for loop, here in ((in_p, p), (in_x, x)):
        J = np.array([(loop(here + h) - loop(here - h)) / (2 * step)
                      for h in step * np.eye(x.size)])
        # the mirror's G^-1 = K - V'V errs by 1e-16 |K| = 3e-12, the differences by that / step
        assert np.abs(np.linalg.eigvals(J)).max() == pytest.approx(c, rel=1e-3, abs=0)


def test_contraction_of_a_trajectory_that_left_the_finite_numbers_is_nan():
    at = posterior("N = 2")
    assert np.isnan(contraction(np.array([np.nan, 0]), np.ones(2), at.model, 0.1))


def test_a_reversal_by_hand():
    found = reversals("N = 2", None, 3, 0.2, (2, 4), 2, 7)
    at, rng = posterior("N = 2"), np.random.default_rng(7)
    for k in range(2):
        x = draw(at, rng)
        p = draw_momentum(x, at.model, rng)
        for j, f_max in enumerate((2, 4)):
            there, halves, p_there, H = travel(x, p, at.model, 3, 0.2, f_max)
            back, _, _, H_back = travel(there[2], -p_there, at.model, 3, 0.2, f_max)
            assert found["x"][k][j] == max(abs(back[2] - x) / at.sd)
            assert found["H"][k][j] == abs(H_back[1] - H[0])
        places = [(x, 0), (there[0], 0), (there[0], 1), (there[1], 1), (there[1], 2), (there[2], 2)]
        assert found["contraction"][k] == max(
            contraction(place, halves[step], at.model, 0.2) for place, step in places)


def test_a_converged_trajectory_returns_and_keeps_volume_and_one_of_five_iterations_does_not():
    error = np.array(reversals("N = 2", None, 10, 0.1, (5, 40), 20, 5)["x"])
    assert (error[:, 1] < 1e-10).all()  # rounding, 10 steps there and back
    assert np.median(error[:, 0]) > 1e-9
    few, five, many = volumes("N = 2", 10, 0.1, (1, 5, 40), 10, 5)["log10"]
    assert many.value < -8  # of the differences
    assert few.value > -2 > five.value > -8


def test_order_is_that_of_the_derivation():
    found = order("N = 1", 4, (0.01, 0.02), (1, 2, 3), 40, 2)["order"]
    # f + 1 for odd f, f + 2 for even f; the next order is eps of it, a tenth at the largest c
    assert [round(m.value) for m in found] == [2, 4, 4]


# Means of logarithms


def test_lost_trajectories_count_as_one_deviation():
    errors = np.array([np.nan, np.inf, 1e30, 1.0, 1e-3, 0.0])
    np.testing.assert_allclose(log_error(errors), [0, 0, 0, 0, -3, -17], rtol=1e-15)


HALF = [  # two calls of reversals(), for f_max = 3, 4, 5, 6, 10
    {"x": [[1e-2, 1e-3, 1e-5, 1e-6, 1e-8]], "H": [[1e-1, 1e-2, 1e-2, 1e-2, 1e-9]],
     "contraction": [0.1]},
    {"x": [[1e-4, 1e-7, 1e-7, 1e-8, 1e-12], [1e-1, 2.0, np.nan, 1e-1, 5.0]],
     "H": [[1e-3, 1e-6, 1e-2, 1e-2, 1e-9], [1e-5, 1e-4, np.inf, 1e-2, 1.0]],
     "contraction": [0.3, 0.9]}]


def test_a_summary_by_hand():
    found = summary(HALF)
    # -2, -4, -1; -3, -7, 0; ...: their means, and standard deviations over sqrt(3)
    assert found["x"][0] == pytest.approx((-7 / 3, (7 / 3 / 3) ** 0.5), rel=1e-12)
    assert found["x"][1] == pytest.approx((-10 / 3, (37 / 3 / 3) ** 0.5), rel=1e-12)
    assert found["H"][0] == pytest.approx((-3, (4 / 3) ** 0.5), rel=1e-12)
    np.testing.assert_array_equal(found["lost"], [0, 1 / 3, 1 / 3, 0, 1 / 3])
    assert found["contraction"] == [0.2, 0.3]  # of the two that return
    lost = summary([{"x": [[1e-3, 9.0]], "H": [[0.0, 0.0]], "contraction": [0.5]}] * 2)
    assert lost["contraction"] == []


def test_convergence_by_hand():
    found = convergence((3, 4, 5, 6, 10), HALF)
    # gains by 4 of 1, 3, -1 and by 5 of 2, 0, 0: differences -1, 3, -1
    assert found["gain"] == pytest.approx((1 / 3, (16 / 3 / 3) ** 0.5), rel=1e-12)
    # of the two that return: log10 of the decay is -0.5 and -1, of c -1 and log10(0.3)
    a, b = 0.5, -1 - math.log10(0.3)
    log10 = Measured((a + b) / 2, abs(a - b) / 2)
    assert found["decay"] == pytest.approx(
        (10**log10.value, 10**log10.value * math.log(10) * log10.se), rel=1e-12)
    assert math.isnan(convergence((3, 4, 5, 6, 10), HALF[:1] * 1)["decay"].se)  # of one


def test_order_and_volume_are_means_of_columns(monkeypatch):
    errors = {0.1: [[1e-6, 1e-8], [1e-4, 1e-6]], 0.2: [[1e-5, 1e-4], [1e-4, 1e-3]]}
    monkeypatch.setattr(trajectories, "reversals",
                        lambda name, cases, l_max, eps, *_: {"x": errors[eps]})
    # differences of 1, 0 and of 4, 3 in log10, for a step of log10(2)
    found = order("N = 1", 5, (0.1, 0.2), (1, 2), 2, 0)["order"]
    two = math.log10(2)
    assert found == [pytest.approx((0.5 / two, 0.5 / two), rel=1e-12),
                     pytest.approx((3.5 / two, 0.5 / two), rel=1e-12)]


def test_returns_are_those_of_all_starts():
    found = returns("N = 1", 3, 0.1, (2, 5), 6, 1)
    assert found["x"] == summary([reversals("N = 1", None, 3, 0.1, (2, 5), 6, 1)])["x"]
    assert len(found["lost"]) == 2


def test_a_volume_by_hand():
    # one start: the determinant of the map of a trajectory, by one-sided differences
    at, rng = posterior("N = 1"), np.random.default_rng(8)
    x = draw(at, rng)
    p = draw_momentum(x, at.model, rng)

    def flow(x, p):
        xs, _, p, _ = travel(np.array([x]), np.array([p]), at.model, 4, 0.5, 1)
        return xs[-1][0], p[0]

    h, here = 1e-6, flow(x[0], p[0])
    (xx, px), (xp, pp) = flow(x[0] + h, p[0]), flow(x[0], p[0] + h)
    J = [[(xx - here[0]) / h, (xp - here[0]) / h], [(px - here[1]) / h, (pp - here[1]) / h]]
    ((value, _),) = volumes("N = 1", 4, 0.5, (1,), 1, 8)["log10"]
    assert value > -3  # so that one-sided differences, which err by about h, know it to 1 %
    assert value == pytest.approx(math.log10(abs(math.log(np.linalg.det(J)))), abs=0.01)
