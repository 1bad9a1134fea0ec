"""Shards: the replicates of a script, dealt out to several runs that know nothing of each other.

Which of them a run computes depends on their list, on its number and on how many runs there are,
and on nothing that is stored: so no two of them compute the same one, whenever they start.
"""

import os
import sys
import tempfile
from contextlib import contextmanager
from heapq import heapify, heapreplace
from pathlib import Path
from typing import NamedTuple

AGAIN = "another round is needed"  # in the last line of a shard, if it is so


class Shard(NamedTuple):
    """One of the shares."""

    number: int  # from 1
    of: int

    def __str__(self):
        """Return what stands on the command line."""
        return f"{self.number}/{self.of}"


class Unfinished(Exception):
    """A shard has to stop here, because replicates of other shards are not stored yet."""


def deal(costs, shard):
    """Return the set of those keys of `costs`, {key: cost}, that are the share of `shard`.

    The longest come first, and each goes to the share that has least by then; so no share is
    ahead of another by more than its last one.  Keys are hexadecimal.  Which share comes first
    depends on them, or share 1 would have the longest one of every script.
    """
    order = sorted(costs, key=lambda key: (-costs[key], key))
    first = int(order[0], 16) if order else 0
    shares = [(0.0, (number - first) % shard.of, number) for number in range(1, shard.of + 1)]
    heapify(shares)
    found = set()
    for key in order:
        load, rank, number = shares[0]
        heapreplace(shares, (load + costs[key], rank, number))
        if number == shard.number:
            found.add(key)
    return found


@contextmanager
def after_the_first():
    """Let one process of this user on this machine compile, and the others find what it made.

    The first that comes has the lock for itself; those that come meanwhile wait until it is done,
    and then they go on together.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with open(Path(tempfile.gettempdir(), f"mirrormc-{os.getuid()}.lock"), "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(file, fcntl.LOCK_SH)
        yield
