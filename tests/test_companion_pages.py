"""The companion pages: up to date, complete, every address resolves, nothing is fetched."""

import json
import math
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from mirror_rules import every_mirror
from reproduce.harness import claims_html, page_layout, papers
from reproduce.harness.claims import CLASSES, VERDICTS, Claim, Measured, interval, verdict
from reproduce.harness.mirrors import LABEL, ROOT
from reproduce.harness.papers import PAPERS
from reproduce.harness.typeset import html, latex, mathml, pieces
from reproduce.tools import pages

FIGURES = ROOT / "figures"
NEEDS = "needs the extra `pages`: pip install -e '.[pages]'"
NAMES = ["index.html", *(f"{author}.html" for author in PAPERS), "laboratory.html",
         "exercises.html"]
SECTIONS = page_layout.every_section()
IDS = [f"{section.author}-{section.anchor}" for section in SECTIONS]
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
        if tag not in ("meta", "img", "br"):
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


def test_the_committed_pages_are_up_to_date():
    for library in ("jinja2", "latex2mathml", "markdown_it", "pygments"):
        pytest.importorskip(library, reason=NEEDS)
    # if this fails, run python reproduce/tools/pages.py
    assert list(pages.pages()) == NAMES
    assert [name for name, text in pages.pages().items()
            if (FIGURES / name).read_text() != text] == []  # a difference of these takes minutes


def test_the_command_writes_every_page_and_every_table_of_departures(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "FIGURES", tmp_path)
    monkeypatch.setattr(pages, "pages", lambda: {"a.html": "a"})
    monkeypatch.setattr(pages, "readmes", lambda: {tmp_path / "README.md": "departures"})
    pages.main()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.html": "a", "README.md": "departures"}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_small_and_fetches_nothing_but_pictures_beside_it(name):
    text = (FIGURES / name).read_text()
    assert len(text.encode()) < 600_000
    assert not re.search(
        r"<(?:link|iframe|object|embed|base|audio|video|source)\b|\b(?:srcset|poster|action)="
        r"|url\((?!#)|@import|\bimport\(|\bfetch\b|XMLHttpRequest|new Image|https?://", text)
    for _, attributes, _ in Page(text).elements:
        if "src" in attributes:
            assert re.fullmatch(r"\w+\.png|exercises/[\w-]+\.png", attributes["src"])
            assert (FIGURES / attributes["src"]).exists()
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
    for number, text in section.mirror.pseudocode.items():
        assert "".join(piece.text for piece in pieces(text, keywords=True)) == text
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


@pytest.mark.parametrize("author", PAPERS)
def test_every_departure_is_at_its_line_or_among_those_without_one(author, committed):
    shown = Counter(e[2].split("paper")[0].strip() for e in
                    committed[f"{author}.html"].elements if e[0] == "aside")
    for path, departure, where in page_layout.departures_on_page(author):
        if where is None:
            assert not departure.lines and shown[f"≠ {departure.where}"] >= 1
            continue
        elements = of(where, committed)
        first = next(k for k, e in enumerate(elements)
                     if e[1].get("id") == where.line(min(departure.lines)))
        rest = elements[first + 1:]
        end = next((k for k, e in enumerate(rest) if e[1].get("class", "").startswith("r")
                    and e[0] == "div"), len(rest))  # the next row
        texts = [" ".join(e[2].split()) for e in rest[:end] if e[0] == "aside"]
        said = [each for each in texts if each.startswith(f"≠ {departure.where} ")
                and (departure.test == LABEL or departure.test.rpartition("::")[2] in each)
                and any(words(departure.theirs) <= words(each[: here.start()])
                        and words(f"{departure.ours} {departure.why}") <= words(each[here.end():])
                        for here in re.finditer(" here ", each))]
        assert len(said) == 1
        link = "a", departure.where, where.line(min(departure.lines))
        assert link in [(tag, text, attributes.get("href", "").rpartition("#")[2])
                        for tag, attributes, text in committed[f"{author}.html"].elements]
        for number in departure.lines & where.mirror.pseudocode.keys():
            (line,) = (e for e in elements if e[1].get("id") == where.line(number))
            assert "≠" in line[2], (path, departure.where, number)


