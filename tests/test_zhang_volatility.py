"""Chains on the stochastic volatility model, for Table 3 and Figure 2, and how fast they converge.

What is made of them is recomputed from stored results in test_committed.py.
"""

import numpy as np
import pytest

from reproduce import zhang_fig2 as fig2
from reproduce import zhang_table3 as table3
from reproduce.zhang import volatility
from reproduce.zhang.datasets import simulated_volatility
from reproduce.zhang.estimates import summary
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC
from reproduce.zhang.volatility import scan

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


# Settings


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


# The program


def test_as_the_program_draws_its_numbers_of_steps_and_goes_on_where_it_was(monkeypatch):
    calls = []

    def transition(theta, phi, model, eps_theta, eps_phi, L_theta, L_phi, n, rng, **solver):
        calls.append((theta[0], phi[0], eps_theta, eps_phi, L_theta, L_phi, n, solver))
        return table3.Chain(theta[None] + 1.0, phi[None] + 2.0, np.zeros(1), np.ones((1, 2), bool),
                            np.zeros((1, 2)), np.zeros((1, 2), bool),
                            table3.Counts(L_theta, L_phi, 1, 2))

    monkeypatch.setattr(table3, "rmhmc_within_gibbs", transition)
    chain = table3.as_the_program(np.zeros(3), np.zeros(3), None, 2000, np.random.default_rng(1))
    x, phi, *eps, L_theta, L_phi, n, solver = zip(*calls, strict=True)
    assert x == tuple(range(2000)) and phi == tuple(range(0, 4000, 2)) and set(n) == {1}
    assert eps == [(0.1,) * 2000, (0.5,) * 2000]
    assert set(L_theta) == set(range(1, 51)) and set(L_phi) == set(range(1, 7))
    assert all(each == {"f_position": 5, "f_momentum": 5, "tol": 0.0, "tol_back": 0.0}
               for each in solver)
    assert chain.theta[-1, 0] == 2000 and chain.phi.shape == (2000, 3)
    assert chain.counts == (sum(L_theta), sum(L_phi), 2000, 4000)
    assert chain.accepted.all() and chain.divergences == 0


# How fast they converge


def test_arrival_is_the_first_time_that_all_three_are_near():
    times = np.array([1, 2, 4, 8, 16])
    far, near = [9.0, 0.0, 0.0], [0.9, -0.9, 0.9]
    for states, wanted in (([far, near, far, near, near], 2), ([far, far, far, near, far], 8),
                           ([near] * 5, 1), ([far] * 5, 16)):
        burn_in = {"times": times.tolist(), "phi": states}
        assert fig2.arrival(burn_in, [0.0] * 3, [0.31] * 3) == wanted
    assert fig2.arrival(burn_in, [9.0, 0.0, 0.0], [0.31] * 3) == 1


def test_distance_is_the_total_variation():
    whole = np.array([[2, 2], [1, 3], [4, 0]])
    assert fig2.distance(7 * whole, whole) == 0
    # half the sum of absolute differences: 1/2, 1/4 and 1
    assert fig2.distance([[4, 0], [2, 2], [0, 4]], whole) == pytest.approx(1.75 / 3, rel=1e-15)
    assert fig2.distance([[0, 0], [1, 3], [4, 0]], whole) == pytest.approx(0.5 / 3, rel=1e-15)
