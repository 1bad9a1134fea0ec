"""The pages as a site (.ci/site): what is committed, and each release where it was."""

import re
import shutil
import subprocess

import pytest

from models.jit import ROOT


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words], cwd=folder,
                   check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    """A project with a release, and a page that was changed after it."""
    folder = tmp_path / "project"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "site", folder / ".ci")
    (folder / "figures").mkdir()
    git(folder, "init", "-q", "-b", "main")
    for text, tag in (("old", "v1.0"), ("new", "version-of-mine")):
        (folder / "figures" / "index.html").write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", text)
        git(folder, "tag", tag)
    (folder / "figures" / "index.html").write_text("not committed")
    return folder


def test_the_site_has_what_is_committed_and_each_release_in_its_folder(project):
    command = [project / ".ci" / "site", "site"]
    subprocess.run(command, cwd=project.parent, check=True)
    site = project.parent / "site"
    assert (site / "figures" / "index.html").read_text() == "new"
    assert (site / "v1.0" / "figures" / "index.html").read_text() == "old"
    assert not (site / "version-of-mine").exists()
    for start in (site, site / "v1.0"):  # whose addresses lead to their index
        links = re.findall(r'(?:url=|href=")([^"]+)"', (start / "index.html").read_text())
        assert len(links) == 2
        assert all((start / link).exists() for link in links)
    shutil.rmtree(site)  # and of the commit that is asked for
    subprocess.run([*command, "v1.0"], cwd=project.parent, check=True)
    assert (site / "figures" / "index.html").read_text() == "old"


def test_the_workflow_publishes_the_folder_that_it_lays_out():
    workflow = (ROOT / ".github" / "workflows" / "pages.yml").read_text()
    script, folder, commit = re.search(r"run: (\S+) (\S+) (\S+)", workflow).groups()
    assert (ROOT / script).stat().st_mode & 0o100
    assert re.findall(r"path: (\S+)", workflow) == [folder]
    assert commit == "origin/main"  # also where a release started it
