"""What each sampler that asks for U alone must do, on the model of normal.py."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from algorithms.random_walk import random_walk
from algorithms.rivals.delayed_acceptance import delayed_acceptance
from algorithms.rivals.dragging import dragging
from algorithms.rivals.elliptical_slice import elliptical_slice
from algorithms.rivals.fitted_walk import fitted_walk
from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from models.interface import U
from normal import MODEL, Q, exact_draw, normal, subset

L = np.array([[0.5, 0.0], [-0.2, 0.4]])
ONE = np.array([[1.0]])
LEVEL = 6.3e-5  # of each Kolmogorov-Smirnov test: that of four standard errors

ALONE = {  # n transitions, a few of which mix
    "random walk": lambda q, model, star, n, rng: random_walk(q, model, 0.5, n, rng, thin=4),
    "fitted walk": lambda q, model, star, n, rng: fitted_walk(q, model, L, n, rng, thin=4),
    "dragging mu": lambda q, model, star, n, rng: dragging(q, model, [0], ONE, n, rng, 4, 0, 0.8),
    "dragging lam": lambda q, model, star, n, rng: dragging(q, model, [1], ONE, n, rng, 3, 0, 0.8),
    "narrow slices": lambda q, model, star, n, rng: slice_sampling(q, model, 0.3, n, rng, 2),
    "wide slices": lambda q, model, star, n, rng: slice_sampling(q, model, 2.0, n, rng, 10),
    "ellipses": lambda q, model, star, n, rng: elliptical_slice(
        q, model, n, rng, factor=np.diag([1.0, 0.6])),
}
APPROXIMATED = {
    "delayed acceptance": lambda q, model, star, n, rng: delayed_acceptance(
        q, model, star, L, 3 * n, rng, 1),
    "surrogate transition": lambda q, model, star, n, rng: delayed_acceptance(
        q, model, star, L, n, rng, 5),
    "discretizing chain": lambda q, model, star, n, rng: discretizing_chain(
        q, model, star, 1.0, n, rng, 1, 1, "variable"),
    "discretizing chain of sweeps": lambda q, model, star, n, rng: discretizing_chain(
        q, model, star, 1.0, n, rng, 3, 2, "sweep"),
    "tempered transitions": lambda q, model, star, n, rng: tempered_transitions(
        q, model, (star, subset(star, 1)), 1.0, n, rng, "variable"),
    "tempered transitions of sweeps": lambda q, model, star, n, rng: tempered_transitions(
        q, model, (star, subset(star, 1)), 1.0, n, rng, "sweep"),
}
SAMPLERS = ALONE | APPROXIMATED
each_sampler = pytest.mark.parametrize("name", SAMPLERS)


@each_sampler
def test_the_joint_distribution_of_parameters_and_data_stays_as_it_is(name):
    # a thousand chains from exact draws, each with data of its own: four tests, 6.3e-5 each
    rng, found, moved, rejected = np.random.default_rng(6), [], 0.0, 0.0
    for _ in range(1000):
        start, y = exact_draw(4, rng)
        model = normal(y)
        chain = SAMPLERS[name](start, model, subset(model, 2), 3, rng)
        q, states = chain.samples[-1], np.array([start, *chain.samples])
        moved += np.abs(q - start) / 1000
        rejected += (np.diff(states, axis=0) == 0).all(axis=1).mean() / 1000
        found.append([q[0], 2 * q[1], norm.ppf(chi2(4).cdf(np.exp(q[1]) * np.sum((y - q[0])**2))),
                      np.exp(q[1] / 2) * np.sum(y - q[0]) / 2])
    assert (moved > 0.1).all()  # or this would see nothing
    assert (rejected == 0) == ("slices" in name or name == "ellipses")
    for values in np.array(found).T:
        assert kstest(values, norm.cdf).pvalue > LEVEL


@each_sampler
@pytest.mark.parametrize("beyond", [np.inf, np.nan, -np.inf])
def test_no_chain_goes_where_an_energy_is_not_finite(name, beyond):
    edge, star = normal(MODEL.y, 0.5, beyond), subset(MODEL, 3)
    for pi, pi_star in [(edge, star), (MODEL, edge)][: 2 if name in APPROXIMATED else 1]:
        chain = SAMPLERS[name](Q, pi, pi_star, 300, np.random.default_rng(3))
        assert chain.samples[:, 0].max() <= 0.5 and chain.samples[:, 0].min() < 0
        energies = chain.energies if hasattr(chain, "energies") else chain.log_likelihood
        assert np.isfinite(energies).all()
        counted = "not_finite" in chain.counts._fields
        assert (chain.counts.not_finite if counted else chain.divergences) > 20


@each_sampler
def test_the_energies_are_those_of_the_states_and_the_start_is_left_as_it_was(name):
    start = Q.copy()
    chain = SAMPLERS[name](start, MODEL, subset(MODEL, 3), 40, np.random.default_rng(1))
    np.testing.assert_array_equal(start, Q)
    if "energies" in chain._fields:
        energies = np.array([U(q, MODEL) for q in chain.samples])
        np.testing.assert_allclose(chain.energies, energies, rtol=0, atol=1e-12)  # rounding
        if "log_likelihood" in chain._fields:
            prior = chain.samples**2 @ [0.5, 2.0]
            np.testing.assert_allclose(chain.log_likelihood, prior - energies, rtol=0, atol=1e-12)
