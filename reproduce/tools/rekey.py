"""Give stored replicates the keys of today's code, where that computes the same numbers.

Run     python reproduce/tools/rekey.py [script ...] [--jobs J] [--samples S] [--before COMMIT]
                                        [--digits D]
        all scripts, if none is named
Writes  figures/replicates/<script>.json.gz with new keys, and figures/replicates/rekeyed.md, which
        says what was computed again, the last time first; the exit status is 1 if a number differs

The key of a replicate changes with the code that computes it, also where the change is one of
names, folders or speed.  Of every script, function and method S replicates (three if not told
otherwise, or all there are) are computed again, the cheapest of different settings.  If every
number in them is the same bit for bit, all replicates of that function get today's key;
if not, they keep the old one, and the script's next run computes them anew.  So it does with every
result that has times.

Bits depend on the kernels that OpenBLAS picks for a processor; a record says which they were, and
OPENBLAS_CORETYPE in the environment chooses them, as in OPENBLAS_CORETYPE=SkylakeX.  On any
processor --before COMMIT compares with the code of that commit, run on the same samples, in place
of what is stored; what is stored must then have the keys of that code.  With --digits D numbers are
the same whose first D digits are: for code that rounds in another order, as a processor does.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from importlib import import_module
from math import isclose
from types import FunctionType, ModuleType

from threadpoolctl import threadpool_limits

from reproduce.harness import papers, replicates
from reproduce.harness.claims import text_table
from reproduce.harness.fingerprint import fingerprint
from reproduce.harness.replicates import TIMES, to_json
from reproduce.harness.run import whole_number
from reproduce.harness.workers import begin

SAMPLES = 3  # of every script, function and method
STORE = replicates.FIGURES / "replicates"
HEAD = "# Replicates computed again\n"  # of the report


def groups(records):
    """Return {(function, method): records}, without those whose results have times."""
    found = {}
    for record in records:
        if not record["result"].keys() & TIMES:
            key = record["function"], record["task"].get("method", "")
            found.setdefault(key, []).append(record)
    return found


def samples(records, size=SAMPLES):
    """Return `size` of the records: of different settings first, the cheapest of each."""
    kinds, others = {}, []
    for record in sorted(records, key=lambda r: (r["seconds"], to_json(r["task"], sort_keys=True))):
        kind = to_json({k: v for k, v in record["task"].items() if k != "seed"}, sort_keys=True)
        if kind in kinds:
            others.append(record)
        else:
            kinds[kind] = record
    return [*kinds.values(), *others][:size]


def differences(old, new, digits=None, path=""):
    """List where two results differ, in all digits or in the first ones; nan is the same as nan."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return [line for key in old
                for line in differences(old[key], new[key], digits, f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for k, pair in enumerate(zip(old, new, strict=True))
                for line in differences(*pair, digits, f"{path}[{k}]")]
    rounded = digits and type(old) is type(new) is float and isclose(old, new, rel_tol=10**-digits)
    same = rounded or to_json(old) == to_json(new)
    return [] if same else [f"{path.lstrip('.')}: {old} was, {new} is"]


def function_of(script, name):
    """Return the function `name` of the module `script`, or of one that it imports (from)."""
    module = import_module(papers.module(papers.script(script)))
    values = list(vars(module).values())
    places = [module, *(v for v in values if isinstance(v, ModuleType)),
              *(sys.modules[v.__module__] for v in values if isinstance(v, FunctionType))]
    return next(getattr(place, name) for place in places if hasattr(place, name))


def recompute(script, name, task, result, digits):
    """Compute a replicate again, alone in its process; return where the numbers differ."""
    with threadpool_limits(1, "blas"):
        again = json.loads(to_json(function_of(script, name)(**task)))
    return differences(result, again, digits)


OLD = """
import json, sys
from threadpoolctl import threadpool_limits
from reproduce.harness.fingerprint import fingerprint
from reproduce.harness.replicates import to_json
from reproduce.tools.rekey import function_of
for script, name, task in json.load(sys.stdin):
    function = function_of(script, name)
    with threadpool_limits(1, "blas"):
        print(to_json([fingerprint(function), function(**task)]), flush=True)
"""


