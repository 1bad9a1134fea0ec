"""algorithms/zhang_sshmc.py: on the funnel and on a model both of whose masses vary."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import multivariate_normal

import algorithms.zhang_sshmc as module
from algorithms import generalised_leapfrog, hmc, rmhmc_within_gibbs
from algorithms import zhang_sshmc_fast as sshmc_fast
from algorithms.zhang_sshmc import H1, H2, abla_step, hamiltonian, leapfrog, sshmc_step
from conftest import Given
from coupled import coupled, exact_draw
from departing import departs
from differences import differences
from models import interface
from models.funnel import Funnel
from models.interface import U, grad_U, precompute_phi, precompute_theta
from reproduce.zhang.steps import THIRD_LEAPFROG

N = 3  # variables theta


def masses(theta, phi, model):
    """M_theta(phi) and M_phi(theta), dense, in NumPy."""
    if isinstance(model, Funnel):
        return np.exp(phi[0]) * np.eye(theta.size), model.L_phi @ model.L_phi.T
    b, w = model.b, np.array([1.0, theta[0]])
    return ((1 + np.exp(phi[1])) * np.eye(theta.size) + (1 + phi[0]**2) * np.outer(b, b),
            (1 + theta @ theta) * np.eye(2) + np.outer(w, w))


def H(theta, phi, r_theta, r_phi, model):
    """Minus the log of the joint density, in NumPy, up to a constant."""
    return U(np.concatenate([theta, phi]), model) - sum(
        multivariate_normal.logpdf(r, cov=M)
        for r, M in zip((r_theta, r_phi), masses(theta, phi, model), strict=True))


def problem(model, *q):
    rng = np.random.default_rng(2)
    return model, (*q, *(np.linalg.cholesky(M) @ rng.standard_normal(len(M))
                         for M in masses(*q, model)))


RNG = np.random.default_rng(3)
THETA, PHI, DATA = exact_draw(N, RNG)
PROBLEMS = {"funnel": problem(Funnel.from_size(N), RNG.standard_normal(N) * np.exp(-0.25),
                              np.array([0.5])), "coupled": problem(coupled(DATA), THETA, PHI)}
each_model = pytest.mark.parametrize(("model", "point"), PROBLEMS.values(), ids=PROBLEMS)
FUNNEL, AT = PROBLEMS["funnel"]


def blocks(model, point):
    """Phi and Theta, H_1 and H_2 at a point."""
    theta, phi, r_theta, r_phi = map(np.ascontiguousarray, point)
    Phi, Theta = precompute_phi(phi, model), precompute_theta(theta, model)
    return Phi, Theta, H1(model, Phi, r_phi), H2(model, Theta, r_theta)


def flat(point):
    return np.concatenate(point)


def parts(z, model):
    h = 1 if isinstance(model, Funnel) else 2
    return z[:N], z[N : N + h], z[N + h : 2 * N + h], z[2 * N + h :]


def moves(model, eps, steps=1, n_theta=1):
    """The map of some ABLA steps as Algorithm 1 has them, on vectors."""
    def move(z):
        point = parts(z, model)
        for _ in range(steps):
            point = abla_step(*point, model, eps / 2, eps, n_theta, 1)
        return flat(point)

    return move


def defect(move, z):
    """By how much a map fails to be symplectic."""
    Omega, J = np.kron([[0, 1], [-1, 0]], np.eye(z.size // 2)), differences(move, z).T
    return np.abs(J.T @ Omega @ J - Omega).max()


def back(z):
    """The same position with the momenta turned round."""
    return np.concatenate([z[: z.size // 2], -z[z.size // 2 :]])


@each_model
def test_the_hamiltonian_is_minus_the_log_of_the_joint_density(model, point):
    other = tuple(x + 0.3 for x in point)
    parts_of_H, expected = module.energy(*point, model), {"U": U(flat(point[:2]), model)}
    assert hamiltonian(*point, model) == pytest.approx(parts_of_H.H, rel=1e-14)
    assert hamiltonian(*other, model) - parts_of_H.H == pytest.approx(
        H(*other, model) - H(*point, model), rel=1e-11)
    for block, r, M in zip(("theta", "phi"), point[2:], masses(*point[:2], model), strict=True):
        expected[f"K_{block}"] = r @ np.linalg.solve(M, r) / 2
        expected[f"log_det_{block}"] = np.linalg.slogdet(M)[1] / 2
    assert parts_of_H._asdict() == pytest.approx(expected, rel=1e-13)


def leapfrog_by_hand(z, r, U_of_z, M, eps, n):
    """Equations (2a) to (2c), with differences for gradients."""
    for _ in range(n):
        r = r - eps / 2 * differences(U_of_z, z)
        z = z + eps * np.linalg.solve(M, r)
        r = r - eps / 2 * differences(U_of_z, z)
    return z, r


def step_by_hand(theta, phi, r_theta, r_phi, model, eps_theta, eps_phi, n_theta, n_phi):
    """An ABLA step, in which the dense H less the kinetic energy is the potential energy."""
    for block in (1, 2, 1):
        M_theta, M_phi = masses(theta, phi, model)
        if block == 1:
            theta, r_theta = leapfrog_by_hand(
                theta, r_theta, lambda x, phi=phi, r=r_phi: H(x, phi, np.zeros(N), r, model),
                M_theta, eps_theta, n_theta)
        else:
            phi, r_phi = leapfrog_by_hand(
                phi, r_phi, lambda x, theta=theta, r=r_theta: H(theta, x, r, 0 * x, model),
                M_phi, eps_phi, n_phi)
    return theta, phi, r_theta, r_phi


@each_model
@pytest.mark.parametrize("settings", [(0.15, 0.3, 1, 1), (0.1, 0.2, 2, 3)])
def test_an_abla_step_is_that_by_hand(model, point, settings):
    ours, by_hand = (flat(step(*point, model, *settings)) for step in (abla_step, step_by_hand))
    np.testing.assert_allclose(ours, by_hand, rtol=0, atol=1e-8)  # of the differences


def assert_reversible(move, z, close):
    np.testing.assert_allclose(back(move(back(move(z)))), z, rtol=0, atol=close)
    # rounding of 1e-16 / h and h^4, in a determinant of entries of order 10
    assert np.linalg.det(differences(move, z)) == pytest.approx(1, abs=1e-9)


@each_model
@pytest.mark.parametrize("steps", [1, 10])
def test_steps_and_transitions_are_reversible_and_keep_volume(model, point, steps):
    # rounding, grown along the trajectory
    assert_reversible(moves(model, 0.3, steps, 2), flat(point), 1e-13 * steps)


@each_model
@pytest.mark.parametrize("eps", [0.3, 1.2])
def test_algorithm_1_is_the_general_step_with_one_leapfrog_of_each_and_one_eps(model, point, eps):
    here = there = point[:2]
    ours, theirs, accepted = np.random.default_rng(4), np.random.default_rng(4), 0
    for _ in range(50):
        *here, yes, error = sshmc_step(*here, model, eps, 3, ours)
        *there, also, other = module.sshmc_general_step(
            *there, model, eps / 2, eps, 3, 1, 1, theirs)
        assert (yes, error) == (also, other)
        np.testing.assert_array_equal(flat(here), flat(there))
        assert ours.bit_generator.state == theirs.bit_generator.state
        accepted += yes
    assert 0 < accepted < 50


@departs(1, -1)
def test_equation_5_the_sign_of_the_log_determinant(sign):
    for model, point in PROBLEMS.values():
        theta, phi, *r = point
        theta_, phi_ = theta + 0.3, phi - 0.2
        _, _, H_1, H_2 = blocks(model, point)
        others = (theta_, phi_, *r), (theta_, phi, *r), (theta, phi_, *r)  # (5), (7) and (10)
        density = [H(*other, model) - H(*point, model) for other in others]
        found = (hamiltonian(*others[0], model) - hamiltonian(*point, model),
                 U(theta_, H_1) - U(theta, H_1), U(phi_, H_2) - U(phi, H_2))
        np.testing.assert_allclose(found, density, rtol=0, atol=1e-12)  # rounding
        signed = [e.U + e.K_theta + e.K_phi + sign * (e.log_det_theta + e.log_det_phi)
                  for e in (module.energy(*at, model) for at in (point, *others))]
        np.testing.assert_allclose(np.array(signed[1:]) - signed[0], density, rtol=0, atol=1e-12)


@departs(sshmc_step, {"L1": """
    r_theta = momentum_theta(rng.standard_normal(theta.size), precompute_phi(phi, model), model)
    r_theta = velocity_theta(r_theta, precompute_phi(phi, model), model)
    r_phi = momentum_phi(rng.standard_normal(phi.size), precompute_theta(theta, model), model)
    r_phi = velocity_phi(r_phi, precompute_theta(theta, model), model)"""})
def test_line_1_the_precision_of_the_momentum_is_G(sshmc_step):
    # a minute step moves theta and phi by the time times M^-1 r: a root of M^-1, column by column
    eps = 1e-7
    for model, (theta, phi, *_) in PROBLEMS.values():
        moved = [sshmc_step(theta, phi, model, eps, 1, Given(e[:N], e[N:]))[:2]
                 for e in np.eye(N + phi.size)]
        for k, M in enumerate(masses(theta, phi, model)):
            root = np.column_stack([(end[k] - (theta, phi)[k]) / eps for end in moved])
            # forces times eps, and rounding over eps
            np.testing.assert_allclose(root @ root.T, np.linalg.inv(M), rtol=0, atol=1e-5)


@departs(sshmc_step, THIRD_LEAPFROG)
def test_the_third_leapfrog_starts_where_the_first_ended(sshmc_step):
    def move(z):
        theta, phi, r_theta, r_phi = parts(z, FUNNEL)
        asked = []
        step = replaced(sshmc_step, momentum_theta=lambda *_: r_theta,
                        momentum_phi=lambda *_: r_phi,
                        hamiltonian=lambda *point: asked.append(flat(point[:4])) or 0.0)
        step(theta, phi, FUNNEL, 0.3, 1, Given(np.zeros(N), np.zeros(1)))
        return asked[0]  # the energy of the proposal comes first

    assert_reversible(move, flat(AT), 1e-13)


@departs(sshmc_step, {"L8": """
    error = (hamiltonian(theta_l, phi_l, r_theta_l, r_phi_l, model)
             - hamiltonian(theta, phi, r_theta, r_phi, model))
    if u < min(1.0, np.exp(-error)):"""})
def test_an_energy_that_is_not_finite_is_rejected(sshmc_step):
    for energy in (np.inf, -np.inf, np.nan):
        energies = iter((energy, 0.0))  # of the proposal, and of where the chain is
        step = replaced(sshmc_step, hamiltonian=lambda *_, energies=energies: next(energies))
        theta, phi, accepted, error = step(*AT[:2], FUNNEL, 0.1, 1, Given(np.ones(N), np.ones(1)))
        assert theta is AT[0] and phi is AT[1] and not accepted and not np.isfinite(error)


def replaced(function, **others):
    """A copy of an interpreted function that finds other things by some names."""
    return type(function)(function.__code__, function.__globals__ | others)


@departs(False, True)
def test_section_4_2_a_step_is_not_symplectic(symplectic):
    for model, point in PROBLEMS.values():
        # differences leave 1e-9; of an integrator of order 2, what is not symplectic is of order 3
        found = [defect(moves(model, eps), flat(point)) for eps in (0.3, 0.15)]
        assert (found[0] < 1e-6) == symplectic
        assert 6 < found[0] / found[1] < 9
        # neither are its parts, whatever they are in a subspace
        def first(z, model=model):
            theta, phi, r_theta, r_phi = parts(z, model)
            theta, r_theta = leapfrog(theta, r_theta, blocks(model, parts(z, model))[2], 0.3, 1)
            return flat((theta, phi, r_theta, r_phi))

        assert (defect(first, flat(point)) < 1e-6) == symplectic


def exact_flow(model, point, time):
    def slope(_, z):
        theta, _, r_theta, r_phi = map(np.ascontiguousarray, parts(z, model))
        Phi, Theta, H_1, _ = blocks(model, parts(z, model))
        return flat([interface.velocity_theta(r_theta, Phi, model),
                     interface.velocity_phi(r_phi, Theta, model),
                     -grad_U(theta, H_1), -interface.grad_U2(Phi, Theta, r_theta, model)])

    return solve_ivp(slope, (0, time), flat(point), "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]


@departs(True, False)
def test_section_4_2_algorithm_1_tends_to_the_flow_of_H(tends):
    for model, point in PROBLEMS.values():
        exact = exact_flow(model, point, 2.0)
        errors, twice = ([np.abs(moves(model, 2 / steps, steps, n_theta)(flat(point)) - exact).max()
                          for steps in (20, 40, 80)] for n_theta in (1, 2))
        assert (errors[2] < 0.01) == tends
        assert np.divide(errors[:-1], errors[1:]) == pytest.approx(4, abs=0.2)  # order 2
        assert min(twice) > 0.5  # H_1 advances by twice the time: whatever the step


@departs(0, 1)
def test_section_4_3_without_the_auxiliary_potentials(which):
    # a Gibbs sampler tests a block by what its own flow keeps: nothing is rejected for fine steps
    point, own = [*AT], 0.0
    for k in (0, 1, 0):
        M = masses(*point[:2], FUNNEL)[k]

        def potential(z, k=k):
            return U(flat([z, point[1]] if k == 0 else [point[0], z]), FUNNEL)

        ends = point[k::2], leapfrog_by_hand(*point[k::2], potential, M, 0.01, 80)
        own += abs(np.subtract(*(potential(z) + r @ np.linalg.solve(M, r) / 2 for z, r in ends)))
        point[k::2] = ends[1]
    assert (own, abs(H(*point, FUNNEL) - H(*AT, FUNNEL)))[which] < 1e-3  # of order 2


def test_the_path_is_the_trajectory_with_its_energies():
    model, point = PROBLEMS["coupled"]
    path = module.abla_path(*point, model, 0.1, 0.2, 4, 2, 3)
    assert path.theta.shape == (5, N) and path.phi.shape == path.r_phi.shape == (5, 2)
    for k in range(5):
        expected = module.energy(*point, model)
        np.testing.assert_array_equal([field[k] for field in path.energy], expected)
        assert path.energy.H[k] == pytest.approx(hamiltonian(*point, model), rel=1e-14)
        np.testing.assert_array_equal(path.theta[k], point[0])
        np.testing.assert_array_equal(path.r_theta[k], point[2])
        point = abla_step(*point, model, 0.1, 0.2, 2, 3)


@pytest.mark.parametrize("twin", [module, sshmc_fast])
def test_counts_are_what_was_done(twin):
    model, (theta, phi, *_) = PROBLEMS["coupled"]
    model.calls[:] = 0
    counts = twin.sshmc.compiled(theta, phi, model, 0.1, 0.1, 4, 5, np.random.default_rng(0), 2, 3,
                                 0.0, np.arange(N)).counts
    assert [counts.factor_theta, counts.factor_phi, counts.gradient_theta,
            counts.gradient_phi] == model.calls.tolist()


@pytest.mark.parametrize("twin", [module, sshmc_fast])
@pytest.mark.parametrize(("eps", "size"), [(1e200, "none"), (1e20, "huge"), (20.0, "finite")])
def test_trajectories_that_diverge_are_rejected_and_counted(twin, eps, size):
    theta, phi, *_ = AT
    with pytest.warns(RuntimeWarning, match="none of 10 proposals was accepted; 10 of"
                                            " them diverged"):
        chain = twin.sshmc(theta, phi, FUNNEL, eps, 1e-200, 1, 10, np.random.default_rng(0))
    assert chain.divergences == 10
    finite = np.isfinite(chain.energy_error)
    assert finite.all() if size != "none" else not finite.any()
    assert size != "huge" or chain.energy_error.min() > 1e135
    np.testing.assert_array_equal(chain.theta, np.tile(theta, (10, 1)))
    np.testing.assert_array_equal(chain.phi, np.tile(phi, (10, 1)))


@pytest.mark.parametrize(("record", "divergences"), [
    (module.Chain, 5), (rmhmc_within_gibbs.Chain, 5), (generalised_leapfrog.Chain, 3),
    (hmc.Chain, 3)])
def test_divergences_are_errors_that_are_not_finite_and_here_above_a_thousand(record, divergences):
    error = np.array([[0.0, np.nan, np.inf, -np.inf], [1e135, 1001.0, 999.0, -2000.0]])
    chain = record(**dict.fromkeys(record._fields) | {"energy_error": error})
    assert chain.divergences == divergences


def test_bad_arguments_of_a_path_are_named():
    good = dict(theta=AT[0], phi=AT[1], r_theta=AT[2], r_phi=AT[3], model=FUNNEL, eps_theta=0.1,
                eps_phi=0.1, L=2)
    for name, value in (("r_theta", np.zeros(2)), ("r_phi", [np.nan]), ("L", 0), ("eps_phi", 0.0),
                        ("n_theta", 0), ("n_phi", 0.5), ("eps_theta", None)):
        with pytest.raises(ValueError, match=f"^{name} must"):
            module.abla_path(**(good | {name: value}))
