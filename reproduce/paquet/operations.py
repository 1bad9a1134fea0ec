"""What is counted of the mirrors of Paquet and Fraccaro (2016) and of their twins."""

from functools import cache, partial

import numpy as np

from algorithms import ep_fast, paquet_rmhmc_fast
from algorithms.ais import HMC as HMCKernel
from algorithms.ais import RMHMC, RMHMCMirror, ais_run
from algorithms.ep import ep
from algorithms.hmc import hmc_step, state_at
from algorithms.paquet_rmhmc import derivatives, hamiltonian_and_gradient, riemann_metric, rmhmc
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from reproduce.harness.counting import Case, Count

SETTINGS = (1, 2, 3)  # a count is linear in each
CASES = (2, 3, 4, 5, 6)  # and of degree 3 in N
FORMED = (rmhmc, hamiltonian_and_gradient, riemann_metric, derivatives)
NO_COUNT = ("gives none; its comments in Algorithm 3 only call products with a diagonal matrix"
            " slower.")


@cache
def problem(N):
    """Return K and y of N cases on a line, the labels alternating."""
    X = 0.7 * np.arange(N).reshape(N, 1)
    return squared_exponential(X, X, 0.0, 0.7), np.where(np.arange(N) % 2, -1.0, 1.0)


@cache
def model(N, from_q):
    """Return the density halfway between the prior, or EP's Gaussian, and the posterior."""
    K, y = problem(N)
    return GPClassification.from_ep(K, y, ep(K, y), 0.5) if from_q else (
        GPClassification.from_prior(K, y, 0.5))


def transitions(sampler, from_q, t_max):
    """Make t_max transitions."""
    return lambda N, l_max, f_max: partial(
        sampler.compiled, np.zeros(N), model(N, from_q), l_max, 0.1, t_max,
        np.random.default_rng(1), f_max)


def transition(name, sampler, from_q, mirrors=()):
    """One transition: what two take that one does not."""
    return Case(name, transitions(sampler, from_q, 2),
                {"N": CASES, "l_max": SETTINGS, "f_max": SETTINGS}, mirrors,
                less=transitions(sampler, from_q, 1))


def sweeps(number):
    """Make sweeps of the mirror that do not end before."""
    return lambda N: partial(ep.compiled, *problem(N), 1e-300, number, 0.5)


def block_sweeps(number):
    """Make sweeps of the twin, over blocks of b sites, `blocks` of them."""
    return lambda b, blocks: partial(ep_fast.ep_in_blocks, *problem(b * blocks), 1e-300, number,
                                     0.5, b)


def rebuilt(N):
    """Rebuild Sigma, which the twin does when log Z has settled."""
    return partial(ep_fast.rebuild, np.empty((N, N)), problem(N)[0], np.ones(N))


def run(kernel, B):
    """Make one run of AIS over B temperatures, from EP's Gaussian."""
    return lambda N, **settings: partial(
        ais_run, model(N, True), np.linspace(0.0, 1.0, B + 1), kernel(**settings),
        np.random.default_rng(1))


def temperature(name, kernel, mirrors=(), **more):
    """One temperature: what two take that one does not."""
    return Case(name, run(kernel, 2), {"N": CASES, "l_max": SETTINGS, **more}, mirrors,
                less=run(kernel, 1))


def gradients(name, of):
    """Tell what is asked of a model."""
    return {"grad_U": ("grad U",), "U": ("U",), "U_and_grad_U": ("U", "grad U")}.get(name, ())


def hmc_transition(L):
    """Make one transition of HMC."""
    start = state_at(np.zeros(2), model(2, True))
    return partial(hmc_step, start, model(2, True), 0.1, L, None, np.random.default_rng(1))


COUNTS = [
    Count(rmhmc, "transition", (
        transition("mirror, from the prior", rmhmc, False, FORMED),
        transition("mirror, from EP's q", rmhmc, True, FORMED),
        transition("twin, from the prior", paquet_rmhmc_fast.rmhmc, False),
        transition("twin, from EP's q", paquet_rmhmc_fast.rmhmc, True)), NO_COUNT),
    Count(ep, "sweep over all sites", (
        Case("mirror", sweeps(2), {"N": CASES}, (ep,), less=sweeps(1)),
        Case("twin", block_sweeps(3), {"b": (2, 3, 4, 5, 6), "blocks": (1, 2, 3, 4, 5)},
             less=block_sweeps(2), quotient=("blocks", "N", "b")),
        Case("twin, once at the end", rebuilt, {"N": CASES})),
        "Paquet and Fraccaro give none."),
    Count(ais_run, "temperature, from EP's q", (
        temperature("mirror, RMHMC", partial(RMHMCMirror, 0.1), (ais_run,), f_max=SETTINGS),
        temperature("twin, RMHMC", partial(RMHMC, 0.1), f_max=SETTINGS),
        temperature("HMC", partial(HMCKernel, 0.1))),
        "gives none: Figure 2 has computation time."),
    Count(hmc_step, "transition", (
        Case("mirror", hmc_transition, {"L": (2, 3, 4)}, (hmc_step,), gradients),),
        "g = L gradients (Shahbaba et al. 2014, Section 3.3), as counted."),
]
