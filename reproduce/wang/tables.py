"""Tables 2 and 3 and Figure 2 of Wang and Neal (2013): what is run, what it gives, the claims.

A cell is a data set of the tables and a method.  It is measured with every one of SETTINGS, none of
which the paper states: what an iteration of a mapping is, and the slices.  T is the autocorrelation
time of the log likelihood times the cost of an iteration; a gain is log(T_STD / T of the method).

The paper's numbers are those of one chain on one data set.  So the standard error of ours, which
are means of logs over data sets, includes how much data sets differ (`luck`): that of theirs, and
of ours.  How far a time that is estimated from one chain of theirs is off, `noise`, is another
matter: it goes into the intervals of the claims.
"""

from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from reproduce.harness.claims import Claim, Measured, Scan, as_measured, average, joint
from reproduce.harness.replicates import replicates_by_key
from reproduce.wang import printed
from reproduce.wang.chains import SLICES, UNITS, WIDE, clock, costs, evaluations, warm
from reproduce.wang.printed import MAPPING, METHODS, ROWS, SOD, STANDARD, TAU, TEMPERED, half_unit

STORE = "wang_table2"  # whose replicates they are
SETTINGS = {f"{unit}, {name}": (unit, name) for name in SLICES for unit in UNITS}
MAIN = f"{UNITS[0]}, {WIDE}"
SMALL = {"smoke": 40}  # cases at that budget, in place of the paper's
LENGTH = {"paper": printed.ITERATIONS, "short": 300, "smoke": 15}
NUMBERS = {"paper": tuple(ROWS), "short": (1, 2, 3, 4, 5), "smoke": tuple(ROWS)}
TIMED = {"paper": (10, 10), "short": (3, 5), "smoke": (2, 2)}  # rounds, iterations
COSTS = ("evaluations", "seconds")
ESTIMATORS = ("first", "literal", "geyer")  # of an autocorrelation time
WINDOW = int(printed.KEPT * printed.ITERATIONS)
CELLS = [(number, method) for number, row in ROWS.items() for method in row.methods]
GAINS = [(number, method) for number, method in CELLS if method != STANDARD]
POOLED = [(number, method) for number, method in GAINS if method in MAPPING]
OWN_SLICES = {name: f"{UNITS[0]}, {name}" for name in SLICES}  # what matters to the standard


# What is run


def data_sets(budget, number, unit, name):
    """Return the data sets of which chains are run, each as often as it stands there."""
    if budget != "paper":
        return [0, 1] if (unit, name) == (UNITS[0], WIDE) else [0]
    small = ROWS[number].n == 300
    if (unit, name) == (UNITS[0], WIDE):
        further = 8 if small else 1 if number in (8, 10) else 3
        return [0] * (10 if small else 4) + [*range(1, 1 + further)]
    return [0] * (4 if small and unit == UNITS[0] else 2)


def tasks(budget, seed, number):
    """Return {(setting, method): tasks of a script's `chain`} of a row.

    The standard sampler's are those of "variable" alone.
    """
    found, row = {}, ROWS[number]
    for place, (setting, (unit, name)) in enumerate(SETTINGS.items()):
        for method in row.methods:
            if method == STANDARD and unit != UNITS[0]:
                continue
            w, max_widths = SLICES[name]
            share = 10 if method == STANDARD else 4 if unit == UNITS[0] else 2
            indices = data_sets(budget, number, unit, name)
            found[setting, method] = [dict(
                number=number, index=index, method=method, iterations=LENGTH[budget], unit=unit,
                w=w, max_widths=max_widths, n=SMALL.get(budget),
                seed=[seed, number, METHODS.index(method), place, index, indices[:k].count(index)],
                cost=share * row.d * (18 if row.n == 900 else 1))
                for k, index in enumerate(indices)]
    return found


def table_rows(experiment, chain):
    """Run all that both tables need, by a script's `chain`: {number: {setting: {method: Cell}}}."""
    store = experiment.of(STORE)
    budget, runs = store.budget, {}
    for n in (300, 900):  # the short ones first: they are worth most for their time
        wanted = {(number, *key): each for number in NUMBERS[budget] if ROWS[number].n == n
                  for key, each in tasks(budget, store.seed, number).items()}
        if not wanted:
            continue
        done = replicates_by_key(store, chain, wanted, f"chains, n = {n}", note=progress, warm=warm)
        for (number, *key), each in done.items():
            runs.setdefault(number, {})[tuple(key)] = [
                (task["index"], run) for task, run in zip(wanted[number, *key], each, strict=True)]
    rounds, iterations = TIMED[budget]
    rows = {}
    for number, each in runs.items():  # one after the other: no two clocks at once
        (timed,) = store.replicates(clock, [dict(
            number=number, index=0, rounds=rounds, iterations=iterations, n=SMALL.get(budget),
            rows={f"{method}, {setting}": [method, unit, *SLICES[name], None]
                  for setting, (unit, name) in SETTINGS.items() for method in ROWS[number].methods
                  if method != STANDARD or unit == UNITS[0]})], "timings", warm=warm)
        rows[number] = table_row(each, timed)
    return comparisons(rows)


