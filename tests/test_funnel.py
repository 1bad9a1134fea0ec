"""models/funnel.py: the density, which masses it has, and what is misprinted about it."""

import numpy as np
import pytest
from scipy.stats import norm

from departing import departs
from models import interface
from models.funnel import Funnel
from models.interface import GivenPhi, U, precompute_phi

MODEL = Funnel.from_size(4)
Q = np.array([0.3, -1.2, 0.7, 0.1, 0.8])
OTHER = np.array([-0.5, 0.2, 2.0, 0.6, -1.7])


def hessian_of_x(v, n=4):
    """Of -log p(x | v), by differences: exact, because it is quadratic."""
    given = GivenPhi(MODEL, np.array([v]))
    return np.array([[(U(a + b, given) - U(a - b, given) - U(b - a, given) + U(-a - b, given)) / 4
                      for a in np.eye(n)] for b in np.eye(n)])


def test_U_is_minus_the_log_density():
    def log_density(q):
        return norm.logpdf(q[:-1], scale=np.exp(-q[-1] / 2)).sum() + norm.logpdf(q[-1], scale=3)

    assert U(Q, MODEL) - U(OTHER, MODEL) == pytest.approx(
        log_density(OTHER) - log_density(Q), rel=1e-13)


@departs(lambda Phi, r: interface.velocity_theta(r, Phi, MODEL), lambda Phi, r: Phi.precision * r)
def test_section_5_1_the_mass_of_x_is_its_hessian(velocity):
    # printed: the precision of the momentum
    for v in (-1.0, 0.8):
        Phi = precompute_phi(np.array([v]), MODEL)
        inverse = np.column_stack([velocity(Phi, e) for e in np.eye(4)])
        np.testing.assert_allclose(inverse @ hessian_of_x(v), np.eye(4), rtol=0, atol=1e-13)


@departs(lambda n: n / 2 + 1 / 9, lambda n: n + 1 / 9)
def test_section_5_1_the_curvature_of_v(expectation):
    # of d^2 U / dv^2, which is linear in x'x: its mean is the value where x'x has its own, n e^-v
    n, v, h = 4, 0.8, 1e-3
    x = np.full(n, np.exp(-v / 2))
    curvature = sum(weight * U(np.append(x, v + k * h), MODEL) for k, weight in (
        (-2, -1), (-1, 16), (0, -30), (1, 16), (2, -1))) / (12 * h**2)
    assert curvature == pytest.approx(expectation(n), abs=1e-8)  # h^4, and 1e-15 / h^2
