"""Checks of arguments at the public entry points: each returns a clean value or raises ValueError.

Every message says which argument, what it was, and what was expected.
"""

import inspect
import numbers
import re
import sys
import warnings
from contextlib import suppress
from decimal import Decimal
from functools import cache, singledispatch
from typing import NamedTuple, get_type_hints

import numpy as np
from numba import config, typeof, types
from numba.core.errors import NumbaError

from models.fields import Field
from models.interface import (
    GivenPhi,
    GivenTheta,
    U,
    U_and_grad_U,
    U_phi,
    U_prior,
    U_theta,
    grad_U,
    grad_U_theta,
    log_det_phi,
    log_det_theta,
    metric,
    metric_gradient,
    metric_gradient_phi,
    metric_phi,
    momentum_phi,
    momentum_theta,
    precompute_phi,
    precompute_theta,
    sizes,
    velocity_phi,
    velocity_theta,
)
from models.jit import ROOT, Generic, explain
from models.linalg import cholesky

OURS = tuple(str(ROOT / folder) for folder in ("algorithms", "models", "sampling"))
SLOPE_STEPS = (1e-4, 1e-6, 1e-8)  # of differences, relative to an entry or to 1
differenced = {}  # models without grad_U of which a warning has told
rehearsed = {}  # functions of models, with shapes, that found all that they looked for
OF_L_PHI = momentum_phi, velocity_phi, log_det_phi  # unless a model has its own
NO_NUMBER = bool, np.timedelta64  # though Python takes them for whole numbers
LARGEST = 2**31 - 1  # of a count: sizes that are products of two of them fit into 64 bits


def shown(value):
    """Return how an error quotes an argument: in at most 80 characters, NumPy's numbers as 1.0."""
    if isinstance(value, np.floating | np.integer) and not isinstance(value, NO_NUMBER):
        value = value.item()
    try:
        text = repr(value)
        return text if len(text) <= 80 else f"{text[:77]}..."
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return f"a number of type {type(value).__name__} with thousands of digits"


def real(name, value, low=-np.inf, high=np.inf, open_low=False):
    """Return `value` as a finite float with low <= value <= high (low < value if open_low)."""
    if not isinstance(value, numbers.Real) or isinstance(value, NO_NUMBER):
        raise ValueError(f"{name} must be a real number, not {shown(value)}")
    try:
        number = float(value)
    except OverflowError:  # of a whole number or a fraction of any size
        number = np.inf
    if not (np.isfinite(number) and low <= number <= high and (number > low or not open_low)):
        interval = (f"{'(' if open_low or low == -np.inf else '['}{low:g},"
                    f" {high:g}{')' if high == np.inf or float(f'{high:g}') > high else ']'}")
        raise ValueError(f"{name} must be a finite number in {interval}, not {shown(value)}")
    return number


def count(name, value, low=1):
    """Return `value` as an int from `low` to LARGEST."""
    if not isinstance(value, numbers.Integral) or isinstance(value, NO_NUMBER) or value < low:
        kind = "the float " * isinstance(value, float)  # 1e3 looks whole
        raise ValueError(f"{name} must be a whole number of at least {low}, not"
                         f" {kind}{shown(value)}")
    if value > LARGEST:
        raise ValueError(f"{name} must be a whole number of at most {LARGEST}, not {shown(value)}")
    return int(value)


def array(name, value, shape):
    """Return a finite float64 copy of `value`, see `entries`; a -1 in `shape` is any length."""
    value = entries(name, value, np.float64)
    letters = iter("nmkl")
    sizes = [next(letters) if n == -1 else str(n) for n in shape]
    wanted = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    if value.ndim != len(shape) or any(n not in (-1, m)
                                       for n, m in zip(shape, value.shape, strict=True)):
        raise ValueError(f"{name} must have shape {wanted}, not {value.shape}")
    if value.size == 0:
        raise ValueError(f"{name} must not be empty, but has shape {value.shape}")
    return finite(name, value).copy()


def logarithms(name, value):
    """Return the logarithms of numbers >= 0 as an (n,) float64 array, n >= 1: -inf is that of 0."""
    if np.asarray(regular(name, value)).dtype.kind == "b":
        raise ValueError(f"{name} must be logarithms, not True and False")
    value = entries(name, value, np.float64)
    array(name, np.where(np.isfinite(value), value, 0.0), (-1,))
    bad = np.count_nonzero(np.isnan(value) | np.isposinf(value))
    if bad:
        raise ValueError(f"{name} must be finite or -inf, but {bad} of its {value.size} entries are"
                         " not")
    return value


