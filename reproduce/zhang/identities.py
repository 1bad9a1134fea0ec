"""What zhang_errata.py computes without a chain: volumes, flows, expectations, masses.

Every function returns plain numbers; "Z3" and the like are the errata as printed.
"""

import numpy as np
from scipy.integrate import solve_ivp

from algorithms.zhang_sshmc import abla_step
from models.funnel import Funnel
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import (
    grad_U,
    grad_U2,
    grad_U_phi,
    hessian,
    precompute_phi,
    precompute_theta,
    velocity_theta,
)
from models.log_gaussian_cox import LogGaussianCox
from reproduce.zhang.datasets import MU, RANGE, SIGMA2, load
from reproduce.zhang.printed_formulas import as_printed, third_from_the_start

H = 1e-5  # of central differences
V = 0.1  # where the masses of logistic regression are compared: e^gamma


def point(n, seed):
    """Draw (x, v, r_x, r_v) of the funnel, one vector: v at 0, for typical sizes."""
    return np.insert(np.random.default_rng(seed).standard_normal(2 * n + 1), n, 0.0)


def step(z, model, eps, n_theta=1, third="first"):
    """Take an ABLA step of Algorithm 1 from a vector (x, v, r_x, r_v): eps / 2, eps, eps / 2."""
    n = model.n
    blocks = (z[:n], z[n : n + 1], z[n + 1 : -1], z[-1:])
    abla = abla_step if third == "first" else third_from_the_start("abla_step")
    return np.concatenate(abla(*blocks, model, eps / 2, eps, n_theta, 1))


def jacobian(z, *arguments):
    """Return the Jacobian of `step`, by central differences."""
    return np.column_stack([(step(z + H * e, *arguments) - step(z - H * e, *arguments)) / (2 * H)
                            for e in np.eye(z.size)])


def one_step(n, eps, seed):
    """Find out whether an ABLA step keeps volume, leads back and is symplectic."""
    model, z = Funnel.from_size(n), point(n, seed)
    turned = np.concatenate([np.ones(n + 1), -np.ones(n + 1)])
    there = step(z, model, eps)
    J = jacobian(z, model, eps)
    omega = np.kron([[0, 1], [-1, 0]], np.eye(n + 1))
    return {"volume": abs(np.linalg.det(J) - 1),
            "Z3 volume": abs(np.linalg.det(jacobian(z, model, eps, 1, "printed")) - 1),
            "return": np.abs(turned * step(turned * there, model, eps) - z).max(),
            "symplectic": np.abs(J.T @ omega @ J - omega).max()}


def flow(z, n, time):
    """Follow Hamilton's equations of (3) for the funnel, with masses e^v and n + 1/9, exactly."""
    def rate(_, z):
        x, v, r, r_v = z[:n], z[n], z[n + 1 : -1], z[-1]
        half = (np.exp(v) * (x @ x) - np.exp(-v) * (r @ r)) / 2
        return np.concatenate([np.exp(-v) * r, [r_v / (n + 1 / 9)], -np.exp(v) * x,
                               [-half - v / 9]])

    return solve_ivp(rate, (0, time), z, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]


def errors_of_flow(n, steps, time, seed):
    """Return the distance of ABLA's trajectory from the flow of H, for each eps, 1 or 2 leapfrogs.

    With 2, both halves of H_1 advance by eps, and H_2 by eps once: "eps_1 = 2 eps_2".
    """
    model, z = Funnel.from_size(n), point(n, seed)
    exact, found = flow(z, n, time), {}
    for n_theta in (1, 2):
        ends = []
        for eps in steps:
            end = z
            for _ in range(round(time / eps)):
                end = step(end, model, eps, n_theta)
            ends.append(np.abs(end - exact).max())
        found[str(n_theta)] = ends
    return found


