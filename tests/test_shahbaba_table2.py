"""Table 2 of Split HMC: what is run, and where it goes.  Its claims are in test_tables.py."""

import pytest

import studies
from made_up_chains import of_table
from reproduce import shahbaba_table2 as table2
from reproduce.harness.style import mathematics
from reproduce.shahbaba.chains import ALL, AUTHORS
from reproduce.shahbaba.printed import METHODS, PROBLEMS, number

DATA = ("StatLog", "CTG", "Chess", "Chess, standardised")


class Recorder(studies.Recorder):
    """Makes up chains and times."""

    def made(self, function, tasks):
        if function.__name__ == "clock":
            s = 1.0 + DATA.index(tasks[0]["data_name"])
            return [{"seconds": {method: [s + 0.1 * k] * 2 for k, method in enumerate(ALL)}}]
        # a rate says which chain it is
        return [of_table(0.1 + 0.02 * ALL.index(task["method"]) + 0.01 * task["seed"][2]
                         + 0.2 * DATA.index(task["data_name"])) for task in tasks]


@pytest.fixture(scope="module")
def paper():
    experiment = Recorder("paper")
    return experiment, table2.run(experiment, None)


def test_at_the_papers_budget_there_are_three_chains_of_its_length(paper):
    function, tasks = paper[0].calls[0]
    assert function == "one_chain"
    assert {task["n"] for task in tasks} == {50_000}
    wanted = [(d, m) for d in DATA[:3] for m in ALL for _ in range(3)]
    assert [(t["data_name"], t["method"]) for t in tasks] == wanted + [(DATA[3], m)
                                                                       for m in METHODS]
    # the standardised data with the settings of Chess
    for task in tasks:
        name = task["data_name"].split(",")[0]
        there = "normal" if task["method"] == AUTHORS else task["method"]
        assert task["L"] == number(name, "L", there)
        assert task["fraction"] == PROBLEMS[name].f
    assert {task["seed"][0] for task in tasks} == {1005}  # not those of the short budget


def test_the_times_are_measured_afterwards_one_data_set_alone(paper):
    assert [(function, [task["data_name"] for task in tasks]) for function, tasks in
            paper[0].calls[1:]] == [("clock", [name]) for name in DATA[:3]]
    for _, (task,) in paper[0].calls[1:]:
        name = task["data_name"]
        assert task["fraction"] == PROBLEMS[name].f
        assert task["settings"]["data"][1:] == [number(name, "L", "data"), PROBLEMS[name].M]


def test_every_chain_goes_to_its_data_set_and_method(paper):
    result = paper[1]
    data_sets = result.problems | {DATA[3]: result.standardised}
    assert list(data_sets) == list(DATA)
    for k, name in enumerate(DATA):
        for method in ALL if name != DATA[3] else METHODS:
            found, j = data_sets[name][method], ALL.index(method)
            mean = 0.01 if name != DATA[3] else 0.0  # of 0, 0.01 and 0.02
            assert found.AP.value == pytest.approx(0.1 + 0.02 * j + 0.2 * k + mean)
            # the standardised data take as long as the others
            assert found.s.value == pytest.approx(1.0 + min(k, 2) + 0.1 * j)


def test_the_table_and_the_figure_have_a_block_for_each_problem(paper):
    text = table2.table(paper[1])
    heads = [line.split("  ")[0] for line in text.splitlines() if "HMC: ours" in line]
    assert heads == ["StatLog", "CTG", "Chess", "Chess"]
    assert "Chess, standardised as the text's" in text
    rates = [float(line.split()[2]) for line in text.splitlines() if line.startswith("AP ")]
    assert rates == [0.11, 0.31, 0.51, 0.7]  # of HMC: each block has its own data
    shown = [label.get_text() for label in table2.figure(paper[1]).axes[0].get_yticklabels()]
    assert shown == [mathematics(label) for name in DATA[:3]
                     for label in (f"{name}: HMC", *ALL[1:])]
