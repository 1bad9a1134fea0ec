"""Replicates: computed in parallel, each stored as soon as it is finished, none computed twice.

While a script runs, a replicate is a file <figures>/replicates/<name>/<key>.json.  The key is a
hash of the task and of the code that computes it, so that an interrupted run resumes and a result
of other code is never reused.  When the paper budget is through, all that its report rests on is
packed into one compressed file, <figures>/replicates/<name>.json.gz, which is committed.
"""

import gzip
import inspect
import json
import os
import platform
import sys
import time
import uuid
import zlib
from contextlib import closing, nullcontext, suppress
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

from reproduce.harness import cluster
from reproduce.harness.fingerprint import digest, fingerprint
from reproduce.harness.papers import ROOT, module
from reproduce.harness.shards import AGAIN, Unfinished, after_the_first, deal
from reproduce.harness.workers import Killed, call, run_tasks

FIGURES = ROOT / "figures"
TIMES = {"seconds"}  # the entries of a result that are times, and so never the same twice
HOUR = 3600.0  # s; a file that has been growing for longer was left behind
killed = []  # what processes were computing that were killed, in words


class Missing(Exception):
    """A stored replicate that is wanted, but is not there."""


class Lost(Exception):
    """Replicates that are given up: each has killed two processes, or more."""


