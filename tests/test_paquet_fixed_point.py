"""beyond/paquet_fixed_point.py and paquet/trajectories.py: biases and errors by hand, claims."""

import math

import numpy as np
import pytest

from judging import check_labels, check_moves, put, read_tables
from reproduce.beyond import paquet_fixed_point as script
from reproduce.harness.claims import Measured
from reproduce.paquet import trajectories as paths
from reproduce.paquet.digits import digits_3v5

DIGITS = digits_3v5().name


def test_a_chain_by_hand(monkeypatch):
    class Chain:
        samples = np.arange(20.0).reshape(10, 2)
        accepted = np.arange(10) < 7
        divergences = 3

    def rmhmc(*arguments):
        *given, rng, f_max = arguments
        calls.append((*given, f_max, rng.random()))
        return Chain

    calls = []
    monkeypatch.setattr(script, "rmhmc", rmhmc)
    found = script.chains("N = 2", None, 0.2, (1, 5), 10, 4)
    at, rng = paths.posterior("N = 2", None), np.random.default_rng(4)
    z = (Chain.samples[1:] @ at.weights - at.mean) / at.deviation  # a tenth is left out
    assert found["mean"] == [z.mean()] * 2 and found["square"] == [(z**2).mean()] * 2
    assert found["rejected"] == pytest.approx([0.3, 0.3], rel=1e-15)
    assert found["divergences"] == [3, 3]
    start = paths.draw(at, rng)
    # both go on from the same numbers, and not from those that made the start once more
    assert calls[0][-1] == calls[1][-1] != np.random.default_rng(4).random()
    for (x, model, l_max, eps, n, f_max, _), wanted in zip(calls, (1, 5), strict=True):
        np.testing.assert_array_equal(x, start)
        assert model is at.model and (l_max, eps, n, f_max) == (10, 0.2, 10, wanted)


