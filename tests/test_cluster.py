"""reproduce/harness/cluster.py: --dask, with workers that are killed, late, wrong or not there.

Most with `-m cluster` only, and with the extra `cluster`.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest

from reproduce.harness import cluster
from reproduce.harness.cluster import ClusterError
from reproduce.harness.fingerprint import fingerprint
from reproduce.harness.workers import Killed
from studies import NOTHING, begun, environment, wait_until, write_script
from test_workers import running

NEEDS = "needs the extra `cluster`: pip install -e '.[cluster]'"
NEEDED = pytest.mark.skipif(not find_spec("distributed"), reason=NEEDS)


def on_a_cluster(test):
    """Mark a test that starts a Dask cluster."""
    return NEEDED(pytest.mark.cluster(test))


WORK = '''
OFFSET = 0
compiled = []

def warm():
    compiled.append(True)

def nap(seed, length, log):
    note(seed, log, len(compiled))
    if seed == 97:
        raise ArithmeticError("its own error")
    if seed == 98:
        os.kill(os.getpid(), 9)
    if seed == 99 and "spawn_main" in Path(f"/proc/{os.getppid()}/cmdline").read_text():
        os.kill(os.getppid(), 9)
    ctypes.PyDLL(None).usleep(int(1e6 * length))  # keeps the interpreter, as compiled code does
    return {"x": OFFSET + np.random.default_rng(seed).standard_normal(3)}

def thought(seed, x, log):
    note(100 + seed, log)
    return {"x": x * np.random.default_rng(seed).standard_normal(3)}

def run(experiment, cases):
    log = os.environ["NAPS_LOG"]
    naps = [{"seed": k, "length": length, "log": log} for k, length in eval(os.environ["NAPS"])]
    found = experiment.replicates(nap, naps, "naps", warm=warm)
    return experiment.replicates(thought, [
        {"seed": each["seed"], "x": one["x"][0], "log": log}
        for each, one in zip(naps, found)], "thoughts")
'''
OTHER_WORK = WORK.replace("OFFSET = 0", "OFFSET = 1")

def script_in(folder, work=WORK):
    """Write the script into a folder, and return that: a place of imports with it."""
    return write_script(folder / "naps_fig1.py", work).parent


def ended(process):
    out, errors = process.communicate(timeout=500)
    return process.returncode, out, errors


class Client:
    """The script, in a folder that no worker sees."""

    def __init__(self, folder):
        self.folder, self.log = script_in(folder), folder.with_suffix(".log")

    def start(self, *options, naps):
        """Start it in a group of processes of its own; `naps`: pairs of a seed and seconds."""
        return subprocess.Popen(
            [sys.executable, str(self.folder / "naps_fig1.py"), "--budget", "smoke", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=environment(self.folder, NAPS=str(naps), NAPS_LOG=str(self.log)))

    def begun(self):
        """Return (replicate, process that computed, its worker) of all that were begun."""
        return begun(self.log)

    def stored(self):
        """Return {replicate: result}; of a thought: 100 more."""
        folder = self.folder / "figures" / "smoke" / "replicates" / "naps_fig1"
        records = [json.loads(path.read_text()) for path in folder.glob("*.json")]
        return {record["task"]["seed"] + 100 * (record["function"] == "thought"):
                record["result"] for record in records}


@pytest.fixture
def client(tmp_path):
    return Client(tmp_path / "client")


@contextmanager
def starting(folder):
    """Give a function that starts `dask scheduler` or `dask worker`, and waits for it."""
    from distributed import Client as Connection

    file, started, processes = folder / "scheduler.json", [], []

    def start(kind, *options, number=1, places=(), **changes):
        options += (f"--scheduler-file={file}", *(
            ["--host=127.0.0.1", "--dashboard-address=:0", "--port=0"] if kind == "scheduler" else
            [f"--nworkers={number}", "--nanny" if number > 1 else "--no-nanny"]))
        processes.append(subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options], cwd=folder,
            stderr=subprocess.DEVNULL, env=environment(*places, **changes)))
        wait_until(file.exists)
        if kind == "worker":
            started.extend([kind] * number)
            with Connection(scheduler_file=str(file), set_as_default=False) as there:
                there.wait_for_workers(len(started))
        return processes[-1], json.loads(file.read_text())["address"]

    yield start
    for process in reversed(processes):
        process.kill()
        process.wait()


@pytest.fixture
def dask(tmp_path):
    with starting(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Return the address of a cluster of two workers, which are there again when killed."""
    folder = tmp_path_factory.mktemp("local")
    with starting(folder) as start:
        start("scheduler")
        yield start("worker", "--nthreads=1", number=2, places=[script_in(folder / "workers")])[1]


