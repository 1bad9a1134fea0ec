"""Mirrors: every line of the pseudocode has its code once, in order and in its loop; departures:
each is declared in one form and has a test that fails for the printed version."""

import ast
import re
from functools import cache

import numpy as np
import pytest

from algorithms import hmc
from algorithms import shahbaba_split_hmc as split_hmc
from departing import departs
from mirror_rules import every_mirror, problems, share_of_ours, visits
from models.gaussian import Gaussian
from reproduce.harness import mirrors as reading
from reproduce.harness.mirrors import departures, entry, files_with_departures, mirrors, variant
from reproduce.harness.papers import PAPERS, ROOT
from reproduce.harness.tables import escape
from reproduce.tools.pages import readmes

FOUND = every_mirror()
MIRRORS = {f"{path.stem}.{mirror.name}" for path, mirror in FOUND}
EXAMPLE = '''
"""An example.

Paper       Somebody (2000), and others
            elsewhere.
Mirror      step.

Departures
----------
Section 2
    theirs  five
    ours    six
    why     seven
    test    test_other.py::test_five
Section 3
    theirs  eight
    ours    nine
    why     ten
    test    a label

Notation
--------
x    x    ()   a number
"""

def step(x, rng):
    """Do it.

    Mirror of Somebody 2000,
    Algorithm 3.

    Parameters: see the paper.
    """
    # 1   function step(x)
    # 2   // the first half
    # 3   for i = 1, ..., 3 do
    for i in range(3):
        check_interrupt()
        # a comment says why
        # 4   x <- x + 1,
        #         where the line goes on
        #     theirs  f(x) = x_1 | x_2 * 3
        #     ours    2
        #     why     three and
        #             four
        #     test    test_three
        x = x + (1 +
                 0)
    # 5   end for
    # ours: so that it is seen
    print(x)

    # 6   y <- x
    # 7   z <- y
    #     lines   3, 4 and 6 to 7
    #     theirs  a
    #     ours    b
    #     why     c
    #     test    a label
    y = z = x
    # 8   while x > 0:  x <- x - 1
    while x > 0:
        x -= 1
    # 9   repeat
    while True:
        # 10  x <- x + 1
        x += 1
        # 11  until x > 9
        if x > 9:
            break
    # 12  return z
    return z
'''


def example(tmp_path, before="", after=""):
    assert before in EXAMPLE
    path = tmp_path / "example.py"
    path.write_text(EXAMPLE.replace(before, after) if before else EXAMPLE)
    return path


def example_mirror(tmp_path, *replace):
    (mirror,) = mirrors(example(tmp_path, *replace))
    return mirror


@pytest.mark.parametrize("mirror", [mirror for _, mirror in FOUND], ids=lambda each: each.name)
def test_every_line_of_the_pseudocode_has_its_code_in_order_and_in_its_loop(mirror):
    assert problems(mirror) == []


def test_every_mirror_is_read_and_named_in_its_header():
    assert len(MIRRORS) == 46  # so that none is lost with its "Mirror of"
    for path, mirror in FOUND:
        assert mirror.name in entry(ROOT / path, "Mirror")


@pytest.mark.parametrize("path", sorted((ROOT / "algorithms").glob("*.py")), ids=lambda p: p.stem)
def test_a_file_has_mirrors_if_and_only_if_its_header_says_so(path):
    said = entry(path, "Mirror") or "none"
    assert bool(list(mirrors(path))) == (not said.startswith("none"))


@pytest.mark.parametrize("path", reading.algorithms(), ids=lambda p: p.stem)
def test_a_mirror_of_which_more_than_a_fifth_is_ours_says_why(path):
    ours = {mirror.name for mirror in mirrors(path) if share_of_ours(mirror) > 1 / 5}
    assert set(re.findall(r"^ *(\w+): \w", entry(path, "Own lines"), re.MULTILINE)) == ours


