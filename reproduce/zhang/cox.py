"""The log-Gaussian Cox process of Zhang and Sutton (2014), Section 5.4: data, runs, estimates.

The paper gives 2 and 1 leapfrogs, 10 ABLA steps, unit mass of (log sigma^2, log beta), 20 leapfrogs
and 1 generalised leapfrog of the rival, and no step sizes.  Of the two families of data, with the
printed covariance and with that of the programs which it cites (zhang_table4.py), there are five
sets each: those of the first seeds whose counts sum to 100 to 160, since theirs sum to about 126.

All settings of a grid are run on the first set for as long as every scanned chain, and one is taken
by a rule that looks at no printed number.  It is run on all five sets.

Chains start with hyperparameters at their true values, in pixels at those of the same covariance,
and with x drawn from its prior there.  The programs of the lineage start at x = mu, where nothing
of the posterior is.  The rival is run as in those programs, with 3 fixed-point iterations of the
position and 10 of the momentum, which leave an error; Figure 3 is where it would show.
"""

import math
from itertools import product
from typing import NamedTuple

import numpy as np

from algorithms.ess import combined_chains
from algorithms.hoffman_nuts_fast import nuts
from models.interface import precompute_phi, sizes, velocity_theta
from models.log_gaussian_cox import LogGaussianCox
from models.non_centred import NonCentred, theta_of
from reproduce.harness.claims import Measured, Scan, average, exponential, log, mean
from reproduce.harness.style import COLOURS
from reproduce.zhang.comparison import SMALL, pick, runs_by_setting
from reproduce.zhang.datasets import GRID, MU, RANGE, SIGMA2, load
from reproduce.zhang.estimates import summary
from reproduce.zhang.printed import COX, GIBBS, HMC, SSHMC, TABLES
from sampling.summary import LEAST_ESS, MOST_RHAT, ess_bulk, ess_tail, rhat

DISTANCES = ("unit", "pixel")
POINTS = (100, 160)  # the sum of the counts
SEEDS = {"unit": (27, 31, 33, 35, 39), "pixel": (2, 3, 4, 5, 6)}  # the first five of each
DATA = {distance: [f"{GRID}32 x 32, {distance}, seed {seed}" for seed in seeds]
        for distance, seeds in SEEDS.items()}
TINY = f"{GRID}3 x 3, unit, seed 1"  # for what only compiles

LINEAGE = dict(f_position=3, f_momentum=10, tol=0.0, tol_back=0.0)
# in Cholesky factorisations of Sigma; only numbers of operations of one method are compared
WEIGHTS = {HMC: {"gradient": 5.0}, SSHMC: {"gradient_theta": 0.1, "factor_theta": 1.0},
           GIBBS: {"gradient_theta": 0.2, "factor_theta": 2.0, "gradient_phi": 5.0,
                   "factor_phi": 4.0}}
EDGES = {"sigma^2": np.linspace(-4, 3, 57), "beta": np.linspace(-6, 3, 73)}  # of logs: histograms
FEW = 4  # runs: with less, the error of an ESS is that of theory

