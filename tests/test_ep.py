"""algorithms/ep.py and ep_fast.py: fixed-point identities, exact small cases, twin = mirror."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from algorithms import ep, ep_fast
from departing import departs
from models.covariance import squared_exponential
from reproduce import data

both = pytest.mark.parametrize("run", [ep.ep, ep_fast.ep], ids=["mirror", "fast"])


def problem(N, log_amplitude=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 2))
    K = squared_exponential(X, X, 0.0, log_amplitude)
    K[np.diag_indices(N)] *= 1.01  # some noise, for a condition number of 10^3 to 10^4
    return K, np.where(X[:, 0] + rng.standard_normal(N) > 0, 1.0, -1.0)


def cavities(q):
    variance = np.diag(q.Sigma)
    s2 = 1 / (1 / variance - q.tau)
    return s2 * (q.mu / variance - q.nu), s2


@both
@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("k", [1e-6, 1.0, 2.7e4])
def test_one_case_is_exact(run, k, label):
    q = run([[k]], [label])
    # f ~ N(0, k), P(y = 1 | f) = Phi(f): moments of a skew normal; rounding only
    assert q.log_Z == pytest.approx(math.log(0.5), abs=1e-14)
    assert (q.mu[0], q.Sigma[0, 0]) == pytest.approx(
        (label * k * math.sqrt(2 / math.pi / (1 + k)), k - 2 / math.pi * k**2 / (1 + k)), rel=1e-11)
    assert q.converged and q.sweeps == 2  # the second finds nothing to do


@both
@pytest.mark.parametrize("log_amplitude", [-1.0, 0.5, 4.0])
def test_tilted_moments_are_the_marginal_ones(run, log_amplitude):
    K, y = problem(60, log_amplitude)
    q = run(K, y, 1e-300, 200)  # until log Z repeats itself to the last bit
    m, s2 = cavities(q)
    a = y * m / np.sqrt(1 + s2)
    h = norm.pdf(a) / norm.cdf(a)
    mean = m + s2 * y * h / np.sqrt(1 + s2)
    variance = s2 - s2**2 * h * (a + h) / (1 + s2)
    # log Z is stationary: when it stands still to 1e-16, the sites do so to about 1e-8 only
    scale = np.sqrt(np.diag(q.Sigma))
    np.testing.assert_allclose(mean / scale, q.mu / scale, rtol=0, atol=1e-7)
    np.testing.assert_allclose(variance, np.diag(q.Sigma), rtol=1e-7)


@both
@pytest.mark.parametrize("max_sweeps", [1, 2, 100])
def test_q_is_that_of_the_sites(run, max_sweeps):
    K, y = problem(60)
    q = run(K, y, 1e-8, max_sweeps)
    np.testing.assert_allclose(q.Sigma, np.linalg.inv(np.linalg.inv(K) + np.diag(q.tau)),
                               rtol=0, atol=1e-11)  # rounding: condition number 10^4
    np.testing.assert_allclose(q.mu, q.Sigma @ q.nu, rtol=0, atol=1e-12)
    assert (q.tau >= 0).all()
    np.testing.assert_allclose(q.Sigma, q.Sigma.T, rtol=0, atol=1e-14)


def test_log_Z_where_a_label_is_all_but_impossible():
    # case 1 has a strong site and its cavity is the prior, of Phi(0); case 2 has no site
    K = np.array([[1.0, 0.9999], [0.9999, 1.0]]) * 1e4
    tau, nu = np.array([1.0, 0.0]), np.array([100.0, 0.0])
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    log_Z = ep.log_evidence(np.array([1.0, -1.0]), Sigma @ nu, np.diag(Sigma).copy(), tau, nu,
                            np.log1p(1e4))
    # -1255, where Phi is below the smallest float64; K is inverted to 10 digits
    assert log_Z == pytest.approx(
        math.log(0.5) + norm.logcdf(-(Sigma @ nu)[1] / np.sqrt(1 + Sigma[1, 1])), rel=1e-9)
    assert log_Z < -1200


@both
def test_log_Z_is_the_integral_of_prior_times_sites(run):
    # (3.65) in the book's own form, which divides by tau: sites N(f; nu / tau, 1 / tau)
    K, y = problem(40)
    q = run(K, y)
    m, s2 = cavities(q)
    C, mean = K + np.diag(1 / q.tau), q.nu / q.tau
    log_Z = (-0.5 * np.linalg.slogdet(C)[1] - 0.5 * mean @ np.linalg.solve(C, mean)
             + norm.logcdf(y * m / np.sqrt(1 + s2)).sum()
             + 0.5 * np.log(s2 + 1 / q.tau).sum() + ((m - mean) ** 2 / (s2 + 1 / q.tau)).sum() / 2)
    assert q.log_Z == pytest.approx(log_Z, abs=1e-9)


@departs(ep.ep, {
    "m, s2 = cavity(mu[i], Sigma[i, i], tau[i], nu[i])": """
        precision = 1 / Sigma[i, i] - tau[i]
        m, s2 = (mu[i] / Sigma[i, i] - nu[i]) / precision, 1 / precision""",
    "new_tau, new_nu = matching_site(y[i], m, s2)": """
        b = y[i] / np.sqrt(1 + s2)
        h, lam, _ = curvature(b * m)
        mean, v = m + s2 * b * h, s2 - s2**2 * lam / (1 + s2)
        new_tau, new_nu = 1 / v - precision, mean / v - m * precision"""})
def test_weak_sites_keep_their_digits(ep):
    # f_n = v_n f, a linear model: 180 cases know f to one part in ten, and so the labels of ten
    # with a large v_n are nearly certain: tau = lambda / (1 + s2) and lambda = a N(a), up to lambda
    v = np.concatenate([np.ones(180), np.linspace(10, 40, 10)])
    y = np.where(np.arange(190) % 6 == 0, -1.0, 1.0)
    y[180:] = 1.0
    q = ep(4 * np.outer(v, v) + 0.01 * np.eye(190), y, 1e-8, 20, 1.0)
    assert q.converged
    m, s2 = (c[180:] for c in cavities(q))
    a = m / np.sqrt(1 + s2)
    assert (a > 6).all()
    # a is known to sqrt(tol) of itself, and log lambda to a^2 times that: 1 %
    np.testing.assert_allclose(q.tau[180:] * (1 + s2), a * norm.pdf(a), rtol=1e-2)


@pytest.mark.parametrize(("N", "log_amplitude"), [(5, 0.5), (48, 0.5), (130, 0.5), (100, 4.0)])
def test_fast_equals_mirror_after_every_sweep(N, log_amplitude):
    K, y = problem(N, log_amplitude)
    for max_sweeps in range(1, 12):
        slow, fast = ep.ep(K, y, 1e-8, max_sweeps), ep_fast.ep(K, y, 1e-8, max_sweeps)
        assert (fast.sweeps, fast.converged) == (slow.sweeps, slow.converged)
        tolerance = 1e-14 * K.max() * N  # rounding of K - V'V, N terms
        for theirs, ours in zip(slow[:5], fast[:5], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=max(tolerance, 1e-11))
    assert slow.converged
    np.testing.assert_array_equal(fast.Sigma, fast.Sigma.T)


@pytest.mark.parametrize("damping", [1.0, 0.6])
def test_blocks_of_every_size_give_the_same(damping):
    K, y = problem(13)
    slow = ep.ep(K, y, 1e-8, 4, damping)
    for block in range(1, 16):
        fast = ep_fast.ep_in_blocks(K, y, 1e-8, 4, damping, block)
        for theirs, ours in zip(slow, fast, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_a_carried_state_that_has_drifted_does_not_count_as_converged(monkeypatch):
    (K, y), sweep_in_blocks = problem(20), ep_fast.sweep_in_blocks

    def drift(Sigma, *others):
        result = sweep_in_blocks(Sigma, *others)
        Sigma[0, 0] += 1e-2
        return result

    monkeypatch.setattr(ep_fast, "sweep_in_blocks", drift)
    q = ep_fast.ep_in_blocks.py_func(K, y, 1e-8, 40, 1.0, 8)
    assert not q.converged and q.sweeps == 40  # though the carried log Z stands still
    np.testing.assert_allclose(q.Sigma, np.linalg.inv(np.linalg.inv(K) + np.diag(q.tau)),
                               rtol=0, atol=1e-11)  # what is returned is rebuilt


def test_the_digits_of_usps(real):
    digits = real(data.usps_3v5, fallback=False)
    # as the demonstration of the GPML toolbox prints it, to half a unit of its last digit
    for log_length, log_amplitude, log_Z in ((3.0, 0.0, -222.0), (2.52, 5.13, -90.0)):
        K = squared_exponential(digits.X, digits.X, log_length, log_amplitude)
        assert ep_fast.ep(K, digits.y).log_Z == pytest.approx(log_Z, abs=0.5)


@both
def test_tolerance_is_on_log_Z_and_too_few_sweeps_are_flagged(run):
    K, y = problem(60)
    path = [run(K, y, 1e-300, k).log_Z for k in range(1, 9)]
    for tol in (1e-2, 1e-5):
        q = run(K, y, tol)
        assert abs(path[q.sweeps - 1] - path[q.sweeps - 2]) < tol
        assert abs(path[q.sweeps - 2] - path[q.sweeps - 3]) >= tol
        few = run(K, y, tol, q.sweeps - 1)
        assert q.converged and not few.converged and few.sweeps == q.sweeps - 1
    q = run([[1.0]], [1.0], 1.0)  # |log Z| = 0.69 is below tol, but has not been compared yet
    assert q.sweeps == 2 and q.converged


@departs(ep.ep, {
    "dtau = damping * (new_tau - tau[i])": "dtau = new_tau - tau[i]",
    "tau[i] = damping * new_tau + (1.0 - damping) * tau[i]": "tau[i] = new_tau",
    "nu[i] = damping * new_nu + (1.0 - damping) * nu[i]": "nu[i] = new_nu"})
def test_damping_scales_the_first_step(mirror):
    tau, nu = ep.matching_site(1.0, 0.0, 2.0)
    for run in (mirror, ep_fast.ep.compiled):
        q = run(np.array([[2.0]]), np.ones(1), 1e-8, 1, 0.25)
        assert (q.tau[0], q.nu[0]) == pytest.approx((0.25 * tau, 0.25 * nu), rel=1e-14)


@both
@pytest.mark.parametrize("log_amplitude", [-8.0, 10.0])
def test_extreme_amplitudes_stay_finite(run, log_amplitude):
    K, y = problem(30, log_amplitude)
    y[::3] *= -1
    q = run(K, y, 1e-4)
    assert q.converged and all(np.isfinite(v).all() for v in q) and q.log_Z < 0


@pytest.mark.parametrize("module", [ep, ep_fast], ids=["mirror", "fast"])
@pytest.mark.parametrize("K", [-np.eye(1), -0.5 * np.eye(2), np.diag([1.0, -0.5]),
                               np.array([[1.0, 9.0], [9.0, 1.0]]), np.full((2, 2), np.nan)])
def test_a_cavity_that_is_not_positive_is_never_silent(module, K):
    # the checks are passed by: no admissible K leads there
    q = module.ep.compiled(K, np.ones(len(K)), 1e-8, 5, 1.0)
    assert not q.converged
    assert np.isfinite([q.tau, q.nu]).all()  # such a site is left alone
    assert q.sweeps == (5 if np.isfinite(K).all() else 1)  # no factor: it stops at once


@departs(ep.ep, {"if not 0.0 < s2 < np.inf:": "if False:"})
def test_an_infinite_cavity_is_passed_by(mirror):
    (K, y), visits, right = problem(8), [], ep.cavity

    def cavity(*arguments):
        visits.append(arguments)
        return (0.0, np.inf) if len(visits) == 8 + 3 else right(*arguments)

    def sweeps(run, number, *block):
        visits.clear()
        return run(K, y, 1e300, number, 1.0, *block)  # any change of log Z is small enough

    sweeps(mirror, 1)  # which compiles what calls the right one
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(mirror.__globals__, "cavity", cavity)
        patch.setattr(ep_fast, "cavity", cavity)
        patch.setattr(ep_fast, "sweep_in_blocks", ep_fast.sweep_in_blocks.py_func)
        for run, *block in ((mirror,), (ep_fast.ep_in_blocks.py_func, 8)):
            first, second = sweeps(run, 1, *block), sweeps(run, 2, *block)
            assert (second.tau[2], second.nu[2]) == (first.tau[2], first.nu[2])
            assert (np.delete(second.tau, 2) != np.delete(first.tau, 2)).all()
            assert not second.converged
            third = sweeps(run, 3, *block)
            assert third.converged and third.tau[2] != first.tau[2]


@both
def test_a_kernel_of_repeated_cases_says_what_to_add_to_it(run):
    X = np.repeat(np.random.default_rng(1).standard_normal((30, 2)), 2, axis=0)
    K, y = squared_exponential(X, X, 0.0, np.log(20.0)), np.tile([1.0, -1.0], 30)
    with pytest.raises(ValueError, match=r"add 0\.0004 to its diagonal.*: K \+ 0\.0004 \* np.eye"):
        run(K, y)
    assert run(K + 0.0004 * np.eye(60), y).converged
