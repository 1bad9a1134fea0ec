"""Give stored replicates the keys of today's code, where that computes the same numbers.

Run     python reproduce/rekey.py [script ...] [--data DIR]       all scripts if none is named
Writes  figures/replicates/<script>.json.gz with new keys, and figures/replicates/rekeyed.md, which
        says what was computed again; the exit status is 1 if a number differs

The key of a replicate changes with the code that computes it, also where the change is one of
names, rooms or speed.  Of every script, function and method three replicates (or all there are)
are computed again, the cheapest of different settings.  If every number in them but times is the
same bit for bit, all replicates of that function get today's key; if not, they keep the old one,
and the script's next run computes them anew.  Times are never carried over.

Bits depend on the kernels that OpenBLAS picks for a processor; a record says which they were, and
OPENBLAS_CORETYPE in the environment chooses them, as in OPENBLAS_CORETYPE=SkylakeX.
"""

import argparse
import json
import os
import sys
from importlib import import_module
from pathlib import Path

from threadpoolctl import threadpool_limits

from harness.claims import table
from harness.fingerprint import fingerprint
from harness.replicates import FIGURES, TIMES, machine, packed, to_json, unpack, write

SAMPLES = 3  # of every script, function and method
STORE = FIGURES / "replicates"


def groups(records):
    """Return {(function, method): records}, without those whose results are only times."""
    found = {}
    for record in records:
        if record["result"].keys() - TIMES:
            key = record["function"], record["task"].get("method", "")
            found.setdefault(key, []).append(record)
    return found


def samples(records):
    """Return SAMPLES of the records: of different settings first, the cheapest of each."""
    kinds, others = {}, []
    for record in sorted(records, key=lambda r: (r["seconds"], to_json(r["task"], sort_keys=True))):
        kind = to_json({k: v for k, v in record["task"].items() if k != "seed"}, sort_keys=True)
        if kind in kinds:
            others.append(record)
        else:
            kinds[kind] = record
    return [*kinds.values(), *others][:SAMPLES]


def differences(old, new, path=""):
    """List where two results differ, times apart; nan is the same as nan."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return [line for key in old if key not in TIMES
                for line in differences(old[key], new[key], f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for k, pair in enumerate(zip(old, new, strict=True))
                for line in differences(*pair, f"{path}[{k}]")]
    return [] if to_json(old) == to_json(new) else [f"{path.lstrip('.')}: {old} was, {new} is"]


def function_of(script, name):
    """Return the function `name` that the module `script` defines or imports."""
    return getattr(import_module(script), name)


def rekey(script):
    """Rekey the replicates of one script; return the rows of the report, and what differs."""
    path = STORE / f"{script}.json.gz"
    records = list(unpack(path).values())
    rows, wrong, stale = [], [], set()
    for (name, method), group in sorted(groups(records).items()):
        code = fingerprint(function_of(script, name))
        if all(record["code"] == code for record in group):
            continue
        chosen = samples(group)
        for record in chosen:
            new = to_json(function_of(script, name)(**record["task"]))
            found = differences(record["result"], json.loads(new))
            wrong += [f"{script}, {name}({to_json(record['task'])}): {line}" for line in found[:3]]
            stale |= {name} if found else set()
            rows.append([script, name, method, f"{len(chosen)} of {len(group)}",
                         "other" if found else "same", to_json(record["task"], sort_keys=True)])
            print(*rows[-1], flush=True)
    for record in records:
        if record["result"].keys() - TIMES and record["function"] not in stale:
            record["code"] = fingerprint(function_of(script, record["function"]))
    write(path, packed(records))
    return rows, wrong


def main():
    """Rekey the scripts that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", help="names of scripts (default: all)")
    parser.add_argument("--data", metavar="DIR", help="a folder that holds the data files")
    options = parser.parse_args()
    if options.data:
        os.environ["PAPERS_DATA"] = options.data
    rows, wrong = [], []
    with threadpool_limits(1, "blas"):
        for script in options.scripts or sorted(p.name.split(".")[0] for p in STORE.glob("*.gz")):
            done = rekey(Path(script).stem)
            rows, wrong = rows + done[0], wrong + done[1]
    if rows:
        on = machine()
        text = table(rows, ["script", "function", "method", "again", "numbers", "task"])
        write(STORE / "rekeyed.md", f"# Replicates computed again\n\n{on['processor']}, kernels of"
              f" {on['blas']}; every number but times, bit for bit\n\n```text\n{text}\n```\n")
    print(*wrong, sep="\n", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
