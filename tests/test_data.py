"""reproduce/data.py: the recipe of the data set, the places of its files, and what can go wrong."""

import gzip
import hashlib
import http.server
import io
import os
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pooch
import pytest
from scipy.special import ndtr

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


# R's generator


def test_the_uniforms_and_normals_are_those_of_r():
    # printed by R 4 and 3 to 7 or 8 digits: half a unit of the last one
    np.testing.assert_allclose(data.R(1).uniform(3), [0.2655087, 0.3721239, 0.5728534],
                               rtol=0, atol=5e-8)
    np.testing.assert_allclose(data.R(123).uniform(2), [0.2875775, 0.7883051], rtol=0, atol=5e-8)
    np.testing.assert_allclose(
        data.R(42).normal(5), [1.37095845, -0.56469817, 0.36312841, 0.63286260, 0.40426832],
        rtol=0, atol=5e-9)
    np.testing.assert_allclose(data.R(1).normal(3), [-0.6264538, 0.1836433, -0.8356286],
                               rtol=0, atol=5e-8)


def test_a_normal_is_made_of_two_uniforms():
    z, (high, low) = data.R(5).normal(1000), data.R(5).uniform(2000).reshape(1000, 2).T
    place = 2**27 * ndtr(z)  # the rounding of Phi, 1e-16, is 2e-8 here
    np.testing.assert_allclose(place - np.floor(2**27 * high), low, rtol=0, atol=1e-6)


def test_the_generator_goes_on_where_it_stopped():
    r, whole = data.R(7), data.R(7).uniform(1500)
    np.testing.assert_array_equal(np.concatenate([r.uniform(624), r.uniform(876)]), whole)


def rbinom(p, uniform):
    """Return one number of R's rbinom for n = 1, by its loop over the probabilities."""
    q = max(p, 1 - p)
    mass, u, count = q, uniform, 0
    while u >= mass:
        u -= mass
        count += 1
        mass *= (1 - q) / q * 2 / count - (1 - q) / q
    return 1 - count if p > 0.5 else count


def test_bernoulli_is_the_inversion_of_rbinom():
    p = np.random.default_rng(2).random(2000)
    p[:3] = 0.5, 1e-9, 1 - 1e-9
    wanted = [rbinom(*pair) for pair in zip(p, data.R(3).uniform(2000), strict=True)]
    np.testing.assert_array_equal(data.R(3).bernoulli(p), wanted)
    # set.seed(123); rbinom(10, 1, 0.5) in R
    np.testing.assert_array_equal(data.R(123).bernoulli(np.full(10, 0.5)),
                                  [0, 1, 0, 1, 1, 0, 1, 1, 1, 0])


def test_bernoulli_draws_nothing_where_the_outcome_is_certain():
    r = data.R(3)
    np.testing.assert_array_equal(r.bernoulli(np.array([0.0, 1.0, 1.0, 0.0])), [0, 1, 1, 0])
    np.testing.assert_array_equal(r.uniform(2), data.R(3).uniform(2))


def test_uniforms_are_never_0_or_1():
    r = data.R(1)

    class Ends:
        def random_raw(self, n):
            return np.resize([0, 2**32 - 1], n)

    r.bits = Ends()
    u = r.uniform(2)
    assert 0 < u[0] < 1e-9 and 1 - 1e-9 < u[1] < 1
    assert np.isfinite(r.normal(2)).all()


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5])
def test_a_seed_that_r_does_not_take_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be"):
        data.R(seed)


# Simulated data


def test_the_simulated_data_follow_their_description():
    found = data.simulated_logistic()
    assert found.name == data.SIMULATED + "2011"
    assert found.X.shape == (10_000, 100) and found.y.shape == (10_000,)
    assert found.X.flags.c_contiguous
    assert set(np.unique(found.y)) == {0.0, 1.0}
    r = data.R(2011)
    theta, sd = r.normal(101), np.repeat([5.0, 1.0, 0.2], [5, 5, 90])
    column = r.normal(20_000).reshape(2, 10_000)  # X is filled column by column
    np.testing.assert_array_equal(found.X[:, :2], 5 * column.T)
    # a variance estimate of 10^4 normals has the relative error sqrt(2 / 10^4) = 0.014; the chance
    # that one of 100 is 5 of them away is 6e-5
    np.testing.assert_allclose(found.X.var(0) / sd**2, 1, rtol=0, atol=5 * 0.0142)
    p = 1 / (1 + np.exp(-theta[0] - found.X @ theta[1:]))
    for weight in (np.ones(10_000), found.X[:, 0], found.X[:, 7], np.sign(p - 0.5)):
        z = weight @ (found.y - p) / np.sqrt(weight**2 @ (p * (1 - p)))
        assert abs(z) < 4


def test_another_seed_gives_another_data_set_and_the_same_seed_the_same():
    first, other = data.simulated_logistic(5), data.simulated_logistic(6)
    assert not np.array_equal(first.X, other.X)
    again = load(first.name)
    np.testing.assert_array_equal(again.X, first.X)
    np.testing.assert_array_equal(again.y, first.y)


