"""algorithms/shahbaba_split_hmc.py: the exact flow, both integrators as printed, the paper's
misprints
failing, what must hold to the last bit, then the distributions."""

import time
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.special import expit
from scipy.stats import chi2

from algorithms import (
    shahbaba_split_hmc as split_hmc,
)
from algorithms import (
    shahbaba_split_hmc_fast as split_hmc_fast,
)
from algorithms.hmc import hmc, hmc_step
from algorithms.map_estimate import map_estimate, newton
from algorithms.shahbaba_split_hmc import (
    NormalApproximation,
    data_split_step,
    exact_flow,
    follow,
    metropolis,
    normal_approximation,
    normal_split_step,
    split_data,
)
from algorithms.shahbaba_split_hmc_fast import (
    DataState,
    data_split_hmc,
    normal_split_hmc,
    normal_state,
)
from conftest import Given
from departing import departs
from models.gaussian import Gaussian
from models.interface import U, case_entropy, grad_U, select_cases
from models.jit import njit
from models.linalg import PLAIN, TRANSPOSED
from models.logistic_regression import BLOCK, LogisticRegression, dgemv
from models.multinomial_logistic import MultinomialLogistic
from reproduce.harness.mirrors import variant
from reproduce.shahbaba.steps import matrix_A, printed_R
from test_benchmarks import show
from test_hmc import said_by_a_second_process

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2)) * np.array([2.0, 0.5])
Y = (RNG.random(80) < expit(0.3 + X @ np.array([1.0, -2.0]))).astype(float)
BINARY = LogisticRegression.from_data(X, Y)
MODELS = {"binary": BINARY,
          "multinomial": MultinomialLogistic.from_data(X, RNG.integers(0, 3, 80), 3, 1.0, 2.0)}
FITS = {name: map_estimate(model) for name, model in MODELS.items()}
FIT = normal_approximation(FITS["binary"])
SPLIT = split_data(BINARY, FIT.q_hat, 0.4)
each_model = pytest.mark.parametrize("name", MODELS)
EPS = 0.37


@pytest.fixture
def interpreted(monkeypatch):
    """Leave the Metropolis test of an interpreted transition uncompiled: it takes any generator."""
    for module in (split_hmc, split_hmc_fast):
        monkeypatch.setattr(module, "metropolis", module.metropolis.py_func)


def start(name):
    """A position within two posterior standard deviations of the mode, and a momentum."""
    rng = np.random.default_rng(5)
    fit = FITS[name]
    z = rng.standard_normal(fit.q.size)
    return fit.q + np.linalg.solve(np.linalg.cholesky(fit.hessian).T, z), rng.standard_normal(
        z.size)


def flow_matrix(fit, eps):
    """R as a (2d, 2d) matrix, column by column."""
    R, d = exact_flow(fit, eps), fit.w.size
    return np.column_stack([np.concatenate(follow(R, e[:d].copy(), e[d:].copy()))
                            for e in np.eye(2 * d)])


def omega(d):
    return np.block([[np.zeros((d, d)), np.eye(d)], [-np.eye(d), np.zeros((d, d))]])


def fit_of(d, low, high):
    """An approximation in d dimensions with frequencies from low to high, turned at random."""
    rng = np.random.default_rng(d)
    Z, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return NormalApproximation(rng.standard_normal(d), np.ascontiguousarray(Z),
                               np.geomspace(low, high, d))


# The exact flow


@pytest.mark.parametrize("eps", [0.0, 0.03, EPS, -0.1])
@pytest.mark.parametrize("fit", [FIT, fit_of(1, 1.0, 1.0), fit_of(20, 0.1, 30.0)])
def test_the_flow_is_the_matrix_exponential(fit, eps):
    exact = expm(matrix_A(fit) * eps)
    np.testing.assert_allclose(flow_matrix(fit, eps), exact,
                               rtol=0, atol=1e-12 * np.abs(exact).max())


def test_the_flow_conserves_the_quadratic_energy():
    # rounding only: cos^2 + sin^2 and Z'Z are 1 up to some 1e-16, always with the same sign, so the
    # energy may drift by some 1e-16 per step, 1e-10 in all
    fit = fit_of(10, 0.2, 20.0)
    R = exact_flow(fit, EPS)
    q_star, p = np.random.default_rng(1).standard_normal((2, 10))

    def H(q_star, p):
        return ((fit.w * (fit.Z.T @ q_star)) ** 2).sum() / 2 + p @ p / 2

    before = H(q_star, p)
    for _ in range(100_000):
        q_star, p = follow(R, q_star, p)
    assert abs(H(q_star, p) / before - 1) < 2e-10


