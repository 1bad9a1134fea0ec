"""The stochastic volatility model of Kim, Shephard and Chib, as Girolami and Calderhead set it up.

    y_t = beta exp(x_t / 2) epsilon_t,    epsilon_t ~ N(0, 1),                  t = 1, ..., T
    x_1 ~ N(0, sigma^2 / (1 - phi^2)),    x_{t+1} ~ N(phi x_t, sigma^2)

Source      Zhang and Sutton (2014), Section 5.3; S. Kim, N. Shephard, S. Chib (1998), "Stochastic
            volatility", Review of Economic Studies 65, 361-393; M. Girolami and B. Calderhead
            (2011), Journal of the Royal Statistical Society B 73, 123-214, Section 8.

theta is x, and the hyperparameters are (b, gamma, alpha) = (log beta, log sigma, atanh phi), with

    -log p(y, x, b, gamma, alpha) = sum_t [y_t^2 exp(-x_t - 2 b) + x_t] / 2 + T b
        + T gamma - log(1 - phi^2) / 2 + exp(-2 gamma) x'Qx / 2                   of x
        - k b + lambda exp(b)                                                     of b
        + 10 gamma + exp(-2 gamma) / 4                                            of gamma
        - 20 log(1 + phi) - 1.5 log(1 - phi)                                      of alpha

where Q is tridiagonal: 1 + phi^2 on its diagonal, 1 in its two corners (1 - phi^2 if T = 1) and
-phi beside it.  The last three lines are the priors and the Jacobians of the transformations.
p(beta) is proportional to beta^(k - 1) exp(-lambda beta), which is 1 / beta for k = lambda = 0;
sigma^2 has the prior Inv-chi^2(nu, tau2), and (phi + 1) / 2 has Beta(ar_a, ar_b); by default these
are the paper's, Inv-chi^2(10, .05) and Beta(20, 1.5).

The mass M = Q / sigma^2 + I / 2 of x is the Fisher information of x given the hyperparameters.
M_phi is constant, the identity by default.

All work is O(T) and no difference of close numbers is formed, so that everything keeps its digits
as |phi| tends to 1 and sigma to 0.  With f = |phi|, c = f / sigma^2 and s = (1 - f)^2 / sigma^2 +
1/2, the diagonal of M is 2 c + s, and eliminating from one end gives the pivots c + p_i,

    p_1 = (1 - f) / sigma^2 + 1/2,    p_{i+1} = s + c p_i / (c + p_i)

sums of positive terms (the textbook's 2 c + s - c^2 / pivot cancels).  They tend to c + p with
p^2 = s (p + c), as kappa^(2 i), kappa = c / (c + p): from where that is below rounding, they are
equal.  Elimination starts from both ends, where the pivots are the same, and the two meet in the
middle: half as many pivots, and two recursions of half the length that run side by side.  With
g = 2 p - s, the difference of the two roots of the characteristic equation of the recursion, and
a = p_1 + p - s,

    |M| = (c + p)^(T-1) (a^2 / g) (1 - kappa^(2T-2) (1 - w / a)^2),  w = (1 - phi^2) / sigma^2 + 1/2

Departures
----------
Zhang and Sutton (2014), Section 5.3
    theirs  G_theta is the inverse Hessian of log p(x | alpha, beta, phi, y)
    ours    the mass is the Fisher information Q / sigma^2 + I / 2, as Girolami and Calderhead's
    why     the Hessian is Q / sigma^2 + diag(y_t^2 exp(-x_t)) / (2 beta^2): it depends on x
    test    test_section_5_3_the_mass_of_x_is_the_expected_hessian
Zhang and Sutton (2014), Section 5.3
    theirs  hyperparameters alpha, beta and phi in G_theta, beta, phi and sigma elsewhere
    ours    M depends on sigma and phi, not on beta
    why     the expectation of y_t^2 exp(-x_t) / beta^2 is 1
    test    test_section_5_3_the_mass_of_x_is_the_expected_hessian
Zhang and Sutton (2014), Section 5.3
    theirs  eta_t ~ (0, sigma^2), and pi(beta) pi(phi) phi(sigma)
    ours    N(0, sigma^2), and pi(sigma)
    why     misprints
    test    a label
Girolami and Calderhead's program
    theirs  beta ~ Exp(1)
    ours    p(beta) is proportional to 1 / beta, as printed in both papers; Exp(1) is beta_shape =
            beta_rate = 1
    why     it is another posterior (their gradients, twice too large for the prior of phi and
            without Jacobians, only lower the acceptance rate)
    test    test_the_prior_of_log_beta_is_flat

Notation
--------
paper            here             shape    meaning
y_t              log_squares      (T,)     log y_t^2, less its maximum `level`; -inf where y_t = 0
x                theta, x         (T,)     log volatilities
beta, sigma, phi phi              (3,)     log beta, log sigma, atanh phi
phi              C.ar             ()       autoregression; C.size is |phi|
1 - |phi|        C.gap            ()       and C.product is 1 - phi^2
1 / sigma^2      C.precision      ()
lambda, k        beta_rate, beta_shape     of the prior of beta
                 drift, kick               x + eps M^-1 r and r - eps grad U, in place
"""

