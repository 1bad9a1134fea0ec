"""Split HMC (Shahbaba, Lan, Johnson and Neal 2014): where the three integrators become unstable.

Not a figure of the paper, but what its Section 3.3 describes in words: beyond a certain step size
the error of the Hamiltonian grows rapidly with L, and proposals are rejected with very high
probability; this limits Split HMC to steps at which it accepts more often than HMC.  On Table 1's
problem, the paper's own data set: acceptance rate and energy error against the step size, without
jitter, for trajectories of length 0.3; and beside them linear theory.

Run     python reproduce/shahbaba_stability.py [--budget smoke|short|paper]
        smoke 15 s, short 1.5 min, paper 6 min with 2 jobs; the first run compiles, 1 min more.
        The budgets differ in the number of trajectories and of step sizes.
Writes  shahbaba_stability.png, .txt (the claims) and .json, into figures/ for the paper budget and
        figures/<budget>/ for the others; the exit status is 1 if a claim fails

Linear theory: with U replaced by its second-order expansion, a step is a matrix.  The steps are
reversible, so that its eigenvalues come in pairs z, 1 / z with z + 1 / z = 2 a, a an eigenvalue of
the block A that takes q to q: the step is stable if all a are real and in [-1, 1].
  HMC     A = I - eps^2 J / 2: stable up to eps = 2 / w, w^2 the largest eigenvalue of J.
  normal  At the mode U_1 has no second-order part, and every step is exact.  Elsewhere its Hessian
          is J(q) - J, which couples the oscillators of the flow and resonates with two of them, or
          twice with one, that make whole turns together in a step: (w_i + w_j) eps = 2 k pi.  The
          first window is at pi / w for the largest w, and the paper's step, 0.03, is 0.989 times
          that.  Four frequencies, 100 to 104, are well apart from all others, 33 and less: past
          their own windows longer steps are accepted again, less so where those begin that they
          share with others, at 0.046, until 2 pi / w.
  data    The inner leapfrog steps of eps / M are far from their own limit; it is the kicks of U_1
          that resonate with them, where M of them make half turns: at (2 M / w_0) sin(k pi / 2 M),
          w_0^2 the largest eigenvalue of the Hessian of U_0.
That an exact flow does not lift the limit of the step was found by F. Casas, J. M. Sanz-Serna and
L. Shaw (2022, Statistics and Computing 32, 86), and how preconditioning with J does.
"""

from functools import cache

import numpy as np

import data
from chains import problem, transitions
from harness import Claim, Measured, announce, finish, parse, plt, replicates
from harness import table as text_table
from models.interface import hessian
from shahbaba_table1 import compile_all

NAME = "shahbaba_stability"

# The paper's settings (Section 3.3.1)
TRAJECTORY = 0.3
FRACTION, M = 0.4, 9
PAPER = {"HMC": (0.015, 20), "normal": (0.03, 10), "data": (0.1, 3)}  # eps, L
OWN = data.SIMULATED + "2011"

# Our settings
RANGES = {"HMC": (0.005, 0.024), "normal": (0.01, 0.07), "data": (0.03, 0.16)}  # of eps
STEPS = {"smoke": 4, "short": 14, "paper": 30}  # step sizes, besides the paper's
STARTS = {"smoke": 10, "short": 100, "paper": 300}  # trajectories for each
DRAWS = {"smoke": 1, "short": 3, "paper": 10}  # of the posterior, where to expand U
FINE = {"smoke": 10, "short": 60, "paper": 200}  # step sizes for the theory
FRESH = {"smoke": 0, "short": 0, "paper": 1000}  # added to the seed: FURTHER and PAST were chosen
# on short runs, and are tested at full length on other trajectories
MINUTES = {"smoke": 0.25, "short": 1.5, "paper": 6}
BURN, THIN = 50, 10  # of the chain that the trajectories start from
CHUNK = 20  # trajectories in a replicate, at most
GROWS = 0.1  # exponent of growth over a trajectory: by 10 %
SHORTEST = 0.8  # times the paper's step: the shortest of its jitter
FURTHER = {"HMC": 1.4, "normal": 1.1, "data": 1.2}  # times the paper's step: where it is unstable
PAST = 1.4  # times the paper's step for the normal approximation: stable again

NO_JITTER = ("0.03 is 0.989 pi / w, in the resonance: it is the longest step of the paper's jitter,"
             " over which the mean rate is that of Table 1")

