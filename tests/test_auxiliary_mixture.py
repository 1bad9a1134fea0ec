"""algorithms/rivals/auxiliary_mixture.py: the mixture, each conditional, and their order."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma
from scipy.stats import chi2, gamma, norm

from algorithms.rivals import auxiliary_mixture as mixture
from algorithms.rivals.auxiliary_mixture import V2, GivenZ, M, P, auxiliary_mixture_step, log_weight
from departing import departs
from models.interface import U, U_prior, U_theta, precompute_phi, prepare
from models.stochastic_volatility import StochasticVolatility, coefficients, squares
from test_stochastic_volatility import PLACES, PROPER, dense, draw

W = np.array([0.3, 0.3, 0.5])
PHI = np.array(PLACES["negative"])
X, Y = draw(6, PHI, np.random.default_rng(1))
MODEL = StochasticVolatility.from_data(Y, **PROPER)
XI = np.log(Y**2) - 2 * PHI[0] - X


def log_exact(xi):
    """Log density of the log of a chi^2 variable of one degree of freedom."""
    return chi2(1).logpdf(np.exp(xi)) + xi


def shares(xi):
    return P * norm.pdf(np.asarray(xi)[:, None], M, np.sqrt(V2))


def test_the_mixture_is_close_to_the_log_of_a_chi_squared():
    # the sum and two moments of ten normals, and half the integral of |difference|: of digits that
    # are exchanged in the table three in four are seen
    xi, mean = np.linspace(-60.0, 10.0, 70_001), P @ M
    assert P.sum() == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(digamma(0.5) + np.log(2), abs=1e-4)
    assert P @ (V2 + M**2) - mean**2 == pytest.approx(np.pi**2 / 2, abs=1.2e-3)
    assert np.abs(shares(xi).sum(axis=1) - np.exp(log_exact(xi))).sum() * 1e-3 / 2 < 9.1e-4


def test_the_weight_is_the_ratio_of_the_densities():
    expected = (log_exact(XI) - np.log(shares(XI).sum(axis=1))).sum()
    also = mixture.indicators(X, PHI[0], MODEL, np.random.default_rng(0))[1]
    assert [log_weight(X, PHI[0], MODEL), also] == pytest.approx([expected] * 2, abs=1e-11)


@pytest.mark.parametrize("far", [-200.0, 200.0])
def test_far_out_the_weight_is_a_number(far):
    x = X.copy()
    x[2] -= far
    xi = XI[2] + far
    closest = np.max(np.log(P) + norm.logpdf(xi, M, np.sqrt(V2)))  # all others underflow
    assert log_weight(x, PHI[0], MODEL) - log_weight(X, PHI[0], MODEL) == pytest.approx(
        xi / 2 - np.exp(xi) / 2 - np.log(2 * np.pi) / 2 - closest
        - log_exact(XI[2]) + np.log(shares(XI[2:3]).sum()), rel=1e-12)


def test_indicators_have_their_conditional_probabilities():
    rng, n, found = np.random.default_rng(2), 4000, np.zeros((X.size, P.size))
    for _ in range(n):
        found[np.arange(X.size), mixture.indicators(X, PHI[0], MODEL, rng)[0]] += 1 / n
    p = shares(XI) / shares(XI).sum(axis=1, keepdims=True)
    # 4.5 standard errors, of 60 frequencies; two counts more where hardly any is expected
    assert (np.abs(found - p) < 4.5 * np.sqrt(p * (1 - p) / n) + 2 / n).all()


@pytest.mark.parametrize("T", [1, 2, 3, 7])
@pytest.mark.parametrize("place", PLACES)
def test_x_given_indicators_is_normal(T, place):
    phi, rng = np.array(PLACES[place]), np.random.default_rng(3)
    _, y = draw(T, phi, rng)
    s = rng.integers(10, size=T)

    def drawn(z):
        return mixture.draw_x.py_func(s, phi, StochasticVolatility.from_data(y),
                                      SimpleNamespace(standard_normal=lambda n: z))

    A = np.exp(-2 * phi[1]) * dense(T, phi)[0] + np.diag(1 / V2[s])
    mean = np.linalg.solve(A, (np.log(y**2) - 2 * phi[0] - M[s]) / V2[s])
    root = np.array([drawn(e) - drawn(np.zeros(T)) for e in np.eye(T)])
    # rounding, with condition numbers to 1e4
    np.testing.assert_allclose(drawn(np.zeros(T)), mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(root.T @ root, np.linalg.inv(A), rtol=0, atol=1e-11)


@departs(auxiliary_mixture_step, {"L3": """
    error = log_w - log_weight(proposal, phi[0], model)
    accepted = rng.random() < 2.0
    if accepted:
        x = proposal"""})
def test_a_draw_is_taken_by_the_ratio_of_the_exact_density_to_the_mixture(step):
    # at xi = -30 the mixture has e^-8.8 of the density: nearly every draw is from elsewhere
    x = X.copy()
    x[2] += XI[2] + 30.0
    model = StochasticVolatility.from_data(Y)
    assert log_weight(x, PHI[0], model) == pytest.approx(8.8, abs=0.2)  # .05 from each other
    for seed in range(20):
        assert not step(x, PHI, model, W, 5, np.zeros(4, int), np.random.default_rng(seed))[2]


@pytest.mark.parametrize("T", [1, 2, 6])
def test_atanh_phi_given_x_has_sigma_integrated_out(T):
    x, model = X[:T], StochasticVolatility.from_data(Y[:T], **PROPER)
    given = mixture.GivenX(squares(x), model)

    def marginal(alpha):
        def density(gamma):
            phi = np.array([0.1, gamma, alpha])
            return np.exp(-U_theta(x, precompute_phi(phi, model), model) - U_prior(phi, model)
                          + 5 * T)

        return -np.log(quad(density, -4, 5, epsabs=0, epsrel=1e-11)[0])

    ours, theirs = np.diff([(U(np.array([alpha]), given), marginal(alpha))
                            for alpha in (-1.5, 0.1, 0.4, 1.2)], axis=0).T
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)  # of quadrature


def test_log_beta_and_log_sigma_given_z_have_the_density_of_the_posterior():
    z = X / np.exp(PHI[1])
    given = GivenZ(z, z.sum(), MODEL)
    apart = [U(np.array([b, log_sigma]), given) + log_sigma * z.size  # dx = sigma^T dz
             - U(np.concatenate([np.exp(log_sigma) * z, [b, log_sigma, PHI[2]]]), MODEL)
             for b, log_sigma in ((0.4, 0.2), (-0.3, 0.2), (0.1, -1.0), (0.9, 1.1))]
    np.testing.assert_allclose(np.diff(apart), 0, rtol=0, atol=1e-11)  # rounding


@pytest.mark.parametrize("T", [1, 2, 3, 8])
@pytest.mark.parametrize("place", PLACES)
def test_sums_by_Q_are_those_of_the_matrix(T, place):
    phi, h = np.array(PLACES[place]), np.linspace(-1, 2, T)
    Q = dense(T, phi)[0]
    np.testing.assert_allclose(mixture.sums_by_Q(h, coefficients(phi)),
                               (Q.sum(), Q.sum(axis=0) @ h), rtol=0, atol=1e-12)  # rounding


@pytest.mark.parametrize("x_moves", [True, False])
@pytest.mark.parametrize("mu_moves", [True, False])
def test_a_step_is_its_draws_in_turn(x_moves, mu_moves, monkeypatch):
    asked, proposal, alpha = [], X + 0.2, PHI[2] + 0.1

    def moved(cache, k, given, w, max_widths, tally, rng):
        asked.append((cache.q, k, given, w, max_widths))
        return prepare(cache.q + 0.1 * np.eye(cache.q.size)[k], given)

    monkeypatch.setattr(mixture, "slice_update", moved)
    monkeypatch.setattr(mixture, "indicators", lambda *_: (None, 0.0))
    monkeypatch.setattr(mixture, "draw_x", lambda *_: proposal)
    monkeypatch.setattr(mixture, "log_weight", lambda *_: -0.3)
    x, Q = proposal if x_moves else X, dense(6, np.array([0.0, 0.0, alpha]))[0]
    sigma = np.sqrt((7.0 * 0.2 + x @ Q @ x) / 2 / 1.7)
    new = Q.sum(axis=0) @ (x + 2 * PHI[0]) / Q.sum() + sigma / np.sqrt(Q.sum()) * 0.6
    b = np.array([PHI[0], new / 2])
    ratio = np.exp(np.diff(gamma.logpdf(np.exp(b), 3.0, scale=1 / 4) + b)[0])
    assert ratio < 0.9
    uniforms = iter([np.exp(-0.3) * (0.999 if x_moves else 1.001),
                     ratio * (0.999 if mu_moves else 1.001)])
    rng = SimpleNamespace(random=lambda: next(uniforms), standard_normal=lambda: 0.6,
                          standard_gamma=lambda shape: 1.7 * shape / 6.5)  # (T + nu) / 2
    there, phi, accepted, *_ = auxiliary_mixture_step.py_func(
        X, PHI, MODEL, np.array([0.1, 0.2, 0.4]), 7, np.zeros(4, int), rng)
    b = b[int(mu_moves)]
    z = (x + 2 * (PHI[0] - b)) / sigma
    assert accepted == x_moves
    S, last = mixture.GivenX(squares(x), MODEL), GivenZ(z, z.sum(), MODEL)
    for found, wanted in zip(asked, (
            ([PHI[2]], 0, S, 0.4, 7), ([b, np.log(sigma)], 0, last, 0.1, 7),
            ([b + 0.1, np.log(sigma)], 1, last, 0.2, 7)), strict=True):
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
        assert type(found[2]) is type(wanted[2])
        np.testing.assert_allclose(U(found[0], found[2]), U(found[0], wanted[2]), rtol=1e-12)
        assert found[1::2] == wanted[1::2] and found[4] == wanted[4]
    np.testing.assert_allclose(phi, [b + 0.1, np.log(sigma) + 0.1, alpha], rtol=1e-12)
    np.testing.assert_allclose(there, np.exp(phi[1]) * z, rtol=1e-12)


def test_the_record_is_that_of_its_steps():
    # exp overflows where log sigma is thousands away: some energies are not finite
    ours, theirs, wide = *(np.random.default_rng(6) for _ in range(2)), np.array([0.3, 5e3, 0.5])
    chain = mixture.auxiliary_mixture(X, PHI, MODEL, 12, ours, wide, 1, keep=[0, 3])
    x, phi, tally, conditional, others = X, PHI, np.zeros(4, int), 0, 0
    for t in range(12):
        x, phi, accepted, evaluations, bad = auxiliary_mixture_step(x, phi, MODEL, wide, 1, tally,
                                                                    theirs)
        np.testing.assert_array_equal(chain.theta[t], x[[0, 3]])
        np.testing.assert_array_equal(chain.phi[t], phi)
        assert chain.accepted[t] == accepted
        assert chain.energies[t] == pytest.approx(U(np.append(x, phi), MODEL), abs=1e-10)
        conditional, others = conditional + evaluations, others + bad
    assert chain.counts == (24, 12, tally[0], conditional, others + tally[3])
    assert tally[0] >= 12 * 3 and conditional >= 12 * 2  # a slice has a point or more
    assert chain.divergences == chain.counts.not_finite > 5
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_a_draw_that_is_not_finite_is_not_taken():
    phi = np.array([0.1, -800.0, 0.3])  # 1 / sigma^2 overflows
    for seed in range(5):
        x, there, accepted, _, bad = auxiliary_mixture_step.py_func(
            X, phi, MODEL, W, 5, np.zeros(4, int), np.random.default_rng(seed))
        assert not accepted and bad == 1 and np.isfinite([*x, *there]).all()