from typing import NamedTuple

import numpy as np

from models import interface, validate
from models.fields import Array, Factor
from models.jit import njit
from models.logistic_regression import BLOCK, exp_of_minus_abs

DIGITS = 39.0  # exp(-DIGITS) is below the rounding of 1
CHUNK = 8 * BLOCK  # observations
LANES = 8  # sums that run side by side, so that they can be vectorised


class StochasticVolatility(NamedTuple):
    """The posterior of (x, log beta, log sigma, atanh phi); made by from_data."""

    log_squares: Array("T", finite=False)  # log y_t^2 - level, at most 0: -inf for 0
    level: float  # the largest log y_t^2
    beta_shape: float
    beta_rate: float
    nu: float  # sigma^2 ~ Inv-chi^2(nu, tau2), scaled
    tau2: float
    ar_a: float  # (phi + 1) / 2 ~ Beta(ar_a, ar_b)
    ar_b: float
    L_phi: Factor(3, 3)  # Cholesky factor of the mass of the hyperparameters

    @staticmethod
    def from_data(y, mass_phi=None, beta_shape=0.0, beta_rate=0.0, nu=10.0, tau2=0.05, ar_a=20.0,
                  ar_b=1.5):
        """Make the model of T >= 1 observations.

        Parameters
        ----------
        y          : (T,)         finite, not all zero, since beta then has no posterior.  With even
                                  one zero the posterior is improper: exp(-x_t / 2) has an infinite
                                  mean over the tail of sigma.  A chain is likely to reach that tail
                                  only if many observations are zero
        mass_phi   : float > 0, (3, 3) or None   mass of the hyperparameters; None: the identity
        beta_shape, beta_rate : float >= 0   p(beta) is proportional to
                                  beta^(shape - 1) exp(-rate beta).  0 and 0, the default, give
                                  the paper's 1 / beta, which is improper; 1 and 1 give Exp(1).  A
                                  positive shape needs a positive rate
        nu, tau2   : float > 0    sigma^2 ~ Inv-chi^2(nu, tau2): nu is the number of observations
                                  that the prior is worth, tau2 about the variance that it expects
        ar_a, ar_b : float > 0    (phi + 1) / 2 ~ Beta(ar_a, ar_b)

        Raises ValueError, naming the argument, for anything else.
        """
        y = validate.array("y", y, (-1,))
        if not y.any():
            raise ValueError("y must not be zero throughout: beta has no posterior distribution")
        with np.errstate(divide="ignore"):
            log_squares = 2.0 * np.log(np.abs(y))
        shape = validate.real("beta_shape", beta_shape, 0.0)
        rate = validate.real("beta_rate" + " of a positive beta_shape" * (shape > 0.0), beta_rate,
                             0.0, open_low=shape > 0.0)
        level = float(log_squares.max())
        prior = {"nu": nu, "tau2": tau2, "ar_a": ar_a, "ar_b": ar_b}
        return StochasticVolatility(
            log_squares - level, level, shape, rate,
            *(validate.real(name, value, 0.0, open_low=True) for name, value in prior.items()),
            validate.mass("mass_phi", 1.0 if mass_phi is None else mass_phi, 3))