CLAIMS = [
    Claim("HMC: stability limit x w / 2, by the eigenvalues of A", "theory", 1 - 1e-6, 1 + 1e-6,
          "2 / w for leapfrog steps; bisection to a relative 1e-9"),
    Claim("normal: growth exponent at the mode, largest over the steps", "theory", 0.0, 1e-5,
          "at the mode the step is exact, whatever eps; an eigenvalue near -1 has a root there,"
          " which makes 1e-7 of a rounding error, times 30 steps at most"),
    Claim("data: inner step x w_0 / 2", "theory", 0.0, 1.0,
          "the inner leapfrog steps by themselves are stable at the paper's eps; w_0^2 is the"
          " largest eigenvalue of the Hessian of U_0"),
    Claim("HMC: acceptance beyond the limit", "very low", 0.0, 0.05,
          "Section 3.3: rejected with very high probability; at 1.4 x the paper's step, 8 % beyond"
          " the limit.  A word: accepted is 1 in 20"),
    *[Claim(f"{method}: acceptance at the paper's step", "above 0.65", 0.65, 1.0,
            "Section 3.3: stability limits Split HMC to steps at which the rate is above 0.65.  No"
            " jitter here: all steps are the longest that the paper's runs have",
            NO_JITTER if method == "normal" else "") for method in ("normal", "data")],
    *[Claim(f"{method}: acceptance, {SHORTEST} x the paper's step - {FURTHER[method]} x", "order",
            0.0, 1.0, "Section 3.3: beyond a certain step, rejection") for method in PAPER],
    *[Claim(f"{method}: log median |energy error|, {FURTHER[method]} x the paper's step -"
            f" {SHORTEST} x", "order", 0.0, np.inf,
            "Section 3.3: the error of the Hamiltonian grows rapidly") for method in PAPER],
    Claim(f"normal: acceptance, {PAST} x the paper's step - {FURTHER['normal']} x", "theory", 0.0,
          1.0, "linear theory: stable again past the resonance.  The paper does not say so: it"
          " stops at the first limit"),
]


def q_block(method, eps, J, J_0, J_1, fit):
    """Return A, the (d, d) block of a linearised step that takes q to q.

    J, J_0 and J_1 are the Hessians of U and of the two parts of the data split; fit is that of the
    mode.
    """
    if method == "HMC":
        return np.eye(len(J)) - eps**2 / 2 * J
    if method == "normal":
        cosine, up = ((fit.Z * x) @ fit.Z.T for x in (np.cos(fit.w * eps),
                                                      np.sin(fit.w * eps) / fit.w))
        return cosine - eps / 2 * up @ (J - (fit.Z * fit.w**2) @ fit.Z.T)
    q, p, h = np.eye(len(J)), -eps / 2 * J_1, eps / M
    for _ in range(M):
        p = p - h / 2 * J_0 @ q
        q = q + h * p
        p = p - h / 2 * J_0 @ q
    return q


def exponent(A):
    """Return the log of the largest |z|, z + 1 / z = 2 a: 0 if the step is stable."""
    a = np.linalg.eigvals(A).astype(complex)
    root = np.sqrt(a * a - 1)
    return float(np.log(np.maximum(abs(a + root), abs(a - root)).max()))


def growth(method, eps, hessians):
    """Return the exponent of growth over a trajectory."""
    return TRAJECTORY / eps * exponent(q_block(method, eps, *hessians, problem(OWN, FRACTION)[1]))


def hessians_at(q):
    """Return the Hessians of U, U_0 and U_1 of the data split at q."""
    model, _, split = problem(OWN, FRACTION)
    return tuple(hessian(q, part) for part in (model, split.R_0, split.R_1))


@cache
def starts(count, seed):
    """Return (count, d) states of a chain with data splitting, to start trajectories from."""
    stage = problem(OWN, FRACTION)
    eps, L = PAPER["data"]
    chain = transitions("data", stage[1].q_hat, stage, eps, L, M, BURN + THIN * count,
                        np.random.default_rng(seed))
    return chain.samples[BURN + THIN - 1::THIN]


def trajectories(method, eps, L, first, last, count, seed):
    """Return the energy errors of trajectories from starts number first to last - 1 of `count`."""
    stage = problem(OWN, FRACTION)
    rng = np.random.default_rng([seed, first])  # the same momenta for every step and method
    return {"errors": [transitions(method, q, stage, eps, L, M, 1, rng, jitter=0.0).energy_error[0]
                       for q in starts(count, seed)[first:last]]}


def linear_theory(method, points, draws, count, seed):
    """Return growth() at so many step sizes, at draws of the posterior and at the mode."""
    steps = np.linspace(*RANGES[method], points)
    places = [*starts(count, seed)[:draws], problem(OWN, FRACTION)[1].q_hat]
    found = [[growth(method, eps, h) for eps in steps] for h in map(hessians_at, places)]
    return {"steps": steps, "draws": found[:-1], "mode": found[-1]}


def times(method, factor):
    """Return the paper's step times a factor, a key of the results."""
    return round(PAPER[method][0] * factor, 6)