@pytest.mark.parametrize("eps", [0.03, EPS, 2.0])
def test_the_flow_is_reversible_and_symplectic(eps):
    fit = fit_of(8, 0.2, 20.0)
    q_star, p = np.random.default_rng(1).standard_normal((2, 8))
    R = exact_flow(fit, eps)
    there = follow(R, q_star, p)
    back = follow(R, there[0], -there[1])
    np.testing.assert_allclose(back[0], q_star,
                               rtol=0, atol=1e-13 * 20)  # the flow multiplies by up to w
    np.testing.assert_allclose(-back[1], p, rtol=0, atol=1e-13 * 20)
    S = flow_matrix(fit, eps)
    np.testing.assert_allclose(S.T @ omega(8) @ S, omega(8), rtol=0, atol=1e-13 * 20)


# The integrators by hand: the flow by matrices, and a gradient anew for every half step


def algorithm_1(q, p, model, fit, eps, L):
    R = expm(matrix_A(fit) * eps)
    J = (fit.Z * fit.w**2) @ fit.Z.T

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


def integrators(name):
    """Both on a model: by hand (q, p) -> (q, p), the mirror and the twin (q, p) -> as they do."""
    model, fit = MODELS[name], normal_approximation(FITS[name])
    split, eps = split_data(model, fit.q_hat, 0.4), 0.2

    def normal(q, p):
        return normal_split_step.py_func(q, model, fit, eps, 4, Given(p))

    def normal_twin(q, p):
        here = normal_state(q, model, fit)
        return split_hmc_fast.normal_split_step.py_func(here, model, fit, eps, 4, Given(p))

    def data(q, p):
        return data_split_step.py_func(q, model, split, eps, 3, 4, Given(p))

    def data_twin(q, p):
        here = data_state(q, model, split)
        return split_hmc_fast.data_split_step.py_func(here, model, split, eps, 3, 4, Given(p))

    return model, {
        "normal": (lambda q, p: algorithm_1(q, p, model, fit, eps, 4), normal, normal_twin),
        "data": (lambda q, p: algorithm_2(q, p, split, eps, 3, 4), data, data_twin)}


def data_state(q, model, split):
    """The DataState at q."""
    return DataState(q, U(q, model), grad_U(q, split.R_0), grad_U(q, split.R_1))


each_algorithm = pytest.mark.parametrize("algorithm", ["normal", "data"])


@each_model
@each_algorithm
@pytest.mark.usefixtures("interpreted")
def test_the_proposal_is_that_of_the_algorithm_by_hand(name, algorithm):
    model, both = integrators(name)
    by_hand, ours, twin = both[algorithm]
    q, p = start(name)
    q_end, p_end = by_hand(q, p)
    end, accepted, error = ours(q, p)
    state, *same = twin(q, p)
    assert accepted and same == [accepted, error]
    np.testing.assert_array_equal(state.q, end)
    np.testing.assert_allclose(end, q_end, rtol=0, atol=1e-12)
    assert state.U == U(state.q, model)
    expected = U(q_end, model) + p_end @ p_end / 2 - U(q, model) - p @ p / 2
    assert 1e-6 < abs(error) and error == pytest.approx(expected, abs=1e-11)
    # what is carried on to the next transition is the gradient there
    if algorithm == "normal":
        fit = normal_approximation(FITS[name])
        np.testing.assert_array_equal(state.g_1, normal_state(state.q, model, fit).g_1)
    else:
        np.testing.assert_allclose(state.g_0 + state.g_1, grad_U(state.q, model),
                                   rtol=0, atol=1e-12)


@each_model
@each_algorithm
@pytest.mark.usefixtures("interpreted")
def test_trajectories_lead_back_and_are_symplectic(name, algorithm):
    _, both = integrators(name)
    by_hand, ours, _ = both[algorithm]
    q, p = start(name)
    q_end, p_end = by_hand(q, p)
    end, _, error = ours(q_end, -p_end)
    np.testing.assert_allclose(end, q, rtol=0, atol=1e-12)
    assert error == pytest.approx(-ours(q, p)[2], abs=1e-11)
    d, step = q.size, 1e-5
    S = np.column_stack([
        (np.concatenate(by_hand(q + step * e[:d], p + step * e[d:]))
         - np.concatenate(by_hand(q - step * e[:d], p - step * e[d:]))) / (2 * step)
        for e in np.eye(2 * d)])
    np.testing.assert_allclose(S.T @ omega(d) @ S, omega(d),
                               rtol=0, atol=1e-6)  # step^2 and 1e-16 / step


