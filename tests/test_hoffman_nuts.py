"""NUTS: both samplers balance exactly on an orbit, and have the law of their target.

On an orbit, the points that leapfrogs reach, everything that is random is a direction or a draw
among points: transition probabilities are enumerated from the samplers' own code, interpreted.
"""

import math
from itertools import pairwise
from types import FunctionType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import chi2

from algorithms import hoffman_nuts as mirror
from algorithms import hoffman_nuts_fast as twin
from algorithms.ess import ess
from algorithms.hmc import state_at, warn_if_none_accepted
from conftest import Given
from departing import departs
from enumeration import outcomes
from models.gaussian import Gaussian
from models.interface import U, grad_U
from models.logistic_regression import LogisticRegression
from models.mixture import gaussian_mixture

MIXTURE = gaussian_mixture([0.6, 0.4], [[0.0, 0.0], [1.6, 1.2]],
                           [[[1.0, 0.7], [0.7, 1.0]], [[0.6, -0.3], [-0.3, 0.5]]])
NORMAL = Gaussian(np.zeros(1), np.eye(1))
X = np.array([[-1.0], [-0.5], [0.1], [0.4], [1.5], [2.0]])
LOGISTIC = LogisticRegression.from_data(X, [0, 1, 0, 1, 1, 1], 1.5, 2.0)
UNIT, WIDE = (twin.Diagonal(np.array(each), False) for each in ([1.0, 1.0], [0.5, 2.0]))
ONE = twin.Diagonal(np.ones(1), False)
TILTED = np.array([[1.5, 0.4], [0.4, 0.8]])
MASSES = {"unit": UNIT, "diagonal": WIDE,
          "dense": twin.Dense(TILTED, np.linalg.cholesky(TILTED))}


def interpreted(module):
    """Return the functions of a module, none of them compiled, which call each other."""
    own = dict(vars(module))
    for name, each in vars(module).items():
        code = getattr(each, "py_func", each)
        if isinstance(code, FunctionType) and code.__module__ == module.__name__:
            own[name] = FunctionType(code.__code__, own, name, code.__defaults__)
    return SimpleNamespace(**own)


MIRROR, TWIN = interpreted(mirror), interpreted(twin)


class Pit(NamedTuple):
    """A normal density with another energy, minus the depth, where |q_0| is beyond the edge."""

    depth: float
    edge: float = 1.0


U.register(Pit)(lambda q, model: -model.depth if abs(q[0]) > model.edge else q @ q / 2)
grad_U.register(Pit)(lambda q, model: q)


def scripted(normal):
    """Return what gives the interpreter this normal always, and zeros for all else."""
    return Given(np.array([normal]), exponential=0.0)


ROWS = np.array([0, 1, 2, 4, 7])  # apart by 1 to 7, as points of a tree of 8 can be


def orbit(eps, mass):
    """Return the Points of a trajectory from 7 before one of them to 14 after it."""
    points = [TWIN.point_at(state_at(np.array([0.3, -0.4]), MIXTURE), np.array([0.9, 0.7]), mass)]
    for _ in range(7):
        points.insert(0, TWIN.leapfrog(points[0], -eps, MIXTURE, mass))
    for _ in range(14):
        points.append(TWIN.leapfrog(points[-1], eps, MIXTURE, mass))
    return points


def probabilities(points, step):
    """Return the rows ROWS of the matrix of step(point, rng) -> (q, depth), and all depths."""
    where, depths = np.array([point.state.q for point in points]), set()
    P = np.zeros((ROWS.size, len(points)))
    for row, i in enumerate(ROWS):
        for (q, depth), probability in outcomes(lambda rng, i=i: step(points[7 + i], rng)):
            (j,) = np.flatnonzero(np.abs(where - q).max(axis=1) < 1e-8)
            P[row, j] += probability
            depths.add(depth)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    return P, depths


def assert_balanced(P, weights):
    flow = weights[7 + ROWS][:, None] * P[:, 7 + ROWS]
    np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-10 * flow.max())
    assert np.count_nonzero(flow - np.diag(np.diag(flow))) >= 4  # or nothing has been seen


