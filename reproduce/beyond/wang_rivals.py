"""Beside Wang and Neal (2013): what others take for a draw of the same hyperparameters.

Ours, not the paper's.  The paper compares its methods with slice sampling alone.  Here stand beside
them a random walk with a fitted covariance, delayed acceptance with a subset, surrogate transitions
with four approximations of the same size, HMC and NUTS with the exact gradient, and, where there is
one length, eigenvalues of the kernel with dragging of sigma and eta.  The cost of an effective draw
is in evaluations of the posterior, the worst of all quantities and their squares (wang/rivals.py).
Each method has the best of three settings, by a scan.  Chains that are too short, or have been in
different places, are not trusted; the others must agree on all means, or the row of the table is
void.  NUTS takes the extra `nuts`; what is stored is shown without.

Run     python reproduce/beyond/wang_rivals.py [--budget smoke|short|paper]
        Short has three of the ten data sets, smoke all with 30 cases.
Writes  figures/wang_rivals.png, .txt (table and claims), .json
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.beyond.rivals.moments import scale_log
from reproduce.beyond.rivals.nuts import library
from reproduce.harness.claims import Claim, Measured, brief, mean, text_table
from reproduce.harness.style import legend_below, log_bar, panels, plain_log, row_labels, styles
from reproduce.wang.printed import ARD, ISOTROPIC, METHODS, NYSTROM, ROWS, SOD, STANDARD, TEMPERED
from reproduce.wang.rivals import (
    APART,
    ASKS_GRADIENTS,
    DELAYED,
    DRAGGING,
    ENOUGH,
    HMC,
    NUTS,
    PILOT,
    RIVALS,
    SCANNED,
    SURROGATE,
    WALK,
    combine,
    disagreement,
    is_trusted,
    log_per_draw,
    methods,
    operations,
    prices,
    rival_chain,
    seconds_of,
)

NAME, WHAT = "wang_rivals", "rivals of the samplers for a regression's hyperparameters"
MINUTES = {"paper": 100, "short": 2, "smoke": 0.5}

# The paper's settings are with its numbers, in wang/printed.py: m of each method

# Our settings
NUMBERS = {"paper": tuple(ROWS), "short": (1, 4, 5), "smoke": tuple(ROWS)}
SMALL = {"smoke": 30}  # cases, in place of the paper's
CHAINS = {"paper": {300: 5, 900: 5}, "short": {300: 2}, "smoke": {300: 2, 900: 2}}
# about how many evaluations of the posterior a chain may take: where it is fast, and elsewhere
WORK = {"paper": {300: (40_000, 6000), 900: (10_000, 3000)}, "short": {300: (3000, 600)},
        "smoke": {300: (200, 60), 900: (200, 60)}}
SCAN = 0.25  # of the work, for each of the three settings
LEAST = 10  # iterations
TIMED = {"paper": (5, 5), "short": (3, 3), "smoke": (1, 1)}  # rounds, evaluations
ONE_SUM = 2  # the row whose data identify eta^2 + sigma^2 alone
MAPPINGS = (DELAYED, *SURROGATE)  # the paper's mapping, r = 1 and s = k, with a walk for R
# what R gives, and what the mapping gives to either R: with which methods, in the place of which
PARTS = {"R": ((STANDARD,), (WALK,)), "mapping of slices": ((STANDARD,), (SOD,)),
         "mapping of the walk": ((WALK,), (DELAYED, "surrogate"))}  # both with the subset
LOW_RANK = [method for method in SURROGATE if SURROGATE[method] != SOD]


# The work


def run(experiment, cases):
    """Return {row: {"found": {method: Together}, "costs": prices, "z", "unit": seconds}}."""
    budget, result = experiment.budget, {}
    n, numbers = SMALL.get(budget), NUMBERS[budget]
    scans = {(number, method): [task(budget, experiment.seed, number, method, setting, SCAN, k)
                                for k, setting in enumerate(SCANNED[method])]
             for number in numbers for method in methods(number)}
    tried = run_chains(experiment, scans, "scans")
    chosen = {(number, method): SCANNED[method][int(np.argmin(
        [log_per_draw([each], operations(number, each["counts"].keys(), n)).value
         for each in found]))] for (number, method), found in tried.items()}
    chains = {(number, method): [
        task(budget, experiment.seed, number, method, setting, 1.0, 100 + k)
        for k in range(CHAINS[budget][ROWS[number].n])]
        for (number, method), setting in chosen.items()}
    done = run_chains(experiment, chains, "chains")
    rounds, times = TIMED[budget]
    for number in numbers:  # one after the other: no two clocks at once
        (timed,) = experiment.replicates(seconds_of, [dict(
            number=number, index=0, rounds=rounds, times=times, n=n)], "timings", warm=warm)
        costs = prices(timed)
        found = {method: combine(done[number, method], costs, chosen[number, method])
                 for method in methods(number)}
        result[number] = {"found": found, "costs": costs, "z": disagreement(found),
                          "unit": float(np.median(timed["seconds"]["trial"]))}
    return result


def run_chains(experiment, tasks, unit):
    """Run {key: tasks of rival_chain}; return {key: what they gave}."""
    done = iter(experiment.replicates(
        rival_chain, [each for some in tasks.values() for each in some], unit, warm=warm))
    return {key: [next(done) for _ in some] for key, some in tasks.items()}


def task(budget, seed, number, method, setting, share, k):
    """Return a chain's task: as many iterations as its work allows, by a guess of their cost."""
    row = ROWS[number]
    fast, slow = WORK[budget][row.n]
    is_fast = row.kind == ISOTROPIC and method not in (*ASKS_GRADIENTS, *LOW_RANK, NYSTROM)
    work = share * (fast if is_fast else slow)
    iterations = max(round(work / guess(row, method, setting)), LEAST)
    return dict(number=number, index=0, method=method, setting=setting, iterations=iterations,
                seed=[seed, number, [*METHODS, *RIVALS].index(method), k], n=SMALL.get(budget),
                cost=work * (1 if is_fast else 10) * (row.n / 300) ** 2)


