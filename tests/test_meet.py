"""The four papers on each other's problems: densities, chains, counts, settings, claims."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.ep import ep
from algorithms.ep_correction import second_order
from judging import read_table
from made_up_chains import FEW, five, off, one
from models.covariance import squared_exponential
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import U, U_prior, grad_U, precompute_phi
from models.linalg import log_det
from models.non_centred_gp import NonCentredGP
from reproduce.beyond import meet as script
from reproduce.beyond.rivals import comparison_problems as meeting
from reproduce.beyond.rivals.comparison_problems import (
    DIGITS,
    HYPER,
    LOGISTIC,
    MAPPING,
    METHODS,
    NUTS,
    RMHMC,
    SETTINGS,
    SSHMC,
    SURROGATE,
)
from reproduce.beyond.rivals.ep_marginal_likelihood import EPEvidence
from reproduce.beyond.rivals.moments import ENOUGH, as_one, combine, distance, moments
from reproduce.beyond.rivals.subset_logistic import SubsetLogistic
from reproduce.beyond.rivals.surrogate_gp import (
    GivenSurrogate,
    factorise_phi,
    latent,
    surrogate_gp,
    whitened_latent,
)
from reproduce.harness.claims import Measured, judge
from reproduce.harness.style import COLOURS, plt
from reproduce.shahbaba.printed import PROBLEMS

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


# Densities


def test_the_evidence_is_that_of_ep_and_the_prior_is_counted_once(gp):
    model, Z = gp
    K = squared_exponential(Z, Z, *PHI) + NUGGET * np.exp(2 * PHI[1]) * np.eye(5)
    found = ep(K, model.y, tol=1e-12)
    for weight, corrected in ((1.0, True), (3.0, False), (3.0, True)):
        log_Z = found.log_Z + corrected * second_order(found, model.y)
        # it ends where log Z has settled to 1e-6
        assert U(PHI, EPEvidence(model, weight, corrected)) == pytest.approx(
            U_prior(PHI, model) - weight * log_Z, rel=0, abs=1e-5)


@pytest.mark.parametrize("same", [1, -1])
def test_the_corrected_evidence_of_two_cases_is_nearly_exact(same):
    model = HierarchicalGPClassification.from_data(
        np.array([[0.0], [1.0]]), np.array([1.0, same]), nugget=NUGGET)
    plain, corrected = (U_prior(PHI, model) - U(PHI, EPEvidence(model, 1.0, c))
                        - log_evidence_of_two(PHI, same) for c in (False, True))
    # EP's own error is some 1e-3 for two cases; the correction is there to make it less
    assert abs(plain) < 1e-2 and abs(corrected) <= abs(plain)


def test_where_ep_does_not_converge_the_energy_is_infinite(gp):
    assert U(np.array([0.3, np.nan]), EPEvidence(gp[0], 1.0, True)) == np.inf


def test_the_surrogate_density_is_the_joint_one_with_its_jacobian(gp):
    model, _ = gp
    rng, noise = np.random.default_rng(3), 0.4
    g, eta, found = rng.standard_normal(5), rng.standard_normal(5), []
    for phi in (PHI, np.array([-0.2, 0.1])):
        here = factorise_phi(phi, g, noise, model)
        x = latent(eta, here)
        np.testing.assert_allclose(whitened_latent(x, here), eta, rtol=0, atol=1e-10)
        # p(phi, x, y) N(g; x, s I) |dx / d eta|, of which eta'eta / 2 is the same everywhere
        joint = (U(np.concatenate([x, phi]), model) + (g - x) @ (g - x) / (2 * noise)
                 - (log_det(here.L) - log_det(here.R)) / 2)
        found.append(joint - U(phi, GivenSurrogate(model, g, eta, noise)))
    assert found[0] == pytest.approx(found[1], rel=0, abs=1e-9)


def test_surrogate_data_of_much_noise_leave_x_to_the_prior_and_of_little_hold_it(gp):
    model, _ = gp
    x, L = np.random.default_rng(4).standard_normal(5), np.tril(precompute_phi(PHI, gp[0]).L)
    for noise, stays in ((1e12, False), (1e-12, True)):
        rows, columns, *_ = surrogate_gp(x, PHI, model, noise, 1.0, 1, np.random.default_rng(5), 0)
        assert (columns[0] != PHI).all()
        moved_x = np.tril(precompute_phi(columns[0], model).L) @ np.linalg.solve(L, x)
        assert np.abs(moved_x - x).max() > 0.01
        # what is left of the other is K / noise^(1/2), or noise^(1/2): 1e-6, times some 10
        np.testing.assert_allclose(rows[0], x if stays else moved_x, rtol=0, atol=1e-4)


def test_surrogate_slices_count_what_they_evaluate(gp):
    rows, columns, asked, points = surrogate_gp(np.zeros(5), PHI, gp[0], 0.4, 1.0, 30,
                                                np.random.default_rng(4), 3)
    assert rows.shape == (30, 5) and columns.shape == (30, 2)
    # of each hyperparameter three and one proposal at least; of an ellipse one point
    assert asked >= 30 * 2 * 4 and points >= 30 * 4
    assert np.unique(columns[:, 0]).size == 30  # nothing is ever rejected
    # a bracket that is as good as a point is not stepped out: one proposal is enough
    *_, asked, _ = surrogate_gp(np.zeros(5), PHI, gp[0], 0.4, 1e-9, 30, np.random.default_rng(4), 3)
    assert asked == 30 * 2 * 4


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


# Problems and chains


def test_the_digits_are_a_part_of_the_set_and_a_third_of_them_the_subset():
    which = meeting.stage(DIGITS, 30)
    model = which.model
    assert model.y.size == 30 and which.subset.y.size == 10 and which.share == 1 / 3
    np.testing.assert_array_equal(which.subset.distance, model.distance[:10, :10])
    np.testing.assert_array_equal(which.subset.y, model.y[:10])
    assert (np.abs(model.y) == 1).all() and 5 < (model.y > 0).sum() < 25  # mixed
    assert which.keep.tolist() == list(range(8))  # of what is recorded no more than eight
    # the prior is about the distances between them
    assert model.prior_mean.tolist() == [2.0, 1.0] and model.prior_sd.tolist() == [1.0, 1.0]
    apart = np.sqrt(model.distance[np.tril_indices(30, -1)])
    assert abs(np.log(np.median(apart)) - 2.0) < 0.5  # half a deviation


def test_the_logistic_problem_is_that_of_split_hmc():
    which = meeting.stage(LOGISTIC, ILLUSTRATIVE)
    assert which.model.X.shape == (3, 100) and which.subset.X.shape == (3, 30)
    assert which.share == pytest.approx(0.3) and which.subset.starts.size == 2
    margin, all_ = (np.abs(which.fit.q_hat @ each.X) for each in (which.subset, which.model))
    # the cases whose classes are the least certain are those of the least |margin|
    np.testing.assert_allclose(np.sort(margin), np.sort(all_)[:30], rtol=1e-13)  # rounding
    slope = grad_U(np.append(which.fit.q_hat, np.log(25.0)), which.model)  # v = 25
    # what the search for the mode leaves; with the labels the other way round it is some 100
    np.testing.assert_allclose(slope[:-1], 0, rtol=0, atol=1e-5)


def test_a_data_set_of_split_hmc_has_its_own_share_of_cases(monkeypatch):
    asked = []

    def stopped(data, fraction):
        asked.append((data, fraction))
        raise KeyboardInterrupt

    monkeypatch.setattr(meeting, "split_problem", stopped)
    for data in ("Chess", ILLUSTRATIVE):
        with pytest.raises(KeyboardInterrupt):
            meeting.stage.__wrapped__(LOGISTIC, data)
    assert asked == [("Chess", PROBLEMS["Chess"].f), (ILLUSTRATIVE, 0.3)]


@pytest.mark.parametrize(("method", "setting", "n"), [
    (SSHMC, [0.4, 2, 0.3, 4], 5000), (RMHMC, [0.8, 2], 2000), (SURROGATE, [0.5, 2], 3000),
    (MAPPING, [2.0, 0, 1], 2500)], ids=["SSHMC", "RMHMC", "surrogate", "mapping"])
def test_the_posterior_of_two_cases_is_that_of_their_evidence(method, setting, n):
    which = two_cases()
    grid = np.linspace(-5, 5, 121)
    a, b = np.meshgrid(grid * 0.7, grid * 0.7 + 0.5, indexing="ij")
    density = np.exp(log_evidence_of_two((a, b), 1) - (grid[:, None] ** 2 + grid**2) / 2)
    density /= density.sum()
    mean = np.array([(each * density).sum() for each in (a, b)])
    variance = np.array([((each - m) ** 2 * density).sum()
                         for each, m in zip((a, b), mean, strict=True)])
    found = meeting.RUN[method](DIGITS, which, np.array([0.5, 0.5]), np.array([0.0, 0.5]),
                                setting, n, np.random.default_rng(6))
    ours = moments(found.phi)
    # 4 standard errors; EP's own error moves neither by as much as one
    assert (np.abs(ours["mean"] - mean) < 4 * np.array(ours["mean se"])).all()
    assert (np.abs(ours["variance"] - variance) < 4 * np.array(ours["variance se"])).all()
    if method != MAPPING:  # of x and phi together: by parts, the mean of the gradient is 0
        slopes = moments(np.array([grad_U(q, which.model) for q in np.hstack((
            found.theta, found.phi))]))
        assert (np.abs(slopes["mean"]) < 4 * np.array(slopes["mean se"])).all()


def test_all_methods_sample_the_same_posterior_of_the_logistic_problem():
    found = {method: combine([meeting.chain(LOGISTIC, ILLUSTRATIVE, method, setting, n, 100,
                                             7)], 1)
             for method, setting, n in ((SSHMC, [0.8, 1, 0.8, 4], 8000), (RMHMC, [0.8, 3], 3000),
                                        (MAPPING, [2.0, 0, 2], 3000))}
    for method in (RMHMC, MAPPING):
        z, se = distance(found[method], found[SSHMC], 1)
        assert as_one(z, 8) < 4 and se == 0


def test_what_is_counted_is_of_the_draws_alone():
    setting = [0.8, 1, 0.8, 4]
    found = meeting.chain(LOGISTIC, ILLUSTRATIVE, SSHMC, setting, 30, 10, 8)
    # 3 L + 1 gradients a transition, n_theta being 1; one density, and that of the start
    assert found["counts"]["gradients"] == pytest.approx(13 * 30, rel=1e-12)
    assert found["counts"]["densities"] == pytest.approx(41 * 30 / 40, rel=1e-12)
    # a density has one of a gradient's two products
    assert found["gradients"] == pytest.approx(13 * 30 + 41 * 30 / 80, rel=1e-12)
    assert found["set_up"] == pytest.approx(found["gradients"] / 3, rel=1e-12)
    assert found["counts"]["factorisations"] == 0 and found["steps"] == 30 and found["n"] == 30


def test_the_work_on_the_digits_is_in_factorisations():
    found = meeting.chain(DIGITS, 6, SSHMC, [0.1, 2, 0.2, 3], 30, 10, 8)
    # (2 n_theta + 1) L + 1 and 2 L gradients, and L factorisations, a transition
    assert found["counts"]["gradients"] == pytest.approx((16 + 6) * 30, rel=1e-12)
    assert found["counts"]["factorisations"] == pytest.approx((3 * 40 + 1) * 30 / 40, rel=1e-12)
    # 4 n^2 operations are 12 / n of n^3 / 3
    assert found["gradients"] == pytest.approx(121 * 30 / 40 + 2 * 22 * 30, rel=1e-12)
    assert found["set_up"] == pytest.approx(found["gradients"] / 3 + 31, rel=1e-12)  # and EP
    found = meeting.chain(DIGITS, 6, RMHMC, [0.3, 2], 20, 5, 8)
    # a transition has f_max L + 1 metrics, the momentum's factor, and K's own factorisation
    slices = found["counts"]["densities"]
    assert slices >= 5 * 20  # of each of two slices two points at least, and the start
    assert found["counts"]["factorisations"] == pytest.approx(20 * 13 + slices, rel=1e-12)


def test_the_work_of_mapping_is_that_of_all_cases_and_of_the_subset(monkeypatch):
    seen = []

    def made(q, pi, star, *rest, r):
        seen.append((q.tolist(), pi, star, *rest, r))
        return SimpleNamespace(samples=np.zeros((9, q.size)), accepted=np.ones(9),
                               counts=SimpleNamespace(density=7, approximations=[20],
                                                      not_finite=3))

    monkeypatch.setattr(meeting, "discretizing_chain", made)
    which = two_cases()
    for all_, weight in ((1, 2.0), (0, 1.0)):
        found = meeting.run_mapping(DIGITS, which, np.zeros(2), PHI, [2.0, all_, 4], 9, None)
        # an EP of half of the cases is an eighth of the work, of 31 factorisations each
        assert (found.work, found.densities) == (31 * (7 + 20 / 8), 7.0)
        assert found.phi.shape == (9, 2) and found.theta.shape == (9, 0)
        q, pi, star, *rest = seen.pop()
        assert (pi.weight, pi.corrected, star.weight, star.corrected) == (1.0, True, weight, False)
        assert q == PHI.tolist() and rest == [2.0, 9, None, 4] and found.divergences == 3
    which = meeting.stage(LOGISTIC, ILLUSTRATIVE)
    found = meeting.run_mapping(LOGISTIC, which, np.ones(3), np.zeros(1), [0.5, 1, 1], 9, "rng")
    assert found.work == pytest.approx((7 + 0.3 * 20) / 2, rel=1e-12)
    assert found.phi.shape == (9, 1) and found.theta.shape == (9, 3)
    q, _, star, *rest = seen.pop()
    assert q == [1.0, 1.0, 1.0, 0.0] and rest == [0.5, 9, "rng", 1]  # w and log v at once
    assert star.weight == pytest.approx(1 / 0.3, rel=1e-12)


def test_the_work_of_surrogate_slices(monkeypatch):
    monkeypatch.setattr(meeting, "surrogate_gp", lambda *given: (
        np.zeros((4, 2)), np.zeros((4, 2)), 10, 5))
    found = meeting.run_surrogate(DIGITS, two_cases(), np.zeros(2), PHI, [1.0, 2], 4, None)
    # a density takes two factors and a product, and each transition a factor
    assert (found.work, found.factorisations, found.densities) == (34.0, 24.0, 15.0)


def test_what_is_not_kept_is_not_recorded(monkeypatch):
    which = meeting.stage(DIGITS, 6)._replace(keep=np.array([1, 3]))
    theta, phi = meeting.start(DIGITS, which, np.random.default_rng(1))
    for method, setting in ((SSHMC, [0.1, 2, 0.2, 3]), (RMHMC, [0.3, 2]), (SURROGATE, [1.0, 2])):
        found = meeting.RUN[method](DIGITS, which, theta, phi, setting, 4,
                                    np.random.default_rng(2))
        assert found.theta.shape == found.phi.shape == (4, 2)
    monkeypatch.setattr(meeting, "nuts", lambda model, q, *rest, kept: kept(q) | {
        "steps": 1, "warm_up": 1, "divergences": 0})
    found, _ = meeting.run_nuts(DIGITS, which, theta, phi, 1, 1, np.random.default_rng(2))
    np.testing.assert_allclose(found.theta, theta[[1, 3]], rtol=0, atol=1e-10)


def test_the_steps_and_the_work_of_rmhmc(monkeypatch):
    rng, steps, n = np.random.default_rng(1), [], 200

    def rmhmc(q, given, L, step, n, rng):
        steps.append(step)
        return SimpleNamespace(samples=q[None], accepted=np.ones(1), divergences=1,
                               counts=SimpleNamespace(gradient=2, cholesky=5, thirds=9))

    def slices(q, model, *rest):
        assert rest == (0.3, 1, rng)
        return SimpleNamespace(samples=q[None], counts=SimpleNamespace(density=6))

    monkeypatch.setattr(meeting, "rmhmc", rmhmc)
    monkeypatch.setattr(meeting, "slice_sampling", slices)
    found = meeting.run_rmhmc(DIGITS, two_cases(), np.zeros(2), PHI, [0.5, 2], n, rng)
    # up to a fifth shorter than the setting, of 200 uniform ones
    assert 0.4 <= min(steps) < 0.41 and 0.49 < max(steps) <= 0.5
    # K's own factor and those of the slices' densities beside RMHMC's
    assert (found.work, found.factorisations) == (n * (1 + 9 + 6), n * (1 + 5 + 6))
    assert (found.gradients, found.densities) == (2.0 * n, 6.0 * n)
    assert (found.rate, found.divergences) == (1.0, n)


def test_on_the_logistic_problem_the_samplers_draw_their_steps(monkeypatch):
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
        assert (found.work, found.gradients) == (work, 10.0)


def test_all_methods_start_at_the_same_place(monkeypatch):
    seen = []

    def stopped(name, which, theta, phi, *rest):
        seen.append(np.concatenate([theta, phi]))
        raise KeyboardInterrupt

    monkeypatch.setattr(meeting, "RUN", dict.fromkeys((SSHMC, RMHMC), stopped))
    for method, seed, place in ((SSHMC, 1, [3, 1]), (RMHMC, 2, [3, 1]), (RMHMC, 2, [3, 2])):
        with pytest.raises(KeyboardInterrupt):
            meeting.chain(DIGITS, 6, method, [1, 1, 1, 1], 10, 5, seed, place)
    np.testing.assert_array_equal(seen[0], seen[1])
    assert (seen[1] != seen[2]).all()


def normals(*vectors):
    """Stand for a generator: give these vectors in turn."""
    rest = iter(vectors)

    def standard_normal(n):
        z = next(rest)
        assert len(z) == n
        return np.array(z, float)

    return SimpleNamespace(standard_normal=standard_normal)


def test_the_start_is_a_draw_of_the_normal_approximation():
    which = meeting.stage(LOGISTIC, ILLUSTRATIVE)
    middle, phi = meeting.start(LOGISTIC, which, normals(np.zeros(3)))
    np.testing.assert_allclose(middle, which.fit.q_hat, rtol=1e-12)
    A = []
    for e in np.eye(3):
        w, phi = meeting.start(LOGISTIC, which, normals(e))
        A.append(w - middle)
        assert phi.tolist() == [pytest.approx(np.log((w @ w) / 3), rel=1e-12)]  # log v
    X = which.model.X
    p = 1 / (1 + np.exp(-X.T @ which.fit.q_hat))
    H = (X * p * (1 - p)) @ X.T + np.eye(3) / 25  # v = 25
    # where the search for the mode ends
    np.testing.assert_allclose(np.transpose(A) @ A, np.linalg.inv(H), rtol=1e-6, atol=1e-9)


def test_on_the_digits_the_start_is_a_draw_of_ep_near_the_priors_mean():
    which = meeting.stage(DIGITS, 6)
    middle, phi = meeting.start(DIGITS, which, normals([1.0, -2.0], np.zeros(6)))
    np.testing.assert_allclose(phi, [2.0 + 0.3, 1.0 - 0.6], rtol=1e-14)
    K = np.exp(2 * phi[1]) * (np.exp(-which.model.distance / (2 * np.exp(2 * phi[0])))
                              + which.model.nugget * np.eye(6))
    found = ep(K, which.model.y, tol=1e-10)
    A = np.array([meeting.start(DIGITS, which, normals([1.0, -2.0], e))[0] - middle
                  for e in np.eye(6)])
    # EP ends where log Z has settled to 1e-6
    np.testing.assert_allclose(middle, found.mu, rtol=0, atol=1e-3)
    np.testing.assert_allclose(A.T @ A, found.Sigma, rtol=0, atol=1e-3)


def test_nuts_is_asked_on_its_own_density_and_counted_in_gradients(monkeypatch):
    asked = []

    def recorded(model, q, draws, *rest, kept):
        asked.append((type(model), draws, *rest))
        noise = np.random.default_rng(0).standard_normal((draws, q.size))
        return {name: value + noise[:, : value.size] * 1e-12 for name, value in kept(q).items()} | {
            "steps": 70, "warm_up": 35, "divergences": 1}

    monkeypatch.setattr(meeting, "nuts", recorded)
    # a gradient on the digits is four factorisations; an EP is 31
    for name, data, kind, each, before, d in (
            (DIGITS, 6, NonCentredGP, 4, 31, 2 + 6),
            (LOGISTIC, ILLUSTRATIVE, HierarchicalLogistic, 1, 0, 1 + 3)):
        which = meeting.stage(name, data)
        theta, phi = meeting.start(name, which, np.random.default_rng(1))
        for depth in ((), (5,)):
            found, _ = meeting.run_nuts(name, which, theta, phi, 20, 10, np.random.default_rng(2),
                                        *depth)
            seed = int(np.random.default_rng(2).integers(2**31))
            assert asked.pop() == (kind, 20, 10, seed, *(depth or (7,)))
        # it starts where the others do, and what is kept is x, not z
        np.testing.assert_allclose(found.theta[0], theta, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.phi[0], phi, rtol=0, atol=1e-10)
        found = meeting.chain(name, data, NUTS, None, 20, 10, 9)
        assert (found["gradients"], found["set_up"]) == (70 * each, 35 * each + before)
        assert found["steps"] == 70 and len(found["mean"]) == d
        assert found["counts"] == {"gradients": 70.0, "densities": 70.0,
                                   "factorisations": 70.0 * (name == DIGITS)}


def test_the_burn_in_is_dropped_of_theta_and_phi(monkeypatch):
    rows = np.random.default_rng(1).standard_normal((40, 3)) + np.arange(40.0)[:, None]
    monkeypatch.setitem(meeting.RUN, SSHMC, lambda *given: meeting.Record(
        rows[:, :1], rows[:, 1:], 80.0, 40.0, 20.0, 100.0, 0.7, 3))
    found = meeting.chain(LOGISTIC, ILLUSTRATIVE, SSHMC, [1], 30, 10, 0)
    np.testing.assert_allclose(found["mean"], rows[10:].mean(axis=0), rtol=1e-12)
    assert found["counts"] == {"gradients": 60.0, "densities": 30.0, "factorisations": 15.0}
    assert (found["gradients"], found["set_up"], found["steps"]) == (75.0, 25.0, 30.0)
    assert (found["rate"], found["divergences"]) == (0.7, 3)


def test_the_clock_is_of_a_transition_or_of_a_gradient(monkeypatch):
    now = [0.0]

    def nuts_took(name, which, theta, phi, draws, tune, rng, depth):
        assert tune == 6
        now[0] += 5.0 + 2 * draws  # five to begin
        return meeting.Record(*[None] * 2, 8.0 * draws, *[None] * 5), 4.0

    def took(*given):
        now[0] += 6.0

    monkeypatch.setattr(meeting.time, "process_time", lambda: now[0])
    monkeypatch.setattr(meeting, "RUN", {SSHMC: took})
    monkeypatch.setattr(meeting, "run_nuts", nuts_took)
    seconds = meeting.clock(LOGISTIC, ILLUSTRATIVE, {SSHMC: [[1, 1, 1], 3], NUTS: [None, 3]}, 2)
    assert seconds == {"seconds": {SSHMC: [2.0] * 2, NUTS: [0.25] * 2}}


def test_nuts_is_asked_for_before_anything_is_computed(monkeypatch):
    seen = []
    monkeypatch.setattr(meeting, "library", lambda: seen.append(NUTS))
    monkeypatch.setattr(meeting, "chain", lambda name, data, method, *rest: seen.append(method))
    meeting.warm(LOGISTIC, ILLUSTRATIVE)
    assert seen == [NUTS, *METHODS[LOGISTIC]]


# The script


class Remembered:
    """An experiment that computes nothing: the larger a setting, the better the chain."""

    def __init__(self, budget, seconds=(0.005, 0.015)):
        self.budget, self.seed, self.tasks, self.seconds = budget, 3, {}, seconds

    def replicates(self, function, tasks, unit, warm=None):
        self.tasks[unit] = tasks
        if "timings" in unit:
            return [{"seconds": {row: list(self.seconds) for row in tasks[0]["rows"]}}]
        counts = {"gradients": 250.0, "densities": 2000.0, "factorisations": 0.0}
        return [one(100 * (1 + sum(task["setting"] or [0])), 1e5, 500.0, steps=1000.0, set_up=70.0,
                    counts=counts) for task in tasks]


@pytest.mark.parametrize("budget", script.LENGTH)
def test_the_setting_with_the_most_per_work_is_run_again(budget):
    experiment = Remembered(budget)
    result, rounds = script.run(experiment, None), script.TIMED[budget]
    for name, methods in METHODS.items():
        lengths = {method: script.LENGTH[budget][name, method] for method in methods}
        best = {method: max(SETTINGS[name, method], key=sum) if method != NUTS else None
                for method in methods}
        tried, chains = (experiment.tasks[f"{what} of {name}"] for what in ("pilots", "chains"))
        assert {task["data"] for task in tried + chains} == {script.DATA[budget][name]}
        assert [(t["method"], t["n"], t["setting"], t["burn_in"], t["place"]) for t in chains] == [
            (method, n, best[method], n // (2 if method == NUTS else 4), [3, 1, k])
            for method, n in lengths.items() for k in range(script.CHAINS[budget])]
        assert len(tried) == 8 * (len(methods) - 1)
        for t in tried:
            assert t["n"] == lengths[t["method"]] // script.PILOT[budget] >= 5
            assert t["burn_in"] == t["n"] // 2 and t["place"] == [3, 0]
        (clocks,) = experiment.tasks[f"timings of {name}"]
        assert clocks["rounds"] == rounds[0]
        assert clocks["rows"] == {m: [best[m], rounds[1]] for m in methods}
        seeds = [str(t["seed"]) for t in tried + chains]
        assert len(set(seeds)) == len(seeds)
        for method in methods:
            assert result[name][method]["setting"] == best[method]
            # eight pilots of 500 and 70 before them
            assert result[name][method]["pilots"] == (0 if method == NUTS else 8 * 570)


def test_efficiencies_are_per_what_was_counted():
    result = script.run(Remembered("paper"), None)
    ess = 100 * (1 + 0.03 + 24 + 0.5 + 6)  # of each chain
    found = result[DIGITS][SSHMC]["per"]
    for unit, cost in (("work", 500), ("gradients", 250), ("densities", 2000), ("second", 10)):
        assert found[unit].value == pytest.approx(np.log(ess / cost))
    assert found["factorisations"] is None and result[DIGITS][SSHMC]["set-up"] == 70
    # five equal chains; of two rounds the mean is known to half of their difference
    assert found["work"].se == pytest.approx(0.0, abs=1e-12)
    assert found["second"].se == pytest.approx(0.5, rel=1e-12)


def test_a_time_that_is_lost_in_noise_leaves_a_row_without_one_and_is_still_drawn():
    result = script.run(Remembered("paper", [-1e-6]), None)  # a difference of short times
    assert all(np.isnan(row["per"]["second"].value) for rows in result.values()
               for row in rows.values())
    assert "nan" in script.table(result)
    plt.close(script.figure(result))


OTHERS = [(name, m) for name in METHODS for m in METHODS[name] if m != NUTS
          and script.exact(name, m)]
MORE = {RMHMC: -1.0, NUTS: 0.5, MAPPING: 1.5}  # log efficiency than the others


def made_up():
    """Return a result of which every claim is true."""
    result = {}
    for name, methods in METHODS.items():
        rows = {}
        for k, method in enumerate(methods):
            d = 4 if script.exact(name, method) else 2
            per = Measured(-3.0 + MORE.get(method, 0.0), 0.05)
            rows[method] = {"together": five(d, 900.0 - k, 800.0 - k),
                            "setting": None if method == NUTS else [0.5, k + 1],
                            "per": {"work": per + 1.0, "gradients": per, "densities": per,
                                    "factorisations": None, "second": per + 4.0},
                            "set-up": 50.0, "pilots": 160.0}
        result[name] = script.add_distances(name, rows)
    return result


def changed(result):
    """Return the claims whose verdict is not that they agree."""
    return {f.claim.what for f in judge(script.CLAIMS, result, "paper") if f.verdict != "agrees"}


def test_what_is_made_up_agrees():
    result = made_up()
    assert changed(result) == set()
    assert not any(row["void"] for found in result.values() for row in found.values())
    assert {c.kind for c in script.CLAIMS} == {"ours"}
    # no method is judged against itself
    judged = [c.what for c in script.CLAIMS if c.what.endswith("as one")]
    assert judged == [f"{name}, {m}: largest |z| against NUTS, as one" for name, m in OTHERS]


def moved(result, name, method, **fields):
    """Return the result with another Together of one row, judged again."""
    rows = dict(result[name])
    rows[method] = rows[method] | {"together": rows[method]["together"]._replace(**fields)}
    return result | {name: script.add_distances(name, rows)}


@pytest.mark.parametrize("field", ["mean", "sd"])
@pytest.mark.parametrize(("name", "method"), OTHERS)
def test_a_row_whose_moments_differ_is_void_and_its_claim_differs(name, method, field):
    what = f"{name}, {method}: largest |z| against NUTS, as one"
    with_row = {c.what for c in script.CLAIMS
                if c.what.startswith(f"{name}: log") and method in c.what}
    # of eight numbers the largest is above 4.47 as rarely as one is above 4
    for z, void in ((4.6, True), (4.3, False), (2.6, False)):
        other = getattr(off(five(), field, z), field)
        result = moved(made_up(), name, method, **{field: other})
        assert result[name][method]["void"] == void
        assert changed(result) == ({what} | with_row if void else {what} if z > 3 else set())
        assert ("VOID" in script.table(result)) == void


def test_a_row_of_short_chains_cannot_be_told_and_is_not_void():
    result = moved(made_up(), DIGITS, SURROGATE, ess=FEW)
    assert not result[DIGITS][SURROGATE]["void"] and "too short" in script.table(result)
    assert changed(result) == {f"{DIGITS}, {SURROGATE}: largest |z| against NUTS, as one",
                               f"digits: log(ESS per second, {SURROGATE} / {RMHMC})"}
    # nor can any if the chains of NUTS are short
    result = moved(made_up(), LOGISTIC, NUTS, ess=FEW)
    assert all(np.isnan(row["off"].se) for row in result[LOGISTIC].values())
    assert script.table(result).count("too short") == len(METHODS[LOGISTIC])
    # a quantity that never moved has no z: that is no excuse
    result = moved(made_up(), DIGITS, SURROGATE, ess=FEW * np.nan, mean_se=FEW * np.nan)
    assert result[DIGITS][SURROGATE]["void"]


def test_ep_is_compared_in_deviations_of_the_exact_posterior_and_judged_by_itself():
    what = "digits: EP's posterior, largest shift of log l or log sigma in deviations"
    result = moved(made_up(), DIGITS, NUTS, sd=np.full(4, 2.0))
    result = moved(result, DIGITS, MAPPING, mean=np.array([0.1, -1.0]), sd=np.array([1.0, 3.0]))
    shift, ratio = script.ep_shifts(result[DIGITS])
    assert [each.value for each in shift] == pytest.approx([0.05, -0.5], rel=1e-12)
    assert shift[1].se == pytest.approx(0.02 * 2**0.5 / 2, rel=1e-12)
    assert [each.value for each in ratio] == pytest.approx(np.log([1 / 2, 3 / 2]), rel=1e-12)
    # relative errors of both deviations
    assert ratio[0].se == pytest.approx(np.hypot(0.03 / 1, 0.03 / 2), rel=1e-12)
    assert ratio[1].se == pytest.approx(np.hypot(0.03 / 3, 0.03 / 2), rel=1e-12)
    assert what in changed(result) and not result[DIGITS][MAPPING]["void"]
    assert changed(moved(made_up(), DIGITS, MAPPING, mean=np.array([0.1, -0.5]))) == {what}
    assert "-0.500 (0.014)" in script.table(result)


@pytest.mark.parametrize(("name", "method", "unit", "log_per", "claims"), [
    (DIGITS, RMHMC, "second", 2.0, [f"second, {a} / {RMHMC}" for a in (SSHMC, SURROGATE)]),
    (LOGISTIC, RMHMC, "second", 2.0, [f"second, {SSHMC} / {RMHMC}"]),
    (DIGITS, NUTS, "second", -1.0, [f"second, {NUTS} / {SSHMC}"]),
    (LOGISTIC, NUTS, "second", -1.0, [f"second, {NUTS} / {SSHMC}"]),
    (DIGITS, MAPPING, "work", -5.0, [f"n^3/3 operations, {MAPPING} / {NUTS}"]),
    (DIGITS, SURROGATE, "second", -1.0, [f"second, {SURROGATE} / {RMHMC}"])])
def test_an_efficiency_that_is_another_changes_its_claims(name, method, unit, log_per, claims):
    result = made_up()
    result[name][method]["per"][unit] = Measured(log_per, 0.05)
    assert changed(result) == {f"{name}: log(ESS per {each})" for each in claims}


def test_the_second_of_two_may_be_too_short_and_the_first_may_not():
    for method, silent in ((RMHMC, False), (SSHMC, True)):
        result = moved(made_up(), DIGITS, method, ess=np.full(4, 5 * ENOUGH - 1.0))
        found = script.log_ess_ratio(result, DIGITS, SSHMC, RMHMC)
        assert np.isnan(found.value) == silent and (silent or found.value == 1)


def test_the_summary_has_methods_by_problems():
    result = made_up()
    for name, first in ((DIGITS, 0.1), (LOGISTIC, 0.3)):
        for k, each in enumerate(result[name].values()):
            each["per"] |= {"work": Measured(np.log(first + k / 100)),
                            "second": Measured(np.log(10 * first + k / 10))}
    result = moved(result, DIGITS, RMHMC, ess=FEW)
    result = moved(result, LOGISTIC, MAPPING, mean=np.full(4, 9.0))
    rows = read_table(script.summary(result))
    assert [*rows[0]] == ["method", "digits: per 1000 n^3/3", "per CPU second",
                          "logistic: per 1000 passes", "per CPU second per CPU second"]
    assert [[*row.values()] for row in rows] == [
        [SSHMC, "100", "1", "300", "3"],
        [RMHMC, "110 ?", "1.1 ?", "310", "3.1"],
        [SURROGATE, "120", "1.2", "", ""],
        [NUTS, "130", "1.3", "320", "3.2"],
        [MAPPING, "140 *", "1.4 *", "330 VOID", "3.3 VOID"]]


def test_each_number_stands_under_its_heading():
    result = made_up()
    for unit, x in (("work", 0.1), ("gradients", 0.2), ("densities", 0.3), ("second", 50.0)):
        result[DIGITS][RMHMC]["per"][unit] = Measured(np.log(x))
    rows = read_table(script.table(result), "problem")
    assert [(row["problem"], row["method"]) for row in rows] == [
        (name, method) for name in METHODS for method in METHODS[name]]
    assert rows[1] == dict(
        problem=DIGITS, method=RMHMC, setting="0.5, 2", values="899", squares="799", work="100",
        gradients="200", densities="300", factorisations="-", second="50", pilots="160",
        means="agrees") | {"set-up": "50", "|z|": "0"}
    # e^-2 per unit of work, e^-3 per gradient, e^1 per second, with their standard errors
    assert [rows[0][unit] for unit in ("work", "gradients", "second")] == [
        "135.3 (6.8)", "49.8 (2.5)", "2.72 (0.14)"]
    assert [(row["method"], row["setting"]) for row in rows if row["means"] == "reference"] == [
        (NUTS, "its own")] * 2
    assert [row["method"] for row in rows if row["means"] == "EP's posterior of phi"] == [MAPPING]


def test_each_point_of_the_figure_is_in_its_place():
    # one does not agree, of another it cannot be told
    hollow = [(DIGITS, SURROGATE), (LOGISTIC, RMHMC)]
    result = moved(made_up(), *hollow[0], mean=np.full(4, 9.0))
    fig = script.figure(moved(result, *hollow[1], ess=FEW))
    for name, left, right in zip(METHODS, fig.axes[::2], fig.axes[1::2], strict=True):
        assert ("n^3/3" in left.get_xlabel()) == (name == DIGITS) != ("passes" in left.get_xlabel())
        assert right.get_xlabel() == "per CPU second"
        for ax, middle in ((left, 1000 * np.exp(-2.0)), (right, np.e)):
            for y, (method, bar) in enumerate(zip(METHODS[name], ax.containers, strict=True)):
                x = middle * np.exp(MORE.get(method, 0.0))
                point, _, (ends,) = bar.lines
                np.testing.assert_allclose(point.get_xydata(), [[x, y]], rtol=1e-12)
                np.testing.assert_allclose(ends.get_segments()[0][:, 0],
                                           x * np.exp([-0.1, 0.1]), rtol=1e-12)
                assert (point.get_markerfacecolor() == "none") == ((name, method) in hollow)
                kind = (COLOURS[0], "o") if script.exact(name, method) else (COLOURS[1], "s")
                assert (point.get_color(), point.get_marker()) == kind
        assert [label.get_text() for label in left.get_yticklabels()] == list(METHODS[name])
        assert left.get_title(loc="left") == name
    lines = [(line.get_color(), line.get_marker(), line.get_markerfacecolor() == "none")
             for line in fig.legends[0].get_lines()]
    assert lines == [(COLOURS[0], "o", False), (COLOURS[1], "s", False), (COLOURS[0], "o", True)]
    words = [text.get_text() for text in fig.legends[0].get_texts()]
    assert "EP" in words[1] and "cannot tell" in words[2]
    plt.close(fig)


@pytest.mark.parametrize(("pilots", "best"), [
    ([(200, 500, 0.8), (300, 500, 0.8), (300, 900, 0.8), (np.nan, 1, 0.8)], 1),
    # one that stands still is not picked if another does not
    ([(200, 500, 0.9), (300, 500, 0.5), (400, 500, 0.499)], 1),
    ([(200, 500, 0.9), (300, 500, 0.9), (400, 500, 0.5)], 2),
    ([(200, 500, 0.3), (300, 500, 0.4), (400, 500, 0.2)], 1)])
def test_the_pilot_with_the_most_per_work_of_those_that_move_is_picked(pilots, best):
    pairs = [(one(ess, 1e5, work, rate=rate), [k])
             for k, (ess, work, rate) in enumerate(pilots)]
    assert script.pick(pairs, HYPER[DIGITS]) == [best]
