"""Studies of rivals: a row for each method on each problem, its settings by pilots, and claims.

A method that does not tune itself has a pilot chain with each of its settings.  The one that is
taken has the largest worst effective sample size per unit of work, of those whose pilot has ENOUGH
effective draws.  Each row then has CHAINS chains, which rivals/moments.py believes or not.
"""

import numpy as np

from reproduce.beyond.rivals.moments import distance_of_rows, halves_apart, row_of, scale_log
from reproduce.harness.claims import Claim, brief, text_table
from reproduce.harness.style import log_bar

CHAINS = 4
ENOUGH = 50  # effective draws of a pilot: with less a setting is taken if none has more
TAKEN = (f"Settings taken: the most efficient of those whose pilots had {ENOUGH} effective draws,"
         " or of all if none had")
SMALL_TREES = {"deepest": 5}  # NUTS under the clock: a gradient is as expensive in small trees
PER = {"unit of work": "per gradient", "CPU second": "per second"}


def run_rows(experiment, functions, runs, scan, arguments, nuts, cost, timed, warm):
    """Run pilots, rows and the clock of a study; return {(problem, method): its row}.

    functions : tuple      the pilot, the row of chains and the clock, which are replicates
    runs      : dict       {key: draws of a chain, transitions before them, draws of a pilot}
    scan      : dict       {key: settings that are tried}; without a setting are those of NUTS
    arguments : function   (key) -> the first arguments of functions, by name
    nuts      : dict       setting of NUTS
    cost      : function   (key) -> about milliseconds of a draw, for the progress bar
    timed     : tuple      rounds of the clock, transitions
    warm      : function   compiles everything
    A row is that of moments.row_of, with its setting and the units of work before its draws.
    """
    pilot, row_of_chains, clock = functions

    def task(key, setting, n, **more):
        return arguments(key) | dict(method=key[1], setting=setting, n=n, cost=cost(key) * n,
                                     **more)

    tasks = [task(key, setting, runs[key][2], seed=[experiment.seed, place])
             for place, (key, settings) in enumerate(scan.items(), 100) for setting in settings]
    done = iter(experiment.replicates(pilot, tasks, "pilots", warm=warm))
    pilots = {key: [next(done) for _ in settings] for key, settings in scan.items()}
    setting = {key: pick(scan[key], pilots[key]) if key in scan else nuts for key in runs}
    tasks = [task(key, setting[key], n, burn_in=burn_in, chains=CHAINS,
                  seed=[experiment.seed, place])
             for place, (key, (n, burn_in, _)) in enumerate(runs.items())]
    found = dict(zip(runs, experiment.replicates(row_of_chains, tasks, "rows", warm=warm),
                     strict=True))
    rounds, n = timed
    (times,) = experiment.replicates(clock, [dict(rounds=rounds, rows={
        ", ".join(key): [*arguments(key).values(), key[1],
                         setting[key] if key in scan else SMALL_TREES, n] for key in runs})],
        "timings", warm=warm)
    return {key: row_of(found[key], times["seconds"][", ".join(key)]) | {
        "setting": setting[key],
        "before": sum(each["set_up"] for each in found[key]["chains"])
        + sum(each["gradients"] for each in pilots.get(key, []))} for key in runs}


def pick(settings, pilots):
    """Return the setting whose pilot has the largest efficiency, of those with ENOUGH draws."""
    return max(zip(settings, pilots, strict=True),
               key=lambda pair: (pair[1]["ess"] >= ENOUGH, pair[1]["efficiency"]))[0]


def order(name, better, other, per, note="each at its best setting by pilots, NUTS as it tunes"
          " itself", seen=False):
    """Make the claim that a method is ahead of another on a problem; seen: the run showed it."""
    if seen:
        note = "what an earlier run showed; before it we expected the opposite"
    return Claim(f"{name}: log(worst ESS per {per}, {better} / {other})",
                 "ours, after the run" if seen else "ours",
                 lambda r: r[name, better][PER[per]] - r[name, other][PER[per]], 0.0, np.inf,
                 f"order: {note}", "ours", budgets=("paper",),
                 undecided="both are believed, and no further apart than their errors")


def agreement(keys, references):
    """Make the claims that rows agree with a method, {problem: method}, and with themselves."""
    return [
        *[Claim(f"{name}, {method}: largest |z| against {references[name]}, adjusted", "ours",
                lambda r, name=name, method=method: distance_of_rows(
                    r[name, method], r[name, references[name]]), 0, 4,
                "means and standard deviations of all quantities; adjusted: the probability of the"
                " largest of so many, as a deviate of one normal number.  It agrees up to 4, not 2,"
                " since many rows are compared.  Chains that the rule of trust does not believe"
                " are compared with none", "ours",
                budgets=("paper",)) for name, method in keys if method != references[name]],
        Claim("largest |z| between two chains and the other two of a row, adjusted", "ours",
              lambda r: halves_apart(r.values()), 0, 4, "the same method against itself, in all"
              " rows that are believed: whether errors are as large as they are said to be",
              "ours", budgets=("paper",))]


def table_of_rows(r):
    """Lay out the rows: what their chains took, whether they are believed, and efficiencies."""
    rows = []
    for (name, method), each in r.items():
        f = each["together"]
        rows.append([name, method, f.n, f"{f.gradients / f.n:.3g}", f"{each['before']:.2g}",
                     f"{f.rate:.2f}", f.divergences or "", *trust(each),
                     *([brief(scale_log(each["per gradient"], 1000)),
                        brief(scale_log(each["per second"], 1))]
                       if each["believed"] else ["not believed", ""])])
    return text_table(rows, ["problem", "method", "draws", "work", "before", "rate", "div.",
                             "R-hat", "bulk", "tail", "E-BFMI", "per 1000 units", "per CPU s"])


def trust(row):
    """Return the cells of a row with its worst R-hat, least bulk and tail ESS, and E-BFMI."""
    return [f"{row['rhat']:.3f}", f"{row['bulk']:.0f}", f"{row['tail']:.0f}",
            "" if np.isnan(row["e_bfmi"]) else f"{row['e_bfmi']:.2f}"]


def draw_efficiency(ax, y, row, log_value, scale=1.0, **how):
    """Draw the value of a row with 2 standard errors, or in words that it is not believed."""
    if row["believed"]:
        middle, ends = log_bar(*log_value, scale)
        ax.errorbar(middle, y, xerr=ends[:, None], **how)
    else:
        ax.text(0.5, y, "not believed", transform=ax.get_yaxis_transform(), ha="center",
                va="center", color="0.4")
