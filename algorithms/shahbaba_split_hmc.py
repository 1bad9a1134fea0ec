r"""Split Hamiltonian Monte Carlo: with a partial analytic solution, and with splitting of data.

In words    Split HMC divides the potential energy into two parts. The first varies fast, but is
            cheap or can be solved exactly; the rest is costly, but varies slowly, so that its
            gradient is needed for a few long steps only. Each part's motion is reversible and
            preserves volume, and so does their symmetric composition, so that the usual Metropolis
            test makes the chain exact. Use it where the posterior is close to a normal
            distribution, or where a minority of the cases has most of the energy's curvature.
Paper       B. Shahbaba, S. Lan, W. O. Johnson and R. M. Neal (2014), "Split Hamiltonian Monte
            Carlo", Statistics and Computing 24, 339-349.
Mirror      normal_split_step and data_split_step are Algorithms 1 and 2, and metropolis is the test
            of Section 1 that follows either (the paper does not number their lines, we do).

The loop of Algorithm 1 is the splitting (5) of the energy, that of Algorithm 2 is (6).  The
leapfrog (3) of plain HMC is in algorithms/hmc.py.  Here each half step evaluates its own gradient,
as the paper writes it.  Chains are run by the twins in algorithms/shahbaba_split_hmc_fast.py, which
evaluate no gradient twice.

Departures
----------
Section 1
    theirs  P(q, p) = exp[U(q)] exp[-K(p)] / Z
    ours    P(q, p) = exp[-U(q)] exp[-K(p)] / Z
    why     U is minus the log density: exp[U(q)] has no integral (or our machine-read text errs)
    test    test_section_1_the_density_is_exp_of_minus_U
Section 2
    theirs  "dynamics H_k" is implemented exactly; the composition is reversible if H_i = H_(K-i+1)
    ours    the dynamics of each H_i is, i = 1, ..., k; it is reversible if H_i = H_(k-i+1)
    why     k is the number of terms, K the kinetic energy
    test    a label
Section 2.1, after equation (5)
    theirs  H_2 = U_0(p) + K(p)
    ours    H_2 = U_0(q) + K(p)
    why     only then are Hamilton's equations those of A (or our machine-read text errs)
    test    test_equation_5_H_2_has_U_0_of_q
Section 2.1
    theirs  X = (q, p)
    ours    X = (q*, p), q* = q - q-hat
    why     the fixed point of A is the origin, that of the flow q-hat
    test    test_section_2_1_X_is_of_q_star

Notation
--------
paper              here              shape    meaning
q, p               q, p              (d,)     position and momentum; K(p) = p'p / 2
epsilon            eps               ()       step size, the same for all steps of a trajectory
L, M               L, M              ()       steps; inner steps in each
U_0 (Algorithm 1)  U(q, fit)         ()       (q - q-hat)' J (q - q-hat) / 2
q-hat              q_hat             (d,)     posterior mode
J                  Z, w              (d, d)   Hessian of U there, Z diag(w^2) Z' with w (d,)
A                                    (2d, 2d) [0 I; -J 0]; R = exp(A eps)
Gamma, D                             (2d, 2d) eigenvectors of A, and its eigenvalues, +- i w_j
q*                 q_star            (d,)     (Section 2.1) q - q-hat
q*, p*             q_, p_            (d,)     (Section 1) the end of a trajectory
U_0, U_1           split.R_0, R_1             (Algorithm 2) models of the cases in R_0, with the
                                              prior, and of those in R_1, without
dU_1/dq            grad_U_1(q, ...)  (d,)     (Algorithm 1) gradient of U_1 = U - U_0
"""

from typing import NamedTuple

import numpy as np

from algorithms.map_estimate import MAP
from models import fields, validate
from models.interface import U, case_entropy, grad_U, select_cases
from models.jit import check_interrupt, njit


