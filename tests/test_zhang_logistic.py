"""reproduce/zhang/logistic.py: the problem, the mode, and what runs which method."""

from types import SimpleNamespace

import numpy as np
import pytest

from algorithms.hmc import Counts as HMCCounts
from models.hierarchical_logistic import information
from models.interface import grad_U_theta, precompute_phi, velocity_theta
from reproduce import zhang_table2 as table2
from reproduce.zhang import logistic
from reproduce.zhang.datasets import STAND_IN
from reproduce.zhang.logistic import BOUND, DROPPED, MODE, PRIOR
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang_table2 import one_run, transitions

DATA = f"{STAND_IN}1"
MODEL = logistic.problem(DATA, BOUND, 22)
W, V = logistic.mode(MODEL)
SETTINGS = {HMC: {"eps": 0.1, "L": 3},
            GIBBS: dict(eps_theta=0.3, eps_phi=0.3, L_theta=2, L_phi=2),
            DROPPED: dict(eps_theta=0.3, eps_phi=0.3, L_theta=2, L_phi=2),
            SSHMC: dict(eps_theta=0.2, eps_phi=0.4, L=3, n_theta=2, n_phi=1)}


def test_small_groups_are_those_of_few_cases():
    assert np.diff(MODEL.starts).tolist() == [12, 22, 9, 12]
    assert np.diff(logistic.problem(DATA).starts).max() == 280


def test_the_mode_is_one_and_v_the_mean_square():
    Phi = precompute_phi(np.log([V]), MODEL)
    # Newton's steps: rounding of sums of some 20 terms
    np.testing.assert_allclose(grad_U_theta(W, Phi, MODEL), 0.0, rtol=0, atol=1e-12)
    H = information(W, MODEL) + np.eye(20) / V
    spread = np.trace(np.linalg.inv(H), axis1=1, axis2=2).sum()
    # a fixed point that is approached linearly
    assert (W @ W + spread) / W.size == pytest.approx(V, rel=0.05)
    w, v = logistic.mode(MODEL, 3000)
    spread = np.trace(np.linalg.inv(information(w, MODEL) + np.eye(20) / v), axis1=1, axis2=2)
    assert (w @ w + spread.sum()) / 80 == pytest.approx(v, rel=1e-9)


def test_the_masses():
    r = np.random.default_rng(0).standard_normal(80)
    for mass, B in ((PRIOR, 0 * information(W, MODEL)), (MODE, information(W, MODEL))):
        model = logistic.problem(DATA, mass, 22)
        w, _ = logistic.start(model)
        np.testing.assert_allclose(w, W, rtol=0, atol=1e-9)  # the mass is none of the density
        expected = np.concatenate([np.linalg.solve(B[i] + np.eye(20), r[20 * i : 20 * i + 20])
                                   for i in range(4)])
        np.testing.assert_allclose(velocity_theta(r, precompute_phi(np.zeros(1), model), model),
                                   expected,
                                   rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", [GIBBS, DROPPED])
def test_the_groups_count_as_one_block(method, monkeypatch):
    accepted = np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1.0]])  # four groups and v
    monkeypatch.setattr(table2, "rmhmc_within_gibbs", lambda *given, **named: SimpleNamespace(
        theta=0, phi=1, accepted=accepted, divergences=2, counts=3))
    found = transitions(method, *logistic.start(MODEL), MODEL, SETTINGS[method], 2, None)
    assert found.accepted.tolist() == [[0.75, 0.0], [0.25, 1.0]]
    assert found._replace(accepted=None) == (0, 1, None, 2, 3)


@pytest.mark.parametrize("least", ["w", "w squares", "v", "v squares"])
def test_the_worst_is_the_least_of_all_and_what_never_moved_counts_as_one(least, monkeypatch):
    def one(name):
        return 7.0 if name == least else 50.0

    s = {"AP": 0.5, "divergences": 4, "theta": {
        "lineage": [3.0, 4.0, 5.0], "ours": [one("w"), 60, 70],
        "squares": [one("w squares"), 60, 70]}, "phi": {
        "lineage": [6.0], "ours": [one("v")], "squares": [one("v squares")], "mean": [-2.0],
        "sd": [0.4]}}
    chain = SimpleNamespace(counts=HMCCounts(99, 70), phi=np.zeros((35, 1)))
    monkeypatch.setattr(table2, "transitions", lambda *given: chain)
    monkeypatch.setattr(logistic, "summary", lambda given, burn_in: s)
    run = one_run(HMC, DATA, BOUND, 22, {}, 30, 5, 1)
    assert run == {"AP": [0.5], "divergences": 4, "w": [3.0, 4.0, 5.0], "v": 6.0, "worst": 7.0,
                   "gamma": [-2.0, 0.4], "cost": 2.0}  # of 35 transitions
    s["theta"]["ours"][0] = np.nan
    assert one_run(HMC, DATA, BOUND, 22, {}, 30, 5, 1)["worst"] == 1.0


def test_one_run_is_summed_up():
    run = one_run(GIBBS, DATA, BOUND, 22, SETTINGS[GIBBS], 30, 5, [1, 2])
    assert len(run["AP"]) == 2 and 1 <= run["worst"] <= min(run["w"][0], run["v"]) + 30
    assert len(run["w"]) == 3 and run["w"] == sorted(run["w"])
    hmc_run = one_run(HMC, DATA, BOUND, 22, SETTINGS[HMC], 30, 5, [1, 2])
    assert hmc_run["cost"] == pytest.approx((35 * 3 + 1) / 35)
    pilots = table2.pilots(HMC, DATA, BOUND, 22, [SETTINGS[HMC]], 2, 20, 5, [1])["pilots"]
    assert pilots[0]["setting"] == SETTINGS[HMC] and pilots[0]["cost"] == 2 * (25 * 3 + 1)


def test_longer_trajectories_are_last_in_the_grid_and_in_the_scan():
    longer = logistic.longer(SSHMC, "paper")
    assert longer == [dict(eps_theta=0.45, eps_phi=0.9, L=L, n_theta=n, n_phi=1)
                      for n in (1, 2) for L in (25, 40, 60)]
    for row, budget in ((SSHMC, "short"), (f"{SSHMC}, {MODE}", "paper"), (HMC, "paper")):
        assert logistic.longer(row, budget) == []
    # the groups of pilots and the seeds of the runs stay those of what was there before
    before = logistic.grid(SSHMC, BOUND, "paper")
    assert len(before) % 4 == 0
    tried = [{"setting": s, "AP": [0.8], "ess": {"v": 1.0}, "cost": 1.0} for s in before + longer]
    found = logistic.scan(SSHMC, tried)
    assert list(found)[:-6] == list(logistic.scan(SSHMC, tried[: len(before)]))
    assert list(found)[-6:] == [f"L {L}, n_theta {n}" for L in (25, 40, 60) for n in (1, 2)]