@pytest.mark.parametrize(("eps", "mass", "depths"), [
    (0.25, "unit", {3}), (0.6, "diagonal", {1, 2, 3}), (0.6, "dense", {1, 2, 3}),
    (1.2, "unit", {1, 2})])
def test_the_twin_is_reversible_on_an_orbit(eps, mass, depths, monkeypatch):
    points, asked = orbit(eps, MASSES[mass]), []
    monkeypatch.setitem(TWIN.nuts_step.__globals__, "leapfrog",
                        lambda *given: asked.append(given) or TWIN.leapfrog(*given))

    def step(point, rng):
        # z such that the momentum is the point's: p = D^-1 z or L^-T z
        sd = MASSES[mass]
        rng.standard_normal = lambda size: (
            sd.factor.T @ point.p if mass == "dense" else point.p * np.sqrt(sd.variances))
        asked.clear()
        found = TWIN.nuts_step(point.state, MIXTURE, eps, sd, rng, 3)
        assert found.gradients == len(asked) >= 2**found.depth - 1
        return found.state.q, found.depth

    P, seen = probabilities(points, step)
    assert_balanced(P, np.exp(-np.array([point.H for point in points])))
    assert seen == depths


@pytest.mark.parametrize("eps", [0.25, 0.6, 1.2])
@pytest.mark.parametrize("below", [0.05, 0.4])
def test_the_mirror_is_reversible_on_an_orbit_given_the_slice(eps, below):
    points = orbit(eps, UNIT)
    joint = -np.array([point.H for point in points])
    log_u = joint[7 + ROWS].min() - below

    def step(point, rng):
        rng.standard_normal = lambda size: point.p
        rng.standard_exponential = lambda: -point.H - log_u
        found = MIRROR.nuts_step(point.state.q, MIXTURE, eps, 3, rng)
        return found.theta, found.depth

    P, _ = probabilities(points, step)
    assert_balanced(P, np.ones(len(points)))
    assert not P[:, joint < log_u].any()


def tree(p, rho, last):
    """Return a tree in one dimension whose ends have momenta p and last, its mass being 4."""
    first, last = (SimpleNamespace(p=np.array([x]), v=np.array([x]) / 4) for x in (p, last))
    return SimpleNamespace(first=first, last=last, rho=np.array([rho]))


@pytest.mark.parametrize(("a", "b", "goes_on"), [
    ((1, 2, 1), (1, 2, 1), True),
    ((1, 6, 5), (1, -3, 1), True),  # a momentum, not a velocity
    ((1, -3, 1), (5, 6, 1), True),
    ((1, 2, 1), (-2, -4, -2), False),
    ((1, 2, 1), (1, -3, 1), False),  # rho of the whole
    ((1, 5, 1), (-1, 5, 1), False),  # the first point of b
    ((1, 5, -1), (1, 5, 1), False),  # the last point of a
    ((1, 3, 1), (1, -2, 1), False),  # the last of a, and rho of b
    ((1, -2, 1), (1, 3, 1), False),
    ((1, -2, 1), (1, 5, 5), False),  # the first of b, not its last
    ((5, 5, 1), (1, -2, 1), False)])  # the last of a, not its first
def test_a_turn_is_seen_in_the_whole_and_between_the_halves(a, b, goes_on):
    assert TWIN.no_turn(tree(*a), tree(*b)) == goes_on


def functions(q):
    return np.column_stack([q, q**2, q[:, 0] * q[:, 1]])


@pytest.mark.parametrize("run", [
    lambda rng: twin.nuts(np.zeros(2), LOGISTIC, 20_000, rng).samples,
    lambda rng: mirror.nuts_dual_averaging(np.zeros(2), LOGISTIC, 20_500, rng, 500).samples[500:],
    lambda rng: mirror.hmc_dual_averaging(np.zeros(2), LOGISTIC, 1.2, 20_500, rng,
                                          500).samples[500:]], ids=["twin", "mirror", "HMC"])
