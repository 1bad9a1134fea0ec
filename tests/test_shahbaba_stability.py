"""The script on the stability limits of Split HMC: its estimates, its claims, what it runs."""

import numpy as np
import pytest

import studies
from judging import check_moves, put, read_table
from models.interface import hessian
from reproduce.beyond import shahbaba_stability as stability
from reproduce.shahbaba import chains
from reproduce.shahbaba.printed import PROBLEMS, step

DATA = "illustrative data of slope 5, seed 1"


def made_up():
    """Return a result of which every claim is true, with w = 100 and w_0 = 100."""
    by_method = {method: {stability.times(method, f): spread(x)
                          for f, x in ((0.8, 0.1), (1.0, 0.3), (factor, 9.0))}
                 for method, factor in stability.FURTHER.items()}
    by_method["normal"][stability.times("normal", 1.4)] = spread(0.3)
    theory = {m: {"steps": [0.01, 0.02, 0.03], "draws": [[0.0, 0.2, 0.3], [0.0, 0.05, 0.3]],
                  "mode": [0.0, 1e-9, 0.0]} for m in stability.PAPER}
    return {"errors": by_method, "theory": theory, "w": 100.0, "w_0": 100.0, "limit": 0.02}


def spread(x):
    """Return energy errors near x, so that nothing is known without an error."""
    return x * np.linspace(0.9, 1.1, 100)


def errors(method, factor, x):
    """Make a function that lets the energy errors at a step be near x."""
    return put("errors", method, stability.times(method, factor), spread(x))


def drop_and_rise(method):
    """Return what the claims about a step beyond the paper's and a shorter one are called."""
    beyond = f"{stability.FURTHER[method]} x"
    return [f"{method}: acceptance, 0.8 x the paper's step - {beyond}",
            f"{method}: log median |energy error|, {beyond} the paper's step - 0.8 x"]


LIMIT, INNER = "HMC: stability limit x w / 2, by the eigenvalues of A", "data: inner step x w_0 / 2"
PAST, BEYOND = ("normal: acceptance, 1.4 x the paper's step - 1.1 x",
                "HMC: acceptance beyond the limit")
