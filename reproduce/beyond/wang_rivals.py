"""Beside Wang and Neal (2013): what others take for a draw of the same hyperparameters.

Ours, not the paper's.  The paper's mapping has two parts: a chain R, along whose states a mark
moves, and an approximation pi* that R leaves invariant.  Both stand side by side here, on five data
sets of each kind: slice sampling, its mapping with a subset, a random walk whose covariance a pilot
has fitted, and the mapping of this walk.  On the first data set of a kind stand beside them
Nystrom-Cholesky and tempering, surrogate transitions with four approximations of the same size, HMC
and our NUTS with the exact gradient, and, where there is one length, dragging, which moves sigma
and eta cheaply by eigenvalues of the kernel.  With 900 cases, kinds 6, 7 and 9, only the methods
are run that eigenvalues make fast; kind 8, which has many lengths, has the first four, on FEWER
data sets, because one takes about an hour.  Kind 10, with more lengths, is left out.

The cost of an effective draw is in evaluations of the posterior (wang/rivals.py).  Each method but
NUTS has the best of three settings, by pilots on the first data set of a kind.  A row is compared
if rivals/moments.py and, where there is one length, quadrature (wang/quadrature.py) believe it.

Run     python reproduce/beyond/wang_rivals.py [--budget smoke|short|paper]
        Short has three kinds and two data sets, smoke the first five kinds with 30 cases.
Writes  figures/wang_rivals.png, .txt (table and claims), .json
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from reproduce.beyond.rivals.moments import as_one, distance_of_rows, halves_apart, scale_log
from reproduce.beyond.rivals.rows import CHAINS, TAKEN, pick, table_of_rows
from reproduce.harness.claims import Claim, Measured, average, brief, mean, text_table
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import legend_below, log_bar, panels, plain_log, row_labels, styles
from reproduce.wang import quadrature, rivals
from reproduce.wang.printed import ISOTROPIC, METHODS, NYSTROM, ROWS, SOD, STANDARD, TEMPERED
from reproduce.wang.rivals import DELAYED, DRAGGING, HMC, NUTS, RIVALS, SURROGATE, WALK

NAME, WHAT = "wang_rivals", "rivals of the samplers for a regression's hyperparameters"
MINUTES = {"paper": 305, "short": 2, "smoke": 0.5}

# Our settings; the paper's are with its numbers, in wang/printed.py: m of each method
KINDS = {"paper": (1, 2, 3, 4, 5, 6, 7, 8, 9), "short": (1, 4, 5), "smoke": (1, 2, 3, 4, 5)}
DATA = {"paper": 5, "short": 2, "smoke": 2}  # data sets of each kind
FEWER = {8: 4}  # and of one that is slow, as many as there was time for
SMALL = {"smoke": 30}  # cases, in place of the paper's
AIM = {"paper": 160, "short": 25, "smoke": 5}  # effective draws of a chain, by its pilot
# evaluations of the posterior that a chain may take at most, about: where it is fast; elsewhere, by
# the methods of CORE and by others
MOST = {"paper": (200_000, 60_000, 15_000), "short": (4000, 800, 800), "smoke": (200, 60, 60)}
SCANNING = {"paper": (30_000, 8000, 8000), "short": (2000, 400, 400), "smoke": (100, 40, 40)}
LEAST = 20  # iterations
TIMED = {"paper": (5, 5), "short": (3, 3), "smoke": (1, 1)}  # rounds, evaluations
CORE = (STANDARD, SOD, WALK, DELAYED)  # on all data sets
ALIKE = 5  # kind 6 has 900 cases of what kind 1 has 300 of, 7 of 2 and so on
# what is put in the place of what; of the two mappings with a walk for R the one whose moves are
# r = s = 1, which the paper finds best for its own
PARTS = {"walk in place of slices": (STANDARD, WALK), "mapping of slices": (STANDARD, SOD),
         "mapping of the walk": (WALK, DELAYED)}
OTHERS = (NYSTROM, TEMPERED, *SURROGATE, HMC, NUTS, DRAGGING)


class Rivals(NamedTuple):
    """What is computed."""

    rows: dict  # {(kind, data set, method): its row, of moments.row_of, with setting and "before"}
    costs: dict  # {kind: prices}
    units: dict  # {kind: seconds of an evaluation}


def run(experiment, cases):
    """Choose settings and lengths by pilots, run the rows and time evaluations: Rivals."""
    budget, seed = experiment.budget, experiment.seed
    n, kinds = SMALL.get(budget), KINDS[budget]

    def task(number, method, setting, iterations, place, **more):
        return dict(number=number, method=method, setting=setting, iterations=iterations, n=n,
                    seed=[seed, number, [*METHODS, *RIVALS].index(method), place],
                    cost=iterations * rivals.guess(number, method, setting) * (
                        1 if rivals.is_fast(number, method) else 10)
                    * more.get("chains", 1), **more)

    wanted = [(number, index, method) for number in kinds for index in range(sets(budget, number))
              for method in shown(number, index)]
    settings = {(number, method): rivals.SCANNED[method] for number, index, method in wanted
                if index == 0}
    pilots = replicates_by_key(experiment, rivals.pilot_chain, {key: [
        task(*key, setting, longest_chain(SCANNING[budget], *key, setting), 100 + k)
        for k, setting in enumerate(some)] for key, some in settings.items()}, "pilots", warm=warm)
    chosen = {key: pick(some, pilots[key]) for key, some in settings.items()}
    lengths = {}
    for number, index, method in wanted:
        setting, key = chosen[number, method], (number, method)
        found = pilots[key][settings[key].index(setting)]["per iteration"]
        needed = AIM[budget] / (1 - rivals.BURN_IN) / max(found, 1e-9)
        lengths[number, index, method] = max(
            round(min(needed, longest_chain(MOST[budget], *key, setting))), LEAST)

    def run_rows(lengths, place):
        return dict(zip(lengths, experiment.replicates(rivals.row_of_chains, [
            task(number, method, chosen[number, method], n, place + index, index=index,
                 chains=CHAINS) for (number, index, method), n in lengths.items()],
            "rows", warm=warm), strict=True))

    rows = run_rows(lengths, 0)
    rows |= run_rows({key: round(lengths[key] * rivals.longer(found)) for key, found in rows.items()
                      if rivals.longer(found) > 1}, 200)
    costs, units = {}, {}
    rounds, times = TIMED[budget]
    for number in kinds:  # one after the other: no two clocks at once
        (timed,) = experiment.replicates(rivals.seconds_of, [dict(
            number=number, index=0, rounds=rounds, times=times, n=n)], "timings", warm=warm)
        costs[number], units[number] = rivals.prices(timed), timed["seconds"]["trial"]
    priced = {(number, index, method): rivals.row_at_prices(
        found, pilots[number, method], chosen[number, method], costs[number], units[number])
        for (number, index, method), found in rows.items()}
    return Rivals(quadrature.judge_rows(experiment, priced, n), costs, units)


def sets(budget, number):
    """Return the number of data sets of a kind."""
    return FEWER.get(number, DATA[budget])


def shown(number, index):
    """Return the methods that are run on a data set: with 900 cases those of CORE or fast ones."""
    found = rivals.methods(number) if index == 0 else CORE
    return [method for method in found if ROWS[number].n == 300 or method in CORE
            or rivals.is_fast(number, method)]


def longest_chain(work, number, method, setting):
    """Return how many iterations take about as many evaluations as MOST or SCANNING say."""
    place = 0 if rivals.is_fast(number, method) else 1 if method in CORE else 2
    return max(round(work[place] / rivals.guess(number, method, setting)), LEAST)


def warm():
    """Compile everything in this process, before others start."""
    for number, n in ((1, 12), (3, 12)):
        rivals.seconds_of(number, 0, 1, 1, n)
        for method in rivals.methods(number):
            rivals.pilot_chain(number, method, rivals.SCANNED[method][0], LEAST, [0], n)


def log_cost(row):
    """Return the log of the evaluations for an effective draw of the worst quantity."""
    return -row["per gradient"]


def mean_of_known(logs):
    """Return the mean of the logs that are known, with the error of their scatter, a Measured."""
    values = [each.value for each in logs if not np.isnan(each.se)]
    return mean(values) if values else Measured(np.inf, np.nan)


def gain(r, number, before, after):
    """Return log(cost of a draw of one method / of another), the mean over data sets of a kind."""
    return mean_of_known(log_cost(row) - log_cost(r.rows[*key[:2], after])
                         for key, row in r.rows.items() if (key[0], key[2]) == (number, before))


def mean_gain(r, before, after):
    """Return the mean of gain over the kinds of which it is known."""
    return mean_of_known(gain(r, number, before, after) for number in r.costs)


def ahead_of_others(r, other):
    """Return log(cost of a draw, `other` / the walk mapped), the mean over first data sets."""
    return mean_of_known(log_cost(row) - log_cost(r.rows[*key[:2], DELAYED])
                         for key, row in r.rows.items() if key[1:] == (0, other))


def distance_to_walk(r, number):
    """Return how far rows of a kind are from those of the walk on the same data, all as one |z|."""
    found = [distance_of_rows(row, r.rows[*key[:2], WALK]) for key, row in r.rows.items()
             if key[0] == number and key[2] != WALK]
    known = [each.value for each in found if not np.isnan(each.se)]
    return Measured(as_one(max(known), len(known)), 0.0) if known else Measured(np.inf, np.nan)


MORE = "chains of more data sets would decide"
CLAIMS = [
    *[Claim(f"{number}: mean over data sets: log(cost of a draw without / with), {part}",
            "ours: it takes less", lambda r, number=number, pair=pair: gain(r, number, *pair), 0.0,
            np.inf, "order, of the rows that are believed; set-up apart", "ours",
            budgets=("paper",), undecided=MORE)
      for part, pair in PARTS.items() for number in KINDS["paper"]],
    *[Claim(f"mean over kinds: log(cost of a draw without / with), {part}", "ours: it takes less",
            lambda r, pair=pair: mean_gain(r, *pair), 0.0, np.inf, "order; the standard error is"
            " that of the scatter over the kinds of data", "ours", budgets=("paper",),
            undecided=MORE) for part, pair in PARTS.items()],
    *[Claim(f"mean over kinds: log(cost of a draw, {other} / {DELAYED})", "ours: mapping of the"
            " walk takes less", lambda r, other=other: ahead_of_others(r, other), 0.0, np.inf,
            "order, on the first data sets where both are believed; the error is that of the"
            " scatter", "ours", budgets=("paper",), undecided=MORE) for other in OTHERS],
    *[Claim(f"{number}: largest |z| against the {WALK}, adjusted", "ours: they agree",
            lambda r, number=number: distance_to_walk(r, number), 0.0, 4.0,
            "means and standard deviations of all quantities, on all data sets: 4 standard errors"
            " of one number.  Chains that are not believed are compared with none", "ours",
            budgets=("paper",)) for number in KINDS["paper"]],
    *quadrature.claims(),
    Claim("largest |z| between two chains and the other two of a row, adjusted", "ours",
          lambda r: halves_apart(r.rows.values()), 0, 4, "the same method against itself, in all"
          " rows that are believed: whether errors are as large as they are said to be", "ours",
          budgets=("paper",)),
]


def paid_after(r, number, method):
    """Return after how many draws what was before a method's chains is paid, beside slices."""
    row, slices = (r.rows[number, 0, name] for name in (method, STANDARD))
    saved = np.exp(log_cost(slices).value) - np.exp(log_cost(row).value)
    if not (row["believed"] and slices["believed"]):
        return ""
    return f"{(row['before'] - slices['before']) / saved:.0f}" if saved > 0 else "never"


