"""Table 1 of Zhang and Sutton: chains on the funnel, their estimates, and each claim."""

import numpy as np
import pytest
from scipy.stats import norm

import studies
from algorithms.zhang_sshmc import Counts
from judging import check_labels, check_moves, known, put, read_table, replaced, slower
from reproduce import zhang_table1 as table1
from reproduce.harness.claims import BUDGETS, Measured, mean
from reproduce.zhang import funnel
from reproduce.zhang.estimates import Blocks, summary
from reproduce.zhang.funnel import READINGS, grid, mse_deviate, reading, sshmc_setting, steps
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, number
from zhang_claims import common, printed_ess, runs

FIXED, BETTER = table1.FIXED, table1.BETTER
SETTINGS = {HMC: {"eps": 0.03, "L": 3},
            GIBBS: dict(eps_theta=0.5, eps_phi=1.9, L_theta=2, L_phi=1),
            SSHMC: dict(eps_theta=0.1, eps_phi=0.2, L=5, n_theta=2, n_phi=1)}


def estimates(AP, v, x, long, seconds, passes, setting, mse=(1.5, 9.0, 5.0)):
    return funnel.Estimates([Measured(rate, 0.001) for rate in AP], known(x), known(v),
                            known(long), *map(known, mse), known(7.0), passes, setting,
                            {"min": runs(x), "v": runs(v)}, [seconds, seconds * 1.001])


def made_up():
    one, small = sshmc_setting(2, 1, 2, 0.2, 200), (0.006, 0.1, 0.1)
    ours = estimates([0.8], 1500, 4000, 1400, 5e-5, 1400, one, small)
    rows = {HMC: estimates([0.75], 20, 150, 3, 4e-5, 200, {"eps": 0.1, "L": 200}),
            GIBBS: estimates([0.78, 0.74], 15, 2000, 4, 1e-5, 5, SETTINGS[GIBBS]), SSHMC: ours,
            FIXED: ours, BETTER: estimates([0.8], 3000, 4000, 3000, 5e-5, 1400, one, small)}
    slow = {HMC: 3.6e-3, GIBBS: 1.9e-3, SSHMC: 2.8e-3}
    scan = {row: {key: estimates([0.8], number("Table 1", row, "v"), number("Table 1", row, "min"),
                                 5, factor * slow[row], 100, {"steps": key}, [
                                     number("Table 1", row, column) for column in
                                     ("mse_1", "mse_2", "mse_2")])
                  for key, factor in (("10", 1.0), ("20", 1.1))} for row in METHODS}
    pilots = [{"setting": sshmc_setting(n_theta, 1, ratio, 0.2, 200), "AP": [rate],
               "ess": {"phi": 1.0}, "cost": 1.0}
              for (n_theta, ratio), rate in zip(READINGS.values(), (0.82, 0.37, 0.36), strict=True)]
    steps = [{"setting": sshmc_setting(n_theta, n_phi, 2, 0.2, 9), "AP": [0.8],
              "ess": {"phi": ess, "theta": 99.0}, "cost": 1.0}
             for n_theta, n_phi, ess in ((1, 1, 1.0), (2, 1, 2.0), (1, 2, 1.5))]
    return funnel.Table1(5000, {row: pilots for row in rows} | {"readings": pilots, "steps": steps},
                         rows, scan)


# 4 standard errors of an ESS of 12 / (log(3) / 4)^2 = 159 are a factor of three, ours of ten runs
WEAK = [printed_ess("Table 1", row, column) for row in METHODS for column in ("min", "v")
        if number("Table 1", row, column) < 1.1 * 159]
SILENT = f"{HMC}: its printed ESS together"
APPARENT = "v: least log(ESS per second, SSHMC / another), the paper's estimator"
WORTH = "v: least log(ESS per second, SSHMC / another), long runs"
SIX = "the six printed MSE together"
LEAPFROG = "log(time of a leapfrog, HMC / SSHMC)"
MASS = "v: log(ESS, mass n/2 + 1/9 / n + 1/9)"
BOUND = f"{GIBBS}: ESS of v of 5000 draws, long runs"


def honest(row):
    return f"{row}: log(ESS of v, the paper's estimator / long runs)"


def low(other, unit):
    return f"x: log(min ESS per {unit}, {GIBBS} / {other})"


