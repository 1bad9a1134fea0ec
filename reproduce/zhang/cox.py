"""The log-Gaussian Cox process of Zhang and Sutton (2014), Section 5.4: problem, runs, estimates.

Table 4 and Figure 3 are of the same runs.  The paper gives 2 and 1 leapfrogs, 10 ABLA steps, unit
mass of (log sigma^2, log beta), 20 leapfrogs and 1 generalised leapfrog of the rival.  It does not
give the step sizes, nor the data; and what it prints for the covariance, distances in pixels, is
not what its source does, the unit square.  So each method is tuned for both, and run on our data;
scans show how much depends on the rest.  Nor does it say in which coordinates of the
hyperparameters the mass is 1, and with that for how long H_2 travels: rows of 40 ABLA steps show
what that may change.

All chains start with hyperparameters at their true values, in pixels at those of the same
covariance, and with x drawn from its prior there.  The programs of the lineage start at x = mu,
where nothing of the posterior is: given that x, sigma^2 has no lower end, and with larger steps
than theirs x is rejected again and again while sigma^2 falls.  The rival is run as in those
programs, with 3 fixed-point iterations of the position and 10 of the momentum, which leave an
error; Figure 3 is where it would show.
"""

import math
from itertools import product
from typing import NamedTuple

import numpy as np

from models.interface import precompute_phi, sizes, velocity_theta
from models.log_gaussian_cox import LogGaussianCox
from models.non_centred import theta_of
from reproduce.harness.claims import Measured, Scan, average, log, mean
from reproduce.harness.replicates import Experiment
from reproduce.harness.run import Settings
from reproduce.zhang.comparison import (
    SMALL,
    efficiency,
    excess_rate,
    exponential,
    pick,
    runs_by_setting,
    time_ratio,
    tune,
)
from reproduce.zhang.datasets import GRID, MU, RANGE, SIGMA2, load
from reproduce.zhang.estimates import summary
from reproduce.zhang.printed import COX, GIBBS, HMC, SSHMC, TABLES

OWN = f"{GRID}32 x 32, unit, seed 1"
LINEAGE = dict(f_position=3, f_momentum=10, tol=0.0, tol_back=0.0)
# in Cholesky factorisations of Sigma; only numbers of operations of one method are compared
WEIGHTS = {HMC: {"gradient": 5.0}, SSHMC: {"gradient_theta": 0.1, "factor_theta": 1.0},
           GIBBS: {"gradient_theta": 0.2, "factor_theta": 2.0, "gradient_phi": 5.0,
                   "factor_phi": 4.0}}
EDGES = {"sigma^2": np.linspace(-4, 3, 57), "beta": np.linspace(-6, 3, 73)}  # of logs: histograms
FEW = 4  # runs: with less, the error of an ESS is that of theory

KEEPER = "zhang_table4"  # the script in whose name the runs are stored
DISTANCES = ("unit", "pixel")
N, BURN_IN = TABLES["Table 4"].samples, TABLES["Table 4"].burn_in
LENGTH = {"paper": (N, BURN_IN), "short": (250, 50), "smoke": (12, 3)}  # of a run; burn-in
# chains, n, burn-in: the rival's hyperparameters move so slowly that less says nothing of them
PILOTS = {SSHMC: {"paper": (2, 200, 50), "short": (1, 60, 20), "smoke": (1, 12, 2)},
          GIBBS: {"paper": (2, 800, 200), "short": (1, 60, 20), "smoke": (1, 12, 2)},
          HMC: {"paper": (2, 100, 50), "short": (1, 30, 20), "smoke": (1, 6, 2)}}
JITTER = 0.2  # the paper has none: see zhang/README.md
LONGER = 40  # ABLA steps, of rows of ours
HMC_L = 50
LINEAGES = {"eps_theta": 0.1, "eps_phi": 0.2}  # steps of the rival in the programs of its authors
OTHERS = [f"{GRID}32 x 32, unit, seed {seed}" for seed in (3,)]  # data sets of the scan
TIMED = {"paper": (8, 15), "short": (4, 5), "smoke": (2, 1)}  # rounds, transitions

# step sizes for x and for phi that are tried
GRIDS = {
    (SSHMC, "unit"): ((0.02, 0.04, 0.06, 0.08), (0.03, 0.035, 0.04)),
    (SSHMC, "pixel"): ((0.03, 0.06, 0.1, 0.14), (0.03, 0.035, 0.04)),
    (GIBBS, "unit"): ((0.25, 0.3, 0.35, 0.4), (0.6, 0.9, 1.2)),
    (GIBBS, "pixel"): ((0.25, 0.3, 0.35, 0.4), (0.6, 0.9, 1.2)),
    (HMC, "unit"): ((0.01, 0.02, 0.03, 0.04),),
}


