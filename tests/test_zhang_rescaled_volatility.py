"""Coordinates of the volatility model that the data scale too: its density, its gradient."""

import numpy as np
import pytest

from models.interface import U, grad_U
from models.stochastic_volatility import StochasticVolatility
from reproduce.zhang.rescaled_volatility import Rescaled, rescaled_x, rescaled_z

RNG = np.random.default_rng(1)
PLACES = ([-0.4, -1.9, 2.0], [0.1, -0.5, -0.7], [0.2, 0.3, 0.0], [-0.4, -3.0, 4.0])
H = 1e-5  # of differences


def dense(n, phi):
    """Return the lower factor of Q / sigma^2 + I / 2."""
    ar = np.tanh(phi[2])
    Q = np.diag(np.concatenate([[1.0], np.full(n - 2, 1 + ar * ar), [1.0]]))
    Q -= ar * (np.eye(n, k=1) + np.eye(n, k=-1))
    return np.linalg.cholesky(Q * np.exp(-2 * phi[1]) + np.eye(n) / 2)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
@pytest.mark.parametrize("phi", PLACES)
def test_the_map_is_that_of_the_dense_factor_and_its_inverse(n, phi):
    z, L = RNG.standard_normal(n), dense(n, phi)
    x = rescaled_x(z, np.array(phi))
    # M has a condition number of 1e6 at most
    np.testing.assert_allclose(x, np.linalg.solve(L.T, z), rtol=0, atol=1e-10)
    np.testing.assert_allclose(rescaled_z(x, np.array(phi)), z, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
@pytest.mark.parametrize("phi", PLACES)
def test_the_density_is_that_of_the_model_times_the_jacobian(n, phi):
    model, z, L = StochasticVolatility.from_data(RNG.standard_normal(n)), RNG.standard_normal(n), (
        dense(n, phi))
    x = np.linalg.solve(L.T, z)
    expected = U(np.append(x, phi), model) + np.log(np.diag(L)).sum()
    assert U(np.append(z, phi), Rescaled(model)) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
@pytest.mark.parametrize("phi", PLACES)
def test_gradient_against_differences(n, phi):
    model = Rescaled(StochasticVolatility.from_data(RNG.standard_normal(n)))
    q = np.append(RNG.standard_normal(n), phi)
    numeric = np.array([(U(q + H * e, model) - U(q - H * e, model)) / (2 * H)
                        for e in np.eye(n + 3)])
    # H^2 times third derivatives of up to ten times the gradient
    np.testing.assert_allclose(grad_U(q, model), numeric, rtol=0, atol=1e-8 * np.abs(
        numeric).max())


def test_given_the_hyperparameters_every_coordinate_has_about_unit_scale():
    n, phi = 60, np.array([0.0, -2.0, 2.0])
    rng = np.random.default_rng(2)
    L = dense(n, phi)
    H_x = np.zeros((n, n))  # the Hessian of U in x, a mean over data of x drawn from its prior
    prior = np.linalg.inv(L @ L.T - np.eye(n) / 2)
    for _ in range(400):
        x = np.linalg.cholesky(prior) @ rng.standard_normal(n)
        y = np.exp(x / 2) * rng.standard_normal(n)
        H_x += (L @ L.T - np.eye(n) / 2 + np.diag(y**2 * np.exp(-x) / 2)) / 400
    inner = np.linalg.solve(L, np.linalg.solve(L, H_x).T)
    # the identity; 400 draws of chi^2_1 / 2 leave .035 on a diagonal, 5 standard errors of 60
    np.testing.assert_allclose(inner, np.eye(n), rtol=0, atol=0.18)
