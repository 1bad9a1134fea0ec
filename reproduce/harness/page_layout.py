"""Lay out mirrors for the companion pages: which page, in which order, what stands in a row.

A mirror is at home on one page: that of the first of the four papers that its file's entry Paper
names, or else of the first paper whose commands use it.  Its lines have permanent addresses there:
#A1L14 is line 14 of the paper's own Algorithm 1, #sshmc.leapfrog.L2 line 2 of a mirror that is no
numbered algorithm of the paper.
"""

import ast
import json
import re
from functools import cache
from itertools import groupby, pairwise
from typing import NamedTuple

from reproduce.harness import mirrors
from reproduce.harness.papers import PAPERS, ROOT, scripts

# what follows a prime that transposes
TRANSPOSED = re.compile(r" ?[A-Za-z](?:[\^_' )]|$)| ?(?:diag|Sigma|Omega|kappa|beta)\b")


class Section(NamedTuple):
    """A mirror on its page."""

    path: object  # of its file
    mirror: mirrors.Mirror
    author: str  # whose page it is
    anchor: str

    @property
    def heading(self):
        """The pseudocode's source, without the paper's own name where it is at home."""
        own = re.match(rf"{self.author.capitalize()}\b[^,]*, (.*)", self.mirror.source)
        return own[1][0].upper() + own[1][1:] if own else self.mirror.source

    @property
    def own(self):
        """Whether the pseudocode is that of the page's paper."""
        return self.mirror.source.startswith(self.author.capitalize())

    def line(self, number):
        """Return the anchor of a line of the pseudocode."""
        numbered = re.fullmatch(r"A\d+", self.anchor)
        return f"{self.anchor}{'' if numbered else '.'}L{number}"


class Row(NamedTuple):
    """Lines of pseudocode and the code that they name."""

    numbers: list  # of the lines of pseudocode that stand here
    again: list  # of those that stand further up and have more code here
    code: list  # of Line, our comments among them
    departures: list  # that begin in one of `numbers`


class Symbol(NamedTuple):
    """A row of a Notation table."""

    paper: str
    here: str
    shape: str
    meaning: str

    @property
    def algorithm(self):
        """The number of the algorithm that the row is restricted to, or None."""
        found = re.match(r"\(Algorithm (\d+)\)", self.meaning) or re.search(
            r"\(Algorithm (\d+)\)", self.paper)
        return found and found[1]


@cache
def home(path):
    """Return the author on whose page the mirrors of a file are."""
    named = re.search("|".join(map(str.capitalize, PAPERS)), mirrors.source(path))
    if named:
        return named[0].lower()
    imported = re.compile(rf"\balgorithms(?:\.[a-z.]*| import .*\b){path.stem}\b")
    for author in PAPERS:
        code = [*scripts(author), *(ROOT / "reproduce" / author).glob("*.py")]
        if any(imported.search(file.read_text("utf-8")) for file in code):
            return author
    raise ValueError(f"{path.name} must name one of the papers under Paper, or be imported by a"
                     " command of one, to have a page")


@cache
def sections(author):
    """List the Sections of a paper's page, those of its own pseudocode first.

    The files come as the paper's own, then in alphabetical order; the mirrors of a file as its
    entry Mirror names them.
    """
    found = []
    for path in mirrors.algorithms():
        said = mirrors.entry(path, "Mirror")
        for mirror in sorted(mirrors.mirrors(path),
                             key=lambda m: re.search(rf"\b{m.name}\b", said).start()):
            if home(path) == author:
                numbered = re.fullmatch(rf"{author.capitalize()}\b[^,]*, Algorithm (\d+)",
                                        mirror.source)
                anchor = f"A{numbered[1]}" if numbered else f"{path.stem}.{mirror.name}"
                found.append(Section(path, mirror, author, anchor))
    return sorted(found, key=rank)


