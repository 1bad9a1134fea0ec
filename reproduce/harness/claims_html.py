"""What a companion page shows of a script: its claims, each drawn, its table, how to run it.

Everything is read from what is committed: figures/<script>.json, .txt and .png, the script's own
docstring, and what the paper's README.md says by hand.  The blocks there that harness/tables.py
writes are left out: the page shows the same of its own.
"""

import ast
import math
import posixpath
import re
from functools import cache
from html import escape
from typing import NamedTuple

from reproduce.harness import papers
from reproduce.harness.claims import CLASSES, DIFFER, VERDICTS, number
from reproduce.harness.papers import ROOT
from reproduce.harness.tables import claims_of, counts, read, stored_estimate

FIGURES = ROOT / "figures"
TOKENS = {"Keyword": "k", "Name.Builtin": "b", "Literal.Number": "d", "Literal.String": "t",
          "Comment": "q", "Operator.Word": "k", "Name.Function": "f"}  # Pygments' and ours
MARGIN = 6.0  # of 100, on either side of a drawing
FIGURE = re.compile(r"^!\[[^\]]*\]\((\w+)\.png\)$", re.MULTILINE)
LINK = re.compile(r"(?<=\])\(([^)\s]+)\)")
RESTS = re.compile(r"\s*<!-- rests on (.*?) -->", re.DOTALL)  # what a sentence is held to


class Script(NamedTuple):
    """A command of a paper and what it has written."""

    name: str
    path: str  # from the project's root
    title: str  # the first line of its docstring, without the paper's name
    about: str  # the paragraphs of its docstring before "Run"
    minutes: dict  # budget -> minutes
    claims: list | None  # as its JSON has them; None if it has not been run at the paper's length
    table: str  # its text without the claims


class Drawing(NamedTuple):
    """A claim on an axis from 0 to 100."""

    low: float  # the accepted interval, ends included; 0 and 100 where it has no end
    high: float
    open: tuple  # whether it has no end (below, above)
    marks: list  # (middle, ends of one standard error of ours, of DIFFER of both) of each number


@cache
def scripts(author):
    """List a paper's Scripts in the order of its README.md, then those that it does not name."""
    named = re.findall(rf"\b{author}_\w+", readme(author))
    there = [path.stem for path in papers.scripts(author)]
    order = [name for name in dict.fromkeys(named) if name in there]
    return [script(name) for name in [*order, *(n for n in there if n not in order)]]


def script(name):
    """Read what there is of a script."""
    file = papers.script(name)
    tree = ast.parse(file.read_text("utf-8"))
    first, _, rest = ast.get_docstring(tree).partition("\n")
    about = re.split(r"^Run ", rest, maxsplit=1, flags=re.MULTILINE)[0].strip()
    (saved,) = read([file], FIGURES)
    report = (FIGURES / f"{name}.txt").read_text("utf-8") if saved.claims is not None else ""
    title = first.removesuffix(".")
    if ours := re.match(r"(?:[A-Z][\w.]*|et al\.|and|,| )+\(\d{4}\)[,:] ", title):
        title = title[ours.end():]
    return Script(name, str(file.relative_to(ROOT)), title[0].upper() + title[1:], about,
                  minutes(tree), saved.claims, without_claims(report))


def minutes(tree):
    """Return the MINUTES of a script, budget -> minutes."""
    value = next(node.value for node in tree.body if isinstance(node, ast.Assign)
                 and ast.unparse(node.targets[0]) == "MINUTES")
    if isinstance(value, ast.Dict):
        return ast.literal_eval(value)
    return dict.fromkeys(*map(ast.literal_eval, value.args))


def without_claims(text):
    """Return a report without its claims: what stands before the first verdict."""
    first = re.search(rf"^(?:(?:{'|'.join(VERDICTS)}) +\S|No claim is made)", text, re.MULTILINE)
    return text[:first.start() if first else None].strip("\n")


def score(scripts):
    """Count the claims of Scripts, {class: {verdict: number}}."""
    return {name: counts(claims_of(scripts), name) for name in CLASSES}


def spread(claim):
    """Say between which values those of a stored claim's scan lie, and how many there are."""
    each = [m for m in stored_estimate(claim).found if not math.isnan(m.value)]
    ends = dict.fromkeys(number(end(each, key=lambda m: m.value)) for end in (min, max) if each)
    total = len(stored_estimate(claim).found)
    of = f"{total}" if len(each) == total else f"{len(each)} of {total}"
    return f"{' to '.join(ends) or 'nan'}: {of} settings"


