"""Rivals of Paquet and Fraccaro (2016): what to use today for the evidence of GP classification.

Ours, not the paper's: its annealed importance sampling by RMHMC beside importance sampling from
EP's Gaussian, bridge sampling between that and elliptical slice sampling, annealing by elliptical
slices, and minimax tilting.  On the paper's problem, with 40 to 1540 cases, and on a grid of
covariances on which EP gets worse.  Each method has three sizes of a run (two with 1540 cases), and
five runs of each.  HMC is run on the paper's problem alone, tilting and RMHMC from the prior on up
to 767 cases.

Run     python reproduce/beyond/paquet_rivals.py [--budget smoke|short|paper]
        Short has fewer problems, sizes and runs; smoke also fewer cases.
Writes  figures/paquet_rivals.png, .txt (tables and claims), .json; smoke and short in their folders
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.ais import last_step
from algorithms.ep_correction import second_order
from reproduce.beyond.rivals.moments import as_one
from reproduce.harness.claims import Claim, Measured, Scan, brief, log, mean, smallest, text_table
from reproduce.harness.files import or_exit
from reproduce.harness.style import legend_below, panels, styles
from reproduce.paquet import evidence
from reproduce.paquet.digits import usps_3v5
from reproduce.paquet.evidence import LADDER, METHODS, RUNS, SCAN, SIZES, best, is_trusted, rows_of
from reproduce.paquet.problem import LOG_AMPLITUDE, LOG_LENGTH

NAME, WHAT = "paquet_rivals", "what to use for the evidence"
MINUTES = {"paper": 40, "short": 3, "smoke": 0.4}

# The paper's settings (Section 5): the covariance, in paquet/problem.py; its data set has 767 cases
PAPER = (767, LOG_LENGTH, LOG_AMPLITUDE)

# Our settings; the ladder of cases, the sizes of runs and their number are in paquet/evidence.py
GRID = {"paper": (100, (2.85, 3.85, 4.85, 5.85), (1.1, 3.1, 5.1, 7.1)),  # cases, log l, log sigma:
        "short": (100, (4.85,), (1.1, 7.1)),  # its own, and steps of 1 and 2 away from it
        "smoke": (40, (4.85,), (1.1,))}
REFERENCE = {"paper": 24, "short": 8, "smoke": 4}  # runs of it: see `reference`
COST = {"RMHMC": 7e-10, "HMC": 3e-8}  # seconds of a unit of size: times N^3, and N^2


def methods_of(key, budget):
    """Return {method: sizes} for a problem: HMC has a step for the paper's, RMHMC takes N^3."""
    N, found = key[0], {}
    for method in METHODS:
        sizes = SCAN[method][: min(SIZES[budget], 2 if N > PAPER[0] else 3)]
        slow = method == "AIS-RMHMC" and (N > PAPER[0] or (N == PAPER[0] and budget == "short"))
        if not slow and (method != "AISq-HMC" or key == PAPER) and (
                method != "tilting" or N <= PAPER[0]):
            found[method] = sizes
    return found


def reference(key, budget):
    """Return (method, size): tilting while its weights are bounded, else AIS by ellipses from q."""
    method = "tilting" if key[0] <= 365 else "AISq-ellipse"
    return method, SCAN[method][SIZES[budget] - 1]


class Result(NamedTuple):
    """What is known of each problem, a key (N, log l, log sigma), and of each method on it."""

    data: str
    keys: list
    rows: dict  # (key, method, size) -> Row
    truth: dict  # key -> Measured, log Z by other runs
    EP: dict  # key -> its error and that of the corrected EP, two Measured
    setup: dict  # key -> {what is set up: seconds}
    k: dict  # key -> Measured, of importance sampling
    last_step: dict  # key -> that of annealing from q


