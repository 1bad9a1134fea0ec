"""The plane of r and s: how often a mark goes where the posterior is known."""

import pytest

from reproduce.beyond import wang_r_s as plane


def known_at(rate, r):
    """Return which part of r proposals go where a mark was that is accepted at that rate."""
    walks = {(0, 0, 0, 0): 1.0}  # where it is, the ends of what is known, how many were new
    for _ in range(r):
        after = {}
        for (at, low, high, new), p in walks.items():
            for there in (at - 1, at + 1):
                rest = (min(low, there), max(high, there), new + (there < low or there > high))
                for place, share in ((there, rate), (at, 1 - rate)):
                    after[place, *rest] = after.get((place, *rest), 0.0) + p * share / 2
        walks = after
    return 1 - sum(p * new for (*_, new), p in walks.items()) / r


def test_a_mark_that_always_moves_knows_least():
    for r in range(1, plane.MOST + 1):
        assert known_at(1.0, r) == pytest.approx(plane.known_part(r), rel=1e-12, abs=1e-15)
    for rate in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        assert known_at(rate, plane.MOST) > plane.known_part(plane.MOST)
