"""The project's one JIT decorator: Numba's `njit` with the settings every file shares.

cache=True             compiled code is kept in .numba_cache/, so only the first run compiles
error_model="numpy"    1 / 0 is inf, as in NumPy: a bad proposal has energy inf and is rejected
fastmath off           compiled and interpreted code give the same floating-point numbers

Numba recompiles a cached function only when the file that defines it changes; what the function
uses from other files goes stale in silence (numba issue 1833).  So each file's cache lives in a
folder named by a hash of that file, of the project files it imports, and of all of models/.

The index of that cache holds the types of arguments, so a model that one program defines in a file
of its own would make it unreadable for every other program: then `Index` starts a new one.

`entry` puts the checks of arguments, which raise ValueError, in front of a compiled function.
"""

import ast
import hashlib
import os
from functools import cache, wraps
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before SciPy loads its BLAS: same bits

import numba
from numba.core.caching import IndexDataCacheFile
from numba.extending import overload

ROOT = Path(__file__).resolve().parents[1]
WRITABLE = ROOT if os.access(ROOT, os.W_OK) else Path.home() / ".cache" / "mirrormc"


def njit(function):
    """Compile `function` on first call, or load it from the cache."""
    previous = numba.config.CACHE_DIR
    path = Path(function.__code__.co_filename).resolve()
    numba.config.CACHE_DIR = str(WRITABLE / ".numba_cache" / fingerprint(path))
    try:
        dispatcher = numba.njit(cache=True, error_model="numpy")(function)
        dispatcher._cache._cache_file.__class__ = Index
        return dispatcher
    finally:
        numba.config.CACHE_DIR = previous


class Index(IndexDataCacheFile):
    """Numba's index of what is compiled, empty if it names a type that cannot be imported here."""

    def _load_index(self):
        try:
            return super()._load_index()
        except (ImportError, AttributeError):
            return {}


def entry(check):
    """Make a compiled function a public entry point, called as compiled(*check(*arguments)).

    `check` takes the public arguments, defaults included, raises ValueError where one is wrong,
    and returns the tuple that the compiled function takes.  Compiled code that calls the entry
    point reaches the compiled function itself, with all its arguments and without the checks.
    """

    def decorate(compiled):
        @wraps(compiled.py_func)
        def function(*arguments, **named):
            return compiled(*check(*arguments, **named))

        @overload(function)
        def straight_in(*arguments):
            return forward(compiled, "entry")

        function.compiled = compiled
        function.py_func = compiled.py_func
        return function

    return decorate


def forward(compiled, purpose):
    """Return a function that calls `compiled`, for Numba to compile in an overload.

    Numba names machine code by this function's name, the types of its arguments, and a counter that
    starts anew in each process.  Under one name for all, what the cache holds of one function (U,
    say) could be linked in place of another with the same arguments (grad_U).
    """

    def call(*arguments):
        return compiled(*arguments)

    call.__qualname__ = f"{purpose}.{compiled.__module__}.{compiled.__name__}"
    return call


@cache
def fingerprint(path):
    """16 hex digits that change when `path`, a project file it imports, or models/ changes."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(dependencies({path, *(ROOT / "models").glob("*.py")})):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def dependencies(paths):
    """Return the set of the files `paths` and of all project files that they import."""
    files, todo = set(), set(paths)
    while todo:
        file = todo.pop()
        files.add(file)
        todo |= set(imported(file)) - files
    return files


def imported(path):
    """Yield the project files that the file `path` imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            for folder in (ROOT, path.parent):  # scripts in reproduce/ import their neighbours
                file = folder / (name.replace(".", "/") + ".py")
                if file.is_file():
                    yield file
                    break
