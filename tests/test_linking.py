"""models/linking.py: long functions are compiled once, linked, and give the same numbers."""

import numpy as np

from models import linking
from models.jit import njit


@njit
def long_sum(x):
    """Add up what branches make too long to be inlined."""
    total = 0.0
    for k in range(x.size):
        if x[k] > 3.0:
            total += np.sin(x[k]) ** 2 / (1.0 + np.exp(-x[k]))
        elif x[k] > 2.0:
            total += np.log1p(x[k] ** 2) * np.cos(x[k])
        elif x[k] > 1.0:
            total -= np.tanh(x[k]) / (2.0 + np.sin(x[k]))
        else:
            total += np.arctan2(x[k], 1.5) + np.sqrt(np.abs(x[k]))
        for j in range(k % 3):
            total += np.hypot(x[j], x[k]) - np.floor(x[j]) * np.ceil(x[k])
    return total + x.copy().sum() + np.sort(x)[0] + x.reshape(1, -1).max()


@njit
def short_sum(x):
    """Add up what is inlined."""
    return x[0] + x[1]


@njit
def one_caller(x):
    """Call the long function, and the short one."""
    return 2.0 * long_sum(x) + short_sum(x)


@njit
def another_caller(x):
    """Call the long function too."""
    return 3.0 * long_sum(x)


def library(function):
    return next(iter(function.overloads.values())).library


def test_callers_are_linked_with_the_one_machine_code_of_a_long_function():
    x = np.linspace(0.1, 4.0, 40)
    expected = long_sum.py_func(x)
    assert one_caller(x) == 2.0 * expected + x[0] + x[1] and another_caller(x) == 3.0 * expected
    long_sum(x)
    (names,) = {each.names for each in library(one_caller).calls} & {
        each.names for each in library(another_caller).calls} & {library(long_sum).names}
    assert linking.known[names] is not None and names
    assert all("short_sum" not in name for each in library(one_caller).calls
               for name in each.names)
