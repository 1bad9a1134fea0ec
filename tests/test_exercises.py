"""The lessons and exercises: each shows a bug that is planted, in a file of its paper."""

import ast
import re
from html import unescape

import pytest

from reproduce.harness import exercises
from reproduce.harness.exercises import CHOSEN, ROOT, Bug, bugs, plant
from reproduce.harness.papers import PAPERS

BUGS = bugs()
ALL = [each for author in PAPERS for each in exercises.exercises(author)]


@pytest.mark.parametrize("author", PAPERS)
def test_a_paper_has_twelve_and_a_lesson_in_plain_text(author):
    found = exercises.exercises(author)
    assert [each.anchor for each in found] == [f"{author}-{k}" for k in range(1, 13)]
    starts, _, ends, *_ = zip(*map(str.split, exercises.lesson(author)), strict=False)
    assert [*map(int, ends)] == [*map(int, starts[1:]), 90] and starts[0] == "0"
    assert len({each.bug.name for each in ALL}) == 48  # none is asked twice
    assert "<" not in CHOSEN.read_text() and "\t" not in CHOSEN.read_text()


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.anchor)
def test_it_shows_the_function_of_its_paper_with_the_bug_and_names_the_test(each):
    mirror = ROOT / each.bug.path.replace("_fast.py", ".py")  # of which that would be the twin
    assert each.anchor.split("-")[0].capitalize() in ast.get_docstring(
        ast.parse(mirror.read_text()))
    assert each.bug.test == BUGS[f"{each.bug.name}.harmless"].test
    assert each.why.endswith(".") and len(each.why) > 40
    right = (ROOT / each.bug.path).read_text()
    assert f"{each.source}\n" in plant(right, each.bug)[0]
    assert f"{each.source}\n" not in right and f"def {each.function}(" in each.source
    for text, source in ((each.bug.wrong, each.source), (each.bug.right, right)):
        assert {each.indent + line for line in text.split("<br>")} <= {*source.split("\n")}
    shown = unescape(re.sub("<[^>]+>", "", exercises.answer(each))).split("\n")
    assert shown == [f"{sign} {(each.indent + line).rstrip()}" for sign, text in (
        ("-", each.bug.wrong), ("+", each.bug.right)) for line in text.split("<br>")]


SOURCE = """
def f():
    a = 1
    # a comment

    b = 2
    if a:
        b = 2

def g():
    b = 2
    return b
"""


@pytest.mark.parametrize(("function", "right"), [("", "b = 2"), ("f", "b = 2"), ("", "b = 4"),
                                                 ("g", "a = 1")])
def test_a_bug_of_which_the_place_is_not_clear_is_refused(function, right):
    with pytest.raises(ValueError, match=r"bug: \['. = .'\] stands in [023] places of file.py"):
        plant(SOURCE, Bug("bug", "file.py", function, right, "c = 3", "t::t"))


def test_all_are_drawn_and_nothing_else_is_there():
    # if this fails, run python reproduce/tools/planted.py with its address, and
    # reproduce/tools/pages.py
    drawn = exercises.read_drawn()
    assert sorted(drawn) == sorted(each.anchor for each in ALL)
    for each in ALL:  # this bug, in a script of its paper
        entry = drawn[each.anchor]
        assert (entry["script"], entry["patch"]) == (each.script, exercises.digest(each.bug))
        assert each.script.startswith(each.anchor.split("-")[0])
        assert 0 <= entry["changed"] <= entry["numbers"]
        assert entry["steady"] or entry["changed"] or entry["ended"]  # or nothing can be said
    wanted = {f"{each.anchor}.png" for each in ALL if not drawn[each.anchor]["ended"]}
    wanted |= {entry["as_it_is"] for entry in drawn.values()} | {exercises.DRAWN.name}
    assert {path.name for path in exercises.DRAWN.parent.iterdir()} == wanted
    assert all(path.stat().st_size < 100_000 for path in exercises.DRAWN.parent.iterdir())
    assert sum(not exercises.looks_the_same(*each) for each in drawn.items()) >= 40  # most show
