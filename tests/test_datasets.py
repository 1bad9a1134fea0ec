"""The data sets of Split HMC: R's generator, the recipes, UCI's files, and what can go wrong."""

import gzip
import io
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from reproduce.harness import files
from reproduce.harness.files import DataError
from reproduce.harness.run import Settings
from reproduce.shahbaba import datasets, simulated_classes
from reproduce.shahbaba.printed import PROBLEMS
from test_files import sha256

CSV = "328e7c0bdae051d6a0c23085e254f25d161638192fbcab52715dca74f658c3d8"


def test_the_uniforms_and_normals_are_those_of_r():
    # printed by R 4 and 3 to 7 or 8 digits: half a unit of the last one
    for found, printed, half in (
            (datasets.R(1).uniform(3), [0.2655087, 0.3721239, 0.5728534], 5e-8),
            (datasets.R(123).uniform(2), [0.2875775, 0.7883051], 5e-8),
            (datasets.R(42).normal(5),
             [1.37095845, -0.56469817, 0.36312841, 0.63286260, 0.40426832], 5e-9),
            (datasets.R(1).normal(3), [-0.6264538, 0.1836433, -0.8356286], 5e-8)):
        np.testing.assert_allclose(found, printed, rtol=0, atol=half)


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
    r = datasets.R(3)  # which draws nothing where the outcome is certain
    np.testing.assert_array_equal(r.bernoulli(np.array([0.0, 1.0, 1.0, 0.0])), [0, 1, 1, 0])
    np.testing.assert_array_equal(r.uniform(2), datasets.R(3).uniform(2))


def test_uniforms_are_never_0_or_1():
    r = datasets.R(1)
    r.bits = SimpleNamespace(random_raw=lambda n: np.resize([0, 2**32 - 1], n))
    u = r.uniform(2)
    assert 0 < u[0] < 1e-9 and 1 - 1e-9 < u[1] < 1
    assert np.isfinite(r.normal(2)).all()


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5])
def test_a_seed_that_r_does_not_take_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be"):
        datasets.R(seed)


def test_the_simulated_data_follow_their_description():
    found = datasets.simulated_logistic()
    assert found.name == datasets.SIMULATED + "2011"
    assert found.X.shape == (10_000, 100) == (PROBLEMS["Simulated"].n, PROBLEMS["Simulated"].p)
    assert found.X.flags.c_contiguous and set(np.unique(found.y)) == {0.0, 1.0}
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


def test_the_illustrative_data_follow_their_description():
    found = datasets.illustrative(3, 2.5)
    assert found.X.shape == (100, 2) and set(np.unique(found.y)) == {0.0, 1.0}
    rng = np.random.default_rng(3)
    alpha, angle = rng.standard_normal(), 2 * np.pi * rng.random()
    eta = alpha + 2.5 * (found.X @ [np.cos(angle), np.sin(angle)])
    p = 1 / (1 + np.exp(-eta))
    for weight in (np.ones(100), eta):
        assert abs(weight @ (found.y - p)) < 4 * np.sqrt(weight**2 @ (p * (1 - p)))
    # the slope changes y only
    np.testing.assert_array_equal(datasets.illustrative(3, 9).X, found.X)


def test_simulated_data_are_found_again_by_their_name():
    for made, other in ((datasets.simulated_logistic(5), datasets.simulated_logistic(6)),
                        (datasets.illustrative(3, 2.5), datasets.illustrative(4, 2.5))):
        again = datasets.load(made.name)
        np.testing.assert_array_equal(again.X, made.X)
        np.testing.assert_array_equal(again.y, made.y)
        assert not np.array_equal(other.X, made.X)


UCI_SETS = {"sat.trn": datasets.statlog, "CTG.xls": datasets.ctg, "kr-vs-kp.data": datasets.chess}


@pytest.fixture
def uci(tmp_path, nowhere, monkeypatch):
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
    return folder


@pytest.mark.parametrize(("make", "name", "end", "y"), [
    (datasets.statlog, "sat.trn", None, np.resize([0, 1, 0, 0, 0, 0], 12)),  # cotton crop
    (datasets.ctg, "CTG.xls", ",", np.resize([1, 0, 0], 9))])  # pathologic
def test_one_class_is_against_the_rest_and_attributes_are_z_scored(uci, make, name, end, y):
    found, X = make(uci), np.loadtxt(uci / name, delimiter=end)[:, :-1]
    n = len(X)
    np.testing.assert_array_equal(found.y, y)
    # rounding of two ways to a sum of n terms
    np.testing.assert_allclose(
        found.X, (X - np.mean(X, 0)) / np.sqrt(n / (n - 1) * np.var(X, 0)), rtol=0, atol=1e-14)


