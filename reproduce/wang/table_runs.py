"""The cells of Tables 2 and 3 of Wang and Neal (2013): what is run for them, and what it gives.

A cell is a data set of the tables and a method.  It is measured with every one of SETTINGS, of
which none is in print: what an iteration of a mapping is, and the slices.  T is the autocorrelation
time of the log likelihood times the cost of an iteration; a gain is log(T_STD / T of the method).

The paper's numbers are those of one chain on one data set.  So the standard error of ours, which
are means of logs over data sets, includes how much data sets differ (`luck`): that of theirs, and
of ours.  How far a time that is estimated from one chain of theirs is off, `noise`, is another
matter: it goes into the intervals of the claims.
"""

from itertools import permutations

import numpy as np

from reproduce.harness.claims import Measured
from reproduce.harness.replicates import Experiment
from reproduce.wang.chains import SLICES, UNITS, WIDE, chain, clock, costs, evaluations, warm
from reproduce.wang.printed import ITERATIONS, KEPT, METHODS, NYSTROM, ROWS, SOD, STANDARD

STORE = "wang_table2"  # whose replicates they are
SETTINGS = {f"{unit}, {name}": (unit, name) for name in SLICES for unit in UNITS}
MAIN = f"{UNITS[0]}, {WIDE}"
SMALL = {"smoke": 40}  # cases at that budget, in place of the paper's
LENGTH = {"paper": ITERATIONS, "short": 300, "smoke": 15}
NUMBERS = {"paper": tuple(ROWS), "short": (1, 2, 3, 4, 5), "smoke": tuple(ROWS)}
TIMED = {"paper": (10, 10), "short": (3, 5), "smoke": (2, 2)}  # rounds, iterations
COSTS = ("evaluations", "seconds")
ESTIMATORS = ("first", "literal", "geyer")  # of an autocorrelation time
COMPARED = (SOD, NYSTROM)  # methods of the 16 cells that are pooled
WINDOW = int(KEPT * ITERATIONS)


def chains(budget, number, unit, name):
    """Return the data sets of which chains are run, each as often as it stands there."""
    if budget != "paper":
        return [0, 1] if (unit, name) == (UNITS[0], WIDE) else [0]
    small = ROWS[number].n == 300
    if (unit, name) == (UNITS[0], WIDE):
        further = 8 if small else 1 if number in (8, 10) else 3
        return [0] * (10 if small else 4) + [*range(1, 1 + further)]
    return [0] * (4 if small and unit == UNITS[0] else 2)


def tasks(budget, seed, number):
    """Return {(setting, method): tasks of `chain`} of a row, the standard's for "variable" only."""
    found, row = {}, ROWS[number]
    for place, (setting, (unit, name)) in enumerate(SETTINGS.items()):
        for method in row.methods:
            if method == STANDARD and unit != UNITS[0]:
                continue
            w, max_widths = SLICES[name]
            indices = chains(budget, number, unit, name)
            found[setting, method] = [dict(
                number=number, index=index, method=method, iterations=LENGTH[budget], unit=unit,
                w=w, max_widths=max_widths, n=SMALL.get(budget),
                seed=[seed, number, METHODS.index(method), place, index, indices[:k].count(index)],
                cost=weight(row, method, unit)) for k, index in enumerate(indices)]
    return found


def weight(row, method, unit):
    """Return about how long an iteration takes, a whole number, for the progress bar."""
    share = 10 if method == STANDARD else 4 if unit == UNITS[0] else 2
    return share * row.d * (18 if row.n == 900 else 1)


def everything(experiment, name):
    """Run all that both tables need; return {number: `row` of it}; `name`: of the script."""
    store = experiment if name == STORE else Experiment(STORE, experiment)
    budget, found = store.budget, {}
    for n in (300, 900):  # the short ones first: they are worth most for their time
        wanted = {(number, *key): each for number in NUMBERS[budget] if ROWS[number].n == n
                  for key, each in tasks(budget, store.seed, number).items()}
        if not wanted:
            continue
        done = iter(store.replicates(chain, [task for each in wanted.values() for task in each],
                                     f"chains, n = {n}", progress, warm))
        for (number, *key), each in wanted.items():
            found.setdefault(number, {})[tuple(key)] = [
                (task["index"], next(done)) for task in each]
    rounds, iterations = TIMED[budget]
    rows = {}
    for number, each in found.items():  # one after the other: no two clocks at once
        (timed,) = store.replicates(clock, [dict(
            number=number, index=0, rounds=rounds, iterations=iterations, n=SMALL.get(budget),
            rows={f"{method}, {setting}": [method, unit, *SLICES[name], None]
                  for setting, (unit, name) in SETTINGS.items() for method in ROWS[number].methods
                  if method != STANDARD or unit == UNITS[0]})], "timings", warm=warm)
        rows[number] = row_of(each, timed)
    return with_luck(rows)


def progress(done):
    """Say the mean acceptance rate of mappings so far."""
    rates = [np.mean(each["accepted"]) for each in done if np.mean(each["accepted"]) < 1]
    return f"acceptance rate {np.mean(rates):.2f}" if rates else ""


# What it gives


