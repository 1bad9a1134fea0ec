"""What Tables 1 to 4 have in common: the rule by which settings are chosen, and its figure."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from reproduce.harness.style import plt
from reproduce.zhang import comparison, cox, funnel, logistic, volatility
from reproduce.zhang.comparison import draw_pilots
from reproduce.zhang.estimates import worst
from reproduce.zhang.printed import ACCEPTANCE, GIBBS, HMC, SSHMC


class Counts(NamedTuple):
    gradient_theta: int
    gradient_phi: int
    factor: int


class Chain(NamedTuple):
    theta: np.ndarray
    phi: np.ndarray
    accepted: np.ndarray
    counts: Counts


def made(name, AP, ess, cost=1.0):
    kinds = ("theta", "theta squares", "phi", "phi squares")
    return {"setting": name, "AP": AP, "ess": dict(zip(kinds, ess, strict=True)), "cost": cost}


def test_the_rule_is_the_worst_ess_per_cost_in_the_papers_range():
    pilots = [made("cheap", [0.8], [100, 100, 90, 100], 2.0),
              made("bad squares", [0.8], [500, 500, 500, 40], 1.0),
              made("dear", [0.8], [500, 500, 500, 500], 12.0),
              made("rejects", [0.69], [900] * 4, 1.0), made("creeps", [0.86], [900] * 4, 1.0)]
    assert comparison.pick(pilots)["setting"] == "cheap"  # 45 against 40 and 41.7
    assert comparison.pick(pilots, 0.6, 0.9)["setting"] == "rejects"
    assert comparison.pick([made("ends", list(ACCEPTANCE), [1] * 4)])["setting"] == "ends"


def test_every_block_must_be_in_the_range():
    pilots = [made("both", [0.75, 0.84], [10] * 4), made("one", [0.75, 0.95], [99] * 4)]
    assert comparison.pick(pilots)["setting"] == "both"
    assert comparison.excess_rate(pilots[1]) == pytest.approx(0.10, abs=1e-12)  # rounding
    assert comparison.excess_rate(made("", [0.5, 0.8], [1] * 4)) == pytest.approx(0.20, abs=1e-12)


class Operations(NamedTuple):
    gradient: int = 10
    gradient_theta: int = 20
    factor_theta: int = 30
    gradient_phi: int = 40
    factor_phi: int = 60


@pytest.mark.parametrize(("room", "costs"), [
    # a pass over the coordinates of x each
    (funnel, {HMC: 10, GIBBS: 20 + 40, SSHMC: 20 + 40}),
    # gradients of all cases; those of group by group take 1.3 or 1.4, those of v next to nothing
    (logistic, {HMC: 10, SSHMC: 1.3 * 20 + 0.2 * 40, logistic.DROPPED: 1.3 * 20 + 0.05 * 40,
                GIBBS: 1.4 * (20 + 30) + 0.05 * 40}),
    # passes over x; three factors are a leapfrog of the hyperparameters
    (volatility, {HMC: 10, GIBBS: 20 + 60 / 3, SSHMC: 20 + 40}),
    # factorisations: of a gradient of all 5, of one for x a tenth, or a fifth beside two of its own
    (cox, {HMC: 50, SSHMC: 0.1 * 20 + 30, GIBBS: 0.2 * 20 + 2 * 30 + 5 * 40 + 4 * 60})],
    ids=lambda x: getattr(x, "__name__", ""))
def test_the_costs_of_each_model_by_hand(room, costs):
    assert {method: comparison.cost(Operations(), weights) for method, weights in
            room.WEIGHTS.items()} == pytest.approx(costs, rel=1e-12)


def test_without_a_setting_in_the_range_it_is_one_of_the_nearest():
    pilots = [made("far", [0.30], [99] * 4), made("near", [0.60], [10] * 4),
              made("nearly", [0.585], [20] * 4), made("not quite", [0.57], [50] * 4)]
    assert comparison.pick(pilots)["setting"] == "nearly"
    with pytest.raises(ValueError, match="pilots must hold at least one pilot"):
        comparison.pick([])


def test_a_chain_that_never_moved_is_never_taken():
    pilots = [made("still", [0.8], [0.0] * 4), made("moves", [0.8], [0.1] * 4, 1e9)]
    assert comparison.pick(pilots)["setting"] == "moves"


def test_a_pilot_by_hand():
    rng = np.random.default_rng(2)
    chains = [Chain(rng.normal(size=(50, 2)), rng.normal(size=(50, 1)), rng.random(50) < 0.5,
                    Counts(10, 3, k)) for k in (1, 2)]
    found = comparison.pilot({"eps": 0.1}, chains, {"gradient_theta": 1.0, "gradient_phi": 0.5}, 10)
    assert found["setting"] == {"eps": 0.1} and found["ess"] == worst(chains, 10)
    assert found["cost"] == 2 * (10 + 1.5)  # of both chains, the factors are free
    # rounding of two ways to a mean
    assert found["AP"] == pytest.approx([np.mean([c.accepted[10:] for c in chains])], abs=1e-15)
    assert comparison.efficiency(found) == min(found["ess"].values()) / found["cost"]


def test_a_pilot_of_blocks_has_the_rate_of_each():
    rng = np.random.default_rng(3)
    accepted = np.column_stack([np.ones(50, bool), np.arange(50) % 2 == 0])
    chain = Chain(rng.normal(size=(50, 2)), rng.normal(size=(50, 1)), accepted, Counts(1, 1, 1))
    assert comparison.pilot({}, [chain, chain], {"factor": 2.0})["AP"] == [1.0, 0.5]


def test_pilots_are_drawn_at_their_mean_rate_and_worst_ess_per_cost():
    fig, ax = plt.subplots()
    draw_pilots(ax, {"one": [made("", [0.6, 0.8], [4, 3, 2, 9], 5.0)],
                     "two": [made("", [0.9], [9, 9, 9, 7], 2.0), made("", [0.1], [1] * 4)]},
                "1000 gradients", 1e3)
    found = {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()}
    assert found["one"] == [pytest.approx([0.7, 1000 * 2 / 5])]
    assert found["two"] == [pytest.approx([0.9, 3500]), pytest.approx([0.1, 1000])]
    (band,) = ax.patches
    ends = np.ptp(np.array(band.get_extents().transformed(ax.transData.inverted())), axis=0)
    assert ends[0] == pytest.approx(ACCEPTANCE[1] - ACCEPTANCE[0])
    plt.close(fig)


def test_a_cost_of_what_is_not_counted_is_refused():
    with pytest.raises(KeyError, match="solves"):
        comparison.cost(Counts(1, 1, 1), {"solves": 1.0})


def test_a_clock_takes_rows_in_turn_and_each_goes_on_where_it_was(monkeypatch):
    now, order = [0.0], []

    def advance(row, theta, phi, n):
        order.append((row, float(theta[0]), float(phi[0])))
        now[0] += {"a": 8.0, "b": 2.0}[row] * n
        return SimpleNamespace(theta=np.full((n, 1), theta[0] + 1), phi=np.full((n, 1), phi[0] - 1))

    monkeypatch.setattr(comparison.time, "thread_time", lambda: now[0])
    found = comparison.clock_in_turn({"a": 0, "b": 0}, 2, 5,
                                     lambda row: (np.zeros(1), np.zeros(1)), advance)
    assert found == {"seconds": {"a": [8.0] * 2, "b": [2.0] * 2}}  # the first round is left out
    assert order == [(row, k, -k) for k in range(3) for row in "ab"]
