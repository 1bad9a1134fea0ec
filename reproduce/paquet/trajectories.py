"""What f_max fixed-point iterations leave of trajectories of RMHMC: the way back, the volume.

On posteriors two of which have an exact answer: N = 1, and N = 2 cases of different label,
correlated by 0.9.  Their contraction factors at the paper's step size reach those of the digits.
The orders in eps and the contraction factor c are derived in algorithms/paquet_rmhmc_fast.py.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from algorithms.ep_fast import ep
from algorithms.paquet_rmhmc_fast import contraction, draw_momentum, travel
from models.gp_classification import GPClassification
from models.linalg import posterior_factor
from reproduce.harness.claims import Measured, mean
from reproduce.paquet.problem import anneal, problem

MARKED = (6, 10)  # iterations between which the rate of convergence is measured
DIFFERENCE = 3e-6  # step of the numerical Jacobian; its determinant then errs by about 1e-9
SMALL = {  # (K, y)
    "N = 1": (np.array([[25.0]]), np.array([1.0])),
    "N = 2": (np.array([[25.0, 22.5], [22.5, 25.0]]), np.array([1.0, -1.0])),
}


class Posterior(NamedTuple):
    """A posterior, and the scalar whose mean is estimated: the average of y_n x_n / sd_n."""

    model: GPClassification
    q: object  # EP's Gaussian
    sd: np.ndarray  # (N,) posterior deviations: EP's, exact for N = 1
    weights: np.ndarray  # (N,) the scalar is z = (weights'x - mean) / deviation
    mean: float  # exact for the small problems, EP's for the digits
    deviation: float
    small: bool


@cache
def posterior(name, cases=None):
    """Return the Posterior of a name in SMALL, or of a data set thinned to so many cases."""
    small = name in SMALL
    K, y, q = (*SMALL[name], ep(*SMALL[name])) if small else problem(name, cases)
    model = GPClassification.from_prior(K, y) if small else anneal(name, cases, False)
    sd = np.sqrt(np.diag(q.Sigma))
    weights = y / sd / y.size
    moments = (exact_moments(model, weights) if small
               else (weights @ q.mu, np.sqrt(weights @ q.Sigma @ weights)))
    return Posterior(model, q, sd, weights, *moments, small)


def exact_moments(model, weights):
    """Mean and deviation of weights'x under the posterior, by quadrature; N = 1 or 2.

    The trapezoidal rule in u, x = L_K u: its error is exponentially small for a smooth density
    that vanishes at the ends.
    """
    u = np.linspace(-9, 9, 721)
    grid = np.stack(np.meshgrid(*[u] * model.y.size), -1).reshape(-1, model.y.size)
    xs = grid @ model.L_K.T
    density = np.exp(log_ndtr(model.y * xs).sum(1) - (grid**2).sum(1) / 2)
    density /= density.sum()
    values = xs @ weights
    mean = density @ values
    return float(mean), float(np.sqrt(density @ (values - mean) ** 2))


def draw(at, rng):
    """Draw from the Posterior `at`: exactly from a small one, else from EP's Gaussian."""
    model, N = at.model, at.model.y.size
    if not at.small:
        return at.q.mu + posterior_factor(model.L_K, at.q.tau)[0] @ rng.standard_normal(N)
    while True:  # x from the prior, a label Phi(x) gives to each: keep x if they are those observed
        x = model.L_K @ rng.standard_normal(N)
        if (model.y * (x + rng.standard_normal(N)) > 0).all():
            return x


