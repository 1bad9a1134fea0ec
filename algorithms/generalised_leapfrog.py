"""Riemannian manifold HMC for any metric: the generalised leapfrog integrator and its sampler.

In words    It is Hamiltonian Monte Carlo with a mass matrix that changes with the position, as the
            curvature of the density does: each step solves two equations by iterating them.  Where
            they are solved, a step preserves volume and can be run backwards, and a Metropolis test
            makes up for the error of finite steps.  Each trajectory is run backwards as a check
            that it does return; volume is not checked.  Use it for densities of a few dozen
            variables whose scales differ from place to place; it takes the derivatives of the mass
            matrix, and a factorisation for every iteration.
Paper       M. Girolami and B. Calderhead (2011), J. R. Statist. Soc. B 73, 123-214, in the form of
            U. Paquet and M. Fraccaro (2016), Section 3, equations (10) to (15), whose Algorithm 1
            is the case of Gaussian process classification.
Mirror      generalised_leapfrog integrates by equations (13) to (15), of which solve_13 and
            solve_14 solve the implicit ones; rmhmc_step is the two steps of the Gibbs sampler of
            Section 2 with p ~ N(0, G(x)).  The paper has no algorithm for this general case: the
            numbers of the lines are ours.
Own lines   generalised_leapfrog: an equation that is not solved ends the trajectory, at either of
            two places, and says so; and the iterations are counted, as each factorises G.

Departures
----------
Paquet and Fraccaro (2016), Algorithm 1, the comment above its loops over f
    theirs  loops of f_max fixed-point iterations are reversible and preserve volume
    ours    they end when nothing changes any more (tol; 0 is a fixed count, as printed), and rmhmc
            runs every trajectory back
    why     both hold only for solutions of (13) and (14), in the limit f_max -> infinity
    test    test_trajectories_lead_back

Notation
--------
paper        here                    shape      meaning
x, p         x, p                    (d,)       position (the variable sampled) and momentum
x', p'       x_, p_                  (d,)       iterates towards the solutions of (14), (13)
-L(x)        U(x, model)             ()         potential energy, minus the log density
G(x)         metric(x, model)        (d, d)     metric tensor, the covariance of p given x
dG/dx_n      metric_gradient[n]      (d, d)     its derivatives
H            hamiltonian(here, p)    ()         U + log|G| / 2 + p' G^-1 p / 2, (11) without its
                                                constant, which cancels in (8)
grad_x H     dH_dx(here, p)          (d,)       dU/dx_n + tr(G^-1 dG_n) / 2 - w' dG_n w / 2
grad_p H     dH_dp(L, p)             (d,)       w = G^-1 p; at x and p `velocity`, at x' `velocity_`
epsilon      eps                     ()         step size
l_max        l_max                   ()         leapfrog steps in a trajectory
f_max        f_max                   ()         fixed-point iterations at most
t_max        t_max                   ()         transitions in a chain
             L                       (d, d)     lower Cholesky factor of G
             here                    Geometry   all that H and grad_x H need of one position
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import warn_if_none_accepted
from models import validate
from models.interface import U, dispatch, grad_U, metric, metric_gradient
from models.jit import check_interrupt, njit, public
from models.linalg import cholesky, invert_lower, log_det, solve_lower, solve_lower_transposed


def check_trajectory(x, p, model, l_max, eps, f_max=100, tol=1e-12):
    """Check the arguments of generalised_leapfrog."""
    model = validate.model("model", model, U, grad_U, metric, metric_gradient)
    x = check_start("x", x, model)
    return (x, validate.array("p", p, x.shape), model, validate.count("l_max", l_max),
            validate.real("eps", eps, 0, open_low=True), validate.count("f_max", f_max),
            validate.real("tol", tol, 0))


@public(check_trajectory)
@njit
def generalised_leapfrog(x, p, model, l_max, eps, f_max, tol):
    """Integrate Hamilton's equations of a non-separable H for a time l_max eps.

    Mirror of Paquet and Fraccaro 2016, equations (13) to (15).

    Parameters
    ----------
    x, p       : (d,) float64   start; not modified
    model      : NamedTuple     any model with U, grad_U, metric and metric_gradient
    l_max, eps : int >= 1, float > 0   steps, step size
    f_max      : int >= 1       iterations for each of (13) and (14); default 100
    tol        : float >= 0     stop once an iteration changes no entry by more than tol times the
                                largest entry; 0: always f_max iterations; default 1e-12

    Returns a Trajectory: the end point, or where an iteration failed (converged is False).
    Raises ValueError, naming the argument that is out of range or does not fit the model.
    """
    here = geometry(x, metric_factor(x, model), model)
    in_p = in_x = 0
    # 1   for l = 1, ..., l_max
    for step in range(l_max):
        check_interrupt()
        # 2   p <- the solution p' of (13)
        p, solved, iterations = solve_13(here, p, eps, f_max, tol)
        # ours
        in_p += iterations
        if not solved:
            return Trajectory(x, p, np.nan, False, step, in_p, in_x)
        # 3   x <- the solution x' of (14)
        x, L, solved, iterations = solve_14(x, p, here.L, model, eps, f_max, tol)
        # ours
        in_x += iterations
        if not solved:
            return Trajectory(x, p, np.nan, False, step, in_p, in_x)
        # 4   p <- p - eps/2 dH/dx(x, p)                              (15)
        here = geometry(x, L, model)
        p = p - eps / 2 * dH_dx(here, p)
    # 5   return x, p
    return Trajectory(x, p, hamiltonian(here, p), True, l_max, in_p, in_x)


@njit
def solve_13(here, p, eps, f_max, tol):
    """Solve (13), half a step of the momentum, by fixed-point iteration.

    Mirror of Paquet and Fraccaro 2016, equation (13); Algorithm 1, lines 13 to 17.

    Returns (p', solved, iterations): solved tells whether p' stands still, or for tol = 0 whether
    it is finite.
    """
    # 1   p' <- p
    p_ = p
    # 2   repeat
    for f in range(f_max):
        # ours
        last, iterations = p_, f + 1
        # 3   p' <- p - eps/2 dH/dx(x, p')
        p_ = p - eps / 2 * dH_dx(here, last)
        # 4   until p' no longer changes, or f_max times
        solved = stationary(p_, last, p, tol) if tol > 0 else finite(p_)
        if solved and tol > 0:
            break
    # 5   return p'
    return p_, solved, iterations


@njit
def solve_14(x, p, L, model, eps, f_max, tol):
    """Solve (14), a step of the position, by fixed-point iteration; L is the factor of G(x).

    Mirror of Paquet and Fraccaro 2016, equation (14); Algorithm 1, lines 18 to 25.

    Returns (x', factor of G(x'), solved, iterations), as solve_13.
    """
    # 1   x' <- x
    x_ = x
    # 2   v <- dH/dp(x, p);  v' <- v
    velocity = velocity_ = dH_dp(L, p)
    # 3   repeat
    for f in range(f_max):
        # ours
        last, iterations = x_, f + 1
        # 4   x' <- x + eps/2 (v + v')
        x_ = x + eps / 2 * (velocity + velocity_)
        # 5   v' <- dH/dp(x', p)
        L = metric_factor(x_, model)
        velocity_ = dH_dp(L, p)
        # 6   until x' no longer changes, or f_max times
        solved = stationary(x_, last, x, tol) if tol > 0 else finite(velocity_)
        if solved and tol > 0:
            break
    # 7   return x'
    return x_, L, solved, iterations


@njit
def rmhmc_step(x, model, l_max, eps, rng, f_max, tol, tol_back):
    """One transition of RMHMC, which leaves the density exp(-U) invariant.

    Mirror of Paquet and Fraccaro 2016, Section 2, steps 1 and 2, with the momentum of Section 3.

    From x, (d,), which is not modified; the other arguments are those of rmhmc.  rng is advanced
    by d normals, then one uniform.  Returns a Transition.
    """
    # 1   draw p ~ N(0, G(x))
    L = metric_factor(x, model)
    p = L @ rng.standard_normal(x.size)
    # 2   (x*, p*) <- l_max steps of (13) to (15) from (x, p)
    end = generalised_leapfrog(x, p, model, l_max, eps, f_max, tol)
    # ours
    back = way_back(x, p, end, model, l_max, eps, f_max, tol, tol_back)
    return_error, reversible, steps, iterations = back
    # 3   alpha <- min(1, exp(H(x, p) - H(x*, p*)))                   (8)
    energy_error = end.H - hamiltonian(geometry(x, L, model), p)
    alpha = np.exp(-energy_error)
    # 4   with probability alpha:  return x*
    #     theirs  silent about iterations that do not converge and energies that are not finite
    #     ours    either is rejected and counted, and so is a trajectory that does not lead back
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_a_proposal_of_energy_minus_infinity_is_rejected
    if rng.random() < alpha and np.isfinite(energy_error) and end.converged and reversible:
        return Transition(end.x, True, energy_error, True, return_error, True, steps,
                          iterations)
    # 5   otherwise:  return x
    return Transition(x, False, energy_error, end.converged, return_error, reversible,
                      steps, iterations)


class Geometry(NamedTuple):
    """The parts of H and of its gradient that depend on the position only."""

    U: float
    log_det_G: float
    L: np.ndarray  # (d, d) lower Cholesky factor of G
    drift: np.ndarray  # (d,) dU/dx_n + tr(G^-1 dG_n) / 2, the gradient at p = 0
    dG: np.ndarray  # (d, d, d), [n] is dG/dx_n


class Trajectory(NamedTuple):
    """Where the generalised leapfrog integrator ends, and what it took."""

    x: np.ndarray  # (d,)
    p: np.ndarray  # (d,)
    H: float  # the Hamiltonian there
    converged: bool  # were all fixed points found (tol > 0) or finite (tol = 0)?
    steps: int  # steps completed: l_max if converged
    momentum_iterations: int  # of equation (13), in all steps
    position_iterations: int  # of equation (14), each with one metric and one Cholesky factor


class Transition(NamedTuple):
    """One transition of RMHMC."""

    x: np.ndarray  # (d,) where the chain is next
    accepted: bool
    energy_error: float  # H at the end of the trajectory minus H at its start
    converged: bool  # of the trajectory
    return_error: float  # relative errors in x and p after running back, added; nan if not run
    reversible: bool  # is it within tol_back?  True if not checked
    steps: int  # steps completed, forward and back
    position_iterations: int  # forward and back


class Counts(NamedTuple):
    """Evaluations in a chain, those of running back included."""

    density: int
    gradient: int
    metric: int
    metric_gradient: int
    cholesky: int


class Chain(NamedTuple):
    """The states of a chain of RMHMC after each of t_max transitions, and how they came about."""

    samples: np.ndarray  # (t_max, d)
    energies: np.ndarray  # (t_max,) potential energies U of the samples
    accepted: np.ndarray  # (t_max,) bool
    energy_error: np.ndarray  # (t_max,) H(proposal) - H(start); nan or inf where it broke down
    not_converged: np.ndarray  # (t_max,) bool, rejected because a fixed point was not found
    not_reversible: np.ndarray  # (t_max,) bool, rejected because it did not lead back
    return_error: np.ndarray  # (t_max,) of Transition: inf if the way back did not converge
    counts: Counts

    @property
    def divergences(self):
        """How many proposals were rejected because their H was not finite or not found."""
        return int(np.sum(~np.isfinite(self.energy_error)))


@njit
def metric_factor(x, model):
    """Lower Cholesky factor of G(x), (d, d); all nan if G(x) is not positive definite.

    The nan travels on into momenta, positions and energies, none of which then passes a test.
    """
    return cholesky(metric(x, model))[0]


@njit
def geometry_of_tensors(x, L, model):
    """Evaluate the Geometry of x, given the factor L of G(x)."""
    dG = metric_gradient(x, model)
    drift = grad_U(x, model)
    L_inv = L.copy()
    invert_lower(L_inv)
    G_inv = L_inv.T @ L_inv  # wanted whole: its product with each of the d matrices dG_n
    for n in range(x.size):
        drift[n] += 0.5 * (G_inv * dG[n]).sum()
    return Geometry(U(x, model), log_det(L), L, drift, dG)


@dispatch(arg=2, default=geometry_of_tensors)
def geometry(x, L, model):
    """Return what H and its gradient need of x: by default a Geometry.

    A model may return a NamedTuple of its own, whose first three fields are U, log_det_G and L; it
    then has to register a dH_dx for that type.
    """


@njit
def dH_dp(L, p):
    """Gradient of H with respect to p, G^-1 p: the velocity.  (d,)."""
    return solve_lower_transposed(L, solve_lower(L, p))


@njit
def dH_dx_of_tensors(here, p):
    """Evaluate the gradient with the d matrices dG_n: 2 d^3 operations."""
    w = dH_dp(here.L, p)
    gradient = here.drift.copy()
    for n in range(p.size):
        gradient[n] -= 0.5 * (w @ (here.dG[n] @ w))
    return gradient


@dispatch(arg=0, default=dH_dx_of_tensors)
def dH_dx(here, p):
    """Gradient of H with respect to x, minus the right side of equation (12).  (d,)."""


@njit
def hamiltonian(here, p):
    """H(x, p), equation (11), without its constant."""
    return here.U + 0.5 * here.log_det_G + 0.5 * (p @ dH_dp(here.L, p))


@njit
def stationary(new, old, start, tol):
    """Did a fixed-point iteration move by at most tol times the largest entry of new and start?

    False if anything is not finite.  The scale includes the start, so that a fixed point near the
    origin does not ask for more digits than its terms have.
    """
    scale = 0.0
    for i in range(new.size):
        scale = max(scale, abs(new[i]), abs(start[i]))
    for i in range(new.size):
        if not abs(new[i] - old[i]) <= tol * scale < np.inf:
            return False
    return True


@njit
def finite(a):
    """Are all entries of the vector `a` finite?"""
    for value in a:
        if not np.isfinite(value):
            return False
    return True


def check_start(name, x, model):
    """Return `x` as a (d,) array if the model's functions agree with it and are finite there."""
    x = validate.state(name, x, model, gradient=True, matrix=metric, tensor=metric_gradient)
    d = x.size
    try:
        found = [np.shape(f(x, model)) for f in (U, grad_U, metric, metric_gradient)]
    except ValueError as error:  # NumPy's: a product of shapes that disagree
        raise ValueError(f"{name} has {d} entries, which does not fit the model: {error}") from None
    if found != [(), (d,), (d, d), (d, d, d)]:
        raise ValueError(f"{name} has {d} entries, but the model's U, grad_U, metric and"
                         f" metric_gradient there have shapes {found}")
    if not np.isfinite(U(x, model)) or not np.isfinite(metric_factor(x, model)).all():
        raise ValueError(f"{name} must be where U is finite and the metric positive definite")
    warn_of_slopes(x, model)
    return x


