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

Mapping, on the digits, samples phi alone, with EP's corrected evidence for pi: another posterior
than that of the others.  On the logistic problem pi is the model, and pi* has the cases of U_0.

Work is counted in operations.  On the digits its unit is n^3 / 3 of them, a factorisation: a solve
of n^3 is three, a gradient of SSHMC 12 / n, one of NUTS four, with the whitened derivative, and an
EP EP_WORK.  On the other problem it is a pass over the data, a gradient's two products, of which a
density has one; a metric of p columns is p / 2 of them, and Polya-Gamma Gibbs as zhang/rivals.py
counts it.

This file alone of the folder knows papers: it takes their data, and one fact of their settings.
"""

import time
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np

from algorithms.ep_fast import ep
from algorithms.hoffman_nuts_fast import TARGET, nuts
from algorithms.paquet_rmhmc_fast import rmhmc
from algorithms.rivals.polya_gamma_gibbs import polya_gamma_gibbs
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.zhang_sshmc_fast import sshmc
from models.gp_classification import GPClassification
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import GivenTheta, precompute_phi
from models.non_centred import NonCentred, theta_of
from models.non_centred_gp import NonCentredGP, latent
from reproduce.beyond.rivals.ep_marginal_likelihood import EPEvidence, covariance
from reproduce.beyond.rivals.moments import moments, pool, reliability, shorten, worst
from reproduce.beyond.rivals.subset_logistic import SubsetLogistic
from reproduce.beyond.rivals.surrogate_gp import surrogate_gp
from reproduce.paquet.digits import digits_3v5
from reproduce.shahbaba.chains import problem as split_problem
from reproduce.shahbaba.printed import PROBLEMS
from reproduce.zhang.rivals import CENTRED, NON_CENTRED, POLYA, SURROGATE, draw, polya_gamma
from reproduce.zhang.rivals import work as units

DIGITS, LOGISTIC = "digits", "logistic"
SSHMC, RMHMC, MAPPING = "SSHMC", "RMHMC within Gibbs", "mapping"
CAREFUL = "NUTS, target 0.95"  # non-centred too, with shorter steps: by default a fifth diverges
METHODS = {DIGITS: (SSHMC, RMHMC, SURROGATE, NON_CENTRED, CAREFUL, MAPPING),
           LOGISTIC: (SSHMC, RMHMC, POLYA, NON_CENTRED, CENTRED, MAPPING)}
HYPER = {DIGITS: 2, LOGISTIC: 1}
PRIOR_MEAN, PRIOR_SD = (2.0, 1.0), (1.0, 1.0)  # of log l, log sigma; cases are some 6 apart
KEPT = 8  # latent values that are recorded
FRACTION = 3  # pi* of the digits has every third case
JITTER, ORDER_SEED = 0.2, 0  # of steps; of the order in which digits are taken
SLICE = 0.3  # width of slices of phi given x
BRACKET = 1.0  # of surrogate slices
EP_WORK = 31.0  # n^3 / 3 operations of an EP: 8 sweeps and the end of algorithms/ep_fast.py


# Settings, eight for each method, of Polya-Gamma Gibbs four; NUTS finds its own

SETTINGS = {
    # eps of theta, its leapfrogs for one of phi, eps of phi, L; without a factorisation they are
    # cheap on the digits.  There 2 / omega, beyond which no leapfrog is stable, is above .03 for 95
    # of 100 draws of EP's posterior, and .054 in the middle
    (DIGITS, SSHMC): [[a, m, b, 6] for a in (0.015, 0.03) for m in (8, 24) for b in (0.2, 0.5)],
    (LOGISTIC, SSHMC): [[a, 1, a, L] for a in (0.4, 0.7, 1.0, 1.4) for L in (2, 6)],
    # eps and steps of x; eps of both blocks and steps of each
    (DIGITS, RMHMC): [[a, L] for a in (0.15, 0.3, 0.6, 1.0) for L in (2, 6)],
    (LOGISTIC, RMHMC): [[a, L] for a in (0.2, 0.4, 0.6, 0.9) for L in (1, 3)],
    # width of the slices of log v
    (LOGISTIC, POLYA): [[w] for w in (0.15, 0.3, 0.6, 1.2)],
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
    work: float
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
    """SSHMC."""
    eps_theta, n_theta, eps_phi, L = setting
    found = sshmc(theta, phi, which.model, eps_theta, eps_phi, L, n, rng, n_theta, jitter=JITTER,
                  keep=which.keep)
    c = found.counts
    work = (c.factor_theta + 12 * (c.gradient_theta + c.gradient_phi) / theta.size
            if name == DIGITS else c.gradient_theta + (n + 1) / 2)  # log v takes no pass
    return Record(found.phi, found.theta, work, found.accepted.mean(), found.divergences)


def run_rmhmc(name, which, theta, phi, setting, n, rng):
    """RMHMC within Gibbs."""
    eps, L = setting
    if name == LOGISTIC:
        found = rmhmc_within_gibbs(theta, phi, which.model, eps, eps, L, L, n, rng, JITTER,
                                   which.keep)
        c = found.counts
        return Record(found.phi, found.theta, (1 + theta.size / 2) * (
            c.gradient_theta + c.factor_theta), found.accepted.mean(), int(found.divergences))
    rows, columns = np.empty((n, which.keep.size)), np.empty((n, 2))
    work, accepted, divergences = 0.0, 0, 0
    for t in range(n):
        step = eps * rng.uniform(1 - JITTER, 1)
        given = GPClassification.from_prior(covariance(phi, which.model), which.model.y)
        found = rmhmc(theta, given, L, step, 1, rng)
        theta = found.samples[0]
        accepted, divergences = accepted + found.accepted[0], divergences + found.divergences
        moved = slice_sampling(phi, GivenTheta(which.model, theta), SLICE, 1, rng)
        phi = moved.samples[0]
        rows[t], columns[t] = theta[which.keep], phi
        work += 1 + found.counts.thirds + moved.counts.density
    return Record(columns, rows, work, accepted / n, divergences)


def run_surrogate(name, which, theta, phi, setting, n, rng):
    """Surrogate slices; a density of phi takes two factors and L'L."""
    noise, ellipses = setting
    rows, columns, asked, _ = surrogate_gp(theta, phi, which.model, float(noise), BRACKET, n, rng,
                                           ellipses)
    return Record(columns, rows[:, which.keep], 3.0 * asked + n, 1.0, 0)


