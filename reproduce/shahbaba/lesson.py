# %% [markdown]
# # Split Hamiltonian Monte Carlo, by hand
#
# B. Shahbaba, S. Lan, W. O. Johnson and R. M. Neal (2014), Algorithms 1 and 2. Read
# `algorithms/hmc.py` and `algorithms/shahbaba_split_hmc.py` beside [the
# page](../../figures/shahbaba.html). Text and code are MIT; the pseudocode's numbering is the
# paper's. To cite: `CITATION.cff`.

# %%
import arviz as az
import matplotlib.pyplot as plt
import numpy as np

from algorithms.ess import ess
from algorithms.hmc import hmc
from algorithms.map_estimate import map_estimate
from algorithms.shahbaba_split_hmc import normal_approximation, split_data
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc, normal_split_step
from models.logistic_regression import LogisticRegression
from reproduce.harness.mirrors import variant

# %% [markdown]
# ## A small problem
# Logistic regression with 500 cases and three covariates of different scales.

# %%
rng = np.random.default_rng(1)
X = rng.standard_normal((500, 3)) * [3.0, 1.0, 0.3]
y = rng.random(500) < 1 / (1 + np.exp(-(X @ [0.5, -1.0, 1.0])))
model = LogisticRegression.from_data(X, y)
fit = map_estimate(model)
split = split_data(model, fit.q, 0.3)
print("mode", fit.q.round(2), " cases in R_0:", split.cases.size)

# %%
chains = {
    "HMC": hmc(fit.q, model, eps=0.05, L=15, n=2000, rng=rng, jitter=0.2),
    "normal split": normal_split_hmc(fit.q, model, fit, eps=0.15, L=7, n=2000, rng=rng),
    "data split": data_split_hmc(fit.q, model, split, eps=0.07, L=14, M=3, n=2000, rng=rng)}
for name, chain in chains.items():
    worst = min(ess(chain.samples))
    print(f"{name:12}  accepted {chain.accepted.mean():.2f}, "
          f"gradients for an effective draw {chain.counts.gradient / worst:.1f}")

# %% [markdown]
# ## Change a setting
# How long a step does each integrator take? The leapfrog's limit is 2 / w; the exact flow of the
# normal split resonates instead.

# %%
w = normal_approximation(fit).w.max()
steps = np.geomspace(0.02, 3.5 / w, 15)
rates = [[run(eps).accepted.mean() for eps in steps] for run in (
    lambda eps: hmc(fit.q, model, eps, 5, 300, np.random.default_rng(2)),
    lambda eps: normal_split_hmc(fit.q, model, fit, eps, 5, 300, np.random.default_rng(2), 0.0))]
plt.semilogx(steps, np.transpose(rates), "o-", label=["HMC", "normal split"])
plt.axvline(2 / w, color="0.7")
plt.gca().set(xlabel="step size", ylabel="acceptance rate; the line is 2 / w")
plt.legend()
plt.show()

# %% [markdown]
# ## Plant a bug
# The flow of half the time. The chain stays correct: what is the price, and which test sees it?

# %%
wrong = variant(normal_split_step, {"R = exact_flow(fit, eps)": "R = exact_flow(fit, eps / 2)"},
                within=normal_split_hmc)
approximation = normal_approximation(fit)
bad = wrong(fit.q, model, approximation, 0.15, 7, 300, np.random.default_rng(1))
good = normal_split_hmc(fit.q, model, fit, 0.15, 7, 300, np.random.default_rng(1))
print("accepted", bad.accepted.mean(), " against", good.accepted.mean())

# %% [markdown]
# ## Hand the chains to ArviZ

# %%
four = [hmc(fit.q, model, 0.05, 20, 1000, each, jitter=0.2) for each in rng.spawn(4)]
posterior = az.convert_to_dataset({"theta": np.stack([each.samples for each in four])})
print(az.summary(posterior))

# %% [markdown]
# More: [twelve planted bugs](../../figures/exercises.html#shahbaba-1), and the paper's tables by
# `python reproduce/shahbaba_table1.py --budget short`.
