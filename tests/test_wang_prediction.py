"""Predictions: scores by hand, the maximum likelihood by another route, claims, what is run."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.stats import norm

from algorithms.ess import initial_sequence
from judging import check_moves, read_tables
from models.gp_regression import GPRegression, predict
from models.interface import log_likelihood
from reproduce.beyond import wang_prediction as script
from reproduce.harness.files import DataError
from reproduce.wang import prediction as room
from reproduce.wang.datasets import C, data
from reproduce.wang.prediction import LIKELIHOOD, POSTERIOR, TESTS, TRUTH
from reproduce.wang.printed import ROWS

X = np.linspace(0, 1, 9)[:, None]
MODEL = GPRegression.from_data(X, np.sin(6 * X[:, 0]) + 2, "isotropic", c=C)
DRAWS = np.log([[0.3, 1.0, 0.4], [0.5, 2.0, 0.7]])
Z, Y = np.array([[0.15], [0.5], [1.4]]), np.array([2.5, 2.1, 3.0])


def test_the_score_of_a_mixture_and_the_ends_of_intervals_by_hand():
    each = [predict(Z, q, MODEL) for q in DRAWS]
    densities, below, middle = (np.mean([of(p) for p in each], axis=0) for of in (
        lambda p: norm.pdf(Y, p.mean, p.noisy**0.5), lambda p: norm.cdf(Y, p.mean, p.noisy**0.5),
        lambda p: p.mean))
    assert room.score(Z, Y, DRAWS, MODEL) == {
        "density": pytest.approx(np.log(densities).mean(), rel=1e-12),
        "error": pytest.approx(np.sqrt(np.mean((middle - Y) ** 2)), rel=1e-12),
        "coverage": [np.mean((below >= low) & (below <= 1 - low)) for low in (0.25, 0.025)]}
    p = predict(Z, DRAWS[0], MODEL)
    for factor, inside in ((0.67, [1, 1]), (0.68, [0, 1]), (1.95, [0, 1]), (1.97, [0, 0])):
        for y in (p.mean + factor * p.noisy**0.5, p.mean - factor * p.noisy**0.5):
            assert room.score(Z, y, DRAWS[:1], MODEL)["coverage"] == inside


def test_the_maximum_likelihood_is_the_highest_of_several_searches(monkeypatch):
    rng = np.random.default_rng(1)
    best = room.maximum_likelihood(MODEL, rng)
    top = log_likelihood(best, MODEL)
    assert (np.abs(best) <= room.EDGE).all()
    for _ in range(30):
        there = np.clip(best + rng.choice([0.01, 0.3, 2.0]) * rng.standard_normal(3), -8, 8)
        assert log_likelihood(there, MODEL) <= top + 1e-6  # the search's own tolerance
    search = Mock(side_effect=[SimpleNamespace(fun=fun, x=fun) for fun in (3, 2, 4, 1, 5)])
    monkeypatch.setattr(room, "minimize", search)
    assert room.maximum_likelihood(MODEL, rng) == 1
    first, *others = (tuple(call.args[1]) for call in search.call_args_list)
    assert first == (0, 0, 0) and len({first, *others}) == 5
    assert search.call_args.kwargs["bounds"] == [(-8.0, 8.0)] * 3


def test_simulated_cases_and_the_ground_are_what_they_should_be():
    ground = room.heights()
    assert ground.X.shape == (344 * 403, 2) and ground.X.min() == 0 and ground.X.max() == 1
    assert ground.X[:, 1].max() == pytest.approx(343 / 402, rel=1e-12)
    assert ground.y.mean() == pytest.approx(0, abs=1e-12) and ground.y.std() == pytest.approx(1)
    # the next point of a row is next in x, and about as high
    np.testing.assert_allclose(ground.X[1] - ground.X[0], [1 / 402, 0], rtol=0, atol=1e-15)
    assert np.corrcoef(ground.y[:-1], ground.y[1:])[0, 1] > 0.9
    model, z, _ = room.drawn(30, 2)
    assert model.y.size == 30 and z.shape == (TESTS, 2) and model.precision.size == 4
    assert len({tuple(x) for x in np.r_[model.XT.T, z]}) == 30 + TESTS
    # as those of the stored chains
    np.testing.assert_allclose(402 * model.XT.T[:2], [[19, 23], [294, 327]], rtol=1e-12)
    assert not np.array_equal(room.drawn(30, 3)[0].y, model.y)
    model, z, y, truth = room.simulate(3, 1, 12)
    X, whole, q = data(3, 1, 12 + TESTS)
    for ours, wanted in (((model.XT.T, z), X), ((model.y, y), whole), ((truth,), q)):
        np.testing.assert_array_equal(np.concatenate(ours), wanted)
    assert model.precision.size == ROWS[3].d and model.c2 == C**2
    assert room.simulate(1, 0)[0].y.size == 300


@pytest.mark.parametrize("there", [
    {"elevation": np.zeros((2, 2))}, {"heights": np.zeros(2)}, OSError("nowhere")])
def test_other_heights_or_none_are_a_sentence_and_status_2(there, monkeypatch, capsys):
    monkeypatch.setattr("matplotlib.cbook.get_sample_data", Mock(side_effect=[there] * 2))
    with pytest.raises(DataError, match="jacksboro_fault_dem"):
        room.heights()
    with pytest.raises(SystemExit) as end:
        script.cases(None)
    assert end.value.code == 2 and "Matplotlib" in capsys.readouterr().err


@pytest.mark.parametrize("number", [1, 0])
def test_what_is_scored_of_a_chain(monkeypatch, number):
    d = ROWS[1].d if number else 4
    best = np.array([-8.0, 4.0, 0.5, 0.0])[:d]
    x = np.random.default_rng(1).standard_normal((60, d)).cumsum(axis=0)
    x[:, 0] = np.random.default_rng(2).standard_normal(60)  # the others are correlated

    pilot = Mock(return_value=SimpleNamespace(q="end", factor="factor"))
    monkeypatch.setattr(room, "maximum_likelihood", lambda model, rng: best)
    monkeypatch.setattr(room, "pilot", pilot)
    monkeypatch.setattr(room, "fitted_walk", lambda q, model, factor, n, rng: SimpleNamespace(
        samples={("end", "factor", 60): x}[q, factor, n]))
    monkeypatch.setattr(room, "score", lambda Z, y, draws, model: draws)
    found = room.compared(number, 0, [1, 2], 60, 4, 12)
    # evenly from the first that is no burn-in, a tenth, to the last
    np.testing.assert_array_equal(found[POSTERIOR], x[[6, 23, 41, 59]])
    np.testing.assert_array_equal(found[LIKELIHOOD], [best])
    assert not number or (found[TRUTH] == [data(1, 0, 12 + TESTS)[2]]).all()
    assert found["draws"] == min(initial_sequence(each).ess for each in x.T)
    assert found["edge"]  # in one hyperparameter
    # a walk begins where it can move
    start, _, transitions, _ = pilot.call_args.args
    assert start.tolist() == [-3.0, 3.0, 0.5, 0.0][:d] and transitions == 5
    best[0] = -7.9
    assert not room.compared(number, 0, [1, 2], 60, 4, 12)["edge"]


def scored(density, inside=0.95, error=0.3):
    return {"density": density, "coverage": [inside - 0.45, inside], "error": error}


def made_up():
    """Return a result in which the posterior is better by .02 +- .002, and covers as it should."""
    rng = np.random.default_rng(3)

    def one(truth):
        level = 0.95 + 0.01 * rng.uniform(-1, 1)
        base = rng.standard_normal()
        return {POSTERIOR: scored(base + 0.02 + 0.002 * rng.standard_normal(), level),
                LIKELIHOOD: scored(base, level - 0.04, 0.4), "draws": 90.0, "edge": False} | (
                    {TRUTH: scored(base + 0.03, level)} if truth else {})

    return {("row", number): [one(True) for _ in range(4)] for number in ROWS} | {
        ("ground", n): [one(False) for _ in range(4)] for n in script.POINTS["paper"]}


def raised(by, name, part, keys):
    """Make a function that adds to a score of some data: to "density", or to a coverage."""
    def change(r):
        for each in (each[name] for key in keys for each in r[key]):
            (each if part == "density" else each["coverage"])[part] += by
    return change


SIMULATED = [("row", number) for number in ROWS]
MOVED = {f"{what} {move[0]}": (raised(*move), [what]) for what, *move in (
    *((f"{name}: share of cases in their intervals of {level}%", by, *part, SIMULATED)
      for name, level, *part in (("the truth", 50, TRUTH, 0), ("the truth", 95, TRUTH, 1),
                                 ("posterior", 95, POSTERIOR, 1)) for by in (-0.026, 0.024)),
    ("n = 300: log density of a case", 0.1, LIKELIHOOD, "density", SIMULATED[:5]),
    ("ground, fewest points: log density", 0.1, LIKELIHOOD, "density", [("ground", 25)]))}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(script, made_up(), MOVED)


def test_the_table_by_hand():
    sets = [{name: scored(density, level, error) for name, density, level, error in (
        (POSTERIOR, 0.25, 0.95, 0.3), (LIKELIHOOD, 0.125, 0.9, 0.4), (TRUTH, 0.5, 0.96, 0.2))}
        | {"draws": draws, "edge": edge} for draws, edge in ((90.0, True), (80.0, False))]
    (row,) = read_tables(script.table({("row", 1): sets}))[0]
    assert row == {
        "data": "1: short, isotropic, n = 300", "sets": "2", "density": "0.25",
        "posterior - ML": "0.125", "in 50%": "0.500 0.450 0.510",
        "in 95%": "0.950 0.900 0.960", "error": "0.300 0.400 0.200", "draws": "80",
        "at an edge": "1"}


def test_ten_data_sets_of_a_row_count_where_it_has_more():
    r = {("row", 3): [{TRUTH: scored(0.0, inside)} for inside in [0.9] * 10 + [0.5] * 53],
         ("row", 4): [{TRUTH: scored(0.0, 0.8)}] * 10, ("ground", 25): [{TRUTH: scored(0.0, 0.6)}]}
    assert script.overall(r, TRUTH, 0.95).value == pytest.approx(0.85)


def test_the_figure_has_gains_and_the_coverage_of_95_per_cent_with_two_standard_errors():
    r = made_up()
    left, right = script.figure(r).axes
    assert "log density" in left.get_title() and "share of cases" in right.get_title()
    simulated = script.rows(r)
    wanted = [[script.gain(r, key) for key in r], *(
        [script.coverage(r, key, name, 0.95) for key in (simulated if name == TRUTH else r)]
        for name in (POSTERIOR, LIKELIHOOD, TRUTH))]
    for bar, values in zip([*left.containers, *right.containers], wanted, strict=True):
        assert np.round(np.array(bar.lines[0].get_ydata(), float)).tolist() == [*range(len(values))]
        ends = [segment[:, 0] for segment in bar.lines[2][0].get_segments()]
        np.testing.assert_allclose(ends, [
            (m.value - 2 * m.se, m.value + 2 * m.se) for m in values], rtol=1e-12)
    assert [ax.lines[-1].get_xdata()[0] for ax in (left, right)] == [0, 0.95]
    assert [bar.get_label() for bar in right.containers] == [POSTERIOR, LIKELIHOOD, TRUTH]
