"""Table 1 of Split HMC: what is run, and where it goes.  Its claims are in test_tables.py."""

import pytest

import studies
from judging import read_table
from made_up_chains import of_table
from reproduce import shahbaba_table1 as table1
from reproduce.harness.claims import Measured
from reproduce.harness.style import plt
from reproduce.shahbaba.chains import ALL, AUTHORS
from reproduce.shahbaba.printed import METHODS


class Recorder(studies.Recorder):
    """Makes up chains and times."""

    def made(self, function, tasks):
        if function.__name__ == "clock":
            return [{"seconds": {method: [1.0 + k, 1.0 + k] for k, method in enumerate(ALL)}}]
        # a rate says which chain it is
        return [of_table(0.1 + 0.02 * ALL.index(task["method"]) + 0.01 * task["seed"][2]
                         + 1e-4 * int(task["data_name"].split()[-1])) for task in tasks]


@pytest.fixture(scope="module")
def paper():
    experiment = Recorder("paper")
    return experiment, table1.run(experiment, None)


def test_at_the_papers_budget_all_chains_have_its_length(paper):
    (function, tasks), _ = paper[0].calls
    assert function == "one_chain"
    assert {task["n"] for task in tasks} == {50_000}
    own = [task for task in tasks if task["data_name"] == "simulated logistic data, seed 2011"]
    assert [task["method"] for task in own] == [m for m in ALL for _ in range(2)]
    others = [(task["data_name"], task["method"]) for task in tasks if task not in own]
    assert others == [(f"simulated logistic data, seed {k}", m) for k in (1, 2, 3, 4)
                      for m in METHODS]
    assert {task["seed"][0] for task in tasks} == {5}


def test_the_times_are_measured_afterwards_and_alone(paper):
    _, (function, tasks) = paper[0].calls
    assert function == "clock"
    (task,) = tasks
    assert task["data_name"] == table1.OWN and list(task["settings"]) == list(ALL)
    # Table 1: L, and steps that make trajectories of length 0.3, to rounding
    assert {m: L for m, (_, L, _) in task["settings"].items()} == {
        "HMC": 20, "normal": 10, AUTHORS: 10, "data": 3}
    assert [eps * L for eps, L, _ in task["settings"].values()] == pytest.approx([0.3] * 4)
    assert task["settings"]["data"][2] == 9 and task["fraction"] == 0.4


def test_every_chain_goes_to_its_data_set_and_method(paper):
    result = paper[1]
    assert list(result.data_sets) == ["2011", "1", "2", "3", "4"]
    assert result.problems["Simulated"] is result.data_sets["2011"]
    for k, method in enumerate(ALL):
        own = result.problems["Simulated"][method]
        assert own.AP.value == pytest.approx(0.1 + 0.02 * k + 0.2011 + 0.005)
        assert own.chains == 2 and own.s.value == 1.0 + k
    for seed in (1, 2, 3, 4):
        assert list(result.data_sets[str(seed)]) == list(METHODS)
        for method in METHODS:
            other = result.data_sets[str(seed)][method]
            assert other.AP.value == pytest.approx(
                0.1 + 0.02 * ALL.index(method) + 1e-4 * seed)
            assert other.s.value == 1.0 + ALL.index(method)  # those of the paper's data


def test_the_table_and_the_figure_show_the_paper_and_all_data_sets(paper):
    # tau by initial sequences is the seed's number, times g; that of 2011 is 3
    data_sets = {seed: {method: found._replace(tau=found.tau | {
        ("tau", "initial sequence"): Measured(int(seed), 0.1),
        ("tau_beta", "initial sequence"): Measured(7.0, 0.1)}) for method, found in each.items()}
        if seed != "2011" else each for seed, each in paper[1].data_sets.items()}
    result = paper[1]._replace(data_sets=data_sets)
    text = table1.table(result)
    assert "chains x batches: 2 x 36, 2 x 36, 2 x 36, 2 x 36" in text
    rows = read_table(text, "seed")
    assert [row["seed"] for row in rows if row["seed"]] == ["2011"] * 3 + [*"111222333444"]
    row = next(row for row in rows if row["seed"] == "4")
    assert [row[key] for key in ("tau", "tau_beta", "tau x g", "tau_beta x g")] == [
        "4.00 (0.10)", "7.00 (0.10)", "80.0 (2.0)", "140.0 (2.0)"]
    # the other four data sets have a circle for each of the paper's methods, and no more
    circles = [line.get_xdata()[0] for line in table1.figure(result).axes[0].lines
               if line.get_markerfacecolor() == "none"]  # tau x g, where g is 20
    assert sorted(circles) == pytest.approx(sorted([20.0, 40.0, 60.0, 80.0] * 3))
    plt.close("all")
