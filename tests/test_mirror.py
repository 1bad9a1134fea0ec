"""Mirrors: every line of the pseudocode has its code once, in order and in its loop; departures:
each is declared in one form and has a test that fails for the printed version."""

import ast
import re
from functools import cache

import numpy as np
import pytest

from algorithms import hmc, paquet_rmhmc
from algorithms import shahbaba_split_hmc as split_hmc
from departing import departs
from mirror_rules import every_mirror, problems, share_of_ours, visits
from models.gaussian import Gaussian
from models.gp_classification import GPClassification
from reproduce.harness.mirrors import (
    LABEL,
    ROOT,
    SILENT,
    TAG,
    algorithms,
    departures,
    entry,
    files_with_departures,
    mirrors,
    source,
    table_of_departures,
    variant,
    with_departures,
)
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


def example(tmp_path, *replace):
    source = EXAMPLE.replace(*replace) if replace else EXAMPLE
    assert source != EXAMPLE or not replace
    path = tmp_path / "example.py"
    path.write_text(source)
    return path


def example_mirror(tmp_path, *replace):
    (mirror,) = mirrors(example(tmp_path, *replace))
    return mirror


# The mirrors


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


@pytest.mark.parametrize("path", algorithms(), ids=lambda p: p.stem)
def test_a_mirror_of_which_more_than_a_fifth_is_ours_says_why(path):
    ours = {mirror.name for mirror in mirrors(path) if share_of_ours(mirror) > 1 / 5}
    assert set(re.findall(r"^ *(\w+): \w", entry(path, "Own lines"), re.MULTILINE)) == ours


def test_a_mirror_is_read_as_it_is_written(tmp_path):
    mirror = example_mirror(tmp_path)
    assert mirror.source == "Somebody 2000, Algorithm 3"
    assert list(mirror.pseudocode) == list(range(1, 13))
    assert "where the line goes on" in mirror.pseudocode[4]
    assert [k for k, text in mirror.pseudocode.items() if SILENT.match(text)] == [1, 2, 5]
    assert visits(mirror) == [3, 4, 6, 7, 8, 9, 10, 11, 12]
    assert problems(mirror) == []
    assert len(mirror.code) == 12  # without the comment and the empty line
    assert share_of_ours(mirror) == pytest.approx(1 / 12)
    assert [len(line.tag) for line in mirror.code] == [1, 1, 1, 0, 2, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(("before", "after"), [
    ("def step", "@cache\n@other\ndef step"), ("    # ours: so that it is seen\n", "")])
def test_decorators_are_welcome_and_what_stands_below_a_silent_line_is_ours(
        tmp_path, before, after):
    mirror = example_mirror(tmp_path, before, after)
    assert problems(mirror) == []
    assert share_of_ours(mirror) == pytest.approx(1 / 12)


NUMBERS = list(range(1, 13))


@pytest.mark.parametrize(("before", "after", "problem"), [
    ("    # 7   z <- y\n", "", f"the printed numbers are {[*NUMBERS[:6], *NUMBERS[7:]]}"),
    ("    # 7   z <- y\n", "    # 7   z <- y\n    # 7   z <- y\n",
     f"the printed numbers are {[*NUMBERS[:7], *NUMBERS[6:]]}"),
    ("    # 6   y <- x\n    # 7   z <- y", "    # 7   z <- y\n    # 6   y <- x",
     f"the printed numbers are {[1, 2, 3, 4, 5, 7, 6, *NUMBERS[7:]]}"),
    ("# 12  return z", "# 13  return z", f"the printed numbers are {[*NUMBERS[:11], 13]}"),
    ("    # 12  return z\n    return z\n", "    return z\n    # 12  return z\n",
     "line 11 is in the loops [], and in the paper in [9]: return z"),
    ("    # 12  return z\n", "    # 12  return z\n    # ours\n", "line 12 has no code"),
    ("    y = z = x\n", "    # 7   y\n    # ours\n    y = z = x\n", "line 6 has no code"),
    # in another loop than in the paper, or in a loop of ours
    ("    # 3   for i = 1, ..., 3 do\n", "    # 3   // for i = 1, ..., 3 do\n",
     "line 4 is in the loops ['ours'], and in the paper in []: x = x + (1 +"),
    ("    y = z = x\n", "    for _ in (1,):\n        y = z = x\n",
     "line 6 is in the loops ['ours'], and in the paper in []: y = z = x"),
    ("        # 10  x <- x + 1\n", "        # ours\n        for _ in (1,):\n            pass\n"
     "    # 10  x <- x + 1\n", "line 10 is in the loops [9], and in the paper in []: x += 1"),
    ("    # 5   end for\n", "        # 5   end for\n",
     "line 5 ends what begins in another column"),
    ("    # 12  return z\n", "    # 12  end for\n", "line 12 ends what does not begin"),
    ("    # 6   y <- x\n", "    # 6   for i = 1, ..., 3 do\n",
     "line 8 leaves a loop before its end: while x > 0:  x <- x - 1"),
])
def test_what_is_wrong_is_found(tmp_path, before, after, problem):
    assert problem in problems(example_mirror(tmp_path, before, after))


# The departures


@cache
def departing_tests():
    """Map "tests/test_x.py::test_y" of every test with `departs` to the lines that it replaces."""
    found = {}
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for call in getattr(node, "decorator_list", []):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "departs":
                    keys = call.args[1].keys if isinstance(call.args[1], ast.Dict) else []
                    tags = [TAG.match(ast.literal_eval(key)) for key in keys]
                    found[f"tests/{path.name}::{node.name}"] = {
                        line for tag in tags if tag
                        for line in range(int(tag[1]), int(tag[2] or tag[1]) + 1)}
    return found


@pytest.mark.parametrize("path", files_with_departures(), ids=lambda p: p.stem)
def test_every_departure_has_a_test_that_fails_for_the_printed_version(path):
    tests = departing_tests()
    for departure in departures(path):
        if departure.test != LABEL:
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
    assert third.test == LABEL


def test_no_departures_have_to_be_declared_too(tmp_path):
    path = tmp_path / "example.py"
    path.write_text('"""An example.\n\nDepartures  none.\n"""')
    assert departures(path) == []
    path.write_text('"""An example."""')
    message = r"^example.py must have departures or say 'Departures  none.'$"
    with pytest.raises(ValueError, match=message):
        departures(path)
    with pytest.raises(ValueError, match=message):
        departures(example(tmp_path, "Mirror      step.", "Departures  none."))


@pytest.mark.parametrize(("before", "after", "message"), [
    ("    ours    six\n", "", "Section 2 has where, theirs, why, test, but it must"),
    ("    ours    six\n    why ", "    why     six\n    ours", "where, theirs, why, ours, test"),
    ("    ours    six", "    ours   six", "cannot read this line of a departure:     ours   six"),
    ("    ours    six", "    hours   six", "cannot read this line of a departure:     hours   six"),
    ("        #     ours    2\n", "", "Algorithm 3, line 4 has where, theirs, why, test, but"),
    ("    #     why     c\n", "", "lines 3, 4 and 6 to 7 has where, theirs, ours, test, but it"),
])
def test_a_departure_that_cannot_be_read_is_an_error(tmp_path, before, after, message):
    with pytest.raises(ValueError, match=message):
        departures(example(tmp_path, before, after))


def test_a_table_has_the_departures_of_the_papers_algorithms_and_models():
    for author in ("paquet", "shahbaba", "zhang"):
        table = table_of_departures(author).splitlines()
        assert table[0].count("|") == table[1].count("|") == 6
        files = [path for path in files_with_departures() if author.capitalize() in source(path)]
        expected = [departure for path in files for departure in departures(path)]
        assert len(table) == 2 + len(expected)
        for departure in expected:
            (row,) = (row for row in table if escape(departure.theirs) in row
                      and escape(departure.where) in row)
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
            assert cells[1:4] == [*map(escape, (departure.theirs, departure.ours, departure.why))]
            assert departure.test.rpartition("::")[2] in row
            assert len(re.findall(r"(?<!\\)\|", row)) == 6
            assert f"(../../{departure.test.split('::')[0]} " in row or departure.test == LABEL
    assert "(../../algorithms/paquet_rmhmc.py)" in table_of_departures("paquet").splitlines()[2]
    assert "(../../models/funnel.py)" in table_of_departures("zhang")


def test_the_committed_tables_are_up_to_date_and_a_stale_one_is_seen():
    # if this fails, run python reproduce/tools/pages.py
    assert len(readmes()) == 4
    for path, text in readmes().items():
        assert path.read_text() == text
        author = path.parent.name
        stale = text.replace(table_of_departures(author), "stale")
        assert stale != text == with_departures(stale, author)


def test_a_test_that_print_passes_too_is_a_failure():
    def passes(value):
        assert value > 0

    assert departs(1, -1)(passes)() is None
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        departs(1, 2)(passes)()
    with pytest.raises(AssertionError):
        departs(-1, -1)(passes)()


# The printed version


MODEL = Gaussian(np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]]))
START = np.array([0.3, -1.1])


