"""models/cache.py: what is run is what is written, and only the first run compiles.

Machine code is what its key says, so that most tests compare keys, of modules that are imported
anew after each edit, and compile nothing.  What is run here is run in fresh processes with a cache
of their own.
"""

import errno
import importlib
import json
import os
import pickle
import py_compile
import runpy
import subprocess
import sys
from pathlib import Path

import numba
import numpy
import pytest
from numba.core.registry import cpu_target

from models import cache, interface, jit
from models.jit import ROOT

ALGORITHM = """
from models.interface import U
from models.jit import njit

@njit
def double(q, model):
    return 2.0 * U(q, model)

@njit
def triple(q, model):
    return 3.0 * U(q, model)

@njit
def scale_of(model):
    return model.scale
"""
MODEL = """
from typing import NamedTuple
from models.interface import U

class Model(NamedTuple):
    scale: float
    other: float = 1.0

@U.register(Model)
def energy(q, model):
    return model.scale * q[0] + 1.0
"""
CALL = """
import numpy as np
from algorithm import double, triple
from my_model import Model
print(double(np.ones(1), Model(3.0)))
"""
COUNT = """
from models.cache import dispatchers
print(sum(d.stats.cache_hits.total() for d in dispatchers))
print(sum(d.stats.cache_misses.total() for d in dispatchers))
"""


class Project:
    """A folder with an algorithm, models and a cache."""

    def __init__(self, folder):
        self.folder, self.cache = folder, folder / "cache"
        self.write("algorithm.py", ALGORITHM)

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def key(self, module="my_model", function="double", edit=lambda: None):
        """Import all anew, `edit`, and return the key of `function` for a vector and a Model."""
        before = {*sys.modules}
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(self.folder)
            patch.setattr(sys, "dont_write_bytecode", True)
            patch.setattr(jit, "named", {})
            patch.setattr(interface.U, "implementations", dict(interface.U.implementations))
            try:
                kind = importlib.import_module(module).Model
                model = kind(*map(float, range(len(kind._fields))))
                algorithm = importlib.import_module("algorithm")
                edit()
                arguments = map(numba.typeof, (numpy.ones(1), model))
                return cache.trace((), (*arguments,), getattr(algorithm, function).py_func)[1]
            finally:
                for name in {*sys.modules} - before:
                    del sys.modules[name]

    def start(self, command, **options):
        """Start a process without waiting for it."""
        # Python's own cache would miss an edit within a second that does not change the length
        return subprocess.Popen(
            [sys.executable, "-B", *command], text=True, stdout=subprocess.PIPE, **options,
            cwd=self.folder,
            env={**os.environ, "NUMBA_CACHE_DIR": str(self.cache),
                 "PYTHONPATH": os.pathsep.join(map(str, (ROOT, self.folder)))})

    def run(self, code=CALL):
        """Return the numbers that `code` prints, how much was loaded and how much compiled."""
        process = self.start(["-c", code + COUNT])
        printed, _ = process.communicate()
        assert process.returncode == 0
        *numbers, hits, misses = [json.loads(line) for line in printed.splitlines()]
        return numbers, hits, misses


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def flipped(content):
    """Flip a bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]


def test_a_second_start_compiles_nothing_unless_there_was_an_edit_or_damage(project):
    project.write("my_model.py", MODEL)
    call = CALL + "print(double(np.ones(1), Model(3, 1)))"  # whole numbers: other machine code
    assert project.run(call) == ([8.0, 8.0], 0, 4)  # double and energy
    project.write("my_model.py", "# a comment\n" + MODEL)
    assert project.run(call) == ([8.0, 8.0], 2, 0)  # double with what it calls
    project.write("my_model.py", MODEL.replace("1.0", "7.0"))
    assert project.run(call) == ([20.0, 20.0], 0, 4)
    for file in project.cache.iterdir():
        file.write_bytes(flipped(file.read_bytes()))
    assert project.run(call) == ([20.0, 20.0], 0, 4)


def test_an_edit_of_a_model_counts(project):
    project.write("my_model.py", MODEL)
    keys = {project.key()}
    assert project.key() in keys  # nothing else does
    edits = (("] + 1.0", "] + 7.0"), ("] +", "] -"), ("model.scale", "model.other"),
             ("other: float = 1.0", "third: float = 1.0"))
    for old, new in edits:
        project.write("my_model.py", MODEL.replace(old, new))
        keys.add(project.key())
    assert len(keys) == 1 + len(edits) and None not in keys


HELPERS = """
from typing import NamedTuple
import package.absolute
from . import inner
from .sibling import digit
from .inner import forwarded
from models.interface import U

