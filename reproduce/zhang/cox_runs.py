"""The runs behind Table 4 and Figure 3 of Zhang and Sutton (2014), which both scripts ask for.

The paper gives 2 and 1 leapfrogs, 10 ABLA steps, unit mass of (log sigma^2, log beta), 20 leapfrogs
and 1 generalised leapfrog of the rival.  It does not give the step sizes, nor the data; and what it
prints for the covariance, distances in pixels, is not what its source does, the unit square.  So
each method is tuned for both, and run on our data; scans show how much depends on the rest.  Nor
does it say in which coordinates of the hyperparameters the mass is 1, and with that for how long
H_2 travels: rows of 40 ABLA steps show what that may change.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from reproduce.harness.replicates import Experiment
from reproduce.harness.run import Settings
from reproduce.zhang.cox import OWN, clock, estimates, one_chain, pilots, warm
from reproduce.zhang.datasets import GRID
from reproduce.zhang.printed import COX, GIBBS, HMC, SSHMC, TABLES
from reproduce.zhang.tuning import efficiency, outside, pick

KEEPER = "zhang_table4"  # the script in whose name the runs are stored
DISTANCES = ("unit", "pixel")
N, BURN_IN = TABLES["Table 4"].samples, TABLES["Table 4"].burn_in
LENGTH = {"paper": (N, BURN_IN), "short": (250, 50), "smoke": (12, 3)}  # of a run; burn-in
# chains, n, burn-in: the rival's hyperparameters move so slowly that less says nothing of them
PILOTS = {SSHMC: {"paper": (2, 200, 50), "short": (1, 60, 20), "smoke": (1, 12, 2)},
          GIBBS: {"paper": (2, 800, 200), "short": (1, 60, 20), "smoke": (1, 12, 2)},
          HMC: {"paper": (2, 100, 50), "short": (1, 30, 20), "smoke": (1, 6, 2)}}
JITTER = 0.2  # the paper has none: see zhang/README.md
LONGER = 40  # ABLA steps, of rows of ours
HMC_L = 50
LINEAGES = {"eps_theta": 0.1, "eps_phi": 0.2}  # steps of the rival in the programs of its authors
OTHERS = [f"{GRID}32 x 32, unit, seed {seed}" for seed in (3,)]  # data sets of the scan
TIMED = {"paper": (8, 15), "short": (4, 5), "smoke": (2, 1)}  # rounds, transitions

# step sizes for x and for phi that are tried
GRIDS = {
    (SSHMC, "unit"): ((0.02, 0.04, 0.06, 0.08), (0.03, 0.035, 0.04)),
    (SSHMC, "pixel"): ((0.03, 0.06, 0.1, 0.14), (0.03, 0.035, 0.04)),
    (GIBBS, "unit"): ((0.25, 0.3, 0.35, 0.4), (0.6, 0.9, 1.2)),
    (GIBBS, "pixel"): ((0.25, 0.3, 0.35, 0.4), (0.6, 0.9, 1.2)),
    (HMC, "unit"): ((0.01, 0.02, 0.03, 0.04),),
}


class Row(NamedTuple):
    """A row of the table, or a setting of its scan."""

    method: str
    distance: str
    chains: dict  # {budget: number}
    data: str = OWN


TEN, FOUR, ONE = ({"paper": n, "short": min(n, 2), "smoke": 1} for n in (10, 4, 1))
ROWS = {
    f"{SSHMC}, unit": Row(SSHMC, "unit", TEN), f"{GIBBS}, unit": Row(GIBBS, "unit", TEN),
    f"{SSHMC}, pixel": Row(SSHMC, "pixel", TEN), f"{GIBBS}, pixel": Row(GIBBS, "pixel", FOUR),
    f"{SSHMC}, unit, L = {LONGER}": Row(SSHMC, "unit", ONE),
    f"{SSHMC}, pixel, L = {LONGER}": Row(SSHMC, "pixel", ONE),
    HMC: Row(HMC, "unit", FOUR | {"short": 1}),
}
HMC_LENGTH = {"paper": (300, 60), "short": (40, 10), "smoke": (12, 3)}


def grid(method, distance, budget):
    """Return the settings of a method that are tried."""
    sizes = GRIDS[method, distance]
    if budget != "paper":
        sizes = [each[1::2] if budget == "short" else each[1:2] for each in sizes]
    if method == HMC:
        return [{"eps": eps, "L": HMC_L if budget != "smoke" else 3, "jitter": JITTER}
                for (eps,) in product(*sizes)]
    steps = ({"L": COX["L"], "n_theta": COX["n_theta"], "n_phi": COX["n_phi"]}
             if method == SSHMC else
             {"L_theta": COX["gibbs L_theta"], "L_phi": COX["gibbs L_phi"]})
    return [{"eps_theta": a, "eps_phi": b, "jitter": JITTER} | steps for a, b in product(*sizes)]


def tuned(experiment):
    """Return {(method, distance): its pilots}."""
    budget = experiment.budget
    tasks = [((method, distance), dict(
        method=method, data=OWN, distance=distance, settings=[setting],
        chains=chains, n=n, burn_in=burn_in,
        seed=[experiment.seed, k], cost=chains * (n + burn_in) * duration(method, setting)))
        for k, (method, distance) in enumerate(GRIDS)
        for chains, n, burn_in in [PILOTS[method][budget]]
        for setting in grid(method, distance, budget)]
    done = experiment.replicates(pilots, [task for _, task in tasks], "settings", warm=warm)
    return {key: [pilot for (name, _), found in zip(tasks, done, strict=True) if name == key
                  for pilot in found["pilots"]] for key in GRIDS}


def duration(method, setting):
    """Return about how long a transition takes, for the progress bar."""
    if method == HMC:
        return 0.003 * setting["L"]
    if method == GIBBS:
        return 0.018
    return 0.0008 * setting["L"]


def setting_of(name, tried):
    """Return the setting of a row: by the rule, and what its name says."""
    row = ROWS[name]
    setting = pick(tried[row.method, row.distance])["setting"]
    return setting | {"L": LONGER} if "L = " in name else setting


def computed(experiment, wanted):
    """Return {name: estimates, with n and setting} of {name: (Row, setting)}."""
    tasks, place = {}, 100 + len(ROWS)
    for name, (row, setting) in wanted.items():
        n, burn_in = (HMC_LENGTH if row.method == HMC else LENGTH)[experiment.budget]
        if name not in ROWS:
            place += 1
        tasks[name] = [dict(
            method=row.method, data=row.data, distance=row.distance, setting=setting,
            n=n, burn_in=burn_in,
            seed=[experiment.seed, 100 + list(ROWS).index(name) if name in ROWS else place, k],
            cost=(n + burn_in) * duration(row.method, setting))
            for k in range(row.chains[experiment.budget])]
    done = iter(experiment.replicates(one_chain, [task for each in tasks.values() for task in each],
                                      "chains", progress, warm))
    return {name: estimates([next(done) for _ in each]) | {
        "n": each[0]["n"], "setting": each[0]["setting"]} for name, each in tasks.items()}


def progress(found):
    """Say the mean acceptance rate so far."""
    return f"acceptance rate {np.mean([np.mean(each['AP']) for each in found]):.2f}"


def scan_of(tried):
    """Return {name: (Row, setting)}: what else print may stand for.

    Other step sizes inside the paper's range of acceptance, the lineage's for its method, which are
    above that range, no jitter, and other data.
    """
    found = {}
    for method, distance in product((SSHMC, GIBBS), DISTANCES):
        row, taken = Row(method, distance, ONE), pick(tried[method, distance])["setting"]
        inside = [p for p in tried[method, distance] if outside(p) == 0]
        best = {p["setting"]["eps_theta"]: p["setting"] for p in sorted(inside, key=efficiency)}
        best = {eps: setting for eps, setting in sorted(best.items()) if setting != taken}
        found |= {f"{method}, {distance}, eps_theta = {eps}": (row, setting)
                  for eps, setting in best.items()}
        if distance == "unit":
            found |= {f"{method}, unit, eps_theta = {setting['eps_theta']}, no jitter": (
                row, setting | {"jitter": 0.0}) for setting in [taken, *best.values()]}
    setting = pick(tried[GIBBS, "unit"])["setting"]
    found[f"{GIBBS}, unit, the lineage's steps"] = (Row(GIBBS, "unit", ONE), setting | LINEAGES)
    for data in OTHERS:
        for method in (SSHMC, GIBBS):
            setting = pick(tried[method, "unit"])["setting"]
            found[f"{method}, unit, {data.split(', ')[-1]}"] = (
                Row(method, "unit", ONE, data), setting)
    return found


def keeper(experiment):
    """Return the experiment in whose name the runs are stored, for a script that is not KEEPER."""
    return Experiment(KEEPER, Settings(experiment.budget, experiment.jobs, experiment.seed,
                                       recall=experiment.recall, shard=experiment.shard,
                                       dask=experiment.dask))


def rows_of(tried, names=tuple(ROWS)):
    """Return {row: (Row, setting)}, by the rule."""
    return {name: (ROWS[name], setting_of(name, tried)) for name in names}


def timed(experiment, wanted):
    """Return {name: seconds of a transition, a list of rounds}, of {name: (Row, setting)}."""
    rounds, n = TIMED[experiment.budget]
    (times,) = experiment.replicates(clock, [dict(
        rows={name: [row.method, row.data, row.distance, setting]
              for name, (row, setting) in wanted.items()}, rounds=rounds, n=n)], "timings",
        warm=warm)
    return times["seconds"]
