"""Wang and Neal (2013), Figure 1: mapping to a discretizing chain and back, from a recorded run.

The paper's figure is a diagram: T-hat maps x to a realization of a Markov chain with one step
marked, T-bar moves the mark, T-check brings the marked state back.  Ours is drawn from a mapping
that took place, on data set 1 with a subset for pi*.  The claims are on many mappings.

Run     python reproduce/wang_fig1.py [--budget smoke|short|paper]
        Paper has eight chains of 250 mappings, short four of 60, smoke two of 20 with 60 cases.
Writes  figures/wang_fig1.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.slice_sampling import EVALUATIONS, Slice
from algorithms.wang_discretizing_chain_fast import State, discretizing_chain_step
from models.interface import log_likelihood_of, prepare
from reproduce.harness.claims import Claim, brief, mean, text_table
from reproduce.harness.style import COLOURS, mark, mathematics, panels
from reproduce.wang.datasets import approximation, order, posterior, scale_m
from reproduce.wang.printed import ROWS, SOD, quote

NAME, WHAT = "wang_fig1", "mapping to a discretizing chain and back"
MINUTES = {"paper": 1, "short": 0.3, "smoke": 0.1}

# The paper's settings (Table 2)
ROW = 1  # data set, and its m
M = ROWS[ROW].m[SOD]  # 40 of 300

# Our settings: with the paper's r = s = 1 there would be nothing to see
MOVES, STEPS = 8, 2  # r and s
WIDTH, MOST = 1.0, 10  # of a slice, in the units of a log
CASES = {"paper": None, "short": None, "smoke": 60}  # None: all
CHAINS = {"paper": 8, "short": 4, "smoke": 2}
MAPPINGS = {"paper": 250, "short": 60, "smoke": 20}  # in each chain; with pi itself a tenth
OWN = "pi itself"  # for pi*
FILLED = {True: dict(color="0.35"), False: dict(color="0.75", mfc="white")}  # where pi is known


def one_chain(which, n, mappings, seed):
    """Make mappings from the truth, R a sweep; pi* is a subset's, or pi itself.

    Returns sums over the mappings, means of the log likelihood, and one mapping to be drawn.
    """
    model, q = posterior(ROW, 0, n)
    star = model if which == OWN else approximation(model, SOD, scale_m(M, ROW, n),
                                                    order(ROW, 0, n))
    move = Slice(np.full(q.size, WIDTH), MOST, np.arange(q.size), False)
    rng, near = np.random.default_rng(seed), prepare(q, model)
    here = State(q, near.U, near, prepare(q, star))
    tally, star_tally = np.zeros(4, np.int64), np.zeros(4, np.int64)
    found = {name: 0 for name in ("accepted", "cached", "simulated", "needed")}
    marked, last, drawn, telling = [], [], None, False
    for _ in range(mappings):
        start = here
        here, chain = discretizing_chain_step(here, model, star, move, MOVES, STEPS, tally,
                                              star_tally, rng)
        first, end = chain.ends
        found["accepted"] += int(chain.accepted.sum())
        found["cached"] += int(chain.cached.sum())
        found["simulated"] += int(end - first)
        found["needed"] += int(max(0, chain.proposed.max()) - min(0, chain.proposed.min()))
        marked.append(np.mean([log_likelihood_of(chain.U[k], chain.q[k], model)
                               for k in chain.steps]))
        last.append(log_likelihood_of(here.U, here.q, model))
        if drawn is None or (is_telling(chain) and not telling):
            drawn, telling = record(chain, start, here), is_telling(chain)
    return found | {"density": int(tally[EVALUATIONS]), "star": int(star_tally[EVALUATIONS]),
                    "marked": np.mean(marked), "last": np.mean(last), "drawn": drawn,
                    "telling": telling}


def is_telling(chain):
    """Tell whether a mapping has all that there is to see, and steps on both sides."""
    hits = chain.cached.sum()
    return bool(2 <= hits < MOVES - 2 and 2 <= chain.accepted.sum() <= MOVES - 2
                and chain.ends.all() and chain.steps[-1] != 0)


def record(chain, start, here):
    """Return what the figure shows of a mapping: states by step, from first to last."""
    first, end = chain.ends
    steps = range(first, end + 1)
    return {"first": first, "q": [chain.q[k] for k in steps],
            "gap": [chain.U_star[k] - chain.U[k] if chain.known[k] else None for k in steps],
            "proposed": chain.proposed, "steps": chain.steps, "accepted": chain.accepted,
            "cached": chain.cached, "x": start.q, "x_": here.q}


class Mapping(NamedTuple):
    """One mapping: states by step, from the first one that was simulated to the last."""

    first: int  # the first step; the chain starts at step 0
    q: list  # state at each step
    gap: list  # log pi / pi* at each step; None where pi was not evaluated
    proposed: list  # step to which each move of the mark would go
    steps: list  # step at which it left the mark
    accepted: list  # whether it moved it
    cached: list  # whether pi was known at the proposed step
    x: list  # the state before
    x_: list  # the state after


class Counts(NamedTuple):
    """What was counted with one pi*: lists of a number for each chain."""

    accepted: list  # share of the moves of the mark
    cached: list  # share of the moves to a step where pi was known
    density: list  # evaluations of pi for each move
    star: list  # evaluations of pi* for each move
    idle: list  # steps simulated that no move needed
    missed: list  # evaluations of pi and steps where it was known, less the moves
    gap: list  # mean log likelihood of all marked states, less that of those brought back


class Result(NamedTuple):
    """What is drawn and what is counted."""

    drawn: Mapping
    chains: dict  # {pi*: Counts}


def run(experiment, cases):
    """Return the Result."""
    budget, number = experiment.budget, CHAINS[experiment.budget]
    mappings = {SOD: MAPPINGS[budget], OWN: MAPPINGS[budget] // 10}
    tasks = [dict(which=which, n=CASES[budget], mappings=mappings[which],
                  seed=[experiment.seed, k], cost=2 if which == OWN else 1)
             for which in (SOD, OWN) for k in range(number)]
    done = experiment.replicates(one_chain, tasks, "chains", None, warm)
    chains = {SOD: done[:number], OWN: done[number:]}
    # the first chain that has a telling mapping, or else the first one
    best = max(chains[SOD], key=lambda chain: chain["telling"])
    return Result(Mapping(**best["drawn"]), {which: Counts(
        *([chain[name] / (mappings[which] * MOVES) for chain in chains[which]]
          for name in ("accepted", "cached", "density", "star")),
        idle=[chain["simulated"] - chain["needed"] for chain in chains[which]],
        missed=[chain["density"] + chain["cached"] - mappings[which] * MOVES
                for chain in chains[which]],
        gap=[chain["marked"] - chain["last"] for chain in chains[which]]) for which in chains})


def warm():
    """Compile everything in this process, before others start."""
    for which in (SOD, OWN):
        one_chain(which, 10, 1, [0])


CLAIMS = [
    Claim("moves - evaluations of pi - cache hits, most of a chain", quote("cached"), lambda r: max(
        np.abs(r.chains[SOD].missed)), 0, 0, "a count: pi is evaluated once for each state",
        "ours"),
    Claim("steps simulated that no move needed, most of a chain", quote("needed"), lambda r: max(
        r.chains[SOD].idle), 0, 0, "a count: of the steps between the outermost proposals"
        " each is simulated, and no other", "ours"),
    Claim("pi* = pi: share of moves accepted", quote("accepts any"), lambda r: min(
        r.chains[OWN].accepted), 1.0, 1.0, "a count", "ours"),
    Claim("log likelihood, all marked states - those brought back", quote("all marked"),
          lambda r: mean(r.chains[SOD].gap), -0.2, 0.2, "both are means of valid draws: 0, up"
          " to a sixth of its standard deviation (3/2)^1/2; mean over chains", "printed sentence",
          budgets=("paper",)),
]


def table(r):
    """Lay out what was counted, means over chains."""
    rows = [[which, *(brief(mean(each)) for each in c[:4])] for which, c in r.chains.items()]
    return (f"Mappings with r = {MOVES}, s = {STEPS}, R a sweep, on data set {ROW}; for each move"
            " of the mark\n\n" + text_table(rows, ["pi*", "accepted", "pi known", "pi evaluated",
                                                   "pi* evaluated"]))


def figure(r):
    """Draw the mapping: X above, as states and arrows; Y below, as steps and moves."""
    fig, (above, below) = panels(2, 1, 8.4)
    states(above, r.drawn)
    realization(below, r.drawn)
    return fig


def states(ax, d):
    """Draw the chain's states in the plane of log eta and log rho."""
    q, known = np.array(d.q)[:, 1:3], [gap is not None for gap in d.gap]
    ax.plot(*q.T, color="0.8", lw=1, zorder=0)
    for k, (place, filled) in enumerate(zip(q, known, strict=True), d.first):
        ax.plot(*place, "o", ms=6, **FILLED[filled])
        ax.annotate(f"$x_{{{k}}}$", place, xytext=(9, 7 if k % 2 else -13),
                    textcoords="offset points")
    for name, place, colour in (("$x$", d.x, COLOURS[0]), ("$x'$", d.x_, COLOURS[4])):
        ax.plot(*place[1:3], "o", ms=13, mfc="none", mew=2, color=colour)
        ax.annotate(name, place[1:3], xytext=(-18, -5), textcoords="offset points", color=colour,
                    fontsize=12)
    ax.margins(0.08, 0.14)
    ax.set(xlabel=r"$\log\eta$", ylabel=r"$\log\rho$", title="X: the states of the chain (filled:"
           r" $\pi$ was evaluated there)")


