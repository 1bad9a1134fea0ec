"""algorithms/rmhmc_within_gibbs.py: each block against samplers of one block; the record."""

from typing import NamedTuple

import numpy as np
import pytest

from algorithms import generalised_leapfrog as leapfrog
from algorithms import rmhmc_within_gibbs as gibbs
from algorithms.generalised_leapfrog import dH_dx, dH_dx_of_tensors, geometry, metric_factor
from algorithms.hmc import hmc_step, state_at
from algorithms.rmhmc_within_gibbs import Counts, Solver, Walk, block_step, rmhmc_within_gibbs, walk
from conftest import Given
from departing import departs
from models import interface
from models.hierarchical_logistic import GroupGivenV, HierarchicalLogistic, information
from models.interface import GivenPhi, GivenTheta, U, fisher_theta, precompute_phi, precompute_theta
from models.linalg import solve_lower_transposed
from test_twins import hierarchical

EXACT = Solver(100, 100, 1e-12, 1e-8)
LOOPS = Solver(3, 10, 0.0, 0.0)  # the lineage's


def logistic(rng, sizes=(6, 1, 4), p=2, gamma=0.3):
    """A small problem, drawn from the model: (model, theta, phi)."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    X = np.column_stack([np.ones(group.size), rng.standard_normal((group.size, p - 1))])
    w = np.exp(gamma / 2) * rng.standard_normal((len(sizes), p))
    y = np.where(rng.random(group.size) < 1 / (1 + np.exp(-np.sum(X * w[group], axis=1))), 1, -1)
    return HierarchicalLogistic.from_data(X, y, group, lam=1.0), w.ravel(), np.array([gamma])


PROBLEMS = {name: found[:3] for name, found in hierarchical().items() if name != "funnel, 100"} | {
    "logistic": logistic(np.random.default_rng(4))}
GENERALISED = ("volatility", "Cox process")  # of phi
GROUP = GroupGivenV(PROBLEMS["logistic"][0], 0, 0.7)
W, R = np.array([0.3, -0.8]), np.array([0.9, 1.4])


def blocks_of_hmc(name):
    """Yield z, its block, the density given the other, both maps of the momentum, and the other."""
    model, theta, phi = PROBLEMS[name]
    Phi, Theta = precompute_phi(phi, model), precompute_theta(theta, model)
    if name != "logistic":  # in which theta has groups
        yield (theta, gibbs.block_theta(0, Phi, model), GivenPhi(model, phi),
               interface.fisher_momentum, interface.fisher_velocity, fisher_theta(Phi, model))
    if name not in GENERALISED:
        yield (phi, gibbs.block_phi(Theta, model), GivenTheta(model, theta),
               interface.momentum_phi, interface.velocity_phi, Theta)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_block_without_a_metric_of_its_own_moves_by_hmc(name):
    model = PROBLEMS[name][0]
    for z, block, given, draw, velocity, other in blocks_of_hmc(name):
        L_M, inverse = (np.column_stack([function(e, other, model) for e in np.eye(z.size)])
                        for function in (draw, velocity))
        e = np.random.default_rng(1).standard_normal(z.size)
        np.testing.assert_allclose(inverse, np.linalg.inv(L_M @ L_M.T),
                                   rtol=0, atol=1e-11)  # of a condition below 1e3
        # the same momentum through another root of G
        lower = np.linalg.cholesky(L_M @ L_M.T)
        r = Given(np.linalg.solve(lower, L_M @ e))
        for L in (1, 4):
            ours, accepted, end = block_step.py_func(z, block, 0.3, L, EXACT, Given(e))
            state, _, error = hmc_step.py_func(state_at(z, given), given, 0.3, L, lower, r)
            assert accepted and not end.failed and end.gradients == L
            np.testing.assert_allclose(ours, state.q, rtol=0, atol=1e-11)  # rounding
            assert end.error == pytest.approx(error, abs=1e-10)


def generalised_blocks():
    """Blocks that move by the generalised leapfrog, with the same density by another name."""
    return {"group": (W, GROUP, GROUP)} | {
        name: (z, gibbs.block_phi(precompute_theta(theta, model), model), GivenTheta(model, theta))
        for name, (model, theta, z) in PROBLEMS.items() if name in GENERALISED}


each_block = pytest.mark.parametrize(("z", "block", "given"), generalised_blocks().values(),
                                     ids=generalised_blocks())


@each_block
def test_a_block_with_a_metric_of_its_own_moves_by_rmhmc(z, block, given):
    for seed in range(3, 8):
        ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        there, accepted, end = block_step(z, block, 0.3, 4, EXACT, ours)
        step = leapfrog.rmhmc_step(z, given, 4, 0.3, theirs, 100, 1e-12, 1e-8)
        assert accepted == step.accepted
        assert end.failed == (not (step.converged and step.reversible))
        assert ours.bit_generator.state == theirs.bit_generator.state
        np.testing.assert_allclose(there, step.x, rtol=0, atol=1e-10)  # of the fixed points
        assert end.error == pytest.approx(step.energy_error, abs=1e-9, nan_ok=True)
        assert end.gradients == step.steps
        z = there


def start(z, block):
    here = geometry(z, metric_factor(z, block), block)
    return here.L @ np.linspace(-0.5, 1.0, z.size), here


@each_block
def test_two_limits_are_one_where_they_are_equal(z, block, given):
    r, here = start(z, block)
    for solver in (Solver(5, 5, 0.0, 0.0), EXACT):
        ours = walk(z, r, here, block, 0.3, 3, solver)
        theirs = leapfrog.generalised_leapfrog(z, r, given, 3, 0.3, solver.f_position, solver.tol)
        np.testing.assert_allclose(ours.z, theirs.x, rtol=0, atol=1e-12)  # rounding
        np.testing.assert_allclose(ours.r, theirs.p, rtol=1e-11, atol=1e-11)
        assert ours.factors == theirs.position_iterations
    # and are two where they are not
    *near, exact = (walk(z, r, here, block, 0.3, 1, Solver(*f, 0.0, 0.0)).z
                    for f in ((1, 60), (60, 1), (60, 60)))
    gaps = [np.abs(a - exact).max() for a in near]
    assert min(gaps) > 1e-6 and gaps[0] != gaps[1]


def test_a_step_that_is_not_solved_is_not_counted_but_its_factors_are():
    z, block, _ = generalised_blocks()["volatility"]
    for f_position, f_momentum, factors in ((100, 1, 0), (2, 100, 2)):
        end = walk(z, *start(z, block), block, 0.3, 3, Solver(f_position, f_momentum, 1e-12, 0.0))
        assert (end.found, end.gradients, end.factors) == (False, 0, factors)


@pytest.mark.parametrize(("in_z", "in_r", "found"), [
    (0.0, 0.0, True), (0.0, 0.0, False), (0.003, 0.0, True), (0.0, 0.003, True),
    (7e-4, 7e-4, True)])
def test_the_way_back_errs_in_the_position_and_in_the_momentum(in_z, in_r, found, monkeypatch):
    z, r = np.array([1.0, -2.0]), np.array([0.5, 4.0])
    ways = iter([Walk(z, r, None, True, 3, 5),
                 Walk(z * (1 + in_z), -r * (1 + in_r), None, found, 3, 6)])
    monkeypatch.setattr(gibbs, "walk", lambda *_: next(ways))
    monkeypatch.setattr(gibbs, "hamiltonian", lambda here, r: 0.0)
    end = gibbs.run_and_return.py_func(z, r, None, None, 0.1, 3, Solver(9, 9, 1e-12, 1e-3))
    assert end.failed == (in_z + in_r > 1e-3 or not found)
    assert (end.gradients, end.factors) == (6, 11)


@pytest.mark.parametrize("energy", [np.inf, np.nan])
def test_no_way_back_is_taken_from_an_energy_that_is_not_finite(energy, monkeypatch):
    z, r, energies = np.ones(2), np.ones(2), iter([energy, 0.0])
    monkeypatch.setattr(gibbs, "walk", lambda *_: Walk(z, r, None, True, 3, 5))
    monkeypatch.setattr(gibbs, "hamiltonian", lambda here, r: next(energies))
    end = gibbs.run_and_return.py_func(z, r, None, None, 0.1, 3, Solver(9, 9, 1e-12, 1e-3))
    assert not np.isfinite(end.error) and (end.failed, end.gradients, end.factors) == (False, 3, 5)


def test_a_groups_geometry_is_that_of_the_tensor():
    ours = geometry(W, metric_factor(W, GROUP), GROUP)
    theirs = leapfrog.geometry_of_tensors(W, metric_factor(W, GROUP), GROUP)
    assert ours.U == theirs.U and ours.log_det_G == theirs.log_det_G
    np.testing.assert_allclose(ours.drift, theirs.drift, rtol=0, atol=1e-14)
    np.testing.assert_allclose(dH_dx(ours, R), dH_dx_of_tensors(theirs, R), rtol=0, atol=1e-14)


def test_the_groups_move_one_after_the_other_and_then_phi_given_them():
    model, theta, phi = PROBLEMS["logistic"]
    ours, theirs = np.random.default_rng(8), np.random.default_rng(8)
    step = gibbs.rmhmc_within_gibbs_step(theta, phi, model, 0.4, 0.3, 3, 2, EXACT, ours)
    moved, found = [*theta.reshape(3, 2)], []
    assert gibbs.parts(model) == 3
    for i in range(3):
        given = GroupGivenV(model, i, np.exp(-phi[0]))
        moved[i], accepted, end = block_step(moved[i], given, 0.4, 3, EXACT, theirs)
        found.append((accepted, end.error, end.failed))
    given = gibbs.block_phi(precompute_theta(np.concatenate(moved), model), model)
    phi_, accepted, end = block_step(phi, given, 0.3, 2, EXACT, theirs)
    found.append((accepted, end.error, end.failed))
    np.testing.assert_array_equal(np.concatenate([step.theta, step.phi]), [*np.ravel(moved), *phi_])
    np.testing.assert_array_equal(np.transpose([step.accepted, step.error, step.failed]), found)
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert not np.array_equal(step.theta, theta) and not np.array_equal(phi_, phi)


@departs(gibbs.momentum, lambda x, here, block: solve_lower_transposed(here.L, x))
def test_section_5_2_the_metric_is_the_covariance_of_the_momentum(draw):
    model, theta, phi = PROBLEMS["logistic"]
    Fisher = information(theta, model)
    assert np.linalg.matrix_rank(Fisher[1]) == 1  # of one case: singular
    for i in range(3):
        block = gibbs.block_theta(i, precompute_phi(phi, model), model)
        here = gibbs.start_at(theta[2 * i : 2 * i + 2], block)
        L = np.column_stack([draw(e, here, block) for e in np.eye(2)])
        np.testing.assert_allclose(L @ L.T, Fisher[i] + np.exp(-phi[0]) * np.eye(2),
                                   rtol=0, atol=1e-14)  # rounding


@departs(EXACT, LOOPS)
def test_a_fixed_count_of_iterations_does_not_lead_back(solver):
    for z, block, _ in generalised_blocks().values():
        r, here = start(z, block)
        there = walk(z, r, here, block, 0.5, 5, solver)
        back = walk(there.z, -there.r, there.here, block, 0.5, 5, solver)
        # tol, relative to momenta of order 10, over ten steps
        np.testing.assert_allclose(back.z, z, rtol=0, atol=1e-9)
        np.testing.assert_allclose(back.r, -r, rtol=0, atol=1e-8)


class Pit(NamedTuple):
    """A block whose proposal is z + 1, with this change of H, which has or has not been found."""

    error: float
    failed: bool


gibbs.start_at.register(Pit)(lambda z, block: 0.0)
gibbs.momentum.register(Pit)(lambda x, here, block: x)


@gibbs.trajectory.register(Pit)
def pit_trajectory(z, r, here, block, eps, L, solver):
    return gibbs.End(z + 1.0, block.error, block.failed, 0, 0)


@departs(block_step, {
    "possible = np.isfinite(end.error) and not end.failed": "    possible = True"})
def test_an_energy_that_is_not_finite_is_rejected(step):
    z = np.zeros(2)
    for error, failed, moves in ((-5.0, False, True), (0.69, False, True), (0.7, False, False),
                                 (-np.inf, False, False), (np.nan, False, False),
                                 (np.inf, False, False), (0.0, True, False), (-5.0, True, False)):
        # the uniform is between exp(-0.69) and exp(-0.7)
        there, accepted, end = step(z, Pit(error, failed), 0.1, 1, EXACT, Given(z, uniforms=[0.5]))
        assert accepted == moves
        np.testing.assert_array_equal(there, z + moves)
        np.testing.assert_equal(end.error, error)


RUN = {"funnel": (0.9, 1.6, 2, 3), "coupled": (0.9, 1.0, 2, 3), "logistic": (0.9, 1.2, 3, 2),
       "volatility": (0.7, 0.8, 3, 2), "Cox process": (0.8, 0.8, 2, 2)}


@pytest.mark.parametrize(("name", "jitter"), [*((name, 0.3) for name in PROBLEMS), ("funnel", 0.0)])
def test_a_chain_is_its_transitions_drawn_in_the_order_that_is_stated(name, jitter):
    model, theta, phi = PROBLEMS[name]
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    eps_theta, eps_phi, L_theta, L_phi = RUN[name]
    n, total = 40, np.zeros(4, int)
    chain = rmhmc_within_gibbs(theta, phi, model, *RUN[name], n, ours, jitter, [2, 0])
    for t in range(n):
        factor = 1 - jitter * theirs.random() if jitter else 1.0
        step = gibbs.rmhmc_within_gibbs_step(theta, phi, model, factor * eps_theta,
                                             factor * eps_phi, L_theta, L_phi, EXACT, theirs)
        theta, phi = step.theta, step.phi
        for record, of in ((chain.theta, theta[[2, 0]]), (chain.phi, phi),
                           (chain.accepted, step.accepted), (chain.energy_error, step.error),
                           (chain.failed, step.failed)):
            np.testing.assert_array_equal(record[t], of)
        energy = U(np.concatenate([theta, phi]), model)
        if t == 0:
            apart = energy - chain.energies[0]  # a constant
        assert chain.energies[t] - energy == pytest.approx(-apart, abs=1e-9)  # rounding
        total += step.counts
    assert ours.bit_generator.state == theirs.bit_generator.state and chain.counts == tuple(total)
    assert chain.theta.shape == (n, 2)
    assert (chain.accepted.any(axis=0) & ~chain.accepted.all(axis=0)).all()  # all do both


def test_counts_are_what_was_done():
    n, f_x, rng = 7, 3, np.random.default_rng(0)
    model, theta, phi = PROBLEMS["coupled"]
    model.calls[:] = 0
    assert rmhmc_within_gibbs.compiled(theta, phi, model, 0.3, 0.2, 4, 2, n, rng, 0.0, np.arange(3),
                                       LOOPS).counts == Counts(5 * n, 3 * n, n, n)
    # precompute_phi: one for theta's block, of phi's two energies and three gradients one each, and
    # one for the energy of the record; precompute_theta: one for phi's block
    assert model.calls[:2].tolist() == [7 * n, n]
    model, theta, phi = PROBLEMS["logistic"]
    run = (theta, phi, model, 0.3, 0.2, 4, 2, n, rng, 0.0, None, f_x, 10)
    for tol_back, steps in ((0.0, 4), (1e9, 8)):  # and back
        assert rmhmc_within_gibbs(*run, 0.0, tol_back).counts == Counts(
            3 * (1 + steps) * n, 3 * n, 3 * (1 + steps * f_x) * n, n)


@pytest.mark.parametrize("name", ["logistic", *GENERALISED])
def test_what_does_not_lead_back_is_rejected_and_marked(name):
    model, theta, phi = PROBLEMS[name]
    chain = rmhmc_within_gibbs(theta, phi, model, *RUN[name], 10, np.random.default_rng(5),
                               f_position=2, f_momentum=2, tol=0.0, tol_back=1e-12)
    assert chain.failed.all(axis=0).tolist() == (
        [True] * 3 + [False] if name == "logistic" else [False, True])
    assert not chain.accepted[chain.failed].any() and np.isfinite(chain.energy_error).all()


@pytest.mark.parametrize("name", ["funnel", "logistic"])
def test_trajectories_that_diverge_are_rejected_and_counted(name):
    (model, theta, phi), eps = PROBLEMS[name], 1e200
    with pytest.warns(RuntimeWarning, match="none of .* proposals was accepted"):
        chain = rmhmc_within_gibbs(theta, phi, model, eps, eps, 3, 3, 10, np.random.default_rng(0))
    assert chain.divergences == chain.accepted.size
    np.testing.assert_array_equal(chain.theta, np.tile(theta, (10, 1)))
    np.testing.assert_array_equal(chain.phi, np.tile(phi, (10, 1)))
