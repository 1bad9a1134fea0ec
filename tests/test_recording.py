"""Recorded runs: each ends where the compiled mirror does, and the tracer keeps what changed."""

import json
import re
import sys
from functools import cache
from importlib import import_module

import numba
import numpy as np
import pytest

from conftest import python
from models.jit import ROOT
from reproduce.harness import recording
from reproduce.harness.mirrors import departures, files_with_departures
from reproduce.harness.papers import PAPERS, choose_papers
from reproduce.tools import record

RUNS = [(author, run) for author in PAPERS
        for run in import_module(f"reproduce.{author}.steps").RUNS]
IDS = [f"{author}-{run.name}" for author, run in RUNS]
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@cache
def committed(author):
    return {run["name"]: run for run in json.loads(
        (ROOT / "figures" / "steps" / f"{author}.json").read_text())}


@pytest.fixture(scope="module")
def again():
    """What is recorded now, in a process in which nothing is compiled."""
    code = ("import json; from reproduce.tools.record import choose_papers, runs;"
            " print(json.dumps({author: runs(author) for author in choose_papers([])}))")
    return {author: {run["name"]: run for run in found} for author, found in json.loads(
        python("-c", code, NUMBA_DISABLE_JIT="1")).items()}


@pytest.mark.parametrize(("author", "run"), RUNS, ids=IDS)
def test_a_recorded_run_ends_where_the_compiled_mirror_does(author, run):
    assert not numba.config.DISABLE_JIT
    compiled = recording.numbers(run.call(run.mirror))
    # sums may run in another order, here and on another processor: 1e-16 of numbers up to 1e3, a
    # hundred times over; what is as large as 3e5 is far from the data
    np.testing.assert_allclose(committed(author)[run.name]["end"], compiled, rtol=1e-10, atol=1e-10)


def pieces(stored):
    yield stored
    yield from stored["replays"]


def told(found):
    """The steps of a record as they can be compared: places, names, and values apart.

    A change of rounding alone, back to the digits that were shown, is one on some processors only.
    """
    places, values, shown = [], [], {}
    for step in found["steps"]:
        names = []
        for name, k in zip(step[3][::2], step[3][1::2], strict=True):
            key, value = (step[0], step[2], found["names"][name]), found["values"][k]
            if key not in shown or not close(value, shown[key]):
                names.append(key[2])
                values.append(value)
            shown[key] = value
        places.append([*step[:3], names, step[4:]])
    return places, values


def close(ours, theirs):
    """Compare stored values: six digits, of complex ones four; the last may be rounded off."""
    ours, theirs = json.dumps(ours), json.dumps(theirs)
    numbers = [np.array(NUMBER.findall(each), float) for each in (ours, theirs)]
    # what is nought but for rounding has no digits
    return NUMBER.sub("", ours) == NUMBER.sub("", theirs) and np.allclose(
        *numbers, rtol=2e-3 if 'i"' in ours else 2e-5, atol=1e-9)


@pytest.mark.parametrize(("author", "run"), RUNS, ids=IDS)
def test_what_is_committed_is_what_is_recorded_now(author, run, again):
    # if this fails, run python reproduce/tools/record.py and then reproduce/tools/pages.py
    now, then = again[author][run.name], committed(author)[run.name]
    assert now.keys() == then.keys()
    drawn, old_drawn = now["picture"], then["picture"]
    assert (drawn["kind"], drawn["labels"]) == (run.picture.kind, list(run.picture.labels))
    assert drawn.keys() == old_drawn.keys() and drawn["labels"] == old_drawn["labels"]
    for line, old_line in zip(drawn["ground"], old_drawn["ground"], strict=True):
        # three digits, of which the last may be rounded the other way
        np.testing.assert_allclose(line, old_line, rtol=1.1e-2, atol=1e-6)
    for new, old in zip(pieces(now), pieces(then), strict=True):
        (places, values), (old_places, old_values) = told(new), told(old)
        assert places == old_places
        assert all(map(close, values, old_values))
        for key in ("functions", "test", "lines", "about", "says"):
            assert new.get(key) == old.get(key)
        assert close([point for _, point in new["track"]], [point for _, point in old["track"]])


