"""Figure 1 of Split HMC: HMC against a random walk."""

import numpy as np
import pytest

import studies
from algorithms.ess import initial_sequence
from judging import disagreeing, read_table, replaced
from reproduce import shahbaba_fig1 as fig1
from reproduce.harness.claims import BUDGETS, Measured

HMC, WALK, LARGE = fig1.METHODS


def made_up():
    methods = {m: fig1.Estimates(
        Measured(lag_1, 1e-3), Measured(tau, 0.01 * tau), Measured(jump, 0.01),
        Measured(rate, 1e-3), mean=Measured(3.0, 0.01), covariance=Measured(0.95, 0.01),
        s=Measured(1e-5, 1e-7)) for m, lag_1, tau, jump, rate in (
            (HMC, -0.5, 0.5, 2.0, 0.97), (WALK, 0.9, 20.0, 0.5, 0.8), (LARGE, 0.4, 2.0, 1.3, 0.2))}
    return fig1.Result(methods, Measured(1.3, 0.1), (-0.5, 0.97), 10,
                       {m: np.arange(60.0).reshape(30, 2) for m in (HMC, WALK)})


LAG = "random walk lag-1 autocorrelation - |HMC's|"
TAU = "autocorrelation time, random walk / HMC"
STEPS = "autocorrelation time, random walk / with large steps"
JUMP = "mean jump, HMC / random walk"
RATE = "acceptance rate, random walk - with large steps"
TIME = "CPU time per state, random walk / HMC"


@pytest.mark.parametrize(("method", "key", "value", "wanted"), [
    (HMC, "lag_1", -0.513, {"HMC lag-1 autocorrelation - theory"}),  # that without rejections
    (HMC, "lag_1", -0.487, {"HMC lag-1 autocorrelation - theory"}),
    (HMC, "lag_1", -0.95, {"HMC lag-1 autocorrelation - theory", LAG}),
    (WALK, "lag_1", 0.45, {LAG}), (WALK, "lag_1", -0.9, {LAG}),
    (HMC, "rate", 0.978, {"HMC acceptance rate - theory"}),
    (HMC, "rate", 0.962, {"HMC acceptance rate - theory"}),
    (HMC, "tau", 25.0, {TAU}), (WALK, "tau", 1.0, {STEPS}), (WALK, "tau", 0.1, {TAU, STEPS}),
    (LARGE, "tau", 25.0, {STEPS}), (HMC, "jump", 0.4, {JUMP}), (WALK, "jump", 2.2, {JUMP}),
    (WALK, "rate", 0.1, {RATE}), (LARGE, "rate", 0.9, {RATE}),
    (None, "s_ratio", 3.4, {TIME}), (None, "s_ratio", 0.11, {TIME}),
    (HMC, "lag_1", -0.5, set()),  # what is made up agrees
    (LARGE, "lag_1", -0.9, set()), (LARGE, "jump", 9.0, set()), (HMC, "s", 1.0, set()),
    *[(m, "mean", value, {f"{m}: mean of q_1"}) for m in fig1.METHODS for value in (2.9, 3.1)],
    *[(m, "covariance", value, {f"{m}: covariance of q_1 and q_2"})
      for m in fig1.METHODS for value in (0.85, 1.05)],
])
def test_what_is_another_changes_its_claim(method, key, value, wanted):
    place = [*(["methods", method] if method else []), key, "value"]
    assert disagreeing(fig1, replaced(made_up(), place, value)) == wanted


def test_the_settings_are_those_of_section_1():
    # "L = 20 and eps = 0.15", "the first 30 states", "every 20th state", "0.15^2 I_2"
    assert fig1.MEAN.tolist() == [3, 3] and fig1.START.tolist() == [0, 0]
    assert fig1.COVARIANCE.tolist() == [[1, 0.95], [0.95, 1]]
    assert (fig1.EPS, fig1.L, fig1.SCALE, fig1.THIN, fig1.SHOWN) == (0.15, 20, 0.15, 20, 30)
    assert fig1.METHODS == {"HMC": 0.0, "random walk": 0.15, "random walk, large steps": 1.0}


