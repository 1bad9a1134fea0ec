"""The rivals: what a chain asks for and what that costs, estimates, claims, and what is run."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from algorithms.ess import initial_sequence
from judging import verdicts
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_spectral import GPSpectral
from models.gp_subset import GPSubset
from models.gp_variational import GPVariational
from models.interface import log_likelihood
from reproduce.beyond import wang_rivals as script
from reproduce.beyond.rivals.moments import as_one
from reproduce.harness.claims import Measured
from reproduce.wang import rivals as room
from reproduce.wang.datasets import order
from reproduce.wang.long_chains import target
from reproduce.wang.printed import METHODS, NYSTROM, ROWS, SOD, STANDARD
from reproduce.wang.rivals import (
    DELAYED,
    DRAGGING,
    HMC,
    NUTS,
    RIVALS,
    WALK,
    Run,
    Together,
)
from wang_samplers import Asked

N = 14  # cases


def test_all_approximations_have_as_many_cases_as_the_subset():
    chosen = order(3, 0, N)[:5]  # 100 of 300
    for which, kind in ((NYSTROM, GPNystrom), ("FITC", GPFITC), ("variational", GPVariational)):
        one = room.approximation(3, 0, which, N)
        assert type(one) is kind
        np.testing.assert_array_equal(one.index, chosen)
    np.testing.assert_array_equal(room.approximation(3, 0, SOD, N).index, chosen)
    # and those are of the data set that is asked for
    model, others = target(3, 1, N)[1], order(3, 1, N)[:5]
    for which in (NYSTROM, "FITC", "variational"):
        one = room.approximation(3, 1, which, N)
        np.testing.assert_array_equal(one.index, others)
        np.testing.assert_array_equal(getattr(one, "nystrom", one).whole.y, model.y)
    np.testing.assert_array_equal(room.approximation(3, 1, SOD, N).part.y, model.y[others])


def test_nuts_runs_on_the_regression_and_its_warm_up_is_set_up(monkeypatch):
    asked = {}

    def nuts(model, start, draws, tune, seed, target_accept):
        asked.update(model=model, draws=draws, tune=tune, target=target_accept)
        return {"samples": np.tile(start, (draws, 1)), "steps": 70, "warm_up": 900}

    monkeypatch.setattr(room, "nuts", nuts)
    found = room.run(1, 0, NUTS, 0.9, 12, [3], N)
    _, model, truth = target(1, 0, N)
    assert asked["model"] is model
    assert (asked["draws"], asked["tune"], asked["target"]) == (12, 12, 0.9)
    assert found.counts == {"gradient": 70}
    assert found.setup == {"gradient": 900} and np.isnan(found.accepted)
    assert found.log_likelihood[0] == pytest.approx(log_likelihood(truth, model), rel=1e-12)


def test_what_is_kept_of_a_chain(monkeypatch):
    rng = np.random.default_rng(1)
    x, log = rng.standard_normal((40, 2)), rng.standard_normal(40)
    x[:, 1] = 3.0  # never moves
    monkeypatch.setattr(room, "run", lambda *a: Run(x, log, {"trial": 5}, {"scratch": 2}, 0.5))
    found = room.rival_chain(1, 0, WALK, 1.0, 40, [0])
    for place, kept in ((0, x[4:, 0]), (2, log[4:])):
        assert found["mean"][place] == pytest.approx(kept.mean(), rel=1e-12)
        assert found["variance"][place] == pytest.approx(kept.var(), rel=1e-12)
        assert found["ess"][place] == pytest.approx(initial_sequence(kept).ess, rel=1e-9)
        squares = (kept - kept.mean()) ** 2
        assert found["squares"][place] == pytest.approx(initial_sequence(squares).ess, rel=1e-9)
    assert found["ess"][1] == found["squares"][1] == 1.0
    assert (found["counts"], found["setup"], found["kept"]) == ({"trial": 5}, {"scratch": 2}, 0.9)
    assert found["accepted"] == 0.5


def test_prices_and_costs_by_hand():
    costs = room.prices({"seconds": {"trial": [2.0, 4.0, 9.0], "scratch": [8.0, 4.0, 8.0]}})
    assert costs == {"trial": 1.0, "scratch": 2.0}
    assert room.price({"trial": 10, "scratch": 3}, costs) == 16.0
    chain = {"counts": {"trial": 10, "scratch": 3}, "kept": 0.5, "ess": [9.0, 4.0],
             "squares": [2.0, 8.0]}
    assert room.log_per_draw([chain], costs).value == pytest.approx(np.log(4.0), rel=1e-12)
    other = chain | {"squares": [9.0, 4.0], "counts": {"trial": 20, "scratch": 4}}
    assert room.log_per_draw([other], costs).value == pytest.approx(np.log(3.5), rel=1e-12)
    # 22 for the second quantity's values, of which there are 4 + 4 draws together
    both = room.log_per_draw([chain, other], costs)
    assert both.value == pytest.approx(np.log(22 / 8), rel=1e-12)
    # left out is the one or the other: twice the deviation of two numbers, over two
    assert both.se == pytest.approx(abs(np.log(4.0 / 3.5)) / 2, rel=1e-12)
    assert np.isnan(room.log_per_draw([chain], costs).se)


def test_operations_by_hand():
    names = {"trial", "gradient", "trial SOD 60", "trial Nystrom 30", "scratch SOD", "scratch FITC"}
    found = room.operations(5, names)  # 90 of 300
    assert found["trial"] == found["scratch"] == 1.0 and found["fast"] == pytest.approx(3 / 9e4)
    assert (found["gradient"], found["decomposition"]) == (3.0, 27.0)
    for name, value in (("trial SOD 60", 0.008), ("trial Nystrom 30", 0.06),
                        ("scratch SOD", 0.027), ("scratch FITC", 0.54)):
        assert found[name] == pytest.approx(value, rel=1e-12)
    assert room.operations(5, {"scratch SOD"}, 10)["scratch SOD"] == pytest.approx(0.027)


def test_each_price_is_that_of_its_model(monkeypatch):
    # each clock gives what it is asked to time, and the model
    monkeypatch.setattr(room, "clock_of", lambda function: lambda q, times,
                        model: (function, model))
    monkeypatch.setattr(room, "trial_seconds", lambda q, times, model: ("trial", model))
    monkeypatch.setattr(room, "fast_seconds", lambda q, times, model: ("fast", model))
    found = room.seconds_of(1, 0, 2, 1, N)["seconds"]
    assert {len(each) for each in found.values()} == {2}
    kinds = {name: (each[0][0], type(each[0][1])) for name, each in found.items()}
    assert kinds["trial"] == ("trial", GPRegression)
    assert kinds["scratch"] == (room.scratches, GPRegression)
    assert kinds["gradient"] == (room.gradients, GPRegression)
    assert kinds["decomposition"] == (room.scratches, GPSpectral)
    assert kinds["fast"] == ("fast", GPSpectral)
    for which, kind in ((SOD, GPSubset), (NYSTROM, GPNystrom), ("FITC", GPFITC),
                        ("variational", GPVariational)):
        assert kinds[f"scratch {which}"] == (room.scratches, kind)
        assert found[f"scratch {which}"][0][1].index.size == 2  # 40 of 300
    assert kinds["trial SOD 2"] == ("trial", GPSubset)
    assert kinds[f"trial {NYSTROM} 2"] == ("trial", GPNystrom)


def test_the_round_that_loads_what_is_compiled_is_dropped(monkeypatch):
    ticks = iter(range(1000))
    for name in ("trial_seconds", "fast_seconds"):
        monkeypatch.setattr(room, name, lambda *given: next(ticks))
    monkeypatch.setattr(room, "clock_of", lambda function: lambda *given: next(ticks))
    found = room.seconds_of(1, 0, 2, 1, N)["seconds"]
    kept = sorted(x for each in found.values() for x in each)
    assert kept == list(range(len(found), 3 * len(found)))


@pytest.mark.parametrize(("method", "setting", "wanted"), [
    # eps, L, M and the jitter; the factor; the slow variable and its factor, and the widths
    (HMC, (0.9, 2), {2: 0.9, 3: 2, 6: np.diag([1, 1 / 4, 1 / 9]), 7: 0.2}),
    (WALK, 0.7, {2: 0.7 * np.diag([1.0, 2.0, 3.0])}),
    (DRAGGING, 1.5, {2: [2], 3: [[1.5 * 2.38 * 3]], "w": [1.0, 2.0, 3.0]})])
def test_what_the_pilots_covariance_is_used_for(monkeypatch, method, setting, wanted):
    name = {HMC: "hmc", WALK: "fitted_walk", DRAGGING: "dragging"}[method]
    found = {}

    def stop(*given, **named):
        found.update(dict(enumerate(given)) | named)
        raise Asked

    sd = np.diag([1.0, 2.0, 3.0])
    monkeypatch.setattr(room, "pilot", lambda *given: SimpleNamespace(
        covariance=sd**2, factor=sd, density=5))
    monkeypatch.setattr(room, name, stop)
    with pytest.raises(Asked):
        room.run(1, 0, method, setting, 12, [3], N)
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-12)


def chain_of(mean, ess=100.0, squares=50.0, variance=4.0):
    return {"mean": [mean, 1.0], "variance": [variance, 1.0], "ess": [ess, 2 * ess],
            "squares": [squares, 2 * squares], "counts": {"trial": 500}, "kept": 0.9,
            "setup": {"scratch": 10}, "accepted": 0.25}


def test_chains_are_put_together():
    found = room.combine([chain_of(1.0), chain_of(2.0, squares=25.0)], {"trial": 1, "scratch": 2},
                          "a")
    assert found.log_cost.value == pytest.approx(np.log(12.0), rel=1e-12)  # 900 for 75
    assert found.log_cost.se == pytest.approx(np.log(2) / 2, rel=1e-12)
    np.testing.assert_allclose(found.mean, [1.5, 1.0], rtol=1e-15)
    np.testing.assert_allclose(found.se, [(0.08**0.5) / 2, 0.01**0.5 / 2], rtol=1e-12)
    assert (found.draws, found.setup, found.accepted, found.setting) == (75.0, 20.0, 0.25, "a")
    rates = [chain_of(1.0) | {"accepted": rate} for rate in (0.1, 0.2, 0.6)]
    assert room.combine(rates, {"trial": 1, "scratch": 2}, "a").accepted == pytest.approx(0.3)
    assert found.r_hat == pytest.approx((1 + 0.5 / 4) ** 0.5, rel=1e-12)
    # three of them scatter by more than their own errors
    found = room.combine([chain_of(m) for m in (1.0, 2.0, 3.0)], {"trial": 1, "scratch": 2}, "a")
    assert found.se[0] == pytest.approx(1 / 3**0.5, rel=1e-12)
    assert found.se[1] == pytest.approx((3 * 1 / 200) ** 0.5 / 3, rel=1e-12)


def test_chains_that_have_been_in_different_places_say_nothing():
    costs = {"trial": 1, "scratch": 2}
    # variance 4 in each; the means' is 0.8 and 0.9: an R-hat of 1.095 and 1.107
    for between, says in ((0.8, True), (0.9, False)):
        half = (between / 2) ** 0.5
        found = room.combine([chain_of(1.0 - half), chain_of(1.0 + half)], costs, "a")
        assert found.r_hat == pytest.approx((1 + between / 4) ** 0.5, rel=1e-12)
        assert room.is_trusted(found) == says
    # the worst quantity's, also if the first agrees
    other = [chain_of(1.0) | {"mean": [1.0, mean]} for mean in (0.0, 2.0)]
    assert room.r_hat(other) == pytest.approx((1 + 2 / 1) ** 0.5, rel=1e-12)
    assert room.r_hat([chain_of(1.0)]) == 1.0
    # a chain that stands still beside one that moves; and where nothing moves
    assert room.r_hat([chain_of(0.0), chain_of(2.0, variance=0.0)]) == pytest.approx(2**0.5)
    assert np.isnan(room.r_hat([chain_of(1.0, variance=0.0)] * 2))
    assert not room.is_trusted(room.combine([chain_of(1.0, variance=0.0)] * 2, costs, "a"))


def method_of(mean, se=0.1, draws=100.0, log_cost=2.0, r_hat=1.01):
    return Together(Measured(log_cost, 0.05), np.array([mean, 1.0]), np.array([se, 0.1]), draws,
                    r_hat, 1000.0, 0.3, 1.0)


def test_a_mean_that_is_another_is_seen():
    found = {"a": method_of(0.0), "b": method_of(0.0), "c": method_of(1.0)}
    # against the two others together: the largest of six
    z = 1 / (0.01 + 0.005) ** 0.5
    assert room.disagreement(found).value == pytest.approx(as_one(z, 6), rel=1e-12)
    # as improbable as that one of six is as large; the digits are lost from 1 - (1 - p)^6
    assert as_one(z, 6) == pytest.approx(norm.isf((1 - (1 - 2 * norm.sf(z)) ** 6) / 2), rel=1e-3)
    found["c"] = method_of(9.0, draws=19.0)  # says nothing
    assert room.disagreement(found).value == 0.0
    found["c"] = method_of(9.0, draws=20.0)  # twenty are enough
    assert room.disagreement(found).value > 4
    found["c"] = method_of(9.0, r_hat=1.1)
    assert room.disagreement(found).value == 0.0
    found["c"] = method_of(9.0)._replace(se=np.array([0.1, 0.0]))  # never moved
    assert room.disagreement(found).value == 0.0
    assert np.isnan(room.disagreement({"a": method_of(0.0)}).se)


# The script


def made_up():
    """Return a result in which delayed acceptance is the best rival but on 2, and all agree."""
    logs = {STANDARD: 4.4, SOD: 3.8, WALK: 3.0, DELAYED: 2.5}
    costs = {"scratch": 1.2, "gradient": 3.0}
    return {number: {"found": {method: method_of(0.0, log_cost=logs.get(method, 3.5) + (
        3.0 if number == script.ONE_SUM and method in RIVALS else 0.0))
                               for method in room.methods(number)},
                     "costs": costs, "z": Measured(2.0), "unit": 0.00123} for number in ROWS}


def test_every_claim_agrees_where_it_is_true():
    assert set(verdicts(script, made_up()).values()) == {"agrees"}
    assert len(verdicts(script, made_up())) == 23


@pytest.mark.parametrize("number", ROWS)
def test_who_is_ahead_in_a_row(number):
    result, other = made_up(), METHODS if number != script.ONE_SUM else RIVALS
    for method in result[number]["found"]:
        if method in other:
            result[number]["found"][method] = method_of(0.0, log_cost=1.0)
    (what,) = [c.what for c in script.CLAIMS if c.what.startswith(f"row {number}: ") and (
        "best" in c.what)]
    assert verdicts(script, result)[what] == "differs"


def test_which_rivals_are_mappings_and_when_a_set_up_is_paid():
    text = script.table(made_up())
    assert "takes less in 9 rows; in 9 of them it is the" in text
    row = made_up()[1]
    row["found"][DELAYED] = row["found"][DELAYED]._replace(setup=1000.0)
    # from e^3.5 to e^2.5 a draw: 20.9 are saved
    assert script.break_even_draws(row) == "48"
    assert script.break_even_draws(made_up()[script.ONE_SUM]) == "never"


def dearer(*methods):
    def change(r):
        for row in r.values():
            row["found"] |= {method: method_of(0.0, log_cost=9.0) for method in methods}

    return change


MOVED = {
    **{f"mean over data sets: log(cost of a draw without / with), {part}": dearer(*methods)
       for part, methods in (("R", [WALK]), ("mapping of slices", [SOD]),
                             ("mapping of the walk", [DELAYED, "surrogate"]))},
    **{f"row {number}: largest |z| of a method's means against the others'":
       (lambda r, number=number: r[number].update(z=Measured(4.1))) for number in ROWS},
}


@pytest.mark.parametrize("what", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(what):
    result = copy.deepcopy(made_up())
    MOVED[what](result)
    # of a void row nothing else is said
    with_row = {c.what for c in script.CLAIMS if "log(" in c.what and "|z|" in what
                and c.what.split(":")[0] == what.split(":")[0]}
    assert {name for name, v in verdicts(script, result).items() if v == "differs"} == (
        {what} | with_row)


def test_a_row_in_which_they_do_not_agree_is_void():
    result = made_up()
    assert "VOID" not in script.table(result)
    result[2]["z"] = Measured(4.1)
    text = script.table(result)
    # in the summary, and on the line of each method
    assert text.count("2 VOID") == 1 + len(room.methods(2)) == text.count("VOID")


def test_a_gain_is_of_what_says_something():
    r = made_up()
    gains = script.gains(r, "mapping of the walk")
    assert gains[5] == pytest.approx((0.5, 0.05 * 2**0.5)) and len(gains) == 10
    r[5]["found"][DELAYED] = method_of(0.0, log_cost=1.5)
    # nine of .5 and one of 1.5
    assert script.mean_gain(r, "mapping of the walk") == pytest.approx((0.6, 0.1))
    assert script.gains(r, "R")[5].value == pytest.approx(1.4)
    assert script.gains(r, "mapping of slices")[5].value == pytest.approx(0.6)
    r[5]["found"][WALK] = method_of(0.0, draws=19.0, log_cost=3.0)
    assert 5 not in script.gains(r, "mapping of the walk") and 5 not in script.gains(r, "R")
    assert f"{WALK} (not trusted)" in script.table(r)
    r = made_up()
    r[5]["z"] = Measured(4.1)
    assert 5 not in script.gains(r, "R")
    # the cheapest is not the best if it says nothing
    r[1]["found"][DELAYED] = method_of(0.0, draws=19.0, log_cost=2.5)
    assert script.cheapest_method(r[1]["found"], RIVALS) == WALK
    assert script.cheapest_method({DELAYED: r[1]["found"][DELAYED]}, RIVALS) is None
    assert np.isnan(script.cost({"found": {}}, RIVALS).value)
    r[1]["found"] = {WALK: r[1]["found"][WALK]._replace(r_hat=2.0)}
    assert script.table(r).count("none is trusted") == 2