def test_a_mirror_is_read_as_it_is_written(tmp_path):
    mirror = example_mirror(tmp_path)
    assert mirror.source == "Somebody 2000, Algorithm 3"
    assert list(mirror.pseudocode) == list(range(1, 13))
    assert "where the line goes on" in mirror.pseudocode[4]
    assert [k for k, text in mirror.pseudocode.items() if reading.SILENT.match(text)] == [1, 2, 5]
    assert visits(mirror) == [3, 4, 6, 7, 8, 9, 10, 11, 12]
    assert problems(mirror) == []
    # without the comment and the empty line; what is ours has no tag
    assert [len(line.tag) for line in mirror.code] == [1, 1, 1, 0, 2, 1, 1, 1, 1, 1, 1, 1]
    assert share_of_ours(mirror) == pytest.approx(1 / 12)
    # what stands below a silent line is ours too
    silent = example_mirror(tmp_path, "    # ours: so that it is seen\n")
    assert share_of_ours(silent) == pytest.approx(1 / 12)


@pytest.mark.parametrize(("before", "after", "problem"), [
    ("    # 7   z <- y\n", "", "the printed numbers are [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12]"),
    ("    # 6   y <- x\n    # 7   z <- y", "    # 7   z <- y\n    # 6   y <- x",
     "the printed numbers are [1, 2, 3, 4, 5, 7, 6, 8, 9, 10, 11, 12]"),
    ("    # 12  return z\n    return z\n", "    return z\n    # 12  return z\n",
     "line 11 is in the loops [], and in the paper in [9]: return z"),
    ("    y = z = x\n", "    # 7   y\n    # ours\n    y = z = x\n", "line 6 has no code"),
    # in another loop than in the paper, or in a loop of ours
    ("    y = z = x\n", "    for _ in (1,):\n        y = z = x\n",
     "line 6 is in the loops ['ours'], and in the paper in []: y = z = x"),
    ("        # 10  x <- x + 1\n", "        # ours\n        for _ in (1,):\n            pass\n"
     "    # 10  x <- x + 1\n", "line 10 is in the loops [9], and in the paper in []: x += 1"),
    ("    # 5   end for\n", "        # 5   end for\n",
     "line 5 ends what begins in another column"),
    ("    # 6   y <- x\n", "    # 6   for i = 1, ..., 3 do\n",
     "line 8 leaves a loop before its end: while x > 0:  x <- x - 1"),
])
def test_what_is_wrong_is_found(tmp_path, before, after, problem):
    assert problem in problems(example_mirror(tmp_path, before, after))


@cache
def departing_tests():
    """Map "tests/test_x.py::test_y" of every test with `departs` to the lines that it replaces."""
    found = {}
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for call in getattr(node, "decorator_list", []):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "departs":
                    keys = call.args[1].keys if isinstance(call.args[1], ast.Dict) else []
                    tags = [reading.TAG.match(ast.literal_eval(key)) for key in keys]
                    found[f"tests/{path.name}::{node.name}"] = {
                        line for tag in tags if tag
                        for line in range(int(tag[1]), int(tag[2] or tag[1]) + 1)}
    return found


@pytest.mark.parametrize("path", files_with_departures(), ids=lambda p: p.stem)
def test_every_departure_has_a_test_that_fails_for_the_printed_version(path):
    tests = departing_tests()
    for departure in departures(path):
        if departure.test != reading.LABEL:
            assert departure.test in tests
            if f"test_{path.name}" in departure.test and tests[departure.test]:
                assert tests[departure.test] == departure.lines


def test_every_such_test_belongs_to_a_departure():
    named = {departure.test for path in files_with_departures() for departure in departures(path)}
    assert set(departing_tests()) <= named


def test_departures_are_read_as_they_are_written(tmp_path):
    at_line, at_lines, second, third = departures(example(tmp_path))
    assert at_line == ("Somebody 2000, Algorithm 3, line 4", "f(x) = x_1 | x_2 * 3", "2",
                       "three and four", "tests/test_example.py::test_three")
    assert at_line.lines == {4}
    assert at_lines.where == "Somebody 2000, Algorithm 3, lines 3, 4 and 6 to 7"
    assert at_lines.lines == {3, 4, 6, 7}
    assert second.test == "tests/test_other.py::test_five"
    assert second.lines == set()
    assert third.test == reading.LABEL


