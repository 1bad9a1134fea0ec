"""Beside Zhang and Sutton (2014): what else samples their three real problems, and how well.

Ours, not the paper's.  For each problem a specialist: auxiliary mixture sampling with interweaving
(stochastic volatility), Polya-Gamma Gibbs with interweaving (hierarchical logistic regression),
surrogate-data slice sampling with elliptical slices (Cox process); SSHMC; and NUTS (nutpie),
centred and non-centred, on the volatility model also in Kleppe's coordinates.  SSHMC and the
specialists get the same tuning: recorded pilot chains of four settings each, of which the one with
the largest worst ESS per unit of work is taken; NUTS tunes itself.  All start in the same places.
NUTS non-centred is the reference: where another method's moments differ from its, the row is void.

What is stored is shown without libraries; to compute takes the extra `rivals`.

Run     python reproduce/beyond/zhang_rivals.py [--budget smoke|short|paper]
        Short and smoke have fewer and shorter chains.
Writes  figures/zhang_rivals.png, .txt (efficiencies, settings, claims), .json
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.beyond.rivals.moments import ENOUGH, combine, distance, imprecision, worst
from reproduce.harness.claims import Claim, Measured, brief, log, mean, text_table
from reproduce.harness.style import COLOURS, MARKERS, legend_below, mark, panels
from reproduce.zhang.datasets import three_problems
from reproduce.zhang.printed import SSHMC
from reproduce.zhang.references import HYPER
from reproduce.zhang.rivals import (
    CENTRED,
    GRADIENT,
    MIXTURE,
    NON_CENTRED,
    POLYA,
    RESCALED,
    SPECIALIST,
    SURROGATE,
    chain,
    clock,
    pick,
    warm,
)

NAME, WHAT = "zhang_rivals", "the rivals of SSHMC on three real problems"
MINUTES = {"paper": 30, "short": 3, "smoke": 0.6}

# The paper's settings: none of these methods is in it but SSHMC, without step sizes

# Our settings
PROBLEMS = ("credit", "volatility", "Cox")
METHODS = {name: (SPECIALIST[name], SSHMC, NON_CENTRED, CENTRED) for name in PROBLEMS}
METHODS["volatility"] += (RESCALED,)
# four for each method that does not tune itself, about one of which chains mix in trials
CREDIT = dict(eps_theta=0.2, eps_phi=0.8, L=6, n_theta=2, jitter=0.6)
SERIES = dict(eps_theta=0.055, eps_phi=0.011, L=20, n_theta=5, n_phi=2, jitter=0.3)
GRID = dict(eps_theta=0.049, eps_phi=0.03, L=40, n_theta=2, jitter=0.2)
SCAN = {
    ("credit", SSHMC): [CREDIT, CREDIT | {"L": 3}, CREDIT | {"L": 12},
                        CREDIT | {"eps_theta": 0.14, "eps_phi": 0.56}],
    ("credit", POLYA): [{"w": w} for w in (0.15, 0.3, 0.6, 1.2)],
    ("volatility", SSHMC): [SERIES, SERIES | {"L": 10}, SERIES | {"L": 40},
                            SERIES | {"eps_theta": 0.04, "eps_phi": 0.008}],
    ("volatility", MIXTURE): [{"scale": scale} for scale in (0.5, 1.0, 2.0, 4.0)],
    ("Cox", SSHMC): [GRID, GRID | {"L": 20}, GRID | {"L": 80},
                     GRID | {"eps_theta": 0.035, "eps_phi": 0.02}],
    ("Cox", SURROGATE): [{"noise": noise, "w": 2.0, "ellipses": ellipses}
                         for noise, ellipses in ((1.0, 5), (0.3, 5), (3.0, 5), (1.0, 20))],
}
CHAINS = {"paper": 5, "short": 2, "smoke": 2}
# draws of a chain, transitions before them, draws of a pilot, the greatest depth of NUTS's trees
RUNS = {
    ("credit", POLYA): (20_000, 1000, 2000, 0), ("credit", SSHMC): (10_000, 1000, 2000, 0),
    ("credit", NON_CENTRED): (4000, 600, 0, 10), ("credit", CENTRED): (4000, 600, 0, 10),
    ("volatility", MIXTURE): (20_000, 1000, 2000, 0), ("volatility", SSHMC): (5000, 500, 1000, 0),
    ("volatility", NON_CENTRED): (5000, 800, 0, 10), ("volatility", CENTRED): (1000, 600, 0, 10),
    ("volatility", RESCALED): (5000, 800, 0, 10),
    ("Cox", SURROGATE): (2500, 250, 300, 0), ("Cox", SSHMC): (1500, 250, 300, 0),
    ("Cox", NON_CENTRED): (1000, 400, 0, 10), ("Cox", CENTRED): (60, 80, 0, 7),
}
SHARE = {"paper": 1.0, "short": 0.1, "smoke": 0.004}  # of the draws
SLOW = {"paper": 1.0, "short": 0.3, "smoke": 1.0}  # of that, on the Cox process
LEAST = {"paper": 0, "short": 30, "smoke": 10}  # draws, and transitions before them
DEPTH = {"paper": 10, "short": 6, "smoke": 3}
TIMED = {"paper": (3, 20), "short": (2, 10), "smoke": (1, 5)}  # rounds, transitions
COST = {"credit": 1, "volatility": 4, "Cox": 50}  # about milliseconds, for the progress bar


# The work


def run(experiment, cases):
    """Return {(problem, method): Together}, settings, units of work before, and CPU seconds."""
    budget = experiment.budget

    def lengths(key):
        share = SHARE[budget] * (SLOW[budget] if key[0] == "Cox" else 1)
        return [max(round(n * share), LEAST[budget]) for n in RUNS[key][:3]]

    def task(key, place, k, setting, n, burn_in):
        return dict(name=key[0], data_name=cases.names[key[0]], method=key[1], setting=setting,
                    n=n, burn_in=burn_in, seed=[experiment.seed, place, k],
                    cost=COST[key[0]] * (n + burn_in) * (8 if key[1] == CENTRED else 1))

    def compiled():
        warm(cases.names, {key: scanned[0] for key, scanned in SCAN.items()}
             | {key: {"maxdepth": 1} for key in RUNS if key not in SCAN})

    tasks = [task(key, place, 0, setting, n, n // 5)  # pilots: places from 100 on
             for place, (key, settings) in enumerate(SCAN.items(), 100)
             for n in lengths(key)[2:] for setting in settings]
    done = iter(experiment.replicates(chain, tasks, "pilots", warm=compiled))
    pilots = {key: [next(done) for _ in settings] for key, settings in SCAN.items()}
    setting = {key: pick(key[0], SCAN[key], pilots[key]) if key in SCAN else
               {"maxdepth": min(RUNS[key][3], DEPTH[budget])} for key in RUNS}
    tasks = [task(key, place, k, setting[key], *lengths(key)[:2])
             for place, key in enumerate(RUNS) for k in range(CHAINS[budget])]
    done = iter(experiment.replicates(chain, tasks, "chains", warm=compiled))
    chains = {key: [next(done) for _ in range(CHAINS[budget])] for key in RUNS}
    found = {key: combine(each, len(HYPER[key[0]])) for key, each in chains.items()}
    rounds, n = TIMED[budget]
    (times,) = experiment.replicates(clock, [dict(rounds=rounds, rows={
        ", ".join(key): [key[0], cases.names[key[0]], key[1], setting[key], n] for key in RUNS})],
        "timings", warm=compiled)
    timed = {key: f.n if key in SCAN else f.gradients / GRADIENT[key[0]]
             for key, f in found.items()}
    seconds = {key: mean(times["seconds"][", ".join(key)]) * timed[key] for key in RUNS}
    before = {key: float(np.sum([each["set_up"] for each in chains[key]])
                         + sum(p["gradients"] + p["set_up"] for p in pilots.get(key, [])))
              for key in RUNS}
    return {"found": found, "setting": setting, "before": before, "seconds": seconds}


# The claims


def distance_from_reference(r, name, method):
    """Return how far a method is from the reference, in standard errors."""
    return distance(r["found"][name, method], r["found"][name, NON_CENTRED], len(HYPER[name]))


def efficiency(r, key, per="CPU second"):
    """Return the worst ESS per CPU second or unit of work, with the errors of both."""
    f = r["found"][key]
    ess = worst(f)  # its log is known to (12 / ESS)^1/2: its sum ends at six autocorrelation times
    return Measured(ess, (12 * ess) ** 0.5) / (
        f.gradients if per == "unit of work" else r["seconds"][key])


def order(name, better, other, per):
    """Make the claim that a method is ahead of another on a problem."""
    return Claim(f"{name}: log(worst ESS per {per}, {better} / {other})", "ours", lambda r: log(
        efficiency(r, (name, better), per)) - log(efficiency(r, (name, other), per)), 0.0, np.inf,
        "order: each at the best of four settings by short pilots, NUTS as it tunes itself",
        "ours", budgets=("paper",))


ORDERS = [
    *[order(name, NON_CENTRED, SSHMC, "unit of work") for name in PROBLEMS],
    *[order("credit", other, SSHMC, "CPU second") for other in (NON_CENTRED, POLYA)],
    order("volatility", SSHMC, NON_CENTRED, "CPU second"),
    order("volatility", SSHMC, MIXTURE, "CPU second"),
    *[order("Cox", other, SSHMC, "CPU second") for other in (NON_CENTRED, SURROGATE)],
]


def lack_of_trust(r, name, method):
    """Tell whether a row's efficiency says nothing, and why: "", "void" or "cannot tell"."""
    if method == NON_CENTRED:
        return ""
    z, se = distance_from_reference(r, name, method)
    return "void" if not z < 4 else "cannot tell" if np.isnan(se) else ""


