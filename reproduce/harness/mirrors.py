"""Read the mirrors of algorithms/ and departures from a paper; make a paper's version of a mirror.

A mirror is a function whose docstring says "Mirror of <source>."  Above the code of each printed
line stands that line, with its number:

    # 6   p ~ N(0, I)
    p = rng.standard_normal(x.size)

A long line goes on in a comment that is indented by nine spaces.  Two printed lines above each
other share the code below them.  Lines that are comments or only punctuate (SILENT) need no code.
Code above the first printed line, or below a comment `# ours`, is ours.  A mirror of which more
than a fifth is ours is named in the entry `Own lines` of its file's docstring, with the reason.

A departure stands below the printed line that it concerns: by five spaces, `theirs`, `ours`, `why`
and `test`, and before them `lines` if it concerns several.  One that concerns no line of a mirror
is a block of the section `Departures` in the file's docstring: a line that says where, and below
it, by four spaces, the same fields, their texts in the thirteenth column.  The test is a name in
the algorithm's own test file, another file's `test_x.py::test_y`, or `a label` where there is
none, mostly because nothing can be computed.
"""

import ast
import inspect
import linecache
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import numba

from reproduce.harness.papers import ROOT
from reproduce.harness.tables import escape, fill_blocks, markdown

PRINTED = re.compile(r"( *)# (\d+)  +(\S.*)$")
FIELD = re.compile(r" *# {5}(lines|theirs|ours|why|test) +(\S.*)$")
MORE = re.compile(r" *# {9,}(\S.*)$")
OURS = re.compile(r" *# ours\b")
TAG = re.compile(r"L(\d+)(?:-(\d+))?$")
SILENT = re.compile(r"\s*(//|(end|input|function)\b)")
UNTIL = re.compile(r"\s*until\b")
LABEL = "a label"


class Line(NamedTuple):
    """A line of a mirror's code."""

    tag: range  # of the printed lines above it, empty for ours
    text: str
    loops: tuple  # the tags of the loops around it, the outermost first
    number: int  # of the line in its file, from 1


class Mirror(NamedTuple):
    """A function that follows its pseudocode line by line."""

    name: str
    source: str  # where its lines are printed, from the docstring
    pseudocode: dict  # number -> printed line, indented as the code is
    code: list  # of Line, comments left out
    departures: list  # of Departure, those that stand at its lines
    numbers: list  # of the printed lines, in the order of the file


class Departure(NamedTuple):
    """A place where the code is not as printed."""

    where: str  # "Algorithm 1, line 7"
    theirs: str
    ours: str
    why: str
    test: str  # "tests/test_x.py::test_y", or LABEL

    @property
    def lines(self):
        """The set of the lines named in `where`."""
        named = re.search(r"\blines? (\d+(?:(?:, | and | to )\d+)*)", self.where)
        parts = re.split(", | and ", named[1]) if named else []
        ends = [[int(end) for end in part.split(" to ")] for part in parts]
        return {line for end in ends for line in range(end[0], end[-1] + 1)}


# Reading


def algorithms():
    """List the files of algorithms/ that follow a paper: all but the fast twins."""
    return sorted(path for path in (ROOT / "algorithms").rglob("*.py")
                  if not path.stem.endswith("_fast"))


def files_with_departures():
    """List the files that depart from a paper and say so: those of algorithms(), and models."""
    return algorithms() + sorted(path for path in (ROOT / "models").glob("*.py")
                                 if "\nDepartures\n-" in path.read_text())


def mirrors(path):
    """Yield the mirrors in the file `path`."""
    lines = path.read_text().splitlines()
    for node in ast.parse("\n".join(lines)).body:
        said = isinstance(node, ast.FunctionDef) and re.search(
            r"^Mirror of ((?:.|\n(?=.))+)\.$", ast.get_docstring(node) or "", re.MULTILINE)
        if said:
            yield mirror(node, " ".join(said[1].split()), lines, path)


