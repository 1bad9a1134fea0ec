"""Logistic regression in groups of cases, whose weights have a normal prior of common variance v.

    p(w, v | D) is proportional to prod_ij sigma(y_ij w_i'x_ij) prod_i N(w_i | 0, v I) Exp(v | lam)

Source      Zhang and Sutton (2014), Section 5.2.

theta is w, group after group in the sorted order of their labels, and phi is (gamma,), gamma = log
v, whose density has the Jacobian v.  A case enters the likelihood through y_ij x_ij only, which is
what the model keeps, column after column: a gradient reads it twice, for the margins y w'x and for
the weighted sum, and takes one exponential a case.

M_theta is block diagonal.  With B_i = V_i diag(b_i) V_i', found once, that of group i is

    M_i = B_i + e^-gamma I = V_i diag(b_i + e^-gamma) V_i'

so that for a new gamma no matrix is factorised.  By default B_i = X_i'X_i / 4, which bounds the
Hessian of group i's minus log likelihood from above, whatever w_i.  M_gamma is constant, by
default half the number of weights: the expectation of the second derivative of -log p(w | gamma).

Departures
----------
Zhang and Sutton (2014), Section 5.2
    theirs  prod_i prod_j stands before all three factors
    ours    one Exp(v | lam), one N(w_i | 0, v I) a group, the likelihood for each case
    why     the text has one v, and one w_i for each group: brackets are left out, no more; read
            as it stands, the product would have the prior of v once for each case
    test    test_section_5_2_one_prior_a_group_and_one_of_v
Zhang and Sutton (2014), Section 5.2
    theirs  G_i = Cov(x) + exp(gamma) I
    ours    the mass B_i + exp(-gamma) I, B_i = X_i'X_i / 4; as a precision its inverse
    why     the prior's Hessian is I / v; Cov(x) does not know how many cases there are
    test    test_section_5_2_the_mass_of_a_group_bounds_its_hessian
Zhang and Sutton (2014), Section 5.2
    theirs  the reparametrisation gamma = log v, without a word of its Jacobian
    ours    the density of gamma is v Exp(v | lam)
    why     p(gamma) = p(v) dv / dgamma
    test    test_section_5_2_the_prior_of_gamma_is_the_exponential_of_v
Zhang and Sutton (2014), Section 5.2
    theirs  the metric of group i in RMHMC is the "Fisher Information matrix for model parameter
            w_i", without a word of the prior; Section 3 has that of the posterior
    ours    I(x, theta) + exp(-gamma) I, the prior's precision added
    why     a group of fewer cases than weights has a singular Fisher information
    test    test_section_5_2_the_fisher_information_of_a_small_group_is_singular

Notation
--------
paper        here          shape         meaning
w            theta         (n,)          weights of all groups, n = groups p
w_i          w             (p,)          of one group
gamma        phi[0]        ()            log v
lambda       lam           ()            rate of the exponential prior of v
y_ij x_ij    X[:, c]       (p,)          covariates of case c with the sign of its class
             margin        (N,)          y_ij w_i'x_ij
1 / v        precision     ()            e^-gamma, of the weights
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.fields import Array, Counts, Factor
from models.jit import check_interrupt, njit, public
from models.linalg import PLAIN, TRANSPOSED, routine
from models.logistic_regression import BLOCK, exp_of_minus_abs

dgemv = routine("blas", "dgemv", 11)

CURVATURES = ("bound", "prior")


class HierarchicalLogistic(NamedTuple):
    """The posterior of (w, log v); made by from_data."""

    X: Array("p", "N")  # y x of each case, group after group: a covariate's values are a row
    starts: Counts("groups + 1")  # group i is of the cases starts[i] to starts[i+1] - 1
    lam: float
    V: Array("groups", "p", "p")  # eigenvectors of B_i, V[i][:, k]
    b: Array("groups", "p")  # its eigenvalues, >= 0
    L_phi: Factor(1, 1)  # root of the mass of log v

    @staticmethod
    def from_data(X, y, group, lam=0.01, mass_phi=None, curvature="bound"):
        """Make the model of N cases in groups of any sizes.

        Parameters
        ----------
        X         : (N, p)      covariates, among them the constant one if an intercept is wanted
        y         : (N,)        classes, -1 or +1
        group     : (N,) labels   of the groups: numbers or strings
        lam       : float > 0   rate of the exponential prior of v; default 0.01
        mass_phi  : float > 0, (1, 1) or None   mass of log v; None: half the number of weights
        curvature : B_i of the weights' mass B_i + e^-gamma I.  "bound" (the default): X_i'X_i / 4;
                    "prior": 0; or matrices, (groups, p, p), positive semidefinite, such as
                    `information` at the mode

        Raises ValueError, naming the argument, for anything else.
        """
        X = validate.array("X", X, (-1, -1))
        validate.real("X at its largest", np.abs(X).max(), 0.0, 1e100)  # products are numbers
        y = validate.labels("y", y, X.shape[0])
        number = group_numbers("group", group, X.shape[0])
        order = np.argsort(number, kind="stable")
        signed = np.ascontiguousarray((y[:, None] * X)[order].T)
        starts = np.concatenate([[0], np.cumsum(np.bincount(number))]).astype(np.int64)
        n = X.shape[1] * (starts.size - 1)
        mass = n / 2 if mass_phi is None else mass_phi
        b, V = np.linalg.eigh(bends("curvature", curvature, signed, starts))
        return HierarchicalLogistic(signed, starts, validate.real("lam", lam, 0.0, open_low=True),
                                    np.ascontiguousarray(V), np.maximum(b, 0.0),
                                    validate.mass("mass_phi", mass, 1))


@validate.check_values.register
def check_values(model: HierarchicalLogistic, name):
    """The groups follow each other from the first case to the last, and the B_i are symmetric."""
    if model.starts[0] != 0 or model.starts[-1] != model.X.shape[1] or (
            np.diff(model.starts) < 0).any():
        raise ValueError(f"{name}.starts must ascend from 0 to the number of cases,"
                         f" {model.X.shape[1]}, not {model.starts[:9].tolist()}")
    validate.real(f"{name}.lam", model.lam, 0.0, open_low=True)
    if (model.b < 0.0).any():
        raise ValueError(f"{name}.b must be >= 0, but the smallest is {model.b.min():g}")
    if not np.allclose(model.V @ model.V.swapaxes(1, 2), np.eye(model.V.shape[1]), 0.0, 1e-8):
        raise ValueError(f"{name}.V must hold orthonormal eigenvectors, V[i][:, k], without which"
                         " momentum and velocity are of two masses: make the model by from_data")


def group_numbers(name, value, n):
    """Return the place of each of n labels in the sorted order of the different ones, (n,) int."""
    try:
        labels = np.asarray(value)
    except ValueError:  # a list of lists of different lengths
        labels = np.empty((), object)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.flat):
        labels = labels.astype(str)
    if labels.dtype.kind not in "biufUS" or isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} must be an array of numbers or of strings,"
                         f" not {type(value).__name__} of {labels.dtype}")
    if labels.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), not {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"{name} must be finite, but {np.sum(~np.isfinite(labels))} of its {n}"
                         " entries are not")
    return np.unique(labels, return_inverse=True)[1]


def bends(name, value, X, starts):
    """Return B_i of each group, (groups, p, p), positive semidefinite; X as the model has it."""
    groups, p = starts.size - 1, X.shape[0]
    if isinstance(value, str):
        if value not in CURVATURES:
            raise ValueError(f"{name} must be one of {CURVATURES} or an array, not"
                             f" {validate.shown(value)}")
        share = 0.25 if value == "bound" else 0.0
        parts = (X[:, start:end] for start, end in pairwise(starts))
        return np.array([share * part @ part.T for part in parts])
    B = validate.array(name, value, (groups, p, p))
    B = np.array([validate.covariance(f"{name}[{i}]", B[i]) for i in range(groups)])
    low = np.linalg.eigvalsh(B)[:, 0]
    if np.any(low < -1e-10 * np.abs(B).max()):  # rounding of whatever computed it
        raise ValueError(f"{name} must be positive semidefinite, but has eigenvalue {low.min():g}")
    return B


class HierarchicalLogisticPhi(NamedTuple):
    """What depends on gamma alone, computed once."""

    phi: np.ndarray  # (1,)
    precision: float  # e^-gamma
    spread: np.ndarray  # (n,) eigenvalues of M_theta, b + e^-gamma


class HierarchicalLogisticTheta(NamedTuple):
    """What depends on w alone, computed once."""

    theta: np.ndarray  # (n,)
    squares: float  # w'w


class GroupGivenV(NamedTuple):
    """The conditional density of one group's weights: a model for any sampler.

    Its metric is the Fisher information at w plus the prior's precision, the Hessian of U.
    """

    model: HierarchicalLogistic
    i: int  # which group
    precision: float  # 1 / v


@validate.dimension.register
def dimension(given: GroupGivenV):
    """The weights of a group."""
    return given.model.X.shape[0]


@validate.check_values.register
def check_group(given: GroupGivenV, name):
    """There is such a group, and its weights have a proper prior."""
    validate.count(f"{name}.i", given.i, 0)
    if given.i >= len(given.model.b):
        raise ValueError(f"{name}.i must be less than the number of groups, {len(given.model.b)},"
                         f" not {given.i}")
    validate.real(f"{name}.precision", given.precision, 0.0, open_low=True)


# The likelihood of the groups first, ..., last - 1, of which theta holds the weights.  BLAS is told
# the stride of X, so that a group's columns are not copied.


@njit
def margins(theta, model, first, last):
    """y w'x of each case, one group after the other; zeros fill the last block of BLOCK."""
    p, N = model.X.shape
    offset = model.starts[first]
    cases = model.starts[last] - offset
    theta, margin = np.ascontiguousarray(theta), np.zeros(cases + -cases % BLOCK)
    flag, size = np.array([PLAIN], np.uint8), np.array([0, p, N, 1], np.int32)
    height, width, stride, one_by_one = size[:1], size[1:], size[2:], size[3:]
    one, zero = np.ones(1), np.zeros(1)
    for i in range(first, last):
        start = model.starts[i]
        size[0] = model.starts[i + 1] - start
        dgemv(flag.ctypes, height.ctypes, width.ctypes, one.ctypes, model.X[0, start:].ctypes,
              stride.ctypes, theta[(i - first) * p :].ctypes, one_by_one.ctypes, zero.ctypes,
              margin[start - offset :].ctypes, one_by_one.ctypes)
    return margin


