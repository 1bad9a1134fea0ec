"""Zhang and Sutton (2014), Figure 2: histograms of the hyperparameters of stochastic volatility.

From left to right phi, sigma and beta, by three methods: 20000 draws after 10000.  The runs are
those of the rows of Table 3 (zhang/volatility.py), with which they are stored.  How fast a
method converges is measured twice: by the transitions until its hyperparameters first are within 3
posterior standard deviations of the posterior means, all three, from a start far outside; and by
how far the histogram of a run's first twentieth is from that of all draws of all methods.

Run     python reproduce/zhang_fig2.py [--budget smoke|short|paper] [--data DIR]
        Paper has ten runs of each method, of which the figure shows one; short two of 1500.
        After zhang_table3 at the same budget it takes seconds.
Writes  figures/zhang_fig2.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import warnings
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models.stochastic_volatility import StochasticVolatility
from reproduce.harness.claims import Measured, average, brief, exponential, log, mean, text_table
from reproduce.harness.style import COLOURS, legend_below, panels
from reproduce.zhang import datasets, volatility
from reproduce.zhang.comparison import full_claim, pilot_chains
from reproduce.zhang.datasets import load
from reproduce.zhang.estimates import in_blocks
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, VOLATILITY, quote
from reproduce.zhang.volatility import EVERY, JITTER, NAMES, TRUTH, WEIGHTS, run_in_numbers, start

NAME, WHAT = "zhang_fig2", "hyperparameters of the stochastic volatility model"
MINUTES = {"paper": 80, "short": 1.5, "smoke": 0.5}

# The paper's settings (caption of Figure 2) are with its numbers, in zhang/printed.py
ORDER = ("phi", "sigma", "beta")  # from left to right

# Our settings
ROWS = "zhang_table3"  # the script whose runs they are
NEAR = 3.0  # posterior standard deviations


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


class Speed(NamedTuple):
    """How fast the runs of a setting converge, means over the runs."""

    arrival: Measured  # log of the transitions until all hyperparameters are NEAR the posterior's
    early: Measured  # log of the distance of the early histogram from that of all draws


class Posterior(NamedTuple):
    """What the runs of a method say of the hyperparameters."""

    mean: dict  # {name: Measured}
    sd: dict
    speed: Speed
    histogram: list  # of the first run, counts for each of NAMES
    outside: list  # draws outside of the bins, in all runs


class Figure2(NamedTuple):
    """What is computed."""

    n: int  # draws of a run
    runs: int  # of each method
    rows: dict  # {method: Posterior}
    sd: dict  # {name: posterior standard deviation, by all methods}
    scan: dict  # {method: {what is open: Speed}}


def run(experiment, cases):
    """Run the chains of Table 3, or take what is stored: a Figure2."""
    _, own, others = volatility.all_runs(
        experiment.of(ROWS), cases.name, pilots, one_chain)
    rows = {method: volatility.estimates(runs) for method, runs in own.items()}
    centre = [average([row.mean[name] for row in rows.values()]).value for name in NAMES]
    spread = [average([row.sd[name] for row in rows.values()]).value for name in NAMES]
    total = np.sum([run["phi"]["histogram"] for each in own.values() for run in each.runs], axis=0)

    def speed(found):
        return Speed(
            mean([np.log(arrival(run["burn_in"], centre, spread)) for run in found.runs]),
            mean([np.log(distance(run["early"], total)) for run in found.runs]))

    return Figure2(
        own[HMC].runs[0]["n"], len(own[HMC].runs), {method: Posterior(
            rows[method].mean, rows[method].sd, speed(found), found.runs[0]["phi"]["histogram"],
            np.sum([run["phi"]["outside"] for run in found.runs], axis=0).tolist())
            for method, found in own.items()}, dict(zip(NAMES, spread, strict=True)),
        {method: {key: speed(found) for key, found in each.items()}
         for method, each in others.items()})


def arrival(burn_in, centre, spread):
    """Return after how many transitions all hyperparameters first are NEAR the posterior's."""
    z = (np.array(burn_in["phi"]) - centre) / spread
    near = np.flatnonzero((np.abs(z) <= NEAR).all(axis=1))
    return burn_in["times"][near[0] if near.size else -1]


def distance(counts, reference):
    """Return the total variation between histograms, the mean over the three hyperparameters."""
    p, q = (np.array(h) / np.maximum(1, np.sum(h, axis=1, keepdims=True))
            for h in (counts, reference))
    return np.abs(p - q).sum(axis=1).mean() / 2


