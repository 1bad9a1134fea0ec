"""Thousands of chains from exact draws: still exact after a few transitions, if it is invariant."""

import numpy as np
from scipy.stats import chi2, expon, kstest, norm

from models.funnel import Funnel
from models.hierarchical_logistic import HierarchicalLogistic

LEVEL = 6.3e-5  # of each Kolmogorov-Smirnov test: that of four standard errors


def funnel_stays(run, n, chains, seed=11):
    """Assert that a sampler leaves the funnel of n variables x as it is, by five tests.

    run(x, v, model, rng) -> x, v, share accepted; v is (1,)
    """
    model, rng = Funnel.from_size(n), np.random.default_rng(seed)
    x, v, accepted, moved = np.empty((chains, n)), np.empty(chains), np.empty(chains), 0.0
    for c in range(chains):
        start = 3 * rng.standard_normal(1)
        x[c], v[c : c + 1], accepted[c] = run(
            np.exp(-start[0] / 2) * rng.standard_normal(n), start, model, rng)
        moved += abs(v[c] - start[0])
    # or this would see nothing
    assert 0.3 < accepted.mean() < 0.97 and moved / chains > 0.4
    side = np.where(v > 0, 1, -1)
    as_normal = norm.ppf(chi2(n).cdf(np.exp(v) * np.sum(x**2, axis=1)))
    for values in (v / 3, as_normal, np.exp(v / 2) * x[:, 0], side * np.exp(v / 2) * x[:, -1],
                   (v / 3 + as_normal) / np.sqrt(2)):
        assert kstest(values, norm.cdf).pvalue > LEVEL


def hierarchical_logistic_stays(run, chains, seed):
    """Assert that a sampler leaves a hierarchical logistic regression as it is, by 11 tests.

    Each chain has data of its own: run(theta, gamma, model, rng) -> a Chain.
    """
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], [4, 1, 3])
    X = np.column_stack([np.ones(8), rng.standard_normal(8)])
    theta, gamma, y, accepted, moved = [], [], [], 0.0, 0.0
    for _ in range(chains):
        start = np.log(rng.exponential(1.0, 1))
        w = np.exp(start / 2) * rng.standard_normal(6)
        eta = np.sum(X * w.reshape(3, 2)[group], axis=1)
        y.append(np.where(rng.random(8) < 1 / (1 + np.exp(-eta)), 1.0, -1.0))
        model = HierarchicalLogistic.from_data(X, y[-1], group, lam=1.0, mass_phi=4.0)
        chain = run(w, start, model, rng)
        accepted += chain.accepted.mean(axis=0) / chains
        moved += abs(chain.phi[-1, 0] - start[0]) / chains
        theta.append(chain.theta[-1])
        gamma.append(chain.phi[-1, 0])
    theta, gamma, y = map(np.array, (theta, gamma, y))
    assert moved > 0.3  # or this would see nothing
    scaled = np.exp(-gamma / 2)[:, None] * theta
    squares = np.sum(scaled**2, axis=1)
    assert kstest(np.exp(gamma), expon.cdf).pvalue > LEVEL
    assert kstest(squares, chi2(6).cdf).pvalue > LEVEL
    u, v = norm.ppf(expon.cdf(np.exp(gamma))), norm.ppf(chi2(6).cdf(squares))
    for values in (*scaled.T, np.sqrt(0.5) * (u + v)):
        assert kstest(values, norm.cdf).pvalue > LEVEL
    # theta still goes with its data: y - E[y | theta] has mean 0, given theta
    eta = np.einsum("cj,icj->ic", X, theta.reshape(-1, 3, 2)[:, group])
    off = y - np.tanh(eta / 2)
    for values in (off.sum(axis=1), (off * X[:, 1]).sum(axis=1)):
        assert abs(values.mean()) < 4 * values.std() / np.sqrt(chains)
    return accepted
