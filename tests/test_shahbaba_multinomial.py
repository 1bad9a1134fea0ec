"""Split HMC with more than two classes: R_0, settings, chains, claims."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.shahbaba_split_hmc import split_data
from conftest import Given
from judging import disagreeing, read_table, verdicts
from made_up_chains import five
from models.interface import U, case_entropy, hessian
from reproduce.beyond import shahbaba_multinomial as script
from reproduce.beyond.rivals.moments import as_one, distance, reliability, row_of
from reproduce.harness.claims import UNMADE, Measured
from reproduce.harness.files import Data
from reproduce.shahbaba import multinomial
from reproduce.shahbaba.multinomial import METHODS, SHARES
from sampling.summary import e_bfmi

N, K = 60, 3
ENTROPY, GRADIENT, RANDOM = DATA_SPLITS = METHODS[2:]


@pytest.fixture(scope="module")
def small():
    """Put 60 cases of three classes, with two covariates, in the place of CTG."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N, 2)) * [1.0, 3.0]
    score = X @ [[1.0, 0.0, -1.0], [0.5, -0.5, 0.0]] + rng.gumbel(size=(N, K))
    cases = Data("small", X, score.argmax(1).astype(float))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multinomial, "all_classes", lambda name: cases)
        for name in ("posterior", "points", "split"):  # with caches of their own
            patch.setattr(multinomial, name, cache(getattr(multinomial, name).__wrapped__))
        yield multinomial.posterior("CTG")


def test_R_0_has_the_cases_of_the_largest_scores_and_by_entropy_is_the_algorithms(small):
    model, fit = small
    scores = np.random.default_rng(1).permutation(N)
    parts = multinomial.split_by(model, scores, 0.25)
    assert set(scores[parts.cases]) == set(range(45, 60)) and parts.fraction == 0.25
    np.testing.assert_array_equal(parts.R_0.X, model.X[np.sort(parts.cases)])
    # U_0 has the whole prior; two ways to sum 60 terms
    assert U(fit.q_hat, parts.R_0) + U(fit.q_hat, parts.R_1) == pytest.approx(
        U(fit.q_hat, model), rel=1e-14)
    assert (parts.R_1.precision == 0).all() and (parts.R_0.precision == model.precision).all()
    ours, theirs = multinomial.split("CTG", "entropy", 0.3), split_data(model, fit.q_hat, 0.3)
    np.testing.assert_array_equal(ours.cases, theirs.cases)
    assert ours.fraction == theirs.fraction == 0.3


def test_scores(small):
    model, fit = small
    P = np.exp(model.X @ fit.q_hat.reshape(-1, K))
    P /= P.sum(1, keepdims=True)
    np.testing.assert_allclose(multinomial.score(model, fit.q_hat, "entropy"),
                               -(P * np.log(P)).sum(1), rtol=1e-10)
    # the gradient of log P(y_i) is x_i (e_y - P_i)': its norm is a product
    wanted = np.linalg.norm(np.eye(K)[model.y] - P, axis=1) * np.linalg.norm(model.X, axis=1)
    np.testing.assert_allclose(multinomial.score(model, fit.q_hat, "gradient"), wanted, rtol=1e-9)
    random = multinomial.score(model, None, "random")
    assert len(set(random)) == N and (random == multinomial.score(model, None, "random")).all()
    # independent of the entropies: |r| below 4 / sqrt(60)
    assert abs(np.corrcoef(random, case_entropy(fit.q_hat, model))[0, 1]) < 0.52


def frequencies(model, at):
    return [np.sqrt(np.linalg.eigvalsh(hessian(q, model)).max()) for q in at]


def test_frequencies_scales_of_steps_and_the_length_of_a_trajectory(small, monkeypatch):
    model, fit = small
    at = multinomial.points("CTG")
    assert len(at) == 5 and (at[0] == fit.q_hat).all()
    z = [(fit.Z.T @ (q - fit.q_hat)) * fit.w for q in at[1:]]
    assert 0 < np.mean(np.square(z)) - 0.3 < 1.4  # of 36 normals: 1, +- 3 standard errors of 0.24
    assert multinomial.frequency(model, at) == pytest.approx(max(frequencies(model, at)), rel=1e-12)
    # the cases of R_1 are certain at the mode
    rest = multinomial.split("CTG", "entropy", 0.8).R_1
    assert multinomial.frequency(rest, at) > frequencies(rest, at[:1])[0]
    plans = {method: multinomial.plan("CTG", method) for method in METHODS}
    assert plans["HMC"]["scale"] == pytest.approx(2 / max(frequencies(model, at)), rel=1e-12)
    assert plans["normal"]["scale"] == pytest.approx(np.pi / fit.w.max())
    # a quarter turn of the slowest direction; steps are between 0.8 and 1 of eps, 0.9 on average
    (length,) = {plan["length"] for plan in plans.values()}
    assert 0.9 * length * fit.w.min() == pytest.approx(np.pi / 2, rel=1e-14)


