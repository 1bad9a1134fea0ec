"""models/jit.py: checks in front of compiled code, and what both kinds of code can call."""

import subprocess
import sys
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from numba import types

from models.jit import external, njit, public
from studies import environment


def check_halve(x, times=1):
    if times < 0:
        raise ValueError("times must not be negative")
    return float(x), times


@public(check_halve)
@njit
def halve(x, times=1):
    """Halve x so many times."""
    return x / 2**times


@njit
def caller(x):
    return halve(x, 2)


def test_entry_checks_python_callers_and_lets_compiled_ones_through():
    assert halve(3) == 1.5
    assert halve(3, times=2) == 0.75
    assert halve.py_func(3.0, 1) == 1.5
    assert halve.__doc__ == "Halve x so many times."
    assert caller(8.0) == 2.0
    assert caller(8.0) == caller.py_func(8.0)
    with pytest.raises(ValueError, match="times must not be negative"):
        halve(3, -1)


def test_a_call_that_does_not_fit_is_told_what_would():
    takes = r"; it takes \(x, times=1\)"
    for wrong, message in (
            (lambda: halve(3, tmies=2), r"halve\(\) got an unexpected .* did you mean 'times'\?"),
            (lambda: halve(3, zzz=2), "halve.* argument 'zzz'" + takes),
            (lambda: halve(times=2), "halve.* missing a required argument: 'x'" + takes),
            (lambda: halve(3, 1, 2), "halve.* too many positional arguments" + takes),
            (lambda: halve(3, x=1), "halve.* multiple values for argument 'x'" + takes)):
        with pytest.raises(TypeError, match=message):
            wrong()


def test_division_by_zero_is_infinite_as_in_numpy():
    @njit
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == np.inf


class Moved(NamedTuple):
    x: np.ndarray
    size: float


@njit
def move(moved, rng):
    return Moved(moved.x + rng.random(), moved.size)


def test_nothing_is_kept_of_what_goes_into_compiled_code_and_comes_out_of_it():
    # or a long run would fill the memory, which no result shows
    moved, rng = Moved(np.zeros(2), 1.0), np.random.default_rng(1)
    move(moved, rng)  # compiles
    held = Moved, tuple.__new__, moved, moved.x, moved.size, rng, np.dtype(float)
    before = [*map(sys.getrefcount, held)]
    for _ in range(100):
        found = move(moved, rng)
    assert np.abs(np.subtract([*map(sys.getrefcount, held)], before)).max() < 50
    x = weakref.ref(found.x)
    del found
    assert x() is None


ddot = external("scipy.linalg.cython_blas", "ddot", types.double(*[types.voidptr] * 5))


@njit
def dot(a, b):
    """Return a'b of two vectors, which may have gaps between their elements."""
    sizes = np.array([a.size, a.strides[0] // 8, b.strides[0] // 8], np.int32)
    return ddot(sizes[:1].ctypes, a.ctypes, sizes[1:].ctypes, b.ctypes, sizes[2:].ctypes)


def test_a_function_of_scipy_is_the_same_compiled_and_interpreted():
    a, b = np.arange(12.0)[::3], np.arange(8.0)[1::2]
    assert dot(a, b) == dot.py_func(a, b) == a @ b  # whole numbers: no rounding


CLOCKED = """
import importlib, itertools, os, sys, threadpoolctl
from types import SimpleNamespace
from models import jit
for quiet in (True, False):
    if not quiet:
        del os.environ["MIRRORMC_QUIET"]  # which is looked at once, by the import
        importlib.reload(jit)
    jit.time = SimpleNamespace(monotonic=itertools.count().__next__)
    inner = jit.njit(lambda x: x + 1)
    @jit.public(lambda x: (x,))
    @jit.njit
    def outer(x):
        return inner(x)
    print(outer(1.0), outer(2.0), file=sys.stderr)
    within = jit.njit(lambda x: x + 2)
    @jit.tells
    def plain(x):
        return jit.njit(lambda x: within(x))(x)
    print(plain(1.0), file=sys.stderr)
print({pool["num_threads"] for pool in threadpoolctl.threadpool_info()})
"""


def test_what_is_compiled_is_told_after_a_second_unless_that_is_not_wanted():
    done = subprocess.run([sys.executable, "-c", CLOCKED], capture_output=True, text=True,
                          check=True, env=environment(MIRRORMC_QUIET="1"))
    said = ("compiling outer for these arguments, up to a minute the first time:"
            " 2 of at most 2 functions\n")
    assert done.stderr == f"2.0 3.0\n3.0\n{said}2.0 3.0\n{said.replace('outer', 'plain')}3.0\n"
    assert done.stdout == "{1}\n"  # OPENBLAS_NUM_THREADS, also of the processes that tests start
