"""models/square_grid.py: the blocks against the whole matrix."""

import numpy as np
import pytest

from models import square_grid
from models.linalg import log_det

SIZES = [1, 2, 3, 4, 5, 8]
EXACT = 1e-12  # sums of at most 64 products of numbers of order 1


def covariance(d, length=3.0):
    """Return c at lags, (d, d), and the matrix of all pairs of points, (d^2, d^2)."""
    c = np.exp(-np.hypot(*np.mgrid[:d, :d]) / length)
    row, column = np.divmod(np.arange(d * d), d)
    return c, c[abs(row[:, None] - row), abs(column[:, None] - column)]


def blocks_of(c):
    A = square_grid.empty_blocks(len(c))
    square_grid.fill_blocks(c, A)
    return A


def change(d):
    return np.array([square_grid.to_blocks(e, d) for e in np.eye(d * d)]).T


def whole(blocks, lower):
    """Put blocks in their places: triangular ones, or symmetric ones known below the diagonal."""
    n = sum(len(blocks[k]) for k in square_grid.PLACES)
    A, start = np.zeros((n, n)), 0
    for k in square_grid.PLACES:
        block, end = np.tril(blocks[k]), start + len(blocks[k])
        A[start:end, start:end] = block if lower else block + np.tril(block, -1).T
        start = end
    return A


@pytest.mark.parametrize("d", SIZES)
def test_the_change_of_coordinates_is_orthogonal_and_has_its_inverse(d):
    Q, back = change(d), np.array([square_grid.from_blocks(e, d) for e in np.eye(d * d)])
    np.testing.assert_allclose(Q @ Q.T, np.eye(d * d), rtol=0, atol=EXACT)
    np.testing.assert_allclose(back, Q, rtol=0, atol=EXACT)


@pytest.mark.parametrize("d", SIZES)
def test_factor_solves_products_and_determinants_are_those_of_the_matrix(d):
    c, S = covariance(d)
    Q, L = change(d), blocks_of(c)
    assert square_grid.factorise_blocks(L)
    root = whole(L, True)
    np.testing.assert_allclose(root @ root.T, Q @ S @ Q.T, rtol=0, atol=EXACT)
    # inverses: the condition number, up to 1e3, times rounding
    np.testing.assert_allclose(square_grid.log_det_blocks(L), log_det(np.linalg.cholesky(S)),
                               rtol=0, atol=1e-10)
    x = np.random.default_rng(d).standard_normal(d * d)
    for transpose, A in ((False, root), (True, root.T)):
        u = square_grid.to_blocks(x, d)
        square_grid.factor_times(L, u, transpose)
        np.testing.assert_allclose(u, A @ (Q @ x), rtol=0, atol=1e-10)
        square_grid.factor_solve(L, u, transpose)
        np.testing.assert_allclose(u, Q @ x, rtol=0, atol=1e-10)


def test_blocks_without_a_factor_are_nan():
    L = blocks_of(covariance(4)[0])
    L[4][-1, -1] = -1.0  # the last block alone has none
    assert not square_grid.factorise_blocks(L)
    assert all(np.isnan(block).all() for block in L)
