# %% [markdown]
# # RMHMC for Gaussian-process classification, by hand
#
# U. Paquet and M. Fraccaro (2016), Algorithms 1 to 4. Read the code in `algorithms/paquet_rmhmc.py`
# beside [its page](../../figures/paquet.html): each line ends in the number of the paper's.
# Text and code are MIT; the pseudocode's numbering is the paper's. To cite: `CITATION.cff`.

# %%
import arviz as az
import matplotlib.pyplot as plt
import numpy as np

from algorithms.paquet_rmhmc import rmhmc
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from reproduce.harness.mirrors import variant

# %% [markdown]
# ## A small problem
# Eight cases on a line, and the posterior of their latent values.

# %%
rng = np.random.default_rng(1)
X = np.linspace(-2.0, 2.0, 8)[:, None]
y = np.where(X[:, 0] + 0.5 * rng.standard_normal(8) > 0.0, 1.0, -1.0)
K = squared_exponential(X, X, 0.0, 1.0) + 1e-6 * np.eye(8)
model = GPClassification.from_prior(K, y)
chain = rmhmc(np.zeros(8), model, l_max=10, eps=0.1, t_max=2000, rng=rng)
print("accepted", chain.accepted.mean(), " largest |energy error|", abs(chain.energy_error).max())
print(chain.counts)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3))
axes[0].plot(chain.samples[:300, :2])
axes[0].set(xlabel="transition", title="two latent values")
axes[1].errorbar(X[:, 0], chain.samples.mean(0), yerr=chain.samples.std(0), fmt="o")
axes[1].plot(X[:, 0], y, "k+")
axes[1].set(xlabel="input", title="posterior mean and deviation; + the classes")
plt.show()

# %% [markdown]
# ## Change a setting
# Lines 13 and 20 stop after f_max iterations. How many do the implicit equations need? Try other
# steps: where does the iteration no longer converge?

# %%
for f_max in (1, 2, 3, 5, 20):
    some = rmhmc(np.zeros(8), model, 10, 0.3, 500, np.random.default_rng(2), f_max)
    print(f_max, "accepted", some.accepted.mean(), "energy error", some.energy_error.std())

# %% [markdown]
# ## Plant a bug
# Line 21 with the velocity at the start alone: explicit, and no longer volume-preserving. Does the
# acceptance rate tell? Do the moments?

# %%
wrong = variant(rmhmc, {"L21": "x_ = x + eps * dH_dp"}, compiled=True)
bad = wrong(np.zeros(8), model, 10, 0.1, 2000, np.random.default_rng(1), 5)
print("accepted", bad.accepted.mean(), " against", chain.accepted.mean())
print("deviations", bad.samples.std(0).round(2))
print("   against", chain.samples.std(0).round(2))

# %% [markdown]
# ## Hand the chains to ArviZ

# %%
chains = [rmhmc(np.zeros(8), model, 10, 0.1, 1000, each) for each in
          np.random.default_rng(3).spawn(4)]
posterior = az.convert_to_dataset({"f": np.stack([each.samples for each in chains])})
print(az.summary(posterior))

# %% [markdown]
# More: [twelve planted bugs](../../figures/exercises.html#paquet-1), and the paper's figures by
# `python reproduce/paquet_fig2.py --budget short`.