@validate.check_values.register
def check_values(model: StochasticVolatility, name):
    """The priors are such as from_data takes; a negative number makes them no densities."""
    shape = validate.real(f"{name}.beta_shape", model.beta_shape, 0.0)
    validate.real(f"{name}.beta_rate", model.beta_rate, 0.0, open_low=shape > 0.0)
    for field in ("nu", "tau2", "ar_a", "ar_b"):
        validate.real(f"{name}.{field}", getattr(model, field), 0.0, open_low=True)


class Coefficients(NamedTuple):
    """sigma and phi in the forms that are needed, each with all its digits."""

    ar: float  # phi
    side: float  # its sign, 1 for 0
    size: float  # |phi|
    gap: float  # 1 - |phi|
    product: float  # 1 - phi^2
    log_product: float
    precision: float  # 1 / sigma^2


@njit
def coefficients(phi):
    """Return the Coefficients of (log beta, log sigma, atanh phi)."""
    e = np.exp(-2.0 * abs(phi[2]))
    ar = np.tanh(phi[2])
    gap = 2.0 * e / (1.0 + e)
    return Coefficients(ar, 1.0 if phi[2] >= 0.0 else -1.0, abs(ar), gap, 2.0 * gap / (1.0 + e),
                        2.0 * (np.log(2.0) - abs(phi[2]) - np.log1p(e)),
                        np.exp(-2.0 * phi[1]))


class Pivots(NamedTuple):
    """Scalars of the elimination of M: see the header."""

    c: float  # minus the entries beside the diagonal, if phi > 0
    s: float
    first: float  # p_1
    limit: float  # p
    carry: float  # p - s = c p / (c + p)
    log_kappa: float


@njit
def pivots(C):
    """Return the Pivots of the mass with these Coefficients."""
    c, s = C.precision * C.size, C.precision * C.gap * C.gap + 0.5
    p = (s + np.sqrt(s) * np.sqrt(s + 4.0 * c)) / 2.0
    return Pivots(c, s, C.precision * C.gap + 0.5, p, c / (c + p) * p, np.log1p(-p / (c + p)))


class VolatilityPhi(NamedTuple):
    """What depends on the hyperparameters alone, computed once."""

    phi: np.ndarray  # (3,)
    C: Coefficients
    P: Pivots
    inverse: np.ndarray  # (T // 2,) 1 / pivot, from both ends
    middle: float  # pivot of entry T // 2


class Squares(NamedTuple):
    """Sums of squares of a series v of length T."""

    first: float  # v_1^2
    last: float  # v_T^2
    body: float  # sum of v_t^2, t < T
    rises: float  # sum of (v_{t+1} - v_t)^2
    sums: float  # sum of (v_{t+1} + v_t)^2


class VolatilityTheta(NamedTuple):
    """What depends on x alone, computed once."""

    theta: np.ndarray  # (T,)
    scaled: float  # sum of y_t^2 exp(-x_t - level)
    squares: Squares


# Loops over the series, a chunk after the other, which stays in the cache


@njit
def scratch():
    """Return what `exponentials` needs: z, e, power, bits; and zeros to add e up in."""
    power = np.empty(BLOCK)
    return np.empty(CHUNK), np.empty(CHUNK), power, power.view(np.int64), np.zeros(CHUNK)


@njit
def exponentials(x, start, shift, model, z, e, power, bits):
    """Write exp(log_squares - x - shift) of the chunk at `start` into e; return how many.

    For y_t = 0 it is 3e-308 rather than 0.  So are up to BLOCK - 1 entries after the end of x.
    """
    size = min(CHUNK, x.size - start)
    data, part = model.log_squares[start : start + size], x[start : start + size]
    for i in range(size):
        z[i] = data[i] - part[i] - shift
    padded = size + -size % BLOCK
    z[size:padded] = -np.inf
    for k in range(0, padded, BLOCK):
        exp_of_minus_abs(z[k:], e[k:], power, bits)
    for i in range(padded):
        e[i] = 1.0 / e[i] if z[i] > 0.0 else e[i]
    return padded


