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
"""

import gzip
import hashlib
import io
import os
import sys
import tempfile
import threading
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

DIGITS = Path(__file__).resolve().parents[1] / "models" / "digits_3v5.npz"
SITE = "https://hastie.su.domains/ElemStatLearn/datasets/"
SHA256 = {
    "zip.train.gz": "66ebf231ab51f2cf6ac1a892d0f98ccffee1079d7a5db638c1f11f366046ca16",
    "zip.test.gz": "8dacc3c6e136af6c3488de9e5113a7daf140c8c2f1f0b61c54ee02f03f1a962f",
}
# of the 9298 digits in the order of the resampled data set, written without spaces
SHA256_LABELS = "02c69e8919c803e507db50a8d98d58d23a25b61e1ce29270b69b2e67cec4fd31"
COUNTS = {"training": (406, 361), "test": (418, 355)}  # threes, fives

PROBE = 5.0  # s until a site counts as silent
TIMEOUT = 2.0  # s for each connection and each read after that; 5 + 2 + 2 < 10


class Data(NamedTuple):
    """Cases to tell apart; `name` identifies the data set, load(name) gives it again."""

    name: str
    X: np.ndarray  # (n, p) float64, pixels in [-1, 1]
    y: np.ndarray  # (n,)   float64, +1 for a three and -1 for a five; all threes come first
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


def load(name):
    """Return the data set that has this name: what a replicate calls, in its own process."""
    known = {"optical digits 3 vs 5": digits_3v5,
             "USPS 3 vs 5, training": lambda: usps_3v5(fallback=False),
             "USPS 3 vs 5, test": usps_3v5_test}
    if name not in known:
        raise ValueError(f"name must be one of {sorted(known)}, not {name!r}")
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
    digit, X = usps(*(find(name, folder) for name in SHA256))
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


# Where the files are


class Missing(DataError):
    """A file that is nowhere to be had."""


def find(name, folder=None):
    """Return the bytes of the file `name` from the first place that has it."""
    import pooch

    store = Path(pooch.os_cache("mirrormc"))
    given = [folder, *os.environ.get("PAPERS_DATA", "").split(os.pathsep)]
    given = list(dict.fromkeys(Path(place) for place in given if place))
    for place in [*given, store]:
        if os.path.exists(place / name):
            return verified(place / name)
        if place in given:
            print(f"{place} has no {name}: looking elsewhere", file=sys.stderr)
    try:
        return download(name, store)
    except Exception as error:  # a network has too many ways to fail
        raise Missing(
            f"{name} is not in {', '.join(map(str, [*given, store]))} and cannot be downloaded from"
            f" {SITE} ({error}): download it on another machine, and say --data DIR with the"
            " folder that holds it") from None


def verified(path):
    """Return the bytes of the file, if they have the checksum of the original."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[path.name]:
        raise DataError(f"{path} is damaged or another file: its SHA-256 is {found}, expected"
                        f" {SHA256[path.name]}; replace it by {SITE}{path.name}, or delete it")
    return content


def download(name, store):
    """Download the file `name` into the cache folder `store`, and return its bytes."""
    import pooch

    url = SITE + name
    print(f"looking for {url} (a silent network costs at most 10 s)", file=sys.stderr, flush=True)
    probe(url)
    with tempfile.TemporaryDirectory() as elsewhere:
        try:
            store.mkdir(parents=True, exist_ok=True)
            folder = store if os.access(store, os.W_OK) else elsewhere
        except OSError:
            folder = elsewhere
        return verified(Path(pooch.retrieve(
            url, SHA256[name], name, folder, downloader=pooch.HTTPDownloader(timeout=TIMEOUT))))


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
