"""The companion pages: up to date, complete, every address resolves, nothing is fetched."""

import json
import math
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from reproduce.harness import claims_html, page_layout
from reproduce.harness.claims import VERDICTS, Claim, Measured, verdict
from reproduce.harness.mirrors import ROOT, every_mirror
from reproduce.harness.papers import PAPERS
from reproduce.harness.typeset import pieces
from reproduce.tools import pages

FIGURES = ROOT / "figures"
NEEDS = "needs the extra `pages`: pip install -e '.[pages]'"
NAMES = ["index.html", *(f"{author}.html" for author in PAPERS), "laboratory.html",
         "exercises.html"]
SECTIONS = page_layout.every_section()
IDS = [f"{section.author}-{section.anchor}" for section in SECTIONS]


VOID = ("meta", "img", "br")
ENDS = {"td": ("td", "th"), "th": ("td", "th"), "tr": ("td", "th", "tr"), "li": ("li",),
        "dt": ("dt", "dd"), "dd": ("dt", "dd")}  # what the start of another one ends


class Page(HTMLParser):
    """What the tests ask of a page: its elements in order, with the text inside each."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []  # of [tag, attributes, text]
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        while self.open and self.open[-1][0] in ENDS.get(tag, ()):
            self.open.pop()
        self.elements.append([tag, dict(attrs), ""])
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def ids(self):
        return [attributes["id"] for _, attributes, _ in self.elements if "id" in attributes]


@pytest.fixture(scope="module")
def committed():
    return {name: Page((FIGURES / name).read_text()) for name in NAMES}


def of(section, committed):
    """The page's elements of a section: from its own start to that of the next."""
    elements = committed[f"{section.author}.html"].elements
    start = next(k for k, (tag, attributes, _) in enumerate(elements)
                 if tag == "section" and attributes.get("id") == section.anchor)
    end = next(k for k, (tag, _, _) in enumerate(elements[start + 1:], start + 1)
               if tag in ("section", "details"))
    return elements[start:end]


# The pages as they are committed


def test_the_committed_pages_are_up_to_date():
    for library in ("jinja2", "latex2mathml", "markdown_it", "pygments"):
        pytest.importorskip(library, reason=NEEDS)
    # if this fails, run python reproduce/tools/pages.py
    assert list(pages.pages()) == NAMES
    assert [name for name, text in pages.pages().items()
            if (FIGURES / name).read_text() != text] == []  # a difference of these takes minutes


def test_the_command_writes_every_page_and_every_table_of_departures(tmp_path, monkeypatch, capsys):
    (tmp_path / "figures").mkdir()
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "FIGURES", tmp_path / "figures")
    monkeypatch.setattr(pages, "pages", lambda: {"a.html": "a" * 1500, "b.html": "\u00b3" * 1500})
    monkeypatch.setattr(pages, "readmes", lambda: {tmp_path / "README.md": "departures"})
    pages.main()
    assert {path.relative_to(tmp_path).as_posix(): path.read_text()
            for path in tmp_path.rglob("*.*")} == {
        "figures/a.html": "a" * 1500, "figures/b.html": "\u00b3" * 1500, "README.md": "departures"}
    assert capsys.readouterr().out.splitlines() == [  # a letter of two bytes
        "figures/a.html: 2 kB", "figures/b.html: 3 kB", "departures: README.md"]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_small_and_fetches_nothing_but_pictures_beside_it(name):
    text = (FIGURES / name).read_text()
    assert len(text.encode()) < 600_000
    page = Page(text)
    for tag, attributes, content in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "audio", "video", "source")
        assert not {"srcset", "background", "poster", "action"} & attributes.keys()
        if "src" in attributes:
            assert re.fullmatch(r"\w+\.png|exercises/[\w-]+\.png", attributes["src"])
            assert (FIGURES / attributes["src"]).exists()
        if tag == "use":
            assert attributes["href"].startswith("#")
        if tag == "style" or "style" in attributes:
            assert not re.search(r"url\(|@import", content + attributes.get("style", ""))
        if tag == "script":
            assert not re.search(r"\bfetch\b|XMLHttpRequest|import\s*\(|https?:|new Image", content)
    assert "http://" not in text and "https://" not in text
    assert "rests on" not in text  # of the README.md's sentences


