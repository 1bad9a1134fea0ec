"""Tables 1 and 2 of Split HMC: what is run, and where it goes.  Claims are in test_tables.py."""

import inspect

import pytest

import studies
from judging import read_table
from made_up_chains import of_table
from reproduce import shahbaba_table1 as table1
from reproduce import shahbaba_table2 as table2
from reproduce.harness.claims import Measured
from reproduce.harness.style import mathematics
from reproduce.shahbaba.chains import ALL, AUTHORS
from reproduce.shahbaba.printed import METHODS, PROBLEMS, number, sentence

SEEDS = ("2011", "1", "2", "3", "4")
SETS = ("StatLog", "CTG", "Chess", "Chess, standardised")


def made(function, tasks):
    """Make up chains whose rates say which they are, and times that say which data they are of."""
    place = [SETS.index(name) if name in SETS else 0.001 * int(name.split()[-1])
             for name in (task["data_name"] for task in tasks)]
    if function.__name__ == "clock":
        return [{"seconds": {method: [1.0 + place[0] + 0.1 * k] * 2
                             for k, method in enumerate(ALL)}}]
    return [of_table(0.1 + 0.02 * ALL.index(task["method"]) + 0.01 * task["seed"][2] + 0.2 * k)
            for k, task in zip(place, tasks, strict=True)]


@pytest.fixture(scope="module")
def both():
    """Return of either table an experiment and the result."""
    return [(each, table.run(each, None)) for table in (table1, table2)
            for each in [studies.Recorder("paper", made)]]


def test_at_the_papers_budget_all_chains_have_its_length(both):
    (first, _), (second, _) = both
    (function, tasks), (timing, (clock,)) = first.calls
    assert (function, timing) == ("one_chain", "clock")  # afterwards and alone
    # test_chains.py tries that of Table 1
    assert inspect.getsource(table1.one_chain) == inspect.getsource(table2.one_chain)
    assert {(task["n"], task["seed"][0]) for task in tasks} == {(50_000, 5)}
    wanted = [(seed, m) for seed in SEEDS for m in (ALL if seed == "2011" else METHODS)
              for _ in range(2 if seed == "2011" else 1)]
    assert [(task["data_name"], task["method"]) for task in tasks] == [
        (f"simulated logistic data, seed {seed}", method) for seed, method in wanted]
    assert (clock["data_name"], clock["fraction"]) == (table1.OWN, 0.4)
    # Table 1: L, and steps that make trajectories of length 0.3
    assert clock["settings"] == {m: pytest.approx([0.3 / L, L, 9], rel=1e-15) for m, L in {
        "HMC": 20, "normal": 10, AUTHORS: 10, "data": 3}.items()}
    assert list(clock["settings"]) == list(ALL)

    (function, tasks), *clocks = second.calls
    # seeds are not those of the short budget
    assert function == "one_chain"
    assert {(task["n"], task["seed"][0]) for task in tasks} == {(50_000, 1005)}
    wanted = [(name, m) for name in SETS[:3] for m in ALL for _ in range(3)]
    assert [(t["data_name"], t["method"]) for t in tasks] == wanted + [(SETS[3], m)
                                                                       for m in METHODS]
    # the standardised data with the settings of Chess
    for task in tasks:
        name = task["data_name"].split(",")[0]
        there = "normal" if task["method"] == AUTHORS else task["method"]
        assert task["L"] == number(name, "L", there)
        assert task["fraction"] == PROBLEMS[name].f
    for (function, (task,)), name in zip(clocks, SETS[:3], strict=True):
        assert (function, task["data_name"]) == ("clock", name)
        assert task["fraction"] == PROBLEMS[name].f
        assert task["settings"]["data"][1:] == [number(name, "L", "data"), PROBLEMS[name].M]


def test_every_chain_goes_to_its_data_set_and_method(both):
    (_, first), (_, second) = both
    assert first.problems["Simulated"] is first.data_sets["2011"]
    others = second.problems | {SETS[3]: second.standardised}
    for sets, names, chains, places in ((first.data_sets, SEEDS, (2, 1, 1, 1, 1),
                                         [0.001 * int(seed) for seed in SEEDS]),
                                        (others, SETS, (3, 3, 3, 1), range(4))):
        assert list(sets) == list(names)
        for name, m, place in zip(names, chains, places, strict=True):
            assert list(sets[name]) == list(ALL if m > 1 else METHODS)
            # those that have a chain alone take as long as the paper's, or as Chess
            timed = place if m > 1 else 2 if names is SETS else 2.011
            for method, found in sets[name].items():
                k = ALL.index(method)
                assert found.AP.value == pytest.approx(
                    0.1 + 0.02 * k + 0.2 * place + 0.005 * (m - 1))
                assert found.chains == m and found.s.value == pytest.approx(1.0 + timed + 0.1 * k)


