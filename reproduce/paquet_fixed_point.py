r"""RMHMC for Gaussian processes (Paquet and Fraccaro 2016), ours: what f_max = 5 costs.

Run     python reproduce/paquet_fixed_point.py [--budget smoke|short|paper] [--jobs J] [--seed S]
        smoke 10 s, short 2 min, paper 22 min on two cores (30 s more the first time, to compile)
Writes  paquet_fixed_point.png, .txt (the tables and the claims) and .json, into figures/ for the
        paper budget and figures/<budget>/ for the others; the exit status is 1 if a claim fails

Line 12 of Algorithm 1 says that the fixed-point loops make a time-reversible and volume-preserving
integrator.  They do where they have converged.  What f_max iterations leave is measured here as
1. the distance to the start after a trajectory, a flip of p, and a trajectory back;
2. the rate of rejections, and of trajectories that leave the finite numbers;
3. the bias of the posterior mean: against its exact value where N = 1 or 2, and against f_max = 20
   by chains that share their random numbers.  The posterior is log-concave, so such chains stay
   close together, and their difference is known better than the mean of either.

Derivation
----------
Let A = d2H / dx dp.  The loops of lines 13 to 16 and 20 to 24 have the Jacobians -(eps/2) A and
(eps/2) A', and start at a distance of (eps/2) dH/dx and eps dH/dp from their solutions, to leading
order in eps.  So f iterations leave errors of (-1)^f (eps/2)^(f+1) A^f dH/dx in p and of
-2 (eps/2)^(f+1) A'^f dH/dp in x.  On the way back eps is in effect -eps, and there the same errors
come with the factor (-1)^(f+1): for odd f they add, for even f they cancel.  The error of the
return is therefore of order eps^(f+1) for odd f and eps^(f+2) for even f: 5 is of the order of 4.
For this model A = -diag(w o dg) G^-1 with w = G^-1 p.  Its eigenvalues are those of the symmetric
L' diag(w o dg) L with G^-1 = L L', so every further iteration multiplies the error by at most
c = (eps/2) max |eigenvalue|, asymptotically; for c > 1 the loops need not converge at all.

Our choices
-----------
* Two problems with an exact answer, N = 1 and N = 2 (two cases of different label, correlated by
  0.9), whose c at eps = 0.1 reach those of the digits.
* Starts are exact draws from the posterior for these, and draws from EP's Gaussian for the digits.
* The scalar whose mean is estimated is the average of y_n x_n / sd_n.  On the digits its reference
  is f_max = 20, which is itself not exact where c is near 1.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

import data
import harness
from algorithms.ep_fast import ep
from algorithms.paquet_rmhmc_fast import (
    G_inv_times,
    geometry,
    metric_factor,
    rmhmc,
    trajectory,
)
from harness import Claim, Measured, announce, finish, parse, plt, replicates
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.linalg import posterior_factor, solve_lower_transposed, symmetric_times

NAME = "paquet_fixed_point"

# The paper's settings
EPS, L_MAX = 0.1, 10  # Section 5
F_MAX = 5  # Algorithm 1, its inputs
LOG_LENGTH, LOG_AMPLITUDE = 4.85, 5.1  # Section 5
LONGEST = 2000  # transitions in the longest run, panel (f) of Figure 2

# Our settings
SMALL = {  # (K, y)
    "N = 1": (np.array([[25.0]]), np.array([1.0])),
    "N = 2": (np.array([[25.0, 22.5], [22.5, 25.0]]), np.array([1.0, -1.0])),
}
STEPS = (0.05, 0.1, 0.2)  # eps
TINY_STEPS = (0.0125, 0.025)  # for the order in eps
MANY = 20  # iterations in the place of infinitely many
ALL = tuple(range(1, MANY + 1))
SOME = (1, 2, 3, 4, 5, 6, 8, 10, 20)
FEW = (1, 2, 3, 4, 5, 8, 20)  # for chains
MARKED = (6, 10)  # iterations between which the rate of convergence is measured
DIFFERENCE = 3e-6  # step of the numerical Jacobian; its determinant then errs by about 1e-9
BURN = 0.1  # the part of a chain that is left out: it starts at a draw, and the bias builds up


class Sizes(NamedTuple):
    """How much each budget does."""

    f_max: tuple  # for trajectories on the digits
    chain_f_max: tuple  # for chains on the digits
    cases: int | None  # of the digits; None is all
    starts: int  # trajectories on the digits, for each eps
    small_starts: int  # and on the small problems
    volumes: int  # Jacobians on the small problems
    chains: int
    small_chains: int
    transitions: int  # in each chain
    small_transitions: int
    minutes: float


SIZES = {
    "paper": Sizes(ALL, (1, 2, 3, 4, 5, 20), None, 6, 1000, 200, 10, 24, 30, 2500, 22),
    "short": Sizes(SOME, (1, 2, 3, 5, 20), None, 3, 200, 30, 4, 16, 12, 500, 2),
    "smoke": Sizes(SOME, (1, 2, 3, 5, 20), 60, 3, 20, 5, 4, 5, 15, 40, 0.2),
}

TOLERANCE = LONGEST**-0.5
BIAS = (f"a bias is of no account if it is below the Monte Carlo error of the paper's longest run:"
        f" {LONGEST} transitions, were they independent, have {TOLERANCE:.3f} posterior deviations")
CONVERGED = "Algorithm 1, line 12; if it held, only rounding errors would be left, "
NOT_CONVERGED = ("five iterations leave errors of order eps^6 that fall by the contraction factor"
                 " c with each further iteration (see the docstring, and the table for c)")
ORDERS = {1: 2, 2: 4, 3: 4, 4: 6, 5: 6}
CLAIMS = [
    Claim("log10 reversibility error, digits", "time-reversible", -np.inf, -8.0,
          CONVERGED + "1e-9 here, as the table shows for eps = 0.05", NOT_CONVERGED),
    Claim("log10 reversibility error, N = 2", "time-reversible", -np.inf, -13.0,
          CONVERGED + "1e-15 here", NOT_CONVERGED),
    Claim("log10 |log volume|, N = 2", "volume-preserving", -np.inf, -8.0,
          CONVERGED + "and those of the differences, 1e-9", NOT_CONVERGED),
    *[Claim(f"order in eps of the reversibility error, N = 2, f_max = {f}", "theory", k - 0.5,
            k + 0.5, "f + 1 for odd f, f + 2 for even f; an order is a whole number")
      for f, k in ORDERS.items()],
    Claim("gain in log10 by iteration 4 - gain by iteration 5, digits", "theory", 0.0, np.inf,
          "errors of even f cancel to leading order, so f_max = 5 is of the same order as 4"),
    Claim("decay per iteration / contraction factor c, digits", "theory",
          (2 * L_MAX) ** -0.25, (2 * L_MAX) ** 0.25,
          f"the error is a sum over the 2 l_max steps of terms that fall with each step's own c;"
          f" how many of them count changes its fall over the {MARKED[1] - MARKED[0]} iterations"
          f" from {MARKED[0]} to {MARKED[1]} by a factor of 2 l_max at most, either way"),
    *[Claim(f"bias of the mean, {name}, f_max = 5", "f_max = 5", -TOLERANCE, TOLERANCE, BIAS)
      for name in (*SMALL, "digits")],
    Claim("|bias of the mean|, digits, f_max = 1", "theory", TOLERANCE, np.inf,
          "errors of order eps^2 in every transition; the bound is that of the claims above"),
    *[Claim(f"bias of the mean, {name}, eps = 0.05, f_max = {MANY}", "theory", -TOLERANCE,
            TOLERANCE, "converged, hence exact") for name in SMALL],
    Claim("|bias of the mean|, N = 1, eps = 0.2, f_max = 5", "theory", TOLERANCE, np.inf,
          "at twice the paper's eps c comes near 1 (see the table), and five iterations are not"
          " enough: the bias is above the bound of the claims above"),
]


# The problems


class Problem(NamedTuple):
    """A posterior, how to draw from it, and the scalar whose mean is estimated."""

    model: GPClassification
    q: object  # EP's Gaussian
    sd: np.ndarray  # (N,) posterior deviations: EP's, exact for N = 1
    weights: np.ndarray  # (N,) the scalar is z = (weights'x - mean) / deviation
    mean: float  # exact for the small problems, EP's for the digits
    deviation: float
    small: bool


@cache
def problem(name, cases=None):
    """Return the Problem: a name in SMALL, or a data set thinned to so many cases (None: all)."""
    small = name in SMALL
    if small:
        K, y = SMALL[name]
    else:
        X, y = data.threes_and_fives(name)[1:3]
        if cases:
            keep = np.linspace(0, y.size - 1, cases).astype(int)
            X, y = X[keep], y[keep]
        K = squared_exponential(X, X, LOG_LENGTH, LOG_AMPLITUDE)
    model, q = GPClassification.from_prior(K, y), ep(K, y)
    sd = np.sqrt(np.diag(q.Sigma))
    weights = y / sd / y.size
    moments = (exact_moments(model, weights) if small
               else (weights @ q.mu, np.sqrt(weights @ q.Sigma @ weights)))
    return Problem(model, q, sd, weights, *moments, small)


def exact_moments(model, weights):
    """Mean and deviation of weights'x under the posterior, by quadrature; N = 1 or 2.

    The trapezoidal rule in u, x = L_K u: its error is exponentially small for a smooth density
    that vanishes at the ends.
    """
    u = np.linspace(-9, 9, 721)
    grid = np.stack(np.meshgrid(*[u] * model.y.size), -1).reshape(-1, model.y.size)
    xs = grid @ model.L_K.T
    density = np.exp(log_ndtr(model.y * xs).sum(1) - (grid**2).sum(1) / 2)
    density /= density.sum()
    values = xs @ weights
    mean = density @ values
    return float(mean), float(np.sqrt(density @ (values - mean) ** 2))


def draw(at, rng):
    """Draw from the posterior: exactly for the small problems, else from EP's Gaussian."""
    model, N = at.model, at.model.y.size
    if not at.small:
        return at.q.mu + model_factor(at) @ rng.standard_normal(N)
    while True:  # x from the prior, a label Phi(x) gives to each: keep x if they are those observed
        x = model.L_K @ rng.standard_normal(N)
        if (model.y * (x + rng.standard_normal(N)) > 0).all():
            return x


