"""Wang and Neal (2013), Table 1: the ten kinds of data sets, and what each of them identifies.

The table gives eta and the lengths with which responses are drawn; the paper gives neither the
noise nor the constant.  Ours: the mode of the posterior and its widths, what the likelihood loses
where all is noise and where sigma is a tenth, and the widths with another noise or another
constant.

Run     python reproduce/wang_table1.py [--budget smoke|short|paper]
        Paper has eight data sets a row (n = 900: four), short three (one), smoke one of 40 cases.
Writes  figures/wang_table1.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from models.gp_regression import GPRegression, covariance
from models.interface import U, grad_U, log_likelihood
from reproduce.harness.claims import Claim, brief, mean, smallest, text_table
from reproduce.harness.style import COLOURS, WIDTH, legend_below, plt
from reproduce.wang.datasets import SIGMA, C, data
from reproduce.wang.printed import ETA, ROWS, lengths, quote

NAME, WHAT = "wang_table1", "what the ten data sets identify"
MINUTES = {"paper": 5, "short": 1.5, "smoke": 0.2}

# Our settings; the paper's are ETA and the lengths (Table 1), and the n of ROWS (Table 2)
SETS = {"paper": {300: 8, 900: 4}, "short": {300: 3, 900: 1}, "smoke": {300: 1, 900: 1}}
CASES = {"paper": None, "short": None, "smoke": 40}  # None: all
NOISE = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)  # shares of eta^2 + sigma^2 that are noise
OTHERS = ((SIGMA, C), (0.1, C), (2.0, C), (SIGMA, 1.0), (SIGMA, 100.0))  # sigma, c
OTHER_ROWS = (1, 2, 3, 4, 5)
BOUNDS = (-5.0, 8.0)  # of the logs, where a mode is looked for
STEP = 1e-4  # of differences of gradients


def one_set(number, index, n, sigma=SIGMA, c=C):
    """Look at one data set: modes, widths, and the likelihood along two lines from the truth."""
    model, q = posterior(number, index, n, sigma, c)
    best, at_best = mode(q, model)
    other, at_other = mode(all_noise(q), model)
    here = log_likelihood(q, model)
    return {"mode": best, "widths": widths(best, model), "gain": U(q, model) - at_best,
            "other": other, "worse": at_other - at_best,
            "noise": [log_likelihood(with_noise(q, share), model) - here for share in NOISE],
            "less": log_likelihood(q - np.log(10) * (np.arange(q.size) == 0), model) - here,
            "same": abs(U(q, GPRegression.from_data(model.XT.T, model.y, "ard", c=c))
                        - U(q, model)) if model.XT.shape[0] == 1 else 0.0}


def posterior(number, index, n, sigma=SIGMA, c=C):
    """Return the posterior of a data set, made of the same normals with these, and the truth."""
    X, y, q = data(number, index, n)
    model, other = (GPRegression.from_data(X, y, ROWS[number].kind, c=each) for each in (C, c))
    if (sigma, c) != (SIGMA, C):
        z = solve_triangular(np.linalg.cholesky(covariance(q, model)), y, lower=True)
        q = np.concatenate([[np.log(sigma)], q[1:]])
        other = other._replace(y=np.linalg.cholesky(covariance(q, other)) @ z)
    return other, q


def mode(q, model):
    """Return where U is least, downhill from q, and U there."""
    found = minimize(lambda q: (U(q, model), grad_U(q, model)), np.clip(q, *BOUNDS), jac=True,
                     method="L-BFGS-B", bounds=[BOUNDS] * q.size, options={"maxiter": 80})
    return found.x, float(found.fun)


def widths(q, model):
    """Return the standard deviations of a normal approximation at q; nan if q is not a mode."""
    H = np.array([(grad_U(q + STEP * e, model) - grad_U(q - STEP * e, model)) / (2 * STEP)
                  for e in np.eye(q.size)])
    variances = np.diag(np.linalg.inv((H + H.T) / 2))
    return np.sqrt(np.where(variances > 0, variances, np.nan))


def all_noise(q):
    """Return where all is noise but for one part in 200, and everything is smooth."""
    return np.append(with_noise(q, 0.995)[:2], np.ones(q.size - 2))


def with_noise(q, share):
    """Return q with the same eta^2 + sigma^2, of which this share is noise."""
    total = np.exp(2 * q[0]) + np.exp(2 * q[1])
    return np.concatenate([0.5 * np.log([share * total, (1 - share) * total]), q[2:]])


class DataSets(NamedTuple):
    """What is known of the data sets of a row: lists of a value for each.  U is minus a log."""

    widths: list  # standard deviations of the logs at the mode, downhill from the truth
    gain: list  # U at the truth, less that at the mode
    other: list  # where U is least, downhill from where all is noise
    worse: list  # U there, less that at the mode
    noise: list  # log L at each share of NOISE, less that at the truth
    less: list  # log L with a tenth of sigma, less that at the truth
    same: list  # distance of U from that of the other kind, where p = 1

    @property
    def second(self):
        """Whether sigma > eta in the other mode, a number for each."""
        return [float(q[0] > q[1]) for q in self.other]


class Result(NamedTuple):
    """What is known of all rows."""

    rows: dict  # {row: DataSets}
    others: dict  # {(row, sigma, c): widths of its data set 0 with this noise and constant}
    data: dict  # {row: (X, y) of its data set 0}


def run(experiment, cases):
    """Return the Result."""
    n, sets = CASES[experiment.budget], SETS[experiment.budget]
    usual = {row: [(row, index, SIGMA, C) for index in range(sets[ROWS[row].n])] for row in ROWS}
    others = [(row, 0, *other) for row in OTHER_ROWS for other in OTHERS]
    wanted = list(dict.fromkeys([key for keys in usual.values() for key in keys] + others))
    done = dict(zip(wanted, experiment.replicates(one_set, [
        dict(number=row, index=index, n=n, sigma=sigma, c=c,
             cost=(n or ROWS[row].n) ** 2 * (1 + 2 * (ROWS[row].d > 3)))
        for row, index, sigma, c in wanted], "data sets", warm=lambda: one_set(1, 0, 5)),
        strict=True))
    return Result(
        {row: DataSets(*([done[key][name] for key in keys] for name in DataSets._fields))
         for row, keys in usual.items()},
        {(row, *other): done[row, index, *other]["widths"] for row, index, *other in others},
        {row: data(row, 0, n)[:2] for row in ROWS})


FLAT, LONG_ENOUGH = 2.0, ("short", "paper")
WHY = "2 nats are what the likelihood loses two standard deviations from its mode; mean over sets"
UNKNOWN_BELOW = (2, 3, 7, 8)  # rows in which sigma has no lower end


def loss(r, row, name):
    """Return what the log likelihood loses: "noise", where all is; "less", with sigma / 10."""
    return mean([-(each[-1] if name == "noise" else each) for each in getattr(r.rows[row], name)])


def lengths_text(row):
    """Write the lengths of a row as Table 1 does."""
    return f"l = {lengths(row)[0]:g}" if ROWS[row].d == 3 else f"l_i = {lengths(row)[0]:g} i"


CLAIMS = [
    *[Claim(f"row {row}: 2 (U at the printed values - U at the mode)", f"eta = {ETA:g},"
            f" {lengths_text(row)}", lambda r, row=row: mean(2 * np.array(r.rows[row].gain)),
            0, 2 * ROWS[row].d, f"chi-squared, {ROWS[row].d} degrees of freedom or fewer, where"
            " the data are drawn with these values; at most twice that; mean over sets",
            "ours") for row in ROWS],
    *[Claim(f"row {row}: |U isotropic - U ARD|, largest", quote("identical"),
            lambda r, row=row: max(r.rows[row].same), 0, 0, "the same operations", "ours")
      for row in ROWS if ROWS[row].p == 1],
    Claim("row 2: range of log L where eta^2 + sigma^2 is given", "ours: only that sum is"
          " identified", lambda r: mean([np.ptp([0.0, *each]) for each in r.rows[2].noise]), 0,
          FLAT, WHY, "ours", budgets=LONG_ENOUGH),
    Claim("least loss of log L where all is noise, rows but 2", "ours: eta is identified there",
          lambda r: smallest(loss(r, row, "noise") - FLAT for row in ROWS if row != 2) + FLAT, FLAT,
          np.inf, f"order.  {WHY}.  Least: in standard errors above 2", "ours",
          budgets=LONG_ENOUGH),
    *[Claim(f"row {row}: loss of log L with a tenth of sigma", "ours: sigma is free below",
            lambda r, row=row: loss(r, row, "less"), -FLAT, FLAT, WHY, "ours", budgets=LONG_ENOUGH)
      for row in UNKNOWN_BELOW],
    Claim("least loss of log L with a tenth of sigma, the other rows", "ours: sigma is identified",
          lambda r: smallest(loss(r, row, "less") - FLAT for row in ROWS
                             if row not in UNKNOWN_BELOW) + FLAT, FLAT, np.inf,
          f"order.  {WHY}.  Least: in standard errors above 2", "ours", budgets=LONG_ENOUGH),
    Claim("row 7: share of data sets with a second mode, all noise", "ours", lambda r: mean(
        r.rows[7].second), 0.5, 1.0, "more than half of them; downhill from where all is"
        " noise, to where sigma > eta", "ours", budgets=("paper",)),
]


def table(r):
    """Lay out what each row identifies, means over data sets, and the widths elsewhere."""
    rows = []
    for row, sets in r.rows.items():
        sd = np.sqrt(np.nanmean(np.square(sets.widths), axis=0))
        below = [gap for gap, second in zip(sets.worse, sets.second, strict=True) if second]
        rows.append([row, ROWS[row].size, ROWS[row].kind, ROWS[row].p, ROWS[row].n,
                     lengths_text(row), *(f"{each:.2f}" for each in sd[:2]),
                     f"{sd[2:].min():.2f}-{sd[2:].max():.2f}", brief(loss(r, row, "noise")),
                     brief(loss(r, row, "less")), f"{sum(sets.second):.0f} of {len(sets.second)}",
                     f"{np.mean(below):.1f}" if below else ""])
    others = [[row, *(f"{each:g}" for each in other), *(f"{each:.2f}" for each in sd[:2]),
               f"{min(sd[2:]):.2f}-{max(sd[2:]):.2f}"] for (row, *other), sd in r.others.items()]
    return "\n\n".join([
        f"eta = {ETA:g}; ours sigma = {SIGMA:g}, c = {C:g}.  sd: of the logs, a normal"
        " approximation at the mode; the prior's is 2.\nLoss of the log likelihood: all noise"
        f" ({NOISE[-1]:.0%} of eta^2 + sigma^2), and a tenth of sigma.\n"
        "Noise mode: sets in which downhill from all noise sigma > eta, and how far below.",
        text_table(rows, ["#", "size", "type", "p", "n", "lengths", "sd sigma", "eta", "lengths",
                          "all noise", "sigma / 10", "noise mode", "below"]),
        "The same widths with another noise or constant, data set 0:",
        text_table(others, ["#", "sigma", "c", "sd sigma", "eta", "lengths"])])


def figure(r):
    """Draw the responses of each row's first data set, what is lost, and the widths."""
    fig = plt.figure(figsize=(WIDTH, 8.6), layout="constrained")
    above, below = fig.subfigures(2, 1, height_ratios=(1, 1.1))
    for ax, (row, (X, y)) in zip(above.subplots(2, 5, sharex=True).flat, r.data.items(),
                                 strict=True):
        ax.plot(np.array(X)[:, 0], y, ".", ms=2, color=COLOURS[0])
        ax.set_title(f"{row}: {ROWS[row].size} {ROWS[row].kind},\n$p$ = {ROWS[row].p},"
                     f" $n$ = {ROWS[row].n},\n"
                     + lengths_text(row).replace("l_i", r"$\ell_i$").replace("l =", r"$\ell$ ="))
    above.supxlabel("first covariate", fontsize=9)
    above.supylabel("response, first set of each kind", fontsize=9)
    noise, deviations = below.subplots(1, 2)
    for row, found in r.rows.items():
        style = dict(color=COLOURS[(row - 1) % 5], ls="-" if ROWS[row].n == 300 else "--")
        noise.plot(NOISE, np.mean(found.noise, axis=0), label=f"data set {row}", **style)
    noise.set_yscale("symlog", linthresh=1)
    noise.axhspan(-FLAT, FLAT, color="0.92", zorder=0, label=f"within {FLAT:g} nats")
    noise.set(xlabel=r"share of noise in $\eta^2 + \sigma^2$", title="log likelihood lost where"
              " more is noise", ylabel=r"$\log L - \log L$ at the truth")
    for row, found in r.rows.items():
        for each in found.widths:
            for name, values, colour, shift, shape in (
                    (r"$\sigma$", each[:1], COLOURS[4], -0.25, "s"),
                    (r"$\eta$", each[1:2], COLOURS[0], 0, "o"),
                    ("lengths", each[2:], COLOURS[2], 0.25, "^")):
                deviations.plot(np.full(len(values), row + shift), values, shape, ms=3,
                               color=colour, label=name)
    deviations.axhline(2, color="k", ls=":", lw=1, label="the prior")
    deviations.set(xlabel="data set", xticks=list(ROWS), ylabel="standard deviation of the log",
                  yscale="log", title="normal approximation at the mode")
    legend_below(below, noise, deviations)
    return fig


cases = "ten kinds of data sets, simulated"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