def test_U_0_and_the_gradient_of_U_1_are_those_of_the_normal_approximation():
    q, _ = start("binary")
    J, q_star = FITS["binary"].hessian, q - FIT.q_hat
    assert U(q, FIT) == pytest.approx(q_star @ J @ q_star / 2, rel=1e-13)
    np.testing.assert_allclose(grad_U(q, FIT), J @ q_star, rtol=1e-12)

    def U_1(q):
        return U(q, BINARY) - U(q, FIT)

    numeric = [(U_1(q + 1e-5 * e) - U_1(q - 1e-5 * e)) / 2e-5 for e in np.eye(q.size)]
    state = normal_state(q, BINARY, FIT)
    assert state.U == U(q, BINARY)
    np.testing.assert_allclose(state.g_1, numeric, rtol=0, atol=1e-8)
    # at the mode it is zero, and so is its derivative
    np.testing.assert_allclose(normal_state(FIT.q_hat, BINARY, FIT).g_1, 0, rtol=0, atol=1e-9)


# The departures: each of these tests fails for the printed version


@departs(flow_matrix, printed_R)
def test_line_1_is_the_flow(flow_matrix):
    R, d = flow_matrix(FIT, EPS), FIT.w.size
    # rounding: the flow multiplies by up to w, some 10
    np.testing.assert_allclose(R, expm(matrix_A(FIT) * EPS), rtol=0, atol=1e-12)
    np.testing.assert_allclose(R.T @ omega(d) @ R, omega(d), rtol=0, atol=1e-12)


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


# What must hold exactly


@pytest.mark.parametrize("eps", [0.1, 1.0, 30.0])
def test_where_U_1_is_zero_algorithm_1_accepts_always(eps):
    A = np.array([[2.0, 0.6], [0.6, 1.0]])
    model = Gaussian(np.array([1.0, -2.0]), A)
    values, Z = np.linalg.eigh(A)
    fit = NormalApproximation(model.mean, np.ascontiguousarray(Z), np.sqrt(values))
    chain = normal_split_hmc(np.zeros(2), model, fit, eps, 10, 2000, np.random.default_rng(1))
    assert chain.accepted.all()
    # eps times a gradient that is 0 up to rounding, ten times
    assert np.abs(chain.energy_error).max() < 1e-12 * (1 + eps)


# hmc with both half steps of a leapfrog step where they stand, as Algorithm 2 has them
UNJOINED = variant(hmc_step, {"L7": """
    if i != L:
        g = grad_U(q, model)
        p = p - eps * g / 2
        p = p - eps * g / 2"""}, within=hmc, compiled=True)


@pytest.mark.parametrize("jitter", [0.0, 0.2])
@pytest.mark.parametrize("name", MODELS)
def test_with_R_1_empty_and_M_1_algorithm_2_is_hmc_to_the_last_bit(name, jitter):
    model, q = MODELS[name], FITS[name].q
    split = split_data(model, q, 1.0)
    assert split.R_1.y.size == 0
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    eps = 1.6 / normal_approximation(FITS[name]).w.max()  # the leapfrog is stable up to 2
    chain = data_split_hmc(q, model, split, eps, 7, 1, 300, ours, jitter)
    leapfrog = UNJOINED(q, model, eps, 7, 300, theirs, None, jitter)
    assert 0 < chain.accepted.sum() < 300
    for field in ("samples", "energies", "accepted", "energy_error"):
        np.testing.assert_array_equal(getattr(chain, field), getattr(leapfrog, field))
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_with_R_1_empty_algorithm_2_is_hmc_of_L_times_M_steps_to_the_last_bit():
    split = split_data(BINARY, FIT.q_hat, 1.0)
    for L, M in ((1, 5), (4, 3), (5, 2)):
        chain = data_split_hmc(FIT.q_hat, BINARY, split, EPS, L, M, 100, np.random.default_rng(1),
                               0.0)
        leapfrog = UNJOINED(FIT.q_hat, BINARY, EPS / M, L * M, 100, np.random.default_rng(1), None,
                            0.0)
        np.testing.assert_array_equal(chain.samples, leapfrog.samples)
        np.testing.assert_array_equal(chain.energy_error, leapfrog.energy_error)


def test_with_M_1_algorithm_2_is_hmc():
    chain = data_split_hmc(FIT.q_hat, BINARY, SPLIT, 0.2, 7, 1, 20, np.random.default_rng(1))
    leapfrog = hmc(FIT.q_hat, BINARY, 0.2, 7, 20, np.random.default_rng(1), jitter=0.2)
    assert 0 < SPLIT.R_1.y.size
    np.testing.assert_array_equal(chain.accepted, leapfrog.accepted)
    # two sums of gradients round differently from one; 20 transitions amplify that
    np.testing.assert_allclose(chain.samples, leapfrog.samples, rtol=0, atol=1e-9)