def model_factor(at):
    """Lower Cholesky factor of EP's covariance."""
    return posterior_factor(at.model.L_K, at.q.tau)[0]


def draw_momentum(x, model, rng):
    """p ~ N(0, G(x)), as L_K^-T z1 + s o z2 of 2 N normals."""
    s, _ = metric_factor(x, model, np.empty_like(model.K))
    return (solve_lower_transposed(model.L_K, rng.standard_normal(x.size))
            + s * rng.standard_normal(x.size))


# Trajectories


def travel(x, p, model, l_max, eps, f_max):
    """A trajectory of the fast twin from (x, p).

    Returns (xs, p, H, halves): positions (l_max + 1, N), the last momentum (N,), H at both ends
    (2,), and the momenta after half steps (l_max, N).
    """
    N = x.size
    L, work, path = np.empty((N, N)), np.empty((N, N)), np.empty((l_max, 2, N))
    s, ok = metric_factor(x, model, L)
    at = geometry(x, s, L, ok, model, work)
    _, p, *energies = trajectory(at, p, model, l_max, eps, f_max, L, work, path)
    return np.vstack([x, path[:, 0]]), p, energies, path[:, 1]


def contraction(x, p, model, eps):
    """The factor c by which a fixed-point iteration at (x, p) multiplies a small error."""
    if not (np.isfinite(x).all() and np.isfinite(p).all()):
        return np.nan
    factor = np.empty_like(model.K)
    s, ok = metric_factor(x, model, factor)
    at = geometry(x, s, factor, ok, model, np.empty_like(factor))
    w = G_inv_times(symmetric_times(model.K, p), p, s, factor, model)
    L, _ = posterior_factor(model.L_K, s**2)
    return eps / 2 * np.abs(np.linalg.eigvalsh(L.T @ ((w * at.dg)[:, None] * L))).max()


