"""What the blocks lend each other: claims on results whose truth is known, and what is run."""

import copy

import numpy as np
import pytest

from algorithms.ess import combined_chains
from judging import read_table, verdicts
from reproduce.beyond import zhang_energy as energy
from reproduce.harness.claims import BUDGETS
from reproduce.harness.style import plt
from reproduce.zhang.coupled_funnels import Crossed

OWN = "log(range of log p(v | x), SSHMC / range of K(r_v))"
REACH = "log(range of log p(v | x), SSHMC / HMC within Gibbs)"
SPAN = "log(range of v, SSHMC / HMC within Gibbs)"
LENT = "log(range of U / range of what the blocks lend each other)"
WITHOUT = "log(range of U / range of U + n v / 2)"
EXACT = "most that H changes on 20 ABLA steps of exact flows"
GAIN = "b: log(ESS per gradient, with the auxiliary potential / without)"
MORE = "log(that gain of b / the gain of a)"


def made_up():
    """Return a result with which every claim agrees."""
    values = {"U": 200.0, "K": 200.0, "U without": 15.0, "K without": 15.0, "lent": 1.0, "v": 4.0,
              "reach": 16.0, "paid": 16.0, "own": 1.5, "v alone": 0.4, "U alone": 1.4}
    spread = np.array([0.98, 1.0, 1.02])
    path = {name: [0.0, 1.0, 4.0] for name in ("U", "K", "U without", "K without", "lent", "v")}
    return {"n": 100, "exact": 1e-12, "path": path,
            "starts": {name: (value * spread ** (k % 3)).tolist()
                       for k, (name, value) in enumerate(values.items())},
            "best": {1.0: {"eps": 0.1, "L": 100, "AP": 0.8, "b": 900.0, "a": 800.0, "cost": 1e6},
                     0.0: {"eps": 0.02, "L": 200, "AP": 0.9, "b": 5.0, "a": 300.0, "cost": 2e6}}}


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    found = verdicts(energy, made_up())
    # and every claim is moved by something below
    assert {what for *_, claims in MOVED.values() for what in claims} == set(found)
    assert set(found.values()) == {"agrees"}


