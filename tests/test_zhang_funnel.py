"""Chains on the funnel and their estimates; the settings that are tried."""

import numpy as np
import pytest

from reproduce import zhang_table1 as table1
from reproduce.harness.claims import mean
from reproduce.zhang import funnel
from reproduce.zhang.comparison import pick
from reproduce.zhang.estimates import summary
from reproduce.zhang.funnel import READINGS, grid, reading, scan, sshmc_setting, steps
from reproduce.zhang.printed import GIBBS, HMC, METHODS, SSHMC

SETTINGS = {HMC: {"eps": 0.03, "L": 3},
            GIBBS: dict(eps_theta=0.5, eps_phi=1.9, L_theta=2, L_phi=1),
            SSHMC: dict(eps_theta=0.1, eps_phi=0.2, L=5, n_theta=2, n_phi=1)}


# Chains


def test_exact_draws_are_the_funnels():
    rng = np.random.default_rng(1)
    x, v = (np.array(each) for each in zip(*[funnel.exact_draw(rng, 4) for _ in range(4000)],
                                           strict=True))
    assert x.shape == (4000, 4) and v.shape == (4000, 1)
    # standard errors of a mean and of a mean of squares, 4 of them
    assert abs(v.mean()) < 4 * 3 / 4000**0.5
    assert abs(np.mean(v**2) - 9) < 4 * 9 * (2 / 4000) ** 0.5
    z = x * np.exp(v / 2)
    assert abs(z.mean()) < 4 / 16_000**0.5
    assert abs(np.mean(z**2) - 1) < 4 * (2 / 16_000) ** 0.5
    # what tells e^-v from e^v: independent of v
    assert abs(np.corrcoef(v[:, 0], np.mean(z**2, axis=1))[0, 1]) < 4 / 4000**0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_chain_goes_on_from_piece_to_piece(method):
    found = table1.one_chain(method, "n + 1/9", SETTINGS[method], pieces=3, n=12, burn_in=5,
                             seed=[1, 2])
    rng = np.random.default_rng([1, 2])
    model = table1.Funnel.from_size(100, 100 + 1 / 9)
    theta, phi = funnel.exact_draw(rng)
    parts = []
    for length in (5, 12, 12, 12):
        parts.append(table1.transitions(method, theta, phi, model, SETTINGS[method], length, rng))
        theta, phi = parts[-1].theta[-1], parts[-1].phi[-1]
    for k, part in enumerate(parts[1:]):
        s, v = summary(part, 0), part.phi[:, 0]
        wanted = {"AP": s["AP"], "divergences": part.divergences, "v": s["phi"]["lineage"][0],
                  "x": s["theta"]["lineage"][0], "v ours": s["phi"]["ours"][0],
                  "v squares": s["phi"]["squares"][0], "x squares": s["theta"]["squares"][0],
                  "mean": v.sum() / 12, "square": v @ v / 12,
                  "variance": np.sum((v - v.mean()) ** 2) / 11,
                  "x mean": np.sum(part.theta.mean(0) ** 2) / 100,
                  "se": (np.sum((v - v.mean()) ** 2) / 12 / s["phi"]["lineage"][0]) ** 0.5}
        for name, value in wanted.items():
            # rounding of sums of 12 and of 100 terms
            np.testing.assert_allclose(found[name][k], value, rtol=1e-12, atol=0)
    # of the three pieces, without the burn-in
    total = {name: sum(summary(part, 0)["counts"][name] for part in parts[1:])
             for name in found["counts"]}
    assert found["counts"] == total and len(found["v"]) == 3


def test_pieces_as_long_as_the_burn_in_count():
    found = table1.one_chain(SSHMC, "n + 1/9", SETTINGS[SSHMC], pieces=2, n=8, burn_in=8, seed=1)
    after = table1.one_chain(SSHMC, "n + 1/9", SETTINGS[SSHMC], pieces=3, n=8, burn_in=0, seed=1)
    assert found["mean"] == after["mean"][1:]


