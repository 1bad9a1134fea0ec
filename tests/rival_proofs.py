"""Exact transition matrices of the walks, by enumeration, in a process that compiles nothing.

`proofs()` runs this file with NUMBA_DISABLE_JIT=1, which writes a dictionary of numbers.  In place
of normals there are -1, 0 and 1 (enumeration.py): a walk's exactness rests on their symmetry alone.
"""

import pickle
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from conftest import python

ROUNDING = 1e-13  # some thousand products of probabilities, of 1e-16 each


@cache
def proofs(script=__file__):
    """Return what a script writes in a process that compiles nothing; of this one, of `main`."""
    with TemporaryDirectory() as folder:
        python(script, file := Path(folder, "proofs"), NUMBA_DISABLE_JIT="1")
        return pickle.loads(file.read_bytes())


def main():
    """Return the matrices of walks, how far each density is from being left as it is, and each step
    from balance."""
    from algorithms.rivals.delayed_acceptance import (
        State,
        delayed_acceptance_step,
        surrogate_transition_step,
    )
    from algorithms.rivals.dragging import dragging_step
    from algorithms.rivals.fitted_walk import fitted_walk_step
    from enumeration import Lattice, density, matrix
    from models.interface import U, prepare

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
        judge(name, model, lambda q, g: step(State(q, U(q, model), U(q, star)), model, star, L,
                                             *inner, np.zeros(3, int), g)[0].q)

    walk("far", line, 2 * np.eye(1))
    for name, model, L in (("line", line, np.eye(1)), ("square", square, skewed)):
        star = Lattice(model.energies + 0.7 * rng.standard_normal(model.energies.shape), 0)
        walk(f"walk, {name}", model, L)
        walk(f"star, {name}", star, L)
        delayed(f"delayed, {name}", model, star, L, delayed_acceptance_step)
        for k in (1, 2, 3) if name == "line" else (1, 2):
            delayed(f"{k}, {name}", model, star, L, surrogate_transition_step, k)
        ratio = density(model.energies) / density(star.energies)
        for k in (1, 2):  # by the definition: k steps for star, then a test
            P = (np.linalg.matrix_power(matrices[f"star, {name}"], k)
                 * np.minimum(1, ratio[None] / ratio[:, None]))
            P[np.diag_indices(len(P))] += 1 - P.sum(axis=1)
            matrices[f"formula {k}, {name}"] = P
    cube = Lattice(1.2 * rng.standard_normal((2, 3, 2)), -1)
    for name, model, slow, n_steps in (
            *((f"drag {n}", square, [0], n) for n in (1, 2, 3)),
            *((f"drag cube {n}", cube, [1], n) for n in (1, 2)), ("two slow", cube, [0, 1], 2)):
        fast = np.setdiff1d(np.arange(model.energies.ndim), slow)
        judge(name, model, lambda q, g, model=model, slow=slow, fast=fast, n=n_steps: dragging_step(
            prepare(q, model), model, np.array(slow), np.eye(len(slow)), fast, np.ones(q.size), n,
            np.zeros(4, int), g)[0].q)
    # with one step a Metropolis step of the slow variable: +-1 with .3 each
    pi, P = density(square.energies).reshape(3, 3), np.zeros((3, 3, 3, 3))
    for i in range(3):
        for j in range(3):
            for to in (i - 1, i + 1):
                if 0 <= to < 3:
                    P[i, j, to, j] = 0.3 * min(1, pi[to, j] / pi[i, j])
            P[i, j, i, j] += 1 - P[i, j].sum()
    matrices["formula of drag 1"] = P.reshape(9, 9)
    return matrices, errors


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(main()))