def reversals(name, cases, eps, f_maxes, starts, seed):
    """There and back from each of some starts, with every f_max: arrays (starts, f_maxes).

    "x" is the distance to the start in posterior deviations, the maximum over coordinates; "H" the
    energy after the return minus that before; "moved" as "x", but at the far end.  "contraction",
    (starts,), is the largest c along the way there, with the largest f_max.
    """
    at, rng = problem(name, cases), np.random.default_rng(seed)
    found = {"x": [], "H": [], "moved": [], "contraction": []}
    for _ in range(starts):
        x = draw(at, rng)
        p = draw_momentum(x, at.model, rng)
        rows = []
        for f_max in f_maxes:
            there = travel(x, p, at.model, L_MAX, eps, f_max)
            back = travel(there[0][-1], -there[1], at.model, L_MAX, eps, f_max)
            rows.append([distance(back[0][-1], x, at.sd), abs(back[2][1] - there[2][0]),
                         distance(there[0][-1], x, at.sd)])
        for key, column in zip(found, np.transpose(rows), strict=False):
            found[key].append(column)
        xs, _, _, halves = there
        found["contraction"].append(np.max([
            contraction(place, half, at.model, eps)
            for places in (xs[:-1], xs[1:]) for place, half in zip(places, halves, strict=True)]))
    return found


