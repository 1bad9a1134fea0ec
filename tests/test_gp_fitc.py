"""FITC: a diagonal of rounding; its formula is tested in test_gp_nystrom.py."""

import numpy as np

from models.gp_fitc import GPFITC
from models.gp_nystrom import GPNystrom
from models.gp_regression import GPRegression
from models.interface import U
from test_gp_regression import problem


def test_what_rounding_makes_negative_of_the_diagonal_counts_as_0():
    # of rank 1: one column leaves nothing, to 1e-15 of 1 to 1e3, at a noise of 1e-20
    model = GPFITC.from_model(GPRegression.from_data(np.zeros((5, 2)), np.ones(5), "ard", 0.7),
                              [0], 0.0)
    for log_eta in np.linspace(-1.0, 3.0, 30):
        assert np.isfinite(U(np.array([np.log(1e-10), log_eta, 0.0, 0.0]), model))


def test_the_jitter_is_that_of_the_other_approximations():
    for kind in (GPFITC, GPNystrom):
        assert kind.from_model(problem(5, "ard")[0], [0, 2]).jitter == 1e-10
