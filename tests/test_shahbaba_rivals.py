"""What a mass matrix does beside split HMC: coordinates, chains, settings, claims."""

import numpy as np
import pytest
from scipy.stats import norm

from algorithms.map_estimate import map_estimate
from algorithms.shahbaba_split_hmc import normal_approximation
from judging import read_table, verdicts
from made_up_chains import FEW, five, off, one
from models.interface import U, U_and_grad_U, case_entropy, grad_U, hessian, select_cases
from models.logistic_regression import LogisticRegression
from reproduce.beyond import shahbaba_rivals as script
from reproduce.beyond.rivals.moments import as_one, combine, distance, log_efficiency
from reproduce.harness.claims import Measured
from reproduce.harness.style import plt
from reproduce.shahbaba import rivals
from reproduce.shahbaba.datasets import load
from reproduce.shahbaba.printed import METHODS, PROBLEMS
from reproduce.shahbaba.whitened import original, whiten, whitened_problem

SMALL = "illustrative data of slope 5, seed 1"


@pytest.fixture(scope="module")
def problem():
    cases = load(SMALL)
    model = LogisticRegression.from_data(cases.X, cases.y)
    return model, normal_approximation(map_estimate(model))


# Coordinates


def test_the_hessian_at_the_mode_is_the_identity(problem):
    model, fit = problem
    C = whiten(model, fit).C
    # the Hessian is that of the mode to rounding
    np.testing.assert_allclose(C.T @ hessian(fit.q_hat, model) @ C, np.eye(3), rtol=0, atol=1e-12)