@njit
def add_sums(r, model, first, last, g):
    """Add sum_j r_ij y_ij x_ij to each group's part of g, (groups p,).  r: as of margins."""
    p, N = model.X.shape
    flag, size = np.array([TRANSPOSED], np.uint8), np.array([0, p, N, 1], np.int32)
    height, width, stride, one_by_one = size[:1], size[1:], size[2:], size[3:]
    one = np.ones(1)
    for i in range(first, last):
        start = model.starts[i]
        size[0] = model.starts[i + 1] - start
        dgemv(flag.ctypes, height.ctypes, width.ctypes, one.ctypes, model.X[0, start:].ctypes,
              stride.ctypes, r[start - model.starts[first] :].ctypes, one_by_one.ctypes,
              one.ctypes, g[(i - first) * p :].ctypes, one_by_one.ctypes)


@njit
def minus_log_likelihood(theta, model, first, last):
    """sum log(1 + exp(-margin)), the logs of a block by one of their product: it is below 2^32."""
    margin = margins(theta, model, first, last)
    cases = model.starts[last] - model.starts[first]
    e, power = np.empty(BLOCK), np.empty(BLOCK)
    bits = power.view(np.int64)
    total = 0.0
    for start in range(0, cases, BLOCK):
        block = margin[start : start + BLOCK]
        exp_of_minus_abs(block, e, power, bits)
        product = 1.0
        for c in range(min(BLOCK, cases - start)):
            total += max(-block[c], 0.0)
            product *= 1.0 + e[c]
        total += math.log(product)
    return total