@pytest.mark.parametrize("method", DATA_SPLITS)
def test_f_and_M_have_the_fewest_gradients_for_a_trajectory(small, method):
    model, fit = small
    at, found = multinomial.points("CTG"), {}
    order = np.argsort(-multinomial.score(model, fit.q_hat, method.split(", ")[1]))
    for n_0 in range(3, 60, 3):
        parts = [model._replace(X=model.X[own], y=model.y[own], precision=prior * model.precision)
                 for own, prior in ((np.sort(order[:n_0]), 1), (np.sort(order[n_0:]), 0))]
        w_0, w_1 = (max(frequencies(each, at)) for each in parts)
        for M in range(1, 16):
            of = w_1**2 + (w_0 / M) ** 2
            found[(n_0 * M + N - n_0) ** 2 * of] = n_0 / N, M, 2 / of**0.5, w_1
    f, M, scale, w_1 = found[min(found)]
    plan = multinomial.plan("CTG", method)
    assert (plan["f"], plan["M"]) == (pytest.approx(f), M)
    assert plan["scale"] == pytest.approx(scale, rel=1e-9)
    assert plan["left"] == pytest.approx(w_1 / max(frequencies(model, at)), rel=1e-9)


@pytest.mark.parametrize("rates, taken", [
    ([0.9, 0.8, 0.75, 0.2], 2), ([0.9, 0.8, 0.1, 0.75, 0.2], 1), ([0.9, 0.69, 0.71, 0.2], 2),
    ([0.6, 0.5, 0.1], 0), ([1.0, 1.0, 0.7], 2), ([0.2, 0.9, 0.9, 0.0], 0)])
def test_the_longest_step_that_accepts_enough(rates, taken):
    # made to fall: 0.1 and 0.75 are 0.425 each, 0.69 and 0.71 are 0.7
    assert multinomial.longest(rates) == taken


def test_a_pilot_chain_for_each_share(monkeypatch):
    plan, seen = {"f": 0.2, "M": 3, "scale": 0.5, "length": 4.0, "left": 0.4}, []

    monkeypatch.setattr(multinomial, "run", lambda name, method, setting, n, seed: seen.append(
        (name, method, setting, n, tuple(seed))) or SimpleNamespace(
            energy_error=np.full(n, 0.0 if len(seen) <= 4 else 9.0),
            counts=SimpleNamespace(gradient=10.0 * len(seen))))
    monkeypatch.setattr(multinomial, "plan", lambda name, method: plan)
    found = multinomial.tune("CTG", "normal", 7, [3, 0, 1])
    for share, (_, _, (f, M, eps, L), *_) in zip(SHARES, seen, strict=True):
        # the longest step that divides the trajectory
        assert (f, M) == (0.2, 3) and eps * L == pytest.approx(4.0, rel=1e-15)
        assert eps <= share * 0.5 * (1 + 1e-15) and 4.0 / (L - 1) > share * 0.5
    assert {each[:2] + each[3:4] for each in seen} == {("CTG", "normal", 7)}
    assert {each[4] for each in seen} == {(3, 0, 1, k) for k in range(12)}
    assert found == {"setting": seen[3][2], "share": SHARES[3], "left": 0.4,
                     "rates": pytest.approx([1.0] * 4 + [np.exp(-9.0)] * 8), "gradients": 780.0}


def test_all_methods_sample_the_posterior_and_count_their_gradients(small):
    long = row_of(multinomial.row_of_chains("CTG", "HMC", [0.0, 1, 0.12, 60], 1000, 100, 4, [1]))
    for method in METHODS:
        f, M, L = (0.3, 2, 60) if "data" in method else (0.0, 1, 60)
        row = row_of(multinomial.row_of_chains("CTG", method, [f, M, 0.12, L], 500, 50, 3, [2]))
        found = row["together"]
        assert found.n == 1500 and found.rate > 0.5 and found.divergences == 0
        assert as_one(distance(found, long["together"]), 18) < 4 and row["e_bfmi"] > 0.5
        # one more at the start, of 1600 transitions
        assert found.gradients / 1500 == pytest.approx((f * M + 1 - f) * L, abs=2e-3)


