"""Estimates of log evidence by the methods of the paper and by their rivals: runs, time, accuracy.

A problem is (N, log l, log sigma): so many cases of USPS, evenly spaced, and the covariance.  Up to
767 cases are of the training half, which is the paper's data set; 1540 are both halves.

method         size of a run   what it is
IS from q      draws           importance sampling from EP's Gaussian q
bridge         draws           those draws, and SHARE times as many of elliptical slice sampling in
                               q's coordinates, started at q's mean, by bridge sampling
AISq-ellipse   temperatures    annealed importance sampling from q by elliptical slices
AIS-ellipse    temperatures    the same from the prior
AISq-RMHMC     temperatures    the paper's: from q, by RMHMC
AIS-RMHMC      temperatures    from the prior
AISq-HMC       temperatures    from q, by HMC
tilting        points          of the orthant probability, by minimax tilting
"""

import time
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri, stdtr

from algorithms.ais import ais, combine, geometric_ladder
from algorithms.ep_fast import ep
from algorithms.orthant import tilted_run, tilting
from algorithms.paquet_rmhmc_fast import DIRECT
from algorithms.rivals.ais_elliptical_slice import ais_elliptical_slice
from algorithms.rivals.bridge_sampling import bridge_sampling, importance_sampling
from algorithms.rivals.elliptical_slice import elliptical_slice
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from reproduce.harness.claims import Measured, mean
from reproduce.paquet.digits import digits_3v5, usps_3v5, usps_3v5_test
from reproduce.paquet.problem import KERNELS, LOG_AMPLITUDE, LOG_LENGTH

METHODS = ["IS from q", "bridge", "AISq-ellipse", "AIS-ellipse", "AISq-RMHMC", "AIS-RMHMC",
           "AISq-HMC", "tilting"]
FROM_Q = {"IS from q", "bridge", "AISq-ellipse", "AISq-RMHMC", "AISq-HMC"}
BETA_MIN = {"AISq": 1e-3, "AIS": 1e-7}  # the first temperature above 0 at most: as in Figure 2
PILOT = 100  # draws that tell how small it has to be
SHARE = 0.3  # draws of elliptical slice sampling, of those from q
WARM_UP = 0.1  # of these draws are made before, and not used
CHUNK = 500  # draws from q at a time: what fits into a processor's cache
TRAINING = 767
STORE = "paquet_rivals"  # the script whose replicates these runs are
LADDER = {"paper": (40, 365, 767, 1540), "short": (40, 767), "smoke": (40,)}  # cases
SCAN = {"IS from q": (2000, 20_000, 60_000), "bridge": (2000, 20_000, 60_000),
        "AISq-ellipse": (100, 1000, 4000), "AIS-ellipse": (1000, 4000, 16_000),
        "AISq-RMHMC": (12, 60, 240), "AIS-RMHMC": (50, 200, 400), "AISq-HMC": (50, 100, 400),
        "tilting": (256, 1024, 4096)}  # sizes of a run
QUICK = 5000  # draws of a run of `bridge_estimate` at the shorter budgets
SIZES, RUNS = {"paper": 3, "short": 2, "smoke": 1}, {"paper": 5, "short": 4, "smoke": 2}
TOLD = 0.1  # nats: costs are CPU seconds until log Z is known to that
K_MAX, SPREAD, OWN = 0.7, 1.0, 0.3  # beyond these no average is to be trusted: see `is_trusted`
SURE = 1e-3  # nats: importance sampling that says so has weights that are all but alike


