"""The rules of the layout that a reader relies on, read off the source."""

import ast
import re

import pytest

from models.jit import ROOT

ALGORITHMS = sorted((ROOT / "algorithms").glob("*.py"))
MODELS = sorted((ROOT / "models").glob("*.py"))
AUTHORS = ("paquet", "shahbaba", "zhang", "wang")
MEET = ROOT / "reproduce" / "meet.py"  # no paper's script: all four on each other's problems
SCRIPTS = [MEET, *sorted(path for author in AUTHORS
                         for path in (ROOT / "reproduce").glob(f"{author}_*.py"))]
COMMANDS = sorted((ROOT / "reproduce").glob("*.py"))  # the scripts, and all.py, data.py, ...
HARNESS = sorted((ROOT / "reproduce" / "harness").glob("*.py"))
RIVALS = sorted((ROOT / "reproduce" / "rivals").glob("*.py"))  # what all papers' rivals share
# what the scripts of a paper share
ROOMS = sorted(path for author in AUTHORS
               for path in (ROOT / "reproduce" / author).glob("*.py")
               if path.stem != "lesson")  # a notebook's text
REPRODUCE = COMMANDS + HARNESS + RIVALS + ROOMS
OURS = {"algorithms", "models", "reproduce", "tests", "harness", "rivals", *AUTHORS} | {
    path.stem for path in COMMANDS}
LIBRARIES = {"numba", "llvmlite", "numpy", "scipy"}
STANDARD = {"contextlib", "copy", "ctypes", "difflib", "dis", "functools", "graphlib", "hashlib",
            "inspect", "itertools", "math", "numbers", "os", "pathlib", "pickle", "sys", "types",
            "typing", "uuid", "warnings", "weakref"}


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


@pytest.mark.parametrize("path", [*SCRIPTS, *(path for path in COMMANDS
                                             if path.stem in ("all", "data"))], ids=name)
def test_a_script_first_imports_what_answers_ctrl_c(path):
    first = next(node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom))
    assert isinstance(first, ast.ImportFrom) and first.module == "harness.start"


@pytest.mark.parametrize("path", MODELS, ids=name)
def test_models_import_nothing_of_ours_but_models(path):
    assert imports(path)[0] & OURS <= {"models"}


@pytest.mark.parametrize("path", ALGORITHMS, ids=name)
def test_algorithms_import_nothing_of_ours_but_algorithms_and_models(path):
    assert imports(path)[0] & OURS <= {"algorithms", "models"}


@pytest.mark.parametrize("path", HARNESS, ids=name)
def test_the_harness_imports_nothing_of_ours_but_itself(path):
    assert imports(path)[0] & OURS <= {"harness"}


@pytest.mark.parametrize("path", RIVALS, ids=name)
def test_what_all_papers_share_imports_no_paper(path):
    papers = set(AUTHORS) if path.stem == "meeting" else set()  # meet.py's problems are theirs
    assert imports(path)[0] & OURS <= {"algorithms", "models", "harness", "rivals"} | papers


@pytest.mark.parametrize("path", ROOMS, ids=name)
def test_what_the_scripts_of_a_paper_share_imports_no_script_and_no_other_paper(path):
    assert imports(path)[0] & OURS <= {"algorithms", "models", "harness", "rivals",
                                       path.parent.name}


@pytest.mark.parametrize("path", COMMANDS, ids=name)
def test_no_command_imports_a_command(path):
    rooms = set(AUTHORS) if path not in SCRIPTS or path == MEET else {path.stem.split("_")[0]}
    assert imports(path)[0] & OURS <= {"algorithms", "models", "harness", "rivals"} | rooms


def test_the_arrows_between_files_make_no_circle():
    files = {".".join(path.relative_to(place).with_suffix("").parts): path for place, paths in (
        (ROOT, ALGORITHMS + MODELS), (ROOT / "reproduce", REPRODUCE))
        for path in paths}
    arrows = {module: {found for found in modules(path) if found in files}
              for module, path in files.items()}
    while leaves := [module for module, to in arrows.items() if not to & arrows.keys()]:
        for module in leaves:
            del arrows[module]
    assert arrows == {}  # whatever is left imports, in the end, itself


