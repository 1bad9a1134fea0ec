"""What Wang and Neal (2013) print: the numbers of Tables 1 to 3, settings and sentences.

Rows are the ten data sets.  Methods are the standard slice sampler, mapping to a discretizing chain
with a subset of the data or with Nystrom-Cholesky for pi*, and tempered transitions through two
subsets.  A dash is where no result is shown.
"""

from typing import NamedTuple

import numpy as np

STANDARD, SOD, NYSTROM, TEMPERED = METHODS = ("standard", "SOD", "Nystrom", "tempered")
MAPPING = (SOD, NYSTROM)
SHORT, LONG = SIZES = ("short", "long")
ISOTROPIC, ARD = KINDS = ("isotropic", "ard")


class Row(NamedTuple):
    """A data set, and what Tables 2 and 3 print for it; {method: ...} of those that are shown."""

    number: int
    size: str  # of the length scales: "short" (Table 2: "small") or "long"
    kind: str  # "isotropic" or "ard"
    p: int
    n: int
    m: dict  # cases of a subset, columns of Nystrom-Cholesky; (m_1, m_2) of tempered transitions
    seconds: dict  # CPU time per iteration, Table 3
    tau: dict  # autocorrelation time of the log likelihood, Table 3
    product: float  # T_STD, the product of both for the standard sampler, Table 2
    ratio: dict  # that of a method over T_STD, Table 2

    @property
    def methods(self):
        """The methods of which a result is shown."""
        return tuple(self.tau)

    @property
    def d(self):
        """Number of hyperparameters: sigma, eta, and one length or p of them."""
        return 3 if self.kind == ISOTROPIC else 2 + self.p


def block(text):
    """Read a table: first its columns, then a line for each data set."""
    head, *lines = text.strip().splitlines()
    columns = head.split()
    return {int(number): dict(zip(columns[1:], cells, strict=True))
            for number, *cells in (line.split() for line in lines)}


TABLES = {
    "Table 2": block("""
        #   size   type       p  n    m_SOD  m_NYS  m_TMP   STD    SOD   NYS   TMP
        1   short  isotropic  1  300  40     30     40,20   0.76   0.45  0.51  1.05
        2   short  isotropic  5  300  150    -      100,50  1.62   0.81  -     0.14
        3   short  ard        5  300  100    -      90,45   3.39   0.83  -     0.36
        4   long   isotropic  5  300  150    120    130,65  2.05   0.81  0.97  0.69
        5   long   ard        5  300  90     80     100,50  5.23   0.66  0.85  0.51
        6   short  isotropic  1  900  60     90     60,30   9.06   0.27  0.23  0.28
        7   short  isotropic  5  900  300    -      -       18.17  0.51  -     -
        8   short  ard        5  900  100    -      -       25.47  0.43  -     -
        9   long   isotropic  5  900  100    110    -       16.86  0.34  0.40  -
        10  long   ard        5  900  300    90     -       47.46  0.67  0.34  -
        """),
    "CPU time": block("""
        #   STD   SOD    NYS   TMP
        1   0.26  0.078  0.11  0.15
        2   0.28  0.14   -     0.13
        3   0.56  0.23   -     0.14
        4   0.13  0.072  0.15  0.09
        5   0.49  0.19   0.41  0.13
        6   3.10  0.53   0.83  0.61
        7   3.76  0.82   -     -
        8   7.21  1.48   -     -
        9   1.81  0.69   0.91  -
        10  5.66  1.95   1.75  -
        """),
    "Autocorrelation time": block("""
        #   STD    SOD    NYS    TMP
        1   2.90   4.32   3.53   5.40
        2   5.77   9.32   -      1.67
        3   6.09   11.98  -      8.63
        4   15.62  23.04  12.88  16.56
        5   11.16  18.07  10.89  20.37
        6   2.92   4.63   2.48   4.21
        7   4.83   11.24  -      -
        8   3.53   7.38   -      -
        9   9.33   8.27   7.40   -
        10  8.39   16.18  9.14   -
        """),
}
COLUMNS = dict(zip(METHODS, ("STD", "SOD", "NYS", "TMP"), strict=True))
CPU, TAU, RATIOS = "CPU time", "Autocorrelation time", "Table 2"

# Table 1
ETA = 5.0
LENGTHS = {(SHORT, ISOTROPIC): 0.1, (SHORT, ARD): 0.1, (LONG, ISOTROPIC): 2.0, (LONG, ARD): 2.0}

# Settings (Sections 6.1 and 6.2)
ITERATIONS = 2000
KEPT = 2 / 3  # of these, the last
R, S = 1, 1  # moves of the mark, steps in a move
SHARE = (0.10, 0.50)  # where m should be, of n
NEARLY_ALL = 0.95  # of n: what Nystrom needs where length scales are short and p = 5
FASTER = (2.0, 4.0)  # mapping, with a subset

