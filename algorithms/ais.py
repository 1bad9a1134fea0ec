"""Annealed importance sampling of the evidence of Gaussian-process classification.

In words    Draws from a normalised distribution are moved to the posterior along a ladder of
            distributions between the two, by one transition or more at each rung.  Each such run
            has a weight: the product over the rungs of the ratio of the rung's unnormalised density
            to that of the rung below, at the state where the run steps up.  If each transition
            leaves the distribution of its rung invariant, the expectation of the weight is the
            evidence, whether or not the transitions have reached these distributions: that decides
            only how much the weights vary.  Use it for the evidence of a model where transitions
            for every rung are cheap, and look at the spread of the weights before you trust their
            mean.
Paper       R. M. Neal (2001), "Annealed importance sampling", Statistics and Computing 11;
            Paquet and Fraccaro (2016), Sections 1.1 and 5.
Mirror      ais_run, Neal's procedure with the ladder of Paquet and Fraccaro, whose start they leave
            open: see geometric_ladder.  The numbers of the lines are ours.  Neal counts down, from
            beta_n = 0 to beta_0 = 1 and from x_(n-1) to x_0; the n of Neal is our B.
Own lines   ais_run: B and the two arrays are the record of the transitions, for diagnostics; these
            two lines are more than a fifth of all, the limit of CONTRIBUTING.md.

Departures
----------
Section 5, labels (c*), (f*), (g*), (j), (k*), (l)
    theirs  the labels of the methods in the text
    ours    those of the caption of Figure 2: (a) to (c) and (e) AISq-RMHMC, (d) and (f) AIS-RMHMC,
            (g) AISq-HMC
    why     the caption has no (j), (k) and (l)
    test    a label

Notation
--------
paper             here           shape       meaning
beta_0..beta_B    betas          (B + 1,)    inverse temperatures, 0 to 1
p_beta, L_beta    temper         model       at beta; exp(L_beta) is p_beta times Z(beta); Z(0) = 1
L_1 - L_0         log_ratio      ()          the likelihood's logarithm, if q is the prior
w                 log_weights    (R,)        log of one importance weight per run
log Z             log_Z          ()          log evidence, log Z(1)
"""

from typing import NamedTuple

import numpy as np

from algorithms import hmc as hmc_
from algorithms import paquet_rmhmc, paquet_rmhmc_fast
from models import validate
from models.gp_classification import GPClassification, draw_q, log_ratio, temper
from models.interface import dispatch
from models.jit import check_interrupt, njit, public


@njit
def ais_run(model, betas, kernel, rng):
    """One run of annealed importance sampling.

    Mirror of Neal 2001, Section 2.

    L_beta is linear in beta: in line 4 the rest of both densities cancels, and O(N) is left.

    Parameters: as for ais.  Returns (log_w, x, accepted, energy_error), the last two (B,).
    """
    B = betas.size - 1
    accepted, energy_error = np.empty(B, np.bool_), np.empty(B)
    # 1   draw x_0 ~ q, exactly
    x = draw_q(model, rng)
    # 2   log w := 0
    log_w = 0.0
    # 3   for k = 1, ..., B
    for k in range(1, B + 1):
        check_interrupt()
        # 4   log w := log w + L_(beta_k)(x_(k-1)) - L_(beta_(k-1))(x_(k-1))
        log_w += (betas[k] - betas[k - 1]) * log_ratio(x, model)
        # 5   x_k := a transition from x_(k-1) that leaves p_(beta_k) invariant
        #     theirs  no transition at the last distribution, beta_B = 1
        #     ours    one at each beta_k, k = 1, ..., B
        #     why     Paquet and Fraccaro, Section 5, have a kernel "at each" beta; the last does
        #             not change the weight, and makes x_B a state of the posterior
        #     test    test_weights_are_the_telescoping_sum_of_L
        #     theirs  silent about energies that are infinite or not numbers
        #     ours    such a proposal is rejected by every kernel, and counted in `divergences`
        #     why     a state of energy -inf would be accepted, and never left again
        #     test    test_paquet_rmhmc.py::test_line_30_rejects_an_energy_that_is_not_finite
        x, accepted[k - 1], energy_error[k - 1] = transition(
            x, temper(model, betas[k]), kernel, rng)
    # 6   return log w, x_B
    return log_w, x, accepted, energy_error


