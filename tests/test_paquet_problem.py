"""reproduce/paquet/problem.py: settings are the paper's, and the problem is as they describe it."""

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


def test_settings_are_those_of_the_text():
    HMC, RMHMC = KERNELS["HMC"], KERNELS["RMHMC"]
    assert [float(found) for found in re.findall(r" = (?:exp\()?([\d.]*\d)", TEXT)] == [
        LOG_LENGTH, LOG_AMPLITUDE, HMC.l_max, HMC.eps, RMHMC.eps, RMHMC.l_max, RMHMC.f_max]


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
        for from_q, tau in ((True, q.tau), (False, np.zeros(N))):
            model = anneal(DIGITS, N, from_q)
            np.testing.assert_array_equal(model.tau, tau)
            np.testing.assert_array_equal(model.K, K)
            np.testing.assert_array_equal(model.y, y)


@pytest.mark.parametrize("script", [paquet_fig2, paquet_fixed_point, paquet_rivals])
def test_the_digits_are_looked_for_where_the_reader_says(monkeypatch, script):
    monkeypatch.setattr(script, "usps_3v5", lambda folder: ("digits of", folder))
    assert script.cases(Settings(data="here")) == ("digits of", "here")
