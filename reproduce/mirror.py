"""Read the pseudocode and the `# L7` tags of a mirror function; show the two side by side.

Run     python reproduce/mirror.py      writes figures/mirror.html
Used by tests/test_mirror.py, which fails if a line is missing, doubled or out of order.

A tag ends a line of code: `# L7` is line 7 of the pseudocode, `# L6-8` lines 6 to 8 in one, and
`# --` ours.  Lines of pseudocode that are comments or only punctuate (SILENT) need no code.
"""

import ast
import html
import re
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TAG = re.compile(r"\s*# (?:L(\d+)(?:-(\d+))?|--)$")
SILENT = re.compile(r"\s*(//|(end|input|function)\b)")
STYLE = """
body { font: 16px/1.5 Georgia, serif; margin: 2em auto; max-width: 84em; padding: 0 1em;
       background: #fffff8; color: #111 }
nav { columns: 3 16em }
a { color: #14508c; text-decoration: none }
a:hover { text-decoration: underline }
table { border-collapse: collapse; width: 100% }
td { padding: 2px 1.5em 2px 0; vertical-align: top; border-top: 1px solid #eee }
td:first-child { color: #14508c; text-align: right; width: 2em }
pre { margin: 0; font: 13px/1.5 monospace; white-space: pre-wrap }
.ours, .silent { color: #888 }
"""


class Mirror(NamedTuple):
    """A function that follows its pseudocode line by line."""

    name: str
    source: str  # the pseudocode's origin, from the docstring's heading
    pseudocode: dict  # line number -> text
    code: list  # (tag, text) of each line: the range of its lines, empty for ours, None untagged


def mirrors(path):
    """Yield the mirrors in the file `path`: functions whose docstring has a Pseudocode section."""
    lines = path.read_text().splitlines()
    for node in ast.parse("\n".join(lines)).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        docstring = ast.get_docstring(node) or ""
        heading = re.search(r"^Pseudocode \((.*)\)\n((?:.*\S.*(?:\n|$))+)", docstring, re.MULTILINE)
        if heading:  # the section ends at an empty line; a line without a number continues its own
            numbered = re.findall(r"^ *(\d+)  (.*(?:\n(?! *\d+  ).+)*)", heading[2], re.MULTILINE)
            body = lines[node.body[0].end_lineno : node.end_lineno]
            yield Mirror(node.name, heading[1], {int(k): text for k, text in numbered},
                         [tagged(line) for line in body if line.strip()])


def tagged(line):
    """Split a line of code from its tag."""
    if line.lstrip().startswith("#"):  # a comment: it explains, and no tag makes it code
        return range(0), line
    match = TAG.search(line)
    if not match:
        return None, line
    first = int(match[1] or 0)
    return range(first, int(match[2] or first) + 1) if first else range(0), line[: match.start()]


def visits(mirror):
    """List the lines of pseudocode in the order of the code, a run of equal tags counting once."""
    runs = [tag for tag, _ in groupby(tag for tag, _ in mirror.code if tag)]
    return [number for number, _ in groupby(number for tag in runs for number in tag)]


def problems(mirror):
    """List in words what is wrong with a mirror; an empty list if nothing is."""
    numbers, seen = list(mirror.pseudocode), visits(mirror)
    in_order = list(range(1, len(numbers) + 1))
    needed = [k for k, text in mirror.pseudocode.items() if not SILENT.match(text)]
    return [
        *[f"untagged: {text.strip()}" for tag, text in mirror.code if tag is None],
        *[f"the pseudocode's numbers are {numbers}"] * (numbers != in_order),
        *[f"line {k} has no code" for k in needed if k not in seen],
        *[f"line {k} is not in the pseudocode" for k in sorted({*seen} - {*numbers})],
        *[f"line {after} comes after line {before}"
          for before, after in pairwise(seen) if after < before],
    ]


def every_mirror():
    """List the (file, mirror) pairs in algorithms/."""
    return [(path.relative_to(ROOT), mirror)
            for path in sorted((ROOT / "algorithms").glob("*.py")) for mirror in mirrors(path)]


def page(found):
    """Make an HTML page with a table per mirror: pseudocode on the left, code on the right."""
    links = "".join(f"<a href='#{anchor(*pair)}'>{pair[1].name}</a> {html.escape(pair[1].source)}"
                    "<br>" for pair in found)
    return "\n".join([
        "<!doctype html><html lang=en><meta charset=utf-8><title>Pseudocode and code</title>"
        f"<style>{STYLE}</style>",
        "<h1>Pseudocode and code</h1>",
        "<p>On the left the paper's pseudocode, with its line numbers; on the right the code that"
        " runs. Grey is ours, where the paper leaves something implicit.</p>",
        f"<nav>{links}</nav>", *(section(*pair) for pair in found), "</html>\n"])


def anchor(path, mirror):
    """Return the name of a mirror's section in the page."""
    return f"{path.stem}.{mirror.name}"


def section(path, mirror):
    """Make the heading and the table of one mirror."""
    rows, todo = [], dict(mirror.pseudocode)
    for tag, lines in groupby(mirror.code, key=lambda pair: pair[0]):
        while tag and todo and min(todo) < tag.start:  # silent ones
            rows.append(row("silent", [min(todo)], [todo.pop(min(todo))]))
        numbers = [k for k in tag or () if k in todo]
        rows.append(row("line" if tag else "ours", numbers, [todo.pop(k) for k in numbers],
                        [text for _, text in lines]))
    rows += [row("silent", [k], [text]) for k, text in todo.items()]
    heading = (f"<h2 id='{anchor(path, mirror)}'>{mirror.name}</h2>"
               f"<p>{html.escape(mirror.source)} &mdash; <a href='../{path}'>{path}</a></p>")
    return "\n".join([heading, "<table>", *rows, "</table>"])


def row(kind, numbers, pseudocode, code=()):
    """Make a row of the table."""
    cells = ("\n".join(map(str, numbers)), "\n".join(pseudocode), "\n".join(code))
    return f"<tr class={kind}>" + "".join(f"<td><pre>{html.escape(cell)}</pre>" for cell in cells)


if __name__ == "__main__":
    target = ROOT / "figures" / "mirror.html"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(every_mirror()))
    print(f"{len(every_mirror())} mirrors: {target.relative_to(ROOT)}")
