"""Lay out for the companion pages how many operations a line takes, and a mirror, twin and paper.

The numbers are those of figures/operations/<author>.json, counted by harness/counting.py.
"""

import json
import math
import re
from fractions import Fraction
from functools import cache

from reproduce.harness.claims_html import escape
from reproduce.harness.papers import ROOT

FLOPS = "flops"
SIZES = {"N", "b", "n", "m", "p"}  # of a problem, in whose highest powers its operations are given
SMALLEST = 2  # of these powers, that is worth a word beside a line
UNICODE = {"theta": "\u03b8", "phi": "\u03c6", "pi": "\u03c0", "grad ": "\u2207", "^2": "\u00b2",
           "^3": "\u00b3"}


@cache
def read_counts(author):
    """List what was counted for an author's page, as harness/counting.py stores it."""
    path = ROOT / "figures" / "operations" / f"{author}.json"
    return json.loads(path.read_text()) if path.exists() else []


def operations_of(section, sheet):
    """Return what the template needs of a mirror: `counts` of its lines, `operations` below it."""
    return {"counts": counts_by_line(section),
            "operations": [rows_below(count, sheet) for count in read_counts(
        section.author) if count["mirror"] == address(section)]}


def address(section):
    """Return the name under which a mirror is stored."""
    return f"{section.path.stem}.{section.mirror.name}"


# Beside a line


def counts_by_line(section):
    """Map lines of a mirror's file to (HTML, title): what one execution of them takes.

    What is of a low order is left out, and what is neither an operation nor a density or gradient.
    The title has the polynomial.
    """
    found = {}
    for count in read_counts(section.author):
        for case in count["cases"]:
            for index, kinds in case["lines"].get(address(section), {}).items():
                text = ", ".join(filter(None, (count_html(kind, value, case["sizes"])
                                               for kind, value in kinds.items())))
                exact = expand(kinds[FLOPS], case["sizes"]) if FLOPS in kinds else ""
                if text:
                    number = section.mirror.code[int(index)].number
                    found.setdefault(number, []).append((text, exact, case["name"]))
    return {number: (" \u00b7 ".join(dict.fromkeys(text for text, _, _ in each)), title(each))
            for number, each in found.items()}


def count_html(kind, value, names):
    """Return the HTML of a number that stands beside a line, or "" if it is not worth it."""
    if kind == FLOPS:
        top = highest(value, names)
        return small(in_words(top, names)) if degree(top[0][0], names) >= SMALLEST else ""
    if " of " in kind:
        return ""
    if all(isinstance(each, int) for each in value):  # from the least to the most
        return f"{value[0]}\u2013{value[1]} {small(kind)}"
    number = in_words(value, names)
    return small(kind if number == "1" else f"{number} {kind}")


def title(each):
    """Return a line's polynomials, and whose they are if they differ."""
    exact = dict.fromkeys(polynomial for _, polynomial, _ in each)
    if len(exact) == 1:
        return each[0][1]
    return "; ".join(f"{name}: {polynomial}" for _, polynomial, name in each)


def small(text):
    """Return ASCII mathematics as short HTML without a picture."""
    text = re.sub(r"(?<=[\d)]) (?=N)", "", text.replace(" / ", "/"))
    text = re.sub(r"_(\w+)", r"<sub>\1</sub>", escape(text, quote=False))
    return re.sub(r"\bgrad |theta|phi|\bpi\b|\^[23]", lambda found: UNICODE[found[0]], text)


# Below a mirror


def rows_below(count, sheet):
    """Return what the template needs of a Count: its title, and (who, HTML) for each row."""
    kinds = {kind for case in count["cases"] for kind in case["whole"]}
    what = "Operations" if kinds == {FLOPS} else "Evaluations"
    rows = {}
    for case in count["cases"]:
        text = " \u00b7 ".join(in_all(kind, value, case["sizes"])
                              for kind, value in case["whole"].items())
        rows.setdefault(text, []).append(case["name"])
    return {"title": f"{what} per {sheet.html(count['per'])}",
            "rows": [*((small(join_counts(names)), text) for text, names in rows.items()),
                     ("paper", sheet.html(count["paper"]))]}


def join_counts(names):
    """Join names that begin alike: "twin, from a" and "twin, from b" are one twin."""
    first, *rest = names
    return " or ".join([first, *(name.rpartition(", ")[2] for name in rest)])


def in_all(kind, value, names):
    """Return the HTML of what the whole takes of a kind."""
    if kind == FLOPS:
        return small(in_words(highest(value, names), names))
    number = in_words(value, names)
    return f"{small(f'({number})' if '+' in number else number)} {small(kind)}"


# Polynomials


def degree(powers, names):
    """Return the degree of a term in the sizes of the problem."""
    return sum(power for power, name in zip(powers, names, strict=True) if name in SIZES)


def highest(terms, names):
    """Return the terms of the highest degree in the sizes of the problem."""
    top = max(degree(powers, names) for powers, _ in terms)
    return [term for term in terms if degree(term[0], names) == top]


def in_words(terms, names):
    """Write a polynomial as ASCII mathematics: "(7 l_max f_max + 1) N^3 / 3", or "5.48".

    Terms with the same powers of the problem's sizes are put together.
    """
    groups = {}
    for powers, coefficient in terms:
        size = [power if name in SIZES else 0 for power, name in zip(powers, names, strict=True)]
        rest = [power - part for power, part in zip(powers, size, strict=True)]
        groups.setdefault(product(size, names), []).append((Fraction(coefficient),
                                                            product(rest, names)))
    written = []
    for size, parts in groups.items():
        below = math.lcm(*(each.denominator for each, _ in parts))
        if below > 1 and not size and not any(rest for _, rest in parts):  # a mean
            written.append(f"{float(sum(each for each, _ in parts)):.3g}")
            continue
        inner = " + ".join(times(each * below, rest) for each, rest in parts)
        inner = f"({inner})" if len(parts) > 1 and (size or below > 1) else inner
        whole = size if inner == "1" and size else f"{inner} {size}".strip()
        written.append(whole + (f" / {below}" if below > 1 else ""))
    return " + ".join(written)


def expand(terms, names):
    """Write all terms of a polynomial, one by one, for a title."""
    return " + ".join(in_words([term], names) for term in terms).replace("^2", "\u00b2").replace(
        "^3", "\u00b3")


def product(powers, names):
    """Write a product of powers: "N^3 l_max", or "" for 1."""
    return " ".join(name if power == 1 else f"{name}^{power}"
                    for power, name in zip(powers, names, strict=True) if power)


def times(number, factors):
    """Write a whole number times factors."""
    return factors if number == 1 and factors else f"{number} {factors}".strip()
