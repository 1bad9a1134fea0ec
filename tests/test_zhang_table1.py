"""Table 1 of Zhang and Sutton: what is run, and each claim on results whose truth is known."""

import numpy as np
import pytest
from scipy.stats import norm

from judging import put, replaced, scanned, slower
from reproduce import zhang_table1 as table1
from reproduce.harness.claims import BUDGETS, Measured, Scan, judge
from reproduce.harness.style import plt
from reproduce.zhang import funnel
from reproduce.zhang.funnel import mse_deviate
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, number

FIXED, BETTER = table1.FIXED, table1.BETTER


def known(value):
    """An estimate with an error of a hundredth."""
    return Measured(value, 0.01 * value)


def estimates(AP, v, x, long, seconds, passes, setting, mse=(1.5, 9.0, 5.0)):
    """Return estimates with errors of a hundredth."""
    return funnel.Estimates([Measured(rate, 0.001) for rate in AP], 0, known(x), known(v),
                            known(long), *map(known, mse), known(7.0), passes, setting,
                            [seconds, seconds * 1.001])


def made_up():
    """Return a result with which every claim agrees."""
    one = funnel.sshmc_setting(2, 1, 2, 0.2, 200)
    gibbs = dict(eps_theta=0.5, eps_phi=1.9, L_theta=2, L_phi=1)
    small = (0.006, 0.1, 0.1)
    rows = {HMC: estimates([0.75], 20, 150, 3, 4e-5, 200, {"eps": 0.1, "L": 200}),
            GIBBS: estimates([0.78, 0.74], 15, 2000, 4, 1e-5, 5, gibbs),
            SSHMC: estimates([0.8], 1500, 4000, 1400, 5e-5, 1400, one, small),
            FIXED: estimates([0.8], 1500, 4000, 1400, 5e-5, 1400, one, small),
            BETTER: estimates([0.8], 3000, 4000, 3000, 5e-5, 1400, one, small)}
    slow = {HMC: 3.6e-3, GIBBS: 1.9e-3, SSHMC: 2.8e-3}
    scan = {row: {key: estimates([0.8], number("Table 1", row, "v"), number("Table 1", row, "min"),
                                 5, factor * slow[row], 100, {"steps": key}, [
                                     number("Table 1", row, column) for column in
                                     ("mse_1", "mse_2", "mse_2")])
                  for key, factor in (("10", 1.0), ("20", 1.1))} for row in METHODS}
    rates = {"halves": 0.82, "one each": 0.37, "two each": 0.36}
    pilots = [{"setting": funnel.sshmc_setting(n_theta, 1, ratio, 0.2, 200),
               "AP": [rates[name]], "ess": {"phi": 1.0}, "cost": 1.0}
              for name, (n_theta, ratio) in funnel.READINGS.items()]
    steps = [{"setting": funnel.sshmc_setting(n_theta, n_phi, 2, 0.2, 9), "AP": [0.8],
              "ess": {"phi": ess, "theta": 99.0}, "cost": 1.0}
             for n_theta, n_phi, ess in ((1, 1, 1.0), (2, 1, 2.0), (1, 2, 1.5))]
    return funnel.Table1(5000, {row: pilots for row in rows} | {"readings": pilots, "steps": steps},
                         rows, scan)


def verdicts(result, budget="paper"):
    # as if no difference were known: it is the intervals that are tried
    claims = [claim._replace(known=None) for claim in table1.CLAIMS]
    return {f.claim.what: f.verdict for f in judge(claims, result, budget)}


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    found = verdicts(made_up())
    # and every claim is moved by something below
    assert {what for _, claims in MOVED.values() for what in claims} == set(found)
    assert set(found.values()) == {"agrees", "too weak"}
    # 4 standard errors of an ESS of 12 / (log(3) / 4)^2 = 159 are a factor of three
    assert {what for what, verdict in found.items() if verdict == "too weak"} == {
        f"{row}: log(ESS of {column} / {printed:g})" for row in METHODS
        for column in ("min", "v") for printed in [number("Table 1", row, column)] if printed < 159}


APPARENT = "v: least log(ESS per second, SSHMC / another), the paper's estimator"
WORTH = "v: least log(ESS per second, SSHMC / another), long runs"
SIX = "the six printed MSE together"
LEAPFROG = "log(time of a leapfrog, HMC / SSHMC)"
MASS = "v: log(ESS, mass n/2 + 1/9 / n + 1/9)"
BOUND = f"{GIBBS}: ESS of v of 5000 draws, long runs"


