"""Semi-separable Hamiltonian Monte Carlo, by the alternating block-wise leapfrog algorithm.

In words    Parameters and hyperparameters are given momenta together. Each of the two blocks moves
            by leapfrog steps of the joint Hamiltonian while the other block stands still, in turn,
            and the state after L such rounds is the proposal. It is valid because each round is
            reversible and preserves volume; one Metropolis test with the joint Hamiltonian corrects
            the error of the steps. Use it for hierarchical models in which a few hyperparameters
            set the scale of many parameters, so that Gibbs sampling moves slowly and no single step
            size suits HMC.
Paper       Y. Zhang and C. Sutton (2014), "Semi-Separable Hamiltonian Monte Carlo for Inference in
            Bayesian Hierarchical Models", Advances in Neural Information Processing Systems 27.
Mirror      sshmc_step is Algorithm 1, with its one eps, and leapfrog equations (2a) to (2c).  The
            paper numbers no lines: Algorithm 1's are counted here from "Sample" to "return".
            sshmc_general_step has a step size for each block and several leapfrogs, which Sections
            4.2 and 5.1 speak of; the chain is made of it.  Scripts run the twin,
            algorithms/zhang_sshmc_fast.py.

One convention: r ~ N(0, M), K(r) = r' M^-1 r / 2 + log |M| / 2, velocity M^-1 r.  The paper's G is
M^-1 where it is called a precision.  A model says what M_theta(phi) and M_phi(theta) are
(models/interface.py, "Hierarchical models").

Departures
----------
Equations (5), (7) and (10)
    theirs  + log |G| / 2, with G the precision of r
    ours    - log |G| / 2, which is + log |M| / 2
    why     "G_theta and G_phi are the precision matrices" (4.1) and K is -log N(r; 0, G^-1); the
            printed sign, which is right for a covariance G, gives v of the funnel mean 9 n
    test    test_equation_5_the_sign_of_the_log_determinant
Section 4.2
    theirs  "Because each leapfrog integrator is symplectic in a subspace of X, they are also
            symplectic in X", hence so is ABLA
    ours    it is not; it is reversible and of volume 1, which is all that the test needs
    why     the other block's energy depends on what moves, but its momentum is not kicked
    test    test_section_4_2_a_step_is_not_symplectic
Section 4.2
    theirs  "ABLA is actually not a discretized simulation" of H, for example if eps_1 = 2 eps_2
    ours    it is of order 2 if H_1 and H_2 advance by the same time, as in Algorithm 1; it is not
            in that example, nor by the readings of Section 5.1 in reproduce/zhang/funnel.py
    why     the three leapfrogs are a symmetric splitting of the flow of H
    test    test_section_4_2_algorithm_1_tends_to_the_flow_of_H
Section 4.3
    theirs  if the last two terms of (7) and (10) "are omitted from SSHMC and the Hamiltonians for
            pi(theta|phi), then we obtain HMC within Gibbs"
    ours    so it is if each block has its own momenta and test, by its own Hamiltonian
    why     with Algorithm 1's one test, by H, neither block keeps H: however small the step, it
            would reject
    test    test_section_4_3_without_the_auxiliary_potentials
Section 4.1
    theirs  pi(theta, phi) = log p(theta, phi | D)
    ours    pi(theta, phi) = p(theta, phi | D)
    why     U is -log pi
    test    a label

Notation
--------
paper                here             shape    meaning
theta, phi           theta, phi       (n,) (h,)  parameters and hyperparameters; the paper's m is h
r_theta, r_phi       r_theta, r_phi   (n,) (h,)  their momenta
G_theta, G_phi                                 precisions of the momenta; M = G^-1 is the mass
H_1, H_2             H_1, H_2                  (6) and (9): what moves, given what does not
U_1, U_2             U(z, H)          ()       (7) and (10)
A(r_theta|phi)       kinetic(r, H)    ()       r' M^-1 r / 2
                     momentum_theta   (n,)     a root of G_theta^-1 times standard normals
                     Phi, Theta                what is computed once from phi, from theta: factors
H                    hamiltonian      ()       (3)
theta^(l)            theta_l, ...     (n,)     where ABLA step l begins; lines 4 and 5 move it on
theta^(l+eps/2)      theta_half, ...  (n,)     where the first leapfrog ends
theta', phi'         theta_, phi_     (n,) (h,)  where the chain is next
epsilon, L           eps, L           ()       step size; ABLA steps of a transition
                     eps_theta, eps_phi  ()    (general) step sizes for H_1 and for H_2
                     n_theta, n_phi   ()       (general) leapfrogs for H_1 (twice) and H_2 in a step
"""

