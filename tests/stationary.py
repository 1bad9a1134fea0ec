"""Thousands of chains from exact draws: still exact after a few transitions, if it is invariant."""

import numpy as np
from scipy.stats import chi2, kstest, norm

from models.funnel import Funnel

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
