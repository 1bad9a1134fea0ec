"""What a script's claims say of a result that a test has made up, and such results changed."""

import copy
import re
from types import SimpleNamespace

import numpy as np

from reproduce.harness.claims import Measured, judge


def verdicts(script, result, budget="paper"):
    """Return {what a claim is about: its verdict}, of the claims that are made at this budget."""
    return {f.claim.what: f.verdict for f in judge(script.CLAIMS, result, budget)}


def check_moves(script, result, moved, weak=(), silent=()):
    """Assert that claims agree, and that each change of a result makes its own differ and no other.

    moved : {name: (function of a result, which changes it or returns another, which claims then
            differ, or how they begin)}; all claims are in one of them
    weak  : which claims are too weak, where they do not differ
    silent: which are then inconclusive, as a joint test of those is

    As if no difference were known: it is the intervals that are tried.
    """
    script = SimpleNamespace(CLAIMS=[claim._replace(known=None) for claim in script.CLAIMS])
    before, found = verdicts(script, result), {}
    expected = dict.fromkeys(before, "agrees") | dict.fromkeys(weak, "too weak") | dict.fromkeys(
        silent, "inconclusive")
    assert before == expected
    wanted = {name: {whole(start, before) for start in claims}
              for name, (_, claims) in moved.items()}
    assert set(before) == set().union(*wanted.values())
    for name, (change, _) in moved.items():
        other = copy.deepcopy(result)
        after = verdicts(script, change(other) or other)
        found[name] = {what for what in after
                       if after[what] not in ("agrees", "too weak", expected[what])}
        assert {after[what] for what in found[name]} <= {
            "differs", "every setting differs", "not specified"}, name
    assert found == wanted


def whole(start, claims):
    """Return which one of these claims is so called, or begins so."""
    (what,) = {start} & set(claims) or {what for what in claims if what.startswith(start)}
    return what


def disagreeing(script, result):
    """Return what claims are about that do not agree at the paper's budget."""
    return {what for what, verdict in verdicts(script, result).items() if verdict != "agrees"}


def read_tables(text):
    """Return the tables of a report, for each its rows, for each {head: cell}.

    The rule below the heads says where columns are; of two columns of one name the second one's
    is the name twice.
    """
    lines, tables = text.splitlines(), []
    for k, rule in enumerate(lines):
        if not k or not rule or rule.strip("- "):
            continue
        heads, rows = {}, []
        for match in re.finditer("-+", rule):
            head = lines[k - 1][slice(*match.span())].strip()
            heads[f"{head} {head}" if head in heads else head] = slice(*match.span())
        for line in lines[k + 1:]:
            if not line:
                break
            rows.append({head: line[place].strip() for head, place in heads.items()})
        tables.append(rows)
    return tables


def read_table(text, start=""):
    """Return the rows of the first table of which the first head begins with `start`."""
    return next(rows for rows in read_tables(text) if next(iter(rows[0])).startswith(start))


def replaced(result, place, value):
    """Return a copy of a result with a value at a place, a list of fields, keys and indices."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    if hasattr(result, "_replace"):
        return result._replace(**{first: replaced(getattr(result, first), rest, value)})
    items = dict(result) if isinstance(result, dict) else list(result)
    items[first] = replaced(items[first], rest, value)
    return items


def check_labels(axes, *wanted):
    """Check how the labels along x and y of each panel begin: pairs, of which "" is for none."""
    for ax, pair in zip(axes, wanted, strict=True):
        for label, beginning in zip((ax.get_xlabel(), ax.get_ylabel()), pair, strict=True):
            assert label.startswith(beginning) and bool(label) == bool(beginning), pair


def known(value):
    """Return an estimate with an error of a hundredth."""
    return Measured(value, 0.01 * abs(value))


def put(*place):
    """Make a function that puts the last of these at the place in a result that the others are."""
    return lambda result: replaced(result, place[:-1], place[-1])


def multiplied(factor, *place):
    """Make a function that multiplies the number or numbers at a place of a result."""
    def change(result):
        value = result
        for key in place:
            value = value[key] if isinstance(value, dict) else getattr(value, key)
        return replaced(result, place, (factor * np.array(value)).tolist())

    return change


def scanned(row, **values):
    """Make a function that puts values into all settings of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: found._replace(**values) for key, found in result.scan[row].items()}})


def slower(row, factor):
    """Make a function that multiplies the times of all settings of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: found._replace(seconds=[factor * s for s in found.seconds])
        for key, found in result.scan[row].items()}})