def row_of(found, timed):
    """Put the chains of a row together: {setting: {method: {...}}}.

    logs         {"tau", "evaluations", "seconds": {data set: one log a chain}}: of tau, and of T by
                 both costs
    noise        {data set: one number a chain}: relative standard error of its tau
    sets         {"tau": {data set: (mean log, its variance)}, "evaluations", "seconds": gains}
    tau, gain    the Measured that are compared, logs: added by with_luck
    apart        {another method: {cost: standard error of the difference of their gains}}, likewise
    first, literal, geyer   mean tau over data sets, by three estimators
    evaluations, seconds    of an iteration
    updates      evaluations of the density of a step (the last layer's) in one slice update
    pi           evaluations of pi in a mapping, or in a slice update of the standard sampler
    AP           rate of acceptance;  ratio   cost of an evaluation of each layer, that of pi is 1
    """
    cost, cells = costs(timed), {}
    for setting, (unit, name) in SETTINGS.items():
        cells[setting] = {}
        for method in (m for m in METHODS if (MAIN, m) in found):
            own = setting if method != STANDARD else f"{UNITS[0]}, {name}"
            key = f"{method}, {own}"
            cells[setting][method] = cell_of(
                found[own, method], method, unit, cost, timed["layers"][key],
                np.median(timed["seconds"]["iteration"][key]))
        for cell in cells[setting].values():
            cell["sets"] = {"tau": per_set(cell["logs"]["tau"], cell["noise"])} | {
                by: differences(cells[setting][STANDARD], cell, by) for by in COSTS}
    return cells


def cell_of(runs, method, unit, cost, layers, seconds):
    """Return what is known of a cell by itself: see `row_of`."""
    logs, noise = {"tau": {}, **{by: {} for by in COSTS}}, {}
    for index, run in runs:
        tau, se = run["tau"]["first"]
        prices = {"evaluations": evaluations(run, method, unit, cost, layers), "seconds": seconds}
        noise.setdefault(index, []).append(se / tau)
        logs["tau"].setdefault(index, []).append(np.log(tau))
        for by, price in prices.items():
            logs[by].setdefault(index, []).append(np.log(tau * price))
    done = [run for _, run in runs]
    iterations, mappings = done[0]["iterations"], len(done[0]["accepted"])
    d = len(done[0]["last"])

    def rate(number, steps):
        return float(np.mean([number(run["counts"]) for run in done]) / (iterations * steps))

    last = (lambda c: c["density"]) if method == STANDARD else (lambda c: c["approximations"][-1])
    return {"logs": logs, "noise": noise, "seconds": float(seconds),
            "evaluations": float(np.mean([evaluations(run, method, unit, cost, layers)
                                          for run in done])),
            "updates": rate(last, d * (2 if method == METHODS[-1] else 1)),
            "pi": rate(lambda c: c["density"] - 1, mappings),  # without that of the start
            "AP": float(np.mean([np.mean(run["accepted"]) for run in done])),
            **{each: over_sets(runs, each) for each in ESTIMATORS},
            "ratio": [cost["trial"][name] for name in layers]}


def over_sets(runs, estimator):
    """Return the mean over data sets of the mean tau of their chains."""
    found = {}
    for index, run in runs:
        found.setdefault(index, []).append(run["tau"][estimator][0])
    return float(np.mean([np.mean(each) for each in found.values()]))


def per_set(logs, noise):
    """Return {data set: (mean over its chains, variance of this mean)}."""
    return {index: (float(np.mean(each)), float(np.mean(np.square(noise[index])) / len(each)))
            for index, each in logs.items()}


def differences(standard, cell, by):
    """Return {data set: (gain, its variance)} for the data sets of a cell."""
    theirs, ours = (per_set(each["logs"][by], each["noise"]) for each in (standard, cell))
    return {index: (theirs[index][0] - mean, theirs[index][1] + variance)
            for index, (mean, variance) in ours.items()}


def luck(sets):
    """Return by how much data sets differ, a standard deviation; nan if there is only one."""
    if len(sets) < 2:
        return np.nan
    means, variances = np.array(list(sets.values())).T
    return float(np.sqrt(max(0.0, means.var(ddof=1) - variances.mean())))


def estimate(sets, spread):
    """Return the mean over data sets, with the error of ours and the luck of theirs."""
    means, variances = np.array(list(sets.values())).T
    k = len(means)
    return Measured(float(means.mean()),
                    float(np.sqrt(spread**2 * (1 + 1 / k) + variances.sum() / k**2)))


def with_luck(rows):
    """Add "tau" and "gain" to each cell of {number: row}; return the rows.

    The luck of a row and a method is measured with MAIN, where there are several data sets, and
    not below the median of the rows of the same size: of two data sets it may be small by chance.
    What two methods share, the standard sampler's chains and most of that luck, is not in "apart".
    """
    for what in ("tau", *COSTS):
        own = {(number, method): luck(cell["sets"][what])
               for number, row in rows.items() for method, cell in row[MAIN].items()}
        for number, row in rows.items():
            same = [each for (other, method), each in own.items()
                    if ROWS[other].n == ROWS[number].n and (
                        what == "tau" or method != STANDARD)]
            for cells in row.values():
                for method, cell in cells.items():
                    spread = max(own[number, method], np.median(same))
                    found = estimate(cell["sets"][what], spread)
                    if what == "tau":
                        cell["tau"] = found
                    else:
                        cell.setdefault("gain", {})[what] = found
    for one, other in permutations(METHODS[1:], 2):
        both = {number: row for number, row in rows.items() if {one, other} <= set(row[MAIN])}
        for by in COSTS:
            own = {number: luck(differences(row[MAIN][other], row[MAIN][one], by))
                   for number, row in both.items()}
            for number, row in both.items():
                spread = max(own[number], np.median([
                    each for k, each in own.items() if ROWS[k].n == ROWS[number].n]))
                for cells in row.values():
                    found = estimate(differences(cells[other], cells[one], by), spread)
                    cells[one].setdefault("apart", {}).setdefault(other, {})[by] = found.se
    return rows
