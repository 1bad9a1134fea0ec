"""reproduce/harness/cost.py, reproduce/scale.py: fits by hand, memory as measured, the page."""

import json
import os
import subprocess
import sys
import tracemalloc
from importlib import import_module

import numpy as np
import pytest

from harness.cost import (
    amount,
    exponent,
    fitted,
    longest_first,
    predicted,
    reached,
    spoken,
)
from harness.dealing import stage
from harness.replicates import to_json, unpack
from models.jit import ROOT

scale = import_module("scale")


# Fits


def record(function, seconds, **task):
    return {"function": function, "seconds": seconds, "task": task, "result": {"x": 1.0}}


MODEL = {"factorise": lambda N, method="": N**3 / 3}


def test_rates_and_ratios_by_hand():
    made = [record("factorise", N**3 / 3 / 1e9, N=N, method="fast") for N in (10, 100, 1000)]
    made += [record("factorise", N**3 / 3 / 1e6, N=N, method="slow") for N in (10, 50)]
    other = record("other", 3.0, N=7)
    clock = record("clock", 1e9) | {"result": {"seconds": [1.0]}}
    found = fitted(MODEL, [*made, other, clock])
    assert found.replicates == 6 and found.longest == 3.0
    assert found.rates == {("factorise", "fast"): pytest.approx(1e9, rel=1e-12),
                           ("factorise", "slow"): pytest.approx(1e6, rel=1e-12)}
    np.testing.assert_allclose(found.ratios, 1.0, rtol=1e-12)  # rounding of logs
    seconds = sum(r["seconds"] for r in made)
    assert found.modelled == pytest.approx(seconds / (seconds + 3), rel=1e-12)
    assert predicted(MODEL, found, made[1]) == pytest.approx(made[1]["seconds"], rel=1e-12)
    # one twice and one half as long: the rate is that of both, the ratios 1/2 and 2
    off = [record("factorise", factor * 9.0, N=3) for factor in (2.0, 0.5)]
    assert sorted(fitted(MODEL, off).ratios) == pytest.approx([0.5, 2.0], rel=1e-12)
    nothing = fitted({}, [other])
    assert nothing.modelled == 0 and nothing.ratios.size == 0


def test_the_exponents_of_synthetic_records_are_found():
    N = np.array([10.0, 100.0, 1000.0])
    assert exponent(N, 7.0 * N**3) == pytest.approx(3, abs=1e-12)
    assert exponent(N, 1e-9 * N**2.5) == pytest.approx(2.5, abs=1e-12)
    # and those of the models: what each is of its sizes, where the leading term leads
    for method, power in (("AIS-RMHMC", 3), ("AISq-HMC", 2), ("tilting", 2)):
        large = [1e7, 1e8]
        assert exponent(large, [scale.annealed(method, n) for n in large]) == pytest.approx(
            power, abs=1e-3)
    # a length for each covariate: factors of n; one length: numbers of n
    two = [scale.of_regression(number, "standard", windows=1) for number in (3, 8, 2, 7)]
    # 300 and 900 cases: 3^3 but for 10 n^2 in (n^3 / 3 + 10 n^2), and 3
    assert two[1] / two[0] == pytest.approx((900 / 3 + 10) * 9 / (300 / 3 + 10), rel=1e-12)
    assert two[3] / two[2] == pytest.approx(3, rel=1e-12)


def test_seconds_are_a_power_law_between_sizes_and_cubic_beyond():
    sizes, seconds = [10, 100], [1.0, 100.0]  # N^2 / 100
    assert reached(sizes, seconds, 10) == pytest.approx(1.0, rel=1e-12)
    assert reached(sizes, seconds, 50) == pytest.approx(25.0, rel=1e-12)
    assert reached(sizes, seconds, 1000) == pytest.approx(1e5, rel=1e-12)
    with pytest.raises(ValueError, match="at least the least size, 10, but is 9"):
        reached(sizes, seconds, 9)


def test_a_list_is_done_by_when_it_says():
    assert longest_first(5, 3.6, 5.0, 9) == 5.0 == longest_first(5, 3.6, 5.0, 5)
    assert longest_first(5, 3.6, 5.0, 1) == 18.0  # 5, 4, 3, 3, 3 on one core
    # on two it takes 10 (tests/test_dealing.py); 18 / 2 + 5 / 2 is the bound
    assert longest_first(5, 3.6, 5.0, 2) == 11.5 >= 10


def test_words():
    assert [spoken(s) for s in (0.34, 90, 3600, 7200, 2 * 86400, 3e9)] == [
        "0.34 s", "90 s", "60 min", "2 h", "2 days", "95 years"]
    assert [amount(b) for b in (7, 999, 1000, 8e10, 4.8e14)] == [
        "7 B", "999 B", "1 kB", "80 GB", "480 TB"]


# Memory

