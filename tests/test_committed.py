"""What is committed in figures/: every claim, recomputed from the replicates beside it.

A stored replicate is found by its script, task and settings, whatever the code that computed it,
and none is computed here: so a rewrite that changes no number passes, and arithmetic between a
chain and a verdict that does change one is seen.  Where a data set is nowhere, another takes its
name: what scripts compute of the data themselves, COMPUTED, is judged then as it is stored, and all
else as it is computed.
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
from reproduce.harness.claims import Measured, Scan, failures, judge, report
from reproduce.harness.clocks import judge_times
from reproduce.harness.files import Data, DataError
from reproduce.harness.fingerprint import ROOT, fingerprint
from reproduce.harness.run import Settings, cases_of, record, write_report
from reproduce.harness.style import WIDTH, plt, png
from reproduce.paquet import digits as paquet_digits
from reproduce.shahbaba import datasets as shahbaba_datasets
from reproduce.zhang import datasets as zhang_datasets

FIGURES = ROOT / "figures"
SCRIPTS = [path.stem for path in papers.scripts()]
PACKS = sorted((FIGURES / "replicates").glob("*.json.gz"))
LIMIT = 640 * 1024  # bytes of a committed file with numbers: NUTS has 32 chains of 210 variables
PICTURE = 200 * 1000  # bytes of a committed figure
(DRAWN_BY,) = re.findall("^matplotlib==(.*)$", (ROOT / ".ci" / "constraints.txt").read_text(), re.M)
RECALL = Settings("paper", recall=True)
# of a script that computes something of the data: a word of each claim that this is in
COMPUTED = {"paquet_fig2": "EP", "paquet_logz": "EP", "paquet_rivals": "EP|difficulty",
            "zhang_errata": "Z17", "zhang_fig3": "true field"}


@cache
def there(name):
    """Tell whether the data of a script are on this machine."""
    try:
        cases = cases_of(import_module(papers.module(papers.script(name))).cases, RECALL)
        return not getattr(cases, "note", "")
    except (DataError, SystemExit):
        return False


@cache
def recalled(name):
    """Return a script, its experiment, its result at the paper's run lengths, and its data."""
    script = import_module(papers.module(papers.script(name)))
    cases = cases_of(script.cases, RECALL)
    experiment = replicates.Experiment(script.NAME, RECALL)
    return script, experiment, script.run(experiment, cases), cases


def committed(name):
    return json.loads((FIGURES / f"{name}.json").read_text())


@cache
def findings_of(name):
    """Return a script's Findings; what it computes of data that are not there is as stored."""
    script, experiment, result, cases = recalled(name)
    if name not in COMPUTED or there(name):
        return judge_times(script.STUDY, experiment, result, cases)
    stored = {claim["what"]: claim for claim in committed(name)["claims"]
              if re.search(COMPUTED[name], claim["what"])}
    assert len(stored) <= 0.4 * len(script.CLAIMS)
    claims = [claim._replace(ours=lambda r, what=claim.what: number_of(stored[what]))
              if claim.what in stored else claim for claim in script.CLAIMS]
    found = judge_times(script.STUDY._replace(claims=claims), experiment, result, cases)
    return [f._replace(note=stored[f.claim.what]["note"]) if f.claim.what in stored else f
            for f in found]


def number_of(stored):
    """Return the number, or the numbers of a scan, of a stored claim."""
    if stored.get("scan"):
        return Scan(stored["scan"]["settings"], [Measured(*x) for x in stored["scan"]["found"]])
    return Measured(stored["value"], stored["se"])


def digits(part, folder):
    """Return random digits by the name of USPS."""
    y = np.repeat([1.0, -1.0], paquet_digits.COUNTS[part])
    X = np.random.default_rng(y.size).uniform(-1, 1, (y.size, 256))
    return Data(f"USPS 3 vs 5, {part}", X, y)


OTHERS = {"german_credit": zhang_datasets.simulated_credit()._replace(name=zhang_datasets.GERMAN),
          "volatility": zhang_datasets.simulated_volatility()._replace(
              name=zhang_datasets.VOLATILITY),
          "cox_64": zhang_datasets.simulated_cox(4)._replace(name=zhang_datasets.COX)}


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.data] * (name in COMPUTED))
                        for name in SCRIPTS])
def script(request, monkeypatch):
    monkeypatch.setattr(files, "download", None)
    if not there(request.param):
        module = import_module(papers.module(papers.script(request.param)))
        monkeypatch.setattr(paquet_digits, "resample", digits)
        for place in (module, shahbaba_datasets):
            monkeypatch.setattr(place, "names", lambda *given: getattr(
                given[-1], "__name__", "UCI's").upper(), raising=False)
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