def words(text):
    """The words of a text that no symbol or sign is part of."""
    return set(re.findall(r"(?<![\w_'^*~/.-])[a-z]{4,}(?![\w_'^*~/.-])", text)) - set(
        "beta alpha theta kappa sigma gamma lambda grad sqrt".split())


@pytest.mark.parametrize("author", PAPERS)
def test_every_script_is_on_the_page_in_the_order_of_the_readme_with_its_claims(author, committed):
    elements = committed[f"{author}.html"].elements
    verdicts = Counter(attributes["class"].removeprefix("v-") for tag, attributes, _ in elements
                       if tag == "tr" and attributes.get("class", "").startswith("v-"))
    stored = [json.loads(path.read_text()) for path in sorted(FIGURES.glob(f"{author}_*.json"))]
    assert verdicts == Counter(claim["verdict"].replace(" ", "-")
                               for record in stored for claim in record["claims"])
    for name, counts in claims_html.score(claims_html.scripts(author)).items():
        assert name.startswith("printed") or counts == {verdict: sum(
            claim["verdict"] == verdict and claim["kind"] in CLASSES[name]
            for record in stored for claim in record["claims"]) for verdict in VERDICTS}
    named = dict.fromkeys(re.findall(rf"\b{author}_\w+", claims_html.readme(author)))
    there = {path.stem for path in papers.scripts(author)}
    shown = [attributes["id"] for tag, attributes, _ in elements
             if tag == "section" and attributes.get("class") == "script"]
    assert there == set(shown) and shown == [name for name in named if name in there]
    for script in claims_html.scripts(author):
        assert script.minutes.keys() == {"smoke", "short", "paper"}
        assert script.title and not re.match(rf"{author.capitalize()}\b", script.title)


def test_the_index_leads_to_every_algorithm_of_the_papers_and_to_every_script(committed):
    links = {attributes.get("href") for _, attributes, _ in committed["index.html"].elements}
    for section in SECTIONS:
        assert (f"{section.author}.html#{section.anchor}" in links) == section.own
    for author in PAPERS:
        for path in papers.scripts(author):
            assert f"{author}.html#{path.stem}" in links


def test_what_a_template_asks_for_and_is_not_given_is_an_error():
    jinja2 = pytest.importorskip("jinja2", reason=NEEDS)
    with pytest.raises(jinja2.UndefinedError, match="'papers' is undefined"):
        pages.render("index.html", score={"checks of ours": dict.fromkeys(VERDICTS, 1)})


@pytest.mark.parametrize(("text", "expected"), [
    ("x_(k-1)", "x_{k-1}"),
    ("Sigma~^(-1/2)", r"\tilde{\Sigma}^{-1/2}"),
    ("dL_beta/dx", r"\partial \mathcal{L}_{\beta}/\partial x"),
    ("dH/dp'", r"\partial H/\partial p^{\prime }"),
    ("x-hat_(i-1)", r"\hat{x}_{i-1}"),
    ("l_max", r"l_{\mathrm{max}}"),
    ("current_p'", r"p^{\prime }_{\mathrm{current}}"),
    ("x_k'", r"x_{k^{\prime }}"),  # not that of r_theta'
    ("r_theta'", r"r^{\prime }_{\theta}"),
    ("L_R_theta'", r"L_{R_{\theta^{\prime }}}"),
    ("sum_(i=0)^(n-1)", r"\sum^{n-1}_{i=0}"),
    ("(J + E)^-1", r"(J\,+\,E){}^{-1}"),
])
def test_ascii_mathematics_becomes_latex(text, expected):
    assert latex(text) == expected


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


def test_a_line_is_indented_by_four_blanks_a_step():
    pytest.importorskip("latex2mathml", reason=NEEDS)
    assert pages.pseudocode("        p := -p\n            + q", symbol=None)[0] == 2.0


