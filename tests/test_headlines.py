"""The READMEs' headlines: each sentence names what it rests on, and is held to it.

Of README.md these are "What was found" and "Which one to use", of a paper's page "What we find"
and "What to use today".  Behind a sentence stands one of

<!-- rests on SCRIPT: CLAIM => EXPRESSION -->   what is true of this claim of figures/SCRIPT.json
<!-- rests on SCRIPT.txt: REGEX -->             a line of this report matches

and every number in the sentence stands in what it rests on.
"""

import json
import math
import re

import numpy as np
import pytest

from reproduce.harness.claims_html import RESTS
from reproduce.harness.fingerprint import ROOT
from reproduce.harness.tables import BLOCK, PAPERS

FIGURES = ROOT / "figures"
PAGES = [("README.md", "What was found"), ("README.md", "Which one to use")] + [
    (f"reproduce/{author}/README.md", heading)
    for author in PAPERS for heading in ("What we find", "What to use today")]
# numbers that name a place, a year, a link or code
NAMES = re.compile(r"`[^`]*`|\]\([^)]*\)|\b(?:Table|Figure|Section|Algorithm|[Ee]quation|[Ll]ine)s?"
                   r" \(?\d[\d.]*\)?(?:(?:,| and| to) \(?\d[\d.]*\)?)*|\((?:19|20)\d\d\)")
NUMBER = re.compile(r"(?<![\w.])(?:\d+(?:\.\d+)?|\.\d+)(?![\w])")


def section(text, heading):
    """Return what a page says by hand under a heading."""
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found, f"there must be a section {heading!r}"
    return BLOCK.sub("", found[1])


def sentences(text):
    """List the (sentence, [what it rests on]) of a section, without tables and pictures."""
    text = re.sub(r"^(?:\||!\[).*$", "", text, flags=re.M)
    found = []
    for block in re.split(r"\n\s*\n|\n(?= *[*-] )", text):
        parts = RESTS.split(re.sub(r"^\s*[*-] ", "", block))
        for words, support in zip(parts[::2], [*parts[1::2], None], strict=True):
            single = [one for one in re.split(r"(?<=[.!?])\s+(?=[A-Z*`\[\"])",
                                              " ".join(words.split())) if one]
            found += [(one, []) for one in single]
            if support is not None:
                assert found, f"nothing is before {support!r}"
                found[-1][1].append(" ".join(support.split()))
    return found


def holds(support, figures=FIGURES):
    """Tell whether what a sentence rests on is so."""
    place, _, rest = support.partition(": ")
    if place.endswith(".txt"):
        lines = (figures / place).read_text().splitlines()
        return any(re.search(rest, line) for line in lines)
    what, _, expression = rest.rpartition(" => ")
    claims = {c["what"]: c for c in json.loads((figures / f"{place}.json").read_text())["claims"]}
    assert what in claims, f"{place} has no claim {what!r}"
    claim = claims[what]
    found = claim.get("scan", {"found": [(claim.get("value"), claim.get("se"))]})["found"]
    value, se = found[0]
    names = {"value": value, "se": se, "factor": math.exp(min(value, 700.0)),
             "values": [each for each, _ in found], "verdict": claim["verdict"],
             "power": claim["power"], "paper": claim["paper"], "note": claim["note"],
             "exp": np.exp, "log": np.log}
    return bool(eval(expression, {}, names))  # our own pages alone


def without_support(words, supports):
    """List what is wrong with a sentence: nothing to rest on, or a number that is not there."""
    if not supports:
        return [f"{words!r} rests on nothing"]
    there = " ".join(supports).replace("\\", "")
    return [f"{number} of {words!r} is in nothing that it rests on"
            for number in NUMBER.findall(NAMES.sub("", words)) if number not in there]


@pytest.mark.parametrize(("page", "heading"), PAGES)
def test_every_headline_rests_on_a_result_that_holds(page, heading):
    found = sentences(section((ROOT / page).read_text(), heading))
    assert found
    wrong = [line for one in found for line in without_support(*one)]
    wrong += [f"{words!r}: {support}" for words, supports in found for support in supports
              if not holds(support)]
    assert not wrong, "\n".join(wrong)


def test_a_headline_that_no_longer_holds_is_seen(tmp_path):
    one = {"what": "log(a => b)", "paper": "3", "power": 1.5, "verdict": "agrees", "note": ""}
    (tmp_path / "x_y.json").write_text(json.dumps({"claims": [
        one | {"value": math.log(2.42), "se": 0.1},
        one | {"what": "s", "scan": {"settings": [1, 2], "found": [[1.0, 0.1], [2.0, 0.1]]}}]}))
    (tmp_path / "x_y.txt").write_text("a  b\nHMC  2.4 (0.3)\n")
    for support, wanted in (
            ("x_y: log(a => b) => round(factor, 1) == 2.4 and verdict == 'agrees'", True),
            ("x_y: log(a => b) => value < 4 * se", False), ("x_y: s => max(values) == 2", True),
            (r"x_y.txt: ^HMC +2\.4 \(0\.3\)", True), (r"x_y.txt: ^HMC +2\.5", False)):
        assert holds(support, tmp_path) == wanted
    with pytest.raises(AssertionError, match="no claim 'z'"):
        holds("x_y: z => True", tmp_path)


def test_sentences_are_told_apart():
    text = ("One of 2.4 times. <!-- rests on a: b => round(value, 1) == 2.4 -->\n"
            "<!-- rests on c.txt: d -->  Two, Table 3,\n(2014) alone.\n\n* Three is .5!"
            " <!-- rests on a: b => value == .5 --> Four.\n| a | 9 |\n![x](y)\n")
    found = sentences(text)
    assert [(words, len(supports)) for words, supports in found] == [
        ("One of 2.4 times.", 2), ("Two, Table 3, (2014) alone.", 0), ("Three is .5!", 1),
        ("Four.", 0)]
    assert [line for one in found for line in without_support(*one)] == [
        "'Two, Table 3, (2014) alone.' rests on nothing", "'Four.' rests on nothing"]
    assert without_support("It is 7 or 8 times.", ["a: b => value > 7"]) == [
        "8 of 'It is 7 or 8 times.' is in nothing that it rests on"]
