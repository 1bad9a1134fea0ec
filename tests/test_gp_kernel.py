"""models/covariance.py and gp_kernel.py: the formulas, far away, and one length at a time."""

import numpy as np
import pytest

from models.covariance import squared_exponential
from models.gp_kernel import empty_kernel, empty_row, fill, set_lengths, set_one_length, write_exp

N, M, P = 37, 11, 3  # 37 is no multiple of any vector's length
GROUPS = {"isotropic": np.zeros(P, np.int64), "ard": np.arange(P), "mixed": np.array([0, 1, 0])}
EXACT = {"rtol": 0, "atol": 1e-14}  # exponents up to 20 with a few roundings of 2e-16 each
LENGTHS = np.log([0.5, 0.7, 1.1])
X, Z = np.random.default_rng(1).standard_normal((5, 3)), np.random.default_rng(2).random((4, 3))


def cases(n, seed=1):
    return np.ascontiguousarray(np.random.default_rng(seed).random((n, P)).T)


def dense(lengths, group, XT, ZT):
    """Return the whole matrix, by the formula."""
    rho = np.exp(lengths)[group][:, None, None]
    return np.exp(-(((XT[:, :, None] - ZT[:, None, :]) / rho) ** 2).sum(0))


def short(group):
    return LENGTHS[: group.max() + 1].copy()


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_it_is_the_formula(group):
    XT, ZT, lengths = cases(N), cases(M, 2), short(group)
    E = np.full((N, M), np.nan)
    fill(lengths, group, XT, ZT, False, E)
    np.testing.assert_allclose(E, dense(lengths, group, XT, ZT), **EXACT)
    E = np.full((N, N), 7.0)
    fill(lengths, group, XT, XT, True, E)
    np.testing.assert_allclose(np.tril(E), np.tril(dense(lengths, group, XT, XT)), **EXACT)
    assert (np.diag(E) == 1).all() and (E[np.triu_indices(N, 1)] == 7).all()


def test_it_does_not_cancel_far_from_the_origin():
    XT, group = np.round(cases(N) * 1024) / 1024, GROUPS["ard"]  # exact after the shift, too
    here, there = np.zeros((N, N)), np.zeros((N, N))
    fill(LENGTHS, group, XT, XT, True, here)
    fill(LENGTHS, group, XT + 2.0**40, XT + 2.0**40, True, there)
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("run", [write_exp, write_exp.py_func], ids=["compiled", "python"])
def test_the_exponential(run):
    t = np.concatenate(([0.0, 5e-324, 1e-20, 138.0, 138.0001, 1e300, np.inf, np.nan],
                        np.linspace(0, 138.0, 333)))
    row, e = empty_row(t.size), np.empty(t.size)
    row.t[: t.size] = t
    run(row, t.size, e)
    expected = np.where(t > 138.0, 0.0, np.exp(-t))
    np.testing.assert_allclose(e, expected, rtol=4.5e-16, atol=0)  # two units in the last place
    assert e[0] == 1 and (e[4:7] == 0).all() and np.isnan(e[7])


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_one_length_at_a_time_is_the_same_as_all_anew(group, lower):
    rng = np.random.default_rng(3)
    XT, ZT, lengths = cases(N), cases(N, 1 if lower else 2), short(group)
    kernel, anew = empty_kernel(N, N, lengths.size), np.zeros((N, N))
    part = np.tril if lower else np.asarray
    for _ in range(200):
        for k in range(lengths.size):
            if rng.random() < 0.3:  # back to the lengths of an older cache, or of another
                lengths[k] = LENGTHS[k] + 0.5 * rng.integers(3)
        if rng.random() < 0.2:
            set_lengths(kernel, lengths, group, XT, ZT, lower)
        else:
            g = int(rng.integers(lengths.size))
            lengths[g] = LENGTHS[g] + 0.5 * rng.integers(3)
            set_one_length(kernel, g, lengths, group, XT, ZT, lower)
        fill(lengths, group, XT, ZT, lower, anew)
        np.testing.assert_allclose(part(kernel.E), part(anew), **EXACT)


@pytest.mark.parametrize("length, off_diagonal", [(-800.0, 0.0), (800.0, 1.0), (np.inf, 1.0),
                                                  (-np.inf, 0.0), (np.nan, np.nan)])
def test_lengths_beyond_all_bounds(length, off_diagonal):
    XT, group, lengths = cases(4), GROUPS["isotropic"], np.array([length])
    E, kernel = np.zeros((4, 4)), empty_kernel(4, 4, 1)
    fill(lengths, group, XT, XT, True, E)
    set_one_length(kernel, 0, lengths, group, XT, XT, True)
    below = np.tril_indices(4, -1)
    for each in (E, kernel.E):
        np.testing.assert_array_equal(each[below], np.full(6, off_diagonal))
    assert np.isnan(length) or ((np.diag(E) == 1).all() and (np.diag(kernel.E) == 1).all())


def test_the_covariance_does_not_cancel_far_from_the_origin():
    shifted = squared_exponential(Z + 1e6, X + 1e6, 0.4, 0.7)
    # coordinates near 1e6 are rounded to 6e-11, so a distance d < 4.2 changes by up to 2e-10, and
    # the exponent d^2 / (2 e^0.8) by up to 4e-10
    np.testing.assert_allclose(shifted, squared_exponential(Z, X, 0.4, 0.7), rtol=4e-10)
