"""Figure 1 of Wang and Neal: what is counted and drawn of a mapping, and the claims."""

from types import SimpleNamespace

import numpy as np
import pytest

import studies
from judging import check_labels, check_moves, put
from reproduce import wang_fig1 as fig1
from reproduce.wang.printed import SOD

OWN = fig1.OWN


def made_up():
    return fig1.Result(None, {
        SOD: fig1.Counts(accepted=[0.3, 0.31, 0.29, 0.3], cached=[0.6, 0.61, 0.62, 0.6],
                         density=[0.4] * 4, star=[7.0] * 4, idle=[0] * 4, missed=[0] * 4,
                         gap=[0.01, -0.02, 0.02, 0.0]),
        OWN: fig1.Counts(accepted=[1.0] * 4, cached=[0.5] * 4, density=[0.5] * 4, star=[9.0] * 4,
                         idle=[0] * 4, missed=[0] * 4, gap=[0.0] * 4)})


MISSED = "moves - evaluations of pi - cache"
MOVED = {f"{what} {place}": (put("chains", *place), [claim]) for what, claim, *place in (
    ("an evaluation twice", MISSED, SOD, "missed", [0, 1, 0, 0]),
    ("an evaluation forgotten", MISSED, SOD, "missed", [0, 0, -1, 0]),
    ("a step too many", "steps simulated that no move needed", SOD, "idle", [0, 0, 0, 1]),
    ("a move rejected", "pi* = pi: share of moves", OWN, "accepted", [1.0, 1.0, 0.9995, 1.0]),
    *(("marks are biased", "log likelihood, all marked states", SOD, "gap", [
        sign * x for x in (0.22, 0.23, 0.22, 0.24)]) for sign in (-1, 1)))}


def test_one_quantity_moved_and_no_other_claim_agrees_less():
    check_moves(fig1, made_up(), MOVED)


def test_counts_are_for_a_move_of_the_mark():
    result = fig1.run(studies.Recorder("short", lambda function, tasks: [
        {"accepted": 48, "cached": 24, "density": 12, "star": 96, "simulated": 30, "needed": 28,
         "marked": -3.0, "last": -5.0, "telling": task["seed"][1] == 2,
         "drawn": dict.fromkeys(fig1.Mapping._fields, task["seed"][1])} for task in tasks]), None)
    assert result.drawn.first == 2
    for which, moves in ((SOD, 60 * 8), (OWN, 6 * 8)):  # with pi itself a tenth
        assert result.chains[which] == fig1.Counts(
            accepted=[48 / moves] * 4, cached=[24 / moves] * 4, density=[12 / moves] * 4,
            star=[96 / moves] * 4, idle=[2] * 4, missed=[36 - moves] * 4, gap=[2.0] * 4)


def test_what_is_counted_of_a_mapping_and_marked_is_where_the_mark_was_left(monkeypatch):
    # to step 1, and from there to -1 in vain: marked is 1, twice
    chain = SimpleNamespace(
        ends=np.array([-1, 2]), accepted=np.array([True, False]), cached=np.array([False, True]),
        proposed=np.array([1, -1]), steps=np.array([1, 1]), q=np.zeros(4), known=np.ones(4, bool),
        U=np.array([-9.0, -2.0, -9.0, -5.0]), U_star=np.zeros(4))
    monkeypatch.setattr(fig1, "discretizing_chain_step", lambda here, *_: (
        here._replace(U=-3.0), chain))
    monkeypatch.setattr(fig1, "log_likelihood_of", lambda U, q, model: -U)
    found = fig1.one_chain(SOD, 10, 3, [0])
    assert {name: found[name] for name in ("accepted", "cached", "simulated", "needed", "marked",
                                           "last")} == {
        "accepted": 3, "cached": 3, "simulated": 9, "needed": 6, "marked": 2.0, "last": 3.0}