def draw_claim(claim):
    """Place a stored claim on an axis from 0 to 100: linear, with room for all that is finite."""
    low, high = claim["low"], claim["high"]
    measured = stored_estimate(claim)
    estimates = [m for m in getattr(measured, "found", (measured,)) if math.isfinite(m.value)]
    errors = [(m.se, DIFFER * math.hypot(m.se, claim["theirs"])) for m in estimates]
    reach = [m.value + sign * far for m, (_, far) in zip(estimates, errors, strict=True)
             if math.isfinite(far) for sign in (-1, 1)]
    shown = [x for x in [low, high, *(m.value for m in estimates), *reach] if math.isfinite(x)]
    least, most = min(shown), max(shown)
    scale = (100 - 2 * MARGIN) / (most - least) if most > least else 0.0
    def place(x):
        return MARGIN + (x - least) * scale if scale else 50.0

    marks = [(place(m.value), *[(place(m.value - length), place(m.value + length))
                                if 0 < length < math.inf else None for length in lengths])
             for m, lengths in zip(estimates, errors, strict=True)]
    return Drawing(place(low) if math.isfinite(low) else 0.0,
                   place(high) if math.isfinite(high) else 100.0,
                   (math.isinf(low), math.isinf(high)), marks)


def svg(claim):
    """Draw a stored claim: the accepted interval as a band, ours as dots with their errors."""
    low, high, (below, above), marks = draw_claim(claim)
    wide = max(high - low, 1.0)  # an interval of one number is to be seen
    parts = [f'<rect class="in" x="{low - (wide - high + low) / 2:.3g}" width="{wide:.3g}"'
             ' y="2" height="10"/>']
    ends = [f"M{x:.3g} 2V12" for x, is_open in ((low, below), (high, above)) if not is_open]
    parts += [f'<path class="end" d="{"".join(ends)}"/>'] * bool(ends)
    for middle, one, all_ in marks:
        for mark, ends in (("", all_), ('class="se" ', one)):
            parts += [f'<path {mark}d="M{x[0]:.3g} 7H{x[1]:.3g}"/>' for x in [ends] if x]
        parts.append(f'<circle cx="{middle:.3g}" cy="7" r="2.2"/>')
    # hidden from a screen reader: the cells beside it say the same in words
    return f'<svg class="claim" viewBox="0 0 100 14" aria-hidden="true">{"".join(parts)}</svg>'


# Prose


@cache
def readme(author):
    """Return the text of a paper's README.md, its links as they are from figures/.

    What its sentences rest on is left out.
    """
    text = RESTS.sub("", (ROOT / "reproduce" / author / "README.md").read_text("utf-8"))
    return LINK.sub(lambda found: f"({from_figures(found[1], author)})", text)


def findings(text):
    """Return {script: the section of a README.md that shows its figure, as HTML}.

    A section with several figures belongs to the first of their scripts.
    """
    found = {}
    for section in re.split(r"^## .*\n", text, flags=re.MULTILINE)[1:]:
        if shown := FIGURE.findall(section):
            found[shown[0]] = markdown(FIGURE.sub("", section).strip())
    return found


def section(author, heading):
    """Return a section of a paper's README.md as HTML."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", readme(author), re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"reproduce/{author}/README.md has no section {heading}")
    return markdown(found[1].strip())


def introduction(author):
    """Return the first paragraph of a paper's README.md as HTML, and its heading."""
    heading, paragraph = re.match(r"# (.*)\n\n((?:.+\n)+)", readme(author)).groups()
    return heading, markdown(paragraph.strip())


def markdown(text):
    """Return the HTML of Markdown, tables included."""
    from markdown_it import MarkdownIt

    return MarkdownIt().enable("table").render(text).strip()


def from_figures(link, author):
    """Return a relative link of a paper's README.md as it is from figures/."""
    if "://" in link or link.startswith("#"):
        return link
    return posixpath.relpath(posixpath.join("reproduce", author, link), "figures")


def highlight(text, names=None, first=0):
    """Return Python code as HTML.

    A name that is one of `names`, {name: row of the Notation}, is linked to its row, `first` and
    the following.
    """
    from pygments.lexers import PythonLexer

    tokens = [(str(kind).removeprefix("Token."), value) for kind, value in PythonLexer(
        stripnl=False, ensurenl=False).get_tokens(text)]
    found = []
    for k, (kind, value) in enumerate(tokens):
        html = escape(value, quote=False)
        row = (names or {}).get(dotted_name(tokens, k)) if kind.startswith("Name") else None
        if row is not None:
            html = f'<span class="s" data-n="{first + row}">{html}</span>'
        kept = next((ours for theirs, ours in TOKENS.items() if kind.startswith(theirs)), "")
        found.append(f"<i class={kept}>{html}</i>" if kept and html.strip() else html)
    return "".join(found)


def code(line, names, first):
    """Return the indent of a line of code, in characters, and its HTML, highlighted."""
    text = line.text.rstrip()[4:]
    return len(text) - len(text.lstrip()), highlight(text.lstrip(), names, first)


def dotted_name(tokens, k):
    """Return the name at a token with what it is an attribute of: ratios.h."""
    name = tokens[k][1]
    while k >= 2 and tokens[k - 1][1] == "." and tokens[k - 2][0].startswith("Name"):
        k -= 2
        name = f"{tokens[k][1]}.{name}"
    return name
