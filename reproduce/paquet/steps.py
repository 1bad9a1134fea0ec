"""Runs of the mirrors of Paquet and Fraccaro (2016) on two or three cases, for their page."""

from functools import cache

import numpy as np

from algorithms.ais import RMHMCMirror, ais_run, geometric_ladder
from algorithms.ep import ep
from algorithms.paquet_rmhmc import derivatives, hamiltonian_and_gradient, riemann_metric, rmhmc
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.interface import U
from reproduce.harness.recording import Picture, Replay, Run, contours

# the paper's lines, which the tests of the departures put in place of ours as well
LINE_18 = {"L18": """
    dL_dx = (beta * dell_dx + beta * solve_lower_transposed(L_K, f)
             - (1 - beta) * solve_lower_transposed(L_Sigma, f_))"""}
LINES_6_TO_9 = {
    "L6-7": "r = -z**2 / 2 - LOG_2_PI / 2 - log_Phi_of(z)\nlam = z * np.exp(r) + np.exp(2 * r)",
    "L9": "dg = y * (1 - x**2) * np.exp(r) - 3 * x * np.exp(2 * r) - 2 * y * np.exp(3 * r)"}

BOX = (-2.2, 3.2, -3.2, 2.2)
LEVELS = (0.25, 1.0, 2.25, 4.0)


@cache
def problem(N, amplitude=0.7):
    """Return K and y of N cases on a line, the labels alternating."""
    X = 0.7 * np.arange(N).reshape(N, 1)
    return squared_exponential(X, X, 0.0, amplitude), np.where(np.arange(N) % 2, -1.0, 1.0)


@cache
def halfway_model():
    """Return the density halfway between EP's Gaussian and the posterior of two cases."""
    K, y = problem(2)
    return GPClassification.from_ep(K, y, ep(K, y), 0.5)


@cache
def from_prior():
    """Return the posterior of two cases, to be annealed from the prior."""
    return GPClassification.from_prior(*problem(2))


def change(outcome):
    """Return by how much H changes along a transition."""
    return outcome.result.energy_error[0]


RUNS = [
    Run("A1", "One transition of three leapfrog steps for two cases with the labels +1 and -1,"
        " halfway between EP's Gaussian and the posterior (beta = 0.5).",
        rmhmc, (hamiltonian_and_gradient, riemann_metric, derivatives), lambda mirror: mirror(
            np.array([1.6, 0.4]), halfway_model(), 3, 0.6, 1, np.random.default_rng(4), 5),
        Picture("plane", (("rmhmc", "L8"), ("rmhmc", "L28")),
                lambda name, here: [*here["x"], here["H"]], ("x_1", "x_2", "H"),
                lambda: contours(lambda x: U(x, halfway_model()), BOX, LEVELS)),
        (Replay("test_line_18_is_the_gradient_of_line_17", lambda ours, theirs: (
            f"With the printed sign dL_beta/dx is not the gradient of L_beta: H changes by"
            f" {change(theirs):.3g} along the trajectory, by {change(ours):.2g} with ours."),
            derivatives, LINE_18),)),
    Run("A3", "The metric where both labels are wrong by 400, as at samples from the paper's"
        " prior.", riemann_metric, (), lambda mirror: mirror(
            np.array([-400.0, 400.0]), from_prior()), replays=(
        Replay("test_lines_6_to_9_keep_their_digits_far_from_the_data", lambda ours, theirs: (
            f"The printed differences keep no digit: dg_1 is {theirs.result[4][0]:.3g} for"
            f" {ours.result[4][0]:.3g}."), riemann_metric, LINES_6_TO_9),)),
    Run("ais.ais_run", "One run from the prior to the posterior of two cases, over five"
        " temperatures, with a transition of Algorithm 1 at each.", ais_run, (rmhmc,),
        lambda mirror: mirror(from_prior(), geometric_ladder(5, 1e-2), RMHMCMirror(0.7, 2, 3),
                              np.random.default_rng(2)),
        Picture("plane", (("ais_run", "L2"), ("ais_run", "L5")),
                lambda name, here: [*here["x"], here["log_w"]], ("x_1", "x_2", "log w"),
                lambda: contours(lambda x: U(x, from_prior()), BOX, LEVELS))),
    Run("ep.ep", "Two sweeps over three cases with the labels +1, -1 and +1.", ep, (),
        lambda mirror: mirror(*problem(3), 1e-8, 2, 1.0),
        Picture("sites", (("ep", "L11"), ("ep", "L15")),  # the site, then its marginals
                lambda name, here: [here["i"], *here["mu"], *np.sqrt(np.diag(here["Sigma"]))],
                ("n", "f_n", ""))),
]
