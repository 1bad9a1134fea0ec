"""What Tables 1 to 4 of Zhang and Sutton (2014) have in common: settings, times and claims.

The paper tunes by hand, "so that the acceptance rate is around 70-85 %", and says nothing of the
step sizes.  We run pilot chains on a fixed grid of settings and take one by a rule that does not
look at the paper's results.  Of those whose acceptance rate is in the paper's range it takes the
one with the largest worst ESS per unit of cost: the worst over the parameters, the hyperparameters
and the squares of both, the cost in operations, not in seconds, which would be others in each run.

A printed ESS is the estimate of one run.  The paper's estimator ends its sum at a window of about
six autocorrelation times, so that the log of an ESS has a standard error of (12 / ESS)^1/2, of a
chain that mixes.  The least of many, and those of chains that mix badly, scatter more: where single
runs of ours do, a printed one is taken to scatter as they do.  At first it was not, and the columns
of a row were taken for independent: two rows then differed that no longer do.
"""

import time
import warnings
from functools import partial

import numpy as np

from reproduce.harness.claims import Claim, Measured, Scan, joint, joint_deviate, log, mean
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import COLOURS, MARKERS, legend_above
from reproduce.zhang.estimates import counts_dict, worst
from reproduce.zhang.printed import ACCEPTANCE, GIBBS, HMC, METHODS, SSHMC, half_unit, number

# a setting of each method, for what only compiles
SMALL = {HMC: {"eps": 0.01, "L": 2}, GIBBS: dict(eps_theta=0.1, eps_phi=0.1, L_theta=2, L_phi=2),
         SSHMC: dict(eps_theta=0.01, eps_phi=0.01, L=2, n_theta=2, n_phi=1)}


def pilot(setting, chains, weights, burn_in=0):
    """Return what `pick` needs of a setting's pilot chains, records of equal lengths.

    weights : {str: float} cost of each operation that the records count; others cost nothing
    burn_in : int          transitions left out of the rate and of the ESS; their cost is in
    """
    rates = [chain.accepted[burn_in:].mean(axis=0) for chain in chains]
    AP = sum(rates) / len(rates)
    return {"setting": setting, "AP": AP.tolist() if AP.ndim else [float(AP)],
            "ess": worst(chains, burn_in), "cost": sum(cost(c.counts, weights) for c in chains)}


def cost(counts, weights):
    """Return the cost of a record's operations: the weighted sum of its counts."""
    found = counts_dict(counts)
    return sum(weight * found[name] for name, weight in weights.items())


def pilot_chains(settings, chains, seed, weights, burn_in, chain):
    """Run pilot chains, chain(setting, rng), with each of `settings`, all with the same draws."""
    found = []
    for setting in settings:
        with warnings.catch_warnings(action="ignore"):  # some settings are never accepted
            runs = [chain(setting, np.random.default_rng([*seed, k])) for k in range(chains)]
        found.append(pilot(setting, runs, weights, burn_in))
    return {"pilots": found}


def tune(experiment, pilots, rows, weight, warm):
    """Run the pilot chains of all rows; return {row: its pilots}.

    pilots : function     what a replicate computes, by `pilot_chains`, of four settings
    rows   : {row: (its own arguments, settings that are tried, (chains, n, burn_in))}
    weight : function     (setting) -> about how long a transition takes, for the progress bar
    """
    tasks = {row: [arguments | dict(
        settings=settings[k : k + 4], chains=chains, n=n, burn_in=burn_in,
        seed=[experiment.seed, place],
        cost=sum(map(weight, settings[k : k + 4])) * chains * (n + burn_in))
        for k in range(0, len(settings), 4)]
        for place, (row, (arguments, settings, (chains, n, burn_in))) in enumerate(rows.items())}
    done = replicates_by_key(experiment, pilots, tasks, "groups of settings", warm=warm)
    return {row: [pilot for found in done[row] for pilot in found["pilots"]] for row in rows}


def efficiency(found):
    """Return the worst ESS per unit of cost of a pilot()."""
    return min(found["ess"].values()) / found["cost"]


def excess_rate(found, low=ACCEPTANCE[0], high=ACCEPTANCE[1]):
    """Return by how much the acceptance rates are outside [low, high], the worst block's."""
    return max(max(low - rate, rate - high, 0.0) for rate in found["AP"])


def pick(pilots, low=ACCEPTANCE[0], high=ACCEPTANCE[1]):
    """Return the pilot() that the rule takes.

    Of those whose acceptance rates are all in [low, high]: the most efficient.  If there are none,
    the most efficient of those that are outside by no more than 0.02 more than the nearest is.
    """
    if not pilots:
        raise ValueError("pilots must hold at least one pilot, but is empty")
    nearest = min(excess_rate(found, low, high) for found in pilots)
    margin = 0.02 if nearest > 0 else 0.0
    return max((found for found in pilots if excess_rate(found, low, high) <= nearest + margin),
               key=efficiency)


