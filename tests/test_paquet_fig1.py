"""reproduce/paquet_fig1.py: its estimators are those by hand, and each claim is about one thing."""

import inspect

import numpy as np
import pytest

import studies
from algorithms.generalised_leapfrog import Transition, generalised_leapfrog, metric_factor
from algorithms.hmc import hmc_step, state_at, trajectory
from conftest import Given
from judging import check_labels, verdicts
from models.interface import U, metric
from reproduce import paquet_fig1 as script

LOCAL, EUCLIDEAN, ACCEPTED, ERROR, LOST, IRREVERSIBLE, RETURN, METRICS = range(8)


def test_the_settings_and_the_mixture_are_those_of_the_text():
    # Section 3: a mixture of three Gaussians; Section 5: l_max = 10
    assert script.mixture(1.0).means.shape == (3, 2)
    assert script.L_MAX == 10 and script.PAPER == (1.0, 10)
    near, far = script.mixture(0.5), script.mixture(2.0)
    np.testing.assert_array_equal(4 * near.means, far.means)
    np.testing.assert_array_equal(near.precisions, far.precisions)
    S = np.linalg.inv(near.precisions)
    np.testing.assert_allclose(S[1], [[2.25, -2.025], [-2.025, 2.25]], rtol=1e-12)  # of an inverse
    np.testing.assert_allclose(S[2], [[2.25, 0.675], [0.675, 0.25]], rtol=1e-12)


@pytest.mark.parametrize("method", script.METHODS)
def test_rows_of_transitions_by_hand(method, monkeypatch):
    model = script.mixture(1.0)
    starts = np.array([[-3.0, 0.2], [0.8, 2.0]])  # the other between components
    z = np.array([0.4, -0.8])
    monkeypatch.setattr(script, "mixture_draw", lambda model, n, rng: starts[:n])
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Given(z))
    monkeypatch.setattr(script, "hmc_step", hmc_step.py_func)
    monkeypatch.setattr(script, "rmhmc_step", script.rmhmc_step.py_func)
    rows = script.transitions(method, model, 3, 0.2, 0, 2)
    for x, row in zip(starts, rows, strict=True):
        if method == "HMC":
            path, energies = trajectory(x, z, model, 0.2, 3)
            end, H, before = path[-1], energies[-1], energies[0]
        else:
            L = metric_factor(x, model)
            end = generalised_leapfrog(x, L @ z, model, 3, 0.2)
            end, H = end.x, end.H
            before = U(x, model) + np.linalg.slogdet(metric(x, model))[1] / 2 + z @ z / 2
        jump = end - x
        wanted = [jump @ metric(x, model) @ jump, jump @ jump, 1, abs(H - before), 0, 0]
        # other tolerances of the fixed points (1e-10 against 1e-12), and other roundings
        np.testing.assert_allclose(row[:RETURN], wanted, rtol=0, atol=1e-8)
        assert (0 < row[RETURN] < 1e-8) == (row[METRICS] >= 2 * 3 * 2) == (method == "RMHMC")


def test_what_is_rejected_does_not_move_and_its_errors_do_not_count(monkeypatch):
    rows = script.transitions("RMHMC", script.mixture(0.4), 10, 0.8, 1, 60)
    rejected = rows[rows[:, ACCEPTED] == 0]
    assert len(rejected) > 5 and rejected[:, LOST].sum() > 5
    for column in (LOCAL, EUCLIDEAN, ERROR, RETURN):
        assert (rejected[:, column] == 0).all()
    assert (rows[rows[:, ACCEPTED] == 1][:, [LOST, IRREVERSIBLE]] == 0).all()
    for converged, reversible in ((False, True), (True, False)):  # each reason has its column
        step = transition(np.zeros(2), False, converged=converged, reversible=reversible)
        monkeypatch.setattr(script, "rmhmc_step", lambda *_, step=step: step)
        row = script.transitions("RMHMC", script.mixture(1.0), 2, 0.1, 5, 1)[0]
        assert row[ACCEPTED:].tolist() == [0, 0, not converged, not reversible, 0, 7]


