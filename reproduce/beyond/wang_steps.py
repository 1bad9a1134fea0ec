"""Wang and Neal (2013), Section 6.2: the slice's width w and its limit, which the paper leaves out.

Not a figure of the paper.  The same data sets and methods with other slices: the autocorrelation
time of the standard sampler beside Table 3, how often an update evaluates the posterior beside what
the CPU times imply, and what the method with a subset gains.

Run     python reproduce/beyond/wang_steps.py [--budget smoke|short|paper]
        Paper has twelve slices for rows 1, 2, 4, 6, 9, four for 3 and 5, two for 10; short has
        rows 2 and 4.
Writes  figures/wang_steps.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.harness.claims import Claim, Scan, brief, log, text_table
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import legend_below, mark, panels, plain_log, styles
from reproduce.wang.chains import NARROW, SLICES, WIDE
from reproduce.wang.long_chains import clocks, combine, cost, long_chain, usual, warm
from reproduce.wang.printed import ARD, LONG, ROWS, SOD, STANDARD, TAU, quote, shown

NAME, WHAT = "wang_steps", "widths and limits of the slice"
MINUTES = {"paper": 30, "short": 2, "smoke": 0.3}

# Our settings: the paper has none, and leaves these out
W, LIMITS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0), (3, 10)
MANY = tuple((w, limit) for limit in LIMITS for w in W)
SOME = ((0.05, 3), (0.1, 3), (0.1, 10), (1.0, 10))
FEW = ((0.1, 3), (1.0, 10))
ROOM = {"paper": {1: MANY, 2: MANY, 3: SOME, 4: MANY, 5: SOME, 6: MANY, 9: MANY, 10: FEW},
        "short": {2: FEW, 4: SOME}, "smoke": {4: FEW}}
WINDOWS = {"paper": 10, "short": 2, "smoke": 1}  # of 1333 iterations, in a chain
WINDOWS_ARD = {300: 3, 900: 1}
CHAINS = 2  # of a slice; one for row 10
SMALL = 15  # cases, at the smoke budget
TIMED = {"paper": (5, 5), "short": (3, 3), "smoke": (1, 2)}  # rounds, iterations
PAIRS = {4: 2, 5: 3}  # rows of long lengths: short ones whose evaluation costs as much
TOLD = 1.5  # a single window tells the time within this factor (wang_windows.py)


def run(experiment, cases):
    """Return {row: {slice: {method: what together says, with its cost}}}."""
    budget, tasks, found = experiment.budget, {}, {}
    n = SMALL if budget == "smoke" else None
    for number, slices in ROOM[budget].items():
        row, windows, chains = ROWS[number], WINDOWS[budget], CHAINS
        if budget == "paper" and row.kind == ARD:
            windows, chains = WINDOWS_ARD[row.n], CHAINS if row.n == 300 else 1
        for w, limit in slices:
            for method in (STANDARD, SOD):
                tasks[number, name_of(w, limit), method] = [dict(
                    number=number, index=0, method=method, windows=windows, w=w,
                    max_widths=limit, n=n, seed=[experiment.seed, number, chain],
                    cost=windows * row.n / 300 * (20 if row.kind == ARD else 1))
                    for chain in range(chains)]
    rows = {SOD: [SOD, "variable", *SLICES[WIDE], None]}
    timed = clocks(experiment, dict.fromkeys(ROOM[budget], rows), TIMED[budget], n)
    done = replicates_by_key(experiment, long_chain, tasks, "chains", warm=warm)
    for (number, name, method), each in done.items():
        found.setdefault(number, {}).setdefault(name, {})[method] = combine(each) | {
            "cost": cost(each, method, "variable", timed[number], method)}
    return {"rows": found}


def name_of(w, limit):
    """Name a slice, as wang/chains.py does."""
    return f"w = {w:g}, limit {limit}"


def log_ratio_to_table(r, number, name):
    """Return log(a window's time / the printed one) of the standard sampler."""
    return usual(r["rows"][number][name][STANDARD]) - np.log(ROWS[number].tau[STANDARD])


def scan(r, number, measure):
    """Return a measure over the slices of a row."""
    names = tuple(r["rows"][number])
    return Scan(names, tuple(measure(name) for name in names))


def nearest_log(r, number):
    """Return the one of these logs that is nearest to 0, of slices with w <= 0.1 and limit 3."""
    return min((log_ratio_to_table(r, number, name) for name in map(name_of, W[:2], (3, 3))
                if name in r["rows"][number]), key=lambda m: abs(m.value))


def log_cost_per_draw(r, number, name, method):
    """Return log(evaluations of the posterior for an effective draw)."""
    found = r["rows"][number][name][method]
    return log(found["tau"]) + np.log(found["cost"])


def gain(r, number, name):
    """Return log(that of the standard sampler / that with a subset)."""
    return log_cost_per_draw(r, number, name, STANDARD) - log_cost_per_draw(r, number, name, SOD)


def log_cost_over_least(r, number, name):
    """Return log(evaluations for an effective draw / the least over the slices), standard."""
    best = min((log_cost_per_draw(r, number, other, STANDARD) for other in r["rows"][number]
                if other != name), key=lambda m: m.value)
    return log_cost_per_draw(r, number, name, STANDARD) - best


def log_evaluation_ratio(r, number, name):
    """Return log(evaluations an update, of a row / of the row it is paired with, WIDE)."""
    return float(np.log(r["rows"][number][name][STANDARD]["updates"]
                        / r["rows"][PAIRS[number]][WIDE][STANDARD]["updates"]))


def printed_time_ratio(number):
    """Return that ratio as the printed CPU times have it."""
    return ROWS[number].seconds[STANDARD] / ROWS[PAIRS[number]].seconds[STANDARD]


LONG_ROWS = tuple(number for number, row in ROWS.items() if row.size == LONG)
SILENT = "the paper has neither w nor the limit"


def budgets(number):
    """Return the budgets with the rows of a claim about a row of long lengths."""
    return ("short", "paper") if number == 4 else ("paper",)


# that the printed times are ours with some slice is a claim of wang_table3, for every row
CLAIMS = [
    *[Claim(f"row {number}, {WIDE}: log(Table 3 / time), standard", "ours: too large for w = 1",
            lambda r, number=number: -log_ratio_to_table(r, number, WIDE), np.log(TOLD), np.inf,
            "order: more than the factor that chance explains", "ours", budgets=budgets(number))
      for number in LONG_ROWS],
    *[Claim(f"row {number}: log(time / Table 3), standard, the nearest with w <= 0.1, limit 3",
            "ours: short steps explain it", lambda r, number=number: nearest_log(r, number),
            -np.log(TOLD), np.log(TOLD), "within the factor of a single window", "ours",
            budgets=budgets(number)) for number in LONG_ROWS],
    *[Claim(f"rows {number} and {PAIRS[number]}, both {WIDE}: log(evaluations an update, ratio)",
            f"ours: about 0; printed CPU times have ratio {printed_time_ratio(number):.2f}",
            lambda r, number=number: log_evaluation_ratio(r, number, WIDE), np.log(0.75),
            -np.log(0.75), "with one slice for both rows their updates take about as many", "ours",
            budgets=budgets(number)) for number in PAIRS],
    *[Claim(f"rows {number}, {NARROW}, and {PAIRS[number]}, {WIDE}: log(evaluations an update,"
            " ratio)", f"ours: the printed CPU times have ratio {printed_time_ratio(number):.2f}",
            lambda r, number=number: log_evaluation_ratio(r, number, NARROW), -np.inf, np.log(0.75),
            "order: short steps take fewer", "ours", budgets=budgets(number)) for number in PAIRS],
    *[Claim(f"row {number}: log(evaluations for a draw / the least), standard",
            "ours: less than twice the best", lambda r, number=number: scan(
                r, number, lambda name: log_cost_over_least(r, number, name)), -np.inf, np.log(2),
            "order: less than twice the best, for all slices that were tried;"
            f" {SILENT}", "ours", budgets=("paper",)) for number in LONG_ROWS],
    *[Claim(f"row {number}: log(evaluations for a draw, standard / SOD)", quote("almost always"),
            lambda r, number=number: scan(r, number, lambda name: gain(r, number, name)), 0.0,
            np.inf, f"order: the subset gains; {SILENT}", "order", budgets=("paper",))
      for number in LONG_ROWS],
]


def table(r):
    """Lay out each slice of each row."""
    rows = [[str(number), name, shown(TAU, number)[STANDARD], *(
        text for method in (STANDARD, SOD) for text in (
            brief(names[method]["tau"]), f"{np.exp(usual(names[method]).value):.3g}",
            f"{names[method]['cost']:.3g}")),
        f"{names[STANDARD]['updates'] / ROWS[number].d:.2f}",
        f"{np.exp(gain(r, number, name).value):.3g}", f"{1 / ROWS[number].ratio[SOD]:.3g}"]
        for number, each in r["rows"].items() for name, names in each.items()]
    ratios = ", ".join(f"{printed_time_ratio(number):.2f} for row {number} over {other}"
                       for number, other in PAIRS.items())
    return text_table(rows, ["row", "slice", "paper", "time", "window", "evaluations", "SOD time",
                             "window", "evaluations", "an update", "gain", "paper"]) + (
        "\n\nEvaluations of the standard sampler an update, as the CPU times of Table 3 imply:"
        f" {ratios}")


def figure(r):
    """Draw the times against w, and the gains."""
    fig, (left, right) = panels(1, 2, 4.2)
    how = dict(zip(ROWS, styles(len(ROWS), 5), strict=True))
    ranks = {number: k for k, number in enumerate(sorted(
        ROWS, key=lambda number: ROWS[number].tau[STANDARD]))}
    for number, each in r["rows"].items():
        for limit, line in zip(LIMITS, ("--", "-"), strict=True):
            points = [(w, name_of(w, limit)) for w in W if name_of(w, limit) in each]
            style = how[number] | {"ls": line, "marker": "s" if line == "-" else "o"}
            tau = [each[name][STANDARD]["tau"] for _, name in points]
            left.errorbar([w for w, _ in points], [m.value for m in tau],
                          [[min(2 * m.se, 0.9 * m.value) for m in tau], [2 * m.se for m in tau]],
                          label=f"data set {number}", **style)
            right.plot([w for w, _ in points], [np.exp(gain(r, number, name).value)
                                                for _, name in points], **style)
        left.axhline(ROWS[number].tau[STANDARD], color=how[number]["color"], lw=0.8, ls=":")
        left.annotate(f"{number}", (1, ROWS[number].tau[STANDARD]),
                      (3 + 13 * (ranks[number] % 2), 0), xycoords=("axes fraction", "data"),
                      textcoords="offset points", va="center", color=how[number]["color"])
    right.axhline(1.0, color="k", lw=0.6)
    left.set(xscale="log", yscale="log", xlabel="w", ylabel="autocorrelation time, standard")
    right.set(xscale="log", yscale="log", xlabel="w", ylabel="gain of SOD, in evaluations")
    for axis in (left.xaxis, left.yaxis, right.xaxis, right.yaxis):
        plain_log(axis)
    legend_below(fig, left, handles=[mark(f"limit {LIMITS[0]}", "k", "o", "--"),
                                     mark(f"limit {LIMITS[1]}", "k", "s", "-"),
                                     mark("the paper, by data set", "k", "", ":")], ncols=6)
    return fig


cases = "data set 0 of each row, simulated"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
