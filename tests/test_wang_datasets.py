"""The ten data sets of Wang and Neal: their law, and what the approximations take."""

import numpy as np
import pytest

from models.gp_nystrom import GPNystrom
from models.gp_subset import GPSubset
from reproduce.wang.datasets import C, approximation, data, order, posterior, scale_m
from reproduce.wang.identities import SIGMA, kernel
from reproduce.wang.printed import NYSTROM, SOD, TEMPERED, lengths


@pytest.mark.parametrize("number", [1, 3, 5])
def test_the_responses_have_the_covariance_of_table_1(number):
    # whitened by the dense covariance they are independent standard normal numbers
    white = np.array([np.linalg.solve(np.linalg.cholesky(
        kernel(X, X, lengths(number)) + SIGMA**2 * np.eye(25)), y)
        for X, y, _ in (data(number, index, 25) for index in range(40))])
    assert abs(white.mean()) < 4 / 1000**0.5  # 4 standard errors of 1000 numbers
    assert abs(np.mean(white**2) - 1) < 4 * (2 / 1000) ** 0.5
    # the first is that of the constant above all: of its variance 40 numbers are known
    assert abs(np.mean(white[:, 0] ** 2) - 1) < 4 * (2 / 40) ** 0.5


def test_data_sets_are_those_of_table_1_and_differ():
    for number, expected in ((1, [0.5, 5, 0.1]), (3, [0.5, 5, 0.1, 0.2, 0.3, 0.4, 0.5]),
                             (4, [0.5, 5, 2.0]), (10, [0.5, 5, 2, 4, 6, 8, 10])):
        # rounding of exp(log)
        assert np.exp(data(number, 0, 4)[2]) == pytest.approx(expected, rel=1e-14)
    model, _ = posterior(3, 0, 12)
    assert model.c2 == C**2 and model.group.tolist() == [0, 1, 2, 3, 4]
    assert model.mean.tolist() == [0] * 7 and model.precision.tolist() == [0.25] * 7
    assert posterior(4, 0, 12)[0].group.tolist() == [0] * 5
    X, y, _ = data(4, 2, 9)
    assert np.array_equal(y, data(4, 2, 9)[1])
    assert not np.array_equal(X, data(4, 3, 9)[0]) and not np.array_equal(X, data(9, 2, 9)[0])
    assert data(1, 0)[0].shape == (300, 1) and data(2, 1)[0].shape == (300, 5)
    X = np.concatenate([data(2, index, 100)[0] for index in range(5)])
    assert X.shape == (500, 5) and X.min() >= 0 and X.max() <= 1
    assert np.abs(X.mean(axis=0) - 0.5).max() < 4 / (12 * 500) ** 0.5  # 4 standard errors
    assert np.abs(X.var(axis=0) - 1 / 12).max() < 4 * (1 / 180 / 500) ** 0.5


def test_subsets_are_nested_and_random_and_their_sizes_in_proportion():
    model, _ = posterior(2, 0, 30)
    cases = order(2, 0, 30)
    assert sorted(cases) == list(range(30)) and cases.tolist() != list(range(30))
    assert cases.tolist() != order(2, 1, 30).tolist()
    assert cases[:6].tolist() == [3, 1, 5, 6, 18, 7]  # as the stored chains had them
    made = (approximation(model, SOD, 8, cases), approximation(model, NYSTROM, 5, cases),
            *approximation(model, TEMPERED, (10, 5), cases))  # the larger is nearest to pi
    for one, kind, m in zip(made, (GPSubset, GPNystrom, GPSubset, GPSubset), (8, 5, 10, 5),
                            strict=True):
        assert isinstance(one, kind) and one.index.tolist() == cases[:m].tolist()
    assert scale_m(40, 1) == 40 and scale_m((40, 20), 1) == (40, 20)
    assert scale_m(150, 2, 30) == 15 and scale_m((100, 50), 2, 30) == (10, 5)
    assert scale_m(60, 6, 20) == 2  # at least two
    assert scale_m(100, 3, 29) == 10 and scale_m(100, 3, 28) == 9  # the nearest to 9.7 and 9.3