@njit
def add_likelihood_gradient(theta, model, first, last, g):
    """Add the gradient of minus_log_likelihood, -sum y x / (1 + exp(margin)), to g, (groups p,)."""
    margin = margins(theta, model, first, last)
    e, power = np.empty(BLOCK), np.empty(BLOCK)
    bits = power.view(np.int64)
    for start in range(0, margin.size, BLOCK):
        block = margin[start : start + BLOCK]
        exp_of_minus_abs(block, e, power, bits)
        for c in range(BLOCK):
            block[c] = -(e[c] if block[c] > 0.0 else 1.0) / (1.0 + e[c])
    add_sums(margin, model, first, last, g)


@njit
def case_curvatures(margin):
    """Return s (1 - s) and its derivative s (1 - s) (1 - 2 s), s = 1 / (1 + exp(-margin))."""
    second, third = np.empty(margin.size), np.empty(margin.size)
    power = np.empty(BLOCK)
    bits = power.view(np.int64)
    for start in range(0, margin.size, BLOCK):
        block, e = margin[start : start + BLOCK], second[start : start + BLOCK]
        slope = third[start : start + BLOCK]
        exp_of_minus_abs(block, e, power, bits)
        for c in range(BLOCK):
            tilt = (1.0 - e[c]) / (1.0 + e[c])
            e[c] = e[c] / ((1.0 + e[c]) * (1.0 + e[c]))
            slope[c] = -e[c] * tilt if block[c] > 0.0 else e[c] * tilt
    return second, third


