"""What is counted of the mirrors of Shahbaba et al. (2014)."""

from functools import cache, partial

import numpy as np

from algorithms import shahbaba_split_hmc_fast as split_hmc_fast
from algorithms.map_estimate import map_estimate
from algorithms.shahbaba_split_hmc import (
    data_split_step,
    normal_approximation,
    normal_split_step,
    split_data,
)
from algorithms.shahbaba_split_hmc_fast import DataState, normal_state
from models.interface import U, grad_U
from models.logistic_regression import LogisticRegression
from reproduce.harness.counting import Case, Count
from reproduce.shahbaba.printed import number

STEPS = (1, 2, 3)  # a count is linear in L and in M
PARTS = {20: "", 8: "_0", 12: "_1"}  # all cases, those in R_0, those in R_1


@cache
def model():
    """Return the posterior of an intercept and a coefficient, given twenty cases."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20, 1))
    return LogisticRegression.from_data(x, x[:, 0] + rng.standard_normal(20) > 0, 2.0, 2.0)


@cache
def split():
    """Return the cases in two parts, of which 40 % are in R_0."""
    return split_data(model(), map_estimate(model()).q, 0.4)


def asked_density(name, of):
    """Tell what is asked of the model, or of its part R_0 or R_1, which their cases tell apart."""
    part = PARTS.get(getattr(of, "y", np.empty(0)).size)
    kinds = {"grad_U": ("grad U",), "U": ("U",), "U_and_grad_U": ("U", "grad U")}.get(name, ())
    return () if part is None else tuple(f"{kind}{part}" for kind in kinds)


def normal_split(L):
    """Make one transition of Algorithm 1."""
    normal = normal_approximation(map_estimate(model()))
    return partial(normal_split_step, np.zeros(2), model(), normal, 0.1, L,
                   np.random.default_rng(0))


def data_split(L, M):
    """Make one transition of Algorithm 2."""
    return partial(data_split_step, np.zeros(2), model(), split(), 0.1, L, M,
                   np.random.default_rng(0))


def normal_twin(L):
    """Make one transition of the twin of Algorithm 1."""
    normal = normal_approximation(map_estimate(model()))
    return partial(split_hmc_fast.normal_split_step, normal_state(np.zeros(2), model(), normal),
                   model(), normal, 0.1, L, np.random.default_rng(0))


def data_twin(L, M):
    """Make one transition of the twin of Algorithm 2."""
    q = np.zeros(2)
    start = DataState(q, U(q, model()), grad_U(q, split().R_0), grad_U(q, split().R_1))
    return partial(split_hmc_fast.data_split_step, start, model(), split(), 0.1, L, M,
                   np.random.default_rng(0))


COUNTS = [
    Count(normal_split_step, "transition",
          (Case("mirror", normal_split, {"L": STEPS}, (normal_split_step,), asked_density),
           Case("twin", normal_twin, {"L": STEPS}, (), asked_density)),
          "g = L gradients (Section 3.3), as counted of the twin: line 4 has the gradient of the"
          " line 9 before it, and U comes with it. For Chess Table 2 has g ="
          f" {number('Chess', 'g', 'normal'):g} and L = {number('Chess', 'L', 'normal'):g}: by this"
          " rule they are the same."),
    Count(data_split_step, "transition",
          (Case("mirror", data_split, {"L": STEPS, "M": STEPS}, (data_split_step,), asked_density),
           Case("twin", data_twin, {"L": STEPS, "M": STEPS}, (), asked_density)),
          "g = (f M + 1 - f) L gradients, with the share f of the cases in R_0 (Section 3.3), as"
          " counted of the twin. It leaves out the U of the test, one more pass over the data; in"
          " HMC and Algorithm 1 that comes with the last gradient."),
]
