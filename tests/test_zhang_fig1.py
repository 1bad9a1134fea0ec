"""Figure 1 of Zhang and Sutton: measures, claims, and what is drawn."""

import numpy as np
import pytest

from judging import replaced, verdicts
from reproduce import zhang_fig1 as fig1
from reproduce.harness.style import plt
from reproduce.zhang.funnel import exact_draw
from reproduce.zhang.printed import HMC, SSHMC

SOFT = fig1.SOFT


def made_up():
    """Return a result with which every claim agrees."""
    def ranges(v, U, turns):
        spread = np.array([0.98, 1.0, 1.02, 1.0])
        return fig1.Ranges(
            v=(v * spread).tolist(), U=(U * spread).tolist(), K=(U * spread).tolist(),
            H=[0.01 * U] * 4, turns=[turns] * 4, time=[50.0] * 4)

    path = {"time": [0, 1, 2], "v": [0, 1, 2], "x": [0.5, -0.5, 0], "U": [9, 5, 7], "K": [1, 5, 3]}
    return fig1.Result(100, dict.fromkeys(fig1.SHOWN, path), {
        HMC: ranges(0.5, 20.0, 12.0), SSHMC: ranges(4.0, 200.0, 1.0),
        SOFT: ranges(3.0, 150.0, 2.0)})


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    found = verdicts(fig1, made_up())
    # and every claim is moved by something below
    assert {what for *_, claims in MOVED.values() for what in claims} == set(found)
    assert set(found.values()) == {"agrees"}


MOVED = {
    "HMC does not oscillate": (HMC, "turns", 0.01, ["HMC: turns of v on its way"]),
    "HMC's region is not narrow": (HMC, "v", 5.0, [
        "HMC: range of v / standard deviation of v"]),
    "HMC goes as far": (HMC, "v", 10.0, ["HMC: range of v / standard deviation of v",
                                         "log(range of v, SSHMC / HMC)"]),
    "HMC's potential varies as widely": (HMC, "U", 8.0, ["log(range of U, SSHMC / HMC)"]),
    "HMC's kinetic energy varies as widely": (HMC, "K", 8.0, ["log(range of K, SSHMC / HMC)"]),
    "SoftAbs varies less": (SOFT, "U", 0.3, ["log(range of U, SSHMC / SoftAbs)"]),
    "SoftAbs varies more": (SOFT, "U", 4.0, ["log(range of U, SSHMC / SoftAbs)"]),
    "SoftAbs goes further": (SOFT, "v", 4.0, ["log(range of v, SSHMC / SoftAbs)"]),
    **{f"{method} loses energy": (method, "H", 20.0, [
        f"{method}: log(range of H / range of U)"]) for method in fig1.SHOWN},
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_differs(name):
    method, quantity, factor, wanted = MOVED[name]
    values = [factor * value for value in getattr(made_up().ranges[method], quantity)]
    made = verdicts(fig1, replaced(made_up(), ["ranges", method, quantity], values))
    assert {what for what, verdict in made.items() if verdict != "agrees"} == set(wanted)
    assert {made[what] for what in wanted} == {"differs"}


def test_measures_by_hand():
    path = {"v": [0.0, 2.0, 1.0, 1.5, 3.0], "U": [5.0, 1.0, 2.0, 2.0, 2.0],
            "K": [1.0, 5.0, 4.5, 4.0, 4.0], "time": [0.0, 1.0, 2.0, 3.0, 4.0]}
    # v goes up, down, up, up: two turns; H is 6, 6, 6.5, 6, 6
    assert fig1.measures(path) == fig1.Ranges(v=3.0, U=4.0, K=4.0, H=0.5, turns=2.0, time=4.0)


def test_the_ratio_is_taken_start_by_start():
    result = made_up()
    ranges = {HMC: result.ranges[HMC]._replace(v=[1.0, 4.0]),
              SSHMC: result.ranges[SSHMC]._replace(v=[2.0, 4.0])}
    found = fig1.ratio(result._replace(ranges=ranges), "v", SSHMC, HMC)
    assert found.value == pytest.approx(np.log(2) / 2, rel=1e-15)
    assert found.se == pytest.approx(np.log(2) / 2, rel=1e-12)  # of 0.69 and 0


def test_every_path_starts_at_an_exact_draw():
    paths = fig1.from_one_start(4, 2, [3])
    x, v = exact_draw(np.random.default_rng([3]), 4)
    for path in paths.values():
        assert (path["x"][0], path["v"][0]) == (x[0], v[0])


def test_the_table_and_the_figure_have_a_method_each():
    result = made_up()
    text = fig1.table(result)
    assert "means over 4 starts" in text and "200.0 (1.6)" in text  # spread 2 / sqrt(4), ranges
    fig = fig1.figure(result)
    axes = np.array(fig.axes).reshape(2, 3)
    assert [ax.get_title() for ax in axes[0]] == list(fig1.SHOWN)
    assert [line.get_label() for line in axes[0, 0].get_lines()] == [
        "potential", "kinetic", "total"]
    energies = [line.get_ydata().tolist() for line in axes[0, 1].get_lines()]
    assert energies == [[0, -4, -2], [0, 4, 2], [0, 0, 0]]
    assert axes[0, 1].get_lines()[0].get_xdata().tolist() == [0, 1, 2]  # time
    start = axes[1, 2].get_lines()[1]
    assert (start.get_label(), start.get_xydata().tolist()) == ("the start", [[0, 0.5]])
    np.testing.assert_array_equal(axes[1, 2].get_lines()[0].get_ydata(), [0.5, -0.5, 0])  # x
    np.testing.assert_array_equal(axes[1, 2].get_lines()[0].get_xdata(), [0, 1, 2])  # v
    assert axes[1, 0].get_xlabel() == "$v$" and axes[1, 0].get_ylabel() == "$x_1$"
    assert len({ax.get_ylim() for ax in axes[0]}) == 1
    plt.close(fig)
