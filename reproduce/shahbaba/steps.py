"""Runs of the mirrors of Shahbaba et al. (2014) on a logistic regression, for their page."""

from functools import cache

import numpy as np
from scipy.linalg import expm

from algorithms import shahbaba_split_hmc as split_hmc
from algorithms.map_estimate import map_estimate
from models.interface import U
from models.logistic_regression import LogisticRegression
from reproduce.harness.recording import Picture, Replay, Run, contours

CASES = 24
START = np.array([1.7, 1.1])
BOX, LEVELS = (-1.5, 3.5, -0.5, 4.5), (0.5, 1.5, 3.0, 5.0)


def matrix_A(fit):
    """Return A of Section 2.1, [0 I; -J 0]."""
    d = fit.w.size
    J = fit.Z * fit.w**2 @ fit.Z.T
    return np.block([[np.zeros((d, d)), np.eye(d)], [-J, np.zeros((d, d))]])


def printed_R(fit, eps):
    """Return R as Algorithm 1 has it, with the inverse in the exponent.

    What is so printed depends on the eigenvectors' order, length and phase, which a library may
    choose as it likes: here D's imaginary parts rise, and each vector has length 1 and a first
    coordinate above 0.
    """
    D, Gamma = np.linalg.eig(matrix_A(fit))
    rising = np.argsort(D.imag)
    D, Gamma = D[rising], Gamma[:, rising] * np.exp(-1j * np.angle(Gamma[0, rising]))
    return Gamma @ expm(np.diag(D * eps) @ np.linalg.inv(Gamma))


LINES_1_AND_7 = {"L1": "R = printed_R(fit, eps)  # Gamma e^(D eps Gamma^-1)",
                 "L7": "q_star, p = np.split(R @ np.concatenate(X_0), 2)"}


@cache
def model():
    """Return the posterior of an intercept and a coefficient."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((CASES, 1))
    return LogisticRegression.from_data(x, x[:, 0] + 2 * rng.standard_normal(CASES) > 0, 2.0, 2.0)


@cache
def fit():
    """Return its mode."""
    return map_estimate(model())


def normal_split(mirror):
    """Make one transition of Algorithm 1."""
    normal = split_hmc.normal_approximation(fit())
    return mirror(START, model(), normal, 0.7, 6, np.random.default_rng(0))


def data_split(mirror):
    """Make one transition of Algorithm 2."""
    split = split_hmc.split_data(model(), fit().q, 0.5)
    return mirror(START, model(), split, 0.7, 6, 3, np.random.default_rng(0))


def point(name, here):
    """Return q and H, for which U is evaluated; their real parts, where R is complex."""
    q, p = here["q"], here["p"]
    return np.real([*q, U(q, model()) + p @ p / 2]).tolist()


def fails(ours, theirs):
    """Say what the printed R does."""
    imaginary, error = np.abs(theirs.known["R"].imag).max(), float(f"{theirs.result[2].real:.2g}")
    return (f"The printed R has imaginary parts of up to {imaginary:.2g}, and the real part of H"
            f" changes by {error:g} along the trajectory, by {ours.result[2]:.2g} with ours.")


def plane(at):
    """Return the picture of a trajectory over the posterior."""
    return Picture("plane", at, point, ("q_1", "q_2", "H"),
                   lambda: contours(lambda q: U(q, model()), BOX, LEVELS))


RUNS = [
    Run("A1", f"One transition of six steps for the intercept and the coefficient of {CASES}"
        " cases.", split_hmc.normal_split_step, (split_hmc.metropolis,), normal_split,
        plane((("normal_split_step", "L2"), ("normal_split_step", "L9"))),
        (Replay("test_line_1_is_the_flow", fails, split_hmc.normal_split_step, LINES_1_AND_7,
                {"printed_R": printed_R}),)),
    Run("A2", f"One transition of six steps with three inner ones each; half of the {CASES} cases"
        " are in R_0.", split_hmc.data_split_step, (split_hmc.metropolis,), data_split,
        plane((("data_split_step", "L1"), ("data_split_step", "L9")))),
]
