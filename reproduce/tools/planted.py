"""Draw what a figure becomes with the bug of each exercise, beside the figure as it is.

Run     python reproduce/tools/planted.py [exercise ...]    half an hour for all, if none is named
Writes  figures/exercises/<exercise>.png, the figure with the bug; <script>.png and
        <script>_mirror.png beside it, the figure as it is; and figures/exercises/drawn.json, which
        says how many of the script's numbers change; reproduce/tools/pages.py puts them into the
        page

harness/page/exercises.json says which script.  It runs at the smoke budget in a copy of the
project, with the same random numbers with the bug and without it.  Where the bug is in a mirror
that has a fast twin, the scripts take the mirror in its place.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from PIL import Image

from reproduce.harness.exercises import DRAWN, consequence, digest, exercises, plant
from reproduce.harness.papers import PAPERS, ROOT

LEFT_OUT = (".git", ".venv", ".numba_cache", ".pytest_cache", ".ruff_cache", "__pycache__", "build",
            "figures", "tests")
WIDTH = 864  # pixels
PATIENCE = 5  # times as long as without the bug, and MINUTE for what has to be compiled
MINUTE = 60.0  # s


def draw(names):
    """Draw these exercises, or all, and bring drawn.json up to date."""
    every = [exercise for author in PAPERS for exercise in exercises(author)]
    if unknown := set(names) - {exercise.anchor for exercise in every}:
        raise SystemExit(f"{min(unknown)} is no exercise: say paquet-1 to wang-12, or nothing")
    drawn = json.loads(DRAWN.read_text("utf-8")) if DRAWN.exists() else {}
    DRAWN.parent.mkdir(exist_ok=True)
    right = {}  # {picture's name: the run without a bug}
    with tempfile.TemporaryDirectory() as folder:
        copies = {}
        for exercise in (exercise for exercise in every if not names or exercise.anchor in names):
            twin = exercise.bug.path.replace(".py", "_fast.py")
            of_mirrors = (ROOT / twin).exists()
            if of_mirrors not in copies:
                copies[of_mirrors] = copy_project(Path(folder) / str(of_mirrors), of_mirrors)
            as_it_is = f"{exercise.script}{'_mirror' * of_mirrors}.png"
            if as_it_is not in right:
                right[as_it_is] = without_a_bug(copies[of_mirrors], exercise.script)
                (DRAWN.parent / as_it_is).write_bytes(shrink(right[as_it_is]["picture"]))
            with_it = with_a_bug(copies[of_mirrors], exercise, right[as_it_is])
            picture = with_it.pop("picture")
            path = DRAWN.parent / f"{exercise.anchor}.png"
            path.write_bytes(shrink(picture)) if picture else path.unlink(missing_ok=True)
            drawn[exercise.anchor] = {
                "script": exercise.script, "as_it_is": as_it_is, "patch": digest(exercise.bug),
                "steady": right[as_it_is]["steady"], **with_it}
            DRAWN.write_text(json.dumps(drawn, indent=1, sort_keys=True) + "\n", "utf-8")
            same = picture == right[as_it_is]["picture"]
            print(f"{exercise.anchor}: {consequence(drawn[exercise.anchor], same)}", flush=True)


def copy_project(folder, of_mirrors):
    """Copy the project without what is made; its scripts take the mirrors if `of_mirrors`."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    if of_mirrors:
        for path in folder.glob("reproduce/**/*.py"):
            path.write_text(mirrors_for_twins(path.read_text("utf-8")), "utf-8")
    return folder


