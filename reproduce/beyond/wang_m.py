"""Wang and Neal (2013), Section 6.2: how many cases m a subset or Nystrom-Cholesky should have.

Not a figure of the paper.  The cost of an effective draw against m, in evaluations of the
posterior; several subsets of each size; columns of Nystrom-Cholesky as a pivoted Cholesky factor
takes them, instead of random ones; how often its moves are accepted from half of the columns to all
where lengths are short and p = 5; and what an evaluation takes by exact eigenvectors.

Run     python reproduce/beyond/wang_m.py [--budget smoke|short|paper]
        Paper has up to eleven m for eight rows, and three subsets of each size where a chain is
        quick, elsewhere one; short has row 1.
Writes  figures/wang_m.png, .txt (table and claims), .json; or in short/, smoke/
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.harness.claims import Claim, Measured, Scan, average, brief, log, mean, text_table
from reproduce.harness.replicates import replicates_by_key
from reproduce.harness.style import legend_below, mark, panels, plain_log, plt, styles
from reproduce.wang import long_chains
from reproduce.wang.eigen_exact import eigen_times
from reproduce.wang.long_chains import PIVOTED, RANDOM, clocks, combine, cost, long_chain, warm
from reproduce.wang.printed import ARD, ISOTROPIC, NEARLY_ALL, NYSTROM, ROWS, SHARE, SOD, quote

NAME, WHAT = "wang_m", "cost of an effective draw against m"
MINUTES = {"paper": 28, "short": 2, "smoke": 0.3}

# Our settings.  m as parts of n; the paper's m comes to them
PARTS = {SOD: (0.03, 0.06, 0.1, 0.15, 0.2, 0.27, 0.4, 0.5, 0.65, 0.8),
         NYSTROM: (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45)}
RANGE = {(NYSTROM, 900, ISOTROPIC): (0.0, 0.2),  # of these, where a chain takes long
         (NYSTROM, 900, ARD): (0.06, 0.1)}
CURVES = {SOD: (1, 2, 3, 4, 5, 6, 9), NYSTROM: (1, 4, 5, 6, 9, 10)}  # rows
BOTH_COLUMNS = (1, 4, 6)  # rows with pivoted columns as well
SHORT_PARTS = {SOD: (0.06, 0.2, 0.4), NYSTROM: (0.06, 0.2)}
MANY = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)  # columns of Nystrom, as parts of n
REFUSED = (2, 3, 7, 8)  # rows of short lengths and p = 5
WORKS = (0.25, 0.5, 0.75)  # of the moves are accepted where it works: the paper does not say
# subsets of each size; where that takes long one.  Of pivoted columns there is one choice, and so
# many chains: the difference to random ones has the error of both
LUCK = {"paper": 3, "short": 2, "smoke": 2}
LONGEST = {SOD: 3, NYSTROM: 1}  # windows of 1333 iterations of a chain, paper; else 1
SMALL = 20  # cases, at the smoke budget
ITERATIONS = {300: 300, 900: 40}  # where only acceptance is wanted, by n
EIGEN = {4: 0.1, 9: 0.1}  # m / n by rows, one of each n, of the approximation by eigenvectors
TIMED = {"paper": (3, 2), "short": (3, 2), "smoke": (1, 2)}  # rounds, iterations


def sizes(number, method, budget, n):
    """Return the m of a row and method, the paper's among them."""
    row = ROWS[number]
    low, high = RANGE.get((method, row.n, row.kind), (0.0, 1.0))
    parts = [part for part in (PARTS if budget == "paper" else SHORT_PARTS)[method]
             if low <= part <= high]
    printed = row.m[method] / row.n
    return sorted({max(2, round(part * n)) for part in (*parts, printed)})


