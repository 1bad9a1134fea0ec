"""The rivals: what a chain asks for and what that costs, and what is kept of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.ess import initial_sequence
from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_spectral import GPSpectral
from models.gp_subset import GPSubset
from models.gp_variational import GPVariational
from models.interface import U, log_likelihood
from reproduce.beyond import wang_rivals as script
from reproduce.beyond.rivals.moments import (
    Together,
    reliability,
)
from reproduce.harness.claims import Measured
from reproduce.wang import rivals as room
from reproduce.wang.datasets import order
from reproduce.wang.long_chains import target
from reproduce.wang.printed import NYSTROM, SOD, STANDARD, TEMPERED
from reproduce.wang.rivals import DELAYED, DRAGGING, HMC, NUTS, WALK, Run
from sampling.summary import e_bfmi

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


def made_up_chain(rng, n, energies=()):
    x = rng.standard_normal((n, 2))
    return Run(x, rng.standard_normal(n), {"trial": 5 * n, "trial SOD 7": 4}, {"scratch": 2}, 0.5,
               np.array(energies, float), 3)


def test_what_is_kept_of_a_chain(monkeypatch):
    monkeypatch.setattr(room, "run", lambda *given: made_up_chain(
        np.random.default_rng(given[-2]), given[4], np.arange(given[4])))
    whole = made_up_chain(np.random.default_rng([0]), 40)
    x, found = room.draws(1, 0, HMC, 1.0, 40, [0])
    np.testing.assert_array_equal(x, np.column_stack([whole.samples, whole.log_likelihood])[4:])
    # those of the last 36 of 40
    assert found["counts"] == {"trial": 0.9 * 200, "trial SOD 7": pytest.approx(3.6)}
    assert (found["set_up"], found["rate"], found["divergences"]) == ({"scratch": 2}, 0.5, 3)
    assert found["e_bfmi"] == pytest.approx(e_bfmi(np.arange(4, 40), 2), rel=1e-12)

    n_eff = [initial_sequence(each).ess for each in (x, (x - x.mean(0)) ** 2)]
    least = float(np.min(n_eff))
    pilot = room.pilot_chain(5, WALK, 1.0, 40, [0], 70)  # 7 of 70 cases: a thousandth
    assert pilot["ess"] == pytest.approx(least, rel=1e-9)
    assert pilot["efficiency"] == pytest.approx(least / (180 + 3.6 / 1000), rel=1e-9)
    assert pilot["per iteration"] == pytest.approx(least / 36, rel=1e-9)
    assert (pilot["counts"], pilot["set_up"]) == (found["counts"], {"scratch": 2})

    row = room.row_of_chains(1, 0, WALK, 1.0, 400, 3, [7])
    every = np.array([room.draws(1, 0, WALK, 1.0, 400, [7, k])[0] for k in range(3)])
    assert {key: row[key] for key in ("rhat", "bulk", "tail")} == reliability(every)
    for chain, x in zip(row["chains"], every, strict=True):
        np.testing.assert_allclose(chain["mean"], x.mean(0), rtol=1e-6)
        assert chain["n"] == 360 and chain["counts"]["trial"] == 0.9 * 2000


def test_a_pilot_that_never_moved_has_nothing(monkeypatch):
    monkeypatch.setattr(room, "run", lambda *given: made_up_chain(
        np.random.default_rng(0), 40)._replace(samples=np.ones((40, 2))))
    found = room.pilot_chain(1, WALK, 1.0, 40, [0], 20)
    assert found["ess"] == found["efficiency"] == found["per iteration"] == 0


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


class Asked(Exception):
    """Raised in place of a chain."""


SD = np.diag([1.0, 2.0, 3.0])  # of the pilot


@pytest.mark.parametrize(("method", "function", "setting", "wanted"), [
    # eps, L, M and the jitter; the factor, and steps on pi*; the slow variable and its factor, and
    # the widths; iterations, and the width and limit of a slice
    (HMC, "hmc", (0.9, 2), {2: 0.9, 3: 2, 6: np.diag([1, 1 / 4, 1 / 9]), 7: 0.2}),
    (WALK, "fitted_walk", 0.7, {2: 0.7 * SD}),
    (DELAYED, "delayed_acceptance", 0.7, {3: 0.7 * SD, 6: 1}),
    ("surrogate", "delayed_acceptance", 8, {3: SD, 6: 8}),
    (DRAGGING, "dragging", 1.5, {2: [2], 3: [[1.5 * 2.38 * 3]], "w": [1.0, 2.0, 3.0]}),
    (STANDARD, "samples", 0.5, {4: 12, 7: 0.5, 8: 10}),
    (TEMPERED, "samples", 0.5, {4: 12, 7: 0.5, 8: 10})])
def test_what_a_setting_and_the_pilots_covariance_are_used_for(monkeypatch, method, function,
                                                               setting, wanted):
    found = {}

    def stop(*given, **named):
        found.update(dict(enumerate(given)) | named)
        raise Asked

    monkeypatch.setattr(room, "pilot", lambda *given: SimpleNamespace(
        covariance=SD**2, factor=SD, density=5))
    monkeypatch.setattr(room, function, stop)
    with pytest.raises(Asked):
        room.run(1, 0, method, setting, 12, [3], N)
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-12)


# The script


def row_of(log_cost, believed=True, mean=0.0):
    """Make a row of two quantities."""
    ones = np.ones(2)
    found = Together(np.array([mean, 1.0]), 0.1 * ones, ones, 0.1 * ones, 100 * ones, 100 * ones,
                     900, 4, 2e4, 0, np.nan, 0.3)
    return {"together": found, "believed": believed, "rhat": 1.0, "bulk": 500.0, "tail": 500.0,
            "halves": 1.0, "e_bfmi": np.nan, "setting": 1.0, "before": 1000.0,
            "passes": believed, "off": 0.5, "shift": Measured(0.3, 0.01),
            "per gradient": Measured(-log_cost, 0.05 if believed else np.nan),
            "per second": Measured(-log_cost, 0.05 if believed else np.nan)}


def test_what_takes_more_for_a_draw_is_never_paid():
    rows = {(1, 0, STANDARD): row_of(4.4), (1, 0, WALK): row_of(5.0)}
    assert script.paid_after(script.Rivals(rows, {}, {}), 1, WALK) == "never"


@pytest.mark.parametrize(("rhat", "bulk", "tail", "times"), [
    (1.0, 500, 500, 1), (1.02, 500, 500, 2), (1.0, 390, 500, 2), (1.0, 500, 100, 6.4),
    (1.06, 500, 100, 1), (np.nan, 5, 5, 1)])
def test_how_much_longer_a_row_has_to_be(rhat, bulk, tail, times):
    found = {"chains": [0] * 4, "rhat": rhat, "bulk": bulk, "tail": tail}
    assert room.longer(found) == times
