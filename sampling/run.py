"""Several chains of a sampler at once: in processes, with a bar each, stopped at any time.

    found = run(hmc, np.zeros(2), model, eps=0.2, L=40, n=4000, rng=np.random.default_rng(1))
    print(summary(found))            # sampling/summary.py: can it be believed?
    data = found.to_arviz()

A chain is run in pieces of about a second, each from the last state of the one before and with its
random numbers.  That gives the draws of an unbroken run, bit for bit, as the tests say of NUTS and
its warm-up, of slice sampling and of every sampler in PIECEWISE.  A sampler that is not in
PIECEWISE, or is called with `keep`, runs each chain in one piece: stopped, it has no draws.  On
Linux the processes are forks: they have what is compiled already, and every model, also one that a
notebook or a script defines.  Elsewhere, and with jobs=1, chains take turns in this process.
"""

import ctypes
import difflib
import inspect
import multiprocessing
import os
import pickle
import signal
import sys
import time
import warnings
from copy import deepcopy
from multiprocessing.connection import wait
from typing import NamedTuple

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from algorithms.generalised_leapfrog import rmhmc as generalised_rmhmc
from algorithms.hmc import hmc
from algorithms.hoffman_nuts_fast import (
    DEEPEST,
    begin_warm_up,
    continue_chain,
    continue_warm_up,
    nuts,
    transitions,
)
from algorithms.paquet_rmhmc_fast import rmhmc as paquet_rmhmc
from algorithms.random_walk import random_walk
from algorithms.rivals.auxiliary_mixture import auxiliary_mixture
from algorithms.rivals.elliptical_slice import elliptical_slice
from algorithms.rivals.fitted_walk import fitted_walk
from algorithms.rivals.surrogate_slice import surrogate_slice
from algorithms.rmhmc_within_gibbs import rmhmc_within_gibbs
from algorithms.shahbaba_split_hmc_fast import data_split_hmc, normal_split_hmc
from algorithms.slice_sampling import Slice, slice_sampling, sweeps
from algorithms.zhang_sshmc import sshmc
from algorithms.zhang_sshmc_fast import sshmc as sshmc_fast
from models import validate
from models.cache import interrupt_waits
from models.interface import U, grad_U, prepare
from models.jit import telling

# whose chains can be continued from their last draw alone, with the same numbers
PIECEWISE = (hmc, random_walk, paquet_rmhmc, generalised_rmhmc, normal_split_hmc, data_split_hmc,
             elliptical_slice, fitted_walk, sshmc, sshmc_fast, rmhmc_within_gibbs,
             auxiliary_mixture, surrogate_slice)
# whose momenta have the same normal distribution everywhere
CONSTANT_MASS = (hmc, normal_split_hmc, data_split_hmc)
WALKS = (random_walk, fitted_walk)  # follow no trajectory, and keep every thin-th state
SEVERAL = (*WALKS, rmhmc_within_gibbs)  # of whose transitions several may lead to a draw
DRAWS = {"samples": "q", "theta": "theta", "phi": "phi"}  # fields, and what ArviZ calls them
EVERY = ("accepted", "energy_error")  # fields of theirs that are of all transitions
DIVERGENT = 1000.0  # error of H from which on a trajectory diverged, as in Stan
PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
ONCE = ("step", "mass", "g")  # fields of a result that say nothing of single draws
SECONDS = 1.0  # of a piece
LENGTHS = ("n", "t_max")  # what samplers call the number of transitions
MOST_CHAINS = 10_000  # each has a Generator and a bar before any begins
OFTEN = 0.01  # of the transitions diverge: a warning
OTHER_COORDINATES = ("take coordinates in which no direction is much narrower than the others, such"
                     " as z with theta = mu + tau z in the place of theta, and U is finite"
                     " everywhere, such as log x in the place of x > 0")
STEPS = ("eps", "eps_theta", "eps_phi", "scale", "factor", "w")  # what samplers call their steps


class WarmingUp(NamedTuple):
    """How far a chain is that has no draw yet."""

    t: int
    warm_up: int

    def __str__(self):
        """Say so."""
        return f"warm-up {self.t} of {self.warm_up}"


