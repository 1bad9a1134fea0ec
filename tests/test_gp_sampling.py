"""The samplers of Wang and Neal on small regressions: caches, distributions, odd data, trouble.

The approximations are not nested: they have some cases in common or none, which is as exact.
"""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from models.gp_eigen import GPEigen
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_subset import GPSubset
from models.interface import U, U_prior, log_likelihood
from test_gp_regression import DENSE, dense_C

LEVEL = 6.3e-5  # of each Kolmogorov-Smirnov test: that of four standard errors
SAMPLERS = ["slices", "discretizing", "tempered"]
START = np.log([0.5, 5.0, 0.3])


def run(sampler, x0, model, n, rng, unit="variable", max_widths=10):
    """Run a sampler, with a subset of half of the cases or two other subsets in its way."""
    cases = np.arange(model.y.size)
    if sampler == "slices":
        return slice_sampling(x0, model, 1.0, n, rng, max_widths)
    if sampler == "discretizing":
        return discretizing_chain(x0, model, GPSubset.from_model(model, cases[::2]), 1.0, n, rng,
                                  2, 1, unit, max_widths)
    layers = [GPSubset.from_model(model, some) for some in (cases[cases % 4 < 3], cases[::-3])]
    return tempered_transitions(x0, model, layers, 1.0, n, rng, unit, max_widths)


def drawn(X, q, rng):
    """Draw the responses of the cases X."""
    return np.linalg.cholesky(dense_C(X, q)) @ rng.standard_normal(len(X))


# Caches


@pytest.mark.parametrize("unit", ["variable", "sweep", "random"])
def test_over_a_whole_chain_the_caches_agree_with_evaluation_from_scratch(unit):
    # the mark jumps back and forth, and most excursions are undone
    rng = np.random.default_rng(1)
    X = rng.random((30, 2))
    # within .2 <= sigma, eta <= 5 a factor of C keeps all but three digits of U
    q = np.log([0.5, 2.0, 0.4, 0.8])
    model = GPRegression.from_data(X, drawn(X, q, rng), "ard", 10.0, q, 0.2)
    chains = [run(sampler, q, model, 60, rng, unit) for sampler in SAMPLERS]
    star = GPSubset.from_model(model, np.arange(0, 30, 2))
    marked = discretizing_chain(q, model, star, 1.0, 40, rng, 5, 2, unit, marks=True)
    assert marked.counts.cache_hits > 0 and 0 < marked.accepted.mean() < 1
    for chain in (*chains, marked):
        assert np.ptp(chain.samples, axis=0).min() > 0.1  # it moved
        for q, energy, likelihood in zip(chain.samples, chain.energies, chain.log_likelihood,
                                         strict=True):
            assert energy == pytest.approx(U(q, model), rel=1e-12)
            assert likelihood == pytest.approx(log_likelihood(q, model), rel=1e-12)
    for q, energy in zip(marked.marks.samples.reshape(-1, 4), marked.marks.energies.ravel(),
                         strict=True):
        assert energy == pytest.approx(U(q, model), rel=1e-12)


# Distributions


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_joint_distribution_of_parameters_and_data_stays_as_it_is(sampler):
    rng, found, accepted = np.random.default_rng(3), [], 0.0
    X, mean, sd = rng.random((6, 2)), np.log([0.5, 2.0, 0.4, 0.8]), np.array([0.6, 0.5, 0.7, 0.8])
    model = GPRegression.from_data(X, np.zeros(6), "ard", 1.0, mean, sd)
    for _ in range(1000):
        q = mean + sd * rng.standard_normal(4)
        y = np.linalg.cholesky(dense_C(X, q, 1.0)) @ rng.standard_normal(6)
        # limits that bind: intervals of at most two widths
        chain = run(sampler, q, model._replace(y=y), 3, rng, max_widths=2)
        q, accepted = chain.samples[-1], accepted + chain.accepted.mean() / 1000
        u = np.linalg.solve(np.linalg.cholesky(dense_C(X, q, 1.0)), y)
        found.append([*(q - mean) / sd, norm.ppf(chi2(6).cdf(u @ u)), u[0], u[5]])
    assert sampler == "slices" or 0.2 < accepted < 0.9  # or this would see nothing
    for values in np.array(found).T:
        assert kstest(values, norm.cdf).pvalue > LEVEL


# Odd data and trouble


def odd(n=12):
    """Cases that are there twice, a covariate that is constant, and a single case."""
    rng = np.random.default_rng(5)
    X = rng.random((n, 2))
    return {"twice": np.vstack([X[: n // 2]] * 2), "constant": X * [1.0, 0.0] + [0.0, 3.7],
            "one": X[:1]}


@pytest.mark.parametrize("X", odd().values(), ids=odd())
@pytest.mark.parametrize("kind", ["isotropic", "ard"])
def test_with_all_cases_every_approximation_of_odd_data_is_the_posterior(X, kind):
    rng, q = np.random.default_rng(6), np.log([0.5, 5.0, 0.3, 0.7])
    model = GPRegression.from_data(X, drawn(X, q, rng), kind)
    q, cases = q[: model.precision.size], rng.permutation(len(X))
    expected = U(q, model)
    assert expected == pytest.approx(0.5 * len(X) * np.log(2 * np.pi) + U_prior(q, model)
                                     + 0.5 * np.linalg.slogdet(dense_C(X, q))[1]
                                     + 0.5 * model.y @ np.linalg.solve(dense_C(X, q), model.y),
                                     rel=DENSE)
    assert U(q, GPSubset.from_model(model, cases)) == pytest.approx(expected, rel=DENSE)
    assert U(q, GPEigen.from_model(model, len(X))) == pytest.approx(expected, rel=DENSE)
    # a jitter of 1e-10 (c^2 + eta^2) in sigma^2 = .25, as seen by at most 12 cases
    assert U(q, GPNystrom.from_model(model, cases)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("X", odd().values(), ids=odd())
def test_chains_run_on_odd_data(X, sampler):
    rng = np.random.default_rng(7)
    model = GPRegression.from_data(X, drawn(X, START, rng), "isotropic")
    chain = run(sampler, START, model, 50, rng)
    assert chain.counts.not_finite == 0 and np.ptp(chain.samples, axis=0).min() > 0.5
    for q, energy in zip(chain.samples, chain.energies, strict=True):
        assert energy == pytest.approx(U(q, model), rel=1e-10)  # sigma may be small: C is worse


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_where_the_covariance_has_no_factor_points_are_rejected_and_the_chain_goes_on(sampler):
    # every case is there twice, with the same response, and sigma^2 is about the rounding of C:
    # pi has no factor where the approximations, in which no case is there twice, still have one
    rng = np.random.default_rng(8)
    X = rng.random((8, 1)).repeat(2, axis=0)
    y = np.sin(6 * X[:, 0])
    model = GPRegression.from_data(X, y, "isotropic", 1.0, [-17.0, 0.0, -1.0], [2.0, 0.3, 0.3])
    start = np.array([-14.0, 0.0, -1.0])
    assert not np.isfinite(U(start - [6.0, 0.0, 0.0], model))
    chain = run(sampler, start, model, 600, rng)
    assert chain.counts.not_finite > 50
    assert np.isfinite(chain.energies).all() and np.isfinite(chain.log_likelihood).all()
    assert np.unique(chain.samples[300:, 0]).size > 10  # after many of these it still moves
