"""Chains in ArviZ, 0.23 and 1, in a process of its own: on import 0.23 warns of version 1."""

import re
from importlib.util import find_spec

import pytest

from conftest import python
from test_readme import README

pytestmark = pytest.mark.skipif(find_spec("arviz") is None,
                                reason="needs the extra `compare`: pip install -e '.[compare]'")
# a model of one's own, and its chains
MODEL, EXAMPLE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[-2:]
CHECKS = """
import arviz as az
import matplotlib.pyplot as plt
from algorithms.ess import combined_chains
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import Funnel
from test_sampling import chains_of

posterior = found.to_arviz()["posterior"]
q = posterior["q"]
assert dict(q.sizes) == {"chain": 4, "draw": 8000, "q_dim_0": 2}, q.sizes
assert all((q.sel(chain=k).values == chain.samples).all() for k, chain in enumerate(found.chains))
# not split, not ranked: ArviZ's estimate of what ours estimates, to rounding: sums in another order
theirs = az.ess(posterior, method="identity")["q"].values
np.testing.assert_allclose(theirs, combined_chains(q.values).ess, rtol=1e-11)
np.testing.assert_allclose(az.rhat(posterior)["q"].values, summary(found).rhat, rtol=1e-12)
assert list(az.summary(posterior).index) == ["q[0]", "q[1]"]
az.plot_trace(posterior)
assert plt.get_fignums()

# a sampler with two blocks has two variables
found = run(sshmc, np.zeros(5), np.zeros(1), Funnel.from_size(5), 0.3, 0.5, 5, 50,
            np.random.default_rng(1))
posterior = found.to_arviz()["posterior"]
assert posterior["theta"].shape == (4, 50, 5) and posterior["phi"].shape == (4, 50, 1)
assert (posterior["phi"].sel(chain=2).values == found.chains[2].phi).all()

# statistics go with the draws
x = np.random.default_rng(6).standard_normal((3, 50, 2))
data = chains_of(x, energy_error=np.where(np.arange(50) == 7, np.nan, 0.0)).to_arviz()
np.testing.assert_array_equal(data["posterior"]["q"].values, x)
diverging = data["sample_stats"]["diverging"].values
assert diverging.sum() == 3 and diverging[:, 7].all()
"""


def test_the_example_of_the_readme_and_other_chains_go_into_arviz(tmp_path):
    assert "to_arviz" in EXAMPLE
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "example.py").write_text(EXAMPLE + CHECKS)
    assert "Do not believe" not in python(tmp_path / "example.py", MPLBACKEND="Agg")
