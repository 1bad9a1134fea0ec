"""Zhang and Sutton (2014), Section 5.1: SSHMC against RMHMC with the SoftAbs metric, on the funnel.

"Each ABLA step is about 100 times faster than each generalized leapfrog step and SSHMC can generate
around 2.5 times more effective samples per second".  Together: an effective sample takes SSHMC 40
times as many steps.  A generalised leapfrog of 101 dimensions takes a thirtieth of a second here,
so long chains are out of reach; but every start is an exact draw of the funnel, and one transition
from each gives the autocorrelation rho of v from one draw to the next without bias.  For both
methods (1 - rho) / (1 + rho) stands for the effective draws of a transition, which in a reversible
chain are at most that.

Run     python reproduce/beyond/zhang_softabs.py [--budget smoke|short|paper]
        Paper has 80 starts for each number of steps of the generalised leapfrog, short 6; smoke has
        4 in 5 + 1 dimensions.
Writes  figures/zhang_softabs.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import time

import numpy as np

from algorithms.generalised_leapfrog import rmhmc
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import VARIANCE, Funnel
from reproduce.harness.claims import Claim, Measured, Scan, brief, log, mean, text_table
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import COLOURS, panels, plain_log
from reproduce.zhang.contracted import contract_soft_abs
from reproduce.zhang.funnel import exact_draw
from reproduce.zhang.printed import FUNNEL, SSHMC, quote

NAME, WHAT = "zhang_softabs", "an ABLA step against a generalised leapfrog"
MINUTES = {"paper": 2, "short": 0.7, "smoke": 0.2}

# The paper's settings (Section 5.1)
N_THETA, N_PHI = FUNNEL["n_theta"], FUNNEL["n_phi"]

# Our settings
SIZE = {"paper": FUNNEL["n"], "short": FUNNEL["n"], "smoke": 5}
SOFT, ALPHA, EPS_SOFT = "RMHMC, SoftAbs", 1.0, 0.4  # accepts about four fifths
TOL = 1e-9  # of the implicit equations; the way back is not run, as a test of it doubles the time
EPS = 0.2  # "halves" of the three readings (zhang/funnel.py)
STEPS = {SSHMC: (100, 200, 300), SOFT: (8, 12, 18, 25)}
STARTS = {"paper": {SSHMC: 1000, SOFT: 80}, "short": {SSHMC: 200, SOFT: 6},
          "smoke": {SSHMC: 8, SOFT: 4}}
TIMED = {"paper": 10, "short": 5, "smoke": 2}  # rounds


def run(experiment, cases):
    """Return {method: {steps: effective draws of a transition, acceptance}}, and the times."""
    n, starts = SIZE[experiment.budget], STARTS[experiment.budget]
    done = replicates_by_key(experiment, from_exact_draws, {(method, L): [
        dict(method=method, n=n, L=L, seeds=[[experiment.seed, int(k)] for k in some],
             cost=L * len(some) * (1.0 if method == SOFT else 1e-4))
        for some in np.array_split(range(starts[method]), 4 if method == SSHMC else 8)
        if len(some)] for method, each in STEPS.items() for L in each},
        "groups of starts", warm=warm)
    (times,) = experiment.replicates(
        clock, [dict(n=n, rounds=TIMED[experiment.budget])], "timings", warm=warm)
    found = {method: {L: effective([pair for each in done[method, L] for pair in each["pairs"]])
                      for L in steps} for method, steps in STEPS.items()}
    return {"n": n, "found": found, "seconds": times["seconds"]}


def transition(method, q, model, L, n, rng):
    """Run n transitions of L steps from q; return their v and how many were accepted."""
    if method == SSHMC:
        chain = sshmc(q[:-1], q[-1:], model, EPS / 2, EPS, L, n, rng, n_theta=N_THETA, n_phi=N_PHI)
        return chain.phi[:, 0], chain.accepted
    chain = rmhmc(q, contract_soft_abs(model, ALPHA), L, EPS_SOFT, n, rng, tol=TOL, tol_back=0.0)
    return chain.samples[:, -1], chain.accepted


def from_exact_draws(method, n, L, seeds):
    """Return [v, v after one transition, accepted or not] from an exact draw for each seed."""
    model, pairs = Funnel.from_size(n), []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        q = np.append(*exact_draw(rng, n))
        v, accepted = transition(method, q, model, L, 1, rng)
        pairs.append([q[-1], v[0], float(accepted[0])])
    return {"pairs": pairs}


def clock(n, rounds):
    """CPU seconds of a step of either method, in turn, from a draw with v about 0."""
    model, rng = Funnel.from_size(n), np.random.default_rng(0)
    q = np.append(rng.standard_normal(n), 0.0)
    seconds = {method: [] for method in STEPS}
    for _ in range(rounds + 1):  # the first one loads what is compiled
        for method, transitions, L in ((SSHMC, 50, 200), (SOFT, 1, 10)):
            start = time.thread_time()
            transition(method, q, model, L, transitions, rng)
            seconds[method].append((time.thread_time() - start) / (transitions * L))
    return {"seconds": {method: each[1:] for method, each in seconds.items()}}


def warm():
    """Compile everything in this process, before others start."""
    for method in STEPS:
        from_exact_draws(method, 3, 2, [[0]])


def effective(pairs):
    """Return the effective draws of a transition, and the acceptance rate.

    1 - rho = E[(v' - v)^2] / (2 Var(v)), for v and v' of the funnel; the variance is known.
    """
    v, after, accepted = np.array(pairs).T
    half = mean((after - v) ** 2) / (2 * VARIANCE)  # 1 - rho
    draws = half.value / (2 - half.value)
    return {"draws": Measured(draws, half.se * 2 / (2 - half.value) ** 2), "AP": mean(accepted)}


def step_ratio(r):
    """Return the time of a generalised leapfrog over that of an ABLA step."""
    return mean(np.divide(r["seconds"][SOFT], r["seconds"][SSHMC]))


def best_efficiency(r, method):
    """Return the most effective draws a step, over the numbers of steps."""
    return max(found["draws"] / L for L, found in r["found"][method].items())


def log_ess_per_second(r):
    """Return the log of the effective draws a second of SSHMC over the other's, both the best."""
    return log(step_ratio(r)) + log(best_efficiency(r, SSHMC)) - log(best_efficiency(r, SOFT))


# A step of SoftAbs solves implicit equations, and each of some fifteen iterations takes the
# eigenvectors of a matrix of 101 x 101, a millisecond; an ABLA step takes some ten passes over 101
# numbers.  In the paper's program an ABLA step may be all overhead
THEIRS = ("by our programs",)  # and tolerance: of theirs neither is known


def ratio_of_programs(measure, printed):
    """Make the measure log(ours / printed) of what depends on programs that we do not know."""
    return lambda r: Scan(THEIRS, (measure(r) - np.log(printed),))


CLAIMS = [
    Claim("log(time of a step, SoftAbs / ABLA / 100)", quote("100 times"),
          ratio_of_programs(lambda r: log(step_ratio(r)), 100), -np.log(2), np.log(2),
          "machine (ratios only), and programs, of which theirs are not known: about, within a"
          " factor of two", "printed number",
          budgets=("paper",), cell="100 times"),
    Claim("log(effective draws a second, SSHMC / SoftAbs / 2.5)", quote("2.5 times"),
          ratio_of_programs(log_ess_per_second, 2.5), -np.log(2), np.log(2),
          "machine (ratios only), and programs, of which theirs are not known: around, within a"
          " factor of two", "printed number",
          budgets=("paper",), cell="2.5 times"),
    Claim("log(time of a step, SoftAbs / ABLA), at least", "ours: 100 at least", lambda r: log(
        step_ratio(r)), np.log(100), np.inf, "order: faster by a factor of 100 at least", "order",
        budgets=("paper",), cell="100 times"),
    Claim("log(effective draws a second, SSHMC / SoftAbs), at least", "ours: 2.5 at least",
          log_ess_per_second, np.log(2.5), np.inf, "order: 2.5 times as many at least", "order",
          budgets=("paper",), cell="2.5 times"),
    Claim("log(steps for an effective draw of v, SSHMC / SoftAbs)", "ours: about 0; the paper's"
          " factors make log(100 / 2.5) = 3.7", lambda r: log(best_efficiency(r, SOFT)) - log(
              best_efficiency(r, SSHMC)), -np.log(5), np.log(5), "free of the machine, each at its"
          " best number of steps: a draw takes about as many of either, within a factor of five",
          "ours", budgets=("paper",)),
]


def table(r):
    """Lay out what a transition of each number of steps is worth."""
    rows = [[method, L, brief(found["AP"]), brief(found["draws"]), brief(
        1000 * found["draws"] / L), f"{1e6 * np.mean(r['seconds'][method]):.3g}"]
        for method, each in r["found"].items() for L, found in each.items()]
    return text_table(rows, ["method", "steps", "acceptance", "draws a transition",
                             "draws per 1000 steps", "us a step"])


def figure(r):
    """Draw the effective draws per 1000 steps against the number of steps."""
    fig, ax = panels(1, 1, 3.6)
    for (method, each), colour, style in zip(r["found"].items(), COLOURS, ("o-", "s--"),
                                             strict=False):
        draws = [1000 * found["draws"] / L for L, found in each.items()]
        step = float(f"{1e6 * np.mean(r['seconds'][method]):.2g}")
        ax.errorbar(list(each), [m.value for m in draws], [2 * m.se for m in draws], fmt=style,
                    color=colour, label=rf"{method}: {step:g} $\mu$s a step")
    ax.set(xscale="log", yscale="log", xlabel="steps of a transition",
           ylabel="effective draws of $v$ per 1000 steps",
           title=f"Section 5.1: the funnel of {r['n']} + 1 dimensions; 2 standard errors")
    plain_log(ax.xaxis)
    plain_log(ax.yaxis)
    ax.legend(loc="upper left")
    return fig


cases = "none: the funnel itself"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
