"""The lessons and exercises: each shows a bug that is planted, in a file of its paper."""

import ast
import subprocess

import pytest

from harness import exercises, listing
from harness.exercises import CHOSEN, PLANTED, ROOT, planted

ALL = [each for author in listing.AUTHORS for each in exercises.exercises(author)]
LIBRARY = {"paquet": "Paquet", "shahbaba": "Shahbaba", "zhang": "Zhang", "wang": "Wang"}


@pytest.mark.parametrize("author", listing.AUTHORS)
def test_a_paper_has_twelve_and_a_lesson(author):
    found = exercises.exercises(author)
    assert [each.anchor for each in found] == [f"{author}-{k}" for k in range(1, 13)]
    assert len(exercises.lesson(author)) == 4
    starts = [int(part.split()[0]) for part in exercises.lesson(author)]
    ends = [int(part.split()[2]) for part in exercises.lesson(author)]
    assert starts == [0, *ends[:-1]] and ends[-1] == 90


def test_none_is_asked_twice():
    assert len({each.name for each in ALL}) == 48


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.anchor)
def test_it_is_of_its_paper_and_names_the_test_that_fails(each):
    mirror = ROOT / each.path.replace("_fast.py", ".py")  # of which that would be the twin
    header = ast.get_docstring(ast.parse(mirror.read_text()))
    assert LIBRARY[each.anchor.split("-")[0]] in header
    assert each.test == (PLANTED / f"{each.name}.patch").read_text().splitlines()[0]
    assert each.why.endswith(".") and len(each.why) > 40


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.anchor)
def test_what_is_shown_is_the_function_with_the_bug_as_git_plants_it(each, tmp_path):
    (tmp_path / each.path).parent.mkdir(parents=True)
    right = (ROOT / each.path).read_text()
    (tmp_path / each.path).write_text(right)
    subprocess.run(["git", "apply", str(PLANTED / f"{each.name}.patch")], cwd=tmp_path, check=True)
    wrong = (tmp_path / each.path).read_text()
    assert planted(right, (PLANTED / f"{each.name}.patch").read_text())[0] == wrong
    lines = each.source.split("\n")
    assert wrong.split("\n")[each.first - 1 : each.first - 1 + len(lines)] == lines
    assert f"{each.source}\n" in wrong and f"{each.source}\n" not in right
    assert f"def {each.function}(" in each.source
    for number in each.changed:
        assert wrong.split("\n")[number - 1] in each.wrong.split("\n")
        assert each.first <= number < each.first + len(lines)
    assert set(each.right.split("\n")) <= set(right.split("\n"))


PATCH = """tests/test_a.py::test_b
--- a/file.py
+++ b/file.py
@@ -40,3 +40,3 @@ def f():
 a
-b
+B
+C
 d
"""


def test_a_patch_is_planted_where_its_lines_are_now():
    assert planted("x\na\nb\nd\ne\n", PATCH) == ("x\na\nB\nC\nd\ne\n", [3, 4])


@pytest.mark.parametrize("source", ["a\nc\nd\n", "a\nb\nd\na\nb\nd\n"])
def test_a_patch_of_other_lines_is_refused(source):
    with pytest.raises(ValueError, match=r"what a patch changes stands in [02] places"):
        planted(source, PATCH)


NESTED = """
def outer():
    def inner():
        return 1
    return inner
"""


@pytest.mark.parametrize(("line", "name"), [(2, "outer"), (3, "inner"), (4, "inner"), (5, "outer")])
def test_a_line_is_of_the_innermost_function_around_it(line, name):
    assert exercises.around(ast.parse(NESTED), line).name == name


def test_the_words_are_plain_text():
    assert "<" not in CHOSEN.read_text() and "\t" not in CHOSEN.read_text()


# What a figure becomes with it: reproduce/planted.py


def test_all_are_drawn_and_nothing_else_is_there():
    drawn = exercises.drawn()
    assert sorted(drawn) == sorted(each.anchor for each in ALL)
    wanted = {f"{each.anchor}.png" for each in ALL if not drawn[each.anchor]["ended"]}
    wanted |= {entry["as_it_is"] for entry in drawn.values()} | {exercises.DRAWN.name}
    assert {path.name for path in exercises.DRAWN.parent.iterdir()} == wanted
    assert all(path.stat().st_size < 100_000 for path in exercises.DRAWN.parent.iterdir())


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.anchor)
def test_what_is_drawn_is_this_bug_in_a_script_of_its_paper(each):
    # if this fails, run python reproduce/planted.py with its address, and reproduce/pages.py
    entry = exercises.drawn()[each.anchor]
    assert (entry["script"], entry["patch"]) == (each.script, exercises.digest(each.name))
    assert each.script.startswith(each.anchor.split("-")[0])
    assert 0 <= entry["changed"] <= entry["numbers"]
    assert entry["steady"] or entry["changed"] or entry["ended"]  # or nothing can be said of it


def test_most_show():
    assert sum(not exercises.looks_the_same(*each) for each in exercises.drawn().items()) >= 40