def test_the_mass_is_the_one_that_is_asked_for(monkeypatch):
    seen = []
    monkeypatch.setattr(table1, "transitions", lambda method, theta, phi, model, *_: seen.append(
        model.L_phi[0, 0] ** 2) or 1 / 0)
    for mass, value in (("n + 1/9", 100 + 1 / 9), ("n/2 + 1/9", 50 + 1 / 9)):
        for function, more in ((table1.one_chain, {"setting": {}, "pieces": 1}),
                               (table1.pilots, {"settings": [{}], "chains": 1})):
            with pytest.raises(ZeroDivisionError):
                function(method=SSHMC, mass=mass, n=9, burn_in=0, seed=[1], **more)
            assert seen.pop() == pytest.approx(value, rel=1e-15)  # a square root squared


def test_pilots_of_all_settings_start_from_the_same_draws(monkeypatch):
    starts = []
    real = table1.transitions
    monkeypatch.setattr(table1, "transitions", lambda method, theta, phi, *rest: starts.append(
        phi[0]) or real(method, theta, phi, *rest))
    other = SETTINGS[SSHMC] | {"L": 2}
    found = table1.pilots(SSHMC, "n + 1/9", [SETTINGS[SSHMC], other], chains=2, n=10, burn_in=3,
                          seed=[4])["pilots"]
    assert starts[:2] == starts[2:] and starts[0] != starts[1]
    assert [each["setting"] for each in found] == [SETTINGS[SSHMC], other]
    # gradients of both blocks in 2 chains of 13 transitions: 5 L + 1 and 2 L
    assert [each["cost"] for each in found] == [2 * 13 * (7 * 5 + 1), 2 * 13 * (7 * 2 + 1)]


def test_a_setting_that_is_never_accepted_is_a_pilot_like_others():
    found = table1.pilots(SSHMC, "n + 1/9", [SETTINGS[SSHMC] | {"eps_theta": 3.0}], chains=2, n=12,
                          burn_in=0, seed=[1])["pilots"][0]
    assert found["AP"] == [0.0]


# Estimates


def made_chain(rng, pieces=12):
    names = ("v", "x", "v ours", "v squares", "x squares", "se", "x mean", "variance", "square")
    return {name: (5 + rng.random(pieces)).tolist() for name in names} | {
        "AP": rng.random((pieces, 2)).tolist(), "divergences": [1, *[0] * (pieces - 1)],
        "mean": rng.normal(size=pieces).tolist(),
        "counts": {"gradient_theta": 600.0, "gradient_phi": 240.0, "factor": 9.0}}


def test_estimates_by_hand():
    rng = np.random.default_rng(3)
    chains = [made_chain(rng) for _ in range(3)]
    found = funnel.estimates(chains, 10, {}, [])

    def of(measure):
        return mean([measure(chain) for chain in chains])

    def check(ours, wanted):  # rounding of means of means
        assert ours == pytest.approx(wanted, rel=1e-12)

    for k in range(2):
        check(found.AP[k], of(lambda c, k=k: np.mean(c["AP"], axis=0)[k]))
    assert found.divergences == 3
    for name in ("v", "x"):
        check(getattr(found, name), of(lambda c, name=name: sum(c[name]) / 12))
    check(found.mse_mean, of(lambda c: sum(m**2 for m in c["mean"]) / 12))
    for name in ("square", "variance"):
        check(getattr(found, f"mse_{name}"), of(
            lambda c, name=name: sum((m - 9) ** 2 for m in c[name]) / 12))
    check(found.error, of(lambda c: sum((m / s) ** 2 for m, s in zip(
        c["mean"], c["se"], strict=True)) / 12))
    # two means of 5 pieces, the last two left over; each of 50 draws, asked for 10
    fives = of(lambda c: np.mean([np.mean(c["mean"][:5]) ** 2, np.mean(c["mean"][5:10]) ** 2]))
    check(found.v_long, 9 / 5 / fives)
    check(found.passes, 840 / 12 / 10)


