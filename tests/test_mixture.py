"""models/mixture.py: closed forms and draws."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from models.interface import U, metric, metric_gradient
from models.mixture import gaussian_mixture, mixture_draw

WEIGHTS = np.array([0.5, 0.3, 0.2])
MEANS = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 2.0]])
COVARIANCES = np.array([[[1.0, 0.8], [0.8, 1.0]], [[0.5, -0.3], [-0.3, 0.4]],
                        [[2.0, 0.0], [0.0, 0.3]]])
MODEL = gaussian_mixture(WEIGHTS, MEANS, COVARIANCES)


def test_U_is_minus_the_log_density_and_the_metric_the_mean_of_precisions_by_responsibility():
    points = np.random.default_rng(0).uniform(-4, 4, (50, 2))
    parts = np.array([w * multivariate_normal(m, S).pdf(points)
                      for w, m, S in zip(WEIGHTS, MEANS, COVARIANCES, strict=True)])
    np.testing.assert_allclose([U(q, MODEL) for q in points], -np.log(parts.sum(0)), rtol=1e-12)
    wanted = np.einsum("kn,kij->nij", parts / parts.sum(0), np.linalg.inv(COVARIANCES))
    np.testing.assert_allclose([metric(q, MODEL) for q in points], wanted, rtol=1e-12, atol=1e-13)


def test_far_from_all_components_nothing_underflows():
    q = np.array([300.0, -400.0])
    logs = [multivariate_normal(m, S).logpdf(q) + np.log(w)
            for w, m, S in zip(WEIGHTS, MEANS, COVARIANCES, strict=True)]
    best = int(np.argmax(logs))
    assert max(logs) < -800  # exp of it is 0
    assert U(q, MODEL) == pytest.approx(-max(logs), rel=1e-12)  # the others are e^-100 of it
    np.testing.assert_allclose(metric(q, MODEL), np.linalg.inv(COVARIANCES[best]), rtol=1e-12)
    np.testing.assert_allclose(metric_gradient(q, MODEL), 0, rtol=0, atol=1e-30)


def test_draws_have_the_moments_of_the_mixture():
    n = 100_000
    q = mixture_draw(MODEL, n, np.random.default_rng(3))
    mean = WEIGHTS @ MEANS
    second = np.einsum("k,kij->ij", WEIGHTS, COVARIANCES + MEANS[:, :, None] * MEANS[:, None, :])
    four_se = 4 * q.std(0) / np.sqrt(n)
    assert (np.abs(q.mean(0) - mean) < four_se).all()
    products = q[:, :, None] * q[:, None, :]
    assert (np.abs(products.mean(0) - second) < 4 * products.std(0) / np.sqrt(n)).all()


def test_each_draw_is_of_the_component_that_its_own_uniform_chose():
    far_apart = gaussian_mixture(WEIGHTS, 1e3 * MEANS, COVARIANCES)
    q = mixture_draw(far_apart, 50, np.random.default_rng(5))
    nearest = np.linalg.norm(q[:, None] - far_apart.means, axis=2).argmin(1)
    chosen = np.searchsorted(np.cumsum(WEIGHTS), np.random.default_rng(5).random(50))
    np.testing.assert_array_equal(nearest, chosen)
