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
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy
import pytest
from numba.core.registry import cpu_target

from models import cache, interface, jit
from models.jit import ROOT
from studies import environment

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
    def __init__(self, folder):
        self.folder, self.cache = folder, folder / "cache"
        self.write("algorithm.py", ALGORITHM)

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def key(self, module="my_model", edit=lambda: None):
        """Import all anew, `edit`, and return the key of double for a vector and a Model."""
        (key,) = self.keys(module, edit)
        return key

    def keys(self, module, edit=lambda: None):
        """Return the keys of the module's CALLS, (function, argument after a vector), or of one."""
        before = {*sys.modules}
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(self.folder)
            patch.setattr(sys, "dont_write_bytecode", True)
            patch.setattr(jit, "named", {})
            patch.setattr(interface.U, "implementations", dict(interface.U.implementations))
            try:
                found = importlib.import_module(module)
                double = importlib.import_module("algorithm").double
                calls = getattr(found, "CALLS", None) or [
                    (double, found.Model(*map(float, range(len(found.Model._fields)))))]
                edit()
                return [cache.trace((), tuple(map(numba.typeof, (numpy.ones(1), argument))),
                                    function.py_func)[1] for function, argument in calls]
            finally:
                for name in {*sys.modules} - before:
                    del sys.modules[name]

    def printed(self, *command):
        # Python's own cache would miss an edit within a second that does not change the length
        return subprocess.run(
            [sys.executable, "-B", *command], text=True, stdout=subprocess.PIPE, cwd=self.folder,
            check=True, env=environment(self.folder, NUMBA_CACHE_DIR=str(self.cache))
        ).stdout.splitlines()

    def run(self, code=CALL):
        """Return the numbers that `code` prints, how much was loaded and how much compiled."""
        *numbers, hits, misses = map(json.loads, self.printed("-c", code + COUNT))
        return numbers, hits, misses


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]


EVERYTHING = """
from pathlib import Path
from typing import NamedTuple
import numba
import numpy as np
from numba import types
import numbers_of
import package.absolute
from . import inner
from .sibling import digit
from .inner import forwarded
from models.interface import U
from models.jit import external, njit

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

FACTOR, NAUGHT = read("comprehension")[0], np.zeros(2)

@njit
def from_comprehension():
    return np.array([x * FACTOR for x in (1.0, 2.0)]).sum() / 3

bessel = external("scipy.special.cython_special", "j0", types.double(types.double, types.intc))

@numba.njit(fastmath=False)
def is_nan(x):  # fastmath takes it that there is none
    return x != x

class Model(NamedTuple):
    scale: float

@U.register(Model)
def energy(q, model):
    return (SCALAR + 10 * ARRAY[1] + 100 * PAIR[1][0] + 1e3 * numbers_of.attribute
            + 1e4 * from_closure() + 1e5 * from_default(0.0) + 1e6 * from_comprehension()
            + 1e7 * package.absolute.digit() + 1e8 * digit() + 1e9 * forwarded()
            + 1e10 * inner.last.digit() + NAUGHT[0] + 0.25 * bessel(q[0] - 1.0, 0)
            + (0.5 if is_nan(np.inf - np.inf * q[0]) else 0.0))
"""
DIGIT = """
from models.jit import njit

@njit
def digit():
    return {}
"""
MODULES = [f"package/{name}.py" for name in ("absolute", "sibling", "inner/origin", "inner/last")]
NUMBERS = [f"package/{name}" for name in (
    "scalar", "array", "pair", "attribute", "closure", "default", "comprehension")]


@pytest.fixture
def everything(project):
    """Return a project with a model that needs helpers, however imported, and values of all kinds.

    It is a package with relative imports and a sub-package.
    """
    project.write("package/model.py", EVERYTHING)
    project.write("package/inner/__init__.py",
                  "from . import last\nfrom package.inner.origin import digit as forwarded")
    project.write("numbers_of.py", "")
    for name in MODULES:
        project.write(name, DIGIT.format(1))
    for name in NUMBERS:
        project.write(name, "1 1")
    return project


