"""HMC and Split HMC where U is quadratic: when their steps are unstable, what HMC's chain is like.

In words    For a Gaussian target the leapfrog and split integrators are linear maps, so that
            stability and the expected acceptance rate follow from their matrices. No chain is run:
            these are exact statements about a quadratic energy, which a posterior near its mode
            resembles. Use them to choose a step size, or to check that a measured acceptance rate
            is what it should be.
Paper       B. Shahbaba, S. Lan, W. O. Johnson and R. M. Neal (2014), "Split Hamiltonian Monte
            Carlo", Statistics and Computing 24, 339-349: its integrators, and its Figure 1.
Mirror      none: formulas, derived below.
Departures  none.

When a step is unstable
-----------------------
With U replaced by its second-order expansion, a step is a matrix.  The steps are reversible, so
that its eigenvalues come in pairs z, 1 / z with z + 1 / z = 2 a, a an eigenvalue of the block A
that takes q to q: the step is stable if all a are real and in [-1, 1].
  HMC     A = I - eps^2 J / 2: stable up to eps = 2 / w, w^2 the largest eigenvalue of J.
  normal  At the mode U_1 has no second-order part, and every step is exact.  Elsewhere its Hessian
          is J(q) - J, which couples the oscillators of the flow and resonates with two of them, or
          twice with one, that make whole turns together in a step: (w_i + w_j) eps = 2 k pi.  The
          first window is at pi / w for the largest w, and the paper's step, 0.03, is 0.989 times
          that.  Four frequencies, 100 to 104, are well apart from all others, 33 and less: past
          their own windows longer steps are accepted again, less so where those begin that they
          share with others, at 0.046, until 2 pi / w.
  data    The inner leapfrog steps of eps / M are far from their own limit; it is the kicks of U_1
          that resonate with them, where M of them make half turns: at (2 M / w_0) sin(k pi / 2 M),
          w_0^2 the largest eigenvalue of the Hessian of U_0.
That an exact flow does not lift the limit of the step was found by F. Casas, J. M. Sanz-Serna and
L. Shaw (2022, Statistics and Computing 32, 86), and how preconditioning with J does.

HMC of a normal distribution
----------------------------
Along an axis of variance v the leapfrog map is linear: with cos(theta) = 1 - eps^2 / 2v,
    q <- cos(L theta) q + s sin(L theta) p,  p <- -sin(L theta) q / s + cos(L theta) p,
    s^2 = v / (1 - eps^2 / 4v).
What is left is the expectation over four normals of functions of the acceptance probability.
"""

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from models import validate


def q_block(method, eps, J, J_0, J_1, fit, M):
    """Return A, the (d, d) block of a linearised step that takes q to q.

    J, J_0 and J_1 are the Hessians of U and of the two parts of the data split, of M inner steps;
    fit is the normal approximation at the mode.
    """
    if method == "HMC":
        return np.eye(len(J)) - eps**2 / 2 * J
    if method == "normal":
        cosine, up = ((fit.Z * x) @ fit.Z.T for x in (np.cos(fit.w * eps),
                                                      np.sin(fit.w * eps) / fit.w))
        return cosine - eps / 2 * up @ (J - (fit.Z * fit.w**2) @ fit.Z.T)
    q, p, h = np.eye(len(J)), -eps / 2 * J_1, eps / M
    for _ in range(M):
        p = p - h / 2 * J_0 @ q
        q = q + h * p
        p = p - h / 2 * J_0 @ q
    return q


def exponent(A):
    """Return the log of the largest |z|, z + 1 / z = 2 a: 0 if the step is stable."""
    a = np.linalg.eigvals(A).astype(complex)
    root = np.sqrt(a * a - 1)
    return float(np.log(np.maximum(abs(a + root), abs(a - root)).max()))


def hmc_limit(J):
    """Return the step at which the least eigenvalue of HMC's A is -1, by bisection.

    J : (d, d)   symmetric, whose largest eigenvalue has a limit 2 / w from 0.001 to 1

    Raises ValueError, naming the argument, for anything else.
    """
    J = validate.covariance("J", J)
    validate.real("J's largest eigenvalue", np.linalg.eigvalsh(J)[-1], 4.0, 4e6)
    low, high = 0.001, 1.0
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        a = np.linalg.eigvalsh(q_block("HMC", middle, J, None, None, None, None))[0]
        low, high = (middle, high) if a >= -1 else (low, middle)
    return low


def half_turns(w_0, k, M):
    """Return the steps in which M inner leapfrog steps make k half turns.

    An inner step turns by theta, sin(theta / 2) = (eps / M) w_0 / 2; M theta = k pi.
    """
    return 2 * M / w_0 * np.sin(k * np.pi / (2 * M))


def correlation_and_rate(covariance, eps, L):
    """Return the lag-1 autocorrelation and the acceptance rate of HMC for a bivariate normal.

    covariance : (2, 2)           its two variances are the same; the correlation is that of either
    eps, L     : float, int       step size and leapfrog steps

    By numerical integration, a mean over 2^20 points of Sobol's sequence, whose halves differ by
    2e-6 for Figure 1.  Raises ValueError, naming the argument, for anything else, and for a step
    at which the leapfrog is not stable.
    """
    covariance = validate.covariance("covariance", validate.array("covariance", covariance, (2, 2)))
    validate.real("covariance's least eigenvalue", np.linalg.eigvalsh(covariance)[0], 0.0,
                  open_low=True)
    if covariance[0, 0] != covariance[1, 1]:
        raise ValueError("covariance must have the same variance twice, not"
                         f" {np.diag(covariance).tolist()}")
    limit = 2.0 * np.linalg.eigvalsh(covariance)[0] ** 0.5
    eps = validate.real("eps", eps, 0.0, np.nextafter(limit, 0.0), open_low=True)
    L = validate.count("L", L)
    z = ndtri(qmc.Sobol(4, seed=0).random_base2(20))
    gain, moved = 0.0, []
    for k, v in enumerate(np.linalg.eigvalsh(covariance)):
        q, p = v**0.5 * z[:, 2 * k], z[:, 2 * k + 1]
        angle, s = L * np.arccos(1 - eps**2 / (2 * v)), (v / (1 - eps**2 / (4 * v))) ** 0.5
        end = np.cos(angle) * q + s * np.sin(angle) * p
        momentum = -np.sin(angle) / s * q + np.cos(angle) * p
        gain += (q**2 / v + p**2 - end**2 / v - momentum**2) / 2
        moved.append((q, end))
    accept = np.exp(np.minimum(gain, 0.0))
    covariances = [np.mean(q * (accept * end + (1 - accept) * q)) for q, end in moved]
    return sum(covariances) / np.trace(covariance), accept.mean()
