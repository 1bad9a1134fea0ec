"""Claims: what a paper says, how we measure it, in which interval it must fall, and why.

A claim carries its own measurement, a function of the script's result, so that no claim can lose
its number.  The verdict follows from the number, its standard error and the interval alone.
"""

import math
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

BUDGETS = ("smoke", "short", "paper")
KINDS = ("printed number", "printed sentence", "order", "ours")
VERDICTS = ("differs", "known difference", "not determined", "cannot tell", "agrees")
WIDTH = 100  # of the text reports


class Measured(NamedTuple):
    """A number and its standard error.

    Sums, differences, products, quotients and logs carry the standard error to first order, as that
    of independent estimates; what is not independent has to be measured as one number.
    """

    value: float
    se: float = 0.0  # nan: there is one, but too little is known of it

    def __add__(self, other):
        """Add an independent estimate or a number."""
        b = measured(other)
        return Measured(self.value + b.value, np.hypot(self.se, b.se))

    def __neg__(self):
        """Change the sign."""
        return Measured(-self.value, self.se)

    def __sub__(self, other):
        """Subtract an independent estimate or a number."""
        return self + -measured(other)

    def __rsub__(self, other):
        """Subtract from a number."""
        return measured(other) - self

    def __mul__(self, other):
        """Multiply by an independent estimate or a number."""
        b = measured(other)
        return Measured(self.value * b.value, np.hypot(self.se * b.value, self.value * b.se))

    def __truediv__(self, other):
        """Divide by an independent estimate or a number, which must not be 0."""
        b = measured(other)
        ratio = self.value / b.value
        return Measured(ratio, np.hypot(self.se / b.value, ratio * b.se / b.value))

    def __rtruediv__(self, other):
        """Divide a number by this."""
        return measured(other) / self

    def __abs__(self):
        """Return the absolute value."""
        return Measured(abs(self.value), self.se)

    __radd__, __rmul__ = __add__, __mul__


class Scan(NamedTuple):
    """What is found with each value of a setting that the paper does not state."""

    settings: tuple  # the values
    found: tuple  # a Measured for each


class Claim(NamedTuple):
    """One number or statement of the paper, how ours is measured, and where it must fall."""

    what: str  # the quantity
    paper: str  # what the paper prints or says
    ours: Callable  # of the script's result: a number, a Measured or a Scan
    low: float  # the accepted interval, ends included
    high: float
    why: str  # where the interval comes from
    kind: str  # one of KINDS
    known: str = ""  # the derivation of a known difference, if there is one
    # at which it is made; "paper" is always one of them, and alone where seconds are compared:
    # no other has the machine to itself
    budgets: tuple = BUDGETS


class Finding(NamedTuple):
    """A claim, what was measured for it, and the verdict."""

    claim: Claim
    ours: Measured | Scan
    verdict: str


def measured(x):
    """Return `x`, a number or a Measured, as a Measured."""
    return x if isinstance(x, Measured) else Measured(float(x))


def mean(values):
    """Return the mean of independent draws, (n,), or of each column of (n, ...), as Measured.

    A single draw says nothing of its standard error, which is then nan.
    """
    values = np.asarray(values, float)
    n = len(values)
    se = values.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.full(values.shape[1:], np.nan)
    middle = values.mean(axis=0)
    return Measured(float(middle), float(se)) if values.ndim == 1 else Measured(middle, se)


def average(estimates, weights=None):
    """Return the mean of independent Measured, weighted if there are weights (any scale)."""
    value, se = np.array([measured(m) for m in estimates]).T
    w = np.ones(value.size) if weights is None else np.asarray(weights, float)
    w = w / w.sum()
    return Measured(float(w @ value), float((w**2 @ se**2) ** 0.5))


def log(x):
    """Return the natural logarithm of a Measured or a positive number."""
    x = measured(x)
    return Measured(math.log(x.value), x.se / x.value)


def least(estimates):
    """Return the estimate with the least value in standard errors."""
    return min(map(measured, estimates), key=lambda m: m.value / m.se)


def judge(claims, result, budget):
    """Return the Finding of each of `claims` that is made at `budget`.

    A smoke run has two or three replicates, whose scatter says little of a standard error: no
    estimate fails there.
    """
    findings = []
    for claim in claims:
        if claim.kind not in KINDS or "paper" not in claim.budgets:
            raise ValueError(f"the claim {claim.what!r} must be of one of the kinds {KINDS} and"
                             " made at the paper budget, but is of"
                             f" {claim.kind!r} at {claim.budgets}")
        if budget in claim.budgets:
            ours = claim.ours(result)
            ours = ours if isinstance(ours, Scan) else Measured(*map(float, measured(ours)))
            found = verdict(claim, ours)
            finding = Finding(claim, ours, found)
            hasty = budget == "smoke" and is_estimate(ours) and failures([finding])
            findings.append(finding._replace(verdict="cannot tell") if hasty else finding)
    repeated = [what for what, n in Counter(f.claim.what for f in findings).items() if n > 1]
    if repeated:
        raise ValueError(f"two claims must not be about the same quantity, but are: {repeated}")
    return findings