def test_chains_have_the_means_of_quadrature(run):
    grid = np.linspace(-9.0, 11.0, 201)
    q = np.array([(a, b) for a in grid for b in grid])
    w = np.exp(-np.array([U(each, LOGISTIC) for each in q]))
    f = functions(run(np.random.default_rng(1)))
    effective = ess(f)
    z = (f.mean(axis=0) - w @ functions(q) / w.sum()) / (f.std(axis=0) / np.sqrt(effective))
    assert np.abs(z).max() < 4.9  # of five: a false alarm in 2e5
    assert effective.min() > 2000  # so that a bias of a tenth of a deviation is seen


def test_dual_averaging_is_what_is_computed_by_hand():
    eps, after = mirror.average(mirror.Averages(math.log(5.0), 0.1, -0.3, 3), 0.9, 0.8)
    gap = 0.1 * 13 / 14 - 0.1 / 14  # the fourth transition: 1 / (4 + 10)
    log_eps = math.log(5.0) - 2 * gap / 0.05
    log_mean = log_eps / math.sqrt(8) + (1 - 1 / math.sqrt(8)) * -0.3  # 4^-.75 is 8^-.5
    assert (eps, *after) == pytest.approx(
        (math.exp(log_eps), math.log(5.0), gap, log_mean, 4), rel=1e-14)
    assert mirror.dual_averaging(0.5) == pytest.approx((math.log(5.0), 0.0, 0.0, 0))


@pytest.mark.parametrize("sd", [1e-3, 0.7, 40.0])
def test_a_step_is_found_between_two_whose_rates_are_on_both_sides(sd):
    model, q = Gaussian(np.zeros(1), np.eye(1) / sd**2), np.array([0.5 * sd])

    def rate(eps):
        p = np.array([1.2])
        return math.exp(MIRROR.log_joint(*MIRROR.leapfrog(q, p, eps, model), model)
                        - MIRROR.log_joint(q, p, model))

    half = MIRROR.find_reasonable_epsilon(q, model, scripted(1.2))
    step, count = TWIN.find_step(state_at(q, model), model, 1.0, ONE, scripted(1.2))
    for found, level in ((half, 0.5), (step, 0.8)):
        assert math.log2(found) == round(math.log2(found))
        other = 2 * found if rate(1.0) <= level else found / 2  # the one before
        assert (rate(found) > level) != (rate(other) > level)
    assert count == abs(math.log2(step)) + 1


@departs(mirror.find_reasonable_epsilon, {  # which has no end
    "L4": "while a * log_ratio > a * np.log(0.5) and eps < 1e300:"})
def test_the_search_of_a_step_ends_on_a_flat_density(find):
    flat = Gaussian(np.zeros(1), np.zeros((1, 1)))
    state = state_at(np.zeros(1), flat)
    assert 1e149 < TWIN.find_step(state, flat, 1.0, ONE, scripted(1.0))[0] < 1e151
    assert 1e149 < find(np.zeros(1), flat, scripted(1.0)) < 1e151


@pytest.mark.parametrize(("warm_up", "ends"), [
    (1000, [75, 100, 150, 250, 450, 850]), (250, [75, 100]), (300, [75, 100, 150]),
    (299, [75, 149]), (100, [15, 85]), (20, [3, 17]), (19, [19]), (0, [0])])
def test_windows_double_and_the_last_one_is_stretched(warm_up, ends):
    assert twin.window_ends(warm_up).tolist() == ends


def of_logistic(rng):
    """Draw q from the prior and classes given it; return q and a chain of the posterior."""
    q = rng.standard_normal(2) / np.sqrt(LOGISTIC.precision)
    y = (rng.random(6) < 1 / (1 + np.exp(-LOGISTIC.X @ q))).astype(float)
    return q, twin.nuts(np.zeros(2), LOGISTIC._replace(y=y), 190, rng, 200)


def of_normal(rng):
    """Draw q from N(0, I) and y from N(A q, I / 4); return q and a chain with a dense mass."""
    q, A = rng.standard_normal(3), np.array([[1.0, 0.5, 0.0], [0.3, -1.0, 2.0]])
    precision = np.eye(3) + 4 * A.T @ A
    mean = np.linalg.solve(precision, 4 * A.T @ (A @ q + rng.standard_normal(2) / 2))
    return q, twin.nuts(np.zeros(3), Gaussian(mean, precision), 190, rng, 200, "dense")