def guess(row, method, setting):
    """Return about how many evaluations of the posterior an iteration takes."""
    part = row.m[SOD] / row.n
    return {STANDARD: 5.5 * row.d, SOD: row.d * (1 + 5 * part**2), NYSTROM: 2 * row.d,
            TEMPERED: 2 * row.d, WALK: 1, DELAYED: 0.5, NUTS: 20, DRAGGING: 12,
            HMC: 3 * setting[1] if method == HMC else 0}.get(
        method, 1 + (part**2 if method not in LOW_RANK else 2 * part) * np.max(setting))


def warm():
    """Compile everything in this process, before others start."""
    library()
    for number, n in ((1, 12), (3, 12)):
        seconds_of(number, 0, 1, 1, n)
        for method in methods(number):
            rival_chain(number, 0, method, SCANNED[method][0], LEAST, [0], n)


# The claims


def disagree(row):
    """Tell whether the methods of a row do not agree."""
    return row["z"].value > 4


def log_cost_ratio(r, number):
    """Return log(cost of a draw of the paper's best method / of the best rival)."""
    row = r[number]
    return Measured(np.nan) if disagree(row) else cost(row, METHODS) - cost(row, RIVALS)


def gains(r, part):
    """Return {row: log(cost of a draw before / after)} of one of PARTS, where all are trusted."""
    found = {number: cost(row, PARTS[part][0]) - cost(row, PARTS[part][1])
             for number, row in r.items() if not disagree(row)}
    return {number: gain for number, gain in found.items() if not np.isnan(gain.value)}


def mean_gain(r, part):
    """Return the mean of the gains over data sets, whose luck is in its standard error."""
    return mean([gain.value for gain in gains(r, part).values()])


