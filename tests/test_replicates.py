"""reproduce/harness/replicates.py: replicates that are kept, found again, and never stale."""

import ast
import errno
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from models import jit
from reproduce.harness import replicates as harness
from reproduce.harness import workers
from reproduce.harness.run import Settings
from studies import begun, calls, draw, environment, wait_until, write_script

pytestmark = pytest.mark.usefixtures("figures")
SETTINGS = Settings("smoke")


def where(seed):
    """Say how many threads BLAS has in this process, and whether that is deaf to Ctrl-C."""
    return {"threads": max(pool["num_threads"] for pool in threadpool_info()
                           if pool["user_api"] == "blas"),  # others load OpenMP as well
            "deaf": signal.getsignal(signal.SIGINT) == signal.SIG_IGN}


def fail(seed):
    if seed == 3:
        raise ArithmeticError("the replicate's own error")
    return {}


def stop():
    raise KeyboardInterrupt


def nap():
    time.sleep(0.05)
    return {}


def replicates(name, settings, function, tasks, **options):
    return harness.Experiment(name, settings).replicates(function, tasks, **options)


def tasks(log, seeds=range(6)):
    return [{"seed": seed, "log": str(log), "cost": 1 + seed} for seed in seeds]


def test_results_are_exact_in_order_and_the_same_for_all_numbers_of_jobs(log, tmp_path):
    serial = replicates("draw", SETTINGS, draw, tasks(log))
    for seed, found in enumerate(serial):
        wanted = draw(seed, tmp_path / "other")
        assert found["x"] == wanted["x"].tolist()  # every bit
        assert found["mean"] == wanted["mean"]
        assert found["n"] == 3 and found["ok"] is True
        assert repr(found["odd"]) == repr(wanted["odd"])
    parallel = replicates("draw", SETTINGS._replace(jobs=3, fresh=True), draw, tasks(log))
    assert repr(parallel) == repr(serial)
    assert calls(log) == sorted([*range(6)] * 2)
    with pytest.raises(TypeError, match="cannot be stored as JSON"):
        harness.to_json({"result": object()})


def test_results_go_to_the_key_of_their_tasks(log):
    first, *others = replicates("draw", SETTINGS, draw, tasks(log, [3, 1, 2]))
    found = harness.replicates_by_key(harness.Experiment("draw", SETTINGS), draw, {
        "b": tasks(log, [3]), "a": tasks(log, [1, 2]), "none": []}, "draws")
    assert repr(found) == repr({"b": [first], "a": others, "none": []})


def test_stored_replicates_are_not_computed_again(log):
    first = replicates("draw", SETTINGS, draw, tasks(log, [1, 2]))
    # a cost is no part of a task
    second = replicates("draw", SETTINGS, draw, [
        task | {"cost": 77} for task in tasks(log, [2, 3, 1, 2])])
    assert calls(log) == [1, 2, 3]
    assert [repr(r["x"]) for r in second][::2] == [repr(first[1]["x"]), repr(first[0]["x"])]
    assert repr(second[3]) == repr(second[0])


def test_fresh_another_name_another_task_and_other_code_compute_again(log, monkeypatch):
    (task,) = tasks(log, [1])
    replicates("draw", SETTINGS, draw, [task])
    replicates("draw", SETTINGS._replace(fresh=True), draw, [task])
    replicates("other", SETTINGS, draw, [task])
    replicates("draw", SETTINGS, draw, [task | {"n": 4}])
    monkeypatch.setattr(harness, "fingerprint", lambda function: "other code")
    replicates("draw", SETTINGS, draw, [task])
    assert calls(log) == [1] * 5


@pytest.mark.parametrize(("fresh", "said"), [
    (False, "run the same command to resume."), (True, "the same command without --fresh goes on,"
     " with earlier results for the others where there are any.")])
def test_who_interrupts_a_fresh_run_is_told_not_to_begin_anew(fresh, said, capsys):
    with pytest.raises(SystemExit, match="130"):
        replicates("stop", SETTINGS._replace(fresh=fresh), stop, [{}])
    assert capsys.readouterr().err.endswith(f"0 of 1 replicates are kept; {said}\n")


def changed(change):
    def damage(text, _):
        record = json.loads(text)
        change(record)
        return json.dumps(record)
    return damage


