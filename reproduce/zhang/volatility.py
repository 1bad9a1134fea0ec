"""Chains on the stochastic volatility model of Zhang and Sutton (2014), Section 5.3.

The paper does not say where its chains start.  Girolami and Calderhead's programs start at x = y
and beta = sigma = phi = 0.5, from where most settings never move; ours start at these
hyperparameters with x drawn given them.
"""

import time
import warnings

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models.stochastic_volatility import StochasticVolatility
from reproduce.harness.claims import mean
from reproduce.zhang.datasets import BETA, PHI, SIGMA, load, simulated_volatility
from reproduce.zhang.estimates import in_blocks, summary
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.tuning import pilot

NAMES = ("beta", "sigma", "phi")  # the hyperparameters, in the order of the model
TRUTH = (np.log(BETA), np.log(SIGMA), np.arctanh(PHI))
START = (np.log(0.5), np.log(0.5), np.arctanh(0.5))
JITTER = 0.3  # of all steps of all methods: ours, against resonance
EVERY = 50  # of the x in pilots
# what takes about as long as a gradient in x; a metric of RMHMC comes with a factor of M
WEIGHTS = {HMC: {"gradient": 1.0}, GIBBS: {"gradient_theta": 1.0, "factor_phi": 1 / 3},
           SSHMC: {"gradient_theta": 1.0, "gradient_phi": 1.0}}
# of histograms: of beta, sigma and phi, and the same in the coordinates of the model
EDGES = tuple(np.linspace(low, high, 31) for low, high in ((0.4, 1.1), (0.1, 0.28), (0.94, 0.998)))
BINS = [np.log(EDGES[0]), np.log(EDGES[1]), np.arctanh(EDGES[2])]
EARLY = 20  # the first of so many parts of a run has its own histogram


def transitions(method, theta, phi, model, setting, n, rng, keep=None):
    """Run n transitions of a method from (theta, phi); return a record with theta and phi.

    setting : dict   HMC: eps, L; RMHMC within Gibbs: eps_theta, eps_phi, L_theta, L_phi; SSHMC:
                     eps_theta, eps_phi, L, n_theta, n_phi
    """
    if method == HMC:
        chain = hmc(np.append(theta, phi), model, setting["eps"], setting["L"], n, rng,
                    jitter=JITTER)
        return in_blocks(chain, theta.size, keep)
    if method == GIBBS:
        return rmhmc_within_gibbs(theta, phi, model, setting["eps_theta"], setting["eps_phi"],
                                  setting["L_theta"], setting["L_phi"], n, rng, JITTER, keep)
    return sshmc(theta, phi, model, setting["eps_theta"], setting["eps_phi"], setting["L"], n, rng,
                 setting["n_theta"], setting["n_phi"], JITTER, keep)


def start(T, rng):
    """Return x, drawn given START, and START."""
    sigma, ar = np.exp(START[1]), np.tanh(START[2])
    x = sigma * rng.standard_normal(T)
    x[0] /= np.sqrt(1 - ar**2)
    for t in range(1, T):
        x[t] += ar * x[t - 1]
    return x, np.array(START)


