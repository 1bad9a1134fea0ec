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


def test_a_draw_is_of_the_component_that_its_uniform_chose_and_linear_in_its_normals():
    q, rng = mixture_draw(MODEL, 50, np.random.default_rng(5)), np.random.default_rng(5)
    chosen, z = np.searchsorted(np.cumsum(WEIGHTS), rng.random(50)), rng.standard_normal((50, 2))
    for k, covariance in enumerate(COVARIANCES):
        root, off, *_ = np.linalg.lstsq(z[chosen == k], q[chosen == k] - MEANS[k])
        np.testing.assert_allclose(off, 0, rtol=0, atol=1e-20)  # rounding of squares
        np.testing.assert_allclose(root.T @ root, covariance, rtol=0, atol=1e-13)
