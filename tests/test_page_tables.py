"""reproduce/harness/tables.py: what the pages show is what is saved, and a stale page is seen."""

import json
import math
from importlib import import_module

import pytest

from harness.claims import VERDICTS
from harness.fingerprint import ROOT
from harness.tables import (
    BLOCK,
    NUMBERS,
    PAPERS,
    RESULTS,
    Script,
    author_of,
    contents,
    counts,
    escaped,
    filled,
    markdown,
    of_script,
    pages,
    read,
    row,
    score,
    spanned,
    speed,
    table_of,
    worded,
)
from shahbaba.printed import PROBLEMS
from wang.printed import ROWS
from zhang.printed import TABLES


def claim(what, verdict, kind, value=1.25, se=0.5, **more):
    known = {"why": "_why_", "derived": "2026-01-01", "seen": "", "cause": ""}
    return {"what": what, "paper": "a*b", "kind": kind, "value": value, "se": se, "cell": "",
            "verdict": verdict, "known": known if verdict == "known difference" else None,
            "power": 2.0, "note": ""} | more


SCAN = {"what": "c", "paper": "4", "kind": "order", "verdict": "not specified", "known": None,
        "scan": {"settings": [1, 2, 3], "found": [[7.0, 0.5], [-3.0, 0.0], [math.nan, math.nan]]},
        "cell": "", "power": math.nan, "note": ""}
REPORT = """a  b
-  -
1  2

second
paragraph

known difference       c
                       ours 3

agrees  ours
------  ----
b       1

1 known difference, 1 agrees
"""
FIG = Script("paquet_fig1", "Paquet and Fraccaro (2016), Figure 1: a_b.", [
    claim("x|y", "agrees", "printed number"), claim("z", "known difference", "printed number"),
    claim("w", "agrees", "ours", 3.0, 0.0)], REPORT)
TABLE = Script("wang_table1", "Beside Wang and Neal (2013): more.", [
    SCAN, claim("z", "inconclusive", "printed sentence"),
    claim("a joint test", "differs", "joint test", note="chi-squared 9")], REPORT)
OTHER = Script("wang_rivals", "Rivals of Wang and Neal (2013): others.", None)
MEET = Script("meet", "All papers.", None)
SCRIPTS = [MEET, FIG, OTHER, TABLE]
HEADER = (" | agrees | too weak | inconclusive | not specified | known difference |"
          " every setting differs | differs | median factor told |")
RULE = f"|{' --- |' * 10}"


def test_the_score_of_all_papers():
    fig = FIG._replace(name="shahbaba_fig1")
    assert score([MEET, fig, OTHER, TABLE]).splitlines() == [
        "| printed numbers, each once | compared" + HEADER, RULE,
        "| [Shahbaba, Lan, Johnson & Neal](reproduce/shahbaba/README.md), of 108 in its tables |"
        " 2 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 2 |",
        "| [Zhang & Sutton](reproduce/zhang/README.md), of 77 in its tables | 0 | 0 | 0 | 0 | 0 | 0"
        " | 0 | 0 | - |",
        "| [Wang & Neal](reproduce/wang/README.md), of 96 in its tables | 0 | 0 | 0 | 0 | 0 | 0 | 0"
        " | 0 | - |", "", "Not yet run, and in no count: `meet`, `wang_rivals`."]


def test_the_score_of_a_paper_has_its_joint_tests():
    lines = contents(SCRIPTS, "wang")["score"]().splitlines()
    assert lines[0] == "| claims | in all" + HEADER and "| checks of ours" in lines[6]
    assert "| sentences and orders | 2 | 0 | 0 | 1 | 1 | 0 | 0 | 0 | 2 |" in lines
    assert lines[-5:-2] == ["| script | joint test of a table's numbers | result | verdict |",
                            "| --- | --- | --- | --- |",
                            "| `wang_table1` | a joint test | chi-squared 9 | differs |"]


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
    assert row("x", claims, "checks of ours") == ["x", 4, 0, 0, 0, 0, "4 of 2 causes", 0, 0, "2"]


def test_the_tables_of_the_papers_have_as_many_numbers():
    # of Split HMC all but the settings L; the others' as they are read from print
    assert RESULTS["shahbaba"] == sum(
        len(cells) for problem in PROBLEMS.values() for name, cells in problem.rows.items()
        if name != "L")
    assert RESULTS["zhang"] == sum(len(cells) for table in TABLES.values()
                                   for cells in table.rows.values())
    assert RESULTS["wang"] == sum(len(getattr(each, name)) for each in ROWS.values()
                                  for name in ("tau", "seconds", "ratio")) + len(ROWS)


