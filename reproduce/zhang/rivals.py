"""Chains of SSHMC and of its rivals on the four models of Zhang and Sutton (2014).

SSHMC, RMHMC within Gibbs and HMC, as in the paper; a specialist for each model with data: auxiliary
mixture sampling, Polya-Gamma Gibbs, and surrogate-data slice sampling with elliptical slices; and
NUTS, centred and not, on the volatility model also in Kleppe's coordinates.  What all must agree on
are the hyperparameters and some of the parameters: their means, and their standard deviations.

Work is counted in operations, so that it is the same on every machine.  A unit is a pass over the
data with an exponential a case, a gradient or a likelihood; on the funnel it is a gradient.  A pass
of the mixture is ten, one for each component; Polya-Gamma Gibbs makes three passes and as many more
as a case has covariates, whose products it sums; a variable of its own counts as one exponential,
which it is not: times say what it is.  RMHMC within Gibbs counts its gradients, not its fixed
points.  On the Cox process a unit is a factorisation of Sigma, n^3 / 3 operations before symmetry:
a gradient of NUTS takes one and a whitened derivative of three, a proposal of surrogate slices one,
a product L'L and a second one.
"""

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np

from algorithms.hmc import hmc
from algorithms.hoffman_nuts_fast import nuts
from algorithms.rivals.auxiliary_mixture import WIDTHS, auxiliary_mixture
from algorithms.rivals.polya_gamma_gibbs import polya_gamma_gibbs
from algorithms.rivals.surrogate_slice import surrogate_slice
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import Funnel
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import sizes
from models.log_gaussian_cox import LogGaussianCox
from models.non_centred import NonCentred, theta_of
from models.stochastic_volatility import StochasticVolatility
from reproduce.beyond.rivals.moments import moments, pool, reliability, shorten, worst
from reproduce.zhang.datasets import BETA, MU, PHI, RANGE, SIGMA, SIGMA2, load
from reproduce.zhang.estimates import in_blocks
from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.rescaled_volatility import Rescaled, rescaled_x, rescaled_z
from sampling.summary import e_bfmi

MIXTURE, POLYA, SURROGATE = "auxiliary mixture", "Polya-Gamma Gibbs", "surrogate slices"
CENTRED, NON_CENTRED, RESCALED = "NUTS, centred", "NUTS, non-centred", "NUTS, rescaled"
HYPER = {"funnel": ("v",), "credit": ("log v",),
         "volatility": ("log beta", "log sigma", "atanh phi"), "Cox": ("log sigma^2", "log beta")}
EVERY = {"funnel": 10, "credit": 4, "volatility": 40, "Cox": 20}  # which theta are looked at
SPREAD = 0.1  # of the hyperparameters at the start
GRADIENT = {"funnel": 1.0, "credit": 1.0, "volatility": 1.0, "Cox": 4.0}  # of HMC and NUTS
BOTH = {"gradient_theta": 1.0, "gradient_phi": 1.0}
WORK = {  # units of what else is counted
    ("funnel", SSHMC): BOTH, ("credit", SSHMC): {"gradient_theta": 1.0},
    ("volatility", SSHMC): BOTH, ("Cox", SSHMC): {"factor_theta": 1.0},
    ("credit", GIBBS): BOTH, ("volatility", GIBBS): BOTH,
    ("volatility", MIXTURE): {"mixture": 10.0, "draws": 1.0, "likelihood": 1.0},
    ("Cox", SURROGATE): {"factor": 3.0},
}
MISSING = ("Polya-Gamma variables are those of the library polyagamma, which is not installed: pip"
           " install -e \".[rivals]\".  Without it only stored results can be shown")


def polya_gamma():
    """Import polyagamma, or exit with status 2 and a sentence that says what to install."""
    try:
        import polyagamma
    except ImportError:
        print(MISSING, file=sys.stderr)
        raise SystemExit(2) from None
    return polyagamma


