"""How every script runs: its command line, its first line, what it writes, its exit status.

A script ends in main(Study(...)), which says what the script consists of.
"""

import argparse
import os
import platform
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from reproduce.harness import claims
from reproduce.harness.clocks import judge_times
from reproduce.harness.cluster import ClusterError
from reproduce.harness.files import DataError, refuse_damaged
from reproduce.harness.papers import ROOT
from reproduce.harness.replicates import Experiment, Lost, figures, killed, machine, to_json, write
from reproduce.harness.shards import Shard, Unfinished
from reproduce.harness.workers import PARENT, die_with_parent, kill_all

START = time.perf_counter()


class Settings(NamedTuple):
    """What the command line says."""

    budget: str = "short"  # one of BUDGETS
    jobs: int = 0  # processes that compute; 0: this one alone, as a debugger needs it
    seed: int = 1
    fresh: bool = False  # ignore stored replicates
    data: str | None = None  # a folder with the data files
    recall: bool = False  # compute no replicate: take what is stored, whatever code it is from
    shard: Shard | None = None  # compute this share of the replicates, and make no report
    dask: str | None = None  # the address of a scheduler, whose workers compute


class Study(NamedTuple):
    """A script: what it computes, how, and what is claimed of it."""

    name: str  # that of its file
    what: str  # it computes, in a few words
    minutes: dict  # budget -> minutes on two cores
    doc: str  # its docstring, which --help shows
    cases: Callable | str  # (settings) -> its data, a Data of harness/files.py; or what it has
    run: Callable  # (experiment, cases) -> the result, whatever that is
    claims: list  # of Claim, each with a function of the result
    table: Callable  # (result) -> text, which may be ""
    figure: Callable  # (result) -> a Matplotlib figure


def main(study):
    """Run a script, and exit: with status 1 if a claim fails, 2 without data."""
    try:
        status = exit_status(whole_run, study, parse(study.doc))
    finally:
        kill_all()  # Python would wait for them: half a second if idle, longer while they import
    raise SystemExit(status)


def whole_run(study, settings):
    """Run a script; return the exit status."""
    # before anything is computed: other numbers of threads give other bits, and two are slower
    with threadpool_limits(1, "blas"):
        cases = cases_of(study.cases, settings)
        announce(study, settings, cases)
        experiment = Experiment(study.name, settings)
        if settings.shard:
            return share(study, experiment, cases)
        result = study.run(experiment, cases)
        return finish(study, experiment, result, cases)


def cases_of(cases, settings):
    """Return the data that a script runs on, or a text that says what they are."""
    return cases(settings) if callable(cases) else cases


def share(study, experiment, cases):
    """Compute a shard's replicates; the last line says whether there is more for it to do."""
    try:
        study.run(experiment, cases)
        outcome = ("all replicates are stored, no other round is needed; the same command without"
                   " --shard reports")
    except Unfinished as stage:
        outcome = str(stage)
    print(f"{report_killed()}{study.name}, shard {experiment.shard}: {outcome}", flush=True)
    return 0


def exit_status(function, *arguments):
    """Return the exit status function(*arguments), or say in a sentence why there is none."""
    try:
        with refuse_damaged():
            return function(*arguments)
    except KeyboardInterrupt:
        said, status = "Interrupted.", 130
    except BrokenPipeError:  # who read what is printed has gone, as `| head` does
        said, status = "", 141
    except Lost as lost:
        said, status = f"{report_killed()}{lost}", 1
    except (ClusterError, DataError) as error:
        said, status = str(error), 2
    except OSError as error:  # a disk that is full or read-only, above all
        what = error.filename or "What is printed, or a file,"
        said, status = (f"{what} cannot be read or written: {error.strerror or error}. What is"
                        " finished is kept: make that possible, and run the same command again."), 2
    with suppress(OSError):
        print(said, end="\n" * bool(said), file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would try again at the end, and show a traceback
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return status


def parse(doc, argv=None):
    """Read the options that all scripts share; `doc` is the script's docstring, shown by --help."""
    from joblib import cpu_count

    begin()
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", choices=claims.BUDGETS, default="short",
                        help="a script takes up to 3 minutes; up to 8 (the default); the paper's"
                             " run lengths")
    parser.add_argument("--jobs", type=whole_number(0), default=2, metavar="J",
                        help="parallel processes (default 2, at most the number of cores; 0: all in"
                        " this one, for a debugger)")
    parser.add_argument("--seed", type=whole_number(0), default=1, metavar="S", help="default 1")
    parser.add_argument("--fresh", action="store_true", help="compute stored replicates again")
    parser.add_argument("--data", type=folder, metavar="DIR",
                        help="a folder that holds the data files")
    several = parser.add_mutually_exclusive_group()
    several.add_argument("--shard", type=share_of, metavar="I/N",
                         help="compute the I-th of N shares of the replicates and make no report"
                         " (reproduce/CLUSTER.md)")
    several.add_argument("--dask", type=scheduler, metavar="ADDRESS",
                         help="compute on the workers of the Dask scheduler there, such as"
                         " tcp://10.0.0.1:8786, in place of --jobs")
    options = vars(parser.parse_args(argv))
    if options["dask"] and not find_spec("distributed"):
        parser.error("--dask needs the extra `cluster`: pip install -e '.[cluster]'")
    if options["fresh"] and options["shard"]:  # no stage would ever be complete
        parser.error("--fresh computes again what is stored, and --shard what is missing: to begin"
                     " anew, remove the stored replicates and leave out --fresh")
    if options["data"]:
        places = [options["data"], os.environ.get("PAPERS_DATA", "")]
        os.environ["PAPERS_DATA"] = os.pathsep.join(places)  # for the processes of replicates()
    return Settings(**options)._replace(jobs=min(options["jobs"], cpu_count()))


