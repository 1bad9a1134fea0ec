"""What each sampler that asks for gradients, or for a hierarchical model, leaves as it is.

Chains start at exact draws of parameters and data, as in J. Geweke (2004), "Getting It Right",
JASA 99, or are long and compared with exact moments.
"""

import numpy as np
import pytest
from scipy.stats import chi2, expon, kstest, norm

from algorithms.hmc import hmc
from algorithms.map_estimate import map_estimate
from algorithms.paquet_rmhmc import rmhmc
from algorithms.rivals.auxiliary_mixture import auxiliary_mixture
from algorithms.rivals.polya_gamma_gibbs import polya_gamma_gibbs
from algorithms.rivals.surrogate_slice import surrogate_slice
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.shahbaba_split_hmc import split_data
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc
from algorithms.zhang_sshmc_fast import sshmc
from coupled import VARIANCES, coupled
from coupled import exact_draw as coupled_draw
from models.gaussian import Gaussian
from models.gp_classification import GPClassification
from models.hierarchical_logistic import HierarchicalLogistic
from models.log_gaussian_cox import LogGaussianCox
from models.logistic_regression import LogisticRegression
from models.stochastic_volatility import StochasticVolatility
from test_log_gaussian_cox import dense
from test_polya_gamma_gibbs import sum_of_gammas
from test_samplers import LEVEL
from test_stochastic_volatility import PROPER, draw


def agree(values, exact, batches):
    """Assert that the means of (n, k) are `exact` by four standard errors, of batches."""
    means = values.reshape(batches, -1, values.shape[1]).mean(axis=1)
    assert (np.abs(means.mean(axis=0) - exact) * batches**0.5 < 4 * means.std(0, ddof=1)).all()


def five(x):
    return np.column_stack([x, x**2, x[:, 0] * x[:, 1]])


def stay(before, after):
    """Assert that no mean of (n, k) has moved, by four standard errors; (n, k) -> how far each."""
    moved = np.array(after) - before
    assert (np.abs(moved.mean(axis=0)) < 4 * moved.std(axis=0) / len(moved)**0.5).all()
    return moved.std(axis=0) / np.std(before, axis=0)


@pytest.mark.parametrize(("M", "L", "jitter"), [
    (None, 2, 0.8), (np.array([[1.5, 0.4], [0.4, 0.8]]), 1, 0.0)])
def test_hmc_of_large_steps_samples_the_gaussian(M, L, jitter):
    # acceptance about one half: with half of H the variance is far off
    model = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
    chain = hmc(model.mean, model, 1.25, L, 100_000, np.random.default_rng(3), M, jitter)
    assert 0.3 < chain.accepted.mean() < 0.95
    S = np.linalg.inv(model.precision)
    agree(five(chain.samples - model.mean), [0, 0, S[0, 0], S[1, 1], S[0, 1]], 200)


def test_both_splits_have_the_moments_of_a_quadrature_grid():
    # a step that were drawn inside of the trajectory, with this jitter, would be off by 8 errors
    rng, y = np.random.default_rng(15), np.arange(8) % 3 > 0
    X = np.random.default_rng(16).standard_normal((8, 1))
    model, axis = LogisticRegression.from_data(X, y, 1.0, 2.0), np.linspace(-9.0, 9.0, 601)
    theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    eta = theta @ np.column_stack([np.ones(8), X]).T
    weight = np.exp(-theta**2 @ [1 / 2, 1 / 8] - np.logaddexp(0, np.where(y, -eta, eta)).sum(1))
    fit = map_estimate(model)
    for chain in (normal_split_hmc(fit.q, model, fit, 2.2, 3, 100_000, rng, jitter=0.9),
                  data_split_hmc(fit.q, model, split_data(model, fit.q, 0.4), 2.2, 3, 2, 100_000,
                                 rng, jitter=0.9)):
        assert 0.3 < chain.accepted.mean() < 0.95  # enough rejections for the test to need them
        agree(five(chain.samples), weight @ five(theta) / weight.sum(), 200)


def test_rmhmc_of_latent_values_whose_labels_are_drawn_anew_has_their_prior():
    K, rng, xs = np.array([[2.0, 1.2], [1.2, 1.5]]), np.random.default_rng(11), []
    x = np.linalg.cholesky(K) @ rng.standard_normal(2)
    for _ in range(10_000):
        y = np.where(rng.random(2) < norm.cdf(x), 1.0, -1.0)
        x = rmhmc(x, GPClassification.from_prior(K, y), 3, 0.5, 1, rng, 10).samples[0]
        xs.append(x)
    xs = np.array(xs)
    agree(np.column_stack([five(xs), xs[:, 0]**4]), [0, 0, 2.0, 1.5, 1.2, 12.0], 100)


@pytest.mark.parametrize(("run", "chains"), [
    (lambda *of: polya_gamma_gibbs(*of[:3], sum_of_gammas, 2, of[3], 1.0), 2000),
    (lambda *of: rmhmc_within_gibbs(*of[:3], 1.1, 1.6, 2, 2, 3, of[3], 0.2, tol=1e-10,
                                    tol_back=1e-6), 1500)], ids=["polya gamma", "rmhmc"])
