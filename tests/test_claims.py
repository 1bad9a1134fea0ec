"""reproduce/harness/claims.py: verdicts that follow from numbers, and reports that hide nothing."""

import math

import numpy as np
import pytest

from harness import claims
from harness.claims import (
    KINDS,
    VERDICTS,
    Claim,
    Measured,
    Scan,
    average,
    failures,
    judge,
    least,
    log,
    mean,
    report,
    verdict,
)

INF = math.inf


def claim(low=1.0, high=2.0, kind="printed number", known="", ours=lambda r: r, what="x", why="w"):
    return Claim(what, "1.5", ours, low, high, why, kind, known)


# Numbers with standard errors


def test_arithmetic_carries_the_error_of_independent_estimates():
    # against the spread of the same arithmetic on draws
    rng = np.random.default_rng(1)
    a, b = Measured(3.0, 0.03), Measured(-2.0, 0.01)
    x, y = (m.value + m.se * rng.standard_normal(200_000) for m in (a, b))
    for ours, theirs in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y),
                         (-a, -x), (abs(b), abs(y)), (log(a), np.log(x)), (1.0 / a, 1.0 / x),
                         (5.0 - a, 5.0 - x), (2.0 * a, 2.0 * x), (a / 2.0, x / 2.0),
                         (7.0 + b, 7.0 + y)):
        # 200000 draws know a deviation to 0.16 %, 4 of these; curvature shifts by 0.01 deviations
        assert ours.se == pytest.approx(theirs.std(), rel=0.01)
        assert abs(ours.value - theirs.mean()) < 4 * ours.se / 200_000**0.5 + 0.02 * ours.se


def test_a_zero_can_be_divided_and_multiplied():
    assert Measured(0.0, 0.5) / Measured(2.0, 0.1) == (0.0, 0.25)
    assert Measured(0.0, 0.5) * Measured(2.0, 0.1) == (0.0, 1.0)


