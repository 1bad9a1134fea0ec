"""Record what each line of a mirror does in a run of it: for the companion pages, which replay it.

A Run is a mirror on a tiny problem, with the mirrors that can be stepped into.  `recorded` runs it
in a process in which nothing is compiled (NUMBA_DISABLE_JIT=1), and keeps of each executed line the
locals that it changed.  A Replay is the same run with lines of the paper in place of ours.

What is stored is made for JSON:

    steps      of [function, line, depth, changes], and of [function, line, depth, arguments, 1]
               where a line calls a mirror that can be stepped into: the arguments are those of the
               call.  The function is a number of `functions`, the line one of mirrors.Mirror.code,
               and changes are names and values in turn, numbers of `names` and `values`.  The first
               step has the arguments of the run.
    track      of [step, point]: the points of the picture, and the step that leads to each
    end        the numbers of the run's result, to their last bit
    picture    what is drawn beside the steps

A number has six digits.  An array has all its entries if they are at most nine, else its shape and
its first and last entry; where a line has changed some of its entries, they stand alone, with their
index.  What has not been written yet is not shown.
"""

import ast
import inspect
import linecache
import sys
from difflib import SequenceMatcher
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import patch

import contourpy
import numba
import numpy as np

from reproduce.harness.mirrors import Line, functions, mirrors, variant

# inputs that stand still
HIDDEN = {"approximation", "fit", "kernel", "layers", "model", "move", "pi", "pi_star", "rng",
          "split", "tally", "star_tally"}
WHOLE = 9  # entries of an array that is shown whole
EMPTY = np.empty  # numpy's own


class Picture(NamedTuple):
    """What is drawn beside the steps."""

    kind: str  # "plane", "chain" or "sites", which step.js draws; "" is none
    at: tuple  # of (function's name, tag): another point is after the last line with that tag
    point: object  # of (function's name, its locals) -> a point, numbers in a list, or None
    labels: tuple  # of the two axes and of the value beside them
    ground: object = None  # () -> polylines in the plane, [(x, y), ...] each


NOTHING = Picture("", (), None, ())


class Replay(NamedTuple):
    """A run with lines as they are printed."""

    test: str  # the name of the Departure's
    says: object  # of (our Outcome, theirs) -> a sentence on what fails
    function: object = None  # the mirror that has other lines
    lines: dict = {}  # noqa: RUF012  for mirrors.variant
    more: dict = {}  # noqa: RUF012  names that the other lines need besides the module's
    call: object = None  # in place of the Run's


class Run(NamedTuple):
    """What is stepped through."""

    name: str
    about: str  # the problem, in a sentence
    mirror: object
    into: tuple  # mirrors that can be stepped into
    call: object  # of the mirror -> its result
    picture: Picture = NOTHING
    replays: tuple = ()


class Outcome(NamedTuple):
    """How a recorded run ended."""

    result: object  # of the call, or the error that stopped it
    known: dict  # the last locals of the outermost function
    track: list  # [step, point] of the picture


def record_run(run):
    """Return what is stored of a Run: its record, and those of its replays."""
    if not numba.config.DISABLE_JIT:
        raise ValueError("a run is recorded where nothing is compiled, so NUMBA_DISABLE_JIT must be"
                         " 1 before numba is imported: run python reproduce/tools/record.py")
    found, ours = record(run, run.mirror, run.call)
    if isinstance(ours.result, Exception):
        raise ours.result
    found |= {"name": run.name, "about": run.about,
              "picture": {"kind": run.picture.kind, "labels": run.picture.labels,
                          "ground": ground(run.picture)}, "replays": []}
    for replay in run.replays:
        with np.errstate(all="ignore"):
            more, theirs = record(run, printed_version(run, replay), replay.call or run.call)
        found["replays"].append({"test": replay.test, "says": replay.says(ours, theirs),
                                 "lines": printed_lines(run, replay), **more})
    return found


def printed_version(run, replay):
    """Return the mirror of a Run with the printed lines in it, interpreted."""
    if not replay.lines:
        return run.mirror
    function = variant(replay.function, replay.lines, within=run.mirror)
    function.__globals__.update(replay.more)
    return function


def printed_lines(run, replay):
    """List the lines that a Replay has in place of others: [function, [lines], printed text]."""
    if not replay.lines:
        return []
    name = replay.function.__name__
    code = lines_of(replay.function)
    return [[names(run).index(name),
             [k for k, line in enumerate(code) if key in (line.text.strip(), tag(line))],
             inspect.cleandoc(text)] for key, text in replay.lines.items()]


def tag(line):
    """Write the numbers of a Line as `variant` has them: "L7", "L6-8", and "" for ours."""
    if not line.tag:
        return ""
    return f"L{line.tag.start}" + (f"-{line.tag.stop - 1}" if len(line.tag) > 1 else "")


