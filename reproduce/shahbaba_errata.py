"""Split HMC (Shahbaba, Lan, Johnson and Neal 2014): do Tables 1 and 2 agree with themselves?

Not a figure of the paper.  Three checks of its printed numbers, without any data: every product of
the two tables against its factors, whatever the digits that rounding took away; every g against
its definition; and every sentence of the text that one method beats another against the error of
an autocorrelation time that is estimated from 36 batches.

Run     python reproduce/shahbaba_errata.py    2 s at every budget; the options change nothing
Writes  shahbaba_errata.png, .txt (the comparisons and the claims) and .json, into figures/ for the
        paper budget and figures/<budget>/ for the others; the exit status is 1 if a claim fails
"""

from typing import NamedTuple

import numpy as np
from scipy.special import polygamma

from harness import Claim, Measured, announce, finish, parse, plt
from harness import table as text_table

NAME = "shahbaba_errata"
METHODS = ("HMC", "normal", "data")  # the columns: normal approximation, data splitting


class Problem(NamedTuple):
    """A block of the tables, as printed: a row is a string with a number for each method."""

    table: str
    f: float  # fraction of the cases in R_0
    M: int  # inner steps
    L: str
    g: str
    s: str
    tau: str
    tau_beta: str
    products: dict


# The paper's numbers (Tables 1 and 2; f and M from Sections 3.3.1 and 3.3.2)
PROBLEMS = {
    "Simulated": Problem(
        "Table 1", 0.40, 9, "20 10 3", "20 10 12.6", "0.187 0.087 0.096", "4.6 3.2 3.0",
        "11.7 13.5 7.3",
        {"tau x g": "92 32 38", "tau x s": "0.864 0.284 0.287",
         "tau_beta x g": "234 135 92", "tau_beta x s": "2.189 1.180 0.703"}),
    "StatLog": Problem(
        "Table 2", 0.40, 10, "20 14 3", "20 14 13.8", "0.033 0.026 0.023", "5.6 6.0 4.0",
        "5.6 4.7 3.8",
        {"tau x g": "112 84 55", "tau x s": "0.190 0.144 0.095",
         "tau_beta x g": "112 66 52", "tau_beta x s": "0.191 0.122 0.090"}),
    "CTG": Problem(
        "Table 2", 0.30, 14, "20 13 2", "20 13 9.8", "0.011 0.008 0.005", "6.2 7.0 5.0",
        "24.4 19.6 11.5",
        {"tau x g": "124 91 47", "tau x s": "0.069 0.055 0.028",
         "tau_beta x g": "488 255 113", "tau_beta x s": "0.271 0.154 0.064"}),
    "Chess": Problem(
        "Table 2", 0.35, 15, "20 9 2", "20 13 11.8", "0.022 0.011 0.013", "10.7 12.8 12.1",
        "23.4 18.9 19.0",
        {"tau x g": "214 115 143", "tau x s": "0.234 0.144 0.161",
         "tau_beta x g": "468 246 224", "tau_beta x s": "0.511 0.212 0.252"}),
}
MEASURES = tuple(PROBLEMS["CTG"].products)
N = 50_000  # iterations, Section 3.3