class Row(NamedTuple):
    """A row of the table, or a setting of its scan."""

    method: str
    distance: str
    chains: dict  # {budget: number}
    data: str = OWN


TEN, FOUR, ONE = ({"paper": n, "short": min(n, 2), "smoke": 1} for n in (10, 4, 1))
ROWS = {
    f"{SSHMC}, unit": Row(SSHMC, "unit", TEN), f"{GIBBS}, unit": Row(GIBBS, "unit", TEN),
    f"{SSHMC}, pixel": Row(SSHMC, "pixel", TEN), f"{GIBBS}, pixel": Row(GIBBS, "pixel", FOUR),
    f"{SSHMC}, unit, L = {LONGER}": Row(SSHMC, "unit", ONE),
    f"{SSHMC}, pixel, L = {LONGER}": Row(SSHMC, "pixel", ONE),
    HMC: Row(HMC, "unit", FOUR | {"short": 1}),
}
HMC_LENGTH = {"paper": (300, 60), "short": (40, 10), "smoke": (12, 3)}


def problem(data, distance):
    """Return the model of a data set, by its name, and the phi where chains start."""
    counts = load(data).y
    cells = len(counts) - 1 if distance == "pixel" else 1
    return LogGaussianCox.from_counts(counts, MU, distance), np.log([SIGMA2, RANGE * cells])


def start(phi, model, rng):
    """Draw the x where a chain starts, from its prior."""
    return theta_of(rng.standard_normal(sizes(model)[0]), phi, model)


def grid(method, distance, budget):
    """Return the settings of a method that are tried."""
    sizes = GRIDS[method, distance]
    if budget != "paper":
        sizes = [each[1::2] if budget == "short" else each[1:2] for each in sizes]
    if method == HMC:
        return [{"eps": eps, "L": HMC_L if budget != "smoke" else 3, "jitter": JITTER}
                for (eps,) in product(*sizes)]
    steps = ({"L": COX["L"], "n_theta": COX["n_theta"], "n_phi": COX["n_phi"]}
             if method == SSHMC else
             {"L_theta": COX["gibbs L_theta"], "L_phi": COX["gibbs L_phi"]})
    return [{"eps_theta": a, "eps_phi": b, "jitter": JITTER} | steps for a, b in product(*sizes)]


# Runs


def run_in_numbers(chain, burn_in, model, distance):
    """Return the summary of a run, with "field", the mean of x, (d^2,) to 3 digits.

    The histograms are of log sigma^2 and log beta, in pixels of log(beta / (d - 1)).
    """
    shift = np.log(len(model.distance) - 1) if distance == "pixel" else 0.0
    return summary(chain, burn_in, [EDGES["sigma^2"], EDGES["beta"] + shift]) | {
        "field": chain.theta[burn_in:].mean(axis=0).round(3).tolist()}


def warm_up(pilots, one_chain):
    """Compile everything in this process, before others start."""
    small = f"{GRID}3 x 3, unit, seed 1"
    for method, setting in SMALL.items():
        setting = setting | {"jitter": 0.1}
        pilots(method, small, "unit", [setting], 1, 20, 1, [0])
        one_chain(method, small, "unit", setting, 20, 1, [0])


def run_pilots(experiment, pilots, warm):
    """Return {(method, distance): its pilots}."""
    return tune(experiment, pilots, {
        (method, distance): (dict(method=method, data=OWN, distance=distance),
                             grid(method, distance, experiment.budget),
                             PILOTS[method][experiment.budget])
        for method, distance in GRIDS}, duration, warm, "settings", 1)


def duration(setting):
    """Return about how long a transition takes, for the progress bar."""
    if "L_theta" in setting:
        return 0.018
    return (0.0008 if "n_theta" in setting else 0.003) * setting["L"]


def setting_of(name, tried):
    """Return the setting of a row: by the rule, and what its name says."""
    row = ROWS[name]
    setting = pick(tried[row.method, row.distance])["setting"]
    return setting | {"L": LONGER} if "L = " in name else setting


