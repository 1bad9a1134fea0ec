"""The cells of Tables 2 and 3 of Wang and Neal: what is run, estimators and intervals by hand."""

import numpy as np
import pytest
from scipy.signal import lfilter

import studies
from reproduce import wang_table3
from reproduce.harness.claims import Measured
from reproduce.wang import tables
from reproduce.wang.chains import summary
from reproduce.wang.printed import METHODS, NYSTROM, ROWS, SOD, STANDARD, TEMPERED
from reproduce.wang.tables import COSTS, MAIN, SETTINGS, Cell, estimate, luck, table_rows


def blank(**fields):
    """Return a Cell with nothing in it but these."""
    return Cell(**dict.fromkeys(Cell._fields) | fields)


def chain(number, index, method, seed, iterations, unit, **_):
    """Return what a chain of a script gives, made up."""
    d = ROWS[number].d
    mappings = d if unit == "variable" else 1
    tau = {STANDARD: 3.0, SOD: 6.0, NYSTROM: 4.0, TEMPERED: 2.0}[method] * (1 + index) * (
        1 + 0.1 * seed[-1])
    layers = {STANDARD: 0, TEMPERED: 2}.get(method, 1)
    density = iterations * (5 * d if method == STANDARD else mappings)
    return {"tau": {"first": [tau, 0.1 * tau], "literal": [9.0, 1.0], "geyer": [8.0, 1.0]},
            "accepted": [1.0 if method == STANDARD else 0.5] * mappings,
            "counts": {"density": 1 + density, "approximations": [4 * d * iterations] * layers},
            "iterations": iterations, "last": [0.0] * d}


def clock(number, rows, **_):
    """Return what the clock gives, made up."""
    seconds = {STANDARD: 10.0, SOD: 3.0, NYSTROM: 4.0, TEMPERED: 5.0}
    layers, trial = {STANDARD: [], TEMPERED: ["a", "b"]}, {"pi": 2.0, "a": 0.5, "b": 0.25}
    return {"seconds": {"iteration": {name: [seconds[row[0]] * (1 + ("sweep" in name))] * 3
                                      for name, row in rows.items()},
                        "scratch": {k: [4.0] for k in trial},
                        "trial": {k: [[v] * 3] * ROWS[number].d for k, v in trial.items()}},
            "layers": {name: layers.get(row[0], ["a"]) for name, row in rows.items()}}


def test_luck_and_estimates_by_hand():
    # variance of the means 1, 3 is 2; that of their errors 0.5 and 1.1 is taken off
    sets = {0: (1.0, 0.5), 1: (3.0, 1.1)}
    assert luck(sets) == pytest.approx((2 - 0.8) ** 0.5, rel=1e-14)
    assert luck({0: (1.0, 5.0), 1: (3.0, 5.0)}) == 0
    assert np.isnan(luck({0: (1.0, 0.5)}))
    # their luck, and ours of two data sets; the error of the mean of two
    assert estimate(sets, 2.0) == (2, pytest.approx((4 * 1.5 + 1.6 / 4) ** 0.5, rel=1e-14))
    assert estimate({0: (1.0, 0.0)}, 2.0) == Measured(1.0, 8**0.5)


def test_a_row_by_hand():
    store = studies.Recorder("paper", lambda function, tasks: [
        (clock if function is tables.clock else chain)(**task) for task in tasks])
    store.name = tables.STORE
    row = table_rows(store, chain)[1]
    assert list(row) == list(SETTINGS) and set(row[MAIN]) == set(METHODS)
    standard, sod = row[MAIN][STANDARD], row[MAIN][SOD]
    # evaluations of an iteration: 15 and 3 of pi (and that of the start); 12 of pi* at a quarter
    assert (standard.evaluations, sod.evaluations) == pytest.approx(
        (15 + 1 / 2000, 3 + 3 + 1 / 2000), rel=1e-14)
    assert standard.updates == pytest.approx(5, rel=1e-3)  # and that of the start
    assert (sod.updates, sod.pi, sod.accepted, sod.ratio) == (4, 1, 0.5, [0.25])
    # in each of the two updates of a layer
    assert (row[MAIN][TEMPERED].updates, row[MAIN][TEMPERED].ratio) == (2, [0.25, 0.125])
    assert (sod.means["literal"], sod.means["geyer"], sod.seconds) == (9, 8, 3)
    # log tau: the mean over data sets, of which the first has ten chains
    first = np.log(1 + 0.1 * np.arange(10))
    assert sod.tau.value == pytest.approx(
        np.log(6) + (first.mean() + np.log(np.arange(2, 10)).sum()) / 9, rel=1e-14)
    # T is three times larger or six in evaluations; the factors of the data sets cancel
    assert sod.gain["evaluations"].value == pytest.approx(
        np.log(3 * standard.evaluations / 6 / sod.evaluations), rel=1e-12)
    # errors of a tenth in both, of ten chains on one data set and one on eight others
    assert sod.gain["seconds"] == pytest.approx(
        (np.log(30 / 18), (0.02 * (0.1 + 8)) ** 0.5 / 9), rel=1e-12)
    sweep = row["sweep, w = 1, limit 10"]
    assert sweep[STANDARD].tau == estimate(standard.sets["tau"], luck(
        standard.sets["tau"])) and (sweep[SOD].pi, sweep[SOD].seconds) == (1, 6)
    # one evaluation of pi from scratch, twice as dear, and twelve of pi*
    assert sweep[SOD].evaluations == pytest.approx(2 + 3 + 2 / 2000, rel=1e-14)
    # with two chains on the first data set the standard's others do not count
    assert list(sweep[SOD].sets["seconds"]) == [0]
    assert sweep[SOD].sets["seconds"][0][0] == pytest.approx(
        np.log(30 / 36) + first.mean() - first[:2].mean(), rel=1e-12)


