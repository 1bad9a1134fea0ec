"""Table 4 of Zhang and Sutton: chains on the Cox process, their estimates, and each claim."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import studies
from conftest import Given
from judging import check_labels, check_moves, put, read_tables
from models.non_centred import NonCentred, theta_of
from reproduce import zhang_fig3 as fig3
from reproduce import zhang_table4 as table4
from reproduce.harness.claims import BUDGETS, Measured
from reproduce.zhang import cox
from reproduce.zhang.datasets import GRID, MU, load, simulated_cox
from reproduce.zhang.printed import GIBBS, HMC, SSHMC, number
from zhang_claims import printed_ess, runs, whole

UNIT, PIXEL, RIVAL, RIVAL_PIXEL = cox.ROWS


def estimates(method, seconds, AP=(0.8,), n=5000, **changed):
    """Return estimates of 5000 draws with the ESS that print has, and errors of a hundredth."""
    ess = {column: Measured(math.log(changed.get(column, number("Table 4", method, column))), 0.01)
           + math.log(n / 5000) for column in table4.COLUMNS}
    return cox.Estimates(
        [Measured(rate, 0.001) for rate in AP], 0, ess,
        {"x": Measured(5.0, 0.1), "beta": Measured(4.0, 0.1)},
        [Measured(0.0, 0.01), Measured(-1.0, 0.01)], [Measured(0.6, 0.01), Measured(0.6, 0.01)],
        [], [[3.9] * 1024] * 2, [[0.6 * x, 0.6 * x - 1.0] for x in (1.0, -1.0, 1.5, -1.5)],
        [[0.06, 0.06]] * 4, n, {"L": 10, "eps_theta": 0.1, "eps_phi": 0.3},
        [seconds, 1.001 * seconds],
        {column: runs(math.exp(each.value)) for column, each in ess.items()})


def made_up():
    rows = {name: estimates(method, 0.01, (0.8, 0.75)[: 1 + (method == GIBBS)])
            for name, (method, _) in cox.ROWS.items()}
    scan = {f"{name}, eps = 0.1, 0.3": estimates(method, 0.01, n=2500)
            for name, (method, _) in cox.ROWS.items()}
    alone = {SSHMC: estimates(SSHMC, 0.01), HMC: estimates(SSHMC, 0.1, n=500)}
    return table4.Table4(rows, scan, alone)


def everywhere(method, change):
    """Make a function that changes all estimates of a method on either distance."""
    def change_some(some):
        return {name: change(found) if name.split(", ")[0] == method else found
                for name, found in some.items()}
    return lambda result: table4.Table4(*map(change_some, result))


def ess(method, column, factor):
    return everywhere(method, lambda found: found._replace(
        ess=found.ess | {column: found.ess[column] + math.log(factor)},
        each=found.each | {column: [factor * one for one in found.each[column]]}))


def slower(method, factor):
    return everywhere(method, lambda found: found._replace(
        seconds=[factor * s for s in found.seconds]))


def claim(method, column):
    return printed_ess("Table 4", method, column, "x, ")


def row(method):
    return whole("Table 4", method, table4.COLUMNS, "x, ")


AHEAD = "log(worst ESS per second, SSHMC / RMHMC(Gibbs))"
SIX = f"{AHEAD} - log 6"
TIME = "time of a transition, RMHMC(Gibbs) / SSHMC"
SLOW = [f"{name}: log(ESS per second, SSHMC / HMC)" for name in ("sigma", "beta")]
LOW = [f"{distance}: log(min ESS of x, SSHMC / RMHMC(Gibbs))" for distance in cox.DATA]
CREDULOUS = "HMC: log((error of the mean of log beta / its s.e. by the run's own ESS)^2)"
STABLE = "H_1: log(largest stable step, at the mean of phi / 2 deviations up in log sigma^2)"
MOVED = {
    "median": (ess(SSHMC, "med", 1.6), row(SSHMC)),
    "maximum": (ess(SSHMC, "max", 0.6), row(SSHMC)),
    "minimum": (ess(SSHMC, "min", 2.5), row(SSHMC)),
    "sigma, by more than a third": (ess(SSHMC, "sigma", 1.5), row(SSHMC)),
    "the rival's median": (ess(GIBBS, "med", 0.5), row(GIBBS)),
    "the rival's maximum": (ess(GIBBS, "max", 1.5), row(GIBBS)),
    "the rival's minimum": (ess(GIBBS, "min", 20.0), [*row(GIBBS), *LOW]),
    "the rival's sigma": (ess(GIBBS, "sigma", 4.0), row(GIBBS)),
    "the rival is worse": (ess(GIBBS, "beta", 0.05), [*row(GIBBS), SIX]),
    "the rival is slower": (slower(GIBBS, 20), [TIME, SIX]),
    "the rival is faster": (slower(GIBBS, 0.05), [TIME, SIX, AHEAD]),
    "SSHMC is slower than HMC": (slower(SSHMC, 1e6), [TIME, SIX, AHEAD, *SLOW]),
    "HMC": (put("alone", HMC, "seconds", [1.5e-5, 1.5e-5]), SLOW),
    "HMC's beta": (put("alone", HMC, "means", [[0.7, -0.9999], [0.7, -1.0001]] * 2),
                   [SLOW[1], CREDULOUS]),
    "HMC is modest": (put("alone", HMC, "means_se", [[60.0, 60.0]] * 4), [CREDULOUS]),
    "sigma hardly varies": (put("alone", SSHMC, "sd", [Measured(0.17, 0.01)] * 2), [STABLE]),
    **{f"sigma behind beta, {name}": (put("rows", name, "ess", "beta", Measured(9.0, 0.01)), [
        f"{name}: log(ESS, sigma / beta)"]) for name in cox.ROWS},
    **{f"low, {distance}": (put("rows", f"{GIBBS}, {distance}", "ess", "min", Measured(
        7.5, 0.01)), [low]) for distance, low in zip(cox.DATA, LOW, strict=True)},
}


def test_one_quantity_moved_and_no_other_claim_differs():
    # an ESS below 159 cannot tell a factor of three, nor can the means of four runs
    check_moves(table4, made_up(), MOVED, [claim(GIBBS, "min"), claim(GIBBS, "beta")])


def test_the_rival_is_compared_on_its_own_distance():
    result = made_up()
    (found,) = [c.ours for c in table4.CLAIMS if c.what == AHEAD]
    scan = found(result)
    assert scan.settings == ("unit", "pixel", "unit, eps = 0.1, 0.3", "pixel, eps = 0.1, 0.3")
    worst = math.log(number("Table 4", SSHMC, "beta") / number("Table 4", GIBBS, "beta"))
    assert [m.value for m in scan.found] == pytest.approx([worst] * 4)
    scan = found(put("rows", PIXEL, "seconds", [0.02, 0.02002])(result))
    assert [m.value for m in scan.found] == pytest.approx([worst, worst - math.log(2)] * 2)


def test_a_chain_that_has_hardly_moved_is_no_evidence():
    name = f"{UNIT}, eps = 0.1, 0.3"
    for least, judged in ((11.9, False), (12.1, True)):
        result = put("scan", name, "ess", "beta", Measured(math.log(least), 1.0))(made_up())
        assert ("unit, eps = 0.1, 0.3" in cox.rows_of_method(result, SSHMC)) == judged
        assert list(cox.rows_of_method(result, SSHMC))[:2] == ["unit", "pixel"]


def test_what_hmcs_means_are_worth_by_hand():
    # squared errors of 0.36 and 0.81 around a mean of 0, with a variance of 0.36: 1 / 1.625 draws
    ours, result = estimates(SSHMC, 1.0), made_up()
    m = cox.worth(ours, ours, 0)
    assert (math.exp(m.value), m.se) == pytest.approx((1 / 1.625, 0.5**0.5))
    # 2101 of 5000 in 0.01 s each, 1 / 1.625 of 500 in 0.1 s each
    ratio = 2101 / 50.025 / (1 / 1.625 / 50.025)
    assert cox.slowness(result, 0).value == pytest.approx(math.log(ratio))
    assert cox.credulity(result, 1).value == pytest.approx(math.log(162.5))


def test_the_largest_stable_step_by_a_dense_matrix():
    found = estimates(SSHMC, 1.0)
    for above in (0.0, 2.0):
        place = np.linspace(0, 1, 32)
        row, column = (each.ravel() for each in np.meshgrid(place, place))
        far = np.hypot(row[:, None] - row, column[:, None] - column)
        S = np.exp(0.6 * above - far / (np.exp(-1.0) * 32))
        largest = 1 + np.linalg.norm(S, 2) * np.exp(3.9) / 1024  # all of the field is 3.9
        assert cox.largest_stable(found, above) == pytest.approx(2 / largest**0.5)


def test_the_table_and_the_figure_show_every_row():
    result = made_up()
    sets = [" ".join(row.values()) for row in read_tables(table4.table(result))[1]]
    assert {f"{PIXEL} 1 772.2 2970 3861 2080 267.3", f"{PIXEL} 2 787.8 3030 3939 2122 272.7"} < set(
        sets)
    fig = table4.figure(result)
    check_labels(fig.axes, *[(r"$\epsilon_\theta$", "ESS of 5000")] * 4)
    for ax, (name, (method, _)) in zip(fig.axes, cox.ROWS.items(), strict=True):
        assert ax.get_title() == name
        for column, dash, fill in (("sigma", "-", "k"), ("beta", ":", "w")):
            printed = number("Table 4", method, column)
            (line,) = [line for line in ax.get_lines() if line.get_linestyle() == dash
                       and line.get_color() == "k" and line.get_marker() == "None"]
            assert line.get_ydata()[0] == printed
            # all that is made up is as printed, though it has half as many draws
            (scanned,) = [line for line in ax.get_lines() if line.get_linestyle() == dash
                          and line.get_marker() == "o"]
            np.testing.assert_allclose(scanned.get_xydata(), [[0.1, printed]])
            (bar,) = [bar for bar in ax.containers if bar.lines[0].get_markerfacecolor() == fill]
            np.testing.assert_allclose(bar.lines[0].get_xydata(), [[0.1, printed]])
            for what, shown in (("paper", line), ("all data sets", bar.lines[0])):
                (key,) = [key for key in fig.legends[0].legend_handles
                          if key.get_label() == rf"$\{column}{'^2' * (column == 'sigma')}$, {what}"]
                assert (key.get_marker() or "None", key.get_markerfacecolor(),
                        key.get_linestyle()) == (
                    shown.get_marker(), fill, dash if what == "paper" else "None")


class Recorder(studies.Recorder):
    def made(self, function, tasks):
        assert function is table4.clock
        return [{"seconds": {name: [k] for k, name in enumerate(tasks[0]["rows"])}}]


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_run_puts_times_and_estimates_together(budget, monkeypatch):
    result, scan = made_up(), f"{RIVAL_PIXEL}, eps = 0.1, 0.3"
    monkeypatch.setattr(cox, "run_scan", lambda experiment, *_: "scanned")
    monkeypatch.setattr(cox, "run_rows", lambda experiment, scanned, *_: (
        result.rows, result.alone))
    monkeypatch.setattr(cox, "run_between", lambda experiment, *_: "between")
    monkeypatch.setattr(cox, "scan_of", lambda which: {
        name: found for name, found in result.scan.items()
        if name.startswith(SSHMC) == (which == "scanned")})
    experiment = Recorder(budget)
    found = table4.run(experiment, None)
    ((_, (task,)),) = experiment.calls
    order = [*result.rows, *result.scan, *result.alone]
    assert list(task["rows"]) == order
    assert (task["rounds"], task["n"]) == cox.TIMED[budget]
    setting = result.rows[UNIT].setting
    assert task["rows"][UNIT] == [SSHMC, cox.DATA["unit"][0], "unit", setting]
    assert task["rows"][scan] == [GIBBS, cox.DATA["pixel"][0], "pixel", setting]
    assert task["rows"][HMC] == [HMC, cox.DATA["unit"][0], "unit", setting]
    for kind in ("rows", "scan", "alone"):
        assert getattr(found, kind) == {
            name: each._replace(seconds=[order.index(name)])
            for name, each in getattr(result, kind).items()}


def test_which_chains_are_run(monkeypatch):
    asked = {}

    def runs_by_setting(experiment, one_chain, tasks, warm):
        asked.update(tasks)
        return {key: [(key, each["data"]) for each in some] for key, some in tasks.items()}

    monkeypatch.setattr(cox, "runs_by_setting", runs_by_setting)
    monkeypatch.setattr(cox, "estimates", lambda *given, on_a_set: (*given, on_a_set))
    monkeypatch.setattr(cox, "taken", lambda tried, method: tried | {"of": method})
    scanned = {key: {"eps_theta": k, "L": 1} for k, key in enumerate(cox.ROWS.values())}
    experiment = SimpleNamespace(budget="paper", seed=5)
    rows, alone = cox.run_rows(experiment, scanned, None, None)
    for name, (method, distance) in cox.ROWS.items():
        setting = scanned[method, distance] | {"of": method}
        many = 4 if method == GIBBS else 1
        assert rows[name] == ([(name, data) for data in cox.DATA[distance] for _ in range(many)],
                              5000, setting, many)
        assert [(each["method"], each["distance"], each["burn_in"], each["seed"])
                for each in asked[name]] == [(method, distance, 1000, [5, 100, k, *[j] * (j > 0)])
                                             for k in range(5) for j in range(many)]
    first = cox.DATA["unit"][0]
    assert alone == {SSHMC: ([(SSHMC, first)] * 4, 5000, scanned[SSHMC, "unit"] | {"of": SSHMC}, 1),
                     HMC: ([(HMC, first)] * 4, 300, cox.HMC_SETTING, 1)}
    assert [each["seed"] for each in asked[HMC]] == [[5, 101, k] for k in range(4)]
    assert {(each["distance"], each["burn_in"]) for each in asked[HMC]} == {("unit", 60)}
    between = cox.run_between(experiment, None, None)
    assert {key: [(setting["eps_theta"], setting["eps_phi"], chain) for setting, chain in tried]
            for key, tried in between.items()} == {key: [
                (theta, phi, (key, cox.DATA[key[1]][0])) for theta in sizes[0] for phi in sizes[1]]
                for key, sizes in cox.BETWEEN.items()}
    assert {(each["n"], each["burn_in"]) for key in between for each in asked[key]} == {(2500, 500)}
    assert cox.run_between(SimpleNamespace(budget="short"), None, None) == {}


SMALL = f"{GRID}4 x 4, unit, seed 1"
SETTINGS = {HMC: {"eps": 0.05, "L": 3, "jitter": 0.2},
            GIBBS: dict(eps_theta=0.3, eps_phi=0.5, L_theta=3, L_phi=1, jitter=0.2),
            SSHMC: dict(eps_theta=0.05, eps_phi=0.1, L=3, n_theta=2, n_phi=1, jitter=0.2)}


@pytest.mark.parametrize("distance", cox.DISTANCES)
def test_chains_start_at_the_true_covariance_and_at_draws_of_it(distance):
    model, phi = cox.problem(SMALL, distance)
    covariance = np.exp(phi[0] - model.distance / np.exp(phi[1]))
    # sigma^2 = 1.91, and exp(-delta / (beta d)) with beta = 1 / 33 on the unit square
    place = np.arange(4) / 3
    expected = 1.91 * np.exp(-np.hypot.outer(place, place) * 33 / 4)
    np.testing.assert_allclose(covariance, expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.counts, load(SMALL).y.ravel())
    i, j = np.divmod(np.arange(16), 4)
    dense = expected[abs(i[:, None] - i), abs(j[:, None] - j)]
    np.testing.assert_allclose(cox.start(phi, model, Given(np.zeros(16))), MU, rtol=1e-14)
    root = np.array([cox.start(phi, model, Given(e)) - MU for e in np.eye(16)])
    np.testing.assert_allclose(root.T @ root, dense, rtol=0, atol=1e-12)  # rounding


@pytest.mark.parametrize("distance", cox.DISTANCES)
def test_a_replicate_has_the_field_and_histograms_without_the_burn_in(distance):
    found = table4.one_chain(SSHMC, SMALL, distance, SETTINGS[SSHMC], 30, 10, [4])
    (model, phi), rng = cox.problem(SMALL, distance), np.random.default_rng([4])
    x = cox.start(phi, model, rng)
    chain = table4.transitions(SSHMC, x, phi, model, SETTINGS[SSHMC], 40, rng)
    np.testing.assert_allclose(found["field"], chain.theta[10:].mean(axis=0), rtol=0, atol=5.1e-4)
    np.testing.assert_allclose(found["phi"]["mean"], chain.phi[10:].mean(axis=0), rtol=1e-12)
    logs = chain.phi[10:, 1] - (np.log(3) if distance == "pixel" else 0)  # beta of the unit square
    counts = np.histogram(logs, cox.EDGES["beta"])[0]
    assert found["phi"]["histogram"][1] == counts.tolist() and counts.sum() == 30


def test_estimates_of_chains_by_hand():
    def chain(k):
        phi = {"lineage": [100.0, 50.0], "squares": [80.0, 40.0], "mean": [0.1 * k, 1.0],
               "sd": [1.0, 2.0 + k], "mean_se": [0.3 + 0.1 * (k % 2), 0.4],
               "histogram": [[1, k], [k, 2]]}
        theta = {"lineage": [10.0 + k, 20.0, 30.0], "squares": [5.0, 9.0]}
        return {"AP": 0.5 + 0.1 * k, "phi": phi, "theta": theta, "divergences": k, "field": [k]}

    two, four = (cox.estimates([chain(k) for k in range(m)], 7, {"L": 1}) for m in (2, 4))
    # of few chains the error is what each says of itself, of more their scatter
    assert two.mean == [pytest.approx((0.05, 0.5 / 2)), pytest.approx((1.0, 0.4 / 2**0.5))]
    assert two.sd[1] == pytest.approx((2.5, 0.4 / 2**0.5))
    assert four.mean[0] == pytest.approx((0.15, np.std([0, 0.1, 0.2, 0.3], ddof=1) / 2))
    assert four.AP == [pytest.approx((0.65, np.std([0, 0.1, 0.2, 0.3], ddof=1) / 2))]
    assert (four.divergences, four.histogram, four.field) == (6, [[4, 6], [6, 8]], [[0], [1], [2],
                                                                                    [3]])
    assert four.means[3] == pytest.approx([0.3, 1.0])
    assert four.means_se == [[0.3, 0.4], [0.4, 0.4]] * 2
    assert {name: each.value for name, each in two.squares.items()} == pytest.approx(
        {"sigma": np.log(80.0), "beta": np.log(40.0), "x": np.log(5.0)})
    assert two.ess["sigma"].value == pytest.approx(np.log(100.0))
    assert two.each["min"] == pytest.approx([10.0, 11.0])
    assert two.each["beta"] == pytest.approx([50.0, 50.0])


def test_an_ess_of_few_runs_has_the_error_of_theory():
    m = cox.log_ess([100.0, 400.0])
    assert m.value == pytest.approx(math.log(200)) and m.se == pytest.approx((12 / 400) ** 0.5)
    m = cox.log_ess([100.0, 400.0, 200.0])  # three are few
    assert m.se == pytest.approx((12 / 600) ** 0.5)
    logs = np.log([50.0, 60.0, 70.0, 90.0])
    m = cox.log_ess(np.exp(logs))
    assert (m.value, m.se) == pytest.approx((logs.mean(), logs.std(ddof=1) / 2))
    assert cox.log_ess([np.nan, 1.0]).value == 0.0  # what never moved


def test_chains_of_one_data_set_scatter_less_than_the_sets_do():
    # two chains on each of four sets; with one of eight, the error would be too small
    chains = [chain_of({}, AP=rate, ess=ess) for rate, ess in (
        (0.1, 10.0), (0.3, 40.0), (0.4, 50.0), (0.4, 50.0), (0.5, 8.0), (0.7, 18.0), (0.9, 70.0),
        (0.9, 70.0))]
    found = cox.estimates(chains, 10, {}, on_a_set=2)
    rates, sets = [0.2, 0.4, 0.6, 0.9], [20.0, 50.0, 12.0, 70.0]
    assert found.AP == [pytest.approx((np.mean(rates), np.std(rates, ddof=1) / 2))]
    assert found.each["beta"] == pytest.approx(sets)
    for measured in (found.ess["beta"], found.squares["x"]):
        assert measured == pytest.approx((np.log(sets).mean(), np.log(sets).std(ddof=1) / 2))
    means = [25.0, 50.0, 13.0, 70.0]
    assert found.mean[0] == pytest.approx((np.mean(means), np.std(means, ddof=1) / 2))
    assert len(found.field) == len(found.means) == 8
    two = cox.estimates(chains[:4], 10, {}, on_a_set=2)  # few sets: four chains' error of theory
    assert two.ess["min"].se == pytest.approx((12 / 1000**0.5 / 4) ** 0.5)


def test_the_difference_of_fields_is_free_of_noise():
    # 400 pairs of 10 runs: fields 0.3 apart, with noise of standard deviation 1 of each run
    rng = np.random.default_rng(3)
    found = [cox.difference(rng.standard_normal((10, 40)) + 0.3, rng.standard_normal((10, 40)))
             for _ in range(400)]
    values = np.array([m.value for m in found])
    assert abs(values.mean() - 0.09) < 4 * values.std() / 20
    # the error that is given is the scatter, or more: the jackknife exaggerates that of products of
    # noise, by up to 2^1/2
    assert 0.9 < np.mean([m.se**2 for m in found]) ** 0.5 / values.std() < 1.5
    assert math.isnan(cox.difference(np.zeros((2, 4)), np.ones((2, 4))).se)


def test_the_data_sets_are_the_first_with_100_to_160_points():
    for distance, seeds in cox.SEEDS.items():
        sums = {seed: simulated_cox(32, seed, distance).y.sum() for seed in range(1, seeds[-1] + 1)}
        low, high = cox.POINTS
        assert [seed for seed, points in sums.items() if low <= points <= high] == [*seeds]
        assert [load(name).y.sum() for name in cox.DATA[distance]] == [sums[s] for s in seeds]


@pytest.mark.parametrize(("method", "distance"), cox.GRIDS)
def test_grids_have_the_papers_steps(method, distance):
    for each in cox.grid(method, distance, "paper"):
        assert each["jitter"] == 0
        if method == SSHMC:  # "2 leapfrog steps and 1", "10 ABLA steps"
            assert (each["n_theta"], each["n_phi"], each["L"]) == (2, 1, 10)
        else:  # "20 leapfrog steps for x and 1 general leapfrog step"
            assert (each["L_theta"], each["L_phi"]) == (20, 1)


def chain_of(setting, AP=0.8, ess=100.0, **more):
    """Return a chain in numbers, whose cost is 1 for SSHMC."""
    numbers = {key: [ess, ess] for key in ("lineage", "ours", "squares", "mean", "sd", "mean_se")}
    return {"AP": AP, "n": 10, "divergences": 0, "field": [0.0, 1.0],
            "counts": {"gradient_theta": 10.0, "factor_theta": 0.0, "gradient": 1.0,
                       "gradient_phi": 0.0, "factor_phi": 0.0},
            "theta": {key: [ess, ess, ess] for key in ("lineage", "ours", "squares")},
            "phi": numbers | {"histogram": [[1, 2], [3]]}} | more


def test_a_pilot_has_the_worst_ess_and_the_cost_by_hand():
    chain = chain_of({}, ess=7.0)
    chain["phi"]["squares"] = [5.0, 3.0]
    chain["theta"]["ours"] = [np.nan, 9.0, 9.0]
    found = cox.as_pilot({"L": 1}, chain | {"AP": [0.7, 0.8], "counts": {
        "gradient_theta": 20.0, "factor_theta": 3.0}}, SSHMC)
    assert found == {"setting": {"L": 1}, "AP": [0.7, 0.8], "cost": 5.0, "ess": {
        "theta": 0.0, "theta squares": 7.0, "phi": 7.0, "phi squares": 3.0}}


def tried_of(*kinds):
    """Return [(setting, its chain)] of (eps_theta, eps_phi, acceptance rate, ESS)."""
    return [({"eps_theta": a, "eps_phi": b}, chain_of({}, rate, ess)) for a, b, rate, ess in kinds]


def test_the_rule_wants_50_effective_draws_and_the_papers_acceptance_rate():
    few = (0.1, 0.1, 0.8, 49.0)
    high = (0.2, 0.1, 0.9, 300.0)
    good, better = (0.3, 0.1, 0.84, 60.0), (0.4, 0.1, 0.71, 61.0)
    for kinds, wanted in (((few, high, good, better), 0.4), ((few, high, good), 0.3),
                          ((few, high), 0.2), ((few,), 0.1)):
        assert cox.taken(tried_of(*kinds), SSHMC)["eps_theta"] == wanted
    tried = tried_of(few, high)
    tried[1][1]["phi"]["ours"] = [300.0, 49.0]  # of each hyperparameter
    assert cox.taken(tried, SSHMC)["eps_theta"] == 0.1


def test_the_grid_goes_on_past_the_end_that_is_best():
    inner = [(a, b, 0.8, 60.0) for a in (0.1, 0.2, 0.3) for b in (1.0, 2.0, 3.0)]

    def beyond(best, more=()):
        return cox.past(tried_of(*((a, b, rate, 90.0 if (a, b) == best else ess)
                                   for a, b, rate, ess in [*inner, *more])), SSHMC)

    assert beyond((0.2, 2.0)) == []
    assert beyond((0.3, 2.0)) == [{"eps_theta": 0.4, "eps_phi": 2.0}]
    assert beyond((0.1, 3.0)) == [{"eps_theta": 0.05, "eps_phi": 3.0},
                                  {"eps_theta": 0.1, "eps_phi": 4.0}]
    assert beyond((0.4, 2.0), [(0.4, 2.0, 0.8, 60.0)]) == [{"eps_theta": 0.5, "eps_phi": 2.0}]
    assert beyond((0.3, 2.0), [(0.4, 2.0, 0.8, 60.0)]) == []


class Falling(studies.Recorder):
    """Makes up chains: those of SSHMC are best at 0.17 and 0.05, those of its rival anywhere."""

    def made(self, function, tasks):
        return [chain_of({}, ess=200 - 1000 * abs(task["setting"]["eps_theta"] - 0.17)
                         - 1000 * abs(task["setting"]["eps_phi"] - 0.05)
                         if task["method"] == SSHMC else 60.0, n=task["n"]) for task in tasks]


def test_a_scan_at_the_papers_length_goes_on_until_the_best_is_inside():
    experiment = Falling("paper")
    found = cox.run_scan(experiment, table4.one_chain, None)
    tried = [setting for setting, _ in found[SSHMC, "unit"]]
    assert [(s["eps_theta"], s["eps_phi"]) for s in tried[15:]] == [
        (0.17, 0.05), (0.14, 0.065), (0.2, 0.05), (0.17, 0.065)][:len(tried) - 15]
    assert cox.taken(found[SSHMC, "unit"], SSHMC)["eps_theta"] == 0.17


def test_what_chains_say_together_is_that_of_independent_normals():
    rng = np.random.default_rng(5)
    phi = rng.standard_normal((4, 4000, 2)) * [2.0, 0.5] + [1.0, -3.0]
    fields = rng.standard_normal((4, 9))
    found = cox.read_posterior(cox.posterior_of(fields, phi))
    for k, (middle, sd) in enumerate(((1.0, 2.0), (-3.0, 0.5))):
        assert abs(found.mean[k].value - middle) < 4 * sd / 16_000**0.5
        assert found.mean[k].se == pytest.approx(sd / 16_000**0.5, rel=0.1)
        assert abs(found.sd[k].value - sd) < 4 * sd / 32_000**0.5
        assert found.sd[k].se == pytest.approx(sd / 32_000**0.5, rel=0.15)
        inside = np.histogram(phi[..., k], [*cox.EDGES.values()][k])[0]
        assert found.histogram[k] == inside.tolist()
    assert found.n == 4000 and found.field == np.round(fields, 3).tolist()
    assert found.rhat < 1.01 and min(found.bulk, found.tail) > 10_000
    assert cox.is_believed(found)


def test_what_has_not_converged_is_not_compared():
    rng = np.random.default_rng(6)
    phi = rng.standard_normal((4, 500, 2))
    good = cox.read_posterior(cox.posterior_of(rng.standard_normal((4, 9)), phi))
    assert cox.is_believed(good)
    phi[0, :, 1] += 1.0  # of either hyperparameter
    bad = cox.read_posterior(cox.posterior_of(rng.standard_normal((4, 9)), phi))
    assert bad.rhat > 1.01 and not cox.is_believed(bad)
    for change in ({"rhat": 1.011}, {"bulk": 399.0}, {"tail": 399.0}):
        assert not cox.is_believed(good._replace(**change))
    assert cox.is_believed(good._replace(rhat=1.01, bulk=400.0, tail=400.0))
    for measure in (lambda a, b: cox.means_apart(a, b, 1), lambda a, b: cox.wider(a, b, 0),
                    cox.fields_apart):
        assert measure(good, good).se > 0 or measure is cox.fields_apart
        assert math.isnan(measure(good, bad).se) and not math.isnan(measure(good, bad).value)
        assert math.isnan(measure(bad, good).se)


def test_differences_are_in_standard_deviations_by_hand():
    rng = np.random.default_rng(8)
    one = cox.read_posterior(cox.posterior_of(np.ones((4, 4)), rng.standard_normal((4, 500, 2))))
    a = one._replace(mean=[Measured(1.0, 0.3)] * 2, sd=[Measured(3.0, 0.1), Measured(1.0, 0.1)])
    b = one._replace(mean=[Measured(0.0, 0.4)] * 2, sd=[Measured(1.0, 0.1), Measured(1.0, 0.1)])
    assert cox.means_apart(a, b, 0) == pytest.approx((0.5, 0.25))
    assert cox.wider(a, b, 0).value == pytest.approx(math.log(3))


@pytest.mark.parametrize("method", [GIBBS, SSHMC, fig3.NUTS])
def test_a_posterior_is_that_of_its_chains(method):
    setting = SETTINGS.get(method, {})
    found = cox.read_posterior(fig3.posterior(method, SMALL, setting, 12, 5, [[1], [2]])[
        "posterior"])
    model, phi = cox.problem(SMALL, "unit")
    middles, fields = [], []
    for seed in ([1], [2]):
        rng = np.random.default_rng(seed)
        if method == fig3.NUTS:
            field, draws = cox.run_nuts(model, phi, 12, 5, rng)
        else:
            x = cox.start(phi, model, rng)
            chain = fig3.transitions(method, x, phi, model, setting, 17, rng)
            field, draws = chain.theta[5:].mean(axis=0), chain.phi[5:]
        assert draws.shape == (12, 2)
        fields.append(field)
        middles.append(draws.mean(axis=0))
    np.testing.assert_allclose(found.field, fields, rtol=0, atol=5.1e-4)
    np.testing.assert_allclose([m.value for m in found.mean], np.mean(middles, axis=0), rtol=1e-12)


def test_nuts_has_the_field_of_its_draws_in_the_coordinates_of_the_model(monkeypatch):
    model, phi = cox.problem(SMALL, "unit")

    def nuts(q, coordinates, n, rng, warm_up):
        assert coordinates == NonCentred(model) and (n, warm_up) == (2, 7)
        return SimpleNamespace(samples=np.array([q, -q]))

    monkeypatch.setattr(cox, "nuts", nuts)
    field, draws = cox.run_nuts(model, phi, 2, 7, np.random.default_rng(1))
    z = np.random.default_rng(1).standard_normal(16)
    wanted = (theta_of(z, phi, model) + theta_of(-z, -phi, model)) / 2
    np.testing.assert_allclose(field, wanted, rtol=0, atol=1e-12)  # rounding
    np.testing.assert_array_equal(draws, [phi, -phi])
