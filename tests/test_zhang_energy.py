"""What the blocks lend each other: claims, what is run, block energies, and funnels crossed."""

import numpy as np
import pytest
from scipy.stats import norm

import studies
from algorithms.zhang_sshmc import abla_path
from judging import check_labels, check_moves, multiplied, read_table
from models import interface
from models.funnel import Funnel
from reproduce.beyond import zhang_energy as energy
from reproduce.harness.claims import BUDGETS
from reproduce.zhang import energy_exchange as lent
from reproduce.zhang.coupled_funnels import Crossed, exact_draw
from sampling.check import check_model

N = 4
FUNNEL = Funnel.from_size(N)
OWN = "log(range of log p(v | x), SSHMC / range of K(r_v))"
REACH = "log(range of log p(v | x), SSHMC / HMC within Gibbs)"
LENT = "log(range of U / range of what the blocks lend each other)"
GAIN = "b: log(ESS per gradient, with the auxiliary potential / without)"
MORE = "log(that gain of b / the gain of a)"


def made_up():
    values = {"U": 200.0, "K": 200.0, "U without": 15.0, "K without": 15.0, "lent": 1.0, "v": 4.0,
              "reach": 16.0, "paid": 16.0, "own": 1.5, "v alone": 0.4, "U alone": 1.4}
    spread = np.array([0.98, 1.0, 1.02])
    path = {name: [0.0, 1.0, 4.0] for name in ("U", "K", "U without", "K without", "lent", "v")}
    return {"n": 100, "exact": 1e-12, "path": path,
            "starts": {name: (value * spread ** (k % 3)).tolist()
                       for k, (name, value) in enumerate(values.items())},
            "best": {1.0: {"eps": 0.1, "L": 100, "AP": 0.8, "b": 900.0, "a": 800.0, "cost": 1e6},
                     0.0: {"eps": 0.02, "L": 200, "AP": 0.9, "b": 5.0, "a": 300.0, "cost": 2e6}}}


MOVED = {name: (multiplied(factor, *place), claims) for name, factor, place, *claims in (
    ("K(r_v) pays all", 6.0, ("starts", "own"), OWN),
    ("the reach is that of Gibbs", 0.03, ("starts", "reach"), OWN, REACH),
    ("Gibbs reaches as far", 20.0, ("starts", "U alone"), REACH),
    ("Gibbs goes as far", 20.0, ("starts", "v alone"), "log(range of v, SSHMC / HMC within Gibbs)"),
    ("the blocks lend much", 80.0, ("starts", "lent"), LENT),
    ("n v / 2 is nothing", 3.8, ("starts", "U without"), "log(range of U / range of U + n v / 2)"),
    # per gradient: a gains as much less
    ("both are cheap without it", 0.001, ("best", 0.0, "cost"), GAIN),
    ("b gains nothing", 0.0005, ("best", 1.0, "b"), GAIN, MORE),
    ("flows do not keep H", 2e4, ["exact"], "most that H changes on 20 ABLA steps of exact flows"),
    ("a gains as much", 0.002, ("best", 0.0, "a"), MORE))}


def test_one_quantity_moved_and_no_other_claim_differs():
    check_moves(energy, made_up(), MOVED)


def test_h_is_kept_by_exact_flows_alone(monkeypatch):
    assert energy.exact_steps(5, [3]) < 1e-9  # the solver's tolerance, 1e-12, of energies of ten
    # not with the mass of v that the momentum is not drawn with, in one of the two places
    monkeypatch.setattr(energy, "FUNNEL", energy.FUNNEL | {"mass_phi": 2.0})
    assert energy.exact_steps(5, [3]) < 1e-9
    solve = energy.solve_ivp
    monkeypatch.setattr(energy, "solve_ivp", lambda f, time, z, *how, **named: solve(
        lambda t, z, *rest: (1.1 * f(t, z, *rest)[0], f(t, z, *rest)[1]), time, z, *how, **named))
    assert energy.exact_steps(5, [3]) > 1e-3  # another flow is not that of H_2