def test_a_symbol_is_mathml_with_its_source_for_a_text_alternative():
    pytest.importorskip("latex2mathml", reason=NEEDS)
    symbol = '<math alttext="x_0"><msub><mi>x</mi><mrow><mn>0</mn></mrow></msub></math>'
    assert html("1/2 x_0 <- x_0 <= 1") == f"\u00bd {symbol} \u2190 {symbol} \u2264 1"
    assert html(":= >= != -> +- ... ~ - *") == (
        "\u2254 \u2265 \u2260 \u2192 \u00b1 \u2026 \u223c \u2212 \u2217")
    short = re.sub(r"<math.*?</math>", "s", html("f(x_0), x and (1) f(x_0)+f(x_1)+f(x_2)"))
    assert short == '<span class="w">s(s),</span> s and (1) s(s)+s(s)+s(s)'  # what is not broken
    assert html("x // y", keywords=True).endswith("</i>")
    assert "&lt;" in html("1 < 2")
    assert mathml("a<b") == "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"


def test_a_symbol_is_explained_by_the_row_of_its_own_algorithm():
    first, _, third, fourth = (s for s in SECTIONS if s.author == "paquet" and s.anchor[0] == "A")
    rows = page_layout.notation(first.path)

    def row(section, *symbol):
        number = page_layout.meaning(page_layout.notation_of_symbols(section), *symbol)
        return None if number is None else rows[number].meaning

    assert row(third, "L").startswith("(Algorithm 3)") and row(fourth, "L").startswith("(Alg")
    assert row(third, "L") != row(fourth, "L")
    assert row(first, "L^K") is None  # no power of L
    assert row(first, "t") is None and row(third, "t") is not None  # a loop's index, a vector
    assert row(first, "p'") != row(first, "p")
    assert row(first, "p'", " G^-1 p") == row(first, "p")  # transposed
    assert row(first, "x_old") == row(first, "x")
    assert page_layout.names(first)["x_"] == next(
        k for k, symbol in enumerate(rows) if symbol.here.startswith("x_,"))


def test_a_table_of_notation_is_read_by_its_columns(tmp_path):
    path = tmp_path / "example.py"
    path.write_text('"""An example.\n\nNotation\n--------\n'
                    "paper     here     shape    meaning\n"
                    "x, p      x, p     (n,)     position;\n"
                    "                            momentum\n"
                    "theta_min low      ()       of a bracket\n"
                    "a, b      long name, another  (n,)  too long\n"
                    "          tally             ours\n"
                    'G         \n"""')
    assert page_layout.notation(path) == [
        ("x, p", "x, p", "(n,)", "position; momentum"), ("theta_min", "low", "()", "of a bracket"),
        ("a, b", "long name, another", "(n,)", "too long"),
        ("", "tally", "", "ours"), ("G", "", "", "")]


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
    ((0.0, 1.0, (math.inf, 0.0)), (6, 94, (False, False)), []),
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


def test_what_does_not_agree_comes_first_and_a_scan_says_how_many_settings_have_a_value():
    claims = [stored(0, 1, (0, 0), verdict=each, what=str(k)) for k, each in enumerate(
        ["agrees", "inconclusive", "agrees", "known difference"])]
    found, reasons = pages.claims(SimpleNamespace(claims=claims))
    assert [claim["what"] for claim, _, _ in found] == ["3", "1", "0", "2"] and reasons == ["w"]
    scan = stored(0, 1, (1.0, 0.0), (math.nan, 0.0), (3.0, 0.0))
    assert claims_html.spread(scan) == "1 to 3: 2 of 3 settings"
    assert interval(0, 1, 0.25) == "[0, 1] ± 0.25"


def test_a_report_is_shown_without_its_claims():
    assert claims_html.without_claims("a\n-\n1\n\nNo claim is made: x\n more") == "a\n-\n1"
    for path in sorted(FIGURES.glob("*_*.json")):
        shown = claims_html.without_claims(path.with_suffix(".txt").read_text())
        assert not any(claim["why"] in shown for claim in json.loads(path.read_text())["claims"])