def rank(section):
    """Return what sections are sorted by: the files of the paper itself first, in its order.

    Then come other files with pseudocode of the paper, then what it needs or is compared to.
    """
    cited, name = mirrors.source(section.path), section.author.capitalize()
    first = name in cited.partition("\n")[0]
    own = any(mirror.source.startswith(name) for mirror in mirrors.mirrors(section.path))
    number = re.search(r"Section (\d+)", cited)
    return not first, int(number[1]) if number and first else 0, not own, name not in cited


def every_section():
    """List the Sections of all pages."""
    return [section for author in PAPERS for section in sections(author)]


def departures_on_page(author):
    """Return the departures of a page: (path, Departure, Section or None) for each.

    They are those of the files that name the paper or are at home on its page; the Section is the
    one whose line they concern, which may be on another page.
    """
    return [(path, departure, where) for path, departure, where in targets()
            if author.capitalize() in mirrors.source(path)
            or ("algorithms" in path.parts and home(path) == author)]


@cache
def targets():
    """List all departures: (path, Departure, the Section whose line it stands at or None)."""
    return [(path, departure, next((
        section for section in every_section()
        if section.path == path and departure in section.mirror.departures), None))
            for path in mirrors.files_with_departures() for departure in mirrors.departures(path)]


def departures_by_line(section):
    """Map each line of a section that a departure concerns to those: its own file's come first."""
    found = {}
    for _, departure, where in sorted(targets(), key=lambda each: each[0] != section.path):
        if where == section:
            for line in sorted(departure.lines):
                found.setdefault(line, []).append(departure)
    return found


def rows(section):
    """List the Rows of a mirror, in the order of its code."""
    mirror, found, todo = section.mirror, [], list(section.mirror.pseudocode)
    concerned = departures_by_line(section)

    def add(numbers, again=(), code=()):
        """Add a Row, and take its lines off the list of what is to be done."""
        for number in numbers:
            todo.remove(number)
        begins = [departure for number in numbers for departure in concerned.get(number, ())
                  if min(departure.lines) == number]
        found.append(Row(numbers, again, code, begins))

    for tag, group in groupby(mirror.code, key=lambda line: line.tag):
        while tag and todo and min(todo) < tag.start:  # silent ones
            add([min(todo)])
        add([k for k in tag if k in todo], [k for k in tag if k not in todo],
            [each for line in group for each in with_comments(section.path, line)])
    for number in list(todo):
        add([number])
    return found


def with_comments(path, line):
    """List a line of code and our comments right above it; what is printed stands beside it."""
    text = lines_of(path)
    first = line.number - 1
    while text[first - 1].lstrip().startswith("#"):
        first -= 1
    return [line._replace(number=k, text=text[k - 1]) for k in range(first + 1, line.number)
            if not mirrors.is_from_paper(text[k - 1])] + [line]


@cache
def lines_of(path):
    """Return the lines of a file."""
    return path.read_text("utf-8").splitlines()


def summary(section):
    """Return the first sentence of a mirror's docstring."""
    function = mirrors.functions(lines_of(section.path))[section.mirror.name]
    return ast.get_docstring(function).splitlines()[0]


@cache
def runs(author):
    """List the runs that the page of an author steps through, for its script.

    They are those of figures/steps (harness/recording.py), each function as its Section's anchor,
    the lines of its code in its file, and its name; a replay has the words of its departure.
    """
    path = ROOT / "figures" / "steps" / f"{author}.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else []
    known = {f"{each.path.stem}.{each.mirror.name}": each for each in sections(author)}
    where = {departure.test.rpartition("::")[2]: departure.where for _, departure, _ in targets()}
    for run in found:
        run["functions"] = [[known[name].anchor, [line.number for line in known[name].mirror.code],
                             name.rpartition(".")[2]] for name in run["functions"]]
        for replay in run["replays"]:
            replay["where"] = where[replay["test"]]
    return found


def replay(author, departure):
    """Return the numbers of the run and of the replay that show a departure, or None."""
    test = departure.test.rpartition("::")[2]
    return next(((k, j) for k, run in enumerate(runs(author))
                 for j, each in enumerate(run["replays"]) if each["test"] == test), None)