@njit
def weighted_gram(model, i, r):
    """sum_j r_ij x_ij x_ij' of group i, (p, p), exactly symmetric.  r: (cases of it,) or more."""
    X = model.X[:, model.starts[i] : model.starts[i + 1]]
    weighted = np.empty(X.shape)
    for k in range(X.shape[0]):
        for c in range(X.shape[1]):
            weighted[k, c] = X[k, c] * r[c]
    A = weighted @ np.ascontiguousarray(X).T
    for k in range(A.shape[0]):
        for c in range(k):
            A[c, k] = A[k, c]
    return A


def check_information(theta, model):
    """Check the arguments of information."""
    model = validate.instance("model", model, HierarchicalLogistic,
                              "from HierarchicalLogistic.from_data")
    model = validate.model("model", model)
    return validate.array("theta", theta, (model.b.size,)), model


@public(check_information)
@njit
def information(theta, model):
    """Fisher information of each group at theta: the Hessian of its minus log likelihood.

    theta : (n,) weights of all groups    model : HierarchicalLogistic    -> (groups, p, p)
    Raises ValueError, naming the argument, for anything else.
    """
    groups, p = model.b.shape
    found = np.empty((groups, p, p))
    for i in range(groups):
        check_interrupt()
        margin = margins(theta[i * p : (i + 1) * p], model, i, i + 1)
        found[i] = weighted_gram(model, i, case_curvatures(margin)[0])
    return found


# The hierarchical model


@interface.U.register(HierarchicalLogistic)
def U(q, model):
    """sum log(1 + exp(-margin)) + e^-gamma w'w / 2 + n gamma / 2 + lam e^gamma - gamma."""
    Phi = precompute_phi(q[-1:], model)
    return U_theta(q[:-1], Phi, model) + U_prior(Phi.phi, model)


@interface.grad_U.register(HierarchicalLogistic)
def grad_U(q, model):
    """The gradients of U_theta and of U_phi."""
    theta, gamma = q[:-1], q[-1]
    g = np.exp(-gamma) * q
    g[-1] = (model.b.size - np.exp(-gamma) * (theta @ theta)) / 2 + model.lam * np.exp(gamma) - 1.0
    add_likelihood_gradient(theta, model, 0, model.starts.size - 1, g)
    return g


@interface.sizes.register(HierarchicalLogistic)
def sizes(model):
    """How many groups times covariates, and 1."""
    return model.b.size, 1


@interface.precompute_phi.register(HierarchicalLogistic)
def precompute_phi(phi, model):
    """e^-gamma and the eigenvalues of M_theta."""
    precision = np.exp(-phi[0])
    return HierarchicalLogisticPhi(phi, precision, model.b.reshape(-1) + precision)


@interface.precompute_theta.register(HierarchicalLogistic)
def precompute_theta(theta, model):
    """w'w."""
    return HierarchicalLogisticTheta(theta, theta @ theta)


@interface.U_theta.register(HierarchicalLogistic)
def U_theta(theta, Phi, model):
    """sum log(1 + exp(-margin)) + e^-gamma w'w / 2 + n gamma / 2."""
    return (minus_log_likelihood(theta, model, 0, model.starts.size - 1)
            + Phi.precision * (theta @ theta) / 2 + theta.size * Phi.phi[0] / 2)


@interface.grad_U_theta.register(HierarchicalLogistic)
def grad_U_theta(theta, Phi, model):
    """e^-gamma w_i - sum_j y_ij x_ij / (1 + exp(margin))."""
    g = Phi.precision * theta
    add_likelihood_gradient(theta, model, 0, model.starts.size - 1, g)
    return g


@interface.U_prior.register(HierarchicalLogistic)
def U_prior(phi, model):
    """lam e^gamma - gamma."""
    return model.lam * np.exp(phi[0]) - phi[0]


