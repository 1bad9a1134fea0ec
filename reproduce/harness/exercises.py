"""Exercises: functions of the project with one of the planted bugs in them, for the reader to find.

What is shown comes from the patches in tests/planted_bugs/; page/exercises.json says which, in an
order that keeps their addresses, why each is one, and how a lesson on the paper may go.
"""

import ast
import json
import re
from hashlib import sha256
from typing import NamedTuple

from harness.evidence import highlighted
from harness.mirrors import ROOT

PLANTED = ROOT / "tests" / "planted_bugs"
CHOSEN = ROOT / "reproduce" / "harness" / "page" / "exercises.json"
DRAWN = ROOT / "figures" / "exercises" / "drawn.json"  # by reproduce/planted.py


class Exercise(NamedTuple):
    """A function that is wrong in one place."""

    anchor: str  # its address on the page
    name: str  # of the patch
    script: str  # whose figure shows it, or does not
    why: str
    path: str  # of the file, from the root
    function: str
    first: int  # its line in the file
    source: str  # of the function with the bug
    changed: tuple  # numbers, in the file with the bug, of the lines that are new
    right: str  # the lines that they are in the place of
    wrong: str
    test: str  # path::name of the one that fails


def exercises(author):
    """Return the exercises of a paper, in their order."""
    bugs = json.loads(CHOSEN.read_text())[author]["bugs"]
    return [exercise(f"{author}-{k}", *bug) for k, bug in enumerate(bugs, 1)]


def lesson(author):
    """Return the parts of a lesson of 90 minutes, in words."""
    return json.loads(CHOSEN.read_text())[author]["lesson"]


def exercise(anchor, name, script, why):
    """Make an Exercise of a patch."""
    patch = (PLANTED / f"{name}.patch").read_text()
    path = re.search(r"^--- a/(.+)$", patch, re.M)[1]
    source, changed = planted((ROOT / path).read_text(), patch)
    node = around(ast.parse(source), changed[0])
    lines = patch.splitlines()
    right, wrong = ("\n".join(line[1:] for line in lines if re.match(rf"\{sign}(?!\{sign}{{2}} )",
                                                                     line)) for sign in "-+")
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    text = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    return Exercise(anchor, name, script, why, path, node.name, first, text, tuple(changed), right,
                    wrong, lines[0])


def planted(source, patch):
    """Return a file's text after a patch of it alone, and the numbers of the lines it put there.

    Lines may have moved since the patch was made.  Raises ValueError where they have changed.
    """
    lines, changed = source.splitlines(), []
    for hunk in re.split(r"^@@.*\n", patch, flags=re.M)[1:]:
        body = [(line[:1] or " ", line[1:]) for line in hunk.splitlines()]
        old = [text for sign, text in body if sign != "+"]
        new = [(sign, text) for sign, text in body if sign != "-"]
        places = [k for k in range(len(lines)) if lines[k : k + len(old)] == old]
        if len(places) != 1:
            raise ValueError(f"what a patch changes stands in {len(places)} places: {old}")
        (k,) = places
        lines[k : k + len(old)] = [text for _, text in new]
        changed += [k + i for i, (sign, _) in enumerate(new, 1) if sign == "+"]
    return "\n".join(lines) + "\n", changed


def around(tree, line):
    """Return the innermost function of a syntax tree that a line belongs to."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
             and node.lineno <= line <= node.end_lineno]
    return max(found, key=lambda node: node.lineno)


def answer(exercise):
    """Return the wrong and the right lines of an exercise as HTML."""
    return "\n".join(f"{sign} {highlighted(line.rstrip())}" for sign, text in (
        ("-", exercise.wrong), ("+", exercise.right)) for line in text.split("\n"))


# What a figure becomes


def digest(name):
    """Return what tells whether a planted bug is still the one that was drawn."""
    return sha256((PLANTED / f"{name}.patch").read_bytes()).hexdigest()[:12]


def drawn():
    """Return {address: what became of the script's figure}, as reproduce/planted.py left it."""
    return json.loads(DRAWN.read_text())


def consequence(entry, same):
    """Say in words what became of a script's numbers, times apart; `same`: not so of its figure."""
    script, changed, numbers = entry["script"], entry["changed"], entry["numbers"]
    if entry["ended"]:
        return f"{script} draws nothing: it {entry['ended']}"
    if changed:
        figure = "; its figure does not" if same else ", and its figure"
        change = "changes" if changed == 1 else "change"
        return f"{changed} of the {numbers} numbers of {script} {change}{figure * entry['steady']}"
    if not numbers:
        return f"{script} claims nothing with so few draws; its figure " + (
            "does not change: it does not show this bug" if same else "changes")
    return f"None of the {numbers} numbers of {script} changes, " + (
        "nor does its figure: it does not show this bug" if same else "but its figure does")


def looks_the_same(anchor, entry):
    """Tell whether an exercise's picture is that without the bug."""
    return entry["ended"] == "" and (DRAWN.parent / f"{anchor}.png").read_bytes() == (
        DRAWN.parent / entry["as_it_is"]).read_bytes()
