"""Shahbaba, Lan, Johnson and Neal (2014), Tables 1 and 2: is alpha in the sum of tau_beta?

On average over the three real problems our tau_beta are larger than the printed ones
(shahbaba_table2.py).  In the chains of this script tau is larger too, by a factor of 1.15 (0.09)
over all four problems.  Section 3.3 says of tau_beta that it is of sum_j (beta_j)^2.  Here the
twelve printed numbers are compared at once with that sum, and with one that has alpha^2 too.  The
normal split is that of the authors' program.

Run     python reproduce/beyond/shahbaba_tau_beta.py [--budget smoke|short|paper]
        Paper has chains of 10000 iterations, whose errors are well below the printed numbers'
        own; short has 1500.
Writes  figures/shahbaba_tau_beta.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import numpy as np

from algorithms.ess import initial_sequence
from models.logistic_regression import chain_log_likelihood
from reproduce.harness import style
from reproduce.harness.claims import Claim, Measured, brief, joint, log, text_table
from reproduce.harness.style import COLOURS, log_bar, mark, mathematics, panels, plain_log
from reproduce.shahbaba import datasets, tables
from reproduce.shahbaba.chains import AUTHORS, problem, transitions, warm
from reproduce.shahbaba.datasets import STAND_IN, StandIn
from reproduce.shahbaba.printed import METHODS, PROBLEMS, SE_LOG_TAU, half_unit, number

NAME, WHAT = "shahbaba_tau_beta", "is alpha in the sum of squares?"
MINUTES = {"paper": 5, "short": 1, "smoke": 0.2}

# The paper's settings (Section 3.3) are with its numbers, in shahbaba/printed.py
SETS = {"Simulated": datasets.SIMULATED + "2011", "StatLog": "StatLog", "CTG": "CTG",
        "Chess": "Chess"}

# Our settings
LENGTH = {"paper": 10_000, "short": 1500, "smoke": 40}
RUN = ("HMC", AUTHORS, "data")  # one chain of each, for the three printed columns
FRESH = 3000  # added to the seed: no chain of this question is one on which it came up
SUMS = {"tau": "log likelihood", "tau_beta": "beta alone", "tau_beta, alpha too": "alpha and beta"}


def one_chain(data_name, method, eps, L, M, fraction, n, seed):
    """Run one chain from the posterior mode; return tau of each of SUMS, with a standard error."""
    model, fit, _ = stage = problem(data_name, fraction)
    chain = transitions(method, fit.q_hat, stage, eps, L, M, n, np.random.default_rng(seed))
    squares = chain.samples**2
    quantities = chain_log_likelihood(chain.samples, chain.energies, model), squares[:, 1:].sum(
        1), squares.sum(1)
    found = {what: initial_sequence(x) for what, x in zip(SUMS, quantities, strict=True)}
    return {what: [each.tau, each.se] for what, each in found.items()}


def run(experiment, cases):
    """Return {problem: {column: {one of SUMS: tau}}}."""
    sets = SETS if not isinstance(cases, StandIn) else {
        name: f"{STAND_IN}{k}" for k, name in enumerate(SETS)}
    tasks = [task for name, data_name in sets.items() for task in tables.chain_tasks(
        name, data_name, RUN, 1, LENGTH[experiment.budget], experiment.seed + FRESH)]
    done = iter(experiment.replicates(one_chain, tasks, "chains", warm=warm))
    return {name: {column: {what: Measured(*each) for what, each in next(done).items()}
                   for column in METHODS} for name in SETS}


def numbers(what):
    """Make the twelve claims that a printed tau is that of one of SUMS."""
    row, found = what.partition(",")[0], []
    for name in PROBLEMS:
        for method in METHODS:
            theirs, half = (f(name, row, method) for f in (number, half_unit))
            found.append(Claim(
                f"{name}, {method}: log({what} / {theirs:g})", f"{theirs:g}",
                lambda r, n=name, m=method, theirs=theirs: log(r[n][m][what] / theirs),
                np.log1p(-half / theirs), np.log1p(half / theirs), "rounding", "printed number",
                theirs=SE_LOG_TAU))
    return found


CLAIMS = [joint(f"Tables 1 and 2: all twelve {words}", numbers(what)) for what, words in (
    ("tau", "tau"), ("tau_beta", "tau_beta, of sum_j beta_j^2 as Section 3.3 has it"),
    ("tau_beta, alpha too", "tau_beta, of alpha^2 + sum_j beta_j^2"))]


def table(r):
    """Lay out the printed numbers beside ours."""
    rows = [[name, method, PROBLEMS[name].rows["tau"][method], brief(found["tau"]),
             PROBLEMS[name].rows["tau_beta"][method], *(brief(found[key]) for key in SUMS
                                                        if key != "tau")]
            for name, each in r.items() for method, found in each.items()]
    return "By initial sequences; a standard error in brackets\n\n" + text_table(
        rows, ["problem", "method", "tau: paper", "ours", "tau_beta: paper", "ours, beta",
               "ours, alpha and beta"])


def figure(r):
    """Draw ours over the printed tau_beta, with 2 standard errors of both in quadrature."""
    fig, ax = panels(1, 1, 4.6)
    cells = [(name, method) for name in r for method in METHODS]
    for k, what in enumerate(list(SUMS)[1:]):
        for y, (name, method) in enumerate(cells):
            value, se = log(r[name][method][what] / number(name, "tau_beta", method))
            middle, ends = log_bar(value, np.hypot(se, SE_LOG_TAU))
            ax.errorbar(middle, y + 0.3 * (k - 0.5), xerr=ends[:, None], fmt="os"[k],
                        color=COLOURS[k], ms=4, lw=1)
    style.row_labels(ax, [f"{name}: {method}" for name, method in cells])
    ax.axvline(1, color="0.7", lw=1, zorder=0)
    ax.set(xscale="log", xlabel=mathematics("tau_beta") + ", ours / the paper's",
           title="bars are 2 standard errors, theirs and ours")
    plain_log(ax.xaxis)
    style.legend_below(fig, handles=[
        mark("the sum of squares of " + mathematics(SUMS[what]), COLOURS[k], "os"[k])
        for k, what in enumerate(list(SUMS)[1:])])
    return fig


cases = datasets.finder(f"simulated; {STAND_IN}0 to 3", "simulated", datasets.statlog,
                        datasets.ctg, datasets.chess)
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
