"""Are the functions of a model those of one density?  Each against differences and the others.

    print(check_model(model, q))

A sampler looks at a gradient in one direction only; with a wrong one it accepts little, or is slow.
Here the functions that a model registers (models/interface.py) are compared, at q and at two points
near it, with central differences of what they are derivatives of, or with what they must equal.
Not compared are case_entropy, select_cases, the fisher_ functions, and a log_likelihood without
log_likelihood_of.
"""

from typing import NamedTuple

import numpy as np

from models import validate
from models.interface import (
    U,
    U_and_grad_U,
    U_phi,
    U_prior,
    U_theta,
    add_grad_auxiliary_phi,
    auxiliary_phi,
    auxiliary_theta,
    commit,
    grad_U,
    grad_U2,
    grad_U_phi,
    grad_U_theta,
    hessian,
    hessian_gradient,
    log_det_phi,
    log_det_theta,
    log_likelihood,
    log_likelihood_of,
    metric,
    metric_gradient,
    metric_gradient_phi,
    metric_phi,
    momentum_phi,
    momentum_theta,
    precompute_phi,
    precompute_theta,
    prepare,
    sizes,
    trial,
    velocity_phi,
    velocity_theta,
)

# of differences, relative to an entry of q or to 1; finer ones where rounding leaves six digits
STEPS, FINER = (1e-2, 1e-3, 1e-4, 1e-5), (1e-6, 1e-7, 1e-8, 1e-10)
# what all samplers of hierarchical models together ask for
BLOCKS = (precompute_phi, precompute_theta, U_theta, grad_U_theta, U_prior, U_phi, grad_U_phi,
          grad_U2, momentum_theta, velocity_theta, log_det_theta, momentum_phi, velocity_phi,
          log_det_phi)
TOLERANCE = 1e-5  # relative; differences are good to about 1e-9
ROUNDING = 10 * np.finfo(float).eps  # of a number or of a sum, relative to it


class Row(NamedTuple):
    """One comparison."""

    function: str
    compared_with: str
    where: str  # the entry that is most off
    found: float  # there
    expected: float
    error: float  # relative: for a gradient to this entry, else to the largest
    note: str = ""  # what is wrong beside the number

    @property
    def agrees(self):
        """Tell whether nothing is wrong."""
        return not self.note and self.error <= TOLERANCE


class Check(NamedTuple):
    """All comparisons of a model; print it for the table."""

    rows: tuple

    @property
    def agrees(self):
        """Tell whether all functions agree."""
        return all(row.agrees for row in self.rows)

    def __str__(self):
        """Return the table, what is off marked."""
        heads = ("function", "compared with", "entry", "found", "expected", "relative error", "")
        cells = [heads] + [(row.function, row.compared_with, row.where, f"{row.found:.6g}",
                            f"{row.expected:.6g}", f"{row.error:.1e}",
                            "agrees" if row.agrees else f"OFF {row.note}".rstrip())
                           for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in
                                   zip(row, widths, strict=True)).rstrip() for row in cells)


def check_model(model, q):
    """Compare the functions that a model registers; return a Check.

    model : NamedTuple      any that implements U, or a hierarchical one
    q     : (d,) float64    where U is finite; of a hierarchical model theta, then phi

    Nothing is drawn from a generator of the caller.  Raises ValueError, naming the argument, for
    anything else; TypeError if the model has no U.
    """
    model = validate.model("model", model)
    q = validate.array("q", q, (validate.dimension(model),))
    if any(has(model, function) for function in (sizes, U_theta, U_phi)):
        validate.implements("model", model, sizes, *BLOCKS)
        validate.blocks("theta", *np.split(q, [sizes(model)[0]]), model)
    validate.rehearse("q", q, model, U, grad_U, hessian, metric)
    validate.check_source(q, model, U, grad_U, hessian, metric)
    rng, found = np.random.default_rng(1), {}
    near = [q + 0.1 * np.maximum(np.abs(q), 1.0) * rng.standard_normal(q.size) for _ in range(2)]
    checks = check_blocks if has(model, sizes) else check_plain
    for k, point in enumerate([q, *near]):
        try:
            rows = [*checks(point, model, rng)]
        except (ArithmeticError, ValueError):  # as of a matrix without a factor
            if k == 0:
                raise
            continue  # a point near q may be outside of where the density is
        for row in rows:
            key = row.function, row.compared_with
            if k and not np.isfinite(row.expected):
                continue
            if key not in found or badness(row) > badness(found[key]):
                found[key] = row
    return Check(tuple(found.values()))