@njit
def normal_split_step(q, model, fit, eps, L, rng):
    """One transition of split HMC with a normal approximation.

    Mirror of Shahbaba et al. 2014, Algorithm 1.

    Parameters
    ----------
    q      : (d,) float64           where the chain is; not modified
    model  : NamedTuple             any model that implements U and grad_U
    fit    : NormalApproximation    U_0
    eps, L : float, int             step size > 0, number of steps >= 1
    rng    : Generator              advanced by d normals, then one uniform

    Returns what metropolis does.
    """
    # 1   R <- Gamma e^(D eps Gamma^-1)
    #     theirs  R = Gamma e^(D eps Gamma^-1)
    #     ours    R = Gamma e^(D eps) Gamma^-1, in the eigenbasis of J, for the eps of each
    #             transition
    #     why     it is e^(A eps), as in Section 2.1; the printed matrix is not symplectic
    #             (or our machine-read text errs)
    #     test    test_line_1_is_the_flow
    R = exact_flow(fit, eps)
    # 2   sample initial values for p from N(0, I)
    p = rng.standard_normal(q.size)
    # ours
    current_q, current_p = q, p
    # 3   for l = 1 to L do
    for _l in range(L):
        check_interrupt()
        # 4   p <- p - (eps / 2) dU_1/dq
        p = p - eps / 2 * grad_U_1(q, model, fit)
        # 5   q* <- q - q-hat
        q_star = q - fit.q_hat
        # 6   X_0 <- (q*, p)
        X_0 = (q_star, p)
        # 7   (q*, p) <- R X_0
        q_star, p = follow(R, *X_0)
        # 8   q <- q* + q-hat
        q = q_star + fit.q_hat
        # 9   p <- p - (eps / 2) dU_1/dq
        p = p - eps / 2 * grad_U_1(q, model, fit)
    # 10  end for
    # ours: Algorithm 1 is followed by the test of Section 1
    return metropolis(current_q, current_p, q, p, model, rng)


@njit
def data_split_step(q, model, split, eps, L, M, rng):
    """One transition of split HMC with splitting of data.

    Mirror of Shahbaba et al. 2014, Algorithm 2.

    Parameters
    ----------
    q         : (d,) float64        where the chain is; not modified
    model     : NamedTuple          the model of all the cases
    split     : DataSplit           its cases in two parts
    eps, L, M : float, int, int     step size > 0, steps >= 1, inner steps >= 1 in each
    rng       : Generator           advanced by d normals, then one uniform

    Returns what metropolis does.
    """
    # 1   sample initial values for p from N(0, I)
    p = rng.standard_normal(q.size)
    # ours
    current_q, current_p = q, p
    # 2   for l = 1 to L do
    for _l in range(L):
        check_interrupt()
        # 3   p <- p - (eps / 2) dU_1/dq
        p = p - eps / 2 * grad_U(q, split.R_1)
        # 4   for m = 1 to M do
        for _m in range(M):
            check_interrupt()
            # 5   p <- p - (eps / 2M) dU_0/dq
            p = p - eps / (2 * M) * grad_U(q, split.R_0)
            # 6   q <- q + (eps / M) p
            q = q + eps / M * p
            # 7   p <- p - (eps / 2M) dU_0/dq
            p = p - eps / (2 * M) * grad_U(q, split.R_0)
        # 8   end for
        # 9   p <- p - (eps / 2) dU_1/dq
        p = p - eps / 2 * grad_U(q, split.R_1)
    # 10  end for
    # ours: Algorithm 2 is followed by the test of Section 1
    return metropolis(current_q, current_p, q, p, model, rng)


@njit
def metropolis(q, p, q_, p_, model, rng):
    """The Metropolis test of both algorithms: accept the end of a trajectory, or stay.

    Mirror of Shahbaba et al. 2014, Section 1.

    Parameters
    ----------
    q, p   : (d,) float64    position and momentum at the start of the trajectory
    q_, p_ : (d,) float64    at its end, q* and p*
    model  : NamedTuple      any model that implements U
    rng    : Generator       advanced by one uniform

    Returns (q, accepted, error): the next position, whether it is the proposal (never one of
    infinite or nan energy), and H at the end of the trajectory minus H at its start.
    """
    # 1   alpha <- min[1, exp(-U(q*) + U(q) - K(p*) + K(p))]
    error = U(q_, model) - U(q, model) + p_ @ p_ / 2 - p @ p / 2
    # 2   with probability alpha:  the next state is q*
    #     theirs  alpha, silent about an energy that is infinite or not a number
    #     ours    such a proposal is rejected, and counted in `divergences`
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_an_error_that_is_not_finite_is_rejected_whatever_its_sign
    if rng.random() < np.exp(-error) and np.isfinite(error):
        return q_, True, error
    # 3   otherwise:  the next state is q
    return q, False, error


