"""reproduce/harness/shards.py and --shard: shares that make a whole, and nothing computed twice."""

import json
import os
import sys
import threading
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from reproduce.harness import papers, replicates, run, shards
from reproduce.harness.fingerprint import digest
from reproduce.harness.run import Settings, cases_of
from reproduce.harness.shards import AGAIN, Shard, Unfinished, deal
from studies import NOTHING, calls, draw

pytestmark = pytest.mark.usefixtures("figures")
SETTINGS = Settings("smoke")


def costs(seed, n):
    """Return {key: cost} as uneven as those of scripts: four orders of magnitude, with ties."""
    rng = np.random.default_rng(seed)
    return {digest(str(seed), str(k)): float(np.round(10 ** rng.uniform(-2, 2), 2))
            for k in range(n)}


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
@pytest.mark.parametrize("of", [1, 2, 16, 150])
def test_shares_are_disjoint_complete_and_balanced(n, of):
    cost = costs(n + of, n)
    shares = [deal(cost, Shard(number, of)) for number in range(1, of + 1)]
    assert sum(map(len, shares)) == n and set().union(*shares) == cost.keys()
    loads = [sum(map(cost.get, share)) for share in shares]
    # the last of a share went to it because none had less; rounding of sums of 1000 terms
    last = [min(map(cost.get, share), default=0) for share in shares]
    assert max(np.subtract(loads, last)) <= min(loads) + 1e-9
    assert deal(dict(reversed(cost.items())), Shard(of, of)) == shares[-1]  # in whatever order


def test_one_replicate_is_not_always_that_of_the_first_share():
    # scripts have many lists of one, such as their clocks
    taken = [next(k for k in range(1, 5) if deal({digest(str(seed)): 1.0}, Shard(k, 4)))
             for seed in range(200)]
    # four standard deviations of a binomial number with 200 and 1/4 are 24
    assert all(26 < taken.count(k) < 74 for k in range(1, 5))


def tasks(log, seeds=range(12)):
    """Return tasks of cost 1 to 5; that of 1 is not said."""
    return [{"seed": seed, "log": str(log)} | ({"cost": 1 + seed % 5} if seed % 5 else {})
            for seed in seeds]


def shard_of(number, of, log, name="x_fig1", **changes):
    """Compute a share; return the results, or what is said if others are missing."""
    settings = SETTINGS._replace(shard=Shard(number, of), **changes)
    experiment = replicates.Experiment(name, settings)
    try:
        return experiment.replicates(draw, tasks(log))
    except Unfinished as unfinished:
        return str(unfinished)


def test_a_share_does_not_depend_on_what_is_stored(log):
    def computed(number, name):
        before = Counter(calls(log))
        shard_of(number, 3, log, name)
        return sorted((Counter(calls(log)) - before).elements())

    shares = {number: computed(number, "x_fig1") for number in (3, 1, 2)}
    assert calls(log) == [*range(12)]
    replicates.Experiment("x_fig2", SETTINGS).replicates(draw, tasks(log, range(0, 12, 2)))
    for number in (2, 3, 1):
        assert computed(number, "x_fig2") == [seed for seed in shares[number] if seed % 2]


@pytest.mark.parametrize("jobs", [0, 2])
def test_the_last_shard_has_all_results_and_so_has_who_collects(log, tmp_path, jobs):
    said, own = shard_of(1, 3, log, jobs=jobs), len(calls(log))
    assert f"stored, {own} of 12, and {12 - own} of other shards are not" in said and own < 6
    shard_of(2, 3, log, jobs=jobs)
    found = shard_of(3, 3, log, jobs=jobs)
    whole = replicates.Experiment("x_fig1", SETTINGS).replicates(draw, tasks(log))
    assert repr(found) == repr(whole)
    assert calls(log) == [*range(12)]  # nothing for who collects
    for each, wanted in zip(found, tasks(tmp_path / "other"), strict=True):
        assert each["x"] == draw(wanted["seed"], wanted["log"])["x"].tolist()  # every bit


def test_what_is_packed_counts_as_stored(log):
    whole = replicates.Experiment("x_fig1", Settings("paper"))
    found = whole.replicates(draw, tasks(log))
    half = replicates.Experiment("x_fig1", Settings("paper"))
    half.replicates(draw, tasks(log, range(6)))
    half.pack()  # the other half stays in files
    gone = sorted(half.folder.iterdir())[:2]
    lost = sorted(json.loads(path.read_text())["task"]["seed"] for path in gone)
    for path in gone:
        path.unlink()
    done = [shard_of(number, 2, log, budget="paper") for number in (1, 2, 1)]
    assert repr(done[1]) == repr(done[2]) == repr(found)
    assert calls(log) == sorted([*range(12), *lost])


def first(seed):
    return {"x": seed / 3}


def second(seed, x):
    return {"x": x / 7}


def script(**changes):
    """Return a study that makes its second list of the first one's results."""
    def run(experiment, cases):
        found = experiment.replicates(first, [{"seed": k} for k in range(4)], "starts")
        return experiment.replicates(second, [
            {"seed": k, "x": each["x"]} for k, each in enumerate(found)], "chains")

    return NOTHING._replace(run=run, table=str)._replace(**changes)


