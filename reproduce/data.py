"""The data sets, as arrays, from the first place that has them.

USPS    Handwritten threes and fives of 16 x 16 pixels, the task of Kuss and Rasmussen (2005, JMLR
        6, 1679-1704) that Paquet and Fraccaro use.  It is rebuilt from the two original files,
        zip.train.gz and zip.test.gz, looked for in --data DIR, in $PAPERS_DATA (a folder, or
        several as in $PATH), in the user's cache, and at the site of The Elements of Statistical
        Learning (Hastie, Tibshirani and Friedman).  Every file must have the checksum below;
        every label must be as in the resampled data set.
digits  Handwritten threes and fives of 8 x 8 pixels: the embedded data set, for machines where
        USPS is not to be had.  E. Alpaydin and C. Kaynak (1998), Optical Recognition of
        Handwritten Digits, UCI Machine Learning Repository, doi 10.24432/C50P49, CC BY 4.0.  It
        was made from scikit-learn's copy, whose pixels are integers from 0 to 16:
            d = sklearn.datasets.load_digits()
            k = np.r_[np.flatnonzero(d.target == 3), np.flatnonzero(d.target == 5)]
            np.savez_compressed("models/digits_3v5.npz", digit=d.target[k].astype(np.uint8),
                                pixels=d.data[k].astype(np.uint8))

What Shahbaba, Lan, Johnson and Neal (2014) classify by logistic regression; encodings and classes
are those of the authors' own programs:

simulated  10000 cases of 100 covariates: R's generator, emulated, gives the authors' own numbers.
StatLog    4435 pixels of a satellite image, 36 attributes: cotton crop or not.  A. Srinivasan
           (1993), Statlog (Landsat Satellite), UCI, doi 10.24432/C55887, CC BY 4.0: sat.trn
CTG        2126 cardiotocograms, 21 attributes: pathologic or not.  D. Campos and J. Bernardes
           (2010), Cardiotocography, UCI, doi 10.24432/C51S4N, CC BY 4.0: CTG.xls
Chess      3196 positions of King-Rook against King-Pawn, 36 attributes: White can win or not.
           A. Shapiro (1989), Chess (King-Rook vs. King-Pawn), UCI, doi 10.24432/C5DK5C, CC BY 4.0:
           kr-vs-kp.data

The three files, plain or with .gz after the name, are looked for in the same places as those of
USPS, the last of which is UCI's site.  The checksum is that of the plain file.
"""

import gzip
import hashlib
import io
import os
import re
import sys
import tempfile
import threading
import urllib.request
import zlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from models import validate

DIGITS = Path(__file__).resolve().parents[1] / "models" / "digits_3v5.npz"
SITE = "https://hastie.su.domains/ElemStatLearn/datasets/"
SHA256 = {
    "zip.train.gz": "66ebf231ab51f2cf6ac1a892d0f98ccffee1079d7a5db638c1f11f366046ca16",
    "zip.test.gz": "8dacc3c6e136af6c3488de9e5113a7daf140c8c2f1f0b61c54ee02f03f1a962f",
}
# of the 9298 digits in the order of the resampled data set, written without spaces
SHA256_LABELS = "02c69e8919c803e507db50a8d98d58d23a25b61e1ce29270b69b2e67cec4fd31"
COUNTS = {"training": (406, 361), "test": (418, 355)}  # threes, fives

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

PROBE = 5.0  # s until a site counts as silent
TIMEOUT = 2.0  # s for each connection and each read after that; 5 + 2 + 2 < 10


class Data(NamedTuple):
    """Cases to tell apart; `name` identifies the data set, load(name) gives it again."""

    name: str
    X: np.ndarray  # (n, p) float64; of a digit, pixels in [-1, 1]
    # (n,) float64; digits: +1 for a three and -1 for a five, all threes come first; else 1 or 0
    y: np.ndarray
    note: str = ""  # a sentence, if this is not the data set that was asked for


class DataError(Exception):
    """A data set that cannot be had, or a file that is not what it should be."""


def usps_3v5(folder=None, fallback=True):
    """Return the 767 training cases, with 256 pixels.

    Parameters
    ----------
    folder   : str or Path   the first place to look for the two files
    fallback : bool          give digits_3v5() with a note if they are nowhere; else DataError

    A file with the wrong checksum raises DataError in any case.
    """
    try:
        return resampled("training", folder)
    except Missing as error:
        if not fallback:
            raise
        print(error, file=sys.stderr)
        return digits_3v5()._replace(note="USPS 3 vs 5 is not available: embedded optical digits")


