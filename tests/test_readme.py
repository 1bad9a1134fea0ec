"""README.md and the papers' pages: what they show is what happens."""

import re
import subprocess
import sys
import textwrap

import pytest

from mirror_rules import every_mirror
from models.jit import ROOT
from reproduce.harness.claims_html import RESTS

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "reproduce" / "CLUSTER.md",
         ROOT / "reproduce" / "RECIPES.md", *sorted((ROOT / "reproduce").glob("*/README.md"))]


def test_it_is_short():
    shown = RESTS.sub("", README)  # without what each sentence rests on
    assert len(shown.splitlines()) <= 150 and len(shown.encode()) <= 11_000
    assert max(len(line) for line in shown.splitlines() if not line.startswith("|")) <= 130


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_python_blocks_run(page, tmp_path):
    # a block that begins with a comment naming a file is that file
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        if "import arviz" in block:  # tests/test_arviz.py runs it
            continue
        named = re.match(r"# (\w+\.py)", block)
        path = tmp_path / (named[1] if named else "example.py")
        path.write_text(block)
        if not named:
            done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True,
                                  cwd=tmp_path, check=True)
            assert done.stdout and "Do not believe" not in done.stdout


def test_each_recipe_is_short_and_ends_in_a_picture_and_a_summary():
    _, *recipes = (ROOT / "reproduce" / "RECIPES.md").read_text().split("\n## ")
    for recipe in recipes:
        words, *blocks = re.split(r"```python\n(.*?)```", recipe, flags=re.DOTALL)
        assert "Look at" in words and ("took" in words or "not\nmeasured" in words
                                       or "not measured" in words)
        assert all(len(block.splitlines()) <= 15 for block in blocks)
        *_, picture, last = blocks[-2].splitlines()
        assert last.startswith("print(summary(found") and "savefig" in picture


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_files_it_names_exist(page):
    text = page.read_text()
    named = set(re.findall(r"\b((?:algorithms|models|reproduce|figures|tests)/[\w/]+\.\w+)", text))
    linked = {found for found in re.findall(r"\]\(([^)# ]+)", text) if "://" not in found}
    assert named | linked
    for path in named:
        assert (ROOT / path).is_file(), path
    for path in linked:
        assert (page.parent / path).is_file(), path


def test_how_to_read_it_names_mirrors():
    # Algorithms 1 to 4 of Paquet and Fraccaro, in this order
    mirrors = {mirror.name: (path.name, mirror) for path, mirror in every_mirror()}
    flowing = README.replace("\n", " ")
    text = re.search(r"Algorithms 1 to 4 are (.*?`algorithms.*?`)", flowing)[1]
    *functions, file = re.findall(r"`([\w/.]+)`", text)
    assert [mirrors[function][0] for function in functions] == [file.split("/")[1]] * 4
    assert [mirrors[function][1].source[-1] for function in functions] == list("1234")


def test_it_shows_lines_of_a_mirror_as_they_stand_in_the_file():
    (shown,) = re.findall(r"```py\n(.*?)\n```", README, re.DOTALL)
    before = README.split("```py\n")[0]
    lines = (ROOT / re.findall(r"`(algorithms/\w+\.py)`", before)[-1]).read_text().splitlines()
    n = len(shown.splitlines())
    parts = ["\n".join(lines[k : k + n]) for k in range(len(lines) - n + 1)]
    assert [textwrap.dedent(part) for part in parts].count(shown) == 1
    assert len(re.findall(r"^# \d+  +\S", shown, re.MULTILINE)) >= 3


def test_there_are_exactly_two_commands_to_start():
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert len(commands) == 2
    assert commands[0].endswith("python reproduce/paquet_fig2.py")
    assert commands[1].endswith("python -m pytest")
    ci = (ROOT / ".ci" / "run").read_text()
    assert "grep -m 1 'python -m pytest' README.md" in ci  # it runs the README's own


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_results_it_prints_are_those_of_a_committed_run(page):
    saved = [path.read_text() for path in (ROOT / "figures").glob("*.txt")]
    for block in re.findall(r"```text\n(.*?)```", page.read_text(), re.DOTALL):
        for paragraph in block.strip("\n").split("\n\n"):
            assert any(paragraph in text for text in saved), paragraph
