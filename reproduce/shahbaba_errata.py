"""Shahbaba, Lan, Johnson and Neal (2014): do Tables 1 and 2 agree with themselves?

Not a figure of the paper.  Three checks of its printed numbers, without any data: every product of
the two tables against its factors, whatever the digits that rounding took away; every printed g
against its definition; and every comparison of two methods against the error of an autocorrelation
time that is estimated from 36 batches.

That a printed estimate is below another is no claim: their ratio has an error of 40 %, which no
computing of ours makes smaller.  All orders are in the table.

Run     python reproduce/shahbaba_errata.py    the options change nothing
Writes  figures/shahbaba_errata.png, .txt (comparisons and claims), .json
"""

from reproduce.harness.start import Study, main

import numpy as np

from reproduce.harness import style
from reproduce.harness.claims import Claim, Measured, average, log, smallest, text_table
from reproduce.harness.style import COLOURS, MARKERS, log_bar, mark, mathematics, panels
from reproduce.shahbaba import printed
from reproduce.shahbaba.printed import MEASURES, METHODS, PROBLEMS, gradients, half_unit, number

NAME, WHAT = "shahbaba_errata", "the tables against themselves"
MINUTES = dict.fromkeys(("paper", "short", "smoke"), 0.03)

# Our settings; the paper's are its numbers, in shahbaba/printed.py
PAIRS = (("normal", "HMC"), ("data", "HMC"), ("data", "normal"))  # better, worse
PRODUCTS = [(name, method, measure) for name in PROBLEMS for measure in MEASURES
            for method in METHODS]
ITSELF = "paper against itself"  # what all claims here are


def run(experiment, cases):
    """Return what the printed factors say: products, g, ratios of s and of products."""
    return {
        "product": {key: product(*key)[0] for key in PRODUCTS},
        "g": {(name, method): gradients(name, method) for name in PROBLEMS for method in METHODS},
        "s": {(name, method): printed_estimate(name, "s", "HMC") / printed_estimate(name, "s",
                                                                                    method)
              for name in PROBLEMS for method in METHODS[1:]},
        "log": {(name, better, worse, measure): log_ratio(name, better, worse, measure)
                for name in PROBLEMS for measure in MEASURES
                for better in METHODS for worse in METHODS if better != worse},
    }


def product(name, method, measure):
    """Return the product of the printed factors, its least and its greatest value.

    g is that of Section 3.3, in full, so that only tau and s are rounded.
    """
    tau, factor = measure.split(" x ")
    a, da = number(name, tau, method), half_unit(name, tau, method)
    b, db = gradients(name, method), 0.0
    if factor == "s":
        b, db = number(name, "s", method), half_unit(name, "s", method)
    return a * b, (a - da) * (b - db), (a + da) * (b + db)


def printed_estimate(name, row, method):
    """Return a printed number with the standard error of its rounding, a uniform error."""
    return Measured(number(name, row, method), half_unit(name, row, method) / 3**0.5)


def log_ratio(name, better, worse, measure):
    """Return log(worse / better) of a measure, from the factors with the g of Section 3.3."""
    ratio = cost(name, worse, measure) / cost(name, better, measure)
    return log(ratio) + Measured(0.0, 2**0.5 * printed.SE_LOG_TAU)


def cost(name, method, measure):
    """Return the product of the printed factors, with the standard error of rounding."""
    row, factor = measure.split(" x ")
    scale = printed_estimate(name, "s", method) if factor == "s" else gradients(name, method)
    return printed_estimate(name, row, method) * scale


def product_claim(name, method, measure):
    """Make the claim that a printed product is that of its factors, as far as rounding says."""
    theirs, half = number(name, measure, method), half_unit(name, measure, method)
    value, low, high = product(name, method, measure)
    return Claim(
        f"{name}, {method}: {measure}", PROBLEMS[name].rows[measure][method],
        lambda r: r["product"][name, method, measure],
        theirs - half - (high - value), theirs + half + (value - low),
        f"{PROBLEMS[name].table}, rounding: of the product, and of its factors (g is exact)",
        ITSELF, printed.MISPRINTS.get((name, method, measure)), printed=theirs)


