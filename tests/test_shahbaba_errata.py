"""The script that checks Tables 1 and 2 of Split HMC against themselves."""

import re
from decimal import Decimal

import numpy as np
import pytest

from judging import check_moves, put, read_table
from reproduce import shahbaba_errata as errata
from reproduce.harness.claims import Measured
from reproduce.shahbaba import printed
from reproduce.shahbaba.printed import MEASURES, METHODS, PROBLEMS


def made_up():
    """Return a result of which every claim is true: products as printed, orders as in the text."""
    keys = [(name, method) for name in PROBLEMS for method in METHODS]
    return {
        "product": {(*key, measure): printed.number(key[0], measure, key[1])
                    for key in keys for measure in MEASURES},
        "g": {key: printed.number(key[0], "g", key[1]) for key in keys},
        "s": {key: Measured(1.2, 0.01) for key in keys if key[1] != "HMC"},  # HMC has 20 / g > 1.4
        "log": {(name, a, b, measure): Measured(errata.stated_sign(name, a, b, measure), 0.1)
                for name in PROBLEMS for measure in MEASURES
                for a in METHODS for b in METHODS if a != b},
    }


CHESS = "Chess: tau_beta x g, normal - data, products of the factors with g = L"
IN_ORDER = {("Chess", "normal", "tau_beta x g"): 0.8, ("Chess", "data", "tau_beta x g"): 1.2}
MOVED = {
    # rounding allows 14 % at most, in CTG's tau x s
    **{f"{key} {factor}": (put("product", key, factor * value), [
        f"{key[0]}, {key[1]}: {key[2]}", *[CHESS] * (IN_ORDER.get(key) == factor)])
       for key, value in made_up()["product"].items() for factor in (0.8, 1.2)},
    **{f"{key} {shift}": (put("g", key, value + shift), [f"{key[0]}, {key[1]}: g"])
       for key, value in made_up()["g"].items() for shift in (-0.06, 0.06)},
    **{f"s, {method}": (put("s", ("Simulated", method), Measured(0.9, 0.01)), [
        "Simulated: s, HMC / either split, least"]) for method in METHODS[1:]},
    # 20 / 9.8 = 2.04 is the largest ratio of g
    **{f"s, {name}": (put("s", (name, "data"), Measured(2.5, 0.01)), [
        "Four problems: s / g, data splitting / HMC, least"]) for name in PROBLEMS},
    # means of four, the others of which are 1: -0.5, and 0.5
    **{f"{name}, {method} {value}": (
        put("log", (name, method, "HMC", "tau x s"), Measured(value, 0.1)), [
            f"Four problems: mean log(HMC / {method}), least of the four products"] * (value < -3))
       for name in PROBLEMS for method in METHODS[1:] for value in (-5.0, -1.0)},
}


def test_one_number_moved_and_no_other_claim_differs():
    check_moves(errata, made_up(), MOVED)


def test_of_the_times_of_data_splitting_the_least_counts():
    result = made_up()
    result["g"] = dict.fromkeys(result["g"], 10.0)  # as many of all, so that s alone counts
    result["s"] = dict.fromkeys(result["s"], Measured(0.8, 0.01))
    result["s"] |= {("CTG", "data"): Measured(1.25, 0.5), ("Chess", "data"): Measured(1.1, 0.01)}
    (claim,) = [c for c in errata.CLAIMS if c.what.startswith("Four problems: s / g")]
    assert claim.ours(result) == pytest.approx((1 / 1.1, 0.01 / 1.1**2), rel=1e-12)


def ends(text):
    """Return what a printed number may have been before it was rounded."""
    half = Decimal(1).scaleb(Decimal(text).as_tuple().exponent) / 2
    return Decimal(text) - half, Decimal(text) + half


@pytest.mark.parametrize("key", made_up()["product"], ids=str)
def test_a_product_may_differ_by_what_rounding_took_away(key):
    name, method, measure = key
    rows = PROBLEMS[name].rows
    (claim,) = [c for c in errata.CLAIMS if c.what == f"{name}, {method}: {measure}"]
    tau, factor = measure.split(" x ")
    (a_low, a_high), b = ends(rows[tau][method]), Decimal(rows[factor][method])
    if (name, method, factor) == ("Chess", "normal", "g"):
        b = Decimal(9)  # not the printed 13
    b_low, b_high = ends(rows[factor][method]) if factor == "s" else (b, b)
    product = Decimal(rows[tau][method]) * b
    low, high = ends(rows[measure][method])
    # the true product may lie as far above the factors' as they may have been rounded down
    assert claim.low == pytest.approx(float(low - (a_high * b_high - product)), rel=1e-12)
    assert claim.high == pytest.approx(float(high + (product - a_low * b_low)), rel=1e-12)
    assert claim.paper == rows[measure][method] and claim.printed == float(claim.paper)


