"""The chains behind Tables 1 and 2 of Split HMC, and what their scripts make of them."""

import numpy as np
import pytest

import chains
import shahbaba_stability as stability
import shahbaba_table1 as table1
from algorithms.split_hmc import (
    NormalApproximation,
    exact_flow,
    follow,
    normal_split_hmc,
    normal_state,
)
from harness import Measured
from models.interface import U, hessian
from shahbaba_errata import METHODS, PROBLEMS, numbers

DATA = "illustrative data of slope 5, seed 1"


@pytest.fixture(scope="module")
def stage():
    return chains.problem(DATA, 0.4)


# The authors' variant


def test_with_the_whole_step_and_no_jitter_the_variant_is_algorithm_1(stage):
    model, fit, _ = stage
    q0 = fit.q_hat + 0.1
    ours = normal_split_hmc(q0, model, fit, 0.3, 5, 50, np.random.default_rng(1), 0.0)
    variant = chains.fixed_flow_hmc(q0, model, fit, 0.3, 5, 50, np.random.default_rng(1), 0.0, 1.0)
    assert np.array_equal(ours.samples, variant.samples)
    assert np.array_equal(ours.energy_error, variant.energy_error)


def test_with_jitter_the_variant_is_another_map(stage):
    model, fit, _ = stage
    ours = normal_split_hmc(fit.q_hat, model, fit, 0.3, 5, 1, np.random.default_rng(1), 0.2)
    variant = chains.fixed_flow_hmc(fit.q_hat, model, fit, 0.3, 5, 1, np.random.default_rng(1),
                                    0.2, 1.0)
    assert not np.array_equal(ours.energy_error, variant.energy_error)


def test_the_variant_is_reversible_and_preserves_volume(stage):
    model, fit, _ = stage
    R = exact_flow(fit, 0.27)

    def step(x):  # one step of size 0.25 with the flow of another time
        q, p = x[:3], x[3:] - 0.125 * normal_state(x[:3], model, fit).g_1
        q, p = chains.follow(R, q - fit.q_hat, p)
        q = q + fit.q_hat
        return np.concatenate([q, p - 0.125 * normal_state(q, model, fit).g_1])

    x = np.concatenate([fit.q_hat + 0.2, [0.5, -1.0, 0.3]])
    flip = np.repeat([1.0, -1.0], 3)
    # rounding of some 100 operations on numbers of order 10
    assert np.allclose(flip * step(flip * step(x)), x, rtol=0, atol=1e-12)
    h = 1e-5
    J = np.column_stack([(step(x + h * e) - step(x - h * e)) / (2 * h) for e in np.eye(6)])
    # differences: h^2 times third derivatives of order 10
    assert abs(np.linalg.det(J) - 1) < 1e-7


def test_the_variant_samples_the_same_posterior():
    found = {method: chains.one_chain(DATA, method, 0.2, 8, 1, 0.4, 20_000, [7, k])
             for k, method in enumerate(("normal", chains.AUTHORS))}
    for row in ("tau", "tau_beta"):
        a, b = (f[row] for f in found.values())
        assert abs(a["mean"] - b["mean"]) < 4 * np.hypot(a["mean_se"], b["mean_se"])


def test_a_variant_that_accepts_everything_would_be_seen(stage):
    model, fit, _ = stage
    state = normal_state(fit.q_hat, model, fit)
    rng = np.random.default_rng(2)
    R = exact_flow(fit, 1.5)
    accepted = [chains.fixed_flow_step(state, model, fit, R, 3.0, 5, rng)[1:] for _ in range(200)]
    for taken, error in accepted:
        assert not taken or error < 10.0  # exp(-10) in 200 draws: less than 1 %
    assert not all(taken for taken, _ in accepted)


# A replicate


@pytest.mark.parametrize("method", table1.ALL)
def test_a_chain_in_parts_is_the_chain(stage, method):
    result = chains.one_chain(DATA, method, 0.1, 3, 2, 0.4, 200, [3, 4])
    whole = chains.transitions(method, stage[1].q_hat, stage, 0.1, 3, 2, 200,
                               np.random.default_rng([3, 4]))
    assert result["AP"] == whole.accepted.mean()
    assert result["tau_beta"]["mean"] == np.mean((whole.samples[:, 1:] ** 2).sum(1))
    assert len(result["seconds"]) == chains.BLOCKS
    assert result["g"] == (3 * (0.4 * 2 + 0.6) if method == "data" else 3)


