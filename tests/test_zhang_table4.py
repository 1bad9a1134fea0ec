"""Table 4 of Zhang and Sutton: each claim on results whose truth is known, and what is run."""

import math
import re

import numpy as np
import pytest

import studies
from judging import replaced, verdicts
from reproduce import zhang_table4 as table4
from reproduce.harness.claims import BUDGETS, Measured, Scan
from reproduce.harness.style import plt
from reproduce.zhang import cox
from reproduce.zhang.printed import GIBBS, HMC, SSHMC, number

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
        {column: [math.exp(each.value), 7.0 * k] for k, (column, each) in enumerate(ess.items())})


def made_up():
    """Return a result with which every claim agrees."""
    rows = {name: estimates(method, 0.01, (0.8, 0.75)[: 1 + (method == GIBBS)])
            for name, (method, _) in cox.ROWS.items()}
    scan = {f"{name}, eps = 0.1, 0.3": estimates(method, 0.01, n=2500)
            for name, (method, _) in cox.ROWS.items()}
    alone = {SSHMC: estimates(SSHMC, 0.01), HMC: estimates(SSHMC, 0.1, n=500)}
    return table4.Table4(rows, scan, alone)


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    found = verdicts(table4, made_up())
    assert {what for what, verdict in found.items() if verdict != "agrees"} == {
        claim(GIBBS, "min"), claim(GIBBS, "beta")}
    # an ESS below 159 cannot tell a factor of three, nor can the means of four runs
    assert set(found.values()) == {"agrees", "too weak"}


def test_the_ess_of_half_as_many_draws_counts_twice():
    half = estimates(SSHMC, 0.01, n=2500)
    assert half.ess["beta"].value == pytest.approx(math.log(135))
    assert cox.ess_of(half, "beta").value == pytest.approx(math.log(270))
    assert cox.per_second(half, "beta").value == pytest.approx(math.log(270 / 50.025), abs=1e-6)


def everywhere(method, change):
    """Make a function that changes all estimates of a method on either distance."""
    def change_some(some):
        return {name: change(found) if name.split(", ")[0] == method else found
                for name, found in some.items()}
    return lambda result: table4.Table4(*map(change_some, result))


def ess(method, column, factor):
    return everywhere(method, lambda found: found._replace(
        ess=found.ess | {column: found.ess[column] + math.log(factor)}))


def slower(method, factor):
    return everywhere(method, lambda found: found._replace(
        seconds=[factor * s for s in found.seconds]))


def of_row(*place):
    return lambda result: replaced(result, place[:-1], place[-1])


def claim(method, column):
    printed = number("Table 4", method, column)
    what = f"x, {column}" if column in ("min", "med", "max") else column
    return f"{method}: log(ESS of {what} / {printed:g})"


def whole(method):
    """All claims on a row of the table, which are judged together."""
    return [f"{method}: its printed ESS together", *(claim(method, c) for c in table4.COLUMNS)]