def longer(r, name):
    """Return by how much the s / g of data splitting over that of HMC is above 1."""
    return r["g"][name, "HMC"] / r["g"][name, "data"] / r["s"][name, "data"] - 1.0


NOISE = ("Monte Carlo: theirs, from 36 batches for each of the two chains, and the rounding of tau"
         " and s (least: in standard errors)")
CLAIMS = [
    *[product_claim(*key) for key in PRODUCTS],
    *[Claim(f"{name}, {method}: g", problem.rows["g"][method],
            lambda r, key=(name, method): r["g"][key],
            number(name, "g", method) - 0.05, number(name, "g", method) + 0.05,
            "rounding; by Section 3.3, g is L, or (f M + 1 - f) L for data splitting",
            ITSELF, printed.MISPRINTS.get((name, method, "g")), printed=number(name, "g", method))
      for name, problem in PROBLEMS.items() for method in METHODS],
    Claim("Simulated: s, HMC / either split, least", "order", lambda r: smallest(
              r["s"]["Simulated", method] - 1.0 for method in METHODS[1:]) + 1.0, 1.0, np.inf,
          "Section 3.3.1: CPU times are substantially lower; the standard error is that of rounding"
          " (least: in standard errors)", ITSELF),
    Claim("Four problems: s / g, data splitting / HMC, least", "slightly larger",
          lambda r: smallest(longer(r, name) for name in PROBLEMS) + 1.0, 1.0, np.inf,
          "Section 3.3: s is close to proportional to g, except for slightly larger than expected"
          " times for data splitting; the standard error is that of rounding (least: in standard"
          " errors)", ITSELF, printed.MISPRINTS["Simulated", "s"]),
    Claim("Chess: tau_beta x g, normal - data, products of the factors with g = L", "246 - 224",
          lambda r: (r["product"]["Chess", "normal", "tau_beta x g"]
                     - r["product"]["Chess", "data", "tau_beta x g"]),
          0.0, np.inf, "Section 3.3.2: the latter performs better in terms of tau_beta x g; the"
          " order of the two numbers, whatever their errors", ITSELF,
          printed.MISPRINTS["Chess", "data", "normal"]),
    *[Claim(f"Four problems: mean log(HMC / {method}), least of the four products", "order",
            lambda r, method=method: smallest(
                average(r["log"][name, method, "HMC", m] for name in PROBLEMS) for m in MEASURES),
            0.0, np.inf, f"Abstract: both approaches can reduce the cost.  {NOISE}", ITSELF)
      for method in METHODS[1:]],
]


def stated_sign(name, better, worse, measure):
    """Return 1 if it is said that a method is better, -1 if the opposite is, else 0."""
    text = {(*words, m) for *words, measures, _ in printed.SENTENCES for m in measures}
    return ((name, better, worse, measure) in text) - ((name, worse, better, measure) in text)


def table(r):
    """Lay out all comparisons; * where the text has a sentence about it."""
    rows = []
    for name in PROBLEMS:
        for measure in MEASURES:
            cells = []
            for pair in PAIRS:
                value, se = r["log"][name, *pair, measure]
                mark = ("", "*", "**")[stated_sign(name, *pair, measure)]
                cells.append(f"{np.exp(value):5.2f}  z = {value / se:5.2f} {mark}".rstrip())
            rows.append([name, measure, *cells])
    se = 2**0.5 * printed.SE_LOG_TAU
    needed = (1 + 4 / (np.log(1.5) / 2) ** 2) ** 3  # from se^2 = 2 x 2 / (N^(1/3) - 1)
    return (f"The log of a batch-means tau from {printed.BATCHES} batches has the standard error"
            f" {printed.SE_LOG_TAU:.3f}, that of a ratio {se:.3f}:\nonly a ratio above"
            f" {np.exp(2 * se):.2f} is 2 standard errors from 1.  The error falls about with the"
            " sixth root\nof the number of iterations: a ratio of 1.5 takes"
            f" {needed:.2g} of them.  (An initial sequence estimate of\ntau = 5 from the same"
            f" {printed.N} draws has an error of about 5 %: algorithms/ess.py.)\n\nRatios of the"
            " products of the factors, g by its definition; z in standard errors.  * the text,"
            " or bold\ntype, says that it is above 1, ** that it is below.\n\n" + text_table(
                rows, ["problem", "measure", *(f"{b} / {a}" for a, b in PAIRS)]))