MOVED = {
    **common("Table 1", ("min", "v"), 500, {HMC: 2.7, SSHMC: 2.7}, "xv"),
    "SSHMC has hardly an error": (put("rows", SSHMC, "mse_mean", known(1e-3)), [SIX]),
    "the paper has hardly one": (lambda r: r._replace(rows=r.rows | {row: r.rows[row]._replace(
        mse_mean=known(mse), mse_square=known(mse)) for row, mse in zip(
            METHODS, (1e3, 1e3, 1.1e3), strict=True)}), [
        SIX, *(f"least log(MSE of {what}, another / SSHMC)" for what in ("E[v]", "E[v^2]"))]),
    "SSHMC takes twice as long, as Table 1 implies": (slower(SSHMC, 2), []),
    "Gibbs mixes x no better": (put("rows", GIBBS, "x", known(7.0)), [
        low(HMC, "second"), low(SSHMC, "second"), low(SSHMC, "gradient")]),
    "Gibbs needs many gradients": (put("rows", GIBBS, "passes", 1e4), [
        low(HMC, "gradient"), low(SSHMC, "gradient")]),
    "SSHMC mixes x ever so well": (put("rows", SSHMC, "x", known(1e6)),
                                   [low(SSHMC, "second"), low(SSHMC, "gradient")]),
    "SSHMC needs few gradients": (put("rows", SSHMC, "passes", 7.0), [low(SSHMC, "gradient")]),
    "SSHMC looks bad": (put("rows", SSHMC, "v", known(20.0)), [APPARENT, honest(SSHMC)]),
    "SSHMC is bad": (put("rows", SSHMC, "v_long", known(3.0)), [WORTH, honest(SSHMC)]),
    "SSHMC is slow": (put("rows", SSHMC, "seconds", [0.1, 0.1]), [APPARENT, WORTH, LEAPFROG]),
    "HMC is good": (put("rows", HMC, "v_long", known(3000.0)), [WORTH, honest(HMC)]),
    "Gibbs is modest": (put("rows", GIBBS, "v", known(3.0)), [honest(GIBBS)]),
    "Gibbs is good": (put("rows", GIBBS, "v_long", known(6.0)), [BOUND]),
    "Gibbs is biased no more": (put("rows", GIBBS, "error", known(0.5)), [
        f"{GIBBS}: (error of the mean of v / its s.e. by the run's own ESS)^2"]),
    "HMC is honest": (put("rows", HMC, "error", known(0.5)), [
        f"{HMC}: (error of the mean of v / its s.e. by the run's own ESS)^2"]),
    **{f"Gibbs has the MSE of {what}": (put("rows", GIBBS, name, known(1e-3)),
                                        [f"least log(MSE of {what}, another / SSHMC)",
                                         *[SIX] * (name != "mse_variance")])
       for what, name in table1.MSE.items()},
    "the mass makes it worse": (put("rows", BETTER, "v", known(900.0)), [MASS]),
    "single steps are best": (put("tried", "steps", 0, "ess", {"phi": 9.0}), [
        "log(worst ESS per gradient, several leapfrogs / one of each)"]),
    "the readings are the same": (put("tried", "readings", 1, "AP", [0.8]), [
        "least gap of the acceptance rates of the three readings"]),
}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(table1, made_up(), MOVED, WEAK, [SILENT])


def test_squared_errors_of_runs_have_normal_deviates():
    deviate, total = mse_deviate([1.0, 3.0], [Measured(2.0, 0.2), Measured(1.0, 0.0)])
    # 3.5 of 2 degrees: exp(-3.5 / 2) is exceeded; 0.5 has an error of a tenth
    assert (total.value, total.se) == pytest.approx((3.5, 0.05))
    assert norm.sf(deviate.value) == pytest.approx(np.exp(-1.75), rel=1e-12)
    higher, _ = mse_deviate([1.0 + 2e-6, 3.0], [Measured(2.0), Measured(1.0)])
    assert deviate.se == pytest.approx(0.05 * (higher.value - deviate.value) / 1e-6, rel=1e-4)
    low, _ = mse_deviate([1.0, 0.0], [Measured(2.0), Measured(1.0)])  # 0.5 of 2 degrees
    assert norm.sf(low.value) == pytest.approx(np.exp(-0.25), rel=1e-12)


