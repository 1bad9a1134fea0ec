"""reproduce/harness/run.py: the command line, the first line, what a script writes, how it ends."""

import json
import os
import subprocess
import sys

import joblib
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from harness import replicates, run
from harness.claims import Claim, Measured
from harness.files import Data
from harness.fingerprint import ROOT
from harness.run import Settings, announce, main, parse
from harness.style import plt

SETTINGS = Settings("smoke")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Let the harness write to a folder of the test."""
    monkeypatch.setattr(replicates, "FIGURES", tmp_path / "figures")
    monkeypatch.delenv("PAPERS_DATA", raising=False)
    return tmp_path / "figures" / "smoke"


# The command line


def test_options():
    cores = joblib.cpu_count()
    assert parse("", []) == Settings("short", min(2, cores), 1, False, None)
    given = "--budget paper --jobs 100000 --seed 7 --fresh --data here".split()
    assert parse("", given) == Settings("paper", cores, 7, True, "here")
    assert os.environ["PAPERS_DATA"].split(os.pathsep)[0] == "here"  # for other processes


@pytest.mark.parametrize("wrong", ["--jobs 0", "--jobs x", "--seed -1", "--budget long", "--what"])
def test_wrong_options_end_with_a_sentence(wrong, capsys):
    with pytest.raises(SystemExit) as end:
        parse("what it does", wrong.split())
    assert end.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_the_first_line_says_what_on_which_data_and_how_long(capsys):
    script = {"NAME": "x_fig1", "WHAT": "ten chains", "MINUTES": {"smoke": 0.5, "short": 180}}
    announce(script, SETTINGS, Data("digits", None, None, "USPS is not here"))
    announce(script, Settings(jobs=2), "simulated")
    first, second = capsys.readouterr().out.splitlines()
    for words in ("x_fig1", "smoke", "ten chains", "digits", "USPS is not here", "30 s"):
        assert words in first
    assert "simulated" in second and "3.0 h" in second and "2 jobs" in second


def test_the_first_line_does_not_wait_for_what_it_does_not_need():
    code = ("import sys, harness.run, harness.files;"
            "print({'joblib', 'pooch', 'requests', 'matplotlib'} & {*sys.modules})")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env=environment())
    assert run.stdout.strip() == "set()"


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "reproduce")])}


# A whole run


def number_of_threads(seed):
    return {"threads": max(pool["num_threads"] for pool in threadpool_info()
                           if pool["user_api"] == "blas")}


def script(**changes):
    """Return the globals of a script."""
    def run(experiment, cases):
        found = experiment.replicates(number_of_threads, [{"seed": experiment.seed}])
        return {"rate": Measured(0.9, 0.01), "here": number_of_threads(0)["threads"]} | found[0]

    return {
        "__doc__": "A script.", "NAME": "x_fig7", "WHAT": "nothing much",
        "MINUTES": dict.fromkeys(("smoke", "short", "paper"), 0.1),
        "cases": lambda settings: "none", "run": run, "table": lambda r: "the table\n",
        "figure": lambda r: plt.figure(),
        "CLAIMS": [
            Claim("rate", "0.91", lambda r: r["rate"], 0.85, 0.95, "rounding", "printed number"),
            Claim("threads", "1", lambda r: r["threads"] + r["here"], 2, 2, "all", "ours")],
    } | changes


def ends(monkeypatch, *options, **changes):
    """Run the script with these options; return the exit status."""
    monkeypatch.setattr(sys, "argv", ["x_fig7.py", *options])
    with pytest.raises(SystemExit) as end:
        main(script(**changes))
    return end.value.code


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_writes_its_report_figure_and_numbers_on_one_thread(monkeypatch, folder, capsys,
                                                                      jobs):
    before = plt.get_fignums()  # other tests leave theirs
    with threadpool_limits(2, "blas"):  # whatever the user has set
        assert ends(monkeypatch, "--budget", "smoke", "--jobs", jobs) == 0
    text = (folder / "x_fig7.txt").read_text()
    assert text.startswith("the table\n\n") and text.endswith("2 agrees\n")
    out = capsys.readouterr().out
    assert text in out
    assert out.splitlines()[-1] == str(folder / "x_fig7.png")
    assert (folder / "x_fig7.png").read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == before
    record = json.loads((folder / "x_fig7.json").read_text())
    assert [(c["what"], c["verdict"], c["kind"]) for c in record["claims"]] == [
        ("rate", "agrees", "printed number"), ("threads", "agrees", "ours")]
    assert record["claims"][0]["value"] == 0.9 and record["claims"][0]["se"] == 0.01
    assert record["seed"] == 1 and record["budget"] == "smoke"
    assert record["versions"].keys() == {"python", "numba", "numpy", "scipy"}
    assert record["processor"] and record["blas"] and record["date"].startswith("2")
    assert record["seconds"] > 0 and record["replicate_seconds"] >= 0


def test_a_failing_claim_is_exit_status_1(monkeypatch):
    exact = script()["CLAIMS"][0]._replace(ours=lambda r: 0.9)  # a smoke run can fail by no other
    wrong = exact._replace(what="wrong", low=0.0, high=0.1)
    assert ends(monkeypatch, "--budget", "smoke", CLAIMS=[wrong]) == 1
    assert ends(monkeypatch, "--budget", "smoke",
                CLAIMS=[wrong._replace(known="a misprint")]) == 0
    outlived = exact._replace(known="a misprint")
    assert ends(monkeypatch, "--budget", "smoke", CLAIMS=[outlived]) == 1


def test_no_claim_is_made_on_other_data_than_those_asked_for(monkeypatch, folder):
    other = Data("digits", None, None, "USPS is not here")
    assert ends(monkeypatch, "--budget", "smoke", cases=lambda settings: other) == 0
    assert "No claim is made: USPS is not here" in (folder / "x_fig7.txt").read_text()
    assert json.loads((folder / "x_fig7.json").read_text())["claims"] == []


def test_the_paper_budget_packs_its_replicates_where_results_are_committed(monkeypatch, folder):
    assert ends(monkeypatch, "--budget", "paper") == 0
    assert (folder.parent / "replicates" / "x_fig7.json.gz").exists()
    assert not (folder.parent / "replicates" / "x_fig7").exists()
    assert (folder.parent / "x_fig7.txt").exists()
    assert ends(monkeypatch, "--budget", "paper", cases=lambda s: Data("a", None, None, "b")) == 0


def test_times_of_several_processors_are_not_mixed_without_a_word():
    class Two:
        clocks = ("one", "another")

    assert "several processors: one; another" in run.written("", [], Two)
    Two.clocks = ("one",)
    assert "processors" not in run.written("", [], Two)


UNDER_THREADS = """
import sys
import numpy, scipy.linalg  # loaded before anything of ours
from pathlib import Path
import paquet_fig2 as script
from harness import replicates
from harness.run import main
from paquet.digits import digits_3v5
replicates.FIGURES = Path("figures").absolute()
script.usps_3v5, script.CASES["smoke"] = lambda folder: digits_3v5(), None
for panel in "cdef":  # one that starts at the prior, and one of each kernel, are left
    del script.METHODS[panel]
script.CLAIMS, script.figure = [], lambda r: script.plt.figure()
# computed outside of replicates, all digits of it
script.table = lambda r: str(script.problem.__wrapped__(r["data"])[2].mu.tolist())
sys.argv = ["paquet_fig2.py", "--budget", "smoke", "--jobs", "1"]
main(vars(script))
"""


def test_the_number_of_threads_in_the_environment_does_not_change_a_byte(tmp_path):
    found = []
    for threads in ("1", "2"):
        place = tmp_path / threads
        place.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", UNDER_THREADS], cwd=place, capture_output=True, text=True,
            env=environment() | {"OPENBLAS_NUM_THREADS": threads})
        assert done.returncode == 0, done.stderr
        stored = sorted((place / "figures/smoke/replicates/paquet_fig2").iterdir())
        records = [json.loads(path.read_text()) for path in stored]
        report = (place / "figures/smoke/paquet_fig2.txt").read_text()
        found.append((report, [(r["task"], r["result"]) for r in records
                               if r["function"] != "clock"]))
    assert len(found[0][1]) == 8
    assert found[0] == found[1]
