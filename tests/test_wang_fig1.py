"""Figure 1 of Wang and Neal: what is counted of a mapping, and the claims that are exact."""

import pytest

from judging import replaced, verdicts
from reproduce import wang_fig1 as fig1
from reproduce.wang.printed import SOD

OWN = fig1.OWN


class Made:
    """An experiment with the same sums in every chain."""

    budget, seed = "short", 1

    def replicates(self, function, tasks, *_):
        return [{"accepted": 48, "cached": 24, "density": 12, "star": 96, "simulated": 30,
                 "needed": 28, "marked": -3.0, "last": -5.0,
                 "drawn": dict.fromkeys(fig1.Mapping._fields, task["seed"][1]),
                 "telling": task["seed"][1] == 2} for task in tasks]


def test_counts_are_for_a_move_of_the_mark():
    result = fig1.run(Made(), None)
    assert result.drawn.first == 2
    for which, moves in ((SOD, 60 * 8), (OWN, 6 * 8)):  # with pi itself a tenth
        assert result.chains[which] == fig1.Counts(
            accepted=[48 / moves] * 4, cached=[24 / moves] * 4, density=[12 / moves] * 4,
            star=[96 / moves] * 4, idle=[2] * 4, missed=[36 - moves] * 4, gap=[2.0] * 4)


@pytest.mark.parametrize(("which", "quantity", "wrong"), [
    (SOD, "missed", 1), (SOD, "missed", -1), (SOD, "idle", 1), (OWN, "accepted", 0.9995)])
def test_what_happens_once_in_one_chain_is_seen(which, quantity, wrong):
    right = fig1.Counts([1.0] * 3, *[[0.5] * 3] * 3, [0] * 3, [0] * 3, [0.0] * 3)
    result = fig1.Result(None, {SOD: right, OWN: right})
    assert set(verdicts(fig1, result).values()) == {"agrees"}
    result = replaced(result, ["chains", which, quantity, 1], wrong)
    assert list(verdicts(fig1, result).values()).count("differs") == 1
