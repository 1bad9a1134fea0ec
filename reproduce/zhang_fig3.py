"""Zhang and Sutton (2014), Figure 3: what RMHMC within Gibbs and SSHMC find on the Cox process.

Both run on the first data set of the unit square, with the settings of Table 4 (zhang/cox.py), and
so does NUTS in non-centred coordinates.  Below are the ten data sets of Table 4, and what the paper
leaves to its source: the 64 x 64 counts of Girolami and Calderhead (2011), by SSHMC.

Run     python reproduce/zhang_fig3.py [--budget smoke|short|paper]
        Paper has Table 4's scan, 4 chains of 5000 (NUTS: 1000), and 8 of 1000 on 64 x 64.
Writes  figures/zhang_fig3.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import math
import warnings
from typing import NamedTuple

import numpy as np
from scipy.stats import gamma

from algorithms.hmc import hmc
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from reproduce.harness.claims import brief, exponential, text_table
from reproduce.harness.style import COLOURS, legend_below, panels
from reproduce.zhang import comparison, cox
from reproduce.zhang.comparison import full_claim
from reproduce.zhang.cox import DATA, EDGES, LINEAGE, WEIGHTS, mean_field, problem, start
from reproduce.zhang.datasets import RANGE, SIGMA2, cox_64
from reproduce.zhang.estimates import in_blocks
from reproduce.zhang.printed import COX as SETTINGS
from reproduce.zhang.printed import GIBBS, HMC, SSHMC, quote

NAME, WHAT = "zhang_fig3", "posteriors of two Cox processes"
MINUTES = {"paper": 90, "short": 2.5, "smoke": 1}

# The paper's settings (Section 5.4, caption of Figure 3)
TRUTH = {"sigma^2": SIGMA2, "beta": RANGE}  # printed as 1.9 and 0.03
STEPS = {"n_theta": SETTINGS["n_theta"], "n_phi": SETTINGS["n_phi"]}

# Our settings
ROWS = (GIBBS, SSHMC, NUTS := "NUTS")  # on the first data set
WARM_UP = {"paper": (1000, 500), "short": (60, 40), "smoke": (12, 6)}  # of NUTS: draws, before them
GRID = {"paper": ((0.03, 0.045), (0.012, 0.02)), "short": ((0.03,), (0.012,)),
        "smoke": ((0.03,), (0.012,))}  # eps_theta, eps_phi on 64 x 64
L = {"paper": 20, "short": 10, "smoke": 1}  # ABLA steps there
PILOT = {"paper": (1, 50, 10), "short": (1, 10, 2), "smoke": (1, 5, 1)}  # chains, n, burn-in
LENGTH = {"paper": (1000, 100), "short": (40, 10), "smoke": (6, 1)}  # of a chain there; burn-in
CHAINS = {"paper": 8, "short": 2, "smoke": 1}  # paper: two chains of 500 had told nothing
TIMED = {"paper": (5, 2), "short": (3, 1), "smoke": (2, 1)}  # rounds, transitions
MINUTES_64, WANTED_64 = 30, 50  # our target: an ESS of log beta of so much in so many minutes


def transitions(method, x, phi, model, setting, n, rng):
    """Run n transitions of a method from (x, phi); return a record with theta and phi."""
    with warnings.catch_warnings(action="ignore"):  # some settings of a pilot are never accepted
        if method == HMC:
            return in_blocks(hmc(np.append(x, phi), model, setting["eps"], setting["L"], n, rng,
                                 jitter=setting["jitter"]), x.size)
        if method == GIBBS:
            return rmhmc_within_gibbs(x, phi, model, setting["eps_theta"], setting["eps_phi"],
                                      setting["L_theta"], setting["L_phi"], n, rng,
                                      setting["jitter"], **LINEAGE)
        return sshmc(x, phi, model, setting["eps_theta"], setting["eps_phi"], setting["L"], n, rng,
                     setting["n_theta"], setting["n_phi"], setting["jitter"])


def pilots(method, data, distance, settings, chains, n, burn_in, seed):
    """Run pilot chains with each of `settings`, with the same draws."""
    model, phi = problem(data, distance)
    return comparison.pilot_chains(
        settings, chains, seed, WEIGHTS[method], burn_in, lambda setting, rng: transitions(
            method, start(phi, model, rng), phi, model, setting, burn_in + n, rng))


def one_chain(method, data, distance, setting, n, burn_in, seed):
    """Run one chain of n draws after `burn_in`."""
    (model, phi), rng = problem(data, distance), np.random.default_rng(seed)
    x = start(phi, model, rng)
    chain = transitions(method, x, phi, model, setting, burn_in + n, rng)
    return cox.run_in_numbers(chain, burn_in, model, distance)


def clock(rows, rounds, n):
    """Time a transition of each row, {name: [method, data, distance, setting]}, in turn."""
    rng, problems = np.random.default_rng(0), {name: problem(*rows[name][1:3]) for name in rows}

    def first(name):
        model, phi = problems[name]
        return start(phi, model, rng), phi

    return comparison.clock_in_turn(rows, rounds, n, first, lambda name, x, phi, n: transitions(
        rows[name][0], x, phi, problems[name][0], rows[name][3], n, rng))


def warm():
    """Compile everything in this process, before others start."""
    cox.warm_up(one_chain)
    cox.run_nuts(*problem(cox.TINY, "unit"), 12, 6, np.random.default_rng(0))


def posterior(method, data, setting, n, burn_in, seeds):
    """Run a chain of n draws after `burn_in` with each seed; return what they say together."""
    model, phi = problem(data, "unit")
    fields, draws = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        if method == NUTS:
            field, q = cox.run_nuts(model, phi, n, burn_in, rng)
        else:
            x = start(phi, model, rng)
            chain = transitions(method, x, phi, model, setting, burn_in + n, rng)
            field, q = chain.theta[burn_in:].mean(axis=0), chain.phi[burn_in:]
        fields.append(field)
        draws.append(q)
    return {"posterior": cox.posterior_of(np.array(fields), np.array(draws))}


class Figure3(NamedTuple):
    """What is computed."""

    rows: dict  # {method: cox.Posterior} on the first data set of 32 x 32
    large: cox.Estimates  # of SSHMC on 64 x 64
    truth_64: np.ndarray  # (64, 64) the field from which its counts were simulated


def run(experiment, cases):
    """Run all methods on the first data set, and SSHMC on 64 x 64: a Figure3."""
    budget = experiment.budget
    scanned = cox.run_scan(experiment.of(cox.KEEPER), one_chain, warm)
    tasks = [dict(method=method, data=DATA["unit"][0], setting={} if method == NUTS else cox.taken(
        scanned[method, "unit"], method), n=n, burn_in=burn_in,
        seeds=[[experiment.seed, 2, k] for k in range(cox.CHAINS[budget])])
        for method in ROWS for n, burn_in in [(WARM_UP if method == NUTS else cox.LENGTH)[budget]]]
    done = experiment.replicates(posterior, tasks, "methods", warm=warm)
    return Figure3({task["method"]: cox.read_posterior(found["posterior"])
                    for task, found in zip(tasks, done, strict=True)},
                   on_64(experiment, cases.name), cases.x)


def on_64(experiment, name):
    """Return the estimates of SSHMC on a data set of 64 x 64, with seconds of a transition."""
    budget, seed = experiment.budget, experiment.seed
    chains, n, burn_in = PILOT[budget]
    grid = [{"eps_theta": a, "eps_phi": b, "jitter": 0.2, "L": L[budget], **STEPS}
            for a in GRID[budget][0] for b in GRID[budget][1]]
    tried = experiment.replicates(pilots, [dict(
        method=SSHMC, data=name, distance="unit", settings=[setting], chains=chains, n=n,
        burn_in=burn_in, seed=[seed, 0]) for setting in grid], "settings", warm=warm)
    setting = comparison.pick([each["pilots"][0] for each in tried])["setting"]
    n, burn_in = LENGTH[budget]
    found = experiment.replicates(one_chain, [dict(
        method=SSHMC, data=name, distance="unit", setting=setting, n=n, burn_in=burn_in,
        seed=[seed, 1, k]) for k in range(CHAINS[budget])], "chains on 64 x 64", warm=warm)
    seconds = comparison.time_rows(
        experiment, clock, {SSHMC: [SSHMC, name, "unit", setting]}, TIMED[budget], warm)
    return cox.estimates(found, n, setting, seconds[SSHMC])


SIZE = ("ours: a fifth of a standard deviation, which no eye sees in histograms.  No error is given"
        " where a method's R-hat is above 1.01, or an effective sample size below 100 a chain")
LONGER = "a method has few effective draws in its chains, and only longer ones would tell"
PAIRS = {(GIBBS, SSHMC): (quote("consistent"), "printed sentence"), (SSHMC, NUTS): ("ours", "ours"),
         (GIBBS, NUTS): ("ours", "ours")}
CLAIMS = [
    *[full_claim(f"{a}, {b}: {what}", paper, lambda r, measure=measure, k=k, a=a, b=b:
                 measure(r.rows[a], r.rows[b], k), -0.2, 0.2, SIZE, kind, undecided=LONGER)
      for (a, b), (paper, kind) in PAIRS.items() for k, name in enumerate(TRUTH)
      for measure, what in (
          (cox.means_apart, f"difference of the means of log {name}, in standard deviations"),
          (cox.wider, f"log(ratio of the standard deviations of log {name})"))],
    *[full_claim(f"{a}, {b}: mean squared difference of the mean fields / their variance", paper,
                 lambda r, a=a, b=b: cox.fields_apart(r.rows[a], r.rows[b]), -0.01, 0.01, "ours: a"
                 " tenth of the fields' standard deviation, which no eye sees in two images;"
                 " without the noise of the runs", kind, undecided=LONGER)
      for (a, b), (paper, kind) in PAIRS.items()],
    full_claim(f"64 x 64: ESS of log beta in {MINUTES_64} minutes on one core", "ours",
               lambda r: cox.in_time(r.large, MINUTES_64), float(WANTED_64), np.inf, "our target,"
               " by the paper's estimator; the paper stops at 32 x 32", "ours", undecided=LONGER),
]


def table(r):
    """Lay out the posteriors."""
    rows = [[method, found.n, len(found.field), *(
        brief(m) for k in (0, 1) for m in (found.mean[k], found.sd[k])),
        f"{found.bulk:.0f}", f"{found.tail:.0f}", f"{found.rhat:.3f}",
        "yes" if cox.is_believed(found) else "no"] for method, found in r.rows.items()]
    large = r.large
    moments = [brief(m) for k in (0, 1) for m in (large.mean[k], large.sd[k])]
    return text_table(rows, [
        "method", "draws", "chains", "mean log sigma^2", "sd", "mean log beta", "sd", "bulk ESS",
        "tail ESS", "R-hat", "believed"]) + (
        f"\n\ntrue: log sigma^2 = {math.log(SIGMA2):.3f}, log beta = {math.log(RANGE):.3f}; of the"
        f" prior of beta only {gamma.cdf(RANGE, 2, scale=0.5):.4f} is below the true value"
        f"\n64 x 64, {SSHMC}: {len(large.field)} chains of {large.n}: log sigma^2 {moments[0]}, sd"
        f" {moments[1]}; log beta {moments[2]}, sd {moments[3]}, ESS of a"
        f" chain {brief(exponential(large.ess['beta']))}; acceptance rate {large.AP[0].value:.2f}"
        f"; {1e3 * np.mean(large.seconds):.0f} ms a transition\n64 x 64, settings: "
        + ", ".join(f"{name} = {value:g}" for name, value in large.setting.items()))


def figure(r):
    """Draw the paper's panels (a) to (d), the data sets, and below them 64 x 64."""
    fig, axes = panels(4, 5, 8.5)
    cox.draw_fields(fig, axes[0], {
        "(a) RMHMC": mean_field(r.rows[GIBBS]), "(b) SSHMC": mean_field(r.rows[SSHMC]),
        "NUTS (ours)": mean_field(r.rows[NUTS])})
    cox.draw_data(axes[1:3])
    cox.draw_fields(fig, axes[3], {"SSHMC": mean_field(r.large), "true field": r.truth_64})
    axes[3, 0].set_ylabel(r"64 $\times$ 64")
    axes[3, 2].axis("off")
    for line, found, letters in zip(axes[[0, 3]], (r.rows, {SSHMC: r.large}), (
            ("(c) ", "(d) "), ("", "")), strict=True):
        for k, (ax, (name, value)) in enumerate(zip(line[3:], TRUTH.items(), strict=True)):
            for method, each in found.items():
                counts, edges = np.array(each.histogram[k], float), EDGES[name]
                density = counts / max(counts.sum(), 1) / np.diff(edges)
                ax.stairs(density, np.exp(edges), label=method, color=COLOURS[ROWS.index(method)])
            ax.set(xscale="log", xlim=(value / 10, value * 10))
            ax.axvline(value, color="k", lw=0.9, ls="--", label="true value")
            ax.set_title(letters[k] + (r"$\sigma^2$, printed as $\sigma$", r"$\beta$")[k])
    legend_below(fig, axes[0, 3])
    fig.suptitle("Figure 3: sample means of latent fields, histograms of logs of hyperparameters")
    return fig


def cases(settings):
    """Return the 64 x 64 counts; those of 32 x 32 are simulated."""
    return cox_64(settings.data)


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
