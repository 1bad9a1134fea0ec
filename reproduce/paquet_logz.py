"""Evidence of GP classification, N = 1 to 767: EP, its correction and AIS against the truth.

Ours, not a figure of Paquet and Fraccaro (2016): the check that the lines of their Figure 2 and its
estimates need.  Threes against fives, their squared exponential and probit, one point for all N:
N <= 365 optical digits (1 to 40: evenly spaced cases), N = 767 their USPS, left out if not found.

Run     python reproduce/paquet_logz.py [--budget smoke|short|paper]
        smoke 10 s, short 2 min, paper 18 min with 2 jobs; the first run compiles, 1 min more.
        Short takes fewer temperatures and runs; smoke also leaves out N > 40.
Writes  paquet_logz.png, .txt (the table and the claims) and .json, into figures/ for the paper
        budget and figures/<budget>/ for the others; the exit status is 1 if a claim fails

The truth.  p(y) is a normal orthant probability, P(u > 0) with u ~ N(0, I + diag(y) K diag(y)).
N <= 3   1/2, 1/4 + arcsin(R_12) / (2 pi), 1/8 + (sum of the three arcsin) / (4 pi)
N = 8    Plackett's identity, which takes N to N - 2, by quadrature: see algorithms/orthant.py
N = 40   minimax tilting: unbiased, with bounded weights, so that its standard error can be trusted
and 365  if there are many points; the table has the bound
N = 767  there the bound is 10^8: instead many runs of AIS from q with HMC, which leaves p_beta
         invariant exactly and has no bias either; tilting is the check

Tails.  The weights of importance sampling from EP's q have no variance, at any N here: in the
direction d of EP's mean the labels are right (but for two at N = 767) and d' K^-1 d < d' diag(tau)
d, so that the posterior has heavier tails there than q (N = 1: tau K = 1.75).  Its standard error
is none: it is in the table, and no claim is made about it.  AIS has the same trouble if its last
step, 1 - beta_(B-1), is as long as the row "last step" of the table says: see last_step().

Signs.  An error is estimate - truth, in nats.  The leading term of the correction has the sign of
sum y_m y_n Sigma_mn |..|: cases of one label, K > 0, make EP too small, opposite labels too large.

Open questions
--------------
* HMC at N = 365 is left out: the deviations of EP's q there go from 0.009 to 20, and a trajectory
  that crosses q in steps that are stable would need thousands of them.
"""

from functools import cache

import numpy as np
from scipy.stats import multivariate_normal

import data
from algorithms.ais import HMC, RMHMC, ais, combine, geometric_ladder
from algorithms.ep_correction import second_order
from algorithms.ep_fast import ep
from algorithms.orthant import orthant, tilted_run, tilting
from harness import Claim, Measured, announce, finish, parse, plt, replicates
from harness import table as text_table
from models.covariance import squared_exponential
from models.gp_classification import GPClassification

NAME = "paquet_logz"

# The paper's settings (Section 5)
LOG_LENGTH, LOG_AMPLITUDE = 4.85, 5.1
PAPER_RMHMC = RMHMC(eps=0.1, l_max=10, f_max=5)
PAPER_HMC = HMC(eps=0.02, l_max=200)