def modules(path):
    """Return the dotted names that a file imports, those that are no module among them."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", ALGORITHMS + MODELS + REPRODUCE, ids=name)
def test_what_is_ours_is_imported_where_a_fingerprint_sees_it(path):
    # harness/fingerprint.py reads the top level of a file; it cannot see through a star
    whole = tree(path)
    top = set(map(id, whole.body))
    for node in ast.walk(whole):
        if isinstance(node, ast.ImportFrom):
            assert [alias.name for alias in node.names] != ["*"]
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in top:
            names = [node.module] if isinstance(node, ast.ImportFrom) else [
                alias.name for alias in node.names]
            assert not {name.split(".")[0] for name in names} & (OURS - {"harness"})


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_the_library_needs_only_numba_numpy_and_scipy(path):
    assert imports(path)[0] - OURS <= LIBRARIES | STANDARD


@pytest.mark.parametrize("path", ALGORITHMS + MODELS + REPRODUCE, ids=name)
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


PARTS = ["NAME", "MINUTES", "run", "CLAIMS", "table", "figure", "cases"]


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_have_their_parts_in_order(path):
    body = tree(path).body
    defined = []
    for node in body:
        if isinstance(node, ast.FunctionDef):
            defined.append(node.name)
        elif isinstance(node, ast.Assign):
            defined += [n.id for target in node.targets for n in ast.walk(target)
                        if isinstance(n, ast.Name)]
    assert ast.get_docstring(tree(path))
    assert [part for part in defined if part in PARTS] == PARTS
    assert ast.unparse(body[-1]) == "if __name__ == '__main__':\n    main(globals())"


# what such a script computes; the others have no algorithm of algorithms/ at their heart
WITHOUT = {"shahbaba_errata"}


@pytest.mark.parametrize("path", [p for p in SCRIPTS if p.stem not in WITHOUT], ids=name)
def test_the_reader_reaches_the_algorithm_within_80_lines(path):
    room = path.stem.split("_")[0] if path != MEET else "rivals"
    called = {}  # what is called in it, of algorithms/ or of the paper's folder, and where
    local = {alias.asname or alias.name for node in tree(path).body
             if isinstance(node, ast.ImportFrom) for alias in node.names
             if node.module.split(".")[0] in ("algorithms", room)}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and node.id in local and isinstance(node.ctx, ast.Load):
            called.setdefault(node.id, node.lineno)
    assert min(called.values()) <= 80


@pytest.mark.parametrize("path", COMMANDS, ids=name)
def test_no_command_is_longer_than_300_lines(path):
    assert len(path.read_text().splitlines()) <= 300


def test_every_file_is_in_one_of_these_rooms():
    # so that no rule above is about nothing, and no file is outside of all rules
    found = {path for room in ("algorithms", "models", "reproduce")
             for path in (ROOT / room).rglob("*.py") if path.stem != "lesson"}
    assert found == {*ALGORITHMS, *MODELS, *REPRODUCE}
    assert {path.stem for path in COMMANDS} - {path.stem for path in SCRIPTS} == {
        "all", "data", "laboratory", "pages", "planted", "record", "rekey"}
    assert not {path for path in found if path.name == "__init__.py"}


@pytest.mark.parametrize("path", [path for path in ALGORITHMS if not path.stem.endswith("_fast")
                                  and path.stem != "__init__"], ids=name)
def test_a_header_begins_in_words(path):
    # what the algorithm does, why it is valid, when to use it
    title, first = ast.get_docstring(tree(path)).split("\n\n")[:2]
    assert first.startswith("In words ") and "\n" not in title
    said = re.match(r"In words +((?:.*\n)(?: {12}.*\n)*)", first + "\n")[1]
    assert len(re.findall(r"[.:;?](?=\s)", said)) >= 3
