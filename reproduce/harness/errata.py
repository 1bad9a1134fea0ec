"""What the errata of a paper are, and the claims that a script makes of each.

A number is measured as printed and as ours; it has to be in [low, high], where the printed one is
not.  Which errata a paper has is in its own folder; its script measures.
"""

from operator import attrgetter
from typing import NamedTuple

from reproduce.harness.claims import Claim, Declared, as_measured, brief


class Erratum(NamedTuple):
    """What is printed, what is right, and a number that tells them apart."""

    where: str
    theirs: str  # as it is printed
    ours: str
    what: str  # the quantity, of the paper and of ours (after ";" if that is another one)
    paper: str
    low: float
    high: float
    why: str  # the interval
    known: Declared  # why the printed one is not there


def side_claims(errata):
    """Make the claims of {key: Erratum}: what is printed is wrong, and ours is right."""
    found = []
    for key, e in errata.items():
        theirs, _, ours = e.what.partition("; ")
        found += [
            Claim(f"{key}, {side}: {what}", e.paper, lambda r, of=of, key=key: of(r)[key],
                  e.low, e.high, f"{e.where}.  {e.why}", kind, known)
            for side, what, of, kind, known in (
                ("as printed", theirs, attrgetter("printed"), "printed sentence", e.known),
                ("ours", ours or theirs, attrgetter("ours"), "ours", None))]
    return found


def number_rows(errata, r):
    """Return the rows of a table of these numbers: as printed, and ours."""
    return [[key, e.what, *(brief(as_measured(side[key])) for side in (r.printed, r.ours))]
            for key, e in errata.items()]
