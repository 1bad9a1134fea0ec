"""The data sets of Split HMC: R's generator, the recipes, UCI's files, and what can go wrong."""

import gzip
import hashlib
import http.server
import io
import threading
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pooch
import pytest
from scipy.special import ndtr

from judging import read_table
from reproduce import data
from reproduce.harness import files
from reproduce.harness.files import Data, DataError, or_exit
from reproduce.harness.run import Settings
from reproduce.shahbaba import datasets, simulated_classes
from reproduce.shahbaba.printed import PROBLEMS

CSV = "328e7c0bdae051d6a0c23085e254f25d161638192fbcab52715dca74f658c3d8"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


# R's generator


def test_the_uniforms_and_normals_are_those_of_r():
    # printed by R 4 and 3 to 7 or 8 digits: half a unit of the last one
    np.testing.assert_allclose(datasets.R(1).uniform(3), [0.2655087, 0.3721239, 0.5728534],
                               rtol=0, atol=5e-8)
    np.testing.assert_allclose(datasets.R(123).uniform(2), [0.2875775, 0.7883051],
                               rtol=0, atol=5e-8)
    np.testing.assert_allclose(
        datasets.R(42).normal(5), [1.37095845, -0.56469817, 0.36312841, 0.63286260, 0.40426832],
        rtol=0, atol=5e-9)
    np.testing.assert_allclose(datasets.R(1).normal(3), [-0.6264538, 0.1836433, -0.8356286],
                               rtol=0, atol=5e-8)


def test_a_normal_is_made_of_two_uniforms():
    z, (high, low) = datasets.R(5).normal(1000), datasets.R(5).uniform(2000).reshape(1000, 2).T
    place = 2**27 * ndtr(z)  # the rounding of Phi, 1e-16, is 2e-8 here
    np.testing.assert_allclose(place - np.floor(2**27 * high), low, rtol=0, atol=1e-6)


def test_the_generator_goes_on_where_it_stopped():
    r, whole = datasets.R(7), datasets.R(7).uniform(1500)
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
    wanted = [rbinom(*pair) for pair in zip(p, datasets.R(3).uniform(2000), strict=True)]
    np.testing.assert_array_equal(datasets.R(3).bernoulli(p), wanted)
    # set.seed(123); rbinom(10, 1, 0.5) in R
    np.testing.assert_array_equal(datasets.R(123).bernoulli(np.full(10, 0.5)),
                                  [0, 1, 0, 1, 1, 0, 1, 1, 1, 0])


def test_bernoulli_draws_nothing_where_the_outcome_is_certain():
    r = datasets.R(3)
    np.testing.assert_array_equal(r.bernoulli(np.array([0.0, 1.0, 1.0, 0.0])), [0, 1, 1, 0])
    np.testing.assert_array_equal(r.uniform(2), datasets.R(3).uniform(2))


def test_uniforms_are_never_0_or_1():
    r = datasets.R(1)

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
        datasets.R(seed)


# Simulated data


def test_the_simulated_data_follow_their_description():
    found = datasets.simulated_logistic()
    assert found.name == datasets.SIMULATED + "2011"
    assert found.X.shape == (10_000, 100) and found.y.shape == (10_000,)
    assert found.X.flags.c_contiguous
    assert set(np.unique(found.y)) == {0.0, 1.0}
    r = datasets.R(2011)
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
    first, other = datasets.simulated_logistic(5), datasets.simulated_logistic(6)
    assert not np.array_equal(first.X, other.X)
    again = datasets.load(first.name)
    np.testing.assert_array_equal(again.X, first.X)
    np.testing.assert_array_equal(again.y, first.y)


def test_the_illustrative_data_follow_their_description():
    found = datasets.illustrative(3, 2.5)
    assert found.X.shape == (100, 2) and set(np.unique(found.y)) == {0.0, 1.0}
    rng = np.random.default_rng(3)
    alpha, angle = rng.standard_normal(), 2 * np.pi * rng.random()
    eta = alpha + 2.5 * (found.X @ [np.cos(angle), np.sin(angle)])
    p = 1 / (1 + np.exp(-eta))
    for weight in (np.ones(100), eta):
        assert abs(weight @ (found.y - p)) < 4 * np.sqrt(weight**2 @ (p * (1 - p)))
    again = datasets.load(found.name)
    np.testing.assert_array_equal(again.X, found.X)
    np.testing.assert_array_equal(again.y, found.y)
    assert not np.array_equal(datasets.illustrative(4, 2.5).X, found.X)
    # the slope changes y only
    np.testing.assert_array_equal(datasets.illustrative(3, 9).X, found.X)


# The data sets of UCI

