"""Count the operations of a run where they are made, line by line of the mirrors: for the pages.

Nothing is typed in: the functions of algorithms/ and models/ are compiled anew with every `a + b`
and every call `f(x)` handed to a Counter, and run in a process in which nothing else is compiled
(NUMBA_DISABLE_JIT=1).  What is made while a line of a mirror is being executed is that line's, also
if a function that it calls makes it.  An operation is

    an addition, multiplication, division, root, exponential, ... of two floats, or of each pair of
    elements of arrays; 2 n for a scalar product of n elements, 2 n m k for a product of matrices;
    what its sizes say for a routine of LAPACK or BLAS (ROUTINES); 1 an element for a function of
    OPAQUE, whose own steps depend on the value.  Signs, comparisons, copies and whole numbers are
    free, and so are draws.

A mirror's own lines are counted as they stand.  In what they call, an operation that a compiler
takes out of a loop, because nothing in it changes there, is counted once whenever the loop begins.

Where a Case asks for evaluations instead, calls of generic functions (models/interface.py) are
counted, and of nested ones the outermost.

A count is a polynomial in the sizes of the problem and the settings of the sampler.  It is found
exactly, by runs over a grid that has one value more of each than the polynomial's degree: were it
no polynomial of that degree, there would be an error.
"""

import ast
import itertools
import operator
import sys
from collections import Counter as Numbers
from contextlib import contextmanager
from ctypes import POINTER, c_int32, c_uint8
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import NamedTuple

import numba
import numpy as np

from reproduce.harness.mirrors import mirrors
from reproduce.harness.operations import FLOPS
from reproduce.harness.recording import lines_of, source, statements

# what the checks of arguments do is not counted, and what has no operations need not be looked at
LEFT_OUT = {"models.cache", "models.fields", "models.jit", "models.special", "models.validate"}
OPERATORS = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul,
             "Div": operator.truediv, "Pow": operator.pow, "MatMult": operator.matmul,
             "Mod": operator.mod, "FloorDiv": operator.floordiv, "LShift": operator.lshift,
             "RShift": operator.rshift, "BitAnd": operator.and_, "BitOr": operator.or_,
             "BitXor": operator.xor}
# per element of the argument with this number
OPAQUE = {"models.special": 0, "models.gp_kernel.write_exp": 1,
          "models.logistic_regression.exp_of_minus_abs": 0}
