"""reproduce/zhang/cox.py: what is run on the Cox process, and its estimates."""

import math

import numpy as np
import pytest

import studies
from reproduce import zhang_fig3 as fig3
from reproduce import zhang_table4 as table4
from reproduce.harness.claims import BUDGETS
from reproduce.harness.fingerprint import fingerprint
from reproduce.zhang import cox
from reproduce.zhang.datasets import GRID, MU, load
from reproduce.zhang.printed import GIBBS, HMC, SSHMC

SMALL = f"{GRID}4 x 4, unit, seed 1"
SETTINGS = {HMC: {"eps": 0.05, "L": 3, "jitter": 0.2},
            GIBBS: dict(eps_theta=0.3, eps_phi=0.5, L_theta=3, L_phi=1, jitter=0.2),
            SSHMC: dict(eps_theta=0.05, eps_phi=0.1, L=3, n_theta=2, n_phi=1, jitter=0.2)}


@pytest.mark.parametrize("distance", cox.DISTANCES)
def test_chains_start_at_the_true_covariance_and_at_draws_of_it(distance):
    model, phi = cox.problem(SMALL, distance)
    covariance = np.exp(phi[0] - model.distance / np.exp(phi[1]))
    # sigma^2 = 1.91, and exp(-delta / (beta d)) with beta = 1 / 33 on the unit square
    place = np.arange(4) / 3
    expected = 1.91 * np.exp(-np.hypot.outer(place, place) * 33 / 4)
    np.testing.assert_allclose(covariance, expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.counts, load(SMALL).y.ravel())
    rng = np.random.default_rng(7)
    x = np.array([cox.start(phi, model, rng) for _ in range(2000)])
    for values, variance in ((x[:, 0], 1.91), (x.mean(axis=1), np.nan)):
        if np.isnan(variance):  # of the mean over cells: the mean covariance of two of them
            i, j = np.divmod(np.arange(16), 4)
            variance = expected[abs(i[:, None] - i), abs(j[:, None] - j)].mean()
        # 4 standard errors, of a mean and of a variance of normals
        assert abs(values.mean() - MU) < 4 * (variance / 2000) ** 0.5
        assert abs(values.var() / variance - 1) < 4 * (2 / 2000) ** 0.5


@pytest.mark.parametrize("distance", cox.DISTANCES)
def test_a_replicate_has_the_field_and_histograms_without_the_burn_in(distance):
    found = table4.one_chain(SSHMC, SMALL, distance, SETTINGS[SSHMC], 30, 10, [4])
    (model, phi), rng = cox.problem(SMALL, distance), np.random.default_rng([4])
    x = cox.start(phi, model, rng)
    chain = table4.transitions(SSHMC, x, phi, model, SETTINGS[SSHMC], 40, rng)
    np.testing.assert_allclose(found["field"], chain.theta[10:].mean(axis=0), rtol=0, atol=5.1e-4)
    np.testing.assert_allclose(found["phi"]["mean"], chain.phi[10:].mean(axis=0), rtol=1e-12)
    logs = chain.phi[10:, 1] - (np.log(3) if distance == "pixel" else 0)  # beta of the unit square
    counts = np.histogram(logs, cox.EDGES["beta"])[0]
    assert found["phi"]["histogram"][1] == counts.tolist() and counts.sum() == 30


def test_an_ess_of_few_runs_has_the_error_of_theory():
    m = cox.log_ess([100.0, 400.0])
    assert m.value == pytest.approx(math.log(200)) and m.se == pytest.approx((12 / 400) ** 0.5)
    m = cox.log_ess([100.0, 400.0, 200.0])  # three are few
    assert m.se == pytest.approx((12 / 600) ** 0.5)
    logs = np.log([50.0, 60.0, 70.0, 90.0])
    m = cox.log_ess(np.exp(logs))
    assert (m.value, m.se) == pytest.approx((logs.mean(), logs.std(ddof=1) / 2))
    assert cox.log_ess([np.nan, 1.0]).value == 0.0  # what never moved


def test_the_difference_of_fields_is_free_of_noise():
    # 400 pairs of 10 runs: fields 0.3 apart, with noise of standard deviation 1 of each run
    rng = np.random.default_rng(3)
    found = [cox.difference(rng.standard_normal((10, 40)) + 0.3, rng.standard_normal((10, 40)))
             for _ in range(400)]
    values = np.array([m.value for m in found])
    assert abs(values.mean() - 0.09) < 4 * values.std() / 20
    # the error that is given is the scatter, or more: the jackknife exaggerates that of products of
    # noise, by up to 2^1/2
    assert 0.9 < np.mean([m.se**2 for m in found]) ** 0.5 / values.std() < 1.5
    assert math.isnan(cox.difference(np.zeros((2, 4)), np.ones((2, 4))).se)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("method", "distance"), cox.GRIDS)
