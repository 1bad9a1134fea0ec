"""Claims: what a paper says, how we measure it, in which interval it must fall, and why.

A claim carries its own measurement, a function of the script's result, so that no claim can lose
its number.  The verdict follows from the number, the errors of both sides and the interval alone:

agrees                 within 2 standard errors of the interval, theirs and ours in quadrature; an
                       order holds by 2 or more
inconclusive           further out, by up to 4; or an order that holds by less than 2; or an error
                       that is not known; or what would differ at the smoke budget
differs                by more than 4; or a known difference that was declared after it was seen
known difference       differs, and the reason was derived before a run showed it
too weak               would agree, but a printed value that is wrong by a factor of three would too
not specified          depends on a setting that the paper does not state: some scanned ones differ
every setting differs  no scanned setting has what the paper prints

Where it is inconclusive the claim says why more computing does not help, or how much would.

Three things are no claims, whatever they come to: what another claim says already, by another cost,
estimator or row; an order of ours that nothing predicts, which is a number with its error in the
table; and a check of ours where too little is known of an error (nan: chains are not to be
trusted), which `judge` leaves out and the report names.

A true number is more than 2 standard errors away once in 22 times and more than 4 once in 16000: of
281 true numbers about 13 would be inconclusive, and the chance that any differs is 2 %.
"""

import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

BUDGETS = ("smoke", "short", "paper")
KINDS = ("printed number", "printed sentence", "order", "paper against itself", "joint test",
         "ours")
PAPERS_OWN = KINDS[:3]  # what a paper says, against a computation of ours
CLASSES = {"printed numbers, each once": KINDS[:1], "sentences and orders": KINDS[1:3],
           "joint tests": KINDS[4:5], "the paper against itself": KINDS[3:4],
           "checks of ours": KINDS[5:]}  # which a score shows apart, and never sums
VERDICTS = ("differs", "every setting differs", "known difference", "not specified",
            "inconclusive", "too weak", "agrees")
UNMADE = "no claim"  # in place of a verdict: what is measured is not to be trusted
AGREE, DIFFER = 2, 4  # combined standard errors
WEAK = 3.0  # a claim that could not tell such a factor does not agree
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
        b = as_measured(other)
        return Measured(self.value + b.value, np.hypot(self.se, b.se))

    def __neg__(self):
        """Change the sign."""
        return Measured(-self.value, self.se)

    def __sub__(self, other):
        """Subtract an independent estimate or a number."""
        return self + -as_measured(other)

    def __rsub__(self, other):
        """Subtract from a number."""
        return as_measured(other) - self

    def __mul__(self, other):
        """Multiply by an independent estimate or a number."""
        b = as_measured(other)
        return Measured(self.value * b.value, np.hypot(self.se * b.value, self.value * b.se))

    def __truediv__(self, other):
        """Divide by an independent estimate or a number, which must not be 0."""
        b = as_measured(other)
        ratio = self.value / b.value
        return Measured(ratio, np.hypot(self.se / b.value, ratio * b.se / b.value))

    def __rtruediv__(self, other):
        """Divide a number by this."""
        return as_measured(other) / self

    def __abs__(self):
        """Return the absolute value."""
        return Measured(abs(self.value), self.se)

    __radd__, __rmul__ = __add__, __mul__


class Scan(NamedTuple):
    """What is found with each value of a setting that the paper does not state."""

    settings: tuple  # the values
    found: tuple  # a Measured for each


class Noted(NamedTuple):
    """A measurement with a remark that the report shows beside it."""

    ours: Measured
    note: str


class Declared(NamedTuple):
    """A difference that is no surprise: why, and whether that was known before it was seen."""

    why: str  # the derivation, or what is known of the cause
    derived: str  # when: a date and time, "2026-11-19T23:27", or a date
    seen: str = ""  # when a run at the paper's length first showed it; "" if it takes no run
    cause: str = ""  # the misprint or error that it follows from, which the score counts once

    @property
    def before(self):
        """Whether the derivation came first."""
        return not self.seen or self.derived < self.seen


