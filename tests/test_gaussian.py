"""models/gaussian.py."""

import numpy as np
from scipy.stats import multivariate_normal

from models.gaussian import Gaussian
from models.interface import U

MODEL = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
Q = np.array([0.3, -1.1])


def test_U_is_minus_the_log_density_up_to_a_constant():
    density = multivariate_normal(MODEL.mean, np.linalg.inv(MODEL.precision))
    constant = U(Q, MODEL) + density.logpdf(Q)
    np.testing.assert_allclose(U(-3 * Q, MODEL) + density.logpdf(-3 * Q), constant, rtol=1e-12)
