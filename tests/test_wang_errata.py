"""The script that runs what Wang and Neal (2013) have printed beside ours."""

import numpy as np
import pytest

from judging import check_labels, check_moves, put, read_tables
from reproduce import wang_errata as errata
from reproduce.harness.claims import failures, judge
from reproduce.harness.replicates import Experiment
from reproduce.harness.run import Settings
from reproduce.harness.style import MARKERS
from reproduce.wang import identities
from reproduce.wang.errata import ERRATA, MISPRINTS, PITFALLS
from reproduce.wang.printed import METHODS, PRODUCTS, ROWS, SOD, STANDARD

SENTENCES = {"largest gain": 3.9, "more efficient": 10, "grows": 5, "outside": 2, "long": 0.1,
             "short": 0, "tempered": 0.8, "Nystrom": 1.9}


def made_up():
    """Return a result of which every claim is true: as printed is as good as ours."""
    inside = {key: (e.low + e.high) / 2 for key, e in ERRATA.items()}
    return errata.Result(
        inside | dict.fromkeys(PITFALLS, 1.0), inside | dict.fromkeys(PITFALLS, 0.0),
        {key: float(errata.printed_value(*key)) for key in errata.PRODUCTS}, SENTENCES,
        {"N8": 0.0})


def shown():
    """Return it with another number in each column of the table."""
    result = made_up()
    return result._replace(
        ours=result.ours | dict.fromkeys(PITFALLS, 0.25),
        factors={key: 2 * value for key, value in result.factors.items()},
        numbers={"gibbs": (0.1, 0.2), "naive": {"invariant": [0.3]}, "operations": {"factor": 7}})


MOVED = {
    # beyond the interval, at either end; a count: by one
    **{f"{side} {key} {value}": (put(side, key, value), [f"{key}, {words}: "])
       for key, e in ERRATA.items() for out in [0.01 * (e.high - e.low) or 1]
       for value in (e.low - out, e.high + out)
       for side, words in (("printed", "as printed"), ("ours", "ours"))},
    **{f"{key} is there": (put("ours", key, 1.2 * e.exact or 1), [e.what])
       for key, e in PITFALLS.items()},
    **{f"{key} is none": (put("printed", key, 9e-3), [f"{e.what}; but"])
       for key, e in PITFALLS.items()},
    # rounding allows 15 % at most, of .69
    **{f"{key} {factor}": (put("factors", key, factor * float(errata.printed_value(*key))), [
        f"Table 2, {errata.name(*key)}"]) for key in errata.PRODUCTS for factor in (0.84, 1.16)},
    **{f"determinant {x}": (put("numbers", "N8", x), ["N8"]) for x in (-1.2e-9, 1.2e-9)},
    **{f"{key} {value}": (put("sentences", key, value), [f"Table 2: {what}"])
       for what, key, *values in (
           ("largest T_STD", "largest gain", 4.6, 3.4), ("rows in", "more efficient", 8),
           ("pairs of rows", "grows", 2), ("m / n outside", "outside", 5),
           ("least m / n", "long", 0.11, 0.09), ("results of", "short", 1),
           ("largest T_TMP", "tempered", 1.01), ("T_SOD", "Nystrom", 1.4)) for value in values},
}


def test_one_number_moved_and_no_other_claim_differs():
    check_moves(errata, made_up(), MOVED)


def test_table_2_by_hand_and_the_numbers_that_sentences_are_about():
    # row 1: .26 x 2.90 from .255 x 2.895 to .265 x 2.905, printed as .76
    assert errata.product_of_factors(1, STANDARD) == pytest.approx((0.255 * 2.895, 0.26 * 2.9,
                                                            0.265 * 2.905), rel=1e-12)
    low, value, high = errata.product_of_factors(1, SOD)
    assert (low, high) == pytest.approx(
        (0.0775 * 4.315 / (0.265 * 2.905), 0.0785 * 4.325 / (0.255 * 2.895)), rel=1e-12)
    claim = errata.factor_claim(1, SOD)
    assert (claim.low, claim.high) == pytest.approx(
        (0.445 - (high - value), 0.455 + (value - low)), rel=1e-12)
    # outside: 60 of 900 in row 6
    assert errata.sentences() == pytest.approx({
        "largest gain": 1 / 0.27, "more efficient": 10, "grows": 4, "outside": 1, "long": 0.1,
        "short": 0, "tempered": 0.69 / 0.81, "Nystrom": 0.67 / 0.34}, rel=1e-12)


def test_identities_on_the_line_of_a_nonreversible_sweep_and_of_acceptance():
    pi, star = identities.problem(5, 2)
    Q = np.linalg.multi_dot(identities.updates(pi))
    np.testing.assert_allclose(identities.metropolis_matrix(Q, pi, pi), Q, rtol=0, atol=1e-15)
    # with another pi* and a reversible proposal: detailed balance
    P = identities.metropolis_matrix(identities.updates(star)[0], pi, star)
    flow = pi[:, None] * P
    np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-15)
    assert np.abs(P - np.diag(np.diag(P))).max() > 0.01
    first, second = identities.updates(star)
    for P in (first @ second, second @ first):
        assert identities.distance_from_invariance(P, star) < 1e-15  # a sum of five products
    flow, back = (star[:, None] * P for P in (first @ second, second @ first))
    assert np.abs(flow - flow.T).max() > 1e-3
    np.testing.assert_allclose(flow, back.T, rtol=0, atol=1e-16)


