"""The lessons: each notebook is its script, which runs from its first cell to its last."""

import json
import runpy

import pytest

from reproduce.harness.mirrors import ROOT
from reproduce.harness.papers import PAPERS

FOLDERS = [ROOT / "reproduce" / author for author in PAPERS]
needs = "needs the extra `lessons`: pip install -e '.[lessons]'"


def cells(notebook):
    """Return (kind, text) of the cells of a notebook."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def notebook(folder):
    return json.loads((folder / "lesson.ipynb").read_text())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_notebook_is_its_script(folder):
    jupytext = pytest.importorskip("jupytext", reason=needs)
    # if this fails, run: jupytext --to ipynb reproduce/*/lesson.py
    assert cells(notebook(folder)) == cells(jupytext.read(folder / "lesson.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_notebook_is_committed_without_output_and_leads_to_page_and_exercises(folder):
    code = [cell for cell in notebook(folder)["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    text = "".join(text for kind, text in cells(notebook(folder)) if kind == "markdown")
    for word in ("MIT", "CITATION.cff", f"../../figures/{folder.name}.html", "Plant a bug",
                 "ArviZ", f"../../figures/exercises.html#{folder.name}-1", "Change a setting"):
        assert word in text


@pytest.mark.filterwarnings("ignore")  # a figure that is shown nowhere
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_lesson_runs(folder, monkeypatch, capsys):
    pytest.importorskip("arviz", reason=needs)
    monkeypatch.chdir(folder)
    runpy.run_path("lesson.py")
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) >= 4 and "nan" not in printed[-1]
