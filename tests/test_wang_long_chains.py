"""Long chains on Wang and Neal's data sets: the density by eigenvalues, subsets, what is kept."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import studies
from algorithms.ess import initial_sequence, significant_lags
from algorithms.slice_sampling import slice_sampling
from models.gp_regression import GPRegression
from models.interface import U, U_prior, log_likelihood_of
from reproduce.harness.claims import Measured
from reproduce.wang import long_chains as long
from reproduce.wang.datasets import order, posterior
from reproduce.wang.printed import NYSTROM, SOD, STANDARD, TEMPERED
from reproduce.wang.spectra import POINTS, GPSpectra


# a line, lengths that are short, and that are long; and 900 cases
@pytest.mark.parametrize("number", [
    1, 2, 4, *(pytest.param(number, marks=pytest.mark.slow) for number in (6, 7, 9))])
def test_the_density_by_eigenvalues_is_the_regressions(number):
    # within 1e-4 where a chain goes: it is the limit that was set, and a factor in the density
    model, truth = posterior(number, 0)
    # beyond the grid it is the regression itself
    fast = GPSpectra.from_model(model, truth[2] - long.NEAR, truth[2] + long.NEAR)
    visited = slice_sampling(truth, fast, 1.0, 30, np.random.default_rng(number)).samples
    assert np.abs(visited[:, 2] - truth[2]).max() > 0.1  # between points of the grid
    assert max(abs(U(q, fast) - U(q, model)) for q in visited) < 1e-4


def test_the_density_on_the_grid_between_its_points_and_beyond_it():
    model, truth = posterior(1, 0, 25)
    fast = GPSpectra.from_model(model, -2.0, 1.0)
    for log_rho, pair in product((-1.5, -1.0, 0.5), ((-0.7, 1.6), (0.9, -2.0), (-3.0, 0.3))):
        q = np.array([*pair, log_rho])
        # rounding of eigenvalues, 1e-15 of the largest, 25 e^0.6, over a noise of e^-6
        assert U(q, fast) == pytest.approx(U(q, model), rel=1e-8)
    assert U_prior(truth, fast) == U_prior(truth, model)
    assert log_likelihood_of(U(truth, fast), truth, fast) == U_prior(truth, model) - U(truth, fast)
    edge = POINTS // 2 * fast.step
    for log_rho in (-9.0, -2.0, -2.0 + 0.75 * edge, 1.0 - 0.75 * edge, 1.0, 30.0):
        q = np.array([*truth[:2], log_rho])
        assert U(q, fast) == U(q, model)
    # one interval, and the first and the last that have POINTS // 2 points on either side
    for log_rho in (-2.0 + 1.5 * edge, -2.0 + edge - 0.5 * fast.step, 1.0 - edge + 0.5 * fast.step):
        q = np.array([*truth[:2], log_rho])
        # not the regression, but within rounding and the polynomial's error, 1e-6 and less here
        assert U(q, fast) != U(q, model)
        assert U(q, fast) == pytest.approx(U(q, model), abs=1e-5, rel=0)
    with pytest.raises(ValueError, match="one length"):
        GPSpectra.from_model(posterior(3, 0, 10)[0])


def test_what_stands_beside_the_target_is_of_its_own_data_set():
    model, chosen = posterior(1, 0, 20)[0], order(1, 0, 20)
    assert long.settings_of(1, 0, STANDARD) is None
    assert (long.settings_of(1, 0, NYSTROM, 4, 20).index == chosen[:4]).all()
    assert isinstance(long.settings_of(1, 0, SOD, 6, 20), GPSpectra)
    layers = long.settings_of(1, 0, TEMPERED, (6, 3), 20)
    assert [layer.whole.y.size for layer in layers] == [6, 3]
    assert long.settings_of(1, 0, SOD, None, 30).whole.y.size == 4  # 40 of 300
    lucky = long.settings_of(1, 0, SOD, 6, 20, luck=1).whole.y
    assert set(lucky) != set(model.y[chosen[:6]]) and set(lucky) <= set(model.y)
    assert isinstance(long.target(3, 0, 12)[0], GPRegression)
    for index in (0, 1):
        model, truth = posterior(1, index, 20)
        assert (long.settings_of(1, index, SOD, 6, 20).whole.y
                == model.y[order(1, index, 20)[:6]]).all()
        assert (long.cases(1, index, 20, long.PIVOTED) == long.pivots(model, truth)).all()
    orders = [long.cases(number, index, 20, luck=luck).tolist()
              for number in (1, 2) for index in (0, 1) for luck in (0, 1, 2)]
    assert len(set(map(tuple, orders))) == 12
    assert all(sorted(each) == list(range(20)) for each in orders)


@pytest.mark.parametrize("noise", [1.0, 100.0])
def test_pivots_leave_the_least_of_the_trace_whatever_the_noise(noise):
    _, model, truth = long.target(1, 0, 20)
    x, chosen = model.XT[0], long.pivots(model, np.add(truth, [np.log(noise), 0, 0]))
    assert sorted(chosen) == list(range(20))
    K = model.c2 + np.exp(2 * truth[1]) * np.exp(-((x[:, None] - x) ** 2) / np.exp(2 * truth[2]))
    for taken in (1, 2, 3):  # each pivot is the case with the largest variance given those before
        S = chosen[:taken]
        left = np.diag(K - K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S]))
        assert chosen[taken] == np.argmax(left)
    index = long.settings_of(1, 0, NYSTROM, 4, 20, columns=long.PIVOTED).index
    assert noise != 1.0 or (index == chosen[:4]).all()


def test_a_chain_is_cut_into_the_papers_windows():
    found = long.long_chain(1, 0, STANDARD, [3, 1], 2, w=0.5, max_widths=4, n=15)
    model, _, truth = long.target(1, 0, 15)
    run = slice_sampling(truth, model, 0.5, 667 + 2666, np.random.default_rng([3, 1]), 4)
    x = run.log_likelihood[667:]
    assert found["tau"] == [initial_sequence(x).tau, initial_sequence(x).se]
    assert found["windows"] == [significant_lags(part).tau for part in (x[:1333], x[1333:])]
    assert found["noise"] == np.mean(run.samples[667:, 0] > run.samples[667:, 1])
    assert found["iterations"] == 3333 and found["counts"]["density"] == run.counts.density


def test_what_is_asked_of_mappings_and_of_chains_that_never_move(monkeypatch):
    asked = []

    def samples(x0, model, star, method, iterations, rng, *settings):
        asked.append((method, iterations, settings))
        x = np.zeros((iterations, 3))
        x[:1000, 0] = 1.0  # sigma > eta in a quarter of the window; before it everywhere
        accepted = np.zeros((iterations, 2, 1), bool)
        accepted[: iterations // 2, 0] = True
        return SimpleNamespace(samples=x, log_likelihood=np.full(iterations, -3.0),
                               accepted=accepted, counts=slice_sampling(
                                   x0, model, 1.0, 1, rng).counts)

    monkeypatch.setattr(long, "samples", samples)
    found = long.long_chain(1, 0, SOD, 1, 1, "sweep", 0.5, 4, m=5, r=8, s=2, n=15)
    assert asked == [(SOD, 2000, ("sweep", 0.5, 4, 8, 2))]
    # one draw: as chains.chain, twice the length; a window's time is its length
    assert (found["tau"], found["windows"]) == ([1333.0, 1333.0], [1333.0])
    assert found["noise"] == 333 / 1333 and found["accepted"].tolist() == [0.5, 0.0]
    # in each stretch, of both mappings
    assert long.acceptance(1, 0, SOD, 1, 40, m=5, n=15, stretches=4) == {
        "accepted": [0.5, 0.5, 0.0, 0.0]}
    assert asked[1:] == [(SOD, 40, ("variable", 1.0, 10))]


def test_chains_put_together_and_their_cost():
    chains = [{"tau": [tau, 0.1], "windows": [tau, 2.0], "noise": tau / 10, "accepted": [0.2, 0.4],
               "iterations": 100, "counts": {"density": 90, "cache_hits": hits}}
              for tau, hits in ((4.0, 10), (6.0, 50))]
    found = long.combine(chains)
    assert found["tau"] == (5.0, 1.0)  # sd 2^(1/2) over 2^(1/2)
    assert found["log tau"].se == 0.2 and found["windows"] == [4.0, 2.0, 6.0, 2.0]
    assert found["noise"] == 0.5 and found["accepted"] == pytest.approx((0.3, 0.0))
    assert long.share_of_hits(chains[1]) == 50 / 140 and found["updates"] == 180 / 200
    assert long.combine(chains[:1])["tau"] == (4.0, 0.1)
    # what scatters less than it should has its own error: (0.3^2 + 0.4^2)^(1/2) / 2
    assert long.pool([Measured(4.0, 0.3), Measured(4.01, 0.4)]).se == pytest.approx(0.25, rel=1e-12)
    timed = {"layers": {"SOD 5": ["SOD 5"]}, "seconds": {
        "trial": {"pi": [[2.0], [4.0]], "SOD 5": [[0.5], [0.25]]},
        "scratch": {"pi": [6.0], "SOD 5": [1.0]}}}
    few, many, alone = ({"iterations": 10, "counts": {"density": density, "approximations": star}}
                        for density, star in ((20, [80]), (40, [160]), (20, [])))
    # the mean of 20 evaluations and twice as many, each worth 2, and of 80 or 160 of .375 / 3
    assert long.cost([few, many], SOD, "sweep", timed, "SOD 5") == pytest.approx(7.5, rel=1e-12)
    assert long.cost([alone], STANDARD, "variable", timed, STANDARD) == 2.0


def test_no_two_clocks_run_at_once():
    experiment = studies.Recorder("paper", lambda function, tasks: [t["rows"] for t in tasks])
    rows = {1: {"SOD": [SOD]}, 2: {"pi": [STANDARD]}}
    assert long.clocks(experiment, rows, (3, 5), 20) == rows
    assert [(function, [task["number"] for task in tasks]) for function, tasks in experiment.calls
            ] == [("clock", [1]), ("clock", [2])]