def scan_settings(tried, name):
    """Return {name: setting}: the most efficient of each name whose rate is in the paper's range.

    tried : list         of pilot(); if no rate is in the range, what the rule picks stands alone
    name  : function     (setting) -> what it has that the paper does not state, in words
    """
    inside = [found for found in tried if excess_rate(found) == 0] or [pick(tried)]
    best = {}
    for found in sorted(inside, key=efficiency):  # the last one stays
        best[name(found["setting"])] = found["setting"]
    return dict(sorted(best.items()))


def draw_pilots(ax, tried, work, scale=1.0):
    """Draw the worst ESS per `work`, `scale` units of cost, against the acceptance rate."""
    for (row, pilots), colour, marker in zip(tried.items(), COLOURS, MARKERS, strict=False):
        ax.plot([np.mean(p["AP"]) for p in pilots],
                [scale * min(p["ess"].values()) / p["cost"] for p in pilots], marker, ms=3,
                color=colour, label=row)
    ax.axvspan(*ACCEPTANCE, color="0.9", zorder=-1, label="the paper's 70-85 %")
    ax.set(yscale="log", xlabel="acceptance rate of the pilots (mean over blocks)",
           ylabel=f"worst ESS per {work}")
    legend_above(ax, 2)


def runs_by_setting(experiment, function, tasks, warm):
    """Run the tasks of {name: its tasks}; return {name: its results}."""
    return replicates_by_key(experiment, function, tasks, "chains", note=progress, warm=warm)


def progress(found):
    """Say the mean acceptance rate so far."""
    return f"acceptance rate {np.mean([np.mean(each['AP']) for each in found]):.2f}"


def clock_in_turn(rows, rounds, n, start, advance):
    """Return {"seconds": {row: CPU seconds of a transition, in each of `rounds`}}.

    n       : int          transitions of a row in a round
    start   : function     (row) -> theta, phi; each chain goes on where its last round ended
    advance : function     (row, theta, phi, n) -> the record of n transitions
    """
    ends, seconds = {}, {row: [] for row in rows}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for row in rows:
            theta, phi = ends[row] if row in ends else start(row)
            with warnings.catch_warnings(action="ignore"):
                begin = time.thread_time()
                chain = advance(row, theta, phi, n)
                seconds[row].append((time.thread_time() - begin) / n)
            ends[row] = chain.theta[-1], chain.phi[-1]
    return {"seconds": {row: each[1:] for row, each in seconds.items()}}


def split_scan(found, rows, between=", "):
    """Return {row: what was found}, and of the other keys {row: {the key's rest: what was found}}.

    found : {key: estimates}     a key of the scan is a row's name, `between` and what is open
    """
    scan = {row: {key.removeprefix(row + between): each for key, each in found.items()
                  if key not in rows and key.startswith(row + between)} for row in METHODS}
    return {row: found[row] for row in rows}, scan


def all_rows(r, more=()):
    """Return {what a line of a table is called: estimates}: of rows, of `more`, of the scan."""
    return r.rows | dict(more) | {f"{row}: {key}": found for row in r.scan
                     for key, found in r.scan[row].items()}


def by_the_rule(r, width):
    """Return the settings of the rows, a line each."""
    return "Settings, by the rule\n" + "\n".join(
        f"{row:{width}} {found.setting}" for row, found in r.rows.items())


def time_rows(experiment, clock, rows, timed, warm=None, **more):
    """Return {row: seconds of a transition, in each round}; timed: rounds, transitions of each."""
    rounds, n = timed
    (found,) = experiment.replicates(clock, [dict(rows=rows, rounds=rounds, n=n, **more)],
                                     "timings", warm=warm)
    return found["seconds"]


def time_ratio(a, b):
    """Return the time of a transition over another's, of the same rounds."""
    return mean(np.divide(a.seconds, b.seconds))


def advantage(a, b, measure, per="draws"):
    """Return log(ESS of a setting / of another), per draw, second or what a field counts."""
    cost = 1.0 if per == "draws" else time_ratio(a, b) if per == "seconds" else (
        getattr(a, per) / getattr(b, per))
    return log(getattr(a, measure)) - log(getattr(b, measure)) - log(cost)


def pairs(r, row, other, compare, measure=lambda found: np.mean(found.seconds)):
    """Scan a comparison of two methods over their settings at both ends: the rest is between.

    measure : function     (estimates) -> what is least at one end and largest at the other
    """
    def ends(found):
        order = sorted(found, key=lambda key: measure(found[key]))
        return [(key, found[key]) for key in dict.fromkeys((order[0], order[-1]))]

    return Scan(*zip(*[(f"{a} / {b}", compare(x, y)) for a, x in ends(r.scan[row])
                       for b, y in ends(r.scan[other])], strict=True))


full_claim = partial(Claim, budgets=("paper",))  # only runs of the paper's length can judge it


