"""NUTS beside two libraries: that all have one density, what a row counts, and the claims."""

from types import SimpleNamespace

import numpy as np
import pytest

import studies
from judging import check_moves, disagreeing, put, read_table, verdicts
from made_up_chains import five, off
from models.interface import U, grad_U
from reproduce.beyond import nuts as script
from reproduce.beyond.nuts import BLACKJAX, FISHER, METHODS, NUTPIE, OURS, PROBLEMS
from reproduce.beyond.rivals.moments import moments, reliability
from reproduce.harness.claims import UNMADE, Measured
from reproduce.harness.run import Settings
from reproduce.shahbaba import datasets as classes
from reproduce.zhang import datasets as groups

WITHOUT_DATA = {"logistic": f"{classes.STAND_IN}1", "credit": f"{groups.STAND_IN}1"}


@pytest.fixture(scope="module")
def jax():
    needs = "needs the extra `compare`: pip install -e '.[compare]'"
    pytest.importorskip("blackjax", reason=needs)
    jax = pytest.importorskip("jax", reason=needs)
    before = jax.config.jax_enable_x64
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_density_of_blackjax_is_that_of_the_model(jax, name):
    model, log_density, start = script.problem(name, WITHOUT_DATA.get(name, ""))
    rng = np.random.default_rng(0)
    a, b = start(rng), start(rng)
    # normalising constants may differ; sums of up to 2000 terms
    assert float(log_density(a) - log_density(b)) == pytest.approx(U(b, model) - U(a, model),
                                                                  rel=1e-10)
    np.testing.assert_allclose(jax.grad(log_density)(a), -grad_U(a, model), rtol=1e-8, atol=1e-8)


