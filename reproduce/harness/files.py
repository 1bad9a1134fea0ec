"""The data sets' files, from the first place that has them, and what a data set is.

A file is looked for in --data DIR, in $PAPERS_DATA (a folder, or several as in $PATH), in the
user's cache, and at a public site; it must have the checksum that is pinned for it.
"""

import gzip
import hashlib
import os
import sys
import tempfile
import threading
import urllib.request
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reproduce.harness.papers import ROOT

PROBE = 5.0  # s until a site counts as silent
TIMEOUT = 2.0  # s for each connection and each read after that; 5 + 2 + 2 < 10


class Data(NamedTuple):
    """Cases to tell apart; `name` identifies the data set."""

    name: str
    X: np.ndarray  # (n, p) float64; of a digit, pixels in [-1, 1]
    # (n,) float64; digits: +1 for a three and -1 for a five, all threes come first; else 1 or 0
    y: np.ndarray
    note: str = ""  # a sentence, if this is not the data set that was asked for


class DataError(Exception):
    """A data set that cannot be had, or a file that is not what it should be."""


class Missing(DataError):
    """A file that is nowhere to be had."""


@contextmanager
def refuse_damaged():
    """Raise DataError for what np.load raises of a damaged .npz, all of which are the project's."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        why = error
    except ValueError as error:  # its first bytes are another file's, and NumPy suspects a pickle
        if "allow_pickle" not in str(error):
            raise
        why = "it begins as another file"
    else:
        return
    raise DataError(f"A file of data in {ROOT} is damaged ({why}): `git status` names it,"
                    " `git restore` repairs it.")


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
                return verify(path, url, checksum, unpack=path.name != name)
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


def verify(path, url, checksum, unpack=False):
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
                        f" {found}, expected {checksum}; replace it by {url}, or delete it")
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
        return verify(Path(pooch.retrieve(
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


def or_exit(function, *arguments):
    """Return function(*arguments), or exit with status 2 and a sentence if there is no data."""
    try:
        return function(*arguments)
    except DataError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
