"""Ctrl-C while compiled code runs: KeyboardInterrupt at once, and the process goes on.

Every sampler runs in a process that outlives all of them, and has the same bits after the signal as
before; that process is this file, run as a script.  The models are those of test_bad_input.py.
"""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from functools import cache

import numpy as np
import pytest

from algorithms import (
    ep_fast,
    fixed_flow_hmc,
    generalised_leapfrog,
    hmc,
    hoffman_nuts,
    hoffman_nuts_fast,
    paquet_rmhmc,
    paquet_rmhmc_fast,
    random_walk,
    rmhmc_within_gibbs,
    slice_sampling,
)
from algorithms import shahbaba_split_hmc as split_hmc
from algorithms import shahbaba_split_hmc_fast as split_hmc_fast
from algorithms import wang_discretizing_chain_fast as discretizing_chain_fast
from algorithms import wang_tempered_transitions_fast as tempered_transitions_fast
from algorithms import zhang_sshmc as sshmc
from algorithms import zhang_sshmc_fast as sshmc_fast
from algorithms.ais import HMC, RMHMC, ais, geometric_ladder
from algorithms.ep import ep
from algorithms.map_estimate import map_estimate
from algorithms.rivals import (
    dragging,
    elliptical_slice,
    fitted_walk,
    polya_gamma_gibbs,
    surrogate_slice,
)
from algorithms.rivals.ais_elliptical_slice import ais_elliptical_slice
from algorithms.rivals.auxiliary_mixture import auxiliary_mixture
from algorithms.rivals.delayed_acceptance import delayed_acceptance
from models.covariance import squared_exponential
from models.gp_nystrom import GPNystrom
from models.gp_subset import GPSubset
from models.jit import ROOT, check_interrupt, njit
from test_bad_input import (
    CASES,
    COX,
    FUNNEL,
    GPC,
    GROUPS,
    LOGISTIC,
    MIXTURE,
    NORMAL,
    REGRESSION,
    SMALL,
    VOLATILITY,
    N,
    draw,
    flat,
    numbers,
    rng,
)

PATHS = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
FEW, MANY = 3, 5_000_000  # transitions; what many of them are to be written into is never touched
SUBSET, BETAS = GPSubset.from_model(REGRESSION, CASES), geometric_ladder(3, 0.25)


@cache
def fit():
    return split_hmc.normal_approximation(map_estimate(LOGISTIC))


def of_size(function):
    """Return what calls EP with few cases, or with so many that it takes long."""
    n = {FEW: 5, MANY: 1500}
    return lambda k: function(squared_exponential(*[np.arange(n[k])[:, None] / 9] * 2, 0.0, 0.0)
                              + np.eye(n[k]), np.where(np.arange(n[k]) % 3, 1.0, -1.0), 1e-300)


def blocks(n, sampler, *steps):
    """Call a sampler of two blocks with q = (theta, phi), of n parameters theta."""
    return lambda q, model: sampler(q[:n], q[n:], model, *steps, rng())