# Our settings
SMALL, EXACT = (1, 2, 3), (1, 2, 3, 8)  # closed form; closed form or quadrature
SIZES = (*EXACT, 40, 365, 767)
USPS = 767  # this size is all of USPS, the others are of the optical digits
HMC_EPS = {**dict.fromkeys(EXACT, 0.5), 40: 0.2, USPS: PAPER_HMC.eps}  # below 2 min sd of q
BETA_MIN = {True: 1e-3, False: 1e-6}  # the first temperature above 0, from q and from the prior
NODES = 16  # of each of the three quadratures at N = 8: log Z to 1e-6 (12: 5e-5, 20: 1e-8)
REFERENCE = {40: "tilting", 365: "tilting", USPS: "AISq-HMC"}
EFFECTIVE = 20  # runs; with fewer, the standard error is too uncertain for a claim
# budget -> method -> N -> (temperatures B, or points; runs in a replicate; replicates).
# A run of tilting or of SciPy's cdf is an average over so many quasi-random points.
PLANS = {
    "paper": {
        "AISq-RMHMC": {**dict.fromkeys(EXACT, (60, 500, 4)), 40: (60, 100, 10), 365: (60, 4, 20),
                       USPS: (60, 1, 30)},
        "AISq-HMC": {**dict.fromkeys(EXACT, (60, 500, 4)), 40: (60, 200, 5), USPS: (240, 2, 50)},
        "AIS-HMC": dict.fromkeys(EXACT, (200, 250, 4)),
        "tilting": {8: (2048, 32, 1), 40: (4096, 64, 1), 365: (4096, 16, 16),
                    USPS: (4096, 4, 16)},
        "SciPy's cdf": {8: (200_000, 16, 1), 40: (200_000, 4, 8)},
        "IS from q": {**dict.fromkeys((*EXACT, 40), (1, 100_000, 1)), 365: (1, 20_000, 1),
                      USPS: (1, 20_000, 1)},
    },
    "short": {
        "AISq-RMHMC": {**dict.fromkeys(EXACT, (60, 300, 1)), 40: (60, 100, 1), 365: (30, 4, 3),
                       USPS: (20, 1, 8)},
        "AISq-HMC": {**dict.fromkeys(EXACT, (60, 300, 1)), 40: (60, 100, 1), USPS: (60, 2, 6)},
        "AIS-HMC": dict.fromkeys(EXACT, (100, 200, 1)),
        "tilting": {8: (1024, 16, 1), 40: (2048, 16, 1), 365: (2048, 16, 1),
                    USPS: (1024, 16, 1)},
        "SciPy's cdf": {8: (50_000, 8, 1), 40: (50_000, 8, 1)},
        "IS from q": {**dict.fromkeys((*EXACT, 40), (1, 20_000, 1)), 365: (1, 2000, 1),
                      USPS: (1, 2000, 1)},
    },
    "smoke": {
        "AISq-RMHMC": {**dict.fromkeys(EXACT, (30, 40, 1)), 40: (20, 30, 1)},
        "AISq-HMC": {**dict.fromkeys(EXACT, (30, 40, 1)), 40: (20, 30, 1)},
        "AIS-HMC": dict.fromkeys(EXACT, (60, 40, 1)),
        "tilting": {8: (256, 8, 1), 40: (256, 8, 1)},
        "IS from q": dict.fromkeys((*EXACT, 40), (1, 2000, 1)),
    },
}
MINUTES = {"paper": 18, "short": 2, "smoke": 0.2}
APPROXIMATIONS = {"EP": 0, "EP, order 3": 3, "EP, order 4": 4}  # order of the correction
SAMPLERS = {"AISq-RMHMC": "o", "AISq-HMC": "s", "AIS-HMC": "^", "SciPy's cdf": "D"}  # markers


WITHIN = ("unbiased, so within 4 standard errors (the reference's included), which a true statement"
          " misses once in 16000 times; the standard errors are in the table")
NOT_REVERSIBLE = (
    "the fixed-point iteration for x contracts by eps/2 |p dG^-1/dx|.  Where the likelihood fades,"
    " lambda = 1 / K, x = 4.7, this is eps/2 x sqrt(2 / K) x 4.5 K / 4 = 13 for p of one standard"
    " deviation: five iterations, or any number, do not converge, the map is not reversible, and"
    " the transition does not leave p_beta invariant.  HMC in its place is right")
BETTER = ("the correction takes away EP's leading error, and leaves terms of the order of its own"
          " square (N = 365: 0.45^2 = 0.2 of 0.45)")
CLAIMS = [
    Claim("EP error, N = 1", "theory", -1e-10, 1e-10,
          "exact: q matches the moments of the only tilted density; rounding"),
    *[Claim(f"|EP error| - |error at order 4|, N = {N}", "order", 0.0, np.inf, BETTER)
      for N in SIZES[1:]],
    *[Claim(f"{method}: error / s.e., N = {N}", "theory", -4.0, 4.0, WITHIN,
            NOT_REVERSIBLE if (method, N) == ("AISq-RMHMC", 1) else "")
      for method in (*SAMPLERS, "tilting") for N in PLANS["paper"][method]
      if method != REFERENCE.get(N)],
]


# The estimates


@cache
def problem(data_name, N):
    """Return (K, y, EP's result) of N evenly spaced cases of the data set."""
    X, y = data.threes_and_fives(data_name)[1:3]
    keep = np.linspace(0, y.size - 1, N).astype(int)
    X, y = X[keep], y[keep]
    K = squared_exponential(X, X, LOG_LENGTH, LOG_AMPLITUDE)
    return K, y, ep(K, y)


@cache
def tilted(data_name, N):
    """Return the Tilting of a problem."""
    K, y, _ = problem(data_name, N)
    return tilting(np.eye(N) + np.outer(y, y) * K)


