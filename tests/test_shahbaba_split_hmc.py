"""algorithms/shahbaba_split_hmc.py: the flow, both integrators as printed, misprints failing."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import expit

from algorithms import shahbaba_split_hmc as split_hmc
from algorithms import shahbaba_split_hmc_fast as split_hmc_fast
from algorithms.hmc import hmc
from algorithms.map_estimate import map_estimate
from algorithms.shahbaba_split_hmc import exact_flow, follow, metropolis, normal_approximation
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc, normal_state
from conftest import Given, counted, one
from departing import departs
from models.interface import U, case_entropy, grad_U
from models.jit import njit
from models.linalg import PLAIN, TRANSPOSED
from models.logistic_regression import BLOCK, LogisticRegression, dgemv
from models.multinomial_logistic import MultinomialLogistic
from reproduce.shahbaba.steps import matrix_A, printed_R
from test_benchmarks import seconds, show

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2)) * np.array([2.0, 0.5])
Y = (RNG.random(80) < expit(0.3 + X @ np.array([1.0, -2.0]))).astype(float)
BINARY = LogisticRegression.from_data(X, Y)
MODELS = {"binary": BINARY,
          "multinomial": MultinomialLogistic.from_data(X, RNG.integers(0, 3, 80), 3, 1.0, 2.0)}
FITS = {name: map_estimate(model) for name, model in MODELS.items()}
FIT = normal_approximation(FITS["binary"])
SPLIT = split_hmc.split_data(BINARY, FIT.q_hat, 0.4)
each_model = pytest.mark.parametrize("name", MODELS)
EPS = 0.37


@pytest.fixture
def interpreted(monkeypatch):
    """Leave the Metropolis test of an interpreted transition uncompiled: it takes any generator."""
    for module in (split_hmc, split_hmc_fast):
        monkeypatch.setattr(module, "metropolis", module.metropolis.py_func)


def start(name):
    """A position within two posterior standard deviations of the mode, and a momentum."""
    fit = FITS[name]
    z, p = np.random.default_rng(5).standard_normal((2, fit.q.size))
    return fit.q + np.linalg.solve(np.linalg.cholesky(fit.hessian).T, z), p


def flow_matrix(fit, eps):
    R, d = exact_flow(fit, eps), fit.w.size
    return np.column_stack([np.concatenate(follow(R, e[:d].copy(), e[d:].copy()))
                            for e in np.eye(2 * d)])


def fit_of(d, low, high):
    """An approximation in d dimensions with frequencies from low to high, turned at random."""
    rng = np.random.default_rng(d)
    Z, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return split_hmc.NormalApproximation(rng.standard_normal(d), np.ascontiguousarray(Z),
                                         np.geomspace(low, high, d))


def algorithm_1(q, p, model, fit, eps, L):
    R, J = expm(matrix_A(fit) * eps), (fit.Z * fit.w**2) @ fit.Z.T

    def dU_1(q):
        return grad_U(q, model) - J @ (q - fit.q_hat)

    for _ in range(L):
        p = p - eps / 2 * dU_1(q)
        X = R @ np.concatenate([q - fit.q_hat, p])
        q, p = X[: q.size] + fit.q_hat, X[q.size :]
        p = p - eps / 2 * dU_1(q)
    return q, p


def algorithm_2(q, p, split, eps, L, M):
    for _ in range(L):
        p = p - eps / 2 * grad_U(q, split.R_1)
        for _ in range(M):
            p = p - eps / (2 * M) * grad_U(q, split.R_0)
            q = q + eps / M * p
            p = p - eps / (2 * M) * grad_U(q, split.R_0)
        p = p - eps / 2 * grad_U(q, split.R_1)
    return q, p


@each_model
@pytest.mark.parametrize("algorithm", ["normal", "data", "data, R_1 empty"])
@pytest.mark.usefixtures("interpreted")
def test_the_proposal_is_that_of_the_algorithm_by_hand(name, algorithm):
    model, fit, (q, p) = MODELS[name], normal_approximation(FITS[name]), start(name)
    if algorithm == "normal":
        by, steps, which, here = fit, (4,), "normal_split_step", normal_state(q, model, fit)
        q_end, p_end = algorithm_1(q, p, model, fit, 0.2, 4)
    else:
        by = split_hmc.split_data(model, fit.q_hat, 0.4 if algorithm == "data" else 1.0)
        steps, which = (3, 4), "data_split_step"
        here = split_hmc_fast.DataState(q, U(q, model), grad_U(q, by.R_0), grad_U(q, by.R_1))
        q_end, p_end = algorithm_2(q, p, by, 0.2, 3, 4)
    (end, accepted, error), (state, *same) = (
        getattr(module, which).py_func(at, model, by, 0.2, *steps, Given(p))
        for module, at in ((split_hmc, q), (split_hmc_fast, here)))
    assert accepted and same == [accepted, error]
    np.testing.assert_array_equal(state.q, end)
    np.testing.assert_allclose(end, q_end, rtol=0, atol=1e-12)
    assert state.U == U(state.q, model)
    expected = U(q_end, model) + p_end @ p_end / 2 - U(q, model) - p @ p / 2
    assert 1e-6 < abs(error) and error == pytest.approx(expected, abs=1e-11)
    # what is carried on to the next transition is the gradient there
    if algorithm == "normal":
        np.testing.assert_array_equal(state.g_1, normal_state(state.q, model, fit).g_1)
    else:
        np.testing.assert_allclose(state.g_0 + state.g_1, grad_U(state.q, model),
                                   rtol=0, atol=1e-12)


@departs(flow_matrix, printed_R)
def test_line_1_is_the_flow(flow_matrix):
    for fit in (FIT, fit_of(1, 1.0, 1.0), fit_of(20, 0.1, 30.0)):
        for eps in (0.0, 0.03, EPS, -0.1):
            exact = expm(matrix_A(fit) * eps)  # which is symplectic, and reversed by -eps
            np.testing.assert_allclose(flow_matrix(fit, eps), exact,
                                       rtol=0, atol=1e-12 * np.abs(exact).max())


@departs(-1, 1)
def test_section_1_the_density_is_exp_of_minus_U(sign):
    def log_posterior(q):
        eta = BINARY.X @ q
        return np.log(expit(np.where(Y == 1, eta, -eta))).sum() - (q**2).sum() / 50

    q, _ = start("binary")
    ratio = log_posterior(q) - log_posterior(FIT.q_hat)
    assert ratio == pytest.approx(sign * (U(q, BINARY) - U(FIT.q_hat, BINARY)), rel=1e-10)


@departs(lambda q, p: U(q, FIT) + p @ p / 2, lambda q, p: U(p, FIT) + p @ p / 2)
def test_equation_5_H_2_has_U_0_of_q(H_2):
    # the flow moves along Hamilton's equations, dq/dt = dH/dp and dp/dt = -dH/dq
    (q, p), h = start("binary"), 1e-4
    there, back = (follow(exact_flow(FIT, t), q - FIT.q_hat, p) for t in (h, -h))
    for j, e in enumerate(np.eye(3)):
        # quadratic, so that its differences only round; those of the flow err by h^2 w^3
        dH_dq = (H_2(q + h * e, p) - H_2(q - h * e, p)) / (2 * h)
        dH_dp = (H_2(q, p + h * e) - H_2(q, p - h * e)) / (2 * h)
        assert (there[0][j] - back[0][j]) / (2 * h) == pytest.approx(dH_dp, abs=1e-4)
        assert (there[1][j] - back[1][j]) / (2 * h) == pytest.approx(-dH_dq, abs=1e-4)


@departs(FIT.q_hat, np.zeros(3))
def test_section_2_1_X_is_of_q_star(centre):
    # R turns (q - centre, p) about the origin; about that of q itself U_0 + K is not conserved
    q, p = start("binary")
    q_star, p_end = follow(exact_flow(FIT, EPS), q - centre, p)
    H_2 = [U(at, FIT) + of @ of / 2 for at, of in ((q, p), (q_star + centre, p_end))]
    assert H_2[1] == pytest.approx(H_2[0], rel=1e-12)  # rounding


@departs(metropolis, {"L2": "if rng.random() < np.exp(-error):\n    return q_, True, error"})
def test_an_error_that_is_not_finite_is_rejected_whatever_its_sign(metropolis):
    q, there, p = FIT.q_hat, FIT.q_hat + 0.1, np.ones(3)
    for energy in (np.inf, -np.inf, np.nan):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(metropolis.__globals__, "U",
                          lambda at, _, start=energy: start if at is q else 1.0)
            found = metropolis(q, p, there, p, BINARY, Given(np.ones(3)))
        assert found[0] is q and not found[1] and not np.isfinite(found[2])


@pytest.mark.parametrize("energy", [np.inf, -np.inf, np.nan])
def test_the_twin_rejects_an_error_that_is_not_finite_too(energy, interpreted):
    here = normal_state(FIT.q_hat, BINARY, FIT)._replace(U=energy)
    found = split_hmc_fast.normal_split_step.py_func(here, BINARY, FIT, 0.1, 2, Given(np.ones(3)))
    assert found[0] is here and not found[1] and not np.isfinite(found[2])


@pytest.mark.usefixtures("interpreted")
def test_a_proposal_is_taken_with_probability_exp_of_minus_its_error():
    # H at the end of the trajectory is larger by .3: q is the mode, and its kinetic energy is 0
    q, p, none = FIT.q_hat, np.full(3, 0.2**0.5), np.zeros(3)
    here = normal_state(q, BINARY, FIT)
    for u, taken in ((0.999 * np.exp(-0.3), True), (1.001 * np.exp(-0.3), False)):
        for found in (split_hmc.metropolis(q, none, q + 0.0, p, BINARY, Given(none, uniforms=[u])),
                      split_hmc_fast.metropolis(here, none, here, p, Given(none, uniforms=[u]))):
            assert found[1] == taken and found[2] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize(("twin", "transition", "fit", "eps", "steps"), [
    (normal_split_hmc, split_hmc.normal_split_step, FIT, 0.9, (3,)),
    (data_split_hmc, split_hmc.data_split_step, SPLIT, 0.75, (2, 3))])
def test_the_twins_chains_are_the_mirrors_transitions_to_the_last_bit(
        twin, transition, fit, eps, steps):
    q, ours, theirs = FIT.q_hat, np.random.default_rng(2), np.random.default_rng(2)
    chain = twin(q, BINARY, fit, eps, *steps, 50, ours)
    for t in range(50):
        step = eps - 0.2 * eps * theirs.random()
        q, accepted, error = transition(q, BINARY, fit, step, *steps, theirs)
        np.testing.assert_array_equal(chain.samples[t], q)
        assert (chain.accepted[t], chain.energy_error[t]) == (accepted, error)
        assert chain.energies[t] == U(q, BINARY)
    assert 0 < chain.accepted.sum() < 50
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize(("run", "arguments", "g"), [
    (normal_split_hmc, (FIT, 0.9, 3), 3.0),
    (data_split_hmc, (SPLIT, 0.75, 2, 3), (0.4 * 3 + 0.6) * 2)])  # Section 3.3
def test_counts_are_what_was_done(run, arguments, g, monkeypatch):
    def share(q, of):  # U_0 of a normal approximation costs no pass over the data
        return 0.0 if of is FIT else of.y.size / BINARY.y.size

    done = counted(monkeypatch, split_hmc_fast,
                   ["normal_split_step", "data_split_step", "normal_state", "metropolis"],
                   {"U": one, "grad_U": share, "U_and_grad_U": share})
    counts = run.py_func(FIT.q_hat, BINARY, *arguments, 5, np.random.default_rng(0)).counts
    assert counts == pytest.approx((done["U"] + done["U_and_grad_U"], 1 + 5 * g, g), rel=1e-14)
    assert counts.gradient == pytest.approx(done["grad_U"] + done["U_and_grad_U"], rel=1e-14)


@each_model
@pytest.mark.parametrize("fraction", [1 / 80, 0.3, 0.4, 0.996, 1.0])
def test_R_0_has_the_least_certain_cases(name, fraction):
    model, q_hat = MODELS[name], FITS[name].q
    split, n_0 = split_hmc.split_data(model, q_hat, fraction), round(80 * fraction)
    assert split.cases.size == split.R_0.y.size == n_0 and split.fraction == n_0 / 80
    others = np.setdiff1d(np.arange(80), split.cases)
    assert split.R_1.y.size == others.size == 80 - n_0
    # of two classes, those of which the probability is nearest to one half
    certainty = (np.abs(expit(model.X @ q_hat) - 0.5) if name == "binary"
                 else -case_entropy(q_hat, model))
    assert certainty[split.cases].max() <= certainty[others].min(initial=1)
    for half, cases in ((split.R_0, split.cases), (split.R_1, others)):
        np.testing.assert_array_equal(half.X, model.X[cases])
        np.testing.assert_array_equal(half.y, model.y[cases])
        assert half.X.flags.c_contiguous
    np.testing.assert_array_equal(split.R_0.precision, model.precision)
    np.testing.assert_array_equal(split.R_1.precision, 0)


@njit
def fused_pass(X, theta, g):
    """The limit: X theta and X' (X theta), block by block, and no logistic function."""
    n, d = X.shape
    eta = np.empty(BLOCK)
    flags = np.array([TRANSPOSED, PLAIN], np.uint8)
    size = np.array([d, 0, 1], np.int32)
    width, height, one_by_one = size[:1].ctypes, size[1:].ctypes, size[2:].ctypes
    one, zero = np.ones(1), np.zeros(1)
    for first in range(0, n, BLOCK):
        rows = X[first : first + BLOCK]
        size[1] = rows.shape[0]
        dgemv(flags.ctypes, width, height, one.ctypes, rows.ctypes, width, theta.ctypes,
              one_by_one, zero.ctypes, eta.ctypes, one_by_one)
        dgemv(flags[1:].ctypes, width, height, one.ctypes, rows.ctypes, width, eta.ctypes,
              one_by_one, one.ctypes, g.ctypes, one_by_one)


@pytest.mark.benchmark
def test_benchmark_table_1():
    rng, n, p, N = np.random.default_rng(1), 10_000, 100, 20
    X = rng.standard_normal((n, p)) * np.repeat([5.0, 1.0, 0.2], [5, 5, 90])
    beta = rng.standard_normal(p + 1)
    y = (rng.random(n) < expit(beta[0] + X @ beta[1:])).astype(float)
    model = LogisticRegression.from_data(X, y)
    q = map_estimate(model).q
    unit = seconds(lambda: fused_pass(model.X, q, np.zeros(p + 1)), 100)
    show(f"HMC transition, L = 20, n = {n}, p = {p}",
         seconds(lambda: hmc(q, model, 0.015, 20, N, rng, jitter=0.2)) / N, 20 * unit,
         "20 passes over the matrix")