from typing import NamedTuple

import numpy as np

from algorithms.hmc import draw_step, warn_if_none_accepted
from models import validate
from models.interface import (
    U,
    U_phi,
    U_prior,
    U_theta,
    add_grad_auxiliary_phi,
    auxiliary_phi,
    auxiliary_theta,
    dispatch,
    grad_U,
    grad_U2,
    grad_U_theta,
    log_det_phi,
    log_det_theta,
    momentum_phi,
    momentum_theta,
    precompute_phi,
    precompute_theta,
    sizes,
    velocity_phi,
    velocity_theta,
)
from models.jit import check_interrupt, njit, public


@njit
def sshmc_step(theta, phi, model, eps, L, rng):
    """One transition of SSHMC, which leaves the density exp(-U(theta, phi)) invariant.

    Mirror of Zhang and Sutton 2014, Algorithm 1.

    Parameters
    ----------
    theta, phi : (n,), (h,) float64   where the chain is; not modified
    model      : NamedTuple           a hierarchical model (models/interface.py)
    eps, L     : float > 0, int >= 1  step size; ABLA steps
    rng        : Generator            advanced by n and then h normals, then one uniform

    Returns
    -------
    theta', phi' : (n,), (h,)   where the chain is next
    accepted     : bool         False too when the proposal's energy is infinite or nan
    error        : float        H at the end of the trajectory minus H at its start
    """
    # 1   sample r_theta ~ N(0, G_theta(phi, x)) and r_phi ~ N(0, G_phi(theta))
    #     theirs  r ~ N(0, G)
    #     ours    r ~ N(0, G^-1)
    #     why     G is the precision of r in 4.1; one of two conventions is to be kept, and either
    #             will do
    #     test    test_line_1_the_precision_of_the_momentum_is_G
    r_theta = momentum_theta(rng.standard_normal(theta.size), precompute_phi(phi, model), model)
    r_phi = momentum_phi(rng.standard_normal(phi.size), precompute_theta(theta, model), model)
    # ours: before the first ABLA step
    theta_l, phi_l, r_theta_l, r_phi_l = theta, phi, r_theta, r_phi
    # 2   for l in 1, 2, ..., L do
    #     theirs  an index l that goes from 1 to L and is advanced by eps
    #     ours    l counts ABLA steps
    #     why     theta^(L eps) is the state after L steps
    #     test    a label
    for _l in range(L):
        check_interrupt()
        # 3   (theta^(l+eps/2), r_theta^(l+eps/2)) <- leapfrog(theta^(l), r_theta^(l), H_1, eps/2)
        H_1 = H1(model, precompute_phi(phi_l, model), r_phi_l)
        theta_half, r_theta_half = leapfrog(theta_l, r_theta_l, H_1, eps / 2)
        # 4   (phi^(l+eps), r_phi^(l+eps)) <- leapfrog(phi^(l), r_phi^(l), H_2, eps)
        H_2 = H2(model, precompute_theta(theta_half, model), r_theta_half)
        phi_l, r_phi_l = leapfrog(phi_l, r_phi_l, H_2, eps)
        # 5   (theta^(l+eps), r_theta^(l+eps)) <- leapfrog(theta^(l), r_theta^(l), H_1, eps/2)
        #     theirs  starts from theta^(l) and r_theta^(l), the state before the first leapfrog
        #     ours    starts from theta^(l+eps/2) and r_theta^(l+eps/2), where the first ended
        #     why     as printed the step is neither reversible nor of volume 1
        #     test    test_the_third_leapfrog_starts_where_the_first_ended
        H_1 = H1(model, precompute_phi(phi_l, model), r_phi_l)
        theta_l, r_theta_l = leapfrog(theta_half, r_theta_half, H_1, eps / 2)
    # 6   end for
    # 7   draw u ~ U(0, 1)
    u = rng.random()
    # 8   if u < min(1, exp(H(theta, phi, r_theta, r_phi) - H(theta^(L eps), ...))) then
    #     theirs  silent about an energy that is infinite or not a number
    #     ours    such a proposal is rejected, and counted in `divergences`
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_an_energy_that_is_not_finite_is_rejected
    error = (hamiltonian(theta_l, phi_l, r_theta_l, r_phi_l, model)
             - hamiltonian(theta, phi, r_theta, r_phi, model))
    if u < min(1.0, np.exp(-error)) and np.isfinite(error):
        # 9   (theta', phi', r_theta', r_phi') <- (theta^(L eps), phi^(L eps), ...)
        theta_, phi_, accepted = theta_l, phi_l, True  # line 13 does not return the momenta
    # 10  else
    else:
        # 11  (theta', phi', r_theta', r_phi') <- (theta, phi, r_theta, r_phi)
        theta_, phi_, accepted = theta, phi, False
    # 12  end if
    # 13  return (theta', phi')
    return theta_, phi_, accepted, error


