"""The project's one JIT decorator, and what compiled and interpreted code both can call.

`njit` is Numba's with the settings every file shares:

error_model="numpy"    1 / 0 is inf, as in NumPy: a bad proposal has energy inf and is rejected
fastmath off           compiled and interpreted code give the same floating-point numbers
models/cache.py        only the first run compiles; machine code of another source is not used

`public` puts the checks of arguments, which raise ValueError, in front of a compiled function.
`Generic` is a function whose code depends on the class of an argument (models/interface.py).
`external` is a function of SciPy that is written in C or Fortran.

What these three make can be called from Python and has an attribute _numba_type_, which is what
compiled code takes them for.

`check_interrupt` in a loop lets Ctrl-C, or another signal, end compiled code.

With NUMBA_DISABLE_JIT=1 nothing is compiled, so that a debugger can step through everything.
"""

import ctypes
import difflib
import inspect
import itertools
import numbers
import os
import sys
import time
from copy import copy
from functools import update_wrapper, wraps

import llvmlite.binding
import numba
import numpy as np
from numba import types
from numba.core import boxing, cgutils, event, pythonapi
from numba.core.typing.ctypes_utils import to_ctypes
from numba.extending import get_cython_function_address, intrinsic

from models import cache

ROOT = cache.ROOT
named = {}  # the classes that generic functions know


def njit(function):
    """Compile `function` on first call, or load it from the cache."""
    dispatcher = numba.njit(error_model="numpy")(function)
    if dispatcher is function:  # interpreted
        function.py_func, function._numba_type_ = function, None
    else:
        cache.use(dispatcher)
    return dispatcher


def public(check):
    """Make a compiled function a public entry point, called as compiled(*check(*arguments)).

    `check` takes the public arguments, defaults included, raises ValueError where one is wrong,
    and returns the tuple that the compiled function takes.  Compiled code that calls the entry
    point reaches the compiled function itself, with all its arguments and without the checks.
    """
    signature = inspect.signature(check)

    def decorate(compiled):
        @wraps(compiled.py_func)
        def function(*arguments, **named):
            try:
                given = signature.bind(*arguments, **named).arguments
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {explain(error, signature, named)}"
                                ) from None
            try:
                with telling(function.__name__):
                    return function.compiled(*check(*arguments, **named))
            except MemoryError:
                raise ValueError(too_large(given)) from None

        function.compiled, function.py_func, function.check = compiled, compiled.py_func, check
        function.__signature__ = signature  # of what is called, and not of what is compiled
        function._numba_type_ = compiled._numba_type_  # what compiled code takes it for
        return function

    return decorate


def telling(name):
    """Return a context in which it is said if `name` is being compiled."""
    return event.install_listener("numba:compile", Telling(name))


def tells(function):
    """Return a function that is not compiled itself, and says if something is while it runs."""
    @wraps(function)
    def telling_of_it(*arguments, **named):
        with telling(function.__name__):
            return function(*arguments, **named)

    return telling_of_it


class Telling(event.Listener):
    """Says on stderr that a function is being compiled, once that has taken a second."""

    told = "MIRRORMC_QUIET" not in os.environ  # scripts set it: their progress bars say so
    before = ""  # what is written

    def __init__(self, name):
        """Begin to count the functions that are compiled."""
        self.name, self.begin, self.said = name, time.monotonic(), False
        self.compiled, self.parts = set(), set()
        self.end = "\r" if sys.stderr is not None and sys.stderr.isatty() else ""

    def on_start(self, happening):
        """Say so at first, and in a terminal again with each function.

        Numba's own functions are not counted.  Of those that the compiled ones reach, some may be
        there already, from the cache or from a call before.
        """
        dispatcher = happening.data["dispatcher"]
        if dispatcher in cache.dispatchers:
            self.compiled.add(dispatcher.py_func)
            self.parts |= dispatcher._cache.parts
        if self.told and time.monotonic() - self.begin > 1 and (self.end or not self.said):
            self.said = True
            reached = self.parts & {each.py_func for each in cache.dispatchers}
            print(f"{self.before}compiling {self.name} for these arguments, up to a minute the"
                  f" first time: {len(self.compiled)} of at most {len(reached)} functions",
                  end=self.end or "\n", file=sys.stderr, flush=True)

    def on_end(self, _):
        """Nothing: what is inside of it has been counted."""


