"""reproduce/harness/record.schema.json: every figures/*.json is as it says, and what is not fails.

A schema cannot say that low <= high, that a scan has as many numbers as settings, or that a verdict
follows from its numbers: tests/test_committed.py computes every claim again.
"""

import copy
import json
import math

import jsonschema
import pytest

from reproduce.harness import replicates
from reproduce.harness.claims import (
    BUDGETS,
    KINDS,
    UNMADE,
    VERDICTS,
    Claim,
    Declared,
    Measured,
    Scan,
    judge,
)
from reproduce.harness.fingerprint import ROOT
from reproduce.harness.run import Settings, record

SCHEMA = json.loads((ROOT / "reproduce" / "harness" / "record.schema.json").read_text())
RECORDS = sorted((ROOT / "figures").glob("*.json"))
CLAIMS = [
    Claim("exact", "0", lambda r: 0, 0, 0, "rounding", "printed number"),
    Claim("of one draw", "> 0", lambda r: Measured(1.0, math.nan), 0, math.inf, "more", "order"),
    Claim("a misprint", "7", lambda r: 5.0, 7, 7, "rounding", "printed sentence",
          Declared("2 + 3", "2026-01-02T03:04", "", "a sum")),
    Claim("not to be trusted", "1", lambda r: Measured(1.0, math.nan), 0, 2, "theory", "ours"),
    Claim("a scan", "1", lambda r: Scan(("eps = 1", 2), (Measured(0.0), Measured(1.0, 0.1))),
          -0.5, 0.5, "numerics", "ours")]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make a record with every kind of number, as a script would save it."""
    monkeypatch.setattr(replicates, "FIGURES", tmp_path)
    findings = judge(CLAIMS, None, "paper")
    assert [f.verdict for f in findings] == [
        "agrees", "inconclusive", "known difference", UNMADE, "not specified"]
    experiment = replicates.Experiment("x_fig7", Settings("smoke"))
    return json.loads(replicates.to_json(record("x_fig7", findings, experiment)))


def valid(value):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(value)


def test_the_schema_is_one_and_knows_our_words():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    claim = SCHEMA["$defs"]["claim"]["properties"]
    assert tuple(claim["kind"]["enum"]) == KINDS and tuple(claim["verdict"]["enum"]) == VERDICTS
    assert tuple(SCHEMA["properties"]["budget"]["enum"]) == BUDGETS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_committed_record_is_valid(path):
    found = json.loads(path.read_text())
    jsonschema.validate(found, SCHEMA, jsonschema.Draft202012Validator)
    assert found["name"] == path.stem


def test_a_record_of_today_is_valid(made):
    jsonschema.validate(made, SCHEMA, jsonschema.Draft202012Validator)
    assert valid(made | {"claims": [], "verdicts": "no claim is made"})  # other data than asked for


def test_nothing_in_a_record_can_be_left_out_or_added(made):
    assert made["unmade"] == ["not to be trusted"] and "undecided" in made["claims"][1]
    for key in made.keys() - {"unmade"}:  # which is there where something is
        assert not valid({k: v for k, v in made.items() if k != key}), key
    assert not valid(made | {"more": ""})
    for k, claim in enumerate(made["claims"]):
        for changed in ({**claim, "more": ""}, *(
                {name: v for name, v in claim.items() if name != key} for key in claim)):
            assert not valid(made | {"claims": [*made["claims"][:k], changed]}), changed


@pytest.mark.parametrize(("where", "wrong"), [
    (["name"], "x fig7"), (["budget"], "long"), (["seed"], -1), (["seed"], 1.5), (["seed"], "1"),
    (["jobs"], -1), (["verdicts"], "20"), (["verdicts"], "0 agrees"), (["verdicts"], ""),
    (["claims"], {}), (["claims", 0], "agrees"), (["replicate_seconds"], -1.0),
    (["clocks"], "AMD"), (["clocks"], ["AMD", "AMD"]), (["version"], "0.1"), (["cores"], 0),
    (["processor"], ""), (["blas"], None), (["versions"], {"numba": "0.68.1"}),
    (["versions", "numpy"], "new"), (["platform"], ""), (["seconds"], 0), (["date"], "today"),
    (["claims", 0, "what"], ""), (["claims", 0, "paper"], 0), (["claims", 0, "low"], "0"),
    (["claims", 0, "high"], None), (["claims", 0, "why"], ""), (["claims", 0, "kind"], "number"),
    (["claims", 0, "verdict"], "agree"), (["claims", 0, "verdict"], "not specified"),
    (["claims", 0, "verdict"], "every setting differs"), (["claims", 0, "power"], "3"),
    (["claims", 0, "theirs"], -1.0), (["claims", 0, "note"], None), (["claims", 0, "cell"], 1),
    (["claims", 0, "verdict"], "known difference"), (["claims", 0, "value"], "0"),
    (["claims", 0, "value"], None), (["claims", 0, "se"], -0.1), (["claims", 1, "se"], None),
    (["claims", 0, "scan"], {"settings": [1], "found": [[0.0, 0.0]]}),
    (["claims", 2, "known"], None), (["claims", 2, "known", "why"], ""),
    (["claims", 2, "known", "derived"], "yesterday"), (["claims", 2, "known", "cause"], None),
    (["claims", 0, "undecided"], "why"), (["claims", 1, "undecided"], None),
    (["claims", 1, "verdict"], "agrees"), (["unmade"], []), (["unmade"], [""]),
    (["unmade"], "all"), (["claims", 3, "value"], 0.0), (["claims", 3, "scan"], {}),
    (["claims", 3, "scan", "settings"], []), (["claims", 3, "scan", "found"], []),
    (["claims", 3, "scan", "found", 0], [0.0]), (["claims", 3, "scan", "found", 0], 0.0),
    (["claims", 3, "scan", "found", 0], [0.0, 0.1, 0.2]),
    (["claims", 3, "scan", "found", 0], [0.0, -0.1])])
def test_a_broken_record_is_refused(made, where, wrong):
    broken = copy.deepcopy(made)
    *path, last = where
    place = broken
    for key in path:
        place = place[key]
    place[last] = wrong
    assert not valid(broken)