# What the text says: problem, better, worse, by which measures, and where
SENTENCES = [
    ("Simulated", "normal", "HMC", ("tau x g", "tau x s"),
     "Section 3.3.1: substantially lower than for standard HMC"),
    ("Simulated", "data", "HMC", ("tau x g", "tau x s"),
     "Section 3.3.1: substantially lower than for standard HMC"),
    ("Simulated", "normal", "HMC", ("tau_beta x g", "tau_beta x s"),
     "Section 3.3.1: an improvement in efficiency too, if a smaller one"),
    ("Simulated", "data", "HMC", ("tau_beta x g", "tau_beta x s"),
     "Section 3.3.1: the improvement in efficiency is substantial"),
    ("Simulated", "data", "normal", ("tau_beta x g", "tau_beta x s"),
     "Section 3.3.1: the improvement is more substantial for data splitting"),
    ("StatLog", "normal", "HMC", MEASURES, "Section 3.3.2: Split HMC improves efficiency"),
    ("StatLog", "data", "HMC", MEASURES, "Section 3.3.2: Split HMC improves efficiency"),
    ("StatLog", "data", "normal", MEASURES,
     "Section 3.3.2: data splitting performs substantially better"),
    ("CTG", "normal", "HMC", MEASURES, "Section 3.3.2: improved performance significantly"),
    ("CTG", "data", "HMC", MEASURES, "Section 3.3.2: improved performance significantly"),
    ("CTG", "data", "normal", MEASURES, "Section 3.3.2: data splitting outperforms"),
    ("Chess", "normal", "HMC", MEASURES, "Section 3.3.2: improved substantially"),
    ("Chess", "data", "HMC", MEASURES, "Section 3.3.2: improved substantially"),
    ("Chess", "normal", "data", ("tau x g", "tau x s", "tau_beta x s"),
     "Section 3.3.2: the normal approximation performs better in these terms"),
    ("Chess", "data", "normal", ("tau_beta x g",),
     "Section 3.3.2: the latter performs better in terms of tau_beta x g"),
]

# Our settings
BATCHES = int(N ** (1 / 3))  # 36, of 1357 iterations
# of the log of a tau: the log of a chi-squared number of 35 degrees of freedom, S^2 adds little;
# 0.243, where the relative error of tau itself is sqrt(2 / 35) = 0.239
SE_LOG_TAU = float(polygamma(1, (BATCHES - 1) / 2) ** 0.5)
KNOWN = {
    ("StatLog", "HMC", "tau x s"):
        "no tau that prints as 5.6 and s as 0.033 have a product above 5.65 x 0.0335 = 0.1893.  The"
        " two products of this column, 0.190 and 0.191, ask for s from 0.0337 to 0.0343, which"
        " would be printed as 0.034 unless it was cut off",
    ("StatLog", "HMC", "tau_beta x s"):
        "as tau x s: at most 5.65 x 0.0335 = 0.1893; s must have been 0.0337 or more",
    ("StatLog", "normal", "tau x s"):
        "6.0 x 0.026 = 0.156, at least 5.95 x 0.0255 = 0.1517; 0.144 would need s = 0.0243 or less,"
        " where tau_beta x s asks for 0.0256 or more.  (0.144 stands in the same place of Chess)",
    ("CTG", "data", "tau x g"):
        "5.0 x 9.8 = 49, at least 4.95 x 9.8 = 48.5; 47 would need tau = 4.85 or less, where"
        " tau x s asks for 0.0275 / 0.0055 = 5.0 or more",
    ("Chess", "normal", "tau x g"):
        "g cannot be 13: the normal approximation has g = L = 9 (Section 3.3), with which"
        " 12.8 x 9 = 115 is right",
    ("Chess", "normal", "g"):
        "g = L = 9, by Section 3.3; tau x g = 115 is 12.8 x 9.  13 is the value of CTG",
    ("Chess", "normal", "tau_beta x L"):
        "246 is 18.9 x 13, with the wrong g; with g = L = 9 it is 170",
    ("Chess", "data", "normal"):
        "with g = 9 in place of 13 the normal approximation has 170, data splitting 224: the order"
        " is the other way round, and so is the number that Table 2 should have in bold type",
    ("Simulated", "s"):
        "0.187 / 20 = 0.0094 per gradient for HMC, 0.096 / 12.6 = 0.0076 for data splitting: less"
        " time than expected, not more, and no rounding explains a difference of 19 %",
}


def numbers(row):
    """Return {method: number} for a printed row."""
    return dict(zip(METHODS, map(float, row.split()), strict=True))


def half_units(row):
    """Return {method: half a unit of the last printed digit}."""
    return {method: 0.5 * 10.0 ** -len(text.partition(".")[2])
            for method, text in zip(METHODS, row.split(), strict=True)}


def definition(problem, method):
    """Return g by Section 3.3: L, or (f M + 1 - f) L."""
    share = problem.f * problem.M + 1 - problem.f if method == "data" else 1
    return share * numbers(problem.L)[method]