def test_with_U_0_nearly_flat_algorithm_1_is_hmc():
    fit = FIT._replace(w=np.full(3, 1e-8))  # cos = 1 and sin / w = eps up to 1e-16
    chain = normal_split_hmc(FIT.q_hat, BINARY, fit, 0.2, 7, 20, np.random.default_rng(1))
    leapfrog = hmc(FIT.q_hat, BINARY, 0.2, 7, 20, np.random.default_rng(1), jitter=0.2)
    np.testing.assert_allclose(chain.samples, leapfrog.samples, rtol=0, atol=1e-9)


def runs(rng, n, q0=FIT.q_hat, model=BINARY, fit=FIT, split=SPLIT, jitter=0.2):
    """A chain of each algorithm."""
    yield normal_split_hmc(q0, model, fit, 0.9, 3, n, rng, jitter)
    yield data_split_hmc(q0, model, split, 0.75, 2, 3, n, rng, jitter)


def test_the_twins_chains_are_the_mirrors_transitions_to_the_last_bit():
    ours, theirs = np.random.default_rng(2), np.random.default_rng(2)
    normal, data = runs(ours, 50)
    q = FIT.q_hat
    for t in range(50):
        step = 0.9 - 0.2 * 0.9 * theirs.random()
        q, accepted, error = normal_split_step(q, BINARY, FIT, step, 3, theirs)
        np.testing.assert_array_equal(normal.samples[t], q)
        assert (normal.accepted[t], normal.energy_error[t]) == (accepted, error)
        assert normal.energies[t] == U(q, BINARY)
    q = FIT.q_hat
    for t in range(50):
        step = 0.75 - 0.2 * 0.75 * theirs.random()
        q, accepted, error = data_split_step(q, BINARY, SPLIT, step, 2, 3, theirs)
        np.testing.assert_array_equal(data.samples[t], q)
        assert (data.accepted[t], data.energy_error[t]) == (accepted, error)
    assert 0 < normal.accepted.sum() < 50 and 0 < data.accepted.sum() < 50
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_a_rejected_state_is_kept_with_all_that_is_known_of_it():
    for chain in runs(np.random.default_rng(3), 200):
        rejected = np.flatnonzero(~chain.accepted[1:]) + 1
        assert rejected.size > 5
        np.testing.assert_array_equal(chain.samples[rejected], chain.samples[rejected - 1])
        np.testing.assert_array_equal(chain.energies,
                                      [U(q, BINARY) for q in chain.samples])


def test_counts_are_what_was_done(monkeypatch):
    done = {"U": 0, "grad_U": 0.0}

    def counted_U(q, model):
        done["U"] += 1
        return U(q, model)

    def counted_U_and_grad_U(q, model):
        return counted_U(q, model), counted_grad_U(q, model)

    def counted_grad_U(q, model):
        if model is not FIT:  # U_0 costs no pass over the data
            done["grad_U"] += model.y.size / BINARY.y.size
        return grad_U(q, model)

    for name in ("normal_split_step", "data_split_step", "normal_state"):
        monkeypatch.setattr(split_hmc_fast, name, getattr(split_hmc_fast, name).py_func)
    monkeypatch.setattr(split_hmc_fast, "U", counted_U)
    monkeypatch.setattr(split_hmc_fast, "grad_U", counted_grad_U)
    monkeypatch.setattr(split_hmc_fast, "U_and_grad_U", counted_U_and_grad_U)
    rng = np.random.default_rng(0)
    chains = list(runs(rng, 5))
    for chain, run, arguments in (
            (chains[0], normal_split_hmc, (FIT, 0.9, 3, 5, rng)),
            (chains[1], data_split_hmc, (SPLIT, 0.75, 2, 3, 5, rng))):
        done.update(U=0, grad_U=0.0)
        run.py_func(FIT.q_hat, BINARY, *arguments)
        assert chain.counts.density == done["U"]
        assert chain.counts.gradient == pytest.approx(done["grad_U"], rel=1e-14)
        assert chain.counts.gradient == pytest.approx(1 + 5 * chain.counts.g, rel=1e-14)
    assert chains[0].counts.g == 3.0
    assert chains[1].counts.g == pytest.approx((0.4 * 3 + 0.6) * 2, rel=1e-14)  # Section 3.3


def test_an_energy_that_is_not_finite_is_rejected_and_counted():
    rng = np.random.default_rng(0)
    # sines of huge angles are no trouble, but kicks of 1e200 are
    for chain in (normal_split_hmc(FIT.q_hat, BINARY, FIT, 1e200, 3, 10, rng),
                  data_split_hmc(FIT.q_hat, BINARY, SPLIT, 1e200, 3, 2, 10, rng)):
        assert chain.divergences == 10
        assert not chain.accepted.any()
        np.testing.assert_array_equal(chain.samples, np.tile(FIT.q_hat, (10, 1)))


