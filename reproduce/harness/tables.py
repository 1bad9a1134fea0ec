"""The papers' pages: their tables and counts, made of what the scripts have saved.

A block of a page stands between the lines `<!-- name -->` and `<!-- /name -->`; what is between
them is written by a program, everything else by hand.  The blocks of README.md and of the pages
reproduce/<author>/README.md:

score     on README.md: the printed numbers of each paper, by verdict
claims    on a paper's page: its claims by class and verdict, and a row for each script
speed     on README.md: what figures/speed.txt has, times of ours and what they are compared with

A script that has saved nothing is counted nowhere, and the block says so.
"""

import ast
import json
import re
import textwrap
from collections import Counter
from statistics import median
from typing import NamedTuple

import numpy as np

from reproduce.harness.claims import CLASSES, VERDICTS, Measured, Scan, number
from reproduce.harness.files import DataError
from reproduce.harness.papers import PAPERS, ROOT, TOGETHER

COLUMNS = VERDICTS[::-1]  # what agrees comes first
HEAD = [*COLUMNS, "median factor noticed"]
NUMBERS, JOINT = next(iter(CLASSES)), "joint test"
WIDTH = 128  # of generated sentences
BLOCK = re.compile(r"^<!-- (\w+) -->$.*?^<!-- /\1 -->$", re.DOTALL | re.MULTILINE)


class Script(NamedTuple):
    """A script, and what it has saved at the paper's run lengths."""

    name: str
    about: str  # the first line of its docstring
    claims: list | None  # as its JSON has them; None if it has not yet been run
    folder: str = ""  # below reproduce/


def saved_json(path):
    """Return what a script has saved, or None if it has not yet been run."""
    try:
        return json.loads(path.read_text("utf-8")) if path.exists() else None
    except ValueError as error:
        raise DataError(f"{path} is damaged ({error}): `git restore` brings the committed one"
                        " back, or run its script again.") from None


def read(paths, figures):
    """Return the Script of each path, with what is in the folder `figures`."""
    found = []
    for path in paths:
        about = ast.get_docstring(ast.parse(path.read_text("utf-8"))).splitlines()[0]
        saved = saved_json(figures / f"{path.stem}.json")
        claims = saved and saved["claims"]
        folder = path.parent.name.removeprefix("reproduce")
        found.append(Script(path.stem, about, claims, folder))
    return found


def fill_blocks(page, contents):
    """Return the text of a page in which the blocks are what they should be.

    contents : dict  name of a block -> function that returns its text

    Blocks of other names stay as they are.  Raises ValueError for a block that does not end.
    """
    for name in contents:
        lines = [line.strip() for line in page.splitlines()]
        opened = lines.count(f"<!-- {name} -->")
        whole = sum(found[1] == name for found in BLOCK.finditer(page))
        if opened != whole or lines.count(f"<!-- /{name} -->") != whole:
            raise ValueError(f"every block {name!r} must be between the lines <!-- {name} -->"
                             f" and <!-- /{name} -->, but {whole} of {opened} are: add what is"
                             " missing to the page")

    def block(found):
        name = found[1]
        return (f"<!-- {name} -->\n{contents[name]()}\n<!-- /{name} -->" if name in contents
                else found[0])

    return BLOCK.sub(block, page)


def contents(scripts, author=""):
    """Return the blocks of the page of a paper, or without an author those of README.md."""
    if author:
        return {"claims": lambda: claims_of_a_paper(
            [script for script in scripts if author_of(script) == author])}
    return {"score": lambda: score(scripts),
            "speed": lambda: speed((ROOT / "figures" / "speed.txt").read_text("utf-8"))}


def author_of(script):
    """Return the short name of the paper that a script belongs to, or TOGETHER."""
    author = script.name.split("_")[0]
    return author if author in PAPERS else TOGETHER


def score(scripts):
    """Count the printed numbers of each paper by verdict."""
    claims = claims_of(scripts)
    rows = [row(f"[{paper.authors}](reproduce/{name}/README.md), {paper.numbers} in its tables",
                [one for one in claims if author_of(one[0]) == name], NUMBERS)
            for name, paper in PAPERS.items() if paper.numbers]
    return "\n".join([*markdown([NUMBERS, "compared", *HEAD], rows), *not_run(scripts)])


def claims_of_a_paper(scripts):
    """Count the claims of a paper's scripts: the classes apart, then a row for each script."""
    claims = claims_of(scripts)
    classes = [row(name, claims, name) for name in CLASSES]
    rows = [[f"[`{script.name}`](../{script.folder}{'/' * bool(script.folder)}{script.name}.py)",
             describe(script), joint_tests(script),
             summary([claim for claim in script.claims if claim["kind"] != JOINT]),
             f"[all](../../figures/{script.name}.txt)"]
            for script in scripts if script.claims is not None]
    return "\n".join([*markdown(["claims", "in all", *HEAD], classes), "",
                      *markdown(["script", "what it computes", "its joint tests",
                                 "its other claims", "claims"], rows), *not_run(scripts)])


