"""reproduce/harness/workers.py: processes that end with their parent, and may be killed."""

import ctypes
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from reproduce.harness import workers
from reproduce.harness.fingerprint import ROOT
from reproduce.harness.workers import Killed, run_tasks
from studies import environment, wait_until

LINUX = pytest.mark.skipif(sys.platform != "linux",
                           reason="needs Linux: elsewhere a worker finishes its task")


@pytest.fixture(autouse=True)
def own_processes():
    """Let a test have processes that no other has started."""
    workers.kill_all()
    yield
    workers.kill_all()


def who(k):
    return os.getpid(), k


def one_of(k, folder):
    """Kill the process the first time that `k` is 1; else say which process this is."""
    if k != 1:
        return who(k)
    if not any(folder.iterdir()):
        (folder / "called").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return k


def hold(file):
    """Write down which process this is, and keep the interpreter's lock as compiled code does."""
    Path(f"{file}.new").write_text(str(os.getpid()))
    os.replace(f"{file}.new", file)
    ctypes.PyDLL(None).sleep(100)  # longer than a test waits


def running(process):
    """Tell whether a process, given by its number, computes; Z is one that is over."""
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def number_in(file):
    wait_until(file.exists)
    return int(file.read_text())


def test_every_task_is_computed_once_and_the_processes_are_used_again():
    first = dict(run_tasks(who, {k: (k,) for k in range(5)}, 2))
    assert {key: k for key, (_, k) in first.items()} == {k: k for k in range(5)}
    again = dict(run_tasks(who, {"x": (7,)}, 2))
    assert {process for process, _ in again.values()} <= {process for process, _ in first.values()}
    assert len(workers.pools) == 2
    assert os.getpid() not in {process for process, _ in first.values()}


def test_a_process_begins_with_one_thread_of_each_library():
    names = [f"{library}_NUM_THREADS" for library in ("MKL", "OMP", "OPENBLAS")]
    assert dict(run_tasks(os.getenv, {name: (name,) for name in names}, 1)) == dict.fromkeys(
        names, "1")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_process_costs_its_task_alone_which_is_tried_again_last(tmp_path, jobs):
    found = list(run_tasks(one_of, {k: (k, tmp_path) for k in range(6)}, jobs))
    assert [(k, x) for k, x in found if isinstance(x, Killed)] == [(1, Killed("SIGKILL", 1))]
    keys = [k for k, _ in found]
    assert keys == [*range(6), 1] if jobs == 1 else Counter(keys) == Counter([*range(6), 1])
    assert dict(found)[1] == 1
    # the process of the other five was not ended with it: two, if the new one took some of them
    assert len({x[0] for k, x in found if k != 1}) <= 2


def test_a_process_that_is_killed_while_it_has_nothing_to_do_is_replaced():
    ((_, (process, _)),) = run_tasks(who, {0: (0,)}, 1)
    os.kill(process, signal.SIGKILL)
    # whether the death is noticed before the next task or after it
    found = [x for _, x in run_tasks(who, {0: (0,)}, 1) if not isinstance(x, Killed)]
    assert len(found) == 1 and found[0][0] != process


def test_an_exception_and_a_reader_that_stops_end_all_processes(tmp_path):
    file = tmp_path / "process"
    for text in ("no number", "5"):
        reader = run_tasks(call_after, {"slow": (hold, file, file), "quick": (int, text, file)}, 2)
        if text == "5":
            assert next(reader) == ("quick", 5)
            reader.close()
        else:
            with pytest.raises(ValueError, match="no number"):
                next(reader)
        assert workers.pools == [] and not running(number_in(file))
        file.unlink()


def call_after(function, argument, file):
    """Call hold at once, and another function when that has begun."""
    if function is not hold:
        wait_until(file.exists)
    return function(argument)


PARENT = """
import sys
from pathlib import Path
import test_workers
if __name__ == "__main__":
    list(test_workers.run_tasks(test_workers.hold, {0: (sys.argv[1],), 1: (sys.argv[2],)}, 2))
"""


@LINUX
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_process_goes_on_when_its_parent_ends(tmp_path, how):
    files = [tmp_path / "0", tmp_path / "1"]
    with subprocess.Popen([sys.executable, "-c", PARENT, *map(str, files)],
                          stderr=subprocess.DEVNULL,
                          env=environment(ROOT / "tests")) as parent:
        processes = [number_in(file) for file in files]
        assert all(map(running, processes))
        parent.send_signal(how)
        parent.wait(60)
    wait_until(lambda: not any(map(running, processes)), 60)


@LINUX
def test_a_process_whose_parent_has_ended_before_it_began_ends():
    code = ("import os; from reproduce.harness.workers import die_with_parent as belong;"
            "belong(os.getppid()); print('lives', flush=True); belong(os.getppid() + 1)")
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True)
    assert (done.returncode, done.stdout) == (1, b"lives\n")


@pytest.mark.parametrize("said", ["", "error::FutureWarning"])
def test_the_tracker_of_locks_says_nothing_and_other_warnings_are_as_before(said, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", said)
    for _ in range(2):  # what is there is not added again
        workers.start_process()
        assert os.environ["PYTHONWARNINGS"] == f"{said},{workers.QUIET}".strip(",")
    done = subprocess.run([sys.executable, "-c", "import warnings;"
                           "warnings.warn('resource_tracker: gone'); warnings.warn('another')"],
                          capture_output=True, text=True, check=True)
    assert "gone" not in done.stderr and "another" in done.stderr
