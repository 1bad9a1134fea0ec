"""Replicates on the workers of a Dask cluster, for `--dask ADDRESS`.

Dask sends each to a worker, and to another one if that is killed.  The records come back to the
client, which writes the files, so that no folder has to be shared.  What a worker needs is the
project: the scripts' folder and the one above it among the places of its imports.

A worker computes in a process beside its own (harness/workers.py).  Compiled code holds the
interpreter's lock for minutes: in its own process a worker could neither hand over what it has
finished nor tell the scheduler that it is alive, which gives it up after five minutes.
"""

import logging
import multiprocessing
import time
from collections import Counter, deque
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread

from reproduce.harness import fingerprint, workers
from reproduce.harness.shards import after_the_first
from reproduce.harness.workers import Killed

RETRIES = 2  # of a replicate that raises an exception
PATIENCE = 60.0  # s until a cluster without workers counts as one that has none
GONE = 10.0  # s until a scheduler that does not answer counts as one that is not there
FAREWELL = 2.0  # s in which a client that ends may tell the scheduler
GLANCE = 0.5  # s between two looks at whether a replicate is still wanted
BORN = time.time()  # of this process, as far as it matters: no script has been imported before


class ClusterError(Exception):
    """A cluster that cannot be reached, or a worker that is refused."""


# The client


def run_tasks(tasks, scheduler, home, code):
    """Call function(*arguments) on a cluster's workers for each {key: (function, *arguments)}.

    function  : tuple  its module and its name
    scheduler : str    its address
    home      : tuple  module and name of what a replicate is computed with
    code      : str    the fingerprint of that; a worker that has another one is refused

    Yields (key, what it returned) as they finish, and (key, Killed) when it is killed, or when
    that has happened to several workers that had it (four: distributed.scheduler.allowed-failures,
    and one).  Both are tried once more; what was killed with workers, when nothing else is left and
    by itself, since it may have been the neighbour of what killed them.
    """
    from distributed import as_completed

    with connect(scheduler) as client:
        refuse(client, home, code)
        running, suspects, deaths = {}, deque(), Counter()
        waiting = as_completed(loop=client.loop)

        def begin(keys):
            futures = client.map(by_name(call_in_process.__name__),
                                 *zip(*map(tasks.get, keys), strict=True),
                                 pure=False, retries=RETRIES)
            running.update(zip(futures, keys, strict=True))
            waiting.update(futures)

        begin(list(tasks))
        for future in waiting:
            key = running.pop(future)
            results = outcome(future, scheduler)
            del future  # what is finished shall not stay on the cluster
            if results is None:
                deaths[key] += 1
                suspects.extend([key] * (deaths[key] == 1))
                results = [Killed("unknown", deaths[key])]
            for result in results:
                yield key, result
            if suspects and not running:
                begin([suspects.popleft()])


@contextmanager
def connect(scheduler):
    """Give a client of the scheduler at this address, which has a worker.

    When it is closed, the scheduler drops what it had asked for.
    """
    from distributed import Client
    from distributed.comm import resolve_address

    for name in ("distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what they say is said in a sentence
    client = None
    try:
        resolve_address(scheduler)  # a Client that was never one complains when it is deleted
        client = Client.__new__(Client)
        client.__init__(scheduler, timeout=GONE, set_as_default=False)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        # here: left to the garbage collector, it may be closed by the thread of another client,
        # which waits for it with the lock that closing takes
        with suppress(Exception):
            client.close(timeout=FAREWELL)
        raise ClusterError(f"--dask {scheduler}: {error}; expected the address of a Dask scheduler"
                           " that runs, such as tcp://10.0.0.1:8786") from None
    try:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ClusterError(f"The scheduler at {scheduler} has no workers: start some, with"
                               f" `dask worker {scheduler} --nthreads 1`.") from None
        yield client
    finally:
        with workers.ignore_interrupt(), suppress(Exception):  # the scheduler may be what has gone
            client.close(timeout=FAREWELL)


def outcome(future, scheduler):
    """Return what a finished future has, or None if the workers that had it were killed."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker:
        return None
    except (CancelledError, OSError):
        if future.status == "error":  # of the replicate itself
            raise
        raise ClusterError(f"The scheduler at {scheduler} has gone. What is finished is kept: start"
                           " it again, with workers, and run the same command.") from None


def refuse(client, home, code):
    """Raise ClusterError, with the names, if workers have other code or several threads."""
    faults = {}
    for worker, found in client.run(by_name(code_of.__name__), *home, on_error="return").items():
        if isinstance(found, Exception):
            faults[worker] = f"cannot import it ({found})"
        elif found != code:
            faults[worker] = "has other code than this checkout"
    faults |= {worker: f"has {threads} threads, but one process that computes"
               for worker, threads in client.nthreads().items() if threads > 1}
    if faults:
        known = client.scheduler_info(n_workers=-1)["workers"]
        raise ClusterError(f"Refused, for {'.'.join(home)}: " + "; ".join(
            f"worker {known.get(worker, {}).get('name')} at {worker} {fault}"
            for worker, fault in sorted(faults.items())) + ". Give each the same checkout and"
            " --nthreads 1, start it again, and run the same command.")


def by_name(name, module=__name__):
    """Return a function that finds the one of this name where it is called.

    It is sent whole, since it has no name itself: the scheduler, which looks at what is sent, need
    not have the project, and a worker that has it not says so in an exception.
    """
    return lambda *arguments: getattr(import_module(module), name)(*arguments)


# A worker


def code_of(module, name):
    """Return the fingerprint of a function, as its files are now."""
    invalidate_caches()
    fingerprint.read.cache_clear()
    fingerprint.source.cache_clear()
    return fingerprint.fingerprint_at(file_of(module), name)


def file_of(module):
    """Return the file of a module that is not imported for that."""
    spec = find_spec(module)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {module!r}")
    return Path(spec.origin).resolve()


def call_in_process(function, *arguments):
    """Call a function in this worker's process for computing, unless that is given up meanwhile.

    Returns a list: what it returned, or Killed, twice or before what it returned the second time.
    """
    from distributed import get_worker

    worker = get_worker()
    multiprocessing.current_process().daemon = False  # as which it could not have a process
    with watch_client(worker.state.tasks, worker.get_current_task()):
        try:
            return [found for _, found
                    in workers.run_tasks(workers.call, {None: (function, *arguments)}, 1)]
        except ClusterError as error:
            raise ClusterError(
                f"Refused: worker {worker.name} at {worker.address} {error}. What is finished is"
                " kept: give it the same checkout, start it again, and run the same command."
            ) from None


@contextmanager
def watch_client(tasks, key):
    """Kill the process that computes when no client wants a task of this worker any more."""
    done = Event()

    def look():
        while not done.wait(GLANCE):
            if key not in tasks or tasks[key].state == "cancelled":
                workers.kill_all()

    watcher = Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


# The process beside it


@cache
def agree(home, code):
    """Raise ClusterError if this process has other code than the client, `home` being imported.

    That is the code of the files, unless one was changed after it was imported.
    """
    if code_of(*home) != code:
        raise ClusterError(f"has other code for {'.'.join(home)} than the client")
    changed = sorted({str(file) for file, _
                      in fingerprint.used_definitions((file_of(home[0]), home[1]))
                      if file.stat().st_ctime > BORN})
    if changed:  # after this exception another process takes the place of this one
        raise ClusterError(f"has an older {', '.join(changed)} in memory")


@cache
def compile_once(warm):
    """Let one process of a machine compile, and the others find what it made."""
    with after_the_first():
        workers.call(warm)
