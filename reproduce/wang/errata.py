"""The errata of Wang and Neal (2013): what is printed, what is right, and how to tell.

A number is measured as printed and as ours; it has to be in [low, high], where the printed one is
not.  wang_errata.py measures.
"""

from typing import NamedTuple

from wang.printed import NYSTROM, SOD, STANDARD

INVERSE = 1e-8  # of an inverse of condition 1e5 or so, through sums that cancel: rounding
PROBABILITY = 1e-13  # some hundred products of probabilities, of 1e-16 each


class Erratum(NamedTuple):
    """What is printed, what is right, and a number that tells them apart."""

    where: str
    theirs: str
    ours: str
    what: str  # the quantity, of print and of ours (after ";" if that is another one)
    paper: str
    low: float
    high: float
    why: str  # the interval
    known: str


ERRATA = {
    "N1": Erratum("(36)", "d^-1 B (...)^-1 B", "d^-1 B (...)^-1 B'",
                  "relative error of C^-1, m = n", "0", 0, INVERSE, "rounding",
                  "a transpose is missing, and there is a bracket too many; with m < n the product"
                  " does not exist"),
    "N2": Erratum("5.2.4", "the vectors (41) in (37)", "in (32)", "relative error of C^^-1", "0",
                  0, INVERSE, "rounding", "(37) needs B'B = I, and the vectors (41) are not"
                  " orthonormal"),
    "N3": Erratum("5.2.4, table of operations", "p m n + m^3", "also m^2 n, for K^(n,m) R^-1 and"
                  " for B'B", "all operations / those listed", "about 1", 1, 2,
                  "what is listed as the major part is more than half", "for p < m < n the"
                  " products that are not listed are the most of it"),
    "N4": Erratum("(31)", "N(y | 0, C_(m))", "N(y_(m) | 0, C_(m))",
                  "responses - rows of C_(m)", "0", 0, 0, "a normal density has as many variables"
                  " as its covariance has rows", "y has n responses, the subset m"),
    "N5": Erratum("(11)", "R(x_(k'+1) | x')", "R(x_(k'+1) | x_k')", "largest |log A' - log A|",
                  "0, so that (13) follows", 0, 1e-12, "rounding of sums of logs",
                  "x' is what the mapping brings back; after a second move of the mark that is"
                  " another state"),
    "N6": Erratum("6.2", "updates in sequence, R~ = R", "R~ in the opposite sequence",
                  "|E[x_i x_j'] - E[x_j x_i']|, Gibbs updates, correlation .9", "0", 0, PROBABILITY,
                  "rounding", ".729 one way and .900 the other: a sequence of reversible updates is"
                  " not reversible"),
    "N6'": Erratum("6.2", "updates in sequence, R~ = R", "R~ in the opposite sequence",
                   "largest |pi P - pi|, mapping to a chain, 7 states", "0", 0, PROBABILITY,
                   "rounding", "the ratio (13) is that of R and its reverse"),
    "N6''": Erratum("6.3", "updates in sequence, T-check = T-hat", "T-check in the opposite one",
                    "largest |pi P - pi|, tempered transitions, 7 states", "0", 0, PROBABILITY,
                    "rounding", "(14) asks for the reverse"),
    "N6'''": Erratum("Abstract", "equivalent at the simplest parameters, r = s = 1",
                     "for a reversible R, r = 1 and s = 2 k", "largest difference of transition"
                     " probabilities, 7 states", "0", 0, PROBABILITY, "rounding",
                     "a tempered transition takes two steps, up and down; Section 4 says s = 2 k"),
    "N10": Erratum("5.2.4", "chol(K^(m,m)) with \"a small jitter\"", "a jitter of 1e-10 trace / m",
                   "random K^(m,m) of data sets 1 and 6 without a factor; with jitter", "0", 0, 0,
                   "a count", "without jitter eigenvalues are below the rounding of c^2 + eta^2"),
}
NOTATION = [("N9", "Tables 1 and 2", "length scales \"short\", and \"small\"", "one word"),
            ("N8", "(30)", "det(R)^2 = prod R_ii^2", "the same: it is right")]

# the numbers of Table 2 that are not those of their factors in Table 3
OF_5 = "N7: the ratios of row 5 are those of a T_STD of 5.23, which is not .49 x 11.16 = 5.47"
MISPRINTS = {(5, STANDARD): OF_5, (5, SOD): OF_5, (5, NYSTROM): OF_5}
