"""The SoftAbs metric: the Hessian of U with the absolute values of its eigenvalues, made smooth.

    G = Q diag(lambda coth(alpha lambda)) Q',   Q diag(lambda) Q' = d^2 U / dq dq'

Paper       M. Betancourt (2012), "A general metric for Riemannian manifold Hamiltonian Monte
            Carlo", arXiv 1212.4693, with which Zhang and Sutton (2014), Section 5.1, compare
            semi-separable HMC on the funnel.

G is positive definite wherever U is twice differentiable: lambda coth(alpha lambda) is above
|lambda| and above 1 / alpha, which it tends to at lambda = 0, and tends to |lambda| far from it.

SoftAbs.from_model(model, alpha) is a model for algorithms/generalised_leapfrog.py.  It takes
O(d^3) operations for the metric and 8 d^4 for its derivatives, the definition written out.

Contracted.from_model(model, alpha) is the same metric, for reproduce/zhang/contracted.py, which
gives it another gradient of H, of O(d^3) operations.  The gradient of the Hamiltonian by q_n has
the derivatives dG_n = Q (J o Q' T_n Q) Q' in two places only, T_n being the derivative of the
Hessian by q_n, and in both they can be contracted first: with w = G^-1 p, u = Q' w and f_i =
f(lambda_i),

    tr(G^-1 dG_n) = sum_i J_ii (Q' T_n Q)_ii / f_i           = < T_n, Q diag(J_ii / f_i) Q' >
    w' dG_n w     = sum_ij u_i u_j J_ij (Q' T_n Q)_ij        = < T_n, Q (J o u u') Q' >

where < A, B > is the sum of A_ij B_ij.  So one matrix serves all n: determinant_factor takes
one product of d x d matrices, 2 d^3 operations, square_factor two, and `contract` 2 d^3, where the
derivatives take 4 products for each of d directions, 8 d^4.  At d = 101 the second line takes
8 d^4 / 6 d^3, 135 times less; what is left is mostly the eigenvectors' 9 d^3 or so.

Notation
--------
mathematics          here         shape      meaning
alpha                alpha        ()         hardness: no eigenvalue of G is below 1 / alpha
lambda               values       (d,)       eigenvalues of the Hessian
Q                    Q            (d, d)     its eigenvectors, in columns
f(lambda)            soft_abs     ()         lambda coth(alpha lambda) = g(alpha lambda) / alpha
g(z), g'(z)          soft, slope  ()         z coth z; coth z - z / sinh^2 z
J_ij                 J            (d, d)     (f(lambda_i) - f(lambda_j)) / (lambda_i - lambda_j), or
                                             f'(lambda_i) where the two are equal
dG / dq_i                         (d, d)     Q (J o Q' (d^3 U / dq dq' dq_i) Q) Q'
T_n                  third[n]     (d, d)     d^3 U / dq dq' dq_n, derivatives of the Hessian
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.interface import U, grad_U, hessian, hessian_gradient, metric, metric_gradient
from models.jit import njit
from models.linalg import eigh

SMALL = 1e-2  # coth z - z / sinh^2 z has a relative error of 1e-12 there, the series of 3e-15
NEAR = 1e-2  # eigenvalues times alpha so near to each other count as confluent


class SoftAbs(NamedTuple):
    """A model with the SoftAbs metric; made by from_model."""

    model: NamedTuple  # any with U, grad_U, hessian and hessian_gradient
    alpha: float

    @staticmethod
    def from_model(model, alpha):
        """Give `model` the SoftAbs metric of hardness alpha.

        model : NamedTuple   with U, grad_U, hessian and hessian_gradient
        alpha : float > 0

        Raises ValueError, naming the argument, for anything else.
        """
        for wanted in (U, grad_U, hessian, hessian_gradient):
            if type(model) not in wanted.implementations:
                raise ValueError(f"model must have {wanted.__name__} (models/interface.py), but"
                                 f" {type(model).__name__} has none")
        model = validate.model("model", model)
        return SoftAbs(model, validate.real("alpha", alpha, 0.0, open_low=True))


class Contracted(NamedTuple):
    """The same metric, for reproduce/zhang/contracted.py; made by from_model."""

    model: NamedTuple
    alpha: float

    @staticmethod
    def from_model(model, alpha):
        """Do as SoftAbs.from_model, with the same errors."""
        return Contracted(*SoftAbs.from_model(model, alpha))


@validate.dimension.register(SoftAbs)
@validate.dimension.register(Contracted)
def dimension(given):
    """As many as the model has."""
    return validate.dimension(given.model)


@validate.written.register(SoftAbs)
@validate.written.register(Contracted)
def written(given):
    """The gradient of U, and the third derivatives."""
    return [(grad_U, given.model), (hessian_gradient, given.model)]


@validate.check_values.register(SoftAbs)
@validate.check_values.register(Contracted)
def check_values(given, name):
    """The model has the functions that are needed, and the hardness is positive."""
    validate.implements(f"{name}.model", given.model, U, grad_U, hessian, hessian_gradient)
    validate.real(f"{name}.alpha", given.alpha, 0.0, open_low=True)


@njit
def soft(z):
    """z coth z, 1 at z = 0."""
    return z / np.tanh(z) if z != 0.0 else 1.0


@njit
def slope(z):
    """Derivative of z coth z; coth^2 z - 1 is 1 / sinh^2 z, and does not overflow."""
    if abs(z) < SMALL:
        return z * (2 / 3 - z * z * (4 / 45 - z * z * 4 / 315))
    coth = 1 / np.tanh(z)
    return coth - z * (coth * coth - 1)


@njit
def divided_difference(a, b):
    """(soft(a) - soft(b)) / (a - b), the mean of `slope` between a and b, which need not differ.

    Where they are nearly equal that mean is taken by Gauss's rule of two points, whose error is
    |a - b|^4 / 4320 times the fifth derivative of `soft`: below 1e-11.
    """
    if abs(a - b) > NEAR:
        return (soft(a) - soft(b)) / (a - b)
    middle, half = (a + b) / 2, (a - b) / (2 * np.sqrt(3.0))
    return (slope(middle - half) + slope(middle + half)) / 2


@U.register(SoftAbs)
def soft_abs_U(q, model):
    """U of the model inside."""
    return U(q, model.model)


@grad_U.register(SoftAbs)
def soft_abs_grad_U(q, model):
    """Gradient of U."""
    return grad_U(q, model.model)


@metric.register(SoftAbs)
def soft_abs_metric(q, model):
    """Q diag(lambda coth(alpha lambda)) Q'; nan where the Hessian is not finite."""
    values, Q, _ = eigh(hessian(q, model.model))
    for k in range(q.size):
        values[k] = soft(model.alpha * values[k]) / model.alpha
    G = (Q * values) @ Q.T
    return (G + G.T) / 2


