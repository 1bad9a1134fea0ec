"""models/jit.py: a cache that is never stale, and checks in front of compiled code."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from models import jit
from models.jit import ROOT, entry, njit

ALGORITHM = """
from models.jit import njit
from models.leaf import leaf
@njit
def step(x):
    return 100.0 + leaf(x)
if __name__ == "__main__":
    pass
"""
LEAF = """
from models.jit import njit
@njit
def leaf(x):
    return {factor} * x
"""
RUN = """
from algorithms.algo import step
print(step(1.0), step.stats.cache_hits.total() if hasattr(step, "stats") else "")
"""


@pytest.fixture
def project(tmp_path):
    """A small project with the real models/jit.py."""
    for folder in ("models", "algorithms"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / "models" / "jit.py", tmp_path / "models")
    (tmp_path / "algorithms" / "algo.py").write_text(ALGORITHM)

    def run(factor):
        (tmp_path / "models" / "leaf.py").write_text(LEAF.format(factor=factor))
        done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True,
                              text=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(tmp_path)})
        value, hits = done.stdout.split()
        return float(value), int(hits)

    return run


def test_an_edit_in_an_imported_file_recompiles_and_nothing_else_does(project):
    assert project(1) == (101.0, 0)
    assert project(1) == (101.0, 1)
    assert project(7) == (107.0, 0)  # Numba alone would say 101 from its cache
    assert project(1) == (101.0, 1)


def test_an_edit_in_a_model_that_is_not_imported_recompiles(project, tmp_path):
    # a generic function such as U reaches the code of models that its caller does not import
    assert project(1) == (101.0, 0)
    (tmp_path / "models" / "other.py").write_text("x = 1")
    assert project(1) == (101.0, 0)
    assert project(1) == (101.0, 1)


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


def test_functions_that_forward_have_names_of_their_own():
    names = {jit.forward(function, purpose).__qualname__
             for function in (halve.compiled, caller) for purpose in ("U", "grad_U")}
    assert len(names) == 4


def test_division_by_zero_is_infinite_as_in_numpy():
    @njit
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == np.inf


def test_dependencies_are_transitive():
    files = {file.name for file in jit.dependencies({ROOT / "algorithms" / "ais.py"})}
    assert {"ais.py", "hmc.py", "paquet_rmhmc_fast.py", "linalg.py", "jit.py"} <= files
    assert "ep.py" not in files


def test_blas_runs_on_one_thread():
    code = "import models.jit, os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                          check=True, env={**environment, "PYTHONPATH": str(ROOT)})
    assert done.stdout.strip() == "1"


USER = """
from typing import NamedTuple
import numpy as np
from algorithms.hmc import hmc
from models.interface import U, grad_U
class {name}(NamedTuple):
    b: np.ndarray
@U.of({name})
def energy(q, model):
    return q @ q + model.b[0]
@grad_U.of({name})
def gradient(q, model):
    return 2 * q
chain = hmc(np.ones(2), {name}(np.ones(1)), 0.1, 2, 3, np.random.default_rng(0))
"""


@pytest.mark.parametrize("file", ["model_{name}", "model"])
def test_models_of_two_programs_do_not_lock_each_other_out(tmp_path, file):
    # Numba's index of hmc's cache would name a type that the other program cannot import
    for name in ("First", "Second", "First"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        module = file.format(name=name)  # of one name, it can be imported, but lacks the type
        (folder / f"{module}.py").write_text(USER.format(name=name))
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True, cwd=folder,
                       env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"})
    from algorithms.hmc import hmc
    from models.gaussian import Gaussian

    hmc(np.zeros(2), Gaussian(np.zeros(2), np.eye(2)), 0.1, 1, 1, np.random.default_rng(0))
