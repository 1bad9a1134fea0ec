"""What an enumeration says of samplers: NUMBA_DISABLE_JIT=1 python proofs.py FILE writes it."""

import pickle
import sys
from pathlib import Path

import numba
import numpy as np

from algorithms import wang_discretizing_chain_fast as chain
from algorithms import wang_tempered_transitions_fast as tempered
from algorithms.rivals import delayed_acceptance
from algorithms.rivals.dragging import dragging_step
from algorithms.rivals.fitted_walk import fitted_walk_step
from algorithms.slice_sampling import Slice, backward, forward
from algorithms.wang_discretizing_chain import whole_chain_step
from enumeration import Lattice, Table, density, matrix, sweeps, tested, updates
from models.interface import U, prepare


def tally(*rows):
    return np.zeros((*rows, 4), int)


def lattices(seed, layers, m=7):
    """Return a density and its approximations, each worse than the one before."""
    rng = np.random.default_rng(seed)
    found = [Lattice(rng.standard_normal(m), -1)]
    for i in range(layers):
        found.append(Lattice(found[-1].energies + 0.7 * rng.standard_normal(m), i))
    return found


def steps(model, move, which):
    """Return the matrix of a step of `which`, forward or backward, by itself."""
    return matrix(lambda q, rng: which(prepare(q, model), model, move, tally(), rng).q,
                  model.energies.shape)


def lazily(model, approximation, move, r, s):
    def run(q, rng):
        near = prepare(q, model)
        here = chain.State(q, near.U, near, prepare(q, approximation))
        return chain.discretizing_chain_step(here, model, approximation, move, r, s, tally(),
                                             tally(), rng)[0].q

    return matrix(run, model.energies.shape)


def up_and_down(model, layers, move):
    stack = tempered.stack(layers)

    def run(q, rng):
        near = prepare(q, model)
        here = tempered.State(q, near.U, near, tempered.near_all(q, stack))
        return tempered.tempered_transitions_step(here, model, stack, move,
                                                  tally(1 + len(layers)), rng)[0].q

    return matrix(run, model.energies.shape)


def off(model, P):
    """Return how far the density is from being invariant: max |pi P - pi|."""
    pi = density(model.energies)
    return np.abs(pi @ P - pi).max()


def unbalanced(model, P, Q):
    """Return how far P and Q are from being reverses of each other."""
    flow = density(model.energies)[:, None] * np.array([P, Q])
    return np.abs(flow[0] - flow[1].T).max()


def of_slices():
    """Slices on a line, of limits that bind and that do not; sweeps of them on a square."""
    (line,), found = lattices(1, 0, 9), {}
    for w, most in ((1, 1), (3, 1), (2, 3), (1, 4), (2, 9)):
        move = Slice(np.array([float(w)]), most, np.arange(1), False)
        P = steps(line, move, forward)
        found[w, most] = max(off(line, P), unbalanced(line, P, P)), P
    square = Lattice(1.5 * np.random.default_rng(2).standard_normal((3, 3)), -1)
    results = {"slices": found}
    for name in ("in sequence", "at random"):
        move = Slice(np.ones(2), 3, np.arange(2), name == "at random")
        F, B = steps(square, move, forward), steps(square, move, backward)
        results[name] = {"reverse": unbalanced(square, F, B), "naive": unbalanced(square, F, F),
                         "forward": off(square, F), "backward": off(square, B)}
    return results


def of_chains():
    exact, biased, whole, limit = {}, {}, {}, {}
    model, star = lattices(0, 1)
    move = sweeps([star])
    for r, s in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)):
        exact[r, s] = off(model, lazily(model, star, move, r, s))
        biased[r, s] = off(model, lazily(model, star, move._replace(reverse=move.P), r, s))
    P = tested((move.P[0] + move.reverse[0]) / 2, density(model.energies) / density(star.energies))
    metropolis = np.abs(P - lazily(model, star, move, 1, 1)).max()
    model, star = lattices(3, 1, 4)
    move = sweeps([star])
    for r, s in ((1, 1), (1, 2), (2, 1)):
        P = [matrix(lambda q, rng, of=(r, s, K): whole_chain_step(q, model, star, move, *of, rng),
                    model.energies.shape) for K in range(1, 2 * r * s + 2)]
        whole |= {(r, s, K): off(model, Q) for K, Q in enumerate(P, 1)}
        K = len(P) - 1
        limit[r, s] = np.abs(len(P) * P[-1] - K * P[-2] - lazily(model, star, move, r, s)).max()
    return {"reverse": exact, "naive": biased, "whole": whole, "limit": limit,
            "metropolis": metropolis}


