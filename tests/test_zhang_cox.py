"""reproduce/zhang/cox.py: what is run on the Cox process, and its estimates."""

import math

import numpy as np
import pytest

import studies
from reproduce import zhang_fig3 as fig3
from reproduce import zhang_table4 as table4
from reproduce.harness.claims import BUDGETS, Measured
from reproduce.harness.fingerprint import fingerprint
from reproduce.zhang import cox
from reproduce.zhang.datasets import GRID, MU, load, simulated_cox
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


def test_the_data_sets_are_the_first_with_100_to_160_points():
    for distance, seeds in cox.SEEDS.items():
        sums = {seed: simulated_cox(32, seed, distance).y.sum() for seed in range(1, seeds[-1] + 1)}
        low, high = cox.POINTS
        assert [seed for seed, points in sums.items() if low <= points <= high] == [*seeds]
        assert [load(name).y.sum() for name in cox.DATA[distance]] == [sums[s] for s in seeds]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("method", "distance"), cox.GRIDS)
def test_grids_have_the_papers_steps(method, distance, budget):
    settings = cox.grid(method, distance, budget)
    assert settings and len({str(each) for each in settings}) == len(settings)
    for each in settings:
        assert each["jitter"] == 0
        if method == SSHMC:  # "2 leapfrog steps and 1", "10 ABLA steps"
            assert (each["n_theta"], each["n_phi"], each["L"]) == (2, 1, 10)
        else:  # "20 leapfrog steps for x and 1 general leapfrog step"
            assert (each["L_theta"], each["L_phi"]) == (20, 1)
    assert budget != "paper" or len(settings) == {SSHMC: 15, GIBBS: 6}[method]


def chain_of(setting, AP=0.8, ess=100.0, **more):
    """Return a chain in numbers, whose cost is 1 for SSHMC."""
    numbers = {key: [ess, ess] for key in ("lineage", "ours", "squares", "mean", "sd", "mean_se")}
    return {"AP": AP, "n": 10, "divergences": 0, "field": [0.0, 1.0],
            "counts": {"gradient_theta": 10.0, "factor_theta": 0.0, "gradient": 1.0,
                       "gradient_phi": 0.0, "factor_phi": 0.0},
            "theta": {key: [ess, ess, ess] for key in ("lineage", "ours", "squares")},
            "phi": numbers | {"histogram": [[1, 2], [3]]}} | more


def test_a_pilot_has_the_worst_ess_and_the_cost_by_hand():
    chain = chain_of({}, ess=7.0)
    chain["phi"]["squares"] = [5.0, 3.0]
    chain["theta"]["ours"] = [np.nan, 9.0, 9.0]
    found = cox.as_pilot({"L": 1}, chain | {"AP": [0.7, 0.8], "counts": {
        "gradient_theta": 20.0, "factor_theta": 3.0}}, SSHMC)
    assert found == {"setting": {"L": 1}, "AP": [0.7, 0.8], "cost": 5.0, "ess": {
        "theta": 0.0, "theta squares": 7.0, "phi": 7.0, "phi squares": 3.0}}


def tried_of(*kinds):
    """Return [(setting, its chain)] of (eps_theta, eps_phi, acceptance rate, ESS)."""
    return [({"eps_theta": a, "eps_phi": b}, chain_of({}, rate, ess)) for a, b, rate, ess in kinds]


def test_the_rule_wants_50_effective_draws_and_the_papers_acceptance_rate():
    few = (0.1, 0.1, 0.8, 49.0)
    high = (0.2, 0.1, 0.9, 300.0)
    good, better = (0.3, 0.1, 0.84, 60.0), (0.4, 0.1, 0.71, 61.0)
    for kinds, wanted in (((few, high, good, better), 0.4), ((few, high, good), 0.3),
                          ((few, high), 0.2), ((few,), 0.1)):
        assert cox.taken(tried_of(*kinds), SSHMC)["eps_theta"] == wanted
    tried = tried_of(few, high)
    tried[1][1]["phi"]["ours"] = [300.0, 49.0]  # of each hyperparameter
    assert cox.taken(tried, SSHMC)["eps_theta"] == 0.1