def plan(budget):
    """Return (row, method, columns, m, luck) of every chain of the curves."""
    found = []
    for method, rows in CURVES.items():
        for number in rows if budget == "paper" else (1,):
            n = cases_of(number, budget)
            for columns in (RANDOM, PIVOTED)[: 1 + (method == NYSTROM and number in BOTH_COLUMNS)]:
                long = ROWS[number].kind == ARD or (method, n) == (NYSTROM, 900)
                several = number in BOTH_COLUMNS and method == NYSTROM
                lucks = LUCK[budget] if several or not long else 1
                found += [(number, method, columns, m, luck)
                          for m in sizes(number, method, budget, n) for luck in range(lucks)]
    return found


def cases_of(number, budget):
    """Return n."""
    return SMALL if budget == "smoke" else ROWS[number].n


def run(experiment, cases):
    """Return curves {row: {method: {columns: {m: {"cost", "accepted", ...}}}}}, and the cliffs."""
    budget, tasks = experiment.budget, {}
    small = SMALL if budget == "smoke" else None
    rows = {}  # of chains.clock
    for number, method, columns, m, luck in plan(budget):
        tasks.setdefault((number, method, columns, m), []).append(dict(
            number=number, index=0, method=method, m=m, columns=columns, luck=luck, n=small,
            windows=LONGEST[method] if budget == "paper" else 1,
            seed=[experiment.seed, number, luck], cost=weight(number, method, m)))
        rows.setdefault(number, {})[f"{method} {m}"] = [method, "variable", 1.0, 10, m]
    done = replicates_by_key(experiment, long_chain, tasks, "chains", warm=warm)
    timed = clocks(experiment, rows, TIMED[budget], small)
    refused, slow = nystrom_acceptance(experiment)
    found = {}
    for (number, method, columns, m), chains in done.items():
        curve = found.setdefault(number, {}).setdefault(method, {}).setdefault(columns, {})
        curve[m] = combine_subsets([{"draw": one["log tau"] + np.log(cost(
            [chain], method, "variable", timed[number], f"{method} {m}")),
            "accepted": one["accepted"].value} for chain in chains for one in [combine([chain])]])
    return {"n": {number: cases_of(number, budget) for number in found}, "curves": found,
            "refused": refused, "slow": slow, "eigen": eigen_times(
                experiment, {number: round(part * cases_of(number, budget))
                             for number, part in EIGEN.items()}, TIMED[budget][0], small)}


def weight(number, method, m):
    """Return about how long a chain takes, for the progress bar."""
    fast = method == SOD and ROWS[number].kind == ISOTROPIC
    return 1 + (0 if fast else m * m * ROWS[number].n / 1e6 * (2 if method == NYSTROM else 1))


def combine_subsets(lucks):
    """Put the subsets of one size together."""
    draws = [one["draw"] for one in lucks]
    return {"draw": long_chains.pool(draws),
            "accepted": mean([one["accepted"] for one in lucks]),
            "luck": float(np.std([d.value for d in draws], ddof=1)) if len(draws) > 1 else np.nan}


def nystrom_acceptance(experiment):
    """Return {row: {part of n: acceptance rate}} of Nystrom-Cholesky, and {row: its cost}."""
    budget, rounds = experiment.budget, TIMED[experiment.budget][0]
    rows = REFUSED if budget == "paper" else REFUSED[:1]
    small = SMALL if budget == "smoke" else None
    wanted = [(number, part, round(part * cases_of(number, budget))) for number in rows
              for part in (MANY if budget == "paper" else MANY[::3])]
    done = experiment.replicates(long_chains.acceptance, [dict(
        number=number, index=0, method=NYSTROM, m=m, n=small, seed=[experiment.seed, number],
        iterations=ITERATIONS[ROWS[number].n] if budget == "paper" else 20,
        cost=weight(number, NYSTROM, m)) for number, _, m in wanted], "acceptance rates", warm=warm)
    found = {}
    for (number, part, _), each in zip(wanted, done, strict=True):
        found.setdefault(number, {})[part] = mean(each["accepted"])
    nearly = {number: round(NEARLY_ALL * cases_of(number, budget)) for number in rows[:3]}
    timed = clocks(experiment, {number: {NYSTROM: [NYSTROM, "variable", 1.0, 10, m]}
                                for number, m in nearly.items()}, (rounds, 1), small)
    slow = {number: mean(np.divide(*(np.mean(timed[number]["seconds"]["trial"][name], axis=0)
                                     for name in (f"{NYSTROM} {m}", "pi"))))
            for number, m in nearly.items()}
    return found, slow


