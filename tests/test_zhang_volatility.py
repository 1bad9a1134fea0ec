"""Chains on the stochastic volatility model and their estimates; the settings that are tried."""

import numpy as np
import pytest

from reproduce import zhang_fig2 as fig2
from reproduce import zhang_table3 as table3
from reproduce.harness.claims import BUDGETS, Measured
from reproduce.harness.fingerprint import fingerprint
from reproduce.zhang import volatility
from reproduce.zhang.datasets import simulated_volatility
from reproduce.zhang.estimates import summary
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC
from reproduce.zhang.volatility import (
    GRIDS,
    Runs,
    estimates,
    extremes,
    grid,
    scan,
    weight,
)

SETTINGS = {HMC: {"eps": 0.05, "L": 3},
            GIBBS: dict(eps_theta=0.3, eps_phi=0.5, L_theta=2, L_phi=1),
            SSHMC: dict(eps_theta=0.1, eps_phi=0.05, L=2, n_theta=2, n_phi=1)}
DATA = simulated_volatility(12).name


# Chains


def test_the_start_is_a_draw_given_the_hyperparameters():
    x, phi = volatility.start(20_000, np.random.default_rng(1))
    np.testing.assert_allclose([np.exp(phi[0]), np.exp(phi[1]), np.tanh(phi[2])], 0.5, rtol=1e-15)
    # variance 1/4 / (1 - 1/4) and autocorrelation 1/2; 4 standard errors, of squares of a series
    # whose squares have an autocorrelation time of 5/3, and of a product
    assert abs(x.var() - 1 / 3) < 4 / 3 * (2 * 5 / 3 / 20_000) ** 0.5
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1] - 0.5) < 4 * (0.75 / 20_000) ** 0.5
    first = np.array([volatility.start(1, np.random.default_rng(k))[0][0] for k in range(2000)])
    assert abs(first.var() - 1 / 3) < 4 / 3 * (2 / 2000) ** 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_its_burn_in_and_what_follows(method):
    found = table3.one_chain(method, DATA, SETTINGS[method], n=80, burn_in=30, seed=[1, 2])
    rng, cases = np.random.default_rng([1, 2]), table3.load(DATA)
    model = table3.StochasticVolatility.from_data(cases.y)
    first = table3.transitions(method, *volatility.start(12, rng), model, SETTINGS[method], 30,
                                   rng)
    chain = table3.transitions(method, first.theta[-1], first.phi[-1], model, SETTINGS[method],
                                   80, rng)
    assert chain.theta.shape == (80, 12)
    wanted = summary(chain, 0, volatility.BINS)
    assert {key: found[key] for key in wanted if key != "divergences"} == {
        key: value for key, value in wanted.items() if key != "divergences"}
    assert found["divergences"] == first.divergences + chain.divergences
    times = found["burn_in"]["times"]
    assert (times[0], times[-1]) == (1, 30)
    np.testing.assert_array_equal(found["burn_in"]["phi"], first.phi[times - 1])
    assert found["worst"] == min(wanted["theta"]["lineage"][0], *wanted["phi"]["lineage"])
    # a twentieth of 80 draws
    assert np.sum(found["early"], axis=1).max() <= 4
    inside = [np.sum((x[:4] >= e[0]) & (x[:4] <= e[-1]))
              for x, e in zip(chain.phi.T, volatility.BINS, strict=True)]
    assert np.sum(found["early"], axis=1).tolist() == inside


def test_the_bins_of_the_model_are_those_of_the_figure():
    for edges, inner, back in zip(volatility.EDGES, volatility.BINS, (np.exp, np.exp, np.tanh),
                                  strict=True):
        np.testing.assert_allclose(back(inner), edges, rtol=1e-13)  # rounding of there and back
    for truth, edges in zip((0.65, 0.15, 0.98), volatility.EDGES, strict=True):
        assert edges[0] < truth < edges[-1]


def test_pilots_start_at_the_truth_and_leave_out_the_burn_in(monkeypatch):
    starts = []
    original = table3.transitions

    def recording(method, theta, phi, *rest):
        starts.append((theta, phi))
        return original(method, theta, phi, *rest)

    monkeypatch.setattr(table3, "transitions", recording)
    (found,) = table3.pilots(SSHMC, DATA, [SETTINGS[SSHMC]], chains=2, n=20, burn_in=5,
                                 seed=[3])["pilots"]
    for theta, phi in starts:
        np.testing.assert_array_equal(theta, simulated_volatility(12).x)
        np.testing.assert_allclose(phi, [np.log(0.65), np.log(0.15), np.arctanh(0.98)], rtol=1e-15)
    # 25 transitions of each of 2 chains, of 2 (2 n_theta + 1) + 1 and 2 (n_phi + 1) gradients
    assert found["cost"] == 2 * 25 * (11 + 4)
    assert found["setting"] == SETTINGS[SSHMC] and set(found["ess"]) == {
        "theta", "theta squares", "phi", "phi squares"}