def test_the_log_likelihood_leaves_out_the_prior(stage):
    model, fit, _ = stage
    result = chains.one_chain(DATA, "HMC", 1e-9, 1, 1, 0.4, 10, 1)  # stays at the mode
    wanted = -(U(fit.q_hat, model) - fit.q_hat @ fit.q_hat / (2 * 5.0**2))
    assert result["tau"]["mean"] == pytest.approx(wanted, abs=1e-6)


def test_trajectories_of_all_methods_have_the_same_length():
    for name, printed in PROBLEMS.items():
        tasks = table1.tasks_of(name, DATA, table1.ALL, 1, 10, 1)
        lengths = [task["eps"] * task["L"] for task in tasks]
        # rounding
        assert np.allclose(lengths, numbers(printed.L)["HMC"] * table1.EPS[name], rtol=1e-14)


def test_no_two_chains_have_the_same_seed():
    tasks = table1.tasks_of("CTG", DATA, table1.ALL, 3, 10, 1)
    assert len({tuple(task["seed"]) for task in tasks}) == len(tasks)


# The tables


def chain(tau, seconds=1.0, batches=37):
    row = {"batch": tau, "initial": tau, "se": 0.1 * tau, "mean": 1.0, "mean_se": 0.1}
    return {"g": 20.0, "seconds": [seconds] * 10, "AP": 0.7, "AP_se": 0.01, "batches": batches,
            "tau": row, "tau_beta": row}


def test_chains_are_pooled():
    found = table1.pooled([chain(2.0), chain(4.0)])
    assert found["tau", "batch means"].value == 3.0
    # of the log of a chi-squared number of 72 degrees of freedom: about sqrt(2 / 72), a little more
    assert 0 < found["tau", "batch means"].se / 3.0 - (2 / 72) ** 0.5 < 0.003
    assert found["AP"] == pytest.approx((0.7, 0.01 / 2**0.5))
    assert found["s"] == (1.0, 0.0)


def test_products_and_comparisons():
    found = {"HMC": table1.pooled([chain(4.0)]), "normal": table1.pooled([chain(2.0, 0.5)])}
    assert table1.product(found["HMC"], "tau x g") == pytest.approx((80.0, 8.0))
    ratio = table1.compare(found, "normal", "HMC", "tau x s")
    assert ratio == pytest.approx((np.log(4.0), 0.1 * 2**0.5))


def test_a_claim_about_tau_holds_for_batch_means_of_independent_draws():
    claim = table1.log_claim("Simulated", "HMC", "tau", "batch means")
    rounding = np.log([4.55 / 4.6, 4.65 / 4.6])
    rng = np.random.default_rng(4)
    theirs = rng.standard_normal((20_000, 36)).var(axis=1, ddof=1)  # tau is 1
    outside = [np.mean(-np.log(theirs) > claim.high - rounding[1]),
               np.mean(-np.log(theirs) < claim.low - rounding[0])]
    # 0.00135 each; 4 standard errors
    assert np.allclose(outside, 0.00135, rtol=0, atol=4 * (0.00135 / 20_000) ** 0.5)


def test_every_claim_has_its_number():
    found = {method: table1.pooled([chain(3.0)]) for method in table1.ALL}
    for name in PROBLEMS:
        measured = table1.measured_of(name, found)
        assert {claim.what for claim in table1.claims_about(name, {})} == set(measured)


def test_known_differences_are_about_claims():
    with_known = table1.claims_about("CTG", {"CTG, normal: AP": "because"})
    assert [claim.what for claim in with_known if claim.known] == ["CTG, normal: AP"]


def test_the_proportionality_of_s_covers_print():
    low, high = table1.proportional()
    for printed in PROBLEMS.values():
        s = numbers(printed.s)
        for method in METHODS[1:]:
            g = table1.definition(printed, method) / 20.0
            assert low < s[method] / s["HMC"] / g < high


