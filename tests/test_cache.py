"""models/cache.py: what is run is what is written, and only the first run compiles.

What is run here is run in fresh processes with a cache of their own.
"""

import json
import os
import pickle
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numba
import numpy
import pytest
from numba.core.registry import cpu_target

from models import cache
from models.cache import FOLDER
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

    def start(self, command, folder=None, **options):
        """Start a process without waiting for it."""
        # Python's own cache would miss an edit within a second that does not change the length
        return subprocess.Popen(
            [sys.executable, "-B", *command], text=True, stdout=subprocess.PIPE, **options,
            cwd=folder or self.folder,
            env={**os.environ, "NUMBA_CACHE_DIR": str(self.cache),
                 "PYTHONPATH": os.pathsep.join(map(str, (ROOT, folder or "", self.folder)))})

    def run(self, code=CALL, folder=None):
        """Return the numbers that `code` prints, how much was loaded and how much compiled."""
        process = self.start(["-c", code + COUNT], folder)
        printed, _ = process.communicate()
        assert process.returncode == 0
        *numbers, hits, misses = [json.loads(line) for line in printed.splitlines()]
        return numbers, hits, misses


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_an_edit_of_U_takes_effect_and_an_unedited_second_start_compiles_nothing(project):
    project.write("my_model.py", MODEL)
    call = CALL + "print(double(np.ones(1), Model(3, 1)))"  # whole numbers: other machine code
    assert project.run(call) == ([8.0, 8.0], 0, 4)  # double and energy
    assert project.run(call) == ([8.0, 8.0], 2, 0)  # double with what it calls
    edits = (("1.0", "7.0", 20.0), ("] +", "] -", 4.0), ("model.scale", "model.other", 4.0))
    for old, new, answer in edits:
        project.write("my_model.py", MODEL.replace(old, new))
        assert project.run(call) == ([answer, answer], 0, 4)
    assert project.run(call) == ([answer, answer], 2, 0)
    project.write("my_model.py", "# a comment\n" + MODEL)
    assert project.run(call) == ([8.0, 8.0], 2, 0)


def test_the_second_start_of_the_example_in_the_README_compiles_nothing(project):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (k,) = [k for k, block in enumerate(blocks) if block.startswith("# my_model.py")]
    project.write("my_model.py", blocks[k])
    project.cache = FOLDER  # the tests' own, because hmc takes long to compile
    for _ in range(2):
        process = project.start(["-c", blocks[k + 1] + COUNT])
        *_, hits, misses = process.communicate()[0].split()
    assert (int(hits), int(misses)) == (3, 0)  # U and grad_U at the start, as checks, and hmc


HELPERS = """
from typing import NamedTuple
import package.absolute
import package.renamed as other
from package import module
from package.function import digit as written_in_full
from . import relative, inner
from .sibling import digit
from .inner.deep import digit as deep_digit
from .inner import forwarded
from models.interface import U

class Model(NamedTuple):
    scale: float

@U.register(Model)
def energy(q, model):
    return (package.absolute.digit() + 10 * other.digit() + 100 * module.digit()
            + 1e3 * written_in_full() + 1e4 * relative.digit() + 1e5 * digit()
            + 1e6 * deep_digit() + 1e7 * forwarded() + 1e8 * inner.last.digit())
"""
DIGIT = """
from models.jit import njit

@njit
def digit():
    return {}
"""
MODULES = ("absolute", "renamed", "module", "function", "relative", "sibling", "inner/deep",
           "inner/origin", "inner/last")


def test_an_edit_of_a_helper_takes_effect_however_it_is_imported(project, tmp_path):
    # a package with relative imports and a sub-package, on the path but not where the program runs
    project.write("package/model.py", HELPERS)
    project.write("package/inner/__init__.py",
                  "from . import last\nfrom package.inner.origin import digit as forwarded")
    for name in MODULES:
        project.write(f"package/{name}.py", DIGIT.format(1))
    (tmp_path / "elsewhere").mkdir()
    call, digits = CALL.replace("my_model", "package.model"), [1] * len(MODULES)
    for k, name in enumerate(MODULES):
        digits[k] = 2
        project.write(f"package/{name}.py", DIGIT.format(2))
        expected = 2.0 * int("".join(map(str, digits[::-1])))
        assert project.run(call, tmp_path / "elsewhere")[0] == [expected], name
    assert project.run(call, tmp_path / "elsewhere") == ([expected], 1, 0)


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
    digits = [1] * len(NUMBERS)
    for k, name in enumerate(NUMBERS):
        project.write(name, "2 2" if name != "array" else "1 2")
        digits[k] = 2
        assert project.run()[0] == [2.0 * int("".join(map(str, digits[::-1])))], name
    assert project.run()[1:] == (1, 0)


def test_two_files_of_one_name_do_not_answer_for_each_other(project, tmp_path):
    for folder, constant in product(("first", "second"), ("1.0", "7.0")):
        project.write(f"{folder}/my_model.py", MODEL.replace("1.0", constant))
        other = {"1.0": [8.0], "7.0": [20.0]}[constant]
        assert project.run(folder=tmp_path / folder)[0] == other
    project.write("first/my_model.py", MODEL)
    assert project.run(folder=tmp_path / "first")[0] == [8.0]
    assert project.run(folder=tmp_path / "second")[0] == [20.0]


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
    for bessel, at_0 in (("j0", 1.0), ("j1", 0.0)):
        for fastmath, nan in ((False, 10.0), (True, 0.0)):
            project.write("my_model.py", OTHERS.replace("j0", bessel).replace(
                "fastmath=False", f"fastmath={fastmath}"))
            assert project.run()[0] == [2 * (at_0 + nan)]