def run(experiment, cases):
    """Return the Result."""
    budget, runs = experiment.budget, RUNS[experiment.budget]
    N, lengths, amplitudes = GRID[budget]
    keys = [(n, LOG_LENGTH, LOG_AMPLITUDE) for n in LADDER[budget] if not (cases.note and n > 365)]
    keys += [(N, a, b) for a in lengths for b in amplitudes if (N, a, b) not in keys]
    tasks = []
    for place, key in enumerate(keys):
        wanted = [(*reference(key, budget), len(METHODS), REFERENCE[budget], 1)]
        for method, sizes in methods_of(key, budget).items():
            parts = runs if "RMHMC" in method and key[0] > 365 else 1  # a replicate for each run
            wanted += [(method, size, METHODS.index(method), runs // parts, parts)
                       for size in sizes]
        tasks += [evidence.task(
            experiment, cases.name, key, place, method, size, each, stream, part) | {
                "cost": 1e-3 + each * size * COST.get(method.split("-")[-1], 1e-9)
                * key[0] ** (3 if "RMHMC" in method else 2)}
                  for method, size, stream, each, parts in wanted for part in range(parts)]
    done = experiment.replicates(evidence.estimate, tasks, "runs", warm=evidence.warm)
    (times,) = experiment.replicates(evidence.clock, [dict(
        data_name=cases.name, plans=[[list(key), list(methods_of(key, budget))] for key in keys],
        rounds=3 if budget == "paper" else 2)], "timings", warm=evidence.warm)
    unit, setup = times["seconds"]["unit"], times["seconds"]["setup"]
    grouped = {}
    for each, found in zip(tasks, done, strict=True):
        stream = each["seed"][2]  # the reference has its own
        group = grouped.setdefault((tuple(each["problem_key"]), stream, each["size"]), {})
        for name, values in found.items():
            group.setdefault(name, []).extend(values)
    result = Result(cases.name, keys, {}, {}, {}, {}, {}, {})
    for key in keys:
        plan, (method, size) = methods_of(key, budget), reference(key, budget)
        truth = evidence.average(method, grouped[key, len(METHODS), size]["log_Z"])
        for method, sizes in plan.items():
            for size in sizes:
                result.rows[key, method, size] = evidence.put_together(
                    method, grouped[key, METHODS.index(method), size], truth,
                    mean(unit[f"{key}, {method}"]) * size)
        _, y, q = evidence.problem(cases.name, *key)
        result.truth[key] = truth
        result.EP[key] = tuple(Measured(log_Z) - truth
                                  for log_Z in (q.log_Z, q.log_Z + second_order(q, y)))
        result.k[key] = mean(grouped[key, 0, plan["IS from q"][-1]]["k"])
        result.last_step[key] = last_step(y, q)
        result.setup[key] = {name: setup.get(f"{key}, {name}", np.nan)
                                for name in ("q", "prior", "tilt")}
    return result


def log_cost_ratio(r, key, others):
    """Return log(cost of AISq-RMHMC / least cost of the others); infinite if one is not usable."""
    ours = best(r.rows, key, "AISq-RMHMC")
    theirs = [found for other in others if (found := best(r.rows, key, other))]
    if not ours or not theirs:
        return Measured(-np.inf if ours else np.inf, 1.0)
    return log(ours / min(theirs, key=lambda found: found.value))


def head(r):
    """Return the paper's problem, or at smoke what takes its place."""
    return PAPER if PAPER in r.keys else r.keys[0]


def largest(r, key, method):
    """Return the Row of the largest size."""
    return [*rows_of(r.rows, key, method).values()][-1]


def worst_z(r, method):
    """Return the largest |z| of all problems and sizes that are to be trusted, as one number's."""
    z = [abs(row.z) for (_, name, _), row in r.rows.items()
         if name == method and is_trusted(name, row)]
    return as_one(max(z), len(z)) if z else np.nan


def difficulties(r):
    """Return log(difficulty at the paper's covariance / the largest elsewhere on the grid)."""
    grid = [key for key in r.keys if key[0] == GRID["paper"][0]]
    senses = {"|EP error|": lambda key: abs(r.EP[key][0])} | {
        f"cost of {method}": lambda key, method=method: best(r.rows, key, method)
        or Measured(np.inf) for method in ("AISq-RMHMC", "bridge")}
    found = []
    for sense in senses.values():
        here, *others = [sense(key) for key in sorted(grid, key=lambda key: key[1:] != PAPER[1:])]
        most = max(others)
        found.append(log(here / most) if np.isfinite(most.value) else Measured(-np.inf))
    return Scan(tuple(senses), tuple(found))


def ep_error(r, end):
    """Return the mean |error| of EP where log sigma is the grid's least (0) or largest (-1)."""
    grid = [key for key in r.keys if key[0] == 100]
    amplitude = sorted({key[2] for key in grid})[end]
    errors = [abs(r.EP[key][0]) for key in grid if key[2] == amplitude]
    return sum(errors, Measured(0.0)) / len(errors)


LONGER = ("short", "paper")
CLAIMS = [
    Claim(f"log(difficulty at {PAPER[1:]} / the largest elsewhere on the grid)",
          '"this setting proved to be the hardest"', difficulties, 0.0, np.inf,
          "footnote 3, of the grid of Kuss and Rasmussen, which is not in the paper, nor is what is"
          " hard; ours has 100 cases, and is another", "printed sentence", budgets=("paper",)),
    Claim("|EP error|, largest sigma - least", "ours",
          lambda r: ep_error(r, -1) - ep_error(r, 0), 0.0, np.inf,
          "the larger sigma, the less Gaussian is a tilted density", "ours", budgets=LONGER),
    *[Claim(f"{method}: largest |z|, adjusted", "ours", lambda r, method=method: worst_z(r, method),
            0.0, 0.0, "standard errors of one normal number, by Student's distribution of so few"
            " runs; rows that are not to be trusted are left out", "ours", budgets=("paper",),
            theirs=1.0) for method in ("bridge", "AISq-ellipse")],
    Claim("bridge: error / own standard error, the paper's problem", "ours",
          lambda r: largest(r, head(r), "bridge").error / largest(r, head(r), "bridge").own,
          0.5, 2.0, "most draws; a standard error that is off by 2 is of no use", "ours",
          budgets=("paper",)),
    Claim("bridge: largest own standard error", "ours",
          lambda r: max(largest(r, key, "bridge").own for key in r.keys), 0.0, evidence.OWN,
          "most draws; beyond .3 q and the posterior hardly overlap", "ours", budgets=("paper",)),
    Claim("log(cost of AISq-RMHMC / bridge), the paper's problem", "ours",
          lambda r: log_cost_ratio(r, PAPER, ["bridge"]), 0.0, np.inf,
          "a draw takes 2 N^2 operations, a leapfrog step of RMHMC N^3", "ours",
          budgets=("paper",)),
    Claim("log(cost of AISq-RMHMC / best other), least", "ours",
          lambda r: smallest([log_cost_ratio(r, key, [m for m in METHODS if m != "AISq-RMHMC"])
                           for key in r.keys]), 0.0, np.inf,
          "over all problems; the same N^3 against N^2", "ours", budgets=("paper",)),
]


def verdict(r, key, method):
    """Say what a method costs on a problem, or why no size of it is usable."""
    rows = rows_of(r.rows, key, method)
    if not rows:
        return ""
    if found := best(r.rows, key, method):
        return f"{found.value:.2g}"
    return "void" if any(is_trusted(method, row) for row in rows.values()) else "broken"


def table(r):
    """Lay out costs by problem and method, and all sizes on the paper's problem."""
    # on which side of .7 k is nothing predicts: that is no claim
    problems = [[*map(str, key), f"{r.truth[key].value:.3f}", f"{r.truth[key].se:.3f}",
                 *(f"{error.value:+.3f}" for error in r.EP[key]), brief(r.k[key]),
                 f"{r.last_step[key]:.2f}", *(verdict(r, key, method) for method in METHODS)]
                for key in r.keys]
    key = head(r)
    sizes = [[method, size, row.runs, f"{row.log_Z.value:.3f}", f"{row.log_Z.se:.3f}",
              f"{row.error.value:.3f}", f"{row.own.value:.3f}", f"{row.z:+.1f}",
              f"{row.seconds.value:.2g}", f"{r.setup[key][evidence.set_up_of(method)]:.2g}",
              f"{evidence.operations(method, key[0]) * size / 1e9:.2g}",
              "" if np.isnan(row.evaluations) else f"{row.evaluations:.2f}",
              "" if is_trusted(method, row) else "not to be trusted"]
             for (place, method, size), row in r.rows.items() if place == key]
    return "\n\n".join([
        "IS: importance sampling; q: EP's Gaussian; bridge: bridge sampling; tilting: the normal"
        " integral by\nexponential tilting; ellipse: elliptical slice sampling\n"
        f"{r.data}; CPU seconds until log Z is known to {evidence.TOLD}, by the best of each"
        " method's sizes, without set-up;\nbroken: no size is to be trusted; void: those that are"
        " do not agree with the reference; k: tail\nindex of the weights of IS from q, not to"
        f" be trusted above {evidence.K_MAX}; last step: AIS from q with a shorter one\nhas weights"
        " of finite variance, and above 1 IS from q has them; EP, corrected: their errors; an"
        " empty\ncell: not run",
        text_table(problems, ["N", "log l", "log s", "log Z", "s.e.", "EP", "corrected", "k",
                              "last step", *METHODS]),
        f"N = {key[0]}, log l = {key[1]}, log sigma = {key[2]}; error: root mean square of a run;"
        " own: what it says itself;\nz: log Z less the reference in standard errors, as a normal"
        " number; seconds and Gflop of a run, set-up\nin seconds; evaluations of log L for each"
        " update of elliptical slices",
        text_table(sizes, ["method", "size", "runs", "log Z", "s.e.", "error", "own", "z",
                           "seconds", "set-up", "Gflop", "evaluations", ""])])


def figure(r):
    """Draw errors against seconds, costs against N, and the best method on the grid."""
    fig, (left, middle, right) = panels(1, 3, 4.6)
    key, how = head(r), dict(zip(METHODS, styles(len(METHODS), hollow=False), strict=True))
    for method, style in how.items():
        rows = [(row, is_trusted(method, row)) for row in rows_of(r.rows, key, method).values()]
        left.plot([row.seconds.value for row, _ in rows], [row.error.value for row, _ in rows],
                  label=method, **style | {"mfc": "none"})
        left.plot([row.seconds.value for row, good in rows if good],
                  [row.error.value for row, good in rows if good],
                  **style | {"ls": "", "mfc": style["color"]})
        ladder = [(place[0], found.value) for place in r.keys if place[1:] == PAPER[1:]
                  and place[0] != 100 and (found := best(r.rows, place, method))]
        middle.plot(*zip(*ladder, strict=True) if ladder else ([], []), **style)
    for error, marker, label in zip(r.EP[key], "*+", ("EP", "corrected EP"), strict=True):
        left.plot(r.setup[key]["q"], abs(error.value), marker, color="k", ms=8, ls="", label=label)
    left.set(xscale="log", yscale="log", xlabel="CPU seconds of a run",
             ylabel="root mean square error of a run (nats)",
             title=f"N = {key[0]}; hollow: not to be trusted")
    middle.set(xscale="log", yscale="log", xlabel="N", title="at the paper's covariance",
               ylabel=rf"CPU seconds until $\log Z$ is known to {evidence.TOLD}")
    middle.set_xticks([], minor=True)
    ladder = sorted({place[0] for place in r.keys if place[0] != 100})
    middle.set_xticks(ladder, map(str, ladder))
    for place in r.keys:
        if place[1:] != PAPER[1:] or place[0] == 100:
            costs = {m: found.value for m in METHODS if (found := best(r.rows, place, m))}
            winner = min(costs, key=costs.get, default=None)
            right.plot(place[2], place[1], **(how[winner] if winner else {"marker": "x"})
                       | {"ls": "", "ms": 8})
            right.annotate(f"{r.k[place].value:.2f}", place[2:0:-1], (0, -9), ha="center",
                           va="top", textcoords="offset points")
    right.set(xlabel=r"$\log\sigma$", ylabel=r"$\log\ell$",
              title="N = 100: the cheapest; $k$ of IS")
    right.margins(0.15, 0.2)
    legend_below(fig, left)
    fig.suptitle(f"Evidence of GP classification, {r.data}")
    return fig


def cases(settings):
    """Return the digits of USPS, or the embedded ones, of which there are 365."""
    return or_exit(usps_3v5, settings.data)


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