@njit
def sum_of_exponentials(x, shift, model):
    """sum_t exp(log_squares_t - x_t - shift)."""
    z, e, power, bits, lanes = scratch()
    for start in range(0, x.size, CHUNK):
        for i in range(exponentials(x, start, shift, model, z, e, power, bits)):
            lanes[i] += e[i]
    return lanes.sum()


@njit
def kick(x, r, eps, phi, C, model):
    """Subtract eps times the gradient of U_theta from r; return the sum of all y^2 e^(-x - 2b).

    With f = |phi| and the sign s of phi, a row of Q x is (1 - f)^2 x_t + f (x_t - s x_{t-1}) +
    f (x_t - s x_{t+1}); the first and the last are (1 - f) x_t + f (x_t - s x_{t+-1}).
    """
    n = x.size
    z, e, power, bits, lanes = scratch()
    shift, half = 2.0 * phi[0] - model.level, eps / 2.0
    own, coupling, side = eps * C.precision * C.gap * C.gap, eps * C.precision * C.size, C.side
    for start in range(0, n, CHUNK):
        for i in range(exponentials(x, start, shift, model, z, e, power, bits)):
            lanes[i] += e[i]
        part = r[start : start + CHUNK]
        for i in range(part.size):
            part[i] -= half - half * e[i]
        low, high = max(start, 1), min(start + CHUNK, n - 1)
        here, before, after = x[low:high], x[low - 1 : high - 1], x[low + 1 : high + 1]
        part = r[low:high]
        for i in range(part.size):
            part[i] -= own * here[i] + coupling * ((here[i] - side * before[i])
                                                   + (here[i] - side * after[i]))
    if n == 1:
        r[0] -= eps * C.precision * C.product * x[0]
    else:
        edge = eps * C.precision * C.gap
        r[0] -= edge * x[0] + coupling * (x[0] - side * x[1])
        r[n - 1] -= edge * x[n - 1] + coupling * (x[n - 1] - side * x[n - 2])
    return lanes.sum()


@njit
def solve(r, w, Phi):
    """Overwrite w by M^-1 r: elimination from both ends, and substitution from the middle."""
    n, m, inverse = r.size, Phi.inverse.size, Phi.inverse
    c = Phi.P.c * Phi.C.side
    h = n - 1 - m  # entries after the middle; before it m, as many or one more
    top = bottom = factor = 0.0
    for i in range(h):
        top, bottom = r[i] + factor * top, r[n - 1 - i] + factor * bottom
        w[i], w[n - 1 - i] = top, bottom
        factor = c * inverse[i]
    middle = r[m] + factor * bottom
    for i in range(h, m):
        top = r[i] + factor * top
        w[i] = top
        factor = c * inverse[i]
    top = bottom = w[m] = (middle + factor * top) / Phi.middle
    for i in range(m - 1, h - 1, -1):
        top = w[i] = inverse[i] * w[i] + c * inverse[i] * top
    for i in range(h - 1, -1, -1):
        factor = c * inverse[i]
        top = w[i] = inverse[i] * w[i] + factor * top
        bottom = w[n - 1 - i] = inverse[i] * w[n - 1 - i] + factor * bottom


@njit
def drift(x, r, eps, w, Phi):
    """Add eps M^-1 r to x, and leave M^-1 r in w."""
    solve(r, w, Phi)
    for i in range(x.size):
        x[i] += eps * w[i]


@njit
def squares(v):
    """Return the Squares of a series."""
    n = v.size
    lanes = np.zeros((3, LANES))
    body, rises, sums = lanes[0], lanes[1], lanes[2]
    for start in range(0, n - 1, LANES):
        end = min(start + LANES, n - 1)
        here, after = v[start:end], v[start + 1 : end + 1]
        for i in range(end - start):
            body[i] += here[i] * here[i]
            rises[i] += (after[i] - here[i]) * (after[i] - here[i])
            sums[i] += (after[i] + here[i]) * (after[i] + here[i])
    return Squares(v[0] * v[0], v[n - 1] * v[n - 1], body.sum(), rises.sum(), sums.sum())


