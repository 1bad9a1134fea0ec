"""The posterior mode by Newton's method with a line search, and the Hessian there.

In words    Newton's method goes to the mode of a posterior by steps that solve a system with the
            Hessian of U, and takes a part of a step where the whole of it does not lower U enough.
            It is valid because a step is downhill wherever the Hessian is positive definite, the
            search lets no step raise U but by rounding, and a convex U has one minimum.  Use it for
            a normal approximation of a log-concave posterior, its mode and inverse Hessian, which
            some samplers ask for.
Paper       J. Nocedal and S. J. Wright (2006), Numerical Optimization, Algorithms 3.1 and 3.2: of
            the "fast methods such as Newton-Raphson iteration" of Shahbaba et al. (2014), Section
            2.1.
Mirror      newton is Algorithm 3.2 and backtracking Algorithm 3.1, both of Nocedal and Wright; the
            numbers of the lines are ours.  They leave open when to stop: newton does at a small
            decrement.

The program of Shahbaba et al., logisticHMC.R, minimises by Nelder-Mead instead, with at most 500
evaluations in up to 101 dimensions.

Notation
--------
paper          here        shape    meaning
q-hat          q           (d,)     posterior mode
J(q-hat)       J           (d, d)   Hessian of U there
               s           (d,)     Newton's step, -J^-1 g
alpha, c       t, DESCENT  ()       the share of it that is taken; of the expected fall of U
               decrement   ()       (g' J^-1 g)^1/2: about the distance to the mode, in posterior
                                    standard deviations
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.interface import U, grad_U, hessian
from models.jit import njit, tells
from models.linalg import cholesky, solve_lower, solve_lower_transposed

DESCENT = 1e-4  # the fraction of the expected fall of U that a step has to bring about
ROUNDING = 1e-13  # relative error of U; where less is to be gained, U cannot tell
SHORTEST = 1e-12  # of Newton's step


class MAP(NamedTuple):
    """A posterior mode."""

    q: np.ndarray  # (d,)
    hessian: np.ndarray  # (d, d) of U at q
    iterations: int  # Newton steps taken
    converged: bool
    gradient_norm: float  # Euclidean, of U at q


@njit
def newton(q, model, tol, max_iterations):
    """Minimise U by Newton's method from q; returns a MAP, converged or not.

    Mirror of Nocedal and Wright 2006, Algorithm 3.2.
    """
    # 1   for k = 0, 1, ...
    for k in range(max_iterations + 1):
        # 2   g <- grad U(q);  factorise J + E, J the Hessian of U at q and E = 0 or what it lacks
        #     theirs  a matrix is added to a Hessian that is not positive definite
        #     ours    none is: the search ends, and has not converged
        #     why     U is convex where a mode is to be approximated by a normal distribution
        #     test    test_without_a_positive_definite_hessian_it_stops
        g, J = grad_U(q, model), hessian(q, model)
        L_J, ok = cholesky(J)
        # 3   s <- -(J + E)^-1 g
        s = -solve_lower_transposed(L_J, solve_lower(L_J, g))
        # 4   if (-g's)^1/2 <= tol:  converged
        slope = g @ s
        converged = np.sqrt(-slope) <= tol
        if converged or not ok or k == max_iterations:
            break
        # 5   q <- q + t s, with t from the line search
        q = q + backtracking(q, s, slope, model) * s
    # ours
    return MAP(q, J, k, converged, np.sqrt(g @ g))


@njit
def backtracking(q, s, slope, model):
    """Return how much of the step s from q to take, where grad U(q)'s = slope < 0.

    Mirror of Nocedal and Wright 2006, Algorithm 3.1, with rho = 1/2.
    """
    # 1   t <- 1
    t = 1.0
    # 2   repeat until U(q + t s) <= U(q) + c t g's
    #     theirs  halve t until U has fallen
    #     ours    until U has fallen, or might have but for its rounding; at most 40 times
    #     why     near the mode U cannot tell a step that is too long from a good one
    #     test    test_the_line_search_takes_the_first_step_with_enough_descent
    start = U(q, model)
    bound = start + ROUNDING * abs(start)
    while not U(q + t * s, model) <= bound + DESCENT * t * slope and t > SHORTEST:
        # 3   t <- t / 2
        t = t / 2
    # 4   return t
    return t


@tells
def map_estimate(model, q0=None, tol=1e-10, max_iterations=100):
    """Return the posterior mode and the Hessian of U there.

    Parameters
    ----------
    model          : NamedTuple    any model that implements U, grad_U and hessian
    q0             : (d,) or None  where to start, not modified; None is the origin, for a model
                                   of models/ with a `precision`
    tol            : float > 0     how far from the mode, in posterior standard deviations: the
                                   Newton decrement (g' J^-1 g)^1/2
    max_iterations : int >= 1

    Returns a MAP, with converged = True.  Raises ValueError, naming the argument, or RuntimeError
    if it does not converge; its message has the last norm of the gradient.
    """
    model = validate.model("model", model, U, grad_U, hessian)
    if q0 is None:
        if np.shape(getattr(model, "precision", 0.0))[:1] != (validate.dimension(model),):
            raise ValueError(f"q0 must be given for a {type(model).__name__}, which has no"
                             " `precision` to tell how many parameters it has, of models/: begin"
                             " at np.zeros(d)")
        q0 = np.zeros(model.precision.shape[0])
    q0 = validate.state("q0", q0, model, gradient=True, matrix=hessian)
    found = newton(q0, model, validate.real("tol", tol, 0.0, open_low=True),
                   validate.count("max_iterations", max_iterations))
    if not found.converged:
        raise RuntimeError(f"no posterior mode after {found.iterations} Newton steps: the norm of"
                           f" the gradient is {found.gradient_norm:.3g}; "
                           + advice(q0, model, found))
    return found


def advice(q0, model, found):
    """Say what to do where there is no convergence; a wrong gradient is no fault of the start."""
    if validate.slope_gap(lambda q: U(q, model), lambda q: grad_U(q, model), q0):
        return ("grad_U is not the gradient of U: print(check_model(model, q0)), of sampling.check,"
                " to see which entry is wrong")
    if not np.isfinite(found.hessian).all():
        return ("the Hessian there is not finite: bring the data to a scale near 1, or see whether"
                " check_model of sampling.check finds hessian right")
    if abs(np.linalg.eigvalsh(found.hessian)[0]) < 1e-9 * np.linalg.norm(hessian(q0, model)):
        return ("U is nearly flat there, as where a plane separates the labels and the prior is"
                " very wide: take a narrower prior")
    return ("try another q0, a larger max_iterations or tol, or a narrower prior; if none"
            " helps, see whether check_model of sampling.check finds hessian right")
