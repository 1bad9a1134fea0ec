"""What Tables 1 and 2 of Shahbaba, Lan, Johnson and Neal (2014) share: estimates, claims, layout.

tau by batch means, the paper's estimator, has a standard error of 24 % for one chain of 50000; the
initial monotone sequence of the same chain has 3 to 8 %, and so it is what we compare methods and
single numbers by.  The joint test of a column is by the paper's estimator.
What the text says of the normal approximation is judged once, with the flow of U_0 as it is
printed; the authors' variant is in the table.  s is a time on this machine: only ratios are
compared.  shahbaba_errata.py checks the printed products against their factors.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import polygamma

from reproduce.harness import claims, style
from reproduce.harness.claims import Claim, Measured, average, brief, joint, log, mean, smallest
from reproduce.harness.style import COLOURS, legend_below, mark, mathematics, panels, plain_log
from reproduce.shahbaba import printed
from reproduce.shahbaba.chains import ALL, AUTHORS, clock, warm
from reproduce.shahbaba.printed import MEASURES, METHODS, PROBLEMS, gradients, half_unit, number

# Our settings
TIMED = {"paper": (10, 100), "short": (5, 20), "smoke": (2, 5)}  # rounds, transitions in each
COST = {"HMC": 20.0, "normal": 10.0, AUTHORS: 10.0, "data": 12.6}  # for the progress bar
SE_AP = (0.25 * 2 / printed.N) ** 0.5  # at most: the acceptances have a tau of 1 to 2
ROWS = {"tau": "log likelihood", "tau_beta": "sum of beta^2"}  # of which these are the times
ESTIMATORS = ("batch means", "initial sequence")

FLOW = claims.Declared(
    "the authors' program follows the flow of U_0 for 0.9 eps in every step, whatever the random"
    " step of its kicks; with that variant we find the printed rate (see its claim)",
    printed.DERIVED, cause="the flow of U_0 lasts 0.9 eps")


class Estimates(NamedTuple):
    """What is estimated of a method on a data set, from its chains and its times."""

    chains: int
    batches: int  # of each chain
    seconds: list  # of a transition, in each round
    g: Measured  # gradients of all cases in a transition
    s: Measured  # CPU seconds of a transition
    AP: Measured  # acceptance rate
    tau: dict  # {(one of ROWS, one of ESTIMATORS): autocorrelation time}
    mean: dict  # {one of ROWS: mean of the function itself}


def column(method):
    """Return the printed column that a method is compared with."""
    return "normal" if method == AUTHORS else method


def chain_tasks(name, data_name, methods, chains, n, seed, per_gradient=1.0):
    """List the arguments of one_chain for some chains of each method on a data set."""
    tasks = []
    for method in methods:
        eps, L = printed.step(name, column(method))
        tasks += [dict(data_name=data_name, method=method, eps=eps, L=L,
                       M=PROBLEMS[name].M if method == "data" else 1, fraction=PROBLEMS[name].f,
                       n=n, seed=[seed, ALL.index(method), chain],
                       cost=n * COST[method] * per_gradient) for chain in range(chains)]
    return tasks


def progress(found):
    """Say the mean acceptance rate of the chains so far."""
    return f"acceptance rate {np.mean([chain['AP'] for chain in found]):.2f}"


def group(tasks, done):
    """Return {data set: {method: its chains}}."""
    chains = {}
    for task, chain in zip(tasks, done, strict=True):
        chains.setdefault(task["data_name"], {}).setdefault(task["method"], []).append(chain)
    return chains


def times(experiment, name, data_name):
    """Return {method: CPU seconds of a transition in each round}, measured alone."""
    rounds, n = TIMED[experiment.budget]
    settings = {method: [*printed.step(name, column(method)), PROBLEMS[name].M] for method in ALL}
    task = dict(data_name=data_name, fraction=PROBLEMS[name].f, settings=settings, rounds=rounds,
                n=n)
    (found,) = experiment.replicates(clock, [task], "timings", warm=warm)
    return found["seconds"]


def summaries(found, seconds):
    """Return {method: Estimates} of a data set: its chains, and the times of a transition."""
    return {method: estimates(chains, seconds[method]) for method, chains in found.items()}


def estimates(chains, seconds):
    """Put chains of one method together with its times."""
    # the log of a sum of m chi-squared numbers, each of one degree less than there are batches
    freedom = len(chains) * (chains[0]["batches"] - 1)
    relative = float(polygamma(1, freedom / 2) ** 0.5)
    tau = {}
    for row in ROWS:
        batch = np.mean([chain[row]["batch"] for chain in chains])
        tau[row, "batch means"] = Measured(batch, batch * relative)
        tau[row, "initial sequence"] = average(
            Measured(chain[row]["initial"], chain[row]["se"]) for chain in chains)
    return Estimates(
        len(chains), chains[0]["batches"], seconds, Measured(chains[0]["g"]), mean(seconds),
        average(Measured(chain["AP"], chain["AP_se"]) for chain in chains), tau,
        {row: average(Measured(chain[row]["mean"], chain[row]["mean_se"]) for chain in chains)
         for row in ROWS})


def ratio(found, factor, method, other):
    """Return g or s of a method over that of another.

    The times of a round, taken in turn, have the state of the machine in common: their ratio is
    one number.
    """
    if factor == "g":
        return found[method].g / found[other].g
    return mean(np.divide(found[method].seconds, found[other].seconds))


def product(found, measure, method, estimator="initial sequence"):
    """Return a product of the table: tau x g, or tau x s in units of the s of HMC."""
    row, factor = measure.split(" x ")
    scale = found[method].g if factor == "g" else ratio(found, "s", method, "HMC")
    return found[method].tau[row, estimator] * scale


def advantage(found, better, worse, measure):
    """Return log(worse / better) of a product."""
    row, factor = measure.split(" x ")
    worse_tau, better_tau = (found[method].tau[row, "initial sequence"]
                             for method in (worse, better))
    return log(worse_tau) - log(better_tau) + log(ratio(found, factor, worse, better))


def distance(p, q, row):
    """Return how many standard errors two methods' means are apart.

    A standard error goes with the root of tau, so that half the relative error of tau is its own.
    """
    (a, a_se), (b, b_se) = p.mean[row], q.mean[row]
    relative = max(tau.se / tau.value for tau in (found.tau[row, "initial sequence"]
                                                  for found in (p, q)))
    z = abs(a - b) / np.hypot(a_se, b_se)
    return Measured(z, z * relative / 2)


# The claims


def claims_about(name, known):
    """Make all claims about one of the PROBLEMS; known: {what: Declared}."""
    found = [joint(f"{name}, {method}: AP, tau and tau_beta at once, batch means", [
        rate_claim(name, method), *(tau_claim(name, method, row, "batch means") for row in ROWS)])
        for method in ALL]
    found += [rate_claim(name, method) for method in ALL]
    found += [tau_claim(name, method, row) for method in ALL for row in ROWS]
    found += [Claim(f"{name}, {method}: (s / g) / (s / g of HMC)", "close to 1",
                    lambda r, m=method: (ratio(r.problems[name], "s", m, "HMC")
                                         / ratio(r.problems[name], "g", m, "HMC")), *proportional(),
                    "machine (ratios only): Section 3.3, s is close to proportional to g; accepted"
                    " is the range of the paper's own values over its four problems, with rounding",
                    "printed sentence", budgets=("paper",), printed=1.0) for method in METHODS[1:]]
    found += [Claim(f"{name}: s, HMC / {method}", "order",
                    lambda r, m=method: ratio(r.problems[name], "s", "HMC", m), 1.0, np.inf,
                    "machine (ratios only): the CPU times are substantially lower than those of"
                    " HMC", "order", budgets=("paper",)) for method in METHODS[1:]]
    found += [Claim(printed.sentence(name, *words), "order", lambda r, words=words: smallest(
                        advantage(r.problems[name], *words[:2], measure) for measure in words[2]),
                    0.0, np.inf, f"{where}; by initial sequences.  Least: in standard errors",
                    "order", budgets=("paper",), theirs=error_of(where), undecided="the error is"
                    " that of the paper's own two numbers, which none of our chains makes smaller"
                    * bool(error_of(where)))
              for about, *words, where in printed.SENTENCES if about == name]
    found += [Claim(f"{name}: mean {what} of two methods, largest difference / s.e.", "theory",
                    lambda r, row=row: max(distance(p, q, row) for p, q in combinations(
                        [r.problems[name][method] for method in ALL], 2)), 0.0, 4.0,
                    "all methods sample the same posterior: 4 standard errors, not 2, since many"
                    " differences are looked at", "ours")
              for row, what in ROWS.items()]
    # shorter chains than the paper's cannot see these differences
    return [claim._replace(known=known[claim.what], budgets=("paper",)) if claim.what in known
            else claim for claim in found]


def rows_at_once(table, names):
    """Make the claims that all printed tau, and all tau_beta, of a table are ours."""
    return [joint(f"{table}: all {row}, the flow of the authors' program, initial sequence", [
        tau_claim(name, AUTHORS if method == "normal" else method, row)
        for name in names for method in METHODS]) for row in ROWS]


def rate_claim(name, method):
    """Make the claim that a printed acceptance rate is ours."""
    theirs = number(name, "AP", column(method))
    return Claim(f"{name}, {method}: AP", f"{theirs:.2f}",
                 lambda r: r.problems[name][method].AP, theirs - 0.005, theirs + 0.005,
                 "rounding; theirs is the error of 50000 acceptances, at most", "printed number",
                 theirs=SE_AP, cell=f"{name}, {column(method)}: AP", printed=theirs)


def tau_claim(name, method, row, estimator="initial sequence"):
    """Make the claim that a printed tau is ours, on the log scale, where its error is constant."""
    theirs, half = (f(name, row, column(method)) for f in (number, half_unit))
    return Claim(
        f"{name}, {method}: log({row} / {theirs:g}), {estimator}", f"{theirs:g}",
        lambda r: log(r.problems[name][method].tau[row, estimator] / theirs),
        np.log1p(-half / theirs), np.log1p(half / theirs),
        "rounding; theirs is the error of the log of a chi-squared number of 35 degrees of freedom,"
        " for 36 batches", "printed number", theirs=printed.SE_LOG_TAU, undecided="the error is"
        " nearly all the paper's own, 24 % for one chain by 36 batches: longer chains of ours do"
        " not help", cell=f"{name}, {column(method)}: {row}")


def error_of(where):
    """Return the error of the paper's log ratio of two tau, where a sentence rests on it."""
    return 2**0.5 * printed.SE_LOG_TAU * ("because of their values of tau_beta" in where)


