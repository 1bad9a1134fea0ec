"""The rules of the layout that a reader relies on, read off the source."""

import ast
from pathlib import Path

import pytest

from models.jit import ROOT

ALGORITHMS = sorted((ROOT / "algorithms").glob("*.py"))
MODELS = sorted((ROOT / "models").glob("*.py"))
AUTHORS = ("paquet", "shahbaba", "zhang", "wang")
SCRIPTS = sorted(path for author in AUTHORS for path in (ROOT / "reproduce").glob(f"{author}_*.py"))
OURS = {"algorithms", "models", "reproduce", "tests"} | {
    path.stem for path in (ROOT / "reproduce").glob("*.py")}
LIBRARIES = {"numba", "llvmlite", "numpy", "scipy"}
STANDARD = {"ctypes", "dis", "functools", "graphlib", "hashlib", "itertools", "math", "numbers",
            "os", "pathlib", "pickle", "sys", "types", "typing", "uuid", "weakref"}


def name(path):
    return f"{path.parent.name}/{path.stem}"


def tree(path):
    return ast.parse(path.read_text())


def imports(path):
    """Return the set of the packages that a file imports, and whether any import is relative."""
    found, relative = set(), False
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            relative |= node.level > 0
            found.add((node.module or "").split(".")[0])
    return found, relative


def attributes(path):
    """Return the dotted names that a file reads, such as numba.njit."""
    return {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}


def keywords(path):
    """Return the names of all keyword arguments of calls."""
    return {k.arg for node in ast.walk(tree(path)) if isinstance(node, ast.Call)
            for k in node.keywords}


@pytest.mark.parametrize("path", MODELS, ids=name)
def test_models_import_nothing_of_ours_but_models(path):
    assert imports(path)[0] & OURS <= {"models"}


@pytest.mark.parametrize("path", ALGORITHMS, ids=name)
def test_algorithms_import_nothing_of_ours_but_algorithms_and_models(path):
    assert imports(path)[0] & OURS <= {"algorithms", "models"}


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_do_not_import_tests(path):
    assert "tests" not in imports(path)[0]


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_the_library_needs_only_numba_numpy_and_scipy(path):
    assert imports(path)[0] - OURS <= LIBRARIES | STANDARD


@pytest.mark.parametrize("path", ALGORITHMS + MODELS + SCRIPTS, ids=name)
def test_no_relative_imports(path):
    assert not imports(path)[1]


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_only_models_jit_calls_numba_njit(path):
    from_numba = {alias.name for node in ast.walk(tree(path))
                  if isinstance(node, ast.ImportFrom) and (node.module or "") == "numba"
                  for alias in node.names}
    compilers = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil"}
    if path.name != "jit.py":
        assert not from_numba & compilers
        assert not attributes(path) & {f"numba.{compiler}" for compiler in compilers}


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_no_fastmath(path):
    assert "fastmath" not in keywords(path)


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_randomness_comes_from_a_generator(path):
    allowed = {"np.random.default_rng", "np.random.Generator"}
    used = {a for a in attributes(path) if a.startswith(("np.random.", "numpy.random."))}
    assert {".".join(a.split(".")[:3]) for a in used} <= allowed
    assert "random" not in imports(path)[0]


@pytest.mark.parametrize(
    "path", [p for p in ALGORITHMS + MODELS if not p.stem.endswith("_fast")], ids=name)
def test_every_file_has_its_tests(path):
    assert (ROOT / "tests" / f"test_{path.stem}.py").is_file()


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_every_file_says_what_it_is(path):
    assert ast.get_docstring(tree(path))


@pytest.mark.parametrize("path", [p for p in ALGORITHMS if p.stem.endswith("_fast")], ids=name)
def test_every_fast_twin_has_its_mirror(path):
    assert path.with_stem(path.stem.removesuffix("_fast")).is_file()


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_have_their_parts_in_order(path):
    wanted = ["CLAIMS", "run", "table", "figure"]
    body = tree(path).body
    defined = [node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.targets[0])
               for node in body if isinstance(node, ast.FunctionDef | ast.Assign)]
    assert ast.get_docstring(tree(path))
    assert [part for part in defined if part in wanted] == wanted
    assert ast.unparse(body[-1]).startswith("if __name__ == '__main__'")


def test_there_is_something_to_check():
    assert ALGORITHMS and MODELS
    assert Path(__file__).parent == ROOT / "tests"