def honest(row):
    return f"{row}: log(ESS of v, the paper's estimator / long runs)"


def whole(row):
    """All claims on a row of the table, which are judged together."""
    return [f"{row}: its printed ESS together", *(
        f"{row}: log(ESS of {column} / {number('Table 1', row, column):g})"
        for column in ("min", "v"))]


def low(other, unit):
    return f"x: log(min ESS per {unit}, {GIBBS} / {other})"


MOVED = {
    "HMC accepts too much": (put(["rows", HMC, "AP"], [Measured(0.9, 0.001)]),
                             [f"{HMC}: acceptance rate"]),
    "Gibbs in x": (put(["rows", GIBBS, "AP", 0], Measured(0.6, 0.001)),
                   [f"{GIBBS}: acceptance rate of x"]),
    "Gibbs in v": (put(["rows", GIBBS, "AP", 1], Measured(0.95, 0.001)),
                   [f"{GIBBS}: acceptance rate of v"]),
    "SSHMC": (put(["rows", SSHMC, "AP", 0], Measured(0.65, 0.001)), [f"{SSHMC}: acceptance rate"]),
    **{f"ESS of {column}, {row}": (
        scanned(row, **{name: known(500 * number("Table 1", row, column))}), whole(row))
        for row in METHODS for column, name in (("min", "x"), ("v", "v"))},
    "SSHMC has hardly an error": (put(["rows", SSHMC, "mse_mean"], known(1e-3)), [SIX]),
    "the paper has hardly one": (lambda r: r._replace(rows=r.rows | {row: r.rows[row]._replace(
        mse_mean=known(mse), mse_square=known(mse)) for row, mse in zip(
            METHODS, (1e3, 1e3, 1.1e3), strict=True)}), [
        SIX, *(f"least log(MSE of {what}, another / SSHMC)" for what in ("E[v]", "E[v^2]"))]),
    "SSHMC takes longer": (slower(SSHMC, 4), [f"time of {SSHMC} / {HMC}",
                                              f"time of {SSHMC} / {GIBBS}"]),
    "HMC takes longer": (slower(HMC, 4), [f"time of {SSHMC} / {HMC}", f"time of {GIBBS} / {HMC}"]),
    "Gibbs mixes x no better": (put(["rows", GIBBS, "x"], known(7.0)),
                                [low(HMC, "second"), low(SSHMC, "second"),
                                 low(SSHMC, "gradient")]),
    "Gibbs needs many gradients": (put(["rows", GIBBS, "passes"], 1e4), [
        low(HMC, "gradient"), low(SSHMC, "gradient")]),
    "SSHMC mixes x ever so well": (put(["rows", SSHMC, "x"], known(1e6)),
                                   [low(SSHMC, "second"), low(SSHMC, "gradient")]),
    "SSHMC needs few gradients": (put(["rows", SSHMC, "passes"], 7.0), [low(SSHMC, "gradient")]),
    "SSHMC looks bad": (put(["rows", SSHMC, "v"], known(20.0)),
                        [APPARENT, honest(SSHMC)]),
    "SSHMC is bad": (put(["rows", SSHMC, "v_long"], known(3.0)),
                     [WORTH, honest(SSHMC)]),
    "SSHMC is slow": (put(["rows", SSHMC, "seconds"], [0.1, 0.1]), [APPARENT, WORTH, LEAPFROG]),
    "HMC is good": (put(["rows", HMC, "v_long"], known(3000.0)), [WORTH, honest(HMC)]),
    "Gibbs is modest": (put(["rows", GIBBS, "v"], known(3.0)), [honest(GIBBS)]),
    "Gibbs is good": (put(["rows", GIBBS, "v_long"], known(8.0)), [BOUND]),
    "Gibbs is biased no more": (put(["rows", GIBBS, "error"], known(0.5)), [
        f"{GIBBS}: (error of the mean of v / its s.e. by the run's own ESS)^2"]),
    "HMC is honest": (put(["rows", HMC, "error"], known(0.5)), [
        f"{HMC}: (error of the mean of v / its s.e. by the run's own ESS)^2"]),
    **{f"Gibbs has the MSE of {what}": (put(["rows", GIBBS, name], known(1e-3)),
                                        [f"least log(MSE of {what}, another / SSHMC)",
                                         *[SIX] * (name != "mse_variance")])
       for what, name in table1.MSE.items()},
    "the mass makes it worse": (put(["rows", BETTER, "v"], known(900.0)), [MASS]),
    "single steps are best": (put(["tried", "steps", 0, "ess"], {"phi": 9.0}), [
        "log(worst ESS per gradient, several leapfrogs / one of each)"]),
    "the readings are the same": (put(["tried", "readings", 1, "AP"], [0.8]), [
        "least gap of the acceptance rates of the three readings"]),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    change, wanted = MOVED[name]
    found = verdicts(change(made_up()))
    assert {what for what, verdict in found.items()
            if verdict not in ("agrees", "too weak")} == set(wanted)
    assert {found[what] for what in wanted} <= {"differs", "every setting differs"}


def test_a_row_has_one_setting():
    result = made_up()
    result = replaced(result, ["scan", SSHMC, "20", "v"], known(1e5))
    assert {verdicts(result)[what] for what in whole(SSHMC)} == {"agrees"}  # the other has both
    # each column is somewhere, but nowhere both are
    result = replaced(result, ["scan", SSHMC, "10", "x"], known(1e5))
    assert {verdicts(result)[what] for what in whole(SSHMC)} == {"differs", "every setting differs"}
    # a chain that stood still is left out, and does not stand for a side
    result = replaced(result, ["scan", SSHMC, "20", "v"], Measured(np.nan, np.nan))
    assert {verdicts(result)[what] for what in whole(SSHMC)} == {"differs", "every setting differs"}


def test_squared_errors_of_runs_have_normal_deviates():
    # each is its variance times a chi-squared number; the deviates of 4000 are as many normal ones
    rng, variances = np.random.default_rng(3), np.array([1.6, 15.0, 1.9, 20.0, 0.006, 0.07])
    found = [mse_deviate(e**2, [Measured(v) for v in variances])[0].value
             for e in rng.standard_normal((4000, 6)) * variances**0.5]
    # by scipy's chi2.sf, and the mean and variance of 4000 normals, to 4 standard errors
    assert abs(np.mean(found)) < 4 / 4000**0.5
    assert abs(np.var(found) - 1) < 4 * (2 / 4000) ** 0.5
    deviate, total = mse_deviate([1.0, 3.0], [Measured(2.0, 0.2), Measured(1.0, 0.0)])
    # 3.5 of 2 degrees: exp(-3.5 / 2) is exceeded; 0.5 has an error of a tenth
    assert (total.value, total.se) == pytest.approx((3.5, 0.05))
    assert norm.sf(deviate.value) == pytest.approx(np.exp(-1.75), rel=1e-12)
    higher, _ = mse_deviate([1.0 + 2e-6, 3.0], [Measured(2.0), Measured(1.0)])
    assert deviate.se == pytest.approx(0.05 * (higher.value - deviate.value) / 1e-6, rel=1e-4)


def test_time_ratios_are_those_of_the_fastest_and_the_slowest():
    result = made_up()
    middle = result.scan[HMC]["10"]._replace(seconds=[3.8e-3] * 2)
    result = result._replace(scan=result.scan | {HMC: {"15": middle} | result.scan[HMC]})
    (claim,) = [c for c in table1.CLAIMS if c.what == f"time of {GIBBS} / {HMC}"]
    ours = claim.ours(result)
    assert isinstance(ours, Scan)
    assert ours.settings == ("10 / 10", "10 / 20", "20 / 10", "20 / 20")
    # rounding of quotients
    assert [m.value for m in ours.found] == pytest.approx(
        [1.9 / 3.6, 1.9 / 3.96, 2.09 / 3.6, 2.09 / 3.96], rel=1e-12)


def test_shorter_budgets_make_no_claim_on_printed_numbers():
    for budget in ("smoke", "short"):
        made = judge(table1.CLAIMS, made_up(), budget)
        assert {f.claim.kind for f in made} <= {"order", "ours"}


# What is run


class Recorder:
    """Stands for an experiment: made-up pilots, chains and times, and what was asked for."""

    def __init__(self, budget):
        self.budget, self.seed, self.calls = budget, 5, {}

    def replicates(self, function, tasks, unit, note=None, warm=None):
        self.calls.setdefault(function.__name__, []).extend(tasks)
        assert warm is not None
        if function.__name__ == "pilots":
            return [{"pilots": [self.pilot(task, s) for s in task["settings"]]} for task in tasks]
        if function.__name__ == "clock":
            return [{"seconds": {row: [1.0 + k] * 2 for k, row in enumerate(tasks[0]["rows"])}}]
        done = [self.chain(**task) for task in tasks]
        assert note(done).startswith("acceptance rate 0.")
        return done

    @staticmethod
    def pilot(task, setting):
        """Let the smallest L be the best, but for one rate that is out of range."""
        steps = setting.get("L", setting.get("L_theta"))
        return {"setting": setting, "AP": [0.8 if steps > 2 else 0.5], "ess": {"phi": 1.0 / steps},
                "cost": 1.0 + setting.get("eps_phi", 0.0)}

    @staticmethod
    def chain(method, setting, pieces, seed, **_):
        number = 1.0 + seed[1] % 100 + 0.1 * seed[2]
        names = ("v", "x", "v ours", "v squares", "x squares", "mean", "square", "variance",
                 "x mean", "se")
        return {name: [number] * pieces for name in names} | {
            "AP": [0.8] * pieces, "divergences": [0] * pieces, "counts": {"gradient": 10.0}}


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = table1.run(experiment, None)
    n, burn_in = table1.LENGTH[budget]
    chains = experiment.calls["one_chain"]
    assert {(task["n"], task["burn_in"]) for task in chains} == {(n, burn_in)}
    assert len({tuple(task["seed"]) for task in chains}) == len(chains)
    if budget == "paper":
        assert (n, burn_in) == (5000, 1000)
        own = [task for task in chains if task["pieces"] == table1.CHAINS[budget][1]]
        assert len(own) == 4 * 10 + 20  # at least ten independent runs of a row; of HMC twenty
    for k, row in enumerate(table1.ROWS):
        tried = result.tried[row] if row in METHODS else result.tried["readings"][:1]
        assert result.rows[row].setting in [p["setting"] for p in tried]
        mine = [t for t in chains if t["seed"][1] == 100 + k]
        assert {t["method"] for t in mine} == {row if row in METHODS[:2] else SSHMC}
        assert {t["mass"] for t in mine} == {"n/2 + 1/9" if row == BETTER else "n + 1/9"}
        values = [1 + k + 0.1 * chain for chain in range(len(mine))]
        assert result.rows[row].v.value == pytest.approx(np.mean(values))
        assert result.rows[row].seconds == [1.0 + k] * 2
    assert set(result.scan) == set(METHODS)
    timed = experiment.calls["clock"][0]["rows"]
    assert list(timed)[:5] == list(table1.ROWS) and timed[BETTER][1] == "n/2 + 1/9"
    assert len(timed) == 5 + sum(map(len, result.scan.values()))
    assert all(found.setting == timed[f"{row}, {key}"][2]
               for row in METHODS for key, found in result.scan[row].items())


def test_the_readings_are_compared_where_it_says():
    experiment = Recorder("smoke")
    result = table1.run(experiment, None)
    assert [(p["setting"]["eps_phi"], p["setting"]["L"]) for p in result.tried["readings"]] == [
        (0.2, 200)] * 3
    assert {p["setting"]["n_phi"] for p in result.tried["steps"]} == {1, 2}
    assert {p["setting"]["n_phi"] for p in result.tried[SSHMC]} == {1}


def test_the_table_and_the_figure_show_print_and_ours():
    result = made_up()
    text = table1.table(result)
    for words in ("115.35", "3868.79", "0.72", "halves: 0.820; one each: 0.370; two each: 0.360",
                  "the same, n/2 + 1/9", "4000 (40)", "RMHMC(Gibbs): 20"):
        assert words in text
    # 5000 times the mean of 2090 and 2092.09 millionths of a second
    (gibbs,) = [line for line in text.splitlines() if line.startswith(f"{GIBBS}: 20")]
    assert gibbs.split()[4:6] == ["10", "1054"]
    fig = table1.figure(result._replace(n=1000))
    left, right = fig.axes
    assert left.get_xlabel() == "effective draws of $v$ in 1000"
    assert [t.get_text() for t in left.get_yticklabels()] == list(table1.ROWS)
    assert {t.get_text() for t in left.get_legend().get_texts()} == {
        "the paper's estimator", "long runs", "paper"}
    assert len(right.get_lines()) == 3
    wanted = []  # of each row: the paper's estimator, long runs (pieces of five), print
    for k, row in enumerate(table1.ROWS):
        found = result.rows[row]
        wanted += [(found.v.value, k), (found.v_long.value, k + 0.2)]
        wanted += [(number("Table 1", row, "v"), k - 0.2)] if row in METHODS else []
    for bar, (value, place) in zip(left.containers, wanted, strict=True):
        point, _, (ends,) = bar.lines
        assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx((value, place))
        if bar.get_label() != "paper" and point.get_marker() != "D":
            reach = ends.get_segments()[0][:, 0]
            assert reach == pytest.approx([0.98 * value, 1.02 * value])  # 2 standard errors
    plt.close(fig)