@njit
def ais(model, betas, kernel, runs, rng):
    """Run annealed importance sampling `runs` times, from q at beta = 0 to the posterior.

    The mean of exp(log_weights) estimates p(y) without bias (see combine) if the kernel leaves
    every p_beta invariant, as HMC does.  RMHMC does so only as f_max -> infinity, and where its
    iterations converge: with f_max = 5, the paper's example, the estimate has a bias that no number
    of runs removes.

    Parameters
    ----------
    model  : GPClassification     from_prior: q is the prior; from_ep: EP's Gaussian.  Its own beta
                                  is not used
    betas  : (B + 1,) float64     strictly increasing from 0 to 1: see geometric_ladder
    kernel : HMC or RMHMC         the transition at every beta (or RMHMCMirror)
    runs   : int >= 1             independent runs
    rng    : Generator            advanced, per run, by N normals, then by B transitions

    Returns an AIS.  Raises ValueError, naming the argument, for anything else.
    """
    B = betas.size - 1
    out = AIS(np.empty(runs), np.empty((runs, model.y.size)), np.empty((runs, B), np.bool_),
              np.empty((runs, B)))
    for r in range(runs):
        out.log_weights[r], out.samples[r], out.accepted[r], out.energy_error[r] = ais_run(
            model, betas, kernel, rng)
    return out


class HMC(NamedTuple):
    """Kernel: a transition of algorithms.hmc with unit masses.  eps > 0, l_max >= 1."""

    eps: float
    l_max: int


class RMHMC(NamedTuple):
    """Kernel: a transition of algorithms.paquet_rmhmc_fast.  eps > 0; l_max, f_max >= 1."""

    eps: float
    l_max: int
    f_max: int


class RMHMCMirror(NamedTuple):
    """Transition kernel: one transition of algorithms.paquet_rmhmc; for checks and teaching."""

    eps: float
    l_max: int
    f_max: int


@dispatch(arg=2)
def transition(x, model, kernel, rng):
    """One transition at one rung: (x, accepted, energy error).

    It leaves p_beta invariant: HMC does exactly, RMHMC as f_max -> infinity, where that converges.
    """


@transition.register(HMC)
def hmc_transition(x, model, kernel, rng):
    """HMC."""
    start = hmc_.state_at(x, model)  # anew: the density has changed since the last transition
    state, accepted, error = hmc_.hmc_step(start, model, kernel.eps, kernel.l_max, None, rng)
    return state.q, accepted, error


@transition.register(RMHMC)
def rmhmc_transition(x, model, kernel, rng):
    """RMHMC, the fast twin."""
    chain = paquet_rmhmc_fast.rmhmc(x, model, kernel.l_max, kernel.eps, 1, rng, kernel.f_max)
    return chain.samples[0], chain.accepted[0], chain.energy_error[0]


@transition.register(RMHMCMirror)
def rmhmc_mirror_transition(x, model, kernel, rng):
    """RMHMC, the mirror."""
    chain = paquet_rmhmc.rmhmc(x, model, kernel.l_max, kernel.eps, 1, rng, kernel.f_max)
    return chain.samples[0], chain.accepted[0], chain.energy_error[0]


class AIS(NamedTuple):
    """The record of R runs over a ladder of B steps."""

    log_weights: np.ndarray  # (R,)
    samples: np.ndarray  # (R, N) last states: with the weights, draws from the posterior
    accepted: np.ndarray  # (R, B) bool, was the transition at betas[k + 1] accepted?
    energy_error: np.ndarray  # (R, B) of those transitions

    @property
    def divergences(self):
        """How many transitions of each run were rejected for an energy not finite; (R,)."""
        return np.sum(~np.isfinite(self.energy_error), axis=1)


