"""Read the mirrors of algorithms/ and departures from print; make the printed version of a mirror.

A mirror is a function whose docstring has a section `Pseudocode (source)` with numbered lines.  A
tag ends each of its lines of code: `# L7` is line 7 of the pseudocode, `# L6-8` lines 6 to 8 in
one, and `# --` ours.  Lines of pseudocode that are comments or only punctuate (SILENT) need no
code.  A mirror of which more than a third is ours is named in the entry `Own lines` of its file's
docstring, with the reason.

A departure is a block of the section `Departures` in a file's docstring: a line that says where,
and below it, by four spaces, `theirs`, `ours`, `why` and `test`, their texts in the thirteenth
column.  The test is a name in the algorithm's own test file, another file's `test_x.py::test_y`,
or `a label` where nothing can be computed.
"""

import ast
import inspect
import linecache
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import numba

from harness.tables import escaped, filled, markdown

ROOT = Path(__file__).resolve().parents[2]
TAG = re.compile(r"\s*# (?:L(\d+)(?:-(\d+))?|--)$")
SILENT = re.compile(r"\s*(//|(end|input|function)\b)")
LABEL = "a label"


class Line(NamedTuple):
    """A line of a mirror's code."""

    tag: range | None  # of the pseudocode's numbers, empty for ours, None if there is none
    text: str
    loops: tuple  # the tags of the loops around it, the outermost first
    number: int  # of the line in its file, from 1


class Mirror(NamedTuple):
    """A function that follows its pseudocode line by line."""

    name: str
    source: str  # the pseudocode's origin, from the docstring's heading
    pseudocode: dict  # line number -> text
    code: list  # of Line, comments left out


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
    return sorted(path for path in (ROOT / "algorithms").glob("*.py")
                  if not path.stem.endswith("_fast"))


def departing():
    """List the files that say where they depart from print: those of algorithms(), and models."""
    return algorithms() + sorted(path for path in (ROOT / "models").glob("*.py")
                                 if "\nDepartures\n-" in path.read_text())


def every_mirror():
    """List the (file, mirror) pairs in algorithms/."""
    return [(path.relative_to(ROOT), mirror) for path in algorithms() for mirror in mirrors(path)]


def mirrors(path):
    """Yield the mirrors in the file `path`."""
    lines = path.read_text().splitlines()
    for node in ast.parse("\n".join(lines)).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        docstring = ast.get_docstring(node) or ""
        heading = re.search(r"^Pseudocode \((.*)\)\n((?:.*\S.*(?:\n|$))+)", docstring, re.MULTILINE)
        if heading:  # the section ends at an empty line; a line without a number continues its own
            numbered = re.findall(r"^ *(\d+)  (.*(?:\n(?! *\d+  ).+)*)", heading[2], re.MULTILINE)
            yield Mirror(node.name, heading[1], {int(k): text for k, text in numbered},
                         code_lines(node, lines))


def code_lines(function, lines):
    """List the Lines of a function's body below its docstring; `lines` are those of the file.

    A line that only lets Ctrl-C end the run is none of the algorithm's.
    """
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)]
    found = []
    for number in range(function.body[0].end_lineno + 1, function.end_lineno + 1):
        line = lines[number - 1]
        if not line.strip() or line.lstrip().startswith(("#", "check_interrupt()")):
            continue
        around = sorted(loop.lineno for loop in loops
                        if loop.body[0].lineno <= number <= loop.body[-1].end_lineno)
        found.append(Line(*tagged(line), tuple(tagged(lines[k - 1])[0] for k in around),
                          number))
    return found


def tagged(line):
    """Split a line of code from its tag: (range or None, text)."""
    match = TAG.search(line)
    if not match:
        return None, line
    first = int(match[1] or 0)
    return range(first, int(match[2] or first) + 1) if first else range(0), line[: match.start()]


def entry(path, name):
    """Return the text of the entry `name`, such as Paper, in the docstring of a file, or ""."""
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    found = re.search(rf"^{name} +(\S.*(?:\n  .*)*)", docstring, re.MULTILINE)
    return found[1] if found else ""


