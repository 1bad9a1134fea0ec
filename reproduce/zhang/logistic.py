"""Chains on hierarchical logistic regression, Section 5.2 of Zhang and Sutton (2014).

Every trajectory has its steps multiplied by a factor from Uniform(1 - JITTER, 1), in all methods:
without it a time near half a period of the weights makes their means look perfect and leaves v
where it is (`TRAP` of zhang_table2.py).

RMHMC within Gibbs solves its implicit equations to 1e-6 and runs every trajectory back; the time of
a transition is that of the lineage's programs, which take 5 iterations and do neither.
"""

import time
import warnings
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models import interface
from models.hierarchical_logistic import HierarchicalLogistic, information
from models.interface import grad_U_theta, precompute_phi
from reproduce.harness.claims import mean
from reproduce.zhang.datasets import load
from reproduce.zhang.estimates import Blocks, in_blocks, summary
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.tuning import cost, pilot

DROPPED = "HMC within Gibbs"  # ours: SSHMC's masses, leapfrog in both blocks, two tests
BOUND, MODE, PRIOR = "X'X/4", "mode", "prior"  # what B_i is in SSHMC's mass B_i + I / v
JITTER = 0.5
SOLVER = {"f_position": 100, "f_momentum": 100, "tol": 1e-6, "tol_back": 1e-4}
LINEAGE = {"f_position": 5, "f_momentum": 5, "tol": 0.0, "tol_back": 0.0}
# in gradients of all 1000 cases, of about 6 us; what is counted for RMHMC within Gibbs is counted
# group by group
WEIGHTS = {HMC: {"gradient": 1.0}, SSHMC: {"gradient_theta": 1.3, "gradient_phi": 0.2},
           DROPPED: {"gradient_theta": 1.3, "gradient_phi": 0.05},
           GIBBS: {"gradient_theta": 1.4, "factor_theta": 1.4, "gradient_phi": 0.05}}


class Whole(NamedTuple):
    """A HierarchicalLogistic whose weights move together, by the leapfrog: for DROPPED."""

    X: np.ndarray
    starts: np.ndarray
    lam: float
    V: np.ndarray
    b: np.ndarray
    L_phi: np.ndarray


for generic in (interface.sizes, interface.precompute_phi, interface.precompute_theta,
                interface.U_theta,
                interface.grad_U_theta, interface.U_prior, interface.U_phi, interface.grad_U_phi,
                interface.momentum_theta, interface.velocity_theta):
    generic.register(Whole)(generic.implementations[HierarchicalLogistic].py_func)


def problem(data, mass=BOUND, largest=None):
    """Return the model of a data set, or of its groups of at most `largest` cases."""
    d = load(data)
    _, at, cases = np.unique(d.group, return_inverse=True, return_counts=True)
    kept = cases[at] <= (largest or cases.max())
    cases = d.X[kept], d.y[kept], d.group[kept]
    model = HierarchicalLogistic.from_data(*cases, curvature="prior" if mass == PRIOR else "bound")
    if mass == MODE:
        model = HierarchicalLogistic.from_data(
            *cases, curvature=information(start(model)[0], model))
    return model


def mode(model, sweeps=50):
    """Return the mode of w given v, and v, at which v is the mean of all w^2.

    That mean is of Laplace's approximation at the mode.  A step of Newton's method for w and a new
    v in turn: the joint mode does not exist, the density of log v grows without bound as v -> 0.
    """
    groups, p = model.b.shape
    w, v = np.zeros(groups * p), 1.0
    for sweep in range(sweeps + 5):  # five more for the mode at this v
        g = grad_U_theta(w, precompute_phi(np.log([v]), model), model).reshape(groups, p, 1)
        H = information(w, model) + np.eye(p) / v
        w = w - np.linalg.solve(H, g).ravel()
        if sweep < sweeps:
            v = (w @ w + np.trace(np.linalg.inv(H), axis1=1, axis2=2).sum()) / w.size
    return w, v


