"""Algorithm 1 of Split HMC as the authors' program has it: the flow of U_0 lasts a fixed time.

In words    Split HMC whose exact flow always lasts the same time, while the steps of the rest of
            the energy are drawn anew for each trajectory. Each transition composes reversible maps
            that preserve volume, so the Metropolis test makes the chain exact as before. It is here
            because the program of the paper's authors has it so: the acceptance rates printed for
            the simulated data, StatLog and Chess are those of this chain and not of Algorithm 1,
            and that of CTG does not decide. For a problem of your own use split HMC as it is.
Paper       B. Shahbaba, S. Lan, W. O. Johnson and R. M. Neal (2014), "Split Hamiltonian Monte
            Carlo", Statistics and Computing 24, 339-349: the program that goes with it.
Mirror      none: it is normal_split_step of algorithms/shahbaba_split_hmc.py, but for the flow R.
Departures  none.

The program computes R once, for 0.9 eps; the kicks follow the step of their transition, which is
drawn from Uniform(0.8 eps, eps).  Notation as in algorithms/shahbaba_split_hmc.py.
"""

import numpy as np

from algorithms.hmc import draw_step
from algorithms.shahbaba_split_hmc import exact_flow, follow
from algorithms.shahbaba_split_hmc_fast import Counts as SplitCounts
from algorithms.shahbaba_split_hmc_fast import empty_chain, metropolis, normal_state
from models.interface import U
from models.jit import check_interrupt, njit


@njit
def fixed_flow_step(current, model, fit, R, eps, L, rng):
    """normal_split_step, but with a flow R that need not be that of the step eps.

    It is symmetric and preserves volume whatever R's time, so the test on the exact U makes it
    correct; but it does not follow Hamilton's equations unless R is exact_flow(fit, eps).
    """
    state = current
    p = current_p = rng.standard_normal(state.q.size)
    for _l in range(L):
        check_interrupt()
        p = p - eps / 2 * state.g_1
        q_star, p = follow(R, state.q - fit.q_hat, p)
        state = normal_state(q_star + fit.q_hat, model, fit)
        p = p - eps / 2 * state.g_1
    return metropolis(current, current_p, state, p, rng)


@njit
def fixed_flow_hmc(q0, model, fit, eps, L, n, rng, jitter, share):
    """Do as normal_split_hmc, but with a flow of time share * eps for all transitions.

    So the authors' program has it.  The kicks follow the random step of their transition,
    Uniform((1 - jitter) eps, eps).  `fit` is a NormalApproximation, share > 0 the program's 0.9.

    Raises ValueError, naming the one or two arguments that may be wrong: this is compiled with its
    checks, and compiled code cannot say more.
    """
    if not (0.0 < eps < np.inf and 0.0 < share < np.inf):
        raise ValueError("eps and share must be positive and finite")
    if not 0.0 <= jitter <= 1.0:
        raise ValueError("jitter must be in [0, 1]")
    if L < 1 or n < 1:
        raise ValueError("L and n must be at least 1")
    if q0.shape != fit.q_hat.shape:
        raise ValueError("q0 must have an entry for each of fit.q_hat")
    if not np.isfinite(U(q0, model)):
        raise ValueError("q0 must be where U is finite")
    chain = empty_chain(n, q0.size, SplitCounts(L * n + 1, 1.0 + L * n, 1.0 * L))
    R = exact_flow(fit, share * eps)
    state = normal_state(q0, model, fit)
    for t in range(n):
        check_interrupt()
        step = draw_step(eps, jitter, rng)
        state, chain.accepted[t], chain.energy_error[t] = fixed_flow_step(
            state, model, fit, R, step, L, rng)
        chain.samples[t], chain.energies[t] = state.q, state.U
    return chain