def test_divergences_are_the_errors_that_are_not_finite_and_no_other_rejections():
    # far out U is the prior, where steps above 10 are unstable: H grows, to inf, or to nan
    rng = np.random.default_rng(0)
    for chain in (normal_split_hmc(FIT.q_hat, BINARY, FIT, 100.0, 200, 500, rng, 1.0),
                  data_split_hmc(FIT.q_hat, BINARY, SPLIT, 100.0, 100, 2, 500, rng, 1.0)):
        finite, nan = np.isfinite(chain.energy_error), np.isnan(chain.energy_error)
        assert (finite & ~chain.accepted).any() and nan.any() and (~finite & ~nan).any()
        assert chain.divergences == 500 - finite.sum()


# The split of the data


@each_model
@pytest.mark.parametrize("fraction", [1 / 80, 0.3, 0.4, 0.996, 1.0])
def test_R_0_has_the_least_certain_cases(name, fraction):
    model, q_hat = MODELS[name], FITS[name].q
    split = split_data(model, q_hat, fraction)
    n_0 = round(80 * fraction)
    assert split.cases.size == split.R_0.y.size == n_0
    assert split.fraction == n_0 / 80
    others = np.setdiff1d(np.arange(80), split.cases)
    assert split.R_1.y.size == others.size == 80 - n_0
    entropy = case_entropy(q_hat, model)
    assert entropy[split.cases].min() >= entropy[others].max(initial=0)
    for half, cases in ((split.R_0, split.cases), (split.R_1, others)):
        np.testing.assert_array_equal(half.X, model.X[cases])
        np.testing.assert_array_equal(half.y, model.y[cases])
        assert half.X.flags.c_contiguous
    np.testing.assert_array_equal(split.R_0.precision, model.precision)
    np.testing.assert_array_equal(split.R_1.precision, 0)


def test_for_two_classes_these_are_the_nearest_to_one_half():
    p = expit(BINARY.X @ FIT.q_hat)
    others = np.setdiff1d(np.arange(80), SPLIT.cases)
    assert np.abs(p[SPLIT.cases] - 0.5).max() <= np.abs(p[others] - 0.5).min()


# Distributions


X_1 = np.linspace(-2.0, 3.0, 12)[:, None]
Y_1 = np.array([0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1.0])
SMALL = LogisticRegression.from_data(X_1, Y_1, 2.0, 1.5)


def grid_moments(f, model=SMALL, half=9.0, points=601):
    """E f(theta) over a grid that holds all but 1e-8 of the posterior of two parameters."""
    axis = np.linspace(-half, half, points)
    theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    eta = theta @ model.X.T
    log_density = (-(theta**2) @ model.precision / 2
                   - np.logaddexp(0, -(2 * model.y - 1) * eta).sum(1))
    weight = np.exp(log_density - log_density.max())
    return weight @ f(theta) / weight.sum()


def five(theta):
    return np.column_stack([theta, theta**2, theta[:, 0] * theta[:, 1]])


def small_chains(n, rng):
    fit = map_estimate(SMALL)
    split = split_data(SMALL, fit.q, 0.4)
    yield hmc(fit.q, SMALL, 0.9, 3, n, rng, jitter=0.2)
    yield normal_split_hmc(fit.q, SMALL, fit, 1.6, 2, n, rng)
    yield data_split_hmc(fit.q, SMALL, split, 1.2, 2, 2, n, rng)


def test_all_three_samplers_have_the_moments_of_a_quadrature_grid():
    # 15 comparisons at 4 standard errors: one false alarm in 1000
    np.testing.assert_allclose(grid_moments(five), grid_moments(five, half=14.0, points=401),
                               rtol=0, atol=1e-6)
    exact = grid_moments(five)
    for chain in small_chains(100_000, np.random.default_rng(11)):
        assert 0.4 < chain.accepted.mean() < 0.97  # enough rejections for the test to need them
        batches = five(chain.samples).reshape(200, -1, 5).mean(1)
        error = batches.std(0, ddof=1) / 200**0.5
        assert (np.abs(batches.mean(0) - exact) < 4 * error).all()


def test_for_two_classes_the_multinomial_model_has_the_binary_posterior():
    # the difference of the two classes' coefficients, with prior variances 2 sigma^2
    model = MultinomialLogistic.from_data(X_1, Y_1, 2, 2.0 / 2**0.5, 1.5 / 2**0.5)
    fit, exact = map_estimate(model), grid_moments(five)
    split, rng = split_data(model, fit.q, 0.4), np.random.default_rng(12)
    for chain in (normal_split_hmc(fit.q, model, fit, 0.9, 3, 50_000, rng),
                  data_split_hmc(fit.q, model, split, 0.9, 2, 2, 50_000, rng)):
        delta = chain.samples.reshape(-1, 2, 2)
        batches = five(delta[:, :, 1] - delta[:, :, 0]).reshape(200, -1, 5).mean(1)
        error = batches.std(0, ddof=1) / 200**0.5
        assert (np.abs(batches.mean(0) - exact) < 4 * error).all()