@interface.U_phi.register(HierarchicalLogistic)
def U_phi(Phi, Theta, model):
    """e^-gamma w'w / 2 + n gamma / 2 + lam e^gamma - gamma."""
    return (Phi.precision * Theta.squares / 2 + model.b.size * Phi.phi[0] / 2
            + U_prior(Phi.phi, model))


@interface.grad_U_phi.register(HierarchicalLogistic)
def grad_U_phi(Phi, Theta, model):
    """-e^-gamma w'w / 2 + n / 2 + lam e^gamma - 1."""
    return np.array([(model.b.size - Phi.precision * Theta.squares) / 2
                     + model.lam * np.exp(Phi.phi[0]) - 1.0])


@interface.grad_U2.register(HierarchicalLogistic)
def grad_U2(Phi, Theta, r_theta, model):
    """The gradient of U_phi, and that of sum u^2 / (2 s) + sum log(s) / 2.

    u = V'r_theta, and s = b + e^-gamma has the derivative -e^-gamma.
    """
    g = grad_U_phi(Phi, Theta, model)
    u, total = rotate(r_theta, model, PLAIN), 0.0
    for k in range(u.size):
        per = 1.0 / Phi.spread[k]
        total += (u[k] * u[k] * per - 1.0) * per
    g[0] += Phi.precision * total / 2
    return g


@njit
def rotate(x, model, flag):
    """V_i'x_i of each group i if `flag` is PLAIN, V_i x_i if TRANSPOSED.  (n,)."""
    groups, p = model.b.shape
    x, turned = np.ascontiguousarray(x), np.empty(x.size)
    flag, size = np.array([flag], np.uint8), np.array([p, 1], np.int32)
    one_by_one, one, zero = size[1:], np.ones(1), np.zeros(1)
    for i in range(groups):
        dgemv(flag.ctypes, size.ctypes, size.ctypes, one.ctypes, model.V[i].ctypes, size.ctypes,
              x[i * p :].ctypes, one_by_one.ctypes, zero.ctypes, turned[i * p :].ctypes,
              one_by_one.ctypes)
    return turned


@interface.momentum_theta.register(HierarchicalLogistic)
def momentum_theta(z, Phi, model):
    """V (b + e^-gamma)^1/2 z."""
    return rotate(np.sqrt(Phi.spread) * z, model, TRANSPOSED)


@interface.velocity_theta.register(HierarchicalLogistic)
def velocity_theta(r_theta, Phi, model):
    """V (b + e^-gamma)^-1 V'r_theta."""
    return rotate(rotate(r_theta, model, PLAIN) / Phi.spread, model, TRANSPOSED)


@interface.log_det_theta.register(HierarchicalLogistic)
def log_det_theta(Phi, model):
    """sum log(b + e^-gamma)."""
    return np.log(Phi.spread).sum()


# One group


@interface.U.register(GroupGivenV)
def group_U(w, given):
    """sum_j log(1 + exp(-margin)) + w'w / (2 v)."""
    return (minus_log_likelihood(w, given.model, given.i, given.i + 1)
            + given.precision * (w @ w) / 2)


@interface.grad_U.register(GroupGivenV)
def group_grad_U(w, given):
    """w / v - sum_j y_j x_j / (1 + exp(margin))."""
    g = given.precision * w
    add_likelihood_gradient(w, given.model, given.i, given.i + 1, g)
    return g


@interface.metric.register(GroupGivenV)
def group_metric(w, given):
    """sum_j s_j (1 - s_j) x_j x_j' + I / v, which is the Hessian of U too."""
    margin = margins(w, given.model, given.i, given.i + 1)
    G = weighted_gram(given.model, given.i, case_curvatures(margin)[0])
    for k in range(w.size):
        G[k, k] += given.precision
    return G


@interface.metric_gradient.register(GroupGivenV)
def group_metric_gradient(w, given):
    """[k] is sum_j s_j (1 - s_j) (1 - 2 s_j) y_j x_jk x_j x_j'."""
    third = case_curvatures(margins(w, given.model, given.i, given.i + 1))[1]
    start, end = given.model.starts[given.i], given.model.starts[given.i + 1]
    dG = np.empty((w.size, w.size, w.size))
    for k in range(w.size):
        dG[k] = weighted_gram(given.model, given.i,
                              third[: end - start] * given.model.X[k, start:end])
    return dG