def exact(data_name, N, nodes):
    """Return log p(y) of a small problem."""
    K, y, _ = problem(data_name, N)
    return {"log_Z": np.log(orthant(np.outer(y, y) * K, nodes))}


def estimate(method, data_name, N, B, runs, seed):
    """Return runs of a method: each exp(log_weights[r]) is an unbiased estimate of p(y)."""
    K, y, q = problem(data_name, N)
    rng = np.random.default_rng(seed)
    if method == "tilting":
        A, mu, bound = tilted(data_name, N)
        log_w = [combine(tilted_run(A, mu, B, rng)).log_Z for _ in range(runs)]
        return {"log_weights": log_w, "bound": bound}
    if method == "SciPy's cdf":
        C = np.eye(N) + np.outer(y, y) * K
        p = [multivariate_normal(cov=C, maxpts=B, abseps=0, releps=0, seed=rng).cdf(np.zeros(N))
             for _ in range(runs)]
        return {"log_weights": np.log(p)}
    from_q = method != "AIS-HMC"
    model = GPClassification.from_ep(K, y, q) if from_q else GPClassification.from_prior(K, y)
    if method == "IS from q":  # a single step, and a transition that does not matter
        betas, kernel = geometric_ladder(1, 1.0), HMC(1e-3, 1)
    else:
        betas = geometric_ladder(B, BETA_MIN[from_q])
        kernel = PAPER_RMHMC if "RMHMC" in method else PAPER_HMC._replace(eps=HMC_EPS[N])
    result = ais(model, betas, kernel, runs, rng)
    return {"log_weights": result.log_weights, "accepted": result.accepted.mean(),
            "divergences": result.divergences.sum()}


def seconds(method, N, B, runs):
    """Guess how long a replicate takes."""
    each = {"AISq-RMHMC": 1.6e-4 + 5e-10 * N**3, "tilting": 2e-9 * N**2, "SciPy's cdf": 1e-7 * N,
            "IS from q": 1e-5 + 2e-9 * N**2}
    return B * runs * each.get(method, 1.5e-4 + 4.5e-8 * N**2) + (method == "tilting") * 1e-8 * N**3


def warm():
    """Compile everything in this process, before others start."""
    for method in ("AISq-RMHMC", "AISq-HMC", "AIS-HMC"):
        estimate(method, data.digits_3v5().name, 2, 1, 1, 0)


def run(settings, data_names):
    """Return (reference, found): truths {N: Measured}, and {(method, N): dict} of all estimates.

    data_names : dict   N -> the name of its data set
    """
    plans = PLANS[settings.budget]
    todo = [(method, N, dict(method=method, data_name=data_names[N], N=N, B=B, runs=runs,
                             seed=[settings.seed, index, N, k], cost=seconds(method, N, B, runs)))
            for index, (method, plan) in enumerate(plans.items())
            for N, (B, runs, copies) in plan.items() if N in data_names for k in range(copies)]
    results = replicates(NAME, settings, estimate, [task for *_, task in todo], warm=warm)
    batches = {}
    for (method, N, task), result in zip(todo, results, strict=True):
        batches.setdefault((method, N), []).append(result | {"B": task["B"]})
    found = {}
    for key, done in batches.items():
        log_w = np.concatenate([batch["log_weights"] for batch in done])
        found[key] = combine(log_w)._asdict() | {
            "runs": log_w.size, "sd": log_w.std(ddof=1), "B": done[0]["B"],
            **{name: float(np.mean([batch[name] for batch in done]))
               for name in ("accepted", "bound") if name in done[0]},
            "divergences": sum(batch.get("divergences", 0) for batch in done)}
    quadrature = replicates(NAME, settings, exact, [
        dict(data_name=data_names[N], N=N, nodes=NODES) for N in EXACT], unit="exact values")
    reference = {N: Measured(value["log_Z"]) for N, value in zip(EXACT, quadrature, strict=True)}
    for N in set(data_names) - set(EXACT):
        m = found[REFERENCE[N], N]
        reference[N] = Measured(m["log_Z"], m["standard_error"])
    for N in data_names:
        _, y, q = problem(data_names[N], N)
        for name, order in APPROXIMATIONS.items():
            correction = second_order(q, y, order) if order else 0.0
            found[name, N] = {"log_Z": q.log_Z + correction, "standard_error": 0.0}
    return dict(sorted(reference.items())), found


