"""reproduce/harness/run.py: the command line, the first line, what a script writes, how it ends."""

import gc
import json
import os
import re
import subprocess
import sys

import joblib
import pytest
from threadpoolctl import threadpool_limits

from conftest import python
from reproduce.harness import replicates, run
from reproduce.harness.claims import Claim, Declared, Measured
from reproduce.harness.files import Data, DataError
from reproduce.harness.fingerprint import ROOT
from reproduce.harness.run import Settings, announce, main, parse
from reproduce.harness.style import plt
from reproduce.paquet import digits
from studies import NOTHING, environment, write_script
from test_replicates import where


@pytest.fixture(autouse=True)
def folder(figures, monkeypatch):
    monkeypatch.delenv("PAPERS_DATA", raising=False)
    return figures


def test_options():
    cores = joblib.cpu_count()
    assert parse("", []) == Settings("short", min(2, cores), 1, False, None)
    assert parse("", ["--shard", "3/8"]).shard == (3, 8)
    assert str(parse("", ["--shard", "3/8"]).shard) == "3/8" and parse("", []).shard is None
    given = f"--budget paper --jobs 100000 --seed 7 --fresh --data {ROOT}".split()
    assert parse("", given) == Settings("paper", cores, 7, True, str(ROOT))
    assert os.environ["PAPERS_DATA"].split(os.pathsep)[0] == str(ROOT)  # for other processes
    assert parse("", ["--jobs", "0"]).jobs == 0
    parse("", ["--data", str(ROOT / "tests")])  # which comes before those that were known
    assert os.environ["PAPERS_DATA"].split(os.pathsep) == [str(ROOT / "tests"), str(ROOT), ""]


def test_a_script_of_another_copy_of_the_project_is_refused(tmp_path, monkeypatch):
    other = tmp_path / "reproduce" / "beyond" / "x_y.py"
    for file in (other, tmp_path / "reproduce" / "harness" / "run.py", tmp_path / "x_y.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for path in (tmp_path / "x_y.py", ROOT / "reproduce" / "wang_fig1.py", tmp_path / "pytest"):
        run.one_copy(path)
    monkeypatch.setattr(sys, "argv", [str(other)])
    with pytest.raises(SystemExit, match=f"{other} is of .* PYTHONPATH={tmp_path}$"):
        parse("", [])


def test_a_folder_with_the_sign_between_folders_in_its_name_is_refused(tmp_path, capsys):
    (tmp_path / os.pathsep).mkdir()
    with pytest.raises(SystemExit, match="2"):
        parse("", ["--data", str(tmp_path / os.pathsep)])
    assert f"must have no {os.pathsep} in its name" in capsys.readouterr().err


@pytest.mark.parametrize(("wrong", "said"), [
    *((wrong, "error: ") for wrong in (
        "--jobs -1", "--jobs x", "--jobs 1.5", "--seed -1", f"--seed {'9' * 5000}", "--budget long",
        "--what", "--data nowhere", f"--data {__file__}")),
    *((f"--shard {wrong}", "--shard") for wrong in (
        "0/3", "4/3", "3", "3/", "/3", "a/b", "-1/2", "1/2/3", "1.5/2", "1/0", "", "1/9999999999",
        "1/2 --fresh")),
    ("--dask tcp://10.0.0.1:1 --shard 1/2", "not allowed with"),
    ("--dask ", "is not the address"), ("--dask \t", "is not the address"),
    ("--dask tcp://10.0.0.1:1", ".[cluster]")])  # without the library
def test_wrong_options_end_with_a_sentence(wrong, said, monkeypatch, capsys):
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end:
        parse("what it does", wrong.split(" "))
    assert end.value.code == 2 and said in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("minutes", "said"), [
    (0.5, "30 s"), (1.49, "89 s"), (1.5, "2 min"), (89, "89 min"), (90, "1.5 h"), (150, "2.5 h")])
