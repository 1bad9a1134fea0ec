"""Split HMC with more than two classes: three ways to choose R_0, settings by a rule, and chains.

Section 4 of Shahbaba, Lan, Johnson and Neal (2014) leaves to future research which cases R_0 should
have when there are more than two classes.  Here they are those of the largest entropy of the class
probabilities at the mode, those of the largest gradient of their log likelihood there (a residual
times a length), or any.

All trajectories have the same length: the slowest direction of the normal approximation makes a
quarter of a turn.  The rest follows from the largest frequencies w, the roots of eigenvalues of
Hessians, and from acceptance rates: plan() and tune().  Draws beside the mode matter there: a case
of R_1 that is far out and certain at the mode is not certain everywhere.
"""

import math
from functools import cache

import numpy as np
from scipy.optimize import isotonic_regression

from algorithms.map_estimate import map_estimate
from algorithms.shahbaba_split_hmc import DataSplit, normal_approximation
from models.interface import case_entropy, grad_U, hessian, select_cases
from models.multinomial_logistic import MultinomialLogistic
from reproduce.beyond.rivals.moments import moments, reliability, shorten
from reproduce.shahbaba.chains import JITTER, SIGMA, transitions
from reproduce.shahbaba.datasets import COUNTS, all_classes
from sampling.summary import e_bfmi

CHOICES = ("entropy", "gradient", "random")  # of R_0
METHODS = ("HMC", "normal", *(f"data, {choice}" for choice in CHOICES))
DRAWS = 4  # at which frequencies are taken, beside the mode
FRACTIONS = tuple(k / 20 for k in range(1, 20))
INNER = range(1, 16)
SHARES = tuple(k / 20 for k in range(8, 20))  # of the scale of the step
RATE = 0.7  # that a pilot chain has to accept; the printed rates of Table 2 are 0.62 to 0.85


@cache
def posterior(name):
    """Return the model of all classes of a data set, and its normal approximation."""
    cases = all_classes(name)
    model = MultinomialLogistic.from_data(cases.X, cases.y, len(COUNTS[name]), SIGMA, SIGMA)
    return model, normal_approximation(map_estimate(model))


def score(model, q, choice):
    """Return a number for each case: R_0 has the cases with the largest."""
    if choice == "entropy":
        return case_entropy(q, model)
    if choice == "random":
        return np.random.default_rng(0).random(model.y.size)
    return np.array([np.linalg.norm(grad_U(q, select_cases(model, np.array([i]), 0.0)))
                     for i in range(model.y.size)])


def split_by(model, scores, fraction):
    """Split the cases of a model as split_data does, by other scores than the entropy."""
    n_0 = round(fraction * scores.size)
    order = np.argsort(-scores, kind="stable")
    cases, others = np.sort(order[:n_0]), np.sort(order[n_0:])
    return DataSplit(select_cases(model, cases, 1.0), select_cases(model, others, 0.0), cases,
                     n_0 / scores.size)


@cache
def split(name, choice, fraction):
    """Return the split of a data set."""
    model, fit = posterior(name)
    return split_by(model, score(model, fit.q_hat, choice), fraction)


@cache
def points(name):
    """Return the mode, and DRAWS draws of the normal approximation."""
    _, fit = posterior(name)
    rng = np.random.default_rng(0)
    return [fit.q_hat, *(draw(fit, rng) for _ in range(DRAWS))]


def draw(fit, rng):
    """Draw from a NormalApproximation."""
    return fit.q_hat + fit.Z @ (rng.standard_normal(fit.w.size) / fit.w)


def frequency(model, at):
    """Return the largest frequency of a model, or of a part of it, at any of these points."""
    return max(float(np.linalg.eigvalsh(hessian(q, model))[-1] ** 0.5) for q in at)