CLAIMS = [
    *ORDERS,
    *[Claim(f"{name}: largest standard error of the reference, in standard deviations", "ours",
            lambda r, name=name: imprecision(r["found"][name, NON_CENTRED]), 0, 0.05,
            "a twentieth: of means and standard deviations, of hyperparameters and parameters",
            "ours", budgets=("paper",)) for name in PROBLEMS],
    *[Claim(f"{name}, {method}: largest |z| against NUTS non-centred", "ours",
            lambda r, key=(name, method): distance_from_reference(r, *key),
            0, 4, "the means and the standard deviations of about a hundred quantities: one of them"
            f" is above 4 once in 160 times.  It cannot be told from chains of fewer than {ENOUGH}"
            " effective draws of a hyperparameter", "ours",
            budgets=("paper",) if method != SPECIALIST[name] else ("short", "paper"))
      for name in PROBLEMS for method in METHODS[name] if method != NON_CENTRED],
]


def table(r):
    """Lay out efficiencies, what they cost before, settings, and the biases."""
    rows, biases = [], []
    for name in PROBLEMS:
        for method in METHODS[name]:
            key = name, method
            f, h = r["found"][key], len(HYPER[name])
            rows.append([name, method, f.n, f"{f.gradients / f.n:.3g}", f"{r['before'][key]:.3g}",
                         "" if np.isnan(f.rate) else f"{f.rate:.2f}", f.divergences,
                         f"{min(f.ess[:h]):.0f}", f"{worst(f):.0f}",
                         f"{1000 * worst(f) / f.gradients:.3g}",
                         brief(efficiency(r, key)), lack_of_trust(r, *key)])
            if method != NON_CENTRED:
                reference = r["found"][name, NON_CENTRED]
                z = (f.mean - reference.mean) / np.hypot(f.mean_se, reference.mean_se)
                biases += [[name, method, what, f"{f.mean[k]:.4f}", f"{reference.mean[k]:.4f}",
                            f"{z[k]:+.1f}"] for k, what in enumerate(HYPER[name])]
    settings = [[*key, ", ".join(f"{k} {v:g}" for k, v in r["setting"][key].items())]
                for key in SCAN]
    return "\n\n".join([
        "ESS of all draws: the least of the hyperparameters' means, and the worst of the means and"
        " variances of\nhyperparameters and parameters.  A unit of work is a pass over the data, on"
        " the Cox process a factorisation;\nbefore: units of pilots, warm-up and burn-in",
        text_table(rows, ["problem", "method", "draws", "work", "before", "rate", "div.", "ESS",
                          "worst", "per 1000 units", "per CPU s", ""]),
        "Settings taken, of four:", text_table(settings, ["problem", "method", "setting"]),
        "Means of the hyperparameters, and the reference's:",
        text_table(biases, ["problem", "method", "", "mean", "reference", "z"])])


