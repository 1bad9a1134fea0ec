"""The code that a replicate depends on, as a hash that nothing else changes.

From the function that computes the replicate we follow every name that it uses, through its own
file and the project files that are imported, to the definition of that name: functions, classes and
constants.  A label in a figure, a new data set or a new algorithm beside an old one leave the hash
as it is; so do comments, layout and docstrings.

Generic functions (models/interface.py) hide what they call, so a function that is registered with
a decorator, as in @U.of(Gaussian), counts if all that its decorators name is used.
"""

import ast
import hashlib
import inspect
from collections import defaultdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from models.jit import ROOT


class File(NamedTuple):
    """The top level of a project file."""

    definitions: dict  # name -> the statements that define it
    imports: dict  # name -> (file, name there), or (file, None) for a whole module


def fingerprint(function):
    """Return 20 hex digits that change with the code of `function`, or with Numba's version."""
    script = Path(inspect.getsourcefile(inspect.unwrap(function))).resolve()
    return digest(version("numba"), *(
        f"{path.name} {name}\n{semantic(node)}"
        for path, name in sorted(used((script, function.__name__)), key=str)
        for node in read(path).definitions[name]))


def used(start):
    """Return the set of the definitions, (file, name), that `start` consists of and uses."""
    found, todo = set(), {start}
    while todo:
        while todo:
            path, name = todo.pop()
            found.add((path, name))
            todo |= uses(path, read(path).definitions[name]) - found
        files = {path for path, _ in found}
        todo = {(path, name) for path in files for name in registrations(path, found)} - found
    return found


def registrations(path, found):
    """Yield the functions in `path` whose decorators name definitions that are all in `found`."""
    for name, nodes in read(path).definitions.items():
        decorators = [d for node in nodes for d in getattr(node, "decorator_list", [])]
        registered = any(isinstance(d, ast.Call) and isinstance(d.func, ast.Attribute)
                         and d.func.attr == "of" for d in decorators)
        if registered and uses(path, decorators) <= found:
            yield name


def uses(path, nodes):
    """Return the definitions, (file, name), that the syntax trees `nodes` in `path` refer to."""
    found = set()
    for node in (n for tree in nodes for n in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            file, name = read(path).imports.get(node.value.id, (None, ""))
            if file and name is None:  # module.name
                found |= resolved(file, node.attr)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found |= resolved(path, node.id)
    return found


def resolved(path, name):
    """Return {(file, name)} of the definition that `name` in `path` is, or an empty set."""
    file = read(path)
    if name in file.definitions:
        return {(path, name)}
    if file.imports.get(name, (None, None))[1] is not None:
        return resolved(*file.imports[name])
    return set()


@cache
def read(path):
    """Read the top level of a file."""
    file = File(defaultdict(list), {})
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            file.definitions[node.name].append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for target in (n for n in ast.walk(node) if isinstance(n, ast.Name)):
                if isinstance(target.ctx, ast.Store):
                    file.definitions[target.id].append(node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if source := project_file(alias.name, path):
                    file.imports[alias.asname or alias.name] = (source, None)
                else:
                    file.definitions[alias.asname or alias.name.split(".")[0]].append(
                        ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if module := project_file(f"{node.module}.{alias.name}", path):
                    file.imports[name] = (module, None)
                elif source := project_file(node.module, path):
                    file.imports[name] = (source, alias.name)
                else:
                    file.definitions[name].append(ast.ImportFrom(node.module, [alias], 0))
    return file


def project_file(module, path):
    """Return the file of `module`, imported in the file `path`, or None if it is not ours."""
    for folder in (ROOT, path.parent):  # scripts import their neighbours
        file = folder / (module.replace(".", "/") + ".py")
        if file.is_file():
            return file.resolve()
    return None


def semantic(tree):
    """Return the source of `tree` without docstrings, comments and layout."""
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        if documented and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def digest(*texts):
    """Return 20 hex digits that depend on every one of `texts`."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]
