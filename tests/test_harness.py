"""reproduce/harness.py and all.py: replicates that are kept, verdicts that follow, reports."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import data
import harness
from harness import Claim, Measured, Settings, announce, parse, replicates, report, verdict
from models.jit import ROOT

SETTINGS = Settings("smoke")
INF = math.inf


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Undo what a shell does to a background job, in which SIGINT is ignored."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Let the harness write to a folder of the test."""
    monkeypatch.setattr(harness, "FIGURES", tmp_path / "figures")
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
    digits = data.digits_3v5()
    announce("x_fig1", SETTINGS, "ten chains", digits._replace(note="USPS is not here"), 0.5)
    announce("x_fig1", Settings(jobs=2), "ten chains", "simulated", 180)
    first, second = capsys.readouterr().out.splitlines()
    for words in ("x_fig1", "smoke", "ten chains", digits.name, "USPS is not here", "30 s"):
        assert words in first
    assert "simulated" in second and "3.0 h" in second and "2 jobs" in second


def test_the_first_line_does_not_wait_for_what_it_does_not_need():
    code = "import sys, harness; print({'joblib', 'pooch', 'requests', 'sklearn'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env=environment())
    assert run.stdout.strip() == "set()"


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "reproduce")])}


# Replicates


def draw(seed, log, n=3):
    """Leave a line in the file `log` for every call."""
    with open(log, "a") as file:
        file.write(f"{seed}\n")
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal(n), "mean": np.float64(rng.random()), "n": np.int64(n),
            "odd": [math.nan, math.inf, -math.inf, -0.0, 5e-324], "ok": np.bool_(True)}


def threads(seed):
    return {"threads": max(pool["num_threads"] for pool in threadpool_info())}


def deaf(seed):
    return {"deaf": signal.getsignal(signal.SIGINT) == signal.SIG_IGN}


def fail(seed):
    if seed == 3:
        raise ArithmeticError("the replicate's own error")
    return {}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def tasks(log, seeds=range(6)):
    return [{"seed": seed, "log": str(log), "cost": 1 + seed} for seed in seeds]


def calls(log):
    return sorted(map(int, log.read_text().split())) if log.exists() else []


def test_results_are_exact_in_order_and_the_same_for_all_numbers_of_jobs(log, tmp_path):
    serial = replicates("draw", SETTINGS, draw, tasks(log))
    for seed, found in enumerate(serial):
        wanted = draw(seed, tmp_path / "other")
        assert found["x"] == wanted["x"].tolist()  # every bit
        assert found["mean"] == wanted["mean"]
        assert found["n"] == 3 and found["ok"] is True
        assert repr(found["odd"]) == repr(wanted["odd"])
    parallel = replicates("draw", SETTINGS._replace(jobs=3, fresh=True), draw, tasks(log))
    assert repr(parallel) == repr(serial)
    assert calls(log) == sorted([*range(6)] * 2)


def test_stored_replicates_are_not_computed_again(log):
    first = replicates("draw", SETTINGS, draw, tasks(log, [1, 2]))
    second = replicates("draw", SETTINGS, draw, tasks(log, [2, 3, 1, 2]))
    assert calls(log) == [1, 2, 3]
    assert [repr(r["x"]) for r in second][::2] == [repr(first[1]["x"]), repr(first[0]["x"])]
    assert repr(second[3]) == repr(second[0])


def test_fresh_another_name_and_another_task_compute_again(log):
    replicates("draw", SETTINGS, draw, tasks(log, [1]))
    replicates("draw", SETTINGS._replace(fresh=True), draw, tasks(log, [1]))
    replicates("other", SETTINGS, draw, tasks(log, [1]))
    replicates("draw", SETTINGS, draw, [tasks(log, [1])[0] | {"n": 4}])
    assert calls(log) == [1] * 4


