"""Zhang and Sutton (2014), Table 3: three methods on the stochastic volatility model, T = 2000.

The paper states 5 and 2 leapfrogs of an ABLA step and no other setting.  Settings are chosen by a
rule (zhang/comparison.py) from recorded pilot chains, and a printed number is compared with those
of all settings of a scan whose acceptance rate is in the paper's range (zhang/volatility.py), and
of the settings of the program that the paper cites for RMHMC.  HMC samples all 2003 coordinates
together with the identity as mass.  All settings but the program's have a random step.

Run     python reproduce/zhang_table3.py [--budget smoke|short|paper] [--data DIR]
        Paper has ten runs of 20000 draws after 10000 for each row, for the program's settings
        and for the scan's last, and two for another setting of the scan; short two runs of 1500.
Writes  figures/zhang_table3.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import warnings
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import Chain, Counts, rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models.stochastic_volatility import StochasticVolatility
from reproduce.harness.claims import Claim, brief, mean, smallest, text_table
from reproduce.harness.style import COLOURS, legend_above, panels
from reproduce.zhang import comparison, datasets, volatility
from reproduce.zhang.comparison import pilot_chains
from reproduce.zhang.datasets import load
from reproduce.zhang.estimates import in_blocks
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, TABLES, number, quote
from reproduce.zhang.volatility import COLUMNS, EVERY, JITTER, TRUTH, WEIGHTS, run_in_numbers, start

NAME, WHAT = "zhang_table3", "three methods on the stochastic volatility model"
MINUTES = {"paper": 80, "short": 2, "smoke": 0.5}

# The paper's settings (Section 5.3): 5 and 2 leapfrogs in an ABLA step; 20000 draws after 10000
TABLE = "Table 3"

# "The implementation of RMHMC we used is from [7]": the program of Girolami and Calderhead (2011)
# draws the numbers of steps uniformly from 1 to these, and has five fixed-point iterations
PROGRAM = "the program's steps"
UP_TO = {"eps_theta": 0.1, "eps_phi": 0.5, "L_theta": 50, "L_phi": 6}
FIVE = {"f_position": 5, "f_momentum": 5, "tol": 0.0, "tol_back": 0.0}

# Our settings; the step sizes and numbers of steps that are tried are in zhang/volatility.py
TIMED = {"paper": (10, 20), "short": (5, 10), "smoke": (2, 2)}  # rounds, transitions


def transitions(method, theta, phi, model, setting, n, rng, keep=None):
    """Run n transitions of a method from (theta, phi); return a record with theta and phi."""
    if method == HMC:
        chain = hmc(np.append(theta, phi), model, setting["eps"], setting["L"], n, rng,
                    jitter=JITTER)
        return in_blocks(chain, theta.size, keep)
    if method == GIBBS:
        return rmhmc_within_gibbs(theta, phi, model, setting["eps_theta"], setting["eps_phi"],
                                  setting["L_theta"], setting["L_phi"], n, rng, JITTER, keep)
    return sshmc(theta, phi, model, setting["eps_theta"], setting["eps_phi"], setting["L"], n, rng,
                 setting["n_theta"], setting["n_phi"], JITTER, keep)


def pilots(method, data, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`, from what the data were simulated from."""
    cases = load(data)
    model, kept = StochasticVolatility.from_data(cases.y), np.arange(0, cases.x.size, EVERY)
    return pilot_chains(
        settings, chains, seed, WEIGHTS[method], burn_in, lambda setting, rng: transitions(
            method, cases.x, np.array(TRUTH), model, setting, burn_in + n, rng, kept))


def one_chain(method, data, setting, n, burn_in, seed):
    """Run one chain: `burn_in` transitions, then n."""
    rng, cases = np.random.default_rng(seed), load(data)
    model = StochasticVolatility.from_data(cases.y)
    with warnings.catch_warnings(action="ignore"):  # the acceptance rate is recorded
        first = transitions(method, *start(cases.x.size, rng), model, setting, burn_in, rng)
        chain = transitions(method, first.theta[-1], first.phi[-1], model, setting, n, rng)
    return run_in_numbers(first, chain)


def as_the_program(theta, phi, model, n, rng):
    """Run n transitions of RMHMC within Gibbs with UP_TO and FIVE; return its Chain.

    Arguments are checked once: for each transition that would take longer than the transition.
    """
    theta, phi, model, eps_theta, eps_phi, _, _, one, *others = rmhmc_within_gibbs.check(
        theta, phi, model, UP_TO["eps_theta"], UP_TO["eps_phi"], 1, 1, 1, rng, **FIVE)
    chains, most = [], [UP_TO["L_theta"], UP_TO["L_phi"]]
    for L_theta, L_phi in rng.integers(1, most, (n, 2), endpoint=True):
        chains.append(rmhmc_within_gibbs.compiled(
            theta, phi, model, eps_theta, eps_phi, int(L_theta), int(L_phi), one, *others))
        theta, phi = chains[-1].theta[-1], chains[-1].phi[-1]
    *columns, counts = zip(*chains, strict=True)
    return Chain(*map(np.concatenate, columns), Counts(*np.sum(counts, axis=0)))


def one_chain_of_the_program(data, n, burn_in, seed):
    """Run one chain as the program does: `burn_in` transitions, then n."""
    rng, cases = np.random.default_rng(seed), load(data)
    model = StochasticVolatility.from_data(cases.y)
    first = as_the_program(*start(cases.x.size, rng), model, burn_in, rng)
    return run_in_numbers(first, as_the_program(first.theta[-1], first.phi[-1], model, n, rng))