def test_an_edit_of_a_model_of_a_helper_of_a_data_file_and_of_an_option_counts(everything):
    edits = [(name, DIGIT.format(2)) for name in MODULES]
    edits += [(name, "1 2" if name == "package/array" else "2 2") for name in NUMBERS]
    edits += [("package/model.py", EVERYTHING.replace(old, new)) for old, new in (
        ("0.25 *", "0.75 *"), ("+ NAUGHT", "- NAUGHT"), ("0.25 *", "model.scale *"),
        ("scale: float", "other: float"),
        ("j0", "j1"), ("fastmath=False", "fastmath=True"), ("zeros(2)", "zeros(2, np.int64)"))]
    keys = [everything.key("package.model")]
    assert everything.key("package.model") == keys[0] is not None
    for name, text in edits:
        everything.write(name, text)
        keys.append(everything.key("package.model"))
        assert keys[-1] not in {None, *keys[:-1]}, (name, text)


def test_a_second_start_compiles_nothing_unless_there_was_damage(everything):
    call = CALL.replace("my_model", "package.model")
    call += "print(double(np.ones(1), Model(3)))"  # a whole number: other machine code
    first = everything.run(call)
    assert first[:2] == ([2 * 11111111111.75] * 2, 0)
    for file in everything.cache.iterdir():
        file.write_bytes(flipped(file.read_bytes()))
    assert everything.run(call) == first
    everything.write("package/model.py", "# a comment\n" + EVERYTHING)
    assert everything.run(call) == (first[0], 2, 0)  # double with what it calls


REGISTERED = """
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

inner = Inner(1.0)
CALLS = ((direct, inner), (direct, Outer(inner)), (in_a_tuple, (1, (inner, 2.0))),
         (made_inside, 1.0), (optional, inner), (by_default, inner))
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
    project.write("rules.py", RULES.format(1.0))
    before = project.keys("calls")
    project.write("rules.py", RULES.format(3.0))
    after = project.keys("calls")
    for old, new in zip(before, after, strict=True):
        assert old != new and None not in (old, new)
    project.write("calls.py", REGISTERED.replace("10.0 *", "20.0 *"))
    assert [old != new for old, new in zip(after, project.keys("calls"), strict=True)] == [
        False, True, False, False, False, False]  # of the class Outer


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
    # a cell is code without a file, of a name that changes; what it defines is defined anew
    cell = f"exec(compile({SCRIPT!r}, '<ipython-input-1-ab>', 'exec'))"
    project.write("script.py", SCRIPT + cell)
    assert project.printed("script.py") == ["8.0 3.0 1.5"] * 2
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
    if n == 2:
        print(n)  # needs the environment of Numba
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
    assert project.run("import my_model\nprint(my_model.twice(3.0))")[0] == [2, 20.0]
    project.write("my_model.py", LONG)
    assert project.run(RELOADED)[:2] == ([2, 8.0, 2, 20.0], 1)  # the second was loaded


def test_what_cannot_be_written_is_named_and_not_left_half_written(tmp_path, monkeypatch):
    def full(path, content):
        growing.append(path)
        with path.open("wb") as file:
            file.write(content[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    growing, file = [], tmp_path / "file"
    file.write_text("where the folder should be")
    monkeypatch.setattr(cache, "FOLDER", file / "cache")
    with pytest.warns(RuntimeWarning, match=r"file.cache cannot be written .*NUMBA_CACHE_DIR"):
        cache.write(cache.FOLDER / "file", b"machine code")
    assert cache.read(cache.FOLDER / "file") is None
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(Path, "write_bytes", full)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="No space left"):
            cache.write(tmp_path / "another", b"machine code")
    assert [*tmp_path.iterdir()] == [file]
    assert len({*growing, tmp_path / "another"}) == 3  # two that write it share nothing


@pytest.mark.parametrize("damage", [
    lambda content: content[:-1], flipped, lambda content: b"",
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


def test_ctrl_c_waits_until_numba_has_registered_what_it_knows():
    def refresh():
        signal.raise_signal(signal.SIGINT)
        registered.append(True)

    registered, one = [], cache.Cache(numba.njit(plain))
    with pytest.raises(KeyboardInterrupt):
        one.load_overload((numba.types.float64,), SimpleNamespace(refresh=refresh))
    assert registered


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