def test_every_claim_and_its_report_are_what_its_replicates_give(script):
    module, experiment, result, _ = script
    findings, saved = findings_of(module.NAME), committed(module.NAME)
    assert failures(findings) == []
    ours = json.loads(replicates.to_json(record(module.NAME, findings, experiment)))
    assert ours.keys() == saved.keys() and ours["name"] == saved["name"]
    assert len(ours["claims"]) == len(saved["claims"]) > 0
    for a, b in zip(ours["claims"], saved["claims"], strict=True):
        (rest, numbers), (wanted, others) = apart(a), apart(b)
        assert rest == wanted and len(numbers) == len(others)
        assert all(map(close, numbers, others)), (a, b)
        if a["verdict"] == "inconclusive":  # why more computing does not tell
            assert len(a["undecided"].split()) > 5, a["what"]
    assert ours["verdicts"] == saved["verdicts"]
    assert ours.get("unmade") == saved.get("unmade")
    text = (FIGURES / f"{module.NAME}.txt").read_text()
    if module.NAME not in COMPUTED or there(module.NAME):
        assert same_text(write_report(module.table(result), findings, experiment) + "\n", text)
    else:
        told = report(findings)
        assert same_text(told, "\n".join(text.splitlines()[-len(told.splitlines()):]))


def slower(value, rng, times=False):
    """Return a result with each of its times multiplied by a number of its own."""
    if isinstance(value, dict):
        return {key: slower(part, rng, times or key in replicates.TIMES)
                for key, part in value.items()}
    if isinstance(value, list):
        return [slower(part, rng, times) for part in value]
    return value * math.exp(rng.gauss(0, 1)) if times else value


def test_no_claim_of_a_smoke_or_short_run_depends_on_seconds(script, monkeypatch):
    module, experiment, result, cases = script
    if module.NAME in ("shahbaba_fig3", "shahbaba_fig4"):  # long, and nothing of them is stored
        assert not experiment.used
        return
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
    """Compare two reports: the same words, the same numbers but for one in the last decimal.

    Whole numbers, as counts are, must be the same.  Only where a number is not may blanks differ.
    """
    if NUMBER.findall(ours) == NUMBER.findall(theirs):
        return ours == theirs
    (a, x), (b, y) = words(ours), words(theirs)
    return a == b and len(x) == len(y) and all(
        close(m, n) or (min(u, v) < 1 and abs(m - n) <= 1.01 * max(u, v))
        for (m, u), (n, v) in zip(x, y, strict=True))


@pytest.mark.parametrize(("ours", "theirs", "same"), [
    ("a 1.25  b", "a 1.26 b", True), ("a 1.25", "a 1.26", True), ("a 1.25", "a 1.27", False),
    ("a 1.25", "b 1.25", False), ("3 agree", "4 agree", False), ("1e-12", "3e-12", True),
    ("1e-05", "3e-05", False), ("x 1 2", "x 1", False), ("9.99", "10", True),
    ("a  1.2     3", "a  1.2  3", False)])  # in the next column
def test_two_reports_are_the_same_up_to_one_in_the_last_digit(ours, theirs, same):
    assert same_text(ours, theirs) == same


def pixels(picture):
    return np.asarray(Image.open(BytesIO(picture)).convert("RGB"), int)


def test_the_committed_picture_is_drawn_again_and_all_of_it_can_be_read(script, whole):
    module, _, result, _ = script
    fig = module.figure(result)
    ours = []
    assert faults(fig, lambda: ours.append(pixels(png(fig)))) == []
    if matplotlib.__version__ != DRAWN_BY:
        pytest.skip("others move letters: the pictures are drawn by"
                    f" `pip install matplotlib=={DRAWN_BY}`")
    # a point of a line may be rounded into the next pixel; the least mark has a dozen pixels
    theirs = pixels((FIGURES / f"{module.NAME}.png").read_bytes())
    assert ours[0].shape == theirs.shape
    assert np.sum(np.abs(ours[0] - theirs).max(axis=2) > 32) <= 5


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.name)
def test_the_keys_of_the_committed_replicates_are_todays(path):
    # if this fails, run python reproduce/tools/rekey.py (or the script, where numbers have changed)
    function_of = import_module("reproduce.tools.rekey").function_of
    records = replicates.unpack(path).values()
    for machine in (one["machine"] for one in records):  # on which it was computed
        assert machine["processor"] and machine["blas"] and (
            "numba" in machine["versions"] or machine["blas"] == "unknown")
    for name, code in {(r["function"], r["code"]) for r in records}:
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
