"""The cells of Tables 2 and 3 of Wang and Neal: estimators by hand, and what is claimed when."""

import numpy as np
import pytest

from reproduce import wang_fig2, wang_table2, wang_table3
from reproduce.harness.claims import Measured
from reproduce.wang import tables
from reproduce.wang.chains import summary
from reproduce.wang.printed import NYSTROM, SOD, STANDARD, TEMPERED
from reproduce.wang.tables import COSTS, MAIN, SETTINGS, Cell, estimate, luck


def blank(**fields):
    """Return a Cell with nothing in it but these."""
    return Cell(**dict.fromkeys(Cell._fields) | fields)


def test_luck_by_hand():
    # variance of the means 1, 3 is 2; that of their errors 0.5 and 1.1 is taken off
    assert luck({0: (1.0, 0.5), 1: (3.0, 1.1)}) == pytest.approx((2 - 0.8) ** 0.5, rel=1e-14)
    assert luck({0: (1.0, 5.0), 1: (3.0, 5.0)}) == 0
    assert np.isnan(luck({0: (1.0, 0.5)}))


def test_estimates_by_hand():
    found = estimate({0: (1.0, 0.5), 1: (3.0, 1.1)}, 2.0)
    assert found.value == 2
    # their luck, and ours of two data sets; the error of the mean of two
    assert found.se == pytest.approx((4 * 1.5 + 1.6 / 4) ** 0.5, rel=1e-14)
    assert estimate({0: (1.0, 0.0)}, 2.0) == Measured(1.0, 8**0.5)


def test_the_luck_of_a_row_is_no_less_than_that_of_its_like():
    rows = {number: {MAIN: {SOD: blank(sets={what: {0: (0.0, 0.0), 1: (2**0.5 * spread, 0.0)}
                                             for what in ("tau", *COSTS)})}}
            for number, spread in ((1, 0.1), (2, 0.4), (3, 0.9), (6, 5.0))}
    found = tables.comparisons(rows)
    for number, spread in ((1, 0.4), (2, 0.4), (3, 0.9), (6, 5.0)):
        # rounding of a root; two data sets of ours, one of theirs
        assert found[number][MAIN][SOD].tau.se == pytest.approx(spread * 1.5**0.5, rel=1e-12)
        assert found[number][MAIN][SOD].gain["seconds"].value == pytest.approx(
            {1: 0.1, 2: 0.4, 3: 0.9, 6: 5.0}[number] / 2**0.5, rel=1e-12)


def test_only_mappings_have_a_rate_of_acceptance():
    done = [{"accepted": [1.0, 1.0]}, {"accepted": [0.2, 0.4]}, {"accepted": [0.7]}]
    assert tables.progress(done) == "acceptance rate 0.50" and tables.progress(done[:1]) == ""


# What is compared


def test_a_mapping_that_evaluates_pi_more_or_less_than_once_is_seen():
    for pi in (0.5, 1.5):
        row = {STANDARD: blank(pi=5.0), SOD: blank(pi=pi), TEMPERED: blank(pi=1.0)}
        scan = wang_table3.density_excess({1: dict.fromkeys(SETTINGS, row)})
        assert [each.value for each in scan.found] == [0.5] * len(SETTINGS)


def test_where_no_columns_are_close_nothing_is_known_of_their_gain():
    far, near = ({NYSTROM: blank(accepted=rate, gain={"seconds": Measured(0.3, 0.1)})}
                 for rate in (0.74, 0.75))
    scan = wang_table3.close_gain({1: dict.fromkeys(SETTINGS, far) | {MAIN: near}})
    assert scan.found[0] == (0.3, 0.1) and np.isnan([each.value for each in scan.found[1:]]).all()


def test_times_of_a_few_iterations_are_claimed_nowhere():
    claims = wang_table2.CLAIMS + wang_table3.CLAIMS + wang_fig2.CLAIMS
    assert [claim.what for claim in claims if claim.budgets != ("paper",)] == [
        "largest |evaluations of pi in a mapping - 1|"]  # a count


def test_what_an_update_takes_by_the_printed_times():
    # row 1: 0.078 / 0.26 = 0.3 = 1 / e + t* / t
    r = {1: {MAIN: {SOD: blank(ratio=[0.05]), TEMPERED: blank(ratio=[0.05, 0.02])}}}
    assert tables.update_cost(r, 1, "variable") == pytest.approx(4, rel=1e-12)
    assert tables.update_cost(r, 1, "sweep") == pytest.approx(4 / 3, rel=1e-12)
    # 0.15 / 0.26 - 2 (0.05 + 0.02) is 1 / e by tempered transitions
    assert tables.tempered_share(r, 1) == pytest.approx(4 * (0.15 / 0.26 - 0.14), rel=1e-12)
    r[1][MAIN][SOD] = blank(ratio=[0.4])
    assert tables.update_cost(r, 1, "variable") == np.inf


def test_z_by_hand():
    # rounding is uniform: a variance of a third of its half width squared
    assert tables.z(Measured(1.0, 0.3), 0.0, 0.4, 0.0) == pytest.approx(2, rel=1e-14)
    assert tables.z(Measured(1.0, 0.0), 0.0, 0.0, 3**0.5) == pytest.approx(1, rel=1e-14)
    assert tables.noise(10.0) == pytest.approx((62 / 1333) ** 0.5, rel=1e-14)
    value, error, rounding = tables.printed_gain(1, SOD)
    assert value == pytest.approx(-np.log(0.45), rel=1e-14)
    assert error == pytest.approx((47.32 / 1333) ** 0.5, rel=1e-12)  # 6 x 7.22 + 4
    assert rounding == pytest.approx(0.005 / 0.45, rel=1e-12)


def test_the_noise_of_a_printed_tau_is_that_of_a_chain():
    """Of runs of 1333 draws of an autoregression: the log of the estimate scatters by as much."""
    rng, phi = np.random.default_rng(4), 0.8
    tau = (1 + phi) / (1 - phi)
    logs = []
    for _ in range(150):
        x = np.zeros(2000)
        steps = rng.standard_normal(2000)
        for t in range(1, 2000):
            x[t] = phi * x[t - 1] + steps[t]
        logs.append(np.log(summary(x)["tau"]["first"][0]))
    # the window is a rule of thumb: within a quarter, where 150 runs know it to 6 %
    assert 0.75 < np.std(logs) / tables.noise(tau) < 1.25
