"""What can be tried for Zhang and Sutton (2014): the funnel by three samplers, at the same cost.

HMC on the joint space, RMHMC within Gibbs and SSHMC on the funnel of x_1, ..., x_n and v, from one
start, until so many gradients are spent; and where the energy of SSHMC's first trajectory is, in
the block of v or in that of x.
"""

from functools import cache

import numpy as np

from algorithms.ess import ess
from algorithms.hmc import hmc, trajectory
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.zhang_sshmc import abla_path
from algorithms.zhang_sshmc_fast import sshmc
from models.funnel import VARIANCE, Funnel
from models.interface import U
from reproduce.harness import laboratory_page
from reproduce.harness.laboratory_page import Control, Laboratory, Panel, Preset, Series, show
from reproduce.harness.recording import contours
from reproduce.zhang.energy_exchange import within_gibbs
from reproduce.zhang.funnel import exact_draw

# The paper's settings (Section 5.1), in the reading "halves" of zhang/funnel.py
N_THETA, N_PHI = 2, 1

# Our settings
SIZE = 10
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of all step sizes
STARTS = (-4.0, 0.0, 4.0)  # of v
HMC_EPS, HMC_L = 0.1, 30
GIBBS_EPS, GIBBS_L = (0.5, 0.8), (5, 3)  # of x, of v
SSHMC_EPS, SSHMC_L = 0.4, 15
SPENT, LONG = 3000, 60_000  # gradients of the picture, and of the chains with the numbers
FRAMES, POINTS = 50, 60  # of the picture, and points of a sampler in it at most
SEED = 7
RIGHT = 0.35  # by how much the mean of v^2 may be off where an ESS is believed
HMC, GIBBS, SSHMC = SAMPLERS = ("HMC", "RMHMC within Gibbs", "SSHMC")
BOX, LEVELS = (-20.0, 20.0, -9.0, 9.0), (0.5, 2.0, 4.5)


@cache
def model():
    """Return the funnel, with the mass of v as printed."""
    return Funnel.from_size(SIZE)


@cache
def start(v):
    """Return x and (v,): x of the size that it has there."""
    x, _ = exact_draw(np.random.default_rng(SEED), SIZE)
    return np.exp(-v / 2) * x / np.sqrt(np.mean(x * x)), np.array([v])


def transitions(sampler, x, v, factor, n, rng):
    """Run n transitions; return x_1 and v of the states, what was accepted, error and gradients."""
    if sampler == HMC:
        chain = hmc(np.append(x, v), model(), HMC_EPS * factor, HMC_L, n, rng)
        return (chain.samples[:, 0], chain.samples[:, -1], chain.accepted, chain.energy_error,
                chain.counts.gradient)
    if sampler == GIBBS:
        eps = [factor * each for each in GIBBS_EPS]
        chain = rmhmc_within_gibbs(x, v, model(), *eps, *GIBBS_L, n, rng)
    else:
        eps = SSHMC_EPS * factor
        chain = sshmc(x, v, model(), eps / 2, eps, SSHMC_L, n, rng, n_theta=N_THETA, n_phi=N_PHI)
    return (chain.theta[:, 0], chain.phi[:, 0], chain.accepted, chain.energy_error,
            chain.counts.gradient_theta + chain.counts.gradient_phi)


@cache
def price(sampler):
    """Return the gradients of a transition."""
    x, v = start(0.0)
    one, nine = (transitions(sampler, x, v, 0.1, n, np.random.default_rng(0))[-1] for n in (1, 9))
    return (nine - one) / 8