def pilots(method, data, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`, from what the data were simulated from."""
    cases = load(data)
    model = StochasticVolatility.from_data(cases.y)
    found = []
    for setting in settings:
        with warnings.catch_warnings(action="ignore"):  # some settings are never accepted
            runs = [transitions(method, cases.x, np.array(TRUTH), model, setting, burn_in + n,
                                np.random.default_rng([*seed, k]),
                                np.arange(0, cases.x.size, EVERY)) for k in range(chains)]
        found.append(pilot(setting, runs, WEIGHTS[method], burn_in))
    return {"pilots": found}


def one_chain(method, data, setting, n, burn_in, seed):
    """Run one chain: `burn_in` transitions, then n; return the summary of the n.

    "burn_in" is {"times", "phi": the hyperparameters after so many transitions}, "early" the
    histograms of the first n / EARLY draws, and "worst" the least ESS of all, by the lineage.
    """
    rng = np.random.default_rng(seed)
    cases = load(data)
    model = StochasticVolatility.from_data(cases.y)
    with warnings.catch_warnings(action="ignore"):  # the acceptance rate is recorded
        first = transitions(method, *start(cases.x.size, rng), model, setting, burn_in, rng)
        chain = transitions(method, first.theta[-1], first.phi[-1], model, setting, n, rng)
    found = summary(chain, 0, BINS)
    early = [np.histogram(x[: n // EARLY], edges)[0]
             for x, edges in zip(chain.phi.T, BINS, strict=True)]
    times = np.unique(np.geomspace(1, burn_in, 60).astype(int))
    return found | {
        "divergences": first.divergences + chain.divergences, "early": early,
        "worst": np.min([found["theta"]["lineage"][0], *found["phi"]["lineage"]]),
        "burn_in": {"times": times, "phi": first.phi[times - 1]}}


def estimates(method, chains):
    """Put the runs of one setting together: {quantity: Measured, the runs being independent}.

    AP         acceptance rate, a list if there are several blocks
    ess        {"min", "med", "max": of x, "beta", "sigma", "phi", "all": the least of all;
               by the lineage}; ours, squares: the same by ours, and of (x - mean)^2, without "all"
    mean, sd   of log beta, log sigma and atanh phi: {name: Measured}
    passes     gradients of a transition, those of hyperparameters by WEIGHTS
    divergences   in all runs
    """
    def ess(estimator):
        values = {**dict(zip(("min", "med", "max"),
                             np.transpose([c["theta"][estimator] for c in chains]), strict=True)),
                  **by_name([c["phi"][estimator] for c in chains])}
        return {name: mean(each) for name, each in values.items()}

    counts = [sum(w * c["counts"][k] for k, w in WEIGHTS[method].items()) / c["n"] for c in chains]
    rates = np.reshape([c["AP"] for c in chains], (len(chains), -1))
    return {"AP": [mean(column) for column in rates.T],
            "divergences": sum(c["divergences"] for c in chains),
            "ess": ess("lineage") | {"all": mean([c["worst"] for c in chains])},
            "ours": ess("ours"), "squares": ess("squares"), "passes": float(np.mean(counts)),
            **{what: {name: mean(x) for name, x in by_name([c["phi"][what] for c in chains]).items()
                      } for what in ("mean", "sd")}}


def by_name(rows):
    """Return the columns of a list of triples, {name: (n,)}."""
    return dict(zip(NAMES, np.transpose(rows), strict=True))


def clock(data, rows, rounds, n):
    """CPU seconds of a transition of each row, in turn: rounds of n transitions of each.

    rows : {name: [method, setting]}.  Each chain goes on where its last round ended.
    """
    cases, rng = load(data), np.random.default_rng(0)
    model = StochasticVolatility.from_data(cases.y)
    at = dict.fromkeys(rows, (cases.x, np.array(TRUTH)))
    seconds = {name: [] for name in rows}
    with warnings.catch_warnings(action="ignore"):
        for _ in range(rounds + 1):  # the first one loads what is compiled
            for name, (method, setting) in rows.items():
                begin = time.thread_time()
                chain = transitions(method, *at[name], model, setting, n, rng)
                seconds[name].append((time.thread_time() - begin) / n)
                at[name] = chain.theta[-1], chain.phi[-1]
    return {"seconds": {name: each[1:] for name, each in seconds.items()}}


def warm():
    """Compile everything in this process, before others start."""
    data = simulated_volatility(5).name
    for method, setting in ((HMC, {"eps": 0.1, "L": 2}),
                            (GIBBS, dict(eps_theta=0.5, eps_phi=0.5, L_theta=2, L_phi=2)),
                            (SSHMC, dict(eps_theta=0.1, eps_phi=0.1, L=2, n_theta=2, n_phi=1))):
        one_chain(method, data, setting, n=20, burn_in=2, seed=0)
