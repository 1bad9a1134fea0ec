"""models/special.py: every digit of log Phi and its derivatives, against mpmath."""

import mpmath
import numpy as np
import pytest

from models.special import FAR, inverse_mills, probit

mpmath.mp.dps = 80
Z = [-1000.0, -400.0, -100.0, -38.5, -20.0, -8.0, FAR - 1e-9, FAR + 1e-9, -5.0, -3.0, -1.0, -1e-3,
     0.0, 1e-3, 0.7, 2.0, 4.0, 7.0]


def exact(z):
    """log Phi, h, lambda and kappa by their definitions, to 80 digits."""
    z = mpmath.mpf(z)
    Phi = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
    h = mpmath.npdf(z) / Phi
    return (mpmath.log(Phi), h, h * (z + h), h * (1 - z**2 - 3 * z * h - 2 * h**2))


@pytest.mark.parametrize("z", Z)
def test_all_derivatives_are_accurate(z):
    ours = probit(np.array([z]))
    # the condition number of Phi's tail is z^2, and of the closed forms above FAR about z^4
    tolerance = {0: 1e-15 * (1 + max(z, 0) ** 2), 1: 1e-15 * (1 + max(z, 0) ** 2),
                 2: 2e-14, 3: 3e-11 if FAR < z < 0 else 2e-14}
    values = (ours.log_Phi, ours.h, ours.lam, ours.kappa)
    for k, (value, reference) in enumerate(zip(values, exact(z), strict=True)):
        assert abs(value[0] / reference - 1) < tolerance[k], k
    assert inverse_mills(z) == pytest.approx(ours.h[0], rel=1e-15)


def test_no_subnormal_numbers_and_no_nan_far_out():
    z = np.array([-1e6, -1e4, 10.0, 16.0, 17.0, 25.0, 38.0, 40.0, 1e3, 1e6])
    out = probit(z)
    for values in out:
        assert np.isfinite(values).all()
    # lambda is 1.3e-55 at 16 and 1.3e-62 at 17, below TINY
    np.testing.assert_array_equal(out.lam == 0, z > 16)
    np.testing.assert_allclose(out.slope[-3:], -z[-3:], rtol=1e-2)  # slope -> (1 - z^2) / z
