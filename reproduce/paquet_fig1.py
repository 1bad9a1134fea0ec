"""Paquet and Fraccaro (2016), Figure 1: trajectories of HMC and RMHMC on a mixture of Gaussians.

Left, by the caption: two trajectories from one point (the black cross).  Ours: they have the same
l_max and the same standard normals z, p = z for HMC (M = I), p = L z with L L' = G(x) for RMHMC.
G is the precision of the components, weighted by their responsibilities for x (models/mixture.py).
Right, ours: how much further RMHMC moves than HMC in a transition, and how this depends on the
mixture.  Each method has the step size, of one grid, that moves furthest in a pilot run among those
accepted with probability 0.9 or more, chosen for each measure of distance.

Run     python reproduce/paquet_fig1.py [--budget smoke|short|paper]
        The budgets differ in the number of transitions.
Writes  figures/paquet_fig1.png, .txt (table and claims), .json; smoke and short in their folders
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.generalised_leapfrog import generalised_leapfrog, metric_factor, rmhmc_step
from algorithms.hmc import hmc_step, state_at, trajectory
from models.interface import U, metric
from models.mixture import gaussian_mixture, mixture_draw
from reproduce.harness.claims import Claim, Measured, Scan, brief, mean, text_table
from reproduce.harness.style import COLOURS, legend_below, panels

NAME, WHAT = "paquet_fig1", "trajectories of HMC and RMHMC"
MINUTES = {"paper": 5, "short": 0.6, "smoke": 0.1}

# The paper's settings
COMPONENTS = 3  # Section 3: a mixture of three correlated Gaussians
L_MAX = 10  # Section 5, for Gaussian processes; nothing is said for this figure

# Our settings
WEIGHTS = np.full(COMPONENTS, 1 / COMPONENTS)
MEANS = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
DEVIATIONS = np.array([[1.5, 1.5], [1.5, 1.5], [1.5, 0.5]])
CORRELATIONS = np.array([0.9, -0.9, 0.9])
START = np.array([-4.6, -2.0])  # the black cross
GRID = np.geomspace(0.08, 1.0, 12)  # of eps, a factor 1.26 apart
ACCEPTANCE = 0.9  # at least
FIXED_POINT = (100, 1e-10, 1e-6)  # f_max, tol, tol_back
SPREADS = (0.4, 0.6, 0.8, 1.0, 1.5, 2.0)  # factors on MEANS
PAPER = (1.0, L_MAX)  # of the left panel
CASES = [(spread, L_MAX) for spread in SPREADS] + [(1.0, l_max) for l_max in (3, 5, 20)]
METHODS = ("HMC", "RMHMC")
MEASURES = ("local", "Euclidean")  # of a jump: J' G(x) J, and J' J
COLUMNS = (*MEASURES, "accepted", "|energy error|", "not converged", "not reversible",
           "return error", "metrics")  # of a transition
BLOCKS = 20
PILOT = {"paper": 4000, "short": 400, "smoke": 60}  # transitions
BLOCK = {"paper": 2000, "short": 200, "smoke": 5}  # transitions in each block


def transitions(method, model, l_max, eps, seed, n):
    """Make one transition from each of n exact draws; return (n, 8), with COLUMNS."""
    rng = np.random.default_rng(seed)
    starts = mixture_draw(model, n, rng)
    rows = np.empty((n, len(COLUMNS)))
    for i, x in enumerate(starts):
        if method == "HMC":
            state, accepted, error = hmc_step(state_at(x, model), model, eps, l_max, None, rng)
            end, trouble = state.q, (False, False, 0, 0)
        else:
            step = rmhmc_step(x, model, l_max, eps, rng, *FIXED_POINT)
            end, accepted, error = step.x, step.accepted, step.energy_error
            trouble = (not step.converged, not step.reversible,
                       step.return_error if accepted else 0, step.position_iterations)
        jump = end - x
        rows[i] = (jump @ metric(x, model) @ jump, jump @ jump, accepted,
                   abs(error) if accepted else 0, *trouble)
    return rows


def mixture(spread):
    """Return the mixture with its means pulled apart by the factor `spread`."""
    covariances = [[[a * a, r * a * b], [r * a * b, b * b]]
                   for (a, b), r in zip(DEVIATIONS, CORRELATIONS, strict=True)]
    return gaussian_mixture(WEIGHTS, spread * MEANS, covariances)


def tune(method, spread, l_max, seed, n):
    """Return the eps of GRID that moves furthest, by each measure, if accepted often enough."""
    model = mixture(spread)
    means = np.array([transitions(method, model, l_max, eps, seed, n).mean(0) for eps in GRID])
    often = means[:, COLUMNS.index("accepted")] >= ACCEPTANCE
    return {measure: GRID[np.argmax(np.where(often, means[:, i], -1))]
            for i, measure in enumerate(MEASURES)}


def measure(method, spread, l_max, eps, seed, n):
    """Return the means over each of BLOCKS blocks of n transitions, (BLOCKS, 8)."""
    rows = transitions(method, mixture(spread), l_max, eps, seed, n * BLOCKS)
    return {"blocks": rows.reshape(BLOCKS, n, -1).mean(1)}


def warm():
    """Compile both methods."""
    for method in METHODS:
        transitions(method, mixture(1), 1, 0.1, 0, 1)


class Moves(NamedTuple):
    """What a method does with the eps that was chosen for a measure."""

    eps: float
    blocks: np.ndarray  # (BLOCKS, 8) means

    def mean(self, column):
        """Return the mean of a column."""
        return mean(self.blocks[:, COLUMNS.index(column)])


class Path(NamedTuple):
    """A trajectory from START."""

    x: np.ndarray  # (L_MAX + 1, 2)
    H: np.ndarray  # (L_MAX + 1,) energies


class Result(NamedTuple):
    """What the two panels show."""

    paths: dict  # method -> Path
    moves: dict  # (method, spread, l_max, measure) -> Moves


def run(experiment, cases):
    """Return the Result: step sizes are chosen in a pilot run, and measured with other draws."""
    seed, budget = experiment.seed, experiment.budget
    todo = [dict(method=method, spread=spread, l_max=l_max)
            for spread, l_max in CASES for method in METHODS]
    cost = [case["l_max"] * (20 if case["method"] == "RMHMC" else 1) for case in todo]
    chosen = experiment.replicates(tune, [
        case | dict(seed=[seed, 0], n=PILOT[budget], cost=c)
        for case, c in zip(todo, cost, strict=True)], "step sizes", warm=warm)
    tasks = [case | dict(seed=[seed, 1], n=BLOCK[budget], eps=eps[name], cost=c)
             for case, eps, c in zip(todo, chosen, cost, strict=True) for name in MEASURES]
    done = experiment.replicates(measure, tasks, "cases", warm=warm)
    moves = {(task["method"], task["spread"], task["l_max"], MEASURES[i % 2]):
             Moves(task["eps"], np.array(done[i]["blocks"])) for i, task in enumerate(tasks)}
    eps = {method: moves[method, *PAPER, "local"].eps for method in METHODS}
    return Result(paths(eps, np.random.default_rng(seed).standard_normal(2)), moves)


def paths(eps, z):
    """Follow both trajectories of the left panel, with the same normals z: {method: Path}."""
    model = mixture(1)
    L = metric_factor(START, model)
    x, p = START, L @ z
    rmhmc = [(x, U(x, model) + np.log(np.diag(L)).sum() + z @ z / 2)]
    for _ in range(L_MAX):
        end = generalised_leapfrog(x, p, model, 1, eps["RMHMC"])
        x, p = end.x, end.p
        rmhmc.append((x, end.H))
    return {"HMC": Path(*trajectory(START, z, model, eps["HMC"], L_MAX)),
            "RMHMC": Path(*map(np.array, zip(*rmhmc, strict=True)))}


def ratio(r, case, name):
    """Return the mean of a measure of RMHMC over that of HMC, whose blocks have the same starts."""
    b, a = [r.moves[method, *case, name].blocks[:, MEASURES.index(name)] for method in METHODS]
    value = a.mean() / b.mean()
    return Measured(value, mean(a - value * b).se / b.mean())


CLAIMS = [
    Claim("squared jump, RMHMC / HMC", '"bigger moves in parameters space"',
          lambda r: Scan(tuple(f"spread {spread}, l_max {l_max}" for spread, l_max in CASES),
                         tuple(ratio(r, case, "Euclidean") for case in CASES)), 1.0, np.inf,
          'Section 3: "accepted with high probability", for which the steps of both are chosen.'
          "  Euclidean; the spread of the mixture is not in the paper.  Starts are exact draws,"
          " both methods have the same starts and normals, standard error from 20 blocks",
          "printed sentence"),
    Claim("RMHMC / HMC, squared jump in the local metric: at spread 2 over at 0.4", "ours",
          lambda r: ratio(r, (2.0, L_MAX), "local") / ratio(r, (0.4, L_MAX), "local"), 1.0, np.inf,
          "the advantage is that of a metric that fits, so it grows with the distance of the"
          " components", "ours"),
]


def table(r):
    """Lay out the cases, and what becomes of the trajectories of the left panel."""
    rows = []
    for case in sorted(CASES):
        jumps = [ratio(r, case, name) for name in MEASURES]
        hmc, rmhmc = [r.moves[method, *case, "local"] for method in METHODS]
        rows.append([*case, *[f"{m.value:.2f} +- {m.se:.2f}" for m in jumps],
                     hmc.eps, hmc.mean("accepted").value, rmhmc.eps, rmhmc.mean("accepted").value,
                     *[100 * rmhmc.mean(c).value for c in ("not converged", "not reversible")],
                     rmhmc.mean("metrics").value / case[1] / 2])
    header = ["spread", "l_max", "local", "Euclidean", "eps HMC", "accept", "eps RMHMC", "accept",
              "% n.c.", "% n.r.", "metrics"]
    left = [[method, *[brief(r.moves[method, *PAPER, "local"].mean(c)) for c in (
        "|energy error|", "return error")], f"{H[-1] - H[0]:.4f}"]
            for method, (_, H) in r.paths.items()]
    return ("Squared jump of RMHMC / HMC, both at the eps (of each method and measure) that moves"
            " furthest\nwith acceptance of 0.9 or more; then eps and acceptance for the local"
            " metric, % of RMHMC's\ntrajectories rejected as not converged and not reversible,"
            " metrics per leapfrog step.\nSpread: distance of the components; it is 1 in the left"
            f" panel.\n\n{text_table(rows, header)}\n\nTrajectories as in the"
            " left panel; errors of those that are accepted, and of the one that is shown:\n\n"
            + text_table(left, ["", "|energy error|", "return error", "energy error, shown"]))


def figure(r):
    """Draw the trajectories over the density, and beside them the ratio of squared jumps."""
    fig, (left, right) = panels(1, 2, 4.2, width_ratios=(1.35, 1))
    model = mixture(1)
    u, v = np.meshgrid(np.linspace(-8.5, 8.5, 201), np.linspace(-5.8, 6.4, 161))
    log_density = -np.array([U(q, model) for q in np.stack([u, v], -1).reshape(-1, 2)])
    levels = log_density.max() - np.array([6.0, 4.5, 3.0, 2.0, 1.0, 0.3])
    left.contour(u, v, log_density.reshape(u.shape), levels, colors="0.75", linestyles="solid",
                 linewidths=0.8)
    for (method, (path, _)), colour in zip(r.paths.items(), COLOURS, strict=False):
        left.plot(*path.T, ".-", color=colour, ms=6, label=rf"{method},"
                  rf" $\varepsilon$ = {r.moves[method, *PAPER, 'local'].eps:.2f} (circle: its end)")
        left.plot(*path[-1], "o", color=colour, ms=9, mec="k")
    left.plot(*START, "kx", ms=10, mew=2.5, zorder=5, label="start")
    left.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$", title=f"{L_MAX} leapfrog steps")
    for name, style, colour in zip(MEASURES, ("o-", "s--"), COLOURS[2:], strict=False):
        found = [ratio(r, (spread, L_MAX), name) for spread in SPREADS]
        right.errorbar(SPREADS, [m.value for m in found], [2 * m.se for m in found], fmt=style,
                       color=colour, capsize=3, label="jumps in the metric $G(x)$"
                       if name == "local" else f"{name} jumps")
    right.axhline(1, color="k", lw=0.8)
    right.axvline(1, color="0.75", lw=0.8, zorder=0)
    right.set(xlabel="distance of the components (1: left panel)", ylim=(0, None),
              ylabel="expected squared jump, RMHMC / HMC", title="Bigger moves? (bars: 2 s.e.)")
    legend_below(fig, left, right, ncols=3)
    return fig


cases = "a mixture of three Gaussians, ours"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