class Experiment:
    """A run of a script: its settings, where it stores replicates, and those that it has used."""

    def __init__(self, name, settings):
        """Read what is stored of `name`, a script, at the budget of `settings`."""
        self.name, self.budget, self.seed = name, settings.budget, settings.seed
        self.jobs, self.fresh, self.recall = settings.jobs, settings.fresh, settings.recall
        self.shard, self.dask = settings.shard, settings.dask
        self.folder = figures(settings.budget) / "replicates" / name
        sweep(self.folder.parents[1], self.folder.parent, self.folder)
        self.packed = {} if self.fresh else unpack(self.folder.with_suffix(".json.gz"))
        self.used = {}  # key -> record
        self.others = {}  # name -> Experiment: of scripts whose replicates this one uses as well

    def of(self, name):
        """Return the experiment of the script `name` with these settings: this one, or another."""
        if name == self.name:
            return self
        if name not in self.others:
            self.others[name] = Experiment(name, self)
        return self.others[name]

    def replicates(self, function, tasks, unit="replicates", note=None, warm=None):
        """Return [function(**task) for task in tasks], in parallel, stored, resumed.

        function : callable  a module-level function that returns a dict of numbers, strings,
                             arrays, lists or dicts
        tasks    : list      dicts of its arguments, everything that the result depends on except
                             the code; and "cost", the relative duration (1 by default)
        unit     : str       what the progress bar counts
        note     : callable  makes of the list of results so far a few words for the progress bar
        warm     : callable  called once, before anything is computed: compile in it what
                             `function` uses, or else every process compiles it

        The results are in the order of `tasks`, as JSON gives them back (arrays as lists), and the
        same for any number of jobs.  Ctrl-C exits with status 130; what is finished is kept.  If a
        process is killed, what it was at is tried again; the second time it is given up, and Lost
        is raised when all others are finished.

        A shard computes its share alone, and returns if the others are stored by then; if not,
        Unfinished is raised.
        """
        arguments = [{k: v for k, v in task.items() if k != "cost"} for task in tasks]
        if self.recall:
            return [self.recalled(function, task) for task in arguments]
        self.folder.mkdir(parents=True, exist_ok=True)
        code = fingerprint(function)
        keys = [digest(code, to_json(task, sort_keys=True)) for task in arguments]
        every = {key: (task, self.folder / f"{key}.json")
                 for key, task in zip(keys, arguments, strict=True)}
        cost = {key: float(task.get("cost", 1)) for key, task in zip(keys, tasks, strict=True)}
        share = deal(cost, self.shard) if self.shard else every
        todo = {key: each for key, each in every.items() if key in share}
        records = {} if self.fresh else self.stored(todo)
        # the long ones first, so that no process is left alone with one at the end
        missing = sorted((key for key in todo if key not in records), key=lambda key: -cost[key])

        def words():
            found = [records[key]["result"] for key in todo if key in records]
            return f"{len(found)}/{len(todo)} {unit}" + (
                f", {note(found)}" if note and found else "")

        from tqdm import tqdm

        lost = []
        bar = tqdm(total=sum(map(cost.get, todo)), initial=sum(map(cost.get, records)),
                   desc=self.name, mininterval=0.1 if sys.stderr.isatty() else 10, miniters=0,
                   dynamic_ncols=True,
                   bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}")
        try:
            with bar:
                if missing and warm and not self.dask:
                    bar.set_postfix_str("compiling, unless that was done before")
                    with after_the_first() if self.shard else nullcontext():
                        warm_up(warm, self.jobs, function.__name__)
                    bar.unpause()  # the remaining time is estimated without it
                bar.set_postfix_str(words())
                jobs = min(self.jobs, len(missing))
                wanted = {key: todo[key] for key in missing}
                work = (remote(function, code, wanted, self.dask, warm) if self.dask and missing
                        else compute_replicates(function, code, wanted, jobs))
                with closing(work):
                    for key, record in work:
                        if isinstance(record, Killed):
                            killed.append(f"{function.__name__}({to_json(todo[key][0])})")
                            lost += killed[-1:] * (record.times > 1)
                            bar.write(f"{killed[-1]}: its process was killed ({record.signal})",
                                      file=sys.stderr)
                            continue
                        records[key] = record
                        bar.set_postfix_str(words(), refresh=False)
                        bar.update(min(cost[key], bar.total - bar.n))  # a sum in another order
        except KeyboardInterrupt:
            kept = len(records if self.fresh else self.stored(todo))
            kept = f"Interrupted: {kept} of {len(todo)} {unit} are kept;"
            print(f"{kept} the same command without --fresh goes on, with earlier results for the"
                  " others where there are any." if self.fresh else
                  f"{kept} run the same command to resume.", file=sys.stderr)
            raise SystemExit(130) from None
        if lost:
            raise Lost("Given up, because each has killed more than one process (out of memory, or"
                       f" a crash): {'; '.join(lost)}. The other {len(todo) - len(lost)} of"
                       f" {len(todo)} {unit} are kept; run the same command with fewer --jobs, or"
                       " on a machine with more memory, to compute what is missing.")
        if self.shard:
            others = {key: each for key, each in every.items() if key not in share}
            found = self.stored(others)
            records |= found
            if missing := len(others) - len(found):
                raise Unfinished(
                    f"its share of the {unit} is stored, {len(share)} of {len(every)}, and"
                    f" {missing} of other shards are not: {AGAIN}, unless these are being computed"
                    " and the script has no further stage")
        self.used |= {key: records[key] for key in keys}
        return [records[key]["result"] for key in keys]

    def stored(self, wanted):
        """Return {key: record} of those of `wanted`, {key: (task, path)}, that are stored."""
        return {key: record for key, (_, path) in wanted.items()
                if (record := read_stored(path) or self.packed.get(key))}

    @cached_property
    def keys(self):
        """Return {(name of a function, its task): the key of what is stored of it}."""
        return {name_of(record["function"], record["task"]): key
                for key, record in self.packed.items()}

    def recalled(self, function, task):
        """Return the stored result of a task, whatever the code that computed it."""
        wanted = name_of(function.__name__, task)
        if wanted not in self.keys:
            raise Missing(f"{self.folder.with_suffix('.json.gz')} has no {wanted[0]}({wanted[1]})")
        record = self.used[self.keys[wanted]] = self.packed[self.keys[wanted]]
        return record["result"]

    @property
    def seconds(self):
        """The time that all replicates took to compute, in this run or earlier ones, summed."""
        return sum(record["seconds"] for record in self.used.values())

    @property
    def clocks(self):
        """The kinds of processors on which times that are results were measured."""
        return sorted({kind_of(record) for each in (self, *self.others.values())
                       for record in each.used.values() if TIMES & record["result"].keys()})

    def pack(self):
        """Put what this run has used into one file, and remove the files of the single ones."""
        target = self.folder.with_suffix(".json.gz")
        write(target, pack_records(self.used.values()))
        for key in self.used:
            (self.folder / f"{key}.json").unlink(missing_ok=True)
        with suppress(OSError):  # not there, or not empty: another run is at work
            self.folder.rmdir()


