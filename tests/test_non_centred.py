"""Coordinates that are independent before there are data: the same densities, and gradients."""

import numpy as np
import pytest

from models import validate
from models.funnel import Funnel
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import U, grad_U, sizes
from models.log_gaussian_cox import LogGaussianCox
from models.non_centred import NonCentred, theta_of
from models.stochastic_volatility import StochasticVolatility
from reproduce.zhang.datasets import MU, simulated_cox

RNG = np.random.default_rng(1)
SERIES = np.array([0.3, -1.2, 0.1, 0.8, -0.4])
MODELS = {
    "funnel": (Funnel.from_size(3), [0.5]),
    "logistic": (HierarchicalLogistic.from_data(RNG.standard_normal((12, 2)),
                                                np.tile([1.0, -1.0], 6), np.arange(12) % 3),
                 [-0.7]),
    "volatility": (StochasticVolatility.from_data(SERIES), [-0.4, -1.0, 1.2]),
    "negative": (StochasticVolatility.from_data(SERIES, beta_shape=1.0, beta_rate=1.0),
                 [-0.4, -1.0, -0.6]),
    "one": (StochasticVolatility.from_data([0.7]), [-0.4, 0.2, 0.5]),
    "Cox": (LogGaussianCox.from_counts(simulated_cox(4).y, MU), [0.5, -2.0]),
    "odd Cox": (LogGaussianCox.from_counts(simulated_cox(3).y, MU, "pixel"), [0.5, 0.3]),
}
H = 1e-5  # of differences


@pytest.mark.parametrize("name", MODELS)
def test_gradient_against_differences(name):
    model, phi = MODELS[name]
    n, h = sizes(model)
    q, non_centred = np.append(RNG.standard_normal(n), phi), NonCentred(model)
    numeric = [(U(q + H * e, non_centred) - U(q - H * e, non_centred)) / (2 * H)
               for e in np.eye(n + h)]
    # H^2 times third derivatives of up to 40
    np.testing.assert_allclose(grad_U(q, non_centred), numeric, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_the_density_is_that_of_the_model_times_the_jacobian(name):
    model, phi = MODELS[name]
    n, h = sizes(model)
    found = []
    for _ in range(3):
        z, near = RNG.standard_normal(n), phi + 0.3 * RNG.standard_normal(h)
        J = np.array([(theta_of(z + H * e, near, model) - theta_of(z - H * e, near, model))
                      / (2 * H) for e in np.eye(n)])  # exact: theta is linear in z
        q = np.concatenate([theta_of(z, near, model), near])
        found.append(U(np.concatenate([z, near]), NonCentred(model)) - U(q, model)
                     + np.linalg.slogdet(J)[1])
    np.testing.assert_allclose(found, found[0], rtol=0, atol=1e-9)  # rounding / H of J


@pytest.mark.parametrize("name", MODELS)
def test_a_state_has_as_many_variables_as_the_model(name):
    model, phi = MODELS[name]
    with pytest.raises(ValueError, match=rf"q must have shape \({sum(sizes(model))},\)"):
        validate.state("q", phi, NonCentred(model), gradient=True)
