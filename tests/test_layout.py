"""The rules of the layout that a reader relies on, read off the source."""

import ast
import re
import sys

import pytest

from models.jit import ROOT
from reproduce.harness.papers import PAPERS, module, scripts

CORE = sorted((ROOT / "algorithms").glob("*.py"))
ALGORITHMS = CORE + sorted((ROOT / "algorithms" / "rivals").glob("*.py"))
MODELS = sorted((ROOT / "models").glob("*.py"))
SAMPLING = sorted((ROOT / "sampling").glob("*.py"))  # for any model and sampler
SCRIPTS = scripts()
TOOLS = sorted((ROOT / "reproduce" / "tools").glob("*.py"))
COMMANDS = [*SCRIPTS, ROOT / "reproduce" / "all.py", ROOT / "reproduce" / "data.py", *TOOLS]
HARNESS = sorted((ROOT / "reproduce" / "harness").glob("*.py"))
# what all papers' rivals share
RIVALS = sorted((ROOT / "reproduce" / "beyond" / "rivals").glob("*.py"))
# what the scripts of a paper share
SHARED = sorted(path for author in PAPERS
                for path in (ROOT / "reproduce" / author).glob("*.py")
                if path.stem != "lesson")  # a notebook's text
REPRODUCE = COMMANDS + HARNESS + RIVALS + SHARED
OURS = ("algorithms", "models", "reproduce", "sampling", "tests")
LIBRARIES = {"numba", "llvmlite", "numpy", "scipy"}
def name(path):
    return f"{path.parent.name}/{path.stem}"


def tree(path):
    return ast.parse(path.read_text())


def folders(path):
    """Return the folders of the project that a file imports from, as dotted names."""
    return {module(file.parent) for name in modules(path) if name.startswith(OURS)
            and (file := ROOT / (name.replace(".", "/") + ".py")).is_file()}


def attributes(path):
    """Return the dotted names that a file reads, such as numba.njit."""
    return {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in TOOLS], ids=name)
def test_a_script_first_imports_what_answers_ctrl_c(path):
    first = next(node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom))
    assert isinstance(first, ast.ImportFrom) and first.module == "reproduce.harness.start"


def allowed(path):
    """Return the folders of the project that a file may import from."""
    if path in MODELS:
        return {"models"}
    if path in ALGORITHMS:  # of which none of the papers' imports a rival
        rivals = set() if path in CORE else {"algorithms.rivals"}
        return {"algorithms", "models"} | rivals
    if path in SAMPLING:
        return {"algorithms", "algorithms.rivals", "models", "sampling"}
    if path in HARNESS:
        return {"reproduce.harness"}
    author = path.stem.split("_")[0]
    if path in SHARED:
        papers = [path.parent.name]
    elif path in RIVALS:  # the problems of meet.py are those of the papers
        papers = PAPERS if path.stem == "comparison_problems" else []
    else:  # no command imports a command
        papers = [author] if path in SCRIPTS and author in PAPERS else PAPERS
    return {"algorithms", "algorithms.rivals", "models", "sampling", "reproduce.harness",
            "reproduce.beyond.rivals", *(f"reproduce.{paper}" for paper in papers)}


@pytest.mark.parametrize("path", ALGORITHMS + MODELS + REPRODUCE + SAMPLING, ids=name)
def test_the_arrows_between_folders_run_one_way(path):
    assert folders(path) <= allowed(path)


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
            assert not [name for name in names if name.startswith(OURS)
                        and not name.startswith("reproduce.harness")]


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_the_library_needs_only_numba_numpy_and_scipy_and_is_compiled_in_one_place(path):
    libraries = {found.split(".")[0] for found in modules(path)}
    assert libraries - {*OURS} <= LIBRARIES | sys.stdlib_module_names
    assert "fastmath=" not in path.read_text()
    compilers = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil"}
    compiling = {f"numba.{compiler}" for compiler in compilers}
    if path.name != "jit.py":
        assert not (modules(path) | attributes(path)) & compiling
    # randomness comes from a generator
    used = {a for a in attributes(path) if a.startswith(("np.random.", "numpy.random."))}
    assert {".".join(a.split(".")[:3]) for a in used} <= {"np.random.default_rng",
                                                          "np.random.Generator"}
    assert "random" not in libraries


@pytest.mark.parametrize("path", ALGORITHMS + MODELS, ids=name)
def test_every_file_has_its_tests_and_every_fast_twin_its_mirror(path):
    twin = path.stem.endswith("_fast")
    other = path.with_stem(path.stem.removesuffix("_fast"))
    tests = [ROOT / "tests" / f"test_{each}.py" for each in ("models", "validate")]
    assert (other if twin else ROOT / "tests" / f"test_{path.stem}.py").is_file() or any(
        re.search(rf"^from models(\.| import .*\b){path.stem}\b", each.read_text(), re.M)
        for each in tests)


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
    assert ast.unparse(body[-2].targets[0]) == "STUDY"
    assert ast.unparse(body[-1]) == "if __name__ == '__main__':\n    main(STUDY)"


# what a paper has: its figures, its tables, and its errors
EXHIBITS = [path for path in SCRIPTS if path.parent.name == "reproduce"]
# what the last of these computes is no algorithm of algorithms/; the others call their paper's
NO_SAMPLER = {"shahbaba_fig2", "shahbaba_fig3", "wang_errata", "wang_table1", "shahbaba_errata"}


@pytest.mark.parametrize("path", [p for p in SCRIPTS if p.stem != "shahbaba_errata"], ids=name)
def test_the_reader_reaches_the_algorithm_within_80_lines(path):
    shared = ("reproduce.beyond.rivals", *(f"reproduce.{author}" for author in PAPERS))
    ours = ("algorithms.", *shared * (path not in EXHIBITS or path.stem in NO_SAMPLER))
    local = {alias.asname or alias.name for node in tree(path).body
             if isinstance(node, ast.ImportFrom) and node.module.startswith(ours)
             for alias in node.names}
    used = [node.lineno for node in ast.walk(tree(path)) if isinstance(node, ast.Name)
            and node.id in local and isinstance(node.ctx, ast.Load)]
    assert used and min(used) <= 80


@pytest.mark.parametrize("path", COMMANDS, ids=name)
def test_no_command_is_longer_than_a_reader_bears(path):
    assert len(path.read_text().splitlines()) <= (250 if path in EXHIBITS else 320)


def test_every_file_is_in_one_of_these_folders():
    # so that no rule above is about nothing, and no file is outside of all rules
    found = {path for folder in ("algorithms", "models", "reproduce", "sampling")
             for path in (ROOT / folder).rglob("*.py") if path.stem != "lesson"}
    assert found == {*ALGORITHMS, *MODELS, *REPRODUCE, *SAMPLING}
    assert len({path.stem for path in SCRIPTS}) == len(SCRIPTS)  # their results are in one folder
    assert not {path for path in found if path.name == "__init__.py"}


@pytest.mark.parametrize(
    "path", [path for path in ALGORITHMS if not path.stem.endswith("_fast")], ids=name)
def test_a_header_begins_in_words(path):
    # what the algorithm does, why it is valid, when to use it
    title, first = ast.get_docstring(tree(path)).split("\n\n")[:2]
    assert first.startswith("In words ") and "\n" not in title
    said = re.match(r"In words +((?:.*\n)(?: {12}.*\n)*)", first + "\n")[1]
    assert len(re.findall(r"[.:;?](?=\s)", said)) >= 3
