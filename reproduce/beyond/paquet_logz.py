"""Evidence of GP classification, N = 1 to 767: EP, its correction and AIS against the truth.

Ours, not a figure of Paquet and Fraccaro (2016): the check that the lines and the estimates of
their Figure 2 need.  Optical digits up to N = 365, evenly spaced; at N = 767 their USPS, left out
if not found.  The truth is a normal orthant probability (algorithms/orthant.py): exact up to N = 8;
by minimax tilting for 40 and 365; at 767, where one of its weights may be 10^8 times the mean, by
the bridge sampling of paquet_rivals, with tilting as the check.

Run     python reproduce/beyond/paquet_logz.py [--budget smoke|short|paper]
        Short takes fewer temperatures and runs; smoke also leaves out N > 40.
Writes  figures/paquet_logz.png, .txt (table and claims), .json; smoke and short in their folders
"""

from reproduce.harness.start import Study, main

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.stats import multivariate_normal

from algorithms.ais import HMC, ais, combine, geometric_ladder, last_step
from algorithms.ep_correction import second_order
from algorithms.orthant import orthant, tilted_run, tilting
from reproduce.harness.claims import BUDGETS, Claim, Declared, Measured, text_table
from reproduce.harness.files import or_exit
from reproduce.harness.style import COLOURS, MARKERS, legend_below, mathematics, panels
from reproduce.paquet.digits import digits_3v5, usps_3v5
from reproduce.paquet.evidence import bridge_estimate, improvement
from reproduce.paquet.problem import KERNELS, LOG_AMPLITUDE, LOG_LENGTH, anneal, problem

NAME, WHAT = "paquet_logz", "log evidence of 1 to 767 digits, the first 365 of them optical"
MINUTES = {"paper": 18, "short": 2, "smoke": 0.2}

# Our settings; the paper's are in paquet/problem.py
EXACT, USPS = (1, 2, 3, 8), 767  # closed form or quadrature; all of USPS
UP_TO_40, SIZES = (*EXACT, 40), (*EXACT, 40, 365, USPS)
HMC_EPS = {**dict.fromkeys(EXACT, 0.5), 40: 0.2, USPS: KERNELS["HMC"].eps}  # below 2 min sd of q
BETA_MIN = {"AISq": 1e-3, "AIS": 1e-6}  # the first temperature above 0, from q and from the prior
NODES = 16  # of each of the three quadratures at N = 8: log Z to 1e-6 (12: 5e-5, 20: 1e-8)
BRIDGE = "bridge"
REFERENCE = {40: "tilting", 365: "tilting", USPS: BRIDGE}
EFFECTIVE = {"AIS": 20, "QMC": 5}  # runs; with fewer, the standard error is not to be trusted
APPROXIMATIONS = {"EP": 0, "EP, order 3": 3, "EP, order 4": 4}  # order of the correction
# Method and sizes; at the budgets paper, short and smoke: temperatures B, or points; runs in a
# replicate; replicates.  A run of tilting or of SciPy's cdf is an average over its points
TABLE = [
    ("AISq-RMHMC", EXACT, (60, 500, 4), (60, 300, 1), (30, 40, 1)),
    ("AISq-RMHMC", (40,), (60, 100, 10), (60, 100, 1), (20, 30, 1)),
    ("AISq-RMHMC", (365,), (60, 4, 20), (30, 4, 3), None),
    ("AISq-RMHMC", (USPS,), (60, 1, 30), (20, 1, 8), None),
    ("AISq-HMC", EXACT, (60, 500, 4), (60, 300, 1), (30, 40, 1)),
    ("AISq-HMC", (40,), (60, 200, 5), (60, 100, 1), (20, 30, 1)),
    ("AISq-HMC", (USPS,), (240, 2, 50), (60, 2, 6), None),
    # four replicates of these left N = 1 undecided, at 2.14 standard errors: (4 / 2.14)^2 times
    ("AIS-HMC", (1,), (200, 250, 14), (100, 200, 1), (60, 40, 1)),
    ("AIS-HMC", EXACT[1:], (200, 250, 4), (100, 200, 1), (60, 40, 1)),
    ("tilting", (8,), (2048, 32, 1), (1024, 16, 1), (256, 8, 1)),
    ("tilting", (40,), (4096, 64, 1), (2048, 16, 1), (256, 8, 1)),
    ("tilting", (365,), (4096, 16, 16), (2048, 16, 1), None),
    ("tilting", (USPS,), (4096, 4, 16), (1024, 16, 1), None),
    ("SciPy's cdf", (8,), (200_000, 16, 1), (50_000, 8, 1), None),
    ("SciPy's cdf", (40,), (200_000, 4, 8), (50_000, 8, 1), None),
    ("IS from q", UP_TO_40, (1, 100_000, 1), (1, 20_000, 1), (1, 2000, 1)),
    ("IS from q", (365, USPS), (1, 20_000, 1), (1, 2000, 1), None),
]
METHODS = list(dict.fromkeys(method for method, *_ in TABLE))
PLANS = {budget: {(method, N): row[k] for method, sizes, *row in TABLE for N in sizes if row[k]}
         for k, budget in enumerate(("paper", "short", "smoke"))}