def mirrors_for_twins(text):
    """Return a file that imports each mirror by the name of its twin.

    algorithms/ais.py has a kernel of its own for the mirror.  What only a twin has stays its own.
    """
    def mirror(line):
        name, wanted = line[1], line[2]
        source = (ROOT / "algorithms" / f"{name}.py").read_text("utf-8")
        there = all(re.search(rf"^def {each.strip()}\(", source, re.M)
                    for each in wanted.split(","))
        return f"from algorithms.{name} import {wanted}" if there else line[0]

    text = re.sub(r"^from algorithms\.(\w+)_fast import ([\w, ]+)$", mirror, text, flags=re.M)
    return re.sub(r"^(from algorithms\.ais import .*)\bRMHMC\b", r"\1RMHMCMirror as RMHMC", text,
                  flags=re.M)


def without_a_bug(copy, script):
    """Run a script twice; return its picture, seconds, and the numbers that are the same in both.

    The others are times.  `steady`: the picture is the same too, there are no times in it.
    """
    first, again = (run(copy, script, None) for _ in range(2))
    for each in (first, again):
        if each["ended"] or not each["picture"]:
            raise SystemExit(f"{script} as it is {each['ended'] or 'draws nothing'}")
    same = {what: value for what, value in first["numbers"].items()
            if again["numbers"].get(what) == value}
    return {"picture": first["picture"], "seconds": first["seconds"], "numbers": same,
            "steady": first["picture"] == again["picture"]}


def with_a_bug(copy, exercise, right):
    """Plant the bug of an exercise, run its script, and take it back."""
    path = copy / exercise.bug.path
    before = path.read_text("utf-8")
    path.write_text(plant(before, exercise.bug)[0], "utf-8")
    try:
        wrong = run(copy, exercise.script, MINUTE + PATIENCE * right["seconds"])
    finally:
        path.write_text(before, "utf-8")
    return {"picture": wrong["picture"], "ended": wrong["ended"], "numbers": len(right["numbers"]),
            "changed": sum(wrong["numbers"].get(what) != value
                           for what, value in right["numbers"].items())}


def run(copy, script, patience):
    """Run a script of a copy; return its picture, its numbers, its seconds, and what it ended with.

    That is "" where it has drawn its figure: a verdict is no bad end.  After `patience` seconds it
    is stopped, with all that it has started.
    """
    made = copy / "figures" / "smoke"
    shutil.rmtree(made, ignore_errors=True)
    path = next(copy.glob(f"reproduce/**/{script}.py"))
    command = [sys.executable, str(path), "--budget", "smoke", "--fresh", "--jobs", "0"]
    start = os.times().elapsed
    process = subprocess.Popen(
        command, cwd=copy, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True, env=os.environ | {
            "PYTHONPATH": str(copy),  # not what is installed
            "PYTHONDONTWRITEBYTECODE": "1"})  # which knows a line only by its length and its second
    try:
        complaint = process.communicate(timeout=patience)[1]
    except subprocess.TimeoutExpired:
        complaint = "does not end"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    record, picture = (made / f"{script}.{kind}" for kind in ("json", "png"))
    drawn = picture.exists() and record.exists()
    return {"picture": picture.read_bytes() if drawn else None,
            "numbers": {claim["what"]: repr(claim["value"])
                        for claim in json.loads(record.read_bytes())["claims"]} if drawn else {},
            "seconds": os.times().elapsed - start,
            "ended": "" if drawn else describe_end(complaint, process.returncode)}


def describe_end(complaint, status):
    """Say how a run ended that has drawn nothing."""
    if complaint == "does not end":
        return complaint
    lines = [line for line in complaint.splitlines() if line.strip()]
    return f"ends with: {lines[-1].strip()}" if lines else f"ends with status {status}"


def shrink(picture):
    """Return a PNG at WIDTH, in 256 colours: of fewer the rare ones of small marks are lost."""
    found, kept = Image.open(BytesIO(picture)).convert("RGB"), BytesIO()
    size = WIDTH, round(WIDTH * found.height / found.width)
    found = found.resize(size, Image.Resampling.LANCZOS)
    found.quantize(256, dither=Image.Dither.NONE).save(kept, format="png", optimize=True)
    return kept.getvalue()


if __name__ == "__main__":
    draw(sys.argv[1:])