def progress(done):
    """Say the mean acceptance rate of mappings so far."""
    rates = [np.mean(each["accepted"]) for each in done if np.mean(each["accepted"]) < 1]
    return f"acceptance rate {np.mean(rates):.2f}" if rates else ""


# What it gives


class Cell(NamedTuple):
    """What the chains of one method on one data set of the tables give, with one setting."""

    logs: dict  # {"tau", or a cost: {data set: one log a chain}}: of tau, and of T by that cost
    noise: dict  # {data set: one number a chain}: relative standard error of its tau
    means: dict  # {estimator: mean tau over data sets}
    evaluations: float  # of the posterior, that an iteration costs
    seconds: float  # that an iteration takes
    updates: float  # evaluations of the density of a step (the last layer's) in a slice update
    pi: float  # evaluations of pi in a mapping, or in a slice update of the standard sampler
    accepted: float  # rate
    ratio: list  # cost of an evaluation of each layer, where that of pi is 1
    sets: dict  # {"tau": {data set: (mean log, its variance)}, cost: the same of gains}
    # what `comparisons` computes of all rows at once
    tau: Measured  # its log
    gain: dict  # {cost: Measured}, a log
    apart: dict  # {another method: {cost: standard error of the difference of their gains}}


def table_row(runs, timed):
    """Return the cells of a row, {setting: {method: Cell}}.

    runs : {(setting, method): [(data set, a record of a chain)]}     timed : what `clock` returns
    """
    cost, cells = costs(timed), {}
    for setting, (unit, name) in SETTINGS.items():
        row = cells[setting] = {}
        for method in (m for m in METHODS if (MAIN, m) in runs):
            own = setting if method != STANDARD else f"{UNITS[0]}, {name}"
            key = f"{method}, {own}"
            cell = table_cell(runs[own, method], method, unit, cost, timed["layers"][key],
                              np.median(timed["seconds"]["iteration"][key]))
            row[method] = cell._replace(sets={"tau": set_means(cell.logs["tau"], cell.noise)} | {
                by: differences(row[STANDARD], cell, by) for by in COSTS if method != STANDARD})
    return cells


def table_cell(runs, method, unit, cost, layers, seconds):
    """Return the Cell of some chains, without what other methods and rows say of it."""
    done = [run for _, run in runs]
    iterations, mappings, d = done[0]["iterations"], len(done[0]["accepted"]), len(done[0]["last"])
    prices = [evaluations(run, method, unit, cost, layers) for run in done]

    def by_set(value):
        return {index: [value(run, price) for (each, run), price in zip(runs, prices, strict=True)
                        if each == index] for index, _ in runs}

    def mean_tau(estimator):
        return float(np.mean([np.mean(taus) for taus in by_set(
            lambda run, _: run["tau"][estimator][0]).values()]))

    def rate(number, steps):
        return float(np.mean([number(run["counts"]) for run in done]) / (iterations * steps))

    last = (lambda c: c["density"]) if method == STANDARD else (lambda c: c["approximations"][-1])
    return Cell(
        logs={"tau": by_set(lambda run, _: np.log(run["tau"]["first"][0])),
              "evaluations": by_set(lambda run, price: np.log(run["tau"]["first"][0] * price)),
              "seconds": by_set(lambda run, _: np.log(run["tau"]["first"][0] * seconds))},
        noise=by_set(lambda run, _: run["tau"]["first"][1] / run["tau"]["first"][0]),
        means={each: mean_tau(each) for each in ESTIMATORS},
        evaluations=float(np.mean(prices)), seconds=float(seconds),
        updates=rate(last, d * (2 if method == TEMPERED else 1)),
        pi=rate(lambda c: c["density"] - 1, mappings),  # without that of the start
        accepted=float(np.mean([np.mean(run["accepted"]) for run in done])),
        ratio=[cost["trial"][name] for name in layers], sets={}, tau=None, gain={}, apart={})


def set_means(logs, noise):
    """Return {data set: (mean over its chains, variance of this mean)}."""
    return {index: (float(np.mean(each)), float(np.mean(np.square(noise[index])) / len(each)))
            for index, each in logs.items()}


