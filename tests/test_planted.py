"""reproduce/tools/planted.py: a script in a copy of the project, as it is and with a bug."""

import io
import os
from types import SimpleNamespace

import pytest
from PIL import Image

from reproduce.harness import exercises
from reproduce.harness.exercises import consequence
from reproduce.harness.papers import PAPERS
from reproduce.tools import planted
from test_workers import LINUX, running, wait_until

SCRIPT = """
import json, time
from pathlib import Path
from PIL import Image
from algorithms.a import value
made = Path("figures/smoke")
made.mkdir(parents=True)
found = value()
claims = [{"what": "fixed", "value": 1.0}, {"what": "bad", "value": found},
          {"what": "time", "value": time.perf_counter()},
          {"what": "nothing", "value": float("nan")}]
(made / "x_fig1.json").write_text(json.dumps({"claims": claims}))
Image.new("RGB", (1296, 648), (int(found), 0, 0)).save(made / "x_fig1.png")
raise SystemExit(1)  # a claim differs, and the figure is there
"""


@pytest.fixture
def with_line(tmp_path):
    """A small project, an exercise in it: run its script with this line in place of the right."""
    for folder in ("algorithms", "reproduce"):
        (tmp_path / folder).mkdir()
    right = tmp_path / "algorithms" / "a.py"
    right.write_text("def value():\n    return 200.0\n")
    (tmp_path / "reproduce" / "x_fig1.py").write_text(SCRIPT)
    def run(line, numbers, seconds=0.0):
        bug = exercises.Bug("bug", "algorithms/a.py", "", "return 200.0", line, "t.py::t")
        found = planted.with_a_bug(tmp_path, SimpleNamespace(bug=bug, script="x_fig1"),
                                   {"numbers": numbers, "seconds": seconds})
        assert right.read_text() == "def value():\n    return 200.0\n"
        return found

    return run


def test_a_bug_is_planted_drawn_and_taken_back(with_line, tmp_path):
    start = os.times().elapsed
    as_it_is = planted.without_a_bug(tmp_path, "x_fig1")
    assert as_it_is["numbers"] == {"fixed": "1.0", "bad": "200.0", "nothing": "nan"}  # no time
    assert as_it_is["steady"] and 0 < as_it_is["seconds"] <= os.times().elapsed - start
    found = with_line("return 100.0", as_it_is["numbers"])
    assert (found["numbers"], found["changed"], found["ended"]) == (3, 1, "")
    assert Image.open(io.BytesIO(as_it_is["picture"])).getpixel((0, 0)) == (200, 0, 0)
    assert Image.open(io.BytesIO(found["picture"])).getpixel((0, 0)) == (100, 0, 0)


def test_a_figure_with_times_in_it_is_known_and_a_script_that_fails_stops_everything(monkeypatch):
    run = {"picture": b"first", "numbers": {"a": "1", "b": "2"}, "seconds": 1.0, "ended": ""}
    runs = [run, run | {"picture": b"another", "numbers": {"b": "2"}}, run,
            run | {"picture": None, "ended": "ends with: OSError: no data"}]
    monkeypatch.setattr(planted, "run", lambda *_: runs.pop(0))
    assert planted.without_a_bug(None, "x_fig1") == {
        "picture": b"first", "seconds": 1.0, "numbers": {"b": "2"}, "steady": False}
    with pytest.raises(SystemExit, match="x_fig1 as it is ends with: OSError: no data"):
        planted.without_a_bug(None, "x_fig1")


@LINUX
@pytest.mark.parametrize("line, ended", [
    ("raise ValueError('it overflows')", "ends with: ValueError: it overflows"),
    ("import os; os._exit(7)", "ends with status 7"),
    ("while True: pass", "does not end")])
def test_a_run_that_draws_nothing_says_why_and_what_it_has_started_ends(with_line, tmp_path,
                                                                        monkeypatch, line, ended):
    monkeypatch.setattr(planted, "MINUTE", 2.0)
    found = with_line("import subprocess as s<br>with open('pid', 'w') as file:<br>"
                      "    file.write(str(s.Popen(['sleep', '300'], stderr=s.DEVNULL).pid))<br>"
                      + line, {})
    assert (found["picture"], found["ended"]) == (None, ended)
    wait_until(lambda: not running(int((tmp_path / "pid").read_text())))


def test_a_run_has_so_many_times_the_seconds_that_it_takes_without_a_bug(with_line, monkeypatch):
    given = []
    monkeypatch.setattr(planted, "run", lambda copy, script, patience: given.append(patience) or {
        "picture": b"", "numbers": {"a": "1", "c": "3"}, "seconds": 0.0, "ended": ""})
    found = with_line("return 1.0", {"a": "1", "b": "2", "c": "4"}, 12.0)
    assert given == [60 + 5 * 12]  # and a minute to compile
    assert (found["numbers"], found["changed"]) == (3, 2)  # one that is not there has changed