def departures(path):
    """List the Departures in the docstring of the file `path`; ValueError if it has no section."""
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    if re.search(r"^Departures +none\.", docstring, re.MULTILINE):
        return []
    section = re.search(r"^Departures\n-+\n((?:.*\n)*?)(?:.+\n-+\n|\Z)", docstring + "\n",
                        re.MULTILINE)
    if not section:
        raise ValueError(f"{path.name} has no section Departures")
    found = []
    for line in filter(str.strip, section[1].splitlines()):
        field = re.match(r" {4}(theirs|ours|why|test) +(?<=^.{12})(\S.*)", line)
        if not line.startswith(" "):
            found.append({"where": line})
        elif field:
            found[-1][field[1]] = field[2]
        elif re.match(r" {12}\S", line):
            found[-1][[*found[-1]][-1]] += " " + line.strip()
        else:
            raise ValueError(f"{path.name}: cannot read this line of a departure: {line}")
    for fields in found:
        if tuple(fields) != Departure._fields:
            raise ValueError(f"{path.name}: {fields['where']} has {', '.join(fields)}, but it must"
                             f" have {', '.join(Departure._fields)}")
        if fields["test"] != LABEL:
            *file, test = fields["test"].split("::")
            fields["test"] = f"tests/{''.join(file) or f'test_{path.stem}.py'}::{test}"
    return [Departure(**fields) for fields in found]


# The printed version


def variant(function, lines, within=None, compiled=False):
    """Return a copy of a mirror in which some lines are replaced, by those of print for example.

    Parameters
    ----------
    function : a mirror         of a module in algorithms/; left as it is
    lines    : dict             from a tag, "L18" or "L6-8", or from the text of a line of ours, to
                                the code in place of all lines that have it; "" takes them out
    within   : function         of the same module: return that one, in which `function`, and all
                                between the two, are replaced
    compiled : bool             by Numba, not cached; else it runs in the interpreter

    The copy takes the arguments of the code, without the checks of an entry point.  Its globals are
    a copy of the module's, so nothing else changes.

    Raises ValueError if a line is not there, or is there in several places.
    """
    name = function.__name__
    module = inspect.getmodule(getattr(function, "py_func", function))
    source = Path(module.__file__).read_text().splitlines()
    definition = functions(source)[name]
    for key, code in lines.items():
        replace(source, definition, key, code)
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


def replace(source, function, key, code):
    """Replace in place, in a file's lines, those of a function that have the tag or text `key`."""
    first = function.body[0].end_lineno
    at = [k for k in range(first, function.end_lineno)
          if source[k].strip() and key in (TAG.split(source[k])[0].strip(),
                                           source[k].rpartition("# ")[2])]
    if not at or at != list(range(at[0], at[-1] + 1)):
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


# Tables


def table_of_departures(author):
    """Return the Markdown table of the departures from the paper whose first author this is.

    It has those of all files whose entry Paper, or Source of a model, names the author, the paper's
    own first: there the author stands in the entry's first line.
    """
    author = author.capitalize()
    files = [path for path in departing() if author in source(path)]
    files.sort(key=lambda path: author not in source(path).splitlines()[0])
    rows = []
    for path in files:
        for found in departures(path):
            file, _, test = found.test.partition("::")
            link = f'[test](../../{file} "{test}")' if test else found.test
            rows.append([f"[{escaped(found.where)}](../../{path.parent.name}/{path.name})",
                         *map(escaped, found[1:4]), link])
    return "\n".join(markdown(["where", "theirs", "ours", "why", "test"], rows))


def source(path):
    """Return the text of the entry Paper of an algorithm's file, or Source of a model's."""
    return entry(path, "Paper") or entry(path, "Source")


def with_departures(page, author):
    """Return the text of a page in which the table of departures is that of now."""
    return filled(page, {"departures": lambda: table_of_departures(author)})