def test_what_has_not_been_run_is_named_and_when_its_results_come_it_is_not():
    assert contents(SCRIPTS, "wang")["score"]().endswith("in no count: `wang_rivals`.")
    assert "in no count" not in score([FIG, TABLE])
    assert of_script(OTHER, "all") == (
        "[`wang_rivals`](../wang_rivals.py), others: not yet run at the paper's run lengths.")


def test_a_result_is_a_figure_a_table_what_is_wrong_in_print_and_claims():
    assert of_script(FIG, "2").splitlines() == [
        "![paquet_fig1](../../figures/paquet_fig1.png)", "",
        "```text", "second", "paragraph", "```", "",
        "| declared | claim | paper | ours | because | when |",
        "| --- | --- | --- | --- | --- | --- |",
        "| known difference | z | a\\*b | 1.25 ± 0.50 | \\_why\\_ | derived 2026-01-01 |", "",
        "<details><summary>3 claims of <code>paquet_fig1</code>: agrees 2, known difference 1"
        "</summary>", "",
        "| claim | kind | paper | ours | verdict | told from a factor of |",
        "| --- | --- | --- | --- | --- | --- |",
        "| z | printed number | a\\*b | 1.25 ± 0.50 | known difference | 2 |",
        "| x\\|y | printed number | a\\*b | 1.25 ± 0.50 | agrees | 2 |",
        "| w | ours | a\\*b | 3 | agrees | 2 |", "", "</details>"]
    assert "```text\nsecond\nparagraph\n\na  b\n-  -\n1  2\n```" in of_script(FIG, "2,1")
    assert "```text\na  b\n-  -\n1  2\n\nsecond\nparagraph\n```" in of_script(FIG, "all")
    assert "```" not in of_script(FIG)
    assert "because" not in of_script(TABLE)


def test_what_is_inconclusive_is_shown_with_its_reason():
    one = claim("z", "inconclusive", "order", undecided="a * b are few; 9 times the runs")
    assert worded(one) == "inconclusive: a * b are few; 9 times the runs"
    assert worded(claim("z", "agrees", "order")) == "agrees"
    text = of_script(FIG._replace(claims=[one]))
    assert "| inconclusive: a \\* b are few; 9 times the runs | 2 |" in text
    assert "inconclusive 1</summary>" in text


def test_a_scan_is_shown_as_its_range():
    assert spanned(SCAN) == "-3 to 7 in 3 settings"
    assert spanned(SCAN | {"note": "with 2"}) == "-3 to 7 in 3 settings; with 2"


def test_a_log_is_also_shown_as_a_factor():
    half = claim("least log(a / b)", "agrees", "order", math.log(0.5), 0.25)
    assert spanned(half) == "-0.69 ± 0.25 (a factor of 0.5)"
    assert spanned(SCAN | {"what": "log(c)"}) == (
        "-3 to 7 in 3 settings (factors of 0.05 to 1.1e+03)")
    for what in ("log(a / b) - log 6", "log beta (mean)", "log10(a)", "log Z"):
        assert spanned(half | {"what": what}) == "-0.69 ± 0.25"


@pytest.mark.parametrize("end", ["agrees  ours", "1 agrees", "no claim is made",
                                 "Times were measured on several processors: a; b",
                                 *(f"{verdict:23}x" for verdict in VERDICTS)])
def test_the_table_of_a_report_ends_where_its_claims_begin(end):
    assert table_of(f"a\nb\n\n\n  c\n\n{end}\n\nd\n") == ["a\nb", "  c"]


def test_markup_in_a_cell_is_no_markup():
    assert escaped("pi*_x < |y|") == "pi\\*\\_x \\< \\|y\\|"
    assert markdown(["a", "b"], [["x|y", escaped("x|y")]])[-1] == "| x\\|y | x\\|y |"


# Blocks


def test_only_what_stands_between_the_markers_is_written():
    page = ("a\n<!-- one x 1,2 -->\nstale\n<!-- /one -->\nb\n<!-- other -->\nkept\n"
            "<!-- /other -->\n<!-- one -->\n<!-- /one -->\n")
    new = filled(page, {"one": lambda *given: f"got {given}"})
    assert new == ("a\n<!-- one x 1,2 -->\ngot ('x', '1,2')\n<!-- /one -->\nb\n<!-- other -->\n"
                   "kept\n<!-- /other -->\n<!-- one -->\ngot ()\n<!-- /one -->\n")
    assert filled(new, {"one": lambda *given: f"got {given}"}) == new