CHAINS = [{"mean": [1.0, 0.3, 0.2], "square": [2.0, 1.5, 1.0], "rejected": [0.1, 0.2, 0.3],
           "divergences": [0, 1, 2]},
          {"mean": [0.5, 0.6, 0.0], "square": [1.0, 1.5, 1.0], "rejected": [0.3, 0.2, 0.5],
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
    assert found.rejected == pytest.approx({1: 0.2, 5: 0.2, 20: 0.4}, rel=1e-12)
    assert found.divergences == {1: 5, 5: 1, 20: 4}
    assert script.biases((1, 5, 20), CHAINS, False).exact == {}


def made_up():
    """Return a result with which all claims agree, those about line 12 of Algorithm 1 too."""
    def few(value, se=1e-3):
        return {f: Measured(value, se) for f in range(1, 21)}

    orders = {f: Measured(k + 0.1, 0.05) for f, k in ((1, 2), (2, 4), (3, 4), (4, 6), (5, 6))}
    result = script.Result({}, {}, {}, orders, 767, "digits", gain=Measured(1.4, 0.1),
                           decay=Measured(0.9, 0.1))
    for name in ("N = 1", "N = 2", "digits"):
        for eps in (0.05, 0.1, 0.2):
            result.returns[name, eps] = script.Return(
                few(-14.0), few(-3.0), dict.fromkeys(range(1, 21), 0.0), [])
            result.volume[name, eps] = few(-9.0)
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
            power, {f: Measured(0.5 - f, 0.1) for f in f_maxes},
            {f: f**2 / 100 if f < 11 else 1.0 for f in f_maxes}, [0.7, 0.8])
        result.volume[key] = {f: power[f] for f in script.SOME}
        mean, variance, exact = (
            {f: Measured(k / 1e3, k / 1e4) for f in script.FEW} for k in (1, 2, 3))
        result.chains[key] = script.Bias(mean, variance, exact, {f: f / 20 for f in script.FEW},
                                         {f: f + 1 for f in script.FEW})
    return result


def test_the_tables_by_hand():
    back, volume, chains = read_tables(script.table(shown()))
    powers = {f"f={f}": f"1e-{f:02}" for f in script.SOME}
    assert volume[0] == {"": "N = 1", "eps": "0.05"} | powers
    assert back[0] == volume[0] | {"lost, f=5": "25", "f=20 f=20": "100", "H, f=5": "3e-05",
                                   "c": "0.7", "max": "0.8"}
    assert chains[1] == {
        "": "N = 1", "eps": "0.05", "f_max": "2", "% rejected": "10.00", "diverged": "3",
        "mean": "1.0e-03 +- 1e-04", "variance": "2.0e-03 +- 2e-04",
        "mean, exact": "0.0030 +- 0.0003"}


def test_rejections_are_drawn_in_per_cent():
    fig, x = script.figure(shown()), "fixed-point"
    check_labels(fig.axes, *[(x, "return error")] * 2, (x, "% of"), (x, "|bias|"))
    assert [ax.get_title()[4:9] for ax in fig.axes] == ["there", "there", "rejec", "bias "]
    curves = fig.axes[2].lines
    named = {mark.get_label(): mark for mark in fig.legends[0].legend_handles}
    for curve, (name, eps) in zip(curves, shown().chains, strict=False):
        assert (curve.get_marker(), curve.get_linestyle(), curve.get_color()) == (
            named[name].get_marker(), named[name].get_linestyle(),
            named[rf"$\varepsilon$ = {eps}"].get_color())
    assert all(list(curve.get_ydata()) == [100 * f / 20 for f in curve.get_xdata()]
               for curve in curves if len(curve.get_xdata()) == len(script.FEW))
    assert sum(len(curve.get_xdata()) == len(script.FEW) for curve in curves) == 9


def test_bands_and_bars_are_two_standard_errors_and_hollow_what_is_within_them():
    small, digits, _, bias = script.figure(shown()).axes
    assert [len([line for line in ax.lines if len(line.get_xdata()) == 20])
            for ax in (small, digits)] == [6, 3]  # of N = 1 and of N = 2; of the digits
    band = np.log10(small.collections[0].get_paths()[0].vertices[:, 1])
    assert (band.min(), band.max()) == pytest.approx((-20.2, -0.8))  # of -20 to -1, each by .1
    for result, hollow in ((shown(), False), (made_up(), True)):
        bars = script.figure(result).axes[3].containers
        fills = [bar.lines[0].get_markerfacecolor() == "white" for bar in bars]
        assert fills.count(not hollow) == hollow  # one of -0.6 +- 0.05 among those made up
    (ends,) = bias.containers[0].lines[2][0].get_segments()
    assert ends[:, 1] == pytest.approx([0.8e-3, 1.2e-3])


BIAS = Measured(0.03, 0.001)
MOVES = {
    **{f"log10 reversibility error, {name}":
       put("returns", (name, 0.1), "x", 5, Measured(value, 0.1))
       for name, value in (("digits", -7.0), ("N = 2", -12.0))},
    "log10 |log volume|, N = 2": put("volume", ("N = 2", 0.1), 5, Measured(-6.0, 0.1)),
    **{f"order in eps of the reversibility error, N = 2, f_max = {f}":
       put("order", f, Measured(f + 1.5 + (f % 2 == 0) + 0.3, 0.05)) for f in range(1, 6)},
    "gain in log10 by iteration 4 - gain by iteration 5, digits":
        put("gain", Measured(-0.5, 0.1)),
    "decay per iteration / contraction factor c, digits": put("decay", Measured(0.3, 0.01)),
    "bias of the mean, N = 1, f_max = 5": put("chains", ("N = 1", 0.1), "exact", 5, BIAS),
    "bias of the mean, N = 2, f_max = 5": put("chains", ("N = 2", 0.1), "exact", 5, BIAS),
    "bias of the mean, digits, f_max = 5": put("chains", ("digits", 0.1), "mean", 5, BIAS),
    "|bias of the mean|, digits, f_max = 1":
        put("chains", ("digits", 0.1), "mean", 1, Measured(-0.016, 0.001)),
    "bias of the mean, N = 1, eps = 0.05, f_max = 20":
        put("chains", ("N = 1", 0.05), "exact", 20, BIAS),
    "bias of the mean, N = 2, eps = 0.05, f_max = 20":
        put("chains", ("N = 2", 0.05), "exact", 20, Measured(-0.03, 0.001)),
    "|bias of the mean|, N = 1, eps = 0.2, f_max = 5":
        put("chains", ("N = 1", 0.2), "exact", 5, Measured(-0.016, 0.001)),
}


def test_one_quantity_moves_one_claim():
    (decay,) = (what for what in MOVES if what.startswith("decay"))
    check_moves(script, made_up(), {what: (move, [what]) for what, move in MOVES.items()} | {
        **{f"negative, {name}": (put("chains", (name, 0.1), key, 5, Measured(-0.03, 0.001)), [
            f"bias of the mean, {name}, f_max = 5"]) for name, key in (
                ("N = 1", "exact"), ("N = 2", "exact"), ("digits", "mean"))},
        **{f"order {f} is low": (put("order", f, Measured(f + 0.2 + (f % 2 == 0), 0.05)), [
            f"order in eps of the reversibility error, N = 2, f_max = {f}"]) for f in range(1, 6)},
        "decay is slower": (put("decay", Measured(2.3, 0.01)), [decay])})  # than 20^(1/4) = 2.11


def test_the_small_problems_are_as_described():
    K, y = paths.SMALL["N = 2"]
    assert y[0] == -y[1]  # different labels
    assert K[0, 1] / math.sqrt(K[0, 0] * K[1, 1]) == pytest.approx(0.9, rel=1e-15)  # rounding
    assert paths.SMALL["N = 1"][0] == K[0, 0]


@pytest.mark.parametrize("name", paths.SMALL)
def test_exact_moments_are_those_of_the_closed_form(name):
    # E[x] = K c, c_m = y_m N(0; 0, 1 + K_mm) P(the other label | x_m's) / Z: by parts under N(0, K)
    at = paths.posterior(name)
    K, y = at.model.K, at.model.y
    V = 1 + np.diag(K)
    if y.size == 1:
        Z, others = 0.5, 1.0
    else:
        r = y[0] * y[1] * K[0, 1] / np.sqrt(V[0] * V[1])
        Z, others = 0.25 + np.arcsin(r) / (2 * np.pi), 0.5
    mean = K @ (y / np.sqrt(2 * np.pi * V) * others / Z)
    assert at.mean == pytest.approx(at.weights @ mean, rel=1e-12)  # the rule is exact to rounding
    if y.size == 1:  # E[x^2] = K: by symmetry the label does not change it
        assert at.deviation == pytest.approx(at.weights[0] * np.sqrt(K[0, 0] - mean[0] ** 2),
                                             rel=1e-12)


@pytest.mark.parametrize("name", paths.SMALL)
def test_draws_for_the_small_problems_are_from_the_posterior(name):
    at, rng, n = paths.posterior(name), np.random.default_rng(3), 20_000
    z = np.array([at.weights @ paths.draw(at, rng) for _ in range(n)])
    z = (z - at.mean) / at.deviation
    assert abs(z.mean()) < 4 / n**0.5
    assert abs((z**2).mean() - 1) < 4 * (z**2).std() / n**0.5


def test_draws_on_the_digits_are_from_the_gaussian_of_ep():
    at, rng, n = paths.posterior(DIGITS, 5), np.random.default_rng(4), 4000
    z = np.array([paths.draw(at, rng) for _ in range(n)]) - at.q.mu
    scale = np.sqrt(np.outer(at.sd, at.sd) ** 2 + at.q.Sigma**2) / n**0.5  # of a covariance
    assert (np.abs(z.T @ z / n - at.q.Sigma) < 4.5 * scale).all()  # one of 15 in 10^4
    assert (np.abs(z.mean(0)) < 4.5 * at.sd / n**0.5).all()
    assert at.weights @ at.sd == pytest.approx(at.model.y.mean(), rel=1e-12)  # y_n x_n / sd_n / N
    assert at.mean == pytest.approx(at.weights @ at.q.mu, rel=1e-12)
    assert at.deviation**2 == pytest.approx(at.weights @ at.q.Sigma @ at.weights, rel=1e-12)


def test_a_reversal_by_hand():
    found = paths.reversals("N = 2", None, 3, 0.2, (2, 4), 2, 7)
    at, rng = paths.posterior("N = 2"), np.random.default_rng(7)
    for k in range(2):
        x = paths.draw(at, rng)
        p = paths.draw_momentum(x, at.model, rng)
        for j, f_max in enumerate((2, 4)):
            there, halves, p_there, H = paths.travel(x, p, at.model, 3, 0.2, f_max)
            back, _, _, H_back = paths.travel(there[2], -p_there, at.model, 3, 0.2, f_max)
            assert found["x"][k][j] == max(abs(back[2] - x) / at.sd)
            assert found["H"][k][j] == abs(H_back[1] - H[0])
        places = [(x, 0), (there[0], 0), (there[0], 1), (there[1], 1), (there[1], 2), (there[2], 2)]
        assert found["contraction"][k] == max(
            paths.contraction(place, halves[step], at.model, 0.2) for place, step in places)


HALF = [  # two calls of reversals(), for f_max = 3, 4, 5, 6, 10
    {"x": [[1e-2, 1e-3, 1e-5, 1e-6, 1e-8]], "H": [[1e-1, 1e-2, 1e-2, 1e-2, 1e-9]],
     "contraction": [0.1]},
    {"x": [[1e-4, 1e-7, 1e-7, 1e-8, 1e-12], [1e-1, 2.0, np.nan, 1e-1, 5.0]],
     "H": [[1e-3, 1e-6, 1e-2, 1e-2, 1e-9], [1e-5, 1e-4, np.inf, 1e-2, 1.0]],
     "contraction": [0.3, 0.9]}]


def test_means_of_logarithms_by_hand():
    found = paths.summary(HALF)
    # -2, -4, -1; -3, -7, 0; ...: their means, and standard deviations over sqrt(3)
    assert found["x"][0] == pytest.approx((-7 / 3, (7 / 3 / 3) ** 0.5), rel=1e-12)
    assert found["x"][1] == pytest.approx((-10 / 3, (37 / 3 / 3) ** 0.5), rel=1e-12)
    assert found["H"][0] == pytest.approx((-3, (4 / 3) ** 0.5), rel=1e-12)
    np.testing.assert_array_equal(found["lost"], [0, 1 / 3, 1 / 3, 0, 1 / 3])
    assert found["contraction"] == [0.2, 0.3]  # of the two that return
    lost = paths.summary([{"x": [[1e-3, 9.0]], "H": [[0.0, 0.0]], "contraction": [0.5]}] * 2)
    assert lost["contraction"] == []
    errors = np.array([np.nan, np.inf, 1e30, 1.0, 1e-3, 0.0])
    np.testing.assert_allclose(paths.log_error(errors), [0, 0, 0, 0, -3, -17], rtol=1e-15)


def test_convergence_by_hand_is_of_trajectories_that_return():
    found = paths.convergence((3, 4, 5, 6, 10), HALF)
    # gains by 4 of 1, 3, -1 and by 5 of 2, 0, 0: differences -1, 3, -1
    assert found["gain"] == pytest.approx((1 / 3, (16 / 3 / 3) ** 0.5), rel=1e-12)
    # of the two that return: log10 of the decay is -0.5 and -1, of c -1 and log10(0.3)
    a, b = 0.5, -1 - math.log10(0.3)
    log10 = Measured((a + b) / 2, abs(a - b) / 2)
    assert found["decay"] == pytest.approx(
        (10**log10.value, 10**log10.value * math.log(10) * log10.se), rel=1e-12)
    assert math.isnan(paths.convergence((3, 4, 5, 6, 10), HALF[:1])["decay"].se)  # of one

    def some(*rows):  # x for f_max = 3, 4, 5, 6, 10, and the contraction
        return [{"x": [x for x, _ in rows], "H": [x for x, _ in rows],
                 "contraction": [c for _, c in rows]}]

    two = [([1e-2, 1e-3, 1e-4, 1e-5, 1e-9], 0.1), ([1e-2, 1e-3, 1e-4, 1e-5, 1e-11], 0.1)]
    wanted = paths.convergence((3, 4, 5, 6, 10), some(*two))["decay"]
    # log10 of the decay is -1 and -1.5, of c -1
    assert wanted.value == pytest.approx(10**-0.25, rel=1e-12)
    for lost in (([1e-2, 1e-3, 1e-4, 3.0, 1e-9], 0.1), ([1e-2, 1e-3, 1e-4, 1e-5, 3.0], 0.1),
                 ([1e-2, 1e-3, 1e-4, 1e-5, 1e-9], math.nan)):
        assert paths.convergence((3, 4, 5, 6, 10), some(*two, lost))["decay"] == wanted


def test_order_and_volume_are_means_of_all_starts(monkeypatch):
    found = paths.returns("N = 1", 3, 0.1, (2, 5), 6, 1)
    assert found["x"] == paths.summary([paths.reversals("N = 1", None, 3, 0.1, (2, 5), 6, 1)])["x"]
    assert len(found["lost"]) == 2
    found = paths.order("N = 1", 4, (0.01, 0.02), (1, 2, 3), 40, 2)["order"]
    # f + 1 for odd f, f + 2 for even f; the next order is eps of it, a tenth at the largest c
    assert [round(m.value) for m in found] == [2, 4, 4]
    errors = {0.1: [[1e-6, 1e-8], [1e-4, 1e-6]], 0.2: [[1e-5, 1e-4], [1e-4, 1e-3]]}
    monkeypatch.setattr(paths, "reversals", lambda name, cases, l_max, eps, *_: {"x": errors[eps]})
    # differences of 1, 0 and of 4, 3 in log10, for a step of log10(2)
    found = paths.order("N = 1", 5, (0.1, 0.2), (1, 2), 2, 0)["order"]
    two = math.log10(2)
    assert found == [pytest.approx((0.5 / two, 0.5 / two), rel=1e-12),
                     pytest.approx((3.5 / two, 0.5 / two), rel=1e-12)]


def test_a_volume_by_hand():
    # one start: the determinant of the map of a trajectory, by one-sided differences
    at, rng = paths.posterior("N = 1"), np.random.default_rng(8)
    x = paths.draw(at, rng)
    p = paths.draw_momentum(x, at.model, rng)

    def flow(x, p):
        xs, _, p, _ = paths.travel(np.array([x]), np.array([p]), at.model, 4, 0.5, 1)
        return xs[-1][0], p[0]

    h, here = 1e-6, flow(x[0], p[0])
    (xx, px), (xp, pp) = flow(x[0] + h, p[0]), flow(x[0], p[0] + h)
    J = [[(xx - here[0]) / h, (xp - here[0]) / h], [(px - here[1]) / h, (pp - here[1]) / h]]
    ((value, _),) = paths.volumes("N = 1", 4, 0.5, (1,), 1, 8)["log10"]
    assert value > -3  # so that one-sided differences, which err by about h, know it to 1 %
    assert value == pytest.approx(math.log10(abs(math.log(np.linalg.det(J)))), abs=0.01)


def test_the_differences_of_a_volume_are_small_beside_each_deviation(monkeypatch):
    seen = []

    def travel(x, p, *_):  # a map that moves nothing
        seen.append(np.concatenate([x, p]))
        return x[None], None, p, None

    monkeypatch.setattr(paths, "travel", travel)
    found = paths.volumes("N = 2", 10, 0.1, (1,), 2, 4)["log10"]
    assert found[0].value < -9  # its determinant is 1, but for rounding over 3e-6
    sd = paths.posterior("N = 2").sd
    steps = np.subtract(seen[::2], seen[1::2]) / 2
    # momenta have the inverse deviations of positions; rounding of states of size 10
    np.testing.assert_allclose(steps, np.tile(np.diag(3e-6 * np.append(sd, 1 / sd)), (2, 1)),
                               rtol=0, atol=1e-14)
