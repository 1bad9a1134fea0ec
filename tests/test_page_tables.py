"""reproduce/harness/tables.py: what the pages show is what is saved, and a stale page is seen."""

import json
import math
from importlib import import_module
from inspect import signature

import pytest

from judging import read_tables
from reproduce.all import results, saved_runs
from reproduce.harness.fingerprint import ROOT
from reproduce.harness.papers import PAPERS, module, script, scripts
from reproduce.harness.run import Settings
from reproduce.harness.tables import (
    BLOCK,
    Script,
    contents,
    fill_blocks,
    pages,
    read,
    score,
    speed,
)


def claim(what, verdict, kind, value=1.25, se=0.5, **more):
    known = {"why": "_why_", "derived": "2026-01-01", "seen": "", "cause": ""}
    return {"what": what, "paper": "a*b", "kind": kind, "value": value, "se": se, "cell": "",
            "verdict": verdict, "known": known if verdict == "known difference" else None,
            "power": 2.0, "note": ""} | more


SCAN = {"what": "c", "paper": "4", "kind": "order", "verdict": "not specified", "known": None,
        "scan": {"settings": [1, 2, 3], "found": [[7.0, 0.5], [-3.0, 0.0], [math.nan, math.nan]]},
        "cell": "", "power": math.nan, "note": ""}
FIG = Script("paquet_fig1", "Paquet and Fraccaro (2016), Figure 1: a_b.", [
    claim("x|y", "agrees", "printed number"), claim("z", "known difference", "printed number"),
    claim("w", "agrees", "ours", 3.0, 0.0)])
TABLE = Script("wang_table1", "Beside Wang and Neal (2013): more.", [
    SCAN, claim("z", "inconclusive", "printed sentence"),
    claim("a_test", "differs", "joint test", note="chi-squared 9")])
OTHER = Script("wang_rivals", "Rivals of Wang and Neal (2013): others.", None, "beyond")
MEET = Script("meet", "All papers.", None)
SCRIPTS = [MEET, FIG, OTHER, TABLE]
HEADER = (" | agrees | too weak | inconclusive | not specified | known difference |"
          " every setting differs | differs | median factor noticed |")
RULE = f"|{' --- |' * 10}"


def test_the_score_of_all_papers():
    fig = FIG._replace(name="shahbaba_fig1")
    assert score([MEET, fig, OTHER, TABLE]).splitlines() == [
        "| printed numbers, each once | compared" + HEADER, RULE,
        "| [Shahbaba, Lan, Johnson & Neal](reproduce/shahbaba/README.md), 108 in its tables |"
        " 2 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 2 |",
        "| [Zhang & Sutton](reproduce/zhang/README.md), 77 in its tables | 0 | 0 | 0 | 0 | 0 | 0"
        " | 0 | 0 | - |",
        "| [Wang & Neal](reproduce/wang/README.md), 96 in its tables | 0 | 0 | 0 | 0 | 0 | 0 | 0"
        " | 0 | - |", "", "Not yet run, and in no count: `meet`, `wang_rivals`."]


def test_a_paper_has_its_classes_of_claims_and_a_row_for_each_script():
    lines = contents(SCRIPTS, "wang")["claims"]().splitlines()
    assert lines[0] == "| claims | in all" + HEADER and "| checks of ours" in lines[6]
    assert "| sentences and orders | 2 | 0 | 0 | 1 | 1 | 0 | 0 | 0 | 2 |" in lines
    assert lines[8:] == [
        "| script | what it computes | its joint tests | its other claims | claims |",
        "| --- | --- | --- | --- | --- |",
        "| [`wang_table1`](../wang_table1.py) | more | a\\_test: differs | 1 inconclusive, 1 not"
        " specified | [all](../../figures/wang_table1.txt) |",
        "", "Not yet run, and in no count: `wang_rivals`."]


# Blocks


def test_only_what_stands_between_the_markers_is_written():
    page = (f"a\n<!-- one -->\n{99 * 'stale '}\n<!-- /one -->\nb\n<!-- other -->\nkept\n"
            "<!-- /other -->\n<!-- one -->\n<!-- /one -->\n")
    new = fill_blocks(page, {"one": lambda: "got"})
    assert new == ("a\n<!-- one -->\ngot\n<!-- /one -->\nb\n<!-- other -->\nkept\n"
                   "<!-- /other -->\n<!-- one -->\ngot\n<!-- /one -->\n")
    assert fill_blocks(new, {"one": lambda: "got"}) == new


@pytest.mark.parametrize("page", ["<!-- one -->\nx\n", "x\n<!-- /one -->\n",
                                  "<!-- one -->\n<!-- one -->\n<!-- /one -->\n",
                                  "text <!-- one -->\n<!-- /one -->\n"])
def test_a_block_without_its_end_is_refused(page):
    with pytest.raises(ValueError, match="every block 'one' must be between the lines"):
        fill_blocks(page, {"one": lambda: ""})


