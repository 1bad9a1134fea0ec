"""Every mirror has each line of its pseudocode once and in order, and no untagged code."""

import ast
import html
import re
from pathlib import Path

import pytest

from mirror import ROOT, SILENT, every_mirror, mirrors, page, problems, visits

FOUND = every_mirror()
EXPECTED = {
    "ais.ais_run",
    "ep.ep",
    "ess.batch_means_tau",
    "ess.combined_tau",
    "ess.initial_sequence_tau",
    "generalised_leapfrog.generalised_leapfrog",
    "generalised_leapfrog.rmhmc_step",
    "hmc.hmc_step",
    "map_estimate.newton",
    "paquet_rmhmc.derivatives",
    "paquet_rmhmc.hamiltonian_and_gradient",
    "paquet_rmhmc.riemann_metric",
    "paquet_rmhmc.rmhmc",
    "random_walk.random_walk_step",
    "split_hmc.data_split_step",
    "split_hmc.normal_split_step",
}
EXAMPLE = '''
def step(x, rng):
    """Do it.

    Pseudocode (Somebody 2000, Algorithm 3)
     1  function step(x)
     2  // the first half
     3  for i = 1, ..., 3
     4      x <- x + 1,
            where the line goes on
     5  end for
     6  y <- x
     7  z <- y
     8  return z

    Parameters: see the paper.
    """
    for i in range(3):  # L3
        # a comment says why
        x = x + (1 +  # L4
                 0)  # L4
    print(x)  # --

    y = z = x  # L6-7
    return z  # L8
'''


def ids(found):
    return [f"{path.stem}.{mirror.name}" for path, mirror in found]


@pytest.mark.parametrize("mirror", [m for _, m in FOUND], ids=ids(FOUND))
def test_every_line_of_the_pseudocode_has_its_code_in_order_and_no_code_is_untagged(mirror):
    assert problems(mirror) == []


def test_the_functions_we_expect_to_be_mirrors_are():
    assert set(ids(FOUND)) == EXPECTED


@pytest.mark.parametrize("path", sorted((ROOT / "algorithms").glob("*.py")), ids=lambda p: p.stem)
def test_a_file_has_mirrors_if_and_only_if_its_header_says_so(path):
    header = ast.get_docstring(ast.parse(path.read_text()))
    (mirror,) = re.findall(r"^Mirror +(.*)$", header, re.MULTILINE) or ["none"]
    assert bool(list(mirrors(path))) == (not mirror.startswith("none"))


def example(tmp_path, *replace):
    source = EXAMPLE.replace(*replace) if replace else EXAMPLE
    assert source != EXAMPLE or not replace
    path = tmp_path / "example.py"
    path.write_text(source)
    (mirror,) = mirrors(path)
    return mirror


def test_a_mirror_is_read_as_it_is_written(tmp_path):
    mirror = example(tmp_path)
    assert mirror.source == "Somebody 2000, Algorithm 3"
    assert list(mirror.pseudocode) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert "where the line goes on" in mirror.pseudocode[4]
    assert [k for k, text in mirror.pseudocode.items() if SILENT.match(text)] == [1, 2, 5]
    assert visits(mirror) == [3, 4, 6, 7, 8]
    assert problems(mirror) == []


def test_decorators_and_tags_of_silent_lines_are_welcome(tmp_path):
    assert problems(example(tmp_path, "def step", "@cache\n@other\ndef step")) == []
    assert problems(example(tmp_path, "print(x)  # --", "pass  # L5")) == []


@pytest.mark.parametrize(("before", "after", "problem"), [
    ("# L4\n                 0", "\n                 0", "untagged: x = x + (1 +"),
    ("print(x)  # --", "print(x)", "untagged: print(x)"),
    ("# L6-7", "# L6", "line 7 has no code"),
    ("# L6-7", "# L7", "line 6 has no code"),
    ("y = z = x  # L6-7", "# L6-7", "line 6 has no code"),  # a comment is no code
    ("print(x)  # --", "print(x)  # L3", "line 3 comes after line 4"),
    ("# L8", "# L9", "line 9 is not in the pseudocode"),
    (" 8  return z", " 9  return z", "the pseudocode's numbers are [1, 2, 3, 4, 5, 6, 7, 9]"),
    (" 2  // the first", " 2  endow the first", "line 2 has no code"),
])
def test_what_is_wrong_is_found(tmp_path, before, after, problem):
    assert problem in problems(example(tmp_path, before, after))


def test_the_page_shows_every_line_of_both(tmp_path):
    mirror = example(tmp_path)
    text = page([(Path("algorithms/example.py"), mirror)])
    assert "<a href='#example.step'>" in text and "id='example.step'" in text
    for line in [*mirror.pseudocode.values(), *(code.strip() for _, code in mirror.code)]:
        assert html.escape(line) in text
    numbers = [int(k) for cell in text.split("<td><pre>")[1::3]
               for k in cell.removesuffix("</pre>").split()]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_committed_page_is_up_to_date():
    # if this fails, run python reproduce/mirror.py
    assert (ROOT / "figures" / "mirror.html").read_text() == page(FOUND)
