"""BLAS runs on one thread, in the tests and in the processes that they start."""

import os

import pytest
import threadpoolctl

os.environ["OPENBLAS_NUM_THREADS"] = "1"


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Of two, each waits for the other where the machine is busy; and the last bits differ."""
    with threadpoolctl.threadpool_limits(1, "blas"):
        yield
