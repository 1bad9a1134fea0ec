"""What Zhang and Sutton (2014) print: the numbers of Tables 1 to 4, settings and sentences.

Rows are the paper's methods: standard HMC on the joint space, RMHMC within Gibbs, SSHMC.
"""

from typing import NamedTuple

HMC, GIBBS, SSHMC = METHODS = ("HMC", "RMHMC(Gibbs)", "SSHMC")


class Table(NamedTuple):
    """A table as printed, and how its rows were run."""

    section: str
    samples: int  # kept from each run
    burn_in: int
    unit: str  # of the running time
    rows: dict  # {method: {column: its number, as printed; 2.05e3 where the head has x 10^3}}


def block(text):
    """Read the rows of a table: first its columns, then a line per method."""
    head, *lines = text.strip().splitlines()
    columns = head.split()
    return {method: dict(zip(columns, numbers, strict=True))
            for method, *numbers in (line.split() for line in lines)}


# min, med and max are of the ESS of all parameters; x1 and x2 of Table 1's head
# "MSE(E[v], E[v^2])" are "mse_1" and "mse_2"
TABLES = {
    "Table 1": Table("5.1", 5000, 1000, "s", block("""
                      time   min      v        min/s   v/s    mse_1  mse_2
        HMC           36.63  115.35   38.96    3.14    1.06   0.6    0.18
        RMHMC(Gibbs)  18.92  1054.33  31.69    55.15   1.6    1.58   0.72
        SSHMC         22.12  3868.79  1541.67  103.57  41.27  0.04   0.03
        """)),
    "Table 2": Table("5.2", 5000, 1000, "s", block("""
                      time    min     med     max     v     all/s
        HMC           378     2.05e3  3.68e3  4.79e3  815   2.15
        RMHMC(Gibbs)  411     0.8e3   4.08e3  4.99e3  271   0.6
        SSHMC         385.82  2.5e3   3.42e3  4.27e3  2266  5.83
        """)),
    "Table 3": Table("5.3", 20_000, 10_000, "s", block("""
                      time  min     med     max      beta  sigma  phi   all/s
        HMC           162   1.6e2   2.2e2   5.2e2    50    50     128   0.31
        RMHMC(Gibbs)  183   12.1e2  18.4e2  33.5e2   385   163    411   0.89
        SSHMC         883   78.4e2  98.9e2  120.7e2  4434  1706   1390  1.57
        """)),
    "Table 4": Table("5.4", 5000, 1000, "h", block("""
                      time  min    med   max     sigma  beta  all/h
        SSHMC         2.6   7.8e2  30e2  39e2    2101   270   103.8
        RMHMC(Gibbs)  2.64  1e2    29e2  38.3e2  200    46    16
        """)),
}
HYPERPARAMETERS = {"Table 1": ("v",), "Table 2": ("v",), "Table 3": ("beta", "sigma", "phi"),
                   "Table 4": ("sigma", "beta")}  # the columns with their ESS

# Settings

ACCEPTANCE = (0.70, 0.85)  # of every row, "around", by hand (Section 5)
FUNNEL = {"n": 100, "variance": 9.0,  # Sections 2 and 5.1
          "n_theta": 2, "n_phi": 1, "mass_phi": 100 + 1 / 9}
LOGISTIC = {"groups": 10, "weights": 20, "cases": 1000,  # Section 5.2
            "sizes": (9, 285), "categorical": 16, "numeric": 4,
            "L_theta": 6, "L_phi": 6}  # of RMHMC within Gibbs
VOLATILITY = {"T": 2000, "phi": 0.98, "sigma": 0.15, "beta": 0.65,  # Figure 2, Table 3
              "n_theta": 5, "n_phi": 2}  # Section 5.3
COX = {"d": 32, "sigma": 1.9, "beta": 0.03,  # Section 5.4; the lineage's sigma^2 and 1/33, rounded
       "n_theta": 2, "n_phi": 1, "L": 10,
       "gibbs L_theta": 20, "gibbs L_phi": 1}

# What the text says, and where: {key: (section, words)}
SENTENCES = {
    "acceptance": ("5", "the acceptance rate is around 70-85%"),
    "multiple steps": ("4.4", "very beneficial to use multiple steps in each blockwise leapfrog"),
    "rough mass": ("4.4", "a rough approximation is usually good enough"),
    "prior mass": ("4.4", "this G_theta can give nearly optimal mixing speed"),
    "no correction": ("4.2", "if H_1 and H_2 are simulated exactly, no need for MH correction"),
    "faster leapfrog": ("4.4", "the leapfrog step in ABLA can be even faster than one of HMC"),
    "borrowed": ("4.3", "allows each of the separable Hamiltonian systems to borrow energy"),
    "larger change": ("4.3", "accommodate a larger change of log p(phi | theta)"),
    "mixing of theta": ("4.3", "the auxiliary potential will also accelerate the mixing of theta"),
    "same step": ("5.1", "2 leapfrogs for x, 1 for v, and the same leapfrog step size"),
    "low level": ("5.1", "RMHMC within Gibbs is much more efficient for the low-level variables"),
    "oscillation": ("5.1", "HMC suffers from oscillation of v in a narrow region"),
    "wider energy": ("5.1", "SSHMC has much wider energy variation"),
    "larger range": ("5.1", "the trajectory spans a larger range of v"),
    "similar to SoftAbs": ("5.1", "the energy variation is similar to RMHMC with SoftAbs"),
    "100 times": ("5.1", "each ABLA step is about 100 times faster than a generalized leapfrog"),
    "2.5 times": ("5.1", "around 2.5 times more effective samples per second than SoftAbs"),
    "better low level": ("5.1", "RMHMC within Gibbs has better ESS/s on the low level variables"),
    "biased": ("5.1", "its estimation of the mean and variance is biased"),
    "nearly unbiased": ("5.1", "nearly unbiased estimates, which neither other method gives"),
    "much higher": ("5.2", "SSHMC again has much higher ESS/s than the other methods"),
    "7 times": ("5.3", "the running time of SSHMC is about 7 times that of standard HMC"),
    "same histograms": ("5.3", "the histograms of all methods converge to the same distribution"),
    "converge faster": ("5.3, Figure 2", "SSHMC and RMHMC within Gibbs converge faster than HMC"),
    "two times": ("5.3", "almost two times as many ESS/s as RMHMC within Gibbs"),
    "HMC on Cox": ("5.4", "HMC mixes extremely slowly for the hyperparameters"),
    "consistent": ("5.4", "the samples of RMHMC and SSHMC are consistent"),
    "six times": ("5.4", "about six times as many effective samples per hour"),
    "outperforms": ("6", "on all the models SSHMC outperforms both in ESS per time"),
}


def number(table, method, column):
    """Return a printed number."""
    return float(TABLES[table].rows[method][column])


def half_unit(table, method, column):
    """Return half a unit of the last printed digit."""
    mantissa, _, power = TABLES[table].rows[method][column].partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def quote(key):
    """Return a sentence, in short, and where it stands, for the `paper` of a claim."""
    section, words = SENTENCES[key]
    return f"Section {section}: {words}"
