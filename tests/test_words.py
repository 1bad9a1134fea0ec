"""Words: what is read has the field's words, and functions have verbs or nouns for names."""

import ast
import io
import re
import tokenize

import pytest

from models.jit import ROOT

CODE = sorted(path for folder in ("algorithms", "models", "reproduce")
              for path in (ROOT / folder).rglob("*.py"))
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "reproduce").rglob("*.md"),
                *(ROOT / "reproduce" / "harness" / "page").glob("*.html")])
# pattern -> what to write in its place, a line that it finds, and one that it leaves alone
WORDS = {
    r"\b(?:in|by|of|from|than|as|beside|where) print\b(?!\()": (
        "the paper, or its number", "the step is not in print", "a number to print"),
    r"\bprint(?:'s| has\b| says\b| is\b| does\b| gives\b| states\b)": (
        "the paper's, the paper has", "print's line has a minus", "as printed it has a minus"),
    r"\b(?:the|its|paper's|author's|of a) rooms?\b": (
        "folder", "what the room has", "hardly any room"),
    r"\bnot determined\b": ("not specified, or inconclusive", "the verdict is not determined",
                            "determined by two numbers"),
    r"\bclaims?\b.* cannot (?:tell|be told)\b": (
        "is inconclusive", "a claim of few draws cannot tell", "U cannot tell"),
    r"\b(?:his|her|he|she) (?!is\b)": ("the user's, the reader", "his cache", "this cache"),
    r"\bwhole or not at all\b": ("atomically", "Write a file, whole or not at all", "a whole file"),
    r"\bwhat (?:is|was) drawn of\b": ("what is sampled", "what is drawn of q", "what is drawn"),
    r"\b(?:iff|resp\.|w\.r\.t\.|cf\.|viz\.)(?=\W)": (
        "written out", "iff it is finite", "if it is finite"),
    r"\bthe luck of\b(?!.*data)": (
        "the variation between", "the luck of a seed", "the luck of the data sets"),
    r"\bnobody has to lend\b": ("no energy is exchanged", "nobody has to lend it", "lends energy"),
    r"\bhead(?:s)? or tail\b": ("says which", "neither head or tail", "the tail"),
    r"\bdrawn last\b": ("started from", "HMC, drawn last, is fast", "is drawn at last"),
    r"\bby a hair\b|\ba mite\b|\bin a trice\b": ("the number", "ahead by a hair", "ahead by 3 %"),
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


def lines(path):
    """Yield (number, line) of what is read: pages whole, of code docstrings and comments."""
    text = path.read_text()
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(
                node):
            first = node.body[0]
            yield from enumerate(text.splitlines()[first.lineno - 1:first.end_lineno],
                                 first.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("path", [*PAGES, *CODE], ids=lambda p: str(p.relative_to(ROOT)))
def test_words_are_those_of_the_field(path):
    found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()!r}; write: {WORDS[pattern][0]}"
             for number, line in lines(path) for pattern in WORDS
             if re.search(pattern, re.sub(r"<!--.*?-->", "", line))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("pattern", WORDS)
def test_a_pattern_finds_what_it_is_for_and_nothing_else(pattern):
    _, wrong, right = WORDS[pattern]
    assert re.search(pattern, wrong) and not re.search(pattern, right)


def misnamed(name):
    """Tell whether a function's name is no verb and no noun."""
    first, *more = name.strip("_").split("_")
    if more:
        return first in ("at", "of", "the")
    participle = re.search(r"ed$", name) and name not in NOUNS_IN_ED | STORED
    return first in PARTICLES or bool(participle)


@pytest.mark.parametrize(("name", "wrong"), [
    ("at", True), ("at_phi", True), ("found", False), ("said", True), ("rounded", True),
    ("speed", False), ("U", False), ("precompute_phi", False), ("by_name", False)])
def test_a_name_that_is_no_verb_and_no_noun_is_seen(name, wrong):
    assert misnamed(name) == wrong


@pytest.mark.parametrize("path", [path for path in CODE if path.stem != "lesson"],
                         ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_have_verbs_or_nouns_for_names(path):
    found = [f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
             for node in ast.parse(path.read_text()).body
             if isinstance(node, ast.FunctionDef) and misnamed(node.name)]
    assert not found, "\n".join(found)