def least_log_cost(r, number, method, inside=None):
    """Return the least log cost of a draw; with m / n in the paper's range, or outside of it."""
    n, (low, high) = r["n"][number], SHARE
    found = [each["draw"] for m, each in r["curves"][number][method][RANDOM].items()
             if inside is None or (low * n - 0.5 <= m <= high * n + 0.5) == inside]
    return min(found, key=lambda draw: draw.value)


def cost_at_paper_m(r, number, method):
    """Return what was found at the paper's m."""
    kinds = r["curves"][number][method][RANDOM]
    return kinds[max(2, round(ROWS[number].m[method] * r["n"][number] / ROWS[number].n))]


def excess(r, number, method):
    """Return log(cost of a draw at the paper's m / the least)."""
    return cost_at_paper_m(r, number, method)["draw"] - least_log_cost(r, number, method).value


def smallest_working_part(r, number):
    """Return the least part of n with which so many moves are accepted; 2 if there is none."""
    return Scan(WORKS, tuple(Measured(min((
        part for part, rate in r["refused"][number].items() if rate.value >= works), default=2.0))
        for works in WORKS))


def pivoting_gain(r, number):
    """Return the mean gain in acceptance by pivoted columns over all m, with the chains' error."""
    kinds = r["curves"][number][NYSTROM]
    pivoted, drawn = kinds[PIVOTED], kinds[RANDOM]
    return average([pivoted[m]["accepted"] - drawn[m]["accepted"] for m in pivoted])


CHOSEN = "Section 6.2: the parameters of each method were chosen to give good performance"
CLAIMS = [
    *[Claim(f"{method}: log(cost of a draw, m outside / in 10 to 50 % of n), mean over rows",
            quote("m"), lambda r, method=method: average([
                least_log_cost(r, number, method, False) - least_log_cost(r, number, method, True)
                for number in CURVES[method]]), 0.0, np.inf, "order: the best of what was tried"
            " outside costs more than the best inside", "order", budgets=("paper",))
      for method in CURVES],
    *[Claim(f"{method}: log(cost of a draw at the paper's m / the least), mean over rows", CHOSEN,
            lambda r, method=method: average([excess(r, number, method)
                                              for number in CURVES[method]]), -np.inf, np.log(1.5),
            "a good choice costs less than 1.5 times the best that was tried", "printed sentence",
            budgets=("paper",)) for method in CURVES],
    *[Claim(f"row {number}, Nystrom: least m / n that works", quote("nearly all"),
            lambda r, number=number: smallest_working_part(r, number), 0.9, 1.0,
            f"95 % or more, of {MANY}: what"
            " is needed may be a little less than what is found.  For each share of the moves that"
            " may be called working", "printed sentence", budgets=("paper",))
      for number in REFUSED],
    *[Claim(f"row {number}, Nystrom of 95 %: time of an evaluation / the posterior's",
            quote("as slow"), lambda r, number=number: r["slow"][number], 1.0, np.inf,
            "machine (ratios only): as slow, or slower", "order", budgets=("paper",))
      for number in REFUSED[:3]],
    *[Claim(f"row {number}, Eigen-exact: log(least time of an evaluation / the posterior's)",
            quote("could be slower"), lambda r, number=number: min(
                (log(each) for each in r["eigen"][number].values()), key=lambda t: t.value),
            0.0, np.inf, "order: slower, by the faster of all eigenvectors and the search for the"
            " first m alone", "order", budgets=("paper",)) for number in EIGEN],
    *[Claim(f"row {number}, Nystrom of 10 %: acceptance rate", quote("10%"),
            lambda r, number=number: r["curves"][number][NYSTROM][RANDOM][90]["accepted"].value,
            WORKS[-1], 1.0, "a good approximation: three quarters of the moves are accepted at"
            " least", "printed sentence", budgets=("paper",)) for number in (9, 10)],
    *[Claim(f"row {number}, Nystrom: acceptance, pivoted columns less random ones", "ours",
            lambda r, number=number: pivoting_gain(r, number), 0.0, np.inf, "order, mean over m:"
            " pivots leave the least of the kernel's trace unexplained", "ours", budgets=("paper",))
      for number in BOTH_COLUMNS],
]


