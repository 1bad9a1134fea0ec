"""What is counted of the mirrors of Zhang and Sutton (2014) and of their twin."""

from functools import cache, partial

import numpy as np

from algorithms import zhang_sshmc_fast as sshmc_fast
from algorithms.zhang_sshmc import H1, leapfrog, sshmc_general_step, sshmc_step
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import precompute_phi, precompute_theta
from reproduce.harness.counting import Case, Count

SETTINGS = (1, 2, 3)  # a count is linear in each
KINDS = {"grad_U_theta": ("grad U_1",), "grad_U2": ("grad U_2",),
         "precompute_phi": ("factors of M_theta",)}


@cache
def model():
    """Return the posterior of two groups: a model of which the twin has no flows of its own."""
    X = np.random.default_rng(1).standard_normal((6, 2))
    return HierarchicalLogistic.from_data(X, np.where(X[:, 0] > 0, 1.0, -1.0), np.arange(6) % 2)


def asked_density(name, of):
    """Tell what is asked of the model; it has a factor wherever it has a phi."""
    return KINDS.get(name, ())


def leapfrogs(n):
    """Take n leapfrogs for H_1."""
    return partial(leapfrog, np.zeros(4), np.ones(4),
                   H1(model(), precompute_phi(np.zeros(1), model()),
                                                         np.ones(1)), 0.1, n)


def join(n):
    """Take them with the gradient at the start known, which the twin hands on."""
    return partial(sshmc_fast.joined_theta, np.zeros(4), np.ones(4), np.ones(4),
                   precompute_phi(np.zeros(1), model()), np.ones(1), 0.1, n, model())


def transition(L):
    """Make one transition, as printed."""
    return partial(sshmc_step, np.zeros(4), np.zeros(1), model(), 0.1, L, np.random.default_rng(3))


def general_transition(L, n_theta, n_phi):
    """Make one transition with several leapfrogs."""
    return partial(sshmc_general_step, np.zeros(4), np.zeros(1), model(), 0.1, 0.1, L, n_theta,
                   n_phi, np.random.default_rng(3))


def fast_transition(L, n_theta, n_phi):
    """Make it with the twin."""
    start = sshmc_fast.state_at(precompute_phi(np.zeros(1), model()),
                                precompute_theta(np.zeros(4), model()),
                                model())
    return partial(sshmc_fast.sshmc_step, start, model(), 0.1, 0.1, L, n_theta, n_phi,
                   np.random.default_rng(3))


ALL = {"L": SETTINGS, "n_theta": SETTINGS, "n_phi": SETTINGS}
COUNTS = [
    Count(sshmc_step, "transition", (
        Case("mirror", transition, {"L": SETTINGS}, (sshmc_step,), asked_density),
        Case("general", general_transition, ALL, asks=asked_density),
        Case("twin", fast_transition, ALL, asks=asked_density)),
        "O(l g) for l leapfrogs of a gradient each (Section 4.4), l = (2 n_theta + n_phi) L; the"
        " lines as they stand, n_theta = n_phi = 1, take 2 l, as the general step does, and the"
        " twin l + 2 L + 1: one more wherever the other block has"
        " moved."),
    Count(leapfrog, "n leapfrogs for H_1", (
        Case("mirror", leapfrogs, {"n": SETTINGS}, (leapfrog,), asked_density),
        Case("twin", join, {"n": SETTINGS}, asks=asked_density)),
        "n (Section 4.4): the gradient of line 4 serves the next line 2."),
]
