"""What Tables 1 to 4 have in common: the rule by which settings are chosen, and its figure."""

import inspect
from typing import NamedTuple

import numpy as np
import pytest

from algorithms import hmc, rmhmc_within_gibbs, zhang_sshmc_fast
from reproduce import zhang_table1 as table1
from reproduce import zhang_table2 as table2
from reproduce import zhang_table3 as table3
from reproduce import zhang_table4 as table4
from reproduce.harness.style import plt
from reproduce.zhang import comparison, cox, funnel, logistic, volatility
from reproduce.zhang.comparison import draw_pilots
from reproduce.zhang.estimates import worst
from reproduce.zhang.printed import ACCEPTANCE, GIBBS, HMC, SSHMC

TABLES = [(table1, {}, {}), (table2, {"jitter": 0.5}, {
    "f_position": 100, "f_momentum": 100, "tol": 1e-6, "tol_back": 1e-4}),
    (table3, {"jitter": 0.3}, {}), (table4, {}, {  # 3 and 10 iterations, no run back
        "f_position": 3, "f_momentum": 10, "tol": 0.0, "tol_back": 0.0})]
SAMPLERS = {HMC: "hmc", GIBBS: "rmhmc_within_gibbs", SSHMC: "sshmc",
            logistic.DROPPED: "rmhmc_within_gibbs"}
ROOMS = {"hmc": hmc, "rmhmc_within_gibbs": rmhmc_within_gibbs, "sshmc": zhang_sshmc_fast}
BLOCKS = dict(eps_theta=0.3, eps_phi=0.4, L_theta=5, L_phi=6)
SETTINGS = {HMC: {"eps": 0.1, "L": 2}, GIBBS: BLOCKS, logistic.DROPPED: BLOCKS,
            SSHMC: dict(eps_theta=0.3, eps_phi=0.4, L=2, n_theta=7, n_phi=8)}


@pytest.mark.parametrize(("room", "jitter", "solver", "method"), [
    (*table, method) for table in TABLES for method in SAMPLERS
    if method != logistic.DROPPED or table[0] is table2], ids=lambda x: getattr(x, "NAME", None))
def test_every_method_gets_its_own_setting_and_the_jitter(
        room, jitter, solver, method, monkeypatch):
    # of Figures 2 and 3 too, whose code has the fingerprint of Tables 3 and 4
    seen = {}

    def recorder(signature):
        def sampler(*arguments, **named):
            given = signature.bind(*arguments, **named)
            given.apply_defaults()
            seen.update(given.arguments)
            raise ZeroDivisionError
        return sampler

    for name in SAMPLERS.values():
        own = inspect.signature(getattr(ROOMS[name], name))
        monkeypatch.setattr(room, name, recorder(own) if name == SAMPLERS[method] else None)
    model = logistic.Whole(*range(6)) if method == logistic.DROPPED else (0, 1, 2, 3, 4, 5)
    setting = SETTINGS[method] | ({"jitter": 0.2} if room is table4 else {})
    keep = ["kept"] if room is table3 else []
    with pytest.raises(ZeroDivisionError):
        room.transitions(method, np.zeros(2), np.ones(3), (0, 1, 2, 3, 4, 5), setting, 9, "rng",
                         *keep)
    wanted = setting | jitter | dict(model=model, n=9, rng="rng")
    if SAMPLERS[method] == "rmhmc_within_gibbs":
        wanted |= solver
    if method == HMC:
        np.testing.assert_array_equal(seen["q0"], [0, 0, 1, 1, 1])
    else:
        wanted |= {"keep": keep[0] if keep else None}
        np.testing.assert_array_equal(np.append(seen["theta0"], seen["phi0"]), [0, 0, 1, 1, 1])
    assert {name: seen[name] for name in wanted} == wanted
    assert type(seen["model"]) is type(model) and seen["jitter"] == wanted.get("jitter", 0.0)


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
