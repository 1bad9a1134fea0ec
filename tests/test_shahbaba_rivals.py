"""What a mass matrix does beside split HMC: coordinates, chains, settings, claims."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.ess import ess
from algorithms.hoffman_nuts_fast import nuts
from algorithms.map_estimate import map_estimate
from algorithms.shahbaba_split_hmc import normal_approximation
from conftest import Given
from judging import check_moves, disagreeing, read_table, replaced
from made_up_chains import five, off, one
from models.interface import U, U_and_grad_U, case_entropy, grad_U, hessian, select_cases
from models.logistic_regression import LogisticRegression
from reproduce.beyond import shahbaba_rivals as script
from reproduce.beyond.rivals.moments import as_one, distance, is_believed, pool
from reproduce.harness.claims import Measured
from reproduce.shahbaba import rivals
from reproduce.shahbaba.datasets import load
from reproduce.shahbaba.printed import METHODS, PROBLEMS, step
from reproduce.shahbaba.whitened import original, whiten, whitened_problem

SMALL = "illustrative data of slope 5, seed 1"


@pytest.fixture(scope="module")
def problem():
    cases = load(SMALL)
    model = LogisticRegression.from_data(cases.X, cases.y)
    return model, normal_approximation(map_estimate(model))


def test_whitened_energies_gradients_and_hessians_are_those_of_q(problem):
    model, fit = problem
    new, z, h = whiten(model, fit), np.array([0.5, -1.0, 2.0]), 1e-5
    q = original(z[None], new)[0]
    np.testing.assert_allclose(q, fit.q_hat + fit.Z @ (z / fit.w), rtol=1e-14)
    assert U(z, new) == U(q, model)
    energy, g = U_and_grad_U(z, new)
    differences = [(U(z + h * e, new) - U(z - h * e, new)) / (2 * h) for e in np.eye(3)]
    # h^2 and rounding over h are both about 1e-10
    np.testing.assert_allclose(g, differences, rtol=0, atol=1e-8)
    assert energy == U(z, new) and (grad_U(z, new) == g).all()
    np.testing.assert_array_equal(case_entropy(z, new), case_entropy(q, model))
    # the Hessian is that of the mode to rounding
    np.testing.assert_allclose(new.C.T @ hessian(fit.q_hat, model) @ new.C, np.eye(3), rtol=0,
                               atol=1e-12)
    new, normal, split = whitened_problem(model, fit, 0.3)
    assert U(z, split.R_0) + U(z, split.R_1) == pytest.approx(U(z, new), rel=1e-14)
    cases = np.sort(np.argsort(-case_entropy(fit.q_hat, model))[:30])
    np.testing.assert_array_equal(split.cases, cases)
    assert U(z, select_cases(new, cases, 0.0)) == U(q, select_cases(model, cases, 0.0))
    assert U(z, normal) == pytest.approx(z @ z / 2, rel=1e-14)


@pytest.fixture
def small(monkeypatch):
    """Put the illustrative data in the place of CTG."""
    monkeypatch.setitem(rivals.SETS, "CTG", SMALL)
    monkeypatch.setitem(PROBLEMS, "CTG", PROBLEMS["CTG"]._replace(eps=0.6, f=0.5, M=3))
    rivals.whitened_stage.cache_clear()
    yield
    rivals.whitened_stage.cache_clear()


def test_all_methods_sample_the_same_posterior(small):
    long = pool(rivals.row_of_chains("CTG", rivals.MASS, [0.9, 2], 9000, 100, 4, [1])["chains"])
    for method in (*rivals.OURS, *rivals.NUTS):
        setting = [0.5, 4] if method in METHODS else [0.9, 2]
        found = (rivals.nuts_row("CTG", method, 2500, 300, 4, [2]) if method in rivals.NUTS else
                 rivals.row_of_chains("CTG", method, setting, 2500, 100, 4, [2]))
        together = pool(found["chains"])
        assert together.n == 10_000 and together.chains == 4 and together.rate > 0.5
        assert is_believed(found) and as_one(distance(together, long), 6) < 4
        assert all(0.5 < chain["e_bfmi"] < 1.5 for chain in found["chains"])
        if method in rivals.OURS:
            # L gradients a transition; data splitting has (f M + 1 - f) L; one more at the start
            wanted = setting[1] * (2.0 if "data" in method else 1.0)
            assert together.gradients / together.n == pytest.approx(wanted, abs=1e-3)
            assert rivals.per_transition("CTG", method, setting) == pytest.approx(wanted)


def test_every_method_runs_in_its_own_coordinates_and_with_its_mass(small, problem, monkeypatch):
    seen, (model, fit) = [], problem
    monkeypatch.setattr(rivals, "hmc", lambda *a: seen.append(a) or None)
    rivals.run("CTG", rivals.MASS, [0.7, 3], np.ones(3), 5, None)
    q, _, eps, L, n, _, M, jitter = seen[0]
    np.testing.assert_allclose(M, hessian(fit.q_hat, model), rtol=1e-10)
    assert (eps, L, n, jitter) == (0.7, 3, 5, 0.2) and (q == 1).all()
    monkeypatch.setattr(rivals, "transitions", lambda *arguments: seen.append(arguments))
    x = np.array([0.5, -1.0, 2.0])
    for method in (*METHODS, *rivals.SPLITS):
        rivals.run("CTG", method, [0.7, 3], x, 5, None)
        name, start, stage, eps, L, M, n, _ = seen[-1]
        assert (name, eps, L, M, n) == (method.split(",")[0], 0.7, 3, 3, 5)
        np.testing.assert_array_equal(start, x)
        wanted = x
        if method in rivals.SPLITS:  # z = 0 is the mode, and draws come back as those of q
            np.testing.assert_array_equal(stage[1].q_hat, np.zeros(3))
            wanted = fit.q_hat + fit.Z @ (x / fit.w)
        np.testing.assert_allclose(rivals.positions("CTG", method, x[None])[0], wanted, rtol=1e-14)
    # with the mode's Hessian for its mass the data split has two inner steps, four, or the paper's
    tried = rivals.settings("CTG", rivals.SPLITS[1])
    assert [each[2:] for each in tried[::16]] == [[], [2], [4]] and len(tried) == 48
    rivals.run("CTG", rivals.SPLITS[1], [0.7, 3, 2], x, 5, None)
    assert seen[-1][5] == 2
    assert rivals.per_transition("CTG", rivals.SPLITS[1], [0.7, 3, 2]) == 3 * (0.5 * 2 + 0.5)


def test_chains_start_at_draws_of_the_normal_approximation(small, problem):
    model, fit = problem
    z, q = (np.array([rivals.start("CTG", method, Given(e)) for e in np.eye(3)])
            for method in (rivals.SPLITS[0], rivals.MASS))
    np.testing.assert_array_equal(z, np.eye(3))
    A = q - fit.q_hat
    np.testing.assert_allclose(A.T @ A @ hessian(fit.q_hat, model), z, rtol=0, atol=1e-10)


def test_a_pilot_goes_on_until_it_has_enough(small, monkeypatch):
    monkeypatch.setattr(rivals, "FIRST", 20)
    of = dict(name="CTG", method="data, M = J", setting=[0.3, 2], seed=[3])
    found = rivals.pilot(**of, enough=50, most=1e9)
    # the same chain in one piece: 20, 20, 40, ... transitions, one more gradient for each piece
    rng = np.random.default_rng([3])
    x, parts, rates, gradients = rivals.start("CTG", of["method"], rng), [], [], 0.0
    while sum(map(len, parts)) < found["n"]:
        chain = rivals.run("CTG", of["method"], [0.3, 2], x, max(20, sum(map(len, parts))), rng)
        x, gradients = chain.samples[-1], gradients + float(chain.counts.gradient)
        parts.append(rivals.positions("CTG", of["method"], chain.samples))
        rates.append(chain.accepted)

    def least(q):
        return min(min(ess(q[:, j]), ess((q[:, j] - q[:, j].mean()) ** 2)) for j in range(3))

    whole = np.concatenate(parts)
    assert len(whole) == found["n"] > 40 and least(whole[: len(whole) // 2]) < 50 <= found["ess"]
    assert found["ess"] == pytest.approx(least(whole), rel=1e-9)
    assert found["rate"] == np.concatenate(rates).mean()
    assert found["efficiency"] == pytest.approx(found["ess"] / gradients, rel=1e-12)
    # it is given up when it has taken too many gradients, and one that stands still has none
    assert rivals.pilot(**of, enough=50, most=100)["ess"] < 50
    still = rivals.pilot(**of | {"setting": [50.0, 2]}, enough=50, most=500)
    assert still == {"rate": 0, "ess": 0, "efficiency": 0, "n": still["n"]}


def test_what_is_kept_of_a_chain_is_without_its_first_transitions(small, monkeypatch):
    of = dict(name="CTG", method="normal", setting=[0.6, 3])
    first, second = rivals.row_of_chains(**of, n=80, burn_in=20, chains=2, seed=[4])["chains"]
    assert first["mean"] != second["mean"]  # each has a seed of its own
    rng = np.random.default_rng([4, 0])
    whole = rivals.run(**of, x=rivals.start("CTG", "normal", rng), n=100, rng=rng)
    assert whole.accepted[:20].mean() != whole.accepted[20:].mean() == first["rate"]
    # stored with eight digits
    np.testing.assert_allclose(first["mean"], whole.samples[20:].mean(0), rtol=1e-7)
    assert first["gradients"] == pytest.approx(0.8 * whole.counts.gradient, rel=1e-12)
    assert first["e_bfmi"] == pytest.approx(3 / (np.var(whole.energies[20:]) + 1.5), rel=1e-12)
    check_printed_quantities(first, whole.samples[20:])
    errors = np.append(np.zeros(97), [np.inf, np.nan, np.inf])
    monkeypatch.setattr(rivals, "run", lambda *_: whole._replace(energy_error=errors))
    (diverged,) = rivals.row_of_chains(**of, n=100, burn_in=0, chains=1, seed=[1])["chains"]
    assert diverged["divergences"] == 3
    monkeypatch.setattr(rivals, "KEPT", 4)
    assert rivals.thin(np.arange(9)).tolist() == [2, 5, 8]  # the last one, and equally spaced
    assert rivals.thin(np.arange(4)).tolist() == [0, 1, 2, 3]


def check_printed_quantities(found, q):
    """Look at the ESS of the log likelihood, term by term, and of beta's squares without alpha."""
    cases = load(SMALL)
    eta = q[:, :1] + q[:, 1:] @ cases.X.T
    assert found["tau"] == pytest.approx(ess((cases.y * eta - np.logaddexp(0, eta)).sum(1)))
    assert found["tau_beta"] == pytest.approx(ess((q[:, 1:] ** 2).sum(1)))


