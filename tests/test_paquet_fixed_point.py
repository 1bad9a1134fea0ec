"""beyond/paquet_fixed_point.py: chains share their random numbers, biases are those by hand, and
each claim is about what it says."""

import numpy as np
import pytest

from judging import put, verdicts
from reproduce.beyond import paquet_fixed_point as script
from reproduce.harness.claims import Measured
from reproduce.harness.style import plt
from reproduce.paquet.trajectories import draw, posterior


def test_settings_are_those_of_the_paper():
    # Section 5: eps = 0.1, l_max = 10; Algorithm 1: say, f_max = 5; Figure 2 (f): B = 2000
    assert (script.EPS, script.L_MAX, script.F_MAX, script.LONGEST) == (0.1, 10, 5, 2000)
    # the derivation: f + 1 for odd f, f + 2 for even f
    assert script.ORDERS == {f: f + 1 + (f % 2 == 0) for f in range(1, 6)}


def test_chains_share_their_random_numbers_and_measure_in_posterior_deviations():
    mean = script.chains("N = 1", None, 0.05, (20, 5, 20), 200, 6)["mean"]
    assert mean[0] == mean[2] != mean[1]
    assert abs(mean[1] - mean[0]) < 1e-3  # the mean itself has an s.e. of 0.2
    found = [script.chains("N = 2", None, 0.2, (12,), 600, [7, k]) for k in range(16)]
    for column, exact in (("mean", 0.0), ("square", 1.0)):
        values = np.array([run[column][0] for run in found])
        # eps = 0.2 rejects trajectories that do not converge, 1 of 100: a bias of about that size
        assert abs(values.mean() - exact) < 4 * values.std(ddof=1) / 16**0.5 + 0.02


def test_a_chain_by_hand(monkeypatch):
    class Chain:
        samples = np.arange(20.0).reshape(10, 2)
        accepted = np.arange(10) < 7
        divergences = 3

    calls = []
    monkeypatch.setattr(script, "rmhmc", lambda *arguments: calls.append(arguments) or Chain)
    found = script.chains("N = 2", None, 0.2, (1, 5), 10, 4)
    at, rng = posterior("N = 2", None), np.random.default_rng(4)
    z = (Chain.samples[1:] @ at.weights - at.mean) / at.deviation  # a tenth is left out
    assert found["mean"] == [z.mean()] * 2 and found["square"] == [(z**2).mean()] * 2
    assert found["rejected"] == pytest.approx([0.3, 0.3], rel=1e-15)
    assert found["divergences"] == [3, 3]
    start = draw(at, rng)
    # both go on from the same numbers, and not from those that made the start once more
    states = [each.bit_generator.state["state"] for *_, each, _ in calls]
    assert states[0] == states[1] != np.random.default_rng(4).bit_generator.state["state"]
    for (x, model, l_max, eps, n, _, f_max), wanted in zip(calls, (1, 5), strict=True):
        np.testing.assert_array_equal(x, start)
        assert model is at.model and (l_max, eps, n, f_max) == (10, 0.2, 10, wanted)


CHAINS = [{"mean": [1.0, 0.3, 0.2], "square": [2.0, 1.5, 1.0], "rejected": [0.1, 0.2, 0.3],
           "divergences": [0, 1, 2]},
          {"mean": [0.5, 0.6, 0.0], "square": [1.0, 1.5, 1.0], "rejected": [0.3, 0.2, 0.1],
           "divergences": [5, 0, 2]}]


def test_biases_by_hand():
    found = script.biases((1, 5, 20), CHAINS, True)
    # against the last column: 0.8, 0.5; 0.1, 0.6; the s.e. of two is half their difference
    assert found.mean == {1: pytest.approx((0.65, 0.15), rel=1e-12),
                             5: pytest.approx((0.35, 0.25), rel=1e-12), 20: (0.0, 0.0)}
    assert found.variance == {1: (0.5, 0.5), 5: (0.5, 0.0), 20: (0.0, 0.0)}
    assert found.exact == {1: pytest.approx((0.75, 0.25), rel=1e-12),
                              5: pytest.approx((0.45, 0.15), rel=1e-12),
                              20: pytest.approx((0.1, 0.1), rel=1e-12)}
    assert found.rejected == pytest.approx({1: 0.2, 5: 0.2, 20: 0.2}, rel=1e-12)
    assert found.divergences == {1: 5, 5: 1, 20: 4}
    assert script.biases((1, 5, 20), CHAINS, False).exact == {}