def test_chess_numbers_the_values_in_alphabetical_order(uci):
    lines = [line.split(",") for line in (uci / "kr-vs-kp.data").read_text().split()]
    found = datasets.chess(uci)
    np.testing.assert_array_equal(found.y, np.resize([0, 1], 10))
    code = {"f": 0, "t": 1, "g": 0, "l": 1, "b": 0, "n": 1, "w": 2}
    np.testing.assert_array_equal(found.X, [[code[v] for v in line[:36]] for line in lines])
    assert found.X.dtype == np.float64 and found.X.flags.c_contiguous
    scaled = datasets.chess(uci, standardise=True)
    np.testing.assert_array_equal(scaled.X, datasets.z_scored(found.X))
    assert scaled.name == "Chess, standardised"


def test_all_classes_are_numbered_in_their_order(uci, monkeypatch):
    monkeypatch.setattr(datasets, "COUNTS", {"StatLog": [2] * 6, "CTG": [3] * 3})
    for name, own, y in (("StatLog", datasets.statlog, np.resize(range(6), 12)),
                         ("CTG", datasets.ctg, np.resize([2, 0, 1], 9))):
        found = datasets.all_classes(name, uci)
        assert found.name == f"{name}, {max(y) + 1} classes" and found.y.dtype == np.float64
        np.testing.assert_array_equal(found.y, y)
        np.testing.assert_array_equal(found.X, own(uci).X)
    monkeypatch.setattr(datasets, "COUNTS", {"CTG": [3, 2, 4]})
    with pytest.raises(DataError, match=r"CTG has \[3, 3, 3\] cases of its classes, expected"):
        datasets.all_classes("CTG", uci)


@pytest.mark.parametrize("name", UCI_SETS)
def test_a_file_may_be_compressed_and_has_its_own_checksum(uci, tmp_path, name):
    content, path = (uci / name).read_bytes(), tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(content))
    np.testing.assert_array_equal(UCI_SETS[name](tmp_path).X, UCI_SETS[name](uci).X)
    path.write_bytes(gzip.compress(content[:-1]))
    with pytest.raises(DataError, match=f"expected {datasets.UCI_FILES[name][1]}"):
        UCI_SETS[name](tmp_path)


@pytest.mark.parametrize("key", datasets.SHAPES)
def test_other_counts_are_refused(uci, monkeypatch, key):
    monkeypatch.setitem(datasets.POSITIVE, key, 4)
    with pytest.raises(DataError, match=rf"{key} has .* cases of class 1, expected .* and 4"):
        getattr(datasets, key.lower())(uci)


def test_the_data_sets_have_the_size_that_the_paper_prints():
    for name, (cases, attributes) in datasets.SHAPES.items():
        # the paper's p of StatLog counts the intercept
        assert (cases, attributes + (name == "StatLog")) == (PROBLEMS[name].n, PROBLEMS[name].p)


@pytest.mark.parametrize("name", ["StatLog", "CTG", "Chess", "Chess, standardised"])
def test_the_real_files_of_uci_are_what_they_should_be(real, name):
    found = real(datasets.load, name)
    key = name.split(",")[0]
    assert (found.name, found.X.shape) == (name, datasets.SHAPES[key])
    assert found.X.flags.c_contiguous and set(np.unique(found.y)) == {0.0, 1.0}
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
    # a derived copy, in which CLASS stands before NSP
    rows = real(files.find, "CTG.csv", None, "", CSV, packed=True).decode().splitlines()[1:]
    np.testing.assert_array_equal(
        datasets.spreadsheet(real(datasets.uci, "CTG.xls", None)),
        np.delete([[float(x) for x in row.split(",")] for row in rows], -2, axis=1))


ALL_THREE = "StatLog; CTG; Chess"


@pytest.mark.parametrize(("script", "names"), [
    ("beyond.meet", "optical digits; CTG"),
    ("beyond.shahbaba_multinomial", "StatLog, 6 classes; CTG, 3 classes"),
    ("beyond.shahbaba_rivals", f"simulated; {ALL_THREE}"), ("shahbaba_table2", ALL_THREE),
    ("beyond.shahbaba_tau_beta", f"simulated; {ALL_THREE}")])
def test_a_script_looks_for_all_its_files_before_anything_else(script, names, uci, monkeypatch,
                                                               capsys):
    monkeypatch.setattr(datasets, "COUNTS", {"StatLog": [2] * 6, "CTG": [3] * 3})
    cases = import_module(f"reproduce.{script}").cases
    assert cases(Settings("paper", data=uci)) == names
    monkeypatch.setattr(files, "download", None)
    (uci / "CTG.xls").unlink()  # which all of them need
    # a smoke run has a stand-in, and no other run has
    found = cases(Settings("smoke", data=uci))
    assert found.note and isinstance(found, datasets.StandIn)
    for budget in ("short", "paper"):
        with pytest.raises(SystemExit) as end:
            cases(Settings(budget, data=uci))
        assert end.value.code == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if "looking else" not in line]
    assert len(errors) == 3 and all("CTG.xls" in line and "--data DIR" in line for line in errors)


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


@pytest.mark.parametrize("name", ["StatLog ", "Chess,", "simulated logistic data, seed -1", ""])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.load(name)
