"""Which settings are tried on hierarchical logistic regression, Section 5.2 of Zhang and Sutton.

The paper states the six leapfrogs of both blocks of RMHMC within Gibbs, and nothing else.
"""

from itertools import product

from reproduce.zhang.logistic import DROPPED, PRIOR
from reproduce.zhang.printed import GIBBS, HMC, LOGISTIC
from reproduce.zhang.tuning import efficiency, outside, pick

SIX = {"L_theta": LOGISTIC["L_theta"], "L_phi": LOGISTIC["L_phi"]}
# without jitter; times of 1.6 and 3.0, that of half a period is pi
TRAP = {name: dict(eps_theta=eps, eps_phi=0.27, **SIX)
        for name, eps in (("six of 0.27", 0.27), ("six of 0.5", 0.5))}
HMC_GRID = {"paper": ((0.08, 0.1, 0.12), (6, 10, 15, 25, 50, 100, 200)),
            "short": ((0.08, 0.1), (6, 10, 25)), "smoke": ((0.1,), (3, 6))}
# eps_theta, eps_phi
GIBBS_GRID = {"paper": ((0.2, 0.27, 0.4, 0.55, 0.72, 0.78), (0.27, 1.4, 1.85)),
              "short": ((0.27, 0.75), (0.27, 1.85)), "smoke": ((0.27,), (1.4,))}
# n_theta with ratio, eps_phi, L; the ratio is the time that H_1 travels over that of H_2
SSHMC_GRID = {"paper": (((1, 1), (1, 2), (2, 1), (2, 2)), (0.7, 0.9, 1.1, 1.4), (2, 3, 4, 6, 10)),
              "short": (((1, 1), (2, 1)), (0.8, 1.1), (3, 6)),
              "smoke": (((1, 1), (2, 1)), (0.8,), (2,))}
PRIOR_GRID = {"paper": (((2, 1), (4, 1), (8, 1)), (0.5, 0.8, 1.1), (2, 3, 4, 6, 10)),
              "short": (((2, 1), (4, 1)), (0.5, 0.8), (3, 6)), "smoke": (((4, 1),), (0.5,), (2,))}
DROPPED_GRID = {"paper": ((0.4, 0.55, 0.65), (2, 3, 4), (1.4, 1.9), (1, 2)),
                "short": ((0.55,), (2, 4), (1.9,), (1, 2)), "smoke": ((0.5,), (2,), (1.4,), (1,))}


def grid(method, mass, budget):
    """Return all settings of a method that are tried."""
    if method == HMC:
        return [{"eps": eps, "L": L} for eps, L in product(*HMC_GRID[budget])]
    if method == GIBBS:
        return [dict(eps_theta=a, eps_phi=b, **SIX) for a, b in product(*GIBBS_GRID[budget])]
    if method == DROPPED:
        return [dict(eps_theta=a, L_theta=n, eps_phi=b, L_phi=m)
                for a, n, b, m in product(*DROPPED_GRID[budget])]
    return [dict(eps_theta=ratio * eps / (2 * n_theta), eps_phi=eps, L=L, n_theta=n_theta, n_phi=1)
            for (n_theta, ratio), eps, L in product(
                *(PRIOR_GRID if mass == PRIOR else SSHMC_GRID)[budget])]


def steps(method, setting):
    """Say what a setting has that the paper does not state, but for step sizes of SSHMC and HMC."""
    if method == GIBBS:
        return f"eps {setting['eps_theta']:g} and {setting['eps_phi']:g}"
    return f"L {setting['L']}" + (
        f", n_theta {setting['n_theta']}" if "n_theta" in setting else "")


def scan(method, tried):
    """Return {steps: setting}: the most efficient one of each whose rate is in the paper's range.

    tried : list   of pilot(); if no rate is in the range, what the rule picks stands alone
    """
    inside = [found for found in tried if outside(found) == 0] or [pick(tried)]
    best = {}
    for found in sorted(inside, key=efficiency):  # the last one stays
        best[steps(method, found["setting"])] = found["setting"]
    return dict(sorted(best.items()))


def weight(setting):
    """Return about how long a transition takes, in gradients, for the progress bar."""
    if setting.get("L_theta") == 6:
        return 1200
    return setting.get("L", setting.get("L_theta")) * (2 * setting.get("n_theta", 0) + 1)
