"""rivals/surrogate_slice.py: the map by dense matrices, the height and the bracket."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, poisson

from algorithms.rivals import surrogate_slice as surrogate
from algorithms.rivals.elliptical_slice import elliptical_update
from algorithms.rivals.surrogate_slice import factorise_at, mean_given, surrogate_update, whiten
from conftest import Given
from departing import departs
from models.interface import U, U_prior
from models.log_gaussian_cox import LogGaussianCox
from models.square_grid import from_blocks, to_blocks
from test_log_gaussian_cox import dense

D, S, MU = 3, 0.7, 2.0
PHI = np.array([0.3, -0.6])
RNG = np.random.default_rng(1)
COUNTS = RNG.poisson(2.0, (D, D)).astype(float)
MODEL = LogGaussianCox.from_counts(COUNTS, MU)
X = MU + RNG.standard_normal(D * D)
G = RNG.standard_normal(D * D)  # surrogate data less mu, cell by cell


def test_the_parts_are_those_of_dense_matrices():
    Sigma, here, u = dense(D, PHI)[0], factorise_at(PHI, S, MODEL), to_blocks(X - MU, D)
    R, g = np.linalg.inv(np.linalg.inv(Sigma) + np.eye(D * D) / S), to_blocks(G, D)
    m = mean_given(g, S, here)
    np.testing.assert_allclose(from_blocks(m, D), R @ G / S, rtol=0, atol=1e-12)
    eta = whiten(u, m, here)
    np.testing.assert_allclose(surrogate.unwhiten(eta, m, here), u, rtol=0, atol=1e-12)
    v = X - MU - R @ G / S
    assert eta @ eta == pytest.approx(v @ np.linalg.solve(R, v), abs=1e-10)
    apart = []
    for phi in (PHI, np.array([-1.0, 0.2])):
        there = factorise_at(phi, S, MODEL)
        apart.append(surrogate.log_marginal(g, mean_given(g, S, there), S, there)
                     - multivariate_normal(cov=dense(D, phi)[0] + S * np.eye(D * D)).logpdf(G))
    assert apart[0] == pytest.approx(apart[1], abs=1e-11)


def test_the_product_is_that_of_line_5():
    here, g = factorise_at(PHI, S, MODEL), to_blocks(G, D)
    m, counted = mean_given(g, S, here), np.zeros(2, int)
    found, expected = np.transpose([
        (surrogate.log_product(x, g, m, S, here, MODEL, counted),
         poisson.logpmf(COUNTS.ravel(), np.exp(x) / D**2).sum()) for x in (X, X + 0.3)])
    assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], abs=1e-11)
    assert found[0] == (surrogate.log_likelihood(X, MODEL)
                        + surrogate.log_marginal(g, m, S, here) - U_prior(PHI, MODEL))
    np.testing.assert_array_equal(counted, [2, 0])


def test_x_moves_with_phi_at_the_same_eta():
    z, here = RNG.standard_normal(D * D), factorise_at(PHI, S, MODEL)
    g = to_blocks(X - MU, D) + np.sqrt(S) * z

    def update(u):  # the first proposal is log beta + 2 (.25 - .75)
        rng = Given(z, uniforms=[0.75, u, 0.25])
        return *surrogate_update.py_func(X, here, 1, 2.0, S, MODEL, np.zeros(2, int),
                                         rng), rng.drawn

    x, there, _ = update(1e-300)  # a height far below
    assert there.phi[0] == PHI[0] and there.phi[1] == pytest.approx(PHI[1] - 1.0, abs=1e-12)
    eta = whiten(to_blocks(X - MU, D), mean_given(g, S, here), here)
    np.testing.assert_allclose(whiten(to_blocks(x - MU, D), mean_given(g, S, there), there), eta,
                               rtol=0, atol=1e-11)  # rounding
    assert np.abs(x - X).max() > 0.01
    u = np.exp(np.subtract(*(
        surrogate.log_product(at, g, mean_given(g, S, of), S, of, MODEL, np.zeros(2, int))
        for at, of in ((x, there), (X, here)))))
    assert u < 0.9 and update(0.999 * u)[2] == 3 < update(1.001 * u)[2]


@departs(surrogate_update, {"L7": """
        theta_ = theta_min + (theta_max - theta_min) * rng.random()"""})
def test_shrinkage_to_the_start_ends(update):
    # a height above everything: every proposal is outside, until one is the start
    here = factorise_at(PHI, S, MODEL)
    for k in (0, 1):
        rng = Given(np.zeros(D * D), uniforms=[0.5, np.exp(600.0), 0.9, 0.1, *[0.5] * 2000])
        x, there = update(X, here, k, 1.0, S, MODEL, np.zeros(2, int), rng)
        assert x is X and there is here


@departs(surrogate_update, {"L9": """
        value = log_product(x_, g, m, noise, there, model, tally)
        if not value <= level:
            return x_, there"""})
def test_a_proposal_of_no_finite_density_is_outside(update):
    # log sigma^2 + 2000 has no covariance; the next proposal is the start's neighbour
    counted = np.zeros(2, int)
    x, there = update(X, factorise_at(PHI, S, MODEL), 0, 4000.0, S, MODEL, counted,
                      Given(np.zeros(D * D), uniforms=[0.5, 0.5, 0.999, 0.500001 / 0.999]))
    assert np.isfinite(x).all() and np.isfinite(there.phi).all() and abs(there.phi[0]) < 2.0
    assert counted[1] == 1


def test_the_record_is_that_of_its_updates():
    # a bracket so wide that some proposals have no covariance
    ours, theirs, wide = (*(np.random.default_rng(7) for _ in range(2)), np.array([4e3, 2.0]))
    chain = surrogate.surrogate_slice(X, PHI, MODEL, S, wide, 4, ours, 3, [0, 4])
    x, here, (surrogates, ellipses) = X, factorise_at(PHI, S, MODEL), np.zeros((2, 2), int)
    for t in range(4):
        for k in (0, 1):
            x, here = surrogate_update(x, here, k, wide[k], S, MODEL, surrogates, theirs)
        field = surrogate.Field(MODEL, here.L)
        value = surrogate.field_log_L(x, field)
        for _ in range(3):
            x, value = elliptical_update(x, value, field, ellipses, theirs)
        np.testing.assert_array_equal(chain.theta[t], x[[0, 4]])
        np.testing.assert_array_equal(chain.phi[t], here.phi)
        assert chain.energies[t] == pytest.approx(U(np.append(x, here.phi), MODEL), abs=1e-10)
    counts = chain.counts
    # of the start, and of each proposal: where an update begins, what is known is asked again
    assert counts.factor == 1 + surrogates[0] - 4 * 2
    assert counts.likelihood == surrogates[0] + ellipses[0] + 4 and counts.ellipses == 4 * 3
    assert chain.divergences == counts.not_finite == surrogates[1] + ellipses[1] > 0
    assert chain.accepted.all() and ours.bit_generator.state == theirs.bit_generator.state
