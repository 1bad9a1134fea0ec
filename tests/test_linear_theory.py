"""Linear theory of HMC and of the three integrators of Split HMC."""

import numpy as np
import pytest

from algorithms import linear_theory as linear
from algorithms.shahbaba_split_hmc import NormalApproximation, exact_flow, follow

M = 9


def random_hessians(rng, d=4):
    J_0, J_1 = (a @ a.T for a in rng.standard_normal((2, d, d)))
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
            h = eps / M
            for _ in range(M):
                p = p - h / 2 * J_0 @ q
                q = q + h * p
                p = p - h / 2 * J_0 @ q
        return np.concatenate([q, p - eps / 2 * kick @ q])

    for eps in (0.2, 0.7, 1.1):  # stable, and not
        whole = np.column_stack([step(e, eps) for e in np.eye(8)])
        # a double eigenvalue near the unit circle is known to the root of rounding
        assert linear.exponent(linear.q_block(method, eps, J, J_0, J_1, fit, M)) == pytest.approx(
            np.log(np.abs(np.linalg.eigvals(whole)).max()), abs=1e-6)


def test_hmc_is_stable_up_to_2_over_w():
    J = random_hessians(np.random.default_rng(8))[0]
    limit = linear.hmc_limit(J)  # by bisection to 1e-9
    assert limit == pytest.approx(2 / np.linalg.eigvalsh(J)[-1] ** 0.5, rel=1e-8)
    for eps, stable in ((0.999 * limit, True), (1.001 * limit, False)):
        grows = linear.exponent(linear.q_block("HMC", eps, J, None, None, None, None))
        assert (grows < 1e-6) == stable  # an eigenvalue near 1 has a root: 1e-7 of rounding
    for largest, limit in ((4.0, 1.0), (4e6, 1e-3)):  # as far as it looks, up and down
        assert linear.hmc_limit(np.diag([1.0, largest])) == pytest.approx(limit, rel=1e-8)


def test_one_half_turn_of_the_inner_steps_is_where_their_product_is_minus_one():
    w_0 = 103.0
    h = linear.half_turns(w_0, 1, M) / M
    inner = np.array([[1 - h**2 * w_0**2 / 2, h], [-h * w_0**2 * (1 - h**2 * w_0**2 / 4),
                                                    1 - h**2 * w_0**2 / 2]])
    assert np.allclose(np.linalg.matrix_power(inner, M), -np.eye(2), rtol=0, atol=1e-11)
    h = linear.half_turns(w_0, 2, M) / M
    assert M * np.arccos(1 - h**2 * w_0**2 / 2) == pytest.approx(2 * np.pi, rel=1e-12)
    # with many inner steps, and so an exact flow: at k pi / w_0
    assert linear.half_turns(w_0, 3, 10**6) == pytest.approx(3 * np.pi / w_0, rel=1e-11)


def test_correlation_and_rate_are_those_of_20_leapfrog_steps():
    covariance = np.array([[1, 0.95], [0.95, 1]])
    inverse, rng, n = np.linalg.inv(covariance), np.random.default_rng(3), 400_000
    end = q = rng.standard_normal((n, 2)) @ np.linalg.cholesky(covariance).T
    p_end = p = rng.standard_normal((n, 2))
    for _ in range(20):
        p_end = p_end - 0.075 * end @ inverse
        end = end + 0.15 * p_end
        p_end = p_end - 0.075 * end @ inverse
    energy = ((end @ inverse * end).sum(1) + (p_end**2).sum(1)
              - (q @ inverse * q).sum(1) - (p**2).sum(1)) / 2
    accept = np.exp(np.minimum(-energy, 0))
    lag_1, rate = linear.correlation_and_rate(covariance, 0.15, 20)
    for sample, wanted in ((accept, rate),
                           (q[:, 0] * (accept * end[:, 0] + (1 - accept) * q[:, 0]), lag_1)):
        assert abs(sample.mean() - wanted) < 4 * sample.std() / n**0.5


@pytest.mark.parametrize(("call", "message"), [
    (lambda: linear.hmc_limit([[16, 9], [0, 16]]), "J must be symmetric"),
    (lambda: linear.hmc_limit(3.9 * np.eye(2)), "J's largest eigenvalue must be"),
    (lambda: linear.hmc_limit(1e7 * np.eye(2)), "J's largest eigenvalue must be"),
    (lambda: linear.correlation_and_rate(np.eye(3), 0.1, 2), "covariance must have shape"),
    (lambda: linear.correlation_and_rate([[1, 0.5], [0.4, 1]], 0.1, 2), "covariance must be sym"),
    (lambda: linear.correlation_and_rate([[1, 2], [2, 1]], 0.1, 2), "covariance's least eigen"),
    (lambda: linear.correlation_and_rate(np.diag([1, 4]), 0.1, 2), "covariance must have the same"),
    (lambda: linear.correlation_and_rate(np.eye(2), 0.0, 2), "eps must be"),
    (lambda: linear.correlation_and_rate(np.eye(2), 2.0, 2), "eps must be"),  # the limit itself
    # stable below 0.632
    (lambda: linear.correlation_and_rate([[1, 0.9], [0.9, 1]], 0.7, 2), "eps must be"),
    (lambda: linear.correlation_and_rate(np.eye(2), 0.1, 2.0), "L must be")])
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
