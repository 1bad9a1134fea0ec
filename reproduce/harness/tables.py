"""The papers' pages: their tables and counts, made of what the scripts have saved.

A block of a page stands between the lines `<!-- name arguments -->` and `<!-- /name -->`; what is
between them is written by a program, everything else by hand.  The blocks of README.md and of the
pages reproduce/<author>/README.md:

score                 how many claims there are, by class and verdict; on README.md of numbers alone
result SCRIPT         the script's figure, declared differences with their reasons, and all claims
result SCRIPT all     and its table, or of that only the paragraphs that are named: 1,3
table SCRIPT 1        these paragraphs of its table, and nothing else
speed                 what figures/speed.txt has: times of ours, and what they are compared with

A script that has saved nothing is counted nowhere, and the score says so.
"""

import ast
import json
import re
import textwrap
from collections import Counter
from statistics import median
from typing import NamedTuple

import numpy as np

from harness.claims import CLASSES, VERDICTS, Declared, Measured, declaration, logarithmic, number
from harness.fingerprint import ROOT

PAPERS = {"paquet": "Paquet & Fraccaro", "shahbaba": "Shahbaba, Lan, Johnson & Neal",
          "zhang": "Zhang & Sutton", "wang": "Wang & Neal"}
TOGETHER = "meet"  # the script that is no paper's
LINKS = {**{author: f"[{name}](reproduce/{author}/README.md)" for author, name in PAPERS.items()},
         TOGETHER: "[on each other's problems](figures/meet.txt)"}
RESULTS = {"paquet": 0, "shahbaba": 108, "zhang": 77, "wang": 96}  # numbers in a paper's tables
COLUMNS = VERDICTS[::-1]  # what agrees comes first
HEAD = [*COLUMNS, "median factor told"]
NUMBERS = next(iter(CLASSES))
WIDTH = 128  # of generated sentences
BLOCK = re.compile(r"^<!-- (\w+)((?: [^\s>]+)*) -->$.*?^<!-- /\1 -->$", re.DOTALL | re.MULTILINE)
# where the table of a report ends (harness/run.py puts a report together)
END = re.compile(rf"(?:\d+ )?(?:{'|'.join(VERDICTS)})\b|Times were measured|no claim is made")


class Script(NamedTuple):
    """A script, and what it has saved at the paper's run lengths."""

    name: str
    about: str  # the first line of its docstring
    claims: list | None  # as its JSON has them; None if it has not yet been run
    report: str = ""  # the text of its report


def read(paths, figures):
    """Return the Script of each path, with what is in the folder `figures`."""
    found = []
    for path in paths:
        about = ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]
        saved = figures / f"{path.stem}.json"
        if saved.exists():
            found.append(Script(path.stem, about, json.loads(saved.read_text())["claims"],
                                saved.with_suffix(".txt").read_text()))
        else:
            found.append(Script(path.stem, about, None))
    return found


def filled(page, contents):
    """Return the text of a page in which the blocks are what they should be.

    contents : dict  name of a block -> function of its arguments, strings, that returns its text

    Blocks of other names stay as they are.  Raises ValueError for a block that does not end.
    """
    for name in contents:
        lines = [line.strip() for line in page.splitlines()]
        opened = sum(line.split()[:2] == ["<!--", name] for line in lines)
        whole = sum(found[1] == name for found in BLOCK.finditer(page))
        if opened != whole or lines.count(f"<!-- /{name} -->") != whole:
            raise ValueError(f"every block {name!r} must be between the lines <!-- {name} ... -->"
                             f" and <!-- /{name} -->, but {whole} of {opened} are: add what is"
                             " missing to the page")

    def block(found):
        name, arguments = found[1], found[2].split()
        if name not in contents:
            return found[0]
        start = found[0].splitlines()[0]
        return f"{start}\n{contents[name](*arguments)}\n<!-- /{name} -->"

    return BLOCK.sub(block, page)


def contents(scripts, author=""):
    """Return the blocks of the page of a paper, or without an author those of README.md."""
    ours = [script for script in scripts if not author or author_of(script) == author]

    def named(name):
        found = [script for script in scripts if script.name == name]
        if not found:
            raise ValueError(f"a block must name a script, but {name!r} is none")
        return found[0]

    return {"score": lambda: score(ours, author),
            "result": lambda name, shown="": of_script(named(name), shown),
            "table": lambda name, shown: paragraphs(named(name), shown),
            "speed": lambda: speed((ROOT / "figures" / "speed.txt").read_text())}