def test_times_are_those_of_the_settings_that_come_nearest_to_the_printed_ess():
    result = made_up()
    for row, key in ((HMC, "20"), (GIBBS, "10")):
        result = replaced(result, ["scan", row, key, "each", "v"], runs(1e5))
    (claim,) = [c for c in table1.CLAIMS if c.what == f"time of {GIBBS} / {HMC}"]
    ours = claim.ours(result)
    assert ours.settings == ("20 / 10",)
    assert ours.found[0].value == pytest.approx(1.1 * 1.9 / 3.6, rel=1e-12)  # rounding


class Recorder(studies.Recorder):
    def made(self, function, tasks):
        if function is table1.pilots:
            return [{"pilots": [self.pilot(s) for s in task["settings"]]} for task in tasks]
        if function is table1.clock:
            return [{"seconds": {row: [1.0 + k] * 2 for k, row in enumerate(tasks[0]["rows"])}}]
        return [self.chain(**task) for task in tasks]

    def pilot(self, setting):
        # the smallest L is the best, but for one rate that is out of range
        steps = setting.get("L", setting.get("L_theta"))
        return {"setting": setting, "AP": [0.8 if steps > 2 else 0.5], "ess": {"phi": 1.0 / steps},
                "cost": 1.0 + setting.get("eps_phi", 0.0)}

    def chain(self, pieces, seed, **_):
        return {name: [1.0 + seed[1] % 100 + 0.1 * seed[2]] * pieces
                for name in ("v", "x", "mean", "square", "variance", "se")} | {
            "AP": [0.8] * pieces, "counts": {"gradient": 10.0}}


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = table1.run(experiment, None)
    n, burn_in = table1.LENGTH[budget]
    *_, (_, chains), (_, (timing,)) = experiment.calls
    assert {(task["n"], task["burn_in"]) for task in chains} == {(n, burn_in)}
    assert len({tuple(task["seed"]) for task in chains}) == len(chains)
    if budget == "paper":  # at least ten independent runs of a row; of HMC twenty
        assert (n, burn_in) == (5000, 1000)
        assert sum(task["pieces"] == table1.CHAINS[budget][1] for task in chains) == 4 * 10 + 20
    for k, row in enumerate(table1.ROWS):
        tried = result.tried[row] if row in METHODS else result.tried["readings"][:1]
        assert result.rows[row].setting in [p["setting"] for p in tried]
        mine = [t for t in chains if t["seed"][1] == 100 + k]
        assert {t["method"] for t in mine} == {row if row in METHODS[:2] else SSHMC}
        assert {t["mass"] for t in mine} == {"n/2 + 1/9" if row == BETTER else "n + 1/9"}
        assert result.rows[row].v.value == pytest.approx(1 + k + 0.05 * (len(mine) - 1))
        assert result.rows[row].seconds == [1.0 + k] * 2
    assert set(result.scan) == set(METHODS)
    assert [(p["setting"]["eps_phi"], p["setting"]["L"]) for p in result.tried["readings"]] == [
        (0.2, 200)] * 3
    assert {reading(result.rows[row].setting) for row in (FIXED, BETTER)} == {"halves"}
    assert {p["setting"]["n_phi"] for p in result.tried["steps"]} == {1, 2}
    assert {p["setting"]["n_phi"] for p in result.tried[SSHMC]} == {1}
    timed = timing["rows"]
    assert list(timed)[:5] == list(table1.ROWS) and timed[BETTER][1] == "n/2 + 1/9"
    assert len(timed) == 5 + sum(map(len, result.scan.values()))
    assert all(found.setting == timed[f"{row}, {key}"][2]
               for row in METHODS for key, found in result.scan[row].items())


