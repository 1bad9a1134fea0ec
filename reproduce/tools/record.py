"""Record the runs that the companion pages step through.

Run     python reproduce/tools/record.py [author ...]    a minute; nothing is compiled in it
Writes  figures/steps/<author>.json, which reproduce/tools/pages.py puts into the pages

reproduce/<author>/steps.py says what is run; harness/recording.py says what is kept of it.
"""

import json
import os
import subprocess
import sys
from importlib import import_module

import numba

from reproduce.harness.papers import ROOT, choose_papers
from reproduce.harness.recording import record_run


def main():
    """Record the runs of the named papers, or for all."""
    if not numba.config.DISABLE_JIT:  # it must be set before numba is imported
        again = subprocess.run([sys.executable, *sys.argv], check=False,
                               env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
        sys.exit(again.returncode)
    for author in choose_papers(sys.argv[1:]):
        path, text = ROOT / "figures" / "steps" / f"{author}.json", write_json(runs(author))
        path.write_text(text, "utf-8")
        print(f"figures/steps/{author}.json: {len(text) / 1000:.0f} kB", flush=True)


def runs(author):
    """Record the runs of a paper."""
    return [record_run(run) for run in import_module(f"reproduce.{author}.steps").RUNS]


def write_json(found):
    """Write what was recorded as JSON, a run in a line."""
    return "[" + ",\n".join(json.dumps(each, separators=(",", ":"), allow_nan=False)
                            for each in found) + "]\n"


if __name__ == "__main__":
    main()
