"""tools/rekey.py: stored replicates get new keys only where today's code has their numbers."""

import math
import subprocess
import sys
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest

from reproduce.harness import replicates
from reproduce.harness.fingerprint import fingerprint
from reproduce.harness.run import Settings

rekey = import_module("reproduce.tools.rekey")
NAME = "test_rekey"  # this file stands for a script


def chain(method, n, seed):
    return {"x": [seed / 3 * n, math.nan], "of": {"method": len(method)}}


def clock(n):
    return {"seconds": [float(n)], "layers": ["SOD"]}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Store replicates of an older code; return a function that reads them."""
    monkeypatch.setattr(replicates, "FIGURES", tmp_path)
    monkeypatch.setattr(rekey, "STORE", tmp_path / "replicates")
    monkeypatch.setattr(rekey.papers, "script", lambda name: Path(__file__))
    experiment = replicates.Experiment(NAME, Settings("paper"))
    experiment.replicates(chain, [dict(method=m, n=n, seed=s)
                                  for m in ("HMC", "RMHMC") for n in (1, 2) for s in range(4)])
    experiment.replicates(clock, [dict(n=3)])
    for record in experiment.used.values():
        record["code"], record["seconds"] = "old", 1.0 + record["task"]["n"]
    experiment.pack()
    path = tmp_path / "replicates" / f"{NAME}.json.gz"
    return lambda: list(replicates.unpack(path).values())


def test_what_is_computed_again_is_of_every_method_and_of_different_settings(store):
    rows, wrong = rekey.rekey([NAME])
    assert wrong == []
    assert [row[:5] for row in rows] == [
        [NAME, "chain", method, "of 8", "same"] for method in ["HMC"] * 3 + ["RMHMC"] * 3]
    assert [row[5] for row in rows[:3]] == [  # both settings, and the cheaper one again
        '{"method": "HMC", "n": 1, "seed": 0}', '{"method": "HMC", "n": 1, "seed": 1}',
        '{"method": "HMC", "n": 2, "seed": 0}']
    # all get the key, and what has times does not
    assert {(r["function"], r["code"]) for r in store()} == {
        ("chain", fingerprint(chain)), ("clock", "old")}
    assert rekey.rekey([NAME]) == ([], [])  # nothing is left to do


def test_numbers_may_be_compared_with_those_of_a_commits_code(store, monkeypatch):
    def old(commit, asked, code="old"):
        assert commit == "abc" and {name for _, name, _ in asked} == {"chain"}
        return [[code, chain(**task) | ({"y": 1.0} if task["method"] == "HMC" else {})]
                for _, _, task in asked]

    monkeypatch.setattr(rekey, "results_of_commit", lambda *given: old(*given, "another"))
    with pytest.raises(SystemExit, match="has not the key of the code of abc"):
        rekey.rekey([NAME], before="abc")
    monkeypatch.setattr(rekey, "results_of_commit", old)
    _, wrong = rekey.rekey([NAME], before="abc")
    assert len(wrong) == 3 and all('"HMC"' in line for line in wrong)
    assert {r["code"] for r in store()} == {"old"}
    monkeypatch.setattr(rekey, "results_of_commit", lambda *given: [
        [code, {k: v for k, v in result.items() if k != "y"}] for code, result in old(*given)])
    assert rekey.rekey([NAME], before="abc")[1] == []
    assert {r["code"] for r in store() if r["function"] == "chain"} == {fingerprint(chain)}
    assert "y" not in store()[0]["result"]  # what is stored stays


def test_a_commits_results_are_those_of_its_own_code(tmp_path, monkeypatch):
    files = {"harness/fingerprint.py": "def fingerprint(function):\n    return function(0)['of']\n",
             "harness/replicates.py": "from json import dumps as to_json\n",
             "tools/rekey.py": "def function_of(script, name):\n"
                               "    return lambda n: {'of': f'{script}.{name}', 'n': n + 1}\n"}
    for name, text in files.items():
        path = tmp_path / "reproduce" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"], ["commit", "-qam", "b"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
        if command[-1] == "a":
            path.write_text(files["tools/rekey.py"].replace("n + 1", "n + 2"))
    monkeypatch.setattr(rekey.papers, "ROOT", tmp_path)
    assert rekey.results_of_commit("HEAD~1", [("s", "f", {"n": 1}), ("t", "g", {"n": 5})]) == [
        ["s.f", {"of": "s.f", "n": 2}], ["t.g", {"of": "t.g", "n": 6}]]


def test_numbers_that_differ_keep_their_key_and_are_reported(store, monkeypatch):
    def other(method, n, seed):
        return {"x": [seed / 3 * n + (method == "HMC") * 1e-16 * seed, math.nan],
                "of": {"method": len(method)}}

    monkeypatch.setattr(rekey, "function_of", lambda script, name: other)
    monkeypatch.setattr(rekey, "fingerprint", lambda function: "new")
    rows, wrong = rekey.rekey([NAME])
    assert len(wrong) == 1 and "x[0]" in wrong[0] and '"HMC"' in wrong[0]
    assert [row[4] for row in rows].count("other") == 1
    assert {r["code"] for r in store()} == {"old"}


def test_one_replicate_of_another_code_is_enough_to_compute_again(store):
    rekey.rekey([NAME])
    records = store()
    next(r for r in records if r["task"].get("method") == "HMC")["code"] = "old"
    replicates.write(rekey.STORE / f"{NAME}.json.gz", replicates.pack_records(records))
    rows, _ = rekey.rekey([NAME], size=2)
    assert [row[2] for row in rows] == ["HMC"] * 2


@pytest.mark.parametrize(("wrong", "status"), [([], 0), (["x, f(): y: 1 was, 2 is"], 1)])
def test_the_command_says_what_differs_and_fails_then(tmp_path, monkeypatch, capsys, wrong, status):
    asked = []
    row = [NAME, "chain", "HMC", "of 8", "same", "{}"]
    monkeypatch.setattr(rekey, "STORE", tmp_path)
    monkeypatch.setattr(rekey, "rekey", lambda *given: asked.append(given) or ([row], wrong))
    monkeypatch.setattr(sys, "argv", ["rekey.py", "b", "a", "--jobs", "5", "--samples", "4",
                                      "--before", "abc", "--digits", "7"])
    assert rekey.main() == status
    assert asked == [(["b", "a"], 5, 4, "abc", 7)]
    out, err = capsys.readouterr()
    assert err.splitlines() == (wrong or [""])
    assert out.strip() in (tmp_path / "rekeyed.md").read_text() and "of 8" in out
    for name in "dc":
        (tmp_path / f"{name}.json.gz").touch()
    monkeypatch.setattr(sys, "argv", ["rekey.py"])  # all, and so many that --help says
    row[1] = "another"
    assert rekey.main() == status and asked[1:] == [(["c", "d"], 2, 3, None, None)]
    text = (tmp_path / "rekeyed.md").read_text()  # one below the other, the last one first
    assert text.startswith(f"# Replicates computed again\n\n## {date.today()}\n\n")
    assert text.count("# Replicates") == 1 and text.count("\n## ") == text.count("numbers") == 2
    places = [text.index(words) for words in (
        "bit for bit, against what is stored", "another", "to 7 digits, against the code of abc",
        "chain  ")]
    assert places == sorted(places) and text.endswith("```\n")


def test_of_equal_settings_the_cheapest_is_a_sample():
    records = [{"seconds": seconds, "task": {"n": n, "seed": seed}} for n, seed, seconds in (
        (1, 0, 3.0), (2, 0, 9.0), (1, 1, 2.0), (2, 1, 8.0), (1, 2, 1.0))]
    found = [(each["task"]["n"], each["seconds"]) for each in rekey.samples(records, 4)]
    assert found == [(1, 1.0), (2, 8.0), (1, 2.0), (1, 3.0)]


@pytest.mark.parametrize(("old", "new", "where"), [
    ({"a": 1.0}, {"a": 1.0}, []), ({"a": [1.0, math.nan]}, {"a": [1.0, math.nan]}, []),
    ({"a": {"b": [0.0]}}, {"a": {"b": [-0.0]}}, ["a.b[0]: 0.0 was, -0.0 is"]),
    ({"a": 1}, {"a": 1, "b": 2}, [": {'a': 1} was, {'a': 1, 'b': 2} is"]),
    ({"a": [1, 2]}, {"a": [1, 3]}, ["a[1]: 2 was, 3 is"]),
    ({"a": [1]}, {"a": [1, 2]}, ["a: [1] was, [1, 2] is"]),
])
@pytest.mark.parametrize("digits", [None, 6])
def test_differences(old, new, where, digits):
    assert rekey.differences(old, new, digits) == (
        [] if digits and where == ["a.b[0]: 0.0 was, -0.0 is"] else where)


def test_the_first_digits_of_numbers_may_be_enough():
    old, new, other = {"a": {"b": [2.0, 3, 1e-9]}}, 2.0 * (1 + 9e-7), 2.0 * (1 + 2e-6)
    assert rekey.differences(old, {"a": {"b": [new, 3, 1e-9]}}, 6) == []
    assert rekey.differences(old, {"a": {"b": [new, 3, 1e-9]}}) == [f"a.b[0]: 2.0 was, {new} is"]
    assert rekey.differences(old, {"a": {"b": [other, 4, 1e-9 + 1e-14]}}, 6) == [
        f"a.b[0]: 2.0 was, {other} is", "a.b[1]: 3 was, 4 is",
        f"a.b[2]: 1e-09 was, {1e-9 + 1e-14} is"]


@pytest.mark.parametrize("content", [None, b"damaged"])
def test_what_cannot_be_read_is_left_as_it_is(store, content):
    path = rekey.STORE / f"{NAME}.json.gz"
    path.unlink()
    if content:
        path.write_bytes(content)
    with pytest.raises(SystemExit, match=f"{NAME} has no replicates that can be read"):
        rekey.rekey([NAME])
    assert (path.read_bytes() if content else None) == content