@njit
def quadratic(S, C):
    """Return v'Qv, and its derivative with respect to phi, from the Squares of v.

    f sum (v_{t+1} - s v_t)^2 + (1 - f) (f v_1^2 + v_T^2) + (1 - f)^2 sum_{t<T} v_t^2.
    """
    neighbours = S.rises if C.side > 0.0 else S.sums
    return (C.size * neighbours + C.gap * (C.size * S.first + S.last) + C.gap * C.gap * S.body,
            C.side * (neighbours - S.last - (C.size - C.gap) * S.first - 2.0 * C.gap * S.body))


# The mass


@njit
def log_determinant(C, P, n):
    """log |M|."""
    a, w = P.first + P.carry, C.precision * C.product + 0.5
    return ((n - 1) * np.log(P.c + P.limit) + 2.0 * np.log(a) - np.log(P.limit + P.carry)
            + np.log(remainder(P, a, w, n)))


@njit
def remainder(P, a, w, n):
    """1 - kappa^(2n-2) (1 - w / a)^2, with all its digits where it is small."""
    log_root = (n - 1) * P.log_kappa if n > 1 else 0.0
    ratio = -w / a if P.limit > P.first else -(P.limit + P.carry) / a  # 1 + it is |1 - w / a|
    return -np.expm1(2.0 * (log_root + np.log1p(ratio)))


@njit
def derivative_of_log_determinant(C, P, n, d_precision, d_size):
    """Derivative of log |M| from those of 1 / sigma^2 and |phi| along a coordinate."""
    q, f, c, p = C.precision, C.size, P.c, P.limit
    d_c, d_first = d_precision * f + q * d_size, d_precision * C.gap - q * d_size
    d_s = d_precision * C.gap * C.gap - 2.0 * q * C.gap * d_size
    d_w = d_precision * C.product - 2.0 * q * f * d_size
    g = p + P.carry
    d_p = (d_s * (c + p) + P.s * d_c) / g
    d_g = 2.0 * d_p - d_s
    a, d_a, w = P.first + P.carry, d_first + d_p - d_s, q * C.product + 0.5
    total = (n - 1) * (d_c + d_p) / (c + p) + 2.0 * d_a / a - d_g / g
    # of 1 - (kappa^(n-1) |b|)^2 with b = 1 - w / a, which is -1 + g / a too
    if p > P.first:
        b, d_b = (p - P.first) / a, (w * d_a / a - d_w) / a
    else:
        b, d_b = (p - P.first) / a, (d_g - g * d_a / a) / a
    d_square = 2.0 * b * d_b
    if n > 1:
        d_kappa = (d_c * p - c * d_p) / (c + p) / (c + p)
        d_square = (np.exp((2 * n - 2) * P.log_kappa) * d_square
                    + 2.0 * (n - 1) * np.exp((2 * n - 3) * P.log_kappa) * d_kappa * b * b)
    return total - d_square / remainder(P, a, w, n)


@interface.precompute_phi.register(StochasticVolatility)
def precompute_phi(phi, model):
    """Coefficients, and the pivots of M until they are all equal."""
    n = model.log_squares.size
    m = n // 2
    C = coefficients(phi)
    P = pivots(C)
    inverse = np.empty(m)
    steps = 1.0 - DIGITS / (2.0 * P.log_kappa)
    different = int(steps) + 1 if steps < m else m
    p, carry, before = P.first, 0.0, 0.0
    for i in range(min(different, m)):
        inverse[i] = 1.0 / (P.c + p)
        before, carry = carry, P.c * p * inverse[i]
        p = P.s + carry
    if different < m:
        inverse[different:] = 1.0 / (P.c + P.limit)
        before = carry = P.carry
    if n == 1:
        middle = C.precision * C.product + 0.5
    elif n == 2:
        middle = P.first + carry
    else:
        middle = P.s + carry + (carry if n % 2 else before)
    return VolatilityPhi(phi, C, P, inverse, middle)


