"""Chains in ArviZ, as README.md has it: 0.23 and 1 read the same arrays, and say the same.

Needs the extra `compare`.  In a process of its own: on import ArviZ 0.23 warns of version 1.
"""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from models.jit import ROOT
from test_readme import BLOCKS

pytestmark = pytest.mark.skipif(find_spec("arviz") is None,
                                reason="needs the extra `compare`: arviz")
EXAMPLE = [block for block in BLOCKS if "import arviz" in block]
CHECKS = """
import matplotlib.pyplot as plt
from algorithms.ess import combined_chains

beta = posterior["beta"]
assert dict(beta.sizes) == {"chain": 4, "draw": 1000, "beta_dim_0": 3}, beta.sizes
assert all((beta.sel(chain=k).values == chain.samples).all() for k, chain in enumerate(chains))
# chains from one start that agree: beyond 1.01 Vehtari et al. (2021) would run them longer
assert 0.99 < az.rhat(posterior)["beta"].min() and az.rhat(posterior)["beta"].max() < 1.01
# not split, not ranked: ArviZ's estimate of what ours estimates, to rounding: sums in another order
theirs = az.ess(posterior, method="identity")["beta"].values
ours = combined_chains(np.stack([chain.samples for chain in chains])).ess
np.testing.assert_allclose(theirs, ours, rtol=1e-11)
assert list(az.summary(posterior).index) == ["beta[0]", "beta[1]", "beta[2]"]
assert plt.get_fignums()  # the trace plot
"""


def ran(code, folder):
    """Run a program in a process of its own; return what it prints."""
    path = folder / "example.py"
    path.write_text(code)
    return subprocess.run([sys.executable, str(path)], text=True, stdout=subprocess.PIPE,
                          cwd=folder, check=True, env=os.environ | {
                              "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}).stdout


def test_the_example_of_the_readme_and_what_it_shows(tmp_path):
    assert len(EXAMPLE) == 1
    printed = ran(EXAMPLE[0] + CHECKS, tmp_path)
    assert "r_hat" in printed and "ess_bulk" in printed


def test_a_sampler_with_two_blocks_has_two_variables(tmp_path):
    ran("""
import arviz as az
import numpy as np
from algorithms.sshmc_fast import sshmc
from models.funnel import Funnel

chains = [sshmc(np.zeros(5), np.zeros(1), Funnel.from_size(5), 0.3, 0.5, 5, 50, rng)
          for rng in np.random.default_rng(1).spawn(4)]
posterior = az.convert_to_dataset(
    {name: np.stack([getattr(chain, name) for chain in chains]) for name in ("theta", "phi")})
assert posterior["theta"].shape == (4, 50, 5) and posterior["phi"].shape == (4, 50, 1)
assert (posterior["phi"].sel(chain=2).values == chains[2].phi).all()
assert len(az.summary(posterior)) == 6
""", tmp_path)
