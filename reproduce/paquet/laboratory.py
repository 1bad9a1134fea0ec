"""What can be tried for Paquet and Fraccaro (2016): how many fixed-point iterations are enough.

HMC and RMHMC from one start with the same standard normals, on two targets of two variables: the
posterior of two cases of a Gaussian process classification, by Algorithm 1, and two separated
modes, by the generalised leapfrog that it is a case of.  A trajectory is followed, its momentum
turned, and followed back; where the implicit equations are solved, it ends where it began.
"""

from functools import cache, partial
from typing import NamedTuple

import numpy as np

from algorithms import generalised_leapfrog as general
from algorithms.ess import ess
from algorithms.hmc import hmc
from algorithms.hmc import trajectory as leapfrogs
from algorithms.paquet_rmhmc import riemann_metric
from algorithms.paquet_rmhmc_fast import rmhmc, travel
from models.gp_classification import GPClassification
from models.interface import U, grad_U
from models.linalg import cholesky, solve_lower_transposed
from models.mixture import gaussian_mixture
from reproduce.harness import laboratory_page
from reproduce.harness.laboratory_page import Control, Laboratory, Panel, Preset, Series, show
from reproduce.harness.recording import contours
from reproduce.paquet.trajectories import exact_moments

# The paper's settings (Section 5; f_max: Section 4.1)
L_MAX = 10
PRINTED = 5  # f_max