@pytest.mark.parametrize("name", NAMES)
def test_every_address_is_there_once_and_every_link_leads_somewhere(name, committed):
    ids = committed[name].ids()
    assert [each for each, n in Counter(ids).items() if n > 1] == []
    for _, attributes, _ in committed[name].elements:
        if "href" in attributes:
            path, _, anchor = attributes["href"].partition("#")
            if path.endswith(".html") or not path:
                assert anchor in ["", *committed[path or name].ids()], attributes["href"]
            else:
                assert (FIGURES / path).exists(), attributes["href"]
                assert not anchor or int(anchor.removeprefix("L")) > 0
        if "hidden" in attributes:  # all else is there without JavaScript
            assert "js" in attributes.get("class", "").split() or attributes["id"] in (
                "tip", "dock")


def test_every_mirror_is_at_home_on_one_page():
    assert Counter((section.path.stem, section.mirror.name) for section in SECTIONS) == Counter(
        (path.stem, mirror.name) for path, mirror in every_mirror())


@pytest.mark.parametrize("section", SECTIONS, ids=IDS)
def test_every_line_of_a_mirror_is_on_its_page_once_with_its_address(section, committed):
    ids = Counter(committed[f"{section.author}.html"].ids())
    elements = of(section, committed)
    for number in section.mirror.pseudocode:
        assert ids[section.line(number)] == 1
        (line,) = (e for e in elements if e[1].get("id") == section.line(number))
        assert re.match(rf"\s*≠?{number}(?!\d)", line[2])
    # the code: each line once, as it is in the file and in its order, with a link to it
    shown = []
    for code, link in pairwise(e for e in elements if e[0] in ("code", "a")
                               and "data-n" not in e[1]):
        if code[0] == "code" and "--i" in code[1].get("style", ""):
            assert link[1]["href"] == f"../{section.path.relative_to(ROOT)}#L{link[2]}"
            shown.append((int(link[2]), code[2]))
    numbers = [number for number, _ in shown]
    assert numbers == sorted(set(numbers))
    tagged = {line.number: line.text.strip() for line in section.mirror.code}
    lines = section.path.read_text().splitlines()
    assert tagged.keys() <= set(numbers)
    for number, text in shown:
        assert text == tagged.get(number, lines[number - 1].strip())
        assert number in tagged or text.startswith("#")


def test_what_a_template_asks_for_and_is_not_given_is_an_error():
    jinja2 = pytest.importorskip("jinja2", reason=NEEDS)
    with pytest.raises(jinja2.UndefinedError, match="'papers' is undefined"):
        pages.render("index.html", score={"checks of ours": dict.fromkeys(VERDICTS, 1)})


# Mathematics


@pytest.mark.parametrize(("text", "kind", "expected"), [
    ("a state of energy -inf", "symbol", []), ("Geyer's initial monotone sequence", "symbol", []),
    ("log Phi(a)", "symbol", ["Phi", "a"]), ("-g's", "symbol", ["g'", "s"]),
    ("a pi that is infinite", "symbol", ["pi"]), ("V'V", "symbol", ["V'", "V"]),
    ("1/s2", "symbol", ["s2"]), ("2M", "symbol", ["M"]), ("see log_evidence", "symbol", []),
    ("`divergences` of models/special.py", "symbol", []),
    ("grad_z U(z)", "symbol", ["grad_z", "U", "z"]),
    # keywords are those of the pseudocode, not of its sentences
    ("for l = 1 to l_max do", "keyword", ["for", "to", "do"]),
    ("// accept; do nothing", "keyword", []), ("sample initial values for p", "keyword", []),
    ("if x < 0 then a <- x else b <- x", "keyword", ["if", "then", "else"]),
    ("otherwise: return x", "keyword", ["return"]),
    ("compute the function: f", "keyword", []), ("draw h* given s and all else", "keyword", []),
])
def test_what_is_a_symbol_a_keyword_and_what_is_english(text, kind, expected):
    found = pieces(text, keywords=kind == "keyword")
    assert [piece.text for piece in found if piece.kind == kind] == expected


