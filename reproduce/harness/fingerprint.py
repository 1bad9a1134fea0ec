"""The code that a replicate depends on, as a hash that nothing else changes.

From the function that computes the replicate we follow every name that it uses, through its own
file and the project files that are imported, to the definition of that name: functions, classes and
constants.  What is hashed is the names and the syntax trees of these definitions.  So a label in a
figure, a new algorithm beside an old one, comments, layout and docstrings leave the hash as it is;
so do a file that moves, and the version of Python or of a library (the record of a replicate says
with which it was computed), what keeps machine code, and what finds the bytes that have a checksum
(BLIND).  A check of an argument (models/validate.py) gives it back or raises, so it counts as its
argument, validate.real("eps", eps) as eps; annotations count as nothing.  Nor does what can only
end a run or tell of it: an `if` of which no branch does more than raise an error of Python's own,
with the names in its condition, the words of any error, a warning, what is printed, a note,
@warn_if_none_accepted, @tells, check_interrupt(), and how jit.public puts checks in front of a
function; but the arguments of such a check, their defaults, and what it computes of them count.

Generic functions (models/interface.py) hide what they call, so a function that is registered with
a decorator, as in @U.register(Gaussian), counts if all that its decorators name is used.  So does
one that is registered for a second class, as in other_U = U.register(Other)(gaussian_U.py_func).

Imports of ours are followed in every form (`import a`, `import a.b`, `import a.b as c`, `from a
import b`, `from a.b import c`, and the names that a file hands on) at the top level of a file;
tests/test_layout.py refuses those inside a function, and stars.
"""

import ast
import builtins
import hashlib
import inspect
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reproduce.harness.papers import ROOT

BLIND = {ROOT / "models" / "cache.py",  # it stores what is compiled, and changes no number
         ROOT / "reproduce" / "harness" / "files.py"}  # the checksum is an argument, and counts
ENTRY = ROOT / "models" / "jit.py", "public"  # its argument, the check, is found beside it
TELLS = (["warnings", "warn"], ["print"], ["check_interrupt"], ["warn_of_slopes"],
         ["warn_if_none_accepted"], ["tells"])  # a call, or a decorator
# of validate, each called with a name and the argument, which it returns
CHECKS = {"array", "blocks", "count", "covariance", "fits", "generator", "instance", "labels",
          "logarithms", "model", "models", "real", "regular", "square", "state"}
# fields of the syntax tree that say nothing, or that only some versions of Python have
SILENT = {"annotation", "ctx", "kind", "returns", "type_comment", "type_params"}


class File(NamedTuple):
    """The top level of a project file."""

    definitions: dict  # name -> the statements that define it
    imports: dict  # local name -> (module, name there), or (module, None) for the module itself


def fingerprint(function):
    """Return 20 hex digits that change with the code of `function`."""
    path = Path(inspect.getsourcefile(inspect.unwrap(function))).resolve()
    return fingerprint_at(path, function.__name__)


def fingerprint_at(path, name):
    """Return the fingerprint of the function `name` in the file `path`, without importing it."""
    return digest(*sorted(f"{name}\n{canonical(node)}" for file, name
                          in used_definitions((path, name))
                          for node in read(file).definitions[name]))


def used_definitions(start):
    """Return the set of the definitions, (file, name), that `start` consists of and uses."""
    found, todo = set(), {start}
    while todo:
        while todo:
            path, name = todo.pop()
            found.add((path, name))
            todo |= references(path, read(path).definitions[name]) - found
        files = {path for path, _ in found}
        todo = {(path, name) for path in files for name in registrations(path, found)} - found
    return found


def registrations(path, found):
    """Yield what in `path` is registered by expressions that name definitions all in `found`."""
    for name, nodes in read(path).definitions.items():
        makers = [maker for node in nodes for maker in makers_of(node)]
        registered = any(isinstance(maker, ast.Call) and isinstance(maker.func, ast.Attribute)
                         and maker.func.attr == "register" for maker in makers)
        if registered and references(path, makers) <= found:
            yield name


def makers_of(node):
    """Return the decorators of a definition, or what is called in an assignment, name = maker()."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        return [node.value.func]
    return getattr(node, "decorator_list", [])


def references(path, nodes):
    """Return the definitions, (file, name), that the syntax trees `nodes` in `path` refer to."""
    found = set()
    for node in (n for tree in nodes for n in counted_nodes(tree)):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found |= resolve(path, dotted_names(node))
    return found


def counted_nodes(tree):
    """Yield the nodes of a syntax tree that count."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name not in SILENT:
            for node in value if isinstance(value, list) else [value]:
                if isinstance(node, ast.AST):
                    yield from counted_nodes(node)


