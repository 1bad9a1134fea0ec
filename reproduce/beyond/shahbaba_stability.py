"""Shahbaba, Lan, Johnson and Neal (2014): where the three integrators become unstable.

Not a figure of the paper, but what its Section 3.3 describes in words: beyond a certain step size
the error of the Hamiltonian grows rapidly, and proposals are rejected.  On Table 1's problem:
acceptance rate and energy error against the step size, without jitter, for trajectories of length
0.3; and beside them linear theory (algorithms/linear_theory.py).

Run     python reproduce/beyond/shahbaba_stability.py [--budget smoke|short|paper]
        The budgets differ in the number of trajectories and of step sizes.
Writes  figures/shahbaba_stability.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from functools import cache

import numpy as np

from algorithms.linear_theory import exponent, half_turns, hmc_limit, q_block
from models.interface import hessian
from reproduce.harness.claims import Claim, Measured, brief, text_table
from reproduce.harness.style import COLOURS, legend_below, mark, panels
from reproduce.shahbaba.chains import problem, transitions, warm
from reproduce.shahbaba.datasets import SIMULATED

NAME, WHAT = "shahbaba_stability", "acceptance and energy error against step size"
MINUTES = {"paper": 6, "short": 1.5, "smoke": 0.25}

# The paper's settings (Section 3.3.1)
TRAJECTORY = 0.3
FRACTION, M = 0.4, 9
PAPER = {"HMC": (0.015, 20), "normal": (0.03, 10), "data": (0.1, 3)}  # eps, L
OWN = SIMULATED + "2011"

# Our settings
RANGES = {"HMC": (0.005, 0.024), "normal": (0.01, 0.07), "data": (0.03, 0.16)}  # of eps
STEPS = {"paper": 30, "short": 14, "smoke": 4}  # step sizes, besides the paper's
STARTS = {"paper": 300, "short": 100, "smoke": 10}  # trajectories for each
DRAWS = {"paper": 10, "short": 3, "smoke": 1}  # of the posterior, where to expand U
FINE = {"paper": 200, "short": 60, "smoke": 10}  # step sizes for the theory
FRESH = {"paper": 1000, "short": 0, "smoke": 0}  # added to the seed: FURTHER and PAST were chosen
# on short runs, and are tested at full length on other trajectories
BURN, THIN = 50, 10  # of the chain that the trajectories start from
CHUNK = 20  # trajectories from one generator of momenta
GROWS = 0.1  # exponent of growth over a trajectory: by 10 %
SHORTEST = 0.8  # times the paper's step: the shortest of its jitter
FURTHER = {"HMC": 1.4, "normal": 1.1, "data": 1.2}  # times the paper's step: where it is unstable
PAST = 1.4  # times the paper's step for the normal approximation: stable again


def trajectories(method, eps, L, count, seed):
    """Return the energy errors of `count` trajectories, to six digits; see starts()."""
    stage, errors = problem(OWN, FRACTION), []
    for k, q in enumerate(starts(count, seed)):
        if k % CHUNK == 0:
            rng = np.random.default_rng([seed, k])  # the same momenta for every step and method
        chain = transitions(method, q, stage, eps, L, M, 1, rng, jitter=0.0)
        errors.append(six_digits(chain.energy_error[0]))
    return {"errors": errors}


@cache
def starts(count, seed):
    """Return (count, d) states of a chain with data splitting, to start trajectories from."""
    stage = problem(OWN, FRACTION)
    eps, L = PAPER["data"]
    chain = transitions("data", stage[1].q_hat, stage, eps, L, M, BURN + THIN * count,
                        np.random.default_rng(seed))
    return chain.samples[BURN + THIN - 1::THIN]


def six_digits(x):
    """Round to what a claim can need, which takes less room."""
    return float(f"{x:.6g}")


def linear_theory(method, points, draws, count, seed):
    """Return growth() at so many step sizes, at draws of the posterior and at the mode."""
    steps = np.linspace(*RANGES[method], points)
    places = [*starts(count, seed)[:draws], problem(OWN, FRACTION)[1].q_hat]
    found = [[six_digits(growth(method, eps, hessians)) for eps in steps]
             for hessians in map(hessians_at, places)]
    return {"steps": steps, "draws": found[:-1], "mode": found[-1]}


def run(experiment, cases):
    """Return the energy errors {method: {eps: errors}}, linear theory, and its frequencies."""
    budget, seed = experiment.budget, experiment.seed + FRESH[experiment.budget]
    count, tasks = STARTS[budget], []
    for method, (paper_eps, paper_L) in PAPER.items():
        for eps in grid(method, budget):
            L = paper_L if eps == paper_eps else max(1, round(TRAJECTORY / eps))
            work = L * (1 + FRACTION * (M - 1)) if method == "data" else L
            tasks.append(dict(method=method, eps=eps, L=L, count=count, seed=seed, cost=work))
    found = experiment.replicates(trajectories, tasks, "sets of trajectories", warm=warm)
    errors = {method: {} for method in PAPER}
    for task, result in zip(tasks, found, strict=True):
        errors[task["method"]][task["eps"]] = np.array(result["errors"])
    tasks = [dict(method=method, points=FINE[budget], draws=DRAWS[budget], count=count, seed=seed)
             for method in PAPER]
    theory = dict(zip(PAPER, experiment.replicates(linear_theory, tasks, "methods", warm=warm),
                      strict=True))
    fit = problem(OWN, FRACTION)[1]
    J, J_0, _ = hessians_at(fit.q_hat)
    return {"errors": errors, "theory": theory, "w": fit.w.max(), "limit": hmc_limit(J),
            "w_0": np.linalg.eigvalsh(J_0)[-1] ** 0.5}


def grid(method, budget):
    """Return the step sizes tried."""
    low, high = RANGES[method]
    factors = {SHORTEST, 1.0, FURTHER[method], *([PAST] if method == "normal" else [])}
    return sorted({*np.linspace(low, high, STEPS[budget]).round(6).tolist(),
                   *(times(method, factor) for factor in factors)})


def times(method, factor):
    """Return the paper's step times a factor, a key of the results."""
    return round(PAPER[method][0] * factor, 6)