def realization(ax, d):
    """Draw the steps of the chain from left to right, and the moves of the mark downwards."""
    ax.margins(0.06)
    steps = np.arange(d.first, d.first + len(d.q))
    for k, gap in zip(steps, d.gap, strict=True):
        ax.plot(k, 0, "s", ms=9, **FILLED[gap is not None])
        if gap is not None:
            ax.text(k, -0.45, mathematics(f"{gap - d.gap[-d.first]:+.1f}"), ha="center")
    arrow = {"arrowstyle": "->", "shrinkA": 7, "shrinkB": 7}
    for k in steps[:-1]:
        ends = ((k, 0), (k + 1, 0)) if k >= 0 else ((k + 1, 0), (k, 0))
        ax.annotate("", ends[1], ends[0], arrowprops=arrow | {"color": "0.6"})
        ax.text(k + 0.5, -0.4, "$R$" if k >= 0 else r"$\tilde R$", ha="center", va="center",
                color="0.4")
    here = 0
    for move, (to, now, accepted, cached) in enumerate(zip(d.proposed, d.steps, d.accepted,
                                                           d.cached, strict=True), 1):
        colour = COLOURS[0] if accepted else COLOURS[4]
        ax.annotate("", (to, move), (here, move - 1 if move > 1 else 0.1), arrowprops=arrow | {
            "color": colour, "ls": "-" if accepted else "--"})
        ax.plot(to, move, "o" if accepted else "x", ms=8, color=colour)
        if cached:
            ax.plot(to, move, "o", ms=15, mfc="none", color=COLOURS[2])
        if not accepted:
            ax.plot(here, move, "o", ms=8, color=COLOURS[0])
        here = now
    for name, k, row, colour in (("$x$", 0, 0, COLOURS[0]), ("$x'$", here, MOVES + 1, COLOURS[4])):
        ax.plot(k, row, "o", ms=15, mfc="none", mew=2, color=colour)
        ax.text(k - 0.22, row + (0.3 if row == 0 else 0), name, color=colour, va="center",
                fontsize=12)
    ax.annotate("", (here, MOVES + 1), (here, MOVES), arrowprops=arrow | {"color": COLOURS[0]})
    ax.legend(loc="lower left", handles=[
        mark("marked", COLOURS[0], ms=8), mark("rejected", COLOURS[4], "x", ms=8),
        mark(r"$\pi$ was known", COLOURS[2], ms=15, mfc="none")])
    ax.set_yticks(range(MOVES + 2), [r"$\hat{T}$", *map(str, range(1, MOVES + 1)), "\u0164"])
    ax.set(xticks=steps, ylim=(MOVES + 1.5, -0.9), xlabel="step k of the chain",
           ylabel=r"moves of the mark, $\bar T$", title=r"Y: the chain, with $\log \pi / \pi^*$"
           " less that at x, where known")


cases = f"data set {ROW}, simulated"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