def of_layers():
    exact, biased = {}, {}
    for n, m in ((1, 7), (2, 7), (3, 4)):
        model, *layers = lattices(0, n, m)
        move = sweeps(layers)
        exact[n] = off(model, up_and_down(model, layers, move))
        biased[n] = off(model, up_and_down(model, layers, move._replace(reverse=move.P)))
    model, star = lattices(5, 1)
    first, second = updates(star.energies)
    R = first @ second @ first  # which is reversible
    same = {}
    for k in (1, 2):
        power = np.linalg.matrix_power(R, k)[None]
        P = up_and_down(model, [star], Table(power, power))
        for s in (2 * k - 1, 2 * k):
            same[k, s] = np.abs(P - lazily(model, star, Table(R[None], R[None]), 1, s)).max()
    return {"reverse": exact, "naive": biased, "same": same}


def of_walks():
    """The matrices of walks, and how far they are from leaving a density as it is and from balance.

    In place of normals there are -1, 0 and 1: their exactness rests on symmetry alone.
    """
    matrices, errors = {}, {}

    def judge(name, model, step):
        P, pi = matrix(step, model.energies.shape), density(model.energies)
        flow = pi[:, None] * P
        matrices[name] = P
        errors[name] = max(np.abs(pi @ P - pi).max(), np.abs(flow - flow.T).max(),
                           np.abs(P.sum(axis=1) - 1).max())

    rng = np.random.default_rng(5)
    line = Lattice(1.2 * rng.standard_normal(7), -1)
    square = Lattice(1.2 * rng.standard_normal((3, 3)), -1)
    skewed = np.array([[1.0, 0.0], [1.0, 1.0]])  # steps stay whole

    def walk(name, model, L):
        judge(name, model, lambda q, g: fitted_walk_step(q, U(q, model), model, L, g)[0])

    def delayed(name, model, star, L, step, *inner):
        judge(name, model, lambda q, g: step(
            delayed_acceptance.State(q, U(q, model), U(q, star)), model, star, L, *inner,
            np.zeros(3, int), g)[0].q)

    walk("far", line, 2 * np.eye(1))
    for name, model, L in (("line", line, np.eye(1)), ("square", square, skewed)):
        star = Lattice(model.energies + 0.7 * rng.standard_normal(model.energies.shape), 0)
        walk(f"walk, {name}", model, L)
        walk(f"star, {name}", star, L)
        delayed(f"delayed, {name}", model, star, L, delayed_acceptance.delayed_acceptance_step)
        for k in (1, 2, 3) if name == "line" else (1, 2):
            delayed(f"{k}, {name}", model, star, L,
                    delayed_acceptance.surrogate_transition_step, k)
        for k in (1, 2):  # by the definition: k steps for star, then a test
            matrices[f"formula {k}, {name}"] = tested(
                np.linalg.matrix_power(matrices[f"star, {name}"], k),
                density(model.energies) / density(star.energies))
    cube = Lattice(1.2 * rng.standard_normal((2, 3, 2)), -1)
    for name, model, slow, n_steps in (
            *((f"drag {n}", square, [0], n) for n in (1, 2, 3)),
            *((f"drag cube {n}", cube, [1], n) for n in (1, 2)), ("two slow", cube, [0, 1], 2)):
        fast = np.setdiff1d(np.arange(model.energies.ndim), slow)
        judge(name, model, lambda q, g, model=model, slow=slow, fast=fast, n=n_steps: dragging_step(
            prepare(q, model), model, np.array(slow), np.eye(len(slow)), fast, np.ones(q.size), n,
            np.zeros(4, int), g)[0].q)
    # with one step a Metropolis step of the slow variable: +-1 with .3 each
    neighbours = np.eye(3, k=1) + np.eye(3, k=-1)
    matrices["formula of drag 1"] = tested(0.3 * np.kron(neighbours, np.eye(3)),
                                           density(square.energies))
    return matrices, errors


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT
    found = {"slices": of_slices(), "chains": of_chains(), "layers": of_layers(),
             "walks": of_walks()}
    Path(sys.argv[1]).write_bytes(pickle.dumps(found))