def author_of(script):
    """Return the short name of the paper that a script belongs to, or TOGETHER."""
    author = script.name.split("_")[0]
    return author if author in PAPERS else TOGETHER


# The score


def score(scripts, author=""):
    """Count the claims of a paper's scripts, the classes apart; of all papers only their numbers.

    Names the scripts that have not yet been run at the paper's run lengths.
    """
    claims = claims_of(scripts)
    if author:
        rows = [row(name, claims, name) for name in CLASSES]
        joint = [[f"`{script.name}`", escaped(c["what"]), c["note"], c["verdict"]]
                 for script, c in claims if c["kind"] == "joint test"]
        lines = markdown(["claims", "in all", *HEAD], rows)
        if joint:
            lines += ["", *markdown(["script", "joint test of a table's numbers", "result",
                                     "verdict"], joint)]
    else:
        rows = [row(f"{link}, of {RESULTS[name]} in its tables",
                    [one for one in claims if author_of(one[0]) == name], NUMBERS)
                for name, link in LINKS.items() if RESULTS.get(name)]
        lines = markdown([NUMBERS, "compared", *HEAD], rows)
    waiting = ", ".join(f"`{script.name}`" for script in scripts if script.claims is None)
    return "\n".join([*lines, *["", textwrap.fill(
        f"Not yet run, and in no count: {waiting}.", WIDTH)] * bool(waiting)])


def claims_of(scripts):
    """List all claims of some scripts, each with its script."""
    return [(script, claim) for script in scripts for claim in script.claims or ()]


def counts(claims, name):
    """Count the claims of a class by verdict, {verdict: number}, none left out.

    A printed number that several claims are about counts once, by the worst of their verdicts.
    """
    worst = {}
    for script, claim in claims:
        if claim["kind"] in CLASSES[name]:
            rank = VERDICTS.index(claim["verdict"])
            cell = claim["cell"] if name == NUMBERS else ""
            key = (author_of(script), cell) if cell else (script.name, claim["what"])
            worst[key] = min(rank, worst.get(key, rank))
    found = Counter(worst.values())
    return {verdict: found[rank] for rank, verdict in enumerate(VERDICTS)}


def row(label, claims, name):
    """Make a row of the score: the claims of a class; and how many causes known differences have.

    The last entry is the median over its claims of the factor by which a printed value would have
    to be wrong to be told.
    """
    found = counts(claims, name)
    ours = [claim for _, claim in claims if claim["kind"] in CLASSES[name]]
    known = [claim for claim in ours if claim["verdict"] == "known difference"]
    causes = len({claim["known"]["cause"] or claim["what"] for claim in known})
    cells = [f"{found[verdict]} of {causes} cause{'s' * (causes > 1)}"
             if verdict == "known difference" and 0 < causes < found[verdict] else found[verdict]
             for verdict in COLUMNS]
    told = [claim["power"] for claim in ours if np.isfinite(claim["power"])]
    return [label, sum(found.values()), *cells, f"{median(told):.2g}" if told else "-"]


def described(script):
    """Say what a script does, and link it."""
    about = re.sub(r"^(?:Beside )?[A-Z][\w, ]+ \(\d{4}\)[:,] ", "", script.about).rstrip(".")
    return f"[`{script.name}`](../{script.name}.py), {escaped(about)}"


# What a script found


