"""Chains in ArviZ, as README.md has it: 0.23 and 1 read the same arrays, and say the same.

Needs the extra `compare`.  In a process of its own: on import ArviZ 0.23 warns of version 1.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from models.jit import ROOT
from test_readme import README

pytestmark = pytest.mark.skipif(find_spec("arviz") is None,
                                reason="needs the extra `compare`: pip install -e '.[compare]'")
# a model of one's own, HMC on it, and what goes on from there
MODEL, HMC, EXAMPLE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[-3:]
CHECKS = """
import matplotlib.pyplot as plt
from algorithms.ess import combined_chains

q = posterior["q"]
assert dict(q.sizes) == {"chain": 4, "draw": 4000, "q_dim_0": 2}, q.sizes
assert all((q.sel(chain=k).values == chain.samples).all() for k, chain in enumerate(chains))
# chains from one start that agree: beyond 1.01 Vehtari et al. (2021) would run them longer
assert 0.99 < az.rhat(posterior)["q"].min() and az.rhat(posterior)["q"].max() < 1.01
# not split, not ranked: ArviZ's estimate of what ours estimates, to rounding: sums in another order
theirs = az.ess(posterior, method="identity")["q"].values
ours = combined_chains(np.stack([chain.samples for chain in chains])).ess
np.testing.assert_allclose(theirs, ours, rtol=1e-11)
assert list(az.summary(posterior).index) == ["q[0]", "q[1]"]
az.plot_trace(posterior)
assert plt.get_fignums()
"""


def ran(code, folder):
    """Run a program in a process of its own; return what it prints."""
    path = folder / "example.py"
    path.write_text(code)
    return subprocess.run([sys.executable, str(path)], text=True, stdout=subprocess.PIPE,
                          cwd=folder, check=True, env=os.environ | {
                              "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}).stdout


def test_the_example_of_the_readme_and_what_it_shows(tmp_path):
    assert "import arviz" in EXAMPLE
    (tmp_path / "my_model.py").write_text(MODEL)
    printed = ran(HMC + EXAMPLE + CHECKS, tmp_path)
    assert "r_hat" in printed and "ess_bulk" in printed


def test_a_sampler_with_two_blocks_has_two_variables(tmp_path):
    ran("""
import arviz as az
import numpy as np
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import Funnel

chains = [sshmc(np.zeros(5), np.zeros(1), Funnel.from_size(5), 0.3, 0.5, 5, 50, rng)
          for rng in np.random.default_rng(1).spawn(4)]
posterior = az.convert_to_dataset(
    {name: np.stack([getattr(chain, name) for chain in chains]) for name in ("theta", "phi")})
assert posterior["theta"].shape == (4, 50, 5) and posterior["phi"].shape == (4, 50, 1)
assert (posterior["phi"].sel(chain=2).values == chains[2].phi).all()
assert len(az.summary(posterior)) == 6
""", tmp_path)