@interface.momentum_theta.register(StochasticVolatility)
def momentum_theta(z, Phi, model):
    """N D^(1/2) z with M = N D N': N is 1 on its diagonal and has one entry more in a column."""
    n, m = z.size, Phi.inverse.size
    c = Phi.P.c * Phi.C.side
    r = np.empty(n)
    r[m] = np.sqrt(Phi.middle) * z[m]
    for i in range(m):
        r[i] = z[i] / np.sqrt(Phi.inverse[i])
    for i in range(n - 1 - m):
        r[n - 1 - i] = z[n - 1 - i] / np.sqrt(Phi.inverse[i])
    for i in range(m - 1, -1, -1):  # towards the ends: what is still to be read is unchanged
        r[i + 1] -= c * Phi.inverse[i] * r[i]
    for i in range(n - 2 - m, -1, -1):
        r[n - 2 - i] -= c * Phi.inverse[i] * r[n - 1 - i]
    return r


@interface.velocity_theta.register(StochasticVolatility)
def velocity_theta(r_theta, Phi, model):
    """M^-1 r, by elimination from both ends."""
    w = np.empty(r_theta.size)
    solve(r_theta, w, Phi)
    return w


@interface.log_det_theta.register(StochasticVolatility)
def log_det_theta(Phi, model):
    """log |M|, in closed form."""
    return log_determinant(Phi.C, Phi.P, model.log_squares.size)


# The density


@njit
def minus_log_x(b, gamma, total, quadratic_form, x_sum, C, n):
    """-log p(y, x | b, gamma, alpha) from its sums."""
    return (total / 2.0 + x_sum / 2.0 + n * (b + gamma) - C.log_product / 2.0
            + C.precision * quadratic_form / 2.0)


@interface.sizes.register(StochasticVolatility)
def sizes(model):
    """T, and 3."""
    return model.log_squares.size, 3


@interface.precompute_theta.register(StochasticVolatility)
def precompute_theta(theta, model):
    """The sums over the series that the density of the hyperparameters depends on."""
    return VolatilityTheta(theta, sum_of_exponentials(theta, 0.0, model), squares(theta))


@interface.U_theta.register(StochasticVolatility)
def U_theta(theta, Phi, model):
    """The first two lines of the density in the header."""
    b, gamma = Phi.phi[0], Phi.phi[1]
    return minus_log_x(b, gamma, sum_of_exponentials(theta, 2.0 * b - model.level, model),
                       quadratic(squares(theta), Phi.C)[0], theta.sum(), Phi.C, theta.size)


@interface.grad_U_theta.register(StochasticVolatility)
def grad_U_theta(theta, Phi, model):
    """1/2 - y_t^2 exp(-x_t - 2 b) / 2 + (Qx)_t / sigma^2."""
    g = np.zeros(theta.size)
    kick(theta, g, -1.0, Phi.phi, Phi.C, model)
    return g


@interface.U_prior.register(StochasticVolatility)
def U_prior(phi, model):
    """The last three lines of the density in the header."""
    b, gamma, alpha = phi
    return (-model.beta_shape * b + model.beta_rate * np.exp(b)
            + model.nu * gamma + model.nu * model.tau2 / 2.0 * np.exp(-2.0 * gamma)
            - model.ar_a * log_of_one_plus_tanh(alpha) - model.ar_b * log_of_one_plus_tanh(-alpha))


@njit
def log_of_one_plus_tanh(a):
    """log(1 + tanh a) for any a."""
    return np.log(2.0) + min(2.0 * a, 0.0) - np.log1p(np.exp(-2.0 * abs(a)))


@njit
def gradient_of_hyperparameters(phi, total, square, slope, C, model):
    """Gradient of U with respect to phi: `total` is the sum of y^2 e^(-x-2b), x'Qx and x'Q'x."""
    n = model.log_squares.size
    less, more = (C.gap, 1.0 + C.size) if C.side > 0.0 else (1.0 + C.size, C.gap)  # 1 -+ phi
    return np.array([
        n - total - model.beta_shape + model.beta_rate * np.exp(phi[0]),
        n - C.precision * square + model.nu - model.nu * model.tau2 * C.precision,
        C.ar + C.precision * C.product * slope / 2.0 - model.ar_a * less + model.ar_b * more])