@pytest.mark.parametrize(("method", "scale"), fig1.METHODS.items())
def test_a_chains_numbers_are_those_of_its_states(method, scale):
    found = fig1.one_chain(method, scale, 2000, 4)
    q = fig1.sample(method, scale, 2000, 4).samples[200:]  # without the warm-up
    x, r = q[:, 0], q[:, 0] - q[:, 0].mean()
    assert found == pytest.approx({
        "lag_1": np.sum(r[1:] * r[:-1]) / np.sum(r**2), "tau": initial_sequence(x).tau,
        "jump": np.mean([np.sqrt((a - b) @ (a - b)) for a, b in zip(q[1:], q[:-1], strict=True)]),
        "covariance": np.mean((x - 3) * (q[:, 1] - 3)), "mean": x.mean(),
        "rate": fig1.sample(method, scale, 2000, 4).accepted.mean()}, rel=1e-12)
    short = fig1.sample(method, scale, 50, 4).samples  # of which the warm-up is a fifth
    assert fig1.one_chain(method, scale, 50, 4)["mean"] == short[10:, 0].mean()


def test_the_clock_times_each_method_in_turn(monkeypatch):
    order, now = [], [0.0]
    monkeypatch.setattr(fig1, "sample", lambda method, scale, n, seed: order.append(
        (method, scale, seed)) or now.append({HMC: 1.0, WALK: 2.0, LARGE: 3.0}[method] * n))
    monkeypatch.setattr(fig1.time, "thread_time", lambda: sum(now))
    assert fig1.clock(2, 10) == {"seconds": {HMC: [1.0] * 2, WALK: [2.0] * 2, LARGE: [3.0] * 2}}
    assert order == [(m, scale, k) for k in range(3) for m, scale in fig1.METHODS.items()]


def made(function, tasks):
    if function is fig1.clock:
        return [{"seconds": {HMC: [1.0, 2.0], WALK: [2.0, 8.0], LARGE: [5.0, 5.0]}}]
    # (1 or 2 or 3) x 100 for the method, and the chain's number
    return [dict.fromkeys(fig1.Estimates._fields, 100.0 * (1 + task["seed"][1]) + task["seed"][2])
            for task in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_chain_goes_to_its_method(budget):
    experiment = studies.Recorder(budget, made)
    result = fig1.run(experiment, None)
    (_, tasks), (second, _) = experiment.calls
    assert second == "clock"
    m = fig1.CHAINS[budget]
    assert [(t["method"], t["scale"], t["seed"]) for t in tasks] == [
        (method, scale, [5, k, chain]) for k, (method, scale) in enumerate(fig1.METHODS.items())
        for chain in range(m)]
    for k, method in enumerate(fig1.METHODS):
        for found in result.methods[method][:6]:  # of 0, ..., m - 1, of variance m (m + 1) / 12
            assert found == pytest.approx(
                (100 * (1 + k) + (m - 1) / 2, ((m + 1) / 12) ** 0.5), rel=1e-12)
    # of rounds: 2 and 4, not 10 / 3
    assert result.s_ratio == pytest.approx((3.0, 1.0))
    assert result.methods[WALK].s == pytest.approx((5.0, 3.0))
    # the states shown are the first ones of a chain that is not
    for method in (HMC, WALK):
        seed = [5, list(fig1.METHODS).index(method), 0]
        longer = fig1.sample(method, fig1.METHODS[method], 60, seed).samples
        np.testing.assert_array_equal(result.shown[method], longer[:30])


def test_the_theory_has_a_row_and_both_panels_their_states_over_the_same_density():
    result = made_up()
    result.shown[WALK] *= -1
    fig = fig1.figure(result)
    assert [ax.get_xlabel() for ax in fig.axes] == ["$q_1$"] * 2
    assert fig.axes[0].get_ylabel() == "$q_2$"
    for ax, method, title in zip(fig.axes, (HMC, WALK), ("Hamiltonian", "Random"), strict=True):
        *ellipses, states, start = (line.get_xydata() for line in ax.lines)
        for radius, ellipse in zip((1, 2, 3), ellipses, strict=True):  # in standard deviations
            apart = ellipse - [3, 3]
            squared = np.sum(apart @ np.linalg.inv([[1, 0.95], [0.95, 1]]) * apart, axis=1)
            np.testing.assert_allclose(squared, radius**2, rtol=1e-9)
        np.testing.assert_array_equal(states[1:], result.shown[method])
        assert states[0].tolist() == start[0].tolist() == [0, 0]
        assert ax.get_title().startswith(title)
        assert [line.get_label().split()[-1] for line in ax.lines[2:]] == [
            "deviations", "states", "start"]
    (row,) = [row for row in read_table(fig1.table(made_up())) if "HMC, theory" in row.values()]
    assert [each for each in row.values() if each] == ["HMC, theory", "0.15", "-0.5000", "0.9700"]
