"""Chains on the log-Gaussian Cox process of Zhang and Sutton (2014), Section 5.4.

All start with hyperparameters at their true values, in pixels at those of the same covariance, and
with x drawn from its prior there.  The programs of the lineage start at x = mu, where nothing of
the posterior is: given that x, sigma^2 has no lower end, and with larger steps than theirs x is
rejected again and again while sigma^2 falls.  The rival is run as in those programs, with 3
fixed-point iterations of the position and 10 of the momentum, which leave an error; Figure 3 is
where it would show.
"""

import time
import warnings

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models.interface import sizes
from models.log_gaussian_cox import LogGaussianCox
from reproduce.harness.claims import Measured, mean
from reproduce.zhang.datasets import GRID, MU, RANGE, SIGMA2, load
from reproduce.zhang.estimates import in_blocks, summary
from reproduce.zhang.non_centred import theta_of
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.tuning import pilot

OWN = f"{GRID}32 x 32, unit, seed 1"
LINEAGE = dict(f_position=3, f_momentum=10, tol=0.0, tol_back=0.0)
# in Cholesky factorisations of Sigma; only numbers of operations of one method are compared
WEIGHTS = {HMC: {"gradient": 5.0}, SSHMC: {"gradient_theta": 0.1, "factor_theta": 1.0},
           GIBBS: {"gradient_theta": 0.2, "factor_theta": 2.0, "gradient_phi": 5.0,
                   "factor_phi": 4.0}}
EDGES = {"sigma^2": np.linspace(-4, 3, 57), "beta": np.linspace(-6, 3, 73)}  # of logs: histograms
FEW = 4  # runs: with less, the error of an ESS is that of theory


def problem(data, distance):
    """Return the model of a data set, by its name, and the phi where chains start."""
    counts = load(data).y
    cells = len(counts) - 1 if distance == "pixel" else 1
    return LogGaussianCox.from_counts(counts, MU, distance), np.log([SIGMA2, RANGE * cells])


def start(phi, model, rng):
    """Draw the x where a chain starts, from its prior."""
    return theta_of(rng.standard_normal(sizes(model)[0]), phi, model)


def transitions(method, x, phi, model, setting, n, rng):
    """Run n transitions of a method from (x, phi); return a record with theta and phi.

    setting : dict   HMC: eps, L; RMHMC within Gibbs: eps_theta, eps_phi, L_theta, L_phi; SSHMC:
                     eps_theta, eps_phi, L, n_theta, n_phi; and jitter
    """
    with warnings.catch_warnings(action="ignore"):  # some settings of a pilot are never accepted
        if method == HMC:
            return in_blocks(hmc(np.append(x, phi), model, setting["eps"], setting["L"], n, rng,
                                 jitter=setting["jitter"]), x.size)
        if method == GIBBS:
            return rmhmc_within_gibbs(x, phi, model, setting["eps_theta"], setting["eps_phi"],
                                      setting["L_theta"], setting["L_phi"], n, rng,
                                      setting["jitter"], **LINEAGE)
        return sshmc(x, phi, model, setting["eps_theta"], setting["eps_phi"], setting["L"], n, rng,
                     setting["n_theta"], setting["n_phi"], setting["jitter"])


