"""What Tables 2 and 3 of Wang and Neal (2013) are compared by: measures of a result, and claims.

A result is {number: row} as wang/cells.py has it.  Whatever print depends on and does not state is
scanned: a Scan has a number for each of SETTINGS.
"""

import numpy as np
from scipy.stats import binom, chi2, norm

from harness.claims import Claim, Measured, Scan, average, measured
from wang.cells import COMPARED, MAIN, SETTINGS, WINDOW
from wang.chains import SLICES, UNITS
from wang.printed import (
    CPU,
    MAPPING,
    RATIOS,
    ROWS,
    SOD,
    STANDARD,
    TAU,
    TEMPERED,
    half_unit,
)

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
    """Return (gain in print, its noise, how far rounding may be)."""
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
    """Return the mapping that gains more, of those of which print has a result."""
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


def gain_claim(number, method):
    """Make the claim that a printed ratio is ours."""
    value, error, rounding = printed_gain(number, method)
    return Claim(
        f"{number}, {method}: log(T_STD / T / {np.exp(value):.3g})",
        f"T / T_STD = {ROWS[number].ratio[method]:g}",
        lambda r: scan(lambda setting: gain(r, number, setting, method) - value),
        -3 * error - rounding, 3 * error + rounding, f"{CELL}.  T of ours is in evaluations",
        "printed number", budgets=("paper",))


CELL = ("3 standard errors of theirs, one run of a method: of the log of a tau, summed to the first"
        " lag that is not significant, ((6 tau + 2) / 1333)^1/2; and rounding.  The luck of the"
        " data is in the s.e. of ours")


# Autocorrelation times and seconds


def tau(r, number, setting, method):
    """Return log tau, a Measured."""
    return r[number][setting][method]["tau"]


def tau_claim(number, method):
    """Make the claim that a printed autocorrelation time is ours."""
    printed = ROWS[number].tau[method]
    error, rounding = noise(printed), half_unit(TAU, number, method) / printed
    settings = OWN_SLICES if method == STANDARD else None
    return Claim(
        f"{number}, {method}: log(tau / {printed:g})", f"{printed:g}",
        lambda r: scan(lambda setting: tau(r, number, setting, method) - np.log(printed), settings),
        -3 * error - rounding, 3 * error + rounding, CELL, "printed number", budgets=("paper",))


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
        "printed number", budgets=("paper",))


# All cells together


def z_gain(r, setting, by, errors=None):
    """Return (ours - print) / error for the gains of all cells of a mapping.

    `errors`: of which setting the standard errors of ours are, if not of this one.
    """
    return [z(Measured(gain(r, number, setting, method, by).value,
                       gain(r, number, errors or setting, method, by).se),
              *printed_gain(number, method)) for number, method in POOLED]


def z_tau(r, setting):
    """Return (ours - print) / error for the log tau of all cells."""
    return [z(tau(r, number, setting, method), np.log(printed), noise(printed),
              half_unit(TAU, number, method) / printed)
            for number, method in CELLS for printed in [ROWS[number].tau[method]]]


def z(ours, printed, error, rounding):
    """Return the difference in standard errors; rounding is uniform."""
    return (ours.value - printed) / np.sqrt(ours.se**2 + error**2 + rounding**2 / 3)


def pooled_claims(what, cells, z_of):
    """Make the claims on all cells: the sum of their squared z, and how many are positive."""
    ends = chi2.ppf(0.99865, cells)
    low, high = binom.ppf([0.00135, 0.99865], cells, 0.5)
    return [
        Claim(f"sum of z^2 of {what}, {cells} cells", "all printed numbers at once",
              lambda r: scan(lambda setting: float(np.sum(np.square(z_of(r, setting))))), 0.0,
              float(ends), "the 0.99865 point of chi-squared with a degree of freedom a cell, as if"
              " they were independent: those of a row share its data, and exceed it more often.  z"
              " has the noise of theirs, the luck of the data, and ours", "printed number",
              budgets=("paper",)),
        Claim(f"cells of {cells} in which {what} is larger than in print", "half of them",
              lambda r: scan(lambda setting: float(np.sum(np.array(z_of(r, setting)) > 0))),
              float(low), float(high), "the 0.00135 and 0.99865 points of a fair coin,"
              " as if the cells were independent", "printed number", budgets=("paper",))]


# What an iteration is, by print's CPU times: CPU / CPU_STD = 1 / (updates e) + t* / t


def implied(r, number, unit):
    """Return how many evaluations an update of the standard sampler takes, by print and t* / t.

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
