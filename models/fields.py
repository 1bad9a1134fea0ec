"""What the fields of a model's tuple hold: annotations that models/validate.py checks.

    class Gaussian(NamedTuple):
        mean: Array("d")
        precision: Symmetric("d", "d")

A letter is a length, the same wherever it stands in the tuple, and d is the number of parameters
that U takes; "k + 1" is one more than k, and a number is itself.  A length may be 0, as that of no
cases is.  Of a field that is annotated by np.ndarray nothing is known but that it is an array.
"""

from typing import Annotated, NamedTuple

import numpy as np


class Field(NamedTuple):
    """What is known of an array."""

    shape: tuple  # of letters, sums of a letter and 1, and numbers
    kind: type = np.float64  # of its entries, or np.int64
    finite: bool = True  # whether they have to be
    must: str = ""  # what the entries have to be, to follow the word "must"
    holds: object = lambda a: True  # function of the array: whether they are

    def __repr__(self):
        """Say it as help() of a model shows it: (d, d) float64, must be symmetric."""
        shape = str(self.shape).replace("'", "")
        return f"{shape} {np.dtype(self.kind)}" + f", must {self.must}" * bool(self.must)


def Array(*shape, finite=True):
    """Any numbers, infinite ones and nan only if they need not be finite."""
    return Annotated[np.ndarray, Field(shape, finite=finite)]


def Counts(*shape):
    """Whole numbers that are not negative, int64."""
    return Annotated[np.ndarray, Field(shape, np.int64, must="be >= 0", holds=lambda a: a >= 0)]


def NotNegative(*shape):
    """Numbers of at least 0."""
    return Annotated[np.ndarray, Field(shape, must="be >= 0", holds=lambda a: a >= 0.0)]


def Positive(*shape):
    """Numbers above 0."""
    return Annotated[np.ndarray, Field(shape, must="be > 0", holds=lambda a: a > 0.0)]


def Bits(*shape):
    """Numbers 0 and 1."""
    return Annotated[np.ndarray, Field(shape, must="hold only 0 and 1",
                                       holds=lambda a: (a == 0.0) | (a == 1.0))]


def Signs(*shape):
    """Numbers -1 and +1."""
    return Annotated[np.ndarray, Field(shape, must="hold only -1 and +1",
                                       holds=lambda a: np.abs(a) == 1.0)]


def Symmetric(*shape):
    """A symmetric matrix, but for rounding of whatever computed it, or a stack of them."""
    return Annotated[np.ndarray, Field(
        shape, must="be symmetric",
        holds=lambda a: np.abs(a - a.swapaxes(-1, -2)) <= 1e-10 * np.abs(a).max())]


def Factor(*shape):
    """A Cholesky factor: 0 above the diagonal, which is positive."""
    return Annotated[np.ndarray, Field(
        shape, must="be lower triangular with a positive diagonal",
        holds=lambda a: not np.triu(a, 1).any() and (np.diag(a) > 0.0).all())]
