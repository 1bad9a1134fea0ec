"""models/stochastic_volatility.py, and its digits where |phi| is close to 1 or sigma to 0."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.linalg import solveh_banded
from scipy.stats import beta, gamma, invgamma, norm

from departing import departs
from differences import differences
from models import interface
from models import stochastic_volatility as volatility
from models.interface import U, grad_U, grad_U_phi, precompute_phi, precompute_theta, velocity_theta
from models.stochastic_volatility import CHUNK, StochasticVolatility, derivative_of_log_determinant

mpmath.mp.dps = 60
BETA = {"beta_shape": 3.0, "beta_rate": 4.0}  # and the paper's priors of sigma and phi
PROPER = BETA | {"nu": 7.0, "tau2": 0.2, "ar_a": 5.0, "ar_b": 2.5}
# log beta, log sigma, atanh phi: as the data of the paper, negative, independent, strongly driven
PLACES = {"paper": (np.log(0.65), np.log(0.15), np.arctanh(0.98)), "negative": (0.4, 0.2, -0.7),
          "independent": (0.1, 1.0, 0.0), "stiff": (0.0, -2.5, -2.5)}
lengths = pytest.mark.parametrize("T", [1, 2, 3, 4, 5, 40, CHUNK + 1])
places = pytest.mark.parametrize("phi", [np.array(p) for p in PLACES.values()], ids=PLACES)


def problem(T, phi, seed=1, **prior):
    """A model and x, both drawn at phi; where there is more than one, y_2 is zero."""
    x, y = draw(T, phi, np.random.default_rng(seed))
    y[1:2] = 0.0
    return StochasticVolatility.from_data(y, **prior), x, y


def draw(T, phi, rng):
    b, sigma, ar = np.exp(phi[0]), np.exp(phi[1]), np.tanh(phi[2])
    x = rng.standard_normal(T) * sigma
    x[0] /= np.sqrt(1 - ar**2)
    for t in range(1, T):
        x[t] += ar * x[t - 1]
    return x, b * np.exp(x / 2) * rng.standard_normal(T)


def dense(T, phi):
    """Q, its derivative with respect to phi, and M."""
    ar, beside = np.tanh(phi[2]), np.eye(T, k=1) + np.eye(T, k=-1)
    inner = np.eye(T)
    inner[0, 0] = inner[-1, -1] = 0.0
    if T == 1:
        Q, slope = np.array([[1 - ar**2]]), np.array([[-2 * ar]])
    else:
        Q, slope = np.eye(T) + ar**2 * inner - ar * beside, 2 * ar * inner - beside
    return Q, slope, np.exp(-2 * phi[1]) * Q + np.eye(T) / 2


def minus_log_density(x, phi, y, nu=10.0, tau2=0.05, ar_a=20.0, ar_b=1.5, **_):
    """-log p(y, x, phi) with scipy's distributions, and the Jacobians; p(beta) by BETA."""
    b, sigma, ar = np.exp(phi[0]), np.exp(phi[1]), np.tanh(phi[2])
    scale = np.where(np.arange(x.size) == 0, sigma / np.sqrt(1 - ar**2), sigma)
    mean = np.concatenate([[0.0], ar * x[:-1]])
    # Inv-chi^2(nu, tau2) is the inverse gamma of nu / 2 and nu tau2 / 2
    prior = (gamma.logpdf(b, 3, scale=1 / 4) + np.log(b)
             + invgamma.logpdf(sigma**2, nu / 2, scale=nu * tau2 / 2) + np.log(2 * sigma**2)
             + beta.logpdf((ar + 1) / 2, ar_a, ar_b) + np.log((1 - ar**2) / 2))
    return -(norm.logpdf(y, 0, b * np.exp(x / 2)).sum() + norm.logpdf(x, mean, scale).sum() + prior)


@lengths
@pytest.mark.parametrize("prior", [BETA, PROPER], ids=["the paper's", "another"])
def test_the_density_is_the_papers(T, prior):
    constant = []
    for phi in map(np.array, PLACES.values()):
        model, x, y = problem(T, phi, **prior)
        constant.append(U(np.concatenate([x, phi]), model) - minus_log_density(x, phi, y, **prior))
    # of sums that reach 1e4
    np.testing.assert_allclose(constant, constant[0], rtol=0, atol=1e-9)


@departs((), (None, 1.0, 1.0))  # what from_data is given besides y: nothing, or Exp(1)
def test_the_prior_of_log_beta_is_flat(arguments):
    model = StochasticVolatility.from_data([1.0], *arguments)
    assert len({interface.U_prior(np.array([b, -1.0, 1.0]), model) for b in (-1.0, 0.0, 2.0)}) == 1


