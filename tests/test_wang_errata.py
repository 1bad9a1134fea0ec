"""The script that runs what Wang and Neal (2013) have printed beside ours."""

import numpy as np
import pytest

from judging import replaced, verdicts
from reproduce import wang_errata as errata
from reproduce.harness.claims import failures, judge
from reproduce.harness.replicates import Experiment
from reproduce.harness.run import Settings
from reproduce.harness.style import plt
from reproduce.wang import identities
from reproduce.wang.errata import ERRATA, PITFALLS
from reproduce.wang.printed import sentences


@pytest.mark.parametrize("key", [*ERRATA, *PITFALLS, "N8"])
def test_a_number_beyond_rounding_changes_its_claim(key):
    e = (ERRATA | PITFALLS).get(key)
    inside = {name: (one.low + one.high) / 2 for name, one in ERRATA.items()}
    result = errata.Result(
        inside | dict.fromkeys(PITFALLS, 1.0), inside | dict.fromkeys(PITFALLS, 0.0),
        {each: float(errata.printed_value(*each)) for each in errata.PRODUCTS},
        sentences() | {"grows": 5}, {"N8": 0.0})
    assert set(verdicts(errata, result).values()) == {"agrees"}
    if key == "N8":
        moved = [("numbers", value, "N8: log |C| less log prod R_ii^2") for value in (-2e-9, 2e-9)]
    elif key in PITFALLS:  # a count: by one
        moved = [("ours", 2 * e.exact or 1, e.what),
                 ("printed", 1e-4, f"{e.what}; but {e.otherwise}")]
    else:
        moved = [(side, value, f"{key}, {said}: {e.what}") for value in (
            e.low - 0.01 * (e.high - e.low), e.high + 0.01 * (e.high - e.low))
            for side, said in (("printed", "as printed"), ("ours", "ours"))]
    for side, value, what in moved:
        found = verdicts(errata, replaced(result, [side, key], value))
        assert [name for name, verdict in found.items() if verdict != "agrees"] == [what]


def test_a_nonreversible_sweep_and_its_reverse_leave_the_density_invariant():
    pi, star = identities.problem(7, 1)
    first, second = identities.updates(star)
    for P in (first @ second, second @ first, identities.metropolis_matrix(first, pi, pi)):
        assert identities.distance_from_invariance(P, star if P is not pi
                                                   else pi) < 1e-15  # a sum of seven products
    flow = star[:, None] * (first @ second)
    assert np.abs(flow - flow.T).max() > 1e-3
    back = star[:, None] * (second @ first)
    np.testing.assert_allclose(flow, back.T, rtol=0, atol=1e-16)


def test_acceptance_with_pi_itself_is_certain():
    pi, star = identities.problem(5, 2)
    first, second = identities.updates(pi)
    Q = first @ second
    np.testing.assert_allclose(identities.metropolis_matrix(Q, pi, pi), Q, rtol=0,
                               atol=1e-15)  # rounding
    # with another pi* and a reversible proposal: detailed balance
    P = identities.metropolis_matrix(identities.updates(star)[0], pi, star)
    flow = pi[:, None] * P
    np.testing.assert_allclose(flow, flow.T, rtol=0, atol=1e-15)
    assert np.abs(P - np.diag(np.diag(P))).max() > 0.01


def test_the_operations_are_those_of_the_dense_formulas():
    # leading terms exactly: products of two numbers, one for each, of triangles half
    p, m, n = 3, 6, 20
    done = identities.operations(p, m, n, 1)
    assert done["K^(n,m)"] == m * n * (p + 2)  # squares, an exponential, eta^2
    assert done["K^(n,m) R^-1"] == n * m * (m + 1) / 2
    assert done["B'B"] == n * m * (m + 1) / 2
    assert done["chol(K^(m,m))"] == sum((m - k) * k + m - k - 1 for k in range(m))
    assert done["chol(I + B'B / d)"] == m * m + done["chol(K^(m,m))"]


def test_pivots_are_those_of_cholesky():
    A = np.array([[4.0, 2, 0], [2, 3, 1], [0, 1, 0.4]])
    assert not identities.all_pivots_positive(A)  # its determinant is -.8
    assert identities.all_pivots_positive(A + 0.2 * np.eye(3))
    assert A[1, 1] == 3  # not modified
    assert identities.without_factor(1, 0.1, 60, 30, 1e-10, 3, 1) == 0
    assert identities.without_factor(1, 2.0, 60, 30, 0.0, 3, 1) == 3


def test_the_law_of_the_naive_mapping_is_found_by_going_on_and_on():
    found = identities.naive_reverse(5, 3, 2)["invariant"]
    for k, value in enumerate(found):
        pi, star = identities.problem(5, [2, k])
        first, second = identities.updates(star)
        R = first @ second  # taken for its own reverse
        weight = pi / star
        P = R * np.minimum(1, weight[None] / weight[:, None])
        P += np.diag(1 - P.sum(axis=1))
        law = np.linalg.matrix_power(P, 2**14)[0]
        assert value == pytest.approx(np.abs(law - pi).max() / pi.max(), rel=1e-9)
        assert value > 1e-3


def test_a_gibbs_sweep_of_a_pair():
    found = identities.gibbs(0.9)
    assert found["x1 x2'"] == pytest.approx(0.9**3, rel=1e-12)  # rho E[x_1 x_1'] = rho^2 E[x_1 x_2]
    assert found["x2 x1'"] == pytest.approx(0.9, rel=1e-12)
    assert (found["printed"], found["ours"]) == (pytest.approx(0.171, rel=1e-12), 0)


def test_a_run_of_seconds_finds_every_erratum(monkeypatch, tmp_path):
    monkeypatch.setattr("reproduce.harness.replicates.figures", lambda budget: tmp_path)
    result = errata.run(Experiment(errata.NAME, Settings("smoke")), None)
    findings = judge(errata.CLAIMS, result, "smoke")
    assert failures(findings) == []
    found = {f.claim.what: f.verdict for f in findings}
    for key in ERRATA:
        for what, verdict in found.items():
            if what.startswith(f"{key}, "):
                assert verdict == ("known difference" if "as printed" in what else "agrees")
    text = errata.table(result)
    assert all(f"N{k}, " in text for k in (1, 3, 4, 7, 8, 9))
    for e in PITFALLS.values():
        assert found[e.what] == "agrees" and e.says in text
    assert len(errata.figure(result).axes) == 4
    plt.close("all")
