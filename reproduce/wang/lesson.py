# %% [markdown]
# # Mapping to a discretizing chain, by hand
#
# C. Wang and R. M. Neal (2013), Sections 3 and 4. Read `algorithms/slice_sampling.py` and
# `algorithms/wang_discretizing_chain.py` beside [the page](../../figures/wang.html).
# Text and code are MIT; equations and sections are the paper's. To cite: `CITATION.cff`.

# %%
import arviz as az
import matplotlib.pyplot as plt
import numpy as np

from algorithms.ess import ess
from algorithms.slice_sampling import slice_sampling, slice_update
from algorithms.wang_discretizing_chain_fast import discretizing_chain
from models.gaussian import Gaussian
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.gp_subset import GPSubset
from models.interface import prepare
from reproduce.harness.mirrors import variant

# %% [markdown]
# ## A small problem
# Sixty cases of a smooth function; the hyperparameters' posterior, and two cheap approximations.

# %%
rng = np.random.default_rng(1)
X = rng.random((60, 1))
y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(60)
model = GPRegression.from_data(X, y, "isotropic")
start = np.array([-1.0, 0.0, -1.0])  # log sigma, log eta, log rho
subset = GPSubset.from_model(model, np.arange(20))
nystrom = GPNystrom.from_model(model, np.arange(20))
standard = slice_sampling(start, model, 1.0, 1500, rng)
runs = {name: discretizing_chain(start, model, each, 1.0, 1500, rng)
        for name, each in (("subset", subset), ("Nystrom", nystrom))}
print("standard: evaluations of the posterior", standard.counts.density,
      "effective draws", ess(standard.log_likelihood))
for name, run in runs.items():
    print(f"{name}: {run.counts.density} of the posterior, {run.counts.approximations} of the"
          f" approximation, accepted {run.accepted.mean():.2f}, effective draws"
          f" {ess(run.log_likelihood):.0f}")

# %%
plt.plot(*standard.samples[:, ::2].T, ".", ms=2, label="standard")
plt.plot(*runs["subset"].samples[:, ::2].T, ".", ms=2, label="mapping, subset")
plt.gca().set(xlabel="log sigma", ylabel="log rho")
plt.legend()
plt.show()

# %% [markdown]
# ## Change a setting
# The more cases a subset has, the dearer it is and the more is accepted. What is best?

# %%
for m in (5, 10, 20, 40, 60):
    run = discretizing_chain(start, model, GPSubset.from_model(model, np.arange(m)), 1.0, 500,
                             np.random.default_rng(2))
    print(m, "accepted", run.accepted.mean(), "effective draws", ess(run.log_likelihood))

# %% [markdown]
# ## Plant a bug
# A slice update whose interval starts within half a width of the state (line 2): it favours one
# side. Of a standard normal density, with narrow slices that hardly step out, what does it make?

# %%
wrong = variant(slice_update, {"L = x_0 - w * rng.random()": "L = x_0 - w * rng.random() / 2"},
                compiled=True)
normal = Gaussian(np.zeros(1), np.eye(1))
for name, update in (("right", slice_update), ("wrong", wrong)):
    cache, tally, x = prepare(np.zeros(1), normal), np.zeros(4, np.int64), np.empty(5000)
    for t in range(x.size):
        cache = update(cache, 0, normal, 1.0, 2, tally, rng)
        x[t] = cache.q[0]
    print(name, "mean", x.mean(), "standard error", x.std() / ess(x) ** 0.5)

# %% [markdown]
# ## Hand the chains to ArviZ

# %%
four = [discretizing_chain(start, model, subset, 1.0, 500, each) for each in rng.spawn(4)]
posterior = az.convert_to_dataset({"q": np.stack([each.samples for each in four])})
print(az.summary(posterior))

# %% [markdown]
# More: [twelve planted bugs](../../figures/exercises.html#wang-1), and the paper's study of its
# settings by `python reproduce/beyond/wang_r_s.py --budget short`.