def distance(a, b, sd):
    """The largest difference in units of `sd`."""
    return np.abs((a - b) / sd).max()


def volumes(name, eps, f_maxes, starts, seed):
    """log |det J| of the map (x, p) -> (x, p) of a trajectory: "log_det", (starts, f_maxes)."""
    at, rng = problem(name), np.random.default_rng(seed)
    N, rows = at.sd.size, []
    for _ in range(starts):
        x = draw(at, rng)
        p = draw_momentum(x, at.model, rng)
        scale = DIFFERENCE * np.concatenate([at.sd, 1 / at.sd])

        def flow(state, f_max):
            xs, p, _, _ = travel(state[:N], state[N:], at.model, L_MAX, eps, f_max)
            return np.concatenate([xs[-1], p])

        state = np.concatenate([x, p])
        rows.append([np.linalg.slogdet([
            (flow(state + h, f_max) - flow(state - h, f_max)) / (2 * size)
            for size, h in zip(scale, np.diag(scale), strict=True)])[1] for f_max in f_maxes])
    return {"log_det": rows}


def chains(name, cases, eps, f_maxes, transitions, seed):
    """Chains from one start with the same random numbers, one for each f_max.

    Of the scalar z, standardised by the posterior's mean and deviation: "mean" and "square" (of
    z^2); "rejected", a rate; "divergences", their number.  Each is (f_maxes,).
    """
    at, rng = problem(name, cases), np.random.default_rng(seed)
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


# The run


def warm():
    """Compile everything in this process, before others start."""
    reversals("N = 1", None, EPS, (1,), 1, 0)
    chains("N = 1", None, EPS, (1,), 10, 0)
    problem(data.digits_3v5().name, 20)


def run(settings, data_name):
    """Return {(part, problem, eps): arrays with the starts or the chains along the first axis}."""
    size, seed = SIZES[settings.budget], settings.seed
    todo = {reversals: [], volumes: [], chains: []}

    def cost(f_maxes, trajectories, n=1):
        """The duration in ms, from 5 ms for a metric at N = 767 and 3 us at N = 1."""
        return max(1, round(L_MAX * sum(f_maxes) * trajectories * (n**3 + 3e5) / 1e8))

    for eps in STEPS:
        for k in range(size.starts):
            todo[reversals].append(dict(
                name=data_name, cases=size.cases, eps=eps, f_maxes=size.f_max, starts=1,
                seed=[seed, 0, k], cost=cost(size.f_max, 2, size.cases or 767)))
    for k in range(size.chains):
        todo[chains].append(dict(
            name=data_name, cases=size.cases, eps=EPS, f_maxes=size.chain_f_max,
            transitions=size.transitions, seed=[seed, 1, k],
            cost=cost(size.chain_f_max, size.transitions, size.cases or 767)))
    for name in SMALL:
        for eps in (*TINY_STEPS, *STEPS):
            todo[reversals].append(dict(
                name=name, cases=None, eps=eps, f_maxes=ALL, starts=size.small_starts,
                seed=[seed, 2], cost=cost(ALL, 2 * size.small_starts)))
        for eps in STEPS:
            todo[volumes].append(dict(
                name=name, eps=eps, f_maxes=SOME, starts=size.volumes, seed=[seed, 3],
                cost=cost(SOME, 8 * size.volumes)))
            for k in range(size.small_chains):
                todo[chains].append(dict(
                    name=name, cases=None, eps=eps, f_maxes=FEW,
                    transitions=size.small_transitions, seed=[seed, 4, k],
                    cost=cost(FEW, size.small_transitions)))
    result = {}
    for function, tasks in todo.items():
        part = function.__name__
        found = replicates(NAME, settings, function, tasks, unit=part, warm=warm)
        for task, record in zip(tasks, found, strict=True):
            key = part, "digits" if task["name"] == data_name else task["name"], task["eps"]
            for column, values in record.items():
                rows = [values] if part == "chains" else values
                result.setdefault(key, {}).setdefault(column, []).extend(rows)
    return {key: {column: np.array(rows, float) for column, rows in columns.items()}
            for key, columns in result.items()}