def test_energies_and_gradients_are_those_of_q(problem):
    model, fit = problem
    new, z, h = whiten(model, fit), np.array([0.5, -1.0, 2.0]), 1e-5
    q = original(z[None], new)[0]
    np.testing.assert_allclose(q, fit.q_hat + fit.Z @ (z / fit.w), rtol=1e-14)
    assert U(z, new) == U(q, model)
    energy, g = U_and_grad_U(z, new)
    differences = [(U(z + h * e, new) - U(z - h * e, new)) / (2 * h) for e in np.eye(3)]
    # h^2 and rounding over h are both about 1e-10
    np.testing.assert_allclose(g, differences, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(grad_U(z, new), g)
    assert energy == U(z, new)
    np.testing.assert_array_equal(case_entropy(z, new), case_entropy(q, model))


def test_the_parts_of_a_split_add_up(problem):
    model, fit = problem
    new, normal, split = whitened_problem(model, fit, 0.3)
    z = np.array([0.5, -1.0, 2.0])
    assert U(z, split.R_0) + U(z, split.R_1) == pytest.approx(U(z, new), rel=1e-14)
    cases = split.cases
    np.testing.assert_array_equal(cases, np.sort(np.argsort(-case_entropy(fit.q_hat, model))[:30]))
    assert U(z, select_cases(new, cases, 0.0)) == U(original(z[None], new)[0],
                                                    select_cases(model, cases, 0.0))
    assert U(z, normal) == pytest.approx(z @ z / 2, rel=1e-14)


# Chains


@pytest.fixture
def small(monkeypatch):
    """Put the illustrative data in the place of CTG."""
    monkeypatch.setitem(rivals.SETS, "CTG", SMALL)
    monkeypatch.setitem(PROBLEMS, "CTG", PROBLEMS["CTG"]._replace(eps=0.6, f=0.5, M=3))
    rivals.whitened_stage.cache_clear()
    yield
    rivals.whitened_stage.cache_clear()


def test_all_methods_sample_the_same_posterior(small):
    long = combine([rivals.chain("CTG", rivals.MASS, [0.9, 2], 40_000, 100, 1)], 3)
    for method in rivals.OURS:
        setting = [0.5, 4] if method in METHODS else [0.9, 2]
        found = rivals.chain("CTG", method, setting, 10_000, 100, 2)
        assert found["n"] == 10_000 and found["rate"] > 0.5
        z, se = distance(combine([found], 3), long, 3)
        assert as_one(z, 6) < 4 and se == 0
        # L gradients a transition; data splitting has (f M + 1 - f) L; one more at the start
        wanted = setting[1] * (2.0 if "data" in method else 1.0)
        assert found["gradients"] / found["n"] == pytest.approx(wanted, abs=2e-4)


def test_the_mass_is_the_hessian_at_the_mode(small, problem, monkeypatch):
    seen, (model, fit) = [], problem
    monkeypatch.setattr(rivals, "hmc", lambda *a: seen.append(a) or None)
    rivals.run("CTG", rivals.MASS, [0.7, 3], (np.zeros(3), np.ones(3)), 5, None)
    q, _, eps, L, n, _, M, jitter = seen[0]
    np.testing.assert_allclose(M, hessian(fit.q_hat, model), rtol=1e-10)
    assert (eps, L, n, jitter) == (0.7, 3, 5, 0.2) and (q == 1).all()


def test_every_method_starts_in_its_own_coordinates(small, monkeypatch):
    seen = []

    class Chain:
        samples = np.zeros((1, 3))

        def _replace(self, samples):
            return samples

    monkeypatch.setattr(rivals, "transitions", lambda *arguments: seen.append(arguments) or Chain())
    z, q = np.array([0.5, -1.0, 2.0]), np.array([7.0, 8.0, 9.0])
    for method in (*METHODS, *rivals.SPLITS):
        made = rivals.run("CTG", method, [0.7, 3], (z, q), 5, None)
        name, start, stage, eps, L, M, n, _ = seen[-1]
        assert (name, eps, L, M, n) == (method.split(",")[0], 0.7, 3, 3, 5)
        np.testing.assert_array_equal(start, q if method in METHODS else z)
        if method in rivals.SPLITS:  # z = 0 is the mode, and draws come back as those of q
            np.testing.assert_array_equal(stage[1].q_hat, np.zeros(3))
            np.testing.assert_array_equal(made[0], stage[0].q_hat)


def test_divergences_of_a_chain_are_counted(small, monkeypatch):
    whole = rivals.run("CTG", "HMC", [0.3, 4], rivals.start("CTG", np.random.default_rng(1)), 20,
                       np.random.default_rng(2))
    errors = np.append(np.zeros(17), [np.inf, np.nan, np.inf])
    monkeypatch.setattr(rivals, "run", lambda *_: whole._replace(energy_error=errors))
    assert rivals.chain("CTG", "HMC", [0.3, 4], 20, 0, 1)["divergences"] == 3


def test_chains_start_at_draws_of_the_normal_approximation(small, problem):
    _, fit = problem
    rng = np.random.default_rng(5)
    z, q = map(np.array, zip(*[rivals.start("CTG", rng) for _ in range(4000)], strict=True))
    np.testing.assert_allclose((q - fit.q_hat) @ fit.Z * fit.w, z, rtol=0, atol=1e-10)
    covariance = fit.Z @ np.diag(fit.w**-2.0) @ fit.Z.T
    # 4000 draws: a relative error of 1 / sqrt(2000) a variance
    np.testing.assert_allclose(np.cov(q.T), covariance, rtol=0, atol=0.12 * covariance.max())


def test_sixteen_settings_with_the_papers_among_them():
    for name, of in PROBLEMS.items():
        for method in rivals.OURS:
            tried = rivals.settings(name, method)
            assert len(set(map(tuple, tried))) == len(tried) <= 16
            assert len(tried) == 16 or method == "data"
            if method in METHODS:
                L = int(of.rows["L"][method])
                eps = of.eps * 20 / L  # all have the trajectory of HMC
                assert any(m == L and abs(e / eps - 1) < 1e-12 for e, m in tried)
            else:
                assert tried[0] == [0.4, 1] and tried[-1] == [1.4, 5]


def test_a_pilot_is_the_worst_ess_per_gradient_of_its_chain(small):
    of = dict(name="CTG", method="HMC", setting=[0.3, 4], seed=3)
    found, whole = rivals.pilot(n=40, **of), rivals.chain(n=40, burn_in=0, **of)
    both = combine([whole], len(whole["mean"]))
    assert found["rate"] == whole["rate"]
    assert found["efficiency"] == min(*both.ess, *both.ess_squares) / whole["gradients"]


def test_the_first_transitions_do_not_count(small):
    found = rivals.chain("CTG", "normal", [0.6, 3], 30, 20, 4)
    rng = np.random.default_rng(4)
    q = rivals.start("CTG", rng)
    whole = rivals.run("CTG", "normal", [0.6, 3], q, 50, rng)
    assert whole.accepted[:20].mean() != whole.accepted[20:].mean() == found["rate"]
    # stored with eight digits
    np.testing.assert_allclose(found["mean"], whole.samples[20:].mean(0), rtol=1e-7)
    assert found["gradients"] == pytest.approx(0.6 * whole.counts.gradient, rel=1e-12)


def test_a_chain_of_nuts_has_its_own_gradients_and_those_of_its_adaptation(small, monkeypatch):
    x = np.random.default_rng(1).standard_normal((40, 3))
    asked = []

    def nuts(model, start, draws, tune, seed, **options):
        asked.append((start.tolist(), draws, tune, options))
        return {"q": x, "steps": 70, "warm_up": 30, "divergences": 2, "deepest": 0.25}

    monkeypatch.setattr(rivals, "nuts", nuts)
    found = rivals.nuts_chain("CTG", True, 40, 20, 6)
    q = rivals.start("CTG", np.random.default_rng(6))[1].tolist()
    assert asked == [(q, 40, 20, {"low_rank": True})]
    assert [found[key] for key in ("n", "gradients", "warm_up", "divergences", "deepest")] == [
        40, 70, 30, 2, 0.25]
    np.testing.assert_allclose(found["mean"], x.mean(0), rtol=1e-7)
    # its clock counts the gradients of both
    ticks = iter(np.arange(100.0) * 200)
    monkeypatch.setattr(rivals.time, "process_time", lambda: next(ticks))
    rows = {rivals.NUTS: None, rivals.LOW_RANK: None}
    seconds = rivals.clock("CTG", rows, 1, 5)["seconds"]
    assert [seconds[row] for row in rows] == [[200 / 100]] * 2
    assert [options["low_rank"] for *_, options in asked[1:]] == [False, True] * 2
    assert [each[1:3] for each in asked[1:]] == [(5, 10)] * 4


def test_moments_are_kept_to_eight_digits():
    assert rivals.shorten({"mean": [1 / 3, -2e10 / 3], "n": 7, "rate": 1 / 3}) == {
        "mean": [0.33333333, -6666666700.0], "n": 7, "rate": 1 / 3}


def test_the_clock_is_of_a_gradient(small, monkeypatch):
    ticks = iter(np.arange(100.0) * 6)
    monkeypatch.setattr(rivals.time, "process_time", lambda: next(ticks))
    rows = {"HMC": [0.3, 4], rivals.MASS: [0.5, 2]}
    seconds = rivals.clock("CTG", rows, 2, 5)["seconds"]
    assert seconds == {"HMC": [6 / 21] * 2, rivals.MASS: [6 / 11] * 2, "mode": [6.0] * 2}


# Efficiency


@pytest.mark.parametrize(("ess", "squares", "least"), [(200.0, 50.0, 100), (30.0, 50.0, 60)])
def test_efficiency_is_the_worst_ess_per_gradient_of_values_and_squares(ess, squares, least):
    found = log_efficiency([one(ess, squares, 400.0)] * 2, 3)
    assert found == pytest.approx((np.log(least / 800), 0), rel=1e-12, abs=1e-12)


def test_the_error_of_an_efficiency_is_that_of_the_chains():
    # four chains, of which the squared errors of the mean are 1/10, 1/20, 1/30 and 1/40
    ess = np.array([10.0, 20, 30, 40])
    value, se = log_efficiency([one(e, 1e9, 100.0) for e in ess], 3)
    assert value == pytest.approx(np.log(16 / (1 / ess).sum() / 400), rel=1e-12)
    left = [np.log(9 / (1 / np.delete(ess, j)).sum() / 300) for j in range(4)]
    assert se == pytest.approx(np.sqrt(3 * np.var(left)), rel=1e-12)


def test_the_largest_of_many_is_as_one():
    assert as_one(2.5, 1) == pytest.approx(2.5, rel=1e-12)
    assert as_one(-2.5, 1) == pytest.approx(2.5, rel=1e-12)
    z = 4.3
    assert 2 * norm.sf(as_one(z, 200)) == pytest.approx(1 - (1 - 2 * norm.sf(z)) ** 200, rel=1e-9)
    assert as_one(45.0, 10) > 8  # no overflow where the probability is 0
    assert as_one(0.0, 5) == pytest.approx(0, abs=1e-12)


# The script


class Remembered:
    """An experiment that computes nothing: the longer the step, the better the chain."""

    budget, seed = "paper", 3

    def __init__(self):
        self.tasks = {}

    def replicates(self, function, tasks, unit, warm=None):
        self.tasks[unit] = tasks
        if "timings" in unit:
            return [{"seconds": {row: [0.01, 0.01] for row in tasks[0]["rows"]} | {
                "mode": [0.5, 0.5]}}]
        if "NUTS" in unit:
            return [one(100.0, 80.0, 500.0, warm_up=70 + 2 * task["low_rank"]) for task in tasks]
        return [one(100 * eps, 1e3, 500.0, efficiency=eps,
                    rate=0.49 if task["name"] == "Chess" and eps == longest(task) else 0.5)
                for task in tasks for eps in [task["setting"][0]]]


def longest(task):
    """Return the longest step that is tried."""
    return max(eps for eps, _ in rivals.settings(task["name"], task["method"]))


@pytest.fixture(scope="module")
def computed():
    experiment = Remembered()
    return experiment, script.run(experiment, None)


def test_the_setting_with_the_most_per_gradient_is_run_again(computed):
    experiment, result = computed
    chains = experiment.tasks["chains"]
    for name in rivals.SETS:
        for method in rivals.OURS:
            steps = sorted({eps for eps, _ in rivals.settings(name, method)})
            mine = [t for t in chains if (t["name"], t["method"]) == (name, method)]
            # the longest, but for that which accepts less than half
            assert len(mine) == 5 and {t["setting"][0] for t in mine} == {
                steps[-2 if name == "Chess" else -1]}
            assert result[name][method]["setting"] == mine[0]["setting"]
            assert result[name][method]["tries"] == 600 * len(rivals.settings(name, method))
    seeds = [str(t["seed"] + [t["name"]]) for unit in ("pilots", "chains", "chains of NUTS")
             for t in experiment.tasks[unit]]
    assert len(set(seeds)) == len(seeds)


def test_rows_are_of_their_own_chains(computed):
    _, result = computed
    for name in rivals.SETS:
        found = result[name]
        for method in rivals.OURS:
            ess = 100 * found[method]["setting"][0]
            wanted = np.log(min(ess, 1e3) / 500)
            assert found[method]["per gradient"].value == pytest.approx(wanted)
            # 0.01 seconds a gradient
            assert found[method]["per second"].value == pytest.approx(wanted + np.log(100))
            assert found[method]["set-up"] == pytest.approx(0 if method == "HMC" else 50)
        assert found[rivals.NUTS]["set-up"] == 70 and found[rivals.LOW_RANK]["set-up"] == 72
        assert found[rivals.NUTS]["per gradient"].value == pytest.approx(np.log(80 / 500))


def test_a_row_has_the_errors_of_its_chains_and_of_its_times():
    chains = [one(200.0, 50.0, 400.0), one(200.0, 100.0, 400.0)]
    seconds = {"normal": [0.01, 0.03], "mode": [0.5, 0.7]}
    found = script.row(chains, [0.1, 2], seconds, "normal", 160)
    value, se = log_efficiency(chains, 3)
    assert se > 0 and found["per gradient"] == (value, se)
    # 0.02 +- 0.01 seconds a gradient, and 0.6 for the mode
    assert found["per second"] == pytest.approx((value - np.log(0.02), np.hypot(se, 0.5)))
    assert found["set-up"] == pytest.approx(30) and found["tries"] == 160
    assert script.row(chains, [0.1, 2], seconds | {"HMC": [1.0, 1.0]}, "HMC", 1)["set-up"] == 0
    of_nuts = [chain | {"warm_up": 60 + 20 * k} for k, chain in enumerate(chains)]
    found = script.row(of_nuts, None, seconds | {rivals.NUTS: [1.0, 1.0]}, rivals.NUTS, 0)
    assert found["set-up"] == 70


def made_up():
    """Return a result of which every claim is true."""
    found, log_per = {}, {"HMC": -6.0, "normal": -5.0, "data": -4.5, rivals.MASS: -3.0,
                          rivals.SPLITS[0]: -2.5}
    for k, method in enumerate(rivals.ALL):
        value = log_per.get(method, -3.5)
        found[method] = {"together": five(), "tries": 160, "set-up": 50.0,
                         "setting": [0.5, k + 1] if method in rivals.OURS else None,
                         "per gradient": Measured(value, 0.05),
                         "per second": Measured(value + 8, 0.05)}
    return {name: dict(found) for name in rivals.SETS}


def with_row(name, method, **values):
    """Return the result with other values in a row."""
    result = made_up()
    result[name][method] = result[name][method] | values
    return result


def changed(result):
    """Return the claims whose verdict is not that they agree."""
    return {what for what, verdict in verdicts(script, result).items() if verdict != "agrees"}


def test_what_is_made_up_agrees():
    assert changed(made_up()) == set()


@pytest.mark.parametrize("name", rivals.SETS)
def test_an_efficiency_that_is_another_changes_its_claims(name):
    gradient, second = (f"{name}: log(ESS per {unit}, " for unit in ("gradient", "second"))
    for method, per, value, what in (
            ("HMC", "per gradient", -4.0, {gradient + "the better split / HMC), unit masses",
                                           mode_cost(name)}),
            ("data", "per gradient", -2.5, {gradient + f"{rivals.MASS} / the better split)"}),
            ("normal", "per gradient", -2.5, {gradient + f"{rivals.MASS} / the better split)"}),
            (rivals.SPLITS[0], "per gradient", 1.0, set()),
            (rivals.SPLITS[0], "per gradient", -3.5, {
                gradient + f"{rivals.SPLITS[0]} / {rivals.MASS})"}),
            ("data", "per second", 5.5, {second + f"{rivals.MASS} / the better split)"})):
        assert changed(with_row(name, method, **{per: Measured(value, 0.05)})) == what


def mode_cost(name):
    return f"{name}: cost of the mode / saved by the better split in 1000 effective draws"


@pytest.mark.parametrize("name", rivals.SETS)
def test_a_mode_that_costs_more_is_not_negligible(name):
    # 1000 (e^6 - e^4.5) gradients are saved, with an error of 7 %; one in a hundred is 3134
    saved = 1000 * (np.exp(6) - np.exp(4.5))
    assert script.map_cost(made_up(), name) == pytest.approx(
        (50 / saved, 50 / saved**2 * 50 * np.hypot(np.exp(6), np.exp(4.5))))
    for cost, wanted in ((3000.0, set()), (5000.0, {mode_cost(name)})):
        assert changed(with_row(name, "data", **{"set-up": cost})) == wanted


@pytest.mark.parametrize("name", rivals.SETS)
@pytest.mark.parametrize("method", [m for m in rivals.ALL if m != rivals.MASS])
def test_a_moment_that_is_another_changes_its_claim(name, method):
    what = f"{name}, {method}: largest |z| against {rivals.MASS}, as one"
    # of eight numbers the largest is above 4.47 as rarely as one is above 4
    for other, wanted in ((off(five(), "mean", 4.6), {what}), (off(five(), "mean", 4.3), set()),
                          (off(five(), "sd", 4.6), {what}), (off(five(), "sd", 4.3), set()),
                          (five()._replace(ess_squares=FEW), {what})):
        assert changed(with_row(name, method, together=other)) == wanted


def test_each_number_stands_under_its_heading():
    rows = read_table(script.table(made_up()), "data")
    assert [(row["data"], row["method"]) for row in rows] == [
        (name, method) for name in rivals.SETS for method in rivals.ALL]
    # 900 and 800 effective draws in 1e5 gradients of 5000 transitions; e^-3 per gradient, e^5 per
    # second
    assert rows[3] == {"data": "Simulated", "method": rivals.MASS, "eps, L": "0.5, 4",
                       "rate": "0.80", "div.": "", "gradients": "20", "values": "9",
                       "squares": "8", "worst": "49.8 (2.5)", "per second": "148.4 (7.4)",
                       "set-up": "50", "pilots": "160"}
    assert [row["eps, L"] for row in rows[6:8]] == ["its own"] * 2


def test_each_point_of_the_figure_is_in_its_place():
    result = made_up()
    for k, found in enumerate(result.values()):
        for j, method in enumerate(found):
            found[method] = found[method] | {"per gradient": Measured(k + j / 10, 0.05),
                                             "per second": Measured(5 + k + j / 10, 0.1)}
    fig = script.figure(result)
    # three methods each of the paper, with the mass J and two of NUTS
    named = [(mark.get_label(), mark.get_color()) for mark in fig.legends[0].legend_handles]
    assert [label for label, _ in named] == [
        "unit masses, as in the paper", "mass J, the Hessian at the mode", "mass adapted by NUTS"]
    axes = np.reshape(fig.axes, (4, 2))
    for k, (name, line) in enumerate(zip(rivals.SETS, axes, strict=True)):
        assert line[0].get_title(loc="left") == name
        assert [label.get_text() for label in line[0].get_yticklabels()] == [*rivals.ALL]
        for ax, scale, se in ((line[0], 1000, 0.05), (line[1], np.exp(5), 0.1)):
            assert len(ax.containers) == len(rivals.ALL)
            for j, bars in enumerate(ax.containers):
                point, _, (ends,) = bars.lines
                x = scale * np.exp(k + j / 10)
                assert point.get_xydata()[0] == pytest.approx((x, j), rel=1e-12)
                np.testing.assert_allclose(ends.get_segments()[0][:, 0],
                                           x * np.exp([-2 * se, 2 * se]), rtol=1e-12)
                assert point.get_color() == named[j // 3][1]
    assert len({colour for _, colour in named}) == 3
    assert axes[-1, 0].get_xlabel().split("\n")[-1] == "per 1000 gradients"
    assert axes[-1, 1].get_xlabel() == "per CPU second"
    assert {ax.get_xscale() for ax in axes.flat} == {"log"}
    plt.close("all")