class Chains(NamedTuple):
    """What `run` gives back."""

    chains: tuple  # the result of the sampler for each chain, all of one length
    wanted: int  # how many draws each chain was to have: more than it has if it was stopped
    sampler: object  # the function that made them
    model: object = None  # that it took; None if it is not known
    kept: tuple = ()  # the indices `keep` of theta; () for all

    def __reduce__(self):
        """Pickle without a model of a class that only this script, cell or function knows."""
        try:
            pickle.dumps(self.model)
        except (AttributeError, TypeError, pickle.PicklingError):
            return Chains, tuple(self._replace(model=None))
        return Chains, tuple(self._replace(model=None) if is_of_main(self.model) else self)

    @property
    def variables(self):
        """{name: draws, (chains, n, d)}: q, or theta and phi of a hierarchical model."""
        return {name: self.stacked(field) for field, name in DRAWS.items()
                if hasattr(self.chains[0], field)}

    @property
    def statistics(self):
        """{name in ArviZ: (chains, n)} of energies, acceptance, and which trajectories diverged.

        "accepted" of slices and of mappings is (chains, n, mappings, moves).
        """
        names = {"accepted": "accepted", "energy_error": "energy_error", "rates": "acceptance_rate",
                 "total_energies": "energy", "divergent": "diverging", "depths": "tree_depth",
                 "gradients": "n_steps"}
        found = {name: self.stacked(field) for field, name in names.items()
                 if hasattr(self.chains[0], field)}
        if hasattr(self.chains[0], "energies"):
            found["lp"] = -self.stacked("energies")
        if "energy_error" in found:
            found["diverging"] = np.stack([diverging(each, self.sampler) for each in self.chains])
        if self.sampler in SEVERAL:  # of several transitions a draw: any, the largest, the rate
            each = {name: found[name].reshape(*found["lp"].shape, -1) for name in
                    ("diverging", "energy_error", "accepted")}
            found |= {"diverging": each["diverging"].any(axis=2),
                      "energy_error": each["energy_error"].max(axis=2),
                      "accepted": each["accepted"].mean(axis=2)}
        return found

    @property
    def divergences(self):
        """How many trajectories of all chains diverged."""
        return sum(diverged(chain, self.sampler) for chain in self.chains)

    def after(self, n):
        """Return the Chains without the first n draws of each, which still depend on its start."""
        drawn = size_of(self.chains[0])
        if not 0 <= validate.count("n", n, 0) < drawn:
            raise ValueError(f"n must leave some of the {drawn} draws of each chain, not {n}")
        return self._replace(chains=tuple(cut(chain, drawn, slice(n, None))
                                          for chain in self.chains), wanted=self.wanted - n)

    def stacked(self, field):
        """Return a field of all chains, (chains, n, ...)."""
        return np.stack([getattr(chain, field) for chain in self.chains])

    def to_arviz(self):
        """Return draws and statistics as ArviZ has them: InferenceData, or a DataTree from 1.0."""
        try:
            import arviz
        except ImportError:
            raise ImportError("to_arviz needs ArviZ, which is not installed: pip install arviz"
                              ) from None
        groups = {"posterior": self.variables, "sample_stats": self.statistics}
        if int(arviz.__version__.split(".")[0]) > 0:
            return arviz.from_dict(groups)
        return arviz.from_dict(**groups)


def is_of_main(model):
    """Tell whether a model, or one in it, is of a class of __main__, which differs by process."""
    return type(model).__module__ == "__main__" or (
        isinstance(model, tuple) and any(map(is_of_main, model)))


def variables_of(found):
    """Return the draws of each variable of Chains; raise ValueError for anything else."""
    if not isinstance(found, Chains):
        raise ValueError("found must be the Chains that sampling.run.run gave back, not a"
                         f" {type(found).__name__}")
    if len({(type(chain), *(np.shape(getattr(chain, field, ())) for field in DRAWS))
            for chain in found.chains}) != 1:
        raise ValueError("found must have chains of one sampler and one length, as run gives them")
    return found.variables


def check_model_of(found, problem):
    """Raise ValueError if Chains are neither of the model of a problem nor of one that has it."""
    model = getattr(found.model, "model", found.model)  # of NonCentred, SoftAbs and others
    if model is not None and not same(model, problem.model):
        raise ValueError("found must be of this problem, but its model has other data, another"
                         " prior or other coordinates: give the problem whose model was sampled, or"
                         " problem._replace(model=...)")