def badness(row):
    """Return a number that grows with what is wrong."""
    return np.inf if row.note or np.isnan(row.error) else row.error


def has(model, function):
    """Tell whether the class of a model has a function of its own."""
    function, model = validate.asked_of(function, model)
    return type(model) in function.implementations


def compare(function, compared_with, found, expected, note="", scale=1e-300, each=False):
    """Return the Row of two arrays of one shape, or say that the shapes differ.

    scale : what an error is relative to where both arrays are smaller; (n,) for `each` entry apart
    """
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    if found.shape != expected.shape:
        return Row(function, compared_with, "shape", np.nan, np.nan, np.nan,
                   f"has shape {found.shape}, not {expected.shape}")
    sizes = np.maximum(np.abs(expected), np.abs(found))
    error = np.abs(found - expected) / np.maximum(
        sizes if each else np.nan_to_num(sizes).max(), scale)
    worst = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
    return Row(function, compared_with, str(list(map(int, worst))) if worst else "", found[worst],
               expected[worst], error[worst], note)


def differences(f, x, derivative):
    """Return the differences of f along each entry of x that are nearest to `derivative`.

    Of several steps one suits each entry: a small one is lost in rounding, a large one bends.
    Returns them and, (d,), what rounding may make of them.
    """
    derivative, size = np.asarray(derivative, float), np.abs(f(x)).max()
    best, noise = np.full((x.size, *np.shape(f(x))), np.nan), np.zeros(x.size)
    if derivative.shape != best.shape:
        return best, noise
    for i in range(x.size):
        gap = np.inf
        for step in STEPS + FINER:
            e = np.zeros(x.size)
            e[i] = x[i] + step * max(abs(x[i]), 1.0) - x[i]  # as it is in numbers with 53 bits
            with np.errstate(all="ignore"):
                one = (8 * (np.asarray(f(x + e)) - f(x - e)) - f(x + 2 * e) + f(x - 2 * e)
                       ) / (12 * e[i])
            off, largest = np.abs(one - derivative[i]).max(), np.abs(one).max()
            lost = ROUNDING * size / e[i]
            if step in FINER and not lost < 1e-5 * largest:
                break  # what is lost in rounding would agree with a derivative of 0
            if off < gap or np.isnan(best[i]).any():  # of a derivative that is nan, the first one
                gap, best[i], noise[i] = off, one, lost
            if gap <= 1e-9 * largest:
                break
    return best, noise


def compare_derivative(name, compared_with, f, x, found, note=""):
    """Return the Row of a derivative of f at x and of its differences; of a gradient by entry."""
    expected, noise = differences(f, x, found)
    each = np.ndim(found) == 1
    scale = np.maximum(np.nan_to_num(noise) / TOLERANCE, 1e-300)
    return compare(name, compared_with, found, expected, note, scale if each else scale.max(), each)


def untouched(function, q, model):
    """Return what function(q, model) is, and a note if it writes into q or changes."""
    given = q.copy()
    first = validate.call_compiled(function, given, model)
    if not np.array_equal(given, q):
        return first, "writes into q"
    if isinstance(first, tuple | list):  # which need not be an array
        return first, ""
    floats = np.asarray(first).dtype.kind == "f"  # None has no nan
    if not np.array_equal(first, function(given, model), equal_nan=floats):
        return first, "is not the same twice"
    kept = np.copy(first)
    function(q + 0.01, model)
    if not np.array_equal(first, kept, equal_nan=floats):
        return kept, "writes into what it returned before: return a copy of it"
    return first, ""