class Claim(NamedTuple):
    """One number or statement of the paper, how ours is measured, and where it must fall.

    `theirs` is the standard error of the paper's own number, which `low` and `high` leave out.
    Claims of one `row` are about a row of a table, all columns of which have one setting.
    """

    what: str  # the quantity; log(...) if it is a natural logarithm, of which a power is a factor
    paper: str  # what the paper prints or says
    ours: Callable  # of the script's result: a number, a Measured, a Noted or a Scan
    low: float  # the accepted interval, ends included
    high: float
    why: str  # where the interval comes from
    kind: str  # one of KINDS
    known: Declared | None = None
    # at which it is made; "paper" is always one of them, and alone where seconds are compared:
    # no other has the machine to itself
    budgets: tuple = BUDGETS
    theirs: float = 0.0
    row: str = ""  # such as "Table 3, SSHMC"
    cell: str = ""  # the printed number, which may have several claims; "": of `what`
    printed: float = math.nan  # the number that `low` and `high` surround, if a factor of it makes
    #                            sense and `what` is no logarithm
    undecided: str = ""  # why more computing does not help, or would: said where inconclusive


class Finding(NamedTuple):
    """A claim, what was measured for it, and the verdict."""

    claim: Claim
    ours: Measured | Scan
    verdict: str
    power: float = math.nan  # see power()
    note: str = ""
    undecided: str = ""  # see more()


def as_measured(x):
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
    value, se = np.array([as_measured(m) for m in estimates]).T
    w = np.ones(value.size) if weights is None else np.asarray(weights, float)
    w = w / w.sum()
    return Measured(float(w @ value), float((w**2 @ se**2) ** 0.5))


def log(x):
    """Return the natural logarithm of a Measured or a number; nan where that is not positive.

    A time that is the difference of two short ones can be below zero.
    """
    x = as_measured(x)
    if not x.value > 0:
        return Measured(math.nan, math.nan)
    return Measured(math.log(x.value), x.se / x.value)


def exponential(x):
    """Return e^x of a Measured."""
    return Measured(math.exp(x.value), math.exp(x.value) * x.se)


def smallest(estimates):
    """Return the estimate with the least value in standard errors; one of unknown error if any."""
    with np.errstate(divide="ignore"):  # of what is exact
        return min(map(as_measured, estimates), key=lambda m: (
            -np.inf if np.isnan(m.se) else np.divide(m.value, m.se)))


OF_PRINT = ("the errors of the printed numbers are their own: more of our runs do not make them"
            " smaller")


def joint(what, claims, independent=True):
    """Return the claim that all of `claims`, numbers of one table and method, agree together.

    Of independent numbers the squares of (ours - theirs) / error add up to a chi-squared number; of
    others, such as the columns of one run, the probability of the largest is at most the sum of
    theirs (Bonferroni).  What is judged is the probability, as the normal deviate that is exceeded
    as rarely, either way.  Where they are Scans, which have the same settings, it is that of the
    best setting.  If most numbers of one run are too weak to differ, they do not agree.
    """

    def ours(result):
        found = [measurement(claim, result)[0] for claim in claims]
        settings = found[0].settings if isinstance(found[0], Scan) else ("",)
        columns = [[m.found[k] if isinstance(m, Scan) else m for m in found]
                   for k in range(len(settings))]
        tests = [joint_deviate(claims, each, independent) for each in columns]
        best = min(range(len(tests)), key=lambda k: np.nan_to_num(tests[k][0], nan=np.inf))
        (deviate, shift, note), setting = tests[best], settings[best]
        silent = (not independent and deviate < DIFFER  # and hardly one could be seen to differ
                  and sum(map(weak, claims, columns[best])) > len(claims) / 2)
        return Noted(Measured(deviate, math.nan if silent else 0.0), note
                     + f"; on average {brief(exponential(shift))} times the paper's" * all(
                         logarithmic(claim.what) for claim in claims)
                     + f"; with {setting}" * bool(setting))

    return Claim(what, "all of these numbers at once", ours, 0.0, 0.0,
                 ("the normal deviate of a chi-squared probability" if independent else "the normal"
                  " deviate of the largest of so many, whose columns need not be independent (s.e."
                  " nan: most of these numbers are too weak to count)")
                 + ", of 1 standard error; the errors of both sides in quadrature, and rounding,"
                 " which is uniform", "joint test", budgets=("paper",), theirs=1.0,
                 undecided=OF_PRINT)