DAMAGE = {
    "half": lambda text, _: text[: len(text) // 2], "empty": lambda text, _: "",
    "list": lambda text, _: "[1, 2]", "bytes": lambda text, _: "\xff",
    "brackets": lambda text, _: "[" * 100_000,
    "no seconds": changed(lambda record: record.pop("seconds")),
    "no check": changed(lambda record: record.pop("check")),
    "no x": changed(lambda record: record["result"].pop("x")),
    "x too short": changed(lambda record: record["result"]["x"].pop()),
    "another task": changed(lambda record: record["task"].update(seed=77)),
    "another's name": lambda text, other: other}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_replicate_counts_as_missing(log, figures, capsys, damage):
    first = replicates("draw", SETTINGS, draw, tasks(log, [1, 2]))
    path, other = sorted((figures / "replicates" / "draw").iterdir())
    path.write_text(damage(path.read_text(), other.read_text()), encoding="latin-1")
    assert repr(replicates("draw", SETTINGS, draw, tasks(log, [1, 2]))) == repr(first)
    assert len(calls(log)) == 3
    assert f"{path} is damaged" in capsys.readouterr().err
    assert harness.key_of(json.loads(path.read_text())) == path.stem


def test_a_stored_replicate_says_what_it_is(log, figures):
    replicates("draw", SETTINGS, draw, tasks(log, [1]))
    (path,) = (figures / "replicates" / "draw").iterdir()
    record = json.loads(path.read_text())
    assert record["task"] == {"seed": 1, "log": str(log)}
    assert record["function"] == "draw" and record["code"] == harness.fingerprint(draw)
    machine = record["machine"]
    assert machine["processor"] == harness.processor() and machine["cores"] == os.cpu_count()
    assert machine["blas"] != "unknown" and machine["versions"]["numpy"] == np.__version__
    start = time.perf_counter()
    seconds = harness.make_record(nap, "code", {})["seconds"]
    assert 0.05 <= seconds <= time.perf_counter() - start


def here_or_there():
    """Leave a line that names the process."""
    with open(os.environ["WARMED"], "a") as file:
        file.write(f"{os.getpid()}\n")


@pytest.mark.parametrize("jobs", [0, 1])
def test_warm_is_called_once_where_replicates_are_computed_if_one_is(tmp_path, log, monkeypatch,
                                                                    jobs):
    workers.kill_all()  # those that are there have another environment
    monkeypatch.setenv("WARMED", str(tmp_path / "warmed"))
    for _ in range(2):
        replicates("draw", SETTINGS._replace(jobs=jobs), draw, tasks(log), warm=here_or_there)
    (process,) = (tmp_path / "warmed").read_text().splitlines()
    assert (int(process) == os.getpid()) == (jobs == 0)
    workers.kill_all()


def test_what_is_compiled_before_replicates_are_computed_is_told(log, monkeypatch, capsys):
    monkeypatch.setattr(jit.cache, "read", lambda file: None)  # or there is nothing to compile
    monkeypatch.setattr(jit.Telling, "told", False)  # as in scripts, while replicates are computed
    monkeypatch.setattr(jit, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    inner = jit.njit(lambda x: x + 1.5)
    outer = jit.njit(lambda x: inner(x))
    replicates("draw", SETTINGS, draw, tasks(log), warm=lambda: outer(1.0))
    assert "\ncompiling draw for these arguments, up to a minute" in capsys.readouterr().err


def test_the_bar_counts_by_cost_from_what_is_stored_to_all_and_shows_the_note(log, capsys):
    replicates("draw", SETTINGS, draw, tasks(log, [1, 2]))
    heard = []
    capsys.readouterr()
    replicates("draw", SETTINGS, draw, tasks(log, [1, 2, 3]), unit="chains",  # costs 2, 3 and 4
               note=lambda found: heard.append(len(found)) or f"seen {len(found)}")
    errors = capsys.readouterr().err
    assert max(heard) == 3 and "3/3 chains, seen 3" in errors
    shown = [line.split("%")[0].split()[-1] for line in errors.replace("\r", "\n").splitlines()
             if "%|" in line]
    assert shown[0] == "56" and shown[-1] == "100"  # 5 of 9


@pytest.mark.parametrize("jobs", [0, 2])
def test_linear_algebra_has_one_thread_and_ctrl_c_is_for_the_parent_alone(jobs):
    with threadpool_limits(2):  # whatever the user has set
        found = replicates("where", SETTINGS._replace(jobs=jobs), where,
                           [{"seed": 1}, {"seed": 2}])
    assert found == [{"threads": 1, "deaf": jobs > 0}] * 2


@pytest.mark.parametrize("jobs", [0, 2])
def test_an_error_in_a_replicate_is_shown_and_the_others_are_kept(jobs, figures):
    with pytest.raises(ArithmeticError, match="own error"):
        replicates("fail", SETTINGS._replace(jobs=jobs), fail, [
            {"seed": seed, "cost": 4 - seed} for seed in range(4)])
    assert len(list((figures / "replicates" / "fail").glob("*.json"))) >= 2  # done before seed 3


def fatal(seed, calls):
    """Kill the process in which seed 1 or 2 is computed; leave a file for each call."""
    (Path(calls) / f"{seed}-{os.getpid()}").touch()
    if seed in (1, 2) and len(list(Path(calls).glob(f"{seed}-*"))) < 5:  # it may be tried twice
        os.kill(os.getpid(), signal.SIGKILL)
    return {}


def test_what_kills_its_process_twice_is_named_and_the_others_are_kept(tmp_path, figures, capsys,
                                                                        monkeypatch):
    monkeypatch.setattr(harness, "killed", ["another's"])
    with pytest.raises(harness.Lost) as lost:
        replicates("fatal", SETTINGS._replace(jobs=2), fatal, [
            {"seed": seed, "calls": str(tmp_path)} for seed in range(4)], unit="chains")
    names = [f'fatal({{"seed": {seed}, "calls": "{tmp_path}"}})' for seed in (1, 2)]
    assert sorted(harness.killed) == ["another's", *sorted(2 * names)]
    given_up = str(lost.value).partition("): ")[2].partition(". The other 2 of 4 chains are kept")
    assert sorted(given_up[0].split("; ")) == names and given_up[1]
    assert len(list((figures / "replicates" / "fatal").glob("*.json"))) == 2
    assert len(list(tmp_path.glob("?-*"))) == 6
    said = capsys.readouterr().err
    assert [said.count(f"{name}: its process was killed (SIGKILL)") for name in names] == [2, 2]


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    # in a folder that another run has removed
    path, link = tmp_path / "new" / "file", tmp_path / "new" / "link"
    synced, growing, replace = [], [], os.replace
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    monkeypatch.setattr(os, "replace", lambda *two: growing.append(two[0]) or replace(*two))
    harness.write(path, "older")
    os.link(path, link)
    harness.write(path, "old")
    assert link.read_text() == "older"  # a reader who has the file open keeps it
    assert synced == [5, 3]  # all of it, before it has its name
    assert growing[0] != growing[1]  # two writers share no file
    monkeypatch.setattr(os, "fsync", lambda _: 1 / 0)  # the disk is full, say
    with pytest.raises(ZeroDivisionError):
        harness.write(path, "new")
    assert path.read_text() == "old"
    assert {*path.parent.iterdir()} == {path, link}


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_cannot_be_written_is_named_by_its_own_name(tmp_path, read_only, monkeypatch):
    def unlink(path, missing_ok=False):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    (tmp_path / "taken" / "within").mkdir(parents=True)
    if read_only:  # where Linux does not look first whether there is such a file
        monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(OSError) as caught:
        harness.write(tmp_path / "taken", "new")
    assert str(caught.value).count("taken") == 1 and ".tmp" not in str(caught.value)


def test_what_a_killed_process_left_is_removed_but_not_what_another_is_writing(log, figures):
    replicates("draw", SETTINGS, draw, tasks(log, [1]))
    kept = figures / "replicates"
    files = [place / name for place in (figures, kept, kept / "draw")
             for name in (".old.tmp", ".new.tmp")]
    for file in files:
        file.touch()
    for file, minutes in zip(files, (70, 50) * 3, strict=True):  # a write may take an hour
        os.utime(file, (0, time.time() - 60 * minutes))
    harness.Experiment("draw", SETTINGS)
    assert [file.exists() for file in files] == [False, True] * 3
    # what another run has removed meanwhile is no error
    harness.sweep(SimpleNamespace(glob=lambda pattern: [kept / ".gone.tmp"]))


def experiment(name="x_fig1", **changes):
    return harness.Experiment(name, SETTINGS._replace(budget="paper", **changes))


def pack_of(name):
    return harness.FIGURES / "replicates" / f"{name}.json.gz"


def test_a_pack_holds_what_was_used_and_takes_the_place_of_single_files(log, figures, monkeypatch):
    first = experiment()
    found = first.replicates(draw, tasks(log, [1, 2]))
    experiment().replicates(draw, tasks(log, [3]))  # of another run: stays where it is
    first.pack()
    assert len(list((figures.parent / "replicates" / "x_fig1").iterdir())) == 1
    again = experiment()
    assert repr(again.replicates(draw, tasks(log, [1, 2]))) == repr(found)
    assert calls(log) == [1, 2, 3]
    before = pack_of("x_fig1").read_bytes()
    monkeypatch.setattr(time, "time", lambda: 1e9)
    again.used = dict(reversed(again.used.items()))
    again.pack()
    assert pack_of("x_fig1").read_bytes() == before  # no date, no order of finishing
    assert again.seconds == sum(record["seconds"] for record in first.used.values()) > 0


def test_recall_finds_a_replicate_by_its_task_whatever_its_code_and_computes_none(log, monkeypatch):
    first = experiment()
    found = first.replicates(draw, tasks(log, [1, 2]))
    first.pack()
    experiment(fresh=True).replicates(draw, tasks(log, [1]))  # which ignores the pack
    monkeypatch.setattr(harness, "fingerprint", lambda function: "other code")
    recall = experiment(recall=True)
    assert repr(recall.replicates(draw, tasks(log, [2, 1]))) == repr(found[::-1])
    assert recall.seconds == first.seconds  # a report says so, and on which processors
    with pytest.raises(harness.Missing, match="seed"):
        recall.replicates(draw, tasks(log, [3]))
    with pytest.raises(harness.Missing, match="where"):
        recall.replicates(where, [{"seed": 1}])
    assert calls(log) == [1, 1, 2]


def pressed(seed, log):
    """Stand for a replicate during which somebody presses Ctrl-C, if there is a file `log`."""
    if Path(log).exists():
        raise KeyboardInterrupt
    return {}


def test_what_fresh_has_computed_takes_the_place_of_what_is_packed(log, capsys):
    first = experiment()
    first.replicates(pressed, tasks(log, [1, 2, 3]))
    first.pack()
    experiment(fresh=True).replicates(pressed, tasks(log, [1]))  # and then it is stopped
    again = experiment()
    again.replicates(pressed, tasks(log, [1, 2]))
    assert sorted(record["seconds"] == first.used[key]["seconds"]
                  for key, record in again.used.items()) == [False, True]
    log.touch()
    with pytest.raises(SystemExit):
        experiment().replicates(pressed, tasks(log, [1, 2, 4]))
    assert "2 of 3 replicates are kept" in capsys.readouterr().err


def test_code_that_was_edited_since_its_key_was_computed_stores_nothing(log, tmp_path):
    task = {"seed": 1, "log": str(log)}
    where = harness.address(draw)
    harness.in_worker(*where, harness.fingerprint(draw), task, tmp_path / "right")
    with pytest.raises(harness.cluster.ClusterError, match="The code was edited while this ran"):
        harness.in_worker(*where, "of before", task, tmp_path / "wrong")
    assert [path.name for path in tmp_path.iterdir() if path.name in ("right", "wrong")] == [
        "right"]


def test_a_pack_that_cannot_be_read_is_not_a_damaged_one(tmp_path):
    with pytest.raises(IsADirectoryError):
        harness.unpack(tmp_path)


@pytest.mark.parametrize("damage", [
    lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"x" * 9,
    lambda b: b[:20] + bytes([255]) * 20 + b[40:], lambda b: gzip.compress(b"\xff"),
    lambda b: gzip.compress(b"[1]"), lambda b: gzip.compress(b"[{}]"),
    lambda b: gzip.compress(b"[" * 100_000)])
def test_what_is_in_a_damaged_pack_counts_as_missing(log, capsys, damage):
    first = experiment()
    first.replicates(draw, tasks(log, [1, 2]))
    first.pack()
    pack_of("x_fig1").write_bytes(damage(pack_of("x_fig1").read_bytes()))
    experiment().replicates(draw, tasks(log, [1, 2]))
    assert len(calls(log)) == 4
    assert "is damaged" in capsys.readouterr().err


SLOW = """
def slow(seed):
    note(seed)
    time.sleep(0.3)
    return {"seed": seed, "x": np.random.default_rng(seed).standard_normal(3)}

def run(experiment, cases):
    return experiment.replicates(slow, [{"seed": k} for k in range(20)])
"""


def test_a_script_that_is_stopped_again_and_again_keeps_what_is_finished(tmp_path):
    script, log = str(write_script(tmp_path / "slow_fig1.py", SLOW)), tmp_path / "log"
    store = tmp_path / "figures" / "short" / "replicates" / "slow_fig1"

    def start(jobs):
        return subprocess.Popen([sys.executable, script, "--jobs", jobs], start_new_session=True,
                                env=environment(), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def kept():
        return {path.name for path in store.glob("*.json")}

    before = set()
    for how, jobs in ((signal.SIGKILL, "2"), (signal.SIGINT, "0"), (signal.SIGINT, "2"),
                      (signal.SIGKILL, "0")):
        begun_before = len(begun(log))
        with start(jobs) as process:
            wait_until(lambda old=before: len(kept()) >= len(old) + 2, process=process)
            os.killpg(process.pid, how)  # as a terminal does on Ctrl-C
            _, errors = process.communicate(timeout=60)
        after = kept()
        if how == signal.SIGINT:
            assert process.returncode == 130
            assert f"{len(after)} of 20 replicates are kept; run the same command" in errors
            assert "Traceback" not in errors
        assert before < after and len(after) < 20
        # at most one is lost in each process, and none that was finished is computed again
        lost = len(begun(log)) - begun_before - len(after - before)
        assert 0 <= lost <= max(int(jobs), 1)
        before = after
    begun_before = len(begun(log))
    with start("2") as process:
        out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert [each["seed"] for each in ast.literal_eval(out.splitlines()[2])] == [*range(20)]
    assert len(begun(log)) - begun_before == 20 - len(before) and before < kept()
