"""reproduce/paquet/problem.py: the settings are those of the paper, the problem is the one they
describe."""

import math
import re

import numpy as np
import pytest

from reproduce import paquet_fig2
from reproduce.beyond import paquet_fixed_point, paquet_rivals
from reproduce.harness.run import Settings
from reproduce.paquet.digits import digits_3v5
from reproduce.paquet.problem import KERNELS, LOG_AMPLITUDE, LOG_LENGTH, anneal, problem

# Section 5, and the inputs of Algorithm 1
TEXT = """
a length scale l = exp(4.85) and amplitude parameter sigma = exp(5.1)
A HMC transition kernel with l_max = 200 leapfrog steps is used
Plot (g) used a step size eps = 0.02 per proposal
anneals from q(x) using a RMHMC kernel (eps = 0.1, l_max = 10)
the number of fixed point iterations is pre-set to, say, f_max = 5"""
DIGITS = digits_3v5().name


def printed(line, name):
    """Return the number that the line of TEXT with these words gives for a name."""
    (found,) = [text for text in TEXT.splitlines() if line in text]
    return float(re.search(rf"\b{name} = (?:exp\()?([\d.]*\d)", found)[1])


def test_settings_are_those_of_the_text():
    assert printed("length scale", "l") == LOG_LENGTH
    assert printed("amplitude", "sigma") == LOG_AMPLITUDE
    assert KERNELS["HMC"] == (printed("Plot (g)", "eps"), printed("A HMC", "l_max"))
    assert KERNELS["RMHMC"] == (printed("a RMHMC", "eps"), printed("a RMHMC", "l_max"),
                                printed("fixed point", "f_max"))


def test_covariance_is_that_of_the_paper():
    K, y, _ = problem(DIGITS)
    X, labels = digits_3v5()[1:3]
    np.testing.assert_array_equal(y, labels)
    assert K.shape == (365, 365)
    for m, n in ((0, 0), (3, 17), (10, 300)):
        distance = sum((a - b) ** 2 for a, b in zip(X[m], X[n], strict=True))
        # distances of 64 pixels from |x|^2 + |x'|^2 - 2 x'x, over 2 l^2 = 32000
        assert K[m, n] == pytest.approx(
            math.exp(2 * 5.1) * math.exp(-distance / 2 / math.exp(2 * 4.85)), rel=1e-12)


def test_fewer_cases_are_evenly_spaced_and_anneal_from_q_or_from_the_prior():
    whole, labels, _ = problem(DIGITS)
    for kept in ([0], [0, 364], [0, 182, 364], [0, 91, 182, 273, 364]):
        N = len(kept)
        K, y, q = problem(DIGITS, N)
        np.testing.assert_array_equal(K, whole[np.ix_(kept, kept)])
        np.testing.assert_array_equal(y, labels[kept])
        for from_q in (True, False):
            model = anneal(DIGITS, N, from_q)
            np.testing.assert_array_equal(model.tau, q.tau if from_q else np.zeros(N))
            np.testing.assert_array_equal(model.K, K)
            np.testing.assert_array_equal(model.y, y)


@pytest.mark.parametrize("script", [paquet_fig2, paquet_fixed_point, paquet_rivals])
def test_the_digits_are_looked_for_where_the_reader_says(monkeypatch, script):
    monkeypatch.setattr(script, "usps_3v5", lambda folder: ("digits of", folder))
    assert script.cases(Settings(data="here")) == ("digits of", "here")
