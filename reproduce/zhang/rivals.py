"""Chains of the rivals on the three real problems of Zhang and Sutton (2014).

A specialist for each: auxiliary mixture sampling, Polya-Gamma Gibbs, and surrogate-data slice
sampling with elliptical slices; SSHMC; and NUTS, centred and not, on the volatility model also in
Kleppe's coordinates.  All chains start where those of zhang/references.py do.

Work is counted in operations, so that it is the same on every machine.  On the two series a unit is
a pass over the data with an exponential a case: a gradient, or a likelihood.  A pass of the mixture
is ten, one for each component; Polya-Gamma Gibbs makes three passes and as many more as a case has
covariates, whose products it sums; a variable of its own counts as one exponential, which it is
not: times say what it is.  On the Cox process a unit is a factorisation of Sigma, n^3 / 3
operations before symmetry: a gradient of NUTS takes one and a whitened derivative of three, a
proposal of surrogate slices one, a product L'L and a second one.
"""

import sys
import time
import warnings

import numpy as np

from algorithms.rivals.auxiliary_mixture import WIDTHS, auxiliary_mixture
from algorithms.rivals.polya_gamma_gibbs import polya_gamma_gibbs
from algorithms.rivals.surrogate_slice import surrogate_slice
from algorithms.zhang_sshmc_fast import sshmc
from models.non_centred import NonCentred
from reproduce.beyond.rivals import nuts as nutpie
from reproduce.beyond.rivals.moments import combine, moments, worst
from reproduce.beyond.rivals.nuts import library
from reproduce.zhang.nuts import nuts
from reproduce.zhang.printed import SSHMC
from reproduce.zhang.references import HYPER, problem, start
from reproduce.zhang.rescaled_volatility import Rescaled, rescaled_x, rescaled_z

MIXTURE, POLYA, SURROGATE = "auxiliary mixture", "Polya-Gamma Gibbs", "surrogate slices"
CENTRED, NON_CENTRED, RESCALED = "NUTS, centred", "NUTS, non-centred", "NUTS, rescaled"
SPECIALIST = {"credit": POLYA, "volatility": MIXTURE, "Cox": SURROGATE}
# units of work of what is counted; NUTS counts gradients
WORK = {
    ("credit", SSHMC): {"gradient_theta": 1.0},
    ("volatility", SSHMC): {"gradient_theta": 1.0, "gradient_phi": 1.0},
    ("Cox", SSHMC): {"factor_theta": 1.0},
    ("volatility", MIXTURE): {"mixture": 10.0, "draws": 1.0, "likelihood": 1.0},
    ("Cox", SURROGATE): {"factor": 3.0},
}
GRADIENT = {"credit": 1.0, "volatility": 1.0, "Cox": 4.0}  # of NUTS
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


def libraries():
    """Import both outside libraries, or exit with status 2."""
    return library(), polya_gamma()


def information(model):
    """Return the mean of m e^x over the cells of the Cox process: what a count says of its x."""
    return max(model.counts.mean(), 1.0 / model.counts.size)


def transitions(name, method, which, theta, phi, setting, n, rng):
    """Run n transitions of SSHMC or of the specialist; return a record in blocks.

    setting : dict   of SSHMC: eps_theta, eps_phi, L, n_theta, ...; of the mixture: "scale" of the
                     slices' widths; of Polya-Gamma Gibbs: w; of surrogate slices: "noise", in units
                     of 1 / information(model), w, of both brackets, and "ellipses"
    """
    model, keep = which.model, which.keep
    if method == SSHMC:
        return sshmc(theta, phi, model, n=n, rng=rng, keep=keep, **setting)
    if method == MIXTURE:
        return auxiliary_mixture(theta, phi, model, n, rng, setting["scale"] * np.array(WIDTHS),
                                 keep=keep)
    if method == POLYA:
        return polya_gamma_gibbs(theta, phi, model, draw, n, rng, setting["w"], keep=keep)
    return surrogate_slice(theta, phi, model, setting["noise"] / information(model),
                           np.full(2, float(setting["w"])), n, rng, setting["ellipses"], keep)