@lengths
@places
def test_the_momentum_has_covariance_M(T, phi):
    model = problem(T, phi)[0]
    Phi = precompute_phi(phi, model)
    L = np.array([interface.momentum_theta(e, Phi, model) for e in np.eye(T)]).T
    M = dense(T, phi)[2]
    np.testing.assert_allclose(L @ L.T, M, rtol=0, atol=1e-14 * np.abs(M).max())


@pytest.mark.parametrize("T", [2000, 2001])
@pytest.mark.parametrize(("sigma", "ar"), [(0.15, 0.98), (0.01, 0.9999), (0.001, 0.9999),
                                           (0.001, -0.9999), (1e-6, 1 - 1e-12), (50.0, 0.5)])
def test_long_series_by_a_banded_solver(T, sigma, ar):
    phi = np.array([0.0, np.log(sigma), np.arctanh(ar)])
    model = StochasticVolatility.from_data(np.ones(T))
    Phi, r = precompute_phi(phi, model), np.abs(np.random.default_rng(4).standard_normal(T))
    C = Phi.C
    diagonal = np.full(T, C.precision * (1 + C.ar**2) + 0.5)
    diagonal[[0, -1]] = C.precision + 0.5
    w = solveh_banded(np.array([np.full(T, -C.precision * C.ar), diagonal]), r)
    # the banded solver's own rounding: the matrix has condition number 8 / sigma^2 at most
    np.testing.assert_allclose(velocity_theta(r, Phi, model), w, rtol=1e-15 * (100 + 8 / sigma**2))
    pivots = 1 / Phi.inverse  # here all are computed, there in closed form
    total = (np.log(pivots).sum() + np.log(pivots[: T - 1 - T // 2]).sum() + np.log(Phi.middle))
    assert interface.log_det_theta(Phi, model) == pytest.approx(total, rel=1e-13)


def exactly(T, log_sigma, alpha, r):
    """log |M|, its derivatives by log sigma and atanh phi, and M^-1 r, all to 60 digits."""
    def elimination(g, a):
        ar, q, half = mpmath.tanh(a), mpmath.exp(-2 * g), mpmath.mpf(1) / 2
        if T == 1:
            return [q * (1 - ar**2) + half], 0
        d = [q + half, *[q * (1 + ar**2) + half] * (T - 2), q + half]
        for t in range(1, T):
            d[t] -= (q * ar)**2 / d[t - 1]
        return d, q * ar

    def log_det(g, a):
        return mpmath.fsum(map(mpmath.log, elimination(g, a)[0]))

    g, a = mpmath.mpf(log_sigma), mpmath.mpf(alpha)
    d, c = elimination(g, a)
    w = [mpmath.mpf(v) for v in r]
    for t in range(1, T):
        w[t] += c / d[t - 1] * w[t - 1]
    w[-1] /= d[-1]
    for t in range(T - 2, -1, -1):
        w[t] = (w[t] + c * w[t + 1]) / d[t]
    return (log_det(g, a), mpmath.diff(lambda v: log_det(v, a), g),
            mpmath.diff(lambda v: log_det(g, v), a), w)


@pytest.mark.parametrize("T", [1, 2, 9])
@pytest.mark.parametrize("log_sigma", [3.0, -1.9, -60.0])
@pytest.mark.parametrize("alpha", [0.0, 1e-9, 2.3, -5.0, 20.0, -40.0])
def test_no_digit_is_lost(T, log_sigma, alpha):
    r, model = np.arange(1.0, T + 1), StochasticVolatility.from_data(np.ones(T))
    Phi = precompute_phi(np.array([0.0, log_sigma, alpha]), model)
    C, P = Phi.C, Phi.P
    value, by_sigma, by_alpha, w = exactly(T, log_sigma, alpha, r)
    # exp(-2 log sigma) itself keeps 1e-16 times log sigma
    assert interface.log_det_theta(Phi, model) == pytest.approx(float(value), rel=1e-14, abs=1e-14)
    assert derivative_of_log_determinant(C, P, T, -2 * C.precision, 0.0) == pytest.approx(
        float(by_sigma), rel=1e-13, abs=1e-13)
    assert derivative_of_log_determinant(C, P, T, 0.0, C.side * C.product) == pytest.approx(
        float(by_alpha), rel=1e-13, abs=1e-13)
    if alpha >= 0:  # otherwise terms of both signs may cancel
        ours = velocity_theta(r, Phi, model)
        assert max(abs(a / b - 1) for a, b in zip(ours, w, strict=True)) < 5e-14


@pytest.mark.parametrize("alpha", [25.0, -25.0])
def test_the_quadratic_form_close_to_a_random_walk(alpha):
    # 1 - |phi| is 4e-22: in phi itself, which is 1, nothing is left of it
    x = np.array([1e5, 1e5 + 1e-3, 1e5 - 2e-3, 1e5]) * np.sign(alpha)**np.arange(4)
    model, phi = StochasticVolatility.from_data(np.ones(4)), np.array([0.0, -9.0, alpha])
    ar, q = mpmath.tanh(mpmath.mpf(alpha)), mpmath.exp(mpmath.mpf(18))
    v = [mpmath.mpf(float(t)) for t in x]
    steps = [b - ar * a for a, b in pairwise(v)]
    form = (1 - ar**2) * v[0]**2 + sum(s**2 for s in steps)
    by_ar = -2 * ar * v[0]**2 - 2 * sum(a * s for a, s in zip(v, steps, strict=False))
    energy = q * form / 2 - 36 - mpmath.log(1 - ar**2) / 2 + sum(v) / 2 + sum(
        mpmath.exp(-t) for t in v) / 2
    Phi, Theta = precompute_phi(phi, model), precompute_theta(x, model)
    if alpha > 0:  # at x = -1e5 the likelihood is 0
        assert interface.U_theta(x, Phi, model) == pytest.approx(float(energy), rel=1e-9)
    g = grad_U_phi(Phi, Theta, model)
    assert g[1] == pytest.approx(float(4 - q * form + 10 - 0.5 * q), rel=1e-9)
    slope = ar + q * (1 - ar**2) * by_ar / 2 - (20 * (1 - ar) - 1.5 * (1 + ar))
    assert g[2] == pytest.approx(float(slope), rel=1e-9)  # 1e5 +- 1e-3 has 1e-16 1e5 / 1e-3 = 1e-8


def test_a_zero_observation_has_its_likelihood():
    # -log N(0; 0, beta^2 e^x) is x / 2 + log beta, also where exp(-x) overflows
    model = StochasticVolatility.from_data([0.0, 1.0])
    Phi = precompute_phi(np.array([0.3, 0.0, 0.0]), model)
    at = [interface.U_theta(np.array([x, 0.0]), Phi, model) for x in (0.0, -800.0)]
    assert at[1] - at[0] == pytest.approx(-400.0 + 800.0**2 / 2, rel=1e-14)
    assert interface.grad_U_theta(np.array([-800.0, 0.0]), Phi, model)[0] == 0.5 - 800.0


@pytest.mark.parametrize("scale", [1e-160, 1e-3, 1e200])
def test_the_unit_of_the_observations_does_not_matter(scale):
    y, x, phi = np.array([0.3, -2.0, 0.0]), np.array([0.5, -0.2, 0.1]), np.array([0.2, -1.0, 1.0])
    moved = phi + np.array([np.log(scale), 0.0, 0.0])
    one, other = (StochasticVolatility.from_data(v) for v in (y, scale * y))
    # log scale, up to 460, is added and taken away
    assert (U(np.concatenate([x, moved]), other) - 3 * np.log(scale)
            == pytest.approx(U(np.concatenate([x, phi]), one), rel=1e-12))
    np.testing.assert_allclose(grad_U(np.concatenate([x, moved]), other),
                               grad_U(np.concatenate([x, phi]), one), rtol=1e-12)


# y_t^2 at its mean, and data of some other size
@departs(lambda x, b: b * np.exp(x / 2), lambda x, b: np.array([1.0, -0.2, 2.0, 0.5]))
def test_section_5_3_the_mass_of_x_is_the_expected_hessian(y):
    x, phi = np.array([0.4, -1.0, 0.7, 0.1]), np.array(PLACES["negative"])
    model = StochasticVolatility.from_data(y(x, np.exp(phi[0])))
    Phi = precompute_phi(phi, model)
    H = differences(lambda v: interface.grad_U_theta(v, Phi, model), x)
    np.testing.assert_allclose(H, dense(4, phi)[2], rtol=0, atol=1e-8)  # the differences


@lengths
@places
def test_the_metric_of_the_hyperparameters_is_fishers(T, phi):
    # the sums that U depends on at their means given phi: its second derivatives are the metric
    model = StochasticVolatility.from_data(np.ones(T), **PROPER)
    K = np.exp(2 * phi[1]) * np.linalg.inv(dense(T, phi)[0])  # covariance of x
    first, last, body = K[0, 0], K[-1, -1], np.trace(K) - K[-1, -1]
    around, cross = body + np.trace(K) - first, 2 * np.trace(K, 1)
    S = volatility.squares(np.zeros(T))._replace(first=first, last=last, body=body,
                                                 rises=around - cross, sums=around + cross)
    mean = volatility.VolatilityTheta(np.zeros(T), T * np.exp(2 * phi[0]), S)
    given = interface.GivenTheta(model, np.zeros(T))
    H = differences(lambda p: grad_U_phi(precompute_phi(p, model), mean, model), phi)
    # differences
    np.testing.assert_allclose(interface.metric(phi, given), H, rtol=1e-8, atol=1e-8 * T)
