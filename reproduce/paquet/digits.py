"""Handwritten threes and fives: the task of Kuss and Rasmussen (2005, JMLR 6, 1679-1704).

USPS    16 x 16 pixels, the data set of Paquet and Fraccaro.  It is rebuilt from the two original
        files, zip.train.gz and zip.test.gz, of the site of The Elements of Statistical Learning
        (Hastie, Tibshirani and Friedman); every label must be as in the resampled data set.
digits  8 x 8 pixels: the embedded data set, for machines where USPS is not to be had.  E. Alpaydin
        and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning
        Repository, doi 10.24432/C50P49, CC BY 4.0.  It was made from scikit-learn's copy, whose
        pixels are integers from 0 to 16:
            d = sklearn.datasets.load_digits()
            k = np.r_[np.flatnonzero(d.target == 3), np.flatnonzero(d.target == 5)]
            np.savez_compressed("models/digits_3v5.npz", digit=d.target[k].astype(np.uint8),
                                pixels=d.data[k].astype(np.uint8))
"""

import gzip
import hashlib
import io
import sys
from functools import lru_cache

import numpy as np

from reproduce.harness.files import Data, DataError, Missing, find
from reproduce.harness.fingerprint import ROOT

DIGITS = ROOT / "models" / "digits_3v5.npz"
SITE = "https://hastie.su.domains/ElemStatLearn/datasets/"
SHA256 = {
    "zip.train.gz": "66ebf231ab51f2cf6ac1a892d0f98ccffee1079d7a5db638c1f11f366046ca16",
    "zip.test.gz": "8dacc3c6e136af6c3488de9e5113a7daf140c8c2f1f0b61c54ee02f03f1a962f",
}
# of the 9298 digits in the order of the resampled data set, written without spaces
SHA256_LABELS = "02c69e8919c803e507db50a8d98d58d23a25b61e1ce29270b69b2e67cec4fd31"
COUNTS = {"training": (406, 361), "test": (418, 355)}  # threes, fives


def usps_3v5(folder=None, fallback=True):
    """Return the 767 training cases, with 256 pixels.

    folder   : str or Path   the first place to look for the two files
    fallback : bool          give digits_3v5() with a note if they are nowhere; else DataError
    """
    try:
        return resample("training", folder)
    except Missing as error:
        if not fallback:
            raise
        print(error, file=sys.stderr)
        return digits_3v5()._replace(note="USPS 3 vs 5 is not available: embedded optical digits")


def usps_3v5_test(folder=None):
    """Return the 773 test cases, with 256 pixels; as usps_3v5, but nothing takes their place."""
    return resample("test", folder)


def digits_3v5():
    """Return the 365 embedded cases, with 64 pixels."""
    with np.load(DIGITS) as file:
        return Data("optical digits 3 vs 5", file["pixels"] / 8.0 - 1.0,
                    np.where(file["digit"] == 3, 1.0, -1.0))


def threes_and_fives(name):
    """Return the set of digits that has this name."""
    return {"optical digits 3 vs 5": digits_3v5,
            "USPS 3 vs 5, training": lambda: usps_3v5(fallback=False),
            "USPS 3 vs 5, test": usps_3v5_test}[name]()


def resample(part, folder):
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
