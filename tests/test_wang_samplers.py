"""What Wang's scripts ask of every sampler, by chains of a few transitions."""

import os
import subprocess
import sys
from pathlib import Path


def test_chains_of_every_sampler_where_nothing_is_compiled():
    file = Path(__file__).with_name("wang_samplers.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(file)],
        capture_output=True, text=True, env=os.environ | {
            "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stdout
