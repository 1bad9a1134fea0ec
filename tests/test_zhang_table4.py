"""Table 4 of Zhang and Sutton: each claim on results whose truth is known, and what is run."""

import math

import numpy as np
import pytest

from algorithms.zhang_sshmc import H2
from judging import replaced, verdicts
from models import interface
from reproduce import zhang_table4 as table4
from reproduce.harness.claims import BUDGETS, Measured, Scan
from reproduce.harness.style import plt
from reproduce.zhang import cox
from reproduce.zhang.cox import GRIDS, ROWS, problem, start
from reproduce.zhang.datasets import GRID
from reproduce.zhang.printed import GIBBS, HMC, SSHMC, number

UNIT, PIXEL, RIVAL, RIVAL_PIXEL = (f"{method}, {distance}" for method in (SSHMC, GIBBS)
                                   for distance in ("unit", "pixel"))
LINEAGE = f"{GIBBS}, unit, the lineage's steps"


def estimates(method, seconds, AP=(0.8,), **changed):
    """Return estimates with the ESS that print has, and errors of a hundredth."""
    ess = {column: Measured(math.log(changed.get(column, number("Table 4", method, column))), 0.01)
           for column in table4.COLUMNS}
    return cox.Estimates(
        [Measured(rate, 0.001) for rate in AP], 0, ess,
        {"x": Measured(5.0, 0.1), "beta": Measured(4.0, 0.1)},
        [Measured(0.0, 0.01), Measured(-1.0, 0.01)], [Measured(0.6, 0.01), Measured(0.6, 0.01)],
        [], [[3.9] * 1024] * 2, [[0.6 * x, 0.6 * x - 1.0] for x in (1.0, -1.0, 1.5, -1.5)],
        [[0.06, 0.06]] * 4, 5000, {"L": 10}, [seconds, 1.001 * seconds])


def made_up():
    """Return a result with which every claim agrees."""
    rows = {UNIT: estimates(SSHMC, 0.01), RIVAL: estimates(GIBBS, 0.01, (0.8, 0.75)),
            PIXEL: estimates(SSHMC, 0.01), RIVAL_PIXEL: estimates(GIBBS, 0.01, (0.8, 0.75)),
            table4.OURS: estimates(SSHMC, 0.009),
            HMC: estimates(SSHMC, 0.1)._replace(n=500)}
    scan = {f"{SSHMC}, unit, seed 2": estimates(SSHMC, 0.01),
            f"{GIBBS}, unit, seed 2": estimates(GIBBS, 0.01, (0.8, 0.75)),
            LINEAGE: estimates(GIBBS, 0.01, (1.0, 1.0))}
    pilot = {"setting": {"L": 10}, "AP": [0.8], "ess": {"phi": 3.0}, "cost": 7.0}
    moved = dict.fromkeys(("unit", "pixel"), Measured(0.005, 0.0005))
    return table4.Table4(rows, scan, moved, {name: [pilot] for name in rows})


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    found = verdicts(table4, made_up())
    assert {what for what, verdict in found.items() if verdict != "agrees"} == {
        claim(GIBBS, "min"), claim(GIBBS, "beta")}
    # an ESS below 159 cannot tell a factor of three, nor can the means of four runs
    assert set(found.values()) == {"agrees", "too weak"}


def everywhere(method, change):
    """Make a function that changes all estimates of a method on either distance."""
    def change_some(some):
        return {name: change(found) if name.startswith(f"{method}, ") else found
                for name, found in some.items()}
    return lambda result: result._replace(rows=change_some(result.rows),
                                          scan=change_some(result.scan))


def ess(method, column, factor):
    return everywhere(method, lambda found: found._replace(
        ess=found.ess | {column: found.ess[column] + math.log(factor)}))


def slower(method, factor):
    return everywhere(method, lambda found: found._replace(
        seconds=[factor * s for s in found.seconds]))


def of_row(name, *place):
    return lambda result: replaced(result, ["rows", name, *place[:-1]], place[-1])


def claim(method, column):
    printed = number("Table 4", method, column)
    what = f"x, {column}" if column in ("min", "med", "max") else column
    return f"{method}: log(ESS of {what} / {printed:g})"


