"""The four papers on each other's problems: densities, chains, counts, settings, claims."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.ep import ep
from algorithms.ep_correction import second_order
from conftest import Given
from judging import disagreeing
from made_up_chains import five, off
from models.covariance import squared_exponential
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import U, U_prior, grad_U, precompute_phi
from models.linalg import log_det
from models.non_centred import NonCentred
from models.non_centred_gp import NonCentredGP
from reproduce.beyond import meet as script
from reproduce.beyond.meet import CAREFUL, RMHMC, SETTINGS, SSHMC
from reproduce.beyond.rivals import comparison_problems as meeting
from reproduce.beyond.rivals import surrogate_gp as surrogate
from reproduce.beyond.rivals.comparison_problems import DIGITS, LOGISTIC, MAPPING, METHODS
from reproduce.beyond.rivals.ep_marginal_likelihood import EPEvidence
from reproduce.beyond.rivals.moments import as_one, distance, moments, pool, worst
from reproduce.beyond.rivals.rows import pick
from reproduce.beyond.rivals.subset_logistic import SubsetLogistic
from reproduce.harness.claims import Measured
from reproduce.harness.style import COLOURS
from reproduce.shahbaba.datasets import STAND_IN, StandIn
from reproduce.shahbaba.printed import PROBLEMS
from reproduce.zhang.rivals import CENTRED, NON_CENTRED, POLYA, SURROGATE

NUGGET = 1e-6
PHI = np.array([0.4, 0.7])
ILLUSTRATIVE = "illustrative data of slope 5, seed 1"


@pytest.fixture(scope="module")
def gp():
    rng = np.random.default_rng(1)
    Z, y = rng.standard_normal((5, 3)), np.where(rng.random(5) < 0.5, -1.0, 1.0)
    return HierarchicalGPClassification.from_data(Z, y, (0.3, -0.2), (1.5, 0.7), NUGGET, 2.5), Z


def two_cases():
    """Return a Stage of two cases, the evidence of which is known."""
    model, subset = (HierarchicalGPClassification.from_data(
        Z, np.ones(len(Z)), (0.0, 0.5), (0.7, 0.7), NUGGET, 8.0)
        for Z in (np.array([[0.0], [1.0]]), np.array([[0.0]])))
    return meeting.Stage(model, subset, 0.5, np.arange(2), None)


def log_evidence_of_two(phi, same):
    """Log probability of two labels, the same or not: that of a quadrant."""
    variance = np.exp(2 * phi[1]) * (1 + NUGGET) + 1
    correlation = np.exp(2 * phi[1] - np.exp(-2 * phi[0]) / 2) / variance
    return np.log(0.25 + same * np.arcsin(correlation) / (2 * np.pi))


def test_the_evidence_is_that_of_ep_and_the_prior_is_counted_once(gp):
    model, Z = gp
    K = squared_exponential(Z, Z, *PHI) + NUGGET * np.exp(2 * PHI[1]) * np.eye(5)
    found = ep(K, model.y, tol=1e-12)
    for weight, corrected in ((1.0, True), (3.0, False), (3.0, True)):
        log_Z = found.log_Z + corrected * second_order(found, model.y)
        # it ends where log Z has settled to 1e-6
        assert U(PHI, EPEvidence(model, weight, corrected)) == pytest.approx(
            U_prior(PHI, model) - weight * log_Z, rel=0, abs=1e-5)
    # where EP does not converge
    assert U(np.array([0.3, np.nan]), EPEvidence(model, 1.0, True)) == np.inf


def test_the_surrogate_density_is_the_joint_one_with_its_jacobian(gp):
    model, _ = gp
    rng, noise = np.random.default_rng(3), 0.4
    g, eta, found = rng.standard_normal(5), rng.standard_normal(5), []
    for phi in (PHI, np.array([-0.2, 0.1])):
        here = surrogate.factorise_phi(phi, g, noise, model)
        x = surrogate.latent(eta, here)
        np.testing.assert_allclose(surrogate.whitened_latent(x, here), eta, rtol=0, atol=1e-10)
        # p(phi, x, y) N(g; x, s I) |dx / d eta|, of which eta'eta / 2 is the same everywhere
        joint = (U(np.concatenate([x, phi]), model) + (g - x) @ (g - x) / (2 * noise)
                 - (log_det(here.L) - log_det(here.R)) / 2)
        found.append(joint - U(phi, surrogate.GivenSurrogate(model, g, eta, noise)))
    assert found[0] == pytest.approx(found[1], rel=0, abs=1e-9)


def test_surrogate_data_of_much_noise_leave_x_to_the_prior_and_of_little_hold_it(gp):
    model, _ = gp
    x, L = np.random.default_rng(4).standard_normal(5), np.tril(precompute_phi(PHI, gp[0]).L)
    for noise, stays in ((1e12, False), (1e-12, True)):
        rows, columns, *_ = surrogate.surrogate_gp(x, PHI, model, noise, 1.0, 1,
                                                   np.random.default_rng(5), 0)
        assert (columns[0] != PHI).all()
        moved_x = np.tril(precompute_phi(columns[0], model).L) @ np.linalg.solve(L, x)
        assert np.abs(moved_x - x).max() > 0.01
        # what is left of the other is K / noise^(1/2), or noise^(1/2): 1e-6, times some 10
        np.testing.assert_allclose(rows[0], x if stays else moved_x, rtol=0, atol=1e-4)


def test_surrogate_slices_count_what_they_evaluate(gp):
    # a bracket that is as good as a point is not stepped out: of each hyperparameter three
    # evaluations and one proposal; of an ellipse at least one point; nothing is ever rejected
    _, columns, asked, points = surrogate.surrogate_gp(np.zeros(5), PHI, gp[0], 0.4, 1e-9, 30,
                                                       np.random.default_rng(4), 3)
    assert asked == 30 * 2 * 4 and points >= 30 * 4 and np.unique(columns[:, 0]).size == 30


def test_the_cases_of_a_subset_count_so_often():
    rng = np.random.default_rng(5)
    X, y, q = rng.standard_normal((6, 2)), np.array([1.0, -1, 1, 1, -1, -1]), np.array([1, -0.5, 1])
    cases = np.array([0, 2, 5])
    subset = SubsetLogistic(HierarchicalLogistic.from_data(X[cases], y[cases], np.zeros(3)), 2.0)
    v = np.exp(q[2])
    wanted = (2 * np.log1p(np.exp(-y[cases] * (X[cases] @ q[:2]))).sum() + q[:2] @ q[:2] / (2 * v)
              + q[2] + 0.01 * v - q[2])
    assert U(q, subset) == pytest.approx(wanted, rel=1e-12)
    assert U(q, subset._replace(weight=1.0)) == U(q, subset.model)


def test_problems_are_parts_of_the_papers_with_a_subset_each(monkeypatch):
    which = meeting.stage(DIGITS, 30)
    model = which.model
    assert model.y.size == 30 and which.subset.y.size == 10 and which.share == 1 / 3
    np.testing.assert_array_equal(which.subset.distance, model.distance[:10, :10])
    np.testing.assert_array_equal(which.subset.y, model.y[:10])
    assert (np.abs(model.y) == 1).all() and 5 < (model.y > 0).sum() < 25  # mixed
    assert which.keep.tolist() == list(range(8))  # of what is recorded no more than eight
    # the prior is about the distances between them, within half a deviation
    apart = np.sqrt(model.distance[np.tril_indices(30, -1)])
    assert abs(np.log(np.median(apart)) - model.prior_mean[0]) < 0.5
    which = meeting.stage(LOGISTIC, ILLUSTRATIVE)
    assert which.model.X.shape == (3, 100) and which.subset.X.shape == (3, 30)
    assert which.share == pytest.approx(0.3) and which.subset.starts.size == 2
    margin, all_ = (np.abs(which.fit.q_hat @ each.X) for each in (which.subset, which.model))
    # the cases whose classes are the least certain are those of the least |margin|
    np.testing.assert_allclose(np.sort(margin), np.sort(all_)[:30], rtol=1e-13)  # rounding
    slope = grad_U(np.append(which.fit.q_hat, np.log(25.0)), which.model)  # v = 25
    # what the search for the mode leaves; with the labels the other way round it is some 100
    np.testing.assert_allclose(slope[:-1], 0, rtol=0, atol=1e-5)
    asked = []
    monkeypatch.setattr(meeting, "split_problem", lambda *given: asked.append(given))
    with pytest.raises(TypeError):  # of nothing to unpack
        meeting.stage.__wrapped__(LOGISTIC, "Chess")
    assert asked == [("Chess", PROBLEMS["Chess"].f)]


@pytest.mark.parametrize(("method", "setting", "n"), [
    (SSHMC, [0.4, 2, 0.3, 4], 5000), (RMHMC, [0.8, 2], 2000), (SURROGATE, [0.5, 2], 3000),
    (NON_CENTRED, None, 3000), (MAPPING, [2.0, 0, 1], 2500)])
def test_the_posterior_of_two_cases_is_that_of_their_evidence(method, setting, n):
    which = two_cases()
    grid = np.linspace(-5, 5, 121)
    a, b = np.meshgrid(grid * 0.7, grid * 0.7 + 0.5, indexing="ij")
    density = np.exp(log_evidence_of_two((a, b), 1) - (grid[:, None] ** 2 + grid**2) / 2)
    density /= density.sum()
    mean = np.array([(each * density).sum() for each in (a, b)])
    variance = np.array([((each - m) ** 2 * density).sum()
                         for each, m in zip((a, b), mean, strict=True)])
    start = np.array([0.5, 0.5]), np.array([0.0, 0.5])
    if method == NON_CENTRED:
        _, phi, theta = meeting.run_nuts(DIGITS, which, method, *start, n, 300,
                                         np.random.default_rng(6), 6)
    else:
        found = meeting.RUN[method](DIGITS, which, *start, setting, n, np.random.default_rng(6))
        phi, theta = found.phi, found.theta
    ours = moments(phi)
    # 4 standard errors; EP's own error moves neither by as much as one
    assert (np.abs(ours["mean"] - mean) < 4 * np.array(ours["mean se"])).all()
    assert (np.abs(ours["variance"] - variance) < 4 * np.array(ours["variance se"])).all()
    if method != MAPPING:  # of x and phi together: by parts, the mean of the gradient is 0
        slopes = moments(np.array([grad_U(q, which.model) for q in np.hstack((theta, phi))]))
        assert (np.abs(slopes["mean"]) < 4 * np.array(slopes["mean se"])).all()


def small(name, method, setting, n, burn_in, seed, place=0):
    """Run a chain on six digits or on three illustrative covariates."""
    which = meeting.stage(name, {DIGITS: 6, LOGISTIC: ILLUSTRATIVE}[name])
    return meeting.one_chain(name, which, method, setting, n, burn_in,
                             np.random.default_rng(seed), np.random.default_rng(place))


def together(method, setting, n):
    """Run a chain on the logistic problem; return it as a Together."""
    draws, more = small(LOGISTIC, method, setting, n, 300, 7)
    return pool([moments(draws) | more])


@pytest.fixture(scope="module")
def by_sshmc():
    return together(SSHMC, [0.8, 1, 0.8, 4], 8000)


@pytest.mark.filterwarnings("ignore:.* trajectories diverged")
@pytest.mark.parametrize(("method", "setting", "n"), [
    (RMHMC, [0.8, 3], 3000), (POLYA, [0.6], 4000), (NON_CENTRED, {"deepest": 6}, 3000),
    (CENTRED, {"deepest": 6}, 3000), (MAPPING, [2.0, 0, 2], 3000)])
def test_all_methods_sample_the_same_posterior_of_the_logistic_problem(
        by_sshmc, method, setting, n):
    if method == POLYA:
        pytest.importorskip("polyagamma",
                            reason="needs the extra `rivals`: pip install -e '.[rivals]'")
    found = together(method, setting, n)
    assert as_one(distance(found, by_sshmc), 8) < 4 and worst(found) > 100


def test_work_is_in_passes_or_in_factorisations(monkeypatch):
    _, found = small(LOGISTIC, SSHMC, [0.8, 1, 0.8, 4], 30, 10, 8)
    # 3 L + 1 gradients a transition, n_theta being 1; a density, and that of the start, are halves
    assert found["gradients"] == pytest.approx(13 * 30 + 41 * 30 / 80, rel=1e-12)
    assert found["set_up"] == pytest.approx(found["gradients"] / 3, rel=1e-12)
    _, found = small(DIGITS, SSHMC, [0.1, 2, 0.2, 3], 30, 10, 8)
    # L factorisations a transition, (2 n_theta + 1) L + 1 and 2 L gradients of 4 n^2 operations,
    # which are 12 / n of n^3 / 3
    assert found["gradients"] == pytest.approx(121 * 30 / 40 + 2 * 22 * 30, rel=1e-12)
    assert found["set_up"] == pytest.approx(found["gradients"] / 3 + 31, rel=1e-12)  # and EP
    monkeypatch.setattr(meeting, "surrogate_gp", lambda *given: (
        np.zeros((4, 2)), np.zeros((4, 2)), 10, 5))
    found = meeting.run_surrogate(DIGITS, two_cases(), np.zeros(2), PHI, [1.0, 2], 4, None)
    assert found.work == 34.0  # a density takes two factors and a product, each transition a factor
    monkeypatch.setattr(meeting, "polya_gamma_gibbs", lambda *given, **named: SimpleNamespace(
        phi=0, theta=0, counts=SimpleNamespace(polya_gamma=200), asked=given[4:]))
    which = SimpleNamespace(model=SimpleNamespace(X=np.zeros((20, 100))), keep=None)
    found = meeting.run_polya_gamma(LOGISTIC, which, None, None, [0.6], 2, None)
    assert found.work == 46.0  # of two sweeps over 100 cases: 20 covariates, and three passes


def test_the_work_of_mapping_is_that_of_all_cases_and_of_the_subset(monkeypatch):
    seen = []

    def made(q, pi, star, *rest, r):
        seen.append((q.tolist(), pi, star, *rest, r))
        return SimpleNamespace(samples=np.tile(np.arange(q.size), (9, 1)), accepted=np.ones(9),
                               counts=SimpleNamespace(density=7, approximations=[20],
                                                      not_finite=3))

    monkeypatch.setattr(meeting, "discretizing_chain", made)
    which = two_cases()
    for all_, weight in ((1, 2.0), (0, 1.0)):
        found = meeting.run_mapping(DIGITS, which, np.zeros(2), PHI, [2.0, all_, 4], 9, None)
        # an EP of half of the cases is an eighth of the work, of 31 factorisations each
        assert found.work == 31 * (7 + 20 / 8)
        assert found.phi.tolist() == [[0, 1]] * 9 and found.theta.shape == (9, 0)
        q, pi, star, *rest = seen.pop()
        assert (pi.weight, pi.corrected, star.weight, star.corrected) == (1.0, True, weight, False)
        assert q == PHI.tolist() and rest == [2.0, 9, None, 4] and found.divergences == 3
    which = meeting.stage(LOGISTIC, ILLUSTRATIVE)
    found = meeting.run_mapping(LOGISTIC, which, np.ones(3), np.zeros(1), [0.5, 1, 1], 9, "rng")
    assert found.work == pytest.approx((7 + 0.3 * 20) / 2, rel=1e-12)
    assert found.phi.tolist() == [[3]] * 9 and found.theta.tolist() == [[0, 1, 2]] * 9
    q, _, star, *rest = seen.pop()
    assert q == [1.0, 1.0, 1.0, 0.0] and rest == [0.5, 9, "rng", 1]  # w and log v at once
    assert star.weight == pytest.approx(1 / 0.3, rel=1e-12)


def test_what_is_not_kept_is_not_recorded():
    which = meeting.stage(DIGITS, 6)._replace(keep=np.array([1, 3]))
    theta, phi = meeting.start(DIGITS, which, np.random.default_rng(1))
    for method, setting in ((SSHMC, [0.1, 2, 0.2, 3]), (RMHMC, [0.3, 2]), (SURROGATE, [1.0, 2])):
        found = meeting.RUN[method](DIGITS, which, theta, phi, setting, 4, np.random.default_rng(2))
        assert found.theta.shape == found.phi.shape == (4, 2)
    _, _, kept = meeting.run_nuts(DIGITS, which, NON_CENTRED, theta, phi, 4, 20,
                                  np.random.default_rng(2), 2)
    assert kept.shape == (4, 2)


def test_samplers_draw_their_steps_and_are_counted(monkeypatch):
    rng, steps, n = np.random.default_rng(1), [], 200

    def rmhmc(q, given, L, step, n, rng):
        steps.append(step)
        return SimpleNamespace(samples=q[None], accepted=np.ones(1), divergences=1,
                               counts=SimpleNamespace(thirds=9))

    def slices(q, model, *rest):
        assert rest == (0.3, 1, rng)
        return SimpleNamespace(samples=q[None], counts=SimpleNamespace(density=6))

    monkeypatch.setattr(meeting, "rmhmc", rmhmc)
    monkeypatch.setattr(meeting, "slice_sampling", slices)
    found = meeting.run_rmhmc(DIGITS, two_cases(), np.zeros(2), PHI, [0.5, 2], n, rng)
    # up to a fifth shorter than the setting, of 200 uniform ones
    assert 0.4 <= min(steps) < 0.41 and 0.49 < max(steps) <= 0.5
    # K's own factor and those of the slices' densities beside RMHMC's
    assert (found.work, found.rate, found.divergences) == (n * (1 + 9 + 6), 1.0, n)
    asked = []

    def recorded(*given, **named):
        asked.append((given, named))
        return SimpleNamespace(phi=0, theta=0, accepted=np.ones(1), divergences=0,
                               counts=SimpleNamespace(gradient_theta=10, factor_theta=6,
                                                      gradient_phi=4))

    # eps of both blocks, steps of both; and those of SSHMC.  A metric of p = 3 is p / 2 passes
    for name, run, setting, wanted, work in (
            ("rmhmc_within_gibbs", meeting.run_rmhmc, [0.5, 2], (0.5, 0.5, 2, 2), 2.5 * 16),
            ("sshmc", meeting.run_sshmc, [0.8, 3, 0.2, 4], (0.8, 0.2, 4), 10 + 8 / 2)):
        monkeypatch.setattr(meeting, name, recorded)
        found = run(LOGISTIC, two_cases(), np.zeros(3), PHI, setting, 7, None)
        given, named = asked.pop()
        assert given[3:][: len(wanted) + 1] == (*wanted, 7)
        assert named.get("jitter", given[9:10]) in (0.2, (0.2,))
        assert found.work == work


def test_chains_start_in_the_same_places_for_all_methods(monkeypatch):
    seen = []

    def made(name, which, method, setting, n, burn_in, rng, place):
        seen.append((rng.random(), place.random()))
        return np.random.default_rng(5).standard_normal((20, 2)), {
            "gradients": 2.0, "set_up": 1.0, "rate": 1.0, "divergences": 0}

    monkeypatch.setattr(meeting, "one_chain", made)
    for method, seed in ((SSHMC, [3, 1]), (RMHMC, [3, 2])):
        meeting.row_of_chains(DIGITS, 6, method, [], 20, 2, 2, seed)
    rngs, places = zip(*seen, strict=True)
    assert len(set(rngs)) == 4 and places[:2] == places[2:] and places[0] != places[1]
    pilot = meeting.pilot(DIGITS, 6, SSHMC, [], 20, [3, 100])
    assert pilot["gradients"] == 3.0 and pilot["efficiency"] == pilot["ess"] / 2


def test_the_start_is_a_draw_of_a_normal_approximation():
    which = meeting.stage(LOGISTIC, ILLUSTRATIVE)
    middle, phi = meeting.start(LOGISTIC, which, Given(np.zeros(3)))
    np.testing.assert_allclose(middle, which.fit.q_hat, rtol=1e-12)
    A = []
    for e in np.eye(3):
        w, phi = meeting.start(LOGISTIC, which, Given(e))
        A.append(w - middle)
        assert phi.tolist() == [pytest.approx(np.log((w @ w) / 3), rel=1e-12)]  # log v
    X = which.model.X
    p = 1 / (1 + np.exp(-X.T @ which.fit.q_hat))
    H = (X * p * (1 - p)) @ X.T + np.eye(3) / 25  # v = 25
    # where the search for the mode ends
    np.testing.assert_allclose(np.transpose(A) @ A, np.linalg.inv(H), rtol=1e-6, atol=1e-9)
    which, z = meeting.stage(DIGITS, 6), np.array([1.0, -2.0])
    middle, phi = meeting.start(DIGITS, which, Given(z, np.zeros(6)))
    np.testing.assert_allclose(phi, [2.0 + 0.3, 1.0 - 0.6], rtol=1e-14)
    K = np.exp(2 * phi[1]) * (np.exp(-which.model.distance / (2 * np.exp(2 * phi[0])))
                              + which.model.nugget * np.eye(6))
    found = ep(K, which.model.y, tol=1e-10)
    A = np.array([meeting.start(DIGITS, which, Given(z, e))[0] - middle for e in np.eye(6)])
    # EP ends where log Z has settled to 1e-6
    np.testing.assert_allclose(middle, found.mu, rtol=0, atol=1e-3)
    np.testing.assert_allclose(A.T @ A, found.Sigma, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("name", "method", "kind", "aim", "each", "before"), [
    # a gradient on the digits is four factorisations; an EP is 31
    (DIGITS, NON_CENTRED, NonCentredGP, 0.8, 4, 31), (DIGITS, CAREFUL, NonCentredGP, 0.95, 4, 31),
    (LOGISTIC, NON_CENTRED, NonCentred, 0.8, 1, 0),
    (LOGISTIC, CENTRED, HierarchicalLogistic, 0.8, 1, 0)])
def test_nuts_starts_where_others_do_and_is_counted_in_gradients(
        monkeypatch, name, method, kind, aim, each, before):
    def recorded(q, model, n, rng, warm_up, target, deepest):
        assert (type(model), n, warm_up, target, deepest) == (kind, 20, 10, aim, 7)
        return SimpleNamespace(samples=np.tile(q, (n, 1)), gradients=np.full(n, 3),
                               rates=np.full(n, 0.8), divergences=1, e_bfmi=0.9,
                               counts=SimpleNamespace(gradient=95))

    monkeypatch.setattr(meeting, "nuts", recorded)
    draws, found = small(name, method, {"deepest": 7}, 20, 10, 2, place=1)
    which = meeting.stage(name, {DIGITS: 6, LOGISTIC: ILLUSTRATIVE}[name])
    theta, phi = meeting.start(name, which, np.random.default_rng(1))
    # what is kept is x or w, not z
    np.testing.assert_allclose(draws, np.tile([*phi, *theta], (20, 1)), rtol=0, atol=1e-10)
    assert (found["gradients"], found["set_up"]) == (60 * each, 35 * each + before)
    assert (found["rate"], found["divergences"], found["e_bfmi"]) == (
        pytest.approx(0.8, rel=1e-12), 1, 0.9)


def test_the_burn_in_is_dropped_of_theta_and_phi(monkeypatch):
    rows = np.random.default_rng(1).standard_normal((40, 3))
    monkeypatch.setitem(meeting.RUN, SSHMC, lambda *given: meeting.Record(
        rows[:, :1], rows[:, 1:], 100.0, 0.7, 3))
    draws, found = small(LOGISTIC, SSHMC, [1], 30, 10, 0)
    np.testing.assert_array_equal(draws, rows[10:])
    assert (found["gradients"], found["set_up"]) == (75.0, 25.0)
    assert (found["rate"], found["divergences"]) == (0.7, 3)


def test_every_row_is_on_its_own_data(monkeypatch):
    monkeypatch.setattr(script.rows, "run_rows", lambda *given: given)
    _, _, runs, settings, arguments, nuts, *_ = script.run(SimpleNamespace(budget="paper"), None)
    assert set(runs) == {(name, m) for name, methods in METHODS.items() for m in methods}
    assert all(arguments(key) == {"name": key[0], "data": {DIGITS: 100, LOGISTIC: "CTG"}[key[0]]}
               for key in runs)
    assert settings is SETTINGS and nuts == {"deepest": 10}
    *_, arguments, _, _, _, _ = script.run(SimpleNamespace(budget="smoke"), StandIn("UCI's place"))
    assert {key[0]: arguments(key)["data"] for key in runs} == {DIGITS: 20,
                                                                LOGISTIC: f"{STAND_IN}1"}
    assert pick("abc", [{"ess": ess, "efficiency": x} for ess, x in (
        (60.0, 1.0), (50.0, 2.0), (49.9, 3.0))]) == "b"


AHEAD = {MAPPING: (2.0, -2.0), NON_CENTRED: (0.0, 2.0), CAREFUL: (0.0, 2.0), SSHMC: (0.0, 1.0)}


def made_up():
    result = {}
    for key in script.RUNS:
        gradient, second = AHEAD.get(key[1], (-1.0, -1.0))
        second = 3.0 if key in ((LOGISTIC, SSHMC), (LOGISTIC, CENTRED)) else second
        result[key] = {
            "together": five(4 if script.exact(key) else 2), "believed": True, "rhat": 1.004,
            "bulk": 812.0, "tail": 701.0, "halves": 2.0, "e_bfmi": np.nan, "before": 123.0,
            "setting": SETTINGS.get(key, [{"deepest": 10}])[0],
            "per gradient": Measured(gradient, 0.05), "per second": Measured(second, 0.05)}
    return result


changed = partial(disagreeing, script)


@pytest.mark.parametrize("key", [key for key in script.RUNS if script.exact(key)
                                 and key not in ((DIGITS, CAREFUL), (LOGISTIC, NON_CENTRED))])
def test_a_moment_that_is_another_changes_its_claim(key):
    result, reference = made_up(), CAREFUL if key[0] == DIGITS else NON_CENTRED
    result[key]["together"] = off(five(), "mean", 4.6)
    assert changed(result) == {f"{key[0]}, {key[1]}: largest |z| against {reference}, adjusted"}


def test_ep_is_compared_in_deviations_of_the_exact_posterior_and_judged_by_itself():
    what = "digits: EP's posterior, largest shift of log l or log sigma in deviations"
    result = made_up()
    ours, theirs = result[DIGITS, MAPPING], result[DIGITS, SSHMC]
    theirs["together"] = five()._replace(sd=np.full(4, 2.0))
    ours["together"] = five(2)._replace(mean=np.array([0.1, -1.0]), sd=np.array([1.0, 3.0]))
    shift, ratio = script.ep_shifts(result)
    assert [each.value for each in shift] == pytest.approx([0.05, -0.5], rel=1e-12)
    assert shift[1].se == pytest.approx(0.02 * 2**0.5 / 2, rel=1e-12)
    assert [each.value for each in ratio] == pytest.approx(np.log([1 / 2, 3 / 2]), rel=1e-12)
    # relative errors of both deviations
    assert ratio[0].se == pytest.approx(np.hypot(0.03 / 1, 0.03 / 2), rel=1e-12)
    assert ratio[1].se == pytest.approx(np.hypot(0.03 / 3, 0.03 / 2), rel=1e-12)
    assert what in changed(result) and "-0.500 (0.014)" in script.table(result)
    for row in (ours, theirs):  # of what is not believed nothing is claimed
        row["believed"] = False
        assert np.isnan([each.se for part in script.ep_shifts(result) for each in part]).all()
        row["believed"] = True


def test_each_point_of_the_figure_is_in_its_place():
    result, hollow = made_up(), (DIGITS, SURROGATE)
    result[hollow]["believed"] = False
    fig = script.figure(result)
    for name, left, right in zip(METHODS, fig.axes[::2], fig.axes[1::2], strict=True):
        assert ("n^3/3" in left.get_xlabel()) == (name == DIGITS)
        for ax, per, scale in ((left, "per gradient", 1000), (right, "per second", 1)):
            drawn = [method for method in METHODS[name] if (name, method) != hollow]
            for method, bar in zip(drawn, ax.containers, strict=True):
                x, y = scale * np.exp(result[name, method][per].value), METHODS[name].index(method)
                point = bar.lines[0]
                np.testing.assert_allclose(point.get_xydata(), [[x, y]], rtol=1e-12)
                kind = (COLOURS[0], "o") if script.exact((name, method)) else (COLOURS[1], "s")
                assert (point.get_color(), point.get_marker()) == kind
            assert [text.get_position()[1] for text in ax.texts] == (
                [METHODS[name].index(hollow[1])] if name == DIGITS else [])
        assert [label.get_text() for label in left.get_yticklabels()] == list(METHODS[name])
    assert {line.get_label()[:3]: (line.get_color(), line.get_marker())
            for line in fig.legends[0].get_lines()} == {
        "the": (COLOURS[0], "o"), "EP'": (COLOURS[1], "s")}
