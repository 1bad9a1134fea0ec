"""Split HMC (Shahbaba, Lan, Johnson and Neal 2014), Figure 1: HMC against a random walk.

Run     python reproduce/shahbaba_fig1.py [--budget smoke|short|paper]
        smoke 3 s, short 10 s, paper 1 min with 2 jobs; the first run compiles, 20 s more.  The
        figure's own run has 30 states; the claims need longer chains, and the budgets differ in
        their length and number.
Writes  shahbaba_fig1.png, .txt (the table and the claims) and .json, into figures/ for the paper
        budget and figures/<budget>/ for the others; the exit status is 1 if a claim fails
"""

import time

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from algorithms.ess import initial_sequence
from algorithms.hmc import hmc
from algorithms.random_walk import random_walk
from harness import Claim, Measured, announce, finish, parse, plt, replicates
from harness import table as text_table
from models.gaussian import Gaussian

NAME = "shahbaba_fig1"

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
LENGTH = {"smoke": 1000, "short": 50_000, "paper": 100_000}  # states per chain for the claims
CHAINS = {"smoke": 4, "short": 8, "paper": 32}  # of each method
MINUTES = {"smoke": 0.05, "short": 0.17, "paper": 1.0}
WARMUP = 200  # states; ten autocorrelation times of the random walk


def theory():
    """Return HMC's (lag-1 autocorrelation, acceptance rate) here, by numerical integration.

    Along an axis of variance v the leapfrog map is linear: with cos(theta) = 1 - eps^2 / 2v,
        q <- cos(L theta) q + s sin(L theta) p,  p <- -sin(L theta) q / s + cos(L theta) p,
        s^2 = v / (1 - eps^2 / 4v).
    What is left is the expectation over four normals of functions of the acceptance probability,
    a mean over 2^20 points of Sobol's sequence, whose halves differ by 2e-6.
    """
    z = ndtri(qmc.Sobol(4, seed=0).random_base2(20))
    gain, moved = 0.0, []
    for k, v in enumerate(np.linalg.eigvalsh(COVARIANCE)):
        q, p = v**0.5 * z[:, 2 * k], z[:, 2 * k + 1]
        angle, s = L * np.arccos(1 - EPS**2 / (2 * v)), (v / (1 - EPS**2 / (4 * v))) ** 0.5
        end = np.cos(angle) * q + s * np.sin(angle) * p
        momentum = -np.sin(angle) / s * q + np.cos(angle) * p
        gain += (q**2 / v + p**2 - end**2 / v - momentum**2) / 2
        moved.append((q, end))
    accept = np.exp(np.minimum(gain, 0.0))
    covariance = [np.mean(q * (accept * end + (1 - accept) * q)) for q, end in moved]
    return sum(covariance) / np.trace(COVARIANCE), accept.mean()


LAG_1, RATE = theory()
CLAIMS = [
    Claim("HMC lag-1 autocorrelation", "theory", LAG_1 - 0.01, LAG_1 + 0.01,
          "numerical integration over the start and the momentum; the accepted width is a fifth of"
          " what the rejections change (-0.522 without them)"),
    Claim("HMC acceptance rate", "theory", RATE - 0.005, RATE + 0.005,
          "the same integral; a sixth of the rejections"),
    Claim("random walk lag-1 autocorrelation - |HMC's|", "order", 0.0, 1.0,
          "Section 1: HMC's autocorrelations are smaller"),
    Claim("autocorrelation time, random walk / HMC", "order", 1.0, np.inf,
          "Section 1: HMC explores the distribution more efficiently, at the same 20 evaluations"
          " per state"),
    Claim("mean jump, HMC / random walk", "order", 1.0, np.inf,
          "Section 1: HMC's successive samples are further from each other"),
    Claim("CPU time per state, random walk / HMC", "comparable", 10**-0.5, 10**0.5,
          "machine: 20 evaluations of U (walk) against 20 of its gradient and one of U (HMC); the"
          " accepted interval is one power of ten, centred at 1"),
    Claim("autocorrelation time, random walk / with large steps", "order", 1.0, np.inf,
          "footnote 1: in two dimensions large steps avoid the random walk"),
    Claim("acceptance rate, random walk - with large steps", "order", 0.0, 1.0,
          "footnote 1: large steps lead to a low acceptance probability"),
    *[Claim(f"{method}: mean of q_1", "3", 2.95, 3.05,
            "the target's; a twentieth of its standard deviation") for method in METHODS],
    *[Claim(f"{method}: covariance of q_1 and q_2", "0.95", 0.9, 1.0,
            "the target's; a twentieth of the variance") for method in METHODS],
]