def test_grids_have_the_papers_steps(method, distance, budget):
    settings = cox.grid(method, distance, budget)
    assert settings and len({str(each) for each in settings}) == len(settings)
    for each in settings:
        if method == SSHMC:  # "2 leapfrog steps and 1", "10 ABLA steps"
            assert (each["n_theta"], each["n_phi"], each["L"]) == (2, 1, 10)
        elif method == GIBBS:  # "20 leapfrog steps for x and 1 general leapfrog step"
            assert (each["L_theta"], each["L_phi"]) == (20, 1)
    assert budget != "paper" or len(settings) == {SSHMC: 12, GIBBS: 12, HMC: 4}[method]


def pilots_of(setting, AP, ess):
    return {"setting": setting, "AP": AP, "ess": {"phi": ess}, "cost": 1.0}


def made_up_pilots():
    """Of each method the second setting is in the range, and the third is better still."""
    return {key: [pilots_of(setting, [rate], ess) for setting, rate, ess in zip(
        cox.grid(*key, "paper"), (0.95, 0.8, 0.75, 0.84), (99.0, 1.0, 2.0, 1.5),
        strict=False)]
        for key in cox.GRIDS}


def test_the_rule_makes_the_rows_and_the_scan():
    tried = made_up_pilots()
    rows, scan = cox.rows_of(tried), cox.scan_of(tried)
    for name, (row, setting) in rows.items():
        wanted = cox.grid(row.method, row.distance, "paper")[2]
        assert setting == (wanted | {"L": 40} if "L = 40" in name else wanted)
    taken = [setting for _, setting in scan.values()]
    assert cox.grid(SSHMC, "pixel", "paper")[3] in taken  # the best of another eps_theta
    assert scan[f"{GIBBS}, unit, the lineage's steps"][1]["eps_phi"] == 0.2
    assert scan[f"{GIBBS}, unit, seed 3"][0].data.endswith("seed 3")
    best = cox.grid(GIBBS, "unit", "paper")[2]
    assert scan[f"{GIBBS}, unit, eps_theta = 0.25, no jitter"][1] == best | {"jitter": 0.0}
    assert f"{GIBBS}, pixel, eps_theta = 0.3" in scan
    # one other eps_theta of each method and distance, two without jitter of each on the unit square
    assert len(scan) == 4 + 4 + 1 + 2


class Recorder(studies.Recorder):
    """Makes up chains."""

    def made(self, function, tasks):
        one = {"AP": 0.8, "divergences": 0, "field": [0.0, 1.0],
               "theta": {key: [1.0, 2.0, 3.0] for key in ("lineage", "ours", "squares")},
               "phi": {key: [1.0, 2.0] for key in ("lineage", "ours", "squares", "mean", "sd",
                                                   "mean_se")} | {"histogram": [[1, 2], [3]]}}
        return [one for _ in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_row_has_the_same_draws_whoever_asks(budget):
    tried, all_of, two_of = made_up_pilots(), Recorder(budget), Recorder(budget)
    names = [f"{SSHMC}, unit", f"{GIBBS}, unit"]
    wanted = cox.rows_of(tried) | cox.scan_of(tried)
    found = cox.run_rows(all_of, wanted, table4.one_chain, None)
    some = cox.run_rows(two_of, cox.rows_of(tried, names[::-1]), table4.one_chain, None)
    assert list(found) == list(wanted) and list(some) == names[::-1]
    ((_, tasks),), ((_, few),) = all_of.calls, two_of.calls
    assert all(task in tasks for task in few)
    seeds = [tuple(task["seed"]) for task in tasks]
    assert len(set(seeds)) == len(seeds)
    chains = {"paper": 10, "short": 2, "smoke": 1}[budget]
    assert len(found[names[0]].field) == chains and found[names[0]].n == (
        5000 if budget == "paper" else cox.LENGTH[budget][0])
    assert found[names[0]].histogram == [[chains, 2 * chains], [3 * chains]]


@pytest.mark.parametrize("name", ["pilots", "one_chain", "clock"])
def test_figure_3_and_table_4_compute_the_same_replicates(name):
    # so that what one of them has stored serves the other
    assert fingerprint(getattr(fig3, name)) == fingerprint(getattr(table4, name))