def made_up():
    """Return a result with which all claims agree but the three about line 12 of Algorithm 1."""
    def few(value, se=1e-3):
        return {f: Measured(value, se) for f in range(1, 21)}

    orders = {f: Measured(k + 0.1, 0.05) for f, k in ((1, 2), (2, 4), (3, 4), (4, 6), (5, 6))}
    result = script.Result({}, {}, {}, orders, 767, "digits", gain=Measured(1.4, 0.1),
                           decay=Measured(0.9, 0.1))
    for name in ("N = 1", "N = 2", "digits"):
        for eps in (0.05, 0.1, 0.2):
            result.returns[name, eps] = script.Return(
                few(-4.0), few(-3.0), dict.fromkeys(range(1, 21), 0.0), [])
            result.volume[name, eps] = few(-5.0)
            result.chains[name, eps] = script.Bias(
                few(0.001), few(0.1), {} if name == "digits" else few(0.002), {}, {})
    result.chains["digits", 0.1].mean[1] = Measured(-0.6, 0.05)
    result.chains["N = 1", 0.2].exact[5] = Measured(-0.05, 0.003)
    return result


def shown():
    result, f_maxes = made_up(), range(1, 21)
    power = {f: Measured(-float(f), 0.1) for f in f_maxes}
    for key in result.returns:
        result.returns[key] = script.Return(
            power, {f: Measured(1.0 - f, 0.1) for f in f_maxes},
            {f: f**2 / 100 if f < 11 else 1.0 for f in f_maxes}, [0.7, 0.8])
        result.volume[key] = {f: power[f] for f in script.SOME}
        mean, variance, exact = (
            {f: Measured(k / 1e3, k / 1e4) for f in script.FEW} for k in (1, 2, 3))
        result.chains[key] = script.Bias(mean, variance, exact, {f: f / 20 for f in script.FEW},
                                         {f: f + 1 for f in script.FEW})
    return result


def test_rejections_are_drawn_in_per_cent():
    curves = script.figure(shown()).axes[2].lines
    assert all(list(curve.get_ydata()) == [100 * f / 20 for f in curve.get_xdata()]
               for curve in curves if len(curve.get_xdata()) == len(script.FEW))
    assert sum(len(curve.get_xdata()) == len(script.FEW) for curve in curves) == 9
    plt.close("all")


KNOWN = {"log10 reversibility error, digits": ("returns", "digits"),
         "log10 reversibility error, N = 2": ("returns", "N = 2"),
         "log10 |log volume|, N = 2": ("volume", "N = 2")}


def test_all_claims_agree_but_those_about_line_12():
    for what, found in verdicts(script, made_up()).items():
        assert found == ("known difference" if what in KNOWN else "agrees")


def changed(move):
    before, after = verdicts(script, made_up()), verdicts(script, move(made_up()))
    return {what: after[what] for what in before if before[what] != after[what]}


@pytest.mark.parametrize("what", KNOWN)
def test_reversible_trajectories_would_agree(what):
    part, name = KNOWN[what]
    path = [part, (name, 0.1), *["x"] * (part == "returns"), 5]
    assert changed(put(path, Measured(-14.0, 0.1))) == {what: "agrees"}


BIAS = Measured(0.03, 0.001)
MOVES = {
    **{f"order in eps of the reversibility error, N = 2, f_max = {f}":
       put(["order", f], Measured(f + 1.5 + (f % 2 == 0) + 0.3, 0.05)) for f in range(1, 6)},
    "gain in log10 by iteration 4 - gain by iteration 5, digits":
        put(["gain"], Measured(-0.5, 0.1)),
    "decay per iteration / contraction factor c, digits": put(["decay"], Measured(0.3, 0.01)),
    "bias of the mean, N = 1, f_max = 5": put(["chains", ("N = 1", 0.1), "exact", 5], BIAS),
    "bias of the mean, N = 2, f_max = 5": put(["chains", ("N = 2", 0.1), "exact", 5], BIAS),
    "bias of the mean, digits, f_max = 5": put(["chains", ("digits", 0.1), "mean", 5], BIAS),
    "|bias of the mean|, digits, f_max = 1":
        put(["chains", ("digits", 0.1), "mean", 1], Measured(-0.01, 0.001)),
    "bias of the mean, N = 1, eps = 0.05, f_max = 20":
        put(["chains", ("N = 1", 0.05), "exact", 20], BIAS),
    "bias of the mean, N = 2, eps = 0.05, f_max = 20":
        put(["chains", ("N = 2", 0.05), "exact", 20], BIAS),
    "|bias of the mean|, N = 1, eps = 0.2, f_max = 5":
        put(["chains", ("N = 1", 0.2), "exact", 5], Measured(-0.01, 0.001)),
}


@pytest.mark.parametrize("what", MOVES)
def test_one_quantity_moves_one_claim(what):
    assert changed(MOVES[what]) == {what: "differs"}
