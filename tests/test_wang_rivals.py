"""The rivals: what a chain asks for and costs, claims, what is run, and the exact posterior."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import studies
from algorithms.ess import initial_sequence
from judging import check_moves, put, read_table
from models.gp_regression import GPRegression
from models.interface import U, log_likelihood
from reproduce.beyond import wang_rivals as script
from reproduce.beyond.rivals.moments import Together, as_one, moments, pool, reliability, worst
from reproduce.harness.claims import Measured
from reproduce.wang import quadrature
from reproduce.wang import rivals as room
from reproduce.wang.datasets import order
from reproduce.wang.long_chains import target
from reproduce.wang.printed import NYSTROM, ROWS, SOD, STANDARD
from reproduce.wang.rivals import DELAYED, DRAGGING, HMC, NUTS, WALK, Run
from sampling.summary import e_bfmi

N = 14  # cases
KINDS = {SOD: "GPSubset", NYSTROM: "GPNystrom", "FITC": "GPFITC", "variational": "GPVariational"}


def test_all_approximations_have_as_many_cases_of_their_data_set_as_the_subset():
    for index, (which, kind) in product((0, 1), KINDS.items()):
        model, chosen = target(3, index, N)[1], order(3, index, N)[:5]  # 100 of 300
        one = room.approximation(3, index, which, N)
        assert type(one).__name__ == kind and (one.index == chosen).all()
        np.testing.assert_array_equal(*((one.part.y, model.y[chosen]) if which == SOD else (
            getattr(one, "nystrom", one).whole.y, model.y)))


def test_nuts_runs_on_the_regression_and_its_warm_up_is_set_up(monkeypatch):
    asked = {}

    def nuts(start, model, n, rng, warm_up, target):
        asked.update(model=model, n=n, warm_up=warm_up, target=target)
        return SimpleNamespace(
            samples=np.tile(start, (n, 1)), energies=np.full(n, U(start, model)), divergences=2,
            gradients=np.full(n, 5), rates=np.full(n, 0.75), counts=SimpleNamespace(gradient=900))

    monkeypatch.setattr(room, "nuts", nuts)
    found = room.run(1, 0, NUTS, 0.9, 12, [3], N)
    _, model, truth = target(1, 0, N)
    assert asked == {"model": model, "n": 12, "warm_up": 12, "target": 0.9}
    assert (found.counts, found.setup) == ({"gradient": 60}, {"gradient": 840})
    assert (found.accepted, found.divergences) == (0.75, 2)
    assert found.log_likelihood[0] == pytest.approx(log_likelihood(truth, model), rel=1e-12)
    room.run(1, 0, NUTS, 0.9, 2000, [3], N)
    assert asked["warm_up"] == 500


def made_up_chain(number, index, method, setting, n, seed, n_cases):
    rng = np.random.default_rng(seed)
    return Run(rng.standard_normal((n, 2)), rng.standard_normal(n),
               {"trial": 5 * n, "trial SOD 7": 4}, {"scratch": 2}, 0.5, np.arange(float(n)), 3)


def test_what_is_kept_of_a_chain(monkeypatch):
    monkeypatch.setattr(room, "run", made_up_chain)
    whole = made_up_chain(1, 0, HMC, 1.0, 40, [0], None)
    x, found = room.draws(1, 0, HMC, 1.0, 40, [0])
    np.testing.assert_array_equal(x, np.column_stack([whole.samples, whole.log_likelihood])[4:])
    # those of the last 36 of 40
    assert found["counts"] == {"trial": 0.9 * 200, "trial SOD 7": pytest.approx(3.6)}
    assert (found["set_up"], found["rate"], found["divergences"]) == ({"scratch": 2}, 0.5, 3)
    assert found["e_bfmi"] == pytest.approx(e_bfmi(np.arange(4, 40), 2), rel=1e-12)

    least = np.min([initial_sequence(each).ess for each in (x, (x - x.mean(0)) ** 2)])
    pilot = room.pilot_chain(5, WALK, 1.0, 40, [0], 70)  # 7 of 70 cases: a thousandth
    assert pilot == {
        "ess": pytest.approx(least, rel=1e-9), "per iteration": pytest.approx(least / 36, rel=1e-9),
        "efficiency": pytest.approx(least / (180 + 3.6 / 1000), rel=1e-9),
        "counts": found["counts"], "set_up": {"scratch": 2}}

    row = room.row_of_chains(1, 0, WALK, 1.0, 400, 3, [7])
    every = np.array([room.draws(1, 0, WALK, 1.0, 400, [7, k])[0] for k in range(3)])
    assert {key: row[key] for key in ("rhat", "bulk", "tail")} == reliability(every)
    for chain, x in zip(row["chains"], every, strict=True):
        np.testing.assert_allclose(chain["mean"], x.mean(0), rtol=1e-6)
        assert chain["n"] == 360 and chain["counts"]["trial"] == 0.9 * 2000
    monkeypatch.setattr(room, "run", lambda *given: whole._replace(samples=np.ones((40, 2))))
    none = room.pilot_chain(1, WALK, 1.0, 40, [0], 20)
    assert none["ess"] == none["efficiency"] == none["per iteration"] == 0


def test_prices_and_operations_by_hand():
    costs = room.prices({"seconds": {"trial": [2.0, 4.0, 9.0], "scratch": [8.0, 4.0, 8.0]}})
    assert costs == {"trial": 1.0, "scratch": 2.0}
    assert room.price({"trial": 10, "scratch": 3}, costs) == 16.0
    found = {"trial": 1, "scratch": 1, "gradient": 3, "decomposition": 27, "fast": 3 / 9e4,
             "trial SOD 60": 0.008, "trial Nystrom 30": 0.06, "scratch SOD": 0.027,
             "scratch FITC": 0.54}  # 90 of 300
    assert room.operations(5, set(found)) == pytest.approx(found, rel=1e-12)
    assert room.operations(5, {"scratch SOD"}, 10)["scratch SOD"] == pytest.approx(0.027)


def test_each_price_is_that_of_its_model(monkeypatch):
    # each clock gives what it is asked to time, the model, and when
    ticks = iter(range(1000))

    def stand_in(what):
        return lambda q, times, model: (what, model, next(ticks))

    monkeypatch.setattr(room, "clock_of", stand_in)
    for what in ("trial", "fast"):
        monkeypatch.setattr(room, f"{what}_seconds", stand_in(what))
    found = room.seconds_of(1, 0, 2, 1, N)["seconds"]
    # two rounds, and one before them that loads what is compiled
    assert sorted(when for each in found.values() for _, _, when in each) == list(
        range(len(found), 3 * len(found)))
    assert {name: (each[0][0], type(each[0][1]).__name__) for name, each in found.items()} == {
        "trial": ("trial", "GPRegression"), "scratch": (room.scratches, "GPRegression"),
        "gradient": (room.gradients, "GPRegression"), "fast": ("fast", "GPSpectral"),
        "decomposition": (room.scratches, "GPSpectral"), "trial SOD 2": ("trial", "GPSubset"),
        f"trial {NYSTROM} 2": ("trial", "GPNystrom"),
        **{f"scratch {which}": (room.scratches, kind) for which, kind in KINDS.items()}}
    assert {found[f"scratch {which}"][0][1].index.size for which in KINDS} == {2}  # 40 of 300


@pytest.mark.parametrize(("method", "setting", "wanted"), [
    # eps, L, M and the jitter; the factor; the slow variable and its factor, and the widths
    (HMC, (0.9, 2), {2: 0.9, 3: 2, 6: np.diag([1, 1 / 4, 1 / 9]), 7: 0.2}),
    (WALK, 0.7, {2: 0.7 * np.diag([1.0, 2.0, 3.0])}),
    (DRAGGING, 1.5, {2: [2], 3: [[1.5 * 2.38 * 3]], "w": [1.0, 2.0, 3.0]})])
def test_what_the_pilots_covariance_is_used_for(monkeypatch, method, setting, wanted):
    name = {HMC: "hmc", WALK: "fitted_walk", DRAGGING: "dragging"}[method]
    found, sd = {}, np.diag([1.0, 2.0, 3.0])
    monkeypatch.setattr(room, "pilot", lambda *given: SimpleNamespace(
        covariance=sd**2, factor=sd, density=5))
    monkeypatch.setattr(room, name, lambda *given, **named: found.update(
        dict(enumerate(given)) | named))
    with pytest.raises(AttributeError):  # of no chain
        room.run(1, 0, method, setting, 12, [3], N)
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-12)


def row_of(log_cost, believed=True, mean=0.0):
    ones, per = np.ones(2), Measured(-log_cost, 0.05 if believed else np.nan)
    found = Together(np.array([mean, 1.0]), 0.1 * ones, ones, 0.1 * ones, 100 * ones, 100 * ones,
                     900, 4, 2e4, 0, np.nan, 0.3)
    return {"together": found, "believed": believed, "rhat": 1.0, "bulk": 500.0, "tail": 500.0,
            "halves": 1.0, "e_bfmi": np.nan, "setting": 1.0, "before": 1000.0, "passes": believed,
            "off": 0.5, "shift": Measured(0.11, 0.001), "per gradient": per, "per second": per}


LOGS = {STANDARD: 4.4, SOD: 3.8, WALK: 3.0, DELAYED: 2.5}


def made_up():
    """Return a result in which the mapping of the walk is the best, and data sets scatter."""
    kinds = script.KINDS["paper"]
    r = script.Rivals(
        {(number, index, method): row_of(LOGS.get(method, 3.5) + 0.01 * index * k + 0.01 * number)
         for number in kinds for index in range(script.sets("paper", number))
         for k, method in enumerate(script.shown(number, index))},
        {number: {"scratch": 1.2, "gradient": 3.0} for number in kinds},
        {number: [0.001, 0.002, 0.003] for number in kinds})
    r.rows[7, 1, STANDARD]["off"] = 9.0
    return r


def shown():
    """Return it with another gain of the walk on each kind, and another price of each operation."""
    r = made_up()
    for key in r.rows:
        if key[2] == WALK:
            r.rows[key] = row_of(LOGS[WALK] + 0.1 * key[0])
    for number, costs in r.costs.items():
        costs.update({what: number + k / 10 for k, what in enumerate(script.PRICED)})
    return r


def costs_of(methods, log_cost):
    """Make a function that gives all rows of some methods this cost."""
    return lambda r: r._replace(rows=r.rows | {
        key: row_of(log_cost) for key in r.rows if key[2] in methods})


DRAW = "log(cost of a draw without / with), "
OTHERS = {other: f"mean over kinds: log(cost of a draw, {other} /" for other in script.OTHERS}
MOVED = {
    **{part: (costs_of([after], 9.0), [
        f"mean over kinds: {DRAW}{part}", *(f"{k}: mean over data sets: {DRAW}{part}"
                                            for k in script.KINDS["paper"]),
        *(OTHERS.values() if after == DELAYED else ())])
       for part, (_, after) in script.PARTS.items()},
    **{other: (costs_of([other], 0.0), [claim]) for other, claim in OTHERS.items()},
    **{f"{k} is another mean": (put("rows", (k, 1, SOD), row_of(3.8, mean=0.75)), [
        f"{k}: largest |z| against the random walk"]) for k in script.KINDS["paper"]},
    **{f"{k} is elsewhere": (put("rows", (k, 0, STANDARD), "off", 5.0), [
        f"{k}: largest |z| against quadrature"]) for k in quadrature.KINDS if k != quadrature.SEEN},
    "7 has no other mode": (put("rows", (7, 1, STANDARD), "off", 4.0), ["7: rows that pass"]),
    "NUTS has both modes": (put("rows", (2, 0, NUTS), "shift", Measured(0.09, 0.001)), ["2: NUTS"]),
    "halves are apart": (put("rows", (3, 1, WALK), "halves", 9.0), ["largest |z| between"]),
}


def test_one_quantity_moved_and_no_other_claim_differs():
    # nobody runs Nystrom-Cholesky on 2 and 3, nor dragging on 3 and 5
    check_moves(script, made_up(), MOVED)


def test_a_row_of_chains_at_its_prices():
    x = np.random.default_rng(3).standard_normal((4, 900, 2))
    chains = [moments(each) | {"counts": {"trial": 100, "scratch": 50}, "set_up": {"scratch": k},
                               "rate": 0.3, "divergences": 0, "e_bfmi": np.nan}
              for k, each in enumerate(x)]
    pilots = [{"counts": {"trial": 10}, "set_up": {"scratch": 5}}] * 2
    costs = {"trial": 1.0, "scratch": 2.0}
    row = room.row_at_prices(reliability(x) | {"chains": chains}, pilots, 0.7, costs, [0.1, 0.1])
    assert row["believed"] and (row["setting"], row["together"].gradients, row["before"]) == (
        0.7, 4 * 200, 2 * (0 + 1 + 2 + 3) + 2 * (10 + 2 * 5))
    found = pool([each | {"gradients": 200} for each in chains])
    assert row["per gradient"].value == pytest.approx(np.log(worst(found) / 800), rel=1e-12)
    assert row["per second"].value == pytest.approx(row["per gradient"].value - np.log(0.1))


def test_gains_are_means_over_believed_data_sets_or_over_the_first_ones():
    r = made_up()
    # places 3 and 4 of five in kind 3's first data set, 2 and 3 of the core of the others
    logs = [0.5 - 0.01 * index for index in range(5)]
    assert script.gain(r, 3, WALK, DELAYED) == pytest.approx(
        (np.mean(logs), np.std(logs, ddof=1) / 5**0.5))
    r.rows[3, 4, DELAYED] = row_of(0.0, believed=False)
    assert script.gain(r, 3, WALK, DELAYED).value == pytest.approx(np.mean(logs[:4]))
    for index in range(5):
        r.rows[3, index, WALK] = row_of(0.0, believed=False)
    assert np.isnan(script.gain(r, 3, WALK, DELAYED).se)
    rest = [script.gain(r, number, WALK, DELAYED).value for number in r.costs if number != 3]
    assert script.mean_gain(r, WALK, DELAYED).value == pytest.approx(np.mean(rest))
    r = made_up()
    r.rows[1, 0, HMC] = row_of(7.0)
    wanted = [7.0 - 2.51, *[1.0] * 4]  # of kinds 1 to 5: with 900 cases nobody runs it
    assert script.ahead_of_others(r, HMC).value == pytest.approx(np.mean(wanted))
    r.rows[2, 0, DELAYED] = row_of(2.5, believed=False)
    assert script.ahead_of_others(r, HMC).value == pytest.approx(np.mean(wanted[:-1]))


def test_a_mean_that_is_another_is_seen_unless_it_is_not_believed():
    r = made_up()
    assert script.distance_to_walk(r, 4).value == 0.0
    r.rows[4, 2, SOD] = row_of(3.8, mean=1.0)
    compared = sum(key[0] == 4 and key[2] != WALK for key in r.rows)
    one = as_one(1 / 0.02**0.5, 4)  # of two means and two deviations
    assert script.distance_to_walk(r, 4).value == pytest.approx(as_one(one, compared), rel=1e-9)
    r.rows[4, 2, SOD] = row_of(3.8, believed=False, mean=1.0)
    assert script.distance_to_walk(r, 4).value == 0.0
    for index in range(5):
        r.rows[4, index, WALK] = row_of(3.0, believed=False)
    assert np.isnan(script.distance_to_walk(r, 4).se)


def test_when_what_was_before_is_paid():
    r = made_up()
    assert script.paid_after(r, 1, WALK) == "0"
    r.rows[1, 0, WALK]["before"] = 3000.0
    saved = np.exp(4.41) - np.exp(3.01)
    assert script.paid_after(r, 1, WALK) == f"{2000 / saved:.0f}" == "32"
    r.rows[1, 0, WALK] = row_of(5.0)
    assert script.paid_after(r, 1, WALK) == "never"
    r.rows[1, 0, WALK] = row_of(3.0, believed=False)
    assert script.paid_after(r, 1, WALK) == ""
    assert script.table(r).count("not believed\n1, ") == 1


def test_the_picture_marks_what_is_believed_on_no_data_set():
    r = made_up()
    for number, index, method in ((1, 0, HMC), (3, 0, SOD), (3, 1, SOD)):  # SOD has other data sets
        r.rows[number, index, method] = row_of(0.0, believed=False)
    one, _, more = axes = script.figure(r).axes  # kinds 1, 2 and 4; 3 and 5; 6 to 9
    # a gray line, then a kind's costs and its open marks
    lost = [[line.get_ydata().round().tolist() for line in ax.lines if line.get_mfc() == "white"]
            for ax in axes]
    assert lost == [[[[*script.METHODS, *script.RIVALS].index(HMC)], [], []], [[]] * 2, [[]] * 4]
    assert [ax.get_legend_handles_labels()[1] for ax in axes] == [
        ["kind 1 or 6", "kind 2 or 7", "kind 4 or 9"], ["kind 3 or 8", "kind 5"],
        ["kind 1 or 6", "kind 2 or 7", "kind 3 or 8", "kind 4 or 9"]]
    bars = [[each[0].get_c() for each in ax.containers] for ax in axes]
    # one colour of what is alike
    assert bars[2] == [*bars[0][:2], bars[1][0], bars[0][2]] and len({*bars[2]}) == 4
    assert more.containers[2][0].get_data()[0].size == len(script.CORE)  # of kind 8
    assert all(line.get_xdata() == [0.98] for line in one.lines  # of the panel's width
               if line.get_mfc() == "white" and line.get_ydata().size)
    believed, _ = one.containers[0][0].get_data()  # of kind 1
    assert believed[0] == pytest.approx(np.exp(4.41)) and believed.size == 12
    for key in r.rows:  # a short run: a logarithmic axis with open marks alone
        r.rows[key] = row_of(0.0, believed=False)
    assert all(0 < ax.get_xlim()[0] < ax.get_xlim()[1] for ax in script.figure(r).axes)


def test_chains_are_as_long_as_their_pilot_says(monkeypatch):
    class Experiment(studies.Recorder):
        def made(self, function, tasks):
            if function is room.pilot_chain:
                return [{"ess": 60.0, "efficiency": {0.5: 1, 1.0: 3, 2.0: 2}.get(t["setting"], 1),
                         "per iteration": 0.5 if t["method"] == WALK else 0.0, "counts": {},
                         "set_up": {}} for t in tasks]
            if function is room.seconds_of:
                return [{"seconds": {"trial": [1.0]}}]
            first = [name for name, _ in self.calls].count("row_of_chains") == 1
            return [{"chains": [0] * 4, "rhat": 1.0, "tail": 500.0, "bulk": 200.0 if (
                t["number"], t["method"], first) == (4, WALK, True) else 500.0} for t in tasks]

    monkeypatch.setattr(room, "row_at_prices", lambda found, pilots, setting, *rest: setting)
    monkeypatch.setattr(script.quadrature, "judge_rows", lambda experiment, rows, n: rows)
    monkeypatch.setattr(script, "FEWER", {4: 1, 8: 3})
    experiment = Experiment("short")
    assert script.cases(experiment) == "2 data sets of each kind, 1 of kind 4, simulated"
    result = script.run(experiment, None)
    asked, again = (tasks for name, tasks in experiment.calls if name == "row_of_chains")
    tasks = {(t["number"], t["index"], t["method"]): t for t in asked}
    assert {key[:2] for key in tasks} == {(1, 0), (1, 1), (4, 0), (5, 0), (5, 1)}
    assert {m for k, i, m in tasks if i == 1} == set(script.CORE)
    assert result.rows[5, 1, STANDARD] == 1.0 == tasks[5, 1, STANDARD]["setting"]
    # 25 effective draws, of which a tenth is dropped; the longest that is allowed without any
    assert tasks[5, 0, WALK]["iterations"] == round(25 / 0.9 / 0.5)
    assert tasks[5, 0, STANDARD]["iterations"] == round(800 / (5.5 * ROWS[5].d))
    assert tasks[4, 0, STANDARD]["iterations"] == round(4000 / (5.5 * 3))
    assert len({tuple(t["seed"]) for t in asked + again}) == len(asked + again)
    # those that lack draws are run anew, as much longer as they lack, and more
    assert [(t["number"], t["index"], t["method"]) for t in again] == [(4, 0, WALK)]
    assert again[0]["iterations"] == round(3.2 * round(25 / 0.9 / 0.5))


@pytest.mark.parametrize(("rhat", "bulk", "tail", "times"), [
    (1.0, 500, 500, 1), (1.02, 500, 500, 2), (1.0, 390, 500, 2), (1.0, 500, 100, 6.4),
    (1.06, 500, 100, 1), (np.nan, 5, 5, 1)])
def test_how_much_longer_a_row_has_to_be(rhat, bulk, tail, times):
    found = {"chains": [0] * 4, "rhat": rhat, "bulk": bulk, "tail": tail}
    assert room.longer(found) == times


def model_of(n, prior_sd=0.5):
    rng = np.random.default_rng(2)
    return GPRegression.from_data(rng.random((n, 2)), rng.standard_normal(n), "isotropic", 3.0,
                                  [-0.3, 0.4, -0.5], prior_sd)


def test_the_moments_are_those_of_a_sum_over_a_box_of_the_hyperparameters():
    model = model_of(4)
    axes = [m + np.linspace(-2.5, 2.5, 26) for m in model.mean]
    q = np.stack([x.ravel() for x in np.meshgrid(*axes)], axis=1)
    energies = np.array([U(each, model) for each in q])
    p = np.exp(energies.min() - energies)
    p /= p.sum()
    x = np.column_stack([q, [log_likelihood(each, model) for each in q]])
    mean = p @ x
    found = quadrature.exact_moments(model)
    np.testing.assert_allclose(found["mean"], mean, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found["sd"], np.sqrt(p @ (x - mean) ** 2), rtol=1e-3)
    with pytest.raises(ValueError, match="model must have a posterior within the grid"):
        quadrature.exact_moments(model_of(2, 30.0))


EXACT = {"mean": [0.0, 1.0], "sd": [2.0, 1.0]}


def test_rows_that_pass_and_are_elsewhere_are_not_believed():
    near = quadrature.judge_row(row_of(3.0), EXACT | {"sd": [1.0, 1.0]})
    assert near["believed"] and near["passes"] and near["off"] == pytest.approx(as_one(0.0, 4))
    far = quadrature.judge_row(row_of(3.0, mean=0.2), EXACT)  # its deviation is 10 errors away
    assert far["passes"] and not far["believed"] and far["off"] == as_one(10.0, 4)
    assert far["shift"] == pytest.approx((0.1, 0.05))
    assert np.isnan(far["per gradient"].se) and np.isnan(far["per second"].se)
    off = quadrature.judge_row(row_of(3.0, believed=False), EXACT)
    assert not off["passes"] and not off["believed"]
    quadratures = studies.Recorder("paper", lambda function, tasks: [
        {"mean": [task["number"] - task["index"], 1.0], "sd": [1.0, 1.0]} for task in tasks
        if task["n"] == 30])
    rows = {(number, index, WALK): row_of(3.0, mean=1.0) for number in (1, 4, 5)
            for index in range(2)}
    found = quadrature.judge_rows(quadratures, rows, 30)
    assert {key for key, row in found.items() if not row["believed"]} == {
        (1, 1, WALK), (4, 0, WALK), (4, 1, WALK)}


def test_the_grids_close_in_on_what_is_narrow(monkeypatch):
    model, sd = model_of(7), np.array([0.1, 0.9, 0.3])
    at = np.array([np.log(model.y.std()) + 0.05, 0.2, model.mean[2]])

    def on_grid(model, *axes):
        x = np.meshgrid(*axes, indexing="ij", sparse=True)
        P = np.exp(-sum((a - m) ** 2 / s**2 for a, m, s in zip(x, at, sd, strict=True)) / 2)
        return P / P.sum(), x

    monkeypatch.setattr(quadrature, "on_grid", on_grid)
    found = quadrature.exact_moments(model, (28, 28, 28))
    # of the first grid a step is three deviations of t, by which its deviation is off by a sixth
    np.testing.assert_allclose(found["mean"], at, rtol=0, atol=1e-3)
    np.testing.assert_allclose(found["sd"], sd, rtol=1e-2)


def test_what_passes_is_compared_whether_it_is_believed_or_not():
    wrong = row_of(3.0) | {"off": 9.0, "believed": False}
    assert quadrature.distance({(2, 0, STANDARD): wrong, (2, 0, WALK): row_of(3.0)}, 2) == (
        as_one(9.0, 2), 0.0)
    others = {(2, 0, NUTS): wrong, (1, 1, WALK): wrong, (2, 0, WALK): wrong | {"passes": False}}
    assert np.isnan(quadrature.distance(others, 2).se)
    cells, *_ = read_table(quadrature.table({
        (1, 0, STANDARD): row_of(3.0), (2, 0, STANDARD): wrong, (2, 1, STANDARD): row_of(3.0),
        (4, 0, STANDARD): wrong | {"passes": False}}), "data sets")
    assert cells == {"data sets": STANDARD, "kind 1": "0.5", "kind 2": "9 0.5", "kind 4": "-"} | {
        f"kind {number}": "" for number in (6, 7, 9)}
