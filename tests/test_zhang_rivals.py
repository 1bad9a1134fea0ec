"""The script that compares rivals on three problems, its chains, and what it makes of them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from judging import read_table
from models.interface import U
from models.log_gaussian_cox import LogGaussianCox
from models.non_centred import NonCentred
from reproduce.beyond import zhang_rivals as script
from reproduce.beyond.rivals.moments import combine, moments
from reproduce.harness.claims import UNMADE, Measured, judge
from reproduce.harness.style import COLOURS, plt
from reproduce.zhang import rivals as room
from reproduce.zhang.datasets import Cases
from reproduce.zhang.printed import SSHMC
from reproduce.zhang.references import HYPER, problem
from reproduce.zhang.rescaled_volatility import Rescaled, rescaled_z
from reproduce.zhang.rivals import (
    CENTRED,
    MIXTURE,
    NON_CENTRED,
    POLYA,
    RESCALED,
    SURROGATE,
)
from test_zhang_compared import changed, level, made_up

NAMES = {"credit": "simulated credit, seed 1", "volatility": "simulated volatility, T = 5, seed 1",
         "Cox": "simulated Cox process, 3 x 3, unit, seed 1"}


# The claims


def test_methods_that_agree_agree():
    findings = judge(script.CLAIMS, made_up(script), "paper")
    assert {f.verdict for f in findings} == {"agrees"}
    assert len(findings) == 3 + 10 + len(script.ORDERS)  # three references, ten against them


@pytest.mark.parametrize(("name", "method"), [
    (name, method) for name in script.PROBLEMS for method in script.METHODS[name]
    if method != NON_CENTRED])
def test_a_moment_that_is_another_changes_its_claim_and_voids_its_row(name, method):
    what = {f"{name}, {method}: largest |z| against NUTS non-centred"}
    for field, se in (("mean", 0.02), ("sd", 0.03)):
        for place in (0, -1):  # a hyperparameter, a parameter
            assert changed(script, (name, method), field, place, 4.1 * 2**0.5 * se) == what
            assert changed(script, (name, method), field, place, -3.9 * 2**0.5 * se) == set()
    result = made_up(script)
    assert script.lack_of_trust(result, name, method) == ""
    result["found"][name, method].mean[0] += 1.0
    assert script.lack_of_trust(result, name, method) == "void"
    assert script.table(result).count(" void") == 1
    result["found"][name, method].mean[0] = np.nan
    assert script.lack_of_trust(result, name, method) == "void"
    assert script.lack_of_trust(result, name, NON_CENTRED) == ""


def test_few_effective_draws_cannot_tell():
    result = made_up(script)
    result["found"]["Cox", CENTRED].ess[0] = 4 * 49
    found = {f.claim.what: f.verdict for f in judge(script.CLAIMS, result, "paper")}
    assert found.pop("Cox, NUTS, centred: largest |z| against NUTS non-centred") == UNMADE
    assert set(found.values()) == {"agrees"}
    assert script.lack_of_trust(result, "Cox", CENTRED) == "cannot tell"


def test_the_table_and_the_figure_have_every_row():
    result = level(made_up(script))
    text = script.table(result)
    rows = [line for line in text.splitlines() if " 5000 " in line]
    assert len(rows) == len(script.RUNS) == 13
    # 600 effective draws in 1e5 units and 10 seconds, known to a tenth, and to (12 / 600)^1/2;
    # 5000 draws; 123 units before
    assert all(line.split().count("6") == 1 and " 60 (10)" in line and " 123 " in line
               and " 20 " in line for line in rows)
    assert len([line for line in text.splitlines() if line.endswith("+0.0")]) == 3 * (1 + 3 + 2) + 3
    assert "eps_theta 0.2" in text and "noise 1" in text
    # one mean of SSHMC 0.1 above the reference's 1, with standard errors of 0.02 each
    result["found"]["credit", SSHMC] = result["found"]["credit", SSHMC]._replace(
        mean=result["found"]["credit", SSHMC].mean + 0.1)
    (row,) = [row for row in read_table(script.table(result).split("Means of the")[1], "problem")
              if (row["problem"], row["method"], row[""]) == ("credit", SSHMC, HYPER["credit"][0])]
    assert (row["mean"], row["reference"], row["z"]) == ("0.1000", "0.0000", "+3.5")
    assert len(script.figure(result).axes) == 2


def test_each_point_of_the_figure_is_in_its_panel_and_of_its_method():
    result = made_up(script)
    for k, (key, f) in enumerate(result["found"].items()):
        result["found"][key] = f._replace(gradients=1e5 * (k + 1), mean=f.mean.copy())
        result["seconds"][key] = Measured(10.0 + k)
    result["found"]["credit", CENTRED].ess[0] = 4 * 49  # cannot tell
    result["found"]["Cox", SSHMC].mean[0] += 1.0  # void
    fig = script.figure(result)
    shown = [(place, k, (name, method)) for place, name in enumerate(script.PROBLEMS)
             for k, method in enumerate(script.METHODS[name]) if (name, method) != ("Cox", SSHMC)]
    for ax, amount in zip(fig.axes, (lambda key: result["found"][key].gradients,
                                     lambda key: result["seconds"][key].value), strict=True):
        assert ("CPU second" in ax.get_title()) == (ax is fig.axes[1])
        for line, (place, k, key) in zip(ax.get_lines(), shown, strict=True):
            draws = 196 if key == ("credit", CENTRED) else 600
            assert line.get_xdata()[0] == pytest.approx(place + (k - 1.5) / 8, rel=1e-12)
            assert line.get_ydata()[0] == pytest.approx(draws / amount(key), rel=1e-12)
            assert line.get_color() == COLOURS[k]
            assert (line.get_markerfacecolor() == "white") == (draws == 196)
        assert [label.get_text().split("\n")[0] for label in ax.get_xticklabels()] == list(
            script.PROBLEMS)
    labels = [text.get_text() for text in fig.legends[0].get_texts()]
    assert labels == ["specialist", SSHMC, NON_CENTRED, CENTRED, RESCALED]  # that of the colours
    plt.close(fig)


# The work


class Remembered:
    """An experiment that computes nothing: the draws of a chain are all about its seed's place."""

    budget, seed = "paper", 3

    def __init__(self):
        self.tasks, self.pilots, self.rows = {}, {}, None

    def replicates(self, function, tasks, unit, warm=None):
        if unit == "timings":
            self.rows = tasks[0]["rows"]
            return [{"seconds": {row: [0.5, 0.5] for row in self.rows}}]
        store, made = self.pilots if unit == "pilots" else self.tasks, []
        for task in tasks:
            key, k = (task["name"], task["method"]), len(HYPER[task["name"]]) + 2
            store.setdefault(key, []).append(task)
            draws = task["seed"][1] + np.random.default_rng(task["seed"]).normal(size=(50, k))
            units = 7.0
            if unit == "pilots":  # the third setting is the best
                units = [30.0, 20.0, 10.0, 40.0][len(store[key]) - 1]
            made.append(record(draws, len(HYPER[task["name"]])) | {
                "gradients": units, "set_up": 2.0})
        return made