def differences(standard, cell, by):
    """Return {data set: (gain, its variance)} for the data sets of a cell."""
    theirs, ours = (set_means(each.logs[by], each.noise) for each in (standard, cell))
    return {index: (theirs[index][0] - mean, theirs[index][1] + variance)
            for index, (mean, variance) in ours.items()}


def luck(sets):
    """Return by how much data sets differ, a standard deviation; nan if there is only one."""
    if len(sets) < 2:
        return np.nan
    means, variances = np.array(list(sets.values())).T
    return float(np.sqrt(max(0.0, means.var(ddof=1) - variances.mean())))


def estimate(sets, spread):
    """Return the mean over data sets; its error has the variation between them, too."""
    means, variances = np.array(list(sets.values())).T
    k = len(means)
    return Measured(float(means.mean()),
                    float(np.sqrt(spread**2 * (1 + 1 / k) + variances.sum() / k**2)))


def comparisons(rows):
    """Return {number: row} with the "tau", "gain" and "apart" of each cell.

    The luck of a row and a method is measured with MAIN, where there are several data sets.  What
    two methods share, the standard sampler's chains and most of that luck, is not in "apart".
    """
    luck_of = {"tau": usual_luck({(number, method): cell.sets["tau"]
                                  for number, row in rows.items()
                                  for method, cell in row[MAIN].items()})}
    for by in COSTS:
        luck_of[by] = usual_luck({
            (number, method): cell.sets[by] for number, row in rows.items()
            for method, cell in row[MAIN].items() if method != STANDARD})
        for one, other in permutations(METHODS[1:], 2):
            luck_of[by] |= usual_luck({
                (number, one, other): differences(row[MAIN][other], row[MAIN][one], by)
                for number, row in rows.items() if {one, other} <= set(row[MAIN])})

    def whole(number, cells, method, cell):
        others = [other for other in cells if other != method and STANDARD not in (method, other)]
        return cell._replace(
            tau=estimate(cell.sets["tau"], luck_of["tau"][number, method]),
            gain={by: estimate(cell.sets[by], luck_of[by][number, method])
                  for by in COSTS if method != STANDARD},
            apart={other: {by: estimate(differences(cells[other], cell, by),
                                        luck_of[by][number, method, other]).se for by in COSTS}
                   for other in others})

    return {number: {setting: {method: whole(number, cells, method, cell)
                               for method, cell in cells.items()}
                     for setting, cells in row.items()} for number, row in rows.items()}


def usual_luck(sets):
    """Return the luck of each of {(number, ...): data sets}.

    It is not below the median of the rows of the same size: of two data sets it may be small.
    """
    own = {key: luck(each) for key, each in sets.items()}
    return {key: max(value, np.median([each for other, each in own.items()
                                       if ROWS[other[0]].n == ROWS[key[0]].n]))
            for key, value in own.items()}


# What is compared


def scan(measure, settings=None):
    """Return the Scan of measure(setting) over SETTINGS, or over {name: setting}."""
    settings = settings or {setting: setting for setting in SETTINGS}
    return Scan(tuple(settings), tuple(as_measured(measure(each)) for each in settings.values()))


def noise(*taus):
    """Return the standard error of the log of a product or quotient of printed tau.

    Of a sum of lags -k, ..., k it is (2 (2 k + 1) / WINDOW)^1/2.  Autocorrelations that decay
    exponentially fall below 1.96 / WINDOW^1/2 at k = 1.5 tau.
    """
    return (sum(6 * tau + 2 for tau in taus) / WINDOW) ** 0.5


# Gains: log(T_STD / T)


def gain(r, number, setting, method, by="evaluations"):
    """Return a gain of ours, a Measured."""
    return r[number][setting][method].gain[by]


def printed_gain(number, method):
    """Return (the printed gain, its noise, how far rounding may be)."""
    row = ROWS[number]
    ratio = row.ratio[method]
    return (-np.log(ratio), noise(row.tau[method], row.tau[STANDARD]),
            half_unit(printed.RATIOS, number, method) / ratio)


def lead(r, number, setting, one, other, by):
    """Return log(T of another method / of one) on the same data sets, a Measured."""
    return Measured(gain(r, number, setting, one, by).value
                    - gain(r, number, setting, other, by).value,
                    r[number][setting][one].apart[other][by])


def better_mapping(r, number, setting, by="evaluations"):
    """Return the mapping that gains more, of those of which the paper has a result."""
    return max((method for method in MAPPING if method in ROWS[number].methods),
               key=lambda method: gain(r, number, setting, method, by).value)


def mean_gain(r, numbers, setting, method=None, by="evaluations"):
    """Return the mean gain over rows, of a method or of the better mapping."""
    return average([gain(r, number, setting, method or better_mapping(r, number, setting, by), by)
                    for number in numbers])


