"""The script that compares rivals on four models, its chains, and coordinates of one of them."""

import re
import sys
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import studies
from algorithms.hoffman_nuts_fast import nuts
from differences import differences
from judging import put, read_tables, verdicts
from made_up_chains import five, off, one
from models.interface import U, grad_U
from models.log_gaussian_cox import LogGaussianCox
from models.non_centred import NonCentred
from models.stochastic_volatility import StochasticVolatility
from reproduce.beyond import zhang_rivals as script
from reproduce.beyond.rivals import comparison_problems
from reproduce.beyond.rivals.moments import moments, pool, worst
from reproduce.beyond.rivals.rows import PER
from reproduce.harness.claims import Measured
from reproduce.zhang import rivals as room
from reproduce.zhang.datasets import Cases
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.rescaled_volatility import Rescaled, rescaled_x, rescaled_z
from reproduce.zhang.rivals import CENTRED, HYPER, MIXTURE, NON_CENTRED, POLYA, RESCALED, SURROGATE

NAMES = {"funnel": None, "credit": "simulated credit, seed 1",
         "volatility": "simulated volatility, T = 5, seed 1",
         "Cox": "simulated Cox process, 3 x 3, unit, seed 1"}


def made_up():
    ahead = {  # log efficiencies per unit of work and per second
        SSHMC: (0.0, 0.5), NON_CENTRED: (3.0, 1.0), GIBBS: (-1.0, -1.0), HMC: (-2.0, -2.0),
        POLYA: (1.0, -0.5), MIXTURE: (0.0, -0.5), SURROGATE: (0.0, 3.0),
        ("volatility", SSHMC): (0.0, 2.0), ("Cox", SSHMC): (4.0, 0.5),
        ("credit", NON_CENTRED): (3.0, 4.0), ("credit", HMC): (-2.0, 5.0)}
    result = {}
    for name, method in script.RUNS:
        gradient, second = ahead.get((name, method), ahead.get(method, (-3.0, -3.0)))
        result[name, method] = {
            "together": five(), "believed": True, "rhat": 1.004, "bulk": 812.0, "tail": 701.0,
            "halves": 2.0, "e_bfmi": 0.9 if method == HMC else np.nan, "before": 123.0,
            "setting": script.SCAN.get((name, method), [{"deepest": 10}])[0],
            "per gradient": Measured(gradient, 0.05), "per second": Measured(second, 0.05)}
    return result


def changed(*place):
    """Return the claims that do not agree if the last of these is at the place of the others."""
    found = verdicts(script, put(*place)(made_up()))
    return {what for what, verdict in found.items() if verdict != "agrees"}


@pytest.mark.parametrize("claim", script.ORDERS, ids=lambda claim: claim.what)
def test_a_method_that_is_not_ahead_changes_its_claim(claim):
    name, unit, better, other = re.fullmatch(
        r"(\w+): log\(worst ESS per (.+?), (.+) / (.+)\)", claim.what).groups()
    least = made_up()[name, other][PER[unit]].value - 0.35  # five of its errors behind
    for method, value in ((better, least), (better, -9.0), (other, 9.0)):
        found = changed((name, method), PER[unit], Measured(value, 0.05))
        assert claim.what in found
        assert all(what.startswith(f"{name}: log(worst ESS per {unit},") for what in found)


@pytest.mark.parametrize("key", [key for key in script.RUNS if key[1] != NON_CENTRED])
def test_a_moment_that_is_another_changes_its_claim(key):
    what = f"{key[0]}, {key[1]}: largest |z| against {NON_CENTRED}, adjusted"
    # of eight numbers the largest is above 4.47 as rarely as one is above 4
    for field, (z, wanted) in product(("mean", "sd"), ((4.6, {what}), (-4.3, set()))):
        assert changed(key, "together", off(five(), field, z)) == wanted
    assert changed(key, "believed", False) == {what}


def test_a_reference_that_is_imprecise_or_not_itself_changes_its_claim():
    assert set(verdicts(script, made_up()).values()) == {"agrees"}
    for name in script.REAL:
        what = f"{name}: largest standard error of the reference, in standard deviations"
        for field in ("mean_se", "sd_se"):
            together = five()._replace(**{field: np.array([0.01, 0.01, 0.01, 0.051])})
            assert changed((name, NON_CENTRED), "together", together) == {what}
    what = "largest |z| between two chains and the other two of a row, adjusted"
    assert changed(("Cox", SSHMC), "halves", 5.4) == {what}
    assert changed(("Cox", SSHMC), "halves", 5.0) == set()