def test_a_hierarchical_logistic_regression_stays_as_it_is(run, chains):
    rng, group = np.random.default_rng(21), np.repeat([0, 1, 2], [4, 1, 3])
    X = np.column_stack([np.ones(8), rng.standard_normal(8)])
    laws, off, accepted, moved = [], [], 0.0, 0.0
    for _ in range(chains):
        start = np.log(rng.exponential(1.0, 1))
        w = np.exp(start / 2) * rng.standard_normal(6)
        y = np.where(rng.random(8) < 1 / (1 + np.exp(-(X * w.reshape(3, 2)[group]).sum(axis=1))),
                     1.0, -1.0)
        model = HierarchicalLogistic.from_data(X, y, group, lam=1.0, mass_phi=4.0)
        chain = run(w, start, model, rng)
        accepted += chain.accepted.mean(axis=0) / chains
        moved += abs(chain.phi[-1, 0] - start[0]) / chains
        theta, (gamma,) = chain.theta[-1], chain.phi[-1]
        # theta still goes with its data: y - E[y | theta] has mean 0, given theta
        off.append((y - np.tanh((X * theta.reshape(3, 2)[group]).sum(axis=1) / 2)) @ X)
        scaled = np.exp(-gamma / 2) * theta
        u, v = norm.ppf([expon.cdf(np.exp(gamma)), chi2(6).cdf(scaled @ scaled)])
        laws.append([*scaled, u, v, (u + v) / 2**0.5])
    assert moved > 0.3  # or this would see nothing
    assert (0.3 < accepted).all() and ((accepted < 0.97).all() or chain.accepted.all())
    for values in np.transpose(laws):
        assert kstest(values, norm.cdf).pvalue > LEVEL
    agree(np.array(off), 0.0, chains)


def test_sshmc_leaves_a_model_whose_masses_vary_as_it_is():
    rng, n, chains = np.random.default_rng(12), 3, 4000
    found, accepted, moved = np.empty((chains, 4)), 0, 0.0
    for c in range(chains):
        theta, phi, y = coupled_draw(n, rng)
        chain = sshmc(theta, phi, coupled(y), 0.7, 1.4, 2, 3, rng, 1, 1, 0.2)
        moved += np.abs(chain.phi[-1] - phi)
        accepted += chain.accepted.sum()
        theta, phi = chain.theta[-1], chain.phi[-1]
        found[c] = (*(phi / np.sqrt(VARIANCES)), np.sqrt(n) * np.mean(y - theta),
                    np.sqrt(n) * np.exp(phi[1] / 2) * np.mean(theta - phi[0]))
    assert 0.3 < accepted / (3 * chains) < 0.95 and (moved / chains > 0.2).all()
    for values in (*found.T, *np.sqrt(0.5) * (found[:, [0, 0, 1]] + found[:, [1, 3, 2]]).T):
        assert kstest(values, norm.cdf).pvalue > LEVEL


def of_volatility(x, phi, y):
    """Functions of the joint state whose moments exist, of every part of the model."""
    b, g, a = phi
    d, spread = x[1:] - np.tanh(a) * x[:-1], np.exp(g) * np.cosh(a)  # the deviation of x_t
    return [b, g, a, b * b, g * g, a * a, b * g, g * a, x.mean() / spread,
            np.sum(y**2 * np.exp(-x)) * np.exp(-2 * b),
            np.exp(-2 * g) * ((1 - np.tanh(a)**2) * x[0]**2 + d @ d), x[0] * x[1] / spread**2]


def test_the_auxiliary_mixture_leaves_volatilities_as_they_are():
    rng, before, after, accepted = np.random.default_rng(7), [], [], []
    for _ in range(3000):
        phi = np.array([np.log(rng.gamma(PROPER["beta_shape"]) / PROPER["beta_rate"]),
                        np.log(PROPER["nu"] * PROPER["tau2"] / rng.chisquare(PROPER["nu"])) / 2,
                        np.arctanh(2 * rng.beta(PROPER["ar_a"], PROPER["ar_b"]) - 1)])
        x, y = draw(5, phi, rng)
        chain = auxiliary_mixture(x, phi, StochasticVolatility.from_data(y, **PROPER), 2, rng,
                                  np.array([0.3, 0.3, 0.5]))
        before.append(of_volatility(x, phi, y))
        after.append(of_volatility(chain.theta[-1], chain.phi[-1], y))
        accepted.append(chain.accepted.mean())
    assert (stay(before, after) > 0.5).all() and np.mean(accepted) > 0.9  # of five observations


def of_counts(x, phi, model):
    z = x - model.mu
    return [*phi, *phi**2, phi[0] * phi[1], z.mean(), z @ z, z[0] * z[1], z @ z * phi[0],
            z[0] * z[1] * phi[1], z @ np.log(model.counts + 1.0), model.counts.max() * phi[0]]


def test_surrogate_slices_leave_a_log_gaussian_cox_process_as_it_is():
    # little noise, wide brackets and a single ellipse: x has to follow phi in line 8 itself
    rng, before, after = np.random.default_rng(5), [], []
    mu = np.log(6.0) + 2 * np.log(2)  # six counts a cell
    for _ in range(3000):
        phi = np.log(rng.gamma(2.0, 0.5, 2))
        x = mu + np.linalg.cholesky(dense(2, phi, "pixel")[0]) @ rng.standard_normal(4)
        model = LogGaussianCox.from_counts(rng.poisson(np.exp(x) / 4).reshape(2, 2), mu, "pixel")
        chain = surrogate_slice(x, phi, model, 0.1, np.array([4.0, 8.0]), 2, rng, 1)
        before.append(of_counts(x, phi, model))
        after.append(of_counts(chain.theta[-1], chain.phi[-1], model))
    assert (stay(before, after)[:2] > 0.3).all()  # phi has moved
