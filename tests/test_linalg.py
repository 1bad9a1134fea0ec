"""models/linalg.py: factors, inverses and solves, against their definitions and NumPy."""

import numpy as np
import pytest

from models import linalg

SIZES = [1, 5, linalg.BLOCK, linalg.BLOCK + 1, 2 * linalg.BLOCK + 1, 300]


def positive_definite(n):
    B = np.random.default_rng(n).standard_normal((n, n))
    return B @ B.T / n + 0.1 * np.eye(n)  # condition number about 40


@pytest.mark.parametrize("n", SIZES)
def test_factors_and_their_inverses(n):
    A = positive_definite(n)
    before = A.copy()
    L, ok = linalg.cholesky(A)
    assert ok
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(np.triu(L, 1), 0)
    assert (np.diag(L) > 0).all()
    np.testing.assert_allclose(L @ L.T, A, rtol=0, atol=1e-14)
    np.testing.assert_allclose(linalg.log_det(L), np.linalg.slogdet(A)[1], rtol=0, atol=1e-11)
    work = np.tril(A) + np.triu(np.full((n, n), np.nan), 1)  # only the lower triangle is touched
    assert linalg.factorise(work)
    np.testing.assert_allclose(np.tril(work), np.linalg.cholesky(A), rtol=0, atol=1e-14)
    linalg.invert_lower(work)
    np.testing.assert_allclose(np.tril(work) @ L, np.eye(n), rtol=0, atol=1e-13)
    assert np.isnan(work[np.triu_indices(n, 1)]).all()


@pytest.mark.parametrize("n, i, j", [(1, 0, 0), (5, 0, 0), (150, 0, 0), (150, 70, 70),
                                     (150, 149, 149), (150, 149, 3)])
@pytest.mark.parametrize("bad", [-1.0, 0.0, np.nan, np.inf, -np.inf])
def test_what_has_no_factor_is_not_ok_and_nan(n, i, j, bad):
    A = positive_definite(n)
    A[i, j] = A[j, i] = bad if i == j else np.nan
    L, ok = linalg.cholesky(A)
    assert not ok and np.isnan(L).all()


@pytest.mark.parametrize("n", SIZES)
def test_solves(n):
    rng, L = np.random.default_rng(1), np.linalg.cholesky(positive_definite(n))
    b, B, C = rng.standard_normal(n), rng.standard_normal((n, 7)), rng.standard_normal((7, n))
    given = b.copy()
    np.testing.assert_allclose(L @ linalg.solve_lower(L, b), b, rtol=0, atol=1e-12)
    np.testing.assert_allclose(L.T @ linalg.solve_lower_transposed(L, b), b, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(b, given)
    np.testing.assert_allclose(L @ linalg.solve_lower_matrix(L, B), B, rtol=0, atol=1e-12)
    X = C.copy()
    linalg.triangular_solve_matrix(L, X, False)
    np.testing.assert_allclose(X @ L, C, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_products(n):
    rng = np.random.default_rng(2)
    A, x, s, V = (positive_definite(n), rng.standard_normal(n), rng.random(n),
                  rng.standard_normal((n + 3, n)))
    lower = np.tril(A) + np.triu(np.full((n, n), np.nan), 1)
    np.testing.assert_allclose(linalg.symmetric_times(lower, x), A @ x, rtol=0, atol=1e-12)
    L = np.linalg.cholesky(A)
    for transpose, expected in ((False, L @ x), (True, L.T @ x)):
        b = x.copy()
        linalg.triangular_times(L + np.triu(np.full((n, n), np.nan), 1), b, transpose)
        np.testing.assert_allclose(b, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(linalg.gram(V), V.T @ V, rtol=0, atol=1e-11)
    np.testing.assert_allclose(linalg.identity_plus_scaled(A, s),
                               np.eye(n) + np.diag(s) @ A @ np.diag(s), rtol=0, atol=1e-14)
    np.testing.assert_allclose(linalg.rows_times(A, s), np.diag(s) @ A, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_whitened_is_complete(n):
    L, A = np.linalg.cholesky(positive_definite(n)), positive_definite(n + 1)[:n, :n]
    found = np.tril(A) + np.triu(np.full((n, n), np.nan), 1)
    linalg.whiten(L, found)
    # condition number 40 times rounding times at most 300 terms
    np.testing.assert_allclose(L @ found @ L.T, A, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("n", SIZES)
def test_posterior_factor(n):
    K, w = positive_definite(n), np.random.default_rng(3).random(n) * 5
    w[0] = 0.0
    L_K = np.linalg.cholesky(K)
    R, ok = linalg.whitened_factor(L_K, w)
    assert ok
    np.testing.assert_array_equal(np.triu(R, 1), 0)
    np.testing.assert_allclose(R.T @ R, np.eye(n) + L_K.T @ np.diag(w) @ L_K, rtol=0, atol=1e-12)
    L, ok = linalg.posterior_factor(L_K, w)
    assert ok
    np.testing.assert_array_equal(np.triu(L, 1), 0)
    np.testing.assert_allclose(L @ L.T, np.linalg.inv(np.linalg.inv(K) + np.diag(w)),
                               rtol=0, atol=1e-12)


def test_posterior_factor_does_not_cancel():
    # K of size 1e12 and a posterior of size 1e-2: K - V'V keeps 16 - 14 digits, ours all
    n = 20
    X = np.linspace(0, 1, n)
    K, w = 1e12 * (np.exp(-np.abs(X[:, None] - X)) + np.eye(n)), np.full(n, 100.0)
    L, ok = linalg.posterior_factor(np.linalg.cholesky(K), w)
    assert ok
    # (K^-1 + W)^-1 = W^-1 - W^-1 K^-1 W^-1 + ..., and K^-1 is 1e-12
    np.testing.assert_allclose(L @ L.T, np.diag(1 / w), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_eigenvalues_and_vectors(n):
    A = positive_definite(n) - 0.5 * np.eye(n)  # of both signs
    work = np.tril(A) + np.triu(np.full((n, n), 0.3), 1)  # above the diagonal nothing is read
    values, Q, ok = linalg.eigh(work)
    assert ok and Q.flags.c_contiguous and (np.diff(values) >= 0).all()
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), rtol=0, atol=1e-13)
    np.testing.assert_allclose((Q * values) @ Q.T, A, rtol=0, atol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_has_no_eigenvalues(bad):
    A = positive_definite(5)
    A[3, 1] = bad
    values, Q, ok = linalg.eigh(A)
    assert not ok and np.isnan(values).all() and np.isnan(Q).all()
