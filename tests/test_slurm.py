"""reproduce/slurm.sh: what it submits; and on a real SLURM of one node, what a killed task costs.

The latter is `-m cluster`; as root, with Debian's slurmctld, slurmd, slurm-client and munge.  The
daemons belong to the test, listen on this machine alone, and keep all their files in its folder.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from reproduce.harness.fingerprint import ROOT
from studies import begun, wait_until, write_script

DAEMONS = ("munged", "slurmctld", "slurmd")
TEMPLATE = ROOT / "reproduce" / "slurm.sh"
BASH = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash: apt-get install bash")
NEEDED = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0 or not all(map(shutil.which, DAEMONS)),
    reason="needs root, and apt-get install slurmctld slurmd slurm-client munge")

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1
{node} NodeAddr=127.0.0.1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


def free_ports():
    with socket.socket() as one, socket.socket() as two:
        for each in (one, two):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


@pytest.fixture
def slurm(tmp_path):
    """Start SLURM; return a function that calls its commands and returns what they print."""
    folder = tmp_path / "slurm"
    for each in (folder, folder / "state", folder / "spool"):
        each.mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    node = subprocess.run(["slurmd", "-C"], capture_output=True, text=True, check=True).stdout
    (folder / "slurm.conf").write_text(CONFIGURATION.format(
        folder=folder, host=socket.gethostname().split(".")[0], ports=free_ports(),
        node=node.splitlines()[0]))
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("SLURM", "SBATCH"))} | {
        "SLURM_CONF": str(folder / "slurm.conf"), "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "SBATCH_OUTPUT": str(tmp_path / "%A_%a.out")}

    def call(*command, **changes):
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              env=environment | changes).stdout

    commands = [
        ["munged", "-F", "--force", *(f"--{name}={folder}/munge{end}" for name, end in (
            ("socket", ".socket"), ("key-file", ".key"), ("pid-file", ".pid"),
            ("log-file", ".log"), ("seed-file", ".seed")))],
        ["slurmctld", "-D", "-c"], ["slurmd", "-D"]]
    daemons = []
    for command in commands:
        with open(folder / f"{command[0]}.out", "w") as out:
            daemons.append(subprocess.Popen(command, stdout=out, stderr=out, env=environment))
        wait_until((folder / "munge.socket").exists)
    wait_until(lambda: subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment,
                                      capture_output=True, text=True).stdout.strip() == "idle")
    yield call
    call("scancel", f"--user={os.getuid()}")
    wait_until(lambda: not call("squeue", "-h"))
    for daemon in reversed(daemons):
        daemon.terminate()
        daemon.wait(60)


WORK = """
def nap(seed):
    note(seed)
    time.sleep(0.7)
    return {"x": np.random.default_rng(seed).standard_normal(3)}

def thought(seed, x):
    note(100 + seed)
    return {"x": np.random.default_rng(seed).standard_normal(3) * x}

def run(experiment, cases):
    found = experiment.replicates(nap, [{"seed": k, "cost": 1 + k % 2} for k in range(12)], "naps")
    return experiment.replicates(thought, [
        {"seed": k, "x": each["x"][0]} for k, each in enumerate(found)], "thoughts")
