"""Wang and Neal (2013), Section 6.2: moves of the mark r and steps in a move s.

Not a figure of the paper, which found r = s = 1 best, and has not "had much success" with larger
ones.  The cost of an effective draw over the plane of r and s with a subset of the data for pi*,
where an iteration is one mapping by sweeps, or d mappings each of whose steps updates one variable
at random; and how often the posterior was known already where the mark might go.

Run     python reproduce/beyond/wang_r_s.py [--budget smoke|short|paper]
        Paper has twelve pairs for rows 1, 2 and 4, two units and two slices; short has four pairs
        for row 1 and one slice.
Writes  figures/wang_r_s.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from itertools import product

import numpy as np

from reproduce.harness.claims import Claim, Scan, brief, log, mean, smallest, text_table
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import legend_below, panels, plain_log, shades
from reproduce.wang.chains import SLICES, WIDE
from reproduce.wang.long_chains import clocks, combine, cost, long_chain, share_of_hits, warm
from reproduce.wang.printed import SOD, R, S, quote

NAME, WHAT = "wang_r_s", "moves of the mark, and steps in a move"
MINUTES = {"paper": 60, "short": 1.5, "smoke": 0.4}

# The paper's settings (Section 6.2)
CHOSEN = (R, S)

# Our settings
UNITS = ("random", "sweep")
PLANE = {"paper": ((1, 2, 4, 8), (1, 2, 4)), "short": ((1, 4), (1, 2)), "smoke": ((1, 2), (1, 2))}
SAMPLED = {"paper": (1, 2, 4), "short": (1,), "smoke": (1,)}  # rows
SLICED = {"paper": tuple(SLICES), "short": (WIDE,), "smoke": (WIDE,)}
WINDOWS = {"paper": 4, "short": 1, "smoke": 1}  # of 1333 iterations, in a chain
CHAINS = {"paper": 3, "short": 2, "smoke": 2}
SMALL = 15  # cases, at the smoke budget
TIMED = {"paper": (5, 5), "short": (3, 3), "smoke": (1, 2)}  # rounds, iterations


def run(experiment, cases):
    """Return {row: {unit: {slice: {(r, s): what together says, with its cost}}}}."""
    budget = experiment.budget
    n = SMALL if budget == "smoke" else None
    done = replicates_by_key(experiment, long_chain, {(number, unit, name, (r, s)): [dict(
        number=number, index=0, method=SOD, unit=unit, w=SLICES[name][0],
        max_widths=SLICES[name][1], r=r, s=s, windows=WINDOWS[budget], n=n,
        seed=[experiment.seed, number, chain], cost=s * r**0.6) for chain in range(CHAINS[budget])]
        for number, unit, name, (r, s) in product(
            SAMPLED[budget], UNITS, SLICED[budget], product(*PLANE[budget]))}, "chains", warm=warm)
    rows = {SOD: [SOD, "sweep", *SLICES[WIDE], None]}
    timed = clocks(experiment, dict.fromkeys(SAMPLED[budget], rows), TIMED[budget], n)
    found = {}
    for (number, unit, name, (r, s)), chains in done.items():
        # more than one variable changes, unless the mark moves once and by one update
        priced = "variable" if (unit, r * s) == ("random", 1) else "sweep"
        one = combine(chains) | {"hits": mean(list(map(share_of_hits, chains))),
                                 "cost": cost(chains, SOD, priced, timed[number], SOD)}
        found.setdefault(number, {}).setdefault(unit, {}).setdefault(name, {})[r, s] = one
    return {"rows": found}


def log_cost_per_draw(plane, pair):
    """Return log(evaluations of the posterior for an effective draw)."""
    return log(plane[pair]["tau"]) + np.log(plane[pair]["cost"])


def least_log_cost_ratio(plane):
    """Return the least log(cost of a draw, other r and s / r = s = 1), in standard errors."""
    return smallest(log_cost_per_draw(plane, pair) - log_cost_per_draw(plane, CHOSEN)
                 for pair in plane if pair != CHOSEN)


def scan(r, measure):
    """Return the least measure(plane) of all rows, in standard errors, for each unit and slice."""
    (first, *_) = r["rows"].values()
    found = {f"{unit}, {name}": smallest(measure(units[unit][name]) for units in r["rows"].values())
             for unit, names in first.items() for name in names}
    return Scan(tuple(found), tuple(found.values()))


def known_part(r):
    """Return which part of r proposals of the mark go where it was, if every one is accepted."""
    steps = np.cumsum(list(product((-1, 1), repeat=r)), axis=1)
    return 1 - np.mean([len(set(walk) | {0}) - 1 for walk in steps.tolist()]) / r


THREE = f"rows {', '.join(map(str, SAMPLED['paper']))}"  # a sentence is of all rows at once
MOST, FEWEST = max(PLANE["paper"][0]), min(PLANE["paper"][1])
CLAIMS = [
    Claim(f"{THREE}: least log(cost of a draw, other r and s / r = s = 1)", quote("r and s"),
          lambda r: scan(r, least_log_cost_ratio), 0.0, np.inf, "order: r = s = 1 is the best."
          "  Least: in standard errors; the paper says neither what an iteration is nor w", "order",
          budgets=("paper",), undecided="in every setting some other pair is as good as r = s"
          " = 1 within its error of 10 to 60 %; these chains took two hours of one core, and a"
          " difference of a tenth takes 16 to 500 times as many to be told"),
    *[Claim(f"row {number}, {unit}, {WIDE}: share of known energies, r = {MOST}, s = {FEWEST}",
            "ours: at least what a mark that always moves has",
            lambda r, number=number, unit=unit: r["rows"][number][unit][WIDE][MOST, FEWEST]["hits"],
            known_part(MOST), 1.0, "theory, and at least that: a mark that stays is near where it"
            " was", "ours", budgets=("paper",)) for number in SAMPLED["paper"] for unit in UNITS],
    Claim(f"{THREE}: least rate of acceptance, s = 1 less s = {max(PLANE['paper'][1])}",
          quote("large jumps"), lambda r: scan(r, lambda plane: plane[CHOSEN]["accepted"] - plane[
              1, max(s for _, s in plane)]["accepted"]), 0.0, np.inf, "order: with large r and s"
          " the acceptance rate will be low.  Least: in standard errors", "order",
          budgets=("paper",)),
]


def table(r):
    """Lay out the plane of each row, unit and slice."""
    rows = [[str(number), unit, name, str(pair[0]), str(pair[1]), f"{each['accepted'].value:.3f}",
             brief(each["hits"]), brief(each["tau"]), f"{each['cost']:.3g}",
             "0" if pair == CHOSEN
             else brief(log_cost_per_draw(plane, pair) - log_cost_per_draw(plane, CHOSEN))]
            for number, units in r["rows"].items() for unit, names in units.items()
            for name, plane in names.items() for pair, each in plane.items()]
    return text_table(rows, ["row", "unit", "slice", "r", "s", "accepted", "known", "time",
                             "evaluations", "log(cost / r = s = 1)"])


def figure(r):
    """Draw the cost of a draw against r, for each s."""
    fig, axes = panels(len(UNITS), len(r["rows"]), 6, sharey="col", squeeze=False)
    places = [(number, unit) for unit in UNITS for number in r["rows"]]
    for ax, (number, unit) in zip(axes.flat, places, strict=True):
        for (name, plane), style in zip(r["rows"][number][unit].items(), ("o-", "s--"),
                                        strict=False):
            each_s = sorted({s for _, s in plane})
            for s, colour in zip(each_s, shades(len(each_s)), strict=True):
                moves = sorted({r for r, _ in plane})
                draws = [np.exp(log_cost_per_draw(plane, (r, s)).value) for r in moves]
                ax.plot(moves, draws, style, color=colour, label=f"s = {s}, {name}")
        ax.set(xscale="log", yscale="log", xlabel="r", title=f"row {number}, {unit}")
        ax.set_xticks(moves, map(str, moves))
        ax.minorticks_off()
        plain_log(ax.yaxis, (1, 1.5, 2, 3, 5, 7))
    for ax in axes[:, 0]:
        ax.set_ylabel("evaluations of the posterior\nfor a draw")
    legend_below(fig, axes[0, 0], ncols=3)
    return fig


cases = "data set 0 of each row, simulated"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