@metric_gradient.register(SoftAbs)
def soft_abs_metric_gradient(q, model):
    """Q (J o Q' T_i Q) Q' for each i; nan where the Hessian is not finite."""
    d = q.size
    values, Q, _ = eigh(hessian(q, model.model))
    J = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            J[i, j] = divided_difference(model.alpha * values[i], model.alpha * values[j])
    dG = hessian_gradient(q, model.model)
    Q_t = Q.T.copy()
    for i in range(d):
        dG[i] = Q @ (J * (Q_t @ dG[i] @ Q)) @ Q_t
    return dG


@njit
def spectrum(q, model):
    """Return (values, Q, J): f(lambda), the eigenvectors and the divided differences, (d, d)."""
    d = q.size
    values, Q, _ = eigh(hessian(q, model.model))
    J = np.empty((d, d))
    for i in range(d):
        for j in range(i + 1):
            J[i, j] = divided_difference(model.alpha * values[i], model.alpha * values[j])
            J[j, i] = J[i, j]
    for i in range(d):
        values[i] = soft(model.alpha * values[i]) / model.alpha
    return values, Q, J


@njit
def determinant_factor(values, Q, J):
    """Q diag(J_ii / f_i) Q': its product with T_n is tr(G^-1 dG_n), the gradient of log |G|."""
    return (Q * (np.diag(J) / values)) @ Q.T


@njit
def square_factor(Q, J, w):
    """Q (J o u u') Q', u = Q'w: its product with T_n is w' dG_n w."""
    u = w @ Q
    A = J * u
    for i in range(u.size):
        A[i] *= u[i]
    return Q @ A @ Q.T


@njit
def contract(third, A):
    """Return < T_n, A > for each n.  (d,)."""
    d = third.shape[0]
    return third.reshape(d, d * d) @ np.ascontiguousarray(A).reshape(d * d)


contracted_U = U.register(Contracted)(soft_abs_U.py_func)
contracted_grad_U = grad_U.register(Contracted)(soft_abs_grad_U.py_func)
contracted_metric = metric.register(Contracted)(soft_abs_metric.py_func)
contracted_metric_gradient = metric_gradient.register(Contracted)(soft_abs_metric_gradient.py_func)
