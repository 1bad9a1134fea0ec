"""Record the runs that the companion pages step through, one line of a mirror after the other.

Run     python reproduce/record.py [author ...]    a minute; nothing is compiled in it
Writes  figures/steps/<author>.json, which reproduce/pages.py puts into the pages

reproduce/<author>/steps.py says what is run; harness/recording.py what is kept of it.
"""

import json
import os
import subprocess
import sys
from importlib import import_module

import numba

from harness.listing import AUTHORS
from harness.mirrors import ROOT
from harness.recording import recorded

STEPS = ROOT / "figures" / "steps"


def main():
    """Record the runs of the named papers, or of all."""
    if not numba.config.DISABLE_JIT:  # it must be set before numba is imported
        again = subprocess.run([sys.executable, *sys.argv], check=False,
                               env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
        sys.exit(again.returncode)
    unknown = [author for author in sys.argv[1:] if author not in AUTHORS]
    if unknown:
        raise SystemExit(f"{unknown[0]} is no paper: say one of {', '.join(AUTHORS)}, or nothing")
    STEPS.mkdir(exist_ok=True)
    for author in sys.argv[1:] or AUTHORS:
        text = written(runs(author))
        (STEPS / f"{author}.json").write_text(text)
        print(f"figures/steps/{author}.json: {len(text) / 1000:.0f} kB")


def runs(author):
    """Record the runs of a paper."""
    return [recorded(run) for run in import_module(f"{author}.steps").RUNS]


def written(found):
    """Write what was recorded as JSON, a run in a line."""
    return "[" + ",\n".join(json.dumps(run, separators=(",", ":"), allow_nan=False)
                            for run in found) + "]\n"


if __name__ == "__main__":
    main()