def test_the_grid_goes_on_past_the_end_that_is_best():
    inner = [(a, b, 0.8, 60.0) for a in (0.1, 0.2, 0.3) for b in (1.0, 2.0, 3.0)]

    def beyond(best, more=()):
        return cox.past(tried_of(*((a, b, rate, 90.0 if (a, b) == best else ess)
                                   for a, b, rate, ess in [*inner, *more])), SSHMC)

    assert beyond((0.2, 2.0)) == []
    assert beyond((0.3, 2.0)) == [{"eps_theta": 0.4, "eps_phi": 2.0}]
    assert beyond((0.1, 3.0)) == [{"eps_theta": 0.05, "eps_phi": 3.0},
                                  {"eps_theta": 0.1, "eps_phi": 4.0}]
    assert beyond((0.4, 2.0), [(0.4, 2.0, 0.8, 60.0)]) == [{"eps_theta": 0.5, "eps_phi": 2.0}]
    assert beyond((0.3, 2.0), [(0.4, 2.0, 0.8, 60.0)]) == []


class Recorder(studies.Recorder):
    """Makes up chains, which are best with the largest steps of the grid."""

    def made(self, function, tasks):
        return [chain_of(task["setting"], ess=1000 * task["setting"].get("eps_theta", 1)
                         + 100 * task["setting"].get("eps_phi", 1), n=task["n"]) for task in tasks]


def test_a_scan_at_the_papers_length_goes_on_until_the_best_is_inside():
    class Falling(Recorder):
        def made(self, function, tasks):  # best at .17 and .05, at any step of the rival
            return [chain_of({}, ess=200 - 1000 * abs(task["setting"]["eps_theta"] - 0.17)
                             - 1000 * abs(task["setting"]["eps_phi"] - 0.05)
                             if task["method"] == SSHMC else 60.0, n=task["n"]) for task in tasks]

    experiment = Falling("paper")
    found = cox.run_scan(experiment, table4.one_chain, None)
    tried = [setting for setting, _ in found[SSHMC, "unit"]]
    assert [(s["eps_theta"], s["eps_phi"]) for s in tried[15:]] == [
        (0.17, 0.05), (0.14, 0.065), (0.2, 0.05), (0.17, 0.065)][:len(tried) - 15]
    assert cox.taken(found[SSHMC, "unit"], SSHMC)["eps_theta"] == 0.17


def test_what_chains_say_together_is_that_of_independent_normals():
    rng = np.random.default_rng(5)
    phi = rng.standard_normal((4, 4000, 2)) * [2.0, 0.5] + [1.0, -3.0]
    fields = rng.standard_normal((4, 9))
    found = cox.read_posterior(cox.posterior_of(fields, phi))
    for k, (middle, sd) in enumerate(((1.0, 2.0), (-3.0, 0.5))):
        assert abs(found.mean[k].value - middle) < 4 * sd / 16_000**0.5
        assert found.mean[k].se == pytest.approx(sd / 16_000**0.5, rel=0.1)
        assert abs(found.sd[k].value - sd) < 4 * sd / 32_000**0.5
        assert found.sd[k].se == pytest.approx(sd / 32_000**0.5, rel=0.15)
        inside = np.histogram(phi[..., k], [*cox.EDGES.values()][k])[0]
        assert found.histogram[k] == inside.tolist()
    assert found.n == 4000 and found.field == np.round(fields, 3).tolist()
    assert found.rhat < 1.01 and min(found.bulk, found.tail) > 10_000
    assert cox.is_believed(found)