@pytest.mark.parametrize("replicate", [of_logistic, of_normal])
def test_what_the_data_were_drawn_from_has_every_rank_among_the_draws_as_often(replicate):
    # simulation-based calibration of the whole call, its warm-up included
    rng, ranks = np.random.default_rng(4), []
    for _ in range(400):
        q, chain = replicate(rng)
        ranks.append((chain.samples[9::10] < q).sum(axis=0))  # 0 to 19
    for each in np.transpose(ranks):
        counts = np.bincount(each // 2, minlength=10)  # 40 in each of ten
        assert chi2(9).sf(((counts - 40) ** 2 / 40).sum()) > 1e-5  # of a false alarm


def test_each_window_has_a_mass_and_an_average_of_the_steps_of_its_own():
    rng, ends = np.random.default_rng(1), twin.window_ends(300)  # 75, 100, 150
    now = twin.begin_warm_up(np.zeros(1), NORMAL, rng, 300, ONE, ends)
    for begin, end in pairwise(ends):
        now = twin.continue_warm_up(now, NORMAL, end - now.t, rng, 0.8, 5, ends)
        assert now.averages == twin.dual_averaging(now.eps)
        assert now.mass == twin.learn(now.draws[begin:end], now.slopes[begin:end], ONE)
    chain = twin.nuts(np.zeros(1), NORMAL, 1, np.random.default_rng(1), 300, deepest=5)
    assert chain.mass == now.mass


def test_a_mass_is_the_variance_of_a_window_and_a_little_of_the_unit():
    draws = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 0.0]])
    expected = 3 / 8 * np.cov(draws.T) + 5 / 8 * 1e-3 * np.eye(2)
    slopes = np.array([[1.0, 3.0], [-1.0, 3.0], [3.0, 3.0]])
    assert twin.learn(draws, slopes, UNIT).variances == pytest.approx(np.diag(expected), rel=1e-14)
    # 2 and 2 are the deviations of the first variable; the second one's gradient never moves
    fisher = twin.learn(draws, slopes * [2.0, 1.0], WIDE._replace(fisher=True))
    assert fisher.variances == pytest.approx([0.5, 2.0], rel=1e-14) and fisher.fisher
    # a variable that does not move, whose gradient does, has no ratio either
    still = twin.learn(draws * [1.0, 0.0], slopes[:, [0, 0]], WIDE._replace(fisher=True))
    assert still.variances == pytest.approx([1.0, WIDE.variances[1]], rel=1e-14)
    found = twin.learn(draws, slopes, MASSES["dense"])
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-14)
    np.testing.assert_allclose(found.factor @ found.factor.T, expected, rtol=1e-14)


@pytest.mark.parametrize("mass", MASSES.values(), ids=MASSES)
def test_momenta_have_the_covariance_that_makes_velocities_their_gradient(mass):
    A = np.column_stack([twin.momentum(each, mass) for each in np.eye(2)])
    W = np.column_stack([twin.velocity(each, mass) for each in np.eye(2)])
    np.testing.assert_allclose(A @ A.T @ W, np.eye(2), atol=1e-14)


def test_a_run_finds_scales_and_step():
    sd = np.array([0.01, 1.0, 50.0])
    model = Gaussian(np.zeros(3), np.diag(sd**-2.0))
    chain = twin.nuts(sd, model, 2000, np.random.default_rng(2), mass="dense")
    ratio = np.sqrt(np.diag(chain.mass.covariance)) / sd
    # 1e-3 * 5 / 505 is a variance of a tenth of that of the first
    assert 0.8 < ratio.min() and (ratio < [3.2, 1.2, 1.2]).all()
    assert 0.7 < chain.rates.mean() < 0.95
    assert chain.divergences == 0 and chain.depths.max() <= 3
    assert chain.gradients.sum() < chain.counts.gradient - 1000
    H = chain.total_energies
    assert chain.e_bfmi == pytest.approx((np.diff(H)**2).mean() / H.var())
    assert (H > chain.energies).all()
    assert chain.energies[-1] == pytest.approx(U(chain.samples[-1], model), rel=1e-12)


