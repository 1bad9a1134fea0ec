"""reproduce/harness/clocks.py: times of several kinds of processors are no ratio and no verdict."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from reproduce.harness import replicates
from reproduce.harness.claims import UNMADE, Claim, Measured, Scan
from reproduce.harness.clocks import Retimed, judge_times
from reproduce.harness.replicates import Missing, kind_of
from reproduce.harness.run import Settings, finish, write_report
from studies import NOTHING

pytestmark = pytest.mark.usefixtures("figures")


def clock(name):
    """Return times of two methods on a data set, the second one's half of the first one's."""
    return {"seconds": {"slow": [2.0, 2.2], "fast": [1.0, 1.1]}, "layers": 2}  # no time


def chain(name):
    return {"ess": 100.0}


def run(experiment, cases):
    timed = experiment.replicates(clock, [{"name": name} for name in "abc"])
    (found,) = experiment.replicates(chain, [{"name": "a"}])
    ratio = {name: float(np.divide(*map(np.mean, times["seconds"].values())))
             for name, times in zip("abc", timed, strict=True)}
    return {"ratio": ratio, "ess": Measured(found["ess"], 1.0)}


def claim(what, ours, low=1.9, high=2.1):
    return Claim(what, "2", ours, low, high, "made up", "ours")


CLAIMS = [
    claim("one data set", lambda r: r["ratio"]["a"]),
    claim("another data set", lambda r: r["ratio"]["b"]),
    claim("two data sets", lambda r: np.mean([r["ratio"]["a"], r["ratio"]["b"]])),
    claim("two of the same kind", lambda r: np.mean([r["ratio"]["a"], r["ratio"]["c"]])),
    claim("how many are more than 1", lambda r: sum(x > 1 for x in r["ratio"].values()), 3, 3),
    claim("a scan", lambda r: Scan("ab", tuple(Measured(r["ratio"][name]) for name in "ab"))),
    claim("right whatever they are", lambda r: r["ratio"]["a"] + r["ratio"]["b"], 0, np.inf),
    claim("no times", lambda r: r["ess"], 90, 110),
    claim("wrong, and of two", lambda r: r["ratio"]["a"] + r["ratio"]["b"])]
SCRIPT = NOTHING._replace(claims=CLAIMS, run=run)


def experiment(kinds, run=run):
    """Return a run of a script whose clocks a, b, c are of such processors and kernels."""
    one = replicates.Experiment("x_fig1", Settings("paper"))
    result = run(one, None)
    for record in one.used.values():
        if record["function"] == "clock":
            processor, blas = kinds["abc".index(record["task"]["name"])]
            record["machine"] = record["machine"] | {"processor": processor, "blas": blas}
    return one, result


NEW, OLD, VIRTUAL = ("EPYC", "SkylakeX"), ("Xeon", "Haswell"), ("EPYC", "Haswell")


@pytest.mark.parametrize("other", [OLD, VIRTUAL])
def test_a_claim_that_takes_times_of_two_kinds_is_not_judged_and_no_other(other):
    one, result = experiment([NEW, other, NEW])
    assert one.clocks == sorted(["EPYC (SkylakeX)", f"{other[0]} ({other[1]})"])
    findings = judge_times(SCRIPT, one, result, None)
    assert {f.claim.what: f.verdict for f in findings} == {
        "one data set": "agrees", "another data set": "agrees", "two data sets": "inconclusive",
        "two of the same kind": "agrees", "how many are more than 1": "inconclusive",
        "a scan": "inconclusive", "right whatever they are": "inconclusive", "no times": "agrees",
        "wrong, and of two": "inconclusive"}
    for finding in findings:
        assert ("several kinds of processors" in finding.claim.why) == (
            finding.verdict == "inconclusive")
        assert ("one kind of processor" in finding.undecided) == (finding.verdict == "inconclusive")
        assert all((kind in finding.claim.why) == (finding.verdict == "inconclusive")
                   for kind in one.clocks)
    judged = judge_times(SCRIPT, *experiment([NEW] * 3), None)
    assert [f.verdict for f in judged] == ["agrees"] * 8 + ["differs"]
    # numbers stay, to be read as what they are
    assert [str(f.ours) for f in findings] == [str(f.ours) for f in judged]


def test_times_that_another_script_has_stored_are_judged_where_they_are_used():
    one, result = experiment([NEW, OLD, NEW], lambda own, cases: run(own.of("x_fig2"), cases))
    assert one.used == {} and len(one.clocks) == 1
    (other,) = one.others.values()
    for record in other.used.values():
        if record["task"] == {"name": "b"}:
            record["machine"] = record["machine"] | {"processor": "Xeon", "blas": "Haswell"}
    assert len(one.clocks) == 2 and one.of("x_fig1") is one and one.of("x_fig2") is other
    script = SCRIPT._replace(run=lambda own, cases: run(own.of("x_fig2"), cases))
    assert [f.claim.what for f in judge_times(script, one, result, None)
            if f.verdict == "inconclusive"] == [
        "two data sets", "how many are more than 1", "a scan", "right whatever they are",
        "wrong, and of two"]


def test_a_check_that_is_no_claim_is_none_whatever_its_times():
    def unsure(ours):
        return lambda r: Measured(ours(r), np.nan)

    parts = SCRIPT._replace(claims=[claim("two data sets", unsure(CLAIMS[2].ours)),
                                    CLAIMS[2]._replace(
        what="the same, with an error")])
    assert [f.verdict for f in judge_times(parts, *experiment([NEW, OLD, NEW]), None)] == [
        UNMADE, "inconclusive"]


@pytest.mark.parametrize(("gap", "verdicts"), [
    # a choice that the least change of a time changes cannot be followed: all claims
    (1e-12, ["inconclusive"] * 2),
    # one that small changes of times leave as it is can be: what takes no times is judged
    (1e-3, ["inconclusive", "agrees"])])
def test_a_script_that_chooses_by_times_what_it_computes(gap, verdicts):
    def choose(experiment, cases):
        a, b = (times["seconds"]["slow"][0] for times in experiment.replicates(
            clock, [{"name": "a"}, {"name": "b"}]))
        # another each time that these are others, unless they differ by little
        chosen = "a" if abs(a - b) < gap else str(a / b)
        (found,) = experiment.replicates(chain, [{"name": chosen}])
        return {"ratio": a / b, "ess": found["ess"]}

    script = NOTHING._replace(run=choose, claims=[claim("ratio", lambda r: r["ratio"], 0.9, 1.1),
                                        claim("ess", lambda r: r["ess"], 90, 110)])
    one, result = experiment([NEW, OLD, NEW], choose)
    assert [f.verdict for f in judge_times(script, one, result, None)] == verdicts


def test_only_times_of_the_kind_are_changed_and_each_by_a_number_of_its_own():
    one, _ = experiment([NEW, OLD, NEW])
    other = Retimed(one, "Xeon (Haswell)", 1.0, 1)
    a, b = other.replicates(clock, [{"name": "a"}, {"name": "b", "cost": 3}], "timings", warm=None)
    assert a == clock("a")
    ratios = [x / y for method in ("slow", "fast") for x, y in zip(
        b["seconds"][method], clock("b")["seconds"][method], strict=True)]
    assert len(set(ratios)) == 4 and all(x > 0 for x in ratios)
    assert other.replicates(chain, [{"name": "a"}]) == [{"ess": 100.0}]
    # for a script that makes an experiment of its own, which must not compute anything again
    assert (other.budget, other.jobs, other.fresh) == ("paper", 0, False)
    with pytest.raises(Missing, match="did not compute chain"):
        other.replicates(chain, [{"name": "b"}])


@pytest.mark.parametrize("spread", [1e-6, 0.5, 3.0])
def test_the_logs_of_times_are_spread_as_is_said_whatever_the_times(spread):
    times = [1e-6, 1.0, 1e6] * 2000
    none = SimpleNamespace(used={}, others={})
    moved = np.log(Retimed(none, "", spread, 1).change(times)) - np.log(times)
    # of 6000 normals, four standard errors; 1e-14 is rounding of logs up to 14
    assert abs(moved.mean()) < 4 * spread / 6000**0.5 + 1e-14
    assert moved.std() == pytest.approx(spread, rel=4 / 12_000**0.5)


def test_a_kind_is_the_name_and_the_kernels():
    assert kind_of({"machine": {"processor": "EPYC", "blas": "Zen"}}) == "EPYC (Zen)"
    assert kind_of({"machine": {"processor": "EPYC"}}) == "EPYC (unknown)"  # of other programs


def test_a_run_of_two_kinds_says_so_and_does_not_fail(monkeypatch, capsys):
    one, result = experiment([NEW, OLD, NEW])
    parts = SCRIPT._replace(name="x_fig1")
    assert finish(parts, one, result, SimpleNamespace()) == 0  # one of its claims is wrong else
    out = " ".join(capsys.readouterr().out.split())
    assert "several kinds of processors: EPYC (SkylakeX); Xeon (Haswell)" in out
    assert "Not judged: the times are of several kinds" in out
    record = json.loads((replicates.FIGURES / "x_fig1.json").read_text())
    assert record["clocks"] == ["EPYC (SkylakeX)", "Xeon (Haswell)"]
    assert record["verdicts"] == "5 inconclusive, 4 agrees"
    assert "processors" not in write_report("", [], experiment([NEW] * 3)[0])
