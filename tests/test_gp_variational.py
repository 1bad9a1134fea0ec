"""The variational bound: what it bounds; its formula is tested in test_gp_nystrom.py."""

import numpy as np

from models.gp_variational import GPVariational
from models.interface import U
from test_gp_regression import problem


def test_it_is_a_bound_and_grows_with_the_columns():
    whole, q = problem(30, "ard")
    models = [GPVariational.from_model(whole, np.arange(m)) for m in (1, 4, 9, 20, 30)]
    found = [-U(q, model) for model in models]
    assert (np.diff(found) > -1e-7).all() and found[-1] < -U(q, whole) + 1e-7  # the jitter
    assert all(model.nystrom.jitter == 1e-10 for model in models)
