"""What can be tried for Shahbaba, Lan, Johnson and Neal (2014): how long a step may be.

HMC and the two splits on the posterior of the recorded runs (steps.py), from one start with one
momentum, for trajectories of one length; beside them acceptance and energy error over draws of the
posterior, and where linear theory (algorithms/linear_theory.py) has an error grow.
"""

from functools import cache

import numpy as np

from algorithms.ess import ess
from algorithms.hmc import hmc, trajectory
from algorithms.linear_theory import exponent, q_block
from algorithms.shahbaba_split_hmc import exact_flow, follow, normal_approximation, split_data
from algorithms.shahbaba_split_hmc_fast import normal_state
from models.interface import U, grad_U, hessian
from reproduce.harness import laboratory_page as page
from reproduce.harness.laboratory_page import Control, Panel, Series, Setting, show
from reproduce.harness.recording import contours
from reproduce.shahbaba import chains, steps

# Our settings
FRACTION = 0.5  # of the cases in R_0
TIME = 12.0  # of a trajectory
EPS = tuple(round(0.1 * k, 1) for k in range(1, 31))
M = (2, 4, 8)
SEED, DRAWS, N = 0, 100, 1000  # draws of the posterior to start from; transitions of a chain
EXPAND = 20  # draws at which U is expanded
GROWS = 0.1  # exponent of growth over a trajectory: by 10 %
FINE = 5  # step sizes for linear theory to one of EPS
HMC, NORMAL, DATA = SAMPLERS = ("HMC", "normal split", "data split")
THEORY = {HMC: "HMC", NORMAL: "normal", DATA: "data"}  # their names in linear theory
LEVELS = (0.5, 1.5, 2.5)


@cache
def problem():
    """Return the model, the normal approximation and the split of the data."""
    model, fit = steps.model(), steps.fit()
    return model, normal_approximation(fit), split_data(model, fit.q, FRACTION)


@cache
def draws():
    """Return (DRAWS, 2) states of a chain with short steps, ten transitions apart."""
    model, fit, _ = problem()
    chain = hmc(fit.q_hat, model, 0.3, 8, 10 * DRAWS, np.random.default_rng(SEED))
    return chain.samples[9::10]


def length(eps):
    """Return the number of steps of a trajectory."""
    return max(1, round(TIME / eps))


def transitions(method, q, eps, M, n, rng):
    """Run n transitions of a method from q, without jitter."""
    with np.errstate(all="ignore"):
        return chains.transitions(THEORY[method], q, problem(), eps, length(eps), M, n, rng, 0.0)


@cache
def path(method, eps, M=0):
    """Follow a trajectory from the first draw; return the positions and H at the ends of steps."""
    model, fit, split = problem()
    q = draws()[0]
    p = np.random.default_rng(SEED).standard_normal(2)  # as transitions() with this seed
    L = length(eps)
    with np.errstate(all="ignore"):
        if method == HMC:
            return trajectory(q, p, model, eps, L)
        qs, ps, R = [q], [p], exact_flow(fit, eps)
        for _ in range(L):
            if method == NORMAL:  # Algorithm 1, lines 4 to 9
                p = p - eps / 2 * normal_state(q, model, fit).g_1
                q_star, p = follow(R, q - fit.q_hat, p)
                q = q_star + fit.q_hat
                p = p - eps / 2 * normal_state(q, model, fit).g_1
            else:  # Algorithm 2, lines 3 to 9
                p = p - eps / 2 * grad_U(q, split.R_1)
                for _ in range(M):
                    p = p - eps / (2 * M) * grad_U(q, split.R_0)
                    q = q + eps / M * p
                    p = p - eps / (2 * M) * grad_U(q, split.R_0)
                p = p - eps / 2 * grad_U(q, split.R_1)
            qs.append(q)
            ps.append(p)
        return np.array(qs), np.array([U(q, model) + p @ p / 2
                                       for q, p in zip(qs, ps, strict=True)])


@cache
def rates(method, eps, M=0):
    """Return the mean acceptance probability and the median |energy error| over the draws.

    And the least ESS of the coordinates and of their squares for 1000 gradients of all the data,
    in one chain.
    """
    rng = np.random.default_rng(SEED)  # the first momentum is that of path()
    errors = np.array([transitions(method, q, eps, M, 1, rng).energy_error[0] for q in draws()])
    accept = np.where(np.isfinite(errors), np.exp(np.minimum(-errors, 0.0)), 0.0)
    chain = transitions(method, draws()[0], eps, M, N, np.random.default_rng(SEED))
    x = chain.samples
    least = (min(ess(x).min(), ess((x - x.mean(0)) ** 2).min()) if chain.accepted.any()
             else np.nan)
    return (errors[0], accept.mean(), np.median(np.abs(np.nan_to_num(errors, nan=np.inf))),
            1000 * least / chain.counts.gradient)


