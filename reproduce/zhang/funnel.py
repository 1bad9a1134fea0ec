"""Chains on the funnel of Zhang and Sutton (2014), Section 5.1: each method, from exact draws.

Every chain starts from a draw of the funnel itself, so that all its states have the right
distribution, and what its estimates scatter by is known without bias: E[v] = 0, E[v^2] = 9.  A
replicate cuts its chain into runs of the paper's length, each of which gets the paper's estimator
of the ESS.  The true answer is in the means of v over k runs of n draws: Var(v) / E[mean^2]
independent draws would have done as well, which tends to k times the ESS of n draws as k grows.
"""

import time
import warnings

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import VARIANCE, Funnel
from reproduce.harness.claims import Measured, mean
from reproduce.zhang.estimates import in_blocks, summary
from reproduce.zhang.printed import FUNNEL, GIBBS, HMC, SSHMC
from reproduce.zhang.tuning import pilot

SIZE = FUNNEL["n"]
MASSES = {"n + 1/9": SIZE + 1 / 9, "n/2 + 1/9": SIZE / 2 + 1 / 9}  # of v: as printed, as derived
# a pass over the coordinates of x each; nothing else takes time
WEIGHTS = {HMC: {"gradient": 1.0}, GIBBS: {"gradient_theta": 1.0, "gradient_phi": 1.0},
           SSHMC: {"gradient_theta": 1.0, "gradient_phi": 1.0}}
VAR_X = float(np.exp(VARIANCE / 2))  # E[e^-v]
LONG = 5  # pieces whose mean is taken together


def exact_draw(rng, n=SIZE):
    """Draw v and then x; return x (n,) and (v,)."""
    v = np.sqrt(VARIANCE) * rng.standard_normal(1)
    return np.exp(-v / 2) * rng.standard_normal(n), v


def transitions(method, theta, phi, model, setting, n, rng):
    """Run n transitions of a method from (theta, phi); return a record with theta and phi.

    setting : dict   HMC: eps, L; RMHMC within Gibbs: eps_theta, eps_phi, L_theta, L_phi; SSHMC:
                     eps_theta, eps_phi, L, n_theta, n_phi
    """
    if method == HMC:
        chain = hmc(np.append(theta, phi), model, setting["eps"], setting["L"], n, rng)
        return in_blocks(chain, theta.size)
    if method == GIBBS:
        return rmhmc_within_gibbs(theta, phi, model, setting["eps_theta"], setting["eps_phi"],
                                  setting["L_theta"], setting["L_phi"], n, rng)
    return sshmc(theta, phi, model, setting["eps_theta"], setting["eps_phi"], setting["L"], n, rng,
                 n_theta=setting["n_theta"], n_phi=setting["n_phi"])


