"""Words: what is read has the field's words, and functions have verbs or nouns for names."""

import ast
import re

from models.jit import ROOT

CODE = sorted(path for folder in ("algorithms", "models", "reproduce")
              for path in (ROOT / folder).rglob("*.py"))
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "reproduce").rglob("*.md"),
                *(ROOT / "reproduce" / "harness" / "page").glob("*.html")])
WORDS = {  # pattern: what to write in its place
    r"\b(?:in|by|of|from|than|as|beside|where) print\b(?!\()": "the paper, or its number",
    r"\bprint(?:'s| has\b| says\b| is\b| does\b| gives\b| states\b)": "the paper's, the paper has",
    r"\b(?:the|its|paper's|author's|of a) rooms?\b": "folder",
    r"\bnot determined\b": "not specified, or inconclusive",
    r"\bclaims?\b.* cannot (?:tell|be told)\b": "is inconclusive",
    r"\b(?:his|her|he|she) (?!is\b)": "the user's, the reader",
    r"\bwhole or not at all\b": "atomically",
    r"\bwhat (?:is|was) drawn of\b": "what is sampled",
    r"\b(?:iff|resp\.|w\.r\.t\.|cf\.|viz\.)(?=\W)": "written out",
    r"\bthe luck of\b(?!.*data)": "the variation between",
    r"\bhead(?:s)? or tail\b": "says which",
    r"\bdrawn last\b": "started from",
    r"\bby a hair\b|\ba mite\b|\bin a trice\b": "the number",
}
# what says where, when or who, and so names no function
PARTICLES = set(
    "above after again against ahead alone along anew any apart around as at away back because"
    " before below beside besides between beyond both but by down during each either elsewhere"
    " enough every far few fewer for from further furthest he her here his how in into it its just"
    " kept known least left less lent many more most much near nearer nearest never no nor not"
    " nothing now of off often on once only onto or other others our ours out outside over own per"
    " said same says she since so some soon still such than that the their theirs them then there"
    " these they this those though through till to today together told too toward under until up"
    " upon us very we went what when where whether which while who whole whom whose why with within"
    " without yes yet you".split())
STORED = {"compared"}  # the name is in committed results
NOUNS_IN_ED = {"seed", "speed", "need", "feed", "embed", "red"}


def test_words_are_those_of_the_field():
    assert [f"{path.relative_to(ROOT)}:{number}: {line.strip()!r}; write: {WORDS[pattern]}"
            for path in [*PAGES, *CODE]
            for number, line in enumerate(path.read_text().splitlines(), 1) for pattern in WORDS
            if re.search(pattern, re.sub(r"<!--.*?-->", "", line))] == []


def misnamed(name):
    """Tell whether a function's name is no verb and no noun."""
    first, *more = name.strip("_").split("_")
    if more:
        return first in ("at", "of", "the")
    participle = re.search(r"ed$", name) and name not in NOUNS_IN_ED | STORED
    return first in PARTICLES or bool(participle)


def test_functions_have_verbs_or_nouns_for_names():
    assert [f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
            for path in CODE if path.stem != "lesson" for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef) and misnamed(node.name)] == []
