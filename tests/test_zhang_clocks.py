"""The clocks of the scripts on Zhang and Sutton: seconds of one transition, in turn, by hand."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from reproduce import zhang_table1 as table1
from reproduce import zhang_table2 as table2
from reproduce import zhang_table3 as table3
from reproduce import zhang_table4 as table4
from reproduce.beyond import zhang_softabs as softabs
from reproduce.zhang import comparison, logistic
from reproduce.zhang.datasets import GRID, STAND_IN, simulated_volatility
from reproduce.zhang.printed import GIBBS, HMC, SSHMC

CREDIT, COX, SERIES = f"{STAND_IN}1", f"{GRID}4 x 4, unit, seed 1", simulated_volatility(12).name
SECONDS = {HMC: 0.5, GIBBS: 4.0, SSHMC: 3.0}  # of a transition
FIRST = 1000.0  # and of whatever is compiled, once for each method


class Watch:
    """Stands for the module time: every transition takes SECONDS, the first ones longer."""

    def __init__(self):
        self.now, self.seen = 0.0, []

    def thread_time(self):
        return self.now

    process_time = thread_time

    def spend(self, method, times):
        self.now += SECONDS[method] * times + FIRST * (method not in self.seen)
        self.seen.append(method)


@pytest.fixture
def watch(monkeypatch):
    watch = Watch()
    for room in (comparison, softabs):
        monkeypatch.setattr(room, "time", watch)
    return watch


ROWS = {table1: lambda row: [row, "n + 1/9", {}], table2: lambda row: [row, logistic.BOUND, 22, {}],
        table3: lambda row: [row, {}], table4: lambda row: [row, COX, "unit", {}]}
DATA = {table2: [CREDIT], table3: [SERIES]}


@pytest.mark.parametrize("room", ROWS, ids=lambda room: room.NAME)
def test_each_chain_goes_on_where_its_last_round_ended(room, watch, monkeypatch):
    starts = {row: [] for row in SECONDS}

    def transitions(method, theta, phi, model, setting, n, rng, **more):
        # as the programs of the lineage run it, which take five iterations
        assert more == ({"solver": logistic.LINEAGE} if room is table2 else {})
        watch.spend(method, n)
        starts[method].append((theta.copy(), phi.copy()))
        return SimpleNamespace(theta=theta + 1.0 + np.arange(n)[:, None],
                               phi=phi - 1.0 - np.arange(n)[:, None])

    monkeypatch.setattr(room, "transitions", transitions)
    rows = {row: ROWS[room](row) for row in SECONDS}
    assert room.clock(*DATA.get(room, []), rows, 3, 5) == {
        "seconds": {row: [s] * 3 for row, s in SECONDS.items()}}
    for each in starts.values():
        assert len(each) == 4 and np.any(each[0][0])  # no chain begins where all is zero
        for (theta, phi), (after, then) in pairwise(each):
            np.testing.assert_allclose(after, theta + 5.0, rtol=0, atol=1e-12)
            np.testing.assert_allclose(then, phi - 5.0, rtol=0, atol=1e-12)


def test_a_step_is_a_part_of_a_transition(watch, monkeypatch):
    made = []

    def transition(method, q, model, L, n, rng):
        watch.spend(SSHMC if method == SSHMC else GIBBS, L * n)
        made.append((method, q[-1]))

    monkeypatch.setattr(softabs, "transition", transition)
    assert softabs.clock(4, 2)["seconds"] == {SSHMC: [3.0] * 2, softabs.SOFT: [4.0] * 2}
    assert made == [(SSHMC, 0.0), (softabs.SOFT, 0.0)] * 3  # v = 0


def test_the_program_is_timed_as_it_runs(watch, monkeypatch):
    def ends(theta, n):
        return SimpleNamespace(theta=np.tile(theta, (n, 1)), phi=np.zeros((n, 3)))

    monkeypatch.setattr(table3, "as_the_program", lambda theta, phi, model, n, rng: watch.spend(
        GIBBS, n) or ends(theta, n))
    monkeypatch.setattr(table3, "transitions", lambda method, theta, phi, model, setting, n, rng:
                        watch.spend(method, n) or ends(theta, n))
    rows = {"program": [SSHMC, table3.UP_TO], "other": [SSHMC, {}]}
    assert table3.clock(SERIES, rows, 2, 5)["seconds"] == {"program": [4.0] * 2, "other": [3.0] * 2}