@njit
def leapfrog(z, r, H, eps, n=1):
    """Take n leapfrog steps, one in Algorithm 1, for one of the two separable Hamiltonians.

    Mirror of Zhang and Sutton 2014, equations (2a) to (2c).  The loop and the numbers are ours.

    z, r : (d,)       position and momentum of the block that moves; not modified
    H    : H1 or H2   the other block stands still in it
    """
    # 1   repeat n times
    for _ in range(n):
        # 2   r <- r - eps/2 grad_z U(z)                              (2a)
        r = r - eps / 2 * grad_U(z, H)
        # 3   z <- z + eps grad_r K(r)                                (2b)
        z = z + eps * velocity(r, H)
        # 4   r <- r - eps/2 grad_z U(z)                              (2c)
        r = r - eps / 2 * grad_U(z, H)
    # 5   return z, r
    return z, r


# The two Hamiltonians


class H1(NamedTuple):
    """H_1 of equation (6): phi and its momentum stand still."""

    model: NamedTuple
    Phi: NamedTuple  # precompute_phi
    r_phi: np.ndarray  # (h,)


class H2(NamedTuple):
    """H_2 of equation (9): theta and its momentum stand still."""

    model: NamedTuple
    Theta: NamedTuple  # precompute_theta
    r_theta: np.ndarray  # (n,)


@U.register(H1)
def H1_U(theta, H):
    """U_1 of equation (7)."""
    Theta = precompute_theta(theta, H.model)
    return U_theta(theta, H.Phi, H.model) + auxiliary_phi(H.r_phi, Theta, H.model)


@grad_U.register(H1)
def H1_grad_U(theta, H):
    """Gradient of U_1: where M_phi is constant, that of the model's U_theta."""
    g = grad_U_theta(theta, H.Phi, H.model)
    add_grad_auxiliary_phi(g, theta, H.r_phi, H.model)
    return g


@U.register(H2)
def H2_U(phi, H):
    """U_2 of equation (10)."""
    Phi = precompute_phi(phi, H.model)
    return U_phi(Phi, H.Theta, H.model) + auxiliary_theta(H.r_theta, Phi, H.model)


@grad_U.register(H2)
def H2_grad_U(phi, H):
    """Gradient of U_2: the model's grad_U2."""
    return grad_U2(precompute_phi(phi, H.model), H.Theta, H.r_theta, H.model)