def usps_3v5_test(folder=None):
    """Return the 773 test cases, with 256 pixels; as usps_3v5, but nothing takes their place."""
    return resampled("test", folder)


def digits_3v5():
    """Return the 365 embedded cases, with 64 pixels."""
    with np.load(DIGITS) as file:
        return Data("optical digits 3 vs 5", file["pixels"] / 8.0 - 1.0,
                    np.where(file["digit"] == 3, 1.0, -1.0))


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
    """Return the 2126 cases of CTG, 21 attributes z-scored; y = 1 for pathologic (NSP 3).

    As statlog(); the file is a spreadsheet, CTG.xls.
    """
    cases = spreadsheet(uci("CTG.xls", folder))
    return classes("CTG", z_scored(cases[:, :21]), cases[:, -1] == 3)


def spreadsheet(content):
    """Return the (2126, 22) numbers of CTG.xls: the attributes, from LB to Tendency, and NSP."""
    import xlrd

    sheet = xlrd.open_workbook(file_contents=content, logfile=io.StringIO()).sheet_by_name("Data")
    return np.array([sheet.row_values(row, 10, 31) + sheet.row_values(row, 45, 46)
                     for row in range(2, 2128)])  # two lines of header, and totals at the end


def chess(folder=None, standardise=False):
    """Return the 3196 cases of Chess, 36 attributes; y = 1 if White can win.

    The values of an attribute, in alphabetical order, are 0, 1 (and 2 for the one that has three).
    The paper says that "numerical variables" were standardised; the authors' program does not
    do it here, so neither do we unless `standardise`.  Otherwise as statlog().
    """
    text = uci("kr-vs-kp.data", folder).decode()
    cases = np.array([line.split(",") for line in text.splitlines()])
    X = np.column_stack([np.unique(column, return_inverse=True)[1] for column in cases[:, :-1].T])
    found = classes("Chess", X.astype(float, order="C"), cases[:, -1] == "won")
    return found._replace(name="Chess, standardised", X=z_scored(found.X)) if standardise else found


def threes_and_fives(name):
    """Return the set of digits that has this name."""
    return {"optical digits 3 vs 5": digits_3v5,
            "USPS 3 vs 5, training": lambda: usps_3v5(fallback=False),
            "USPS 3 vs 5, test": usps_3v5_test}[name]()


def load(name):
    """Return the data set that has this name: what a replicate calls, in its own process.

    What a replicate depends on is found by name (fingerprint.py), so those of digits alone had
    better call threes_and_fives: another data set here would not make them stale.
    """
    if name.endswith("3 vs 5") or " 3 vs 5, " in name:
        return threes_and_fives(name)
    if found := re.fullmatch(rf"{SIMULATED}(\d+)", name):
        return simulated_logistic(int(found[1]))
    if found := re.fullmatch(r"illustrative data of slope ([\d.]+), seed (\d+)", name):
        return illustrative(int(found[2]), float(found[1]))
    known = {"StatLog": statlog, "CTG": ctg, "Chess": chess,
             "Chess, standardised": lambda: chess(standardise=True)}
    if name not in known:
        own = [*sorted(known), SIMULATED + "2011", "illustrative data of slope 5, seed 1"]
        raise ValueError(f"name must be one of {own} (or another slope or seed), or of the digits,"
                         f" not {name!r}")
    return known[name]()


def or_exit(function, *arguments):
    """Return function(*arguments), or exit with status 2 and a sentence if there is no data."""
    try:
        return function(*arguments)
    except DataError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


# The task of Kuss and Rasmussen


def resampled(part, folder):
    """Return the "training" or "test" half: its threes, then its fives."""
    digit, X = usps(*(find(name, folder, SITE + name, SHA256[name]) for name in SHA256))
    half = slice(0, 4649) if part == "training" else slice(4649, None)
    digit, X = digit[half], X[half]
    three, five = X[digit == 3], X[digit == 5]
    if (len(three), len(five)) != COUNTS[part]:
        raise DataError(f"the {part} half of USPS has {len(three)} threes and {len(five)} fives,"
                        f" expected {COUNTS[part]}")
    return Data(f"USPS 3 vs 5, {part}", np.vstack([three, five]),
                np.repeat([1.0, -1.0], COUNTS[part]))


