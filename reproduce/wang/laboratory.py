"""What can be tried for Wang and Neal (2013): the discretizing chain, drawn as it runs.

Slice sampling of pi beside mapping to a discretizing chain with an approximation pi*, on two
variables: which states are simulated, where the mark is, where pi was computed and where it was
known, and how many evaluations of pi that saves.
"""

from functools import cache

import numpy as np

from algorithms import wang_discretizing_chain_fast as mapping
from algorithms.ess import ess
from algorithms.slice_sampling import EVALUATIONS, Slice, slice_sampling
from models.interface import U, prepare
from models.mixture import gaussian_mixture
from reproduce.harness import laboratory_page as page
from reproduce.harness.laboratory_page import Control, Panel, Series, Setting, show
from reproduce.harness.recording import contours

# Our settings
MOVES, N = 36, 4000  # moves of the mark in the picture, and in the chain with the numbers
SWEEPS = 1000  # of slice sampling, for its numbers
R, S = (1, 4, 12), (1, 3)
WIDTH, MOST = 1.5, 10  # of the slices
SEED = 5
TARGETS = {"one": ([0.6, 0.4], [[0.0, 0.0], [1.6, 1.2]]),
           "apart": ([0.5, 0.5], [[-3.0, -1.5], [3.0, 1.5]])}
COVARIANCES = np.array([[[1.0, 0.7], [0.7, 1.0]], [[0.6, -0.3], [-0.3, 0.5]]])
GOOD, NARROW, DISPLACED = STARS = ("good", "narrow", "displaced")
NEVER = 1000  # a frame that does not come
SLICE, CHAIN = SAMPLERS = ("slice sampling of π", "discretizing chain")
BOX, LEVELS = (-7.0, 7.0, -5.0, 5.0), (0.5, 2.0, 4.5)


@cache
def target(name):
    """Return pi: a mixture of two normal distributions, near each other or apart."""
    return gaussian_mixture(*TARGETS[name], COVARIANCES)


@cache
def star(name, kind):
    """Return pi*: the normal distribution with the moments of pi, or with wrong ones."""
    weights, means = map(np.array, TARGETS[name])
    mean = weights @ means
    covariance = np.einsum("k,kij->ij", weights, COVARIANCES) + (
        (means - mean).T * weights) @ (means - mean)
    if kind == NARROW:
        covariance = 0.25 * covariance
    if kind == DISPLACED:
        mean = mean + 1.5 * np.sqrt(np.diag(covariance)) * [1.0, -1.0]
    return gaussian_mixture([1.0], [mean], [covariance])


def start(name):
    """Return the state where both samplers begin."""
    return np.add(TARGETS[name][1][0], (0.4, -0.6))


@cache
def slices(name):
    """Return the states of MOVES sweeps of slice sampling, and the evaluations of pi so far."""
    model, rng = target(name), np.random.default_rng(SEED)
    states, evaluations = [start(name)], [1]
    for _ in range(MOVES):
        chain = slice_sampling(states[-1], model, WIDTH, 1, rng, MOST)
        states.append(chain.samples[0])
        evaluations.append(evaluations[-1] + chain.counts.density - 1)  # U at the start is known
    return np.array(states), evaluations