def mirror(function, source, lines, path):
    """Read a Mirror from the lines of its file.

    A line of code that only lets Ctrl-C end the run is none of the algorithm's.
    """
    pseudocode, numbers, found, above, tag = {}, [], [], [], range(0)
    fields, tags = [], {}
    for number in range(function.body[0].end_lineno + 1, function.end_lineno + 1):
        line = lines[number - 1]
        if match := PRINTED.match(line):
            k, indent = int(match[2]), max(len(match[1]) - 4, 0)
            if UNTIL.match(match[3]):  # Python asks inside of the loop
                indent = max(indent - 4, 0)
            numbers.append(k)
            above.append(k)
            pseudocode[k] = " " * indent + match[3]
            last = None
        elif match := FIELD.match(line):
            if match[1] == "lines" or (match[1] == "theirs" and last != "lines"):
                fields.append({"number": numbers[-1]})
            last = match[1]
            fields[-1][last] = match[2]
        elif (match := MORE.match(line)) and above:
            if last:
                fields[-1][last] += " " + match[1]
            else:
                pseudocode[numbers[-1]] += "\n" + " " * 8 + match[1]
        elif OURS.match(line):
            above, tag = [], range(0)
        elif line.strip() and not line.lstrip().startswith(("#", "check_interrupt()")):
            needed = [k for k in above if not SILENT.match(pseudocode[k])]
            if above:
                tag = range(needed[0], needed[-1] + 1) if needed else range(0)
            above = []
            tags[number] = tag
            found.append((tag, line, number))
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)]
    around = {number: sorted(loop.lineno for loop in loops
                             if loop.body[0].lineno <= number <= loop.body[-1].end_lineno)
              for number in tags}
    code = [Line(tag, line, tuple(tags[k] for k in around[number]), number)
            for tag, line, number in found]
    return Mirror(function.name, source, pseudocode, code,
                  [departure_of_line(each, source, path) for each in fields], numbers)


def is_from_paper(comment):
    """Tell whether a comment is a printed line, a departure from it, or says that code is ours."""
    return any(form.match(comment) for form in (PRINTED, FIELD, MORE, OURS))


def departure_of_line(fields, source, path):
    """Return the Departure that stands at a printed line."""
    number = fields.pop("number")
    words = f"lines {fields.pop('lines')}" if "lines" in fields else f"line {number}"
    return departure({"where": f"{source}, {words}"} | fields, path)


def entry(path, name):
    """Return the text of the entry `name`, such as Paper, in the docstring of a file, or ""."""
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    found = re.search(rf"^{name} +(\S.*(?:\n  .*)*)", docstring, re.MULTILINE)
    return found[1] if found else ""


def departures(path):
    """List the Departures of a file, those at its lines first.

    Raises ValueError if it has none and does not say so: "Departures  none."
    """
    found = [each for mirror in mirrors(path) for each in mirror.departures]
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    none = re.search(r"^Departures +none\.", docstring, re.MULTILINE)
    section = re.search(r"^Departures\n-+\n((?:.*\n)*?)(?:.+\n-+\n|\Z)", docstring + "\n",
                        re.MULTILINE)
    if bool(found or section) == bool(none):
        raise ValueError(f"{path.name} must have departures or say 'Departures  none.'")
    blocks = []
    for line in filter(str.strip, section[1].splitlines() if section else []):
        field = re.match(r" {4}(theirs|ours|why|test) +(?<=^.{12})(\S.*)", line)
        if not line.startswith(" "):
            blocks.append({"where": line})
        elif field:
            blocks[-1][field[1]] = field[2]
        elif re.match(r" {12}\S", line):
            blocks[-1][[*blocks[-1]][-1]] += " " + line.strip()
        else:
            raise ValueError(f"{path.name}: cannot read this line of a departure: {line}")
    return found + [departure(fields, path) for fields in blocks]


def departure(fields, path):
    """Return the Departure of a file that has these fields, where its test is in a full path."""
    if tuple(fields) != Departure._fields:
        raise ValueError(f"{path.name}: {fields['where']} has {', '.join(fields)}, but it must"
                         f" have {', '.join(Departure._fields)}")
    test = fields["test"]
    if test != LABEL:
        *file, name = test.split("::")
        test = f"tests/{''.join(file) or f'test_{path.stem}.py'}::{name}"
    return Departure(**fields | {"test": test})


# The printed version


