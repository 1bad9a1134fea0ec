"""models/jit.py: checks in front of compiled code, and what both kinds of code can call.

Generic functions are tested in test_interface.py, the cache in test_cache.py.
"""

import subprocess
import sys

import numpy as np
import pytest
from numba import types
from threadpoolctl import threadpool_info

from models.jit import entry, external, njit


def check_halve(x, times=1):
    if times < 0:
        raise ValueError("times must not be negative")
    return float(x), times


@entry(check_halve)
@njit
def halve(x, times=1):
    """Halve x so many times."""
    return x / 2**times


@njit
def caller(x):
    """Compiled code reaches the compiled function."""
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


def test_division_by_zero_is_infinite_as_in_numpy():
    @njit
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == np.inf


ddot = external("scipy.linalg.cython_blas", "ddot", types.double(*[types.voidptr] * 5))


@njit
def dot(a, b):
    """Return a'b of two vectors, which may have gaps between their elements."""
    sizes = np.array([a.size, a.strides[0] // 8, b.strides[0] // 8], np.int32)
    return ddot(sizes[:1].ctypes, a.ctypes, sizes[1:].ctypes, b.ctypes, sizes[2:].ctypes)


def test_a_function_of_scipy_is_the_same_compiled_and_interpreted():
    a, b = np.arange(12.0)[::3], np.arange(8.0)[1::2]
    assert dot(a, b) == dot.py_func(a, b) == a @ b  # whole numbers: no rounding


def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_runs_on_one_thread_here_and_in_the_processes_that_tests_start():
    assert threads() == {1}
    code = ("import numpy, scipy.linalg, threadpoolctl\n"
            "print({p['num_threads'] for p in threadpoolctl.threadpool_info()})")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{1}"