UCI_SETS = {"sat.trn": datasets.statlog, "CTG.xls": datasets.ctg, "kr-vs-kp.data": datasets.chess}


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
    monkeypatch.setattr(datasets, "spreadsheet",
                        lambda content: np.loadtxt(io.BytesIO(content), delimiter=","))
    monkeypatch.setattr(datasets, "UCI_FILES", {
        name: ("http://127.0.0.1:9/" + name, sha256((folder / name).read_bytes()))
        for name in datasets.UCI_FILES})
    monkeypatch.setattr(datasets, "SHAPES",
                        {"StatLog": (12, 36), "CTG": (9, 21), "Chess": (10, 36)})
    monkeypatch.setattr(datasets, "POSITIVE", {"StatLog": 2, "CTG": 3, "Chess": 5})
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("PAPERS_DATA", raising=False)
    return folder


def test_statlog_is_cotton_crop_against_the_rest_z_scored(uci):
    cases = np.loadtxt(uci / "sat.trn")
    found = datasets.statlog(uci)
    np.testing.assert_array_equal(found.y, np.resize([0, 1, 0, 0, 0, 0], 12))
    X = cases[:, :36]
    # rounding of two ways to a sum of 12 terms
    np.testing.assert_allclose(
        found.X, (X - np.mean(X, 0)) / np.sqrt(12 / 11 * np.var(X, 0)), rtol=0, atol=1e-14)


def test_ctg_is_pathologic_against_the_rest_z_scored(uci):
    found = datasets.ctg(uci)
    np.testing.assert_array_equal(found.y, np.resize([1, 0, 0], 9))
    X = np.loadtxt(uci / "CTG.xls", delimiter=",")[:, :21]
    np.testing.assert_allclose(
        found.X, (X - np.mean(X, 0)) / np.sqrt(9 / 8 * np.var(X, 0)), rtol=0, atol=1e-14)


def test_chess_numbers_the_values_in_alphabetical_order(uci):
    lines = [line.split(",") for line in (uci / "kr-vs-kp.data").read_text().split()]
    found = datasets.chess(uci)
    np.testing.assert_array_equal(found.y, np.resize([0, 1], 10))
    code = {"f": 0, "t": 1, "g": 0, "l": 1, "b": 0, "n": 1, "w": 2}
    np.testing.assert_array_equal(found.X, [[code[v] for v in line[:36]] for line in lines])
    assert found.X.dtype == np.float64 and found.X.flags.c_contiguous
    scaled = datasets.chess(uci, standardise=True)
    np.testing.assert_allclose(scaled.X.mean(0), 0, rtol=0, atol=1e-14)  # rounding of a mean of 10
    np.testing.assert_allclose(scaled.X.var(0, ddof=1), 1, rtol=0, atol=1e-14)
    assert scaled.name != found.name


def test_all_classes_are_numbered_in_their_order(uci, monkeypatch):
    monkeypatch.setattr(datasets, "COUNTS", {"StatLog": [2] * 6, "CTG": [3] * 3})
    for name, own, y in (("StatLog", datasets.statlog, np.resize(range(6), 12)),
                         ("CTG", datasets.ctg, np.resize([2, 0, 1], 9))):
        found = datasets.all_classes(name, uci)
        np.testing.assert_array_equal(found.y, y)
        np.testing.assert_array_equal(found.X, own(uci).X)
        assert found.y.dtype == np.float64 and found.name == f"{name}, {max(y) + 1} classes"
    monkeypatch.setattr(datasets, "COUNTS", {"CTG": [3, 2, 4]})
    with pytest.raises(DataError, match=r"CTG has \[3, 3, 3\] cases of its classes, expected"):
        datasets.all_classes("CTG", uci)


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
        for words in (str(path), sha256(content), datasets.UCI_FILES[name][1]):
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
        datasets.statlog(tmp_path)


@pytest.mark.parametrize(("name", "key"), [
    ("sat.trn", "StatLog"), ("CTG.xls", "CTG"), ("kr-vs-kp.data", "Chess")])
def test_other_counts_are_refused(uci, monkeypatch, name, key):
    monkeypatch.setitem(datasets.POSITIVE, key, 4)
    with pytest.raises(DataError, match=r"cases of class 1, expected .* and 4"):
        UCI_SETS[name](uci)


@pytest.mark.parametrize("name", UCI_SETS)
def test_a_file_of_uci_that_is_nowhere_is_one_sentence(uci, tmp_path, name):
    with pytest.raises(files.Missing) as error:
        UCI_SETS[name](tmp_path)
    for words in (name, str(tmp_path), str(tmp_path / "cache"), "http://127.0.0.1:9/",
                  "--data DIR"):
        assert words in str(error.value)


