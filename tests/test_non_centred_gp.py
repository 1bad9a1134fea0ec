"""models/non_centred_gp.py: the energy of x in other coordinates, and its gradient."""

import numpy as np
import pytest

from models import validate
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.interface import U, grad_U, precompute_phi
from models.linalg import log_det
from models.non_centred_gp import NonCentredGP

MODEL = HierarchicalGPClassification.from_data(
    np.random.default_rng(1).standard_normal((5, 2)), np.array([1.0, -1.0, 1.0, 1.0, -1.0]))
PHI = np.array([0.3, -0.2])


def test_the_non_centred_energy_is_that_of_x_less_its_jacobian():
    q = np.concatenate([np.random.default_rng(2).standard_normal(5), PHI])
    L = np.tril(precompute_phi(PHI, MODEL).L)
    x = np.concatenate([L @ q[:5], PHI])
    assert U(q, NonCentredGP(MODEL)) == pytest.approx(U(x, MODEL) - log_det(L) / 2, rel=1e-12)


def test_the_non_centred_gradient_is_that_of_its_energy():
    given, h = NonCentredGP(MODEL), 1e-5
    q = np.concatenate([np.random.default_rng(2).standard_normal(5), PHI])
    wanted = [(U(q + h * e, given) - U(q - h * e, given)) / (2 * h) for e in np.eye(7)]
    # h^2 and rounding over h are both about 1e-10
    np.testing.assert_allclose(grad_U(q, given), wanted, rtol=0, atol=1e-8)


def test_a_state_has_as_many_variables_as_cases_and_hyperparameters():
    n = MODEL.y.size
    with pytest.raises(ValueError, match=rf"q must have shape \({n + 2},\)"):
        validate.state("q", np.full(n, 0.3), NonCentredGP(MODEL))