def ranks(sampler, replicates, length, rng):
    """Ranks of the truth among the states of a chain through it; (replicates, 3).

    theta is drawn from the prior and y given theta, so theta is a draw from the posterior of y.
    Transitions are reversible, so a chain run from it both ways, k and length - k transitions with
    k uniform, is stationary, and theta's place in it is independent of the chain: its rank in any
    quantity is uniform on 0, ..., length, exactly.  Ties, after rejections, are broken at random.
    """
    found = np.empty((replicates, 3), int)
    for r in range(replicates):
        theta = np.array([2.0, 1.5]) * rng.standard_normal(2)
        y = (rng.random(12) < expit(theta[0] + X_1[:, 0] * theta[1])).astype(float)
        model = LogisticRegression.from_data(X_1, y, 2.0, 1.5)
        k = rng.integers(length + 1)
        states = [sampler(theta, model, m, rng) for m in (k, length - k) if m > 0]
        others = np.vstack(states)
        for j, value in enumerate((lambda q: q[..., 0], lambda q: q[..., 1],
                                   lambda q, model=model: (q @ model.X.T) @ (2 * model.y - 1))):
            ties = (value(others) == value(theta)).sum()
            found[r, j] = (value(others) < value(theta)).sum() + rng.integers(ties + 1)
    return found


def normal_sampler(theta, model, n, rng):
    return normal_split_hmc(theta, model, map_estimate(model), 1.3, 2, n, rng).samples


def data_sampler(theta, model, n, rng):
    split = split_data(model, map_estimate(model).q, 0.4)
    return data_split_hmc(theta, model, split, 0.9, 2, 2, n, rng).samples


@pytest.mark.parametrize("sampler", [normal_sampler, data_sampler])
def test_simulation_based_calibration(sampler):
    # three chi-square tests at the two-sided level of 4 standard errors, 6e-5 each
    length, replicates = 9, 3000
    found = ranks(sampler, replicates, length, np.random.default_rng(13))
    expected = replicates / (length + 1)
    for j in range(3):
        counts = np.bincount(found[:, j], minlength=length + 1)
        assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(6e-5, length)


# The step size is drawn once per transition


def one_transition(eps, jitter, L, when, rng, n=200_000):
    """Leapfrog HMC from n exact draws of N(0, 1), a transition each; returns the new states.

    `when` the step size is drawn: "once" per transition; in each "whole" step, both of its halves
    included; or at the "top" of the loop of a leapfrog that joins half steps, as hmc_step does.
    """
    def draw():
        return eps * (1 - jitter * rng.random(n))

    q, p = rng.standard_normal((2, n))
    q_0, p_0, step = q, p, draw()
    for i in range(L):
        if when != "once":
            step = draw()
        p = p - (step / 2 if i == 0 or when == "whole" else step) * q
        q = q + step * p
        if when == "whole" or i == L - 1:
            p = p - step / 2 * q
    accepted = rng.random(n) < np.exp((q_0**2 + p_0**2 - q**2 - p**2) / 2)
    return np.where(accepted, q, q_0)


def z_score(values, exact):
    return (values.mean() - exact) / (values.std() / values.size**0.5)


def test_a_step_size_drawn_inside_the_trajectory_breaks_the_invariance():
    # A trajectory leads back only with the same steps in reverse.  Drawn at the top of the loop,
    # they are not the reverse of any other draw.  (Independent draws for whole leapfrog steps are:
    # each is reversible by itself, and all orders are equally likely.)
    rng = np.random.default_rng(14)
    assert abs(z_score(one_transition(1.8, 0.9, 3, "once", rng) ** 2, 1)) < 4
    assert abs(z_score(one_transition(1.8, 0.9, 3, "whole", rng) ** 2, 1)) < 4
    assert z_score(one_transition(1.8, 0.9, 3, "top", rng) ** 2, 1) > 15


def worst_z_score(samples, exact):
    batches = five(samples).reshape(200, -1, 5).mean(1)
    error = batches.std(0, ddof=1) / 200**0.5
    return np.abs((batches.mean(0) - exact) / error).max()


def test_our_step_size_leaves_the_distribution_invariant():
    exact = grid_moments(five)
    fit = map_estimate(SMALL)
    split, rng = split_data(SMALL, fit.q, 0.4), np.random.default_rng(15)
    for chain in (normal_split_hmc(fit.q, SMALL, fit, 2.2, 3, 100_000, rng, jitter=0.9),
                  data_split_hmc(fit.q, SMALL, split, 2.2, 3, 2, 100_000, rng, jitter=0.9)):
        assert chain.accepted.mean() < 0.95
        assert worst_z_score(chain.samples, exact) < 4


