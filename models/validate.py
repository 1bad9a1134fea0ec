"""Checks of arguments at the public entry points: each returns a clean value or raises ValueError.

Every message says which argument, what it was, and what was expected.
"""

import numbers

import numpy as np

from models.interface import U
from models.linalg import cholesky

LARGEST = np.iinfo(np.int64).max


def real(name, value, low=-np.inf, high=np.inf, open_low=False):
    """Return `value` as a finite float with low <= value <= high (low < value if open_low)."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError(f"{name} must be a real number, not {value!r}")
    try:
        number = float(value)
    except OverflowError:  # of a whole number or a fraction of any size
        number = np.inf
    if not (np.isfinite(number) and low <= number <= high and (number > low or not open_low)):
        interval = f"{'(' if open_low else '['}{low:g}, {high:g}]"
        raise ValueError(f"{name} must be a finite number in {interval}, not {value!r}")
    return number


def count(name, value, low=1):
    """Return `value` as an int of at least `low`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        raise ValueError(f"{name} must be a whole number of at least {low}, not {value!r}")
    return int(value)


def int64(name, value, low=1):
    """Return count(name, value, low) if compiled code can hold it."""
    if count(name, value, low) > LARGEST:
        raise ValueError(f"{name} must be a whole number of at most {LARGEST}, not {value!r}")
    return int(value)


def array(name, value, shape):
    """Return `value` as a C-ordered, finite float64 array; a -1 in `shape` is any length."""
    kind = type(value).__name__
    try:
        value = np.asarray(value)
        if value.dtype.kind not in "biufO":
            raise TypeError(value.dtype)
        value = np.asarray(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
        raise ValueError(f"{name} must be an array of real numbers, not {kind}{of}") from None
    letters = iter("nmkl")
    sizes = [next(letters) if n == -1 else str(n) for n in shape]
    wanted = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    if value.ndim != len(shape) or any(n not in (-1, m)
                                       for n, m in zip(shape, value.shape, strict=True)):
        raise ValueError(f"{name} must have shape {wanted}, not {value.shape}")
    if value.size == 0:
        raise ValueError(f"{name} is empty: shape {value.shape}, expected {wanted}")
    bad = np.count_nonzero(~np.isfinite(value))
    if bad:
        raise ValueError(f"{name} must be finite, but {bad} of its {value.size} entries are not")
    return value


def state(name, value, model):
    """Return `value` as a (d,) float64 array at which U is finite.

    d is the model's, if it has a `precision`.
    """
    d = model.precision.shape[0] if hasattr(model, "precision") else -1
    value = array(name, value, (d,))
    energy = U(value, model)
    if not np.isfinite(energy):
        raise ValueError(f"{name} must be where U is finite, but U there is {energy}")
    return value


def generator(name, value):
    """Return `value` if it is a numpy.random.Generator."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(f"{name} must be a numpy.random.Generator, such as"
                         f" numpy.random.default_rng(1), not {type(value).__name__}")
    return value


def instance(name, value, kind, how):
    """Return `value` if it is a `kind`; `how` says where the caller gets one."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be of type {kind.__name__} ({how}),"
                         f" not {type(value).__name__}")
    return value


def labels(name, value, n):
    """Return `value` as an (n,) float64 array of -1 and +1."""
    value = array(name, value, (n,))
    bad = np.unique(value[np.abs(value) != 1])
    if bad.size:
        raise ValueError(f"{name} must hold only -1 and +1, but holds {bad[:5].tolist()}")
    return value


def covariance(name, value):
    """Return `value` as a symmetric (n, n) float64 array (not tested for definiteness)."""
    value = array(name, value, (-1, -1))
    if value.shape[0] != value.shape[1]:
        raise ValueError(f"{name} must be square, not of shape {value.shape}")
    gap = np.abs(value - value.T).max()
    if gap > 1e-10 * np.abs(value).max():  # rounding of whatever computed it
        raise ValueError(f"{name} must be symmetric, but differs from its transpose by {gap:.3g}")
    return (value + value.T) / 2 if gap > 0.0 else value


def mass(name, value, h):
    """Return the Cholesky factor of a mass, (h, h): `value` is a matrix or a number times I."""
    if not isinstance(value, list | tuple | np.ndarray):
        return np.sqrt(real(name, value, 0.0, open_low=True)) * np.eye(h)
    value = covariance(name, array(name, value, (h, h)))
    L, ok = cholesky(value)
    if not ok:
        raise ValueError(f"{name} must be positive definite, but its Cholesky factorisation failed")
    return L


def indices(name, value, n):
    """Return `value` as an array of indices below n; all of them for None."""
    if value is None:
        return np.arange(n)
    try:
        found = np.atleast_1d(np.asarray(value))
    except ValueError:  # lists of unequal lengths
        found = np.empty((0, 0))
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a list of whole numbers or None, not {value!r}")
    if found.size and not (0 <= found.min() and found.max() < n):
        raise ValueError(f"{name} must hold indices from 0 to {n - 1}, not {value!r}")
    return found.astype(np.int64)
