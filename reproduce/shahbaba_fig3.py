"""Split HMC (Shahbaba, Lan, Johnson and Neal 2014), Figure 3: U and its normal approximation.

Along one coordinate through the posterior mode of the illustrative data: the potential energy U
and the quadratic U_0 that Algorithm 1 follows exactly, and their derivatives.

Run     python reproduce/shahbaba_fig3.py [--budget smoke|short|paper]
        smoke 3 s, short 5 s, paper 15 s, and about 20 s more the first time, to compile.  The
        budgets differ in the number of data sets on which the claims are tested.
Writes  shahbaba_fig3.png, .txt (the claims) and .json, into figures/ for the paper budget and
        figures/<budget>/ for the others; the exit status is 1 if a claim fails

Open questions: how the paper made its 100 cases (see shahbaba_fig2.py), so the claims are tested
on many data sets, of three slopes; and how far its axes reach: ours, 3 standard deviations.
"""

import numpy as np

import data
from algorithms.map_estimate import map_estimate
from harness import Claim, Measured, announce, finish, parse, plt
from harness import table as text_table
from models.interface import U, grad_U, hessian
from models.logistic_regression import LogisticRegression

NAME = "shahbaba_fig3"

# The paper's settings (Section 3.1; prior deviations as in Section 3.3)
SIGMA = 5.0
COORDINATES = {1: r"\beta_1", 2: r"\beta_2", 0: r"\alpha"}  # the paper's figure has the first

# Our settings
SLOPE = 5.0  # of the data set in the figure
SLOPES = (2.0, 5.0, 10.0)  # of the data sets for the claims
SETS = {"smoke": 10, "short": 200, "paper": 1000}  # of each slope
MINUTES = {"smoke": 0.05, "short": 0.08, "paper": 0.25}
REACH = 3.0  # conditional standard deviations either side of the mode, in the figure
WITHIN = 2.0  # the same, for the claims: about 95 % of the probability
POINTS = 41
DRAWS = 20  # from the normal approximation, for the curvature of U_1

USUALLY = ("words only: in more than half of the data sets, for either coefficient, whatever the"
           " slope (the least favourable one counts)")
CLAIMS = [
    Claim("largest |dU/dtheta_j| at the mode, in standard deviations", "0", 0.0, 1e-8,
          "numerics: Newton's method stops at a decrement of 1e-10"),
    Claim("largest |U'' / J_jj - 1| at the mode", "0", 0.0, 1e-6,
          "numerics: a central difference of dU/dtheta_j over 1e-3 standard deviations; its error"
          " is about 1e-7 times the fourth derivative of U, in these units of order 1"),
    Claim("share of data sets with |U - U_0| < 1 within 2 s.d.", "usually", 0.5, np.inf,
          f"Section 3.1, a reasonable approximation: less than a factor e in density; {USUALLY}"),
    Claim("share of data sets where dU_0 explains 3/4 of dU within 2 s.d.", "order", 0.5, np.inf,
          f"Section 3.1, a reasonable linear approximation: of the mean square; {USUALLY}"),
    Claim("share of data sets where U_1 is less curved than U", "order", 0.5, np.inf,
          "Section 3.1, the limit of stability set by U_1 will tend to be larger: the spectral norm"
          " of the Hessian of U_1 = U - U_0, a mean over the normal approximation, is below that"
          " of U, so that a step of the kick alone may be longer.  (The limit of Algorithm 1 as a"
          " whole is another matter: see shahbaba_stability.py)"),
]


def profile(model, fit, j, t):
    """Return U - U(mode), U_0, dU/dtheta_j and dU_0/dtheta_j along coordinate j.

    t : (m,) in conditional standard deviations from the mode    -> four arrays of (m,)
    """
    J_jj = fit.hessian[j, j]
    steps = t / J_jj**0.5
    points = fit.q + steps[:, None] * np.eye(fit.q.size)[j]
    energy = np.array([U(q, model) for q in points]) - U(fit.q, model)
    slope = np.array([grad_U(q, model)[j] for q in points])
    return energy, t**2 / 2, slope, J_jj * steps