# Without a cluster


@pytest.mark.parametrize("home", [
    ("reproduce.paquet_fig2", "one_run"), ("reproduce.zhang.cox", "run_scan")])
def test_a_fingerprint_is_the_same_without_an_import(home):
    assert cluster.code_of(*home) == fingerprint(getattr(import_module(home[0]), home[1]))


@pytest.fixture
def naps(tmp_path, monkeypatch):
    """Return the file of the script, which this process can import."""
    monkeypatch.syspath_prepend(script_in(tmp_path / "naps"))
    yield tmp_path / "naps" / "naps_fig1.py"
    sys.modules.pop("naps_fig1", None)
    cluster.agree.cache_clear()


HOME = "naps_fig1", "nap"


def test_a_worker_sees_code_that_has_changed_since_it_looked(naps):
    before = cluster.code_of(*HOME)
    write_script(naps, OTHER_WORK)
    assert cluster.code_of(*HOME) != before
    write_script(naps, WORK)
    assert cluster.code_of(*HOME) == before


def test_a_process_computes_with_code_that_is_the_clients_and_that_of_its_files(naps, monkeypatch):
    code = cluster.code_of(*HOME)
    with pytest.raises(ClusterError, match=r"has other code for naps_fig1\.nap than the client"):
        cluster.agree(HOME, "another")
    # what was changed after the process began may have been imported before
    monkeypatch.setattr(cluster, "BORN", naps.stat().st_ctime - 1)
    with pytest.raises(ClusterError, match=f"has an older {naps} in memory"):
        cluster.agree(HOME, code)
    monkeypatch.setattr(cluster, "BORN", naps.stat().st_ctime + 1)
    cluster.agree(HOME, code)


# The client, with a cluster that is made up


class Made:
    """In place of a client: an outcome of each call; `busy`: what had not ended when it came."""

    loop = None

    def __init__(self, **outcomes):
        self.outcomes, self.futures, self.asked, self.busy = outcomes, [], [], []

    def map(self, function, *columns, pure, retries):
        self.asked.append([key for (key,) in zip(*columns, strict=True)])
        self.busy.append(sum(not future.told for future in self.futures))
        new = [MadeFuture(self.outcomes[key].pop(0)) for key in self.asked[-1]]
        self.futures += new
        return new


class MadeFuture:
    status = "finished"

    def __init__(self, found):
        self.found, self.told = found, False

    def result(self):
        self.told = True
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class InTurn(list):
    """In place of as_completed: what has been asked for is finished in turn."""

    def __init__(self, loop):
        super().__init__()

    update = list.extend


def test_what_was_killed_with_its_workers_is_tried_once_more_by_itself(monkeypatch):
    distributed = pytest.importorskip("distributed", reason=NEEDS)
    lost = distributed.KilledWorker("b", None, 3)
    client = Made(a=[lost, [1]], b=[lost, lost], c=[[Killed("SIGKILL", 1), 3]])
    monkeypatch.setattr(distributed, "as_completed", InTurn)
    monkeypatch.setattr(cluster, "connect", lambda scheduler: nullcontext(client))
    monkeypatch.setattr(cluster, "refuse", lambda *_: None)
    assert list(cluster.run_tasks({key: (key,) for key in "abc"}, "tcp://0", HOME, "code")) == [
        ("a", Killed("unknown", 1)), ("b", Killed("unknown", 1)), ("c", Killed("SIGKILL", 1)),
        ("c", 3), ("a", 1), ("b", Killed("unknown", 2))]
    assert client.asked == [["a", "b", "c"], ["a"], ["b"]]
    assert client.busy == [0, 0, 0]  # nothing else was running when one was tried again


def test_an_error_of_a_replicate_is_not_taken_for_a_scheduler_that_has_gone():
    pytest.importorskip("distributed", reason=NEEDS)
    future = MadeFuture(OSError("its own"))
    future.status = "error"
    with pytest.raises(OSError, match="its own"):
        cluster.outcome(future, "tcp://0")


@pytest.mark.parametrize(("tasks", "given_up"), [
    ({"k": SimpleNamespace(state="executing")}, False), ({}, True),
    ({"k": SimpleNamespace(state="cancelled")}, True)])
def test_a_worker_gives_up_what_nobody_wants_any_more(monkeypatch, tasks, given_up):
    ended = Event()
    monkeypatch.setattr(cluster, "GLANCE", 0.01)
    monkeypatch.setattr(cluster.workers, "kill_all", ended.set)
    with cluster.watch_client(tasks, "k"):
        assert ended.wait(60 if given_up else 0.2) == given_up


# What cannot be done is said in a sentence


def third(seed):
    return {"x": seed / 3}