@njit
def relative_error(a, exact, other):
    """Largest error of a, relative to the largest entry of exact and of other; nan if a has one."""
    return np.abs(a - exact).max() / max(np.abs(exact).max(), np.abs(other).max())


@njit
def way_back(x, p, end, model, l_max, eps, f_max, tol, tol_back):
    """Run back from (end.x, -end.p), if tol_back > 0 and the way from (x, p) to there was found.

    Returns (return_error, reversible, steps, position_iterations): see Transition.
    """
    if not (tol_back > 0 and end.converged):
        return np.nan, True, end.steps, end.position_iterations
    back = generalised_leapfrog(end.x, -end.p, model, l_max, eps, f_max, tol)
    error = np.inf
    if back.converged:
        error = relative_error(back.x, x, end.x) + relative_error(back.p, -p, end.p)
    return (error, error <= tol_back, end.steps + back.steps,
            end.position_iterations + back.position_iterations)


def warn_of_slopes(x0, model):
    """Warn if the derivatives of the metric are not its own: validate.state has seen to U's."""
    kind = validate.class_name(type(model))
    validate.warn_of_metric(f"metric and metric_gradient of {kind}", lambda x: metric(x, model),
                            lambda x: metric_gradient(x, model), x0)


def check_chain(x0, model, l_max, eps, t_max, rng, f_max=100, tol=1e-12, tol_back=1e-8):
    """Check the arguments of rmhmc."""
    model = validate.model("model", model, U, grad_U, metric, metric_gradient)
    return (check_start("x0", x0, model), model, validate.count("l_max", l_max),
            validate.real("eps", eps, 0, open_low=True), validate.count("t_max", t_max),
            validate.generator("rng", rng), validate.count("f_max", f_max),
            validate.real("tol", tol, 0), validate.real("tol_back", tol_back, 0))