def table(r):
    """Lay out what is gained, the costs of draws and what was before them, and the prices."""
    gains = [[part, *(factor(gain(r, number, *pair)) for number in r.costs),
              factor(mean_gain(r, *pair))] for part, pair in PARTS.items()]
    paid = [[f"{method}, paid after", *(paid_after(r, number, method) for number in r.costs), ""]
            for method in (WALK, DELAYED)]
    units = [[number, f"{1000 * np.median(r.units[number]):.3g} ms",
              *(f"{costs.get(what, np.nan):.3g}" for what in PRICED)]
             for number, costs in r.costs.items()]
    settings = [[method, *(str(row["setting"]) if (row := r.rows.get((number, 0, method))) else ""
                           for number in r.costs)] for method in (*METHODS, *RIVALS)]
    return "\n\n".join([
        "What the walk with a fitted covariance gives in the place of slices, and what the paper's"
        " mapping with a subset\ngives to either: cost of a draw without / with, geometric means"
        " over the data sets of a kind where both rows are\nbelieved, and over kinds.  Below: after"
        " how many effective draws, on the first data set, the pilots and set-up of\nthe four"
        " chains are paid, beside slice sampling",
        text_table([*gains, *paid], ["", *(f"kind {number}" for number in r.costs), "mean"]),
        "Four chains a row; a kind, and a data set of it.  Work, of a draw, is in evaluations of"
        " the posterior after a\nchange of one variable; before: that of pilots, warm-up and"
        " set-up.  A row is believed with R-hat at most 1.01\nand effective sample sizes of 400"
        " (divergences are shown, not judged); then it has its effective draws of the worst\n"
        "quantity, of means or variances, per 1000 units and per CPU second of such evaluations",
        table_of_rows({(f"{number}, {index}", method): row
                       for (number, index, method), row in r.rows.items()}),
        quadrature.table(r.rows),
        f"{TAKEN}:\nw of slices, factor of 2.38 / sqrt d of walks, steps on pi* for one of pi of"
        " surrogates, (step size, steps)\nof HMC, target of NUTS, factor of dragging",
        text_table(settings, ["", *(f"kind {number}" for number in r.costs)]),
        "Costs of single evaluations: that of the posterior after a change of one variable, in CPU"
        " time, is 1;\nscratch: after a change of all; gradient: with the density; decomposition:"
        " into eigenvalues; fast: by them",
        text_table(units, ["kind", "1 is", *PRICED])])


