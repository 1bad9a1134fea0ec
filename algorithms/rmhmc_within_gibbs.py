"""RMHMC within Gibbs for hierarchical models: the parameters, then the hyperparameters, in turn.

In words    The parameters move by Hamiltonian Monte Carlo with the hyperparameters held still, then
            the hyperparameters with the parameters held still, each block with a mass matrix that
            suits its curvature.  It is valid as Gibbs sampling is: each move leaves the conditional
            density of its block invariant, by a Metropolis test of its own.  Use it where each
            block is easy to move given the other one and the two are not strongly dependent: the
            position of one block limits how far the other can move in a transition.
Paper       M. Girolami and B. Calderhead (2011), J. R. Statist. Soc. B 73, 123-214, Sections 8 and
            9; as the rival of Y. Zhang and C. Sutton (2014), "Semi-Separable Hamiltonian Monte
            Carlo for Inference in Bayesian Hierarchical Models", Sections 3 and 5.
Mirror      rmhmc_within_gibbs_step is what Zhang and Sutton say of the scheme, block_step the three
            steps of HMC of their Section 3, leapfrog their equations (2a) to (2c); the numbers of
            the lines are ours.  walk is generalised_leapfrog's trajectory with two limits.
Own lines   rmhmc_within_gibbs_step: each block has a test of its own, so what became of each has to
            be recorded here, with the work; the arrays for that are made before line 1.

Each block has its own momentum, its own trajectory and its own Metropolis test.  Where the metric
does not depend on what moves, the trajectory is the leapfrog's; else the generalised one's:

model                   theta given phi                          phi given theta
funnel                  leapfrog, metric M_theta(phi)            leapfrog, constant M_phi
hierarchical logistic   generalised, group by group, with each   leapfrog, constant M_phi
                        group's Fisher information
stochastic volatility   leapfrog, metric M_theta(phi)            generalised, metric_phi
Cox process             leapfrog, metric fisher_theta(phi)       generalised, metric_phi
any other               leapfrog, metric fisher_theta(phi)       leapfrog, metric M_phi(theta)

Departures
----------
Zhang and Sutton (2014), Sections 3 and 5.2
    theirs  r ~ N(0, G^-1), and "the mass matrix for group i is G_i := I(x, theta)^-1"
    ours    r ~ N(0, G) with G = F + exp(-gamma) I, F = I(x, theta) the Fisher information; the
            velocity is G^-1 r
    why     with a precision of F^-1 the momentum's covariance is F, as here, where G is that
            covariance; F alone is singular where a group has few cases
    test    test_section_5_2_the_metric_is_the_covariance_of_the_momentum
Girolami and Calderhead (2011), Sections 8 and 9
    theirs  a fixed number of fixed-point iterations, in their program 3 for the position and 10 for
            the momentum, or 5 and 5
    ours    they end when nothing changes any more (tol; 0 is a fixed count), and every trajectory
            is run back; it is rejected where that does not lead to its start
    why     the integrator is reversible and preserves volume only in the limit of many iterations
    test    test_a_fixed_count_of_iterations_does_not_lead_back

Notation
--------
paper           here             shape       meaning
theta, phi      theta, phi       (n,) (h,)   parameters and hyperparameters
z, r            z, r             (d,)        position and momentum of the block that moves
G(z)                                         covariance of r: Girolami and Calderhead's metric
H               end.error        ()          Hamiltonian of a block given the other: its change
U               U, here.U        ()          potential energy of a block given the other
                here                         what H and its gradient need of one position
epsilon, L      eps, L                       step size and leapfrog steps of a block
"""

from typing import NamedTuple

import numpy as np

from algorithms.generalised_leapfrog import (
    Geometry,
    dH_dp,
    dH_dx,
    geometry,
    hamiltonian,
    metric_factor,
    relative_error,
    solve_13,
    solve_14,
)
from algorithms.hmc import draw_step, warn_if_none_accepted
from algorithms.zhang_sshmc import check_blocks
from models import validate
from models.hierarchical_logistic import (
    GroupGivenV,
    HierarchicalLogistic,
    add_sums,
    case_curvatures,
    margins,
)
from models.interface import (
    U,
    U_phi,
    U_prior,
    U_theta,
    dispatch,
    fisher_momentum,
    fisher_theta,
    fisher_velocity,
    grad_U,
    grad_U_phi,
    grad_U_theta,
    metric,
    metric_gradient_phi,
    metric_phi,
    momentum_phi,
    precompute_phi,
    precompute_theta,
    velocity_phi,
)
from models.jit import check_interrupt, njit, public
from models.linalg import invert_lower, log_det, solve_lower_matrix
from models.log_gaussian_cox import LogGaussianCox
from models.stochastic_volatility import StochasticVolatility


