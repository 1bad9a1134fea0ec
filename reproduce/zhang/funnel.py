"""Chains on the funnel of Zhang and Sutton (2014), Section 5.1: each method, from exact draws.

Every chain starts from a draw of the funnel itself, so that all its states have the right
distribution, and what its estimates scatter by is known without bias: E[v] = 0, E[v^2] = 9.  A
replicate cuts its chain into pieces of the paper's length; each piece gets the paper's estimator of
the ESS, and its mean of v the true answer: 5000 Var(v) / (5000 E[mean^2]) independent draws would
have done as well.  Means over several pieces tell whether 5000 is long enough for that.
"""

import time

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.sshmc_fast import sshmc
from models.funnel import VARIANCE, Funnel
from zhang.estimates import in_blocks, summary
from zhang.printed import FUNNEL, GIBBS, HMC, SSHMC
from zhang.tuning import pilot

SIZE = FUNNEL["n"]
MASSES = {"n + 1/9": SIZE + 1 / 9, "n/2 + 1/9": SIZE / 2 + 1 / 9}  # of v: as printed, as derived
# a pass over the coordinates of x each; nothing else takes time
WEIGHTS = {HMC: {"gradient": 1.0}, GIBBS: {"gradient_theta": 1.0, "gradient_phi": 1.0},
           SSHMC: {"gradient_theta": 1.0, "gradient_phi": 1.0}}
VAR_X = np.exp(VARIANCE / 2)  # E[e^-v]


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
    for length in [burn_in] * (burn_in > 0) + [n] * pieces:
        chain = transitions(method, theta, phi, model, setting, length, rng)
        theta, phi = chain.theta[-1], chain.phi[-1]
        if length == burn_in:
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