def test_the_report_and_the_figure_show_print_and_ours():
    result = made_up()
    text = table1.table(result)
    assert "L = 200\nhalves: 0.820; one each: 0.370; two each: 0.360" in text
    # 5000 times the mean of 2090 and 2092.09 millionths of a second
    (gibbs,) = [line for line in text.splitlines() if line.startswith(f"{GIBBS}: 20")]
    assert gibbs.split()[4:6] == ["10", "1054"]
    own = read_table(text)[3 + METHODS.index(GIBBS)]
    assert [cell.split()[0] for cell in own.values()] == [
        GIBBS, "0.7800", "0.05", "2000", "4e+04", "15.00", "4.000", "1.500", "9.000", "5.000"]
    assert list(own)[2:] == ["seconds", "min ESS x", "min ESS/s", "ESS v", "ESS v, long",
                             "MSE E[v]", "MSE E[v^2]", "MSE Var(v)"]
    result = replaced(result, ["rows", BETTER, "v_long"], Measured(10.0, 8.0))
    axes = table1.figure(result._replace(n=1000)).axes
    check_labels(axes, ("effective draws of $v$ in 1000", ""), (
        "acceptance rate", "worst ESS per million gradients"))
    left, right = axes
    for line, row in zip(right.lines, METHODS, strict=True):
        assert (line.get_label(), line.get_xdata().tolist()) == (
            row, [np.mean(each["AP"]) for each in result.tried[row]])
    assert [t.get_text() for t in left.get_yticklabels()] == list(table1.ROWS)
    assert [bar.get_label() for bar in left.containers[:3]] == [
        "the paper's estimator", "long runs", "paper"]
    wanted = []  # of each row: the paper's estimator, long runs (pieces of five), print
    for k, (row, found) in enumerate(result.rows.items()):
        wanted += [(found.v.value, k), (found.v_long.value, k + 0.2)]
        wanted += [(number("Table 1", row, "v"), k - 0.2)] if row in METHODS else []
    for bar, (value, place) in zip(left.containers, wanted, strict=True):
        point, _, (ends,) = bar.lines
        assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx((value, place))
        if point.get_marker() != "D":
            # 2 standard errors; on a logarithmic scale never to 0
            assert ends.get_segments()[0][:, 0] == pytest.approx(
                [1.0, 26.0] if value == 10.0 else [0.98 * value, 1.02 * value])


def test_exact_draws_are_the_funnels():
    x, v = funnel.exact_draw(np.random.default_rng(1), 4)
    z = np.random.default_rng(1).standard_normal(5)
    np.testing.assert_allclose(v, 3 * z[:1], rtol=1e-14)  # of variance 9
    np.testing.assert_allclose(x, np.exp(-v / 2) * z[1:], rtol=1e-14)  # of variance e^-v


@pytest.mark.parametrize("method", METHODS)
def test_a_chain_goes_on_from_piece_to_piece(method):
    words, mass = ("n/2 + 1/9", 50) if method == SSHMC else ("n + 1/9", 100)
    found = table1.one_chain(method, words, SETTINGS[method], pieces=3, n=12, burn_in=5,
                             seed=[1, 2])
    rng = np.random.default_rng([1, 2])
    model = table1.Funnel.from_size(100, mass + 1 / 9)
    theta, phi = funnel.exact_draw(rng)
    parts = []
    for length in (5, 12, 12, 12):
        parts.append(table1.transitions(method, theta, phi, model, SETTINGS[method], length, rng))
        theta, phi = parts[-1].theta[-1], parts[-1].phi[-1]
    for k, part in enumerate(parts[1:]):
        s, v = summary(part, 0), part.phi[:, 0]
        wanted = {"AP": s["AP"], "divergences": part.divergences, "v": s["phi"]["lineage"][0],
                  "x": s["theta"]["lineage"][0], "v ours": s["phi"]["ours"][0],
                  "v squares": s["phi"]["squares"][0], "x squares": s["theta"]["squares"][0],
                  "mean": v.sum() / 12, "square": v @ v / 12,
                  "variance": np.sum((v - v.mean()) ** 2) / 11,
                  "x mean": np.sum(part.theta.mean(0) ** 2) / 100,
                  "se": (np.sum((v - v.mean()) ** 2) / 12 / s["phi"]["lineage"][0]) ** 0.5}
        for name, value in wanted.items():
            # rounding of sums of 12 and of 100 terms
            np.testing.assert_allclose(found[name][k], value, rtol=1e-12, atol=0)
    # of the three pieces, without the burn-in
    total = {name: sum(summary(part, 0)["counts"][name] for part in parts[1:])
             for name in found["counts"]}
    assert found["counts"] == total and len(found["v"]) == 3