def record(draws, h):
    """Make of draws what a replicate returns."""
    return moments(draws[:, :h], draws[:, h:]) | {
        "gradients": 1.0, "set_up": 0.0, "divergences": 0, "deepest": 0.0, "rate": 0.8}


def test_every_row_gets_its_own_chains_with_the_setting_that_was_picked():
    experiment = Remembered()
    result = script.run(experiment, Cases("", NAMES))
    seeds = [str(task["seed"]) for key in script.RUNS for task in experiment.tasks[key]]
    assert len(set(seeds)) == len(seeds) == 5 * 13
    assert not set(seeds) & {str(task["seed"]) for each in experiment.pilots.values()
                             for task in each}
    for place, (key, (n, burn_in, pilot, depth)) in enumerate(script.RUNS.items()):
        tasks, f = experiment.tasks[key], result["found"][key]
        np.testing.assert_allclose(f.mean, place, rtol=0, atol=0.5)  # of 250 draws
        assert {task["data_name"] for task in tasks} == {NAMES[key[0]]}
        assert [(task["n"], task["burn_in"]) for task in tasks] == [(n, burn_in)] * 5
        if key in script.SCAN:
            assert len(experiment.pilots[key]) == 4
            assert [task["setting"] for task in experiment.pilots[key]] == script.SCAN[key]
            assert {task["n"] for task in experiment.pilots[key]} == {pilot}
            setting = script.SCAN[key][2]
            assert result["seconds"][key].value == 0.5 * f.n == 0.5 * 250
            assert result["before"][key] == 5 * 2 + 100 + 4 * 2
        else:
            setting = {"maxdepth": depth}
            assert result["seconds"][key].value == 0.5 * 35 / (4 if key[0] == "Cox" else 1)
            assert result["before"][key] == 5 * 2
        assert all(task["setting"] == setting for task in tasks)
        assert experiment.rows[", ".join(key)][:4] == [key[0], NAMES[key[0]], key[1], setting]