@njit
def rmhmc_within_gibbs_step(theta, phi, model, eps_theta, eps_phi, L_theta, L_phi, solver, rng):
    """One transition of RMHMC within Gibbs, which leaves exp(-U(theta, phi)) invariant.

    Mirror of Zhang and Sutton 2014, Sections 3 and 5.2: "alternating between theta and phi".

    theta, phi : (n,), (h,) float64   where the chain is; not modified
    rng        : Generator            advanced for each block by a normal per entry and one uniform

    Returns a Transition.
    """
    Phi, theta, k = precompute_phi(phi, model), theta.copy(), parts(model)
    accepted, failed = np.empty(k + 1, np.bool_), np.empty(k + 1, np.bool_)
    error, m, gradients, factors = np.empty(k + 1), theta.size // k, 0, 0
    # 1   for each part theta_i of theta that is independent of the others given phi
    for i in range(k):
        check_interrupt()
        # 2   theta_i <- a transition of RMHMC for p(theta_i | phi, y): L_theta steps of eps_theta
        part = theta[i * m : (i + 1) * m]
        part[:], accepted[i], end = block_step(part, block_theta(i, Phi, model),
                                               eps_theta, L_theta, solver, rng)
        # ours
        error[i], failed[i] = end.error, end.failed
        gradients += 1 + end.gradients
        factors += 1 + end.factors
    # 3   phi <- a transition of RMHMC for p(phi | theta, y): L_phi steps of eps_phi
    phi, accepted[k], end = block_step(phi, block_phi(precompute_theta(theta, model), model),
                                       eps_phi, L_phi, solver, rng)
    # ours
    error[k], failed[k] = end.error, end.failed
    counts = Counts(gradients, 1 + end.gradients, factors, 1 + end.factors)
    # 4   return theta, phi
    return Transition(theta, phi, accepted, error, failed, counts)


@njit
def block_step(z, block, eps, L, solver, rng):
    """One transition of HMC for one block, which leaves its conditional density invariant.

    Mirror of Zhang and Sutton 2014, Section 3, "three steps".

    Returns (where the block is next, accepted, End of the trajectory).
    """
    # 1   draw r ~ N(0, G(z))
    here = start_at(z, block)
    r = momentum(rng.standard_normal(z.size), here, block)
    # 2   z', r' <- L steps of the leapfrog, or of the generalised leapfrog where G depends on z
    end = trajectory(z, r, here, block, eps, L, solver)
    # ours
    possible = np.isfinite(end.error) and not end.failed
    # 3   with probability min(1, exp(H(z, r) - H(z', r'))):  return z'
    #     theirs  silent about an energy that is infinite or not a number, and about a trajectory
    #             that does not lead back
    #     ours    either is rejected; energies are counted in `divergences`
    #     why     a state of energy -inf would be accepted, and never left again; without a way
    #             back the chain would not be reversible
    #     test    test_an_energy_that_is_not_finite_is_rejected
    if rng.random() < min(1.0, np.exp(-end.error)) and possible:
        return end.z, True, end
    # 4   otherwise leave z unchanged
    return z, False, end


@njit
def leapfrog(z, r, here, block, eps, L, solver):
    """Take L leapfrog steps; return their End.

    Mirror of Zhang and Sutton 2014, equations (2a) to (2c), neighbouring half steps joined.
    """
    start, g = r @ velocity(r, block) / 2 + here.U, here.g
    # 1   r <- r - eps/2 grad U(z)
    r = r - eps / 2 * g
    # 2   for i = 1, ..., L
    for i in range(1, L + 1):
        check_interrupt()
        # 3   z <- z + eps G^-1 r
        z = z + eps * velocity(r, block)
        # 4   if i != L:  r <- r - eps grad U(z)
        g = grad_U(z, block)
        if i != L:
            r = r - eps * g
    # 5   r <- r - eps/2 grad U(z)
    r = r - eps / 2 * g
    # 6   return z, r
    return End(z, r @ velocity(r, block) / 2 + U(z, block) - start, False, L, 0)


