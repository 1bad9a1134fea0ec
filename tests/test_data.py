"""reproduce/data.py: the recipe of the data set, the places of its files, and what can go wrong."""

import gzip
import hashlib
import http.server
import os
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pooch
import pytest

import data
from data import DataError, digits_3v5, load, or_exit, usps_3v5, usps_3v5_test

HALF = 4649
REAL = Path(os.environ.get("PAPERS_DATA") or data.DIGITS.parents[2] / "shared" / "data")
REBUILT = REAL / "usps_3v5_from_zip.npz"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Make two files in the format of the original ones: digits, and a bright pixel each."""
    folder, rng = tmp_path_factory.mktemp("zip"), np.random.default_rng(1)
    cases = np.full((9298, 257), -1)
    cases[:, 0] = rng.integers(0, 10, len(cases))
    cases[np.arange(len(cases)), rng.integers(1, 257, len(cases))] = 1
    for name, part in (("zip.train.gz", cases[:7291]), ("zip.test.gz", cases[7291:])):
        text = "\n".join(" ".join(map(str, case)) for case in part.tolist())
        (folder / name).write_bytes(gzip.compress(text.encode(), mtime=0))
    return folder, cases


@pytest.fixture
def places(original, tmp_path, monkeypatch):
    """Let `original` be the data set, with an empty cache and no network; return its folder."""
    folder, cases = original
    digit = cases[order(), 0]
    monkeypatch.setattr(data, "SHA256", {
        name: sha256((folder / name).read_bytes()) for name in data.SHA256})
    monkeypatch.setattr(data, "SHA256_LABELS", sha256("".join(map(str, digit)).encode()))
    monkeypatch.setattr(data, "COUNTS", {
        part: tuple(int((half == d).sum()) for d in (3, 5))
        for part, half in (("training", digit[:HALF]), ("test", digit[HALF:]))})
    monkeypatch.setattr(data, "SITE", "http://127.0.0.1:9/")  # nobody listens there
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setenv("no_proxy", "*")  # the servers of these tests are on this machine
    monkeypatch.delenv("PAPERS_DATA", raising=False)
    data.usps.cache_clear()
    yield folder
    data.usps.cache_clear()


def order():
    """Return the shuffle, as the generator's definition says."""
    states = [27 * 2**16 * pow(16807, k, 2**31 - 1) % (2**31 - 1) for k in range(1, 9299)]
    return np.array(sorted(range(9298), key=states.__getitem__))


# The recipe


def test_the_generator_passes_the_check_of_its_authors():
    assert data.park_miller(1, 10_000)[-1] == 1043618065  # Park and Miller (1988), page 1195


@pytest.mark.parametrize(("function", "half"), [
    (usps_3v5, slice(0, HALF)), (usps_3v5_test, slice(HALF, None))])
def test_the_recipe_shuffles_then_smooths_then_takes_threes_and_fives(
        places, original, function, half):
    found = function(places)
    cases = original[1][order()][half]
    wanted = np.vstack([cases[cases[:, 0] == 3], cases[cases[:, 0] == 5]])
    weights = np.exp(-np.subtract.outer(range(16), range(16)) ** 2 / (2 * 0.75**2))
    weights = np.triu(np.tril(weights, 3), -3) / weights[8, 5:12].sum()
    smooth = weights @ (wanted[:, 1:].reshape(-1, 16, 16) + 1) @ weights.T - 1
    # rounding of a sum of 7 terms of size 1, twice
    np.testing.assert_allclose(found.X, smooth.reshape(-1, 256), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(found.y, np.where(wanted[:, 0] == 3, 1.0, -1.0))
    assert found.X.dtype == found.y.dtype == np.float64
    assert found.X.flags.c_contiguous
    assert found.note == ""


def test_a_caller_who_changes_his_arrays_changes_nobody_elses(places):
    usps_3v5(places).X[:] = np.nan
    assert np.isfinite(usps_3v5(places).X).all()


def test_labels_in_another_order_are_refused(places, monkeypatch):
    monkeypatch.setattr(data, "SHA256_LABELS", sha256(b"3535"))
    with pytest.raises(DataError, match="not in the order"):
        usps_3v5(places)


def test_another_number_of_cases_is_refused(places, monkeypatch):
    monkeypatch.setattr(data, "COUNTS", {"training": (406, 361)})
    with pytest.raises(DataError, match=r"threes and .* fives, expected"):
        usps_3v5(places)


def test_the_pinned_counts_are_those_of_the_paper():
    assert [sum(data.COUNTS[part]) for part in ("training", "test")] == [767, 773]


if REBUILT.exists():  # where the original files are at hand, the real thing

    def test_the_real_files_give_the_published_data_set(monkeypatch):
        monkeypatch.setattr(data, "download", None)
        with np.load(REBUILT) as file:
            for found, part in ((usps_3v5(REAL), "train"), (usps_3v5_test(REAL), "test")):
                # two ways to sum the same 49 products
                np.testing.assert_allclose(found.X, file[f"x_{part}"], rtol=0, atol=1e-14)
                np.testing.assert_array_equal(found.y, file[f"y_{part}"])


def test_the_embedded_digits():
    found = digits_3v5()
    assert found.X.shape == (365, 64)
    assert found.X.dtype == found.y.dtype == np.float64
    assert set(np.unique(8 * (found.X + 1))) == set(range(17))
    np.testing.assert_array_equal(found.y, np.repeat([1.0, -1.0], [183, 182]))
    assert len(np.unique(found.X, axis=0)) == 365  # as in the UCI file: no case is there twice
    # the labels belong to the images: 65 coefficients tell 365 random labels apart only to 75%
    X = np.c_[found.X, np.ones(365)]
    assert (np.sign(X @ np.linalg.lstsq(X, found.y)[0]) == found.y).mean() > 0.95


# The places


def test_the_folder_comes_before_the_environment_and_that_before_the_cache(
        places, tmp_path, monkeypatch):
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "zip.train.gz").write_bytes(b"not the data")
    store = tmp_path / "cache" / "mirrormc"
    store.mkdir(parents=True)
    (store / "zip.train.gz").write_bytes(b"not the data")
    monkeypatch.setenv("PAPERS_DATA", str(wrong))
    assert usps_3v5(places).note == ""
    with pytest.raises(DataError, match="wrong"):
        usps_3v5()
    monkeypatch.setenv("PAPERS_DATA", str(places))
    assert usps_3v5().note == ""
    monkeypatch.delenv("PAPERS_DATA")
    with pytest.raises(DataError, match="cache"):
        usps_3v5()