def run_rows(experiment, wanted, one_chain, warm):
    """Return {name: Estimates} of {name: (Row, setting)}."""
    tasks, place = {}, 100 + len(ROWS)
    for name, (row, setting) in wanted.items():
        n, burn_in = (HMC_LENGTH if row.method == HMC else LENGTH)[experiment.budget]
        if name not in ROWS:
            place += 1
        tasks[name] = [dict(
            method=row.method, data=row.data, distance=row.distance, setting=setting,
            n=n, burn_in=burn_in,
            seed=[experiment.seed, 100 + list(ROWS).index(name) if name in ROWS else place, k],
            cost=(n + burn_in) * duration(setting))
            for k in range(row.chains[experiment.budget])]
    done = runs_by_setting(experiment, one_chain, tasks, warm)
    return {name: estimates(done[name], each[0]["n"], each[0]["setting"])
            for name, each in tasks.items()}


def scan_of(tried):
    """Return {name: (Row, setting)}: what else the paper may mean.

    Other step sizes inside the paper's range of acceptance, the lineage's for its method, which are
    above that range, no jitter, and other data.
    """
    found = {}
    for method, distance in product((SSHMC, GIBBS), DISTANCES):
        row, taken = Row(method, distance, ONE), pick(tried[method, distance])["setting"]
        inside = [p for p in tried[method, distance] if excess_rate(p) == 0]
        best = {p["setting"]["eps_theta"]: p["setting"] for p in sorted(inside, key=efficiency)}
        best = {eps: setting for eps, setting in sorted(best.items()) if setting != taken}
        found |= {f"{method}, {distance}, eps_theta = {eps}": (row, setting)
                  for eps, setting in best.items()}
        if distance == "unit":
            found |= {f"{method}, unit, eps_theta = {setting['eps_theta']}, no jitter": (
                row, setting | {"jitter": 0.0}) for setting in [taken, *best.values()]}
    setting = pick(tried[GIBBS, "unit"])["setting"]
    found[f"{GIBBS}, unit, the lineage's steps"] = (Row(GIBBS, "unit", ONE), setting | LINEAGES)
    for data in OTHERS:
        for method in (SSHMC, GIBBS):
            setting = pick(tried[method, "unit"])["setting"]
            found[f"{method}, unit, {data.split(', ')[-1]}"] = (
                Row(method, "unit", ONE, data), setting)
    return found


def without_jitter(tried):
    """Return the scan's settings in pixels without jitter, {name: (Row, setting)}: as printed."""
    found = {name: each for name, each in scan_of(tried).items() if each[0].distance == "pixel"}
    for name, (row, setting) in rows_of(tried, [f"{m}, pixel" for m in (SSHMC, GIBBS)]).items():
        found[f"{name}, eps_theta = {setting['eps_theta']}"] = row._replace(chains=ONE), setting
    return {f"{name}, no jitter": (row, setting | {"jitter": 0.0})
            for name, (row, setting) in found.items()}


def keeper(experiment):
    """Return the experiment in whose name the runs are stored, for a script that is not KEEPER."""
    return Experiment(KEEPER, Settings(experiment.budget, experiment.jobs, experiment.seed,
                                       recall=experiment.recall, shard=experiment.shard,
                                       dask=experiment.dask))


def rows_of(tried, names=tuple(ROWS)):
    """Return {row: (Row, setting)}, by the rule."""
    return {name: (ROWS[name], setting_of(name, tried)) for name in names}


# Estimates


class Estimates(NamedTuple):
    """What the chains of one setting say, the chains being independent."""

    AP: list  # acceptance rate, of each block
    divergences: int  # in all
    ess: dict  # logs of the lineage's ESS: {"min", "med", "max" of x, "sigma", "beta"}
    squares: dict  # logs of our ESS of squared deviations: {"sigma", "beta", "x": the least}
    mean: list  # of phi
    sd: list
    histogram: list  # of each entry of phi
    field: list  # the means of x, (chains, d^2)
    means: list  # of phi, (chains, 2)
    means_se: list  # their standard errors as the runs report them
    n: int  # draws of a chain
    setting: dict
    seconds: tuple | list = ()  # of a transition, in each round of the clock