def test_a_row_of_nuts_has_its_own_gradients_and_those_of_its_adaptation(small):
    found = rivals.nuts_row("CTG", "NUTS, dense", 40, 30, 2, [6])["chains"][1]
    rng = np.random.default_rng([6, 1])
    model = rivals.problem(SMALL, 0.5)[0]
    chain = nuts(rivals.start("CTG", "NUTS, dense", rng), model, 40, rng, 30, "dense")
    assert found["gradients"] == chain.gradients.sum() and found["e_bfmi"] == chain.e_bfmi
    assert found["gradients"] + found["warm_up"] == chain.counts.gradient
    assert (found["rate"], found["divergences"]) == (chain.rates.mean(), chain.divergences)
    np.testing.assert_allclose(found["mean"], chain.samples.mean(0), rtol=1e-7)
    check_printed_quantities(found, chain.samples)


def test_the_clock_is_of_a_gradient(small, monkeypatch):
    ticks = iter(np.arange(100.0) * 6)
    monkeypatch.setattr(rivals.time, "thread_time", lambda: next(ticks))
    rows = {"HMC, as printed": ["HMC", [0.3, 4]], rivals.MASS: [rivals.MASS, [0.5, 2]],
            "NUTS, dense": ["NUTS, dense", None]}
    seconds = rivals.clock("CTG", rows, 2, 5)["seconds"]
    of_nuts = [nuts(rivals.start("CTG", "NUTS, dense", rng), rivals.problem(SMALL, 0.5)[0], 5, rng,
                    10, "dense").counts.gradient for rng in map(np.random.default_rng, (1, 2))]
    assert seconds == {"HMC, as printed": [6 / 21] * 2, rivals.MASS: [6 / 11] * 2,
                       "NUTS, dense": [6 / n for n in of_nuts], "mode": [6.0] * 2}


