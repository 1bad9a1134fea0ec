"""The data sets of Zhang and Sutton: files, stand-ins, and what can go wrong."""

import hashlib

import numpy as np
import pytest
import scipy.io

from reproduce.harness import files
from reproduce.harness.files import DataError
from reproduce.zhang import datasets
from reproduce.zhang.printed import VOLATILITY

LOADERS = {"german.data": datasets.german_credit, "StochVolData1.mat": datasets.volatility,
           "TestData64.mat": datasets.cox_64}
NAMES = dict(zip(LOADERS, (datasets.GERMAN, datasets.VOLATILITY, datasets.COX), strict=True))


def german(rng):
    """Return the text of 12 cases in the format of german.data; 4 of purpose 0, 8 of 10."""
    rows = [[f"A{k}{rng.integers(1, 4)}" if k % 2 else str(rng.integers(1, 90))
             for k in range(1, 21)] for _ in range(12)]
    return "".join(f"{' '.join(row[:3])} {'A410' if case % 3 else 'A40'} {' '.join(row[4:])}"
                   f" {1 if case % 4 else 2}\n" for case, row in enumerate(rows))


@pytest.fixture
def place(tmp_path, monkeypatch, nowhere):
    """Make three small files in the formats of the originals, the only ones; return the folder."""
    folder, rng = tmp_path / "given", np.random.default_rng(3)
    folder.mkdir()
    (folder / "german.data").write_text(german(rng))
    scipy.io.savemat(folder / "StochVolData1.mat", dict(
        y=rng.normal(size=(7, 1)), Truex=rng.normal(size=(7, 1)), beta=0.65, sigma=0.15, phi=0.98))
    scipy.io.savemat(folder / "TestData64.mat", dict(
        Y=rng.poisson(1.0, (4096, 1)).astype(np.uint8), X=rng.normal(size=(4096, 1))))
    monkeypatch.setattr(datasets, "FILES", {
        name: ("http://127.0.0.1:9/" + name,
               hashlib.sha256((folder / name).read_bytes()).hexdigest()) for name in LOADERS})
    monkeypatch.setattr(datasets, "PURPOSES", {0: 4, 10: 8})
    monkeypatch.setattr(datasets, "GOOD", 9)
    return folder


def test_credit_is_numbered_standardised_and_grouped(place):
    found = datasets.german_credit(place)
    rows = [line.split() for line in (place / "german.data").read_text().splitlines()]
    assert found.X.shape == (12, 20) and found.X.dtype == np.float64
    np.testing.assert_array_equal(found.X[:, 0], 1)
    np.testing.assert_array_equal(found.group, [0, 10, 10] * 4)
    np.testing.assert_array_equal(found.y, [-1, 1, 1, 1] * 3)
    for column, k in zip(found.X.T[1:], [1, 2, 3, *range(5, 21)], strict=True):
        # "A143" is value 3 of attribute 14; a number is itself
        value = [float(row[k - 1].removeprefix(f"A{k}")) for row in rows]
        # rounding of two ways to a mean of 12
        np.testing.assert_allclose(column, (value - np.mean(value)) / np.std(value), rtol=0,
                                   atol=1e-13)


def test_volatilities_and_counts_are_what_the_files_hold(place):
    file = scipy.io.loadmat(place / "StochVolData1.mat")
    found = datasets.volatility(place)
    np.testing.assert_array_equal(found.y, file["y"][:, 0])
    np.testing.assert_array_equal(found.x, file["Truex"][:, 0])
    file, found = scipy.io.loadmat(place / "TestData64.mat"), datasets.cox_64(place)
    assert found.y.dtype == np.float64 and found.y.flags.c_contiguous and found.x.flags.c_contiguous
    # a file of Matlab: entry i + 64 j is row i, column j
    np.testing.assert_array_equal(found.y, file["Y"].reshape(64, 64).T)
    np.testing.assert_array_equal(found.x, file["X"].reshape(64, 64).T)


def test_other_counts_and_other_parameters_are_refused(place, monkeypatch):
    monkeypatch.setattr(datasets, "GOOD", 8)
    with pytest.raises(DataError, match=r"9 good risks and groups of \{0: 4, 10: 8\}"):
        datasets.german_credit(place)
    monkeypatch.setattr(datasets, "SIGMA", 0.2)
    with pytest.raises(DataError, match=r"\[0.65, 0.15, 0.98\], expected \[0.65, 0.2, 0.98\]"):
        datasets.volatility(place)