def check_plain(q, model, rng):
    """Yield the rows of a model of one block at q."""
    energy, note = untouched(U, q, model)
    if not isinstance(energy, float):
        yield Row("U", "a number", "", np.nan, np.nan, np.nan,
                  f"returns {type(energy).__name__}, not a float")
        return
    try:
        validate.energy_at(U, q, model)
    except ValueError as error:
        note = note or str(error)
    yield Row("U", "a finite number", "", energy, energy, 0.0 if np.isfinite(energy) else np.nan,
              note)
    if not np.isfinite(energy):
        return
    pairs = ((U, grad_U), (grad_U, hessian), (hessian, hessian_gradient),
             (metric, metric_gradient))
    for function, derivative in pairs:
        if has(model, function) and has(model, derivative):
            found, note = untouched(derivative, q, model)
            if isinstance(found, list | tuple) or np.asarray(found).dtype != np.float64:
                yield Row(derivative.__name__, "an array of float64", "", np.nan, np.nan, np.nan,
                          f"returns {type(found).__name__} of {np.asarray(found).dtype}"
                          + f", and {note}" * bool(note))
                continue
            yield compare_derivative(derivative.__name__, f"differences of {function.__name__}",
                                     lambda x, f=function: f(x, model), q, found, note)
    for function in (hessian, metric):
        if has(model, function):
            yield from check_symmetric(function.__name__, function(q, model))
    if has(model, metric):
        yield check_definite("metric", metric(q, model))
    if has(model, U_and_grad_U):
        both = U_and_grad_U(q, model)
        if isinstance(both, tuple) and len(both) == 2:
            yield compare("U_and_grad_U", "U", both[0], energy)
            yield compare("U_and_grad_U", "grad_U", both[1], grad_U(q, model))
        else:
            yield Row("U_and_grad_U", "U and grad_U", "", np.nan, np.nan, np.nan,
                      f"returns a {type(both).__name__}, not a pair")
    if has(model, log_likelihood) and has(model, log_likelihood_of):
        yield compare("log_likelihood_of", "log_likelihood", log_likelihood_of(energy, q, model),
                      log_likelihood(q, model))
    if has(model, trial):
        yield from check_caches(q, model, rng)


def check_symmetric(name, matrix):
    """Yield the row of a matrix that has to be symmetric."""
    yield compare(name, "its transpose", matrix, np.transpose(matrix))


def check_definite(name, matrix):
    """Return the row of a matrix that has to be positive definite."""
    d = len(matrix)
    if np.shape(matrix) != (d, d):
        return Row(name, "positive definite", "shape", np.nan, np.nan, np.nan,
                   f"has shape {np.shape(matrix)}, and is not square")
    if not np.isfinite(matrix).all():  # of which eigenvalues are an error
        return Row(name, "positive definite", "least eigenvalue", np.nan, np.nan, np.nan,
                   "has entries that are not finite")
    least = np.linalg.eigvalsh(matrix).min()
    return Row(name, "positive definite", "least eigenvalue", least, abs(least), 0.0,
               "" if least > 0 else "is not")


def check_caches(q, model, rng):
    """Yield the rows of what is kept where one variable changes at a time."""
    cache, moved = prepare(q, model), q.copy()
    yield compare("prepare", "U", cache.U, U(q, model))
    tried, committed, expected = [], [], []
    for k in rng.permutation(q.size):
        moved[k] += 0.1 * max(abs(q[k]), 1.0) * rng.standard_normal()
        energy = trial(cache, k, moved[k], model)
        cache = commit(cache, k, moved[k], energy, model)
        tried.append(energy)
        committed.append(trial(cache, k, moved[k], model))
        expected.append(U(moved, model))
    yield compare("trial", "U", tried, expected)
    yield compare("commit", "U", committed, expected)


