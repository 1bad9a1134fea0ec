"""What a script's claims say of a result that a test has made up, and such results changed."""

from reproduce.harness.claims import judge


def verdicts(script, result, budget="paper"):
    """Return {what a claim is about: its verdict}, of the claims that are made at this budget."""
    return {f.claim.what: f.verdict for f in judge(script.CLAIMS, result, budget)}


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