def test_the_illustrative_data_follow_their_description():
    found = data.illustrative(3, 2.5)
    assert found.X.shape == (100, 2) and set(np.unique(found.y)) == {0.0, 1.0}
    rng = np.random.default_rng(3)
    alpha, angle = rng.standard_normal(), 2 * np.pi * rng.random()
    eta = alpha + 2.5 * (found.X @ [np.cos(angle), np.sin(angle)])
    p = 1 / (1 + np.exp(-eta))
    for weight in (np.ones(100), eta):
        assert abs(weight @ (found.y - p)) < 4 * np.sqrt(weight**2 @ (p * (1 - p)))
    again = load(found.name)
    np.testing.assert_array_equal(again.X, found.X)
    np.testing.assert_array_equal(again.y, found.y)
    assert not np.array_equal(data.illustrative(4, 2.5).X, found.X)
    np.testing.assert_array_equal(data.illustrative(3, 9).X, found.X)  # the slope changes y only


# The data sets of UCI

UCI_SETS = {"sat.trn": data.statlog, "CTG.xls": data.ctg, "kr-vs-kp.data": data.chess}


@pytest.fixture
def uci(tmp_path, monkeypatch):
    """Make three small files in the format of UCI's, the only ones; return their folder.

    The spreadsheet is plain text here.
    """
    folder, rng = tmp_path / "uci", np.random.default_rng(3)
    folder.mkdir()
    sat = np.c_[rng.integers(27, 160, (12, 36)), np.resize([1, 2, 3, 4, 5, 7], 12)]
    ctg = np.c_[rng.normal(size=(9, 21)).round(3), np.resize([3, 1, 2], 9)]
    chess = [[*("tf"[k] for k in rng.integers(0, 2, 14)), "wbn"[case % 3],
              *("lg"[k] for k in rng.integers(0, 2, 21)), "won" if case % 2 else "nowin"]
             for case in range(10)]
    for name, rows, end in (("sat.trn", sat.astype(int), " "), ("CTG.xls", ctg, ","),
                            ("kr-vs-kp.data", chess, ",")):
        lines = [end.join(map(str, row)) for row in rows]
        (folder / name).write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(data, "spreadsheet",
                        lambda content: np.loadtxt(io.BytesIO(content), delimiter=","))
    monkeypatch.setattr(data, "UCI_FILES", {
        name: ("http://127.0.0.1:9/" + name, sha256((folder / name).read_bytes()))
        for name in data.UCI_FILES})
    monkeypatch.setattr(data, "SHAPES", {"StatLog": (12, 36), "CTG": (9, 21), "Chess": (10, 36)})
    monkeypatch.setattr(data, "POSITIVE", {"StatLog": 2, "CTG": 3, "Chess": 5})
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("PAPERS_DATA", raising=False)
    return folder


def test_statlog_is_cotton_crop_against_the_rest_z_scored(uci):
    cases = np.loadtxt(uci / "sat.trn")
    found = data.statlog(uci)
    np.testing.assert_array_equal(found.y, np.resize([0, 1, 0, 0, 0, 0], 12))
    X = cases[:, :36]
    # rounding of two ways to a sum of 12 terms
    np.testing.assert_allclose(
        found.X, (X - np.mean(X, 0)) / np.sqrt(12 / 11 * np.var(X, 0)), rtol=0, atol=1e-14)


def test_ctg_is_pathologic_against_the_rest_z_scored(uci):
    found = data.ctg(uci)
    np.testing.assert_array_equal(found.y, np.resize([1, 0, 0], 9))
    X = np.loadtxt(uci / "CTG.xls", delimiter=",")[:, :21]
    np.testing.assert_allclose(
        found.X, (X - np.mean(X, 0)) / np.sqrt(9 / 8 * np.var(X, 0)), rtol=0, atol=1e-14)


def test_chess_numbers_the_values_in_alphabetical_order(uci):
    lines = [line.split(",") for line in (uci / "kr-vs-kp.data").read_text().split()]
    found = data.chess(uci)
    np.testing.assert_array_equal(found.y, np.resize([0, 1], 10))
    code = {"f": 0, "t": 1, "g": 0, "l": 1, "b": 0, "n": 1, "w": 2}
    np.testing.assert_array_equal(found.X, [[code[v] for v in line[:36]] for line in lines])
    assert found.X.dtype == np.float64 and found.X.flags.c_contiguous
    scaled = data.chess(uci, standardise=True)
    np.testing.assert_allclose(scaled.X.mean(0), 0, rtol=0, atol=1e-14)  # rounding of a mean of 10
    np.testing.assert_allclose(scaled.X.var(0, ddof=1), 1, rtol=0, atol=1e-14)
    assert scaled.name != found.name


@pytest.mark.parametrize("name", UCI_SETS)
def test_a_file_may_be_compressed(uci, tmp_path, name):
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress((uci / name).read_bytes()))
    np.testing.assert_array_equal(UCI_SETS[name](tmp_path).X, UCI_SETS[name](uci).X)


