"""Bugs that were planted once, each with the test that must catch it: it still does.

planted_bugs/<name>.patch plants a bug; its first line is the node id of the test that must fail.
planted_bugs/<name>.harmless.patch rewrites the same line without harm, and that test must pass: so
no catch counts that only compares texts.  Minutes: `-m slow`, and PLANTED_QUARTER=k for every
fourth bug from number k (any k of the same remainder; the one to begin with is another), and
PLANTED_UNTIL=<seconds since 1970> for no more bugs after that; what is left out is named.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from models.jit import ROOT

FOLDER = Path(__file__).parent / "planted_bugs"
BUGS = sorted(path for path in FOLDER.glob("*.patch") if not path.stem.endswith(".harmless"))
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


def status(copy, patch, node):
    """Apply a patch, run one test, take the patch back; return pytest's exit status."""
    apply = ["git", "apply", "-p1", "--whitespace=nowarn"]
    subprocess.run([*apply, str(patch)], cwd=copy, check=True)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", node],
            cwd=copy, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(copy), f"{copy}/reproduce"])})
    finally:
        subprocess.run([*apply, "--reverse", str(patch)], cwd=copy, check=True)
    return done.returncode


def test_every_patch_still_applies():
    # a bug in a line that has moved or changed would be planted nowhere
    patches = sorted(FOLDER.glob("*.patch"))
    done = [subprocess.run(["git", "apply", "-p1", "--check", str(patch)], cwd=ROOT,
                           capture_output=True, check=False).returncode for patch in patches]
    assert [patch.name for patch, status in zip(patches, done, strict=True) if status] == []


@pytest.mark.slow
@pytest.mark.parametrize("patch", CHOSEN[FIRST:] + CHOSEN[:FIRST], ids=lambda path: path.stem)
def test_a_planted_bug_is_caught_and_a_harmless_rewrite_is_not(copy, patch):
    if time.time() > UNTIL:
        pytest.skip(f"{patch.stem} needs more time than PLANTED_UNTIL leaves: pytest -m slow")
    node = patch.read_text().splitlines()[0]
    assert status(copy, patch, node) == 1  # tests failed; 2 and more: pytest itself
    assert status(copy, patch.with_suffix(".harmless.patch"), node) == 0


def test_there_are_bugs_for_every_room_and_each_has_its_harmless_twin():
    assert len(BUGS) >= 40
    for patch in BUGS:
        assert patch.with_suffix(".harmless.patch").exists()
        file, _, test = patch.read_text().splitlines()[0].partition("::")
        assert f"def {test.split('[')[0]}(" in (ROOT / file).read_text(), patch.name


def test_each_bug_names_a_test_that_there_is(collected):
    # with its parameters, which the text does not show; where the whole suite runs, of all files
    files = {node.partition("::")[0] for node in collected}
    tests = collected | {node.partition("[")[0] for node in collected}
    named = {patch.name: patch.read_text().splitlines()[0] for patch in FOLDER.glob("*.patch")}
    assert [name for name, node in sorted(named.items())
            if node.partition("::")[0] in files and node not in tests] == []