def test_what_is_not_believed_has_no_number():
    result = made_up()
    result["credit", HMC]["believed"] = False
    first, _, hyper = read_tables(script.table(result))
    rows = {(row["problem"], row["method"]): row for row in first}
    assert list(rows) == list(script.RUNS)
    assert rows["credit", HMC]["per 1000 units"] == "not believed"
    assert rows["credit", HMC]["work"] == "20"  # 1e5 gradients of 5000 draws
    assert rows["credit", HMC]["per CPU s"] == rows["credit", SSHMC]["E-BFMI"] == ""
    assert len(hyper) == sum(len(HYPER[name]) for name, _ in script.RUNS) - 1
    assert list(hyper[0].values())[3:] == ["0.000 (0.020)", "1.000 (0.030)"]
    for each in result.values():  # as after a run of a few draws
        each["believed"] = False
    assert script.table(result).count("not believed") == len(script.RUNS)


def test_each_point_of_the_figure_is_in_its_panel_and_of_its_method():
    result = made_up()
    for k, each in enumerate(result.values()):
        each |= {"per gradient": Measured(k / 10, 0.05), "per second": Measured(5 + k / 10, 0.1)}
    result["Cox", SSHMC]["believed"] = False
    fig = script.figure(result)
    style_of = {text.get_text(): (line.get_color(), line.get_marker()) for text, line in zip(
        fig.legends[0].get_texts(), fig.legends[0].get_lines(), strict=True)}
    assert len(set(style_of.values())) == 8 and [*style_of][-1].endswith("not believed")
    for ax, per in zip(fig.axes, ("per gradient", "per second"), strict=True):
        assert ("CPU second" in ax.get_title()) == (per == "per second")
        ticks = [label.get_text().split("\n") for label in ax.get_xticklabels()]
        names = [name for name, *_ in ticks]
        assert names == list(HYPER)
        assert {(name, " ".join(words)) for name, *words in ticks if words} == {
            key for key in result if key[1] not in style_of}
        drawn = {(names[round(float(line.get_xdata()[0]))], line.get_color(), line.get_marker()):
                 line.get_ydata()[0] for line in ax.get_lines() if line.get_marker() != "None"
                 and line.get_markerfacecolor() != "white"}
        wanted = {(name, *style_of[method if method in style_of else "specialist"]):
                  np.exp(each[per].value) for (name, method), each in result.items()
                  if each["believed"]}
        assert drawn == pytest.approx(wanted, rel=1e-12)
        (unknown,) = [line for line in ax.get_lines() if line.get_markerfacecolor() == "white"]
        assert (unknown.get_color(), unknown.get_marker()) == style_of[SSHMC]
        assert names[round(float(unknown.get_xdata()[0]))] == "Cox"
        bars = [line.get_ydata() for line in ax.get_lines() if line.get_marker() == "None"]
        se = 0.05 if per == "per gradient" else 0.1
        np.testing.assert_allclose([np.log(high / low) for low, high in bars], 4 * se)


class Recorder(studies.Recorder):
    """Makes up pilots, of which the third is the best that has enough draws, rows and times."""

    def made(self, function, tasks):
        if function is room.clock:
            return [{"seconds": {row: [0.5, 0.5] for row in tasks[0]["rows"]}}]
        if function is room.pilot:
            places = [script.SCAN[task["name"], task["method"]].index(task["setting"])
                      for task in tasks]
            return [{"ess": [50.0, 60.0, 55.0, 49.0, *[1.0] * 4][k], "gradients": 100.0,
                     "efficiency": [0.1, 0.2, 0.3, 0.9, *[2.0] * 4][k]} for k in places]
        return [{"rhat": 1.0, "bulk": 500.0, "tail": 500.0, "chains": [
            one(100.0 + place, 1e4, 7.0, e_bfmi=1.0, set_up=2.0) for _ in range(4)]}
            for place, task in enumerate(tasks)]