def expected_rows(r, setting, method, by, least=0.0):
    """Return in how many rows the gain is more than `least`: one that is unsure counts in part."""
    p = np.array([norm.cdf((g.value - least) / g.se) for number, row in ROWS.items()
                  if method in row.methods for g in [gain(r, number, setting, method, by)]])
    return Measured(p.sum(), np.sqrt(np.sum(p * (1 - p))))


def gain_claim(number, method, by="evaluations"):
    """Make the claim that a printed ratio is ours."""
    value, error, rounding = printed_gain(number, method)
    return Claim(
        f"{number}, {method}: log(T_STD / T / {np.exp(value):.3g})",
        f"T / T_STD = {ROWS[number].ratio[method]:g}",
        lambda r: scan(lambda setting: gain(r, number, setting, method, by) - value),
        -rounding, rounding, f"{CELL}.  T of ours is in {by}", "printed number",
        budgets=("paper",), theirs=error, row=f"Table 2, {number}",
        cell=f"Table 2, {number}, {method}")


CELL = ("rounding.  Theirs is one run of a method: the standard error of the log of a tau, summed"
        " to the first lag that is not significant, is ((6 tau + 2) / 1333)^1/2.  The scatter of"
        " data sets, for theirs and ours, is in the s.e. of ours")


# Autocorrelation times and seconds


def tau_claim(number, method):
    """Make the claim that a printed autocorrelation time is ours."""
    printed = ROWS[number].tau[method]
    error, rounding = noise(printed), half_unit(TAU, number, method) / printed
    return Claim(
        f"{number}, {method}: log(tau / {printed:g})", f"{printed:g}",
        lambda r: scan(lambda setting: r[number][setting][method].tau - np.log(printed)),
        -rounding, rounding, CELL, "printed number", budgets=("paper",), theirs=error,
        row=f"Table 3, {number}", cell=f"Table 3, {number}, {method}")


def printed_share(number, method):
    """Return the printed CPU time of a method over that of the standard sampler."""
    return ROWS[number].seconds[method] / ROWS[number].seconds[STANDARD]


def seconds_claim(number, method):
    """Make the claim that the printed times of an iteration are in our proportion."""
    share = printed_share(number, method)
    rounding = sum(half_unit(printed.CPU, number, each) / ROWS[number].seconds[each]
                   for each in (method, STANDARD))
    return Claim(
        f"{number}, {method}: log(time / time of the standard sampler / {share:.3g})",
        f"{share:.3g}", lambda r: scan(lambda setting: np.log(
            r[number][setting][method].seconds / r[number][setting][STANDARD].seconds / share)),
        -np.log(2) - rounding, np.log(2) + rounding, "machine (ratios only): what an evaluation of"
        " pi* takes, in units of pi, is not ours, within a factor of two; and rounding",
        "printed number", budgets=("paper",), row=f"Table 3, {number}",
        cell=f"Table 3, {number}, {method}, CPU time")


# All cells together


def joint_claims(claim, what, cells, *further):
    """Make the joint test of each method, of `claim` over its rows among `cells`."""
    return [joint(f"{method}: {what}", [
        claim(*cell, *further) for cell in cells if cell[1] == method])
        for method in METHODS if method in {each for _, each in cells}]


def z_gain(r, setting, errors):
    """Return (ours - printed) / error for the gains of all cells of a mapping.

    `errors` is the setting of which the standard errors of ours are; rounding is uniform.
    """
    found = []
    for number, method in POOLED:
        theirs, error, rounding = printed_gain(number, method)
        ours, se = gain(r, number, setting, method).value, gain(r, number, errors, method).se
        found.append((ours - theirs) / np.sqrt(se**2 + error**2 + rounding**2 / 3))
    return np.array(found)


# What an iteration is, by the printed CPU times: CPU / CPU_STD = 1 / (updates e) + t* / t


def update_cost(r, number, unit):
    """Return how many evaluations an update takes, by the printed times and our t* / t.

    The standard sampler takes e evaluations of pi for each variable.  A mapping with a subset takes
    one of pi and e of pi* for each, or, with "sweep", one of pi and d e of pi*.
    """
    rest = printed_share(number, SOD) - r[number][MAIN][SOD].ratio[0]
    return 1 / (rest * (1 if unit == UNITS[0] else ROWS[number].d)) if rest > 0 else np.inf


def tempered_share(r, number):
    """Return 1 / e by tempered transitions, "variable", over 1 / e by the mapping with a subset.

    Each of two layers makes two updates: CPU / CPU_STD = 1 / e + 2 (t_1 + t_2) / t.
    """
    rest = printed_share(number, TEMPERED) - 2 * sum(r[number][MAIN][TEMPERED].ratio)
    return rest * update_cost(r, number, UNITS[0])