class Recorder(studies.Recorder):
    def made(self, function, tasks):
        if function.__name__ == "one_start":
            return [{"U": task["seed"][1], "path": task["seed"]} for task in tasks]
        # the cheaper the better, but for what never moves
        return [{"eps": t["eps"], "L": t["L"], "b": (100.0 + t["L"]) * (t["L"] > 50), "a": 1.0,
                 "cost": float(t["L"])} for t in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = energy.run(experiment, None)
    (_, starts), (_, crossed) = experiment.calls
    numbers = list(range(energy.STARTS[budget]))
    assert [task["seed"] for task in starts] == [[5, k] for k in numbers]
    assert result["starts"] == {"U": numbers} and result["path"] == [5, 0]
    grid = list(energy.product(*energy.GRID[budget]))
    assert [(task["share"], task["eps"], task["L"]) for task in crossed] == [
        (share, *each) for share in (1.0, 0.0) for each in grid]
    if budget == "paper":
        assert {found["L"] for found in result["best"].values()} == {100}
        assert {task["n"] for task in starts + crossed} == {100}


def test_momenta_are_draws_given_v_and_both_methods_take_as_many_leapfrogs(monkeypatch):
    monkeypatch.setattr(energy, "within_gibbs", lambda *given: {"v": given, "U": 7.0})
    found = energy.one_start(3, [7, 1])
    assert found["U alone"] == 7.0 and len(found["path"]["v"]) == energy.L + 1
    rng = np.random.default_rng([7, 1])
    x, v = energy.exact_draw(rng, 3)
    z, z_v = rng.standard_normal(3), rng.standard_normal(1)
    # whatever the masses, half the squares of as many normals
    constant = 0.5 * np.log(3 + 1 / 9)  # the log determinant of the mass of v
    assert found["path"]["K without"][0] - constant == pytest.approx(
        (z @ z + z_v @ z_v) / 2, rel=1e-12)
    theta, phi, r_phi, _, eps, L = found["v alone"]
    assert (theta.tolist(), phi.tolist(), eps, L) == (x.tolist(), v.tolist(), 0.2, 200)
    assert r_phi == pytest.approx(z_v * (3 + 1 / 9) ** 0.5, rel=1e-12)


def test_the_crossed_funnels_by_their_records(monkeypatch):
    runs, asked, real = [], [], energy.sshmc
    ess = {"theta": 4.0, "theta squares": 3.0, "phi": 2.0, "phi squares": 1.0}
    monkeypatch.setattr(energy, "sshmc", lambda theta, phi, model, *rest, keep: runs.append(
        (model.share, keep, real(theta, phi, model, *rest, keep=keep))) or runs[-1][2])
    monkeypatch.setattr(energy, "worst", lambda *given: asked.append(given) or ess)
    for b, a in ((3.0, 1.0), (1.0, 0.5)):
        found = energy.crossed_funnels(0.0, 3, 0.1, 4, chains=2, length=30, burn_in=5, seed=[3])
        assert (found["b"], found["a"]) == (b, a)
        ess |= {"theta": 1.0, "phi": 0.5}
    records, burn_in = asked[0]
    for record, (*given, run) in zip(records, runs, strict=False):
        assert given == [0.0, [3]]  # b is the last of theta, a of phi
        np.testing.assert_array_equal(record.theta, run.theta)
        np.testing.assert_array_equal(record.phi, run.phi[:, -1:])
    assert burn_in == 5 and not np.array_equal(*[run[2].theta for run in runs[:2]])  # its own start
    # rounding of a mean of means
    assert found["AP"] == pytest.approx(np.mean([r.accepted[5:] for r in records]), rel=1e-15)
    # 3 L + 1 and 2 L gradients in each of 35 transitions of 2 chains
    assert found["cost"] == 2 * 35 * (3 * 4 + 1 + 2 * 4)


def test_the_table_and_the_figure():
    result = made_up()
    result["path"] = {name: [5.0 * k, 6.0 * k, 7.0 * k]  # from another start each
                      for k, name in enumerate(result["path"], 1)}
    result["starts"] = {key: [float(k)] * 3 for k, key in enumerate(result["starts"], 1)}
    rows = {row["in nats, or of v"]: row["mean over starts"]
            for row in read_table(energy.table(result), "in nats")}
    assert rows == {
        "range of U": "1", "range of K": "2", "range of U + n v / 2": "3",
        "range of K - n v / 2": "4", "range of v^2 / 18 + K(r_v), lent": "5", "range of v": "6",
        "range of log p(v | x) while H_2 moves v": "7", "range of A + log |M| / 2 then": "8",
        "range of K(r_v)": "9", "range of v, HMC within Gibbs": "10",
        "range of log p(v | x), HMC within Gibbs": "11"}
    heads = ("auxiliary potential of phi", "eps", "L", "acceptance", "ESS b", "ESS a",
             "ESS b per 10^6 gradients")
    assert [[row[head] for head in heads]
            for row in read_table(energy.table(result), "auxiliary")] == [
        ["with", "0.1", "100", "0.8", "900", "800", "900"],
        ["without", "0.02", "200", "0.9", "5", "300", "2.5"]]
    fig = energy.figure(result)
    check_labels(fig.axes, *[("ABLA", "energy")] * 2, ("", "worst ESS"))
    assert [ax.get_title() for ax in fig.axes] == [
        "as in (4) and (5)", "$n v / 2$ taken out of both", "crossed funnels"]
    assert [line.get_label() for line in fig.axes[0].get_lines()[:2]] == ["potential", "kinetic"]
    for ax, names in zip(fig.axes, (("U", "K", "lent"), ("U without", "K without", "lent")),
                         strict=False):
        assert [line.get_ydata()[1] for line in ax.get_lines()] == [
            result["path"][name][0] / 5 for name in names]
    assert [label.get_text()[:3] for label in fig.axes[2].get_xticklabels()] == ["$a$", "$b$"]
    points = [line.get_ydata()[0] for line in fig.axes[2].get_lines()]
    assert points == pytest.approx([800, 150, 900, 2.5], rel=1e-12)  # a with, without; b
    assert [(line.get_markerfacecolor(), line.get_label().split()[0])
            for line in fig.axes[2].get_lines()] == [("k", "with"), ("white", "without")] * 2


def test_energies_by_hand():
    x, r = np.random.default_rng(3).normal(size=(2, N))
    path = abla_path(x, np.array([0.4]), r, np.array([3.0]), FUNNEL, 0.1, 0.2, 7, 2, 1)
    found = lent.block_energies(path, FUNNEL, 0.1, 2)
    v, x, r, r_v = path.phi[:, 0], path.theta, path.r_theta, path.r_phi[:, 0]
    X, R = np.exp(v) * np.sum(x * x, 1) / 2, np.exp(-v) * np.sum(r * r, 1) / 2
    own = r_v**2 / 2 / (N + 1 / 9)
    wanted = {"U": X - N * v / 2 + v**2 / 18, "U without": X + v**2 / 18, "v": v,
              "K without": R + own, "K": R + own + N * v / 2, "lent": v**2 / 18 + own}
    constant = np.log(N + 1 / 9) / 2  # log |M_v| / 2
    for name, values in wanted.items():
        shown = found["path"][name] - constant * name.startswith("K")
        np.testing.assert_allclose(shown, values, rtol=0, atol=1e-13)  # rounding
    # H_2 moves v between the flows of H_1, which turn (x, r) by leapfrogs of 0.1
    changes = []
    for k in range(7):
        y, s, precision = x[k], r[k], np.exp(v[k])
        for _ in range(2):
            s = s - 0.05 * precision * y
            y = y + 0.1 / precision * s
            s = s - 0.05 * precision * y
        w = v[k : k + 2]
        changes.append(np.diff([np.exp(w) * (y @ y) / 2 - N * w / 2 + w * w / 18,
                                np.exp(-w) * (s @ s) / 2 + N * w / 2])[:, 0])
    reach, paid = np.vstack([[0, 0], np.cumsum(changes, axis=0)]).T
    ranges = wanted | {"own": own, "reach": reach, "paid": paid}
    assert found["totals"] == pytest.approx(
        {name: np.ptp(values) for name, values in ranges.items()}, rel=1e-12)


def test_within_gibbs_the_kinetic_energy_pays_alone():
    x, v, r = np.array([1.3, -0.4, 0.6, 0.2]), np.array([0.5]), np.array([4.0])
    found = lent.within_gibbs(x, v, r, FUNNEL, 1e-3, 4000)
    w, p, s, path = v[0], r[0], x @ x, []
    for _ in range(4001):
        path.append([w, np.exp(w) * s / 2 - N * w / 2 + w * w / 18, p * p / 2 / (N + 1 / 9)])
        p -= 5e-4 * (np.exp(w) * s / 2 - N / 2 + w / 9)
        w += 1e-3 * p / (N + 1 / 9)
        p -= 5e-4 * (np.exp(w) * s / 2 - N / 2 + w / 9)
    places, energies, own = np.ptp(path, axis=0)
    assert (found["v"], found["U"]) == pytest.approx((places, energies), rel=1e-9)  # rounding
    assert energies == pytest.approx(own, rel=1e-4)  # conserved, to order eps^2


RNG = np.random.default_rng(1)
THETA, PHI = RNG.normal(size=(2, N + 1))


@pytest.fixture(params=[1.0, 0.0, 0.6], ids=["with", "without", "some"])
def model(request):
    return Crossed.from_size(N, request.param)


def test_the_density_is_that_of_two_funnels(model):
    def log_density(theta, phi):
        (x, b), (y, a) = (theta[:-1], theta[-1]), (phi[:-1], phi[-1])
        return (norm.logpdf([a, b], 0, 3).sum() + norm.logpdf(x, 0, np.exp(-a / 2)).sum()
                + norm.logpdf(y, 0, np.exp(-b / 2)).sum())

    places = RNG.normal(size=(5, 2, N + 1))
    gaps = [interface.U(np.concatenate(place), model) + log_density(*place) for place in places]
    np.testing.assert_allclose(gaps, gaps[0], rtol=0, atol=1e-12)  # rounding of terms of 10


def test_all_functions_are_of_one_density_and_of_the_masses(model):
    found = check_model(model, np.append(THETA, PHI))
    assert found.agrees, found
    Phi, Theta = interface.precompute_phi(PHI, model), interface.precompute_theta(THETA, model)
    m = N / 2 + 1 / 9  # the masses, written down from the docstring
    for mass, root in (
            (np.append(np.full(N, np.exp(PHI[-1])), m),
             interface.momentum_theta(np.ones(N + 1), Phi, model)),
            (np.append(np.full(N, np.exp(model.share * THETA[-1])), m),
             interface.momentum_phi(np.ones(N + 1), Theta, model))):
        np.testing.assert_allclose(root, mass**0.5, rtol=1e-14, atol=0)
    # what does not depend on phi is not in U_phi: -n b / 2 + b^2 / 18
    b = THETA[-1]
    rest = interface.U(np.append(THETA, PHI), model) - interface.U_phi(Phi, Theta, model)
    assert rest == pytest.approx(-N * b / 2 + b * b / 18, rel=1e-12)


def test_exact_draws_have_the_density():
    theta, phi = exact_draw(N, np.random.default_rng(2))
    z = np.random.default_rng(2).standard_normal(2 + 2 * N)
    a, b = 3 * z[:2]  # of variance 9; x has the variance e^-a, and y has e^-b
    np.testing.assert_allclose(theta, [*np.exp(-a / 2) * z[2 : 2 + N], b], rtol=1e-14)
    np.testing.assert_allclose(phi, [*np.exp(-b / 2) * z[2 + N :], a], rtol=1e-14)