def figure(r):
    """Write the impossible products as a table; draw the comparisons with their errors."""
    fig, (above, below) = panels(2, 1, 8.2, height_ratios=(1, 2.9))
    cells = impossible()
    above.axis("off")
    above.set_title(f"{len(cells)} of the {len(PRODUCTS)} products of Tables 1 and 2 are not those"
                    " of their factors, with g as Section 3.3 has it")
    shown = above.table([*map(list, cells)], loc="center", cellLoc="left", colLoc="left",
                        colLabels=("", "printed", "of the printed factors", "rounding allows"),
                        colWidths=(0.28, 0.12, 0.38, 0.22), bbox=(0, 0, 1, 1),
                        edges="horizontal")
    shown.auto_set_font_size(False)
    shown.set_fontsize(9)
    for cell in shown.get_celld().values():
        cell.set(edgecolor="0.8")
    blue, orange, red = COLOURS[0], COLOURS[1], COLOURS[4]
    labels, shapes = [], dict(zip(MEASURES, MARKERS, strict=False))
    for name in PROBLEMS:
        for better, worse in PAIRS:
            for k, measure in enumerate(MEASURES):
                value, se = r["log"][name, better, worse, measure]
                z = stated_sign(name, better, worse, measure) * value / se
                middle, ends = log_bar(value, se)
                below.errorbar(middle, len(labels) + 0.19 * (k - 1.5), xerr=ends[:, None], lw=1,
                               fmt=shapes[measure],
                               color=blue if z >= 2 else orange if z >= 0 else red)
            labels.append(f"{name}: {worse} / {better}")
    style.row_labels(below, labels)
    for end in range(len(PAIRS), len(labels), len(PAIRS)):
        below.axhline(end - 0.5, color="0.8", lw=0.8)
    below.axvline(1, color="0.7", lw=1, zorder=0)
    below.set(xscale="log", xlabel="ratio, with 2 standard errors of 36 batches",
              title="which comparisons the run length supports")
    below.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    below.minorticks_off()
    style.legend_below(fig, ncols=4, handles=[
        *(mark(mathematics(m), "k", shape) for m, shape in shapes.items()),
        *(mark(label, colour) for colour, label in (
            (blue, "the paper's order, 2 standard errors or more"),
            (orange, "the paper's order, less than 2"),
            (red, "the other order, with $g = L$")))])
    return fig


def impossible():
    """Return a row for each product that is not that of its factors: what, printed, ours, range."""
    found = []
    for name, method, measure in PRODUCTS:
        tau, factor = measure.split(" x ")
        theirs, half = number(name, measure, method), half_unit(name, measure, method)
        value, low, high = product(name, method, measure)
        rows = PROBLEMS[name].rows
        if not low - half <= theirs <= high + half:
            g = f"{gradients(name, method):.3g}"
            scale = rows["s"][method] if factor == "s" else g
            note = f" (not {rows['g'][method]})" * (scale == g != rows["g"][method])
            found.append((
                f"{name}, {method}: {mathematics(measure)}", rows[measure][method],
                f"{rows[tau][method]} $\\times$ {scale}{note} = {value:.3g}",
                f"{low:.4g} to {high:.4g}"))
    return found


cases = "the numbers of Tables 1 and 2"
STUDY = Study(NAME, WHAT, MINUTES, __doc__, cases, run, CLAIMS, table, figure)

if __name__ == "__main__":
    main(STUDY)
