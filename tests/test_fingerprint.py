"""reproduce/harness/fingerprint.py: what a replicate depends on, and what not."""

import ast
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from reproduce.harness import fingerprint
from reproduce.harness.fingerprint import ROOT

SCRIPT = '''
"""A script."""
import warnings
import numpy as np
import library_of_script as library
import rooms.deep
import rooms.deeper as renamed
from checks import validate
from checks.validate import count
from library_of_script import helper, other
from numpy import log1p as gain
from rooms import another
from rooms.deepest import handed_on, last

def check_interrupt():
    pass

def warn_if_none_accepted(function):
    return function

SCALE = 2.0  # ours
TITLE = "a figure"
A, B = 1, 2
RATE: float = 0.5
TABLE = [row for row in range(3)]

def inner(x):
    """Docstring."""
    return helper(x) * SCALE + library.twice(library.Used(x)) + RATE + sum(TABLE)

class Told(Exception):
    pass

@warn_if_none_accepted
def check(seed, eps, times=1):
    """Docstring."""
    eps = validate.real("eps", eps, 0.0)
    validate.instance("seed", seed, int)
    if eps < times:
        raise ValueError(f"too small: {eps}")
    elif eps > 9:
        warnings.warn("large", stacklevel=2)
    if seed < 0:
        raise Told(seed)
    if seed > 9:
        print(f"a large {seed}")
        raise Told(f"not {seed}")
    if (twice := 2 * eps) > 9:
        raise ValueError("twice too large")
    for _ in range(times):
        check_interrupt()
        eps += twice
    tell(note="all is well")
    return seed, validate.count("eps", eps), validate.mass("M", eps)

def tell(note):
    pass

def run(seed):
    """Docstring."""
    check(seed, 1.0)
    return {"x": inner(seed) + A, "y": rooms.deep.f(1) + renamed.f(2) + another.f(3) + last(4),
            "z": gain(np.float64(3)) + handed_on(1)}

def figure(found):
    row = 7
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
    def register(self, kind):
        return lambda function: function

double = Generic()

@double.register(Used)
def used_double(x):
    return 3 * x

@double.register(Unused)
def unused_double(x):
    return 5 * x

class Second:
    pass

shared = double.register(Second)(used_double)

def twice(x):
    v = double(x)
    return v * 2

def helper(x):
    return x + 1 + STEP

def other(x):
    return x
'''
ROOM = '''
"""A file in a folder."""
import numpy as np

def f(x):
    return {factor} * np.abs(x)

def unused(x):
    return {factor}
'''
VALIDATE = '''
"""Checks."""

def real(name, value, low=0.0):
    return float(value)

def count(name, value):
    return value

def mass(name, value):
    value = real(name, value)
    return value ** 0.5
'''
DEEPEST = '''
from rooms.origin import f as handed_on  # a re-export

def last(x):
    return x * 11
'''


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Return a function that writes a project, changed, and fingerprints `run`.

    library, deep, ...: what to replace by what in that file.  move: folder of the script.
    """
    place = tmp_path / "project"
    for room in ("rooms", "checks"):
        (place / room).mkdir(parents=True)
    monkeypatch.setattr(fingerprint, "ROOT", place)

    def of(*change, library=(), move="", **rooms):
        texts = {"library_of_script": (LIBRARY, library), f"{move}script": (SCRIPT, change),
                 "rooms/deepest": (DEEPEST, rooms.get("deepest", ())),
                 "checks/validate": (VALIDATE, rooms.get("validate", ()))}
        for factor, name in enumerate(("deep", "deeper", "another", "origin"), 2):
            texts[f"rooms/{name}"] = (ROOM.format(factor=factor), rooms.get(name, ()))
        for file, (text, replace) in texts.items():
            changed = text.replace(*replace) if replace else text
            assert (changed != text) == bool(replace)
            (place / f"{file}.py").parent.mkdir(exist_ok=True)
            (place / f"{file}.py").write_text(changed)
        fingerprint.read.cache_clear()
        fingerprint.source.cache_clear()
        return fingerprint.fingerprint(imported(place / f"{move}script.py", monkeypatch).run)

    return of


def imported(path, monkeypatch):
    """Import a script, finding what it imports in its project."""
    monkeypatch.syspath_prepend(fingerprint.ROOT)
    ours = ("library_of_script", "rooms", "checks")
    for name in [n for n in sys.modules if n.split(".")[0] in ours]:
        monkeypatch.delitem(sys.modules, name)
    spec = spec_from_file_location("script", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("change", [
    ("# ours", "# Section 3"),
    ('"a figure"', '"another figure"'),
    ("return TITLE", "return 2 * TITLE"),
    ("A script", "Another script"),
    ("Docstring", "More words"),
    ("\n\ndef inner", "\n\n\ndef inner"),
    ("import numpy as np\n", "import numpy as np\nimport math\n"),
    # a check of an argument counts as the argument, and an annotation as nothing
    ('    eps = validate.real("eps", eps, 0.0)\n', ""), ('"eps", eps, 0.0', '"eps", eps, 2.0'),
    ('    validate.instance("seed", seed, int)\n', ""), ("validate.real", "validate.array"),
    ('return seed, validate', 'return validate.count("seed", seed), validate'),
    ('validate.count("eps", eps)', "eps"), ("validate.count", "count"),
    ("def check(seed, eps,", "def check(seed: int, eps,"),
    ("def run(seed)", "def run(seed: np.ndarray) -> dict"), ("RATE: float", "RATE: int"),
    # what can only end a run or tell of it
    ("too small: {eps}", "{seed} is too small"), ("eps < times:", "eps < times + inner(2):"),
    ('    if eps < times:\n        raise ValueError(f"too small: {eps}")\n    elif', "    if"),
    ('    elif eps > 9:\n        warnings.warn("large", stacklevel=2)\n', ""),
    ("> 9:\n        w", "> 8:\n        w"),
    ('"twice too large"', 'f"{eps}"'), ("        check_interrupt()\n", ""),
    ("a large {seed}", "too large"), ('        print(f"a large {seed}")\n', ""),
    ("not {seed}", "not that"), ("is well", "ends"),
    ("    pass\n\ndef warn_if_none_accepted", "    return 1\n\ndef warn_if_none_accepted"),
    ("@warn_if_none_accepted\n", ""), ("warn_if_none_accepted", "tells"),
    ("    return function", "    return print")])
def test_labels_checks_words_and_annotations_count_as_nothing(code, change):
    assert code(*change) == code()


@pytest.mark.parametrize("change", [
    # what a check takes and computes, and what is done with an argument that is checked
    ("times=1", "times=2"), ("eps, times=1", "times, eps=1"), ("2 * eps) > 9", "3 * eps) > 9"),
    ("Told(seed)", "Told(-seed)"), ("seed > 9", "seed > 8"), ("eps += twice", "eps -= twice"),
    ('        warnings.warn("large", stacklevel=2)\n', "        eps = 9\n"),
    ('raise ValueError(f"too small: {eps}")', "return 1, 1"),
    ('raise ValueError(f"too small: {eps}")', 'seed = 1\n        raise ValueError("small")'),
    ("check(seed, 1.0)", "check(seed, 2.0)"), ("(seed, 1.0)\n", "(seed + 1, 1.0)\n"),
    ('"eps", eps, 0.0', '"eps", 2 * eps, 0.0'), ('count("eps", eps)', 'count("eps", seed)'),
    ("eps = validate.real", "seed = validate.real"), ("validate.count", "np.sqrt"),
    ("validate.count", "np.count"),
    ('mass("M", eps)', 'mass("M", seed)'), ("validate.mass", "validate.indices"),
    # what the function uses of its script, and the function of a library
    ("SCALE = 2.0", "SCALE = 3.0"), ("# ours", "\nSCALE += 1.0"), ("A, B = 1, 2", "A, B = 2, 2"),
    ("inner(seed) + A", "inner(seed) - A"), ("helper(x) * SCALE", "helper(x) / SCALE"),
    ("RATE: float = 0.5", "RATE: float = 0.6"),
    ("import helper, other", "import other as helper"), ("import log1p as", "import expm1 as")])
def test_what_is_computed_counts(code, change):
    assert code(*change) != code()


@pytest.mark.parametrize("file, change, counts", [
    # of a check that computes, what it computes
    ("validate", ("float(value)", "float(value) + 0.0"), False),
    ("validate", ("value ** 0.5", "value ** 0.25"), True),
    ("validate", ("real(name, value)\n", "real(name, 2 * value)\n"), True),
    ("validate", ("    value = real(name, value)\n", ""), False),
    ("library", ("x + 1", "x + 2"), True), ("library", ("STEP = 1", "STEP = 2"), True),
    ("library", ("v * 2", "v"), True),
    # registered for a type that is used, and for one that is not
    ("library", ("return 3 * x", "return 4 * x"), True),
    ("library", ("return 5 * x", "return 6 * x"), False),
    ("library", ("Second)(used_double)", "Second)(unused_double)"), False),
    ("library", ("Second)(used_double)", "Used)(unused_double)"), True),
    ("library", ("A library", "The library"), False),
    ("library", ("return x\n", "return -x\n"), False),
    # what hands a name on
    ("deepest", ("x * 11", "x * 12"), True), ("deepest", ("rooms.origin", "rooms.deep"), True)])
def test_what_it_uses_of_the_project_counts_and_nothing_else(code, file, change, counts):
    assert (code(**{file: change}) != code()) == counts


@pytest.mark.parametrize("factor, room", [*enumerate(["deep", "deeper", "another", "origin"], 2)])
def test_what_it_uses_of_a_file_in_a_folder_counts_however_it_is_imported(code, factor, room):
    assert code(**{room: (f"{factor} * np", "9 * np")}) != code()
    assert code(**{room: ("np.abs", "np.sqrt")}) != code()
    assert code(**{room: (f"return {factor}\n", "return 9\n")}) == code()  # not used


def test_the_variable_of_a_comprehension_is_no_definition(code):
    code()
    definitions = fingerprint.read(fingerprint.ROOT / "script.py").definitions
    assert "row" not in definitions and "TABLE" in definitions


def test_a_file_that_moves_keeps_its_key(code):
    assert code(move="elsewhere/") == code()


def test_fields_that_other_versions_have_do_not_count():
    mine, other = (ast.parse("def f(x): return x").body[0] for _ in range(2))
    other.type_params = []
    other._fields = (*other._fields, "type_params")
    assert fingerprint.canonical(mine) == fingerprint.canonical(other)
    other.body[0].value = ast.Constant(None)
    assert fingerprint.canonical(mine) != fingerprint.canonical(other)


def test_of_an_entry_point_the_check_counts_and_how_it_is_put_in_front_does_not():
    found = {f"{path.stem}.{name}" for path, name in fingerprint.used_definitions(
        (ROOT / "algorithms" / "hmc.py", "hmc"))}
    assert {"hmc.check_hmc", "hmc.hmc_step", "jit.njit", "linalg.cholesky"} <= found
    assert not {"jit.public", "jit.check_interrupt", "validate.real"} & found


def test_no_constant_is_taken_for_another():
    texts = ("x = 0", "x = 0.0", "x = -0.0", "x = False", "x = ''", "x = b''", "x = None", "x = ()",
             "x = []", "x = {}", "x = [0]", "x = [None]", "x = ...", "x: int")
    assert len({fingerprint.canonical(ast.parse(text)) for text in texts}) == len(texts)
    calls = ("f(x)", "f(x=0)", "f(x=None)", "f(x, 0)", "f(x, None)", "f(x[:0])", "f(x[:])",
             "f(x[None:None])", "lambda x: 0", "lambda x=0: 0", "lambda x=None: 0")
    assert len({fingerprint.canonical(ast.parse(text)) for text in calls}) == len(calls)


def test_what_an_f_string_says_counts_and_empty_strings_in_it_do_not():
    def canonical(text):
        return fingerprint.canonical(ast.parse(text))

    assert len({canonical(f"x = {text}") for text in (
        'f"a{y}"', 'f"b{y}"', 'f"a{z}"', 'f"{y}a"', 'f"a{y:.2f}"', 'f"a{y:.3f}"')}) == 6
    tree = ast.parse('f"a{y}"')
    tree.body[0].value.values.append(ast.Constant(""))
    assert fingerprint.canonical(tree) == canonical('f"a{y}"')


def test_a_digest_has_twenty_digits_and_tells_texts_apart():
    assert re.fullmatch("[0-9a-f]{20}", fingerprint.digest("a", "b"))
    assert len({fingerprint.digest(*texts) for texts in (
        ("a", "b"), ("b", "a"), ("ab",), ("a", "b", ""), ("a",))}) == 5
