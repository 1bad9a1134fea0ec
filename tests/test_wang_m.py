"""The cost of a draw against m: the paper's range, what works, and what is timed."""

import numpy as np

from reproduce.beyond import wang_m as script
from reproduce.harness.claims import Measured
from reproduce.wang import eigen_exact
from reproduce.wang.long_chains import RANDOM
from reproduce.wang.printed import SOD


def test_the_best_inside_and_outside_of_the_papers_range():
    draws = {29: 1.0, 30: 3.0, 60: 2.0, 150: 4.0, 151: 1.5}
    result = {"n": {4: 300}, "curves": {4: {SOD: {RANDOM: {
        m: {"draw": Measured(value, 0.1)} for m, value in draws.items()}}}}}
    assert script.least_log_cost(result, 4, SOD).value == 1.0
    assert script.least_log_cost(result, 4, SOD, True).value == 2.0
    assert script.least_log_cost(result, 4, SOD, False).value == 1.0
    del result["curves"][4][SOD][RANDOM][29]
    assert script.least_log_cost(result, 4, SOD, False).value == 1.5


def test_how_many_columns_are_enough_depends_on_what_works():
    result = {"refused": {2: {0.5: Measured(0.3), 0.8: Measured(0.6), 1.0: Measured(0.7)}}}
    found = script.smallest_working_part(result, 2)
    assert found.settings == script.WORKS
    assert [each.value for each in found.found] == [0.5, 0.8, 2.0]  # none, at last


def test_what_is_timed_of_eigenvectors_is_the_approximation(monkeypatch):
    asked, ticks = {}, iter(range(0, 600, 10))
    monkeypatch.setattr(eigen_exact.time, "thread_time", lambda: float(next(ticks)))
    monkeypatch.setattr(eigen_exact, "scratches", lambda q, times, model: asked.update(
        {type(model).__name__: (times, getattr(model, "m", None))}))
    monkeypatch.setattr(eigen_exact, "eigh", lambda K, subset_by_index: asked.update(
        K=K, ends=subset_by_index))
    # the time of the posterior is of one evaluation, and the first round is dropped
    assert eigen_exact.eigen_clock(4, 3, 2, 12)["seconds"] == {
        "pi": [2.0] * 2, "all": [10.0] * 2, "first m": [10.0] * 2}
    assert (asked["GPRegression"], asked["GPEigen"], asked["ends"]) == ((5, None), (1, 3), [9, 11])
    # the kernel without its noise: 10^2 + 5^2 on the diagonal
    np.testing.assert_allclose(np.diag(asked["K"]), 125, rtol=1e-12)
    np.testing.assert_array_equal(asked["K"], asked["K"].T)