# What they return and are given


class Counts(NamedTuple):
    """Evaluations over a whole run, those of running back included; a part of theta counts one."""

    gradient_theta: int  # of the gradient of H with respect to a part's position
    gradient_phi: int
    factor_theta: int  # metrics whose factors were asked for
    factor_phi: int


class Transition(NamedTuple):
    """One transition of all blocks."""

    theta: np.ndarray  # (n,)
    phi: np.ndarray  # (h,)
    accepted: np.ndarray  # (blocks,) bool
    error: np.ndarray  # (blocks,)
    failed: np.ndarray  # (blocks,) bool
    counts: Counts


class End(NamedTuple):
    """The end of a block's trajectory."""

    z: np.ndarray  # (d,)
    error: float  # H there minus H at its start
    failed: bool
    gradients: int  # evaluated after the start
    factors: int


class Solver(NamedTuple):
    """How the implicit equations of the generalised leapfrog are solved."""

    f_position: int
    f_momentum: int
    tol: float
    tol_back: float


# What moves given what: models for any sampler


class ThetaGivenPhi(NamedTuple):
    """theta given phi, with a metric that does not depend on theta."""

    model: NamedTuple
    Phi: NamedTuple  # precompute_phi
    F: NamedTuple  # fisher_theta


class PhiGivenTheta(NamedTuple):
    """phi given theta, with a metric that does not depend on phi."""

    model: NamedTuple
    Theta: NamedTuple  # precompute_theta


class MetricPhiGivenTheta(NamedTuple):
    """phi given theta, with metric_phi."""

    model: NamedTuple
    Theta: NamedTuple  # precompute_theta


@U.register(ThetaGivenPhi)
def theta_U(theta, block):
    """U_theta."""
    return U_theta(theta, block.Phi, block.model)


@grad_U.register(ThetaGivenPhi)
def theta_grad_U(theta, block):
    """Gradient of U_theta."""
    return grad_U_theta(theta, block.Phi, block.model)


@U.register(PhiGivenTheta)
def phi_U(phi, block):
    """U_phi."""
    return U_phi(precompute_phi(phi, block.model), block.Theta, block.model)


@grad_U.register(PhiGivenTheta)
def phi_grad_U(phi, block):
    """Gradient of U_phi."""
    return grad_U_phi(precompute_phi(phi, block.model), block.Theta, block.model)


@metric.register(MetricPhiGivenTheta)
def phi_metric(phi, block):
    """metric_phi."""
    return metric_phi(precompute_phi(phi, block.model), block.Theta, block.model)


@geometry.register(MetricPhiGivenTheta)
def phi_geometry(phi, L, block):
    """Evaluate U_phi, its gradient and the derivatives of metric_phi at phi."""
    Phi = precompute_phi(phi, block.model)
    dG = metric_gradient_phi(Phi, block.Theta, block.model)
    drift = grad_U_phi(Phi, block.Theta, block.model)
    L_inv = L.copy()
    invert_lower(L_inv)
    G_inv = L_inv.T @ L_inv
    for k in range(phi.size):
        drift[k] += 0.5 * (G_inv * dG[k]).sum()
    return Geometry(U_phi(Phi, block.Theta, block.model), log_det(L), L, drift, dG)


class GroupGeometry(NamedTuple):
    """As Geometry of algorithms/generalised_leapfrog.py, for one group of a logistic regression.

    dG_k = sum_j c_j y_j x_jk x_j x_j', so that w'dG_k w = sum_j c_j (x_j'w)^2 y_j x_jk: 4 N d
    operations for all k, with N cases and d weights, and no array of d^3 numbers.
    """

    U: float
    log_det_G: float
    L: np.ndarray  # (d, d)
    drift: np.ndarray  # (d,)
    c: np.ndarray  # (N,) or more: third derivatives of the cases' energies
    given: GroupGivenV