def test_mirrors_stand_in_place_of_their_twins():
    text = ("from algorithms.ais import HMC, RMHMC\n"
            "from algorithms.ep_fast import ep\n"
            "from algorithms.zhang_sshmc_fast import sshmc\n"
            "from algorithms.paquet_rmhmc_fast import contraction, draw_momentum, travel\n"
            "from algorithms.paquet_rmhmc_fast import rmhmc, travel\n"  # which has one of the two
            "from algorithms.hmc import hmc\n")
    lines = planted.mirrors_for_twins(text).splitlines()
    assert lines[:3] == ["from algorithms.ais import HMC, RMHMCMirror as RMHMC",
                         "from algorithms.ep import ep", "from algorithms.zhang_sshmc import sshmc"]
    assert lines[3:] == text.splitlines()[3:]  # a mirror has no travel


def test_the_copy_has_the_code_and_nothing_that_is_made(tmp_path):
    copy = planted.copy_project(tmp_path / "copy", True)
    assert not any((copy / name).exists() for name in planted.LEFT_OUT)
    assert "from algorithms.ep import ep" in (copy / "reproduce/paquet/problem.py").read_text()
    assert (copy / "algorithms/ep.py").read_bytes() == (
        planted.ROOT / "algorithms/ep.py").read_bytes()


def test_a_picture_is_made_small():
    drawn, picture = io.BytesIO(), Image.new("RGB", (1296, 700), "white")
    picture.paste((204, 121, 167), (600, 300, 612, 312))
    picture.save(drawn, format="png")
    found = Image.open(io.BytesIO(planted.shrink(drawn.getvalue())))
    assert found.size == (planted.WIDTH, 467) and len(found.getcolors()) <= 256
    assert found.convert("RGB").getpixel((404, 204)) == (204, 121, 167)


@pytest.mark.parametrize("numbers, changed, same, ended, steady, said", [
    (9, 1, False, "", True, "1 of the 9 numbers of x_fig1 changes, and its figure"),
    (9, 2, True, "", True, "2 of the 9 numbers of x_fig1 change; its figure does not"),
    (9, 2, False, "", False, "2 of the 9 numbers of x_fig1 change"),  # a figure of times
    (9, 0, True, "", True, "None of the 9 numbers of x_fig1 changes, nor does its figure: it does"
                           " not show this bug"),
    (9, 0, False, "", True, "None of the 9 numbers of x_fig1 changes, but its figure does"),
    (9, 9, False, "does not end", True, "x_fig1 draws nothing: it does not end"),
    (0, 0, True, "", True, "x_fig1 claims nothing with so few draws; its figure does not change:"
                           " it does not show this bug"),
    (0, 0, False, "", True, "x_fig1 claims nothing with so few draws; its figure changes")])
def test_what_becomes_of_it_in_words(numbers, changed, same, ended, steady, said):
    entry = {"script": "x_fig1", "numbers": numbers, "changed": changed, "ended": ended,
             "steady": steady}
    assert consequence(entry, same) == said


def test_exercises_are_drawn_one_by_one(tmp_path, monkeypatch):
    every = {author: exercises.exercises(author) for author in PAPERS}  # which takes seconds
    monkeypatch.setattr(planted, "exercises", every.get)
    monkeypatch.setattr(planted, "DRAWN", tmp_path / "exercises" / "drawn.json")
    monkeypatch.setattr(exercises, "DRAWN", planted.DRAWN)
    monkeypatch.setattr(planted, "copy_project", lambda folder, of_mirrors: of_mirrors)
    picture = io.BytesIO()
    Image.new("RGB", (1296, 648)).save(picture, format="png")
    right = {"picture": picture.getvalue(), "steady": True}
    monkeypatch.setattr(planted, "without_a_bug", lambda copy, script: right)
    lost = {"paquet-2"}

    def with_a_bug(copy, exercise, right):
        assert copy == exercise.bug.path.endswith("paquet_rmhmc.py")
        ended = "does not end" if exercise.anchor in lost else ""
        return {"picture": None if ended else right["picture"], "ended": ended, "numbers": 5,
                "changed": 5}

    monkeypatch.setattr(planted, "with_a_bug", with_a_bug)
    with pytest.raises(SystemExit, match="paquet-13 is no exercise"):
        planted.draw(["paquet-1", "paquet-13"])
    planted.draw(["paquet-1", "paquet-2"])
    planted.draw(["paquet-9"])
    found, first = exercises.read_drawn(), every["paquet"][0]
    assert list(found) == ["paquet-1", "paquet-2", "paquet-9"]
    assert found["paquet-1"] == {"script": first.script, "as_it_is": f"{first.script}_mirror.png",
                                 "patch": exercises.digest(first.bug), "steady": True, "ended": "",
                                 "numbers": 5, "changed": 5}
    assert found["paquet-9"]["as_it_is"] == f"{found['paquet-9']['script']}.png"
    lost.add("paquet-1")
    planted.draw(["paquet-1"])  # its picture of before is no longer true
    assert {path.name for path in planted.DRAWN.parent.glob("paquet-*.png")} == {"paquet-9.png"}
    found = exercises.read_drawn()
    assert [exercises.looks_the_same(f"paquet-{k}", found[f"paquet-{k}"]) for k in (1, 9)] == [
        False, True]
    (planted.DRAWN.parent / "paquet-9.png").write_bytes(b"another")
    assert not exercises.looks_the_same("paquet-9", found["paquet-9"])
