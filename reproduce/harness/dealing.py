"""How evenly replicates are dealt out, by simulation: what a cluster's cores do with their time.

The shares are those of harness/shards.py, dealt by expected costs; the durations are what the same
replicates took.  A share has a core of its own and computes the longest first.  Rounds follow each
other as slurm.sh chains them: one begins when all tasks of the one before have ended.  A task that
is killed keeps what it has finished, and the next round computes the rest of its share.
"""

from heapq import heapify, heapreplace
from importlib import import_module
from types import SimpleNamespace

import numpy as np

from harness.replicates import Experiment, to_json
from harness.run import Settings
from harness.shards import Shard, dealt

ROUNDS = 1000  # more, and something is wrong: a replicate is longer than any task lives


def shares_of(costs, of):
    """Return the shares of {key: cost}, lists of keys, the longest first, as the scripts do."""
    return [longest_first(dealt(costs, Shard(number, of)), costs) for number in range(1, of + 1)]


def random_shares(costs, of, rng):
    """Return shares to which every key was dealt at random."""
    shares = [[] for _ in range(of)]
    for key, number in zip(costs, rng.integers(of, size=len(costs)), strict=True):
        shares[number].append(key)
    return [longest_first(share, costs) for share in shares]


def longest_first(keys, costs):
    """Return keys in the order in which a share computes them."""
    return sorted(keys, key=lambda key: (-costs[key], key))


def makespan(shares, durations, p=0.0, rng=None):
    """Return when all is computed, if each task of a round is killed with probability p.

    shares    : list of lists of keys, a core for each
    durations : dict, key -> seconds
    p         : probability in [0, 1); the moment is uniform over what the task has left to do
    rng       : Generator, needed if p > 0: a uniform for each share with work, and one more for
                each that is killed

    Raises ValueError if that takes more than ROUNDS rounds.
    """
    left, end = [list(share) for share in shares], 0.0
    for _ in range(ROUNDS):
        ends = [0.0]
        for share in left:
            work = sum(durations[key] for key in share)
            killed = bool(share) and p > 0 and rng.random() < p
            stop = work * rng.random() if killed else work
            ends.append(stop)
            at = 0.0
            while share and (not killed or at + durations[share[0]] <= stop):
                at += durations[share.pop(0)]
        end += max(ends)
        if not any(left):
            return end
    raise ValueError(f"p must be such that {ROUNDS} rounds are enough, but is {p}")


def list_makespan(durations, cores):
    """Return when all is computed by cores that take the longest one left as soon as free.

    That needs somebody whom all cores can ask, and durations that are known.
    """
    free = [0.0] * cores
    heapify(free)
    for seconds in sorted(durations.values(), reverse=True):
        heapreplace(free, free[0] + seconds)
    return max(free)


def efficiency(durations, cores, end):
    """Return the share of the cores' time that was work that had to be done."""
    return sum(durations.values()) / (cores * end)


def efficiencies(durations, costs, cores, p, repeats, seed):
    """Return {"dealt", "killed", "random", "list"}: the efficiency with each way to deal out.

    killed : dealt, if tasks are killed with probability p, mean of `repeats`; random : the same
    mean, without that
    """
    rng, shares = np.random.default_rng(seed), shares_of(costs, cores)

    def of(end):
        return efficiency(durations, cores, end)

    return {"dealt": of(makespan(shares, durations)),
            "killed": float(np.mean([of(makespan(shares, durations, p, rng))
                                     for _ in range(repeats)])),
            "random": float(np.mean([of(makespan(random_shares(costs, cores, rng), durations))
                                     for _ in range(repeats)])),
            "list": of(list_makespan(durations, cores))}


# What is stored of a script


class Asked(Exception):
    """What a script asks for: its tasks are the argument."""


class Listing(Experiment):
    """An experiment that stops where a script asks for the replicates of one function."""

    def __init__(self, name, function):
        """Recall what comes before."""
        super().__init__(name, Settings("paper", recall=True))
        self.function = function

    def replicates(self, function, tasks, *more, **named):
        """Raise Asked with the tasks of the function; else return what is stored."""
        if function.__name__ == self.function:
            raise Asked(tasks)
        return super().replicates(function, tasks, *more, **named)


def stage(name, function):
    """Return {key: record} of a stage of a script, and {key: cost}, by which it is dealt out.

    The stage is the first list of tasks of a function of that name, at the paper's run lengths.
    """
    listing, tasks = Listing(name, function), ()
    data = next((r["task"][key] for r in listing.packed.values() for key in ("data_name", "data")
                 if key in r["task"]), "")
    try:
        import_module(name).run(listing, SimpleNamespace(name=data, note=""))
    except Asked as asked:
        (tasks,) = asked.args
    plain = [{k: v for k, v in task.items() if k != "cost"} for task in tasks]
    keys = [listing.keys[function, to_json(task, sort_keys=True)] for task in plain]
    return ({key: listing.packed[key] for key in keys},
            {key: float(task.get("cost", 1)) for key, task in zip(keys, tasks, strict=True)})
