"""Zhang and Sutton (2014), Figure 1: energies over time, and the path in v and x_1.

Standard HMC and SSHMC from one start, drawn from the funnel of 100 + 1 dimensions; and as a third
column RMHMC with the SoftAbs metric, of which the text says that its energy varies similarly.  The
paper states neither steps nor times.  Ours: HMC and SSHMC take as many leapfrogs in x; SSHMC runs
for 50 units of time and the generalised leapfrog for 24, in which v turns some 15 and 6 times.  The
claims are on many starts.

Run     python reproduce/zhang_fig1.py [--budget smoke|short|paper]
        Paper has 12 starts, short 4, smoke 2 in 5 + 1 dimensions.
Writes  figures/zhang_fig1.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from algorithms.generalised_leapfrog import (
    generalised_leapfrog,
    geometry,
    hamiltonian,
    metric_factor,
)
from algorithms.zhang_sshmc import abla_path
from models.funnel import VARIANCE, Funnel
from models.interface import U, grad_U
from models.jit import njit
from models.soft_abs import SoftAbs
from reproduce.harness.claims import Claim, brief, mean, text_table
from reproduce.harness.style import COLOURS, legend_below, panels
from reproduce.zhang.funnel import exact_draw
from reproduce.zhang.printed import FUNNEL, HMC, SSHMC, quote

NAME, WHAT = "zhang_fig1", "energies and paths of three methods"
MINUTES = {"paper": 1, "short": 0.5, "smoke": 0.2}

# The paper's settings (Section 5.1)
N_THETA, N_PHI = FUNNEL["n_theta"], FUNNEL["n_phi"]

# Our settings
SIZE = {"paper": FUNNEL["n"], "short": FUNNEL["n"], "smoke": 5}
STARTS = {"paper": 12, "short": 4, "smoke": 2}
EPS, L = 0.2, 250  # of SSHMC, "halves" of the three readings (zhang/funnel.py)
EPS_HMC = 0.02  # in 2 N_THETA L leapfrogs
SOFT, ALPHA, EPS_SOFT = "RMHMC, SoftAbs", 1.0, 0.2
LONG = {"paper": 120, "short": 60, "smoke": 10}  # generalised leapfrogs
SHOWN = (HMC, SSHMC, SOFT)


def from_one_start(n, long, seed):
    """Return the path of each method from a start and normals for its momentum.

    A path is a dict of arrays with a number for each recorded point:
    time   simulated, step size times steps        v, x    hyperparameter, and the first entry of x
    U      potential energy (4)                    K       kinetic energy (5), with its log |M|
    log    half the log determinant of M_theta, n v / 2, which cancels a term of U; SSHMC's alone
    """
    rng = np.random.default_rng(seed)
    q, z = np.append(*exact_draw(rng, n)), rng.standard_normal(n + 1)
    model = Funnel.from_size(n)
    return {HMC: hmc_path(q, z, model, EPS_HMC, 2 * N_THETA * L, every=2 * N_THETA),
            SSHMC: sshmc_path(q, z, model, EPS / 2, EPS, L, N_THETA, N_PHI),
            SOFT: soft_abs_path(q, z, model, ALPHA, EPS_SOFT, long, every=2)}


def sshmc_path(q, z, model, eps_theta, eps_phi, L, n_theta, n_phi):
    """Take L ABLA steps from q = (x, v) with a momentum made of the normals z, and record each."""
    n, v = q.size - 1, q[-1]
    r_phi = model.L_phi @ z[n:]
    path = abla_path(q[:n], q[n:], np.exp(v / 2) * z[:n], r_phi, model, eps_theta, eps_phi, L,
                     n_theta, n_phi)
    found = record_path(np.hstack([path.theta, path.phi]), n_phi * eps_phi, path.energy.U,
                     path.energy.H - path.energy.U)
    return found | {"log": path.energy.log_det_theta}


def hmc_path(q, z, model, eps, L, every):
    """Take L leapfrogs of standard HMC from q with the momentum z, and record one of `every`."""
    points = [(q, z)]
    for _ in range(L // every):
        points.append(leapfrogs(*points[-1], model, eps, every))
    q, p = (np.array(each) for each in zip(*points, strict=True))
    return record_path(q, eps * every, np.array([U(each, model) for each in q]),
                    np.sum(p * p, axis=1) / 2)


@njit
def leapfrogs(q, p, model, eps, n):
    """Take n leapfrog steps with unit mass, equations (2a) to (2c)."""
    p = p - eps / 2 * grad_U(q, model)
    for step in range(n):
        q = q + eps * p
        p = p - (eps if step < n - 1 else eps / 2) * grad_U(q, model)
    return q, p


def soft_abs_path(q, z, model, alpha, eps, L, every):
    """Take L generalised leapfrogs with the SoftAbs metric, and record one of `every`.

    It ends early where the implicit equations have no solution that is found.
    """
    curved = SoftAbs.from_model(model, alpha)
    factor = metric_factor(q, curved)
    p = factor @ z
    points, H = [q], [hamiltonian(geometry(q, factor, curved), p)]
    for _ in range(L // every):
        end = generalised_leapfrog(points[-1], p, curved, every, eps)
        if not end.converged:
            break
        points.append(end.x)
        p = end.p
        H.append(end.H)
    potential = np.array([U(each, model) for each in points])
    return record_path(np.array(points), eps * every, potential, np.array(H) - potential)


def record_path(q, step, potential, kinetic):
    """Put a path together."""
    return {"time": step * np.arange(len(q)), "v": q[:, -1], "x": q[:, 0], "U": potential,
            "K": kinetic, "log": np.zeros(len(q))}


def warm():
    """Compile everything in this process, before others start."""
    from_one_start(3, 2, [0])


class Ranges(NamedTuple):
    """What the claims are on, of a path; or a list of each, for several starts."""

    time: float  # simulated
    v: float  # range of the hyperparameter
    turns: float  # how often v turns round
    U: float  # range of the potential energy
    K: float  # of the kinetic
    H: float  # of their sum


class Result(NamedTuple):
    """What is drawn and what the claims are on."""

    n: int  # dimensions of x
    paths: dict  # {method: its path from the first start, see from_one_start}
    ranges: dict  # {method: Ranges over the starts}


def run(experiment, cases):
    """Return the Result."""
    n, long = SIZE[experiment.budget], LONG[experiment.budget]
    done = experiment.replicates(from_one_start, [
        dict(n=n, long=long, seed=[experiment.seed, k])
        for k in range(STARTS[experiment.budget])], "starts", warm=warm)
    return Result(n, done[0], {method: Ranges(*map(list, zip(
        *(measures(paths[method]) for paths in done), strict=True))) for method in SHOWN})


def measures(path):
    """Return the Ranges of a path."""
    v, U, K = (np.array(path[name]) for name in ("v", "U", "K"))
    way = np.sign(np.diff(v))
    return Ranges(path["time"][-1], np.ptp(v), float(np.sum(way[1:] != way[:-1])), np.ptp(U),
                  np.ptp(K), np.ptp(U + K))


def ratio(r, name, method, other):
    """Return the mean over starts of the log of a range over that of another method."""
    ours, theirs = (np.log(getattr(r.ranges[which], name)) for which in (method, other))
    return mean(ours - theirs)


FACTOR, LONG_ENOUGH = np.log(2), ("short", "paper")
CLAIMS = [
    Claim("HMC: turns of v on its way", quote("oscillation"), lambda r: mean(
        r.ranges[HMC].turns), 4.0, np.inf, "an oscillation turns more than once or twice;"
        " mean over starts", "order", budgets=LONG_ENOUGH),
    Claim("HMC: range of v / standard deviation of v", quote("oscillation"), lambda r: mean(
        np.array(r.ranges[HMC].v) / VARIANCE**0.5), 0.0, 0.5, "a narrow region: at most half"
        " a standard deviation; mean over starts", "printed sentence", budgets=LONG_ENOUGH),
    *[Claim(f"log(range of {name}, SSHMC / HMC)", quote("wider energy"), lambda r, name=name: ratio(
        r, name, SSHMC, HMC), FACTOR, np.inf, "order: much wider, by a factor of two at least; mean"
        " over starts", "order", budgets=LONG_ENOUGH) for name in "UK"],
    Claim("log(range of v, SSHMC / HMC)", quote("larger range"), lambda r: ratio(
        r, "v", SSHMC, HMC), 0.0, np.inf, "order; mean over starts", "order", budgets=LONG_ENOUGH),
    *[Claim(f"log(range of {name}, SSHMC / SoftAbs)", paper,
            lambda r, name=name: ratio(r, name, SSHMC, SOFT), -FACTOR, FACTOR,
            "similar: within a factor of two; mean over starts",
            kind, budgets=("paper",))
      for name, paper, kind in (("U", quote("similar to SoftAbs"), "printed sentence"),
                                ("v", "ours: as of the energy", "ours"))],
    *[Claim(f"{method}: log(range of H / range of U)", "ours: H is nearly conserved",
            lambda r, method=method: mean(np.log(r.ranges[method].H)
                                          - np.log(r.ranges[method].U)),
            -np.inf, np.log(0.1), "numerics: a path that stands for the dynamics has an error of H"
            " that is small beside what U varies by; mean over starts", "ours")
      for method in SHOWN],
]


def table(r):
    """Lay out the ranges, means over starts."""
    rows = [[method, *(brief(mean(values)) for values in ranges)]
            for method, ranges in r.ranges.items()]
    return f"Ranges on a trajectory, means over {len(r.ranges[HMC].v)} starts\n\n" + (
        text_table(rows, ["method", "time", "range of v", "turns of v", "of U", "of K", "of H"]))


def figure(r):
    """Draw the energies in the upper row and the paths in the lower one, a method a column."""
    fig, axes = panels(2, 3, 5.6, sharey="row")
    for (above, below), method in zip(axes.T, SHOWN, strict=True):
        path = {name: np.array(values) for name, values in r.paths[method].items()}
        for (label, energy), colour in zip(
                {"potential": path["U"], "kinetic": path["K"], "total": path["U"] + path["K"]
                 }.items(), COLOURS, strict=False):
            above.plot(path["time"], energy - energy[0], color=colour, lw=1, label=label)
        above.set(title=method + " (ours)" * (method == SOFT), xlabel="simulated time")
        below.plot(path["v"], path["x"], color=COLOURS[0], lw=0.8)
        below.plot(path["v"][0], path["x"][0], "o", color=COLOURS[4], label="the start")
        below.set(xlabel="$v$")
    axes[0, 0].set_ylabel("energy less that at the start")
    axes[1, 0].set_ylabel("$x_1$")
    low, high = zip(*[ax.get_xlim() for ax in axes[1]], strict=True)
    for ax in axes[1]:  # the same scales in a row, so that ranges can be compared
        ax.set_xlim(min(low), max(high))
    legend_below(fig, axes[0, 0], axes[1, 0])
    fig.suptitle(f"Figure 1: the funnel of {r.n} + 1 dimensions, from one start")
    return fig


cases = "none: the funnel itself"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