def funnel_masses(n, draws, seed):
    """Compare the masses of the funnel with what they are derived from.

    "Z4" is d^2/dx^2 -log p times G_x, at v = 1; "Z5" the mean curvature of v over its mass; "Z6"
    what is left of d log Z / dv in the gradient of U2: that at x = 0, r = 0, v = 0.
    """
    rng = np.random.default_rng(seed)
    curvature = [hessian(np.append(rng.standard_normal(n) * np.exp(-v / 2), v),
                         Funnel.from_size(n)) for v in 3 * rng.standard_normal(draws)]
    v_v = np.array([A[n, n] for A in curvature])
    x_x = hessian(np.append(np.zeros(n), 1.0), Funnel.from_size(n))[0, 0]

    def left(power):
        model, zero = as_printed(n, power=power), np.zeros(n)
        return grad_U2(precompute_phi(np.zeros(1), model), precompute_theta(zero, model), zero,
                       model)[0]

    # |G_x| = Z^-1 is M_x = Z^(1/n), Z = (2 pi e^-v)^(n/2); |G_x|^(1/2) = Z^-1 would be e^-v too
    return {"Z4": x_x * np.exp(1.0), "x": x_x * np.exp(-1.0),
            "Z5": (v_v / (n + 1 / 9)).tolist(), "v": (v_v / (n / 2 + 1 / 9)).tolist(),
            "Z6": left(-0.5), "Z": left(1.0)}


def condition(mass, A):
    """Return the condition number of mass^-1 A, both symmetric positive definite."""
    values = np.linalg.eigvals(np.linalg.solve(mass, A)).real
    return values.max() / values.min()


def logistic_masses(name):
    """Compare masses of a group's weights with the Hessian at w = 0, over all groups ("Z7").

    There the Hessian is X_i'X_i / 4 + I / v; printed, G_i = Cov(x) + v I.
    """
    data = load(name)
    model = HierarchicalLogistic.from_data(data.X, data.y, data.group)
    groups, p = model.b.shape
    Phi, w = precompute_phi(np.log([V]), model), np.zeros(groups * p + 1)
    w[-1] = np.log(V)
    A = np.column_stack([(grad_U(w + H * e, model) - grad_U(w - H * e, model))[:-1] / (2 * H)
                         for e in np.eye(w.size)[:-1]])
    inverse = np.column_stack([velocity_theta(e, Phi, model) for e in np.eye(groups * p)])
    found = {"Z7": 0.0, "B": 0.0}
    for i, label in enumerate(np.unique(data.group)):
        own = slice(i * p, (i + 1) * p)
        printed = np.cov(data.X[data.group == label].T) + V * np.eye(p)
        found["Z7"] = max(found["Z7"], condition(printed, A[own, own]))
        found["B"] = max(found["B"], condition(np.linalg.inv(inverse[own, own]), A[own, own]))
    return found


def cox_masses(d, draws, seed):
    """Compare masses of the field with its prior's Hessian, and densities of the hyperparameters.

    "Z8" has Sigma for a mass, ours its inverse.  The score of log sigma^2, over d^2, has mean 0
    over fields drawn given it; without the log determinant ("Z9") it has not.
    """
    model = LogGaussianCox.from_counts(np.zeros((d, d)), MU)
    Phi, n = precompute_phi(np.log([SIGMA2, RANGE]), model), d * d
    Sigma = np.column_stack([velocity_theta(e, Phi, model) for e in np.eye(n)])
    precision = np.linalg.inv(Sigma)
    root, rng = np.linalg.cholesky(Sigma), np.random.default_rng(seed)
    prior = grad_U_phi(Phi, precompute_theta(np.full(n, MU), model), model)[0] - n / 2
    score = np.array([grad_U_phi(Phi, precompute_theta(MU + root @ rng.standard_normal(n), model),
                                 model)[0] - prior for _ in range(draws)]) / n
    return {"Z8": condition(Sigma, precision), "M": condition(np.linalg.inv(Sigma), precision),
            "Z9": (score - 0.5).tolist(), "density": score.tolist()}


def logistic_scores(sizes, p, lam, draws, seed):
    """Return the score of gamma over draws from the joint density: its mean is 0 if that is one.

    "Z10" has the exponential once for every case and no Jacobian, as printed; and the normal once
    for every case of a group.
    """
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((group.size, p))
    model = HierarchicalLogistic.from_data(X, np.where(rng.random(group.size) < 0.5, 1.0, -1.0),
                                           group, lam)
    ours, printed = [], []
    for _ in range(draws):
        v = rng.exponential(1 / lam)
        w = v**0.5 * rng.standard_normal((len(sizes), p))
        q = np.append(w.ravel(), np.log(v))
        ours.append(-grad_U(q, model)[-1])  # the likelihood has no gamma
        normal = (w**2).sum(axis=1) / (2 * v) - p / 2
        printed.append(np.sum(sizes * normal) - group.size * lam * v)
    return {"Z10": printed, "joint": ours}