def same(one, other):
    """Tell whether two models, or what is in them, are equal, but for memory that is written to."""
    if one is other:
        return True
    if isinstance(one, tuple) or isinstance(other, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(
            field == "memory" or same(*each) for field, *each in zip(
                getattr(one, "_fields", [""] * len(one)), one, other, strict=True))
    floats = np.asarray(one).dtype.kind == np.asarray(other).dtype.kind == "f"
    return np.array_equal(one, other, equal_nan=floats)


def run(sampler, *arguments, chains=4, jobs=None, bars=True, **named):
    """Run chains of a sampler; return them as Chains.

    Parameters
    ----------
    sampler          : function of algorithms/, such as hmc
    arguments, named : its arguments, as in a call of it.  `rng` is split by rng.spawn(chains), one
                       for each.  A starting point of shape (chains, d) has one row for each
    chains           : int from 1 to 10000   default 4
    jobs             : int >= 1   processes; default one for each chain, at most one for each core
    bars             : bool       show, of each chain, transitions, acceptance rate, divergences;
                                  default True

    Ctrl-C stops all chains within a second; what each has drawn by then is given back, cut to the
    length of the shortest.  It is raised again where some chain has no draw yet.

    Counts of evaluations depend on how fast the machine is, because most samplers evaluate the
    state from which a piece begins anew.

    Raises what the sampler raises for wrong arguments, before anything runs.  RuntimeWarning, once,
    if a chain of ten draws or more has accepted nothing or has not moved, if more than a hundredth
    of all trajectories diverged, or if most of NUTS's double ten times or more.
    """
    chains = validate.count("chains", chains)
    if chains > MOST_CHAINS:
        raise ValueError(f"chains must be at most {MOST_CHAINS}, not {chains}")
    if not isinstance(bars, bool | np.bool_):
        raise ValueError(f"bars must be True or False, not {validate.shown(bars)}")
    given = bound(sampler, arguments, named)
    length = next((name for name in LENGTHS if name in given), None)
    if length is None or "rng" not in given:
        raise ValueError(f"sampler must take n and rng, as those of algorithms/, not"
                         f" {sampler!r:.80}")
    jobs = min(cpu_count() if jobs is None else validate.count("jobs", jobs), chains)
    rng = validate.generator("rng", given["rng"])
    try:
        children = rng.spawn(chains)
    except TypeError:  # its seed has no children
        raise ValueError("rng must be one that can spawn others, such as"
                         " numpy.random.default_rng(1)") from None
    calls = [split(given, k, chains) | {"rng": child} for k, child in enumerate(children)]
    wanted = validate.count(length, given[length])
    brief = {length: 1, "rng": deepcopy(calls[0]["rng"])} | {
        name: 1 for name in ("warm_up", "deepest") if name in inspect.signature(sampler).parameters}
    with warnings.catch_warnings(), telling(getattr(sampler, "__name__", "the sampler")):
        for call in calls:  # raises where an argument is wrong
            getattr(sampler, "check", dict)(**call)
            warnings.simplefilter("ignore", RuntimeWarning)  # the first chain has told all
        keep = given.get("keep") if hasattr(sampler, "check") else None
        keep = np.ravel(() if keep is None else keep)
        if (keep[1:] <= keep[:-1]).any():
            raise ValueError("keep must hold different indices in increasing order, by which the"
                             f" draws are told apart, not {given['keep']!r:.80}: take np.unique of"
                             " it")
        model = given.get("model")
        if hasattr(sampler, "check"):  # which takes a list for an array
            model = validate.check_fields("model", model)
        for name in {"q0", "x0"} & {*given}:
            validate.check_source(np.array(calls[0][name], float), model, U, grad_U)
        # compiles before there are other processes
        for part in pieces(sampler, calls[0] | brief, length, 1):
            check_draws(part, sampler)
    found = collect(sampler, calls, length, wanted, jobs, bars)._replace(
        model=given.get("model"), kept=tuple(keep.tolist()))
    warn(found)
    return found


def bound(sampler, arguments, named, caller="run", own="chains, jobs and bars"):
    """Return {name: argument} of a call; raise TypeError as the sampler does.

    `caller` takes the arguments `own` beside those of the sampler.
    """
    try:
        if isinstance(sampler, type):
            raise TypeError
        signature = inspect.signature(sampler)
    except (TypeError, ValueError):  # of what is no function, or written in C
        raise ValueError(f"sampler must be a function of algorithms/, such as hmc, not"
                         f" {sampler!r:.80}") from None
    try:
        return dict(signature.bind(*arguments, **named).arguments)
    except TypeError:
        ours = own.replace(" and", ",").split(", ")
        for name in named:
            near = difflib.get_close_matches(name, [*signature.parameters, *ours], 1, 0.6)
            if not near or near[0] in ours:
                meant = f"; did you mean {near[0]!r}? It" if near else "; it"
                raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}{meant}"
                                f" takes {own}, and what the sampler takes, {signature}") from None
        sampler(*arguments, **named)  # says it better
        raise


