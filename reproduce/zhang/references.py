"""Chains on the four models of Zhang and Sutton (2014), and what all samplers must agree on.

The quantities are the hyperparameters and some of the parameters: their means, and their standard
deviations (rivals/moments.py).
"""

import time
import warnings
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import Funnel
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import sizes
from models.log_gaussian_cox import LogGaussianCox
from models.non_centred import NonCentred, theta_of
from models.stochastic_volatility import StochasticVolatility
from reproduce.beyond.rivals.moments import moments
from reproduce.beyond.rivals.nuts import library
from reproduce.zhang.datasets import BETA, MU, PHI, SIGMA, load
from reproduce.zhang.estimates import in_blocks
from reproduce.zhang.nuts import nuts
from reproduce.zhang.printed import HMC, SSHMC

HYPER = {"funnel": ("v",), "credit": ("log v",),
         "volatility": ("log beta", "log sigma", "atanh phi"), "Cox": ("log sigma^2", "log beta")}
EVERY = {"funnel": 10, "credit": 4, "volatility": 40, "Cox": 20}  # which theta are looked at
SPREAD = 0.1  # of the hyperparameters at the start


class Problem(NamedTuple):
    """A model, and where chains start."""

    model: NamedTuple
    phi: np.ndarray  # (h,) about which the hyperparameters start
    keep: np.ndarray  # indices of theta


def problem(name, data_name):
    """Make the model of a data set, the funnel having none; chains start where pilots settled."""
    data = load(data_name) if data_name else None
    if name == "funnel":
        model, phi = Funnel.from_size(100), [0.5]
    elif name == "credit":
        model, phi = HierarchicalLogistic.from_data(data.X, data.y, data.group), [-1.5]
    elif name == "volatility":
        model, phi = StochasticVolatility.from_data(data.y), [np.log(BETA), np.log(SIGMA),
                                                              np.arctanh(PHI)]
    else:
        model, phi = LogGaussianCox.from_counts(data.y, MU), [0.0, -0.8]  # far from the truth
    return Problem(model, np.array(phi), np.arange(0, sizes(model)[0], EVERY[name]))


def start(which, rng):
    """Draw z ~ N(0, I) and phi near where chains start; return z, theta and phi."""
    phi = which.phi + SPREAD * rng.standard_normal(which.phi.size)
    z = rng.standard_normal(sizes(which.model)[0])
    return z, theta_of(z, phi, which.model), phi


def nuts_chain(name, data_name, centred, draws, tune, maxdepth, seed):
    """Run a chain of NUTS: its moments, its gradients, how often it broke off."""
    which, rng = problem(name, data_name), np.random.default_rng(seed)
    z, theta, phi = start(which, rng)
    model = which.model if centred else NonCentred(which.model)
    found = nuts(model, np.concatenate([theta if centred else z, phi]), draws, tune,
                 int(rng.integers(2**31)), which.keep, maxdepth)
    return moments(found["phi"], found["theta"]) | {
        "gradients": found["steps"], "divergences": found["divergences"],
        "deepest": found["deepest"], "rate": float("nan")}


def transitions(method, which, theta, phi, setting, n, rng):
    """Run n transitions of SSHMC, RMHMC within Gibbs or HMC; return a record in blocks."""
    settings = dict(setting)
    if method == HMC:
        chain = hmc(np.concatenate([theta, phi]), which.model, n=n, rng=rng, **settings)
        return in_blocks(chain, theta.size, which.keep)
    sampler = sshmc if method == SSHMC else rmhmc_within_gibbs
    return sampler(theta, phi, which.model, n=n, rng=rng, keep=which.keep, **settings)


def own_chain(name, data_name, method, setting, n, burn_in, seed):
    """Run a chain of one of our samplers: its moments, its gradients, its acceptance rate."""
    which, rng = problem(name, data_name), np.random.default_rng(seed)
    _, theta, phi = start(which, rng)
    with warnings.catch_warnings(action="ignore"):  # of short chains that never accept
        chain = transitions(method, which, theta, phi, setting, burn_in + n, rng)
    gradients = sum(v for k, v in chain.counts._asdict().items() if k.startswith("gradient"))
    return moments(chain.phi[burn_in:], chain.theta[burn_in:]) | {
        "gradients": gradients * n / (burn_in + n), "deepest": float("nan"),
        "divergences": int(chain.divergences),
        "rate": float(chain.accepted[burn_in:].mean())}


def warm(problems, settings):
    """Compile everything: {problem: data}, {(problem, sampler): setting}; NUTS must be there."""
    library()
    for name, data_name in problems.items():
        for centred in (True, False):
            nuts_chain(name, data_name, centred, draws=6, tune=6, maxdepth=1, seed=0)
    for (name, method), setting in settings.items():
        own_chain(name, problems[name], method, setting, n=6, burn_in=0, seed=0)


def clock(rows, rounds):
    """CPU seconds of a gradient of NUTS, or of a transition of ours, in turn.

    rows : {row: [problem, data, method or "", setting or centred, transitions]}
    """
    seconds = {row: [] for row in rows}
    for k in range(rounds + 1):  # the first one loads what is compiled
        for row, (name, data_name, method, setting, n) in rows.items():
            which, rng = problem(name, data_name), np.random.default_rng(k)
            z, theta, phi = start(which, rng)
            begin = time.process_time()  # NUTS runs in a thread of its own
            if method:
                transitions(method, which, theta, phi, setting, n, rng)
                done = n
            else:
                model = which.model if setting else NonCentred(which.model)
                found = nuts(model, np.concatenate([theta if setting else z, phi]), n, 2 * n,
                             k + 1, which.keep, 6)
                done = found["steps"] + found["warm_up"]
            seconds[row].append((time.process_time() - begin) / done)
    return {"seconds": {row: each[1:] for row, each in seconds.items()}}
