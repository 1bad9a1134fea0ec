"""The posterior mode by Newton's method with a line search, and the Hessian there.

Paper       Shahbaba et al. (2014), Section 2.1: "fast methods such as Newton-Raphson iteration";
            the line search is backtracking: Nocedal and Wright (2006), Algorithms 3.1 and 3.2.
Mirror      newton, line by line.
Departures  line 6 allows for the rounding of U, and ends at a shortest step: near the mode U cannot
            tell a step that is too long from a good one.  (The authors' program minimises by
            Nelder-Mead, at most 500 evaluations in up to 101 dimensions, which does not find it.)

Notation
--------
paper          here        shape    meaning
q-hat          q           (d,)     posterior mode
J(q-hat)       J           (d, d)   Hessian of U there
               s           (d,)     Newton's step, -J^-1 g
               decrement   ()       (g' J^-1 g)^1/2: about the distance to the mode, in posterior
                                    standard deviations
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.interface import U, grad_U, hessian
from models.jit import njit
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

    Pseudocode (Nocedal and Wright 2006, Algorithms 3.1 and 3.2)
     1  for k = 0, 1, ...
     2      g <- grad U(q);  J <- Hessian of U at q
     3      s <- -J^-1 g
     4      if (-g's)^1/2 <= tol:  converged
     5      t <- 1
     6      while U(q + t s) > U(q) + c t g's:  t <- t / 2
     7      q <- q + t s
    """
    for k in range(max_iterations + 1):                                                     # L1
        g = grad_U(q, model)                                                                # L2
        J = hessian(q, model)                                                               # L2
        norm = np.sqrt(g @ g)                                                               # --
        L_J, ok = cholesky(J)                                                               # --
        if not ok:                                                                          # --
            break                                                                           # --
        s = -solve_lower_transposed(L_J, solve_lower(L_J, g))                               # L3
        slope = g @ s                                                                       # --
        if np.sqrt(-slope) <= tol:                                                          # L4
            return MAP(q, J, k, True, norm)                                                 # L4
        if k == max_iterations:                                                             # --
            break                                                                           # --
        start = U(q, model)                                                                 # --
        t = 1.0                                                                             # L5
        bound = start + ROUNDING * abs(start)                                               # --
        while not U(q + t * s, model) <= bound + DESCENT * t * slope and t > SHORTEST:      # L6
            t = t / 2                                                                       # L6
        q = q + t * s                                                                       # L7
    return MAP(q, J, k, False, norm)                                                        # --


def map_estimate(model, q0=None, tol=1e-10, max_iterations=100):
    """Return the posterior mode and the Hessian of U there.

    Parameters
    ----------
    model          : NamedTuple    any model that implements U, grad_U and hessian
    q0             : (d,) or None  where to start, not modified; None is the origin, for a model
                                   with a `precision`
    tol            : float > 0     how far from the mode, in posterior standard deviations: the
                                   Newton decrement (g' J^-1 g)^1/2
    max_iterations : int >= 1

    Returns
    -------
    MAP, with converged = True

    Raises
    ------
    ValueError    naming the argument
    RuntimeError  if it does not converge; the message has the last norm of the gradient
    """
    if q0 is None:
        if not hasattr(model, "precision"):
            raise ValueError(f"q0 must be given for a {type(model).__name__}, which has no"
                             " `precision` to tell how many parameters it has")
        q0 = np.zeros(model.precision.shape[0])
    q0 = validate.state("q0", q0, model)
    found = newton(q0, model, validate.real("tol", tol, 0.0, open_low=True),
                   validate.count("max_iterations", max_iterations))
    if not found.converged:
        raise RuntimeError(f"no posterior mode after {found.iterations} Newton steps: the norm of"
                           f" the gradient is {found.gradient_norm:.3g}; try another q0, a larger"
                           " max_iterations, or a narrower prior")
    return found