AT_THE_MODE = "normal: growth exponent at the mode, largest over the steps"
MOVED = {
    **{f"{key} is {value}": (put(key, value), [what]) for key, value, what in (
        ("limit", 0.02 * (1 + 1.2e-6), LIMIT), ("limit", 0.02 * (1 - 1.2e-6), LIMIT),
        ("w", 100.001, LIMIT), ("w_0", 181.0, INNER))},  # 0.1 / 9 x 180 / 2 = 1
    **{f"{method} grows at the mode": (put("theory", method, "mode", [0.0, 0.0, 1.2e-5]),
                                       [AT_THE_MODE] * (method == "normal"))
       for method in stability.PAPER},
    # accepted like the shorter steps, or more
    **{f"{method}, no error beyond": (errors(method, stability.FURTHER[method], 0.01), [
        *drop_and_rise(method), *{"normal": [PAST], "HMC": [BEYOND], "data": []}[method]])
       for method in stability.PAPER},
    **{f"{method}, large errors at shorter steps": (errors(method, 0.8, 20.0),
                                                    drop_and_rise(method))
       for method in stability.PAPER},
    # no claim is about the paper's step without its jitter
    **{f"{method}, the paper's step": (errors(method, 1.0, 0.5), []) for method in stability.PAPER},
    "nothing is accepted past the resonance": (errors("normal", 1.4, 20.0), [PAST]),
    # one in twenty may be: exp(-3.1) = 0.045, exp(-2.8) = 0.061
    "few are accepted beyond the limit": (errors("HMC", 1.4, 3.1), []),
    "too many are": (errors("HMC", 1.4, 2.8), [BEYOND]),
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(stability, made_up(), MOVED)


def test_rates_medians_and_growth_by_hand():
    rate = stability.acceptance(np.array([np.inf, np.nan, -1.0, 0.0, np.log(2)]))
    assert rate == pytest.approx((0.5, np.std([0, 0, 1, 1, 0.5], ddof=1) / 5**0.5))
    assert stability.acceptance(np.array([-np.inf, 1.0])).value == np.exp(-1) / 2
    # 16 numbers: the ranks 8 - 2 and 8 + 2, counted from 0; it is of what they are without signs
    x = np.exp(np.arange(16.0))
    assert stability.log_median(x[::-1] * np.tile([1, -1], 8)) == pytest.approx((7.5, 2.0))
    # where they are not even: (100 - 36) / 2
    assert stability.log_median(np.exp(np.arange(16.0) ** 2)) == pytest.approx((56.5, 32.0))
    draws = [[0.0, 0.0, 0.2], [0.9, 0.2, 0.2], [0.0, 0.3, 0.0]]
    assert stability.first_growth({"steps": [1.0, 2.0, 3.0], "draws": draws}) == 2.0
    assert np.isnan(stability.first_growth({"draws": [[0.0, 0.0, 0.09]]}))


def test_the_settings_are_those_of_table_1():
    assert (stability.FRACTION, stability.M) == (PROBLEMS["Simulated"].f, PROBLEMS["Simulated"].M)
    for method, (eps, L) in stability.PAPER.items():
        assert (eps, L) == pytest.approx(step("Simulated", method), rel=1e-15)
        assert eps * L == pytest.approx(stability.TRAJECTORY, rel=1e-15)  # rounding


@pytest.fixture
def small(monkeypatch):
    """Let the problem be one of three coefficients."""
    monkeypatch.setattr(stability, "OWN", DATA)
    stability.starts.cache_clear()
    yield chains.problem(DATA, stability.FRACTION)
    stability.starts.cache_clear()


def test_trajectories_and_linear_theory_are_at_draws_of_the_posterior(small, monkeypatch):
    starts = stability.starts(45, 3)
    chain = chains.transitions("data", small[1].q_hat, small, 0.1, 3, 9, 50 + 450,
                               np.random.default_rng(3))
    np.testing.assert_array_equal(starts, chain.samples[59::10])
    found = stability.trajectories("normal", 0.7, 4, 45, 3)["errors"]
    assert len(found) == 45 and stability.six_digits(-1.2345678e-9) == -1.23457e-9
    for first in (0, 20, 40):  # each set of 20 has momenta of its own
        rng = np.random.default_rng([3, first])
        for k in range(first, min(first + 20, 45)):
            one = chains.transitions("normal", starts[k], small, 0.7, 4, 9, 1, rng, jitter=0.0)
            assert found[k] == float(f"{one.energy_error[0]:.6g}")
    monkeypatch.setitem(stability.RANGES, "HMC", (1.0, 3.0))  # about the limit of this problem
    found = stability.linear_theory("HMC", 3, 2, 5, 3)
    curves = [*found["draws"], found["mode"]]
    assert found["steps"].tolist() == [1.0, 2.0, 3.0] and len({each[-1] for each in curves}) == 3
    for curve, q in zip(curves, [*stability.starts(5, 3)[:2], small[1].q_hat], strict=True):
        assert curve == [stability.six_digits(stability.growth(
            "HMC", eps, stability.hessians_at(q))) for eps in found["steps"]]


def test_hessians_are_of_the_whole_and_its_parts_and_growth_is_over_a_trajectory(small):
    model, fit, split = small
    q = fit.q_hat + 0.3
    J, J_0, J_1 = stability.hessians_at(q)
    np.testing.assert_allclose(J, J_0 + J_1, rtol=1e-12)  # rounding of 100 terms
    for found, part in ((J, model), (J_0, split.R_0)):
        np.testing.assert_array_equal(found, hessian(q, part))
    at_mode = stability.hessians_at(fit.q_hat)
    for method, eps in (("HMC", 1.0), ("data", 2.0)):
        each = stability.exponent(stability.q_block(method, eps, *at_mode, fit, 9))
        assert each > 0.01
        assert stability.growth(method, eps, at_mode) == pytest.approx(0.3 / eps * each, rel=1e-12)


def test_the_errors_of_a_step_go_to_that_step(small):
    experiment = studies.Recorder("smoke", lambda function, tasks: [
        function(**{k: v for k, v in task.items() if k != "cost"}) for task in tasks])
    result = stability.run(experiment, None)
    (first, tasks), (second, _) = experiment.calls
    assert (first, second) == ("trajectories", "linear_theory")
    for task in tasks:
        assert (task["count"], task["seed"]) == (10, 5)
        wanted = stability.trajectories(task["method"], task["eps"], task["L"], 10, 5)["errors"]
        assert result["errors"][task["method"]][task["eps"]].tolist() == wanted
        # trajectories of length 0.3, to half a step
        assert abs(task["eps"] * task["L"] - 0.3) <= task["eps"] / 2 + 1e-12
    for name, part in zip(("w", "w_0"), stability.hessians_at(small[1].q_hat), strict=False):
        assert result[name] == pytest.approx(np.linalg.eigvalsh(part)[-1] ** 0.5, rel=1e-12)
    assert [len(result["theory"][m]["draws"]) for m in stability.PAPER] == [1, 1, 1]
    # at the paper's budget the seeds are others
    assert stability.FRESH["paper"] > 0 == stability.FRESH["short"] == stability.FRESH["smoke"]


def test_the_table_has_limits_and_rows():
    text = stability.table(made_up())
    assert "2 / w = 0.02," in text and "pi / w = 0.03142" in text
    assert "from eps = 0.02 (HMC), 0.02 (normal), 0.02 (data)" in text
    # exp(-0.3), and a mean of 100 numbers of deviation 0.3 x 0.058 x exp(-0.3)
    assert read_table(text)[1] == {
        "method": "HMC", "eps": "0.01500 *", "acceptance (s.e.)": "0.7409 (0.0013)",
        "median |energy error|": "0.3"}


def test_each_line_of_the_figure_is_in_its_place():
    result = made_up() | {"w_0": 50.0}
    errors = np.linspace(1.0, 9.0, 9)
    errors[0] = np.nan  # 2, ..., 9 and one that is larger: the median is the fifth
    result["errors"]["data"][stability.times("data", 1.2)] = errors
    fig = stability.figure(result)
    named = {mark.get_label(): (mark.get_color(), mark.get_linestyle())
             for mark in fig.legends[0].get_lines()}
    assert [ax.get_ylabel()[:15] for ax in fig.axes[::3]] == [
        "acceptance rate", "|energy error|", "growth exponent"]
    # 2 / w; k pi / w; (2 M / w_0) sin(k pi / 2 M), where M = 9 inner steps make k half turns
    k = np.arange(1, 9)
    marks = {"HMC": [0.02], "normal": k * np.pi / 100, "data": 0.36 * np.sin(k * np.pi / 18)}
    paper = {"HMC": 0.015, "normal": 0.03, "data": 0.1}
    for column, (method, by_step) in zip(np.reshape(fig.axes, (3, 3)).T, result["errors"].items(),
                                         strict=True):
        assert column[0].get_title()[:3] == {"HMC": "HMC", "normal": "nor", "data": "dat"}[method]
        drawn = (*column[1].lines[:3], *column[2].lines[1:3])
        assert [(line.get_color(), line.get_linestyle()) for line in drawn] == [
            named[each] for each in (
                "rate, 2 standard errors; median", "the paper's step",
                "edge or window of instability", "growth at draws of the posterior",
                "growth at the mode")]
        (bars,) = column[0].containers
        rates = [stability.acceptance(errors) for errors in by_step.values()]
        np.testing.assert_array_equal(bars.lines[0].get_xydata(), np.column_stack(
            [[*by_step], [m.value for m in rates]]))
        np.testing.assert_allclose([end[:, 1] for end in bars.lines[2][0].get_segments()], [
            (m.value - 2 * m.se, m.value + 2 * m.se) for m in rates], rtol=1e-12)
        # quantiles of x times numbers from 0.9 to 1.1, evenly spaced
        middle = [6.0 if np.isnan(errors).any() else np.mean(errors) for errors in by_step.values()]
        np.testing.assert_allclose(column[1].lines[0].get_ydata(), middle, rtol=1e-12)
        band = column[1].collections[0].get_paths()[0].vertices
        for eps, errors in by_step.items():
            if not np.isnan(errors).any():
                inside = band[np.isclose(band[:, 0], eps)][:, 1]
                assert (inside.min(), inside.max()) == pytest.approx(
                    tuple(np.quantile(errors, (0.25, 0.75))), rel=1e-9)
        theory = result["theory"][method]
        assert [line.get_xydata().T.tolist() for line in column[2].lines[:3]] == [
            [theory["steps"], curve] for curve in (*theory["draws"], theory["mode"])]
        for ax in column:
            for style, wanted in (("--", [paper[method]]), ("-", marks[method])):
                assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == style
                        and set(line.get_ydata()) == {0, 1} and len({*line.get_xdata()}) == 1
                        ] == pytest.approx(wanted, rel=1e-12)