def dotted_names(node):
    """Return the names of an expression such as a.b.c, or an empty list if it is another one."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def resolve(path, names):
    """Return {(file, name)} of the definition that a.b.c (`names`) in `path` is, or nothing."""
    if not names or path in BLIND:
        return set()
    first, *rest = names
    file = read(path)
    if first in file.definitions:
        return {(path, first)} - {ENTRY}
    if first not in file.imports:
        return set()
    module, name = file.imports[first]
    rest = rest if name is None else [name, *rest]
    while rest and not source(module):  # import a.b, where a is a folder
        module, rest = f"{module}.{rest[0]}", rest[1:]
    return resolve(source(module), rest) if source(module) else set()


@cache
def read(path):
    """Read the top level of a file."""
    file = File(defaultdict(list), {})
    for node in Unchecked(path).visit(ast.parse(path.read_bytes())).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            file.definitions[node.name].append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for name in assigned_names(node):
                file.definitions[name].append(node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                if source(alias.name):
                    file.imports[name] = (alias.name if alias.asname else name, None)
                else:
                    file.definitions[name].append(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if source(f"{node.module}.{alias.name}"):
                    file.imports[name] = (f"{node.module}.{alias.name}", None)
                elif source(node.module):
                    file.imports[name] = (node.module, alias.name)
                else:
                    file.definitions[name].append(ast.ImportFrom(node.module, [alias], 0))
    return file


class Unchecked(ast.NodeTransformer):
    """Puts its argument in the place of each check, and nothing in that of x = check("x", x).

    Leaves out what can only end a run or tell of it.
    """

    def __init__(self, path):
        """`path`: of the file; in validate itself checks have bare names."""
        self.bare = set(CHECKS) if path.stem == "validate" else set()

    def visit_ImportFrom(self, node):
        """Remember the checks that have bare names in this file."""
        if (node.module or "").split(".")[-1] == "validate":
            self.bare |= {alias.name for alias in node.names if not alias.asname} & CHECKS
        return node

    def visit_Call(self, node):
        """Replace a check, and leave out a note (of what data were found)."""
        self.generic_visit(node)
        node.keywords = [each for each in node.keywords if each.arg != "note"]
        names = dotted_names(node.func)
        if len(names) == 1:
            checks = names[0] in self.bare
        else:
            checks = names[:-1] == ["validate"] and names[-1] in CHECKS
        return node.args[1] if checks and len(node.args) > 1 else node

    def visit_FunctionDef(self, node):
        """Leave out a decorator that only tells something."""
        node.decorator_list = [each for each in node.decorator_list if dotted_names(each) not
                               in TELLS]
        return self.generic_visit(node)

    def visit_If(self, node):
        """Leave out an `if` that only raises errors, unless its condition keeps a value."""
        self.generic_visit(node)
        keeps = any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test))
        return node if keeps or not all(map(is_error, node.body + node.orelse)) else None

    def visit_Raise(self, node):
        """Leave out the words of an error; one of ours may carry a result."""
        if isinstance(node.exc, ast.Call) and (
                is_error(node) or all(map(is_text, node.exc.args))):
            return ast.Raise(node.exc.func)
        return node

    def visit_Expr(self, node):
        """Leave out a statement that only checks or tells something; not a docstring or a call."""
        before = node.value
        if isinstance(before, ast.Call) and dotted_names(before.func) in TELLS:
            return None
        self.generic_visit(node)
        return node if node.value is before else None

    def visit_Assign(self, node):
        """Leave out x = x."""
        before = node.value
        self.generic_visit(node)
        if node.value is before:
            return node
        return None if list(map(ast.unparse, node.targets)) == [ast.unparse(node.value)] else node


def is_error(node):
    """Tell whether a statement raises an error of Python's own.

    What raises one of ours may choose the data, as a comparison with a checksum does.
    """
    raised = node.exc if isinstance(node, ast.Raise) else None
    name = dotted_names(raised.func if isinstance(raised, ast.Call) else raised)
    return len(name) == 1 and hasattr(builtins, name[0])


def is_text(node):
    """Tell whether an expression is a string, with or without values in it."""
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def assigned_names(node):
    """Yield the names that a top-level assignment defines; a comprehension's variables are none."""
    for target in getattr(node, "targets", None) or [node.target]:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


@cache
def source(module):
    """Return the file of `module`, a dotted name, or None if it is not of this project."""
    file = ROOT / (module.replace(".", "/") + ".py")
    return file.resolve() if file.is_file() else None


def canonical(node):
    """Return a text of a syntax tree: without docstrings, the same in all versions of Python."""
    if isinstance(node, list):
        return f"[{' '.join(map(canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.JoinedStr):  # some versions have empty strings in it
        fields["values"] = [part for part in node.values if getattr(part, "value", None) != ""]
    documented = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
    if documented and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:] or [ast.Pass()]
    texts = [f"{name}={canonical(value)}" for name, value in fields.items()
             if name not in SILENT and value is not None and value != []]
    return f"{type(node).__name__}({' '.join(texts)})"


def digest(*texts):
    """Return 20 hex digits that depend on every one of `texts`."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]