@njit
def grad_U_1(q, model, fit):
    """Gradient of U_1 = U - U_0, the part of U that is not of the normal approximation."""
    return grad_U(q, model) - grad_U(q, fit)


class NormalApproximation(NamedTuple):
    """The normal distribution N(q_hat, J^-1), in the eigenbasis of J; see normal_approximation."""

    q_hat: fields.Array("d")
    Z: fields.Array("d", "d")  # orthogonal: J = Z diag(w^2) Z'
    w: fields.Positive("d")  # frequencies of the flow


@U.register(NormalApproximation)
def normal_U(q, fit):
    """U_0 of Algorithm 1, (q - q-hat)' J (q - q-hat) / 2."""
    a = fit.w * (fit.Z.T @ (q - fit.q_hat))
    return a @ a / 2


@grad_U.register(NormalApproximation)
def normal_grad_U(q, fit):
    """Gradient of U_0, J (q - q-hat)."""
    return fit.Z @ (fit.w * fit.w * (fit.Z.T @ (q - fit.q_hat)))


class Flow(NamedTuple):
    """exp(A eps) in the eigenbasis of J: a rotation per coordinate."""

    Z: np.ndarray  # (d, d)
    cosine: np.ndarray  # (d,) cos(w eps)
    up: np.ndarray  # (d,) sin(w eps) / w, from p to q*
    down: np.ndarray  # (d,) -w sin(w eps), from q* to p


class DataSplit(NamedTuple):
    """The data of a model in two parts; see split_data."""

    R_0: tuple  # the model of the cases in R_0, with the prior: U_0
    R_1: tuple  # the model of the others, without: U_1
    cases: fields.Counts("n_0")  # which of the model's cases are in R_0, ascending
    fraction: float  # f = n_0 / n


def normal_approximation(fit):
    """Make the NormalApproximation of a MAP, whose Hessian has to be positive definite.

    Raises ValueError if it is not, or if the search for the mode has not converged.
    """
    validate.instance("fit", fit, MAP, "from algorithms.map_estimate")
    if not fit.converged:
        raise ValueError("fit must be a posterior mode, but the search for it did not converge:"
                         f" the norm of the gradient is {fit.gradient_norm:.3g}")
    values, Z = np.linalg.eigh(validate.covariance("fit.hessian", fit.hessian))
    if not values[0] > 0.0:
        raise ValueError("fit.hessian must be positive definite, but its smallest eigenvalue is"
                         f" {values[0]:.3g}")
    q_hat = validate.array("fit.q", fit.q, values.shape)
    return NormalApproximation(q_hat, np.ascontiguousarray(Z), np.sqrt(values))


def split_data(model, q_hat, fraction):
    """Split the cases of a model: R_0 takes those whose classes are the least certain at q_hat.

    For two classes these are the cases with P(y = 1) closest to 1/2, Section 3.2; for more we take
    those with the largest entropy of the class probabilities.

    Parameters
    ----------
    model    : NamedTuple       any model that implements case_entropy and select_cases
    q_hat    : (d,) float64     the posterior mode
    fraction : float in (0, 1]  the share of all cases that R_0 takes, rounded to whole cases, at
                                least one; 1 leaves R_1 empty

    Returns a DataSplit.  Raises ValueError, naming the argument, for anything else.
    """
    model = validate.model("model", model, U, case_entropy, select_cases)
    q_hat = validate.state("q_hat", q_hat, model)
    fraction = validate.real("fraction", fraction, 0.0, 1.0, open_low=True)
    entropy = case_entropy(q_hat, model)
    n = entropy.size
    n_0 = round(fraction * n)
    if n_0 == 0:
        raise ValueError(f"fraction must leave a case for R_0, but {fraction:g} of {n} is none")
    order = np.argsort(-entropy, kind="stable")
    cases, others = np.sort(order[:n_0]), np.sort(order[n_0:])
    return DataSplit(select_cases(model, cases, 1.0), select_cases(model, others, 0.0), cases,
                     n_0 / n)


