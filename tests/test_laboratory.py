"""Laboratories: what is stored is what the compiled samplers give, and is up to date."""

import math
import sys
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from algorithms import paquet_rmhmc
from algorithms import zhang_sshmc as sshmc
from algorithms.hmc import hmc
from algorithms.slice_sampling import slice_sampling
from algorithms.wang_discretizing_chain_fast import Realization, discretizing_chain
from reproduce.harness import laboratory_page
from reproduce.harness.laboratory_page import Control, Laboratory, Panel, Preset, Series, Setting
from reproduce.harness.papers import PAPERS
from reproduce.harness.replicates import machine

ROOMS = {author: import_module(f"reproduce.{author}.laboratory") for author in PAPERS}
paquet, shahbaba, zhang, wang = (ROOMS[each] for each in ("paquet", "shahbaba", "zhang", "wang"))
KEPT = {author: laboratory_page.read(author) for author in PAPERS}
# five digits are stored, of what another order of sums may change by 1e-9 in a short trajectory
NUMBER = dict(rtol=5.1e-5, atol=1e-9)
POINT = dict(rtol=5.1e-4, atol=1e-6)  # four digits
# settings that are computed again: stable ones, so that rounding errors do not grow
AGAIN = {"paquet": [dict(target="posterior", eps=0.75, f_max=5),
                    dict(target="modes", eps=0.5, f_max=3)],
         "shahbaba": [dict(eps=0.5, M=4)],
         "zhang": [dict(v=0.0, factor=1.0), dict(v=4.0, factor=0.5)],
         "wang": [dict(target="one", star="good", r=4, s=1),
                  dict(target="apart", star="displaced", r=12, s=3)]}
CASES = [(author, values) for author in PAPERS for values in AGAIN[author]]
# rows that come of chains: on other kernels of the BLAS a chain of thousands of transitions may go
# another way, and then only what it estimates is the same
CHAINS = {"paquet": ("RATE", "ESS", "OFF", "SPREAD"), "shahbaba": ("RATE", "MEDIAN", "ESS"),
          "zhang": ("RATE", "ESS", "SQUARE"), "wang": ("RATE", "ESS", "ESS_BOTH")}


def stored(author, row, sampler, **values):
    """A stored number; `row` is the name of the row's name in the room."""
    room = ROOMS[author]
    return laboratory_page.number(KEPT[author], getattr(room, row), sampler,
                             laboratory_page.indices(room.LABORATORY, values))


def array(found):
    """Numbers as stored, None as nan."""
    return np.array([math.nan if x is None else x for x in found], float)


@pytest.mark.parametrize("author", PAPERS)
def test_what_is_said_of_what_was_computed_is_up_to_date(author):
    kept = KEPT[author]
    # if this fails, run python reproduce/tools/laboratory.py and then reproduce/tools/pages.py
    assert laboratory_page.path(author).read_text() == laboratory_page.write_json(
        laboratory_page.describe(ROOMS[author].LABORATORY, kept["rows"], kept["shapes"],
                                  kept["settings"], kept["blas"]))
    controls = ROOMS[author].LABORATORY.controls
    assert len(kept["settings"]) == math.prod(len(control.values) for control in controls)