def pilots(method, mass, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`, from the same exact draws."""
    model = Funnel.from_size(SIZE, MASSES[mass])
    found = []
    for setting in settings:
        rngs = [np.random.default_rng([*seed, k]) for k in range(chains)]
        with warnings.catch_warnings(action="ignore"):  # some settings are never accepted
            runs = [transitions(method, *exact_draw(rng), model, setting, burn_in + n, rng)
                    for rng in rngs]
        found.append(pilot(setting, runs, WEIGHTS[method], burn_in))
    return {"pilots": found}


def one_chain(method, mass, setting, pieces, n, burn_in, seed):
    """Run one chain: `burn_in` transitions, then `pieces` runs of n.  Lists have a number a piece.

    AP    acceptance rate, of each block if there are several; divergences; counts of all pieces
    v, x  ESS by the lineage's estimator, of v and the least of all x; "v ours", "v squares", "x
          squares" by ours, of v, (v - mean)^2 and the least of (x - mean)^2; nan if nothing moved
    mean, square, variance   of v;  "x mean": the mean over all x of their squared means
    se    of the mean of v, as the run itself would report it by the lineage's ESS
    """
    rng = np.random.default_rng(seed)
    model = Funnel.from_size(SIZE, MASSES[mass])
    theta, phi = exact_draw(rng)
    found = {name: [] for name in ("AP", "divergences", "v", "x", "v ours", "v squares",
                                   "x squares", "mean", "square", "variance", "x mean", "se")}
    counts = {}
    for length, kept in [(burn_in, False)] * (burn_in > 0) + [(n, True)] * pieces:
        chain = transitions(method, theta, phi, model, setting, length, rng)
        theta, phi = chain.theta[-1], chain.phi[-1]
        if not kept:
            continue
        s, v = summary(chain, 0), chain.phi[:, 0]
        ess = s["phi"]["lineage"][0]
        for name, value in (
                ("AP", s["AP"]), ("divergences", s["divergences"]), ("v", ess),
                ("x", s["theta"]["lineage"][0]), ("v ours", s["phi"]["ours"][0]),
                ("v squares", s["phi"]["squares"][0]), ("x squares", s["theta"]["squares"][0]),
                ("mean", v.mean()), ("square", np.mean(v**2)), ("variance", v.var(ddof=1)),
                ("x mean", np.mean(chain.theta.mean(axis=0) ** 2)),
                ("se", v.std() / np.sqrt(ess))):
            found[name].append(value)
        counts = {k: counts.get(k, 0.0) + value for k, value in s["counts"].items()}
    return found | {"counts": counts}


def estimates(chains, n):
    """Put the chains of one setting together: {quantity: Measured, the chains being independent}.

    AP            acceptance rate, a list if there are several blocks
    apparent      {"v", "x", "v ours", "v squares", "x squares": ESS of n draws, mean over pieces}
    scatter       {"v", "x": the standard deviation of the logs of these ESS over pieces}
    long          {1, 5: ESS of n draws of v by the scatter of means over so many pieces; "x": of x,
                  over single ones}
    mse           {"mean", "square", "variance": mean squared error of a piece}
    error         mean squared error of the mean of v over the square of the s.e. that is reported
    passes        over the coordinates, gradients, for a transition
    """
    def of(name, power=1, truth=0.0):
        return mean([np.mean((np.array(c[name]) - truth) ** power) for c in chains])

    def long(name, variance, k):
        means = [np.array(c[name]) for c in chains]
        if means[0].size < k:
            return Measured(np.nan, np.nan)
        if name == "mean":
            means = [m[: m.size // k * k].reshape(-1, k).mean(1) ** 2 for m in means]
        return variance / k / mean([m.mean() for m in means])

    AP = np.mean([np.mean(c["AP"], axis=0) for c in chains], axis=0)
    gradients = sum(sum(v for k, v in c["counts"].items() if k.startswith("gradient"))
                    for c in chains)
    return {
        "AP": [mean([np.mean(c["AP"], axis=0).flat[k] for c in chains]) for k in range(AP.size)],
        "divergences": sum(sum(c["divergences"]) for c in chains),
        "apparent": {name: of(name) for name in ("v", "x", "v ours", "v squares", "x squares")},
        "scatter": {name: float(np.std([np.log(c[name]) for c in chains])) for name in "vx"},
        "long": {k: long("mean", VARIANCE, k) for k in (1, LONG)} | {"x": long("x mean", VAR_X, 1)},
        "mse": {"mean": of("mean", 2), "square": of("square", 2, VARIANCE),
                "variance": of("variance", 2, VARIANCE)},
        "error": mean([np.mean((np.array(c["mean"]) / c["se"]) ** 2) for c in chains]),
        "passes": gradients / sum(len(c["mean"]) for c in chains) / n,
    }


def clock(rows, rounds, n):
    """CPU seconds of a transition of each row, in turn: rounds of n transitions of each.

    rows : {name: [method, mass, setting]}.  Each chain goes on where its last round ended.
    """
    rng = np.random.default_rng(0)
    at = dict.fromkeys(rows, exact_draw(rng))
    seconds = {name: [] for name in rows}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for name, (method, mass, setting) in rows.items():
            model = Funnel.from_size(SIZE, MASSES[mass])
            start = time.thread_time()
            chain = transitions(method, *at[name], model, setting, n, rng)
            seconds[name].append((time.thread_time() - start) / n)
            at[name] = chain.theta[-1], chain.phi[-1]
    return {"seconds": {name: each[1:] for name, each in seconds.items()}}


def warm():
    """Compile everything in this process, before others start."""
    for method, setting in ((HMC, {"eps": 0.1, "L": 2}),
                            (GIBBS, dict(eps_theta=0.5, eps_phi=0.5, L_theta=2, L_phi=2)),
                            (SSHMC, dict(eps_theta=0.1, eps_phi=0.2, L=2, n_theta=2, n_phi=1))):
        one_chain(method, "n + 1/9", setting, pieces=1, n=20, burn_in=1, seed=0)
