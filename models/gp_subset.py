"""Gaussian-process regression on a subset of the data (SOD), an approximation of the posterior.

Paper       Wang and Neal (2013), Section 5.2.1, equation (31).

It is the regression of models/gp_regression.py on m of its n cases, with the same prior: p m^2
operations and m^2 / 2 exponentials for C_(m), and m^3 / 3 for its factor; also one variable at a
time.  Measured, it takes .025 of the posterior's time for 40 of 300 cases (p = 1) and .06 for 300
of 900 (p = 5, ARD).  With all cases it is the posterior, up to the order of the cases.

Departures
----------
Wang and Neal (2013), (31)
    theirs  N(y | 0, C_(m)), for "the posterior distribution given only these observations"
    ours    N(y_(m) | 0, C_(m)), written with the index of the subset
    why     C_(m) is m x m: y stands for the m responses, as the sentence says; no error
    test    test_equation_31_takes_the_responses_of_the_subset
"""

from typing import NamedTuple

import numpy as np

from models import gp_regression, interface, validate
from models.fields import Counts
from models.gp_regression import GPRegression


class GPSubset(NamedTuple):
    """The posterior given some of the cases; made by from_model."""

    part: GPRegression  # of these cases
    index: Counts("m")  # which

    @property
    def precision(self):
        """(d,) prior precisions."""
        return self.part.precision

    @classmethod
    def from_model(cls, model, index):
        """Make the approximation of `model` by the cases `index`.

        model : GPRegression    index : (m,) whole numbers from 0 to n - 1, each at most once

        Raises ValueError, naming the argument, for anything else.
        """
        model = validate.instance("model", model, GPRegression, "from GPRegression.from_data")
        model = validate.model("model", model)
        index = distinct("index", index, model.y.size)
        XT = np.ascontiguousarray(model.XT[:, index])
        return cls(model._replace(XT=XT, y=model.y[index]), index)


@validate.check_values.register
def check_values(model: GPSubset, name):
    """There are as many cases."""
    if model.index.size != model.part.y.size:
        raise ValueError(f"{name}.index must have an entry for each of the {model.part.y.size}"
                         f" cases of {name}.part, not {model.index.size}")


def distinct(name, value, n):
    """Return `value` as an array of different indices below n, at least one."""
    if value is None:
        raise ValueError(f"{name} must be a list of whole numbers, not None")
    index = validate.indices(name, value, n)
    if index.size == 0:
        raise ValueError(f"{name} is empty: at least one case is needed")
    once, times = np.unique(index, return_counts=True)
    if once.size < index.size:
        raise ValueError(f"{name} must hold each case at most once, but repeats"
                         f" {once[times > 1][:5].tolist()}")
    return index


@interface.U.register(GPSubset)
def U(q, model):
    """-log N(y_(m) | 0, C_(m)), (31), - log p(q)."""
    return gp_regression.U(q, model.part)


@interface.U_prior.register(GPSubset)
def U_prior(q, model):
    """That of the whole."""
    return gp_regression.U_prior(q, model.part)


@interface.log_likelihood_of.register(GPSubset)
def log_likelihood_of(energy, q, model):
    """log N(y_(m) | 0, C_(m))."""
    return gp_regression.U_prior(q, model.part) - energy


@interface.log_likelihood.register(GPSubset)
def log_likelihood(q, model):
    """log N(y_(m) | 0, C_(m))."""
    return gp_regression.log_likelihood(q, model.part)


@interface.grad_U.register(GPSubset)
def grad_U(q, model):
    """The gradient of U."""
    return gp_regression.grad_U(q, model.part)


@interface.prepare.register(GPSubset)
def prepare(q, model):
    """Compute the kernel and U."""
    return gp_regression.prepare(q, model.part)


@interface.trial.register(GPSubset)
def trial(cache, k, value, model):
    """U with q_k = value."""
    return gp_regression.trial(cache, k, value, model.part)


@interface.commit.register(GPSubset)
def commit(cache, k, value, energy, model):
    """The same memory."""
    return gp_regression.commit(cache, k, value, energy, model.part)
