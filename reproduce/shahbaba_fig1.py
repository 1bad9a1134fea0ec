"""Shahbaba, Lan, Johnson and Neal (2014), Figure 1: HMC against a random walk.

The figure shows 30 states of each; the claims need longer chains.

Run     python reproduce/shahbaba_fig1.py [--budget smoke|short|paper]
        The budgets differ in the length and the number of the chains.
Writes  figures/shahbaba_fig1.png, .txt (table and claims), .json; smoke and short in their folders
"""

from reproduce.harness.start import Study, main

import time
from typing import NamedTuple

import numpy as np

from algorithms.ess import initial_sequence
from algorithms.hmc import hmc
from algorithms.linear_theory import correlation_and_rate
from algorithms.random_walk import random_walk
from models.gaussian import Gaussian
from reproduce.harness.claims import Claim, Measured, brief, mean, text_table
from reproduce.harness.style import COLOURS, legend_below, panels

NAME, WHAT = "shahbaba_fig1", "HMC against a random walk"
MINUTES = {"paper": 1.0, "short": 0.2, "smoke": 0.05}

# The paper's settings (Section 1 and the caption of Figure 1)
MEAN = np.array([3.0, 3.0])
COVARIANCE = np.array([[1.0, 0.95], [0.95, 1.0]])
START = np.array([0.0, 0.0])
EPS, L = 0.15, 20  # HMC: step size, leapfrog steps
SCALE, THIN = 0.15, 20  # random walk: proposal deviation, transitions per state shown
SHOWN = 30  # states in each panel

# Our settings
LARGE = 1.0  # the "large proposal standard deviation" of footnote 1, which the paper does not give
METHODS = {"HMC": 0.0, "random walk": SCALE, "random walk, large steps": LARGE}
LENGTH = {"paper": 100_000, "short": 50_000, "smoke": 1000}  # states per chain for the claims
CHAINS = {"paper": 32, "short": 8, "smoke": 4}  # of each method
TIMED = {"paper": (10, 5000), "short": (5, 2000), "smoke": (2, 100)}  # rounds, states in each
WARMUP = 200  # states; nine autocorrelation times of the random walk


def sample(method, scale, n, seed):
    """Run one chain of n states, each 20 updates or leapfrog steps from the last."""
    model, rng = Gaussian(MEAN, np.linalg.inv(COVARIANCE)), np.random.default_rng(seed)
    if method == "HMC":
        return hmc(START, model, EPS, L, n, rng)
    return random_walk(START, model, scale, n, rng, THIN)