def of_script(script, shown=""):
    """Show a script's figure, its table as far as `shown` says, what a paper has wrong, claims."""
    if script.claims is None:
        return f"{described(script)}: not yet run at the paper's run lengths."
    parts = [f"![{script.name}](../../figures/{script.name}.png)"]
    if shown:
        parts.append(paragraphs(script, shown))
    known = [[c["verdict"], escaped(c["what"]), escaped(c["paper"]), spanned(c),
              escaped(c["known"]["why"]), when(c)] for c in script.claims if c["known"]]
    if known:
        parts.append("\n".join(markdown(
            ["declared", "claim", "paper", "ours", "because", "when"], known)))
    found = Counter(claim["verdict"] for claim in script.claims)
    said = ", ".join(f"{verdict} {found[verdict]}" for verdict in COLUMNS if found[verdict])
    ordered = sorted(script.claims, key=lambda claim: VERDICTS.index(claim["verdict"]))
    table = markdown(["claim", "kind", "paper", "ours", "verdict", "told from a factor of"],
                     [[escaped(c["what"]), c["kind"], escaped(c["paper"]), spanned(c),
                       escaped(worded(c)), told(c)] for c in ordered])
    parts.append("\n".join(
        [f"<details><summary>{len(script.claims)} claims of <code>{script.name}</code>:"
         f" {said}</summary>", "", *table, "", "</details>"]))
    return "\n\n".join(parts)


def worded(claim):
    """Give a claim's verdict, and where it is inconclusive the reason."""
    return claim["verdict"] + f": {claim.get('undecided')}" * bool(claim.get("undecided"))


def told(claim):
    """Format the factor by which the printed value would have to be wrong to be told."""
    return f"{claim['power']:.3g}" if np.isfinite(claim["power"]) else "-"


def when(claim):
    """Say when a difference was declared, and when it was first seen."""
    return declaration(Declared(**claim["known"]))


def paragraphs(script, shown):
    """Show these paragraphs of a script's table: "1,3", or "all"."""
    if script.claims is None:
        return f"`{script.name}` has not yet been run at the paper's run lengths."
    found = table_of(script.report)
    wanted = range(1, len(found) + 1) if shown == "all" else map(int, shown.split(","))
    return "\n".join(["```text", "\n\n".join(found[k - 1] for k in wanted), "```"])


def table_of(report):
    """Return the paragraphs of a report before its claims."""
    paragraphs = [part.strip("\n") for part in re.split(r"\n\n+", report)]
    end = [k for k, part in enumerate(paragraphs) if END.match(part)]
    return paragraphs[:end[0]] if end else paragraphs


def ours(claim):
    """Format what we measured for a claim."""
    if "scan" in claim:
        found = [number(Measured(*m)) for m in claim["scan"]["found"]]
        return "; ".join(f"{s}: {m}" for s, m in zip(claim["scan"]["settings"], found, strict=True))
    return number(Measured(claim["value"], claim["se"])).replace(" (s.e. ", " ± ").rstrip(")")


def spanned(claim):
    """Format what we measured for a claim, of a scan its range; what is a log also as a factor."""
    is_log, note = logarithmic(claim["what"]), f"; {claim['note']}" * bool(claim["note"])
    if "scan" not in claim:
        return ours(claim) + (f" (a factor of {np.exp(claim['value']):.2g})" if is_log else "") + (
            note)
    found = [value for value, _ in claim["scan"]["found"] if np.isfinite(value)]
    low, high = min(found), max(found)
    return f"{low:.3g} to {high:.3g} in {len(claim['scan']['found'])} settings" + (
        f" (factors of {np.exp(low):.2g} to {np.exp(high):.2g})" if is_log else "") + note


def speed(text):
    """Make the table of a record of benchmarks: its command, the processor, then their lines."""
    _, where, *lines = text.strip().splitlines()
    rows = [re.fullmatch(r"(.+): (\S+) s; (.+): (\S+) s; ratio (\S+)", line).groups()
            for line in lines]
    return "\n".join(markdown([f"one thread, {where}", "ours", "beside it", "ours / that"], [
        [what, f"{ours} s", f"{of}, {limit} s", ratio] for what, ours, of, limit, ratio in rows]))


# Markdown


def markdown(header, rows):
    """List the lines of a table in Markdown."""
    return ["| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", str(cell)) for cell in row) + " |"
            for row in [header, ["---"] * len(header), *rows]]


def escaped(text):
    """Return text in which Markdown sees no markup."""
    return re.sub(r"([\\|*_~<])", r"\\\1", text)


def pages(root, scripts):
    """Return README.md and the papers' pages under `root`: path -> text as it should be."""
    papers = {root / "reproduce" / author / "README.md": author for author in PAPERS}
    return {path: filled(path.read_text(), contents(scripts, author))
            for path, author in {root / "README.md": "", **papers}.items()}
