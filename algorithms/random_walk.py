"""Random-walk Metropolis with an isotropic normal proposal.

In words    It proposes the present state plus normal noise, and moves there if the density is
            higher, or else with the ratio of the two densities as probability.  It is valid because
            a proposal is as likely in one direction as in the other, so that this ratio balances
            the flow between any two states.  Use it for a few variables of similar scale, or as the
            baseline that other samplers have to beat: the distance it covers grows only with the
            square root of the number of steps.
Paper       N. Metropolis et al. (1953), J. Chem. Phys. 21, 1087-1092; the baseline of Figure 1 of
            Shahbaba et al. (2014), "Split Hamiltonian Monte Carlo".
Mirror      random_walk_step, line by line (as in Neal 2011, Section 5.3.3).
Own lines   random_walk_step: U(q*) and the error have names of their own, since the chain keeps the
            one, so as not to compute it twice, and records the other.

Notation
--------
paper      here         shape    meaning
q          q            (d,)     state
q*         proposal     (d,)     proposed state
           scale        ()       standard deviation of each coordinate's proposal
U          U(q, model)  ()       potential energy, minus the log density up to a constant
"""

import numpy as np

from algorithms.hmc import Chain, Counts, warn_if_none_accepted
from models import validate
from models.interface import U
from models.jit import check_interrupt, njit, public


@njit
def random_walk_step(q, current_U, model, scale, rng):
    """One transition of random-walk Metropolis, which leaves the density exp(-U) invariant.

    Mirror of Metropolis et al. 1953.

    Parameters
    ----------
    q         : (d,) float64    where the chain is; not modified
    current_U : float           its potential energy
    model     : NamedTuple      any model that implements U
    scale     : float > 0       standard deviation of the proposal in each coordinate
    rng       : Generator       advanced by d normals, then one uniform

    Returns (q, U, accepted, error): where the chain is next, its energy, whether that is the
    proposal (never one of infinite or nan energy), and U(q*) - U(q).
    """
    # 1   draw z ~ N(0, I)
    z = rng.standard_normal(q.size)
    # 2   q* <- q + scale z
    proposal = q + scale * z
    # ours
    proposed_U = U(proposal, model)
    error = proposed_U - current_U
    # 3   draw u ~ Uniform(0, 1);  if u < exp(U(q) - U(q*))
    #     theirs  silent about an energy that is infinite or not a number
    #     ours    such a proposal is rejected, and counted in `divergences`
    #     why     a state of energy -inf would be accepted, and never left again
    #     test    test_an_error_that_is_not_finite_is_rejected_whatever_its_sign
    if rng.random() < np.exp(-error) and np.isfinite(error):
        # 4   return q*
        return proposal, proposed_U, True, error
    # 5   else return q
    return q, current_U, False, error


def check_random_walk(q0, model, scale, n, rng, thin=1):
    """Check the arguments of random_walk."""
    model = validate.model("model", model, U)
    return (validate.state("q0", q0, model), model,
            validate.real("scale", scale, 0.0, open_low=True), validate.count("n", n),
            validate.generator("rng", rng), validate.count("thin", thin))


@warn_if_none_accepted
@public(check_random_walk)
@njit
def random_walk(q0, model, scale, n, rng, thin=1):
    """Run n * thin transitions from q0 and keep every thin-th state; return a Chain.

    Its samples and energies are of the n states kept, (n, d) and (n,); accepted and energy_error
    are of all transitions, (n thin,).

    Parameters
    ----------
    q0    : (d,) float64    where the chain starts; not modified
    model : NamedTuple      any model that implements U
    scale : float > 0       standard deviation of the proposal in each coordinate
    n     : int >= 1        states kept
    rng   : Generator       advanced, per transition, by d normals, then one uniform
    thin  : int >= 1        transitions per state kept; default 1

    Raises ValueError, naming the argument, for anything else.
    Warns if it accepts none of ten proposals or more.
    """
    chain = Chain(np.empty((n, q0.size)), np.empty(n), np.empty(n * thin, np.bool_),
                  np.empty(n * thin), Counts(n * thin + 1, 0))
    q, current_U = q0, U(q0, model)
    for t in range(n * thin):
        check_interrupt()
        q, current_U, chain.accepted[t], chain.energy_error[t] = random_walk_step(
            q, current_U, model, scale, rng)
        chain.samples[t // thin], chain.energies[t // thin] = q, current_U
    return chain