def scattered(spread):
    """Return a Cell whose two data sets scatter by so much."""
    return blank(sets={what: {0: (0.0, 0.0), 1: (2**0.5 * spread, 0.0)}
                       for what in ("tau", *COSTS)})


def test_the_luck_of_a_row_is_no_less_than_that_of_its_like():
    spreads = {1: 0.1, 2: 0.4, 3: 0.9, 6: 5.0}
    found = tables.comparisons({number: {MAIN: {SOD: scattered(x)}}
                                for number, x in spreads.items()})
    for number, spread in (spreads | {1: 0.4}).items():
        # rounding of a root; two data sets of ours, one of theirs
        assert found[number][MAIN][SOD].tau == pytest.approx(
            (spreads[number] / 2**0.5, spread * 1.5**0.5), rel=1e-12)
    # the luck of the standard sampler is not that of a gain
    cell = tables.comparisons({number: {MAIN: {STANDARD: scattered(0.0), SOD: scattered(x)}}
                               for number, x in spreads.items() if number < 6})[1][MAIN][SOD]
    assert cell.gain["seconds"].se == pytest.approx(0.4 * 1.5**0.5, rel=1e-12)
    assert cell.tau.se == pytest.approx(0.1 * 1.5**0.5, rel=1e-12)  # the median of both


def test_a_cell_is_the_mean_over_its_chains():
    """Of two chains with different counts and rates; the paper's tables have the means."""
    runs = [(0, {"tau": {name: [tau, 0.5] for name in tables.ESTIMATORS}, "accepted": [rate] * 3,
                 "counts": {"density": 1 + density, "approximations": [2 * density]},
                 "iterations": 10, "last": [0.0] * 3})
            for tau, rate, density in ((2.0, 0.2, 30), (4.0, 0.6, 90))]
    cost = {"trial": {"a": 0.5}, "scratch": {"pi": 2.0}}
    found = tables.table_cell(runs, SOD, "variable", cost, ["a"], 0.1)
    assert found.accepted == pytest.approx(0.4, rel=1e-12)
    assert found.evaluations == pytest.approx((31 + 30 + 91 + 90) / 20, rel=1e-12)
    assert (found.updates, found.pi) == (4.0, 2.0)  # of three variables
    assert found.noise == {0: [0.25, 0.125]}
    assert found.logs["seconds"] == {0: pytest.approx(np.log([0.2, 0.4]), rel=1e-12)}


def test_what_two_methods_share_is_not_in_their_difference():
    """T of both doubles with the data set; their ratio is 2, and in row 3 it scatters by 0.5."""
    def method(factor, scatter):
        logs = {by: {0: [np.log(factor)], 1: [np.log(2 * factor) + scatter]} for by in COSTS}
        return blank(logs=logs, noise={0: [0.3], 1: [0.4]},
                     sets={what: {0: (0.0, 0.0), 1: (1.0, 0.0)} for what in ("tau", *COSTS)})

    # rows of 900 cases scatter by more, which says nothing of those of 300
    rows = tables.comparisons({
        number: {MAIN: {SOD: method(1.0, 0.0), TEMPERED: method(2.0, scatter)}}
        for number, scatter in ((1, 0.0), (2, 0.0), (3, 0.5 * 2**0.5 + 1.0), (6, 4.0), (7, 4.0),
                                (8, 4.0), (9, 4.0))})
    own = (2 * 0.3**2 + 2 * 0.4**2) / 4  # the variance of the mean of two differences
    luck_of_3 = (0.5 * (0.5 * 2**0.5 + 1) ** 2 - 2 * own) ** 0.5
    for number, spread in ((1, 0.0), (2, 0.0), (3, luck_of_3)):
        for one, other in ((SOD, TEMPERED), (TEMPERED, SOD)):
            for by in COSTS:
                assert rows[number][MAIN][one].apart[other][by] == pytest.approx(
                    (1.5 * spread**2 + own) ** 0.5, rel=1e-12)