# of the sizes that are arguments number i, j, ...: LAPACK Working Note 41, and as BLAS is defined
ROUTINES = {
    "dpotrf": ((1,), lambda n: n * (n + 1) * (2 * n + 1) // 6),
    "dtrtri": ((2,), lambda n: n * (n * n + 2) // 3),
    "dlauum": ((1,), lambda n: n * (n + 1) * (2 * n + 1) // 6),
    "dtrsv": ((3,), lambda n: n * n),
    "dtrmv": ((3,), lambda n: n * n),
    "dsymv": ((1,), lambda n: 2 * n * n),
    "dgemv": ((1, 2), lambda m, n: 2 * m * n),
    "dtrsm": ((0, 4, 5), lambda side, m, n: m * n * (m if side == ord("L") else n)),
    "dtrmm": ((0, 4, 5), lambda side, m, n: m * n * (m if side == ord("L") else n)),
    "dsyrk": ((2, 3), lambda n, k: k * n * (n + 1)),
    "dgemm": ((2, 3, 4), lambda m, n, k: 2 * m * n * k),
}
SITES = itertools.count()  # numbers for operations that a compiler takes out of a loop
REDUCTIONS = {"sum", "mean", "dot"}  # of numpy, an operation for each element of the argument
FREE = {"arange", "argsort", "array", "ascontiguousarray", "asarray", "concatenate", "copy", "diag",
        "empty", "empty_like", "eye", "full", "full_like", "ones", "split", "zeros", "zeros_like"}


class Case(NamedTuple):
    """A call that is counted over a grid of sizes."""

    name: str  # such as "twin"
    start: object  # of **sizes -> a function without arguments, which is what is counted
    sizes: dict  # name -> values; without any the counts are those of one run
    mirrors: tuple = ()  # whose lines are told apart
    asks: object = None  # of (a generic function's name, the argument it goes by) -> kinds, a tuple
    less: object = None  # as `start`: taken off the whole
    times: int = 1  # how often what is counted is done: the whole is divided by it
    quotient: tuple = ()  # ("blocks", "N", "b"): the size blocks is N / b, and written so


class Count(NamedTuple):
    """What stands below a mirror on its page."""

    mirror: object
    per: str  # for what the operations are: "transition"
    cases: tuple
    paper: str  # what the paper says of it, or that it gives none


def store_count(count):
    """Return what is stored of a Count: the polynomials of its cases, and those of the lines."""
    if not numba.config.DISABLE_JIT:
        raise ValueError("operations are counted where nothing is compiled, so NUMBA_DISABLE_JIT"
                         " must be 1 before numba is imported: python reproduce/tools/record.py")
    return {"mirror": address(count.mirror), "per": count.per, "paper": count.paper,
            "cases": [{"name": case.name, **totals(case)} for case in count.cases]}


def totals(case, modules=None):
    """Count a Case: {"sizes": names, "whole": {kind: polynomial}, "lines": {mirror: {line: ...}}}.

    A line has for each kind what one execution takes: a polynomial or, if that is not always the
    same, the least and the most.  Lines that take nothing are left out.  The number of a line is
    that in mirrors.Mirror.code.
    """
    grid = list(itertools.product(*case.sizes.values()))
    runs, off = [], []
    with instrument(modules) as counter:
        for values in grid:
            sizes = dict(zip(case.sizes, values, strict=True))
            runs.append(counter.run(case.start(**sizes), case.mirrors, case.asks))
            if case.less:
                off.append(counter.run(case.less(**sizes), (), case.asks).whole)
    kinds = sorted({kind for run in runs for kind in run.whole})
    whole = {kind: polynomial([
        Fraction(run.whole[kind] - (off[k][kind] if off else 0), case.times)
        for k, run in enumerate(runs)], case.sizes) for kind in kinds}
    names = list(case.sizes)
    if case.quotient:
        whole = {kind: divide(found, names, case.quotient) for kind, found in whole.items()}
        names[names.index(case.quotient[0])] = case.quotient[1]
    lines = {}
    for place in sorted({place for run in runs for place in run.lines}):
        found = {kind: line_polynomial([run.lines[place] for run in runs if place in run.lines],
                                       kind,
                                 case.sizes) for kind in kinds}
        found = {kind: value for kind, value in found.items() if value}
        if found:
            lines.setdefault(place[0], {})[str(place[1])] = found
    return {"sizes": names, "whole": {kind: written(found) for kind, found in whole.items()},
            "lines": lines}


def line_polynomial(runs, kind, sizes):
    """Return a polynomial, or [least, most], of what the executions of a line take of a kind."""
    values = [{dict(counts).get(kind, 0) for counts in run} for run in runs]
    if all(len(each) == 1 for each in values):
        return written(polynomial([Fraction(*each) for each in values], sizes))
    if sizes:
        raise ValueError(f"a line must take the same each time it is executed with the same sizes,"
                         f" but of {kind} it takes {sorted(values[-1])}")
    return [min(values[0]), max(values[0])]


def address(function):
    """Return the file's and the function's name of a mirror."""
    return f"{source(function).stem}.{function.__name__}"


# Polynomials


def polynomial(values, sizes):
    """Return {powers: coefficient} of the polynomial with these values on the grid of `sizes`.

    Its degree in each size is below the number of its values less one.  ValueError if there is no
    such polynomial.
    """
    shape = [len(points) for points in sizes.values()]
    if len(values) != int(np.prod(shape, dtype=int)):
        raise ValueError("a line must be executed for all sizes or for none, or its polynomial is"
                         " not known")
    table = np.array(values, object).reshape(shape)
    for axis, points in enumerate(sizes.values()):
        table = np.moveaxis(np.tensordot(interpolation(tuple(points)), table, (1, axis)), 0, axis)
        if np.any(np.take(table, -1, axis)):
            raise ValueError(f"a count must be a polynomial of degree {len(points) - 2} in"
                             f" {list(sizes)[axis]}, but is not: take more values of it")
    return {powers: table[powers] for powers in np.ndindex(*shape) if table[powers]}


def divide(found, names, quotient):
    """Return a polynomial in which a size is a quotient of two, of which it has the second."""
    size, divisor = names.index(quotient[0]), names.index(quotient[2])
    moved = {}
    for powers, coefficient in found.items():
        powers = list(powers)
        powers[divisor] -= powers[size]
        moved[tuple(powers)] = coefficient
    return moved


@cache
def interpolation(points):
    """Return the matrix that takes values at the points to coefficients, lowest power first."""
    columns = []
    for k, at in enumerate(points):
        row = [Fraction(1)]
        for other in points[:k] + points[k + 1:]:  # times (x - other) / (at - other)
            row = [(a - other * b) / (at - other) for a, b in zip([0, *row], [*row, 0],
                                                                  strict=True)]
        columns.append(row)
    return np.array(columns, object).T


def written(found):
    """Write a polynomial for JSON: [[powers, coefficient], ...], the highest powers first."""
    return [[list(powers), str(found[powers])]
            for powers in sorted(found, key=lambda each: (sum(each), each), reverse=True)]


# Counting


class Run(NamedTuple):
    """What was counted in a run."""

    whole: Numbers  # kind -> number
    lines: dict  # (mirror, line) -> Numbers of what single executions took, items of a dict


class Counter:
    """Takes the operations and the calls, and gives them to the lines that are executed."""

    def __init__(self):
        """Count nothing before a run begins, such as what makes its arguments."""
        self.running, self.asks, self.seen = False, None, set()

    def run(self, function, of, asks):
        """Call a function without arguments and return the Run, in lines of the mirrors `of`."""
        self.running, self.asks, self.asked = True, asks, False
        self.seen.clear()
        self.places = {getattr(each, "compiled", each).__code__: (address(each),
                                                                  statement_places(each))
                       for each in of}
        self.found, self.stack = Run(Numbers(), {}), []
        before = sys.gettrace()
        sys.settrace(self.entered)
        try:
            function()
        finally:
            sys.settrace(before)
            self.running = False
        return self.found

    def entered(self, frame, event, arg):
        """Begin a call of a mirror."""
        if frame.f_code not in self.places:
            return None
        name, lines = self.places[frame.f_code]
        self.stack.append(SimpleNamespace(name=name, lines=lines, line=None, made=Numbers()))
        return self.went

    def went(self, frame, event, arg):
        """Finish the statement before, and begin the next one."""
        here = self.stack[-1]
        if event == "line":
            line = here.lines.get(frame.f_lineno)
            if line != here.line:  # else it is the same statement's second line
                self.finish(here)
                here.line = line
        elif event == "return":
            self.finish(self.stack.pop())
        return self.went

    def finish(self, here):
        """Store what a statement has made."""
        if here.line is not None:
            executions = self.found.lines.setdefault((here.name, here.line), Numbers())
            executions[frozenset(here.made.items())] += 1
        here.made.clear()

    def tally(self, kind, number):
        """Count something for the lines that are executed, one of each mirror that is running."""
        if number:
            self.found.whole[kind] += number
            for here in self.stack:
                here.made[kind] += number

    def operation(self, name, left, right, site):
        """Do what stands between two values, and count it; once at a site, until its loop begins.

        site : int, or None where the operation is counted each time
        """
        result = OPERATORS[name](left, right)
        if site is not None and np.ndim(result) == 0:
            if site in self.seen:
                return result
            self.seen.add(site)
        if self.running and not self.asks:
            self.tally(FLOPS, arithmetic(name, left, result))
        return result

    def updated(self, name, left, right):
        """Count left += right, and return what is added."""
        if self.running and not self.asks:
            self.tally(FLOPS, arithmetic(name, left, left))
        return right

    def loop(self, iterable, sites):
        """Begin a loop: what was counted once may be counted again."""
        self.seen.difference_update(sites)
        return iterable

    def call(self, function, *arguments, **named):
        """Call a function, and count what is known of it."""
        if not self.running:
            return function(*arguments, **named)
        function = getattr(function, "compiled", function)  # of an entry point, without the checks
        if not self.asks:
            self.running = opaque(function) is None
            result = function(*arguments, **named)
            self.running = True
            self.tally(FLOPS, known_operations(function, arguments, result))
            return result
        kinds = () if self.asked or not hasattr(function, "choose") else self.asks(
            function.__name__, arguments[function.on])
        for kind in kinds:
            self.tally(kind, 1)
            self.asked = True
        result = function(*arguments, **named)
        self.asked = self.asked and not kinds
        return result


def arithmetic(name, left, result):
    """Return how many operations stand between two values, given the left one and the result."""
    if not floating(result):
        return 0
    return np.size(result) * (2 * left.shape[-1] if name == "MatMult" else 1)


def floating(value):
    """Tell whether a value is a float, or an array of floats."""
    return isinstance(value, float | np.floating) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f")


def known_operations(function, arguments, result):
    """Return how many operations a function is known to make that has no lines of ours.

    ValueError for a function of numpy or a routine of which nothing is known.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", "")
    if opaque(function) is not None:
        value = arguments[opaque(function)]
        return value if isinstance(value, int) else np.size(value)
    routine = getattr(getattr(function, "_numba_type_", None), "symbol", "").rpartition(".")[2]
    if routine:
        if routine not in ROUTINES:
            raise ValueError(f"nothing is known of the routine {routine}: say in ROUTINES of"
                             " harness/counting.py how many operations it makes")
        at, operations = ROUTINES[routine]
        return operations(*(number(arguments[k]) for k in at))
    if isinstance(function, np.ufunc) or module == "math":
        return np.size(result) if floating(result) else 0
    if name in REDUCTIONS and (module == "numpy" or isinstance(
            getattr(function, "__self__", None), np.ndarray)):
        return np.size(arguments[0] if arguments else function.__self__)
    if name == "outer":
        return np.size(result)
    if module in ("numpy", "numpy.linalg") and not isinstance(function, type) and name not in FREE:
        raise ValueError(f"nothing is known of numpy's {name}: say in harness/counting.py how many"
                         " operations it makes")
    return 0


def opaque(function):
    """Return which argument of a function of OPAQUE has its elements, or None for another one."""
    module = getattr(function, "__module__", None)
    return OPAQUE.get(module, OPAQUE.get(f"{module}.{getattr(function, '__name__', '')}"))


def number(pointer):
    """Return the whole number or the letter that an argument of a routine points to."""
    kind = c_uint8 if pointer.strides[0] == 1 else c_int32
    return pointer.data_as(POINTER(kind))[0]


def statement_places(mirror):
    """Map the lines of a mirror's file to where in its code the statement begins."""
    return statements(mirror, lines_of(mirror))


# The functions that hand all over


@contextmanager
def instrument(modules=None):
    """Have the functions of modules, by default all of algorithms/ and models/, counted.

    Yields the Counter that they hand their operations to.  Afterwards they are as before.
    """
    if modules is None:
        modules = [module for name, module in sorted(sys.modules.items())
                   if name.startswith(("algorithms.", "models.")) and name not in LEFT_OUT]
    counter, before = Counter(), []
    hooks = {"_operation_": counter.operation, "_updated_": counter.updated,
             "_loop_": counter.loop, "_call_": counter.call}
    try:
        for module in modules:
            bodies = rewritten(module.__file__)
            vars(module).update(hooks)
            for function in functions(module):
                code = function.__code__
                body = bodies.get((code.co_name, code.co_firstlineno))
                if body is not None:
                    before.append((function, code))
                    function.__code__ = body
        yield counter
    finally:
        for function, code in before:
            function.__code__ = code
        for module in modules:
            for name in hooks:
                vars(module).pop(name, None)


def functions(module):
    """List the functions that a module defines, behind their entry points, checks left out."""
    found = [getattr(value, "compiled", value) for value in vars(module).values()]
    return {id(each): each for each in found if isinstance(each, FunctionType)
            and each.__module__ == module.__name__ and not each.__code__.co_freevars
            and not each.__name__.startswith("check")}.values()


@cache
def rewritten(filename):
    """Compile a file with hooks; return the code of its functions, by name and first line."""
    path = Path(filename)
    tree = Hooks({mirror.name for mirror in mirrors(path)}).visit(ast.parse(path.read_text()))
    code = compile(ast.fix_missing_locations(tree), filename, "exec")
    return {(body.co_name, body.co_firstlineno): body for body in code.co_consts
            if isinstance(body, CodeType)}


class Hooks(ast.NodeTransformer):
    """Put hooks in place of operations and calls."""

    def __init__(self, literal):
        """`literal` has the names of the functions in which nothing is taken out of loops."""
        self.literal, self.loops = literal, []
        self.taken_out = False

    def visit_FunctionDef(self, node):
        """Leave arguments and decorators as they are."""
        self.taken_out = node.name not in self.literal
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_BinOp(self, node):
        """a + b."""
        site = self.site(node)
        self.generic_visit(node)
        return hook("_operation_", node, ast.Constant(type(node.op).__name__), node.left,
                    node.right, ast.Constant(site))

    def visit_AugAssign(self, node):
        """a += b: b stands for itself, and the sum is counted."""
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        for each in ast.walk(target):
            ast.copy_location(each, node)
        node.value = hook("_updated_", node, ast.Constant(type(node.op).__name__), target,
                          self.visit(node.value))
        return node

    def visit_Call(self, node):
        """f(x)."""
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("_call_", ast.Load()), [node.func, *node.args],
                                          node.keywords), node)

    def visit_For(self, node):
        """A loop, from which some operations are taken out."""
        iterable, sites = self.visit(node.iter), []
        self.loops.append((changed_names(node), sites))
        node.body = [self.visit(each) for each in node.body]
        node.orelse = [self.visit(each) for each in node.orelse]
        self.loops.pop()
        node.iter = hook("_loop_", node, iterable, ast.Constant(tuple(sites)))
        return node

    def visit_While(self, node):
        """A loop from which nothing is taken out."""
        around, self.loops = self.loops, []
        self.generic_visit(node)
        self.loops = around
        return node

    def site(self, node):
        """Return a number for an operation that the outermost loop does not change, or None."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        if self.taken_out and not any(isinstance(each, ast.Call) for each in ast.walk(node)):
            for names_changed, sites in self.loops:
                if not names & names_changed:
                    sites.append(next(SITES))
                    return sites[-1]
        return None


def hook(name, node, *arguments):
    """Return the call of a hook, in the place of a node."""
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), node)


def changed_names(loop):
    """Return the names of what a loop may change: what it assigns to, or hands to a function."""
    found = set()
    for node in (each for part in (loop.target, *loop.body) for each in ast.walk(part)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) != "range":
            found |= {each.id for argument in node.args for each in ast.walk(argument)
                      if isinstance(each, ast.Name)}
    return found
