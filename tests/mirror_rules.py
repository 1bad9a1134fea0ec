"""What a mirror has to be: complete, in order, and in the loops of the paper."""

import re
from itertools import groupby, pairwise

from reproduce.harness.mirrors import ROOT, SILENT, UNTIL, algorithms, mirrors

LOOP = re.compile(r"\s*(for|while|repeat)\b")
BLOCK = re.compile(r"\s*(for|while|if)\b.*(do|then)$")
END = re.compile(r"\s*end (for|while|if)\b")
ELSE = re.compile(r"\s*else\b")
ONE_LINE_LOOP = re.compile(r"\s*(for|while)\b.*:\s+\S")


def every_mirror():
    """List the (file, mirror) pairs in algorithms/."""
    return [(path.relative_to(ROOT), mirror) for path in algorithms() for mirror in mirrors(path)]


def visits(mirror):
    """List the lines of pseudocode in the order of the code, a run of equal tags counting once."""
    runs = [tag for tag, _ in groupby(line.tag for line in mirror.code if line.tag)]
    return [number for number, _ in groupby(number for tag in runs for number in tag)]


def places(pseudocode):
    """Return, for each line of pseudocode, the set of the tuples of loops its code may stand in.

    A loop is named by the number of its line.  By Python's nature the condition of `until` is
    tested inside the loop, and a loop that is one line of the paper has its body below its head.
    """
    found, around = {}, []
    for number, text in pseudocode.items():
        indent = len(text) - len(text.lstrip())
        ended = [loop for at, loop in around if at == indent]
        around = [(at, loop) for at, loop in around if at < indent]
        outside = tuple(loop for _, loop in around)
        found[number] = {(*outside, *ended) if UNTIL.match(text) else outside}
        if ONE_LINE_LOOP.match(text):
            found[number].add((*outside, number))
        if LOOP.match(text):
            around.append((indent, number))
    return found


def misplaced(mirror):
    """Yield in words the lines of code that stand in other loops than the paper has them."""
    allowed = places(mirror.pseudocode)
    loops = {number for number, text in mirror.pseudocode.items() if LOOP.match(text)}
    for line in mirror.code:
        around = tuple(next((k for k in tag or () if k in loops), "ours") for tag in line.loops)
        for number in line.tag or ():
            if around not in allowed.get(number, {around}):
                yield (f"line {number} is in the loops {list(around)}, and in the paper in"
                       f" {' or '.join(str(list(place)) for place in sorted(allowed[number]))}:"
                       f" {line.text.strip()}")


def unclosed(mirror):
    """Yield in words where code leaves or stays in a loop that the paper ends with "end"."""
    if not any(END.match(text) for text in mirror.pseudocode.values()):
        return
    opened = []
    for number, text in mirror.pseudocode.items():
        indent = len(text) - len(text.lstrip())
        if END.match(text):
            if not opened:
                yield f"line {number} ends what does not begin"
            elif opened.pop() != indent:
                yield f"line {number} ends what begins in another column"
        elif any(indent <= column for column in opened) and not ELSE.match(text):
            yield f"line {number} leaves a loop before its end: {text.strip()}"
        if BLOCK.match(text):
            opened.append(indent)


def problems(mirror):
    """List in words what is wrong with a mirror; an empty list if nothing is."""
    numbers, seen = mirror.numbers, visits(mirror)
    in_order = list(range(1, len(numbers) + 1))
    needed = [k for k, text in mirror.pseudocode.items() if not SILENT.match(text)]
    return [
        *[f"the printed numbers are {numbers}"] * (numbers != in_order),
        *[f"line {k} has no code" for k in needed if k not in seen],
        *[f"line {after} comes after line {before}"
          for before, after in pairwise(seen) if after < before],
        *misplaced(mirror),
        *unclosed(mirror),
    ]


def share_of_ours(mirror):
    """Return the share of the lines of code that are not the paper's."""
    return sum(not line.tag for line in mirror.code) / len(mirror.code)
