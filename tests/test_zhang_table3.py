"""Table 3 of Zhang and Sutton: chains on the volatilities, their estimates, and each claim."""

from types import SimpleNamespace

import numpy as np
import pytest

import studies
from judging import check_labels, check_moves, known, multiplied, put
from reproduce import zhang_table3 as table3
from reproduce.harness.claims import Measured
from reproduce.zhang import volatility
from reproduce.zhang.datasets import simulated_volatility
from reproduce.zhang.estimates import summary
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, number
from reproduce.zhang.volatility import Estimates, Runs, estimates
from zhang_claims import common, printed_ess, runs

COLUMNS = table3.COLUMNS


def pilot(setting, rate, worst=1.0):
    return {"setting": setting, "AP": [rate], "ess": {"phi": worst}, "cost": 1.0}


def made_up_estimates(method, factor=1.0):
    """Return estimates as printed, the ESS times a factor."""
    ess = {c: known(factor * number("Table 3", method, c)) for c in COLUMNS}
    ess["all"] = min(ess.values())
    seconds = number("Table 3", method, "time") / 20_000
    return Estimates([Measured(0.78, 0.001)] * (1 + (method == GIBBS)), 0, ess, dict(ess), {}, {},
                     1e5 * seconds, {"L": 7}, {c: runs(ess[c].value) for c in COLUMNS},
                     [seconds, seconds * 1.001])


def made_up():
    return table3.Table3(
        20_000, {method: [pilot({"L": 7}, 0.8)] for method in METHODS},
        {method: made_up_estimates(method) for method in METHODS},
        {method: {f"L = {k}": made_up_estimates(method, 1 + 0.01 * k) for k in (1, 2)}
         for method in METHODS})