def grid(method, budget):
    """Return the step sizes tried."""
    low, high = RANGES[method]
    factors = {SHORTEST, 1.0, FURTHER[method], *([PAST] if method == "normal" else [])}
    return sorted({*np.linspace(low, high, STEPS[budget]).round(6).tolist(),
                   *(times(method, factor) for factor in factors)})


def run(settings):
    """Return {method: {eps: energy errors}} and {method: linear_theory()}."""
    budget, seed = settings.budget, settings.seed + FRESH[settings.budget]
    count = STARTS[budget]
    tasks = []
    for method, (paper_eps, paper_L) in PAPER.items():
        for eps in grid(method, budget):
            L = paper_L if eps == paper_eps else max(1, round(TRAJECTORY / eps))
            work = L * (1 + FRACTION * (M - 1)) if method == "data" else L
            for first in range(0, count, CHUNK):
                last = min(first + CHUNK, count)
                tasks.append(dict(method=method, eps=eps, L=L, first=first, last=last,
                                  count=count, seed=seed, cost=(last - first) * work))
    found = replicates(NAME, settings, trajectories, tasks, unit="sets of trajectories",
                       warm=compile_all)
    errors = {method: {} for method in PAPER}
    for task, result in zip(tasks, found, strict=True):
        errors[task["method"]].setdefault(task["eps"], []).extend(result["errors"])
    tasks = [dict(method=method, points=FINE[budget], draws=DRAWS[budget], count=count, seed=seed)
             for method in PAPER]
    found = replicates(NAME, settings, linear_theory, tasks, unit="methods")
    return errors, dict(zip(PAPER, found, strict=True))


def acceptance(errors):
    """Return the mean acceptance probability; an energy that is not finite is never accepted."""
    errors = np.array(errors)
    p = np.where(np.isfinite(errors), np.exp(np.minimum(-errors, 0.0)), 0.0)
    return Measured(p.mean(), p.std(ddof=1) / p.size**0.5)


def log_median(errors):
    """Return the log of the median |energy error|, with the standard error by order statistics."""
    x = np.sort(np.log(np.abs(errors)))
    half = x.size**0.5 / 2  # a standard deviation of the median's rank
    low, high = (x[int(np.clip(round(x.size / 2 + s * half), 0, x.size - 1))] for s in (-1, 1))
    return Measured(np.median(x), (high - low) / 2)


def minus(a, b):
    """Return the difference of two estimates."""
    return Measured(a.value - b.value, np.hypot(a.se, b.se))


def hmc_limit():
    """Return the step at which A's least eigenvalue is -1, by bisection."""
    J = hessians_at(problem(OWN, FRACTION)[1].q_hat)[0]
    low, high = 0.001, 1.0
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        a = np.linalg.eigvalsh(q_block("HMC", middle, J, None, None, None))[0]
        low, high = (middle, high) if a >= -1 else (low, middle)
    return low


def inner_frequency():
    """Return w_0, the root of the largest eigenvalue of the Hessian of U_0 at the mode."""
    return np.linalg.eigvalsh(hessians_at(problem(OWN, FRACTION)[1].q_hat)[1])[-1] ** 0.5


def half_turns(w_0, k):
    """Return the steps in which M inner leapfrog steps make k half turns.

    An inner step turns by theta, sin(theta / 2) = (eps / M) w_0 / 2; M theta = k pi.
    """
    return 2 * M / w_0 * np.sin(k * np.pi / (2 * M))


def limits(theory):
    """Return {method: the least step at which half the draws say that an error grows}."""
    out = {}
    for method, found in theory.items():
        beyond = np.flatnonzero(np.median(found["draws"], axis=0) >= GROWS)
        out[method] = found["steps"][beyond[0]] if beyond.size else np.nan
    return out


def table(errors, theory):
    """Measure what the claims are about."""
    _, fit, _ = problem(OWN, FRACTION)
    rates = {method: {eps: acceptance(e) for eps, e in by_step.items()}
             for method, by_step in errors.items()}
    out = {"HMC: stability limit x w / 2, by the eigenvalues of A": hmc_limit() * fit.w.max() / 2,
           "normal: growth exponent at the mode, largest over the steps":
               max(theory["normal"]["mode"]),
           "data: inner step x w_0 / 2": PAPER["data"][0] / M * inner_frequency() / 2,
           "HMC: acceptance beyond the limit": rates["HMC"][times("HMC", FURTHER["HMC"])],
           "HMC: stability limit, 2 / w": 2 / fit.w.max(),
           "normal: first resonance, pi / w": np.pi / fit.w.max()}
    for method, factor in FURTHER.items():
        near, far = times(method, SHORTEST), times(method, factor)
        out[f"{method}: acceptance at the paper's step"] = rates[method][times(method, 1.0)]
        out[f"{method}: acceptance, {SHORTEST} x the paper's step - {factor} x"] = minus(
            rates[method][near], rates[method][far])
        out[f"{method}: log median |energy error|, {factor} x the paper's step - {SHORTEST} x"] = (
            minus(*(log_median(errors[method][eps]) for eps in (far, near))))
    out[f"normal: acceptance, {PAST} x the paper's step - {FURTHER['normal']} x"] = minus(
        *(rates["normal"][times("normal", factor)] for factor in (PAST, FURTHER["normal"])))
    for method, eps in limits(theory).items():
        out[f"{method}: least step of linear theory with growth by 10 % in a trajectory"] = eps
    return out