def proportional():
    """Return the range of the paper's own (s / g) / (s / g of HMC), with rounding."""
    ends = []
    for name in PROBLEMS:
        for method in METHODS[1:]:
            g = gradients(name, method) / gradients(name, "HMC")
            (s, half), (hmc, hmc_half) = ([f(name, "s", m) for f in (number, half_unit)]
                                          for m in (method, "HMC"))
            ends += [(s + sign * half) / (hmc - sign * hmc_half) / g for sign in (-1, 1)]
    return min(ends), max(ends)


# The layout


def laid_out(name, found):
    """Return the paper's table with ours beside it, a standard error in brackets."""
    cells = PROBLEMS[name].rows

    def per_s(row):  # as printed, over the s of HMC
        return lambda m: f"{number(name, row, m) / number(name, 's', 'HMC'):.3g}"

    def own(tau, factor=None):
        return lambda m: brief(found[m].tau[tau] * (getattr(found[m], factor) if factor else 1.0))

    rows = [("L", cells["L"].get, lambda m: f"{printed.step(name, column(m))[1]}"),
            ("g", cells["g"].get, lambda m: brief(found[m].g)),
            ("s, ms", lambda m: f"{1e3 * number(name, 's', m):g}",
             lambda m: brief(found[m].s * 1e3)),
            ("s / s of HMC", per_s("s"),
             lambda m: "1" if m == "HMC" else brief(ratio(found, "s", m, "HMC"))),
            ("AP", cells["AP"].get, lambda m: brief(found[m].AP))]
    for row in ROWS:
        batch, sequence = ((row, estimator) for estimator in ESTIMATORS)
        rows += [(f"{row}, batch means", cells[row].get, own(batch)),
                 (f"{row} x g, batch means", cells[f"{row} x g"].get, own(batch, "g")),
                 (f"{row} x s, s, batch means", cells[f"{row} x s"].get, own(batch, "s")),
                 (f"{row}, initial sequence", lambda m: "-", own(sequence)),
                 (f"{row} x g, initial sequence", lambda m: "-", own(sequence, "g")),
                 (f"{row} x s / s of HMC, initial sequence (paper: batch means)",
                  per_s(f"{row} x s"),
                  lambda m, row=row: brief(product(found, f"{row} x s", m)))]
    return claims.text_table(
        [[label, *(cell for m in found for cell in ("" if m == AUTHORS else theirs(m), ours(m)))]
         for label, theirs, ours in rows],
        [name, *(cell for m in found for cell in ("" if m == AUTHORS else "paper", f"{m}: ours"))])