def test_step_sizes_are_measured_with_other_draws_than_they_were_chosen_with():
    experiment = studies.Recorder("short", lambda function, tasks: [
        dict.fromkeys(script.MEASURES, 0.1) if function is script.tune
        else {"blocks": np.zeros((script.BLOCKS, 8))} for _ in tasks])
    script.run(experiment, None)
    pilots, measured = ({str(task["seed"]) for task in tasks} for _, tasks in experiment.calls)
    assert not pilots & measured


def test_both_methods_have_the_same_starts_and_way_back_is_checked_less_closely(monkeypatch):
    starts, seen, called = [], [], inspect.signature(script.rmhmc_step.py_func)
    monkeypatch.setattr(script, "hmc_step", lambda at, *_: starts.append(at.q) or (at, True, 0.0))
    monkeypatch.setattr(script, "rmhmc_step", lambda *arguments: seen.append(
        called.bind(*arguments).arguments) or transition(arguments[0], True))
    for method in script.METHODS:
        script.transitions(method, script.mixture(1.0), 3, 0.25, 5, 4)
    np.testing.assert_array_equal(starts, [given["x"] for given in seen])
    assert [seen[0][name] for name in ("l_max", "eps", "f_max", "tol", "tol_back")] == [
        3, 0.25, 100, 1e-10, 1e-6]


def transition(x, accepted, converged=True, reversible=True):
    return Transition(x, accepted, 0.5, converged, 1e-9, reversible, 4, 7)


def test_the_step_that_moves_furthest_and_means_of_blocks(monkeypatch):
    means = np.array([[1, 2, 3, 9, 5, 6, 7, 8, 3, 9, 9, 9],  # local, Euclidean, accepted
                      [1, 2, 3, 9, 8, 7, 6, 5, 4, 9, 9, 9],
                      [1, 1, 1, 0.8999, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5, 0.5, 0.5]]).T
    monkeypatch.setattr(script, "transitions", lambda method, model, l_max, eps, *_: means[
        [np.argmin(abs(script.GRID - eps))]])
    assert script.tune("HMC", 1.0, 10, 0, 2) == {"local": script.GRID[7],
                                                 "Euclidean": script.GRID[4]}
    rows = np.arange(script.BLOCKS * 3 * 8.0).reshape(-1, 8)
    monkeypatch.setattr(script, "transitions", lambda *arguments: rows[: arguments[-1]])
    blocks = script.measure("HMC", 1.0, 10, 0.1, 0, 3)["blocks"]
    assert blocks.shape == (20, 8)
    np.testing.assert_array_equal(blocks[1], [(24 + 32 + 40) / 3 + c for c in range(8)])


def test_trajectories_shown_are_those_of_the_samplers():
    z, model = np.array([0.3, -1.0]), script.mixture(1.0)
    state, _, error = hmc_step.py_func(state_at(script.START, model), model, 0.2, 10, None,
                                       Given(z))
    step = script.rmhmc_step.py_func(script.START, model, 10, 0.15, Given(z), 100, 1e-12, 0.0)
    for (path, energies), end, change in zip(
            script.paths({"HMC": 0.2, "RMHMC": 0.15}, z).values(), (state.q, step.x),
            (error, step.energy_error), strict=True):
        assert path.shape == (11, 2) and energies.shape == (11,)
        np.testing.assert_array_equal(path[0], script.START)
        np.testing.assert_allclose(path[-1], end, rtol=0, atol=1e-13)  # rounding
        assert energies[-1] - energies[0] == pytest.approx(change, rel=0, abs=1e-12)


def test_a_ratio_of_blocks_with_the_same_starts_by_hand():
    blocks = {"RMHMC": np.zeros((3, 8)), "HMC": np.zeros((3, 8))}
    blocks["RMHMC"][:, EUCLIDEAN], blocks["HMC"][:, EUCLIDEAN] = [2, 5, 8], [1, 3, 2]
    r = script.Result({}, {(method, 1.0, 5, "Euclidean"): script.Moves(0.1, b)
                           for method, b in blocks.items()})
    # 5 / 2; residuals 2 - 2.5, 5 - 7.5, 8 - 5: variance 7.75, over 3 blocks and the mean 2
    assert script.ratio(r, (1.0, 5), "Euclidean") == pytest.approx(
        (2.5, (7.75 / 3) ** 0.5 / 2), rel=1e-14)