def figure(r):
    """Draw the worst ESS per unit of work and per CPU second: hollow if unsure, none if void."""
    fig, axes = panels(1, 2, 4.2)
    kinds = ("specialist", SSHMC, NON_CENTRED, CENTRED, RESCALED)
    for ax, per, title in ((axes[0], "work", "worst ESS per unit of work"),
                           (axes[1], "seconds", "worst ESS per CPU second")):
        for place, name in enumerate(PROBLEMS):
            for k, method in enumerate(METHODS[name]):
                if (how := lack_of_trust(r, name, method)) == "void":
                    continue
                f = r["found"][name, method]
                amount = f.gradients if per == "work" else r["seconds"][name, method].value
                ax.plot(place + (k - 1.5) / 8, worst(f) / amount, MARKERS[k], color=COLOURS[k],
                        mfc="white" if how else COLOURS[k])
        ax.set(yscale="log", title=title)
        ax.set_xticks(range(len(PROBLEMS)), [f"{name}\n{SPECIALIST[name]}" for name in PROBLEMS])
    legend_below(fig, handles=[mark(*how) for how in zip(kinds, COLOURS, MARKERS, strict=False)])
    return fig


def cases(settings):
    """Return the data sets."""
    return three_problems(settings.data)


STUDY = Study(name=NAME, what=WHAT, minutes=MINUTES, doc=__doc__, cases=cases, run=run,
              claims=CLAIMS, table=table, figure=figure)

if __name__ == "__main__":
    main(STUDY)