@interface.U_phi.register(StochasticVolatility)
def U_phi(Phi, Theta, model):
    """All terms of the density that depend on the hyperparameters."""
    b, gamma = Phi.phi[0], Phi.phi[1]
    return U_prior(Phi.phi, model) + minus_log_x(
        b, gamma, Theta.scaled * np.exp(model.level - 2.0 * b),
        quadratic(Theta.squares, Phi.C)[0], 0.0, Phi.C, Theta.theta.size)


@interface.grad_U_phi.register(StochasticVolatility)
def grad_U_phi(Phi, Theta, model):
    """The gradient of U_phi."""
    square, slope = quadratic(Theta.squares, Phi.C)
    return gradient_of_hyperparameters(
        Phi.phi, Theta.scaled * np.exp(model.level - 2.0 * Phi.phi[0]), square, slope, Phi.C,
        model)


@interface.grad_U2.register(StochasticVolatility)
def grad_U2(Phi, Theta, r_theta, model):
    """Add the gradients of r'M^-1 r / 2, which is -w'dM w / 2 with w = M^-1 r, and of log |M| / 2.

    dM is -2 Q / sigma^2 for log sigma, and (1 - phi^2) Q' / sigma^2 for atanh phi.
    """
    C, n = Phi.C, r_theta.size
    square, slope = quadratic(squares(velocity_theta(r_theta, Phi, model)), C)
    g = grad_U_phi(Phi, Theta, model)
    g[1] += (C.precision * square
             + derivative_of_log_determinant(C, Phi.P, n, -2.0 * C.precision, 0.0) / 2.0)
    g[2] += (-C.precision * C.product * slope / 2.0
             + derivative_of_log_determinant(C, Phi.P, n, 0.0, C.side * C.product) / 2.0)
    return g


@interface.U.register(StochasticVolatility)
def U(q, model):
    """The density in the header, of q = (x, log beta, log sigma, atanh phi)."""
    x, phi = q[:-3], q[-3:]
    C = coefficients(phi)
    return U_prior(phi, model) + minus_log_x(
        phi[0], phi[1], sum_of_exponentials(x, 2.0 * phi[0] - model.level, model),
        quadratic(squares(x), C)[0], x.sum(), C, x.size)


@interface.grad_U.register(StochasticVolatility)
def grad_U(q, model):
    """The gradient of U, with one exponential for each t."""
    x, phi, g = q[:-3], q[-3:], np.zeros(q.size)
    C = coefficients(phi)
    total = kick(x, g[:-3], -1.0, phi, C, model)
    square, slope = quadratic(squares(x), C)
    g[-3:] = gradient_of_hyperparameters(phi, total, square, slope, C, model)
    return g


# RMHMC within Gibbs


@interface.metric_phi.register(StochasticVolatility)
def metric_phi(Phi, Theta, model):
    """Fisher information of the hyperparameters for y and x, and the prior's second derivatives."""
    C, n = Phi.C, model.log_squares.size
    G = np.zeros((3, 3))
    G[0, 0] = 2.0 * n + model.beta_rate * np.exp(Phi.phi[0])
    G[1, 1] = 2.0 * n + 2.0 * model.nu * model.tau2 * C.precision
    G[1, 2] = G[2, 1] = 2.0 * C.ar
    G[2, 2] = 2.0 * C.ar * C.ar + (n - 1 + model.ar_a + model.ar_b) * C.product
    return G


@interface.metric_gradient_phi.register(StochasticVolatility)
def metric_gradient_phi(Phi, Theta, model):
    """Return the derivatives of metric_phi; d phi / d alpha is 1 - phi^2."""
    C, n = Phi.C, model.log_squares.size
    D = np.zeros((3, 3, 3))
    D[0, 0, 0] = model.beta_rate * np.exp(Phi.phi[0])
    D[1, 1, 1] = -4.0 * model.nu * model.tau2 * C.precision
    D[2, 1, 2] = D[2, 2, 1] = 2.0 * C.product
    D[2, 2, 2] = 2.0 * C.ar * C.product * (2.0 - (n - 1 + model.ar_a + model.ar_b))
    return D