def draw(m, rng):
    """Return a draw of PG(1, m) for each entry of m, by the exact method of its authors."""
    return polya_gamma().random_polyagamma(1, m, method="devroye", random_state=rng)


class Problem(NamedTuple):
    """A model, and where chains start."""

    model: NamedTuple
    phi: np.ndarray  # (h,) about which the hyperparameters start
    keep: np.ndarray  # indices of theta


def problem(name, data_name):
    """Make the model of a data set, the funnel having none; chains start where pilots settled.

    On the Cox process they start at the truth: far from it HMC of any kind is slow.
    """
    data = load(data_name) if data_name else None
    if name == "funnel":
        model, phi = Funnel.from_size(100), [0.5]
    elif name == "credit":
        model, phi = HierarchicalLogistic.from_data(data.X, data.y, data.group), [-1.5]
    elif name == "volatility":
        model, phi = StochasticVolatility.from_data(data.y), [np.log(BETA), np.log(SIGMA),
                                                              np.arctanh(PHI)]
    else:
        model, phi = LogGaussianCox.from_counts(data.y, MU), np.log([SIGMA2, RANGE])
    return Problem(model, np.array(phi), np.arange(0, sizes(model)[0], EVERY[name]))


def start(which, rng):
    """Draw z ~ N(0, I) and phi near where chains start; return z, theta and phi."""
    phi = which.phi + SPREAD * rng.standard_normal(which.phi.size)
    z = rng.standard_normal(sizes(which.model)[0])
    return z, theta_of(z, phi, which.model), phi


def information(model):
    """Return the mean of m e^x over the cells of the Cox process: what a count says of its x."""
    return max(model.counts.mean(), 1.0 / model.counts.size)


def transitions(method, which, theta, phi, setting, n, rng):
    """Run n transitions of a method but HMC and NUTS; return a record in blocks.

    setting : dict   keyword arguments of the sampler; of the mixture "scale" of the slices' widths;
                     of Polya-Gamma Gibbs w; of surrogate slices "noise", in units of
                     1 / information(model), w, of both brackets, and "ellipses"
    """
    model, keep = which.model, which.keep
    if method == MIXTURE:
        return auxiliary_mixture(theta, phi, model, n, rng, setting["scale"] * np.array(WIDTHS),
                                 keep=keep)
    if method == POLYA:
        return polya_gamma_gibbs(theta, phi, model, draw, n, rng, setting["w"], keep=keep)
    if method == SURROGATE:
        return surrogate_slice(theta, phi, model, setting["noise"] / information(model),
                               np.full(2, float(setting["w"])), n, rng, setting["ellipses"], keep)
    sampler = sshmc if method == SSHMC else rmhmc_within_gibbs
    return sampler(theta, phi, model, n=n, rng=rng, keep=keep, **setting)


def run_nuts(method, which, z, theta, phi, n, warm_up, rng, deepest):
    """Run NUTS in the coordinates of `method`; return its Chain, and theta and phi, (n, ...)."""
    model, keep, h = which.model, which.keep, phi.size
    coordinates, q = {CENTRED: (model, theta), NON_CENTRED: (NonCentred(model), z)}.get(
        method) or (Rescaled(model), rescaled_z(theta, phi))
    chain = nuts(np.append(q, phi), coordinates, n, rng, warm_up, deepest=deepest)
    q, phi = chain.samples[:, :-h], chain.samples[:, -h:]
    if method == NON_CENTRED:
        q = np.array([theta_of(each, at, model)[keep] for each, at in zip(q, phi, strict=True)])
    elif method == RESCALED:
        q = np.array([rescaled_x(each, at)[keep] for each, at in zip(q, phi, strict=True)])
    else:
        q = q[:, keep]
    return chain, q, phi


def work(name, method, counts, model):
    """Return the units of work of a record's counts."""
    if method == POLYA:  # margins, variables, margins of z; sums of products of covariates
        return (model.X.shape[0] + 3.0) * counts.polya_gamma / model.X.shape[1]
    counted = counts._asdict()
    weights = WORK.get((name, method), {"gradient": GRADIENT[name]})
    return sum(unit * counted[what] for what, unit in weights.items())


