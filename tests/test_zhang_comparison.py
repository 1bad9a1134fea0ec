"""What Tables 1 to 4 have in common: the choice of settings, its figure, and the clocks."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms import hmc, rmhmc_within_gibbs, zhang_sshmc_fast
from algorithms.zhang_sshmc import Counts
from reproduce import zhang_fig2 as fig2
from reproduce import zhang_fig3 as fig3
from reproduce import zhang_table1 as table1
from reproduce import zhang_table2 as table2
from reproduce import zhang_table3 as table3
from reproduce import zhang_table4 as table4
from reproduce.beyond import zhang_softabs as softabs
from reproduce.harness.fingerprint import fingerprint
from reproduce.harness.style import plt
from reproduce.zhang import comparison, cox, funnel, logistic, volatility
from reproduce.zhang.datasets import GRID, STAND_IN, simulated_volatility
from reproduce.zhang.estimates import Blocks, worst
from reproduce.zhang.printed import ACCEPTANCE, GIBBS, HMC, SSHMC

TABLES = [(table1, {}, {}), (table2, {"jitter": 0.5}, {
    "f_position": 100, "f_momentum": 100, "tol": 1e-6, "tol_back": 1e-4}),
    (table3, {"jitter": 0.3}, {}), (table4, {}, {  # 3 and 10 iterations, no run back
        "f_position": 3, "f_momentum": 10, "tol": 0.0, "tol_back": 0.0})]
SAMPLERS = {HMC: "hmc", GIBBS: "rmhmc_within_gibbs", SSHMC: "sshmc",
            logistic.DROPPED: "rmhmc_within_gibbs"}
ROOMS = {"hmc": hmc, "rmhmc_within_gibbs": rmhmc_within_gibbs, "sshmc": zhang_sshmc_fast}
BLOCKS = dict(eps_theta=0.3, eps_phi=0.4, L_theta=5, L_phi=6)
SETTINGS = {HMC: {"eps": 0.1, "L": 2}, GIBBS: BLOCKS, logistic.DROPPED: BLOCKS,
            SSHMC: dict(eps_theta=0.3, eps_phi=0.4, L=2, n_theta=7, n_phi=8)}


@pytest.mark.parametrize(("room", "jitter", "solver", "method"), [
    (*table, method) for table in TABLES for method in SAMPLERS
    if method != logistic.DROPPED or table[0] is table2], ids=lambda x: getattr(x, "NAME", None))
def test_every_method_gets_its_own_setting_and_the_jitter(
        room, jitter, solver, method, monkeypatch):
    # of Figures 2 and 3 too, whose code has the fingerprint of Tables 3 and 4
    seen, name = {}, SAMPLERS[method]
    signature = inspect.signature(getattr(ROOMS[name], name))

    def sampler(*arguments, **named):
        given = signature.bind(*arguments, **named)
        given.apply_defaults()
        seen.update(given.arguments)
        raise ZeroDivisionError

    for other in SAMPLERS.values():
        monkeypatch.setattr(room, other, sampler if other == name else None)
    model = logistic.Whole(*range(6)) if method == logistic.DROPPED else (0, 1, 2, 3, 4, 5)
    setting = SETTINGS[method] | ({"jitter": 0.2} if room is table4 else {})
    keep = {"keep": "kept"} if room is table3 else {}
    with pytest.raises(ZeroDivisionError):
        room.transitions(method, np.zeros(2), np.ones(3), (0, 1, 2, 3, 4, 5), setting, 9, "rng",
                         **keep)
    wanted = setting | jitter | dict(model=model, n=9, rng="rng")
    if name == "rmhmc_within_gibbs":
        wanted |= solver
    if method == HMC:
        np.testing.assert_array_equal(seen["q0"], [0, 0, 1, 1, 1])
    else:
        wanted |= {"keep": keep.get("keep")}
        np.testing.assert_array_equal(np.append(seen["theta0"], seen["phi0"]), [0, 0, 1, 1, 1])
    assert {name: seen[name] for name in wanted} == wanted
    assert type(seen["model"]) is type(model) and seen["jitter"] == wanted.get("jitter", 0.0)


def made(name, AP, ess, cost=1.0):
    kinds = ("theta", "theta squares", "phi", "phi squares")
    return {"setting": name, "AP": AP, "ess": dict(zip(kinds, ess, strict=True)), "cost": cost}


def test_the_rule_is_the_worst_ess_per_cost_in_the_papers_range():
    pilots = [made("cheap", [0.8], [100, 100, 90, 100], 2.0),
              made("bad squares", [0.8], [500, 500, 500, 40], 1.0),
              made("dear", [0.8], [500, 500, 500, 500], 12.0),
              made("rejects", [0.69], [900] * 4, 1.0), made("creeps", [0.86], [900] * 4, 1.0),
              made("still", [0.8], [0.0] * 4, 1e-9)]
    assert comparison.pick(pilots)["setting"] == "cheap"  # 45 against 40 and 41.7
    assert comparison.pick(pilots, 0.6, 0.9)["setting"] == "rejects"
    assert comparison.pick([made("ends", list(ACCEPTANCE), [1] * 4)])["setting"] == "ends"
    # every block must be in the range
    pilots = [made("both", [0.75, 0.84], [10] * 4), made("one", [0.75, 0.95], [99] * 4)]
    assert comparison.pick(pilots)["setting"] == "both"
    # without a setting in the range it is one of the nearest
    pilots = [made("far", [0.30], [99] * 4), made("near", [0.60], [10] * 4),
              made("nearly", [0.585], [20] * 4), made("not quite", [0.57], [50] * 4)]
    assert comparison.pick(pilots)["setting"] == "nearly"
    with pytest.raises(ValueError, match="pilots must hold at least one pilot"):
        comparison.pick([])


def test_a_scan_has_the_best_of_each_name_that_is_in_the_range_or_what_the_rule_takes():
    tried = [made((1, k), [0.8], [ess] * 4) for k, ess in enumerate((10, 30, 20))]
    tried += [made((2, 0), [0.8], [5] * 4), made((3, 0), [0.6], [99] * 4)]
    assert comparison.scan_settings(tried, lambda setting: f"L = {setting[0]}") == {
        "L = 1": (1, 1), "L = 2": (2, 0)}
    outside = [tried[-1], made((4, 0), [0.65], [9] * 4), made((5, 0), [0.3], [999] * 4)]
    assert comparison.scan_settings(outside, lambda setting: setting[0]) == {4: (4, 0)}


CREDIT, COX, SERIES = f"{STAND_IN}1", f"{GRID}4 x 4, unit, seed 1", simulated_volatility(12).name


@pytest.mark.parametrize(("room", "problem", "shared"), [
    (table1, ["n + 1/9"], funnel), (table1, ["n/2 + 1/9"], funnel), (table3, [SERIES], volatility),
    (table2, [CREDIT, logistic.BOUND, 22], logistic), (fig3, [COX, "unit"], cox)], ids=str)
def test_pilots_go_on_past_their_burn_in_from_where_they_start(room, problem, shared, monkeypatch):
    monkeypatch.setattr(room, "transitions", lambda *given: given)
    for where in (comparison, room):  # of which some have imported it by name
        monkeypatch.setattr(where, "pilot_chains", lambda settings, chains, seed, *rest: (
            chains, seed, *rest[:2], rest[2](*settings, np.random.default_rng(0))), raising=False)
    *found, chain = room.pilots(SSHMC, *problem, ["a setting"], 3, 20, 5, [4])
    assert found == [3, [4], shared.WEIGHTS[SSHMC], 5]
    _, theta, phi, model, setting, n = chain[:6]
    assert (setting, n) == ("a setting", 25)
    rng = np.random.default_rng(0)
    if room is table1:
        x, v = funnel.exact_draw(rng)
        assert np.array_equal(theta, x) and phi == v
        assert model.L_phi[0, 0] ** 2 == pytest.approx(funnel.MASSES[problem[0]], rel=1e-15)
    elif room is table3:  # at the truth
        np.testing.assert_array_equal(theta, simulated_volatility(12).x)
        np.testing.assert_allclose(phi, [np.log(0.65), np.log(0.15), np.arctanh(0.98)], rtol=1e-15)


def test_pilots_of_all_settings_have_the_same_draws_and_each_chain_its_own(monkeypatch):
    monkeypatch.setattr(comparison, "pilot", lambda *given: given)
    found = comparison.pilot_chains("ab", 2, [7], "costs", 3, lambda setting, rng: (
        setting, rng.random()))["pilots"]
    (_, [a, other], *rest), (_, [b, another], *_) = found
    assert [name for name, *_ in found] == ["a", "b"] == [a[0], b[0]] and rest == ["costs", 3]
    assert a[1] == b[1] != other[1] == another[1]


@pytest.mark.parametrize("blocks", [(), (2,)], ids=["one rate", "a rate of each block"])
def test_a_pilot_by_hand(blocks):
    rng = np.random.default_rng(2)
    chains = [Blocks(rng.normal(size=(50, 2)), rng.normal(size=(50, 1)),
                     rng.random((50, *blocks)) < 0.5, 0, Counts(10, 3, k, k)) for k in (1, 2)]
    found = comparison.pilot({"eps": 0.1}, chains, {"gradient_theta": 1.0, "gradient_phi": 0.5}, 10)
    assert found["setting"] == {"eps": 0.1} and found["ess"] == worst(chains, 10)
    assert found["cost"] == 2 * (10 + 1.5)  # of both chains, the factors are free
    # rounding of two ways to a mean
    rates = np.mean([c.accepted[10:] for c in chains], axis=(0, 1))
    assert found["AP"] == pytest.approx(np.atleast_1d(rates), abs=1e-15)


def test_pilots_are_drawn_at_their_mean_rate_and_worst_ess_per_cost():
    _, ax = plt.subplots()
    comparison.draw_pilots(ax, {
        "one": [made("", [0.6, 0.8], [4, 3, 2, 9], 5.0)],
        "two": [made("", [0.9], [9, 9, 9, 7], 2.0), made("", [0.1], [1] * 4)]},
        "1000 gradients", 1e3)
    found = {line.get_label(): line.get_xydata().ravel() for line in ax.get_lines()}
    assert found["one"] == pytest.approx([0.7, 1000 * 2 / 5])
    assert found["two"] == pytest.approx([0.9, 3500, 0.1, 1000])
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx(ACCEPTANCE)


@pytest.mark.parametrize("table", [table1, table2, table3, table4], ids=lambda table: table.NAME)
def test_no_printed_number_is_judged_by_a_shorter_run(table):
    assert {claim.budgets for claim in table.CLAIMS if claim.kind == "printed number"} == {
        ("paper",)}


@pytest.mark.parametrize(("figure", "table", "name"), [
    (fig2, table3, "pilots"), (fig2, table3, "one_chain"), (fig3, table4, "one_chain"),
    (fig3, table4, "clock")])
def test_a_figure_and_its_table_compute_the_same_replicates(figure, table, name):
    # so that what one of them has stored serves the other
    assert fingerprint(getattr(figure, name)) == fingerprint(getattr(table, name))


SECONDS = {HMC: 0.5, GIBBS: 4.0, SSHMC: 3.0}  # of a transition
FIRST = 1000.0  # and of whatever is compiled, once for each method


@pytest.fixture
def watch(monkeypatch):
    """Return what spends time of a made-up clock on so many transitions of a method."""
    now, seen = [0.0], []

    def spend(method, times):
        now[0] += SECONDS[method] * times + FIRST * (method not in seen)
        seen.append(method)

    for room in (comparison, softabs):
        monkeypatch.setattr(room, "time", SimpleNamespace(thread_time=lambda: now[0]))
    return spend


ROWS = {table1: lambda row: [row, "n + 1/9", {}], table2: lambda row: [row, logistic.BOUND, 22, {}],
        table3: lambda row: [row, {}], table4: lambda row: [row, COX, "unit", {}]}
DATA = {table2: [CREDIT], table3: [SERIES]}


@pytest.mark.parametrize("room", ROWS, ids=lambda room: room.NAME)
def test_each_chain_goes_on_where_its_last_round_ended(room, watch, monkeypatch):
    starts = {row: [] for row in SECONDS}

    def transitions(method, theta, phi, model, setting, n, rng, **more):
        # as the programs of the lineage run it, which take five iterations
        assert more == ({"solver": logistic.LINEAGE} if room is table2 else {})
        watch(method, n)
        starts[method].append((theta.copy(), phi.copy()))
        return SimpleNamespace(theta=theta + 1.0 + np.arange(n)[:, None],
                               phi=phi - 1.0 - np.arange(n)[:, None])

    monkeypatch.setattr(room, "transitions", transitions)
    rows = {row: ROWS[room](row) for row in SECONDS}
    assert room.clock(*DATA.get(room, []), rows, 3, 5) == {
        "seconds": {row: [s] * 3 for row, s in SECONDS.items()}}
    for each in starts.values():
        theta, phi = map(np.array, zip(*each, strict=True))
        assert len(each) == 4 and np.any(theta[0])  # no chain begins where all is zero
        np.testing.assert_allclose(np.diff(theta, axis=0), 5.0, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.diff(phi, axis=0), -5.0, rtol=0, atol=1e-12)


def test_a_step_is_a_part_of_a_transition(watch, monkeypatch):
    made = []

    def transition(method, q, model, L, n, rng):
        watch(SSHMC if method == SSHMC else GIBBS, L * n)
        made.append((method, q[-1]))

    monkeypatch.setattr(softabs, "transition", transition)
    assert softabs.clock(4, 2)["seconds"] == {SSHMC: [3.0] * 2, softabs.SOFT: [4.0] * 2}
    assert made == [(SSHMC, 0.0), (softabs.SOFT, 0.0)] * 3  # v = 0


def test_the_program_is_timed_as_it_runs(watch, monkeypatch):
    def ends(theta, n):
        return SimpleNamespace(theta=np.tile(theta, (n, 1)), phi=np.zeros((n, 3)))

    monkeypatch.setattr(table3, "as_the_program", lambda theta, phi, model, n, rng: watch(
        GIBBS, n) or ends(theta, n))
    monkeypatch.setattr(table3, "transitions", lambda method, theta, phi, model, setting, n, rng:
                        watch(method, n) or ends(theta, n))
    rows = {"program": [SSHMC, table3.UP_TO], "other": [SSHMC, {}]}
    assert table3.clock(SERIES, rows, 2, 5)["seconds"] == {"program": [4.0] * 2, "other": [3.0] * 2}


def test_a_printed_ess_is_of_a_run_that_scatters_as_ours():
    e = np.e
    # logs of 1 and 5, whose standard deviation is 8^.5; 12 / e^3 in theory, which the claim has
    found = comparison.ratio_to_a_run([e, e**5], e**3)
    theory = 12 / e**3
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.se == pytest.approx((8 / 2 + 8 - theory) ** 0.5, rel=1e-12)
    # runs that scatter less than theory says have its error, all of it in the claim's
    found = comparison.ratio_to_a_run([e, e * 1.001, e, e * 1.001], 100.0)
    assert found.se == pytest.approx(0.12**0.5 / 2, rel=1e-12)
    # a single run of ours, and others that scatter as one in the paper's place would
    found = comparison.ratio_to_a_run([e**2], 100.0, [e, e**5])
    assert found == (pytest.approx(2 - np.log(100)), pytest.approx((16 - 0.12) ** 0.5))
    assert np.isnan(comparison.ratio_to_a_run([e, np.nan], 100.0)).all()  # one that never moved


def test_pairs_are_of_the_settings_at_both_ends_and_errors_of_logs_in_quadrature():
    r = SimpleNamespace(scan={"a": {"x": 2.0, "y": 1.0, "z": 3.0}, "b": {"only": 5.0}})
    found = comparison.pairs(r, "a", "b", lambda one, other: one / other, lambda each: each)
    assert found == (("y / only", "z / only"), (0.2, 0.6))
    assert comparison.log_error(3, 4) == pytest.approx(7**0.5, rel=1e-15)  # 12 / 3 + 12 / 4