@pytest.mark.parametrize("page", ["<!-- one -->\nx\n", "x\n<!-- /one -->\n",
                                  "<!-- one a -->\n<!-- one -->\n<!-- /one -->\n",
                                  "text <!-- one -->\n<!-- /one -->\n"])
def test_a_block_without_its_end_is_refused(page):
    with pytest.raises(ValueError, match="every block 'one' must be between the lines"):
        filled(page, {"one": lambda: ""})


def test_paragraphs_of_a_table_stand_alone():
    table = contents(SCRIPTS, "paquet")["table"]
    assert table("paquet_fig1", "1") == f"```text\n{REPORT.split(chr(10) * 2)[0]}\n```"
    assert "not yet been run" in contents(SCRIPTS)["table"]("wang_rivals", "1")


def test_the_speed_table_is_a_record_of_benchmarks():
    assert speed("pytest -m benchmark\nA processor\nHMC, n = 9: 0.2 s; 20 passes: 0.1 s;"
                 " ratio 2.00\n").splitlines() == [
        "| one thread, A processor | ours | beside it | ours / that |", "| --- | --- | --- | --- |",
        "| HMC, n = 9 | 0.2 s | 20 passes, 0.1 s | 2.00 |"]


def test_a_block_of_a_script_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="must name a script, but 'wang_lost' is none"):
        contents(SCRIPTS)["result"]("wang_lost")


# Files


@pytest.fixture
def project(tmp_path):
    """Return a folder with pages and a script, and a function that reads what it has saved."""
    for author in PAPERS:
        (tmp_path / "reproduce" / author).mkdir(parents=True)
        (tmp_path / "reproduce" / author / "README.md").write_text("nothing\n")
    (tmp_path / "README.md").write_text("<!-- score -->\n<!-- /score -->\n")
    (tmp_path / "reproduce" / "wang" / "README.md").write_text(
        "<!-- result wang_m 1 -->\n<!-- /result -->\n")
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
    (root / "figures" / "wang_m.txt").write_text(REPORT)
    texts = pages(root, scripts())
    assert "of 96 in its tables | 2 |" in texts[root / "README.md"]
    assert "wang_m" not in texts[root / "README.md"]
    page = texts[root / "reproduce" / "wang" / "README.md"]
    assert "1  2" in page and "3 claims of <code>wang_m</code>" in page
    assert texts[root / "reproduce" / "zhang" / "README.md"] == "nothing\n"


def test_the_command_writes_the_pages_and_says_which(project, monkeypatch, capsys):
    root, _ = project
    command = import_module("all")
    monkeypatch.setattr(command, "SCRIPTS", root / "reproduce")
    monkeypatch.setattr(command, "figures", lambda budget: root / "figures")
    for said in ("written", "up to date"):
        assert command.tables(root) is None
        out = capsys.readouterr().out.splitlines()
        assert len(out) == 5 and out[0] == f"README.md: {said}"
    assert "wang_m" in (root / "README.md").read_text()


SAVED = read(import_module("all").scripts(ROOT / "reproduce"), ROOT / "figures")


def test_the_committed_pages_are_up_to_date():
    # if this fails, run python reproduce/all.py --tables
    for path, text in pages(ROOT, SAVED).items():
        assert path.read_text() == text, path


@pytest.mark.parametrize("author", ["", *PAPERS])
def test_a_stale_block_is_noticed(author):
    page = (ROOT / ("reproduce" * bool(author)) / author / "README.md").read_text()
    blocks = contents(SAVED, author)
    found = [block for block in BLOCK.finditer(page) if block[1] in blocks]
    assert found[0][1] == "score" and len(found) > 3 * bool(author)
    for block in found:
        inside = block.start() + len(block[0].splitlines()[0])
        stale = page[:inside] + page[inside:].replace("a", "A", 1)
        assert stale != page and filled(stale, blocks) == page


def test_every_result_is_on_its_papers_page_once():
    for author in PAPERS:
        page = (ROOT / "reproduce" / author / "README.md").read_text()
        shown = [block[2].split()[0] for block in BLOCK.finditer(page) if block[1] == "result"]
        assert sorted(shown) == sorted(script.name for script in SAVED
                                       if author_of(script) == author)