# The numbers


def log_error(errors):
    """log10 of errors; one above 1, or no number, counts as 1: the trajectory is lost."""
    errors = np.where(np.isfinite(errors), errors, 1.0)
    return np.log10(np.clip(errors, 1e-17, 1.0))


def mean(values):
    """The mean over the first axis with its standard error, both of them arrays if it is one."""
    return Measured(np.mean(values, 0), np.std(values, 0, ddof=1) / len(values) ** 0.5)


def table(result, settings, data_name):
    """What the claims are about, all numbers, and the tables as text."""
    size = SIZES[settings.budget]
    f_of = dict.fromkeys(SMALL, ALL) | {"digits": size.f_max}
    errors = {(name, eps): log_error(columns["x"])
              for (part, name, eps), columns in result.items() if part == "reversals"}
    bias = {(name, eps): biases(columns, FEW if name in SMALL else size.chain_f_max, name in SMALL)
            for (part, name, eps), columns in sorted(result.items()) if part == "chains"}

    def error(name, f_max, eps=EPS):
        return errors[name, eps][:, f_of[name].index(f_max)]

    def of_chain(name, f_max, eps=EPS):
        values, errors = bias[name, eps]["bias"]
        k = bias[name, eps]["f_max"].index(f_max)
        return Measured(values[k], errors[k])

    def absolute(m):
        return Measured(abs(m.value), m.se)

    volume = log_error(np.abs(result["volumes", "N = 2", EPS]["log_det"]))
    a, b = MARKED
    both = (error("digits", a) < 0) & (error("digits", b) < 0)  # of trajectories that return
    rate = (error("digits", b) - error("digits", a)) / (b - a)
    c = np.log10(result["reversals", "digits", EPS]["contraction"])
    both &= np.isfinite(c)
    decay = mean((rate - c)[both]) if both.sum() > 1 else Measured(0.0, np.nan)
    ratio = 10**decay.value
    found = {
        "log10 reversibility error, digits": mean(error("digits", F_MAX)),
        "log10 reversibility error, N = 2": mean(error("N = 2", F_MAX)),
        "log10 |log volume|, N = 2": mean(volume[:, SOME.index(F_MAX)]),
        **{f"order in eps of the reversibility error, N = 2, f_max = {f}":
           mean((error("N = 2", f, TINY_STEPS[1]) - error("N = 2", f, TINY_STEPS[0]))
                / np.log10(TINY_STEPS[1] / TINY_STEPS[0])) for f in ORDERS},
        "gain in log10 by iteration 4 - gain by iteration 5, digits":
            mean(error("digits", 3) - 2 * error("digits", 4) + error("digits", 5)),
        "decay per iteration / contraction factor c, digits":
            Measured(ratio, ratio * np.log(10) * decay.se),
        **{f"bias of the mean, {name}, f_max = 5": of_chain(name, F_MAX) for name in f_of},
        "|bias of the mean|, digits, f_max = 1": absolute(of_chain("digits", 1)),
        **{f"bias of the mean, {name}, eps = 0.05, f_max = {MANY}":
           of_chain(name, MANY, 0.05) for name in SMALL},
        "|bias of the mean|, N = 1, eps = 0.2, f_max = 5": absolute(of_chain("N = 1", F_MAX, 0.2)),
    }
    N = {name: problem(name).sd.size for name in SMALL}
    N["digits"] = problem(data_name, size.cases).sd.size
    lines = [f"digits: {data_name}, N = {N['digits']}; l_max = {L_MAX}; errors and biases in"
             " posterior standard deviations", "",
             "Reversibility: geometric mean of the error; % of trajectories lost (error above 1 or"
             " not finite,\ncounted as 1); error of H; largest contraction factor c of each"
             f" trajectory that returns with f_max = {MANY}:\nmedian, maximum", ""]
    rows = [reversal_row(result["reversals", name, eps], errors[name, eps], f_of[name])
            for name in f_of for eps in STEPS]
    labels = [[name, str(eps)] for name in f_of for eps in STEPS]
    lines += [harness.table([[*a, *b] for a, b in zip(labels, rows, strict=True)],
                            ["", "eps", *[f"f={f}" for f in SOME], "lost, f=5", f"f={MANY}",
                             "H, f=5", "c", "max"]), ""]
    lines += ["Volume: geometric mean of |log|det J||", "", harness.table(
        [[name, str(eps), *[f"{10**v:.0e}" for v in mean(log_error(np.abs(
            result["volumes", name, eps]["log_det"]))).value]] for name in SMALL for eps in STEPS],
        ["", "eps", *[f"f={f}" for f in SOME]]), ""]
    lines += [f"Chains: bias of the mean and of the variance, against f_max = {MANY} with the same"
              f" random numbers;\nof the mean against the exact value", ""]
    rows = [[name, str(eps), f, f"{100 * m['rejected'][k]:.2f}", f"{m['divergences'][k]:.0f}",
             *[f"{value[k]:9.1e} +- {se[k]:.0e}" for value, se in (
                 m["coupled"], m["coupled variance"])],
             f"{m['bias'].value[k]:8.4f} +- {m['bias'].se[k]:.4f}" if name in SMALL else ""]
            for (name, eps), m in bias.items() for k, f in enumerate(m["f_max"])]
    lines.append(harness.table(rows, ["", "eps", "f_max", "% rejected", "diverged", "mean",
                                      "variance", "mean, exact"]))
    numbers = {
        "N": N, "data": data_name,
        "reversals": {f"{name}, eps = {eps}": {
            "f_max": f_of[name], "starts": len(e), "lost": np.mean(e >= 0, 0),
            "log10_error": mean(e)._asdict(),
            "log10_H": mean(log_error(result["reversals", name, eps]["H"]))._asdict(),
            "contraction": result["reversals", name, eps]["contraction"]}
            for (name, eps), e in errors.items()},
        "volumes": {f"{name}, eps = {eps}": {"f_max": SOME, "log10": mean(log_error(np.abs(
            result["volumes", name, eps]["log_det"])))._asdict()}
            for name in SMALL for eps in STEPS},
        "chains": {f"{name}, eps = {eps}": {
            key: value._asdict() if isinstance(value, Measured) else value
            for key, value in m.items()} for (name, eps), m in bias.items()}}
    return found, numbers, "\n".join(lines)


