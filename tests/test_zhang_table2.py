"""Table 2 of Zhang and Sutton: what is run, and each claim on results whose truth is known."""

import numpy as np
import pytest

import studies
from judging import put, read_table, replaced, scanned, slower
from reproduce import zhang_table2 as table2
from reproduce.harness.claims import BUDGETS, Measured, Scan, judge
from reproduce.harness.style import plt
from reproduce.zhang import logistic
from reproduce.zhang.logistic import DROPPED, MODE, PRIOR
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC, number

ANY = table2.ANY
BETTER, WORSE = f"{SSHMC}, {MODE}", f"{SSHMC}, {PRIOR}"
SMALL, SMALL_PRIOR = "small groups", f"small groups, {PRIOR}"
COLUMNS = ("min", "med", "max", "v")


def known(value):
    """An estimate with an error of a hundredth."""
    return Measured(value, 0.01 * abs(value))


def estimates(AP, ess, worst, seconds, cost, setting=None):
    """What the script has of a setting: ess is (min, med, max, v)."""
    return logistic.Estimates(
        [Measured(rate, 0.001) for rate in AP], 0, 10, *map(known, ess),
        known(min(ess[0], ess[3])), known(worst), cost, Measured(-2.0, 0.002), 0.3,
        setting or {"L": 3}, [seconds, seconds * 1.001])


def as_printed(method, seconds):
    """Two settings of a scan that have the printed ESS."""
    return {key: estimates([0.8], [number("Table 2", method, c) for c in COLUMNS], 100.0,
                           factor * seconds, 10.0, {"steps": key})
            for key, factor in (("L 3", 1.0), ("L 6", 1.1))}


def made_up():
    """Return a result with which every claim agrees."""
    ess = (2000.0, 3500.0, 4500.0, 1500.0)
    rows = {HMC: estimates([0.8], ess, 500.0, 1e-4, 10.0),
            GIBBS: estimates([0.75, 0.8], (800.0, 4000.0, 5000.0, 200.0), 150.0, 4e-3, 1200.0),
            SSHMC: estimates([0.8], ess, 800.0, 2e-4, 20.0),
            BETTER: estimates([0.8], ess, 1000.0, 2e-4, 20.0),
            WORSE: estimates([0.8], ess, 300.0, 2e-4, 20.0),
            DROPPED: estimates([0.8, 0.8], (900.0, 1500.0, 3000.0, 500.0), 200.0, 1e-4, 5.0),
            SMALL: estimates([0.8], ess, 100.0, 1e-4, 20.0),
            SMALL_PRIOR: estimates([0.8], ess, 110.0, 1e-4, 20.0)}
    rows |= {row + ANY: rows[row] for row in METHODS}
    trap = {name: estimates([0.95, 1.0], (900.0, 4000.0, 5000.0, v), v, 1.0, 1200.0)
            for name, v in zip(logistic.TRAP, (600.0, 15.0), strict=True)}
    times = {HMC: 3.2e-4, GIBBS: 3.3e-4, SSHMC: 3.1e-4}
    pilots = [{"setting": {"L": 3}, "AP": [0.8], "ess": {"phi": 3.0}, "cost": 10.0}]
    return logistic.Table2(5000, dict.fromkeys(table2.ROWS, pilots), rows, trap,
                           {row: as_printed(row, times[row]) for row in METHODS})


def verdicts(result, budget="paper"):
    # as if no difference were known: it is the intervals that are tried
    claims = [claim._replace(known=None) for claim in table2.CLAIMS]
    return {f.claim.what: f.verdict for f in judge(claims, result, budget)}


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    found = verdicts(made_up())
    # and every claim is moved by something below
    assert {what for _, claims in MOVED.values() for what in claims} == set(found)
    # of "much higher" print itself has 5.83 against 2.15 and 0.6: more than twice both
    assert set(found.values()) == {"agrees"}


def time(row, other):
    return f"time of {row} / {other}"


def higher(other):
    return f"log(min ESS per second, SSHMC / {other})"


def ess(row, column):
    of = "v" if column == "v" else f"w, {column}"
    return f"{row}: log(ESS of {of} / {number('Table 2', row, column):g})"


def whole(row):
    """All claims on a row of the table, which are judged together."""
    return [f"{row}: its printed ESS together", *(ess(row, column) for column in COLUMNS)]


