"""models/hierarchical_logistic.py: the density, its blocks, one group's weights, and the misprints.

Each is compared with dense formulas in NumPy, written from the data as they were given.
"""

import time

import numpy as np
import pytest
from scipy.stats import bernoulli, chi2, expon, kstest, norm

from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc import H2, hamiltonian, sshmc
from departing import departs
from differences import differences
from models.hierarchical_logistic import GroupGivenV, HierarchicalLogistic, information
from models.interface import (
    GivenPhi,
    GivenTheta,
    U,
    U_phi,
    U_prior,
    U_theta,
    grad_U,
    grad_U2,
    grad_U_phi,
    grad_U_theta,
    log_det_phi,
    log_det_theta,
    metric,
    metric_gradient,
    momentum_phi,
    momentum_theta,
    precompute_phi,
    precompute_theta,
    sizes,
    velocity_theta,
)

LAM = 0.4
SIZES = {"b": 40, "a": 1, "d": 7, "c": 35}  # more and fewer than a block of cases
P = 3


def data(seed=0):
    """Cases in no order; all of group d are of one class."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(list(SIZES), list(SIZES.values())))
    X = np.column_stack([np.ones(group.size), rng.standard_normal((group.size, P - 1))])
    y = np.where((rng.random(group.size) < 0.6) | (group == "d"), 1.0, -1.0)
    return X, y, group


X, Y, GROUP = data()
MODEL = HierarchicalLogistic.from_data(X, Y, GROUP, LAM)
N = P * len(SIZES)
THETA = np.random.default_rng(1).standard_normal(N)
PHI = np.array([-0.6])
Q = np.append(THETA, PHI)
OTHER = np.append(np.random.default_rng(2).standard_normal(N), 0.9)
R = np.random.default_rng(3).standard_normal(N)
AT_PHI, AT_THETA = precompute_phi(PHI, MODEL), precompute_theta(THETA, MODEL)


def by_group(theta):
    """The weights of each group, in the sorted order of labels."""
    return dict(zip(sorted(SIZES), theta.reshape(-1, P), strict=True))


def margin(theta):
    return Y * np.array([x @ by_group(theta)[g] for x, g in zip(X, GROUP, strict=True)])


def log_likelihood(theta):
    return bernoulli.logpmf(1, 1 / (1 + np.exp(-margin(theta)))).sum()


def log_density(q):
    """Of all, as it should have been printed, with the Jacobian of gamma = log v."""
    theta, v = q[:-1], np.exp(q[-1])
    return (log_likelihood(theta) + norm.logpdf(theta, scale=np.sqrt(v)).sum()
            + expon.logpdf(v, scale=1 / LAM) + np.log(v))


def dense_mass(gamma, B=None):
    M = np.exp(-gamma) * np.eye(N)
    for i, g in enumerate(sorted(SIZES)):
        rows = X[GROUP == g]
        M[P * i : P * i + P, P * i : P * i + P] += rows.T @ rows / 4 if B is None else B[i]
    return M


# h^4 = 1e-12 times fifth derivatives of some 100, and 1e-14 / h of rounding
CLOSE = dict(rtol=0, atol=1e-9)


# The density


def test_U_is_minus_the_log_density():
    assert U(Q, MODEL) - U(OTHER, MODEL) == pytest.approx(
        log_density(OTHER) - log_density(Q), rel=1e-12)


def test_its_gradient_against_differences():
    np.testing.assert_allclose(grad_U(Q, MODEL), differences(lambda q: U(q, MODEL), Q), **CLOSE)


def test_the_order_of_cases_does_not_count_and_the_groups_are_sorted():
    order = np.random.default_rng(5).permutation(Y.size)
    shuffled = HierarchicalLogistic.from_data(X[order], Y[order], GROUP[order], LAM)
    assert U(Q, shuffled) == pytest.approx(U(Q, MODEL), rel=1e-13)
    for labels, theta in (([3.5, -2.0], [0.7, 0.3]), ([10, 9], [0.7, 0.3]),
                          ([True, False], [0.7, 0.3]), (["10", "9"], [0.3, 0.7])):
        two = HierarchicalLogistic.from_data([[1.0], [2.0]], [1, -1], labels)
        # case 0 has weight 0.3 and case 1 has 0.7, whatever they are called
        assert U_theta(np.array(theta), precompute_phi(np.zeros(1), two), two) == pytest.approx(
            np.log1p(np.exp([-0.3, 1.4])).sum() + (0.3**2 + 0.7**2) / 2, rel=1e-13)


def test_the_parts_of_U_add_up_and_the_conditionals_differ_from_it_by_a_constant():
    assert U_theta(THETA, AT_PHI, MODEL) + U_prior(PHI, MODEL) == pytest.approx(U(Q, MODEL),
                                                                                rel=1e-14)
    given_phi, given_theta = GivenPhi(MODEL, PHI), GivenTheta(MODEL, THETA)
    other = OTHER[:-1]
    assert U(other, given_phi) - U(THETA, given_phi) == pytest.approx(
        U(np.append(other, PHI), MODEL) - U(Q, MODEL), rel=1e-12)
    assert U(OTHER[-1:], given_theta) - U(PHI, given_theta) == pytest.approx(
        U(np.append(THETA, OTHER[-1]), MODEL) - U(Q, MODEL), rel=1e-12)
    np.testing.assert_allclose(grad_U_theta(THETA, AT_PHI, MODEL), grad_U(Q, MODEL)[:-1],
                               rtol=0, atol=1e-13)  # rounding
    np.testing.assert_allclose(grad_U_phi(AT_PHI, AT_THETA, MODEL), grad_U(Q, MODEL)[-1:],
                               rtol=0, atol=1e-13)
    assert U_phi(AT_PHI, AT_THETA, MODEL) == U(PHI, given_theta)
    assert sizes(MODEL) == (N, 1)


def test_margins_of_any_size_neither_overflow_nor_lose_digits():
    one = HierarchicalLogistic.from_data([[1.0]], [1.0], [0])
    for w, expected in ((800.0, 0.0), (-800.0, 800.0), (40.0, np.exp(-40.0)), (-1e5, 1e5)):
        assert U_theta(np.array([w]), precompute_phi(np.array([0.0]), one), one) - w**2 / 2 == (
            pytest.approx(expected, rel=1e-12, abs=1e-15 * w**2))  # rounding of the prior's part
        g = grad_U_theta(np.array([w]), precompute_phi(np.array([700.0]), one), one)
        # 1e-304 w of the prior
        assert g[0] == pytest.approx(-1 / (1 + np.exp(min(w, 700.0))), rel=1e-14, abs=1e-298)
    for w in (np.nan, np.inf):
        assert not np.isfinite(U_theta(np.array([w]), precompute_phi(np.zeros(1), one), one))


# The masses


CURVED = np.array([np.diag([i, 1.0, 2.0]) + 0.3 * i * np.ones((3, 3)) for i in range(4)])


@pytest.mark.parametrize(("curvature", "B"), [
    ("bound", None), ("prior", np.zeros((4, P, P))), (CURVED, CURVED)], ids=str)
def test_the_mass_against_dense_formulas(curvature, B):
    model = HierarchicalLogistic.from_data(X, Y, GROUP, LAM, curvature=curvature)
    for gamma in (-0.6, 2.0):
        Phi, M = precompute_phi(np.array([gamma]), model), dense_mass(gamma, B)
        root = np.column_stack([momentum_theta(e, Phi, model) for e in np.eye(N)])
        # eigenvectors are orthogonal to rounding of entries of 10
        np.testing.assert_allclose(root @ root.T, M, rtol=0, atol=1e-13)
        np.testing.assert_allclose(velocity_theta(R, Phi, model), np.linalg.solve(M, R),
                                   rtol=0, atol=1e-13)
        assert log_det_theta(Phi, model) == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-12)
        found = grad_U2(Phi, AT_THETA, R, model)
        np.testing.assert_allclose(found, differences(
            lambda phi: U(phi, H2(model, AT_THETA, R)), np.array([gamma])), **CLOSE)
        dM = -np.exp(-gamma) * np.eye(N)
        u = np.linalg.solve(M, R)
        assert found[0] == pytest.approx(
            grad_U_phi(Phi, AT_THETA, model)[0] - u @ dM @ u / 2
            + np.trace(np.linalg.solve(M, dM)) / 2, abs=1e-12)


def test_the_default_rate_of_the_prior_of_v_is_a_hundredth():
    model = HierarchicalLogistic.from_data(X, Y, GROUP)
    assert U(Q, MODEL) - U(Q, model) == pytest.approx((LAM - 0.01) * np.exp(Q[-1]), rel=1e-9)


def test_the_default_mass_of_gamma_is_half_the_number_of_weights():
    assert log_det_phi(AT_THETA, MODEL) == pytest.approx(np.log(N / 2), rel=1e-14)
    model = HierarchicalLogistic.from_data(X, Y, GROUP, mass_phi=[[9.0]])
    assert momentum_phi(np.ones(1), AT_THETA, model)[0] == 3.0
    # the curvature of -log p(w | gamma) on average: w'w / (2 v) is its own second derivative
    draws = np.random.default_rng(6).standard_normal((4000, N))
    curvature = np.sum(draws**2, axis=1) / 2
    assert abs(curvature.mean() - N / 2) < 4 * curvature.std() / np.sqrt(4000)


def test_the_hamiltonian_has_the_determinant_of_the_mass():
    r_phi = np.array([0.4])
    expected = U(Q, MODEL) + R @ np.linalg.solve(dense_mass(PHI[0]), R) / 2 + r_phi @ r_phi / N + (
        np.linalg.slogdet(dense_mass(PHI[0]))[1] + np.log(N / 2)) / 2
    assert hamiltonian(THETA, PHI, R, r_phi, MODEL) == pytest.approx(expected, rel=1e-13)


# One group


@pytest.mark.parametrize("i", range(4))
def test_a_group_given_v_against_differences(i):
    given, w = GroupGivenV(MODEL, i, 0.7), THETA[P * i : P * i + P]
    np.testing.assert_allclose(grad_U(w, given), differences(lambda w: U(w, given), w), **CLOSE)
    G = metric(w, given)
    np.testing.assert_array_equal(G, G.T)
    np.testing.assert_allclose(G, differences(lambda w: grad_U(w, given), w), **CLOSE)
    np.testing.assert_allclose(metric_gradient(w, given),
                               differences(lambda w: metric(w, given), w), **CLOSE)
    np.testing.assert_allclose(G - 0.7 * np.eye(P), information(THETA, MODEL)[i],
                               rtol=0, atol=1e-14)  # rounding


def test_the_groups_together_are_all_of_theta():
    groups = [GroupGivenV(MODEL, i, np.exp(-PHI[0])) for i in range(4)]
    parts = THETA.reshape(4, P)
    assert sum(U(w, given) for w, given in zip(parts, groups, strict=True)) == pytest.approx(
        U_theta(THETA, AT_PHI, MODEL) - N * PHI[0] / 2, rel=1e-13)
    np.testing.assert_allclose(
        np.concatenate([grad_U(w, given) for w, given in zip(parts, groups, strict=True)]),
        grad_U_theta(THETA, AT_PHI, MODEL), rtol=0, atol=1e-13)  # rounding


# The departures: each of these tests fails for the printed version


def printed(q):
    """Section 5.2, with all three factors inside both products."""
    theta, v = q[:-1], np.exp(q[-1])
    prior = {g: norm.logpdf(w, scale=np.sqrt(v)).sum() for g, w in by_group(theta).items()}
    return log_likelihood(theta) + sum(
        prior[g] + expon.logpdf(v, scale=1 / LAM) for g in GROUP.tolist()) + np.log(v)


@departs(log_density, printed)
def test_section_5_2_one_prior_a_group_and_one_of_v(log_density):
    assert U(Q, MODEL) - U(OTHER, MODEL) == pytest.approx(
        log_density(OTHER) - log_density(Q), rel=1e-12)


def without_jacobian(gamma):
    return expon.logpdf(np.exp(gamma), scale=1 / LAM)


def with_jacobian(gamma):
    return without_jacobian(gamma) + gamma


@departs(with_jacobian, without_jacobian)
def test_section_5_2_the_prior_of_gamma_is_the_exponential_of_v(log_prior):
    gamma = np.linspace(-40, 8, 4801)
    density, h = np.exp(log_prior(gamma)), gamma[1] - gamma[0]
    # by the trapezium rule, of which nothing is lost to the sides but v < e^-40
    assert (density.sum() * h) == pytest.approx(1, abs=1e-9)
    assert np.sum(np.exp(gamma) * density) * h == pytest.approx(1 / LAM, abs=1e-9)
    apart = [log_prior(a[0]) + U_prior(a, MODEL) for a in (PHI, OTHER[-1:], np.array([-9.0]))]
    np.testing.assert_allclose(apart, np.log(LAM), rtol=0, atol=1e-12)


def masses(gamma):
    """As it should be, from the model."""
    M = [np.column_stack([momentum_theta(e, precompute_phi(np.array([gamma]), MODEL), MODEL)
                          for e in np.eye(N)])]
    return (M[0] @ M[0].T).reshape(4, P, 4, P)[range(4), :, range(4)]


def printed_masses(gamma):
    """Cov(x) + exp(gamma) I."""
    return np.array([np.cov(X[GROUP == g].T, bias=True) + np.exp(gamma) * np.eye(P)
                     for g in sorted(SIZES)])


@departs(masses, printed_masses)
def test_section_5_2_the_mass_of_a_group_bounds_its_hessian(masses):
    # for all w and v; and it is attained: at w = 0
    for gamma in (-3.0, 0.0, 3.0):
        M = masses(gamma)
        for theta, size in ((THETA, 1.0), (np.zeros(N), 0.0)):
            for i in range(4):
                apart = M[i] - metric(size * theta[P * i : P * i + P],
                                      GroupGivenV(MODEL, i, np.exp(-gamma)))
                least = np.linalg.eigvalsh(apart)
                # rounding of eigenvalues of M up to 40
                assert least[0] > -1e-12 and (size or np.abs(least).max() < 1e-12)


def fisher_with_prior(w, i):
    return metric(w, GroupGivenV(MODEL, i, np.exp(-PHI[0])))


def fisher_alone(w, i):
    return information(THETA, MODEL)[i]


@departs(fisher_with_prior, fisher_alone)
def test_section_5_2_the_fisher_information_of_a_small_group_is_singular(metric):
    for i in range(4):
        assert np.linalg.eigvalsh(metric(THETA[P * i : P * i + P], i))[0] > 0.1 * np.exp(-PHI[0])


# Bad input, and small data


GOOD = dict(X=X, y=Y, group=GROUP, lam=0.1)
SPOILT = X.copy()
SPOILT[3, 1] = np.nan


@pytest.mark.parametrize(("name", "value"), [
    ("X", X[:, 0]), ("X", SPOILT), ("X", None), ("X", "data"), ("X", np.empty((0, 3))),
    ("X", X.astype(complex)), ("X", X[None]), ("X", 1e200 * X),
    ("y", Y[:-1]), ("y", 0 * Y), ("y", 2 * Y), ("y", np.full(Y.size, np.nan)), ("y", None),
    ("y", GROUP), ("y", Y[:, None]),
    ("group", GROUP[:-1]), ("group", None), ("group", "a"), ("group", GROUP[:, None]),
    ("group", np.full(Y.size, np.nan)), ("group", [None] * Y.size), ("group", [10**30] * Y.size),
    ("group", [[1], [2, 3]]), ("group", [1, "a"] * 41 + [object()]), ("group", np.full(Y.size, 1j)),
    ("lam", 0.0), ("lam", -1.0), ("lam", np.inf), ("lam", "1"), ("lam", None), ("lam", True),
    ("mass_phi", 0.0), ("mass_phi", -2.0), ("mass_phi", np.eye(2)), ("mass_phi", [[-1.0]]),
    ("mass_phi", "x"), ("mass_phi", True), ("mass_phi", np.nan),
    ("curvature", "none"), ("curvature", None), ("curvature", np.zeros((4, 3))),
    ("curvature", np.full((4, 3, 3), np.nan)), ("curvature", -CURVED), ("curvature", 3),
    ("curvature", CURVED + np.triu(np.ones((3, 3)), 1))])
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=rf"^{name}(\[\d\])? "):
        HierarchicalLogistic.from_data(**(GOOD | {name: value}))


def test_labels_may_be_strings_of_any_kind():
    for group in (GROUP.astype(object), list(GROUP), np.array([ord(g) for g in GROUP]),
                  [float(ord(g)) for g in GROUP]):
        assert U(Q, HierarchicalLogistic.from_data(X, Y, group, LAM)) == U(Q, MODEL)


def test_one_case_one_class_and_one_weight_are_sampled():
    rng = np.random.default_rng(0)
    for X_, y, group in (([[1.0]], [1], [7]), ([[1.0, 2.0]] * 3, [-1, -1, -1], ["a", "a", "b"])):
        model = HierarchicalLogistic.from_data(X_, y, group, lam=1.0)
        n = sizes(model)[0]
        for chain in (sshmc(np.zeros(n), np.zeros(1), model, 0.3, 0.6, 4, 50, rng),
                      rmhmc_within_gibbs(np.zeros(n), np.zeros(1), model, 0.3, 0.6, 3, 3, 50, rng)):
            assert chain.accepted.mean() > 0.5 and np.isfinite(chain.theta).all()


def test_infinite_energies_are_values():
    for gamma in (-800.0, 800.0):
        found = U(np.append(THETA, gamma), MODEL)
        assert not np.isfinite(found) or found > 1e300
    with pytest.raises(ValueError, match="theta0 and phi0 must be where U is finite"):
        sshmc(THETA, np.array([800.0]), MODEL, 0.1, 0.1, 1, 1, np.random.default_rng(0))


# The distribution


def test_semi_separable_hmc_keeps_exact_draws_exact():
    rng, level, chains = np.random.default_rng(21), 6.3e-5, 4000  # that of four standard errors
    group = np.repeat([0, 1, 2], [4, 1, 3])
    X_ = np.column_stack([np.ones(8), rng.standard_normal(8)])
    gammas, thetas, ys, accepted, moved = [], [], [], 0.0, 0.0
    for _ in range(chains):
        gamma = np.log(rng.exponential(1.0, 1))
        theta = np.exp(gamma / 2) * rng.standard_normal(6)
        eta = np.sum(X_ * theta.reshape(3, 2)[group], axis=1)
        y = np.where(rng.random(8) < 1 / (1 + np.exp(-eta)), 1.0, -1.0)
        model = HierarchicalLogistic.from_data(X_, y, group, lam=1.0, mass_phi=4.0)
        chain = sshmc(theta, gamma, model, 0.8, 1.6, 3, 3, rng, 1, 1, 0.2)
        accepted += chain.accepted.mean() / chains
        moved += abs(chain.phi[-1, 0] - gamma[0]) / chains
        gammas.append(chain.phi[-1, 0])
        thetas.append(chain.theta[-1])
        ys.append(y)
    assert 0.3 < accepted < 0.95 and moved > 0.3
    gammas, thetas, ys = map(np.array, (gammas, thetas, ys))
    scaled = np.exp(-gammas / 2)[:, None] * thetas
    squares = np.sum(scaled**2, axis=1)
    assert kstest(np.exp(gammas), expon.cdf).pvalue > level
    assert kstest(squares, chi2(6).cdf).pvalue > level
    u, v = norm.ppf(expon.cdf(np.exp(gammas))), norm.ppf(chi2(6).cdf(squares))
    assert kstest(np.sqrt(0.5) * (u + v), norm.cdf).pvalue > level
    for values in scaled.T:
        assert kstest(values, norm.cdf).pvalue > level
    eta = np.einsum("cj,icj->ic", X_, thetas.reshape(-1, 3, 2)[:, group])
    off = ys - np.tanh(eta / 2)  # of mean 0 given theta
    for values in (off.sum(axis=1), (off * X_[:, 1]).sum(axis=1)):
        assert abs(values.mean()) < 4 * values.std() / np.sqrt(chains)


@pytest.mark.benchmark
def test_a_gradient_against_its_reads_of_the_data():
    """1000 cases of 20 weights in 10 groups: the limit is two reads of X and one exp a case."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(10), [234, 103, 181, 280, 12, 22, 50, 9, 97, 12])
    X_ = rng.standard_normal((1000, 20))
    model = HierarchicalLogistic.from_data(X_, np.sign(rng.standard_normal(1000)), group)
    theta, Phi, r = rng.standard_normal(200), precompute_phi(np.zeros(1),
                                                             model), rng.standard_normal(200)
    eta, columns, e = rng.standard_normal(1000), np.asfortranarray(X_), np.empty(1000)

    def limit():
        for _ in range(2):
            columns.T @ eta
        np.exp(eta, out=e)

    for name, work in (("gradient", lambda: grad_U_theta(theta, Phi, model)),
                       ("velocity", lambda: velocity_theta(r, Phi, model)),
                       ("two products and 1000 exp, in NumPy", limit)):
        times = []
        for _ in range(2000):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        print(f"\n{name}: {1e6 * np.median(times):.2f} us, the call from Python included")
