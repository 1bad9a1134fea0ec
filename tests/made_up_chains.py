"""Chains that a test has made up, and what several of them say together."""

import numpy as np

from reproduce.beyond.rivals.moments import Together


def one(ess, squares, work, d=3, **more):
    """Make a chain of 1000 draws of variance 1 with these effective sample sizes of all values."""
    return {"n": 1000, "mean": [0.0] * d, "variance": [1.0] * d,
            "mean se": [ess**-0.5] * d, "variance se": [(2 / squares) ** 0.5] * d,
            "spread": [2.0] * d, "gradients": work, "divergences": 0, "rate": 0.8} | more


def of_table(rate):
    """Make what a replicate of the tables of Split HMC returns, of a chain with this rate."""
    row = {"batch": 3.0, "initial": 3.0, "se": 0.1, "mean": 1.0, "mean_se": 0.1}
    return {"g": 20.0, "AP": rate, "AP_se": 0.01, "batches": 36, "tau": row, "tau_beta": row}


def five(d=4, ess=900.0, squares=800.0):
    """Make five chains of 1000 draws, of d quantities of mean 0 and variance 1."""
    return Together(np.zeros(d), np.full(d, 0.02), np.ones(d), np.full(d, 0.03), np.full(d, ess),
                    np.full(d, squares), 5000, 5, 1e5, 0, np.nan, 0.8)


def off(chains, field, z):
    """Move the last mean or deviation by z standard errors of the difference to as many chains."""
    values = getattr(chains, field).copy()
    values[-1] += z * 2**0.5 * getattr(chains, f"{field}_se")[-1]
    return chains._replace(**{field: values})