def test_the_first_line_says_what_on_which_data_and_how_long(capsys, minutes, said):
    script = NOTHING._replace(name="x_fig1", what="ten chains",
                              minutes={"smoke": minutes, "short": minutes})
    announce(script, Settings("smoke"), OTHER)
    announce(script, Settings(jobs=2, seed=7), "simulated")
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("; seed 1") and second.endswith("; seed 7")
    assert first.startswith("x_fig1, smoke budget: ten chains; data: digits (USPS is not here);"
                            f" about {said} with 2 jobs, here 0 (")
    assert second.startswith("x_fig1, short budget: ten chains; data: simulated;"
                             f" about {said} with 2 jobs (")


def test_the_first_line_does_not_wait_for_what_it_does_not_need():
    code = ("import sys, reproduce.harness.run, reproduce.harness.files;"
            "print({'joblib', 'pooch', 'requests', 'matplotlib'} & {*sys.modules})")
    assert python("-c", code).strip() == "set()"


@pytest.mark.parametrize(("then", "status", "said"), [
    ("raise KeyboardInterrupt", 130, "Interrupted\\.\n"),  # a word and no traceback
    ("import os; os.close(2); raise KeyboardInterrupt", 130, ""),
    ("raise LookupError('nothing here')", 1, "Traceback.*LookupError: nothing here\n")])
def test_how_a_script_ends_that_is_stopped_before_it_is_ready(then, status, said):
    done = subprocess.run([sys.executable, "-c",
                           f"from reproduce.harness.start import main\n{then}"],
                          capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stdout) == (status, "")
    assert re.fullmatch(said, done.stderr, re.DOTALL)


HOMELESS = """
import os, pwd
def nobody(number):
    raise KeyError(number)
pwd.getpwuid = nobody  # as for a number that no user has
del os.environ["HOME"]
os.environ.pop("XDG_CACHE_HOME", None)
from reproduce.harness.run import ROOT, begin
from pooch import os_cache
begin()
print(os_cache("mirrormc") == ROOT / ".cache" / "mirrormc")
"""


def test_where_there_is_no_home_data_are_kept_beside_the_project(tmp_path):
    done = subprocess.run([sys.executable, "-c", HOMELESS], capture_output=True, text=True,
                          cwd=tmp_path, env=environment())
    assert (done.stdout, done.stderr) == ("True\n", "") and not [*tmp_path.iterdir()]


OTHER = Data("digits", None, None, "USPS is not here")


def script(**changes):
    def run(experiment, cases):
        (found,) = experiment.replicates(where, [{"seed": experiment.seed}])
        return {"rate": Measured(0.9, 0.01), "here": where(0)["threads"]} | found

    return NOTHING._replace(
        cases=lambda settings: f"made on {where(0)['threads']}", run=run,
        table=lambda result: f"the table, on {where(0)['threads']}\n", claims=[
            Claim("rate", "0.91", lambda r: r["rate"], 0.85, 0.95, "rounding", "printed number"),
            Claim("threads", "1", lambda r: r["threads"] + r["here"], 2, 2, "all", "ours"),
        ])._replace(**changes)


@pytest.mark.parametrize("jobs", ["0", "1"])
def test_a_run_writes_its_report_figure_and_numbers_on_one_thread(ends, folder, jobs):
    before = plt.get_fignums()  # other tests leave theirs
    with threadpool_limits(2, "blas"):  # whatever the user has set
        status, out, _ = ends(script(), "--jobs", jobs, "--seed", "3")
    text = (folder / "x_fig7.txt").read_text()
    assert status == 0
    assert text.startswith("the table, on 1\n\n") and text.endswith("2 agrees\n")
    assert text in out and "data: made on 1;" in out
    assert out.splitlines()[-1] == str(folder / "x_fig7.png")
    assert (folder / "x_fig7.png").read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == before
    record = json.loads((folder / "x_fig7.json").read_text())
    assert [(c["what"], c["verdict"], c["kind"]) for c in record["claims"]] == [
        ("rate", "agrees", "printed number"), ("threads", "agrees", "ours")]
    assert record["claims"][0]["value"] == 0.9 and record["claims"][0]["se"] == 0.01
    assert record["seed"] == 3 and record["jobs"] == int(jobs) and record["budget"] == "smoke"
    assert record["versions"].keys() == {"python", "numba", "numpy", "scipy"}
    assert record["processor"] and record["blas"] and record["date"].startswith("2")
    (one,) = (folder / "replicates" / "x_fig7").iterdir()
    assert record["seconds"] > 0
    assert record["replicate_seconds"] == json.loads(one.read_text())["seconds"]


