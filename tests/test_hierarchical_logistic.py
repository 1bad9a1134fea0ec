"""models/hierarchical_logistic.py against dense formulas, written from the data as given."""

import numpy as np
import pytest
from scipy.stats import bernoulli, expon, norm

from departing import departs
from differences import differences
from models import interface
from models.hierarchical_logistic import GroupGivenV, HierarchicalLogistic, information
from models.interface import U, U_prior, U_theta, grad_U, grad_U_theta, metric, precompute_phi

LAM = 0.4
SIZES = {"b": 40, "a": 1, "d": 7, "c": 35}  # more and fewer than a block of cases
P = 3


def data(seed=0):
    """Cases in no order; all of group d are of one class."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(list(SIZES), list(SIZES.values())))
    X = np.column_stack([np.ones(group.size), rng.standard_normal((group.size, P - 1))])
    return X, np.where((rng.random(group.size) < 0.6) | (group == "d"), 1.0, -1.0), group


X, Y, GROUP = data()
MODEL = HierarchicalLogistic.from_data(X, Y, GROUP, LAM)
N = P * len(SIZES)
THETA = np.random.default_rng(1).standard_normal(N)
PHI = np.array([-0.6])
Q = np.append(THETA, PHI)
OTHER = np.append(np.random.default_rng(2).standard_normal(N), 0.9)
AT_PHI = precompute_phi(PHI, MODEL)


def by_group(theta):
    """The weights of each group, in the sorted order of labels."""
    return dict(zip(sorted(SIZES), theta.reshape(-1, P), strict=True))


def log_likelihood(theta):
    margin = Y * np.array([x @ by_group(theta)[g] for x, g in zip(X, GROUP, strict=True)])
    return bernoulli.logpmf(1, 1 / (1 + np.exp(-margin))).sum()


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


def mass_of(model, gamma):
    Phi = precompute_phi(np.array([gamma]), model)
    root = np.column_stack([interface.momentum_theta(e, Phi, model) for e in np.eye(N)])
    return root @ root.T


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


CURVED = np.array([np.diag([i, 1.0, 2.0]) + 0.3 * i * np.ones((3, 3)) for i in range(4)])


@pytest.mark.parametrize(("curvature", "B"), [
    ("bound", None), ("prior", np.zeros((4, P, P))), (CURVED, CURVED)], ids=str)
def test_the_mass_against_dense_formulas(curvature, B):
    model = HierarchicalLogistic.from_data(X, Y, GROUP, LAM, curvature=curvature)
    for gamma in (-0.6, 2.0):  # eigenvectors are orthogonal to rounding of entries of 10
        np.testing.assert_allclose(mass_of(model, gamma), dense_mass(gamma, B), rtol=0, atol=1e-13)
    # of gamma: the information in weights ~ N(0, e^gamma), of which each has 1/2
    np.testing.assert_allclose(model.L_phi**2, [[N / 2]], rtol=1e-15)


@pytest.mark.parametrize("i", range(4))
def test_the_metric_of_a_group_given_v_is_its_hessian(i):
    given, w = GroupGivenV(MODEL, i, 0.7), THETA[P * i : P * i + P]
    # h^4 = 1e-12 times fifth derivatives of some 100, and 1e-14 / h of rounding
    np.testing.assert_allclose(metric(w, given), differences(lambda w: grad_U(w, given), w),
                               rtol=0, atol=1e-9)
    np.testing.assert_allclose(information(THETA, MODEL)[i] + 0.7 * np.eye(P), metric(w, given),
                               rtol=0, atol=1e-14)  # rounding


def test_the_groups_together_are_all_of_theta():
    groups, parts = [GroupGivenV(MODEL, i, np.exp(-PHI[0])) for i in range(4)], THETA.reshape(4, P)
    assert sum(U(w, given) for w, given in zip(parts, groups, strict=True)) == pytest.approx(
        U_theta(THETA, AT_PHI, MODEL) - N * PHI[0] / 2, rel=1e-13)
    np.testing.assert_allclose(
        np.concatenate([grad_U(w, given) for w, given in zip(parts, groups, strict=True)]),
        grad_U_theta(THETA, AT_PHI, MODEL), rtol=0, atol=1e-13)  # rounding


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


@departs(lambda gamma: expon.logpdf(np.exp(gamma), scale=1 / LAM) + gamma,
         lambda gamma: expon.logpdf(np.exp(gamma), scale=1 / LAM))
def test_section_5_2_the_prior_of_gamma_is_the_exponential_of_v(log_prior):
    gamma = np.linspace(-40, 8, 4801)
    density, h = np.exp(log_prior(gamma)), gamma[1] - gamma[0]
    # by the trapezium rule, of which nothing is lost to the sides but v < e^-40
    assert (density.sum() * h) == pytest.approx(1, abs=1e-9)
    assert np.sum(np.exp(gamma) * density) * h == pytest.approx(1 / LAM, abs=1e-9)
    apart = [log_prior(a[0]) + U_prior(a, MODEL) for a in (PHI, OTHER[-1:], np.array([-9.0]))]
    np.testing.assert_allclose(apart, np.log(LAM), rtol=0, atol=1e-12)


@departs(lambda gamma: mass_of(MODEL, gamma).reshape(4, P, 4, P)[range(4), :, range(4)],
         lambda gamma: np.array([np.cov(X[GROUP == g].T, bias=True) + np.exp(gamma) * np.eye(P)
                                 for g in sorted(SIZES)]))
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


@departs(lambda w, i: metric(w, GroupGivenV(MODEL, i, np.exp(-PHI[0]))),
         lambda w, i: information(THETA, MODEL)[i])
def test_section_5_2_the_fisher_information_of_a_small_group_is_singular(metric):
    for i in range(4):
        assert np.linalg.eigvalsh(metric(THETA[P * i : P * i + P], i))[0] > 0.1 * np.exp(-PHI[0])