@pytest.mark.parametrize("name", UCI_SETS)
def test_a_file_of_uci_that_is_damaged_is_refused(uci, tmp_path, name):
    content = (uci / name).read_bytes()[:-1]
    for path in (tmp_path / f"{name}.gz", tmp_path / name):
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        with pytest.raises(DataError, match="damaged or another file") as error:
            UCI_SETS[name](tmp_path)
        for words in (str(path), sha256(content), data.UCI_FILES[name][1]):
            assert words in str(error.value)
        assert ("(unpacked)" in str(error.value)) == (path.suffix == ".gz")


@pytest.mark.parametrize("damage", [
    lambda packed: packed[:-9], lambda packed: b"plain text",
    lambda packed: packed[:10] + bytes([255]) * 20 + packed[30:]],
    ids=["truncated", "not compressed", "overwritten"])
def test_a_damaged_compressed_file_is_refused(uci, tmp_path, damage):
    packed = gzip.compress((uci / "sat.trn").read_bytes())
    (tmp_path / "sat.trn.gz").write_bytes(damage(packed))
    with pytest.raises(DataError, match=r"sat.trn.gz cannot be read: .+"):
        data.statlog(tmp_path)


@pytest.mark.parametrize(("name", "key"), [
    ("sat.trn", "StatLog"), ("CTG.xls", "CTG"), ("kr-vs-kp.data", "Chess")])
def test_other_counts_are_refused(uci, monkeypatch, name, key):
    monkeypatch.setitem(data.POSITIVE, key, 4)
    with pytest.raises(DataError, match=r"cases of class 1, expected .* and 4"):
        UCI_SETS[name](uci)


@pytest.mark.parametrize("name", UCI_SETS)
def test_a_file_of_uci_that_is_nowhere_is_one_sentence(uci, tmp_path, name):
    with pytest.raises(data.Missing) as error:
        UCI_SETS[name](tmp_path)
    for words in (name, str(tmp_path), str(tmp_path / "cache"), "http://127.0.0.1:9/",
                  "--data DIR"):
        assert words in str(error.value)


def test_a_script_without_data_ends_with_one_sentence(uci, monkeypatch, capsys):
    monkeypatch.setattr(data, "download", None)
    with pytest.raises(SystemExit) as end:
        or_exit(data.ctg)
    assert end.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_file_of_uci_is_downloaded_once(uci, tmp_path, monkeypatch):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=uci)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setitem(data.UCI_FILES, "sat.trn", (
            f"http://127.0.0.1:{server.server_port}/sat.trn", data.UCI_FILES["sat.trn"][1]))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        first = data.statlog()
        server.shutdown()
    assert (tmp_path / "cache" / "mirrormc" / "sat.trn").exists()
    np.testing.assert_array_equal(data.statlog().X, first.X)


def test_the_pinned_shapes_are_those_of_the_paper():
    # Table 2 gives n; p of CTG and Chess, and for StatLog 37, which counts the intercept
    assert data.SHAPES == {"StatLog": (4435, 36), "CTG": (2126, 21), "Chess": (3196, 36)}


if (REAL / "sat.trn.gz").exists():

    @pytest.mark.parametrize("name", ["StatLog", "CTG", "Chess", "Chess, standardised"])
    def test_the_real_files_of_uci_are_what_they_should_be(monkeypatch, name):
        monkeypatch.setattr(data, "download", None)
        monkeypatch.setenv("PAPERS_DATA", str(REAL))
        found = load(name)
        key = name.split(",")[0]
        assert found.name == name
        assert found.X.shape == data.SHAPES[key] and found.X.flags.c_contiguous
        assert set(np.unique(found.y)) == {0.0, 1.0}
        assert found.y.sum() == data.POSITIVE[key]
        if name == "Chess":
            assert np.flatnonzero(found.X.max(0) > 1).tolist() == [14]  # attribute 15: b, n, w
        else:
            # a mean of at most 4435 terms of size 60
            np.testing.assert_allclose(found.X.mean(0), 0, rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.X.var(0, ddof=1), 1, rtol=0, atol=1e-12)
        # the labels belong to the cases: a linear fit tells them apart far better than the mean
        X = np.c_[found.X, np.ones(len(found.y))]
        residual = found.y - X @ np.linalg.lstsq(X, found.y)[0]
        assert residual.var() < 0.7 * found.y.var()


    def test_the_spreadsheet_is_read_as_it_is():
        rows = gzip.decompress((REAL / "CTG.csv.gz").read_bytes()).decode().splitlines()[1:]
        ours = data.spreadsheet(gzip.decompress((REAL / "CTG.xls.gz").read_bytes()))
        theirs = np.array([row.split(",") for row in rows], float)
        # a derived copy, in which CLASS stands before NSP
        np.testing.assert_array_equal(ours, np.delete(theirs, -2, axis=1))


# Names


def test_a_data_set_is_found_again_by_its_name(places, monkeypatch):
    monkeypatch.setenv("PAPERS_DATA", str(places))
    for function in (usps_3v5, usps_3v5_test, digits_3v5):
        np.testing.assert_array_equal(load(function().name).X, function().X)
    with pytest.raises(ValueError, match="name must be one of"):
        load("USPS")
