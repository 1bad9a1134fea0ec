"""The script that runs NUTS of an outside library, and what it makes of chains."""

import sys
import warnings
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from algorithms.ess import initial_sequence
from models.funnel import Funnel
from models.gaussian import Gaussian
from models.non_centred import NonCentred
from reproduce.beyond import zhang_nuts as script
from reproduce.beyond.rivals import nuts as nutpie
from reproduce.beyond.rivals.moments import (
    combine,
    distance,
    imprecision,
    moments,
    worst,
)
from reproduce.harness.claims import UNMADE, Measured, judge
from reproduce.harness.style import plt
from reproduce.zhang.datasets import Cases
from reproduce.zhang.nuts import nuts
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.references import HYPER
from test_zhang_compared import changed, level, made_up


@pytest.mark.parametrize("name", script.REAL)
@pytest.mark.parametrize("sampler", [SSHMC, GIBBS, HMC])
def test_a_moment_that_is_another_changes_its_claim(name, sampler):
    for field, se in (("mean", 0.02), ("sd", 0.03)):
        for place in (0, -1):  # a hyperparameter, a parameter
            for z, wanted in ((4.1, {f"{name}, {sampler}: largest |z| against the reference"}),
                              (3.9, set())):
                for step in (z * 2**0.5 * se, -z * 2**0.5 * se):
                    assert changed(script, (name, sampler), field, place, step) == wanted


def test_an_order_has_the_errors_of_both_ess_and_both_clocks():
    found = script.log_ess_ratio(level(made_up(script)), "funnel", SSHMC, script.NON_CENTRED,
                                 "CPU second")
    # twice 12 / 600, and twice the tenth of the seconds
    assert (found.value, found.se) == pytest.approx((0.0, (2 * 0.02 + 2 * 0.01) ** 0.5))


def test_a_quantity_that_never_moved_is_no_agreement():
    assert changed(script, ("credit", SSHMC), "mean_se", 1, np.nan) == {
        "credit, SSHMC: largest |z| against the reference"}


def test_the_table_and_the_figure_have_every_row():
    result = level(made_up(script))
    text = script.table(result)
    assert len([line for line in text.splitlines() if " 5000 " in line]) == len(script.RUNS)
    # 600 effective draws in 1e5 gradients and 10 seconds
    assert text.count(" 60.0 (6.0)") == text.count("  6  ") == len(script.RUNS)
    assert len(script.figure(result).axes) == 3


def test_each_point_of_the_figure_is_in_its_panel_and_of_its_sampler():
    result = made_up(script)
    for k, (key, f) in enumerate(result["found"].items()):
        mean = f.mean + (0.001 * k if key[1] in (SSHMC, GIBBS, HMC) else 0.0)
        result["found"][key] = f._replace(gradients=1e5 * (k + 1), mean=mean)
        result["seconds"][key] = Measured(10.0 + k)
    fig = script.figure(result)
    legend = fig.legends[0]
    colour_of = {text.get_text(): line.get_color() for text, line in zip(
        legend.get_texts(), legend.get_lines(), strict=True)}
    for ax, number in zip(fig.axes, (lambda key: 600 / result["found"][key].gradients,
                                     lambda key: 600 / result["seconds"][key].value,
                                     lambda key: script.distance_from_reference(
                                         result, *key).value), strict=True):
        far = ax is fig.axes[2]
        names = list(script.REAL if far else HYPER)
        assert [label.get_text() for label in ax.get_xticklabels()] == names
        drawn = {(round(float(line.get_xdata()[0])), line.get_color()): line.get_ydata()[0]
                 for line in ax.get_lines() if line.get_marker() != "None"}
        wanted = {(names.index(name), colour_of[sampler]): number((name, sampler))
                  for name, sampler in script.RUNS
                  if name in names and not (far and sampler == script.NON_CENTRED)}
        assert drawn == pytest.approx(wanted, rel=1e-12)
    assert ["second" in ax.get_title() for ax in fig.axes] == [False, True, False]
    plt.close(fig)


