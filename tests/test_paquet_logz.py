"""beyond/paquet_logz.py: every method of the ladder estimates the same log Z, and each claim is
about what it says."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.orthant import orthant
from judging import check_labels, read_tables, verdicts
from reproduce.beyond import paquet_logz as script
from reproduce.harness.claims import UNMADE, Measured
from reproduce.harness.run import Settings
from reproduce.paquet.digits import digits_3v5
from reproduce.paquet.problem import problem

DIGITS = digits_3v5().name


# temperatures or points, runs, and the least of the effective runs that these seeds have
# (test_paquet_rivals.py tries what is annealed)
AT_THREE = {"AISq-HMC": (40, 400, 350), "tilting": (256, 16, 15), "SciPy's cdf": (20_000, 8, 7),
            "IS from q": (1, 20_000, 5000)}


@pytest.mark.parametrize("method", AT_THREE)
def test_every_method_finds_the_evidence_of_three_cases(method):
    B, runs, effective = AT_THREE[method]
    found = script.put_together([script.estimate(method, DIGITS, 3, B, runs, 5)])
    K, y, _ = problem(DIGITS, 3)
    log_Z = math.log(orthant(np.outer(y, y) * K, 1))  # by Plackett's identity, in closed form
    assert found.runs == runs and found.effective >= effective
    # 4 standard errors, of fixed seeds; 1e-6 is what SciPy's 20000 points can do at N = 3
    assert abs(found.log_Z.value - log_Z) < 4 * found.log_Z.se + 1e-6
    assert found.log_Z.se < 0.12  # so that an error of a half would be seen
    assert math.isfinite(found.bound) == (method == "tilting")
    if method == "tilting":
        assert found.bound > found.log_Z.value


def test_every_method_has_its_start_its_ladder_and_its_kernel(monkeypatch):
    seen = {}

    def ais(model, betas, kernel, runs, rng):
        seen[name] = model.tau.any(), betas.tolist()[:2], len(betas), kernel, runs
        return SimpleNamespace(log_weights=[-1.0, -2.0], divergences=np.array([2, 0, 5]))

    monkeypatch.setattr(script, "ais", ais)
    for name in ("AISq-RMHMC", "AISq-HMC", "AIS-HMC", "IS from q"):
        found = script.estimate(name, DIGITS, 40, 6, 9, 0)
        assert found.get("divergences", 7) == 7  # of all runs
    assert seen == {  # Section 5 of the paper; a step of HMC below the limit of q at N = 40
        "AISq-RMHMC": (True, [0.0, 1e-3], 7, (0.1, 10, 5), 9),
        "AISq-HMC": (True, [0.0, 1e-3], 7, (0.2, 200), 9),
        "AIS-HMC": (False, [0.0, 1e-6], 7, (0.2, 200), 9),
        "IS from q": (True, [0.0, 1.0], 2, (1e-3, 1), 9)}
    assert script.HMC_EPS[767] == 0.02  # the paper's


@pytest.mark.parametrize("N", [1, 2, 3, 8, 40])
def test_steps_of_hmc_are_stable_in_q(N):
    # leapfrog is stable below 2 deviations in the direction in which q is narrowest
    assert script.HMC_EPS[N] < 2 * np.linalg.eigvalsh(problem(DIGITS, N)[2].Sigma)[0] ** 0.5


def test_replicates_and_points_are_put_together_by_hand():
    found = script.put_together([{"log_weights": [0.0], "divergences": 2},
                                 {"log_weights": [math.log(3)], "divergences": 1}])
    # weights 1 and 3: mean 2, standard deviation sqrt(2), standard error 1; 16 / 10 effective runs
    assert found.log_Z == pytest.approx((math.log(2), 0.5), rel=1e-14)  # rounding
    assert found.effective == pytest.approx(1.6, rel=1e-14)
    assert (found.runs, found.divergences) == (2, 3)
    # the same points, whose weights are not kept
    summary = script.estimate("IS from q", DIGITS, 2, 1, 500, 3)
    assert summary.keys() == {"log_Z", "standard_error", "effective_runs", "runs"}
    points = script.ais(script.anneal(DIGITS, 2, True), np.array([0.0, 1.0]), script.HMC(1e-3, 1),
                        500, np.random.default_rng(3)).log_weights
    found, wanted = (script.put_together([each]) for each in (summary, {"log_weights": points}))
    assert found[:3] == wanted[:3]


def test_usps_is_asked_for_where_it_is_a_step_of_the_ladder_which_else_ends_at_365(monkeypatch):
    monkeypatch.setattr(script, "usps_3v5", lambda folder: digits_3v5()._replace(note=folder))
    notes = [script.cases(Settings(budget, data="here")).note
             for budget in ("paper", "short", "smoke")]
    assert notes == ["here, so no N = 767"] * 2 + [""]
    def replicates(function, tasks, *_, **__):
        return [dict(log_Z=-1.0, standard_error=0.5, effective_runs=9.0, runs=10)
                if task["method"] == "IS from q" else
                dict(log_weights=[-script.METHODS.index(task["method"]) - task["N"]])
                for task in tasks]

    result = script.run(SimpleNamespace(budget="short", seed=3, replicates=replicates),
                        digits_3v5()._replace(note="USPS is not available"))
    assert list(result.truth) == [1, 2, 3, 8, 40, 365]
    for (method, N), found in result.found.items():
        if method in script.METHODS[:-1]:
            assert found.log_Z.value == pytest.approx(-script.METHODS.index(method) - N, rel=1e-12)


SIZES = [1, 2, 3, 8, 40, 365, 767]
REFERENCES = {("tilting", 40), ("tilting", 365), ("bridge", 767)}
LADDER = [("bridge", 767), *((m, N) for m in ("AISq-RMHMC", "AISq-HMC") for N in SIZES
            if (m, N) != ("AISq-HMC", 365)), *(("AIS-HMC", N) for N in SIZES[:4]),
          *(("tilting", N) for N in SIZES[3:]), ("SciPy's cdf", 8), ("SciPy's cdf", 40)]


def made_up(found=()):
    """Return a result with which all claims agree, log Z = -N, but for what is `found`."""
    truth = {N: Measured(-N, 0.01 * (N > 8)) for N in SIZES}
    result = {key: script.Estimate(Measured(-key[1] + 0.01, 0.02), 50.0, 60) for key in LADDER}
    result |= {key: script.Estimate(truth[key[1]], 50.0, 60) for key in REFERENCES}
    result |= {("EP", N): script.Estimate(Measured(-N - 0.3 * (N > 1))) for N in SIZES}
    result |= {("EP, order 3", N): script.Estimate(Measured(-N - 0.1)) for N in SIZES}
    result |= {("EP, order 4", N): script.Estimate(Measured(-N + 0.05)) for N in SIZES}
    return script.Result(truth, result | dict(found), {}, {})


def changed(result):
    return {what: found for what, found in verdicts(script, result).items() if found != "agrees"}


def test_all_claims_agree_where_the_theory_is_right():
    assert changed(made_up()) == {} and len(script.CLAIMS) == 7 + len(LADDER) - len(REFERENCES)


@pytest.mark.parametrize(("method", "N"), [key for key in LADDER if key not in REFERENCES])
def test_a_biased_sampler_moves_its_own_claim(method, N):
    # the error of the estimate and that of the reference: 0.0224 at most, 0.02 at least
    known = (method, N) == ("AISq-RMHMC", 1)
    for off, found in ((0.1, "known difference" if known else "differs"), (0.06, "inconclusive"),
                       (0.038, "agrees")):
        result = made_up({(method, N): script.Estimate(Measured(-N + off, 0.02), 50.0, 60)})
        assert changed(result) == ({} if found == "agrees" else {
            f"{method}: error / s.e., N = {N}": found})


@pytest.mark.parametrize("N", SIZES)
def test_a_bad_approximation_moves_its_own_claim(N):
    wrong = {("EP, order 4", N): script.Estimate(Measured(-N + 0.5))}
    what = f"|EP error| - |error at order 4|, N = {N}"
    assert changed(made_up(wrong)) == ({what: "differs"} if N > 1 else {})
    wrong = {("EP", N): script.Estimate(Measured(-N + 1.2e-10))}
    assert changed(made_up(wrong)) == ({what: "inconclusive" if N > 8 else "differs"} if N > 1
                                       else {"EP error, N = 1": "differs"})
    # order 3 is shown, and no claim is made of it
    assert changed(made_up({("EP, order 3", N): script.Estimate(Measured(9.9))})) == {}


@pytest.mark.parametrize(("method", "effective", "few"), [
    ("AISq-RMHMC", 19.9, True), ("AISq-RMHMC", 20.0, False), ("AIS-HMC", 19.9, True),
    ("tilting", 5.0, False), ("tilting", 4.9, True), ("SciPy's cdf", 5.0, False),
    ("SciPy's cdf", 4.9, True)])
def test_a_claim_that_rests_on_too_few_runs_cannot_be_told(method, effective, few):
    result = made_up({(method, 8): script.Estimate(Measured(-7.99, 0.02), effective, 60)})
    assert changed(result) == ({f"{method}: error / s.e., N = 8": UNMADE} if few else {})


def test_an_error_counts_the_errors_of_both_unless_the_reference_has_few_runs():
    result = made_up({("tilting", 767): script.Estimate(Measured(-767.05, 0.03), 50.0, 60)})
    result.truth[767] = Measured(-767.0, 0.04)
    assert script.error(result, "tilting", 767) == pytest.approx((-0.05, 0.05), rel=1e-9)
    assert script.in_errors(result, "tilting", 767) == pytest.approx((-1.0, 0.0), rel=1e-9)
    result = made_up({("tilting", 365): script.Estimate(Measured(-365, 0.01), 4.0, 60)})
    assert changed(result) == {"AISq-RMHMC: error / s.e., N = 365": UNMADE}


def test_cells_of_the_table():
    result = made_up({
        ("AISq-RMHMC", 2): script.Estimate(Measured(-2.0066, 0.0044), 19.6, 30, 4)} | {
        ("tilting", N): script.Estimate(Measured(-N, 0.02), 50.0, 60, 0, -N + 0.5 * k)
        for k, N in enumerate((8, 40, 365, 767))})
    result.last_step.update(zip(SIZES, (0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5), strict=True))
    result.data.update({N: "digits" if N < 767 else "USPS" for N in SIZES})
    text = script.table(result)
    assert text.startswith("N = 1, 2, 3, 8, 40, 365: digits; N = 767: USPS\n")
    rows = [line.split() for line in text.splitlines() if line]
    errors, counts = [row for row in rows if row[0] == "AISq-RMHMC"]
    assert errors[1:3] == ["+0.010(20)", "-0.0066(44)"]  # two digits of the error
    assert counts[1:3] == ["50.0/60", "19.6/30"]
    assert next(row for row in rows if row[0] == "tilting")[1:] == [
        "+0.000(20)", "[+0.000(20)]", "[+0.000(20)]", "+0.000(20)"]
    of_z, of_se = read_tables(text)[0]
    for N, truth in result.truth.items():
        assert of_z[str(N)] == f"{truth.value:.5f}"
        assert of_se[str(N)] == (f"{truth.se:.5f}" if truth.se else "exact")
    assert "Divergent transitions in all runs of AIS: 4." in text
    # a bound is of a weight over the mean weight: exp(0), exp(0.5), ...
    assert [row[1:] for row in rows if row[0] == "bound"] == [["1", "1.65", "2.72", "4.48"]]
    assert [row[2:] for row in rows if row[:2] == ["last", "step"]] == [
        ["0.12", "0.25", "0.50", "0.75", "1.00", "1.25", "1.50"]]


def test_each_point_of_the_figure_is_in_its_place():
    far = {("AIS-HMC", 3): script.Estimate(Measured(-3 + 0.2, 0.02), 50.0, 60),  # 10 s.e.
           ("AISq-RMHMC", 1): script.Estimate(Measured(-1 - 0.2, 0.02), 50.0, 60),
           ("AISq-RMHMC", 767): script.Estimate(Measured(-767, 0.02), 19.6, 30)}
    result = made_up(far)
    fig = script.figure(result)
    left, right = fig.axes
    check_labels(fig.axes, ("N, number", r"|error of"), ("N, number", "error / standard"))
    assert left.get_title().startswith("EP and") and "hollow" in right.get_title()
    assert [ax.get_xticklabels()[-1].get_text() for ax in (left, right)] == ["767\nUSPS"] * 2
    bars, *approximations = left.containers
    assert [bar.get_height() for bar in bars] == [0.01 * (N > 8) for N in SIZES]
    for k, name in enumerate(script.APPROXIMATIONS):  # one line up to 365, one for USPS
        both = approximations[2 * k : 2 * k + 2]
        assert {each.get_label() for each in both} == {name}
        points = np.vstack([each.lines[0].get_xydata() for each in both])
        assert np.round(points[:, 0]).tolist() == [1, 2, 3, 4, 5, 6]  # not N = 1
        np.testing.assert_allclose(points[:, 1], [(0.3, 0.1, 0.05)[k]] * 6, rtol=1e-9)
        ends = np.vstack([each.lines[2][0].get_segments() for each in both])[:, :, 1]
        np.testing.assert_allclose(np.ptp(ends, axis=1) / 2, [0.01 * (N > 8) for N in SIZES[1:]],
                                   atol=1e-12)  # the standard error of the reference
    own = [line.get_xydata() for line in left.lines if line.get_label() == "s.e. of AISq-RMHMC"]
    np.testing.assert_array_equal(np.vstack(own), [(k, 0.02) for k in range(7)])
    drawn = {method: [line for line in right.lines if line.get_label() == method]
             for method in script.METHODS}
    for method in script.METHODS[:-1]:
        sizes = [N for N in SIZES if (method, N) in LADDER and (method, N) not in REFERENCES]
        points = np.vstack([line.get_xydata() for line in drawn[method]])
        assert np.round(points[:, 0]).tolist() == [SIZES.index(N) for N in sizes]
        assert [line.get_markerfacecolor() == "none" for line in drawn[method]] == [
            (method, N) == ("AISq-RMHMC", 767) for N in sizes]  # of too few runs
        errors = [script.error(result, method, N) for N in sizes]
        np.testing.assert_allclose(points[:, 1], [
            np.clip(error.value / error.se, -6, 6) for error in errors], rtol=1e-12)
    assert sorted(text.get_text() for text in right.texts) == ["10", "\N{MINUS SIGN}10"]
    for band, patch in zip((4, 2), right.patches, strict=True):
        box = patch.get_extents().transformed(right.transData.inverted())
        assert (box.y0, box.y1) == pytest.approx((-band, band), rel=1e-9)
