"""`verdicts`: what a script's claims say of a result that a test has made up."""

from reproduce.harness.claims import judge


def verdicts(script, result, budget="paper"):
    """Return {what a claim is about: its verdict}, of the claims that are made at this budget."""
    return {f.claim.what: f.verdict for f in judge(script.CLAIMS, result, budget)}