@cache
def windows(method, M=0):
    """Return the ends of the step sizes where half the draws have an error grow: (k, 2).

    The growth is that of linear theory over a trajectory, with U expanded at a draw.
    """
    model, fit, split = problem()
    places = [tuple(hessian(q, part) for part in (model, split.R_0, split.R_1))
              for q in draws()[:EXPAND]]
    sizes = np.arange(FINE, FINE * len(EPS) + 1) * EPS[0] / FINE
    grows = [np.median([TIME / eps * exponent(q_block(THEORY[method], eps, *at, fit, M))
                        for at in places]) >= GROWS for eps in sizes]
    edges = np.flatnonzero(np.diff([False, *grows, False]))
    half = EPS[0] / FINE / 2
    return np.array([[sizes[a] - half, sizes[b - 1] + half] for a, b in edges.reshape(-1, 2)])


WORST = "largest energy error along it"
RATIO = "log acceptance ratio of the trajectory"
RATE, MEDIAN = f"acceptance rate over {DRAWS} draws", "median |energy error| over them"
ESS = "least ESS for 1000 gradients"


def setting(eps, M):
    """Compute one setting: Setting of the three samplers."""
    inner = (0, 0, M)
    series, numbers = [], {row: [] for row in (RATIO, WORST, RATE, MEDIAN, ESS)}
    for k, (method, m) in enumerate(zip(SAMPLERS, inner, strict=True)):
        qs, H = path(method, eps, m)
        H = H - H[0]
        found = rates(method, eps, m)
        bands = windows(method, m)
        curves = np.array([rates(method, each, m) for each in EPS])
        series += [Series(k, "path", k, *qs.T, 0),
                   Series(3, "trace", k, eps * np.arange(len(H)), H, 0),
                   *([Series(4 + k, "bands", k, *bands.T)] if len(bands) else []),
                   Series(4 + k, "line", k, EPS, curves[:, 1]),
                   Series(4 + k, "dots", k, EPS, curves[:, 1]),
                   Series(4 + k, "now", k, [eps], [found[1]]),
                   Series(7, "line", k, EPS, curves[:, 2]),
                   Series(7, "now", k, [eps], [found[2]])]
        for row, value in zip(numbers, (-found[0], np.abs(H).max(), *found[1:]), strict=True):
            numbers[row].append(value)
    return Setting(series, numbers, length(eps) + 1)


def sentences(number):
    """Say what the numbers show."""
    def rate(sampler, eps):
        return number(RATE, sampler, eps=eps, M=M[1])

    _, fit, _ = problem()
    bands = windows(NORMAL)
    lowest = min((eps for eps in EPS if eps >= bands[0, 0]), key=lambda eps: rate(NORMAL, eps))
    after = max((eps for eps in EPS if eps > lowest), key=lambda eps: rate(NORMAL, eps))
    beyond = next(eps for eps in EPS if eps > windows(HMC)[0, 0])
    best = {sampler: max((number(ESS, sampler, eps=eps, M=M[1]), eps) for eps in EPS
                         if np.isfinite(number(ESS, sampler, eps=eps, M=M[1])))
            for sampler in SAMPLERS}
    return [
        f"HMC is stable up to 2 / ω = {show(2 / fit.w.max())} at the mode; at ε = {beyond:g} it"
        f" accepts {show(rate(HMC, beyond))}. The normal split has no such limit but windows, by"
        " linear theory " + " and ".join(f"from {show(a, 3)} to {show(b, 3)}" for a, b in bands)
        + f" on this grid: its rate is lowest at ε = {lowest:g}, {show(rate(NORMAL, lowest))}, and"
        f" {show(rate(NORMAL, after))} again at {after:g}. The data split with M = {M[1]} falls"
        f" below one half at ε = {next(eps for eps in EPS if rate(DATA, eps) < 0.5):g}.",
        "The most effective draws for 1000 gradients, on this grid: " + ", ".join(
            f"{show(value)} by {sampler} at ε = {eps:g}" for sampler, (value, eps) in best.items())
        + "."]


POSTERIOR = tuple(contours(lambda q: U(q, problem()[0]), steps.BOX, LEVELS))
LABORATORY = page.Laboratory(
    f"The posterior of an intercept and a coefficient of {steps.CASES} cases. All trajectories are"
    f" {TIME:g} long and have no jitter. Above the path from one draw with one momentum; below, the"
    f" acceptance rate over {DRAWS} draws of the posterior against the step size, with bands where"
    " linear theory has an error grow by 10 % over a trajectory, at half of the draws. A gradient"
    " is one of all the data.",
    SAMPLERS,
    (Control("eps", "Step size ε", EPS), Control("M", "Inner steps M of the data split", M)),
    (*(Panel(name[0].upper() + name[1:], "q₁", "q₂", steps.BOX, ground=POSTERIOR)
       for name in SAMPLERS),
     Panel("Energy along the path", "time", "H less H at the start", (0, TIME, None, None)),
     *(Panel(f"Acceptance, {name}", "ε", "rate", (0, EPS[-1], 0, 1.05)) for name in SAMPLERS),
     Panel("Median |energy error|", "ε", "nats", (0, EPS[-1], 1e-4, 1e4), "y")),
    "Steps", (RATIO, RATE, ESS), setting,
    tuple(page.Preset(label, dict(eps=eps, M=M[1])) for label, eps in (
        ("A good step for HMC", 0.5), ("Step too small", 0.1), ("Step too large for HMC", 1.2),
        ("In the resonance of the normal split", 1.8), ("Past the resonance", 2.5))),
    sentences)