def reversals(name, cases, l_max, eps, f_maxes, starts, seed):
    """There and back from each of some starts, with every f_max.

    "x", (starts, f_maxes), is the distance to the start in posterior deviations, the maximum over
    coordinates; "H" the energy after the return minus that before; "contraction", (starts,), the
    largest c on the way there, with the last f_max.
    """
    at, rng = posterior(name, cases), np.random.default_rng(seed)
    found = {"x": [], "H": [], "contraction": []}
    for _ in range(starts):
        x = draw(at, rng)
        p = draw_momentum(x, at.model, rng)
        rows = []
        for f_max in f_maxes:
            there, halves, p_there, H = travel(x, p, at.model, l_max, eps, f_max)
            back, _, _, H_back = travel(there[-1], -p_there, at.model, l_max, eps, f_max)
            rows.append([np.abs((back[-1] - x) / at.sd).max(), abs(H_back[1] - H[0])])
        there = np.vstack([x, there])
        contractions = [contraction(place, half, at.model, eps)
                        for places in (there[:-1], there[1:])
                        for place, half in zip(places, halves, strict=True)]
        for key, column in zip(found, (*np.transpose(rows), np.max(contractions)), strict=True):
            found[key].append(column)
    return found


def returns(name, l_max, eps, f_maxes, starts, seed):
    """What summary() makes of reversals() on a small problem."""
    return summary([reversals(name, None, l_max, eps, f_maxes, starts, seed)])


def order(name, l_max, steps, f_maxes, starts, seed):
    """The "order" in eps of the error of the return for each f_max, from two eps."""
    small, large = [log_error(reversals(name, None, l_max, eps, f_maxes, starts, seed)["x"])
                    for eps in steps]
    return {"order": columns((large - small) / np.log10(steps[1] / steps[0]))}


def volumes(name, l_max, eps, f_maxes, starts, seed):
    """The mean "log10" |log |det J|| for each f_max, J of a trajectory's map (x, p) -> (x, p)."""
    at, rng = posterior(name), np.random.default_rng(seed)
    N, rows = at.sd.size, []
    scale = DIFFERENCE * np.concatenate([at.sd, 1 / at.sd])

    def flow(state, f_max):
        xs, _, p, _ = travel(state[:N], state[N:], at.model, l_max, eps, f_max)
        return np.concatenate([xs[-1], p])

    for _ in range(starts):
        x = draw(at, rng)
        state = np.concatenate([x, draw_momentum(x, at.model, rng)])
        rows.append([np.linalg.slogdet([
            (flow(state + h, f_max) - flow(state - h, f_max)) / (2 * size)
            for size, h in zip(scale, np.diag(scale), strict=True)])[1] for f_max in f_maxes])
    return {"log10": columns(log_error(np.abs(rows)))}


def log_error(errors):
    """log10 of errors; one above 1, or no number, counts as 1: the trajectory is lost."""
    errors = np.asarray(errors, float)
    return np.log10(np.clip(np.where(np.isfinite(errors), errors, 1.0), 1e-17, 1.0))


def columns(values):
    """The mean of each column, with its standard error."""
    return [mean(column) for column in values.T]


def join(found):
    """Return log10 errors "x" and "H", and the contractions, of a list of reversals()."""
    x, H, c = (np.concatenate([one[key] for one in found]) for key in ("x", "H", "contraction"))
    return log_error(x), log_error(H), c


def summary(found):
    """Of a list of reversals(): mean log10 errors of "x" and "H", shares "lost", "contraction".

    The latter is the median and the maximum, of the trajectories that return with the last f_max.
    """
    x, H, c = join(found)
    c = c[x[:, -1] < 0]
    return {"x": columns(x), "H": columns(H), "lost": np.mean(x >= 0, 0),
            "contraction": [np.median(c), c.max()] if c.size else []}


def convergence(f_maxes, found):
    """Of a list of reversals(), with the same starts for every f_max: two comparisons of errors.

    "gain", in log10, is that by iteration 4 less that by iteration 5; "decay", of trajectories that
    return, the factor of an iteration between those MARKED, over the contraction factor.
    """
    x, _, c = join(found)
    x, (a, b) = dict(zip(f_maxes, x.T, strict=True)), MARKED
    some = (x[a] < 0) & (x[b] < 0) & np.isfinite(c)
    log10 = mean(((x[b] - x[a]) / (b - a) - np.log10(c))[some]) if some.sum() > 1 else Measured(
        0.0, np.nan)
    ratio = 10**log10.value
    return {"gain": mean(x[3] - 2 * x[4] + x[5]),
            "decay": Measured(ratio, ratio * np.log(10) * log10.se)}