def test_no_departures_have_to_be_declared_too(tmp_path):
    path = tmp_path / "none.py"
    path.write_text('"""An example.\n\nDepartures  none.\n"""')
    assert departures(path) == []
    path.write_text('"""An example."""')
    message = r"^\w+.py must have departures or say 'Departures  none.'$"
    with pytest.raises(ValueError, match=message):
        departures(path)
    with pytest.raises(ValueError, match=message):
        departures(example(tmp_path, "Mirror      step.", "Departures  none."))


@pytest.mark.parametrize(("before", "after", "message"), [
    ("    ours    six\n", "", "Section 2 has where, theirs, why, test, but it must"),
    ("    ours    six", "    ours   six", "cannot read this line of a departure:     ours   six"),
    ("        #     ours    2\n", "", "Algorithm 3, line 4 has where, theirs, why, test, but"),
    ("    #     why     c\n", "", "lines 3, 4 and 6 to 7 has where, theirs, ours, test, but it"),
])
def test_a_departure_that_cannot_be_read_is_an_error(tmp_path, before, after, message):
    with pytest.raises(ValueError, match=message):
        departures(example(tmp_path, before, after))


@pytest.mark.parametrize("author", PAPERS)
def test_the_table_of_a_paper_is_up_to_date_and_has_all_departures(author):
    page = ROOT / "reproduce" / author / "README.md"
    text, table = readmes()[page], reading.table_of_departures(author)
    again = reading.with_departures(text.replace(table, "old"), author)
    assert page.read_text() == text == again, "run python reproduce/tools/pages.py"
    _, _, *rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                   for line in table.splitlines()]
    found = [(path.relative_to(ROOT), each) for path in files_with_departures()
             if author.capitalize() in reading.source(path) for each in departures(path)]
    assert sorted(rows) == sorted([
        f"[{escape(each.where)}](../../{path})", *map(escape, each[1:4]),
        each.test if each.test == reading.LABEL else
        '[test](../../{} "{}")'.format(*each.test.split("::"))] for path, each in found)


def test_a_test_that_print_passes_too_is_a_failure():
    def passes(value):
        assert value > 0

    assert departs(1, -1)(passes)() is None
    with pytest.raises(pytest.fail.Exception, match="passes on what is printed, too: 2"):
        departs(1, 2)(passes)()
    with pytest.raises(AssertionError):
        departs(-1, -1)(passes)()


def chain(run):
    model = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
    return run(np.array([0.3, -1.1]), model, 0.9, 3, 50, np.random.default_rng(1), None, 0.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_variant_has_the_other_lines_and_nothing_else_changes(compiled):
    ours = chain(hmc.hmc.compiled)
    same = chain(variant(hmc.hmc_step, {}, within=hmc.hmc, compiled=compiled))
    for field in ours._fields:
        np.testing.assert_array_equal(getattr(same, field), getattr(ours, field))
    # without the Metropolis test everything is accepted; the random numbers are the same
    always = {"L14": "if rng.random() <= 1:"}
    found = chain(variant(hmc.hmc_step, always, within=hmc.hmc, compiled=compiled))
    assert found.accepted.all() and not ours.accepted.all()
    first = np.argmin(ours.accepted)  # the first rejection
    assert first > 0
    np.testing.assert_array_equal(found.samples[:first], ours.samples[:first])
    assert (found.samples[first] != ours.samples[first]).all()
    assert hmc.hmc_step.py_func.__globals__["hmc_step"] is hmc.hmc_step


def test_a_line_may_be_taken_out():
    step = variant(split_hmc.metropolis, {"L1": "error = 0", "L2": ""})
    assert step("here", None, "there", None, None, None) == ("here", False, 0)


@pytest.mark.parametrize("key", ["L99", "p = 3", "--"])
def test_lines_that_are_not_there_or_in_several_places_are_an_error(key):
    with pytest.raises(ValueError, match=f"^hmc_step must have lines '{key}' in one place"):
        variant(hmc.hmc_step, {key: ""})