# Our settings
EPS = (0.05, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
F_MAX = (1, 2, 3, PRINTED, 8, 16)
N, SEED = 1000, 4  # transitions of a chain; the first one's normals are those of the trajectory
K, Y = np.array([[4.0, 3.12], [3.12, 4.0]]), np.array([1.0, -1.0])
APART = 4.5  # half the distance of the two modes
POSTERIOR, MODES = "posterior", "modes"
HMC, RMHMC = SAMPLERS = ("HMC", "RMHMC")
LEAST = 1e-16  # distances are drawn from here on
BOX = (-7.5, 7.5, -5.0, 5.0)


class Target(NamedTuple):
    """A density, and what RMHMC on it is."""

    model: NamedTuple
    start: np.ndarray
    mean: float  # of x_1
    deviation: float
    levels: tuple

    def momentum(self, z):
        """Return the momentum that the sampler makes of two normals z at the start."""
        if isinstance(self.model, GPClassification):
            return solve_lower_transposed(cholesky(riemann_metric(self.start, self.model)[2])[0], z)
        return general.metric_factor(self.start, self.model) @ z

    def steps(self, x, p, eps, f_max):
        """Follow a trajectory; return the positions and the energies, and the last momentum.

        It ends before L_MAX steps where an iteration is not finite.
        """
        xs, H = [x], []
        for _ in range(L_MAX):
            if isinstance(self.model, GPClassification):
                ends, _, p, energies = travel(x, p, self.model, 1, eps, f_max)
                x = ends[-1]
            else:
                factor = general.metric_factor(x, self.model)
                before = general.hamiltonian(general.geometry(x, factor, self.model), p)
                end = general.generalised_leapfrog(x, p, self.model, 1, eps, f_max, 0.0)
                x, p, energies = end.x, end.p, (before, end.H)
            if not np.isfinite([*x, *p, *energies]).all():
                break
            H += list(energies)[bool(H):]
            xs.append(x)
        return np.array(xs), np.array(H), p

    def chain(self, eps, f_max, n):
        """Run RMHMC with a fixed count of iterations and no way back, as printed."""
        if isinstance(self.model, GPClassification):
            return rmhmc(self.start, self.model, L_MAX, eps, n, rng(), f_max)
        return general.rmhmc(self.start, self.model, L_MAX, eps, n, rng(), f_max, 0.0, 0.0)


def rng():
    """Return the generator of every chain: its first normals are those of the trajectory."""
    return np.random.default_rng(SEED)


@cache
def target(name):
    """Return a Target by its name."""
    if name == POSTERIOR:
        model = GPClassification.from_prior(K, Y)
        (mean, deviation) = exact_moments(model, np.array([1.0, 0.0]))
        return Target(model, np.array([1.6, 0.4]), mean, deviation, (0.25, 1.0, 2.25, 4.0))
    covariance = np.array([[[1.0, 0.6], [0.6, 1.0]], [[1.0, -0.6], [-0.6, 1.0]]])
    model = gaussian_mixture([0.5, 0.5], [[-APART, 0.0], [APART, 0.0]], covariance)
    return Target(model, np.array([0.8 - APART, 1.0]), 0.0, (1 + APART**2) ** 0.5, (0.5, 2.0, 4.0))


class RoundTrip(NamedTuple):
    """A trajectory there and back."""

    x: np.ndarray  # positions: L_MAX + 1 there, and as many back from the same end
    H: np.ndarray  # their energies, less the first
    distance: float  # of the end to the start; nan if it broke down
    error: float  # of the energy where it turns


def there_and_back(steps, x, p):
    """Follow a trajectory, turn the momentum, and follow it back."""
    xs, H, p_end = steps(x, p)
    if len(xs) <= L_MAX:
        return RoundTrip(xs, H - H[:1], np.nan, np.nan)
    back, H_back, _ = steps(xs[-1], -p_end)
    distance = np.linalg.norm(back[-1] - x) if len(back) > L_MAX else np.nan
    return RoundTrip(np.vstack([xs, back[1:]]), np.concatenate([H, H_back[1:]]) - H[0], distance,
               H[-1] - H[0])


def euclidean(x, p, model, eps):
    """Follow a trajectory of HMC with unit masses; as Target.steps."""
    with np.errstate(all="ignore"):
        xs, H = leapfrogs(x, p, model, eps, L_MAX)
    p = (xs[-1] - xs[-2]) / eps - eps / 2 * grad_U(xs[-1], model)  # of the last step, equations (9)
    found = int(np.isfinite(np.column_stack([xs, H])).all(1).cumprod().sum())
    return xs[:found], H[:found], p


@cache
def round_trip(sampler, name, eps, f_max=None):
    """Return the RoundTrip of a sampler on a target."""
    density, z = target(name), rng().standard_normal(2)
    if sampler == RMHMC:
        return there_and_back(partial(density.steps, eps=eps, f_max=f_max), density.start,
                              density.momentum(z))
    return there_and_back(partial(euclidean, model=density.model, eps=eps), density.start, z)


@cache
def chain_numbers(sampler, name, eps, f_max=None):
    """Return acceptance rate, least ESS for 1000 gradients, and two errors of moments of x_1.

    They are the error of the mean, in deviations, and the variance over the exact one.
    """
    at = target(name)
    with np.errstate(all="ignore"):
        chain = (at.chain(eps, f_max, N) if sampler == RMHMC
                 else hmc(at.start, at.model, eps, L_MAX, N, rng()))
    x, moved = chain.samples, chain.accepted.any()
    least = min(ess(x).min(), ess((x - x.mean(0)) ** 2).min()) if moved else np.nan
    return (chain.accepted.mean(), 1000 * least / chain.counts.gradient,
            (x[:, 0].mean() - at.mean) / at.deviation, moved * x[:, 0].var() / at.deviation**2)


RATIO, ERROR = "log acceptance ratio of the trajectory", "largest energy error on the way there"
RETURN, GRADIENTS = "distance to the start after the way back", "gradients of the way there"
RATE, ESS = f"acceptance rate of {N} transitions", "least ESS for 1000 gradients"
OFF = "mean of x₁ less the exact one, in deviations"
SPREAD = "variance of x₁ over the exact one"


def setting(target, eps, f_max):
    """Compute one setting: Setting of both samplers."""
    trips = [round_trip(HMC, target, eps), round_trip(RMHMC, target, eps, f_max)]
    chains = [chain_numbers(HMC, target, eps), chain_numbers(RMHMC, target, eps, f_max)]
    series = [Series(k, "line", -1, *line.T) for k in range(2) for line in ground(target)]
    for k, trip in enumerate(trips):
        forth, back = trip.x[: L_MAX + 1], trip.x[L_MAX:]
        series += [Series(k, "path", k, *forth.T, 0),
                   *([Series(k, "trace", k, *back.T, L_MAX, dashed=True)] if len(back) else []),
                   Series(2, "trace", k, 0, trip.H, 0)]
    distances = [max(round_trip(RMHMC, target, eps, f).distance, LEAST) for f in F_MAX]
    series += [Series(3, "line", 1, F_MAX, distances), Series(3, "dots", 1, F_MAX, distances),
               Series(3, "now", 1, [f_max], [max(trips[1].distance, LEAST)]),
               Series(3, "line", 0, F_MAX, [max(trips[0].distance, LEAST)] * len(F_MAX))]
    numbers = {
        RATIO: [-trip.error for trip in trips],
        ERROR: [np.abs(trip.H[: L_MAX + 1]).max() if len(trip.x) > L_MAX else np.nan
                for trip in trips],
        RETURN: [trip.distance for trip in trips],
        GRADIENTS: [L_MAX, L_MAX * f_max],
        **dict(zip((RATE, ESS, OFF, SPREAD), map(list, zip(*chains, strict=True)), strict=True))}
    return laboratory_page.Setting(series, numbers, 2 * L_MAX + 1)


@cache
def ground(name):
    """Return the contours of a target, as arrays (points, 2)."""
    at = target(name)
    return [np.array(line) for line in contours(lambda x: U(x, at.model), BOX, at.levels)]


def sentences(number):
    """Say what the numbers show."""
    def value(row, sampler, eps, f_max, target=POSTERIOR):
        return number(row, sampler, target=target, eps=eps, f_max=f_max)

    back = [show(value(RETURN, RMHMC, 0.75, f_max)) for f_max in (1, PRINTED, 16)]
    rates = [show(100 * value(RATE, RMHMC, 1.0, f_max)) for f_max in (1, 16)]
    spread, own = show(value(SPREAD, RMHMC, 1.0, 1)), show(value(RETURN, HMC, 0.75, 16), 1)
    far = [show(100 * value(RATE, RMHMC, 0.5, 16, MODES)), show(value(ESS, RMHMC, 0.5, 16, MODES)),
           show(abs(value(OFF, RMHMC, 0.5, 16, MODES)))]
    percent = "\N{NO-BREAK SPACE}%"
    return [
        f"At ε = 0.75 one fixed-point iteration leads back to within {back[0]} of the start, five"
        f" to within {back[1]}, 16 to within {back[2]}; HMC, which has nothing to solve, comes back"
        f" to within {own}. The energy does not tell: with ε = 1, chains of one iteration accept"
        f" {rates[0]}{percent} of the proposals and those of 16 accept {rates[1]}{percent}, though"
        f" with one the map is not reversible, and their variance of x₁ is {spread} times the exact"
        " one.",
        f"Between two modes neither number warns: at ε = 0.5 RMHMC accepts {far[0]}{percent} and"
        f" reports {far[1]} effective draws for 1000 gradients, while the mean of x₁ is off by"
        f" {far[2]} deviations, because the chain stays in the mode where it began."]


LABORATORY = Laboratory(
    f"{L_MAX} leapfrog steps from one start with the same two normals, then the momentum is turned"
    " and the trajectory followed back (dashed). In RMHMC the half step of the momentum and the"
    " step of the position are implicit; f_max fixed-point iterations stand for their solutions."
    f" The chains whose rates are below have {N} transitions, without a check of the way back, as"
    " printed.",
    SAMPLERS,
    (Control("target", "Target", (POSTERIOR, MODES),
             ("posterior of two cases", "two separated modes")),
     Control("eps", "Step size ε", EPS), Control("f_max", "Fixed-point iterations f_max", F_MAX)),
    (Panel("HMC", "x₁", "x₂", ()), Panel("RMHMC", "x₁", "x₂", ()),
     Panel("Energy along the way there and back", "step", "H less H at the start",
           (0, 2 * L_MAX, None, None), ground=(((L_MAX, -1e6), (L_MAX, 1e6)),)),
     Panel("Distance to the start after the way back", "f_max", "distance",
           (1, 16, LEAST, 100.0), "xy")),
    "Leapfrog steps, there and back", (RATIO, RETURN, ESS), setting,
    tuple(Preset(label, dict(target=target, eps=eps, f_max=f)) for label, target, eps, f in (
        ("As printed: five iterations", POSTERIOR, 0.75, PRINTED),
        ("One iteration", POSTERIOR, 0.75, 1), ("Step too large", POSTERIOR, 2.0, PRINTED),
        ("Step too small", POSTERIOR, 0.05, PRINTED), ("Separated modes", MODES, 0.5, 16))),
    sentences)