def scanned(row, column, factor):
    """Make a function that multiplies an ESS of all settings of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: found._replace(ess=found.ess | {column: known(factor * found.ess[column].value)})
        for key, found in result.scan[row].items()}})


def order(per, measure):
    return f"least log(least ESS per {per}, SSHMC / another), {measure}"


EVERY = [order(per, measure) for measure in ("the paper's estimator", "squares too")
         for per in ("second", "gradient")]
SPEED = {row: f"log(least ESS/s, SSHMC / {row} / {value})"
         for row, value in ((HMC, "5.06"), (GIBBS, "1.76"))}
MOVED = {
    # factors of two and more; the ESS per second have errors of a factor of ten
    **common("Table 3", COLUMNS, 30.0, {HMC: 2.5, GIBBS: 2.1, SSHMC: 2.1},
             ("x", "the hyperparameters")),
    "the least of SSHMC": (scanned(SSHMC, "all", 300.0), list(SPEED.values())),
    "the least of HMC": (scanned(HMC, "all", 0.01), [SPEED[HMC]]),
    "the least of Gibbs": (scanned(GIBBS, "all", 0.01), [SPEED[GIBBS]]),
    "SSHMC is bad": (put("rows", SSHMC, "ess", "all", known(5.0)), EVERY),
    **{f"SSHMC is bad in squares of {name}": (
        put("rows", SSHMC, "squares", name, known(5.0)), EVERY[2:]) for name in ("min", "phi")},
    "SSHMC is slow": (multiplied(90.0, "rows", SSHMC, "seconds"), [EVERY[0], EVERY[2]]),
    "SSHMC needs many gradients": (put("rows", SSHMC, "passes", 1e6), [EVERY[1], EVERY[3]]),
    "Gibbs is good": (put("rows", GIBBS, "ess", "all", known(9000.0)), EVERY[:2]),
}
WEAK = [*SPEED.values(), printed_ess("Table 3", GIBBS, "sigma"),
        *(printed_ess("Table 3", HMC, c) for c in ("min", "beta", "sigma", "phi"))]


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(table3, made_up(), MOVED, WEAK, [f"{HMC}: its printed ESS together"])


class Recorder(studies.Recorder):
    """What is found says of which setting it is."""

    def made(self, function, tasks):
        if function is table3.pilots:
            return [{"pilots": [pilot(s, 0.8, 1 + sum(s.values())) for s in task["settings"]]}
                    for task in tasks]
        if function is table3.clock:
            return [{"seconds": {key: [len(key)] * 2 for key in tasks[0]["rows"]}}]
        program = {"method": GIBBS, "setting": table3.UP_TO}
        return [self.chain(**program | task) for task in tasks]

    @staticmethod
    def chain(method, setting, n, **_):
        number = float(setting["L" if "L" in setting else "L_theta"])
        triple = dict.fromkeys(("lineage", "ours", "squares", "mean", "sd"), [number] * 3)
        return {"n": n, "AP": [0.8] * (1 + (method == GIBBS)), "divergences": 0, "theta": triple,
                "phi": triple, "worst": number,
                "counts": dict.fromkeys(volatility.WEIGHTS[method], 1.0)}


@pytest.mark.parametrize("budget", ["smoke", "paper"])
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = table3.run(experiment, SimpleNamespace(name="series"))
    calls = dict(experiment.calls)
    (timed,) = [task["rows"] for task in calls["clock"]]
    assert list(timed)[:3] == list(METHODS)
    assert len(timed) == 3 + sum(map(len, result.scan.values()))
    for key, (method, setting) in timed.items():
        found = result.rows.get(key) or result.scan[method][key.removeprefix(f"{method}, ")]
        assert found.setting == setting and found.seconds == [len(key)] * 2
        number = setting["L" if "L" in setting else "L_theta"]
        assert found.ess["beta"].value == number  # the run of this setting, see Recorder
    assert result.n == calls["one_chain"][0]["n"]
    for k, method in enumerate(METHODS):  # a seed of its own for each chain of a row
        mine = [task for task in calls["one_chain"] if task["seed"][1] == 100 + k]
        assert [(task["method"], task["seed"]) for task in mine] == [
            (method, [5, 100 + k, chain]) for chain in range(volatility.CHAINS[budget])]
        # not of a setting of its scan
        assert result.rows[method].setting == mine[0]["setting"] == max(
            result.tried[method], key=lambda each: each["ess"]["phi"])["setting"]
    assert len({str(task["seed"]) for task in calls["one_chain"]}) == len(calls["one_chain"])
    # the last of LONGER has as many as a row, and the first is the row: it is not run again
    assert budget != "paper" or 10 + 10 == sum(
        task["setting"].get("L") in (28, 30) for task in calls["one_chain"])
    assert set(result.scan[HMC]) == {f"L = {L}" for L in volatility.GRIDS[HMC][budget][1]}
    assert result.scan[GIBBS][table3.PROGRAM].setting == table3.UP_TO
    runs = calls["one_chain_of_the_program"]
    assert [run["seed"] for run in runs] == [[5, 300, k] for k in range(volatility.CHAINS[budget])]
    assert {(run["n"], run["burn_in"]) for run in runs} == {volatility.LENGTH[budget]}
    assert {(s["n_theta"], s["n_phi"]) for s in volatility.grid(SSHMC, budget)} == {(5, 2)}


def test_each_point_of_the_figure_is_per_1000_draws_of_its_own_run():
    result = made_up()._replace(n=10_000)  # print has 20 000
    axes = table3.figure(result).axes
    check_labels(axes, ("", "ESS by"), ("acceptance", "worst ESS per 1000 gradients"))
    left = axes[0]
    assert [t.get_text() for t in left.get_xticklabels()] == [
        "$x$, min", "$x$, med", "$x$, max", r"$\beta$", r"$\sigma$", r"$\phi$"]
    assert {t.get_text() for t in left.get_legend().get_texts()} == {*METHODS, "paper", "scan"}
    assert [line.get_marker() for line in left.lines if line.get_label() in ("paper", "scan")
            ] == ["D", "_"]
    diamonds = [line for line in left.get_lines() if line.get_marker() == "D"]
    for bars, line, method in zip(left.containers, diamonds, METHODS, strict=False):
        printed = np.array([number("Table 3", method, c) for c in COLUMNS])
        point, _, (ends,) = bars.lines
        assert bars.get_label() == method and point.get_color() == line.get_color()
        np.testing.assert_allclose(point.get_ydata(), printed / 10, rtol=1e-12)
        np.testing.assert_allclose(line.get_ydata(), printed / 20, rtol=1e-12)
        np.testing.assert_allclose([each[:, 1] for each in ends.get_segments()],
                                   np.outer(printed / 10, [0.98, 1.02]), rtol=1e-12)
    scan = [line for line in left.get_lines() if line.get_marker() == "_" and line.get_alpha()]
    np.testing.assert_allclose(scan[0].get_ydata(), 1.01 * diamonds[0].get_ydata() * 2, rtol=1e-12)


def test_as_the_program_draws_its_numbers_of_steps_and_goes_on_where_it_was(monkeypatch):
    calls = []

    def transition(theta, phi, model, eps_theta, eps_phi, L_theta, L_phi, n, rng, jitter, keep,
                   solver):
        calls.append((theta[0], phi[0], eps_theta, eps_phi, L_theta, L_phi, n, jitter, solver))
        return table3.Chain(theta[None] + 1.0, phi[None] + 2.0, np.zeros(1), np.ones((1, 2), bool),
                            np.zeros((1, 2)), np.zeros((1, 2), bool),
                            table3.Counts(L_theta, L_phi, 1, 2))

    monkeypatch.setattr(table3, "rmhmc_within_gibbs", SimpleNamespace(
        check=table3.rmhmc_within_gibbs.check, compiled=transition))
    model = table3.StochasticVolatility.from_data([0.5, -1.0, 2.0])
    chain = table3.as_the_program(np.zeros(3), np.zeros(3), model, 2000, np.random.default_rng(1))
    x, phi, *eps, L_theta, L_phi, n, jitter, solver = zip(*calls, strict=True)
    assert x == tuple(range(2000)) and phi == tuple(range(0, 4000, 2)) and set(n) == {1}
    assert eps == [(0.1,) * 2000, (0.5,) * 2000] and set(jitter) == {0.0}
    assert set(L_theta) == set(range(1, 51)) and set(L_phi) == set(range(1, 7))
    assert set(solver) == {(5, 5, 0.0, 0.0)}
    assert chain.theta[-1, 0] == 2000 and chain.phi.shape == (2000, 3)
    assert chain.counts == (sum(L_theta), sum(L_phi), 2000, 4000)
    assert chain.accepted.all() and chain.divergences == 0


SETTINGS = {HMC: {"eps": 0.05, "L": 3},
            GIBBS: dict(eps_theta=0.3, eps_phi=0.5, L_theta=2, L_phi=1),
            SSHMC: dict(eps_theta=0.1, eps_phi=0.05, L=2, n_theta=2, n_phi=1)}
DATA = simulated_volatility(12).name


def test_the_start_is_a_draw_given_the_hyperparameters():
    x, phi = volatility.start(20, np.random.default_rng(1))
    np.testing.assert_allclose([np.exp(phi[0]), np.exp(phi[1]), np.tanh(phi[2])], 0.5, rtol=1e-15)
    z = np.random.default_rng(1).standard_normal(20)
    # x_1 has the variance 1/4 / (1 - 1/4)
    np.testing.assert_allclose(x, [z[0] / 3**0.5, *(x[:-1] / 2 + z[1:] / 2)], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_its_burn_in_and_what_follows(method):
    found = table3.one_chain(method, DATA, SETTINGS[method], n=80, burn_in=30, seed=[1, 2])
    rng, cases = np.random.default_rng([1, 2]), table3.load(DATA)
    model = table3.StochasticVolatility.from_data(cases.y)
    first = table3.transitions(method, *volatility.start(12, rng), model, SETTINGS[method], 30,
                                   rng)
    chain = table3.transitions(method, first.theta[-1], first.phi[-1], model, SETTINGS[method],
                                   80, rng)
    wanted = summary(chain, 0, volatility.BINS) | {
        "divergences": first.divergences + chain.divergences}
    assert {key: found[key] for key in wanted} == wanted
    three = SimpleNamespace(phi=first.phi, divergences=3)
    assert volatility.run_in_numbers(three, chain)["divergences"] == 3 + chain.divergences
    times = found["burn_in"]["times"]
    assert (times[0], times[-1]) == (1, 30)
    np.testing.assert_array_equal(found["burn_in"]["phi"], first.phi[times - 1])
    assert found["worst"] == min(wanted["theta"]["lineage"][0], *wanted["phi"]["lineage"])
    # a twentieth of 80 draws
    inside = [np.sum((x[:4] >= e[0]) & (x[:4] <= e[-1]))
              for x, e in zip(chain.phi.T, volatility.BINS, strict=True)]
    assert np.sum(found["early"], axis=1).tolist() == inside


def test_the_bins_of_the_model_are_those_of_the_figure():
    for edges, inner, back in zip(volatility.EDGES, volatility.BINS, (np.exp, np.exp, np.tanh),
                                  strict=True):
        np.testing.assert_allclose(back(inner), edges, rtol=1e-13)  # rounding of there and back
    for truth, edges in zip((0.65, 0.15, 0.98), volatility.EDGES, strict=True):
        assert edges[0] < truth < edges[-1]


def made_up_run(k):
    values = {"lineage": [10.0 + k, 20.0, 30.0], "ours": [11.0, 21.0, 31.0],
              "squares": [5.0, 6.0, 7.0]}
    return {"n": 100, "AP": [0.7 + 0.1 * k, 0.8], "divergences": k,
            "counts": {"gradient_theta": 300.0, "factor_phi": 600.0, "factor_theta": 9.0},
            "theta": values, "phi": {name: [4.0, 5.0 + k, 6.0] for name in (*values, "mean", "sd")},
            "worst": 3.0 + k}


def test_estimates_put_runs_together():
    found = estimates(Runs(GIBBS, {"L": 3}, [made_up_run(0), made_up_run(1)]), [0.5])
    assert [m.value for m in found.AP] == pytest.approx([0.75, 0.8], rel=1e-15)
    assert found.ess["min"] == pytest.approx((10.5, 0.5), rel=1e-12)
    assert found.ess["sigma"] == pytest.approx((5.5, 0.5), rel=1e-12)
    assert found.ess["all"] == pytest.approx((3.5, 0.5), rel=1e-12)
    assert found.squares["med"] == found.squares["phi"] == found.mean["phi"] == (6.0, 0.0)
    assert found.sd["beta"] == (4.0, 0.0)
    assert (found.divergences, found.setting, found.seconds) == (1, {"L": 3}, [0.5])
    assert found.passes == pytest.approx(3 + 2, rel=1e-15)  # a factor of phi counts a third
    single = estimates(Runs(HMC, {}, [made_up_run(0) | {"AP": 0.7, "counts": {"gradient": 50.0}}]))
    assert [m.value for m in single.AP] == [0.7] and single.passes == 0.5


def test_the_scan_of_sshmc_has_the_smallest_and_the_largest_step_of_phi():
    def setting(eps_theta, eps_phi, L):
        return dict(eps_theta=eps_theta, eps_phi=eps_phi, L=L, n_theta=5, n_phi=2)

    tried = [pilot(setting(1, eps_phi, L), 0.8) for eps_phi in (0.1, 0.2, 0.3) for L in (1, 2)]
    tried += [pilot(setting(2, 0.2, 5), 0.8), pilot(setting(3, 0.1, 1), 0.8, 7.0),
              pilot(setting(1, 0.4, 1), 0.6)]
    assert volatility.scan(SSHMC, tried) == {
        "L = 1, eps_phi = 0.1": setting(3, 0.1, 1), "L = 1, eps_phi = 0.3": setting(1, 0.3, 1),
        "L = 2, eps_phi = 0.1": setting(1, 0.1, 2), "L = 2, eps_phi = 0.3": setting(1, 0.3, 2),
        "L = 5, eps_phi = 0.2": setting(2, 0.2, 5)}


def test_extremes_are_those_of_all_pairs():
    found = {HMC: {"a": 1.0, "b": 5.0, "c": 3.0}, SSHMC: {"d": 2.0, "e": 4.0}}
    ours = volatility.extremes(found, HMC, SSHMC, lambda x, y: Measured(x - y, 0.1))
    assert ours.settings == ("a / e", "b / d")
    assert ours.found == (Measured(-3.0, 0.1), Measured(3.0, 0.1))
    single = volatility.extremes({HMC: {"a": 1.0}}, HMC, HMC, lambda x, y: Measured(x - y))
    assert single == (("a / a",), (Measured(0.0),))
