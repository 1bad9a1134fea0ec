"""The ten data sets of Wang and Neal (2013), Section 6.1 and Table 1, simulated.

Covariates are uniform on [0, 1], responses a draw of the Gaussian process.  The paper gives eta and
the lengths.  It gives neither the noise nor the constant: SIGMA and C are ours.  It has one data
set for each row; there can be any number of them here, `index` 0, 1, ...
"""

import numpy as np

from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression, covariance
from models.gp_subset import GPSubset
from reproduce.wang.printed import ETA, NYSTROM, ROWS, SOD, STANDARD, TEMPERED, lengths

# Ours: the paper is silent
SIGMA = 0.5  # of the noise
C = 10.0  # standard deviation of the constant
SEED = 2013  # of the data, whatever the seed of the chains is


def truth(number):
    """Return (log sigma, log eta, log rho_1, ...), (d,), with which the data are made."""
    return np.log(np.concatenate([[SIGMA, ETA], lengths(number)]))


def data(number, index, n=None):
    """Simulate data set `index` of a row of the tables, of n cases or as many as the paper has.

    Returns X (n, p), y (n,) and the truth (d,).
    """
    row = ROWS[number]
    rng = np.random.default_rng([SEED, number, index])
    X, q = rng.random((n or row.n, row.p)), truth(number)
    # any responses do for the covariance
    C_ = covariance(q, GPRegression.from_data(X, np.zeros(len(X)), row.kind, c=C))
    return X, np.linalg.cholesky(C_) @ rng.standard_normal(len(X)), q  # reads the lower triangle


def posterior(number, index, n=None):
    """Return the posterior of a data set, a GPRegression, and the truth, (d,)."""
    X, y, q = data(number, index, n)
    return GPRegression.from_data(X, y, ROWS[number].kind, c=C), q


def order(number, index, n=None):
    """Return a random order of the cases, (n,), fixed for the data set."""
    return np.random.default_rng([SEED, number, index, 1]).permutation(n or ROWS[number].n)


def approximation(model, method, m, order):
    """Return what a method takes beside the posterior: an approximation, or a tuple of layers.

    m     : int or tuple of int   of tempered transitions (m_1, m_2, ...), one subset in the other
    order : (n,)                  of which the first m cases are taken
    """
    if method == SOD:
        return GPSubset.from_model(model, order[:m])
    if method == NYSTROM:
        return GPNystrom.from_model(model, order[:m])
    if method == TEMPERED:
        return tuple(GPSubset.from_model(model, order[:each]) for each in m)
    raise ValueError(f"method must be one of {(SOD, NYSTROM, TEMPERED)}, not {method!r}")


def scale_m(m, number, n=None):
    """Return m, one number or several, in proportion to another number of cases; at least 2."""
    if n is None:
        return m
    if np.ndim(m):
        return tuple(scale_m(each, number, n) for each in m)
    return max(2, round(m * n / ROWS[number].n))


def problem(number, index, method, m=None, n=None):
    """Return the posterior, the truth, and what the method takes beside it; m None: the paper's."""
    model, truth = posterior(number, index, n)
    if method == STANDARD:
        return model, truth, None
    m = scale_m(ROWS[number].m[method], number, n) if m is None else m
    return model, truth, approximation(model, method, m, order(number, index, n))