def begin():
    """Make sure of what a command needs before it says anything."""
    for number, name in enumerate(("stdout", "stderr"), 1):
        if getattr(sys, name) is None:  # the shell has closed it
            setattr(sys, name, open(os.devnull, "w"))
            os.dup2(getattr(sys, name).fileno(), number)
            os.set_inheritable(number, True)  # processes that compute need one, too
        getattr(sys, name).reconfigure(errors="backslashreplace")  # what a locale has no letter for
    one_copy(sys.argv[0])
    if os.path.expanduser("~") == "~":  # without a HOME the cache is the project's
        os.environ.setdefault("XDG_CACHE_HOME", str(ROOT / ".cache"))
    if parent := os.environ.pop(PARENT, ""):
        die_with_parent(int(parent))


def one_copy(path):
    """End if a script is of another copy of the project, whose modules and figures it has not."""
    path = Path(path).resolve()
    for folder in path.parents:
        of_a_copy = (folder / "reproduce" / "harness" / "run.py").is_file()
        if of_a_copy and folder != ROOT and path.is_relative_to(folder / "reproduce"):
            raise SystemExit(f"{path} is of another copy of the project than what Python imports,"
                             f" {ROOT}: `pip install -e {folder}`, or set PYTHONPATH={folder}")


def whole_number(low):
    """Make an argparse type: a whole number of at least `low`."""

    def number(text):
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {low}")
        return int(text)

    return number


def share_of(text):
    """Read I/N, as argparse's types do."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and len(of) < 10
            and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not I/N, two whole numbers with 1 <= I <= N, such as 3/8")
    return Shard(int(number), int(of))


def scheduler(text):
    """Check the address of a Dask scheduler, as argparse's types do; Dask itself says more."""
    if not text.strip():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the address of a Dask scheduler, such as tcp://10.0.0.1:8786")
    return text


def folder(text):
    """Check the name of a folder, as argparse's types do."""
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    if os.pathsep in text:  # which parts folders in $PAPERS_DATA
        raise argparse.ArgumentTypeError(f"{text!r} must have no {os.pathsep} in its name")
    return text


def announce(study, settings, cases):
    """Print a script's first line: what runs, on which data, about how long."""
    note = getattr(cases, "note", "")
    part = (f", shard {settings.shard}" * bool(settings.shard)
            + f", on the cluster at {settings.dask}" * bool(settings.dask))
    print(f"{study.name}, {settings.budget} budget{part}: {study.what}; data:"
          f" {getattr(cases, 'name', cases)}{f' ({note})' * bool(note)}; about"
          f" {claims.duration(study.minutes[settings.budget])} with 2 jobs"
          f"{f', here {settings.jobs}' * (settings.jobs != 2)} (the first time, up to a minute more"
          f" to compile); seed {settings.seed}", flush=True)


def finish(study, experiment, result, cases):
    """Judge the claims, print and write the report, the figure and the numbers.

    The last line that is printed is the figure's path.  Returns 1 if a claim fails, else 0.  No
    claim is made on data that are not those asked for.
    """
    from reproduce.harness.style import plt, png

    name, folder = study.name, figures(experiment.budget)
    note = getattr(cases, "note", "")
    findings = [] if note else judge_times(study, experiment, result, cases)
    text = write_report(study.table(result), findings, experiment, note)
    write(folder / f"{name}.txt", text + "\n")
    drawing = study.figure(result)
    picture = png(drawing)
    plt.close(drawing)
    write(folder / f"{name}.png", picture)
    write(folder / f"{name}.json", to_json(record(name, findings, experiment), indent=1) + "\n")
    if experiment.budget == "paper" and experiment.used and not (note or experiment.recall):
        experiment.pack()
    # last: nobody may be there to read it
    print(f"\n{text}\n\n{report_killed()}{folder / name}.png", flush=True)
    return int(bool(claims.failures(findings)))


def report_killed():
    """Say which processes were killed, if any."""
    return "".join(f"Killed: {n} process{'es' * (n > 1)} that computed {what}\n"
                   for what, n in Counter(killed).items())


def write_report(table, findings, experiment, note=""):
    """Put a report together: the script's table, then the claims."""
    parts = [table.rstrip()] * bool(table)
    if len(experiment.clocks) > 1:
        parts.append("Times were measured on several kinds of processors:"
                     f" {'; '.join(experiment.clocks)}")
    parts.append(f"No claim is made: {note}" if note else claims.report(findings))
    return "\n\n".join(parts)


def record(name, findings, experiment):
    """Return what a script saves as JSON: its claims, and where they come from."""
    entries, unmade = [], [f.claim.what for f in findings if f.verdict == claims.UNMADE]
    for claim, ours, found, factor, note, undecided in findings:
        if found == claims.UNMADE:
            continue
        entry = {k: v for k, v in claim._asdict().items()
                 if k not in ("ours", "budgets", "undecided")}
        entry["known"] = claim.known._asdict() if claim.known else None
        scan = ({"scan": ours._asdict()} if hasattr(ours, "found")
                else claims.as_measured(ours)._asdict())
        entries.append(entry | scan | {"verdict": found, "power": factor, "note": note}
                      | ({"undecided": undecided} if found == "inconclusive" else {}))
    return {
        "name": name, "budget": experiment.budget, "seed": experiment.seed,
        "jobs": experiment.jobs, "verdicts": claims.count_verdicts(findings), "claims": entries,
        **({"unmade": unmade} if unmade else {}),
        "replicate_seconds": experiment.seconds, "clocks": experiment.clocks,
        "version": own_version(), **machine(),
        "platform": platform.platform(),
        "seconds": time.perf_counter() - START,  # of this run; replicate_seconds: stored ones too
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def own_version():
    """Return the project's version."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