def table(r):
    """Lay out the curves; the paper's m has a star."""
    rows = [[str(number), method, columns,
             f"{m}{'*' * (each is cost_at_paper_m(r, number, method))}",
             f"{m / r['n'][number]:.2f}", f"{each['accepted'].value:.3f}",
             f"{np.exp(each['draw'].value):.3g}", brief(each["draw"]), f"{each['luck']:.2f}"]
            for number, methods in r["curves"].items() for method, kinds in methods.items()
            for columns, curve in kinds.items() for m, each in curve.items()]
    cliff = [[str(number), f"{part:.2f}", brief(rate)]
             for number, parts in r["refused"].items() for part, rate in parts.items()]
    return text_table(rows, ["row", "method", "columns", "m", "m / n", "accepted",
                             "evaluations a draw", "its log", "scatter"]) + (
        "\n\nNystrom-Cholesky with most of the columns\n") + text_table(
        cliff, ["row", "m / n", "accepted"]) + (
        "\n\nTime of an evaluation over the posterior's\n") + text_table(
        [[f"{number}", name, brief(ratio)] for number, found in (
            *((number, {f"Nystrom, {NEARLY_ALL:.0%}": ratio})
              for number, ratio in r["slow"].items()),
            *((number, {f"Eigen-exact, {name}": ratio for name, ratio in each.items()})
              for number, each in r["eigen"].items()))
         for name, ratio in found.items()], ["row", "approximation", "times as long"])


def figure(r):
    """Draw the curves with the paper's m, and the cliffs."""
    fig, axes = panels(1, 3, 4.6)
    how = dict(zip(ROWS, styles(len(ROWS), 5), strict=True))
    for ax, method in zip(axes, CURVES, strict=False):
        for number, methods in r["curves"].items():
            for columns, curve in methods.get(method, {}).items():
                at = [m / r["n"][number] for m in curve]
                draws = np.exp([each["draw"].value for each in curve.values()])
                pivots = {} if columns == RANDOM else {"marker": "x", "ls": ":"}
                ax.plot(at, draws, **how[number] | pivots)
            if method in methods:
                one = cost_at_paper_m(r, number, method)
                (m,) = (m for m, each in methods[method][RANDOM].items() if each is one)
                ax.plot(m / r["n"][number], np.exp(one["draw"].value), "D", ms=9, mfc="none",
                        mec=how[number]["color"])
        ax.axvspan(*SHARE, color="0.93", zorder=-1)
        ax.set(xscale="log", yscale="log", xlabel="m / n", title=method,
               ylabel="evaluations of the posterior for a draw")
        ax.set_xticks((0.03, 0.1, 0.3, 0.8), ("0.03", "0.1", "0.3", "0.8"))
        ax.set_xticks([], minor=True)
        plain_log(ax.yaxis)
    for number, parts in r["refused"].items():
        axes[2].errorbar(list(parts), [rate.value for rate in parts.values()],
                         [2 * rate.se for rate in parts.values()], **how[number])
    for works in WORKS:
        axes[2].axhline(works, color="k", lw=0.6)
    axes[2].set(xlabel="m / n", ylabel="acceptance rate; lines: m works above",
                title="Nystrom, short lengths, p = 5")
    legend_below(fig, handles=[
        *(plt.Line2D([], [], label=f"data set {number}", **style) for number, style in how.items()),
        mark("the paper's m (grey: its range)", "k", "D", ms=9, mfc="none"),
        mark("pivoted columns", "k", "x", ":")], ncols=5)
    return fig


cases = "data set 0 of each row, simulated"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
