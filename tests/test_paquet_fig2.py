"""reproduce/paquet_fig2.py: settings and problem, estimators by hand, and what claims are about."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from judging import check_labels, check_moves, put
from reproduce import paquet_fig2 as script
from reproduce.beyond import paquet_fixed_point, paquet_rivals
from reproduce.harness.claims import Measured
from reproduce.harness.run import Settings
from reproduce.paquet.digits import digits_3v5
from reproduce.paquet.problem import KERNELS, LOG_AMPLITUDE, LOG_LENGTH, anneal, problem

# The caption of Figure 2
CAPTION = """
(a) AISq-RMHMC using B = 12; (b) AISq-RMHMC using B = 120; (c) AISq-RMHMC using B = 240;
(d) AIS-RMHMC using B = 1200; (e) AISq-RMHMC using B = 540; (f) AIS-RMHMC using B = 2000;
(g) AISq-HMC using B = 400"""
# Section 5, and the inputs of Algorithm 1
TEXT = """
a length scale l = exp(4.85) and amplitude parameter sigma = exp(5.1)
A HMC transition kernel with l_max = 200 leapfrog steps is used
Plot (g) used a step size eps = 0.02 per proposal
anneals from q(x) using a RMHMC kernel (eps = 0.1, l_max = 10)
the number of fixed point iterations is pre-set to, say, f_max = 5"""
DIGITS = digits_3v5().name


def test_panels_and_settings_are_those_of_the_paper():
    printed = re.findall(r"\((.)\) (AISq?-R?M?HMC) using B = (\d+)", CAPTION)
    assert [(p, script.METHODS[p], str(script.B[p])) for p in "abcdefg"] == printed
    # Section 5: the simplest AIS-HMC, of which it says no B of its own
    assert script.METHODS["-"] == "AIS-HMC" and script.B["-"] == script.B["g"]
    assert script.TEMPERATURES["paper"] == script.B
    starred = {p: label for p, label in script.LABELS.items() if "*" in label}
    assert starred == {p: f"({p}*)" for p, method, _ in printed if method.startswith("AISq")}
    said = [float(number) for number in re.findall(r" = (\d+(?:\.\d+)?)", script.__doc__)]
    assert said == [LOG_LENGTH, LOG_AMPLITUDE, *KERNELS["RMHMC"], *KERNELS["HMC"]]


def test_settings_are_those_of_the_text():
    HMC, RMHMC = KERNELS["HMC"], KERNELS["RMHMC"]
    assert [float(found) for found in re.findall(r" = (?:exp\()?([\d.]*\d)", TEXT)] == [
        LOG_LENGTH, LOG_AMPLITUDE, HMC.l_max, HMC.eps, RMHMC.eps, RMHMC.l_max, RMHMC.f_max]


def test_covariance_is_that_of_the_paper():
    K, y, _ = problem(DIGITS)
    X, labels = digits_3v5()[1:3]
    np.testing.assert_array_equal(y, labels)
    assert K.shape == (365, 365)
    for m, n in ((0, 0), (3, 17), (10, 300)):
        distance = sum((a - b) ** 2 for a, b in zip(X[m], X[n], strict=True))
        # distances of 64 pixels from |x|^2 + |x'|^2 - 2 x'x, over 2 l^2 = 32000
        assert K[m, n] == pytest.approx(
            math.exp(2 * 5.1) * math.exp(-distance / 2 / math.exp(2 * 4.85)), rel=1e-12)


def test_fewer_cases_are_evenly_spaced_and_anneal_from_q_or_from_the_prior():
    whole, labels, _ = problem(DIGITS)
    for kept in ([0], [0, 364], [0, 182, 364], [0, 91, 182, 273, 364]):
        N = len(kept)
        K, y, q = problem(DIGITS, N)
        np.testing.assert_array_equal(K, whole[np.ix_(kept, kept)])
        np.testing.assert_array_equal(y, labels[kept])
        for from_q, tau in ((True, q.tau), (False, np.zeros(N))):
            model = anneal(DIGITS, N, from_q)
            np.testing.assert_array_equal(model.tau, tau)
            np.testing.assert_array_equal(model.K, K)
            np.testing.assert_array_equal(model.y, y)


@pytest.mark.parametrize("study", [script, paquet_fixed_point, paquet_rivals])
def test_the_digits_are_looked_for_where_the_reader_says(monkeypatch, study):
    monkeypatch.setattr(study, "usps_3v5", lambda folder: ("digits of", folder))
    assert study.cases(Settings(data="here")) == ("digits of", "here")


CHAIN = SimpleNamespace(log_weights=np.array([-3.0]), divergences=np.array([2]),
                        accepted=np.array([[True, False, True, True]]),
                        energy_error=np.array([[0.5, -1.5, 0.0, 2.0]]))


def test_a_run_starts_where_its_method_says_and_uses_its_kernel(monkeypatch):
    seen = []
    monkeypatch.setattr(script, "ais", lambda model, betas, kernel, runs, rng: seen.append(
        (model.tau.any(), len(betas), betas[1], type(kernel).__name__, runs)) or CHAIN)
    for method in script.METHODS.values():  # the chain's numbers by hand
        assert script.one_run(DIGITS, 8, method, 5, 1e-3, 0) == {
            "log_weight": -3.0, "accepted": 0.75, "divergences": 2, "energy_error": 1.0}
    # q has site precisions, the prior has none
    assert seen == [("AISq" in m, 6, 1e-3, m.split("-")[1], 1) for m in script.METHODS.values()]


def test_the_clock_measures_every_method_in_each_round(monkeypatch):
    now, calls = [0.0], []
    lasts = {"AISq-RMHMC": 8.0, "AIS-RMHMC": 16.0, "AISq-HMC": 4.0, "AIS-HMC": 2.0}

    def one_run(data_name, cases, method, *_):
        calls.append(method)
        now[0] += lasts[method] + 100 * (len(calls) <= 4)  # the first round compiles

    monkeypatch.setattr(script, "one_run", one_run)
    monkeypatch.setattr(script.time, "thread_time", lambda: now[0])
    found = script.clock("digits", None, 3, 4)
    assert found == {"seconds": {method: [t / 4] * 3 for method, t in lasts.items()}}
    assert calls == [*lasts] * 4


def test_every_run_has_random_numbers_of_its_own():
    given = []
    experiment = SimpleNamespace(budget="paper", seed=1, replicates=lambda function, tasks, *_: (
        given.extend(tasks), [{"seconds": None}])[1])
    with pytest.raises(StopIteration):  # nothing is computed
        script.run(experiment, SimpleNamespace(name="digits"))
    assert len({tuple(task["seed"]) for task in given[:-1]}) == len(given) - 1 == sum(
        script.RUNS["paper"].values())


def test_runs_of_a_panel_are_put_together_by_hand():
    runs = [dict(log_weight=math.log(w), accepted=a, divergences=d, energy_error=e)
            for w, a, d, e in ((1.0, 1.0, 0, 0.1), (3.0, 0.5, 2, 0.3))]
    found = script.put_together(50, runs, Measured(0.2, 0.01))
    # weights 1 and 3: mean 2, standard deviation sqrt(2), standard error 1; 16 / 10 effective runs
    assert found.log_Z == pytest.approx((math.log(2), 0.5), rel=1e-14)  # rounding
    assert found.effective == pytest.approx(1.6, rel=1e-14)
    assert found.mean == pytest.approx((math.log(3) / 2, math.log(3) / 2), rel=1e-14)
    assert (*found.accepted, found.energy_error, found.divergences) == (0.75, 0.25, 0.2, 2)
    assert found.seconds == pytest.approx((10.0, 0.5), rel=1e-14)
    assert found.B == 50 and found.log_weights.tolist() == [0.0, math.log(3)]


def made_up():
    """Return a result with which all claims agree, those of the time axis too."""
    seconds = {"d": 50.0, "e": 100.0, "f": 400.0, "g": 800.0}
    spread = np.array([-0.4, 0.0, 0.4])
    result = {p: script.Runs(B, -100 + spread, Measured(-100.0, 0.03), Measured(-100.1, 0.1), 3.0,
                             Measured(0.8, 0.01), 0.1, 0, Measured(seconds.get(p, 1.0), 0.1))
              for p, B in script.B.items()}
    result["d"] = result["d"]._replace(mean=Measured(-102.0, 0.2))
    result["-"] = result["-"]._replace(log_weights=-200 + spread, log_Z=Measured(-200.0, 1.0))
    return script.Evidence("digits", 767, -100.3, -100.0, Measured(-100.02, 0.02), result)


def test_a_method_that_stands_still_is_named_and_leaves_the_table_legible():
    # HMC from EP's q on the embedded digits: its deviations there are smaller than the steps
    text = script.table(made_up())
    assert "hardly" not in text and text.startswith(
        "N = 767; EP -100.300, corrected -100.000, bridge sampling -100.020 (0.020);")
    result = put("runs", "g", "energy_error", 5e121)(made_up())
    text = script.table(put("runs", "g", "accepted", Measured(0.0))(result))
    assert "  5e+121  " in text and max(map(len, text.splitlines())) < 110
    assert text.endswith("\n\n(g*): hardly a move is accepted, the paper's steps are too long for"
                         " these data")


Z = {p: f"({p}) error / s.e., against the bridge" for p in "bceg"}
BETTER = "|EP - bridge| - |corrected EP - bridge|"
MOVES = {
    **{what: put("runs", p, "log_Z", Measured(-100.5, 0.03)) for p, what in Z.items()},
    "(-) highest run - lowest run of (a) to (g)":
        put("runs", "-", "log_weights", np.array([-200.0, -100.2])),
    "(g) acceptance rate": put("runs", "g", "accepted", Measured(0.95, 0.01)),
    "(c) mean log weight - (d) mean log weight": put("runs", "c", "mean", Measured(-104.0, 0.2)),
    "(d) seconds / (e) seconds": put("runs", "d", "seconds", Measured(110.0, 0.1)),
    "(g) seconds / (f) seconds": put("runs", "g", "seconds", Measured(380.0, 0.1)),
    "EP - bridge": put("EP", -101.3),
    BETTER: lambda r: r._replace(EP=-100.02, bridge=Measured(-100.02, 0.001)),
}


def test_one_quantity_moves_one_claim():
    check_moves(script, made_up(), {what: (move, [what]) for what, move in MOVES.items()} | {
        p: (put("runs", p, "divergences", 1), ["divergences, all runs"])
        for p in script.METHODS} | {
        "few are accepted": (put("runs", "g", "accepted", Measured(0.55, 0.01)), [
            "(g) acceptance rate"]),
        "EP is too large": (put("EP", -98.9), ["EP - bridge"]),
        "the correction": (put("corrected", -100.6), [BETTER]),
        "the bridge": (put("bridge", Measured(-99.6, 0.02)), [*Z.values()])})


def test_errors_count_those_of_ep_and_of_the_bridge():
    # |-1 - t| - |1 - t| = 2 t between -1 and 1, so its error is twice that of t
    found = script.improvement(-1.0, 1.0, Measured(0.3, 0.01))
    assert found == pytest.approx((0.6, 0.02), rel=1e-14)
    result = made_up()._replace(bridge=Measured(-100.1, 0.04))  # the panel: -100 (0.03)
    (claim,) = [claim for claim in script.CLAIMS if claim.what == Z["b"]]
    assert claim.ours(result) == pytest.approx(2.0, rel=1e-9)


def test_each_point_and_box_of_the_figure_is_in_its_place():
    few = np.array([-120.0, -100.3, -100.2])  # one is below the figure, which reaches to -110
    result = put("runs", "f", "log_weights", few)(made_up())
    fig = script.figure(result)
    left, right = fig.axes
    check_labels(fig.axes, ("last line: B", r"estimate of $\log Z"), ("computation time", ""))
    assert "order" in left.get_title() and "time" in right.get_title()
    for tick, (p, method) in zip(left.get_xticklabels(), script.METHODS.items(), strict=True):
        assert tick.get_text().split("\n") == [
            script.LABELS[p], *method.split("-"), str(result.runs[p].B)]
    named = {mark.get_label(): mark.get_color() for mark in fig.legends[0].legend_handles}
    assert len({named[method] for method in script.METHODS.values()}) == 4
    bottom, _ = left.get_ylim()
    for ax, at in ((left, {p: k for k, p in enumerate(script.METHODS)}),
                   (right, {p: result.runs[p].seconds.value for p in script.METHODS})):
        lines = {line.get_label(): set(line.get_ydata()) for line in ax.lines}
        assert (lines["EP"], lines["EP, second-order correction"]) == ({-100.3}, {-100.0})
        dots = [line for line in ax.lines if line.get_marker() == "."]
        for dot, (p, method) in zip(dots, script.METHODS.items(), strict=True):
            inside = {"f": few[1:], "-": []}.get(p, result.runs[p].log_weights)
            np.testing.assert_array_equal(dot.get_ydata(), inside)
            np.testing.assert_allclose(dot.get_xdata(), at[p], rtol=0, atol=0.5 * (ax is left))
            assert dot.get_color() == named[method]
        below = [line for line in ax.lines if line.get_marker() == "v"]
        assert [line.get_xdata()[0] for line in below] == [at["f"], at["-"]]
        assert all(bottom < line.get_ydata()[0] < bottom + 1 for line in below)
    assert [(text.get_text().split("\n")[0], text.get_text()[-3:]) for text in left.texts] == [
        ("1 of 3", "107"), ("3 of 3", "200")]  # the means
    middles = [line for line in left.lines if line.get_linestyle() == "-"
               and line.get_color() in {named[method] for method in script.METHODS.values()}]
    for k, (p, middle) in enumerate(zip("abcdefg", middles, strict=True)):  # all of (-) is below
        # the median of all runs, those below the figure too
        assert set(middle.get_ydata()) == {np.median(result.runs[p].log_weights)}
        assert np.mean(middle.get_xdata()) == pytest.approx(k, abs=1e-12)
    assert {(text.get_text(), text.xy[0]) for text in right.texts} == {
        (script.LABELS[p], result.runs[p].seconds.value) for p in script.METHODS}
