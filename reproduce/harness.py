"""What every script in reproduce/ shares: the command line, replicates, claims and their report.

Replicates run in parallel and each is stored as soon as it is finished, in
<figures>/replicates/<name>/<key>.json.  The key is a hash of the task and of the code that
computes it, so that an interrupted run resumes and a result of other code is never reused.
"""

import argparse
import inspect
import json
import math
import os
import platform
import signal
import sys
import textwrap
import time
import tomllib
from collections import Counter, defaultdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np

from fingerprint import digest, fingerprint

matplotlib.use("Agg")
import matplotlib.pyplot as plt

START = time.perf_counter()
ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "figures"
BUDGETS = ("smoke", "short", "paper")
VERDICTS = ("agrees", "cannot tell", "known difference", "differs")
WIDTH = 100  # of the text reports

_learnt = defaultdict(dict)  # name -> what replicates() and report() leave for save_numbers()


class Settings(NamedTuple):
    """What the command line says."""

    budget: str = "short"  # one of BUDGETS
    jobs: int = 1  # processes
    seed: int = 1
    fresh: bool = False  # ignore stored replicates
    data: str | None = None  # a folder with the data files


class Claim(NamedTuple):
    """One number or statement of the paper, and the interval in which ours must fall."""

    what: str  # the quantity, as the script's table() names it
    paper: str  # what the paper prints; "order" if only words; "theory" if it is our own check
    low: float  # the accepted interval, ends included
    high: float
    why: str  # where the interval comes from
    known: str = ""  # the derivation of a known difference, if there is one


class Measured(NamedTuple):
    """A number and its standard error."""

    value: float
    se: float = 0.0


# The command line


def parse(doc, argv=None):
    """Read the options that all scripts share; `doc` is the script's docstring, shown by --help."""
    from joblib import cpu_count

    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", choices=BUDGETS, default="short",
                        help="seconds; about two minutes (the default); the paper's run lengths")
    parser.add_argument("--jobs", type=whole(1), default=2, metavar="J",
                        help="parallel processes (default 2, at most the number of cores)")
    parser.add_argument("--seed", type=whole(0), default=1, metavar="S", help="default 1")
    parser.add_argument("--fresh", action="store_true", help="compute stored replicates again")
    parser.add_argument("--data", metavar="DIR", help="a folder that holds the data files")
    options = vars(parser.parse_args(argv))
    if options["data"]:
        places = [options["data"], os.environ.get("PAPERS_DATA", "")]
        os.environ["PAPERS_DATA"] = os.pathsep.join(places)  # for the processes of replicates()
    return Settings(**options)._replace(jobs=min(options["jobs"], cpu_count()))


def whole(low):
    """Make an argparse type: a whole number of at least `low`."""

    def number(text):
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {low}")
        return int(text)

    return number