def test_blackjax_samples_its_density_and_counts(jax):
    sd = np.array([0.1, 3.0])
    sample = script.blackjax_nuts.sampler(lambda q: -(q / sd) @ (q / sd) / 2, 0.8)
    found, again, other = (sample(sd, 2000, 300, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(found["q"], again["q"])
    assert found["q"].shape == (2000, 2) and (found["q"] != other["q"]).any()
    # about 2000 effective draws: six standard errors of a deviation
    assert found["q"].std(axis=0) == pytest.approx(sd, rel=0.1)
    # transitions of 1, 3 or 7 gradients mostly; U and K have the same variance, 1, so d / (1 + 1)
    assert 3 < found["steps"] / 2000 < 8 and 1 < found["warm_up"] / 300 < 30
    assert found["divergences"] == 0 and found["e_bfmi"] == pytest.approx(1.0, abs=0.2)
    # H rises by far more than 1000 where a step ends beyond the mean, as about half of them do
    half = script.blackjax_nuts.sampler(lambda q: -(q @ q) / 2 - 1e5 * (q[0] > 0), 0.8)
    assert half(-sd, 200, 100, 1)["divergences"] > 20


@pytest.mark.parametrize("credit", ["", "no credit"])
@pytest.mark.parametrize("logistic", ["CTG", classes.StandIn("others", "no CTG")])
def test_data_that_take_the_place_of_others_are_noted(credit, logistic, monkeypatch):
    monkeypatch.setattr(groups, "german_credit",
                        lambda folder: groups.simulated_credit()._replace(note=credit))
    monkeypatch.setattr(classes, "names", lambda *_: logistic)
    found = script.cases(Settings("smoke"))
    assert found.note == "; ".join(filter(None, [credit, "no CTG" * (logistic != "CTG")]))
    assert found.names == {"credit": groups.simulated_credit().name,
                           "logistic": getattr(logistic, "name", "CTG")}


def test_a_row_has_the_chains_of_its_method_from_the_same_starts(monkeypatch):
    seen = []

    def sample(start, draws, tune, seed):
        seen.append((start, draws, tune, seed))
        q = np.random.default_rng(seed).standard_normal((draws, 2))
        return {"q": q, "steps": 70, "warm_up": 30, "divergences": len(seen), "e_bfmi": 0.8}

    monkeypatch.setattr(script, "runners", lambda name, data: (
        {OURS: sample, NUTPIE: sample}, lambda rng: rng.standard_normal(2)))
    found = [script.row_of_chains("normal", "", method, 50, 20, 2, [3, 1])
             for method in (OURS, NUTPIE)]
    np.testing.assert_array_equal([each[0] for each in seen[:2]], [each[0] for each in seen[2:]])
    assert len({each[3] for each in seen}) == 2 and {each[1:3] for each in seen} == {(50, 20)}
    q = np.array([np.random.default_rng(seed).standard_normal((50, 2)) for *_, seed in seen[:2]])
    assert {key: found[0][key] for key in ("rhat", "bulk", "tail")} == reliability(q)
    for k, chain in enumerate(found[0]["chains"]):
        np.testing.assert_allclose(chain["mean"], moments(q[k])["mean"], rtol=1e-5)
        assert [chain[key] for key in ("gradients", "set_up", "divergences", "e_bfmi")] == [
            70, 30, k + 1, 0.8]


def test_our_chain_counts_gradients_before_and_after_its_warm_up():
    model, start = script.Gaussian(np.zeros(2), np.eye(2)), np.ones(2)
    found = script.our_chain(model, start, 40, 30, 5, mass="fisher")
    chain = script.nuts(start, model, 40, np.random.default_rng(5), 30, "fisher")
    np.testing.assert_array_equal(found["q"], chain.samples)
    assert found["steps"] == chain.gradients.sum()
    assert found["steps"] + found["warm_up"] == chain.counts.gradient
    assert (found["divergences"], found["e_bfmi"]) == (chain.divergences, chain.e_bfmi)


def made_up():
    """Return a result of which every claim is true."""
    return {(name, method): {
        "together": five(), "per gradient": Measured(-3.0, 0.01), "believed": True,
        "per second": Measured(5.0 if method in (OURS, FISHER) else 4.0, 0.02), "rhat": 1.0,
        "bulk": 900.0, "tail": 900.0, "halves": 1.0, "e_bfmi": 0.9, "set-up": 500.0}
        for name in PROBLEMS for method in METHODS}


def test_one_quantity_moved_and_no_other_claim_differs():
    worst = " / the better of nutpie and blackjax)"  # a tenth below it is told
    check_moves(script, made_up(), {
        f"{name}, {best}, {per} {value}": (
            put((name, best), per, Measured(value, 0.01)),
            [f"{name}: log(worst ESS {per}, {method}{worst}" for method in methods])
        for name in PROBLEMS for best in (NUTPIE, BLACKJAX) for per, value, methods in (
            ("per gradient", -2.8, [OURS, FISHER]), ("per gradient", -2.96, []),
            ("per second", 5.2, [OURS]))} | {
        f"{name}, {method}": (
            put((name, method), "together", off(five(), "mean", 5.0)),
            [f"{name}, {each}: largest |z| against {NUTPIE}, adjusted" for each in METHODS
             if each != NUTPIE and method in (each, NUTPIE)])
        for name in PROBLEMS for method in METHODS} | {
        "halves": (put(("credit", OURS), "halves", 6.0), [
            "largest |z| between two chains and the other two of a row, adjusted"])})


def test_a_row_that_is_not_believed_is_compared_with_none_and_not_drawn():
    result = made_up()
    result["funnel", FISHER] |= {"believed": False, "per gradient": Measured(-3.0, np.nan)}
    found = {verdicts(script, result)[what] for what in disagreeing(script, result)}
    assert found == {UNMADE} and len(disagreeing(script, result)) == 2
    (row,) = (row for row in read_table(script.table(result), "problem")
              if (row["problem"], row["method"]) == ("funnel", FISHER))
    assert row["per 1000 gradients"] == "not believed" and row["CPU ms"] == ""
    assert [len(ax.containers) for ax in script.figure(result).axes] == [15, 15]  # of 16 rows


def test_rows_and_bars_are_effective_draws_of_1000_gradients_and_milliseconds_of_one():
    row = read_table(script.table(put(("normal", OURS), "tail", 700.0)(made_up())), "problem")[0]
    # exp(-3) thousand times, and exp(-5) seconds
    assert row == {
        "problem": "normal", "method": OURS, "draws": "5000", "gradients": "20", "before": "500",
        "div.": "0", "R-hat": "1.000", "bulk": "900", "tail": "700", "E-BFMI": "0.90",
        "values": "900", "squares": "800", "per 1000 gradients": "49.79 (0.50)",
        "CPU ms": "6.74 (0.13)"}
    fig = script.figure(made_up())
    axes = fig.axes
    assert ["1000 gradients" in ax.get_title() for ax in axes] == [True, False]
    assert [tick.get_text() for tick in axes[0].get_xticklabels()] == [*PROBLEMS]
    for k, mark in enumerate(fig.legends[0].legend_handles):  # of each method four problems
        points = [bar.lines[0] for bar in axes[1].containers[4 * k : 4 * k + 4]]
        assert mark.get_label() == METHODS[k]
        assert {point.get_color() for point in points} == {mark.get_color()}
    heights = [bar.lines[0].get_ydata()[0] for ax in axes for bar in ax.containers]
    np.testing.assert_allclose(heights, [1000 * np.exp(-3)] * 16 + [
        1000 * np.exp(-5)] * 8 + [1000 * np.exp(-4)] * 8)


def test_the_clock_is_of_all_gradients(monkeypatch):
    ticks = iter(range(0, 600, 6))
    monkeypatch.setattr(script.time, "process_time", lambda: float(next(ticks)))
    monkeypatch.setattr(script, "runners", lambda *_: (
        {"a": lambda *_: {"steps": 2, "warm_up": 1}}, lambda rng: None))
    assert script.clock("normal", "", 2, 10, 5) == {"seconds": {"a": [2.0, 2.0]}}


def test_no_two_clocks_run_at_once(monkeypatch):
    monkeypatch.setattr(script, "row_of", lambda found, seconds: {"seconds": seconds})
    experiment = studies.Recorder("short", lambda function, tasks: [
        {"seconds": dict.fromkeys(METHODS, task["name"])} if function is script.clock
        else {"chains": [{"set_up": 2.0}, {"set_up": 4.0}]} for task in tasks])
    found = script.run(experiment, SimpleNamespace(names={}))
    assert found == {key: {"seconds": key[0], "set-up": 3.0} for key in found}
    assert [len(tasks) for function, tasks in experiment.calls if function == "clock"] == [
        1] * len(PROBLEMS)
