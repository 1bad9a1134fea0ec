"""What an enumeration says of slice sampling, discretizing chains and tempered transitions.

Run with NUMBA_DISABLE_JIT=1: python proofs.py FILE writes a dictionary of numbers.
"""

import pickle
import sys
from pathlib import Path

import numba
import numpy as np

from algorithms import wang_discretizing_chain_fast as chain
from algorithms import wang_tempered_transitions_fast as tempered
from algorithms.slice_sampling import Slice, backward, forward
from algorithms.wang_discretizing_chain import whole_chain_step
from enumeration import Lattice, Table, density, matrix, sweeps, updates
from models.interface import prepare

MOVES = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)]  # (r, s)


def tally(rows=None):
    return np.zeros(4 if rows is None else (rows, 4), int)


def lattices(seed, layers, m=7):
    """Return a density and its approximations, each worse than the one before."""
    rng = np.random.default_rng(seed)
    energies = rng.standard_normal(m)
    found = [Lattice(energies, -1)]
    for i in range(layers):
        found.append(Lattice(found[-1].energies + 0.7 * rng.standard_normal(m), i))
    return found


def steps(model, move, which):
    """Return the matrix of a step of `which`, forward or backward, by itself."""
    return matrix(lambda q, rng: which(prepare(q, model), model, move, tally(), rng).q,
                  model.energies.shape)


def lazily(model, approximation, move, r, s):
    """Return the matrix of a mapping to a discretizing chain."""
    def run(q, rng):
        near = prepare(q, model)
        here = chain.State(q, near.U, near, prepare(q, approximation))
        return chain.discretizing_chain_step(here, model, approximation, move, r, s, tally(),
                                             tally(), rng)[0].q

    return matrix(run, model.energies.shape)


def wholly(model, approximation, move, r, s, K):
    """Return the matrix of a mapping to a chain of K steps."""
    return matrix(lambda q, rng: whole_chain_step(q, model, approximation, move, r, s, K, rng),
                  model.energies.shape)


def up_and_down(model, layers, move):
    """Return the matrix of a tempered transition."""
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


def naive(move):
    """Return the move that takes R for its own reverse."""
    return Table(move.P, move.P)


def of_slices():
    """Slices on a line, of limits that bind and that do not; sweeps of them on a square."""
    (line,), found = lattices(1, 0, 9), {}
    for w, most in ((1, 1), (3, 1), (2, 3), (1, 4), (2, 9)):
        move = Slice(np.array([float(w)]), most, np.arange(1), False)
        P = steps(line, move, forward)
        found[w, most] = max(off(line, P), unbalanced(line, P, P)), P
    square = Lattice(1.5 * np.random.default_rng(2).standard_normal((3, 3)), -1)
    results = {"slices": found}
    for at_random in (False, True):
        move = Slice(np.ones(2), 3, np.arange(2), at_random)
        F, B = steps(square, move, forward), steps(square, move, backward)
        results["at random" if at_random else "in sequence"] = {
            "reverse": unbalanced(square, F, B), "naive": unbalanced(square, F, F),
            "forward": off(square, F), "backward": off(square, B)}
    return results


def of_chains():
    """The discretizing chain on several problems, lazily and whole."""
    exact, biased, whole, limit = {}, {}, {}, {}
    model, star = lattices(0, 1)
    move = sweeps([star])
    for r, s in MOVES:
        exact[r, s] = off(model, lazily(model, star, move, r, s))
        biased[r, s] = off(model, lazily(model, star, naive(move), r, s))
    pi, pi_star = density(model.energies), density(star.energies)
    ratio = (pi / pi_star)[None] / (pi / pi_star)[:, None]
    P = (move.P[0] + move.reverse[0]) / 2 * np.minimum(1, ratio)
    P[np.diag_indices(7)] += 1 - P.sum(axis=1)
    metropolis = np.abs(P - lazily(model, star, move, 1, 1)).max()
    model, star = lattices(3, 1, 4)
    move = sweeps([star])
    for r, s in ((1, 1), (1, 2), (2, 1)):
        P = [wholly(model, star, move, r, s, K) for K in range(1, 2 * r * s + 2)]
        whole |= {(r, s, K): off(model, Q) for K, Q in enumerate(P, 1)}
        K = len(P) - 1
        limit[r, s] = np.abs(len(P) * P[-1] - K * P[-2] - lazily(model, star, move, r, s)).max()
    return {"reverse": exact, "naive": biased, "whole": whole, "limit": limit,
            "metropolis": metropolis}


def of_layers():
    """Tempered transitions with one, two and three layers."""
    exact, biased = {}, {}
    for n, m in ((1, 7), (2, 7), (3, 4)):
        model, *layers = lattices(0, n, m)
        move = sweeps(layers)
        exact[n] = off(model, up_and_down(model, layers, move))
        biased[n] = off(model, up_and_down(model, layers, naive(move)))
    model, star = lattices(5, 1)
    first, second = updates(star.energies)
    R = first @ second @ first  # which is reversible
    same = {}
    for k in (1, 2):
        power = np.linalg.matrix_power(R, k)[None]
        P = up_and_down(model, [star], Table(power, power))
        for s in (2 * k - 1, 2 * k):
            Q = lazily(model, star, Table(R[None], R[None]), 1, s)
            same[k, s] = np.abs(P - Q).max()
    return {"reverse": exact, "naive": biased, "same": same}


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT
    found = {"slices": of_slices(), "chains": of_chains(), "layers": of_layers()}
    Path(sys.argv[1]).write_bytes(pickle.dumps(found))