@pytest.fixture(scope="module")
def computed():
    """Return what is asked for and the result, as if the longer the step, the better the chain."""
    asked = {}

    def replicates(function, tasks, unit, warm=None):
        asked[unit] = tasks
        if "timings" in unit:
            return [{"seconds": dict.fromkeys(tasks[0]["rows"], [0.01] * 2) | {"mode": [0.5] * 2}}]
        if unit == "pilots":
            worst = [task["name"] * (task["setting"][0] == max(rivals.settings(
                task["name"], task["method"]))[0]) for task in tasks]
            return [dict(efficiency=task["setting"][0], rate=0.49 if name == "Chess" else 0.5,
                         ess=49.0 if name == "CTG" else 50.0, n=500)
                    for task, name in zip(tasks, worst, strict=True)]
        chain = one(100.0, 1e3, 500.0, e_bfmi=0.9, warm_up=70, tau=3.0, tau_beta=9.0)
        return [{"rhat": 1.005, "bulk": 400.0, "tail": 400.0, "chains": [chain] * 4}] * len(tasks)

    return asked, script.run(SimpleNamespace(budget="paper", seed=3, replicates=replicates), None)


def test_the_setting_with_the_most_per_gradient_is_run_again(computed):
    asked, result = computed
    for task in asked["pilots"]:
        assert task["enough"] == 50 and task["most"] * PROBLEMS[task["name"]].n == 6e8
    for name in rivals.SETS:
        for method in rivals.OURS:
            steps = sorted({eps for eps, *_ in rivals.settings(name, method)})
            # the longest, but for that which accepts less than half or has too few draws
            best = steps[-2 if name in ("Chess", "CTG") else -1]
            assert result[name][method]["setting"][0] == best
            if method in METHODS:
                printed = result[name][rivals.PRINTED[method]]["setting"]
                assert printed == pytest.approx(list(step(name, method)))
        assert {result[name][row]["setting"] for row in rivals.NUTS} == {None}
    tasks = asked["chains"] + asked["chains of NUTS"]
    assert len(tasks) == 4 * len(rivals.ROWS)
    seeds = [str(t["seed"] + [t["name"]]) for t in asked["pilots"] + tasks]
    assert len(set(seeds)) == len(seeds)