PRICED = ("scratch", "gradient", *(f"scratch {which}" for which in SURROGATE.values()),
          "decomposition", "fast")


def factor(m):
    """Return a factor whose log is m, as a table has it; nothing if it is not known."""
    return "" if np.isnan(m.se) else brief(scale_log(m, 1.0))


def costs_of(r, number, method):
    """Return the log cost of a draw on average over the believed data sets of a kind, or None."""
    found = [log_cost(row) for key, row in r.rows.items()
             if (key[0], key[2]) == (number, method) and row["believed"]]
    return average(found) if found else None


def figure(r):
    """Draw the cost of a draw by each method: panels of one length, of many, and of more cases."""
    rows, sorts = [*METHODS, *RIVALS], {}
    for number in r.costs:
        sort = ("more cases" if number > ALIKE else
                "one length" if ROWS[number].kind == ISOTROPIC else "many lengths")
        sorts.setdefault(sort, []).append(number)
    fig, axes = panels(1, len(sorts), 2.2 + 0.36 * len(rows), sharey=True)
    how = styles(ALIKE, ALIKE)
    for ax, (sort, numbers) in zip(axes, sorts.items(), strict=True):
        ax.set(xscale="log", xlabel="evaluations for a draw (2 s.e.)",
               title=f"{sort}, kinds {', '.join(map(str, numbers))}")
        for k, number in enumerate(numbers):
            costs = {y + 0.11 * (k - len(numbers) / 2 + 0.5): costs_of(r, number, method)
                     for y, method in enumerate(rows) if (number, 0, method) in r.rows}
            found = {y: m for y, m in costs.items() if m is not None}
            middle, ends = log_bar(*np.transpose([*found.values()] or np.empty((0, 2))))
            alike, style = (number - 1) % ALIKE, how[(number - 1) % ALIKE] | {"ls": ""}
            ax.errorbar(middle, [*found], xerr=ends, **style, label="kind " + " or ".join(
                str(each) for each in r.costs if (each - 1) % ALIKE == alike))
            lost = [y for y, m in costs.items() if m is None]
            ax.plot(np.full(len(lost), 0.98), lost, transform=ax.get_yaxis_transform(),
                    **style | {"mfc": "white"})
        ax.axhline(len(METHODS) - 0.5, color="0.7", lw=0.8)
        plain_log(ax.xaxis, (1,))
    row_labels(axes[0], rows)
    legend_below(fig, *axes)
    rounds, each = rivals.PILOT
    fig.suptitle("Above the line the paper's methods; open, at the right: not believed on any data"
                 f" set\nset-up costs are apart: {rounds} pilots of {each} evaluations ({NUTS}: of"
                 " gradients)")
    return fig


def cases(settings):
    """Say what it runs on."""
    fewer = [f"{n} of kind {number}" for number, n in FEWER.items()
             if number in KINDS[settings.budget]]
    return ", ".join([f"{DATA[settings.budget]} data sets of each kind", *fewer, "simulated"])


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
