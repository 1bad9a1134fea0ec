"""Nystrom's approximation, FITC, the bound and the spectral form, against dense formulas."""

import numpy as np
import pytest

from departing import departs
from models import gp_nystrom
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_spectral import GPSpectral
from models.gp_variational import GPVariational
from models.interface import U, U_prior, log_likelihood, prepare
from test_gp_regression import DENSE, data, dense, dense_C, log_normal, problem

INDEX = np.array([11, 3, 0, 17, 8, 29, 14])
JITTER = 1e-6  # where the dense formula, with its inverse of K^(m,m), keeps its digits


def parts(q, index):
    """Return K^(n,m) and K^(m,m) with its jitter."""
    X = data(30)[0]
    K = dense(X, X[index], q)
    return K, K[index] + JITTER * K[index[0], 0] * np.eye(index.size)


def nystrom(y, Q, C):
    return log_normal(y, Q + 0.25 * np.eye(30))


def fitc(y, Q, C):
    """Return log N(y | 0, C^), where C^ is Q, but with the diagonal of C."""
    approximate = Q + np.diag(np.diag(C) - np.diag(Q))
    assert np.abs(approximate - C).max() > 0.01
    return log_normal(y, approximate)


def bound(y, Q, C):
    """Return that of Nystrom's approximation less trace(K - Q) / (2 sigma^2)."""
    return nystrom(y, Q, C) - (np.trace(C - Q) - 30 * 0.25) / (2 * 0.25)


@pytest.mark.parametrize("approximation, dense", [(GPNystrom, nystrom), (GPFITC, fitc),
                                                  (GPVariational, bound)])
@pytest.mark.parametrize("kind", ["isotropic", "ard"])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_it_is_the_dense_formula(m, kind, approximation, dense):
    whole, q = problem(30, kind)
    model = approximation.from_model(whole, INDEX[:m], JITTER)
    K, small = parts(q, INDEX[:m])
    # small has a condition of 1e6 at most, and C one of 1e4
    assert U_prior(q, model) - U(q, model) == pytest.approx(dense(
        whole.y, K @ np.linalg.solve(small, K.T), dense_C(data(30)[0], q)), rel=1e-9)
    np.testing.assert_array_equal(model.index, INDEX[:m])


@pytest.mark.parametrize("jitter", [1e-6, 1e-7, 1e-8])
def test_with_all_columns_the_error_is_in_proportion_to_the_jitter(jitter):
    # K (K + j I)^-1 K = K - j I + j^2 (K + j I)^-1: to first order a smaller sigma^2; with it
    # the bound has a gap of n j / (2 sigma^2), and FITC's diagonal gives j back
    rng = np.random.default_rng(1)
    whole = GPRegression.from_data(rng.random((40, 5)), 5 * rng.standard_normal(40), "isotropic")
    q = np.log([0.5, 5.0, 0.1])  # K has no eigenvalue below 20
    less = q.copy()
    less[0] += 1e-5
    slope = (log_likelihood(less, whole) - log_likelihood(q, whole)) / (1e-5 * 2 * 0.25)
    error, of_the_bound, of_fitc = (U(q, kind.from_model(whole, np.arange(40), jitter)) - U(
        q, whole) for kind in (GPNystrom, GPVariational, GPFITC))
    # the slope by sigma^2 is exact to 1e-5, the second order is 1e-4, and rounding of U 1e-13
    assert error == pytest.approx(slope * 125 * jitter, rel=1e-3)
    assert of_the_bound == pytest.approx((slope + 40 / 0.5) * 125 * jitter, rel=1e-3)
    # (125 jitter)^2 / 20, over an eigenvalue of 20
    assert abs(of_fitc) < 1e-9 + 100 * jitter**2 * 125**2 / 400


def test_what_rounding_makes_negative_counts_as_0():
    # of rank 1: one column leaves nothing, to 1e-15 of 1 to 1e3, at a noise of 1e-20
    fitc = GPFITC.from_model(GPRegression.from_data(np.zeros((5, 2)), np.ones(5), "ard", 0.7),
                             [0], 0.0)
    for log_eta in np.linspace(-1.0, 3.0, 30):
        assert np.isfinite(U(np.array([np.log(1e-10), log_eta, 0.0, 0.0]), fitc))
        q = np.array([np.log(0.1), log_eta, 0.0, 0.0])  # nothing beside this noise
        assert U_prior(q, fitc) - U(q, fitc) == pytest.approx(log_normal(
            np.ones(5), 0.7**2 + np.exp(2 * log_eta) + 0.01 * np.eye(5)), rel=1e-9)
    whole = GPRegression.from_data(np.zeros((30, 2)), np.ones(30), "isotropic")  # E of rank 1
    cache = prepare(np.log([1e-9, 3.0, 1.0]), GPSpectral.from_model(whole))
    assert cache.memory.s.min() == 0.0
    assert cache.memory.s[-1] == pytest.approx(30, rel=1e-12) and np.isfinite(cache.U)