def test_a_folder_without_the_files_is_mentioned_and_the_next_place_serves(
        places, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PAPERS_DATA", os.pathsep.join([str(tmp_path / "none"), str(places)]))
    assert usps_3v5(tmp_path).note == ""
    errors = capsys.readouterr().err
    assert f"{tmp_path} has no zip.train.gz" in errors
    assert f"{tmp_path / 'none'} has no zip.train.gz" in errors


@pytest.mark.parametrize("damage", [
    lambda content: content[:-1],
    lambda content: content[:1000] + bytes([content[1000] ^ 1]) + content[1001:],
    lambda content: b""], ids=["truncated", "one bit", "empty"])
def test_a_damaged_file_is_refused_with_both_checksums(places, tmp_path, damage):
    content = damage((places / "zip.train.gz").read_bytes())
    (tmp_path / "zip.train.gz").write_bytes(content)
    with pytest.raises(DataError) as error:
        usps_3v5(tmp_path)
    for words in (str(tmp_path / "zip.train.gz"), sha256(content), data.SHA256["zip.train.gz"]):
        assert words in str(error.value)


def test_a_folder_in_the_place_of_the_file_is_refused(places, tmp_path):
    (tmp_path / "zip.train.gz").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        usps_3v5(tmp_path)


@pytest.fixture
def site(places, monkeypatch):
    """Serve the files on this machine; return the list of requests."""
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=places)

        def log_message(self, _, *words):
            requests.append(words[0])

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setattr(data, "SITE", f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield requests
        server.shutdown()
        thread.join()


def test_a_download_is_kept_in_the_cache(site, tmp_path):
    first = usps_3v5()
    assert first.note == ""
    asked = len(site)
    assert asked > 0
    np.testing.assert_array_equal(usps_3v5().X, first.X)
    assert len(site) == asked
    assert {path.name for path in (tmp_path / "cache" / "mirrormc").iterdir()} == {*data.SHA256}


def test_a_cache_that_cannot_be_written_does_no_harm(site, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert usps_3v5().note == ""


def test_a_download_with_another_checksum_is_not_used(site, monkeypatch, tmp_path):
    monkeypatch.setitem(data.SHA256, "zip.train.gz", sha256(b"something else"))
    assert usps_3v5().note
    assert not (tmp_path / "cache" / "mirrormc" / "zip.train.gz").exists()


# No network


def test_without_network_the_embedded_digits_take_over_and_say_so(places, capsys):
    found = usps_3v5()
    np.testing.assert_array_equal(found.X, digits_3v5().X)
    assert found.note == "USPS 3 vs 5 is not available: embedded optical digits"
    assert "--data DIR" in capsys.readouterr().err


def test_without_fallback_the_reader_learns_where_it_looked_and_what_to_do(places, tmp_path):
    with pytest.raises(DataError) as error:
        usps_3v5(tmp_path / "mine", fallback=False)
    for words in ("zip.train.gz", str(tmp_path / "mine"), str(tmp_path / "cache"), data.SITE,
                  "--data DIR"):
        assert words in str(error.value)
    with pytest.raises(DataError):
        usps_3v5_test(tmp_path / "mine")


def test_a_script_exits_with_status_2_and_one_sentence(places, tmp_path, capsys):
    (tmp_path / "zip.train.gz").write_bytes(b"not the data")
    with pytest.raises(SystemExit) as end:
        or_exit(usps_3v5, tmp_path)
    assert end.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert or_exit(digits_3v5).name == digits_3v5().name


def test_silence_costs_less_than_ten_seconds():
    assert data.PROBE + 2 * data.TIMEOUT < 10  # the probe, then one connection and one read


def test_a_name_server_that_hangs_is_given_up(places, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(data, "SITE", "http://silent.invalid/")
    monkeypatch.setattr(data, "PROBE", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(60) and [])
    start = time.perf_counter()
    assert usps_3v5().note
    assert time.perf_counter() - start < 5  # 0.2 s; a look-up takes 60
    over.set()


def test_a_server_that_accepts_and_says_nothing_is_given_up(places, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(data, "SITE", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setattr(data, "PROBE", 0.2)
        start = time.perf_counter()
        assert usps_3v5().note
        assert time.perf_counter() - start < 5


# Names


def test_a_data_set_is_found_again_by_its_name(places, monkeypatch):
    monkeypatch.setenv("PAPERS_DATA", str(places))
    for function in (usps_3v5, usps_3v5_test, digits_3v5):
        np.testing.assert_array_equal(load(function().name).X, function().X)
    with pytest.raises(ValueError, match="name must be one of"):
        load("USPS")