@pytest.mark.parametrize(("author", "values"), CASES, ids=lambda each: str(each))
def test_a_setting_computed_again_is_the_stored_one(author, values, monkeypatch):
    room, kept = ROOMS[author], KEPT[author]
    if author == "shahbaba":  # its curves are those of all settings
        monkeypatch.setattr(room, "EPS", (values["eps"],))
    again = laboratory_page.to_stored(room.setting(**values))
    monkeypatch.undo()
    here = kept["settings"][laboratory_page.place(kept,
                                                  laboratory_page.indices(room.LABORATORY, values))]
    assert here["frames"] == again["frames"] and list(again["numbers"]) == kept["rows"]
    coarse = {getattr(room, name) for name in CHAINS[author]}
    for row, now, old in zip(kept["rows"], again["numbers"].values(), here["numbers"], strict=True):
        if row in coarse and machine()["blas"] != kept["blas"]:
            continue
        for x, y in zip(now, old, strict=True):
            both = [array(each if isinstance(each, list) else [each]) for each in (x, y)]
            np.testing.assert_allclose(*both, **NUMBER, err_msg=row)
    shapes = [kept["shapes"][k] for k in here["series"]]
    # with kernels of another processor rounding grows along a path: its first quarter is the same
    share = 1 if machine()["blas"] == kept["blas"] else 4
    if author == "shahbaba":
        shapes, again["series"] = ([shape for shape in each if shape[0] < 4]
                                   for each in (shapes, again["series"]))
    assert len(shapes) == len(again["series"])
    for old, now in zip(shapes, again["series"], strict=True):
        assert (old[:3], old[-1]) == (now[:3], now[-1])
        for x, y in zip(old[3:8], now[3:8], strict=True):
            if isinstance(x, list):
                assert len(x) == len(y)
                begin = slice(-(-len(x) // share))
                np.testing.assert_allclose(array(y)[begin], array(x)[begin], **POINT)
            else:
                assert x == y


def test_the_command_stores_what_is_named(tmp_path, monkeypatch):
    command = import_module("reproduce.tools.laboratory")
    monkeypatch.setattr(command, "import_module", {"reproduce.zhang.laboratory": SimpleNamespace(
        LABORATORY=TOY)}.__getitem__)
    monkeypatch.setattr(laboratory_page, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["laboratory.py", "zhang"])
    command.main()
    assert laboratory_page.read("zhang") == laboratory_page.compute_all(TOY)


@pytest.mark.parametrize("author", PAPERS)
def test_everything_stored_is_drawn_in_a_panel_and_belongs_to_a_sampler(author):
    kept = KEPT[author]
    assert {k for setting in kept["settings"] for k in setting["series"]} == set(
        range(len(kept["shapes"])))
    for panel, kind, of, *lists, _ in kept["shapes"]:
        assert panel < len(kept["panels"]) and kind in laboratory_page.KINDS
        assert of < len(kept["samplers"])
        assert len({len(each) for each in lists if isinstance(each, list) and each}) == 1
    for setting in kept["settings"]:
        for each in (x for row in setting["numbers"] for x in row):
            assert not isinstance(each, list) or len(each) == setting["frames"]
    assert len({tuple(preset["at"]) for preset in kept["presets"]}) == len(kept["presets"]) >= 4


@pytest.mark.parametrize("eps", [0.25, 0.75, 1.0])
@pytest.mark.parametrize("f_max", [1, 5])
def test_paquet_the_recorded_trajectory_is_that_of_the_compiled_samplers(eps, f_max):
    at, values = paquet.target("posterior"), dict(target="posterior", eps=eps, f_max=f_max)
    chain = paquet_rmhmc.rmhmc(at.start, at.model, paquet.L_MAX, eps, 1, paquet.rng(), f_max)
    np.testing.assert_allclose(stored("paquet", "RATIO", "RMHMC", **values),
                               -chain.energy_error[0], **NUMBER)
    chain = hmc(at.start, at.model, eps, paquet.L_MAX, paquet.N, paquet.rng())
    np.testing.assert_allclose(stored("paquet", "RATIO", "HMC", **values), -chain.energy_error[0],
                               **NUMBER)
    if machine()["blas"] == KEPT["paquet"]["blas"]:
        assert stored("paquet", "RATE", "HMC", **values) == chain.accepted.mean()


def test_paquet_the_least_ess_is_also_of_squares_about_the_mean(monkeypatch):
    # signs are independent, and sizes stay the same for a tenth of the chain each: of (x - 5)^2,
    # and not of x^2, all draws of a tenth are one
    n, rng = 2000, np.random.default_rng(1)
    x = 5 + np.repeat(rng.random(10), n // 10) * rng.choice([-1.0, 1.0], n)
    monkeypatch.setattr(paquet, "hmc", lambda *_: SimpleNamespace(
        samples=x[:, None], accepted=np.ones(n, bool), counts=SimpleNamespace(gradient=1000)))
    paquet.chain_numbers.cache_clear()
    _, least, _, _ = paquet.chain_numbers("HMC", "posterior", 0.5)
    paquet.chain_numbers.cache_clear()
    assert least < 50


def test_paquet_the_way_back_of_a_map_that_is_reversible_ends_where_it_began():

    def circle(x, p):
        """Ten steps of the exact flow of x'x / 2, with an energy that only grows."""
        turns = np.arange(paquet.L_MAX + 1) / 5
        xs = np.outer(np.cos(turns), x) + np.outer(np.sin(turns), p)
        return xs, turns, np.cos(2) * p - np.sin(2) * x

    found = paquet.there_and_back(circle, np.array([0.3, -1.2]), np.array([0.9, 0.4]))
    assert found.x.shape == (2 * paquet.L_MAX + 1, 2) and found.distance < 1e-14  # rounding
    np.testing.assert_allclose(found.x, found.x[::-1], atol=1e-14)
    assert found.error == 2.0 and found.H[0] == 0.0


@pytest.mark.parametrize(("there", "back"), [(10, 11), (11, 10), (11, 11)])
def test_paquet_a_trajectory_that_breaks_down_has_no_distance(there, back):
    lengths = iter((there, back))  # positions, of which a whole trajectory has 11

    def steps(x, p):
        n = next(lengths)
        return np.outer(np.arange(n), np.ones(2)), np.arange(n) + 3.0, p

    found = paquet.there_and_back(steps, np.array([9.0, 10.0]), np.zeros(2))
    assert len(found.x) == len(found.H) == (there if there < 11 else there + back - 1)
    np.testing.assert_array_equal([found.error, found.distance, found.H[0]], [
        math.nan if there < 11 else 10,
        1 if there == back == 11 else math.nan, 0])  # of (10, 10) to (9, 10)


@pytest.mark.parametrize("broken", [("x", math.nan), ("p", math.inf), ("H", math.inf)])
def test_paquet_a_trajectory_ends_before_what_is_not_finite(broken, monkeypatch):
    steps = iter(range(100))

    def travel(x, p, model, l_max, eps, f_max):
        k = next(steps)
        ends = {"x": x + 1, "p": p, "H": k + 1.0}
        if k == 3:
            ends[broken[0]] = ends[broken[0]] * 0 + broken[1]
        return ends["x"][None], None, ends["p"], (float(k), ends["H"])

    monkeypatch.setattr(paquet, "travel", travel)
    xs, H, _ = paquet.target("posterior").steps(np.zeros(2), np.ones(2), 0.1, 5)
    np.testing.assert_array_equal(xs, np.outer(range(4), [1, 1]))
    assert H.tolist() == [0, 1, 2, 3]
    # so does one of HMC
    xs, H = np.outer(range(11), [1.0, 1.0]), np.arange(11.0)
    xs[4], H[6] = math.inf, math.nan  # and finite again in between
    monkeypatch.setattr(paquet, "leapfrogs", lambda *_: (xs, H))
    places, energies, _ = paquet.euclidean(xs[0], np.ones(2), paquet.target("posterior").model, 0.1)
    np.testing.assert_array_equal(places, xs[:4])
    assert energies.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("M", [2, 8])
def test_shahbaba_windows_of_the_data_split_are_those_of_its_linear_map(M):
    one = np.eye(2)
    split = shahbaba.problem()[2]

    def kick(H):
        return np.block([[one, 0 * one], [-H, one]])

    def growth(eps, H_0, H_1):
        """Multiply the kicks and drifts of Algorithm 2 for quadratic U_0 and U_1."""
        drift = np.block([[one, eps / M * one], [0 * one, one]])
        inner = kick(eps / (2 * M) * H_0) @ drift @ kick(eps / (2 * M) * H_0)
        step = kick(eps / 2 * H_1) @ np.linalg.matrix_power(inner, M) @ kick(eps / 2 * H_1)
        return shahbaba.TIME / eps * np.log(np.abs(np.linalg.eigvals(step)).max())

    parts = [[shahbaba.hessian(q, part) for part in (split.R_0, split.R_1)]
             for q in shahbaba.draws()[:20]]
    steps = 0.02 * np.arange(5, 151)  # of 0.1, ..., 3, and four between any two
    grows = [np.median([growth(eps, *each) for each in parts]) >= 0.1 for eps in steps]
    found = shahbaba.windows("data split", M)
    assert 0 < sum(grows) < len(steps)
    assert [any(low < eps < high for low, high in found) for eps in steps] == grows


@pytest.mark.parametrize("sampler", range(3))
@pytest.mark.parametrize("eps", [0.3, 0.7])
def test_shahbaba_the_recorded_trajectory_is_that_of_the_compiled_sampler(sampler, eps):
    name, rng = shahbaba.SAMPLERS[sampler], np.random.default_rng(shahbaba.SEED)
    chain = shahbaba.transitions(name, shahbaba.draws()[0], eps, 4 * (sampler == 2), 1, rng)
    np.testing.assert_allclose(stored("shahbaba", "RATIO", name, eps=eps, M=4),
                               -chain.energy_error[0], **NUMBER)


def test_shahbaba_hmc_is_unstable_past_its_limit_and_the_normal_split_stable_again():
    model, fit, _ = shahbaba.problem()
    w = sorted(np.sqrt(np.linalg.eigvalsh(shahbaba.hessian(q, model))[-1])
               for q in shahbaba.draws()[:shahbaba.EXPAND])
    (low, high), = shahbaba.windows("HMC")
    low += shahbaba.EPS[0] / shahbaba.FINE / 2  # the first step that was tried and found unstable
    # the median growth is that of the two middle draws: 2 / w of one must be passed, and just past
    # that of the other an error has grown by 10 %; from there on it does
    lower, upper = w[shahbaba.EXPAND // 2 - 1 : shahbaba.EXPAND // 2 + 1]
    assert 2 / upper < low < 1.05 * 2 / lower and high >= shahbaba.EPS[-1]
    ends = shahbaba.windows("normal split")
    turn = np.pi / fit.w.max()
    first = next(window for window in ends if window[1] > 0.9 * turn)
    assert 0.8 * turn < first[0] < first[1] < 1.4 * turn  # a window at half a turn, with an end


def test_shahbaba_each_curve_is_in_its_panel(monkeypatch):
    order = {method: k for k, method in enumerate(shahbaba.SAMPLERS)}
    monkeypatch.setattr(shahbaba, "rates", lambda method, eps, M=0: (
        0.5, order[method] + eps, 10 + order[method] + eps, 7.0))
    monkeypatch.setattr(shahbaba, "windows", lambda method, M=0: np.array(
        [[order[method], M + 1.0]][: method != shahbaba.HMC]).reshape(-1, 2))
    monkeypatch.setattr(shahbaba, "path", lambda *_: (np.ones((3, 2)), np.arange(3.0)))
    found, steps = shahbaba.setting(0.3, 4), np.array(shahbaba.EPS)
    drawn = {(each.panel, each.of, each.kind): [*each.x, *each.y] for each in found.series}
    for k in range(3):
        # rates in a panel for each sampler, errors of all in the last one
        for panel, height in ((4 + k, k), (7, 10 + k)):
            assert drawn[panel, k, "line"] == [*steps, *(height + steps)]
            assert drawn[panel, k, "now"] == [0.3, height + 0.3]
        # only the data split has inner steps
        assert drawn.get((4 + k, k, "bands"), "stable") == ["stable", [1, 1.0], [2, 5.0]][k]
    for row, numbers in (("RATE", [0.3, 1.3, 2.3]), ("MEDIAN", [10.3, 11.3, 12.3]),
                         ("ESS", [7.0] * 3), ("RATIO", [-0.5] * 3), ("WORST", [2.0] * 3)):
        assert found.numbers[getattr(shahbaba, row)] == numbers


@pytest.mark.parametrize("factor", [0.5, 1.0])
def test_zhang_the_first_trajectory_is_that_of_the_compiled_sampler(factor):
    x, v = zhang.start(0.0)
    eps = zhang.SSHMC_EPS * factor
    chain = sshmc.sshmc(x, v, zhang.model(), eps / 2, eps, zhang.SSHMC_L, 1, zhang.rng(),
                        zhang.N_THETA, zhang.N_PHI)
    np.testing.assert_allclose(stored("zhang", "RATIO", "SSHMC", v=0.0, factor=factor),
                               -chain.energy_error[0], **NUMBER)
    # HMC's, from the same normals
    chain = hmc(np.append(x, v), zhang.model(), zhang.HMC_EPS * factor, zhang.HMC_L, 1, zhang.rng())
    np.testing.assert_allclose(stored("zhang", "RATIO", "HMC", v=0.0, factor=factor),
                               -chain.energy_error[0], **NUMBER)


def test_zhang_all_spend_the_same():
    assert zhang.price("HMC") == zhang.HMC_L
    for sampler in zhang.SAMPLERS:
        assert zhang.price(sampler) == int(zhang.price(sampler))
        spent = zhang.path_summary(sampler, 0.0, 1.0)[2]
        # whole transitions, and one of several is drawn
        assert zhang.SPENT * 0.95 - zhang.price(sampler) < spent[-1] <= zhang.SPENT


@pytest.mark.parametrize(("star", "r", "s"), [("good", 1, 1), ("narrow", 12, 3)])
def test_wang_the_recorded_chain_is_that_of_the_compiled_sampler(star, r, s):
    chain = discretizing_chain(
        wang.start("one"), wang.target("one"), wang.star("one", star), wang.WIDTH,
        wang.MOVES // r, np.random.default_rng(wang.SEED), r=r, s=s, unit="sweep",
        max_widths=wang.MOST)
    chains, evaluations, approximations, end = wang.mappings("one", star, r, s)
    np.testing.assert_array_equal(end, chain.samples[-1])
    assert (evaluations, approximations) == (chain.counts.density,
                                             chain.counts.approximations[0])
    values = dict(target="one", star=star, r=r, s=s)
    assert stored("wang", "EVALUATED", wang.CHAIN, **values) == evaluations
    assert stored("wang", "SAVED", wang.CHAIN, **values) == chain.counts.cache_hits
    assert evaluations + chain.counts.cache_hits == wang.MOVES + 1
    # the mark's path, as it is drawn, ends where the last mapping does
    _, marks = wang.picture_of(chains, r)
    np.testing.assert_array_equal(marks["q"][-1], end)
    np.testing.assert_array_equal(marks["q"][r - 1::r], chain.samples)
    assert sum(marks["accepted"]) == chain.accepted.sum()
    for ratio, accepted in zip(marks["ratio"], marks["accepted"], strict=True):
        assert accepted or ratio < 0  # what is rejected was a loss


def test_wang_slice_sampling_makes_the_evaluations_that_are_drawn():
    states, evaluations = wang.slices("one")
    chain = slice_sampling(wang.start("one"), wang.target("one"), wang.WIDTH, wang.MOVES,
                           np.random.default_rng(wang.SEED), wang.MOST)
    np.testing.assert_array_equal(states[1:], chain.samples)
    assert evaluations[-1] == chain.counts.density


def test_wang_when_a_state_is_there_and_when_pi_was_computed():
    # r = 3, s = 2: the mark asks for step 2 (moves), for 4 (stays), for 0 (known)
    chain = Realization(
        q=np.arange(13.0).repeat(2).reshape(13, 2), U=np.arange(13.0), U_star=np.zeros(13),
        known=np.isin(np.arange(13), (0, 2, 4)), ends=np.array([0, 4]), steps=np.array([2, 2, 0]),
        proposed=np.array([2, 4, 0]), accepted=np.array([True, False, True]),
        cached=np.array([False, False, True]))
    states, marks = wang.picture_of([chain, chain], 3)
    never = wang.NEVER
    assert states["k"] == [0, 1, 2, 3, 4] * 2
    assert states["born"] == [0, 1, 1, 2, 2, 4, 4, 4, 5, 5]
    assert states["full"] == [0, never, 1, never, 2, 3, never, 4, never, 5]
    assert states["gone"] == [4] * 5 + [7] * 5
    assert marks["k"] == [2, 2, 0] * 2
    assert marks["ratio"] == [-2.0, -2.0, 2.0] * 2
    assert marks["cached"] == [False, False, True] * 2


def toy(a, b):
    """A setting of two samplers, whose line depends on a alone."""
    return Setting([Series(0, "line", 0, 0, [a, a + 1.0]), Series(0, "dots", 1, [b], [math.inf])],
                   {"sum": [a + b, [0.0, a * b]]}, 2)


TOY = Laboratory("about", ("one", "other"),
                 (Control("a", "A", (1.0, 2.0)), Control("b", "B", (10, 20, 30), ("x", "y", "z"))),
                 (Panel("p", "x", "y"),), "time", ("sum",), toy,
                 (Preset("first", {"a": 2.0, "b": 30}),),
                 lambda number: [f"{number('sum', 'other', a=2.0, b=20)}"])


def test_a_grid_is_computed_in_its_order_and_what_is_the_same_is_kept_once():
    kept = laboratory_page.compute_all(TOY)
    assert [setting["numbers"][0][0] for setting in kept["settings"]] == [11, 21, 31, 12, 22, 32]
    assert len(kept["shapes"]) == 2 + 3
    assert kept["presets"] == [{"label": "first", "at": [1, 2]}]
    assert laboratory_page.place(kept, [1, 2]) == 5
    assert kept["says"] == ["40"]  # the last frame
    assert kept["shapes"][kept["settings"][0]["series"][1]][4] == [None]
    assert [control["named"] for control in kept["controls"]] == [False, True]
    assert kept["controls"][0]["texts"] == ["1", "2"] and kept["controls"][1]["texts"] == [*"xyz"]
    other = TOY._replace(setting=lambda a, b: Setting([], {f"row {a}": [a, b]}))
    with pytest.raises(ValueError, match=r"must have the same rows, but \{'a': 2.0, 'b': 10\} has"):
        laboratory_page.compute_all(other)


def test_numbers_of_a_sentence_and_how_they_are_stored():
    for value, expected in (
            (0.123456, "0.12"), (-1.0, "\N{MINUS SIGN}1"), (99.8, "100"), (0.0, "0"),
            (1.04e-16, "10⁻¹⁶"), (-2.34e7, "\N{MINUS SIGN}2.3·10⁷"), (math.nan, "nan"),
            (1e5, "10⁵"), (99000.0, "99000"), (1e-3, "0.001")):
        assert laboratory_page.show(value) == expected
    assert laboratory_page.round_numbers([1.0, 0.1234567, -math.inf, (math.nan, 123456.7)]) == [
        1, 0.12346, None, [None, 123460.0]]
    assert laboratory_page.round_numbers(np.array([2e9, 7.0]), 1e9) == [None, 7]