AGAIN = ("to be run again, on several data sets of each kind: more chains on one would decide about"
         " that one")
CLAIMS = [
    *[Claim(f"row {number}: log(cost of a draw, the paper's best / the best rival)",
            "ours: a rival takes less", lambda r, number=number: log_cost_ratio(r, number), 0.0,
            np.inf,
            "order, set-up apart; on one data set, and the best of nine or ten rivals beside that"
            " of two to four methods", "ours", budgets=("paper",), undecided=AGAIN)
      for number in ROWS if number != ONE_SUM],
    Claim(f"row {ONE_SUM}: log(cost of a draw, the best rival / the paper's best)",
          "ours: no covariance fits where only a sum is identified",
          lambda r: -log_cost_ratio(r, ONE_SUM), 0.0, np.inf, "order, as of the others", "ours",
          budgets=("paper",), undecided=AGAIN),
    *[Claim(f"row {number}: largest |z| of a method's means against the others'",
            "ours: they agree", lambda r, number=number: r[number]["z"], 0.0, 4.0,
            "means of all quantities: the |z| of one normal that is as improbable", "ours",
            budgets=("short", "paper") if number in NUMBERS["short"] else ("paper",))
      for number in ROWS],
    *[Claim(f"mean over data sets: log(cost of a draw without / with), {part}", "ours: it takes"
            " less", lambda r, part=part: mean_gain(r, part), 0.0, np.inf, "order; derived from"
            " the runs of the rows, after they had been seen; the standard error is that of the"
            " scatter over data sets of ten kinds", "ours", budgets=("paper",),
            undecided="it takes more data sets of each kind") for part in PARTS],
]


def cheapest_method(found, among):
    """Return the method of the least cost."""
    return min((m for m in found if m in among and is_trusted(found[m])),
               key=lambda m: found[m].log_cost.value, default=None)


def table(r):
    """Lay out the cost of a draw by method and row, and of each chain's set-up."""
    lines = []
    for number, row in r.items():
        chains = row["found"]
        for method, estimates in chains.items():
            mark = ("*" if method == cheapest_method(chains, METHODS) else "**" if method
                    == cheapest_method(chains, RIVALS)
                    else "" if is_trusted(estimates) else " (not trusted)")
            lines.append([f"{number}{' VOID' * disagree(row)}", f"{method}{mark}",
                          f"{np.exp(estimates.log_cost.value):.3g}", brief(estimates.log_cost),
                          f"{estimates.draws:.0f}", f"{estimates.r_hat:.2f}",
                          f"{estimates.setup:.0f}", f"{estimates.accepted:.2f}",
                          str(estimates.setting)])
    summary = [[f"{number}{' VOID' * disagree(row)}", ROWS[number].kind, ROWS[number].p,
                ROWS[number].n, *(name_and_cost(row, which) for which in (METHODS, RIVALS)),
                brief(scale_log(cost(row, METHODS) - cost(row, RIVALS), 1.0)),
                break_even_draws(row),
                f"{row['z'].value:.1f}"]
               for number, row in r.items()]
    units = [[number, f"{1000 * row['unit']:.3g} ms",
              *(f"{row['costs'].get(what, np.nan):.3g}" for what in PRICED)]
             for number, row in r.items()]
    less = [number for number in r if log_cost_ratio(r, number).value > 0]
    apart = [[part, *(brief(scale_log(found[number], 1.0)) if number in found else ""
                      for number in r), brief(scale_log(mean_gain(r, part), 1.0))]
             for part in PARTS for found in [gains(r, part)]]
    return "\n\n".join([
        text_table(summary, ["row", "lengths", "p", "n", "the paper's best", "the best rival",
                             "ratio", "paid after", "|z|"]),
        f"The best rival takes less in {len(less)} rows; in"
        f" {sum(cheapest_method(r[number]['found'], RIVALS) in MAPPINGS for number in less)} of"
        f" them it is the"
        " paper's mapping with a fitted walk for R.\nIts set-up is paid after so many effective"
        " draws; the paper's methods have none",
        "What the walk with a fitted covariance gives in the place of slices, and what the paper's"
        " mapping with a subset\ngives to either: cost of a draw without / with, by data set where"
        " all are trusted, and the geometric mean",
        text_table(apart, ["gain by", *(f"row {number}" for number in r), "mean"]),
        "Evaluations of the posterior for an effective draw (* the paper's best, ** the best"
        " rival); draws of\nall chains; set-up of a chain; the setting that the scan chose.  Not"
        f" trusted: fewer than\n{ENOUGH} draws, an R-hat of {APART} or more, or something that"
        " never moved",
        text_table(lines, ["row", "method", "a draw", "its log", "draws", "R-hat", "set-up",
                           "accepted", "setting"]),
        "Costs of single evaluations: that of the posterior after a change of one variable, in CPU"
        " time, is 1",
        text_table(units, ["row", "1 is", *PRICED])])


