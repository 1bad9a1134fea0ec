r"""RMHMC for Gaussian processes (Paquet and Fraccaro 2016), ours: what f_max = 5 costs.

Line 12 of Algorithm 1 says that the fixed-point loops make a time-reversible and volume-preserving
integrator.  They do where they have converged.  What f_max iterations leave is measured here as
1. the distance to the start after a trajectory, a flip of p, and a trajectory back;
2. the rate of rejections, and of trajectories that leave the finite numbers;
3. the bias of the posterior mean: against its exact value where N = 1 or 2, and against f_max = 20
   by chains that share their random numbers.  The posterior is log-concave, so such chains stay
   close together, and their difference is known better than the mean of either.
The orders in eps and the factor c of an iteration are derived in algorithms/paquet_rmhmc_fast.py.

Run     python reproduce/beyond/paquet_fixed_point.py [--budget smoke|short|paper]
        Short takes fewer starts and shorter chains, smoke also fewer digits.
Writes  figures/paquet_fixed_point.png, .txt (tables, claims), .json; smoke, short in their folders
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.paquet_rmhmc_fast import rmhmc
from reproduce.harness.claims import Claim, Declared, Measured, mean, text_table
from reproduce.harness.files import or_exit
from reproduce.harness.style import legend_below, mark, panels, shades
from reproduce.paquet import trajectories
from reproduce.paquet.digits import usps_3v5
from reproduce.paquet.problem import KERNELS
from reproduce.paquet.trajectories import SMALL, draw, order, posterior, returns, reversals, volumes

NAME, WHAT = "paquet_fixed_point", "fixed-point iterations of RMHMC"
MINUTES = {"paper": 22, "short": 2, "smoke": 0.2}

# The paper's settings
EPS, L_MAX, F_MAX = KERNELS["RMHMC"]  # Section 5, and the inputs of Algorithm 1
LONGEST = 2000  # transitions in the longest run, panel (f) of Figure 2

# Our settings
STEPS = (0.05, 0.1, 0.2)  # eps
TINY_STEPS = (0.0125, 0.025)  # for the order in eps
MANY = 20  # iterations in the place of infinitely many
ALL, SOME = tuple(range(1, MANY + 1)), (1, 2, 3, 4, 5, 6, 8, 10, 20)  # f_max of trajectories
FEW, FEWER = (1, 2, 3, 4, 5, 8, 20), (1, 2, 3, 5, 20)  # f_max of chains
ORDERS = {1: 2, 2: 4, 3: 4, 4: 6, 5: 6}  # in eps, of the return error: f + 1, for even f f + 2
BURN = 0.1  # the part of a chain that is left out: it starts at a draw, and the bias builds up
DIGITS_SIZES = {  # cases: None is all; starts: for each eps; transitions: of each chain
    "paper": dict(cases=None, f_max=ALL, starts=6, chain_f_max=FEW[:5] + FEW[-1:], chains=10,
                  transitions=30),
    "short": dict(cases=None, f_max=SOME, starts=3, chain_f_max=FEWER, chains=4, transitions=12),
    "smoke": dict(cases=60, f_max=SOME, starts=3, chain_f_max=FEWER, chains=4, transitions=15),
}
SMALL_SIZES = {
    "paper": dict(starts=1000, volumes=200, chains=24, transitions=2500),
    "short": dict(starts=200, volumes=30, chains=16, transitions=500),
    "smoke": dict(starts=20, volumes=5, chains=5, transitions=40),
}


def chains(name, cases, eps, f_maxes, transitions, seed):
    """Make chains from one start with the same random numbers, one for each f_max.

    Each (f_maxes,): "mean" of the standardised scalar z, "square" of z^2, a rate, a number.
    """
    at, rng = posterior(name, cases), np.random.default_rng(seed)
    start, same = draw(at, rng), int(rng.integers(2**62))
    found = {"mean": [], "square": [], "rejected": [], "divergences": []}
    for f_max in f_maxes:
        chain = rmhmc(start, at.model, L_MAX, eps, transitions, np.random.default_rng(same), f_max)
        x = chain.samples[round(BURN * transitions):]
        z = (x @ at.weights - at.mean) / at.deviation
        for key, value in zip(found, (z.mean(), (z**2).mean(), 1 - chain.accepted.mean(),
                                      chain.divergences), strict=True):
            found[key].append(value)
    return found


class Bias(NamedTuple):
    """What is wrong with chains; each field is a dictionary by f_max."""

    mean: dict  # against MANY iterations with the same random numbers
    variance: dict  # the same
    exact: dict  # of the mean, against its exact value, if that is known
    rejected: dict  # rate
    divergences: dict  # number


class Return(NamedTuple):
    """How trajectories come back; all but the last is a dictionary by f_max."""

    x: dict  # mean log10 distance to the start
    H: dict  # mean log10 error of the energy
    lost: dict  # share
    contraction: list  # median and maximum, of those that return with the last f_max


class Result(NamedTuple):
    """What was found; a key is (problem, eps)."""

    returns: dict  # key -> Return
    volume: dict  # key -> {f_max: Measured}, log10 |log |det J||
    chains: dict  # key -> Bias
    order: dict  # f_max -> Measured, the order in eps of the error of the return
    N: int
    data: str
    gain: Measured  # by iteration 4 less by iteration 5, in log10
    decay: Measured  # of the error in an iteration, over the contraction factor


def biases(f_maxes, found, small):
    """Return the Bias of chains."""
    z, square, rejected, diverged = (np.array([chain[key] for chain in found]) for key in (
        "mean", "square", "rejected", "divergences"))
    coupled, variance, exact = (by_f(f_maxes, zip(*mean(values), strict=True)) for values in (
        z - z[:, -1:], square - square[:, -1:], z))
    return Bias(coupled, variance, exact if small else {},
                dict(zip(f_maxes, rejected.mean(0), strict=True)),
                dict(zip(f_maxes, diverged.sum(0), strict=True)))


def by_f(f_maxes, pairs):
    """Return {f_max: Measured}."""
    return {f: Measured(*pair) for f, pair in zip(f_maxes, pairs, strict=True)}


def warm():
    """Compile everything in this process, before others start."""
    returns("N = 1", 1, EPS, (1,), 1, 0)
    chains("N = 1", None, EPS, (1,), 10, 0)
    posterior("optical digits 3 vs 5", 20)


def run(experiment, cases):
    """Return the Result."""
    seed, budget = experiment.seed, experiment.budget
    big, small = DIGITS_SIZES[budget], SMALL_SIZES[budget]
    n, f_max, starts = big["cases"] or cases.y.size, big["f_max"], small["starts"]
    digits = dict(name=cases.name, cases=big["cases"])
    keys = [(name, eps) for name in SMALL for eps in STEPS]
    todo = [dict(name=name, l_max=L_MAX, eps=eps) for name, eps in keys]
    tasks = {
        reversals: [digits | dict(l_max=L_MAX, eps=eps, f_maxes=f_max, starts=1, seed=[seed, 0, k])
                    for eps in STEPS for k in range(big["starts"])],
        returns: [task | dict(f_maxes=ALL, starts=starts, seed=[seed, 2]) for task in todo],
        order: [dict(name="N = 2", l_max=L_MAX, steps=TINY_STEPS, f_maxes=tuple(ORDERS),
                     starts=starts, seed=[seed, 2])],
        volumes: [task | dict(f_maxes=SOME, starts=small["volumes"], seed=[seed, 3])
                  for task in todo],
        chains: [digits | dict(eps=EPS, f_maxes=big["chain_f_max"], seed=[seed, 1, k],
                               transitions=big["transitions"]) for k in range(big["chains"])]
        + [dict(name=name, cases=None, eps=eps, f_maxes=FEW, seed=[seed, 4, k],
                transitions=small["transitions"])
           for name, eps in keys for k in range(small["chains"])]}
    done = {}
    for function, some in tasks.items():
        for task in some:  # in ms, from 5 ms for a metric at N = 767 and 3 us at N = 1
            N = n if task["name"] == cases.name else 1
            length = task.get("transitions") or 2 * task["starts"]
            task["cost"] = L_MAX * sum(task["f_maxes"]) * length * (N**3 + 3e5) / 1e8
        done[function] = experiment.replicates(function, some, function.__name__, warm=warm)

    def results_of(function, name, eps):
        return [found for task, found in zip(tasks[function], done[function], strict=True)
                if (task["name"], task["eps"]) == (name, eps)]

    def label_summary(f_maxes, found):
        return Return(by_f(f_maxes, found["x"]), by_f(f_maxes, found["H"]),
                      dict(zip(f_maxes, found["lost"], strict=True)), found["contraction"])

    return Result(
        {key: label_summary(ALL, *results_of(returns, *key)) for key in keys}
        | {("digits", eps): label_summary(
            f_max, trajectories.summary(results_of(reversals, cases.name, eps))) for eps in STEPS},
        {key: by_f(SOME, results_of(volumes, *key)[0]["log10"]) for key in keys},
        {key: biases(FEW, results_of(chains, *key), True) for key in keys}
        | {("digits", EPS): biases(big["chain_f_max"], results_of(chains, cases.name, EPS), False)},
        by_f(ORDERS, done[order][0]["order"]), n, cases.name,
        **trajectories.convergence(f_max, results_of(reversals, cases.name, EPS)))


def bias(r, name, f_max=F_MAX, eps=EPS):
    """Return the bias of the mean, against the exact value if there is one."""
    found = r.chains[name, eps]
    return (found.exact or found.mean)[f_max]


TOLERANCE, SPAN = LONGEST**-0.5, trajectories.MARKED
BIAS = ("Algorithm 1, line 12, and f_max = 5 of Section 4.1: a bias is of no account if it is below"
        f" the Monte Carlo error of the paper's longest run: {LONGEST} transitions, were they"
        f" independent, have {TOLERANCE:.3f} posterior deviations")
CONVERGED = "Algorithm 1, line 12; if it held, only rounding errors would be left, "
NOT_CONVERGED = Declared(
    "five iterations leave errors of order eps^6 that fall by the contraction factor c with each"
    " further iteration (see algorithms/paquet_rmhmc_fast.py; the table has c)",
    "2026-11-21T00:38", "2026-11-21T01:25", "Algorithm 1, line 12")
CLAIMS = [
    *[Claim(f"log10 reversibility error, {name}", '"time-reversible"',
            lambda r, name=name: r.returns[name, EPS].x[F_MAX], -np.inf, high,
            CONVERGED + rounding, "printed sentence", NOT_CONVERGED)
      for name, high, rounding in (
          ("digits", -8.0, "1e-9 here, as the table shows for eps = 0.05"),
          ("N = 2", -13.0, "1e-15 here"))],
    Claim("log10 |log volume|, N = 2", '"volume preserving"',
          lambda r: r.volume["N = 2", EPS][F_MAX], -np.inf, -8.0,
          CONVERGED + "and those of the differences, 1e-9", "printed sentence", NOT_CONVERGED),
    *[Claim(f"order in eps of the reversibility error, N = 2, f_max = {f}", "ours",
            lambda r, f=f: r.order[f], k - 0.5, k + 0.5,
            "f + 1 for odd f, f + 2 for even f; an order is a whole number", "ours")
      for f, k in ORDERS.items()],
    Claim("gain in log10 by iteration 4 - gain by iteration 5, digits", "ours",
          lambda r: r.gain, 0.0, np.inf, "errors of even f cancel to leading order, so f_max = 5"
          " is of the same order as 4", "ours"),
    Claim("decay per iteration / contraction factor c, digits", "ours", lambda r: r.decay,
          (2 * L_MAX) ** -0.25, (2 * L_MAX) ** 0.25,
          f"the error is a sum over the 2 l_max steps of terms that fall with each step's own c;"
          f" how many of them count changes its fall over the {SPAN[1] - SPAN[0]} iterations"
          f" from {SPAN[0]} to {SPAN[1]} by a factor of 2 l_max at most, either way", "ours"),
    *[Claim(f"bias of the mean, {name}, f_max = 5", '"a correct MCMC algorithm"',
            lambda r, name=name: bias(r, name), -TOLERANCE, TOLERANCE, BIAS, "printed sentence")
      for name in (*SMALL, "digits")],
    Claim("|bias of the mean|, digits, f_max = 1", "ours", lambda r: abs(bias(r, "digits", 1)),
          TOLERANCE, np.inf, "errors of order eps^2 in every transition; the bound is that of the"
          " claims above", "ours"),
    *[Claim(f"bias of the mean, {name}, eps = 0.05, f_max = {MANY}", "ours",
            lambda r, name=name: bias(r, name, MANY, 0.05), -TOLERANCE, TOLERANCE,
            "converged, hence exact", "ours") for name in SMALL],
    Claim("|bias of the mean|, N = 1, eps = 0.2, f_max = 5", "ours",
          lambda r: abs(bias(r, "N = 1", eps=0.2)), TOLERANCE, np.inf,
          "at twice the paper's eps five iterations leave return errors of 6e-4, not 3e-8, and with"
          " 20 iterations 7 % of the trajectories do not return (see the table): the bias is above"
          " the bound of the claims above", "ours"),
]


def table(r):
    """Lay out what is left of reversibility, of volume, and of the means of chains."""
    back = [[name, str(eps), *[f"{10 ** m.x[f].value:.0e}" for f in SOME],
             *[f"{100 * m.lost[f]:.0f}" for f in (F_MAX, MANY)],
             f"{10 ** m.H[F_MAX].value:.0e}",
             *([f"{c:.2g}" for c in m.contraction] or ["", ""])]
            for (name, eps), m in r.returns.items()]
    volume = [[name, str(eps), *[f"{10**m.value:.0e}" for m in found.values()]]
              for (name, eps), found in r.volume.items()]
    rows = [[name, str(eps), f, f"{100 * m.rejected[f]:.2f}", f"{m.divergences[f]:.0f}",
             *[f"{value:9.1e} +- {se:.0e}" for value, se in (m.mean[f], m.variance[f])],
             *["{:8.4f} +- {:.4f}".format(*m.exact[f]) if m.exact else ""]]
            for (name, eps), m in r.chains.items() for f in m.mean]
    header = ["", "eps", *[f"f={f}" for f in SOME]]
    return "\n\n".join([
        f"digits: {r.data}, N = {r.N}; l_max = {L_MAX}; errors and biases in posterior"
        " standard deviations",
        "Reversibility: geometric mean of the error; % of trajectories lost (error above 1 or not"
        " finite,\ncounted as 1); error of H; largest contraction factor c of each trajectory that"
        f" returns with f_max = {MANY}:\nmedian, maximum",
        text_table(back, [*header, "lost, f=5", f"f={MANY}", "H, f=5", "c", "max"]),
        "Volume: geometric mean of |log|det J||", text_table(volume, header),
        f"Chains: bias of the mean and of the variance, against f_max = {MANY} with the same random"
        " numbers;\nof the mean against the exact value",
        text_table(rows, ["", "eps", "f_max", "% rejected", "diverged", "mean", "variance",
                          "mean, exact"])])


def figure(r):
    """Draw reversibility on the small problems and on the digits, rejections, and biases."""
    fig, axes = panels(2, 2, 7.2)
    (small, digits), (rejected, bias) = axes
    styles = {"digits": "o-", "N = 2": "s--", "N = 1": "^:"}
    colours = dict(zip(STEPS, shades(len(STEPS)), strict=True))
    for (name, eps), found in r.returns.items():
        value, se = np.array([*found.x.values()]).T
        ax = digits if name == "digits" else small
        ax.plot([*found.x], 10**value, styles[name], color=colours[eps])
        ax.fill_between([*found.x], 10 ** (value - 2 * se), 10 ** (value + 2 * se),
                        color=colours[eps], alpha=0.15, lw=0)
    for (name, eps), found in r.chains.items():
        rejected.plot([*found.rejected], [100 * rate for rate in found.rejected.values()],
                      styles[name], color=colours[eps])
        shift = 0.1 * ([*styles].index(name) - 1) + 0.04 * (STEPS.index(eps) - 1)
        for f, (value, se) in [*found.mean.items()][:-1]:
            lower = min(2 * se, 0.9 * abs(value))  # a log axis has no 0
            bias.errorbar(f + shift, abs(value), [[lower], [2 * se]], color=colours[eps],
                          fmt=styles[name][0], lw=1,
                          mfc=None if abs(value) > 2 * se else "white")
    for ax, title in ((small, "(a) there and back: N = 1, N = 2"),
                      (digits, f"(b) there and back: {r.data}, N = {r.N}")):
        ax.set(title=title, yscale="log", ylim=(1e-17, 3), ylabel="return error (posterior s.d.)")
    rejected.set(title="(c) rejections", ylabel="% of transitions")
    rejected.set_yscale("symlog", linthresh=1)
    rejected.set_ylim(0, 100)
    rejected.set_yticks([0, 0.5, 1, 3, 10, 30, 100], ["0", "0.5", "1", "3", "10", "30", "100"])
    for ax in axes.flat:
        ax.axvline(F_MAX, color="0.85", lw=3, zorder=0)
        ax.set(xlabel=r"fixed-point iterations $f_{\max}$", xticks=[1, 2, 3, 4, 5, 8, 10, 15, 20],
               xlim=(0.5, MANY + 0.5))
    bias.axhline(TOLERANCE, color="k", lw=0.8)
    bias.set(title="(d) bias of the mean; bars: 2 s.e.; hollow: below 2 s.e.", yscale="log",
             ylim=(1e-11, 3), ylabel=rf"|bias| against $f_{{\max}}$ = {MANY} (posterior s.d.)",
             xticks=FEW[:-1], xlim=(0.7, FEW[-2] + 0.3))
    legend_below(fig, handles=[
        *(mark(rf"$\varepsilon$ = {eps}", c, "", "-") for eps, c in colours.items()),
        mark(r"the paper's $f_{\max}$", "0.85", "", "-", lw=3),
        *(mark(name, "0.3", style[0], style[1:]) for name, style in styles.items()),
        mark(f"s.e. of {LONGEST} draws", "k", "", "-", lw=0.8)], ncols=8)
    return fig


def cases(settings):
    """Return the digits."""
    return or_exit(usps_3v5, settings.data)


STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
