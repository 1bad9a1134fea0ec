"""reproduce/paquet/digits.py: the recipe of the data set, and what takes its place."""

import gzip
import io

import numpy as np
import pytest

from reproduce.harness.files import DataError, find
from reproduce.paquet import digits
from reproduce.paquet.digits import digits_3v5, usps_3v5, usps_3v5_test
from test_files import sha256

HALF = 4649
REBUILT = ("usps_3v5_from_zip.npz", None, "",
           "3cff1facf904d52ef9f77a2c7c8f42068702ec895a443d75ae509efbcec11a27")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Make two files in the format of the original ones: digits, and a bright pixel each."""
    folder, rng = tmp_path_factory.mktemp("zip"), np.random.default_rng(1)
    cases = np.full((9298, 257), -1)
    cases[:, 0] = rng.integers(0, 10, len(cases))
    cases[order()[[HALF - 1, HALF]], 0] = 3, 5  # the last case of one half, the first of the other
    cases[np.arange(len(cases)), rng.integers(1, 257, len(cases))] = 1
    for name, part in (("zip.train.gz", cases[:7291]), ("zip.test.gz", cases[7291:])):
        text = "\n".join(" ".join(map(str, case)) for case in part.tolist())
        (folder / name).write_bytes(gzip.compress(text.encode(), mtime=0))
    return folder, cases


@pytest.fixture
def place(original, nowhere, monkeypatch):
    """Let `original` be the data set; return its folder."""
    folder, cases = original
    digit = cases[order(), 0]
    for name, value in {
            "SHA256": {name: sha256((folder / name).read_bytes()) for name in digits.SHA256},
            "SHA256_LABELS": sha256("".join(map(str, digit)).encode()),
            "COUNTS": {part: tuple(int((half == d).sum()) for d in (3, 5)) for part, half in (
                ("training", digit[:HALF]), ("test", digit[HALF:]))},
            "SITE": "http://127.0.0.1:9/"}.items():  # nobody listens there
        monkeypatch.setattr(digits, name, value)
    digits.usps.cache_clear()
    yield folder
    digits.usps.cache_clear()


def order():
    """Return the shuffle, as the generator's definition says."""
    states = [27 * 2**16 * pow(16807, k, 2**31 - 1) % (2**31 - 1) for k in range(1, 9299)]
    return np.array(sorted(range(9298), key=states.__getitem__))


def test_the_generator_passes_the_check_of_its_authors_and_counts_are_the_papers():
    assert digits.park_miller(1, 10_000)[-1] == 1043618065  # Park and Miller (1988), page 1195
    assert [sum(digits.COUNTS[part]) for part in ("training", "test")] == [767, 773]


@pytest.mark.parametrize(("function", "half"), [
    (usps_3v5, slice(0, HALF)), (usps_3v5_test, slice(HALF, None))])
def test_the_recipe_shuffles_then_smooths_then_takes_threes_and_fives(
        place, original, function, half):
    function(place).X[:] = np.nan  # a caller who changes his arrays changes nobody else's
    found = function(place)
    cases = original[1][order()][half]
    wanted = np.vstack([cases[cases[:, 0] == 3], cases[cases[:, 0] == 5]])
    weights = np.exp(-np.subtract.outer(range(16), range(16)) ** 2 / (2 * 0.75**2))
    weights = np.triu(np.tril(weights, 3), -3) / weights[8, 5:12].sum()
    smooth = weights @ (wanted[:, 1:].reshape(-1, 16, 16) + 1) @ weights.T - 1
    # rounding of a sum of 7 terms of size 1, twice
    np.testing.assert_allclose(found.X, smooth.reshape(-1, 256), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(found.y, np.where(wanted[:, 0] == 3, 1.0, -1.0))
    assert found.X.dtype == found.y.dtype == np.float64
    assert found.X.flags.c_contiguous and found.note == ""


@pytest.mark.parametrize(("name", "other", "said"), [
    ("SHA256_LABELS", sha256(b"3535"), "not in the order"),
    ("COUNTS", {"training": (406, 361)}, r"threes and .* fives, expected")])
def test_other_labels_or_another_number_of_cases_are_refused(place, monkeypatch, name, other, said):
    monkeypatch.setattr(digits, name, other)
    with pytest.raises(DataError, match=said):
        usps_3v5(place)


def test_the_real_files_give_the_published_data_set(real):
    with np.load(io.BytesIO(real(find, *REBUILT))) as file:
        for found, part in ((real(usps_3v5, fallback=False), "train"),
                            (real(usps_3v5_test), "test")):
            # two ways to sum the same 49 products
            np.testing.assert_allclose(found.X, file[f"x_{part}"], rtol=0, atol=1e-14)
            np.testing.assert_array_equal(found.y, file[f"y_{part}"])


def test_the_embedded_digits():
    found = digits_3v5()
    assert found.X.shape == (365, 64) and found.X.dtype == found.y.dtype == np.float64
    assert set(np.unique(8 * (found.X + 1))) == set(range(17))
    np.testing.assert_array_equal(found.y, np.repeat([1.0, -1.0], [183, 182]))
    assert len(np.unique(found.X, axis=0)) == 365  # as in the UCI file: no case is there twice
    # the labels belong to the images: 65 coefficients tell 365 random labels apart only to 75%
    X = np.c_[found.X, np.ones(365)]
    assert (np.sign(X @ np.linalg.lstsq(X, found.y)[0]) == found.y).mean() > 0.95


def test_without_the_files_the_embedded_digits_take_over_and_say_so(place, tmp_path, capsys):
    found = usps_3v5()
    np.testing.assert_array_equal(found.X, digits_3v5().X)
    assert found.note == "USPS 3 vs 5 is not available: embedded optical digits"
    assert "--data DIR" in capsys.readouterr().err
    (tmp_path / "zip.train.gz").write_bytes(b"not the data")
    with pytest.raises(DataError, match="damaged"):  # whose place nothing takes
        usps_3v5(tmp_path)


def test_without_fallback_the_reader_learns_what_is_missing(place, tmp_path):
    for load, more in ((usps_3v5, {"fallback": False}), (usps_3v5_test, {})):
        with pytest.raises(DataError, match=r"zip\.train\.gz"):
            load(tmp_path / "mine", **more)


def test_a_data_set_is_found_again_by_its_name(place, monkeypatch):
    monkeypatch.setenv("PAPERS_DATA", str(place))
    for function in (usps_3v5, usps_3v5_test, digits_3v5):
        np.testing.assert_array_equal(digits.threes_and_fives(function().name).X, function().X)
    with pytest.raises(KeyError):
        digits.threes_and_fives("USPS")
