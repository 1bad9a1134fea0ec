"""What a transition costs, as the headers of algorithms/ say, on a small case of each."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms import ep, ep_fast, hmc, paquet_rmhmc, paquet_rmhmc_fast
from algorithms import shahbaba_split_hmc as split_hmc
from algorithms import shahbaba_split_hmc_fast as split_hmc_fast
from algorithms import wang_discretizing_chain_fast as discretizing_fast
from algorithms import wang_tempered_transitions_fast as tempered_fast
from algorithms import zhang_sshmc as sshmc
from algorithms import zhang_sshmc_fast as sshmc_fast
from algorithms.map_estimate import map_estimate
from algorithms.slice_sampling import Slice
from algorithms.wang_discretizing_chain import whole_chain_step
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions import tempered_transitions_step
from conftest import counted
from coupled import coupled
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.logistic_regression import LogisticRegression
from normal import normal, subset

N, L, M = 12, 5, 3
X, Y = np.random.default_rng(0).standard_normal((N, 2)), np.arange(N) % 2.0
LABELS = 2 * Y - 1
K = squared_exponential(X, X, 0.0, 0.5) + 0.01 * np.eye(N)
Q, PI = np.array([0.2, -0.1]), normal([0.3, 1.2, -0.4, 0.9])
SWEEP = Slice(np.ones(2), 10, np.arange(2), False)


def says(module, *sentences):
    header = " ".join(module.__doc__.split())
    assert all(each in header for each in sentences)


def of_one(sampler, *arguments):
    """The counts of a transition: of two less of one.  None stands for their number."""
    one, two = ([n if each is None else each for each in arguments] for n in (1, 2))
    return np.subtract(sampler(*two, np.random.default_rng(1)).counts,
                       sampler(*one, np.random.default_rng(1)).counts).tolist()


def test_hmc_and_split_hmc(monkeypatch):
    model = LogisticRegression.from_data(X, Y)
    fit = split_hmc.normal_approximation(map_estimate(model))
    split, q = split_hmc.split_data(model, fit.q_hat, 0.5), fit.q_hat
    assert of_one(hmc.hmc, q, model, 0.1, L, None) == [1, L]
    says(hmc, "A transition takes L gradients, and U once")
    twin, g = split_hmc_fast, (M + 1) / 2 * L  # of all the data
    assert of_one(twin.normal_split_hmc, q, model, fit, 0.1, L, None) == [L, L, 0]
    assert of_one(twin.data_split_hmc, q, model, split, 0.1, L, M, None) == [1, g, 0]
    for gradients, step, arguments in ((2 * L, "normal_split_step", (fit, 0.1, L)),
                                       (2 * g, "data_split_step", (split, 0.1, L, M))):
        with monkeypatch.context() as patch:
            done = counted(patch, split_hmc, ["grad_U_1", "metropolis", step], {
                "U": lambda q, of: 1,
                "grad_U": lambda q, of: 0 if of is fit else of.y.size / N})
            getattr(split_hmc, step)(q, model, *arguments, np.random.default_rng(1))
        assert done == {"U": 2, "grad_U": gradients}
    says(twin, "L gradients of U_1, in Algorithm 2 also L M of U_0, where the mirrors take twice as"
         " many; and U once, where they take it twice (in Algorithm 1 it comes with each gradient)")


def test_sshmc():
    model, n_theta, n_phi = coupled(Y), 2, 3
    arguments = np.zeros(N), np.zeros(2), model, 0.1, 0.1, L, None
    for module, expected in (
            (sshmc, [4 * n_theta * L, 2 * n_phi * L, 2 * (n_phi + 1) * L + 4, L + 3]),
            (sshmc_fast, [(2 * n_theta + 1) * L + 1, (n_phi + 1) * L, n_phi * L, L + 1])):
        assert of_one(lambda *a, m=module: m.sshmc(*a, n_theta, n_phi), *arguments) == expected
    says(sshmc_fast, "gradients of U_1 (2 n_theta + 1) L + 1 the mirror 4 n_theta L",
         "gradients of U_2 (n_phi + 1) L 2 n_phi L", "precompute_theta L + 1 L + 3",
         "precompute_phi n_phi L the mirror 2 (n_phi + 1) L + 4")


def asked(step, *models):
    before = [each.calls[0] for each in models]
    step()
    return sum(each.calls[0] for each in models) - sum(before)


@pytest.mark.parametrize("r", [1, 3])
def test_mapping_to_a_discretizing_chain(r):
    star, rng = subset(PI, 3), np.random.default_rng(1)
    for step, most in (
            (lambda: whole_chain_step(Q, PI, star, SWEEP, r, 1, 40, rng), 2 * r),
            # and, before its only mapping, two by its checks and one where it starts
            (lambda: discretizing_chain(Q, PI, star, 1.0, 1, rng, r, 1, "sweep"), r + 3)):
        assert max(asked(step, PI) for _ in range(100)) == most
    says(discretizing_fast, "With r moves that is at most r evaluations; the mirror takes 2 r")


def test_tempered_transitions():
    n, layers, rng = 2, (subset(PI, 3), subset(PI, 1)), np.random.default_rng
    twin = tempered_fast.tempered_transitions(Q, PI, layers, 1.0, 1, rng(1), "sweep").counts
    mirror = asked(lambda: tempered_transitions_step(Q, (PI, *layers), SWEEP, rng(1)), PI, *layers)
    # the trials are the same, and the twin's chain begins with one of each
    assert mirror - (twin.density + sum(twin.approximations) - (1 + n)) == 6 * n - (2 * n - 1)
    says(tempered_fast, "besides the trials of the steps at most 2 n - 1 the mirror 6 n")


def test_rmhmc():
    q = SimpleNamespace(tau=np.ones(N), nu=np.ones(N), converged=True)
    prior, from_q = GPClassification.from_prior(K, LABELS), GPClassification.from_ep(K, LABELS, q)
    many = paquet_rmhmc_fast.DIRECT  # cases, from which on a leapfrog step takes two factorisations
    large = GPClassification.from_prior(np.eye(many) + 0.5, np.resize(LABELS, many))
    for module, model, step, beside in (
            (paquet_rmhmc, prior, 35, 1), (paquet_rmhmc, from_q, 70, 1),
            (paquet_rmhmc_fast, prior, 6, 2), (paquet_rmhmc_fast, from_q, 6, 2),
            (paquet_rmhmc_fast, large, 3, 2)):
        x = np.zeros(model.y.size)
        assert of_one(module.rmhmc, x, model, L, 0.1, None)[3] == L * step + beside
    says(paquet_rmhmc_fast, "with f_max = 5, the mirror does 35 N^3 / 3 operations (70 where q is"
         " EP's Gaussian); this file does 3 N^3 / 3", "Two thirds of N^3, once per transition")


def test_ep(monkeypatch):
    done = counted(monkeypatch, ep, [], {
        "add_outer": lambda A, c, s: 4 * N**2,  # and the product of line 11
        "cholesky": lambda A: N**3 / 3,
        "solve_lower_matrix": lambda L, B: 3 * N**3})  # and V'V
    sweeps = ep.ep.py_func(K, LABELS, 1e-8, 100, 1.0).sweeps
    assert sum(done.values()) == pytest.approx(sweeps * 22 * N**3 / 3) and sweeps > 2
    done = counted(monkeypatch, ep_fast, ["rebuild", "sweep_in_blocks"], {
        "add_products": lambda A, c, V: V.shape[0] * N**2,  # of the lower triangle
        "product": lambda A, B, out: 2 * A.shape[0] * A.shape[1] * B.shape[1],
        "factorise": lambda A: N**3 / 3,
        "triangular_solve_matrix": lambda L, B, left: N**3})
    sweeps = ep_fast.ep_in_blocks.py_func(K, LABELS, 1e-8, 100, 1.0, 4).sweeps
    assert sum(done.values()) == pytest.approx(sweeps * (N**3 + 2 * 4 * N**2) + 7 * N**3 / 3)
    says(ep_fast, "22 N^3 / 3 operations per sweep become N^3", "N^3 + 2 b N^2", "7 N^3 / 3 at the")
