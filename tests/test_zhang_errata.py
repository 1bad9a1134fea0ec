"""The script that runs what Zhang and Sutton (2014) print beside ours."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.zhang_sshmc import sshmc
from judging import check_labels, check_moves, put, read_tables, verdicts
from models.funnel import Funnel
from reproduce import zhang_errata as errata
from reproduce.harness.claims import Measured, failures, judge
from reproduce.harness.replicates import Experiment
from reproduce.harness.run import Settings
from reproduce.zhang import identities
from reproduce.zhang.datasets import simulated_credit
from reproduce.zhang.errata import ERRATA, MISPRINTS
from reproduce.zhang.printed import number
from reproduce.zhang.printed_formulas import PRINTED, as_printed, third_from_the_start

SENTENCES = {"7 times": 7.0, "two times": 1.8, "six times": 6.0, "better low level": 1.2}


def made_up():
    both = {key: Measured((e.low + e.high) / 2, 0.001 * (e.high - e.low))
            for key, e in ERRATA.items()}
    return errata.Result(
        both, both | {"Z10": Measured(0.0, 0.1)}, flow={}, traces={}, sizes=[9, 100, 285],
        attributes=(16, 4), ratios={key: number(*key) for key in errata.RATIOS},
        sentences=SENTENCES)


MOVED = {
    # ten standard errors outside of the interval, at either end
    **{f"{side} {key} {value}": (put(side, key, Measured(value, 0.1 * out)), [claim.what])
       for key, e in ERRATA.items() for out in [0.01 * (e.high - e.low)]
       for value in (e.low - out, e.high + out)
       for side, words in (("printed", "as printed"), ("ours", "ours"))
       for claim in errata.CLAIMS if claim.what.startswith(f"{key}, {words}: ")},
    # rounding allows 9 % at most, of 0.6
    **{f"{key} {factor}": (put("ratios", key, factor * number(*key)), [
        f"{key[0]}, {key[1]}: {key[2]}"]) for key in errata.RATIOS for factor in (0.9, 1.1)},
    **{f"{key} {value}": (put("sentences", key, value), [what]) for what, key, *values in (
        ("Table 3: time of SSHMC / HMC", "7 times", 6.4, 7.6),
        ("Table 3: ESS/s of SSHMC / RMHMC(Gibbs)", "two times", 2.1, 1.4),
        ("Table 4: ESS/h of SSHMC / RMHMC(Gibbs)", "six times", 6.6, 5.4),
        ("Table 1: min ESS/s of x, RMHMC(Gibbs) / SSHMC", "better low level", 0.9))
       for value in values},
    **{f"a Jacobian of {score}": (put("ours", "Z10", Measured(score, 0.1)), [errata.SCORE.what])
       for score in (-1.0, 1.0)},
    **{what: (put(*place), [f"Z17: {what}"]) for what, *place in (
        ("smallest group", "sizes", 0, 8), ("largest group", "sizes", 2, 284),
        ("categorical", "attributes", 0, 15), ("numeric", "attributes", 1, 5))},
}


def test_one_number_moved_and_no_other_claim_differs():
    check_moves(errata, made_up(), MOVED)


def test_a_ratio_may_differ_by_what_rounding_took_away():
    # Table 3, HMC: 50 / 162 from 49.5 / 162.5 to 50.5 / 161.5, printed as 0.31
    (claim,) = [c for c in errata.CLAIMS if c.what == "Table 3, HMC: all/s"]
    assert claim.low == pytest.approx(0.305 - (50.5 / 161.5 - 50 / 162), rel=1e-12)
    assert claim.high == pytest.approx(0.315 + (50 / 162 - 49.5 / 162.5), rel=1e-12)
    # the least of all: 815 of v, not 2050 of the weights
    assert errata.ratio("Table 2", "HMC", "all/s")[0] == pytest.approx(815 / 378, rel=1e-12)
    assert errata.ratio("Table 1", "SSHMC", "v/s")[0] == pytest.approx(1541.67 / 22.12, rel=1e-12)


def test_the_misprints_of_the_tables_are_known_and_there_are_no_others():
    result = made_up()._replace(ratios={key: errata.ratio(*key)[0] for key in errata.RATIOS},
                                sentences=errata.sentences())
    found = verdicts(errata, result)
    assert {what for what in found if found[what] == "known difference"} == {
        f"{t}, {m}: {c}" for t, m, c in MISPRINTS} | {
        "Table 3: time of SSHMC / HMC", "Table 1: min ESS/s of x, RMHMC(Gibbs) / SSHMC"}
    assert result.sentences == pytest.approx({"7 times": 883 / 162, "two times": 1.57 / 0.89,
                                              "six times": 103.8 / 16.0,
                                              "better low level": 55.15 / 103.57}, rel=1e-12)
    assert set(found.values()) == {"agrees", "known difference"}


def test_the_variants_are_the_funnel_but_for_what_is_printed():
    rng = np.random.default_rng
    ours = sshmc([0.3, -0.2], [0.4], Funnel.from_size(2), 0.2, 0.3, 5, 20, rng(1))
    same = sshmc([0.3, -0.2], [0.4], as_printed(2), 0.2, 0.3, 5, 20, rng(1))
    np.testing.assert_allclose(same.phi, ours.phi, rtol=0, atol=1e-12)  # rounding of 100 steps
    assert ours.accepted.mean() > 0.8
    others = [sshmc([0.3, -0.2], [0.4], as_printed(2, **PRINTED[name]), 0.2, 0.3, 5, 20, rng(1))
              for name in ("Z1", "Z2", "Z4")]
    others.append(third_from_the_start("sshmc")(
        np.array([0.3, -0.2]), np.array([0.4]), Funnel.from_size(2), 0.2, 0.3, 5, 20, rng(1), 1, 1,
        0.0, np.arange(2)))
    assert all(np.abs(other.phi - ours.phi).max() > 0.1 for other in others)


@pytest.mark.parametrize(("key", "name"), [("Z4", "Z4"), ("Z4", "ours"), ("Z1", "ours")])
def test_a_chain_starts_where_it_says_and_its_second_half_counts(key, name, monkeypatch):
    asked = []
    monkeypatch.setattr(errata, "sshmc", lambda *given: asked.append(given[:3]) or SimpleNamespace(
        phi=np.arange(200.0)[:, None], accepted=np.arange(200) < 150))
    found = errata.run_chain(key, name, 200, [5])
    assert (found["v"], found["AP"]) == (149.5, 0.5)  # of 100 to 199
    assert found["trace"].tolist() == [2.0 * k for k in range(100)]
    ((theta, phi, model),) = asked
    rng = np.random.default_rng([5])
    v = 6.0 if key == "Z4" else 3 * rng.standard_normal()
    assert phi == v and model.drawn == (-1.0 if name == "Z4" else 1.0)
    np.testing.assert_allclose(theta * np.exp(v / 2), rng.standard_normal(100), rtol=1e-12)


def test_numbers_of_the_identities():
    masses = identities.funnel_masses(20, 2, 1)
    assert (masses["Z6"], masses["Z"]) == (pytest.approx(-15, rel=1e-12), 0)  # -3 n / 4
    assert masses["Z4"] == pytest.approx(np.exp(2), rel=1e-12)
    assert identities.one_step(3, 1e-3, 1)["symplectic"] < 1e-2  # of a short step: the identity
    cox = identities.cox_masses(3, 2, 1)
    np.testing.assert_allclose(np.subtract(cox["density"], cox["Z9"]), 0.5, rtol=1e-12)


def test_a_run_of_seconds_finds_every_erratum(figures):
    data = simulated_credit()._replace(note="no attributes")
    result = errata.run(Experiment(errata.NAME, Settings("smoke")), data)
    assert result.attributes is None
    findings = judge(errata.CLAIMS, result._replace(attributes=(13, 7)), "smoke")
    assert failures(findings) == []
    found = {f.claim.what: f.verdict for f in findings if f.claim.what.split(",")[0] in ERRATA}
    assert len(found) == 18  # chains are too short yet
    for what, verdict in found.items():
        assert verdict == ("known difference" if "as printed" in what else "agrees")
    text = errata.table(result)
    assert all(f"Z{k}" in text for k in range(1, 19) if k != 17)
    assert len(errata.figure(result).axes) == 3


def test_the_table_has_the_number_of_the_paper_and_ours_under_their_heads():
    text = errata.table(made_up()._replace(
        printed=dict.fromkeys(ERRATA, Measured(1.5)), ours=dict.fromkeys(ERRATA, Measured(2.5)),
        ratios=dict.fromkeys(errata.RATIOS, 3.5)))
    assert all(f"{e.where}: {e.theirs}; right is {e.ours}" in text for e in ERRATA.values())
    rows, ratios = read_tables(text)
    assert rows == [{"": key, "number": e.what, "of the paper": "1.5", "of ours": "2.5"}
                    for key, e in ERRATA.items()]
    assert ratios[0] == {"table": "Table 1", "method": "HMC", "ratio": "min/s", "printed": "3.14",
                         "of its factors": "3.5"}


def test_the_ratios_whose_rounding_does_not_reach_one_are_the_misprints():
    result = made_up()._replace(traces={"as printed": [1.0, 5.0, 2.0]}, flow={
        "1": [0.4, 0.3, 0.2, 0.1], "2": [0.8, 0.6, 0.4, 0.3]})
    fig = errata.figure(result)
    check_labels(fig.axes, ("share of the chain", "$v$"), (r"$\varepsilon$", "distance"),
                 ("printed ratio", ""))
    traces, flow, ratios = fig.axes
    assert "as printed" in traces.get_title() and "Algorithm 1" in flow.get_title()
    assert traces.get_lines()[0].get_ydata().tolist() == [1.0, 5.0, 2.0]
    one, two, slope = flow.get_lines()
    assert [line.get_ydata().tolist() for line in (one, two)] == list(result.flow.values())
    assert one.get_label().startswith("1 leapfrog for") and two.get_label().startswith("2 leapf")
    np.testing.assert_allclose(np.diff(np.log(slope.get_ydata())), -2 * np.log(2), rtol=1e-12)
    drawn = ratios.get_lines()[: 2 * len(errata.RATIOS)]
    for k, (key, bar, dot) in enumerate(zip(errata.RATIOS, drawn[::2], drawn[1::2], strict=True)):
        (low, high), (x, y) = bar.get_xdata(), dot.get_xydata()[0]
        assert low < x < high and y == k == bar.get_ydata()[0]
        assert (low <= 1 <= high) == (key not in MISPRINTS) == (dot.get_marker() == "o")
