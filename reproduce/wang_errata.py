"""Wang and Neal (2013): what cannot be as printed, and what must be read closely.

Not a figure of the paper.  The errata N1 and N3, each with a number as printed and as ours; what
comes of passing over what the paper says; Table 2 against the factors in Table 3, whatever the
digits that rounding took away (N7); and what the text says of the two tables against the tables.

Run     python reproduce/wang_errata.py [--budget smoke|short|paper]
        Short and smoke take fewer and smaller problems.
Writes  figures/wang_errata.png, .txt (the errata and claims), .json
"""

from reproduce.harness.start import Study, main

from typing import NamedTuple

import numpy as np

from reproduce.harness.claims import Claim, text_table
from reproduce.harness.errata import number_rows, side_claims
from reproduce.harness.style import COLOURS, MARKERS, mark, panels, row_labels
from reproduce.wang import identities, printed
from reproduce.wang.errata import ERRATA, MISPRINTS, NOTATION, PITFALLS
from reproduce.wang.printed import NYSTROM, PRODUCTS, ROWS, lengths, product_of_factors, sentences

NAME, WHAT = "wang_errata", "what cannot be as printed"
MINUTES = {"paper": 0.5, "short": 0.3, "smoke": 0.1}

# The paper's settings
SIZES = {"paper": (5, 90, 900), "short": (5, 30, 300), "smoke": (5, 9, 90)}  # p, m, n of Nystrom
SMOOTH = (1, 6)  # data sets with p = 1

# Our settings
COUNTED = {"paper": (40, 20), "short": (40, 10), "smoke": (10, 2)}  # problems, matrices
JITTER = 1e-10  # of models/gp_nystrom.py
STATES, CORRELATION, STEPS = 7, 0.9, 5
WRONG = 0.01  # a probability, a correlation, an inverse or a count that is off by this is wrong
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # m / n in the figure