def text(errors):
    """Lay out the rates and errors."""
    rows = []
    for method, by_step in errors.items():
        for eps, found in by_step.items():
            rate, middle = acceptance(found), log_median(found)
            rows.append([method, f"{eps:.5f}{' *' * (eps == PAPER[method][0])}",
                         f"{rate.value:.3f} ({rate.se:.3f})", f"{np.exp(middle.value):.3g}"])
    return ("Without jitter, from states of the posterior; * the paper's step\n\n"
            + text_table(rows, ["method", "eps", "acceptance (s.e.)", "median |energy error|"]))


def figure(errors, theory):
    """Draw acceptance, energy error and growth by linear theory against the step size."""
    fig, axes = plt.subplots(3, 3, figsize=(11, 8.5), sharex="col", layout="constrained")
    w, k = problem(OWN, FRACTION)[1].w.max(), np.arange(1, M)
    marks = {"HMC": ([2 / w], "$2 / w$"), "normal": (k * np.pi / w, r"$k \pi / w$"),
             "data": (half_turns(inner_frequency(), k), r"$(2 M / w_0) \sin(k \pi / 2 M)$")}
    titles = {"HMC": "HMC", "normal": "Split HMC, normal approximation",
              "data": f"Split HMC, data splitting, M = {M}"}
    for column, (method, by_step) in zip(axes.T, errors.items(), strict=True):
        eps = np.array(list(by_step))
        rates = [acceptance(found) for found in by_step.values()]
        column[0].errorbar(eps, [r.value for r in rates], yerr=[2 * r.se for r in rates], fmt="o-",
                           ms=3, lw=1, color="C0")
        spread = np.array([np.quantile(np.abs(np.nan_to_num(found, nan=np.inf)), [0.25, 0.5, 0.75])
                           for found in by_step.values()])
        column[1].plot(eps, spread[:, 1], "o-", ms=3, lw=1, color="C0", label="median")
        column[1].fill_between(eps, spread[:, 0], spread[:, 2], color="C0", alpha=0.2, lw=0,
                               label="quartiles")
        steps = theory[method]["steps"]
        for index, curve in enumerate(theory[method]["draws"]):
            column[2].plot(steps, curve, color="C0", lw=0.8, alpha=0.5,
                           label="at draws of the posterior" if index == 0 else None)
        column[2].plot(steps, theory[method]["mode"], color="k", lw=1.2, label="at the mode")
        for ax in column:
            ax.axvline(PAPER[method][0], color="C2", lw=1, ls="--", label="the paper's step")
            for index, mark in enumerate(marks[method][0]):
                ax.axvline(mark, color="C3", lw=1.2,
                           label=marks[method][1] if index == 0 else None)
        column[0].set_ylim(-0.03, 1.03)
        column[1].set(yscale="log", ylim=(1e-2, 1e4 if method == "HMC" else 1e2))
        column[2].set_ylim(*((-0.3, 10) if method == "HMC" else (-0.03, 1)))
        column[0].set_title(titles[method], fontsize=10)
        column[0].legend(fontsize=8, loc="lower left")
        column[2].set(xlabel=r"step size $\varepsilon$", xlim=RANGES[method])
    axes[0, 0].set_ylabel("acceptance rate")
    axes[1, 0].set_ylabel("|energy error|")
    axes[1, 0].legend(fontsize=8, loc="upper left")
    axes[2, 0].set_ylabel("growth exponent\nover a trajectory, linear theory")
    axes[2, 0].legend(fontsize=8, loc="upper left")
    fig.suptitle("Table 1's problem; trajectories of length 0.3, no jitter; w and w_0 are the"
                 " largest frequencies of U and of U_0 at the mode", fontsize=10)
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    announce(NAME, settings, "acceptance and energy error against step size", OWN,
             MINUTES[settings.budget])
    errors, theory = run(settings)
    failures = finish(NAME, settings, CLAIMS, table(errors, theory), figure(errors, theory),
                      {"errors": errors, "theory": theory}, text(errors))
    raise SystemExit(failures > 0)