@geometry.register(GroupGivenV)
def group_geometry(w, L, given):
    """Evaluate U, its gradient and tr(G^-1 dG_k) = sum_j c_j |L^-1 x_j|^2 y_j x_jk."""
    model, i = given.model, given.i
    c = case_curvatures(margins(w, model, i, i + 1))[1]
    whitened = solve_lower_matrix(
        L, np.ascontiguousarray(model.X[:, model.starts[i] : model.starts[i + 1]]))
    leverage = np.zeros(c.size)
    for k in range(w.size):
        for j in range(whitened.shape[1]):
            leverage[j] += whitened[k, j] * whitened[k, j]
    drift = grad_U(w, given)
    add_sums(c * leverage / 2, model, i, i + 1, drift)
    return GroupGeometry(U(w, given), log_det(L), L, drift, c, given)


@dH_dx.register(GroupGeometry)
def group_dH_dx(here, p):
    """Gradient of H with respect to the group's weights.  (d,)."""
    given, gradient = here.given, here.drift.copy()
    t = margins(dH_dp(here.L, p), given.model, given.i, given.i + 1)
    add_sums(-0.5 * here.c * t * t, given.model, given.i, given.i + 1, gradient)
    return gradient


# Which blocks a model has


@njit
def one_part(model):
    """One: theta moves as a whole."""
    return 1


@njit
def theta_by_leapfrog(i, Phi, model):
    """All of theta, with the metric fisher_theta."""
    return ThetaGivenPhi(model, Phi, fisher_theta(Phi, model))


@njit
def phi_by_leapfrog(Theta, model):
    """phi, with the metric M_phi."""
    return PhiGivenTheta(model, Theta)


@njit
def phi_by_generalised_leapfrog(Theta, model):
    """phi, with the metric metric_phi."""
    return MetricPhiGivenTheta(model, Theta)


@dispatch(arg=0, default=one_part)
def parts(model):
    """How many parts of equal size theta has that are independent given phi, one after another."""


@dispatch(arg=2, default=theta_by_leapfrog)
def block_theta(i, Phi, model):
    """Return the model of part i of theta given phi."""


@dispatch(arg=1, default=phi_by_leapfrog)
def block_phi(Theta, model):
    """Return the model of phi given theta.

    A model with metric_phi and metric_gradient_phi registers phi_by_generalised_leapfrog here.
    """


block_phi.register(StochasticVolatility)(phi_by_generalised_leapfrog.py_func)
block_phi.register(LogGaussianCox)(phi_by_generalised_leapfrog.py_func)


@parts.register(HierarchicalLogistic)
def groups(model):
    """Its groups."""
    return model.starts.size - 1


@block_theta.register(HierarchicalLogistic)
def group_block(i, Phi, model):
    """One group's weights, with their Fisher information and the prior's precision."""
    return GroupGivenV(model, i, Phi.precision)


# A block's transition.  The default of the generic functions is the generalised leapfrog


@njit
def geometry_at(z, block):
    """Evaluate the metric's factor and all else: the `here` of the generalised leapfrog."""
    return geometry(z, metric_factor(z, block), block)


@njit
def momentum_of_metric(x, here, block):
    """L x."""
    return here.L @ x


class Walk(NamedTuple):
    """Where the generalised leapfrog ends."""

    z: np.ndarray  # (d,)
    r: np.ndarray  # (d,)
    here: NamedTuple  # geometry at z
    found: bool  # were all equations solved?
    gradients: int
    factors: int


@njit
def walk(z, r, here, block, eps, L, solver):
    """Take L steps of the generalised leapfrog, equations (13) to (15) of generalised_leapfrog.

    Girolami and Calderhead (2011), equations (16) to (18), with a limit for each of the two loops.
    """
    factors = 0
    for step in range(L):
        check_interrupt()
        r, found, _ = solve_13(here, r, eps, solver.f_momentum, solver.tol)
        if not found:
            return Walk(z, r, here, False, step, factors)
        z, factor, found, more = solve_14(z, r, here.L, block, eps, solver.f_position, solver.tol)
        factors += more
        if not found:
            return Walk(z, r, here, False, step, factors)
        here = geometry(z, factor, block)
        r = r - eps / 2 * dH_dx(here, r)
    return Walk(z, r, here, True, L, factors)


