"""What is committed in figures/: every claim, recomputed from the replicates beside it.

A stored replicate is found by its script, task and settings, whatever the code that computed it,
and none is computed here: so a rewrite that changes no number passes, and arithmetic between a
chain and a verdict that does change one is seen.  Where a data set is nowhere, another takes its
name: what scripts compute of the data themselves, COMPUTED, is another then, and all else is not.
"""

import json
import math
import random
import re
from functools import cache
from importlib import import_module
from io import BytesIO

import matplotlib
import numpy as np
import pytest
from PIL import Image

from legible import faults
from reproduce.harness import files, papers, replicates
from reproduce.harness.claims import Claim, Measured, Scan, failures, judge, report
from reproduce.harness.clocks import judge_times
from reproduce.harness.files import Data, DataError
from reproduce.harness.fingerprint import ROOT, fingerprint
from reproduce.harness.run import Settings, finish, record, write_report
from reproduce.harness.style import WIDTH, plt, png
from reproduce.paquet import digits as paquet_digits
from reproduce.zhang import datasets as zhang_datasets
from reproduce.zhang.datasets import (
    COX,
    GERMAN,
    VOLATILITY,
    simulated_cox,
    simulated_credit,
    simulated_volatility,
)

FIGURES = ROOT / "figures"
SCRIPTS = [path.stem for path in papers.scripts()]
PACKS = sorted((FIGURES / "replicates").glob("*.json.gz"))
LIMIT = 450 * 1024  # bytes of a committed file with numbers: Table 2 of Wang and Neal has 600
PICTURE = 200 * 1000  # bytes of a committed figure
(DRAWN_BY,) = re.findall("^matplotlib==(.*)$", (ROOT / ".ci" / "constraints.txt").read_text(), re.M)
RECALL = Settings("paper", recall=True)
PLANTED = Claim("planted", "1", lambda r: 0.0, 1.0, 1.0, "it cannot hold", "ours")
# of a script that computes something of the data: a word of each claim that this is in
COMPUTED = {"paquet_fig2": "EP", "paquet_logz": "EP", "paquet_rivals": "EP|difficulty",
            "zhang_errata": "Z17", "zhang_fig3": "true field"}


@cache
def there(name):
    """Tell whether the data of a script are on this machine."""
    try:
        cases = import_module(papers.module(papers.script(name))).cases(RECALL)
        return not getattr(cases, "note", "")
    except (DataError, SystemExit):
        return False


@cache
def recalled(name):
    """Return a script, its experiment, its result at the paper's run lengths, and its data."""
    script = import_module(papers.module(papers.script(name)))
    cases, experiment = script.cases(RECALL), replicates.Experiment(script.NAME, RECALL)
    return script, experiment, script.run(experiment, cases), cases


def digits(part, folder):
    """Return random digits by the name of USPS."""
    y = np.repeat([1.0, -1.0], paquet_digits.COUNTS[part])
    X = np.random.default_rng(y.size).uniform(-1, 1, (y.size, 256))
    return Data(f"USPS 3 vs 5, {part}", X, y)


OTHERS = {"german_credit": simulated_credit()._replace(name=GERMAN),
          "volatility": simulated_volatility()._replace(name=VOLATILITY),
          "cox_64": simulated_cox(4)._replace(name=COX)}


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.data] * (name in COMPUTED))
                        for name in SCRIPTS])
def script(request, monkeypatch):
    monkeypatch.setattr(files, "download", None)
    if not there(request.param):
        module = import_module(papers.module(papers.script(request.param)))
        monkeypatch.setattr(paquet_digits, "resample", digits)
        monkeypatch.setattr(module, "names", lambda *_: "UCI's", raising=False)
        monkeypatch.setattr(module, "attributes", lambda: (0, 0), raising=False)
        for name, cases in OTHERS.items():
            real = getattr(zhang_datasets, name)
            for place in (module, zhang_datasets):
                if vars(place).get(name) is real:
                    monkeypatch.setattr(place, name, lambda _, cases=cases: cases)
    return recalled(request.param)


@pytest.fixture
def whole(script):
    """Skip what is computed of data that are not there."""
    name = script[0].NAME
    if name in COMPUTED and not there(name):
        pytest.skip(f"{name} computes a part of the data, which are neither in $PAPERS_DATA nor in"
                    " the cache: `python reproduce/data.py` fetches them")


def close(ours, theirs):
    """Compare two numbers: rounding of linear algebra on another processor, and no more."""
    # values near 0 are themselves of the order of rounding; nan is the same as nan
    return ours == theirs or (math.isnan(ours) and math.isnan(theirs)) or math.isclose(
        ours, theirs, rel_tol=1e-6, abs_tol=1e-9)