def names(run):
    """List the names of the functions whose steps are recorded, the outermost first."""
    return [function.__name__ for function in (run.mirror, *run.into)]


def source(function):
    """Return the file of a mirror."""
    return Path(inspect.getmodule(getattr(function, "py_func", function)).__file__)


def lines_of(function) -> list[Line]:
    """Return the code of a mirror."""
    return next(m for m in mirrors(source(function)) if m.name == function.__name__).code


def numbers(result):
    """Return all numbers of a result, fields of fields included, as a list."""
    if isinstance(result, tuple):
        return [number for part in result for number in numbers(part)]
    return np.real(np.asarray(result)).astype(float).ravel().tolist()


def ground(picture):
    """Return the polylines of a picture's ground, to three digits."""
    lines = picture.ground() if picture.ground else []
    return [[[float(f"{x:.3g}") for x in point] for point in line] for line in lines]


def record(run, function, call):
    """Run `function` in place of the run's mirror; return what is stored of it, and its Outcome."""
    recorder = Recorder(run)
    before = sys.gettrace()
    with patch.object(np, "empty", unwritten):
        sys.settrace(recorder.entered)
        try:
            result = call(function)
        except (TypeError, np.linalg.LinAlgError) as error:  # the paper's need not run to its end
            result = error
        finally:
            sys.settrace(before)
    end = [] if isinstance(result, Exception) else numbers(result)
    return recorder.stored() | {"end": end}, Outcome(result, recorder.ended, recorder.track)


def unwritten(shape, dtype=float, **more):
    """Make an array in which what has not been written can be told: nan, 0 or False."""
    array = EMPTY(shape, dtype, **more)
    array[...] = np.nan if array.dtype.kind == "f" else 0
    return array


class Recorder:
    """Takes the events of sys.settrace."""

    def __init__(self, run):
        """Begin with no step."""
        self.names, self.picture = names(run), run.picture
        self.functions = [run.mirror, *run.into]
        self.files = {function.__name__: (str(source(function)), function.__module__)
                      for function in self.functions}
        self.code = [lines_of(function) for function in self.functions]
        self.at = [statements(function, code) for function, code in zip(
            self.functions, self.code, strict=True)]
        # the last statement that has the tag
        self.drawn = {(k, max(n for n in self.at[k].values() if tag(self.code[k][n]) == key))
                      for name, key in self.picture.at for k in [self.names.index(name)]}
        # a frame has .function (its number), .origin (of the lines of a printed version, or None),
        # .known (the locals, as they were) and .line (the statement that is executed, or None)
        self.steps, self.track, self.frames, self.ended, self.origins = [], [], [], {}, {}
        self.table, self.values = {}, {}

    def entered(self, frame, event, arg):
        """Begin a frame, if it is that of a mirror which is followed."""
        code = frame.f_code
        of, module = self.files.get(code.co_name, ("", ""))
        if code.co_filename != of and not (of and code.co_filename.startswith(f"<{module}, ")):
            return None  # neither the mirror nor what `variant` made of it
        known = flat(frame.f_locals)
        values = [part for name, value in known.items() for part in self.change(name, value)]
        if self.frames:
            above = self.frames[-1]
            self.steps.append([above.function, above.line, len(self.frames) - 1, values, 1])
        else:
            self.steps.append([0, 0, -1, values, 1])
        if code.co_filename not in (of, *self.origins):
            self.origins[code.co_filename] = in_the_mirror(code.co_filename, of)
        self.frames.append(SimpleNamespace(
            function=self.names.index(code.co_name), origin=self.origins.get(code.co_filename),
            known=known, line=None))
        return self.went

    def went(self, frame, event, arg):
        """Finish the statement before, and begin the next one."""
        here = self.frames[-1]
        if event == "line":
            line = self.statement(frame, here)
            if line != here.line:  # else it is the same statement's second line
                self.finish(frame, here)
                here.line = line
        elif event == "return":
            self.finish(frame, here)
            self.ended = self.frames.pop().known
        return self.went

    def statement(self, frame, here):
        """Return which line of the mirror's code the statement begins that is executed."""
        number = here.origin[frame.f_lineno] if here.origin else frame.f_lineno
        return self.at[here.function].get(number)

    def finish(self, frame, here):
        """Add the step of a statement that has been executed."""
        if here.line is None:
            return
        function, line = here.function, here.line
        now = flat(frame.f_locals)
        values = [part for name, value in now.items()
                  for entry in differences(name, here.known.get(name), value)
                  for part in self.change(*entry)]
        here.known = now
        self.steps.append([function, line, len(self.frames) - 1, values])
        if (function, line) in self.drawn:
            point = self.picture.point(self.names[function], frame.f_locals)
            if point is not None:
                self.track.append([len(self.steps) - 1, round_for_storage(point)])

    def change(self, name, value):
        """Return a name and a value as numbers of their tables; nothing if it is not shown."""
        value = to_shown(value)
        if value is None:
            return []
        return [self.table.setdefault(name, len(self.table)),
                self.values.setdefault(repr(value), (len(self.values), value))[0]]

    def stored(self):
        """Return what is stored."""
        addresses = [f"{source(each).stem}.{each.__name__}" for each in self.functions]
        return {"functions": addresses, "names": list(self.table),
                "values": [value for _, value in self.values.values()], "steps": self.steps,
                "track": self.track}


