"""Each *_fast.py makes the transitions of its mirror; EP's and discretizing chain's elsewhere."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import test_ep
from algorithms import paquet_rmhmc, paquet_rmhmc_fast
from algorithms import zhang_sshmc as sshmc
from algorithms import zhang_sshmc_fast as sshmc_fast
from algorithms.paquet_rmhmc import hamiltonian_and_gradient, riemann_metric
from algorithms.paquet_rmhmc_fast import geometry, metric_factor, trajectory
from algorithms.slice_sampling import Slice
from algorithms.wang_discretizing_chain import plan
from algorithms.wang_tempered_transitions import tempered_transitions_step
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from conftest import counted, one
from coupled import coupled, exact_draw
from models.funnel import Funnel
from models.gp_classification import GPClassification
from models.gp_regression import GPRegression
from models.gp_subset import GPSubset
from models.log_gaussian_cox import LogGaussianCox
from models.stochastic_volatility import StochasticVolatility
from normal import FAR, MODEL, NEAR, Q, subset


def problem(N, amplitude, beta, from_q):
    K, y = test_ep.problem(N, amplitude)
    if from_q:
        rng = np.random.default_rng(1)
        q = SimpleNamespace(tau=rng.random(N), nu=y * rng.random(N), converged=True)
        return GPClassification.from_ep(K, y, q, beta)
    return GPClassification.from_prior(K, y, beta)


def agree(fast, slow, close, *fields):
    for field in fields:
        np.testing.assert_allclose(getattr(fast, field), getattr(slow, field),
                                   rtol=close, atol=close)


@pytest.mark.parametrize("N", [1, 7, 70])
@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("from_q", [False, True])
def test_rmhmc_fast_makes_the_transitions_of_rmhmc(N, beta, from_q):
    model = problem(N, 1.0, beta, from_q)
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    x, accepted = np.zeros(N), 0
    for _ in range(40):  # one transition at a time, so that rounding cannot flip the rest
        slow = paquet_rmhmc.rmhmc(x, model, 5, 0.35, 1, ours)
        fast = paquet_rmhmc_fast.rmhmc(x, model, 5, 0.35, 1, theirs)
        # The mirror forms K - V'V: it loses |K| / |G^-1| of 1e-16, up to 1e-12 here, and five
        # leapfrog steps amplify that
        agree(fast, slow, 1e-9, "samples", "energies")
        agree(fast, slow, 1e-8, "energy_error", "accepted")
        assert ours.bit_generator.state == theirs.bit_generator.state
        x = slow.samples[0]
        accepted += slow.accepted[0]
    assert accepted > 20  # or most comparisons would be of a state with itself


@pytest.mark.parametrize("from_q", [False, True])
def test_where_lambda_underflows_they_agree(from_q):
    # samples from the paper's prior have |y x| up to 400: lambda is 0 on one side, 1 on the other
    model = problem(6, 5.1, 0.7, from_q)
    for seed in (3, 4, 5):
        x = model.L_K @ np.random.default_rng(seed).standard_normal(6)
        x *= 300 / np.abs(x).max()
        slow, fast = (twin.rmhmc(x, model, 3, 0.1, 1, np.random.default_rng(1))
                      for twin in (paquet_rmhmc, paquet_rmhmc_fast))
        assert slow.accepted[0] and fast.accepted[0]
        # K - V'V errs by 1e-16 |K| = 3e-12, and G^-1 p by that times momenta of some 100: by 3e-10
        # over a trajectory of length 0.3.  H changes by forces of up to 300 times as much
        agree(fast, slow, 1e-9, "samples")
        agree(fast, slow, 3e-7, "energy_error")


def start(x, model):
    """Return the Geometry at x, and its factor and a work array, which a trajectory may have."""
    L, work = np.empty_like(model.K), np.empty_like(model.K)
    s, ok = metric_factor(x, model, L)
    return geometry(x, s, L, ok, model, work), L, work


@pytest.mark.parametrize("direct", [True, False], ids=["factors", "conjugate gradients"])
@pytest.mark.parametrize("from_q", [False, True])
def test_the_path_solves_the_equations_of_the_generalised_leapfrog(from_q, direct, monkeypatch):
    monkeypatch.setattr(paquet_rmhmc_fast, "DIRECT", 8 if direct else 7)
    model, eps, path = problem(7, 1.0, 0.4, from_q), 0.2, np.empty((3, 2, 7))
    x, p = np.ones(7), np.random.default_rng(2).standard_normal(7)
    at, L, work = start(x, model)
    _, p_end, *_, factors = trajectory.py_func(at, p, model, 3, eps, 40, L, work, path)
    assert factors == (120 if direct else 6)
    for x_, half in path:
        metrics = [riemann_metric(place, model) for place in (x, x_)]
        before, after = (hamiltonian_and_gradient(*metric, half)[1] for metric in metrics)
        # 40 iterations leave nothing; the mirror's K - V'V loses up to four digits of 16
        np.testing.assert_allclose(half, p - eps / 2 * before, rtol=0, atol=1e-10)  # (13)
        np.testing.assert_allclose(x_, x + eps / 2 * (metrics[0][2] + metrics[1][2]) @ half,
                                   rtol=0, atol=1e-10)  # (14)
        x, p = x_, half - eps / 2 * after  # (15)
    np.testing.assert_allclose(p_end, p, rtol=0, atol=1e-10)


@pytest.mark.parametrize("from_q", [False, True])
def test_a_solution_is_moved_to_another_diagonal(from_q, monkeypatch):
    model, rng = problem(7, 1.0, 0.4, from_q), np.random.default_rng(3)
    at, *_ = start(np.ones(7), model)
    near, far, p = *(at.s**2 * (0.5 + rng.random((2, 7)))), rng.standard_normal(7)

    def solution(w):
        return np.linalg.solve(np.linalg.inv(model.K) + np.diag(w), p)

    moved = paquet_rmhmc_fast.moved_solution
    found, ok = moved(solution(near), p, near, far, at.s, at.L, model)
    assert ok
    np.testing.assert_allclose(found, solution(far), rtol=0, atol=1e-11 * np.abs(found).max())
    for most in (7, 8):  # seven conjugate directions are all there are; the eighth look sees that
        monkeypatch.setattr(paquet_rmhmc_fast, "MOST", most)
        assert moved.py_func(solution(near), p, near, far, at.s, at.L, model)[1] == (most == 8)
    # an iteration of the fixed point that is not solved has a factor of its own
    path, L, work = np.empty((3, 2, 2, 7)), *start(np.ones(7), model)[1:]
    monkeypatch.setattr(paquet_rmhmc_fast, "DIRECT", 7)
    monkeypatch.setattr(paquet_rmhmc_fast, "MOST", 40)
    for k, solved in enumerate(([True], [True, False], [False])):
        which = itertools.cycle(solved)
        monkeypatch.setattr(paquet_rmhmc_fast, "moved_solution", lambda *given, which=which: (
            moved.py_func(*given)[0], next(which)))
        again, *_ = start(np.ones(7), model)
        *_, factors = trajectory.py_func(again, p, model, 2, 0.2, 5, L, work, path[k])
        assert factors == (4, 7, 10)[k]
        np.testing.assert_allclose(path[k], path[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("from_q", [False, True])
def test_counts_of_rmhmc_fast_are_what_was_done(monkeypatch, from_q):
    model, l_max, t_max = problem(7, 1.0, 0.4, from_q), 3, 2
    names = ["factorise", "invert_lower", "whitened_factor", "trajectory"]
    done = counted(monkeypatch, paquet_rmhmc_fast, ["metric_factor", "geometry", "trajectory"],
                   dict.fromkeys(names, one))
    chain = paquet_rmhmc_fast.rmhmc.py_func(np.ones(7), model, l_max, 0.1, t_max,
                                            np.random.default_rng(0), 5)
    factors, inverses, whitened, trajectories = done.values()
    assert trajectories == t_max and chain.counts == (
        factors, inverses, factors + whitened, factors + inverses + 2 * whitened)


def hierarchical():
    """Models with a start each, and step sizes at which some proposals are rejected."""
    rng = np.random.default_rng(4)
    theta, phi, y = exact_draw(5, rng)
    v = np.array([-0.7])

    def start(n):
        return rng.standard_normal(n) * np.exp(-v[0] / 2), v

    return {"funnel": (Funnel.from_size(6), *start(6), 0.6, 1.4),
            "funnel, 100": (Funnel.from_size(100, 55.0), *start(100), 0.25, 0.4),
            "volatility": (StochasticVolatility.from_data(rng.standard_normal(6)),
                           rng.standard_normal(6), np.array([0.0, -0.5, 1.0]), 0.7, 0.25),
            "coupled": (coupled(y), theta, phi, 0.5, 1.0),
            "Cox process": (LogGaussianCox.from_counts(rng.poisson(4.0, (3, 3)), 3.5, "pixel",
                                                       [[1.0, 0.4], [0.4, 1.5]]),
                            3.5 + 0.5 * rng.standard_normal(9), np.array([-0.4, -0.5]), 0.1, 0.3)}


@pytest.fixture
def mirror(monkeypatch):
    """Return the mirror, interpreted but for what it calls of a model, which is compiled anyway."""
    for name in ("leapfrog", "kinetic", "energy", "hamiltonian", "abla_step", "sshmc_general_step"):
        monkeypatch.setattr(sshmc, name, getattr(sshmc, name).py_func)
    return lambda *arguments, **named: sshmc.sshmc.py_func(
        *sshmc.check_sshmc(*arguments, **named))


@pytest.mark.parametrize(("L", "n_theta", "n_phi", "jitter"), [
    (1, 1, 1, 0.0), (4, 1, 1, 0.3), (3, 2, 1, 0.0), (2, 3, 2, 0.5)])
@pytest.mark.parametrize("name", hierarchical())
def test_sshmc_fast_makes_the_transitions_of_sshmc(name, L, n_theta, n_phi, jitter, mirror):
    model, theta, phi, eps_theta, eps_phi = hierarchical()[name]
    ours, theirs, accepted = np.random.default_rng(3), np.random.default_rng(3), 0
    for _ in range(40):  # one transition at a time, so that rounding cannot flip the rest
        slow, fast = (run(theta, phi, model, eps_theta, eps_phi, L, 1, rng, n_theta, n_phi, jitter)
                      for run, rng in ((mirror, ours), (sshmc_fast.sshmc, theirs)))
        # rounding, which some twenty leapfrogs at large steps amplify
        agree(fast, slow, 1e-9, "theta", "phi", "energies", "energy_error", "accepted")
        assert ours.bit_generator.state == theirs.bit_generator.state
        theta, phi = slow.theta[0], slow.phi[0]
        accepted += slow.accepted[0]
    assert 10 < accepted


@pytest.mark.parametrize("name", hierarchical())
def test_a_whole_run_of_sshmc_is_the_same_with_rejections_between(name, mirror):
    model, theta, phi, eps_theta, eps_phi = hierarchical()[name]
    slow, fast = (run(theta, phi, model, 1.3 * eps_theta, 1.3 * eps_phi, 4, 60,
                      np.random.default_rng(1), jitter=0.2, keep=[4, 0])
                  for run in (mirror, sshmc_fast.sshmc))
    assert 0 < slow.accepted.sum() < 60
    agree(fast, slow, 1e-7, "theta", "phi", "energies", "energy_error", "accepted", "divergences")


def approximated():
    """Models with layers and a start, and how far rounding takes the twin from the mirror."""
    rng = np.random.default_rng(5)
    X = rng.random((12, 2))
    gp = GPRegression.from_data(X, np.sin(3 * X[:, 0]) + 0.5 * rng.standard_normal(12), "ard")
    return {"one layer": (MODEL, (FAR,), Q, 0.0),  # to the last bit
            "three layers": (MODEL, (NEAR, subset(MODEL, 2), FAR), Q, 0.0),
            # with caches, whose energies are those from scratch up to rounding
            "regression": (gp, tuple(GPSubset.from_model(gp, np.arange(m)) for m in (9, 6)),
                           np.log([0.5, 1.0, 0.4, 0.8]), 1e-10)}


@pytest.mark.parametrize("unit", ["variable", "sweep", "random"])
@pytest.mark.parametrize("name", approximated())
def test_tempered_transitions_fast_makes_the_transitions_of_tempered_transitions(name, unit):
    (model, layers, x, close), accepted = approximated()[name], []
    run = tempered_transitions_step.py_func if close else tempered_transitions_step
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(60):  # one iteration at a time, so that rounding cannot flip the rest
        (variables, at_random), path = plan(unit, x.size), [x]
        for each in variables:
            move = Slice(np.ones(x.size), 10, each, at_random)
            path.append(run(path[-1], (model, *layers), move, ours))
        fast = tempered_transitions(x, model, layers, 1.0, 1, theirs, unit)
        x, moved = path[-1], (np.diff(path, axis=0) != 0).any(axis=1).tolist()
        np.testing.assert_allclose(fast.samples[0], x, rtol=0, atol=close)
        assert fast.accepted.ravel().tolist() == moved
        assert ours.bit_generator.state == theirs.bit_generator.state
        accepted += moved
    assert 0.1 < np.mean(accepted) < 0.95
