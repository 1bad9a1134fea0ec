"""A small model with a prior, of which exact draws can be had, and whose subsets approximate it.

    q = (mu, lam)    mu ~ N(0, 1)    lam ~ N(0, 1/4)    y_i ~ N(mu, e^-lam)

With q = (mu,) lam is 0.  Beyond an edge U is what one likes, and it counts how often it is asked.
"""

from typing import NamedTuple

import numpy as np

from models.interface import U, log_likelihood_of
from models.validate import rehearse


class Normal(NamedTuple):
    """The model."""

    y: np.ndarray  # (n,)
    edge: float  # of mu
    beyond: float  # U where mu is larger
    calls: np.ndarray  # (1,) int: of U


def normal(y, edge=np.inf, beyond=np.nan):
    return unasked(Normal(np.asarray(y, float), edge, beyond, np.zeros(1, np.int64)))


def subset(model, m):
    return unasked(model._replace(y=model.y[:m].copy(), calls=np.zeros(1, np.int64)))


def unasked(model):
    """Let U be tried as samplers do when they first see such a model; then nothing is counted."""
    for size in (1, 2):
        rehearse("q", np.zeros(size), model, U)
    model.calls[:] = 0
    return model


def exact_draw(n, rng):
    """Draw (mu, lam) and then n data."""
    q = np.array([1.0, 0.5]) * rng.standard_normal(2)
    return q, q[0] + np.exp(-q[1] / 2) * rng.standard_normal(n)


@U.register(Normal)
def normal_U(q, model):
    model.calls[0] += 1
    if q[0] > model.edge:
        return model.beyond
    off, lam = model.y - q[0], q[1] if q.size > 1 else 0.0
    return (np.exp(lam) * np.sum(off * off) / 2 - model.y.size * lam / 2
            + q[0] * q[0] / 2 + 2 * lam * lam)


@log_likelihood_of.register(Normal)
def normal_log_likelihood(energy, q, model):
    return q[0] * q[0] / 2 + (2 * q[1] * q[1] if q.size > 1 else 0.0) - energy


MODEL, Q = normal([0.3, 1.2, -0.4, 0.9]), np.array([0.2, -0.1])
NEAR, FAR = subset(MODEL, 3), subset(MODEL, 1)
# in calls of test_bad_input.py that are compiled: samplers are compiled for this model anyway
INSTEAD = {
    "slice_sampling": dict(x0=Q, model=MODEL),
    "discretizing_chain": dict(x0=Q, model=MODEL, approximation=NEAR),
    "tempered_transitions": dict(x0=Q, model=MODEL, layers=(NEAR, FAR)),
    "delayed_acceptance": dict(q0=Q, model=MODEL, approximation=NEAR, factor=np.eye(2)),
    "dragging": dict(q0=Q, model=MODEL),
}
