"""How far log sigma^2 of the Cox process moves in a transition of SSHMC, and what ESS that allows.

In s = log sigma^2 the potential U2 is (A e^-s + B e^s) / 2 plus the prior's, with A = x'C^-1 x and
B = r'C r for a correlation C and the field x less its mean: both are about n.  Its curvature is
(A B)^(1/2), so that given x and r, s has a standard deviation of about n^(-1/2).  Only as x and r
move can it go further.
"""

import numpy as np

from reproduce.harness.claims import Measured
from reproduce.zhang.cox import problem, start, transitions
from reproduce.zhang.printed import SSHMC


def jumps(data, distance, setting, n, burn_in, seed):
    """Run a chain of SSHMC; return the mean square of what log sigma^2 moves in a transition."""
    (model, phi), rng = problem(data, distance), np.random.default_rng(seed)
    chain = transitions(SSHMC, start(phi, model, rng), phi, model, setting, burn_in + n, rng)
    return {"n": n, "square": float(np.mean(np.diff(chain.phi[burn_in - 1:, 0]) ** 2))}


def most(square, deviation, n):
    """Return the most that the ESS of n draws can be: of Measured, a Measured.

    A chain whose steps have this mean square and that posterior deviation v has a first
    autocorrelation of rho = 1 - square / (2 v^2).  One that is reversible, as HMC with new momenta
    is, has an autocorrelation time of at least (1 + rho) / (1 - rho).  It is n where the moves are
    as large as those of independent draws: then nothing is known.
    """
    ratio = square / (deviation * deviation)
    return n * ratio / (4 - ratio) if ratio.value < 2 else Measured(float(n))