def docstring(path):
    """Return a file's docstring."""
    return ast.get_docstring(ast.parse(path.read_text("utf-8")))


def header(path):
    """Return a file's docstring without its Departures and Notation."""
    parts = re.split(r"\n(?=[^\n]+\n-{4,}\n)", docstring(path))
    kept = [part for part in parts if not re.match(r"(?:Departures|Notation)\n-", part)]
    return "\n".join(kept).strip()


@cache
def notation(path):
    """List the Symbols of a file's Notation table; none if it has none.

    Its cells are parted by two blanks or more; where some are empty, by the columns of its head.
    """
    section = re.search(r"^Notation\n-+\n(.*\n)((?:.+\n?)*)", docstring(path), re.MULTILINE)
    if not section:
        return []
    columns = [head.start() for head in re.finditer(r"\S+", section[1])]
    found = []
    for line in section[2].splitlines():
        cells = re.split(" {2,}", line.rstrip())
        if len(cells) != 4:
            cells = [line[a:b].strip() for a, b in pairwise([*columns, None])]
        if any(cells[:3]):
            found.append(Symbol(*cells))
        else:  # the row above goes on
            found[-1] = found[-1]._replace(meaning=f"{found[-1].meaning} {cells[3]}")
    return found


def split_cell(cell):
    """Split a cell of a Notation table at its commas outside of brackets."""
    parts = re.split(r",(?![^(\[{]*[)\]}])", cell.replace("epsilon", "eps"))
    return [part.strip() for part in parts if part.strip()]


def table(section):
    """Yield (number, Symbol) of the Notation rows that hold for a mirror, its own first."""
    number = re.fullmatch(r"A(\d+)", section.anchor)
    rows = [(k, row) for k, row in enumerate(notation(section.path))
            if row.algorithm in (None, number and number[1])]
    return sorted(rows, key=lambda each: each[1].algorithm is None)


def notation_of_symbols(section):
    """Map what the Notation explains of a mirror's symbols to its rows; a loop's index to None."""
    known = dict.fromkeys(indices(section))
    for number, row in table(section):
        for part in split_cell(row.paper):
            for each in (part, re.match(r"[^\s(]+|\S", part)[0], *re.findall(r"\((\w)\)", part)):
                known.setdefault(each, number)
    return known


def meaning(known, symbol, following=""):
    """Return the number of the row of the Notation that explains a symbol, or None.

    `known` is what `notation_of_symbols` returns, and `following` the text after the symbol: a
    prime before another symbol is a transposition, and a p before a bracket a density.
    """
    if symbol == "p" and following.startswith("("):
        return None
    if symbol.endswith("'") and TRANSPOSED.match(following):
        symbol = symbol[:-1]
    bare = re.sub(r"['*]+", "", symbol)
    base = re.match(r"[A-Za-z]+(?:-(?:hat|check|bar)|~)?", bare)
    tries = [symbol, bare, f"log {bare}", re.sub(r"\^-?\d+$", "", bare)]
    if base and "^" not in tries[-1] and not re.search(r"_(?:min|max)", bare):
        tries += [base[0], *sorted(part for part in known
                                   if re.fullmatch(rf"{base[0]}_[a-z]", part))]
    return next((known[each] for each in tries if each in known), None)


def indices(section):
    """Return the set of the letters that a mirror's loops count with."""
    return set(re.findall(r"\bfor (\w) =", "\n".join(section.mirror.pseudocode.values())))


def names(section):
    """Map the names in the code of a mirror that its Notation explains to their rows."""
    found = {}
    for number, row in table(section):
        for part in split_cell(row.here):
            if (name := re.match(r"([A-Za-z_][\w.]*)(?=$|[(\[])", part)) and name[1] != "exp":
                found.setdefault(name[1], number)
    return {name: number for name, number in found.items() if name not in indices(section)}