COST = {"AISq-RMHMC": (2e-4, 0, 5e-10), "AISq-HMC": (2e-4, 5e-8, 0), "AIS-HMC": (2e-4, 5e-8, 0),
        "tilting": (0, 2e-9, 0), "SciPy's cdf": (0, 3e-9, 0), "IS from q": (1e-5, 2e-9, 0)}


def estimate(method, data_name, N, B, runs, seed):
    """Return runs of a method: each exp(log_weights[r]) is an unbiased estimate of p(y)."""
    rng = np.random.default_rng(seed)
    if "AIS" in method:
        start, kernel = method.split("-")
        kernel = KERNELS["RMHMC"] if kernel == "RMHMC" else KERNELS["HMC"]._replace(eps=HMC_EPS[N])
        result = ais(anneal(data_name, N, start == "AISq"), geometric_ladder(B, BETA_MIN[start]),
                     kernel, runs, rng)
        return {"log_weights": result.log_weights, "divergences": result.divergences.sum()}
    if method == "IS from q":  # a single step, and a transition that does not matter
        found = ais(anneal(data_name, N, True), geometric_ladder(1, 1.0), HMC(1e-3, 1), runs, rng)
        return combine(found.log_weights)._asdict() | {"runs": runs}
    C, tilt = orthant_problem(data_name, N)
    if method == "tilting":
        log_w = [combine(tilted_run(tilt.A, tilt.mu, B, rng)).log_Z for _ in range(runs)]
        return {"log_weights": log_w, "bound": tilt.bound}
    p = [multivariate_normal(cov=C, maxpts=B, abseps=0, releps=0, seed=rng).cdf(np.zeros(N))
         for _ in range(runs)]  # SciPy's cdf
    return {"log_weights": np.log(p)}


@cache
def orthant_problem(data_name, N):
    """Return C, p(y) is P(u > 0) for u ~ N(0, C), and its Tilting."""
    K, y, _ = problem(data_name, N)
    C = np.eye(N) + np.outer(y, y) * K
    return C, tilting(C)


def warm():
    """Compile everything in this process, before others start."""
    for method in ("AISq-RMHMC", "AISq-HMC", "AIS-HMC"):
        estimate(method, digits_3v5().name, 2, 1, 1, 0)


class Estimate(NamedTuple):
    """All runs of a method put together."""

    log_Z: Measured
    effective: float = np.inf  # runs
    runs: int = 0
    divergences: int = 0
    bound: float = np.nan  # on the log weight of a point


class Result(NamedTuple):
    """What is known of each size of the ladder."""

    truth: dict  # N -> Measured
    found: dict  # (method, N) -> Estimate
    data: dict  # N -> the name of the data set
    last_step: dict  # N -> that of annealing from q


def run(experiment, cases):
    """Return the Result."""
    plan, seed = PLANS[experiment.budget], experiment.seed
    names = {N: cases.name if N == USPS else digits_3v5().name for N in SIZES
             if ("AISq-RMHMC", N) in plan and (N != USPS or not cases.note)}
    tasks = [dict(method=method, data_name=names[N], N=N, B=B, runs=runs,
                  seed=[seed, METHODS.index(method), N, k],
                  cost=B * runs * np.dot(COST[method], (1, N**2, N**3)))
             for (method, N), (B, runs, n) in plan.items() if N in names for k in range(n)]
    done = experiment.replicates(estimate, tasks, warm=warm)
    batches = {}
    for task, batch in zip(tasks, done, strict=True):
        batches.setdefault((task["method"], task["N"]), []).append(batch)
    found = {key: put_together(group) for key, group in batches.items()}
    truth, last = {}, {}
    if USPS in names:
        found[BRIDGE, USPS] = Estimate(bridge_estimate(experiment, names[USPS], USPS))
    for N in names:
        K, y, q = problem(names[N], N)
        truth[N] = (Measured(np.log(orthant(np.outer(y, y) * K, NODES))) if N in EXACT
                    else found[REFERENCE[N], N].log_Z)
        for name, order in APPROXIMATIONS.items():
            correction = second_order(q, y, order) if order else 0.0
            found[name, N] = Estimate(Measured(q.log_Z + correction))
        last[N] = last_step(y, q)
    return Result(truth, found, names, last)