@njit
def run_and_return(z, r, here, block, eps, L, solver):
    """Take L steps of the generalised leapfrog, and if tol_back > 0 the way back as well."""
    there = walk(z, r, here, block, eps, L, solver)
    if not there.found:
        return End(z, np.nan, True, there.gradients, there.factors)
    error = hamiltonian(there.here, there.r) - hamiltonian(here, r)
    if not (solver.tol_back > 0 and np.isfinite(error)):
        return End(there.z, error, False, there.gradients, there.factors)
    back = walk(there.z, -there.r, there.here, block, eps, L, solver)
    gap = relative_error(back.z, z, there.z) + relative_error(back.r, -r, there.r)
    return End(there.z, error, not (back.found and gap <= solver.tol_back),
               there.gradients + back.gradients, there.factors + back.factors)


@dispatch(arg=1, default=geometry_at)
def start_at(z, block):
    """Return what a transition that starts at z needs of it."""


@dispatch(arg=2, default=momentum_of_metric)
def momentum(x, here, block):
    """A square root of the metric times x, which is N(0, G) if x is N(0, I).  (d,) -> (d,)."""


@dispatch(arg=3, default=run_and_return)
def trajectory(z, r, here, block, eps, L, solver):
    """Return the End of L steps from (z, r)."""


class Start(NamedTuple):
    """The `here` of the leapfrog."""

    U: float
    g: np.ndarray  # (d,) grad U


@start_at.register(ThetaGivenPhi)
def start_theta(z, block):
    """U_theta and its gradient."""
    return Start(U(z, block), grad_U(z, block))


@start_at.register(PhiGivenTheta)
def start_phi(z, block):
    """U_phi and its gradient."""
    return Start(U(z, block), grad_U(z, block))


@momentum.register(ThetaGivenPhi)
def draw_theta(x, here, block):
    """fisher_momentum."""
    return fisher_momentum(x, block.F, block.model)


@momentum.register(PhiGivenTheta)
def draw_phi(x, here, block):
    """momentum_phi."""
    return momentum_phi(x, block.Theta, block.model)


@dispatch(arg=1)
def velocity(r, block):
    """G^-1 r, for a metric that does not depend on what moves."""


@velocity.register(ThetaGivenPhi)
def velocity_of_theta(r, block):
    """fisher_velocity."""
    return fisher_velocity(r, block.F, block.model)


@velocity.register(PhiGivenTheta)
def velocity_of_phi(r, block):
    """velocity_phi."""
    return velocity_phi(r, block.Theta, block.model)


trajectory.register(ThetaGivenPhi)(leapfrog.py_func)
trajectory.register(PhiGivenTheta)(leapfrog.py_func)


# Chains

# of a model, which may have more
NEEDED = (precompute_phi, U_theta, grad_U_theta, U_phi, grad_U_phi, U_prior)


class Chain(NamedTuple):
    """The record of n transitions; the blocks are the parts of theta, usually one, and phi."""

    theta: np.ndarray  # (n, kept)
    phi: np.ndarray  # (n, h)
    energies: np.ndarray  # (n,) potential energies of the states, as of sshmc
    accepted: np.ndarray  # (n, blocks) bool
    energy_error: np.ndarray  # (n, blocks) H at the end of the trajectory minus H at its start
    failed: np.ndarray  # (n, blocks) bool: no solution found, or the trajectory did not lead back
    counts: Counts

    @property
    def divergences(self):
        """How many proposals' H was not finite, as without a solution, or rose by over 1000."""
        return int(np.sum(~np.isfinite(self.energy_error) | (self.energy_error > 1000)))


def warn_of_slopes(theta, phi, model):
    """Warn if derivatives by phi are not those of energy and metric, and refuse what is none."""
    Theta, kind = precompute_theta(theta, model), validate.class_name(type(model))
    if isinstance(block_phi(Theta, model), MetricPhiGivenTheta):  # phi_geometry writes into it
        validate.own_array(grad_U_phi, precompute_phi(phi, model), Theta, model)

    def at(function):
        return lambda x: function(precompute_phi(x, model), Theta, model)

    validate.warn_of_new_slope("phi0", f"U_phi and grad_U_phi of {kind}", at(U_phi),
                               at(grad_U_phi), phi)
    if type(model) in metric_gradient_phi.implementations:
        validate.warn_of_metric(f"metric_phi and metric_gradient_phi of {kind}", at(metric_phi),
                                at(metric_gradient_phi), phi)


