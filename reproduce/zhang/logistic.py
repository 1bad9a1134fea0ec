"""Hierarchical logistic regression, Section 5.2 of Zhang and Sutton (2014): problem and estimates.

Every trajectory has its steps multiplied by a factor from Uniform(1 - JITTER, 1), in all methods:
without it a time near half a period of the weights makes their means look perfect and leaves v
where it is (`TRAP`).

RMHMC within Gibbs solves its implicit equations to 1e-6 and runs every trajectory back; the time of
a transition is that of the lineage's programs, which take 5 iterations and do neither.  The paper
states the six leapfrogs of both its blocks, and no other setting of any method.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from models import interface
from models.hierarchical_logistic import HierarchicalLogistic, information
from models.interface import grad_U_theta, precompute_phi
from reproduce.harness.claims import Measured, mean
from reproduce.zhang.comparison import advantage, cost, scan_settings
from reproduce.zhang.datasets import load
from reproduce.zhang.estimates import summary
from reproduce.zhang.printed import GIBBS, HMC, LOGISTIC, SSHMC

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

SIX = {"L_theta": LOGISTIC["L_theta"], "L_phi": LOGISTIC["L_phi"]}
# without jitter; times of 1.6 and 3.0, that of half a period is pi
TRAP = {name: dict(eps_theta=eps, eps_phi=0.27, **SIX)
        for name, eps in (("six of 0.27", 0.27), ("six of 0.5", 0.5))}
HMC_GRID = {"paper": ((0.08, 0.1, 0.12), (6, 10, 15, 25, 50, 100, 200)),
            "short": ((0.08, 0.1), (6, 10, 25)), "smoke": ((0.1,), (3, 6))}
# eps_theta, eps_phi
GIBBS_GRID = {"paper": ((0.2, 0.27, 0.4, 0.55, 0.72, 0.78), (0.27, 1.4, 1.85)),
              "short": ((0.27, 0.75), (0.27, 1.85)), "smoke": ((0.27,), (1.4,))}
# n_theta with ratio, eps_phi, L; the ratio is the time that H_1 travels over that of H_2
SSHMC_GRID = {"paper": (((1, 1), (1, 2), (2, 1), (2, 2)), (0.7, 0.9, 1.1, 1.4), (2, 3, 4, 6, 10)),
              "short": (((1, 1), (2, 1)), (0.8, 1.1), (3, 6)),
              "smoke": (((1, 1), (2, 1)), (0.8,), (2,))}
LONGER_GRID = ((1, 1), (2, 2)), (0.9,), (25, 40, 60)  # see `longer`
PRIOR_GRID = {"paper": (((2, 1), (4, 1), (8, 1)), (0.5, 0.8, 1.1), (2, 3, 4, 6, 10)),
              "short": (((2, 1), (4, 1)), (0.5, 0.8), (3, 6)), "smoke": (((4, 1),), (0.5,), (2,))}
DROPPED_GRID = {"paper": ((0.4, 0.55, 0.65), (2, 3, 4), (1.4, 1.9), (1, 2)),
                "short": ((0.55,), (2, 4), (1.9,), (1, 2)), "smoke": ((0.5,), (2,), (1.4,), (1,))}


class Whole(NamedTuple):
    """A HierarchicalLogistic whose weights move together, by the leapfrog: for DROPPED."""

    X: np.ndarray
    starts: np.ndarray
    lam: float
    V: np.ndarray
    b: np.ndarray
    L_phi: np.ndarray


for generic in (interface.sizes, interface.precompute_phi, interface.precompute_theta,
                interface.U_theta, interface.grad_U_theta, interface.U_prior, interface.U_phi,
                interface.grad_U_phi, interface.momentum_theta, interface.velocity_theta):
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


def start(model):
    """Return the mode of w, and log v."""
    w, v = mode(model)
    return w, np.log([v])


def grid(method, mass, budget):
    """Return all settings of a method that are tried."""
    if method == HMC:
        return [{"eps": eps, "L": L} for eps, L in product(*HMC_GRID[budget])]
    if method == GIBBS:
        return [dict(eps_theta=a, eps_phi=b, **SIX) for a, b in product(*GIBBS_GRID[budget])]
    if method == DROPPED:
        return [dict(eps_theta=a, L_theta=n, eps_phi=b, L_phi=m)
                for a, n, b, m in product(*DROPPED_GRID[budget])]
    return abla(*(PRIOR_GRID if mass == PRIOR else SSHMC_GRID)[budget])


def abla(shapes, eps, L):
    """Return the settings of SSHMC: shapes of (n_theta, ratio), steps eps_phi, numbers of steps."""
    return [dict(eps_theta=ratio * e / (2 * n_theta), eps_phi=e, L=n, n_theta=n_theta, n_phi=1)
            for (n_theta, ratio), e, n in product(shapes, eps, L)]


def longer(row, budget):
    """Return the settings of more ABLA steps, tried for the row SSHMC at the paper's length only.

    They were added after the first results: with 2 to 10 steps no setting had the printed ESS, and
    60 take the printed time, relative to RMHMC within Gibbs; trials of other seeds were near it.
    They go on with the step sizes that the scan has with ten steps, by the same rules.
    """
    return abla(*LONGER_GRID) if (row, budget) == (SSHMC, "paper") else []


def steps(method, setting):
    """Say what a setting has that the paper does not state, but for step sizes of SSHMC and HMC."""
    if method == GIBBS:
        return f"eps {setting['eps_theta']:g} and {setting['eps_phi']:g}"
    return f"L {setting['L']}" + (f", n_theta {setting['n_theta']}" if "n_theta" in setting else "")


def scan(method, tried):
    """Return {steps: setting}: the most efficient one of each with a rate in the paper's range.

    Those of `longer` come last, so that the runs of the others keep their seeds.
    """
    found, later = scan_settings(tried, lambda setting: steps(method, setting)), abla(*LONGER_GRID)
    return dict(sorted(found.items(), key=lambda item: item[1] in later))


def weight(setting):
    """Return about how long a transition takes, in gradients, for the progress bar."""
    if setting.get("L_theta") == 6:
        return 1200
    return setting.get("L", setting.get("L_theta")) * (2 * setting.get("n_theta", 0) + 1)


def task(data, method, mass, largest, setting, n, burn_in, seed):
    """Return the arguments of one_run, and its cost."""
    return dict(method=method, data=data, mass=mass, largest=largest, setting=setting, n=n,
                burn_in=burn_in, seed=seed, cost=weight(setting) * (n + burn_in))


def run_in_numbers(chain, burn_in, weights):
    """Return what is kept of a run after `burn_in` transitions, plain numbers.

    AP     acceptance rate, a list; divergences
    w      least, median and largest ESS of the weights, v that of log v: by the lineage's estimator
    worst  the least ESS of all weights, of v, and of the squares of all, by ours
    gamma  mean and standard deviation of log v
    cost   of a transition, in gradients of all cases
    """
    s = summary(chain, burn_in)
    ours = [s["theta"]["ours"][0], s["theta"]["squares"][0], s["phi"]["ours"][0],
            s["phi"]["squares"][0]]
    return {"AP": np.atleast_1d(s["AP"]).tolist(), "divergences": s["divergences"],
            "w": s["theta"]["lineage"], "v": s["phi"]["lineage"][0],
            "worst": float(np.min(np.nan_to_num(ours, nan=1.0))),
            "gamma": [s["phi"]["mean"][0], s["phi"]["sd"][0]],
            "cost": cost(chain.counts, weights) / len(chain.phi)}


class Estimates(NamedTuple):
    """What the runs of one setting say: means over runs, of ESS by the paper's estimator."""

    AP: list  # acceptance rate, of each block
    min: Measured  # least, median and largest ESS of the weights w
    med: Measured
    max: Measured
    v: Measured
    least: Measured  # of the weights and v
    worst: Measured  # the least ESS of w, v and their squares, by our estimator
    cost: float  # of a transition, in gradients of all cases
    gamma: Measured  # mean of log v
    sd: float  # standard deviation of log v
    setting: dict  # what the chains were run with
    each: dict  # the ESS of each run by the paper's estimator: {"min", "med", "max", "v"}
    seconds: tuple | list = ()  # of a transition, in each round of the clock; none: not timed


class Table2(NamedTuple):
    """The result of zhang_table2.py."""

    n: int  # draws of a run
    tried: dict  # {row: its pilots}
    rows: dict  # {row: Estimates} of the settings that the rule takes
    trap: dict  # {name: Estimates} of TRAP
    scan: dict  # {method: {steps: Estimates}}, of settings with the paper's acceptance rate


def estimates(runs, setting, seconds=()):
    """Put the results of one_run of one setting together, as Estimates."""
    each = dict(zip(("min", "med", "max", "v"), zip(*((*r["w"], r["v"]) for r in runs),
                                                    strict=True), strict=True))
    return Estimates(
        [mean([r["AP"][k] for r in runs]) for k in range(len(runs[0]["AP"]))],
        *map(mean, each.values()), mean([min(r["w"][0], r["v"]) for r in runs]),
        mean([r["worst"] for r in runs]), mean([r["cost"] for r in runs]).value,
        mean([r["gamma"][0] for r in runs]), mean([r["gamma"][1] for r in runs]).value,
        setting, each, seconds)


def gain(row, other, measure, unit="draws"):
    """Make the measure log(ESS per unit of a row / that of another); see `advantage`."""
    return lambda r: advantage(r.rows[row], r.rows[other], measure, unit)