def made_up_run(k):
    values = {"lineage": [10.0 + k, 20.0, 30.0], "ours": [11.0, 21.0, 31.0],
              "squares": [5.0, 6.0, 7.0]}
    return {"n": 100, "AP": [0.7 + 0.1 * k, 0.8], "divergences": k,
            "counts": {"gradient_theta": 300.0, "factor_phi": 600.0, "factor_theta": 9.0},
            "theta": values, "phi": {name: [4.0, 5.0 + k, 6.0] for name in (*values, "mean", "sd")},
            "worst": 3.0 + k}


def test_estimates_put_runs_together():
    found = estimates(Runs(GIBBS, {"L": 3}, [made_up_run(0), made_up_run(1)]), [0.5])
    assert [m.value for m in found.AP] == pytest.approx([0.75, 0.8], rel=1e-15)
    assert found.ess["min"] == pytest.approx((10.5, 0.5), rel=1e-12)
    assert found.ess["sigma"] == pytest.approx((5.5, 0.5), rel=1e-12)
    assert found.ess["all"] == pytest.approx((3.5, 0.5), rel=1e-12)
    assert found.squares["med"] == (6.0, 0.0) and found.squares["phi"] == (6.0, 0.0)
    assert found.mean["phi"] == (6.0, 0.0) and found.sd["beta"] == (4.0, 0.0)
    assert (found.divergences, found.setting, found.seconds) == (1, {"L": 3}, [0.5])
    assert found.passes == pytest.approx(3 + 2, rel=1e-15)  # a factor of phi counts a third
    single = estimates(Runs(HMC, {}, [made_up_run(0) | {"AP": 0.7, "counts": {"gradient": 50.0}}]))
    assert [m.value for m in single.AP] == [0.7] and single.passes == 0.5


# Settings


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_grids_are_products_with_the_papers_leapfrogs(budget):
    for method in METHODS:
        found = grid(method, budget)
        more = 2 if (method, budget) == (SSHMC, "paper") else 0
        assert len(found) == more + np.prod([len(values) for values in GRIDS[method][budget]])
        assert len({tuple(s.items()) for s in found}) == len(found)
        assert all(weight(s) > 0 for s in found)
    assert all((s["n_theta"], s["n_phi"]) == (5, 2) for s in grid(SSHMC, budget))


def pilot(setting, rate, worst=1.0):
    return {"setting": setting, "AP": [rate], "ess": {"phi": worst}, "cost": 1.0}


def test_the_scan_has_the_best_of_each_number_of_steps_that_is_in_the_range():
    tried = [pilot({"eps": eps, "L": L}, rate, worst) for eps, L, rate, worst in (
        (1, 10, 0.8, 1.0), (2, 10, 0.75, 2.0), (3, 10, 0.5, 9.0), (1, 20, 0.8, 1.0),
        (1, 30, 0.95, 9.0))]
    assert scan(HMC, tried) == {"L = 10": {"eps": 2, "L": 10}, "L = 20": {"eps": 1, "L": 20}}
    assert scan(HMC, tried[2:3]) == {"L = 10": {"eps": 3, "L": 10}}  # none: what the rule picks


def test_the_scan_of_sshmc_has_the_smallest_and_the_largest_step_of_phi():
    def setting(eps_theta, eps_phi, L):
        return dict(eps_theta=eps_theta, eps_phi=eps_phi, L=L, n_theta=5, n_phi=2)

    tried = [pilot(setting(1, eps_phi, L), 0.8) for eps_phi in (0.1, 0.2, 0.3) for L in (1, 2)]
    tried += [pilot(setting(2, 0.2, 5), 0.8), pilot(setting(3, 0.1, 1), 0.8, 7.0),
              pilot(setting(1, 0.4, 1), 0.6)]
    assert scan(SSHMC, tried) == {
        "L = 1, eps_phi = 0.1": setting(3, 0.1, 1), "L = 1, eps_phi = 0.3": setting(1, 0.3, 1),
        "L = 2, eps_phi = 0.1": setting(1, 0.1, 2), "L = 2, eps_phi = 0.3": setting(1, 0.3, 2),
        "L = 5, eps_phi = 0.2": setting(2, 0.2, 5)}


@pytest.mark.parametrize("name", ["pilots", "one_chain"])
def test_figure_2_and_table_3_compute_the_same_replicates(name):
    # so that what one of them has stored serves the other
    assert fingerprint(getattr(fig2, name)) == fingerprint(getattr(table3, name))


def test_extremes_are_those_of_all_pairs():
    found = {HMC: {"a": 1.0, "b": 5.0, "c": 3.0}, SSHMC: {"d": 2.0, "e": 4.0}}
    ours = extremes(found, HMC, SSHMC, lambda x, y: Measured(x - y, 0.1))
    assert ours.settings == ("a / e", "b / d")
    assert ours.found == (Measured(-3.0, 0.1), Measured(3.0, 0.1))
    single = extremes({HMC: {"a": 1.0}}, HMC, HMC, lambda x, y: Measured(x - y))
    assert single == (("a / a",), (Measured(0.0),))
    assert Runs("m", {}, []).runs == []