def transitions(method, theta, phi, model, setting, n, rng, jitter=JITTER, solver=SOLVER):
    """Run n transitions of a method from (theta, phi); return a record with theta and phi.

    setting : dict   HMC: eps, L; SSHMC: eps_theta, eps_phi, L, n_theta, n_phi; the others:
                     eps_theta, eps_phi, L_theta, L_phi.  Of the Gibbs sampler's blocks the groups
                     count as one: "accepted" is their share
    """
    if method == HMC:
        return in_blocks(hmc(np.append(theta, phi), model, setting["eps"], setting["L"], n, rng,
                             jitter=jitter), theta.size)
    if method == SSHMC:
        return sshmc(theta, phi, model, n=n, rng=rng, jitter=jitter, **setting)
    chain = rmhmc_within_gibbs(theta, phi, Whole(*model) if method == DROPPED else model, n=n,
                               rng=rng, jitter=jitter, **setting, **solver)
    share = np.column_stack([chain.accepted[:, :-1].mean(axis=1), chain.accepted[:, -1]])
    return Blocks(chain.theta, chain.phi, share, chain.divergences, chain.counts)


def start(model):
    """Return the mode of w, and log v."""
    w, v = mode(model)
    return w, np.log([v])


def pilots(method, data, mass, largest, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`."""
    model, found = problem(data, mass, largest), []
    for setting in settings:
        with warnings.catch_warnings(action="ignore"):  # some settings are never accepted
            runs = [transitions(method, *start(model), model, setting, burn_in + n,
                                np.random.default_rng([*seed, k])) for k in range(chains)]
        found.append(pilot(setting, runs, WEIGHTS[method], burn_in))
    return {"pilots": found}


def one_run(method, data, mass, largest, setting, n, burn_in, seed, jitter=JITTER):
    """Run one chain of n draws after `burn_in`.

    AP     acceptance rate, a list; divergences
    w      least, median and largest ESS of the weights, v that of log v: by the lineage's estimator
    worst  the least ESS of all weights, of v, and of the squares of all, by ours
    gamma  mean and standard deviation of log v
    cost   of a transition, in gradients of all cases
    """
    model = problem(data, mass, largest)
    chain = transitions(method, *start(model), model, setting, burn_in + n,
                        np.random.default_rng(seed), jitter)
    s = summary(chain, burn_in)
    ours = [s["theta"]["ours"][0], s["theta"]["squares"][0], s["phi"]["ours"][0],
            s["phi"]["squares"][0]]
    return {"AP": np.atleast_1d(s["AP"]).tolist(), "divergences": s["divergences"],
            "w": s["theta"]["lineage"], "v": s["phi"]["lineage"][0],
            "worst": float(np.min(np.nan_to_num(ours, nan=1.0))),
            "gamma": [s["phi"]["mean"][0], s["phi"]["sd"][0]],
            "cost": cost(chain.counts, WEIGHTS[method]) / (burn_in + n)}


def estimates(runs):
    """Put the runs of one setting together: the same entries, as Measured; "least": of w and v."""
    def of(values):
        return mean(list(values))

    found = {name: of(r["w"][k] for r in runs) for k, name in enumerate(("min", "med", "max"))}
    return found | {
        "AP": [of(r["AP"][k] for r in runs) for k in range(len(runs[0]["AP"]))],
        "divergences": sum(r["divergences"] for r in runs), "runs": len(runs),
        "v": of(r["v"] for r in runs), "least": of(min(r["w"][0], r["v"]) for r in runs),
        "worst": of(r["worst"] for r in runs), "cost": of(r["cost"] for r in runs).value,
        "gamma": of(r["gamma"][0] for r in runs), "sd": of(r["gamma"][1] for r in runs).value}


def clock(data, rows, rounds, n):
    """CPU seconds of a transition of each row, in turn: rounds of n transitions of each.

    rows : {name: [method, mass, largest, setting]}.  Each chain goes on where its last round ended.
    """
    rng, at, seconds = np.random.default_rng(0), {}, {name: [] for name in rows}
    models = {name: problem(data, mass, largest) for name, (_, mass, largest, _) in rows.items()}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for name, (method, _, _, setting) in rows.items():
            here = at.get(name, start(models[name]))
            begin = time.thread_time()
            chain = transitions(method, *here, models[name], setting, n, rng, solver=LINEAGE)
            seconds[name].append((time.thread_time() - begin) / n)
            at[name] = chain.theta[-1], chain.phi[-1]
    return {"seconds": {name: each[1:] for name, each in seconds.items()}}


def warm(data):
    """Compile everything in this process, before others start."""
    two = dict(eps_theta=0.1, eps_phi=0.1, L_theta=1, L_phi=1)
    for method, setting in ((HMC, {"eps": 0.01, "L": 2}), (GIBBS, two), (DROPPED, two), (
            SSHMC, dict(eps_theta=0.1, eps_phi=0.2, L=2, n_theta=2, n_phi=1))):
        one_run(method, data, MODE, None, setting, n=20, burn_in=1, seed=0)