def error(found, reference, method, N):
    """Return estimate - truth, with the standard errors of both in quadrature."""
    m, truth = found[method, N], reference[N]
    return Measured(m["log_Z"] - truth.value, float(np.hypot(m["standard_error"], truth.se)))


def needs_more(m):
    """Tell whether an estimate has too few effective runs; those of QMC are averages already."""
    return m["effective_runs"] < (EFFECTIVE if "accepted" in m else EFFECTIVE / 4)


def compare(reference, found):
    """Measure what the claims are about; return them with the claims that can be made."""
    measured = {"EP error, N = 1": error(found, reference, "EP", 1).value}
    few = set()
    for N, truth in reference.items():
        if N > 1:
            plain, corrected = (abs(error(found, reference, name, N).value)
                                for name in ("EP", "EP, order 4"))
            # the truth may lie between the two, where it moves both
            measured[f"|EP error| - |error at order 4|, N = {N}"] = Measured(
                plain - corrected, 2 * truth.se)
    for method, N in found:
        if method in (*SAMPLERS, "tilting") and method != REFERENCE.get(N):
            what = f"{method}: error / s.e., N = {N}"
            e = error(found, reference, method, N)
            measured[what] = e.value / e.se
            truth = found.get((REFERENCE.get(N), N))  # None if it is exact
            if needs_more(found[method, N]) or (truth and needs_more(truth)):
                few.add(what)
    return measured, [c for c in CLAIMS if c.what in measured.keys() - few]


def last_step(data_name, N):
    """Return the length of AIS's last step from q at and above which its weights have no variance.

    Along a ray c d, prior x likelihood^(1 + D) / site^D falls like exp(-c^2 Q / 2), with Q = d'
    K^-1 d - D d' diag(tau) d + (1 + D) (sum of d_n^2 where the label is wrong); d is EP's mean.
    Other directions can only make it shorter.  Below 1: importance sampling has no variance.
    """
    _, y, q = problem(data_name, N)
    site = q.mu @ (q.tau * q.mu)
    prior = q.mu @ q.nu - site  # K^-1 mu = nu - tau mu
    wrong = np.sum(q.mu[y * q.mu < 0] ** 2)
    return (prior + wrong) / (site - wrong)


def table(reference, found, data_names):
    """Lay out the errors, a column for each N, and then how many runs they rest on."""

    def cell(method, N):
        if (method, N) not in found:
            return ""
        m = found[method, N]
        value, se = m["log_Z"] - reference[N].value, m["standard_error"]
        if se == 0:
            return f"{value:+.5f}" if abs(value) > 1e-12 else "0"
        digits = max(0, 1 - int(np.floor(np.log10(se)))) if np.isfinite(se) else 2
        text = f"{value:+.{digits}f}({se * 10**digits:.0f})"
        return f"[{text}]" if method == REFERENCE.get(N) else text

    def effective(method, N):
        m = found.get((method, N))
        return f"{m['effective_runs']:.0f}/{m['runs']}" if m else ""

    names = [*APPROXIMATIONS, *(m for m in PLANS["paper"] if any(key[0] == m for key in found))]
    samplers = names[len(APPROXIMATIONS):]
    header = ["N", *map(str, reference)]
    truth = [["log Z", *(f"{t.value:.5f}" for t in reference.values())],
             ["s.e.", *(f"{t.se:.5f}" if t.se else "exact" for t in reference.values())]]
    errors = [[name, *(cell(name, N) for N in reference)] for name in names]
    counts = [[name, *(effective(name, N) for N in reference)] for name in samplers]
    counts.append(["last step", *(f"{last_step(data_names[N], N):.2f}" for N in reference)])
    counts.append(["bound", *(f"{np.exp(found['tilting', N]['bound'] - reference[N].value):.3g}"
                              if ("tilting", N) in found else "" for N in reference)])
    divergences = sum(m.get("divergences", 0) for m in found.values())
    return (f"{text_table(truth, header)}\n\nError, estimate - log Z; (12) is the standard error of"
            " the last digits, [ ] is the reference;\nIS from q has infinite variance:"
            f" its standard error is none\n\n{text_table(errors, header)}\n\n"
            "Effective runs / runs; last step: with one so long, AIS from q has no variance;\n"
            "bound: the largest weight that a point of tilting can have, over the mean weight\n\n"
            f"{text_table(counts, header)}\n\nDivergent transitions in all runs of AIS:"
            f" {divergences}.\nA claim about AIS is made from {EFFECTIVE} effective runs on.")