def test_steps_of_each_method_are_as_random_as_those_of_the_others():
    spreads = {key: {setting.get("jitter") for setting in each}
               for key, each in script.SCAN.items()}
    assert all(each == ({0.2, 0.6} if method in (SSHMC, GIBBS, HMC) else {None})
               for (_, method), each in spreads.items())
    assert {len(each) for each in script.SCAN.values()} == {4, 8}


def test_every_row_gets_its_own_chains_with_the_setting_that_was_picked():
    experiment = Recorder("paper")
    result = script.run(experiment, Cases("", NAMES))
    (_, pilots), (_, rows), (_, (timing,)) = experiment.calls
    seeds = [str(task["seed"]) for task in rows]
    assert len(set(seeds)) == len(script.RUNS)
    assert not set(seeds) & {str(task["seed"]) for task in pilots}
    for place, (key, (n, burn_in, of_pilot)) in enumerate(script.RUNS.items()):
        tried = [task for task in pilots if (task["name"], task["method"]) == key]
        assert [task["setting"] for task in tried] == script.SCAN.get(key, [])
        assert {task["n"] for task in tried} <= {of_pilot}
        setting = script.SCAN[key][2] if key in script.SCAN else {"deepest": 10}
        task = rows[place]
        assert (task["name"], task["method"], task["data_name"]) == (*key, NAMES[key[0]])
        assert (task["n"], task["burn_in"], task["chains"]) == (n, burn_in, 4)
        assert task["setting"] == result[key]["setting"] == setting
        wanted = np.log((100 + place) * 4 / 28)
        assert result[key]["per gradient"].value == pytest.approx(wanted)
        assert result[key]["per second"].value == pytest.approx(wanted - np.log(0.5))
        assert result[key]["before"] == 4 * 2 + 100 * len(tried)
        timed = timing["rows"][", ".join(key)]
        if key not in script.SCAN:  # gradients are as expensive in small trees
            setting = {"deepest": 5}
        assert timed == [key[0], NAMES[key[0]], key[1], setting, 50]


@pytest.mark.parametrize(("name", "method", "counts", "units"), [
    ("volatility", SSHMC, dict(gradient_theta=7, gradient_phi=5, factor_theta=3), 12),
    ("Cox", SSHMC, dict(gradient_theta=7, gradient_phi=5, factor_theta=3), 3),
    ("volatility", GIBBS, dict(gradient_theta=7, gradient_phi=5, solves=99), 12),
    ("credit", SSHMC, dict(gradient_theta=7, gradient_phi=5), 7),  # that of v asks for no data
    # ten components a pass; Sigma, L'L and a second factorisation
    ("volatility", MIXTURE, dict(mixture=2, draws=3, likelihood=4), 27),
    ("Cox", SURROGATE, dict(factor=4), 12),
    ("volatility", HMC, dict(gradient=9), 9), ("Cox", NON_CENTRED, dict(gradient=9), 36),
    ("credit", POLYA, dict(polya_gamma=200, factors=4), 46)])
def test_work_is_counted_in_units(name, method, counts, units):
    counted = SimpleNamespace(**counts, _asdict=lambda: counts)
    assert room.work(name, method, counted, SimpleNamespace(X=np.zeros((20, 100)))) == units


def test_surrogate_noise_is_the_inverse_of_a_mean_count():
    counts = np.array([[0.0, 3.0], [1.0, 0.0]])
    assert room.information(LogGaussianCox.from_counts(counts, 1.0)) == 1.0
    assert room.information(LogGaussianCox.from_counts(0 * counts, 1.0)) == 0.25


@pytest.mark.parametrize(("name", "method", "setting"), [
    ("volatility", MIXTURE, {"scale": 2.0}), ("volatility", SSHMC, script.SERIES),
    ("Cox", SURROGATE, {"noise": 1.0, "w": 2.0, "ellipses": 2})])