def test_a_script_in_stages_needs_a_round_for_each(ends, figures):
    store = figures / "replicates" / "x_fig7"
    def lines_of(*options):
        status, printed, errors = ends(script(), "--jobs", "0", *options)
        assert status == 0 and ("2/2 " in errors) == bool(options)  # the bar, of its own ones
        return printed.splitlines()

    line, last = lines_of("--shard", "1/2")
    assert "shard 1/2" in line
    assert AGAIN in last and last.startswith("x_fig7, shard 1/2: its share of the starts is stored,"
                                             " 2 of 4, and 2 of other shards are not")
    assert len(list(store.iterdir())) == 2
    last = lines_of("--shard", "2/2")[-1]  # it goes on: the first stage is complete
    assert "its share of the chains is stored, 2 of 4, and 2 of other" in last and AGAIN in last
    assert len(list(store.iterdir())) == 6
    for number in (1, 2):
        _, last = lines_of("--shard", f"{number}/2")
        assert AGAIN not in last and "no other round is needed" in last
    assert {path.name for path in figures.iterdir()} == {"replicates"}  # no report
    kept = {path: path.stat().st_mtime_ns for path in store.iterdir()}
    assert lines_of()[-1] == str(figures / "x_fig7.png")
    assert {path: path.stat().st_mtime_ns for path in store.iterdir()} == kept
    assert len(kept) == 8


def test_an_error_in_a_shard_is_not_taken_for_the_end_of_a_round(ends):
    def failing(experiment, cases):
        raise ArithmeticError("the script's own error")

    with pytest.raises(ArithmeticError, match="own error"):
        ends(script(run=failing), "--shard", "1/2")


def test_killed_processes_are_counted_before_the_last_line(ends, monkeypatch):
    monkeypatch.setattr(run, "killed", ["chain(1)"])
    _, printed, _ = ends(script(), "--jobs", "0", "--shard", "1/2")
    assert printed.splitlines()[-2] == "Killed: 1 process that computed chain(1)"


def run_script(name, shard=None):
    """Run a script at the smoke budget, or a shard of it; return the experiment."""
    script = import_module(papers.module(papers.script(name)))
    settings = SETTINGS._replace(shard=shard)
    experiment = replicates.Experiment(name, settings)
    script.run(experiment, cases_of(script.cases, settings))
    return experiment


def whole(name):
    """Run a script; return what it stored, {key: JSON}, times left out."""
    return {key: replicates.to_json({k: v for k, v in record["result"].items()
                                     if k not in replicates.TIMES})  # in which NaN is NaN
            for key, record in run_script(name).used.items()}


def in_shards(name, of):
    """Run a script's shards, in rounds until no other is needed."""
    for _ in range(8):
        again = 0
        for number in range(1, of + 1):
            try:
                run_script(name, Shard(number, of))
            except Unfinished:
                again += 1
        if not again:
            return
    raise AssertionError(f"{name} needs more than eight rounds")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of chains as short as those of smoke
@pytest.mark.parametrize("name", [path.stem for path in papers.scripts()])
def test_every_script_stores_in_shards_what_it_does_as_a_whole(name, tmp_path, monkeypatch):
    wanted = whole(name)
    at_once = {path.relative_to(replicates.FIGURES): path
               for path in replicates.FIGURES.rglob("*.json")}
    monkeypatch.setattr(replicates, "FIGURES", tmp_path / "sharded")
    if name == "wang_rivals":  # what it chooses by times differs in each run
        for path, there in at_once.items():
            if replicates.TIMES & json.loads(there.read_text())["result"].keys():
                replicates.write(replicates.FIGURES / path, there.read_text())
    in_shards(name, 2)
    assert at_once.keys() == {path.relative_to(replicates.FIGURES)
                              for path in replicates.FIGURES.rglob("*.json")}
    monkeypatch.setattr(replicates, "compute", None)  # who collects has nothing left to compute
    assert whole(name) == wanted


@pytest.mark.skipif(sys.platform == "win32",
                    reason="needs another system than Windows: there is no lock")
def test_the_first_compiles_and_the_others_wait_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(shards.tempfile, "tempdir", str(tmp_path))
    done, order = threading.Event(), []

    def another():
        with shards.after_the_first(), shards.after_the_first():  # which do not wait for each other
            order.append("another")
        done.set()

    with shards.after_the_first():
        thread = threading.Thread(target=another)
        thread.start()
        assert not done.wait(0.3)
        order.append("first")
    assert done.wait(60)
    thread.join()
    assert order == ["first", "another"]
    assert [path.name for path in tmp_path.iterdir()] == [f"mirrormc-{os.getuid()}.lock"]


def test_a_shard_compiles_under_the_lock_and_others_do_without_it(tmp_path, monkeypatch, log):
    monkeypatch.setattr(shards.tempfile, "tempdir", str(tmp_path / "node"))
    (tmp_path / "node").mkdir()
    for shard, locks in ((None, 0), (Shard(1, 1), 1)):
        settings = SETTINGS._replace(shard=shard)
        replicates.Experiment(f"x_fig{locks}", settings).replicates(
            draw, tasks(log), warm=lambda: Path(log).touch())
        assert len([*(tmp_path / "node").iterdir()]) == locks