def chain(run):
    return run(START, MODEL, 0.9, 3, 50, np.random.default_rng(1), None, 0.0)


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


def test_several_lines_may_be_replaced_and_ours_named_by_their_text():
    step = variant(split_hmc.metropolis, {
        "error = U(q_, model) - U(q, model) + p_ @ p_ / 2 - p @ p / 2": "error = -1.0",
        "L2": """
            if rng == 3:
                return "two", 2
        """,
        "L3": "return 'three'"})
    assert step(None, None, None, None, None, 3) == ("two", 2)
    assert step(None, None, None, None, None, 4) == "three"
    step = variant(split_hmc.metropolis, {"L1": "error = 0", "L2": ""})  # taken out
    assert step("here", None, "there", None, None, None) == ("here", False, 0)


def test_a_variant_reaches_through_the_functions_between():
    model = GPClassification.from_prior(np.eye(2), np.ones(2))
    arguments = (np.zeros(2), model, 1, 0.1, 5)
    wrong = variant(paquet_rmhmc.derivatives, {"L14": "dL_dx = 0 * x"}, within=paquet_rmhmc.rmhmc)
    ours, theirs = (run(*arguments, np.random.default_rng(0))
                    for run in (paquet_rmhmc.rmhmc, wrong))
    assert (ours.samples != theirs.samples).all()


@pytest.mark.parametrize("key", ["L99", "p = 3", "--"])
def test_lines_that_are_not_there_or_in_several_places_are_an_error(key):
    with pytest.raises(ValueError, match=f"^hmc_step must have lines '{key}' in one place"):
        variant(hmc.hmc_step, {key: ""})
