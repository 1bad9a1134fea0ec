"""Words: what is read has the field's words."""

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


def test_words_are_those_of_the_field():
    assert [f"{path.relative_to(ROOT)}:{number}: {line.strip()!r}; write: {WORDS[pattern]}"
            for path in [*PAGES, *CODE]
            for number, line in enumerate(path.read_text().splitlines(), 1) for pattern in WORDS
            if re.search(pattern, re.sub(r"<!--.*?-->", "", line))] == []
