"""reproduce/all.py and reproduce/data.py: every script is run, every data set checked."""

import json
import os
from importlib import import_module

import numpy as np
import pytest

from reproduce.harness import papers
from reproduce.harness.files import Data, DataError
from reproduce.harness.run import Settings
from reproduce.harness.shards import Shard
from reproduce.harness.workers import PARENT

SETTINGS = Settings("smoke")
pytestmark = pytest.mark.usefixtures("figures")

FAKE = '''
import json, os, sys
from pathlib import Path
Path({saved!r}).write_text(json.dumps({{
    "claims": [
        {{"what": "a | b", "paper": "3", "value": 3.25, "se": 0.5, "verdict": "agrees",
          "kind": "printed number", "cell": "", "known": None, "power": 1.25, "note": "n",
          "why": ""}},
        {{"what": "c", "paper": "4", "verdict": "not specified", "kind": "order", "cell": "",
          "scan": {{"settings": [1, 2], "found": [[3.0, 0.5], [4.0, 0.0]]}}, "known": None,
          "power": float("nan"), "note": "", "why": ""}}][:2 - {status}],
    "replicate_seconds": 600.0, "argv": sys.argv[1:], "of": os.environ["{PARENT}"]}}))
sys.exit({status})
'''


def fakes(folder):
    return papers.scripts(folders=(folder,))


@pytest.fixture
def everything(tmp_path, figures):
    """Return reproduce/all.py and a function that puts a fake script beside others."""
    figures.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()

    def script(name, status=0, text=FAKE):
        filled = text.format(saved=str(figures / f"{name}.json"), status=status, PARENT=PARENT)
        (tmp_path / "scripts" / f"{name}.py").write_text(filled)

    return import_module("reproduce.all"), script


def test_all_scripts_run_and_one_that_fails_does_not_stop_the_others(everything, tmp_path, figures):
    every, script = everything
    script("paquet_fig1", 1)
    script("wang_table1")
    (figures / "shahbaba_fig1.json").write_text('{"claims": 9}')  # of an earlier run
    script("shahbaba_fig1", 2, "raise SystemExit({status})")
    settings = Settings("smoke", 2, 5, True, "there", dask="tcp://10.0.0.1:8786")
    assert every.main(settings, fakes(tmp_path / "scripts")[1:2]) == 1  # one is enough
    assert every.main(settings, fakes(tmp_path / "scripts")) == 1
    text = (figures / "results.md").read_text()
    assert text.startswith("# Results, smoke budget\n") and ", seed 5. " in text
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")]
            for line in text.splitlines() if line.startswith("| `")]
    # a class after the other; replicates; exit status
    assert rows[:3] == [
        ["`paquet_fig1`", "agrees 1", "", "", "", "", "10 min", "1"],
        ["`shahbaba_fig1`", "", "", "", "", "", "0 s", "2"],
        ["`wang_table1`", "agrees 1", "not specified 1", "", "", "", "10 min", "0"]]
    number = ["a \\| b", "printed number", "3", "3.25 ± 0.50; n", "agrees", "1.25"]
    assert rows[3:] == [["`paquet_fig1`", *number], ["`wang_table1`", *number], [
        "`wang_table1`", "c", "order", "4", "1: 3.00 (s.e. 0.50); 2: 4", "not specified", "-"]]
    assert "| printed numbers, each once | 2 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 1.2 |" in text
    assert "| sentences and orders | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 0 | - |" in text
    saved = json.loads((figures / "wang_table1.json").read_text())
    assert saved["of"] == str(os.getpid()) and saved["argv"] == (
        "--budget smoke --jobs 2 --seed 5 --fresh --data there --dask tcp://10.0.0.1:8786".split())


SHARD = """
import sys
print("the first line")
print("{name}, shard 2/3: " + ({status} or "another round is needed"), *sys.argv[1:])
"""


def test_a_shard_is_passed_on_and_says_which_scripts_need_another_round(everything, tmp_path,
                                                                          figures, capsys):
    every, script = everything
    script("paquet_fig1", 0, SHARD.replace("{name}", "paquet_fig1"))
    script("wang_table1", "'none'", SHARD.replace("{name}", "wang_table1"))
    settings = Settings("smoke", 1, 5, shard=Shard(2, 3))
    assert every.main(settings, fakes(tmp_path / "scripts")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("--jobs 1 --seed 5 --shard 2/3" in line for line in lines) == 2
    assert lines[-1] == "shard 2/3: another round is needed by paquet_fig1"
    script("paquet_fig1", "'none'", SHARD.replace("{name}", "paquet_fig1"))
    assert every.main(settings, fakes(tmp_path / "scripts")) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "shard 2/3: no other round is needed"
    script("paquet_fig1", 1, SHARD.replace("{name}", "paquet_fig1"))
    assert every.main(settings, fakes(tmp_path / "scripts")) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "shard 2/3: submit it again: a script failed")
    assert not (figures / "results.md").exists()


@pytest.mark.parametrize(("status", "text", "pressed"), [
    (130, FAKE, False), (0, "import os, signal; os.kill(os.getpid(), signal.SIGINT)", False),
    (1, FAKE, True)], ids=["by the harness", "by Python", "whatever became of the script"])
def test_an_interrupted_script_stops_the_others(everything, tmp_path, figures, monkeypatch, status,
                                                text, pressed):
    every, script = everything
    monkeypatch.setattr(every, "pressed", [True] * pressed)
    script("paquet_fig1", status, text)
    script("wang_table1")
    assert every.main(SETTINGS, fakes(tmp_path / "scripts")) == 130
    assert not any((figures / name).exists() for name in ("wang_table1.json", "results.md"))


def test_all_data_sets_are_fetched_and_a_missing_one_is_status_2(monkeypatch, capsys):
    command = import_module("reproduce.data")

    def there(folder=None, fallback=True):
        assert (folder, fallback) == ("here", False)  # nothing takes its place
        return Data("cases", np.zeros((3, 2)), np.zeros(3))

    def nowhere(seed=1):  # which needs no folder
        assert seed == 1
        raise DataError("lost.gz is nowhere")

    monkeypatch.setattr(command, "SETS", {"wang": [there]})
    assert command.main(SETTINGS._replace(data="here")) == 0
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["paper", "data", "set", "size"]
    assert row.split() == ["Wang", "&", "Neal", "cases", "3", "x", "2", "as", "it", "should", "be"]
    monkeypatch.setattr(command, "SETS", {"wang": [nowhere, there]})
    assert command.main(SETTINGS._replace(data="here")) == 2
    out, err = capsys.readouterr()
    assert "missing" in out and "cases" in out and err == "nowhere: lost.gz is nowhere\n"


def test_every_data_set_is_fetched_once_and_is_of_its_paper():
    found = [(paper, each) for paper, functions in import_module("reproduce.data").SETS.items()
             for each in functions]
    assert len({each for _, each in found}) == len(found) == 11
    assert all(each.__module__.split(".")[1] == paper for paper, each in found)
