"""The printed tables of Zhang and Sutton, read a second time: in the paper's own layout."""

import re

import pytest

from reproduce.zhang import printed
from reproduce.zhang.printed import TABLES, half_unit, number

# samples, burn-in and unit of time; the columns in the order of print; rows as in print, with
# brackets and powers of ten
PAPER = {
    "Table 1": """
5000 1000 s time min v min/s v/s mse_1 mse_2
HMC          | 36.63 | (115.35, 38.96)    | (3.14, 1.06)    | (0.6, 0.18)
RMHMC(Gibbs) | 18.92 | (1054.33, 31.69)   | (55.15, 1.6)    | (1.58, 0.72)
SSHMC        | 22.12 | (3868.79, 1541.67) | (103.57, 41.27) | (0.04, 0.03)
""",
    "Table 2": """
5000 1000 s time min med max v all/s
HMC          | 378    | (2.05, 3.68, 4.79) x 10^3 | 815  | 2.15
RMHMC(Gibbs) | 411    | (0.8, 4.08, 4.99) x 10^3  | 271  | 0.6
SSHMC        | 385.82 | (2.5, 3.42, 4.27) x 10^3  | 2266 | 5.83
""",
    "Table 3": """
20000 10000 s time min med max beta sigma phi all/s
HMC          | 162 | (1.6, 2.2, 5.2) x 10^2      | (50, 50, 128)      | 0.31
RMHMC(Gibbs) | 183 | (12.1, 18.4, 33.5) x 10^2   | (385, 163, 411)    | 0.89
SSHMC        | 883 | (78.4, 98.9, 120.7) x 10^2  | (4434, 1706, 1390) | 1.57
""",
    "Table 4": """
5000 1000 h time min med max sigma beta all/h
SSHMC        | 2.6  | (7.8, 30, 39) x 10^2  | (2101, 270) | 103.8
RMHMC(Gibbs) | 2.64 | (1, 29, 38.3) x 10^2  | (200, 46)   | 16
""",
}


def cells(line):
    """Return the numbers of a row, each with the power of ten behind its bracket."""
    found = []
    for cell in line.split("|")[1:]:
        power = re.search(r"x 10\^(\d)", cell)
        numbers = re.findall(r"[\d.]+", cell.split(" x ")[0])
        found += [f"{n}e{power[1]}" if power else n for n in numbers]
    return found


@pytest.mark.parametrize("table", PAPER)
def test_every_number_is_the_papers(table):
    head = TABLES[table]
    first, *lines = PAPER[table].strip().splitlines()
    *run, columns = first.split(maxsplit=3)
    assert [str(head.samples), str(head.burn_in), head.unit] == run
    assert [line.split("|")[0].strip() for line in lines] == list(head.rows)
    for line, row in zip(lines, head.rows.values(), strict=True):
        assert list(row.items()) == list(zip(columns.split(), cells(line), strict=True))


def test_numbers_and_half_units():
    assert printed.ACCEPTANCE == (0.70, 0.85)  # Section 5, and 5.2
    assert printed.LOGISTIC["L_theta"] == printed.LOGISTIC["L_phi"] == 6
    assert printed.FUNNEL["mass_phi"] == 100 + 1 / 9
    assert number("Table 3", "SSHMC", "max") == 12070
    assert half_unit("Table 1", "SSHMC", "v") == pytest.approx(0.005, rel=1e-15)
    assert half_unit("Table 2", "RMHMC(Gibbs)", "min") == 50  # 0.8 x 10^3
    assert half_unit("Table 3", "HMC", "phi") == 0.5
    assert half_unit("Table 4", "SSHMC", "med") == 50  # 30 x 10^2