def test_the_pick_is_by_the_worst_effective_draws_per_unit():
    rng = np.random.default_rng(1)
    good = rng.standard_normal((400, 3))
    slow = np.column_stack([good[:, :2], np.repeat(rng.standard_normal(20), 20)])  # a parameter
    stuck = np.column_stack([good[:, :2], np.zeros(400)])
    pilots = [record(x, 1) | {"gradients": units}
              for x, units in ((slow, 10.0), (good, 100.0), (stuck, 1.0), (good, 60.0))]
    assert room.pick("credit", [0, 1, 2, 3], pilots) == 3
    with np.errstate(all="ignore"):
        assert room.efficiency(pilots[2], 1) == 0.0


# The chains


@pytest.mark.parametrize(("name", "method", "counts", "units"), [
    ("credit", SSHMC, dict(gradient_theta=7, gradient_phi=5, factor_theta=3), 7),
    ("volatility", SSHMC, dict(gradient_theta=7, gradient_phi=5, factor_theta=3), 12),
    ("Cox", SSHMC, dict(gradient_theta=7, gradient_phi=5, factor_theta=3), 3),
    ("volatility", MIXTURE, dict(mixture=2, draws=1, likelihood=9, conditional=5), 30),
    ("Cox", SURROGATE, dict(factor=4, likelihood=9, ellipses=2), 12),
    ("credit", POLYA, dict(polya_gamma=200, factors=4), 46)])
def test_work_is_counted_in_units(name, method, counts, units):
    class Counts(SimpleNamespace):
        def _asdict(self):
            return vars(self)

    model = SimpleNamespace(X=np.zeros((20, 100)))
    assert room.work(name, method, Counts(**counts), model) == units


def test_surrogate_noise_is_the_inverse_of_a_mean_count():
    counts = np.array([[0.0, 3.0], [1.0, 0.0]])
    assert room.information(LogGaussianCox.from_counts(counts, 1.0)) == 1.0
    assert room.information(LogGaussianCox.from_counts(0 * counts, 1.0)) == 0.25


SMALL = [("volatility", MIXTURE, {"scale": 2.0}), ("volatility", SSHMC, script.SERIES),
         ("Cox", SURROGATE, {"noise": 1.0, "w": 2.0, "ellipses": 2})]


@pytest.mark.parametrize(("name", "method", "setting"), SMALL)
def test_a_chain_is_that_of_the_sampler_after_its_burn_in(name, method, setting):
    found = room.chain(name, NAMES[name], method, setting, n=6, burn_in=2, seed=4)
    which, rng = problem(name, NAMES[name]), np.random.default_rng(4)
    _, theta, phi = room.start(which, rng)
    whole = room.transitions(name, method, which, theta, phi, setting, 8, rng)
    expected = moments(whole.phi[2:], whole.theta[2:])
    assert {key: found[key] for key in expected} == expected
    units = room.work(name, method, whole.counts, which.model)
    assert found["gradients"] == pytest.approx(units * 6 / 8, rel=1e-12)
    assert found["set_up"] == pytest.approx(units * 2 / 8, rel=1e-12)
    assert found["rate"] == whole.accepted[2:].mean()