class Model(NamedTuple):
    scale: float

@U.register(Model)
def energy(q, model):
    return package.absolute.digit() + 10 * digit() + 100 * forwarded() + 1e3 * inner.last.digit()
"""
DIGIT = """
from models.jit import njit

@njit
def digit():
    return {}
"""
MODULES = "absolute", "sibling", "inner/origin", "inner/last"


def test_an_edit_of_a_helper_takes_effect_however_it_is_imported(project):
    # a package with relative imports and a sub-package
    project.write("package/model.py", HELPERS)
    project.write("package/inner/__init__.py",
                  "from . import last\nfrom package.inner.origin import digit as forwarded")
    for name in MODULES:
        project.write(f"package/{name}.py", DIGIT.format(1))
    keys = [project.key("package.model")]
    assert project.key("package.model") == keys[0] is not None
    for name in MODULES:
        project.write(f"package/{name}.py", DIGIT.format(2))
        keys.append(project.key("package.model"))
        assert keys[-1] not in {None, *keys[:-1]}, name


VALUES = """
from pathlib import Path
from typing import NamedTuple
import numpy as np
import numbers_of
from models.interface import U
from models.jit import njit

def read(name):
    return np.array([float(x) for x in Path(__file__).with_name(name).read_text().split()])

SCALAR, ARRAY, PAIR = read("scalar")[0], read("array"), (1.0, read("pair"))
numbers_of.attribute = float(read("attribute")[0])

def closure(value):
    @njit
    def inner():
        return value
    return inner

from_closure = closure(int(read("closure")[0]))

@njit
def from_default(x, value=float(read("default")[0])):
    return x + value

FACTOR = read("comprehension")[0]

@njit
def from_comprehension():
    return np.array([x * FACTOR for x in (1.0, 2.0)]).sum()

class Model(NamedTuple):
    scale: float

@U.register(Model)
def energy(q, model):
    return (SCALAR + 10 * ARRAY[1] + 100 * PAIR[1][0] + 1e3 * numbers_of.attribute
            + 1e4 * from_closure() + 1e5 * from_default(0.0) + 1e6 * from_comprehension() / 3)
"""
NUMBERS = ("scalar", "array", "pair", "attribute", "closure", "default", "comprehension")


def test_an_edit_of_a_data_file_behind_a_value_takes_effect(project):
    project.write("my_model.py", VALUES)
    project.write("numbers_of.py", "")
    for name in NUMBERS:
        project.write(name, "1 1")
    keys = [project.key()]
    assert project.key() == keys[0] is not None
    for name in NUMBERS:
        project.write(name, "2 2" if name != "array" else "1 2")
        keys.append(project.key())
        assert keys[-1] not in {None, *keys[:-1]}, name
    assert project.run()[0] == [2.0 * 2222222]
    assert project.run() == ([2.0 * 2222222], 1, 0)  # the key is the same in another process


REGISTERED = """
from typing import NamedTuple
import numpy as np
from models.interface import U
from models.jit import njit
from kinds import Inner, Outer
from rules import size

@U.register(Outer)
def outer_energy(q, model):
    return 10.0 * U(q, model.inner)

@njit
def direct(q, model):
    return U(q, model)

@njit
def in_a_tuple(q, models):
    return U(q, models[1][0])

@njit
def made_inside(q, x):
    return U(q, Inner(x))

@njit
def optional(q, model):
    return 0.0 if model is None else U(q, model)

@njit
def by_default(q, model):
    return size(q, model)

q, inner = np.ones(1), Inner(1.0)
for value in (direct(q, inner), direct(q, Outer(inner)), in_a_tuple(q, (1, (inner, 2.0))),
              made_inside(q, 1.0), optional(q, inner), by_default(q, inner)):
    print(value)
"""
KINDS = """
from typing import NamedTuple

class Inner(NamedTuple):
    scale: float