def reversal_row(columns, errors, f_maxes):
    """A row of the table of reversibility."""
    lost = [100 * np.mean(errors[:, f_maxes.index(f)] >= 0) for f in (F_MAX, MANY)]
    H = mean(log_error(columns["H"])).value[f_maxes.index(F_MAX)]
    c = columns["contraction"][errors[:, f_maxes.index(MANY)] < 0]  # of those that return
    c = [f"{np.median(c):.2g}", f"{c.max():.2g}"] if c.size else ["", ""]
    return [*[f"{10**v:.0e}" for f, v in zip(f_maxes, mean(errors).value, strict=True)
              if f in SOME], *[f"{v:.0f}" for v in lost], f"{10**H:.0e}", *c]


def biases(columns, f_maxes, small):
    """Biases of the chains: {name: Measured arrays (f_maxes,)}, and rates of trouble."""
    z, square = columns["mean"], columns["square"]
    out = {"f_max": f_maxes, "chains": len(z), "coupled": mean(z - z[:, -1:]),
           "coupled variance": mean(square - square[:, -1:]),
           "rejected": columns["rejected"].mean(0), "divergences": columns["divergences"].sum(0)}
    out["bias"] = mean(z) if small else out["coupled"]
    if small:
        out["variance against exact"] = mean(square - 1)
    return out