def replicates_by_key(experiment, function, tasks, unit, **options):
    """Return {key: results} of the replicates of {key: tasks}, all computed in one call."""
    done = iter(experiment.replicates(
        function, [task for each in tasks.values() for task in each], unit, **options))
    return {key: [next(done) for _ in each] for key, each in tasks.items()}


def one_by_one(experiment, function, tasks, unit, warm):
    """Return what `replicates` returns, of tasks in turn: clocks, of which no two run at once."""
    return [experiment.replicates(function, [task], unit, warm=warm)[0] for task in tasks]


def figures(budget):
    """Return the folder that a script writes to; only what the paper budget writes is committed."""
    folder = FIGURES if budget == "paper" else FIGURES / budget
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def warm_up(warm, jobs, name):
    """Call warm() where replicates are computed, so that Ctrl-C need not wait for the compiler.

    That is this process if `jobs` is 0, or if no other finds the function by its name.
    """
    if jobs and by_name(warm):
        for _ in run_tasks(call_telling, {None: (name, call, by_name(warm))}, 1):
            pass
    else:
        call_telling(name, warm)


def call_telling(name, function, *arguments):
    """Call a function that compiles what `name` needs; say how much, if that takes a second."""
    from numba.core import event

    told = import_module("models.jit").Telling(name)  # not imported for commands without numbers
    told.told, told.before = True, "" if told.end else "\n"  # after a progress bar
    with event.install_listener("numba:compile", told):
        function(*arguments)


def compute_replicates(function, code, todo, jobs):
    """Compute the replicates `todo` {key: (task, path)} and yield (key, record) as they finish.

    In `jobs` processes, with Killed for a record where one is killed; 0: in this one.
    """
    if jobs:
        yield from run_tasks(in_worker, {key: (*address(function), code, *rest)
                                    for key, rest in todo.items()}, jobs)
    else:
        for key, (task, path) in todo.items():
            yield key, compute(function, code, task, path)


def remote(function, code, todo, scheduler, warm):
    """Compute replicates as `compute_replicates` does, on a Dask cluster, and store them here."""
    home = address(function)
    tasks = {key: (address(for_client), home, code, by_name(warm), task)
             for key, (task, _) in todo.items()}
    with closing(cluster.run_tasks(tasks, scheduler, home, code)) as work:
        for key, record in work:
            if not isinstance(record, Killed):
                keep(record, todo[key][1])
            yield key, record


def address(function):
    """Return the module and the name under which another process finds `function`."""
    name = function.__module__
    if name == "__main__":  # import the script there: pickling its functions fails on a @cache
        name = module(Path(inspect.getsourcefile(inspect.unwrap(function))))
    return name, function.__name__


def by_name(function):
    """Return the address of a function, or None if it has no name of its own."""
    return address(function) if getattr(function, "__qualname__", "").isidentifier() else None


def in_worker(module, name, code, *rest):
    """Compute one replicate of a function that this process may not have imported."""
    function = getattr(import_module(module), name)
    check_code(module, name, code)
    return compute(function, code, *rest)


@cache
def check_code(module, name, code):
    """Raise if a function, which is imported now, was edited since its key was computed."""
    try:
        cluster.agree((module, name), code)
    except cluster.ClusterError as error:
        raise cluster.ClusterError(f"The code was edited while this ran: a process {error}. What is"
                                   " finished is kept; run the same command again.") from None


def for_client(home, code, warm, task):
    """Compute one replicate for a client elsewhere, which stores it, if the code is the same.

    `home`, `warm`: module and name of the function, and of one to be called before it or None.
    """
    function = getattr(import_module(home[0]), home[1])
    cluster.agree(home, code)
    if warm:
        cluster.compile_once(warm)
    return make_record(function, code, task)