def run_polya_gamma(name, which, theta, phi, setting, n, rng):
    """Polya-Gamma Gibbs, interwoven."""
    found = polya_gamma_gibbs(theta, phi, which.model, draw, n, rng, *setting, keep=which.keep)
    return Record(found.phi, found.theta, units("credit", POLYA, found.counts, which.model), 1.0, 0)


def run_mapping(name, which, theta, phi, setting, n, rng):
    """Mapping to a discretizing chain."""
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
    return Record(found.samples[:, -h:], found.samples[:, :-h], unit * (asked + cheaper * stars),
                  found.accepted.mean(), found.counts.not_finite)


RUN = {SSHMC: run_sshmc, RMHMC: run_rmhmc, SURROGATE: run_surrogate, POLYA: run_polya_gamma,
       MAPPING: run_mapping}


def run_nuts(name, which, method, theta, phi, n, warm_up, rng, deepest):
    """Run NUTS in the coordinates of `method`; return its Chain, and phi and theta, (n, ...)."""
    h, model, coordinates, z = phi.size, which.model, which.model, theta
    if name == DIGITS:
        coordinates = NonCentredGP(model)
        z = np.linalg.solve(np.tril(precompute_phi(phi, model).L), theta)
    elif method == NON_CENTRED:
        coordinates, z = NonCentred(model), theta / np.exp(phi / 2)
    chain = nuts(np.append(z, phi), coordinates, n, rng, warm_up,
                 target=0.95 if method == CAREFUL else TARGET, deepest=deepest)
    z, phi = chain.samples[:, :-h], chain.samples[:, -h:]
    if method != CENTRED:
        z = np.array([latent(each, precompute_phi(at, model)) if name == DIGITS
                      else theta_of(each, at, model) for each, at in zip(z, phi, strict=True)])
    return chain, phi, z[:, which.keep]