@warn_if_none_accepted
@public(check_chain)
@njit
def rmhmc(x0, model, l_max, eps, t_max, rng, f_max, tol, tol_back):
    """Run t_max transitions of RMHMC from x0; return a Chain.

    Parameters
    ----------
    x0         : (d,) float64   start; not modified
    model      : NamedTuple     any model with U, grad_U, metric and metric_gradient
    l_max, eps : int >= 1, float > 0   leapfrog steps of a trajectory, step size
    t_max      : int >= 1       transitions
    rng        : Generator      advanced by d normals, then one uniform, in each transition
    f_max      : int >= 1       fixed-point iterations; default 100
    tol        : float >= 0     tolerance of the fixed points, 0 for always f_max; default 1e-12
    tol_back   : float >= 0     each trajectory is run back, and rejected if it misses its start by
                                more than so much of the largest entry; 0 leaves this out, at half
                                the cost, but then only a small tol is exact; default 1e-8

    Raises ValueError, naming the argument that is out of range or does not fit the model.
    Warns if it accepts none of ten proposals or more.
    """
    samples, energies = np.empty((t_max, x0.size)), np.empty(t_max)
    energy_error, return_error = np.empty(t_max), np.empty(t_max)
    accepted, not_converged = np.empty(t_max, np.bool_), np.empty(t_max, np.bool_)
    not_reversible = np.empty(t_max, np.bool_)
    x, energy = x0, U(x0, model)
    steps, iterations, trajectories = 0, 0, 0
    for t in range(t_max):
        check_interrupt()
        step = rmhmc_step(x, model, l_max, eps, rng, f_max, tol, tol_back)
        x = step.x
        if step.accepted:
            energy = U(x, model)
        samples[t], energies[t], accepted[t] = x, energy, step.accepted
        energy_error[t], return_error[t] = step.energy_error, step.return_error
        not_converged[t], not_reversible[t] = not step.converged, not step.reversible
        steps += step.steps
        iterations += step.position_iterations
        trajectories += 2 if tol_back > 0 and step.converged else 1
    # each trajectory evaluates its start, and rmhmc_step does so once more for the momentum
    starts = trajectories + t_max
    counts = Counts(steps + starts + 1 + accepted.sum(), steps + starts, iterations + starts,
                    steps + starts, iterations + starts)
    return Chain(samples, energies, accepted, energy_error, not_converged, not_reversible,
                 return_error, counts)
