"""The printed tables of Wang and Neal, read a second time: by columns, and from Table 3 alone."""

import re

from reproduce.wang import printed
from reproduce.wang.printed import METHODS, NYSTROM, RATIOS, ROWS, SOD, STANDARD, TEMPERED

# the columns of Tables 2 and 3 from top to bottom, as the text of the paper has them
COLUMNS = {
    (RATIOS, "m_SOD"): "40 150 100 150 90 60 300 100 100 300",
    (RATIOS, "m_NYS"): "30 - - 120 80 90 - - 110 90",
    (RATIOS, "m_TMP"): "40,20 100,50 90,45 130,65 100,50 60,30 - - - -",
    (RATIOS, "STD"): "0.76 1.62 3.39 2.05 5.23 9.06 18.17 25.47 16.86 47.46",
    (RATIOS, "SOD"): "0.45 0.81 0.83 0.81 0.66 0.27 0.51 0.43 0.34 0.67",
    (RATIOS, "NYS"): "0.51 - - 0.97 0.85 0.23 - - 0.40 0.34",
    (RATIOS, "TMP"): "1.05 0.14 0.36 0.69 0.51 0.28 - - - -",
    (printed.CPU, "STD"): "0.26 0.28 0.56 0.13 0.49 3.10 3.76 7.21 1.81 5.66",
    (printed.CPU, "SOD"): "0.078 0.14 0.23 0.072 0.19 0.53 0.82 1.48 0.69 1.95",
    (printed.CPU, "NYS"): "0.11 - - 0.15 0.41 0.83 - - 0.91 1.75",
    (printed.CPU, "TMP"): "0.15 0.13 0.14 0.09 0.13 0.61 - - - -",
    (printed.TAU, "STD"): "2.90 5.77 6.09 15.62 11.16 2.92 4.83 3.53 9.33 8.39",
    (printed.TAU, "SOD"): "4.32 9.32 11.98 23.04 18.07 4.63 11.24 7.38 8.27 16.18",
    (printed.TAU, "NYS"): "3.53 - - 12.88 10.89 2.48 - - 7.40 9.14",
    (printed.TAU, "TMP"): "5.40 1.67 8.63 16.56 20.37 4.21 - - - -",
}
TYPES = "short isotropic 1, short isotropic 5, short ard 5, long isotropic 5, long ard 5"


def test_every_number_is_the_papers():
    for (table, column), text in COLUMNS.items():
        assert [printed.TABLES[table][number][column] for number in ROWS] == text.split()
    assert ROWS[1][5:] == ({SOD: 40, NYSTROM: 30, TEMPERED: (40, 20)},
                           dict(zip(METHODS, (0.26, 0.078, 0.11, 0.15), strict=True)),
                           dict(zip(METHODS, (2.90, 4.32, 3.53, 5.40), strict=True)),
                           0.76, {SOD: 0.45, NYSTROM: 0.51, TEMPERED: 1.05})
    assert ROWS[7][5:] == ({SOD: 300}, {STANDARD: 3.76, SOD: 0.82}, {STANDARD: 4.83, SOD: 11.24},
                           18.17, {SOD: 0.51})


def test_rows_settings_and_sentences():
    kinds = [kind.split() for kind in TYPES.split(", ")]
    assert [(row.size, row.kind, row.p, row.n) for row in ROWS.values()] == [
        (size, kind, int(p), n) for n in (300, 900) for size, kind, p in kinds]
    assert [row.d for row in ROWS.values()] == [3, 3, 7, 3, 7] * 2
    assert list(ROWS) == [row.number for row in ROWS.values()] == list(range(1, 11))
    assert (printed.ITERATIONS, printed.R, printed.S) == (2000, 1, 1)
    assert printed.SHARE == (0.1, 0.5) and printed.FASTER == (2, 4)
    assert printed.NEARLY_ALL == 0.95
    for key, (section, words) in printed.SENTENCES.items():
        assert re.fullmatch(r"3|5\.2\.3|6\.[123]|7", section)
        assert printed.quote(key) == f"Section {section}: {words}"