def test_operations_pivots_and_inverses_are_those_of_dense_formulas_and_cholesky():
    # leading terms exactly: products of two numbers, one for each, of triangles half
    p, m, n = 3, 6, 20
    done = identities.operations(p, m, n, 1)
    assert done["K^(n,m)"] == m * n * (p + 2)  # squares, an exponential, eta^2
    assert done["K^(n,m) R^-1"] == n * m * (m + 1) / 2
    assert done["B'B"] == n * m * (m + 1) / 2
    assert done["chol(K^(m,m))"] == sum((m - k) * k + m - k - 1 for k in range(m))
    assert done["chol(I + B'B / d)"] == m * m + done["chol(K^(m,m))"]
    A = np.array([[4.0, 2, 0], [2, 3, 1], [0, 1, 0.4]])
    assert not identities.all_pivots_positive(A)  # its determinant is -.8
    assert identities.all_pivots_positive(A + 0.2 * np.eye(3))
    assert A[1, 1] == 3  # not modified
    assert identities.without_factor(1, 0.1, 60, 30, 1e-10, 3, 1) == 0
    assert identities.without_factor(1, 2.0, 60, 30, 0.0, 3, 1) == 3
    assert max(identities.nystrom_inverses(9, 9, 1)) < 1e-8  # of all vectors, orthonormal


def test_the_law_of_the_naive_mapping_is_found_by_going_on_and_on():
    found = identities.naive_reverse(5, 3, 2)["invariant"]
    for k, value in enumerate(found):
        pi, star = identities.problem(5, [2, k])
        weight = pi / star
        # the sweep is taken for its own reverse
        P = np.linalg.multi_dot(identities.updates(star)) * np.minimum(
            1, weight[None] / weight[:, None])
        P += np.diag(1 - P.sum(axis=1))
        law = np.linalg.matrix_power(P, 2**14)[0]
        assert value == pytest.approx(np.abs(law - pi).max() / pi.max(), rel=1e-9)
        assert value > 1e-3


def test_a_run_of_seconds_finds_every_erratum(figures):
    result = errata.run(Experiment(errata.NAME, Settings("smoke")), None)
    findings = judge(errata.CLAIMS, result, "smoke")
    assert failures(findings) == []
    assert {f.claim.what.partition(":")[0] for f in findings if f.verdict != "agrees"} == {
        *(f"{key}, as printed" for key in ERRATA),
        *(f"Table 2, {errata.name(*key).partition(':')[0]}" for key in MISPRINTS)}
    # E[x_1 x_2'] first: x_2' comes of x_1', x_1' of x_2; E[x_2 x_1'] is rho
    assert result.numbers["gibbs"] == pytest.approx([0.9**3, 0.9], rel=1e-12)
    text = errata.table(result)
    assert all(f"{e.where}: {e.theirs}; right is {e.ours}" in text for e in ERRATA.values())
    for heads, (key, what), left, right in (
            (["as the paper says", "error then"], next(iter(errata.PITFALLS.items())),
             result.ours, result.printed),
            (["ours", "as printed"], next(iter(ERRATA.items())), result.ours, result.printed)):
        (row,) = [row for table in read_tables(text) for row in table if what.what in row.values()]
        assert [float(row[head].split()[0]) for head in heads] == pytest.approx(
            [float(np.ravel(side[key])[0]) for side in (left, right)], rel=1e-2)
    axes = errata.figure(result).axes
    check_labels(axes, ("m / n", "relative error"), ("problem", r"largest $|\pi P"),
                 ("printed / by", ""), ("data set", "$T_{STD}"))
    # (32) is exact but for rounding, (37) is not
    largest = {line.get_label(): max(line.get_ydata()) for line in axes[0].lines}
    assert len(axes) == 4 and largest["(32)"] < 1e-6 < 0.01 < largest["(37)"]
    points = [line for line in axes[2].lines if line.get_marker() in ("D", "^", *MARKERS)]
    for (row, method), point in zip(PRODUCTS, points, strict=True):
        place = list(ROWS).index(row) + 0.2 * (METHODS.index(method) - 1.5)
        assert point.get_xydata()[0] == pytest.approx(
            [ROWS[row].ratio.get(method, ROWS[row].product) / result.factors[row, method], place])
    colours = [line.get_color() for line in axes[1].lines]  # same and opposite order, twice
    assert colours[::2] == colours[1::2] and colours[0] != colours[2]
    # the geometric mean of Table 2's gains by a subset
    assert np.log(axes[3].lines[0].get_ydata()).mean() == pytest.approx(np.log(1.85), abs=0.01)


def test_a_gibbs_sweep_of_a_pair():
    found = identities.gibbs(0.9)
    assert found["x1 x2'"] == pytest.approx(0.9**3, rel=1e-12)  # rho E[x_1 x_1'] = rho^2 E[x_1 x_2]
    assert found["x2 x1'"] == pytest.approx(0.9, rel=1e-12)
    assert (found["printed"], found["ours"]) == (pytest.approx(0.171, rel=1e-12), 0)
