"""What Zhang and Sutton (2014) sample the posteriors of.

German credit  1000 applicants in 10 groups, by the purpose of the credit; 19 other attributes, the
               values of each numbered and standardised, after a constant: 20 columns.  The label is
               +1 for a good risk.  H. Hofmann (1994), Statlog (German Credit Data), UCI, doi
               10.24432/C5NC77, CC BY 4.0: german.data
volatility     2000 simulated returns, and the latent volatilities: StochVolData1.mat, in the
               programs of M. Girolami and B. Calderhead (2011)
Cox process    counts on a grid of 64 x 64, and the latent field: TestData64.mat, from there too.
               The paper's own 32 x 32 counts are not public; ours are simulated with the parameters
               of those programs.

The paper does not say how it coded German credit, and its counts of attributes and its largest
group are not those of the file.  Where a file is nowhere to be had, data simulated with the paper's
parameters take its place, and `note` and `name` say so.
"""

import io
import re
import sys
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from models import validate
from reproduce.harness.files import DataError, Missing, find, or_exit

PROGRAMS = ("https://raw.githubusercontent.com/emilemathieu/RiemannHamiltonianMonteCarlo/"
            "2aaa4f93dbfcce03fa247349ffe22a2ef27f3d18/code/authors_code/")
FILES = {  # name: (address, SHA-256)
    "german.data": (
        "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"),
    "StochVolData1.mat": (
        PROGRAMS + "Stoch_Vol/MALA/StochVolData1.mat",
        "0a64e608cbc28d56556b2594cc966712ab04b0c50fc71c972414c5e7c9d63e64"),
    "TestData64.mat": (
        PROGRAMS + "Log_Gaussian_Cox/MALA/TestData64.mat",
        "0c83ed33dd065805a3bdb79a76c65b0bc00bd8fe701f73651afbdb1a1d7378af"),
}
GERMAN, STAND_IN = "German credit by purpose", "simulated credit, seed "
VOLATILITY, SIMULATED = "stochastic volatility, T = 2000", "simulated volatility, T = "
COX, GRID = "Cox process, 64 x 64", "simulated Cox process, "

# cases by purpose, the number after A4 in the file; there is no A47
PURPOSES = {0: 234, 1: 103, 2: 181, 3: 280, 4: 12, 5: 22, 6: 50, 8: 9, 9: 97, 10: 12}
GOOD = 700
BETA, SIGMA, PHI = 0.65, 0.15, 0.98  # Figure 2
# of the lineage, whose sigma^2 and beta Figure 3 rounds; the expected total count is TOTAL
SIGMA2, RANGE, TOTAL = 1.91, 1 / 33, 126.0
MU = np.log(TOTAL) - SIGMA2 / 2
CREDIT_V = 0.25  # our variance of the simulated weights: the paper has no estimate of it


class Grouped(NamedTuple):
    """Cases to tell apart, in groups."""

    name: str
    X: np.ndarray  # (n, p) float64, the first column is 1
    y: np.ndarray  # (n,) float64, +1 or -1
    group: np.ndarray  # (n,) int64, a label
    note: str = ""  # a sentence, if this is not the data set that was asked for


class Latent(NamedTuple):
    """A series of returns or a grid of counts, and what it was simulated from."""

    name: str
    y: np.ndarray  # (T,) returns, or (d, d) counts, float64
    x: np.ndarray  # of the same shape: the latent values
    note: str = ""  # as above


def german_credit(folder=None, fallback=True):
    """Return German credit: X (1000, 20), y, and the purpose of each case as its group.

    folder   : str or Path   the first place to look for german.data
    fallback : bool          give simulated_credit() with a note if it is nowhere; else Missing

    A file with the wrong checksum, or other counts, raises DataError in any case.
    """
    content = content_of("german.data", folder, fallback)
    if content is None:
        return simulated_credit()._replace(note="German credit is not available: simulated credit")
    rows = np.array([line.split() for line in content.decode().splitlines()])
    purpose = np.array([int(code.removeprefix("A4")) for code in rows[:, 3]])
    values = np.column_stack([
        [int(value.removeprefix(f"A{k}")) for value in rows[:, k - 1]] for k in range(1, 21)
        if k != 4])  # as the file numbers attributes and their values: A143 is value 3 of 14
    y = np.where(rows[:, 20] == "1", 1.0, -1.0)
    found = dict(zip(*map(np.ndarray.tolist, np.unique(purpose, return_counts=True)), strict=True))
    if (found, np.sum(y == 1)) != (PURPOSES, GOOD):
        raise DataError(f"German credit has {np.sum(y == 1)} good risks and groups of {found},"
                        f" expected {GOOD} and {PURPOSES}")
    return Grouped(GERMAN, standardise(values), y, purpose)


def attributes(folder=None):
    """Return how many attributes of german.data are categorical, coded A..., and how many numeric.

    Raises DataError if there is no file, or another one.
    """
    first = content_of("german.data", folder, False).decode().splitlines()[0].split()[:20]
    categorical = sum(value.startswith("A") for value in first)
    return categorical, len(first) - categorical


def standardise(values):
    """Return a column of ones, and the columns with mean 0 and standard deviation 1."""
    values = np.asarray(values, float)
    return np.column_stack([np.ones(len(values)), (values - values.mean(0)) / values.std(0)])


def simulated_credit(seed=1):
    """Return 1000 cases in the groups of German credit, weights of a group ~ N(0, CREDIT_V I)."""
    rng = np.random.default_rng(seed)
    group = np.repeat(list(PURPOSES), list(PURPOSES.values()))
    X = standardise(rng.standard_normal((group.size, 19)))
    w = {g: CREDIT_V**0.5 * rng.standard_normal(20) for g in PURPOSES}
    p = expit([x @ w[g] for x, g in zip(X, group.tolist(), strict=True)])
    return Grouped(f"{STAND_IN}{seed}", X, np.where(rng.random(p.size) < p, 1.0, -1.0), group)