OUTPERFORMS = f"log(min ESS per second, SSHMC / {GIBBS}){ANY}"
NOT_BEHIND = f"log(worst ESS per gradient, SSHMC / HMC){ANY}"
ROUGH = "log(worst ESS per gradient, Hessian at the mode / X'X/4)"
SPARSE = "small groups: log(worst ESS per gradient, prior's mass / X'X/4)"
FULL = "all groups: log(worst ESS per gradient, prior's mass / X'X/4)"
BORROWED = {mass: f"{mass}: log(ESS of v per draw, SSHMC / HMC within Gibbs)"
            for mass in ("X'X/4", "mode")}
NOT_AHEAD = "X'X/4: log(ESS of v per gradient, SSHMC / HMC within Gibbs)"
TRAPPED = "trap: log(ESS of v, six steps of 0.27 / of 0.5), no jitter"
UNSEEN = "trap: acceptance rate of w, six steps of 0.27 - of 0.5"


def mean_of(row):
    return f"mean of log v, {row} - SSHMC, in standard deviations"


SIX = list(logistic.TRAP)
MOVED = {
    "HMC accepts too much": (put(["rows", HMC, "AP"], [Measured(0.9, 0.001)]),
                             ["HMC: acceptance rate"]),
    "Gibbs in w": (put(["rows", GIBBS, "AP", 0], Measured(0.95, 0.001)),
                   [f"{GIBBS}: acceptance rate of w"]),
    "Gibbs in v": (put(["rows", GIBBS, "AP", 1], Measured(0.6, 0.001)),
                   [f"{GIBBS}: acceptance rate of v"]),
    "SSHMC accepts too little": (put(["rows", SSHMC, "AP", 0], Measured(0.65, 0.001)),
                                 ["SSHMC: acceptance rate"]),
    **{f"{column} of {row}": (scanned(row, **{column: known(40 * number("Table 2", row, column))}),
                              whole(row)) for row in METHODS for column in COLUMNS},
    "SSHMC takes longer": (slower(SSHMC, 2.5), [time(SSHMC, HMC), time(SSHMC, GIBBS),
                                                higher(HMC)]),
    "HMC takes longer": (slower(HMC, 2.5), [time(SSHMC, HMC), time(GIBBS, HMC)]),
    "Gibbs takes longer": (slower(GIBBS, 2.5), [time(GIBBS, HMC), time(SSHMC, GIBBS)]),
    "HMC is as good": (scanned(HMC, least=known(2000.0)), [higher(HMC)]),
    "Gibbs is as good": (scanned(GIBBS, least=known(2000.0)), [higher(GIBBS)]),
    "Gibbs is better, whatever its rate": (put(["rows", GIBBS + ANY, "least"], known(1e5)),
                                           [OUTPERFORMS]),
    "HMC is far behind": (put(["rows", HMC + ANY, "worst"], known(50.0)), [NOT_BEHIND]),
    "SSHMC needs few gradients": (put(["rows", SSHMC + ANY, "cost"], 2.0), [NOT_BEHIND]),
    "HMC within Gibbs is as good": (put(["rows", DROPPED, "v"], known(5000.0)),
                                    list(BORROWED.values())),
    "SSHMC does not mix v": (put(["rows", SSHMC, "v"], known(100.0)), [BORROWED["X'X/4"]]),
    "the Gibbs sampler needs many gradients": (put(["rows", DROPPED, "cost"], 50.0), [NOT_AHEAD]),
    "nor with the Hessian at the mode": (put(["rows", BETTER, "v"], known(100.0)),
                                         [BORROWED["mode"]]),
    "the bound is bad": (put(["rows", BETTER, "worst"], known(9000.0)), [ROUGH]),
    "the prior alone is bad for sparse groups": (put(["rows", SMALL_PRIOR, "worst"], known(9.0)),
                                                 [SPARSE]),
    "and as good for others": (put(["rows", WORSE, "worst"], known(1600.0)), [FULL]),
    "there is no trap": (put(["trap", SIX[1], "v"], known(500.0)), [TRAPPED]),
    "or it is seen": (put(["trap", SIX[1], "AP"], [Measured(0.5, 0.001)]), [UNSEEN]),
    **{f"{row} samples something else": (put(["rows", row, "gamma"], Measured(-1.8, 0.002)),
                                         [mean_of(row)])
       for row in table2.ROWS if row != SSHMC and not row.startswith("small")},
}


@pytest.mark.parametrize("what", MOVED)
def test_with_one_quantity_moved_its_claims_and_no_others_differ(what):
    change, wanted = MOVED[what]
    result = change(made_up())
    assert {claim for claim, found in verdicts(result).items() if found != "agrees"} == set(wanted)
    assert {found for found in verdicts(result).values() if found != "agrees"} <= {
        "differs", "every setting differs", "not specified"}


