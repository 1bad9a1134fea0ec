"""What a script's claims say of a result that a test has made up, and such results changed."""

import copy
import re

from reproduce.harness.claims import judge


def verdicts(script, result, budget="paper"):
    """Return {what a claim is about: its verdict}, of the claims that are made at this budget."""
    return {f.claim.what: f.verdict for f in judge(script.CLAIMS, result, budget)}


def differing(script, result, change):
    """Return what claims are about that differ once `change` was made to a copy of a result."""
    result = copy.deepcopy(result)
    change(result)
    return {what for what, verdict in verdicts(script, result).items() if "differs" in verdict}


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


def put(place, value):
    """Make a function that puts a value at a place of a result."""
    return lambda result: replaced(result, place, value)


def scanned(row, **values):
    """Make a function that puts values into all settings of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: found._replace(**values) for key, found in result.scan[row].items()}})


def slower(row, factor):
    """Make a function that multiplies the times of all settings of a scan."""
    return lambda result: result._replace(scan=result.scan | {row: {
        key: found._replace(seconds=[factor * s for s in found.seconds])
        for key, found in result.scan[row].items()}})