def one_chain(method, scale, n, seed):
    """Run one chain of n states; return what the claims need."""
    chain = sample(method, scale, n, seed)
    q = chain.samples[min(WARMUP, n // 5):]
    r = q[:, 0] - q[:, 0].mean()
    return {"lag_1": r[:-1] @ r[1:] / (r @ r), "tau": initial_sequence(q[:, 0]).tau,
            "jump": np.linalg.norm(np.diff(q, axis=0), axis=1).mean(),
            "rate": chain.accepted.mean(), "mean": q[:, 0].mean(),
            "covariance": np.mean(np.prod(q - MEAN, axis=1))}


def clock(rounds, n):
    """CPU seconds per state of each method, in turn; the first round loads what is compiled."""
    seconds = {method: [] for method in METHODS}
    for k in range(rounds + 1):
        for method, scale in METHODS.items():
            start = time.thread_time()
            sample(method, scale, n, k)
            seconds[method].append((time.thread_time() - start) / n)
    return {"seconds": {method: each[1:] for method, each in seconds.items()}}


def warm():
    """Compile everything in this process, before others start."""
    clock(1, 10)


class Estimates(NamedTuple):
    """What is estimated of a method."""

    lag_1: Measured  # autocorrelation of q_1
    tau: Measured  # autocorrelation time of q_1, in states
    jump: Measured  # distance of successive states
    rate: Measured  # of acceptance
    mean: Measured  # of q_1
    covariance: Measured  # of q_1 and q_2
    s: Measured  # CPU seconds of a state


class Result(NamedTuple):
    """What is estimated, and the states shown."""

    methods: dict  # {method: Estimates}
    s_ratio: Measured  # CPU time of a state, random walk / HMC
    theory: tuple  # of HMC: lag-1 autocorrelation, acceptance rate
    n: int  # states per chain
    shown: dict  # {method: its first states}


def run(experiment, cases):
    """Return the Result."""
    n, budget, seed = LENGTH[experiment.budget], experiment.budget, experiment.seed
    tasks = [dict(method=method, scale=scale, n=n, seed=[seed, index, k])
             for index, (method, scale) in enumerate(METHODS.items())
             for k in range(CHAINS[budget])]
    done = iter(experiment.replicates(one_chain, tasks, "chains", warm=warm))
    rounds, length = TIMED[budget]
    (times,) = experiment.replicates(clock, [dict(rounds=rounds, n=length)], "timings", warm=warm)
    methods = {}
    for method in METHODS:
        chains = [next(done) for _ in range(CHAINS[budget])]
        methods[method] = Estimates(
            *(mean([chain[name] for chain in chains]) for name in Estimates._fields[:-1]),
            s=mean(times["seconds"][method]))
    # of the same rounds, in turn: the times of a round have the state of the machine in common
    ratio = mean(np.divide(times["seconds"]["random walk"], times["seconds"]["HMC"]))
    shown = {method: sample(method, METHODS[method], SHOWN, [seed, index, 0]).samples
             for index, method in enumerate(("HMC", "random walk"))}
    return Result(methods, ratio, correlation_and_rate(COVARIANCE, EPS, L), n, shown)


CHAIN, WALK, BIG = METHODS
CLAIMS = [
    Claim("HMC lag-1 autocorrelation - theory", "theory: 0",
          lambda r: r.methods[CHAIN].lag_1 - r.theory[0], -0.01, 0.01,
          "numerical integration over the start and the momentum; the accepted width is a fifth of"
          " what the rejections change (-0.522 without them)", "ours"),
    Claim("HMC acceptance rate - theory", "theory: 0",
          lambda r: r.methods[CHAIN].rate - r.theory[1], -0.005, 0.005,
          "the same integral; a sixth of the rejections", "ours"),
    Claim("random walk lag-1 autocorrelation - |HMC's|", "order",
          lambda r: r.methods[WALK].lag_1 - abs(r.methods[CHAIN].lag_1), 0.0, 1.0,
          "Section 1: HMC's autocorrelations are smaller", "order"),
    Claim("autocorrelation time, random walk / HMC", "order",
          lambda r: r.methods[WALK].tau / r.methods[CHAIN].tau, 1.0, np.inf,
          "Section 1: HMC explores the distribution more efficiently, at the same 20 evaluations"
          " per state", "order"),
    Claim("mean jump, HMC / random walk", "order",
          lambda r: r.methods[CHAIN].jump / r.methods[WALK].jump, 1.0, np.inf,
          "Section 1: HMC's successive samples are further from each other", "order"),
    Claim("CPU time per state, random walk / HMC", "comparable", lambda r: r.s_ratio,
          10**-0.5, 10**0.5,
          "machine (ratios only): 20 evaluations of U (walk) against 20 of its gradient and one of"
          " U (HMC); the accepted interval is one power of ten, centred at 1", "printed sentence",
          budgets=("paper",), printed=1.0),
    Claim("autocorrelation time, random walk / with large steps", "order",
          lambda r: r.methods[WALK].tau / r.methods[BIG].tau, 1.0, np.inf,
          "footnote 1: in two dimensions large steps avoid the random walk", "order"),
    Claim("acceptance rate, random walk - with large steps", "order",
          lambda r: r.methods[WALK].rate - r.methods[BIG].rate, 0.0, 1.0,
          "footnote 1: large steps lead to a low acceptance probability", "order"),
    *[Claim(f"{m}: mean of q_1", "3", lambda r, m=m: r.methods[m].mean, 2.95, 3.05,
            "the target's; a twentieth of its standard deviation", "ours") for m in METHODS],
    *[Claim(f"{m}: covariance of q_1 and q_2", "0.95", lambda r, m=m: r.methods[m].covariance, 0.9,
            1.0, "the target's; a twentieth of the variance", "ours") for m in METHODS],
]


def table(r):
    """Lay out the methods side by side."""
    rows = [[method, f"{METHODS[method] or EPS:g}", *map(brief, found[:4]), brief(found.s * 1e6)]
            for method, found in r.methods.items()]
    rows.append(["HMC, theory", f"{EPS:g}", f"{r.theory[0]:.4f}", "", "", f"{r.theory[1]:.4f}", ""])
    header = ["method", "step", "lag-1 autocorrelation", "tau", "mean jump", "acceptance",
              "CPU us / state"]
    return (f"{r.n} states per chain, {THIN} updates or {L} leapfrog steps each; tau is Geyer's"
            " initial monotone\nsequence for q_1, in states; a standard error in brackets\n\n"
            + text_table(rows, header))


def figure(r):
    """Draw the paper's two panels: the first states of a chain over contours of the density."""
    fig, axes = panels(1, 2, 5.0, sharex=True, sharey=True)
    angle = np.linspace(0, 2 * np.pi, 200)
    ellipse = np.linalg.cholesky(COVARIANCE) @ [np.cos(angle), np.sin(angle)]
    titles = {"HMC": f"Hamiltonian Monte Carlo, {L} leapfrog steps",
              "random walk": f"Random walk Metropolis, every {THIN}th state"}
    for ax, (method, title) in zip(axes, titles.items(), strict=True):
        for radius in (1, 2, 3):
            ax.plot(*(MEAN[:, None] + radius * ellipse), color="0.75", lw=1,
                    label="1, 2 and 3 standard deviations")
        ax.plot(*np.vstack([START, r.shown[method]]).T, "o-", color=COLOURS[0], ms=4, lw=0.8,
                label=f"the first {SHOWN} states")
        ax.plot(*START, "s", color=COLOURS[1], ms=6, label="start")
        ax.set(title=title, xlabel=r"$q_1$", aspect="equal")
    axes[0].set_ylabel(r"$q_2$")
    legend_below(fig, axes[0])
    return fig


cases = "none, a bivariate normal"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