def whole(method):
    """All claims on a row of the table, which are judged together."""
    return [f"{method}: its printed ESS together", *(claim(method, c) for c in table4.COLUMNS)]


AHEAD = "log(worst ESS per second, SSHMC / RMHMC(Gibbs))"
SIX = f"{AHEAD} - log 6"
LONG = "beta: log(ESS per second, L = 40 / 10)"
TIME = "time of a transition, RMHMC(Gibbs) / SSHMC"
SLOW = [f"{name}: log(ESS per second, SSHMC / HMC)" for name in ("sigma", "beta")]
LOW = "x: log(min ESS of x, SSHMC / RMHMC(Gibbs))"
SIGMA, SIGMA_RIVAL = (f"{method}: log(ESS, sigma / beta)" for method in (SSHMC, GIBBS))
CREDULOUS = "HMC: log((error of the mean of log beta / its s.e. by the run's own ESS)^2)"
STABLE = "H_1: log(largest stable step, at the mean of phi / 2 deviations up in log sigma^2)"
MOVED = {
    **{f"acceptance of {name}": (of_row(name, "AP", [Measured(0.6, 0.001)]),
                                 [f"{name}: acceptance rate"]) for name in (UNIT, PIXEL)},
    **{f"acceptance of {block}, {name}": (
        of_row(name, "AP", [Measured(0.9 if k == j else 0.8, 0.001) for j in (0, 1)]),
        [f"{name}: acceptance rate of {block}"])
       for name in (RIVAL, RIVAL_PIXEL) for k, block in enumerate(("x", "phi"))},
    "median": (ess(SSHMC, "med", 1.6), whole(SSHMC)),
    "maximum": (ess(SSHMC, "max", 0.6), whole(SSHMC)),
    "minimum": (ess(SSHMC, "min", 2.5), whole(SSHMC)),
    "the rival's median": (ess(GIBBS, "med", 0.5), whole(GIBBS)),
    "the rival's maximum": (ess(GIBBS, "max", 1.5), whole(GIBBS)),
    "the rival's minimum": (ess(GIBBS, "min", 20.0), [*whole(GIBBS), LOW]),
    "the rival's sigma": (ess(GIBBS, "sigma", 4.0), whole(GIBBS)),
    "the rival is worse": (ess(GIBBS, "beta", 0.05), [*whole(GIBBS), SIX]),
    "the rival is slower": (slower(GIBBS, 20), [TIME, SIX]),
    "the rival is faster": (slower(GIBBS, 0.05), [TIME, SIX, AHEAD]),
    "SSHMC is slower than HMC": (slower(SSHMC, 1e6), [TIME, SIX, AHEAD, *SLOW]),
    "HMC": (of_row(HMC, "seconds", [1e-6, 1e-6]), SLOW),
    "HMC's beta": (of_row(HMC, "means", [[0.7, -0.9999], [0.7, -1.0001]] * 2),
                   [SLOW[1], CREDULOUS]),
    "HMC is modest": (of_row(HMC, "means_se", [[60.0, 60.0]] * 4), [CREDULOUS]),
    "sigma hardly varies": (of_row(UNIT, "sd", [Measured(0.02, 0.01)] * 2), [
        STABLE]),
    "longer trajectories": (of_row(table4.OURS, "ess", "beta", Measured(5.0, 0.01)), [LONG]),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_is_moved_changes_its_claims_and_no_other(name):
    change, wanted = MOVED[name]
    before, after = verdicts(table4, made_up()), verdicts(table4, change(made_up()))
    changed = [what for what in before if before[what] != after[what]]
    assert sorted(changed) == sorted(wanted)
    assert {after[what] for what in wanted} <= {"differs", "every setting differs"}


def test_the_ess_of_sigma_is_told_to_a_third():
    for factor, verdict in ((1.1, "agrees"), (1.5, "every setting differs")):
        result = ess(SSHMC, "sigma", factor)(made_up())
        assert verdicts(table4, result)[claim(SSHMC, "sigma")] == verdict


def test_sigma_behind_beta_differs():
    for name, what, method in ((UNIT, SIGMA, SSHMC), (RIVAL, SIGMA_RIVAL, GIBBS)):
        result = made_up()
        result = of_row(name, "ess", "beta", result.rows[name].ess["sigma"] + 1.0)(result)
        assert verdicts(table4, result)[what] == "differs", method


def test_a_row_has_one_distance_and_an_order_all():
    result = of_row(PIXEL, "ess", "sigma", Measured(3.0, 0.01))(made_up())
    assert verdicts(table4, result)[claim(SSHMC, "sigma")] == "agrees"  # the unit square has it
    result = replaced(result, ["scan", LINEAGE, "seconds"], [1e-6, 1e-6])
    assert verdicts(table4, result)[AHEAD] == "not specified"


def test_the_rival_is_compared_on_its_own_distance_and_data():
    result = made_up()
    scan = table4.CLAIMS[[c.what for c in table4.CLAIMS].index(AHEAD)].ours(result)
    assert isinstance(scan, Scan)
    assert scan.settings == ("unit", "pixel", "unit, seed 2", "unit, the lineage's steps")
    worst = math.log(number("Table 4", SSHMC, "beta") / number("Table 4", GIBBS, "beta"))
    assert [m.value for m in scan.found] == pytest.approx([worst] * 4)
    result = replaced(result, ["scan", f"{SSHMC}, unit, seed 2", "seconds"], [0.02, 0.02002])
    scan = table4.CLAIMS[[c.what for c in table4.CLAIMS].index(AHEAD)].ours(result)
    assert scan.found[2].value == pytest.approx(worst - math.log(2))


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
        assert cox.largest_stable(found, "unit", above) == pytest.approx(2 / largest**0.5)


def test_the_table_and_the_figure_show_every_row():
    result = made_up()
    text = table4.table(result)
    for name in [*result.rows, *result.scan, f"{SSHMC}, paper"]:
        assert any(line.startswith(name) for line in text.splitlines())
    short = {name: found._replace(n=250) for name, found in result.rows.items()}
    fig = table4.figure(result._replace(rows=short))
    assert {ax.get_xlabel() for ax in fig.axes[:2]} == {"ESS of 250, the paper's estimator"}
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == [
        "unit", "pixel", "unit, L = 40", "unit, seed 2"]
    for ax, method in zip(fig.axes, table4.METHODS, strict=False):
        assert ax.get_title() == method
        sigma, beta = (number("Table 4", method, column) for column in ("sigma", "beta"))
        lines = [line for line in ax.get_lines() if line.get_label().endswith("paper")]
        assert [line.get_xdata()[0] for line in lines] == [sigma, beta]
        assert [line.get_label() for line in lines] == [r"$\sigma$, paper", r"$\beta$, paper"]
        points = [bar.lines[0] for bar in ax.containers]
        half = len(points) // 2
        for kind, line in ((points[:half], lines[0]), (points[half:], lines[1])):
            for k, point in enumerate(kind):
                # all that is made up is as printed
                assert point.get_xdata()[0] == pytest.approx(line.get_xdata()[0], rel=1e-12)
                assert round(float(point.get_ydata()[0])) == k
                assert point.get_color() == line.get_color()
    plt.close(fig)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_run_puts_times_and_estimates_together(budget, monkeypatch):
    done = {name: estimates(SSHMC, 0.0)._replace(setting=name) for name in ROWS}
    row = cox.Row(SSHMC, "unit", cox.ONE)
    monkeypatch.setattr(cox, "run_pilots", lambda experiment, *_: {(SSHMC, "unit"): ["pilots"]})
    monkeypatch.setattr(cox, "rows_of", lambda tried: {name: (row, name) for name in ROWS})
    monkeypatch.setattr(cox, "scan_of", lambda tried: {"more": (row, "more")})
    monkeypatch.setattr(cox, "without_jitter", lambda tried: {})
    monkeypatch.setattr(cox, "run_rows", lambda experiment, wanted, *_: {
        name: done.get(name, done[UNIT]) for name in wanted})
    asked = []

    def replicates(function, tasks, unit, warm):
        asked.extend(tasks)
        if function is table4.clock:
            return [{"seconds": {name: [k] for k, name in enumerate(tasks[0]["rows"])}}]
        return [{"square": k + j} for j in (0.0, 10.0) for k in range(4)]

    found = table4.run(type("Experiment", (), {
        "budget": budget, "seed": 1, "replicates": staticmethod(replicates)}), None)
    assert found.rows == {name: done[name]._replace(seconds=[k]) for k, name in enumerate(ROWS)}
    assert found.scan == ({} if budget == "smoke" else {
        "more": done[UNIT]._replace(seconds=[len(ROWS)])})
    assert found.tried == {f"{SSHMC}, unit": ["pilots"]}
    assert [m.value for m in found.moved.values()] == [1.5, 11.5]
    timed, *asked = asked
    assert timed["rows"][UNIT] == [SSHMC, cox.OWN, "unit", UNIT]
    assert [task["distance"] for task in asked] == ["unit"] * 4 + ["pixel"] * 4
    assert [task["setting"] for task in asked] == [UNIT] * 4 + [PIXEL] * 4
    assert len({str(task["seed"]) for task in asked}) == 8


def test_the_settings_in_pixels_are_run_without_jitter():
    tried = {key: [{"setting": {"eps_theta": eps, "eps_phi": 0.1, "jitter": 0.2, "L": 10},
                    "AP": [rate], "ess": {"phi": 10 * eps}, "cost": 1.0}
                   for eps, rate in ((0.1, 0.8), (0.2, 0.8), (0.3, 0.5))] for key in GRIDS}
    found = cox.without_jitter(tried)
    assert sorted(found) == sorted(f"{method}, pixel, eps_theta = {eps}, no jitter"
                                   for method in (SSHMC, GIBBS) for eps in (0.1, 0.2))
    for name, (row, setting) in found.items():
        assert (row.method, row.distance) == tuple(name.split(", ")[:2])
        assert f"eps_theta = {setting['eps_theta']}," in name and setting["jitter"] == 0
        assert row.chains == {"paper": 1, "short": 1, "smoke": 1}


def test_jumps_are_those_of_log_sigma_squared(monkeypatch):
    path = np.array([[0.0, 9.0], [1.0, 9.0], [1.5, 8.0], [1.5, 7.0], [3.5, 0.0]])
    monkeypatch.setattr(table4, "transitions", lambda method, x, phi, model, setting, n,
                        rng: type(
        "Chain", (), {"phi": path[:n]}))
    found = table4.jumps(f"{GRID}3 x 3, unit, seed 1", "unit", {}, 3, 2, [0])
    assert found == {"n": 3, "square": (0.5**2 + 0 + 2**2) / 3}


def test_the_most_is_that_of_a_chain_that_forgets_by_a_constant_factor():
    # x' = a x + noise is reversible, with tau = (1 + a) / (1 - a) and moves of 2 v^2 (1 - a)
    for a, v in ((0.9, 2.0), (0.1, 0.3)):
        square = 2 * v**2 * (1 - a)
        value, se = cox.largest_ess(Measured(square, 0.01 * square), Measured(v), 1000)
        assert value == pytest.approx(1000 * (1 - a) / (1 + a), rel=1e-12)
        assert se > 0
    assert cox.largest_ess(Measured(4.1), Measured(1.0), 1000) == (1000, 0)


def test_given_x_and_r_log_sigma_squared_hardly_moves():
    model, phi = problem(f"{GRID}16 x 16, unit, seed 1", "unit")
    rng = np.random.default_rng(3)
    Theta = interface.precompute_theta(start(phi, model, rng), model)
    r = interface.momentum_theta(rng.standard_normal(256), interface.precompute_phi(phi, model),
                                 model)
    s = phi[0] + np.linspace(-0.5, 0.5, 2001)
    energy = np.array([interface.U(np.array([each, phi[1]]), H2(model, Theta, r)) for each in s])
    w = np.exp(energy.min() - energy)
    w /= w.sum()
    # x'C^-1 x and r'C r scatter by (2 / 256)^1/2 of themselves, their root by half of both
    assert np.sqrt((s - s @ w) ** 2 @ w) == pytest.approx(256**-0.5, rel=0.12)
