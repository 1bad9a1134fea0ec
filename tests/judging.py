"""What a script's claims say of a result that a test has made up, and such results changed."""

import re

from reproduce.harness.claims import judge


def verdicts(script, result, budget="paper"):
    """Return {what a claim is about: its verdict}, of the claims that are made at this budget."""
    return {f.claim.what: f.verdict for f in judge(script.CLAIMS, result, budget)}


def read_table(text, start=""):
    """Return the rows of the table below the head that begins with `start`: {head: cell} each.

    The rule below the heads says where columns are; of two columns of one name the second one's
    is the name twice.
    """
    lines, found = text.splitlines(), []
    (rule,) = [k for k, line in enumerate(lines) if k and line and not line.strip("- ")
               and lines[k - 1].strip().startswith(start)][:1]
    places = [match.span() for match in re.finditer("-+", lines[rule])]
    heads = []
    for low, high in places:
        head = lines[rule - 1][low:high].strip()
        heads.append(f"{head} {head}" if head in heads else head)
    for line in lines[rule + 1:]:
        if not line:
            break
        found.append({head: line[low:high].strip()
                      for head, (low, high) in zip(heads, places, strict=True)})
    return found


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