def test_what_depends_on_steps_that_are_not_stated_is_not_specified():
    result = replaced(made_up(), ["scan", HMC, "L 6", "least"], known(1500.0))
    (found,) = [f for f in judge(table2.CLAIMS, result, "paper") if f.claim.what == higher(HMC)]
    assert isinstance(found.ours, Scan) and found.verdict == "not specified"


class Recorder(studies.Recorder):
    """Makes up pilots, runs and times."""

    def made(self, function, tasks):
        return [getattr(self, function.__name__)(**task) for task in tasks]

    @staticmethod
    def pilots(method, mass, settings, **_):
        """The first setting is the best; only what is not the best is in the paper's range."""
        return {"pilots": [{"setting": s, "AP": [0.8 if k else 0.95], "ess": {"phi": 9.0 - k},
                            "cost": 1.0} for k, s in enumerate(settings)]}

    @staticmethod
    def one_run(method, mass, setting, seed, **_):
        ess = 100.0 + 10 * seed[2]
        return {"AP": [0.8, 0.9][: 1 + ("L_theta" in setting)], "divergences": 1, "v": ess,
                "w": [ess + 5, ess + 6, ess + 7], "worst": ess - 1, "gamma": [-2.0, 0.3],
                "cost": 7.0}

    @staticmethod
    def clock(rows, rounds, n, data):
        return {"seconds": {key: [1e-4 * len(key)] * rounds for key in rows}}


class Data:
    name = "German credit by purpose"


def test_the_gibbs_sampler_takes_six_steps_as_printed():
    for budget in BUDGETS:
        assert all((s["L_theta"], s["L_phi"]) == (6, 6)
                   for s in logistic.grid(GIBBS, None, budget))


def test_shorter_budgets_run_the_same_rows():
    for budget in BUDGETS:
        result = table2.run(Recorder(budget), Data)
        assert set(table2.ROWS) <= set(result.rows)
        assert list(result.scan) == list(METHODS)
        for text in (table2.table(result),):
            for row in result.rows:
                assert row in text
    assert "378 " in text and "2266" in text


def test_the_figure_has_every_row():
    fig = table2.figure(made_up()._replace(n=2500))  # half of print's
    assert fig.axes[0].get_xlabel().startswith("ESS of 2500: ")
    labels = [tick.get_text() for tick in fig.axes[0].get_yticklabels()]
    assert labels == list(made_up().rows)
    printed = [line for line in fig.axes[0].get_lines() if line.get_color() == "k"]
    assert [line.get_xdata().tolist() for line in printed][:2] == [
        [number("Table 2", HMC, c) / 2 for c in COLUMNS[:3]], [number("Table 2", HMC, "v") / 2]]
    ours = [line for line in fig.axes[0].get_lines() if line.get_marker() == "o"]
    scan = [line for line in fig.axes[0].get_lines() if line.get_marker() == "|"]
    assert [line.get_label() for line in ours[:2]] == ["$w$, ours", "$v$, ours"]
    for k, found in enumerate(made_up().rows.values()):
        for line, first, names in zip(ours[2 * k : 2 * k + 2], ours, (COLUMNS[:3], ("v",)),
                                      strict=False):
            assert line.get_xdata().tolist() == [getattr(found, name).value for name in names]
            assert line.get_color() == first.get_color() and round(line.get_ydata()[0]) == k
    for k, row in enumerate(made_up().rows):
        for line, names in zip(scan[2 * k : 2 * k + 2], (COLUMNS[:3], ("v",)), strict=True):
            assert line.get_xdata().tolist() == [
                getattr(each, name).value for each in made_up().scan.get(row, {}).values()
                for name in names] and {round(y) for y in line.get_ydata()} <= {k}
    plt.close(fig)


def test_estimates_are_means_over_runs():
    runs = [Recorder.one_run(HMC, None, {}, [0, 0, k]) for k in range(4)]
    found = logistic.estimates(runs, {})
    assert found.v == pytest.approx((115.0, np.std([0, 10, 20, 30], ddof=1) / 2))
    assert found.max.value == 122.0 and found.divergences == 4


def test_times_are_of_a_run():
    rows = {next(iter(row.values())): row for row in read_table(table2.table(made_up()))}
    assert rows[HMC + ANY]["seconds"] == "0.5"  # 5000 times 1e-4
