"""Six kinds of problems: from a user's data to a model, and from its draws to predictions.

    problem = gp_regression(X, y)                # X: array, list or DataFrame of numbers
    found = run(slice_sampling, problem.fit().q, problem.model, w=2.0, n=2000, rng=rng)
    print(problem.predict(found, X_new).mean)

Covariates are standardised by mean and standard deviation of each column, and so is every new case,
whose columns are found by their names if both are DataFrames.  Responses of a regression are
standardised too, and `predict` undoes it.  A classifier takes labels of any two values and keeps
them in `classes`: probabilities are of the second.  `found` is what sampling.run.run gives back,
with draws of all chains; they may be of NonCentred(problem.model), and of a Gaussian-process
classifier of NonCentredGP(problem.model).  `parameters` says what the variables are, and `labels`
names each, for sampling.summary.summary(found, problem).
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import norm
from scipy.optimize import brentq, minimize
from scipy.special import expit, ndtr

from algorithms.ep_fast import ep
from algorithms.map_estimate import map_estimate
from algorithms.rivals.bridge_sampling import bridge_sampling
from algorithms.rivals.elliptical_slice import elliptical_slice, log_L
from models import validate
from models.covariance import squared_exponential
from models.gp_classification import GPClassification
from models.gp_regression import KINDS, GPRegression, predict_over
from models.hierarchical_gp_classification import HierarchicalGPClassification
from models.hierarchical_logistic import HierarchicalLogistic
from models.interface import grad_U, log_likelihood, precompute_phi
from models.log_gaussian_cox import LogGaussianCox
from models.logistic_regression import LogisticRegression
from models.non_centred import NonCentred, theta_of
from models.non_centred_gp import NonCentredGP, latent
from models.stochastic_volatility import StochasticVolatility
from sampling.run import check_model_of, run, same, variables_of

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)  # of expectations over N(0, 1)
# FIRST_KERNELS: noise and length; FIRST_PHI: log length less that of the root of p, log amplitude.
# Fits begin with several, because from one length they often end where all is noise
FIRST_KERNELS = (0.1, 0.5), (0.5, 3.0), (0.1, 0.15), (0.1, 0.05)
FIRST_PHI = (0.0, 0.0), (-1.0, 1.0), (-2.0, 1.0), (-3.0, 1.0), (-4.0, 1.0)
ROUNDING = 1e-14  # of what is constant but for that, relative to its largest entry
PIECE = 2_000_000  # numbers in memory at once, where predictions are averaged over draws


class Scale(NamedTuple):
    """What standardises covariates."""

    mean: np.ndarray  # (p,)
    sd: np.ndarray  # (p,)
    names: tuple  # of the columns of a DataFrame; () for an array

    @property
    def labels(self):
        """What each covariate is called, a list of p names."""
        return [str(name) for name in self.names] or [f"X[:, {j}]" for j in range(self.mean.size)]

    def __call__(self, X):
        """Return new cases, (m, p), on the scale of those that the model has."""
        return (validate.array("X", table(X, self.names)[0], (-1, self.mean.size)) - self.mean
                ) / self.sd


def is_missing(value):
    """Tell whether a value is None, nan, or what pandas has in their place."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)  # nan and NaT of any kind
    except (ArithmeticError, TypeError, ValueError):
        return False


def complete(name, values):
    """Return values as an array; raise ValueError if some are missing, and say in which rows."""
    if values is None:
        raise ValueError(f"{name} must be an array or a list, not None")
    rows = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        raise ValueError(f"{name} must not be a masked array: leave out the rows that are masked,"
                         " of all arguments, or fill them in")
    listed = isinstance(validate.regular(name, values), list | tuple)
    given = np.array(values, object) if listed else np.asarray(values)  # before nan becomes text
    if given.dtype.kind in "biuf":  # millions of numbers would take seconds one by one
        gone = np.isnan(np.atleast_1d(given))
        gone = gone.any(axis=tuple(range(1, gone.ndim)))
    else:
        gone = np.array([any(map(is_missing, np.ravel(row))) for row in np.atleast_1d(given)], bool)
    if gone.any():
        rows = np.flatnonzero(gone).tolist()
        raise ValueError(f"{name} must have no missing values, but {len(rows)} of its {len(gone)}"
                         f" rows have some: {str(rows[:5])[:-1]}{', ...' * (len(rows) > 5)}]; leave"
                         " these rows out of all arguments, or fill them in")
    values = np.asarray(values)
    if listed and values.dtype.kind == "U" and not all(isinstance(x, str) for x in given.flat):
        raise ValueError(f"{name} must hold values of one kind, such as numbers or strings, not of"
                         f" {sorted({type(x).__name__ for x in given.flat})}")
    return values


