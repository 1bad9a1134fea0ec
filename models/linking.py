"""Machine code that is made once: long functions are called by their names.

Numba copies the code of all that a function calls into the function's own, optimises the whole and
makes machine code of it, and again so in each function that calls this one.  What is short may be
inlined there, which is what the copy is for.  What is long is not inlined; here it is compiled
once, whether it is ours or Numba's, and linked.  Speed and numbers stay what they are.

What is written of a function is its own machine code with that of all the long ones that it calls,
so that one file is enough (models/cache.py).

Three things that Numba does while it compiles, and that nobody looks at, are left out below.
"""

import sys
from contextlib import contextmanager

from llvmlite import binding
from llvmlite.binding import ffi
from numba.core.codegen import JITCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack, TargetConfig

LONG = 200  # lines, mostly instructions of LLVM, which inlines what costs up to 250: 5 for most
WRAPPERS = ("cpython.", "cfunc.")
known = {}  # names of the functions of a long library -> the library


@contextmanager
def callbacks_raise():
    """Raise afterwards what comes while LLVM calls Python, which else is printed and forgotten.

    Ctrl-C mostly comes there, since signals wait while LLVM is at work.  A library would have no
    machine code then, nor would the file that is written of it: who loads that crashes.
    """
    before, lost = sys.unraisablehook, []

    def keep(found):
        if "ctypes callback" in (found.err_msg or ""):
            lost.append(found.exc_value)
        else:
            before(found)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = before
    if lost:
        raise lost[0]


class Library(JITCodeLibrary):
    """The machine code of one function, and the libraries that it has to be linked with."""

    def __init__(self, codegen, name):
        """Start without any."""
        super().__init__(codegen, name)
        self.calls = {}  # the keys are long libraries, each after those that it calls
        self.names = ()  # of its own functions, if it is long
        self.machine_code, self.symbols, self.environments = None, [], []

    def finalize(self):
        """Optimise, and make machine code."""
        linking, self._linking_libraries = dict.fromkeys(self._linking_libraries), []
        for each in linking:
            self.calls |= getattr(each, "calls", {})
            if getattr(each, "names", ()):
                self.calls[each] = None
                self._reload_init.update(each._reload_init)
            else:
                self._linking_libraries.append(each)
        super().finalize()

    @property
    def has_dynamic_globals(self):
        """Tell whether other caches than ours, which do not know what is linked, may write this."""
        return bool(self.calls) or super().has_dynamic_globals

    def _verify_declare_only_symbols(self):
        """Leave out Numba's check that no function is missing, which knows of no linking."""

    def _finalize_final_module(self):
        """Make machine code, and look whether it is long."""
        with callbacks_raise():
            super()._finalize_final_module()
        if self.symbols or not (self._object_caching_enabled and self._compiled_object):
            return  # it was loaded, or is nothing that is kept
        self.machine_code = self._compiled_object
        module = self._final_module
        self.symbols = [each.name for kind in (module.functions, module.global_variables)
                        for each in kind if not each.is_declaration]
        found = (lookup_environment(each.name) for each in module.global_variables)
        self.environments = [each for each in found if each and each.can_cache()]
        own = [each for each in module.functions if not each.is_declaration
               and each.linkage == binding.Linkage.external
               and not each.name.startswith(WRAPPERS)]
        if sum(str(each).count("\n") for each in own) >= LONG:
            self.names = tuple(each.name for each in own)
            known[self.names] = self

    def serialize_using_object_code(self):
        """Return what `_unserialize` makes the same library of, in another process."""
        return "", "linked", [each.state() for each in (*self.calls, self)]

    def state(self):
        """Return what is to be known of this library alone."""
        bitcode = None if self.names else self._get_module_for_linking().as_bitcode()
        return (self.name, self.machine_code, bitcode, self.names, self.symbols,
                self.environments, [each.names for each in self.calls])

    @classmethod
    def _unserialize(cls, codegen, serialized):
        """Return a library, and load it and what it calls, unless that is there."""
        *_, states = serialized
        for name, machine_code, bitcode, names, symbols, environments, calls in states:
            if names in known:
                self = known[names]
                continue
            self = codegen.create_library(name)
            self.machine_code, self.names, self.symbols = machine_code, names, symbols
            self.environments = environments
            self.calls = dict.fromkeys(known[each] for each in calls)
            self._shared_module = bitcode and binding.parse_bitcode(bitcode)
            self.enable_object_caching()
            self._set_compiled_object(machine_code)
            self._finalize_final_module()
            codegen._engine._defined_symbols.update(symbols)
            for each in environments:
                codegen.set_env(each.env_name, each)
            if names:
                known[names] = self
        return self


def for_c(create):
    """Make an entry for C only of functions that are not inner ones of Numba."""

    def create_cfunc_wrapper(self, *arguments):
        if not ConfigStack().top().no_cpython_wrapper:
            create(self, *arguments)

    return create_cfunc_wrapper


def same_options(self, other):
    """Tell whether two sets of options are equal, first by those that were given."""
    return (self is other or self._values == other._values or self.values() == other.values()
            if isinstance(other, TargetConfig) else NotImplemented)


CPUContext.create_cfunc_wrapper = for_c(CPUContext.create_cfunc_wrapper)
TargetConfig.__eq__, TargetConfig.__hash__ = same_options, lambda self: hash(type(self))
for callbacks in [*ffi.lib._lock._cblist]:  # which time each of a hundred thousand calls of LLVM
    ffi.unregister_lock_callback(*callbacks)
