"""reproduce/harness/tables.py: what the pages show is what is saved, and a stale page is seen."""

import json
import math
from importlib import import_module

import pytest

from reproduce.harness.fingerprint import ROOT
from reproduce.harness.papers import PAPERS, scripts
from reproduce.harness.tables import (
    BLOCK,
    NUMBERS,
    Script,
    claims_of_a_paper,
    contents,
    counts,
    escape,
    fill_blocks,
    joint_tests,
    markdown,
    pages,
    read,
    row,
    score,
    speed,
    verdict_and_reason,
)
from reproduce.shahbaba.printed import PROBLEMS
from reproduce.wang.printed import ROWS
from reproduce.zhang.printed import TABLES


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


def test_of_many_joint_tests_the_row_counts_the_verdicts_and_folds_the_tests():
    tests = [claim(f"row {k}", v, "joint test") for k, v in enumerate(
        ("agrees", "differs", "agrees"))]
    assert joint_tests(TABLE._replace(claims=[*tests, SCAN])) == (
        "<details><summary>2 agrees, 1 differs</summary>row 0: agrees<br>row 1: differs<br>"
        "row 2: agrees</details>")
    table = claims_of_a_paper([OTHER._replace(claims=tests)])
    assert "| [`wang_rivals`](../beyond/wang_rivals.py) | others |" in table


def test_a_printed_number_counts_once_by_its_worst_verdict():
    def numbers(*verdicts, kind="printed number", cell="Table 1, tau"):
        claims = [claim(str(k), v, kind, cell=cell) for k, v in enumerate(verdicts)]
        return [(FIG, c) for c in claims[:1]] + [(FIG._replace(name="paquet_z"), c)
                                                for c in claims[1:]]

    def found(*given, **more):
        return {v: n for v, n in counts(numbers(*given, **more), NUMBERS).items() if n}

    assert found("agrees", "inconclusive", "too weak") == {"inconclusive": 1}
    assert found("agrees", "known difference", "every setting differs") == {
        "every setting differs": 1}
    assert found("agrees", "agrees", cell="") == {"agrees": 2}
    assert found("agrees", kind="ours") == {}
    assert counts(numbers("agrees", "agrees", kind="ours"), "checks of ours")["agrees"] == 2


def test_known_differences_of_one_cause_are_said_to_be():
    known = {"why": "w", "derived": "2026-01-01", "seen": "", "cause": "a misprint"}
    claims = [(FIG, claim(str(k), "known difference", "ours", power=p,
                          known=known | {"cause": "another"} if k == 3 else known))
              for k, p in enumerate((1.5, 2.0, 4.0, math.nan))]
    assert row("x", claims, "checks of ours") == ["x", 4, 0, 0, 0, 0, "4 (2 causes)", 0, 0, "2"]


def test_the_tables_of_the_papers_have_as_many_numbers():
    # of Split HMC all but the settings L; the others' as they are read from print
    assert PAPERS["shahbaba"].numbers == sum(
        len(cells) for problem in PROBLEMS.values() for name, cells in problem.rows.items()
        if name != "L")
    assert PAPERS["zhang"].numbers == sum(len(cells) for table in TABLES.values()
                                   for cells in table.rows.values())
    assert PAPERS["wang"].numbers == sum(len(getattr(each, name)) for each in ROWS.values()
                                  for name in ("tau", "seconds", "ratio")) + len(ROWS)


def test_what_has_not_been_run_is_named_and_when_its_results_come_it_is_not():
    assert contents(SCRIPTS, "wang")["claims"]().endswith("in no count: `wang_rivals`.")
    assert "in no count" not in score([FIG, TABLE])


def test_what_is_inconclusive_is_shown_with_its_reason():
    one = claim("z", "inconclusive", "order", undecided="a * b are few; 9 times the runs")
    assert verdict_and_reason(one) == "inconclusive: a * b are few; 9 times the runs"
    assert verdict_and_reason(claim("z", "agrees", "order")) == "agrees"


def test_markup_in_a_cell_is_no_markup():
    assert escape("pi*_x < |y|") == "pi\\*\\_x \\< \\|y\\|"
    assert markdown(["a", "b"], [["x|y", escape("x|y")]])[-1] == "| x\\|y | x\\|y |"


# Blocks


def test_only_what_stands_between_the_markers_is_written():
    page = ("a\n<!-- one -->\nstale\n<!-- /one -->\nb\n<!-- other -->\nkept\n"
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
    assert speed("pytest -m benchmark\nA processor\nHMC, n = 9: 0.2 s; 20 passes: 0.1 s;"
                 " ratio 2.00\n").splitlines() == [
        "| one thread, A processor | ours | reference | ours / reference |",
        "| --- | --- | --- | --- |",
        "| HMC, n = 9 | 0.2 s | 20 passes, 0.1 s | 2.00 |"]


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
        assert len(out) == 5 and out[0] == f"README.md: {said}"
    assert "wang_m" in (root / "README.md").read_text()


SAVED = read(scripts(), ROOT / "figures")


def test_the_committed_pages_are_up_to_date():
    # if this fails, run python reproduce/all.py --tables
    for path, text in pages(ROOT, SAVED).items():
        assert path.read_text() == text, path


@pytest.mark.parametrize("author", ["", *PAPERS])
def test_a_stale_block_is_noticed(author):
    page = (ROOT / ("reproduce" * bool(author)) / author / "README.md").read_text()
    blocks = contents(SAVED, author)
    found = [block for block in BLOCK.finditer(page) if block[1] in blocks]
    assert [block[1] for block in found] == (["claims"] if author else ["score", "speed"])
    for block in found:
        inside = block.start() + len(block[0].splitlines()[0])
        stale = page[:inside] + page[inside:].replace("a", "A", 1)
        assert stale != page and fill_blocks(stale, blocks) == page