def regular(name, value):
    """Return `value` if NumPy can tell its shape: lists of unequal lengths have none."""
    try:
        np.ndim(value)
    except ValueError:
        found = "lists of unequal lengths"
        if hasattr(value, "_fields"):
            what = "give its .q" if hasattr(value, "q") else "are two arguments swapped?"
            found = f"a {class_name(type(value))}: {what}"
        elif isinstance(value, tuple) and all(isinstance(each, np.ndarray) for each in value):
            found = "arrays of unequal lengths: join them by np.concatenate"
        raise ValueError(f"{name} must be an array of numbers, not {found}") from None
    return value


def entries(name, value, kind=None):
    """Return real numbers as an array that compiled code takes: aligned, in C order, writable.

    kind : np.float64, np.int64, or None for whichever of them and bool is nearest
    """
    found = None
    try:
        found = np.asarray(value)
        if isinstance(value, np.ma.MaskedArray) or found.dtype.kind not in "biufO" or (
                found.dtype.kind == "O"
                and not all(isinstance(x, numbers.Real) for x in found.flat)):
            raise TypeError
        if kind is None:
            kind = {"b": np.bool_, "i": np.int64, "u": np.int64}.get(found.dtype.kind, np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is seen below
            same = np.require(found, kind, "CAWE")
    except (TypeError, ValueError, OverflowError):
        masked = "masked " * isinstance(value, np.ma.MaskedArray)
        of = f" of {found.dtype}" if np.ndim(found) else ""
        sparse = f": give {name}.toarray()" * hasattr(value, "toarray")
        raise ValueError(f"{name} must be an array of real numbers, not {masked}"
                         f"{type(value).__name__}{of}{sparse or text_in(name, found)}") from None
    if kind is np.int64 and not (same == found).all():
        raise ValueError(f"{name} must hold whole numbers below 2^63")
    return same


def text_in(name, found):
    """Say where there is text in what should be an array of numbers, and what to write instead."""
    of_numbers = None
    for place, each in np.ndenumerate(np.asarray(found)):
        if isinstance(each, np.datetime64):
            return ": write numbers for dates, such as days since the first"
        if isinstance(each, np.timedelta64):
            return f": divide it by a unit, {name} / np.timedelta64(1, 'D')"
        if isinstance(each, Decimal):
            return f": give np.asarray({name}, float)"
        if not isinstance(each, str):
            continue
        if not numeric(each):
            part = f"{name}[:, {place[1]}]" if len(place) == 2 else name
            return (f": {f'column {place[1]}' if len(place) == 2 else 'it'} holds text, such as"
                    f" {str(each)!r}; write numbers for it, such as {part} == {str(each)!r}")
        of_numbers = str(each)
    return f": convert text such as {of_numbers!r} to float" if of_numbers else ""


def numeric(text):
    """Tell whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def finite(name, value):
    """Return an array that has no infinite or nan entry."""
    bad = np.count_nonzero(~np.isfinite(value))
    if bad:
        raise ValueError(f"{name} must be finite, but {bad} of its {value.size} entries are not")
    return value


def model(name, value, *needed):
    """Return a model with its arrays as compiled code takes them, each as its annotation says.

    needed : generic functions (models/interface.py) that its class has to have
    """
    if not (isinstance(value, tuple) and hasattr(value, "_fields")):
        found = (f"the class {class_name(value)} itself" if isinstance(value, type) else
                 value if value is None else class_name(type(value)))
        raise ValueError(f"{name} must be a model, a NamedTuple such as those of models/ are, not"
                         f" {found}")
    inside = getattr(value, "model", None)  # of a problem of sampling.problems
    if hasattr(value, "predict") and hasattr(inside, "_fields"):
        raise ValueError(f"{name} must be a model, not the {class_name(type(value))} that has"
                         " one: give its .model")
    implements(name, value, *needed)
    if grad_U in needed and type(value) not in grad_U.implementations | differenced:
        differenced[type(value)] = None
        kind = class_name(type(value))
        warn(f"{kind} has no grad_U: each gradient takes 2 d evaluations of U, by central"
             f" differences; write one with @grad_U.register({kind})")
    found = check_fields(name, value)
    check_values(found, name)
    return found


def implements(name, whole, *needed):
    """Raise ValueError if the class of a model lacks one of these functions."""
    for function, value in (asked_of(function, whole) for function in needed):
        if getattr(function, "default", function) is None and (
                type(value) not in function.implementations):
            kind = class_name(type(value))
            file = f"{function.__module__.replace('.', '/')}.py"
            place = f"{name}{'.model' * (value is not whole)}"
            raise ValueError(f"{place} must have {function.__name__} ({file}), but"
                             f" {kind} has none: write one with"
                             f" @{function.__name__}.register({kind})")
        if function in OF_L_PHI and type(value) not in function.implementations and not hasattr(
                value, "L_phi"):
            kind, made = class_name(type(value)), function.__name__
            raise ValueError(f"{name} must have {made} (models/interface.py), or a field L_phi, the"
                             " lower Cholesky factor of a constant mass of phi, but"
                             f" {kind} has neither: write one with @{made}.register({kind})")


def asked_of(function, model):
    """Return a function and the model that is to have it: for GivenTheta's metric the whole."""
    if isinstance(model, GivenTheta) and function in (metric, metric_gradient):
        return metric_phi if function is metric else metric_gradient_phi, model.model
    return function, model


def class_name(kind):
    """Return the name of a class, without a number that Generic.register has put after it."""
    return kind.__qualname__.rpartition(".")[2]


def models(name, value, *needed):
    """Return a tuple or list of models as a tuple."""
    return tuple(model(f"{name}[{i}]", each, *needed) for i, each in enumerate(value))


@singledispatch
def check_values(model, name):
    """Raise ValueError for what annotations cannot say; registered beside a model's class."""


@singledispatch
def forget(model):
    """Empty the memory of a model and of those in it; registered beside a class that has one."""
    for part in model if isinstance(model, tuple) else ():
        forget(part)


@cache
def annotations(kind):
    """Return {field: its annotation} of a class; {} if one names what only a function knows."""
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError:
        return {}


def array_of(annotation):
    """Return the Field of an annotation, or None."""
    known = getattr(annotation, "__metadata__", ())
    return next((field for field in known if isinstance(field, Field)), None)


def check_fields(name, value):
    """Return a NamedTuple whose fields are as they are annotated: itself if they were."""
    lengths, hints = {}, annotations(type(value))
    found = [check_field(f"{name}.{field}", each, hints.get(field), lengths)
             for field, each in zip(value._fields, value, strict=True)]
    return value if identical(found, value) else type(value)._make(found)


def identical(found, value):
    """Tell whether the same objects are in both."""
    return all(new is old for new, old in zip(found, value, strict=True))


def check_field(name, value, annotation, lengths):
    """Return the value of a field, as it is annotated; `lengths` {letter: length} grows."""
    field = array_of(annotation)
    if field:
        return check_array(name, value, field, lengths)
    if annotation in (float, int, bool):
        return number(name, value, annotation)
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return model(name, instance(name, value, annotation, "as its annotation says"))
    if annotation is NamedTuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return model(name, value)
    if annotation is np.ndarray or isinstance(value, np.ndarray):
        return entries(name, value)
    if isinstance(value, tuple):
        found = tuple(check_field(f"{name}[{i}]", each, None, {}) for i, each in enumerate(value))
        return value if identical(found, value) else found
    try:
        if isinstance(value, list) and len(set(map(typeof, value))) > 1:  # Numba refuses it, later
            raise ValueError
        typeof(value)
    except ValueError:
        raise ValueError(f"{name} must be what compiled code takes, such as a number, an array,"
                         f" text, or a tuple of these, not {shown(value)}") from None
    return value


def check_array(name, value, field, lengths):
    """Return an array that is as its Field says."""
    value = entries(name, value, field.kind)
    wanted = [str(length) for length in field.shape]
    letters = [length.removesuffix(" + 1") for length in wanted]
    fits = value.ndim == len(wanted)
    for length, letter, size in zip(wanted, letters, value.shape, strict=False):
        size -= length != letter
        fits &= (int(letter) if letter.isdigit() else lengths.setdefault(letter, size)) == size
    if not fits:
        known = ", ".join(f"{x} = {lengths[x]}" for x in dict.fromkeys(letters) if x in lengths)
        wanted = f"({', '.join(wanted)}{',' * (len(wanted) == 1)})"
        raise ValueError(f"{name} must have shape {wanted}{' with ' * bool(known)}{known}, not"
                         f" {value.shape}")
    if field.finite:
        finite(name, value)
    if value.size and not np.all(field.holds(value)):
        raise ValueError(f"{name} must {field.must}")
    return value


def number(name, value, kind):
    """Return `value` as a float, an int of 64 bits or a bool; a float need not be finite."""
    if kind is bool and isinstance(value, bool | np.bool_):
        return value if type(value) is bool else bool(value)
    if kind is float and isinstance(value, numbers.Real) and not isinstance(value, NO_NUMBER):
        with suppress(OverflowError):  # of a whole number beyond 1e308
            return value if type(value) is float else float(value)
    if kind is int and isinstance(value, numbers.Integral) and not isinstance(value, bool) and (
            -(2**63) <= value < 2**63):
        return value if type(value) is int else int(value)
    article = "an" if kind is int else "a"
    raise ValueError(f"{name} must be {article} {kind.__name__}, not {shown(value)}")


@singledispatch
def dimension(model):
    """Return how many parameters U of a model takes, or -1 if it does not say."""
    if type(model) in sizes.implementations:
        return sum(sizes(model))
    field, axis = field_of_length(type(model))
    shape = np.shape(getattr(model, field, 0.0))
    return shape[axis] if len(shape) > axis else -1


@cache
def field_of_length(kind):
    """Return a field of a class of models, and the axis along which it has d entries.

    Of one of this project without such a field it is `precision`, if nothing else is said of that.
    """
    known = {field: array_of(each) for field, each in annotations(kind).items()}
    return next(((field, array.shape.index("d")) for field, array in known.items()
                 if array and "d" in array.shape),
                ("precision" if kind.__module__.startswith("models.")
                 and not known.get("precision") else "", 0))


@dimension.register
def dimension_given_phi(given: GivenPhi):
    """The parameters."""
    return sizes(given.model)[0]


@dimension.register
def dimension_given_theta(given: GivenTheta):
    """The hyperparameters."""
    return sizes(given.model)[1]


@check_values.register(GivenPhi)
@check_values.register(GivenTheta)
def check_values_of_a_block(given, name):
    """The model has such blocks, and the other one has as many variables as it says."""
    of_phi = isinstance(given, GivenPhi)
    implements(f"{name}.model", given.model, sizes, precompute_phi,
               *([U_theta] if of_phi else [precompute_theta, U_phi]))
    n, h = sizes(given.model)
    field, length = ("phi", h) if of_phi else ("theta", n)
    array(f"{name}.{field}", getattr(given, field), (length,))


@cache
def state_among(generic):
    """Return the arguments of a generic function, and which of them is a state: (place, name)."""
    names = list(inspect.signature(generic).parameters)
    return names, next(((k, name) for k, name in enumerate(names)
                        if name in ("q", "theta", "phi")), (None, None))


def fault_of_call(generic, arguments):
    """Return what is wrong with the arguments of a call from Python, as U(q, model), or ""."""
    names, (place, name) = state_among(generic)
    if len(arguments) != len(names):
        return (f"{generic.__name__} must be called as {generic.__name__}({', '.join(names)}), not"
                f" with {len(arguments)} of them")
    model = arguments[generic.on]
    wrong = fault_of_fields(generic.__name__, names[generic.on], model)
    if not wrong:
        forget(model)
    if wrong or place is None:
        return wrong
    value = arguments[place]
    if isinstance(value, np.ndarray) and value.dtype != np.float64:  # BLAS would read other bytes
        return (f"{name} of {generic.__name__} must be an array of float64, not of {value.dtype}:"
                f" give np.asarray({name}, float)")
    if name == "q":
        d = dimension(model)
    else:
        d = (sizes(model) if type(model) in sizes.implementations else (-1, -1))[name == "phi"]
    if isinstance(value, np.ndarray) and value.ndim == 1 and d in (-1, value.size):
        return ""
    found = f"of shape {value.shape}" if isinstance(value, np.ndarray) else shown(value)
    return (f"{name} of {generic.__name__} must be an array of shape ({'d' if d == -1 else d},),"
            f" not {found}")


@cache
def fields_of(kind):
    """Return (field, its Field or None) of a class of this project's models; none of another."""
    hints = annotations(kind) if kind.__module__.startswith("models.") else {}
    return [(field, array_of(hints.get(field))) for field in getattr(kind, "_fields", ())
            if hints]


def fault_of_fields(function, name, model):
    """Say which array of a model of this project BLAS would read as another one, or ""."""
    for field, known in fields_of(type(model)):
        value, of = getattr(model, field), f"{name}.{field}"
        if known is None:
            wrong = fault_of_fields(function, of, value)
            if wrong:
                return wrong
        elif not (isinstance(value, np.ndarray) and value.dtype == known.kind
                  and value.flags.c_contiguous):
            kind, dtype = known.kind.__name__, getattr(value, "dtype", type(value).__name__)
            order = " in another order" * (dtype == known.kind)
            return (f"{of} of {function} must be an array of {kind} in C order, not of"
                    f" {dtype}{order}: give np.ascontiguousarray({of}, dtype=np.{kind}), or make"
                    " the model by a from_ function of its class")
    return ""


if not config.DISABLE_JIT:  # code that is not compiled finds the end of an array itself
    Generic.fault = fault_of_call


def call_by_name(generic, /, *arguments, **named):
    """Call a generic function, whose arguments may be given by name, as U(q, model=model)."""
    if named:
        signature = inspect.signature(generic)
        try:
            arguments = signature.bind(*arguments, **named).args
        except TypeError as error:
            raise TypeError(f"{generic.__name__}() {explain(error, signature, named)}") from None
    return call(generic, *arguments)


call, Generic.__call__ = Generic.__call__, call_by_name
Generic.__repr__ = lambda self: f"{self.__name__}{inspect.signature(self)}"  # help(U) shows it


def fits(name, value, x0):
    """Return a model of as many variables as x0 has."""
    d = dimension(value)
    if d not in (-1, x0.size):
        raise ValueError(f"{name} must be of {x0.size} variables, as x0 is, but its U takes {d}")
    return value


def state(name, value, model, gradient=False, matrix=None, tensor=None, energy=U):
    """Return `value` as a (d,) float64 array at which U is finite; `model` is checked.

    With `gradient`, warn if grad_U is not that of U.  With `matrix` or `tensor`, generic functions,
    refuse what is no (d, d) or (d, d, d) array of float64 there; with `tensor`, which RMHMC takes,
    also what it writes into and the model keeps.  `energy` is what U is.
    """
    value, kind = array(name, value, (dimension(model),)), class_name(type(model))
    rehearse(name, value, model, energy, grad_U, U_and_grad_U)
    called, energy = energy.__name__, energy_at(energy, value, model)
    if not np.isfinite(energy):
        empty = [field for field, each in zip(model._fields, model, strict=True)
                 if getattr(each, "dtype", None) == np.float64 and np.isnan(each).any()]
        raise ValueError(f"{name} must be where {called} is finite, but {called} there is {energy}"
                         + "".join(
            f": {kind}.{field} holds nan" for field in empty[:1]))
    if type(model) in grad_U.implementations and (gradient or dimension(model) == -1):
        slope = slope_like(name, value, f"grad_U of {kind}",
                           evaluate(f"grad_U of {kind}", grad_U, value, model))
        if gradient and not np.isfinite(slope).all():
            raise ValueError(f"{name} must be where grad_U of {kind} is finite, but"
                             f" {np.count_nonzero(~np.isfinite(slope))} of its {slope.size} entries"
                             " there are not: mend grad_U, or begin elsewhere")
        if gradient:
            warn_of_new_slope(name, f"U and grad_U of {kind}", lambda q: U(q, model),
                              lambda q: grad_U(q, model), value)
    if gradient and type(model) in U_and_grad_U.implementations and not is_ours(model):
        both = evaluate(f"U_and_grad_U of {kind}", U_and_grad_U, value, model)
        slope = grad_U(value, model)
        if not (isinstance(both, tuple) and len(both) == 2
                and [np.asarray(each).dtype for each in both] == 2 * [value.dtype]
                and [np.shape(each) for each in both] == [(), value.shape]
                and np.allclose(both[0], energy)
                and np.allclose(both[1], slope, atol=1e-5 * np.abs(slope).max())):
            raise ValueError(f"U_and_grad_U of {kind} must return what U and grad_U return, here"
                             f" ({energy!r}, {slope!r:.80}), not {both!r:.80}")
    if matrix:
        check_tensor(name, value, model, matrix, 2)
    if tensor:
        for function, owner in written(model):
            own_array(function, value, owner)
        check_tensor(name, value, model, tensor, 3)
    return value


def blocks(name, theta, phi, model):
    """Return theta of a hierarchical model, of which U_theta and U_prior are energies there."""
    of_phi = name.replace("theta", "phi")
    rehearse(of_phi, phi, model, precompute_phi, U_prior)
    Phi = evaluate(f"precompute_phi of {class_name(type(model))}", precompute_phi, phi, model)
    rehearse(name, theta, model, U_theta, grad_U_theta, given=(Phi,))
    rehearse(name, theta, model, precompute_theta)
    Theta = call_compiled(precompute_theta, theta, model)
    for function, found, field in (precompute_phi, Phi, "phi"), (precompute_theta, Theta, "theta"):
        if not hasattr(found, field):
            raise ValueError(f"{function.__name__} of {class_name(type(model))} must return a"
                             f" NamedTuple with {field} as a field, not {found!r:.80}")
    energy_at(U_theta, theta, model, Phi)
    energy_at(U_prior, phi, model)
    if not is_ours(model):
        check_mass(name, theta, Phi, model, momentum_theta, velocity_theta, log_det_theta)
        check_mass(of_phi, phi, Theta, model, momentum_phi, velocity_phi, log_det_phi)
    return theta


def check_mass(name, value, given, model, momentum, velocity, log_det):
    """Raise ValueError unless a block's mass, given the other block, is one of that block."""
    rehearse(name, value, model, momentum, velocity, given=(given,))
    for function in (momentum, velocity):
        if type(model) in function.implementations:
            slope_like(name, value, f"{function.__name__} of {class_name(type(model))}",
                       call_compiled(function, value.copy(), given, model))
    if type(model) in log_det.implementations and not isinstance(
            found := call_compiled(log_det, given, model), numbers.Real):
        raise ValueError(f"{log_det.__name__} of {class_name(type(model))} must return a number,"
                         f" not {found!r:.80}")


def energy_at(function, value, model, *given):
    """Return an energy, or raise ValueError if it is no number of 64 bits in every case."""
    what = f"{function.__name__} of {class_name(type(model))}"
    energy = evaluate(what, function, value, model, *given)
    for found in () if is_ours(model) else list_returned(function.implementations.get(type(model))):
        if isinstance(found, types.Optional):
            raise ValueError(f"{what} must return a number in every case, but in some it returns"
                             " None: look for an `if` without a return")
        if found == types.float32:
            raise ValueError(f"{what} must return a float64, not a float32: let all in it be of"
                             " float64")
    if not isinstance(energy, numbers.Real) or isinstance(energy, bool):
        raise ValueError(f"{what} must return a number, not {energy!r:.80}")
    return energy


def slope_like(name, value, what, slope):
    """Return a gradient, or raise ValueError if it is no array of float64 of the shape of value."""
    if not (isinstance(slope, np.ndarray) and slope.dtype == value.dtype
            and slope.shape == value.shape):
        found = (f"{slope.dtype} of shape {slope.shape}" if isinstance(slope, np.ndarray) else
                 f"a {type(slope).__name__}")
        raise ValueError(f"{name} has shape {value.shape}, so {what} must be an array of float64 of"
                         f" that shape there, not {found}")
    return slope


def warn_of_new_slope(name, what, energy, gradient, value):
    """Do as warn_of_slope, and raise ValueError for what is no gradient, or no new array."""
    function = what.partition(" and ")[2]
    slope = slope_like(name, value, function, gradient(value))
    first = slope.copy()
    warn_of_slope(what, energy, gradient, value)
    if not ((slope == first) | np.isnan(first)).all():
        raise ValueError(f"{function} must return a new array at each call, but writes into what"
                         " it returned before: return a copy of it")


def check_tensor(name, value, model, function, order):
    """Raise ValueError unless function(value, model) is float64, with d entries along each axis."""
    rehearse(name, value, model, function)
    what, shape = f"{function.__name__} of {class_name(type(model))}", order * value.shape
    found = np.asarray(evaluate(what, function, value, model))
    if found.shape != shape or found.dtype != value.dtype:
        raise ValueError(f"{name} has shape {value.shape}, so {what} must be an array of float64 of"
                         f" shape {shape} there, not {found.dtype} of shape {found.shape}")


@singledispatch
def written(model):
    """List the functions into whose results RMHMC writes, each with the model that it is of."""
    return [(grad_U, model)]


def own_array(function, *arguments):
    """Raise ValueError if what a function returns, to be written into, is in its arguments."""
    found = np.asarray(call_compiled(function, *arguments))
    for name, value in zip(inspect.signature(function).parameters, arguments, strict=True):
        for place, each in arrays_in(name, value):
            if np.shares_memory(found, each):
                raise ValueError(f"{function.__name__} of {class_name(type(arguments[-1]))} must"
                                 " return an array of its own, since the sampler writes into it,"
                                 f" not memory of {place}: return {place}.copy()")


def arrays_in(name, value):
    """Yield (its name, array) of all arrays in a tuple, and in those inside of it."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        for i, each in enumerate(value):
            yield from arrays_in(f"{name}.{fields[i]}" if fields else f"{name}[{i}]", each)


def rehearse(name, value, model, *functions, given=()):
    """Raise ValueError if one that the class of a model has fails at `value`, not compiled.

    Compiled code does not look whether an array has the entry that it reads or writes: of an array
    that is too short it takes what else is in memory.  Once for each function, shapes and whole
    numbers, which may be indices; the models of this project check theirs.

    given : what the functions take between `value` and the model
    """
    if is_ours(model):
        return
    for function in functions:
        made = function.implementations.get(type(model))
        shapes = made, value.shape, outline(given), outline(model)
        if made is None or shapes in rehearsed:
            continue
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                getattr(made, "py_func", made)(value.copy(), *given, model)
        except (IndexError, ValueError) as error:
            if not isinstance(error, IndexError) and not re.search("shape|core dim", str(error)):
                continue  # math.log(-1), which compiled is nan
            last = error.__traceback__
            while last.tb_next:
                last = last.tb_next
            raise ValueError(
                f"{name} has shape {value.shape}, but there {function.__name__} of"
                f" {class_name(type(model))} fails: {error}, in line {last.tb_lineno} of"
                f" {last.tb_frame.f_code.co_filename}") from None
        except Exception:  # compiled, log(0) is -inf, and other errors are raised
            continue
        rehearsed[shapes] = None


def check_source(value, model, *functions):
    """Raise ValueError if a compiled function gives other numbers than its source does today.

    Compiled code keeps the values that global variables had when it was made.
    """
    for function in functions:
        made = function.implementations.get(type(model))
        if is_ours(model) or not hasattr(made, "py_func"):
            continue
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                source = np.asarray(made.py_func(value.copy(), model), float)
        except Exception:  # compiled, log(0) is -inf
            continue
        found = np.asarray(call_compiled(function, value.copy(), model))
        size = np.abs(source[np.isfinite(source)]).max(initial=1.0)
        if found.shape == source.shape and found.dtype.kind in "biuf" and not np.allclose(
                found, source, 1e-6, 1e-6 * size, equal_nan=True):
            raise ValueError(f"{function.__name__} of {class_name(type(model))} gives {found}"
                             f" compiled, but {source} by its source: a variable or a function that"
                             " it takes from outside has changed since it was compiled, or it draws"
                             " random numbers.  Give data as fields of the model, and register it"
                             " again")


def is_ours(model):
    """Tell whether a model is one of this project."""
    return type(model).__module__.startswith("models.")


def list_returned(function):
    """List the types of what a compiled function returns, of those that it was compiled for."""
    try:
        return [each.return_type for each in getattr(function, "nopython_signatures", ())]
    except KeyError:  # Ctrl-C came while it was compiled
        return []


def outline(value):
    """Return what decides which entries are read: shapes, and whole numbers, of a model's parts."""
    if isinstance(value, tuple):
        return tuple(map(outline, value))
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes() if value.dtype.kind in "iub" else value.dtype.kind
    return value if isinstance(value, int | np.integer | str) else type(value)


def evaluate(what, function, value, model, *others):
    """Return function(value, *others, model), or raise ValueError if it writes into the array.

    A function of the user's is asked without zeros first, which q *= 2 leaves as they are.
    """
    points = [value] if is_ours(model) or value.all() else [np.where(value, value, 0.01), value]
    for point in points:
        given = point.copy()
        found = call_compiled(function, given, *others, model)
        if not (given == point).all():  # np.array_equal takes the exception of a signal for a no
            name = next(iter(inspect.signature(function).parameters))
            raise ValueError(f"{what} must leave its argument as it is, but writes into it: begin"
                             f" it with {name} = {name}.copy()")
    return found


def call_compiled(function, *arguments):
    """Return function(*arguments); an error of Numba's gets a note of what can be compiled."""
    made = getattr(function, "implementations", {}).get(type(arguments[-1]))
    taken = inspect.signature(getattr(made, "py_func", made or function))
    try:
        taken.bind(*arguments)
        if len(taken.parameters) < len(arguments) and hasattr(made, "py_func"):
            raise TypeError  # *arguments, of which compiled code cannot tell the class of the model
    except TypeError:
        raise ValueError(f"{function.__name__} of {class_name(type(arguments[-1]))} must be a"
                         f" function of {inspect.signature(function)}, but takes {taken}"
                         ) from None
    try:
        return function(*arguments)
    except NumbaError as error:
        error.__notes__ = []  # Numba keeps the error, and raises it again
        error.add_note("Numba compiles the functions of a model.  They may have arithmetic, loops,"
                       " NumPy, math, and functions with @njit, but nothing of SciPy or pandas,"
                       " and no product of whole numbers with floats (A @ q: let A be of floats):"
                       " replace what it names above")
        raise


def warn_of_slope(what, energy, gradient, x, least=0.0):
    """Warn if a gradient is not that of an energy, in one direction near x.

    least : slopes of at most that are taken for rounding
    """
    gap = slope_gap(energy, gradient, x)
    if gap and max(map(abs, gap)) > least:
        warn(f"{what} disagree: in a direction near the start the first changes by {gap[0]:.6g},"
             f" but by {gap[1]:.6g} if the second is right; print(check_model(model, q)), of"
             " sampling.check, to see which entry is wrong")


def warn_of_metric(what, metric, gradient, x):
    """Warn if a metric's derivatives, (d, d, d), are not its own, in one direction near x.

    RMHMC with wrong ones keeps no volume: it accepts, and samples another density.
    """
    S = np.cos(np.add.outer(np.arange(x.size), np.arange(x.size)))  # the sum of S G is a number
    warn_of_slope(what, lambda x: float(np.sum(S * metric(x))),
                  lambda x: np.tensordot(gradient(x), S), x, 1e-3 * np.abs(metric(x)).max())


def slope_gap(energy, gradient, x):
    """Return two slopes, by energies and by the gradient, if they differ with all SLOPE_STEPS.

    None if they agree with one of them, or as soon as rounding is more than a hundredth of what is
    compared.  Mostly the first step agrees, and two energies are all that it takes.
    """
    direction = np.cos(np.arange(1.0, x.size + 1) ** 2) * np.maximum(np.abs(x), 1.0)
    with np.errstate(all="ignore"):
        g = gradient(x + 0.01 * direction)  # at a mode it would be 0
        wanted, size = g @ direction, np.abs(g) @ np.abs(direction)
        for step in SLOPE_STEPS:
            up, down = (energy(x + (0.01 + sign * step) * direction) for sign in (1, -1))
            slope, rounding = (up - down) / (2 * step), 1e-15 * (abs(up) + abs(down)) / step
            size = max(size, abs(slope))
            if not rounding < 0.01 * size or abs(slope - wanted) <= 1e-3 * size + 10 * rounding:
                return None
    return slope, wanted


def warn(message):
    """Warn the caller of whatever function of the project was called."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_code.co_filename.startswith(OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)


def generator(name, value):
    """Return `value` if it is a numpy.random.Generator."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(f"{name} must be a numpy.random.Generator, such as"
                         f" numpy.random.default_rng(1), not {type(value).__name__}")
    return value