SCRIPT = MODEL + """
import numpy as np
from algorithm import double, scale_of
from models.jit import njit

@njit
def own(x):
    return x + 0.5

print(double(np.ones(1), Model(3.0)), scale_of(Model(3.0)), own(1.0))
"""


@pytest.mark.parametrize("how", ["script", "code", "cell"])
def test_a_model_of_main_or_of_a_notebook_runs_and_is_never_written(project, how):
    for constant, expected in (("1.0\n", "8.0 3.0 1.5\n"), ("7.0\n", "20.0 3.0 1.5\n")):
        script = SCRIPT.replace("1.0\n", constant)
        project.write("script.py", script)
        command = {
            "script": ["script.py"],
            "code": ["-c", script],  # a cell is code without a file, of a name that changes
            "cell": ["-c", f"exec(compile({script!r}, '<ipython-input-1-ab>', 'exec'))"],
        }[how]
        assert project.start(command).communicate()[0] == expected
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


def test_an_edit_while_a_process_runs_is_not_its_code(project):
    project.write("my_model.py", MODEL)
    edit = ("import my_model, pathlib\n"
            f"pathlib.Path('my_model.py').write_text({MODEL.replace('1.0', '7.0')!r})\n")
    assert project.run(edit + CALL)[0] == [8.0]  # what it had loaded before the edit
    assert project.run()[0] == [20.0]


def test_code_without_a_source_runs_and_is_cached(project):
    project.write("my_model.py", MODEL)
    compile_it = "import py_compile; py_compile.compile('my_model.py', 'my_model.pyc')"
    project.start(["-c", compile_it]).communicate()
    (project.folder / "my_model.py").unlink()
    assert project.run() == ([8.0], 0, 2)
    assert project.run() == ([8.0], 1, 0)


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


def test_processes_that_start_at_once_have_each_their_own_answer(project):
    project.write("my_model.py", MODEL)
    project.write("other_model.py", MODEL.replace("1.0", "7.0"))
    codes = [CALL, CALL, CALL.replace("my_model", "other_model")]
    together = [project.start(["-c", code]) for code in codes]
    assert [float(process.communicate()[0]) for process in together] == [8.0, 8.0, 20.0]
    assert project.run() == ([8.0], 1, 0)
    assert all(re.fullmatch(r"\w+-[0-9a-f]{32}", file.name) for file in project.cache.iterdir())


def test_a_cache_that_cannot_be_written_is_done_without_and_named(project):
    project.write("my_model.py", MODEL)
    project.write("cache", "a file where the folder should be")
    assert project.run() == ([8.0], 0, 2)
    said = project.start(["-c", CALL], stderr=subprocess.PIPE).communicate()[1]
    assert f"{project.cache} cannot be written" in said and "NUMBA_CACHE_DIR" in said


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""


def test_a_full_disk_leaves_nothing_half_written(project):
    project.write("my_model.py", MODEL)
    assert project.run(LIMITED + CALL) == ([8.0], 0, 2)
    assert [*project.cache.iterdir()] == []


def test_two_that_write_a_file_at_once_do_not_share_what_grows(tmp_path, monkeypatch):
    growing = []
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(Path, "replace", lambda here, there: growing.append(here))
    for _ in range(2):
        cache.write(tmp_path / "file", b"machine code")
    assert len({*growing, tmp_path / "file"}) == 3


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


def flipped(content):
    """Flip a bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]


def test_what_is_damaged_in_the_cache_is_compiled_again_by_each_that_meets_it(project):
    project.write("my_model.py", MODEL)
    assert project.run() == ([8.0], 0, 2)
    for damage in (lambda content: content[:1000], lambda content: content[:-1], flipped,
                   lambda content: pickle.dumps("something else")):
        for file in project.cache.iterdir():
            file.write_bytes(damage(file.read_bytes()))
        both = [project.start(["-c", CALL + COUNT]) for _ in range(2)]
        found = [process.communicate()[0].split() for process in both]
        assert [values[0] for values in found] == ["8.0", "8.0"]
        assert "0" in {values[1] for values in found}  # the first of them has loaded nothing
    assert project.run() == ([8.0], 1, 0)


HOMELESS = """
import os, pwd

def nobody(number):
    raise KeyError(number)

pwd.getpwuid, os.access = nobody, lambda *_: False
for name in ("HOME", "NUMBA_CACHE_DIR"):
    os.environ.pop(name, None)
from models.cache import FOLDER, ROOT
print(FOLDER == ROOT / ".numba_cache")
"""


def test_a_user_without_a_home_has_a_cache_beside_the_code_or_none(project):
    assert project.start(["-c", HOMELESS]).communicate()[0] == "True\n"


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


def test_what_is_compiled_by_ways_that_are_not_understood_is_not_written(project):
    project.write("my_model.py", HIDDEN)
    assert project.run() == ([4.0], 0, 2)
    project.write("my_model.py", HIDDEN.replace("1.0", "7.0"))
    assert project.run() == ([16.0], 0, 2)
    assert not project.cache.exists()


RECURSIVE = MODEL.replace("+ 1.0", "+ down(5)") + """
from models.jit import njit

@njit
def down(n):
    return 0.0 if n == 0 else down(n - 1) + 1.0
"""


def test_recursion_is_not_written(project):
    # Numba would write it, and the next process would crash
    project.write("my_model.py", RECURSIVE)
    for _ in range(2):
        assert project.run()[0] == [16.0]