def apart(claim):
    """Split a stored claim into what is no number, and its numbers, those of a scan included."""
    rest = {key: value for key, value in claim.items() if not isinstance(value, float)}
    numbers = [value for value in claim.values() if isinstance(value, float)]
    if claim.get("scan"):
        rest["scan"] = claim["scan"]["settings"]
        numbers += [x for pair in claim["scan"]["found"] for x in pair]
    return rest, numbers


def test_every_claim_is_what_its_replicates_give(script):
    module, experiment, result, cases = script
    committed = json.loads((FIGURES / f"{module.NAME}.json").read_text())
    findings = judge_times(module.STUDY, experiment, result, cases)
    left_out = "" if there(module.NAME) else COMPUTED.get(module.NAME, "")
    assert left_out or failures(findings) == []
    ours = json.loads(replicates.to_json(record(module.NAME, findings, experiment)))
    assert len(ours["claims"]) == len(committed["claims"]) > 0
    for a, b in zip(ours["claims"], committed["claims"], strict=True):
        if left_out and re.search(left_out, a["what"]):
            continue
        (rest, numbers), (wanted, others) = apart(a), apart(b)
        assert rest == wanted and len(numbers) == len(others)
        assert all(map(close, numbers, others)), (a, b)
    assert left_out or ours["verdicts"] == committed["verdicts"]
    assert ours.get("unmade") == committed.get("unmade")


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_verdict_and_the_report_follow_from_the_committed_numbers(name):
    # needs no data: what is stored is judged by the script's claims, and told as it is in the text
    module = import_module(papers.module(papers.script(name)))
    committed = json.loads((FIGURES / f"{name}.json").read_text())
    made = {claim.what: claim for claim in module.CLAIMS}
    unmade = committed.get("unmade", [])
    assert len(committed["claims"]) + len(unmade) == len(made)
    stored = [c for c in committed["claims"] if c["what"] in made]
    found = judge([made[c["what"]]._replace(why=c["why"], ours=lambda r, c=c: number_of(c))
                   for c in stored], None, "paper")
    assert failures(found) == [] and [f.claim.what for f in found] == [
        what for what in made if what not in unmade]
    for finding, c in zip(found, stored, strict=True):
        if "Not judged: the times are" not in c["why"]:
            assert c["why"] == made[c["what"]].why
            assert finding.verdict == c["verdict"] and close(finding.power, c["power"])
            assert c["note"].endswith(finding.note)
            assert (finding.undecided or c.get("undecided", "")) == c.get("undecided", "")
        own = finding.claim._asdict()
        assert all(close(own[key], c[key]) for key in ("low", "high", "theirs", "printed"))
        assert all(own[key] == c[key] for key in ("paper", "kind", "row", "cell"))
    counts = {v: sum(c["verdict"] == v for c in stored) for v in {c["verdict"] for c in stored}}
    assert set(committed["verdicts"].split(", ")) >= {f"{n} {v}" for v, n in counts.items()}
    text = report([f._replace(verdict=c["verdict"], note=c["note"], power=c["power"],
                              undecided=c.get("undecided", ""))
                   for f, c in zip(found, stored, strict=True)])
    lines = (FIGURES / f"{name}.txt").read_text().splitlines()
    assert unmade or same_text(text, "\n".join(lines[-len(text.splitlines()):]))


def number_of(stored):
    """Return the number, or the numbers of a scan, of a stored claim."""
    if stored.get("scan"):
        return Scan(stored["scan"]["settings"], [Measured(*x) for x in stored["scan"]["found"]])
    return Measured(stored["value"], stored["se"])


def slower(value, rng, times=False):
    """Return a result with each of its times multiplied by a number of its own."""
    if isinstance(value, dict):
        return {key: slower(part, rng, times or key in replicates.TIMES)
                for key, part in value.items()}
    if isinstance(value, list):
        return [slower(part, rng, times) for part in value]
    return value * math.exp(rng.gauss(0, 1)) if times else value


def test_no_claim_of_a_smoke_or_short_run_depends_on_seconds(script, monkeypatch):
    module, _, result, cases = script
    packed, rng = replicates.unpack, random.Random(1)
    monkeypatch.setattr(replicates, "unpack", lambda path: {
        key: record | {"result": slower(record["result"], rng)}
        for key, record in packed(path).items()})
    experiment = replicates.Experiment(module.NAME, RECALL)
    other = module.run(experiment, cases)
    for budget in ("smoke", "short"):
        here, there = ([(claim.what, str(ours)) for claim, ours, *_ in judge(
            module.CLAIMS, found, budget)] for found in (result, other))
        assert here == there


NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def words(text):
    """Split a text into what is no number, white space and rules folded, and its numbers."""
    rest = re.sub(r"[\s-]+", " ", NUMBER.sub("#", text))
    return rest, [(float(n), unit(n)) for n in NUMBER.findall(text)]