def instance(name, value, kind, how):
    """Return `value` if it is a `kind`; `how` says where the caller gets one."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be of type {kind.__name__} ({how}),"
                         f" not {class_name(type(value))}")
    return value


def labels(name, value, n):
    """Return `value` as an (n,) float64 array of -1 and +1; True is +1, and False -1."""
    value = entries(name, value)
    if value.dtype.kind == "b":
        value = np.where(value, 1.0, -1.0)
    value = array(name, value, (n,))
    kinds = np.unique(value)
    bad = kinds[np.abs(kinds) != 1]
    if bad.size:
        instead = f"; write np.where({name} == {kinds[1]:g}, 1, -1)" if kinds.size == 2 else ""
        raise ValueError(f"{name} must hold only -1 and +1, but holds"
                         f" {bad[:5].tolist()}{instead}")
    return value


def covariance(name, value):
    """Return `value` as a symmetric (n, n) float64 array (not tested for definiteness)."""
    value = square(name, value)
    gap = np.abs(value - value.T).max()
    if gap > 1e-10 * np.abs(value).max():  # rounding of whatever computed it
        raise ValueError(f"{name} must be symmetric, but differs from its transpose by {gap:.3g}")
    return (value + value.T) / 2 if gap > 0.0 else value


def why_no_factor(name, value):
    """Say of a symmetric matrix without a Cholesky factor what to do: a nugget, if that helps."""
    least, nugget = np.linalg.eigvalsh(value)[0], 1e-6 * np.diag(value).max()
    how = (f"add {nugget:.1g} to its diagonal, a millionth of the largest entry there:"
           f" {name} + {nugget:.1g} * np.eye({len(value)})" if -nugget / 10 < least else
           "so it is no covariance, by more than rounding: see how it was computed")
    return (f"{name} must be positive definite, but its Cholesky factorisation fails; its smallest"
            f" eigenvalue is {least:.3g}: {how}")


def square(name, value):
    """Return `value` as a square float64 array."""
    value = array(name, value, (-1, -1))
    if value.shape[0] != value.shape[1]:
        raise ValueError(f"{name} must be square, not of shape {value.shape}")
    return value


def mass(name, value, h):
    """Return the Cholesky factor of a mass, (h, h): `value` is a matrix or a number times I."""
    if not isinstance(value, list | tuple | np.ndarray):
        return np.sqrt(real(name, value, 0.0, open_low=True)) * np.eye(h)
    value = covariance(name, array(name, value, (h, h)))
    L, ok = cholesky(value)
    if not ok:
        raise ValueError(f"{name} must be positive definite, but its Cholesky factorisation failed")
    return L


def takes(function, *arguments):
    """Tell whether a function, and no class, can be called with so many arguments, in order."""
    try:
        inspect.signature(function).bind(*arguments)
    except ValueError:  # written in C, it may not say what it takes
        return not isinstance(function, type)
    except TypeError:
        return False
    return not isinstance(function, type)


def cases(name, value, n):
    """Raise ValueError unless the whole numbers of an array are below n."""
    if value.size and value.max() >= n:
        raise ValueError(f"{name} must hold numbers from 0 to {n - 1}, but holds {value.max()}")


def indices(name, value, n):
    """Return `value` as an array of indices below n; all of them for None."""
    if value is None:
        return np.arange(n)
    try:
        found = np.atleast_1d(np.asarray(value))
    except ValueError:  # lists of unequal lengths
        found = np.empty((0, 0))
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu") or isinstance(
            value, np.ma.MaskedArray):
        raise ValueError(f"{name} must be a list of whole numbers or None, not {shown(value)}")
    if found.size and not (0 <= found.min() and found.max() < n):
        raise ValueError(f"{name} must hold indices from 0 to {n - 1}, not {shown(value)}")
    return found.astype(np.int64)