SAME = "over ten runs; one run of HMC, as in the figure, may be off.  The same"
CLAIMS = [
    *[full_claim(f"{method} - {SSHMC}: mean of {name} / posterior sd", quote("same histograms"),
                 lambda r, method=method, name=name: (
                     r.rows[method].mean[name] - r.rows[SSHMC].mean[name]) / r.sd[name], -0.2, 0.2,
                 f"{SAME} means: within a fifth of a posterior standard deviation, in the"
                 " coordinates log beta, log sigma, atanh phi",
                 "printed sentence") for method in (HMC, GIBBS) for name in ORDER],
    *[full_claim(f"log(sd of {name}, {method} / {SSHMC})", quote("same histograms"),
                 lambda r, method=method, name=name: log(r.rows[method].sd[name]) - log(
                     r.rows[SSHMC].sd[name]), -0.2, 0.2,
                 f"{SAME} widths: within a factor of 1.22",
                 "printed sentence") for method in (HMC, GIBBS) for name in ORDER],
    *[full_claim(f"{method}: |mean - truth| / posterior sd, the largest",
                 "Figure 2: all three methods produce accurate estimates",
                 lambda r, method=method: max(
                     abs(r.rows[method].mean[name] - truth) / r.sd[name]
                     for name, truth in zip(NAMES, TRUTH, strict=True)), 0.0, 3.0, "the truth is"
                 " where a posterior has it: within 3 standard deviations", "printed sentence")
      for method in METHODS],
    *[full_claim(f"log({what}, {HMC} / {method})", quote("converge faster"),
                 lambda r, method=method, key=key: volatility.extremes(
                     r.scan, HMC, method, lambda a, b: getattr(a, key) - getattr(b, key)),
                 0.0, np.inf, f"order: {why}.  The settings are not stated", "order")
      for what, key, why in (
          ("transitions to arrive", "arrival", "from beta = sigma = phi = 0.5, until all are within"
           " 3 posterior standard deviations of the means, to a fifth"),
          ("distance of early histograms", "early", "total variation between the histogram of a"
           " twentieth of a run and that of all draws of all methods"))
      for method in (GIBBS, SSHMC)],
]


def table(r):
    """Lay out posterior means and standard deviations, and how fast they are reached."""
    lines = []
    for method in METHODS:
        found = r.rows[method]
        lines.append([method, *(f"{brief(found.mean[name])}, {brief(found.sd[name])}"
                                for name in ORDER),
                      *(brief(exponential(each)) for each in found.speed),
                      " ".join(map(str, found.outside))])
    truth = dict(zip(NAMES, TRUTH, strict=True))
    lines.append(["truth", *(f"{truth[name]:.4g}" for name in ORDER), "", "", ""])
    return text_table(lines, [f"{r.runs} runs of {r.n}", "atanh phi: mean, sd",
                              "log sigma: mean, sd", "log beta: mean, sd", "arrival",
                              "early distance", "outside the bins"]) + (
        "\n\nStart: beta, sigma, phi = " + ", ".join(
            f"{v:.2g}" for v in (*np.exp(volatility.START[:2]), np.tanh(volatility.START[2])))
        + "\narrival: transitions until all three are near the posterior's; early distance: of the"
        " histogram of\na first twentieth from that of all draws, total variation; outside the"
        " bins: draws, of each parameter")


def figure(r):
    """Draw the histograms of one run of each method, phi, sigma and beta from left to right."""
    fig, axes = panels(1, 3, 3.6)
    for ax, name in zip(axes, ORDER, strict=True):
        k = NAMES.index(name)
        for colour, method in zip(COLOURS, METHODS, strict=False):
            density = r.rows[method].histogram[k] / np.diff(volatility.EDGES[k]) / r.n
            ax.stairs(density, volatility.EDGES[k], color=colour, label=method, lw=1.3)
        ax.axvline(VOLATILITY[name], color="k", lw=0.8, ls="--", label="true value")
        ax.set(xlabel=rf"$\{name}$", ylim=(0, None))
        ax.locator_params(axis="x", nbins=5)
    axes[0].set(ylabel="density")
    legend_below(fig, axes[0])
    fig.suptitle(f"Figure 2: hyperparameters of stochastic volatility, one run of {r.n} draws"
                 " of each method")
    return fig


def cases(settings):
    """Return the data of Girolami and Calderhead, or simulated ones."""
    return datasets.volatility(settings.data)


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