class Estimate(NamedTuple):
    """Many runs combined."""

    log_Z: float
    standard_error: float  # of log_Z, by the delta method; nan for a single run
    effective_runs: float  # (sum w)^2 / sum w^2, in [1, R]; 0 if all weights are 0


def geometric_ladder(B, beta_min):
    """Return (B + 1,) inverse temperatures: 0, then B values from beta_min to 1 in equal ratios.

    The paper says "a geometric progression over B=400 beta-values" and not where it starts.
    beta_min has to make the first step harmless: beta_min times the standard deviation of L_1 - L_0
    under q must not exceed about 1.  From the prior of the paper's data set that is about 1e-7.
    From EP's q the standard deviation is about 5, so that 1e-3 is well on the safe side.

    B : int from 1 to 1000000   beta_min : float in (0, 1], where 1 is for B = 1

    Raises ValueError, naming the argument, for anything else.
    """
    B = validate.count("B", B)
    if B > 10**6:
        raise ValueError(f"B must be at most 1000000, not {B}")
    beta_min = validate.real("beta_min", beta_min, 0.0, 1.0, open_low=True)
    if B > 1 and beta_min == 1.0:
        raise ValueError(f"beta_min must be below 1 for a ladder of B = {B} steps")
    return np.concatenate([[0.0], beta_min ** (1.0 - np.arange(B) / max(B - 1, 1))
                           if B > 1 else [1.0]])


def combine(log_weights):
    """Combine runs: the log of the mean weight, its standard error, and the effective runs.

    log_weights : (R,) finite or -inf.  Raises ValueError for anything else.
    """
    log_weights = validate.logarithms("log_weights", log_weights)
    top = log_weights.max()
    if np.isneginf(top):
        return Estimate(-np.inf, np.nan, 0.0)
    w = np.exp(log_weights - top)
    R = w.size
    error = np.std(w, ddof=1) / np.mean(w) / np.sqrt(R) if R > 1 else np.nan
    return Estimate(float(top + np.log(w.mean())), float(error), float(w.sum() ** 2 / (w @ w)))


def check_ais(model, betas, kernel, runs, rng):
    """Check the arguments of ais."""
    validate.instance("model", model, GPClassification, "made by from_prior or from_ep")
    model = validate.model("model", model)
    betas = validate.array("betas", betas, (-1,))
    if betas.size < 2 or betas[0] != 0.0 or betas[-1] != 1.0 or (np.diff(betas) <= 0.0).any():
        raise ValueError("betas must increase strictly from 0 to 1, as geometric_ladder's do;"
                         f" it starts {betas[:3].tolist()} and ends {betas[-3:].tolist()}")
    if not isinstance(kernel, (HMC, RMHMC, RMHMCMirror)):
        raise ValueError("kernel must be an HMC(eps, l_max), RMHMC(eps, l_max, f_max) or"
                         f" RMHMCMirror of algorithms.ais, not {type(kernel).__name__}")
    checked = [validate.real("eps", kernel.eps, 0.0, open_low=True)]
    checked += [validate.count(name, getattr(kernel, name)) for name in kernel._fields[1:]]
    return (model, betas, type(kernel)(*checked), validate.count("runs", runs),
            validate.generator("rng", rng))


ais = public(check_ais)(ais)


def last_step(y, q):
    """Return a length of the last step from which on AIS that starts at q has infinite variance.

    y : (N,)             labels
    q : EP's result      with the mean mu and the sites tau and nu

    Along c d, d EP's mean, prior x likelihood^(1 + D) / site^D falls like exp(-c^2 Q / 2) with Q =
    d' K^-1 d - D d' diag(tau) d + (1 + D) (sum of d_n^2 where the label is wrong), D the length of
    the last step.  Other directions can only make it shorter.  Importance sampling from q is AIS
    with one step, of length 1: where the result is in (0, 1], its weights have infinite variance
    too.  A result that is not positive says nothing.
    """
    site = q.mu @ (q.tau * q.mu)
    prior = q.mu @ q.nu - site  # K^-1 mu = nu - tau mu
    wrong = np.sum(q.mu[y * q.mu < 0] ** 2)
    return (prior + wrong) / (site - wrong)
