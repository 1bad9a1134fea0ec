"""Wang and Neal (2013), Table 3: CPU time of an iteration and autocorrelation time, ten data sets.

The chains are those of Table 2.  An autocorrelation time is summed up to the first lag that is not
significant; the literal reading of the paper's cut-off and Geyer's estimate stand beside it.
Seconds are ours; what is compared is their proportion, and what it says of the question what an
iteration of a mapping is.

Run     python reproduce/wang_table3.py [--budget smoke|short|paper]
        After wang_table2 at the same budget it takes seconds.
Writes  figures/wang_table3.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import numpy as np

from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from algorithms.wang_tempered_transitions_fast import tempered_transitions
from reproduce.harness.claims import Claim, Measured, average, brief, exponential, text_table
from reproduce.harness.style import COLOURS, MARKERS, legend_below, log_bar, panels, plain_log
from reproduce.wang import tables
from reproduce.wang.chains import UNITS, record
from reproduce.wang.datasets import problem
from reproduce.wang.printed import METHODS, NYSTROM, ROWS, SOD, STANDARD, TEMPERED, R, S, quote
from reproduce.wang.tables import ESTIMATORS, MAIN, OWN_SLICES, SETTINGS, gain, scan, update_cost

NAME, WHAT = "wang_table3", "times of an iteration and autocorrelation times, ten data sets"
MINUTES = {"paper": 240, "short": 2, "smoke": 1}

# The paper's settings (Sections 6.1 and 6.2): 2000 iterations, r = s = 1, and the m of Table 2
# Our settings are in wang/tables.py, the same for Tables 2 and 3 and Figure 2
LARGE = (9, 10)  # n = 900, p = 5, long length scales
IMPOSSIBLE = (3, 4, 5, 8, 9, 10)  # with "sweep", by the printed CPU times
CLOSE, FEW = 0.75, 0.15  # rate of acceptance of a good pi*; m / n of a small one
INSTEAD = (3, 5)  # where those of tempered transitions fit "sweep"


def chain(number, index, method, seed, iterations, unit, w, max_widths, n=None):
    """Run a method on a data set of a row, from the truth; return what is stored of it."""
    model, truth, star = problem(number, index, method, n=n)
    rng = np.random.default_rng(seed)
    if method == STANDARD:
        draws = slice_sampling(truth, model, w, iterations, rng, max_widths)
    elif method == TEMPERED:
        draws = tempered_transitions(truth, model, star, w, iterations, rng, unit, max_widths)
    else:
        draws = discretizing_chain(truth, model, star, w, iterations, rng, R, S, unit, max_widths)
    return record(draws)


def run(experiment, cases):
    """Return {number: {setting: {method: Cell}}}, of Table 2 and of Table 3."""
    return tables.table_rows(experiment, chain)


def density_excess(r):
    """Scan the largest distance from 1 of the evaluations of pi in a mapping."""
    return scan(lambda setting: max(abs(cell.pi - 1) for row in r.values()
                                    for method, cell in row[setting].items()
                                    if method != STANDARD))


def close_gain(r):
    """Scan the mean gain of Nystrom-Cholesky where pi* is very close to pi; nan if nowhere."""
    return scan(lambda setting: average([
        gain(r, number, setting, NYSTROM, "seconds") for number, row in r.items()
        if NYSTROM in row[setting] and row[setting][NYSTROM].accepted >= CLOSE]
        or [Measured(np.nan)]))


def few_columns_gain(r):
    """Scan the largest gain of Nystrom-Cholesky with few columns."""
    return scan(lambda setting: max((
        gain(r, number, setting, NYSTROM, "seconds") for number in r
        if ROWS[number].m.get(NYSTROM, np.inf) < FEW * ROWS[number].n), key=lambda g: g.value))


CLAIMS = [
    *tables.joint_claims(tables.tau_claim, "the autocorrelation times of Table 3 at once",
                         tables.CELLS),
    *[tables.tau_claim(*cell) for cell in tables.CELLS],
    *[tables.seconds_claim(*cell) for cell in tables.GAINS],
    Claim("largest |evaluations of pi in a mapping - 1|", quote("once"), density_excess, 0.0, 0.0,
          "a count, that of the start left out", "ours"),
    *[Claim(f"log(gain of Nystrom), {what}, seconds", quote(key), measure, low, np.inf, why,
            "order", budgets=("paper",)) for key, what, measure, low, why in (
        ("close", "mean over rows in which it is accepted three times in four", close_gain, 0.0,
         "order: quite good is better than the standard sampler; pi* is very close to pi where the"
         " rate of acceptance is .75 or more"),
        ("small m", "largest over rows with m below .15 n", few_columns_gain, np.log(2),
         "order: very nicely is twice as fast; rows 1, 6, 9 and 10"))],
    Claim("least log(t* / t / (m / n)^3) of SOD", quote("overhead"), lambda r: min(
        np.log(row[MAIN][SOD].ratio[0]) - 3 * np.log(ROWS[n].m[SOD] / ROWS[n].n)
        for n, row in r.items()), 0.0, np.inf, "order: the saving is less than m^3 to n^3", "order",
          budgets=("paper",)),
    *[Claim(f"{number}: acceptance rate with Nystrom, 'variable'", quote("10%"),
            lambda r, number=number: scan(lambda setting: r[number][setting][NYSTROM].accepted, {
                name: f"{UNITS[0]}, {name}" for name in OWN_SLICES}), CLOSE, 1.0,
            "a good approximation is mostly accepted: three times in four", "printed sentence",
            budgets=("paper",)) for number in LARGE],
    Claim("least evaluations in an update, by the printed CPU times and 'variable'", "ours: two",
          lambda r: min(update_cost(r, number, UNITS[0]) for number in ROWS), 2.0, np.inf,
          "CPU_SOD / CPU_STD = 1 / e + t* / t, with our t* / t: a slice update takes at least two,"
          " an end of its interval and a point", "ours", budgets=("paper",)),
    Claim("most evaluations in an update, by the printed CPU times and 'variable'", "ours: ten",
          lambda r: max(update_cost(r, number, UNITS[0]) for number in ROWS), -np.inf, 10.0,
          "as the least; more than ten are not usual with any width", "ours", budgets=("paper",)),
    Claim("data sets with less than one evaluation in an update, by the printed times and 'sweep'",
          "ours: six, so that 'variable' is the paper's", lambda r: sum(
              update_cost(r, number, UNITS[1]) < 1 for number in ROWS), len(IMPOSSIBLE) - 1.0,
          len(IMPOSSIBLE) + 1.0, "CPU_SOD / CPU_STD = 1 / (d e) + t* / t: on six it cannot be; one"
          " more or less, as t* / t is ours.  We find five", "ours", budgets=("paper",)),
    *[Claim(f"{number}: 1 / e by tempered transitions / by SOD, the printed times and 'variable'",
            "ours: far below 1, they do not fit 'variable'",
            lambda r, number=number: tables.tempered_share(r, number), -np.inf, 0.67,
            "CPU_TMP / CPU_STD = 1 / e + 2 (t_1 + t_2) / t should have the same e, within half",
            "ours", budgets=("paper",)) for number in INSTEAD],
    Claim("sum of z^2 of the gains of the mappings, 'sweep' - 'variable'", "ours: the paper has"
          " 'variable'", lambda r: scan(lambda setting: float(
              np.sum(tables.z_gain(r, setting.replace(*UNITS), setting.replace(*UNITS)) ** 2)
              - np.sum(tables.z_gain(r, setting, setting.replace(*UNITS)) ** 2)), OWN_SLICES),
          4.0, np.inf, "order, by 4 at least: two standard errors, were it of one of the 16 cells."
          "  With either slice; the errors are those of 'sweep', which has fewer data sets", "ours",
          budgets=("paper",)),
]


def table(r):
    """Lay out autocorrelation times and what an iteration takes, ours beside the paper's."""
    lines, short = [], []
    for number, row in r.items():
        for method in ROWS[number].methods:
            cells = [row[setting][method] for setting in SETTINGS]
            main = row[MAIN][method]
            lines.append([f"{number} {method}", ROWS[number].tau[method],
                          *(f"{np.exp(c.tau.value):.3g}" for c in cells),
                          brief(exponential(main.tau)),
                          *(main.means[each] for each in ESTIMATORS),
                          " ".join(f"{c.accepted:.2f}" for c in cells)])
            short.append([f"{number} {method}", ROWS[number].seconds[method],
                          *(1e3 * c.seconds for c in cells), *(c.evaluations for c in cells),
                          main.updates, " ".join(f"{x:.3f}" for x in main.ratio)])
    names = "\n".join(f"{place}  {setting}" for place, setting in enumerate(SETTINGS, 1))
    places = [str(place) for place in range(1, 5)]
    printed_times = text_table(
        [[number, *(update_cost(r, number, unit) for unit in UNITS),
          *(r[number][setting][STANDARD].updates for setting in OWN_SLICES.values())]
         for number in r], ["e by the printed CPU times", *UNITS, *OWN_SLICES])
    return "\n\n".join([
        "Means over data sets: of logs, and of tau by three estimators: up to the first lag that is"
        " not significant (first),\nby the paper's words (literal), by Geyer's initial sequence;"
        " with sets: the standard error with the scatter of data sets.\npi: evaluations of the"
        " posterior; e: those of a slice update; t* / t: time of pi* over that of pi.  By the"
        " printed\nCPU times, those with pi* over the standard ones are 1 / e + t* / t",
        text_table(lines, ["tau", "paper", *places, "1 (s.e., with sets)", "1 first", "1 literal",
                           "1 Geyer", "acceptance"]),
        text_table(short, ["iteration", "paper, s", *(f"{p}, ms" for p in places),
                           *(f"{p}, pi" for p in places), "e", "t* / t"]),
        printed_times, f"Settings: what an iteration of a mapping is, and the slices\n{names}"])