def run_nuts(method, which, z, theta, phi, draws, tune, seed, maxdepth):
    """Run NUTS in the coordinates of `method`; rivals/nuts.py and zhang/nuts.py say the rest."""
    model, keep, h = which.model, which.keep, phi.size
    if method != RESCALED:
        centred = method == CENTRED
        return nuts(model if centred else NonCentred(model), np.concatenate(
            [theta if centred else z, phi]), draws, tune, seed, keep, maxdepth)

    def kept(q):
        return {"theta": rescaled_x(q[:-h], q[-h:])[keep], "phi": q[-h:].copy()}

    return nutpie.nuts(Rescaled(model), np.concatenate([rescaled_z(theta, phi), phi]), draws,
                            tune, seed, maxdepth, kept=kept)


def work(name, method, counts, model):
    """Return the units of work of a record's counts."""
    if method == POLYA:  # margins, variables, margins of z; sums of products of covariates
        return (model.X.shape[0] + 3.0) * counts.polya_gamma / model.X.shape[1]
    counted = counts._asdict()
    return sum(unit * counted[what] for what, unit in WORK[name, method].items())


def chain(name, data_name, method, setting, n, burn_in, seed):
    """Run a chain of n draws after `burn_in` transitions, of any of the methods.

    Its moments (rivals/moments.py), with "gradients" the units of work of the n draws, "set_up"
    those before them, "rate" of acceptance, "divergences", and "deepest" of NUTS.
    """
    which, rng = problem(name, data_name), np.random.default_rng(seed)
    z, theta, phi = start(which, rng)
    if method in (CENTRED, NON_CENTRED, RESCALED):
        found = run_nuts(method, which, z, theta, phi, n, burn_in, int(rng.integers(2**31)),
                         setting["maxdepth"])
        return moments(found["phi"], found["theta"]) | {
            "gradients": GRADIENT[name] * found["steps"],
            "set_up": GRADIENT[name] * found["warm_up"], "divergences": found["divergences"],
            "deepest": found["deepest"], "rate": float("nan")}
    with warnings.catch_warnings(action="ignore"):  # of short chains that never accept
        record = transitions(name, method, which, theta, phi, setting, burn_in + n, rng)
    per = work(name, method, record.counts, which.model) / (burn_in + n)
    return moments(record.phi[burn_in:], record.theta[burn_in:]) | {
        "gradients": per * n, "set_up": per * burn_in, "deepest": float("nan"),
        "divergences": int(record.divergences), "rate": float(record.accepted[burn_in:].mean())}


def efficiency(found, h):
    """Return the worst ESS, of values and squares, per unit of work of one chain."""
    with np.errstate(all="ignore"):  # of a quantity that never moved
        both = combine([found], h)
        return worst(both) / both.gradients


def pick(name, settings, pilots):
    """Return the setting whose pilot chain has the largest efficiency; the first of equals."""
    return max(zip(settings, pilots, strict=True),
               key=lambda pair: efficiency(pair[1], len(HYPER[name])))[0]


def clock(rows, rounds):
    """CPU seconds of a gradient of NUTS, or of a transition of the others, in turn.

    rows : {row: [problem, data, method, setting, transitions]}
    """
    seconds = {row: [] for row in rows}
    for k in range(rounds + 1):  # the first one loads what is compiled
        for row, (name, data_name, method, setting, n) in rows.items():
            which, rng = problem(name, data_name), np.random.default_rng(k)
            z, theta, phi = start(which, rng)
            begin = time.process_time()  # NUTS runs in a thread of its own
            if method in (CENTRED, NON_CENTRED, RESCALED):
                found = run_nuts(method, which, z, theta, phi, n, 2 * n, k + 1, 6)
                done = found["steps"] + found["warm_up"]
            else:
                transitions(name, method, which, theta, phi, setting, n, rng)
                done = n
            seconds[row].append((time.process_time() - begin) / done)
    return {"seconds": {row: each[1:] for row, each in seconds.items()}}


def warm(names, settings):
    """Compile everything; names: {problem: data}, settings: {(problem, method): setting}."""
    libraries()
    for (name, method), setting in settings.items():
        chain(name, names[name], method, setting, n=6, burn_in=6, seed=0)