def moves(method, eps=0.2, **columns):
    """Return Moves whose blocks scatter by 1 % about the given means."""
    means = [columns.get(c.replace(" ", "_"), 0.5) for c in script.COLUMNS]
    phase = np.arange(20) + (method == "RMHMC")  # the ratio has an error too
    return script.Moves(eps, means * (1 + 0.01 * np.sin(phase))[:, None])


def made_up(short=(), near=0.6, here=1.5, far=2.0, Euclidean=2.0):
    """Return a result with which all claims agree, by jumps of RMHMC; those of HMC are 1.

    short : {(spread, l_max): Euclidean jump} where RMHMC does not move further
    """
    local, result = {0.4: near, 1.0: here, 2.0: far}, {}
    for spread, l_max in script.CASES:
        for name in script.MEASURES:
            result["HMC", spread, l_max, name] = moves("HMC", local=1.0, Euclidean=1.0)
        result["RMHMC", spread, l_max, "local"] = moves(
            "RMHMC", local=local.get(spread, 1.0) if l_max == 10 else 0.1)
        result["RMHMC", spread, l_max, "Euclidean"] = moves(
            "RMHMC", Euclidean=dict(short).get((spread, l_max), Euclidean))
    return script.Result({}, result)


def shown():
    result = made_up()
    result.moves["RMHMC", 1.0, 10, "local"] = moves(
        "HMC", 0.3, local=1.5, accepted=0.93, not_converged=0.02, not_reversible=0.01, metrics=30,
        return_error=7)
    result.moves["RMHMC", 1.0, 10, "Euclidean"] = moves("HMC", Euclidean=2.0)
    return result._replace(paths={
        "HMC": script.Path(np.zeros((2, 2)), np.array([1.0, 1.25])),
        "RMHMC": script.Path(np.ones((2, 2)), np.array([1.0, 1.5]))})


def test_each_curve_has_the_label_of_its_measure():
    fig = script.figure(shown())
    check_labels(fig.axes, ("$x_1$", "$x_2$"), ("distance", "expected squared jump"))
    found = {curve.get_label(): curve.lines[0].get_ydata()[list(script.SPREADS).index(1.0)]
             for curve in fig.axes[1].containers}
    assert found == {"jumps in the metric $G(x)$": pytest.approx(1.5),
                     "Euclidean jumps": pytest.approx(2.0)}
    for curve, name in zip(fig.axes[1].containers, script.MEASURES, strict=True):
        ends, se = curve.lines[2][0].get_segments(), [script.ratio(
            shown(), (spread, script.L_MAX), name).se for spread in script.SPREADS]
        np.testing.assert_allclose(np.ptp(ends, axis=1)[:, 1], 4 * np.array(se), rtol=0, atol=1e-12)
        assert max(se) > 0
    level, _ = (line for line in fig.axes[1].lines if line.get_label().startswith("_child")
                and len(line.get_xdata()) == 2)
    assert set(level.get_ydata()) == {1}  # as large
    ends = {line.get_label().partition(" (")[0]: line.get_xydata()[-1].tolist()
            for line in fig.axes[0].lines}
    assert ends | {r"HMC, $\varepsilon$ = 0.20": [0, 0], r"RMHMC, $\varepsilon$ = 0.30": [1, 1],
                   "start": script.START.tolist()} == ends
    assert [ax.get_title()[:6] for ax in fig.axes] == ["10 lea", "Bigger"]


WHAT = "squared jump, RMHMC / HMC"
GROWS = "RMHMC / HMC, squared jump in the local metric: at spread 2 over at 0.4"


@pytest.mark.parametrize(("move", "wanted", "found"), [
    (dict(Euclidean=0.7), WHAT, "every setting differs"),
    (dict(near=2.2), GROWS, "differs"), (dict(far=0.5), GROWS, "differs"),
    *[(dict(short={case: 0.7}), WHAT, "not specified") for case in script.CASES]])
def test_one_quantity_moves_one_claim(move, wanted, found):
    after = verdicts(script, made_up(**move))
    assert {what: each for what, each in after.items() if each != "agrees"} == {wanted: found}
