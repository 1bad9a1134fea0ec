"""reproduce/fingerprint.py: what a replicate depends on, and what not."""

import runpy

import pytest

import fingerprint
from models.jit import ROOT

SCRIPT = '''
"""A script."""
import numpy as np
import library_of_script as library
from library_of_script import helper, other

SCALE = 2.0  # ours
TITLE = "a figure"
A, B = 1, 2


def inner(x):
    """Docstring."""
    return helper(x) * SCALE + library.twice(library.Used(x))


def run(seed):
    """Docstring."""
    return {"x": inner(seed) + A}


def figure(found):
    return TITLE + str(found)
'''
LIBRARY = '''
"""A library."""
STEP = 1


class Used:
    pass


class Unused:
    pass


class Generic:
    def of(self, kind):
        return lambda function: function


double = Generic()


@double.of(Used)
def used_double(x):
    return 3 * x


@double.of(Unused)
def unused_double(x):
    return 5 * x


def twice(x):
    v = double(x)
    return v * 2


def helper(x):
    return x + 1 + STEP


def other(x):
    return x
'''


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Return a function that writes a script and its library, changed, and fingerprints `run`."""
    monkeypatch.syspath_prepend(tmp_path)

    def of(*change, library=()):
        text = SCRIPT.replace(*change) if change else SCRIPT
        other = LIBRARY.replace(*library) if library else LIBRARY
        assert (text != SCRIPT) == bool(change) and (other != LIBRARY) == bool(library)
        (tmp_path / "library_of_script.py").write_text(other)
        (tmp_path / "script.py").write_text(text)
        fingerprint.read.cache_clear()
        return fingerprint.fingerprint(runpy.run_path(str(tmp_path / "script.py"))["run"])

    return of


@pytest.mark.parametrize("change", [
    ("# ours", "# Section 3"),
    ('"a figure"', '"another figure"'),
    ("return TITLE", "return 2 * TITLE"),
    ("A script", "Another script"),
    ("Docstring", "More words"),
    ("\n\n\ndef inner", "\n\ndef inner"),
    ("import numpy as np\n", "import numpy as np\nimport math\n"),
])
def test_labels_comments_and_docstrings_do_not_throw_replicates_away(code, change):
    assert code(*change) == code()


@pytest.mark.parametrize("change", [
    ("SCALE = 2.0", "SCALE = 3.0"),
    ("A, B = 1, 2", "A, B = 2, 2"),
    ("inner(seed) + A", "inner(seed) - A"),
    ("helper(x) * SCALE", "helper(x) / SCALE"),
    ("import helper, other", "import other as helper"),
])
def test_what_the_function_uses_of_its_script_counts(code, change):
    assert code(*change) != code()


@pytest.mark.parametrize("change, counts", [
    (("x + 1", "x + 2"), True), (("STEP = 1", "STEP = 2"), True), (("v * 2", "v"), True),
    (("return 3 * x", "return 4 * x"), True),  # registered for a type that is used
    (("return 5 * x", "return 6 * x"), False),  # registered for one that is not
    (("A library", "The library"), False), (("return x\n", "return -x\n"), False)])
def test_what_it_uses_of_the_project_counts_and_nothing_else(code, change, counts):
    assert (code(library=change) != code()) == counts


def test_numba_counts(code, monkeypatch):
    before = code()
    monkeypatch.setattr(fingerprint, "version", lambda package: "0.0.1")
    assert code() != before


def test_the_replicates_of_figure_2_depend_on_its_algorithms_and_not_on_others():
    found = {f"{path.stem}.{name}" for path, name in fingerprint.used(
        (ROOT / "reproduce" / "paquet_fig2.py", "one_run"))}
    assert {"ais.ais_run", "paquet_rmhmc_fast.rmhmc", "hmc.hmc_step", "linalg.factorise",
            "gp_classification.gp_classification_grad_U", "ep_fast.ep", "data.usps",
            "ais.rmhmc_transition", "paquet_fig2.LOG_LENGTH"} <= found
    assert not {"hmc.hmc", "mixture.mixture_U", "gaussian.gaussian_U", "paquet_fig2.figure",
                "interface.metric"} & found