class Remembered:
    """An experiment that computes nothing: a chain's draws are all about its seed's place."""

    budget, seed = "paper", 3

    def __init__(self):
        self.tasks = {}

    def replicates(self, function, tasks, unit, warm=None):
        if unit == "timings":
            return [{"seconds": {row: [0.5, 0.5] for row in tasks[0]["rows"]}}]
        made = []
        for task in tasks:
            k = len(HYPER[task["name"]]) + 2
            sampler = task.get("method") or (
                script.CENTRED if task["centred"] else script.NON_CENTRED)
            self.tasks.setdefault((task["name"], sampler), []).append(task)
            draws = task["seed"][1] + np.random.default_rng(task["seed"]).normal(size=(50, k))
            made.append(chain(draws[:, -2:], draws[:, :-2]) | {"gradients": 7.0})
        return made


@pytest.mark.parametrize(("budget", "credit", "cox"), [
    ("short", (400, 60, 6), (40, 30, 6)),  # a tenth; of that two fifths; at least 30
    ("smoke", (16, 10, 3), (10, 10, 3))])  # four in a thousand, at least 10
def test_shorter_budgets_have_shorter_chains_and_smaller_trees(budget, credit, cox):
    experiment = Remembered()
    experiment.budget = budget
    script.run(experiment, Cases("", {name: "" for name in HYPER}))
    for name, wanted in (("credit", credit), ("Cox", cox)):
        task = experiment.tasks[name, script.NON_CENTRED][0]
        assert (task["draws"], task["tune"], task["maxdepth"]) == wanted
        assert len(experiment.tasks[name, script.NON_CENTRED]) == (2 if budget == "smoke" else 4)


def test_every_row_gets_its_own_chains():
    experiment = Remembered()
    names = {name: f"data of {name}" for name in HYPER}
    result = script.run(experiment, Cases("", names))
    seeds = [str(task["seed"]) for tasks in experiment.tasks.values() for task in tasks]
    assert len(set(seeds)) == len(seeds)
    for place, (key, how) in enumerate(script.RUNS.items()):
        name = key[0]
        tasks, f = experiment.tasks[key], result["found"][key]
        np.testing.assert_allclose(f.mean, place, rtol=0, atol=0.5)  # of 100 draws or more
        assert len(tasks) == how[0]
        assert {task["data_name"] for task in tasks} == {names[name]}
        if len(how) == 4:
            assert (tasks[0]["draws"], tasks[0]["tune"], tasks[0]["maxdepth"]) == how[1:]
            assert result["seconds"][key].value == 0.5 * f.gradients == 0.5 * 7 * how[0]
        else:
            assert (tasks[0]["n"], tasks[0]["burn_in"]) == how[1:]
            assert tasks[0]["setting"] == script.SETTINGS[key]
            assert result["seconds"][key].value == 0.5 * f.n == 0.5 * 50 * how[0]


# Moments


def chain(theta, phi):
    """Make of draws what a replicate returns."""
    return moments(phi, theta) | {"gradients": 1.0, "divergences": 0, "deepest": 0.0, "rate": 0.8}


def series(n, k, a, rng):
    """Draw stationary first-order autoregressions with variance 1, (n, k)."""
    x = rng.standard_normal((n, k))
    for t in range(1, n):
        x[t] = a * x[t - 1] + np.sqrt(1 - a * a) * x[t]
    return x