# What the text says, and where: {key: (section, words)}
SENTENCES = {
    "needed": ("3", "a new step is simulated only when it is needed"),
    "accepts any": ("3", "if pi = pi*, T-bar will accept a move of the mark to any other step"),
    "cached": ("3", "the mark moves to where pi was computed, so no new computation is needed"),
    "all marked": ("3", "all of the marked states are valid samples of pi"),
    "could be slower": ("5.2.3", "a pi* formed by Eigen-exact could even be slower than the"
                        " original pi; their experiments confirm this"),
    "identical": ("6.1", "isotropic and ARD are identical when p = 1"),
    "r and s": ("6.2", "r = s = 1 gives the best performance, of fairly small values"),
    "once": ("6.2", "with a mapping pi only needs to be evaluated once each update"),
    "m": ("6.2", "generally speaking, m should be between 10% and 50% of n, depending on the"
          " problem"),
    "close": ("6.2", "good results with Nystrom if such a value makes pi* very close to pi"),
    "reliable": ("6.2", "Subset of Data is overall the most reliable method"),
    "almost always": ("6.2", "we can almost always find a SOD more efficient than the standard"),
    "two to four": ("6.2", "depending on the problem, mapping with such a pi* can be two to four"
                    " times faster"),
    "savings": ("6.2", "the computational savings go up when the size of the dataset increases"),
    "overhead": ("6.2", "the saving of pi* will be less than the m^3 to n^3 ratio"),
    "small m": ("6.2", "for some datasets a Nystrom pi* with a small m approximates pi well"),
    "nearly all": ("6.2", "with small length scales and p = 5, m has to be around 95% of n or"
                   " greater"),
    "as slow": ("6.2", "which makes pi* as slow as, or even slower than pi"),
    "not close": ("6.2", "no Nystrom with performance even close to standard MCMC"),
    "10%": ("6.2", "when the length scale is large, m can be as small as 10% of n"),
    "substantially": ("6.2", "for n = 900, p = 5, ARD, Nystrom substantially outperforms SOD"),
    "less satisfactory": ("6.3", "SOD and Nystrom are less satisfactory for n = 300, p = 5"),
    "tempered": ("6.3", "for all these datasets tempered transitions outperform mapping"),
    "sometimes": ("6.3", "sometimes substantially"),
    "large jumps": ("7", "with large values for r and s the acceptance rate will be low"),
    "Figure 2": ("6.3", "the advantage of tempered transitions is illustrated on dataset #2"),
}


def shown(table, number, prefix=""):
    """Return {method: text} of a row of a table, without the dashes."""
    row = TABLES[table][number]
    return {method: row[prefix + column] for method, column in COLUMNS.items()
            if row.get(prefix + column, "-") != "-"}


def made(number):
    """Return the Row of a data set."""
    row = TABLES[RATIOS][number]
    m = {method: tuple(map(int, text.split(","))) if method == TEMPERED else int(text)
         for method, text in shown(RATIOS, number, "m_").items()}
    ratio = {k: float(text) for k, text in shown(RATIOS, number).items() if k != STANDARD}
    return Row(number, row["size"], row["type"], int(row["p"]), int(row["n"]), m,
               {k: float(text) for k, text in shown(CPU, number).items()},
               {k: float(text) for k, text in shown(TAU, number).items()},
               float(row["STD"]), ratio)


ROWS = {number: made(number) for number in TABLES[RATIOS]}


def lengths(number):
    """Return the length scales of a data set: (1,), or (p,) with ARD (Table 1)."""
    row = ROWS[number]
    unit = LENGTHS[row.size, row.kind]
    return unit * np.arange(1, row.p + 1) if row.kind == ARD else np.array([unit])


def half_unit(table, number, method):
    """Return half a unit of the last printed digit."""
    text = TABLES[table][number][COLUMNS[method]]
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def bounds(table, row, method):
    """Return the least number that is rounded to what is printed, that, and the greatest."""
    value, half = float(TABLES[table][row][COLUMNS[method]]), half_unit(table, row, method)
    return value - half, value, value + half


PRODUCTS = [(row, method) for row in ROWS for method in ROWS[row].methods]


def product_of_factors(row, method):
    """Return the least value, the value and the greatest of a number of Table 2 by Table 3."""
    def product(method):
        return np.multiply(bounds(CPU, row, method), bounds(TAU, row, method)).tolist()

    low, value, high = product(STANDARD)
    if method == STANDARD:
        return low, value, high
    of_low, of_value, of_high = product(method)
    return of_low / high, of_value / value, of_high / low


def sentences():
    """Return the numbers of Table 2 of which the text speaks."""
    gain = {row: 1 / found.ratio[SOD] for row, found in ROWS.items()}
    shares = {(row, method): ROWS[row].m[method] / ROWS[row].n for row in ROWS
              for method in MAPPING if method in ROWS[row].m}
    return {
        "largest gain": max(gain.values()),
        "more efficient": sum(g > 1 for g in gain.values()),
        "grows": sum(gain[row + 5] > gain[row] for row in range(1, 6)),
        "outside": sum(not SHARE[0] <= share <= SHARE[1] for share in shares.values()),
        "long": min(shares[row, NYSTROM] for row in ROWS
                    if ROWS[row].size == LONG and (row, NYSTROM) in shares),
        "short": sum((row, NYSTROM) in shares for row in ROWS
                     if ROWS[row].size == SHORT and ROWS[row].p > 1),
        "tempered": max(ROWS[row].ratio[TEMPERED] / ROWS[row].ratio[method]
                        for row in (2, 3, 4, 5) for method in MAPPING
                        if method in ROWS[row].ratio),
        "Nystrom": ROWS[10].ratio[SOD] / ROWS[10].ratio[NYSTROM]}


def quote(key):
    """Return a sentence, in short, and where it stands, for the `paper` of a claim."""
    section, words = SENTENCES[key]
    return f"Section {section}: {words}"