@cache
def digits(data_name, N):
    """Return the pixels and labels of N cases: USPS, or the embedded ones by that name."""
    if data_name == digits_3v5().name:
        parts = [digits_3v5()]
    else:
        parts = [usps_3v5(fallback=False)] + [usps_3v5_test()] * (N > TRAINING)
    X, y = np.vstack([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
    if y.size < N:
        raise ValueError(f"N must be at most {y.size} for {data_name}, not {N}")
    keep = np.linspace(0, y.size - 1, N).astype(int)
    return X[keep], y[keep]


@cache
def problem(data_name, N, log_length, log_amplitude):
    """Return (K, y, EP's result)."""
    X, y = digits(data_name, N)
    K = squared_exponential(X, X, log_length, log_amplitude)
    return K, y, ep(K, y)


@cache
def model(data_name, problem_key, from_q):
    """Return the model, annealed from EP's q or from the prior."""
    K, y, q = problem(data_name, *problem_key)
    return GPClassification.from_ep(K, y, q) if from_q else GPClassification.from_prior(K, y)


@cache
def orthant_problem(data_name, problem_key):
    """Return the Tilting of P(u > 0), which is p(y)."""
    K, y, _ = problem(data_name, *problem_key)
    return tilting(np.eye(y.size) + np.outer(y, y) * K)


def log_ratios_of_q(annealed, draws, rng):
    """Return log p(y, x) / q(x) at so many draws from q: log_ratio, many at once."""
    constant = 0.5 * (annealed.mu @ annealed.nu + annealed.log_det_Sigma - annealed.log_det_K)
    found = []
    for start in range(0, draws, CHUNK):
        z = rng.standard_normal((min(CHUNK, draws - start), annealed.y.size))
        x = annealed.mu + z @ annealed.L_Sigma.T
        found.append((log_ndtr(annealed.y * x) + (0.5 * annealed.tau * x - annealed.nu) * x)
                     .sum(axis=1) + constant)
    return np.concatenate(found)


@cache
def first_temperature(data_name, problem_key, start):
    """Return the ladder's first temperature: there, one standard deviation of log L_1 / L_0 is 1.

    But it is that of Figure 2 at most.  Where the likelihood cuts like a step, log Phi at draws of
    q is -10000, and the ladder of Figure 2 begins with a step that no later one makes good.
    """
    annealed = model(data_name, problem_key, start == "AISq")
    spread = log_ratios_of_q(annealed, PILOT, np.random.default_rng(0)).std()
    return min(BETA_MIN[start], 1 / spread)


def one_run(method, data_name, problem_key, size, rng):
    """Return one estimate of log Z: its own standard error, k and evaluations, nan if it has none.

    The estimates of importance sampling, of annealing and of tilting are logs of unbiased ones.
    """
    nothing = {"se": np.nan, "k": np.nan, "evaluations": np.nan}
    if method == "tilting":
        A, mu, _ = orthant_problem(data_name, problem_key)
        return nothing | {"log_Z": logsumexp(tilted_run(A, mu, size, rng)) - np.log(size)}
    annealed = model(data_name, problem_key, method in FROM_Q)
    if method in ("IS from q", "bridge"):
        at_proposal = log_ratios_of_q(annealed, size, rng)
        alone = importance_sampling(at_proposal)
        if method == "IS from q":
            return nothing | {"log_Z": alone.log_Z, "se": alone.standard_error, "k": alone.pareto_k}
        draws = round(SHARE * size)
        before = round(WARM_UP * draws)
        chain = elliptical_slice(annealed.mu, annealed, before + draws, rng)
        found = bridge_sampling(chain.log_likelihood[before:], at_proposal)
        return {"log_Z": found.log_Z, "se": found.standard_error, "k": alone.pareto_k,
                "evaluations": chain.counts.likelihood / (before + draws)}
    start, kernel = method.split("-")
    ladder = geometric_ladder(size, first_temperature(data_name, problem_key, start))
    if kernel == "ellipse":
        found = ais_elliptical_slice(annealed, ladder, 1, rng)
        return nothing | {"log_Z": found.log_weights[0],
                          "evaluations": found.counts.likelihood / size}
    return nothing | {"log_Z": ais(annealed, ladder, KERNELS[kernel], 1, rng).log_weights[0]}


def estimate(method, data_name, problem_key, size, runs, seed):
    """Return {"log_Z": [...], "se": [...], "k": [...], "evaluations": [...]} of so many runs."""
    rng = np.random.default_rng(seed)
    found = [one_run(method, data_name, tuple(problem_key), size, rng) for _ in range(runs)]
    return {name: [run[name] for run in found] for name in found[0]}


def task(experiment, data_name, key, place, method, size, runs, stream=None, part=0):
    """Return the arguments of `estimate`; place: of the problem; stream: of draws, the method's."""
    return dict(method=method, data_name=data_name, problem_key=list(key), size=size, runs=runs,
                seed=[experiment.seed, place, METHODS.index(method) if stream is None else stream,
                      size, part])


def bridge_estimate(experiment, data_name, N):
    """Return log Z at the paper's covariance by the longest runs of the bridge, a Measured.

    At the paper's budget they are those of the script paquet_rivals, where N is on its ladder.
    """
    budget = experiment.budget
    size = SCAN["bridge"][-1] if budget == "paper" else QUICK
    (found,) = experiment.of(STORE).replicates(estimate, [task(
        experiment, data_name, (N, LOG_LENGTH, LOG_AMPLITUDE), [*LADDER[budget], N].index(N),
        "bridge", size, RUNS[budget])], "bridges", warm=warm_bridge)
    return average("bridge", found["log_Z"])


def operations(method, N):
    """Return the floating-point operations of a temperature, a draw or a point, to leading order.

    The product of a factor and a vector takes 2 N^2, as does a pair of triangular solves, which is
    HMC's gradient; RMHMC's fast twin 2 N^3 a leapfrog step, N^3 from DIRECT cases on, 4 / 3 N^3
    a temperature beside (tests/test_operation_counts.py).
    """
    kernel = method.split("-")[-1]
    if kernel in KERNELS:
        steps = KERNELS[kernel].l_max
        cubes = (1 if N >= DIRECT else 2) * steps + 4 / 3
        return cubes * N**3 if kernel == "RMHMC" else 2 * steps * N**2
    return {"tilting": 1, "bridge": 2 + 2 * SHARE * (1 + WARM_UP)}.get(method, 2) * N**2


TIMED = {"IS from q": 1000, "bridge": 1000, "AISq-ellipse": 200, "AIS-ellipse": 200,
         "AISq-RMHMC": 4, "AIS-RMHMC": 4, "AISq-HMC": 8, "tilting": 256}  # size of a run


def clock(data_name, plans, rounds):
    """Return CPU seconds of a unit of size of each method and problem, and of what comes before.

    plans : list of [problem, methods].  Set-up is EP for what is from q, the tilt for tilting and
    the factor of K for the rest.  Methods are timed in turn, `rounds` times; a first time, not
    counted, loads what has to be loaded.
    """
    seconds, setup = {}, {}
    for key, methods in ((tuple(key), methods) for key, methods in plans):
        X, y = digits(data_name, key[0])
        K = squared_exponential(X, X, *key[1:])
        for name, prepare in (("q", lambda K=K, y=y: GPClassification.from_ep(K, y, ep(K, y))),
                              ("prior", lambda K=K, y=y: GPClassification.from_prior(K, y)),
                              ("tilt", lambda K=K, y=y: tilting(np.eye(y.size)
                                                                + np.outer(y, y) * K))):
            if name != "tilt" or "tilting" in methods:
                setup[f"{key}, {name}"] = cpu_seconds(prepare)
        for turn in range(rounds + 1):
            for method in methods:
                taken = cpu_seconds(lambda m=method, key=key, turn=turn: estimate(
                    m, data_name, key, TIMED[m], 1, turn))
                if turn:
                    seconds.setdefault(f"{key}, {method}", []).append(taken / TIMED[method])
    return {"seconds": {"unit": seconds, "setup": setup}}


def cpu_seconds(function):
    """Return the CPU seconds that a call takes in this thread."""
    start = time.thread_time()
    function()
    return time.thread_time() - start


def set_up_of(method):
    """Return which set-up a method needs."""
    return "tilt" if method == "tilting" else "q" if method in FROM_Q else "prior"


def warm_bridge():
    """Compile what bridge sampling needs."""
    warm(["bridge"])


def warm(methods=METHODS):
    """Compile what `methods` need in this process, before others start."""
    for method in methods:
        estimate(method, digits_3v5().name, (8, 2.0, 1.0), 20 if method in ("IS from q", "bridge")
                 else 4, 1, 0)


class Row(NamedTuple):
    """The runs of a method of one size on one problem."""

    runs: int
    log_Z: Measured  # of all runs
    error: Measured  # root mean square of a run's
    spread: float  # standard deviation of a run's log Z
    own: Measured  # the mean of the standard errors that the runs say they have; nan if they do not
    k: float  # of importance sampling, mean over runs
    evaluations: float  # of log L, for each update of elliptical slice sampling
    seconds: Measured  # of a run, the set-up left out
    z: float  # log Z less the reference, as a normal deviate


def average(method, log_Z):
    """Return log Z of all runs: the log of their mean, or for the bridge the mean of their logs."""
    if method == "bridge":
        return mean(log_Z)
    return Measured(*combine(log_Z)[:2])


def put_together(method, found, truth, seconds):
    """Return the Row of some runs, of which `estimate` has told; truth: by other runs.

    The mean square error of a run is its variance and the square of its bias, of which that part is
    taken off that the two errors of the difference explain.
    """
    values = np.array(found["log_Z"])
    R, log_Z, variance = values.size, average(method, values), values.var(ddof=1)
    noise = variance / R + truth.se**2
    error = np.sqrt(variance + max((values.mean() - truth.value) ** 2 - noise, 0.0))
    return Row(R, log_Z, Measured(error, error / np.sqrt(2 * (R - 1))), float(np.sqrt(variance)),
               mean(found["se"]), float(np.mean(found["k"])),
               float(np.mean(found["evaluations"])), seconds, deviate(log_Z - truth, R - 1))


def deviate(difference, freedom):
    """Return a difference over its error, of so many degrees of freedom, as a normal deviate."""
    tail = stdtr(freedom, -abs(difference.value) / difference.se)
    return float(-np.sign(difference.value) * ndtri(tail))


def in_errors(difference):
    """Return a difference over its standard error."""
    return difference.value / difference.se


def improvement(EP, corrected, truth):
    """Return how much nearer to the truth the correction brings EP; it may lie between the two."""
    return Measured(abs(EP - truth.value) - abs(corrected - truth.value), 2 * truth.se)


def is_trusted(method, row):
    """Tell whether an average over runs of this kind is to be trusted, by what they show.

    A mean of weights of which the logs spread by more than 1 is that of a few; above k = .7 it
    does not get better with the number of draws, unless the weights are so alike that their tail,
    of which k is the shape whatever its share, does not matter; an error of .3 of a bridge is a
    poor one itself.
    """
    if method == "bridge":
        return row.own.value < OWN
    if method == "IS from q":
        return row.k < K_MAX or row.own.value < SURE
    return row.spread < SPREAD


def cost(row):
    """Return the CPU seconds of so many runs as know log Z to TOLD, the set-up left out."""
    mean_square = Measured(row.error.value**2, 2 * row.error.value * row.error.se)
    return row.seconds * mean_square / TOLD**2


def rows_of(rows, key, method):
    """Return {size: Row} of a method on a problem, of {(problem, method, size): Row}."""
    return {place[2]: row for place, row in rows.items() if place[:2] == (key, method)}


def best(rows, key, method):
    """Return the least cost over the sizes that are to be trusted and agree, None without any."""
    usable = [cost(row) for row in rows_of(rows, key, method).values()
              if is_trusted(method, row) and abs(row.z) < 4]
    return min(usable, key=lambda found: found.value, default=None)
