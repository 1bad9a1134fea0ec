"""Ctrl-C while compiled code runs: KeyboardInterrupt at once, and the process goes on.

One process, this file as a script, runs every sampler, with the same bits after a signal as before.
"""

import os
import queue
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from algorithms import ep_fast
from algorithms.ais import RMHMC
from algorithms.ep import ep
from algorithms.fixed_flow_hmc import fixed_flow_hmc
from algorithms.hmc import Chain, Counts
from algorithms.random_walk import random_walk
from algorithms.shahbaba_split_hmc import normal_approximation
from conftest import FOLDERS, python
from models.covariance import squared_exponential
from models.jit import check_interrupt, njit
from normal import INSTEAD
from test_bad_input import CALLS, FIT, LOGISTIC, NORMAL, SMALL, call, flat, numbers, rng

FEW, MANY = 3, 5_000_000  # transitions; what many of them are to be written into is never touched


def of_size(function):
    """Return what calls EP with few cases, or with so many that it takes long."""
    n = {FEW: 5, MANY: 1500}
    return lambda k: function(squared_exponential(*[np.arange(n[k])[:, None] / 9] * 2, 0.0, 0.0)
                              + np.eye(n[k]), np.where(np.arange(n[k]) % 3, 1.0, -1.0), 1e-300)


COUNTED = "n", "t_max", "runs"  # what test_bad_input.py calls the number of transitions


def counted(name):
    """Return what calls a sampler of test_bad_input.py for n transitions."""
    (count,) = {*COUNTED} & {*CALLS[name][1]}
    return lambda n: call(name, **INSTEAD.get(name, {}) | {count: n})


RUNS = {name: counted(name) for name, (_, arguments) in CALLS.items() if {*COUNTED} & {*arguments}
        and " of " not in name and name not in ("soft_abs", "mixture_draw", "from_size")}
RUNS |= {
    "hmc, one trajectory": lambda n: call("hmc", L=100 * n, n=1),
    "nuts, warm-up": lambda n: call("nuts", n=1, warm_up=n),
    "map_estimate": lambda n: tuple(call("map_estimate") for _ in range(n)),
    "fixed_flow_hmc": lambda n: fixed_flow_hmc(
        numbers(3), LOGISTIC, normal_approximation(FIT), SMALL, 2, n, rng(), 0.2, 0.9),
    "generalised_leapfrog": lambda n: call("generalised_leapfrog", t_max=n, f_max=100),
    "a leapfrog": lambda n: call("a leapfrog", l_max=n, f_max=100),
    "ais by RMHMC": lambda n: call("ais", kernel=RMHMC(SMALL, 2, 2), runs=n),
    "ep": of_size(ep),
    "ep_fast": of_size(ep_fast.ep),
}


@njit
def deaf(n):
    """Return a NamedTuple in a NamedTuple, without a look at the signals that arrive meanwhile."""
    x = 0.0
    for i in range(n):
        x += np.sin(i)
    return Chain(np.full((1, 1), x), np.empty(0), np.empty(0, np.bool_), np.empty(0), Counts(n, n))


@njit
def patient(n):
    for _ in range(n):
        check_interrupt()
    return n


def bombarded(seconds=2.0):
    """Let a handler raise at every moment of a short call; return how often it did."""
    def run():
        return random_walk(numbers(3), NORMAL, 0.5, 40, rng()).samples

    def late(*_):
        if armed:
            raise TimeoutError

    armed, expected, times, end = False, run(), 0, time.monotonic() + seconds
    signal.signal(signal.SIGALRM, late)
    while time.monotonic() < end:
        try:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, np.random.default_rng().uniform(1e-6, 1e-3))
            found = run()
            armed = False
            np.testing.assert_array_equal(found, expected)
        except TimeoutError:
            armed = False
            times += 1
    return times


class Process:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", __file__], stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": FOLDERS})
        self.said = queue.Queue()
        threading.Thread(target=lambda: [*map(self.said.put, self.process.stdout), self.said.put(
            f"dead, status {self.process.wait()}")], daemon=True).start()

    def answer(self, seconds):
        return self.said.get(timeout=seconds).strip()

    def interrupted(self, name):
        """Run it, send SIGINT while it runs, return (seconds until it ended, how it ended)."""
        print(name, file=self.process.stdin, flush=True)
        assert self.answer(600) == "ready"  # it may be compiled first
        time.sleep(0.1)
        start = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        ended = self.answer(60)
        return time.monotonic() - start, ended


@pytest.fixture(scope="module")
def process():
    yield (found := Process())
    found.process.stdin.close()
    found.said.get(timeout=60)  # that it has ended, after which nothing reads its output
    found.process.stdout.close()
    assert found.process.wait(60) == 0


@pytest.mark.parametrize("name", RUNS)
def test_ctrl_c_ends_a_sampler_at_once_and_the_next_run_has_the_same_bits(process, name):
    seconds, ended = process.interrupted(name)
    assert ended == "KeyboardInterrupt, then the same" and seconds < 1.0


def test_a_signal_that_no_loop_asks_for_waits_until_the_result_is_there(process):
    # Numba's own conversion of a NamedTuple in another ends the process here
    assert process.interrupted("deaf")[1] == "KeyboardInterrupt, then the same"


def test_at_no_moment_of_a_call_does_a_signal_end_the_process():
    # neither where Numba takes the arguments from Python, nor where it gives it the result
    code = "import test_interrupt; print(test_interrupt.bombarded())"
    assert int(python("-X", "faulthandler", "-c", code)) > 20


def test_a_handler_that_only_takes_a_note_changes_nothing():
    noted = []
    patient(1)
    previous = signal.signal(signal.SIGALRM, lambda *_: noted.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    assert patient(50_000_000) == 50_000_000
    assert noted and time.monotonic() - noted[0] > 0.01  # it was called while the loop ran
    signal.signal(signal.SIGALRM, previous)


if __name__ == "__main__":  # run what the lines of the input name, and say how each ended
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        run = {**RUNS, "deaf": lambda n: deaf(20 * n)}[line.strip()]
        before = list(flat(run(FEW)))
        try:
            print("ready", flush=True)
            run(MANY)
            ended = "it ran to its end"
        except KeyboardInterrupt:
            after = list(flat(run(FEW)))
            same = len(before) == len(after) and all(map(np.array_equal, before, after))
            ended = f"KeyboardInterrupt, then {'the same' if same else 'other numbers'}"
        print(ended, flush=True)
