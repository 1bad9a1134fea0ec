"""Make the companion pages: each paper as one file, its pseudocode beside the code that runs.

Run     python reproduce/tools/pages.py    15 s; needs the extra `pages`: pip install -e ".[pages]"
        After record.py and laboratory.py, if a mirror, a twin, or a paper's steps.py or
        laboratory.py has changed.
Writes  figures/index.html, figures/<author>.html, figures/laboratory.html, figures/exercises.html,
        and the tables of departures in the README.md of each paper's folder

A page is one file that needs no server and no network; its pictures are the .png beside it.
"""

import json
import re
import sys
from functools import cache
from html import escape

from reproduce.harness import claims_html, exercises, laboratory_page, page_layout
from reproduce.harness.claims import VERDICTS
from reproduce.harness.mirrors import ROOT, with_departures
from reproduce.harness.papers import PAPERS
from reproduce.harness.tables import TOGETHER, declaration_date, format_power
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
        (FIGURES / name).write_text(text)
        print(f"figures/{name}: {len(text.encode()) / 1000:.0f} kB")
    for path, text in readmes().items():
        path.write_text(text)
        print(f"departures: {path.relative_to(ROOT)}")


@cache
def pages():
    """Return all pages, {name of the file: text}."""
    found = {f"{author}.html": paper(author) for author in PAPERS}
    found["laboratory.html"] = laboratories()
    found["exercises.html"] = lessons()
    cards = [{"author": author, **card(author)} for author in PAPERS]
    score = claims_html.score([each for author in PAPERS for each in claims_html.scripts(author)]
                           + [claims_html.script(TOGETHER)])
    return {"index.html": render("index.html", cards=cards, score=score), **found}


def readmes():
    """Return, for each paper's README.md, its path and its text with the table as it is now."""
    return {path: with_departures(path.read_text(), path.parent.name)
            for path in sorted((ROOT / "reproduce").glob("*/README.md"))}


def render(template, **values):
    """Fill a template; what it asks for and is not given is an error."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals |= {
        "css": inline("page.css"), "js": inline("page.js"), "step_css": inline("step.css"),
        "step_js": inline("step.js"), "lab_css": inline("laboratory.css"),
        "lab_js": inline("laboratory.js"),
        "verdicts": VERDICTS, "claims_html": claims_html, "page_layout": page_layout, "slug": slug,
        "told": format_power, "when": declaration_date,
        "place": lambda path: path.relative_to(ROOT)}
    return environment.get_template(template).render(**values)


def inline(name):
    """Return a style sheet or a script as it stands in a page: without its indentation."""
    return "\n".join(map(str.strip, (TEMPLATES / name).read_text().splitlines()))


def slug(text):
    """Return a text as the name of a class."""
    return text.replace(" ", "-")


# The index


def card(author):
    """Return what the index says of a paper."""
    heading, introduction = claims_html.introduction(author)
    sections = [s for s in page_layout.sections(author) if s.own]
    scripts = claims_html.scripts(author)
    return {"heading": heading, "introduction": introduction, "sections": sections,
            "scripts": scripts, "score": claims_html.score(scripts)}


# Laboratories, lessons and exercises


def laboratories():
    """Return the page of laboratories."""
    found = [{"author": author, "heading": claims_html.introduction(author)[0], "kept": kept,
              "stored": in_a_script(laboratory_page.page_data(kept))}
             for author in PAPERS for kept in [laboratory_page.read(author)]]
    return render("laboratory.html", laboratories=found, authors=PAPERS)


def lessons():
    """Return the page of lessons and exercises."""
    papers = [(author, claims_html.introduction(author)[0], exercises.lesson(author),
               [(each, claims_html.highlight(each.source), exercises.answer(each))
                for each in exercises.exercises(author)]) for author in PAPERS]
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    presets = {author: laboratory_page.read(author)["presets"] for author in PAPERS}
    drawn = exercises.read_drawn()
    said = {anchor: exercises.consequence(entry, exercises.looks_the_same(anchor, entry))
            for anchor, entry in drawn.items()}
    return render("exercises.html", papers=papers, authors=PAPERS, version=version,
                    presets=presets, drawn=drawn, said=said)


# A paper's page


def paper(author):
    """Return the page of a paper."""
    files, rows = [], {}
    for section in page_layout.sections(author):
        if not files or files[-1]["path"] != section.path:
            first = sum(len(each) for each in rows.values())
            rows[section.path] = page_layout.notation(section.path)
            files.append({"path": section.path, "first": first, "sections": []})
        files[-1]["sections"].append(laid_out(section, files[-1]["first"]))
    for file in files:
        path = file["path"]
        twin = path.with_name(f"{path.stem}_fast.py")
        file |= {
            "name": str(path.relative_to(ROOT / "algorithms")),
            "header": page_layout.header(path), "rows": [
                (file["first"] + k, list(map(html, page_layout.split_cell(row.paper))), row)
                for k, row in enumerate(rows[path])],
            "twin": str(twin.relative_to(ROOT / "algorithms")) if twin.exists() else "",
            "operations": page_layout.header(twin) if twin.exists() else "",
            "texts": [html(row.meaning) for row in rows[path]]}
    alone = [(path, [departure(each, author) for each in found])
             for path, found in page_layout.departures_without_line(author)]
    scripts, runs = claims_html.scripts(author), stepping_runs(author)
    heading, introduction = claims_html.introduction(author)
    return render(
        "paper.html", author=author, heading=heading, introduction=introduction, files=files,
        departures=[(path, each, where) for path, each, where
                    in page_layout.departures_on_page(author)],
        alone=alone, scripts=scripts, jump=jump(author),
        findings=claims_html.findings(claims_html.readme(author)),
        claims={s.name: claims(s.record) for s in scripts if s.record},
        score=claims_html.score(scripts), authors=PAPERS,
        runs=list(enumerate(runs)), recorded=in_a_script(runs),
        elsewhere=sections_elsewhere(author))


def jump(author):
    """List the Sections that a page's bar leads to: its numbered algorithms, or else its own."""
    own = [section for section in page_layout.sections(author) if section.own]
    return [section for section in own if re.fullmatch(r"A\d+", section.anchor)] or own