def test_chains_are_as_long_as_their_pilots_ask_for_and_a_row_says_what_was_before():
    # 500 effective draws at .01 per gradient and 4 gradients a transition; the least; and the most:
    # 2126 cases, .3 * 14 + .7 gradients for each step
    most = int(6e9 / 2126 / (2 * 4.9) / 4)
    for method, L, efficiency, budget, n in (
            ("HMC", 4, 0.01, "paper", 12500), ("HMC", 4, 10.0, "paper", 200),
            ("HMC", 4, 10.0, "smoke", 10), ("data", 2, 1e-9, "paper", most),
            ("data", 2, 0.0, "paper", most)):
        assert script.length("CTG", method, [0.1, L], efficiency, budget) == {
            "n": n, "burn_in": n // 10}
    whole = {"rhat": 1.0, "bulk": 500.0, "tail": 500.0, "chains": [
        one(200.0, 50.0, 400.0, e_bfmi=1.0, warm_up=60 + 20 * k, tau=3.0 + k, tau_beta=9.0)
        for k in range(4)]}
    seconds = {row: [0.01, 0.03] for row in rivals.ROWS} | {"mode": [0.5, 0.7]}
    for row, setting, before in (("normal", [0.1, 2], 30), ("HMC, as printed", [0.1, 2], 0),
                                 ("NUTS, dense", None, 90)):
        found = script.values(whole, setting, seconds, row)
        assert found["set-up"] == pytest.approx(before) and found["setting"] == setting
        tau, tau_beta = (found[f"per gradient by {what}"] for what in ("tau", "tau_beta"))
        assert tau.value == pytest.approx(np.log((3 + 4 + 5 + 6) / 1600)) and tau.se > 0.1
        assert tau_beta == pytest.approx((np.log(36 / 1600), 0), abs=1e-12)


def made_up():
    log_per = {"HMC": -6.0, "normal": -5.0, "data": -4.5, "HMC, as printed": -6.5,
               "normal, as printed": -5.5, "data, as printed": -5.2, rivals.MASS: -3.0,
               rivals.SPLITS[0]: -2.5, rivals.SPLITS[1]: -2.7, "NUTS, diagonal": -4.0}
    return {name: {row: {
        "together": five(), "setting": [0.5, 4], "set-up": 50.0, "believed": True, "rhat": 1.002,
        "bulk": 900.0, "tail": 800.0, "e_bfmi": 0.9, "halves": 2.0,
        **{per: Measured(log_per.get(row, -3.5) + shift, 0.05) for per, shift in zip(
            script.PER, (0, 8, 1, 2), strict=True)}}
        for row in rivals.ROWS} for name in rivals.SETS}


def with_row(name, row, **values):
    """Make a function that gives a row other values."""
    return lambda result: replaced(result, [name, row], result[name][row] | values)


SPLIT, DENSE = rivals.SPLITS[0], "NUTS, dense"
BY_MASS = f"log(ESS per gradient, {rivals.MASS} / "
COST = "cost of the mode / saved by the better split in 1000 effective draws"
AGAINST = f"largest |z| against {rivals.MASS}, adjusted"
HALVES = "largest |z| between two chains and the other two of a row, adjusted"
ROWS = [row for row in rivals.ROWS if row != rivals.MASS]
CHANGES = (  # row, key, value, and which claims of the data set differ
    *[(row, "per gradient", Measured(value, 0.05), *wanted) for row, value, *wanted in (
        ("HMC", -4.0, "log(ESS per gradient, the better split / HMC), unit masses", COST),
        ("HMC, as printed", -4.8, "log(ESS per gradient, the better split / HMC), as printed"),
        ("data", -2.5, BY_MASS + "the better split)"),
        ("normal", -2.5, BY_MASS + "the better split)"),
        (SPLIT, 1.0), (SPLIT, -3.5, f"log(ESS per gradient, {SPLIT} / {rivals.MASS})"),
        (rivals.SPLITS[1], -3.5, f"log(ESS per gradient, {rivals.SPLITS[1]} / {rivals.MASS})"),
        (DENSE, -2.5, BY_MASS + "NUTS, dense)"),
        (DENSE, -4.4, "log(ESS per gradient, NUTS, dense / NUTS, diagonal)"))],
    *[(row, f"per gradient by {what}", Measured(value + 1 + (what == "tau_beta"), 0.05),
       f"log(ESS per gradient by {what}, {ratio}") for what in ("tau", "tau_beta")
      for row, value, ratio in (("HMC", -4.0, "the better split / HMC), unit masses"),
                                ("data", -2.5, f"{rivals.MASS} / the better split)"),
                                (SPLIT, -3.5, f"{SPLIT} / {rivals.MASS})"))],
    ("data", "per second", Measured(5.5, 0.05),
     f"log(ESS per second, {rivals.MASS} / the better split)"),
    # 1000 (e^6 - e^4.5) gradients are saved, with an error of 7 %; one in a hundred is 3134
    ("data", "set-up", 3000.0), ("data", "set-up", 5000.0, COST),
    # of 88 numbers the largest is above 4.95 as rarely as one is above 4
    ("data", "halves", 4.8), ("data", "halves", 5.1, HALVES))
MOVED = {f"{name}, {row}: {key} {value}": (
    with_row(name, row, **{key: value}), [f"{name}: {what}" for what in wanted])
    for name in rivals.SETS for row, key, value, *wanted in CHANGES}
# of eight numbers the largest is above 4.47 as rarely as one is above 4
MOVED |= {f"{name}, {row}: {field} off by {z}": (
    with_row(name, row, together=off(five(), field, z)), [f"{name}, {row}: {AGAINST}"] * (z > 4.5))
    for name in rivals.SETS for row in ROWS for field in ("mean", "sd") for z in (4.3, 4.6)}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(script, made_up(), MOVED)


def test_the_cost_of_the_mode_by_hand():
    saved = 1000 * (np.exp(6) - np.exp(4.5))
    assert script.map_cost(made_up(), "CTG") == pytest.approx(
        (50 / saved, 50 / saved**2 * 50 * np.hypot(np.exp(6), np.exp(4.5))))


def test_what_is_not_believed_is_compared_with_none():
    for row in ROWS:  # nor are its halves
        result = with_row("CTG", row, halves=50.0, believed=False)(made_up())
        assert f"CTG, {row}: {AGAINST}" in disagreeing(script, result)
        assert f"CTG: {HALVES}" not in disagreeing(script, result)
    result = with_row("CTG", rivals.MASS, believed=False)(made_up())
    assert {f"CTG, {row}: {AGAINST}" for row in ROWS} <= disagreeing(script, result)


def test_the_better_of_two_settings_counts_if_it_is_believed():
    result = made_up()
    result["CTG"]["HMC, as printed"]["per gradient"] = Measured(-5.5, 0.05)
    for unbelieved, wanted in (([], -4.5 + 5.5), (["HMC, as printed", "data"], -5.0 + 6.0),
                               (script.UNIT, None)):
        for row in unbelieved:
            result["CTG"][row]["believed"] = False
        ratio = script.log_efficiency_ratio(result, "CTG", script.UNIT_SPLITS, script.UNIT)
        assert np.isnan(ratio.se) if wanted is None else ratio.value == pytest.approx(wanted)


def test_what_is_not_believed_has_no_number():
    result = made_up()
    result["Chess"]["normal"]["believed"] = False
    result["CTG"]["NUTS, dense"]["setting"] = None
    rows = {(row["data"], row["row"]): row for row in read_table(script.table(result), "data")}
    assert list(rows) == [(name, row) for name in rivals.SETS for row in rivals.ROWS]
    assert rows["CTG", "NUTS, dense"]["eps, L, M"] == "its own"
    assert rows["Chess", "normal"]["per 1000 gradients"] == "not believed"
    assert rows["Chess", "normal"]["per second"] == rows["Chess", "normal"]["by tau"] == ""
    assert [rows["Chess", "data"][what] for what in ("per second", "by tau", "by tau_beta")] == [
        f"{np.exp(-4.5 + 8):.1f} (1.7)", "30.2 (1.5)", "82.1 (4.1)"]


def test_each_point_of_the_figure_is_in_its_place():
    result = made_up()
    for k, found in enumerate(result.values()):
        for j, row in enumerate(found.values()):
            row |= {"per gradient": Measured(k + j / 10, 0.05),
                    "per second": Measured(5 + k + j / 10, 0.1)}
    result["CTG"]["data"]["believed"] = False
    fig = script.figure(result)
    assert ["gradients" in ax.get_xlabel() for ax in fig.axes[-2:]] == [True, False]
    # six rows with the masses of the paper, three with J and two of NUTS
    named = {mark.get_label(): mark.get_color() for mark in fig.legends[0].legend_handles}
    colours = [named[label] for label in (
        "unit masses, as in the paper", "mass J, the Hessian at the mode", "mass adapted by NUTS")]
    assert len(set(colours)) == 3
    for k, (name, line) in enumerate(zip(rivals.SETS, np.reshape(fig.axes, (4, 2)), strict=True)):
        assert line[0].get_title(loc="left") == name
        assert [label.get_text() for label in line[0].get_yticklabels()] == [*rivals.ROWS]
        shown = [j for j, row in enumerate(rivals.ROWS) if (name, row) != ("CTG", "data")]
        for ax, scale in ((line[0], 1000), (line[1], np.exp(5))):
            texts = [(text.get_position()[1], text.get_text()) for text in ax.texts]
            assert texts == [(2, "not believed")] * (name == "CTG")
            for j, bars in zip(shown, ax.containers, strict=True):
                point, x = bars.lines[0], scale * np.exp(k + j / 10)
                assert point.get_xydata()[0] == pytest.approx((x, j), rel=1e-12)
                assert point.get_color() == colours[(j > 5) + (j > 8)]