def pilots(method, data, distance, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`, with the same draws."""
    model, phi = problem(data, distance)

    def chain(setting, rng):
        return transitions(method, start(phi, model, rng), phi, model, setting, burn_in + n, rng)

    return {"pilots": [pilot(setting, [chain(setting, np.random.default_rng([*seed, k]))
                                       for k in range(chains)], WEIGHTS[method], burn_in)
                       for setting in settings]}


def one_chain(method, data, distance, setting, n, burn_in, seed):
    """Run one chain; return its summary(), with "field", the mean of x, (d^2,) to 3 digits.

    The histograms are of log sigma^2 and log beta, in pixels of log(beta / (d - 1)).
    """
    (model, phi), rng = problem(data, distance), np.random.default_rng(seed)
    x = start(phi, model, rng)
    chain = transitions(method, x, phi, model, setting, burn_in + n, rng)
    shift = np.log(len(model.distance) - 1) if distance == "pixel" else 0.0
    return summary(chain, burn_in, [EDGES["sigma^2"], EDGES["beta"] + shift]) | {
        "field": chain.theta[burn_in:].mean(axis=0).round(3).tolist()}


def clock(rows, rounds, n):
    """CPU seconds of a transition of each row, in turn: rounds of n transitions of each.

    rows : {name: [method, data, distance, setting]}.  Each goes on where its last round ended.
    """
    rng, at, seconds = np.random.default_rng(0), {}, {name: [] for name in rows}
    for k in range(rounds + 1):  # the first one loads what is compiled
        for name, (method, data, distance, setting) in rows.items():
            model, phi = problem(data, distance)
            x, phi = at.get(name) or (start(phi, model, rng), phi)
            begin = time.thread_time()
            chain = transitions(method, x, phi, model, setting, n, rng)
            seconds[name] += [(time.thread_time() - begin) / n] * (k > 0)
            at[name] = chain.theta[-1], chain.phi[-1]
    return {"seconds": seconds}


def warm():
    """Compile everything in this process, before others start."""
    small = f"{GRID}3 x 3, unit, seed 1"
    for method, setting in ((HMC, {"eps": 0.01, "L": 2}),
                            (GIBBS, dict(eps_theta=0.1, eps_phi=0.1, L_theta=2, L_phi=1)),
                            (SSHMC, dict(eps_theta=0.01, eps_phi=0.01, L=2, n_theta=2,
                                           n_phi=1))):
        setting = setting | {"jitter": 0.1}
        pilots(method, small, "unit", [setting], 1, 20, 1, [0])
        one_chain(method, small, "unit", setting, 20, 1, [0])


def estimates(chains):
    """Put the chains of one setting together: {quantity: Measured, the chains being independent}.

    AP       acceptance rate, a list if there are several blocks; divergences in all
    ess      logs of the lineage's ESS: {"min", "med", "max" of x, "sigma", "beta"}
    ours     {"sigma", "beta", and "x": the least}; "squares": of squared deviations, the same
    mean, sd, histogram   of phi, lists;  field   the means of x, (chains, d^2)
    means    of phi, (chains, 2), and their standard errors as the runs report them, "means_se"
    """
    AP = np.array([np.atleast_1d(c["AP"]) for c in chains])
    phi = {name: np.array([c["phi"][name] for c in chains])
           for name in ("lineage", "ours", "squares", "mean", "sd")}
    theta = {name: np.array([c["theta"][name] for c in chains])
             for name in ("lineage", "ours", "squares")}
    found = {"AP": [mean(rate) for rate in AP.T],
             "divergences": sum(c["divergences"] for c in chains),
             "ess": {name: log_ess(values) for name, values in zip(
                 ("min", "med", "max", "sigma", "beta"),
                 [*theta["lineage"].T, *phi["lineage"].T], strict=True)},
             "histogram": [np.sum([c["phi"]["histogram"][k] for c in chains], axis=0).tolist()
                           for k in (0, 1)],
             "field": [c["field"] for c in chains], "means": phi["mean"].tolist(),
             "means_se": [c["phi"]["mean_se"] for c in chains]}
    for name in ("ours", "squares"):
        found[name] = {key: log_ess(values) for key, values in zip(
            ("sigma", "beta", "x"), [*phi[name].T, theta[name].T[0]], strict=True)}
    weights = np.array(found["means_se"])
    for name in ("mean", "sd"):
        found[name] = [mean(values) if len(chains) >= FEW else
                       Measured(values.mean(), np.sqrt(np.mean(se**2) / len(chains)))
                       for values, se in zip(phi[name].T, weights.T, strict=True)]
    return found


def log_ess(values):
    """Return the mean of the logs of an ESS of several runs.

    Of less than FEW its error is that of theory: an ESS whose window is six autocorrelation times
    has a log with one of (12 / ESS)^1/2.  What never moved has an ESS of less than 1.
    """
    logs = np.log(np.nan_to_num(values, nan=1.0))
    if logs.size >= FEW:
        return mean(logs)
    return Measured(float(logs.mean()), float(np.sqrt(12 / np.exp(logs.mean()) / logs.size)))


def difference(ours, theirs):
    """Return the mean over cells of the squared difference of two fields, as Measured.

    ours, theirs : (runs, n) means of as many runs.  Products of different pairs of runs have no
    noise in their expectation, which is the mean square of the true difference.  Its error is by
    leaving out a pair at a time.
    """
    D = np.array(ours) - np.array(theirs)

    def unbiased(D):
        K = len(D)
        return (np.sum(D.sum(axis=0) ** 2) - np.sum(D**2)) / (K * (K - 1)) / D.shape[1]

    if len(D) < 3:
        return Measured(unbiased(D) if len(D) == 2 else np.nan, np.nan)
    left = np.array([unbiased(np.delete(D, k, axis=0)) for k in range(len(D))])
    return Measured(unbiased(D), float(np.sqrt((len(D) - 1) * left.var())))