def sections_elsewhere(author):
    """List the Sections of other pages whose files name this paper."""
    return [section for section in page_layout.every_section() if section.author != author
            and author.capitalize() in page_layout.source(section.path)]


def claims(record):
    """List a script's claims, those that do not agree first, with the numbers of their reasons.

    Returns them and the reasons, each once.  Checks of ours are not drawn.
    """
    reasons = {}
    found = [(claim, reasons.setdefault(claim["why"], len(reasons) + 1),
              claims_html.svg(claim) if claim["kind"] != "ours" else "")
             for claim in claims_html.by_verdict(record)]
    return found, list(reasons)


def laid_out(section, first):
    """Return what the template needs of a mirror; `first` is its file's first row of Notation."""
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

    rows = []
    concerned = page_layout.departures_by_line(section)
    for row in page_layout.rows(section):
        rows.append({
            "lines": [(k, section.line(k), pseudocode(section.mirror.pseudocode[k], symbol),
                       page_layout.silent(section.mirror.pseudocode[k]), k in concerned)
                      for k in row.numbers],
            "again": [(k, section.line(k)) for k in row.again],
            "code": [(line.number, *claims_html.code(line, names, first)) for line in row.code],
            "ours": not row.numbers and not row.again,
            "departures": [departure(each, section.author) for each in row.departures]})
    return {"section": section, "summary": page_layout.summary(section), "rows": rows}


def pseudocode(text, symbol):
    """Return the indent of a line of pseudocode, in steps of four, and its HTML."""
    line = " ".join(part.strip() for part in text.split("\n"))
    return (len(text) - len(text.lstrip())) / 4, html(line, keywords=True, symbol=symbol)


def stepping_runs(author):
    """List the runs that a page steps through, with their sentences typeset."""
    return [run | {"about": html(run["about"]), "replays": [
        replay | {"says": html(replay["says"])} for replay in run["replays"]]}
        for run in page_layout.runs(author)]


def in_a_script(value):
    """Write a value as JSON that may stand in a script of a page."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def departure(found, author):
    """Return what the template needs of a departure on the page of an author."""
    path, _, name = found.test.partition("::")
    return {"where": found.where, "theirs": html(found.theirs),
            "ours": html(found.ours), "why": html(found.why),
            "test": (path, name) if not page_layout.label(found) else None,
            "replay": page_layout.replay(author, found)}


if __name__ == "__main__":
    sys.exit(main())
