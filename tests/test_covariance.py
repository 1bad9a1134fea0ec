"""models/covariance.py."""

import numpy as np

from models.covariance import squared_exponential

RNG = np.random.default_rng(1)
X, Z = RNG.standard_normal((5, 3)), RNG.standard_normal((4, 3))


def test_is_the_formula_of_section_5_and_symmetric():
    K = squared_exponential(X, Z, 0.4, 0.7)
    distance = ((X[:, None] - Z[None]) ** 2).sum(-1)
    np.testing.assert_allclose(K, np.exp(1.4) * np.exp(-distance / (2 * np.exp(0.8))), rtol=1e-14)
    K = squared_exponential(X, X, -0.3, 5.1)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), np.exp(10.2))


def test_does_not_cancel_far_from_the_origin():
    shifted = squared_exponential(X + 1e6, Z + 1e6, 0.4, 0.7)
    # coordinates near 1e6 are rounded to 6e-11, so a distance d < 4.2 changes by up to 2e-10, and
    # the exponent d^2 / (2 e^0.8) by up to 4e-10
    np.testing.assert_allclose(shifted, squared_exponential(X, Z, 0.4, 0.7), rtol=4e-10)
