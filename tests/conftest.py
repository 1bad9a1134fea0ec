"""Two processes run the whole suite, one a single file; BLAS runs on one thread in all of them."""

import os
import signal

import pytest
import threadpoolctl

os.environ["OPENBLAS_NUM_THREADS"] = "1"


def pytest_xdist_auto_num_workers(config):
    """Return 0, which is this process, for a few tests, for benchmarks and for planted bugs."""
    alone = config.option.markexpr in ("benchmark", "cluster", "slow") or any(
        ".py" in argument for argument in config.args)
    return 0 if alone else min(2, os.cpu_count())


COLLECTED = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Note the tests of whole files, before -m and -k leave some out; None for parts of files."""
    part = config.getoption("lf", False) or any("::" in argument for argument in config.args)
    config.stash[COLLECTED] = None if part else {item.nodeid for item in items}


@pytest.fixture
def collected(request):
    """Return the node ids of all tests in the files of this run, or skip."""
    if request.config.stash[COLLECTED] is None:
        pytest.skip("only parts of files were asked for")
    return request.config.stash[COLLECTED]


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Of two, each waits for the other where the machine is busy; and the last bits differ."""
    with threadpoolctl.threadpool_limits(1, "blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """Undo what a shell does to a background job, in which SIGINT is ignored; so do its own."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


class Given:
    """In place of a generator: gives these vectors of normals, and these uniforms, in turn."""

    def __init__(self, *normals, uniforms=(0.0,), exponential=None):
        self.normals, self.uniforms, self.exponential = normals, uniforms, exponential
        self.vectors = self.drawn = 0  # how many were asked for

    def standard_normal(self, n):
        self.vectors += 1
        z = self.normals[(self.vectors - 1) % len(self.normals)]
        assert z.size == n
        return z.copy()

    def random(self):
        self.drawn += 1
        assert self.drawn < 2000  # an update that does not end
        return self.uniforms[(self.drawn - 1) % len(self.uniforms)]

    def standard_exponential(self):
        return self.exponential