@pytest.mark.parametrize(("author", "run"), RUNS, ids=IDS)
def test_every_replay_shows_a_departure_and_its_lines_fail(author, run):
    tests = {departure.test.rpartition("::")[2] for path in files_with_departures()
             for departure in departures(path)}
    stored = committed(author)[run.name]
    assert len(stored["replays"]) == len(run.replays)
    for replay in stored["replays"]:
        assert replay["test"] in tests
        assert replay["end"] != stored["end"] and replay["says"].endswith(".")


EXAMPLE = '''"""Paper  nobody.  Mirror  summed.

Departures  none.
"""
import numpy as np


def summed(n, rows):
    """Sum.

    Mirror of nobody.
    """
    s, out = 0.0, np.empty(5)
    # 1   for k = 1 to n
    for k in range(n):
        # 2   s := s + twice(k)
        s = (s
             + twice(k))
        # ours
        out[k] = s
    # 3   return s
    return s, rows


def twice(k):
    """Double.

    Mirror of nobody.
    """
    # 1   return 2 k
    return 2 * k
'''


def test_each_line_is_a_step_with_what_it_changed(example):
    rows = np.arange(20.0)
    picture = recording.Picture("plane", (("summed", "L2"),), lambda name, here: [here["s"]], ())
    run = recording.Run("A1", "about", example.summed, (example.twice,),
                        lambda mirror: mirror(2, rows), picture)
    found, outcome = recording.record(run, run.mirror, run.call)
    steps = [(f, line, depth, {found["names"][k]: found["values"][v]
                               for k, v in zip(c[::2], c[1::2], strict=True)}, *calls)
             for f, line, depth, c, *calls in found["steps"]]
    assert steps == [
        (0, 0, -1, {"n": 2, "rows": {"shape": (20,), "ends": [0.0, 19.0]}}, 1),
        (0, 0, 0, {"s": 0.0}),
        (0, 1, 0, {"k": 0}),
        (0, 2, 0, {"k": 0}, 1), (1, 0, 1, {}), (0, 2, 0, {}),  # s is 0 still
        (0, 4, 0, {"out[0]": 0.0}),
        (0, 1, 0, {"k": 1}),
        (0, 2, 0, {"k": 1}, 1), (1, 0, 1, {}), (0, 2, 0, {"s": 2.0}),
        (0, 4, 0, {"out[1]": 2.0}),
        (0, 1, 0, {}),  # which ends the loop
        (0, 5, 0, {})]
    assert found["track"] == [[5, [0.0]], [10, [2.0]]] and found["end"] == [2.0, *rows]
    assert outcome.result[0] == 2.0 and outcome.known["k"] == 1
    assert found["functions"] == ["an_example.summed", "an_example.twice"]


def test_a_replay_marks_the_lines_of_the_mirror(example):
    # the printed lines are more than ours, so all that follows has moved
    lines = {"L2": "s = s - 1\ns = s - 1\ns = s + 1\ns = s + 1"}
    replay = recording.Replay("test_x", lambda ours, theirs: f"{theirs.result[0]}.",
                              example.summed, lines)
    run = recording.Run("A1", "about", example.summed, (), lambda mirror: mirror(1, 3.0))
    function = recording.printed_version(run, replay)
    found, outcome = recording.record(run, function, run.call)
    assert [line for _, line, *_ in found["steps"]] == [0, 0, 1, 2, 4, 1, 5]
    assert outcome.result == (0.0, 3.0)
    assert recording.printed_lines(run, replay) == [[0, [2, 3], lines["L2"]]]


def test_nothing_is_recorded_of_compiled_code():
    with pytest.raises(ValueError, match=r"so NUMBA_DISABLE_JIT must be 1.*record\.py"):
        recording.record_run(RUNS[0][1])


