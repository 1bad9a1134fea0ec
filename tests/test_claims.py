"""reproduce/harness/claims.py: verdicts that follow from numbers, and reports that hide nothing."""

import math

import numpy as np
import pytest

from reproduce.harness import claims, replicates
from reproduce.harness.claims import Declared, Measured, Scan, failures, judge, report, verdict
from reproduce.harness.run import Settings, record

INF = math.inf
KNOWN = Declared("a misprint", "2026-01-01", "2026-01-02")
AFTER = Declared("a guess", "2026-01-02T10:00", "2026-01-02T09:59")


def claim(low=1.0, high=2.0, kind="printed number", known=None, ours=lambda r: r, what="x", why="w",
          **more):
    return claims.Claim(what, "1.5", ours, low, high, why, kind, known, **more)


def test_arithmetic_carries_the_error_of_independent_estimates():
    # against the spread of the same arithmetic on draws
    rng = np.random.default_rng(1)
    a, b = Measured(3.0, 0.03), Measured(-2.0, 0.01)
    x, y = (m.value + m.se * rng.standard_normal(200_000) for m in (a, b))
    for ours, theirs in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y),
                         (-a, -x), (abs(b), abs(y)), (claims.log(a), np.log(x)), (1.0 / a, 1.0 / x),
                         (5.0 - a, 5.0 - x), (2.0 * a, 2.0 * x), (a / 2.0, x / 2.0),
                         (7.0 + b, 7.0 + y), (claims.exponential(b), np.exp(y))):
        # 200000 draws know a deviation to 0.16 %, 4 of these; curvature shifts by 0.01 deviations
        assert ours.se == pytest.approx(theirs.std(), rel=0.01)
        assert abs(ours.value - theirs.mean()) < 4 * ours.se / 200_000**0.5 + 0.02 * ours.se
    assert np.isnan([claims.log(Measured(value, 0.1)) for value in (0.0, -1.0)]).all()
    assert Measured(0.0, 0.5) / Measured(2.0, 0.1) == (0.0, 0.25)
    assert Measured(0.0, 0.5) * Measured(2.0, 0.1) == (0.0, 1.0)