def joint_deviate(claims, found, independent=True):
    """Return the deviate of all (ours - theirs) / error, the weighted mean difference, a note."""
    from scipy.stats import chi2, norm  # here, since that takes a second

    away = np.array([m.value - (c.low + c.high) / 2 for c, m in zip(claims, found, strict=True)])
    error = np.array([math.hypot(m.se, c.theirs, (c.high - c.low) / 12**0.5)
                      for c, m in zip(claims, found, strict=True)])
    weight, z, k = error**-2 / np.sum(error**-2), np.abs(away / error), len(claims)
    if independent:
        value, p, se = np.sum(z**2), chi2.sf(np.sum(z**2), k), np.sum(error**-2) ** -0.5
    else:  # at most, if all errors are one
        value, p, se = z.max(), np.minimum(1.0, 2 * k * norm.sf(z.max())), weight @ error
    return float(norm.isf(p / 2)), Measured(float(weight @ away), float(se)), (
        f"chi-squared {value:.1f} of {k}" if independent else f"largest {value:.1f} of {k}")


def judge(claims, result, budget):
    """Return the Finding of each of `claims` that is made at `budget`.

    A smoke run has two or three replicates, whose scatter says little of a standard error: no
    estimate fails there.
    """
    made = [claim for claim in claims if budget in claim.budgets]
    for claim in claims:
        if claim.kind not in KINDS or "paper" not in claim.budgets:
            raise ValueError(f"the claim {claim.what!r} must be of one of the kinds {KINDS} and"
                             " made at the paper budget, but is of"
                             f" {claim.kind!r} at {claim.budgets}")
    repeated = [what for what, n in Counter(claim.what for claim in made).items() if n > 1]
    if repeated:
        raise ValueError(f"two claims must not be about the same quantity, but are: {repeated}")
    measurements = [measurement(claim, result) for claim in made]
    rows = {}  # of claims that a scan judges together
    for claim, (ours, _) in zip(made, measurements, strict=True):
        if isinstance(ours, Scan):
            rows.setdefault(claim.row or claim.what, []).append((claim, ours))
    findings = []
    for claim, (ours, note) in zip(made, measurements, strict=True):
        if isinstance(ours, Scan):
            found, one, said = judge_scan(claim, ours, rows[claim.row or claim.what])
            note = "; ".join(filter(None, (note, said)))
        else:
            found, one = verdict(claim, ours), ours
        if found == "differs" and claim.known and not claim.known.before:
            note = "; ".join(filter(None, (note, "declared after the run")))
        if is_untrusted(claim, ours):
            found = UNMADE
        finding = Finding(claim, ours, found, power(claim, one), note,
                          reason_undecided(claim, ours) * (found == "inconclusive"))
        hasty = budget == "smoke" and is_estimate(ours) and failures([finding])
        findings.append(finding._replace(verdict="inconclusive") if hasty else finding)
    return findings


def measurement(claim, result):
    """Return what is measured for a claim, a Measured or a Scan, and the remark beside it."""
    ours = claim.ours(result)
    ours, note = ours if isinstance(ours, Noted) else (ours, "")
    return (ours if isinstance(ours, Scan) else Measured(*map(float, as_measured(ours)))), note


def verdict(claim, ours):
    """Compare a Measured with a claim; return one of VERDICTS.

    A statement of order (one end infinite, or the kind "order") needs AGREE standard errors to its
    nearest end to agree.  A value of nan differs, a standard error of nan is inconclusive.  Without
    errors the interval alone decides.
    """
    value, se = ours
    if se < 0:
        raise ValueError(f"the standard error of {claim.what!r} must not be negative, but is {se}")
    error = math.hypot(se, claim.theirs)
    outside = max(claim.low - value, value - claim.high)  # negative inside, nan if value is
    order = claim.kind == "order" or math.isinf(claim.high - claim.low)
    if math.isnan(value) or outside > DIFFER * error:  # without errors, outside at all
        return "known difference" if claim.known and claim.known.before else "differs"
    if math.isnan(se) or outside > (-AGREE if order else AGREE) * error:
        return "inconclusive"
    return "too weak" if weak(claim, ours) else "agrees"


def is_untrusted(claim, ours):
    """Tell whether a check of ours is none: there is a number, and too little is known of its s.e.
    """
    found = ours.found if isinstance(ours, Scan) else [ours]
    return claim.kind == "ours" and all(
        math.isnan(m.se) and not math.isnan(m.value) for m in found)


def reason_undecided(claim, ours):
    """Say why more computing does not tell, and how much would if the value stayed what it is."""
    if not claim.undecided or claim.theirs or isinstance(ours, Scan) or not ours.se > 0:
        return claim.undecided
    nearest = min(abs(ours.value - claim.low), abs(ours.value - claim.high))
    times = float((DIFFER * ours.se / nearest) ** 2) if nearest else math.inf
    return claim.undecided + (f"; if the value stays, {float(f'{times:.2g}'):g} times the runs"
                              " would tell") * (times < 1e4)


