"""Shahbaba, Lan, Johnson and Neal (2014), Table 1: three methods on simulated data.

First the paper's own data set (R's generator, seed 2011), then four others made in the same way, so
that the spread between data sets is known; and the authors' variant of the normal approximation,
whose flow of U_0 lasts 0.9 eps in every step while the kicks follow the random step.
shahbaba/tables.py explains the estimates.

Run     python reproduce/shahbaba_table1.py [--budget smoke|short|paper]
        Short has chains of 2000 iterations on the paper's data and 300 on the others.
Writes  figures/shahbaba_table1.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.fixed_flow_hmc import fixed_flow_hmc
from algorithms.hmc import hmc
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc
from reproduce.harness.claims import brief, text_table
from reproduce.shahbaba import tables
from reproduce.shahbaba.chains import ALL, AUTHORS, JITTER, SHARE, problem, summarise, warm
from reproduce.shahbaba.datasets import SIMULATED
from reproduce.shahbaba.printed import METHODS, PROBLEMS, N

NAME, WHAT = "shahbaba_table1", "three methods on simulated data"
MINUTES = {"paper": 55, "short": 2, "smoke": 0.25}

# The paper's settings (Section 3.3.1) are with its numbers, in shahbaba/printed.py
OWN = SIMULATED + "2011"

# Our settings
OTHERS = [SIMULATED + str(seed) for seed in (1, 2, 3, 4)]
LENGTH = {"paper": N, "short": 2000, "smoke": 100}
CHAINS = {"paper": 2, "short": 2, "smoke": 1}  # of each method on the paper's own data
LENGTH_OTHERS = {"paper": N, "short": 300, "smoke": 20}  # one chain of each method


def one_chain(data_name, method, eps, L, M, fraction, n, seed):
    """Run one chain of n transitions from the posterior mode; return what the table needs."""
    model, fit, split = problem(data_name, fraction)
    rng = np.random.default_rng(seed)
    if method == "HMC":
        chain = hmc(fit.q_hat, model, eps, L, n, rng, jitter=JITTER)
    elif method == "data":
        chain = data_split_hmc(fit.q_hat, model, split, eps, L, M, n, rng, JITTER)
    elif method == AUTHORS:
        chain = fixed_flow_hmc(fit.q_hat, model, fit, eps, L, n, rng, JITTER, SHARE)
    else:
        chain = normal_split_hmc(fit.q_hat, model, fit, eps, L, n, rng, JITTER)
    return summarise(chain, model, split, method, L, M)


class Table1(NamedTuple):
    """What is computed."""

    problems: dict  # {"Simulated": {method: tables.Estimates}}, of the paper's own data set
    data_sets: dict  # {seed: {method: tables.Estimates}}, that data set among them


def run(experiment, cases):
    """Run chains on the paper's own data set and on four others: a Table1."""
    budget, seed = experiment.budget, experiment.seed
    tasks = tables.chain_tasks("Simulated", OWN, ALL, CHAINS[budget], LENGTH[budget], seed)
    for other in OTHERS if budget != "smoke" else OTHERS[:1]:
        tasks += tables.chain_tasks("Simulated", other, METHODS, 1, LENGTH_OTHERS[budget], seed)
    done = experiment.replicates(one_chain, tasks, "chains", tables.progress, warm)
    chains, seconds = tables.group(tasks, done), tables.times(experiment, "Simulated", OWN)
    data_sets = {data_name.removeprefix(SIMULATED): tables.summaries(chains[data_name], seconds)
                 for data_name in chains}
    return Table1({"Simulated": data_sets["2011"]}, data_sets)


FLOW = tables.FLOW._replace(seen="2026-11-21T01:38")
CLAIMS = [*tables.rows_at_once("Table 1", ["Simulated"]), *tables.claims_about("Simulated", {
    f"Simulated, normal: {what}": FLOW
    for what in ("AP", "AP, tau and tau_beta at once, batch means")})]


def table(r):
    """Lay out the table, and the data sets side by side."""
    rows = []
    for seed, found in r.data_sets.items():
        for method in METHODS:
            AP, g = found[method].AP, found[method].g
            tau, tau_beta = (found[method].tau[row, "initial sequence"] for row in tables.ROWS)
            rows.append([seed, method, *map(brief, (AP, tau, tau_beta, tau * g, tau_beta * g))])
    own = r.problems["Simulated"]
    sizes = ", ".join(f"{found.chains} x {found.batches}" for found in own.values())
    return (f"The paper's own data set; chains x batches: {sizes}; a standard error in brackets\n\n"
            f"{tables.laid_out('Simulated', own)}\n\n{len(r.data_sets)} data sets, by"
            " R's seed (2011 is the paper's), tau by initial sequences\n\n"
            + text_table(rows, ["seed", "method", "AP", "tau", "tau_beta", "tau x g",
                                "tau_beta x g"]))


def figure(r):
    """Draw the four products of the table with 2 standard errors, and the other data sets."""
    fig = tables.dot_plot(r.problems,
                          [found for seed, found in r.data_sets.items() if seed != "2011"])
    fig.suptitle(f"Table 1: simulated data, n = {PROBLEMS['Simulated'].n}, p ="
                 f" {PROBLEMS['Simulated'].p}; bars are 2 standard errors")
    return fig


cases = OWN
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