class Outer(NamedTuple):
    inner: Inner
"""
RULES = """
from kinds import Inner
from models.interface import U, dispatch
from models.jit import njit

@U.register(Inner)
def inner_energy(q, model):
    return {0} * model.scale

@njit
def default_size(q, model):
    return {0}

@dispatch(arg=1, default=default_size)
def size(q, model):
    pass
"""


def test_a_registration_in_another_file_than_the_class_counts_wherever_the_class_occurs(project):
    project.write("kinds.py", KINDS)
    project.write("calls.py", REGISTERED)
    for factor in (1.0, 3.0):
        project.write("rules.py", RULES.format(factor))
        expected = [factor, 10 * factor, factor, factor, factor, factor]
        assert project.run("import calls")[0] == expected
    assert project.run("import calls") == (expected, 6, 0)


OTHERS = """
from typing import NamedTuple
import numba
import numpy as np
from numba import types
from models.interface import U
from models.jit import external

bessel = external("scipy.special.cython_special", "j0", types.double(types.double, types.intc))

@numba.njit(fastmath=False)
def is_nan(x):  # fastmath takes it that there is none
    return x != x

class Model(NamedTuple):
    scale: float

@U.register(Model)
def energy(q, model):
    return bessel(q[0] - 1.0, 0) + (10.0 if is_nan(np.inf - np.inf * q[0]) else 0.0)
"""


def test_the_name_of_a_function_of_scipy_and_the_options_of_a_helper_count(project):
    keys = set()
    for bessel in ("j0", "j1"):
        for options in ("fastmath=False", "fastmath=True"):
            project.write("my_model.py", OTHERS.replace("j0", bessel).replace(
                "fastmath=False", options))
            keys.add(project.key())
    assert len(keys) == 4 and None not in keys


SCRIPT = MODEL + """
import numpy as np
from algorithm import double, scale_of
from models.jit import njit

@njit
def own(x):
    return x + 0.5

print(double(np.ones(1), Model(3.0)), scale_of(Model(3.0)), own(1.0))
"""


def test_a_model_of_main_or_of_a_notebook_runs_and_is_never_written(project):
    project.write("script.py", SCRIPT)
    # a cell is code without a file, of a name that changes
    cell = f"exec(compile({SCRIPT!r}, '<ipython-input-1-ab>', 'exec'))"
    for command in (["script.py"], ["-c", cell]):
        assert project.start(command).communicate()[0] == "8.0 3.0 1.5\n"
        assert not project.cache.exists()


CHANGED = """
import my_model
q, model = np.ones(1), Model(3.0)
my_model.CONSTANT = 7.0
print(triple(q, model))
print(double(q, model))
"""


def test_a_value_that_changes_in_a_session_is_written_under_no_other_name(project):
    # energy has been compiled with 1.0 when triple, which calls it, is: it is compiled again
    text = MODEL.replace("+ 1.0", "+ CONSTANT") + "CONSTANT = {}"
    project.write("my_model.py", text.format(1.0))
    assert project.run(CALL + CHANGED)[0] == [8.0, 30.0, 20.0]
    project.write("my_model.py", text.format(7.0))
    assert project.run(CALL + "print(triple(np.ones(1), Model(3.0)))")[0] == [20.0, 30.0]
    project.write("my_model.py", text.format(1.0))
    assert project.run(CALL + "print(triple(np.ones(1), Model(3.0)))")[0] == [8.0, 12.0]


def test_code_is_what_was_loaded_also_without_its_file(project):
    project.write("my_model.py", MODEL)
    as_written = project.key()
    edited = MODEL.replace("1.0", "7.0")
    assert project.key(edit=lambda: project.write("my_model.py", edited)) == as_written
    assert project.key() != as_written
    py_compile.compile(project.folder / "my_model.py", project.folder / "my_model.pyc")
    with_source = project.key()
    (project.folder / "my_model.py").unlink()
    assert project.key() == with_source


LONG = """
import numpy as np
from models.jit import njit

@njit
def long(x, n):  # too long to be copied into what calls it, so that it is linked by its name
    total = 0.0
    for i in range(n):
        A = np.empty((n, n))
        for j in range(n):
            for k in range(n):
                A[j, k] = np.exp(-j * k) + np.sin(x)
        total += 0.0 * np.sort((A @ A)[0])[0]
    return total + x + 1.0

