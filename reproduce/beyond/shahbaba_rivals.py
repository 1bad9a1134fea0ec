"""Beside Shahbaba, Lan, Johnson and Neal (2014): what a mass matrix does for logistic regression.

Ours, not the paper's.  The paper asks for a better integrator and gives all methods unit masses.
A reader asks what to use: so here is HMC whose mass is J, the Hessian at the mode, which the normal
split needs anyway; both splits in the coordinates in which J is the identity; and NUTS (nutpie)
with a diagonal mass, and with one of low rank added.  All have the same tuning effort: pilot chains
with 16 settings; of those that accept half of their moves that with the most effective draws per
gradient is run again.

Run     python reproduce/beyond/shahbaba_rivals.py [--budget smoke|short|paper]
        Short has chains of 500 instead of 4000.  To compute takes the extra `nuts`.
Writes  figures/shahbaba_rivals.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import math
from functools import partial

import numpy as np

from reproduce.beyond.rivals.moments import ENOUGH, as_one, combine, distance, log_efficiency
from reproduce.harness.claims import Claim, Measured, brief, mean, text_table
from reproduce.harness.files import or_exit
from reproduce.harness.style import (
    COLOURS,
    legend_below,
    log_bar,
    mark,
    panels,
    plain_log,
    row_labels,
)
from reproduce.shahbaba import datasets
from reproduce.shahbaba.datasets import StandIn, names
from reproduce.shahbaba.printed import METHODS
from reproduce.shahbaba.rivals import (
    ALL,
    LOW_RANK,
    MASS,
    NUTS,
    OURS,
    SETS,
    SPLITS,
    chain,
    clock,
    nuts_chain,
    pilot,
    settings,
    warm,
)

NAME, WHAT = "shahbaba_rivals", "the mass matrix that split HMC does without"
MINUTES = {"paper": 25, "short": 4, "smoke": 1}

# The paper's settings, n, f, M, eps and L, are with its numbers, in shahbaba/printed.py

# Our settings; those that are tried are in shahbaba/rivals.py
PILOT = {"paper": 600, "short": 100, "smoke": 10}  # transitions of a pilot chain
USABLE = 0.5  # of the moves of a pilot are accepted
LENGTH = {"paper": (4000, 400), "short": (500, 100), "smoke": (30, 10)}  # after how many others
CHAINS = {"paper": 5, "short": 4, "smoke": 2}
TIMED = {"paper": (6, 20), "short": (3, 10), "smoke": (1, 3)}  # rounds, transitions
PAPERS, IN_J = METHODS[1:], (MASS, *SPLITS)
SAVED, NEGLIGIBLE = 1000, 0.01  # effective draws; what is negligible of their cost
COST = {"Simulated": 4.0, "StatLog": 0.8, "CTG": 0.25, "Chess": 0.5}  # for the progress bar


# The work


def run(experiment, cases):
    """Return {data set: {method: its chains together, its efficiency, setting and times}}."""
    budget, seed = experiment.budget, experiment.seed
    start = partial(experiment.replicates, warm=warm)
    wanted = ["Simulated" if isinstance(cases, StandIn) else "CTG"]
    if budget != "smoke":
        wanted = list(SETS)
    tried = [dict(name=name, method=method, setting=setting, n=PILOT[budget],
                  seed=[seed, 0, j, k], cost=COST[name] * setting[1] * PILOT[budget])
             for name in wanted for j, method in enumerate(OURS)
             for k, setting in enumerate(settings(name, method))]
    pilots = {}
    for task, found in zip(tried, start(pilot, tried, "pilots"), strict=True):
        key = task["name"], task["method"]
        pilots.setdefault(key, []).append((usable(found), task["setting"]))
    chosen = {key: max(each)[1] for key, each in pilots.items()}
    n, burn_in = LENGTH[budget]
    tasks = [dict(name=name, method=method, setting=setting, n=n, burn_in=burn_in,
                  seed=[seed, 1, ALL.index(method), k], cost=COST[name] * setting[1] * n)
             for (name, method), setting in chosen.items() for k in range(CHAINS[budget])]
    others = [dict(name=name, low_rank=method == LOW_RANK, draws=n, tune=max(2 * burn_in, 20),
                   seed=[seed, 1, ALL.index(method), k], cost=COST[name] * 20 * n)
              for name in wanted for method in (NUTS, LOW_RANK) for k in range(CHAINS[budget])]
    chains = {}
    for task, found in zip(tasks, start(chain, tasks, "chains"), strict=True):
        chains.setdefault((task["name"], task["method"]), []).append(found)
    for task, found in zip(others, start(nuts_chain, others, "chains of NUTS"), strict=True):
        method = LOW_RANK if task["low_rank"] else NUTS
        chains.setdefault((task["name"], method), []).append(found)
    result = {}
    for name in wanted:
        rounds, each = TIMED[budget]
        rows = {method: chosen.get((name, method)) for method in ALL}
        (times,) = start(clock, [dict(name=name, rows=rows, rounds=rounds, n=each)],
                         f"timings of {name}")
        result[name] = {method: row(chains[name, method], rows[method], times["seconds"], method,
                                    len(pilots.get((name, method), [])) * PILOT[budget])
                        for method in ALL}
    return result


def usable(found):
    """Return whether a pilot is usable, and its worst ESS per gradient, of values and squares.

    A step beyond the limit of stability accepts in some places and stands still in others, as a
    short chain need not notice: one that accepts less than USABLE is taken if there is no other.
    """
    return found["rate"] >= USABLE, found["efficiency"]


def row(chains, setting, seconds, method, tries):
    """Put together what is known of a method on a data set."""
    d = len(chains[0]["mean"])
    per = mean(seconds[method])
    efficiency = log_efficiency(chains, d)
    return {"together": combine(chains, d), "setting": setting, "tries": tries,
            "per gradient": efficiency,
            "per second": efficiency - Measured(math.log(per.value), per.se / per.value),
            # in gradients: the adaptation of a chain of NUTS, or the mode and its Hessian
            "set-up": float(np.mean([each["warm_up"] for each in chains])) if setting is None
            else float(np.mean(seconds["mode"]) / per.value) * (method != "HMC")}


# The claims


def log_efficiency_ratio(r, name, methods, others, per="per gradient"):
    """Return log(the most efficient of some methods / that of others)."""
    best, rest = (max((r[name][method][per] for method in each), key=lambda m: m.value)
                  for each in (methods, others))
    return best - rest


def map_cost(r, name):
    """Return the cost of the mode over what the better split saves in SAVED effective draws.

    Both are in gradients; unit masses.
    """
    hmc, split = (max((r[name][method] for method in each), key=lambda row: row["per gradient"])
                  for each in (METHODS[:1], PAPERS))
    gradients = [Measured(SAVED * math.exp(-value), SAVED * math.exp(-value) * se)
                 for value, se in (each["per gradient"] for each in (hmc, split))]
    return split["set-up"] / (gradients[0] - gradients[1])


def distance_from_reference(r, name, method):
    """Return how far a method is from HMC, M = J, as one |z|; nan error if it is too short."""
    a, b = (r[name][each]["together"] for each in (method, MASS))
    z, se = distance(a, b, a.mean.size)
    return Measured(as_one(z, 2 * a.mean.size) if np.isfinite(z) else z, se)


LONG, ORDER = ("paper",), "order; by the worst component, of values and of squares"
AGAIN = ("to be run again, with longer pilot chains, by which other settings may be taken: more"
         " chains of these would decide about the settings")
CLAIMS = [claim for name in SETS for claim in (
    Claim(f"{name}: log(ESS per gradient, the better split / HMC), unit masses",
          "Split HMC is more efficient", lambda r,
          n=name: log_efficiency_ratio(r, n, PAPERS, ("HMC",)), 0.0,
          np.inf, ORDER + "; the paper's comparison, with HMC tuned as much", "printed sentence",
          budgets=LONG, undecided=AGAIN),
    Claim(f"{name}: log(ESS per gradient, {MASS} / the better split)", "ours",
          lambda r, n=name: log_efficiency_ratio(r, n, (MASS,), PAPERS), 0.0, np.inf, ORDER
          + ": the mass takes the scales out of the problem, a split some of them", "ours",
          budgets=LONG, undecided=AGAIN),
    Claim(f"{name}: log(ESS per second, {MASS} / the better split)", "ours",
          lambda r, n=name: log_efficiency_ratio(r, n, (MASS,), PAPERS, "per second"), 0.0, np.inf,
          ORDER, "ours",
          budgets=LONG, undecided=AGAIN),
    Claim(f"{name}: log(ESS per gradient, {SPLITS[0]} / {MASS})", "ours",
          lambda r, n=name: log_efficiency_ratio(r, n, SPLITS[:1], (MASS,)), 0.0, np.inf, ORDER
          + ": with the same mass, the paper's split of the normal part", "ours", budgets=LONG,
          undecided=AGAIN),
    Claim(f"{name}: cost of the mode / saved by the better split in {SAVED} effective draws",
          "often negligible", lambda r, n=name: map_cost(r, n), 0.0, NEGLIGIBLE,
          "Section 4: the cost of the MAP estimate is often negligible compared to the potential"
          f" improvement.  A word: accepted is at most {NEGLIGIBLE:.0%}; both in gradients, unit"
          " masses", "printed sentence", budgets=LONG),
    *[Claim(f"{name}, {method}: largest |z| against {MASS}, as one", "theory",
            lambda r, n=name, m=method: distance_from_reference(r, n, m), 0.0, 4.0,
            "means and standard deviations of"
            " all coefficients: 4 standard errors of one number.  It cannot be told from chains of"
            f" fewer than {ENOUGH} effective draws each", "ours", budgets=LONG)
      for method in ALL if method != MASS])]


def table(r):
    """Lay out the efficiencies, settings and costs of set-up."""
    rows = []
    for name, methods in r.items():
        for method, result in methods.items():
            f, setting = result["together"], result["setting"]
            rows.append([name, method, "its own" if setting is None else
                         f"{setting[0]:.3g}, {setting[1]}",
                         "" if np.isnan(f.rate) else f"{f.rate:.2f}", f.divergences or "",
                         f"{f.gradients / f.n:.3g}", *(
                             f"{1000 * min(ess) / f.gradients:.3g}"
                             for ess in (f.ess, f.ess_squares)),
                         *(brief(Measured(scale * math.exp(m.value), scale * math.exp(m.value)
                                          * m.se)) for scale, m in (
                             (1000, result["per gradient"]), (1, result["per second"]))),
                         f"{result['set-up']:.0f}", result["tries"] or ""])
    return ("Effective draws of the worst coefficient: per 1000 gradients, of its values, of its"
            " squares, and the\nworst of both with a standard error; per CPU second.  Set-up: the"
            " mode and its Hessian, or NUTS's adaptation\nof a chain, in gradients; transitions of"
            " all pilot chains\n\n" + text_table(
                rows, ["data", "method", "eps, L", "rate", "div.", "gradients", "values", "squares",
                       "worst", "per second", "set-up", "pilots"]))


def figure(r):
    """Draw the efficiencies per gradient and per second, each data set a row."""
    fig, axes = panels(len(r), 2, 1.0 + 2.1 * len(r), sharey=True, sharex="col", squeeze=False)
    for (name, found), line in zip(r.items(), axes, strict=True):
        for ax, per, scale in zip(line, ("per gradient", "per second"), (1000, 1), strict=True):
            for y, (method, each) in enumerate(found.items()):
                middle, ends = log_bar(*each[per], scale)
                ax.errorbar(middle, y, xerr=ends[:, None], fmt="o", ms=5,
                            color=COLOURS[0 if method in METHODS else 1 if method in IN_J else 2])
            ax.set(xscale="log")
            ax.grid(axis="x", color="0.9")
        row_labels(line[0], list(found))
        line[0].set_title(name, loc="left")
    for ax, label in zip(axes[-1], ("effective draws of the worst coefficient\nper 1000 gradients",
                                    "per CPU second"), strict=True):
        ax.set_xlabel(label)
        plain_log(ax.xaxis)
    legend_below(fig, handles=[mark(label, COLOURS[k]) for k, label in enumerate((
        "unit masses, as in the paper", "mass J, the Hessian at the mode",
        "mass adapted by NUTS"))])
    return fig


def cases(settings):
    """Find the three data sets of Table 2 before anything else."""
    return or_exit(names, settings, SETS["Simulated"], "simulated", datasets.statlog, datasets.ctg,
                   datasets.chess)


STUDY = Study(name=NAME, what=WHAT, minutes=MINUTES, doc=__doc__, cases=cases, run=run,
              claims=CLAIMS, table=table, figure=figure)

if __name__ == "__main__":
    main(STUDY)