def figure(reference, found, data_names):
    """Draw |error| of EP and its correction, and the errors of the samplers over their s.e."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    sizes = list(reference)
    at = {N: k for k, N in enumerate(sizes)}
    floor = 1e-7
    for (name, _), colour, marker in zip(APPROXIMATIONS.items(), ("k", "C0", "C3"), "oxD",
                                         strict=True):
        errors = [error(found, reference, name, N) for N in sizes if N > 1]
        size = np.array([abs(e.value) for e in errors])
        se = np.array([e.se for e in errors])
        left.errorbar([at[N] for N in sizes if N > 1], size,
                      [np.where(se < size, se, size - floor), se], color=colour, marker=marker,
                      ms=6, lw=1, capsize=3, label=name, mfc="none" if marker == "o" else colour)
    left.plot(at[1], floor * 1.6, "kv", ms=7, clip_on=False, label="0 (N = 1: EP is exact)")
    noisy = [N for N in sizes if reference[N].se > 0]
    left.bar([at[N] for N in noisy], [reference[N].se - floor for N in noisy], 0.6, floor,
             color="0.85", zorder=0, label="standard error of the reference")
    ours = [N for N in sizes if ("AISq-RMHMC", N) in found]
    left.plot([at[N] for N in ours], [found["AISq-RMHMC", N]["standard_error"] for N in ours], ":",
              color="0.4", label="standard error of AISq-RMHMC")
    left.set(yscale="log", ylim=(floor, 200), ylabel=r"|error of $\log Z$| (nats)",
             title="EP and its second-order correction")
    left.legend(fontsize=8, loc="upper left", ncols=2)
    shown = {name: marker for name, marker in SAMPLERS.items()
             if any(key[0] == name for key in found)} | {"tilting": "P"}
    clip = 6.0
    for band, shade in ((4, "0.94"), (2, "0.87")):
        right.axhspan(-band, band, color=shade, zorder=0, label=rf"$\pm{band}$ standard errors")
    for k, (name, marker) in enumerate(shown.items()):
        offset = (k - (len(shown) - 1) / 2) * 0.14
        some = [N for N in sizes if (name, N) in found and name != REFERENCE.get(N)]
        z = [e.value / e.se for e in (error(found, reference, name, N) for N in some)]
        right.plot([at[N] + offset for N in some], np.clip(z, -clip, clip), marker, color=f"C{k}",
                   label=name, clip_on=False)
        for N, value in zip(some, z, strict=True):
            if abs(value) > clip:
                right.annotate(f"{value:.0f}", (at[N] + offset, np.sign(value) * clip),
                               (6, 0), textcoords="offset points", va="center", fontsize=8)
    right.axhline(0, color="k", lw=0.8)
    right.set(ylim=(-clip, clip), ylabel="error / standard error",
              title="the samplers (a number: beyond the axis)")
    right.legend(fontsize=8, loc="upper right", ncols=2)
    for ax in (left, right):
        ax.set_xticks(range(len(sizes)), [f"{N}\nUSPS" if N == USPS else str(N) for N in sizes])
        ax.set(xlabel="N, number of cases", xlim=(-0.6, len(sizes) - 0.4))
    names = " and ".join(dict.fromkeys(data_names.values()))
    fig.suptitle(f"Evidence of Gaussian-process classification, {names}; "
                 rf"$\log\ell$ = {LOG_LENGTH}, $\log\sigma$ = {LOG_AMPLITUDE}", fontsize=10)
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    sizes = PLANS[settings.budget]["AISq-RMHMC"]
    cases = data.or_exit(data.usps_3v5, settings.data) if USPS in sizes else data.digits_3v5()
    data_names = {N: data.digits_3v5().name if N != USPS else cases.name
                  for N in sizes if N != USPS or not cases.note}
    described = " and ".join(dict.fromkeys(data_names.values()))
    announce(NAME, settings, f"log evidence, N = {', '.join(map(str, data_names))}", described
             + f" ({cases.note}, so no N = {USPS})" * bool(cases.note), MINUTES[settings.budget])
    reference, found = run(settings, data_names)
    measured, claims = compare(reference, found)
    failures = finish(NAME, settings, claims, measured, figure(reference, found, data_names), {
        "reference": reference, "estimates": {f"{m}, N = {N}": v for (m, N), v in found.items()},
        "data": data_names, "note": cases.note}, table(reference, found, data_names))
    raise SystemExit(failures > 0)