def check_draws(part, sampler):
    """Raise ValueError if a sampler returns no draws."""
    drawn = hasattr(part, "samples") or (hasattr(part, "theta") and hasattr(part, "phi"))
    if not isinstance(part, WarmingUp) and not (isinstance(part, tuple) and drawn):
        raise ValueError("sampler must return a NamedTuple with draws, `samples` or `theta` and"
                         " `phi`, as those of algorithms/ do, but"
                         f" {getattr(sampler, '__name__', 'it')} returns a {type(part).__name__}")
    for name in filter(lambda field: hasattr(part, field), DRAWS):
        draws = getattr(part, name)
        if not (isinstance(draws, np.ndarray) and draws.ndim == 2 and draws.dtype.kind == "f"):
            raise ValueError(f"sampler must return {name} as an array of floats of shape (n, d),"
                             f" not {type(draws).__name__} of {np.asarray(draws).dtype} and shape"
                             f" {np.shape(draws)}")


def is_start(name):
    """Tell whether an argument is where the chain starts: q0, x0, theta0, phi0."""
    return name.endswith("0") and name[:-1].isidentifier()


def split(given, k, chains):
    """Return the arguments of chain k."""
    found = dict(given)
    for name in filter(is_start, given):
        rows = validate.entries(name, validate.regular(name, given[name]))
        if rows.ndim == 2 and len(rows) != chains:
            raise ValueError(f"{name} must have a row for each of the {chains} chains, or be one"
                             f" start for all of them, but has shape {rows.shape}")
        found[name] = rows[k] if rows.ndim == 2 else given[name]
    return found


def pieces(sampler, call, length, wanted):
    """Yield the results of pieces of about SECONDS each, or of all at once.

    Before them, a WarmingUp for each piece of a warm-up.
    """
    if sampler in (nuts, slice_sampling):
        each = pieces_of_nuts if sampler is nuts else pieces_of_slices
        yield from each(*sampler.check(**call))
        return
    if sampler not in PIECEWISE or call.get("keep") is not None:  # the last state is not kept whole
        yield sampler(**call)
        return
    names = list(inspect.signature(sampler.compiled.py_func).parameters)
    checked = dict(zip(names, sampler.check(**call), strict=True))

    def piece(size, last):
        for name in filter(is_start, names if last else ()):
            draws = last.samples if hasattr(last, "samples") else getattr(last, name[:-1])
            checked[name] = draws[-1].copy()
        return sampler.compiled(*(checked | {length: size}).values())

    yield from timed(piece, None, wanted)


def pieces_of_nuts(q0, model, n, rng, warm_up, mass, target, deepest, ends):
    """Yield the pieces of a chain of NUTS, whose arguments are checked."""
    now = begin_warm_up(q0, model, rng, warm_up, mass, ends)
    for each in timed(lambda size, last: continue_warm_up(
            last, model, size, rng, target, deepest, ends), now, warm_up):
        now = each
        yield WarmingUp(now.t, warm_up)

    def piece(size, last):
        if last is None:
            return transitions(now.state, model, size, rng, now.eps, now.mass, deepest,
                               now.total + 1)
        return continue_chain(last, model, size, rng, deepest)

    yield from timed(piece, None, n)


