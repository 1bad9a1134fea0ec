"""rivals/bridge_sampling.py: the equation, its errors, tails."""

from functools import partial

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.optimize import brentq
from scipy.stats import norm

from algorithms.ess import initial_sequence
from algorithms.rivals import bridge_sampling as bridge
from algorithms.rivals.bridge_sampling import bridge_sampling, iterate_bridge, pareto_k
from departing import departs
from test_ess import autoregression

LOG_C = 3.7  # p* is exp(LOG_C) N(.8, .7^2), and q is N(0, 1)
P, Q = norm(0.8, 0.7), norm()


def log_ratio(x):
    return LOG_C + P.logpdf(x) - Q.logpdf(x)


def draws(n_1, n_2, seed):
    rng = np.random.default_rng(seed)
    return log_ratio(P.rvs(n_1, random_state=rng)), log_ratio(Q.rvs(n_2, random_state=rng))


def test_the_equation_is_solved():
    at_target, at_proposal = draws(30, 50, 1)
    l_1, l_2, s_1, s_2 = np.exp(at_target), np.exp(at_proposal), 30 / 80, 50 / 80

    def unequal(log_r):
        r = np.exp(log_r)
        return np.mean(l_2 / (s_1 * l_2 + s_2 * r)) - np.mean(r / (s_1 * l_1 + s_2 * r))

    root, found = brentq(unequal, 0, 10, xtol=1e-13), bridge_sampling(at_target, at_proposal, 1.0)
    # the iteration stops at steps below 1e-10, and each is at most .9 of the one before
    assert found.log_Z == pytest.approx(root, abs=1e-9) and found.converged and found.iterations > 3
    before, early = (bridge_sampling(at_target, at_proposal, 1.0,
                                     max_iterations=found.iterations - k) for k in (2, 1))
    assert (early.iterations, early.converged) == (found.iterations - 1, False)
    assert abs(found.log_Z - early.log_Z) < 1e-10 <= abs(early.log_Z - before.log_Z)


def test_the_error_by_hand():
    at_target, at_proposal = draws(40, 60, 2)
    found, s_1 = bridge_sampling(at_target, at_proposal, tau=3.0), (40 / 3) / (40 / 3 + 60)
    l_1, l_2 = (np.exp(each - found.log_Z) for each in (at_target, at_proposal))
    W, V = l_2 / (s_1 * l_2 + 1 - s_1), 1 / (s_1 * l_1 + 1 - s_1)
    from_target = 3 * np.var(V, ddof=1) / 40 / V.mean() ** 2
    from_proposal = np.var(W, ddof=1) / 60 / W.mean() ** 2
    assert found[1:5] == pytest.approx(((from_target + from_proposal) ** 0.5, from_target,
                                        from_proposal, 3.0), rel=1e-7)


@departs(iterate_bridge, {"L1": """
    n_1, n_2 = at_target.size, at_proposal.size
    s_1, s_2 = n_1 / (n_1 + n_2), n_2 / (n_1 + n_2)"""})
def test_a_chain_of_repeated_draws_is_worth_what_it_is_without(iterate_bridge):
    at_target, at_proposal = draws(50, 40, 3)
    once, often = (iterate_bridge(np.repeat(at_target, k), at_proposal, k, 1e-13, 1000)[0]
                   for k in (1.0, 7.0))
    assert often == pytest.approx(once, abs=1e-11)  # ends of two iterations


@departs(iterate_bridge, {
    "L4": """
    W = np.log(np.exp(at_proposal) / (s_1 * np.exp(at_proposal) + s_2 * np.exp(log_r)))
    A = np.log(np.mean(np.exp(W)))""",
    "L5": """
    V = np.log(1 / (s_1 * np.exp(at_target) + s_2 * np.exp(log_r)))
    B = np.log(np.mean(np.exp(V))) + log_r"""})
def test_ratios_of_any_size(iterate_bridge):
    at_target, at_proposal = draws(50, 40, 3)
    log_r, *moved = (iterate_bridge(at_target + shift, at_proposal + shift, 1.0, 1e-13, 1000)[0]
                     - shift for shift in (0.0, 1000.0, -1000.0))
    assert moved == pytest.approx([log_r] * 2, abs=1e-11)  # rounding of 1000


def test_importance_sampling_is_the_limit_without_draws_from_p():
    at_target, at_proposal = draws(50, 400, 4)
    alone = bridge.importance_sampling(at_proposal)
    limit = bridge_sampling(at_target, at_proposal, tau=1e9)
    # W is r / l times 1 + (s_1 / s_2) l / r, with s_1 / s_2 = 50 / 4e11 and l / r below 100
    assert (limit.log_Z, limit.from_proposal**0.5) == pytest.approx(alone[:2], abs=1e-7)
    w = np.exp(at_proposal)
    assert alone == pytest.approx((np.log(w.mean()), w.std(ddof=1) / 20 / w.mean(),
                                   w.sum() ** 2 / (w @ w), pareto_k(at_proposal)), rel=1e-12)


