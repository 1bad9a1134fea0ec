"""The largest eigenvalues of the kernel: against the dense formula, and what is printed."""

import numpy as np
import pytest

from departing import departs
from models.gp_eigen import GPEigen
from models.gp_regression import GPRegression
from models.interface import U, U_prior
from test_gp_regression import DENSE, data, dense, log_normal, problem


def decomposed(q, n):
    X = data(n)[0]
    return np.linalg.eigh(dense(X, X, q))


@pytest.mark.parametrize("kind", ["isotropic", "ard"])
@pytest.mark.parametrize("m", [1, 7, 29])
def test_it_is_the_dense_formula(m, kind):
    whole, q = problem(30, kind)
    model, (s, Q) = GPEigen.from_model(whole, m), decomposed(q, 30)
    C = (Q[:, -m:] * s[-m:]) @ Q[:, -m:].T + 0.25 * np.eye(30)
    assert U_prior(q, model) - U(q, model) == pytest.approx(log_normal(whole.y, C), rel=DENSE)


def test_eigenvalues_of_rounding_below_zero_do_no_harm():
    # 40 smooth functions at sigma = 1e-7, whose square is 1e-16 of the largest eigenvalue
    X = np.linspace(0, 1, 40)[:, None]
    whole = GPRegression.from_data(X, np.sin(X[:, 0]), "isotropic", 1.0)
    assert np.isfinite(U(np.array([np.log(1e-7), 0.0, 1.0]), GPEigen.from_model(whole, 40)))


@departs(np.transpose, lambda B: B)
def test_equation_36_lacks_a_transpose(second):
    # with m = n, where both have a product at all
    _, q = problem(8, "ard")
    (s, B), d = decomposed(q, 8), 0.25
    inverse = np.eye(8) / d - B @ np.diag(s / (s + d)) @ second(B) / d
    C = (B * s) @ B.T + d * np.eye(8)
    np.testing.assert_allclose(inverse @ C, np.eye(8), rtol=0, atol=1e-9)  # 1e-16 of 1e3 / d^2