def numbers(p, m, n, problems, matrices, seed):
    """Compute {erratum: [as printed, as ours]}, and what the figure has besides."""
    done = identities.operations(p, m, n, seed)
    listed = done["K^(n,m)"] + done["chol(K^(m,m))"]
    printed, whole = identities.equation_11(STEPS, 4, seed), sum(done.values())
    pair = identities.gibbs(CORRELATION)
    naive = identities.naive_reverse(STATES, problems, seed)
    failed = [sum(identities.without_factor(ROWS[row].p, lengths(row), ROWS[row].n, ROWS[row].m[
        NYSTROM], jitter, matrices, seed) for row in SMOOTH) for jitter in (0.0, JITTER)]
    shares = [identities.nystrom_inverses(n // 3, max(2, round(share * n // 3)), seed)
              for share in SHARES]
    return {"errata": {
        "N1": identities.equation_36(20, seed), "N2": shares[2],
        "N3": [whole / listed, whole / (listed + done["K^(n,m) R^-1"] + done["B'B"])],
        "N4": [n - m, 0], "N5": printed, "N6": [pair["printed"], pair["ours"]],
        **{key: [max(naive[f"{method}, {which}"]) for which in ("printed", "ours")]
           for key, method in (("N6'", "mapping"), ("N6''", "tempered"))},
        "N6'''": identities.equivalence(STATES, seed), "N10": failed},
        "N8": identities.determinant(20, seed), "gibbs": [pair["x1 x2'"], pair["x2 x1'"]],
        "naive": naive, "operations": done, "inverses": shares}


class Result(NamedTuple):
    """What is computed."""

    printed: dict  # {erratum or pitfall: its number, as printed}
    ours: dict  # {erratum or pitfall: its number, as ours}
    factors: dict  # {(row, method): a number of Table 2 by Table 3}
    sentences: dict  # {sentence: the number of Table 2 of which it speaks}
    numbers: dict  # what numbers() computes, for the table and the figure


def run(experiment, cases):
    """Return the Result."""
    (p, m, n), (problems, matrices) = SIZES[experiment.budget], COUNTED[experiment.budget]
    (found,) = experiment.replicates(numbers, [dict(
        p=p, m=m, n=n, problems=problems, matrices=matrices, seed=experiment.seed)], "identities")
    return Result(*({key: pair[side] for key, pair in found["errata"].items()} for side in (0, 1)),
                  {key: product_of_factors(*key)[1] for key in PRODUCTS}, sentences(), found)


def printed_value(row, method):
    """Return a number of Table 2 as printed: T_STD of the standard sampler, else a ratio to it."""
    return printed.TABLES[printed.RATIOS][row][printed.COLUMNS[method]]


def name(row, method):
    """Name a number of Table 2."""
    return f"row {row}: T_STD" if method == printed.STANDARD else f"row {row}: T / T_STD, {method}"


def factor_claim(row, method):
    """Make the claim that a number of Table 2 is that of Table 3, as far as rounding says."""
    least, _, most = printed.bounds(printed.RATIOS, row, method)
    low, value, high = product_of_factors(row, method)
    return Claim(f"Table 2, {name(row, method)}", printed_value(row, method),
                 lambda r: r.factors[row, method], least - (high - value), most + (value - low),
                 "rounding: of the number, of the CPU times and of the autocorrelation times",
                 "paper against itself", MISPRINTS.get((row, method)))


def pitfall(key):
    """Make the claims of a pitfall: who follows the paper is right, who does not is not."""
    e = PITFALLS[key]
    return [Claim(e.what, f"Section {e.where}: {e.says}", lambda r: r.ours[key], 0, e.exact,
                  "rounding", "printed sentence"),
            Claim(f"{e.what}; but {e.otherwise}", "ours: it is biased, off, or fails",
                  lambda r: r.printed[key], WRONG, np.inf, "far above rounding", "ours")]


CLAIMS = [
    *side_claims(ERRATA),
    *[claim for key in PITFALLS for claim in pitfall(key)],
    Claim("N8: log |C| less log prod R_ii^2", "0", lambda r: r.numbers["N8"], -1e-9, 1e-9,
          "(30).  Rounding: of eigenvalues of 1e-16 times the largest, 1e5 times the least",
          "printed sentence"),
    *[factor_claim(*key) for key in PRODUCTS],
    *[Claim(f"Table 2: {what}", paper, lambda r, key=key: r.sentences[key], low, high,
            printed.quote(which), "paper against itself", known)
      for key, which, what, paper, low, high, known in (
        ("largest gain", "two to four", "largest T_STD / T_SOD", "two to four, depending on the"
         " problem", printed.FASTER[1] - 0.5, printed.FASTER[1] + 0.5, None),
        ("more efficient", "almost always", "rows in which SOD gains", "almost all of 10", 9, 10,
         None),
        ("grows", "savings", "pairs of rows in which SOD gains more with n = 900", "most of 5", 3,
         5, None),
        ("outside", "m", "m / n outside of 10 to 50 %, of 16", "generally none", 0, 4, None),
        ("long", "10%", "least m / n of Nystrom, long lengths", ".1", 0.095, 0.105, None),
        ("short", "not close", "results of Nystrom, short lengths and p = 5", "none", 0, 0, None),
        ("tempered", "tempered", "largest T_TMP / T of the others, n = 300 and p = 5", "below 1",
         0, 1, None),
        ("Nystrom", "substantially", "T_SOD / T_NYS of row 10", "substantially above 1", 1.5,
         np.inf, None))],
]


def table(r):
    """Lay out the errata, the pitfalls, the operations, and Table 2 against Table 3."""
    closely = [[e.what, f"{r.ours[key]:.4g}", e.otherwise, f"{r.printed[key]:.4g}"]
               for key, e in PITFALLS.items()]
    x12, x21 = r.numbers["gibbs"]
    invariant = r.numbers["naive"]["invariant"]
    ratios = [[name(*key), printed_value(*key), f"{r.factors[key]:.4g}"] for key in PRODUCTS]
    return "\n\n".join([
        "\n".join([f"{key}, {e.where}: {e.theirs}; right is {e.ours}" for key, e in ERRATA.items()]
                  + ["N7, Table 2, row 5: T_STD and two ratios are not those of Table 3",
                     *NOTATION]),
        text_table(number_rows(ERRATA, r), ["", "number", "as printed", "ours"]),
        "What the paper says, and what comes of something else:\n"
        + "\n".join(f"Section {e.where}: {e.says}" for e in PITFALLS.values()),
        text_table(closely, ["", "as the paper says", "otherwise", "error then"]),
        f"In the same sequence E[x_1 x_2'] = {x12:.3f} and E[x_2 x_1'] = {x21:.3f}.  The invariant"
        f" law of such a mapping is off\nby {np.median(invariant):.3f} (median of"
        f" {len(invariant)} problems) to {max(invariant):.3f} of the largest probability.",
        "N3, multiplications and divisions:\n" + text_table(
            list(map(list, r.numbers["operations"].items())), ["step", "number"]),
        "N7, Table 2 against Table 3:",
        text_table(ratios, ["", "printed", "of its factors"])])


def figure(r):
    """Draw the errors of the inverses, the same sequence twice, Table 2 and its gains."""
    fig, ((inverse, naive), (factors, gains)) = panels(2, 2, 8.0)
    for k, label in enumerate(("(37)", "(32)")):
        inverse.loglog(SHARES, [pair[k] for pair in r.numbers["inverses"]], "so"[k] + "-",
                       label=label, color=COLOURS[4 - 4 * k])
    inverse.set_xticks(SHARES, map(str, SHARES))
    inverse.minorticks_off()
    inverse.set(xlabel="m / n", ylabel="relative error of the inverse", title="The vectors (41) are"
                " not orthonormal")
    for k, (method, label) in enumerate((("mapping", "discretizing chain"),
                                         ("tempered", "tempered transitions"))):
        same, opposite = (r.numbers["naive"][f"{method}, {of}"] for of in ("printed", "ours"))
        naive.semilogy(np.sort(same), color=COLOURS[k],
                       label=f"{label}, same order")
        naive.semilogy(np.sort(np.maximum(opposite, 1e-18)), "--", color=COLOURS[k],
                       label=f"{label}, opposite order")
    naive.set(xlabel=f"problem of {STATES} states, sorted", ylabel=r"largest $|\pi P - \pi|$",
              title="A sweep is not its own reverse")
    shapes = dict(zip(printed.METHODS, "D" + MARKERS[:2] + "^", strict=True))
    for row, method in PRODUCTS:
        low, _, high = product_of_factors(row, method)
        least, value, most = printed.bounds(printed.RATIOS, row, method)
        colour = COLOURS[4] if (row, method) in MISPRINTS else "k"
        y = list(ROWS).index(row) + 0.2 * (printed.METHODS.index(method) - 1.5)
        factors.plot((least / high, most / low), (y, y), color=colour, lw=1)
        factors.plot(value / r.factors[row, method], y, shapes[method], color=colour)
    factors.axvline(1, color="0.7", lw=1, zorder=0)
    row_labels(factors, [f"data set {row}" for row in ROWS])
    factors.set(xlabel="printed / by the printed factors",
                title="N7: Table 2 against Table 3 (in colour: beyond rounding)")
    gains.axhspan(2, 4, color="0.9", zorder=0)
    gains.text(5.6, 3.95, "\"can be two to four times\"", ha="right", va="top", color="0.4")
    for method, colour in zip(printed.METHODS[1:], COLOURS, strict=False):
        gains.plot(*zip(*[(row, 1 / found.ratio[method]) for row, found in ROWS.items()
                          if method in found.ratio], strict=True), shapes[method], color=colour)
    gains.axhline(1, color="0.7", lw=1, zorder=0)
    gains.set_yscale("log")
    gains.set_yticks((1, 2, 4, 7), ("1", "2", "4", "7"))
    gains.minorticks_off()
    gains.set(xlabel="data set", ylabel=r"$T_{STD}\, / \,T$, as printed", xticks=list(ROWS),
              title="What Table 2 has of \"can be two to four times\"")
    for ax in (inverse, naive):
        ax.legend(loc="center")
    factors.legend(loc="lower left", handles=[
        mark(r"$T_{STD}$" if method == printed.STANDARD else method, "k", shapes[method])
        for method in printed.METHODS])
    gains.legend(loc="upper right", handles=[
        mark(method, colour, shapes[method])
        for method, colour in zip(printed.METHODS[1:], COLOURS, strict=False)])
    return fig


cases = "none: the formulas themselves"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