def estimates(chains, n, setting, seconds=()):
    """Put the results of one_chain of one setting together, as Estimates."""
    AP = np.array([np.atleast_1d(c["AP"]) for c in chains])
    phi = {name: np.array([c["phi"][name] for c in chains])
           for name in ("lineage", "squares", "mean", "sd", "mean_se")}
    theta = {name: np.array([c["theta"][name] for c in chains]) for name in ("lineage", "squares")}

    def moment(name):
        return [mean(values) if len(chains) >= FEW else
                Measured(values.mean(), np.sqrt(np.mean(se**2) / len(chains)))
                for values, se in zip(phi[name].T, phi["mean_se"].T, strict=True)]

    return Estimates(
        [mean(rate) for rate in AP.T], sum(c["divergences"] for c in chains),
        {name: log_ess(values) for name, values in zip(
            ("min", "med", "max", "sigma", "beta"), [*theta["lineage"].T, *phi["lineage"].T],
            strict=True)},
        {name: log_ess(values) for name, values in zip(
            ("sigma", "beta", "x"), [*phi["squares"].T, theta["squares"].T[0]], strict=True)},
        moment("mean"), moment("sd"),
        [np.sum([c["phi"]["histogram"][k] for c in chains], axis=0).tolist() for k in (0, 1)],
        [c["field"] for c in chains], phi["mean"].tolist(), [c["phi"]["mean_se"] for c in chains],
        n, setting, seconds)


def log_ess(values):
    """Return the mean of the logs of an ESS of several runs.

    Of less than FEW its error is that of theory: an ESS whose window is six autocorrelation times
    has a log with one of (12 / ESS)^1/2.  What never moved has an ESS of less than 1.
    """
    logs = np.log(np.nan_to_num(values, nan=1.0))
    if logs.size >= FEW:
        return mean(logs)
    return Measured(float(logs.mean()), float(np.sqrt(12 / np.exp(logs.mean()) / logs.size)))


def difference(ours, theirs):
    """Return the mean over cells of the squared difference of two fields, as Measured.

    ours, theirs : (runs, n) means of as many runs.  Products of different pairs of runs have no
    noise in their expectation, which is the mean square of the true difference.  Its error is by
    leaving out a pair at a time.
    """
    D = np.array(ours) - np.array(theirs)

    def unbiased(D):
        K = len(D)
        return (np.sum(D.sum(axis=0) ** 2) - np.sum(D**2)) / (K * (K - 1)) / D.shape[1]

    if len(D) < 3:
        return Measured(unbiased(D) if len(D) == 2 else np.nan, np.nan)
    left = np.array([unbiased(np.delete(D, k, axis=0)) for k in range(len(D))])
    return Measured(unbiased(D), float(np.sqrt((len(D) - 1) * left.var())))


# Measures of Table 4: a result has {row: Estimates} in `rows` and {setting: Estimates} in `scan`


def worst(found):
    """Return the log of the least ESS of all parameters, as the paper has "min ESS/h"."""
    return min((found.ess[name] for name in ("min", "sigma", "beta")), key=lambda m: m.value)


def per_second(found, name=None):
    """Return the log of the worst ESS per second, or of one of COLUMNS."""
    ess = worst(found) if name is None else found.ess[name]
    return ess - math.log(found.n) - log(mean(found.seconds))


def advantage(r, better, worse, name=None):
    """Return log(ESS per second of a row / that of another), of the worst or of a column."""
    a, b = r.rows[better], r.rows[worse]
    ess = [(worst(x) if name is None else x.ess[name]) - math.log(x.n) for x in (a, b)]
    return ess[0] - ess[1] - log(time_ratio(a, b))


def worth(found, truth, k):
    """Return the log of how many draws the runs' means are worth, k = 0 for sigma^2, 1 for beta.

    As many independent draws have means that scatter as much around the truth, which is another's
    mean.  Of a mean of n squares of normals the log has an error of (2 / n)^1/2.
    """
    errors = np.array(found.means)[:, k] - truth.mean[k].value
    return Measured(float(np.log(truth.sd[k].value ** 2 / np.mean(errors**2))),
                    (2 / len(errors)) ** 0.5)


def slowness(r, k):
    """Return log(ESS per second, SSHMC / HMC) of sigma^2 or beta; HMC's ESS by `worth`."""
    ours, hmc = r.rows[f"{SSHMC}, unit"], r.rows[HMC]
    return (per_second(ours, ("sigma", "beta")[k]) - worth(hmc, ours, k)
            + math.log(hmc.n) + log(mean(hmc.seconds)))


def credulity(r, k):
    """Return the mean squared error of HMC's means in units of what its runs report, logged."""
    errors = np.array(r.rows[HMC].means) - [m.value for m in r.rows[f"{SSHMC}, unit"].mean]
    squares = (errors / np.array(r.rows[HMC].means_se))[:, k] ** 2
    return Measured(float(np.log(squares.mean())), (2 / squares.size) ** 0.5)