def results_of_commit(commit, asked):
    """Return [fingerprint, result] of each (script, function, task), by the code of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=papers.ROOT, check=True,
                                 stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        done = subprocess.run([sys.executable, "-c", OLD], input=to_json(asked), text=True,
                              stdout=subprocess.PIPE, check=True, cwd=folder,
                              env=os.environ | {"PYTHONPATH": folder})
    return [json.loads(line) for line in done.stdout.splitlines()]


def rekey(scripts, jobs=1, size=SAMPLES, before=None, digits=None):
    """Rekey the replicates of scripts; return the rows of the report, and what differs.

    before : str or None   a commit whose code computes what today's is compared with
    digits : int or None   of a number that are compared; None: all
    """
    from joblib import Parallel, delayed, parallel_config

    stored = {script: list(replicates.unpack(STORE / f"{script}.json.gz").values())
              for script in scripts}
    for script, records in stored.items():
        if not records:
            raise SystemExit(f"{script} has no replicates that can be read in {STORE}")
    codes = {(script, name): fingerprint(function_of(script, name))
             for script, records in stored.items()
             for name in {name for name, _ in groups(records)}}
    todo = []  # (script, function, method, one of the replicates, how many there are)
    for script, records in stored.items():
        for (name, method), group in sorted(groups(records).items()):
            if any(record["code"] != codes[script, name] for record in group):
                todo += [(script, name, method, record, len(group))
                         for record in samples(group, size)]
    # the long ones first, so that no process is left alone with one at the end
    todo.sort(key=lambda one: -one[3]["seconds"])
    wanted = [record["result"] for *_, record, _ in todo]
    if before:
        old = results_of_commit(before, [(script, name, record["task"])
                                         for script, name, _, record, _ in todo])
        for (script, name, _, record, _), (code, _) in zip(todo, old, strict=True):
            if record["code"] != code:
                raise SystemExit(f"{script}.{name}: what is stored has not the key of the code of"
                                 f" {before}; name the commit whose code computed it")
        wanted = [result for _, result in old]
    with parallel_config("loky", initializer=begin, initargs=(os.getpid(),)):
        found = Parallel(jobs, verbose=5 if todo else 0)(
            delayed(recompute)(script, name, record["task"], result, digits)
            for (script, name, _, record, _), result in zip(todo, wanted, strict=True))
    stale = {one[:2] for one, lines in zip(todo, found, strict=True) if lines}
    rows, wrong = [], []
    for (script, name, method, record, n), lines in zip(todo, found, strict=True):
        rows.append([script, name, method, f"of {n}", "other" if lines else "same",
                     to_json(record["task"], sort_keys=True)])
        wrong += [f"{script}, {name}({to_json(record['task'])}): {line}" for line in lines[:3]]
    for script, records in stored.items():
        for record in records:
            of = script, record["function"]
            if not record["result"].keys() & TIMES and of not in stale:
                record["code"] = codes[of]
        replicates.write(STORE / f"{script}.json.gz", replicates.pack_records(records))
    return sorted(rows), wrong


def main():
    """Rekey the scripts that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", help="names of scripts (default: all)")
    parser.add_argument("--jobs", type=whole_number(1), default=2, metavar="J", help="default 2")
    parser.add_argument("--samples", type=whole_number(1), default=SAMPLES, metavar="S",
                        help=f"default {SAMPLES}")
    parser.add_argument("--before", metavar="COMMIT",
                        help="compare with this commit's code (default: with what is stored)")
    parser.add_argument("--digits", type=whole_number(1), metavar="D",
                        help="compare the first D digits (default: all)")
    options = parser.parse_args()
    rows, wrong = rekey(options.scripts or sorted(
        path.name.split(".")[0] for path in STORE.glob("*.json.gz")), options.jobs,
        options.samples, options.before, options.digits)
    if rows:
        on = replicates.machine()
        text = text_table(rows, ["script", "function", "method", "replicates", "numbers",
                                 "task"])
        report = STORE / "rekeyed.md"
        before = report.read_text("utf-8").removeprefix(HEAD) if report.exists() else ""
        what = f"the code of {options.before}" if options.before else "what is stored"
        how = f"to {options.digits} digits" if options.digits else "bit for bit"
        replicates.write(
            report, f"{HEAD}\n## {date.today()}\n\n{on['processor']}, kernels of {on['blas']};"
            f" every number but times, {how}, against {what}\n\n```text\n{text}\n```\n"
            f"{before}")
        print(text)
    print(*wrong, sep="\n", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