def plan(name, method):
    """Return what a method's settings follow from: {"f", "M", "scale" of the step, "length", ...}.

    The scale is 2 / w for HMC, and pi / w for the normal split, whose first resonance is there.
    With w_0 of U_0 and w_1 of U_1 the data split has 2 / sqrt(w_1^2 + (w_0 / M)^2), which for
    M = 1 is that of HMC, if both parts are stiff in the same direction; f and M are those with the
    fewest gradients, f M + 1 - f a step.  "left" is w_1 / w.
    """
    model, fit = posterior(name)
    at, quarter = points(name), np.pi / (2 * fit.w.min())
    rest = {"length": quarter / (1 - JITTER / 2)}  # in the middle of the jitter
    w = frequency(model, at)
    if not method.startswith("data"):
        scale = 2 / w if method == "HMC" else np.pi / fit.w.max()
        return {"f": 0.0, "M": 1, "scale": scale, "left": 1.0} | rest
    found = []
    for f in FRACTIONS:
        parts = split(name, method.split(", ")[1], f)
        w_0, w_1 = frequency(parts.R_0, at), frequency(parts.R_1, at)
        for M in INNER:
            scale = 2 / np.hypot(w_1, w_0 / M)
            found.append(((f * M + 1 - f) / scale, f, M, scale, w_1 / w))
    return dict(zip(("f", "M", "scale", "left"), min(found)[1:], strict=True)) | rest


def setting(of, share):
    """Return [f, M, eps, L]: the longest steps of at most a share of the scale, of a plan()."""
    L = math.ceil(of["length"] / (share * of["scale"]))
    return [of["f"], of["M"], of["length"] / L, L]


def run(name, method, setting, n, seed):
    """Run n transitions from a draw of the normal approximation; return the Chain."""
    f, M, eps, L = setting
    model, fit = posterior(name)
    parts = split(name, method.split(", ")[1], f) if "data" in method else None
    rng = np.random.default_rng(seed)
    q = draw(fit, rng)
    return transitions(method.split(",")[0], q, (model, fit, parts), eps, L, M, n, rng)


def warm():
    """Compile everything in this process, before others start."""
    for method in ("HMC", "normal", "data, gradient"):
        run("CTG", method, [0.5, 2, 0.01, 1], 2, 0)


def rate(errors):
    """Return the mean probability of acceptance, 0 where the energy is not finite."""
    return float(np.where(np.isfinite(errors), np.exp(-np.maximum(errors, 0)), 0).mean())


def longest(rates):
    """Return the index of the longest step that accepts enough, 0 if none does."""
    falling = isotonic_regression(rates, increasing=False).x
    return max(np.count_nonzero(falling >= RATE) - 1, 0)


def tune(name, method, n, seed):
    """Run a pilot chain of n transitions with each of SHARES; say which setting to take.

    It is that of the largest share whose chain accepts enough, of the smallest if none does; the
    rates are made to fall with the share, so that one that is high by luck counts for less.
    Returns "setting", "share", "left", "rates" of all and the "gradients" that they took.
    """
    of = plan(name, method)
    settings = [setting(of, share) for share in SHARES]
    found = [run(name, method, each, n, [*seed, k]) for k, each in enumerate(settings)]
    rates = [rate(each.energy_error) for each in found]
    taken = longest(rates)
    return {"setting": settings[taken], "share": SHARES[taken], "left": of["left"], "rates": rates,
            "gradients": float(sum(each.counts.gradient for each in found))}


def row_of_chains(name, method, setting, n, burn_in, chains, seed):
    """Run chains of n transitions after burn_in: moments of each, and whether to believe them."""
    draws, found = [], []
    for child in range(chains):
        chain = run(name, method, setting, burn_in + n, [*seed, child])
        draws.append(chain.samples[burn_in:])
        found.append(shorten(moments(draws[-1])) | {
            "gradients": float(chain.counts.gradient) * n / (burn_in + n),
            "divergences": int(chain.divergences), "rate": rate(chain.energy_error[burn_in:]),
            "e_bfmi": e_bfmi(chain.energies[burn_in:], draws[-1].shape[1])})
    return reliability(np.array(draws)) | {"chains": found}