ROUNDING = ("rounding; a row of the table has one setting, and the paper does not state it: its"
            " columns are judged together.  The log of an ESS, whose window is six autocorrelation"
            " times, has a standard error of (12 / ESS)^1/2 at least; our error has what single"
            " runs of ours scatter beyond that, which a printed run does too")


def log_error(*ess):
    """Return the standard error of a sum or difference of the logs of printed ESS."""
    return sum(12 / each for each in ess) ** 0.5


def ratio_to_a_run(runs, printed, like=None):
    """Return the mean of log(ESS of our runs / a printed one), of one run, as Measured.

    like : list     ESS of runs that scatter as a printed one does, if others than ours

    The error that the claim has for the printed run is that of theory.  What runs scatter beyond
    it is added to ours.  If a run never moved it is nan, and so is what is returned.
    """
    theory = log_error(printed)
    one = np.maximum(np.log(runs if like is None else like).std(ddof=1), theory)
    return Measured(float(np.log(runs).mean() - np.log(printed)), float(np.hypot(
        one / len(runs) ** 0.5, (one**2 - theory**2) ** 0.5)))


def ess_claims(table, rows, columns, prefix="", settings=lambda r, row: r.scan[row],
               alike=lambda r, row, setting, found: found, draws=lambda found: 1.0):
    """Make the claims about the printed ESS of all rows: a joint test of each row, then each.

    prefix   : str         of the names of the columns "min", "med" and "max"
    settings : function    (result, row) -> {what the paper does not state: estimates}, which have
                           the ESS of each run in `each`, a list for each of `columns`
    alike    : function    (result, row, setting, estimates) -> estimates whose runs scatter as a
                           printed one does
    draws    : function    (estimates) -> draws of a run, of those that the paper has
    """
    def claim(row, column):
        printed, half = number(table, row, column), half_unit(table, row, column)
        name = prefix * (column in ("min", "med", "max")) + column

        def relative(result):
            found = settings(result, row)
            return Scan(tuple(found), tuple(
                ratio_to_a_run(each.each[column], printed * draws(each),
                         alike(result, row, setting, each).each[column])
                for setting, each in found.items()))

        return Claim(f"{row}: log(ESS of {name} / {printed:g})", f"{printed:g}", relative,
                     np.log1p(-half / printed), np.log1p(half / printed), ROUNDING,
                     "printed number", None, ("paper",), log_error(printed),
                     f"{table}, {row}", f"{table}, {row}, {column}")

    each = {row: [claim(row, column) for column in columns] for row in rows}
    return [*(joint(f"{row}: its printed ESS together", each[row], independent=False)
              for row in rows), *(one for row in rows for one in each[row])]


def acceptance_claims(rows, blocks, margin=0.0, known=None):
    """Make the checks that settings of ours have the paper's acceptance rate in long runs."""
    return [Claim(f"{row}: acceptance rate{f' of {block}' * (row == GIBBS)}",
                  "ours: by pilots we have the paper's 70-85%",
                  lambda r, row=row, k=k: r.rows[row].AP[k], ACCEPTANCE[0] - margin,
                  ACCEPTANCE[1] + margin, "the range of the sentence"
                  + ", around which is 0.02 either way" * bool(margin) + ": ours, the rule takes a"
                  " setting that was inside it in pilot chains", "ours", (known or {}).get(row),
                  ("paper",))
            for row in rows for k, block in enumerate(blocks[: 1 + (row == GIBBS)])]


def nearest_setting(r, row, ess):
    """Return (name, estimates) of the setting of a row whose ESS are nearest to the printed ones.

    ess : list     claims of ess_claims
    """
    claims = [claim for claim in ess if claim.row.endswith(f", {row}")]
    scans = [claim.ours(r) for claim in claims]
    best = min(range(len(r.scan[row])), key=lambda k: np.nan_to_num(joint_deviate(
        claims, [scan.found[k] for scan in scans], independent=False)[0], nan=np.inf))
    return list(r.scan[row].items())[best]


def times_claim(table, row, other, why, ess, times=None):
    """Make the claim that the printed times of two rows are in our proportion, to a factor of two.

    ess   : list     claims of ess_claims: each row has the setting that comes nearest to its ESS
    times : list     readings of the printed time of `row`, if there are several
    """
    theirs = sorted(t / number(table, other, "time") for t in times or [number(table, row, "time")])

    def ours(r):
        (a, x), (b, y) = nearest_setting(r, row, ess), nearest_setting(r, other, ess)
        return Scan((f"{a} / {b}",), (time_ratio(x, y),))

    return Claim(f"time of {row} / {other}", " or ".join(f"{t:.2f}" for t in theirs), ours,
                 theirs[0] * 0.5, theirs[-1] * 2,
                 "machine (ratios only): their overhead of a step is not ours, within a factor of"
                 f" two; {why}: those that come nearest to the printed ESS", "printed number",
                 None, ("paper",), printed=theirs[0],
                 undecided="their settings decide it: more of our runs would not tell")