def numbers(name, values, shape):
    """Return real numbers, none of them missing, as a float64 array; -1 in shape: any length."""
    complete(name, values)
    return validate.array(name, values, shape)


def table(X, names=()):
    """Return a table as an (n, p) float64 array, and the names of its columns, if it has names.

    names : of the columns that it must have, in whatever order; they are put into this one
    """
    found = tuple(getattr(X, "columns", ()))
    if not found:
        if getattr(getattr(X, "dtype", None), "names", None):
            raise ValueError("X must be an array of numbers, not of records: make it one by"
                             " numpy.lib.recfunctions.structured_to_unstructured(X)")
        if np.ndim(validate.regular("X", X)) == 1:
            raise ValueError("X must have a row for each case and a column for each covariate, not"
                             f" shape {np.shape(X)}: of one covariate make np.reshape(X, (-1, 1)),"
                             " of one case np.reshape(X, (1, -1))")
        return numbers("X", X, (-1, -1)), ()
    if names and sorted(map(str, found)) != sorted(map(str, names)):
        raise ValueError(
            f"X must have the columns of the data, {list(names)}"
            + "".join(f"; {what} {some}" for what, some in (
                ("add", [name for name in names if name not in found]),
                ("leave out", [name for i, name in enumerate(found)
                               if name not in names or name in found[:i]])) if some))
    at = {str(name): name for name in found}
    if len(at) < len(found):
        raise ValueError(f"X must have columns of different names, not {list(found)}")
    return np.column_stack([numbers(f"X[{name!r}]", X[at[str(name)]], (-1,))
                            for name in names or found]), found


def scale_of(X):
    """Return the Scale of a table, and its cases on it, (n, p).

    Raises ValueError for one case or a constant column.
    """
    X, names = table(X)
    if len(X) == 1:
        raise ValueError("X must have two cases or more, not one: a row for each case")
    constant = np.flatnonzero(np.ptp(X, axis=0) <= ROUNDING * np.abs(X).max(axis=0))
    if constant.size:
        k = int(constant[0])
        raise ValueError(f"X must have no constant column, but column {names[k] if names else k!r}"
                         f" is {X[0, k]:g} throughout: leave it out")
    with np.errstate(over="ignore"):  # of squares
        sd = X.std(axis=0)
    strange = np.flatnonzero(~(np.isfinite(sd) & (sd > 0)))
    if strange.size:
        k = int(strange[0])
        raise ValueError(f"X must have no column whose standard deviation is {sd[k]:g}, as that of"
                         f" column {names[k] if names else k!r} in float64: take other units")
    mean = X.mean(axis=0)
    return Scale(mean, sd, names), (X - mean) / sd


def two_classes(y, n):
    """Return (which is of the second class, (n,) bool; the two labels, sorted)."""
    y = complete("y", y)
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), a label for each row of X, not {y.shape}"
                         + ": take its column" * (y.ndim == 2))
    try:
        classes = np.unique(y)
    except TypeError:
        raise ValueError("y must have labels of one kind, such as numbers or strings, not of"
                         f" {sorted({type(label).__name__ for label in y})}") from None
    if classes.size != 2:
        raise ValueError(f"y must have labels of two values, not of {classes.size}:"
                         f" {classes[:5].tolist()}")
    return y == classes[1], classes


def check_order(X, **others):
    """Raise ValueError if pandas has the rows of X in another order than those of an array."""
    for name, values in others.items():
        both = getattr(X, "index", None), getattr(values, "index", None)
        if not all(hasattr(index, "equals") for index in both):
            continue
        first, second = ([str(label) for label in index] for index in both)
        if first != second and sorted(first) == sorted(second):
            raise ValueError(f"{name} must have its rows in the order of those of X, but the index"
                             f" has another: give {name}.loc[X.index] if it tells which rows belong"
                             f" together, or {name}.to_numpy() if they are in order already")


