"""Make the companion pages: each paper as one file, its pseudocode beside the code that runs.

Run     python reproduce/tools/pages.py    15 s; needs the extra `pages`: pip install -e ".[pages]"
        After record.py and laboratory.py, if a mirror, a twin, or a paper's steps.py or
        laboratory.py has changed.
Writes  figures/index.html, figures/<author>.html, figures/laboratory.html, figures/exercises.html,
        and the tables of departures in the README.md of each paper's folder

A page is one file that needs no server and no network; its pictures are the .png beside it.
"""

import argparse
import json
import re
import sys
from functools import cache
from html import escape
from itertools import groupby

from reproduce.harness import claims_html, exercises, laboratory_page, mirrors, page_layout
from reproduce.harness.claims import VERDICTS, Declared, declaration, duration, interval, number
from reproduce.harness.papers import PAPERS, ROOT
from reproduce.harness.run import own_version
from reproduce.harness.tables import TOGETHER, format_power, stored_estimate
from reproduce.harness.typeset import html

FIGURES = ROOT / "figures"
TEMPLATES = ROOT / "reproduce" / "harness" / "page"


def main():
    """Write all pages and bring the READMEs' tables of departures up to date."""
    try:
        made = pages()
    except ImportError as error:
        raise SystemExit(f"the pages need {error.name}, which is not installed: say"
                         ' pip install -e ".[pages]"') from None
    for name, text in made.items():
        (FIGURES / name).write_text(text, "utf-8")
        print(f"figures/{name}: {len(text.encode()) / 1000:.0f} kB")
    for path, text in readmes().items():
        path.write_text(text, "utf-8")
        print(f"departures: {path.relative_to(ROOT)}")


@cache
def pages():
    """Return all pages, {name of the file: text}."""
    papers = {author: claims_html.scripts(author) for author in PAPERS}
    every = [each for scripts in papers.values() for each in scripts]
    every.append(claims_html.script(TOGETHER))
    drawn = exercises.read_drawn()
    return {"index.html": render("index.html", papers=papers, score=claims_html.score(every)),
            **{f"{author}.html": paper(author) for author in PAPERS},
            "laboratory.html": render("laboratory.html", laboratories={
                author: laboratory_page.read(author) for author in PAPERS}),
            "exercises.html": render("exercises.html", version=own_version(), drawn=drawn, said={
                anchor: exercises.consequence(entry, exercises.looks_the_same(anchor, entry))
                for anchor, entry in drawn.items()})}


def readmes():
    """Return, for each paper's README.md, its path and its text with the table as it is now."""
    return {path: mirrors.with_departures(path.read_text("utf-8"), path.parent.name)
            for path in sorted((ROOT / "reproduce").glob("*/README.md"))}


def render(template, **values):
    """Fill a template; what it asks for and is not given is an error."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "duration": duration, "math": html, "slug": lambda text: text.replace(" ", "-"),
        # as JSON that may stand in a script of a page
        "script": lambda value: json.dumps(value, separators=(",", ":"), allow_nan=False).replace(
            "<", "\\u003c")}
    environment.globals |= {
        "authors": PAPERS, "author": None, "verdicts": VERDICTS, "inline": inline,
        "claims_html": claims_html, "exercises": exercises, "laboratory_page": laboratory_page,
        "page_layout": page_layout, "told": format_power,
        "ours": lambda claim: number(stored_estimate(claim)),
        "accepted": lambda claim: interval(claim["low"], claim["high"], claim["theirs"]),
        "when": lambda claim: declaration(Declared(**claim["known"])),
        "claims": claims, "place": lambda path: path.relative_to(ROOT)}
    return environment.get_template(template).render(**values)


def inline(name):
    """Return a style sheet or a script as it stands in a page: without its indentation."""
    return "\n".join(map(str.strip, (TEMPLATES / name).read_text("utf-8").splitlines()))


def paper(author):
    """Return the page of a paper."""
    files, first = [], 0
    for path, group in groupby(page_layout.sections(author), key=lambda section: section.path):
        symbols, twin = page_layout.notation(path), path.with_name(f"{path.stem}_fast.py")
        files.append({
            "name": path.relative_to(ROOT / "algorithms"), "first": first, "symbols": symbols,
            "sections": [(section, laid_out(section, first)) for section in group],
            "header": page_layout.header(path),
            "twin": twin.relative_to(ROOT / "algorithms") if twin.exists() else "",
            "operations": page_layout.header(twin) if twin.exists() else ""})
        first += len(symbols)
    own = [section for section in page_layout.sections(author) if section.own]
    runs = [run | {"about": html(run["about"]), "replays": [
        replay | {"says": html(replay["says"])} for replay in run["replays"]]}
        for run in page_layout.runs(author)]
    elsewhere = [section for section in page_layout.every_section() if section.author != author
                 and author.capitalize() in mirrors.source(section.path)]
    # the bar leads to the numbered algorithms, or else to all that are its own
    jump = [section for section in own if re.fullmatch(r"A\d+", section.anchor)] or own
    return render("paper.html", author=author, files=files, jump=jump, runs=runs,
                  scripts=claims_html.scripts(author), elsewhere=elsewhere,
                  findings=claims_html.findings(claims_html.readme(author)))


def claims(script):
    """List a Script's claims, those that do not agree first, with the numbers of their reasons.

    Returns them and the reasons, each once.  Checks of ours are not drawn.
    """
    reasons = {}
    found = [(claim, reasons.setdefault(claim["why"], len(reasons) + 1),
              claims_html.svg(claim) if claim["kind"] != "ours" else "")
             for claim in sorted(script.claims, key=lambda claim: VERDICTS.index(claim["verdict"]))]
    return found, list(reasons)


def laid_out(section, first):
    """List the rows of a mirror for the template; `first` is its file's first row of Notation."""
    names, known, seen = page_layout.names(section), page_layout.notation_of_symbols(section), set()

    def symbol(piece, drawn, following):
        """Put a symbol in a link to its row: the first one in a mirror is a stop of the tab key."""
        row = page_layout.meaning(known, piece.text, following)
        if row is None:
            return drawn
        stop = ' tabindex="-1"' if row in seen else ""
        seen.add(row)
        return (f'<a class="s" data-n="{first + row}"{stop} aria-label="{escape(piece.text)}"'
                f' href="#n{first + row}">{drawn}</a>')

    concerned = page_layout.departures_by_line(section)
    return [{
        "lines": [(k, pseudocode(text, symbol), mirrors.SILENT.match(text), k in concerned)
                  for k in row.numbers for text in [section.mirror.pseudocode[k]]],
        "again": row.again, "departures": row.departures,
        "code": [(line.number, *claims_html.code(line, names, first)) for line in row.code],
        "ours": not row.numbers and not row.again} for row in page_layout.rows(section)]


def pseudocode(text, symbol):
    """Return the indent of a line of pseudocode, in steps of four, and its HTML."""
    line = " ".join(part.strip() for part in text.split("\n"))
    return (len(text) - len(text.lstrip())) / 4, html(line, keywords=True, symbol=symbol)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()  # there is no option
    sys.exit(main())