def test_a_run_has_the_rate_that_is_wanted_and_trees_as_deep_as_they_may_be():
    chain = twin.nuts(np.zeros(2), LOGISTIC, 500, np.random.default_rng(3), 300, target=0.95,
                      deepest=1)
    assert chain.depths.max() == 1 and 0.92 < chain.rates.mean() < 0.98


@departs(mirror.nuts_step, {"L5": "while s == 1:"})
def test_a_tree_is_no_deeper_than_it_may_be(step):
    found = TWIN.nuts_step(state_at(np.array([0.1]), NORMAL), NORMAL, 0.02,
                           ONE, np.random.default_rng(0), 3)
    assert found.depth == 3 and found.gradients == 7 and not found.divergent
    assert found.rate == pytest.approx(1.0, abs=1e-3)
    found = step(np.array([0.1]), NORMAL, 0.02, 3, np.random.default_rng(0))
    assert found.depth == 3 and found.leapfrogs == 7


@departs(mirror.nuts_step, {"L2": """
    joint_0 = log_joint(theta_0, r_0, model)
    with np.errstate(divide="ignore"):
        log_u = np.log((1.0 - rng.random()) * np.exp(joint_0))
"""})
def test_the_slice_is_right_where_the_density_underflows(step):
    # U is 800; the error of H has the sign of the change of q^2, and time runs backwards: one leads
    # out of the slice, which is at the energy of the start, and the other one into it
    start = np.array([40.0])
    with pytest.MonkeyPatch.context() as patch:  # compiled code takes no such generator
        patch.setitem(step.__globals__, "build_tree", MIRROR.build_tree)
        assert step(start, NORMAL, 0.01, 1, scripted(-1.0)).theta == start
        assert step(start, NORMAL, 0.01, 1, scripted(1.0)).theta != start


@departs(mirror.build_tree, {"L3": """
    joint = -U(theta_, model) - r_ @ r_ / 2
    n_ = int(log_u <= joint)
"""})
def test_a_point_whose_energy_is_minus_infinity_is_never_drawn(build):
    found = build(np.array([0.9]), np.array([1.0]), -2.0, 1, 0, 0.5, -0.9, Pit(np.inf),
                  scripted(1.0))
    assert found.n == found.s == 0 and found.far == 1


@pytest.mark.parametrize("depth", [np.inf, np.nan, -np.inf, -1001.0])
def test_a_divergence_ends_a_trajectory_and_its_points_are_not_drawn(depth):
    state = state_at(np.array([0.9]), Pit(depth))  # time runs forwards where a uniform is 0
    found = TWIN.nuts_step(state, Pit(depth), 0.5, ONE, scripted(1.0))
    assert found.divergent and found.depth == 0 and found.gradients == 1
    assert found.state.q == 0.9 and found.rate == 0.0
    # 999 below the slice is not too far
    assert not TWIN.nuts_step(state, Pit(-999.0), 0.5, ONE, scripted(1.0), 1).divergent


@pytest.mark.parametrize("steps", [1e200, 1e3])
def test_the_mirror_counts_divergences(steps):
    with np.errstate(all="ignore"):
        found = MIRROR.nuts_step(np.array([0.9]), NORMAL, steps, 10, np.random.default_rng(1))
    assert found.divergent and found.theta == 0.9 and found.alpha == 0.0 and found.depth == 1
    # two points at 0.4 and 0.8, and one at 1.1, in the second half of a tree of four
    tree = MIRROR.build_tree(np.zeros(1), np.array([2.0]), -3.0, 1, 2, 0.2, -2.0, Pit(np.inf),
                             scripted(1.0))
    assert (tree.n, tree.s, tree.far) == (2, 0, 1)