def variant(function, lines, within=None, compiled=False):
    """Return a copy of a mirror in which some lines are replaced, by the paper's for example.

    Parameters
    ----------
    function : a mirror         of a module in algorithms/; left as it is
    lines    : dict             from the number of a printed line, "L18" or "L6-8", or from the text
                                of a line of code, to the code in place of all lines that have it;
                                "" takes them out
    within   : function         of the same module: return that one, in which `function`, and all
                                between the two, are replaced
    compiled : bool             by Numba, not cached; else it runs in the interpreter

    The copy takes the arguments of the code, without the checks of an entry point.  Its globals are
    a copy of the module's, so nothing else changes.

    Raises ValueError if a line is not there, or is there in several places.
    """
    name = function.__name__
    module = inspect.getmodule(getattr(function, "py_func", function))
    path = Path(module.__file__)
    source = path.read_text().splitlines()
    definition = functions(source)[name]
    own = next((each.code for each in mirrors(path) if each.name == name), [])
    for key, code in lines.items():
        replace(source, definition, own, key, code)
    source = "\n".join(source).splitlines()
    wanted = callers(name, functions(source))
    filename = f"<{module.__name__}, {name} with other lines>"
    linecache.cache[filename] = (len(source), None, [line + "\n" for line in source], filename)
    namespace = dict(vars(module))
    for node in wanted:
        node.decorator_list = []
    exec(compile(ast.Module(wanted, []), filename, "exec"), namespace)
    if compiled:
        for node in wanted:
            namespace[node.name] = numba.njit(error_model="numpy")(namespace[node.name])
    return namespace[(within or function).__name__]


def functions(source):
    """Return the definitions of the functions of a file, by name, given its lines."""
    return {node.name: node for node in ast.parse("\n".join(source)).body
            if isinstance(node, ast.FunctionDef)}


def replace(source, function, own, key, code):
    """Replace in place, in a file's lines, those of a function that have this number or text."""
    tag = TAG.match(key)
    wanted = range(int(tag[1]), int(tag[2] or tag[1]) + 1) if tag else None
    at = [line.number - 1 for line in own if line.tag == wanted] if tag else [
        k for k in range(function.body[0].end_lineno, function.end_lineno)
        if source[k].strip() == key or source[k].rpartition("# ")[2] == key]
    if not at or any(source[k].strip() and not source[k].lstrip().startswith("#")
                     for k in {*range(at[0], at[-1])} - {*at}):
        raise ValueError(f"{function.name} must have lines {key!r} in one place, but it has them in"
                         f" lines {at} of its file")
    indent = re.match(r"\s*", source[at[0]])[0]
    for k in at:
        source[k] = ""
    source[at[0]] = textwrap.indent(textwrap.dedent(code).strip("\n") or "pass", indent)


def callers(name, definitions):
    """List the definitions that are reached from that of `name` by asking who calls it."""
    reached = {name}
    while True:
        more = {other for other, node in definitions.items()
                if any(isinstance(part, ast.Name) and part.id in reached
                       for part in ast.walk(node))} - reached
        if not more:
            return [node for other, node in definitions.items() if other in reached]
        reached |= more


def table_of_departures(author):
    """Return the Markdown table of the departures from the paper whose first author this is.

    It has those of all files whose entry Paper, or Source of a model, names the author, the paper's
    own first: there the author stands in the entry's first line.
    """
    author = author.capitalize()
    files = [path for path in files_with_departures() if author in source(path)]
    files.sort(key=lambda path: author not in source(path).splitlines()[0])
    rows = []
    for path in files:
        for found in departures(path):
            file, _, test = found.test.partition("::")
            link = f'[test](../../{file} "{test}")' if test else found.test
            rows.append([f"[{escape(found.where)}](../../{path.relative_to(ROOT)})",
                         *map(escape, found[1:4]), link])
    return "\n".join(markdown(["where", "theirs", "ours", "why", "test"], rows))


def source(path):
    """Return the text of the entry Paper of an algorithm's file, or Source of a model's."""
    return entry(path, "Paper") or entry(path, "Source")


def with_departures(page, author):
    """Return the text of a page in which the table of departures is that of now."""
    return fill_blocks(page, {"departures": lambda: table_of_departures(author)})
