"""beyond/paquet_rivals.py and what is its own in reproduce/paquet: runs, costs, claims."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm, t

from algorithms.ais import geometric_ladder
from algorithms.orthant import orthant
from algorithms.paquet_rmhmc_fast import DIRECT, rmhmc
from judging import read_tables, verdicts
from models.gp_classification import GPClassification, draw_q, log_ratio
from reproduce.beyond import paquet_rivals as script
from reproduce.harness.claims import Measured
from reproduce.harness.files import Data
from reproduce.paquet import evidence
from reproduce.paquet.digits import digits_3v5
from reproduce.paquet.evidence import Row, average, best, cost, is_trusted, put_together
from reproduce.paquet.problem import KERNELS

DIGITS = digits_3v5().name
THREE = (3, 2.0, 1.0)  # a problem of which Plackett's identity has the evidence in closed form
ONE_RUN = {"IS from q": 4000, "bridge": 1000, "AISq-ellipse": 20, "AIS-ellipse": 30,
           "AISq-RMHMC": 8, "AIS-RMHMC": 40, "AISq-HMC": 3, "tilting": 64}
MANY = {"AISq-ellipse": 150, "AIS-ellipse": 150, "AISq-RMHMC": 25, "AIS-RMHMC": 80, "AISq-HMC": 25}


@pytest.mark.parametrize("method", evidence.METHODS)
def test_every_method_finds_the_evidence_of_three_cases(method):
    found = evidence.estimate(method, DIGITS, list(THREE), ONE_RUN[method], MANY.get(method, 6), 1)
    log_Z, (K, y, _) = average(method, found["log_Z"]), evidence.problem(DIGITS, *THREE)
    exact = math.log(orthant(np.outer(y, y) * K, 1))
    # 4 standard errors, of fixed seeds; those of six runs are themselves a third off
    assert abs(log_Z.value - exact) < 4 * log_Z.se
    assert log_Z.se < 0.12  # so that an error of a half would be seen
    own, known = method in ("IS from q", "bridge"), method == "bridge" or "ellipse" in method
    assert [not np.isnan(found[key]).any() for key in ("se", "k", "evaluations")] == [
        own, own, known]


def test_many_draws_of_q_at_once_are_what_they_are_one_by_one(monkeypatch):
    monkeypatch.setattr(evidence, "CHUNK", 3)
    annealed = evidence.model(DIGITS, THREE, True)
    ours, theirs = np.random.default_rng(2), np.random.default_rng(2)
    found = evidence.log_ratios_of_q(annealed, 7, ours)
    expected = [log_ratio(draw_q(annealed, theirs), annealed) for _ in range(7)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)  # rounding


def test_every_annealing_has_its_start_its_ladder_and_its_kernel(monkeypatch):
    seen = {}

    def ais(model, betas, *given):
        *kernel, runs, _ = given
        seen[name] = model.q_is_prior, betas[1], len(betas), *(kernel or ["ellipse"]), runs
        return SimpleNamespace(log_weights=[0.0], counts=SimpleNamespace(likelihood=12))

    monkeypatch.setattr(evidence, "ais", ais)
    monkeypatch.setattr(evidence, "ais_elliptical_slice", ais)
    for name in evidence.METHODS:
        if "AIS" in name:
            found = evidence.one_run(name, DIGITS, THREE, 6, np.random.default_rng(0))
            # 12 for six updates; the other kernels have no such number
            assert str(found["evaluations"]) == ("2.0" if "ellipse" in name else "nan")
    assert seen == {  # the first temperatures of Figure 2, where they are harmless
        "AISq-ellipse": (False, 1e-3, 7, "ellipse", 1),
        "AIS-ellipse": (True, 1e-7, 7, "ellipse", 1),
        "AISq-RMHMC": (False, 1e-3, 7, KERNELS["RMHMC"], 1),
        "AIS-RMHMC": (True, 1e-7, 7, KERNELS["RMHMC"], 1),
        "AISq-HMC": (False, 1e-3, 7, KERNELS["HMC"], 1)}


def test_the_first_temperature_is_harmless_where_the_likelihood_is_a_step():
    place = (8, 2.0, 9.0)
    annealed = evidence.model(DIGITS, place, True)
    spread = evidence.log_ratios_of_q(annealed, 100, np.random.default_rng(0)).std()
    assert spread > 1e4  # or this would see nothing
    assert evidence.first_temperature(DIGITS, place, "AISq") == 1 / spread
    assert geometric_ladder(5, 1 / spread)[1] == 1 / spread


def test_a_bridge_is_from_those_draws_and_a_chain_after_its_warm_up(monkeypatch):
    asked, annealed = {}, evidence.model(DIGITS, THREE, True)
    monkeypatch.setattr(evidence, "elliptical_slice", lambda x0, model, n, rng: asked.update(
        x0=x0, n=n) or SimpleNamespace(log_likelihood=np.arange(n, dtype=float),
                                       counts=SimpleNamespace(likelihood=3 * n)))
    monkeypatch.setattr(evidence, "bridge_sampling", lambda at_target, at_proposal: asked.update(
        target=at_target, proposal=at_proposal) or SimpleNamespace(log_Z=1.0, standard_error=0.5))
    found = evidence.one_run("bridge", DIGITS, THREE, 1000, np.random.default_rng(3))
    assert (found["log_Z"], found["se"], found["evaluations"]) == (1.0, 0.5, 3.0)
    same = evidence.log_ratios_of_q(annealed, 1000, np.random.default_rng(3))
    for name, wanted in {"n": 330, "x0": annealed.mu, "target": np.arange(30.0, 330.0),
                         "proposal": same}.items():
        np.testing.assert_array_equal(asked[name], wanted)


def test_cases_are_evenly_spaced_and_of_one_half_or_of_both(monkeypatch):
    X, y = (each[[0, 182, 364]] for each in (digits_3v5().X, digits_3v5().y))
    K, labels, _ = evidence.problem(DIGITS, *THREE)
    distance = ((X[:, None] - X) ** 2).sum(-1)
    np.testing.assert_allclose(K, np.exp(2 * 1.0 - distance / 2 / np.exp(2 * 2.0)), rtol=1e-12)
    np.testing.assert_array_equal(labels, y)

    def half(label, name):
        return lambda *_, **__: Data(name, np.full((770, 2), label), np.full(770, label))

    monkeypatch.setattr(evidence, "usps_3v5", half(1.0, "training"))
    monkeypatch.setattr(evidence, "usps_3v5_test", half(-1.0, "test"))
    evidence.digits.cache_clear()
    X, y = evidence.digits("USPS", 767)
    assert X.shape == (767, 2) and (y == 1).all()
    X, y = evidence.digits("USPS", 1540)
    assert X.shape == (1540, 2) and (y == 1).sum() == (X[:, 0] == 1).sum() == 770
    evidence.digits.cache_clear()
    with pytest.raises(ValueError, match=r"^N must be at most 365 for optical"):
        evidence.digits(DIGITS, 366)


def test_operations_by_hand():
    kernel = KERNELS["RMHMC"]  # of which a temperature is one transition
    counts = rmhmc(np.zeros(1), GPClassification.from_prior(np.eye(1), np.ones(1)), kernel.l_max,
                   kernel.eps, 1, np.random.default_rng(0), kernel.f_max).counts
    of_rmhmc = pytest.approx(1000 * counts.thirds / 3)
    # 200 leapfrog steps of HMC; one product of 2 N^2, and .33 more for the ellipses
    found = {method: evidence.operations(method, 10) for method in evidence.METHODS}
    assert found == {"IS from q": 200, "bridge": pytest.approx(266), "AISq-ellipse": 200,
                     "AIS-ellipse": 200, "AISq-RMHMC": of_rmhmc, "AIS-RMHMC": of_rmhmc,
                     "AISq-HMC": 40_000, "tilting": 100}
    thirds = {N: 3 * evidence.operations("AISq-RMHMC", N) / N**3 for N in (DIRECT - 1, DIRECT)}
    assert thirds == pytest.approx({DIRECT - 1: 10 * 6 + 4, DIRECT: 10 * 3 + 4})


def test_the_clock_is_of_a_unit_of_each_method_and_of_what_its_start_needs(monkeypatch):
    now, asked = [0.0], []

    def takes(seconds):
        return lambda *given: now.__setitem__(0, now[0] + seconds)

    monkeypatch.setattr(evidence, "GPClassification", SimpleNamespace(
        from_ep=takes(20.0), from_prior=takes(3.0)))
    monkeypatch.setattr(evidence, "ep", takes(100.0))
    monkeypatch.setattr(evidence, "tilting", takes(7.0))
    monkeypatch.setattr(evidence, "estimate", lambda method, data, key, size, *_: asked.append(
        (method, size)) or takes(512.0)())
    monkeypatch.setattr(evidence.time, "thread_time", lambda: now[0])
    four = (4, 2.0, 1.0)
    found = evidence.clock(DIGITS, [[list(THREE), ["tilting", "AISq-RMHMC"]],
                                    [list(four), ["bridge"]]], 2)["seconds"]
    assert found["setup"] == {f"{key}, {what}": seconds for key in (THREE, four) for what, seconds
                              in (("q", 120.0), ("prior", 3.0))} | {f"{THREE}, tilt": 7.0}
    assert found["unit"] == {f"{THREE}, tilting": [2.0] * 2, f"{THREE}, AISq-RMHMC": [128.0] * 2,
                             f"{four}, bridge": [0.512] * 2}
    assert asked == [("tilting", 256), ("AISq-RMHMC", 4)] * 3 + [("bridge", 1000)] * 3
    assert [evidence.set_up_of(m) for m in ("tilting", "bridge", "AIS-RMHMC")] == ["tilt", "q",
                                                                                 "prior"]


def made(log_Z, truth=0.0, se=0.0, **other):
    found = {"log_Z": log_Z, "se": [0.2] * len(log_Z), "k": [0.3, 0.5] * (len(log_Z) // 2),
             "evaluations": [2.0] * len(log_Z)} | other
    return put_together("bridge", found, Measured(truth, se), Measured(3.0, 0.1))


def test_rows_and_averages_by_hand():
    row = made([1.0, 3.0, 1.0, 3.0], truth=1.0, se=0.5)
    # mean 2, variance 4/3; bias 1, of which (4/3) / 4 + 1/4 are noise
    assert row.log_Z == pytest.approx((2.0, (1 / 3) ** 0.5), rel=1e-12)
    assert row.spread == pytest.approx((4 / 3) ** 0.5, rel=1e-12)
    error = (4 / 3 + 1 - 1 / 3 - 1 / 4) ** 0.5
    assert row.error == pytest.approx((error, error / 6**0.5), rel=1e-12)
    assert (row.runs, row.own.value, row.k, row.evaluations) == (4, 0.2, 0.4, 2.0)
    assert row.seconds == (3.0, 0.1)
    assert row.z == pytest.approx(norm.isf(t.sf(1 / (1 / 3 + 1 / 4) ** 0.5, 3)), rel=1e-12)
    assert made([1.0, 3.0], truth=9.0).z < 0
    # a bias that is no larger than its noise is none
    assert made([1.0, 3.0, 1.0, 3.0], truth=2.1).error.value == pytest.approx((4 / 3) ** 0.5)
    assert average("bridge", [0.0, 2.0]) == pytest.approx((1.0, 1.0), rel=1e-12)
    for method in {*evidence.METHODS} - {"bridge"}:
        assert average(method, [0.0, 2.0]).value == pytest.approx(
            logsumexp([0.0, 2.0]) - math.log(2), rel=1e-12)


@pytest.mark.parametrize(("method", "field", "good", "bad"), [
    ("IS from q", "k", 0.69, 0.7), ("IS from q", "k", 0.69, math.nan),
    ("IS from q", "own", Measured(0.0009), Measured(0.001)),
    ("AISq-RMHMC", "spread", 0.99, 1.0), ("tilting", "spread", 0.99, 1.0),
    ("bridge", "own", Measured(0.29), Measured(0.3))])
def test_what_is_to_be_trusted(method, field, good, bad):
    # everything else is as bad as can be, and does not matter
    row = Row(4, Measured(0.0), Measured(0.0), 9.9, Measured(9.9), 9.9, 0.0, Measured(1.0), 0.0)
    assert is_trusted(method, row._replace(**{field: good}))
    assert not is_trusted(method, row._replace(**{field: bad}))


def test_costs_by_hand_and_the_least_of_them():
    row = Row(4, Measured(0.0), Measured(0.3, 0.03), 0.3, Measured(0.2), 0.1, 2.0,
              Measured(5.0, 0.5), 0.0)
    # 5 seconds times 9 runs; relative errors of 10 % of the time and 20 % of the square
    assert cost(row) == pytest.approx((45.0, 45 * 0.05**0.5), rel=1e-12)
    cheap = row._replace(seconds=Measured(1.0, 0.1))
    rows = {("a", "bridge", 1): row, ("a", "bridge", 2): cheap, ("b", "bridge", 2): cheap,
            ("a", "tilting", 1): cheap}
    for z, least in ((0.0, 9.0), (-4.0, 45.0)):
        assert best(rows | {("a", "bridge", 2): cheap._replace(z=z)}, "a", "bridge").value == (
            pytest.approx(least, rel=1e-12))
    broken = {place: found._replace(own=Measured(0.3)) for place, found in rows.items()}
    assert best(broken, "a", "bridge") is None and best(broken, "a", "tilting")
    assert best(rows, "c", "bridge") is None
    assert evidence.rows_of(rows, "a", "bridge") == {1: row, 2: cheap}


class Stored:
    """In place of an experiment: values that say which run they are of."""

    def __init__(self, budget):
        self.budget, self.seed = budget, 3

    def of(self, name):
        return self

    def replicates(self, function, tasks, *_, **__):
        (self.task,) = tasks
        return [{"log_Z": [0.1 * k for k in range(self.task["runs"])]}]


def asked(cases):
    """Return the tasks that the script first asks for, and compute nothing."""
    tasks = []
    with pytest.raises(ZeroDivisionError):
        script.run(SimpleNamespace(budget="paper", seed=3, replicates=lambda _, given, *__, **more:
                                   tasks.extend(given) or 1 / 0), cases)
    return tasks


def test_the_error_of_ep_and_the_largest_of_many_deviates():
    r = made_up(EP={(100, 2.85, 7.1): (Measured(-0.3, 0.03),) * 2,
                    (100, 4.85, 7.1): (Measured(0.5, 0.04),) * 2})
    assert script.ep_error(r, -1) == pytest.approx((0.4, 0.025), rel=1e-12)
    assert script.ep_error(r, 0).value == pytest.approx(0.05, rel=1e-12)
    rows = {(key, "bridge", 1): row("bridge", z=z) for key, z in zip(KEYS, (1, -3, 2, 0, 1),
                                                                     strict=True)}
    # one normal number is beyond 3 with probability .0027, the largest of five with .01343
    assert script.worst_z(made_up(rows), "bridge") == pytest.approx(2.4724, abs=1e-3)


@pytest.mark.parametrize(("note", "sizes"), [
    ("", [40, 365, 767, 1540]), ("USPS is not available", [40, 365])])
def test_where_there_are_365_digits_the_ladder_ends_there(note, sizes):
    found = {tuple(task["problem_key"]) for task in asked(digits_3v5()._replace(note=note))}
    assert sorted(N for N, *rest in found if rest == [4.85, 5.1] and N != 100) == sizes
    assert sum(N == 100 for N, *_ in found) == 16  # four lengths and four amplitudes


GRID = [(100, a, b) for a in (2.85, 4.85) for b in (1.1, 7.1)]
KEYS, HARD = [script.PAPER, *GRID], (100, 4.85, 5.1)
WORTH = {"AISq-RMHMC": 100.0}  # seconds; of all others 1


def row(method, **other):
    error = Measured(0.2, 0.01)
    return Row(6, Measured(-9.0, 0.1), error, 0.2, Measured(0.2, 0.01), 0.9, 2.0,
               Measured(WORTH.get(method, 1.0), 0.01), 0.5)._replace(**other)


def made_up(rows=(), keys=KEYS, **other):
    """Return a result with which all claims agree; `rows` and `other` are changed in it."""
    hard = {(HARD, m, 1): row(m, seconds=Measured(1e6 * WORTH.get(m, 1.0), 1.0))
            for m in evidence.METHODS if HARD in keys}
    result = script.Result(
        keys=keys, truth=dict.fromkeys(keys, Measured(-9.0, 0.01)), data="digits",
        rows={(key, m, 1): row(m) for key in keys for m in evidence.METHODS} | hard | dict(rows),
        EP={key: (Measured({7.1: -0.2}.get(key[2], -0.5 if key == HARD else -0.05), 0.01),) * 2
            for key in keys},
        k=dict.fromkeys(keys, Measured(0.9, 0.02)), last_step=dict.fromkeys(keys, 0.4),
        setup={key: dict(q=1.0, prior=1.0, tilt=1.0) for key in keys})
    return result._replace(**{name: getattr(result, name) | values
                              for name, values in other.items()})


HARDEST = "log(difficulty at (4.85, 5.1) / the largest elsewhere on the grid)"


def changed(**other):
    """Return what does not agree, and its verdict, with one problem more, the hardest."""
    found = verdicts(script, made_up(keys=[*KEYS, HARD], **other))
    return {what: verdict for what, verdict in found.items() if verdict != "agrees"}


EASY = {(HARD, m, 1): row(m, seconds=Measured(seconds, 0.01 * seconds))
        for m, seconds in (("AISq-RMHMC", 1.0), ("bridge", 0.01))}
NEAR = {HARD: (Measured(-0.1, 0.01),) * 2}


@pytest.mark.parametrize(("other", "found"), [
    *[(other, "not specified") for other in (
        {"EP": NEAR}, *({"rows": {key: easy}} for key, easy in EASY.items()),
        {"rows": {(GRID[0], "AISq-RMHMC", 1): row("", spread=1.5)}})],  # broken there
    ({"EP": NEAR, "rows": EASY}, "every setting differs")])
def test_the_hardest_setting_is_so_in_every_sense(other, found):
    assert changed(**other)[HARDEST] == found


def test_claims_on_most_draws_are_on_the_last_row():
    result = made_up({(KEYS[0], "bridge", 9): row("bridge", spread=1.5)})
    assert script.largest(result, KEYS[0], "bridge") is result.rows[KEYS[0], "bridge", 9]


@pytest.mark.parametrize("N", [767, 365])
def test_the_bridge_that_other_scripts_ask_for_is_the_longest_of_this_one(N):
    tasks, other, named = asked(digits_3v5()), Stored("paper"), []
    other.of = lambda name: named.append(name) or other
    found = evidence.bridge_estimate(other, DIGITS, N)
    assert named == [script.NAME]
    assert other.task in [{k: v for k, v in each.items() if k != "cost"} for each in tasks]
    assert other.task["method"] == "bridge" and other.task["size"] == max(
        each["size"] for each in tasks if each["method"] == "bridge")
    assert found == average("bridge", [0.1 * k for k in range(script.RUNS["paper"])])


@pytest.mark.parametrize("budget", ["short", "smoke"])
def test_a_bridge_of_another_size_has_draws_of_its_own_and_fewer(budget):
    other = Stored(budget)
    evidence.bridge_estimate(other, DIGITS, 60)
    assert other.task["problem_key"] == [60, 4.85, 5.1] and other.task["size"] == 5000
    assert other.task["seed"][1] == len(evidence.LADDER[budget])


AT = "the paper's problem"


@pytest.mark.parametrize(("changes", "what"), [
    ({"k": {script.PAPER: Measured(0.5, 0.02)}}, []),  # nothing predicts it: no claim
    ({"EP": {key: (Measured(-0.01, 0.001),) * 2 for key in GRID if key[2] == 7.1}},
     ["|EP error|, largest sigma - least"]),
    *[({"rows": {(key, method, 1): row("", **other)}}, what) for key, method, other, what in (
        (GRID[0], "bridge", {"z": -5.0}, ["bridge: largest |z|, adjusted"]),
        (GRID[0], "AISq-ellipse", {"z": 5.0}, ["AISq-ellipse: largest |z|, adjusted"]),
        (GRID[0], "AISq-ellipse", {"z": 5.0, "spread": 1.5}, []),  # not to be trusted
        (GRID[0], "tilting", {"z": 5.0}, []),
        *((script.PAPER, "bridge", {"own": Measured(own, 1e-3), "error": Measured(error, 1e-3)},
           [f"bridge: error / own standard error, {AT}"]) for own, error in (
               (0.09, 0.2), (0.2, 0.09))),
        (GRID[0], "bridge", {"own": Measured(0.35, 0.01)}, ["bridge: largest own standard error"]),
        (script.PAPER, "bridge", {"seconds": Measured(1e4, 1.0)},
         [f"log(cost of AISq-RMHMC / bridge), {AT}"]))],
    ({"rows": {(GRID[0], m, 1): row("", seconds=Measured(1e4, 1.0)) for m in evidence.METHODS
               if m != "AISq-RMHMC"}}, ["log(cost of AISq-RMHMC / best other), least"])])
def test_a_quantity_that_is_moved_moves_its_own_claim(changes, what):
    moved = changed(**changes)
    if "bridge: largest" in str(what):  # no longer to be used there, which is harder than anything
        assert moved.pop(HARDEST) == "not specified"
    assert moved == dict.fromkeys(what, "differs")


def test_where_the_others_break_there_is_a_place_for_it():
    rows = {(GRID[0], m, 1): row(m, spread=2.0, own=Measured(0.2, 0.01)) for m in evidence.METHODS
            if m not in ("AISq-RMHMC", "bridge")}
    rows |= {(GRID[0], "bridge", 1): row("bridge", z=4.5)}
    assert script.log_cost_ratio(made_up(rows), GRID[0], ["bridge", "tilting"]).value == -math.inf
    # of two sizes one is to be trusted, and does not agree
    for more in ({}, {(GRID[0], "bridge", 2): row("bridge", own=Measured(0.5))}):
        assert [script.verdict(made_up(rows | more), key, method) for key, method in (
            (GRID[0], "bridge"), (GRID[0], "tilting"), (GRID[0], "AISq-RMHMC"),
            ((8, 1, 1), "bridge"))] == ["void", "broken", "4e+02", ""]
    unfit = {(GRID[0], "AISq-RMHMC", 1): row("", z=9.0)}
    assert script.log_cost_ratio(made_up(unfit), GRID[0], ["bridge"]).value == math.inf


def test_each_point_of_the_figure_is_in_its_place():
    P, other = script.PAPER, (365, *script.PAPER[1:])
    rows = {(P, "tilting", 2): row("", error=Measured(0.3, 0.01), spread=2.0)}
    for m in evidence.METHODS:
        rows |= {(GRID[3], m, 1): row(m, z=9.0),
                 (other, m, 1): row(m, seconds=Measured(3.0, 0.1))}
    rows[GRID[1], "bridge", 1] = row("bridge", seconds=Measured(0.5, 0.01))
    result = made_up(rows, [other, *KEYS], setup={P: dict(q=7.0, prior=1.0, tilt=1.0)},
                     EP=dict.fromkeys([other, P], (Measured(-0.2, 0.01), Measured(0.1, 0.01))),
                     k={key: Measured(0.2 + 0.1 * k, 0.02) for k, key in enumerate(KEYS)})
    left, middle, right = axes = script.figure(result).axes
    assert [ax.get_xlabel() for ax in axes] == ["CPU seconds of a run", "N", r"$\log\sigma$"]
    assert right.get_ylabel() == r"$\log\ell$"
    whole, filled = left.lines[:16:2], left.lines[1:16:2]
    for method, line, dots in zip(evidence.METHODS, whole, filled, strict=True):
        seconds = WORTH.get(method, 1.0)
        points = [[seconds, 0.2], *[[seconds, 0.3]] * (method == "tilting")]
        assert line.get_label() == method and line.get_xydata().tolist() == points
        # one run of tilting, whose logs spread by 2, and k = .9 are not to be trusted
        assert dots.get_xydata().tolist() == [[seconds, 0.2]] * (method != "IS from q")
    assert [(line.get_label(), *line.get_xydata()[0]) for line in left.lines[16:]] == [
        ("EP", 7.0, 0.2), ("corrected EP", 7.0, 0.1)]
    for method, line in zip(evidence.METHODS, middle.lines, strict=True):  # 4 runs: 0.2^2 / 0.1^2
        points = [(365, 12.0), (767, 4 * WORTH.get(method, 1.0))] if method != "IS from q" else []
        np.testing.assert_allclose(line.get_xydata(), np.reshape(points, (-1, 2)), rtol=1e-12)
    assert middle.get_xticks().tolist() == [365, 767]
    assert len({(line.get_marker(), line.get_color()) for line in whole}) == len(whole)
    how = {line.get_label(): (line.get_color(), line.get_marker()) for line in whole}
    for key, line, text in zip(GRID, right.lines, right.texts, strict=True):
        assert line.get_xydata().tolist() == [[key[2], key[1]]] and text.xy == (key[2], key[1])
        assert text.get_text() == f"{result.k[key].value:.2f}"
    # the bridge is cheaper than all others; elsewhere it is the first of equals, or all is void
    assert {(line.get_color(), line.get_marker()) for line in right.lines[:3]} == {how["bridge"]}
    assert right.lines[3].get_marker() == "x"


def test_the_table_shows_what_was_measured():
    here = row("bridge", error=Measured(0.35, 0.01), own=Measured(0.15, 0.01), z=-1.5,
               seconds=Measured(4.0, 0.1), evaluations=2.25, runs=5)
    P = script.PAPER
    result = made_up({(P, "bridge", 1): here}, EP={P: (Measured(-0.25), Measured(0.125))},
                     setup={P: dict(q=2.0, prior=3.0, tilt=4.0)}, last_step={P: 0.5},
                     k={P: Measured(0.75, 0.02)})
    problems, sizes = read_tables(script.table(result))
    # costs: 4 s x 0.35^2 / 0.1^2, and 100 s or 1 s x 0.2^2 / 0.1^2; k = .9 is not to be trusted
    costs = dict.fromkeys(evidence.METHODS, "4") | {
        "IS from q": "broken", "bridge": "49", "AISq-RMHMC": "4e+02"}
    assert [each for each in problems if each["N"] == "767"] == [{
        "N": "767", "log l": "4.85", "log s": "5.1", "log Z": "-9.000", "s.e.": "0.010",
        "EP": "-0.250", "corrected": "+0.125", "k": "0.750 (0.020)", "last step": "0.50"} | costs]
    found = {each["method"]: each for each in sizes}
    # set-up of q and of the tilt; 2.66 and 1 times N^2 operations, in 10^9
    assert found["bridge"] == {
        "method": "bridge", "size": "1", "runs": "5", "log Z": "-9.000", "s.e.": "0.100",
        "error": "0.350", "own": "0.150", "z": "-1.5", "seconds": "4", "set-up": "2",
        "Gflop": "0.0016", "evaluations": "2.25", "": ""}
    assert [found["tilting"][head] for head in ("set-up", "Gflop")] == ["4", "0.00059"]
    assert found["IS from q"][""] == "not to be trusted"