@njit
def exact_flow(fit, eps):
    """Return exp(A eps), the flow of U_0(q) + K(p) for time eps, as a Flow.

    With q* = Z a and p = Z b, Hamilton's equations are da/dt = b, db/dt = -w^2 a: in each
    coordinate a harmonic oscillator of frequency w.
    """
    sine = np.sin(fit.w * eps)
    return Flow(fit.Z, np.cos(fit.w * eps), sine / fit.w, -fit.w * sine)


@njit
def follow(R, q_star, p):
    """Return R (q*, p), the pair that the flow takes them to; 4 d^2 multiplications."""
    a, b = R.Z.T @ q_star, R.Z.T @ p
    return R.Z @ (R.cosine * a + R.up * b), R.Z @ (R.down * a + R.cosine * b)


def check_common(q0, model, eps, L, n, rng, jitter):
    """Check the arguments that both samplers have."""
    return (validate.state("q0", q0, model, gradient=True),
            validate.real("eps", eps, 0.0, open_low=True), validate.count("L", L),
            validate.count("n", n), validate.generator("rng", rng),
            validate.real("jitter", jitter, 0.0, 1.0))


def check_normal(q0, model, fit, eps, L, n, rng, jitter=0.2):
    """Check the arguments of normal_split_hmc; a MAP becomes a NormalApproximation."""
    model = validate.model("model", model, U, grad_U)
    q0, eps, L, n, rng, jitter = check_common(q0, model, eps, L, n, rng, jitter)
    if not isinstance(fit, MAP | NormalApproximation):
        raise ValueError("fit must be a MAP, of algorithms.map_estimate, or a NormalApproximation,"
                         f" not {type(fit).__name__}")
    if not isinstance(fit, NormalApproximation):
        fit = normal_approximation(fit)
    fit = validate.model("fit", fit)
    if fit.q_hat.shape != q0.shape:
        raise ValueError(f"fit must be of the model, of {q0.size} parameters, but it is of"
                         f" {fit.q_hat.size}")
    return q0, model, fit, eps, L, n, rng, jitter


def check_data(q0, model, split, eps, L, M, n, rng, jitter=0.2):
    """Check the arguments of data_split_hmc."""
    model = validate.model("model", model, U, grad_U, case_entropy)
    q0, eps, L, n, rng, jitter = check_common(q0, model, eps, L, n, rng, jitter)
    validate.instance("split", split, DataSplit, "made by split_data")
    split = validate.model("split", split)
    d = getattr(split.R_0, "precision", q0).size
    if {type(split.R_0), type(split.R_1)} != {type(model)} or d != q0.size:
        raise ValueError("split must be made of this model by split_data, but its parts are of"
                         f" another: a {type(split.R_0).__name__} of {d} parameters and a"
                         f" {type(split.R_1).__name__}")
    n_0, n_1, cases = (case_entropy(q0, of).size for of in (split.R_0, split.R_1, model))
    if n_0 == 0 or n_0 + n_1 != cases:
        raise ValueError("split must be made of this model by split_data, but it has"
                         f" {n_0} + {n_1} cases, and the model has {cases}")
    if not np.allclose(grad_U(q0, split.R_0) + grad_U(q0, split.R_1), grad_U(q0, model), 1e-6,
                       1e-6 * np.abs(grad_U(q0, split.R_1)).max()):
        raise ValueError("split must be made of this model by split_data, but the gradients of its"
                         " parts at q0 do not add up to the model's: it is of other data")
    return q0, model, split, eps, L, validate.count("M", M), n, rng, jitter