def figure(numbers):
    """Draw reversibility on the small problems and on the digits, rejections, and biases."""
    fig, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    (small, digits), (rejected, bias) = axes
    styles = {"digits": "o-", "N = 2": "s--", "N = 1": "^:"}
    colours = dict(zip(STEPS, ("C0", "C2", "C3"), strict=True))
    for name, style in styles.items():
        look = dict(ms=4, lw=1.2)
        for eps, colour in colours.items():
            key = f"{name}, eps = {eps}"
            found = numbers["reversals"][key]
            value, se = np.array(found["log10_error"]["value"]), np.array(
                found["log10_error"]["se"])
            ax = digits if name == "digits" else small
            ax.plot(found["f_max"], 10**value, style, color=colour, **look)
            ax.fill_between(found["f_max"], 10 ** (value - 2 * se), 10 ** (value + 2 * se),
                            color=colour, alpha=0.15, lw=0)
            if key not in numbers["chains"]:
                continue
            found = numbers["chains"][key]
            rejected.plot(found["f_max"], 100 * found["rejected"], style, color=colour, **look)
            f, value, se = (np.array(column)[:-1] for column in (
                found["f_max"], found["coupled"]["value"], found["coupled"]["se"]))
            clear = np.abs(value) > 2 * se
            lower = np.minimum(2 * se, 0.9 * np.abs(value))  # a log axis has no 0
            bias.errorbar(f, np.abs(value), [lower, 2 * se], color=colour, fmt=style[1:], lw=1)
            for points, face in ((clear, colour), (~clear, "white")):
                bias.plot(f[points], np.abs(value)[points], style[0], color=colour, mfc=face, ms=5)
    for ax in (small, digits, bias):
        ax.set_yscale("log")
    rejected.set_yscale("symlog", linthresh=1)
    rejected.set_ylim(0, 100)
    for ax in (small, digits):
        ax.set_ylim(1e-17, 3)
        ax.set_ylabel("return error (posterior s.d.)")
    small.set_title("(a) there and back: N = 1, N = 2")
    digits.set_title(f"(b) there and back: {numbers['data']}, N = {numbers['N']['digits']}")
    rejected.set(title="(c) rejections", ylabel="% of transitions")
    bias.axhline(TOLERANCE, color="k", lw=0.8)
    bias.annotate(f"line: standard error of {LONGEST} independent draws", (0.98, 0.95),
                  xycoords="axes fraction", ha="right", va="top", fontsize=8)
    bias.set(title=f"(d) |bias of the mean| against f_max = {MANY}",
             ylabel="posterior s.d. (bars: 2 s.e.; hollow: within)", ylim=(1e-11, 3))
    for ax in axes.flat:
        ax.axvline(F_MAX, color="0.75", lw=3, zorder=0)
        ax.set(xlabel="fixed-point iterations f_max", xticks=[1, 2, 3, 4, 5, 8, 10, 15, 20],
               xlim=(0.5, MANY + 0.5))
    bias.set(xticks=FEW[:-1], xlim=(0.7, FEW[-2] + 0.3))
    handles = [plt.Line2D([], [], color=colour, label=f"eps = {eps}")
               for eps, colour in colours.items()]
    handles += [plt.Line2D([], [], color="0.3", marker=style[0], ls=style[1:], label=name)
                for name, style in styles.items()]
    handles.append(plt.Line2D([], [], color="0.75", lw=3, label="the paper's f_max"))
    fig.legend(handles=handles, fontsize=9, ncols=len(handles), loc="outside lower center")
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    cases = data.or_exit(data.usps_3v5, settings.data)
    announce(NAME, settings, "fixed-point iterations of RMHMC", cases,
             SIZES[settings.budget].minutes)
    result = run(settings, cases.name)
    measured, numbers, text = table(result, settings, cases.name)
    failures = finish(NAME, settings, CLAIMS, measured, figure(numbers),
                      numbers, text)
    raise SystemExit(failures > 0)