def test_standard_errors_are_those_of_correlated_draws():
    rng, n, a, chains = np.random.default_rng(1), 4000, 0.6, 4
    found = combine([chain(*np.split(series(n, 40, a, rng), [10], axis=1))
                      for _ in range(chains)], 30)
    tau, tau_squares = (1 + a) / (1 - a), (1 + a * a) / (1 - a * a)
    exact = np.sqrt(tau / (chains * n)), np.sqrt(2 * tau_squares / (chains * n)) / 2
    # an autocorrelation time of 4000 draws is within 10 %; 4 chains may scatter by a third more
    for mine, truth in zip((found.mean_se, found.sd_se), exact, strict=True):
        assert 0.9 < np.median(mine) / truth < 1.4
        assert (np.abs(mine / truth - 1) < 0.7).all()
    assert (np.abs(found.mean / exact[0]) < 4.5).all()  # 40 of them
    assert (np.abs((found.sd - 1) / exact[1]) < 4.5).all()
    np.testing.assert_allclose(found.ess, found.sd**2 / found.mean_se**2, rtol=1e-12)
    assert 0.5 < worst(found) / (chains * n / tau) < 1.1
    assert imprecision(found) == pytest.approx(max(found.mean_se.max(), found.sd_se.max()),
                                               rel=0.1)


def test_moments_have_the_errors_of_their_own_sequences():
    rng = np.random.default_rng(3)
    x = 5.0 + 2.0 * series(500, 3, 0.8, rng)
    found, squares = moments(x[:, :1], x[:, 1:]), (x - x.mean(axis=0)) ** 2
    for name, values in (("mean", x), ("variance", squares)):
        ess = initial_sequence(values).ess
        np.testing.assert_allclose(found[name], values.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found[f"{name} se"], values.std(axis=0) / ess**0.5, rtol=1e-12)
    np.testing.assert_allclose(found["spread"], (squares**2).mean(axis=0) - found["variance"] * (
        np.array(found["variance"])), rtol=1e-9)


def test_imprecision_is_in_standard_deviations():
    f = made_up(script)["found"]["credit", SSHMC]
    four = np.full(f.mean.size, 4.0)
    for field in ("mean_se", "sd_se"):
        errors = np.full(f.mean.size, 0.01)
        errors[1] = 0.4
        changed = f._replace(sd=four, mean_se=0 * four, sd_se=0 * four)._replace(**{field: errors})
        assert imprecision(changed) == 0.1


def test_chains_that_scatter_have_larger_standard_errors():
    rng = np.random.default_rng(2)
    apart = [chain(rng.standard_normal((1000, 3)), rng.standard_normal((1000, 1)) + shift)
             for shift in (-1, 0, 0, 1)]
    found = combine(apart, 1)
    assert found.mean_se[0] == pytest.approx(np.sqrt(2 / 3) / 2, rel=0.1)  # of -1, 0, 0 and 1
    assert (found.mean_se[1:] < 0.04).all()  # the parameters do not
    assert found.sd[0] == pytest.approx(np.sqrt(1.5), rel=0.1)


def test_distance_is_the_largest_of_means_and_deviations():
    a = made_up(script)["found"]["credit", SSHMC]
    b = a._replace(mean=a.mean + np.array([0, 0, 0.1, 0]), sd=a.sd - np.array([0, 0.1, 0, 0]))
    assert distance(a, b, 1) == (pytest.approx(0.1 / (2**0.5 * 0.02), rel=1e-12), 0)
    assert distance(a, b._replace(mean=a.mean), 1)[0] == pytest.approx(0.1 / (2**0.5 * 0.03),
                                                                       rel=1e-12)


def test_few_effective_draws_cannot_tell():
    result = made_up(script)
    for field in ("ess", "ess_squares"):
        for place, verdict in ((0, UNMADE), (1, "agrees")):  # log v, a weight
            f = result["found"]["credit", SSHMC]
            few = getattr(f, field).copy()
            few[place] = 4 * 49  # in four chains
            changed = result | {"found": result["found"] | {
                ("credit", SSHMC): f._replace(**{field: few})}}
            found = {g.claim.what: g.verdict for g in judge(script.CLAIMS, changed, "paper")}
            assert found["credit, SSHMC: largest |z| against the reference"] == verdict
            assert len({what for what, v in found.items() if v != "agrees"}) == (place == 0)


# The library


def test_without_the_library_there_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(SystemExit) as exit:
        nutpie.library()
    assert exit.value.code == 2
    assert 'pip install -e ".[nuts]"' in capsys.readouterr().err