MOVED = {
    "K(r_v) pays all": ("own", 10.0, [OWN]),
    "the reach is that of Gibbs": ("reach", 0.03, [OWN, REACH]),
    "Gibbs reaches as far": ("U alone", 20.0, [REACH]),
    "Gibbs goes as far": ("v alone", 20.0, [SPAN]),
    "the blocks lend much": ("lent", 80.0, [LENT]),
    "n v / 2 is nothing": ("U without", 10.0, [WITHOUT]),
    "b gains nothing": ((1.0, "b"), 0.0005, [GAIN, MORE]),
    "exact flows do not keep H": ("exact", 1e6, [EXACT]),
    "a gains as much": ((0.0, "a"), 0.002, [MORE]),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    key, factor, wanted = MOVED[name]
    result = copy.deepcopy(made_up())
    if isinstance(key, tuple):
        result["best"][key[0]][key[1]] *= factor
    elif key == "exact":
        result[key] *= factor
    else:
        result["starts"][key] = [factor * value for value in result["starts"][key]]
    made = verdicts(energy, result)
    assert {what for what, verdict in made.items() if verdict != "agrees"} == set(wanted)
    assert {made[what] for what in wanted} == {"differs"}


def test_h_is_kept_by_exact_flows_alone(monkeypatch):
    assert energy.exact_steps(5, [3]) < 1e-9  # the solver's tolerance, 1e-12, of energies of ten
    # not with the mass of v that the momentum is not drawn with, in one of the two places
    monkeypatch.setattr(energy, "FUNNEL", energy.FUNNEL | {"mass_phi": 2.0})
    assert energy.exact_steps(5, [3]) < 1e-9
    solve = energy.solve_ivp
    monkeypatch.setattr(energy, "solve_ivp", lambda f, time, z, *how, **named: solve(
        lambda t, z, *rest: (1.1 * f(t, z, *rest)[0], f(t, z, *rest)[1]), time, z, *how, **named))
    assert energy.exact_steps(5, [3]) > 1e-3  # another flow is not that of H_2


def test_per_gradient_means_divided_by_the_cost():
    result = made_up()
    wanted = np.log((900 / 1e6) / (5 / 2e6))
    assert energy.log_ess_gain(result, "b").value == pytest.approx(wanted, rel=1e-12)


class Recorder:
    """Makes up starts and settings, and keeps what was asked for."""

    def __init__(self, budget):
        self.budget, self.seed, self.calls = budget, 4, {}

    def replicates(self, function, tasks, unit, warm):
        self.calls[function.__name__] = tasks
        if function.__name__ == "one_start":
            return [{"U": task["seed"][1], "path": task["seed"]} for task in tasks]
        # the cheaper the better, but for what never moves
        return [{"eps": t["eps"], "L": t["L"], "b": (100.0 + t["L"]) * (t["L"] > 50), "a": 1.0,
                 "cost": float(t["L"])} for t in tasks]


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_is_run(budget):
    experiment = Recorder(budget)
    result = energy.run(experiment, None)
    starts = [task["seed"][1] for task in experiment.calls["one_start"]]
    assert result["starts"] == {"U": starts} and result["path"] == [4, 0]
    assert starts == list(range(energy.STARTS[budget]))
    shares = [task["share"] for task in experiment.calls["crossed_funnels"]]
    grid = [(task["eps"], task["L"]) for task in experiment.calls["crossed_funnels"]]
    half = len(grid) // 2
    assert shares == [1.0] * half + [0.0] * half and grid[:half] == grid[half:]
    if budget == "paper":
        assert {found["L"] for found in result["best"].values()} == {100}
        assert {task["n"] for tasks in experiment.calls.values() for task in tasks} == {100}


def test_a_start_is_the_same_for_both_methods():
    found = energy.one_start(3, [7, 1])
    assert set(found) == {"U", "K", "U without", "K without", "lent", "v", "reach", "paid", "own",
                          "path", "v alone", "U alone"}
    assert found["v"] == np.ptp(found["path"]["v"]) and len(found["path"]["v"]) == energy.L + 1
    assert found["v alone"] > 0 and found["U alone"] > 0


def test_momenta_are_draws_given_v_and_both_methods_take_as_many_leapfrogs(monkeypatch):
    asked = []
    real = energy.within_gibbs
    monkeypatch.setattr(energy, "within_gibbs", lambda *given: asked.append(given) or real(*given))
    path = energy.one_start(3, [7, 1])["path"]
    rng = np.random.default_rng([7, 1])
    x, v = energy.exact_draw(rng, 3)
    z, z_v = rng.standard_normal(3), rng.standard_normal(1)
    # whatever the masses, half the squares of as many normals
    constant = 0.5 * np.log(3 + 1 / 9)  # the log determinant of the mass of v
    assert path["K without"][0] - constant == pytest.approx((z @ z + z_v @ z_v) / 2, rel=1e-12)
    ((theta, phi, r_phi, _, eps, L),) = asked
    assert (theta.tolist(), phi.tolist(), eps, L) == (x.tolist(), v.tolist(), 0.2, 200)
    assert r_phi == pytest.approx(z_v * (3 + 1 / 9) ** 0.5, rel=1e-12)


def test_the_worst_of_each_entry_is_of_its_own_squares(monkeypatch):
    ess = {"theta": 4.0, "theta squares": 3.0, "phi": 2.0, "phi squares": 1.0}
    monkeypatch.setattr(energy, "worst", lambda records, burn_in: ess)
    for _ in range(2):
        found = energy.crossed_funnels(1.0, 3, 0.1, 2, chains=1, length=5, burn_in=0, seed=[3])
        assert found["b"] == min(ess["theta"], ess["theta squares"])
        assert found["a"] == min(ess["phi"], ess["phi squares"])
        ess |= {"theta": 1.0, "phi": 0.5}


def test_the_crossed_funnels_by_their_records(monkeypatch):
    """The worst ESS of b is that of b and of b^2, b the last entry of theta, a of phi."""
    records = []
    real = energy.sshmc

    def kept(theta, phi, model, *rest, **named):
        assert isinstance(model, Crossed) and model.share == 0.0 and named == {"keep": [3]}
        records.append(real(theta, phi, model, *rest, **named))
        return records[-1]

    monkeypatch.setattr(energy, "sshmc", kept)
    found = energy.crossed_funnels(0.0, 3, 0.1, 4, chains=2, length=30, burn_in=5, seed=[3])
    b, a = (np.array([getattr(r, block)[5:, -1] for r in records]) for block in ("theta", "phi"))
    assert not np.array_equal(*b)  # each chain its own start

    for x, least in ((b, found["b"]), (a, found["a"])):
        assert least == min(combined_chains(x).ess, combined_chains((x - x.mean()) ** 2).ess)
    # rounding of a mean of means
    assert found["AP"] == pytest.approx(np.mean([r.accepted[5:] for r in records]), rel=1e-15)
    # 3 L + 1 and 2 L gradients in each of 35 transitions of 2 chains
    assert found["cost"] == 2 * 35 * (3 * 4 + 1 + 2 * 4)


def test_the_table_and_the_figure():
    result = made_up()
    moves = {name: float(k) for k, name in enumerate(result["path"], 1)}  # from another start each
    result["path"] = {name: [5.0 * k, 6.0 * k, 7.0 * k] for name, k in moves.items()}
    text = energy.table(result)
    for words in ("range of U + n v / 2", "with ", "without", "2.5"):  # 5 per 2 million gradients
        assert words in text
    result["starts"] = {key: [float(k)] * 3 for k, key in enumerate(result["starts"], 1)}
    rows = {row["in nats, or of v"]: row["mean over starts"]
            for row in read_table(energy.table(result), "in nats")}
    assert rows == {
        "range of U": "1", "range of K": "2", "range of U + n v / 2": "3",
        "range of K - n v / 2": "4", "range of v^2 / 18 + K(r_v), lent": "5", "range of v": "6",
        "range of log p(v | x) while H_2 moves v": "7", "range of A + log |M| / 2 then": "8",
        "range of K(r_v)": "9", "range of v, HMC within Gibbs": "10",
        "range of log p(v | x), HMC within Gibbs": "11"}
    crossed = read_table(energy.table(result), "auxiliary")
    assert [list(row.values()) for row in crossed] == [
        ["with", "0.1", "100", "0.8", "900", "800", "900"],
        ["without", "0.02", "200", "0.9", "5", "300", "2.5"]]
    assert list(crossed[0])[1:] == ["eps", "L", "acceptance", "ESS b", "ESS a",
                                    "ESS b per 10^6 gradients"]
    fig = energy.figure(result)
    assert [ax.get_title() for ax in fig.axes] == [
        "as in (4) and (5)", "$n v / 2$ taken out of both", "crossed funnels"]
    assert [line.get_label() for line in fig.axes[0].get_lines()[:2]] == ["potential", "kinetic"]
    for ax, names in zip(fig.axes, (("U", "K", "lent"), ("U without", "K without", "lent")),
                         strict=False):
        assert [line.get_ydata()[1] for line in ax.get_lines()] == [moves[name] for name in names]
    points = [line.get_ydata()[0] for line in fig.axes[2].get_lines()]
    assert points == pytest.approx([800, 150, 900, 2.5], rel=1e-12)  # a with, without; b
    right = fig.axes[2]
    named = dict(zip(right.get_xticks(), (t.get_text() for t in right.get_xticklabels()),
                     strict=True))
    assert [named[line.get_xdata()[0]] for line in right.get_lines()] == [
        r"$a$, in $\phi$"] * 2 + [r"$b$, in $\theta$"] * 2
    assert [(line.get_markerfacecolor(), line.get_label().split()[0])
            for line in right.get_lines()] == [("k", "with"), ("white", "without")] * 2
    plt.close(fig)
