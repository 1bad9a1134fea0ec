"""Zhang and Sutton (2014), Table 4: SSHMC and RMHMC within Gibbs on a log-Gaussian Cox process.

The paper's 32 x 32 counts are not public.  Ours are simulated in its way, five sets with
distances in the unit square, as in the programs that it cites, and five with distances in pixels,
as printed; each is fitted with its own covariance (zhang/cox.py).  HMC on the joint
space, which the paper leaves out because it "mixes extremely slowly", is here.

Run     python reproduce/zhang_table4.py [--budget smoke|short|paper]
        Paper has chains of 2500 with each setting of the grids, and of 5000 in five rows: one of
        SSHMC and four of its rival on each data set, and four of SSHMC on the first alone; HMC has
        four of 300.
        Short has chains of 60 and of 250.
Writes  figures/zhang_table4.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import math
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from reproduce.harness.claims import brief, exponential, text_table
from reproduce.harness.style import COLOURS, MARKERS, legend_below, log_bar, mark, panels
from reproduce.zhang import comparison, cox
from reproduce.zhang.comparison import full_claim
from reproduce.zhang.cox import DATA, LINEAGE, problem, start
from reproduce.zhang.estimates import in_blocks
from reproduce.zhang.printed import GIBBS, HMC, SSHMC, TABLES, number, quote

NAME, WHAT = "zhang_table4", "two methods on a Cox process"
MINUTES = {"paper": 90, "short": 4, "smoke": 1}

# The paper's settings (Section 5.4)
TABLE = "Table 4"
COLUMNS = ("min", "med", "max", "sigma", "beta")

# Our settings; rows, step sizes that are tried and lengths of runs are in zhang/cox.py
METHODS = (SSHMC, GIBBS)


def transitions(method, x, phi, model, setting, n, rng):
    """Run n transitions of a method from (x, phi); return a record with theta and phi."""
    with warnings.catch_warnings(action="ignore"):  # some settings of a pilot are never accepted
        if method == HMC:
            return in_blocks(hmc(np.append(x, phi), model, setting["eps"], setting["L"], n, rng,
                                 jitter=setting["jitter"]), x.size)
        if method == GIBBS:
            return rmhmc_within_gibbs(x, phi, model, setting["eps_theta"], setting["eps_phi"],
                                      setting["L_theta"], setting["L_phi"], n, rng,
                                      setting["jitter"], **LINEAGE)
        return sshmc(x, phi, model, setting["eps_theta"], setting["eps_phi"], setting["L"], n, rng,
                     setting["n_theta"], setting["n_phi"], setting["jitter"])


def one_chain(method, data, distance, setting, n, burn_in, seed):
    """Run one chain of n draws after `burn_in`."""
    (model, phi), rng = problem(data, distance), np.random.default_rng(seed)
    x = start(phi, model, rng)
    chain = transitions(method, x, phi, model, setting, burn_in + n, rng)
    return cox.run_in_numbers(chain, burn_in, model, distance)


def clock(rows, rounds, n):
    """Time a transition of each row, {name: [method, data, distance, setting]}, in turn."""
    rng, problems = np.random.default_rng(0), {name: problem(*rows[name][1:3]) for name in rows}

    def first(name):
        model, phi = problems[name]
        return start(phi, model, rng), phi

    return comparison.clock_in_turn(rows, rounds, n, first, lambda name, x, phi, n: transitions(
        rows[name][0], x, phi, problems[name][0], rows[name][3], n, rng))


class Table4(NamedTuple):
    """What is computed."""

    rows: dict  # {row: cox.Estimates} of the settings that the rule takes, on five data sets
    scan: dict  # {setting: cox.Estimates} of a chain on the first data set
    alone: dict  # {method: cox.Estimates} of four chains on the first data set


def run(experiment, cases):
    """Run the scan and the chains of the rows, and time them: a Table4."""
    warm = partial(cox.warm_up, one_chain)
    scanned = cox.run_scan(experiment, one_chain, warm)
    rows, alone = cox.run_rows(experiment, scanned, one_chain, warm)
    between = cox.run_between(experiment, one_chain, warm)
    found = {"rows": rows, "scan": cox.scan_of(scanned) | cox.scan_of(between), "alone": alone}
    where = {name: (*name.split(", "), "unit")[:2] for rows in found.values() for name in rows}
    seconds = comparison.time_rows(experiment, clock, {
        name: [where[name][0], DATA[where[name][1]][0], where[name][1], each.setting]
        for rows in found.values() for name, each in rows.items()},
        cox.TIMED[experiment.budget], warm)
    return Table4(**{kind: {name: each._replace(seconds=seconds[name])
                            for name, each in rows.items()} for kind, rows in found.items()})


TIMES = number(TABLE, GIBBS, "time") / number(TABLE, SSHMC, "time")
SCATTER = "our data sets, or the few chains of HMC, scatter too much: more of them would tell"
OPEN = "distances, data and the rival's step sizes are not stated"
CLAIMS = [
    *comparison.ess_claims(TABLE, METHODS, COLUMNS, "x, ", cox.rows_of_method, cox.on_all_sets,
                           lambda found: found.n / cox.N),
    full_claim(f"time of a transition, {GIBBS} / {SSHMC}", f"{TIMES:.3g}", lambda r:
               comparison.time_ratio(r.rows[f"{GIBBS}, unit"], r.rows[f"{SSHMC}, unit"]), TIMES / 3,
               TIMES * 3, "machine (ratios only): ten factorisations against a few larger"
               " operations of the same order, which blocks do not speed up alike; within a factor"
               " of 3", "printed number", printed=TIMES),
    full_claim("log(worst ESS per second, SSHMC / RMHMC(Gibbs)) - log 6", quote("six times"),
               lambda r: cox.pairs(r, math.log(6)), np.log(5.5 / 6), np.log(6.5 / 6), "about six,"
               f" to a whole number; theirs is of two runs with an ESS of 270 and 46; {OPEN}",
               "printed sentence", theirs=comparison.log_error(
                   number(TABLE, SSHMC, "beta"), number(TABLE, GIBBS, "beta"))),
    full_claim("log(worst ESS per second, SSHMC / RMHMC(Gibbs))", quote("outperforms"), cox.pairs,
               0.0, np.inf, f"order; {OPEN}", "order"),
    *[full_claim(f"{name}: log(ESS, sigma / beta)", f"{number(TABLE, method, 'sigma'):g} against"
                 f" {number(TABLE, method, 'beta'):g}", lambda r, name=name:
                 cox.ess_of(r.rows[name], "sigma") - cox.ess_of(r.rows[name], "beta"),
                 0.0, np.inf, "order, on average over five data sets", "order",
                 undecided=SCATTER)
      for name, (method, _) in cox.ROWS.items()],
    *[full_claim(f"{distance}: log(min ESS of x, SSHMC / RMHMC(Gibbs))", "7.8e2 against 1e2",
                 lambda r, distance=distance: cox.ess_of(r.rows[f"{SSHMC}, {distance}"], "min")
                 - cox.ess_of(r.rows[f"{GIBBS}, {distance}"], "min"), 0.0, np.inf,
                 "order, on average over five data sets, for as many transitions", "order",
                 undecided=SCATTER)
      for distance in DATA],
    *[full_claim(f"{name}: log(ESS per second, SSHMC / HMC)", quote("HMC on Cox"),
                 lambda r, k=k: cox.slowness(r, k), math.log(10), np.inf, "the paper has no number:"
                 " slower by a power of ten; HMC's ESS by the errors of its runs' means, for its"
                 " own estimate is of phi given an x that hardly moves", "printed sentence",
                 undecided=SCATTER)
      for k, name in enumerate(("sigma", "beta"))],
    full_claim("HMC: log((error of the mean of log beta / its s.e. by the run's own ESS)^2)",
               "ours", lambda r: cox.credulity(r, 1), 0.0, np.inf, "0 if that ESS is right; the"
               " mean of SSHMC's runs is taken for the truth", "ours", undecided=SCATTER),
    full_claim("H_1: log(largest stable step, at the mean of phi / 2 deviations up in log sigma^2)",
               "ours", lambda r: math.log(np.divide(*cox.limits(r))), 0.2, np.inf, "the curvature"
               " that the likelihood adds grows with sigma^2: a step that is stable at the mean may"
               " diverge where chains go", "ours"),
]


def table(r):
    """Lay out the table with ours beside it, the settings, and the scan."""
    printed = TABLES[TABLE].rows
    rows = [[f"{method}, paper", "", printed[method]["time"], *(
        f"{number(TABLE, method, column):g}" for column in COLUMNS), printed[method]["all/h"],
        *[""] * 4] for method in METHODS]
    for name, runs in (r.rows | r.alone | r.scan).items():
        hours = cox.N * np.mean(runs.seconds) / 3600
        rows.append([name, " ".join(f"{rate.value:.2f}" for rate in runs.AP), f"{hours:.3g}",
                     *(brief(exponential(runs.ess[column])) for column in COLUMNS),
                     f"{math.exp(cox.worst(runs).value) / hours:.3g}",
                     brief(exponential(min(runs.squares.values()))), runs.n,
                     len(runs.field), runs.divergences])
    sets = [[name, k + 1, *(f"{ess:.4g}" for ess in each)] for name, runs in r.rows.items()
            for k, each in enumerate(zip(*(runs.each[column] for column in COLUMNS), strict=True))]
    at_mean, above = cox.limits(r)
    data = "\n".join(f"{distance}: {'; '.join(names)}" for distance, names in DATA.items())
    return (f"Data\n{data}\n\nESS by the paper's estimator, geometric means over runs, least/h"
            " of 1024 x, sigma^2 and beta, an hour; squares:\nthe least ESS of a squared deviation,"
            " ours; a standard error in brackets; hours: of 5000 transitions.\nunit: distances in"
            " sides of the square, as in Girolami and Calderhead's program; pixel: in cells, as"
            " printed.\nA row with step sizes is of a chain on the first data set; SSHMC and HMC"
            " without a word: of four chains on the\nfirst of unit; the others: of all five.  The"
            " picture and\nthe claims take ESS as of 5000 draws, twice those of rows of 2500.  An"
            " ESS of 1: stuck\n\n"
            + text_table(rows, [
                "row", "acceptance", "hours", "min x", "med x", "max x", "sigma^2", "beta",
                "least/h", "squares", "draws", "chains", "diverged"])
            + "\n\nESS on each data set, in the order of the first lines\n"
            + text_table(sets, ["row", "set", "min x", "med x", "max x", "sigma^2", "beta"])
            + f"\n\n{comparison.by_the_rule(r, 22)}\n\nOn the first data set H_1 is stable for"
            f" eps_theta below {at_mean:.3f} at the mean of phi, below {above:.3f} where\nlog"
            " sigma^2 is two standard deviations above it")


def figure(r):
    """Draw the ESS of both hyperparameters against the step sizes, a panel for each row."""
    fig, axes = panels(2, 2, 6.5)
    for ax, (name, (method, _)) in zip(axes.ravel(), cox.ROWS.items(), strict=True):
        tried = [found for key, found in r.scan.items() if key.startswith(f"{name}, ")]
        sizes = sorted({found.setting["eps_phi"] for found in tried})
        for column, dash, fill in (("sigma", "-", "k"), ("beta", ":", "w")):
            for eps_phi, colour, marker in zip(sizes, COLOURS, MARKERS, strict=False):
                line = sorted((found.setting["eps_theta"], cox.ess_of(found, column).value)
                              for found in tried if found.setting["eps_phi"] == eps_phi)
                ax.plot(*np.transpose([(x, math.exp(y)) for x, y in line]), ls=dash, lw=0.9, ms=3,
                        marker=marker, color=colour, mfc=colour if fill == "k" else fill,
                        label=rf"$\epsilon_\phi$ = {eps_phi:g}" if column == "sigma" else None)
            ax.axhline(number(TABLE, method, column), color="k", ls=dash, lw=0.9)
            middle, ends = log_bar(*cox.ess_of(r.rows[name], column))
            ax.errorbar(r.rows[name].setting["eps_theta"], middle, yerr=ends[:, None], fmt="D",
                        mfc=fill, color="k", ms=4, zorder=3)
        ax.set(yscale="log", title=name, xlabel=r"$\epsilon_\theta$",
               ylabel=f"ESS of {cox.N}, the paper's estimator")
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    legend_below(fig, handles=[
        mark(rf"${name}$, {what}", colour, shape, line * (not shape), mfc=fill)
        for what, colour, shape in (("scan", COLOURS[0], ""), ("paper", "k", ""),
                                    ("all data sets", "k", "D"))
        for name, line, fill in ((r"\sigma^2", "-", "k"), (r"\beta", ":", "w"))], ncols=6)
    fig.suptitle("Table 4: the Cox process; bars are 2 standard errors over data sets")
    return fig


cases = "; ".join(name for names in DATA.values() for name in names)
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
