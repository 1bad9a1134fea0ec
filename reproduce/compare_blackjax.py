"""RMHMC and HMC against those of blackjax, on one core.

RMHMC   Gaussian-process classification (threes against fives, beta = 1, the paper's settings), our
        fast twin; the same metric, step size and number of leapfrog steps.  blackjax integrates by
        the implicit midpoint rule, with the gradient of its Hamiltonian by automatic
        differentiation.
HMC     logistic regression on Split HMC's simulated data, n = 10000, p = 100, eps = 0.015, L = 20.

Run     pip install -e ".[compare]", then python reproduce/compare_blackjax.py [--data DIR]
        3 min; prints a table and writes nothing
"""

import os
import time

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

import data
from algorithms.hmc import hmc
from algorithms.map_estimate import map_estimate
from algorithms.paquet_rmhmc_fast import rmhmc
from harness import parse, table
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.logistic_regression import LogisticRegression

OPTIONAL = True  # reproduce/all.py leaves it out: it needs jax and blackjax

# The paper's settings (Section 5)
LOG_LENGTH, LOG_AMPLITUDE = 4.85, 5.1
EPS, L_MAX = 0.1, 10
HMC_EPS, HMC_STEPS = 0.015, 20  # Split HMC, Section 3.3.1

# Our settings
TRANSITIONS = {"smoke": 1, "short": 5, "paper": 20}


def ours(model, n, seed):
    """Return (seconds per transition, acceptance rate, mean energy) of our chain."""
    rng = np.random.default_rng(seed)
    x = rmhmc(np.zeros(model.y.size), model, L_MAX, EPS, 1, rng).samples[-1]  # compile
    start = time.perf_counter()
    chain = rmhmc(x, model, L_MAX, EPS, n, rng)
    return (time.perf_counter() - start) / n, chain.accepted.mean(), chain.energies.mean()


def theirs(model, n, seed):
    """Return the same of blackjax.rmhmc."""
    y, K_inv = jnp.asarray(model.y), jnp.linalg.inv(jnp.asarray(model.K))

    def log_density(x):
        return jnp.sum(jax.scipy.stats.norm.logcdf(y * x)) - 0.5 * x @ K_inv @ x

    def metric(x):
        z = y * x
        h = jnp.exp(jax.scipy.stats.norm.logpdf(z) - jax.scipy.stats.norm.logcdf(z))
        return K_inv + jnp.diag(h * (z + h))

    sampler = blackjax.rmhmc(log_density, EPS, metric, L_MAX)
    step = jax.jit(sampler.step)
    key = jax.random.key(seed)
    state, _ = step(key, sampler.init(jnp.zeros(y.size)))
    state.position.block_until_ready()
    start, accepted, energies = time.perf_counter(), [], []
    for k in jax.random.split(key, n):
        state, info = step(k, state)
        accepted.append(float(info.acceptance_rate))
        energies.append(-float(state.logdensity))
    seconds = (time.perf_counter() - start) / n
    # their density has no constants: add those of L_beta
    constant = 0.5 * (y.size * np.log(2 * np.pi) + model.log_det_K)
    return seconds, np.mean(accepted), np.mean(energies) + constant


def logistic_ours(model, n, seed):
    """Return (seconds per transition, acceptance rate, mean energy) of our HMC from the mode."""
    rng, q = np.random.default_rng(seed), map_estimate(model).q
    hmc(q, model, HMC_EPS, HMC_STEPS, 1, rng)  # compile
    start = time.perf_counter()
    chain = hmc(q, model, HMC_EPS, HMC_STEPS, n, rng)
    return (time.perf_counter() - start) / n, chain.accepted.mean(), chain.energies.mean()


def logistic_theirs(model, n, seed):
    """Return the same of blackjax.hmc."""
    X, y, precision = (jnp.asarray(a) for a in (model.X, model.y, model.precision))

    def log_density(q):
        z = X @ q
        return y @ z - jnp.sum(jnp.logaddexp(0.0, z)) - 0.5 * jnp.sum(precision * q * q)

    sampler = blackjax.hmc(log_density, HMC_EPS, jnp.ones(X.shape[1]), HMC_STEPS)
    step, key = jax.jit(sampler.step), jax.random.key(seed)
    first = sampler.init(jnp.asarray(map_estimate(model).q))
    step(key, first)[0].position.block_until_ready()
    state, start, accepted, energies = first, time.perf_counter(), [], []
    for k in jax.random.split(key, n):
        state, info = step(k, state)
        accepted.append(float(info.acceptance_rate))
        energies.append(-float(state.logdensity))
    return (time.perf_counter() - start) / n, np.mean(accepted), np.mean(energies)


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, for XLA's threads too
    jax.config.update("jax_enable_x64", True)
    settings = parse(__doc__)
    cases = data.or_exit(data.usps_3v5, settings.data)
    K = squared_exponential(cases.X, cases.X, LOG_LENGTH, LOG_AMPLITUDE)
    model = GPClassification.from_prior(K, cases.y)
    n = TRANSITIONS[settings.budget]
    simulated = data.simulated_logistic()
    for title, target, length, pair in (
            (f"RMHMC, {cases.name}, N = {cases.y.size}", model, n, (ours, theirs)),
            ("HMC, logistic regression", LogisticRegression.from_data(simulated.X, simulated.y),
             20 * n, (logistic_ours, logistic_theirs))):
        rows = [[name, *run(target, length, settings.seed)]
                for name, run in zip(("mirrormc", "blackjax"), pair, strict=True)]
        print(f"\n{title}, {length} transitions")
        print(table(rows, ["", "seconds per transition", "acceptance", "mean energy"]))
        print(f"blackjax takes {rows[1][1] / rows[0][1]:.1f} times as long")