MEASURED = """
import json, re, sys
import numpy as np
from harness import run
from algorithms.ep_fast import ep
from algorithms.paquet_rmhmc_fast import rmhmc
from models.covariance import squared_exponential
from models.gp_classification import GPClassification

def used():  # at most so far; getrusage has that of the process from which this one was made
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])

def compute(method, N):
    X = np.random.default_rng(1).uniform(0, 1, (N, 2))
    y = np.where(X[:, 0] > 0.5, 1.0, -1.0)
    K = squared_exponential(X, X, -4.0, 0.0)
    if method == "EP":
        return ep(K, y)
    model = GPClassification.from_prior(K, y)
    del K
    return rmhmc(np.zeros(N), model, 1, 0.1, 1, np.random.default_rng(1))

method, N = sys.argv[1], int(sys.argv[2])
compute(method, 50)
base = used()
compute(method, N)
print(json.dumps([base, (used() - base) / (8 * N * N)]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"),
                    reason="needs Linux, whose /proc says what is used")
@pytest.mark.parametrize("method", scale.MATRICES)
def test_memory_is_what_is_measured(method):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "reproduce")])}
    for N in ("50", "1500"):  # the first one compiles, whose memory would hide what is measured
        done = subprocess.run([sys.executable, "-c", MEASURED, method, N], capture_output=True,
                              text=True, check=True, env=environment)
    base, matrices = json.loads(done.stdout)
    # a matrix more or less: vectors, blocks of EP, and what a page is rounded to, are below half
    assert abs(matrices - scale.MATRICES[method]) < 0.5
    # libraries of other versions and systems
    assert scale.BASE / 2 < base < 3 * scale.BASE


def test_what_breaks_is_named():
    fine = scale.Plan("fine", 100, 10.0, 20.0, 1e8, 1e3)
    assert scale.breaks(fine) == "nowhere"
    assert scale.breaks(fine._replace(memory=5e9)) == "a task asks for 2 GB: `SBATCH_MEM_PER_CPU`"
    assert scale.breaks(fine._replace(memory=8e10)) == "memory: 80 GB a process"
    assert scale.breaks(fine._replace(longest=8 * 86400.0)) == "one replicate takes 8 days"
    assert scale.breaks(fine._replace(replicates=1e6)) == (
        "1,000,000 files; 5 GB to read the packed file")


def test_memory_for_what_is_stored_is_as_measured():
    text = (ROOT / "reproduce" / "slurm.sh").read_text()
    assert f"--mem-per-cpu={scale.TASK / 1e9:.0f}G" in text
    tracemalloc.start()
    records = unpack(scale.STORE / "wang_steps.json.gz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # versions of Python differ in the size of an object, by a third at most
    assert peak / sum(len(to_json(r)) for r in records.values()) < scale.READ * 4 / 3


# What is stored


def test_a_stage_is_what_the_script_asks_for_with_its_costs():
    found, expected = stage("paquet_fig2", "one_run")
    assert found.keys() == expected.keys() and len(found) == 220
    for key, one in found.items():
        task = one["task"]
        assert expected[key] == task["B"] * (1 if "RMHMC" in task["method"] else 0.1)


def test_models_are_of_functions_that_are_stored():
    for name, model in scale.MODELS.items():
        assert model.keys() <= {r["function"] for r in scale.records(name)}
        # half of the time or more: the rest is of others' samplers, as NUTS, or of a single kind
        assert scale.fit(name).modelled > 0.5


@pytest.mark.parametrize(("part", "key"), [("unit", "AISq-RMHMC"), ("setup", "q")])
def test_beyond_what_is_stored_the_exponent_is_that_of_the_operations(part, key):
    sizes, seconds = scale.clocked(part, key)
    assert sizes == [40, 100, 365, 767, 1540]
    # it still grows towards 3, at which `reached` goes on: so that is no less than will be
    steps = [exponent(sizes[k:k + 2], seconds[k:k + 2]) for k in (0, 3)]
    assert steps[0] < steps[1] < 3


def test_the_page_is_up_to_date():
    # if this fails, run python reproduce/scale.py
    page = scale.PAGE.read_text()
    assert scale.filled(page, scale.BLOCKS) == page
    for name in scale.BLOCKS:
        assert page.count(f"<!-- {name} -->\n|") == 1


def test_the_command_writes_the_blocks_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scale, "ROOT", tmp_path)
    monkeypatch.setattr(scale, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(scale, "BLOCKS", {"costs": lambda: "new costs", "scale": lambda: "more"})
    scale.PAGE.write_text("a\n<!-- scale -->\nold\n<!-- /scale -->\n<!-- costs -->\nold\n"
                          "<!-- /costs -->\nb\n")
    scale.main()
    assert scale.PAGE.read_text() == ("a\n<!-- scale -->\nmore\n<!-- /scale -->\n"
                                      "<!-- costs -->\nnew costs\n<!-- /costs -->\nb\n")
    assert capsys.readouterr().out == "page.md\n"