def interval(problem, method, measure, g=None):
    """Return the product of the printed factors, its least and its greatest value.

    g is a count, or (f M + 1 - f) L in full, so that only tau and s are rounded; g = None takes
    the printed one.
    """
    tau, factor = measure.split(" x ")
    rows = [getattr(problem, tau), getattr(problem, factor)]
    (a, b), (da, db) = [[part(row)[method] for row in rows] for part in (numbers, half_units)]
    if factor == "g":
        b, db = g or b, 0.0
    return a * b, (a - da) * (b - db), (a + da) * (b + db)


def product_claim(name, method, measure, g=None, label=None):
    """Make the claim that a printed product is that of its factors, as far as rounding says."""
    problem = PROBLEMS[name]
    row = problem.products[measure]
    value, low, high = interval(problem, method, measure, g)
    printed, half = numbers(row)[method], half_units(row)[method]
    label = label or measure
    return Claim(
        f"{name}, {method}: {label}", row.split()[METHODS.index(method)],
        printed - half - (high - value), printed + half + (value - low),
        f"{problem.table}, rounding: the factors allow [{low:.4g}, {high:.4g}], the printed product"
        f" [{printed - half:.5g}, {printed + half:.5g}]", KNOWN.get((name, method, label), ""))


def sentence(name, better, worse, measures):
    """Name the quantity of a sentence's claim."""
    least_of = "least of " if len(measures) > 1 else ""
    return f"{name}: log({worse} / {better}), {least_of}{', '.join(measures)}"


NOISE = ("Monte Carlo: theirs, from 36 batches for each of the two chains, and the rounding of tau"
         " and s (least: in standard errors)")
CLAIMS = [
    *[product_claim(name, method, measure)
      for name in PROBLEMS for measure in MEASURES for method in METHODS],
    product_claim("Chess", "normal", "tau_beta x g", g=9.0, label="tau_beta x L"),
    *[Claim(f"{name}, {method}: g", problem.g.split()[k],
            numbers(problem.g)[method] - 0.05, numbers(problem.g)[method] + 0.05,
            "rounding; by Section 3.3, g is L, or (f M + 1 - f) L for data splitting",
            KNOWN.get((name, method, "g"), ""))
      for name, problem in PROBLEMS.items() for k, method in enumerate(METHODS)],
    *[Claim(f"Simulated: s, HMC / {method}", "order", 1.0, np.inf,
            "Section 3.3.1: CPU times are substantially lower; the standard error is that of"
            " rounding") for method in METHODS[1:]],
    *[Claim(f"{name}: s / g, data splitting / HMC", "slightly larger", 1.0, np.inf,
            "Section 3.3: s is close to proportional to g, except for slightly larger than expected"
            " times for data splitting; the standard error is that of rounding",
            KNOWN.get((name, "s"), "")) for name in PROBLEMS],
    Claim("Chess: tau_beta x g, normal - data, products of the factors with g = L", "246 - 224",
          0.0, np.inf, "Section 3.3.2: the latter performs better in terms of tau_beta x g; the"
          " order of the two numbers, whatever their errors", KNOWN["Chess", "data", "normal"]),
    *[Claim(sentence(*words[:4]), "order", 0.0, np.inf, f"{words[4]}.  {NOISE}")
      for words in SENTENCES],
    *[Claim(f"Four problems: mean log(HMC / {method}), least of {', '.join(MEASURES)}", "order",
            0.0, np.inf, f"Abstract: both approaches can reduce the cost.  {NOISE}")
      for method in METHODS[1:]],
]


def log_ratio(name, better, worse, measure):
    """Return log(worse / better) of a measure, from the factors with the g of Section 3.3."""
    problem = PROBLEMS[name]
    tau, factor = measure.split(" x ")
    value, variance = 0.0, 0.0
    for method, sign in ((worse, 1), (better, -1)):
        rows = [getattr(problem, tau)]
        if factor == "s":
            rows.append(problem.s)
        else:
            value += sign * np.log(definition(problem, method))
        for row in rows:
            x = numbers(row)[method]
            value += sign * np.log(x)
            variance += (half_units(row)[method] / x) ** 2 / 3  # uniform rounding error
        variance += SE_LOG_TAU**2
    return Measured(value, variance**0.5)


