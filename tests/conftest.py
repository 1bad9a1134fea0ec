"""Two processes run the whole suite, one a single file; BLAS runs on one thread in all of them.

No test needs a network, or waits for one.  Those that need real data (-m data) look for them where
the scripts do, in $PAPERS_DATA and in the user's cache, and are skipped where they are not.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import threadpoolctl

os.environ["OPENBLAS_NUM_THREADS"] = "1"
for scheme in ("http", "https"):
    os.environ[f"{scheme}_proxy"] = "http://127.0.0.1:9"  # nobody listens there


FOLDERS = os.pathsep.join(map(str, (Path(__file__).parents[1], Path(__file__).parent)))


def python(*arguments, **changes):
    """Run Python in a process of its own, which finds the project and its tests; return its output.

    changes : of the environment
    """
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": FOLDERS} | changes)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pytest_xdist_auto_num_workers(config):
    """Return 0, which is this process, for a few tests, for benchmarks and for planted bugs."""
    alone = config.option.markexpr in ("benchmark", "cluster", "slow") or any(
        ".py" in argument for argument in config.args)
    return 0 if alone else min(2, os.cpu_count())


COLLECTED = pytest.StashKey()
# first, so that no process is left alone with one of them at the end
LONG = {f"test_{name}.py" for name in ("pages_in_a_browser", "readme", "committed", "wang_samplers",
                                       "interrupt", "cache", "lessons", "arviz")}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Put long files first, mark what needs real data, and note the tests of whole files.

    This comes before -m and -k, which leave some out.
    """
    items.sort(key=lambda item: item.path.name not in LONG)
    for item in items:
        if "real" in item.fixturenames:
            item.add_marker("data")
    part = config.getoption("lf", False) or any("::" in argument for argument in config.args)
    # None for parts of files
    config.stash[COLLECTED] = None if part else {item.nodeid for item in items}


@pytest.fixture
def collected(request):
    """Return the node ids of all tests in the files of this run, or skip."""
    if request.config.stash[COLLECTED] is None:
        pytest.skip("needs whole files: run pytest without :: and --lf")
    return request.config.stash[COLLECTED]


@pytest.fixture
def real(monkeypatch):
    """Return a function that returns load(*arguments), a real data set or a file, or skips."""
    from reproduce.harness import files  # not before BLAS has been told how many threads it has

    monkeypatch.setattr(files, "download", None)

    def loaded(load, *arguments, **options):
        try:
            return load(*arguments, **options)
        except files.Missing as error:
            where = ("a second copy of ours, which is at no public site" if load is files.find else
                     "`python reproduce/data.py` fetches it")
            pytest.skip(f"needs {str(error).split()[0]}, which is neither in $PAPERS_DATA nor in"
                        f" the cache: {where}")

    return loaded


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Let there be an empty cache of data, no network, and no folder that is named elsewhere."""
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setenv("no_proxy", "*")  # the servers of tests are on this machine
    monkeypatch.delenv("PAPERS_DATA", raising=False)


@pytest.fixture
def loopback():
    """Skip where a process cannot reach itself, as in `unshare -rn`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        try:
            socket.create_connection(server.getsockname(), 5).close()
        except OSError:
            pytest.skip("needs another network than none, its own: `ip link set lo up`")


@pytest.fixture
def figures(tmp_path, monkeypatch):
    """Let the harness write to a folder of the test; return that of the smoke budget."""
    from reproduce.harness import replicates

    monkeypatch.setattr(replicates, "FIGURES", tmp_path / "figures")
    return tmp_path / "figures" / "smoke"


@pytest.fixture
def ends(monkeypatch, capsys, figures):
    """Return a function that runs a study: its exit status, what it prints, and its errors."""
    from reproduce.harness.run import main

    def started(study, *options):
        monkeypatch.setattr(sys, "argv", ["x_fig7.py", "--budget", "smoke", *options])
        with pytest.raises(SystemExit) as end:
            main(study)
        return end.value.code, *capsys.readouterr()

    return started


@pytest.fixture
def log(tmp_path):
    """Return the file in which studies.draw leaves a line for every call."""
    return tmp_path / "log"


@pytest.fixture
def example(request, tmp_path, monkeypatch):
    """Return a module that is the text EXAMPLE of the test's file."""
    (tmp_path / "an_example.py").write_text(request.module.EXAMPLE)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("an_example")
    del sys.modules["an_example"]


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what a test has drawn: Matplotlib warns of more than twenty figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


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


def says_what_is_needed(report):
    """Let a skip fail unless its reason names an installation, a file, a platform or an option."""
    if report.skipped and not hasattr(report, "wasxfail") and not re.search(
            r"install|data\.py|public site|needs (Linux|another|a processor|whole)|PLANTED_UNTIL",
            str(report.longrepr[2])):
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr[2]}: say what to install, or where to get the file"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return says_what_is_needed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return says_what_is_needed((yield))


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


def one(*_):
    """Return the cost of a call that is to be counted, for `counted`."""
    return 1


def counted(monkeypatch, module, interpreted, costs):
    """Return a dict of the costs of a module's calls; `costs` has functions of their arguments."""
    done = dict.fromkeys(costs, 0)

    def run(name, function, *arguments):
        done[name] += costs[name](*arguments)
        return function(*arguments)

    for name in interpreted:
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    for name in costs:
        monkeypatch.setattr(module, name, partial(run, name, getattr(module, name)))
    return done
