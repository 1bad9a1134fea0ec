"""Hierarchical logistic regression on some of the cases, whose likelihood counts more than once.

It approximates the model of all cases: for mapping to a discretizing chain (Wang and Neal 2013),
with the cases in which split HMC has its U_0 (Shahbaba et al. 2014, Section 3.2).
"""

from typing import NamedTuple

from models.hierarchical_logistic import HierarchicalLogistic, minus_log_likelihood
from models.interface import U


class SubsetLogistic(NamedTuple):
    """The posterior of (w, log v) with the likelihood to a power."""

    model: HierarchicalLogistic  # of these cases
    weight: float  # of each case


@U.register(SubsetLogistic)
def subset_U(q, subset):
    """Weight times the likelihood's, and the prior's."""
    model = subset.model
    return U(q, model) + (subset.weight - 1.0) * minus_log_likelihood(
        q[:-1], model, 0, model.starts.size - 1)
