"""`departs`: a test that passes on what we do and fails on what is printed."""

import numpy as np
import pytest

from reproduce.harness.mirrors import variant


def departs(ours, theirs):
    """Run a test of one argument on `ours`, where it must pass, and on `theirs`, where it must not.

    `ours` is a mirror and `theirs` the lines of print that take the place of its own, as for
    `variant`, both run by the interpreter; or they are any two things that the test takes.
    """

    def decorate(test):
        def both():
            test(getattr(ours, "py_func", ours))
            printed = variant(ours, theirs) if isinstance(theirs, dict) else theirs
            with np.errstate(all="ignore"):
                try:
                    test(printed)
                except AssertionError:
                    return
            pytest.fail(f"the test passes on what is printed, too: {theirs}")

        both.__name__, both.__doc__, both.__module__ = test.__name__, test.__doc__, test.__module__
        return both

    return decorate