@cache
def path_summary(sampler, v, factor):
    """Return x_1, v and the gradients spent, from the start on, and the first energy error."""
    x, phi = start(v)
    n = int(SPENT / price(sampler))
    with np.errstate(all="ignore"):
        first, second, _, error, _ = transitions(sampler, x, phi, factor, n, rng())
    every = -(-n // POINTS)
    first, second = (np.concatenate([[begin], each[every - 1::every]])
                     for begin, each in ((x[0], first), (v, second)))
    return first, second, price(sampler) * every * np.arange(first.size), error[0]


def rng():
    """Return the generator of every chain that a picture shows."""
    return np.random.default_rng(SEED)


@cache
def numbers_of(sampler, factor):
    """Return acceptance rate, least ESS of v and v^2 for 1000 gradients, and mean of v^2 / 9."""
    generator = np.random.default_rng([SEED, 1])
    x, v = exact_draw(generator, SIZE)
    with np.errstate(all="ignore"):
        _, v, accepted, _, gradients = transitions(sampler, x, v, factor,
                                                   int(LONG / price(sampler)), generator)
    least = min(ess(v), ess((v - v.mean()) ** 2)) if v.min() < v.max() else np.nan
    return accepted.mean(), 1000 * least / gradients, np.mean(v * v) / VARIANCE


RATIO = "log acceptance ratio of the first trajectory"
REACH = "range of v along it"
BORROWED = "largest energy that the block of v has borrowed"
RATE, ESS = "acceptance rate", "least ESS of v and v² for 1000 gradients"
SQUARE = "mean of v² over the exact one, 9"


def setting(v, factor):
    """Compute one setting: Setting of the three samplers."""
    series = []
    for k, sampler in enumerate(SAMPLERS):
        xs, vs, spent, _ = path_summary(sampler, v, factor)
        born = np.ceil(spent / SPENT * FRAMES).astype(int)
        series += [Series(k, "path", k, xs, vs, born), Series(3, "trace", k, spent, vs, born)]
    x, phi = start(v)
    z, eps = rng().standard_normal(SIZE + 1), SSHMC_EPS * factor
    r_v = model().L_phi @ z[SIZE:]
    path = abla_path(x, phi, np.exp(v / 2) * z[:SIZE], r_v, model(), eps / 2, eps, SSHMC_L,
                     N_THETA, N_PHI)
    block = path.phi[:, 0] ** 2 / (2 * VARIANCE) + path.energy.K_phi
    with np.errstate(all="ignore"):
        q, H = trajectory(np.append(x, phi), z, model(), HMC_EPS * factor, HMC_L)
    potential = np.array([U(each, model()) for each in q])
    for panel, colour, eps, whole, part in ((4, 2, SSHMC_EPS, path.energy.H, block),
                                            (5, 0, HMC_EPS, H, potential)):
        time, whole, part = eps * factor * np.arange(part.size), whole - whole[0], part - part[0]
        series += [Series(panel, "line", colour, time, part),
                   Series(panel, "line", colour, time, whole - part, dashed=True),
                   Series(panel, "line", -1, time, whole)]
    chains = [numbers_of(sampler, factor) for sampler in SAMPLERS]
    alone = within_gibbs(x, phi, r_v, model(), GIBBS_EPS[1] * factor, GIBBS_L[1])["v"]
    numbers = {
        RATIO: [-np.sum(path_summary(sampler, v, factor)[3]) for sampler in SAMPLERS],
        REACH: [np.ptp(q[:, -1]), alone, np.ptp(path.phi)],
        BORROWED: [np.nan, 0.0, np.abs(block - block[0]).max()],
        **dict(zip((RATE, ESS, SQUARE), map(list, zip(*chains, strict=True)), strict=True))}
    return laboratory_page.Setting(series, numbers, FRAMES + 1)


def sentences(number):
    """Say what the numbers show."""
    def value(row, sampler, factor, v=0.0):
        return number(row, sampler, v=v, factor=factor)

    best = {sampler: max((value(ESS, sampler, factor), factor) for factor in FACTORS
                         if abs(value(SQUARE, sampler, factor) - 1) < RIGHT)
            for sampler in SAMPLERS}
    return [
        "In SSHMC's first trajectory from v = 0, with steps times 1, the block of v borrows"
        f" up to {show(value(BORROWED, SSHMC, 1.0))} nats from the block of x and gives them back;"
        f" v ranges over {show(value(REACH, SSHMC, 1.0))}. Within Gibbs nothing can be lent, and v"
        f" ranges over {show(value(REACH, GIBBS, 1.0))} in the trajectory of its block.",
        f"Where the chain's mean of v² is within {100 * RIGHT:.0f} % of the exact one, the most"
        " effective draws of v for 1000 gradients are " + ", ".join(
            f"{show(largest)} by {sampler} (steps times {factor:g})"
            for sampler, (largest, factor) in best.items())
        + ". Elsewhere that number misleads: with steps four times as long RMHMC within Gibbs"
        f" accepts {show(value(RATE, GIBBS, 4.0))} and reports {show(value(ESS, GIBBS, 4.0))},"
        f" while its mean of v² is {show(value(SQUARE, GIBBS, 4.0))} times the exact one. HMC's"
        f" leapfrog is then stable only below v = {show(2 * np.log(2 / (4 * HMC_EPS)))}, and its"
        f" mean of v² is {show(value(SQUARE, HMC, 4.0))} times the exact one."]


DENSITY = tuple(contours(lambda q: U(q, Funnel.from_size(1)), BOX, LEVELS))  # of x_1 and v alone
LABORATORY = Laboratory(
    f"The funnel of {SIZE} variables x and v: v is N(0, 9), x given v N(0, e⁻ᵛ). Each sampler"
    f" spends {SPENT} gradients from the same start. The step sizes are multiplied by one factor:"
    f" 1 is ε = {HMC_EPS:g} and L = {HMC_L} for HMC, {GIBBS_EPS[0]:g} and {GIBBS_EPS[1]:g} for x"
    f" and v with {GIBBS_L[0]} and {GIBBS_L[1]} steps within Gibbs, {SSHMC_EPS:g} and"
    f" L = {SSHMC_L} for SSHMC. Below, the energies of the first trajectories. In SSHMC's the block"
    " of v has v² / 18 and its kinetic energy, the block of x all the rest.",
    SAMPLERS,
    (Control("v", "Start at v", STARTS), Control("factor", "Steps times", FACTORS)),
    (*(Panel(name, "x₁", "v", BOX, ground=DENSITY) for name in SAMPLERS),
     Panel("v, at the same cost", "gradients", "v", (0, SPENT, -9, 9)),
     Panel("SSHMC: block of v (solid), of x (dashed), their sum (grey)", "time",
           "energy less that at the start"),
     Panel("HMC: potential (solid), kinetic (dashed), their sum (grey)", "time",
           "energy less that at the start")),
    "Cost spent, in 50ths", (RATIO, ESS, SQUARE), setting,
    tuple(Preset(label, dict(v=v, factor=factor)) for label, v, factor in (
        ("From the middle", 0.0, 1.0), ("Into the neck from the mouth", -4.0, 1.0),
        ("Out of the neck", 4.0, 1.0), ("Steps too large", 0.0, 4.0),
        ("Steps too small", 0.0, 0.25))),
    sentences)
