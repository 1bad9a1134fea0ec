"""What Wang's scripts ask of every sampler, by chains of a few transitions."""

from pathlib import Path

from conftest import python

RUN = """import sys, pytest
sys.stdout = sys.stderr  # which is shown where a test fails
sys.exit(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", sys.argv[1]]))"""


def test_chains_of_every_sampler_where_nothing_is_compiled():
    python("-c", RUN, Path(__file__).with_name("wang_samplers.py"), NUMBA_DISABLE_JIT="1")