def test_what_is_asked_of_the_library_and_made_of_its_answer(monkeypatch):
    asked, draws = {}, np.arange(8.0).reshape(1, 4, 2)

    def sample(compiled, **options):
        asked.update(options)
        return SimpleNamespace(
            posterior={"q": SimpleNamespace(values=draws)},
            sample_stats={"n_steps": np.array([3, 5, 7, 9]), "diverging": np.array([0, 1, 0, 1]),
                          "maxdepth_reached": np.array([0, 0, 0, 1])},
            warmup_sample_stats={"n_steps": np.array([30, 20])})

    outer, inner = ModuleType("nutpie"), ModuleType("nutpie.compiled_pyfunc")
    outer.sample, inner.from_pyfunc = sample, lambda *given, **named: "compiled"
    monkeypatch.setitem(sys.modules, "nutpie", outer)
    monkeypatch.setitem(sys.modules, "nutpie.compiled_pyfunc", inner)
    found = nutpie.nuts(None, np.zeros(2), 4, 2, 5, 7, True)
    assert [asked[name] for name in ("draws", "tune", "seed", "maxdepth", "target_accept",
                                     "low_rank_modified_mass_matrix")] == [4, 2, 5, 7, 0.9, True]
    np.testing.assert_array_equal(found.pop("q"), draws[0])
    assert found == {"steps": 24, "warm_up": 50, "divergences": 2, "deepest": 0.25}


@pytest.fixture
def library():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arviz, about versions to come
        return pytest.importorskip("nutpie",
                                   reason="needs the extra `nuts`: pip install -e '.[nuts]'")


def test_nuts_samples_the_funnel(library, monkeypatch):
    calls = []
    gradient = nutpie.grad_U
    monkeypatch.setattr(nutpie, "grad_U",
                        lambda q, model: calls.append(1) or gradient(q, model))
    model, start = NonCentred(Funnel.from_size(3)), np.array([0.3, -0.2, 0.1, 0.5])
    found = nuts(model, start, 2000, 300, 5, np.array([0, 2]))
    assert found["theta"].shape == (2000, 2) and found["phi"].shape == (2000, 1)
    # a few more before the first transition, to find a step size
    assert 0 <= len(calls) - found["steps"] - found["warm_up"] < 30
    assert found["divergences"] == found["deepest"] == 0
    z = found["theta"] * np.exp(found["phi"] / 2)  # x, not z, is recorded
    result = combine([chain(z, found["phi"])], 1)
    assert (np.abs(result.mean / result.mean_se) < 4).all()
    assert (np.abs((result.sd - [3, 1, 1]) / result.sd_se) < 4).all()


def test_nuts_repeats_itself_and_samples_a_centred_model(library):
    model, start = Funnel.from_size(3), np.array([0.3, -0.2, 0.1, 0.5])
    one, again, other = (nuts(model, start, 50, 50, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one["theta"], again["theta"])
    np.testing.assert_array_equal(one["phi"], again["phi"])
    assert np.abs(one["phi"] - other["phi"]).max() > 0.1


def test_a_mass_of_low_rank_is_another_mass(library):
    # three variables that are nearly one: a diagonal mass needs many steps a draw
    factor = np.array([[10.0, 0, 0], [10, 1, 0], [10, 0, 1]])
    model = Gaussian(np.array([1.0, 2, 3]), np.linalg.inv(factor @ factor.T))
    found = [nutpie.nuts(model, np.array([0.5, 0.5, 0.5]), 1500, 600, 5, low_rank=low_rank)
             for low_rank in (False, True)]
    assert found[1]["steps"] < 0.5 * found[0]["steps"]
    for each in found:
        result = combine([chain(each["q"][:, 1:], each["q"][:, :1])], 1)
        assert (np.abs((result.mean - [1, 2, 3]) / result.mean_se) < 4).all()
        assert (np.abs((result.sd - np.sqrt([100, 101, 101])) / result.sd_se) < 4).all()