def test_no_letter_of_the_pseudocode_is_lost():
    for section in SECTIONS:
        for text in section.mirror.pseudocode.values():
            assert "".join(piece.text for piece in pieces(text, keywords=True)) == text


# Claims


def stored(low, high, *found, **more):
    """A claim as it is stored, of a number or of a scan."""
    known = {"what": "q", "paper": "1", "why": "w", "kind": "printed number", "known": None,
             "low": low, "high": high, "theirs": 0.0, "cell": "", "verdict": "agrees"} | more
    if len(found) == 1:
        return known | dict(zip(("value", "se"), found[0], strict=True))
    return known | {"scan": {"settings": [str(k) for k in range(len(found))], "found": list(found)}}


def shapes(*claim):
    """The parts of a claim's drawing: (tag, class, where it is, width)."""
    return re.findall(r'<(\w+)(?: class="(\w+)")? (?:x|d|cx)="([^"]+)"(?: width="([^"]+)")?',
                      claims_html.svg(stored(*claim)))


def test_a_drawing_puts_numbers_where_they_are():
    # from 0 - 4 (0.5) = -2 to 6, so 88 of 100 for 8 units, after a margin of 6
    assert shapes(1.0, 6.0, (0.0, 0.5)) == [
        ("rect", "in", "39", "55"), ("path", "end", "M39 2V12M94 2V12", ""),
        ("path", "", "M6 7H50", ""), ("path", "se", "M22.5 7H33.5", ""),
        ("circle", "", "28", "")]


@pytest.mark.parametrize(("claim", "ends", "marks"), [
    ((0.0, math.inf, (2.0, 0.0)), (6, 100, (False, True)), [(94, None, None)]),
    ((-math.inf, 1.0, (math.nan, math.nan)), (0, 50, (True, False)), []),
    ((3.0, 3.0, (3.0, 0.0)), (50, 50, (False, False)), [(50, None, None)]),  # in the middle
    ((0.0, 1.0, (0.0, math.nan)), (6, 94, (False, False)), [(6, None, None)]),
    ((0.0, 4.0, (1.0, 0.0), (math.nan, math.nan), (3.0, 0.0)), (6, 94, (False, False)),
     [(28, None, None), (72, None, None)]),
])
def test_a_drawing_of_what_has_no_end_no_error_or_no_value(claim, ends, marks):
    drawn = claims_html.draw_claim(stored(*claim))
    assert (drawn.low, drawn.high, drawn.open, drawn.marks) == (*ends, marks)
    band, *others = shapes(*claim)
    wide = max(ends[1] - ends[0], 1.0)
    assert band == ("rect", "in", f"{(ends[0] + ends[1] - wide) / 2:g}", f"{wide:g}")
    lines = "".join(f"M{x} 2V12" for x, is_open in zip(ends, ends[2], strict=False) if not is_open)
    assert others == [("path", "end", lines, ""),
                      *(("circle", "", f"{mark[0]}", "") for mark in marks)]


def test_a_drawing_shows_a_difference_where_the_verdict_finds_one():
    # the thin line is what a difference must exceed: it ends outside of the band exactly then
    generator = np.random.default_rng(1)
    for value, se, theirs in zip(generator.normal(0, 3, 50), generator.uniform(0.05, 1, 50),
                                 generator.choice([0.0, 0.5], 50), strict=True):
        claim = stored(-1.0, 1.0, (value, se), theirs=theirs)
        drawn = claims_html.draw_claim(claim)
        _, _, (left, right) = drawn.marks[0]
        differs = left > drawn.high or right < drawn.low
        judged = verdict(Claim("q", "1", None, -1.0, 1.0, "w", "printed number", theirs=theirs),
                         Measured(value, se))
        assert differs == (judged == "differs")


def test_a_report_is_shown_without_its_claims():
    for rest in ("agrees   ours", "known difference       q", "No claim is made: x"):
        assert claims_html.without_claims(f"a  b\n-  -\n1  2\n\n{rest}\n more") == (
            "a  b\n-  -\n1  2")
    for path in sorted(FIGURES.glob("*_*.json")):
        shown = claims_html.without_claims(path.with_suffix(".txt").read_text())
        assert not any(claim["why"] in shown for claim in json.loads(path.read_text())["claims"])