def volatility(folder=None, fallback=True):
    """Return the 2000 returns of StochVolData1.mat, and the true volatilities.

    Arguments and errors as for german_credit; simulated_volatility() takes their place.
    """
    content = content_of("StochVolData1.mat", folder, fallback)
    if content is None:
        return simulated_volatility()._replace(
            note="the volatility data are not available: simulated with the same parameters")
    found = matlab(content)
    truth = [float(found[name].item()) for name in ("beta", "sigma", "phi")]
    if truth != [BETA, SIGMA, PHI]:
        raise DataError(f"StochVolData1.mat is of (beta, sigma, phi) = {truth}, expected"
                        f" {[BETA, SIGMA, PHI]}")
    return Latent(VOLATILITY, *(series(found[name].ravel()) for name in ("y", "Truex")))


def simulated_volatility(T=2000, seed=1):
    """Return T returns y_t = beta e^(x_t / 2) eps_t of a stationary x, with the paper's parameters.

    x_1 ~ N(0, sigma^2 / (1 - phi^2)), x_{t+1} = phi x_t + N(0, sigma^2), eps_t ~ N(0, 1).
    """
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((2, validate.count("T", T)))
    x = np.empty(T)
    x[0] = SIGMA / (1 - PHI**2) ** 0.5 * z[0, 0]
    for t in range(1, T):
        x[t] = PHI * x[t - 1] + SIGMA * z[0, t]
    return Latent(f"{SIMULATED}{T}, seed {seed}", BETA * np.exp(x / 2) * z[1], x)


def cox_64(folder=None, fallback=True):
    """Return the 64 x 64 counts of TestData64.mat, and the true field.

    Arguments and errors as for german_credit; simulated_cox(64) takes their place.
    """
    content = content_of("TestData64.mat", folder, fallback)
    if content is None:
        return simulated_cox(64)._replace(
            note="the Cox process's data are not available: simulated with the same parameters")
    found = matlab(content)
    # columns one after the other, as Matlab has them
    return Latent(COX, *(series(found[name].reshape(64, 64, order="F")) for name in ("Y", "X")))


def simulated_cox(d=32, seed=1, distance="unit"):
    """Return d x d counts and their field: y ~ Poisson(e^x / d^2), x a Gaussian process.

    Its mean is MU and its covariance SIGMA2 exp(-distance / (RANGE d)).  `distance` is that of
    places numpy.linspace(0, 1, d) in both directions, "unit", or of pixels, "pixel": the
    programs of the lineage have the first, the paper prints the second.
    """
    if distance not in ("unit", "pixel"):
        raise ValueError(f"distance must be 'unit' or 'pixel', not {distance!r}")
    rng = np.random.default_rng(seed)
    place = np.linspace(0, 1, validate.count("d", d)) if distance == "unit" else np.arange(d)
    row, column = (each.ravel() for each in np.meshgrid(place, place, indexing="ij"))
    far = np.hypot(row[:, None] - row, column[:, None] - column)
    root = np.linalg.cholesky(SIGMA2 * np.exp(-far / (RANGE * d)))
    x = MU + (root @ rng.standard_normal(d * d)).reshape(d, d)
    return Latent(f"{GRID}{d} x {d}, {distance}, seed {seed}",
                  rng.poisson(np.exp(x) / d**2).astype(float), x)


def load(name):
    """Return the data set that has this name: what a replicate calls, in its own process."""
    if found := re.fullmatch(rf"{STAND_IN}(\d+)", name):
        return simulated_credit(int(found[1]))
    if found := re.fullmatch(rf"{SIMULATED}(\d+), seed (\d+)", name):
        return simulated_volatility(int(found[1]), int(found[2]))
    if found := re.fullmatch(rf"{GRID}(\d+) x \1, (unit|pixel), seed (\d+)", name):
        return simulated_cox(int(found[1]), int(found[3]), found[2])
    known = {GERMAN: german_credit, VOLATILITY: volatility, COX: cox_64}
    if name not in known:
        simulated = [f"{STAND_IN}1", f"{SIMULATED}2000, seed 1", f"{GRID}32 x 32, unit, seed 1"]
        raise ValueError(f"name must be one of {[*known, *simulated]} (or of another size, distance"
                         f" or seed), not {name!r}")
    return known[name](fallback=False)


class Cases(NamedTuple):
    """The data sets of several problems."""

    name: str
    names: dict  # problem -> name of its data set
    note: str = ""


def three_problems(folder, cox):
    """Return the Cases of German credit, the volatilities and a named Cox process, or exit."""
    found = {"credit": or_exit(german_credit, folder), "volatility": or_exit(volatility, folder),
             "Cox": load(cox)}
    return Cases("; ".join(data.name for data in found.values()),
                 {name: data.name for name, data in found.items()},
                 "; ".join(data.note for data in found.values() if data.note))


def content_of(name, folder, fallback):
    """Return the bytes of a file, or None if it is nowhere and there is a `fallback`."""
    try:
        return find(name, folder, *FILES[name])
    except Missing as error:
        if not fallback:
            raise
        print(error, file=sys.stderr)
        return None


def matlab(content):
    """Return {name: array} of a .mat file."""
    from scipy.io import loadmat

    return loadmat(io.BytesIO(content))


def series(values):
    """Return an array as C-ordered float64."""
    return np.ascontiguousarray(values, float)