@dispatch(arg=1)
def velocity(r, H):
    """M^-1 r, the gradient of the kinetic energy of H: (8) or (11)."""


@velocity.register(H1)
def H1_velocity(r, H):
    """Gradient of K_1."""
    return velocity_theta(r, H.Phi, H.model)


@velocity.register(H2)
def H2_velocity(r, H):
    """Gradient of K_2."""
    return velocity_phi(r, H.Theta, H.model)


@njit
def kinetic(r, H):
    """K_1(r) or K_2(r), equations (8) and (11)."""
    return r @ velocity(r, H) / 2


class Energy(NamedTuple):
    """The Hamiltonian (3) of a point, and its parts."""

    U: float  # (4)
    K_theta: float  # A(r_theta | phi)
    K_phi: float  # A(r_phi | theta)
    log_det_theta: float  # log |M_theta(phi)| / 2
    log_det_phi: float  # log |M_phi(theta)| / 2

    @property
    def H(self):
        """The sum of all."""
        return self.U + self.K_theta + self.K_phi + self.log_det_theta + self.log_det_phi


@njit
def energy(theta, phi, r_theta, r_phi, model):
    """Evaluate (4) and (5) in parts: an Energy."""
    Phi, Theta = precompute_phi(phi, model), precompute_theta(theta, model)
    return Energy(U_theta(theta, Phi, model) + U_prior(phi, model),
                  kinetic(r_theta, H1(model, Phi, r_phi)),
                  kinetic(r_phi, H2(model, Theta, r_theta)),
                  log_det_theta(Phi, model) / 2, log_det_phi(Theta, model) / 2)


@njit
def hamiltonian(theta, phi, r_theta, r_phi, model):
    """H of equation (3), a float."""
    parts = energy(theta, phi, r_theta, r_phi, model)
    return (parts.U + parts.K_theta + parts.K_phi + parts.log_det_theta + parts.log_det_phi)


# Ours: two step sizes and several leapfrogs in a block, which Sections 4.2 and 5.1 speak of


@njit
def abla_step(theta, phi, r_theta, r_phi, model, eps_theta, eps_phi, n_theta, n_phi):
    """Take one step of the alternating block-wise leapfrog algorithm, lines 3 to 5 of sshmc_step.

    theta, r_theta : (n,)        phi, r_phi : (h,)        the rest as for sshmc
    """
    H_1 = H1(model, precompute_phi(phi, model), r_phi)
    theta_, r_theta_ = leapfrog(theta, r_theta, H_1, eps_theta, n_theta)
    H_2 = H2(model, precompute_theta(theta_, model), r_theta_)
    phi, r_phi = leapfrog(phi, r_phi, H_2, eps_phi, n_phi)
    H_1 = H1(model, precompute_phi(phi, model), r_phi)
    theta, r_theta = leapfrog(theta_, r_theta_, H_1, eps_theta, n_theta)
    return theta, phi, r_theta, r_phi


@njit
def sshmc_general_step(theta, phi, model, eps_theta, eps_phi, L, n_theta, n_phi, rng):
    """One transition of SSHMC with a step size for each block, and several leapfrogs.

    With eps_theta = eps / 2, eps_phi = eps and n_theta = n_phi = 1 it is sshmc_step, draw by draw.

    Settings as for sshmc; rng and what is returned as for sshmc_step.
    """
    r_theta = momentum_theta(rng.standard_normal(theta.size), precompute_phi(phi, model), model)
    r_phi = momentum_phi(rng.standard_normal(phi.size), precompute_theta(theta, model), model)
    theta_, phi_, r_theta_, r_phi_ = theta, phi, r_theta, r_phi
    for _ in range(L):
        check_interrupt()
        theta_, phi_, r_theta_, r_phi_ = abla_step(
            theta_, phi_, r_theta_, r_phi_, model, eps_theta, eps_phi, n_theta, n_phi)
    error = (hamiltonian(theta_, phi_, r_theta_, r_phi_, model)
             - hamiltonian(theta, phi, r_theta, r_phi, model))
    if rng.random() < min(1.0, np.exp(-error)) and np.isfinite(error):
        return theta_, phi_, True, error
    return theta, phi, False, error


