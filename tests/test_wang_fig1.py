"""Figure 1 of Wang and Neal: what is counted and drawn of a mapping, and the claims."""

import copy

import numpy as np
import pytest

import wang_fig1 as fig1
from harness.claims import failures, judge
from harness.replicates import Experiment, to_json
from harness.run import Settings
from harness.style import plt
from judging import verdicts
from wang.printed import SOD

OWN = fig1.OWN


def made_up():
    """Return a result with which every claim agrees."""
    return {"chains": {
        SOD: {"accepted": [0.3, 0.31, 0.29, 0.3], "cached": [0.6, 0.61, 0.62, 0.6],
              "density": [0.4] * 4, "star": [7.0] * 4, "idle": [0] * 4, "missed": [0] * 4,
              "gap": [0.01, -0.02, 0.02, 0.0]},
        OWN: {"accepted": [1.0] * 4, "cached": [0.5] * 4, "density": [0.5] * 4, "star": [9.0] * 4,
              "idle": [0] * 4, "missed": [0] * 4, "gap": [0.0] * 4}}}


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    assert set(verdicts(fig1, made_up()).values()) == {"agrees"}


MOVED = {
    "nothing is hit again": (SOD, "cached", [0.0] * 4, "share of moves to a state where pi is"),
    "an evaluation twice": (SOD, "missed", [0, 1, 0, 0], "moves - evaluations of pi - cache"),
    "an evaluation forgotten": (SOD, "missed", [0, 0, -1, 0], "moves - evaluations of pi - cache"),
    "a step too many": (SOD, "idle", [0, 0, 0, 1], "steps simulated that no move needed"),
    "a move rejected": (OWN, "accepted", [1.0, 1.0, 0.9995, 1.0], "pi* = pi: share of moves"),
    "every move rejected": (SOD, "accepted", [0.0] * 4, "pi*, a subset: share of moves"),
    "every move accepted": (SOD, "accepted", [1.0] * 4, "pi*, a subset: share of moves"),
    "marks are biased": (SOD, "gap", [0.4, 0.41, 0.4, 0.42], "log likelihood, all marked states"),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_agrees_less(name):
    which, quantity, values, wanted = MOVED[name]
    result = copy.deepcopy(made_up())
    result["chains"][which][quantity] = values
    (what,) = [what for what, verdict in verdicts(fig1, result).items() if verdict != "agrees"]
    assert what.startswith(wanted)


def test_a_run_of_seconds_counts_and_draws(monkeypatch, tmp_path):
    monkeypatch.setattr("harness.replicates.figures", lambda budget: tmp_path)
    result = fig1.run(Experiment(fig1.NAME, Settings("smoke")), None)
    findings = {f.claim.what: f.verdict for f in judge(fig1.CLAIMS, result, "smoke")}
    assert failures(judge(fig1.CLAIMS, result, "smoke")) == []
    for what in ("moves - evaluations of pi - cache hits, most of a chain",
                 "steps simulated that no move needed, most of a chain",
                 "pi* = pi: share of moves accepted"):
        assert findings[what] == "agrees"
    drawn = result["drawn"]
    # what is drawn is a mapping: its mark moves as was accepted, and x' is where it ends
    mark = 0
    for to, now, accepted in zip(drawn["proposed"], drawn["steps"], drawn["accepted"],
                                 strict=True):
        assert abs(to - mark) == fig1.STEPS and now == (to if accepted else mark)
        mark = now
    np.testing.assert_array_equal(drawn["q"][mark - drawn["first"]], drawn["x_"])
    np.testing.assert_array_equal(drawn["q"][-drawn["first"]], drawn["x"])
    known = {k for k, gap in enumerate(drawn["gap"], drawn["first"]) if gap is not None}
    assert known == {0, *drawn["proposed"]}
    seen = {0}
    for to, cached in zip(drawn["proposed"], drawn["cached"], strict=True):
        assert cached == (to in seen)
        seen.add(to)
    assert "pi known" in fig1.table(result) and to_json(drawn)
    figure = fig1.figure(result)
    assert len(figure.axes) == 2
    above, below = figure.axes
    q, first = np.array(drawn["q"])[:, 1:3], drawn["first"]  # log eta and log rho
    line, *points = above.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), q)
    for k, point in enumerate(points[: len(q)], first):
        np.testing.assert_array_equal(point.get_xydata()[0], q[k - first])
        assert (point.get_markerfacecolor() == "white") == (k not in known)
    gaps = {float(text.get_position()[0]): text.get_text().replace("$", "").replace("\u2212", "-")
            for text in below.texts if text.get_position()[1] == -0.45}
    assert gaps == {k: f"{drawn['gap'][k - first] - drawn['gap'][-first]:+.1f}" for k in known}
    # R forwards from x, its reverse backwards; arrows point away from x
    named = {text.get_position()[0] - 0.5: text.get_text() for text in below.texts
             if text.get_position()[1] == -0.4}
    assert named == {k: "$R$" if k >= 0 else r"$\tilde R$"
                     for k in range(first, first + len(q) - 1)}
    marks = [(line.get_marker(), *place) for line in below.get_lines()
             if line.get_markersize() == 8 for place in line.get_xydata()]
    for move, (to, now, accepted) in enumerate(zip(drawn["proposed"], drawn["steps"],
                                                   drawn["accepted"], strict=True), 1):
        assert ("o" if accepted else "x", to, move) in marks and ("o", now, move) in marks
    plt.close(figure)