@njit
def algorithm_1_redrawn(q0, model, fit, eps, L, n, rng, jitter):
    """normal_split_hmc, but with the step size drawn at the top of the loop over the steps."""
    samples, state = np.empty((n, q0.size)), normal_state(q0, model, fit)
    for t in range(n):
        end, p = state, rng.standard_normal(q0.size)
        error, step = -(state.U + p @ p / 2), eps
        for i in range(L):
            step = eps - jitter * eps * rng.random()
            p = p - (step / 2 if i == 0 else step) * end.g_1
            q_star, p = follow(exact_flow(fit, step), end.q - fit.q_hat, p)
            end = normal_state(q_star + fit.q_hat, model, fit)
        p = p - step / 2 * end.g_1
        error += end.U + p @ p / 2
        if rng.random() < np.exp(-error):
            state = end
        samples[t] = state.q
    return samples


def test_algorithm_1_with_step_sizes_drawn_inside_the_trajectory_fails_the_same_test():
    fit = normal_approximation(map_estimate(SMALL))
    arguments = (fit.q_hat, SMALL, fit, 2.2, 3, 100_000, np.random.default_rng(15))
    assert worst_z_score(algorithm_1_redrawn(*arguments, 0.9), grid_moments(five)) > 8
    assert worst_z_score(algorithm_1_redrawn(*arguments, 0.0), grid_moments(five)) < 4


# Bad input


RNG_0 = np.random.default_rng(0)
NORMAL = dict(q0=FIT.q_hat, model=BINARY, fit=FITS["binary"], eps=0.1, L=2, n=3, rng=RNG_0)
DATA = dict(q0=FIT.q_hat, model=BINARY, split=SPLIT, eps=0.1, L=2, M=2, n=3, rng=RNG_0)
COMMON = [("q0", FIT.q_hat.reshape(3, 1)), ("q0", [np.nan, 0.0, 0.0]), ("q0", []),
          ("q0", np.zeros(4)), ("eps", 0.0), ("eps", -1.0), ("eps", np.nan), ("L", 0), ("L", 2.5),
          ("n", 0), ("rng", 3), ("jitter", -0.1), ("jitter", 1.5)]
MULTINOMIAL = MODELS["multinomial"]


@pytest.mark.parametrize("name, value", [
    *COMMON, ("fit", FIT.q_hat), ("fit", FITS["multinomial"]),
    ("fit", newton(np.zeros(3), BINARY, 1e-10, 1)),
    ("fit", FITS["binary"]._replace(hessian=-np.eye(3))),
    ("fit", FITS["binary"]._replace(hessian=np.diag([1.0, 1.0, 0.0])))])
def test_bad_arguments_of_algorithm_1_are_named(name, value):
    normal_split_hmc(**NORMAL)
    with pytest.raises(ValueError, match=rf"^{name}(\.\w+)? (must|is empty)"):
        normal_split_hmc(**(NORMAL | {name: value}))


@pytest.mark.parametrize("name, value", [
    *COMMON, ("M", 0), ("M", 1.0), ("split", BINARY),
    ("split", split_data(MULTINOMIAL, FITS["multinomial"].q, 0.4)),
    ("split", split_data(LogisticRegression.from_data(X[:, :1], Y), np.zeros(2), 0.4)),
    ("split", SPLIT._replace(R_0=MULTINOMIAL._replace(precision=BINARY.precision))),
    ("split", split_data(select_cases(BINARY, np.arange(40), 1.0), FIT.q_hat, 0.4)),
     # of half the cases
    ("split", SPLIT._replace(R_0=select_cases(BINARY, np.arange(0), 1.0), R_1=BINARY))])
def test_bad_arguments_of_algorithm_2_are_named(name, value):
    data_split_hmc(**DATA)
    with pytest.raises(ValueError, match=rf"^{name}(\.\S+)? must"):
        data_split_hmc(**(DATA | {name: value}))


def test_a_mode_that_was_not_found_says_so():
    fit = newton(np.zeros(3), BINARY, 1e-10, 1)
    with pytest.raises(ValueError, match=f"norm of the gradient is {fit.gradient_norm:.3g}$"):
        normal_split_hmc(**(NORMAL | {"fit": fit}))


@pytest.mark.parametrize("name, value", [
    ("fraction", 0.0), ("fraction", -0.1), ("fraction", 1.1), ("fraction", np.nan),
    ("fraction", 0.4 / 80), ("q_hat", np.zeros(2)), ("q_hat", [np.nan] * 3)])