def s_ratio(problem, method):
    """Return the ratio of CPU times, HMC over `method`, with the standard error of rounding."""
    s, half = numbers(problem.s), half_units(problem.s)
    relative = np.hypot(half["HMC"] / s["HMC"], half[method] / s[method]) / 3**0.5
    return Measured(s["HMC"] / s[method], relative * s["HMC"] / s[method])


def least(found):
    """Return the one with the least value in standard errors."""
    return min(found, key=lambda measured: measured.value / measured.se)


def run():
    """Return {(problem, better, worse, measure): log(worse / better)}, for all pairs."""
    return {(name, better, worse, measure): log_ratio(name, better, worse, measure)
            for name in PROBLEMS for measure in MEASURES
            for better in METHODS for worse in METHODS if better != worse}


def table(ratios):
    """Measure what the claims are about."""
    found = {}
    for name, problem in PROBLEMS.items():
        for method in METHODS:
            found[f"{name}, {method}: g"] = definition(problem, method)
            for measure in MEASURES:
                found[f"{name}, {method}: {measure}"] = interval(problem, method, measure)[0]
        faster = {method: s_ratio(problem, method) for method in METHODS[1:]}
        for method, r in faster.items():
            found[f"{name}: s, HMC / {method}"] = r
        value, se = faster["data"]
        g = definition(problem, "HMC") / definition(problem, "data")
        found[f"{name}: s / g, data splitting / HMC"] = Measured(g / value, g * se / value**2)
    chess = PROBLEMS["Chess"]
    found["Chess, normal: tau_beta x L"] = interval(chess, "normal", "tau_beta x g", 9.0)[0]
    found["Chess: tau_beta x g, normal - data, products of the factors with g = L"] = (
        found["Chess, normal: tau_beta x L"] - found["Chess, data: tau_beta x g"])
    for name, better, worse, measures, _ in SENTENCES:
        found[sentence(name, better, worse, measures)] = least(
            ratios[name, better, worse, measure] for measure in measures)
    for method in METHODS[1:]:
        pooled = []
        for measure in MEASURES:
            each = [ratios[name, method, "HMC", measure] for name in PROBLEMS]
            pooled.append(Measured(np.mean([r.value for r in each]),
                                   sum(r.se**2 for r in each) ** 0.5 / len(each)))
        found[f"Four problems: mean log(HMC / {method}), least of {', '.join(MEASURES)}"] = least(
            pooled)
    return found


def said(name, better, worse, measure):
    """Tell whether a sentence of the text has this comparison."""
    return any((name, better, worse) == words[:3] and measure in words[3] for words in SENTENCES)


def text(ratios):
    """Lay out all comparisons; * where the text has a sentence about it."""
    pairs = (("normal", "HMC"), ("data", "HMC"), ("data", "normal"))
    rows = []
    for name in PROBLEMS:
        for measure in MEASURES:
            row = [name, measure]
            for better, worse in pairs:
                r = ratios[name, better, worse, measure]
                mark = ("*" if said(name, better, worse, measure) else
                        "**" if said(name, worse, better, measure) else "")
                row.append(f"{np.exp(r.value):5.2f}  z = {r.value / r.se:5.2f} {mark}".rstrip())
            rows.append(row)
    se = 2**0.5 * SE_LOG_TAU
    needed = (1 + 4 / (np.log(1.5) / 2) ** 2) ** 3  # from se^2 = 2 x 2 / (N^(1/3) - 1)
    return (f"The log of a batch-means tau from {BATCHES} batches has the standard error"
            f" {SE_LOG_TAU:.3f}, that of a ratio {se:.3f}:\nonly a ratio above"
            f" {np.exp(2 * se):.2f} is 2 standard errors from 1.  The error falls with the sixth"
            " root of the\nnumber of iterations: a ratio of 1.5 takes"
            f" {needed:.2g} of them.  (An initial sequence estimate of\ntau = 5 from the same {N}"
            " draws has an error of about 5 %: algorithms/ess.py.)\n\nRatios of the products of"
            " the factors, g by its definition; z in standard errors.  * the text says\nthat it is"
            " above 1, ** that it is below.\n\n" + text_table(rows, ["problem", "measure",
                                *(f"{worse} / {better}" for better, worse in pairs)]))