AHEAD = "log(worst ESS per second, SSHMC / RMHMC(Gibbs))"
SIX = f"{AHEAD} - log 6"
TIME = "time of a transition, RMHMC(Gibbs) / SSHMC"
SLOW = [f"{name}: log(ESS per second, SSHMC / HMC)" for name in ("sigma", "beta")]
LOW = [f"{distance}: log(min ESS of x, SSHMC / RMHMC(Gibbs))" for distance in cox.DATA]
CREDULOUS = "HMC: log((error of the mean of log beta / its s.e. by the run's own ESS)^2)"
STABLE = "H_1: log(largest stable step, at the mean of phi / 2 deviations up in log sigma^2)"
MOVED = {
    "median": (ess(SSHMC, "med", 1.6), whole(SSHMC)),
    "maximum": (ess(SSHMC, "max", 0.6), whole(SSHMC)),
    "minimum": (ess(SSHMC, "min", 2.5), whole(SSHMC)),
    "the rival's median": (ess(GIBBS, "med", 0.5), whole(GIBBS)),
    "the rival's maximum": (ess(GIBBS, "max", 1.5), whole(GIBBS)),
    "the rival's minimum": (ess(GIBBS, "min", 20.0), [*whole(GIBBS), *LOW]),
    "the rival's sigma": (ess(GIBBS, "sigma", 4.0), whole(GIBBS)),
    "the rival is worse": (ess(GIBBS, "beta", 0.05), [*whole(GIBBS), SIX]),
    "the rival is slower": (slower(GIBBS, 20), [TIME, SIX]),
    "the rival is faster": (slower(GIBBS, 0.05), [TIME, SIX, AHEAD]),
    "SSHMC is slower than HMC": (slower(SSHMC, 1e6), [TIME, SIX, AHEAD, *SLOW]),
    "HMC": (of_row("alone", HMC, "seconds", [1e-6, 1e-6]), SLOW),
    "HMC's beta": (of_row("alone", HMC, "means", [[0.7, -0.9999], [0.7, -1.0001]] * 2),
                   [SLOW[1], CREDULOUS]),
    "HMC is modest": (of_row("alone", HMC, "means_se", [[60.0, 60.0]] * 4), [CREDULOUS]),
    "sigma hardly varies": (of_row("alone", SSHMC, "sd", [Measured(0.02, 0.01)] * 2), [STABLE]),
    **{f"sigma behind beta, {name}": (of_row("rows", name, "ess", "beta", Measured(9.0, 0.01)), [
        f"{name}: log(ESS, sigma / beta)"]) for name in cox.ROWS},
    **{f"low, {distance}": (of_row("rows", f"{GIBBS}, {distance}", "ess", "min", Measured(
        7.5, 0.01)), [low]) for distance, low in zip(cox.DATA, LOW, strict=True)},
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


def test_a_row_has_one_setting_and_an_order_all():
    result = of_row("rows", PIXEL, "ess", "sigma", Measured(3.0, 0.01))(made_up())
    assert verdicts(table4, result)[claim(SSHMC, "sigma")] == "agrees"  # the unit square has it
    result = of_row("scan", f"{RIVAL}, eps = 0.1, 0.3", "seconds", [1e-6, 1e-6])(result)
    assert verdicts(table4, result)[AHEAD] == "not specified"


def test_the_rival_is_compared_on_its_own_distance():
    result = made_up()
    (found,) = [c.ours for c in table4.CLAIMS if c.what == AHEAD]
    scan = found(result)
    assert isinstance(scan, Scan)
    assert scan.settings == ("unit", "pixel", "unit, eps = 0.1, 0.3", "pixel, eps = 0.1, 0.3")
    worst = math.log(number("Table 4", SSHMC, "beta") / number("Table 4", GIBBS, "beta"))
    assert [m.value for m in scan.found] == pytest.approx([worst] * 4)
    scan = found(of_row("rows", PIXEL, "seconds", [0.02, 0.02002])(result))
    assert [m.value for m in scan.found] == pytest.approx([worst, worst - math.log(2)] * 2)


def test_a_chain_that_has_hardly_moved_is_no_evidence():
    name = f"{UNIT}, eps = 0.1, 0.3"
    for least, judged in ((11.9, False), (12.1, True)):
        result = of_row("scan", name, "ess", "beta", Measured(math.log(least), 1.0))(made_up())
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
    text = table4.table(result)
    for name in [*result.rows, *result.alone, *result.scan, f"{SSHMC}, paper"]:
        assert any(line.startswith(name) for line in text.splitlines())
    _, sets = text.split("ESS on each data set")
    assert re.search(rf"^{PIXEL} +1  780 +3000 +3900 +2101 +270 *$", sets, re.MULTILINE)
    assert re.search(rf"^{PIXEL} +2  0 +7 +14 +21 +28 *$", sets, re.MULTILINE)
    fig = table4.figure(result)
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
                          if key.get_label() == rf"$\{column}$, {what}"]
                assert (key.get_marker() or "None", key.get_markerfacecolor(),
                        key.get_linestyle()) == (
                    shown.get_marker(), fill, dash if what == "paper" else "None")
    plt.close(fig)


class Recorder(studies.Recorder):
    """Hands on times."""

    def made(self, function, tasks):
        assert function is table4.clock
        return [{"seconds": {name: [k] for k, name in enumerate(tasks[0]["rows"])}}]


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_run_puts_times_and_estimates_together(budget, monkeypatch):
    result, scan = made_up(), f"{RIVAL_PIXEL}, eps = 0.1, 0.3"
    monkeypatch.setattr(cox, "run_scan", lambda experiment, *_: "scanned")
    monkeypatch.setattr(cox, "run_rows", lambda experiment, scanned, *_: result.rows)
    monkeypatch.setattr(cox, "run_between", lambda experiment, *_: "between")
    monkeypatch.setattr(cox, "scan_of", lambda which: {
        name: found for name, found in result.scan.items()
        if name.startswith(SSHMC) == (which == "scanned")})
    monkeypatch.setattr(cox, "run_alone", lambda experiment, scanned, *_: result.alone)
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