def average_in_pieces(function, size, *cases):
    """Return the means over draws of function(*cases), (draws, m), of few cases at once.

    size : how many numbers a case takes
    """
    step = max(1, PIECE // size)
    return np.concatenate([function(*(each[k : k + step] for each in cases)).mean(axis=0)
                           for k in range(0, len(cases[0]), step)])


def draws_of(found, name, problem):
    """Return the draws of a variable of all chains, (draws, d), or raise ValueError."""
    draws, d = variables_of(found).get(name), len(problem.labels[name])
    if draws is None or draws.shape[2] != d:
        raise ValueError(f"found must be of this problem, whose {name} has {d} variables, but has "
                         + (f"no {name}" if draws is None else f"{draws.shape[2]}"))
    check_model_of(found, problem)
    return draws.reshape(-1, d)


def blocks_of(found, problem):
    """Return the draws of theta and of phi, (draws, n) and (draws, h).

    Those of q are of problem.model itself, or of NonCentred(problem.model) or NonCentredGP, from
    which theta follows.
    """
    if "theta" in variables_of(found):
        return draws_of(found, "theta", problem), draws_of(found, "phi", problem)
    q, model, n = draws_of(found, "q", problem), problem.model, len(problem.labels["theta"])
    if not isinstance(found.model, NonCentred | NonCentredGP | None):
        return q[:, :n], q[:, n:]
    theta_at = theta_of_gp if isinstance(model, HierarchicalGPClassification) else theta_of
    return np.array([theta_at(each[:n], each[n:], model) for each in q]), q[:, n:]


def theta_of_gp(z, phi, model):
    """Return the function at the cases of a Gaussian-process classifier."""
    return latent(z, precompute_phi(phi, model))


def labels_of_blocks(theta, phi):
    """Return {variable: what each is called} of theta and phi, and of q of non-centred ones."""
    return {"theta": theta, "phi": phi,
            "q": [f"z of {name}" * bool(name) for name in theta] + phi}


def spaced(n, draws):
    """Return the places of at most `draws` of n draws, evenly spaced."""
    return np.linspace(0, n - 1, min(validate.count("draws", draws), n)).astype(int)


class Classes(NamedTuple):
    """Predicted classes of new cases."""

    probability: np.ndarray  # (m,) of classes[1]
    classes: np.ndarray  # (2,)

    @property
    def label(self):
        """The more probable label of each case, (m,)."""
        return self.classes[(self.probability > 0.5).astype(int)]


# Logistic regression


class Logistic(NamedTuple):
    """Logistic regression; made by logistic_regression."""

    model: LogisticRegression
    scale: Scale
    classes: np.ndarray
    parameters = "q is the intercept, then the weights of standardised covariates"

    @property
    def labels(self):
        """{variable: what each of them is called}."""
        return {"q": ["intercept", *self.scale.labels]}

    @property
    def start(self):
        """Where chains may start."""
        return np.zeros(self.model.precision.size)

    def fit(self):
        """Return the mode of the posterior and the Hessian of U there, a MAP."""
        return map_estimate(self.model)

    def predict(self, found, X):
        """Return the Classes of new cases, (m, p): the mean of the probability over the draws."""
        q, Z = draws_of(found, "q", self), self.scale(X)
        return Classes(average_in_pieces(
            lambda Z: expit(q[:, :1] + q[:, 1:] @ Z.T), len(q), Z), self.classes)


def logistic_regression(X, y, sigma_alpha=5.0, sigma_beta=5.0):
    """Make a Logistic of cases X, (n, p), with labels y, (n,).

    sigma_alpha, sigma_beta : float > 0   the prior's standard deviations, of the intercept and of
                                          each weight, of standardised covariates; default 5

    Raises ValueError, naming the argument, for anything else.
    """
    scale, Z = scale_of(X)
    check_order(X, y=y)
    second, classes = two_classes(y, len(Z))
    return Logistic(LogisticRegression.from_data(Z, second, sigma_alpha, sigma_beta), scale,
                    classes)


class GroupedLogistic(NamedTuple):
    """Logistic regression with weights for each group; made by hierarchical_logistic."""

    model: HierarchicalLogistic
    scale: Scale
    classes: np.ndarray
    groups: np.ndarray  # their labels, sorted
    parameters = ("theta is, group after group, the intercept and the weights of standardised"
                  " covariates; phi is log v, v their variance; of NonCentred, q is theta / v^0.5,"
                  " then phi")

    @property
    def labels(self):
        """{variable: what each of them is called}."""
        return labels_of_blocks([f"{group}: {name}" for group in self.groups
                                 for name in ("intercept", *self.scale.labels)], ["log v"])

    @property
    def start(self):
        """(theta, phi) where chains may start."""
        return np.zeros(self.model.b.size), np.zeros(1)

    def predict(self, found, X, group):
        """Return the Classes of new cases, (m, p), each of a group, (m,), that the data had."""
        Z = self.scale(X)
        check_order(X, group=group)
        group = complete("group", group)
        if group.shape != (len(Z),):
            raise ValueError(f"group must have shape ({len(Z)},), a label for each row of X, not"
                             f" {group.shape}")
        try:
            place = np.searchsorted(self.groups, group).clip(0, self.groups.size - 1)
            strange = np.unique(group[self.groups[place] != group])
        except TypeError:  # labels of a kind that has no order with these
            strange = group
        if strange.size:
            raise ValueError("group must be among those of the data, "
                             f"{self.groups[:5].tolist()}{', ...' * (self.groups.size > 5)}, but"
                             f" holds {strange[:5].tolist()}")
        w = blocks_of(found, self)[0].reshape(-1, *self.model.b.shape)
        Z = np.column_stack([np.ones(len(Z)), Z])
        return Classes(average_in_pieces(
            lambda place, Z: expit(np.einsum("tmp,mp->tm", w[:, place], Z)),
            len(w) * Z.shape[1], place, Z), self.classes)


def hierarchical_logistic(X, y, group, lam=0.01):
    """Make a GroupedLogistic of cases X, (n, p), with labels y, (n,), and groups, (n,).

    lam : float > 0   rate of the exponential prior of the weights' variance v; 0.01 as in Zhang and
                      Sutton

    Raises ValueError, naming the argument, for anything else.
    """
    scale, Z = scale_of(X)
    check_order(X, y=y, group=group)
    second, classes = two_classes(y, len(Z))
    group = complete("group", group)
    try:  # of any kind that has an order
        groups, numbers_of = np.unique(group, return_inverse=True)
    except TypeError:
        raise ValueError("group must have labels of one kind, such as numbers or strings, not of"
                         f" {sorted({type(label).__name__ for label in group.flat})}") from None
    model = HierarchicalLogistic.from_data(np.column_stack([np.ones(len(Z)), Z]), np.where(
        second, 1.0, -1.0), numbers_of.reshape(group.shape), lam)
    return GroupedLogistic(model, scale, classes, groups)


# Gaussian processes


class Responses(NamedTuple):
    """Predicted responses of new cases."""

    mean: np.ndarray  # (m,)
    sd: np.ndarray  # (m,) of a new response, its noise included
    sd_latent: np.ndarray  # (m,) of the function, without noise


class RegressionFit(NamedTuple):
    """The parameters of the largest evidence that was found; chains may start there."""

    q: np.ndarray  # (d,)
    log_Z: float  # the log evidence there: of the standardised responses, given q


class Regression(NamedTuple):
    """Gaussian-process regression; made by gp_regression."""

    model: GPRegression
    scale: Scale
    response: tuple  # mean and deviation of y
    parameters = ("q is log sigma, log eta, log rho_1, ...: noise, amplitude and lengths, in"
                  " exp(-distance^2 / rho^2), of standardised covariates and responses")

    @property
    def labels(self):
        """{variable: what each of them is called}."""
        lengths = [f"log rho of {name}" for name in self.scale.labels]
        return {"q": ["log sigma", "log eta",
                      *(lengths if self.model.mean.size == 2 + len(lengths) else ["log rho"])]}

    @property
    def start(self):
        """Where chains may start."""
        return self.model.mean.copy()

    def fit(self):
        """Return the RegressionFit of the largest evidence that L-BFGS finds from FIRST_KERNELS."""

        def minus(q):
            gradient = grad_U(q, self.model) - self.model.precision * (q - self.model.mean)
            return -log_likelihood(q, self.model), gradient

        h = self.model.mean.size - 2
        found = [minimize(minus, np.log([noise, 1.0] + [length] * h), jac=True, method="L-BFGS-B",
                          bounds=[(-6.0, 6.0)] * (2 + h)) for noise, length in FIRST_KERNELS]
        best = min(found, key=lambda each: each.fun)
        return RegressionFit(best.x, -best.fun)

    def predict(self, found, X, draws=200):
        """Return the Responses of new cases X, (m, p), averaged over `draws` of `found` at most."""
        q = draws_of(found, "q", self)
        return self.responses(q[spaced(len(q), draws)], X)

    def predict_by_fit(self, fit, X):
        """Return the Responses of new cases, (m, p), given the fitted kernel."""
        validate.instance("fit", fit, RegressionFit, "from fit() of this problem")
        q = validate.array("fit.q", fit.q, self.model.mean.shape)
        if not np.isclose(log_likelihood(q, self.model), fit.log_Z, rtol=1e-6, atol=1e-6):
            raise ValueError("fit must be of this problem, but its log_Z is of other data")
        return self.responses(q[None], X, "fit")

    def responses(self, q, X, name="found"):
        """Return the Responses of new cases, (m, p), averaged over q, (draws, d)."""
        seen, (mean, sd) = predict_over(self.scale(X), q, self.model), self.response
        if not np.isfinite(seen.mean).all():
            raise ValueError(f"{name} must have parameters whose covariance of the responses is"
                             " positive definite, but some have none in float64: the responses have"
                             " hardly any noise; leave out cases that are near others")
        return Responses(mean + sd * seen.mean, sd * np.sqrt(seen.noisy), sd * np.sqrt(seen.latent))


def gp_regression(X, y, kind="ard"):
    """Make a Regression of cases X, (n, p), with responses y, (n,).

    kind : "ard", a length for each covariate, or "isotropic", one for all

    The prior of the logarithm of each hyperparameter is N(0, 2^2), and that of the constant that is
    added to the function N(0, 10^2), for data that are standardised.

    Raises ValueError, naming the argument, for anything else.
    """
    scale, Z = scale_of(X)
    check_order(X, y=y)
    y = numbers("y", y, (len(Z),))
    with np.errstate(over="ignore"):  # of squares
        mean, sd = y.mean(), y.std()
    if np.ptp(y) <= ROUNDING * np.abs(y).max():
        raise ValueError(f"y must not be constant, but is {y[0]:g} throughout")
    if not 0 < sd < np.inf:
        raise ValueError(f"y must have a finite standard deviation above 0, not {sd:g} as in"
                         " float64: take other units")
    return Regression(GPRegression.from_data(Z, (y - mean) / sd, kind), scale, (mean, sd))


class Fit(NamedTuple):
    """Expectation propagation with the kernel of the largest evidence that was found."""

    log_length: float
    log_amplitude: float
    log_Z: float  # EP's estimate of the log evidence there
    K: np.ndarray  # (n, n)
    ep: tuple  # what algorithms.ep.ep returns
    y: np.ndarray  # (n,) the labels -1 and +1 that it is of


def by_ep(model, n, rng):
    """Return n draws of EP's normal approximation, (n, cases)."""
    return model.mu + rng.standard_normal((n, model.mu.size)) @ model.L_Sigma.T


class Classifier(NamedTuple):
    """Gaussian-process classification by a probit likelihood; made by gp_classifier."""

    model: HierarchicalGPClassification
    X: np.ndarray  # (n, p) standardised, and divided by `lengths`
    scale: Scale  # does both
    classes: np.ndarray
    lengths: np.ndarray  # (p,) of each covariate, relative to the shortest
    parameters = ("theta is the function at the cases, phi = (log l, log sigma): length, in"
                  " exp(-distance^2 / (2 l^2)), and amplitude, of standardised covariates divided"
                  " by `lengths`")

    @property
    def labels(self):
        """{variable: what each of them is called}."""
        return labels_of_blocks([""] * self.model.y.size, ["log l", "log sigma"])

    @property
    def start(self):
        """(theta, phi) where chains may start."""
        return np.zeros(self.model.y.size), np.zeros(2)

    def kernel(self, phi):
        """Return K at (log l, log sigma), with the model's nugget."""
        phi = validate.array("phi", phi, (2,))
        K = squared_exponential(self.X, self.X, *phi)
        return K + self.model.nugget * np.exp(2 * phi[1]) * np.eye(len(K))

    def evidence(self, phi):
        """Return EP's log Z at (log l, log sigma), and its gradient."""
        phi = validate.array("phi", phi, (2,))
        K = self.kernel(phi)
        log_Z, W = evidence_and_slope(K, self.model.y)
        smooth = squared_exponential(self.X, self.X, *phi)
        derivatives = smooth * self.model.distance * np.exp(-2 * phi[0]), 2 * K
        return log_Z, np.array([np.sum(W * D) for D in derivatives])

    def fit(self):
        """Return the Fit at the largest evidence that L-BFGS finds from any of FIRST_PHI.

        The first length is like the distances of the cases, the others are shorter.  Raises
        RuntimeError if EP does not converge there.
        """
        first = np.array(FIRST_PHI) + np.array([0.5 * np.log(self.X.shape[1]), 0.0])
        ends = [minimize(lambda phi: [-each for each in self.evidence(phi)], begin, jac=True,
                         method="L-BFGS-B", bounds=[(-6.0, 6.0)] * 2).x for begin in first]
        fits = [(phi, K, ep(K, self.model.y)) for phi in ends for K in [self.kernel(phi)]]
        phi, K, last = max(fits, key=lambda fit: (fit[2].converged, fit[2].log_Z))
        if not last.converged:
            raise RuntimeError("EP did not converge at the kernel that was found, log l and log"
                               f" sigma {phi}: look for outliers among the rows of X")
        return Fit(*phi, last.log_Z, K, last, self.model.y)

    def check_fit(self, fit):
        """Raise ValueError for what fit() of this problem does not return."""
        validate.instance("fit", fit, Fit, "from fit() of this problem")
        n = self.model.y.size
        phi = [validate.real(f"fit.{name}", getattr(fit, name)) for name in Fit._fields[:2]]
        for name, value, shape in (("K", fit.K, (n, n)),
                                   ("ep.tau", getattr(fit.ep, "tau", None), (n,))):
            if np.shape(value) != shape:
                raise ValueError(f"fit must be of this problem, of {n} cases, but its {name} has"
                                 f" shape {np.shape(value)}")
        if not (np.array_equal(fit.y, self.model.y) and np.allclose(fit.K, self.kernel(phi))):
            raise ValueError("fit must be of this problem, but it is of other cases or labels")

    def posterior(self, fit):
        """Return the model of the function at the cases whose kernel is the fitted one."""
        self.check_fit(fit)
        return GPClassification.from_ep(fit.K, self.model.y, fit.ep)

    def draws(self, fit, n, rng, **named):
        """Return the Chains of `run`, by elliptical slices, of the function with the fitted kernel.

        They start at draws of EP's normal approximation.  `named` is chains, jobs and bars.
        """
        model = self.posterior(fit)
        chains = validate.count("chains", named.get("chains", 4))
        start = by_ep(model, chains, validate.generator("rng", rng))
        return run(elliptical_slice, start, model, n, rng, **named)

    def given(self, fit, found):
        """Return Chains if they are what draws() returned for this fit, or raise ValueError."""
        if variables_of(found).keys() != {"q"} or not same(found.model, self.posterior(fit)):
            raise ValueError("found must be what draws() of this problem returned for this fit")
        return found

    def check_evidence(self, fit, found, rng):
        """Return the log evidence of the fitted kernel by bridge sampling: log_Z, standard_error.

        found : what draws() returned, chains of 5 draws or more together; as many are drawn from
                EP's normal approximation.  RuntimeWarning if the bridge has not converged
        """
        model = self.posterior(fit)
        at_target = self.given(fit, found).stacked("log_likelihood").ravel()
        at_q = by_ep(model, at_target.size, validate.generator("rng", rng))
        bridge = bridge_sampling(at_target, np.array([log_L(x, model) for x in at_q]))
        if not bridge.converged:
            warnings.warn("bridge sampling has not converged: do not believe its log_Z, and take a"
                          " larger n", RuntimeWarning, stacklevel=2)
        return bridge

    def predict_by_ep(self, fit, X):
        """Return the Classes of new cases by EP's normal approximation, its kernel as fitted."""
        self.check_fit(fit)
        phi = fit.log_length, fit.log_amplitude
        return Classes(self.probability(phi, fit.K, fit.ep, self.scale(X)), self.classes)

    def probability(self, phi, K, sites, Z):
        """Return that of new cases, standardised, given a kernel and EP's approximation for it."""
        root, k = np.sqrt(sites.tau), squared_exponential(self.X, Z, *phi)
        B = np.eye(len(root)) + np.outer(root, root) * K
        b = sites.nu - root * np.linalg.solve(B, root * (K @ sites.nu))
        variance = np.exp(2 * phi[1]) - np.sum(
            k * (root[:, None] * np.linalg.solve(B, root[:, None] * k)), axis=0)
        return ndtr(k.T @ b / np.sqrt(1 + variance))

    def predict(self, found, X, draws=200, fit=None):
        """Return the Classes of new cases, averaged over `draws` functions and kernels at most.

        found : draws of the function and its kernel; or of q = (log l, log sigma) alone, for which
                EP approximates the function
        fit   : if found is what draws() returned for it, which has its kernel
        """
        if fit is not None:
            theta = np.concatenate(self.given(fit, found).variables["q"])
            phi = np.tile([fit.log_length, fit.log_amplitude], (len(theta), 1))
        elif isinstance(getattr(found, "model", None), GPClassification):
            raise ValueError("fit must be given with what draws() returned for it")
        elif variables_of(found).get("q", np.empty(3)).shape[-1] == len(self.labels["phi"]):
            check_model_of(found, self)
            phi, Z = np.concatenate(found.variables["q"]), self.scale(X)
            return Classes(np.mean([
                self.probability(each, K, ep(K, self.model.y), Z)
                for each in phi[spaced(len(phi), draws)] for K in [self.kernel(each)]], axis=0),
                self.classes)
        else:
            theta, phi = blocks_of(found, self)
        Z, total = self.scale(X), 0.0
        chosen = spaced(len(theta), draws)
        for f, (log_length, log_amplitude) in zip(theta[chosen], phi[chosen], strict=True):
            k = squared_exponential(self.X, Z, log_length, log_amplitude)
            weights = np.linalg.solve(self.kernel((log_length, log_amplitude)),
                                      np.column_stack([f, k]))
            variance = np.exp(2 * log_amplitude) - np.sum(k * weights[:, 1:], axis=0)
            total = total + ndtr(k.T @ weights[:, 0] / np.sqrt(1 + np.maximum(variance, 0.0)))
        return Classes(total / chosen.size, self.classes)


def evidence_and_slope(K, y):
    """Return EP's log Z of labels y, (n,), and W, (n, n): dK changes it by the sum of W * dK.

    With R = (K + S^-1)^-1 of the sites' precisions S and b = nu - R K nu, that is
    (b'dK b - tr(R dK)) / 2: Rasmussen and Williams (2006), (5.27).
    """
    fit = ep(K, y)
    root = np.sqrt(fit.tau)
    R = root[:, None] * np.linalg.solve(np.eye(len(K)) + np.outer(root, root) * K, np.diag(root))
    b = fit.nu - R @ (K @ fit.nu)
    return fit.log_Z, (np.outer(b, b) - R) / 2


def relative_lengths(problem):
    """Return the length of each covariate of a Classifier, (p,), relative to the shortest.

    They maximise EP's evidence, by L-BFGS from two starts with equal lengths: those of the fit, and
    the cases' typical distance, since at the fit all may be noise, where the gradient is 0.
    """
    fit, p = problem.fit(), problem.X.shape[1]

    def minus(x):
        of = problem._replace(X=problem.X / np.exp(x[:p]))
        K = of.kernel((0.0, x[p]))
        log_Z, W = evidence_and_slope(K, problem.model.y)
        smooth = W * squared_exponential(of.X, of.X, 0.0, x[p])
        along = [np.sum(smooth * (z[:, None] - z)**2) for z in of.X.T]
        return -log_Z, -np.array([*along, 2 * np.sum(W * K)])

    starts = (fit.log_length, fit.log_amplitude), (0.5 * np.log(p), 0.0)
    found = [minimize(minus, [length] * p + [amplitude], jac=True, method="L-BFGS-B",
                      bounds=[(-6.0, 6.0)] * (p + 1)) for length, amplitude in starts]
    logs = min(found, key=lambda each: each.fun).x[:p]
    return np.exp(logs - logs.min())


def gp_classifier(X, y, kind="isotropic"):
    """Make a Classifier of cases X, (n, p), with labels y, (n,), and normal priors, of mean 0 and
    standard deviation 2, of log length and log amplitude.

    kind : "isotropic", one length for all standardised covariates, or "ard": EP's evidence chooses
           the ratios of their lengths first, which are fixed then, in `lengths`

    Raises ValueError, naming the argument, for anything else.
    """
    if not (isinstance(kind, str) and kind in KINDS):
        raise ValueError(f"kind must be 'isotropic' or 'ard', not {validate.shown(kind)}")
    scale, Z = scale_of(X)
    check_order(X, y=y)
    second, classes = two_classes(y, len(Z))
    y, ones = np.where(second, 1.0, -1.0), np.ones(Z.shape[1])
    problem = Classifier(HierarchicalGPClassification.from_data(Z, y), Z, scale, classes, ones)
    if kind == "isotropic":
        return problem
    lengths = relative_lengths(problem)
    model = HierarchicalGPClassification.from_data(Z / lengths, y)
    return Classifier(model, Z / lengths, scale._replace(sd=scale.sd * lengths), classes, lengths)


# Series and counts


class Return(NamedTuple):
    """The predictive distribution of the next return: a mixture of normal ones of mean 0."""

    deviations: np.ndarray  # (components,)
    weights: np.ndarray  # (components,), which add up to 1

    @property
    def sd(self):
        """Its standard deviation."""
        return float(norm(np.sqrt(self.weights) * self.deviations))  # squares would overflow

    def probability_below(self, value):
        """Return the probability of a return of at most `value`, a number."""
        value = validate.real("value", value)
        return float(self.weights @ ndtr(value / self.deviations))

    def quantile(self, share):
        """Return what a return stays below with probability `share`, in (0, 1)."""
        share = validate.real("share", share, 0.0, 1.0, open_low=True)
        tail = min(share, 1 - share)
        if tail == 0:
            raise ValueError(f"share must be a probability that float64 tells from 0 and 1, not"
                             f" {share}")
        largest = self.deviations.max()
        ratios = largest / self.deviations

        def excess(x):  # of the probability below -largest exp(x)
            return self.weights @ ndtr(-np.exp(x) * ratios) - tail

        if share == 0.5 or excess(-700.0) <= 0:  # or is, but for rounding
            return 0.0
        x = brentq(excess, -700.0, 4.0, xtol=1e-14)  # of deviations of any spread
        return float(np.copysign(largest * np.exp(x), share - 0.5))


class Volatility(NamedTuple):
    """A series of returns of changing volatility; made by volatility."""

    model: StochasticVolatility
    parameters = ("theta is x = 2 log(volatility / beta); phi = (log beta, log sigma, atanh phi);"
                  " returns are not standardised")

    @property
    def labels(self):
        """{variable: what each of them is called}."""
        return labels_of_blocks([""] * self.model.log_squares.size,
                                ["log beta", "log sigma", "atanh phi"])

    @property
    def start(self):
        """(theta, phi) where chains may start."""
        rms = (self.model.level + np.log(np.exp(self.model.log_squares).mean())) / 2
        return np.zeros(self.model.log_squares.size), np.array([rms, -1.0, 1.0])

    def predict(self, found):
        """Return the Return that follows the series; all x must have been kept."""
        theta, phi = blocks_of(found, self)
        last, (log_beta, log_sigma, slope) = theta[:, -1], phi.T
        x = (np.tanh(slope) * last)[:, None] + np.exp(log_sigma)[:, None] * NODES
        with np.errstate(over="ignore"):
            deviations = np.exp(log_beta[:, None] + x / 2).ravel()
        if not np.isfinite(deviations).all():
            raise ValueError("found must have volatilities that float64 can hold, but some have"
                             " run away: leave out returns of exactly 0, and run the chains anew")
        return Return(deviations, np.tile(WEIGHTS / WEIGHTS.sum() / last.size, last.size))


def volatility(returns, nu=10.0, tau2=0.05):
    """Make a Volatility of returns, (T,), which have mean 0: subtract theirs before.

    nu, tau2 : float > 0   the prior of sigma^2 is Inv-chi^2(nu, tau2): nu is the number of returns
                           that it is worth, tau2 about what it expects

    Raises ValueError, naming the argument, for anything else.  RuntimeWarning for returns of 0, and
    for a mean that is more than five standard errors from 0.
    """
    returns = numbers("returns", returns, (-1,))
    zeros = np.count_nonzero(returns == 0)
    if not returns.any():
        raise ValueError("returns must not be zero throughout: they have no volatility then")
    if returns.size > 20 and np.ptp(np.sign(returns)) == 0:  # by chance one in 2^20
        raise ValueError("returns must have mean 0, but all have the same sign: of prices take"
                         " np.diff(np.log(prices)), and subtract the mean")
    if zeros:
        warnings.warn(f"returns must not be zero, but {zeros} of {returns.size}"
                      f" {'is' if zeros == 1 else 'are'}, so that the posterior has no finite"
                      " integral and chains may run away: leave them out, or take finer prices",
                      RuntimeWarning, stacklevel=2)
    unit = returns / np.abs(returns).max()  # whose squares are numbers
    if returns.size > 20 and abs(unit.mean()) > 5 * unit.std() / unit.size**0.5:
        warnings.warn(f"returns must have mean 0, but theirs, {returns.mean():.3g}, is more than"
                      " five times its standard error: subtract it", RuntimeWarning, stacklevel=2)
    return Volatility(StochasticVolatility.from_data(returns, nu=nu, tau2=tau2))


class Field(NamedTuple):
    """What draws say of each cell, (d, d)."""

    log_intensity: np.ndarray  # mean of the field
    log_intensity_sd: np.ndarray
    expected: np.ndarray  # mean of the expected count of a cell
    expected_sd: np.ndarray


class Counts(NamedTuple):
    """Counts in the cells of a square; made by counts_on_a_grid."""

    model: LogGaussianCox
    parameters = ("theta is the log intensity of each cell, of a square of area 1; phi = (log"
                  " sigma^2, log beta), variance and length: beta d sides of a square of d x d"
                  " cells")

    @property
    def labels(self):
        """{variable: what each of them is called}."""
        return labels_of_blocks([""] * self.model.counts.size, ["log sigma^2", "log beta"])

    @property
    def start(self):
        """(theta, phi) where chains may start."""
        return np.full(self.model.counts.size, self.model.mu), np.zeros(2)

    def predict(self, found):
        """Return the Field of the cells."""
        x = blocks_of(found, self)[0]
        d = self.model.distance.shape[0]
        expected = self.model.area * np.exp(x)
        return Field(*(each.reshape(d, d) for values in (x, expected)
                       for each in (values.mean(axis=0), values.std(axis=0))))


def counts_on_a_grid(counts):
    """Make a Counts of whole numbers, (d, d), not all zero.

    The field's mean makes the expected total the observed one if the field's variance is 1.  This
    variance and beta have priors Gamma(2, rate 2).  As in Zhang and Sutton (2014) the length is
    beta d sides of the square: finer cells of one square give it a longer length a priori.

    Raises ValueError, naming the argument, for anything else.
    """
    if not isinstance(counts, np.ma.MaskedArray | None):
        each = np.array(validate.regular("counts", counts), object).flat
        if missing := sum(map(is_missing, each)):
            raise ValueError(f"counts must have no missing values, but have {missing}: this model"
                             " has no cells that were not observed, so take a square in which each"
                             " was, or larger cells")
    counts = numbers("counts", counts, (-1, -1)).copy()
    if not counts.any():
        raise ValueError("counts must not be zero throughout")
    if (counts < 0).any():
        raise ValueError(f"counts must not be negative, but the least is {counts.min():g}")
    validate.real("counts at their largest", counts.max(), 0.0, 1e100)  # their sum is a number
    return Counts(LogGaussianCox.from_counts(counts, float(np.log(counts.sum()) - 0.5)))