def compute(function, code, task, path):
    """Compute one replicate, store it at `path`, and return what is stored."""
    record = make_record(function, code, task)
    keep(record, path)
    return record


def make_record(function, code, task):
    """Compute one replicate, and return its record."""
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    with threadpool_limits(1, "blas"):  # other numbers of threads give other bits
        result = function(**task)
    seconds = time.perf_counter() - start
    return json.loads(to_json({
        "function": function.__name__, "task": task, "code": code, "seconds": seconds,
        "machine": machine(), "result": result}))


def keep(record, path):
    """Store a record."""
    write(path, to_json(record | {"check": check(record)}))


@cache
def machine():
    """Say on what a replicate is computed: processor, its cores, kernels of the BLAS, versions."""
    from threadpoolctl import threadpool_info

    kernels = {pool.get("architecture", "unknown") for pool in threadpool_info()
               if pool["user_api"] == "blas"}
    return {"processor": processor(), "cores": os.cpu_count(), "blas": ", ".join(sorted(kernels)),
            "versions": {"python": platform.python_version()}
            | {package: version(package) for package in ("numba", "numpy", "scipy")}}


def kind_of(record):
    """Say on which kind of processor a record was computed: its name and the kernels of the BLAS.

    A virtual machine may hide which model a name is of; the kernels still tell one from another.
    """
    return f"{record['machine']['processor']} ({record['machine'].get('blas', 'unknown')})"


def processor():
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")  # platform.processor() is empty or "x86_64" on Linux
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


# Storage


def read_stored(path):
    """Return the record stored at `path`, or None if there is none that can be trusted."""
    try:
        record = json.loads(path.read_bytes())
        if record.pop("check") == check(record) and key_of(record) == path.stem:
            return record
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass  # it is no record
    print(f"{path} is damaged: computed again", file=sys.stderr)
    return None


def name_of(function, task):
    """Return what a replicate is known by within a script, whatever its code."""
    return function, to_json(task, sort_keys=True)


def key_of(record):
    """Return the key of a record."""
    return digest(record["code"], to_json(record["task"], sort_keys=True))


def check(record):
    """Return what tells whether a number of a record was changed in its file."""
    return digest(to_json(record))


def unpack(path):
    """Return {key: record} of a packed file, or nothing if it cannot be read (gzip sees that)."""
    try:
        records = json.loads(gzip.decompress(path.read_bytes()))
        return {key_of(record): record for record in records}
    except FileNotFoundError:
        return {}
    except (gzip.BadGzipFile, EOFError, ValueError, LookupError, TypeError, RecursionError,
            zlib.error):
        print(f"{path} is damaged: what was in it is computed again", file=sys.stderr)
        return {}


def pack_records(records):
    """Return records as the bytes of a packed file, the same for the same records."""
    lines = [to_json(record) for record in sorted(
        records, key=lambda r: name_of(r["function"], r["task"]))]
    return gzip.compress(("[\n" + ",\n".join(lines) + "\n]\n").encode(), mtime=0)


def write(path, content):
    """Write a file, text or bytes, atomically; its folder is made if there is none."""
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)  # a run that ends may have removed it
    try:
        with open(temporary, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error  # what the user knows
    finally:
        with suppress(OSError):  # not there, or a file system that is read-only
            temporary.unlink()


def sweep(*folders):
    """Remove what killed processes have left half-written in folders."""
    for file in (file for folder in folders for file in folder.glob(".*.tmp")):
        with suppress(FileNotFoundError):
            if time.time() - file.stat().st_mtime > HOUR:
                file.unlink()


def to_json(value, **options):
    """Return `value` as JSON; floats are exact, nan and inf are NaN and Infinity."""

    def plain(array):
        if isinstance(array, np.ndarray | np.generic):
            return array.tolist()
        raise TypeError(f"{type(array).__name__} cannot be stored as JSON: {array!r}")

    return json.dumps(value, default=plain, **options)