# name: what runs it for n transitions
RUNS = {
    "hmc": lambda n: hmc.hmc(numbers(3), NORMAL, SMALL, 2, n, rng()),
    "hmc, one trajectory": lambda n: hmc.hmc(numbers(3), NORMAL, SMALL, 100 * n, 1, rng()),
    "nuts": lambda n: hoffman_nuts_fast.nuts(numbers(3), NORMAL, n, rng(), 2),
    "nuts, warm-up": lambda n: hoffman_nuts_fast.nuts(numbers(3), NORMAL, 1, rng(), n),
    "nuts_dual_averaging": lambda n: hoffman_nuts.nuts_dual_averaging(
        numbers(3), NORMAL, n, rng(), 1),
    "hmc_dual_averaging": lambda n: hoffman_nuts.hmc_dual_averaging(
        numbers(3), NORMAL, 0.5, n, rng(), 1),
    "random_walk": lambda n: random_walk.random_walk(numbers(3), NORMAL, 0.5, n, rng()),
    "fitted_walk": lambda n: fitted_walk.fitted_walk(numbers(3), NORMAL, np.eye(3), n, rng()),
    "pilot": lambda n: fitted_walk.pilot(numbers(3), NORMAL, n, rng()),
    "map_estimate": lambda n: tuple(map_estimate(LOGISTIC) for _ in range(n)),
    "normal_split_hmc": lambda n: split_hmc_fast.normal_split_hmc(
        numbers(3), LOGISTIC, fit(), SMALL, 2, n, rng()),
    "data_split_hmc": lambda n: split_hmc_fast.data_split_hmc(
        numbers(3), LOGISTIC, split_hmc.split_data(LOGISTIC, numbers(3), 0.5), SMALL, 2, 2, n,
        rng()),
    "fixed_flow_hmc": lambda n: fixed_flow_hmc.fixed_flow_hmc(
        numbers(3), LOGISTIC, fit(), SMALL, 2, n, rng(), 0.2, 0.9),
    "generalised_leapfrog": lambda n: generalised_leapfrog.generalised_leapfrog(
        numbers(2), numbers(2), MIXTURE, n, SMALL),
    "generalised_leapfrog.rmhmc": lambda n: generalised_leapfrog.rmhmc(
        numbers(2), MIXTURE, 2, SMALL, n, rng()),
    "paquet_rmhmc": lambda n: paquet_rmhmc.rmhmc(numbers(N), GPC, 2, SMALL, n, rng()),
    "paquet_rmhmc_fast": lambda n: paquet_rmhmc_fast.rmhmc(numbers(N), GPC, 2, SMALL, n, rng()),
    "ep": of_size(ep),
    "ep_fast": of_size(ep_fast.ep),
    "ais": lambda n: ais(GPC, BETAS, HMC(SMALL, 2), n, rng()),
    "ais by RMHMC": lambda n: ais(GPC, BETAS, RMHMC(SMALL, 2, 2), n, rng()),
    "ais_elliptical_slice": lambda n: ais_elliptical_slice(GPC, BETAS, n, rng()),
    "elliptical_slice": lambda n: elliptical_slice.elliptical_slice(numbers(N), GPC, n, rng()),
    "slice_sampling": lambda n: slice_sampling.slice_sampling(
        numbers(4), REGRESSION, 0.5, n, rng()),
    "discretizing_chain": lambda n: discretizing_chain_fast.discretizing_chain(
        numbers(4), REGRESSION, GPNystrom.from_model(REGRESSION, CASES), 0.5, n, rng()),
    "tempered_transitions": lambda n: tempered_transitions_fast.tempered_transitions(
        numbers(4), REGRESSION, (SUBSET,), 0.5, n, rng()),
    "delayed_acceptance": lambda n: delayed_acceptance(
        numbers(4), REGRESSION, SUBSET, np.eye(4) / 4, n, rng()),
    "dragging": lambda n: dragging.dragging(numbers(4), REGRESSION, [1], np.eye(1), n, rng()),
    "sshmc": lambda n: blocks(3, sshmc.sshmc, SMALL, SMALL, 2, n)(numbers(4), FUNNEL),
    "sshmc_fast": lambda n: blocks(3, sshmc_fast.sshmc, SMALL, SMALL, 2, n)(numbers(4), FUNNEL),
    "rmhmc_within_gibbs": lambda n: blocks(
        6, rmhmc_within_gibbs.rmhmc_within_gibbs, SMALL, SMALL, 1, 1, n)(numbers(7), GROUPS),
    "auxiliary_mixture": lambda n: blocks(N, auxiliary_mixture, n)(numbers(N + 3), VOLATILITY),
    "polya_gamma_gibbs": lambda n: blocks(
        6, polya_gamma_gibbs.polya_gamma_gibbs, draw, n)(numbers(7), GROUPS),
    "surrogate_slice": lambda n: blocks(
        4, surrogate_slice.surrogate_slice, 0.5, [1.0, 1.0], n)(numbers(6), COX),
}


@njit
def deaf(n):
    """Return a NamedTuple in a NamedTuple, without a look at the signals that arrive meanwhile."""
    x = 0.0
    for i in range(n):
        x += np.sin(i)
    return hmc.Chain(np.full((1, 1), x), np.empty(0), np.empty(0, np.bool_), np.empty(0),
                     hmc.Counts(n, n))


@njit
def patient(n):
    """Return n, counted."""
    found = 0
    for _ in range(n):
        check_interrupt()
        found += 1
    return found


def bombarded(seconds=2.0):
    """Let a handler raise at every moment of a short call; return how often it did."""
    def run():
        return random_walk.random_walk(numbers(3), NORMAL, 0.5, 40, rng())

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
        except TimeoutError:
            armed = False
            times += 1
        else:
            np.testing.assert_array_equal(found.samples, expected.samples)
    return times


