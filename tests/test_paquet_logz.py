"""reproduce/paquet_logz.py: the tails of importance sampling from q."""

import math

import numpy as np
import pytest

from algorithms.ep import ep
from paquet_logz import last_step, problem

DIGITS = "optical digits 3 vs 5"


def test_one_case_has_the_last_step_of_a_half_normal():
    # the posterior is nearly half a normal: variance K (1 - 2 / pi), so that tau K = 2 / (pi - 2)
    assert last_step(DIGITS, 1) == pytest.approx((math.pi - 2) / 2, abs=2e-3)  # K = 27000, not inf
    K, y, q = problem(DIGITS, 1)
    assert last_step(DIGITS, 1) == pytest.approx(1 / (K[0, 0] * q.tau[0]), rel=1e-6)
    assert ep(K, y).log_Z == pytest.approx(math.log(0.5), abs=1e-12)


@pytest.mark.parametrize("N", [2, 3, 8, 40])
def test_second_moment_of_the_weights_grows_along_the_ray(N):
    K, y, q = problem(DIGITS, N)
    assert (y * q.mu > 0).all()
    length = last_step(DIGITS, N)
    assert 0 < length < 1
    inverse = np.linalg.inv(K)
    for step, sign in ((0.9 * length, 1), (1.1 * length, -1)):
        assert sign * (q.mu @ inverse @ q.mu - step * q.mu @ (q.tau * q.mu)) > 0