def one_chain(method, scale, n, seed):
    """Run one chain of n states; return its first ones and what the claims need."""
    model = Gaussian(MEAN, np.linalg.inv(COVARIANCE))

    def sample(n, rng):
        if method == "HMC":
            return hmc(START, model, EPS, L, n, rng)
        return random_walk(START, model, scale, n, rng, THIN)

    sample(1, np.random.default_rng(seed))  # loads what is compiled, outside the time measured
    start = time.thread_time()
    chain = sample(n, np.random.default_rng(seed))
    seconds = time.thread_time() - start
    q = chain.samples[min(WARMUP, n // 5):]
    r = q[:, 0] - q[:, 0].mean()
    return {"states": chain.samples[:SHOWN], "seconds": seconds / n,
            "lag_1": r[:-1] @ r[1:] / (r @ r), "tau": initial_sequence(q[:, 0]).tau,
            "jump": np.linalg.norm(np.diff(q, axis=0), axis=1).mean(),
            "rate": chain.accepted.mean(), "mean": q[:, 0].mean(),
            "covariance": np.mean(np.prod(q - MEAN, axis=1))}


def warm():
    """Compile everything in this process, before others start."""
    for method, scale in METHODS.items():
        one_chain(method, scale, 10, 0)


def run(settings):
    """Return {method: its chains}, each chain a dict."""
    n = LENGTH[settings.budget]
    tasks = [dict(method=method, scale=scale, n=n, seed=[settings.seed, index, chain])
             for index, (method, scale) in enumerate(METHODS.items())
             for chain in range(CHAINS[settings.budget])]
    done = replicates(NAME, settings, one_chain, tasks, unit="chains", warm=warm)
    out = {method: [] for method in METHODS}
    for task, result in zip(tasks, done, strict=True):
        out[task["method"]].append(result)
    return out


def summaries(chains):
    """Return {method: {quantity: Measured}}: means over the chains, with standard errors."""
    return {method: {key: Measured(np.mean(x), np.std(x, ddof=1) / len(x) ** 0.5)
                     for key in done[0] if key != "states"
                     for x in [np.array([chain[key] for chain in done])]}
            for method, done in chains.items()}


def ratio(a, b):
    """Return a / b with its standard error by linearisation."""
    return Measured(a.value / b.value, np.hypot(a.se / a.value, b.se / b.value) * a.value / b.value)


def difference(a, b):
    """Return a - b with its standard error."""
    return Measured(a.value - b.value, np.hypot(a.se, b.se))


def table(found):
    """Measure what the claims are about."""
    chain, walk, large = found.values()
    magnitude = Measured(abs(chain["lag_1"].value), chain["lag_1"].se)
    return {
        "HMC lag-1 autocorrelation": chain["lag_1"],
        "HMC acceptance rate": chain["rate"],
        "random walk lag-1 autocorrelation - |HMC's|": difference(walk["lag_1"], magnitude),
        "autocorrelation time, random walk / HMC": ratio(walk["tau"], chain["tau"]),
        "mean jump, HMC / random walk": ratio(chain["jump"], walk["jump"]),
        # the ratio of times of single runs has no sampling distribution worth a standard error
        "CPU time per state, random walk / HMC": walk["seconds"].value / chain["seconds"].value,
        "autocorrelation time, random walk / with large steps": ratio(walk["tau"], large["tau"]),
        "acceptance rate, random walk - with large steps": difference(walk["rate"], large["rate"]),
        **{f"{method}: mean of q_1": m["mean"] for method, m in found.items()},
        **{f"{method}: covariance of q_1 and q_2": m["covariance"]
           for method, m in found.items()},
        "autocorrelation time, HMC / random walk with large steps":
            ratio(chain["tau"], large["tau"]),
    }


def text(found, n):
    """Lay out the methods side by side."""
    rows = [[method, f"{scale or EPS:g}", *(f"{m[key].value:.3f}" for key in (
        "lag_1", "tau", "jump", "rate")), f"{1e6 * m['seconds'].value:.2f}"]
            for (method, m), scale in zip(found.items(), METHODS.values(), strict=True)]
    header = ["method", "step", "lag-1 autocorrelation", "tau", "mean jump", "acceptance",
              "CPU us / state"]
    return (f"{n} states per chain, {THIN} updates or {L} leapfrog steps each; tau is Geyer's"
            f" initial monotone\nsequence for q_1, in states\n\n{text_table(rows, header)}")


def figure(chains):
    """Draw the paper's two panels: the first states of each chain over contours of the density."""
    fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharex=True, sharey=True, layout="constrained")
    angle = np.linspace(0, 2 * np.pi, 200)
    ellipse = np.linalg.cholesky(COVARIANCE) @ [np.cos(angle), np.sin(angle)]
    panels = {"HMC": f"Hamiltonian Monte Carlo, {L} leapfrog steps",
              "random walk": f"Random walk Metropolis, every {THIN}th state"}
    for ax, (method, title) in zip(axes, panels.items(), strict=True):
        for radius in (1, 2, 3):
            ax.plot(*(MEAN[:, None] + radius * ellipse), color="0.75", lw=1)
        states = np.vstack([START, chains[method][0]["states"]])
        ax.plot(*states.T, "o-", color="C0", ms=4, lw=0.8)
        ax.plot(*START, "s", color="C1", ms=6, label="start")
        ax.set(title=title, xlabel=r"$q_1$", aspect="equal")
    axes[0].set_ylabel(r"$q_2$")
    axes[0].legend(loc="upper left", frameon=False)
    fig.suptitle(f"the first {SHOWN} states; contours at 1, 2 and 3 standard deviations",
                 fontsize=10)
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    announce(NAME, settings, "HMC against a random walk", "none, a bivariate normal",
             MINUTES[settings.budget])
    chains = run(settings)
    found = summaries(chains)
    failures = finish(NAME, settings, CLAIMS, table(found), figure(chains),
                      {method: {key: m._asdict() for key, m in values.items()}
                       for method, values in found.items()}, text(found, LENGTH[settings.budget]))
    raise SystemExit(failures > 0)
