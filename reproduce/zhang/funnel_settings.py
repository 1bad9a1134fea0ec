"""Which settings are tried on the funnel of Zhang and Sutton (2014), Section 5.1.

Of SSHMC's the paper says: "2 leapfrog steps for low-level parameters and 1 leapfrog step for the
hyperparameter in ABLA and the same leapfrog step size for the two separable Hamiltonians".  That
has three readings, with n_phi = 1, eps_phi = eps and
    halves     n_theta = 2, eps_theta = eps / 2: what Algorithm 1 calls eps / 2 is the step
    one each   n_theta = 1, eps_theta = eps: two leapfrogs in all, before and after that of v
    two each   n_theta = 2, eps_theta = eps
Other settings are tried for "very beneficial to use multiple steps in each blockwise leapfrog".
They have a ratio: the time that H_1 travels in an ABLA step over that of H_2, 2 in the first two
readings and 4 in the third; it is 1 if ABLA is to be a discretisation of H.
"""

from itertools import product

from reproduce.zhang.printed import GIBBS, HMC, SSHMC
from reproduce.zhang.tuning import efficiency, outside, pick

READINGS = {"halves": (2, 2), "one each": (1, 2), "two each": (2, 4)}  # n_theta, ratio
STEPS = ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2))  # n_theta, n_phi
RATIOS = (1, 2, 4)
LENGTHS = {"paper": (50, 100, 200, 400), "short": (50, 200), "smoke": (3, 6)}
EPS_PHI = {"paper": (0.1, 0.15, 0.2, 0.3), "short": (0.1, 0.2, 0.3), "smoke": (0.2, 0.3)}
HMC_GRID = {"paper": ((0.01, 0.02, 0.04, 0.06, 0.08, 0.12), (50, 200, 800)),
            "short": ((0.02, 0.06, 0.12), (50, 200)), "smoke": ((0.05,), (3, 6))}
# of RMHMC within Gibbs: in units of the standard deviation of x given v, and of v given x
# (0.14, which a mass of n + 1/9 makes 1.4)
GIBBS_GRID = {"paper": ((0.3, 0.4, 0.5, 0.6, 0.7), (1, 2, 3, 5, 10, 20),
                        (1.6, 1.9, 2.2), (1, 2)),
              "short": ((0.5, 0.6), (2, 3), (1.9, 2.2), (1, 2)),
              "smoke": ((0.5,), (2, 3), (2.2,), (1,))}


def sshmc_setting(n_theta, n_phi, ratio, eps_phi, L):
    """Return a setting of SSHMC, by its ratio."""
    return {"eps_theta": ratio * n_phi * eps_phi / (2 * n_theta), "eps_phi": eps_phi, "L": L,
            "n_theta": n_theta, "n_phi": n_phi}


def reading(setting):
    """Return which of READINGS a setting of SSHMC is, or None."""
    for name, (n_theta, ratio) in READINGS.items():
        if setting == sshmc_setting(n_theta, 1, ratio, setting["eps_phi"], setting["L"]):
            return name
    return None


def grid(method, budget, readings=False):
    """Return all settings of a method that are tried; of SSHMC only the `readings` if asked."""
    if method == HMC:
        return [{"eps": eps, "L": L} for eps, L in product(*HMC_GRID[budget])]
    if method == GIBBS:
        return [dict(eps_theta=eps_theta, L_theta=L_theta, eps_phi=eps_phi, L_phi=L_phi)
                for eps_theta, L_theta, eps_phi, L_phi in product(*GIBBS_GRID[budget])]
    found = [sshmc_setting(*steps, ratio, eps, L) for steps, ratio, eps, L in product(
        STEPS, RATIOS, EPS_PHI[budget], LENGTHS[budget])]
    return [setting for setting in found if reading(setting)] if readings else found


def steps(method, setting):
    """Say what a setting has of what the paper does not state, but for the step sizes."""
    if method == GIBBS:
        return f"{setting['L_theta']} and {setting['L_phi']}"
    return f"{reading(setting)}, {setting['L']}" if method == SSHMC else f"{setting['L']}"


def scan(method, tried):
    """Return {steps: setting}: the most efficient one of each whose rate is in the paper's range.

    tried : list   of pilot(); if no rate is in the range, what the rule picks stands alone
    """
    inside = [found for found in tried if outside(found) == 0] or [pick(tried)]
    best = {}
    for found in sorted(inside, key=efficiency):  # the last one stays
        best[steps(method, found["setting"])] = found["setting"]
    return dict(sorted(best.items()))
