"""The errata of Wang and Neal (2013), and what their text says that a reader may get wrong.

What the paper's own text has right is no erratum: PITFALLS are what comes of not following
it.  wang_errata.py measures.
"""

from typing import NamedTuple

from reproduce.harness.claims import Declared
from reproduce.harness.errata import Erratum
from reproduce.wang.printed import NYSTROM, SOD, STANDARD

INVERSE = 1e-8  # of an inverse of condition 1e5 or so, through sums that cancel: rounding
PROBABILITY = 1e-13  # some hundred products of probabilities, of 1e-16 each
FIRST = "2026-11-22T01:08"  # the first of this file: the algebra takes no run


class Pitfall(NamedTuple):
    """What the paper says and does, and a number for whoever does it, and who does not."""

    where: str
    says: str  # as it is printed
    what: str  # the quantity: 0 for whoever follows it
    otherwise: str  # what else one might do
    exact: float  # how far from 0 rounding may take who follows it


ERRATA = {
    "N1": Erratum("(36)", '"d^-1 I - d^-1 B(diag((s + d)/s)))^-1 B", a bracket too many',
                  "B' at the end, as in (35) and (37)", "relative error of C^-1, m = n",
                  "theory: 0", 0, INVERSE, "rounding", Declared(
                      "with m < n the product B (...)^-1 B does not exist, and with m = n it is"
                      " another", FIRST)),
    "N3": Erratum("5.2.4, table of operations", '"we need the following major computations": p m n'
                  " for K^(n,m) and m^3 for chol(K^(m,m))", "also m^2 n, for K^(n,m) R^-1 and for"
                  " B'B", "all operations / those listed", "about 1", 1, 2,
                  "what is listed as the major part is more than half", Declared(
                      "for p < m < n the products that are not listed are the most of it", FIRST)),
}
PITFALLS = {
    "N2": Pitfall("5.2.2", '"B has orthonormal columns (so that B\'B = I)", for (37)',
                  "relative error of C^^-1 with the vectors (41), not orthonormal, by (32)",
                  "by (37)", INVERSE),
    "N5": Pitfall("3", '"T-check just takes the marked state, so x\' = x_k\'"',
                  "largest |log A' - log A| of (10) and (11), with x' = x_k'",
                  "with x' the state that is brought back after another move", 1e-12),
    "N6": Pitfall("4", '"if T-hat = S_1 S_2 ... S_k with all of S_i being reversible transitions,'
                  ' then T-check = S_k S_k-1 ... S_1"',
                  "|E[x_i x_j'] - E[x_j x_i']|, Gibbs updates, correlation .9, up and down in"
                  " opposite sequences", "in the same sequence", PROBABILITY),
    "N6'": Pitfall("3", '"let R~(x|x\') = R(x\'|x) pi*(x) / pi*(x\') be the reverse transition'
                   ' probabilities"', "largest |pi P - pi|, mapping to a chain, 7 states, R~ in the"
                   " opposite sequence of R", "in the same sequence", PROBABILITY),
    "N6''": Pitfall("4", '(14): "pi_i(x_i) T-hat_i(x\'_i|x_i) = T-check_i(x_i|x\'_i) pi_i(x\'_i)"',
                    "largest |pi P - pi|, tempered transitions, 7 states, T-check in the opposite"
                    " sequence of T-hat", "in the same sequence", PROBABILITY),
    "N6'''": Pitfall("4", "equivalent if R is reversible, s = 2 k, r = 1, n = 1 and T-hat = T-check"
                     " = R^k", "largest difference of transition probabilities of the two methods,"
                     " 7 states, s = 2 k", "s = k = 1", PROBABILITY),
    "N10": Pitfall("5.2.4", '"making the Cholesky decomposition fail, a problem that can be avoided'
                   ' by adding a small jitter to the diagonal"',
                   "random K^(m,m) of data sets 1 and 6 without a factor, jitter 1e-10 trace / m",
                   "without jitter", 0),
}
NOTATION = ["N4, (31): y stands for the responses of the subset, \"given only these observations\"",
            "N8, (30): det(R)^2 = prod R_ii^2 is right",
            "N9, Tables 1 and 2: length scales \"short\" and \"small\" are the same"]

# the numbers of Table 2 that are not those of their factors in Table 3
OF_5 = Declared("N7: the ratios of row 5 are those of a T_STD of 5.23, which is not .49 x 11.16 ="
                " 5.47", FIRST, cause="Table 2: T_STD of row 5")
MISPRINTS = {(5, STANDARD): OF_5, (5, SOD): OF_5, (5, NYSTROM): OF_5}