"""


def jobs(printed):
    return re.findall(r"^round \d+ of \d+: job (\d+)$", printed, re.MULTILINE)


@NEEDED
@pytest.mark.cluster
def test_a_killed_task_is_submitted_again_and_the_results_are_those_of_one_process(slurm, tmp_path):
    script = str(write_script(tmp_path / "shards" / "naps_fig1.py", WORK))
    log = tmp_path / "shards" / "log"

    (job,) = jobs(slurm("bash", str(TEMPLATE), "3", "1", script, "--budget", "smoke"))
    wait_until(lambda: begun(log))
    lost, _, shard = begun(log)[0]
    os.kill(shard, signal.SIGKILL)
    wait_until(lambda: not slurm("squeue", "-h"))
    states = re.findall(r"ArrayTaskId=(\d).*?JobState=(\w+)", slurm("scontrol", "show", "job", job),
                        re.DOTALL)
    assert Counter(state for _, state in states) == {"COMPLETED": 2, "FAILED": 1}
    (number,) = [number for number, state in states if state == "FAILED"]
    said = {k: (tmp_path / f"{job}_{k}.out").read_text() for k in "123"}
    assert all("another round is needed" in text for k, text in said.items() if k != number)
    assert Counter(replicate for replicate, *_ in begun(log)).most_common(1)[0][1] == 1

    # that task alone for the stage that lacks its share, then the second stage in a round
    (job,) = jobs(slurm("bash", str(TEMPLATE), "3", "1", script, "--budget", "smoke", ARRAY=number))
    wait_until(lambda: not slurm("squeue", "-h"))
    assert [path.name for path in tmp_path.glob(f"{job}_*.out")] == [f"{job}_{number}.out"]
    rounds = jobs(slurm("bash", str(TEMPLATE), "3", "2", script, "--budget", "smoke"))
    wait_until(lambda: not slurm("squeue", "-h"))
    assert len(rounds) == 2
    last = [(tmp_path / f"{rounds[-1]}_{k}.out").read_text().splitlines()[-1] for k in "123"]
    assert all("no other round is needed" in line for line in last)
    count = Counter(replicate for replicate, *_ in begun(log))
    assert count == Counter([*range(12), *range(100, 112), lost])  # it alone was begun twice

    collected = slurm(sys.executable, script, "--budget", "smoke", "--jobs", "0")
    assert len(begun(log)) == 25  # nothing was left to compute
    alone = str(write_script(tmp_path / "alone" / "naps_fig1.py", WORK))
    wanted = slurm(sys.executable, alone, "--budget", "smoke", "--jobs", "0")
    assert collected.splitlines()[2:-1] == wanted.splitlines()[2:-1]  # every bit
    assert collected.splitlines()[2].startswith("[{'x': [")


def run(*arguments, **environment):
    return subprocess.run(["bash", str(TEMPLATE), *arguments], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"]} | environment)


@BASH
@pytest.mark.parametrize("wrong", ["", "3", "3 1", "0 1 all.py", "3 x all.py", "1/3 1 all.py"])
def test_wrong_arguments_end_with_the_usage(wrong):
    done = run(*wrong.split())
    assert done.returncode == 2 and "slurm.sh TASKS ROUNDS reproduce/<script>.py" in done.stderr


@BASH
def test_each_round_waits_for_the_one_before(tmp_path):
    (tmp_path / "sbatch").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/log\nwc -l < {tmp_path}/log | tr -d " "\n')
    (tmp_path / "sbatch").chmod(0o700)
    script = ROOT / "reproduce" / "all.py"
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    assert jobs(run("7", "3", str(script), "--seed", "5", PATH=path).stdout) == ["1", "2", "3"]
    assert jobs(run("7", "1", str(script), PATH=path, ARRAY="4").stdout) == ["4"]
    assert jobs(run("7", "1", str(script), "--data", ".", PATH=path).stdout) == ["5"]
    assert jobs(run("7", "1", str(script), "--data=.", PATH=path).stdout) == ["6"]
    start, end = f"--parsable --chdir={ROOT} --array=", "reproduce/slurm.sh 7"
    assert (tmp_path / "log").read_text().splitlines() == [
        f"{start}1-7 {end} 3 {script} --seed 5",
        f"{start}1-7 --dependency=afterany:1 {end} 3 {script} --seed 5",
        f"{start}1-7 --dependency=afterany:2 {end} 3 {script} --seed 5",
        f"{start}4 {end} 1 {script}", f"{start}1-7 {end} 1 {script} --data {Path.cwd()}",
        f"{start}1-7 {end} 1 {script} --data={Path.cwd()}"]


@BASH
def test_a_task_is_one_shard_on_one_thread(tmp_path):
    (tmp_path / "python").write_text(
        '#!/bin/sh\necho "$@" $OPENBLAS_NUM_THREADS $NUMBA_CACHE_DIR\n')
    (tmp_path / "python").chmod(0o700)
    done = run("7", "3", "x.py", "--seed", "5", PYTHON=str(tmp_path / "python"),
               SLURM_ARRAY_TASK_ID="4", NUMBA_CACHE_DIR="here")
    assert done.stdout == "x.py --seed 5 --jobs 1 --shard 4/7 1 here\n"
