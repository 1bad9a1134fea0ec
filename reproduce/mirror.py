"""Show pseudocode and code side by side, and tell where the code departs from print.

Run     python reproduce/mirror.py    2 s
Writes  figures/mirror.html, and the tables of departures in the README.md of each paper's folder
"""

import html
from itertools import groupby

from harness.mirrors import ROOT, every_mirror, with_departures

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
    for tag, lines in groupby(mirror.code, key=lambda line: line.tag):
        while tag and todo and min(todo) < tag.start:  # silent ones
            rows.append(row("silent", [min(todo)], [todo.pop(min(todo))]))
        numbers = [k for k in tag or () if k in todo]
        rows.append(row("line" if tag else "ours", numbers, [todo.pop(k) for k in numbers],
                        [line.text for line in lines]))
    rows += [row("silent", [k], [text]) for k, text in todo.items()]
    heading = (f"<h2 id='{anchor(path, mirror)}'>{mirror.name}</h2>"
               f"<p>{html.escape(mirror.source)} &mdash; <a href='../{path}'>{path}</a></p>")
    return "\n".join([heading, "<table>", *rows, "</table>"])


def row(kind, numbers, pseudocode, code=()):
    """Make a row of the table."""
    cells = ("\n".join(map(str, numbers)), "\n".join(pseudocode), "\n".join(code))
    return f"<tr class={kind}>" + "".join(f"<td><pre>{html.escape(cell)}</pre>" for cell in cells)


def readmes():
    """Return, for each paper's README.md, its path and its text with the table as it is now."""
    return {path: with_departures(path.read_text(), path.parent.name)
            for path in sorted((ROOT / "reproduce").glob("*/README.md"))}


if __name__ == "__main__":
    target = ROOT / "figures" / "mirror.html"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(every_mirror()))
    print(f"{len(every_mirror())} mirrors: {target.relative_to(ROOT)}")
    for path, text in readmes().items():
        path.write_text(text)
        print(f"departures: {path.relative_to(ROOT)}")