def dot_plot(problems, others=()):
    """Draw the four products of all methods; problems and others: {name: {method: Estimates}}."""
    fig, axes = panels(2, 2, 2.8 + 0.5 * sum(map(len, problems.values())), sharey=True)
    for ax, measure in zip(axes.T.flat, MEASURES, strict=True):
        labels, circles, y = [], [], 0.0
        for name, found in problems.items():
            for method in found:
                dots(ax, name, measure, found, method, y)
                circles += [(product(other, measure, method).value, y - 0.25)
                            for other in others if method in other]
                labels.append((y, mathematics(method if method != "HMC" else f"{name}: HMC")))
                y += 1
            y += 0.7
        ax.set_yticks(*zip(*labels, strict=True))
        ax.tick_params(axis="y", length=0)
        ax.set(xscale="log", ylim=(y - 1.0, -0.7), xlabel=mathematics(measure)
               + " / $s$ of HMC" * measure.endswith("s"))
        open_circles(ax, circles)
        plain_log(ax.xaxis)
        ax.grid(axis="x", color="0.9")
    legend_below(fig, handles=[
        mark("the paper: its factors, $g$ of Section 3.3", "k", "D"),
        mark("ours, batch means", COLOURS[0], "s"), mark("ours, initial sequence", COLOURS[1]),
        *[mark("other data sets", COLOURS[1], mfc="none"),
          mark("the same, beyond the axis", COLOURS[1], ">")] * bool(others)], ncols=3)
    return fig