# Linear stability


def random_hessians(rng, d=4):
    parts = [rng.standard_normal((d, d)) for _ in range(2)]
    J_0, J_1 = (a @ a.T for a in parts)
    return J_0 + J_1, J_0, J_1


@pytest.mark.parametrize("method", ["HMC", "normal", "data"])
def test_the_exponent_is_that_of_the_whole_matrix_of_a_step(method):
    rng = np.random.default_rng(5)
    J, J_0, J_1 = random_hessians(rng)
    w2, Z = np.linalg.eigh(random_hessians(rng)[0])
    fit = NormalApproximation(np.zeros(4), np.ascontiguousarray(Z), np.sqrt(w2))
    G = J - (Z * w2) @ Z.T

    def step(x, eps):
        q, p = x[:4], x[4:]
        kick = {"HMC": J, "normal": G, "data": J_1}[method]
        p = p - eps / 2 * kick @ q
        if method == "HMC":
            q = q + eps * p
        elif method == "normal":
            q, p = follow(exact_flow(fit, eps), q, p)
        else:
            h = eps / stability.M
            for _ in range(stability.M):
                p = p - h / 2 * J_0 @ q
                q = q + h * p
                p = p - h / 2 * J_0 @ q
        return np.concatenate([q, p - eps / 2 * kick @ q])

    for eps in (0.2, 0.7, 1.1):  # stable, and not
        whole = np.column_stack([step(e, eps) for e in np.eye(8)])
        wanted = np.log(np.abs(np.linalg.eigvals(whole)).max())
        A = stability.q_block(method, eps, J, J_0, J_1, fit)
        # a double eigenvalue near the unit circle is known to the root of rounding
        assert stability.exponent(A) == pytest.approx(wanted, abs=1e-6)


def test_the_inner_steps_of_no_outer_part_are_leapfrog_steps():
    J = random_hessians(np.random.default_rng(6))[0]
    zero = np.zeros_like(J)
    a = np.linalg.eigvalsh(stability.q_block("HMC", 0.1 / stability.M, J, None, None, None))
    A = stability.q_block("data", 0.1, J, J, zero, None)
    # M steps turn each eigenvalue cos(phi) into cos(M phi); rounding
    wanted = np.sort(np.cos(stability.M * np.arccos(a)))
    assert np.allclose(np.sort(np.linalg.eigvals(A).real), wanted, rtol=0, atol=1e-10)


def test_kicks_resonate_with_half_turns_of_the_inner_steps():
    w_0, kick = 103.0, 30.0

    def exponent(eps):
        J_0, J_1 = np.array([[w_0**2]]), np.array([[kick]])
        return stability.exponent(stability.q_block("data", eps, J_0 + J_1, J_0, J_1, None))

    for eps in stability.half_turns(w_0, np.arange(1, 7)):
        width = kick / w_0**2  # relative, to first order; a window ends with the half turns
        assert exponent(eps * (1 - width / 2)) > 1e-4
        assert exponent(eps * (1 + width / 10)) < 1e-9
        assert exponent(eps * (1 - width * 1.1)) < 1e-9


def test_energies_that_are_not_finite_are_not_accepted():
    rate = stability.acceptance([np.inf, np.nan, -1.0, 0.0])
    assert rate.value == 0.5


def test_the_median_has_the_error_of_order_statistics():
    rng = np.random.default_rng(8)
    middle = stability.log_median(np.exp(rng.standard_normal(10_000)))
    assert isinstance(middle, Measured)
    # the median of n normals has the standard error sqrt(pi / 2 n); 20 % for the estimate of it
    assert middle.se == pytest.approx((np.pi / 20_000) ** 0.5, rel=0.2)
    assert abs(middle.value) < 4 * middle.se


def test_the_hessian_of_the_parts_is_the_whole():
    model, fit, split = chains.problem(DATA, 0.4)
    q = fit.q_hat + 0.3
    J, J_0, J_1 = (hessian(q, part) for part in (model, split.R_0, split.R_1))
    assert np.allclose(J, J_0 + J_1, rtol=1e-12, atol=0)  # rounding of 100 terms