def explain(error, signature, named):
    """Say what is wrong with the arguments of a call, and which name was meant."""
    for name in named:
        if name not in signature.parameters:
            near = difflib.get_close_matches(name, signature.parameters, 1, 0.5)
            return (f"got an unexpected keyword argument {name!r};"
                    + (f" did you mean {near[0]!r}?" if near else f" it takes {signature}"))
    return f"{error}; it takes {signature}"


def too_large(given):
    """Say which of the arguments of a call asks for more memory than there is."""
    counts = [name for name, value in given.items() if isinstance(value, numbers.Integral)]
    start = next(each for each in (given.get("keep"), *given.values()) if each is not None)
    size = np.size(start) if isinstance(start, list | np.ndarray) else 1
    if not counts:
        return f"there is not enough memory for {', '.join(given)}"
    name = max(counts, key=given.get)
    if 8e-9 * given[name] * size < 0.1:  # GB: it is not the result
        return ("there is not enough memory for what the model computes, such as the covariance of"
                " all cases: take fewer cases, or an approximation")
    return (f"{name} must be such that the result fits into memory, not {given[name]}: that takes"
            f" at least {8e-9 * given[name] * size:.1f} GB; run pieces, each from the last state of"
            " the one before with the same rng")


class Generic:
    """A function whose code depends on the class of its argument number `on`.

    Classes for which none is registered get `default`, or an error if there is none.
    """

    def __init__(self, stub, on, default=None):
        """Take name and docstring from the empty function `stub`."""
        self.on, self.default, self.implementations = on, default, {}
        update_wrapper(self, stub)

    def register(self, kind):
        """Return a decorator that registers a function for the class `kind` and compiles it.

        Numba takes two classes of the same name and fields for one, such as those that a cell of a
        notebook makes when it is run again; so the second gets a number.
        """
        if not isinstance(kind, type):
            raise ValueError(f"{self.__name__}.register must be given the class of a model, as in"
                             f" @{self.__name__}.register(Model), not {kind!r:.80}")
        name = kind.__name__
        for number in itertools.count(2):
            if named.setdefault(kind.__name__, kind) is kind:
                break
            kind.__name__ = f"{name}_{number}"

        def registered(function):
            self.implementations[kind] = njit(function)
            cache.forget((self, kind))
            return self.implementations[kind]

        return registered

    def choose(self, kind):
        """Return what is registered for the class `kind`."""
        found = self.implementations.get(kind, self.default)
        if found is None:
            known = ", ".join(other.__name__ for other in self.implementations) or "none"
            raise TypeError(f"{self.__name__} has no implementation for"
                            f" {getattr(kind, '__name__', kind)} (there are: {known});"
                            f" write one with @{self.__name__}.register")
        return found

    def __call__(self, *arguments):
        """Call what is registered for the class of the argument."""
        if self.fault(arguments):
            raise ValueError(self.fault(arguments))
        return self.choose(type(arguments[self.on]))(*arguments)

    def __reduce__(self):
        """Pickle the name only: no process has a second one."""
        return self.__qualname__

    @property
    def _numba_type_(self):
        return types.Dispatcher(self)  # which asks for what follows

    def get_call_template(self, arguments, named):
        """Type a call in compiled code."""
        return self.choose(class_of(arguments[self.on])).get_call_template(arguments, named)

    def get_overload(self, arguments):
        """Return the machine code of a call that has been typed."""
        return self.choose(class_of(arguments[self.on])).get_overload(arguments)

    nopython_signatures, is_compiling = (), False


Generic.fault = lambda self, arguments: ""  # until models/validate.py, which needs it, is imported


def class_of(numba_type):
    """Return the class of which a Numba type stands for the instances, or the type itself."""
    return getattr(numba_type, "instance_class", numba_type)


