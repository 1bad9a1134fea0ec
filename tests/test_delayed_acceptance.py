"""rivals/delayed_acceptance.py: transitions exactly, what is asked, then the distribution."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from algorithms.rivals.delayed_acceptance import (
    State,
    delayed_acceptance,
    delayed_acceptance_step,
    surrogate_transition_step,
)
from algorithms.rivals.fitted_walk import fitted_walk
from conftest import Given
from departing import departs
from models.interface import U
from normal import exact_draw, normal, subset
from rival_proofs import proofs

MODEL = normal([0.3, 1.2, -0.4, 0.9])
STAR = subset(MODEL, 3)
Q = np.array([0.2, -0.1])
L = np.array([[0.5, 0.0], [-0.2, 0.4]])
ROUNDING = 1e-13  # some thousand products of probabilities, of 1e-16 each
LEVEL = 6.3e-5  # of each Kolmogorov-Smirnov test: that of four standard errors


@pytest.mark.parametrize("name", ["line", "square"])
@pytest.mark.parametrize("which", ["delayed", 1, 2, 3])
def test_a_transition_leaves_the_density_as_it_is_and_is_reversible(name, which):
    if (name, which) == ("square", 3):
        which = 2  # too many sequences of three steps
    found = proofs()["delayed"][name][which]
    assert max(found["invariant"], found["balance"], found["rows"]) < ROUNDING


@pytest.mark.parametrize("name", ["line", "square"])
def test_it_is_the_matrix_of_the_definition(name):
    found = proofs()["delayed"][name]
    for which, k in (("delayed", 1), (1, 1), (2, 2)):
        np.testing.assert_allclose(found[which]["P"], found[f"formula {k}"], rtol=0, atol=ROUNDING)
    assert np.abs(found[1]["P"] - found[2]["P"]).max() > 0.01


def test_one_inner_step_is_delayed_acceptance_bit_for_bit():
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    here = other = State(Q, U(Q, MODEL), U(Q, STAR))
    tallies = np.zeros(3, int), np.zeros(3, int)
    seen = set()
    for _ in range(100):
        here, *did = delayed_acceptance_step(here, MODEL, STAR, L, tallies[0], ours)
        other, *they = surrogate_transition_step(other, MODEL, STAR, L, 1, tallies[1], theirs)
        np.testing.assert_array_equal(here.q, other.q)
        assert here[1:] == other[1:] == (U(here.q, MODEL), U(here.q, STAR)) and did == they
        seen.add(tuple(did))
    assert seen == {(False, False), (True, False), (True, True)}
    np.testing.assert_array_equal(*tallies)
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_with_pi_for_its_own_approximation_it_is_the_random_walk():
    chain = delayed_acceptance(Q, MODEL, MODEL, L, 200, np.random.default_rng(2), inner=2)
    assert (chain.promoted == chain.accepted).all() and chain.counts.density < 202
    # the walk draws no uniform for the second test
    rng, q = np.random.default_rng(2), Q
    for t in range(200):
        walk = fitted_walk(q, MODEL, L, 2, rng)
        if walk.accepted.any():
            rng.random()
        q = walk.samples[-1]
        np.testing.assert_array_equal(chain.samples[t], q)


@pytest.mark.parametrize("inner", [1, 4])
def test_the_record_and_its_counts_are_true(inner):
    model, star = normal(MODEL.y), subset(MODEL, 3)
    chain = delayed_acceptance(Q, model, star, L, 100, np.random.default_rng(3), inner)
    # one each for the check of q0
    assert chain.counts.density == model.calls[0] - 1 == 1 + chain.promoted.sum()
    assert chain.counts.approximations.tolist() == [star.calls[0] - 1] == [1 + 100 * inner]
    assert chain.counts.not_finite == 0
    assert 0 < chain.accepted.sum() < chain.promoted.sum() < 100
    assert not (chain.accepted & ~chain.promoted).any()
    moved = (np.diff([Q, *chain.samples], axis=0) != 0).any(axis=1)
    np.testing.assert_array_equal(moved, chain.accepted)
    for q, energy, log_likelihood in zip(chain.samples, chain.energies, chain.log_likelihood,
                                         strict=True):
        assert energy == pytest.approx(U(q, MODEL), abs=1e-12)  # rounding
        assert log_likelihood == pytest.approx(q[0]**2 / 2 + 2 * q[1]**2 - energy, abs=1e-12)


@departs(delayed_acceptance_step, {"L2": """
    U_star = evaluate(y, approximation, APPROXIMATION, tally)
    error = U_star - here.U_star
    promoted = rng.random() < np.exp(-error)""", "L6": """
    if rng.random() < np.exp(-error):
        return State(y, U_y, U_star), True, True
    return here, True, False"""})
def test_a_proposal_of_an_energy_that_is_not_finite_is_rejected(step):
    here = State(Q, U(Q, MODEL), U(Q, STAR))
    assert step(here, MODEL, STAR, L, np.zeros(3, int), Given(np.ones(Q.size)))[2]
    for beyond in (-np.inf, np.inf, np.nan):
        edge = normal(MODEL.y, 0.3, beyond)
        for model, star, promoted in ((edge, STAR, True), (MODEL, edge, False)):
            tally = np.zeros(3, int)
            there, asked, accepted = step(here, model, star, L, tally, Given(np.ones(Q.size)))
            assert not accepted and asked == promoted and tally[2] == 1
            np.testing.assert_array_equal(there.q, Q)


@pytest.mark.parametrize("beyond", [np.inf, np.nan, -np.inf])
@pytest.mark.parametrize("inner", [1, 3])
def test_no_chain_goes_where_an_energy_is_not_finite(beyond, inner):
    edge = normal(MODEL.y, 0.5, beyond)
    for model, star in ((edge, STAR), (MODEL, edge)):
        chain = delayed_acceptance(Q, model, star, L, 300, np.random.default_rng(3), inner)
        assert chain.samples[:, 0].max() <= 0.5 and chain.samples[:, 0].min() < 0
        assert np.isfinite(chain.energies).all() and chain.counts.not_finite > 20


@pytest.mark.parametrize("inner", [1, 5])
def test_the_joint_distribution_of_parameters_and_data_stays_as_it_is(inner):
    rng, found, accepted = np.random.default_rng(6), [], 0.0
    for _ in range(1000):
        q, y = exact_draw(4, rng)
        model = normal(y)
        chain = delayed_acceptance(q, model, subset(model, 2), L, 6, rng, inner)
        q, accepted = chain.samples[-1], accepted + chain.accepted.mean() / 1000
        found.append([q[0], 2 * q[1], norm.ppf(chi2(4).cdf(np.exp(q[1]) * np.sum((y - q[0])**2))),
                      np.exp(q[1] / 2) * np.sum(y - q[0]) / 2])
    assert 0.2 < accepted < 0.9  # or this would see nothing
    for values in np.array(found).T:
        assert kstest(values, norm.cdf).pvalue > LEVEL


GOOD = dict(q0=Q, model=MODEL, approximation=STAR, factor=L, n=2, rng=np.random.default_rng(0),
            inner=1)


@pytest.mark.parametrize(("name", "value"), [
    ("q0", [np.nan, 0.0]), ("approximation", 3), ("approximation", None),
    ("approximation", normal(MODEL.y, 0.0)), ("factor", np.eye(3)), ("factor", L.T),
    ("factor", 0.0), ("n", 0), ("n", 1.5), ("rng", 1), ("inner", 0), ("inner", 2**70)])
def test_bad_arguments_are_named(name, value):
    delayed_acceptance(**GOOD)
    with pytest.raises(ValueError, match=f"^{name} must"):
        delayed_acceptance(**(GOOD | {name: value}))