def open_circles(ax, points):
    """Draw points (x, y); those far right of all that is there become a number at the edge."""
    low, high = ax.get_xlim()
    high *= 1.5
    for x, y in points:
        if x <= high:
            ax.plot(x, y, "o", mfc="none", color=COLOURS[1], ms=6, mew=0.7)
        else:
            ax.plot(high, y, ">", color=COLOURS[1], ms=6, clip_on=False, zorder=3)
            ax.annotate(f"{x:.0f}", (high, y), (-8, 0), textcoords="offset points", ha="right",
                        va="center")
    ax.set_xlim(min([low, *(0.9 * x for x, _ in points)]), high)


def dots(ax, name, measure, found, method, y):
    """Draw a product of a method: of printed factors, and of ours, with 2 standard errors."""
    row, factor = measure.split(" x ")
    points = [(product(found, measure, method, estimator), shift, marker, colour)
              for estimator, shift, marker, colour in zip(ESTIMATORS, (0.0, -0.25), "so", COLOURS,
                                                          strict=False)]
    if method != AUTHORS:
        x = number(name, row, method) * (
            gradients(name, method) if factor == "g" else
            number(name, "s", method) / number(name, "s", "HMC"))
        points.append((Measured(x, x * printed.SE_LOG_TAU), 0.25, "D", "k"))
    for (value, se), shift, marker, colour in points:
        _, ends = style.log_bar(np.log(value), se / value)
        ax.errorbar(value, y + shift, xerr=ends[:, None], fmt=marker, color=colour, ms=3.5, lw=1)
