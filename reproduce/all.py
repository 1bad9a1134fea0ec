"""Run every script of reproduce/ at one budget and write the table of results.

Run     python reproduce/all.py [--budget smoke|short|paper] and the other options of the scripts
Writes  <figures>/results.md, and what each script writes; the exit status is 1 if a script fails

Replicates that are stored are not computed again, so that an interrupted run goes on where it was.

Run     python reproduce/all.py --shard I/N    the I-th of N shares of every script's replicates
Writes  no more than these; the last line says whether another round is needed

Run     python reproduce/all.py --tables    1 s; nothing is computed
Writes  figures/results.md, and what README.md and the papers' pages show of the results in figures/
"""

from reproduce.harness.start import exit_status, parse

import os
import signal
import subprocess
import sys
from typing import NamedTuple

from reproduce.harness import tables as pages
from reproduce.harness.claims import CLASSES, duration
from reproduce.harness.papers import ROOT, scripts
from reproduce.harness.replicates import figures, write
from reproduce.harness.run import Settings, own_version
from reproduce.harness.shards import AGAIN
from reproduce.harness.workers import PARENT

INTERRUPTED = (130, -signal.SIGINT)  # exit statuses: by the harness, by Python

pressed = []  # Ctrl-C reaches the script that runs, too; while Python starts it ends with status 1


class Run(NamedTuple):
    """What became of one script."""

    script: str
    status: int  # exit status
    record: dict  # what it saved as JSON in this run; empty if it did not
    last: str = ""  # the last line that a shard printed


def run(path, settings):
    """Run one script in a process of its own, with the options of this one."""
    options = ["--budget", settings.budget, "--jobs", str(settings.jobs),
               "--seed", str(settings.seed), *["--fresh"] * settings.fresh,
               *(["--data", settings.data] if settings.data else []),
               *(["--shard", str(settings.shard)] if settings.shard else []),
               *(["--dask", settings.dask] if settings.dask else [])]
    saved = figures(settings.budget) / f"{path.stem}.json"
    before = modification_time(saved)
    last = ""
    with subprocess.Popen([sys.executable, path, *options], text=True,
                          stdout=subprocess.PIPE if settings.shard else None,
                          env=os.environ | {PARENT: str(os.getpid())}) as process:
        for last in process.stdout or ():
            print(last, end="", flush=True)
    fresh = modification_time(saved) != before  # else it is of an earlier run
    return Run(path.stem, process.returncode, pages.saved_json(saved) if fresh else {}, last)


def modification_time(path):
    """Return the time of the last change of a file, or None if there is none."""
    return path.stat().st_mtime_ns if path.exists() else None


def results(runs, settings):
    """Make the text of results.md: claims by class, then a row per script, then one per claim."""
    made = [(pages.Script(r.script, "", None), claim) for r in runs
            for claim in r.record.get("claims", [])]
    rows = [[f"`{r.script}`", *(brief([one for one in made if one[0].name == r.script], name)
                                for name in CLASSES),
             duration(r.record.get("replicate_seconds", 0) / 60), r.status] for r in runs]
    claims = [[f"`{script.name}`", c["what"], c["kind"], c["paper"],
               pages.format_ours(c) + f"; {c['note']}" * bool(c["note"]),
               pages.verdict_and_reason(c), pages.format_power(c)]
              for script, c in made]
    return "\n".join([
        f"# Results, {settings.budget} budget", "",
        f"mirrormc {own_version()}, seed {settings.seed}. Replicates: the time it took to"
        " compute them, in the last run or earlier ones, summed over processes.", "",
        *pages.markdown(["claims", "in all", *pages.HEAD],
                        [pages.row(name, made, name) for name in CLASSES]), "",
        *pages.markdown(["script", *CLASSES, "replicates", "exit status"], rows), "",
        *pages.markdown(["script", "claim", "kind", "paper", "ours", "verdict",
                         "error noticed"], claims), ""])


def brief(claims, name):
    """Say how many claims of a class there are of each verdict."""
    found = pages.counts(claims, name)
    return ", ".join(f"{verdict} {found[verdict]}" for verdict in pages.COLUMNS if found[verdict])


def saved_runs():
    """Return the Run of each script that the results of the paper's budget are of."""
    records = {path.stem: pages.saved_json(figures("paper") / f"{path.stem}.json")
               for path in scripts()}
    return [Run(name, 0, record) for name, record in records.items() if record]


def tables(root=ROOT):
    """Write what the pages show of the results that are saved."""
    texts = pages.pages(root, pages.read(scripts(), figures("paper")))
    texts[figures("paper") / "results.md"] = results(saved_runs(), Settings("paper"))
    for path, text in texts.items():
        changed = text != (path.read_text("utf-8") if path.exists() else "")
        if changed:
            write(path, text)
        print(f"{path.relative_to(root)}: {'written' if changed else 'up to date'}")


def main(settings, found=None):
    """Run the scripts `found`, or all, one after the other; return the exit status."""
    runs, target = [], figures(settings.budget) / "results.md"
    found = scripts() if found is None else found
    for k, path in enumerate(found, 1):
        print(f"\n=== {k}/{len(found)} {path.stem}", flush=True)
        runs.append(run(path, settings))
        if pressed or runs[-1].status in INTERRUPTED:
            return 130
    failed = [r.script for r in runs if r.status]
    again = [r.script for r in runs if AGAIN in r.last]
    if settings.shard:
        outcome = f"shard {settings.shard}: " + (
            "submit it again: a script failed" if failed else
            f"{AGAIN} by {', '.join(again)}" if again else "no other round is needed")
    else:
        write(outcome := target, results(runs, settings))
    print(f"\n{len(runs) - len(failed)} of {len(runs)} scripts succeeded"
          + f"; failed: {', '.join(failed)}" * bool(failed) + f"\n{outcome}")
    return int(bool(failed))


if __name__ == "__main__":
    if sys.argv[1:] == ["--tables"]:
        raise SystemExit(exit_status(tables))
    signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    raise SystemExit(exit_status(main, parse(__doc__)))