def external(module, name, signature):
    """Return the C function `name` of a Cython module of SciPy, to be called by its address.

    Interpreted and compiled code call it alike, with x.ctypes of an array x for a pointer.

    signature : of Numba, such as types.double(types.double)
    """
    address, symbol = get_cython_function_address(module, name), f"{module}.{name}"
    kinds = map(to_ctypes, (signature.return_type, *signature.args))
    call = ctypes.CFUNCTYPE(*kinds)(address)

    def function(*arguments):
        return call(*arguments)

    llvmlite.binding.add_symbol(symbol, address)  # a name can be cached, an address cannot
    function._numba_type_ = types.ExternalFunction(symbol, signature)
    return function


@intrinsic
def leave_if(typing, failed):
    """Return from all compiled code, if so, with the exception that is set in the interpreter."""

    def generate(context, builder, signature, arguments):
        with builder.if_then(*arguments):
            context.call_conv.return_exc(builder)
        return context.get_dummy_value()

    return types.none(types.boolean), generate


def handle_signals():
    """Call the handlers of the signals that have arrived; return -1 if one has raised."""
    return ctypes.pythonapi.PyErr_CheckSignals()


handle_signals._numba_type_ = types.ExternalFunction("PyErr_CheckSignals", types.int32())


@njit
def check_interrupt():
    """End a run by what the handler of a signal raises: KeyboardInterrupt after Ctrl-C.

    Every loop over transitions calls this, and every other one whose iterations take long; in
    between, signals wait.  It costs some ns.  What the run has allocated by then is not freed,
    since Numba frees nothing when an error ends compiled code.
    """
    failed = handle_signals() != 0
    if failed:  # never in interpreted code, in which an exception is raised at once
        leave_if(failed)


def without_python(box):
    """Make a function that gives Python a result of compiled code do so without running Python.

    There the handler of a signal that has arrived meanwhile is called and may raise; Numba does not
    ask whether it did, and crashes.  Numba's own functions unpickle the classes that they need;
    here these are constants.
    """

    def function(kind, value, c):
        def constant(each):
            found = c.env_manager.read_const(c.env_manager.add_const(each))
            c.pyapi.incref(found)
            return found

        pyapi = copy(c.pyapi)
        pyapi.serialize_object, pyapi.unserialize = (lambda each: each), constant
        return box(kind, value, c._replace(pyapi=pyapi))

    return function


def box_namedtuple(kind, value, c):
    """Make a NamedTuple by tuple.__new__, which is written in C; a call of its class is Python."""
    fields = boxing.box_tuple(kind, value, c)
    new, cls = map(c.pyapi.unserialize, (tuple.__new__, kind.instance_class))
    found = c.pyapi.call_function_objargs(new, (cls, fields))
    for each in (new, cls, fields):
        c.pyapi.decref(each)
    return found


def unbox_generator(kind, value, c):
    """Take a Generator from Python, or the exception that a signal's handler raised meanwhile.

    Numba's own calls ctypes.cast, which is Python, and takes an attribute of what that returns,
    without a look whether there is something; nor does it look whether all went well in the end.
    """
    pyapi = copy(c.pyapi)

    def attribute(each, name):
        found = cgutils.alloca_once_value(c.builder, cgutils.get_null_value(pyapi.pyobj))
        with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, each)):
            c.builder.store(c.pyapi.object_getattr_string(each, name), found)
        return c.builder.load(found)

    pyapi.object_getattr_string = attribute
    found = boxing.unbox_numpy_random_generator(kind, value, c._replace(pyapi=pyapi))
    found.is_error = cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    return found


pythonapi._unboxers.functions[types.NumPyRandomGeneratorType] = unbox_generator
pythonapi._boxers.functions |= {types.Array: without_python(boxing.box_array)} | dict.fromkeys(
    (types.NamedTuple, types.NamedUniTuple), without_python(box_namedtuple))
cache.converters += [without_python, box_namedtuple, unbox_generator]
