"""What every script imports first: how it runs (harness/run.py), and what Ctrl-C does until then.

Imports take a second or more. Interrupted there, Python would print the traceback of whatever was
being imported.
"""

import os
import sys
from contextlib import suppress


def uncaught(kind, error, traceback):
    """Say in a word that a script was interrupted; leave other errors to Python."""
    if issubclass(kind, KeyboardInterrupt):
        with suppress(OSError):  # nobody may be there to read it
            os.write(2, b"Interrupted.\n")
        raise SystemExit(130)  # as harness/run.py has it
    sys.__excepthook__(kind, error, traceback)


sys.excepthook = uncaught
os.environ["MIRRORMC_QUIET"] = "1"  # harness/replicates.py says what is compiled

from reproduce.harness.run import Study, exit_status, main, parse  # noqa: E402  what follows may be interrupted

__all__ = ["Study", "exit_status", "main", "parse"]