def test_the_speed_table_is_a_record_of_benchmarks():
    assert speed("pytest -m benchmark\n\nOne\nHMC, n = 9: 0.2 s; 20 passes: 0.1 s; ratio 2.00\n"
                 "EP: 1.0 s; 3 calls: 2.0 s; ratio 0.50\n\n"
                 "Another\nHMC, n = 9: 0.6 s; 20 passes: 0.2 s; ratio 3.00\n").splitlines() == [
        "| one thread, seconds | reference | One | Another |", "| --- | --- | --- | --- |",
        "| HMC, n = 9 | 20 passes | 0.2 / 0.1 = 2.00 | 0.6 / 0.2 = 3.00 |",
        "| EP | 3 calls | 1.0 / 2.0 = 0.50 |  |"]


# Files


@pytest.fixture
def project(tmp_path):
    """Return a folder with pages and a script, and a function that reads what it has saved."""
    for author in PAPERS:
        (tmp_path / "reproduce" / author).mkdir(parents=True)
        (tmp_path / "reproduce" / author / "README.md").write_text("nothing\n")
    (tmp_path / "README.md").write_text("<!-- score -->\n<!-- /score -->\n")
    (tmp_path / "reproduce" / "wang" / "README.md").write_text(
        "<!-- claims -->\n<!-- /claims -->\n")
    (tmp_path / "reproduce" / "wang_m.py").write_text('"""Wang and Neal (2013): m.\n\nMore.\n"""\n')
    (tmp_path / "figures").mkdir()
    return tmp_path, lambda: read([tmp_path / "reproduce" / "wang_m.py"], tmp_path / "figures")


def test_a_result_appears_by_itself_when_it_is_saved(project):
    root, scripts = project
    assert scripts() == [Script("wang_m", "Wang and Neal (2013): m.", None)]
    texts = pages(root, scripts())
    assert set(texts) == {path for path in root.rglob("README.md")}
    assert "in no count: `wang_m`." in texts[root / "README.md"]
    (root / "figures" / "wang_m.json").write_text(json.dumps({"claims": FIG.claims}))
    texts = pages(root, scripts())
    assert ", 96 in its tables | 2 |" in texts[root / "README.md"]
    assert "wang_m" not in texts[root / "README.md"]
    page = texts[root / "reproduce" / "wang" / "README.md"]
    assert "| [`wang_m`](../wang_m.py) | m |  | 2 agrees, 1 known difference |" in page
    assert texts[root / "reproduce" / "zhang" / "README.md"] == "nothing\n"


def test_the_command_writes_the_pages_and_says_which(project, monkeypatch, capsys):
    root, _ = project
    command = import_module("reproduce.all")
    monkeypatch.setattr(command, "scripts", lambda: [root / "reproduce" / "wang_m.py"])
    monkeypatch.setattr(command, "figures", lambda budget: root / "figures")
    for said in ("written", "up to date"):
        assert command.tables(root) is None
        out = capsys.readouterr().out.splitlines()
        assert len(out) == 6 and out[0] == f"README.md: {said}"
        assert out[5] == f"figures/results.md: {said}"
    assert "wang_m" in (root / "README.md").read_text()


SAVED = read(scripts(), ROOT / "figures")


@pytest.mark.parametrize("author", ["", *PAPERS])
def test_the_committed_pages_have_their_blocks_and_are_up_to_date(author):
    # if this fails, run python reproduce/all.py --tables
    page = (ROOT / ("reproduce" * bool(author)) / author / "README.md").read_text()
    blocks = contents(SAVED, author)
    assert [block[1] for block in BLOCK.finditer(page) if block[1] in blocks] == list(blocks)
    assert fill_blocks(page, blocks) == page


def test_the_committed_table_of_results_is_up_to_date():
    assert results(saved_runs(), Settings("paper")) == (ROOT / "figures/results.md").read_text()


# The tables of scripts that compute something of data which may be nowhere: a row of what each
# one's own test has made up, by the heads.  Others' reports are recomputed in test_committed.py.
# "script table row: head=cell; head=cell", numbers from 0; empty cells are left out
CELLS = """
zhang_fig3 0 0: method=RMHMC(Gibbs); draws=5000; chains=4; mean log sigma^2=0.500 (0.010);
    sd=0.500 (0.010); mean log beta=-1.000 (0.020); sd sd=1.000 (0.020); bulk ESS=600;
    tail ESS=500; R-hat=1.005; believed=yes
zhang_errata 0 0: =Z1; number=mean of v; of the paper=0.0000 (0.0030); of ours=0.0000 (0.0030)
zhang_errata 1 4: table=Table 1; method=SSHMC; ratio=min/s; printed=103.57; of its factors=103.6
paquet_fig2 0 0: =(a*); method=AISq-RMHMC; B=12; runs=3; log Z=-100.00; s.e.=0.03; eff.=3.0;
    mean=-100.10; s.d.=0.40; accept=0.800; |dH|=0.100; div.=0; CPU s=1.0
"""


@pytest.mark.parametrize("line", CELLS.strip().replace("\n    ", " ").splitlines(),
                         ids=lambda line: line.split(":")[0])
def test_each_cell_of_a_report_stands_below_its_head(line):
    place, _, text = line.partition(": ")
    name, table, number = place.split()
    wanted = dict(cell.split("=", 1) for cell in text.split("; "))
    study, tests = import_module(module(script(name))), import_module(f"test_{name}")
    report = study.table(tests.made_up(*[study] * len(signature(tests.made_up).parameters)))
    row = read_tables(report)[int(table)][int(number)]
    assert {" ".join(head.split()): " ".join(cell.split())
            for head, cell in row.items() if cell} == wanted