KEEPER = "zhang_table4"  # the script in whose name the runs are stored
N, BURN_IN = TABLES["Table 4"].samples, TABLES["Table 4"].burn_in
LENGTH = {"paper": (N, BURN_IN), "short": (250, 50), "smoke": (12, 3)}  # of a run; burn-in
SCANNED = {"paper": (N // 2, BURN_IN // 2), "short": (60, 20), "smoke": (12, 3)}
SETS = {"paper": 5, "short": 2, "smoke": 1}  # data sets of a row
# chains of the rival on each of them; the first results were of one, and four were decided when it
# was seen that one has about ten effective draws of beta, before any of the others was run
ON_A_SET = {"paper": 4, "short": 1, "smoke": 1}
CHAINS = {"paper": 4, "short": 2, "smoke": 1}  # of a method on the first data set alone
ENOUGH = 50  # effective draws of each hyperparameter: with less a setting is not taken
HMC_LENGTH = {"paper": (300, 60), "short": (40, 10), "smoke": (12, 3)}
HMC_SETTING = {"eps": 0.04, "L": 50, "jitter": 0.2}
TIMED = {"paper": (8, 15), "short": (4, 5), "smoke": (2, 1)}  # rounds, transitions

# step sizes for x and for phi that are tried; what is beyond the ends follows from `past`
GRIDS = {(method, distance): sizes for method, sizes in (
    (SSHMC, ((0.02, 0.05, 0.08, 0.11, 0.14), (0.02, 0.035, 0.05))),
    (GIBBS, ((0.2, 0.3, 0.4), (0.8, 1.2)))) for distance in DISTANCES}
# tried after the first results, in which the acceptance rate of SSHMC falls from 0.8 to 0 between
# two sizes of the grid, and so does the ESS of x of its rival; the rule does not see them
BETWEEN = {(method, distance): sizes for method, sizes in (
    (SSHMC, ((0.05, 0.08), (0.04, 0.045))), (GIBBS, ((0.25,), (0.8, 1.2))))
    for distance in DISTANCES}
LEAST = 12  # of an ESS; below, the standard error of its log, (12 / ESS)^1/2, is above 1
ROWS = {f"{method}, {distance}": (method, distance) for method, distance in GRIDS}


def problem(data, distance):
    """Return the model of a data set, by its name, and the phi where chains start."""
    counts = load(data).y
    cells = len(counts) - 1 if distance == "pixel" else 1
    return LogGaussianCox.from_counts(counts, MU, distance), np.log([SIGMA2, RANGE * cells])


def start(phi, model, rng):
    """Draw the x where a chain starts, from its prior."""
    return theta_of(rng.standard_normal(sizes(model)[0]), phi, model)


def grid(method, distance, budget, grids=GRIDS):
    """Return the settings of a method that are tried, none with jitter: the paper has none."""
    sizes = grids[method, distance]
    if budget != "paper":
        sizes = [each[1::2] if budget == "short" else each[1:2] for each in sizes]
    steps = ({"L": COX["L"], "n_theta": COX["n_theta"], "n_phi": COX["n_phi"]}
             if method == SSHMC else
             {"L_theta": COX["gibbs L_theta"], "L_phi": COX["gibbs L_phi"]})
    return [{"eps_theta": a, "eps_phi": b, "jitter": 0.0} | steps for a, b in product(*sizes)]


def run_in_numbers(chain, burn_in, model, distance):
    """Return the summary of a run, with "field", the mean of x, (d^2,) to 3 digits.

    The histograms are of log sigma^2 and log beta, in pixels of log(beta / (d - 1)).
    """
    shift = np.log(len(model.distance) - 1) if distance == "pixel" else 0.0
    return summary(chain, burn_in, [EDGES["sigma^2"], EDGES["beta"] + shift]) | {
        "field": chain.theta[burn_in:].mean(axis=0).round(3).tolist()}


def warm_up(one_chain):
    """Compile everything in this process, before others start."""
    for method, setting in SMALL.items():
        one_chain(method, TINY, "unit", setting | {"jitter": 0.1}, 20, 1, [0])


def task(experiment, method, distance, data, setting, lengths, place):
    """Return the arguments of a chain; `place` is behind the experiment's seed."""
    n, burn_in = lengths[experiment.budget]
    seconds = {HMC: 0.003, SSHMC: 0.0008, GIBBS: 0.018}[method] * setting.get("L", 1)  # about
    return dict(method=method, data=data, distance=distance, setting=setting, n=n, burn_in=burn_in,
                seed=[experiment.seed, *place], cost=(n + burn_in) * seconds)


def run_scan(experiment, one_chain, warm):
    """Run the grids and past their ends: {(method, distance): [(setting, its chain)]}."""
    found = {key: [] for key in GRIDS}
    wanted = {key: grid(*key, experiment.budget) for key in GRIDS}
    while any(wanted.values()):
        for key, done in run_settings(experiment, wanted, one_chain, warm).items():
            found[key] += done
        wanted = {key: past(found[key], key[0]) if experiment.budget == "paper" else []
                  for key in GRIDS}
    return found


def run_between(experiment, one_chain, warm):
    """Run the settings of BETWEEN, at the paper's length alone; return as run_scan does."""
    if experiment.budget != "paper":
        return {}
    return run_settings(experiment, {key: grid(*key, "paper", BETWEEN) for key in BETWEEN},
                        one_chain, warm)


def run_settings(experiment, wanted, one_chain, warm):
    """Run a chain with each setting of {(method, distance): settings} on the first data set."""
    done = runs_by_setting(experiment, one_chain, {key: [
        task(experiment, *key, DATA[key[1]][0], setting, SCANNED, (99, 0))
        for setting in settings] for key, settings in wanted.items()}, warm)
    return {key: [*zip(settings, done[key], strict=True)] for key, settings in wanted.items()}


def past(tried, method):
    """Return the settings one step beyond the ends of the grid at which the taken one is."""
    found, settings = taken(tried, method), [setting for setting, _ in tried]
    beyond = []
    for name in ("eps_theta", "eps_phi"):
        values = sorted({setting[name] for setting in settings})
        if len(values) > 1 and found[name] == values[-1]:
            beyond.append(found | {name: round(2 * values[-1] - values[-2], 4)})
        if len(values) > 1 and found[name] == values[0]:
            beyond.append(found | {name: round(values[0] / 2, 4)})
    return [setting for setting in beyond if setting not in settings]


def taken(tried, method):
    """Return the setting that the rule takes, of [(setting, its chain)].

    Of those with ENOUGH effective draws of each hyperparameter, if there are any: as `pick` does.
    """
    pilots = [as_pilot(setting, chain, method) for setting, chain in tried]
    enough = [pilot for pilot in pilots if pilot["ess"]["phi"] >= ENOUGH]
    return pick(enough or pilots)["setting"]


def as_pilot(setting, chain, method):
    """Return what `pick` needs of a chain: its worst ESS, ours, and the cost of its operations."""
    ess = {block + more: float(np.nan_to_num(np.min(chain[block][key])))
           for block in ("theta", "phi") for more, key in (("", "ours"), (" squares", "squares"))}
    return {"setting": setting, "AP": np.atleast_1d(chain["AP"]).tolist(), "ess": ess,
            "cost": sum(weight * chain["counts"][name] for name, weight in WEIGHTS[method].items())}


def scan_of(found):
    """Return {name: Estimates} of the chains of run_scan."""
    return {f"{method}, {distance}, eps = {setting['eps_theta']:g}, {setting['eps_phi']:g}":
            estimates([chain], chain["n"], setting)
            for (method, distance), tried in found.items() for setting, chain in tried}


def run_rows(experiment, found, one_chain, warm):
    """Run the taken settings; return {row: Estimates} and {method: Estimates}.

    A row has a chain on each data set, the rival's ON_A_SET; SSHMC and HMC have chains on the first
    data set alone.
    """
    on_a_set = {SSHMC: 1, GIBBS: ON_A_SET[experiment.budget]}
    rows = {name: [task(experiment, *key, data, taken(found[key], key[0]), LENGTH,
                        (100, k, *[j] * (j > 0)))
                   for k, data in enumerate(DATA[key[1]][: SETS[experiment.budget]])
                   for j in range(on_a_set[key[0]])]
            for name, key in ROWS.items()}
    settings = {SSHMC: (taken(found[SSHMC, "unit"], SSHMC), LENGTH), HMC: (HMC_SETTING, HMC_LENGTH)}
    alone = {method: [task(experiment, method, "unit", DATA["unit"][0], setting, lengths, (101, k))
                      for k in range(CHAINS[experiment.budget])]
             for method, (setting, lengths) in settings.items()}
    done = runs_by_setting(experiment, one_chain, rows | alone, warm)
    return [{name: estimates(done[name], each[0]["n"], each[0]["setting"],
                             on_a_set=on_a_set[ROWS[name][0]] if name in ROWS else 1)
             for name, each in tasks.items()} for tasks in (rows, alone)]


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
    each: dict | tuple = ()  # the lineage's ESS of each chain, or of those of a data set


def estimates(chains, n, setting, seconds=(), on_a_set=1):
    """Put the results of one_chain of one setting together, as Estimates.

    on_a_set : int     so many chains in turn are of one data set, and scatter less than the sets do
    """
    def of_sets(values):
        return np.reshape(values, (-1, on_a_set, *np.shape(values)[1:])).mean(axis=1)

    AP = of_sets([np.atleast_1d(c["AP"]) for c in chains])
    phi = {name: np.array([c["phi"][name] for c in chains])
           for name in ("lineage", "squares", "mean", "sd", "mean_se")}
    theta = {name: np.array([c["theta"][name] for c in chains]) for name in ("lineage", "squares")}

    def moment(name):
        return [mean(values) if len(values) >= FEW else
                Measured(values.mean(), np.sqrt(np.mean(se**2) / len(chains)))
                for values, se in zip(of_sets(phi[name]).T, phi["mean_se"].T, strict=True)]

    each = dict(zip(("min", "med", "max", "sigma", "beta"),
                    [*theta["lineage"].T, *phi["lineage"].T], strict=True))
    return Estimates(
        [mean(rate) for rate in AP.T], sum(c["divergences"] for c in chains),
        {name: log_ess(values, on_a_set) for name, values in each.items()},
        {name: log_ess(values, on_a_set) for name, values in zip(
            ("sigma", "beta", "x"), [*phi["squares"].T, theta["squares"].T[0]], strict=True)},
        moment("mean"), moment("sd"),
        [np.sum([c["phi"]["histogram"][k] for c in chains], axis=0).tolist() for k in (0, 1)],
        [c["field"] for c in chains], phi["mean"].tolist(), [c["phi"]["mean_se"] for c in chains],
        n, setting, seconds, {name: np.exp(logs_by_set(values, on_a_set)).tolist()
                              for name, values in each.items()})


def logs_by_set(values, on_a_set):
    """Return the mean log of an ESS over the runs of each data set; 0 where a run never moved."""
    return np.log(np.nan_to_num(values, nan=1.0)).reshape(-1, on_a_set).mean(axis=1)


def log_ess(values, on_a_set=1):
    """Return the mean of the logs of an ESS of several runs, `on_a_set` in turn on one data set.

    Of less than FEW sets its error is that of theory: an ESS whose window is six autocorrelation
    times has a log with one of (12 / ESS)^1/2.  What never moved has an ESS of less than 1.
    """
    logs = logs_by_set(values, on_a_set)
    if logs.size >= FEW:
        return mean(logs)
    return Measured(float(logs.mean()), float(np.sqrt(12 / np.exp(logs.mean()) / len(values))))


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


# Measures of Table 4: a result has {row: Estimates} in `rows`, {setting: Estimates} in `scan`, and
# {method: Estimates} on the first data set in `alone`


def ess_of(found, column):
    """Return the log of the ESS of a column, in as many draws as the paper has."""
    return found.ess[column] + math.log(N / found.n)


def worst(found):
    """Return the log of the least ESS of all parameters, as the paper has "min ESS/h"."""
    return min(ess_of(found, name) for name in ("min", "sigma", "beta"))


def per_second(found, name=None):
    """Return the log of the worst ESS per second, or of one of COLUMNS."""
    ess = worst(found) if name is None else ess_of(found, name)
    return ess - math.log(N) - log(mean(found.seconds))


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
    ours, hmc = r.alone[SSHMC], r.alone[HMC]
    return (per_second(ours, ("sigma", "beta")[k]) - worth(hmc, ours, k)
            + math.log(hmc.n) + log(mean(hmc.seconds)))


def credulity(r, k):
    """Return the mean squared error of HMC's means in units of what its runs report, logged."""
    errors = np.array(r.alone[HMC].means) - [m.value for m in r.alone[SSHMC].mean]
    squares = (errors / np.array(r.alone[HMC].means_se))[:, k] ** 2
    return Measured(float(np.log(squares.mean())), (2 / squares.size) ** 0.5)


def rows_of_method(r, method):
    """Return all rows of a method, and its settings of the scan, by what comes after its name.

    Settings whose chain has hardly moved in one of the columns are left out: that was decided after
    the first results.  With their errors they would agree with every printed number.
    """
    measured = {name: found for name, found in r.scan.items()
                if min(m.value for m in found.ess.values()) >= math.log(LEAST)}
    return {name.removeprefix(f"{method}, "): found
            for name, found in [*r.rows.items(), *measured.items()]
            if name.startswith(f"{method}, ")}


def on_all_sets(r, method, name, found):
    """Return the row of a setting's distances: its runs are of data sets drawn anew, as theirs."""
    return r.rows[f"{method}, {name.split(', ')[0]}"]


def pairs(r, printed=0.0):
    """Scan log(worst ESS per second, SSHMC / its rival) less `printed` over the rival's settings.

    SSHMC has the setting of its row of the same family of data.
    """
    ours, theirs = rows_of_method(r, SSHMC), rows_of_method(r, GIBBS)
    return Scan(tuple(theirs), tuple(
        per_second(ours[name.split(",")[0]]) - per_second(found) - printed
        for name, found in theirs.items()))


def limits(r):
    """Return the largest stable step for x at the mean of phi, and 2 deviations up."""
    return [largest_stable(r.alone[SSHMC], above) for above in (0.0, 2.0)]


def largest_stable(found, above=0.0):
    """Return the step size for x at which leapfrogs for H_1 begin to diverge, on the first data.

    It is 2 over the root of the largest eigenvalue of I + Sigma diag(m e^x), with x the mean field
    and log sigma^2 so many standard deviations `above` its mean.
    """
    model = problem(DATA["unit"][0], "unit")[0]
    phi = np.array([m.value for m in found.mean])
    phi[0] += above * found.sd[0].value
    Phi, weight = precompute_phi(phi, model), model.area * np.exp(np.mean(found.field, axis=0))
    v = weight / np.linalg.norm(weight)
    for _ in range(200):  # the first eigenvalue, of a smooth function, is far from the second
        w = v + velocity_theta(weight * v, Phi, model)
        size = np.linalg.norm(w)
        v = w / size
    return 2 / size**0.5


# Figure 3: a result has {method: Posterior} in `rows`


class Posterior(NamedTuple):
    """What several chains of a method say together of log sigma^2 and log beta, and of x."""

    n: int  # draws of a chain
    mean: list  # Measured
    sd: list
    ess: list  # of all draws, for the mean
    tail: float  # the least effective sample size of a tail, and of the bulk
    bulk: float
    rhat: float  # the largest
    histogram: list
    field: list  # the mean of x in each chain, (chains, d^2)


def run_nuts(model, phi, n, burn_in, rng):
    """Run NUTS in non-centred coordinates; return the mean field and the draws of phi, (n, 2)."""
    z = rng.standard_normal(model.counts.size)
    q = nuts(np.append(z, phi), NonCentred(model), n, rng, warm_up=burn_in).samples
    return sum(theta_of(each[:-2], each[-2:], model) for each in q) / n, q[:, -2:]


def posterior_of(fields, phi):
    """Return the numbers of a Posterior: of mean fields (chains, d^2) and phi (chains, n, 2)."""
    centred = (phi - phi.mean(axis=(0, 1))) ** 2
    ess, ess_squares = combined_chains(phi).ess, combined_chains(centred).ess
    sd = phi.std(axis=(0, 1))
    sd_se = centred.std(axis=(0, 1)) / np.sqrt(ess_squares) / (2 * sd)
    each = np.moveaxis(phi, 2, 0)  # (2, chains, n)
    return [phi.shape[1], [[*pair] for pair in zip(phi.mean(axis=(0, 1)), sd / np.sqrt(ess),
                                                  strict=True)],
            [[*pair] for pair in zip(sd, sd_se, strict=True)], ess.tolist(),
            *(float(min(map(which, each))) for which in (ess_tail, ess_bulk)),
            float(max(map(rhat, each))),
            [np.histogram(x, edges)[0].tolist() for x, edges in zip(each, EDGES.values(),
                                                                    strict=True)],
            np.round(fields, 3).tolist()]


def read_posterior(values):
    """Return the Posterior of these numbers."""
    n, means, sds, *rest = values
    return Posterior(n, *([Measured(*pair) for pair in pairs] for pairs in (means, sds)), *rest)


def is_believed(found):
    """Tell whether a Posterior may be compared: the rule of Vehtari et al. (2021)."""
    least = LEAST_ESS * len(found.field)  # nan, of what never moved, is neither more nor less
    return found.rhat <= MOST_RHAT and found.bulk >= least and found.tail >= least


def comparison_of(value, *found):
    """Return a difference, without an error if one of those compared may not be."""
    return value if all(map(is_believed, found)) else value._replace(se=math.nan)


def means_apart(a, b, k):
    """Return the difference of two means of log sigma^2 (0) or log beta (1), in deviations."""
    return comparison_of((a.mean[k] - b.mean[k]) / average([a.sd[k], b.sd[k]]).value, a, b)


def wider(a, b, k):
    """Return the log of the ratio of two standard deviations."""
    return comparison_of(log(a.sd[k]) - log(b.sd[k]), a, b)


def fields_apart(a, b):
    """Return the mean squared difference of the mean fields, in the variance of the mean field."""
    x, y = np.array(a.field), np.array(b.field)
    variance = float(np.mean([x.mean(axis=0).var(), y.mean(axis=0).var()]))
    return comparison_of(difference(x, y) / variance, a, b)


def in_time(found, minutes):
    """Return the ESS of log beta in so many minutes on one core."""
    return exponential(found.ess["beta"]) / found.n / mean(found.seconds) * (60 * minutes)


def draw_fields(fig, line, fields):
    """Draw {title: (d, d) field} in the first panels of a line, on one scale of colours."""
    low, high = (end(list(map(end, fields.values()))) for end in (np.min, np.max))
    for ax, (title, field) in zip(line, fields.items(), strict=False):
        shown = ax.imshow(field, vmin=low, vmax=high, cmap="viridis")
        ax.set(title=title, xticks=[], yticks=[])
    fig.colorbar(shown, ax=line[: len(fields)], orientation="horizontal", shrink=0.8, aspect=30,
                 label="log intensity")


def draw_data(lines):
    """Draw the counts of each data set above the field they are of, a line for each family."""
    for line, (distance, names) in zip(lines, DATA.items(), strict=True):
        for ax, name in zip(line, names, strict=True):
            data = load(name)
            row, column = np.nonzero(data.y)
            ax.imshow(data.x, cmap="Greys", alpha=0.5)
            ax.scatter(column, row, s=2 * data.y[row, column], color=COLOURS[4])
            ax.set(title=f"{data.y.sum():.0f} points", xticks=[], yticks=[])
        line[0].set_ylabel({"unit": "unit square", "pixel": "in pixels"}[distance]
                           + ":\ncounts; grey: log\nintensity, dark high")


def mean_field(found):
    """Return the mean of the field over all runs, (d, d)."""
    field = np.mean(found.field, axis=0)
    return field.reshape(math.isqrt(field.size), -1)
