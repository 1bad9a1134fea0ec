"""Bugs that were planted once, each with the test that must catch it: it still does.

The tables are in planted_bugs/, and read by reproduce/harness/exercises.py.  The harmless twin of
an exercise, <name>.harmless, rewrites a line without harm, and the test must pass.  Minutes:
`-m slow`, and PLANTED_QUARTER=k for every fourth bug from number k (any k of the same remainder;
the one to begin with is another), and PLANTED_UNTIL=<seconds since 1970> for no more bugs after
that; what is left out is named.
"""

import os
import shutil
import subprocess
import sys
import time

import pytest

from models.jit import ROOT
from reproduce.harness.exercises import PLANTED, bugs, plant

EVERY = bugs()
BUGS = sorted(EVERY)
QUARTER = os.environ.get("PLANTED_QUARTER", "")
CHOSEN = BUGS[int(QUARTER) % 4 :: 4] if QUARTER else BUGS
FIRST = int(QUARTER) // 4 % len(CHOSEN) if QUARTER else 0
UNTIL = float(os.environ.get("PLANTED_UNTIL", "inf"))
LEFT_OUT = (".git", ".venv", ".numba_cache", "__pycache__", ".pytest_cache", "build",
            "*.egg-info", "smoke", "short")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy the project, so that what is compiled for one bug serves the next."""
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("planted") / "project",
                           ignore=shutil.ignore_patterns(*LEFT_OUT))


def status(copy, bug):
    """Plant a bug, run its test, take the bug back; return pytest's exit status."""
    path = copy / bug.path
    before = path.read_text()
    path.write_text(plant(before, bug)[0])
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", bug.test],
            cwd=copy, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(copy)})
    finally:
        path.write_text(before)
    return done.returncode


@pytest.mark.parametrize("path", sorted({bug.path for bug in EVERY.values()}))
def test_every_bug_can_still_be_planted(path):
    # one in a line that has moved into another function, or changed, would be planted nowhere
    source = (ROOT / path).read_text()
    for bug in EVERY.values():
        if bug.path == path:
            wrong, changed = plant(source, bug)
            assert wrong != source and changed
            compile(wrong, path, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN[FIRST:] + CHOSEN[:FIRST])
def test_a_planted_bug_is_caught_and_a_harmless_rewrite_is_not(copy, name):
    if time.time() > UNTIL:
        pytest.skip(f"{name} needs more time than PLANTED_UNTIL leaves: pytest -m slow")
    # 1: tests failed; 2 and more: pytest itself
    assert status(copy, EVERY[name]) == (0 if name.endswith(".harmless") else 1)


def test_names_are_given_once_and_tests_are_there():
    tables = [path.read_text().splitlines()[1:] for path in PLANTED.glob("*.tsv")]
    assert sum(map(len, tables)) == len(EVERY) > 400
    for bug in EVERY.values():
        file, _, test = bug.test.partition("::")
        assert f"def {test.split('[')[0]}(" in (ROOT / file).read_text(), bug.name


def test_each_bug_names_a_test_that_there_is(collected):
    # with its parameters, which the text does not show; where the whole suite runs, of all files
    files = {node.partition("::")[0] for node in collected}
    tests = collected | {node.partition("[")[0] for node in collected}
    assert [name for name, bug in sorted(EVERY.items()) for node in [bug.test]
            if node.partition("::")[0] in files and node not in tests] == []
