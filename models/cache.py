"""The cache of machine code: what is run is what is written.

Numba's own cache looks at the file that defines a function and at nothing else: what the function
uses from other files, and the values that it reads there, go stale in silence (numba issue 1833).
Here machine code lies in a file that is named by a hash of all that it is compiled from: the
bytecode, as loaded, of every function that is reached, and the values that these read (machine code
holds them and never looks again); of a generic function (models/jit.py), what is registered for the
classes that occur; types, versions, processor, and how arguments are taken from Python.

Objects are followed, not files.  So it does not matter where a helper lies, how it is imported, or
whether a file has been edited since it was loaded.  What is not understood, and what another
process cannot find by its name, as what a notebook defines, has no hash: code that contains it is
compiled in each process, and is neither written nor read.

Within a process, a new registration drops the machine code that the old one is part of.  A value
that changes in another way is seen when something that reads it is compiled; until then machine
code goes on with the old one, as Numba's always does.
"""

import dis
import hashlib
import itertools
import os
import pickle
import signal
import sys
import threading
import types as python
import uuid
import warnings
import weakref
from contextlib import contextmanager, suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numba
import numpy as np
from numba import types
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.extending import _Intrinsic
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from models.linking import Library

ROOT = Path(__file__).resolve().parents[1]
HOME = os.path.expanduser("~")  # "~" if there is none
WRITABLE = ROOT if os.access(ROOT, os.W_OK) or HOME == "~" else Path(HOME, ".cache", "mirrormc")
FOLDER = Path(numba.config.CACHE_DIR or WRITABLE / ".numba_cache")

CODE = ("co_code co_exceptiontable co_flags co_argcount co_posonlyargcount co_kwonlyargcount"
        " co_names co_varnames co_freevars co_cellvars").split()
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), range, slice)
MAIN = ("__main__", "__mp_main__")
LIBRARIES = sys.stdlib_module_names | {"numpy", "numba"}  # of which the version says enough
# Machine code is linked by names with a number in them, which Numba counts from 1 in each process:
# the work of one process could be taken for that of another
FunctionIdentity._unique_ids = iter(lambda: uuid.uuid4().int, None)

dispatchers = weakref.WeakSet()  # the functions that have a Cache
converters = []  # what models/jit.py has in place of Numba's, between Python and compiled code
looked_at = {}  # part of machine code -> what it was made of when it was last compiled


def use(dispatcher):
    """Keep the machine code of a function that Numba compiles in this cache."""
    dispatcher.targetoptions["no_cfunc_wrapper"] = True  # C does not call it
    dispatcher._cache = Cache(dispatcher)
    dispatchers.add(dispatcher)


class Cache(NullCache):
    """The machine code of one function."""

    cache_path = str(FOLDER)

    def __init__(self, dispatcher):
        """Start without any parts."""
        self.function, self.options = dispatcher.py_func, dispatcher.targetoptions
        self.parts = set()  # of what has been compiled in this process
        self.files = {}  # of each signature; None if it has none

    def load_overload(self, signature, context):
        """Return what has been compiled for this signature from the same parts, or None."""
        with interrupt_waits():  # of what is half registered, Numba never finds the other half
            context.refresh()
        context.codegen()._library_class = Library
        settings = (context.codegen().magic_tuple(), numba.__version__, np.__version__,
                    sys.version, numba.config.BOUNDSCHECK, self.options,
                    [item for each in converters for item in value_parts(each.__code__)])
        arguments, _ = normalize_signature(signature)
        parts, key = trace(settings, arguments, self.function)
        self.parts |= parts
        self.files[signature] = file = key and FOLDER / f"{self.function.__name__}-{key}"
        content = file and read(file)
        return content and CompileResult._rebuild(context, *pickle.loads(content))

    def save_overload(self, signature, result):
        """Write what has been compiled atomically, if it can be written."""
        file = self.files[signature]
        if file is None or result.lifted or result.library._dynamic_globals:
            return
        write(file, dumps(result._reduce()))