@pytest.mark.parametrize("name", LOADERS)
def test_without_its_file_a_data_set_is_simulated_and_says_so(place, name, capsys, monkeypatch):
    (place / name).write_bytes(b"another file")
    with pytest.raises(DataError, match="damaged or another file"):
        LOADERS[name](place)
    (place / name).unlink()
    small = datasets.simulated_cox(4)  # the Cholesky factor of 4096 x 4096 takes its time
    monkeypatch.setattr(datasets, "simulated_cox", lambda d: small)
    found = LOADERS[name](place)
    assert "not available" in found.note and found.name.startswith("simulated")
    assert name in capsys.readouterr().err
    with pytest.raises(files.Missing, match=name):
        LOADERS[name](place, fallback=False)
    with pytest.raises(files.Missing):  # nor where it is asked for by name
        datasets.load(NAMES[name])


def test_simulated_volatility_is_the_stationary_process():
    found, (z, noise) = datasets.simulated_volatility(20, 2), np.random.default_rng(
        2).standard_normal((2, 20))
    beta, sigma, phi = (VOLATILITY[name] for name in ("beta", "sigma", "phi"))
    x = [sigma * z[0] / (1 - phi**2) ** 0.5, *(phi * found.x[:-1] + sigma * z[1:])]
    np.testing.assert_allclose(found.x, x, rtol=1e-12)
    np.testing.assert_allclose(found.y, beta * np.exp(found.x / 2) * noise, rtol=1e-12)


@pytest.mark.parametrize(("distance", "step"), [("unit", 1 / 7), ("pixel", 1.0)])
def test_simulated_counts_follow_the_field_and_the_field_its_covariance(distance, step):
    found, rng = datasets.simulated_cox(8, 3, distance), np.random.default_rng(3)
    i, j = np.divmod(np.arange(64), 8)
    far = step * np.hypot(i[:, None] - i, j[:, None] - j)
    root = np.linalg.cholesky(1.91 * np.exp(-far / (8 / 33)))
    x = np.log(126) - 1.91 / 2 + root @ rng.standard_normal(64)
    np.testing.assert_allclose(found.x.ravel(), x, rtol=0, atol=1e-12)  # rounding
    np.testing.assert_array_equal(found.y.ravel(), rng.poisson(np.exp(x) / 64))


@pytest.mark.parametrize("made", [
    lambda: datasets.simulated_credit(3), lambda: datasets.simulated_volatility(50, 4),
    lambda: datasets.simulated_cox(5, 2, "pixel")], ids=["credit", "volatility", "Cox"])
def test_a_simulated_data_set_is_made_again_by_its_name(made):
    first = made()
    again = datasets.load(first.name)
    assert again.name == first.name
    for a, b in zip(first[1:-1], again[1:-1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_name_that_is_none_and_another_distance_are_refused():
    for name in ("", "German credit", "simulated Cox process, 3 x 4, unit, seed 1",
                 "simulated volatility, T = x, seed 1"):
        with pytest.raises(ValueError, match="name must be one of"):
            datasets.load(name)
    with pytest.raises(ValueError, match="distance must be 'unit' or 'pixel', not 'metre'"):
        datasets.simulated_cox(4, 1, "metre")


def test_the_real_files_are_what_they_should_be(real):
    credit, series, grid = (real(datasets.load, name) for name in NAMES.values())
    # the labels belong to the cases: a linear fit tells them apart better than the mean does
    residual = credit.y - credit.X @ np.linalg.lstsq(credit.X, credit.y)[0]
    assert residual.var() < 0.85 * credit.y.var()
    # the returns are scaled by their volatilities: standard normal, 4 standard errors
    assert series.y.shape == (2000,)
    assert abs((series.y / 0.65 / np.exp(series.x / 2)).std() - 1) < 4 / (2 * 2000) ** 0.5
    # counts with the mean e^x / 4096
    z = (grid.y - np.exp(grid.x) / 4096).sum() / np.sqrt(np.exp(grid.x).sum() / 4096)
    assert abs(z) < 4
    # neighbours in both directions are alike, as they would not be in another order
    for lag in (np.diff(grid.x, axis=0), np.diff(grid.x, axis=1)):
        assert np.mean(lag**2) < 0.2 * grid.x.var()