def figure(r):
    """Draw autocorrelation times of all settings beside the paper's, a panel for each method."""
    fig, axes = panels(2, 2, 6.4, sharex=True, sharey=True)
    for ax, method in zip(axes.flat, METHODS, strict=True):
        numbers = [number for number in r if method in ROWS[number].methods]
        for k, (colour, setting) in enumerate(zip(COLOURS, SETTINGS, strict=False)):
            if method == STANDARD and setting not in OWN_SLICES.values():
                continue
            middle, ends = log_bar(*np.transpose([r[n][setting][method].tau for n in numbers]))
            ax.errorbar(np.array(numbers) + 0.15 * (k - 1.5), middle, yerr=ends, fmt=MARKERS[k],
                        ms=4, lw=0.8, color=colour, label=setting)
        ax.plot(numbers, [ROWS[number].tau[method] for number in numbers], "k*", ms=7,
                label="paper")
        ax.set(yscale="log", title=method + " (a sweep is the same)" * (method == STANDARD),
               xticks=list(r))
    plain_log(axes[0, 0].yaxis)
    for ax in axes[1]:
        ax.set(xlabel="data set")
    for ax in axes[:, 0]:
        ax.set(ylabel="autocorrelation time\nof the log likelihood")
    legend_below(fig, axes[0, 1], ncols=3)
    fig.suptitle("Table 3: autocorrelation times with settings that the paper does not state; bars"
                 " are 2 standard errors")
    return fig


cases = "ten kinds, simulated"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