def growth(method, eps, hessians):
    """Return the exponent of growth over a trajectory."""
    fit = problem(OWN, FRACTION)[1]
    return TRAJECTORY / eps * exponent(q_block(method, eps, *hessians, fit, M))


def hessians_at(q):
    """Return the Hessians of U, U_0 and U_1 of the data split at q."""
    model, _, split = problem(OWN, FRACTION)
    return tuple(hessian(q, part) for part in (model, split.R_0, split.R_1))


def first_growth(theory):
    """Return the least step at which half the draws say that an error grows, or nan."""
    beyond = np.flatnonzero(np.median(theory["draws"], axis=0) >= GROWS)
    return theory["steps"][beyond[0]] if beyond.size else np.nan


def acceptance(errors):
    """Return the mean acceptance probability; an energy that is not finite is never accepted."""
    p = np.where(np.isfinite(errors), np.exp(np.minimum(-errors, 0.0)), 0.0)
    return Measured(p.mean(), p.std(ddof=1) / p.size**0.5)


def log_median(errors):
    """Return the log of the median |energy error|, with the standard error by order statistics."""
    x = np.sort(np.log(np.abs(errors)))
    half = x.size**0.5 / 2  # a standard deviation of the median's rank
    low, high = (x[int(np.clip(round(x.size / 2 + s * half), 0, x.size - 1))] for s in (-1, 1))
    return Measured(np.median(x), (high - low) / 2)


def value_at_paper_step(estimate, r, method, factor):
    """Return acceptance() or log_median() at the paper's step times a factor."""
    return estimate(r["errors"][method][times(method, factor)])


CLAIMS = [
    Claim("HMC: stability limit x w / 2, by the eigenvalues of A", "theory",
          lambda r: r["limit"] * r["w"] / 2, 1 - 1e-6, 1 + 1e-6,
          "2 / w for leapfrog steps; bisection to a relative 1e-9", "ours"),
    Claim("normal: growth exponent at the mode, largest over the steps", "theory",
          lambda r: max(r["theory"]["normal"]["mode"]), 0.0, 1e-5,
          "at the mode the step is exact, whatever eps; an eigenvalue near -1 has a root there,"
          " which makes 1e-7 of a rounding error, times 30 steps at most", "ours"),
    Claim("data: inner step x w_0 / 2", "theory",
          lambda r: PAPER["data"][0] / M * r["w_0"] / 2, 0.0, 1.0,
          "the inner leapfrog steps by themselves are stable at the paper's eps; w_0^2 is the"
          " largest eigenvalue of the Hessian of U_0", "ours"),
    Claim("HMC: acceptance beyond the limit", "very low",
          lambda r: value_at_paper_step(acceptance, r, "HMC", FURTHER["HMC"]), 0.0, 0.05,
          "Section 3.3: rejected with very high probability; at 1.4 x the paper's step, 9 % beyond"
          " the limit.  A word: accepted is 1 in 20", "printed sentence"),
    *[Claim(f"{method}: acceptance, {SHORTEST} x the paper's step - {factor} x", "order",
            lambda r, m=method, factor=factor: (
                value_at_paper_step(acceptance, r, m, SHORTEST)
                - value_at_paper_step(acceptance, r, m, factor)), 0.0, 1.0,
            "only that it falls: Section 3.3 has rejection \"with very high probability\"", "ours")
      for method, factor in FURTHER.items()],
    *[Claim(f"{method}: log median |energy error|, {factor} x the paper's step - {SHORTEST} x",
            "order", lambda r, m=method, factor=factor: (
                value_at_paper_step(log_median, r, m, factor)
                - value_at_paper_step(log_median, r, m, SHORTEST)), 0.0, np.inf,
            "Section 3.3: the error of the Hamiltonian grows rapidly", "order")
      for method, factor in FURTHER.items()],
    Claim(f"normal: acceptance, {PAST} x the paper's step - {FURTHER['normal']} x", "theory",
          lambda r: (value_at_paper_step(acceptance, r, "normal", PAST)
                     - value_at_paper_step(acceptance, r, "normal", FURTHER["normal"])), 0.0, 1.0,
          "linear theory: stable again past the resonance.  The paper does not say so: it"
          " stops at the first limit", "ours"),
]