STUDY = NOTHING._replace(table=str, run=lambda experiment, _: experiment.replicates(
    third, [{"seed": k} for k in range(2)]))


@on_a_cluster
@pytest.mark.parametrize("address", [
    "tcp://127.0.0.1:1", "nonsense://x", "tcp://", "nowhere", "tcp://127.0.0.1:port",
    "tcp://nowhere.invalid:8786", "tls://127.0.0.1:1"])
def test_a_scheduler_that_is_not_there_is_a_sentence(address, ends, monkeypatch):
    from distributed import Client

    monkeypatch.setattr(cluster, "GONE", 2.0)
    found, close = [], Client.close
    monkeypatch.setattr(Client, "close", lambda client, *given, **named: (
        found.append(client.status), close(client, *given, **named)))
    status, _, errors = ends(STUDY, "--dask", address)
    found.clear()
    gc.collect()
    assert set(found) <= {"closed"}  # what closes here may wait for a lock of another client
    assert status == 2 and "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert last.startswith(f"--dask {address}: ") and "expected the address of" in last


@on_a_cluster
def test_a_scheduler_without_workers_is_a_sentence(dask, ends, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    _, address = dask("scheduler")
    status, _, errors = ends(STUDY, "--dask", address)
    assert status == 2 and "Traceback" not in errors
    assert errors.splitlines()[-1].startswith(f"The scheduler at {address} has no workers: start")


@on_a_cluster
def test_what_is_stored_asks_no_cluster(ends):
    _, wanted, _ = ends(STUDY, "--jobs", "0")
    status, found, _ = ends(STUDY, "--dask", "tcp://127.0.0.1:1")
    assert status == 0 and found.splitlines()[1:] == wanted.splitlines()[1:]


@on_a_cluster
def test_wrong_workers_are_refused_by_name(dask, client, tmp_path):
    _, address = dask("scheduler")
    dask("worker", "--name=changed", "--nthreads=1",
         places=[script_in(tmp_path / "changed", OTHER_WORK)])
    dask("worker", "--name=without", "--nthreads=1", places=[])
    dask("worker", "--name=several", "--nthreads=2", places=[client.folder])
    dask("worker", "--name=right", "--nthreads=1", places=[client.folder])
    status, _, errors = ended(client.start("--dask", address, naps=[(1, 0)]))
    assert status == 2 and "Traceback" not in errors
    (said,) = [line for line in errors.splitlines() if line.startswith("Refused")]
    assert said.startswith("Refused, for naps_fig1.nap: worker ")
    for name, fault in (("changed", "has other code than this checkout"),
                        ("without", "cannot import it (No module named 'naps_fig1')"),
                        ("several", "has 2 threads")):
        assert f"worker {name} at tcp://" in said and fault in said
    assert "right" not in said and client.begun() == []


@on_a_cluster
def test_a_wrong_worker_that_comes_late_is_refused_by_name(dask, client, tmp_path):
    _, address = dask("scheduler")
    early, _ = dask("worker", "--name=early", "--nthreads=1", places=[client.folder])
    process = client.start("--dask", address, naps=[(k, 0.3) for k in range(200)])
    wait_until(client.begun, process=process)
    dask("worker", "--name=late", "--nthreads=1",
         places=[script_in(tmp_path / "late", OTHER_WORK)])
    early.kill()
    status, _, errors = ended(process)
    assert status == 2 and "Traceback" not in errors
    (said,) = [line for line in errors.splitlines() if line.startswith("Refused")]
    assert said.startswith("Refused: worker late at tcp://")
    assert "has other code for naps_fig1.nap than the client" in said
    assert all(found == {"x": np.random.default_rng(k).standard_normal(3).tolist()}
               for k, found in client.stored().items())


@on_a_cluster
def test_a_scheduler_that_goes_away_is_a_sentence_and_what_is_finished_is_kept(dask, client):
    scheduler, address = dask("scheduler")
    dask("worker", "--nthreads=1", places=[client.folder])
    process = client.start("--dask", address, naps=[(k, 0.5) for k in range(50)])
    wait_until(lambda: len(client.stored()) >= 2, process=process)
    scheduler.kill()
    status, _, errors = ended(process)
    assert status == 2 and "Traceback" not in errors
    assert errors.splitlines()[-1].startswith(f"The scheduler at {address} has gone. What is")
    kept = client.stored().keys()
    before = len(client.begun())
    status, _, _ = ended(client.start("--jobs", "0", naps=[(k, 0.5) for k in [*kept, 60]]))
    assert status == 0
    # one more nap, and the thoughts: of those that were finished none is computed again
    assert [k for k, *_ in client.begun()[before:] if k < 100] == [60]


# On a cluster of two processes


@on_a_cluster
def test_workers_that_are_killed_eight_times_cost_no_replicate_and_no_bit(local, client, tmp_path):
    naps = [(k, 0.3) for k in range(60)]
    process = client.start("--dask", local, naps=naps)
    killed = []

    def at_work():
        return [worker for _, _, worker in client.begun() if worker not in killed]

    for _ in range(8):
        wait_until(at_work, process=process)
        killed.append(at_work()[-1])
        os.kill(killed[-1], signal.SIGKILL)
    status, out, errors = ended(process)
    assert status == 0, errors
    assert len({*killed}) == 8
    assert all(line.split()[-1] == "1" for line in client.log.read_text().splitlines()
               if int(line.split()[0]) < 100)  # warm() came first, once in each process
    count = Counter(replicate for replicate, *_ in client.begun())
    assert count.keys() == {*range(60), *range(100, 160)}
    # what a killed worker had: what it was at, and what it had finished and not handed over
    assert count.total() - 120 <= 8 * 3

    alone = Client(tmp_path / "alone")
    status, wanted, _ = ended(alone.start("--jobs", "1", naps=[(k, 0) for k in range(60)]))
    assert status == 0
    assert client.stored() == alone.stored() and len(alone.stored()) == 120  # every bit
    assert out.splitlines()[2] == wanted.splitlines()[2] and "'x': [" in wanted.splitlines()[2]

    before = len(client.begun())
    status, again, _ = ended(client.start("--dask", local, naps=[*naps, (60, 0)]))
    assert status == 0 and out.splitlines()[2][:-1] in again
    assert {k for k, *_ in client.begun()[before:]} == {60, 160}  # all else was stored


@on_a_cluster
def test_what_kills_every_worker_is_named_and_the_others_are_kept(local, client):
    naps = [(1, 0), (98, 0), (2, 0), (99, 0), (3, 0), (4, 0)]
    status, _, errors = ended(client.start("--dask", local, naps=naps))
    assert status == 1 and "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert 'nap({"seed": 98, ' in last and 'nap({"seed": 99, ' in last and last.count("nap({") == 2
    assert "The other 4 of 6 naps are kept" in last
    assert client.stored().keys() == {1, 2, 3, 4}
    count = Counter(replicate for replicate, *_ in client.begun())
    assert count[98] == 2 and count[99] == 8  # in two processes, and on twice four workers


@on_a_cluster
def test_an_exception_is_shown_as_it_is_on_one_machine(local, client):
    status, _, errors = ended(client.start("--dask", local, naps=[(97, 0)]))
    assert status == 1 and errors.splitlines()[-1] == "ArithmeticError: its own error"
    assert [replicate for replicate, *_ in client.begun()] == [97] * 3  # two retries


@on_a_cluster
def test_ctrl_c_ends_at_once_and_leaves_nothing_behind(local, client):
    from distributed import Client as Connection

    process = client.start("--dask", local, naps=[(k, 300 * (k > 3)) for k in range(12)])
    wait_until(lambda: len(client.stored()) == 4 and len(client.begun()) == 6,
               process=process)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    status, _, errors = ended(process)
    # three seconds on a machine that has nothing else to do; the tests' may have
    assert time.monotonic() - start < 10
    assert status == 130 and "Traceback" not in errors
    assert errors.splitlines()[-1].startswith("Interrupted: 4 of 12 naps are kept; run the same")
    with pytest.raises(ProcessLookupError):  # no process of its group
        os.killpg(process.pid, 0)
    assert not list(client.folder.rglob("*.tmp"))
    with Connection(local, set_as_default=False) as there:
        wait_until(lambda: there.run_on_scheduler(
            lambda dask_scheduler: len(dask_scheduler.tasks)) == 0, 10)
    # no worker goes on with a nap of five minutes, or begins another one
    for _, process, _ in client.begun()[4:]:
        wait_until(lambda process=process: not running(process), 30)
    assert len(client.begun()) == 6
    status, _, _ = ended(client.start("--dask", local, naps=[(k, 0) for k in range(3)]))
    assert status == 0


@on_a_cluster
def test_a_worker_lives_and_hands_over_while_compiled_code_runs(dask, client):
    _, address = dask("scheduler", DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="8s")
    dask("worker", "--nthreads=1", places=[client.folder])
    process = client.start("--dask", address, naps=[(1, 0), (2, 30)])
    wait_until(lambda: len(client.begun()) == 2, process=process)
    wait_until(lambda: 1 in client.stored(), 20)  # well before the second one is finished
    assert ended(process)[0] == 0
    assert [replicate for replicate, *_ in client.begun()] == [1, 2, 101, 102]
