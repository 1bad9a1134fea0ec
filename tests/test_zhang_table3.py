"""Table 3 of Zhang and Sutton: each claim on results whose truth is known."""

import numpy as np
import pytest

from judging import replaced, verdicts
from reproduce import zhang_table3 as table3
from reproduce.harness.claims import Measured, judge
from reproduce.harness.style import plt
from reproduce.zhang import volatility
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, number
from reproduce.zhang.volatility import CHAINS, GRIDS, LENGTH, PARTS, WEIGHTS, Estimates

COLUMNS = table3.COLUMNS


def known(value):
    return Measured(value, 0.01 * value)


def made_up_estimates(method, factor=1.0):
    """Return estimates as printed, the ESS times a factor."""
    ess = {c: known(factor * number("Table 3", method, c)) for c in COLUMNS}
    ess["all"] = min(ess.values())
    time = number("Table 3", method, "time") / 20_000
    return Estimates([Measured(0.78, 0.001)] * (1 + (method == GIBBS)), 0, ess, dict(ess), {}, {},
                     1e5 * time, {"L": 7}, [time, time * 1.001])


def made_up():
    """Return a result with which every claim agrees."""
    pilots = [{"setting": {"L": 7}, "AP": [0.8], "ess": {"phi": 1.0}, "cost": 1.0}]
    return table3.Table3(
        20_000, dict.fromkeys(METHODS, pilots),
        {method: made_up_estimates(method) for method in METHODS},
        {method: {f"L = {k}": made_up_estimates(method, 1 + 0.01 * k) for k in (1, 2)}
         for method in METHODS})


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    found = verdicts(table3, made_up())
    # and every claim is moved by something below
    assert {what for _, claims in MOVED.values() for what in claims} == set(found)
    assert set(found.values()) == {"agrees", "too weak"}
    assert {what for what, verdict in found.items() if verdict == "too weak"} == {
        *SPEED.values(), *(f"{HMC}: log(ESS of {c} / {number('Table 3', HMC, c):g})"
                           for c in ("min", "beta", "sigma", "phi"))}


def rate(row, k, value):
    return lambda result: replaced(result, ["rows", row, "AP", k], Measured(value, 0.001))