def test_a_script_without_data_ends_with_one_sentence(uci, monkeypatch, capsys):
    monkeypatch.setattr(files, "download", None)
    with pytest.raises(SystemExit) as end:
        or_exit(datasets.ctg)
    assert end.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_file_of_uci_is_downloaded_once(uci, loopback, tmp_path, monkeypatch):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=uci)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setitem(datasets.UCI_FILES, "sat.trn", (
            f"http://127.0.0.1:{server.server_port}/sat.trn", datasets.UCI_FILES["sat.trn"][1]))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        first = datasets.statlog()
        server.shutdown()
    assert (tmp_path / "cache" / "mirrormc" / "sat.trn").exists()
    np.testing.assert_array_equal(datasets.statlog().X, first.X)


@pytest.mark.parametrize("name", datasets.SHAPES)
def test_the_data_sets_have_the_size_that_the_paper_prints(name):
    cases, attributes = datasets.SHAPES[name]
    # the paper's p of StatLog counts the intercept
    assert (cases, attributes + (name == "StatLog")) == (PROBLEMS[name].n, PROBLEMS[name].p)


def test_the_simulated_data_have_the_size_that_the_paper_prints():
    assert datasets.simulated_logistic().X.shape == (PROBLEMS["Simulated"].n,
                                                     PROBLEMS["Simulated"].p)


@pytest.mark.parametrize("name", ["StatLog", "CTG", "Chess", "Chess, standardised"])
def test_the_real_files_of_uci_are_what_they_should_be(real, name):
    found = real(datasets.load, name)
    key = name.split(",")[0]
    assert found.name == name
    assert found.X.shape == datasets.SHAPES[key] and found.X.flags.c_contiguous
    assert set(np.unique(found.y)) == {0.0, 1.0}
    assert found.y.sum() == datasets.POSITIVE[key]
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


def test_the_spreadsheet_is_read_as_it_is(real):
    content = real(datasets.uci, "CTG.xls", None)
    # a derived copy, in which CLASS stands before NSP
    rows = real(files.find, "CTG.csv", None, "", CSV, packed=True).decode().splitlines()[1:]
    theirs = np.array([row.split(",") for row in rows], float)
    np.testing.assert_array_equal(datasets.spreadsheet(content), np.delete(theirs, -2, axis=1))


# What takes their place


@pytest.mark.parametrize("script", ["beyond.meet", "beyond.shahbaba_multinomial",
                                    "beyond.shahbaba_rivals", "shahbaba_table2"])
def test_without_the_files_a_smoke_run_has_a_stand_in_and_no_other_run_has(
        script, uci, monkeypatch, capsys):
    monkeypatch.setattr(files, "download", None)
    module = import_module(f"reproduce.{script}")
    found = module.cases(Settings("smoke"))
    assert found.note and isinstance(found, datasets.StandIn)
    for budget in ("short", "paper"):
        with pytest.raises(SystemExit) as end:
            module.cases(Settings(budget))
        assert end.value.code == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3 and all("--data DIR" in line for line in errors)


def test_a_damaged_file_ends_a_smoke_run_too(uci):
    (uci / "CTG.xls").write_bytes(b"another file")
    with pytest.raises(DataError, match="damaged"):
        datasets.names(Settings("smoke", data=uci), "a stand-in", datasets.ctg)


def test_the_simulated_classes_have_the_shape_of_ctg_and_belong_to_the_cases():
    found, again = simulated_classes.three_classes(), simulated_classes.three_classes()
    assert found.X.shape == datasets.SHAPES["CTG"]
    np.testing.assert_array_equal(found.X, again.X)
    counts = np.bincount(found.y.astype(int))
    assert counts.size == 3 and counts.min() > 300
    scores = found.X @ np.linalg.lstsq(found.X, np.eye(3)[found.y.astype(int)])[0]
    assert (scores.argmax(1) == found.y).mean() > 0.6  # labels at random: 1/3, or the largest share


# Names


@pytest.mark.parametrize("name", ["StatLog ", "Chess,", "simulated logistic data, seed -1", ""])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.load(name)


def test_the_command_says_of_each_data_set_whose_it_is_and_its_size(monkeypatch, capsys):
    def nowhere(folder):
        raise DataError("nowhere")

    monkeypatch.setattr(data, "SETS", {"shahbaba": [
        lambda folder: Data("some cases", np.zeros((7, 3)), np.zeros(7)), nowhere]})
    assert data.main(SimpleNamespace(data=None)) == 2
    here, missing = read_table(capsys.readouterr().out, "paper")
    assert (here["data set"], here["size"]) == ("some cases", "7 x 3")
    assert missing["data set"] == "nowhere" and list(missing.values())[-1] == "missing"
    assert here["paper"] == missing["paper"] and "Shahbaba" in here["paper"]
