"""Exercises: functions of the project with one of the planted bugs in them, for the reader to find.

What is shown comes from the tables in tests/planted_bugs/; page/exercises.json says which, in an
order that keeps their addresses, why each is one, and how a lesson on the paper may go.

CONTRIBUTING.md, step 10, has the columns of a table.  In that of functions "#2" is the second time
in a function; "<br>" parts the lines of a bug that takes more than one.  Comments and empty lines
between them do not count.
"""

import ast
import csv
import json
from difflib import SequenceMatcher
from hashlib import sha256
from typing import NamedTuple

from reproduce.harness.claims_html import highlight
from reproduce.harness.papers import ROOT

PLANTED = ROOT / "tests" / "planted_bugs"
CHOSEN = ROOT / "reproduce" / "harness" / "page" / "exercises.json"
DRAWN = ROOT / "figures" / "exercises" / "drawn.json"  # by reproduce/tools/planted.py


class Bug(NamedTuple):
    """A line of a table of planted bugs."""

    name: str
    path: str  # of the file, from the root
    function: str  # around the line, or "" where the file has it once
    right: str
    wrong: str
    test: str  # path::name of the one that fails


class Exercise(NamedTuple):
    """A function that is wrong in one place."""

    anchor: str  # its address on the page
    bug: Bug
    script: str  # whose figure shows it, or does not
    why: str
    function: str
    source: str  # of the function with the bug
    indent: str  # of the wrong lines


def exercises(author):
    """Return the exercises of a paper, in their order."""
    bugs = json.loads(CHOSEN.read_text("utf-8"))[author]["bugs"]
    return [exercise(f"{author}-{k}", *bug) for k, bug in enumerate(bugs, 1)]


def lesson(author):
    """Return the parts of a lesson of 90 minutes, in words."""
    return json.loads(CHOSEN.read_text("utf-8"))[author]["lesson"]


def bugs():
    """Return all planted bugs by name, and the harmless twins of exercises: <name>.harmless."""
    tables = [path.read_text("utf-8").splitlines() for path in sorted(PLANTED.glob("*.tsv"))]
    rows = [Bug(*row) for table in tables for row in
            csv.reader(table[1:], delimiter="\t", quoting=csv.QUOTE_NONE)]
    return {row.name: row for row in rows}


def exercise(anchor, name, script, why):
    """Make an Exercise of a bug."""
    bug = bugs()[name]
    source, changed = plant((ROOT / bug.path).read_text("utf-8"), bug)
    node = enclosing_function(ast.parse(source), changed[0])
    indent = source.splitlines()[changed[0] - 1].partition(bug.wrong.split("<br>")[0])[0]
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    text = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    return Exercise(anchor, bug, script, why, node.name, text, indent)


def plant(source, bug):
    """Return a file's text with a bug in it, and the numbers of the lines that are wrong.

    Raises ValueError if the right lines do not stand in the file, or in several places.
    """
    lines, right = source.splitlines(), bug.right.split("<br>")
    function, _, occurrence = bug.function.partition("#")
    node = next((node for node in ast.walk(ast.parse(source)) if function
                 and getattr(node, "name", "") == function), None)
    first, last = (node.lineno - 1, node.end_lineno) if node else (0, len(lines))
    code = [k for k in range(first, last) if lines[k].strip() and lines[k].lstrip()[0] != "#"]
    runs = [code[k : k + len(right)] for k in range(len(code) - len(right) + 1)]
    places = [run for run in runs if same_lines(right, [lines[k] for k in run])]
    if len(places) != 1 and not occurrence:
        raise ValueError(f"{bug.name}: {right} stands in {len(places)} places of {bug.path}")
    run = places[int(occurrence or 1) - 1]
    indent = lines[run[0]].partition(right[0])[0]
    wrong = [indent + line for line in bug.wrong.split("<br>")]
    lines[run[0] : run[-1] + 1] = wrong
    new = [range(*each[3:]) for each in SequenceMatcher(
        None, right, bug.wrong.split("<br>")).get_opcodes() if each[0] != "equal"]
    return "\n".join(lines) + "\n", [run[0] + k + 1 for part in new for k in part]


def same_lines(right, lines):
    """Tell whether lines of a file, all indented alike, are these."""
    indent = lines[0].partition(right[0])[0]
    return not indent.strip() and lines == [indent + line for line in right]


def enclosing_function(tree, line):
    """Return the innermost function of a syntax tree that a line belongs to."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
             and node.lineno <= line <= node.end_lineno]
    return max(found, key=lambda node: node.lineno)


def answer(exercise):
    """Return the wrong and the right lines of an exercise as HTML."""
    return "\n".join(f"{sign} {highlight((exercise.indent + line).rstrip())}" for sign, text in (
        ("-", exercise.bug.wrong), ("+", exercise.bug.right)) for line in text.split("<br>"))


# What a figure becomes


def digest(bug):
    """Return what tells whether a planted bug is still the one that was drawn."""
    return sha256(repr((bug.right, bug.wrong)).encode()).hexdigest()[:12]


def read_drawn():
    """Return {address: what became of the script's figure}, as tools/planted.py left it."""
    return json.loads(DRAWN.read_text("utf-8"))


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
    with_bug, as_it_is = (DRAWN.parent / name for name in (f"{anchor}.png", entry["as_it_is"]))
    return entry["ended"] == "" and with_bug.read_bytes() == as_it_is.read_bytes()
