"""The funnel of Zhang and Sutton (2014), Section 5.1: exact draws, settings, estimates.

Every chain starts from a draw of the funnel itself, so that all its states have the right
distribution, and what its estimates scatter by is known without bias: E[v] = 0, E[v^2] = 9.  A
replicate cuts its chain into runs of the paper's length, each of which gets the paper's estimator
of the ESS.  The true answer is in the means of v over k runs of n draws: Var(v) / E[mean^2]
independent draws would have done as well, which tends to k times the ESS of n draws as k grows.

Of SSHMC's the paper says: "2 leapfrog steps for low-level parameters and 1 leapfrog step for the
hyperparameter in ABLA and the same leapfrog step size for the two separable Hamiltonians".  We
compare three readings with the paper's row, with n_phi = 1, eps_phi = eps and
    halves     n_theta = 2, eps_theta = eps / 2: what Algorithm 1 calls eps / 2 is the step
    one each   n_theta = 1, eps_theta = eps: two leapfrogs in all, before and after that of v
    two each   n_theta = 2, eps_theta = eps
Other settings are tried for "very beneficial to use multiple steps in each blockwise leapfrog".
They have a ratio: the time that H_1 travels in an ABLA step over that of H_2, 2 in the first two
readings and 4 in the third; it is 1 if ABLA is to be a discretisation of H, as in Algorithm 1 as
it stands (n_theta = 1, eps_theta = eps / 2), a fourth reading, which is tried too.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, norm

from models.funnel import VARIANCE
from reproduce.harness.claims import Measured, Noted, brief, log, mean
from reproduce.zhang.comparison import efficiency, time_ratio
from reproduce.zhang.estimates import summary
from reproduce.zhang.printed import FUNNEL, GIBBS, HMC, METHODS, SSHMC, number

SIZE = FUNNEL["n"]
MASSES = {"n + 1/9": SIZE + 1 / 9, "n/2 + 1/9": SIZE / 2 + 1 / 9}  # of v: as printed, as derived
LONG = 5  # runs whose mean is taken together
# a pass over the coordinates of x each; nothing else takes time
WEIGHTS = {HMC: {"gradient": 1.0}, GIBBS: {"gradient_theta": 1.0, "gradient_phi": 1.0},
           SSHMC: {"gradient_theta": 1.0, "gradient_phi": 1.0}}

READINGS = {"halves": (2, 2), "one each": (1, 2), "two each": (2, 4)}  # n_theta, ratio
STEPS = ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2))  # n_theta, n_phi
RATIOS = (1, 2, 4)
LENGTHS = {"paper": (50, 100, 200, 400), "short": (50, 200), "smoke": (3, 6)}
EPS_PHI = {"paper": (0.1, 0.15, 0.2, 0.3), "short": (0.1, 0.2, 0.3), "smoke": (0.2, 0.3)}
HMC_GRID = {"paper": ((0.01, 0.02, 0.04, 0.06, 0.08, 0.12), (50, 200, 800)),
            "short": ((0.02, 0.06, 0.12), (50, 200)), "smoke": ((0.05,), (3, 6))}
# of RMHMC within Gibbs: in units of the standard deviation of x given v, and of v given x
# (0.14, which a mass of n + 1/9 makes 1.4)
GIBBS_GRID = {"paper": ((0.3, 0.4, 0.5, 0.6, 0.7), (1, 2, 3, 5, 10, 20),
                        (1.6, 1.9, 2.2), (1, 2)),
              "short": ((0.5, 0.6), (2, 3), (1.9, 2.2), (1, 2)),
              "smoke": ((0.5,), (2, 3), (2.2,), (1,))}

# what the paper contradicts itself in, or does not state
LOW_LEVEL = ("; its min ESS/s of x, 1054.33 in 18.92 s, is in the table below that of SSHMC,"
             " 3868.79 in 22.12 s or 37.36 s")
OPEN = ("SSHMC's time is 22.12 s as printed, or 37.36 s by its ESS/s; numbers of steps are not"
        " stated")


def exact_draw(rng, n=SIZE):
    """Draw v and then x; return x (n,) and (v,)."""
    v = np.sqrt(VARIANCE) * rng.standard_normal(1)
    return np.exp(-v / 2) * rng.standard_normal(n), v


def sshmc_setting(n_theta, n_phi, ratio, eps_phi, L):
    """Return a setting of SSHMC, by its ratio."""
    return {"eps_theta": ratio * n_phi * eps_phi / (2 * n_theta), "eps_phi": eps_phi, "L": L,
            "n_theta": n_theta, "n_phi": n_phi}


def reading(setting):
    """Return which of READINGS a setting of SSHMC is, or None."""
    for name, (n_theta, ratio) in READINGS.items():
        if setting == sshmc_setting(n_theta, 1, ratio, setting["eps_phi"], setting["L"]):
            return name
    return None


def grid(method, budget, readings=False):
    """Return all settings of a method that are tried; of SSHMC only the `readings` if asked."""
    if method == HMC:
        return [{"eps": eps, "L": L} for eps, L in product(*HMC_GRID[budget])]
    if method == GIBBS:
        return [dict(eps_theta=eps_theta, L_theta=L_theta, eps_phi=eps_phi, L_phi=L_phi)
                for eps_theta, L_theta, eps_phi, L_phi in product(*GIBBS_GRID[budget])]
    found = [sshmc_setting(*steps, ratio, eps, L) for steps, ratio, eps, L in product(
        STEPS, RATIOS, EPS_PHI[budget], LENGTHS[budget])]
    return [setting for setting in found if reading(setting)] if readings else found


def steps(method, setting):
    """Say what a setting has of what the paper does not state, but for the step sizes."""
    if method == GIBBS:
        return f"{setting['L_theta']} and {setting['L_phi']}"
    return f"{reading(setting)}, {setting['L']}" if method == SSHMC else f"{setting['L']}"


def weight(setting):
    """Return about how long a transition takes, in leapfrogs of SSHMC, for the progress bar."""
    if "L_theta" in setting:
        return 100
    return 10 * setting["L"] if "eps" in setting else setting["L"] * (2 * setting["n_theta"] + 1)


def run_by_run(theta, phi, pieces, n, burn_in, advance):
    """Run a chain: `burn_in` transitions, then `pieces` runs of n; plain numbers, a list each.

    advance : function     (theta, phi, n) -> the record of n transitions

    AP    acceptance rate, of each block if there are several; divergences; counts of all pieces
    v, x  ESS by the lineage's estimator, of v and the least of all x; "v ours", "v squares", "x
          squares" by ours, of v, (v - mean)^2 and the least of (x - mean)^2; nan if nothing moved
    mean, square, variance   of v;  "x mean": the mean over all x of their squared means
    se    of the mean of v, as the run itself would report it by the lineage's ESS
    """
    found = {name: [] for name in ("AP", "divergences", "v", "x", "v ours", "v squares",
                                   "x squares", "mean", "square", "variance", "x mean", "se")}
    counts = {}
    for length, kept in [(burn_in, False)] * (burn_in > 0) + [(n, True)] * pieces:
        chain = advance(theta, phi, length)
        theta, phi = chain.theta[-1], chain.phi[-1]
        if not kept:
            continue
        s, v = summary(chain, 0), chain.phi[:, 0]
        ess = s["phi"]["lineage"][0]
        for name, value in (
                ("AP", s["AP"]), ("divergences", s["divergences"]), ("v", ess),
                ("x", s["theta"]["lineage"][0]), ("v ours", s["phi"]["ours"][0]),
                ("v squares", s["phi"]["squares"][0]), ("x squares", s["theta"]["squares"][0]),
                ("mean", v.mean()), ("square", np.mean(v**2)), ("variance", v.var(ddof=1)),
                ("x mean", np.mean(chain.theta.mean(axis=0) ** 2)),
                ("se", v.std() / np.sqrt(ess))):
            found[name].append(value)
        counts = {k: counts.get(k, 0.0) + value for k, value in s["counts"].items()}
    return found | {"counts": counts}


class Estimates(NamedTuple):
    """What the chains of one setting say, a Measured each, the chains being independent."""

    AP: list  # acceptance rate, of each block
    x: Measured  # ESS of n draws by the paper's estimator, mean over runs: the least of all x
    v: Measured
    v_long: Measured  # ESS of n draws of v by how the means of LONG runs scatter
    mse_mean: Measured  # mean squared error of a run's estimate of E[v] = 0
    mse_square: Measured  # of E[v^2] = 9
    mse_variance: Measured  # of Var(v) = 9
    error: Measured  # mean squared error of the mean of v over the square of the reported s.e.
    passes: float  # over the coordinates, gradients, for a transition
    setting: dict  # what the chains were run with
    each: dict  # {"min", "v": the ESS of x and v of each run}
    seconds: list  # of a transition, in each round of the clock


class Table1(NamedTuple):
    """The result of zhang_table1.py."""

    n: int  # draws of a run
    tried: dict  # {row: its pilots}; "readings": of the three readings at the steps where they are
    # compared; "steps": of SSHMC with any number of leapfrogs
    rows: dict  # {row: Estimates} of the settings that the rule takes
    scan: dict  # {method: {steps: Estimates}}, of settings with the paper's acceptance rate


def estimates(chains, n, setting, seconds):
    """Put the results of one_chain of one setting together, as Estimates."""
    def mean_power(name, power=1, truth=0.0):
        return mean([np.mean((np.array(c[name]) - truth) ** power) for c in chains])

    AP = np.mean([np.mean(c["AP"], axis=0) for c in chains], axis=0)
    gradients = sum(sum(v for k, v in c["counts"].items() if k.startswith("gradient"))
                    for c in chains)
    each = {column: np.concatenate([c[name] for c in chains])
            for column, name in (("min", "x"), ("v", "v"))}
    return Estimates(
        [mean([np.mean(c["AP"], axis=0).flat[k] for c in chains]) for k in range(AP.size)],
        mean_power("x"), mean_power("v"), long_run_ess([np.array(c["mean"]) for c in chains]),
        mean_power("mean", 2), mean_power("square", 2, VARIANCE),
        mean_power("variance", 2, VARIANCE),
        mean([np.mean((np.array(c["mean"]) / c["se"]) ** 2) for c in chains]),
        gradients / len(each["v"]) / n, setting, each, seconds)


def long_run_ess(means, k=LONG):
    """Return the ESS of a run's draws by the scatter of the means over k runs, of each chain."""
    if means[0].size < k:
        return Measured(np.nan, np.nan)
    squares = [m[: m.size // k * k].reshape(-1, k).mean(1) ** 2 for m in means]
    return VARIANCE / k / mean([m.mean() for m in squares])


def multiple_steps(r):
    """Return log(ESS per gradient, any number of leapfrogs / one leapfrog of each), by pilots."""
    def best(kind):
        return max(map(efficiency, filter(kind, r.tried["steps"])))

    def single(found):
        return found["setting"]["n_theta"] == found["setting"]["n_phi"] == 1

    # the worst ESS of several thousand draws, of three quantities, has an error of about a tenth
    return Measured(np.log(best(lambda found: not single(found)) / best(single)), 0.1 * 2**0.5)


def rate(r, name):
    """Return the acceptance rate of a reading at the steps where all three are compared."""
    (found,) = [p for p in r.tried["readings"] if reading(p["setting"]) == name]
    return found["AP"][0]


def mse_deviate(printed, variances):
    """Return the normal deviate of printed squared errors, given our mean squared errors.

    printed, variances : floats, Measured     of E[v] or E[v^2], a run each: the truth is known

    The error of a run's mean is a normal number of mean 0, whose variance V is the mean squared
    error of such runs.  So the squared error over V is chi-squared with one degree of freedom, and
    the sum over k independent ones with k.  (Errors of E[v] and of E[v^2] of one run are
    uncorrelated, because v is symmetric.)  The deviate is positive where the paper's are larger.
    """
    ratios = [float(theirs) / ours for theirs, ours in zip(printed, variances, strict=True)]
    total, k = sum(ratios, Measured(0.0)), len(ratios)
    deviate = float(norm.isf(chi2.sf(total.value, k)) if total.value > k else  # may be infinite
                    norm.ppf(chi2.cdf(total.value, k)))
    slope = chi2.pdf(total.value, k) / norm.pdf(deviate) if np.isfinite(deviate) else 0.0
    return Measured(deviate, float(slope * total.se)), total


def mse_of_six(r):
    """Return the deviate of the six printed MSE together, with a note of each."""
    cells = [(number("Table 1", row, column), ours) for row in METHODS for column, ours in (
        ("mse_1", r.rows[row].mse_mean), ("mse_2", r.rows[row].mse_square))]
    deviate, total = mse_deviate(*zip(*cells, strict=True))
    shares = ", ".join(f"{chi2.sf(theirs / v.value, 1):.2g}" for theirs, v in cells)
    return Noted(deviate, f"chi-squared {brief(total)} of {len(cells)}; the six are exceeded"
                 f" with probabilities of {shares}")


def leapfrog_ratio(r):
    """Return the log of the time of a leapfrog of HMC over that of one in an ABLA step."""
    hmc, ours = r.rows[HMC], r.rows[SSHMC]
    each = ours.setting["L"] * (2 * ours.setting["n_theta"] + ours.setting["n_phi"])
    return log(time_ratio(hmc, ours)) - np.log(hmc.setting["L"] / each)