def verdict(claim, ours):
    """Compare a Measured or a Scan with a claim; return one of VERDICTS.

    Outside [low, high]: `differs` if by more than 4 standard errors, which a true statement does
    once in 16000 times (`known difference` if the claim declares it); else `cannot tell`.
    Inside: `agrees`, unless the value would be inside by luck: a statement of order (one end
    infinite, or the kind "order") needs 2 standard errors to its nearest end, a number needs an
    interval no narrower than 2 standard errors.  A value of nan differs, a standard error of nan
    cannot tell.  With se = 0 the interval alone decides.

    A Scan agrees if all of it does, and differs if all of it does to one side; otherwise the claim
    is `not determined`: it depends on what the paper does not say.
    """
    if isinstance(ours, Scan):
        verdicts = {verdict(claim, m) for m in ours.found}
        sides = {m.value > claim.high for m in ours.found}
        settled = len(verdicts) == 1 and (verdicts == {"agrees"} or len(sides) == 1)
        return verdicts.pop() if settled else "not determined"
    value, se = ours
    if se < 0:
        raise ValueError(f"the standard error of {claim.what!r} must not be negative, but is {se}")
    outside = max(claim.low - value, value - claim.high)  # negative inside, nan if value is
    order = claim.kind == "order" or math.isinf(claim.high - claim.low)
    if math.isnan(value) or outside > 4 * se:  # with se = 0, outside at all
        return "known difference" if claim.known else "differs"
    if outside > 0 or math.isnan(se):
        return "cannot tell"
    luck = -outside < 2 * se if order else claim.high - claim.low < 2 * se
    return "cannot tell" if luck else "agrees"


def is_estimate(ours):
    """Tell whether a Measured or some of a Scan is a number with an error."""
    found = ours.found if isinstance(ours, Scan) else [ours]
    return any(m.se != 0 and math.isfinite(m.value) for m in found)


def failures(findings):
    """List what must not go unnoticed: undeclared differences, and known ones that are none."""
    return [f"{f.claim.what}: differs" for f in findings if f.verdict == "differs"] + [
        f"{f.claim.what}: agrees, though it is declared as a known difference"
        for f in findings if f.claim.known and f.verdict == "agrees"]


def report(findings):
    """Make the text of a report: first what does not agree, in full, then what does, in brief.

    The reasons of what agrees are footnotes, each one once.
    """
    blocks = []
    for kind in VERDICTS[:-1]:
        for claim, ours, found in findings:
            if found == kind:
                reasons = [claim.why] + [f"known: {claim.known}"] * bool(claim.known)
                blocks.append("\n".join(
                    [f"{found:17}{claim.what}",
                     f"{'':17}ours {number(ours)}   paper: {claim.paper}   accepted"
                     f" {interval(claim)}"]
                    + [filled(reason, " " * 17) for reason in reasons]))
    agreeing = [f for f in findings if f.verdict == "agrees"]
    notes = {why: f"[{k}]" for k, why in enumerate(
        dict.fromkeys(f.claim.why for f in agreeing), 1)}
    if agreeing:
        blocks.append(text_table(
            [[f.claim.what, number(f.ours), f.claim.paper, interval(f.claim), notes[f.claim.why]]
             for f in agreeing], ["agrees", "ours", "paper", "accepted", "why"]))
        blocks.append("\n".join(filled(f"{mark} {why}", "") for why, mark in notes.items()))
    blocks += [f"FAILS: {line}" for line in failures(findings)]
    return "\n\n".join([*blocks, counted(findings)])


def counted(findings):
    """Say how many findings there are of each verdict."""
    counts = Counter(f.verdict for f in findings)
    return ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]) or "no claim is made"


def interval(claim):
    """Format the accepted interval."""
    return f"[{claim.low:.5g}, {claim.high:.5g}]"


def filled(text, indent):
    """Wrap a text to the width of the report."""
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def number(ours):
    """Format a Measured, whose standard error sets the digits; of a Scan, every value."""
    if isinstance(ours, Scan):
        return "; ".join(f"{s}: {number(m)}" for s, m in zip(*ours, strict=True))
    value, se = map(float, ours)
    if not (0 < se < math.inf and math.isfinite(value)):
        return f"{value:.5g}" + ("" if se == 0 else f" (s.e. {se:.2g})")
    value, se = rounded(value, se)
    return f"{value} (s.e. {se})"


def brief(ours):
    """Format a Measured for a table: 0.123 (0.045), or four digits if nothing is known of it."""
    value, se = map(float, ours)
    return "{} ({})".format(*rounded(value, se)) if 0 < se < math.inf else f"{value:.4g}"


def rounded(value, se):
    """Format a value and its standard error, to two digits of the latter."""
    digits = max(0, 1 - math.floor(math.log10(se)))
    form = f".{digits}f" if digits < 10 else ".1e"
    return f"{value:{form}}", f"{se:{form}}"


def text_table(rows, header):
    """Return a plain text table; numbers are right-aligned, floats have four digits."""
    cells = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
             for row in [header, *rows]]
    right = [not any(isinstance(cell, str) for cell in column)
             for column in zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.rjust(w) if r else cell.ljust(w)
                       for cell, w, r in zip(row, widths, right, strict=True)).rstrip()
             for row in cells]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


table = text_table  # where no other table is in the way