def test_the_rate_is_of_what_is_kept(monkeypatch):
    rng = np.random.default_rng(1)
    record = SimpleNamespace(phi=rng.standard_normal((8, 3)), theta=rng.standard_normal((8, 4)),
                             accepted=np.array([0, 0, 1, 1, 0, 1, 1, 1.0]), divergences=5)
    monkeypatch.setattr(room, "transitions", lambda *given: record)
    monkeypatch.setattr(room, "work", lambda *given: 80.0)
    record.counts = None
    found = room.chain("volatility", NAMES["volatility"], SSHMC, {}, n=6, burn_in=2, seed=4)
    assert (found["rate"], found["divergences"]) == (pytest.approx(5 / 6, rel=1e-15), 5)
    assert (found["gradients"], found["set_up"]) == (60.0, 20.0)


# The library


def test_without_the_library_there_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "polyagamma", None)
    with pytest.raises(SystemExit) as exit:
        room.polya_gamma()
    assert exit.value.code == 2
    assert 'pip install -e ".[rivals]"' in capsys.readouterr().err


@pytest.mark.parametrize("m", [0.0, 1.0, -4.0])
def test_the_librarys_draws_are_polya_gamma_variables(m):
    pytest.importorskip("polyagamma", reason="needs the extra `rivals`: pip install -e '.[rivals]'")
    n, size = 40_000, abs(m) + 1e-6
    omega = room.draw(np.full(n, m), np.random.default_rng(1))
    assert omega.shape == (n,) and (omega > 0).all()
    # mean, variance and Laplace transform (Polson, Scott and Windle 2013, Section 2), 4 standard
    # errors each; that of the variance by the fourth moment
    mean = np.tanh(size / 2) / (2 * size)
    variance = (np.sinh(size) - size) / (4 * size**3 * np.cosh(size / 2)**2) if m else 1 / 24
    assert abs(omega.mean() - mean) < 4 * (variance / n)**0.5
    squares = (omega - mean)**2
    assert abs(squares.mean() - variance) < 4 * squares.std() / n**0.5
    for t in (0.5, 3.0):
        values = np.exp(-t * omega)
        exact = np.cosh(m / 2) / np.cosh(np.sqrt(t / 2 + m * m / 4))
        assert abs(values.mean() - exact) < 4 * values.std() / n**0.5


@pytest.mark.parametrize("method", [CENTRED, NON_CENTRED, RESCALED])
def test_nuts_starts_at_one_state_in_the_coordinates_of_its_method(monkeypatch, method):
    def library(model, start, draws, tune, seed, maxdepth, kept):
        return {"energy": U(start, model), **kept(start)} | dict(
            draws=draws, tune=tune, seed=seed, maxdepth=maxdepth)

    monkeypatch.setattr("reproduce.beyond.rivals.nuts.nuts", library)
    which = problem("volatility", NAMES["volatility"])
    z, theta, phi = room.start(which, np.random.default_rng(1))
    found = room.run_nuts(method, which, z, theta, phi, 5, 7, 11, 3)
    np.testing.assert_allclose(found["theta"], theta[which.keep], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found["phi"], phi)
    model, q = {CENTRED: (which.model, theta), NON_CENTRED: (NonCentred(which.model), z),
                RESCALED: (Rescaled(which.model), rescaled_z(theta, phi))}[method]
    assert found["energy"] == U(np.concatenate([q, phi]), model)
    assert [found[key] for key in ("draws", "tune", "seed", "maxdepth")] == [5, 7, 11, 3]


def test_polya_gamma_chains_repeat_themselves():
    pytest.importorskip("polyagamma", reason="needs the extra `rivals`: pip install -e '.[rivals]'")
    run = dict(name="credit", data_name=NAMES["credit"], method=POLYA, setting={"w": 0.6}, n=5,
               burn_in=1)
    one, again, other = (room.chain(**run, seed=seed) for seed in (1, 1, 2))
    assert one.pop("rate") == again.pop("rate") == 1.0
    assert np.isnan(one.pop("deepest")) and np.isnan(again.pop("deepest"))
    assert one == again and one["mean"] != other["mean"]
    assert one["gradients"] == 5 * 23  # 20 covariates


def test_one_chain_together_is_itself():
    draws = np.random.default_rng(2).standard_normal((100, 4))
    found = combine([record(draws, 1)], 1)
    np.testing.assert_allclose(found.mean, draws.mean(axis=0), rtol=0, atol=1e-15)
