"""models/linking.py: long functions are compiled once, short ones in each that calls them."""

import sys

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags

from models import cache
from models.jit import njit
from models.linking import Library, known


@njit
def long(x, n):
    """Sort, multiply and add, and fill more lines than can be inlined."""
    A = np.empty((n, n))
    for j in range(n):
        for k in range(n):
            A[j, k] = np.exp(-j * k) + np.sin(x)
    return np.sort((A @ A)[0])[0] + x


@njit
def short(x):
    return x + 1.0


@njit
def caller(x):
    return long(x, 3) + short(x)


@njit
def outer(x):
    return 2.0 * caller(x)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile all of it here, whatever is in the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "read", lambda file: None)
        outer(2.0)


def library(function):
    (result,) = function.overloads.values()
    return result.library


def test_a_long_function_is_linked_and_a_short_one_copied():
    assert caller(2.0) == pytest.approx(long.py_func(2.0, 3) + 3.0, rel=1e-12)
    assert outer(2.0) == 2.0 * caller(2.0)
    inner, small, whole = map(library, (long, short, caller))
    assert isinstance(whole, Library)
    assert inner.names and inner in whole.calls and known[inner.names] is inner
    assert not set(inner.names) & {*whole.symbols}  # it has no copy
    assert not small.names and small not in whole.calls
    assert inner in library(outer).calls


def test_what_is_linked_comes_after_what_it_calls_itself():
    order = [*library(caller).calls]
    for k, each in enumerate(order):
        assert {*each.calls} <= {*order[:k]}


def test_a_library_that_is_loaded_twice_is_there_once():
    inner = library(long)
    assert Library._unserialize(inner.codegen, inner.serialize_using_object_code()) is inner


@pytest.mark.parametrize("hook", ["_object_cache_notify", "_object_cache_getbuffer"])
def test_ctrl_c_while_llvm_calls_python_is_raised_and_nothing_is_written(hook, monkeypatch):
    def pressed(*arguments):
        raise KeyboardInterrupt

    written, other = [], njit(lambda x: x - 1.0)
    monkeypatch.setattr(cache, "write", lambda *arguments: written.append(arguments))
    monkeypatch.setattr(sys, "unraisablehook", print)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(library(long).codegen._engine._ee, hook, pressed)
        other(2.0)
    assert not written and other(2.0) == 1.0 and library(other).machine_code
    assert sys.unraisablehook is print  # whoever has set it


def test_options_are_equal_whether_they_were_given_or_left_out():
    left_out, given, other = Flags(), Flags(), Flags()
    given.boundscheck, other.boundscheck = Flags().boundscheck, True
    assert left_out == given and left_out != other and left_out != "options"


def test_a_cache_of_numba_does_not_write_what_is_linked():

    @numba.njit
    def other(x):
        return long(x, 3)

    assert other(2.0) + 3.0 == pytest.approx(caller(2.0), rel=1e-12)
    assert library(other).has_dynamic_globals and not library(short).has_dynamic_globals