def test_leads_and_updates():
    # row 1: 0.078 / 0.26 = 0.3 = 1 / e + t* / t
    r = {1: {MAIN: {SOD: blank(ratio=[0.05]), TEMPERED: blank(ratio=[0.05, 0.02])}}}
    assert tables.update_cost(r, 1, "variable") == pytest.approx(4, rel=1e-12)
    assert tables.update_cost(r, 1, "sweep") == pytest.approx(4 / 3, rel=1e-12)
    # 0.15 / 0.26 - 2 (0.05 + 0.02) is 1 / e by tempered transitions
    assert tables.tempered_share(r, 1) == pytest.approx(4 * (0.15 / 0.26 - 0.14), rel=1e-12)
    r[1][MAIN][SOD] = blank(ratio=[0.4])
    assert tables.update_cost(r, 1, "variable") == np.inf
    r = {1: {MAIN: {
        SOD: blank(gain={"seconds": Measured(1.5, 9.0)}, apart={NYSTROM: {"seconds": 0.2}}),
        NYSTROM: blank(gain={"seconds": Measured(1.0, 9.0)})}}}
    assert tables.lead(r, 1, MAIN, SOD, NYSTROM, "seconds") == Measured(0.5, 0.2)
    assert tables.better_mapping(r, 1, MAIN, "seconds") == SOD


def test_noise_and_intervals_by_hand():
    assert tables.noise(10.0) == pytest.approx((62 / 1333) ** 0.5, rel=1e-14)
    assert tables.printed_gain(1, SOD) == pytest.approx(
        (-np.log(0.45), (47.32 / 1333) ** 0.5, 0.005 / 0.45), rel=1e-12)  # 6 x 7.22 + 4
    # row 1, SOD: half a unit of the last digits, and the noise of theirs
    by_hand = {tables.gain_claim: (0.005 / 0.45, (47.32 / 1333) ** 0.5),
               tables.tau_claim: (0.005 / 4.32, ((6 * 4.32 + 2) / 1333) ** 0.5),
               tables.seconds_claim: (np.log(2) + 0.0005 / 0.078 + 0.005 / 0.26, 0)}
    for claim, (width, theirs) in by_hand.items():
        made = claim(1, SOD)
        assert (made.low, made.high, made.theirs) == pytest.approx(
            (-width, width, theirs), rel=1e-12)
        assert made.row == ("Table 2, 1" if claim is tables.gain_claim else "Table 3, 1")


def test_z_of_a_cell_has_its_own_printed_numbers():
    r = {number: {setting: {method: blank(gain={"evaluations": Measured(
        -np.log(row.ratio.get(method, 1)) + 0.3, 0.1 + k)}) for method in row.methods}
        for k, setting in enumerate(SETTINGS)} for number, row in ROWS.items()}
    for k, setting in enumerate(SETTINGS):
        for errors, se in ((setting, 0.1 + k), (MAIN, 0.1)):
            found = dict(zip(tables.POOLED, tables.z_gain(r, setting, errors), strict=True))
            for cell, taus, ratio in (((4, NYSTROM), 12.88 + 15.62, 0.97),
                                      ((9, SOD), 8.27 + 9.33, 0.34)):
                # rounding is uniform: a variance of a third of its half width squared
                error = (6 * taus + 4) / 1333 + (0.005 / ratio) ** 2 / 3
                assert found[cell] == pytest.approx(0.3 / (se**2 + error) ** 0.5, rel=1e-12)


def test_the_noise_of_a_printed_tau_is_that_of_a_chain():
    """Of runs of 1333 draws of an autoregression: the log of the estimate scatters by as much."""
    x = lfilter([1.0], [1.0, -0.8], np.random.default_rng(4).standard_normal((150, 2000)))
    logs = [np.log(summary(each)["tau"]["first"][0]) for each in x]
    # the window is a rule of thumb: within a quarter, where 150 runs know it to 6 %
    assert 0.75 < np.std(logs) / tables.noise(1.8 / 0.2) < 1.25


def test_rows_and_gains_of_the_claims():
    r = {number: {MAIN: {SOD: blank(gain={"seconds": Measured(value, 1.0)})}}
         for number, value in zip(ROWS, [0.0] * 4 + [9.0] * 5 + [-9.0], strict=True)}
    found = tables.expected_rows(r, MAIN, SOD, "seconds")
    assert found == pytest.approx((7, 1), rel=1e-12)  # four halves and five
    assert tables.expected_rows(r, MAIN, SOD, "seconds", 9.0).value == pytest.approx(2.5)
    far, near = ({NYSTROM: blank(accepted=rate, gain={"seconds": Measured(0.3, 0.1)})}
                 for rate in (0.74, 0.75))
    scan = wang_table3.close_gain({1: dict.fromkeys(SETTINGS, far) | {MAIN: near}})
    assert scan.found[0] == (0.3, 0.1) and np.isnan([each.value for each in scan.found[1:]]).all()