@njit
def twice(x):
    return long(x, 3) + long(x, 2)
"""
RELOADED = """
import importlib
import my_model
from pathlib import Path

print(my_model.twice(3.0))
text = Path("my_model.py").read_text()
Path("my_model.py").write_text(text.replace("1.0", "7.0"))
importlib.reload(my_model)
print(my_model.twice(3.0))
"""


def test_what_a_process_compiles_is_not_linked_with_what_another_compiled_under_its_name(project):
    project.write("my_model.py", LONG.replace("1.0", "7.0"))
    assert project.run("import my_model\nprint(my_model.twice(3.0))")[0] == [20.0]
    project.write("my_model.py", LONG)
    assert project.run(RELOADED)[:2] == ([8.0, 20.0], 1)  # the second was loaded


def test_a_cache_that_cannot_be_written_is_done_without_and_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("where the folder should be")
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "file" / "cache")
    with pytest.warns(RuntimeWarning, match=r"file.cache cannot be written .*NUMBA_CACHE_DIR"):
        cache.write(cache.FOLDER / "file", b"machine code")
    assert cache.read(cache.FOLDER / "file") is None


def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch):
    def full(path, content):
        with path.open("wb") as file:
            file.write(content[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.write(tmp_path / "file", b"machine code")
    assert [*tmp_path.iterdir()] == []


def test_two_that_write_a_file_at_once_do_not_share_what_grows(tmp_path, monkeypatch):
    growing = []
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(Path, "replace", lambda here, there: growing.append(here))
    for _ in range(2):
        cache.write(tmp_path / "file", b"machine code")
    assert len({*growing, tmp_path / "file"}) == 3


@pytest.mark.parametrize("damage", [
    lambda content: content[:10], lambda content: content[:-1], flipped, lambda content: b"",
    lambda content: pickle.dumps("something else")])
def test_what_is_damaged_in_the_cache_is_not_read(tmp_path, monkeypatch, damage):
    file = tmp_path / "file"
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    cache.write(file, b"machine code")
    assert cache.read(file) == b"machine code"
    file.write_bytes(damage(file.read_bytes()))
    assert cache.read(file) is None


def plain(x):
    return x + 1.0


def file_of(**options):
    """Return the file in which the machine code of `plain` would be looked for."""
    one = cache.Cache(numba.njit(**options)(plain))
    one.load_overload((numba.types.float64,), cpu_target.target_context)
    return one.files[numba.types.float64,]


CODEGEN = type(cpu_target.target_context.codegen())


@pytest.mark.parametrize(("where", "name", "other"), [
    (numba, "__version__", "0.1"), (numpy, "__version__", "0.1"), (sys, "version", "4.0"),
    (numba.config, "BOUNDSCHECK", 1), (CODEGEN, "magic_tuple", lambda self: "another processor")])
def test_a_version_a_setting_and_the_processor_count(monkeypatch, where, name, other):
    assert file_of() != file_of(fastmath=True)
    before = file_of()
    assert file_of() == before
    monkeypatch.setattr(where, name, other)
    assert file_of() != before


def test_a_user_without_a_home_has_a_cache_beside_the_code_or_none(monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where there is none
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert runpy.run_path(cache.__file__)["FOLDER"] == ROOT / ".numba_cache"


HIDDEN = """
from typing import NamedTuple
import numpy as np
from numba.extending import overload
from models.interface import U

class Model(NamedTuple):
    scale: float

def hidden(x):
    pass

@overload(hidden)
def hidden_for_any(x):
    return lambda x: x + 1.0

@U.register(Model)
def energy(q, model):
    return hidden(q[0])
"""
RECURSIVE = MODEL.replace("+ 1.0", "+ down(5)") + """
from models.jit import njit

@njit
def down(n):
    return 0.0 if n == 0 else down(n - 1) + 1.0
"""


@pytest.mark.parametrize("text", [HIDDEN, RECURSIVE], ids=["overload", "recursion"])
def test_what_is_not_understood_or_calls_itself_is_not_written(project, text):
    # recursion Numba would write, and the next process would crash
    project.write("my_model.py", text)
    assert project.key() is None
