"""Zhang and Sutton (2014), Table 4: SSHMC and RMHMC within Gibbs on a log-Gaussian Cox process.

Both are run on the unit square, as the programs of the lineage have it, and in pixels, as printed
(zhang/cox.py).  The paper's 32 x 32 counts are not public; ours are simulated in its way.  HMC
on the joint space, which the paper leaves out because it "mixes extremely slowly", is here.

Run     python reproduce/zhang_table4.py [--budget smoke|short|paper]
        Paper has ten chains of 5000 after 1000 in three rows; the rival in pixels has four.
        Short has chains of 250.
Writes  figures/zhang_table4.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import math
import warnings
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from reproduce.harness.claims import brief, mean, text_table
from reproduce.harness.style import COLOURS, WIDTH, legend_below, log_bar, plt, row_labels
from reproduce.zhang import comparison, cox
from reproduce.zhang.comparison import exponential, full_claim
from reproduce.zhang.cox import DISTANCES, LINEAGE, LONGER, OWN, WEIGHTS, problem, start
from reproduce.zhang.errata import KNOWN
from reproduce.zhang.estimates import in_blocks
from reproduce.zhang.printed import GIBBS, HMC, SSHMC, TABLES, number, quote

NAME, WHAT = "zhang_table4", "two methods on a Cox process"
MINUTES = {"paper": 45, "short": 2.5, "smoke": 0.4}

# The paper's settings (Section 5.4)
TABLE = "Table 4"
COLUMNS = ("min", "med", "max", "sigma", "beta")

# Our settings; rows, step sizes that are tried and lengths of runs are in zhang/cox.py
OURS = f"{SSHMC}, unit, L = {LONGER}"
METHODS = (SSHMC, GIBBS)
JUMPS = {"paper": (400, 100), "short": (40, 20), "smoke": (6, 2)}  # transitions, before them


# The work


def transitions(method, x, phi, model, setting, n, rng):
    """Run n transitions of a method from (x, phi); return a record with theta and phi.

    setting : dict   HMC: eps, L; RMHMC within Gibbs: eps_theta, eps_phi, L_theta, L_phi; SSHMC:
                     eps_theta, eps_phi, L, n_theta, n_phi; and jitter
    """
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


def pilots(method, data, distance, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`, with the same draws."""
    model, phi = problem(data, distance)
    return comparison.pilot_chains(
        settings, chains, seed, WEIGHTS[method], burn_in, lambda setting, rng: transitions(
            method, start(phi, model, rng), phi, model, setting, burn_in + n, rng))


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


def warm():
    """Compile everything in this process, before others start."""
    cox.warm_up(pilots, one_chain)


def jumps(data, distance, setting, n, burn_in, seed):
    """Run a chain of SSHMC; return the mean square of what log sigma^2 moves in a transition."""
    (model, phi), rng = problem(data, distance), np.random.default_rng(seed)
    chain = transitions(SSHMC, start(phi, model, rng), phi, model, setting, burn_in + n, rng)
    return {"n": n, "square": float(np.mean(np.diff(chain.phi[burn_in - 1:, 0]) ** 2))}


class Table4(NamedTuple):
    """What is computed."""

    rows: dict  # {row: cox.Estimates}
    scan: dict  # {setting: cox.Estimates}
    moved: dict  # {distance: mean square of the moves of log sigma^2 in a transition}
    tried: dict  # {row: its pilots}


def run(experiment, cases):
    """Choose settings by pilots, run and time the chains of rows and of the scan: a Table4."""
    tried = cox.run_pilots(experiment, pilots, warm)
    rows = cox.rows_of(tried)
    wanted = rows | (cox.scan_of(tried) | cox.without_jitter(tried)
                     if experiment.budget != "smoke" else {})
    found = cox.run_rows(experiment, wanted, one_chain, warm)
    seconds = comparison.time_rows(experiment, clock, {
        name: [row.method, row.data, row.distance, setting]
        for name, (row, setting) in wanted.items()}, cox.TIMED[experiment.budget], warm)
    found = {name: each._replace(seconds=seconds[name]) for name, each in found.items()}
    n, burn_in = JUMPS[experiment.budget]
    tasks = [dict(data=OWN, distance=distance, setting=rows[f"{SSHMC}, {distance}"][1], n=n,
                  burn_in=burn_in, seed=[experiment.seed, 200, j, k])
             for j, distance in enumerate(DISTANCES) for k in range(4)]
    done = iter(experiment.replicates(jumps, tasks, "short chains", warm=warm))
    moved = {distance: mean([next(done)["square"] for _ in range(4)]) for distance in DISTANCES}
    return Table4({name: found[name] for name in rows},
                  {name: found[name] for name in found if name not in rows}, moved,
                  {f"{method}, {distance}": each for (method, distance), each in tried.items()})


# The claims


ESS_CLAIMS = comparison.ess_claims(TABLE, METHODS, {
    column: lambda found, column=column: found.ess[column] for column in COLUMNS}, KNOWN[TABLE],
    "x, ", cox.rows_of_method)
TIMES = number(TABLE, GIBBS, "time") / number(TABLE, SSHMC, "time")
OPEN = "distances, data and the rival's step sizes are not stated"
AGAIN = ("to be run again on other data, with other settings and longer: chains on these have a few"
         " effective draws of the hyperparameters")