def test_a_chain_is_that_of_the_sampler_after_its_burn_in(name, method, setting):
    which = room.problem(name, NAMES[name])
    draws, found = room.one_chain(name, which, method, setting, 6, 2, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    _, theta, phi = room.start(which, rng)
    whole = room.transitions(method, which, theta, phi, setting, 8, rng)
    np.testing.assert_array_equal(draws, np.hstack([whole.phi[2:], whole.theta[2:]]))
    units = room.work(name, method, whole.counts, which.model)
    assert found["gradients"] == pytest.approx(units * 6 / 8, rel=1e-12)
    assert found["set_up"] == pytest.approx(units * 2 / 8, rel=1e-12)
    assert found["rate"] == whole.accepted[2:].mean()
    assert np.isnan(found["e_bfmi"])


def test_the_rate_and_the_energies_are_of_what_is_kept(monkeypatch):
    rng = np.random.default_rng(1)
    samples, energies = rng.standard_normal((8, 8)), rng.standard_normal(8)
    chain = SimpleNamespace(samples=samples, energies=energies, divergences=5, counts=None,
                            accepted=np.array([0, 0, 1, 1, 0, 1, 1, 1.0]))
    monkeypatch.setattr(room, "hmc", lambda *given, **named: chain)
    monkeypatch.setattr(room, "work", lambda *given: 80.0)
    which = room.problem("volatility", NAMES["volatility"])
    draws, found = room.one_chain("volatility", which, HMC, {}, 6, 2, rng)
    assert (found["rate"], found["divergences"]) == (pytest.approx(5 / 6, rel=1e-15), 5)
    assert (found["gradients"], found["set_up"]) == (60.0, 20.0)
    assert found["e_bfmi"] == pytest.approx(8 / (energies[2:].var() + 4), rel=1e-12)
    np.testing.assert_array_equal(draws[:, :3], samples[2:, 5:])  # hyperparameters come first


def test_a_row_has_a_chain_of_each_seed():
    of = ("volatility", NAMES["volatility"], SSHMC, script.SERIES, 30)
    found = room.row_of_chains(*of, burn_in=3, chains=2, seed=[5])

    def chain_of(burn_in, child):
        return room.one_chain(of[0], room.problem(*of[:2]), *of[2:], burn_in,
                              np.random.default_rng([5, child]))

    for child, chain in enumerate(found["chains"]):
        draws, more = chain_of(3, child)
        np.testing.assert_allclose(chain["mean"], draws.mean(axis=0), rtol=1e-7)
        assert chain["gradients"] == more["gradients"]
    assert found["chains"][0]["mean"] != found["chains"][1]["mean"]
    assert found["rhat"] > 0.9 and found["bulk"] > 0
    draws, more = chain_of(6, 1)
    ess = worst(pool([moments(draws) | more]))
    assert room.pilot(*of, seed=[5, 1]) == pytest.approx({
        "ess": ess, "efficiency": ess / more["gradients"], "gradients": more["gradients"] * 1.2},
        rel=1e-9)


@pytest.mark.parametrize(("where", "row"), [
    (room, ["funnel", None, SSHMC, {}]), (comparison_problems, ["digits", 6, SSHMC, []])])
def test_the_clock_is_of_a_unit_of_work(where, row, monkeypatch):
    ticks = iter(np.arange(100.0) * 6)
    monkeypatch.setattr(where.time, "thread_time", lambda: next(ticks))
    monkeypatch.setattr(where, "one_chain", lambda name, which, method, setting, n, burn_in, *_: (
        None, {"gradients": 2.0 * n, "set_up": 1.0 * burn_in}))
    assert where.clock({"a": [*row, 4], "b": [*row, 1]}, 2) == {
        "seconds": {"a": [0.5, 0.5], "b": [2.0, 2.0]}}


@pytest.mark.parametrize("method", [CENTRED, NON_CENTRED, RESCALED])
def test_nuts_starts_at_one_state_in_the_coordinates_of_its_method(monkeypatch, method):
    def seen(q, model, n, rng, warm_up, deepest):
        return SimpleNamespace(samples=np.tile(q, (n, 1)), energies=U(q, model),
                               asked=(n, warm_up, deepest))

    monkeypatch.setattr(room, "nuts", seen)
    which = room.problem("volatility", NAMES["volatility"])
    z, theta, phi = room.start(which, np.random.default_rng(1))
    chain, of_theta, of_phi = room.run_nuts(method, which, z, theta, phi, 5, 7, None, 3)
    np.testing.assert_allclose(of_theta, np.tile(theta[which.keep], (5, 1)), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(of_phi, np.tile(phi, (5, 1)))
    model, q = {CENTRED: (which.model, theta), NON_CENTRED: (NonCentred(which.model), z),
                RESCALED: (Rescaled(which.model), rescaled_z(theta, phi))}[method]
    assert chain.energies == U(np.concatenate([q, phi]), model)
    assert chain.asked == (5, 7, 3)


def test_a_chain_of_nuts_has_its_own_gradients_and_those_of_its_warm_up():
    which, rng = room.problem("Cox", NAMES["Cox"]), np.random.default_rng(6)
    draws, found = room.one_chain("Cox", which, NON_CENTRED, {"deepest": 4}, 20, 30, rng)
    rng = np.random.default_rng(6)
    z, _, phi = room.start(which, rng)
    chain = nuts(np.append(z, phi), NonCentred(which.model), 20, rng, 30, deepest=4)
    np.testing.assert_array_equal(draws[:, :2], chain.samples[:, -2:])
    assert found["gradients"] == 4 * chain.gradients.sum()
    assert found["gradients"] + found["set_up"] == 4 * chain.counts.gradient
    assert (found["rate"], found["e_bfmi"]) == (chain.rates.mean(), chain.e_bfmi)


def test_without_the_library_there_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "polyagamma", None)
    with pytest.raises(SystemExit) as exit:
        room.polya_gamma()
    assert exit.value.code == 2
    assert 'pip install -e ".[rivals]"' in capsys.readouterr().err


def test_the_librarys_draws_have_the_mean_of_polya_gamma_variables_and_chains_repeat_themselves():
    pytest.importorskip("polyagamma", reason="needs the extra `rivals`: pip install -e '.[rivals]'")
    omega = room.draw(np.full(40_000, -4.0), np.random.default_rng(1))
    # Polson, Scott and Windle 2013, Section 2; 4 standard errors
    assert abs(omega.mean() - np.tanh(2.0) / 8) < 4 * omega.std() / 200
    which = room.problem("credit", NAMES["credit"])
    (one, of_one), (again, _), (other, _) = (
        room.one_chain("credit", which, POLYA, {"w": 0.6}, 5, 1, np.random.default_rng(seed))
        for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any() and of_one["rate"] == 1.0
    assert of_one["gradients"] == 5 * 23  # 20 covariates


RNG = np.random.default_rng(1)
each = pytest.mark.parametrize(("n", "phi"), [*product([2, 3, 7, 40], (
    [-0.4, -1.9, 2.0], [0.1, -0.5, -0.7], [0.2, 0.3, 0.0], [-0.4, -3.0, 4.0]))])


def dense(n, phi):
    """Return the lower factor of Q / sigma^2 + I / 2."""
    ar = np.tanh(phi[2])
    Q = np.diag([1.0, *[1 + ar * ar] * (n - 2), 1.0])
    Q -= ar * (np.eye(n, k=1) + np.eye(n, k=-1))
    return np.linalg.cholesky(Q * np.exp(-2 * phi[1]) + np.eye(n) / 2)


@each
def test_the_map_is_that_of_the_dense_factor_and_its_inverse(n, phi):
    z, L = RNG.standard_normal(n), dense(n, phi)
    x = rescaled_x(z, np.array(phi))
    # M has a condition number of 1e6 at most
    np.testing.assert_allclose(x, np.linalg.solve(L.T, z), rtol=0, atol=1e-10)
    np.testing.assert_allclose(rescaled_z(x, np.array(phi)), z, rtol=0, atol=1e-10)


@each
def test_the_density_is_that_of_the_model_times_the_jacobian(n, phi):
    model, z = StochasticVolatility.from_data(RNG.standard_normal(n)), RNG.standard_normal(n)
    L = dense(n, phi)
    expected = U(np.append(np.linalg.solve(L.T, z), phi), model) + np.log(np.diag(L)).sum()
    model, q = Rescaled(model), np.append(z, phi)
    assert U(q, model) == pytest.approx(expected, rel=1e-11)
    numeric = differences(lambda q: U(q, model), q)
    # h^4 / 30 = 3e-14 times fifth derivatives, and rounding of 1e-13 U
    np.testing.assert_allclose(grad_U(q, model), numeric, rtol=0, atol=1e-9 * np.abs(
        numeric).max())


def test_the_counts_are_the_first_of_table_4_on_the_unit_square(monkeypatch):
    monkeypatch.setattr(script, "three_problems", lambda folder, counts: SimpleNamespace(
        names={"Cox": counts}, _replace=lambda names: names))
    names = script.cases(SimpleNamespace(data=None))
    assert names == {"funnel": None, "Cox": "simulated Cox process, 32 x 32, unit, seed 27"}
