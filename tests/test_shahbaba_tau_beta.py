"""Is alpha in the sum of squares of tau_beta of Split HMC?  Estimates, claims, what is run."""

import numpy as np
import pytest

import studies
from algorithms.ess import initial_sequence
from judging import check_labels, verdicts
from models.logistic_regression import chain_log_likelihood
from reproduce.beyond import shahbaba_tau_beta as script
from reproduce.harness.claims import Measured
from reproduce.shahbaba import chains
from reproduce.shahbaba.chains import AUTHORS
from reproduce.shahbaba.printed import METHODS, PROBLEMS, number

DATA = "illustrative data of slope 5, seed 1"
CLAIMS = dict(zip(script.SUMS, (claim.what for claim in script.CLAIMS), strict=True))


def made_up():
    """Return a result in which every printed number is ours."""
    return {name: {method: {what: Measured(number(name, what.partition(",")[0], method), 0.01)
                            for what in script.SUMS} for method in METHODS} for name in PROBLEMS}


def shown():
    result = made_up()
    for k, what in enumerate(script.SUMS, 1):
        result["Simulated"]["normal"][what] = Measured(k, 0.01)
    return result


@pytest.mark.parametrize("what", script.SUMS)
def test_what_is_another_changes_its_claim_alone(what):
    # twelve numbers with an error of .243: a factor of 1.5 in each has chi-squared 33 of 12
    for factor, wanted in ((1.2, "agrees"), (1.5, "inconclusive"), (1.8, "differs")):
        result = made_up()
        for each in result.values():
            for found in each.values():
                found[what] = found[what] * factor
        assert verdicts(script, result) == {claim: wanted if claim == CLAIMS[what] else "agrees"
                                            for claim in CLAIMS.values()}
    result = made_up()  # a single one, nine times as large: (log 9 / .243)^2 = 82
    result["Chess"]["normal"][what] *= 9.0
    assert verdicts(script, result)[CLAIMS[what]] == "differs"


def test_a_chain_has_tau_of_each_sum():
    found = script.one_chain(DATA, "HMC", 0.3, 4, 2, 0.5, 400, [3, 1])
    model, fit, _ = stage = chains.problem(DATA, 0.5)
    chain = chains.transitions("HMC", fit.q_hat, stage, 0.3, 4, 2, 400,
                               np.random.default_rng([3, 1]))
    q = chain.samples
    for what, x in (("tau", chain_log_likelihood(q, chain.energies, model)),
                    ("tau_beta", q[:, 1] ** 2 + q[:, 2] ** 2),
                    ("tau_beta, alpha too", q[:, 0] ** 2 + q[:, 1] ** 2 + q[:, 2] ** 2)):
        wanted = initial_sequence(x)
        assert found[what] == pytest.approx([wanted.tau, wanted.se], rel=1e-9)  # another order


def test_every_chain_goes_to_its_problem_and_column():
    experiment = studies.Recorder("paper", lambda function, tasks: [  # whose tau says which it is
        {what: [100.0 * k + j, 1.0] for j, what in enumerate(script.SUMS)}
        for k in range(len(tasks))])
    result = script.run(experiment, None)
    ((_, tasks),) = experiment.calls
    named = zip(("simulated logistic data, seed 2011", *list(PROBLEMS)[1:]), PROBLEMS, strict=True)
    cells = [(data, name, run, method) for data, name in named
             for run, method in zip(("HMC", AUTHORS, "data"), METHODS, strict=True)]
    for k, (task, (data, name, run, method)) in enumerate(zip(tasks, cells, strict=True)):
        assert {key: task[key] for key in ("data_name", "method", "n", "L", "fraction")} == {
            "data_name": data, "method": run, "n": 10_000, "L": number(name, "L", method),
            "fraction": PROBLEMS[name].f}
        assert result[name][method] == {
            what: (100.0 * k + j, 1.0) for j, what in enumerate(script.SUMS)}


def test_the_figure_has_every_number():
    result = made_up()
    result["CTG"]["data"]["tau_beta, alpha too"] = Measured(23.0, 1.15)
    (ax,) = script.figure(result).axes
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(ax.containers) == 24 and labels[8] == "CTG: data"
    # ours over the printed number, and 2 standard errors of both
    point, _, (ends,) = ax.containers[12 + 8].lines
    assert point.get_xydata()[0] == pytest.approx((2.0, 8.15), rel=1e-12)
    se = np.hypot(0.05, script.SE_LOG_TAU)
    np.testing.assert_allclose(np.log(ends.get_segments()[0][:, 0] / 2), [-2 * se, 2 * se])
    named = {mark.get_label(): mark.get_color() for mark in ax.figure.legends[0].legend_handles}
    assert named == {rf"the sum of squares of {name}": bars.lines[0].get_color() for name, bars in (
        (r"$\beta$ alone", ax.containers[0]), (r"$\alpha$ and $\beta$", ax.containers[12]))}
    check_labels([ax], (r"$\tau_{\beta}$", ""))