def test_a_row_has_chains_of_their_own_without_their_first_transitions(small, monkeypatch):
    found = multinomial.row_of_chains("CTG", "normal", [0, 1, 0.3, 2], 30, 20, 2, [5])
    whole = [multinomial.run("CTG", "normal", [0, 1, 0.3, 2], 50, [5, k]) for k in range(2)]
    for each, chain in zip(found["chains"], whole, strict=True):
        np.testing.assert_allclose(each["mean"], chain.samples[20:].mean(0), rtol=1e-7)
        assert each["rate"] == multinomial.rate(chain.energy_error[20:])
        assert each["gradients"] == pytest.approx(0.6 * chain.counts.gradient)
        assert each["e_bfmi"] == e_bfmi(chain.energies[20:], 9)
    draws = np.array([chain.samples[20:] for chain in whole])
    assert {key: found[key] for key in ("rhat", "bulk", "tail")} == reliability(draws)
    errors = np.append(np.zeros(45), [np.inf, np.nan, -np.inf, np.log(2), -2.0])
    chain = whole[0]._replace(energy_error=errors)
    monkeypatch.setattr(multinomial, "run", lambda *_: chain)
    (found,) = multinomial.row_of_chains("CTG", "normal", [0, 1, 0.3, 2], 20, 30, 1, [5])["chains"]
    assert (found["divergences"], found["rate"]) == (3, pytest.approx(16.5 / 20, rel=1e-15))


def test_chains_start_at_the_first_draw_which_is_of_the_normal_approximation(small, monkeypatch):
    model, fit = small
    A = np.array([multinomial.draw(fit, Given(e)) - fit.q_hat for e in np.eye(9)])
    # rounding, of a matrix with a condition of 3e3
    np.testing.assert_allclose(A.T @ A @ hessian(fit.q_hat, model), np.eye(9), rtol=0, atol=1e-10)
    seen = []
    monkeypatch.setattr(multinomial, "transitions", lambda *arguments: seen.append(arguments))
    for method, f in (("HMC", 0.0), ("data, gradient", 0.25)):
        multinomial.run("CTG", method, [f, 2, 0.1, 3], 5, [8, 1])
        name, q, stage, eps, L, M, n, rng = seen[-1]
        assert (name, eps, L, M, n) == (method.split(",")[0], 0.1, 3, 2, 5)
        same = np.random.default_rng([8, 1])
        np.testing.assert_array_equal(q, multinomial.draw(fit, same))
        assert rng.random() == same.random()  # which goes on
        assert stage[0] is model and (stage[2] is None) == (f == 0.0)
    assert stage[2].cases.size == 15


def made_up():
    return {(name, method): {
        "together": five()._replace(ess=np.array([1e3, 900.0, 1e3, 1e3]),
                                    ess_squares=np.array([2e3, 1e3, 800.0, 1e3])),
        "per gradient": Measured(-value, 0.05), "believed": True,
        "rhat": 1.0, "bulk": 900.0, "tail": 800.0, "halves": 1.0, "e_bfmi": 0.9, "tuned": {
            "setting": [0.2, 2, 0.25, k + 10], "share": 0.6, "left": 0.5, "gradients": 2e4,
            "rates": np.linspace(0.99, 0.1, 12).tolist()}}
        for name in ("StatLog", "CTG")
        for k, (method, value) in enumerate(zip(METHODS, (7.0, 6.0, 6.2, 6.1, 7.1), strict=True))}


def row(result, name, method):
    (found,) = (row for row in read_table(script.table(result), "data")
                if (row["data"], row["method"]) == (name, method))
    return found


@pytest.mark.parametrize("name", ["StatLog", "CTG"])
def test_an_order_that_nothing_predicts_is_no_claim_and_in_the_table(name):
    result = made_up()
    result[name, GRADIENT] |= {"per gradient": Measured(-9.0, 0.05)}
    assert disagreeing(script, result) == set() and len(script.CLAIMS) == 9
    found = row(result, name, GRADIENT)
    assert (found["HMC / own"], found["random / own"]) == ("-2.000 (0.071)", "-1.900 (0.071)")
    assert found["tau x g"] == "8103 (405)"  # exp(9), and its error of 5 %


def test_what_differs_or_is_not_believed_is_told():
    result = made_up()
    what = f"CTG, {RANDOM}: largest |z| against HMC, adjusted"
    result["CTG", RANDOM] |= {"believed": False}
    assert disagreeing(script, result) == {what} and verdicts(script, result)[what] == UNMADE
    found = row(result, "CTG", RANDOM)
    assert found["tau x g"] == "not believed" and found["HMC / own"] == ""
    shown = [text.get_text() for ax in script.figure(result).axes for text in ax.texts]
    assert shown == ["not believed"]
