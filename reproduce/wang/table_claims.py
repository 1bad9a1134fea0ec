"""What Tables 2 and 3 of Wang and Neal (2013) are compared by: measures of a result, and claims.

A result is {number: row} as wang/table_runs.py has it.  What the paper depends on and does not
state is scanned: a Scan has a number for each of SETTINGS.  A row of a table, which is a data set,
has one of them for all of its columns.
"""

import numpy as np
from scipy.stats import norm

from reproduce.harness.claims import Claim, Measured, Scan, average, joint, measured
from reproduce.wang.chains import SLICES, UNITS
from reproduce.wang.printed import (
    CPU,
    MAPPING,
    METHODS,
    RATIOS,
    ROWS,
    SOD,
    STANDARD,
    TAU,
    TEMPERED,
    half_unit,
)
from reproduce.wang.table_runs import COMPARED, MAIN, SETTINGS, WINDOW

CELLS = [(number, method) for number, row in ROWS.items() for method in row.methods]
GAINS = [(number, method) for number, method in CELLS if method != STANDARD]
POOLED = [(number, method) for number, method in GAINS if method in COMPARED]
OWN_SLICES = {name: f"{UNITS[0]}, {name}" for name in SLICES}  # what matters to the standard


def scan(measure, settings=None):
    """Return the Scan of measure(setting) over SETTINGS, or over {name: setting}."""
    settings = settings or {setting: setting for setting in SETTINGS}
    return Scan(tuple(settings), tuple(measured(measure(each)) for each in settings.values()))


def noise(*taus):
    """Return the standard error of the log of a product or quotient of printed tau.

    Of a sum of lags -k, ..., k it is (2 (2 k + 1) / WINDOW)^1/2.  Autocorrelations that decay
    exponentially fall below 1.96 / WINDOW^1/2 at k = 1.5 tau.
    """
    return (sum(6 * tau + 2 for tau in taus) / WINDOW) ** 0.5


# Gains: log(T_STD / T)


def gain(r, number, setting, method, by="evaluations"):
    """Return a gain of ours, a Measured."""
    return r[number][setting][method]["gain"][by]


def printed_gain(number, method):
    """Return (the printed gain, its noise, how far rounding may be)."""
    row = ROWS[number]
    ratio = row.ratio[method]
    return (-np.log(ratio), noise(row.tau[method], row.tau[STANDARD]),
            half_unit(RATIOS, number, method) / ratio)


def ahead(r, number, setting, one, other, by):
    """Return log(T of another method / of one) on the same data sets, a Measured."""
    return Measured(gain(r, number, setting, one, by).value
                    - gain(r, number, setting, other, by).value,
                    r[number][setting][one]["apart"][other][by])


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
        " to the first lag that is not significant, is ((6 tau + 2) / 1333)^1/2.  The luck of the"
        " data, theirs and ours, is in the s.e. of ours")


# Autocorrelation times and seconds


def tau(r, number, setting, method):
    """Return log tau, a Measured."""
    return r[number][setting][method]["tau"]


def tau_claim(number, method):
    """Make the claim that a printed autocorrelation time is ours."""
    printed = ROWS[number].tau[method]
    error, rounding = noise(printed), half_unit(TAU, number, method) / printed
    return Claim(
        f"{number}, {method}: log(tau / {printed:g})", f"{printed:g}",
        lambda r: scan(lambda setting: tau(r, number, setting, method) - np.log(printed)),
        -rounding, rounding, CELL, "printed number", budgets=("paper",), theirs=error,
        row=f"Table 3, {number}", cell=f"Table 3, {number}, {method}")


def printed_share(number, method):
    """Return the printed CPU time of a method over that of the standard sampler."""
    return ROWS[number].seconds[method] / ROWS[number].seconds[STANDARD]


def seconds_claim(number, method):
    """Make the claim that the printed times of an iteration are in our proportion."""
    share = printed_share(number, method)
    rounding = sum(half_unit(CPU, number, each) / ROWS[number].seconds[each]
                   for each in (method, STANDARD))
    return Claim(
        f"{number}, {method}: log(time / time of the standard sampler / {share:.3g})",
        f"{share:.3g}", lambda r: scan(lambda setting: np.log(
            r[number][setting][method]["seconds"] / r[number][setting][STANDARD]["seconds"]
            / share)),
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


def z_gain(r, setting, by, errors=None):
    """Return (ours - printed) / error for the gains of all cells of a mapping.

    `errors`: of which setting the standard errors of ours are, if not of this one.
    """
    return [z(Measured(gain(r, number, setting, method, by).value,
                       gain(r, number, errors or setting, method, by).se),
              *printed_gain(number, method)) for number, method in POOLED]


def z(ours, printed, error, rounding):
    """Return the difference in standard errors; rounding is uniform."""
    return (ours.value - printed) / np.sqrt(ours.se**2 + error**2 + rounding**2 / 3)


# What an iteration is, by the printed CPU times: CPU / CPU_STD = 1 / (updates e) + t* / t


def implied(r, number, unit):
    """Return how many evaluations an update takes, by the printed times and our t* / t.

    The standard sampler takes e evaluations of pi for each variable.  A mapping with a subset takes
    one of pi and e of pi* for each, or, with "sweep", one of pi and d e of pi*.
    """
    rest = printed_share(number, SOD) - r[number][MAIN][SOD]["ratio"][0]
    return 1 / (rest * (1 if unit == UNITS[0] else ROWS[number].d)) if rest > 0 else np.inf


def tempered_share(r, number):
    """Return 1 / e by tempered transitions, "variable", over 1 / e by the mapping with a subset.

    Each of two layers makes two updates: CPU / CPU_STD = 1 / e + 2 (t_1 + t_2) / t.
    """
    rest = printed_share(number, TEMPERED) - 2 * sum(r[number][MAIN][TEMPERED]["ratio"])
    return rest * implied(r, number, UNITS[0])