def test_what_takes_the_place_of_real_data_is_of_each_problem_another():
    experiment = studies.Recorder("smoke", made)
    result = table2.run(experiment, table2.StandIn("others"))
    (_, tasks), *clocks = experiment.calls
    names = [f"{table2.STAND_IN}{k}" for k in range(4)]
    assert list(dict.fromkeys(task["data_name"] for task in tasks)) == names
    assert [task["data_name"] for _, (task,) in clocks] == names[:3]
    # with the settings of the problem whose place it takes
    assert [t["L"] for t in tasks if t["method"] == "HMC"] == [
        number(name.split(",")[0], "L", "HMC") for name in SETS]
    assert [found["HMC"].AP.value for found in (*result.problems.values(), result.standardised)
            ] == pytest.approx([0.1 + 0.0002 * k for k in range(4)])


def test_table_1_and_its_figure_show_the_paper_and_all_data_sets(both):
    first = both[0][1]
    # tau by initial sequences is the seed's number, times g; that of 2011 is 3
    data_sets = {seed: {method: found._replace(tau=found.tau | {
        ("tau", "initial sequence"): Measured(int(seed), 0.1),
        ("tau_beta", "initial sequence"): Measured(7.0, 0.1)}) for method, found in each.items()}
        if seed != "2011" else each for seed, each in first.data_sets.items()}
    result = first._replace(data_sets=data_sets)
    text = table1.table(result)
    assert "chains x batches: 2 x 36, 2 x 36, 2 x 36, 2 x 36" in text
    rows = [row for row in read_table(text, "seed") if row["seed"]]
    assert [row["seed"] for row in rows] == ["2011"] * 3 + [*"111222333444"]
    row = rows[-1]
    assert [row[key] for key in ("tau", "tau_beta", "tau x g", "tau_beta x g")] == [
        "4.00 (0.10)", "7.00 (0.10)", "80.0 (2.0)", "140.0 (2.0)"]
    # the other four data sets have a circle for each of the paper's methods, and no more
    circles = [line.get_xdata()[0] for line in table1.figure(result).axes[0].lines
               if line.get_markerfacecolor() == "none"]  # tau x g, where g is 20
    assert sorted(circles) == pytest.approx(sorted([20.0, 40.0, 60.0, 80.0] * 3))


def test_table_2_and_its_figure_have_a_block_for_each_problem(both):
    second = both[1][1]
    text = table2.table(second)
    heads = [line.split("  ")[0] for line in text.splitlines() if "HMC: ours" in line]
    assert heads == ["StatLog", "CTG", "Chess", "Chess"]
    rates = [float(line.split()[2]) for line in text.splitlines() if line.startswith("AP ")]
    assert rates == [0.11, 0.31, 0.51, 0.7]  # of HMC: each block has its own data
    shown = [label.get_text() for label in table2.figure(second).axes[0].get_yticklabels()]
    assert shown == [mathematics(label) for name in SETS[:3]
                     for label in (f"{name}: HMC", *ALL[1:])]


def test_the_differences_that_are_known_and_no_other():
    own, others = ({claim.what: claim.known for claim in table.CLAIMS if claim.known}
                   for table in (table1, table2))
    order = sentence("Chess", "data", "normal", ("tau_beta x g",))
    at_once = ": AP, tau and tau_beta at once, batch means"
    assert set(own) == {"Simulated, normal: AP", f"Simulated, normal{at_once}"}
    assert set(others) == {order, "StatLog, normal: AP", f"StatLog, normal{at_once}",
                           "Chess, normal: AP"}
    assert all(each.before for each in (*own.values(), *others.values()))
    assert others[order].cause == "Chess: g = 13"
    # chains too short to see a difference must not be said to disprove it
    assert all(claim.budgets == ("paper",) for claim in table1.CLAIMS if claim.known)