def test_a_mean_of_draws_by_hand():
    assert mean([1.0, 2.0, 6.0]) == pytest.approx((3.0, (7 / 3) ** 0.5))  # s^2 = 14 / 2
    value, se = mean(np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert value.tolist() == [2.0, 0.0] and se.tolist() == [1.0, 0.0]
    assert math.isnan(mean([4.0]).se)


def test_an_average_by_hand():
    two = [Measured(1.0, 0.3), Measured(3.0, 0.4)]
    assert average(two) == pytest.approx((2.0, 0.25))
    assert average(two, [3, 1]) == pytest.approx((1.5, (0.225**2 + 0.1**2) ** 0.5))


def test_the_least_is_that_in_standard_errors():
    assert least([Measured(1.0, 0.1), Measured(5.0, 2.0), Measured(9.0, 0.1)]) == (5.0, 2.0)
    assert least([Measured(-3.0, 1.0), Measured(0.1, 1.0), Measured(-4.0, 2.0)]) == (-3.0, 1.0)


# Verdicts


@pytest.mark.parametrize(("low", "high", "kind", "value", "se", "wanted"), [
    # a number: [1, 2]
    (1, 2, "printed number", 1.5, 0.0, "agrees"),
    (1, 2, "printed number", 2.0, 0.0, "agrees"),
    (1, 2, "printed number", 2.0001, 0.0, "differs"),
    (1, 2, "printed number", 1.99, 0.1, "agrees"),
    (1, 2, "printed number", 2.39, 0.1, "cannot tell"),
    (1, 2, "printed number", 2.41, 0.1, "differs"),
    (1, 2, "ours", 0.61, 0.1, "cannot tell"),
    (1, 2, "ours", 0.59, 0.1, "differs"),
    (1, 2, "printed number", 1.5, 0.51, "cannot tell"),  # by luck
    (3, 3, "ours", 3, 0.0, "agrees"),
    # an order: above 0
    (0, INF, "order", 0.21, 0.1, "agrees"),
    (0, INF, "order", 0.19, 0.1, "cannot tell"),
    (0, INF, "order", -0.39, 0.1, "cannot tell"),
    (0, INF, "order", -0.41, 0.1, "differs"),
    (0, INF, "order", 0.0, 0.0, "agrees"),
    (-INF, 5, "printed sentence", 4.9, 0.1, "cannot tell"),
    (0, 1, "order", 0.9, 0.1, "cannot tell"),
    (0, 1, "printed sentence", 0.9, 0.1, "agrees"),
    (-INF, INF, "ours", 3, 1.0, "agrees"),
    # trouble
    (1, 2, "printed number", math.nan, 0.0, "differs"),
    (1, 2, "printed number", math.nan, 1.0, "differs"),
    (1, 2, "printed number", math.inf, 1.0, "differs"),
    (0, INF, "order", -INF, 0.0, "differs"),
    (1, 2, "printed number", 1.5, math.nan, "cannot tell"),
    (1, 2, "printed number", 1.5, math.inf, "cannot tell"),
    (1, 2, "printed number", 9.0, math.inf, "cannot tell"),
    (1, 2, "printed number", 9.0, math.nan, "cannot tell"),
])
def test_verdicts(low, high, kind, value, se, wanted):
    assert verdict(claim(low, high, kind), Measured(value, se)) == wanted
    known = wanted.replace("differs", "known difference")
    assert verdict(claim(low, high, kind, "a misprint"), Measured(value, se)) == known


def test_a_negative_standard_error_is_refused():
    with pytest.raises(ValueError, match="standard error of 'x'"):
        verdict(claim(), Measured(1.0, -1.0))


@pytest.mark.parametrize(("values", "wanted"), [
    ((1.2, 1.8), "agrees"), ((0.5, 0.7), "differs"), ((2.5, 2.7), "differs"),
    ((0.5, 1.5), "not determined"), ((1.5, 2.5), "not determined"),
    ((0.5, 2.5), "not determined"),  # print lies between two settings
])
def test_what_depends_on_an_unstated_setting_is_not_determined(values, wanted):
    scan = Scan((10, 20), tuple(Measured(v, 0.001) for v in values))
    assert verdict(claim(), scan) == wanted
    (finding,) = judge([claim()], scan, "paper")
    assert finding.verdict == wanted
    assert "10: " in report([finding]) or wanted == "agrees"


# Judging


def test_a_claim_measures_itself():
    found = judge([claim(what="a", ours=lambda r: r["a"]),
                   claim(what="b", ours=lambda r: r["a"] * 2)], {"a": Measured(0.8, 0.01)}, "short")
    assert [(f.claim.what, f.ours, f.verdict) for f in found] == [
        ("a", (0.8, 0.01), "differs"), ("b", (1.6, 0.02), "agrees")]
    assert all(type(x) is float for f in found for x in f.ours)


def test_a_claim_that_cannot_be_measured_is_an_error_and_not_left_out():
    with pytest.raises(KeyError):
        judge([claim(ours=lambda r: r["nowhere"])], {"a": 1.0}, "paper")


def test_a_claim_is_made_at_its_budgets_and_always_at_paper():
    late = claim()._replace(budgets=("paper",))
    assert judge([late], 1.5, "short") == []
    assert len(judge([late], 1.5, "paper")) == 1
    with pytest.raises(ValueError, match="made at the paper budget, but"):
        judge([claim()._replace(budgets=("short",))], 1.5, "short")
    with pytest.raises(ValueError, match="rumour"):
        judge([claim(kind="rumour")], 1.5, "paper")


@pytest.mark.parametrize(("found", "smoke"), [
    (Measured(9.0, 0.1), "cannot tell"), (Measured(9.0), "differs"), (Measured(1.5), "agrees"),
    (Measured(math.nan, 0.1), "differs"), (Measured(math.inf, 0.1), "differs"),
    (Scan((1, 2), (Measured(9.0), Measured(9.0))), "differs"),
    (Scan((1, 2), (Measured(9.0), Measured(9.0, 0.1))), "cannot tell")])
def test_an_estimate_of_a_smoke_run_does_not_fail(found, smoke):
    made = claim(1, 2)._replace(ours=lambda result: found)
    assert judge([made], None, "smoke")[0].verdict == smoke
    for budget in ("short", "paper"):
        assert judge([made], None, budget)[0].verdict == smoke.replace("cannot tell", "differs")
    outlived = claim(1, 2, known="misprint")._replace(ours=lambda result: Measured(1.5, 0.1))
    assert judge([outlived], None, "smoke")[0].verdict == "cannot tell"
    assert failures(judge([outlived], None, "short"))


def test_two_claims_about_one_quantity_are_refused():
    with pytest.raises(ValueError, match="same quantity"):
        judge([claim(), claim(3, 4)], 1.5, "paper")


def test_a_difference_and_a_known_one_that_is_none_fail():
    found = judge([claim(what="good"), claim(2, 3, what="bad"),
                   claim(2, 3, known="misprint", what="explained"),
                   claim(known="misprint", what="outlived")], 1.5, "paper")
    assert failures(found) == [
        "bad: differs", "outlived: agrees, though it is declared as a known difference"]


# Reports

LONG = "rounding; " + "many words " * 20
REPORTED = [
    claim(what="rate", why=LONG, ours=lambda r: Measured(1.511, 0.0012)),
    claim(what="speed", why=LONG, ours=lambda r: 1.25),
    claim(1.0, INF, "order", "the product is impossible: 2 x 3 = 6", lambda r: 0.5, "gain"),
    claim(-1.0, 1.0, "ours", ours=lambda r: Measured(1.2, 0.1), what="bias", why="4 s.e."),
    claim(1.0, 3.0, "printed number", ours=lambda r: 9.0, what="slope", why="the theory"),
    claim(what="scan", ours=lambda r: Scan(("b = 1", "b = 2"), (Measured(0.0), Measured(1.5)))),
]


def test_a_report_puts_what_matters_first_and_hides_nothing():
    text = report(judge(REPORTED, None, "paper"))
    places = [text.index(words) for words in (
        "differs          slope", "known difference gain", "not determined   scan",
        "cannot tell      bias", "\nrate ", "\nspeed ", "[1] rounding", "FAILS: slope: differs")]
    assert places == sorted(places)
    for words in ("1.5110 (s.e. 0.0012)", "paper: 1.5", "accepted [1, inf]", "the theory",
                  "known: the product is impossible", "b = 1: 0; b = 2: 1.5",
                  "1 differs, 1 known difference, 1 not determined, 1 cannot tell, 2 agrees"):
        assert words in text
    assert text.count("many words many words") > 1 and text.count("rounding; ") == 1  # a footnote
    assert max(map(len, text.splitlines())) <= claims.WIDTH


def test_verdicts_and_kinds_are_those_of_the_design():
    assert set(VERDICTS) == {"agrees", "differs", "cannot tell", "known difference",
                             "not determined"}
    assert set(KINDS) == {"printed number", "printed sentence", "order", "ours"}


def test_a_number_has_the_digits_of_its_error():
    assert claims.number(Measured(1.23456, 0.012)) == "1.235 (s.e. 0.012)"
    assert claims.number(Measured(1234.5, 30)) == "1234 (s.e. 30)"
    assert claims.number(Measured(7e-30, 7e-30)) == "7.0e-30 (s.e. 7.0e-30)"
    assert claims.number(Measured(0.5, 0)) == "0.5"
    assert claims.number(Measured(0.5, math.nan)) == "0.5 (s.e. nan)"
    assert claims.brief(Measured(1.23456, 0.012)) == "1.235 (0.012)"
    assert claims.brief(Measured(1.23456)) == "1.235"


def test_a_table_is_aligned():
    assert claims.table([["EP", -90.1234567, 3], ["AIS", 5.0, 11]], ["method", "log Z", "n"]) == (
        "method   log Z   n\n"
        "------  ------  --\n"
        "EP      -90.12   3\n"
        "AIS          5  11")