def put_together(batches):
    """Return the Estimate of all replicates of a method."""
    if "log_Z" in batches[0]:
        (m,) = batches
        return Estimate(Measured(m["log_Z"], m["standard_error"]), m["effective_runs"], m["runs"])
    log_w = np.concatenate([batch["log_weights"] for batch in batches])
    log_Z, se, effective = combine(log_w)
    return Estimate(Measured(log_Z, se), effective, log_w.size,
                    sum(batch.get("divergences", 0) for batch in batches),
                    np.mean([batch.get("bound", np.nan) for batch in batches]))


def error(r, method, N):
    """Return estimate - truth."""
    return r.found[method, N].log_Z - r.truth[N]


def in_errors(r, method, N):
    """Return the error over its standard error, unless that rests on too few effective runs."""
    value, se = error(r, method, N)
    few = any(r.found[name, N].effective < EFFECTIVE["AIS" if "AIS" in name else "QMC"]
              for name in (method, REFERENCE.get(N)) if name)
    return Measured(value / se, np.nan if few else 0.0)


WITHIN = "unbiased: standard errors of both, which are in the table, of one normal number"
NOT_REVERSIBLE = Declared(
    "the fixed-point iteration for x contracts by eps/2 |p dG^-1/dx|.  Where the likelihood fades,"
    " lambda = 1 / K, x = 4.7, this is eps/2 x sqrt(2 / K) x 4.5 K / 4 = 13 for p of one standard"
    " deviation: five iterations, or any number, do not converge, the map is not reversible, and"
    " the transition does not leave p_beta invariant.  HMC in its place is right",
    "2026-11-21T00:38", "2026-11-21T01:38", "Algorithm 1, line 12")
BETTER = ("the correction takes away EP's leading error, and leaves terms of the order of its own"
          " square (N = 365: 0.45^2 = 0.2 of 0.45)")
MADE = {key: tuple(b for b in BUDGETS if key in PLANS[b]) for key in PLANS["paper"]}
MADE["AISq-RMHMC", 1] = ("short", "paper")  # the runs of smoke do not see the known difference
CLAIMS = [
    Claim("EP error, N = 1", "ours", lambda r: error(r, "EP", 1), -1e-10, 1e-10,
          "exact: q matches the moments of the only tilted density; rounding", "ours"),
    *[Claim(f"|EP error| - |error at order 4|, N = {N}", "ours",
            lambda r, N=N: improvement(*(r.found[name, N].log_Z.value for name in (
                "EP", "EP, order 4")), r.truth[N]), 0.0, np.inf, BETTER, "ours",
            budgets=MADE["AISq-RMHMC", N]) for N in SIZES[1:]],
    *[Claim(f"{method}: error / s.e., N = {N}", "ours",
            lambda r, method=method, N=N: in_errors(r, method, N), 0.0, 0.0, WITHIN, "ours",
            NOT_REVERSIBLE if (method, N) == ("AISq-RMHMC", 1) else None, made, 1.0)
      for (method, N), made in MADE.items() if method not in ("IS from q", REFERENCE.get(N))],
]


def table(r):
    """Lay out the errors, a column for each N, and then how many runs they rest on."""
    sizes, found = r.truth, r.found

    def cell(method, N):
        value, se = found[method, N].log_Z.value - r.truth[N].value, found[method, N].log_Z.se
        if se == 0:
            return f"{value:+.5f}" if abs(value) > 1e-12 else "0"
        digits = max(0, 1 - int(np.floor(np.log10(se)))) if np.isfinite(se) else 2
        text = f"{value:+.{digits}f}({se * 10**digits:.0f})"
        return f"[{text}]" if method == REFERENCE.get(N) else text

    def rows(names, of):
        return [[name, *(of(name, N) if (name, N) in found else "" for N in sizes)]
                for name in names]

    samplers = [m for m in METHODS if any(method == m for method, _ in found)]
    header = ["N", *map(str, sizes)]
    truth = [["log Z", *(f"{t.value:.5f}" for t in r.truth.values())],
             ["s.e.", *(f"{t.se:.5f}" if t.se else "exact" for t in r.truth.values())]]
    counts = [*rows(samplers, lambda m, N: f"{found[m, N].effective:.1f}/{found[m, N].runs}"),
              ["last step", *(f"{r.last_step[N]:.2f}" for N in sizes)],
              ["bound", *rows(["tilting"], lambda m, N: (
                  f"{np.exp(found[m, N].bound - r.truth[N].value):.3g}"))[0][1:]]]
    return "\n\n".join([
        "; ".join(f"N = {', '.join(str(N) for N in sizes if r.data[N] == name)}: {name}"
                  for name in dict.fromkeys(r.data.values()))
        + "\nEP, order 3 and 4: second-order correction by cumulants up to that order\ntilting: the"
        " normal integral by exponential tilting; SciPy's cdf: the same by SciPy\n"
        + text_table(truth, header),
        "Error, estimate - log Z; (12) is the standard error of the last digits, [ ] is the"
        " reference;\nIS from q has infinite variance: its standard error is none",
        text_table(rows([*APPROXIMATIONS, *samplers, *[BRIDGE] * (USPS in sizes)], cell), header),
        "Effective runs / runs; last step: a last step in beta so long, or longer, gives AIS from q"
        " infinite\nvariance; "
        "bound: the largest weight that a point of tilting can have, over the mean weight",
        text_table(counts, header),
        f"Divergent transitions in all runs of AIS: {sum(m.divergences for m in found.values())}.\n"
        f"No claim about AIS can be told from fewer than {EFFECTIVE['AIS']} effective runs, before"
        " rounding."])