def test_a_failing_claim_is_exit_status_1(ends):
    exact = script().claims[0]._replace(ours=lambda r: 0.9)  # a smoke run can fail by no other
    wrong = exact._replace(what="wrong", low=0.0, high=0.1)
    assert ends(script(claims=[wrong]))[0] == 1
    for seen in ("", "2025-12-31"):  # declared before or after a run has shown it
        known = Declared("a misprint", "2026-01-01", seen)
        assert ends(script(claims=[wrong._replace(known=known)]))[0] == 0
    assert ends(script(claims=[exact._replace(known=Declared("a misprint", "2026-01-01"))]))[0] == 1


def test_no_claim_is_made_on_other_data_than_those_asked_for(ends, folder):
    assert ends(script(cases=OTHER))[0] == 0
    assert "No claim is made: USPS is not here" in (folder / "x_fig7.txt").read_text()
    assert json.loads((folder / "x_fig7.json").read_text())["claims"] == []


def test_the_paper_budget_packs_its_replicates_but_not_of_other_data_or_recalled_ones(ends, folder):
    assert ends(script(cases=OTHER), "--budget", "paper")[0] == 0
    pack = folder.parent / "replicates" / "x_fig7.json.gz"
    assert not pack.exists()
    assert ends(script(), "--budget", "paper")[0] == 0
    assert pack.exists() and not (folder.parent / "replicates" / "x_fig7").exists()
    assert (folder.parent / "x_fig7.txt").exists()
    os.utime(pack, (0, 0))
    assert run.whole_run(script(), Settings("paper", recall=True)) == 0
    assert pack.stat().st_mtime == 0


def test_killed_processes_are_counted_before_the_last_line(ends, monkeypatch):
    monkeypatch.setattr(run, "killed", ["chain(1)", "chain(2)", "chain(1)"])
    said = ["Killed: 2 processes that computed chain(1)",
            "Killed: 1 process that computed chain(2)"]
    status, out, _ = ends(script())
    assert (status, out.splitlines()[-3:-1]) == (0, said)

    def killing(experiment, cases):
        raise replicates.Lost("chain(1) is given up")

    status, _, errors = ends(script(run=killing))
    assert (status, errors.splitlines()) == (1, [*said, "chain(1) is given up"])


@pytest.mark.parametrize(("error", "status", "said"), [
    (KeyboardInterrupt(), 130, "Interrupted.\n"), (BrokenPipeError(), 141, ""),
    (run.ClusterError("nobody is there"), 2, "nobody is there\n"),
    (DataError("cases.txt is nowhere"), 2, "cases.txt is nowhere\n"),
    (NotADirectoryError(20, "Not a directory", "figures"), 2,
     "figures cannot be read or written: Not a directory. What is finished is kept: make that"
     " possible, and run the same command again.\n")])
def test_how_a_command_ends_that_is_stopped(capsys, error, status, said):
    def stopped():
        raise error

    assert (run.exit_status(stopped), capsys.readouterr().err) == (status, said)