@cache
def mappings(name, kind, r, s):
    """Return the Realizations of MOVES / r mappings, the evaluations of pi and pi*, and the end."""
    model, approximation = target(name), star(name, kind)
    move, rng = Slice(np.full(2, WIDTH), MOST, np.arange(2), False), np.random.default_rng(SEED)
    tally, star_tally, chains = np.zeros(4, np.int64), np.zeros(4, np.int64), []
    near = prepare(start(name), model)
    here = mapping.State(start(name), near.U, near, prepare(start(name), approximation))
    for _ in range(MOVES // r):
        here, chain = mapping.discretizing_chain_step(
            here, model, approximation, move, r, s, tally, star_tally, rng)
        chains.append(chain)
    return chains, 1 + tally[EVALUATIONS], 1 + star_tally[EVALUATIONS], here.q


def picture_of(chains, r):
    """Return what a picture shows of Realizations, as lists with an entry for each frame or state.

    A state is there from the move of the mark for which it was simulated until the next mapping,
    and filled from the move at which pi was computed there.
    """
    states = {name: [] for name in ("k", "q", "difference", "born", "gone", "full")}
    marks = {name: [] for name in ("k", "q", "ratio", "cached", "accepted")}
    for j, chain in enumerate(chains):
        began = j * r  # the frame at which this mapping has moved nothing yet
        first, last = chain.ends
        places = np.concatenate([[0], chain.steps])
        for k in range(first, last + 1):
            simulated = 0 if k == 0 else 1 + int(np.argmax(
                chain.proposed >= k if k > 0 else chain.proposed <= k))
            asked = 0 if k == 0 else 1 + int(np.argmax(chain.proposed == k))
            known = bool(chain.known[k])
            states["k"].append(k)
            states["q"].append(chain.q[k])
            states["difference"].append(chain.U[k] - chain.U_star[k] if known else np.nan)
            states["born"].append(began + (simulated if k or j == 0 else 1))
            states["gone"].append(began + r + 1)
            states["full"].append(began + asked if known else NEVER)
        for i in range(r):
            k, k_ = places[i], chain.proposed[i]
            marks["k"].append(places[i + 1])
            marks["q"].append(chain.q[places[i + 1]])
            marks["ratio"].append(-(chain.U[k_] - chain.U_star[k_]
                                    - (chain.U[k] - chain.U_star[k])))
            marks["cached"].append(bool(chain.cached[i]))
            marks["accepted"].append(bool(chain.accepted[i]))
    return states, marks


@cache
def long_run(name, kind, r, s):
    """Return acceptance rate, least ESS for 1000 evaluations of pi and for those of pi and pi*."""
    rng = np.random.default_rng([SEED, 1])
    if kind is None:
        chain = slice_sampling(start(name), target(name), WIDTH, SWEEPS, rng, MOST)
    else:
        chain = mapping.discretizing_chain(
            start(name), target(name), star(name, kind), WIDTH, N // r, rng, r=r, s=s,
            unit="sweep", max_widths=MOST)
    x = chain.samples
    least = (min(ess(x).min(), ess((x - x.mean(0)) ** 2).min()) if chain.accepted.any()
             else np.nan)
    return (chain.accepted.mean(), 1000 * least / chain.counts.density,
            least / (chain.counts.density + chain.counts.approximations.sum()) * 1000)


RATIO = "log acceptance ratio of the move of the mark"
EVALUATED, SAVED = "evaluations of π so far", "energies of π found in the cache so far"
APPROXIMATED = "evaluations of π* for the whole picture"
RATE = "acceptance rate, of a long run"
ESS = "least ESS for 1000 evaluations of π, of it"
ESS_BOTH = "the same for evaluations of π and π* together"


def setting(target, star, r, s):
    """Compute one setting: Setting of both samplers."""
    xs, evaluations = slices(target)
    chains, total, approximated, _ = mappings(target, star, r, s)
    states, marks = picture_of(chains, r)
    q, frames = np.array(states["q"]), np.arange(1, MOVES + 1)
    series = [Series(k, "line", -1, *line.T) for k in range(2) for line in ground(target)]
    series += [Series(1, "line", -1, *line.T, dashed=True) for line in ground(target, star)]
    span = {key: states[key] for key in ("born", "gone")}
    mark = np.vstack([chains[0].q[0], marks["q"]])
    series += [
        Series(0, "path", 0, *xs.T, 0),
        Series(1, "chain", 1, *q.T, **span, full=states["full"], dashed=True),
        Series(1, "now", 1, *mark.T, 0),
        Series(2, "dots", 1, states["k"], states["difference"],
               np.maximum(states["born"], states["full"]), states["gone"]),
        Series(2, "now", 1, [0, *marks["k"]], [difference(chain, k) for chain, k in [
            (chains[0], 0), *((chains[i // r], k) for i, k in enumerate(marks["k"]))]], 0)]
    evaluated = np.concatenate([[1], 1 + np.cumsum(~np.array(marks["cached"]))])
    series += [Series(3, "trace", 0, 0, evaluations, 0), Series(3, "trace", 1, 0, evaluated, 0)]
    if evaluated[-1] != total:
        raise ValueError(f"{evaluated[-1]} evaluations of pi are drawn, {total} were made")
    plain, mapped = long_run(target, None, 0, 0), long_run(target, star, r, s)
    numbers = {
        RATIO: [[None] * (MOVES + 1), [None, *marks["ratio"]]],
        EVALUATED: [evaluations, evaluated],
        SAVED: [0, np.concatenate([[0], np.cumsum(marks["cached"])])],
        APPROXIMATED: [0, approximated],
        RATE: [plain[0], mapped[0]], ESS: [plain[1], mapped[1]], ESS_BOTH: [plain[2], mapped[2]]}
    return Setting(series, numbers, len(frames) + 1)


def difference(chain, k):
    """Return U - U* at a step where pi was computed."""
    return chain.U[k] - chain.U_star[k]


@cache
def ground(name, kind=None):
    """Return the contours of pi, or of a pi*, as arrays (points, 2)."""
    model = target(name) if kind is None else star(name, kind)
    return [np.array(line) for line in contours(lambda x: U(x, model), BOX, LEVELS)]


def sentences(number):
    """Say what the numbers show."""
    def value(row, sampler, star, r, s):
        return number(row, sampler, target="one", star=star, r=r, s=s)

    saved, evaluated = value(SAVED, CHAIN, GOOD, 12, 1), value(EVALUATED, SLICE, GOOD, 12, 1)
    gains = [show(value(ESS, CHAIN, kind, 1, 1) / value(ESS, SLICE, kind, 1, 1)) for kind in STARS]
    both = show(value(ESS_BOTH, CHAIN, GOOD, 1, 1) / value(ESS_BOTH, SLICE, GOOD, 1, 1))
    return [
        f"With r = 12 and s = 1 the {MOVES} moves of the mark need π at as many states, and find"
        f" {saved} of these energies in the cache; {MOVES} sweeps of slice sampling evaluate π"
        f" {evaluated - 1} times.",
        "For an evaluation of π, with r = s = 1, the chain has"
        f" {gains[0]} times the effective draws of slice sampling with the good π*, {gains[1]}"
        f" times with the narrow one, and {gains[2]} times with the displaced one. What is gained"
        f" is the price of π* against that of π: if both cost the same, the first of these numbers"
        f" is {both}."]


LABORATORY = page.Laboratory(
    "π is a mixture of two normal distributions, π* one normal distribution: with the moments of π"
    " (good), with a quarter of their covariance (narrow), or 1.5 deviations off (displaced, dashed"
    " contours). R is a sweep of slice updates. A hollow dot was simulated with π* alone, at a"
    " filled one π was computed; the large one has the mark. After r moves of the mark a new chain"
    " begins there.",
    SAMPLERS,
    (Control("target", "π", tuple(TARGETS), ("two components near each other",
                                             "separated modes")),
     Control("star", "π*", STARS, STARS), Control("r", "Moves r of the mark in a chain", R),
     Control("s", "Steps s of a move", S)),
    (Panel("Slice sampling of π", "x₁", "x₂", ()),
     Panel("Discretizing chain: its states and the mark", "x₁", "x₂", ()),
     Panel("U less U* where π was computed", "step k of the chain", "U less U*"),
     Panel("Evaluations of π so far", "sweeps, or moves of the mark", "evaluations",
           (0, MOVES, 1, 1000), "y")),
    "Sweeps, or moves of the mark", (RATIO, EVALUATED, SAVED), setting,
    tuple(page.Preset(label, dict(target=target, star=star, r=r, s=1))
          for label, target, star, r in (
        ("A good π*", "one", GOOD, 12), ("One move in a chain: r = s = 1", "one", GOOD, 1),
        ("π* too narrow", "one", NARROW, 12), ("π* displaced", "one", DISPLACED, 12),
        ("Separated modes", "apart", GOOD, 12))),
    sentences)