@pytest.mark.parametrize("n, c", [(1, 10.0), (2, 0.0), (25, 10.0), (25, 0.0), (25, 1e3)])
def test_the_spectral_form_is_the_dense_formula(n, c):
    whole, q = problem(n, "isotropic", c=c)
    model, (X, y) = GPSpectral.from_model(whole), data(n)
    # the dense one loses the digits of c^2 over sigma^2: 1e6 n / .25 times 1e-16
    assert U_prior(q, model) - U(q, model) == pytest.approx(
        log_normal(y, dense_C(X, q, c)), rel=DENSE if c < 100 else 1e-7)


def by_equation_37(q, model):
    """Return U with (40) and (41) put into (37) and (38) as if they were orthonormal."""
    n, m, d, y = 30, model.index.size, np.exp(2 * q[0]), model.whole.y
    s, B = by_40_and_41(q, model.index)
    quadratic = y @ y / d - (B.T @ y) ** 2 @ (s / (d * (s + d)))
    log_det = np.log(s + d).sum() + (n - m) * np.log(d)
    return 0.5 * (n * np.log(2 * np.pi) + log_det + quadratic) + U_prior(q, model)


def by_40_and_41(q, index):
    n, m = 30, index.size
    K, small = parts(q, index)
    values, vectors = np.linalg.eigh(small)
    return n / m * values, np.sqrt(m / n) / values * (K @ vectors)


@departs(lambda q, model: U(q, model), by_equation_37)
def test_section_5_2_4_the_vectors_are_not_orthonormal(energy):
    whole, q = problem(30, "ard")
    model = GPNystrom.from_model(whole, INDEX, JITTER)
    s, B = by_40_and_41(q, INDEX)
    expected = log_normal(whole.y, (B * s) @ B.T + 0.25 * np.eye(30))
    assert U_prior(q, model) - energy(q, model) == pytest.approx(expected, rel=1e-8)


@departs(lambda p, m, n: p * m * n + m**3 + 2 * m * m * n, lambda p, m, n: p * m * n + m**3)
def test_section_5_2_4_the_table_of_operations_omits_most_of_them(operations):
    # counted at what make_B calls, in products of two numbers; the kernel takes p m n
    p, m, n = 2, 20, 400
    rng = np.random.default_rng(1)
    whole = GPRegression.from_data(rng.random((n, p)), rng.standard_normal(n), "ard")
    model, counted = GPNystrom.from_model(whole, np.arange(m)), [p * m * n]
    memory = prepare(np.zeros(4), model).memory
    with pytest.MonkeyPatch.context() as patch:
        def count(name, of):
            function = getattr(gp_nystrom, name)
            patch.setattr(gp_nystrom, name, lambda *given: counted.append(
                of(*(each.shape for each in given))) or function(*given))

        patch.setattr(gp_nystrom, "solve_columns", gp_nystrom.solve_columns.py_func)
        count("factorise", lambda L: L[0] ** 3 / 3)
        count("invert_lower", lambda L: L[0] ** 3 / 3)
        count("times_lower_transposed", lambda B, L: B[0] * L[0] ** 2)
        count("gram", lambda B: B[0] * B[1] ** 2)
        assert gp_nystrom.make_B.py_func(memory, np.zeros(4), model)
    assert len(counted) == 5
    assert sum(counted) == pytest.approx(operations(p, m, n), rel=0.02)  # m^3 is 2 % of it


@departs(1e-10, 0.0)
def test_section_5_2_4_without_jitter_there_is_no_factor(jitter):
    X = np.linspace(0, 1, 60)[:, None]
    whole = GPRegression.from_data(X, np.sin(6 * X[:, 0]), "isotropic")
    model = GPNystrom.from_model(whole, np.arange(0, 60, 2), jitter)
    assert np.isfinite(U(np.log([0.5, 5.0, 2.0]), model))