@departs(mirror.nuts_dual_averaging, {"L7": """
    if m == warm_up + 1:
        eps = np.exp(averages.log_mean)
"""})
def test_adaptation_of_the_mirror_ends_with_the_warm_up(run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(run.__globals__, "nuts_step", MIRROR.nuts_step)  # nothing is compiled
        long, none = (run(np.zeros(1), NORMAL, n, np.random.default_rng(1), warm_up, 0.9, eps, 2)
                      for n, warm_up, eps in ((40, 30, 0.0), (3, 0, 0.7)))
    for chain, target in (
            (long, 0.9),
            (MIRROR.hmc_dual_averaging(np.zeros(1), NORMAL, 2.0, 40, np.random.default_rng(1), 30,
                                       0.8), 0.8)):
        assert np.unique(chain.steps[30:]).size == 1 and np.unique(chain.steps[:30]).size == 30
        averages, expected = mirror.dual_averaging(chain.steps[0]), []
        for rate in chain.rates[:30]:
            eps, averages = mirror.average(averages, rate, target)
            expected.append(eps)
        expected[29] = math.exp(averages.log_mean)
        assert chain.steps[1:31] == pytest.approx(expected, rel=1e-12)
        assert chain.depths.max() <= 2 and chain.rates.max() <= 1.0
    assert chain.leapfrogs.tolist() == np.maximum(1, np.round(2.0 / chain.steps)).tolist()
    assert none.steps.tolist() == [0.7] * 3  # the one that is given


class Column(NamedTuple):
    """A standard normal whose gradient is a column of a matrix."""


U.register(Column)(lambda q, model: q @ q / 2)
grad_U.register(Column)(lambda q, model: np.column_stack((q, q))[:, 0])


def test_a_gradient_in_another_order_than_that_of_c_is_refused():
    # of one variable it is in both, so that compiled code would be given another type than it has
    with pytest.raises(ValueError, match="grad_U of Column must return an array in C order"):
        twin.nuts(np.ones(1), Column(), 1, np.random.default_rng(1), warm_up=0)


@pytest.mark.parametrize(("change", "said"), [
    (dict(n=0), "n must be a whole"), (dict(n=2.0), "n must be .* the float 2.0"),
    (dict(rng=np.random.RandomState(1)), "rng must be a numpy.random.Generator"),
    (dict(deepest=-1), "deepest must be"), (dict(model=Gaussian), "model must be .* class G"),
    (dict(model=Gaussian(np.zeros(2), np.eye(2))), r"the last of .* \(2,\), not \(1,"),
    (dict(chain=None), "chain must be of type Chain .*, not NoneType")])
def test_what_a_chain_cannot_be_continued_with_is_refused_by_name(change, said):
    chain = twin.nuts(np.zeros(1), NORMAL, 2, np.random.default_rng(1), warm_up=0)
    given = dict(chain=chain, model=NORMAL, n=2, rng=np.random.default_rng(2))
    assert twin.continue_chain(**given).samples.shape == (2, 1)
    with pytest.raises(ValueError, match=f"^{said}"):
        twin.continue_chain(**given | change)


def test_a_chain_that_stands_is_warned_of():
    with pytest.warns(RuntimeWarning, match="none of 10 .*; 10 of them diverged: take a larger .*"
                                            ", and a warm_up of 250 or more, or begin"):
        twin.nuts(np.zeros(1), Pit(-np.inf, 0.0), 10, np.random.default_rng(1), warm_up=0)
    with pytest.warns(RuntimeWarning, match="of 10 trajectories diverged: take a larger target, "):
        twin.nuts(np.zeros(1), Pit(-np.inf, 0.2), 10, np.random.default_rng(1), warm_up=0)
    twin.nuts(np.zeros(1), Pit(-np.inf, 0.2), 9, np.random.default_rng(1), warm_up=0)  # too few
    made_up = warn_if_none_accepted(lambda k: SimpleNamespace(
        samples=np.arange(200.0)[:, None], divergences=k))
    made_up(2)
    with pytest.warns(RuntimeWarning, match="3 of 200 trajectories diverged"):
        made_up(3)  # more than one in a hundred
    twin.nuts(np.zeros(1), NORMAL, 10, np.random.default_rng(1), warm_up=0)