def power(claim, ours):
    """Return by which factor the printed value would have to be wrong for a claim to differ.

    That is where we measure what the paper prints: what lies DIFFER standard errors beyond the
    interval.  For what is neither a logarithm nor a multiple of a printed number it is nan.
    """
    half = 0.0 if math.isinf(claim.high - claim.low) else (claim.high - claim.low) / 2
    shift = half + DIFFER * math.hypot(ours.se, claim.theirs)
    if logarithmic(claim.what) and claim.kind != "joint test":
        return math.exp(min(shift, 700.0))
    return 1 + shift / abs(claim.printed) if claim.printed else math.nan


def weak(claim, ours):
    """Tell whether a number that is where a claim has it says next to nothing."""
    factor = power(claim, ours)
    if claim.kind in PAPERS_OWN and not math.isnan(factor):
        one_sided = math.isinf(claim.high - claim.low)
        inside = min(ours.value - claim.low, claim.high - ours.value)
        clear = one_sided and inside > DIFFER * math.hypot(ours.se, claim.theirs)
        return factor > WEAK and not clear  # an order that holds by as much would be seen reversed
    return claim.theirs == 0 and claim.high - claim.low < 2 * ours.se


def logarithmic(what):
    """Tell whether a quantity is a natural logarithm, by its name."""
    return bool(re.search(r"\blog\(", what)) and " - log " not in what


def judge_scan(claim, ours, row):
    """Judge a Scan with all columns of its row; return verdict, the Measured it rests on, a note.

    A row has one setting.  It agrees if one scanned setting has all its numbers; an order or a
    sentence must hold in every setting.  Settings in which something is nan are left out; if a
    single one is left, it cannot be said that every setting differs.
    """
    alone = len(row) == 1
    usable = [k for k in range(len(ours.settings))
              if not any(math.isnan(scan.found[k].value) for _, scan in row)]
    left = [str(s) for k, s in enumerate(ours.settings) if k not in usable]
    note = f"left out, nan: {', '.join(left)}" * bool(left)
    if not usable:
        return verdict(claim, Measured(math.nan)), Measured(math.nan, math.nan), note
    columns = {k: [verdict(c._replace(known=None), scan.found[k]) for c, scan in row]
               for k in usable}
    best = min(usable, key=lambda k: np.nan_to_num(
        sum(distance(c, scan.found[k]) ** 2 for c, scan in row), nan=np.inf))
    fits = [k for k in usable if set(columns[k]) <= {"agrees", "too weak"}]
    if fits and (claim.kind == "printed number" or len(fits) == len(usable)):
        best = best if best in fits else fits[0]
        named = f"with {ours.settings[best]}" * (claim.kind == "printed number")
        return (verdict(claim, ours.found[best]), ours.found[best],
                "; ".join(filter(None, (named, note))))
    sides = {ours.found[k].value > claim.high for k in usable}
    if (all("differs" in columns[k] for k in usable) and len(usable) > 1
            and not (alone and len(sides) > 1)):
        known = claim.known and claim.known.before
        return ("known difference" if known else "every setting differs"), ours.found[best], note
    unsure = alone and all(columns[k] == ["inconclusive"] for k in usable)
    return "inconclusive" if unsure else "not specified", ours.found[best], note


def distance(claim, ours):
    """Return by how many standard errors a number is outside its interval."""
    outside = max(claim.low - ours.value, ours.value - claim.high, 0.0)
    error = math.hypot(ours.se, claim.theirs)
    return 0.0 if not outside else outside / error if error else math.inf


def is_estimate(ours):
    """Tell whether a Measured or some of a Scan is a number with an error."""
    found = ours.found if isinstance(ours, Scan) else [ours]
    return any(m.se != 0 and math.isfinite(m.value) for m in found)


def failures(findings):
    """List what must not go unnoticed: undeclared differences, and declared ones that are none."""
    return [f"{f.claim.what}: {f.verdict}, and is not declared" for f in findings
            if f.verdict in VERDICTS[:2] and not f.claim.known] + [
        f"{f.claim.what}: agrees, though it is declared to differ"
        for f in findings if f.claim.known and f.verdict == "agrees"]


KEY = ("Agrees: within 2 standard errors, theirs and ours together; inconclusive: up to 4; differs:"
       " beyond.  Known difference: its reason is declared, with a date.  Not specified: depends on"
       " a setting that the paper does not state.  Too weak: an error by a factor of 3 would agree"
       " as well.  Accepted: from, to; ± the paper's own standard error.  Paper: what is printed,"
       " sentences in short; order: only which is larger; theory: what must be; ours: our own"
       " expectation.  Noticed: the factor by which the number could be off before it is said to"
       " differ.  nan: too little is known.  Words of the tables: in the script's docstring, and on"
       " the paper's page, reproduce/<author>/README.md.")