def test_the_long_estimate_finds_the_autocorrelation_time_and_the_papers_does_not():
    # autoregressions whose time is 199, in pieces of 100: an ESS of 0.5 that looks like several
    rng, rho, n = np.random.default_rng(5), 0.99, 100
    chains = []
    for _ in range(20):
        v = [3 * rng.standard_normal()]
        for z in rng.standard_normal(40 * n):
            v.append(rho * v[-1] + 3 * (1 - rho**2) ** 0.5 * z)
        pieces = np.array(v[1:]).reshape(40, n)
        chains.append(pieces.mean(1))
    # m Var(mean of m draws) / 9 = (1 + rho) / (1 - rho) - 2 rho (1 - rho^m) / (m (1 - rho)^2)
    for k in (1, 5):
        m = k * n
        tau = (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**m) / m / (1 - rho) ** 2
        found = funnel.long_run_ess(chains, k)
        assert abs(found.value - n / tau) < 4 * found.se


def test_too_few_pieces_for_a_long_mean_give_no_number():
    means = [np.random.default_rng(k).normal(size=2) for k in range(2)]
    assert np.isnan(funnel.long_run_ess(means)).all()
    assert np.isfinite(funnel.long_run_ess(means, 1).value)


# Settings


def test_the_three_readings_of_the_same_step():
    made = {name: sshmc_setting(n_theta, 1, ratio, 0.2, 7)
            for name, (n_theta, ratio) in READINGS.items()}
    assert made == {
        "halves": dict(eps_theta=0.1, eps_phi=0.2, L=7, n_theta=2, n_phi=1),
        "one each": dict(eps_theta=0.2, eps_phi=0.2, L=7, n_theta=1, n_phi=1),
        "two each": dict(eps_theta=0.2, eps_phi=0.2, L=7, n_theta=2, n_phi=1)}
    for name, setting in made.items():
        assert reading(setting) == name and steps(SSHMC, setting) == f"{name}, 7"
    assert reading(made["halves"] | {"n_phi": 2}) is None
    assert reading(made["halves"] | {"eps_theta": 0.05}) is None


@pytest.mark.parametrize(("n_theta", "n_phi"), [(1, 1), (2, 1), (4, 2)])
def test_the_ratio_is_that_of_the_times(n_theta, n_phi):
    for ratio in (1, 2, 4):
        s = sshmc_setting(n_theta, n_phi, ratio, 0.1, 3)
        assert 2 * n_theta * s["eps_theta"] == pytest.approx(  # rounding
            ratio * n_phi * s["eps_phi"], rel=1e-15)


@pytest.mark.parametrize("budget", ["smoke", "short", "paper"])
def test_every_setting_is_tried_once(budget):
    for method in METHODS:
        found = grid(method, budget)
        assert len({tuple(sorted(s.items())) for s in found}) == len(found)
    readings = grid(SSHMC, budget, readings=True)
    assert {reading(s) for s in readings} == set(READINGS)
    assert all(s in grid(SSHMC, budget) for s in readings)
    assert len(readings) == 3 * len(funnel.EPS_PHI[budget]) * len(
        funnel.LENGTHS[budget])


def made_pilot(setting, AP, ess):
    return {"setting": setting, "AP": [AP], "ess": {"phi": ess}, "cost": 1.0}


def test_the_scan_has_the_best_setting_of_each_number_of_steps():
    tried = [made_pilot({"eps": 1.0, "L": 5}, 0.8, 10), made_pilot({"eps": 2.0, "L": 5}, 0.75, 20),
             made_pilot({"eps": 3.0, "L": 5}, 0.9, 90), made_pilot({"eps": 4.0, "L": 9}, 0.71, 1),
             made_pilot({"eps": 5.0, "L": 7}, 0.2, 50)]
    assert scan(HMC, tried) == {"5": {"eps": 2.0, "L": 5}, "9": {"eps": 4.0, "L": 9}}
    assert scan(HMC, tried[4:]) == {"7": {"eps": 5.0, "L": 7}}
    assert scan(HMC, tried[2:3] + tried[4:]) == {"5": pick(tried[2:3])["setting"]}
    assert steps(GIBBS, SETTINGS[GIBBS]) == "2 and 1"
