"""Processes that compute: none outlives its parent, and one that is killed costs its task alone.

Each is a pool of one process (of loky, which comes with joblib), because a pool of several ends
them all when one is killed, and does not tell which task it was.  They are kept for the next list
of tasks, since starting one takes seconds.
"""

import ctypes
import os
import re
import signal
import sys
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from threading import current_thread, main_thread
from typing import NamedTuple

ONE_THREAD = dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
IDLE = 300.0  # s after which a process that has nothing to do ends
PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
# once in some runs loky's tracker warns, when all is over, of a lock that is gone already
QUIET = "ignore:resource_tracker:UserWarning"
PARENT = "MIRRORMC_PARENT"  # in the environment: the number of a parent that a script belongs to

pools = []  # those of this process


class Killed(NamedTuple):
    """Stands for the result of a task whose process was killed, or crashed."""

    signal: str  # its name, such as SIGKILL, as far as it is known
    times: int  # 1: it is tried again; 2: it is given up


def run_tasks(function, tasks, jobs):
    """Call function(*arguments) for each {key: arguments} of `tasks` in `jobs` processes.

    Yields (key, what it returned) as they finish, and (key, Killed) when a process dies of one;
    then it is tried once more, after the others.  An exception ends all processes, and so does
    closing the generator.
    """
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    waiting, running, found, deaths = deque(tasks), {}, deque(), Counter()
    idle = pools[:jobs]
    try:
        while waiting or running or found:
            while waiting and len(running) < jobs:
                pool, key = idle.pop() if idle else start_process(), waiting.popleft()
                try:
                    with block_interrupt():
                        running[pool.submit(function, *tasks[key])] = pool, key
                except TerminatedWorkerError:  # killed while it was idle
                    pools.remove(pool)
                    waiting.appendleft(key)
            if found:  # of which the processes have their next task by now
                yield found.popleft()
                continue
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, key = running.pop(future)
                error = future.exception()
                if isinstance(error, TerminatedWorkerError):
                    pools.remove(pool)
                    deaths[key] += 1
                    waiting.extend([key] * (deaths[key] == 1))
                    name = re.search(r"SIG[A-Z]+", str(error))
                    found.append((key, Killed(name[0] if name else "unknown", deaths[key])))
                else:
                    idle.append(pool)
                    found.append((key, future.result()))
    except BaseException:  # Ctrl-C above all: the processes would go on
        kill_all()
        raise


def call(function, *arguments):
    """Call a function that this process may not have imported, given by its module and name."""
    module, name = function
    return getattr(import_module(module), name)(*arguments)


def start_process():
    """Start a process, or rather let it start when it gets something to do."""
    from joblib.externals.loky import ProcessPoolExecutor

    said = os.environ.get("PYTHONWARNINGS", "")
    if QUIET not in said:  # of the tracker, which the first pool starts
        os.environ["PYTHONWARNINGS"] = f"{said},{QUIET}".strip(",")
    pools.append(ProcessPoolExecutor(1, timeout=IDLE, env=ONE_THREAD, initializer=begin,
                                     initargs=(os.getpid(),)))
    return pools[-1]


def begin(parent):
    """Let this process leave Ctrl-C to `parent`, and belong to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)


def die_with_parent(parent):
    """Let this process end when `parent` does, however that happens.

    Linux kills it, at once: a thread that watches the parent would not do, because compiled code
    holds the interpreter's lock.  Elsewhere it finishes its task and ends after IDLE.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # that has ended before
        os._exit(1)


@contextmanager
def block_interrupt():
    """Let Ctrl-C wait for a moment; a process that is started here never hears of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # the first start of a process would unblock it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def ignore_interrupt():
    """Ignore Ctrl-C for a moment: who presses it again gets no other answer."""
    if current_thread() is not main_thread():  # which alone hears of it
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def kill_all():
    """Kill all processes, whatever they are computing."""
    if pools:
        with ignore_interrupt(), ThreadPoolExecutor(len(pools)) as threads:
            list(threads.map(lambda pool: pool.shutdown(kill_workers=True), pools))
        pools.clear()
