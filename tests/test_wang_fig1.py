"""Figure 1 of Wang and Neal: what is counted and drawn of a mapping, and the claims."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from judging import verdicts
from models.interface import U_prior
from reproduce import wang_fig1 as fig1
from reproduce.harness.claims import failures, judge
from reproduce.harness.replicates import Experiment, to_json
from reproduce.harness.run import Settings
from reproduce.harness.style import COLOURS, plt
from reproduce.wang.datasets import posterior
from reproduce.wang.printed import SOD

OWN = fig1.OWN


def made_up():
    """Return a result with which every claim agrees."""
    return fig1.Result(None, {
        SOD: fig1.Counts(accepted=[0.3, 0.31, 0.29, 0.3], cached=[0.6, 0.61, 0.62, 0.6],
                         density=[0.4] * 4, star=[7.0] * 4, idle=[0] * 4, missed=[0] * 4,
                         gap=[0.01, -0.02, 0.02, 0.0]),
        OWN: fig1.Counts(accepted=[1.0] * 4, cached=[0.5] * 4, density=[0.5] * 4, star=[9.0] * 4,
                         idle=[0] * 4, missed=[0] * 4, gap=[0.0] * 4)})


def test_every_claim_agrees_with_a_result_that_is_as_the_paper_says():
    assert set(verdicts(fig1, made_up()).values()) == {"agrees"}


MOVED = {
    "an evaluation twice": (SOD, "missed", [0, 1, 0, 0], "moves - evaluations of pi - cache"),
    "an evaluation forgotten": (SOD, "missed", [0, 0, -1, 0], "moves - evaluations of pi - cache"),
    "a step too many": (SOD, "idle", [0, 0, 0, 1], "steps simulated that no move needed"),
    "a move rejected": (OWN, "accepted", [1.0, 1.0, 0.9995, 1.0], "pi* = pi: share of moves"),
    "marks are biased": (SOD, "gap", [0.4, 0.41, 0.4, 0.42], "log likelihood, all marked states"),
}


@pytest.mark.parametrize("name", MOVED)
def test_one_quantity_moved_and_no_other_claim_agrees_less(name):
    which, quantity, values, wanted = MOVED[name]
    result = copy.deepcopy(made_up())
    result.chains[which] = result.chains[which]._replace(**{quantity: values})
    (what,) = [what for what, verdict in verdicts(fig1, result).items() if verdict != "agrees"]
    assert what.startswith(wanted)


def test_what_is_kept_of_mappings(monkeypatch):
    """Two made-up mappings: the first one has too few hits to be drawn, the second is telling."""
    model, q = posterior(fig1.ROW, 0, 10)

    def mapping(proposed, steps, hits):
        first, end = min(0, *proposed), max(0, *proposed)
        places = range(first, end + 1)
        return SimpleNamespace(
            proposed=np.array(proposed), steps=np.array(steps), cached=np.arange(8) < hits,
            accepted=np.array(steps) == proposed, ends=np.array([first, end + 1]),
            known={k: k != 1 for k in range(first, end + 2)},
            q={k: q + k for k in range(first, end + 2)},
            U={k: 10.0 + k for k in [*places, end + 1]},
            U_star={k: 12.0 + 3 * k for k in [*places, end + 1]})

    chains = [mapping([2, 4, 2, 4, 6, 4, 6, 4], [2, 2, 2, 4, 4, 4, 6, 4], 1),
              mapping([-2, 2, 4, 6, -2, 2, 4, 2], [-2, -2, 4, 4, 4, 2, 2, 2], 3)]
    rest = iter(chains)

    def step(here, model, star, move, r, s, tally, star_tally, rng):
        assert (r, s, move.w.tolist(), move.max_widths) == (8, 2, [1.0] * 3, 10)
        tally[fig1.EVALUATIONS] += 5
        star_tally[fig1.EVALUATIONS] += 70
        chain = next(rest)
        end = chain.steps[-1]
        return fig1.State(chain.q[end], chain.U[end], None, None), chain

    monkeypatch.setattr(fig1, "discretizing_chain_step", step)
    found = fig1.one_chain(SOD, 10, 2, 1)
    assert {key: found[key] for key in ("accepted", "cached", "density", "star", "telling")} == {
        "accepted": sum(c.accepted.sum() for c in chains), "cached": 4, "density": 10, "star": 140,
        "telling": True}
    # from the least proposal, or the start, to the greatest; one more was simulated in each
    assert (found["needed"], found["simulated"]) == (6 + 8, 7 + 9)

    def likelihood(k):
        return U_prior(q + k, model) - (10.0 + k)

    assert found["marked"] == pytest.approx(
        np.mean([likelihood(k) for c in chains for k in c.steps]), rel=1e-12)
    assert found["last"] == pytest.approx((likelihood(4) + likelihood(2)) / 2, rel=1e-12)
    drawn = found["drawn"]
    assert drawn["proposed"].tolist() == chains[1].proposed.tolist() and drawn["first"] == -2
    # log pi / pi*, of which U and U* are minus the logs
    assert drawn["gap"] == [2.0 + 2 * k if k != 1 else None for k in range(-2, 8)]
    np.testing.assert_array_equal(drawn["q"], [q + k for k in range(-2, 8)])
    np.testing.assert_array_equal(drawn["x"], chains[0].q[4])  # where the first one ended
    np.testing.assert_array_equal(drawn["x_"], chains[1].q[2])


def test_counts_are_for_a_move_of_the_mark():
    class Made:
        budget, seed = "short", 1

        def replicates(self, function, tasks, *_):
            return [{"accepted": 48, "cached": 24, "density": 12, "star": 96, "simulated": 30,
                     "needed": 28, "marked": -3.0, "last": -5.0,
                     "drawn": dict.fromkeys(fig1.Mapping._fields, task["seed"][1]),
                     "telling": task["seed"][1] == 2} for task in tasks]

    result = fig1.run(Made(), None)
    assert result.drawn.first == 2
    for which, moves in ((SOD, 60 * 8), (OWN, 6 * 8)):  # with pi itself a tenth
        assert result.chains[which] == fig1.Counts(
            accepted=[48 / moves] * 4, cached=[24 / moves] * 4, density=[12 / moves] * 4,
            star=[96 / moves] * 4, idle=[2] * 4, missed=[36 - moves] * 4, gap=[2.0] * 4)
    row = next(line for line in fig1.table(result).splitlines() if line.startswith(SOD))
    assert row.split()[1:] == ["0.1", "0.05", "0.025", "0.2"]


def test_a_run_of_seconds_counts_and_draws(monkeypatch, tmp_path):
    monkeypatch.setattr("reproduce.harness.replicates.figures", lambda budget: tmp_path)
    result = fig1.run(Experiment(fig1.NAME, Settings("smoke")), None)
    findings = {f.claim.what: f.verdict for f in judge(fig1.CLAIMS, result, "smoke")}
    assert failures(judge(fig1.CLAIMS, result, "smoke")) == []
    for what in ("moves - evaluations of pi - cache hits, most of a chain",
                 "steps simulated that no move needed, most of a chain",
                 "pi* = pi: share of moves accepted"):
        assert findings[what] == "agrees"
    drawn = result.drawn
    # what is drawn is a mapping: its mark moves as was accepted, and x' is where it ends
    mark = 0
    for to, now, accepted in zip(drawn.proposed, drawn.steps, drawn.accepted,
                                 strict=True):
        assert abs(to - mark) == fig1.STEPS and now == (to if accepted else mark)
        mark = now
    np.testing.assert_array_equal(drawn.q[mark - drawn.first], drawn.x_)
    np.testing.assert_array_equal(drawn.q[-drawn.first], drawn.x)
    known = {k for k, gap in enumerate(drawn.gap, drawn.first) if gap is not None}
    assert known == {0, *drawn.proposed}
    seen = {0}
    for to, cached in zip(drawn.proposed, drawn.cached, strict=True):
        assert cached == (to in seen)
        seen.add(to)
    assert "pi known" in fig1.table(result) and to_json(drawn._asdict())
    figure = fig1.figure(result)
    assert len(figure.axes) == 2
    above, below = figure.axes
    q, first = np.array(drawn.q)[:, 1:3], drawn.first  # log eta and log rho
    line, *points = above.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), q)
    for k, point in enumerate(points[: len(q)], first):
        np.testing.assert_array_equal(point.get_xydata()[0], q[k - first])
        assert (point.get_markerfacecolor() == "white") == (k not in known)
    gaps = {float(text.get_position()[0]): text.get_text().replace("$", "").replace("\u2212", "-")
            for text in below.texts if text.get_position()[1] == -0.45}
    assert gaps == {k: f"{drawn.gap[k - first] - drawn.gap[-first]:+.1f}" for k in known}
    # R forwards from x, its reverse backwards; arrows point away from x
    named = {text.get_position()[0] - 0.5: text.get_text() for text in below.texts
             if text.get_position()[1] == -0.4}
    assert named == {k: "$R$" if k >= 0 else r"$\tilde R$"
                     for k in range(first, first + len(q) - 1)}
    marks = [(line.get_marker(), *place) for line in below.get_lines()
             if line.get_markersize() == 8 for place in line.get_xydata()]
    for move, (to, now, accepted) in enumerate(zip(drawn.proposed, drawn.steps,
                                                   drawn.accepted, strict=True), 1):
        assert ("o" if accepted else "x", to, move) in marks and ("o", now, move) in marks
    # arrows: R away from x, then the moves, and back to x'
    arrows = [(*text.get_position(), *text.xy, text.arrow_patch.get_edgecolor())
              for text in below.texts if getattr(text, "arrow_patch", None)]
    last, mark = first + len(q) - 1, 0
    wanted = [(k, 0, k + 1, 0) if k >= 0 else (k + 1, 0, k, 0) for k in range(first, last)]
    for move, (to, now) in enumerate(zip(drawn.proposed, drawn.steps, strict=True), 1):
        wanted.append((mark, max(move - 1, 0.1), to, move))
        mark = now
    assert [arrow[:4] for arrow in arrows] == [*wanted, (mark, fig1.MOVES, mark, fig1.MOVES + 1)]
    for arrow, accepted in zip(arrows[last - first:-1], drawn.accepted, strict=True):
        assert arrow[4] == to_rgba(COLOURS[0 if accepted else 4])
    legend = {text.get_text(): line.get_color() for text, line in zip(
        below.get_legend().get_texts(), below.get_legend().get_lines(), strict=True)}
    assert legend == {"marked": COLOURS[0], "rejected": COLOURS[4], r"$\pi$ was known": COLOURS[2]}
    rings = [(line.get_color(), *line.get_xydata()[0]) for line in below.get_lines()
             if line.get_markersize() == 15 and len(line.get_xydata())]
    assert rings == [*((COLOURS[2], to, move) for move, (to, cached) in enumerate(
        zip(drawn.proposed, drawn.cached, strict=True), 1) if cached),
        (COLOURS[0], 0, 0), (COLOURS[4], mark, fig1.MOVES + 1)]
    squares = {line.get_xdata()[0]: line.get_markerfacecolor() for line in below.get_lines()
               if line.get_marker() == "s"}
    assert {k for k, colour in squares.items() if colour != "white"} == known
    assert list(squares) == list(range(first, last + 1))
    # above: each state has its number, x and x' have their names
    names = {text.get_text(): text.xy for text in above.texts}
    for name, place in [("$x$", drawn.x[1:3]), ("$x'$", drawn.x_[1:3]),
                        *((f"$x_{{{k}}}$", each) for k, each in enumerate(q, first))]:
        np.testing.assert_array_equal(names[name], place)
    assert (above.get_xlabel(), above.get_ylabel()) == (r"$\log\eta$", r"$\log\rho$")
    plt.close(figure)