def announce(name, settings, what, data, minutes):
    """Print a script's first line: what runs, on which data (a Data or text), about how long."""
    duration = (f"{60 * minutes:.0f} s" if minutes < 1.5 else
                f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h")
    if not isinstance(data, str):
        data = f"{data.name} ({data.note})" if data.note else data.name
    print(f"{name}, {settings.budget} budget: {what}; data: {data}; about {duration}"
          f" with {settings.jobs} job{'s' * (settings.jobs > 1)}; seed {settings.seed}", flush=True)


def figures(settings):
    """Return the folder that a script writes to; only what the paper budget writes is committed."""
    folder = FIGURES if settings.budget == "paper" else FIGURES / settings.budget
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# Replicates


def replicates(name, settings, function, tasks, unit="replicates", note=None, warm=None):
    """Return [function(**task) for task in tasks], in parallel, stored, resumed.

    Parameters
    ----------
    name     : str       names the folder of stored replicates, usually the script
    function : callable  a module-level function that returns a dict of numbers, strings, arrays,
                         lists or dicts
    tasks    : list      dicts of its arguments.  They must say everything that the result depends
                         on except the code: seed, data set, run length.  "cost" is not passed on:
                         the relative duration of the task, for the progress bar (1 by default)
    unit     : str       what the progress bar counts
    note     : callable  makes of the list of results so far a few words for the progress bar
    warm     : callable  called once, here, if anything is to be computed: compile in it what
                         `function` uses, or else every process compiles it

    Returns
    -------
    results  : list      dicts in the order of `tasks`, as JSON gives them back (arrays as lists),
                         the same whatever settings.jobs is

    Ctrl-C ends the processes and exits with status 130; what is finished is kept.
    """
    folder = figures(settings) / "replicates" / name
    folder.mkdir(parents=True, exist_ok=True)
    code = fingerprint(function)
    arguments = [{k: v for k, v in task.items() if k != "cost"} for task in tasks]
    keys = [digest(code, to_json(task, sort_keys=True)) for task in arguments]
    todo = {key: (task, folder / f"{key}.json") for key, task in zip(keys, arguments, strict=True)}
    cost = {key: float(task.get("cost", 1)) for key, task in zip(keys, tasks, strict=True)}
    records = {} if settings.fresh else {
        key: record for key, (_, path) in todo.items() if (record := stored(path))}
    # the long ones first, so that no process is left alone with one at the end
    missing = sorted((key for key in todo if key not in records), key=lambda key: -cost[key])

    def words():
        found = [records[key]["result"] for key in todo if key in records]
        return f"{len(found)}/{len(todo)} {unit}" + (f", {note(found)}" if note and found else "")

    from tqdm import tqdm

    bar = tqdm(total=sum(cost.values()), initial=sum(cost[key] for key in records), desc=name,
               mininterval=0.1 if sys.stderr.isatty() else 10, miniters=0, dynamic_ncols=True,
               bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}")
    try:
        with bar:
            if missing and warm:
                bar.set_postfix_str("compiling, unless that was done before")
                warm()
                bar.unpause()  # the remaining time is estimated without it
            bar.set_postfix_str(words())
            jobs = min(settings.jobs, len(missing))
            for key, record in computed(function, code, {key: todo[key] for key in missing}, jobs):
                records[key] = record
                bar.set_postfix_str(words(), refresh=False)
                bar.update(cost[key])
    except KeyboardInterrupt:
        kept = sum(path.exists() for _, path in todo.values())
        print(f"Interrupted: {kept} of {len(todo)} {unit} are kept; run the same command"
              f"{' without --fresh' * settings.fresh} to resume.", file=sys.stderr)
        raise SystemExit(130) from None
    seconds = _learnt[name].get("replicate_seconds", 0.0)  # a script may call this more than once
    _learnt[name]["replicate_seconds"] = seconds + sum(r["seconds"] for r in records.values())
    return [records[key]["result"] for key in keys]


def computed(function, code, todo, jobs):
    """Compute the replicates `todo` {key: (task, path)} and yield (key, record) as they finish."""
    if jobs <= 1:
        for key, (task, path) in todo.items():
            yield key, compute(function, code, task, path)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky import get_reusable_executor

    with parallel_config("loky", inner_max_num_threads=1):
        running = Parallel(jobs, return_as="generator_unordered", batch_size=1)(
            delayed(in_worker)(key, *address(function), code, *rest) for key, rest in todo.items())
        try:
            yield from running
        except BaseException:  # Ctrl-C above all: the processes would go on
            get_reusable_executor().shutdown(wait=True, kill_workers=True)
            raise


def address(function):
    """Return the module and the name under which another process finds `function`."""
    module = function.__module__
    if module == "__main__":  # import the script there: pickling its functions fails on a @cache
        module = Path(inspect.getsourcefile(inspect.unwrap(function))).stem
    return module, function.__name__


def in_worker(key, module, name, *rest):
    """Compute one replicate in a process that leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return key, compute(getattr(import_module(module), name), *rest)


def compute(function, code, task, path):
    """Compute one replicate, store it at `path`, and return what is stored."""
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    with threadpool_limits(1):  # other numbers of BLAS threads give other bits
        result = function(**task)
    seconds = time.perf_counter() - start
    text = to_json({"task": task, "code": code, "seconds": seconds, "result": result})
    write(path, text)
    return json.loads(text)


def stored(path):
    """Return the record stored at `path`, or None if there is none that can be read."""
    try:
        record = json.loads(path.read_text())
        record["seconds"], record["result"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        print(f"{path} is damaged: computed again", file=sys.stderr)
        return None
    return record


def write(path, text):
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def to_json(value, **options):
    """Return `value` as JSON; floats are exact, nan and inf are NaN and Infinity."""

    def plain(array):
        if isinstance(array, np.ndarray | np.generic):
            return array.tolist()
        raise TypeError(f"{type(array).__name__} cannot be stored as JSON: {array!r}")

    return json.dumps(value, default=plain, **options)


# Claims


def verdict(claim, value, se=0.0):
    """Compare a measured value with a claim; return one of VERDICTS.

    Outside [low, high]: `differs` if by more than 4 standard errors, which a true statement does
    once in 16000 times (`known difference` if the claim declares it); else `cannot tell`.
    Inside: `agrees`, unless the value would be inside by luck: a statement of order (one end
    infinite, or paper == "order") needs 2 standard errors to its nearest end, a number needs an
    interval no narrower than 2 standard errors.  A value of nan differs, a standard error of nan
    cannot tell.  With se = 0 the interval alone decides.
    """
    if se < 0:
        raise ValueError(f"the standard error of {claim.what!r} must not be negative, but is {se}")
    outside = max(claim.low - value, value - claim.high)  # negative inside, nan if value is
    order = claim.paper == "order" or math.isinf(claim.high - claim.low)
    if math.isnan(value) or outside > 4 * se or (outside > 0 and se == 0):
        return "known difference" if claim.known else "differs"
    if outside > 0 or math.isnan(se):
        return "cannot tell"
    luck = -outside < 2 * se if order else claim.high - claim.low < 2 * se
    return "cannot tell" if luck else "agrees"


def report(name, settings, claims, measured, extra=None):
    """Print the claims beside what we measured, and write it to <name>.txt.

    Parameters
    ----------
    claims   : list of Claim
    measured : dict   what -> Measured or float; those that no claim is about are listed below
    extra    : str    more text, such as the paper's table with ours beside it

    Returns
    -------
    failures : int    how many claims differ without being declared as known
    """
    measured = {what: m if isinstance(m, Measured) else Measured(m) for what, m in measured.items()}
    absent = [claim.what for claim in claims if claim.what not in measured]
    if absent:
        raise ValueError(f"{name} claims something about {absent}, but measures only"
                         f" {sorted(measured)}")
    found = [verdict(claim, *map(float, measured[claim.what])) for claim in claims]
    others = {what: m for what, m in measured.items() if what not in {c.what for c in claims}}
    blocks = []
    for claim, result in zip(claims, found, strict=True):
        reasons = [claim.why] + [f"known: {claim.known}"] * bool(claim.known)
        blocks.append("\n".join(
            [f"{result:17}{claim.what}",
             f"{'':17}ours {number(measured[claim.what])}   paper: {claim.paper}"
             f"   accepted [{claim.low:.5g}, {claim.high:.5g}]"]
            + [textwrap.fill(reason, WIDTH, initial_indent=" " * 17, subsequent_indent=" " * 17)
               for reason in reasons]))
    if others:
        blocks.append(table([[what, number(m)] for what, m in others.items()],
                            ["also measured", "ours"]))
    counts = Counter(found)
    blocks.append(", ".join(f"{counts[v]} {v}" for v in VERDICTS))
    text = "\n\n".join(([extra.rstrip()] if extra else []) + blocks)
    print(f"\n{text}", flush=True)
    write(figures(settings) / f"{name}.txt", text + "\n")
    _learnt[name]["claims"] = [
        claim._asdict() | measured[claim.what]._asdict() | {"verdict": result}
        for claim, result in zip(claims, found, strict=True)]
    _learnt[name]["verdicts"] = {v: counts[v] for v in VERDICTS}
    return counts["differs"]


def number(measured):
    """Format a number with its standard error, which sets the digits."""
    value, se = map(float, measured)
    if not (0 < se < math.inf and math.isfinite(value)):
        return f"{value:.5g}" + ("" if se == 0 else f" (s.e. {se:.2g})")
    digits = max(0, 1 - math.floor(math.log10(se)))
    form = f".{digits}f" if digits < 10 else ".1e"
    return f"{value:{form}} (s.e. {se:{form}})"


def table(rows, header):
    """Return a plain text table; numbers are right-aligned, floats have four digits."""
    cells = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
             for row in [header, *rows]]
    right = [not any(isinstance(cell, str) for cell in column)
             for column in zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.rjust(w) if r else cell.ljust(w)
                       for cell, w, r in zip(row, widths, right, strict=True)).rstrip()
             for row in cells]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


# What a script writes


def save(name, settings, figure):
    """Write a figure as <name>.png."""
    figure.savefig(figures(settings) / f"{name}.png", dpi=150)
    plt.close(figure)


def save_numbers(name, settings, numbers):
    """Write `numbers`, the verdicts of report(), and where they come from as <name>.json."""
    record = {
        "name": name, "budget": settings.budget, "seed": settings.seed, "jobs": settings.jobs,
        "numbers": numbers, **_learnt[name],
        "versions": {"python": platform.python_version(), "mirrormc": own_version()}
        | {package: version(package) for package in ("numba", "numpy", "scipy")},
        "processor": processor(), "cores": os.cpu_count(),
        "seconds": time.perf_counter() - START,  # of this run; replicate_seconds: stored ones too
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write(figures(settings) / f"{name}.json", to_json(record, indent=1) + "\n")


def own_version():
    """Return the project's version."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def processor():
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")  # platform.processor() is empty or "x86_64" on Linux
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def finish(name, settings, claims, measured, figure, numbers, text=""):
    """Report, save the figure, save the numbers; return how many claims differ undeclared."""
    failures = report(name, settings, claims, measured, text)
    save(name, settings, figure)
    save_numbers(name, settings, numbers)
    return failures