# Chains

# of a model; it may have more
NEEDED = (sizes, precompute_phi, precompute_theta, U_theta, grad_U_theta, U_prior, grad_U2,
          momentum_theta, velocity_theta, log_det_theta, momentum_phi, velocity_phi, log_det_phi)


class Counts(NamedTuple):
    """Evaluations over a whole run."""

    gradient_theta: int  # of the gradient of U_1
    gradient_phi: int  # of the gradient of U_2
    factor_theta: int  # of precompute_phi: the factor of M_theta, above all
    factor_phi: int  # of precompute_theta: the factor of M_phi, if it is not constant


class Chain(NamedTuple):
    """The record of n transitions."""

    theta: np.ndarray  # (n, kept)
    phi: np.ndarray  # (n, h)
    energies: np.ndarray  # (n,) potential energies (4) of the states
    accepted: np.ndarray  # (n,) bool
    energy_error: np.ndarray  # (n,) H at the end of the trajectory minus H at its start
    counts: Counts

    @property
    def divergences(self):
        """How many proposals were rejected for an H that was not finite, or larger by over 1000."""
        return int(np.sum(~np.isfinite(self.energy_error) | (self.energy_error > 1000)))


def check_blocks(theta, phi, model):
    """Return theta and phi as arrays that fit the model, at which its energy is finite."""
    n, h = sizes(model)
    theta = validate.array("theta0", theta, (n,)).copy()  # it could be one that is read-only
    phi = validate.array("phi0", phi, (h,)).copy()
    validate.blocks("theta0", theta, phi, model)
    energy = U_theta(theta, precompute_phi(phi, model), model) + U_prior(phi, model)
    if not np.isfinite(energy):
        raise ValueError(f"theta0 and phi0 must be where U is finite, but U there is {energy}")
    return theta, phi


def warn_of_slopes(theta, phi, model):
    """Warn if the gradient of a block is not that of its energy, and refuse what is none."""
    Phi, Theta = precompute_phi(phi, model), precompute_theta(theta, model)
    kind, at_rest = validate.class_name(type(model)), np.zeros(theta.size)

    def energy_2(x):  # U_2 with r_theta = 0, up to what has no phi
        Phi = precompute_phi(x, model)
        return U_theta(theta, Phi, model) + U_prior(x, model) + log_det_theta(Phi, model) / 2

    validate.evaluate(f"grad_U_theta of {kind}", grad_U_theta, theta, model, Phi)
    if type(model) in add_grad_auxiliary_phi.implementations:  # which adds to it, in place
        validate.own_array(grad_U_theta, theta, Phi, model)
    validate.warn_of_new_slope(
        "theta0", f"U_theta and grad_U_theta of {kind}", lambda x: U_theta(x, Phi, model),
        lambda x: grad_U_theta(x, Phi, model), theta)
    validate.warn_of_new_slope(
        "phi0", f"U_2 and grad_U2 of {kind}", energy_2, lambda x: grad_U2(
            precompute_phi(x, model), Theta, at_rest, model), phi)


def check_sshmc(theta0, phi0, model, eps_theta, eps_phi, L, n, rng, n_theta=1, n_phi=1, jitter=0.0,
                keep=None):
    """Check the arguments of sshmc; `keep` becomes an array of indices."""
    model = validate.model("model", model, *NEEDED)
    theta0, phi0 = check_blocks(theta0, phi0, model)
    warn_of_slopes(theta0, phi0, model)
    return (theta0, phi0, model, validate.real("eps_theta", eps_theta, 0.0, open_low=True),
            validate.real("eps_phi", eps_phi, 0.0, open_low=True), validate.count("L", L),
            validate.count("n", n), validate.generator("rng", rng),
            validate.count("n_theta", n_theta), validate.count("n_phi", n_phi),
            validate.real("jitter", jitter, 0.0, 1.0), validate.indices("keep", keep, theta0.size))