def test_bad_splits_are_named(name, value):
    good = dict(model=BINARY, q_hat=FIT.q_hat, fraction=0.4)
    with pytest.raises(ValueError, match=f"^{name} must"):
        split_data(**(good | {name: value}))


# Speed


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


def microseconds(run, *arguments, repeats=10):
    """The shortest of some runs, after one that compiles."""
    run(*arguments)
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        run(*arguments)
        times.append(time.perf_counter() - before)
    return 1e6 * min(times)


@pytest.mark.benchmark
def test_benchmark_table_1():
    rng, n, p, N = np.random.default_rng(1), 10_000, 100, 20
    X = rng.standard_normal((n, p)) * np.repeat([5.0, 1.0, 0.2], [5, 5, 90])
    beta = rng.standard_normal(p + 1)
    y = (rng.random(n) < expit(beta[0] + X @ beta[1:])).astype(float)
    model = LogisticRegression.from_data(X, y)
    found = map_estimate(model)
    fit, split = normal_approximation(found), split_data(model, found.q, 0.4)
    unit = microseconds(fused_pass, model.X, found.q, np.zeros(p + 1), repeats=100)
    gradient = microseconds(grad_U, found.q, model, repeats=100)
    energy = microseconds(U, found.q, model, repeats=100)
    standard = microseconds(lambda: hmc(found.q, model, 0.015, 20, N, rng, jitter=0.2)) / N
    normal = microseconds(lambda: normal_split_hmc(found.q, model, fit, 0.03, 10, N, rng)) / N
    data = microseconds(lambda: data_split_hmc(found.q, model, split, 0.1, 3, 9, N, rng)) / N
    print(f"\nn = {n}, p = {p}, microseconds: a pass over the matrix {unit:.0f},"
          f" a gradient {gradient:.0f}, U {energy:.0f}")
    show(f"HMC transition, L = 20, n = {n}, p = {p}", standard / 1e6, 20 * unit / 1e6,
         "20 passes over the matrix")
    print(f"normal, L = 10      {normal:7.0f}, over 10 gradients {normal / (10 * gradient):.2f}")
    print(f"data, L = 3, M = 9  {data:7.0f}, over HMC's {data / standard:.2f}; g over 20"
          f" {12.6 / 20:.2f}")


def cache_levels():
    """The size in bytes of each data cache of a core, from the first level to the last (Linux)."""
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    found = []
    for index in sorted(folder.glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            found.append(1024 * int((index / "size").read_text().strip().removesuffix("K")))
    return found


@pytest.mark.benchmark
def test_benchmark_growth():
    """Time per gradient, and how far out the design matrix has to be read from."""
    levels, rng = cache_levels(), np.random.default_rng(1)
    print("\ncaches, kB: " + ", ".join(f"L{k} {size // 1024}" for k, size in enumerate(levels, 1)))
    print(f"{'p':>5} {'n':>7} {'matrix, kB':>11} {'in':>6} {'gradient, us':>13}"
          f" {'ns per element':>15} {'over a pass':>12}")
    for p in (10, 30, 100, 300):
        for n in (100, 1000, 10_000, 100_000):
            X, y = rng.standard_normal((n, p)), np.arange(n) % 2
            model, theta = LogisticRegression.from_data(X, y), rng.standard_normal(p + 1)
            bytes_ = model.X.nbytes
            home = next((f"L{k}" for k, size in enumerate(levels, 1) if bytes_ <= size), "memory")
            repeats = max(5, int(2e8 / model.X.size / 10))
            unit = microseconds(fused_pass, model.X, theta, np.zeros(p + 1), repeats=repeats)
            gradient = microseconds(grad_U, theta, model, repeats=repeats)
            print(f"{p:5} {n:7} {bytes_ // 1024:11} {home:>6} {gradient:13.1f}"
                  f" {1e3 * gradient / model.X.size:15.2f} {gradient / unit:12.2f}")


def test_second_process_compiles_nothing():
    assert said_by_a_second_process("""
import numpy as np
from algorithms.map_estimate import map_estimate, newton
from algorithms.shahbaba_split_hmc import split_data
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc
from models.logistic_regression import LogisticRegression
model = LogisticRegression.from_data(np.array([[0.0], [1.0], [2.0]]), [0, 1, 1])
fit, rng = map_estimate(model), np.random.default_rng(0)
normal_split_hmc(fit.q, model, fit, 0.1, 2, 3, rng)
data_split_hmc(fit.q, model, split_data(model, fit.q, 0.4), 0.1, 2, 2, 3, rng)
for function in (newton, normal_split_hmc.compiled, data_split_hmc.compiled):
    print(function.stats.cache_hits.total(), function.stats.cache_misses.total())
""") == ["1", "0"] * 3