def report(findings):
    """Make the text of a report: first what does not agree, in full, then what does, in brief.

    The reasons of what agrees are footnotes, each one once.
    """
    blocks = []
    for kind in VERDICTS[:-1]:
        for claim, ours, found, factor, note, undecided in findings:
            if found == kind:
                reasons = [claim.why] + [f"declared: {claim.known.why}; {declaration(claim.known)}"
                                         for _ in range(bool(claim.known))]
                blocks.append("\n".join(
                    [f"{found:22} {claim.what}",
                     f"{'':23}ours {number(ours)}   paper: {claim.paper}   accepted"
                     f" {interval(claim.low, claim.high, claim.theirs)}{describe_power(factor)}"]
                    + [wrap_text(text, " " * 23) for text in filter(None, [
                        note, *reasons, f"undecided: {undecided}" * bool(undecided)])]))
    agreeing = [f for f in findings if f.verdict == "agrees"]
    notes = {why: f"[{k}]" for k, why in enumerate(
        dict.fromkeys(f.claim.why for f in agreeing), 1)}
    if agreeing:
        blocks.append(text_table(
            [[f.claim.what, number(f.ours) + f" ({f.note})" * bool(f.note), f.claim.paper,
              interval(f.claim.low, f.claim.high, f.claim.theirs),
              describe_power(f.power).rpartition(": ")[2],
              notes[f.claim.why]] for f in agreeing],
            ["agrees", "ours", "paper", "accepted", "noticed", "why"]))
        blocks.append("\n".join(wrap_text(f"{mark} {why}", "") for why, mark in notes.items()))
    if unmade := [f"{f.claim.what}: {number(f.ours)}" for f in findings if f.verdict == UNMADE]:
        blocks.append(wrap_text(f"{UNMADE} is made of what is not to be trusted, where too little"
                                f" is known of an error: {'; '.join(unmade)}", ""))
    blocks += [f"FAILS: {line}" for line in failures(findings)]
    blocks += [wrap_text(KEY, "")] * bool(findings)
    return "\n\n".join([*blocks, count_verdicts(findings)])


def count_verdicts(findings):
    """Say how many findings there are of each verdict."""
    counts = Counter(f.verdict for f in findings)
    return ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]) or "no claim is made"


def declaration(known):
    """Say when a difference was derived, and when it was first seen."""
    return (f"derived {known.derived}" if not known.seen else
            f"derived {known.derived}, before the first run ({known.seen})" if known.before else
            f"declared {known.derived}, after the first run ({known.seen})")


def describe_power(factor):
    """Say which error of the printed value would be seen."""
    return "" if math.isnan(factor) else f"   noticed: x {factor:.3g}"


def interval(low, high, theirs):
    """Format the accepted interval, and the paper's own standard error."""
    return f"[{low:.5g}, {high:.5g}]" + f" ± {theirs:.2g}" * bool(theirs > 0)


def wrap_text(text, indent):
    """Wrap a text to the width of the report."""
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def number(ours):
    """Format a Measured, whose standard error sets the digits; of a Scan, every value."""
    if isinstance(ours, Scan):
        return "; ".join(f"{s}: {number(m)}" for s, m in zip(*ours, strict=True))
    value, se = map(float, ours)
    if not (0 < se < math.inf and math.isfinite(value)):
        return f"{value:.5g}" + ("" if se == 0 else f" (s.e. {se:.2g})")
    value, se = format_estimate(value, se)
    return f"{value} (s.e. {se})"


def brief(ours):
    """Format a Measured for a table: 0.123 (0.045), or four digits if nothing is known of it."""
    value, se = map(float, ours)
    return "{} ({})".format(*format_estimate(value, se)) if 0 < se < math.inf else f"{value:.4g}"


def format_estimate(value, se):
    """Format a value and its standard error, to two digits of the latter."""
    digits = max(0, 1 - math.floor(math.log10(se)))
    form = f".{digits}f" if digits < 10 else ".1e"
    return f"{value:{form}}", f"{se:{form}}"


def duration(minutes):
    """Say how long so many minutes are."""
    return (f"{60 * minutes:.0f} s" if minutes < 1.5 else
            f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h")


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