def rows_of_method(r, method):
    """Return all rows of a method, and its settings of the scan, by what comes after its name."""
    return {name.removeprefix(f"{method}, "): found
            for name, found in [*r.rows.items(), *r.scan.items()]
            if name.startswith(f"{method}, ")}


def pairs(r, printed=0.0):
    """Scan log(worst ESS per second, SSHMC / its rival) less `printed` over the rival's settings.

    SSHMC has the same distances and data, and the step sizes of its row where the rival's differ.
    """
    ours, theirs = rows_of_method(r, SSHMC), rows_of_method(r, GIBBS)
    return Scan(tuple(theirs), tuple(
        per_second(ours.get(name, ours[name.split(",")[0]])) - per_second(found) - printed
        for name, found in theirs.items()))


def squares(found):
    """Return the least ESS of squared deviations, of phi and x, as a Measured."""
    return exponential(min(found.squares.values(), key=lambda m: m.value))


def limits(r):
    """Return the largest stable step for x at the mean of phi, and 2 deviations up."""
    return [largest_stable(r.rows[f"{SSHMC}, unit"], "unit", above) for above in (0.0, 2.0)]


def stiffness(r):
    """Return the log of the ratio of these two."""
    at_mean, above = limits(r)
    return math.log(at_mean / above)


def largest_stable(found, distance, above=0.0):
    """Return the step size for x at which leapfrogs for H_1 begin to diverge, on our data.

    It is 2 over the root of the largest eigenvalue of I + Sigma diag(m e^x), with x the mean field
    and log sigma^2 so many standard deviations `above` its mean.
    """
    model = problem(OWN, distance)[0]
    phi = np.array([m.value for m in found.mean])
    phi[0] += above * found.sd[0].value
    Phi, weight = precompute_phi(phi, model), model.area * np.exp(np.mean(found.field, axis=0))
    v = weight / np.linalg.norm(weight)
    for _ in range(200):  # the first eigenvalue, of a smooth function, is far from the second
        w = v + velocity_theta(weight * v, Phi, model)
        size = np.linalg.norm(w)
        v = w / size
    return 2 / size**0.5


def bound(r, distance):
    """Return the most that the ESS of sigma^2 of SSHMC's row can be on these data."""
    found = r.rows[f"{SSHMC}, {distance}"]
    return largest_ess(r.moved[distance], found.sd[0], found.n)


def largest_ess(square, deviation, n):
    """Return the most that the ESS of n draws of log sigma^2 can be: of Measured, a Measured.

    In s = log sigma^2 the potential U2 is (A e^-s + B e^s) / 2 plus the prior's, with A = x'C^-1 x
    and B = r'C r for a correlation C and the field x less its mean: both are about n.  Its
    curvature is (A B)^(1/2), so that given x and r, s has a standard deviation of about n^(-1/2).
    Only as x and r move can it go further.

    A chain whose steps have this mean square and that posterior deviation v has a first
    autocorrelation of rho = 1 - square / (2 v^2).  One that is reversible, as HMC with new momenta
    is, has an autocorrelation time of at least (1 + rho) / (1 - rho).  It is n where the moves are
    as large as those of independent draws: then nothing is known.
    """
    ratio = square / (deviation * deviation)
    return n * ratio / (4 - ratio) if ratio.value < 2 else Measured(float(n))


# Measures of Figure 3: a result has {method: Estimates}, of two methods, in `rows`


def means_apart(r, k):
    """Return the difference of the methods' means of log sigma^2 (0) or log beta (1), in sd."""
    a, b = r.rows.values()
    return (a.mean[k] - b.mean[k]) / average([a.sd[k], b.sd[k]]).value


def wider(r, k):
    """Return the log of the ratio of the methods' standard deviations."""
    a, b = (found.sd[k] for found in r.rows.values())
    return log(a) - log(b)


def fields_apart(r):
    """Return the mean squared difference of the mean fields, in the variance of the mean field."""
    a, b = (np.array(found.field) for found in r.rows.values())
    return difference(a, b) / float(np.mean([a.mean(axis=0).var(), b.mean(axis=0).var()]))


def in_time(found, minutes):
    """Return the ESS of log beta in so many minutes on one core."""
    return exponential(found.ess["beta"]) / found.n / mean(found.seconds) * (60 * minutes)
