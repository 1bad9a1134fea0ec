"""The four papers on each other's problems: two problems, and chains of all methods on them.

digits      GP classification of threes and fives with a length and an amplitude that are unknown
            (models/hierarchical_gp_classification.py): x of each case, log l, log sigma
logistic    logistic regression whose weights, the intercept among them, have one unknown variance v
            (models/hierarchical_logistic.py, with one group): w, log v

Where they differ from the papers' own: Paquet and Fraccaro (2016) fix l and sigma; in Shahbaba et
al. (2014) v is 25; Wang and Neal (2013) have GP regression, with an exact evidence.

RMHMC within Gibbs is Paquet and Fraccaro's RMHMC on the digits, of x given phi, by the fast twin of
its mirror: the metric follows x, which that of algorithms/rmhmc_within_gibbs.py does not for a
model that registers no block of its own.  phi given x takes slice updates.  On the logistic problem
it is algorithms/rmhmc_within_gibbs.py, whose metric of w is the Fisher information at w.

Mapping, on the digits, samples phi alone, with EP's corrected evidence of all cases for pi and EP's
of a third of them for pi*: another posterior than that of the others.  On the logistic problem pi
is the model, and pi* has the cases of split HMC's U_0 alone.

This file alone of the folder knows papers: it takes their data, and one fact of their settings.
"""

import time
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np

from algorithms.ep_fast import ep
from algorithms.paquet_rmhmc_fast import rmhmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.zhang_sshmc_fast import sshmc
from models.gp_classification import GPClassification
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import GivenTheta, precompute_phi
from models.non_centred_gp import NonCentredGP, latent
from reproduce.beyond.rivals.ep_marginal_likelihood import EPEvidence, covariance
from reproduce.beyond.rivals.moments import moments
from reproduce.beyond.rivals.nuts import library, nuts
from reproduce.beyond.rivals.subset_logistic import SubsetLogistic
from reproduce.beyond.rivals.surrogate_gp import surrogate_gp
from reproduce.paquet.digits import digits_3v5
from reproduce.shahbaba.chains import problem as split_problem
from reproduce.shahbaba.printed import PROBLEMS

DIGITS, LOGISTIC = "digits", "logistic"
SSHMC, RMHMC, SURROGATE = "SSHMC", "RMHMC within Gibbs", "surrogate slices"
NUTS, MAPPING = "NUTS", "mapping"
METHODS = {DIGITS: (SSHMC, RMHMC, SURROGATE, NUTS, MAPPING),
           LOGISTIC: (SSHMC, RMHMC, NUTS, MAPPING)}
HYPER = {DIGITS: 2, LOGISTIC: 1}
PRIOR_MEAN, PRIOR_SD = (2.0, 1.0), (1.0, 1.0)  # of log l, log sigma; cases are some 6 apart
KEPT = 8  # latent values that are recorded
FRACTION = 3  # pi* of the digits has every third case
JITTER, ORDER_SEED = 0.2, 0  # of steps; of the order in which digits are taken
SLICE = 0.3  # width of slices of phi given x
BRACKET = 1.0  # of surrogate slices
EP_WORK = 31.0  # n^3 / 3 operations of an EP: 8 sweeps and the end of algorithms/ep_fast.py


# Settings, eight for each method; NUTS finds its own

SETTINGS = {
    # eps of theta, its leapfrogs for one of phi, eps of phi, L; without a factorisation they are
    # cheap on the digits.  There 2 / omega, beyond which no leapfrog is stable, is above .03 for 95
    # of 100 draws of EP's posterior, and .054 in the middle
    (DIGITS, SSHMC): [[a, m, b, 6] for a in (0.015, 0.03) for m in (8, 24) for b in (0.2, 0.5)],
    (LOGISTIC, SSHMC): [[a, 1, a, L] for a in (0.4, 0.7, 1.0, 1.4) for L in (2, 6)],
    # eps and steps of x; eps of both blocks and steps of each
    (DIGITS, RMHMC): [[a, L] for a in (0.15, 0.3, 0.6, 1.0) for L in (2, 6)],
    (LOGISTIC, RMHMC): [[a, L] for a in (0.2, 0.4, 0.6, 0.9) for L in (1, 3)],
    # variance of the surrogate data, ellipses
    (DIGITS, SURROGATE): [[s, m] for s in (1.0, 4.0, 16.0, 64.0) for m in (2, 10)],
    # width of slices, whether the cases of pi* count for all, r
    (DIGITS, MAPPING): [[w, all_, r] for w in (0.5, 2.0) for all_ in (0, 1) for r in (1, 4)],
    (LOGISTIC, MAPPING): [[w, all_, r] for w in (0.5, 2.0) for all_ in (0, 1) for r in (1, 4)],
}


class Stage(NamedTuple):
    """A problem."""

    model: NamedTuple
    subset: NamedTuple  # the model of the cases of pi*
    share: float  # of all cases
    keep: np.ndarray  # which entries of theta are recorded
    fit: NamedTuple  # logistic: the normal approximation at the mode, v = 25; else None