def clock(data, rows, rounds, n):
    """Time a transition of each row, {name: [method, setting]}, in turn."""
    cases, rng = load(data), np.random.default_rng(0)
    model = StochasticVolatility.from_data(cases.y)
    return comparison.clock_in_turn(
        rows, rounds, n, lambda name: (cases.x, np.array(TRUTH)), lambda name, theta, phi, n:
        as_the_program(theta, phi, model, n, rng) if rows[name][1] == UP_TO else
        transitions(rows[name][0], theta, phi, model, rows[name][1], n, rng))


class Table3(NamedTuple):
    """What is computed."""

    n: int  # draws of a run
    tried: dict  # {method: its pilots}
    rows: dict  # {method: volatility.Estimates} of the setting that the rule takes
    scan: dict  # {method: {what is open: volatility.Estimates}}


def run(experiment, cases):
    """Choose settings by pilots, run and time the chains of rows and of the scan: a Table3."""
    tried, own, others = volatility.all_runs(experiment, cases.name, pilots, one_chain)
    n, burn_in = volatility.LENGTH[experiment.budget]
    others[GIBBS][PROGRAM] = volatility.Runs(GIBBS, UP_TO, experiment.replicates(
        one_chain_of_the_program, [
            dict(data=cases.name, n=n, burn_in=burn_in, seed=[experiment.seed, 300, k])
            for k in range(volatility.CHAINS[experiment.budget])], "chains", comparison.progress))
    keyed = own | {f"{method}, {key}": runs for method in METHODS
                   for key, runs in others[method].items()}
    seconds = comparison.time_rows(
        experiment, clock, {key: [runs.method, runs.setting] for key, runs in keyed.items()},
        TIMED[experiment.budget], data=cases.name)
    found = {key: volatility.estimates(runs, seconds[key]) for key, runs in keyed.items()}
    return Table3(volatility.LENGTH[experiment.budget][0], tried,
                  *comparison.split_scan(found, METHODS))


ESS = comparison.ess_claims(TABLE, METHODS, COLUMNS)
CLAIMS = [
    *ESS,
    *comparison.acceptance_claims(METHODS, ("x", "the hyperparameters")),
    volatility.time_claim(GIBBS, HMC, ESS),
    volatility.time_claim(SSHMC, HMC, ESS, f", 883 s / 162 s; {quote('7 times')}"),
    volatility.time_claim(SSHMC, GIBBS, ESS), *map(volatility.speed_claim, (HMC, GIBBS)),
    *[Claim(f"least log(least ESS per {per}, {SSHMC} / another), {measure}", quote("outperforms"),
            lambda r, measure=measure, per=per: smallest(
                volatility.advantage(r.rows[SSHMC], r.rows[row], measure, per)
                for row in (HMC, GIBBS)),
            0.0, np.inf, "order, of the least ESS of all, of the settings that the rule takes;"
            " squares: of (x - mean)^2 too, ours.  Least: in standard errors",
            "order" if measure == "the paper's estimator" else "ours",
            budgets=("paper",) if per == "second" else ("short", "paper"))
      for measure in ("the paper's estimator", "squares too") for per in ("second", "gradient")],
]


def table(r):
    """Lay out the table with ours beside it, the settings, and the scan."""
    printed = TABLES[TABLE].rows
    lines = [[row, "paper", printed[row]["time"] + " s", *(printed[row][c] for c in COLUMNS), "",
              printed[row]["all/s"]] for row in METHODS]
    for key, runs in comparison.all_rows(r).items():
        duration = r.n * mean(runs.seconds)
        lines.append([key, " ".join(map(brief, runs.AP)), f"{duration.value:.1f} s",
                      *(brief(runs.ess[c]) for c in COLUMNS), brief(volatility.least_square(runs)),
                      brief(runs.ess["all"] / duration)])
    chosen = "\n".join(f"{row:16} {runs.setting}, divergences {runs.divergences}"
                       for row, runs in r.rows.items())
    return text_table(lines, [f"runs of {r.n}", "acceptance", "time", *(
        f"x {c}" if c in ("min", "med", "max") else c for c in COLUMNS), "squares, least",
        "least/s"]) + f"\n\nSettings, by the rule\n{chosen}"


def figure(r):
    """Draw the paper and ours, the scan in pale, and the pilots."""
    fig, (left, right) = panels(1, 2, 4.6)
    for k, (colour, row) in enumerate(zip(COLOURS, METHODS, strict=False)):
        place = np.arange(len(COLUMNS)) + 0.25 * (k - 1)
        for found in r.scan[row].values():
            left.plot(place, [1000 / r.n * found.ess[c].value for c in COLUMNS], "_",
                      color=colour, alpha=0.5)
        values = 1000 / r.n * np.array([r.rows[row].ess[c] for c in COLUMNS])
        left.errorbar(place, values[:, 0], 2 * values[:, 1], fmt="o", color=colour, label=row)
        printed = [number(TABLE, row, c) for c in COLUMNS]
        left.plot(place, 1000 / TABLES[TABLE].samples * np.array(printed), "D", mfc="none",
                  color=colour)
    left.plot([], [], "kD", mfc="none", label="paper")
    left.plot([], [], "k_", alpha=0.5, label="scan")
    left.set(yscale="log", ylabel="ESS by the paper's estimator, per 1000 draws")
    left.set_xticks(range(len(COLUMNS)), [f"$x$, {c}" for c in COLUMNS[:3]] + [
        rf"$\{c}$" for c in COLUMNS[3:]])
    legend_above(left)
    comparison.draw_pilots(right, r.tried, "1000 gradients, squares too", 1e3)
    fig.suptitle("Table 3: stochastic volatility, 2000 + 3 dimensions; bars are 2 standard errors")
    return fig


def cases(settings):
    """Return the data of Girolami and Calderhead, or simulated ones."""
    return datasets.volatility(settings.data)


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