def one_chain(name, which, method, setting, n, burn_in, rng, place):
    """Run a chain of n draws after burn_in transitions, of any of the methods.

    setting : list or dict   of SETTINGS; of NUTS {"deepest": doublings}
    place   : Generator      draws the start
    Returns the draws (n, k), hyperparameters first, and {"gradients": the units of work of the n
    draws, "set_up" those before them, "rate" of acceptance, "divergences", "e_bfmi"}.
    """
    (theta, phi), ep_work = start(name, which, place), EP_WORK * (name == DIGITS)
    if "deepest" in setting:
        chain, phi, theta = run_nuts(name, which, method, theta, phi, n, burn_in, rng, **setting)
        unit, gradients = 4.0 if name == DIGITS else 1.0, float(chain.gradients.sum())
        return np.hstack([phi, theta]), {
            "gradients": unit * gradients,
            "set_up": unit * (chain.counts.gradient - gradients) + ep_work,
            "divergences": chain.divergences, "rate": float(chain.rates.mean()),
            "e_bfmi": chain.e_bfmi}
    with warnings.catch_warnings(action="ignore"):  # of short chains that never accept
        found = RUN[method](name, which, theta, phi, setting, burn_in + n, rng)
    per = float(found.work) / (burn_in + n)
    return np.hstack([found.phi[burn_in:], found.theta[burn_in:]]), {
        "gradients": per * n, "set_up": per * burn_in + ep_work, "rate": float(found.rate),
        "divergences": int(found.divergences), "e_bfmi": float("nan")}


def pilot(name, data, method, setting, n, seed):
    """Run a chain of n draws after n / 5: the worst ESS, that per unit of work, and its work."""
    draws, found = one_chain(name, stage(name, data), method, setting, n, n // 5,
                             np.random.default_rng(seed), np.random.default_rng(seed[0]))
    with np.errstate(all="ignore"):  # of a quantity that never moved
        ess = worst(pool([moments(draws) | found]))
    return {"ess": ess, "efficiency": ess / found["gradients"],
            "gradients": found["gradients"] + found["set_up"]}


def row_of_chains(name, data, method, setting, n, burn_in, chains, seed):
    """Run several chains: moments of each (rivals/moments.py), and whether to believe them.

    They start in different places, those of another method in the same ones.
    """
    draws, found = [], []
    for child in range(chains):
        x, more = one_chain(name, stage(name, data), method, setting, n, burn_in,
                            np.random.default_rng([*seed, child]),
                            np.random.default_rng([seed[0], child]))
        draws.append(x)
        found.append(shorten(moments(x)) | more)
    return reliability(np.array(draws)) | {"chains": found}


def clock(rows, rounds):
    """CPU seconds of a unit of work of each row, in turn.

    rows : {row: [problem, data, method, setting, transitions]}
    """
    seconds = {row: [] for row in rows}
    for k in range(rounds + 1):  # the first one loads what is compiled
        for row, (name, data, method, setting, n) in rows.items():
            which, rng = stage(name, data), np.random.default_rng(k)
            begin = time.thread_time()
            _, found = one_chain(name, which, method, setting, n, n, rng, rng)
            seconds[row].append((time.thread_time() - begin)
                                / (found["gradients"] + found["set_up"]))
    return {"seconds": {row: each[1:] for row, each in seconds.items()}}


def warm(data):
    """Compile everything; data: {problem: its data}.  Polya-Gamma variables must be there."""
    polya_gamma()
    for name, methods in METHODS.items():
        for method in methods:
            setting = SETTINGS.get((name, method), [{"deepest": 1}])[0]
            one_chain(name, stage(name, data[name]), method, setting, 6, 6,
                      np.random.default_rng(0), np.random.default_rng(0))