def joint_tests(script):
    """Say what the joint tests of a script found: of all numbers of a table, or of a row."""
    joint = [claim for claim in script.claims if claim["kind"] == JOINT]
    listed = [f"{escape(claim['what'])}: {claim['verdict']}" for claim in joint]
    if len(joint) < 3:
        return "; ".join(listed)
    return f"<details><summary>{summary(joint)}</summary>{'<br>'.join(listed)}</details>"


def summary(claims):
    """Count claims by verdict, in words."""
    found = Counter(claim["verdict"] for claim in claims)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in COLUMNS if found[verdict])


def not_run(scripts):
    """Name the scripts that have not yet been run at the paper's run lengths, in a paragraph."""
    waiting = ", ".join(f"`{script.name}`" for script in scripts if script.claims is None)
    return ["", textwrap.fill(f"Not yet run, and in no count: {waiting}.", WIDTH)] * bool(waiting)


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

    Of what agrees it says how much are ratios of times, which have a wide tolerance.  The last
    entry is the median over its claims of the factor by which a printed value would have to be
    wrong to be noticed.
    """
    found = counts(claims, name)
    ours = [claim for _, claim in claims if claim["kind"] in CLASSES[name]]
    known = [claim for claim in ours if claim["verdict"] == "known difference"]
    causes = len({claim["known"]["cause"] or claim["what"] for claim in known})
    cells = [f"{found[verdict]} ({causes} cause{'s' * (causes > 1)})"
             if verdict == "known difference" and 0 < causes < found[verdict] else found[verdict]
             for verdict in COLUMNS]
    times = counts([one for one in claims if one[1]["why"].startswith("machine")], name)["agrees"]
    cells[0] = f"{cells[0]} ({times} CPU times)" if times else cells[0]
    told = [claim["power"] for claim in ours if np.isfinite(claim["power"])]
    return [label, sum(found.values()), *cells, f"{median(told):.2g}" if told else "-"]


def describe(script):
    """Say what a script does: the first line of its docstring, without the paper's name."""
    about = re.sub(r"^(?:Beside )?[A-Z][\w, ]+ \(\d{4}\)[:,] ", "", script.about).rstrip(".")
    return escape(about)


# What a script found


def verdict_and_reason(claim):
    """Give a claim's verdict, and where it is inconclusive the reason."""
    return claim["verdict"] + f": {claim.get('undecided')}" * bool(claim.get("undecided"))


def format_power(claim):
    """Format the factor by which the printed value would have to be wrong to be noticed."""
    return f"{claim['power']:.3g}" if np.isfinite(claim["power"]) else "-"


def format_ours(claim):
    """Format what we measured for a claim."""
    found = number(stored_estimate(claim))
    return found if "scan" in claim else found.replace(" (s.e. ", " ± ").rstrip(")")


def stored_estimate(claim):
    """Return what was measured for a stored claim, a Measured or a Scan."""
    if "scan" not in claim:
        return Measured(claim["value"], claim["se"])
    return Scan(tuple(claim["scan"]["settings"]),
                tuple(Measured(*each) for each in claim["scan"]["found"]))


def speed(text):
    """Make the table of a record of benchmarks: a command; of each processor its name and lines."""
    _, *parts = text.strip().split("\n\n")
    processors, rows = [], {}
    for part in parts:
        processor, *lines = part.splitlines()
        processors.append(processor)
        for line in lines:
            what, ours, of, limit, ratio = re.fullmatch(
                r"(.+): (\S+) s; (.+): (\S+) s; ratio (\S+)", line).groups()
            rows.setdefault((what, of), {})[processor] = f"{ours} / {limit} = {ratio}"
    return "\n".join(markdown(["one thread, seconds", "reference", *processors], [
        [*key, *(found.get(processor, "") for processor in processors)]
        for key, found in rows.items()]))


def markdown(header, rows):
    """List the lines of a table in Markdown."""
    return ["| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", str(cell)) for cell in row) + " |"
            for row in [header, ["---"] * len(header), *rows]]


def escape(text):
    """Return text in which Markdown sees no markup."""
    return re.sub(r"([\\|*_~<])", r"\\\1", text)


def pages(root, scripts):
    """Return README.md and the papers' pages under `root`: path -> text as it should be."""
    papers = {root / "reproduce" / author / "README.md": author for author in PAPERS}
    return {path: fill_blocks(path.read_text("utf-8"), contents(scripts, author))
            for path, author in {root / "README.md": "", **papers}.items()}