def test_draws_of_q_where_p_is_zero_count():
    # half of q's draws have weight 0: half of the constant
    at_target, at_proposal = draws(2000, 2000, 5)
    halved = np.concatenate([at_proposal, np.full(2000, -np.inf)])
    whole, half = bridge.importance_sampling(at_proposal), bridge.importance_sampling(halved)
    assert (half.log_Z, half.effective) == pytest.approx(
        (whole.log_Z - np.log(2), whole.effective), rel=1e-12)
    found = bridge_sampling(at_target, halved, tau=1.0)
    assert abs(found.log_Z - (LOG_C - np.log(2))) < 4 * found.standard_error + 1e-3


def test_the_error_is_that_of_the_chain():
    rng = np.random.default_rng(8)
    # along an autoregression of which p is the stationary law
    along, beside = (log_ratio(0.8 + 0.7 * autoregression(0.9, 4000, rng)),
                     log_ratio(rng.standard_normal(4000)))
    found, worth = bridge_sampling(along, beside), initial_sequence(along).tau
    assert 5 < found.tau < 30 and 5 < worth < 30  # of x itself (1 + .9) / (1 - .9) = 19
    _, _, V, *_ = iterate_bridge(along, beside, worth, 1e-10, 10_000)
    assert found.tau == initial_sequence(V).tau != worth
    same = bridge_sampling(along, beside, tau=worth)
    assert (same.log_Z, same.from_proposal) == (found.log_Z, found.from_proposal)
    assert found.from_target == pytest.approx(same.from_target * found.tau / worth, rel=1e-12)


@pytest.mark.parametrize("n", [30, 300, 5000])  # of five draws some of its versions take no shape
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_the_shape_is_that_of_arviz(n, scale):
    log_w = scale * np.random.default_rng(9).standard_normal(n)
    theirs = array_stats.psislw(-log_w)[1]  # which takes log likelihoods that are left out
    # they leave out weights below 1e-15 of the sum
    assert pareto_k(log_w) == pytest.approx(float(theirs), rel=1e-9)
    assert pareto_k(log_w - 900) == pytest.approx(pareto_k(log_w), rel=1e-9)


def test_too_few_weights_have_no_shape():
    assert np.isnan(pareto_k(np.arange(24.0)))  # a tail of four
    assert not np.isnan(pareto_k(np.arange(25.0))) and np.isnan(pareto_k(np.zeros(1000)))
    assert np.isnan(pareto_k([*np.full(1000, -np.inf), 0.0]))
    assert np.isnan(pareto_k(1e-13 * np.random.default_rng(1).standard_normal(1000)))  # rounding


def test_five_draws_from_p_and_two_from_q_are_enough():
    # with all ratios the same that is Z, whatever their number
    found = bridge_sampling([0.7] * 5, [0.7] * 2)
    assert found.log_Z == pytest.approx(0.7) and found.converged
    assert bridge.importance_sampling([0.7] * 2).log_Z == pytest.approx(0.7)


@pytest.mark.parametrize("value", [[1.0], [np.inf, 1.0], [-np.inf, -np.inf], 1.0, "12"])
def test_bad_logarithms_are_named(value):
    for name, function in (("at_proposal", partial(bridge_sampling, np.zeros(9))),
                           ("at_proposal", bridge.importance_sampling), ("log_weights", pareto_k)):
        with pytest.raises(ValueError, match=f"^{name} must"):
            function(value)
    with pytest.raises(ValueError, match=r"^at_target must"):
        bridge_sampling(np.full(9, -np.inf), np.zeros(9))


def test_arrays_that_are_exchanged_are_refused():
    rng = np.random.default_rng(1)

    def ratio(x):  # p of log Z = 1.6, and q = N(0, 1.5^2)
        return np.log(5) - (x - 1)**2 / 2 + x * x / 4.5 + np.log(1.5)

    of_p, of_q = ratio(rng.normal(1, 1, 1000)), ratio(rng.normal(0, 1.5, 1000))
    assert abs(bridge_sampling(of_p, of_q, tau=1.0).log_Z - np.log(5)) < 0.1
    with pytest.raises(ValueError, match="they seem to be exchanged"):
        bridge_sampling(of_q, of_p, tau=1.0)


def test_a_chain_that_is_short_for_its_autocorrelation_is_not_taken_for_exchanged():
    rng = np.random.default_rng(1)
    for _ in range(50):
        bridge_sampling(0.1 * autoregression(0.99, 400, rng), 0.1 * rng.standard_normal(400))
    bridge_sampling(np.full(20, -0.1), 0.01 * rng.standard_normal(999))  # nor one that stands still
