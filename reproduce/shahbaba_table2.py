"""Shahbaba, Lan, Johnson and Neal (2014), Table 2: three methods on three real data sets.

StatLog, CTG and Chess, with the encodings and classes of the authors' programs
(shahbaba/datasets.py); and Chess standardised, as the text may mean it and the program does not.
shahbaba/tables.py explains the estimates; the authors' variant of the normal approximation follows
the flow for 0.9 eps.

Run     python reproduce/shahbaba_table2.py [--budget smoke|short|paper]
        Short has chains of 4000 iterations instead of 50000.
Writes  figures/shahbaba_table2.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.fixed_flow_hmc import fixed_flow_hmc
from algorithms.hmc import hmc
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc
from reproduce.shahbaba import tables
from reproduce.shahbaba.chains import ALL, AUTHORS, JITTER, SHARE, problem, summarise, warm
from reproduce.shahbaba.datasets import STAND_IN, StandIn, chess, ctg, finder, statlog
from reproduce.shahbaba.printed import METHODS, MISPRINTS, N, sentence

NAME, WHAT = "shahbaba_table2", "three methods on three real data sets"
MINUTES = {"paper": 25, "short": 1.5, "smoke": 0.2}

# The paper's settings (Section 3.3.2) are with its numbers, in shahbaba/printed.py
SETS = {"StatLog": statlog, "CTG": ctg, "Chess": chess}
AS_THE_TEXT_SAYS = "Chess, standardised"

# Our settings
LENGTH = {"paper": N, "short": 4000, "smoke": 60}
CHAINS = {"paper": 3, "short": 2, "smoke": 1}  # of each method
FRESH = {"paper": 1000, "short": 0, "smoke": 0}  # added to the seed, so that no claim is tested
# at full length on chains that it could have been chosen on
PER_GRADIENT = {"StatLog": 4.0, "CTG": 1.5, "Chess": 2.7}  # relative time


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


class Table2(NamedTuple):
    """What is computed."""

    problems: dict  # {problem: {method: tables.Estimates}}
    standardised: dict  # {method: tables.Estimates}, of Chess as the text may mean it


def run(experiment, cases):
    """Run chains on the three data sets, and on Chess standardised: a Table2."""
    budget, tasks = experiment.budget, []
    on = {name: name for name in (*SETS, AS_THE_TEXT_SAYS)}
    if isinstance(cases, StandIn):
        on = {name: f"{STAND_IN}{k}" for k, name in enumerate(on)}
    for data_name in on:
        name = data_name.split(",")[0]
        methods, chains = (ALL, CHAINS[budget]) if data_name in SETS else (METHODS, 1)
        tasks += tables.chain_tasks(name, on[data_name], methods, chains, LENGTH[budget],
                                    experiment.seed + FRESH[budget], PER_GRADIENT[name])
    done = experiment.replicates(one_chain, tasks, "chains", tables.progress, warm)
    chains = tables.group(tasks, done)
    seconds = {name: tables.times(experiment, name, on[name]) for name in SETS}
    problems = {name: tables.summaries(chains[on[name]], seconds[name]) for name in SETS}
    return Table2(problems, tables.summaries(chains[on[AS_THE_TEXT_SAYS]], seconds["Chess"]))


SEEN = "2026-11-21T01:41"
KNOWN = {f"{name}, normal: AP{more}": tables.FLOW._replace(seen=SEEN) for name, more in (
    ("StatLog", ""), ("StatLog", ", tau and tau_beta at once, batch means"), ("Chess", ""))} | {
    sentence("Chess", "data", "normal", ("tau_beta x g",)):
        MISPRINTS["Chess", "data", "normal"]._replace(seen=SEEN)}
CLAIMS = [*tables.rows_at_once("Table 2", SETS),
          *(claim for name in SETS for claim in tables.claims_about(name, KNOWN))]


def table(r):
    """Lay out the table, a block for each problem."""
    blocks = [tables.laid_out(name, found) for name, found in r.problems.items()]
    return ("A standard error in brackets\n\n" + "\n\n".join(blocks)
            + "\n\nChess, standardised as the text's numerical variables are; the authors' program"
            " does not do it;\nits times, s, are those of Chess\n\n"
            + tables.laid_out("Chess", r.standardised))


def figure(r):
    """Draw the four products of every block of the table, with 2 standard errors."""
    fig = tables.dot_plot(r.problems)
    fig.suptitle("Table 2: three real data sets; bars are 2 standard errors")
    return fig


cases = finder(f"{STAND_IN}0 to 3", *SETS.values())
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
