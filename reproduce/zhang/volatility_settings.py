"""Which settings are tried on the stochastic volatility model, and the runs with what is picked.

Zhang and Sutton (2014), Section 5.3, state 5 leapfrogs for x and 2 for the hyperparameters in an
ABLA step, and nothing else: neither step sizes nor numbers of steps, for none of the methods.
Table 3 and Figure 2 are of the same runs.
"""

from itertools import product

from zhang.printed import GIBBS, HMC, METHODS, SSHMC, TABLES, VOLATILITY
from zhang.tuning import efficiency, outside, pick
from zhang.volatility import one_chain, pilots, warm

RUNS = TABLES["Table 3"]
LENGTH = {"paper": (RUNS.samples, RUNS.burn_in), "short": (1500, 500), "smoke": (40, 10)}
CHAINS = {"paper": 10, "short": 2, "smoke": 2}  # of a row
PILOT = {"paper": (2, 400, 50), "short": (2, 100, 20), "smoke": (2, 20, 5)}  # chains, n, burn-in

GRIDS = {  # the values of each part of a setting, in the order of its names
    HMC: {"paper": ((0.01, 0.015, 0.02, 0.025), (25, 50, 100, 200)),
          "short": ((0.015, 0.025), (50, 100)), "smoke": ((0.02,), (3, 6))},
    GIBBS: {"paper": ((0.1, 0.2, 0.3, 0.35, 0.4), (5, 10, 20, 50), (1.0, 1.5, 2.0), (1, 3, 6)),
            "short": ((0.3, 0.35), (5, 20), (1.5,), (1, 3)),
            "smoke": ((0.3,), (2, 3), (1.5,), (1,))},
    SSHMC: {"paper": ((0.04, 0.055, 0.07, 0.085), (0.0075, 0.015, 0.02, 0.03), (5, 10, 20)),
            "short": ((0.055, 0.07), (0.015, 0.02), (5, 20)), "smoke": ((0.07,), (0.02,), (1, 2))},
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


def runs(experiment, data, wanted, first_seed):
    """Return {key: its runs}; wanted: {key: (method, setting, chains)}."""
    n, burn_in = LENGTH[experiment.budget]
    tasks = [(key, dict(method=method, data=data, setting=setting, n=n, burn_in=burn_in,
                        seed=[experiment.seed, first_seed + k, chain],
                        cost=weight(setting) * (n + burn_in) + 40 * n))
             for k, (key, (method, setting, chains)) in enumerate(wanted.items())
             for chain in range(chains)]
    done = experiment.replicates(one_chain, [task for _, task in tasks], "runs", progress, warm)
    found = {key: [] for key in wanted}
    for (key, _), result in zip(tasks, done, strict=True):
        found[key].append(result)
    return found


def rows(experiment, data):
    """Return the pilots, {method: the setting picked}, and {method: its runs}."""
    tried = tuned(experiment, data)
    picked = {method: pick(tried[method])["setting"] for method in METHODS}
    return tried, picked, runs(experiment, data, {method: (method, setting, CHAINS[
        experiment.budget]) for method, setting in picked.items()}, 100)


def progress(found):
    """Say which acceptance rate the last run has."""
    rates = found[-1]["AP"]
    return f"acceptance rate {rates if isinstance(rates, float) else min(rates):.2f}"