CLAIMS = [
    *ESS_CLAIMS,
    *[comparison.acceptance_claim(f"{method}, {distance}", block, lambda r, row=f"{method},"
                                  f" {distance}", k=k: r.rows[row].AP[k])
      for method in METHODS for distance in DISTANCES
      for k, block in enumerate(("x", "phi") if method == GIBBS else ("",))],
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
    *[full_claim(f"{method}: log(ESS, sigma / beta)", f"{number(TABLE, method, 'sigma'):g} against"
                 f" {number(TABLE, method, 'beta'):g}", lambda r, method=method:
                 r.rows[f"{method}, unit"].ess["sigma"] - r.rows[f"{method}, unit"].ess["beta"],
                 0.0, np.inf, "order, on the unit square", "order", undecided=AGAIN)
      for method in METHODS],
    full_claim("x: log(min ESS of x, SSHMC / RMHMC(Gibbs))", "7.8e2 against 1e2",
               lambda r: r.rows[f"{SSHMC}, unit"].ess["min"] - r.rows[f"{GIBBS}, unit"].ess["min"],
               0.0, np.inf, "order, on the unit square, for as many transitions", "order",
               undecided=AGAIN),
    *[full_claim(f"{name}: log(ESS per second, SSHMC / HMC)", quote("HMC on Cox"),
                 lambda r, k=k: cox.slowness(r, k), math.log(10), np.inf, "the paper has no number:"
                 " slower by a power of ten; HMC's ESS by the errors of its runs' means, for its"
                 " own estimate is of phi given an x that hardly moves", "printed sentence",
                 undecided=AGAIN)
      for k, name in enumerate(("sigma", "beta"))],
    full_claim("HMC: log((error of the mean of log beta / its s.e. by the run's own ESS)^2)",
               "ours", lambda r: cox.credulity(r, 1), 0.0, np.inf, "0 if that ESS is right; the"
               " mean of SSHMC's runs is taken for the truth", "ours", undecided=AGAIN),
    full_claim(f"beta: log(ESS per second, L = {LONGER} / 10)", "ours", lambda r: cox.advantage(
        r, OURS, f"{SSHMC}, unit", "beta"), 0.0, np.inf, "order: beta moves by a random walk whose"
        " steps grow with the time that H_2 travels", "ours", undecided=AGAIN),
    full_claim("H_1: log(largest stable step, at the mean of phi / 2 deviations up in log sigma^2)",
               "ours", cox.stiffness, 0.2, np.inf, "the curvature that the likelihood adds grows"
               " with sigma^2: a step that is stable at the mean may diverge where chains go",
               "ours"),
]


def table(r):
    """Lay out the table with ours beside it, the settings, and the scan."""
    printed = TABLES[TABLE].rows
    rows = [[f"{method}, paper", "", printed[method]["time"] + " h", *(
        f"{number(TABLE, method, column):g}" for column in COLUMNS), *[""] * 4]
        for method in METHODS]
    for name, runs in (r.rows | r.scan).items():
        rows.append([name, " ".join(f"{rate.value:.2f}" for rate in runs.AP),
                     f"{1e3 * np.mean(runs.seconds):.1f} ms",
                     *(brief(exponential(runs.ess[column])) for column in COLUMNS),
                     brief(cox.squares(runs)), brief(runs.mean[0]), runs.n, runs.divergences])
    at_mean, above = cox.limits(r)
    bounds = ", ".join(f"{distance}: {brief(cox.bound(r, distance))}" for distance in DISTANCES)
    return (f"Data: {OWN}; the lineage's ESS, geometric means over runs; \"squares\" is the least"
            " ESS of a squared deviation,\nours; a standard error in brackets; the time is of a"
            " transition, in the paper of 5000\n\n" + text_table(rows, [
                "row", "acceptance", "time", "min x", "med x", "max x", "sigma^2", "beta",
                "squares", "mean log sigma^2", "draws", "diverged"]) + (
        f"\n\n{comparison.by_the_rule(r, 26)}\n\nOn the unit square H_1 is stable for eps_theta"
        f" below {at_mean:.3f} at the mean of phi, below {above:.3f} where log sigma^2 is\ntwo"
        " standard deviations above it\nThe most that the ESS of sigma^2 can be, by the mean square"
        f" of its moves: {bounds}"))


def figure(r):
    """Draw the ESS of both hyperparameters, and the pilots."""
    fig = plt.figure(figsize=(WIDTH, 9), layout="constrained")
    axes = fig.subplot_mosaic([[*METHODS], ["pilots", "pilots"]], height_ratios=(1.7, 1))
    for method in METHODS:
        ax, found = axes[method], cox.rows_of_method(r, method)
        for colour, marker, column, shift in zip(COLOURS, "os", ("sigma", "beta"), (-0.15, 0.15),
                                                 strict=False):
            ax.axvline(number(TABLE, method, column), color=colour, ls="--", lw=0.9,
                       label=rf"$\{column}$, paper")
            for k, each in enumerate(found.values()):
                middle, ends = log_bar(*each.ess[column])
                ax.errorbar(middle, k + shift, xerr=ends[:, None], fmt=marker, color=colour,
                            label=rf"$\{column}$" if k == 0 else None)
        draws = next(iter(found.values())).n
        ax.set(xscale="log", xlabel=f"ESS of {draws}, the paper's estimator", title=method)
        row_labels(ax, list(found))
    comparison.draw_pilots(axes["pilots"], r.tried, "factorisation", ncols=5)
    legend_below(fig, axes[SSHMC])
    fig.suptitle("Table 4: the Cox process; bars are 2 standard errors")
    return fig


def cases(settings):
    """Say what it runs on."""
    return OWN


STUDY = Study(name=NAME, what=WHAT, minutes=MINUTES, doc=__doc__, cases=cases, run=run,
              claims=CLAIMS, table=table, figure=figure)

if __name__ == "__main__":
    main(STUDY)