def statements(function, code):
    """Map each line of a mirror's file that is part of a statement to where in `code` it begins."""
    at, found = {line.number: k for k, line in enumerate(code)}, {}
    node = functions(source(function).read_text("utf-8").splitlines())[function.__name__]
    for statement in ast.walk(node):
        if isinstance(statement, ast.stmt) and statement is not node and (
                statement.lineno in at):
            body = getattr(statement, "body", None)
            end = body[0].lineno - 1 if body else statement.end_lineno
            for number in range(statement.lineno, max(end, statement.lineno) + 1):
                found[number] = at[statement.lineno]
    return found


def in_the_mirror(filename, path):
    """Map the lines of a file that `variant` made to those of the mirror's file, from 1."""
    theirs = [line.rstrip("\n") for line in linecache.cache[filename][2]]
    ours, found = Path(path).read_text("utf-8").splitlines(), {}
    matched = SequenceMatcher(None, ours, theirs, autojunk=False)
    for kind, i, end_i, j, end_j in matched.get_opcodes():
        for k in range(j, end_j):
            found[k + 1] = (i + k - j if kind == "equal" else min(i, end_i)) + 1
    return found


# Values


def flat(variables):
    """Return copies of the numbers and arrays among variables; fields by dotted names."""
    found = {}
    for name, value in variables.items():
        if name in HIDDEN or name == "_":
            continue
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", range(len(value)))
            parts = {f"{name}.{field}" if hasattr(value, "_fields") else f"{name}[{field}]": part
                     for field, part in zip(fields, value, strict=True) if field not in HIDDEN}
            found |= flat(parts)
        elif isinstance(value, np.ndarray):
            found[name] = value.copy()
        elif isinstance(value, bool | int | float | np.number | np.bool_):
            found[name] = value
    return found


def differences(name, before, now):
    """Yield (name, value) of what has changed: entries by themselves, where others are old."""
    if equal(before, now):
        return
    if np.ndim(now) and np.shape(now) != np.shape(before) and np.size(now) > 3 and (
            np.isnan(now).any()):
        before = np.full(np.shape(now), np.nan)  # a new one, of which some entries are written
    if np.ndim(now) == 0 or np.shape(now) != np.shape(before) or (
            np.size(now) <= 3 and not np.isnan(now).any()):
        yield name, now
        return
    changed = [k for k in range(len(now)) if not equal(before[k], now[k])]
    if len(changed) == len(now):
        yield name, now
    else:
        yield from ((f"{name}[{k}]", now[k]) for k in changed)


def equal(before, now):
    """Tell whether two values are the same; nan is."""
    return before is not None and np.array_equal(before, now, equal_nan=True)


def to_shown(value):
    """Return a value as it is stored, or None if there is nothing of it to show."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    array = np.asarray(value)
    if array.dtype.kind == "f" and array.ndim and np.isnan(array).all():
        return None
    if array.size <= WHOLE:
        return round_for_storage(array.tolist())
    ends = [round_for_storage(array.flat[k].item()) for k in (0, -1)]
    return {"shape": array.shape, "ends": ends}


def round_for_storage(value):
    """Round numbers to six digits; what JSON has no number for becomes a word."""
    if isinstance(value, list | tuple):
        return [round_for_storage(part) for part in value]
    if isinstance(value, complex):
        return f"{value.real:.4g}{value.imag:+.4g}i"
    if isinstance(value, float):
        value = float(f"{value:.6g}")
        return value if np.isfinite(value) else str(value)
    return value.item() if isinstance(value, np.generic) else value


def contours(energy, box, levels, points=60):
    """Return the polylines on which `energy` is its least plus each level.

    energy : of an (x, y) array -> float        box : (least x, greatest x, least y, greatest y)
    """
    x, y = np.linspace(*box[:2], points), np.linspace(*box[2:], points)
    z = np.array([[energy(np.array([a, b])) for a in x] for b in y])
    lines = contourpy.contour_generator(x, y, z)
    return [thin(line) for level in levels for line in lines.lines(z.min() + level)]


def thin(line):
    """Leave out points of a polyline that lie close to each other: 40 are enough."""
    keep = np.unique(np.linspace(0, len(line) - 1, min(40, len(line))).round().astype(int))
    return np.asarray(line)[keep].tolist()
