"""What other people's tools read: CITATION.cff, the pinned versions, the linter before a commit."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from models.jit import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = (ROOT / "CITATION.cff").read_text()
PINNED = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / ".ci" / "constraints.txt").read_text(),
                         re.MULTILINE))
EXTRAS = PROJECT["optional-dependencies"]


def wanted():
    """List what pyproject.toml asks for, its own extras apart."""
    found = [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
    return [one for one in map(Requirement, found) if one.name != PROJECT["name"]]


def test_what_is_cited_is_this_project_and_the_papers():
    ours, _, papers = CITATION.partition("references:\n")
    for key, value in (("title", PROJECT["name"]), ("version", PROJECT["version"]),
                       ("license", PROJECT["license"])):
        assert f"\n{key}: {value}\n" in ours
    author = re.search(r"name: (.+)", ours)[1]
    assert re.search(rf"^Copyright .* {author}$", (ROOT / "LICENSE").read_text(), re.MULTILINE)
    entries = [" ".join(entry.split()) for entry in papers.split("  - type:")[1:]]
    assert len(entries) == 4
    for entry in entries:  # each is what the heading of its page says
        title = re.search(r"title: (?:>- )?(.+?) authors:", entry)[1]
        people = re.findall(r"family-names: (\w+), given-names: ([\w. ]+)}", entry)
        page = (ROOT / "reproduce" / people[0][0].lower() / "README.md").read_text()
        heading = " ".join(page.split())[:400]
        assert title in heading and re.search(r"year: (\d+)", entry)[1] in heading
        assert all(f"{given} {family}" in heading for family, given in people)


def test_the_changelog_has_this_version():
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("one", wanted(), ids=str)
def test_what_is_pinned_is_what_is_asked_for(one):
    # nothing that the project asks for is left to the day on which it is installed
    assert one.specifier.contains(PINNED[one.name])


def test_the_linter_is_of_one_version():
    hook = (ROOT / ".pre-commit-config.yaml").read_text()
    ours = next(one for one in EXTRAS["dev"] if one.startswith("ruff"))
    assert ours == f"ruff=={PINNED['ruff']}"
    assert re.findall(r"rev: v(\S+)", hook) == [PINNED["ruff"]]


def test_the_workflow_runs_what_anybody_can_run():
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text()
    assert re.findall(r"run: (.+)", workflow) == [".ci/run"]
