"""Step sizes with which a trajectory is accepted four times of five.

    tuned = tune(sshmc, *problem.start, problem.model, eps_theta=0.1, eps_phi=0.1, L=20, rng=rng)
    found = run(sshmc, *tuned.start, problem.model, **tuned.steps, L=20, n=4000, rng=rng)

A pilot chain changes its steps after every few transitions: by a factor of four until the
acceptance rate crosses the target, and then their logarithm by the rate less the target, which is
the stochastic approximation of Robbins and Monro (1951).  Its gain falls with every further
crossing, as Kesten (1958) has it, and the second half is averaged (Polyak and Juditsky 1992).
Where there are two steps, each is first fitted alone, to an acceptance rate of the square root of
the target, while the other is so small that the other block stands still.  Then a common factor of
both is fitted.  The pilot's draws are thrown away, since a chain whose steps change is not
invariant; the chain that is kept has fixed ones.
"""

import inspect
import warnings
from typing import NamedTuple

import numpy as np

from models import validate
from sampling.run import DRAWS, LENGTHS, bound

STARTS = ("q0", "x0", "theta0", "phi0")  # and where chains begin
STEPS = ("eps", "eps_theta", "eps_phi")  # what samplers along a trajectory call their steps
ROUNDS = 15  # changes of the steps in a stage
SIZE = 20  # transitions between two changes
FIRST = np.log(4.0)  # change of the logarithm of a step until the target is crossed
GAIN = 3.0  # then, for a rate of 1 more than the target
STILL = 1e-9  # share of a step that moves nothing
FAR = 0.15  # from the target: a warning


class Tuned(NamedTuple):
    """What `tune` found."""

    steps: dict  # {"eps": float}, or {"eps_theta": float, "eps_phi": float}
    start: tuple  # the last state of the pilot, (q,) or (theta, phi)
    rate: float  # mean acceptance probability, last half of the last stage


def tune(sampler, *arguments, target=0.8, **named):
    """Return Tuned steps of a sampler, which must have eps, or eps_theta and eps_phi.

    Parameters
    ----------
    sampler          : function of algorithms/, such as hmc, normal_split_hmc or sshmc
    arguments, named : as in a call of it, without n and keep; the search begins at its steps
    target           : float in (0, 1)   the acceptance rate that is wanted

    It takes 300 transitions of a sampler with one step, and 1200 of one with two.  L stays as
    given, so the trajectory becomes longer or shorter with the steps.

    Raises what the sampler raises for wrong arguments; ValueError for one that has no such steps.
    RuntimeWarning if the rate at the end is more than .15 from the target, or below half of it.
    """
    target = validate.real("target", target, 0.0, np.nextafter(1.0, 0.0), open_low=True)
    try:
        parameters = inspect.signature(sampler).parameters
    except (TypeError, ValueError):  # of what is no function, or written in C
        parameters = {}
    names = [name for name in STEPS if name in parameters]
    length = next((name for name in LENGTHS if name in parameters), None)
    if not names or length is None:
        raise ValueError("sampler must have eps, or eps_theta and eps_phi, as hmc and sshmc have,"
                         f" not be {getattr(sampler, '__name__', sampler)!r:.80}: nuts and slices"
                         " need no step, and for a random walk there is"
                         " algorithms.rivals.fitted_walk.pilot")
    for name in {length, "keep"} & {*named, *list(parameters)[:len(arguments)]}:
        raise ValueError(f"{name} must be left out: a pilot has its own")
    given = bound(sampler, arguments, named | {length: SIZE}, "tune", "target")
    getattr(sampler, "check", dict)(**given)
    alone = [([name], ROUNDS, np.sqrt(target)) for name in names] if len(names) > 1 else []
    starts = [name for name in given if name in STARTS]
    for moving, rounds, rate in [*alone, (names, ROUNDS * len(names), target)]:
        given, reached = stage(sampler, given, starts, names, moving, rounds, rate)
    if abs(reached - target) > FAR or reached < target / 2:
        warnings.warn(f"the pilot accepts {reached:.2f}, not {target:g}, at its last steps: begin"
                      " where the density is high, or run tune again from its start and steps",
                      RuntimeWarning, stacklevel=2)
    return Tuned({name: given[name] for name in names},
                 tuple(given[name] for name in starts), reached)


def stage(sampler, given, starts, names, moving, rounds, target):
    """Fit a common factor of the steps in `moving`, while those of the others stand still.

    Returns the arguments with the new steps and the last state, and the mean rate of the last half.
    """
    first = {name: given[name] for name in names}
    log_factor, crossed, log_factors, rates = 0.0, 0, [], []
    for k in range(rounds):
        given = given | {name: first[name] * (np.exp(log_factor) if name in moving else STILL)
                         for name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a round that accepts nothing
            chain = sampler(**given)
        if not hasattr(chain, "energy_error"):
            raise ValueError("sampler must return energy_error, H at the end of each trajectory"
                             f" minus H at its start, but its {type(chain).__name__} has none")
        given = given | {name: drawn(chain, name)[-1].copy() for name in starts}
        rates.append(acceptance(chain.energy_error))
        crossed += k > 0 and (rates[k] > target) != (rates[k - 1] > target)
        log_factor += (GAIN / (1 + crossed / 2) * (rates[k] - target) if crossed
                       else FIRST * np.sign(rates[k] - target))
        log_factors.append(log_factor)
    factor = np.exp(np.mean(log_factors[rounds // 2:]))
    return given | {name: float(first[name] * (factor if name in moving else 1.0))
                    for name in names}, float(np.mean(rates[rounds // 2:]))


def drawn(chain, start):
    """Return the draws of what `start` is the beginning of, q of q0 or x0."""
    return next(getattr(chain, field) for field, name in DRAWS.items()
                if hasattr(chain, field) and name in (start[:-1], "q"))


def acceptance(error):
    """Return the mean of min(1, exp(-error)), which is 0 where an error is not finite.

    error : (n,), or (n, blocks) of blocks that are accepted one by one: the least of their means
    """
    probability = np.where(np.isfinite(error), np.exp(-np.maximum(error, 0.0)), 0.0)
    return float(probability.mean(axis=0).min())