@pytest.mark.filterwarnings(  # NumPy does not close what it cannot read
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("damage", [
    lambda content: content[:0], lambda content: content[:10], lambda content: content[:1000],
    lambda content: content[:-1], lambda content: b"x" * 8 + content[8:],
    lambda content: content[:1000] + b"x" * 8 + content[1008:]],
    ids=["empty", "10 bytes", "1000 bytes", "all but one", "another beginning", "overwritten"])
def test_a_damaged_data_set_is_a_sentence_and_exit_status_2(ends, monkeypatch, tmp_path, damage):
    (tmp_path / "digits.npz").write_bytes(damage(digits.DIGITS.read_bytes()))
    monkeypatch.setattr(digits, "DIGITS", tmp_path / "digits.npz")
    status, _, errors = ends(script(cases=lambda _: digits.digits_3v5()))
    gc.collect()  # here, where its warning is none, and not in a later test
    (said,) = errors.splitlines()
    assert status == 2 and "is damaged" in said and "git restore" in said


TINY = """
def third(seed):
    return {"x": seed / 3}

def run(experiment, cases):
    return experiment.replicates(third, [{"seed": k} for k in range(3)])

def table(result):
    return chr(0xe9) + " " + chr(0x2207)  # letters that not every locale has
"""


@pytest.fixture
def tiny(tmp_path):
    script = write_script(tmp_path / "here" / "tiny_fig1.py", TINY)

    def start(*options, budget="smoke", before=(), **changes):
        options = [*before, sys.executable, str(script), "--budget", budget, *options]
        return subprocess.Popen(options, **{
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path,
            "env": environment()} | changes)

    return start, tmp_path / "here" / "figures"


def ended(process):
    """Wait for the end; return the exit status and what is on the standard error but the bar."""
    errors = process.communicate()[1].replace("\r", "\n").splitlines()
    return process.returncode, [line for line in errors if line and "%|" not in line]


LIMITED = ("import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
           "os.execv(sys.argv[1], sys.argv[1:])")  # files have 100 bytes at most


@pytest.mark.parametrize("jobs", ["0", "1"])
def test_a_full_disk_is_a_sentence_and_exit_status_2(tiny, jobs):
    start, folder = tiny
    status, (said,) = ended(start("--jobs", jobs, before=[sys.executable, "-c", LIMITED]))
    assert status == 2
    assert str(folder / "smoke" / "replicates") in said and "File too large" in said
    assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux, which has /dev/full")
def test_an_output_that_cannot_be_written_is_a_sentence_and_exit_status_2(tiny):
    start, _ = tiny
    with open("/dev/full", "w") as full:
        status, (said,) = ended(start("--jobs", "0", stdout=full))
    assert status == 2
    assert said.startswith("What is printed, or a file, cannot be read or written: No space left")


def test_a_reader_that_goes_away_costs_no_result(tiny):
    start, folder = tiny
    process = start("--jobs", "0")
    assert process.stdout.readline().startswith("tiny_fig1")
    process.stdout.close()  # as `| head -1` does
    process.stdout = None
    assert ended(process) == (141, [])
    assert {path.suffix for path in (folder / "smoke").glob("tiny*")} == {".txt", ".png", ".json"}


def test_a_poor_environment_does_no_harm(tiny, tmp_path):
    start, folder = tiny
    (tmp_path / "elsewhere").mkdir()
    poor = {name: environment()[name] for name in ("PATH", "PYTHONPATH")} | {
        "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # ASCII alone, no HOME
    process = start("--jobs", "0", env=poor, cwd=tmp_path / "elsewhere")
    printed, _ = process.communicate()
    assert process.returncode == 0
    assert r"\xe9 \u2207" in printed
    assert "\u00e9 \u2207" in (folder / "smoke" / "tiny_fig1.txt").read_text("utf-8")
    for jobs in "01":
        closed = start("--fresh", "--jobs", jobs, before=["sh", "-c", '"$@" >&- 2>&-', "sh"])
        assert closed.communicate() == ("", "") and closed.returncode == 0


@pytest.mark.parametrize("end", [lambda: 1, lambda: sys.exit(130)])  # a claim fails; Ctrl-C
def test_no_process_is_left_to_be_waited_for(end, monkeypatch):
    left = []
    monkeypatch.setattr(run, "parse", lambda doc: Settings())
    monkeypatch.setattr(run, "exit_status", lambda *_: end())
    monkeypatch.setattr(run, "kill_all", lambda: left.append("killed"))
    with pytest.raises(SystemExit) as ended:
        main(NOTHING)
    assert left == ["killed"] and ended.value.code in (1, 130)