def figure(ratios):
    """Draw the printed products over those of their factors, and the comparisons with errors."""
    notes = {("Chess", "normal", "tau x g"): "g = 13 should be 9",
             ("Chess", "normal", "tau_beta x g"): "246 = 18.9 x 13; with g = 9, 170"}
    fig, (left, right) = plt.subplots(1, 2, figsize=(12, 11), layout="constrained")
    labels, y, off = [], 0, 0
    for name, problem in PROBLEMS.items():
        for measure in MEASURES:
            for method in METHODS:
                value, low, high = interval(problem, method, measure)
                row = problem.products[measure]
                printed, half = numbers(row)[method], half_units(row)[method]
                ends = (printed - half) / high, (printed + half) / low
                wrong = not ends[0] <= 1 <= ends[1]
                off += wrong
                colour = "C3" if wrong else "k"
                left.plot(ends, (y, y), "-", color=colour, lw=1.5)
                left.plot(printed / value, y, "o", color=colour, ms=4)
                note = notes.get((name, method, measure), wrong * (
                    f"{row.split()[METHODS.index(method)]}, not {value:.3g}"))
                left.annotate(note, (ends[1], y), (4, 0), color="C3", va="center", fontsize=8,
                              textcoords="offset points")
                labels.append(f"{name}, {method}: {measure}")
                y += 1
        y += 1
        labels.append("")
    left.set_yticks(range(len(labels)), labels, fontsize=7)
    left.tick_params(axis="y", length=0)
    left.axvline(1, color="0.7", lw=1, zorder=0)
    left.set(ylim=(len(labels) - 0.5, -1), xlabel="printed product / product of the printed"
             " factors, with the interval of rounding", xlim=(0.66, 1.34),
             title=f"{off} of the {y - len(PROBLEMS)} products are not those of their factors")
    labels, y = [], 0
    for name in PROBLEMS:
        for better, worse in (("normal", "HMC"), ("data", "HMC"), ("data", "normal")):
            for measure in MEASURES:
                r = ratios[name, better, worse, measure]
                claimed = (1 if said(name, better, worse, measure) else
                           -1 if said(name, worse, better, measure) else 0)
                z = claimed * r.value / r.se
                colour = "0.6" if not claimed else "C0" if z >= 2 else "C1" if z >= 0 else "C3"
                right.errorbar(np.exp(r.value), y, fmt="o" if claimed else ".", color=colour, ms=4,
                               xerr=[[np.exp(r.value) - np.exp(r.value - 2 * r.se)],
                                     [np.exp(r.value + 2 * r.se) - np.exp(r.value)]], lw=1)
                labels.append(f"{name}, {worse} / {better}: {measure}")
                y += 1
        y += 1
        labels.append("")
    right.set_yticks(range(len(labels)), labels, fontsize=7)
    right.tick_params(axis="y", length=0)
    right.axvline(1, color="0.7", lw=1, zorder=0)
    right.set(ylim=(len(labels) - 0.5, -1), xscale="log",
              xlabel="ratio, with 2 standard errors of 36 batches",
              title="which comparisons the run length supports")
    right.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    right.minorticks_off()
    for colour, label in (("C0", "the text's order, 2 standard errors or more"),
                          ("C1", "the text's order, but fewer"),
                          ("C3", "the other order, with g = L"), ("0.6", "no sentence")):
        right.plot([], [], "o", color=colour, label=label)
    fig.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=4, fontsize=9)
    return fig


if __name__ == "__main__":
    settings = parse(__doc__)
    announce(NAME, settings, "the tables against themselves", "the numbers of Tables 1 and 2", 0.03)
    ratios = run()
    failures = finish(NAME, settings, CLAIMS, table(ratios), figure(ratios),
                      {"log ratios": [[*key, *value] for key, value in ratios.items()]},
                      text(ratios))
    raise SystemExit(failures > 0)