def one_data_set(seed, slope, rng):
    """Return for one data set the five quantities that the claims are about."""
    cases = data.illustrative(seed, slope)
    model = LogisticRegression.from_data(cases.X, cases.y, SIGMA, SIGMA)
    fit = map_estimate(model)
    sd = np.diag(fit.hessian) ** -0.5
    off, rest, second = [], [], []
    for j in range(fit.q.size):
        near = profile(model, fit, j, np.array([-1e-3, 1e-3]))[2]
        second.append(np.diff(near)[0] / (2e-3 * sd[j]) / fit.hessian[j, j])
        if j:
            energy, energy_0, derivative, derivative_0 = profile(
                model, fit, j, np.linspace(-WITHIN, WITHIN, POINTS))
            off.append(np.abs(energy - energy_0).max())
            rest.append(np.mean((derivative - derivative_0) ** 2) / np.mean(derivative**2))
    root = np.linalg.inv(np.linalg.cholesky(fit.hessian))  # root' root is the covariance
    draws = fit.q + rng.standard_normal((DRAWS, fit.q.size)) @ root
    curved = [[np.linalg.norm(H - part, 2) for part in (0.0, fit.hessian)]
              for H in (hessian(q, model) for q in draws)]
    of_U, of_U_1 = np.mean(curved, axis=0)
    return {"gradient": np.max(np.abs(grad_U(fit.q, model)) * sd),
            "second": np.max(np.abs(np.array(second) - 1)), "off": max(off), "rest": max(rest),
            "curvature": of_U_1 / of_U}


def run(settings):
    """Return {slope: {quantity: its values}} over the data sets of each slope."""
    out = {}
    for index, slope in enumerate(SLOPES):
        rng = np.random.default_rng([settings.seed, index])
        seeds = [settings.seed + k for k in range(SETS[settings.budget])]
        found = [one_data_set(seed, slope, rng) for seed in seeds]
        out[slope] = {key: np.array([f[key] for f in found]) for key in found[0]}
    return out


def share(holds):
    """Return how often something holds, with a standard error that is not 0 at 0 and at 1."""
    n = len(holds)
    p = (np.sum(holds) + 1) / (n + 2)
    return Measured(np.mean(holds), (p * (1 - p) / n) ** 0.5)


def least(shares):
    """Return the smallest of several shares."""
    return min(shares, key=lambda measured: measured.value)


def table(found):
    """Measure what the claims are about."""
    every = found.values()
    return {
        "largest |dU/dtheta_j| at the mode, in standard deviations":
            max(f["gradient"].max() for f in every),
        "largest |U'' / J_jj - 1| at the mode": max(f["second"].max() for f in every),
        "share of data sets with |U - U_0| < 1 within 2 s.d.":
            least(share(f["off"] < 1) for f in every),
        "share of data sets where dU_0 explains 3/4 of dU within 2 s.d.":
            least(share(f["rest"] < 0.25) for f in every),
        "share of data sets where U_1 is less curved than U":
            least(share(f["curvature"] < 1) for f in every),
    }


def text(found):
    """Lay out the medians by slope."""
    rows = [[f"{slope:g}", len(f["off"]),
             *(f"{np.median(f[key]):.3f} ({np.quantile(f[key], 0.9):.3f})"
               for key in ("off", "rest", "curvature"))] for slope, f in found.items()]
    return ("Over the data sets, the median (and the 0.9 quantile):\n\n" + text_table(
        rows, ["slope", "data sets", "max |U - U_0|", "dU not explained", "|U_1''| / |U''|"]))


def figure(cases):
    """Draw the paper's two panels for beta_1, and below the same for the other coordinates."""
    model = LogisticRegression.from_data(cases.X, cases.y, SIGMA, SIGMA)
    fit = map_estimate(model)
    fig, axes = plt.subplots(3, 2, figsize=(8.5, 9.5), layout="constrained",
                             height_ratios=[1.4, 1, 1])
    t = np.linspace(-REACH, REACH, 121)
    for row, (j, symbol) in zip(axes, COORDINATES.items(), strict=True):
        x = fit.q[j] + t / fit.hessian[j, j] ** 0.5
        energy, energy_0, derivative, derivative_0 = profile(model, fit, j, t)
        for ax, curve, curve_0, label in (
                (row[0], energy, energy_0, "U"),
                (row[1], derivative, derivative_0, rf"\partial U/\partial {symbol}")):
            ax.plot(x, curve, "k-", label=f"${label}$")
            ax.plot(x, curve_0, "k--", label=f"${label.replace('U', 'U_0', 1)}$")
            ax.axvline(fit.q[j], color="0.8", lw=1, zorder=0)
            ax.set_xlabel(f"${symbol}$")
            ax.legend(loc="upper center" if ax is row[0] else "upper left")
        row[0].set_ylabel(r"$U - U(\hat q)$")
    for ax in axes.flat:
        ax.set_title("the same for another coordinate", fontsize=10)
    for ax in axes[0]:
        ax.set_title("the paper's panel", fontsize=10)
    fig.suptitle(f"U and its normal approximation, {cases.name}", fontsize=10)
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    cases = data.illustrative(settings.seed, SLOPE)
    announce(NAME, settings, "U and its normal approximation", cases, MINUTES[settings.budget])
    found = run(settings)
    failures = finish(NAME, settings, CLAIMS, table(found), figure(cases),
                      {"data": cases.name, "data sets": found}, text(found))
    raise SystemExit(failures > 0)