def in_scan(row, change):
    """Make a function that changes all settings of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: change(found) for key, found in result.scan[row].items()}})


def scanned(row, column, factor):
    return in_scan(row, lambda found: found._replace(ess=found.ess | {
        column: known(factor * found.ess[column].value)}))


def times(factor):
    return lambda found: found._replace(seconds=[factor * s for s in found.seconds])


def slower(row, factor):
    return in_scan(row, times(factor))


def put(row, *place, value):
    return lambda result: replaced(result, ["rows", row, *place], value)


def order(per, measure):
    return f"least log(least ESS per {per}, SSHMC / another), {measure}"


def whole(row):
    """All claims on a row of the table, which are judged together."""
    return [f"{row}: its printed ESS together", *(
        f"{row}: log(ESS of {c} / {number('Table 3', row, c):g})" for c in COLUMNS)]


EVERY = [order(per, measure) for measure in ("by the lineage", "squares too")
         for per in ("second", "gradient")]
SPEED = {row: f"log(least ESS/s, SSHMC / {row} / {value})"
         for row, value in ((HMC, "5.06"), (GIBBS, "1.76"))}
MOVED = {
    "HMC accepts too much": (rate(HMC, 0, 0.9), [f"{HMC}: acceptance rate"]),
    "Gibbs in x": (rate(GIBBS, 0, 0.6), [f"{GIBBS}: acceptance rate of x"]),
    "Gibbs in phi": (rate(GIBBS, 1, 0.95), [f"{GIBBS}: acceptance rate of the hyperparameters"]),
    "SSHMC": (rate(SSHMC, 0, 0.65), [f"{SSHMC}: acceptance rate"]),
    **{f"ESS of {column}, {row}": (scanned(row, column, 30.0), whole(row))
       for row in METHODS for column in COLUMNS},
    "the least of SSHMC": (scanned(SSHMC, "all", 300.0), list(SPEED.values())),
    "the least of HMC": (scanned(HMC, "all", 0.01), [SPEED[HMC]]),
    "the least of Gibbs": (scanned(GIBBS, "all", 0.01), [SPEED[GIBBS]]),
    # factors of two and more; the ESS per second have errors of a factor of ten
    "HMC takes longer": (slower(HMC, 2.5), [f"time of {GIBBS} / {HMC}", f"time of {SSHMC} / {HMC}"]
                         ),
    "SSHMC takes longer": (slower(SSHMC, 2.8), [f"time of {SSHMC} / {HMC}",
                                                f"time of {SSHMC} / {GIBBS}"]),
    "Gibbs takes longer": (slower(GIBBS, 3.0), [f"time of {GIBBS} / {HMC}",
                                                f"time of {SSHMC} / {GIBBS}"]),
    "SSHMC is bad": (put(SSHMC, "ess", "all", value=known(5.0)), EVERY),
    "SSHMC is bad in squares": (put(SSHMC, "squares", "phi", value=known(5.0)), EVERY[2:]),
    "SSHMC is slow": (lambda r: replaced(r, ["rows", SSHMC], times(90.0)(r.rows[SSHMC])),
                      [EVERY[0], EVERY[2]]),
    "SSHMC needs many gradients": (put(SSHMC, "passes", value=1e6), [EVERY[1], EVERY[3]]),
    "Gibbs is good": (put(GIBBS, "ess", "all", value=known(9000.0)), EVERY[:2]),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    change, wanted = MOVED[name]
    found = verdicts(table3, change(made_up()))
    assert {what for what, verdict in found.items()
            if verdict not in ("agrees", "too weak")} == set(wanted)
    assert {found[what] for what in wanted} <= {"differs", "every setting differs"}


def test_what_depends_on_the_settings_is_not_determined():
    result = replaced(made_up(), ["scan", HMC, "L = 2"], made_up_estimates(HMC, 100.0))
    found = verdicts(table3, result)
    # the row agrees, for one setting has all of it; a ratio of two methods' settings is not a row
    assert {found[what] for what in whole(HMC)} == {"agrees", "too weak"}
    assert found[SPEED[HMC]] == "too weak"


def test_shorter_budgets_make_no_claim_on_printed_numbers():
    assert verdicts(table3, made_up(), "smoke") == {}
    made = judge(table3.CLAIMS, made_up(), "short")
    assert {f.claim.kind for f in made} == {"order", "ours"}


@pytest.mark.parametrize("budget", ["smoke", "paper"])
def test_what_is_run(budget, monkeypatch):
    experiment = Recorder(budget)
    result = table3.run(experiment, Cases)
    timed = experiment.calls["clock"][0]["rows"]
    assert list(timed)[:3] == list(METHODS)
    assert len(timed) == 3 + sum(map(len, result.scan.values()))
    for key, (method, setting) in timed.items():
        found = result.rows.get(key) or result.scan[method][key.removeprefix(f"{method}, ")]
        assert found.setting == setting and found.seconds == [len(key)] * 2
        number = setting["L" if "L" in setting else "L_theta"]
        assert found.ess["beta"].value == number  # the run of this setting, see Recorder
    assert result.n == experiment.calls["one_chain"][0]["n"]
    assert result.scan[GIBBS][table3.PROGRAM].setting == table3.UP_TO
    runs = experiment.calls["one_chain_of_the_program"]
    assert [run["seed"] for run in runs] == [[5, 300, k] for k in range(CHAINS[budget])]
    assert {(run["n"], run["burn_in"]) for run in runs} == {LENGTH[budget]}


class Cases:
    name = "stochastic volatility, T = 2000"


class Recorder:
    """Stands for an experiment: what is found says of which setting it is."""

    def __init__(self, budget):
        self.budget, self.seed, self.calls = budget, 5, {}

    def replicates(self, function, tasks, unit, note=None, warm=None):
        self.calls.setdefault(function.__name__, []).extend(tasks)
        if function.__name__ == "pilots":
            return [{"pilots": [{"setting": s, "AP": [0.8], "ess": {"phi": 1 + sum(s.values())},
                                 "cost": 1.0} for s in task["settings"]]} for task in tasks]
        if function.__name__ == "clock":
            return [{"seconds": {key: [len(key)] * 2 for key in tasks[0]["rows"]}}]
        if function.__name__ == "one_chain_of_the_program":
            tasks = [task | {"method": GIBBS, "setting": table3.UP_TO} for task in tasks]
        return [self.chain(**task) for task in tasks]

    @staticmethod
    def chain(method, setting, n, **_):
        number = float(setting[next(part for part in PARTS[method] if part[0] == "L")])
        triple = {"lineage": [number] * 3, "ours": [number] * 3, "squares": [number] * 3,
                  "mean": [0.0] * 3, "sd": [1.0] * 3}
        return {"n": n, "AP": [0.8] * (1 + (method == GIBBS)), "divergences": 0, "theta": triple,
                "phi": triple, "worst": number, "counts": dict.fromkeys(WEIGHTS[method], 1.0)}


def test_the_table_and_the_figure_show_print_and_ours():
    result = made_up()
    text = table3.table(result)
    for words in ("120.7e2", "0.31", "883 s", "4434 (44)", "SSHMC: L = 2", "RMHMC(Gibbs)"):
        assert words in text
    fig = table3.figure(result)
    left, right = fig.axes
    assert [t.get_text() for t in left.get_xticklabels()] == [
        "$x$, min", "$x$, med", "$x$, max", r"$\beta$", r"$\sigma$", r"$\phi$"]
    assert {t.get_text() for t in left.get_legend().get_texts()} == {*METHODS, "paper", "scan"}
    assert len(right.get_lines()) == 3
    plt.close(fig)


def test_each_point_of_the_figure_is_per_1000_draws_of_its_own_run():
    result = made_up()._replace(n=10_000)  # print has 20 000
    left = table3.figure(result).axes[0]
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
    plt.close(left.figure)


def test_the_least_counts_squares_where_asked():
    found = made_up_estimates(SSHMC)
    found.squares["min"] = Measured(7.0)
    assert volatility.least_ess(found, "by the lineage").value == 1390
    assert volatility.least_ess(found, "squares too").value == 7.0
    a = volatility.advantage(found, made_up_estimates(HMC), "by the lineage", "gradient").value
    assert a == pytest.approx(np.log(1390 / 50 * 162 / 883), rel=1e-12)
    assert set(GRIDS) == set(METHODS)


def test_as_the_program_draws_its_numbers_of_steps_and_goes_on_where_it_was(monkeypatch):
    calls = []

    def transition(theta, phi, model, eps_theta, eps_phi, L_theta, L_phi, n, rng, **solver):
        calls.append((theta[0], phi[0], eps_theta, eps_phi, L_theta, L_phi, n, solver))
        return table3.Chain(theta[None] + 1.0, phi[None] + 2.0, np.zeros(1), np.ones((1, 2), bool),
                            np.zeros((1, 2)), np.zeros((1, 2), bool),
                            table3.Counts(L_theta, L_phi, 1, 2))

    monkeypatch.setattr(table3, "rmhmc_within_gibbs", transition)
    chain = table3.as_the_program(np.zeros(3), np.zeros(3), None, 2000, np.random.default_rng(1))
    x, phi, *eps, L_theta, L_phi, n, solver = zip(*calls, strict=True)
    assert x == tuple(range(2000)) and phi == tuple(range(0, 4000, 2)) and set(n) == {1}
    assert eps == [(0.1,) * 2000, (0.5,) * 2000]
    assert set(L_theta) == set(range(1, 51)) and set(L_phi) == set(range(1, 7))
    assert all(each == {"f_position": 5, "f_momentum": 5, "tol": 0.0, "tol_back": 0.0}
               for each in solver)
    assert chain.theta[-1, 0] == 2000 and chain.phi.shape == (2000, 3)
    assert chain.counts == (sum(L_theta), sum(L_phi), 2000, 4000)
    assert chain.accepted.all() and chain.divergences == 0