def test_other_code_computes_again(log, monkeypatch):
    replicates("draw", SETTINGS, draw, tasks(log, [1]))
    monkeypatch.setattr(harness, "fingerprint", lambda function: "other code")
    replicates("draw", SETTINGS, draw, tasks(log, [1]))
    assert calls(log) == [1, 1]


def test_the_cost_of_a_task_is_not_part_of_it(log):
    replicates("draw", SETTINGS, draw, tasks(log, [1]))
    replicates("draw", SETTINGS, draw, [tasks(log, [1])[0] | {"cost": 77}])
    assert calls(log) == [1]


@pytest.mark.parametrize("damage", [
    lambda text: text[: len(text) // 2], lambda text: "", lambda text: "[1, 2]",
    lambda text: "{}", lambda text: "\xff"], ids=["half", "empty", "list", "no result", "bytes"])
def test_a_damaged_replicate_counts_as_missing(log, folder, capsys, damage):
    first = replicates("draw", SETTINGS, draw, tasks(log, [1, 2]))
    path = sorted((folder / "replicates" / "draw").iterdir())[0]
    path.write_text(damage(path.read_text()), encoding="latin-1")
    assert repr(replicates("draw", SETTINGS, draw, tasks(log, [1, 2]))) == repr(first)
    assert len(calls(log)) == 3
    assert f"{path} is damaged" in capsys.readouterr().err
    assert json.loads(path.read_text())["task"]["seed"] in (1, 2)


def test_a_stored_replicate_says_what_it_is(log, folder):
    replicates("draw", SETTINGS, draw, tasks(log, [1]))
    (path,) = (folder / "replicates" / "draw").iterdir()
    record = json.loads(path.read_text())
    assert record["task"] == {"seed": 1, "log": str(log)}
    assert record["code"] == harness.fingerprint(draw)
    assert record["seconds"] > 0


def test_warm_is_called_once_and_only_if_there_is_something_to_do(log):
    count = []
    for _ in range(2):
        replicates("draw", SETTINGS, draw, tasks(log), warm=lambda: count.append(1))
    assert len(count) == 1


def test_the_bar_counts_by_cost_and_shows_the_note(log, capsys):
    heard = []
    replicates("draw", SETTINGS, draw, tasks(log, [1, 2]), unit="chains",
               note=lambda found: heard.append(len(found)) or f"seen {len(found)}")
    assert max(heard) == 2
    errors = capsys.readouterr().err
    assert "100%" in errors and "2/2 chains, seen 2" in errors


@pytest.mark.parametrize("jobs", [1, 2])
def test_linear_algebra_has_one_thread(jobs):
    with threadpool_limits(2):  # whatever the user has set
        found = replicates("threads", SETTINGS._replace(jobs=jobs), threads,
                           [{"seed": 1}, {"seed": 2}])
    assert [r["threads"] for r in found] == [1, 1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_is_for_the_parent_alone(jobs):
    found = replicates("deaf", SETTINGS._replace(jobs=jobs), deaf, [{"seed": 1}, {"seed": 2}])
    assert [r["deaf"] for r in found] == [jobs > 1] * 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_replicate_is_shown_and_the_others_are_kept(jobs, folder):
    with pytest.raises(ArithmeticError, match="own error"):
        replicates("fail", SETTINGS._replace(jobs=jobs), fail, [
            {"seed": seed, "cost": -seed} for seed in range(4)])
    assert len(list((folder / "replicates" / "fail").glob("*.json"))) >= 2  # done before seed 3


def test_what_is_no_number_is_refused():
    with pytest.raises(TypeError, match="cannot be stored as JSON"):
        harness.to_json({"result": object()})


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path, link = tmp_path / "file", tmp_path / "link"
    harness.write(path, "older")
    os.link(path, link)
    harness.write(path, "old")
    assert link.read_text() == "older"  # a reader who has the file open keeps it
    monkeypatch.setattr(os, "fsync", lambda _: 1 / 0)  # the disk is full, say
    with pytest.raises(ZeroDivisionError):
        harness.write(path, "new")
    assert path.read_text() == "old"
    assert {*tmp_path.iterdir()} == {path, link}


# Interrupted

SLOW = '''
"""A script whose replicates take a while."""
import sys, time
from pathlib import Path
import harness
harness.FIGURES = Path(__file__).parent / "figures"

def slow(seed):
    with open(Path(__file__).parent / "log", "a") as file:
        file.write(f"{seed}\\n")
    time.sleep(0.3)
    return {"seed": seed}

if __name__ == "__main__":
    settings = harness.parse(__doc__)
    found = harness.replicates("slow", settings, slow, [{"seed": k} for k in range(8)])
    print([r["seed"] for r in found])
'''


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_script_keeps_what_is_finished_and_resumes(tmp_path, jobs, how):
    script, store = tmp_path / "slow_fig1.py", tmp_path / "figures" / "short" / "replicates/slow"
    script.write_text(SLOW)
    command = [sys.executable, str(script), "--jobs", jobs]
    options = {"env": environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "text": True}
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        while len(list(store.glob("*.json"))) < 2:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, how)  # as a terminal does on Ctrl-C
        _, errors = process.communicate(timeout=20)
    kept = {path.name for path in store.glob("*.json")}
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert f"{len(kept)} of 8 replicates are kept; run the same command" in errors
        assert "Traceback" not in errors
    begun = len(calls(tmp_path / "log"))
    assert 2 <= len(kept) < 8
    assert begun - len(kept) <= int(jobs)  # at most one lost in each process
    again = subprocess.run(command, check=True, timeout=60, **options)
    assert again.stdout == f"{[*range(8)]}\n"
    assert len(calls(tmp_path / "log")) - begun == 8 - len(kept)
    assert kept <= {path.name for path in store.glob("*.json")}


# Claims


@pytest.mark.parametrize(("low", "high", "paper", "value", "se", "wanted"), [
    # a number: [1, 2]
    (1, 2, "1.5", 1.5, 0.0, "agrees"),
    (1, 2, "1.5", 2.0, 0.0, "agrees"),
    (1, 2, "1.5", 2.0001, 0.0, "differs"),
    (1, 2, "1.5", 1.99, 0.1, "agrees"),
    (1, 2, "1.5", 2.39, 0.1, "cannot tell"),
    (1, 2, "1.5", 2.41, 0.1, "differs"),
    (1, 2, "1.5", 0.61, 0.1, "cannot tell"),
    (1, 2, "1.5", 0.59, 0.1, "differs"),
    (1, 2, "1.5", 1.5, 0.51, "cannot tell"),  # by luck
    (3, 3, "3", 3, 0.0, "agrees"),
    # an order: above 0
    (0, INF, "order", 0.21, 0.1, "agrees"),
    (0, INF, "order", 0.19, 0.1, "cannot tell"),
    (0, INF, "order", -0.39, 0.1, "cannot tell"),
    (0, INF, "order", -0.41, 0.1, "differs"),
    (0, INF, "order", 0.0, 0.0, "agrees"),
    (-INF, 5, "order", 4.9, 0.1, "cannot tell"),
    (-INF, 5, "5", 4.9, 0.1, "cannot tell"),
    (0, 1, "order", 0.9, 0.1, "cannot tell"),
    (-INF, INF, "any", 3, 1.0, "agrees"),
    # trouble
    (1, 2, "1.5", math.nan, 0.0, "differs"),
    (1, 2, "1.5", math.nan, 1.0, "differs"),
    (1, 2, "1.5", math.inf, 1.0, "differs"),
    (0, INF, "order", -INF, 0.0, "differs"),
    (1, 2, "1.5", 1.5, math.nan, "cannot tell"),
    (1, 2, "1.5", 1.5, math.inf, "cannot tell"),
    (1, 2, "1.5", 9.0, math.inf, "cannot tell"),
    (1, 2, "1.5", 9.0, math.nan, "cannot tell"),
])
def test_verdicts(low, high, paper, value, se, wanted):
    claim = Claim("x", paper, low, high, "because")
    assert verdict(claim, value, se) == wanted
    known = wanted.replace("differs", "known difference")
    assert verdict(claim._replace(known="a misprint"), value, se) == known


def test_a_negative_standard_error_is_refused():
    with pytest.raises(ValueError, match="standard error of 'x'"):
        verdict(Claim("x", "1", 0, 2, "because"), 1.0, -1.0)


CLAIMS = [
    Claim("rate", "0.91", 0.9, 0.92, "rounding; " + "many words " * 20),
    Claim("gain", "order", 1.0, INF, "the text", "the product is impossible: 2 x 3 = 6"),
    Claim("bias", "0", -1.0, 1.0, "4 s.e."),
    Claim("slope", "2", 1.0, 3.0, "the theory"),
]
MEASURED = {"rate": Measured(0.911, 0.0012), "gain": 0.5, "bias": Measured(1.2, 0.1),
            "slope": np.float64(9.0), "time": Measured(12.3, 0.4), "nothing": math.nan}


def test_the_report_has_every_number_verdict_and_reason(folder, capsys):
    assert report("x_fig1", SETTINGS, CLAIMS, MEASURED, extra="the table\n") == 1
    text = (folder / "x_fig1.txt").read_text()
    assert capsys.readouterr().out == "\n" + text
    assert text.startswith("the table\n")
    for words in ("agrees           rate", "0.9110 (s.e. 0.0012)", "paper: 0.91", "[0.9, 0.92]",
                  "known difference gain", "known: the product is impossible", "[1, inf]",
                  "cannot tell      bias", "differs          slope", "12.30 (s.e. 0.40)",
                  "1 agrees, 1 cannot tell, 1 known difference, 1 differs"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.split("also measured")[1].split()[1:] == [
        "-------------", "-----------------", "time", "12.30", "(s.e.", "0.40)", "nothing", "nan",
        "1", "agrees,", "1", "cannot", "tell,", "1", "known", "difference,", "1", "differs"]


def test_a_claim_about_what_is_not_measured_is_an_error():
    with pytest.raises(ValueError, match="rate"):
        report("x_fig1", SETTINGS, CLAIMS, {"gain": 1.0})


def test_finish_writes_the_report_the_figure_and_the_numbers(folder, log):
    for seeds in ([1, 2], [3]):  # a script may have several sets of replicates
        replicates("x_fig7", SETTINGS, draw, tasks(log, seeds))
    stored = [json.loads(path.read_text()) for path in (folder / "replicates").rglob("*.json")]
    numbers = {"curve": np.array([0.1, math.nan]), "third": 1 / 3}
    figure = harness.plt.figure()
    assert harness.finish("x_fig7", SETTINGS, CLAIMS, MEASURED, figure, numbers) == 1
    assert (folder / "x_fig7.png").read_bytes().startswith(b"\x89PNG")
    assert harness.plt.get_fignums() == []
    record = json.loads((folder / "x_fig7.json").read_text())
    assert record["numbers"]["third"] == 1 / 3
    assert record["numbers"]["curve"][0] == 0.1 and math.isnan(record["numbers"]["curve"][1])
    assert record["verdicts"] == dict.fromkeys(harness.VERDICTS, 1)
    assert [claim["verdict"] for claim in record["claims"]] == [
        "agrees", "known difference", "cannot tell", "differs"]
    assert record["seed"] == 1 and record["budget"] == "smoke"
    assert record["versions"].keys() == {"python", "numba", "numpy", "scipy", "mirrormc"}
    assert record["processor"] and record["cores"] >= 1 and record["date"].startswith("2")
    assert record["seconds"] > 0
    assert record["replicate_seconds"] == pytest.approx(sum(r["seconds"] for r in stored))
    assert len(stored) == 3


def test_a_number_has_the_digits_of_its_error():
    assert harness.number((1.23456, 0.012)) == "1.235 (s.e. 0.012)"
    assert harness.number((1234.5, 30)) == "1234 (s.e. 30)"
    assert harness.number((7e-30, 7e-30)) == "7.0e-30 (s.e. 7.0e-30)"
    assert harness.number((0.5, 0)) == "0.5"


def test_the_paper_budget_writes_where_results_are_committed(folder):
    assert harness.figures(SETTINGS) == folder
    assert harness.figures(Settings("paper")) == folder.parent


def test_a_table_is_aligned():
    assert harness.table([["EP", -90.1234567, 3], ["AIS", 5.0, 11]], ["method", "log Z", "n"]) == (
        "method   log Z   n\n"
        "------  ------  --\n"
        "EP      -90.12   3\n"
        "AIS          5  11")


# Every script

FAKE = '''
import json, sys
from pathlib import Path
Path({saved!r}).write_text(json.dumps({{
    "verdicts": {{"agrees": 2, "cannot tell": 0, "known difference": 1, "differs": {status}}},
    "claims": [{{"what": "a | b", "paper": "3", "value": 3.25, "se": 0.5, "verdict": "agrees"}}],
    "replicate_seconds": 600.0, "argv": sys.argv[1:]}}))
sys.exit({status})
'''


@pytest.fixture
def everything(tmp_path, folder):
    """Return reproduce/all.py and a function that puts a fake script beside others."""
    folder.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "harness.py").write_text("raise SystemExit(5)")

    def script(name, status=0, text=FAKE):
        saved = str(folder / f"{name}.json")
        (tmp_path / "scripts" / f"{name}.py").write_text(text.format(saved=saved, status=status))

    return import_module("all"), script


def test_all_scripts_run_and_one_that_fails_does_not_stop_the_others(everything, tmp_path, folder):
    every, script = everything
    script("paquet_fig1", 1)
    script("wang_table1")
    script("zhang_compare", 1, "OPTIONAL = True\nraise SystemExit(1)")
    (folder / "shahbaba_fig1.json").write_text('{"verdicts": {"agrees": 9}}')  # of an earlier run
    script("shahbaba_fig1", 2, "raise SystemExit({status})")
    settings = Settings("smoke", 2, 5, True, "there")
    assert every.main(settings, tmp_path / "scripts") == 1
    text = (folder / "results.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")]
            for line in text.splitlines() if line.startswith("| `")]
    assert [(row[0], *row[1:5], row[7]) for row in rows[:3]] == [
        ("`paquet_fig1`", "2", "0", "1", "1", "1"),
        ("`shahbaba_fig1`", "", "", "", "", "2"),
        ("`wang_table1`", "2", "0", "1", "0", "0")]
    assert rows[0][6] == "10 min"
    assert rows[3] == ["`paquet_fig1`", "a \\| b", "3", "3.25 ± 0.5", "agrees"]
    assert json.loads((folder / "wang_table1.json").read_text())["argv"] == (
        "--budget smoke --jobs 2 --seed 5 --fresh --data there".split())


def test_all_is_well(everything, tmp_path):
    every, script = everything
    script("paquet_fig1")
    assert every.main(SETTINGS, tmp_path / "scripts") == 0


def test_an_interrupted_script_stops_the_others(everything, tmp_path, folder):
    every, script = everything
    script("paquet_fig1", 130)
    script("wang_table1")
    assert every.main(SETTINGS, tmp_path / "scripts") == 130
    assert not (folder / "wang_table1.json").exists()


def test_the_scripts_of_the_project_are_found():
    every = import_module("all")
    names = {path.stem for path in every.scripts(Path(every.__file__).parent)}
    assert not names & {"all", "data", "harness", "mirror"}
