"""Studies for tests of what runs them, what they compute, and how such a test looks at it."""

import os
import time

import numpy as np

from reproduce.harness.fingerprint import ROOT
from reproduce.harness.run import Study
from reproduce.harness.style import plt

# it computes nothing, unless a test says what
NOTHING = Study(
    name="x_fig7", what="nothing much", minutes=dict.fromkeys(("smoke", "short", "paper"), 0.1),
    doc="A script.", cases=lambda settings: "none", run=lambda experiment, cases: None, claims=[],
    table=lambda r: "", figure=lambda r: plt.figure())

SCRIPT = '''
"""A script."""
import ctypes, os, time
from pathlib import Path
import numpy as np
from reproduce.harness import replicates
from reproduce.harness.run import Study, main
from reproduce.harness.style import plt
replicates.FIGURES = Path(__file__).parent / "figures"
table = str

def note(word, log=Path(__file__).parent / "log", more=""):
    with open(log, "a") as file:  # which replicate, the process that computes it, and its parent
        file.write(f"{{word}} {{os.getpid()}} {{os.getppid()}} {{more}}\\n")
{work}
if __name__ == "__main__":
    minutes = dict.fromkeys(("smoke", "short", "paper"), 0.1)
    main(Study(Path(__file__).stem, "naps", minutes, __doc__, lambda settings: "none", run, [],
               table, lambda result: plt.figure()))
'''


def write_script(path, work):
    """Write a script that does this `work`: it defines `run`; return its path."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(SCRIPT.format(work=work))
    return path


def begun(log):
    """Return (replicate, process, its parent) of all that a script has begun, by its file `log`."""
    return [tuple(map(int, line.split()[:3])) for line in log.read_text().splitlines()
            ] if log.exists() else []


def environment(*places, **changes):
    """Return an environment in which imports are found in these places, and in the project."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*places, ROOT)))} | changes


def wait_until(condition, seconds=300, process=None):
    """Wait, for minutes at most, which no machine needs that is not overloaded.

    process : that must not end meanwhile
    """
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)


def draw(seed, log, n=3):
    """Return numbers of all kinds, and leave a line in the file `log` for every call."""
    with open(log, "a") as file:
        file.write(f"{seed}\n")
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal(n), "mean": np.float64(rng.random()), "n": np.int64(n),
            "odd": [np.nan, np.inf, -np.inf, -0.0, 5e-324], "ok": np.bool_(True)}


def calls(log):
    return sorted(map(int, log.read_text().split())) if log.exists() else []


class Recorder:
    """Stands for an experiment: keeps what is asked for, and returns what `made` makes up."""

    def __init__(self, budget, made=None):
        self.budget, self.seed, self.calls = budget, 5, []
        self.made = made or self.made

    def of(self, name):
        return self

    def replicates(self, function, tasks, unit, note=None, warm=None):
        self.calls.append((function.__name__, tasks))
        done = self.made(function, tasks)
        assert note is None or note(done).startswith("acceptance rate 0.")
        return done
