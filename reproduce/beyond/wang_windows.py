"""Wang and Neal (2013), Section 6.1: what a window of 1333 iterations says of a chain's time.

Not a figure of the paper.  Each autocorrelation time of Table 3 is one estimate from 1333
iterations.  Here is a chain of many such windows: the time that all of it shows, which is the
chain's where it is long enough, beside what the paper's estimator says of each window.

Run     python reproduce/beyond/wang_windows.py [--budget smoke|short|paper]
        Paper has 12 to 270 windows for a method of a row; short has rows 1, 2 and 4.
Writes  figures/wang_windows.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.harness.claims import Claim, Scan, brief, text_table
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import COLOURS, legend_below, mark, panels, plain_log, row_labels
from reproduce.wang.chains import NARROW, SLICES, WIDE
from reproduce.wang.long_chains import WINDOW, combine, long_chain, usual, warm
from reproduce.wang.printed import ARD, METHODS, NYSTROM, ROWS, SOD, STANDARD, TAU, TEMPERED, shown

NAME, WHAT = "wang_windows", "windows of 1333 iterations against long chains"
MINUTES = {"paper": 20, "short": 1.5, "smoke": 0.3}

# Our settings; the paper's are in wang/printed.py.  Rows 8 and 10, n = 900 and ARD, take days
PAPER_ROWS, SHORT_ROWS, SMOKE_ROWS = (1, 2, 3, 4, 5, 6, 7, 9), (1, 2, 4), (1, 9)
TWO_MODES, FAR_APART = 7, 9  # rows: of two modes; of a subset whose posterior lies elsewhere
WINDOWS = {STANDARD: 30, SOD: 30, TEMPERED: 20, NYSTROM: 6}  # of a chain
WINDOWS_ARD = 6
# else 2.  Two of the subset left it undecided, at 1.94 standard errors: (4 / 1.94)^2 times as many
CHAINS = {(TWO_MODES, STANDARD): 4, (TWO_MODES, SOD): 4, (FAR_APART, SOD): 9}
SMALL = 15  # cases, at the smoke budget
HIDES, TELLS = 1.5, 2.0  # factors: a window hides more, or tells within
WORK = {STANDARD: 1.0, SOD: 1.0, TEMPERED: 2.0, NYSTROM: 20.0}  # for the progress bar


def settings(number, method):
    """Return which slices a method of a row is run with."""
    both = ROWS[number].kind != ARD and method in (STANDARD, SOD)
    return (WIDE, NARROW) if both else (WIDE,)


def plan(budget):
    """Return (row, method, slice, windows, chains, cases) of everything that is run."""
    rows = {"paper": PAPER_ROWS, "short": SHORT_ROWS, "smoke": SMOKE_ROWS}[budget]
    found = []
    for number in rows:
        ard = ROWS[number].kind == ARD
        for method in METHODS[:2] if ard or budget == "short" else ROWS[number].methods:
            for name in settings(number, method):
                windows = WINDOWS_ARD if ard else WINDOWS[method]
                chains = CHAINS.get((number, method), 2)
                found.append((number, method, name, *{
                    "paper": (windows, chains, None), "short": (4, 2, None),
                    "smoke": (1, 2, SMALL)}[budget]))
    return found


def run(experiment, cases):
    """Return {row: {method: {slice: what together says}}}."""
    tasks, found = {}, {}
    for number, method, name, windows, chains, n in plan(experiment.budget):
        w, max_widths = SLICES[name]
        heavy = WORK[method] * windows * (ROWS[number].n / 300) * (20 if ROWS[number].kind == ARD
                                                                   else 1)
        tasks[number, method, name] = [dict(
            number=number, index=0, method=method, windows=windows, w=w, max_widths=max_widths,
            n=n, seed=[experiment.seed, number, chain], cost=heavy) for chain in range(chains)]
    done = replicates_by_key(experiment, long_chain, tasks, "chains", warm=warm)
    for (number, method, name), chains in done.items():
        found.setdefault(number, {}).setdefault(method, {})[name] = combine(chains)
    return {"rows": found}


def log_time_over_window(r, number, method, name):
    """Return log(the chain's time / what a window usually says)."""
    found = r["rows"][number][method][name]
    return found["log tau"] - usual(found)


def scan(r, number, method):
    """Return that with either slice."""
    names = tuple(r["rows"][number][method])
    return Scan(names, tuple(log_time_over_window(r, number, method, name) for name in names))


NO_WORD = "ours: the paper has one window of each, and no word of longer chains"
CLAIMS = [
    Claim(f"row {TWO_MODES}, standard: log(time / a window's)", NO_WORD,
          lambda r: scan(r, TWO_MODES, STANDARD), np.log(HIDES), np.inf,
          "order: more than the factor 1.5 by which good windows may differ.  This posterior has a"
          " second mode, in which all is noise, and a window seldom sees both", "ours",
          budgets=("paper",)),
    Claim(f"row {FAR_APART}, SOD: log(time / a window's)", NO_WORD,
          lambda r: log_time_over_window(r, FAR_APART, SOD, WIDE), np.log(HIDES), np.inf,
          "order: more than a factor of 1.5.  Where the subset's posterior does not reach, the"
          " chain goes seldom, and stays long", "ours", budgets=("paper",)),
    *[Claim(f"row {number}, standard, {name}: log(time / a window's)", NO_WORD,
            lambda r, number=number, name=name: log_time_over_window(r, number, STANDARD, name),
            -np.log(TELLS), np.log(TELLS), "a window of 1333 tells the time within a factor of two,"
            " where that is well below 1333 and there is one mode", "ours",
            budgets=("short", "paper") if number in SHORT_ROWS else ("paper",))
      for number in PAPER_ROWS if number not in (2, TWO_MODES)  # where one mode is all noise
      for name in settings(number, STANDARD)],
]


def table(r):
    """Lay out the time of each chain, and what windows say."""
    rows = []
    for number, methods in r["rows"].items():
        for method, names in methods.items():
            for name, found in names.items():
                low, middle, high = np.quantile(found["windows"], (0.05, 0.5, 0.95))
                rows.append([str(number), method, name, shown(TAU, number)[method],
                             brief(found["tau"]), f"{middle:.3g}", f"{low:.3g} to {high:.3g}",
                             str(len(found["windows"])),
                             f"{np.exp(log_time_over_window(r, number, method, name).value):.2f}",
                             f"{found['noise']:.3f}"])
    return text_table(rows, ["row", "method", "slice", "paper", "time", "window", "nine in ten",
                             "windows", "time / window", "sigma > eta"])


def figure(r):
    """Draw the windows, the chain's time and the paper's, for each row and method."""
    labels_of = {name: [(number, method) for number, methods in r["rows"].items()
                        for method, names in methods.items() if name in names]
                 for name in SLICES}
    fig, axes = panels(1, 2, 1.6 + 0.21 * max(map(len, labels_of.values())), sharex=True)
    for ax, (name, labels) in zip(axes, labels_of.items(), strict=True):
        for k, (number, method) in enumerate(labels):
            found, colour = r["rows"][number][method][name], COLOURS[METHODS.index(method)]
            spread = np.linspace(-0.25, 0.25, len(found["windows"]))
            ax.plot(found["windows"], k + spread, ".", color=colour, ms=3, alpha=0.6)
            tau = found["tau"]
            ax.errorbar(tau.value, k, xerr=[[min(2 * tau.se, 0.9 * tau.value)], [2 * tau.se]],
                        fmt="|", ms=11, mew=2, color="k")
            ax.plot(float(shown(TAU, number)[method]), k, "D", mfc="none", mec="k", ms=5)
        row_labels(ax, [f"{number} {method}" for number, method in labels])
        ax.set(xscale="log", title=name, xlabel="autocorrelation time of the log likelihood")
        plain_log(ax.xaxis, (1, 3))
    legend_below(fig, handles=[
        *(mark(f"{method}, windows of {WINDOW}", colour, ".")
          for method, colour in zip(METHODS, COLOURS, strict=False)),
        mark("all windows together, 2 s.e.", "k", "|", ms=11, mew=2),
        mark("the paper", "k", "D", mfc="none")], ncols=3)
    return fig


cases = "data set 0 of each row, simulated"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