@lru_cache(1)
def usps(train, test):
    """Return the (9298,) digits and (9298, 256) pixels of the resampled data set.

    It is the original one, training file before test file, but shuffled, by sorting numbers of
    the generator of Park and Miller, and smoothed by a Gaussian filter.
    """
    cases = np.vstack([np.loadtxt(io.BytesIO(gzip.decompress(file))) for file in (train, test)])
    cases = cases[np.argsort(park_miller(27 * 2**16, len(cases)))]
    digit = cases[:, 0].astype(int)
    found = hashlib.sha256("".join(map(str, digit)).encode()).hexdigest()
    if found != SHA256_LABELS:
        raise DataError(f"the digits of USPS are not in the order of the resampled data set: their"
                        f" SHA-256 is {found}, expected {SHA256_LABELS}")
    images = cases[:, 1:].reshape(-1, 16, 16)
    from scipy.ndimage import gaussian_filter

    # 7 x 7 weights of deviation 0.75 pixels; beyond the frame is background
    smooth = gaussian_filter(images, 0.75, axes=(1, 2), radius=3, mode="constant", cval=-1.0)
    return digit, smooth.reshape(-1, 256)


def park_miller(state, n):
    """List the n states that follow `state` in the generator of Park and Miller (1988)."""
    states = []
    for _ in range(n):
        state = 16807 * state % (2**31 - 1)
        states.append(state)
    return states


# What logistic regression classifies


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


# Where the files are


class Missing(DataError):
    """A file that is nowhere to be had."""


def find(name, folder, url, checksum, packed=False):
    """Return the bytes of the file `name` from the first place that has it.

    `packed` if it may also be there compressed, as `name`.gz.
    """
    import pooch

    store = Path(pooch.os_cache("mirrormc"))
    given = [folder, *os.environ.get("PAPERS_DATA", "").split(os.pathsep)]
    given = list(dict.fromkeys(Path(place) for place in given if place))
    for place in [*given, store]:
        for path in (place / name, place / f"{name}.gz")[: 1 + packed]:
            if os.path.exists(path):
                return verified(path, url, checksum, unpack=path.name != name)
        if place in given:
            print(f"{place} has no {name}: looking elsewhere", file=sys.stderr)
    places = ", ".join(map(str, [*given, store]))
    try:
        return download(name, store, url, checksum)
    except Exception as error:  # a network has too many ways to fail
        raise Missing(
            f"{name} is not in {places} and cannot be downloaded from"
            f" {url.removesuffix(name)} ({error}): download it on another machine, and say"
            " --data DIR with the folder that holds it") from None


def verified(path, url, checksum, unpack=False):
    """Return the bytes of the file, if they have the checksum of the original; `unpack` first."""
    try:
        content = path.read_bytes()
        if unpack:
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {reason}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != checksum:
        raise DataError(f"{path} is damaged or another file: its SHA-256{' (unpacked)' * unpack} is"
                        f" {found}, expected {checksum};"
                        f" replace it by {url}, or delete it")
    return content


def download(name, store, url, checksum):
    """Download the file `name` into the cache folder `store`, and return its bytes."""
    import pooch

    print(f"looking for {url} (a silent network costs at most 10 s)", file=sys.stderr, flush=True)
    probe(url)
    with tempfile.TemporaryDirectory() as elsewhere:
        try:
            store.mkdir(parents=True, exist_ok=True)
            folder = store if os.access(store, os.W_OK) else elsewhere
        except OSError:
            folder = elsewhere
        return verified(Path(pooch.retrieve(
            url, checksum, name, folder, downloader=pooch.HTTPDownloader(timeout=TIMEOUT))),
            url, checksum)


def probe(url):
    """Raise an exception unless `url` answers within PROBE seconds.

    In a thread, because a look-up of the host's name that hangs heeds no timeout.
    """
    outcome = [TimeoutError(f"no answer in {PROBE:.0f} s")]

    def ask():
        try:
            with urllib.request.urlopen(url, timeout=PROBE):  # reads no further than the header
                outcome[0] = None
        except Exception as error:
            outcome[0] = error

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PROBE)
    if outcome[0]:
        raise outcome[0]
