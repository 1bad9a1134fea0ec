"""Which settings are tried on the stochastic volatility model, and the runs with what is picked.

Zhang and Sutton (2014), Section 5.3, state 5 leapfrogs for x and 2 for the hyperparameters in an
ABLA step, and nothing else: neither step sizes nor numbers of steps, for none of the methods.
Table 3 and Figure 2 are of the same runs.
"""

from itertools import product
from typing import NamedTuple

from reproduce.harness.claims import Scan
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, TABLES, VOLATILITY
from reproduce.zhang.tuning import efficiency, outside, pick
from reproduce.zhang.volatility import one_chain, pilots, warm

RUNS = TABLES["Table 3"]
LENGTH = {"paper": (RUNS.samples, RUNS.burn_in), "short": (1500, 500), "smoke": (40, 10)}
CHAINS = {"paper": 10, "short": 2, "smoke": 2}  # runs of a row
SCANNED = {"paper": 2, "short": 1, "smoke": 1}  # and of another setting
PILOT = {"paper": (2, 400, 50), "short": (2, 100, 20), "smoke": (2, 20, 5)}  # chains, n, burn-in

GRIDS = {  # the values of each part of a setting, in the order of PARTS
    HMC: {"paper": ((0.01, 0.015, 0.02, 0.025), (10, 25, 50, 100, 200)),
          "short": ((0.015, 0.025), (50, 100)), "smoke": ((0.02,), (3, 6))},
    GIBBS: {"paper": ((0.1, 0.2, 0.3, 0.35, 0.4), (2, 5, 10, 20, 50), (1.1, 1.3, 1.5), (1, 3, 6)),
            "short": ((0.3, 0.35), (5, 20), (1.3,), (1, 3)), "smoke": ((0.3,), (2, 3), (1.3,), (1,))
            },
    SSHMC: {"paper": ((0.04, 0.055, 0.07, 0.085), (0.0075, 0.0125, 0.0175, 0.0225),
                      (1, 2, 5, 10, 20)),
            "short": ((0.055, 0.07), (0.0125, 0.0175), (5, 20)),
            "smoke": ((0.07,), (0.0175,), (1, 2))},
}
PARTS = {HMC: ("eps", "L"), GIBBS: ("eps_theta", "L_theta", "eps_phi", "L_phi"),
         SSHMC: ("eps_theta", "eps_phi", "L")}
STEPS = {"n_theta": VOLATILITY["n_theta"], "n_phi": VOLATILITY["n_phi"]}  # of SSHMC, as printed


def grid(method, budget):
    """Return all settings of a method that are tried."""
    return [dict(zip(PARTS[method], values, strict=True)) | (STEPS if method == SSHMC else {})
            for values in product(*GRIDS[method][budget])]


def weight(setting):
    """Return about how long a transition takes, in leapfrogs for x, for the progress bar."""
    if "n_theta" in setting:
        return 13 * setting["L"]
    return setting["L"] if "eps" in setting else setting["L_theta"] + 12 * setting["L_phi"]


def scan(method, tried):
    """Return {what is open: setting}, of settings whose acceptance rate is in the paper's range.

    For each number of steps the most efficient one; of SSHMC those with the smallest and with the
    largest step of the hyperparameters.  If no rate is in the range, what the rule picks is alone.
    """
    inside = [found for found in tried if outside(found) == 0] or [pick(tried)]
    found = {}
    for each in sorted(inside, key=efficiency):  # the last one stays
        setting = each["setting"]
        if method == SSHMC:
            found[f"L = {setting['L']}, eps_phi = {setting['eps_phi']:g}"] = setting
        else:
            found[f"L = {setting['L' if method == HMC else 'L_theta']}"] = setting
    if method == SSHMC:
        ends = {L: [s["eps_phi"] for s in found.values() if s["L"] == L]
                for L in {s["L"] for s in found.values()}}
        found = {key: s for key, s in found.items()
                 if s["eps_phi"] in (min(ends[s["L"]]), max(ends[s["L"]]))}
    return dict(sorted(found.items()))


def tuned(experiment, data):
    """Return {method: its pilots}."""
    chains, n, burn_in = PILOT[experiment.budget]
    tasks = [(method, dict(method=method, data=data, settings=each, chains=chains, n=n,
                           burn_in=burn_in, seed=[experiment.seed, place],
                           cost=sum(map(weight, each)) * (n + burn_in)))
             for place, method in enumerate(METHODS)
             for each in groups(grid(method, experiment.budget))]
    done = experiment.replicates(pilots, [task for _, task in tasks], "groups of settings",
                                 warm=warm)
    return {method: [pilot for (name, _), found in zip(tasks, done, strict=True) if name == method
                     for pilot in found["pilots"]] for method in METHODS}


def groups(settings, size=4):
    """Cut a list in parts, one for each task."""
    return [settings[k : k + size] for k in range(0, len(settings), size)]


class Runs(NamedTuple):
    """All runs of one setting."""

    method: str
    setting: dict
    runs: list  # results of one_chain


def all_runs(experiment, data):
    """Return the pilots, {method: Runs of its row}, and {method: {what is open: Runs}}.

    Where a setting of the scan is that of the row, it is not run again.
    """
    budget, tried = experiment.budget, tuned(experiment, data)
    rows = {method: pick(tried[method])["setting"] for method in METHODS}
    scans = {method: scan(method, tried[method]) for method in METHODS}
    wanted = [(100 + k, method, setting, CHAINS[budget])
              for k, (method, setting) in enumerate(rows.items())]
    wanted += [(200 + k, method, setting, SCANNED[budget]) for k, (method, setting) in enumerate(
        (method, setting) for method in METHODS for setting in scans[method].values())
               if setting != rows[method]]
    n, burn_in = LENGTH[budget]
    tasks = [dict(method=method, data=data, setting=setting, n=n, burn_in=burn_in,
                  seed=[experiment.seed, place, chain],
                  cost=weight(setting) * (n + burn_in) + 40 * n)
             for place, method, setting, chains in wanted for chain in range(chains)]
    done = iter(experiment.replicates(one_chain, tasks, "runs", progress, warm))
    found = [Runs(method, setting, [next(done) for _ in range(chains)])
             for _, method, setting, chains in wanted]
    return tried, {runs.method: runs for runs in found[: len(METHODS)]}, {
        method: {key: next(runs for runs in found
                           if (runs.method, runs.setting) == (method, setting))
                 for key, setting in each.items()} for method, each in scans.items()}


def extremes(found, row, other, measure):
    """Scan a measure of two methods' settings, all with all: the least and the largest.

    found : {method: {what is open: estimates}}     measure : of two estimates, a Measured
    """
    every = sorted((measure(x, y).value, f"{a} / {b}", measure(x, y))
                   for a, x in found[row].items() for b, y in found[other].items())
    ends = dict.fromkeys((every[0], every[-1]))
    return Scan(*zip(*[(key, value) for _, key, value in ends], strict=True))


def progress(found):
    """Say which acceptance rate the last run has."""
    rates = found[-1]["AP"]
    return f"acceptance rate {rates if isinstance(rates, float) else min(rates):.2f}"