def main():
    """Run what the lines of the input name, and say how each ended."""
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


class Process:
    """A process that runs what it is told to, and tells how that ended."""

    def __init__(self):
        """Start it; it lives until the tests of this file end."""
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", __file__], stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, env=PATHS)
        self.said = queue.Queue()
        threading.Thread(target=lambda: [*map(self.said.put, self.process.stdout), self.said.put(
            f"dead, status {self.process.wait()}")], daemon=True).start()

    def answer(self, seconds):
        return self.said.get(timeout=seconds).strip()

    def interrupted(self, name):
        """Run it, send SIGINT while it runs, return (seconds until it ended, how it ended)."""
        print(name, file=self.process.stdin, flush=True)
        ready = self.answer(600)  # it may be compiled first
        assert ready == "ready", ready
        time.sleep(0.1)
        start = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        ended = self.answer(60)
        return time.monotonic() - start, ended


@pytest.fixture(scope="module")
def process():
    found = Process()
    yield found
    found.process.stdin.close()
    found.said.get(timeout=60)  # that it has ended, after which nothing reads its output
    found.process.stdout.close()
    assert found.process.wait(60) == 0


@pytest.mark.parametrize("name", RUNS)
def test_ctrl_c_ends_a_sampler_at_once_and_the_next_run_has_the_same_bits(process, name):
    seconds, ended = process.interrupted(name)
    assert ended == "KeyboardInterrupt, then the same"
    assert seconds < 1.0


def test_a_signal_that_no_loop_asks_for_waits_until_the_result_is_there(process):
    # Numba's own conversion of a NamedTuple in another ends the process here
    assert process.interrupted("deaf")[1] == "KeyboardInterrupt, then the same"


def test_at_no_moment_of_a_call_does_a_signal_end_the_process():
    # neither where Numba takes the arguments from Python, nor where it gives it the result
    code = "import test_interrupt; print(test_interrupt.bombarded())"
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], env=PATHS, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


@pytest.fixture
def alarm():
    """Return a function that has a handler called a moment later, in compiled code."""
    def after(handler, seconds=0.05):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    patient(1)
    previous = signal.getsignal(signal.SIGALRM)
    yield after
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, previous)


def test_a_handler_that_only_takes_a_note_changes_nothing(alarm):
    noted = []
    alarm(lambda *_: noted.append(time.monotonic()))
    assert patient(50_000_000) == 50_000_000
    assert noted and time.monotonic() - noted[0] > 0.01  # it was called while the loop ran


def test_what_a_handler_raises_is_what_the_caller_gets(alarm):
    def late(*_):
        raise TimeoutError("too late")

    alarm(late)
    with pytest.raises(TimeoutError, match="too late"):
        patient(2**40)
    assert patient(3) == 3


NOTEBOOK = """
import numpy as np
from algorithms.hmc import hmc
from models.gaussian import Gaussian
def run(n):
    rng = np.random.default_rng(1)
    return hmc(np.zeros(3), Gaussian(np.zeros(3), np.eye(3)), 0.1, 50, n, rng).samples[0, 0]
"""


@pytest.mark.filterwarnings("ignore")  # of the kernel and its event loop
def test_in_a_notebook_the_cell_is_interrupted_and_the_kernel_lives():
    needs = "needs the extra `lessons`: pip install -e '.[lessons]'"
    pytest.importorskip("ipykernel", reason=needs)
    jupyter = pytest.importorskip("jupyter_client.manager", reason=needs)
    manager, client = jupyter.start_new_kernel(
        kernel_name="python3", env=os.environ | {"PYTHONPATH": str(ROOT)})

    def cell(code):
        reply = client.execute(code, user_expressions={"x": "x"}, reply=True, timeout=300)
        return reply["content"]

    try:
        before = cell(NOTEBOOK + "x = run(3)")
        client.execute("x = run(5_000_000)")
        time.sleep(1.0)
        start = time.monotonic()
        manager.interrupt_kernel()
        ended = client.get_shell_msg(timeout=60)["content"]
        assert time.monotonic() - start < 1.0
        assert ended["ename"] == "KeyboardInterrupt"
        after = cell("x = run(3)")
        assert before["status"] == after["status"] == "ok"
        assert before["user_expressions"] == after["user_expressions"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
