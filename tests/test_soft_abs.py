"""models/soft_abs.py: the smooth absolute value, the metric and its derivatives."""

from contextlib import nullcontext

import mpmath
import numpy as np
import pytest

from algorithms.generalised_leapfrog import generalised_leapfrog, geometry, metric_factor
from differences import differences
from models import validate
from models.funnel import Funnel
from models.interface import grad_U, hessian, hessian_gradient, metric, metric_gradient
from models.soft_abs import Contracted, SoftAbs, divided_difference, slope, soft
from reproduce.zhang.contracted import SpectralGeometry, contract_soft_abs
from test_validate import own

FUNNEL = Funnel.from_size(4)
BOTH_WAYS = (0.7, -0.4, 0.3, 1.1, 0.6)  # a determinant below 0: eigenvalues of both signs
# three of the eigenvalues are e^v at every point; where x = 0 and e^v = 1/9 all five are
DEGENERATE = (0.0, 0.0, 0.0, 0.0, -np.log(9))
Z = [0.0, 1e-300, 1e-8, 0.0099, 0.0101, 0.09, 0.3, 1.0, 4.0, 18.0, 25.0, 1e6, 1e300]


def exact(function, *z):
    """Evaluate with 80 digits; mpmath has no limit at 0."""
    with mpmath.workdps(80):
        return float(function(*map(mpmath.mpf, z)))


def exact_soft(z):
    return z * mpmath.coth(z) if z else mpmath.mpf(1)


def exact_slope(z):
    # beyond 100, 1 / sinh^2 has no digit within 80; below 1e-20 the next term is z^3
    if abs(z) < 1e-20:
        return 2 * z / 3
    return mpmath.sign(z) if abs(z) > 100 else mpmath.coth(z) - z / mpmath.sinh(z) ** 2


@pytest.mark.parametrize("z", Z)
def test_soft_and_its_slope_everywhere(z):
    with np.errstate(all="raise", under="ignore"):
        for sign in (1, -1):
            assert soft.py_func(sign * z) == soft(sign * z) == soft(z)
            # rounding of tanh; of coth - z / sinh^2, which both are 100 where the series begins
            np.testing.assert_allclose(soft(z), exact(exact_soft, z), rtol=1e-15)
            np.testing.assert_allclose(slope.py_func(sign * z), sign * exact(exact_slope, z),
                                       rtol=1e-15, atol=1e-13 * min(z, 1))


@pytest.mark.parametrize("gap", [1e-12, 1e-6, 1e-3, 0.0099, 0.0101, 0.3, 40.0])
@pytest.mark.parametrize("b", [0.0, 1e-3, 0.7, -2.0, 15.0, 1e6])
def test_divided_differences_near_and_far(b, gap):
    a = b + max(gap, 1e-12 * abs(b))
    difference = exact(lambda a, b: (exact_soft(a) - exact_soft(b)) / (a - b), a, b)
    # Gauss's rule: 1e-8 / 4320 times a derivative below 4; beyond, rounding of 15 over a gap of .01
    assert divided_difference(a, b) == pytest.approx(difference, rel=0, abs=1e-11)
    assert divided_difference(b, a) == pytest.approx(difference, rel=0, abs=1e-11)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 30.0, 1e6, 1e300])
def test_metric_is_the_function_of_the_hessian(alpha):
    q = np.array(BOTH_WAYS)
    values, Q = np.linalg.eigh(hessian(q, FUNNEL))
    assert values[0] < -0.1 and values[-1] > 0.1
    G = metric(q, SoftAbs.from_model(FUNNEL, alpha))
    np.testing.assert_array_equal(G, G.T)
    # lambda coth(alpha lambda); beyond 1e4, coth is +-1 in all digits
    wanted = np.abs(values) if alpha > 1e4 else values / np.tanh(alpha * values)
    np.testing.assert_allclose(G, Q @ np.diag(wanted) @ Q.T, rtol=0, atol=1e-14 * wanted.max())
    assert np.linalg.eigvalsh(G)[0] > 0


@pytest.mark.parametrize("alpha", [0.5, 3.0, 1e3])
@pytest.mark.parametrize("q", [BOTH_WAYS, DEGENERATE, (0.0, 0.0, 0.0, 0.0, 0.3),
                               (1e-9, 0.0, 0.0, 0.0, -np.log(9)), (0.3, 0.3, 0.3, 0.3, -2.0)])
def test_derivatives_of_the_metric_against_differences(q, alpha):
    q, model = np.array(q), SoftAbs.from_model(FUNNEL, alpha)
    # h^2 times third derivatives of G, which grow with alpha^2 where an eigenvalue is near 0: none
    # is, against 1 / alpha; rounding / h is 1e-11
    np.testing.assert_allclose(metric_gradient(q, model),
                               differences(lambda x: metric(x, model), q), rtol=0, atol=1e-7)


def test_where_the_hessian_is_not_finite_so_is_the_metric():
    q, model = np.array([1.0, 0.0, 0.0, 0.0, 800.0]), SoftAbs.from_model(FUNNEL, 3.0)
    assert np.isnan(metric(q, model)).all() and np.isnan(metric_gradient(q, model)).all()


def test_trajectories_are_the_same_contracted():
    rng, start = np.random.default_rng(5), np.array(BOTH_WAYS)
    for seed in range(5):
        p = rng.standard_normal(5)
        one, two = (generalised_leapfrog(start, p, kind(FUNNEL, 2.0), 6, 0.2)
                    for kind in (SoftAbs.from_model, contract_soft_abs))
        assert one.converged and two.converged, seed
        # rounding, and the tolerance of the fixed points, 1e-12, in six steps
        np.testing.assert_allclose(np.append(two.x, [*two.p, two.H]), np.append(
            one.x, [*one.p, one.H]), rtol=0, atol=1e-9)
    here = geometry(start, metric_factor(start, contract_soft_abs(FUNNEL, 2.0)),
                    contract_soft_abs(FUNNEL, 2.0))
    assert isinstance(here, SpectralGeometry)  # what is compared is not the same code twice


@pytest.mark.parametrize("kind", [SoftAbs, Contracted])
def test_third_derivatives_that_are_a_field_are_not_written_into(kind, monkeypatch):
    cubic = own("Cubic", lambda q, model: (q**3).sum() / 6, lambda q, model: q**2 / 2,
                compiled=False, third=np.ndarray)
    monkeypatch.setitem(hessian.implementations, cubic, lambda q, model: np.diag(q))
    for third, said in ((lambda q, model: model.third, r"not memory of model\.third: return"), (
            lambda q, model: model.third.copy(), "")):
        monkeypatch.setitem(hessian_gradient.implementations, cubic, third)
        given = kind.from_model(cubic(np.ones((2, 2, 2))), 1.0)
        with pytest.raises(ValueError, match=said) if said else nullcontext():
            for function, model in validate.written(given):
                validate.own_array(function, np.ones(2), model)
    assert {function for function, _ in validate.written(given)} == {grad_U, hessian_gradient}