def unit(number):
    """Return the value of one in the last printed digit of a number."""
    digits, _, power = number.partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def same_text(ours, theirs):
    """Compare two reports: the same words, the same numbers but for one in the last digit."""
    (a, x), (b, y) = words(ours), words(theirs)
    return a == b and len(x) == len(y) and all(
        close(m, n) or abs(m - n) <= 1.01 * max(u, v) for (m, u), (n, v) in zip(x, y, strict=True))


def test_every_report_is_what_its_replicates_give(script, whole):
    module, experiment, result, cases = script
    findings = judge_times(module.STUDY, experiment, result, cases)
    ours = write_report(module.table(result), findings, experiment) + "\n"
    assert same_text(ours, (FIGURES / f"{module.NAME}.txt").read_text())


@pytest.mark.parametrize(("ours", "theirs", "same"), [
    ("a 1.25  b", "a 1.25 b", True), ("a 1.25", "a 1.26", True), ("a 1.25", "a 1.27", False),
    ("a 1.25", "b 1.25", False), ("3 agree", "5 agree", False), ("1e-12", "3e-12", True),
    ("1e-05", "3e-05", False), ("x 1 2", "x 1", False)])
def test_two_reports_are_the_same_up_to_one_in_the_last_digit(ours, theirs, same):
    assert same_text(ours, theirs) == same


def test_a_failing_claim_in_any_script_is_exit_status_1(
        script, tmp_path, monkeypatch, capsys):
    module, experiment, result, cases = script
    monkeypatch.setattr(replicates, "FIGURES", tmp_path)
    left_out = "" if there(module.NAME) else COMPUTED.get(module.NAME, "")
    claims = [c for c in module.CLAIMS if not left_out or not re.search(left_out, c.what)]
    assert len(claims) >= 0.6 * len(module.CLAIMS)
    assert finish(module.STUDY._replace(claims=[PLANTED, *claims]), experiment, result, cases) == 1
    assert (tmp_path / f"{module.NAME}.png").stat().st_size > 5_000  # not an empty canvas
    assert re.findall(r"FAILS: .*", capsys.readouterr().out) == [
        "FAILS: planted: differs, and is not declared"]  # so without it the exit status is 0


def pixels(picture):
    """Return the colours of a PNG, (height, width, 3)."""
    return np.asarray(Image.open(BytesIO(picture)).convert("RGB"), int)


def test_the_committed_picture_is_drawn_again_and_all_of_it_can_be_read(script, whole):
    module, _, result, _ = script
    fig = module.figure(result)
    ours, theirs = pixels(png(fig)), pixels((FIGURES / f"{module.NAME}.png").read_bytes())
    assert faults(fig) == []
    plt.close(fig)
    if matplotlib.__version__ != DRAWN_BY:
        pytest.skip("others move letters: the pictures are drawn by"
                    f" `pip install matplotlib=={DRAWN_BY}`")
    # a point of a line may be rounded into the next pixel; the least mark has a dozen pixels
    assert ours.shape == theirs.shape
    assert np.sum(np.abs(ours - theirs).max(axis=2) > 32) <= 5


@pytest.mark.parametrize("name", SCRIPTS)
def test_whatever_is_inconclusive_says_why_more_computing_does_not_tell(name):
    claims = json.loads((FIGURES / f"{name}.json").read_text())["claims"]
    assert all(len(c["undecided"].split()) > 5 for c in claims if c["verdict"] == "inconclusive")


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.name)
def test_the_keys_of_the_committed_replicates_are_todays(path):
    # if this fails, run python reproduce/tools/rekey.py (or the script, where numbers have changed)
    function_of = import_module("reproduce.tools.rekey").function_of
    for name, code in {(r["function"], r["code"]) for r in replicates.unpack(path).values()}:
        assert code == fingerprint(function_of(path.name.split(".")[0], name)), name


def test_every_script_has_what_it_should_and_nothing_is_too_large():
    for name in SCRIPTS:
        assert all((FIGURES / f"{name}.{kind}").exists() for kind in ("png", "txt", "json"))
    for path in [*PACKS, *FIGURES.glob("*.json")]:
        assert path.stat().st_size < LIMIT, path
    for path in FIGURES.glob("*.png"):
        assert path.stat().st_size < PICTURE, path
        # the width in the header of a PNG: drawn in the style of today
        width = int.from_bytes(path.read_bytes()[16:20])
        assert width == int(WIDTH * plt.rcParams["savefig.dpi"]), path
    assert {path.name.split(".")[0] for path in PACKS} <= set(SCRIPTS)


def test_a_record_says_on_what_it_was_computed():
    for path in PACKS:
        for one in replicates.unpack(path).values():
            machine = one["machine"]
            assert machine == replicates.UNKNOWN or (
                machine["processor"] and machine["blas"] and machine["versions"]["numba"])