def test_what_has_not_converged_is_not_compared():
    rng = np.random.default_rng(6)
    phi = rng.standard_normal((4, 500, 2))
    good = cox.read_posterior(cox.posterior_of(rng.standard_normal((4, 9)), phi))
    assert cox.is_believed(good)
    phi[0, :, 1] += 1.0  # of either hyperparameter
    bad = cox.read_posterior(cox.posterior_of(rng.standard_normal((4, 9)), phi))
    assert bad.rhat > 1.01 and not cox.is_believed(bad)
    for change in ({"rhat": 1.011}, {"bulk": 399.0}, {"tail": 399.0}):
        assert not cox.is_believed(good._replace(**change))
    assert cox.is_believed(good._replace(rhat=1.01, bulk=400.0, tail=400.0))
    for measure in (lambda a, b: cox.means_apart(a, b, 1), lambda a, b: cox.wider(a, b, 0),
                    cox.fields_apart):
        assert measure(good, good).se > 0 or measure is cox.fields_apart
        assert math.isnan(measure(good, bad).se) and not math.isnan(measure(good, bad).value)
        assert math.isnan(measure(bad, good).se)


def test_differences_are_in_standard_deviations_by_hand():
    rng = np.random.default_rng(8)
    one = cox.read_posterior(cox.posterior_of(np.ones((4, 4)), rng.standard_normal((4, 500, 2))))
    a = one._replace(mean=[Measured(1.0, 0.3)] * 2, sd=[Measured(3.0, 0.1), Measured(1.0, 0.1)])
    b = one._replace(mean=[Measured(0.0, 0.4)] * 2, sd=[Measured(1.0, 0.1), Measured(1.0, 0.1)])
    assert cox.means_apart(a, b, 0) == pytest.approx((0.5, 0.25))
    assert cox.wider(a, b, 0).value == pytest.approx(math.log(3))


@pytest.mark.parametrize("method", [GIBBS, SSHMC, fig3.NUTS])
def test_a_posterior_is_that_of_its_chains(method):
    setting = SETTINGS.get(method, {})
    found = cox.read_posterior(fig3.posterior(method, SMALL, setting, 12, 5, [[1], [2]])[
        "posterior"])
    model, phi = cox.problem(SMALL, "unit")
    middles, fields = [], []
    for seed in ([1], [2]):
        rng = np.random.default_rng(seed)
        if method == fig3.NUTS:
            field, draws = cox.run_nuts(model, phi, 12, 5, rng)
        else:
            x = cox.start(phi, model, rng)
            chain = fig3.transitions(method, x, phi, model, setting, 17, rng)
            field, draws = chain.theta[5:].mean(axis=0), chain.phi[5:]
        assert draws.shape == (12, 2)
        fields.append(field)
        middles.append(draws.mean(axis=0))
    np.testing.assert_allclose(found.field, fields, rtol=0, atol=5.1e-4)
    np.testing.assert_allclose([m.value for m in found.mean], np.mean(middles, axis=0), rtol=1e-12)


def test_nuts_has_the_field_of_its_draws_in_the_coordinates_of_the_model():
    model, phi = cox.problem(SMALL, "unit")
    field, draws = cox.run_nuts(model, phi, 400, 200, np.random.default_rng(1))
    chain = fig3.transitions(SSHMC, cox.start(phi, model, np.random.default_rng(2)), phi, model,
                             SETTINGS[SSHMC] | {"L": 10}, 8000, np.random.default_rng(3))
    # posterior means by another sampler, to about four of their standard errors together
    np.testing.assert_allclose(field, chain.theta[500:].mean(axis=0), rtol=0, atol=0.8)
    assert abs(draws[:, 0].mean() - chain.phi[500:, 0].mean()) < 0.4


@pytest.mark.parametrize("name", ["one_chain", "clock"])
def test_figure_3_and_table_4_compute_the_same_replicates(name):
    # so that what one of them has stored serves the other
    assert fingerprint(getattr(fig3, name)) == fingerprint(getattr(table4, name))