def figure(r):
    """Draw |error| of EP and its correction, and the errors of the samplers over their s.e."""
    fig, (left, right) = panels(1, 2, 4.6)
    truth, found = r.truth, r.found
    at = {N: k for k, N in enumerate(truth)}
    sets = [[N for N in truth if N != USPS], [N for N in truth if N == USPS]]  # lines join no two
    floor, clip = 1e-7, 6.0
    left.bar(at.values(), [t.se for t in truth.values()], 0.6, color="0.85",
             label="s.e. of the reference")
    for name, colour, marker, shift in zip(APPROXIMATIONS, ("k", *COLOURS), "oxD", (0, -0.1, 0.1),
                                           strict=False):
        for sizes in sets:
            errors = {at[N] + shift: abs(error(r, name, N)) for N in sizes if N > 1}
            left.errorbar([*errors], [e.value for e in errors.values()],
                          [e.se for e in errors.values()], color=colour, marker=marker, ms=6, lw=1,
                          capsize=3, label=name, mfc="none" if marker == "o" else colour)
    left.plot(at[1], floor * 1.6, "kv", ms=7, clip_on=False, label="0 (N = 1: EP is exact)")
    for sizes in sets:
        left.plot([at[N] for N in sizes], [found["AISq-RMHMC", N].log_Z.se for N in sizes],
                  ".:", color="0.4", label="s.e. of AISq-RMHMC")
    left.set(yscale="log", ylim=(floor, 5), ylabel=r"|error of $\log Z$| (nats)",
             title="EP and its second-order correction")
    for band, shade in ((4, "0.94"), (2, "0.87")):
        right.axhspan(-band, band, color=shade, zorder=0, label=rf"$\pm{band}$ s.e.")
    for k, (name, marker) in enumerate(zip(METHODS[:-1], MARKERS, strict=False)):
        errors = {at[N] + 0.14 * (k - 2): in_errors(r, name, N) for N in truth
                  if (name, N) in found and name != REFERENCE.get(N)}
        for place, (value, unknown) in errors.items():
            right.plot(place, np.clip(value, -clip, clip), marker, color=COLOURS[k], label=name,
                       mfc="none" if np.isnan(unknown) else COLOURS[k])
            if abs(value) > clip:
                right.annotate(mathematics(f"{value:.0f}"), (place, np.sign(value) * clip), (8, 0),
                               textcoords="offset points", va="center")
    right.axhline(0, color="k", lw=0.8)
    right.set(ylim=(-1.2 * clip, 1.2 * clip), ylabel="error / standard error",
              title="a number: beyond the axis; hollow: too few effective runs")
    for ax in (left, right):
        ax.set_xticks(range(len(at)), [f"{N}\nUSPS" if N == USPS else str(N) for N in at])
        ax.set(xlabel="N, number of cases", xlim=(-0.6, len(at) - 0.4))
    legend_below(fig, left, right, ncols=5)
    fig.suptitle(f"Evidence of GP classification, {' and '.join(dict.fromkeys(r.data.values()))}"
                 rf"; $\log\ell$ = {LOG_LENGTH}, $\log\sigma$ = {LOG_AMPLITUDE}")
    return fig


def cases(settings):
    """Return the digits of USPS, or the embedded ones, of which there are no 767."""
    wanted = ("AISq-RMHMC", USPS) in PLANS[settings.budget]
    found = or_exit(usps_3v5, settings.data) if wanted else digits_3v5()
    return found._replace(note=found.note and f"{found.note}, so no N = {USPS}")


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
