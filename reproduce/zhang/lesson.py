# %% [markdown]
# # Semi-separable Hamiltonian Monte Carlo, by hand
#
# Y. Zhang and C. Sutton (2014), Algorithm 1. Read `algorithms/zhang_sshmc.py` beside
# [its page](../../figures/zhang.html): above its code stands the paper's line.
# Text and code are MIT; the pseudocode's line numbers are ours. To cite: `CITATION.cff`.

# %%
import arviz as az
import matplotlib.pyplot as plt
import numpy as np

from algorithms.ess import ess
from algorithms.hmc import hmc
from algorithms.zhang_sshmc import abla_path, abla_step, sshmc
from models.funnel import Funnel
from reproduce.harness.mirrors import variant

# %% [markdown]
# ## A small problem
# The funnel: v ~ N(0, 9), and ten variables with variance exp(-v).

# %%
rng = np.random.default_rng(1)
model = Funnel.from_size(10)
chain = sshmc(np.zeros(10), np.zeros(1), model, eps_theta=0.2, eps_phi=0.2, L=20, n=4000, rng=rng)
plain = hmc(np.zeros(11), model, eps=0.1, L=20, n=4000, rng=rng)
print("accepted", chain.accepted.mean(), " HMC", plain.accepted.mean())
print("deviation of v, which is 3:", chain.phi.std(), " HMC", plain.samples[:, -1].std())
print("effective draws of v", ess(chain.phi), " HMC", ess(plain.samples[:, -1]))

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
for ax, name, v in zip(axes, ("SSHMC", "HMC"), (chain.phi[:, 0], plain.samples[:, -1]),
                       strict=True):
    ax.plot(v, lw=0.5)
    ax.set(title=name, xlabel="transition")
axes[0].set(ylabel="v")
plt.show()

# %% [markdown]
# ## Energy that the blocks lend each other
# A trajectory without a test: the kinetic energy of each block swings, H hardly does.

# %%
r_theta, r_phi = rng.standard_normal(10), 3.0 * rng.standard_normal(1)
path = abla_path(np.zeros(10), np.zeros(1), r_theta, r_phi, model, 0.1, 0.1, 100)
H = path.energy.U + path.energy.K_theta + path.energy.K_phi + path.energy.log_det_theta
H = H + path.energy.log_det_phi
plt.plot(path.energy.K_theta - path.energy.K_theta[0], label="K of x")
plt.plot(path.energy.K_phi - path.energy.K_phi[0], label="K of v")
plt.plot(H - H[0], "k", label="H")
plt.gca().set(xlabel="ABLA step", ylabel="energy less that at the start")
plt.legend()
plt.show()

# %% [markdown]
# ## Change a setting
# Longer steps for the block of v: what gives first?

# %%
for eps_phi in (0.1, 0.3, 1.0, 3.0):
    some = sshmc(np.zeros(10), np.zeros(1), model, 0.2, eps_phi, 20, 1000,
                 np.random.default_rng(2))
    print(eps_phi, "accepted", some.accepted.mean(), "effective draws of v", ess(some.phi))

# %% [markdown]
# ## Plant a bug
# The second leapfrog in the field of the old theta. Each block moves correctly; what about H?

# %%
wrong = variant(abla_step, {
    "H_2 = H2(model, precompute_theta(theta_, model), r_theta_)":
    "H_2 = H2(model, precompute_theta(theta, model), r_theta)"})
start = (np.zeros(10), np.zeros(1), r_theta, r_phi)
for name, step in (("right", abla_step), ("wrong", wrong)):
    state = start
    for _ in range(50):
        state = step(*state, model, 0.1, 0.1, 1, 1)
    back = (state[0], state[1], -state[2], -state[3])
    for _ in range(50):
        back = step(*back, model, 0.1, 0.1, 1, 1)
    print(name, "steps lead back to within", abs(back[0] - start[0]).max())

# %% [markdown]
# ## Hand the chains to ArviZ

# %%
four = [sshmc(np.zeros(10), np.zeros(1), model, 0.2, 0.2, 20, 1000, each) for each in
        np.random.default_rng(3).spawn(4)]
posterior = az.convert_to_dataset({"v": np.stack([each.phi[:, 0] for each in four])})
print(az.summary(posterior))

# %% [markdown]
# More: [twelve planted bugs](../../figures/exercises.html#zhang-1), and the paper's table by
# `python reproduce/zhang_table1.py --budget short`.
