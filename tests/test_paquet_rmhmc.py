"""algorithms/paquet_rmhmc.py: each formula, misprints failing, reversibility, volume, record."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from algorithms import paquet_rmhmc as rm
from algorithms import paquet_rmhmc_fast
from algorithms.paquet_rmhmc import derivatives, hamiltonian_and_gradient, riemann_metric, rmhmc
from conftest import Given, counted, one
from departing import departs
from differences import differences
from models.gp_classification import GPClassification
from models.interface import U
from reproduce.harness.mirrors import variant
from reproduce.paquet.steps import LINE_18, LINES_6_TO_9
from test_gp_classification import EP, K, N, Y

MODELS = {f"{q}, beta = {beta}": model for beta in (0.0, 0.3, 1.0) for q, model in (
    ("prior", GPClassification.from_prior(K, Y, beta)),
    ("q", GPClassification.from_ep(K, Y, EP, beta)))}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
x_test, p_test = np.random.default_rng(1).standard_normal((2, N)) * [[2.0], [1.0]]


@each_model
def test_metric_is_minus_the_hessian(model):
    L_beta, dL_dx, G_inv, log_det_G, dg = riemann_metric(x_test, model)
    for ours, theirs in zip((L_beta, dL_dx), derivatives(x_test, model), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    G = -differences(lambda x: derivatives(x, model)[1], x_test)
    np.testing.assert_allclose(G_inv @ G, np.eye(N), rtol=0, atol=1e-7)
    assert log_det_G == pytest.approx(np.linalg.slogdet(G)[1], abs=1e-8)
    third = differences(lambda x: np.diag(np.linalg.inv(riemann_metric(x, model)[2])), x_test)
    np.testing.assert_allclose(third, np.diag(dg), rtol=0, atol=1e-7)


@each_model
def test_gradient_of_the_hamiltonian(model):
    def H(x):
        return hamiltonian_and_gradient(*riemann_metric(x, model), p_test)

    value, dH_dx = H(x_test)
    np.testing.assert_allclose(dH_dx, differences(lambda x: H(x)[0], x_test), rtol=0, atol=1e-7)
    L_beta, _, G_inv, log_det_G, _ = riemann_metric(x_test, model)
    assert value == pytest.approx(p_test @ G_inv @ p_test / 2 + log_det_G / 2 - L_beta, rel=1e-13)


def spied(run, *arguments):
    """Run a version of rmhmc; return its Chain, and the momenta of which it evaluated H."""
    momenta = []

    def spy(*of):
        momenta.append(of[-1])
        return hamiltonian_and_gradient(*of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(run.__globals__, "hamiltonian_and_gradient", spy)
        return run(*arguments), momenta


@departs(rmhmc, {"L7": "p = L_G_inv @ p"})
def test_line_7_draws_the_momentum_from_its_distribution(rmhmc):
    # p is linear in the normals, p = A z, and so has covariance A A'
    for model in MODELS.values():
        G = np.linalg.inv(riemann_metric(x_test, model)[2])
        A = np.array([spied(rmhmc, x_test, model, 1, 0.1, 1, Given(z))[1][0] for z in np.eye(N)]).T
        np.testing.assert_allclose(A @ A.T, G, rtol=0, atol=1e-10)


def trajectory(x, p, model, eps, l_max, f_max):
    """Lines 11 to 29 from (x, p): return where they end, x and p."""
    z = np.linalg.cholesky(riemann_metric(x, model)[2]).T @ p  # line 7 turns z into p
    chain, momenta = spied(rmhmc.py_func, x, model, l_max, eps, 1, Given(z), f_max)
    H = [hamiltonian_and_gradient(*riemann_metric(z, model), r)[0]
         for z, r in ((x, p), (chain.samples[0], momenta[-1]))]
    assert chain.energy_error[0] == pytest.approx(H[1] - H[0], abs=1e-11)  # rounding
    return chain.samples[0], momenta[-1]


@departs(30, 5)
def test_trajectories_lead_back(f_max):
    for model in MODELS.values():
        x, p = trajectory(x_test, p_test, model, 0.1, 10, f_max)
        assert np.abs(x - x_test).max() > 0.1  # it moved
        np.testing.assert_allclose(trajectory(x, -p, model, 0.1, 10, f_max), [x_test, -p_test],
                                   rtol=0, atol=1e-9)


def ends_at(rmhmc, energy, u=0.0):
    """One transition of a version of rmhmc, or of the twin, that ends where H is `energy`."""
    evaluate, seen = rmhmc.__globals__["hamiltonian_and_gradient"], []

    def trap(*of):
        H, dH_dx = evaluate(*of)
        seen.append(H)
        return (0.0 if len(seen) == 1 else energy), dH_dx

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(rmhmc.__globals__, "hamiltonian_and_gradient", trap)
        return rmhmc(x_test, MODELS["q, beta = 0.3"], 2, 0.1, 1, Given(np.ones(N), uniforms=[u]))


@departs(rmhmc, {"L30": "if rng.random() < np.exp(H_old - H):"})
def test_line_30_rejects_an_energy_that_is_not_finite(rmhmc):
    fast = variant(paquet_rmhmc_fast.hamiltonian_and_gradient, {}, within=paquet_rmhmc_fast.rmhmc)
    for run in (rmhmc, fast):  # both interpreted
        for u, taken in ((0.999 * np.exp(-0.3), True), (1.001 * np.exp(-0.3), False)):
            assert ends_at(run, 0.3, u).accepted[0] == taken
        for energy in (np.inf, -np.inf, np.nan):
            chain = ends_at(run, energy)
            assert not chain.accepted[0] and chain.divergences == 1
            np.testing.assert_array_equal(chain.samples, [x_test])
            assert np.isfinite(chain.energies).all()


@departs(riemann_metric, LINES_6_TO_9)
def test_lines_6_to_9_keep_their_digits_far_from_the_data(riemann_metric):
    # samples from the paper's prior reach |z| = 400, where Phi underflows
    x = 400 * Y * np.array([1, -1, 1, -1, 1, -1])
    for model in MODELS.values():
        L_beta, dL_dx, G_inv, log_det_G, dg = riemann_metric(x, model)
        assert np.isfinite([L_beta, log_det_G, *dL_dx, *dg]).all() and np.isfinite(G_inv).all()
        far = Y * x < 0  # there dg is -2 beta y / t^3 for z = -t, up to a factor 1 + O(t^-2)
        np.testing.assert_allclose(dg[far], -2 * model.beta * Y[far] / 400**3, rtol=1e-3)


@departs(0.0, 1e12)  # as printed Sigma~ = 0, so that its inverse tends to infinity
def test_line_13_holds_where_the_inverse_of_Sigma_tilde_is_zero(inverse):
    sites = SimpleNamespace(tau=np.full(N, inverse), nu=np.zeros(N), converged=True)
    with_q = GPClassification.from_ep(K, Y, sites, 0.3)
    for ours, theirs in zip(riemann_metric(x_test, with_q),
                            riemann_metric(x_test, MODELS["prior, beta = 0.3"]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)  # rounding: K - V'V


@departs(EP.tau, 1 / EP.tau)
def test_the_precision_of_q_is_that_of_the_prior_plus_the_sites(diagonal):
    L = MODELS["q, beta = 1.0"].L_Sigma
    np.testing.assert_allclose(np.linalg.inv(L @ L.T), np.linalg.inv(K) + np.diag(diagonal),
                               rtol=0, atol=1e-9)  # rounding: inverses of order 10, condition 100


@departs(derivatives, {
    "L6-8": """
        dell_dx = np.where(z > -15, np.exp(-z**2 / 2) / np.sqrt(2 * np.pi) / np.exp(log_Phi_of(z)),
                           -z - 1 / z + 2 / z**3)"""})
def test_lines_6_to_8_are_one_function(derivatives):
    one_case = GPClassification.from_prior(np.eye(1), np.ones(1))
    for z in (-15.0, -14.99):
        _, (dL_dx,) = derivatives(np.array([z]), one_case)
        exact = norm.pdf(z) / norm.cdf(z)
        assert dL_dx + z == pytest.approx(exact, rel=1e-12)  # norm.cdf has 13 digits there


@departs(derivatives, LINE_18)
def test_line_18_is_the_gradient_of_line_17(derivatives):
    for model in MODELS.values():
        L_beta, dL_dx = derivatives(x_test, model)
        assert L_beta == pytest.approx(-U(x_test, model), rel=1e-13)
        numeric = differences(lambda x, model=model: derivatives(x, model)[0], x_test)
        np.testing.assert_allclose(dL_dx, numeric, rtol=0, atol=1e-7)


@departs(lambda x: Y * norm.pdf(x) / norm.cdf(Y * x), lambda x: norm.pdf(x) / norm.cdf(Y * x))
def test_section_4_4_is_the_gradient_of_the_log_likelihood(grad_ell):
    numeric = differences(lambda x: norm.logcdf(Y * x).sum(), x_test)
    np.testing.assert_allclose(grad_ell(x_test), numeric, rtol=0, atol=1e-8)
    prior = derivatives(x_test, GPClassification.from_prior(K, Y, 0.0))[1]
    np.testing.assert_allclose(derivatives(x_test, MODELS["prior, beta = 1.0"])[1] - prior,
                               grad_ell(x_test), rtol=0, atol=1e-12)  # so the code has it, rounded


@each_model
def test_converged_trajectory_is_symplectic(model):
    def flow(state):
        return np.concatenate(trajectory(state[:N], state[N:], model, 0.15, 3, 20))

    J = differences(flow, np.concatenate([x_test, p_test]), 1e-5).T
    omega = np.block([[np.zeros((N, N)), np.eye(N)], [-np.eye(N), np.zeros((N, N))]])
    # differences err by 1e-8 |J|^2
    np.testing.assert_allclose(J.T @ omega @ J, omega, rtol=0, atol=1e-6)
    assert np.linalg.det(J) == pytest.approx(1, abs=1e-6)


def test_counts_are_what_was_done(monkeypatch):
    thirds = {"cholesky": 1, "solve_lower_matrix": 3, "gram": 3}
    for model, per_metric in ((MODELS["prior, beta = 1.0"], 7), (MODELS["q, beta = 0.3"], 14)):
        with monkeypatch.context() as patch:
            done = counted(patch, rm, ["riemann_metric"],
                           dict.fromkeys([*thirds, "riemann_metric"], one))
            counts = rmhmc.py_func(x_test, model, 3, 0.1, 2, np.random.default_rng(0), 4).counts
        assert counts.metric == done["riemann_metric"] == 1 + 2 * 3 * 4
        assert counts.cholesky == done["cholesky"]
        assert counts.thirds == sum(thirds[name] * done[name] for name in thirds)
        assert counts.thirds == per_metric * counts.metric + 2


@pytest.mark.parametrize("module", [rm, paquet_rmhmc_fast], ids=["mirror", "twin"])
def test_the_chain_goes_on_after_divergences(module):
    rng, diverged = np.random.default_rng(1), np.arange(1, 51) % 5 == 0
    normals = rng.standard_normal((50, N))
    normals[diverged] *= 1e200  # so large that no energy is finite
    with np.errstate(all="ignore"):
        chain = module.rmhmc.py_func(x_test, MODELS["prior, beta = 1.0"], 3, 0.3, 50,
                                     Given(*normals, uniforms=rng.random(50)))
    np.testing.assert_array_equal(~np.isfinite(chain.energy_error), diverged)
    assert chain.divergences == 10
    assert not chain.accepted[diverged].any() and chain.accepted[~diverged].sum() > 30
    assert np.isfinite(chain.samples).all() and np.isfinite(chain.energies).all()
    moved = np.any(np.diff(chain.samples, axis=0) != 0, axis=1)
    np.testing.assert_array_equal(moved, chain.accepted[1:])


@each_model
@pytest.mark.parametrize("module", [rm, paquet_rmhmc_fast], ids=["mirror", "twin"])
def test_a_rejection_restores_all_that_the_next_transition_needs(module, model):
    # one run of 60 transitions, and 60 runs of one that evaluate the metric anew, bit for bit
    many = module.rmhmc(x_test, model, 3, 1.2, 60, np.random.default_rng(2))
    assert 5 < many.accepted.sum() < 55
    rng, x = np.random.default_rng(2), x_test
    for t in range(60):
        one = module.rmhmc(x, model, 3, 1.2, 1, rng)
        x = one.samples[0]
        np.testing.assert_array_equal(x, many.samples[t])
        assert one.energies[0] == pytest.approx(U(x, model), rel=1e-12)
        assert (one.energies[0], one.energy_error[0]) == (many.energies[t], many.energy_error[t])