def check_rmhmc_within_gibbs(theta0, phi0, model, eps_theta, eps_phi, L_theta, L_phi, n, rng,
                             jitter=0.0, keep=None, f_position=100, f_momentum=100, tol=1e-12,
                             tol_back=1e-8):
    """Check the arguments of rmhmc_within_gibbs; `keep` becomes an array of indices."""
    model = validate.model("model", model, *NEEDED)
    theta0, phi0 = check_blocks(theta0, phi0, model)
    warn_of_slopes(theta0, phi0, model)
    return (theta0, phi0, model, validate.real("eps_theta", eps_theta, 0.0, open_low=True),
            validate.real("eps_phi", eps_phi, 0.0, open_low=True),
            validate.count("L_theta", L_theta), validate.count("L_phi", L_phi),
            validate.count("n", n), validate.generator("rng", rng),
            validate.real("jitter", jitter, 0.0, 1.0), validate.indices("keep", keep, theta0.size),
            Solver(validate.count("f_position", f_position),
                   validate.count("f_momentum", f_momentum), validate.real("tol", tol, 0.0),
                   validate.real("tol_back", tol_back, 0.0)))


@warn_if_none_accepted
@public(check_rmhmc_within_gibbs)
@njit
def rmhmc_within_gibbs(theta0, phi0, model, eps_theta, eps_phi, L_theta, L_phi, n, rng, jitter,
                       keep, solver):
    """Run n transitions of RMHMC within Gibbs from (theta0, phi0); return a Chain.

    Parameters
    ----------
    theta0, phi0       : (n,), (h,) float64   where the chain starts; not modified
    model              : NamedTuple           a hierarchical model (models/interface.py)
    eps_theta, eps_phi : float > 0            step sizes of the blocks
    L_theta, L_phi     : int >= 1             leapfrog steps of a trajectory
    n                  : int >= 1             transitions
    rng                : Generator            advanced, per transition, by one uniform if
                                              jitter > 0, then as by rmhmc_within_gibbs_step
    jitter             : float in [0, 1]      both steps of a transition are multiplied by one
                                              factor from Uniform(1 - jitter, 1); default 0
    keep               : (kept,) int or None  which entries of theta are recorded; default all

    Where a block moves by the generalised leapfrog:

    f_position, f_momentum : int >= 1         fixed-point iterations at most; default 100
    tol                    : float >= 0       tolerance of the fixed points, 0 for always as many
                                              iterations; default 1e-12
    tol_back               : float >= 0       each trajectory is run back, and rejected if it misses
                                              its start by more than so much of the largest entry; 0
                                              leaves this out, at half the cost; default 1e-8

    Raises ValueError, naming the argument, for anything else.  Warns if none of ten proposals or
    more, those of all blocks together, is accepted.
    """
    blocks = parts(model) + 1
    theta, phi = theta0, phi0
    rows, columns = np.empty((n, keep.size)), np.empty((n, phi0.size))
    energies, energy_error = np.empty(n), np.empty((n, blocks))
    accepted, failed = np.empty((n, blocks), np.bool_), np.empty((n, blocks), np.bool_)
    g_theta, g_phi, f_theta, f_phi = 0, 0, 0, 0
    for t in range(n):
        check_interrupt()
        factor = draw_step(1.0, jitter, rng)
        step = rmhmc_within_gibbs_step(theta, phi, model, factor * eps_theta, factor * eps_phi,
                                       L_theta, L_phi, solver, rng)
        theta, phi = step.theta, step.phi
        rows[t], columns[t] = theta[keep], phi
        energies[t] = U_theta(theta, precompute_phi(phi, model), model) + U_prior(phi, model)
        accepted[t], energy_error[t], failed[t] = step.accepted, step.error, step.failed
        g_theta += step.counts.gradient_theta
        g_phi += step.counts.gradient_phi
        f_theta += step.counts.factor_theta
        f_phi += step.counts.factor_phi
    return Chain(rows, columns, energies, accepted, energy_error, failed,
                 Counts(g_theta, g_phi, f_theta, f_phi))