def test_a_mean_of_draws_by_hand():
    assert claims.mean([1.0, 2.0, 6.0]) == pytest.approx((3.0, (7 / 3) ** 0.5))  # s^2 = 14 / 2
    value, se = claims.mean(np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert value.tolist() == [2.0, 0.0] and se.tolist() == [1.0, 0.0]
    assert math.isnan(claims.mean([4.0]).se)


def test_an_average_by_hand():
    two = [Measured(1.0, 0.3), Measured(3.0, 0.4)]
    assert claims.average(two) == pytest.approx((2.0, 0.25))
    assert claims.average(two, [3, 1]) == pytest.approx((1.5, (0.225**2 + 0.1**2) ** 0.5))


def test_the_least_is_that_in_standard_errors():
    least = claims.smallest
    assert least([Measured(1.0, 0.1), Measured(5.0, 2.0), Measured(9.0, 0.1)]) == (5.0, 2.0)
    assert least([Measured(-3.0, 1.0), Measured(0.1, 1.0), Measured(-4.0, 2.0)]) == (-3.0, 1.0)
    # what is exact is as far from 0 as can be; of an unknown error it cannot be said
    assert least([Measured(2.0, 0.1), Measured(9.0)]) == (2.0, 0.1)
    for k in range(2):
        found = least([Measured(2.0, 0.1), Measured(1.0, math.nan)][:: 1 - 2 * k])
        assert found.value == 1.0 and math.isnan(found.se)


@pytest.mark.parametrize(("low", "high", "kind", "value", "se", "theirs", "wanted"), [
    # a number: [1, 2], by both errors in quadrature, 3-4-5
    (1, 2, "printed number", 2.0, 0.0, 0.0, "agrees"),
    (1, 2, "printed number", 2.0001, 0.0, 0.0, "differs"),
    (1, 2, "printed number", 2.99, 0.3, 0.4, "agrees"),
    (1, 2, "printed number", 3.01, 0.3, 0.4, "inconclusive"),
    (1, 2, "printed number", 0.01, 0.3, 0.4, "agrees"),
    (1, 2, "printed number", -0.01, 0.3, 0.4, "inconclusive"),
    (1, 2, "printed number", 3.99, 0.4, 0.3, "inconclusive"),
    (1, 2, "printed number", 4.01, 0.4, 0.3, "differs"),
    (1, 2, "ours", 1.5, 0.49, 0.0, "agrees"),
    (1, 2, "ours", 1.5, 0.51, 0.0, "too weak"),  # inside by luck
    # an order: above 0
    (0, INF, "order", 0.21, 0.1, 0.0, "agrees"),
    (0, INF, "order", 0.19, 0.1, 0.0, "inconclusive"),
    (0, INF, "order", -0.39, 0.1, 0.0, "inconclusive"),
    (0, INF, "order", -0.41, 0.1, 0.0, "differs"),
    (0, INF, "order", 0.0, 0.0, 0.0, "agrees"),
    (-INF, 5, "printed sentence", 4.9, 0.1, 0.0, "inconclusive"),
    (0, 1, "order", 0.9, 0.1, 0.0, "inconclusive"),
    (0, 1, "printed sentence", 0.9, 0.1, 0.0, "agrees"),
    # trouble
    (1, 2, "printed number", math.nan, 0.0, 0.0, "differs"),
    (1, 2, "printed number", math.inf, 1.0, 1.0, "differs"),
    (1, 2, "printed number", 1.5, math.nan, 0.0, "inconclusive"),
    (1, 2, "printed number", 9.0, math.inf, 0.0, "too weak"),
])
def test_verdicts(low, high, kind, value, se, theirs, wanted):
    assert verdict(claim(low, high, kind, theirs=theirs), Measured(value, se)) == wanted
    for declared, found in ((KNOWN, "known difference"), (AFTER, "differs")):
        made = claim(low, high, kind, declared, theirs=theirs)
        assert verdict(made, Measured(value, se)) == wanted.replace("differs", found)


def test_a_declaration_comes_before_the_run_or_says_that_it_did_not():
    assert KNOWN.before and not AFTER.before and Declared("a sum", "2026-01-02").before
    assert not Declared("at once", "2026-01-02T10:00", "2026-01-02T10:00").before
    for known, wanted, note, said in (
            (AFTER, "differs", "declared after the run",
             "a guess; declared 2026-01-02T10:00, after the first run (2026-01-02T09:59)"),
            (KNOWN, "known difference", "",
             "a misprint; derived 2026-01-01, before the first run (2026-01-02)")):
        (found,) = judge([claim(3, 4, known=known)], 1.5, "paper")
        assert (found.verdict, found.note, failures([found])) == (wanted, note, [])
        assert said in " ".join(report([found]).split())


@pytest.mark.parametrize(("kind", "what", "printed", "se", "theirs", "told"), [
    ("printed number", "log(a)", math.nan, 0.03, 0.04, math.exp(0.5 + 4 * 0.05)),
    ("printed number", "a", 4.0, 0.03, 0.04, 1 + (0.5 + 0.2) / 4),
    ("printed number", "a", -4.0, 0.03, 0.04, 1 + (0.5 + 0.2) / 4),
    ("printed number", "a", math.nan, 0.03, 0.04, math.nan),
    ("printed number", "log(a / b) - log 6", math.nan, 0.1, 0.0, math.nan),
    ("joint test", "all log(a)", math.nan, 0.1, 1.0, math.nan),
    ("order", "least log(a / b)", math.nan, 0.1, 0.0, math.exp(0.4))])
def test_the_power_is_the_factor_that_would_differ(kind, what, printed, se, theirs, told):
    made = claim(-0.5, INF if kind == "order" else 0.5, kind, what=what, printed=printed,
                 theirs=theirs)
    assert claims.power(made, Measured(0.1, se)) == pytest.approx(told, nan_ok=True)


def test_what_could_not_tell_a_factor_of_three_is_too_weak():
    half = math.log(3) - 0.4  # and 4 standard errors
    for kind, wanted in (("printed number", "too weak"), ("printed sentence", "too weak"),
                         ("ours", "agrees"), ("paper against itself", "agrees")):
        for more, found in ((1e-6, wanted), (-1e-6, "agrees")):
            made = claim(-half - more, half + more, kind, what="log(a)", theirs=0.06)
            assert verdict(made, Measured(0.0, 0.08)) == found
    assert verdict(claim(-1, 9, printed=2.0), Measured(2.0, 0.0)) == "too weak"
    order = claim(0, INF, "order", what="log(a)")
    assert verdict(order, Measured(1.11, 0.28)) == "too weak"
    assert verdict(order, Measured(1.0, 0.27)) == "agrees"
    assert verdict(order, Measured(1.13, 0.28)) == "agrees"  # by more than 4 standard errors


@pytest.mark.parametrize(("kind", "values", "wanted"), [
    ("printed number", (1.2, 1.8), "agrees"), ("printed number", (0.5, 1.5), "agrees"),
    ("printed number", (0.5, 0.7), "every setting differs"),
    ("printed number", (2.5, 2.7), "every setting differs"),
    ("printed number", (0.5, 2.5), "not specified"),  # the paper lies between two settings
    ("printed number", (0.5, 2.003), "not specified"),
    ("printed sentence", (1.2, 1.8), "agrees"), ("printed sentence", (0.5, 1.5), "not specified"),
    ("ours", (0.5, 0.7), "every setting differs"), ("ours", (0.5, math.nan, 0.7),
                                                    "every setting differs"),
    ("printed number", (2.5, math.nan), "not specified"),  # one setting cannot stand for all
    ("printed number", (2.5, math.nan, 2.7), "every setting differs"),  # nan is no side
    ("printed number", (2.003, 2.0021), "inconclusive"), ("ours", (2.003, 1.5), "not specified"),
    ("printed sentence", (1.5, math.nan), "agrees"), ("printed number", (math.nan,), "differs")])
def test_a_scan_of_one_number(kind, values, wanted):
    scan = Scan((10, 20, 30)[:len(values)], tuple(Measured(v, 0.001) for v in values))
    (finding,) = judge([claim(kind=kind)], scan, "paper")
    assert finding.verdict == wanted
    assert ("left out, nan: " in finding.note) == any(map(math.isnan, values))
    assert "10: " in report([finding])
    assert bool(failures([finding])) == ("differs" in wanted)
    (declared,) = judge([claim(kind=kind, known=KNOWN)], scan, "paper")
    assert declared.verdict == ("known difference" if "differs" in wanted else wanted)


@pytest.mark.parametrize(("columns", "wanted", "note"), [
    # a row has one setting: each column agrees somewhere, but not with the same
    ([(1.5, 9.0), (9.0, 1.5)], ["every setting differs"] * 2, ""),
    ([(1.5, 2.003), (9.0, 1.5)], ["not specified"] * 2, ""),
    ([(1.5, 1.5), (9.0, 1.5)], ["agrees"] * 2, "with L = 2"),
    ([(2.0015, 1.5), (1.5, 1.5)], ["agrees"] * 2, "with L = 2"),  # the nearest of those that agree
    ([(1.5, math.nan), (9.0, 1.5)], ["not specified"] * 2, "left out, nan: L = 2"),
    ([(1.5, math.nan), (1.5, 9.0)], ["agrees"] * 2, "with L = 1; left out, nan: L = 2")])
def test_a_row_of_a_table_is_judged_together(columns, wanted, note):
    result = [Scan(("L = 1", "L = 2"), tuple(Measured(v, 0.001) for v in column))
              for column in columns]
    made = [claim(ours=lambda r, k=k: r[k], what=f"{k}", row="Table 1, HMC") for k in range(2)]
    found = judge([*made, claim(ours=lambda r: 1.5, row="Table 1, HMC")], result, "paper")
    assert [f.verdict for f in found] == [*wanted, "agrees"]
    assert {f.note for f in found[:2]} == {note}
    alone = judge([c._replace(row=c.what) for c in made], result, "paper")
    if note == "":
        assert [f.verdict for f in alone] == ["agrees"] * 2


def test_a_joint_test_is_of_a_chi_squared_number():
    # by hand: (0.3 / 0.1)^2 + (0.2 / 0.05)^2 + 0; the errors 3-4-5, rounding of 1 / 12^.5
    made = [claim(-0.0, 0.0, what="log(a)", theirs=0.06, ours=lambda r: Measured(0.3, 0.08)),
            claim(0.0, 0.0, what="log(b)", theirs=0.03, ours=lambda r: Measured(-0.2, 0.04)),
            claim(-0.5, 0.5, what="log(c)", ours=lambda r: Measured(0.0))]
    (found,) = judge([claims.joint("all", made)], None, "paper")
    assert found.verdict == "differs" and found.note.startswith("chi-squared 25.0 of 3; on")
    # P(chi^2_3 > 25) = erfc(12.5^.5) + (50 / pi)^.5 exp(-12.5)
    tail = math.erfc(12.5**0.5) + (50 / math.pi) ** 0.5 * math.exp(-12.5)
    assert math.erfc(found.ours.value / 2**0.5) == pytest.approx(tail, rel=1e-9)
    assert "on average 0.907 (0.040) times the paper's" in found.note  # (30 - 80) / 512 = -.0977
    (linear,) = judge([claims.joint("all", [made[2]._replace(what="c")])], None, "paper")
    assert (linear.verdict, linear.ours.value) == ("agrees", 0.0)
    assert linear.note == "chi-squared 0.0 of 1"


def test_a_joint_test_of_columns_that_depend_on_each_other_is_of_the_largest():
    made = [claim(-0.0, 0.0, what="log(a)", theirs=0.06, ours=lambda r: Measured(0.15, 0.08)),
            claim(0.0, 0.0, what="log(b)", theirs=0.03, ours=lambda r: Measured(-0.1, 0.04))]
    (found,) = judge([claims.joint("all", made, independent=False)], None, "paper")
    assert found.verdict == "agrees" and found.note.startswith("largest 2.0 of 2; on")
    # P(|z| > 2) = erfc(2^.5), at most twice that of two
    assert math.erfc(found.ours.value / 2**0.5) == pytest.approx(2 * math.erfc(2**0.5), rel=1e-9)
    # weights of 1 and 4: (.15 - .4) / 5, and as if both errors were one: (.1 + 4 x .05) / 5
    assert f"on average {math.exp(-0.05):.3f} (0.057) times the paper's" in found.note
    wide = [each._replace(theirs=0.5) for each in made]  # no number alone could be seen to differ
    (found,) = judge([claims.joint("all", wide, independent=False)], None, "paper")
    assert found.verdict == "inconclusive"
    far = [each._replace(ours=lambda r: Measured(9.0, 0.1)) for each in wide]
    (found,) = judge([claims.joint("all", far, independent=False)], None, "paper")
    assert found.verdict == "differs"
    lost = [made[0], made[1]._replace(ours=lambda r: Measured(math.nan))]
    (found,) = judge([claims.joint("all", lost, independent=False)], None, "paper")
    assert found.verdict == "differs" and math.isnan(found.ours.value)


def test_a_joint_test_of_a_scan_takes_one_setting_for_all():
    def column(*values):
        return lambda r: Scan(("L = 1", "L = 2", "L = 3"), tuple(Measured(v, 1.0) for v in values))

    made = [claim(0.0, 0.0, what="a", ours=column(0.0, 3.0, math.nan)),
            claim(0.0, 0.0, what="b", ours=column(4.0, 1.0, 0.0))]
    (found,) = judge([claims.joint("all", made)], None, "paper")
    assert found.note == "chi-squared 10.0 of 2; with L = 2" and found.verdict == "inconclusive"


def test_a_claim_is_made_at_its_budgets_and_one_that_makes_no_sense_is_refused():
    late = claim()._replace(budgets=("paper",))
    assert judge([late], 1.5, "short") == []
    assert len(judge([late], 1.5, "paper")) == 1
    with pytest.raises(ValueError, match="made at the paper budget, but"):
        judge([claim()._replace(budgets=("short",))], 1.5, "short")
    with pytest.raises(KeyError):  # and is not left out
        judge([claim(ours=lambda r: r["nowhere"])], {"a": 1.0}, "paper")
    with pytest.raises(ValueError, match="rumour"):
        judge([claim(kind="rumour")], 1.5, "paper")
    with pytest.raises(ValueError, match="same quantity"):
        judge([claim(), claim(3, 4)], 1.5, "paper")
    with pytest.raises(ValueError, match="standard error of 'x'"):
        verdict(claim(), Measured(1.0, -1.0))


@pytest.mark.parametrize(("found", "smoke"), [
    (Measured(9.0, 0.1), "inconclusive"), (Measured(9.0), "differs"), (Measured(1.5), "agrees"),
    (Measured(math.nan, 0.1), "differs"), (Measured(math.inf, 0.1), "differs"),
    (Scan((1, 2), (Measured(9.0), Measured(9.0))), "every setting differs"),
    (Scan((1, 2), (Measured(9.0), Measured(9.0, 0.1))), "inconclusive")])
def test_an_estimate_of_a_smoke_run_does_not_fail(found, smoke):
    made = claim(1, 2)._replace(ours=lambda result: found)
    assert judge([made], None, "smoke")[0].verdict == smoke
    for budget in ("short", "paper"):
        fails = "every setting differs" if isinstance(found, Scan) else "differs"
        assert judge([made], None, budget)[0].verdict == smoke.replace("inconclusive", fails)


@pytest.mark.parametrize(("kind", "found", "wanted"), [
    ("ours", Measured(1.5, math.nan), "no claim"), ("ours", Measured(9.0, math.nan), "no claim"),
    ("ours", Measured(math.nan, math.nan), "differs"), ("ours", Measured(1.5, 0.1), "agrees"),
    ("printed number", Measured(1.5, math.nan), "inconclusive"),
    ("order", Measured(1.5, math.nan), "inconclusive"),
    ("ours", Scan((1, 2), (Measured(1.5, math.nan), Measured(9.0, math.nan))), "no claim"),
    ("ours", Scan((1, 2), (Measured(9.0, 0.1), Measured(9.0, math.nan))), "not specified")])
def test_a_check_of_ours_whose_error_is_not_known_is_no_claim(kind, found, wanted, figures):
    findings = judge([claim(kind=kind, ours=lambda r: found, what="chains that hardly move"),
                      claim(0.5, 4.5, what="good", printed=4.0, theirs=0.25)], 1.5, "paper")
    assert [f.verdict for f in findings] == [wanted, "agrees"]
    saved = record("x_fig7", findings, replicates.Experiment("x_fig7", Settings("smoke")))
    unmade = wanted == "no claim"
    assert [c["what"] for c in saved["claims"]] == ["chains that hardly move"] * (not unmade) + [
        "good"]
    assert saved.get("unmade", []) == ["chains that hardly move"] * unmade
    # whatever the pages show of a claim
    assert saved["claims"][-1].items() > {"theirs": 0.25, "power": 1.75, "value": 1.5}.items()
    text = " ".join(report(findings).split())
    assert "[0.5, 4.5] ± 0.25 x 1.75" in text
    assert ("no claim is made of what is not to be trusted" in text) == unmade
    assert "chains that hardly move" in text  # and not hidden
    assert saved["verdicts"] == claims.count_verdicts(findings)
    assert "no claim" not in saved["verdicts"]
    assert bool(failures(findings)) == (wanted == "differs")


def test_what_is_inconclusive_says_why_computing_does_not_tell():
    def said(found, low=0.0, kind="order", theirs=0.0, why="the data are few"):
        made = claim(low, INF if kind == "order" else 2.0, kind, theirs=theirs, undecided=why,
                     ours=lambda r: found)
        (finding,) = judge([made], None, "paper")
        assert (finding.undecided == "") == (finding.verdict != "inconclusive" or not why)
        assert (f"undecided: {finding.undecided}" in " ".join(report([finding]).split())) == bool(
            finding.undecided)
        return finding.undecided

    more = "the data are few; if the value stays, {} times the runs would tell"
    assert said(Measured(0.1, 0.1), np.float64(0.0)) == more.format(16)  # (4 x .1 / .1)^2
    assert said(Measured(-0.3, 0.1)) == said(Measured(2.3, 0.1), 1.0, "ours") == more.format("1.8")
    for found, theirs in ((Measured(0.3, 0.1), 0.5), (Measured(1e-9, 0.1), 0.0),
                          (Measured(0.0, 0.1), 0.0), (Measured(0.3, math.nan), 0.0),
                          (Measured(0.0039, 0.1), 0.0),  # more than ten thousand times
                          (Scan((1, 2), (Measured(0.1, 0.1),) * 2), 0.0)):
        assert said(found, theirs=theirs) == "the data are few"
    assert said(Measured(0.0041, 0.1)) == more.format("9500")
    assert said(Measured(0.5, 0.1)) == ""  # agrees
    assert said(Measured(0.1, 0.1), why="") == ""


def test_a_difference_and_a_known_one_that_is_none_fail():
    def outlived(result):
        return Measured(1.5, 0.1)

    made = [claim(what="good"), claim(2, 3, what="bad"),
            claim(2, 3, known=KNOWN, what="explained"),
            claim(known=KNOWN, what="outlived", ours=outlived)]
    findings = judge(made, 1.5, "paper")
    assert failures(findings) == [
        "bad: differs, and is not declared", "outlived: agrees, though it is declared to differ"]
    assert not any(f.note for f in findings)
    assert judge(made, 1.5, "smoke")[-1].verdict == "inconclusive"


LONG = "rounding; " + "many words " * 20
REPORTED = [
    claim(what="rate", why=LONG, ours=lambda r: Measured(1.511, 0.0012)),
    claim(what="speed", why=LONG, ours=lambda r: 1.25),
    claim(1.0, INF, "order", Declared("the product is impossible: 2 x 3 = 6", "2026-01-01"),
          lambda r: 0.5, "gain"),
    claim(-1.0, 1.0, "ours", ours=lambda r: Measured(1.3, 0.1), what="bias", why="4 s.e."),
    claim(1.0, 3.0, "printed number", ours=lambda r: 9.0, what="slope", why="the theory"),
    claim(what="scan", kind="order",
          ours=lambda r: Scan(("b = 1", "b = 2"), (Measured(0.0), Measured(1.5)))),
]


def test_a_report_puts_what_matters_first_and_hides_nothing():
    text = report(judge(REPORTED, None, "paper"))
    places = [text.index(words) for words in (
        "differs                slope", "known difference       gain",
        "not specified          scan", "inconclusive           bias", "\nrate ", "\nspeed ",
        "[1] rounding", "FAILS: slope: differs")]
    assert places == sorted(places) and "\nslope" not in text  # among what agrees
    for words in ("1.5110 (s.e. 0.0012)", "paper: 1.5", "accepted [1, inf]", "the theory",
                  "declared: the product is impossible", "b = 1: 0; b = 2: 1.5",
                  "1 differs, 1 known difference, 1 not specified, 1 inconclusive, 2 agrees"):
        assert words in text
    assert text.count("many words many words") > 1 and text.count("rounding; ") == 1  # a footnote
    assert max(map(len, text.splitlines())) <= claims.WIDTH
    # only of a logarithm or of a printed number is there a factor
    assert "noticed:" not in text and "   noticed: x 1.65\n" in report(judge(
        [claim(9.0, 10.0, what="log(a)")], 2.0, "paper"))
    assert report([]) == "no claim is made"


def test_every_kind_is_of_one_class():
    assert sorted(sum(claims.CLASSES.values(), ())) == sorted(claims.KINDS)


def test_a_number_has_the_digits_of_its_error():
    assert claims.number(Measured(1.23456, 0.012)) == "1.235 (s.e. 0.012)"
    assert claims.number(Measured(1234.5, 30)) == "1234 (s.e. 30)"
    assert claims.number(Measured(7e-30, 7e-30)) == "7.0e-30 (s.e. 7.0e-30)"
    assert claims.number(Measured(3e-7, 2e-8)) == "0.000000300 (s.e. 0.000000020)"  # nine digits
    assert claims.number(Measured(3e-7, 2e-9)) == "3.0e-07 (s.e. 2.0e-09)"
    assert claims.number(Measured(0.5, 0)) == "0.5"
    assert claims.number(Measured(0.5, math.nan)) == "0.5 (s.e. nan)"
    assert claims.brief(Measured(1.23456, 0.012)) == "1.235 (0.012)"
    assert claims.brief(Measured(1.23456)) == claims.brief(Measured(1.23456, math.inf)) == "1.235"


def test_a_column_of_a_table_stands_to_the_right_if_all_of_it_are_numbers():
    rows = [[1, "a", 12.34567, 5], [10, "bcd", 4.0, "-"]]
    text = claims.text_table(rows, ["n", "", "x", "m or -"])
    assert text.splitlines() == [" n           x  m or -",
                                 "--  ---  -----  ------",
                                 " 1  a    12.35  5",
                                 "10  bcd      4  -"]