def table(r):
    """Lay out the limits, the rates and the errors."""
    rows = [[method, f"{eps:.5f}{' *' * (eps == PAPER[method][0])}", brief(acceptance(errors)),
             f"{np.exp(log_median(errors).value):.3g}"]
            for method, by_step in r["errors"].items() for eps, errors in by_step.items()]
    grows = ", ".join(f"{first_growth(r['theory'][m]):.4g} ({m})" for m in PAPER)
    return ("w: the largest frequency of U at the mode; w_0: that of U_0\n"
            f"Linear theory: 2 / w = {2 / r['w']:.4g}, the limit of HMC; pi / w ="
            f" {np.pi / r['w']:.4g}, the first resonance of the normal\napproximation; an error"
            f" grows by {GROWS:.0%} in a trajectory from eps = {grows}\n\nWithout jitter,"
            " from states of the posterior; * the paper's step\n\n"
            + text_table(rows, ["method", "eps", "acceptance (s.e.)", "median |energy error|"]))


def figure(r):
    """Draw acceptance, energy error and growth by linear theory against the step size."""
    fig, axes = panels(3, 3, 7.6, sharex="col")
    blue, green, red = COLOURS[0], COLOURS[2], COLOURS[4]
    k = np.arange(1, M)
    marks = {"HMC": ([2 / r["w"]], r"$2 / \omega$"),
             "normal": (k * np.pi / r["w"], r"$k \pi / \omega$"),
             "data": (half_turns(r["w_0"], k, M), r"$(2 M / \omega_0) \sin(k \pi / 2 M)$")}
    titles = {"HMC": "HMC", "normal": "normal approximation", "data": f"data splitting, M = {M}"}
    for column, (method, by_step) in zip(axes.T, r["errors"].items(), strict=True):
        eps = np.array(list(by_step))
        rates = np.array([acceptance(errors) for errors in by_step.values()])
        column[0].errorbar(eps, rates[:, 0], yerr=2 * rates[:, 1], fmt="o-", ms=3, lw=1)
        spread = np.array([np.quantile(np.abs(np.nan_to_num(errors, nan=np.inf)), [0.25, 0.5, 0.75])
                           for errors in by_step.values()])
        column[1].plot(eps, spread[:, 1], "o-", ms=3, lw=1)
        column[1].fill_between(eps, spread[:, 0], spread[:, 2], alpha=0.2, lw=0, label="quartiles")
        theory = r["theory"][method]
        for curve in theory["draws"]:
            column[2].plot(theory["steps"], curve, color=blue, lw=0.8, alpha=0.5)
        column[2].plot(theory["steps"], theory["mode"], color="k")
        for ax in column:
            ax.axvline(PAPER[method][0], color=green, lw=1.2, ls="--")
            for place in marks[method][0]:
                ax.axvline(place, color=red, lw=1.2)
        column[0].set(ylim=(-0.03, 1.03), title=f"{titles[method]}\nlines: {marks[method][1]}")
        column[1].set(yscale="log", ylim=(1e-2, 1e4 if method == "HMC" else 1e2))
        column[2].set(xlabel=r"step size $\varepsilon$", xlim=RANGES[method],
                      ylim=(-0.3, 10) if method == "HMC" else (-0.03, 1))
        column[2].locator_params(axis="x", nbins=5)
    for ax, label in zip(axes[:, 0], ("acceptance rate", "|energy error|", "growth exponent over\n"
                                      "a trajectory, linear theory"), strict=True):
        ax.set_ylabel(label)
    legend_below(fig, axes[1, 0], handles=[
        mark("rate, 2 standard errors; median", blue, line="-"),
        mark("growth at draws of the posterior", blue, "", "-", lw=0.8, alpha=0.5),
        mark("growth at the mode", "k", "", "-"), mark("the paper's step", green, "", "--"),
        mark("edge or window of instability", red, "", "-")], ncols=3)
    fig.suptitle("Table 1's problem; trajectories of length 0.3, no jitter; $\\omega$ and"
                 " $\\omega_0$ are the largest frequencies of $U$ and of $U_0$ at the mode")
    return fig


cases = OWN
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
