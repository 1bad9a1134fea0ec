"""Runs of the mirrors of Zhang and Sutton (2014) on the funnel of two variables, for their page."""

import numpy as np

from algorithms.zhang_sshmc import H1, hamiltonian, leapfrog, sshmc_step
from models.funnel import Funnel
from models.interface import U
from reproduce.harness.recording import Picture, Replay, Run, contours
from reproduce.zhang.printed_formulas import PRINTED, as_printed

# the paper's line, which a test of the departures puts in place of ours as well
THIRD_LEAPFROG = {"L5": """
    H_1 = H1(model, precompute_phi(phi_l, model), r_phi_l)
    theta_l, r_theta_l = leapfrog(theta_l, r_theta_l, H_1, eps / 2)"""}

MODEL = Funnel.from_size(2, 1.0)
BOX, LEVELS = (-4.0, 4.0, -4.0, 6.5), (0.5, 1.5, 3.0)


def transition(mirror, model=MODEL):
    """Make one transition."""
    return mirror(np.array([0.7, -0.4]), np.array([0.0]), model, 0.4, 6, np.random.default_rng(3))


def point(name, here):
    """Return x_1, v and H, where a leapfrog ends or the trajectory begins."""
    if name == "sshmc_step":
        theta, phi, model = here["theta"], here["phi"], here["model"]
        r_theta, r_phi = here["r_theta"], here["r_phi"]
    elif isinstance(here["H"], H1):
        theta, r_theta, H = here["z"], here["r"], here["H"]
        phi, r_phi, model = H.Phi.phi, H.r_phi, H.model
    else:
        phi, r_phi, H = here["z"], here["r"], here["H"]
        theta, r_theta, model = H.Theta.theta, H.r_theta, H.model
    return [theta[0], phi[0], hamiltonian(theta, phi, r_theta, r_phi, model)]


def worst(outcome):
    """Return by how much H differs at most from where it began."""
    values = [point[2] for _, point in outcome.track]
    return max(abs(value - values[0]) for value in values)


RUNS = [
    Run("A1", "One transition of six ABLA steps for the funnel of x_1, x_2 and v.", sshmc_step,
        (leapfrog,), transition,
        Picture("plane", (("sshmc_step", "L1"), ("leapfrog", "L4")), point, ("x_1", "v", "H"),
                lambda: contours(lambda q: U(q, Funnel.from_size(1)), BOX, LEVELS)),
        (Replay("test_the_third_leapfrog_starts_where_the_first_ended", lambda ours, theirs: (
            f"The first leapfrog's way is lost: H is off by up to {worst(theirs):.2g}, by"
            f" {worst(ours):.2g} with ours."), sshmc_step, THIRD_LEAPFROG),
         Replay("test_equation_5_the_sign_of_the_log_determinant", lambda ours, theirs: (
             f"The printed sign drives v away: it ends at {theirs.track[-1][1][1]:.3g}, at"
             f" {ours.track[-1][1][1]:.3g} with ours."), call=lambda mirror: transition(
                 mirror, as_printed(2, mass_phi=1.0, **PRINTED["Z1"]))))),
]
