"""The variational bound: what it bounds; its formula is tested in test_gp_nystrom.py."""

import numpy as np

from models.gp_nystrom import GPNystrom
from models.gp_variational import GPVariational
from models.interface import U
from test_gp_regression import problem


def test_it_is_a_bound_and_grows_with_the_columns():
    whole, q = problem(30, "ard")
    rng = np.random.default_rng(1)
    for _ in range(5):
        there, order = q + 0.5 * rng.standard_normal(q.size), rng.permutation(30)
        found = [-U(there, GPVariational.from_model(whole, order[:m])) for m in (1, 4, 9, 20, 30)]
        assert (np.diff(found) > -1e-7).all()  # the jitter of 1e-10 c^2, over sigma^2 > .01
        assert found[-1] < -U(there, whole) + 1e-7 and found[0] < found[-1] - 1
        assert -U(there, GPNystrom.from_model(whole, order[:4])) > found[1]