@contextmanager
def interrupt_waits():
    """Let Ctrl-C wait: for a fork, in which Python may ignore what its handler raises, and others.

    To mask the signal would not do, since another thread would take it.
    """
    handler, pressed = signal.getsignal(signal.SIGINT), []
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    signal.signal(signal.SIGINT, lambda *arguments: pressed.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if pressed:
        handler(*pressed[0])


def read(file):
    """Return the content of a file as it was written, or None."""
    try:
        whole = file.read_bytes()
    except OSError:  # not there, or not readable
        return None
    content, end = whole[:-32], whole[-32:]
    return content if hashlib.sha256(content).digest() == end else None


def write(file, content):
    """Write a file atomically, if it can be written; another process may do the same."""
    growing = FOLDER / uuid.uuid4().hex
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        growing.write_bytes(content + hashlib.sha256(content).digest())
        growing.replace(file)
    except OSError as error:
        with suppress(OSError):
            growing.unlink()
        warnings.warn(f"{FOLDER} cannot be written ({error.strerror}): what is compiled is not"
                      " kept; NUMBA_CACHE_DIR names another folder", RuntimeWarning, stacklevel=2)


def forget(part):
    """Drop all machine code that `part` is part of: its next call compiles anew."""
    for dispatcher in dispatchers:
        dispatcher._compiler._failed_cache.clear()
        if part in dispatcher._cache.parts:
            dispatcher._cache.parts.clear()
            dispatcher._make_finalizer()()
            dispatcher._reset_overloads()


def trace(settings, arguments, function):
    """Return the parts of machine code, and the hash of them all or None if one has none.

    A part is a function, a class, a generic function, a pair of these two for what is registered,
    or a module with the names of those attributes that may be read.
    """
    start = [repr(settings), *value_parts(arguments), function]
    parts, queue = {}, parts_among(start)
    for part in queue:  # which grows
        if part not in parts:
            parts[part] = items = list(parts_of(part))
            if looked_at.setdefault(part, items) != items:
                forget(part)  # a value that it reads has changed since it was compiled
                looked_at[part] = items
            queue += parts_among(items)
            queue += itertools.product([part for part in parts if hasattr(part, "implementations")],
                                       [part for part in parts if isinstance(part, type)])
    numbers = {part: number for number, part in enumerate(parts)}
    content = [[numbers.get(item, item) for item in items] for items in (start, *parts.values())]
    key = hashlib.sha256(repr(content).encode()).hexdigest()[:32]
    if any(None in items for items in content):
        key = None
    try:
        TopologicalSorter({part: parts_among(parts[part]) for part in parts}).prepare()
    except CycleError:  # recursion, which crashes when it is loaded (numba issue 6061)
        key = None
    return set(parts), key


def parts_among(items):
    """Return the items that have to be looked at in their turn."""
    return [item for item in items if not isinstance(item, str | None)]


def parts_of(part):
    """Yield what a part is made of: strings, other parts, and None for what has no hash."""
    if isinstance(part, python.FunctionType):
        variables, names = reads(part.__code__)
        cells = tuple(cell.cell_contents for cell in part.__closure__ or ())
        defaults = part.__defaults__, tuple((part.__kwdefaults__ or {}).items())
        yield f"{part.__module__}.{part.__qualname__}"
        yield None if part.__module__ in MAIN or part.__module__ not in sys.modules else ""
        yield from value_parts((part.__code__, defaults, cells), names)
        yield from values_parts(part.__globals__, variables, names)
    elif isinstance(part, type):
        yield f"{part.__module__}.{part.__qualname__}{part._fields}"
        yield None if part.__module__ in MAIN or find(part) is not part else ""
    elif hasattr(part, "implementations"):
        yield from value_parts(part.default)
    elif isinstance(part[0], python.ModuleType):
        module, names = part
        yield from values_parts({name: getattr(module, name) for name in names
                              if hasattr(module, name)}, names, names)
    else:
        generic, kind = part
        yield from value_parts(generic.implementations.get(kind))


def values_parts(values, wanted, names):
    """Yield what those of the `values` that are wanted are made of, with their names."""
    for name in wanted:
        if name in values:
            yield name
            yield from value_parts(values[name], names)


def value_parts(value, names=()):
    """Yield what a value is made of; of a module, only the attributes `names` are read."""
    numba_type = getattr(value, "_numba_type_", None)
    if type(value) in PLAIN or isinstance(value, np.dtype):
        yield repr(value)
    elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        content = hashlib.sha256(value.tobytes()).hexdigest()
        yield f"{type(value)} {value.dtype!r} {value.shape} {value.strides} {content}"
    elif isinstance(value, tuple):
        yield f"{len(value)} values"
        for item in (type(value), *value):
            yield from value_parts(item, names)
    elif isinstance(value, types.Type):
        yield None if isinstance(value, types.Callable) else repr(type(value))
        public = [item for name, item in vars(value).items() if not name.startswith("_")]
        yield from value_parts((*public, getattr(value, "value", None)))  # of what was omitted
    elif isinstance(value, python.CodeType):
        yield repr([getattr(value, field) for field in CODE])
        yield from value_parts(value.co_consts)
    elif isinstance(numba_type, types.ExternalFunction):
        yield str(numba_type.key)
    elif isinstance(value, _Intrinsic):
        yield value._defn
    elif isinstance(numba_type, types.Dispatcher):
        target = numba_type.dispatcher
        yield repr(getattr(target, "targetoptions", None))
        yield getattr(target, "py_func", target)
    elif isinstance(value, python.ModuleType):
        library = value.__name__.split(".")[0] in LIBRARIES
        yield value.__name__ if library else (value, names)
    elif str(getattr(value, "__module__", "")).split(".")[0] in LIBRARIES and find(value) is value:
        yield f"{value.__module__}.{value.__qualname__}"
    elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        yield value
    else:
        yield None


def find(thing):
    """Return what other processes find under the name of a class or function, None if nothing."""
    found = sys.modules.get(thing.__module__)
    for name in getattr(thing, "__qualname__", "?").split("."):
        found = getattr(found, name, None)
    return found


@cache
def reads(code):
    """Return the names of the globals that bytecode reads, and of all attributes that it reads."""
    inner = [reads(const) for const in code.co_consts if isinstance(const, python.CodeType)]
    variables = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return (tuple(sorted(variables.union(*(found for found, _ in inner)))),
            tuple(sorted(set(code.co_names).union(*(found for _, found in inner)))))