def test_ratios_and_their_errors_by_hand():
    # CTG, data: half a unit of .011 and of .005, each a uniform error
    relative = (0.0005**2 / 3 / 0.011**2 + 0.0005**2 / 3 / 0.005**2) ** 0.5
    assert errata.run(None, None)["s"]["CTG", "data"] == pytest.approx((2.2, 2.2 * relative))
    # Chess, data against normal: g = L = 9, not the printed 13
    of_tau, of_s = ((0.05 / 6.2) ** 2 + (0.05 / 5.0) ** 2,
                    (0.0005 / 0.011) ** 2 + (0.0005 / 0.005) ** 2)
    for key, value, rounding in (
            (("Chess", "data", "normal", "tau_beta x g"), 18.9 * 9 / (19.0 * 11.8),
             (0.05 / 18.9) ** 2 + (0.05 / 19.0) ** 2),
            (("CTG", "data", "HMC", "tau x s"), 6.2 * 0.011 / (5.0 * 0.005), of_tau + of_s)):
        assert errata.log_ratio(*key) == pytest.approx(
            (np.log(value), (2 * printed.SE_LOG_TAU**2 + rounding / 3) ** 0.5), rel=1e-12)


def test_misprints_and_comparisons_are_shown():
    result = errata.run(None, None)
    text = errata.table(result)
    assert text.count(" z = ") == 48
    # a ratio of 1.5 is 2 errors from 1 where its squared error is 2 x 2 / (N^(1/3) - 1)
    (needed,) = re.findall(r"a ratio of 1\.5 takes (\S+) of them", text)
    error = (4 / (float(needed) ** (1 / 3) - 1)) ** 0.5
    assert 2 * error == pytest.approx(np.log(1.5), rel=0.02)  # two digits are shown, of N
    assert ["Chess", "tau x g", *(f"{ratio:.2f}  z = {z:5.2f} {stars}" for ratio, z, stars in (
        (1.86, 1.81, "*"), (1.50, 1.18, "*"), (0.81, -0.63, "**")))] in [
            [*row.values()] for row in read_table(text, "problem")]
    # 4.6 x 20 / (3.2 x 10) = 2.875 and 23.4 x 20 / (18.9 x 9) = 2.751
    assert " 2.88  z =  3.08 *" in text and " 2.75  z =  2.95 *" in text
    above, below = errata.figure(result).axes
    assert above.get_title().startswith("5 of the 48 ") and below.get_title().startswith("which")
    assert [float(tick.get_text()) for tick in below.get_xticklabels()] == [*below.get_xticks()]
    (shown,) = above.tables
    cells = {key: cell.get_text().get_text() for key, cell in shown.get_celld().items()}
    assert len(cells) == 4 * 6  # five of the 48 products, below their heads
    assert [cells[row, k] for row in (0, 3) for k in range(4)] == [
        "", "printed", "of the printed factors", "rounding allows",
        r"StatLog, HMC: $\tau_{\beta}$ $\times$ $s$", "0.191", r"5.6 $\times$ 0.033 = 0.185",
        "0.1804 to 0.1893"]  # 5.55 x 0.0325 and 5.65 x 0.0335
    # the product of the wrong g
    assert [text for text in cells.values() if "not 13" in text] == [
        r"18.9 $\times$ 9 (not 13) = 170"]


def test_each_comparison_of_the_figure_is_in_its_place():
    result, keys = made_up(), [(name, *pair, measure) for name in PROBLEMS
                               for pair in errata.PAIRS for measure in MEASURES]
    for k, key in enumerate(keys):  # z of the text's order: 4, 1, and -2
        result["log"][key] = Measured((0.4, 0.1, -0.2)[k % 3] * (errata.stated_sign(*key) or 1),
                                      0.1)
    fig = errata.figure(result)
    _, below = fig.axes
    labels = [label.get_text() for label in below.get_yticklabels()]
    named = fig.legends[0].legend_handles  # of measures, and of how a comparison comes out
    assert len({mark.get_marker() for mark in named[:4]}) == 4
    assert len({mark.get_color() for mark in named[4:]}) == 3
    assert [mark.get_label().split(", ")[-1] for mark in named[4:]] == [
        "2 standard errors or more", "less than 2", "with $g = L$"]
    for k, (key, bars) in enumerate(zip(keys, below.containers, strict=True)):
        name, better, worse, measure = key
        point, value = bars.lines[0], result["log"][key].value
        assert labels[k // 4] == f"{name}: {worse} / {better}"
        assert point.get_xdata()[0] == pytest.approx(np.exp(value), rel=1e-12)
        assert round(float(point.get_ydata()[0])) == k // 4
        assert point.get_marker() == named[MEASURES.index(measure)].get_marker()
        assert point.get_color() == named[4 + k % 3].get_color()
