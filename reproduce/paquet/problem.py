"""The experiment of Paquet and Fraccaro (2016), Section 5; f_max is from Section 4.1."""

from functools import cache

import numpy as np

from algorithms.ais import HMC, RMHMC
from algorithms.ep_fast import ep
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from reproduce.paquet.digits import threes_and_fives

LOG_LENGTH, LOG_AMPLITUDE = 4.85, 5.1
KERNELS = {"RMHMC": RMHMC(eps=0.1, l_max=10, f_max=5), "HMC": HMC(eps=0.02, l_max=200)}


@cache
def problem(data_name, cases=None):
    """Return (K, y, EP's result) of so many evenly spaced cases of the data set (None: all)."""
    X, y = threes_and_fives(data_name)[1:3]
    if cases:
        keep = np.linspace(0, y.size - 1, cases).astype(int)
        X, y = X[keep], y[keep]
    K = squared_exponential(X, X, LOG_LENGTH, LOG_AMPLITUDE)
    return K, y, ep(K, y)


@cache
def anneal(data_name, cases, from_q):
    """Return the model, annealed from EP's q or from the prior."""
    K, y, q = problem(data_name, cases)
    return GPClassification.from_ep(K, y, q) if from_q else GPClassification.from_prior(K, y)