def one_chain(name, which, method, setting, n, burn_in, rng):
    """Run a chain of n draws after burn_in transitions, of any of the methods.

    setting : dict   that of transitions(); of HMC eps, L and jitter; of NUTS "deepest"
    Returns the draws (n, k), hyperparameters first, and {"gradients": the units of work of the n
    draws, "set_up" those before them, "rate" of acceptance, "divergences", "e_bfmi"}.
    """
    z, theta, phi = start(which, rng)
    if "deepest" in setting:
        chain, theta, phi = run_nuts(method, which, z, theta, phi, n, burn_in, rng, **setting)
        gradients = float(chain.gradients.sum())
        return np.hstack([phi, theta]), {
            "gradients": GRADIENT[name] * gradients,
            "set_up": GRADIENT[name] * (float(chain.counts.gradient) - gradients),
            "divergences": chain.divergences, "rate": float(chain.rates.mean()),
            "e_bfmi": chain.e_bfmi}
    renewed = float("nan")  # E-BFMI, of momenta that have a constant mass
    with warnings.catch_warnings(action="ignore"):  # of short chains that never accept
        if method == HMC:
            chain = hmc(np.append(theta, phi), which.model, n=burn_in + n, rng=rng, **setting)
            renewed = e_bfmi(chain.energies[burn_in:], theta.size + phi.size)
            record = in_blocks(chain, theta.size, which.keep)
        else:
            record = transitions(method, which, theta, phi, setting, burn_in + n, rng)
    per = float(work(name, method, record.counts, which.model)) / (burn_in + n)
    return np.hstack([record.phi[burn_in:], record.theta[burn_in:]]), {
        "gradients": per * n, "set_up": per * burn_in, "divergences": int(record.divergences),
        "rate": float(record.accepted[burn_in:].mean()), "e_bfmi": renewed}


def pilot(name, data_name, method, setting, n, seed):
    """Run a chain of n draws after n / 5: the worst ESS, that per unit of work, and its work."""
    draws, found = one_chain(name, problem(name, data_name), method, setting, n, n // 5,
                             np.random.default_rng(seed))
    with np.errstate(all="ignore"):  # of a quantity that never moved
        ess = worst(pool([moments(draws) | found]))
    return {"ess": ess, "efficiency": ess / found["gradients"],
            "gradients": found["gradients"] + found["set_up"]}


def row_of_chains(name, data_name, method, setting, n, burn_in, chains, seed):
    """Run several chains: moments of each (rivals/moments.py), and whether to believe them."""
    which, draws, found = problem(name, data_name), [], []
    for child in range(chains):
        x, more = one_chain(name, which, method, setting, n, burn_in,
                            np.random.default_rng([*seed, child]))
        draws.append(x)
        found.append(shorten(moments(x)) | more)
    return reliability(np.array(draws)) | {"chains": found}


def clock(rows, rounds):
    """CPU seconds of a unit of work of each row, in turn.

    rows : {row: [problem, data, method, setting, transitions]}
    """
    seconds = {row: [] for row in rows}
    for k in range(rounds + 1):  # the first one loads what is compiled
        for row, (name, data_name, method, setting, n) in rows.items():
            which, rng = problem(name, data_name), np.random.default_rng(k)
            begin = time.thread_time()
            _, found = one_chain(name, which, method, setting, n, n, rng)
            seconds[row].append((time.thread_time() - begin)
                                / (found["gradients"] + found["set_up"]))
    return {"seconds": {row: each[1:] for row, each in seconds.items()}}


def warm(names, settings):
    """Compile everything; names: {problem: data}, settings: {(problem, method): setting}."""
    polya_gamma()
    for (name, method), setting in settings.items():
        one_chain(name, problem(name, names[name]), method, setting, 6, 6, np.random.default_rng(0))
