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


@cache
def proofs(script=__file__):
    """Return what a script writes in a process that compiles nothing; of this one, of `main`."""
    with TemporaryDirectory() as folder:
        python(script, file := Path(folder, "proofs"), NUMBA_DISABLE_JIT="1")
        return pickle.loads(file.read_bytes())


def main():
    """Return how far each density is from being left as it is, and each step from balance."""
    from algorithms.rivals import delayed_acceptance
    from algorithms.rivals.dragging import dragging_step
    from algorithms.rivals.fitted_walk import fitted_walk_step
    from enumeration import Lattice, density, matrix
    from models.interface import U, prepare

    def judged(model, P):
        pi = density(model.energies)
        flow = pi[:, None] * P
        return {"invariant": np.abs(pi @ P - pi).max(), "balance": np.abs(flow - flow.T).max(),
                "rows": np.abs(P.sum(axis=1) - 1).max(), "P": P}

    rng = np.random.default_rng(5)
    line = Lattice(1.2 * rng.standard_normal(7), -1)
    square = Lattice(1.2 * rng.standard_normal((3, 3)), -1)
    skewed = np.array([[1.0, 0.0], [1.0, 1.0]])  # steps stay whole
    walk = {name: judged(model, matrix(
        lambda q, g, model=model, L=L: fitted_walk_step(q, U(q, model), model, L, g)[0],
        model.energies.shape))
        for name, model, L in (("line", line, np.eye(1)), ("far", line, 2 * np.eye(1)),
                               ("square", square, skewed))}

    def stepped(step, model, star, L, *more):
        def run(q, g):
            here = delayed_acceptance.State(q, U(q, model), U(q, star))
            return step(here, model, star, L, *more, np.zeros(3, int), g)[0].q

        return judged(model, matrix(run, model.energies.shape))

    found = {}
    for name, model, L in (("line", line, np.eye(1)), ("square", square, skewed)):
        star = Lattice(model.energies + 0.7 * rng.standard_normal(model.energies.shape), 0)
        found[name] = {"delayed": stepped(delayed_acceptance.delayed_acceptance_step, model, star,
                                          L)}
        for k in (1, 2, 3) if name == "line" else (1, 2):
            found[name][k] = stepped(delayed_acceptance.surrogate_transition_step, model, star, L,
                                     k)
        S = matrix(lambda q, g, star=star, L=L: fitted_walk_step(q, U(q, star), star, L, g)[0],
                   star.energies.shape)
        ratio = density(model.energies) / density(star.energies)
        for k in (1, 2):  # by the definition: k steps of S, then a test
            P = np.linalg.matrix_power(S, k) * np.minimum(1, ratio[None] / ratio[:, None])
            P[np.diag_indices(len(P))] += 1 - P.sum(axis=1)
            found[name][f"formula {k}"] = P

    def dragged(model, slow, n_steps):
        d = model.energies.ndim
        fast, w = np.setdiff1d(np.arange(d), slow), np.ones(d)
        return judged(model, matrix(lambda q, g: dragging_step(
            prepare(q, model), model, np.array(slow), np.eye(len(slow)), fast, w, n_steps,
            np.zeros(4, int), g)[0].q, model.energies.shape))

    cube = Lattice(1.2 * rng.standard_normal((2, 3, 2)), -1)
    drags = {("square", n): dragged(square, [0], n) for n in (1, 2, 3)}
    drags |= {("cube", n): dragged(cube, [1], n) for n in (1, 2)}
    drags["two slow", 2] = dragged(cube, [0, 1], 2)
    # with one step a Metropolis step of the slow variable: +-1 with .3 each
    pi, P = density(square.energies).reshape(3, 3), np.zeros((3, 3, 3, 3))
    for i in range(3):
        for j in range(3):
            for to in (i - 1, i + 1):
                if 0 <= to < 3:
                    P[i, j, to, j] = 0.3 * min(1, pi[to, j] / pi[i, j])
            P[i, j, i, j] += 1 - P[i, j].sum()
    drags["formula"] = P.reshape(9, 9)
    return {"walk": walk, "delayed": found, "dragging": drags}


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(main()))