@warn_if_none_accepted
@public(check_sshmc)
@njit
def sshmc(theta0, phi0, model, eps_theta, eps_phi, L, n, rng, n_theta, n_phi, jitter, keep):
    """Run n transitions of SSHMC from (theta0, phi0); return a Chain.

    Parameters
    ----------
    theta0, phi0       : (n,), (h,) float64   where the chain starts; not modified
    model              : NamedTuple           a hierarchical model (models/interface.py)
    eps_theta, eps_phi : float > 0            step sizes of the leapfrogs for H_1 and for H_2
    L, n               : int >= 1             ABLA steps of a transition; transitions
    rng                : Generator            advanced, per transition, by one uniform if
                                              jitter > 0, then by n + h normals and one uniform
    n_theta, n_phi     : int >= 1             leapfrogs of an ABLA step: n_theta of eps_theta, n_phi
                                              of eps_phi, n_theta of eps_theta; default 1 and 1
    jitter             : float in [0, 1]      both steps of a transition are multiplied by one
                                              factor from Uniform(1 - jitter, 1); default 0
    keep               : (kept,) int or None  which entries of theta are recorded; default all

    Raises ValueError, naming the argument, for anything else.  RuntimeWarning if n is at least ten
    and nothing is accepted: the chain stands where it started.
    """
    chain = Chain(np.empty((n, keep.size)), np.empty((n, phi0.size)), np.empty(n),
                  np.empty(n, np.bool_), np.empty(n),
                  Counts(4 * n_theta * L * n, 2 * n_phi * L * n, (2 * (n_phi + 1) * L + 4) * n,
                         (L + 3) * n))
    theta, phi = theta0, phi0
    for t in range(n):
        check_interrupt()
        factor = draw_step(1.0, jitter, rng)
        theta, phi, chain.accepted[t], chain.energy_error[t] = sshmc_general_step(
            theta, phi, model, factor * eps_theta, factor * eps_phi, L, n_theta, n_phi, rng)
        chain.theta[t], chain.phi[t] = theta[keep], phi
        chain.energies[t] = U_theta(theta, precompute_phi(phi, model), model) + U_prior(phi, model)
    return chain


class Path(NamedTuple):
    """A trajectory of ABLA: the start, and where each of its L steps ended."""

    theta: np.ndarray  # (L + 1, n)
    phi: np.ndarray  # (L + 1, h)
    r_theta: np.ndarray  # (L + 1, n)
    r_phi: np.ndarray  # (L + 1, h)
    energy: Energy  # of (L + 1,) arrays


def abla_path(theta, phi, r_theta, r_phi, model, eps_theta, eps_phi, L, n_theta=1, n_phi=1):
    """Take L ABLA steps and return the Path, with its energies.

    Where the log determinant cancels a term of U, such as n v / 2 of the funnel, plot
    `energy.U + energy.log_det_theta` beside `energy.K_theta`: these two exchange the energy that
    Section 4.3 calls borrowed.

    Parameters as for sshmc, with momenta r_theta (n,) and r_phi (h,); nothing is drawn.
    Raises ValueError, naming the argument (theta0 and phi0 are theta and phi), for anything else.
    """
    model = validate.model("model", model, *NEEDED)
    theta, phi = check_blocks(theta, phi, model)
    here = (theta, phi, validate.array("r_theta", r_theta, theta.shape),
            validate.array("r_phi", r_phi, phi.shape))
    settings = (model, validate.real("eps_theta", eps_theta, 0.0, open_low=True),
                validate.real("eps_phi", eps_phi, 0.0, open_low=True),
                validate.count("n_theta", n_theta), validate.count("n_phi", n_phi))
    points = [here]
    for _ in range(validate.count("L", L)):
        points.append(abla_step(*points[-1], *settings))
    energies = [energy(*point, model) for point in points]
    return Path(*map(np.array, zip(*points, strict=True)),
                Energy(*map(np.array, zip(*energies, strict=True))))