@pytest.mark.parametrize(("before", "now", "expected"), [
    (None, 1.0, [("x", 1.0)]), (1.0, 1.0, []), (np.nan, np.nan, []), (True, False, [("x", False)]),
    (np.zeros(5), np.array([0, 0, 3, 0, 4.0]), [("x[2]", 3.0), ("x[4]", 4.0)]),
    (np.zeros(2), np.array([0, 1.0]), [("x", [0, 1])]),  # short ones are shown whole
    (np.zeros(2), np.zeros(3), [("x", [0, 0, 0])]),
    (None, np.array([2, np.nan, np.nan, np.nan]), [("x[0]", 2)]),
])
def test_what_has_changed(before, now, expected):
    found = [(name, np.asarray(value).tolist())
             for name, value in recording.differences("x", before, now)]
    assert found == expected


@pytest.mark.parametrize(("value", "expected"), [
    (np.pi, 3.14159), (np.float64(-1e-300), -1e-300), (np.nan, "nan"), (-np.inf, "-inf"),
    (np.bool_(True), True), (7, 7), (np.full(3, np.nan), None),
    (np.array([1.0, np.nan]), [1, "nan"]),  # of which one entry is not yet written
    (0.5 - 2j, "0.5-2i"),
    (np.arange(4.0).reshape(2, 2), [[0, 1], [2, 3]]),
    (np.arange(10.0), {"shape": (10,), "ends": [0, 9]}),
])
def test_how_a_value_is_stored(value, expected):
    assert recording.to_shown(value) == expected


def test_contours_are_where_the_energy_is():
    # ellipses about (1, 0), four times as wide as high; the least energy is 5, on the grid
    lines = recording.contours(lambda x: 5 + ((x[0] - 1) / 2) ** 2 / 2 + (2 * x[1]) ** 2 / 2,
                               (-5, 7, -2, 2), (0.5, 2.0), 121)
    for line, radius in zip(lines, (1, 2), strict=True):
        x, y = np.transpose(line)
        # of chords between points .05 and .067 apart: .067^2 / 8 of a radius, and as much at 0
        np.testing.assert_allclose(np.hypot((x - 1) / 2, 2 * y), radius, rtol=0, atol=2e-3)
        assert line[0] == line[-1] and len(line) <= 40  # all the way round, with few points


def test_the_command_writes_what_is_recorded_of_the_papers_that_are_named(tmp_path, monkeypatch):
    assert choose_papers(["wang"]) == ["wang"] and choose_papers([]) == [*PAPERS]
    with pytest.raises(SystemExit, match="nobody is no paper: say one of paquet, shahbaba"):
        choose_papers(["wang", "nobody"])
    (tmp_path / "figures" / "steps").mkdir(parents=True)
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "runs", lambda author: [{"run": author}, {"run": 2}])
    monkeypatch.setattr(sys, "argv", ["record.py", "wang"])
    record.main()
    assert {path.name: json.loads(path.read_text()) for path in tmp_path.rglob("*.json")} == {
        "wang.json": [{"run": "wang"}, {"run": 2}]}


@pytest.mark.parametrize(("author", "run"), RUNS, ids=IDS)
def test_the_last_value_of_each_local_is_the_last_that_was_recorded(author, run, again):
    # so that no change was missed: each number of the result is that of a local, or of its last
    # digit, in the last state of what was built up step by step
    found = again[author][run.name]
    built = {}
    for function, _, _, changes, *_ in found["steps"]:
        built |= {(function, found["names"][k]): found["values"][v]
                  for k, v in zip(changes[::2], changes[1::2], strict=True)}
    numbers = np.array([x for value in built.values()
                        for x in recording.numbers(flattened(value))])
    for number in found["end"]:
        if np.isfinite(number) and not float(number).is_integer():  # those are counts
            assert np.nanmin(np.abs(numbers - number)) <= 1e-5 * abs(number), (number, run.name)


def flattened(value):
    """The numbers of a stored value, a shape apart."""
    value = value["ends"] if isinstance(value, dict) else value
    return tuple(map(flattened, value)) if isinstance(value, list) else float(value)