class Record(NamedTuple):
    """What n transitions leave: states, and what they took."""

    phi: np.ndarray  # (n, h)
    theta: np.ndarray  # (n, kept), or (n, 0)
    gradients: float
    densities: float  # of pi; what was asked of pi* is in `work`
    factorisations: float  # 0 where EP makes its own
    work: float  # factorisations or passes over the data, as `work` of each says
    rate: float  # acceptance
    divergences: int


@cache
def stage(name, data):
    """Return the Stage of a problem; data: the number of digits, or the name of a data set."""
    if name == DIGITS:
        cases, n = digits_3v5(), int(data)
        chosen = np.random.default_rng(ORDER_SEED).permutation(cases.y.size)[:n]
        model, subset = (HierarchicalGPClassification.from_data(
            np.ascontiguousarray(cases.X[each]), cases.y[each], PRIOR_MEAN, PRIOR_SD,
            mass_phi=4.0 * n) for each in (chosen, chosen[: max(1, n // FRACTION)]))
        return Stage(model, subset, subset.y.size / n, np.arange(min(KEPT, n)), None)
    fraction = PROBLEMS[data].f if data in PROBLEMS else 0.3
    logistic, fit, split = split_problem(data, fraction)
    X, y = logistic.X, 2.0 * logistic.y - 1.0
    model, subset = (HierarchicalLogistic.from_data(X[each], y[each], np.zeros(len(each)))
                     for each in (np.arange(len(y)), split.cases))
    return Stage(model, subset, split.fraction, np.arange(X.shape[1]), fit)


def start(name, which, rng):
    """Draw phi and theta: about the prior's mean, and from EP's Gaussian or that at the mode."""
    if name == LOGISTIC:
        w = which.fit.q_hat + which.fit.Z @ (rng.standard_normal(which.fit.w.size) / which.fit.w)
        return w, np.array([np.log(np.mean(w**2))])
    phi = which.model.prior_mean + 0.3 * which.model.prior_sd * rng.standard_normal(2)
    q = GPClassification.from_ep(covariance(phi, which.model), which.model.y, ep(
        covariance(phi, which.model), which.model.y, 1e-6))
    return q.mu + q.L_Sigma @ rng.standard_normal(q.mu.size), phi


# Methods: each runs n transitions from theta and phi; returns a Record


def run_sshmc(name, which, theta, phi, setting, n, rng):
    """SSHMC; work is in factorisations, with 4 n^2 operations for a gradient, or in passes.

    A pass is a gradient's two products with the data, of which a density has one.
    """
    eps_theta, n_theta, eps_phi, L = setting
    found = sshmc(theta, phi, which.model, eps_theta, eps_phi, L, n, rng, n_theta, jitter=JITTER,
                  keep=which.keep)
    c, digits = found.counts, name == DIGITS
    gradients = float(c.gradient_theta + c.gradient_phi * digits)  # that of log v takes no pass
    return Record(found.phi, found.theta, gradients, n + 1.0, float(c.factor_theta * digits),
                  c.factor_theta + 12 * gradients / theta.size if digits
                  else gradients + (n + 1) / 2,
                  found.accepted.mean(), found.divergences)


def run_rmhmc(name, which, theta, phi, setting, n, rng):
    """RMHMC within Gibbs: work is in factorisations, a solve of n^3 being three, or passes."""
    eps, L = setting
    if name == LOGISTIC:
        found = rmhmc_within_gibbs(theta, phi, which.model, eps, eps, L, L, n, rng, JITTER,
                                   which.keep)
        c, p = found.counts, theta.size
        return Record(found.phi, found.theta, float(c.gradient_theta), n + 1.0,
                      float(c.factor_theta), (1 + p / 2) * (c.gradient_theta + c.factor_theta),
                      found.accepted.mean(), int(found.divergences))
    rows, columns, accepted, divergences = np.empty((n, which.keep.size)), np.empty((n, 2)), 0, 0
    gradients, densities, factors, work = 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        step = eps * rng.uniform(1 - JITTER, 1)
        given = GPClassification.from_prior(covariance(phi, which.model), which.model.y)
        found = rmhmc(theta, given, L, step, 1, rng)
        theta, c = found.samples[0], found.counts
        accepted, divergences = accepted + found.accepted[0], divergences + found.divergences
        moved = slice_sampling(phi, GivenTheta(which.model, theta), SLICE, 1, rng)
        phi, asked = moved.samples[0], moved.counts.density
        rows[t], columns[t] = theta[which.keep], phi
        gradients, densities = gradients + c.gradient, densities + asked
        factors, work = factors + 1 + c.cholesky + asked, work + 1 + c.thirds + asked
    return Record(columns, rows, gradients, densities, factors, work, accepted / n, divergences)


def run_surrogate(name, which, theta, phi, setting, n, rng):
    """Surrogate slices; work is in factorisations, a product L'L being one."""
    noise, ellipses = setting
    rows, columns, asked, points = surrogate_gp(theta, phi, which.model, float(noise), BRACKET, n,
                                                rng, ellipses)
    return Record(columns, rows[:, which.keep], 0.0, float(asked + points), 2.0 * asked + n,
                  3.0 * asked + n, 1.0, 0)


def run_mapping(name, which, theta, phi, setting, n, rng):
    """Mapping to a discretizing chain; work is in factorisations, of EP, or passes."""
    w, all_, r = setting
    weight = 1 / which.share if all_ else 1.0
    if name == DIGITS:
        pi, star = EPEvidence(which.model, 1.0, True), EPEvidence(which.subset, weight, False)
        q, unit, cheaper = phi, EP_WORK, which.share**3
    else:
        pi, star = which.model, SubsetLogistic(which.subset, weight)
        q, unit, cheaper = np.concatenate([theta, phi]), 0.5, which.share
    found = discretizing_chain(q, pi, star, w, n, rng, r=r)
    asked, stars = found.counts.density, found.counts.approximations[0]
    h = HYPER[name]
    return Record(found.samples[:, -h:], found.samples[:, :-h], 0.0, float(asked), 0.0,
                  unit * (asked + cheaper * stars), found.accepted.mean(), found.counts.not_finite)


RUN = {SSHMC: run_sshmc, RMHMC: run_rmhmc, SURROGATE: run_surrogate, MAPPING: run_mapping}


def run_nuts(name, which, theta, phi, draws, tune, rng, maxdepth=7):
    """NUTS, non-centred on the digits; return its Record, and gradients of the adaptation.

    A gradient brings its density with it.  On the digits that is a factorisation and a whitened
    derivative, of three: four; on the other problem a pass.
    """
    h, model, digits = HYPER[name], which.model, name == DIGITS

    def kept(q):
        x = latent(q[:-h], precompute_phi(q[-h:], model)) if digits else q[:-h]
        return {"phi": q[-h:].copy(), "theta": x[which.keep].copy()}

    seed, z = int(rng.integers(2**31)), theta
    if digits:
        z = np.linalg.solve(np.tril(precompute_phi(phi, model).L), theta)
    found = nuts(NonCentredGP(model) if digits else model, np.concatenate([z, phi]), draws, tune,
                 seed, maxdepth, kept=kept)
    steps = float(found["steps"])
    return Record(found["phi"], found["theta"], steps, steps, steps * digits,
                  steps * (4 if digits else 1), float("nan"), found["divergences"]
                  ), float(found["warm_up"])


def chain(name, data, method, setting, n, burn_in, seed, place=0):
    """Run a chain of n draws after burn_in others; return its moments, and what the n draws took.

    "gradients" is the work of the n draws, "counts" what was counted apart, "steps" what a clock
    times: transitions, or gradients of NUTS; "set_up": the work before them, on the digits with the
    EP by which a start is drawn.  place: the seed of the start, the same for all methods.
    """
    which, rng = stage(name, data), np.random.default_rng(seed)
    theta, phi = start(name, which, np.random.default_rng(place))
    if method == NUTS:
        found, before = run_nuts(name, which, theta, phi, n, burn_in, rng)
        share, first, steps = 1.0, 0, found.gradients
        set_up = found.work * before / max(found.gradients, 1.0)
    else:
        with warnings.catch_warnings(action="ignore"):  # of short chains that never accept
            found = RUN[method](name, which, theta, phi, setting, burn_in + n, rng)
        share, first, steps = n / (burn_in + n), burn_in, float(n)
        set_up = found.work * (1 - share)
    return moments(found.phi[first:], found.theta[first:]) | {
        "gradients": found.work * share, "steps": steps,
        "set_up": set_up + EP_WORK * (name == DIGITS),
        "counts": {each: getattr(found, each) * share
                   for each in ("gradients", "densities", "factorisations")},
        "rate": float(found.rate), "divergences": int(found.divergences), "deepest": float("nan")}


def clock(name, data, rows, rounds):
    """CPU seconds of a transition of each method in turn, or of a gradient of NUTS.

    rows : {method: [setting, transitions]}, of NUTS [None, transitions after twice as many]

    NUTS is timed by the difference to four times as many, without what it takes to begin.
    """
    seconds, which = {method: [] for method in rows}, stage(name, data)
    for k in range(rounds + 1):  # the first one loads what is compiled
        for method, (setting, n) in rows.items():
            rng = np.random.default_rng(k)
            theta, phi = start(name, which, rng)
            if method == NUTS:
                took, done = [], []
                for draws in (n, 4 * n):
                    begin = time.process_time()  # NUTS runs in a thread of its own
                    found, before = run_nuts(name, which, theta, phi, draws, 2 * n,
                                             np.random.default_rng(k), 5)
                    took.append(time.process_time() - begin)
                    done.append(found.gradients + before)
                seconds[method].append((took[1] - took[0]) / (done[1] - done[0]))
                continue
            begin = time.process_time()
            with warnings.catch_warnings(action="ignore"):
                RUN[method](name, which, theta, phi, setting, n, rng)
            seconds[method].append((time.process_time() - begin) / n)
    return {"seconds": {method: each[1:] for method, each in seconds.items()}}


def warm(name, data):
    """Compile everything in this process, before others start; NUTS must be there."""
    library()
    for method in METHODS[name]:
        setting = SETTINGS[name, method][0] if method != NUTS else None
        chain(name, data, method, setting, 6, 6, 0)
