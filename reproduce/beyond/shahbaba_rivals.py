"""Beside Shahbaba, Lan, Johnson and Neal (2014): what a mass matrix does for logistic regression.

Ours, not the paper's.  The paper asks for a better integrator and gives all methods unit masses.
A reader asks what to use: so here is HMC whose mass is J, the Hessian at the mode, which the normal
split needs anyway; both splits in the coordinates in which J is the identity; and our NUTS with a
diagonal mass and with a dense one.  All but NUTS have pilot chains with 16 settings of eps and L.
The best is run again, and so is the printed one, whatever its pilot says.  The data split with mass
J has pilots with three numbers of inner steps, since the paper's are for unit masses.

Run     python reproduce/beyond/shahbaba_rivals.py [--budget smoke|short|paper]
        Short has pilots of 20 effective draws and chains of 75 instead of 500; smoke has two
        settings of a method at most.
Writes  figures/shahbaba_rivals.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import math
from functools import partial

import numpy as np

from reproduce.beyond.rivals.moments import distance_of_rows, halves_apart, row_of, scale_log
from reproduce.beyond.rivals.rows import draw_efficiency, trust
from reproduce.harness import style
from reproduce.harness.claims import (
    Claim,
    Measured,
    brief,
    exponential,
    log,
    mean,
    text_table,
)
from reproduce.harness.style import COLOURS, mark, panels, plain_log, row_labels
from reproduce.shahbaba import rivals
from reproduce.shahbaba.datasets import StandIn, chess, ctg, finder, statlog
from reproduce.shahbaba.printed import METHODS, PROBLEMS
from reproduce.shahbaba.rivals import MASS, NUTS, OURS, PRINTED, ROWS, SETS, SPLITS, method_of_row

NAME, WHAT = "shahbaba_rivals", "the mass matrix that split HMC does without"
MINUTES = {"paper": 60, "short": 8, "smoke": 2}

# Our settings, fixed before the first run but for UNIT and, in shahbaba/rivals.py with those that
# are tried, INNER; the paper's, n, f, M, eps and L, are with its numbers in shahbaba/printed.py
ENOUGH = {"paper": 50, "short": 20, "smoke": 2}  # effective draws of a pilot
GIVEN_UP = {"paper": 6e8, "short": 3e7, "smoke": 2e6}  # gradients of a pilot, times cases
USABLE = 0.5  # of the moves of a pilot are accepted
CHAINS = 4
WANTED = {"paper": 500, "short": 75, "smoke": 3}  # effective draws of a chain, by its pilot
LEAST = {"paper": 200, "short": 200, "smoke": 10}  # transitions of a chain
BURN_IN = 0.1  # the share of them that comes before, uncounted
LONGEST = {"paper": 6e9, "short": 2e8, "smoke": 2e6}  # gradients of all chains of a row, x cases
OF_NUTS = {"paper": (2000, 1000), "short": (300, 300), "smoke": (20, 40)}  # draws, warm-up
TIMED = {"paper": (6, 20), "short": (3, 10), "smoke": (1, 3)}  # rounds, transitions
PAPERS, IN_J = METHODS[1:], (MASS, *SPLITS)
# decided after the first run, in which the pilot of HMC on Chess took a worse step than the printed
# one: with unit masses a method has the better of its two settings, the one taken and the printed
UNIT, UNIT_SPLITS = (("HMC", PRINTED["HMC"]), (*PAPERS, *(PRINTED[each] for each in PAPERS)))
PER = ("per gradient", "per second", *(f"per gradient by {each}" for each in rivals.MEASURES))
NOTHING = dict.fromkeys(PER, Measured(0.0, math.nan)) | {"set-up": math.nan}
SAVED, NEGLIGIBLE = 1000, 0.01  # effective draws; what is negligible of their cost
ONE = 1e-9  # seconds of a gradient and a case, for the progress bar


def run(experiment, cases):
    """Return {data set: {row: its chains together, its efficiency, setting and times}}."""
    budget, seed = experiment.budget, experiment.seed
    start = partial(experiment.replicates, warm=rivals.warm)
    wanted = ["Simulated" if isinstance(cases, StandIn) else "CTG"]
    if budget != "smoke":
        wanted = list(SETS)
    tried = [dict(name=name, method=method, setting=setting, enough=ENOUGH[budget],
                  most=GIVEN_UP[budget] / PROBLEMS[name].n, seed=[seed, 0, j, k], cost=1.0)
             for name in wanted for j, method in enumerate(OURS)
             for k, setting in enumerate(rivals.settings(name, method))
             if budget != "smoke" or k == 0 or rivals.is_printed(name, method, setting)]
    pilots = {}
    for task, found in zip(tried, start(rivals.pilot, tried, "pilots"), strict=True):
        key = task["name"], task["method"]
        pilots.setdefault(key, []).append((task["setting"], found))
    chosen = {}  # {(data set, row): (its setting, the efficiency of its pilot)}
    for (name, method), each in pilots.items():
        setting, best = max(each, key=lambda pair: usable(pair[1], ENOUGH[budget]))
        chosen[name, method] = setting, best["efficiency"]
        for setting, found in each:
            if rivals.is_printed(name, method, setting):
                chosen[name, PRINTED[method]] = setting, found["efficiency"]
    tasks = [dict(name=name, method=method_of_row(row), setting=setting,
                  **length(name, method_of_row(row), setting, efficiency, budget), chains=CHAINS,
                  seed=[seed, 1, ROWS.index(row)])
             for (name, row), (setting, efficiency) in chosen.items()]
    for task in tasks:
        task["cost"] = ONE * task["n"] * rivals.per_transition(task["name"], task["method"],
                                                        task["setting"]) * PROBLEMS[task["name"]].n
    n, warm_up = OF_NUTS[budget]
    others = [dict(name=name, method=method, n=n, warm_up=warm_up, chains=CHAINS,
                   seed=[seed, 1, ROWS.index(method)], cost=ONE * 20 * n * PROBLEMS[name].n)
              for name in wanted for method in NUTS]
    found = dict(zip(chosen, start(rivals.row_of_chains, tasks, "chains"), strict=True))
    found |= dict(zip([(task["name"], task["method"]) for task in others],
                      start(rivals.nuts_row, others, "chains of NUTS"), strict=True))
    result = {}
    for name in wanted:
        rounds, each = TIMED[budget]
        rows = {row: [method_of_row(row), chosen[name, row][0] if (name, row) in chosen else None]
                for row in ROWS}
        (times,) = start(rivals.clock, [dict(name=name, rows=rows, rounds=rounds, n=each)],
                         f"timings of {name}")
        result[name] = {row: values(found[name, row], rows[row][1], times["seconds"], row)
                        for row in ROWS}
    return result


def usable(found, enough):
    """Return what the best pilot has most of: usable, then the worst ESS per gradient.

    A step beyond the limit of stability accepts in some places and stands still in others, as a
    short chain need not notice: one that accepts less than USABLE is taken if there is no other,
    and so is one that was given up before it had enough effective draws.
    """
    return found["rate"] >= USABLE and found["ess"] >= enough, found["efficiency"]


def length(name, method, setting, efficiency, budget):
    """Return transitions of a chain, {n, burn_in}: for WANTED effective draws, by its pilot."""
    each = rivals.per_transition(name, method, setting)
    most = LONGEST[budget] / PROBLEMS[name].n / each / CHAINS
    wanted = WANTED[budget] / (efficiency * each) if efficiency > 0 else most
    n = max(LEAST[budget], int(min(wanted, most)))
    return {"n": n, "burn_in": int(BURN_IN * n)}


def values(found, setting, seconds, row):
    """Put together what is known of a row of chains."""
    made = row_of(found, seconds[row])
    # in gradients: the adaptation of a chain of NUTS, or the mode and its Hessian
    before = (np.mean([each["warm_up"] for each in found["chains"]]) if setting is None
              else np.mean(seconds["mode"]) / np.mean(seconds[row]) * (method_of_row(row) != "HMC"))
    return made | {"setting": setting, "set-up": float(before)} | {
        f"per gradient by {what}": log(mean([
            chain[what] / chain["gradients"] for chain in found["chains"]]))
        for what in rivals.MEASURES}


def most_efficient(r, name, rows, per="per gradient"):
    """Return the row with the largest efficiency of those that are believed; nan if none is."""
    return max((r[name][row] for row in rows if r[name][row]["believed"]),
               key=lambda row: row[per].value, default=NOTHING)


def log_efficiency_ratio(r, name, rows, others, per="per gradient"):
    """Return log(the most efficient of some rows / that of others)."""
    return most_efficient(r, name, rows, per)[per] - most_efficient(r, name, others, per)[per]


def map_cost(r, name):
    """Return the cost of the mode over what the better split saves in SAVED draws, in gradients."""
    hmc, split = (most_efficient(r, name, each) for each in (UNIT, UNIT_SPLITS))
    needed = [SAVED * exponential(-each["per gradient"]) for each in (hmc, split)]
    return split["set-up"] / (needed[0] - needed[1])


LONG = ("paper",)
BY = {"gradient": "the worst component, of values and of squares",
      "gradient by tau": "the paper's log likelihood, at the settings for the worst component",
      "gradient by tau_beta": "the paper's sum of squares, at the settings for the worst component"}
CLOSE = ("all chains are as long as the rule of trust asks for, and the two are no further apart"
         " than their errors")
ORDERS = (  # what, ours or the paper's, rows that are ahead, of which others, per what, why
    ("the better split / HMC), as printed", "Split HMC is more efficient",
     [PRINTED[each] for each in PAPERS], [PRINTED["HMC"]], ["gradient"],
     "the paper's comparison, at its settings"),
    ("the better split / HMC), unit masses", "Split HMC is more efficient", UNIT_SPLITS, UNIT,
     BY, "the paper's comparison, with HMC tuned as much"),
    (f"{MASS} / the better split)", "ours", [MASS], UNIT_SPLITS, [*BY, "second"],
     "the mass takes the scales out of the problem, a split some of them"),
    (f"{SPLITS[0]} / {MASS})", "ours", SPLITS[:1], [MASS], BY,
     "with the same mass, the paper's split of the normal part"),
    (f"{SPLITS[1]} / {MASS})", "ours", SPLITS[1:], [MASS], ["gradient"],
     "with the same mass; claimed after a trial with two inner steps, before which we expected"
     " the opposite"),
    (f"{MASS} / NUTS, dense)", "ours", [MASS], ["NUTS, dense"], ["gradient"],
     "NUTS goes both ways and has to learn the mass; its warm-up is not counted"),
    ("NUTS, dense / NUTS, diagonal)", "ours", ["NUTS, dense"], ["NUTS, diagonal"], ["gradient"],
     "a dense mass knows the correlations"))
CLAIMS = [claim for name in SETS for claim in (
    *[Claim(f"{name}: log(ESS per {per}, {what}", paper,
            lambda r, n=name, a=ahead, b=others, p=per: log_efficiency_ratio(
                r, n, a, b, f"per {p}"),
            0.0, np.inf, f"order; by {BY.get(per, BY['gradient'])}: {why}",
            "ours" if paper == "ours" else "printed sentence", budgets=LONG, undecided=CLOSE)
      for what, paper, ahead, others, pers, why in ORDERS for per in pers],
    Claim(f"{name}: cost of the mode / saved by the better split in {SAVED} effective draws",
          "often negligible", lambda r, n=name: map_cost(r, n), 0.0, NEGLIGIBLE,
          "Section 4: the cost of the MAP estimate is often negligible compared to the potential"
          f" improvement.  A word: accepted is at most {NEGLIGIBLE:.0%}; both in gradients, unit"
          " masses", "printed sentence", budgets=LONG, undecided=CLOSE),
    *[Claim(f"{name}, {row}: largest |z| against {MASS}, adjusted", "theory",
            lambda r, n=name, m=row: distance_of_rows(r[n][m], r[n][MASS]), 0.0, 4.0,
            "means and standard deviations of all coefficients; adjusted: the probability of the"
            " largest of so many, as a deviate of one normal number, at most 4.  Chains that the"
            " rule of trust does not believe are compared with none", "ours",
            budgets=LONG)
      for row in ROWS if row != MASS],
    Claim(f"{name}: largest |z| between two chains and the other two of a row, adjusted", "theory",
          lambda r, n=name: halves_apart(r[n].values()), 0.0, 4.0,
          "the same method against itself, in all rows that are believed: whether errors are as"
          " large as they are said to be", "ours", budgets=LONG))]


def table(r):
    """Lay out the efficiencies, settings, costs of set-up and what the rule of trust sees."""
    rows = []
    for name, found in r.items():
        for row, each in found.items():
            f, setting = each["together"], each["setting"]
            rows.append([name, row, "its own" if setting is None else
                         ", ".join(f"{x:.3g}" for x in setting), f"{f.rate:.2f}",
                         f.divergences or "", f"{f.gradients:.2g}", *trust(each),
                         f"{each['halves']:.1f}",
                         *([brief(scale_log(each[per], 1 if per == "per second" else 1000))
                            for per in PER] if each["believed"] else ["not believed", "", "", ""]),
                         f"{each['set-up']:.0f}"])
    return ("Four chains a row; normal, data: the splits; M = J: the mass is the Hessian at the"
            " mode.  Gradients: of all\nchains.  Worst R-hat and least effective sample sizes, of"
            " bulk and tail, of all coefficients; least E-BFMI of a\nchain; halves: largest |z|"
            " between two chains and the other two.  Effective draws of the worst coefficient,\nof"
            " its values or squares, per 1000 gradients and per CPU second; of the paper's log"
            " likelihood (tau) and sum of\nsquares (tau_beta), per 1000 gradients; where the"
            " row is believed: R-hat at most 1.01 and effective sample\nsizes of 400; divergences"
            " and E-BFMI are shown, not judged.  Set-up: the mode and its Hessian, or NUTS's"
            "\nadaptation of a chain, in gradients\n\n"
            + text_table(
                rows, ["data", "row", "eps, L, M", "rate", "div.", "gradients", "R-hat", "bulk",
                       "tail", "E-BFMI", "halves", "per 1000 gradients", "per second", "by tau",
                       "by tau_beta", "set-up"]))


def figure(r):
    """Draw the efficiencies per gradient and per second, each data set a row."""
    fig, axes = panels(len(r), 2, 1.0 + 2.6 * len(r), sharey=True, sharex="col", squeeze=False)
    for (name, found), line in zip(r.items(), axes, strict=True):
        for ax, per, scale in zip(line, ("per gradient", "per second"), (1000, 1), strict=True):
            for y, (row, each) in enumerate(found.items()):
                colour = COLOURS[2 if row in NUTS else int(row in IN_J)]
                draw_efficiency(ax, y, each, each[per], scale, fmt="o", ms=5, color=colour)
            ax.set(xscale="log")
            ax.grid(axis="x", color="0.9")
        row_labels(line[0], list(found))
        line[0].set_title(name, loc="left")
    for ax, label in zip(axes[-1], ("effective draws of the worst coefficient\nper 1000 gradients",
                                    "per CPU second\n(bars: 2 standard errors)"), strict=True):
        ax.set_xlabel(label)
        plain_log(ax.xaxis)
    style.legend_below(fig, handles=[mark(label, COLOURS[k]) for k, label in enumerate((
        "unit masses, as in the paper", "mass J, the Hessian at the mode",
        "mass adapted by NUTS"))])
    return fig


cases = finder(SETS["Simulated"], "simulated", statlog, ctg, chess)
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
