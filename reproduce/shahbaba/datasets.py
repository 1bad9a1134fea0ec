"""What Shahbaba, Lan, Johnson and Neal (2014) classify by logistic regression.

Encodings and classes are those of the authors' own programs:

simulated  10000 cases of 100 covariates: R's generator, emulated, gives the authors' own numbers.
StatLog    4435 pixels of a satellite image, 36 attributes: cotton crop or not.  A. Srinivasan
           (1993), Statlog (Landsat Satellite), UCI, doi 10.24432/C55887, CC BY 4.0: sat.trn
CTG        2126 cardiotocograms, 21 attributes: pathologic or not.  D. Campos and J. Bernardes
           (2010), Cardiotocography, UCI, doi 10.24432/C51S4N, CC BY 4.0: CTG.xls
Chess      3196 positions of King-Rook against King-Pawn, 36 attributes: White can win or not.
           A. Shapiro (1989), Chess (King-Rook vs. King-Pawn), UCI, doi 10.24432/C5DK5C, CC BY 4.0:
           kr-vs-kp.data

The three files, plain or with .gz after the name, come from UCI's site.  The checksum is that of
the plain file.  Where they are nowhere to be had a script takes simulated data, at the smoke budget
alone, and says so; no claim is made of these.
"""

import io
import re
import sys
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from models import validate
from reproduce.harness.files import Data, DataError, Missing, find, or_exit

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
UCI_FILES = {  # name: (address, SHA-256)
    "sat.trn": (UCI + "statlog/satimage/sat.trn",
                "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613"),
    "CTG.xls": (UCI + "00193/CTG.xls",
                "d6aa62e82625e59f9d5b05bc8fc52af9ea67bdf2a23f1faca8511d5618fcb421"),
    "kr-vs-kp.data": (UCI + "chess/king-rook-vs-king-pawn/kr-vs-kp.data",
                      "f47f7d920e117ab5764d3adcd2f6446ca596290261756ecd35c81b12fcaec061"),
}
SIMULATED = "simulated logistic data, seed "
SHAPES = {"StatLog": (4435, 36), "CTG": (2126, 21), "Chess": (3196, 36)}  # cases, attributes
POSITIVE = {"StatLog": 479, "CTG": 176, "Chess": 1669}  # cases of class 1
COUNTS = {"StatLog": [1072, 479, 961, 415, 470, 1038], "CTG": [1655, 295, 176]}  # of all classes
STAND_IN = "illustrative data of slope 5, seed "


def simulated_logistic(seed=2011):
    """Return the simulated data set of Split HMC, Section 3.3.1; seed 2011 is the paper's own.

    Parameters
    ----------
    seed : int, 0 to 2^31 - 1   for R's generator.  It draws alpha and 100 coefficients beta from
                                N(0, 1); X column by column, of standard deviations 5 (5 times),
                                1 (5), 0.2 (90); then y, of probability logit^-1(alpha + X beta)

    X is (10000, 100); y is 1 or 0.
    """
    r = R(seed)
    theta = r.normal(101)
    X = np.ascontiguousarray(r.normal(10_000 * 100).reshape(100, 10_000).T)
    X *= np.repeat([5.0, 1.0, 0.2], [5, 5, 90])
    return Data(f"{SIMULATED}{seed}", X, r.bernoulli(expit(theta[0] + X @ theta[1:])))


def illustrative(seed=1, slope=5.0):
    """Return 100 cases with 2 covariates: a stand-in for those of Figures 2 to 4 of Split HMC.

    The paper does not say how it made them.  Ours are x ~ N(0, I), alpha ~ N(0, 1), beta of length
    `slope` in a random direction, P(y = 1) = logit^-1(alpha + x' beta); `seed` is NumPy's.
    """
    rng = np.random.default_rng(seed)
    alpha, angle = rng.standard_normal(), 2 * np.pi * rng.random()
    X = rng.standard_normal((100, 2))
    p = expit(alpha + slope * (X @ [np.cos(angle), np.sin(angle)]))
    return Data(f"illustrative data of slope {slope:g}, seed {seed}", X,
                (rng.random(100) < p).astype(float))


def statlog(folder=None):
    """Return the 4435 training cases of StatLog, 36 attributes z-scored; y = 1 for cotton crop.

    `folder` is the first place to look; DataError if the file is nowhere or another one.
    """
    cases = np.loadtxt(io.BytesIO(uci("sat.trn", folder)))
    return classes("StatLog", z_scored(cases[:, :-1]), cases[:, -1] == 2)


def ctg(folder=None):
    """Return the 2126 cases of CTG, 21 attributes z-scored; y = 1 for pathologic.  As statlog()."""
    cases = spreadsheet(uci("CTG.xls", folder))
    return classes("CTG", z_scored(cases[:, :21]), cases[:, -1] == 3)  # NSP 3


def spreadsheet(content):
    """Return the (2126, 22) numbers of CTG.xls: the attributes, from LB to Tendency, and NSP."""
    import xlrd

    sheet = xlrd.open_workbook(file_contents=content, logfile=io.StringIO()).sheet_by_name("Data")
    return np.array([sheet.row_values(row, 10, 31) + sheet.row_values(row, 45, 46)
                     for row in range(2, 2128)])  # two lines of header, and totals at the end