def check_blocks(q, model, rng):
    """Yield the rows of a hierarchical model at q = (theta, phi)."""
    n, h = sizes(model)
    theta, phi = q[:n], q[n:]
    Phi, Theta = precompute_phi(phi, model), precompute_theta(theta, model)
    for function, *given in ((U_phi, Phi, Theta), *[(U, q)] * has(model, U)):
        if not isinstance(energy := function(*given, model), float):
            raise ValueError(f"{function.__name__} of {validate.class_name(type(model))} must"
                             f" return a float, not {energy!r:.80}")
    gradient = np.asarray(grad_U_phi(Phi, Theta, model), float)
    z_theta, z_phi = rng.standard_normal(n), rng.standard_normal(h)

    def likelihood(phi):  # the part of U_theta that may not depend on phi, up to a constant
        Phi = precompute_phi(phi, model)
        return U_theta(theta, Phi, model) - U_phi(Phi, Theta, model) + U_prior(phi, model)

    def energy_2(phi):
        Phi = precompute_phi(phi, model)
        return U_phi(Phi, Theta, model) + auxiliary_theta(z_theta, Phi, model)

    def joint(q):
        return U_theta(q[:n], precompute_phi(q[n:], model), model) + U_prior(q[n:], model)

    yield compare("U_theta", "U_phi - U_prior: the rest has no phi", differences(
        likelihood, phi, np.zeros(h))[0], np.zeros(h),
        scale=1 + np.abs(np.nan_to_num(gradient)).max())
    for function, x, energy, found in (
            (grad_U_theta, theta, lambda x: U_theta(x, Phi, model),
             grad_U_theta(theta, Phi, model)),
            (grad_U_phi, phi, lambda x: U_phi(precompute_phi(x, model), Theta, model),
             gradient),
            (grad_U2, phi, energy_2, grad_U2(Phi, Theta, z_theta, model)),
            (add_grad_auxiliary_phi, theta,
             lambda x: auxiliary_phi(z_phi, precompute_theta(x, model), model),
             auxiliary_gradient(theta, z_phi, model)),
            (metric_gradient_phi, phi,
             lambda x: metric_phi(precompute_phi(x, model), Theta, model),
             metric_gradient_phi(Phi, Theta, model) if has(model, metric_gradient_phi) else None)):
        if has(model, function) or function is add_grad_auxiliary_phi:
            yield compare_derivative(function.__name__, "differences of what it is the gradient of",
                                     energy, x, found)
    for block, momentum, velocity, log_det, given, z in (
            ("theta", momentum_theta, velocity_theta, log_det_theta, Phi, z_theta),
            ("phi", momentum_phi, velocity_phi, log_det_phi, Theta, z_phi)):
        L = np.array([momentum(e, given, model) for e in np.eye(z.size)]).T
        r = momentum(z, given, model)
        yield compare(f"velocity_{block}", f"the inverse of momentum_{block}",
                      velocity(r, given, model), np.linalg.solve(L.T, z))
        yield compare(f"log_det_{block}", f"momentum_{block}", log_det(given, model),
                      2 * np.linalg.slogdet(L)[1])
    if has(model, metric_phi):
        G = metric_phi(Phi, Theta, model)
        yield from check_symmetric("metric_phi", G)
        yield check_definite("metric_phi", G)
    if has(model, U):
        moved = q + 1e-3 * np.maximum(np.abs(q), 1.0) * rng.standard_normal(q.size)
        yield compare("U", "U_theta + U_prior, but for a constant",
                      U(moved, model) - U(q, model), joint(moved) - joint(q), scale=1e-3)
        yield from check_plain(q, model, rng)


def auxiliary_gradient(theta, r_phi, model):
    """Return what add_grad_auxiliary_phi adds: a gradient with respect to theta."""
    g = np.zeros(theta.size)
    add_grad_auxiliary_phi(g, theta, r_phi, model)
    return g