@pytest.mark.parametrize(("hits", "accepted", "ends", "last", "telling"), [
    (2, 2, (-1, 3), 1, True), (5, 6, (-1, 3), 1, True), (1, 2, (-1, 3), 1, False),
    (6, 6, (-1, 3), 1, False), (2, 1, (-1, 3), 1, False), (5, 7, (-1, 3), 1, False),
    (2, 2, (0, 3), 1, False), (2, 2, (-1, 0), 1, False), (2, 2, (-1, 3), 0, False)])
def test_a_mapping_is_telling_with_both_kinds_of_move_and_of_end(hits, accepted, ends, last,
                                                                 telling):
    of = np.arange(fig1.MOVES)
    assert fig1.is_telling(SimpleNamespace(
        cached=of < hits, accepted=of < accepted, ends=np.array(ends), steps=[0, last])) is telling


def test_what_is_kept_of_a_mapping_is_in_the_order_of_its_steps():
    U, U_star = np.array([4.0, 2.0, np.nan, 1.0]), np.array([7.0, 3.0, 2.0, 1.5])  # last: step -1
    chain = SimpleNamespace(ends=np.array([-1, 2]), q=np.arange(4), U=U, U_star=U_star,
                            known=~np.isnan(U), proposed=1, steps=2, accepted=3, cached=4)
    kept = fig1.record(chain, SimpleNamespace(q=5), SimpleNamespace(q=6))
    # log pi / pi* is U* - U
    assert fig1.Mapping(**kept) == (-1, [3, 0, 1, 2], [0.5, 3.0, 1.0, None], 1, 2, 3, 4, 5, 6)


def test_states_and_moves_of_a_mapping_are_drawn_in_their_places():
    q = [[9.0, 1.0, 5.0], [9.0, 2.0, 6.0], [9.0, 3.0, 7.0]]  # at steps -1, 0 and 1
    drawn = fig1.Mapping(first=-1, q=q, gap=[None, 2.0, 5.0], proposed=[1, -1], steps=[1, 1],
                         accepted=[True, False], cached=[False, True], x=q[1], x_=q[2])
    above, below = fig1.figure(fig1.Result(drawn, {})).axes
    check_labels([above, below], (r"$\log\eta$", r"$\log\rho$"), ("step k", "moves"))
    rings = [(2, 6), (3, 7)]  # x and x'
    path, *points = [line.get_xydata().tolist() for line in above.lines]
    assert points == [[list(place)] for place in [*map(tuple, path), *rings]]
    assert path == [each[1:] for each in q]
    for ax, lines in ((above, above.lines[1:4]), (below, below.lines[:3])):
        fills = [line.get_markerfacecolor() for line in lines]
        assert fills[0] == "white" != fills[1] == fills[2], ax.get_title()
    assert [text.get_text() for text in above.texts[:3]] == ["$x_{-1}$", "$x_{0}$", "$x_{1}$"]
    # from step 0 both ways: R forwards, its reverse backwards
    assert [text.xy for text in below.texts if not text.get_text()][:2] == [(-1, 0), (1, 0)]
    texts = {text.get_text().strip("$"): text.get_position() for text in below.texts}
    assert (texts["+0.0"][0], texts["+3.0"][0]) == (0, 1)  # log pi / pi*, less that at x
    assert (texts["R"][0], texts[r"\tilde R"][0]) == (0.5, -0.5)
    moves = [(*line.get_xydata()[0], line.get_marker()) for line in below.lines[3:]]
    named = {mark.get_label(): (mark.get_color(), mark.get_marker())
             for mark in below.get_legend().legend_handles}
    assert [(line.get_color(), line.get_marker()) for line in below.lines[3:6]] == [
        named[label] for label in ("marked", "rejected", r"$\pi$ was known")]
    # to 1; to -1, where pi was known, but it stays; rings about x and x'
    assert moves == [(1, 1, "o"), (-1, 2, "x"), (-1, 2, "o"), (1, 2, "o"), (0, 0, "o"),
                     (1, fig1.MOVES + 1, "o")]