PRICED = ("scratch", "gradient", *(f"scratch {which}" for which in SURROGATE.values()),
          "decomposition", "fast")


def cost(row, among):
    """Return the least log cost of a draw, a Measured; nan if nothing is trusted."""
    method = cheapest_method(row["found"], among)
    return Measured(np.nan) if method is None else row["found"][method].log_cost


def break_even_draws(row):
    """Return after how many draws the set-up of the best rival is paid; "never" if it is not."""
    method = cheapest_method(row["found"], RIVALS)
    saved = np.exp(cost(row, METHODS).value) - np.exp(cost(row, RIVALS).value)
    if np.isnan(saved):
        return ""
    return f"{row['found'][method].setup / saved:.0f}" if saved > 0 else "never"


def name_and_cost(row, among):
    """Return the name of the method of the least cost, and that cost."""
    method = cheapest_method(row["found"], among)
    return f"{method} {np.exp(cost(row, among).value):.3g}" if method else "none is trusted"


def figure(r):
    """Draw the cost of a draw by each method that is trusted, a panel for each kind of lengths."""
    shown = [*METHODS, *RIVALS]
    fig, axes = panels(1, 2, 2.2 + 0.36 * len(shown), sharey=True)
    how = dict(zip(ROWS, styles(len(ROWS), 5), strict=True))
    for ax, kind in zip(axes, (ISOTROPIC, ARD), strict=True):
        numbers = [number for number in r if ROWS[number].kind == kind]
        for k, number in enumerate(numbers):
            found = r[number]["found"]
            here = [method for method in shown if method in found and is_trusted(found[method])]
            if not here:
                continue
            logs = [found[method].log_cost for method in here]
            middle, ends = log_bar(*np.nan_to_num(np.transpose(logs)))
            at = [shown.index(method) + 0.13 * (k - len(numbers) / 2 + 0.5) for method in here]
            ax.errorbar(middle, at, xerr=ends, label=f"row {number}, n = {ROWS[number].n}"
                        + " (void)" * disagree(r[number]), **how[number] | {"ls": ""})
        ax.axhline(len(METHODS) - 0.5, color="0.7", lw=0.8)
        ax.set(xscale="log", title=f"{kind} lengths", xlabel="evaluations of the posterior"
               " for a draw (2 s.e.)")
        plain_log(ax.xaxis, (1, 3))
    row_labels(axes[0], shown)
    legend_below(fig, *axes)
    fig.suptitle("Above the line the paper's methods; set-up costs are apart "
                 rf"({PILOT[0]} $\times$ {PILOT[1]} evaluations of a pilot; of {NUTS} gradients)")
    return fig


def cases(settings):
    """Say what it runs on."""
    return "data set 0 of each row, simulated"


STUDY = Study(name=NAME, what=WHAT, minutes=MINUTES, doc=__doc__, cases=cases, run=run,
              claims=CLAIMS, table=table, figure=figure)

if __name__ == "__main__":
    main(STUDY)
