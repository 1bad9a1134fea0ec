"""reproduce/harness/dealing.py: makespans by hand, and what must hold of any."""

import numpy as np
import pytest

from harness.dealing import (
    efficiencies,
    efficiency,
    list_makespan,
    makespan,
    random_shares,
    shares_of,
)
from harness.fingerprint import digest
from harness.shards import Shard, dealt

KEYS = [digest(str(k)) for k in range(5)]
HAND = dict(zip(KEYS, (5.0, 4.0, 3.0, 3.0, 3.0), strict=True))


def test_by_hand():
    # longest first to who has least: 5 + 3 = 8 and 4 + 3 + 3 = 10; the best would be 9 and 9
    shares = shares_of(HAND, 2)
    assert sorted(sorted(HAND[key] for key in share) for share in shares) == [[3, 3, 4], [3, 5]]
    assert [HAND[share[0]] for share in sorted(shares, key=len)] == [5, 4]  # longest first
    assert makespan(shares, HAND) == 10 == list_makespan(HAND, 2)
    assert efficiency(HAND, 2, 10.0) == 18 / 20
    assert makespan([KEYS], HAND) == 18 and list_makespan(HAND, 1) == 18
    assert makespan(shares_of(HAND, 9), HAND) == 5 == list_makespan(HAND, 9)
    assert efficiency(HAND, 9, 5.0) == 18 / 45


def test_what_is_dealt_by_costs_takes_its_durations():
    costs = dict.fromkeys(KEYS, 1.0)  # which are all wrong: three replicates here, and two there
    shares = [sorted(dealt(costs, Shard(number, 2))) for number in (1, 2)]
    loads = [sum(HAND[key] for key in share) for share in shares]
    assert makespan(shares_of(costs, 2), HAND) == max(loads)
    assert sorted(map(len, shares)) == [2, 3]


class Uniforms:
    """In place of a generator: these uniforms, in turn."""

    def __init__(self, *values):
        self.values = list(values)

    def random(self):
        return self.values.pop(0)


def test_a_killed_task_keeps_what_it_has_finished_and_the_next_round_does_the_rest():
    # one share of 5, 4, 3, 3, 3, killed at 11 of 18: 5 and 4 are kept, the third is lost at 2 of 3;
    # then killed at 4.5 of 9: 3 is kept; then it has 6 left and lives: 11 + 4.5 + 6
    rng = Uniforms(0.0, 11 / 18, 0.0, 0.5, 0.9)
    assert makespan([KEYS], HAND, 0.5, rng) == pytest.approx(21.5, rel=1e-15) and not rng.values
    # two shares: 8 lives, 10 is killed at 4.1, with 3 + 3 left; the round takes 8, the next 6
    shares = sorted(shares_of(HAND, 2), key=len)
    rng = Uniforms(0.9, 0.0, 0.41, 0.9)
    assert makespan(shares, HAND, 0.5, rng) == 8 + 6 and not rng.values


def test_what_ends_when_its_task_is_killed_is_kept():
    # killed at 1 of 2, when the first has ended: the second is left
    rng = Uniforms(0.0, 0.5, 0.9)
    assert makespan([["a", "b"]], {"a": 1.0, "b": 1.0}, 0.5, rng) == 2.0


def test_it_ends_with_a_sentence_if_nothing_ever_gets_through():
    with pytest.raises(ValueError, match="p must be such that"):
        makespan([KEYS], HAND, 1.0, np.random.default_rng(1))


def uneven(n):
    return {digest(f"uneven {k}"): float(x) for k, x in enumerate(
        np.random.default_rng(n).lognormal(0, 2, n))}


@pytest.mark.parametrize("cores", [1, 2, 10, 100, 1000])
def test_what_must_hold(cores):
    durations = uneven(300)
    found = efficiencies(durations, durations, cores, 0.1, 20, 1)
    # with costs that are the durations, dealing is longest-first list scheduling; sums of 300 terms
    # in another order
    assert found["dealt"] == pytest.approx(found["list"], rel=1e-12)
    least = max(sum(durations.values()) / cores, max(durations.values()))
    # Graham (1969): longest first is at most 4/3 - 1/(3 cores) times the best
    best = efficiency(durations, cores, least)
    worst = best / (4 / 3 - 1 / (3 * cores))
    assert worst * (1 - 1e-12) <= found["list"] <= best * (1 + 1e-12)
    assert found["random"] <= found["dealt"] * (1 + 1e-12) and found["killed"] < found["dealt"]


def test_random_shares_hold_everything_once():
    durations = uneven(300)
    shares = random_shares(durations, 7, np.random.default_rng(1))
    assert sorted(key for share in shares for key in share) == sorted(durations)
    # binomial with 300 and 1/7: four standard deviations are 24
    assert all(18 < len(share) < 68 for share in shares)


def test_killing_costs_what_it_must_on_one_core():
    # a single replicate of 1 s: rounds until one lives, each killed one lasting 1/2 on average:
    # E = 1 + p / (1 - p) / 2 = 1.5 at p = 1/2; its standard deviation is below 1
    rng = np.random.default_rng(1)
    ends = [makespan([["a"]], {"a": 1.0}, 0.5, rng) for _ in range(4000)]
    assert abs(np.mean(ends) - 1.5) < 4 / 4000**0.5