def test_the_ess_of_x_is_the_lineages():
    back = np.resize([1.0, -1.0, 1.0, -1.0, 1.0], 30)[:, None]  # and forth: more than 30 by ours
    chain = Blocks(back, back, np.ones(30, bool), 0, Counts(1, 1, 1, 0))
    assert summary(chain, 0)["theta"]["ours"][0] > 30
    assert funnel.run_by_run(back, back, 2, 30, 0, lambda *_: chain)["x"] == [30.0] * 2


def made_chain(rng, pieces=12):
    return {name: (5 + rng.random(pieces)).tolist()
            for name in ("v", "x", "se", "variance", "square")} | {
        "AP": rng.random((pieces, 2)).tolist(), "mean": rng.normal(size=pieces).tolist(),
        "counts": {"gradient_theta": 600.0, "gradient_phi": 240.0, "factor": 9.0}}


def test_estimates_by_hand():
    rng = np.random.default_rng(3)
    chains = [made_chain(rng) for _ in range(3)]
    found = funnel.estimates(chains, 10, {}, [])

    def check(ours, measure):  # rounding of means of means
        assert ours == pytest.approx(mean(list(map(measure, chains))), rel=1e-12)

    for k in range(2):
        check(found.AP[k], lambda c, k=k: np.mean(c["AP"], axis=0)[k])
    for name in ("v", "x"):
        check(getattr(found, name), lambda c, name=name: sum(c[name]) / 12)
    for name, truth in (("mean", 0), ("square", 9), ("variance", 9)):
        check(getattr(found, f"mse_{name}"), lambda c, name=name, truth=truth: sum(
            (m - truth) ** 2 for m in c[name]) / 12)
    check(found.error, lambda c: sum((m / s) ** 2 for m, s in zip(
        c["mean"], c["se"], strict=True)) / 12)
    # two means of 5 pieces, the last two left over; each of 50 draws, asked for 10
    check(9 / 5 / found.v_long, lambda c: (
        np.mean(c["mean"][:5]) ** 2 + np.mean(c["mean"][5:10]) ** 2) / 2)
    assert found.passes == pytest.approx(840 / 12 / 10, rel=1e-12)
    too_few = [np.ones(2)] * 2  # for means of five
    assert np.isnan(funnel.long_run_ess(too_few)).all()
    assert np.isfinite(funnel.long_run_ess(too_few, 1).value)


def test_the_three_readings_of_the_same_step():
    made = {name: sshmc_setting(n_theta, 1, ratio, 0.2, 7)
            for name, (n_theta, ratio) in READINGS.items()}
    assert made == {
        "halves": dict(eps_theta=0.1, eps_phi=0.2, L=7, n_theta=2, n_phi=1),
        "one each": dict(eps_theta=0.2, eps_phi=0.2, L=7, n_theta=1, n_phi=1),
        "two each": dict(eps_theta=0.2, eps_phi=0.2, L=7, n_theta=2, n_phi=1)}
    for name, setting in made.items():
        assert reading(setting) == name and steps(SSHMC, setting) == f"{name}, 7"
    assert reading(made["halves"] | {"n_phi": 2}) is None
    assert reading(made["halves"] | {"eps_theta": 0.05}) is None
    # an ABLA step has the leapfrogs of theta twice, and those of phi once
    result = made_up()
    first = result.rows[SSHMC].setting
    assert (first["L"], first["n_theta"], first["n_phi"]) == (200, 2, 1)
    more = result.rows | {SSHMC: result.rows[SSHMC]._replace(setting=first | {"n_theta": 4})}
    assert (funnel.leapfrog_ratio(result._replace(rows=more)).value
            - funnel.leapfrog_ratio(result).value) == pytest.approx(np.log(9 / 5), rel=1e-12)
    # 8 leapfrogs of theta take four times as long as 2 of phi
    assert sshmc_setting(4, 2, 4, 0.2, 7)["eps_theta"] == pytest.approx(0.2, rel=1e-15)
    assert (steps(GIBBS, SETTINGS[GIBBS]), steps(HMC, SETTINGS[HMC])) == ("2 and 1", "3")
    for budget in BUDGETS:
        tried = grid(SSHMC, budget, readings=True)
        assert {reading(s) for s in tried} == set(READINGS)
        assert all(s in grid(SSHMC, budget) for s in tried)
