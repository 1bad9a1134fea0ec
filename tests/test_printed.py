"""The printed tables of Split HMC, read a second time: by rows, all four problems side by side."""

import pytest

from reproduce.shahbaba import printed
from reproduce.shahbaba.printed import METHODS, PROBLEMS

TABLES = """
               Simulated           StatLog             CTG                 Chess
L              20    10    3       20    14    3       20    13    2       20    9     2
g              20    10    12.6    20    14    13.8    20    13    9.8     20    13    11.8
s              0.187 0.087 0.096   0.033 0.026 0.023   0.011 0.008 0.005   0.022 0.011 0.013
AP             0.69  0.74  0.74    0.69  0.74  0.85    0.69  0.77  0.81    0.62  0.73  0.62
tau            4.6   3.2   3.0     5.6   6.0   4.0     6.2   7.0   5.0     10.7  12.8  12.1
tau x g        92    32    38      112   84    55      124   91    47      214   115   143
tau x s        0.864 0.284 0.287   0.190 0.144 0.095   0.069 0.055 0.028   0.234 0.144 0.161
tau_beta       11.7  13.5  7.3     5.6   4.7   3.8     24.4  19.6  11.5    23.4  18.9  19.0
tau_beta x g   234   135   92      112   66    52      488   255   113     468   246   224
tau_beta x s   2.189 1.180 0.703   0.191 0.122 0.090   0.271 0.154 0.064   0.511 0.212 0.252
"""
# Sections 3.3.1 and 3.3.2, as the text has it: HMC's step, cases for U_0 in per cent, M
SETTINGS = """
10000 observations, 100 covariates: 0.015, 40% of the data points, M = 9
n = 4435, p = 37: 0.08, 40% of data points, M = 10
2126 observations, 21 features: 0.08, 30% of data points, M = 14
3196 instances, 36 attributes: 0.09, 35% of the data points, M = 15
"""


def test_every_number_is_the_papers():
    head, *lines = TABLES.strip().splitlines()
    assert list(PROBLEMS) == head.split() and METHODS == ("HMC", "normal", "data")
    rows = {line[:15].strip(): line[15:].split() for line in lines}
    found = {row: [problem.rows[row][method] for problem in PROBLEMS.values()
                   for method in METHODS] for row in rows}
    assert found == rows
    assert all(list(problem.rows) == list(rows) for problem in PROBLEMS.values())


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_settings_are_the_papers(name):
    line = SETTINGS.strip().splitlines()[list(PROBLEMS).index(name)]
    numbers = [float(word.strip(":,%")) for word in line.split() if word[0].isdigit()]
    problem = PROBLEMS[name]
    assert [problem.n, problem.p, problem.eps, 100 * problem.f, problem.M] == pytest.approx(
        numbers, rel=1e-15)  # 35 % is not 0.35 x 100 to the last digit
    assert problem.table == ("Table 1" if name == "Simulated" else "Table 2")


def test_numbers_and_half_units():
    assert printed.number("CTG", "tau_beta x s", "data") == 0.064
    assert printed.half_unit("Simulated", "s", "HMC") == 0.0005
    assert printed.half_unit("Simulated", "tau", "data") == 0.05  # 3.0, not 3
    assert printed.half_unit("StatLog", "tau x s", "HMC") == 0.0005  # 0.190
    assert printed.half_unit("Chess", "tau x g", "HMC") == 0.5


def test_g_is_what_the_text_says():
    # Section 3.3.1: g = 4.2 L with L = 3; Table 2 prints the others, and L for the other methods
    assert printed.gradients("Simulated", "data") == pytest.approx(4.2 * 3, rel=1e-15)
    for name in PROBLEMS:
        assert printed.gradients(name, "HMC") == 20
        assert abs(printed.gradients(name, "data") - printed.number(name, "g", "data")) < 0.05
    assert [printed.gradients(name, "normal") for name in PROBLEMS] == [10, 14, 13, 9]


def test_all_methods_have_the_trajectory_of_hmc():
    for name, length in {"Simulated": 0.3, "StatLog": 1.6, "CTG": 1.6, "Chess": 1.8}.items():
        for method in METHODS:
            eps, L = printed.step(name, method)
            assert eps * L == pytest.approx(length, rel=1e-15)  # rounding of two products
            assert L == printed.number(name, "L", method)