def chess(folder=None, standardise=False):
    """Return the 3196 cases of Chess, 36 attributes; y = 1 if White can win.

    The values of an attribute, in alphabetical order, are 0, 1 (and 2 for the one that has three);
    z-scored if `standardise`, which the authors' program does not do here.  Otherwise as statlog().
    """
    text = uci("kr-vs-kp.data", folder).decode()
    cases = np.array([line.split(",") for line in text.splitlines()])
    X = np.column_stack([np.unique(column, return_inverse=True)[1] for column in cases[:, :-1].T])
    found = classes("Chess", X.astype(float, order="C"), cases[:, -1] == "won")
    return found._replace(name="Chess, standardised", X=z_scored(found.X)) if standardise else found


def all_classes(name, folder=None):
    """Return StatLog or CTG with all classes of its file, in their order, as y = 0 to K - 1.

    Six kinds of soil (the file has no class 6); normal, suspect or pathologic.  As statlog().
    """
    if name == "StatLog":
        found, labels = statlog(folder), np.loadtxt(io.BytesIO(uci("sat.trn", folder)))[:, -1]
    else:
        found, labels = ctg(folder), spreadsheet(uci("CTG.xls", folder))[:, -1]
    y = np.unique(labels, return_inverse=True)[1]
    if np.bincount(y).tolist() != COUNTS[name]:
        raise DataError(f"{name} has {np.bincount(y).tolist()} cases of its classes, expected"
                        f" {COUNTS[name]}")
    return found._replace(name=f"{name}, {len(COUNTS[name])} classes", y=y.astype(float))


class StandIn(NamedTuple):
    """What takes the place of UCI's files."""

    name: str
    note: str = "UCI's files are not available"


def names(settings, stand_in, *data):
    """Return the names of data sets; of `stand_in`, at the smoke budget, if a file is nowhere.

    data : names, and functions that get --data and return a Data

    A StandIn has a note, so that no claim is made; other budgets have no such thing, but Missing.
    """
    try:
        return "; ".join(each if isinstance(each, str) else each(settings.data).name
                         for each in data)
    except Missing as error:
        if settings.budget != "smoke":
            raise
        print(error, file=sys.stderr)
        return StandIn(stand_in)


def finder(stand_in, *data):
    """Return the `cases` of a script, which finds its data before anything else: see names()."""
    return lambda settings: or_exit(names, settings, stand_in, *data)


def load(name):
    """Return the data set that has this name: what a replicate calls, in its own process."""
    if found := re.fullmatch(rf"{SIMULATED}(\d+)", name):
        return simulated_logistic(int(found[1]))
    if found := re.fullmatch(r"illustrative data of slope ([\d.]+), seed (\d+)", name):
        return illustrative(int(found[2]), float(found[1]))
    known = {"StatLog": statlog, "CTG": ctg, "Chess": chess,
             "Chess, standardised": lambda: chess(standardise=True)}
    if name not in known:
        own = [*sorted(known), SIMULATED + "2011", "illustrative data of slope 5, seed 1"]
        raise ValueError(f"name must be one of {own} (or another slope or seed), not {name!r}")
    return known[name]()


class R:
    """The random numbers of R's default generator after set.seed(seed).

    Mersenne Twister, with normals by inversion: the R sources RNG.c, snorm.c and rbinom.c.
    """

    def __init__(self, seed):
        """Scramble `seed`, an int from 0 to 2^31 - 1, into the generator's state."""
        if validate.count("seed", seed, 0) >= 2**31:
            raise ValueError(f"seed must be below 2^31, not {seed}")
        states = []
        for _ in range(50 + 625):
            seed = (69069 * seed + 1) % 2**32
            states.append(seed)
        self.bits = np.random.MT19937()
        # the value before the last 624 is the position in R's state, which R sets to 624
        self.bits.state = {"bit_generator": "MT19937", "state": {
            "key": np.array(states[51:], np.uint32), "pos": 624}}

    def uniform(self, n):
        """Draw n numbers as runif does, from the open interval (0, 1)."""
        tiny = 0.5 * 2.328306437080797e-10
        return np.clip(self.bits.random_raw(n) * 2.3283064365386963e-10, tiny, 1 - tiny)

    def normal(self, n):
        """Draw n numbers as rnorm does: two uniforms make one of 59 bits, and that a normal."""
        high, low = self.uniform(2 * n).reshape(n, 2).T
        return ndtri((np.floor(2**27 * high) + low) / 2**27)

    def bernoulli(self, p):
        """Draw 0.0 or 1.0 as rbinom(, 1, p) does; nothing is drawn where p is 0 or 1."""
        u = np.zeros(p.size)
        inside = (p > 0) & (p < 1)
        u[inside] = self.uniform(np.count_nonzero(inside))
        return np.where(p <= 0.5, u >= 1 - p, u < p).astype(float)


def z_scored(X):
    """Return X with columns of mean 0 and standard deviation 1, of divisor n - 1, as R's scale."""
    return (X - X.mean(0)) / X.std(0, ddof=1)


def classes(name, X, positive):
    """Return the data set, if it has as many cases of either class as it should."""
    found = (*X.shape, np.count_nonzero(positive))
    if found != (*SHAPES[name], POSITIVE[name]):
        raise DataError(f"{name} has {found[0]} cases, {found[1]} attributes and {found[2]} cases"
                        f" of class 1, expected {SHAPES[name]} and {POSITIVE[name]}")
    return Data(name, X, positive.astype(float))


def uci(name, folder):
    """Return the bytes of a file of the UCI repository."""
    return find(name, folder, *UCI_FILES[name], packed=True)