def pieces_of_slices(x0, model, w, n, rng, max_widths):
    """Yield the pieces of a chain of slice sampling, whose arguments are checked."""
    move = Slice(w, max_widths, np.arange(x0.size), False)

    def piece(size, last):
        cache, evaluations = (prepare(x0, model), 1) if last is None else (last[1], 0)
        return sweeps(cache, model, move, size, rng, evaluations)

    for chain, _ in timed(piece, None, n):
        yield chain


def timed(piece, last, wanted):
    """Yield piece(size, the one before), each of about SECONDS, until `wanted` draws are there."""
    size = 1
    while wanted > 0:
        size, begin = min(size, wanted), time.monotonic()
        yield (last := piece(size, last))
        wanted -= size
        took = max(time.monotonic() - begin, 1e-9)
        size = max(1, min(4 * size, int(size * SECONDS / took)))


def in_turn(sampler, calls, length, wanted):
    """Yield (chain, result of a piece) of chains that take turns, until all have ended."""
    left = {k: pieces(sampler, call, length, wanted) for k, call in calls.items()}
    while left:
        for k in list(left):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # `run` warns
                found = next(left[k], None)
            if found is None:
                del left[k]
            else:
                yield k, found


def work(sampler, calls, length, wanted, end, parent):
    """Send each piece of some chains, or the exception that ended them: what a process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all processes: `parent` decides
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # Linux ends it with its parent
    if os.getppid() != parent:  # that was killed before
        return
    try:
        with threadpool_limits(1):
            for item in in_turn(sampler, calls, length, wanted):
                end.send(item)
        end.send(None)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # of a class of the caller's that cannot be sent
            error = RuntimeError(f"{type(error).__name__}: {error}")
        end.send(error)


def in_processes(sampler, calls, length, wanted, jobs):
    """Yield what in_turn does, from processes; they are gone when this generator is closed."""
    fork, ends, processes = multiprocessing.get_context("fork"), [], []
    try:
        for j in range(jobs):
            ours, theirs = fork.Pipe(duplex=False)
            process = fork.Process(target=work, daemon=True, name=f"chains {j}", args=(
                sampler, dict(list(calls.items())[j::jobs]), length, wanted, theirs, os.getpid()))
            with interrupt_waits(), warnings.catch_warnings():  # of threads, which are idle here
                warnings.simplefilter("ignore", DeprecationWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                process.start()
                processes.append(process)
            theirs.close()
            ends.append(ours)
        while ends:
            for end in wait(ends):
                try:
                    item = end.recv()
                except (EOFError, OSError):  # before a message, or within one
                    raise RuntimeError("a process that ran chains was ended from outside; it may"
                                       " have needed more memory than there is") from None
                if isinstance(item, Exception):
                    raise item
                if item is None:
                    ends.remove(end)
                else:
                    yield item
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def collect(sampler, calls, length, wanted, jobs, bars):
    """Run all chains with their bars; return them joined, also if Ctrl-C ends them."""
    calls, parts = dict(enumerate(calls)), [[] for _ in calls]
    forked = (jobs > 1 and sys.platform == "linux"
              and not multiprocessing.current_process().daemon)  # which may have no children
    source = (in_processes(sampler, calls, length, wanted, jobs) if forked
              else in_turn(sampler, calls, length, wanted))
    # none where they are not shown: forked processes share tqdm's lock, and may be killed with it
    shown = [tqdm(total=wanted, desc=f"chain {k}", position=k, mininterval=0.5)
             for k in calls if bars]
    tallies = [Tally() for _ in calls]
    try:
        for k, part in source:
            warming_up = isinstance(part, WarmingUp)
            if not warming_up:
                parts[k].append(part)
            if bars and warming_up:
                shown[k].set_postfix_str(str(part))
            elif bars:
                tallies[k] = tallies[k].after(part, sampler)
                shown[k].set_postfix_str(str(tallies[k]), refresh=False)
                shown[k].update(size_of(part))
    except KeyboardInterrupt:
        if not all(parts):
            raise
    finally:
        source.close()
        for bar in shown:
            bar.close()
    joined = [join(each) for each in parts]
    least = min(map(size_of, joined))
    return Chains(tuple(cut(each, size_of(each), slice(least)) for each in joined), wanted,
                  sampler)


def rates_of(found):
    """Return the acceptances, or of NUTS the acceptance rates, of a result; empty if none."""
    return getattr(found, "accepted", getattr(found, "rates", np.empty(0)))


def diverging(found, sampler):
    """Return which trajectories of a result diverged; of a walk, which energies were nan or -inf.

    A point without density is no fault of a walk, which rejects it, nor of a slice sampler, which
    has none: it is outside of the slice.
    """
    if hasattr(found, "energy_error"):
        error = found.energy_error
        return ~((error > -np.inf) & ((error <= DIVERGENT) | (sampler in WALKS)))
    return getattr(found, "divergent", np.empty(0, bool))


def diverged(found, sampler):
    """Return how many trajectories of a result diverged."""
    return int(diverging(found, sampler).sum())


def remedy(sampler):
    """Say what makes the moves of a sampler shorter: a step, or what tunes or stands for it."""
    names = inspect.signature(sampler).parameters
    if "target" in names:
        return "take a larger target, such as 0.95 or 0.99, and a warm_up of 250 or more"
    steps = " and ".join(name for name in STEPS if name in names and sampler != auxiliary_mixture)
    return f"halve {steps}" if steps else "begin elsewhere"


class Tally(NamedTuple):
    """What a bar says of a chain."""

    proposals: int = 0
    accepted: float = 0.0
    divergences: int = 0

    def after(self, part, sampler):
        """Return the tally with one more piece."""
        accepted = rates_of(part)
        return Tally(self.proposals + accepted.size, self.accepted + float(np.sum(accepted)),
                     self.divergences + diverged(part, sampler))

    def __str__(self):
        """Say the acceptance rate, and divergences if there are any."""
        rate = f"accepted {self.accepted / self.proposals:.2f}" if self.proposals else ""
        return rate + f", diverged {self.divergences}" * (self.divergences > 0)


def size_of(found):
    """Return how many draws a result has."""
    return len(found[0])


def join(parts):
    """Return one result for several pieces: arrays one after the other, counts added."""
    first = parts[0]
    if isinstance(first, tuple):
        return type(first)(*(each[0] if name in ONCE else join(each) for name, each in zip(
            first._fields, zip(*parts, strict=True), strict=True)))
    return np.concatenate(parts) if isinstance(first, np.ndarray) else sum(parts)


def cut(found, n, part):
    """Return a result of n draws with a slice of them; counts stay those of all."""
    if isinstance(found, tuple):
        return type(found)(*(
            each if name in (*ONCE, "counts") else each.reshape(n, -1)[part].ravel()
            if name in EVERY and each.ndim == 1 else cut(each, n, part)
            for name, each in zip(found._fields, found, strict=True)))
    return found[part] if isinstance(found, np.ndarray) and len(found) == n else found


def has_moved(draws):
    """Tell whether draws (n, d) are not all the same."""
    # mostly the last is another than the first, which saves the look at all
    return (draws[-1] != draws[0]).any() or (draws != draws[0]).any()


def warn(found):
    """Say once what the user has to know before anything is believed."""
    said, shorter = [], remedy(found.sampler)
    for k, chain in enumerate(found.chains):
        draws = [getattr(chain, field) for field in DRAWS if hasattr(chain, field)]
        accepted = rates_of(chain)
        if accepted.size >= 10 and not np.any(accepted):
            said.append(f"chain {k} accepted none of its {accepted.size} proposals: {shorter}")
        elif len(draws[0]) >= 10 and not any(map(has_moved, draws)):
            small = accepted.dtype == bool and np.any(accepted)
            said.append(f"chain {k} has not moved from where it started: " + (
                "its steps are too small, so take larger ones" if small else
                f"{shorter}, or begin where U is finite all around"))
        if np.median(getattr(chain, "depths", 0)) >= DEEPEST:
            said.append(f"most trajectories of chain {k} double {DEEPEST} times or more: take units"
                        " in which standard deviations are about 1, or mass='fisher'")
    proposals = sum(rates_of(chain).size for chain in found.chains)
    if found.divergences > OFTEN * proposals:
        said.append(f"{found.divergences} of {proposals} trajectories diverged: {shorter}, or"
                    f" {OTHER_COORDINATES}")
    if said:
        warnings.warn("; ".join(said), RuntimeWarning, stacklevel=3)
